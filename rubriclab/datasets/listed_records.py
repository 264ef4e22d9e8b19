"""Lists whose entries have named fields: Markdown tables, JSON, XML."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from rubriclab.datasets.listed import MOST_ENTRIES, Entry, FoundList, Part, PartKind, lines, trimmed, values
from rubriclab.datasets.scale_words import rank_of
from rubriclab.model.language import msg

_SCORE = {"score", "scores", "rating", "points", "point", "value", "level", "grade", "mark", "marks", "stars", "rank"}
_SCORE |= {
    "punkte",
    "punktzahl",
    "note",
    "stufe",
    "wert",
    "bewertung",
    "puntos",
    "points",
    "nota",
    "valeur",
    "puntuación",
}
_LABEL = {
    "label",
    "name",
    "id",
    "key",
    "option",
    "letter",
    "code",
    "title",
    "category",
    "verdict",
    "bezeichnung",
    "choice",
}
MAX_DEPTH = 40
MAX_TOKENS = 60_000
"""Signs and values of JSON that are looked at; the longest rubric has some hundreds."""

Field = tuple[int, int, str]
"""A field's value: where it stands, and what it is."""


@dataclass(frozen=True, slots=True)
class _Record:
    """An entry with its fields by name, in the order of the text."""

    start: int
    end: int
    fields: dict[str, Field]
    repeated: tuple[Field, ...] = ()


def _of_records(layout: str, records: Sequence[_Record], name: str = "") -> Iterator[FoundList]:
    """The list that records make, where their fields can be told apart."""
    if not 2 <= len(records) <= MOST_ENTRIES or len({tuple(record.fields) for record in records}) != 1:
        return
    roles = _roles(records)
    if not roles:
        return
    entries = []
    for record in records:
        parts = [Part(kind, *record.fields[key]) for key, kind in roles.items()]
        parts += [Part(parts[0].kind, *again) for again in record.repeated]
        parts.sort(key=lambda part: part.start)
        entries.append(Entry(record.start, record.end, tuple(parts)))
    yield FoundList(layout, tuple(entries), name)


def _roles(records: Sequence[_Record]) -> dict[str, PartKind]:
    """What each field is; empty where no field tells the entries apart."""
    names = list(records[0].fields)
    shown = {name: [record.fields[name][2] for record in records] for name in names}
    distinct = [name for name in names if len(set(shown[name])) == len(records)]
    numeric = [name for name in distinct if _scale(shown[name]) == "number"]
    score = next((name for name in numeric if _plain(name) in _SCORE), numeric[0] if numeric else None)
    short = [n for n in distinct if n != score and all(0 < len(v) <= 40 and len(v.split()) <= 4 for v in shown[n])]
    label = next((n for n in short if _scale(shown[n]) or all(rank_of(v) is not None for v in shown[n])), None)
    label = label or next((n for n in short if _plain(n) in _LABEL), None)
    if score is not None and label is not None and len(names) == 2 and _plain(label) not in _LABEL:
        label = None
    if score is None and label is None:
        label = next(iter(short), None) if len(names) > 1 else None
        if len(names) == 1 and sum(rank_of(v) is not None for v in shown[names[0]]) >= 2:
            return {names[0]: "label"}
    rest = [name for name in names if name not in (score, label)]
    if label is not None and not rest and score is not None and len(max(shown[label], key=len)) > 24:
        rest, label = [label], None
    if score is None and label is None:
        return {}
    text = max(rest, key=lambda name: sum(map(len, shown[name])), default=None)
    kinds: dict[str | None, PartKind] = {label: "label", score: "score" if label else "label", text: "text"}
    return {name: kinds[name] for name in names if name in kinds}


def _scale(labels: Sequence[str]) -> str | None:
    found = values(labels)
    return None if found is None else found[0]


def _plain(name: str) -> str:
    return re.sub(r"[\W\d_]+", "", name).casefold()


# ---------------------------------------------------------------- Markdown tables

_RULE = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_CELL = re.compile(r"(?:[^|\\]|\\.)*")


