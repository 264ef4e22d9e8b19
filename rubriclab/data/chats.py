"""Unfold columns that hold chats.

The judge scores the last answer of each chat, and the messages before it become its instruction. We
refuse a cell with any other list or object and name its row. Otherwise its JSON would be judged as
if it were text.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from rubriclab.data.items import LOOKED_AT, NAMES, PRINTED, WORDS, plain_name
from rubriclab.data.records import as_json
from rubriclab.data.tables import Columns, Table, as_list, json_value
from rubriclab.model.text import LabError, count, shorten

CHATS = ("messages", "conversations", "conversation", "chat", "dialogue", "dialog")
"""Names of columns that usually hold chats."""
PAIR = ("chosen", "rejected")
"""Names of the two columns of answers in preference data."""
FAMILY = re.compile(r"(?P<stem>\w+?)_?(?P<end>[a-h]|[0-9]|chosen|rejected)")
"""A column of one of several answers, for example response_a or answer_chosen."""
ANSWERS = {
    *NAMES["response"],
    "assistant",
    "text",
    "response_text",
    "answer_text",
    "assistant_response",
    "model_response",
}
"""Names of columns of answers, without what FAMILY calls the end."""
ROLES = {
    "human": "user",
    "prompter": "user",
    "gpt": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "chatbot": "assistant",
}
"""Names of roles in other tools, and OpenAI's names for the same roles."""
ROLE_KEYS, CONTENT_KEYS = ("role", "from", "speaker"), ("content", "value", "text")
"""Keys of a message's role and text in different tools, in the order in which we try them."""
THOUGHTS = ("thinking", "reasoning", "redacted_thinking", "thought")
"""Types of message parts that do not belong to the answer."""
NOT_JSON = (
    "a list as Python prints it, with single quotes, which is not JSON. Write the column with "
    "json.dumps, or save the table as JSON or Parquet."
)
QUOTED = re.compile(r"\s*(?:b'.*'|b\".*\"|\['.*'\]|\[\".*\"\])\s*", re.S)
"""Bytes or a list of texts as Python prints them."""
TRANSCRIPT = re.compile(r"\n\nHuman:.*\n\nAssistant:", re.S)
"""Matches a chat that is written as one text, for example in HH-RLHF."""
SPEAKER = re.compile(r"\n\n(Human|Assistant):")
"""Splits a transcript into its turns."""
RATED = {"annotation", "annotations", "aspects", "dimensions"}
"""Further words in names of columns that hold nested ratings."""
ASKED = ("instruction", "prompt", "question", "query", "input", "prompt_text", "user_prompt")
"""Names of columns of instructions, the most telling first."""


class _Fault(ValueError):
    """The reason why a cell cannot be read as a chat; the caller adds its row."""


@dataclass(frozen=True)
class Chat:
    """One chat: the messages before its last answer, as one text, and that answer."""

    before: str
    answer: str


def with_texts(table: Table, columns: Columns | None = None) -> Table:
    """Return the table with texts instead of chats, or the table itself if it needs no change.

    ``columns``: the columns that the study names, by role. A column of answers receives the last
    answers, and the messages before them become “instruction”. Raises LabError, with row and
    column, for a cell that cannot be unfolded.
    """
    named = {role: as_list(column) for role, column in (columns or {}).items()}
    table = _with_rated_aspects(_with_turns(table))
    chats = [column for column in table.columns if _holds_chats(table, column)]
    answers, asked = _roles(table, chats, named)
    _refuse_structures(table, {*answers, *asked}, named)
    if not answers and not asked:
        return table
    made = {column: list(_chats(table, column, answer=True)) for column in answers}
    texts = {column: [chat.answer for chat in read] for column, read in made.items()}
    for column in asked:
        texts[column] = [chat.before for chat in _chats(table, column, answer=False)]
    data = table.data
    for column, cells in texts.items():
        place = data.column_names.index(column)
        data = data.set_column(place, column, pa.array(cells, pa.large_string()))
    structured = tuple(column for column in table.structured if column not in texts)
    for column in asked:
        if plain_name(column) not in ASKED and column not in named.get("instruction", ()):
            names = ["instruction" if name == column else name for name in data.column_names]
            data = data.rename_columns(names)
    listed = ", ".join(f"“{shorten(column, 30)}”" for column in answers)
    holds = "holds" if len(answers) == 1 else "hold"
    note = f"{listed} {holds} chats: the last answer of each is scored"
    notes = [table.note]
    if len(answers) == 1 and not named.get("response"):
        (column,) = answers
        if plain_name(column) not in NAMES["response"]:
            names = ["response" if name == column else name for name in data.column_names]
            data, made = data.rename_columns(names), {"response": made[column]}
    table = replace(table, data=data, structured=structured)
    if answers:
        table, added = _with_before(table, made, named, asked)
        if added:
            note += ", all before it is its instruction"
        notes.append(f"{note}.")
    return replace(table, note=" ".join(text for text in notes if text))


