"""What another form of the prompt does to scores: a variant beside the judge's default one (Li et al., Tables 2 to 4).

Differences are paired by item. Scores change from call to call in any case, so changed scores are set against those
that change when the same form asks again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from rubriclab.core.answers import Answers
from rubriclab.core.arm import Arm
from rubriclab.core.estimate import Estimate, missing, ratio, share
from rubriclab.core.intervals import Fisher, Reach, Student
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.core.variants import Form, forms, side_by_side
from rubriclab.stats.correlation import pearson
from rubriclab.stats.noise import differences
from rubriclab.stats.resample import Floats, Ints, sum_by
from rubriclab.topics.rated import SCORED, Rated, beside, rated

CHARTS = (
    Chart("forest", "variant_shift", by="variant"),
    Chart("forest", "variant_flips", by="variant"),
    Chart("cells", "form_score_share", by="score", across="variant"),
    Chart("curve", "variant_shift", by="variant"),
)
MEASURES = ("variant_flips", "variant_repeat", "variant_excess", "variant_shift", "variant_distance")
FAILED = -1
"""Stands for a reply without a score, as in the paper."""


@topic("variants", axes={*SCORED, "pairs", "lists"}, charts=CHARTS, per="run")
def variants(arms: Sequence[Arm]) -> Iterator[Row]:
    """Of each condition in another form, held against the default's condition of the same strategy."""
    shown: set[int] = set()
    for form in forms(arms):
        for base, arm in zip(form.base, form.arms, strict=True):
            one = replace(form, base=(base,), arms=(arm,))
            made = side_by_side(one)
            for measure in MEASURES if made is None else ():
                yield Row(measure, missing("other_scores"), {"variant": form.name}, condition=arm.code)
            if made is not None:
                yield from changed(one, *made)
            if arm.condition.chooses:
                continue
            if made is not None:
                yield from shifts(one)
            yield from correlations(one)
            if base.code not in shown:
                shown.add(base.code)
                yield from of_people(base)
                yield from distribution(base, "default")
            yield from distribution(arm, form.name)


def shifts(form: Form) -> Iterator[Row]:
    """Mean difference of an item's mean scores, other form - default, and the mean size of it, in points."""
    arm, other = form.arms[0], form.base[0]
    made = beside(arm, other)
    of, at = {"variant": form.name}, made.both
    unit, names = made.units(at)
    moved = made.mean[at] - made.human[at]
    for measure, values in (("variant_shift", moved), ("variant_distance", np.abs(moved))):
        top, count = (sum_by(unit, part, len(names)) for part in (values, np.ones(len(at))))

        def rule(moves: Floats, positive: bool = measure == "variant_distance") -> Student:
            return Student(step=arm.step, moves=moves, positive=positive)

        yield Row(measure, ratio(top, count, names, rule), of, condition=arm.code, counts={"n": len(at)})


def changed(form: Form, answers: Answers, item_of_lot: Ints) -> Iterator[Row]:
    """Share of scores (of choices: winners) that differ between a call in each form, in one form, and the excess."""
    arm, measures = form.arms[0], MEASURES[:3]
    lots, unlike = len(item_of_lot), 1.0 - np.eye(len(answers.points))

    def apart(side: int | None) -> Floats:
        """(lots,) share of columns that differ: between the forms, or of two calls of one ``side``."""
        kept = np.flatnonzero(answers.parsed & (True if side is None else answers.order == side))
        parts = [
            differences(answers.item[kept], answers.order[kept], column, unlike, lots)
            for column in answers.code[kept].T
        ]
        return np.asarray(np.mean([part.other if side is None else part.same for part in parts], axis=0))

    flips, own = apart(None), (apart(0) + apart(1)) / 2
    known = np.isfinite(flips - own)
    if not known.any():
        yield _over_lots(arm, measures[0], flips, item_of_lot, form)
        for measure in measures[1:]:
            yield Row(measure, missing("no_repeats"), {"variant": form.name}, condition=arm.code, counts={"n": 0})
        return
    for measure, values in zip(measures, (flips, own, flips - own), strict=True):
        yield _over_lots(arm, measure, np.where(known, values, np.nan), item_of_lot, form)


def _over_lots(arm: Arm, measure: str, values: Floats, item_of_lot: Ints, form: Form) -> Row:
    known = np.isfinite(values)
    unit, code = np.unique(arm.run.unit_of_item[item_of_lot[known]], return_inverse=True)
    top, count = (sum_by(code, part, len(unit)) for part in (values[known], known[known]))
    names = arm.run.unit_names[unit]
    excess = measure == "variant_excess"
    estimate = ratio(top, count, names, lambda moves: Reach(1.0, moves)) if excess else share(top, count, names)
    counts = {"n": len(np.unique(item_of_lot[known]))}
    return Row(measure, estimate, {"variant": form.name}, condition=arm.code, counts=counts)


def correlations(form: Form) -> Iterator[Row]:
    """r of the two forms' mean scores; r of this form with people on the same items, and its difference from the default's."""
    arm, other = form.arms[0], form.base[0]
    made = beside(arm, other)

    def r(of: Rated, at: Ints) -> Estimate:
        unit, names = of.units(at)
        return of.estimate(pearson(of.mean[at], of.human[at], unit, len(names)), names, Fisher())

    both = made.both
    about = {"variant": form.name}
    yield Row("variant_pearson", r(made, both), about, condition=arm.code, counts={"n": len(both)})
    people = rated(arm)
    if people is None:
        return
    default = replace(people, mean=made.human)
    at = np.intersect1d(people.both, both)
    mine, theirs, counts = r(people, at), r(default, at), {"n": len(at)}
    yield Row("variant_pearson", mine, {**about, "against": "people"}, condition=arm.code, counts=counts)
    yield Row("variant_pearson_difference", mine - theirs, about, condition=arm.code, counts=counts)


def distribution(arm: Arm, name: str) -> Iterator[Row]:
    """Share of each score among all replies, those without one as -1 (Li et al., Figure 3)."""
    unit = arm.unit[arm.item]
    every = np.bincount(unit, minlength=arm.units).astype(np.float64)
    for k, score in enumerate([FAILED, *arm.scores.tolist()]):
        given = sum_by(unit, np.where(arm.ok, arm.score, -1) == k - 1, arm.units)
        estimate = share(given, every, arm.unit_names) if len(unit) else missing("nothing_parsed")
        of = {"score": int(score) if float(score).is_integer() else score, "variant": name}
        yield Row("form_score_share", estimate, of, condition=arm.code, counts={"n": len(unit)})


def of_people(arm: Arm) -> Iterator[Row]:
    """The same of people's mean ratings, each to the nearest score, upwards from the middle."""
    people = rated(arm)
    if people is None or not people.comparable:
        return
    known = np.isfinite(people.human)
    middle = (arm.scores[1:] + arm.scores[:-1]) / 2
    nearest = np.searchsorted(middle, people.human[known], side="right")
    unit, names = people.units(known)
    every = np.bincount(unit).astype(np.float64)
    for k, score in enumerate(arm.scores.tolist()):
        of = {"score": int(score) if score.is_integer() else score, "variant": "people"}
        estimate = share(sum_by(unit, nearest == k, len(names)), every, names)
        yield Row("form_score_share", estimate, of, condition=arm.code, counts={"n": int(known.sum())})
