"""The choice model where items lean to places by themselves: random effects of position.

One beta for all items is too small in size where items differ (about 30 % where their leanings have
a standard deviation of 1.3): what is averaged is a bent curve. Here item i has its own contents u_i
and effects of position b_i, normal around what is typical (a mixed logit: McFadden and Train 2000;
Train 2009, Discrete Choice Methods with Simulation, chapter 6); beta is the mean of b_i, the effect
on the typical item. Fitted by EM, whose expectations are importance samples around each item's own
mode (Booth and Hobert 1999). Each item keeps its own draws, in pairs of opposite sign: errors of few
draws then neither add up over items nor shift a mean. The covariance is the sandwich: that of the
items' scores (Louis 1982) by cluster, between their inverse information.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rubriclab.stats.inference import Floats, Ints, sum_by_unit

MOST_ITEMS = 300
"""Beyond these a random part of the items is fitted: enough for a standard error of 0.1."""
MOST_READS = 24
DRAWS = 32
_ROUGH, _ROUNDS = 20, 50
"""Rounds around modes alone, which come near at little cost; rounds in all."""
_SETTLED = 5e-3


@dataclass(frozen=True)
class Mixed:
    """``beta`` (k,) of the typical item on orthonormal contrasts, its ``covariance``, and ``sigma``,
    the standard deviation of items' own leanings about it. ``items``: clusters that were fitted."""

    beta: Floats
    covariance: Floats
    sigma: float
    items: int


class Reads(NamedTuple):
    """``x`` (orderings, options, k) covariates: contents, then positions; ``offset`` (orderings,
    options) known effects; ``ordering``, ``choice`` (items, reads), -1 where there is no read."""

    x: Floats
    offset: Floats
    ordering: Ints
    choice: Ints


