"""Correct the judge's mean scores, overall and by candidate or criterion, with few human ratings.

Prediction-powered inference. Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023,
Prediction-Powered Inference, section 2: the mean judge score of the unrated items, corrected by how
far judge and people are apart on the rated ones. Angelopoulos, Duchi and Zrnic 2023, PPI++, section
6: the judge counts with a weight that makes the interval as narrow as possible, so that a poor
judge does no harm. The rated items must be a random sample of the judged ones. The mean is about
all items that those judged are a sample of. Items of one unit (a prompt) count as one observation.

The share of items that pass is corrected in the same way on scales of more than two scores without
``[reading] cut``: those whose mean score (or rating) is at least the middle of the scale pass. For
all others see ``pass_fail``. Where ``[reading] labels`` says that the rated items were chosen, no
mean is corrected.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from rubriclab.core.estimate import Estimate, FewRated, missing, share_of
from rubriclab.core.judgments import Arm, label_of
from rubriclab.core.topic import Caution, Row, nothing, topic
from rubriclab.measures.pass_fail import cut_of, labels_unclear, why_chosen
from rubriclab.measures.rated import SCORED, Rated, rated
from rubriclab.model.study import ReadingPart
from rubriclab.stats.resample import Floats, Ints, sum_by

# ------------------------------------------------------------------------- prediction-powered means
FEWEST_RATED = 10
"""With fewer rated units no mean is corrected."""
SIGNIFICANT = 0.01
"""Below this p rated and unrated items are said to differ in the judge's scores."""
_TINY = 1e-12


class Part(NamedTuple):
    """A mean and its error.

    sums: (units,) what each unit adds to the error. ``fitted``: how many numbers were learnt.
    """

    value: float
    sums: Floats
    fitted: int = 1


def prediction_powered_mean(human: Floats, judge: Floats, others: Floats, weight: float) -> float:
    """Return the mean at a given weight; ``others``: the judge on items not rated."""
    return (
        float(weight * others.mean() + (human - weight * judge).mean())
        if len(others)
        else float(human.mean())
    )


def tuned_weight(human: Floats, judge: Floats, others: Floats) -> float:
    """Return the weight of least variance (PPI++, equation 7), kept to 0..1.

    0 where nothing is left to judge.
    """
    n, rest = len(human), len(others)
    spread = float(np.concatenate([judge, others]).var(ddof=1)) if n + rest > 1 else 0.0
    if n < 2 or rest == 0 or spread <= _TINY:
        return 0.0
    together = float(((human - human.mean()) * (judge - judge.mean())).mean())
    return float(np.clip(together / ((1.0 + n / rest) * spread), 0.0, 1.0))


def corrected_mean(
    human: Floats, judge: Floats, unit: Ints, units: int
) -> tuple[dict[str, Part], float]:
    """Return means of all items and the judge's weight.

    ``human``: (items,) NaN where not rated, some are; ``judge``: (items,).

    ``judge``: of its scores; ``rated``: of the ratings alone; ``corrected``: of both; ``bias``:
    judge - corrected. What every item adds to the error is summed over its ``unit`` (independent
    items: 2023, Proposition 1; PPI++, equation 6).
    """

    def influence(values: Floats) -> Floats:
        return np.asarray((values - values.mean()) / len(values)) if len(values) else values

    rated = np.isfinite(human)
    y, own, rest = human[rated], judge[rated], judge[~rated]
    weight = tuned_weight(y, own, rest)
    alone, both, every = np.zeros(len(human)), np.zeros(len(human)), influence(judge)
    alone[rated], both[rated], both[~rated] = (
        influence(y),
        influence(y - weight * own),
        weight * influence(rest),
    )
    value, learnt = prediction_powered_mean(y, own, rest, weight), 2 if weight > 0 else 1
    parts = {
        "judge": (float(judge.mean()), every, 1),
        "rated": (float(y.mean()), alone, 1),
        "corrected": (value, both, learnt),
        "bias": (float(judge.mean()) - value, every - both, learnt),
    }
    return {
        key: Part(mean, sum_by(unit, added, units), n) for key, (mean, added, n) in parts.items()
    }, weight


