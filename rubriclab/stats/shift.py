"""By how many score points the order moves a judge: the mean score, and the single score.

Arrays in, numbers out, in score points; positions and scores are 0-based codes. A *unit* is what
the data hold independently (a prompt, a block, an item). Orders are dealt out by the design, so
what is regressed on them is caused by them. Intervals are cluster-robust: they come from the
units' own sums, whatever goes on within a unit (Liang and Zeger 1986; Cameron and Miller 2015,
A Practitioner's Guide to Cluster-Robust Inference, section II).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rubriclab.stats import distributions as stats
from rubriclab.stats import noise
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, sum_by
from rubriclab.stats.noise import Differences
from rubriclab.stats.proportions import clopper_pearson

MIN_UNITS = 8
"""Below so many units no interval is given. From here on Student's t held in 0.94 to 0.97 of 500
simulated studies each of latent-trait, mixed logit, skewed and clustered judges."""
FEW_MOVED = 6
"""Below so many units that moved, their share is bounded exactly instead of trusting Student's t.
With it a judge that moves one item in five is held in 0.95 or more, from 8 units to 60."""
BOTH_WAYS = 0.8
"""The share of items that both orders were read for, from which on the two stand for themselves."""
_AN_END = 1.0 - 1e-9
_ROUNDING = 1e-12
"""A sum of squares about a mean that is less than this share of the squares themselves is 0."""
_STILL = 0.01
"""A unit that moved by less than this share of a step has not moved."""


@dataclass(frozen=True)
class OrderReads:
    """Readable judgments of one arm. ``value``: the score, or the expected score, a read.

    ``item``, ``order``: codes into ``unit`` (the unit of each item) and into ``shown``, (orders, n)
    score codes by position. ``scores``: (n,) ascending, in points.
    """

    item: Ints
    order: Ints
    value: Floats
    unit: Ints
    n_units: int
    shown: Ints
    scores: Floats

    @cached_property
    def cells(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """(reads, summed value) of every item under every order that it was read under, (items, orders).

        Values are taken from their mean, so that products of sums do not round them away. All that is linear
        in an item's reads follows from these by products, far faster than read by read.
        """
        where, shape = (self.item, self.order), (len(self.unit), len(self.shown))
        middle = self.value.mean() if len(self.value) else 0.0
        count, total = (
            sparse.csr_array((of, where), shape=shape) for of in (np.ones(len(self.value)), self.value - middle)
        )
        return count, total

    @cached_property
    def one_order(self) -> NDArray[np.bool_]:
        """(items,): read under one order only, however often."""
        return np.asarray(np.diff(self.cells[0].indptr) == 1)

    @cached_property
    def dealt_one_each(self) -> bool:
        """Were most of the items that were read, read under one order only?"""
        return bool(2 * self.one_order.sum() > (np.diff(self.cells[0].indptr) > 0).sum())


class Estimate(NamedTuple):
    """A mean over units in score points. ``moved``: how many of the ``units`` are not at zero."""

    value: float
    interval: Interval
    units: int
    moved: int


def direction(shown: Ints) -> Floats:
    """How far each order ascends: 1 ascending, -1 descending, (orders,).

    x = sum_s (s - mean)(position of s - mean) / sum_s (s - mean)^2, over the ranks of the scores.
    """
    n = shown.shape[1]
    rank = np.arange(n) - (n - 1) / 2
    return np.asarray((shown - (n - 1) / 2) @ rank / (rank @ rank))


def unit_sums(reads: OrderReads, predictors: Floats) -> tuple[Floats, Floats]:
    """Sums over each unit of predictor x value and of predictor^2, both (units, k), centred by item.

    ``predictors``: (orders, k), what the regression knows of an order. Each item is its own control:
    its readable reads are centred on their own means, so that what is missing costs precision
    and no item. Where most items were read in one order each, orders differ between items: see
    :func:`centred`.
    """
    count, total = reads.cells
    z = predictors - (predictors.mean(axis=0) if len(predictors) else 0.0)
    n, y = (np.asarray(of.sum(axis=1), dtype=np.float64)[:, None] for of in (count, total))
    x, square, product = count @ z, count @ z**2, total @ z
    mean_x, mean_y = (_item_means(reads, of, n) for of in (x, y))
    top = product - mean_x * y - mean_y * x + n * mean_x * mean_y
    bottom = square - 2.0 * mean_x * x + n * mean_x**2
    nothing = bottom <= _ROUNDING * square
    top[nothing], bottom[nothing] = 0.0, 0.0
    return sum_by(reads.unit, top, reads.n_units), sum_by(reads.unit, bottom, reads.n_units)


def centred(reads: OrderReads, values: Floats) -> Floats:
    """``values`` (reads, k) less their item's mean.

    Where most items were read in one order only, however often, these are centred on the mean of
    all such items, which orders dealt out at random allow: within them there is nothing to compare.
    """
    if not len(values):
        return values
    size = len(reads.unit)
    count = np.bincount(reads.item, minlength=size)[:, None].astype(np.float64)
    means = _item_means(reads, sum_by(reads.item, values, size), count)
    if not reads.dealt_one_each:
        still = reads.one_order[reads.item]
        values = np.where(still[:, None], means[reads.item], values)  # nothing, rounding neither
    return np.asarray(values - means[reads.item])


def _item_means(reads: OrderReads, sums: Floats, count: Floats) -> Floats:
    """What each item's reads are centred on, (items, k), of ``sums`` (items, k) over ``count`` (items, 1) reads."""
    means = sums / np.maximum(count, 1.0)
    if reads.dealt_one_each:
        still = reads.one_order
        means[still] = sums[still].sum(axis=0) / count[still].sum()
    return means


