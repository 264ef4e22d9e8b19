"""Lists in a prompt's text: their entries, and what each part of an entry is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from rubriclab.model.language import tr

PartKind = Literal["label", "score", "text", "item"]
MOST_ENTRIES = 20
BEGIN = "lines that begin with "
"""How the layout of lines with a word at their beginning begins, the word behind it."""

_ROMAN = {"i": 1, "v": 5, "x": 10}
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
LONGEST_NUMBER = 7
"""Signs of a label in digits."""
_NUMBER = re.compile(r"[-−]?\d{1,3}(?:[.,]\d{1,2})?")


@dataclass(frozen=True, slots=True)
class Part:
    """Part of an entry: text[start:end]. ``value`` is what that stands for (JSON unescaped); of a part
    that is the item's own and the same in every entry, it is the name of that."""

    kind: PartKind
    start: int
    end: int
    value: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One option, criterion or candidate: text[start:end], and its parts in the order of the text."""

    start: int
    end: int
    parts: tuple[Part, ...]

    def value(self, kind: PartKind) -> str | None:
        return next((part.value for part in self.parts if part.kind == kind), None)


@dataclass(frozen=True, slots=True)
class FoundList:
    """A list in a text. ``layout`` names its form, ``name`` is the word or key that each entry has
    before its label ("Score"), "" without one. ``open_end``: the text does not say where the last
    entry ends."""

    layout: str
    entries: tuple[Entry, ...]
    name: str = ""
    open_end: bool = False

    @property
    def form(self) -> str:
        """The layout in the reader's words."""
        if self.layout.startswith(BEGIN):
            return tr("lines that begin with “{words}”", words=self.layout.removeprefix(BEGIN).strip("“”"))
        return tr(self.layout)

    @property
    def start(self) -> int:
        return self.entries[0].start

    @property
    def end(self) -> int:
        return self.entries[-1].end

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(entry.value("label") or "" for entry in self.entries)

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(entry.value("text") or "" for entry in self.entries)

    def overlaps(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end


@lru_cache(maxsize=2)
def lines(text: str) -> tuple[tuple[int, int, int], ...]:
    """(start, end without its line break, end) of each line."""
    found = []
    for match in _LINE.finditer(text):
        if match.end() > match.start():
            # The mark of an encoding is no part of the first line.
            start = match.start() + match[0].startswith("\ufeff")
            found.append((start, match.start() + len(match[0].rstrip("\r\n")), match.end()))
    return tuple(found)


def line_of(text: str, offset: int) -> int:
    """The line that an offset stands in, from 1."""
    return len(re.findall(r"\r\n|\r|\n", text[:offset])) + 1


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without white space at its ends."""
    part = text[start:end]
    inner = part.strip()
    if not inner:
        return start, start
    first = start + len(part) - len(part.lstrip())
    return first, first + len(inner)


def part(kind: PartKind, text: str, start: int, end: int) -> Part:
    start, end = trimmed(text, start, end)
    return Part(kind, start, end, text[start:end])


def number(label: str) -> float | None:
    """The value of a label in digits; None for any other."""
    return None if len(label) > LONGEST_NUMBER else _number(label)


@lru_cache(maxsize=2048)
def _number(label: str) -> float | None:
    """Kept, since the same few labels are looked at in every prompt, several times."""
    if not _NUMBER.fullmatch(label) or (not label.isascii() and "−" not in label):
        return None
    return float(label.replace("−", "-").replace(",", "."))


def roman(label: str) -> int | None:
    """The value of a Roman numeral up to xx; None for anything else."""
    digits = [_ROMAN.get(sign) for sign in label.lower()]
    if not digits or None in digits:
        return None
    values = [digit for digit in digits if digit is not None]
    following = [*values[1:], 0]
    return sum(-v if v < after else v for v, after in zip(values, following, strict=True))


def values(labels: Sequence[str]) -> tuple[str, tuple[float, ...]] | None:
    """("number", "letter" or "roman", the labels' values), where they are steps of one scale in any
    order: all different, and equally far apart once sorted. None for anything else."""
    for family, found in (
        ("number", [number(label) for label in labels]),
        ("letter", [_letter(label) for label in labels]),
        ("roman", [roman(label) for label in labels]),
    ):
        known = [value for value in found if value is not None]
        if len(known) < len(labels) or len(set(known)) < len(known) or len(known) < 2:
            continue
        ordered = sorted(known)
        steps = {round(b - a, 6) for a, b in pairwise(ordered)}
        if len(steps) == 1 and (family == "number" or steps == {1}) and _one_case(labels):
            return family, tuple(known)
    return None


def _letter(label: str) -> float | None:
    return float(ord(label.lower()) - 96) if re.fullmatch(r"[A-Za-z]", label) else None


def _one_case(labels: Sequence[str]) -> bool:
    letters = [label for label in labels if label.isalpha()]
    return all(label.isupper() for label in letters) or all(label.islower() for label in letters)


def without_commas(text: str, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Entries without the commas or semicolons that separate them: all but the last end in the sign."""
    ends = [text[entry.end - 1] for entry in entries[:-1]]
    if len(set(ends)) != 1 or ends[0] not in ",;，；、":
        return tuple(entries)
    last = text[entries[-1].end - 1]
    return (*map(_shorter, entries[:-1]), _shorter(entries[-1]) if last in ".。;" or last == ends[0] else entries[-1])


def _shorter(entry: Entry) -> Entry:
    """The entry without its last sign, which has to belong to its last part."""
    last = entry.parts[-1]
    if last.end != entry.end or last.end - last.start < 2:
        return entry
    return replace(
        entry, end=entry.end - 1, parts=(*entry.parts[:-1], replace(last, end=last.end - 1, value=last.value[:-1]))
    )
