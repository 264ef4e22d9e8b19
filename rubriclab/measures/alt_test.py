"""Test whether the judge may replace a human annotator: the alternative annotator test.

Calderon, Reichart and Dror 2025, The Alternative Annotator Test for LLM-as-a-Judge, section 3.
Each annotator in turn is left out. On the items that they and at least one other annotator rated:
who is nearer to the others, the judge or the annotator?

The paper tests the mean of d = W_human - W_judge, which is -1, 0 or 1, with Student's t, below 30
items with Wilcoxon's signed ranks. Where d = epsilon on average, these tests reject far more often
than the nominal 0.05 if few items decide (see ``against``). We decide by the score test of a
difference of paired proportions at the effective number of items, and report the paper's p too.
"""

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.core.estimate import Estimate, Wilson, left_out, missing, plain
from rubriclab.core.judgments import Arm
from rubriclab.core.topic import Caution, Chart, Row, topic
from rubriclab.measures.rated import SCORED, Rated, rated
from rubriclab.model.study import ReadingPart
from rubriclab.stats.resample import Floats, Ints, crossed, degrees_of_freedom, sum_by

# ----------------------------------------------------------------------------------------- the test
FEWEST_UNITS = 15
"""An annotator with fewer units than this is not tested: the interval covered 0.91 with ten."""
MOST_WORTH = 2.0
"""The calls of an item count for at most so many items with one call."""
NORMAL_FROM = 30
"""Items from which on the paper takes Student's t, below them Wilcoxon's signed ranks."""
_TINY = 1e-9


Wins = tuple[Floats, Floats]
"""(judge, human) wins against one annotator, (items,) each, NaN where not compared.

The judge wins where it is at least as near to the others as the annotator is, and the other way
round: 0 or 1, or a mean over an item's calls.
"""


class Against(NamedTuple):
    """The judge against one annotator.

    p: one-sided, of human - judge >= epsilon; NaN with too few units. ``paper``: by the paper's
    test.
    """

    items: int
    units: int
    judge: float
    human: float
    p: float
    paper: float


def wins(values: Floats, ratings: Floats, rater: int) -> Wins:
    """Return (judge, human) wins against one rater, (items, k) each.

    ``values``: (items, k); ``ratings``: (items, annotators).

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
    """Test against one annotator; ``unit``: (items,) what counts as one.

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
    """Return how many independent items the units (units,) are worth, and degrees of freedom.

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
    """Return the score statistic of (lost - gained) / n against ``delta``.

    Its variance is the one under the null.
    """
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
    """Return adjusted p-values (Benjamini and Yekutieli 2001) in the given order.

    NaN is not counted.
    """
    from scipy import stats as library

    adjusted, known = np.full(len(p_values), np.nan), np.isfinite(p_values)
    if known.any():
        adjusted[known] = library.false_discovery_control(p_values[known], method="by")
    return adjusted


# --------------------------------------------------------------------------------- the topic's rows
FALSE_DISCOVERIES = 0.05
"""The paper's false discovery rate over annotators."""
FEWEST_RATERS = 3
"""With fewer tested annotators there is no winning rate, as in the paper."""
PASSES = 0.5
"""The judge passes if it wins against this share of annotators, as in the paper."""
SINGLE = "one call"
MEAN = "mean of calls"
CONSTANT = "mean of all ratings"


