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
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse, special, stats

from rubriclab.stats.inference import Floats, Ints, Test

Effect = Literal["position", "label", "neighbour"]
EFFECTS: tuple[Effect, ...] = ("position", "label", "neighbour")
_Columns = Literal["position", "label", "neighbour", "first"]
Separability = Literal["yes", "partly", "no", "tied to score", "tied to position"]

PAIR_BUDGET = 6_000_000
"""Pairs of reads (times option pairs, for probabilities) beyond which a random part is used."""
_MAX_DESIGN_PAIRS = 4_000
_COUNTABLE = 1_000_000
"""Codes below this are put together by counting, others by sorting."""
_FLAT = 1e-6
"""Curvature left, against that at no effect, below which an effect has no bound."""
_PENALTY = 0.05
"""Ridge that then holds it back: an effect of 3 costs 0.2 of log-likelihood."""
_RANK_TOLERANCE = 1e-8


@dataclass(frozen=True)
class Layout:
    """Where each option stood in each ordering; all arrays (orderings, n), indexed by score.

    ``position``: 0-based. ``label``: code of the label beside it. ``before``: index of the
    score shown directly before it, -1 at the first position. ``n_labels``: labels in all.
    """

    position: Ints
    label: Ints
    before: Ints
    n_labels: int

    @property
    def n(self) -> int:
        return int(self.position.shape[1])


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


def layout(shown: Ints, labels: Ints | None = None) -> Layout:
    """Turn orderings into options' places.

    ``shown``: (orderings, n), score index at each position, a permutation of 0..n-1 a row.
    ``labels``: (orderings, n), label code at each position; None: each score's own label.
    Raises ValueError for rows that are no permutations.
    """
    shown = np.asarray(shown, dtype=np.int64)
    n = shown.shape[1]
    if not np.array_equal(np.sort(shown, axis=1), np.broadcast_to(np.arange(n), shown.shape)):
        raise ValueError("every ordering must show each score exactly once")
    position = np.argsort(shown, axis=1)
    previous = np.concatenate([np.full((len(shown), 1), -1), shown[:, :-1]], axis=1)
    before = np.take_along_axis(previous, position, axis=1)
    at_position = shown if labels is None else np.asarray(labels, dtype=np.int64)
    label = np.take_along_axis(at_position, position, axis=1)
    return Layout(position, label, before, int(label.max(initial=-1)) + 1)


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
    pairs = _ReadPairs.of(item, places.n if probabilities is not None else 1, max_pairs, seed)
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
        n_reads=len(item),
        subsampled=pairs.subsampled,
    )


# ---------------------------------------------------------------- pairs of reads


@dataclass(frozen=True)
class _ReadPairs:
    """Reads sorted by item; a pair is two reads of an item at most ``lags`` apart there."""

    order: Ints
    item: Ints
    weight: Floats
    lags: int
    subsampled: bool

    @classmethod
    def of(cls, item: Ints, options: int, budget: int, seed: int) -> _ReadPairs:
        """``weight``: (reads,) (K-1) / pairs used of the read's item, 2/K if all are."""
        _, compact = _distinct(item)
        reads = np.bincount(compact)
        longest = int(reads.max(initial=1)) - 1
        cost = max(1, options * (options - 1))
        lags, spent = 0, 0
        while lags < longest:
            spent += cost * int(np.clip(reads - lags - 1, 0, None).sum())
            if lags > 0 and spent > budget:
                break
            lags += 1
        subsampled = lags < longest
        order = np.argsort(compact, kind="stable")
        if subsampled:
            order = np.lexsort((np.random.default_rng(seed).random(len(item)), compact))
        used = np.minimum(reads - 1, lags)
        n_pairs = used * reads - used * (used + 1) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = np.where(n_pairs > 0, (reads - 1) / n_pairs, 0.0)
        return cls(order, compact[order], weight[compact[order]], lags, subsampled)

    def __iter__(self) -> Iterator[tuple[Ints, Ints, Floats]]:
        """For every lag the two reads (indices into the caller's arrays) and their weight."""
        for lag in range(1, self.lags + 1):
            same = np.flatnonzero(self.item[lag:] == self.item[:-lag])
            yield self.order[same], self.order[same + lag], self.weight[same]


