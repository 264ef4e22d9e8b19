"""Split rows that hold several answers (``response_a``, ``response_b``), so that each row has one.

So are preference data kept: a prompt, two or more answers side by side, perhaps who won. Chats are
unfolded first. Rows stay in their order.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from rubriclab.data.chats import ANSWERS, CHATS, FAMILY, PAIR, with_texts
from rubriclab.data.items import HUMAN, LOOKED_AT, NAMES, holds_numbers, plain_name
from rubriclab.data.tables import Columns, Table, as_list, number
from rubriclab.model.text import shorten

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
WON = ("winner_model", "winner", "is_winner", "won", "preferred")
"""Columns that come as often as the answers and mark the one that won with 1."""
TIES = {"tie", "c", "both", "equal", "tie_bothbad", "unentschieden", "0_5"}


def one_answer_a_row(table: Table, columns: Columns | None = None) -> Table:
    """Return a row for each answer; ``table`` itself where no row has several and none is a chat.

    New columns are ``candidate`` (unless columns say who wrote them), ``prompt_id``, and ``human``
    (1 for the winner, 0, 0.5 for a tie) where a column names the winner and no column rates the
    answers. Columns that come as often as the answers are split with them; all others are repeated.
    ``columns``: those that the study names; one of the answers among them leaves the rows whole.
    """
    chosen = {column for named in (columns or {}).values() for column in as_list(named)}
    table = with_texts(table, columns)
    families: dict[str, dict[str, str]] = defaultdict(dict)
    for column in table.columns:
        name = plain_name(column)
        parts = FAMILY.fullmatch(name)
        if name in PAIR:
            families["response"][name] = column
        elif parts and not name.startswith("reference"):
            families[parts["stem"]][parts["end"]] = column
    known = [stem for stem in families if stem in (*ANSWERS, *CHATS) and len(families[stem]) > 1]
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
    flagged = [name for name in split if name in WON and _flags(made[name].to_pylist())]
    if "human" not in made and flagged:
        tie = names.get("winner_tie", "")
        ties = table.column(tie) if tie else [""] * table.size
        won_by = zip(made.pop(flagged[0]).to_pylist(), np.repeat(ties, len(ends)), strict=True)
        human = ["0.5" if number(str(even)) == 1 else own for own, even in won_by]
        made["human"] = pa.array(human, pa.large_string())
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
        if sum(map(bool, human)) > 0.9 * len(human) and not _rated(made, split, human):
            made["human"] = pa.array(human, pa.large_string())
    listed = ", ".join(f"“{shorten(column, 30)}”" for column in families[stem].values())
    note = f"Each row has {len(ends)} answers ({listed}): read as one answer a row."
    note = " ".join(filter(None, [table.note, note]))
    structured = [column for column in rest if column in table.structured]
    structured += [
        name
        for name, own in split.items()
        if name in made and {*own.values()} & {*table.structured}
    ]
    people = table.people
    if people is not None:
        stems = {own[end]: name for name, own in split.items() for end in ends}
        people = tuple(
            dict.fromkeys((stems.get(column, column), asked) for column, asked in people)
        )
        people = tuple((column, asked) for column, asked in people if column in made)
    return replace(
        table,
        data=pa.table(made),
        note=note,
        answers=len(ends),
        structured=tuple(structured),
        people=people,
    )


def _flags(cells: Sequence[str]) -> bool:
    return all(cell.strip() in ("0", "1") for cell in cells) and "1" in {*map(str.strip, cells)}


def _rated(made: dict[str, pa.Array], split: Collection[str], human: Sequence[str]) -> bool:
    """Return whether a column of ratings came with the answers and says nothing else than who won.

    Beside such ratings the preference would count as a second rater on another scale. Where the
    two disagree the preference is kept, and the ratings are not taken for people's.
    """
    for name in split:
        if name not in made or not HUMAN.fullmatch(plain_name(name)):
            continue
        scores = [number(cell) for cell in made[name].to_pylist()]
        winners = zip(scores, human, strict=True)
        best = [score for score, won in winners if won == "1" and score is not None]
        rest = [
            score
            for score, won in zip(scores, human, strict=True)
            if won == "0" and score is not None
        ]
        agree = len(best) == len(rest) and all(map(float.__ge__, best, rest))
        if best and agree:
            return True
        made[f"{name} (not people's)"] = made.pop(name)
    return False


def _preferences(winner: str, ends: Sequence[str], makers: Sequence[str]) -> list[str]:
    """Of each answer of a row: 1 for the winner, 0 for another one, 0.5 for a tie; empty where the
    cell names none.
    """
    said = plain_name(winner)
    stem = FAMILY.fullmatch(said)
    named = {said}
    if stem and not stem["stem"].isdigit():  # “1.0” names the answer 1, or none, but never 0
        named.add(stem["end"])
    wins = [
        end in named or winner.strip() == maker for end, maker in zip(ends, makers, strict=True)
    ]
    if wins.count(True) == 1:
        return ["1" if own else "0" for own in wins]
    return ["0.5" if said in TIES else ""] * len(ends)
