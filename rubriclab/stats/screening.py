"""Effects of two-level changes on a response that every item gives in every arm.

Least squares within items: an item's responses and the arms that it has are centred on their own means, so
that a missing reply costs precision and shifts nothing. Intervals are cluster-robust over units by the
influence of each (Liang and Zeger 1986); with nothing missing they are Student's t of the items' own effects.

Changes need not add up, and in few arms what two of them do only together is mixed into the effects of others,
the same for every item, so that no number of items gives it away. It does show in how far the arms are off the
fitted sum (lack of fit: Box, Hunter and Hunter 2005, Statistics for Experimenters, chapter 9). An effect must
therefore stand out over items and over arms: the wider interval and the larger p of the two are given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rubriclab.stats import distributions
from rubriclab.stats.inference import Floats, Interval, Ints, holm, sum_by
from rubriclab.stats.shift import FEW_MOVED, MIN_UNITS, mean_over_units

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Screened:
    """``estimate``, ``p``, ``p_holm``: (k,), NaN where the arms do not tell a change from others.

    ``intervals`` hold at once with ``confidence`` (Bonferroni); that of an effect which Holm shows ends at
    0 at the latest, as his procedure says its sign (Strassburger and Bretz 2008). ``base``: the response
    with no change, its interval by itself. ``units``: that have a response. ``spare``: degrees of freedom
    that the arms leave to tell lack of fit by; 0: what changes do together is not guarded against.
    """

    estimate: Floats
    intervals: tuple[Interval, ...]
    p: Floats
    p_holm: Floats
    base: float
    base_interval: Interval
    units: int
    confidence: float
    spare: int


def screened(response: Floats, made: Ints, unit: Ints, *, confidence: float = 0.95, step: float = 1.0) -> Screened:
    """The effect of each change. ``response``: (items, arms), NaN where there is none; ``made``: (arms, k);
    ``unit``: (items,) codes 0..n-1. ``step``: of the scale, see ``shift.mean_over_units``."""
    known = np.isfinite(response)
    used = known.sum(axis=1) > 1
    response, known, unit = response[used], known[used], np.unique(unit[used], return_inverse=True)[1]
    n, k = (int(unit.max()) + 1 if len(unit) else 0), made.shape[1]
    count = known.sum(axis=1)[:, None]
    # (items, arms, k): what an item's arms have, less its mean over the arms that were answered.
    mean_made = (known @ made) / np.maximum(count, 1)
    x = (made[None, :, :] - mean_made[:, None, :]) * known[:, :, None]
    mean_response = np.where(known, response, 0.0).sum(axis=1, keepdims=True) / np.maximum(count, 1)
    y = np.where(known, response - mean_response, 0.0)
    information = np.einsum("iak,ial->kl", x, x)
    inverse = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
    told = np.abs(inverse @ information - np.eye(k)).max(axis=1) < 1e-6
    estimate = inverse @ np.einsum("iak,ia->k", x, y)
    residual = np.where(known, y - x @ estimate, 0.0)
    influence = sum_by(unit, np.einsum("iak,ia->ik", x, residual) @ inverse, n) * n + estimate
    alone = 1.0 - (1.0 - confidence) / max(1, int(told.sum()))
    p, ends = np.full(k, np.nan), [Interval(float("nan"), float("nan"))] * k
    off, spare = _lack_of_fit(residual, known, made)
    unit_variance = _effect_variance(made)
    for j in np.flatnonzero(told) if n else ():
        over_items = _answer(influence[:, j], alone, step)
        p[j], ends[j] = _wider(over_items, float(estimate[j]), off * float(unit_variance[j]), spare, alone)
    adjusted = holm(p)
    base = _base(mean_response[:, 0] - mean_made @ estimate, mean_made.mean(axis=0), influence - estimate, unit, n)
    middle = mean_over_units(base, np.ones(n), step=step)
    return Screened(
        np.where(told, estimate, np.nan) if n else np.full(k, np.nan),
        tuple(_signed(e, bool(q < 1.0 - confidence), b) for e, q, b in zip(ends, adjusted, estimate, strict=True)),
        p,
        adjusted,
        middle.value,
        middle.interval,
        n,
        confidence,
        spare,
    )


def _answer(influence: Floats, confidence: float, step: float) -> tuple[float, Interval]:
    """Two-sided p and interval of a mean over units; p is 1 where too few moved to trust Student's t."""
    n = len(influence)
    found = mean_over_units(influence, np.ones(n), confidence=confidence, step=step)
    if n < MIN_UNITS:
        return float("nan"), found.interval
    error = float(influence.std(ddof=1)) / np.sqrt(n)
    if found.moved < FEW_MOVED or error <= 0.0:
        return 1.0, found.interval
    return float(2.0 * distributions.t.sf(abs(found.value) / error, n - 1)), found.interval


def _lack_of_fit(residual: Floats, known: Bools, made: Ints) -> tuple[float, int]:
    """Variance of the arms' means about the fitted sum of changes, and on how many degrees of freedom."""
    count = known.sum(axis=0)
    x = np.column_stack([np.ones(len(made)), made])[count > 0]
    spare = len(x) - int(np.linalg.matrix_rank(x)) if len(x) else 0
    off = residual.sum(axis=0)[count > 0] / count[count > 0]
    return (float(off @ off) / spare if spare else 0.0), spare


def _effect_variance(made: Ints) -> Floats:
    x = np.column_stack([np.ones(len(made)), made]).astype(np.float64)
    return np.asarray(np.diag(np.linalg.pinv(x.T @ x))[1:])


def _wider(
    over_items: tuple[float, Interval], estimate: float, variance: float, spare: int, confidence: float
) -> tuple[float, Interval]:
    """The larger p and the wider ends of those over items and those over arms."""
    p, ends = over_items
    if not spare or not np.isfinite(ends).all():
        return over_items
    reach = float(distributions.t.ppf(0.5 + confidence / 2, spare)) * variance**0.5
    if np.isfinite(p) and variance > 0.0:
        p = max(p, float(2.0 * distributions.t.sf(abs(estimate) / variance**0.5, spare)))
    return p, Interval(min(ends.low, estimate - reach), max(ends.high, estimate + reach))


def _base(own: Floats, at: Floats, influence: Floats, unit: Ints, n: int) -> Floats:
    """(units,) influences of the response with no change: items' own, and through what is taken off."""
    size = max(1, len(own))
    centre = float(own.mean()) if len(own) else float("nan")
    return np.asarray(sum_by(unit, own - centre, n) * n / size + centre - influence @ at)


def _signed(ends: Interval, shown: bool, estimate: float) -> Interval:
    if not shown:
        return ends
    return Interval(max(ends.low, 0.0), ends.high) if estimate > 0 else Interval(ends.low, min(ends.high, 0.0))
