"""Compare a judge that passes or fails answers with people's labels.

It runs where the scale has two scores, or where ``[reading] cut`` says which scores pass. People's
label of an item is the side of the cut on which their mean rating lies. Items whose ratings lie
exactly between are left out, and counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy import special

from rubriclab.core.estimate import (
    Estimate,
    Fisher,
    Labelled,
    Opaque,
    jackknife,
    missing,
    plain,
    share_of,
    simultaneous,
    weighted,
)
from rubriclab.core.judgments import Arm, Names, label_of, once
from rubriclab.core.topic import Caution, Chart, Row, nothing, topic
from rubriclab.measures.agreement import COEFFICIENTS, coefficients, explained, pairs_across
from rubriclab.measures.protocols import AVERAGE
from rubriclab.measures.rated import SCORED, Rated, rated
from rubriclab.model.passing import Cut, cut_at
from rubriclab.model.study import ReadingPart
from rubriclab.stats.pass_fail import (
    Corrected,
    differ_p,
    difference_error,
    error_rate_rate,
    regression_rate,
)
from rubriclab.stats.resample import Bools, Floats, Ints

FEWEST_LABELS = 10
"""With fewer independent labels of a class nothing is said of it with an interval."""
UNLABELLED = 0.05
"""If more verdicts than this are on a side without a label, the pass rate is not corrected."""
MOST_ORDERS = 10
"""With more orders than this, single orders get no rows."""
RATES = ("sensitivity", "specificity", "youden")
PASS_RATES = ("people_pass", "judge_pass", "corrected_pass", "corrected_pass_rates")
SIDE = "pass or fail"
"""What rows about agreement on pass or fail have as their ``side``."""


def cut_of(arm: Arm, reading: ReadingPart) -> Cut | None:
    """Return where passing begins; None for a longer scale without ``[reading] cut``."""
    return cut_at(arm.scores.tolist(), arm.run.passing_score(arm.code, reading), reading)


@dataclass(frozen=True, eq=False)
class Labels:
    """The judged items with their labels and verdicts.

    label: (items,) 1 passes, 0 fails, NaN without a label. verdict: (items,) the share of an
    item's calls that pass. average: (items,) the verdict of the mean over all calls. by_order: the
    verdicts of each order by its name, if items share their orders. unit: (items,) an index into
    ``names``. calls: the most calls of an item. tied: items left out because their raters are
    divided evenly. chosen: how the labelled items were chosen, as ``[reading] labels``.
    """

    label: Floats = field(repr=False)
    verdict: Floats = field(repr=False)
    average: Floats = field(repr=False)
    by_order: dict[str, Floats] = field(repr=False)
    unit: Ints = field(repr=False)
    names: Names = field(repr=False)
    calls: int = 1
    tied: int = 0
    chosen: str = ""

    @cached_property
    def known(self) -> Bools:
        return np.isfinite(self.label)

    @cached_property
    def labelled_units(self) -> int:
        return len(np.unique(self.unit[self.known]))

    @property
    def why_chosen(self) -> str:
        """Why the labelled items are no random sample, as ``[reading] labels`` says; or empty."""
        return why_chosen(self.chosen)

    def counts(self, which: Bools) -> dict[str, int]:
        return {"n": int(which.sum()), "tied": self.tied}

    def of_class(self, passed: bool, right: Floats, *, balanced: bool) -> Estimate:
        """Return the share of one class that the judge gets right.

        ``right``: (items,) the share of calls that give the label, NaN without a call.
        """
        which = (self.label == float(passed)) & np.isfinite(right)
        if self.chosen == "by verdict":
            return missing("labels_by_verdict")
        made = share_of(right, which, self.unit, self.names, balanced=balanced, none="few_labels")
        if len(np.unique(self.unit[which])) < FEWEST_LABELS:
            return plain(made.value, "few_labels", none="few_labels")
        return made

    def both(self, verdict: Floats, *, balanced: bool) -> tuple[Estimate, Estimate]:
        """Return sensitivity and specificity of verdicts (items,)."""
        return (
            self.of_class(True, verdict, balanced=balanced),
            self.of_class(False, 1.0 - verdict, balanced=balanced),
        )

    @cached_property
    def regression(self) -> Corrected | None:
        """The pass rate corrected by regression; None where ``why_no_regression`` says why."""
        if self.why_no_regression:
            return None
        return regression_rate(self.label, self.verdict, self.unit, len(self.names))

    @cached_property
    def by_error_rates(self) -> Corrected | None:
        """The pass rate corrected by error rates; None where ``why_no_error_rates`` says why."""
        if self.why_no_error_rates:
            return None
        return error_rate_rate(self.label, self.verdict, self.unit, len(self.names))

    @cached_property
    def why_no_regression(self) -> str:
        """Why the pass rate cannot be corrected by what the verdicts mean; or empty."""
        if self.labelled_units < FEWEST_LABELS:
            return "few_rated_units"
        for side in (self.verdict > 0.5, self.verdict <= 0.5):
            if side.mean() > UNLABELLED and not (side & self.known).any():
                return "unlabelled_verdict"
        return ""

    @cached_property
    def why_no_error_rates(self) -> str:
        """Why the pass rate cannot be corrected by error rates; or empty."""
        for of_class in (0.0, 1.0):
            if len(np.unique(self.unit[self.label == of_class])) < FEWEST_LABELS:
                return "few_labels"
        balanced = self.calls > 1
        passed, failed = self.label == 1.0, self.label == 0.0
        together = youden(
            share_of(self.verdict, passed, self.unit, self.names, balanced=balanced),
            share_of(1.0 - self.verdict, failed, self.unit, self.names, balanced=balanced),
        )
        return "" if together.interval()[0] > 0.0 else "not_with_labels"


def why_chosen(labels: str) -> str:
    """Return the reason for ``[reading] labels`` that are no random sample; empty for others."""
    return f"labels_{labels.replace(' ', '_')}" if labels in ("by label", "by verdict") else ""


@once
def labels_of(arm: Arm, cut: Cut, chosen: str) -> Labels:
    """Return a rated arm's judged items with people's labels and the judge's verdicts.

    ``chosen``: how the labelled items were chosen, as ``[reading] labels``.
    """
    given = rated(arm)
    assert given is not None  # both callers have looked
    verdict = passing_share(arm, cut, np.ones(len(arm.item), dtype=bool))
    which = np.flatnonzero(np.isfinite(verdict))
    label = cut.passes(given.human[which])
    tied = label == 0.5
    by_order = {}
    if not arm.condition.drawn and 2 <= len(arm.shown) <= MOST_ORDERS:
        for order in range(len(arm.shown)):
            by_order[arm.order_label(order)] = passing_share(arm, cut, arm.order == order)[which]
    unit, names = given.units(which)
    return Labels(
        label=np.where(tied, np.nan, label),
        verdict=verdict[which],
        average=cut.passes(given.mean[which]),
        by_order=by_order,
        unit=unit,
        names=names,
        calls=int(np.bincount(arm.item[arm.ok]).max(initial=0)),
        tied=int(tied.sum()),
        chosen=chosen,
    )


def people_pass_rate(arm: Arm, reading: ReadingPart) -> float:
    """Return the share of labelled items that people pass, as the row ``people_pass`` has it.

    NaN where nobody's labels are there, and where they were chosen: then it is not that of all.
    """
    given, cut = rated(arm), cut_of(arm, reading)
    if given is None or cut is None or not given.comparable:
        return float("nan")
    labels = labels_of(arm, cut, reading.labels)
    if labels.why_chosen or not labels.known.any():
        return float("nan")
    return float(labels.label[labels.known].mean())


def passing_share(arm: Arm, cut: Cut, which: Bools) -> Floats:
    """(items,): the share of an item's parsed calls among ``which`` that pass; NaN without one."""
    kept = which & arm.ok
    item = arm.item[kept]
    passes = np.bincount(item, cut.passes(arm.value[kept]), arm.items)
    with np.errstate(invalid="ignore"):
        return np.asarray(passes / np.bincount(item, minlength=arm.items))


