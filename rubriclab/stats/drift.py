"""The same items under the same orders at two times: what of the change is the judge's, the order's, noise.

Arrays in, numbers out, in score points. A *cell* is an item in one order, read at both times; what
was read at one time alone is left out of both, so nothing that is missing looks like a change. Orders
are the same at both times, so their effects cancel in a mean over an item's cells unless they changed.
Intervals come from units (prompts, blocks, items), whatever goes on within one (see ``stats.shift``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, ratio, sum_by
from rubriclab.stats.shift import MIN_UNITS, Estimate, mean_over_units
from rubriclab.stats.unit_means import intervals, jackknifed

FILLED = 0.8
"""From this share of cells on, all items were read in the same orders, whose common effects are no spread."""
MIN_PARTS = 30
"""Below so many units the shares of the squared change, and the correlation, have no interval."""
STILL = 1e-12
"""Points squared; a change below that is rounding, and has no parts."""
PARTS = ("level", "items", "order", "noise")


class Cells(NamedTuple):
    """Items by orders, NaN where an item has no such cell. ``then``, ``now``: mean of a cell's reads.

    ``first_then``, ``first_now``: its first read alone. ``gap_then``, ``gap_now``: mean absolute
    difference of two reads of a cell, ``noise_then``, ``noise_now``: their variance; NaN unless the cell
    was read twice at both times. ``predictors``: (items or 1, orders, contrasts), what a contrast knows
    of an order; ``factors``: (contrasts,) what its slope is multiplied with. ``unit``: of each item,
    0..``n_units`` - 1.
    """

    then: Floats
    now: Floats
    first_then: Floats
    first_now: Floats
    gap_then: Floats
    gap_now: Floats
    noise_then: Floats
    noise_now: Floats
    predictors: Floats
    factors: Floats
    unit: Ints
    n_units: int
    step: float


class Spread(NamedTuple):
    """Standard deviation over items of what they have in all orders, then and now, in points.

    ``change``: now less then; ``correlation``: of the two, both without the noise of reading.
    """

    then: float
    now: float
    change: Estimate
    correlation: float
    correlation_interval: Interval


class Parts(NamedTuple):
    """The mean squared difference of one read now and one then, in points squared, and its parts.

    ``value``, ``share``: (4,) by PARTS, the parts add up to ``total``; where no cell was read twice at both
    times the noise is NaN and stands in the order's part. ``interval``: of each share.
    """

    total: float
    value: Floats
    share: Floats
    interval: tuple[Interval, ...]


class Split(NamedTuple):
    """The change of a mean from old data then to new data now. ``total`` = ``judge`` + ``data``.

    ``judge``: what the anchors changed by; ``data``: new data now less old data as it would be scored now.
    """

    total: Estimate
    judge: Estimate
    data: Estimate


def level(cells: Cells, *, confidence: float = 0.95) -> Estimate:
    """Mean over items of the order-averaged score now less then."""
    top, bottom = _over_units(cells, _mean(cells.now - cells.then))
    return mean_over_units(top, bottom, confidence=confidence, step=cells.step)


def noise(cells: Cells, *, confidence: float = 0.95) -> Estimate:
    """How far two reads of one item in one order lie apart: now less then, mean over items."""
    top, bottom = _over_units(cells, _mean(cells.gap_now - cells.gap_then))
    return mean_over_units(top, bottom, confidence=confidence, step=cells.step)


def contrasts(cells: Cells, *, confidence: float = 0.95) -> tuple[Estimate, ...]:
    """What each contrast of the orders changed by, now less then; an estimate a contrast.

    Slope of the item-centred difference of a cell on the item-centred predictor, times its factor.
    """
    change = cells.now - cells.then
    known = np.isfinite(change)
    y = np.where(known, change - _mean(change)[:, None], 0.0)
    x = np.where(known[:, :, None], cells.predictors, np.nan)
    x = np.nan_to_num(x - _mean(x, axis=1)[:, None, :])
    top = sum_by(cells.unit, np.einsum("ikc,ik->ic", x, y), cells.n_units) * cells.factors
    bottom = sum_by(cells.unit, (x**2).sum(axis=1), cells.n_units)
    return tuple(
        mean_over_units(top[:, c], bottom[:, c], confidence=confidence, step=cells.step) for c in range(top.shape[1])
    )


# ---------------------------------------------------------------- spread and ranking


def spread(cells: Cells, *, confidence: float = 0.95) -> Spread:
    """How far items lie apart, then and now, and whether they lie in the same places.

    Analysis of variance over items and orders: the covariance of items' means less 1/K of that of their
    cells within the item is that of what an item has in all orders, since noise and leanings to single orders differ from
    cell to cell (Searle, Casella and McCulloch 1992, Variance Components, section 3.6; the covariance
    by the same step). The correlation of two such parts is Spearman's (1904) corrected for attenuation.
    Jackknife over units, the correlation on Fisher's scale. NaN where items were read in one order.
    """
    sums = _spread_sums(cells)
    whole = _spread_of(sums.sum(axis=0)[None, :])[0]
    without = _spread_of(sums.sum(axis=0) - sums)
    units = int((sums[:, 0] > 0).sum())
    used = sums[:, 0] > 0
    known = np.repeat(used[:, None], 2, axis=1).astype(np.float64)
    sd_then, sd_now = float(whole[0]), float(whole[1])
    change, z = sd_now - sd_then, _fisher(whole[2])
    loo = np.stack([without[:, 1] - without[:, 0], _fisher(without[:, 2])], axis=1)
    jack = jackknifed(np.array([change, z]), loo, known)
    ends = intervals(jack, level=confidence)
    enough = units >= MIN_UNITS
    many = units >= MIN_PARTS and np.isfinite(ends[1]).all()
    return Spread(
        sd_then,
        sd_now,
        Estimate(change, ends[0] if enough else NO_INTERVAL, units, units),
        float(whole[2]),
        Interval(*(float(np.tanh(end)) for end in ends[1])) if many else NO_INTERVAL,
    )


def _spread_sums(cells: Cells) -> Floats:
    """(units, 9): items, sums of both means, their squares and product, and those within items."""
    then, now = _without_order(cells.then), _without_order(cells.now)
    known = np.isfinite(then) & np.isfinite(now)
    count = known.sum(axis=1).astype(np.float64)
    a, b = (_mean(np.where(known, part, np.nan)) for part in (then, now))
    used = count > 1
    with np.errstate(invalid="ignore", divide="ignore"):
        da, db = (np.where(known, part - mean[:, None], 0.0) for part, mean in ((then, a), (now, b)))
        inside = np.stack([(da * da).sum(axis=1), (db * db).sum(axis=1), (da * db).sum(axis=1)], axis=1)
        inside = inside / (count * (count - 1.0))[:, None]
    if _same_orders(cells.then) and used.sum() > 1:
        inside *= used.sum() / (used.sum() - 1.0)  # what the common effects took out
    centre = np.array([np.mean(a[used]) if used.any() else 0.0, np.mean(b[used]) if used.any() else 0.0])
    a, b = a - centre[0], b - centre[1]
    rows = np.column_stack([np.ones(len(a)), a, b, a * a, b * b, a * b, inside])
    return sum_by(cells.unit[used], rows[used], cells.n_units)


def _spread_of(sums: Floats) -> Floats:
    """(rows, 3): sd then, sd now, correlation; NaN where items do not differ beyond the noise."""
    n = sums[:, 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        within = sums[:, 6:9] / n[:, None]
        crossed = (
            sums[:, 3:6] - np.stack([sums[:, 1] ** 2, sums[:, 2] ** 2, sums[:, 1] * sums[:, 2]], axis=1) / n[:, None]
        )
        between = crossed / (n - 1.0)[:, None] - within
        variance = np.where(between[:, :2] > 1e-12, between[:, :2], np.nan)
        correlation = between[:, 2] / np.sqrt(variance.prod(axis=1))
        return np.column_stack([np.sqrt(variance), np.clip(correlation, -1.0, 1.0)])


def _fisher(r: Floats) -> Floats:
    return np.asarray(np.arctanh(np.clip(r, -0.9999, 0.9999)))


def _without_order(values: Floats) -> Floats:
    """Less the common effect of each order, where all items were read in the same ones."""
    return np.asarray(values - _mean(values, axis=0)[None, :]) if _same_orders(values) else values


def _same_orders(values: Floats) -> bool:
    return bool(len(values)) and float(np.isfinite(values).mean()) >= FILLED


# ---------------------------------------------------------------- parts of the squared change


def parts(cells: Cells, *, confidence: float = 0.95) -> Parts:
    """The squared change of one read, split (see PARTS; docs/drift.md has the formulas).

    level: the common change, squared; items: changes of single items in all orders; order: changes that belong to an
    order, common or an item's own; noise: what two reads at one time differ by as well. All four are unbiased, so
    that one may be slightly below 0. Jackknife over units; not of the level's share, a square, for which it
    held in 0.87 to 0.95 of 600 simulated comparisons: the level has its interval in points.
    """
    sums = _part_sums(cells)
    used = sums[:, 0] > 0
    whole = _parts_of(sums.sum(axis=0)[None, :])[0]
    without = _parts_of(sums.sum(axis=0) - sums)
    share = ratio(whole, np.where(whole.sum() > STILL, whole.sum(), 0.0))
    totals = without.sum(axis=1, keepdims=True)
    loo = ratio(without, np.where(totals > STILL, totals, 0.0))
    apart = bool(sums[:, 5].sum() > 0)
    ends: list[Interval] = [NO_INTERVAL] * len(PARTS)
    if int(used.sum()) >= MIN_PARTS and np.isfinite(share).all() and np.isfinite(loo).all():
        jack = jackknifed(share, loo, np.repeat(used[:, None], len(PARTS), axis=1).astype(np.float64))
        ends = intervals(jack, level=confidence)
        ends[0] = NO_INTERVAL
    if not apart:
        whole, share = whole.copy(), share.copy()
        whole[3] = share[3] = np.nan
        ends[3] = NO_INTERVAL
    return Parts(float(np.nansum(whole)), whole, share, tuple(ends))


def _part_sums(cells: Cells) -> Floats:
    """(units, 9): items, their mean change, its square less 1/K of the variance within, that variance,
    noise and items that have it, and per unit the squares that the error of the mean needs."""
    change = cells.first_now - cells.first_then
    count = np.isfinite(change).sum(axis=1).astype(np.float64)
    used = count > 1
    mean = _mean(change)
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = np.nansum((change - mean[:, None]) ** 2, axis=1) / (count - 1.0)
        rows = np.column_stack([np.ones(len(mean)), mean, mean**2 - inside / count, inside])
    sums = sum_by(cells.unit[used], rows[used], cells.n_units)
    own = _mean(cells.noise_then + cells.noise_now)
    told = np.isfinite(own) & used
    noisy = sum_by(cells.unit[told], np.column_stack([own[told], np.ones(int(told.sum()))]), cells.n_units)
    items, total = sums[:, 0], sums[:, 1]
    return np.column_stack([sums, noisy, total**2, total * items, items**2, (items > 0).astype(np.float64)])


def _parts_of(sums: Floats) -> Floats:
    """(rows, 4): level squared, items, order, noise; without known noise it is 0 and the order has it."""
    n, units = sums[:, 0], sums[:, 9]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, square, inside = sums[:, 1] / n, sums[:, 2] / n, sums[:, 3] / n
        scatter = sums[:, 6] - 2.0 * mean * sums[:, 7] + mean**2 * sums[:, 8]
        common = mean**2 - scatter / n**2 * units / (units - 1.0)
        noisy = np.where(sums[:, 5] > 0, sums[:, 4] / np.maximum(sums[:, 5], 1.0), 0.0)
    return np.column_stack([common, square - common, inside - noisy, noisy])


# ---------------------------------------------------------------- judge or data


def split(
    cells: Cells, old: tuple[Floats, Ints], new: tuple[Floats, Ints], *, n_units: int, confidence: float = 0.95
) -> Split:
    """The change between old data then and new data now: the judge's part from the anchors, the rest.

    ``old``, ``new``: (score of each item, its unit); units of all three are codes 0..``n_units`` - 1 of
    one list, ``cells.unit`` among them. Every part is a sum of means, so a unit's share of it is known and
    the variance is that of the units' sums (Liang and Zeger 1986); what is a unit in several of the three
    counts as one. Student's t on the degrees of freedom of Welch (1947) and Satterthwaite (1946).
    """
    change = _mean(cells.now - cells.then)
    known = np.isfinite(change)
    judge = _influence(change[known], cells.unit[known], n_units)
    before, after = (_influence(*side, n_units) for side in (old, new))
    whole = _sum(((after, 1.0), (before, -1.0)), confidence)
    own = mean_over_units(*_over_units(cells, change), confidence=confidence, step=cells.step)
    rest = _sum(((after, 1.0), (before, -1.0), (judge, -1.0)), confidence)
    return Split(whole, own, rest)


def _influence(values: Floats, unit: Ints, n_units: int) -> tuple[float, Floats, Floats]:
    """(mean, what each unit adds to its error, which units bear on it)."""
    mean = float(values.mean()) if len(values) else float("nan")
    bears = (np.bincount(unit, minlength=n_units) > 0).astype(np.float64)
    units = int(bears.sum())
    small = np.sqrt(units / (units - 1.0)) if units > 1 else np.nan
    return mean, np.bincount(unit, weights=values - mean, minlength=n_units) / max(len(values), 1) * small, bears


def _sum(parts: tuple[tuple[tuple[float, Floats, Floats], float], ...], confidence: float) -> Estimate:
    value = float(sum(sign * mean for (mean, *_), sign in parts))
    fewest = min(int(bears.sum()) for (*_, bears), _ in parts)
    whole = np.sum([sign * added for (_, added, _), sign in parts], axis=0)
    if fewest < MIN_UNITS:
        return Estimate(value, NO_INTERVAL, fewest, fewest)
    each = np.array([float((added**2).sum()) for (_, added, _), _ in parts])
    free = np.array([float(bears.sum()) - 1.0 for (*_, bears), _ in parts])
    made = float((each**2 / free).sum())
    df = max(float(each.sum()) ** 2 / made, float(fewest - 1)) if made > 0 else float(fewest - 1)
    reach = float(special.stdtrit(df, 0.5 + confidence / 2.0)) * float(np.sqrt((whole**2).sum()))
    return Estimate(value, Interval(value - reach, value + reach), fewest, fewest)


# ---------------------------------------------------------------- planning


def needed(
    sd: float, smallest: float, *, step: float, confidence: float, power: float = 0.8, most: int = 100_000
) -> int | None:
    """Fewest units that show an unchanged judge to be equivalent with ``power``; None beyond ``most``.

    An interval of ``confidence`` lies within ± ``smallest`` where nothing changed with the power of
    1 - 2 Phi(t - smallest / se) (two one-sided tests, Lakens 2017), and is then also seen with more than
    ``power`` where the change is the smallest of interest. At least so many that units that all stand still are held to be so (see ``shift.mean_over_units``).
    ``sd``: of a unit's change where nothing but reading differs.
    """
    tail = 0.5 + confidence / 2.0
    z = float(special.ndtri(0.5 + power / 2.0))
    for n in _grid(most).tolist():
        still = step * (1.0 - (1.0 - tail) ** (1.0 / n))
        reach = (float(special.stdtrit(n - 1, tail)) + z) * sd / np.sqrt(n)
        if max(still, reach) < smallest:
            return int(n)
    return None


def _grid(most: int) -> Ints:
    """Every number to 200, then steps of about 2 %."""
    fine = np.arange(MIN_UNITS, 201)
    coarse = np.unique(np.geomspace(201, max(most, 202), 350).round().astype(np.int64))
    return np.concatenate([fine, coarse])


def _over_units(cells: Cells, values: Floats) -> tuple[Floats, Floats]:
    known = np.isfinite(values)
    unit = cells.unit[known]
    top = np.bincount(unit, weights=values[known], minlength=cells.n_units).astype(np.float64)
    return top, np.bincount(unit, minlength=cells.n_units).astype(np.float64)


def _mean(values: Floats, axis: int = 1) -> Floats:
    """Means without NaN; NaN where there is nothing."""
    known = np.isfinite(values)
    return ratio(np.where(known, values, 0.0).sum(axis=axis), known.sum(axis=axis))