def _with_turns(table: Table) -> Table:
    """Return the table with chats instead of transcripts and lists of turns.

    HH-RLHF writes “\\n\\nHuman: ...\\n\\nAssistant: ...”. LMSYS writes a list of prompts, and in
    other columns lists with the same number of answers.
    """
    asked = next((name for name in table.columns if plain_name(name) in ASKED), "")
    prompts = _lists_of_texts(table, asked) if asked else None
    made: dict[str, list[str]] = {}
    for column in table.columns:
        parts = FAMILY.fullmatch(plain_name(column))
        stem = parts["stem"] if parts else plain_name(column)
        if column == asked or not (plain_name(column) in PAIR or stem in ANSWERS):
            continue
        if _holds_transcripts(table, column):
            made[column] = [json.dumps(_of_transcript(cell)) for cell in table.column(column)]
        answers = _lists_of_texts(table, column) if prompts else None
        if prompts and answers and _lengths(prompts) == _lengths(answers):
            chats = [_of_turns(*both) for both in zip(prompts, answers, strict=True)]
            made[column] = [json.dumps(chat, ensure_ascii=False) for chat in chats]
            made[asked] = [turns[0] for turns in prompts]
    data = table.data
    for column, cells in made.items():
        place = data.column_names.index(column)
        data = data.set_column(place, column, pa.array(cells, pa.large_string()))
    structured = tuple(name for name in table.structured if name != asked or asked not in made)
    return replace(table, data=data, structured=structured) if made else table


def _holds_transcripts(table: Table, column: str) -> bool:
    """Return whether every cell is a transcript. We read all cells only if the first ones are."""
    first = table.column(column, LOOKED_AT)
    if not all(TRANSCRIPT.match(cell) for cell in first):
        return False
    return all(TRANSCRIPT.match(cell) for cell in table.column(column))


def _lengths(lists: Sequence[Sequence[str]]) -> list[int]:
    """Return how many texts each list has."""
    return [len(texts) for texts in lists]


def _lists_of_texts(table: Table, column: str) -> list[list[str]] | None:
    """Return the texts in each cell of a column; None unless every cell is a list of texts."""
    if any(not cell.lstrip().startswith("[") for cell in table.column(column, LOOKED_AT)):
        return None
    read = []
    for cell in table.column(column):
        value = as_json(cell)
        if not isinstance(value, list) or not value:
            return None
        if not all(isinstance(text, str) for text in value):
            return None
        read.append(value)
    return read


def _of_turns(prompts: Sequence[str], answers: Sequence[str]) -> list[dict[str, str]]:
    """Return the chat in which each prompt is followed by its answer."""
    chat = []
    for prompt, answer in zip(prompts, answers, strict=True):
        chat.append({"role": "user", "content": prompt})
        chat.append({"role": "assistant", "content": answer})
    return chat


def _of_transcript(text: str) -> list[dict[str, str]]:
    """Return the chat of a transcript. The split yields a speaker, a text, a speaker, and so on."""
    _, *parts = SPEAKER.split(text)
    turns = zip(parts[::2], parts[1::2], strict=True)
    return [{"role": role.lower(), "content": content.strip()} for role, content in turns]


def _with_rated_aspects(table: Table) -> Table:
    """Return the table with a column for each aspect in nested ratings.

    For example, SummEval has the ratings of three experts as a list of {coherence: 2, fluency: 5}.
    The names of these columns later decide which criterion of the rubric they rate.
    """
    data = table.data
    people: list[tuple[str, str]] = []
    for column in table.structured:
        words = {*plain_name(column).split("_")}
        if table.people is not None or not words & (WORDS["people"] | WORDS["rating"] | RATED):
            continue
        cells = [as_json(cell) if cell else [] for cell in table.column(column)]
        rows = [cell if isinstance(cell, list) else [cell] for cell in cells]
        if not any(rows) or not all(_is_rated(part) for row in rows for part in row):
            continue
        most = max(map(len, rows))
        keys = dict.fromkeys(
            (k, aspect) for row in rows for k, part in enumerate(row) for aspect in part
        )
        for k, aspect in keys:
            name = f"{aspect} {column}" if most == 1 else f"{aspect} {column} {k + 1}"
            found = [row[k].get(aspect) if k < len(row) else None for row in rows]
            texts = ["" if value is None else f"{value:g}" for value in found]
            if name not in data.column_names:
                data = data.append_column(name, pa.array(texts, pa.large_string()))
                people.append((name, aspect))
    return replace(table, data=data, people=tuple(people)) if people else table


