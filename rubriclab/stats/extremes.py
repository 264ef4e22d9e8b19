"""The order that gives the highest scores against the one that gives the lowest, without luck.

The largest of several means is too large, since noise is chosen along with it. So the two orders
are chosen on one half of the units and compared on the other half, and the other way round, over
several splits (cross-fitting). Arrays in, numbers out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, in_groups
from rubriclab.stats.shift import MIN_UNITS, OrderReads, centred, only

SPLITS, DRAWS, GROUPS = 6, 1_000, 200
Contrast = Callable[[Floats, Floats], Floats]
"""What is highest less what is lowest by the first profiles (k, m), valued by the second: (k,)."""


class Extremes(NamedTuple):
    """``value``: how far apart the orders are that give the highest and the lowest mean score.

    Cross-fitted, and 0 where the chosen orders came out the wrong way round. ``highest``,
    ``lowest``: score codes in the order shown, chosen on all units. ``modelled``: by pulls of
    places that add up, since hardly any order was shared by the items.
    """

    value: float
    interval: Interval
    highest: tuple[int, ...]
    lowest: tuple[int, ...]
    units: int
    modelled: bool


NOTHING = Extremes(float("nan"), NO_INTERVAL, (), (), 0, False)


class _Parts(NamedTuple):
    """Linear pieces of a profile: a fold's profile is solve(its ``bottom``) of its ``top``."""

    top: Floats  # (units, m)
    bottom: Floats  # (units, m, m), or (units, m) where it is diagonal

    def profile(self, kept: Floats) -> Floats:
        """The profile of units weighted by ``kept``, (units,)."""
        return _solved(kept @ self.top, np.tensordot(kept, self.bottom, axes=1))


def extremes(reads: OrderReads, *, confidence: float = 0.95, seed: int = 0) -> Extremes:
    """The highest against the lowest order, by means of orders or, where items share none, modelled.

    An order takes part if it was read at least half as often as the most read one, and under
    MIN_UNITS units. The interval inverts a test, see :func:`cross_fitted`.
    """
    count = np.bincount(reads.order, minlength=len(reads.shown))
    often = np.flatnonzero(count >= max(MIN_UNITS, count.max(initial=0) / 2))
    modelled = len(often) < 2 or count[often].sum() < 0.5 * count.sum()
    if not reads.n_units or not len(reads.value) or (modelled and len(np.unique(reads.order)) < 2):
        return NOTHING
    parts = _by_place(reads) if modelled else _by_order(reads, often)
    contrast = _ends_of_places(reads.scores) if modelled else ends
    whole = parts.profile(np.ones(reads.n_units))
    if not np.isfinite(whole).all():
        return NOTHING
    value, interval = cross_fitted(parts, contrast, confidence=confidence, seed=seed)
    if modelled:
        rank = np.argsort(np.argsort(whole, kind="stable"), kind="stable")
        high, low = rank, len(rank) - 1 - rank
    else:
        high, low = (reads.shown[often[int(f(whole))]] for f in (np.argmax, np.argmin))
    return Extremes(value, interval, tuple(map(int, high)), tuple(map(int, low)), reads.n_units, modelled)


def apart(top: Floats, bottom: Floats, *, confidence: float = 0.95, seed: int = 0) -> tuple[float, Interval]:
    """How far apart the highest and the lowest of several means are, without luck, and its interval.

    ``top``, ``bottom``: (units, m), sums whose ratio over all units is each mean; every unit bears on
    all of them alike, so that what units have in common is no error of their difference.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        own = top.sum(axis=1, keepdims=True) / bottom.sum(axis=1, keepdims=True)
    kept = np.isfinite(own[:, 0])
    parts = _Parts((top - own * bottom)[kept], bottom[kept])
    if not parts.bottom.sum(axis=0).all():
        return float("nan"), NO_INTERVAL
    return cross_fitted(parts, ends, confidence=confidence, seed=seed)


def ends(chosen: Floats, valued: Floats) -> Floats:
    """The highest and the lowest entry of each row of ``chosen``, compared in ``valued``."""
    row = np.arange(len(chosen))
    return np.asarray(valued[row, chosen.argmax(axis=1)] - valued[row, chosen.argmin(axis=1)])


def cross_fitted(parts: _Parts, contrast: Contrast, *, confidence: float, seed: int) -> tuple[float, Interval]:
    """(how far apart, its interval): ends chosen on half the units, compared on the others.

    The interval inverts a test: profiles that are the observed one stretched to a range t, with
    the units' errors given random signs (wild bootstrap: Wu 1986), are split, chosen and compared
    alike. t belongs to it unless a difference as great as the observed one is too rare under it,
    or one as small; all of the error goes to "as great" at t = 0, half of it farther away, as in
    ``position.v_interval`` (Feldman and Cousins 1998). Errors are stretched to Student's t.
    """
    rng = np.random.default_rng(seed)
    parts = _Parts(*in_groups(parts, GROUPS, rng))
    units = len(parts.top)
    if units < MIN_UNITS:
        return float("nan"), NO_INTERVAL
    halves = np.stack([_half(units, rng) for _ in range(SPLITS)])
    folds = np.concatenate([halves, 1.0 - halves])  # the i-th and the i + SPLITS-th: one split
    profiles = np.stack([parts.profile(fold) for fold in folds])
    observed = float(contrast(profiles, _swapped(profiles)).mean())
    if not np.isfinite(observed):
        return float("nan"), NO_INTERVAL
    whole = parts.profile(np.ones(units))
    chosen = _errors(parts, whole, folds, confidence, rng)
    errors = chosen.reshape(-1, len(whole)), _swapped(chosen).reshape(-1, len(whole))
    size = float(contrast(whole[None], whole[None])[0])
    unit = whole / size if size > 0 else np.zeros_like(whole)

    def drawn(t: float) -> Floats:
        each = contrast(t * unit + errors[0], t * unit + errors[1])
        return np.asarray(each.reshape(-1, DRAWS).mean(axis=0))

    low, high = _inverted(observed, drawn, 1.0 - confidence)
    # Halves may choose other orders than all units do: what all units show is not ruled out.
    return max(0.0, observed), Interval(low, max(high, size))


def _swapped(folds: Floats) -> Floats:
    """Every fold's counterpart of the same split in its place."""
    return np.roll(folds, SPLITS, axis=0)


