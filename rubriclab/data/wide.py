"""A table with several answers a row in (``response_a``, ``response_b``), or a chat, the same with one answer a row out.

So are preference data kept: a prompt, two or more answers side by side, perhaps who won; and data for fine-tuning, as lists
of messages. Rows stay in their order.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from rubriclab.data.items import LOOKED_AT, NAMES, holds_numbers, plain_name
from rubriclab.data.tables import Columns, Table, as_list, json_value
from rubriclab.model.text import shorten

FAMILY = re.compile(r"(?P<stem>\w+?)_?(?P<end>[a-h]|[1-9]|chosen|rejected)")
TEXTS = (
    "assistant",
    "text",
    "response_text",
    "answer_text",
    "assistant_response",
    "model_response",
)
ANSWERS = {*NAMES["response"], *TEXTS}
WINNERS = (
    "winner",
    "preference",
    "preferred",
    "label",
    "choice",
    "gold",
    "gewinner",
    "ganador",
    "gagnant",
)
TIES = {"tie", "c", "both", "equal", "tie_bothbad", "unentschieden", "0_5"}
CHATS = ("messages", "conversations", "conversation")
ROLES = {"human": "user", "gpt": "assistant", "bot": "assistant", "model": "assistant"}
"""What some files call the roles of a chat."""


def one_answer_a_row(table: Table, columns: Columns | None = None) -> Table:
    """``table`` itself where no row has several answers; else a row each, with the columns ``candidate`` (unless columns
    say who wrote them), ``prompt_id``, and ``human`` (1 for the winner, 0, 0.5 for a tie) where a column names the winner.

    Columns that come as often as the answers are split with them; all others are repeated. Chats: see ``_of_chats``.
    ``columns``: those that the study names; one of the answers, or the chats, among them leaves the table as it is.
    """
    chosen = {column for named in (columns or {}).values() for column in as_list(named)}
    chats = next(
        (
            column
            for column in table.columns
            if plain_name(column) in CHATS and column not in chosen
        ),
        None,
    )
    if chats is not None and (split_chats := _of_chats(table, chats)) is not None:
        return split_chats
    families: dict[str, dict[str, str]] = defaultdict(dict)
    for column in table.columns:
        name = plain_name(column)
        parts = FAMILY.fullmatch(name)
        if name in ("chosen", "rejected"):
            families["response"][name] = column
        elif parts and not name.startswith("reference"):
            families[parts["stem"]][parts["end"]] = column
    known = [stem for stem in families if stem in ANSWERS and len(families[stem]) > 1]
    if len(known) != 1 or any(plain_name(column) in NAMES["response"] for column in table.columns):
        return table
    (stem,) = known
    ends = sorted(families[stem])
    if not chosen.isdisjoint(families[stem].values()):
        return table
    if any(holds_numbers(table.column(column, LOOKED_AT)) for column in families[stem].values()):
        return table
    split = {name: own for name, own in families.items() if sorted(own) == ends}
    taken = {column for own in split.values() for column in own.values()}
    order = (np.arange(table.size)[:, None] + np.arange(len(ends)) * table.size).ravel()
    made = {
        name: pa.concat_arrays([table.texts(own[end]).combine_chunks() for end in ends]).take(order)
        for name, own in split.items()
    }
    made["response"] = made.pop(stem)
    numbers = np.repeat(np.arange(table.size), len(ends))
    names = {plain_name(column): column for column in table.columns if column not in taken}
    group = next(
        (names[name] for name in (*NAMES["prompt"][:3], *NAMES["item_id"]) if name in names), ""
    )
    rest = [column for column in table.columns if column not in taken and column != group]
    made = {column: table.texts(column).take(numbers) for column in rest} | made
    ids = table.column(group) if group else []
    ids = (
        ids if len(set(ids)) == table.size and all(ids) else [str(k + 1) for k in range(table.size)]
    )
    made["prompt_id"] = pa.array(ids, pa.large_string()).take(numbers)
    if not any(name in NAMES["candidate"] for name in made):
        made["candidate"] = pa.array(ends * table.size, pa.large_string())
    won = next((names[name] for name in WINNERS if name in names), "")
    if "human" not in made and ("chosen" in ends or won):
        winners = ["chosen"] * table.size if "chosen" in ends else table.column(won)
        makers = made["model"].to_pylist() if "model" in made else ends * table.size
        chunks = [makers[start : start + len(ends)] for start in range(0, len(makers), len(ends))]
        human = [
            score
            for cell, own in zip(winners, chunks, strict=True)
            for score in _preferences(cell, ends, own)
        ]
        if sum(map(bool, human)) > 0.9 * len(human):
            made["human"] = pa.array(human, pa.large_string())
    listed = ", ".join(f"“{shorten(column, 30)}”" for column in families[stem].values())
    note = f"Each row has {len(ends)} answers ({listed}): read as one answer a row."
    note = " ".join(filter(None, [table.note, note]))
    return replace(table, data=pa.table(made), note=note, answers=len(ends))


def _preferences(winner: str, ends: Sequence[str], makers: Sequence[str]) -> list[str]:
    """Of each answer of a row: 1 for the winner, 0 for another one, 0.5 for a tie; empty where the cell names none."""
    said = plain_name(winner)
    stem = FAMILY.fullmatch(said)
    named = {said, stem["end"] if stem else said}
    wins = [
        end in named or winner.strip() == maker for end, maker in zip(ends, makers, strict=True)
    ]
    if wins.count(True) == 1:
        return ["1" if own else "0" for own in wins]
    return ["0.5" if said in TIES else ""] * len(ends)


def _of_chats(table: Table, column: str) -> Table | None:
    """The last message of each chat as ``response``, those before it as ``instruction``; None where the column holds no chats.

    Raises LabError for a chat that does not end with the assistant's message: nothing in it is an answer to score.
    """
    cells, instructions, answers = table.column(column), [], []
    if re.match(r"\s*\[\s*\{", cells[0]) is None or {"response", "instruction"} & {
        *map(plain_name, table.columns)
    }:
        return None
    for row, cell in enumerate(cells):
        chat = json_value(cell, table.name, row + 1) if cell.lstrip().startswith("[") else []
        said = [(role, text) for role, text in map(_message, chat) if text.strip()]
        if not said or said[-1][0] != "assistant":
            last = (
                f"its last message is of “{shorten(said[-1][0])}”"
                if said
                else "it holds no messages"
            )
            words = f"{last}; expected a chat that ends with the assistant's answer, to score it. Leave the row out."
            raise table.fault(row, column, words)
        *before, (_, answer) = said
        lines = [
            f"{role.capitalize()}: {text}" if len(before) > 1 else text for role, text in before
        ]
        instructions.append("\n\n".join(lines))
        answers.append(answer)
    data = table.data.drop_columns([column])
    for name, texts in (("instruction", instructions), ("response", answers)):
        data = data.append_column(name, pa.array(texts, pa.large_string()))
    note = f"“{shorten(column)}” holds chats: the last answer of each is scored, all before it is its instruction."
    return replace(table, data=data, note=" ".join(filter(None, [table.note, note])))


def _message(message: Any) -> tuple[str, str]:
    """(role, text) of a message; a text in parts is joined, and what is no text is empty."""
    if not isinstance(message, dict):
        return "", ""
    role, content = (
        message.get(key) or message.get(other)
        for key, other in (("role", "from"), ("content", "value"))
    )
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return ROLES.get(str(role), str(role)), "\n".join(
        text for text in texts if isinstance(text, str)
    )
