"""Correlation with human ratings at a given number of reads, with intervals that hold for few items.

One row an item: its mean over the reads that gave a score, how many these were and how they
scatter. What a correlation would be with another number of reads follows from the scatter, so that
strategies are compared at equal numbers of reads however many each has. Intervals come from
leaving out one unit (an item, or items that share a text) after the other, on Fisher's z.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import special
from scipy.optimize import brentq

from rubriclab.stats.alignment import Difference, rho_of_parts, rho_parts
from rubriclab.stats.correlation import TINY, rankdata
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, sum_by_unit

FEWEST_UNITS = 5
"""With fewer units no interval is given: the scatter of so few says nothing of itself."""
RANKED = 1_000
"""Up to so many items rho is ranked anew without each unit, above it to first order."""
_EDGE = 1.0 - 1e-12


@dataclass(frozen=True)
class ItemReads:
    """What an arm's reads say of each item, (items,) each.

    ``mean`` of its ``count`` scores, at least one; ``scatter``: sum of their squared distances
    from it; ``human``: its mean rating; ``unit``: what is left out together.
    """

    mean: Floats
    count: Floats
    scatter: Floats
    human: Floats
    unit: Ints

    def only(self, at: Ints) -> ItemReads:
        """The same of the items at the places ``at``."""
        return ItemReads(self.mean[at], self.count[at], self.scatter[at], self.human[at], self.unit[at])

    @classmethod
    def of(cls, scores: Floats, human: Floats, unit: Ints) -> ItemReads:
        """From scores (items, reads) with NaN where none was given; each item has one or more."""
        known = np.isfinite(scores)
        count = known.sum(axis=1).astype(np.float64)
        mean = np.where(known, scores, 0.0).sum(axis=1) / count
        scatter = np.where(known, scores - mean[:, None], 0.0)
        return cls(mean, count, (scatter * scatter).sum(axis=1), human, unit)


@dataclass(frozen=True)
class LeftOut:
    """A statistic of all units, and without each of them: ``without`` (units,)."""

    value: float
    without: Floats

    @property
    def degrees(self) -> int:
        return len(self.without) - 1

    @property
    def se(self) -> float:
        """The jackknife's standard error (Efron and Tibshirani 1993, equation 11.5)."""
        n = len(self.without)
        if n < FEWEST_UNITS or not np.isfinite(self.without).all():
            return float("nan")
        return float(np.sqrt((n - 1) * self.without.var()))

    def interval(self, level: float = 0.95) -> Interval:
        """value ± t se, on units - 1 degrees of freedom."""
        half = self.se * special.stdtrit(self.degrees, 0.5 + level / 2.0)
        if not (np.isfinite(half) and np.isfinite(self.value)):
            return NO_INTERVAL
        return Interval(float(self.value - half), float(self.value + half))

    def r_interval(self, level: float = 0.95) -> Interval:
        """The same for a correlation, on Fisher's z and back."""
        low, high = _z(self).interval(level)
        return Interval(float(np.tanh(low)), float(np.tanh(high)))


def _z(r: LeftOut) -> LeftOut:
    value, without = (np.arctanh(np.clip(x, -_EDGE, _EDGE)) for x in (r.value, r.without))
    return LeftOut(float(value), np.asarray(without))


def gain(a: LeftOut, b: LeftOut) -> LeftOut:
    """a less b, of the same units: two numbers of reads of one arm, which move together."""
    return LeftOut(round(a.value - b.value, 12), np.round(a.without - b.without, 12))


def difference(a: LeftOut, b: LeftOut, *, level: float = 0.95) -> Difference:
    """r of one arm less r of another over the same units, with its interval and two-sided p.

    The interval is put together from those of the two correlations on Fisher's z, with the
    correlation of the two over the units left out (Zou 2007, Toward Using Confidence Intervals to
    Compare Correlations, equation 15); p is the level at which it just reaches 0.
    """
    delta = round(a.value - b.value, 12)
    one, two = _z(a), _z(b)
    if not (np.isfinite(delta) and np.isfinite(one.se) and np.isfinite(two.se)):
        return Difference(delta, NO_INTERVAL, float("nan"))
    if not np.round(a.without - b.without, 12).any() and delta == 0.0:
        return Difference(delta, Interval(0.0, 0.0), 1.0)
    ends = partial(_ends_apart, (a.value, one), (b.value, two), _together(one, two))
    quantile = float(special.stdtrit(one.degrees, 0.5 + level / 2.0))

    def nearest(q: float) -> float:
        return ends(q).low if delta > 0 else -ends(q).high

    near, far = 0.0, 1e3
    if delta == 0.0 or nearest(far) > 0:
        return Difference(delta, ends(quantile), 1.0 if delta == 0.0 else 0.0)
    reached = float(brentq(nearest, near, far))
    return Difference(delta, ends(quantile), float(2.0 * special.stdtr(one.degrees, -reached)))


