"""The choice model: content, position, label and neighbour in one fit (method: section 7).

An item's read offers n options. Option s, shown at position p with label l and directly
after option t, has the utility

    u(item, s) + beta[p] + gamma[l] + delta[t]

and is chosen with probability proportional to exp(utility). The content terms u are as many
as items times scores and are not wanted. Estimating them beside a handful of reads would
bias the rest (Neyman and Scott 1948, Econometrica 16), so they are conditioned away: for two
reads a, b of an item whose answers s, t differ, given that these two answers came out, the
chance that s came out of a and t out of b is

    logistic((x[a,s] - x[a,t] - x[b,s] + x[b,t]) . theta)

with x the position, label and neighbour of an option: content and both normalising sums
cancel exactly. The sum of these over pairs of reads is a composite likelihood (Chamberlain
1980, Review of Economic Studies 47, the conditional logit; Varin, Reid and Firth 2011,
Statistica Sinica 21, composite likelihood and its sandwich variance). With weight 2/K for an
item of K reads its score at no effect equals that of the full conditional likelihood.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse, special

from rubriclab.stats import distributions
from rubriclab.stats.choice_design import (
    EFFECTS,
    RANK_TOLERANCE,
    Effect,
    ReadPairs,
    contrasts,
    covariates,
    n_effects,
    separability,
)
from rubriclab.stats.choice_design import Layout as Layout
from rubriclab.stats.choice_design import Separability as Separability
from rubriclab.stats.choice_design import layout as layout
from rubriclab.stats.inference import Floats, Ints, Test, distinct

PAIR_BUDGET = 6_000_000
"""Pairs of reads (times option pairs, for probabilities) beyond which a random part is used."""
_FLAT = 1e-6
"""Curvature left, against that at no effect, below which an effect has no bound."""
_PENALTY = 0.05
"""Ridge that then holds it back: an effect of 3 costs 0.2 of log-likelihood."""


@dataclass(frozen=True)
class EffectFit:
    """One family of effects, in log-odds against the average of its levels (sum to zero).

    Arrays of one value per level (position, label, or score read just before); NaN where
    the reads cannot tell. ``test`` asks whether all levels are alike.
    """

    log_odds: Floats
    std_error: Floats
    low: Floats
    high: Floats
    test: Test


@dataclass(frozen=True)
class ChoiceFit:
    """The fitted model. An effect that was not asked for or not identified is None.

    ``separable`` says for every effect whether the *design* lets it be seen. ``separated``:
    the answers follow the order so strictly that the likelihood has no maximum; estimates
    are then held back by a penalty and have no interval. ``n_clusters``: items (or blocks)
    with at least one informative pair; ``n_pairs``: informative pairs of reads.
    """

    position: EffectFit | None
    label: EffectFit | None
    neighbour: EffectFit | None
    separable: dict[Effect, Separability]
    converged: bool
    separated: bool
    iterations: int
    n_clusters: int
    n_pairs: int
    n_reads: int
    subsampled: bool


def fit_choice(
    places: Layout,
    item: Ints,
    ordering: Ints,
    choice: Ints,
    *,
    cluster: Ints | None = None,
    probabilities: Floats | None = None,
    effects: tuple[Effect, ...] = EFFECTS,
    level: float = 0.95,
    max_pairs: int = PAIR_BUDGET,
    seed: int = 0,
) -> ChoiceFit:
    """Fit position, label and neighbour effects by conditional pairwise likelihood.

    ``item``, ``ordering`` (row of ``places``) and ``choice`` (index of the chosen score):
    (reads,). ``cluster``: (reads,) blocks for the sandwich variance; None: the item.
    ``probabilities``: (reads, n) by score index, rows summing to 1; where given, every pair
    of answers enters with its probability instead of the one that was drawn, and ``choice``
    is not read. Unread calls must be left out by the caller.

    Intervals are Wald with the cluster-robust variance and Student's t on clusters - 1;
    the joint test is Hotelling's T2 on the estimates. ``seed`` orders reads when more than
    ``max_pairs`` pairs make a random part of them necessary.
    """
    item, ordering, choice = (np.asarray(a, dtype=np.int64) for a in (item, ordering, choice))
    pairs = ReadPairs.of(item, places.n if probabilities is not None else 1, max_pairs, seed)
    separable = separability(places, ordering, pairs, effects)
    kept = tuple(e for e in effects if separable[e] == "yes" or e == "position")
    if len(item) == 0 or separable.get("position", "no") == "no":
        return _nothing(separable, len(item), pairs)
    coding = _Coding.of(places, kept)
    group = item if cluster is None else np.asarray(cluster, dtype=np.int64)
    table = _pair_table(coding, ordering, choice, probabilities, pairs, group)
    solution = _maximise(table)
    if solution is None:
        return _nothing(separable, len(item), pairs)
    fitted = {effect: _effect(solution, coding, effect, table, level=level) for effect in kept}
    return _fit(solution, fitted, separable, table, len(item), pairs)


@dataclass(frozen=True)
class _Coding:
    """Options' covariates: ``state`` (orderings, n) into the rows of ``rows`` (states, k)."""

    state: Ints
    rows: Floats
    slices: dict[Effect, slice]
    levels: dict[Effect, int]

    @classmethod
    def of(cls, places: Layout, effects: tuple[Effect, ...]) -> _Coding:
        code = np.zeros_like(places.position)
        parts: list[Floats] = []
        slices: dict[Effect, slice] = {}
        start = 0
        for effect in effects:
            value = {"position": places.position, "label": places.label, "neighbour": places.before + 1}[effect]
            code = code * (int(value.max()) + 1) + value
            width = n_effects(places, effect)
            slices[effect] = slice(start, start + width)
            start += width
            parts.append(covariates(places, effect).reshape(-1, width))
        _, where, state = np.unique(code.ravel(), return_index=True, return_inverse=True)
        rows = np.concatenate(parts, axis=1)[where]
        levels = {effect: n_effects(places, effect) + 1 for effect in effects}
        return cls(state.reshape(places.position.shape), rows, slices, levels)


