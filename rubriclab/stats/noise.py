"""A judge's own noise: how far reads of one item spread and how often they disagree.

Arrays in, numbers out; one row or one value an item, NaN below two reads.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rubriclab.stats.inference import Floats, Ints, distinct, sum_by


class Spread(NamedTuple):
    """A mean over items with how many carried it and how many had too few reads."""

    mean: float
    n_items: int
    n_excluded: int


def within_item_sd(item: Ints, values: Floats, n_items: int) -> Floats:
    """Standard deviation (ddof 1) of each item's values; NaN below two. Xu v1, Table 3.

    ``values``: one a read, NaN where unread; they are left out.
    """
    read = np.isfinite(values)
    if not bool(read.all()):
        item, values = item[read], values[read]
    if not len(values):
        return np.full(n_items, np.nan)
    centred = values - values.mean()  # keeps the sum of squares from cancelling
    count = np.bincount(item, minlength=n_items).astype(np.float64)
    total = np.bincount(item, weights=centred, minlength=n_items)
    square = np.bincount(item, weights=centred**2, minlength=n_items)
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = (square - total**2 / count) / (count - 1.0)
    variance = np.where(variance < 1e-12, 0.0, variance)
    return np.asarray(np.where(count > 1, np.sqrt(variance), np.nan))


def spread(per_item: Floats) -> Spread:
    """The mean over the items that have a value."""
    known = np.isfinite(per_item)
    mean = float(per_item[known].mean()) if known.any() else float("nan")
    return Spread(mean, int(known.sum()), int(len(per_item) - known.sum()))


def disagreement(score_counts: Floats) -> Floats:
    """The chance that two different reads of an item give different scores, one an item.

    ``score_counts``: (items, scores). K/(K-1) (1 - sum_s q_s^2), unbiased; NaN below 2 reads.
    """
    reads = score_counts.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        same = (np.sum(score_counts**2, axis=1) - reads) / (reads * (reads - 1.0))
    return np.asarray(np.where(reads > 1, 1.0 - same, np.nan))


class Differences(NamedTuple):
    """Mean absolute difference of two reads of an item, (items,), NaN where it has no such pair.

    ``other``: read under different orders; ``same``: under one and the same order.
    """

    other: Floats
    same: Floats


def differences(
    item: Ints, order: Ints, score: Ints, scores: Floats, n_items: int, *, nominal: bool = False
) -> Differences:
    """All pairs of reads of an item, each kind averaged by itself (U-statistics).

    ``item``, ``order``, ``score`` (an index into ``scores``): one a read. How many reads there are
    changes how precise these are, never what they are on average. ``nominal``: 1 for two different scores,
    however far apart.
    """
    orders = int(order.max(initial=0)) + 1
    apart = np.abs(scores[:, None] - scores[None, :])
    if nominal:
        apart = (apart > 0).astype(np.float64)
    every = _pairs(item, score, apart, n_items)
    # A read that is alone under its order has no pair there; of millions, few are left to be looked at.
    read = item * orders + order
    again = _again(read, n_items * orders)
    cell, within = distinct(read[again])
    same = sum_by(cell // orders, _pairs(within, score[again], apart, len(cell)), n_items)
    with np.errstate(invalid="ignore", divide="ignore"):
        return Differences(*((of[:, 0] / of[:, 1]) for of in (every - same, same)))


def _again(cell: Ints, size: int) -> NDArray[np.bool_]:
    """True for every row whose ``cell``, 0..size-1, has another row."""
    if size > 16 * len(cell):  # orders that few items share: no table of all
        return np.ones(len(cell), dtype=bool)
    return np.asarray((np.bincount(cell, minlength=size) > 1)[cell])


def _pairs(group: Ints, score: Ints, apart: Floats, size: int) -> Floats:
    """(groups, 2): the summed distance ``apart`` (scores, scores) over ordered pairs of reads, and the pairs."""
    n = len(apart)
    counts = np.bincount(group * n + score, minlength=size * n).reshape(size, n).astype(np.float64)
    reads = counts.sum(axis=1)
    total = ((counts @ apart) * counts).sum(axis=1)
    return np.stack([total, reads * (reads - 1.0)], axis=1)


def v_from_own_noise(own_disagreement: Floats, reads: Floats, n: int) -> float:
    """The V that a judge's own randomness makes under balanced orderings, root mean square.

    ``own_disagreement``: each item's disagreement between reads of one unchanged order;
    ``reads``: how often it was read under the balanced design. Independent reads of item i
    with score probabilities q give sum_p Var(N_p) = K_i (1 - sum_s q_s^2) = K_i d_i, whatever
    the orderings, so E[V^2] = n/(n-1) x sum_i K_i d_i / N^2. Items without a known
    disagreement take the mean of the others; NaN where none is known.
    """
    known = np.isfinite(own_disagreement)
    total = float(reads.sum())
    if not known.any() or total == 0:
        return float("nan")
    filled = np.where(known, own_disagreement, own_disagreement[known].mean())
    return float(np.sqrt(n / (n - 1) * np.sum(reads * np.maximum(filled, 0.0))) / total)
