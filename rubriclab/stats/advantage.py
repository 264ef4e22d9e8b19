"""How far places win: the advantage of the first place, and of each place, by comparison.

Beyond the papers. ``wins``: (calls, p) what each place won of each call: 1 for the place that was
picked (``chosen``) or its probability, what is missing to 1 a tie; NaN unread. The *advantage* of
the first place is its wins less those of the last place, per comparison, in [-1, 1]: ties count 0,
0.1 is 55 : 45, and a judge that ignores the order has 0.

Two designs carry it. Where a comparison was shown in every order, what its candidates are worth
cancels within it. Where each was shown in one order, it cancels between comparisons, if the order
was drawn at random: for two candidates the estimate is P(a wins | shown first) - P(a wins | shown
last), a tie as half: direct standardisation to candidates that stand at each place equally often.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rubriclab.stats import bradley_terry
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints

Bools = NDArray[np.bool_]
FEW_UNITS = 10
"""From so many units on is an interval given: below, its cover was not shown to hold."""
NO_CHANCE = 8
"""Units that showed a set of candidates in one order only, from which on that was no draw: chance does it once in 128."""
Design = Literal["both orders", "one random order", "one order"]
"""Both: of lists, every order. One: the same for all, or not drawn at random; it carries nothing."""


class PlaceWins(NamedTuple):
    """Wins of each place in comparisons of which the worth of the candidates is taken out.

    ``values``: (comparisons, p), whose mean over rows is each place's share of wins, and whose
    spread is that of the share; ``unit``: of each row; ``most``: how far one row can lie from
    the others in a difference of two places. ``design`` carries it; ``left_out``: calls that it has
    no use for; ``modelled``: calls whose candidates' worth a Bradley-Terry model took out.
    """

    values: Floats
    unit: Ints
    most: float
    design: Design
    left_out: int
    modelled: int = 0

    @property
    def comparisons(self) -> int:
        return len(self.values)

    @property
    def units(self) -> int:
        return len(np.unique(self.unit))

    @property
    def first_less_last(self) -> Clustered:
        """Wins of the first place less wins of the last."""
        return Clustered.of(self.values[:, 0] - self.values[:, -1], self.unit, most=self.most)

    def advantage(self, *, level: float = 0.95) -> tuple[float, Interval]:
        """Wins of the first place less wins of the last, and the interval."""
        return self.first_less_last.estimate, self.first_less_last.interval(level=level)

    def over_even(self, *, level: float = 0.95) -> list[tuple[float, Interval]]:
        """Each place's wins less the mean of all places; the intervals hold all at once.

        Bonferroni over the p places.
        """
        p = self.values.shape[1]
        each = 1.0 - (1.0 - level) / p
        apart = self.values - self.values.mean(axis=1, keepdims=True)
        return [clustered_mean(apart[:, k], self.unit, most=1.0, level=each) for k in range(p)]


def chosen(positions: Ints, p: int) -> Floats:
    """(..., p) what each place won where ``positions`` (...) were picked: 1..p, 0 a tie, below 0
    unread (NaN)."""
    wins: Floats = (positions[..., None] == np.arange(1, p + 1)).astype(np.float64)
    wins[positions < 0] = np.nan
    return wins


def in_every_order(wins: Floats, unit: Ints, *, left_out: int = 0) -> PlaceWins:
    """``wins``: (comparisons, p orders, p places), all readable; ``unit``: of each comparison."""
    return PlaceWins(wins.mean(axis=1), unit, 1.0, "both orders", left_out)


def in_one_order(wins: Floats, shown: Ints, group: Ints, unit: Ints, names: Ints | None = None) -> PlaceWins:
    """Calls that were each shown in one order, drawn at random; places are standardised.

    ``wins``: (calls, p); ``shown``: (calls, p), the candidate at each place as 0..p-1 within its
    set; ``group``: the set; ``unit``: (calls,). In a set a place's share is the mean over
    candidates of P(candidate wins | at that place); sets weigh by their calls. Its values are
    linearised (the derivative of the share with respect to a call), with n / (n - 1) for each
    mean's own estimate. That takes every candidate at every place in two units or more. Pairs
    without, whose candidates are known all over as ``names`` (calls, p), are told apart by
    ``bradley_terry.parts``: what a random order has no part in.
    """
    p = shown.shape[1]
    rich, sparse = carried(wins, shown, group, unit, names)
    kept = rich | sparse
    left_out = len(wins) - int(kept.sum())
    if not kept.any():
        return PlaceWins(np.zeros((0, p)), unit[kept], 2.0, "one order", left_out)
    values = np.zeros(wins.shape)
    if rich.any():
        values[rich] = _standardised(wins[rich], shown[rich], group[rich], unit[rich])
    if names is not None and sparse.any():
        taken = bradley_terry.parts(wins[kept], names[kept], unit[kept], sparse[kept])
        values[sparse] = wins[sparse] - taken.worth[:, None] * np.array([0.5, -0.5])
    whole = values[kept].mean(axis=0)
    for part in (rich, sparse):  # sets are what they are: only calls within them vary
        if part.any():
            values[part] += whole - values[part].mean(axis=0)
    return PlaceWins(values[kept], unit[kept], 2.0, "one random order", left_out, int(sparse.sum()))


def carried(wins: Floats, shown: Ints, group: Ints, unit: Ints, names: Ints | None) -> tuple[Bools, Bools]:
    """Which calls, (calls,) each, carry a number by their own set, and which by a model.

    Arguments as of ``in_one_order``; in neither: unread, or of candidates not seen both ways round, or always in one
    order however often they met: there a model of their worth would have to tell it from the place by its form alone.
    """
    read = np.isfinite(wins).all(axis=1)
    rich = np.zeros(len(wins), dtype=bool)
    if read.any():
        rich[read] = _usable(shown[read], group[read], unit[read])[group[read]]
    sparse = read & ~rich & ~_never_turned(shown, group, unit)
    if names is None or shown.shape[1] != 2 or not _both_ways_round(names[sparse], unit[sparse]):
        sparse = np.zeros(len(wins), dtype=bool)
    return rich, sparse


def _standardised(wins: Floats, shown: Ints, group: Ints, unit: Ints) -> Floats:
    """The linearised values of calls in sets that are usable."""
    p, sets = shown.shape[1], int(group.max()) + 1
    size = np.bincount(group, minlength=sets).astype(np.float64)
    values = np.zeros(wins.shape)
    for place in range(p):
        won, stratum = wins[:, place], group * p + shown[:, place]
        n, rate, spread = strata(won, stratum, unit, sets * p)
        mean = float((rate.reshape(-1, p).mean(axis=1) * size).sum() / size.sum())
        away = (won - rate[stratum]) * spread[stratum] / n[stratum]
        values[:, place] = mean + size[group] / p * away
    return values


def strata(values: Floats, stratum: Ints, unit: Ints, n: int) -> tuple[Floats, Floats, Floats]:
    """Of each of ``n`` strata: its rows, their mean (0 without any), and the root of units over
    units less one, by which deviations from a mean of one's own are too small."""
    rows = np.bincount(stratum, minlength=n).astype(np.float64)
    mean = np.bincount(stratum, weights=values, minlength=n) / np.maximum(rows, 1.0)
    seen = _distinct(stratum, unit, n)
    return rows, mean, np.sqrt(seen / np.maximum(seen - 1.0, 1.0))


