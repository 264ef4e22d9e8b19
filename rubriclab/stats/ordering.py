"""Bias Cost of an ordering, and the orderings of least cost (Xu v1, section 5.3, Table 6).

Everything starts from the score x position table: ``table[s, p]`` is the share of position
p+1 among the judgments that chose the s-th score. Orderings are tuples of score indices in
the order shown. Costs are in percentage points.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.optimize import linear_sum_assignment

from rubriclab.stats.inference import (
    GROUPS,
    MIN_RESAMPLED,
    NO_INTERVAL,
    Floats,
    Interval,
    Ints,
    in_groups,
    resample_weights,
)
from rubriclab.stats.position import position_given_score

PER_CENT = 100.0
THIRDS, DRAWS = 6, 200


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


# ---------------------------------------------------------------- without luck


class Gain(NamedTuple):
    """Bias Costs without what noise makes, in percentage points, and what the best order saves.

    ``default``: of the ascending order; ``best``: of an order chosen on other units; ``gain``:
    the first less the second. Estimates stay inside their intervals; costs are not below 0.
    """

    default: float
    default_ci: Interval
    best: float
    best_ci: Interval
    gain: float
    gain_ci: Interval


def cross_fitted_gain(counts: Floats, exposure: Floats, *, confidence: float = 0.95, seed: int = 0) -> Gain:
    """What choosing the order of least Bias Cost is worth on units that did not choose it.

    ``counts``, ``exposure``: (units, scores, positions). An order is chosen on one third of the
    units; which way its cells depart from 1/n is taken from the second; by how much in that
    direction from the last. So noise adds nothing: a sum of lengths |d| is replaced by one of
    sign(d') d. The thirds change places, over several splits. The interval is that of one split
    (a third of the units): wider than needed where splits agree, never too narrow for their
    agreeing by chance. None below three times MIN_RESAMPLED units; NaN where cells are unknown.
    """
    units, n = counts.shape[:2]
    if units < 3 * MIN_RESAMPLED:
        return Gain(*(float("nan"), NO_INTERVAL) * 3)
    rng = np.random.default_rng(seed)
    (both,) = in_groups([np.hstack([part.reshape(units, n * n) for part in (counts, exposure)])], 3 * GROUPS, rng)
    units = len(both)
    values, errors = [], []
    for _ in range(THIRDS):
        thirds = np.array_split(rng.permutation(units), 3)
        for k in range(3):
            one, two, three = (both[thirds[(k + j) % 3]] for j in range(3))
            chosen = best(_departures(one.sum(axis=0), n) + 1.0 / n).ordering
            way = np.sign(_departures(two.sum(axis=0), n))
            weights = resample_weights(len(three), DRAWS, rng)
            costs = _signed_costs(
                _departures(np.vstack([three.sum(axis=0), weights @ three]), n), way, (canonical(n), chosen)
            )
            values.append(costs[0])
            errors.append(np.nanstd(costs[1:], axis=0) if np.isfinite(costs[0]).all() else costs[0])
    value, error = np.mean(values, axis=0), np.mean(errors, axis=0)
    third = units // 3
    reach = np.sqrt(third / (third - 1)) * special.stdtrit(third - 1, 0.5 + confidence / 2) * error
    low, high = value - reach, value + reach
    ends = [Interval(float(a), float(b)) for a, b in zip(low, high, strict=True)]
    cost = [Interval(max(0.0, end.low), max(0.0, end.high)) if np.isfinite(end.low) else end for end in ends[:2]]
    default, least = (float(np.maximum(v, 0.0)) for v in value[:2])
    return Gain(default, cost[0], least, cost[1], float(value[2]), ends[2])


def _departures(sums: Floats, n: int) -> Floats:
    """P(position | score) - 1/n of summed choices and exposures, (..., 2 n²) -> (..., n, n)."""
    shape = (*sums.shape[:-1], n, n)
    table = position_given_score(sums[..., : n * n].reshape(shape), sums[..., n * n :].reshape(shape))
    return np.asarray(table - 1.0 / n)


def _signed_costs(departure: Floats, way: Floats, orders: tuple[tuple[int, ...], ...]) -> Floats:
    """(..., 3): the costs of both orders in the direction ``way``, and their difference."""
    place = np.arange(departure.shape[-1])
    one, two = (PER_CENT * np.sum((departure * way)[..., np.asarray(order), place], axis=-1) for order in orders)
    return np.stack([one, two, one - two], axis=-1)