def _together(a: LeftOut, b: LeftOut) -> float:
    """Correlation of two statistics over the units left out; 0 where one never moves."""
    if min(a.se, b.se) < TINY:
        return 0.0
    return float(np.clip(np.corrcoef(a.without, b.without)[0, 1], -1.0, 1.0))


def _ends_apart(a: tuple[float, LeftOut], b: tuple[float, LeftOut], together: float, quantile: float) -> Interval:
    """Zou's ends of a difference, ``quantile`` standard errors wide on Fisher's z."""
    (r_a, z_a), (r_b, z_b) = a, b
    down_a, up_a = (abs(r_a - np.tanh(z_a.value + s * quantile * z_a.se)) for s in (-1, 1))
    down_b, up_b = (abs(r_b - np.tanh(z_b.value + s * quantile * z_b.se)) for s in (-1, 1))

    def reach(first: float, second: float) -> float:
        squared = first**2 + second**2 - 2.0 * together * first * second
        return float(np.sqrt(max(0.0, squared)))

    return Interval(r_a - r_b - reach(down_a, up_b), r_a - r_b + reach(up_a, down_b))


# ---------------------------------------------------------------- r at a number of reads


def weights(reads: ItemReads) -> Floats:
    """How much each item counts: the reliability of its mean over the most reliable one's.

    All 1 where all items have equally many scores. An item with fewer counts for less, in the
    measure in which its mean is less sure: between / (between + within / count).
    """
    between, within = variances(item_sums(reads, np.ones(len(reads.mean))).sum(axis=0))
    if len(reads.count) == 0 or np.ptp(reads.count) == 0 or not np.isfinite(within):
        return np.ones(len(reads.count))
    return counted(reads.count, float(between), float(within))


def counted(count: Floats, between: float, within: float) -> Floats:
    """Weights of means of ``count`` scores, of any shape, the greatest 1; all 1 where nothing tells scores apart."""
    most = max(between, 0.0) + within / count.max(initial=1.0)
    if not most > 0.0:
        return np.ones_like(count)
    return np.asarray(most / (max(between, 0.0) + within / count))


def r_with_humans(reads: ItemReads, *, at: float | None = None) -> LeftOut:
    """Pearson's r of the items' means with their human ratings, weighted by ``weights``.

    ``at``: with so many reads an item, drawn at random from those it has, or more of the same
    kind: the variance of the means is taken to that number of reads (Spearman 1910 and Brown
    1910; for fewer reads the mean over all choices of them, to first order). None: as they are.
    NaN where a side does not vary, or where no item has the two scores that ``at`` needs.
    """
    sums = item_sums(reads, weights(reads))
    total = sums.sum(axis=0)
    return LeftOut(float(_r(total, at)), np.asarray(_r(total - sum_by_unit(reads.unit, sums), at)))


def below_by_chance(reads: ItemReads, *, draws: int = 4_000, seed: int = 0) -> float:
    """One-sided p of a correlation below 0: the ratings of units with as many items change places (Pitman 1937).

    Exact where the judge has nothing to do with the ratings, however its scores are shared out. The jackknife is not
    where nearly all scores are one: of a judge that gives 88 % one score, whatever it reads, and of ratings that
    pile up at one end, its interval lies below 0 in 4 to 9 % rather than 2.5 %.
    """
    unit, size = np.unique(reads.unit, return_inverse=True, return_counts=True)[1:]
    weight = weights(reads)
    rows = np.argsort(unit, kind="stable")
    first = np.concatenate([[0], np.cumsum(size)[:-1]])
    away = (weight * (reads.mean - np.average(reads.mean, weights=weight)))[rows]
    rating = reads.human[rows]
    seen = float(away @ rating)
    rng, below = np.random.default_rng(seed), 0
    of_size = [first[size == many][:, None] + np.arange(many) for many in np.unique(size)]
    for _ in range(draws):
        moved = rating.copy()
        for places in of_size:
            moved[places] = rating[rng.permutation(places)]
        below += float(away @ moved) <= seen + TINY
    return (below + 1) / (draws + 1)


