"""May a judge stand in for an annotator? The alternative annotator test.

Calderon, Reichart and Dror 2025, The Alternative Annotator Test for LLM-as-a-Judge, section 3.
Every annotator in turn is left out: on the items that they and another rated, who is nearer to the
others, the judge or they? Arrays in, numbers out.

The paper tests the mean of d = W_human - W_judge, which is -1, 0 or 1, with Student's t, below 30
items with Wilcoxon's signed ranks. Where d = epsilon on average, these reject far more often than
the nominal 0.05 if few items decide (see ``against``). What decides here is the score test of a
difference of paired proportions at the effective number of items; the paper's p stands beside it.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, degrees_of_freedom, sum_by
from rubriclab.stats.proportions import wilson_by_error

FEWEST_UNITS = 15
"""An annotator with fewer units than this is not tested: the interval covered 0.91 with ten."""
MOST_WORTH = 2.0
"""The reads of an item count for at most so many items with one read."""
FEWEST_ANNOTATORS = 3
FALSE_DISCOVERIES = 0.05
PASSES = 0.5
"""A judge passes that wins against at least this share of the annotators."""
NORMAL_FROM = 30
"""Items from which on the paper takes Student's t, below them Wilcoxon's signed ranks."""
_TINY = 1e-9


class Wins(NamedTuple):
    """Of one annotator, each (items, k) for k versions of the judge, NaN where not compared.

    ``judge``: is the judge at least as near to the others as the annotator; ``human``: is the
    annotator at least as near as the judge? 0 or 1, or a mean over an item's reads.
    """

    judge: Floats
    human: Floats


class Against(NamedTuple):
    """The judge's k versions against one annotator, (k,) each.

    ``judge``, ``human``: mean wins; ``p``: one-sided, of human - judge >= epsilon, NaN where there
    are too few units.
    """

    items: Ints
    units: Ints
    judge: Floats
    human: Floats
    p: Floats


class Advantage(NamedTuple):
    """Mean over annotators of the judge's wins, the paper's average advantage probability."""

    value: float
    interval: Interval


# ---------------------------------------------------------------- who is nearer


def wins(values: Floats, ratings: Floats, rater: int, *, named: bool = False) -> Wins:
    """The judge's ``values`` (items, k) against one rater of ``ratings`` (items, annotators).

    Nearness to the other annotators is minus the root mean square distance; ``named`` (values and
    ratings are names in steps of 1): the share of equal names, where a mean of reads counts for the
    nearest name, or half for each of two. With two names both come to the same for a single read.
    """
    others, own = np.delete(ratings, rater, axis=1), ratings[:, rater : rater + 1]
    if named:
        values = np.round(2.0 * values) / 2.0
    judge, human = _far(values, others, named), _far(own, others, named)
    known = np.isfinite(judge) & np.isfinite(human)
    at_least = [np.where(known, a <= b + _TINY, np.nan) for a, b in ((judge, human), (human, judge))]
    return Wins(*at_least)


def _far(values: Floats, others: Floats, named: bool) -> Floats:
    """How far ``values`` (items, k) lie from the others' ratings; NaN where there are none."""
    known = np.isfinite(others)
    with np.errstate(invalid="ignore", divide="ignore"):
        count = known.sum(axis=1, keepdims=True) / 1.0
        if named:
            total = np.zeros(np.shape(values))
            for rating, given in zip(others.T, known.T, strict=True):
                gap = np.abs(values - rating[:, None]).clip(0.0, 1.0)
                total = total + np.where(given[:, None], gap, 0.0)
            return np.asarray(np.where(count > 0, total / count, np.nan))
        mean = np.where(known, others, 0.0).sum(axis=1, keepdims=True) / count
        square = np.where(known, others**2, 0.0).sum(axis=1, keepdims=True) / count
        # The root changes no comparison, nor does what is the same for judge and annotator.
        return np.asarray(values**2 - 2.0 * values * mean + square)


# ---------------------------------------------------------------- one annotator


