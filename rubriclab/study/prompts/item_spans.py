"""Where an item stands in a prompt: by the cells of the data, or by headings where there are none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from rubriclab.datasets.listed import line_of
from rubriclab.datasets.mapping import guess_mapping, is_blank
from rubriclab.model.language import tr
from rubriclab.study.prompts.loops import WAYS

SHORT = 12
"""Cells of fewer characters stand in a prompt by chance; they count where they fill a line."""
_GRAM = 12


@dataclass(frozen=True, slots=True)
class ItemSpan:
    """Text that is part of the item: message, start, end. ``name`` is the template's name for it,
    ``tag`` the Jinja2 that writes it, ``value`` the item's own text. ``exact``: whether they agree."""

    message: int
    start: int
    end: int
    name: str
    tag: str
    value: str
    exact: bool = True


def cell_text(cell: object) -> str:
    """A cell as text: whole floats lose their .0, lists and objects become JSON, blanks are ""."""
    if is_blank(cell):
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return json.dumps(cell, ensure_ascii=False) if isinstance(cell, list | dict) else str(cell)


def column_names(rows: Sequence[Mapping[str, object]]) -> dict[str, str]:
    """What a template calls each column: instruction, response or reference by guess, else item.NAME."""
    columns = list(dict.fromkeys(str(column) for row in rows[:50] for column in row))
    guess = guess_mapping(pd.DataFrame(list(rows[:50]), columns=columns))
    parts = {guess.response: "response", guess.instruction: "instruction", guess.reference: "reference"}
    if guess.system is not None:  # the lab puts it before the instruction, which is then not the cell alone
        parts.pop(guess.instruction, None)
    return {column: parts.get(column) or _own_name(column) for column in columns}


def _own_name(column: str) -> str:
    return f"item.{column}" if re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", column) else f"item[{json.dumps(column)}]"


# ---------------------------------------------------------------- which row


def rows_in(texts: Sequence[str], rows: Sequence[Mapping[str, object]]) -> list[int]:
    """The rows (from 0) of which most text stands in the prompt; empty where none has any there.

    A cell is looked for only if its beginning stands somewhere: the time is that of reading the data.
    """
    raw = "\n".join(texts)
    whole = _loose(raw)
    grams = {whole[i : i + _GRAM] for i in range(len(whole) - _GRAM + 1)}
    best = 0
    found: list[int] = []
    for number, row in enumerate(rows):
        size = 0
        for cell in row.values():
            if isinstance(cell, str) and len(cell) >= SHORT and (cell in raw or _stands(cell, whole, grams)):
                size += len(cell)
        if size > best:
            best, found = size, [number]
        elif size == best and size:
            found.append(number)
    return found


