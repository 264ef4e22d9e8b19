"""Correlate two numbers per item by r, rho and tau-b, with all units and without each unit in turn.

``x`` is an item's mean score and ``y`` its mean rating, (items,). ``unit`` is the code of its unit,
0..units-1, (items,). Items of the same unit are left out together. A correlation is NaN for fewer
than two items, or where ``x`` or ``y`` never varies.
"""

from collections.abc import Iterator
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from rubriclab.stats.resample import Floats, Ints, sum_by

TINY = 1e-12
"""A variance up to this share of its raw moment (or this size, for ranks) is only rounding."""
MOST_SUBSETS = 1_024
"""Use all subsets of calls up to this many. Above that, draw this many with a fixed seed."""
FEWEST_SUBSETS = 30
"""Draw at least this many subsets, however many items there are, so that the band has a meaning."""
MOST_MEANS = 500_000
"""With many items, draw fewer subsets: at most this many means (items times subsets), for speed."""
_AT_ONCE = 250_000
"""Means (items times subsets) that are in memory at the same time."""


class LeftOut(NamedTuple):
    """A statistic over all units.

    value: with all units.
    without: without each unit in turn, (units,).
    """

    value: float
    without: Floats


# -------------------------------------------------------------------------------------- Pearson's r
def _from_mean(x: Floats) -> Floats:
    """Return ``x`` minus its mean, (items,)."""
    # A constant side must have moments of exactly 0, even if its mean was rounded.
    return x - x.mean() if len(x) and np.ptp(x) > 0 else np.zeros(len(x))


