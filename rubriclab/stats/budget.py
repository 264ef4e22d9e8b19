"""What averaging more reads of an item buys: agreement with people by how many of them are averaged."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np

from rubriclab.stats.correlation import TINY
from rubriclab.stats.human_correlation import ItemReads, counted, item_sums, variances
from rubriclab.stats.inference import Floats

MAX_SUBSETS = 1_024
"""Up to this many subsets of reads the curve takes all of them, above it a sample."""
FEWEST_SUBSETS = 30
_AT_ONCE = 4_000_000
"""Means of items over a subset that are held together, and looked at for one k where reads are missing."""


class BudgetPoint(NamedTuple):
    """Mean r over ``subsets`` choices of ``k`` reads and its 2.5 to 97.5 percentiles."""

    k: int
    mean_r: float
    low: float
    high: float
    subsets: int


def budget_curve(
    scores: Floats, human: Floats, *, seed: int = 0, max_subsets: int = MAX_SUBSETS
) -> tuple[BudgetPoint, ...]:
    """r with humans of the mean over k of the K reads, for k = 1..K (v2 Figure 9).

    ``scores``: (items, K), NaN where none was given; ``human``: (items,). Every subset of size k up to
    ``max_subsets`` of them, else that many drawn with the seed. Where scores are missing, an item has the mean
    of those it has in a subset, and counts as in :func:`r_with_humans`, so that all K reads give the r of that:
    items whose every read gave a score are another, mostly better, kind. Subsets without a defined r are left out.
    """
    some = np.isfinite(scores).any(axis=1)
    scores, human = scores[some], human[some]
    n_items, reads = scores.shape
    if n_items < 2 or reads == 0:
        return ()
    whole = bool(np.isfinite(scores).all())
    most = max_subsets if whole else min(max_subsets, max(_AT_ONCE // n_items, FEWEST_SUBSETS))
    of = _whole(scores, human) if whole else _gaps(scores, human)
    rng = np.random.default_rng(seed)
    return tuple(_point(k, of(subsets(reads, k, most, rng))) for k in range(1, reads + 1))


def _point(k: int, every: Floats) -> BudgetPoint:
    r = every[np.isfinite(every)]
    low, high = np.quantile(r, [0.025, 0.975]) if r.size else (np.nan, np.nan)
    return BudgetPoint(k, float(r.mean()) if r.size else float("nan"), float(low), float(high), int(r.size))


def _whole(scores: Floats, human: Floats) -> Callable[[Floats], Floats]:
    """The r of each subset where nothing is missing.

    The variance of a mean of reads and its covariance with humans are sums over the reads' covariance
    matrix, so a subset costs K^2 whatever the number of items.
    """
    x = scores - scores.mean(axis=0)
    y = human - human.mean()
    # A read (or rating) that never varies must not correlate through rounding.
    x[:, np.ptp(scores, axis=0) == 0] = 0.0
    y = np.zeros_like(y) if np.ptp(human) == 0 else y
    covariance, with_human, human_variance = x.T @ x, x.T @ y, float(y @ y)

    def r_of(chosen: Floats) -> Floats:
        variance = np.einsum("si,si->s", chosen @ covariance, chosen)
        varies = (variance > TINY * (chosen @ np.diag(covariance))) & (human_variance > 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(varies, (chosen @ with_human) / np.sqrt(variance * human_variance), np.nan))

    return r_of


def _gaps(scores: Floats, human: Floats) -> Callable[[Floats], Floats]:
    """The r of each subset over the items that have a score in it, weighted as the whole."""
    known = np.isfinite(scores).astype(np.float64)
    x = np.where(known > 0, scores - np.nanmean(scores), 0.0)
    y = human - human.mean()
    reads = ItemReads.of(scores, human, np.arange(len(human)))
    between, within = map(float, variances(item_sums(reads, np.ones(len(human))).sum(axis=0)))

    def r_of(chosen: Floats) -> Floats:
        step = max(_AT_ONCE // len(y), 1)
        return np.concatenate([part_of(chosen[at : at + step]) for at in range(0, len(chosen), step)])

    def part_of(chosen: Floats) -> Floats:
        count = chosen @ known.T
        has = count > 0
        mean = np.divide(chosen @ x.T, count, out=np.zeros_like(count), where=has)
        weight = np.where(has, counted(np.where(has, count, 1.0), between, within), 0.0)
        return _weighted_r(mean, y, weight, has.sum(axis=1))

    return r_of


def _weighted_r(x: Floats, y: Floats, weight: Floats, n: Floats) -> Floats:
    """(subsets,): of rows of ``x`` with ``y``; NaN where a side does not vary."""
    whole = weight.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mx, my, xx, xy = ((weight * part).sum(axis=1) / whole for part in (x, y, x * x, x * y))
        yy = (weight * (y * y)).sum(axis=1) / whole
        vx, vy = xx - mx**2, yy - my**2
        varies = (n > 1) & (vx > TINY * xx) & (vy > TINY * yy)
        return np.asarray(np.where(varies, (xy - mx * my) / np.sqrt(vx * vy), np.nan))


def subsets(reads: int, k: int, limit: int, rng: np.random.Generator) -> Floats:
    """0/1 rows of the subsets of size ``k``, (subsets, reads): all, or ``limit`` drawn."""
    if comb(reads, k) <= limit:
        rows = np.array(list(combinations(range(reads), k)), dtype=np.int64)
    else:
        rows = rng.random((limit, reads)).argpartition(k - 1, axis=1)[:, :k]
    chosen = np.zeros((len(rows), reads))
    chosen[np.arange(len(rows))[:, None], rows] = 1.0
    return chosen
