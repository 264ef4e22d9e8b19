"""Lists whose entries begin a line with their label, of one or several lines each."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rubriclab.datasets.listed import BEGIN, MOST_ENTRIES, Entry, FoundList, lines, number, part, values, without_commas
from rubriclab.datasets.scale_words import UNIT
from rubriclab.model.language import msg

WORD = r"[^\W\d_]{1,24}"
_LABEL = r"[-−]?\d{1,3}(?:[.,]\d{1,2})?(?![\w,.]?\d)|[A-Za-z](?![\w])|[ivx]{2,4}(?!\w)|[IVX]{2,4}(?!\w)"
_HEAD = re.compile(
    rf"(?P<indent>[ \t>]{{0,40}})"
    rf"(?P<bullet>(?:(?:[-+•–·▪◦●‣](?=[ \t])|\#{{1,6}}|\*(?=[ \t]))[ \t]{{0,4}})?)"
    rf"(?P<open>[^\w\s-]{{0,4}})"
    rf"(?P<word>(?:{WORD}[ \t]{{1,2}}){{0,2}}?)"
    rf"(?P<open2>[^\w\s-]{{0,3}})"
    rf"(?P<label>{_LABEL})"
    rf"(?P<unit>(?:[ \t-]?(?:{UNIT})\b)?)"
    rf"(?P<delim>[ \t]{{0,3}}[^\w\s]{{1,5}}(?!\d)|[ \t]*(?=$)|\t|[ ]{{2,4}})"
)
_STOP = re.compile(r"\s*(?:#|\*\*[^*]+\*\*\s*$|</?\w|\[|---|```|[^\W\d_][^.!?:]{0,40}:\s*$)")


@dataclass(frozen=True, slots=True)
class _Head:
    """The beginning of an entry: where its line, its label and its text begin."""

    line: int
    start: int
    label: tuple[int, int]
    text: int
    key: tuple[str, ...]
    name: str


class Page:
    """A text and its lines, (start, end without break, end)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = lines(text)

    def blank(self, line: int) -> bool:
        start, end, _ = self.lines[line]
        return not self.text[start:end].strip()


def line_lists(text: str) -> Iterator[FoundList]:
    """Lists whose entries begin a line with their label: "1.", "B)", "Score 3:", "- 2 points:"."""
    page = Page(text)
    by_key: dict[tuple[str, ...], list[_Head]] = {}
    for number_, (start, end, _) in enumerate(page.lines):
        head = _head(text, number_, start, end)
        if head is not None:
            by_key.setdefault(head.key, []).append(head)
    for heads in by_key.values():
        yield from _of_heads(page, heads)


def _head(text: str, line: int, start: int, end: int) -> _Head | None:
    match = _HEAD.match(text, start, min(end, start + 160))
    if match is None:
        return None
    word, delim = match["word"].strip(), match["delim"]
    if not delim.strip() and not match["unit"] and not (word or match["bullet"].startswith("#")):
        return None
    if (
        match["label"].isalpha()
        and match.end() < end
        and delim[-1:] not in "\t *_)]"
        and not text[match.end()].isspace()
    ):
        return None
    bare = re.sub(r"\s", "", delim)
    key = (match["indent"], match["bullet"].strip(), match["open"], word, match["open2"], bare, family(match["label"]))
    # "1 (worst): …": what a bracket opens belongs to the text.
    opened = re.search(r"[(\[{]\s*$", delim)
    return _Head(line, start, match.span("label"), match.end() - (len(opened[0]) if opened else 0), key, word)


def family(label: str) -> str:
    return "number" if number(label) is not None else "upper" if label.isupper() else "lower"


def _of_heads(page: Page, heads: Sequence[_Head]) -> Iterator[FoundList]:
    """Lists of the heads of one form. A paragraph between two ends a list, unless the heads have a
    word of their own ("Score 3") or nothing else makes a list of them."""
    tight = list(_runs(page.text, heads, lambda a, b: _apart(page, a, b)))
    used = [run for run in tight if values(_labels(page.text, run))]
    if not used or (heads[0].name and len(used) < len(tight)):
        used = [run for run in _runs(page.text, heads, lambda *_: False) if values(_labels(page.text, run))]
    for run in used:
        yield _list(page, run)


def _labels(text: str, run: Sequence[_Head]) -> list[str]:
    return [text[head.label[0] : head.label[1]] for head in run]


def _runs(text: str, heads: Sequence[_Head], apart: Callable[[_Head, _Head], bool]) -> Iterator[list[_Head]]:
    run: list[_Head] = []
    for head in heads:
        label = text[head.label[0] : head.label[1]]
        if run and (label in _labels(text, run) or len(run) == MOST_ENTRIES or apart(run[-1], head)):
            yield run
            run = []
        run.append(head)
    if run:
        yield run


def _apart(page: Page, one: _Head, other: _Head) -> bool:
    """Whether a paragraph of its own stands between two heads."""
    blank = False
    for line in range(one.line + 1, other.line):
        if page.blank(line):
            blank = True
        elif blank and not page.text[page.lines[line][0]].isspace():
            return True
    return False


def _list(page: Page, run: Sequence[_Head]) -> FoundList:
    text = page.text
    spans = [(a, b.start) for a, b in pairwise(run)]
    inner = [range(a.line + 1, b.line) for a, b in pairwise(run)]
    last, open_end = _last_end(page, run[-1], inner)
    entries = []
    for head, end in [*spans, (run[-1], last)]:
        about = part("text", text, head.text, end)
        label = part("label", text, *head.label)
        stop = about.end if about.value else len(text[:end].rstrip()) if not text[head.text : end].strip() else end
        entries.append(Entry(head.start, max(stop, head.label[1]), (label, about)))
    layout = _layout(run[0], text)
    return FoundList(layout, without_commas(text, entries), run[0].name, open_end)


def _layout(head: _Head, text: str) -> str:
    label = text[head.label[0] : head.label[1]]
    if head.name:
        return f"{BEGIN}“{head.name} {label}”"
    if head.key[1]:
        return msg("bullets with labels")
    return msg("a numbered list") if number(label) is not None else msg("a lettered list")


def _last_end(page: Page, head: _Head, inner: Sequence[range]) -> tuple[int, bool]:
    """Where the last entry ends, and whether that is open. It goes on as the others do: over indented
    lines, over lines to a blank one where others have several, and not beyond a heading."""
    several = any(any(not page.blank(line) for line in between) for between in inner)
    paragraphs = any(_paragraphs(page, between) for between in inner)
    end, line = page.lines[head.line][1], head.line + 1
    alone = not page.text[head.text : end].strip()
    indent = len(head.key[0])
    if alone and any(between and page.blank(between[0]) for between in inner):
        while line < len(page.lines) and page.blank(line):
            line += 1
    while line < len(page.lines):
        start, stop, _ = page.lines[line]
        body = page.text[start:stop]
        deeper = len(body) - len(body.lstrip()) > indent
        if not body.strip() or not (deeper or several or alone) or (not deeper and _STOP.match(body)):
            break
        end, line = stop, line + 1
    return end, paragraphs


def _paragraphs(page: Page, between: range) -> bool:
    """Whether an entry has a blank line with text behind it."""
    kinds = [page.blank(line) for line in between]
    while kinds and kinds[-1]:
        kinds.pop()
    return True in kinds[1:] or (True in kinds and False in kinds)