# --------------------------------------------------------------------------------- the topic's rows
@topic(
    "pass_fail",
    axes=SCORED,
    charts=(Chart("forest", "sensitivity", by="order"), Chart("forest", "specificity", by="order")),
)
def pass_fail(arm: Arm, reading: ReadingPart | None = None) -> Iterator[Row | Caution]:
    reading = reading or ReadingPart()
    given, cut = rated(arm), cut_of(arm, reading)
    if given is None or cut is None:
        return
    if not given.comparable:
        yield from nothing((*RATES, *PASS_RATES), "other_scale", counts={})
        return
    labels = labels_of(arm, cut, reading.labels)
    if not labels.known.any():
        yield from nothing((*RATES, *PASS_RATES), "few_labels")
        return
    if labels.tied:
        yield Caution("divided_raters", of={"items": labels.tied})
    yield from rows_of(labels, label_of(cut.named))


def rows_of(labels: Labels, cut: float) -> Iterator[Row | Caution]:
    """Yield all rows about labelled items. ``cut``: the score that rows name the cut by."""
    yield from error_rates(labels)
    yield from rates_by_order(labels)
    yield from of_the_average(labels)
    yield from agreement_beyond_chance(labels)
    yield from pass_rates(labels, cut)


def error_rates(labels: Labels) -> Iterator[Row]:
    """Yield sensitivity, specificity and Youden's J of one call in a random order."""
    balanced = labels.calls > 1
    sensitivity, specificity = labels.both(labels.verdict, balanced=balanced)
    for measure, estimate, of_class in (
        ("sensitivity", sensitivity, 1.0),
        ("specificity", specificity, 0.0),
    ):
        yield Row(measure, estimate, counts=labels.counts(labels.label == of_class))
    yield Row("youden", youden(sensitivity, specificity), counts=labels.counts(labels.known))


