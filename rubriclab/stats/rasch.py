"""The many-facet Rasch model (Linacre 1989, Many-Facet Rasch Measurement), item measures conditioned away.

A read of an item that is of kind t (a judge, an order, a setting) gives category k of n with probability
proportional to

    exp(k theta + X[t, k] . phi)

theta is the item's measure; phi holds severities, thresholds and places, by what X says of them. Of two
reads of one item with the same sum of categories the item's measure falls out: given the sum,

    P(s, s') proportional to exp((X[t, s] + X[u, s']) . phi)

The product over all pairs of an item's reads is a composite likelihood (pairwise conditional estimation:
Zwinderman 1995, Applied Psychological Measurement 19; Andrich and Luo 2003, Journal of Applied Measurement 4;
Varin, Reid and Firth 2011). It needs no distribution of the items and has no bias from estimating as many
measures as there are items, which joint likelihood has (Neyman and Scott 1948); for two reads an item it is
the conditional likelihood itself (Andersen 1972). An item of K kinds of reads weighs 2 / K, as in ``choice``. Reads
of an item need not be independent for the intervals, which are the sandwich's over units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rubriclab.stats import distributions
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, Test

Bools = NDArray[np.bool_]
MIN_UNITS = 8
"""Below so many units with two unlike reads no interval is given."""
MOST_PAIRS = 800_000
"""Pairs of reads beyond which a random part of the units is used."""
_STEPS = 60
_BLOCK = 20_000
_FLAT = 1e-7
"""Curvature against the largest below which a direction is not seen."""
_RIDGE = 0.02
"""Holds back what has no bound: an effect of 5 then costs a quarter of log-likelihood."""
_FAR = 12.0
"""Log-odds beyond which an effect counts as one without a bound."""


class Responses(NamedTuple):
    """Reads that gave a category. ``item``, ``kind`` (row of X), ``score`` (category 0..n-1): (reads,)
    each; ``unit``: (items,) what is independent, 0..n_units-1. All reads of one item and kind together count
    as one read, so that repeats of one order do not outweigh the others."""

    item: Ints
    kind: Ints
    score: Ints
    unit: Ints
    n_units: int


@dataclass(frozen=True)
class RaschFit:
    """``phi`` (p,) with what its intervals rest on.

    ``parts`` (units, p): how far each unit moves phi, in whose terms the covariance is their sum of
    squares; ``seen`` (p, p) projects on what the reads can tell. ``n_units``: units with two reads that
    could have been exchanged; ``unbounded``: the likelihood has no maximum, a penalty holds phi back and
    there are no intervals.
    """

    phi: Floats
    parts: Floats
    seen: Floats
    n_units: int
    n_pairs: int
    converged: bool
    unbounded: bool

    @property
    def degrees(self) -> int:
        return max(self.n_units - 1, 1)

    def linear(self, weights: Floats, *, confidence: float = 0.95) -> tuple[float, Interval]:
        """``weights`` (p,) . phi with its interval; NaN where the reads cannot tell."""
        if not self.knows(weights):
            return float("nan"), NO_INTERVAL
        value = float(weights @ self.phi)
        if self.n_units < MIN_UNITS or self.unbounded or not self.converged:
            return value, NO_INTERVAL
        half = float(distributions.t.ppf(0.5 + confidence / 2, self.degrees)) * self.error(weights)
        return value, Interval(value - half, value + half)

    def error(self, weights: Floats) -> float:
        return float(np.sqrt(((self.parts @ weights) ** 2).sum()))

    def knows(self, weights: Floats) -> bool:
        """Can the reads tell this combination of effects?"""
        size = float(np.abs(weights).max(initial=0.0))
        return size > 0 and bool(np.abs(weights - self.seen @ weights).max() < 1e-4 * size)

    def together(self, weights: Floats) -> Test | None:
        """Are all of ``weights`` (k, p) . phi zero? Hotelling's T2 on units - 1; None where it cannot be said."""
        known = [row for row in weights if self.knows(row)]
        if not known or self.n_units < MIN_UNITS or self.unbounded or not self.converged:
            return None
        rows = np.array(known)
        moved = self.parts @ rows.T
        covariance = moved.T @ moved
        rank = int(np.linalg.matrix_rank(covariance, hermitian=True))
        n, free = self.n_units, self.n_units - rank
        if not rank or free < 1:
            return None
        values = rows @ self.phi
        t2 = float(values @ np.linalg.pinv(covariance, hermitian=True) @ values)
        f = t2 * free / (rank * (n - 1))
        return Test("Hotelling's T²", t2, float(rank), float(distributions.f.sf(f, rank, free)))


