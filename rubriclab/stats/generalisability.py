"""How far scores can be relied on, and what more judges, orders or repeats would buy: the decision study.

From the components of :mod:`rubriclab.stats.variance_components` (Cronbach, Gleser, Nanda and
Rajaratnam 1972; Brennan 2001, Generalizability Theory, chapters 4 and 5; Shavelson and Webb 1991,
chapters 6 and 7). An item's universe score is its mean over all levels of the random facets. The
mean of n_j judges in n_o orders misses it by the *relative* error where items are put in order
(every component of the item with a random facet, over the numbers it is averaged over), and by the
*absolute* error where the score itself is used (those of the random facets alone too). A fixed
facet is used at all its levels: what it does to single items is part of their universe score.

Generalisability coefficient: universe / (universe + relative error). Index of dependability:
universe / (universe + absolute error). Components estimated below 0 count as 0 (Brennan 2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, degrees_of_freedom
from rubriclab.stats.unit_means import UnitMeans, intervals, jackknifed, standard_errors
from rubriclab.stats.variance_components import OBJECT, Components, FacetSet, shares, shares_left_out

_TINY = 1e-12
NONE_FIXED: FacetSet = frozenset()
NEAREST = 8
"""How many designs the best one is held against."""


class Variances(NamedTuple):
    """Of universe scores, relative and absolute error, in squared points: (1 + units, designs)."""

    universe: Floats
    relative: Floats
    absolute: Floats


class Coefficient(NamedTuple):
    """A reliability between 0 and 1 with its 95 % interval; NaN where it is not known."""

    value: float
    ci: Interval


def variances(
    of: Components, designs: Ints, *, fixed: FacetSet = NONE_FIXED, own: int | None = None, raw: bool = False
) -> Variances:
    """What a mean over each of the ``designs`` is made of.

    ``designs``: (designs, facets), how many levels of each facet a mean is over; in the column of
    the object of measurement stands how often each is repeated. ``fixed``: facets that are used at
    all their levels. ``own``: a facet of which every other one gets levels of its own (other orders
    for each judge), instead of the same for all. ``raw``: estimates below 0 count as they are.
    """
    numbers = designs.astype(np.float64)
    for facet in fixed:
        numbers[:, facet] = of.levels[facet]
    calls = numbers.prod(axis=1)
    known = of.variances if raw else np.maximum(of.variances, 0.0)
    if not of.noisy:
        known = known[:, :-1]
    universe, relative, absolute = (np.zeros((len(known), len(designs))) for _ in range(3))
    for at, one in enumerate(of.sets):
        chosen = sorted(one - {OBJECT})
        over = numbers[:, chosen].prod(axis=1)
        if own in one:
            over = calls / numbers[:, OBJECT]
        part = known[:, at, None] / over
        if OBJECT in one and not set(chosen) - fixed:
            universe += part
        elif OBJECT in one:
            relative += part
        elif set(chosen) - fixed:
            absolute += part
    if of.noisy:
        relative += known[:, -1, None] / calls
    return Variances(universe, relative, relative + absolute)


def coefficients(
    of: Components, designs: Ints, *, absolute: bool = False, fixed: FacetSet = NONE_FIXED, own: int | None = None
) -> list[Coefficient]:
    """The generalisability coefficient of each design, or with ``absolute`` its index of dependability.

    The interval is that of the log of 1 / (1 - coefficient), an F ratio, by leaving units out
    (Arvesen and Schmitz 1970, Robust Procedures for Variance Component Problems Using the Jackknife);
    from the raw estimates, since those cut off at 0 vary too little. It holds the estimate. Where a
    few units make most of the variance, Student's t has as few degrees of freedom (Satterthwaite 1946).
    """
    first = replace(of, variances=of.variances[:1])
    value = _coefficient(variances(first, designs, fixed=fixed, own=own), absolute=absolute)[0]
    parts = variances(of, designs, fixed=fixed, own=own, raw=True)
    error = parts.absolute if absolute else parts.relative
    both = parts.universe + error
    some = (error > _TINY) & (both > _TINY)
    log = np.where(some, np.log(np.where(some, both, 1.0) / np.where(some, error, 1.0)), np.nan)
    ends = _intervals(log) if of.units > 1 else [NO_INTERVAL] * len(value)
    return [Coefficient(float(one), _holding(float(one), _from_log(ci))) for one, ci in zip(value, ends, strict=True)]


def _intervals(values: Floats) -> list[Interval]:
    found = _jackknifed(values)
    freedom = degrees_of_freedom(found.pseudo - found.pseudo.mean(axis=0))
    reach = special.stdtrit(freedom, 0.975) * standard_errors(found)
    ends = zip(values[0] - reach, values[0] + reach, strict=True)
    return [Interval(float(low), float(high)) if low == low else NO_INTERVAL for low, high in ends]


def _holding(value: float, ci: Interval) -> Interval:
    return Interval(min(ci.low, value), max(ci.high, value)) if ci.low == ci.low else ci


def _from_log(ci: Interval) -> Interval:
    low, high = (1.0 - np.exp(-np.maximum(end, 0.0)) for end in ci)
    return Interval(float(low), float(high))


def share_intervals(of: Components) -> list[Interval]:
    """Of each component's share of the total variance, within 0 to 1, with degrees of freedom as above.

    About the raw shares, which are unbiased; widened to hold the share itself where a component below 0 moved it.
    """
    if of.units < 2:
        return [NO_INTERVAL] * of.variances.shape[1]
    ends = [Interval(*(float(np.clip(end, 0.0, 1.0)) for end in ci)) for ci in _intervals(shares_left_out(of))]
    return [_holding(value, ci) for value, ci in zip(shares(of).tolist(), ends, strict=True)]


def mixes(budget: int, most: Sequence[int]) -> Ints:
    """Every design of at most ``budget`` calls an item: (designs, facets), each number up to ``most``."""
    ranges = [range(1, min(limit, budget) + 1) for limit in most]
    every = np.array(list(product(*ranges)), dtype=np.int64).reshape(-1, len(most))
    return np.asarray(every[every.prod(axis=1) <= budget])


class Choice(NamedTuple):
    """Places of the design of the highest coefficient, and of those ``near`` it, the best first.

    ``open``: of each of ``near``, is it not told apart from the best?
    """

    best: int
    near: tuple[int, ...]
    open: tuple[bool, ...]


def best_of(
    of: Components, designs: Ints, *, absolute: bool = False, fixed: FacetSet = NONE_FIXED, own: int | None = None
) -> Choice | None:
    """The best of ``designs``, the cheapest where several are; None where nothing is known.

    Held against the NEAREST others, all differences at once with 95 % (Bonferroni, units left out).
    """
    first = replace(of, variances=of.variances[:1])
    value = _coefficient(variances(first, designs, fixed=fixed, own=own), absolute=absolute)[0]
    if not np.isfinite(value).any():
        return None
    rounded = np.round(np.where(np.isfinite(value), value, -1.0), 9)
    order = np.lexsort((designs.prod(axis=1), -rounded))[: NEAREST + 1]
    near = _coefficient(variances(of, designs[order], fixed=fixed, own=own), absolute=absolute)
    ends = [NO_INTERVAL] * (len(order) - 1)
    if of.units > 1:
        ends = intervals(_jackknifed(near[:, :1] - near[:, 1:]), comparisons=len(ends))
    return Choice(int(order[0]), tuple(order[1:].tolist()), tuple(not ci.low > 0 for ci in ends))


def _coefficient(parts: Variances, *, absolute: bool) -> Floats:
    both = parts.universe + (parts.absolute if absolute else parts.relative)
    return np.asarray(np.divide(parts.universe, both, out=np.full(both.shape, np.nan), where=both > _TINY))


def _jackknifed(values: Floats) -> UnitMeans:
    return jackknifed(values[0], values[1:], np.ones(values[1:].shape, dtype=bool))