def youden(sensitivity: Estimate, specificity: Estimate) -> Estimate:
    """Return sensitivity + specificity - 1, with an interval from both of theirs."""
    if why := sensitivity.why or specificity.why:
        return plain(sensitivity.value + specificity.value - 1.0, why)
    return weighted(-1.0, [(1.0, sensitivity), (1.0, specificity)])


def rates_by_order(labels: Labels) -> Iterator[Row]:
    """Yield sensitivity and specificity in each order, with intervals that hold for all orders."""
    balanced = labels.calls > len(labels.by_order)
    both = {
        order: labels.both(verdict, balanced=balanced) for order, verdict in labels.by_order.items()
    }
    for k, measure in enumerate(("sensitivity", "specificity")):
        known = [pair[k] for pair in both.values() if not pair[k].why]
        level = simultaneous(known) if known else 0.95
        for order, pair in both.items():
            which = (labels.label == 1.0 - k) & np.isfinite(labels.by_order[order])
            yield Row(measure, pair[k], {"order": order}, counts=labels.counts(which), level=level)


def of_the_average(labels: Labels) -> Iterator[Row]:
    """Yield sensitivity and specificity of the mean over all calls, if there are several."""
    if labels.calls < 2:
        return
    both = labels.both(labels.average, balanced=False)
    for k, measure in enumerate(("sensitivity", "specificity")):
        counts = labels.counts(labels.label == 1.0 - k)
        yield Row(measure, both[k], {"protocol": AVERAGE}, counts=counts)


def agreement_beyond_chance(labels: Labels) -> Iterator[Row]:
    """Yield kappa and AC1 of one call with the label, and the share that chance alone agrees on."""
    known = labels.known
    verdict, label = labels.verdict[known], labels.label[known]
    counts = labels.counts(known)
    table = pairs_across(
        np.stack([1.0 - verdict, verdict], axis=1),
        np.stack([1.0 - label, label], axis=1),
        np.array([0.0, 1.0]),
        1.0,
        labels.unit[known],
        len(labels.names),
    )
    has_label = table.pairs.sum(axis=(1, 2)) > 0
    every = jackknife(
        partial(coefficients, values=table.values),
        (table.pairs[has_label], table.coincidences[has_label]),
        labels.names[has_label],
    )
    for name in ("kappa", "ac1"):
        outside = table.spread if name == "kappa" else np.inf
        estimate = explained(every[COEFFICIENTS.index(name)], outside=outside)
        yield Row(name, replace(estimate, rule=Fisher(fewest=10)), {"side": SIDE}, counts=counts)
    people, judge = float(label.mean()), float(verdict.mean())
    by_chance = people * judge + (1.0 - people) * (1.0 - judge)
    yield Row("chance_agreement", plain(by_chance, "from_pass_rates"), counts=counts)