def table_lists(text: str) -> Iterator[FoundList]:
    """Markdown tables whose rows are options."""
    page = lines(text)
    for number, (start, end, _) in enumerate(page):
        if number == 0 or "|" not in text[start:end] or "-" not in text[start:end]:
            continue
        if not _RULE.fullmatch(text[start : min(end, start + 2_000)]):
            continue
        header = [text[a:b].strip("*_` ") for a, b in _cells(text, *page[number - 1][:2])]
        rows = []
        for row_start, row_end, _ in page[number + 1 : number + 2 + MOST_ENTRIES]:
            cells = _cells(text, row_start, row_end)
            if "|" not in text[row_start:row_end] or len(cells) != len(header) or len(header) < 2:
                break
            rows.append((row_start, row_end, cells))
        names = [name or f"column {i}" for i, name in enumerate(header)]
        if len(set(names)) == len(names):
            yield from _of_records(msg("a Markdown table"), [_row(text, names, *row) for row in rows])


def _row(text: str, names: Sequence[str], start: int, end: int, cells: Sequence[tuple[int, int]]) -> _Record:
    return _Record(start, end, {name: _inner(text, *cell) for name, cell in zip(names, cells, strict=True)})


def _inner(text: str, start: int, end: int) -> Field:
    """A cell without white space and without marks such as ** around all of it."""
    start, end = trimmed(text, start, end)
    for mark in ("**", "__", "`", "*", "_"):
        part = text[start:end]
        if part.startswith(mark) and part.endswith(mark) and len(part) > 2 * len(mark):
            start, end = start + len(mark), end - len(mark)
    return start, end, text[start:end]


def _cells(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The cells of a row, between its outer bars."""
    cells, at = [], start
    while at <= end:
        match = _CELL.match(text, at, end)
        stop = match.end() if match else at
        cells.append((at, stop))
        at = stop + 1
    if cells and not text[slice(*cells[0])].strip():
        cells = cells[1:]
    if cells and not text[slice(*cells[-1])].strip():
        cells = cells[:-1]
    return cells


# ---------------------------------------------------------------- JSON

_TOKEN = re.compile(r'[ \t\r\n]+|"(?:[^"\\\r\n]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[\[\]{},:]')


@dataclass(slots=True)
class _Node:
    """A JSON value while it is read; ``keys`` and ``items`` of an object or a list."""

    start: int
    end: int
    sign: str = ""
    value: str = ""
    keys: list[_Node] = field(default_factory=list)
    items: list[_Node] = field(default_factory=list)


def json_lists(text: str) -> Iterator[FoundList]:
    """Lists and objects in JSON that hold options."""
    for node in _json_nodes(text):
        if node.sign == "[" and node.items and all(item.sign == "{" for item in node.items):
            yield from _of_records(msg("a JSON list"), [_object(item) for item in node.items])
        elif node.sign == "[" and node.items and all(item.sign == '"' for item in node.items):
            records = [_Record(i.start, i.end, {"value": _content(i)}) for i in node.items]
            yield from _of_records(msg("a JSON list of texts"), records)
        elif node.sign == "{" and len(node.keys) == len(node.items) >= 2 and all(i.sign in '"0' for i in node.items):
            yield from _of_records(msg("a JSON object"), _pairs(node), "")


def _pairs(node: _Node) -> list[_Record]:
    """An object's keys with their values, where the keys are a scale."""
    keys = [_content(key)[2] for key in node.keys]
    if not _scale(keys) and sum(rank_of(key) is not None for key in keys) < 2:
        return []
    return [
        _Record(key.start, item.end, {"label": _content(key), "score" if item.sign == "0" else "text": _content(item)})
        for key, item in zip(node.keys, node.items, strict=True)
    ]


def _object(node: _Node) -> _Record:
    fields = {key.value: _content(item) for key, item in zip(node.keys, node.items, strict=False) if item.sign in '"0'}
    return _Record(node.start, node.end, fields)


def _content(node: _Node) -> Field:
    """Where a string's inside, or a number, stands, and its value."""
    return (node.start + 1, node.end - 1, node.value) if node.sign == '"' else (node.start, node.end, node.value)


def _json_nodes(text: str) -> Iterator[_Node]:
    """Every list and object in the text, inner ones first; one pass, and none in what is not JSON."""
    stack: list[_Node] = []
    at = 0
    for _ in range(MAX_TOKENS):
        if at >= len(text):
            return
        match = _TOKEN.match(text, at)
        if match is None:
            stack.clear()
            following = _OPENING.search(text, at + (not stack and text[at] in "[{"))
            if following is None:
                return
            at = max(following.start(), at + (following.start() == at and text[at] not in "[{"))
            continue
        token, start, at = match[0], at, match.end()
        if token[0] in "[{":
            stack.append(_Node(start, at, token[0]))
            if len(stack) > MAX_DEPTH:
                stack.clear()
        elif not stack or token[0] in " \t\r\n,":
            continue
        elif token == ":":
            if stack[-1].sign == "{" and stack[-1].items:
                stack[-1].keys.append(stack[-1].items.pop())
        elif token[0] in "]}":
            node = stack.pop()
            node.end = at
            if {"[": "]", "{": "}"}[node.sign] != token or (node.sign == "{" and len(node.keys) != len(node.items)):
                stack.clear()
                continue
            yield node
            if stack:
                stack[-1].items.append(node)
        elif (leaf := _leaf(token, start, at)) is not None:
            stack[-1].items.append(leaf)
        else:
            stack.clear()


_OPENING = re.compile(r"[\[{]")


def _leaf(token: str, start: int, end: int) -> _Node | None:
    if token[0] != '"':
        return _Node(start, end, "0" if token[0] in "-0123456789" else "x", token)
    try:
        return _Node(start, end, '"', json.loads(token, strict=False))
    except json.JSONDecodeError:
        return None


# ---------------------------------------------------------------- XML

_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z_][\w.:-]{0,60})(?P<rest>[^<>]{0,2000})>")
_NOTHING = next(re.finditer("", ""))
_ATTRIBUTE = re.compile(r"([\w.:-]{1,60})\s{0,4}=\s{0,4}(?:\"([^\"]*)\"|'([^']*)')")