def unlike(human: Floats, judge: Floats, unit: Ints, units: int) -> tuple[float, float]:
    """Return mean judge score of rated - unrated items, and its two-sided p by units.

    NaN without FEWEST_RATED of both.
    """
    rated = np.isfinite(human)
    groups = min(
        int((np.bincount(unit[part], minlength=units) > 0).sum()) for part in (rated, ~rated)
    )
    if groups < FEWEST_RATED:
        return float("nan"), float("nan")
    gap = float(judge[rated].mean() - judge[~rated].mean())
    influence = np.where(
        rated,
        (judge - judge[rated].mean()) / rated.sum(),
        (judge[~rated].mean() - judge) / (~rated).sum(),
    )
    error = float(np.sqrt((sum_by(unit, influence, units) ** 2).sum() * groups / (groups - 1)))
    if error <= _TINY:
        return gap, 1.0 if abs(gap) <= _TINY else 0.0
    return gap, float(2.0 * special.stdtr(groups - 1, -abs(gap) / error))


# --------------------------------------------------------------------------------- the topic's rows
MEASURES = {
    "judge_mean": "judge",
    "rated_mean": "rated",
    "corrected_mean": "corrected",
    "corrected_bias": "bias",
}
PASSES = {"judge_pass": "judge", "corrected_pass": "corrected"}
MOST_SYSTEMS = 30
"""With more candidates (or criteria) than this, no single one has a mean of its own."""


@topic("corrected_means", axes=SCORED)
def corrected_means(arm: Arm, reading: ReadingPart | None = None) -> Iterator[Row | Caution]:
    given = rated(arm)
    if given is None:
        return
    if not given.comparable:
        yield from nothing(MEASURES, "other_scale", counts={})
        return
    reading = reading or ReadingPart()
    chosen = why_chosen(reading.labels)
    if labels_unclear(given, reading):
        chosen = "labels_unclear"
    whole = np.flatnonzero(np.isfinite(given.mean))
    systems: list[tuple[dict[str, str], Ints]] = [({}, whole)]
    items = arm.run.items.iloc[arm.item_code[whole]]
    for column, field in (("candidate", "candidate"), ("criterion", "target")):
        code, every = pd.factorize(items[column], sort=True)
        if 1 < len(every) <= MOST_SYSTEMS:
            systems += [({field: str(name)}, whole[code == k]) for k, name in enumerate(every)]
    for of, which in systems:
        yield from means(given, MEASURES, given.human, given.mean, of, which, chosen)
    if cut_of(arm, reading) is None:
        middle = float(arm.scores[[0, -1]].mean())
        people, judge = (
            np.where(np.isfinite(side), side >= middle, np.nan)
            for side in (given.human, given.mean)
        )
        yield from means(given, PASSES, people, judge, {"cut": label_of(middle)}, whole, chosen)
    if chosen:
        return
    unit, names = given.units(whole)
    gap, p = unlike(given.human[whole], given.mean[whole], unit, len(names))
    if p < SIGNIFICANT:
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
    chosen: str,
) -> Iterator[Row]:
    """Yield a row for each of ``measures``.

    ``chosen``: why the rated items are no random sample, which leaves nothing to correct; or empty.
    """
    human, judge = human[which], judge[which]
    unit, names = given.units(which)
    seen = np.isfinite(human)
    rated_units = np.bincount(unit[seen], minlength=len(names)) > 0
    counts = {"n": len(which), "rated": int(seen.sum()), "rated_units": int(rated_units.sum())}
    if rated_units.sum() < FEWEST_RATED:
        yield from nothing(measures, "few_rated_units", of, counts=counts)
        return
    made, weight = corrected_mean(human, judge, unit, len(names))
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
        if chosen and key != "judge":
            yield Row(measure, missing(chosen), of, counts=counts)
            continue
        own = part.sums if key == "judge" else part.sums[rated_units]
        influence = part.sums * len(names)
        estimate = Estimate(
            part.value, influence - influence.mean(), names, FewRated(own, part.fitted)
        )
        yield Row(measure, estimate, of, counts=counts | {"weight": weight})
