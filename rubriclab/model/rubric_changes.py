"""Changes of a rubric in words, and the names of rubrics that were changed: what every room reads them by.

What a change does is in :mod:`rubriclab.study.rubric_changes`. A changed rubric says in its name what was done
to it, so that an arm of a run does wherever the run is carried: ``Helpfulness [neutral-1, labels-roman]``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rubriclab.model.language import msg, tr

_NEUTRAL = re.compile(r"neutral-(-?\d{1,9})")
_CHANGED = re.compile(r"(?P<base>.*\S) \[(?P<keys>[a-z0-9, -]+)\]", re.DOTALL)


class ChangeWords(NamedTuple):
    """``title``: what is done; ``done``: the same behind “With”; ``why``: what its effect is the effect of."""

    title: str
    done: str
    why: str


CHANGE_WORDS: Mapping[str, ChangeWords] = {
    "no-numbers": ChangeWords(
        msg("Descriptions without numbers"),
        msg("no numbers in the descriptions"),
        msg("numbers that look like a score"),
    ),
    "scale-3": ChangeWords(msg("Scale cut to 3"), msg("the scale cut to 3"), msg("how many scores there are")),
    "scale-7": ChangeWords(msg("Scale widened to 7"), msg("the scale widened to 7"), msg("how many scores there are")),
    "even-lengths": ChangeWords(
        msg("All descriptions equally long"),
        msg("all descriptions equally long"),
        msg("a longer description beside shorter ones"),
    ),
    "no-descriptions": ChangeWords(
        msg("Labels without descriptions"), msg("no descriptions at all"), msg("all that the descriptions say")
    ),
    "no-criterion": ChangeWords(
        msg("No text of the criterion"),
        msg("the criterion's text left out"),
        msg("what the criterion says above the scores"),
    ),
    "labels-numbers": ChangeWords(msg("Numbers as labels"), msg("numbers as labels"), msg("what the labels are")),
    "labels-letters": ChangeWords(msg("Letters as labels"), msg("letters as labels"), msg("what the labels are")),
    "labels-words": ChangeWords(msg("Words as labels"), msg("words as labels"), msg("what the labels are")),
    "labels-roman": ChangeWords(
        msg("Roman numerals as labels"), msg("Roman numerals as labels"), msg("what the labels are")
    ),
}
"""In the order in which several changes are made; but for those of :func:`change_words` of one score."""


def change_words(key: str) -> ChangeWords | None:
    """A change in words; None for a key that is none. ``neutral-2``: the description of score 2."""
    if (score := _NEUTRAL.fullmatch(key)) is not None:
        text = tr("“{score}” described in neutral words", score=score[1])
        return ChangeWords(text, text, tr("what this description says; its length stays"))
    return CHANGE_WORDS.get(key)


def changed_name(base: str, keys: Iterable[str]) -> str:
    """The name of a rubric with these changes; ``base`` itself without any."""
    listed = ", ".join(keys)
    return f"{base} [{listed}]" if listed else base


def changes_in(name: str) -> tuple[str, tuple[str, ...]]:
    """The rubric that a name is about, and the changes that it says: none for any other name."""
    found = _CHANGED.fullmatch(name)
    if found is None:
        return name, ()
    keys = tuple(found["keys"].split(", "))
    return (found["base"], keys) if all(change_words(key) is not None for key in keys) else (name, ())
