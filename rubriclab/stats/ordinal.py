"""Scores as ranks: ordinal counterparts of what treats them as numbers, and whether these say otherwise.

A statistic is a :class:`Side`: its value, its interval and how far each unit moves it, so that two
statistics of the same units can be compared although they are in different units of measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from rubriclab.stats import distributions
from rubriclab.stats.human_correlation import LeftOut
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, sum_by
from rubriclab.stats.order_test import FLAT
from rubriclab.stats.position import hotelling
from rubriclab.stats.shift import MIN_UNITS, OrderReads, direction, read_both_ways

Answer = Literal["same", "changes", "not clear", "unknown"]
_AN_END = 1.0 - 1e-9
MOST_RANKED = 1_000
"""Items beyond which Kendall's and Somers' coefficients are those of a random part of them."""


@dataclass(frozen=True)
class Side:
    """``parts``: (units,) whose squares sum to the squared standard error; empty where not known."""

    value: float
    interval: Interval
    parts: Floats

    @property
    def sign(self) -> int | None:
        """1 or -1 where the interval leaves out 0, 0 where it holds it, None where there is none."""
        low, high = self.interval
        if not np.isfinite(high - low):
            return None
        return int(low > 0.0) - int(high < 0.0)


def conclusion(a: Side, b: Side, *, confidence: float = 0.95) -> Answer:
    """Do two intervals say the same of 0 (above, below, held)?

    ``changes`` only where they do not and the two statistics, each in its own standard errors, are further
    apart than chance allows: the difference between an interval that just leaves out 0 and one that just
    holds it is nothing by itself (Gelman and Stern 2006, The American Statistician 60). Else ``not clear``.
    With r the correlation of what units do to the two, z_a - z_b has the variance 2 (1 - r). Below MIN_UNITS
    units nothing is said.
    """
    if a.sign is None or b.sign is None or min(len(a.parts), len(b.parts)) < MIN_UNITS:
        return "unknown"
    if a.sign == b.sign:
        return "same"
    error_a, error_b = (float(np.sqrt(side.parts @ side.parts)) for side in (a, b))
    if min(error_a, error_b) <= 0.0 or len(a.parts) != len(b.parts):
        return "not clear"
    together = float(a.parts @ b.parts) / (error_a * error_b)
    apart = abs(a.value / error_a - b.value / error_b)
    reach = float(distributions.t.ppf(0.5 + confidence / 2, max(len(a.parts) - 1, 1)))
    return "changes" if apart > reach * float(np.sqrt(max(2.0 * (1.0 - together), 1e-12))) else "not clear"


def of_ratio(top: Floats, bottom: Floats, interval: Interval) -> Side:
    """sum(top) / sum(bottom) over units (units,) each, with the interval that it is shown with."""
    total = float(bottom.sum())
    if total <= 0.0:
        return Side(float("nan"), NO_INTERVAL, np.zeros(len(top)))
    value = float(top.sum()) / total
    return Side(value, interval, (top - value * bottom) / total)


def of_correlation(of: LeftOut) -> Side:
    """A correlation on Fisher's z with the jackknife's parts."""
    z, without = (np.arctanh(np.clip(r, -_AN_END, _AN_END)) for r in (of.value, of.without))
    n = len(without)
    if n < 2 or not np.isfinite(without).all():
        return Side(float(z), NO_INTERVAL, np.zeros(0))
    low, high = (float(np.arctanh(np.clip(end, -_AN_END, _AN_END))) for end in of.r_interval())
    return Side(float(z), Interval(low, high), -(without - without.mean()) * np.sqrt((n - 1) / n))


# ---------------------------------------------------------------- orders


def dominance(reads: OrderReads) -> tuple[Floats, Floats]:
    """Of pairs of reads of one item in different orders: how many more score higher in the more ascending.

    Per unit (higher less lower, pairs), so that the ratio of the sums is P(higher) - P(lower) within items: the
    paired form of Cliff's delta (Cliff 1993, Dominance Statistics, Psychological Bulletin 114, equation 11), of
    ascending against descending reads where nearly every item has both, else over all pairs, each counted by
    the sign of its difference in direction (Somers' D of the score on the direction within items).
    """
    way = direction(reads.shown)[reads.order]
    kept = np.abs(way) > _AN_END if read_both_ways(reads) else np.ones(len(way), dtype=bool)
    item, value = reads.item[kept], reads.value[kept]
    _, level = np.unique(np.round(way[kept], 9), return_inverse=True)
    _, rank = np.unique(value, return_inverse=True)
    levels, ranks = int(level.max(initial=-1)) + 1, int(rank.max(initial=-1)) + 1
    size = len(reads.unit)
    if not levels:
        return np.zeros(reads.n_units), np.zeros(reads.n_units)
    cell = (item * levels + level.ravel()) * ranks + rank.ravel()
    table = np.bincount(cell, minlength=size * levels * ranks).reshape(size, levels, ranks).astype(np.float64)
    count = table.sum(axis=2)
    pairs = (count * (count.cumsum(axis=1) - count)).sum(axis=1)
    top = _higher(table)
    return sum_by(reads.unit, top, reads.n_units), sum_by(reads.unit, pairs, reads.n_units)


def _higher(table: Floats) -> Floats:
    """Higher less lower over pairs of reads of two levels, (items,), from counts (items, levels, ranks)."""
    earlier = table.cumsum(axis=1) - table
    below = earlier.cumsum(axis=2) - earlier
    above = earlier.sum(axis=2, keepdims=True) - earlier - below
    return np.asarray((table * (below - above)).sum(axis=(1, 2)))


# ---------------------------------------------------------------- ranks of two variables


class Concordance(NamedTuple):
    """Kendall's tau-b and Somers' D of y on x, with their values without each unit; ``items`` used."""

    tau: LeftOut
    somers: LeftOut
    items: int


def concordance(x: Floats, y: Floats, unit: Ints, *, seed: int = 0) -> Concordance:
    """Of ``x`` and ``y`` (items,), without NaN; of MOST_RANKED items at most, drawn by ``seed``.

    tau-b = S / root of (pairs untied in x times pairs untied in y) (Kendall 1945); D = S / pairs untied in x
    (Somers 1962), S concordant less discordant pairs.
    """
    if len(x) > MOST_RANKED:
        kept = np.random.default_rng(seed).permutation(len(x))[:MOST_RANKED]
        x, y, unit = x[kept], y[kept], unit[kept]
    codes, unit = np.unique(unit, return_inverse=True)
    n = len(codes)
    sign_x, sign_y = (np.sign(v[:, None] - v[None, :]) for v in (x, y))
    of_unit = sparse.csr_array((np.ones(len(unit)), (unit, np.arange(len(unit)))), (n, len(unit)))
    totals, left = [], []
    for part in (sign_x * sign_y, np.abs(sign_x), np.abs(sign_y)):
        by_unit = of_unit @ part
        own = np.bincount(unit, weights=by_unit[unit, np.arange(len(unit))], minlength=n)
        whole = by_unit.sum()
        totals.append(whole / 2)
        left.append((whole - 2.0 * by_unit.sum(axis=1) + own) / 2)
    return Concordance(
        LeftOut(float(_tau(*totals)), _tau(*left)), LeftOut(float(_somers(*totals)), _somers(*left)), len(x)
    )


def _tau(s: Floats, x: Floats, y: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(s / np.sqrt(np.asarray(x) * y))


def _somers(s: Floats, x: Floats, y: Floats) -> Floats:
    del y
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.float64(s) / x)


# ---------------------------------------------------------------- places


def mean_place(vectors: Floats) -> Side:
    """How far the mean place chosen lies from the middle, over units; places are ranks from the first.

    ``vectors``: (units, n) deviations of each place's share from what an even judge would show.
    """
    units, n = vectors.shape
    own = vectors @ (np.arange(n) - (n - 1) / 2)
    if units < MIN_UNITS:
        return Side(float(own.mean()) if units else float("nan"), NO_INTERVAL, np.zeros(units))
    value = float(own.mean())
    parts = (own - value) / np.sqrt(units * (units - 1.0))
    half = float(np.sqrt(parts @ parts) * distributions.t.ppf(0.975, units - 1))
    return Side(value, Interval(value - half, value + half), parts)


def beyond_mean_place(vectors: Floats) -> float:
    """p of no effect of places beyond that on the mean place: Hotelling's T2 on what is left of them.

    1 where nothing varies, NaN where units are too few.
    """
    units, n = vectors.shape
    if n < 3:
        return 1.0
    if units < max(MIN_UNITS, 3 * n):
        return float("nan")
    line = np.arange(n) - (n - 1) / 2
    rest = vectors - np.outer(vectors @ line, line) / (line @ line)
    if float(np.ptp(rest, axis=0).max()) < FLAT and float(np.abs(rest).max()) < FLAT:
        return 1.0
    return float(hotelling(rest)[2])