def _is_rated(part: Any) -> bool:
    """Return whether an object holds only numbers, each under the name of an aspect."""
    if not isinstance(part, dict) or not part:
        return False
    return all(
        isinstance(value, int | float | None) and value is not True for value in part.values()
    )


def refuse_structured(table: Table, role: str, column: str, cells: Sequence[str]) -> None:
    """Raise LabError for the first cell that holds a list or an object instead of a text."""
    structured = column in table.structured
    for row, cell in enumerate(cells):
        if structured and as_json(cell) is not None:
            raise table.fault(
                row, column, f"{_described(as_json(cell))}; expected the text of the {role}. {CURE}"
            )
        if PRINTED.match(cell):
            raise table.fault(row, column, NOT_JSON)
    given = [cell for cell in cells if cell.strip()]
    if given and all(QUOTED.fullmatch(cell) for cell in given):
        row = list(cells).index(given[0])
        raise table.fault(
            row,
            column,
            f"“{shorten(given[0], 30)}” is a list or bytes as Python prints them, not text. Save "
            "the table as JSON.",
        )


CURE = "Give that text a column of its own, or name another column."
"""What to do about a cell that holds a list or an object."""


def _described(value: Any) -> str:
    """Return a short description of what a cell holds."""
    if isinstance(value, dict):
        return f"an object with {_keys(value)}" if value else "an empty object"
    if not value:
        return "an empty list"
    first = value[0]
    if isinstance(first, dict):
        return f"a list of {count(len(value), 'object')}, the first with {_keys(first)}"
    kind = "list" if isinstance(first, list) else "value"
    return f"a list of {count(len(value), kind)}"


def _keys(value: Mapping[str, Any]) -> str:
    """Return the first keys of an object, for an error."""
    return ", ".join(f"“{shorten(key, 20)}”" for key in [*value][:4]) or "no keys"


def _holds_chats(table: Table, column: str) -> bool:
    """Return whether one of the first cells of a column holds a chat."""
    cells = table.column(column, LOOKED_AT)
    starts = [cell for cell in cells if cell.lstrip()[:1] in ("[", "{")]
    return any(_is_chat(as_json(cell)) for cell in starts[:50])


def _is_chat(value: Any) -> bool:
    """Return whether a value is a list of messages, or one message."""
    parts = value if isinstance(value, list) else [value]
    if not parts or not all(isinstance(part, dict) for part in parts):
        return False
    roles = all(any(isinstance(part.get(key), str) for key in ROLE_KEYS) for part in parts)
    return roles and any(key in part for part in parts for key in (*CONTENT_KEYS, "tool_calls"))


def _roles(
    table: Table, chats: Sequence[str], named: Mapping[str, Sequence[str]]
) -> tuple[list[str], list[str]]:
    """Return (the columns of chats with answers, the columns of chats with instructions)."""
    plain = {column: plain_name(column) for column in table.columns}
    used = {column for given in named.values() for column in given}
    asked = [
        column
        for column in chats
        if column in named.get("instruction", ()) or (column not in used and plain[column] in ASKED)
    ]
    if response := named.get("response"):
        return [column for column in response if column in chats], asked
    free = [column for column in chats if column not in used and column not in asked]
    families: dict[str, list[str]] = {}
    for column in free:
        parts = FAMILY.fullmatch(plain[column])
        if plain[column] in PAIR:
            families.setdefault("response", []).append(column)
        elif parts and not plain[column].startswith("reference"):
            families.setdefault(parts["stem"], []).append(column)
    several = [family for family in families.values() if len(family) > 1]
    by_name = [column for column in table.columns if plain[column] in NAMES["response"]]
    if by_name:
        answers = [column for column in by_name if column in free]
        others = [column for column in free if column not in answers]
        known = any(name in plain.values() for name in ASKED)
        # The answers have their own column, so a chat that ends with the user is their instruction.
        if len(others) == 1 and not known and not named.get("instruction"):
            asked += [column for column in others if _ends_with_user(table, column)]
        return answers, asked
    if len(several) == 1:
        return several[0], asked
    if several or _other_answers(plain):
        return [], asked
    alone = [column for column in free if plain[column] in CHATS] or free
    if len(alone) > 1:
        listed = ", ".join(f"“{shorten(column, 30)}”" for column in alone)
        raise LabError(
            f"“{shorten(table.name)}”: several columns hold chats ({listed}). Name the one whose "
            f'last answers are scored, for example columns = {{ response = "{alone[0]}" }}.'
        )
    return alone, asked