def fit_rasch(reads: Responses, x: Floats, allowed: Bools | None = None) -> RaschFit:
    """Pairwise conditional estimates of phi, (p,), from the ``reads`` of items (see :func:`within_budget`).

    ``x``: (kinds, n, p); ``allowed``: (kinds, n), False for categories that a kind never gives.
    """
    allowed = np.ones(x.shape[:2], dtype=bool) if allowed is None else allowed
    pairs = _pairs(reads, x.shape[1])
    tables = _tables(pairs, x.shape[0], allowed)
    p = x.shape[2]
    if not p or not len(pairs.first):
        nothing = np.zeros((reads.n_units, p))
        return RaschFit(np.zeros(p), nothing, np.zeros((p, p)), 0, 0, False, False)
    phi, converged, curvature, unbounded = _maximum(tables, x)
    seen, inverse = _seen(curvature)
    scores = _unit_scores(tables, pairs, reads, x, phi)
    n = int((np.bincount(pairs.unit, minlength=reads.n_units) > 0).sum())
    spread = np.sqrt(n / max(n - 1, 1))
    return RaschFit(phi, spread * scores @ inverse, seen, n, len(pairs.first), converged, unbounded)


def within_budget(item: Ints, unit: Ints, *, seed: int = 0) -> Ints | None:
    """Reads (their places) of a random part of the units, with MOST_PAIRS pairs at most; None: all will do.

    ``item``: (reads,); ``unit``: (items,).
    """
    per_item = np.bincount(item, minlength=len(unit)).astype(np.float64)
    per_unit = np.bincount(unit, weights=per_item * (per_item - 1) / 2)
    if per_unit.sum() <= MOST_PAIRS:
        return None
    order = np.random.default_rng(seed).permutation(len(per_unit))
    taken = np.zeros(len(per_unit), dtype=bool)
    taken[order[np.cumsum(per_unit[order]) <= MOST_PAIRS]] = True
    return np.flatnonzero(taken[unit[item]])


# ---------------------------------------------------------------- pairs of reads


class _Pairs(NamedTuple):
    """Pairs of reads of one item that could have been exchanged: kinds, categories, weight, unit."""

    first: Ints
    second: Ints
    score: Ints
    other: Ints
    weight: Floats
    unit: Ints


class _Tables(NamedTuple):
    """Pairs counted by their kinds. ``first``, ``second``: (m,) kinds; ``counts``: (m, n * n) weights by
    categories; ``sums``: (m, 2n - 1) the same by sum; ``open``: (m, n * n) what both kinds may give;
    ``row``: (pairs,) the table of each pair; ``sum_of``: (n * n,) the sum of two categories, ``adds``
    (n * n, 2n - 1) adds up by it; ``at`` (kinds, m) each: by the first kind, by the second."""

    first: Ints
    second: Ints
    counts: Floats
    sums: Floats
    open: Bools
    row: Ints
    sum_of: Ints
    adds: Floats
    at: tuple[sparse.csr_array, sparse.csr_array]