def r_of(totals: Floats) -> Floats:
    """Return r (...) from the sums (..., 6) of 1, x, y, xx, yy and xy.

    r is NaN where a variance is negligible compared with its raw moment.
    """
    n, x, y, xx, yy, xy = np.moveaxis(totals, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        vx, vy = xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
        varies = (n > 1) & (vx > TINY * xx / n) & (vy > TINY * yy / n)
        r = (xy / n - x * y / n**2) / np.sqrt(vx * vy)
    return np.where(varies, np.clip(r, -1.0, 1.0), np.nan)


def pearson(x: Floats, y: Floats, unit: Ints, units: int) -> LeftOut:
    """Return Pearson's r of all units, and without each unit."""
    u, v = _from_mean(x), _from_mean(y)
    # Sums add up over units, so leaving out a unit only subtracts its sums.
    by_unit = sum_by(unit, np.stack([np.ones(len(x)), u, v, u * u, v * v, u * v], axis=1), units)
    total = by_unit.sum(axis=0)
    return LeftOut(float(r_of(total)), r_of(total - by_unit))


# ------------------------------------------------------------------ Spearman's rho, Kendall's tau-b
def spearman(x: Floats, y: Floats, unit: Ints, units: int) -> LeftOut:
    """Return Spearman's rho: Pearson's r of mid-ranks. Values without a unit are to first order.

    F and G are the mid-distribution values of x and y, in (0, 1) with a mean of 1/2. Then
    C = mean(F G) - 1/4, V = mean(F F) - 1/4, and rho = C / sqrt(Vx Vy). An item changes C by its
    own F G, and by raising the F (or G) of every item above it in x (or y).
    """
    n = len(x)
    level = [np.unique(side, return_inverse=True)[1] for side in (x, y)]
    f, g = (
        (np.bincount(side).cumsum()[side] - np.bincount(side)[side] / 2.0) / max(n, 1)
        for side in level
    )
    mean = np.array([(f * g).mean(), (f * f).mean(), (g * g).mean()]) if n else np.zeros(3)
    parts = (
        f * g + _mean_above(level[0], g) + _mean_above(level[1], f),
        f * f + 2.0 * _mean_above(level[0], f),
        g * g + 2.0 * _mean_above(level[1], g),
    )
    return LeftOut(float(_rho(mean)), _rho(mean + _without(np.stack(parts, axis=1), unit, units)))


def _rho(mean: Floats) -> Floats:
    """Return rho (...) from the means (..., 3) of F G, F F and G G."""
    c, vx, vy = np.moveaxis(mean - 0.25, -1, 0)
    varies = (vx > TINY) & (vy > TINY)
    size = np.sqrt(np.where(varies, vx * vy, 1.0))
    return np.where(varies, np.clip(c / size, -1.0, 1.0), np.nan)


def _mean_above(level: Ints, other: Floats) -> Floats:
    """Return the sum of ``other`` over the items above each one (ties half), over n, (items,)."""
    sums = np.bincount(level, weights=other)
    upward = sums[::-1].cumsum()[::-1] - sums / 2.0
    return np.asarray(upward[level] / max(len(level), 1))


def _without(influence: Floats, unit: Ints, units: int) -> Floats:
    """Return how the means of ``influence`` (items, k) change without each unit, (units, k).

    These are means over pairs, so each remaining item loses a partner too. We therefore divide by
    the number of remaining items minus 1, which agrees with the jackknife to second order.
    """
    away = influence - influence.mean(axis=0) if len(influence) else influence
    left = np.maximum(len(unit) - np.bincount(unit, minlength=units) - 1, 1)
    return -sum_by(unit, away, units) / left[:, None]


def kendall(x: Floats, y: Floats, unit: Ints, units: int) -> LeftOut:
    """Return Kendall's tau-b (1945). Values without a unit are to first order.

    Tau-b is concordant minus discordant pairs of items, divided by the geometric mean of the pairs
    untied in x and in y. An item's influence counts twice, because every pair is counted once for
    each of its two items.
    """
    sides = [np.unique(side, return_inverse=True)[1].astype(np.int64) for side in (x, y)]
    untied = [
        (len(side) - np.bincount(side, minlength=1)[side]).astype(np.float64) for side in sides
    ]
    a, b = sides
    concordant = (
        _below(a, b) + _below(-a, -b) - _below(a, -b) - _below(-a, b)
    )  # minus the discordant ones
    signed = np.column_stack([concordant, *untied]) / max(len(x), 1)
    mean = signed.mean(axis=0) if len(x) else np.zeros(3)
    return LeftOut(float(_tau(mean)), _tau(mean + 2.0 * _without(signed, unit, units)))


def _tau(pairs: Floats) -> Floats:
    """Return tau-b (...) from (..., 3): concordant minus discordant, untied in x, untied in y."""
    size = np.sqrt(np.maximum(pairs[..., 1], 0.0) * np.maximum(pairs[..., 2], 0.0))
    tau = np.divide(pairs[..., 0], size, out=np.full(size.shape, np.nan), where=size > TINY)
    return np.asarray(np.clip(tau, -1.0, 1.0))


def _below(x: Ints, y: Ints) -> Ints:
    """Return how many items lie below each one in both x and y, (items,).

    Sort by x, and ties by falling y so that no tie counts. Then count the earlier items with a
    smaller y by merging sorted blocks, which double in size at each step (Knight 1966).
    """
    n = len(x)
    order = np.lexsort((-y, x))
    value = y[order] - y.min(initial=0)
    width = int(value.max(initial=0)) + 1
    rank, count, size = np.arange(n), np.zeros(n, dtype=np.int64), 1
    while size < n:
        block = rank // (2 * size)
        left = rank % (2 * size) < size
        keys = np.sort(block[left] * width + value[left])
        right = ~left
        start = np.searchsorted(keys, block[right] * width)
        count[right] += np.searchsorted(keys, block[right] * width + value[right]) - start
        size *= 2
    out = np.empty(n, dtype=np.int64)
    out[order] = count
    return out


# ------------------------------------------------------------------------------ people, and budgets
def with_the_others(ratings: Floats, unit: Ints, units: int) -> tuple[Floats, Floats, Ints]:
    """Return each rater's r with the mean of the other raters on the same items.

    Return (r (raters,), r without each unit (units, raters), number of units on which a rater has
    company (raters,)). ``ratings``: (items, raters), NaN where there is none.
    """
    known = np.isfinite(ratings)
    total, count = np.where(known, ratings, 0.0).sum(axis=1), known.sum(axis=1)
    value, without, shared = [], [], []
    for rater in range(ratings.shape[1]):
        compared = known[:, rater] & (count > 1)
        own = ratings[compared, rater]
        r = pearson(own, (total[compared] - own) / (count[compared] - 1), unit[compared], units)
        value.append(r.value)
        without.append(r.without)
        shared.append(len(np.unique(unit[compared])))
    return np.array(value), np.stack(without, axis=1), np.array(shared, dtype=np.int64)


class Budget(NamedTuple):
    """r with people for the mean of ``calls`` calls.

    r: the mean over subsets of that many calls.
    each: (subsets,) the r of each subset; NaN where it has none.
    """

    calls: int
    r: LeftOut
    each: Floats


def band(each: Floats) -> tuple[float, float]:
    """Return the 2.5th and 97.5th percentiles over the subsets that have an r; NaN without one."""
    known = each[np.isfinite(each)]
    if not known.size:
        return np.nan, np.nan
    low, high = np.quantile(known, [0.025, 0.975])
    return float(low), float(high)


def budget(
    tables: Floats,
    human: Floats,
    unit: Ints,
    units: int,
    calls: list[int],
    *,
    most_items: int = 0,
) -> Iterator[Budget]:
    """Yield the mean r over subsets of k calls, for each k in ``calls`` (Xu et al. v2, Figure 9).

    ``tables``: scores (rounds, items, K), NaN where there is none. ``human``: ratings (items,).
    Subsets are taken within each round. An item's score is the mean of those that it has in the
    subset. Subsets without an r are left out of the mean. ``most_items``: draw as many subsets as
    for so many items, so that tables of fewer items draw the same ones.
    """
    rng = np.random.default_rng(0)
    most = min(MOST_SUBSETS, max(MOST_MEANS // max(len(human), most_items, 1), FEWEST_SUBSETS))
    ranked = np.argsort(unit, kind="stable")
    starts = np.searchsorted(unit[ranked], np.arange(units))
    known = np.isfinite(tables[:, ranked])
    # r does not change when we subtract a constant, but its moments lose fewer digits.
    middle = float(tables[np.isfinite(tables)].mean()) if known.any() else 0.0
    tables, y = np.where(known, tables[:, ranked] - middle, 0.0), _from_mean(human)[ranked]
    for k in calls:
        values, without = [], np.zeros(units)
        for table, given in zip(tables, known, strict=True):
            chosen = subsets(tables.shape[2], k, most, rng)
            for part in np.array_split(chosen, max(1, len(chosen) * len(human) // _AT_ONCE)):
                count = part @ given.T.astype(np.float64)
                has = (count > 0).astype(np.float64)
                x = part @ table.T / np.maximum(count, 1.0)
                moments = np.stack([has, x, has * y, x * x, has * y * y, x * y], axis=-1)
                sums = np.add.reduceat(moments, starts, axis=1)
                total = sums.sum(axis=1)
                r = r_of(total)
                fine = np.isfinite(r)
                values.append(r)
                without += r_of(total[fine, None] - sums[fine]).sum(axis=0)
        each = np.concatenate(values)
        made = each[np.isfinite(each)]
        value = float(made.mean()) if made.size else np.nan
        yield Budget(k, LeftOut(value, without / max(made.size, 1)), each)


def subsets(columns: int, k: int, limit: int, rng: np.random.Generator) -> Floats:
    """Return subsets of size ``k`` as 0/1 rows, (subsets, columns): all, or ``limit`` drawn."""
    if comb(columns, k) <= limit:
        rows = np.array(list(combinations(range(columns), k)), dtype=np.int64)
    else:
        rows = rng.random((limit, columns)).argpartition(k - 1, axis=1)[:, :k]
    chosen = np.zeros((len(rows), columns))
    chosen[np.arange(len(rows))[:, None], rows] = 1.0
    return chosen