def mean_over_units(
    top: Floats, bottom: Floats, *, confidence: float = 0.95, step: float = 1.0, lopsided: bool = False
) -> Estimate:
    """sum(top) / sum(bottom) over units, (units,) each, with Student's t on units - 1.

    ``lopsided``: units scatter far to one side, as where most do not move and some move much. The
    ends are then Hall's (1992, On the Removal of Skewness by Transformation, section 2).

    Where fewer than FEW_MOVED units are away from zero, the t interval rests on them alone and
    holds too rarely. It is then widened to what an exact bound allows: the largest share of units
    that may move up (or down) by Clopper and Pearson (1934), times the largest move that was
    seen, at least one ``step`` of the scale. It then always holds 0. Below MIN_UNITS: no interval.
    """
    used = bottom > 0
    top, bottom, units = top[used], bottom[used], int(used.sum())
    if not units:
        return Estimate(float("nan"), NO_INTERVAL, 0, 0)
    part = bottom.mean()
    value = float(top.sum() / bottom.sum())
    moves = top / part
    moved = np.abs(moves) > _STILL * step
    if units < MIN_UNITS:
        return Estimate(value, NO_INTERVAL, units, int(moved.sum()))
    residual = (top - value * bottom) / part
    error = float(np.sqrt(residual @ residual / (units - 1) / units))
    t = float(stats.t.ppf(0.5 + confidence / 2, units - 1))
    below, above = _unskewed(residual, t) if lopsided else (t, t)
    low, high = value - below * error, value + above * error
    if moved.sum() < FEW_MOVED:
        most = max(step, float(np.abs(moves).max()))
        up, down = int((moved & (moves > 0)).sum()), int((moved & (moves < 0)).sum())
        low = min(low, -most * clopper_pearson(down, units, level=confidence).high)
        high = max(high, most * clopper_pearson(up, units, level=confidence).high)
    return Estimate(value, Interval(low, high), units, int(moved.sum()))


def _unskewed(residual: Floats, t: float) -> tuple[float, float]:
    """How many standard errors below and above a mean whose units are skewed Student's ``t`` makes.

    (m - mu) / se + a / 3 (..)^2 + a^2 / 27 (..)^3 + a / 6 with a = skewness / root n has no skewness
    to second order; its inverse at -t and t. Skewness as G1 has it for small n.
    """
    n, square = len(residual), float((residual**2).mean())
    if square <= 0.0 or n < 3:
        return t, t
    skewness = float((residual**3).mean()) / square**1.5 * np.sqrt(n * (n - 1.0)) / (n - 2.0)
    a = skewness / np.sqrt(n)
    if abs(a) < 1e-6:
        return t, t
    low, high = (float(3.0 / a * (np.cbrt(1.0 + a * (x - a / 6.0)) - 1.0)) for x in (-t, t))
    return high, -low


