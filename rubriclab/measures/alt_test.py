"""Raters and a judge in; may it replace one of them, out: the alternative annotator test (Calderon
et al. 2025).
"""

from collections.abc import Iterator

import numpy as np

from rubriclab.core.estimate import Estimate, Wilson, left_out, missing, plain
from rubriclab.core.judgments import Arm
from rubriclab.core.topic import Caution, Chart, Row, topic
from rubriclab.measures.rated import SCORED, Rated, rated
from rubriclab.model.study import ReadingPart
from rubriclab.stats import alt_test as stats
from rubriclab.stats.resample import Floats, crossed, sum_by

FALSE_DISCOVERIES, FEWEST_RATERS, PASSES = 0.05, 3, 0.5
SINGLE, MEAN, CONSTANT = "one call", "mean of calls", "mean of all ratings"


@topic("alt_test", axes=SCORED, charts=(Chart("forest", "alt_advantage", by="protocol"),))
def alt_test(arm: Arm, reading: ReadingPart | None = None) -> Iterator[Row | Caution]:
    given, epsilon = rated(arm), (reading or ReadingPart()).epsilon
    if given is None:
        return
    rateable = given.several & np.isfinite(given.mean)
    if not given.comparable or not rateable.any():
        yield Row(
            "alt_advantage",
            missing("one_rating" if given.comparable else "other_scale"),
            {"protocol": SINGLE},
        )
        return
    everyone = np.nanmean(given.ratings)
    protocols = {
        SINGLE: None,
        MEAN: given.mean,
        CONSTANT: np.where(np.isfinite(given.mean), everyone, np.nan),
    }
    for protocol, values in protocols.items():
        every = [wins(given, k, values) for k in range(len(given.names))]
        tests = [stats.against(won, arm.unit, epsilon) for won in every]
        tested = [won for won, test in zip(every, tests, strict=True) if np.isfinite(test.p)]
        of, counts = {"protocol": protocol}, {"n": len(tested), "epsilon": epsilon}
        near = advantage(given, tested)
        near = near if protocol != CONSTANT or near.why else plain(near.value, "learnt")
        yield Row("alt_advantage", near, of, counts={"n": int(rateable.sum())})
        adjusted, paper = map(
            stats.benjamini_yekutieli, np.array([(test.p, test.paper) for test in tests]).T
        )
        for measure, p in (("alt_winning_rate", adjusted), ("alt_winning_rate_paper", paper)):
            rate = float((p < FALSE_DISCOVERIES).sum()) / max(len(tested), 1)
            enough = len(tested) >= FEWEST_RATERS
            yield Row(
                measure,
                plain(rate, "share_of_raters") if enough else missing("few_raters"),
                of,
                counts=counts,
            )
            if measure == "alt_winning_rate" and protocol == CONSTANT and enough and rate >= PASSES:
                yield Caution("constant_passes")
        if protocol == SINGLE and given.named:
            for name, won, test, p in zip(
                given.names, every, tests, adjusted.tolist(), strict=True
            ):
                if test.items:
                    nearer = (
                        advantage(given, [won])
                        if np.isfinite(test.p)
                        else plain(test.judge, "too_few_units")
                    )
                    counted = {"n": test.items, "human": test.human}
                    yield Row(
                        "alt_wins",
                        nearer,
                        {"rater": name},
                        ("score test, corrected over raters", p),
                        counted,
                    )
    if not given.named:
        yield Caution("many_raters")


def wins(given: Rated, rater: int, values: Floats | None) -> stats.Wins:
    """The judge against one rater: of one number an item, or of single calls where that is None
    (mean over calls).
    """
    arm, ratings = given.arm, np.where(given.several[:, None], given.ratings, np.nan)
    if values is not None:
        judge, human = stats.wins(values[:, None], ratings, rater)
        return judge[:, 0], human[:, 0]
    counts = crossed(arm.item[arm.rows], arm.items, arm.score[arm.rows], len(arm.scores))
    sides = stats.wins(np.broadcast_to(arm.scores, counts.shape), ratings, rater)
    with np.errstate(invalid="ignore"):
        judge, human = ((side * counts).sum(axis=1) / counts.sum(axis=1) for side in sides)
    return judge, human


def advantage(given: Rated, every: list[stats.Wins]) -> Estimate:
    """Mean over raters of the judge's share of wins, without each unit in turn; Wilson's interval
    at that error.
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