def _errors(parts: _Parts, whole: Floats, folds: Floats, confidence: float, rng: np.random.Generator) -> Floats:
    """(folds, DRAWS, m) errors of the folds' profiles, from the units' own at random signs."""
    units = len(parts.top)
    error = parts.top - _times(parts.bottom, whole)
    signs = rng.choice([-1.0, 1.0], size=(DRAWS, units))
    factor = np.sqrt(units / (units - 1)) * special.stdtrit(units - 1, 0.5 + confidence / 2)
    factor /= special.ndtri(0.5 + confidence / 2)
    return np.stack(
        [factor * _solved((signs * fold) @ error, np.tensordot(fold, parts.bottom, axes=1)) for fold in folds]
    )


def _inverted(observed: float, drawn: Callable[[float], Floats], alpha: float) -> Interval:
    """The t >= 0 under which ``observed`` is neither too great nor too small, by bisection.

    No t is below 0, so an ``observed`` there is luck and no sign of a small t: nothing is then
    too small that would not be at 0 (a power-constrained limit: Cowan et al. 2011). Two orders
    0.03 points apart with a standard error of 0.1 were else at most 0.07 apart.
    """
    observed = max(0.0, observed)
    still = drawn(0.0)
    spread = float(still.std())
    if spread <= 1e-12:
        return Interval(observed, observed)

    def rare(t: float) -> float:
        return float(alpha / 2 * (1.0 + np.exp(-((t / spread) ** 2))))

    def great(t: float) -> bool:
        return bool(np.mean(drawn(t) >= observed) > rare(t))

    def small(t: float) -> bool:
        return bool(np.mean(drawn(t) <= observed) > alpha - rare(t))

    far = observed + 8.0 * spread
    low = 0.0 if great(0.0) else _edge(great, 0.0, far)
    high = _edge(lambda t: not small(t), 0.0, far) if small(0.0) else 0.0
    return Interval(min(low, observed), max(high, observed))


def _edge(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where ``holds`` turns from false to true."""
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return (low + high) / 2


def _by_order(reads: OrderReads, often: Ints) -> _Parts:
    """Item-centred scores and counts of each order, unit by unit."""
    place = np.full(len(reads.shown), -1)
    place[often] = np.arange(len(often))
    kept = place[reads.order] >= 0
    reads = reads if kept.all() else only(reads, kept)
    cell = reads.unit[reads.item] * len(often) + place[reads.order]
    size = reads.n_units * len(often)
    value = centred(reads, reads.value[:, None])[:, 0]
    top = np.bincount(cell, weights=value, minlength=size).astype(np.float64)
    seen = np.bincount(cell, minlength=size).astype(np.float64)
    shape = (reads.n_units, len(often))
    return _Parts(top.reshape(shape), seen.reshape(shape))


def _by_place(reads: OrderReads) -> _Parts:
    """Normal equations of the score on the values shown at all places, unit by unit."""
    x = centred(reads, reads.scores[reads.shown][reads.order])
    y = centred(reads, reads.value[:, None])
    n, unit = x.shape[1], reads.unit[reads.item]
    top, bottom = np.zeros((reads.n_units, n)), np.zeros((reads.n_units, n, n))
    np.add.at(top, unit, x * y)
    np.add.at(bottom, unit, x[:, :, None] * x[:, None, :])
    return _Parts(top, bottom)


def _ends_of_places(scores: Floats) -> Contrast:
    """High scores where the pull is strong less the reverse: the two ends of a sum of pulls."""
    apart = scores - scores[::-1]

    def contrast(chosen: Floats, valued: Floats) -> Floats:
        rank = chosen.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
        return np.asarray(np.einsum("km,km->k", apart[rank], valued))

    return contrast


def _solved(top: Floats, bottom: Floats) -> Floats:
    if bottom.ndim == 1:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(top / bottom)
    return np.asarray(top @ np.linalg.pinv(bottom, hermitian=True))


def _times(bottom: Floats, profile: Floats) -> Floats:
    return np.asarray(bottom * profile if bottom.ndim == 2 else bottom @ profile)


def _half(units: int, rng: np.random.Generator) -> Floats:
    kept = np.zeros(units)
    kept[rng.permutation(units)[: units // 2]] = 1.0
    return kept
