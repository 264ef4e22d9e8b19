"""The name of a data set that a judge rates on several scales: it says which scale an arm is about.

Findings key and title their results by an arm's judge, data set and variant. Where one judge reads
items of one data set on several option sets (40 items from 1 to 5, 40 others from 1 to 3), those
are two settings of one name, so answers about the one would hide or mix with answers about the
other. Each then counts as a part of the data set with a name of its own: “d · 1–3”.

The name is in no language: frames are shared by visits that speak several. Stores and archives
keep the plain name (``Store.frame`` names on reading), and so do items: an item is the same item,
whatever other scale stands beside its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rubriclab.model.study import Arm

Scores = tuple[int, ...]
BEHIND = " · "
"""Between a data set's name and the scale: as between all parts of an arm's name."""


def named_by_set(arms: tuple[Arm, ...]) -> tuple[Arm, ...]:
    """``arms`` with the scale behind the data set's name, where a judge has several in one setting.

    Then for every judge and setting of this data set, so that what belongs together keeps one
    name. The same ``arms`` where each judge has one scale. Naming twice is naming once.
    """
    of_setting: dict[tuple[str, str, str, str], Scores] = {}
    of_part: dict[tuple[str, str], set[Scores]] = {}
    several: set[tuple[str, str]] = set()
    for arm in arms:
        if arm.scores:
            part = arm.dataset, arm.axis
            of_part.setdefault(part, set()).add(arm.scores)
            if of_setting.setdefault((arm.judge, *part, str(arm.variant)), arm.scores) != arm.scores:
                several.add(part)
    if not several:
        return arms
    names = {part: _names(of_part[part]) for part in several}
    return tuple(_named(arm, names.get((arm.dataset, arm.axis), {})) for arm in arms)


def says_its_set(dataset: str, scores: Scores) -> bool:
    """Does the name of an arm's data set say its scale?"""
    return bool(scores) and any(dataset.endswith(f"{BEHIND}{name}") for name in (_span(scores), _every(scores)))


def is_part_of(name: str, dataset: str) -> bool:
    """Is this the name of a part of ``dataset`` on one scale?"""
    return name.startswith(f"{dataset}{BEHIND}")


def _named(arm: Arm, names: dict[Scores, str]) -> Arm:
    return replace(arm, dataset=f"{arm.dataset}{BEHIND}{names[arm.scores]}") if arm.scores in names else arm


def _names(scales: Iterable[Scores]) -> dict[Scores, str]:
    """Each scale as its ends, “1–3”; as all of its scores where two scales share their ends."""
    known = sorted(scales)
    spans = [_span(scores) for scores in known]
    return {
        scores: span if spans.count(span) == 1 else _every(scores) for scores, span in zip(known, spans, strict=True)
    }


def _span(scores: Scores) -> str:
    if scores[0] < 0:  # a dash before a minus reads badly
        return _every(scores)
    return f"{scores[0]}–{scores[-1]}"


def _every(scores: Scores) -> str:
    return ", ".join(map(str, scores))
