"""What a fitted Rasch model says of single items, and how well the reads keep to it.

Given the effects of :mod:`rubriclab.stats.rasch` (``eta``, (kinds, n): what a kind of read adds to the
log-odds of each category), measures are Warm's (1989, Weighted Likelihood Estimation of Ability in Item
Response Theory, Psychometrika 54), which are finite where every read gave the lowest or the highest category.
Mean squares as in Wright and Masters (1982, Rating Scale Analysis, chapter 5).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rubriclab.stats.inference import Floats, Ints
from rubriclab.stats.rasch import Bools, Responses

FEW_READS = 30
"""Below so many reads an element's mean squares say little and are not given."""
_ENDS = 40.0
_TINY = 1e-10


class Measures(NamedTuple):
    """Items that were read, (items,) each in logits: ``theta``, its standard error ``error`` by the model.

    ``reads`` of each; ``extreme``: every read of it gave one end of the scale.
    """

    theta: Floats
    error: Floats
    reads: Ints
    extreme: Bools


class Moments(NamedTuple):
    """Of each read: ``chance`` (reads, n) of each category, their ``mean``, ``variance`` and third moment."""

    chance: Floats
    mean: Floats
    variance: Floats
    third: Floats


class Fit(NamedTuple):
    """Mean squares of an element; 1 is what the model expects. ``n``: reads behind them."""

    infit: float
    outfit: float
    n: int


NO_FIT = Fit(float("nan"), float("nan"), 0)


class Separation(NamedTuple):
    """How far measures spread beyond their errors. ``reliability``: the share of their variance that is not
    error; ``ratio``: sd of true measures in errors; ``strata``: levels that can be told apart."""

    reliability: float
    ratio: float
    strata: float


def moments(eta: Floats, kind: Ints, theta: Floats) -> Moments:
    """``theta``: (reads,) the measure of each read's item."""
    category = np.arange(eta.shape[1], dtype=np.float64)
    level = eta[kind] + theta[:, None] * category
    chance = np.exp(level - level.max(axis=1, keepdims=True))
    chance /= chance.sum(axis=1, keepdims=True)
    mean = chance @ category
    away = category - mean[:, None]
    return Moments(chance, mean, (chance * away**2).sum(axis=1), (chance * away**3).sum(axis=1))


def measures(reads: Responses, eta: Floats) -> Measures:
    """Warm's measure of each item: sum (s - E) + sum of third moments / (2 sum of variances) = 0."""
    size, top = len(reads.unit), eta.shape[1] - 1
    count = np.bincount(reads.item, minlength=size)
    total = np.bincount(reads.item, weights=reads.score, minlength=size)
    theta, low, high = np.zeros(size), np.full(size, -_ENDS), np.full(size, _ENDS)
    for _ in range(80):
        now = moments(eta, reads.kind, theta[reads.item])
        mean, variance, third = (
            np.bincount(reads.item, weights=part, minlength=size) for part in (now.mean, now.variance, now.third)
        )
        variance = np.maximum(variance, _TINY)
        slope = total - mean + third / (2.0 * variance)
        low, high = np.where(slope > 0, theta, low), np.where(slope > 0, high, theta)
        ahead = theta + np.clip(slope / variance, -2.0, 2.0)
        ahead = np.where((ahead > low) & (ahead < high), ahead, (low + high) / 2)
        if float(np.abs(ahead - theta)[count > 0].max(initial=0.0)) < 1e-9:
            break
        theta = ahead
    extreme = (count > 0) & ((total == 0) | (total == top * count))
    nothing = count == 0
    error = np.where(nothing, np.nan, 1.0 / np.sqrt(variance))
    return Measures(np.where(nothing, np.nan, theta), error, count, extreme)


class Residuals(NamedTuple):
    """``square`` of each usable read's residual and what the model ``expects`` of it; ``kept``: (reads,)."""

    square: Floats
    expects: Floats
    kept: Bools


def residuals(reads: Responses, eta: Floats, known: Measures) -> Residuals:
    """Of reads of items that are not extreme.

    An item's measure is fitted to its own reads, so that a read's residual is smaller than its variance V by
    the share V / sum of V that it has in the measure: V (1 - V / sum V) is expected.
    """
    now = moments(eta, reads.kind, known.theta[reads.item])
    total = np.bincount(reads.item, weights=now.variance, minlength=len(reads.unit))[reads.item]
    expects = now.variance * (1.0 - now.variance / np.maximum(total, _TINY))
    kept = ~known.extreme[reads.item] & (expects > _TINY) & (known.reads[reads.item] > 1)
    return Residuals((reads.score - now.mean) ** 2, expects, kept)


def mean_squares(of: Residuals, which: Bools) -> Fit:
    """Infit (weighted by information) and outfit (every read alike) of the reads ``which``."""
    chosen = which & of.kept
    n = int(chosen.sum())
    if n < FEW_READS:
        return NO_FIT._replace(n=n)
    square, expects = of.square[chosen], of.expects[chosen]
    return Fit(float(square.sum() / expects.sum()), float((square / expects).mean()), n)


def place_squares(picked: Bools, chance: Floats) -> Fit:
    """The same of a place: was it ``picked`` (reads,) against its ``chance`` by the model."""
    known = (chance > 1e-6) & (chance < 1.0 - 1e-6)
    n = int(known.sum())
    if n < FEW_READS:
        return NO_FIT._replace(n=n)
    square, expects = (picked[known] - chance[known]) ** 2, chance[known] * (1.0 - chance[known])
    return Fit(float(square.sum() / expects.sum()), float((square / expects).mean()), n)


def separation(theta: Floats, error: Floats) -> Separation:
    """Of the items with a measure, (items,). No interval: one that holds the effects fixed, as leaving out items
    does, held the long-run value in 0.9 of simulated studies, and in half of those of judges at the ends of a scale.
    """
    known = np.isfinite(theta) & np.isfinite(error)
    theta, squared = theta[known], error[known] ** 2
    if len(theta) < 2:
        return Separation(float("nan"), float("nan"), float("nan"))
    observed = float(theta.var(ddof=1))
    reliability = max(0.0, 1.0 - float(squared.mean()) / observed) if observed > 0 else 0.0
    spread = float(np.sqrt(reliability / (1.0 - reliability))) if reliability < 1.0 else float("inf")
    return Separation(reliability, spread, (4.0 * spread + 1.0) / 3.0)
