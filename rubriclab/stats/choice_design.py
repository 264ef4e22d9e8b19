"""What the orderings alone let the choice model see: options' places, pairs of reads, rank.

Arrays in, numbers out (method: section 7; the model itself is in ``choice``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import linalg

from rubriclab.stats.inference import Floats, Ints, distinct, shuffled

Effect = Literal["position", "label", "neighbour"]
EFFECTS: tuple[Effect, ...] = ("position", "label", "neighbour")
Columns = Literal["position", "label", "neighbour", "first"]
Separability = Literal["yes", "partly", "no", "tied to score", "tied to position"]

_MAX_DESIGN_PAIRS = 4_000
RANK_TOLERANCE = 1e-8


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


# ---------------------------------------------------------------- pairs of reads


@dataclass(frozen=True)
class ReadPairs:
    """Reads sorted by item; a pair is two reads of an item at most ``lags`` apart there."""

    order: Ints
    item: Ints
    weight: Floats
    lags: int
    subsampled: bool

    @classmethod
    def of(cls, item: Ints, options: int, budget: int, seed: int) -> ReadPairs:
        """``weight``: (reads,) (K-1) / pairs used of the read's item, 2/K if all are."""
        _, compact = distinct(item)
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
        if subsampled:
            order = shuffled(compact, np.random.default_rng(seed).random(len(item)))
        else:
            order = np.argsort(compact, kind="stable")
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
    places: Layout, ordering: Ints, pairs: ReadPairs, effects: tuple[Effect, ...] = EFFECTS
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
        others: tuple[Columns, ...] = tuple(e for e in kept if e != effect)
        if effect == "neighbour":
            others = (*others, "first")
        gain = _design_rank(places, first, second, (*others, effect)) - _design_rank(places, first, second, others)
        if gain == n_effects(places, effect) and gain > 0:
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


def _ordering_pairs(ordering: Ints, pairs: ReadPairs) -> tuple[Ints, Ints]:
    """Distinct pairs of different orderings that some item was read under."""
    base = int(ordering.max(initial=0)) + 1
    seen = np.empty(0, dtype=np.int64)
    if base == 1 or bool((ordering == ordering[0]).all()):
        return seen, seen
    for a, b, _ in pairs:
        one, other = ordering[a], ordering[b]
        key = np.minimum(one, other) * base + np.maximum(one, other)
        seen = np.union1d(seen, distinct(key)[0])
        seen = seen[seen // base != seen % base]
        if len(seen) > _MAX_DESIGN_PAIRS:
            # Thinned evenly: thousands of different pairs span what all of them span.
            seen = seen[:: len(seen) // _MAX_DESIGN_PAIRS]
            break
    return seen // base, seen % base


def _design_rank(places: Layout, first: Ints, second: Ints, effects: tuple[Columns, ...]) -> int:
    """Rank over all answers s, t of x[a,s] - x[a,t] - x[b,s] + x[b,t].

    With z[s] = x[a,s] - x[b,s] the Gram matrix over s < t is n sum z z' - (sum z)(sum z)'.
    """
    if not effects or len(first) == 0:
        return 0
    columns = np.concatenate([covariates(places, effect) for effect in effects], axis=2)
    z = columns[first] - columns[second]
    total = z.sum(axis=1)
    gram = places.n * np.einsum("rsk,rsl->kl", z, z) - total.T @ total
    values = np.linalg.eigvalsh(gram)
    return int(np.sum(values > RANK_TOLERANCE * max(1.0, float(values.max(initial=0.0)))))


def n_effects(places: Layout, effect: Effect) -> int:
    return (places.n_labels if effect == "label" else places.n) - 1


def contrasts(levels: int) -> Floats:
    """(levels, levels-1) orthonormal columns that sum to zero."""
    if levels < 2:
        return np.zeros((levels, 0))
    return np.asarray(linalg.helmert(levels).T, dtype=np.float64)


def covariates(places: Layout, effect: Columns) -> Floats:
    """(orderings, n, width): an option's covariates for one effect; no neighbour, no effect.

    ``first`` lets each score have its own effect of standing first.
    """
    if effect == "first":
        own = np.eye(places.n)[None, :, :] * (places.position == 0)[:, :, None]
        return np.asarray(own, dtype=np.float64)
    code = {"position": places.position, "label": places.label, "neighbour": places.before}[effect]
    width = n_effects(places, effect)
    rows = np.concatenate([contrasts(width + 1), np.zeros((1, width))])
    return np.asarray(rows[code], dtype=np.float64)