def against(won: Wins, unit: Ints, epsilon: float) -> Against:
    """The test of each version against one annotator; ``unit`` (items,): what counts as one.

    Tango's score test (1998, Equivalence Test and Confidence Interval for the Difference in
    Proportions for the Paired-Sample Design, equation 5) of P(annotator alone nearer) - P(judge
    alone nearer) >= epsilon, at as many items as the scatter between units makes of them, on
    Student's t. At the border it rejects in at most 0.065 of studies of 15 to 100 items with any
    share of ties, alone or in clusters of up to 6; the paper's t in up to 0.17 of those of single
    items and in up to 0.24 of those of clusters, Wilcoxon's test in up to 0.70.
    """
    rows = np.isfinite(won.judge).any(axis=1)
    if not rows.any():
        none, unknown = np.zeros(won.judge.shape[1], dtype=np.int64), np.full(won.judge.shape[1], np.nan)
        return Against(none, none, unknown, unknown, unknown)
    won, unit = Wins(won.judge[rows], won.human[rows]), np.unique(unit[rows], return_inverse=True)[1]
    n_units, known = int(unit.max(initial=-1)) + 1, np.isfinite(won.judge)
    human_alone = np.where(known, 1.0 - won.judge, 0.0)
    judge_alone = np.where(known, 1.0 - won.human, 0.0)
    parts = [sum_by(unit, part, n_units) for part in (known.astype(np.float64), human_alone, judge_alone)]
    items, lost, gained = (part.sum(axis=0) for part in parts)
    units = (parts[0] > 0).sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        worth, degrees = _effective(parts[0], parts[1], parts[2], units)
        worth = worth / items
        p = special.stdtr(degrees, _tango(lost * worth, gained * worth, items * worth, epsilon))
        judge, human = 1.0 - lost / items, 1.0 - gained / items
    enough = units >= FEWEST_UNITS
    return Against(items.astype(np.int64), units, judge, human, np.where(enough, p, np.nan))


def _effective(items: Floats, lost: Floats, gained: Floats, units: Ints) -> tuple[Floats, Floats]:
    """To how many independent items the units are worth, and degrees of freedom, (k,) each.

    ``items`` and the others: (units, k). Where no unit differs from another each counts as one. A
    variance that few clusters make has fewer degrees of freedom than they are many.
    """
    n, d = items.sum(axis=0), (lost - gained).sum(axis=0)
    mean = d / n
    residual = (lost - gained) - mean * items
    between = (residual**2).sum(axis=0) * units / np.maximum(units - 1.0, 1.0) / n**2
    alone = ((lost + gained).sum(axis=0) / n - mean**2) / np.maximum(n - 1.0, 1.0)
    apart = between > _TINY**2
    worth = np.where(apart, np.minimum(MOST_WORTH * n, n * alone / np.where(apart, between, 1.0)), units)
    clustered = (n > units) & apart
    return worth, np.where(clustered, degrees_of_freedom(residual), np.maximum(units - 1.0, 1.0))


def _tango(lost: Floats, gained: Floats, n: Floats, delta: float) -> Floats:
    """The score statistic of (lost - gained) / n against ``delta``; its variance under the null."""
    a, c = 2.0 * n, -gained * delta * (1.0 - delta)
    b = -lost - gained + (2.0 * n - lost + gained) * delta
    share = (np.sqrt(np.maximum(b * b - 4.0 * a * c, 0.0)) - b) / (2.0 * a)
    variance = n * (2.0 * share + delta * (1.0 - delta))
    return np.asarray((lost - gained - n * delta) / np.sqrt(np.maximum(variance, _TINY)))


def as_in_the_paper(won: Wins, epsilon: float, tested: NDArray[np.bool_] | None = None) -> Floats:
    """One-sided p of each version by the paper's test, (k,): Student's t, below NORMAL_FROM items Wilcoxon's.

    ``tested`` (k,): versions that are not have no p. Of 13 items or fewer with ties Wilcoxon's test goes
    through all signs, which takes seconds.
    """
    p = np.full(won.judge.shape[1], np.nan)
    for k in range(len(p)) if tested is None else np.flatnonzero(tested):
        p[k] = _paper(won.human[:, k] - won.judge[:, k], epsilon)
    return p