def _stands(cell: str, whole: str, grams: set[str]) -> bool:
    """Whether the cell stands in the text but for white space and quotes: tried if its ends and middle do."""
    probe = _loose(cell[:120]).strip()
    middle = max(len(probe) // 2 - _GRAM // 2, 0)
    if not all(probe[at : at + _GRAM] in grams for at in (0, middle, max(len(probe) - _GRAM, 0))):
        return False
    return _loose(cell).strip() in whole


def _loose(text: str) -> str:
    """The text without what a prompt may have changed in it: white space, quotes, JSON's escapes."""
    if "\\u" in text:
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return re.sub(r"(?:\\+[nrt]|[\\\"\s])+", " ", text)


# ---------------------------------------------------------------- cells


def _with_breaks(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


_TRIED: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("{{{{ {0} }}}}", str),
    ("{{{{ {0}|trim }}}}", str.strip),
    ('{{{{ {0}.replace("\\r\\n", "\\n") }}}}', lambda text: text.replace("\r\n", "\n")),
    ('{{{{ {0}.replace("\\r\\n", "\\n")|trim }}}}', lambda text: text.replace("\r\n", "\n").strip()),
    ('{{{{ {0}.replace("\\r\\n", "\\n").replace("\\n", "\\r\\n") }}}}', _with_breaks),
    ('{{{{ {0}.split()|join(" ") }}}}', lambda text: " ".join(text.split())),
    *WAYS[1:4],
)
"""How a cell may have been put into the prompt, from the plainest."""


def item_spans(
    texts: Sequence[str], row: Mapping[str, object], names: Mapping[str, str], *, avoid: Callable[[int, int, int], bool]
) -> list[ItemSpan]:
    """Every place in the messages where a cell of ``row`` stands, the longest cells first.

    ``avoid(message, start, end)``: places that are something else. A cell that stands there with
    other white space is a span that is not exact.
    """
    found: list[ItemSpan] = []
    cells = sorted(((cell_text(cell), str(column)) for column, cell in row.items()), key=lambda c: -len(c[0]))
    for cell, column in cells:
        if not cell.strip():
            continue
        for message, text in enumerate(texts):
            for start, end, tag, exact in _places(text, cell, names[column]):
                free = all(s.message != message or end <= s.start or s.end <= start for s in found)
                if free and not (end - start < 40 and avoid(message, start, end)):
                    found.append(ItemSpan(message, start, end, names[column], tag, cell, exact))
    return sorted(found, key=lambda span: (span.message, span.start))


def _places(text: str, cell: str, name: str) -> Iterable[tuple[int, int, str, bool]]:
    for form, written in _TRIED:
        shown = written(cell)
        places = [at for at in _occurrences(text, shown) if len(shown) >= SHORT or _alone(text, at, at + len(shown))]
        if places:
            return [(at, at + len(shown), form.format(name), True) for at in places[:50]]
    words = cell.split()
    if len(cell) < SHORT or len(words) < 3 or words[0] not in text:
        return []
    match = re.search(r"\s+".join(map(re.escape, words)), text) if len(words) < 20_000 else None
    return [] if match is None else [(*match.span(), f"{{{{ {name} }}}}", False)]


def _occurrences(text: str, part: str) -> list[int]:
    places: list[int] = []
    at = text.find(part) if part else -1
    while at >= 0 and len(places) < 50:
        places.append(at)
        at = text.find(part, at + len(part))
    return places


def _alone(text: str, start: int, end: int) -> bool:
    """Whether a short text fills its line, but for a heading before it or tags around it."""
    before = text[max(0, start - 80) : start]
    before = before[max(before.rfind("\n"), before.rfind("\r")) + 1 :]
    return bool(re.fullmatch(r"\s*|.*[:>\"“'(=]\s*", before)) and bool(
        re.match(r"[ \t]*(?:$|[\r\n]|[<\"”')])", text[end : end + 10])
    )


# ---------------------------------------------------------------- without data

_INSTRUCTION = r"instructions?|question|prompt|task|query|user(?: (?:question|input|prompt|query))?|input|source(?: text)?|article|document|context|Frage|Aufgabe|Anfrage|Eingabe|consigne|pregunta|domanda"
_RESPONSE = r"(?:(?:model|ai|assistant|student|candidate|generated|system)(?:'s)? )?(?:response|answer|output|reply|completion|summary|translation|essay|story|text)|assistant|Antwort(?: des Modells)?|Ausgabe|Text|réponse|respuesta|risposta|resposta"
_REFERENCE = r"(?:reference|gold|ideal|correct|expected|model)(?: (?:answer|response|output|solution))|reference|Referenz(?:antwort)?|Musterantwort|Musterlösung"
_NAMED = (("reference", _REFERENCE), ("instruction", _INSTRUCTION), ("response", _RESPONSE))
_HEADINGS = tuple(
    (
        name,
        re.compile(
            rf"^[ \t]{{0,8}}(?:\#{{1,6}}[ \t]*|\*\*|\[|[-*][ \t])?(?:the |die |der |)?(?:{words})(?: to (?:evaluate|judge|grade|rate|be \w+))?(?:\*\*)?[ \t]*(?:[:：\]](?:\*\*)?|\*\*|(?=$))[ \t]*",
            re.IGNORECASE | re.MULTILINE,
        ),
        re.compile(rf"<(?P<tag>(?:{words})[\w-]{{0,20}})>", re.IGNORECASE),
    )
    for name, words in _NAMED
)
_NEXT = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*\S|\*\*[^*\n]{1,60}\*\*[ \t]*:?[ \t]*$|\[[^\]\n]{1,60}\][ \t]*$|</?\w[\w-]{0,40}>|[-=*_]{3,}[ \t]*$|```"
    r"|[^\W\d_][^\n:.!?]{0,40}:[ \t]*$)",
    re.MULTILINE,
)


def headed_spans(texts: Sequence[str], *, stops: Sequence[Sequence[int]]) -> list[ItemSpan]:
    """What stands under headings such as "Question:" or in tags such as <response>: a proposal.

    ``stops``: for each message, where its lists begin and end, which no span reaches over.
    """
    found: list[ItemSpan] = []
    for name, line, tag in _HEADINGS:
        for message, text in enumerate(texts):
            places = [
                *((m.end(), text.find(f"</{m['tag']}>", m.end())) for m in tag.finditer(text)),
                *((m.end(), _under(text, m.end(), stops[message])) for m in line.finditer(text)),
            ]
            for start, end in places:
                start, end = _inner(text, start, end)
                used = any(s.name == name or (s.message == message and start < s.end and s.start < end) for s in found)
                over = any(start < stop < end for stop in stops[message])
                if end > start and not used and not over:
                    found.append(ItemSpan(message, start, end, name, f"{{{{ {name} }}}}", text[start:end]))
    return sorted(found, key=lambda span: (span.message, span.start))


def _under(text: str, start: int, stops: Sequence[int]) -> int:
    """Where what stands under a heading ends: at the next heading or list; what begins in the heading's
    own line ends at a blank line too."""
    ends = [
        match.start()
        for pattern in (_NEXT, *(line for _, line, _ in _HEADINGS))
        if (match := pattern.search(text, start + 1))
    ]
    if text[start : start + 1] not in "\r\n" and (blank := _BLANK.search(text, start)):
        ends.append(blank.start())
    return min([*ends, *(stop for stop in stops if stop > start)], default=len(text))


_BLANK = re.compile(r"(?:\r\n|\n|\r)[ \t]*(?:\r\n|\n|\r)")


def _inner(text: str, start: int, end: int) -> tuple[int, int]:
    """The paragraph(s) between, without quotes or fences around them."""
    part = text[start : max(start, end)]
    body = part.strip()
    if not body:
        return start, start
    first = start + part.index(body)
    for mark in ('"""', "```", '"'):
        if body.startswith(mark) and mark in body[len(mark) :]:
            stop = body.index(mark, len(mark))
            inner = body[len(mark) : stop].strip()
            at = first + body.index(inner) if inner else first
            return at, at + len(inner)
    return first, first + len(body)


def where(text: str, start: int, end: int) -> str:
    """ "line 3" or "lines 3 to 5" of a span."""
    one, other = line_of(text, start), line_of(text, max(start, end - 1))
    return tr("line {n}", n=one) if one == other else tr("lines {first} to {last}", first=one, last=other)
