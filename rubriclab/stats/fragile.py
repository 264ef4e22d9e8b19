"""Estimate how likely two calls of an item are to come out differently, from a few calls of it.

An item's few calls say little about it: of two calls, either all differ or none. So each item's
counts are added to what all items have in common, which is learnt from the items themselves
(empirical Bayes). Two outcomes have a beta distribution of shares. More outcomes have the Dirichlet
distribution, or scores that scatter around each item's own level, whichever explains the calls
better: of a judge whose scores scatter to neighbouring ones the Dirichlet distribution promises up
to 12 in 100 too many, or 8 too few.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rubriclab.stats.resample import Floats, Ints

LEAST_ALIKE, MOST_ALIKE = 0.02, 0.98
"""Bounds of how alike calls of one item are: at 0 all items are the same, and at 1 no prior is
left. A small sample may say both by chance."""
LEVELS_PER_STEP = 4
"""Levels that an item may have, for each step of the scale."""
SCATTERS = (0.15, 0.3, 0.5, 0.75, 1.1, 1.6, 2.5)
"""Standard deviations of an item's scores around its level, in steps of the scale."""
EM_STEPS = 30
"""Steps from even weights. Few on purpose: at the maximum a handful of levels would explain all
items, and that is learnt from chance."""
MOST_FITTED = 2_000
"""Kinds of items (items of other counts) from which weights are learnt; more add time only."""
_TINY = 1e-9


def pairs_apart(counts: Floats) -> tuple[Floats, Floats]:
    """Return (items,) pairs of calls with different outcomes, and (items,) all pairs.

    ``counts`` (items, outcomes): how often each outcome was given.
    """
    calls = counts.sum(axis=1)
    every = calls * (calls - 1) / 2
    return every - (counts * (counts - 1) / 2).sum(axis=1), every


def alike(counts: Floats) -> float:
    """Return how alike the calls of an item are, from 0 (as calls of two items) to 1.

    It is 1 - (pairs of one item that differ) / (pairs of two items that differ), where each item
    counts once: the intraclass correlation by the method of moments. With t calls of each item it
    is (v / m - 1 / t) / (1 - 1 / t): v is the variance of the items' shares, summed over outcomes,
    and m what it would be if each item had one outcome. NaN where no item has two calls, or all
    outcomes are the same.

    Source: Kleinman 1973, Proportions with Extraneous Variance, for two outcomes.
    """
    counts = counts[counts.sum(axis=1) > 0]
    apart, pairs = pairs_apart(counts)
    several = pairs > 0
    items = len(counts)
    if items < 2 or not several.any():
        return float("nan")
    within = float((apart[several] / pairs[several]).mean())
    share = counts / counts.sum(axis=1, keepdims=True)
    same_of_two = float(np.square(share.sum(axis=0)).sum() - np.square(share).sum())
    between = 1 - same_of_two / (items * (items - 1))
    return 1 - within / between if between > _TINY else float("nan")


def chance_apart(counts: Floats) -> Floats:
    """Return (items,) the posterior mean of the probability that two new calls of an item differ.

    ``counts`` (items, outcomes), of scores in ascending order. NaN for items without a call, and
    for all where ``alike`` is NaN.
    """
    made = np.full(len(counts), np.nan)
    likeness = alike(counts)
    if not np.isfinite(likeness):
        return made
    known = counts.sum(axis=1) > 0
    kinds, kind, items = np.unique(counts[known], axis=0, return_inverse=True, return_counts=True)
    share = counts[known] / counts[known].sum(axis=1, keepdims=True)
    prior = share.mean(axis=0) * (1 / float(np.clip(likeness, LEAST_ALIKE, MOST_ALIKE)) - 1)
    chance = dirichlet_chance(kinds, prior)
    if counts.shape[1] > 2:
        scattered, likelihood = scattered_chance(kinds, items)
        if likelihood > float(items @ dirichlet_likelihood(kinds, prior)):
            chance = scattered
    made[known] = chance[kind.ravel()]
    return made


def dirichlet_chance(counts: Floats, prior: Floats) -> Floats:
    """Return (items,) the posterior mean of 1 - sum(p^2) for shares p ~ Dirichlet(``prior``).

    With a = prior + counts and A = sum(a) it is 1 - sum(a (a + 1)) / (A (A + 1)); of two outcomes
    2 a b / (A (A + 1)).
    """
    posterior = prior + counts
    total = posterior.sum(axis=1)
    same = (posterior * (posterior + 1)).sum(axis=1) / (total * (total + 1))
    return np.asarray(1 - same)


def dirichlet_likelihood(counts: Floats, prior: Floats) -> Floats:
    """Return (items,) the log-likelihood of the calls of each item, in the order they came."""
    given = prior > 0
    a, counts = prior[given], counts[:, given]
    parts = (special.gammaln(a + counts) - special.gammaln(a)).sum(axis=1)
    total = a.sum()
    whole = special.gammaln(total) - special.gammaln(total + counts.sum(axis=1))
    return np.asarray(parts + whole)


def scattered_chance(counts: Floats, items: Ints) -> tuple[Floats, float]:
    """Return the posterior mean of 1 - sum(p^2) for scores that scatter around an item's level.

    Each item has a level and a standard deviation; its scores are normal and rounded to the scale.
    The weights of levels and deviations are learnt by EM_STEPS steps of EM (Laird 1978,
    Nonparametric Maximum Likelihood Estimation of a Mixing Distribution).

    ``counts`` (kinds, scores): each kind of item once; ``items`` (kinds,): how many items are of
    it. Also returns the log-likelihood of all items.
    """
    shares = score_shares(counts.shape[1])
    log_likelihood = counts @ np.log(shares + _TINY).T
    most = log_likelihood.max(axis=1)
    likelihood = np.exp(log_likelihood - most[:, None])
    kept = np.arange(len(counts))
    if len(counts) > MOST_FITTED:
        kept = np.random.default_rng(0).choice(len(counts), MOST_FITTED, replace=False)
    weights = np.full(len(shares), 1 / len(shares))
    for _ in range(EM_STEPS):
        every = likelihood[kept] @ weights
        weights = weights * (likelihood[kept].T @ (items[kept] / every)) / items[kept].sum()
    every = likelihood @ weights
    apart = 1 - np.square(shares).sum(axis=1)
    chance = likelihood @ (weights * apart) / every
    return np.asarray(chance), float(items @ (np.log(every) + most))


@cache
def score_shares(scores: int) -> Floats:
    """Return (levels x deviations, scores): how often each score is given around each level."""
    levels = np.arange(-1, scores + 1e-6, 1 / LEVELS_PER_STEP)
    level, scatter = (part.ravel()[:, None] for part in np.meshgrid(levels, SCATTERS))
    edges = np.arange(scores - 1) + 0.5
    below = special.ndtr((edges - level) / scatter)
    ends = np.zeros((len(level), 1)), np.ones((len(level), 1))
    return np.diff(np.hstack([ends[0], below, ends[1]]), axis=1)


def most_likely(chance: Floats, tie: NDArray[Any], number: int) -> Ints:
    """Return the indexes of the ``number`` largest chances, the largest first, without NaN.

    ``tie`` (n,): among equal chances the smaller one comes first. Chances are rounded before they
    are compared, so that rounding errors break no tie.
    """
    ranked = np.lexsort((tie, -np.round(chance, 9)))
    return np.asarray(ranked[np.isfinite(chance[ranked])][:number])
