"""What changed from one rubric to another, word by word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from rubriclab.model import Criterion, Rubric
from rubriclab.model.language import tr

Kind = Literal["same", "added", "removed"]
FEW_KEPT = 0.25
"""Below this share of common words two texts are shown one after the other, not woven into each other."""


@dataclass(frozen=True)
class Piece:
    kind: Kind
    text: str


@dataclass(frozen=True)
class Change:
    """One text that is another now. ``where``: in words, as “Clarity, score 3”."""

    where: str
    pieces: tuple[Piece, ...]

    def marked(self) -> str:
        """On one line: removed words as [-so-], added ones as {+so+} (the marks of GNU wdiff)."""
        marks = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
        return f"{self.where}: {' '.join(marks[piece.kind].format(piece.text) for piece in self.pieces)}"


def rubric_diff(before: Rubric, after: Rubric) -> tuple[Change, ...]:
    """Every text that changed: names, what criteria are about, score options, their labels.

    Criteria are the same by name; where as many are left on both sides, in their order, as renamed.
    """
    changes = list(_text(tr("Name of the rubric"), before.name, after.name))
    for one, other in _matched(before, after):
        named = other.name if other is not None else one.name if one is not None else ""
        where = f"{named}, " if max(len(before.criteria), len(after.criteria)) > 1 else ""
        if one is None or other is None:
            whole = (Piece("added" if one is None else "removed", named),)
            changes.append(Change(tr("Criterion"), whole))
        changes += _criterion(where, one, other)
    return tuple(changes)


def _matched(before: Rubric, after: Rubric) -> Iterator[tuple[Criterion | None, Criterion | None]]:
    old, new = {c.name: c for c in before.criteria}, {c.name: c for c in after.criteria}
    gone, come = [c for n, c in old.items() if n not in new], [c for n, c in new.items() if n not in old]
    renamed = dict(zip((c.name for c in come), gone, strict=True)) if len(gone) == len(come) else {}
    yield from ((old.get(c.name) or renamed.get(c.name), c) for c in after.criteria)
    yield from ((c, None) for c in gone if not renamed)


def _criterion(where: str, one: Criterion | None, other: Criterion | None) -> Iterator[Change]:
    if one is not None and other is not None:
        yield from _text(where + tr("name of the criterion"), one.name, other.name)
    about = [criterion.description if criterion else "" for criterion in (one, other)]
    yield from _text(where + tr("what it is about"), *about)
    options = [_options(criterion) for criterion in (one, other)]
    for score in sorted(options[0].keys() | options[1].keys()):
        was, now = options[0].get(score), options[1].get(score)
        label, text = was or ("", ""), now or ("", "")
        if (was is None or now is None) and not (label[1] or text[1]):
            place = where + tr("score {score}", score=score)
            yield Change(place[0].upper() + place[1:], (Piece("added" if was is None else "removed", str(score)),))
        yield from _text(where + tr("score {score}", score=score), label[1], text[1])
        if was is not None and now is not None:
            yield from _text(where + tr("label of score {score}", score=score), label[0], text[0])


def _options(criterion: Criterion | None) -> Mapping[int, tuple[str, str]]:
    """(label, description) by score."""
    if criterion is None:
        return {}
    return {o.score: (o.label or str(o.score), o.description or "") for o in criterion.options}


def _text(where: str, before: str, after: str) -> Iterator[Change]:
    pieces = word_diff(before, after)
    if any(piece.kind != "same" for piece in pieces):
        yield Change(where[0].upper() + where[1:], pieces)


def word_diff(before: str, after: str) -> tuple[Piece, ...]:
    """The words of both texts in one row; white space does not count."""
    old, new = re.findall(r"\S+", before), re.findall(r"\S+", after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    if old and new and matcher.ratio() < FEW_KEPT:
        return Piece("removed", " ".join(old)), Piece("added", " ".join(new))
    pieces = [
        piece
        for code in matcher.get_opcodes()
        for piece in _pieces(code[0], old[code[1] : code[2]], new[code[3] : code[4]])
    ]
    return tuple(pieces)


def _pieces(tag: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    if tag == "equal":
        yield Piece("same", " ".join(old))
        return
    if old:
        yield Piece("removed", " ".join(old))
    if new:
        yield Piece("added", " ".join(new))