def _pairs(reads: Responses, n: int) -> _Pairs:
    """Every two reads of an item, but those whose sum only one pair of categories has."""
    order = np.argsort(reads.item, kind="stable")
    item, kind, score = reads.item[order], reads.kind[order], reads.score[order]
    size = np.bincount(item, minlength=len(reads.unit))
    start = size.cumsum() - size
    share = _shares(item, kind)
    whole = np.bincount(item, weights=share, minlength=len(size))
    later = size[item] - (np.arange(len(item)) - start[item]) - 1
    a = np.repeat(np.arange(len(item)), later)
    b = a + 1 + np.arange(len(a)) - np.repeat(later.cumsum() - later, later)
    total = score[a] + score[b]
    free = (total > 0) & (total < 2 * n - 2)
    a, b = a[free], b[free]
    swap = kind[a] > kind[b]
    a, b = np.where(swap, b, a), np.where(swap, a, b)
    weight = 2.0 * share[a] * share[b] / whole[item[a]]
    return _Pairs(kind[a], kind[b], score[a], score[b], weight, reads.unit[item[a]])


def _shares(item: Ints, kind: Ints) -> Floats:
    """1 over the number of reads of the same item and kind."""
    _, code, count = np.unique(item * (int(kind.max(initial=0)) + 1) + kind, return_inverse=True, return_counts=True)
    return np.asarray(1.0 / count[code.ravel()])


def _tables(pairs: _Pairs, kinds: int, allowed: Bools) -> _Tables:
    n = allowed.shape[1]
    keys, row = np.unique(pairs.first * kinds + pairs.second, return_inverse=True)
    row = row.ravel().astype(np.int64)
    first, second = keys // kinds, keys % kinds
    cell = row * n * n + pairs.score * n + pairs.other
    weights = np.bincount(cell, weights=pairs.weight, minlength=len(keys) * n * n)
    count = weights.astype(np.float64).reshape(len(keys), n * n)
    sum_of = np.add.outer(np.arange(n), np.arange(n)).ravel()
    adds = (sum_of[:, None] == np.arange(2 * n - 1)).astype(np.float64)
    may = (allowed[first][:, :, None] & allowed[second][:, None, :]).reshape(len(keys), n * n)
    m, one = np.arange(len(keys)), np.ones(len(keys))
    at = (sparse.csr_array((one, (of, m)), (kinds, len(m))) for of in (first, second))
    return _Tables(first, second, count, count @ adds, may, row, sum_of, adds, (next(at), next(at)))


# ---------------------------------------------------------------- the likelihood


def _chances(tables: _Tables, eta: Floats) -> tuple[Floats, Floats]:
    """(P(s, s' | sum), (m, n * n); log of the normalising sums, (m, 2n - 1)) for ``eta`` (kinds, n)."""
    level = (eta[tables.first][:, :, None] + eta[tables.second][:, None, :]).reshape(tables.open.shape)
    level = np.where(tables.open, level, -np.inf)
    top = np.stack([level[:, tables.sum_of == r].max(axis=1) for r in range(tables.adds.shape[1])], axis=1)
    top = np.where(np.isfinite(top), top, 0.0)
    weight = np.exp(level - top[:, tables.sum_of])
    whole = weight @ tables.adds
    with np.errstate(divide="ignore"):
        log_sum = top + np.log(whole)
    return weight / np.where(whole > 0, whole, 1.0)[:, tables.sum_of], log_sum


def _log_likelihood(tables: _Tables, eta: Floats, log_sum: Floats) -> float:
    known = tables.sums > 0
    return float((_by_kind(tables, tables.counts) * eta).sum() - tables.sums[known] @ log_sum[known])


def _by_kind(tables: _Tables, cells: Floats) -> Floats:
    """Sums of ``cells`` (m, n * n) by kind and category, (kinds, n): each pair counts at both its reads."""
    n = (tables.adds.shape[1] + 1) // 2
    square = cells.reshape(-1, n, n)
    first, second = tables.at
    return np.asarray(first @ square.sum(axis=2) + second @ square.sum(axis=1))


