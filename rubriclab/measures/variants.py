"""Say what a variant of the judge prompt does to scores, compared with the default.

Source: Li et al., Tables 2 to 4.

Differences are paired by item. Scores change from call to call in any case, so changed scores are
compared with those that change when the same form is repeated.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from rubriclab.core.cells import Answers
from rubriclab.core.estimate import (
    Estimate,
    Reach,
    Student,
    mean_over,
    missing,
    plain,
    share_of,
)
from rubriclab.core.judgments import Arm, label_of
from rubriclab.core.topic import Chart, Row, nothing, topic
from rubriclab.core.variant_effects import forms, side_by_side
from rubriclab.measures.pass_fail import FEWEST_LABELS, cut_of, passing_share
from rubriclab.measures.people import yardsticks
from rubriclab.measures.rated import SCORED, Rated, beside, rated
from rubriclab.measures.shift import beside_noise
from rubriclab.model.study import ReadingPart
from rubriclab.stats.correlation import pearson, spearman
from rubriclab.stats.noise import differences
from rubriclab.stats.resample import Bools, Floats, Ints

CHARTS = (
    Chart("forest", "variant_shift", by="variant"),
    Chart("forest", "variant_flips", by="variant"),
    Chart("cells", "form_score_share", by="score", across="variant"),
    Chart("curve", "variant_shift", by="variant"),
)
MEASURES = (
    "variant_flips",
    "variant_repeat",
    "variant_excess",
    "variant_shift",
    "variant_distance",
)
FAILED = -1
"""Code of a reply without a score, as in the paper."""


@topic("variants", axes={*SCORED, "pairs", "lists"}, charts=CHARTS, per="run")
def variants(arms: Sequence[Arm], reading: ReadingPart | None = None) -> Iterator[Row]:
    """Yield rows for each condition in another form, compared with the default of its strategy."""
    reading = reading or ReadingPart()
    shown: set[int] = set()
    for form in forms(arms):
        for base, arm in zip(form.base, form.arms, strict=True):
            made = side_by_side(replace(form, base=(base,), arms=(arm,)))
            of = {"variant": form.name}
            if made is None:
                yield from nothing(MEASURES, "other_scores", of, condition=arm.code, counts={})
            else:
                yield from changed(arm, of, *made)
            if arm.condition.chooses:
                continue
            yield from means_of_both(beside(arm, base), of, comparable=made is not None)
            if made is not None:
                yield from rates_of_both(arm, base, of, reading)
            if base.code not in shown:
                shown.add(base.code)
                yield from of_people(base)
                yield from distribution(base, "default")
            yield from distribution(arm, form.name)


def means_of_both(both: Rated, of: Mapping[str, str], *, comparable: bool) -> Iterator[Row]:
    """Yield how an item's mean score differs between the forms, and how the two correlate.

    The mean difference (other form - default) and its mean size, in points; r of the two forms; r
    and rho of this form with people, and with every other judge in its own default form, on the
    items that both forms have, and their differences from the default form's (Li et al., Table 3).
    """
    arm, moved, people = both.arm, both.mean - both.human, rated(both.arm)
    about: dict[str, Any] = {"condition": arm.code, "counts": {"n": len(both.paired)}}
    for measure, values in (
        (("variant_shift", moved), ("variant_distance", np.abs(moved))) if comparable else ()
    ):
        rule = partial(Student, step=arm.step, positive=measure == "variant_distance")
        yield Row(measure, mean_over(values, arm.unit, arm.unit_names, rule), of, **about)
    yield Row("variant_pearson", both.r(both.paired), of, **about)
    if people is not None:
        yield from agreement(people, both, {**of, "against": "people"}, of)
    for other in yardsticks(arm):
        named = {**of, "against": other.code}
        yield from agreement(beside(arm, other), both, named, named)


def agreement(
    yardstick: Rated, both: Rated, of: Mapping[str, Any], of_difference: Mapping[str, Any]
) -> Iterator[Row]:
    """Yield r and rho of a form with a yardstick, and their differences from the default form's.

    ``both``: the form's scores (mean) next to those in the default form (human).
    """
    which = np.intersect1d(yardstick.paired, both.paired)
    about: dict[str, Any] = {"condition": both.arm.code, "counts": {"n": len(which)}}
    default = replace(yardstick, mean=both.human)
    for statistic in (pearson, spearman):
        mine, theirs = (each.r(which, statistic) for each in (yardstick, default))
        name = f"variant_{statistic.__name__}"
        yield Row(name, mine, of, **about)
        yield Row(f"{name}_difference", mine - theirs, of_difference, **about)


def rates_of_both(
    arm: Arm, base: Arm, of: Mapping[str, str], reading: ReadingPart
) -> Iterator[Row]:
    """Yield how sensitivity and specificity differ between the forms (other form - default).

    On the labelled items that have a verdict in both forms: the share of an item's calls that give
    people's label in the one form, less that in the other. Nothing where answers do not pass or
    fail, or without people's labels on the judge's scale.
    """
    people, cut, cut_of_base = rated(arm), cut_of(arm, reading), cut_of(base, reading)
    if people is None or cut is None or cut_of_base is None or not people.comparable:
        return
    label = cut.passes(people.human)
    default = passing_share(base, cut_of_base, np.ones(len(base.item), dtype=bool))
    passed = passing_share(arm, cut, np.ones(len(arm.item), dtype=bool))
    more = passed - base.of_run(default)[arm.item_code]
    tied = int((label == 0.5).sum())
    for measure, of_class, right in (
        ("variant_sensitivity_difference", 1.0, more),
        ("variant_specificity_difference", 0.0, -more),
    ):
        which = (label == of_class) & np.isfinite(more)
        counts = {"n": int(which.sum()), "tied": tied}
        estimate = _rate_apart(people, right, which, reading.labels)
        yield Row(measure, estimate, of, condition=arm.code, counts=counts)


def _rate_apart(people: Rated, right: Floats, which: Bools, chosen: str) -> Estimate:
    """Return the mean of ``right`` (items,) over the labelled items ``which`` of one class.

    ``chosen``: how the labelled items were chosen, as ``[reading] labels``.
    """
    if chosen == "by verdict":
        return missing("labels_by_verdict")
    unit, names = people.units(which)
    rule = partial(Reach, 1.0, least=-1.0, most=1.0)
    made = mean_over(right[which], unit, names, rule, none="few_labels")
    if len(names) < FEWEST_LABELS:
        return plain(made.value, "few_labels", none="few_labels")
    return made


def changed(arm: Arm, of: Mapping[str, str], answers: Answers, item_of_lot: Ints) -> Iterator[Row]:
    """Yield the share of scores (or winners) that differ between forms, in one, and the excess."""
    lots = len(item_of_lot)

    def apart(side: int | None) -> Floats:
        """(lots,) share of columns that differ: between the forms, or of two calls of one
        ``side``.
        """
        kept = np.flatnonzero(answers.parsed & (True if side is None else answers.order == side))
        parts = [
            differences(answers.item[kept], answers.order[kept], column, len(answers.points), lots)
            for column in answers.code[kept].T
        ]
        return np.asarray(np.mean([part[side is not None] for part in parts], axis=0))

    def row(measure: str, values: Floats, why: str) -> Row:
        known, units = np.isfinite(values), (arm.run.unit_of_item[item_of_lot], arm.run.unit_names)
        if measure == "variant_excess":
            estimate = mean_over(values, *units, partial(Reach, 1.0), none=why)
        else:
            estimate = share_of(values, known, *units, none=why)
        counts = {"n": len(np.unique(item_of_lot[known]))}
        return Row(measure, estimate, of, condition=arm.code, counts=counts)

    flips, sides = apart(None), np.stack([apart(0), apart(1)])
    silent = "noise_elsewhere" if np.isfinite(sides).any() else "no_repeats"
    lots_of_both = int(np.isfinite(flips).sum())
    yield from beside_noise(
        MEASURES[:3], flips, sides.mean(axis=0), lots_of_both, row, "nothing_parsed", silent
    )


def distribution(arm: Arm, name: str) -> Iterator[Row]:
    """Yield the share of each score among all replies, -1 for none (Li et al., Figure 3)."""
    given = np.where(arm.ok, arm.score, FAILED)
    yield from _shares_of_scores(
        arm, name, [FAILED, *range(len(arm.scores))], given, arm.unit[arm.item]
    )


def of_people(arm: Arm) -> Iterator[Row]:
    """Yield the same for people's mean ratings, rounded to the nearest score, up in the middle."""
    people = rated(arm)
    if people is not None and people.comparable:
        known = np.isfinite(people.human)
        middle = (arm.scores[1:] + arm.scores[:-1]) / 2
        nearest = np.searchsorted(middle, people.human[known], side="right")
        yield from _shares_of_scores(
            arm, "people", range(len(arm.scores)), nearest, arm.unit[known]
        )


def _shares_of_scores(
    arm: Arm, name: str, codes: Iterable[int], given: Ints, unit: Ints
) -> Iterator[Row]:
    for code in codes:
        score = FAILED if code == FAILED else label_of(arm.condition.scores[code])
        estimate = share_of(given == code, np.ones(len(given), dtype=bool), unit, arm.unit_names)
        of = {"score": score, "variant": name}
        yield Row("form_score_share", estimate, of, condition=arm.code, counts={"n": len(given)})