def pass_rates(labels: Labels, cut: float) -> Iterator[Row | Caution]:
    """Yield people's and the judge's pass rate, both corrections, and whether these differ."""
    known, of = labels.known, {"cut": cut}
    every = np.ones(len(labels.label), dtype=bool)
    unit, names = labels.unit, labels.names
    counts = {"n": len(labels.label), "rated": int(known.sum()), "tied": labels.tied}
    people = share_of(labels.label, known, unit, names)
    if labels.why_chosen:
        people = plain(people.value, labels.why_chosen)
    yield Row("people_pass", people, of, counts=labels.counts(known))
    balanced = labels.calls > 1
    judge = share_of(labels.verdict, every, unit, names, balanced=balanced)
    yield Row("judge_pass", judge, of, counts=counts)
    regression, by_rates = labels.regression, labels.by_error_rates
    estimate = (
        missing(labels.why_no_regression) if regression is None else corrected(labels, regression)
    )
    if regression is not None and labels.chosen == "by label":
        estimate = missing("labels_by_label")
    yield Row("corrected_pass", estimate, of, counts=counts)
    estimate = (
        missing(labels.why_no_error_rates) if by_rates is None else corrected(labels, by_rates)
    )
    if by_rates is not None and labels.chosen == "by verdict":
        estimate = missing("labels_by_verdict")
    yield Row("corrected_pass_rates", estimate, of, counts=counts)
    if regression is not None and by_rates is not None:
        yield from how_chosen(labels, regression, by_rates, counts)


def labels_unclear(given: Rated, reading: ReadingPart) -> bool:
    """Return whether labels look chosen, and nobody has said how."""
    cut = cut_of(given.arm, reading)
    if cut is None or reading.labels or not given.comparable:
        return False
    labels = labels_of(given.arm, cut, reading.labels)
    if not labels.known.any():
        return False
    first, second = labels.regression, labels.by_error_rates
    if first is None or second is None:
        return False
    return differ_p(first, second, labels.labelled_units) <= given.arm.alpha


def corrected(labels: Labels, made: Corrected) -> Estimate:
    """Return a corrected pass rate with its interval.

    Without a number where the whole interval lies outside 0 to 1.
    """
    units = len(labels.names)
    rule = Labelled(labels.labelled_units, more=made.more)
    value = min(max(made.value, 0.0), 1.0)
    estimate = Estimate(made.value, made.sums * units, labels.names, rule)
    low, high = estimate.interval()
    if np.isfinite(low) and not low < high:
        return missing("outside")
    return replace(estimate, value=value, rule=Opaque(estimate.interval, fewest=FEWEST_LABELS))


def how_chosen(
    labels: Labels, regression: Corrected, by_rates: Corrected, counts: dict[str, Any]
) -> Iterator[Row | Caution]:
    """Yield how far the two corrections differ, and a caution where they surely do."""
    labelled, units = labels.labelled_units, len(labels.names)
    gap = by_rates.value - regression.value
    error = difference_error(regression, by_rates, labelled)

    def ends(level: float) -> tuple[float, float]:
        reach = float(special.stdtrit(max(labelled - 3, 1), 0.5 + level / 2)) * error
        return gap - reach, gap + reach

    influence = (by_rates.sums - regression.sums) * units
    estimate = Estimate(gap, influence, labels.names, Opaque(ends))
    p = differ_p(regression, by_rates, labelled)
    row = Row("labels_chosen", estimate, test=("Hausman", p), counts=counts)
    yield row
    if row.rejects and not labels.why_chosen:
        kind = "labels_not_random" if labels.chosen == "random" else "labels_chosen"
        first, second = (min(max(made.value, 0.0), 1.0) for made in (regression, by_rates))
        yield Caution(kind, of={"first": first, "second": second})
