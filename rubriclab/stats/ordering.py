"""Bias Cost of an ordering, and the orderings of least cost (Xu v1, section 5.3, Table 6).

Everything starts from the score x position table: ``table[s, p]`` is the share of position
p+1 among the judgments that chose the s-th score. Orderings are tuples of score indices in
the order shown. Costs are in percentage points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from rubriclab.stats.inference import Floats, Ints

PER_CENT = 100.0


class CostedOrdering(NamedTuple):
    """An ordering and its Bias Cost in percentage points (NaN where cells are unknown)."""

    ordering: tuple[int, ...]
    cost: float


def canonical(n: int) -> tuple[int, ...]:
    """Scores in ascending order, the order most rubrics are written in."""
    return tuple(range(n))


def rotations(n: int) -> tuple[tuple[int, ...], ...]:
    """The n forward cyclic rotations, then the n of the reverse; repeats (n = 2) once."""
    forward = [tuple((start + p) % n for p in range(n)) for start in range(n)]
    backward = [tuple((start - p) % n for p in range(n)) for start in reversed(range(n))]
    return tuple(dict.fromkeys([*forward, *backward]))


def bias_cost(table: Floats, ordering: tuple[int, ...]) -> Floats:
    """100 x sum over positions p of |P(p | score shown at p) - 1/n|.

    ``table``: (..., n, n), rows scores, columns positions, shares. Returns shape (...).
    A cell the ordering needs but the data cannot give (NaN) makes the cost NaN.
    """
    n = table.shape[-1]
    cells = table[..., np.asarray(ordering, dtype=np.int64), np.arange(n)]
    return np.asarray(PER_CENT * np.abs(cells - 1.0 / n).sum(axis=-1))


def cyclic_best(table: Floats) -> CostedOrdering:
    """The cheapest of the 2n rotations, as the paper searches; the first one among ties."""
    candidates = rotations(table.shape[-1])
    costs = np.array([float(bias_cost(table, ordering)) for ordering in candidates])
    if not np.isfinite(costs).any():
        return CostedOrdering(candidates[0], float("nan"))
    winner = int(np.nanargmin(costs))
    return CostedOrdering(candidates[winner], float(costs[winner]))


def best(table: Floats) -> CostedOrdering:
    """The cheapest of all n! orderings.

    Each score takes one position and each pairing has its own cost, so this is a linear
    assignment problem and the answer is exact. Pairings with unknown cells are never taken;
    where no ordering avoids them the cost is NaN.
    """
    n = table.shape[-1]
    costs = np.abs(table - 1.0 / n)
    known = np.isfinite(costs)
    forbidden = 2.0 * n  # more than any ordering of known cells can cost
    scores, positions = linear_sum_assignment(np.where(known, costs, forbidden))
    ordering = tuple(int(s) for s in scores[np.argsort(positions)])
    return CostedOrdering(ordering, float(bias_cost(table, ordering)))


def ordering_costs(table: Floats, orderings: Ints) -> Floats:
    """Bias Costs of many orderings at once; ``orderings``: (m, n) score indices -> (m,)."""
    n = table.shape[-1]
    cells = table[orderings, np.arange(n)[None, :]]
    return np.asarray(PER_CENT * np.abs(cells - 1.0 / n).sum(axis=-1))