@topic("alt_test", axes=SCORED, charts=(Chart("forest", "alt_advantage", by="protocol"),))
def alt_test(arm: Arm, reading: ReadingPart | None = None) -> Iterator[Row | Caution]:
    """Yield the test for single calls, for the mean of calls, and for a constant as a baseline."""
    given = rated(arm)
    epsilon = (reading or ReadingPart()).epsilon
    if given is None:
        return
    rateable = given.several & np.isfinite(given.mean)
    if not given.comparable or not rateable.any():
        why = "one_rating" if given.comparable else "other_scale"
        yield Row("alt_advantage", missing(why), {"protocol": SINGLE})
        return
    everyone = np.nanmean(given.ratings)
    protocols = {
        SINGLE: None,
        MEAN: given.mean,
        CONSTANT: np.where(np.isfinite(given.mean), everyone, np.nan),
    }
    for protocol, values in protocols.items():
        every = [wins_against(given, k, values) for k in range(len(given.names))]
        tests = [against(won, arm.unit, epsilon) for won in every]
        tested = [won for won, test in zip(every, tests, strict=True) if np.isfinite(test.p)]
        of = {"protocol": protocol}
        near = advantage(given, tested)
        if protocol == CONSTANT and not near.why:
            near = plain(near.value, "learnt")  # a mean of the ratings that it is tested on
        yield Row("alt_advantage", near, of, counts={"n": int(rateable.sum())})
        adjusted = benjamini_yekutieli(np.array([test.p for test in tests]))
        paper = benjamini_yekutieli(np.array([test.paper for test in tests]))
        counts = {"n": len(tested), "epsilon": epsilon}
        rate = winning_rate(adjusted, len(tested), arm.alpha)
        yield Row("alt_winning_rate", rate, of, counts=counts)
        if protocol == CONSTANT and rate.value >= PASSES:
            yield Caution("constant_passes")
        yield Row("alt_winning_rate_paper", winning_rate(paper, len(tested)), of, counts=counts)
        if protocol == SINGLE and given.named:
            yield from _of_raters(given, every, tests, adjusted)
    if not given.named:
        yield Caution("many_raters")


def winning_rate(p: Floats, tested: int, rate: float = FALSE_DISCOVERIES) -> Estimate:
    """Return the share of tested annotators against whom the judge wins.

    ``p``: (annotators,). ``rate``: of false discoveries, less at a look at part of a run.
    """
    if tested < FEWEST_RATERS:
        return missing("few_raters")
    return plain(float((p < rate).sum()) / tested, "share_of_raters")


def _of_raters(
    given: Rated, every: list[Wins], tests: list[Against], adjusted: Floats
) -> Iterator[Row]:
    """Yield the judge's share of wins against each annotator."""
    for name, won, test, p in zip(given.names, every, tests, adjusted.tolist(), strict=True):
        if not test.items:
            continue
        nearer = plain(test.judge, "too_few_units")
        if np.isfinite(test.p):
            nearer = advantage(given, [won])
        yield Row(
            "alt_wins",
            nearer,
            {"rater": name},
            test=("score test, corrected over raters", p),
            counts={"n": test.items, "human": test.human},
        )


def wins_against(given: Rated, rater: int, values: Floats | None) -> Wins:
    """Return wins of the judge against one rater.

    By one number per item, or by single calls where that is None (mean over calls).
    """
    arm, ratings = given.arm, np.where(given.several[:, None], given.ratings, np.nan)
    if values is not None:
        judge, human = wins(values[:, None], ratings, rater)
        return judge[:, 0], human[:, 0]
    counts = crossed(arm.item[arm.rows], arm.items, arm.score[arm.rows], len(arm.scores))
    sides = wins(np.broadcast_to(arm.scores, counts.shape), ratings, rater)
    with np.errstate(invalid="ignore"):
        judge, human = ((side * counts).sum(axis=1) / counts.sum(axis=1) for side in sides)
    return judge, human


def advantage(given: Rated, every: list[Wins]) -> Estimate:
    """Return the mean over raters of the judge's share of wins.

    Without each unit in turn; Wilson's interval at that error.
    """
    if not every:
        return missing("few_raters")
    arm, judge = given.arm, np.stack([judge for judge, _ in every], axis=1)
    known = np.isfinite(judge)
    top, bottom = (sum_by(arm.unit, part, arm.units) for part in (np.nan_to_num(judge), known))
    used = bottom.sum(axis=1) > 0
    whole = top.sum(axis=0) / bottom.sum(axis=0)
    without = (top.sum(axis=0) - top[used]) / (bottom.sum(axis=0) - bottom[used])
    rule = Wilson(float(known.any(axis=1).sum()), balanced=True)
    return left_out(float(whole.mean()), without.mean(axis=1), arm.unit_names[used], rule)