def _paper(d: Floats, epsilon: float) -> float:
    # Imported here, as below: scipy.stats takes a third of a second to load, and few runs have annotators to test.
    from scipy import stats as library

    d = d[np.isfinite(d)]
    if len(d) < 2:
        return float("nan")
    if np.ptp(d) == 0:
        return 0.0 if d[0] < epsilon else 1.0
    if len(d) < NORMAL_FROM:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns of ties, which there always are
            # Where there are ties “auto” goes through every sign of up to 13 items, one second a call.
            return float(library.wilcoxon(d - epsilon, alternative="less", method="approx").pvalue)
    return float(library.ttest_1samp(d, epsilon, alternative="less").pvalue)


# ---------------------------------------------------------------- all annotators


def benjamini_yekutieli(p_values: Floats) -> Floats:
    """Adjusted p-values (Benjamini and Yekutieli 2001), in the given order; NaN is not counted."""
    from scipy import stats as library

    adjusted = np.full(len(p_values), np.nan)
    known = np.isfinite(p_values)
    if known.any():
        adjusted[known] = library.false_discovery_control(p_values[known], method="by")
    return adjusted


class Tops(NamedTuple):
    """What the average advantage of k versions is made of: sums over annotators.

    ``whole`` (k,): of the mean wins; ``without`` (units, k): the same without each unit; ``top``,
    ``bottom`` (units, k): a unit's part of the wins and of what was compared; ``annotators`` (k,).
    """

    whole: Floats
    without: Floats
    top: Floats
    bottom: Floats
    annotators: Floats

    @classmethod
    def none(cls, n_units: int, k: int) -> Tops:
        units = np.zeros((n_units, k))
        return cls(np.zeros(k), units, units, units, np.zeros(k))

    def plus(self, won: Wins, unit: Ints) -> Tops:
        """With one more annotator, counted where they have FEWEST_UNITS units."""
        n_units = len(self.top)
        known = np.isfinite(won.judge)
        top = sum_by(unit, np.where(known, won.judge, 0.0), n_units)
        bottom = sum_by(unit, known.astype(np.float64), n_units)
        counted = (bottom > 0).sum(axis=0) >= FEWEST_UNITS
        items = np.where(counted, bottom.sum(axis=0), 1.0)
        top, bottom = np.where(counted, top, 0.0), np.where(counted, bottom, 0.0)
        left = np.where(counted, items - bottom, 1.0)
        return Tops(
            self.whole + top.sum(axis=0) / items,
            self.without + (top.sum(axis=0) - top) / left,
            self.top + top / items,
            self.bottom + bottom / items,
            self.annotators + counted,
        )

    def advantages(self, items: Ints) -> list[Advantage]:
        """One a version, over ``items`` (k,) of them.

        The standard error is the jackknife's over units (Efron and Tibshirani 1993, equation
        11.5), the interval Wilson's at that error, which keeps to 0..1 (``wilson_by_error``).
        """
        found = []
        for k in range(len(self.whole)):
            if self.annotators[k] < 1:
                found.append(Advantage(float("nan"), NO_INTERVAL))
                continue
            used = self.bottom[:, k] > 0
            without, n = self.without[used, k] / self.annotators[k], int(used.sum())
            value = float(np.clip(self.whole[k] / self.annotators[k], 0.0, 1.0))
            error = float(np.sqrt((n - 1) * without.var()))
            degrees = (
                float(degrees_of_freedom((n - 1) * (without - without.mean())[:, None])[0]) if error > _TINY else n - 1
            )
            found.append(Advantage(value, wilson_by_error(value, error, units=degrees + 1.0, trials=int(items[k]))))
        return found