def _ends_with_user(table: Table, column: str) -> bool:
    """Return whether each of the first chats of a column ends with a message from the user."""
    chats = [as_json(cell) for cell in table.column(column, LOOKED_AT) if cell.strip()]
    lists = [chat for chat in chats if isinstance(chat, list) and chat]
    return len(lists) == len(chats) and all(_role(chat[-1]) == "user" for chat in lists)


def _other_answers(plain: Mapping[str, str]) -> bool:
    """Return whether rows have several answers as texts. Then the chats are not the answers."""
    ends: dict[str, int] = {}
    for name in plain.values():
        parts = FAMILY.fullmatch(name)
        if name in PAIR or (parts and parts["stem"] in ANSWERS):
            stem = "response" if name in PAIR or parts is None else parts["stem"]
            ends[stem] = ends.get(stem, 0) + 1
    return any(number > 1 for number in ends.values())


def _refuse_structures(
    table: Table, unfolded: set[str], named: Mapping[str, Sequence[str]]
) -> None:
    """Raise LabError for a column of answers with lists or objects that are not chats."""
    plain = {column: plain_name(column) for column in table.columns}
    chosen = [
        *named.get("response", ()),
        *named.get("instruction", ()),
        *named.get("reference", ()),
    ]
    wanted = [column for column in table.columns if column in chosen]
    several = _other_answers(plain)
    if "response" not in named:
        for column in table.columns:
            parts = FAMILY.fullmatch(plain[column])
            family = parts is not None and parts["stem"] in (*ANSWERS, *CHATS)
            chat = plain[column] in CHATS and not several
            if plain[column] in (*NAMES["response"], *PAIR) or family or chat:
                wanted.append(column)
    if "instruction" not in named:
        most_telling = [name for name in ASKED if name in plain.values()][:1]
        wanted += [column for column in table.columns if plain[column] in most_telling]
    answers = {column for column in table.columns if plain[column] in NAMES["response"]}
    chosen += [column for column in wanted if plain[column] in ASKED]
    for column in wanted:
        if column in unfolded or (answers and column not in (*answers, *chosen)):
            continue
        role = "instruction" if plain[column] in ASKED else "answer"
        most = None if column in table.structured else LOOKED_AT
        refuse_structured(table, role, column, table.column(column, most))


def _chats(table: Table, column: str, *, answer: bool) -> Iterator[Chat]:
    """Yield the chat of each row. Raises LabError, with the row, for a cell without a chat."""
    for row, cell in enumerate(table.column(column)):
        try:
            yield _chat(table, row, cell, answer=answer)
        except _Fault as fault:
            raise table.fault(row, column, f"{fault} Leave the row out.") from None


def _chat(table: Table, row: int, cell: str, *, answer: bool) -> Chat:
    """Return the chat in a cell.

    ``answer``: the chat must end with an answer. Otherwise all its messages are the instruction.
    Raises _Fault where an answer is missing, and for a message that is not text.
    """
    bare = cell.strip()
    if not bare or bare == "null":
        if not answer:
            return Chat("", "")
        raise _Fault(
            "it holds no messages; expected a chat that ends with the assistant's answer, to "
            "score it."
        )
    if bare[:1] not in ("[", "{"):
        if not answer:
            return Chat(cell, "")
        raise _Fault(f"a text (“{shorten(bare, 30)}”), where other rows hold chats.")
    value = json_value(cell, table.name, row + 1)
    messages = value if isinstance(value, list) else [value]
    said = [turn for turn in map(_turn, messages) if turn[1].strip()]
    if not answer:
        return Chat(_together(said), "")
    if not said or said[-1][0] != "assistant":
        last = (
            f"its last message is from “{shorten(said[-1][0])}”" if said else "it holds no messages"
        )
        raise _Fault(f"{last}; expected a chat that ends with the assistant's answer, to score it.")
    if not _says(messages[-1]):
        raise _Fault(
            "its last message has no text, or only calls a tool; expected an answer to score."
        )
    *before, (_, text) = said
    return Chat(_together(before), text)


def _together(said: Sequence[tuple[str, str]]) -> str:
    """Join (role, text) of messages. A single message needs no role before its text."""
    if len(said) == 1:
        return said[0][1]
    return "\n\n".join(f"{role.capitalize()}: {text}" for role, text in said)


