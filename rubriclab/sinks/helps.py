"""A judge's rows about protocols in; how many calls in which orders, and what else helps, in sentences out.

That something helps is said from an interval above 0 and only behind the gate: without an order effect nothing can.
"""

from __future__ import annotations

import math
from dataclasses import replace

from rubriclab.core.gate import ALPHA
from rubriclab.core.topic import TOPICS, Findings, Row
from rubriclab.model.text import count, shorten
from rubriclab.sinks.answer import BADGES, Answer, Question
from rubriclab.sinks.facts import EFFECT, EQUIVALENT, UNDECIDED, Facts, every_facts, variants_of
from rubriclab.sinks.marks import Curves
from rubriclab.sinks.pictures import generic
from rubriclab.sinks.text import NBSP, ends, number, reason
from rubriclab.topics.protocols import AVERAGE, BEST, BEYOND, CORRECTED, FORMS
from rubriclab.topics.reliability import MOST_CALLS, ONE_ORDER

HELPS = BADGES | {EFFECT: "Helps"}
REMEDIES = {
    AVERAGE: "Several orders, averaged",
    BEYOND: "Correct one call for its position",
    BEST: "One better order",
    FORMS: "Several forms of the prompt, averaged",
}


def row_of(findings: Findings, facts: Facts, measure: str, protocol: str = "") -> Row | None:
    """Of any condition of the setting: rows stand in that with most orders, those about forms in the first one."""
    own = findings.conditions[facts.condition]
    for row in findings.select(measure):
        asked = findings.conditions[row.condition]
        same = (
            (asked.judge, asked.dataset) == (own.judge, own.dataset)
            if protocol == FORMS
            else asked.setting == own.setting
        )
        if same and row.of.get("protocol", "") == protocol:
            return row
    return None


def helps_answers(findings: Findings) -> list[Answer]:
    """Of every judge, data set and setting whose calls can be averaged."""
    return [helps_answer(findings, facts) for facts in every_facts(findings) if row_of(findings, facts, "calls_needed")]


def helps_answer(findings: Findings, facts: Facts) -> Answer:
    """How many calls reach a dependability of 0.9, and remedies at equal numbers of calls."""
    headline, line = _calls(findings, facts)
    judge = shorten(facts.judge, 100)
    answer = Answer(judge, facts.condition, headline, line, about=facts.about, simulated=facts.simulated)
    if not facts.finished:
        return replace(answer, headline="How many calls are needed, so far")
    remedies = (_remedy(findings, facts, protocol) for protocol in REMEDIES)
    return replace(answer, questions=tuple(remedy for remedy in remedies if remedy is not None))


def _calls(findings: Findings, facts: Facts) -> tuple[str, str]:
    needed, one = (row_of(findings, facts, "calls_needed", protocol) for protocol in ("", ONE_ORDER))
    if needed is None or not math.isfinite(needed.value):
        if needed is not None and needed.why == "not_reached":
            return (
                f"No number of calls up to {MOST_CALLS} reaches 0.9",
                "Its mean score says too little of single answers.",
            )
        return "How many calls are needed is not known", reason(needed) if needed is not None else ""
    low, high = needed.interval
    inside = reason(needed).rstrip(".")
    if math.isfinite(low):
        to = f"{low:.0f} or more" if high >= MOST_CALLS else f"{low:.0f} to {high:.0f}"
        inside = f"95{NBSP}% CI for the number of calls: {to}"
    line = f"That reaches a dependability of 0.9 ({inside})."
    again = one.value if one is not None else math.nan
    if facts.gate_open and needed.value > 1:
        if one is not None and one.why == "not_reached":
            line += f" Repeating one order does not get there in {MOST_CALLS} calls."
        elif math.isfinite(again):
            line += f" In one order it takes {again:.0f}."
        return f"Average {needed.value:.0f} calls in different orders", line
    if needed.value == 1 or (again <= needed.value and facts.is_(EQUIVALENT, *facts.questions)):
        return (
            f"{count(int(needed.value), 'call')} in one order {'is enough' if needed.value == 1 else 'are as good'}",
            line,
        )
    return f"Average {needed.value:.0f} calls", f"{line} That different orders help is not shown."


def _remedy(findings: Findings, facts: Facts, protocol: str) -> Question | None:
    """Helps: the interval is above 0, behind the gate. No: it ends below the smallest effect. Else undecided."""
    row = row_of(findings, facts, "gain_pearson", protocol)
    by_r = row is not None and math.isfinite(row.interval[0])
    if not by_r:
        row = row_of(findings, facts, "gain", protocol) or row_of(
            findings, facts, "gain", CORRECTED if protocol == BEYOND else AVERAGE
        )
    if row is None or (protocol == FORMS and row.of["protocol"] != FORMS):
        return None
    title, (low, high) = REMEDIES[protocol], row.interval
    if not math.isfinite(low):
        said = reason(row)
        if row.why == "few_for_best_order":
            said = f"A best order needs 30 or more groups (train/test split); this run has {facts.units}."
        return Question(HELPS[UNDECIDED], title, said, UNDECIDED)
    smallest = (
        findings.reading.smallest.r
        if by_r
        else findings.reading.smallest.mean * findings.judgments.arms[row.condition].step
    )
    unit = "" if by_r else f"{NBSP}points"
    inside, gained = ends(low, high, ".2f", limits=(0.0, smallest)), number(abs(row.value), ".2f") + unit
    limit = number(smallest, ".2f") + unit
    over = " over drawing scores to the mean" if protocol == BEYOND else ""
    if high < smallest:
        return Question(
            HELPS[EQUIVALENT], title, f"No gain of {limit} or more{over} at equal cost ({inside}).", EQUIVALENT
        )
    shown = _forms_matter(findings, facts) if protocol == FORMS else facts.gate_open
    if low > 0 and shown:
        rises = f"r rises by {gained}" if by_r else f"Scores come {gained} nearer to the mean over all orders"
        return Question(HELPS[EFFECT], title, f"{rises}{over} at equal cost ({inside}).", EFFECT)
    what = "r" if by_r else "distance from the mean over all orders"
    open_question = "" if shown else " The order itself is not shown to matter."
    if protocol == FORMS and not shown:
        open_question = " The form itself is not shown to matter."
    sign = "worse" if row.value < 0 else "better"
    said = (
        f"No gain shown{over}: {what} {sign} by {gained} at equal cost ({inside}); {limit} would matter.{open_question}"
    )
    return Question(HELPS[UNDECIDED], title, said, UNDECIDED)


def _forms_matter(findings: Findings, facts: Facts) -> bool:
    """Does any form change scores, by its gate (Bonferroni over forms)?"""
    gates = [form.gate for form in variants_of(findings, facts.condition) if math.isfinite(form.gate)]
    return bool(gates) and min(gates) * len(gates) <= ALPHA


def calls_curve(findings: Findings, facts: Facts) -> Curves | None:
    """Dependability against calls an item, in different orders and in one; dotted: 0.9."""
    row = row_of(findings, facts, "calls_needed")
    drawn = None if row is None else generic(TOPICS["reliability"].charts[0], findings, row.condition)
    if not isinstance(drawn, Curves):
        return None
    curves = tuple(replace(curve, name=f"in {curve.name or 'different orders'}") for curve in drawn.curves)
    return replace(drawn, curves=curves, axes=("Calls per item", "Dependability of the mean"), target=0.9)
