"""What standing in a batch does to a score: its place, the response just before it, the company as such.

Arrays in, numbers out; a row is one response's score in one call. A *cell* is an item within its
batch: orders change, the cell does not, so that with its own level taken out nothing but the order is
left. Errors are clustered by batch, because the scores of a batch share their calls, and by the
data's own unit where that is not part of a batch (two ways: Cameron, Gelbach and Miller 2011, Robust
Inference with Multiway Clustering, equation 2.11), each by leaving one out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, sum_by, sum_by_unit
from rubriclab.stats.unit_means import ratios, standard_errors

FEWEST = 3
"""Batches (or units) below which no interval is given."""
_TINY = 1e-9


class Ratios(NamedTuple):
    """Estimates (k,), their standard errors, and the groups that carry each: the fewer of the two ways."""

    estimate: Floats
    error: Floats
    groups: Ints

    def intervals(self, *, level: float = 0.95, comparisons: int = 1) -> list[Interval]:
        """One each on Student's t with groups - 1 degrees of freedom, all holding at once (Bonferroni)."""
        out = []
        for value, se, n in zip(self.estimate, self.error, self.groups, strict=True):
            reach = float("nan")
            if n >= FEWEST:
                reach = float(special.stdtrit(n - 1, 1.0 - (1.0 - level) / (2.0 * max(1, comparisons)))) * se
            ends = Interval(float(value - reach), float(value + reach))
            out.append(ends if np.isfinite(reach) else NO_INTERVAL)
        return out


def two_way(top: Floats, bottom: Floats, batch: Ints, unit: Ints, *, least: float = 0.0) -> Ratios:
    """Sums of ``top`` over sums of ``bottom``, (rows, k), clustered by ``batch`` and by ``unit``, (rows,).

    Of batches within units, or units within batches, the coarser is all there is. Else the variance is
    that of the one plus that of the other less that of both together, and never less than either.
    ``least``: as in ``unit_means``.
    """
    both = np.unique(np.stack([batch, unit]), axis=1, return_inverse=True)[1].ravel()
    by = [ratios(sum_by_unit(code, top), sum_by_unit(code, bottom)) for code in (batch, unit, both)]
    one, other, crossed = (standard_errors(means, least=least) for means in by)
    count, units, pairs = (means.units for means in by)
    with np.errstate(invalid="ignore"):
        square = np.fmax(np.maximum(one**2, other**2), one**2 + other**2 - crossed**2)
    error = np.where(pairs == units, one, np.where(pairs == count, other, np.sqrt(square)))
    groups = np.where(pairs == units, count, np.where(pairs == count, units, np.minimum(count, units)))
    return Ratios(by[0].estimate, error, groups.astype(np.int64))


class PlaceParts(NamedTuple):
    """Tops and bottoms (rows, places + 1): the shift at each place, then the last less the first."""

    top: Floats
    bottom: Floats


def place_parts(cell: Ints, place: Ints, score: Floats, places: int) -> PlaceParts:
    """Points from the cell's own mean at each place; and a least-squares line over places, its last
    end less its first. Cells that stood at one place only say nothing."""
    n = int(cell.max(initial=-1)) + 1
    count = np.bincount(cell, minlength=n).astype(np.float64)[cell]
    mean = sum_by(cell, np.stack([place.astype(np.float64), score], axis=1), n)[cell] / count[:, None]
    moved = np.stack([place - mean[:, 0], score - mean[:, 1]], axis=1)
    several = np.bincount(cell, weights=np.abs(moved[:, 0]), minlength=n)[cell] > _TINY
    off, away = (np.where(several, part, 0.0) for part in moved.T)
    shown = (place[:, None] == np.arange(places)[None, :]) & several[:, None]
    top = np.where(shown, away[:, None], 0.0)
    return PlaceParts(
        np.column_stack([top, (places - 1.0) * off * away]), np.column_stack([shown.astype(np.float64), off**2])
    )


class SlopeParts(NamedTuple):
    """Tops and bottoms (rows, 1) of a slope; ``spread``: root mean square of what the slope is on."""

    top: Floats
    bottom: Floats
    spread: float


def slope_parts(cell: Ints, place: Ints, score: Floats, before: Floats) -> SlopeParts:
    """The slope of ``score`` on ``before``, a number that the response just before has by itself.

    score = cell + place + slope x before + error, over rows that have one before them. Which response
    came just before is the order's doing, so that ``before`` is assigned at random within a cell;
    as it comes from other calls, it shares no error with the score.
    """
    y, x = _within(cell, place, np.stack([score, before], axis=1)).T
    square = float((x * x).sum())
    spread = float(np.sqrt(square / max(len(x), 1)))
    return SlopeParts((x * y)[:, None], np.where(np.abs(x) > _TINY, x * x, 0.0)[:, None], spread)


def _within(cell: Ints, place: Ints, columns: Floats) -> Floats:
    """``columns`` (rows, k) without the means of cells and of places, by least squares."""
    n = int(cell.max(initial=-1)) + 1
    count = np.maximum(np.bincount(cell, minlength=n), 1).astype(np.float64)[:, None]
    shown = (place[:, None] == np.unique(place)[None, 1:]).astype(np.float64)
    both = np.hstack([columns, shown])
    both -= (sum_by(cell, both, n) / count)[cell]
    rest, dummies = both[:, : columns.shape[1]], both[:, columns.shape[1] :]
    if dummies.shape[1] and len(dummies):
        rest = rest - dummies @ np.linalg.lstsq(dummies, rest, rcond=1e-9)[0]
    return np.asarray(rest)


class Disagreement(NamedTuple):
    """By item, (items,): the share of pairs of reads with different scores; NaN without such a pair.

    ``apart``: a read in a batch and one alone; ``alone``: two alone.
    """

    apart: Floats
    alone: Floats


def disagreements(together: Floats, alone: Floats) -> Disagreement:
    """From counts of scores, (items, scores), of reads in batches and of reads alone; both unbiased."""
    a, b = together.sum(axis=1), alone.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = 1.0 - (together * alone).sum(axis=1) / (a * b)
        same = 1.0 - (alone * (alone - 1.0)).sum(axis=1) / (b * (b - 1.0))
    return Disagreement(np.where((a > 0) & (b > 0), apart, np.nan), np.where(b > 1, same, np.nan))