def _turn(message: Any) -> tuple[str, str]:
    """Return (role, text) of a message. Its parts are joined, and tool calls are written out.

    Raises _Fault for a part that is not text, for example a picture.
    """
    if not isinstance(message, dict):
        return "", ""
    texts = [*_texts(_content(message))]
    for call in (*(message.get("tool_calls") or ()), message.get("function_call")):
        called = call.get("function", call) if isinstance(call, dict) else None
        if isinstance(called, dict):
            texts.append(_called(called.get("name"), called.get("arguments")))
    return _role(message), "\n".join(texts)


def _role(message: Any) -> str:
    """Return OpenAI's name for the role of a message; empty for anything that is not a message."""
    if not isinstance(message, dict):
        return ""
    given = next((message[key] for key in ROLE_KEYS if message.get(key)), "")
    role = str(given).strip().lower()
    return ROLES.get(role, role)


def _content(message: Mapping[str, Any]) -> Any:
    """Return the content of a message: a text, a list of parts, or None."""
    return next((message[key] for key in CONTENT_KEYS if message.get(key)), None)


def _says(message: Any) -> bool:
    """Return whether a message has text apart from tool calls."""
    content = _content(message) if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else [content]
    calls = ("tool_use", "tool_call", "function_call")
    words = [part for part in parts if not (isinstance(part, dict) and part.get("type") in calls)]
    return any(text.strip() for part in words for text in _texts(part))


def _texts(content: Any) -> Iterator[str]:
    """Yield the texts of a message's content. Raises _Fault for a part that is not text."""
    if content is None:
        return
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield from _texts(part)
    elif isinstance(content, dict):
        yield from _part(content)
    else:
        yield str(content)


def _part(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts of one part; none for thoughts. Raises _Fault if a part is not text."""
    kind = str(part.get("type") or part.get("content_type") or "text")
    if kind in THOUGHTS:
        return
    if kind in ("tool_use", "tool_call", "function_call"):
        yield _called(part.get("name"), part.get("input", part.get("arguments")))
    elif kind in ("text", "input_text", "output_text", "refusal", "tool_result"):
        held = next(
            (part[key] for key in ("text", "refusal", "content", "parts") if part.get(key)), None
        )
        yield from _texts(held)
    else:
        raise _Fault(f"a message has a part of type “{shorten(kind, 30)}”, which is not text.")


def _called(name: Any, given: Any) -> str:
    """Return a tool call as text, so that an instruction shows what the tool received."""
    arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    if given is None:
        arguments = ""
    return f"[calls {name}({arguments})]"


def _with_before(
    table: Table,
    made: Mapping[str, Sequence[Chat]],
    named: Mapping[str, Sequence[str]],
    asked: Sequence[str],
) -> tuple[Table, bool]:
    """Add the messages before the answers as “instruction”. Return (table, whether we added them).

    We do not add them where a column has the same text, or where the study names one. Raises
    LabError where a column of instructions and the chats differ. ``made``: chats by column.
    """
    if named.get("instruction") or not any(chat.before for read in made.values() for chat in read):
        return table, False
    plain = {column: plain_name(column) for column in table.columns}
    known = next((column for name in ASKED for column in plain if plain[column] == name), None)
    if known is not None and known not in made:
        cells = table.column(known)
        if known not in asked and known in table.structured:
            cells = [""] * len(cells)
        same = True
        for column, read in made.items():
            for row, (cell, chat) in enumerate(zip(cells, read, strict=True)):
                same = same and chat.before.strip() in ("", cell.strip())
                if cell.strip() and chat.before and cell.strip() not in chat.before:
                    raise table.fault(
                        row,
                        column,
                        f"its messages before the answer (“{shorten(chat.before, 30)}”) differ "
                        f"from “{shorten(known)}” (“{shorten(cell, 30)}”). Name the right one, "
                        f'for example columns = {{ instruction = "{known}" }}, or leave that '
                        "column out.",
                    )
        if same:
            return table, False
    data = table.data
    if "instruction" in plain.values():
        old = next(column for column in plain if plain[column] == "instruction")
        names = [f"{name} (column)" if name == old else name for name in data.column_names]
        data = data.rename_columns(names)
    for column, read in made.items():
        parts = FAMILY.fullmatch(plain[column])
        end = plain[column] if plain[column] in PAIR else parts["end"] if parts else ""
        name = f"instruction_{end}" if len(made) > 1 else "instruction"
        data = data.append_column(name, pa.array([chat.before for chat in read], pa.large_string()))
    return replace(table, data=data), True