# ---------------------------------------------------------------- the likelihood


@dataclass(frozen=True)
class _PairTable:
    """The likelihood's terms: ``x`` (keys, k) differences, ``share`` (clusters, keys) weights."""

    x: Floats
    share: sparse.csr_array
    n_clusters: int
    n_pairs: int

    @property
    def weight(self) -> Floats:
        return np.asarray(self.share.sum(axis=0), dtype=np.float64).ravel()


class _Solution(NamedTuple):
    theta: Floats
    bread: Floats
    covariance: Floats
    basis: Floats
    converged: bool
    separated: bool
    iterations: int


def _pair_table(
    coding: _Coding, ordering: Ints, choice: Ints, probabilities: Floats | None, pairs: ReadPairs, group: Ints
) -> _PairTable:
    """All informative pairs, those with the same covariate difference put together."""
    keys, clusters, weights = [], [], []
    n_pairs = 0
    for a, b, w in pairs:
        # The same order twice says nothing about order, nor does the same choice.
        different = ordering[a] != ordering[b]
        if probabilities is None:
            different &= choice[a] != choice[b]
        a, b, w = a[different], b[different], w[different]
        for s, t, chance in _answers(choice, probabilities, a, b):
            possible: slice | NDArray[np.bool_] = slice(None) if probabilities is None else chance > 0
            sa, ta = coding.state[ordering[a], s], coding.state[ordering[a], t]
            sb, tb = coding.state[ordering[b], s], coding.state[ordering[b], t]
            keys.append(_key(sa, tb, ta, sb, len(coding.rows))[possible])
            clusters.append(group[a][possible])
            weights.append((w * chance)[possible])
            n_pairs += len(keys[-1])
    if n_pairs == 0:
        return _PairTable(np.zeros((0, coding.rows.shape[1])), sparse.csr_array((0, 0)), 0, 0)
    key, column = distinct(np.concatenate(keys))
    cluster, row = distinct(np.concatenate(clusters))
    share = sparse.csr_array((np.concatenate(weights), (row, column)), shape=(len(cluster), len(key)))
    return _PairTable(_unkey(key, coding.rows), share, len(cluster), n_pairs)


