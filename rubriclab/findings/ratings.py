"""Who rated what: the people's ratings of a run's items as a table of items and raters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.findings.effects import step
from rubriclab.model.language import tr
from rubriclab.stats.inference import Floats

MOST_RATERS = 1_000
MOST_CELLS = 20_000_000
"""A crowd of more raters, or a table of more cells (160 MB), is kept by slots: it is nearly empty,
and no person in it rated enough to be spoken of."""

BEYOND = 0.05
"""Of ratings: more beyond the ends of the judge's scale are no slips, but another scale."""


@dataclass(frozen=True)
class Ratings:
    """``values``: (items, raters), in the order of the run's items, NaN where a rater gave none.

    ``named``: a column is a person, as the data name them, in the order in which they first rate.
    Else it is a slot, “the first rating of an item”, whoever gave it: then nothing can be said of a
    rater, and what treats slots as raters has to say so.
    """

    names: tuple[str, ...]
    values: Floats
    named: bool


def ratings_of(items: pd.DataFrame) -> Ratings:
    """The ratings of ``RunData.items``. Persons where every rating of every item has its rater's name."""
    given = _listed(items, "raters")
    size = np.fromiter(map(len, given), dtype=np.int64, count=len(given))
    flat = np.fromiter(chain.from_iterable(given), dtype=np.float64, count=int(size.sum()))
    row = np.repeat(np.arange(len(given)), size)
    who = _listed(items, "rater_names")
    if len(flat) and all(len(names) == n for names, n in zip(who, size.tolist(), strict=True)):
        column, persons = pd.factorize(np.array(list(chain.from_iterable(who)), dtype=object))
        if len(persons) <= MOST_RATERS and len(persons) * len(given) <= MOST_CELLS:
            return Ratings(tuple(map(str, persons)), _matrix(row, column, flat, (len(given), len(persons))), True)
    width = int(size.max(initial=0))
    slot = np.arange(len(flat)) - np.repeat(size.cumsum() - size, size)
    names = tuple(tr("rating {n}", n=number) for number in range(1, width + 1))
    return Ratings(names, _matrix(row, slot, flat, (len(given), width)), False)


def other_scale(values: Floats, scores: Sequence[int]) -> str:
    """Why ratings and scores cannot be held against each other in points, in words; empty where they can.

    Where more than BEYOND of the ratings lie a step or more beyond the ends of the scale, those that happen to lie
    within are scores by chance.
    """
    given, low, high = values[np.isfinite(values)], min(scores), max(scores)
    size = step(scores)
    if not len(given) or ((given <= low - size) | (given >= high + size)).mean() <= BEYOND:
        return ""
    return tr(
        "people's ratings run from {low:g} to {high:g}, the judge's scores from {lowest} to {highest}",
        low=float(given.min()),
        high=float(given.max()),
        lowest=low,
        highest=high,
    )


def _listed(items: pd.DataFrame, column: str) -> list[Any]:
    """The sequences of a column, empty where an item, or the table, has none."""
    if column not in items:
        return [()] * len(items)
    return [row if isinstance(row, tuple | list | np.ndarray) else () for row in items[column]]


def _matrix(row: Any, column: Any, flat: Floats, shape: tuple[int, int]) -> Floats:
    matrix = np.full(shape, np.nan)
    matrix[row, column] = flat
    return matrix
