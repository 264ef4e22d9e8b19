"""Ratings of people and scores of a judge in; may it stand in for an annotator, out: the
alternative annotator test.

Calderon, Reichart and Dror 2025, The Alternative Annotator Test for LLM-as-a-Judge, section 3.
Every annotator in turn is left out: on the items that they and another rated, who is nearer to the
others, the judge or they?

The paper tests the mean of d = W_human - W_judge, which is -1, 0 or 1, with Student's t, below 30
items with Wilcoxon's signed ranks. Where d = epsilon on average, these reject far more often than
the nominal 0.05 if few items decide (see ``against``). What decides here is the score test of a
difference of paired proportions at the effective number of items; the paper's p is beside it.
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.resample import Floats, Ints, degrees_of_freedom, sum_by

FEWEST_UNITS = 15
"""An annotator with fewer units than this is not tested: the interval covered 0.91 with ten."""
MOST_WORTH = 2.0
"""The calls of an item count for at most so many items with one call."""
NORMAL_FROM = 30
"""Items from which on the paper takes Student's t, below them Wilcoxon's signed ranks."""
_TINY = 1e-9


Wins = tuple[Floats, Floats]
"""Of one annotator, (items,) each, NaN where not compared: is the judge at least as near to the
others as the annotator; is the annotator at least as near as the judge? 0 or 1, or a mean over an
item's calls.
"""


class Against(NamedTuple):
    """The judge against one annotator. ``p``: one-sided, of human - judge >= epsilon, NaN of too
    few units; ``paper``: by the paper's own test.
    """

    items: int
    units: int
    judge: float
    human: float
    p: float
    paper: float


def wins(values: Floats, ratings: Floats, rater: int) -> Wins:
    """(judge, human) wins of ``values`` (items, k) against one rater of ``ratings`` (items,
    annotators), (items, k).

    Nearness to the other annotators is minus the root mean square distance; of two categories that
    is the share of equal ones, the paper's score for names.
    """
    others, own = np.delete(ratings, rater, axis=1), ratings[:, rater : rater + 1]
    given = np.isfinite(others)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(given, others, 0.0).sum(axis=1, keepdims=True) / given.sum(
            axis=1, keepdims=True
        )
    # The mean square distance but for what judge and annotator have in common.
    judge, human = (x**2 - 2.0 * x * mean for x in (values, own))
    known = np.isfinite(judge) & np.isfinite(human)
    return np.where(known, judge <= human + _TINY, np.nan), np.where(
        known, human <= judge + _TINY, np.nan
    )


def against(won: Wins, unit: Ints, epsilon: float) -> Against:
    """The test against one annotator; ``unit`` (items,): what counts as one.

    Tango's score test (1998, Equivalence Test and Confidence Interval for the Difference in
    Proportions for the Paired-Sample Design, equation 5) of P(annotator alone nearer) - P(judge
    alone nearer) >= epsilon, at as many items as the scatter between units makes of them, on
    Student's t. At the border it rejects in at most 0.065 of studies of 15 to 100 items with any
    share of ties, alone or in clusters of up to 6; the paper's t in up to 0.17 of those of single
    items and in up to 0.24 of those of clusters, Wilcoxon's test in up to 0.70.
    """
    rows = np.isfinite(won[0])
    n = int(rows.sum())
    present, code = np.unique(unit[rows], return_inverse=True)
    units = len(present)
    judge, human = (side[rows] for side in won)
    if units < FEWEST_UNITS:
        means = (float(judge.mean()), float(human.mean())) if n else (np.nan, np.nan)
        return Against(n, units, *means, np.nan, np.nan)
    items, lost, gained = (
        sum_by(code, part, units) for part in (np.ones(n), 1.0 - judge, 1.0 - human)
    )
    worth, degrees = _effective(items, lost, gained)
    p = float(
        special.stdtr(
            degrees, _tango(lost.sum() * worth / n, gained.sum() * worth / n, worth, epsilon)
        )
    )
    return Against(
        n, units, float(judge.mean()), float(human.mean()), p, _paper(human - judge, epsilon)
    )


def _effective(items: Floats, lost: Floats, gained: Floats) -> tuple[float, float]:
    """How many independent items the units (units,) are worth, and degrees of freedom.

    Where no unit differs from another each counts as one. A variance that few clusters make has
    fewer degrees of freedom than they are many.
    """
    n, units = float(items.sum()), len(items)
    mean = float((lost - gained).sum()) / n
    residual = (lost - gained) - mean * items
    between = float((residual**2).sum()) * units / (units - 1.0) / n**2
    if not between > _TINY**2:
        return float(units), units - 1.0
    alone = (float((lost + gained).sum()) / n - mean**2) / (n - 1.0)
    return min(MOST_WORTH * n, n * alone / between), degrees_of_freedom(
        residual
    ) if n > units else units - 1.0


def _tango(lost: float, gained: float, n: float, delta: float) -> float:
    """The score statistic of (lost - gained) / n against ``delta``; its variance under the null."""
    a, c = 2.0 * n, -gained * delta * (1.0 - delta)
    b = -lost - gained + (2.0 * n - lost + gained) * delta
    share = (np.sqrt(max(b * b - 4.0 * a * c, 0.0)) - b) / (2.0 * a)
    variance = n * (2.0 * share + delta * (1.0 - delta))
    return float((lost - gained - n * delta) / np.sqrt(max(variance, _TINY)))


def _paper(d: Floats, epsilon: float) -> float:
    # Imported here: scipy.stats takes a third of a second to load, and few runs have annotators to
    # test.
    from scipy import stats as library

    if np.ptp(d) == 0:
        return 0.0 if d[0] < epsilon else 1.0
    if len(d) >= NORMAL_FROM:
        return float(library.ttest_1samp(d, epsilon, alternative="less").pvalue)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of ties, which there always are
        # Where there are ties “auto” goes through every sign of up to 13 items, one second a call.
        return float(library.wilcoxon(d - epsilon, alternative="less", method="approx").pvalue)


def benjamini_yekutieli(p_values: Floats) -> Floats:
    """Adjusted p-values (Benjamini and Yekutieli 2001), in the given order; NaN is not counted."""
    from scipy import stats as library

    adjusted, known = np.full(len(p_values), np.nan), np.isfinite(p_values)
    if known.any():
        adjusted[known] = library.false_discovery_control(p_values[known], method="by")
    return adjusted