def _usable(shown: Ints, group: Ints, unit: Ints) -> Bools:
    """(sets,): has every candidate stood at every place in two units or more?"""
    p = shown.shape[1]
    sets = int(group.max(initial=-1)) + 1
    enough = np.ones(sets, dtype=bool)
    for place in range(p):
        seen = _distinct(group * p + shown[:, place], unit, sets * p)
        enough &= (seen.reshape(sets, p) > 1).all(axis=1)
    return enough


def _never_turned(shown: Ints, group: Ints, unit: Ints) -> Bools:
    """(calls,) of a set that met in ``NO_CHANCE`` units or more, and in one order only."""
    sets = int(group.max(initial=-1)) + 1
    lead = np.bincount(np.unique(group * shown.shape[1] + shown[:, 0]) // shown.shape[1], minlength=sets)
    return np.asarray(((lead == 1) & (_distinct(group, unit, sets) >= NO_CHANCE))[group])


def _both_ways_round(names: Ints, unit: Ints) -> bool:
    """Has a candidate of pairs stood first in two units or more, and last in two others?

    Where each always has the same place, a place is not told from who stands there.
    """
    if not len(names):
        return False
    n = int(names.max()) + 1
    return bool(((_distinct(names[:, 0], unit, n) > 1) & (_distinct(names[:, 1], unit, n) > 1)).any())


def _distinct(stratum: Ints, unit: Ints, n: int) -> Floats:
    """How many different units each stratum has, (n,)."""
    width = int(unit.max(initial=0)) + 1
    return np.bincount(np.unique(stratum * width + unit) // width, minlength=n).astype(np.float64)


class Clustered(NamedTuple):
    """A mean with its standard error by units; interval and test come of the same numbers.

    ``se``: of the mean as it stands; ``centre`` and ``half``: the middle of the interval and the
    error that it is made of. NaN where there is too little.
    """

    estimate: float
    se: float
    centre: float
    half: float
    units: int
    bound: float = 1.0

    @classmethod
    def of(cls, values: Floats, unit: Ints, *, most: float = 1.0, bound: float = 1.0) -> Clustered:
        """See ``clustered_mean``."""
        nan = float("nan")
        known, code = np.unique(unit, return_inverse=True)
        n, rows = len(known), len(values)
        if n < FEW_UNITS:
            return cls(float(values.mean()) if rows else nan, nan, nan, nan, n, bound)
        estimate = float(values.mean())
        moved = np.bincount(code, weights=values - estimate, minlength=n) * (n / rows)
        between, spread = float(np.square(moved).sum()) / (n - 1), float(values.var())
        alone = between / spread if spread > 0 and between > 0 else 1.0
        added = most * float(np.sqrt(np.clip(alone, n / rows, 1.0)))
        scores = np.append(estimate + moved, [added, -added])
        half = float(scores.std(ddof=1) / np.sqrt(n + 2))
        return cls(estimate, float(np.sqrt(between / n)), float(scores.mean()), half, n, bound)

    def interval(self, *, level: float = 0.95) -> Interval:
        if not np.isfinite(self.half):
            return NO_INTERVAL
        reach = float(special.ndtri(0.5 + level / 2.0)) * self.half
        return Interval(max(self.centre - reach, -self.bound), min(self.centre + reach, self.bound))

    @property
    def z(self) -> float:
        return self.centre / self.half if self.half > 0 else float("nan")

    @property
    def p(self) -> float:
        """Of a mean of 0, two-sided: below 1 - level exactly where the interval leaves out 0."""
        return float(2.0 * special.ndtr(-abs(self.z)))


def clustered_mean(
    values: Floats, unit: Ints, *, most: float = 1.0, bound: float = 1.0, level: float = 0.95
) -> tuple[float, Interval]:
    """The mean of ``values`` (rows,), within ± ``bound`` and often 0, with an interval by units.

    The normal interval between units after one of + ``most`` and one of - ``most`` was added
    (Bonett and Price 2012, Adjusted Wald Confidence Interval for a Difference of Binomial
    Proportions Based on Paired Data): where no row differs from another the interval still has a
    width. Rows of one unit that vary alone count for less, so the two are scaled by the root of
    the variance between units over that between rows, at least one over the rows of a unit
    (Korn and Graubard 1998 count trials the same way). With latent-trait judges (leanings of
    questions t-distributed, ties, 1 or 4 comparisons a question; 2,000 studies each) it covered
    0.95 to 0.98 at 15 and 30 units, with Student's t for the normal quantile 0.96 to 0.99. No
    interval below FEW_UNITS units.
    """
    mean = Clustered.of(values, unit, most=most, bound=bound)
    return mean.estimate, mean.interval(level=level)


def clustered_difference(
    a: Floats, unit_a: Ints, b: Floats, unit_b: Ints, *, bound: float = 1.0, level: float = 0.95
) -> tuple[float, Interval]:
    """The mean of ``a`` less the mean of ``b``, as ``clustered_mean``.

    Units of both sides are known by their codes: what is one unit on both sides is compared with
    itself; units of one side only make the two independent.
    """
    if not (len(a) and len(b)):
        return float("nan"), NO_INTERVAL
    delta, rows = float(a.mean() - b.mean()), len(a) + len(b)
    # One row more of a side moves the difference by one over that side's rows.
    parts = [rows / len(a) * (a - a.mean()), -rows / len(b) * (b - b.mean())]
    values, unit = np.concatenate(parts) + delta, np.concatenate([unit_a, unit_b])
    return clustered_mean(values, unit, most=2.0, bound=bound, level=level)
