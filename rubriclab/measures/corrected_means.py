"""The judge's scores and few ratings in, its corrected mean over all items out: of all, by
candidate, by criterion.

With it the share of items that pass, whose mean score (or rating) is at least the reading's
``cut``, by default the middle of the scale.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.core.estimate import Estimate, FewRated, share_of
from rubriclab.core.judgments import Arm, label_of
from rubriclab.core.topic import Caution, Row, nothing, topic
from rubriclab.measures.rated import SCORED, Rated, rated
from rubriclab.model.study import ReadingPart
from rubriclab.stats import prediction_powered as stats
from rubriclab.stats.resample import Floats, Ints

MEASURES = {
    "judge_mean": "judge",
    "rated_mean": "rated",
    "corrected_mean": "corrected",
    "corrected_bias": "bias",
}
PASSES = {"judge_pass": "judge", "corrected_pass": "corrected"}
MOST_SYSTEMS = 30
"""Of more candidates (or criteria) than this no single one has a mean of its own."""


@topic("corrected_means", axes=SCORED)
def corrected_means(arm: Arm, reading: ReadingPart | None = None) -> Iterator[Row | Caution]:
    given = rated(arm)
    if given is None:
        return
    if not given.comparable:
        yield from nothing(MEASURES, "other_scale", counts={})
        return
    cut = (reading or ReadingPart()).cut
    cut = float(arm.scores[[0, -1]].mean() if cut is None else cut)
    people, judge = (
        np.where(np.isfinite(side), side >= cut, np.nan) for side in (given.human, given.mean)
    )
    whole = np.flatnonzero(np.isfinite(given.mean))
    systems: list[tuple[dict[str, str], Ints]] = [({}, whole)]
    items = arm.run.items.iloc[arm.item_code[whole]]
    for column, field in (("candidate", "candidate"), ("criterion", "target")):
        code, every = pd.factorize(items[column], sort=True)
        if 1 < len(every) <= MOST_SYSTEMS:
            systems += [({field: str(name)}, whole[code == k]) for k, name in enumerate(every)]
    for of, which in systems:
        yield from means(given, MEASURES, given.human, given.mean, of, which)
    yield from means(given, PASSES, people, judge, {"cut": label_of(cut)}, whole)
    unit, names = given.units(whole)
    gap, p = stats.unlike(given.human[whole], given.mean[whole], unit, len(names))
    if p < stats.SIGNIFICANT:
        yield Caution(
            "rated_unlike", of={"gap": abs(gap), "direction": "higher" if gap > 0 else "lower"}
        )


def means(
    given: Rated,
    measures: dict[str, str],
    human: Floats,
    judge: Floats,
    of: Mapping[str, Any],
    which: Ints,
) -> Iterator[Row]:
    human, judge = human[which], judge[which]
    unit, names = given.units(which)
    seen = np.isfinite(human)
    rated_units = np.bincount(unit[seen], minlength=len(names)) > 0
    counts = {"n": len(which), "rated": int(seen.sum()), "rated_units": int(rated_units.sum())}
    if rated_units.sum() < stats.FEWEST_RATED:
        yield from nothing(measures, "few_rated_units", of, counts=counts)
        return
    made, weight = stats.corrected_mean(human, judge, unit, len(names))
    for measure, key in measures.items():
        if measure == "judge_pass":
            yield Row(
                measure,
                share_of(judge, np.ones(len(which), dtype=bool), unit, names),
                of,
                counts=counts,
            )
            continue
        part = made[key]
        own = part.sums if key == "judge" else part.sums[rated_units]
        influence = part.sums * len(names)
        estimate = Estimate(
            part.value, influence - influence.mean(), names, FewRated(own, part.fitted)
        )
        yield Row(measure, estimate, of, counts=counts | {"weight": weight})