def separability(
    places: Layout, ordering: Ints, pairs: _ReadPairs, effects: tuple[Effect, ...] = EFFECTS
) -> dict[Effect, Separability]:
    """Which effects the orderings alone can tell apart, whatever the judge answers.

    An effect is identified when taking its columns away costs the design its full number of
    degrees of freedom. Position is judged after what is not identified has been dropped. The
    neighbour must also show among options that have one: an option without, at the first
    position, would otherwise "identify" it in designs where each score always follows the same.
    """
    first, second = _ordering_pairs(ordering, pairs)
    answer: dict[Effect, Separability] = {}
    kept: list[Effect] = [effect for effect in EFFECTS if effect in effects]
    for effect in reversed(list(kept)):
        if effect == "position":
            continue
        others: tuple[_Columns, ...] = tuple(e for e in kept if e != effect)
        if effect == "neighbour":
            others = (*others, "first")
        gain = _design_rank(places, first, second, (*others, effect)) - _design_rank(
            places, first, second, others
        )
        if gain == _width(places, effect) and gain > 0:
            answer[effect] = "yes"
            continue
        kept.remove(effect)
        if gain > 0:
            answer[effect] = "partly"
        elif _design_rank(places, first, second, (effect,)) > 0:
            answer[effect] = "tied to position"
        else:
            answer[effect] = "tied to score"
    if "position" in kept:
        rank = _design_rank(places, first, second, ("position",))
        full = rank == places.n - 1
        answer["position"] = "yes" if full else "partly" if rank else "no"
    return answer


