"""Compare, sort and show the labels of scores and the names of criteria."""

import re
import unicodedata
from collections.abc import Sequence

from rubriclab.model.data import Criterion
from rubriclab.model.text import LabError, shorten, without_invisible
from rubriclab.study.sandbox import heading

_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


def fold(label: str) -> str:
    """Return ``label`` as labels are compared: full-width forms as plain ones, no case, no outer
    blanks, no invisible characters.
    """
    return without_invisible(unicodedata.normalize("NFKC", label)).strip().casefold()


def letters(candidates: int, *, tie: bool) -> tuple[str, ...]:
    """Return the label of each position in a comparison; one more at the end for a tie."""
    return tuple(chr(ord("A") + k) for k in range(candidates + tie))


def natural_order(labels: Sequence[str]) -> tuple[str, ...]:
    """Return ``labels`` in the order in which they count, whatever order they come in.

    Numbers and Roman numerals go by value, others by alphabet. A prompt that names its labels in
    this order does not change with the order of its list.
    """
    if all(re.fullmatch(r"-?\d+", label) for label in labels):
        return tuple(sorted(labels, key=int))
    if is_roman(labels):
        return tuple(sorted(labels, key=_roman_value))
    return tuple(sorted(labels, key=lambda label: (fold(label), label)))


def is_roman(labels: Sequence[str]) -> bool:
    """Return whether ``labels`` are Roman numerals. Lone letters such as C and D are not."""
    return any(len(label) > 1 for label in labels) and all(
        re.fullmatch(r"[ivxlcdm]+", fold(label)) for label in labels
    )


def _roman_value(label: str) -> int:
    values = [_ROMAN[letter] for letter in fold(label)]
    total = 0
    for value, after in zip(values, [*values[1:], 0], strict=True):
        total += -value if value < after else value  # IV: a smaller numeral before a larger one
    return total


def heading_of(criterion: Criterion) -> str:
    """Return a criterion's name and description on one line."""
    return heading({"name": criterion.name, "description": criterion.description})


def name_key(name: str) -> str:
    """Return ``name`` as criterion names are compared in replies: letters and digits, no case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name).casefold()))


def check_criteria(criteria: Sequence[Criterion]) -> None:
    """Raise LabError for criteria that one call cannot score together.

    They need the same scale, and names that a reply cannot mix up.
    """
    keys = [name_key(criterion.name) for criterion in criteria]
    first = criteria[0]
    for criterion, key in zip(criteria, keys, strict=True):
        if criterion.scores != first.scores:
            raise LabError(
                f"Criteria “{shorten(first.name)}” and “{shorten(criterion.name)}” have different "
                f"scores ({_listed(first.scores)}; {_listed(criterion.scores)}); in one call all "
                'need the same. Change the rubric, or reorder = "options", which asks one '
                "criterion a call."
            )
        if not key or keys.count(key) > 1:
            raise LabError(
                f"The criterion name “{shorten(criterion.name)}” cannot be told from another one "
                "in a reply: names must differ in their letters and digits. Rename it."
            )


def _listed(scores: tuple[int, ...]) -> str:
    return ", ".join(map(str, scores))
