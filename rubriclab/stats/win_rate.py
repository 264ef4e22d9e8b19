"""Overall win rates and the parabola of consistency or fairness over them (Shi et al., section E)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, Note, Test, ratio

SUMS = 5
"""Columns of ``cell_sums`` before the win columns: consistent, readable, net, series, unread."""
NULL_STUDIES = 500


class Parabola(NamedTuple):
    """y = level + slope (x - centre) + curvature (x - centre)^2 by least squares.

    ``by_chance``: where 95 % of curvatures lie if y has nothing to do with how far a candidate is
    from an even win rate; ``test``: of the curvature against that.
    """

    centre: float
    level: float
    slope: float
    curvature: float
    r2: float
    n: int
    by_chance: Interval = NO_INTERVAL
    test: Test = Test("curvature", float("nan"), float("nan"), float("nan"))


def overall_win_rate(cells: Floats) -> Floats:
    """owr = [C_w + (C_t + C_I) / p] / n of each candidate, (..., cells, p); n = readable series."""
    return ratio(cells[..., SUMS:], cells[..., 1:2])


def parabola(x: Floats, y: Floats, *, centre: float) -> Parabola:
    """The least-squares parabola through points (..., n) flattened to one set.

    Points with a NaN are left out. Fewer than three different x: every coefficient is NaN.
    """
    keep = np.isfinite(x) & np.isfinite(y)
    xs, ys = x[keep], y[keep]
    if np.unique(xs).size < 3:
        nan = float("nan")
        return Parabola(centre, nan, nan, nan, nan, int(keep.sum()))
    level, slope, curvature = _quadratic(xs[None, :], ys[None, :], centre)[0]
    fitted = level + slope * (xs - centre) + curvature * (xs - centre) ** 2
    spread = float(np.square(ys - ys.mean()).sum())
    r2 = 1.0 - float(np.square(ys - fitted).sum()) / spread if spread > 0 else float("nan")
    return Parabola(centre, float(level), float(slope), float(curvature), r2, int(keep.sum()))


class Point(NamedTuple):
    """Where the points of a parabola come from: each one's cell and candidate of its set.

    ``row``, ``column``: (cells,) what a cell is made of, its set of candidates and its task.
    """

    cell: Ints
    candidate: Ints
    row: Ints
    column: Ints


def unrelated(
    cells: Floats, y: Floats, points: Point, *, p: int, studies: int = NULL_STUDIES, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """Win rates, PC and ``y`` of points where consistency has nothing to do with quality.

    An inconsistent comparison counts as a tie, so a cell with a low PC has a win rate near 1/p
    whatever its candidates are worth: a parabola opens upwards by arithmetic alone. So PC and
    ``y`` (of each cell) are dealt to other cells, whole sets and whole tasks at a time where
    every set meets every task; who wins a consistent comparison stays with the cell, drawn anew
    from a Dirichlet posterior whose prior is fitted to all cells; win rates follow.

    ``cells``: (cells, SUMS + p). Returns three (studies, points).
    """
    rng = np.random.default_rng(seed)
    consistent, n = cells[:, 0], cells[:, 1]
    share = ratio(cells[:, SUMS:] - (n - consistent)[:, None] / p, consistent[:, None])
    worth = np.nan_to_num(share * consistent[:, None]).clip(0.0) + _prior(share, consistent, p) / p
    dealt = _dealt(points, studies, rng)
    pc = ratio(np.rint(ratio(consistent, n)[dealt] * n), np.broadcast_to(n, dealt.shape))
    drawn = rng.gamma(worth, size=(studies, *worth.shape))
    drawn /= drawn.sum(axis=2, keepdims=True)
    count = np.nan_to_num(pc * n).astype(np.int64)
    wins = rng.multinomial(count, drawn)
    rate = ratio(wins, np.broadcast_to(n[:, None], wins.shape)) + (1.0 - pc)[:, :, None] / p
    at = points.cell
    return rate[:, at, points.candidate], pc[:, at], y[dealt][:, at]


def _prior(share: Floats, consistent: Floats, p: int) -> float:
    """The concentration of a Dirichlet prior about 1/p, by the variance of ``share`` over cells."""
    known = consistent > 1
    if not known.any():
        return float(p)
    noise = share[known] * (1.0 - share[known]) / (consistent[known, None] - 1.0)
    between = float((np.square(share[known] - 1.0 / p) - noise).mean())
    return float(np.clip((1.0 - 1.0 / p) / p / max(between, 1e-9) - 1.0, 0.2, 1e3))


def _dealt(points: Point, studies: int, rng: np.random.Generator) -> Ints:
    """Which cell's consistency each cell is dealt, (studies, cells)."""
    rows, columns = (int(part.max()) + 1 for part in (points.row, points.column))
    cells = len(points.row)
    if cells < rows * columns:
        return rng.permuted(np.tile(np.arange(cells), (studies, 1)), axis=1)
    at = np.empty((rows, columns), dtype=np.int64)
    at[points.row, points.column] = np.arange(cells)
    row = rng.permuted(np.tile(np.arange(rows), (studies, 1)), axis=1)
    column = rng.permuted(np.tile(np.arange(columns), (studies, 1)), axis=1)
    return np.asarray(at[row[:, points.row], column[:, points.column]])


def against_chance(fit: Parabola, x: Floats, y: Floats) -> Parabola:
    """``fit`` with its curvature held against points (studies, points) of ``unrelated``."""
    curvature = _quadratic(x, y, fit.centre)[:, 2]
    known = curvature[np.isfinite(curvature)]
    if not np.isfinite(fit.curvature) or len(known) < 20:
        return fit
    low, high = np.quantile(known, [0.025, 0.975])
    tail = min((known >= fit.curvature).sum(), (known <= fit.curvature).sum())
    p = min(1.0, 2.0 * (float(tail) + 1.0) / (len(known) + 1.0))
    name = "curvature against cells whose consistency was dealt anew"
    test = Test(name, fit.curvature, float("nan"), p, Note.of("{n} studies simulated", n=len(known)))
    return fit._replace(by_chance=Interval(float(low), float(high)), test=test)


def _quadratic(x: Floats, y: Floats, centre: float) -> Floats:
    """Coefficients (batch, 3) by normal equations in x - centre; NaN points have no weight."""
    keep = np.isfinite(x) & np.isfinite(y)
    z = np.where(keep, x - centre, 0.0)
    target = np.where(keep, y, 0.0)
    powers = [np.where(keep, z**k, 0.0) for k in range(3)]
    left = np.stack([np.stack([(a * b).sum(axis=1) for b in powers], axis=1) for a in powers], 1)
    right = np.stack([(a * target).sum(axis=1) for a in powers], axis=1)
    out = np.full(right.shape, np.nan)
    solvable = np.abs(np.linalg.det(left)) > 1e-12
    out[solvable] = np.linalg.solve(left[solvable], right[solvable][..., None])[..., 0]
    return out