def rho_with_humans(reads: ItemReads) -> LeftOut:
    """Spearman's rho of the items' means with their human ratings, each item counted once."""
    x, y, unit = reads.mean, reads.human, np.unique(reads.unit, return_inverse=True)[1]
    if len(x) < 2:
        return LeftOut(float("nan"), np.empty(0))
    value = _corr(rankdata(x), rankdata(y), np.ones((1, len(x))))
    if len(x) > RANKED:
        return LeftOut(float(value[0]), _rho_linear(x, y, unit))
    kept = np.ones((int(unit.max()) + 1, len(x)))
    kept[unit, np.arange(len(x))] = 0.0
    out = _corr(_ranks_among(x, kept), _ranks_among(y, kept), kept)
    return LeftOut(float(value[0]), out)


def variances(total: Floats) -> tuple[Floats, Floats]:
    """(between, within) items from totals (..., 10) of ``item_sums``: unbiased, between maybe < 0.

    within pools the scatter over its degrees of freedom; between is the variance of the means
    less what of it is scatter (one-way analysis of variance with unequal counts: Searle, Casella
    and McCulloch 1992, Variance Components, section 3.6).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        n, w, x, xx = (total[..., k] for k in (0, 1, 2, 4))
        within = total[..., 7] / total[..., 8]
        spread = (xx / w - (x / w) ** 2) * n / (n - 1.0)
        between = spread - within * total[..., 9] / w
    return np.asarray(between), np.asarray(within)


def item_sums(reads: ItemReads, weight: Floats) -> Floats:
    """(items, 10): 1, then weight times 1, x, y, xx, yy, xy, then scatter, its degrees of
    freedom, and weight / count; x and y from their means."""
    if len(reads.mean) == 0:
        return np.zeros((0, 10))
    x, y = reads.mean - reads.mean.mean(), reads.human - reads.human.mean()
    # A constant side must have moments of exactly 0, whatever its mean was rounded to.
    x = np.zeros_like(x) if np.ptp(reads.mean) == 0 else x
    y = np.zeros_like(y) if np.ptp(reads.human) == 0 else y
    one = np.ones_like(x)
    moments = [weight * part for part in (one, x, y, x * x, y * y, x * y)]
    return np.stack([one, *moments, reads.scatter, reads.count - 1.0, weight / reads.count], axis=1)


def _r(total: Floats, at: float | None) -> Floats:
    n, w, x, y, xx, yy, xy = (total[..., k] for k in range(7))
    with np.errstate(invalid="ignore", divide="ignore"):
        vx, vy = xx / w - (x / w) ** 2, yy / w - (y / w) ** 2
        varies = (n > 1) & (vx > TINY * xx / w) & (vy > TINY * yy / w)
        if at is not None:
            gap = 1.0 / at - total[..., 9] / w
            within = np.where(np.abs(gap) < TINY, 0.0, variances(total)[1])
            vx = vx + (1.0 - 1.0 / n) * within * np.where(np.abs(gap) < TINY, 0.0, gap)
        r = (xy / w - x * y / w**2) / np.sqrt(vx * vy)
    return np.where(varies & (vx > 0), np.clip(r, -1.0, 1.0), np.nan)


def _ranks_among(values: Floats, kept: Floats) -> Floats:
    """Mid-ranks of ``values`` (items,) among the items ``kept`` (units, items) of 0 and 1."""
    order = np.argsort(values, kind="stable")
    first = np.flatnonzero(np.diff(values[order], prepend=-np.inf))
    size = np.add.reduceat(kept[:, order], first, axis=1)
    middle = size.cumsum(axis=1) - (size - 1.0) / 2.0
    level = np.empty(len(values), dtype=np.int64)
    level[order] = np.repeat(np.arange(len(first)), np.diff([*first, len(values)]))
    return np.asarray(middle[:, level])


def _corr(x: Floats, y: Floats, kept: Floats) -> Floats:
    """Pearson's r of each row over the items kept; NaN where a side does not vary."""
    n = kept.sum(axis=1, keepdims=True)
    u, v = (np.where(kept > 0, side, 0.0) for side in (x, y))
    with np.errstate(invalid="ignore", divide="ignore"):
        u = (u - u.sum(axis=1, keepdims=True) / n) * kept
        v = (v - v.sum(axis=1, keepdims=True) / n) * kept
        size = np.sqrt((u * u).sum(axis=1) * (v * v).sum(axis=1))
        r = (u * v).sum(axis=1) / size
    return np.asarray(np.where(size > 1e-9 * n[:, 0], np.clip(r, -1.0, 1.0), np.nan))


def _rho_linear(x: Floats, y: Floats, unit: Ints) -> Floats:
    """rho without each unit, to first order (``stats.alignment.rho_parts``)."""
    rows, at = rho_parts(x, y)
    return rho_of_parts(rows.sum(axis=0) - sum_by_unit(unit, rows), at)