def fit_mixed(reads: Reads, position: slice, cluster: Ints) -> Mixed | None:
    """``position``: the columns of ``x`` whose typical values are wanted; ``cluster``: (items,).

    None where it does not settle (judges that follow the order strictly have no bound).
    """
    n, k = len(reads.choice), reads.x.shape[2]
    width = position.stop - position.start
    if n < 3 or width == 0:
        return None
    table = _Table.of(reads)
    half = np.random.default_rng(n).normal(size=(n, DRAWS // 2, k))
    normal = np.concatenate([half, -half], axis=1)
    mean, spread, mode = np.zeros(k), np.eye(k), np.zeros((n, k))
    for turn in range(_ROUNDS):
        mode, root = table.modes(mode, mean, spread)
        first, second = table.moments(mode, root, mean, spread, normal if turn >= _ROUGH else None)
        new, wide = _maximised(first, second, position)
        moved = max(float(np.abs(new - mean).max()), float(np.abs(wide - spread).max()))
        mean, spread = new, wide
        if float(np.abs(mean).max()) > 12 or not np.isfinite(moved):
            return None
        if turn > _ROUGH + 5 and moved < _SETTLED:
            break
    scores = _scores(first, second, mean, spread, position)
    inverse = np.linalg.pinv(scores.T @ scores, hermitian=True)
    parts = sum_by_unit(cluster, scores) @ inverse
    clusters = len(parts)
    covariance = parts.T @ parts * clusters / max(clusters - 1, 1)
    sigma = float(np.sqrt(np.trace(spread[position, position]) / width))
    return Mixed(mean[position], covariance[position, position], sigma, clusters)


def _maximised(first: Floats, second: Floats, position: slice) -> tuple[Floats, Floats]:
    """Means, and covariances: full among contents, one variance for leanings, none between."""
    mean = first.mean(axis=0)
    spread = second.mean(axis=0) - np.outer(mean, mean)
    kept = np.zeros_like(spread)
    content = slice(0, position.start)
    kept[content, content] = spread[content, content]
    width = position.stop - position.start
    own = max(float(np.trace(spread[position, position])) / width, 1e-4)
    kept[position, position] = own * np.eye(width)
    return mean, kept + 1e-6 * np.eye(len(kept))


def _scores(first: Floats, second: Floats, mean: Floats, spread: Floats, position: slice) -> Floats:
    """Each item's score for the means and the leanings' log variance, (items, k + 1)."""
    inverse = np.linalg.inv(spread)
    own = spread[position.start, position.start]
    square = np.einsum("ijj->i", second[:, position, position])
    square -= 2 * (first[:, position] @ mean[position]) - float((mean[position] ** 2).sum())
    width = position.stop - position.start
    return np.column_stack([(first - mean) @ inverse, (square / own - width) / 2])


@dataclass(frozen=True)
class _Table:
    """Covariates of every read less those of its choice, (items, reads, options, k); 0 unread."""

    x: Floats
    offset: Floats
    read: Floats

    @classmethod
    def of(cls, reads: Reads) -> _Table:
        read = reads.choice >= 0
        order, choice = np.where(read, reads.ordering, 0), np.where(read, reads.choice, 0)
        x, offset = reads.x[order], reads.offset[order]
        x = x - np.take_along_axis(x, choice[..., None, None], axis=2)
        offset = offset - np.take_along_axis(offset, choice[..., None], axis=2)
        return cls(x * read[..., None, None], offset * read[..., None], read.astype(np.float64))

    def modes(self, start: Floats, mean: Floats, spread: Floats) -> tuple[Floats, Floats]:
        """Each item's likeliest effects (Newton) and a root of its inverse curvature there."""
        inverse, at = np.linalg.inv(spread), start
        n, reads, options, k = self.x.shape
        flat = self.x.reshape(n, reads * options, k)
        for _ in range(2):
            weighted = self._chances(at).reshape(n, -1, 1) * flat
            mixed = weighted.reshape(self.x.shape).sum(axis=2)
            slope = -mixed.sum(axis=1) - (at - mean) @ inverse
            curve = weighted.transpose(0, 2, 1) @ flat - mixed.transpose(0, 2, 1) @ mixed + inverse
            step = np.linalg.solve(curve, slope[..., None])[..., 0]
            at = at + np.clip(step, -2.0, 2.0)
        return at, np.linalg.cholesky(np.linalg.inv(curve))

    def _chances(self, at: Floats) -> Floats:
        n, reads, options, k = self.x.shape
        utility = (self.x.reshape(n, -1, k) @ at[..., None]).reshape(n, reads, options) + self.offset
        chance = np.exp(utility - utility.max(axis=2, keepdims=True))
        return np.asarray(chance / chance.sum(axis=2, keepdims=True))

    def moments(
        self, mode: Floats, root: Floats, mean: Floats, spread: Floats, normal: Floats | None
    ) -> tuple[Floats, Floats]:
        """Posterior means (items, k) and second moments (items, k, k)."""
        if normal is None:
            return mode, root @ root.transpose(0, 2, 1) + mode[:, :, None] * mode[:, None, :]
        at = mode[:, None, :] + normal @ root.transpose(0, 2, 1)
        n, reads, options, k = self.x.shape
        utility = self.x.reshape(n, reads * options, k) @ at.transpose(0, 2, 1)
        utility = utility.reshape(n, reads, options, -1)
        utility += self.offset[..., None]
        # Chosen options have utility 0: the log-likelihood is that of the normalising sums.
        top = utility.max(axis=2)
        utility -= top[:, :, None]
        log = -(np.log(np.exp(utility, out=utility).sum(axis=2)) + top)
        off = at - mean
        prior = -0.5 * ((off @ np.linalg.inv(spread)) * off).sum(axis=2)
        log = (log * self.read[..., None]).sum(axis=1) + prior + 0.5 * (normal**2).sum(axis=2)
        weight = np.exp(log - log.max(axis=1, keepdims=True))
        weight /= weight.sum(axis=1, keepdims=True)
        first = np.einsum("id,idk->ik", weight, at)
        return first, at.transpose(0, 2, 1) @ (weight[..., None] * at)
