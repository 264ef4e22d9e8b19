"""How far the place of a criterion moves its score, less what noise alone makes.

Arrays in, numbers out; rows as in ``stats.criteria``. The slope over places and the pull of the
score just given are our own; the root mean square with noise taken off is the usual unbiased
estimator of a squared length, inverted for its interval (Steiger and Fouladi 1997, Noncentrality
Interval Estimation), with Satterthwaite's degrees of freedom for unequal variances.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.optimize import brentq

from rubriclab.stats import distributions
from rubriclab.stats.criteria import position_shifts
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, distinct, sum_by, sum_by_unit
from rubriclab.stats.noise import differences
from rubriclab.stats.unit_means import UnitMeans, jackknifed, ratios

_TINY = 1e-12


def first_less_last(sums: Floats, counts: Floats, unit: Ints) -> UnitMeans:
    """By criterion, in points: a least-squares line over places, its first end less its last.

    ``sums``, ``counts`` of scores: (texts, criteria, places); each text's own level is taken out, but
    of a criterion that most texts show at one place only the mean of all such texts, which orders
    dealt out at random allow. ``unit``: (texts,) what is resampled. NaN for a criterion that was
    never shown at two places.
    """
    place, shown = np.arange(counts.shape[2], dtype=np.float64), counts.sum(axis=2)
    each = np.stack([(counts * place).sum(axis=2), sums.sum(axis=2)]) / np.maximum(shown, 1.0)
    still = (counts > 0).sum(axis=2) == 1
    between = 2 * still.sum(axis=0) > (shown > 0).sum(axis=0)
    for k in np.flatnonzero(between):
        mine = still[:, k]
        each[:, mine, k] = (each[:, mine, k] @ shown[mine, k] / shown[mine, k].sum())[:, None]
    off = np.where((still & ~between)[..., None], 0.0, place - each[0][..., None])
    away = sums - counts * each[1][..., None]
    top = (away * off).sum(axis=2) * -(counts.shape[2] - 1.0)
    return ratios(sum_by_unit(unit, top), sum_by_unit(unit, (counts * off**2).sum(axis=2)))


def shifts_of(sums: Floats, counts: Floats, unit: Ints) -> UnitMeans:
    """``position_shifts`` with its jackknife, (criteria x places) in one row."""
    shape = counts.shape[1:]
    by_unit = [sum_by_unit(unit, part.reshape(len(part), -1)) for part in (sums, counts)]
    s, c = (part.reshape(-1, *shape) for part in by_unit)
    whole = position_shifts(s.sum(axis=0), c.sum(axis=0)).shift
    without = position_shifts(s.sum(axis=0) - s, c.sum(axis=0) - c).shift
    places = c.sum(axis=0) > 0
    moved = places & (places.sum(axis=1) > 1)[:, None]  # else its shift is 0 by definition
    known = np.broadcast_to((c.sum(axis=2) > 0)[..., None] & moved, c.shape)
    flat = (len(s), -1)
    return jackknifed(whole.ravel(), without.reshape(flat), known.reshape(flat))


class RootMeanSquare(NamedTuple):
    """In points: ``value`` with noise taken off (0 where noise explains all), its interval, and
    ``noise``, what chance alone would make of a judge that places do not move."""

    value: float
    ci: Interval
    noise: float
    cells: int


def rms_shift(shifts: UnitMeans, *, level: float = 0.95, least: float = 0.0) -> RootMeanSquare:
    """Root mean square of true shifts over criteria and places.

    T, the squared length of the estimates, has the expectation (true length)^2 + trace(S), S their
    jackknife covariance; T / trace(S) is taken for a noncentral F. ``least``: as in ``unit_means``,
    of one unit's move in any one cell.
    """
    used = np.isfinite(shifts.estimate) & np.isfinite(shifts.pseudo).any(axis=0)
    n, nan = int(shifts.units.max(initial=0)), float("nan")
    cells = int(used.sum())
    if n < 3 or not cells:
        return RootMeanSquare(nan, NO_INTERVAL, nan, cells)
    estimate = shifts.estimate[used]
    centre = np.nan_to_num(shifts.pseudo[:, used] - estimate)
    spread = centre.T @ centre / (n - 1.0)
    trace = max(float(np.trace(spread)), 2.0 * least**2 / (n - 1.0)) / n
    if trace < _TINY:
        return RootMeanSquare(float(np.sqrt(np.mean(estimate**2))), NO_INTERVAL, 0.0, cells)
    # tr(S^2) of an estimated S is too large by what estimating it adds.
    square = float((spread**2).sum()) - float(np.trace(spread)) ** 2 / (n - 1.0)
    square *= (n - 1.0) ** 2 / ((n - 2.0) * (n + 1.0)) / n**2
    df = float(np.clip(trace**2 / square, 1.0, cells)) if square > 0 else 1.0
    total = float((estimate**2).sum())
    ends = [
        np.sqrt(_length(total / trace, df, (n - 1.0) * df, tail) * trace / df / cells)
        for tail in ((1.0 + level) / 2.0, (1.0 - level) / 2.0)
    ]
    value = np.sqrt(max(total - trace, 0.0) / cells)
    return RootMeanSquare(float(value), Interval(float(ends[0]), float(ends[1])), float(np.sqrt(trace / cells)), cells)


def _length(f: float, df: float, rest: float, below: float) -> float:
    """The noncentrality for which a chance of ``below`` lies under the observed F; 0 at least."""

    def gap(nc: float) -> float:
        under = float(special.ncfdtr(df, rest, nc, f))
        return (under if np.isfinite(under) else _far(df, rest, nc, f)) - below

    if gap(0.0) <= 0:
        return 0.0
    high = 4.0 * df * (f + 2.0) + 20.0
    while gap(high) > 0:
        high *= 2.0
    return float(brentq(gap, 0.0, high, xtol=1e-9))


def _far(df: float, rest: float, nc: float, f: float) -> float:
    """The noncentral F distribution where SciPy gives it up, thousands of noncentralities out.

    The normal approximation of its cube root: Abramowitz and Stegun (1964), 26.6.27.
    """
    root = np.cbrt(df * f / (df + nc))
    own, other = 2.0 * (df + 2.0 * nc) / (9.0 * (df + nc) ** 2), 2.0 / (9.0 * rest)
    z = (root * (1.0 - other) - (1.0 - own)) / np.sqrt(own + other * root**2)
    return float(special.ndtr(z))


# ---------------------------------------------------------------- the same order twice


class OrderNoise(NamedTuple):
    """By text, points (texts, 2): how far two scores of a criterion lie apart, read under
    different orders and under the same one; NaN where there are no two such reads."""

    apart: Floats


def order_noise(
    text: Ints, item: Ints, order: Ints, score: Ints, values: Floats, *, nominal: bool = False
) -> OrderNoise:
    """Mean |difference| of two reads of an item, by text; arrays are (reads,).

    ``score``: index into ``values``. Every pair of reads counts; an item weighs the same whatever
    its reads, a text by its items.
    """
    size = int(item.max(initial=-1)) + 1
    apart = np.stack(differences(item, order, score, values, size, nominal=nominal), axis=1)
    owner = np.zeros(size, dtype=np.int64)
    owner[item] = text
    known = np.isfinite(apart)
    texts = int(text.max(initial=-1)) + 1
    top = sum_by(owner, np.where(known, apart, 0.0), texts)
    with np.errstate(invalid="ignore", divide="ignore"):
        return OrderNoise(top / sum_by(owner, known.astype(np.float64), texts))


# ---------------------------------------------------------------- the score just given


class Pull(NamedTuple):
    """Points that one point more of the score given just before adds to the next score.

    ``interval`` is the set of pulls that the data do not reject: it may be unbounded (NaN ends)
    where predecessors hardly differ in their scores. ``p``: of no pull.
    """

    pull: float
    interval: Interval
    p: float
    units: int


def pull_of_the_score_before(
    unit: Ints,
    item: Ints,
    criterion: Ints,
    position: Ints,
    previous: Ints,
    own: Floats,
    before: Floats,
    usual: Floats,
    *,
    level: float = 0.95,
) -> Pull:
    """Rows are scores that had one just before them, (rows,) each.

    ``own`` = item + criterion x position + predecessor + pull x ``before`` + error. The score
    before shares its call's mood with the next (a lenient call is lenient twice), so its chance
    part is not used: ``usual``, the mean over calls that the predecessor's score has for this text,
    stands in for it as an instrument (two-stage least squares; Wooldridge 2010, chapter 5). Which
    predecessor came is the order's doing, so that ``usual`` is assigned at random. What follows
    in a call does not enter ``before``, and items' own levels are taken out exactly: the bias of
    lagged outcomes (Nickell 1981) does not arise but through ``usual``, in the order of pull /
    reads. The interval is Anderson and Rubin's (1949), clustered by unit.
    """
    nothing = Pull(float("nan"), NO_INTERVAL, float("nan"), 0)
    if not len(own):
        return nothing
    y, x, z = _within(item, criterion, position, previous, (own, before, usual))
    units, code = distinct(unit)
    parts = np.stack([sum_by(code, z * of, len(units)) for of in (y, x, z)], axis=1)
    parts = parts[parts[:, 2] > _TINY]
    n = len(parts)
    if n < 3 or abs(float(parts[:, 1].sum())) < _TINY:
        return nothing
    a, b = parts[:, 0], parts[:, 1]
    pull = float(a.sum() / b.sum())
    cut = float(special.stdtrit(n - 1, 0.5 + level / 2.0)) ** 2
    null = _t(a)
    p = 2.0 * float(distributions.t.sf(abs(null), n - 1)) if np.isfinite(null) else float("nan")
    return Pull(pull, _not_rejected(a, b, cut), p, n)


def _t(values: Floats) -> float:
    se = float(values.std(ddof=1)) * np.sqrt(len(values))
    return float(values.sum()) / se if se > _TINY else float("nan")


def _not_rejected(a: Floats, b: Floats, cut: float) -> Interval:
    """All pulls f with t(a - f b)^2 <= cut: the roots of a quadratic in f."""
    n = len(a)
    scale = cut * n / (n - 1.0)
    ca, cb = a - a.mean(), b - b.mean()
    square = float(b.sum()) ** 2 - scale * float(cb @ cb)
    cross = float(a.sum() * b.sum()) - scale * float(ca @ cb)
    rest = float(a.sum()) ** 2 - scale * float(ca @ ca)
    inside = cross**2 - square * rest
    if square <= 0 or inside < 0:
        return NO_INTERVAL
    root = float(np.sqrt(inside))
    return Interval((cross - root) / square, (cross + root) / square)


def _within(item: Ints, criterion: Ints, position: Ints, previous: Ints, columns: tuple[Floats, ...]) -> list[Floats]:
    """Each of ``columns``, (rows,), without items' means, criterion x position and predecessor.

    The dummies' sums of products are counts: no table of reads by dummies is made, and columns are
    gone through one by one, which millions of rows do several times faster than as one table.
    """
    places, n = int(position.max()) + 1, int(previous.max()) + 1
    (at, cell), (texts, code) = distinct(criterion * places + position), distinct(item)
    cells, size = len(at), len(texts)
    reads = np.bincount(code, minlength=size).astype(np.float64)[:, None]
    shown = np.hstack([_table(code, cell, size, cells), _table(code, previous, size, n)])
    both = _table(cell, previous, cells, n)
    gram = np.block([[np.diag(both.sum(axis=1)), both], [both.T, np.diag(both.sum(axis=0))]])
    gram -= shown.T @ (shown / reads)
    inverse = np.linalg.pinv(gram, rcond=1e-10, hermitian=True)
    pair, rest = cell * n + previous, []
    for column in columns:
        left = column - column.mean()  # keeps sums from cancelling
        own = sum_by(code, left, size)[:, None]
        sums = np.concatenate([sum_by(cell, left, cells), sum_by(previous, left, n)])[:, None]
        fitted = inverse @ (sums - shown.T @ (own / reads))
        left -= (fitted[:cells] + fitted[cells:].T).ravel()[pair]
        left -= ((own - shown @ fitted) / reads).ravel()[code]
        rest.append(left)
    return rest


def _table(rows: Ints, columns: Ints, n: int, k: int) -> Floats:
    """(n, k): how often each pair of codes comes together."""
    return np.bincount(rows * k + columns, minlength=n * k).reshape(n, k).astype(np.float64)
