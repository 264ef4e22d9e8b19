"""Does a judge answer by the order at all: a permutation test over the reads of each item.

Arrays in, numbers out; positions and scores are 0-based codes 0..n-1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rubriclab.stats import distributions
from rubriclab.stats.inference import Floats, Ints, Test

NEVER_MOVED = "This judge never moved with the order."
NOT_TURNED = "No item was read in two orders: there is nothing to permute."
FLAT = 1e-9
"""Relative size below which a direction's variance is rounding error."""
DIRECT_READS = 3_000_000
"""Permuted reads up to which the order-sensitivity test is a direct Monte Carlo."""
MOMENT_READS = 600_000
"""Permuted reads spent on the null moments when it is not."""


class Reads(NamedTuple):
    """Readable judgments as codes. ``position[o, s]``: where ordering o shows score s."""

    item: Ints
    score: Ints
    ordering: Ints
    position: Ints
    n_items: int


def positions_of(shown: Ints) -> Ints:
    """The inverse of each row: (orderings, positions) score codes -> (orderings, scores)."""
    return np.argsort(shown, axis=1).astype(np.int64)


def any_order_test(reads: Reads, by_score: Floats, by_position: Floats, exposure: Floats, *, seed: int) -> Test:
    """Did the order matter to any item at all? (sharp null; method: section 3)

    Under the null the scores an item received belong to no ordering in particular, so they
    are permuted over the orderings it was read under. ``by_score``,
    ``by_position``: (items, n) selections; ``exposure``: (items, scores, positions) how often
    each was shown over the same reads.
    Statistic: sum over items and positions of (selections)^2, which grows when an item's
    picks pile up at a position, whichever it is; centred at its exact permutation mean.
    Reference: the permutations themselves on little data, else a Pearson III curve through
    the exact mean and the Monte Carlo second and third moments of the items' terms. Where no item
    was read in two orders there is no p.
    """
    n_reads = by_score @ np.ones(by_score.shape[1])
    one_score = np.einsum("is,is->i", by_score, by_score) >= n_reads**2
    one_order = np.einsum("isp,isp->i", exposure, exposure) >= by_score.shape[1] * n_reads**2
    movable = (n_reads > 1) & ~one_score & ~one_order
    name = "permutation of scores over orderings"
    if not ((n_reads > 1) & ~one_order).any():
        return Test(name, float("nan"), float("nan"), float("nan"), NOT_TURNED)
    if not movable.any():
        return Test(name, 0.0, float("nan"), 1.0, NEVER_MOVED)
    mean = _permutation_means(by_score[movable], exposure[movable], n_reads[movable])
    excess = float(np.sum(by_position[movable] ** 2) - mean.sum())
    keep = movable[reads.item]
    rank = np.cumsum(movable) - 1
    moving = Reads(rank[reads.item[keep]], reads.score[keep], reads.ordering[keep], reads.position, len(mean))
    rng = np.random.default_rng(seed)
    if keep.sum() * 999 <= DIRECT_READS:
        null = _permuted_excess(moving, mean, 999, rng).sum(axis=1)
        slack = FLAT * float(n_reads.sum())
        p = (1.0 + int(np.count_nonzero(null >= excess - slack))) / 1000.0
    else:
        p = _moment_p(moving, mean, excess, rng)
    return Test(name, excess / float(n_reads[movable].sum()), float("nan"), p)


def _permutation_means(by_score: Floats, exposure: Floats, reads: Floats) -> Floats:
    """Exact mean of sum_p (selections at p)^2 under permutation, one number an item.

    With T_p = sum_s c_s E_sp the count at p is a sum of K matched pairs, whose mean is T_p/K
    and whose mean product over two different pairs is (T_p^2 - rows - columns + T_p) /
    (K (K-1)), rows = sum_s E_sp c_s^2, columns = sum_s c_s E_sp^2.
    """
    total = np.einsum("is,isp->ip", by_score, exposure)
    rows = np.einsum("is,isp->ip", by_score**2, exposure)
    columns = np.einsum("is,isp->ip", by_score, exposure**2)
    k = reads[:, None]
    pairs = (total**2 - rows - columns + total) / (k * (k - 1.0))
    return np.asarray((total / k + pairs).sum(axis=1))


def _permuted_excess(reads: Reads, mean: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """(draws, items): each item's statistic minus its mean under random permutations."""
    n = reads.position.shape[1]
    order = np.argsort(reads.item, kind="stable")
    size = np.bincount(reads.item, minlength=reads.n_items)
    start = np.cumsum(size) - size
    excess = np.zeros((draws, reads.n_items))
    for k in np.unique(size[size > 0]).tolist():
        members = np.flatnonzero(size == k)
        at = order[start[members][:, None] + np.arange(k)[None, :]]
        # Small integers and flat indices: most of the time goes into moving these arrays.
        mixed = rng.permuted(np.tile(reads.score[at].astype(np.int16), (draws, 1)), axis=1)
        cell = reads.position.ravel().take(np.tile(reads.ordering[at] * n, (draws, 1)) + mixed)
        cell += n * np.arange(len(cell))[:, None]
        picked = np.bincount(cell.ravel(), minlength=len(cell) * n).reshape(-1, n)
        squares = np.einsum("rp,rp->r", picked, picked).reshape(draws, len(members))
        excess[:, members] = squares - mean[members]
    return excess


def _moment_p(reads: Reads, mean: Floats, excess: float, rng: np.random.Generator) -> float:
    """Upper tail of the summed statistic from the items' pooled second and third moments."""
    rows = len(reads.item)
    items = np.arange(reads.n_items)
    if rows > MOMENT_READS:
        share = MOMENT_READS / rows
        items = np.sort(rng.choice(items, size=max(2, int(share * reads.n_items)), replace=False))
        rank = np.full(reads.n_items, -1)
        rank[items] = np.arange(len(items))
        keep = rank[reads.item] >= 0
        reads_used = Reads(rank[reads.item[keep]], reads.score[keep], reads.ordering[keep], reads.position, len(items))
    else:
        reads_used = reads
    draws = max(2, MOMENT_READS // max(1, len(reads_used.item)))
    terms = _permuted_excess(reads_used, mean[items], draws, rng)
    grow = reads.n_items / len(items)
    variance = float(np.mean(np.sum(terms**2, axis=1))) * grow
    third = float(np.mean(np.sum(terms**3, axis=1))) * grow
    if variance <= 0.0:
        return 1.0
    skew = third / variance**1.5
    return float(distributions.pearson3.sf(excess / np.sqrt(variance), max(skew, 0.0)))