@dataclass(slots=True)
class _Element:
    """An element while it is read; ``name`` is its opening tag."""

    start: int
    name: re.Match[str]
    end: int = 0
    closing: re.Match[str] | None = None
    children: list[_Element] = field(default_factory=list)


def xml_lists(text: str) -> Iterator[FoundList]:
    """Siblings of one name that hold options: by attribute, by child, or numbered tags."""
    for siblings in _siblings(text):
        for tag, group in groupby(siblings, key=lambda e: re.sub(r"[-_.]?\d+$|[-_.][A-Za-z]$", "", e.name["name"])):
            elements = list(group)
            if len(elements) >= 2:
                yield from _of_records(msg("XML elements"), [_element(text, tag, e) for e in elements], tag)


def _siblings(text: str) -> Iterator[list[_Element]]:
    """The elements that stand side by side; a tag that is never closed is text."""
    root = _Element(0, _NOTHING)
    stack = [root]
    for match in _TAG.finditer(text):
        if match["rest"].endswith("/"):
            stack[-1].children.append(_Element(match.start(), match, match.end()))
        elif not match["close"]:
            if len(stack) > MAX_DEPTH:
                return
            stack.append(_Element(match.start(), match))
        else:
            depth = next((i for i in range(len(stack) - 1, 0, -1) if stack[i].name["name"] == match["name"]), 0)
            if depth:
                element = stack[depth]
                for lost in stack[depth + 1 :]:
                    element.children.extend(lost.children)
                element.end, element.closing = match.end(), match
                del stack[depth:]
                stack[-1].children.append(element)
    pending = [root, *stack[1:]]
    while pending:
        element = pending.pop()
        yield element.children
        pending.extend(element.children)


def _element(text: str, tag: str, element: _Element) -> _Record:
    """An element's fields: the number in its name, its attributes, its children or its text."""
    fields: dict[str, Field] = {}
    repeated: tuple[Field, ...] = ()
    opening = element.name
    number = re.search(r"(?:\d+|[A-Za-z])$", opening["name"][len(tag) :])
    if number:
        at = opening.start("name") + len(tag) + number.start()
        fields["#"] = (at, at + len(number[0]), number[0])
        if element.closing is not None:
            at = element.closing.start("name") + len(tag) + number.start()
            repeated = ((at, at + len(number[0]), number[0]),)
    for attribute in _ATTRIBUTE.finditer(text, opening.start("rest"), opening.end("rest")):
        group = 2 if attribute[2] is not None else 3
        fields[attribute[1]] = (*attribute.span(group), html.unescape(attribute[group]))
    for child in element.children:
        if child.closing is not None and not child.children:
            inner = trimmed(text, child.name.end(), child.closing.start())
            fields[child.name["name"]] = (*inner, html.unescape(text[slice(*inner)]))
    if element.closing is not None and not element.children:
        inner = trimmed(text, opening.end(), element.closing.start())
        fields["text"] = (*inner, html.unescape(text[slice(*inner)]))
    return _Record(element.start, element.end, fields, repeated)