def _ordering_pairs(ordering: Ints, pairs: _ReadPairs) -> tuple[Ints, Ints]:
    """Distinct pairs of different orderings that some item was read under."""
    base = int(ordering.max(initial=0)) + 1
    seen = np.empty(0, dtype=np.int64)
    if base == 1 or bool((ordering == ordering[0]).all()):
        return seen, seen
    for a, b, _ in pairs:
        one, other = ordering[a], ordering[b]
        key = np.minimum(one, other) * base + np.maximum(one, other)
        seen = np.union1d(seen, _distinct(key)[0])
        seen = seen[seen // base != seen % base]
        if len(seen) > _MAX_DESIGN_PAIRS:
            # Thinned evenly: thousands of different pairs span what all of them span.
            seen = seen[:: len(seen) // _MAX_DESIGN_PAIRS]
            break
    return seen // base, seen % base


def _design_rank(places: Layout, first: Ints, second: Ints, effects: tuple[_Columns, ...]) -> int:
    """Rank over all answers s, t of x[a,s] - x[a,t] - x[b,s] + x[b,t].

    With z[s] = x[a,s] - x[b,s] the Gram matrix over s < t is n sum z z' - (sum z)(sum z)'.
    """
    if not effects or len(first) == 0:
        return 0
    columns = np.concatenate([_columns(places, effect) for effect in effects], axis=2)
    z = columns[first] - columns[second]
    total = z.sum(axis=1)
    gram = places.n * np.einsum("rsk,rsl->kl", z, z) - total.T @ total
    values = np.linalg.eigvalsh(gram)
    return int(np.sum(values > _RANK_TOLERANCE * max(1.0, float(values.max(initial=0.0)))))


def _width(places: Layout, effect: Effect) -> int:
    return (places.n_labels if effect == "label" else places.n) - 1


def _contrasts(levels: int) -> Floats:
    """(levels, levels-1) orthonormal columns that sum to zero."""
    if levels < 2:
        return np.zeros((levels, 0))
    return np.asarray(linalg.helmert(levels).T, dtype=np.float64)


def _columns(places: Layout, effect: _Columns) -> Floats:
    """(orderings, n, width): an option's covariates for one effect; no neighbour, no effect.

    ``first`` lets each score have its own effect of standing first.
    """
    if effect == "first":
        own = np.eye(places.n)[None, :, :] * (places.position == 0)[:, :, None]
        return np.asarray(own, dtype=np.float64)
    code = {"position": places.position, "label": places.label, "neighbour": places.before}[effect]
    width = _width(places, effect)
    rows = np.concatenate([_contrasts(width + 1), np.zeros((1, width))])
    return np.asarray(rows[code], dtype=np.float64)


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
            value = {
                "position": places.position,
                "label": places.label,
                "neighbour": places.before + 1,
            }[effect]
            code = code * (int(value.max()) + 1) + value
            width = _width(places, effect)
            slices[effect] = slice(start, start + width)
            start += width
            parts.append(_columns(places, effect).reshape(-1, width))
        _, where, state = np.unique(code.ravel(), return_index=True, return_inverse=True)
        rows = np.concatenate(parts, axis=1)[where]
        levels = {effect: _width(places, effect) + 1 for effect in effects}
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
    coding: _Coding,
    ordering: Ints,
    choice: Ints,
    probabilities: Floats | None,
    pairs: _ReadPairs,
    group: Ints,
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
            told: slice | NDArray[np.bool_] = slice(None) if probabilities is None else chance > 0
            sa, ta = coding.state[ordering[a], s], coding.state[ordering[a], t]
            sb, tb = coding.state[ordering[b], s], coding.state[ordering[b], t]
            keys.append(_key(sa, tb, ta, sb, len(coding.rows))[told])
            clusters.append(group[a][told])
            weights.append((w * chance)[told])
            n_pairs += len(keys[-1])
    if n_pairs == 0:
        return _PairTable(np.zeros((0, coding.rows.shape[1])), sparse.csr_array((0, 0)), 0, 0)
    key, column = _distinct(np.concatenate(keys))
    cluster, row = _distinct(np.concatenate(clusters))
    share = sparse.csr_array(
        (np.concatenate(weights), (row, column)), shape=(len(cluster), len(key))
    )
    return _PairTable(_unkey(key, coding.rows), share, len(cluster), n_pairs)


def _distinct(codes: Ints) -> tuple[Ints, Ints]:
    """(the distinct codes, ascending; each entry's rank): by counting where the range is small."""
    top = int(codes.max(initial=0)) + 1
    if top > max(len(codes), _COUNTABLE):
        found, rank = np.unique(codes, return_inverse=True)
        return found, rank.astype(np.int64)
    present = np.flatnonzero(np.bincount(codes, minlength=top))
    place = np.zeros(top, dtype=np.int64)
    place[present] = np.arange(len(present))
    return present.astype(np.int64), place[codes]


def _answers(
    choice: Ints, probabilities: Floats | None, a: Ints, b: Ints
) -> Iterator[tuple[Ints, Ints, Floats]]:
    """The two answers (s out of a, t out of b), which differ, and how probable: 1 if drawn."""
    if probabilities is None:
        yield choice[a], choice[b], np.ones(len(a))
        return
    n = probabilities.shape[1]
    for s in range(n):
        for t in range(n):
            if s != t:
                chance = probabilities[a, s] * probabilities[b, t]
                yield (
                    np.full(len(a), s, dtype=np.int64),
                    np.full(len(a), t, dtype=np.int64),
                    chance,
                )


def _key(sa: Ints, tb: Ints, ta: Ints, sb: Ints, base: int) -> Ints:
    """One integer for x[sa] + x[tb] - x[ta] - x[sb]; the two of a sign may swap."""
    plus = np.minimum(sa, tb) * base + np.maximum(sa, tb)
    minus = np.minimum(ta, sb) * base + np.maximum(ta, sb)
    return np.asarray(plus * base * base + minus, dtype=np.int64)


def _unkey(key: Ints, rows: Floats) -> Floats:
    base = len(rows)
    plus, minus = np.divmod(key, base * base)
    return np.asarray(
        rows[plus // base] + rows[plus % base] - rows[minus // base] - rows[minus % base]
    )


def _maximise(table: _PairTable) -> _Solution | None:
    """Newton's method on the directions that the answers tell about; None if there are none."""
    if table.n_pairs == 0:
        return None
    weight = table.weight
    values, vectors = np.linalg.eigh(table.x.T @ (weight[:, None] * table.x))
    basis = vectors[:, values > _RANK_TOLERANCE * max(float(values.max()), 1e-300)]
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


def _effect(
    solution: _Solution, coding: _Coding, effect: Effect, table: _PairTable, *, level: float
) -> EffectFit:
    """Estimates, intervals and joint test of one effect, from the fit on ``basis``."""
    levels, part = coding.levels[effect], coding.slices[effect]
    to_theta = np.zeros((levels, coding.rows.shape[1]))
    to_theta[:, part] = _contrasts(levels)
    reach = to_theta @ solution.basis
    # A level can be estimated if its contrast lies in what the answers tell about.
    told = np.linalg.norm(to_theta - reach @ solution.basis.T, axis=1) < 1e-6
    log_odds = np.where(told, reach @ solution.theta, np.nan)
    covariance = reach @ solution.covariance @ reach.T
    bounded = told & (not solution.separated) & (table.n_clusters > 1)
    error = np.where(bounded, np.sqrt(np.clip(np.diag(covariance), 0, None)), np.nan)
    half = error * float(stats.t.ppf(0.5 + level / 2, max(1, table.n_clusters - 1)))
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
    return Test(name, statistic, float(q), float(stats.f.sf(scaled, q, clusters - q)))


def _nothing(separable: dict[Effect, Separability], n_reads: int, pairs: _ReadPairs) -> ChoiceFit:
    """No read tells anything: one order only, one read an item, or never another answer."""
    return ChoiceFit(None, None, None, separable, False, False, 0, 0, 0, n_reads, pairs.subsampled)