def ascending(reads: OrderReads, *, confidence: float = 0.95) -> Estimate:
    """Mean score under the ascending order less that under the descending one.

    From the reads under these two orders, where nearly every item has both; they hold two thirds
    of what a balanced set knows of a straight line. Else (see :func:`read_both_ways`) it is what a
    straight line over all orders makes of it: twice the slope of the score on :func:`direction`.
    """
    top, bottom = turning_sums(reads)
    return mean_over_units(2.0 * top, bottom, confidence=confidence, step=_step(reads.scores))


def turning_sums(reads: OrderReads) -> tuple[Floats, Floats]:
    """Per unit what :func:`ascending` is made of: half of it is the ratio of the two sums."""
    directions = direction(reads.shown)
    if read_both_ways(reads):
        reads = only(reads, np.abs(directions[reads.order]) > _AN_END)
    top, bottom = unit_sums(reads, directions[:, None])
    return top[:, 0], bottom[:, 0]


def read_both_ways(reads: OrderReads) -> bool:
    """Has nearly every item been read under the ascending and under the descending order?"""
    directions, size = direction(reads.shown)[reads.order], len(reads.unit)
    up, down, read = (
        np.bincount(reads.item[which], minlength=size) > 0
        for which in (directions > _AN_END, directions < -_AN_END, slice(None))
    )
    return int((up & down).sum()) >= BOTH_WAYS * int(read.sum()) > 0


def only(reads: OrderReads, kept: NDArray[np.bool_]) -> OrderReads:
    """The reads that are ``kept`` (reads,) of the same items."""
    return replace(reads, item=reads.item[kept], order=reads.order[kept], value=reads.value[kept])


class Pulls(NamedTuple):
    """How the mean score changes when the highest score stands at a place and not the lowest.

    ``value``: (n,) by place, the others as the design deals them; ``top``, ``bottom``: (units, n).
    """

    value: Floats
    top: Floats
    bottom: Floats


def pulls(reads: OrderReads) -> Pulls:
    """Slope of the item-centred score on the value shown at each place, times the scale's range.

    Positive: the place is picked too often; an effect of what stands there, not of its label.
    """
    top, bottom = unit_sums(reads, reads.scores[reads.shown])
    top = top * float(np.ptp(reads.scores))
    with np.errstate(invalid="ignore", divide="ignore"):
        return Pulls(top.sum(axis=0) / bottom.sum(axis=0), top, bottom)


# ---------------------------------------------------------------- single scores


def differences(reads: OrderReads, *, nominal: bool = False) -> Differences:
    """Of two reads of each item, see :func:`rubriclab.stats.noise.differences`."""
    score = np.searchsorted(reads.scores, reads.value)
    return noise.differences(reads.item, reads.order, score, reads.scores, len(reads.unit), nominal=nominal)


def excess(
    values: Floats, unit: Ints, n_units: int, *, confidence: float = 0.95, step: float = 1.0, lopsided: bool = False
) -> Estimate:
    """The mean over items that have a value (NaN: none), with an interval over their units.

    How far other orders move items beyond noise is ``lopsided``, most not at all and some far. Of
    a judge with two options Student's ends held in 0.87 to 0.93 of 150 to 600 studies of 15 and 60
    items, Hall's in 0.93 to 0.95; with five options both in 0.93 to 0.98.
    """
    known = np.isfinite(values)
    top = np.bincount(unit[known], weights=values[known], minlength=n_units).astype(np.float64)
    count = np.bincount(unit[known], minlength=n_units).astype(np.float64)
    return mean_over_units(top, count, confidence=confidence, step=step, lopsided=lopsided)


def _step(scores: Floats) -> float:
    return float(np.median(np.diff(scores))) if len(scores) > 1 else 1.0