def _answers(choice: Ints, probabilities: Floats | None, a: Ints, b: Ints) -> Iterator[tuple[Ints, Ints, Floats]]:
    """The two answers (s out of a, t out of b), which differ, and how probable: 1 if drawn."""
    if probabilities is None:
        yield choice[a], choice[b], np.ones(len(a))
        return
    n = probabilities.shape[1]
    for s in range(n):
        for t in range(n):
            if s != t:
                chance = probabilities[a, s] * probabilities[b, t]
                yield (np.full(len(a), s, dtype=np.int64), np.full(len(a), t, dtype=np.int64), chance)


def _key(sa: Ints, tb: Ints, ta: Ints, sb: Ints, base: int) -> Ints:
    """One integer for x[sa] + x[tb] - x[ta] - x[sb]; the two of a sign may swap."""
    plus = np.minimum(sa, tb) * base + np.maximum(sa, tb)
    minus = np.minimum(ta, sb) * base + np.maximum(ta, sb)
    return np.asarray(plus * base * base + minus, dtype=np.int64)


def _unkey(key: Ints, rows: Floats) -> Floats:
    base = len(rows)
    plus, minus = np.divmod(key, base * base)
    return np.asarray(rows[plus // base] + rows[plus % base] - rows[minus // base] - rows[minus % base])


def _maximise(table: _PairTable) -> _Solution | None:
    """Newton's method on the directions that the answers tell about; None if there are none."""
    if table.n_pairs == 0:
        return None
    weight = table.weight
    values, vectors = np.linalg.eigh(table.x.T @ (weight[:, None] * table.x))
    basis = vectors[:, values > RANK_TOLERANCE * max(float(values.max()), 1e-300)]
    if basis.shape[1] == 0 or float(values.max()) <= 0:
        return None
    x = table.x @ basis
    theta, converged, iterations = _newton(x, weight, 0.0)
    separated = not converged or _is_flat(x, weight, theta)
    penalty = _PENALTY if separated else 0.0
    if separated:
        theta, converged, iterations = _newton(x, weight, penalty)
    miss = special.expit(-(x @ theta))
    hessian = x.T @ ((weight * miss * (1 - miss))[:, None] * x) + penalty * np.eye(x.shape[1])
    bread = np.linalg.inv(hessian)
    scores = table.share @ (miss[:, None] * x)
    clusters = table.n_clusters
    correction = clusters / (clusters - 1) if clusters > 1 else np.nan
    covariance = correction * bread @ (scores.T @ scores) @ bread
    return _Solution(theta, bread, covariance, basis, converged, separated, iterations)


def _is_flat(x: Floats, weight: Floats, theta: Floats) -> bool:
    """The likelihood has no curvature left in some direction: its maximum lies at infinity."""
    miss = special.expit(-(x @ theta))
    start = x.T @ ((weight / 4)[:, None] * x)
    end = x.T @ ((weight * miss * (1 - miss))[:, None] * x)
    return float(linalg.eigh(end, start, eigvals_only=True).min()) < _FLAT


def _newton(x: Floats, weight: Floats, penalty: float) -> tuple[Floats, bool, int]:
    """Maximise sum w log logistic(x theta) - penalty |theta|^2 / 2, halving steps that overshoot."""
    theta = np.zeros(x.shape[1])
    value = _objective(x, weight, theta, penalty)
    scale = float(weight.sum())
    for iteration in range(1, 61):
        miss = special.expit(-(x @ theta))
        gradient = x.T @ (weight * miss) - penalty * theta
        if float(np.abs(gradient).max()) < 1e-9 * scale:
            return theta, True, iteration
        hessian = x.T @ ((weight * miss * (1 - miss))[:, None] * x) + penalty * np.eye(len(theta))
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        size = 1.0
        while size > 1e-6:
            candidate = _objective(x, weight, theta + size * step, penalty)
            if candidate >= value:
                break
            size /= 2
        theta, value = theta + size * step, candidate
    return theta, False, 60


def _objective(x: Floats, weight: Floats, theta: Floats, penalty: float) -> float:
    fit = -np.logaddexp(0.0, -(x @ theta)) @ weight
    return float(fit - penalty * theta @ theta / 2)


def _effect(solution: _Solution, coding: _Coding, effect: Effect, table: _PairTable, *, level: float) -> EffectFit:
    """Estimates, intervals and joint test of one effect, from the fit on ``basis``."""
    levels, part = coding.levels[effect], coding.slices[effect]
    to_theta = np.zeros((levels, coding.rows.shape[1]))
    to_theta[:, part] = contrasts(levels)
    reach = to_theta @ solution.basis
    # A level can be estimated if its contrast lies in what the answers tell about.
    estimable = np.linalg.norm(to_theta - reach @ solution.basis.T, axis=1) < 1e-6
    log_odds = np.where(estimable, reach @ solution.theta, np.nan)
    covariance = reach @ solution.covariance @ reach.T
    bounded = estimable & (not solution.separated) & (table.n_clusters > 1)
    error = np.where(bounded, np.sqrt(np.clip(np.diag(covariance), 0, None)), np.nan)
    half = error * float(distributions.t.ppf(0.5 + level / 2, max(1, table.n_clusters - 1)))
    test = _joint_test(log_odds, covariance, table.n_clusters, bool(bounded.all()))
    return EffectFit(log_odds, error, log_odds - half, log_odds + half, test)


def _joint_test(log_odds: Floats, covariance: Floats, clusters: int, possible: bool) -> Test:
    """H0: every level is alike. Hotelling's T2 of the estimates, F on (q, clusters - q)."""
    name = "Hotelling T2 on the choice model's estimates, clustered by item"
    if not possible:
        return Test(name, np.nan, np.nan, np.nan, "these reads cannot carry the test")
    inverse = linalg.pinvh(covariance, rtol=1e-9)
    q = int(np.linalg.matrix_rank(covariance, hermitian=True, rtol=1e-9))
    if q == 0 or clusters <= q:
        return Test(name, np.nan, float(q), np.nan, "too few items for the test")
    statistic = float(log_odds @ inverse @ log_odds)
    scaled = statistic * (clusters - q) / (q * (clusters - 1))
    return Test(name, statistic, float(q), float(distributions.f.sf(scaled, q, clusters - q)))


def _fit(
    solution: _Solution,
    fitted: dict[Effect, EffectFit],
    separable: dict[Effect, Separability],
    table: _PairTable,
    n_reads: int,
    pairs: ReadPairs,
) -> ChoiceFit:
    return ChoiceFit(
        position=fitted.get("position"),
        label=fitted.get("label"),
        neighbour=fitted.get("neighbour"),
        separable=separable,
        converged=solution.converged and not solution.separated,
        separated=solution.separated,
        iterations=solution.iterations,
        n_clusters=table.n_clusters,
        n_pairs=table.n_pairs,
        n_reads=n_reads,
        subsampled=pairs.subsampled,
    )


def _nothing(separable: dict[Effect, Separability], n_reads: int, pairs: ReadPairs) -> ChoiceFit:
    """No read tells anything: one order only, one read an item, or never another answer."""
    return ChoiceFit(None, None, None, separable, False, False, 0, 0, 0, n_reads, pairs.subsampled)