def _slopes(tables: _Tables, x: Floats, chance: Floats) -> tuple[Floats, Floats]:
    """The gradient (p,) of the log-likelihood and its curvature (p, p), positive."""
    expected = chance * tables.sums[:, tables.sum_of]
    gradient = np.einsum("tk,tkp->p", _by_kind(tables, tables.counts - expected), x)
    curvature = np.zeros((x.shape[2], x.shape[2]))
    for start in range(0, len(tables.first), _BLOCK):
        part = slice(start, start + _BLOCK)
        move = _moves(tables, x, part)
        mean = np.matmul(tables.adds.T, chance[part][:, :, None] * move)
        away = (move - mean[:, tables.sum_of]).reshape(-1, x.shape[2])
        curvature += away.T @ (away * expected[part].reshape(-1, 1))
    return gradient, curvature


def _moves(tables: _Tables, x: Floats, part: slice) -> Floats:
    """What phi does to each pair of categories, (m, n * n, p)."""
    both = x[tables.first[part]][:, :, None] + x[tables.second[part]][:, None, :]
    return both.reshape(len(both), -1, x.shape[2])


def _maximum(tables: _Tables, x: Floats) -> tuple[Floats, bool, Floats, bool]:
    """(phi, converged, curvature there, is it held back by a penalty?)."""
    phi, converged, curvature = _newton(tables, x, 0.0)
    start = _slopes(tables, x, _chances(tables, np.zeros(x.shape[:2]))[0])[1]
    seen = _seen(start)[0]
    lost = np.linalg.matrix_rank(seen, tol=0.5) > np.linalg.matrix_rank(_seen(curvature)[0], tol=0.5)
    if converged and not lost and float(np.abs(phi).max()) < _FAR:
        return phi, True, curvature, False
    phi, converged, curvature = _newton(tables, x, _RIDGE)
    return phi, converged, curvature, True


def _newton(tables: _Tables, x: Floats, ridge: float) -> tuple[Floats, bool, Floats]:
    """Newton's steps from 0, halved where they overshoot; directions that are not seen stay at 0."""
    phi = np.zeros(x.shape[2])
    chance, log_sum = _chances(tables, x @ phi)
    value = _log_likelihood(tables, x @ phi, log_sum)
    for _ in range(_STEPS):
        gradient, curvature = _slopes(tables, x, chance)
        gradient, bent = gradient - ridge * phi, curvature + ridge * np.eye(len(phi))
        step = _seen(bent)[1] @ gradient
        step *= min(1.0, 3.0 / max(float(np.abs(step).max(initial=0.0)), 1e-300))
        gain = float(step @ gradient)
        if gain < 1e-14 * max(1.0, abs(value)):
            return phi, True, bent
        for halved in range(30):
            ahead = phi + step * 0.5**halved
            chance, log_sum = _chances(tables, x @ ahead)
            reached = _log_likelihood(tables, x @ ahead, log_sum) - ridge * float(ahead @ ahead) / 2
            if reached >= value - 1e-12 * abs(value):
                break
        phi, value = ahead, reached
    return phi, False, bent


def _seen(curvature: Floats) -> tuple[Floats, Floats]:
    """(projection on the directions that the reads can tell, the inverse of the curvature on these)."""
    values, vectors = np.linalg.eigh(curvature)
    kept = values > _FLAT * max(float(values.max(initial=0.0)), 1e-300)
    basis = vectors[:, kept]
    return basis @ basis.T, (basis / values[kept]) @ basis.T


def _unit_scores(tables: _Tables, pairs: _Pairs, reads: Responses, x: Floats, phi: Floats) -> Floats:
    """Each unit's part of the gradient at ``phi``, (units, p)."""
    chance, n = _chances(tables, x @ phi)[0], x.shape[1]
    sums, cell = pairs.score + pairs.other, pairs.score * n + pairs.other
    out = np.empty((reads.n_units, x.shape[2]))
    for j in range(x.shape[2]):
        move = _moves(tables, x[:, :, j : j + 1], slice(None))[:, :, 0]
        gap = move[tables.row, cell] - ((chance * move) @ tables.adds)[tables.row, sums]
        out[:, j] = np.bincount(pairs.unit, weights=pairs.weight * gap, minlength=reads.n_units)
    return out
