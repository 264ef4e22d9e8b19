"""An estimate and a level in, an interval out: one rule a kind of number.

Each rule was kept because simulated studies asked for it, and says where. ``e`` is an Estimate: ``value`` and
``influence`` (units,), whose mean is 0 and whose spread over root n is the standard error. A rule that has too few
units gives NaN ends; the fewest are its own, since calibration gave different numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from rubriclab.stats.proportions import NO_INTERVAL, clopper_pearson, wilson
from rubriclab.stats.resample import Floats, degrees_of_freedom, hall, t_ends

if TYPE_CHECKING:
    from rubriclab.core.estimate import Estimate

FEW_MOVED = 6
"""Below so many units that moved, an exact bound is used beside the spread that they make."""
_SAME = 1e-9
"""Values without each unit that differ by less are the same but for rounding."""
_STILL = 0.01
"""A unit that moved by less than this share of a step has not moved."""


@dataclass(frozen=True, eq=False)
class Student:
    """t on units - 1, of a mean over units in points.

    Held in 0.94 to 0.97 of 500 simulated studies each of latent-trait, mixed logit, skewed and clustered judges, from 8
    units on. ``moves``: (units,), what each unit moved; where fewer than FEW_MOVED did, the interval is widened to
    Clopper and Pearson's bound of their share times the largest move seen, at least one ``step``: a judge that moves
    one item in five is then held in 0.95 or more, from 8 units to 60. ``least``: never narrower than one unit up and
    one down by this (Agresti and Coull 1998). ``lopsided``: Hall's (1992) ends where units scatter to one side; Student's
    held in 0.87 to 0.93 of studies with two options, Hall's in 0.93 to 0.95. ``beyond_noise``: a distance that is not
    below 0 in truth, so the upper end is not either. ``positive``: a mean of numbers that are none below 0. ``heavy``:
    degrees of freedom for the units' kurtosis, and Hall's ends only where they are longer, as few units make differences.
    """

    moves: Floats | None = field(default=None, repr=False)
    fewest: int = 8
    step: float = 1.0
    least: float = 0.0
    lopsided: bool = False
    beyond_noise: bool = False
    positive: bool = False
    heavy: bool = False

    def __call__(self, e: Estimate, level: float) -> tuple[float, float]:
        n = e.units
        square = max(float((e.influence**2).sum()), 2 * self.least**2)
        error, t = float(np.sqrt(square / (n * (n - 1)))), float(special.stdtrit(n - 1, 0.5 + level / 2))
        below, above = hall(e.influence, t) if self.lopsided else (t, t)
        if self.heavy:
            below, above = t_ends(e.influence, level, lengthened=self.lopsided)
        low, high = e.value - below * error, e.value + above * error
        if self.moves is not None:
            most = max(self.step, float(np.abs(self.moves).max()))
            low, high = _bounded(low, high, self.moves, _STILL * self.step, most, level)
        return max(low, 0.0) if self.positive else low, max(high, 0.0) if self.beyond_noise else high


@dataclass(frozen=True, eq=False)
class Reach:
    """Of a mean over units that can be ``reach`` away from 0 at most: the interval that verdicts are made of.

    t on Satterthwaite's degrees of freedom for the units' kurtosis; ends lengthened, never shortened, by Hall's (1992)
    cubic for their skewness; fewer than FEW_MOVED units away from the median one: at least the median -+ ``reach`` times
    Clopper and Pearson's bound of how many are above and below. ``moves``: (units,), the units' own numbers. Held in
    0.91 to 1.0 (mean 0.98) of simulated studies of unbiased and biased judges, 15 to 100 units. ``least``, ``most``: what
    the number itself can be, which ends the interval.
    """

    reach: float
    moves: Floats = field(repr=False)
    fewest: int = 8
    least: float = -np.inf
    most: float = np.inf

    def __call__(self, e: Estimate, level: float) -> tuple[float, float]:
        below, above = t_ends(e.influence, level)
        low, high = e.value - below * e.error, e.value + above * e.error
        middle = float(np.median(self.moves))
        low, high = _bounded(low - middle, high - middle, self.moves - middle, 0.0025 * self.reach, self.reach, level)
        return max(middle + low, self.least), min(middle + high, self.most)


def _bounded(low: float, high: float, moves: Floats, still: float, most: float, level: float) -> tuple[float, float]:
    """At least -+ ``most`` times Clopper and Pearson's bounds of how many units moved, where fewer than FEW_MOVED did.

    ``moves``: (units,); those of at most ``still`` are none.
    """
    up, down = int((moves > still).sum()), int((moves < -still).sum())
    if up + down >= FEW_MOVED:
        return low, high
    below, above = (most * clopper_pearson(moved, len(moves), level=level)[1] for moved in (down, up))
    return min(low, -below), max(high, above)


@dataclass(frozen=True)
class Wilson:
    """Of a share of ``trials`` that come in units: Wilson's at the effective number of trials.

    The binomial variance over the variance between units, less what t costs on degrees of freedom for their kurtosis
    (Korn and Graubard 1998, Confidence Intervals for Proportions with Small Expected Number of Positive Counts, section
    2). Where no unit differs from another each counts as one trial. ``balanced``: units vary less than so many coins,
    as an item's choices of a position do in balanced orders, and are worth more than their trials: held in 0.94 to 0.96
    for 15 to 100 items of seven kinds of judges. ``alone``: one trial a unit. ``exact``: units - 1 degrees of freedom.
    """

    trials: float
    balanced: bool = False
    alone: bool = False
    exact: bool = False
    fewest: int = 10

    def __call__(self, e: Estimate, level: float) -> tuple[float, float]:
        n = e.units
        value = min(max(e.value, 0.0), 1.0)
        between = e.error**2
        worth = float(self.trials) if self.alone else float(n)
        if not self.alone and 0.0 < value < 1.0 and between > 1e-12:
            tail = 0.5 + level / 2
            df = n - 1.0 if self.exact else degrees_of_freedom(e.influence)
            price = float(special.stdtrit(max(self.trials - 1.0, 1.0), tail) / special.stdtrit(df, tail))
            worth = value * (1.0 - value) / between * price**2
            worth = worth if self.balanced else min(self.trials, worth)
        return wilson(value * worth, worth, level=level)


@dataclass(frozen=True)
class Opaque:
    """Of numbers that are no mean over units (V, extremes): ``ends`` is a function of the level."""

    ends: Callable[[float], tuple[float, float]]
    fewest: int = 8

    def __call__(self, e: Estimate, level: float) -> tuple[float, float]:
        return self.ends(level)


@dataclass(frozen=True)
class Fisher:
    """Of correlations and coefficients of at most 1, whose influence comes from leaving out units: t on Fisher's z.

    Fewer degrees of freedom where few units make the error. Where no unit bears on it, as in full agreement: Wilson's
    interval of (1 + c) / 2 with each unit as one trial. Measured: ``docs/method-check.md``.
    ``lengthened``: by Hall's ends where units scatter to one side, as those of squared distances do, and at high levels.
    ``members``: of a mean of so many, which has no lower bound; its ends are a single member's, by Spearman and Brown.
    """

    fewest: int = 8
    lengthened: bool = False
    members: int = 1

    def __call__(self, e: Estimate, level: float) -> tuple[float, float]:
        n = e.units
        edge = 1.0 - 1e-12
        k, values = self.members, (e.value, e.value - e.influence / (n - 1))
        z, without = (np.arctanh(np.clip(x / (k - (k - 1) * x), -edge, edge)) for x in values)
        influence = (n - 1) * (without.mean() - without)
        error = float(np.sqrt((influence**2).sum() / (n * (n - 1))))
        if error < _SAME:
            low, high = (2.0 * end - 1.0 for end in wilson((1.0 + np.tanh(z)) / 2.0 * n, n, level=level))
        else:
            below, above = t_ends(influence, level, lengthened=self.lengthened)
            low, high = float(np.tanh(z - below * error)), float(np.tanh(z + above * error))
        low, high = (k * end / (1.0 + (k - 1) * end) for end in (low, high))
        return min(low, e.value), max(high, e.value)


@dataclass(frozen=True, eq=False)
class FewRated:
    """Of a mean whose error ``own`` (rated units,) tell, each what it adds, after ``fitted`` numbers were learnt; on t.

    Held in 0.92 to 0.97 of the studies of Fisher's rule; of a share near 1, at 30 units, in 0.99.
    """

    own: Floats = field(repr=False)
    fitted: int = 1
    fewest: int = 10

    def __call__(self, e: Estimate, level: float) -> tuple[float, float]:
        n, left = len(self.own), max(len(self.own) - self.fitted, 1)
        error = float(np.sqrt(np.square(e.influence / max(e.units, 1)).sum() * n / left))
        if n < self.fewest or error <= _SAME:
            return NO_INTERVAL
        df = min(left, degrees_of_freedom(self.own - self.own.mean()))
        reach = float(special.stdtrit(df, 0.5 + level / 2)) * error
        return e.value - reach, e.value + reach
