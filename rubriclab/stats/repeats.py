"""Calls repeated in the same order: how often a judge repeats itself, and what the order adds.

Position codes as in ``comparison``: 1..p the place picked, 0 a tie, below 0 unread.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from rubriclab.stats.contrast import mean_known
from rubriclab.stats.inference import Floats, Ints, ratio


class Stability(NamedTuple):
    """Of each query, (queries,): what its repeats say; NaN for queries asked once.

    ``share``: of the commonest choice, the paper's repetition stability. ``sd``: of "equals the
    mode". ``agreement``: the share of pairs of its calls that are alike. ``trials``: its calls.
    """

    share: Floats
    sd: Floats
    agreement: Floats
    trials: Ints


def stability(query: Ints, position: Ints, *, n_queries: int, p: int) -> Stability:
    """Repetition stability of each query (method: section 5; Shi et al., equation 1).

    ``query``: code of the same question in the same order; ``position``: its choices. An
    unread reply never counts as a choice but stays in the denominator, so a query with nothing
    readable has share 0. The sd (ddof = 1) is that of the 0/1 variable "equals the mode".

    The mode's share of few repeats is too high: a judge that tosses a coin shows 0.75 in two or
    three. ``agreement`` = sum c (c - 1) / (K (K - 1)) over the counts c of its K calls is
    unbiased for any K (Simpson 1949, Measurement of Diversity; Fleiss 1971, equation 2).
    """
    trials = np.bincount(query, minlength=n_queries)
    choice = position >= 0
    counts = np.bincount(query[choice] * (p + 1) + position[choice], minlength=n_queries * (p + 1)).reshape(
        n_queries, p + 1
    )
    mode = counts.max(axis=1).astype(np.float64)
    repeated = trials > 1
    share = np.where(repeated, ratio(mode, trials), np.nan)
    variance = np.where(repeated, share * (1 - share) * ratio(trials, trials - 1), np.nan)
    alike = ratio((counts * (counts - 1)).sum(axis=1), trials * (trials - 1))
    return Stability(share, np.sqrt(np.maximum(variance, 0.0)), alike, trials)


class Changes(NamedTuple):
    """Of each comparison, (comparisons,): how often two of its calls name different winners.

    ``order``: calls in different orders; ``again``: in the same order. NaN where there are none.
    ``excess`` = order - again is what the order adds: 0 in the mean for a judge that ignores it,
    1/2 sum of (P(winner k in one order) - P(in the other))^2 for any.
    """

    order: Floats
    again: Floats

    @property
    def excess(self) -> Floats:
        return self.order - self.again


def changes(
    comparison: Ints,
    order: Ints,
    winner: Ints,
    *,
    shape: tuple[int, int, int],
    repeats: tuple[Ints, Ints, Ints] | None = None,
) -> Changes:
    """Different winners across orders and within them, by comparison; both are unbiased.

    ``comparison``, ``order``, ``winner``: (calls,) codes, the winner as a candidate or one code
    more for a tie, below 0 unread. ``shape``: (comparisons, orders, winners). ``again`` needs
    every order of the comparison read twice, so that the judge's own noise is that of the same
    orders; ``order`` needs each read once.

    ``repeats``: further calls (their comparison, order and winner) that tell of the noise alone. ``again`` is then
    that of the orders that were read twice, all calls together: the excess is 0 in the mean for a judge that ignores
    the order, but need not be above it for one whose noise hangs on the order.
    """
    counts = _counts(comparison, order, winner, shape)
    calls = counts.sum(axis=2)
    apart = [
        1.0 - ratio((counts[:, i] * counts[:, j]).sum(axis=1), calls[:, i] * calls[:, j])
        for i, j in combinations(range(shape[1]), 2)
    ]
    if repeats is not None:
        counts = counts + _counts(*repeats, shape)
        calls = counts.sum(axis=2)
    same = ratio((counts * (counts - 1.0)).sum(axis=2), calls * (calls - 1.0))
    again = (1.0 - same).mean(axis=1) if repeats is None else mean_known(1.0 - same, axis=1)
    return Changes(np.stack(apart).mean(axis=0), again)


def _counts(comparison: Ints, order: Ints, winner: Ints, shape: tuple[int, int, int]) -> Floats:
    """(comparisons, orders, winners) how many calls named each winner; unread ones none."""
    known = winner >= 0
    flat = np.ravel_multi_index((comparison[known], order[known], winner[known]), shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.float64)
