"""Say how a judge that passes or fails answers compares with people's labels."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rubriclab.core.certification import CHANCE, LIMIT, RIGHT, labels_to_certify
from rubriclab.core.topic import Findings, Row
from rubriclab.model.text import count, shorten
from rubriclab.words.answer import MOST_NAME, Answer
from rubriclab.words.phrases import (
    capital,
    cautions_about,
    first_listed,
    inside,
    number,
    reason,
    say,
)
from rubriclab.words.subject import Subject, subjects_of_orders
from rubriclab.words.yardstick import intended_levels, model_yardstick

TOPIC = "pass_fail"
WHOLE = ".0%"
WAYS_TO_CHOOSE = ("", "random", "by label", "by verdict")
"""What ``[reading] labels`` can be, in the order in which it is offered."""


def has_pass_fail(findings: Findings, condition: int) -> bool:
    """Return whether a condition's verdicts of pass or fail are compared with labels."""
    rows = findings.select("sensitivity", condition=condition)
    return any(row.estimate.why != "other_scale" for row in rows)


def spoken(findings: Findings, condition: int, key: str, **fields: Any) -> str:
    """Return a sentence about people's labels, or about what came in their place."""
    model = model_yardstick(findings)
    tables = ["pass_fail"]
    if intended_levels(findings, condition):
        tables.append("pass_fail_intended")
    elif model:
        tables.append("pass_fail_of_model")
    return say(key, tables, model=model, **fields)


def ways_to_choose(words: Callable[[str], str]) -> dict[str, str]:
    """Return the name of each way in which labels are chosen. ``words``: the sentence of a key."""
    return {way: words(f"choice_{way.replace(' ', '_') or 'unsaid'}") for way in WAYS_TO_CHOOSE}


def pass_fail_answers(findings: Findings) -> list[Answer]:
    """Return an answer about each setting whose verdicts are compared with labels."""
    return [
        pass_fail_answer(findings, subject)
        for subject in subjects_of_orders(findings)
        if has_pass_fail(findings, subject.condition)
    ]


def pass_fail_answer(findings: Findings, subject: Subject) -> Answer:
    """Return all sentences about one setting as one answer."""
    judge = shorten(subject.judge, MOST_NAME)
    return Answer(
        judge,
        subject.condition,
        spoken(findings, subject.condition, "title", judge=judge),
        " ".join(pass_fail_lines(findings, subject.condition)),
        about=subject.about,
        cautions=cautions_about(findings, subject.condition, {TOPIC}),
        simulated=subject.simulated,
    )


def pass_fail_lines(findings: Findings, condition: int) -> list[str]:
    """Return what is said about a condition, a paragraph each."""
    lines = [
        _error_rates(findings, condition),
        _orders(findings, condition),
        _average(findings, condition),
        _pass_rates(findings, condition),
        _kappa(findings, condition),
        _needed(findings, condition),
    ]
    return [line for line in lines if line]


def row_about(findings: Findings, condition: int, measure: str, *about: str) -> Row | None:
    """Return the row of a measure whose ``of`` has these fields, and maybe cut and side."""
    for row in findings.select(measure, topic=TOPIC, condition=condition):
        if {*row.of} - {"cut", "side"} == {*about}:
            return row
    return None


def _share(row: Row | None) -> str:
    return number(row.value if row else math.nan, WHOLE)


def _error_rates(findings: Findings, condition: int) -> str:
    """Say how often one call is right about passes and about fails."""
    sensitivity = row_about(findings, condition, "sensitivity")
    specificity = row_about(findings, condition, "specificity")
    if sensitivity is None or specificity is None:
        return ""
    for row in (sensitivity, specificity):
        if not math.isfinite(row.value):
            return spoken(findings, condition, "unknown_rates", why=reason(row))
    return spoken(
        findings,
        condition,
        "rates",
        sensitivity=_share(sensitivity),
        in_sensitivity=_inside(sensitivity),
        specificity=_share(specificity),
        in_specificity=_inside(specificity),
    )


def _inside(row: Row) -> str:
    """Write an interval of shares in whole per cent, or why there is none."""
    return inside(row, replace(row.about, form=WHOLE))


def _orders(findings: Findings, condition: int) -> str:
    """Say how often a call is right in each of two orders, or in the worst and best of more."""
    passes = findings.select("sensitivity", topic=TOPIC, condition=condition)
    fails = findings.select("specificity", topic=TOPIC, condition=condition)
    passes, fails = ([row for row in rows if "order" in row.of] for rows in (passes, fails))
    if not passes or not all(math.isfinite(row.value) for row in (*passes, *fails)):
        return ""
    rate = findings.pass_rate(condition)
    if rate is None:
        return spoken(
            findings,
            condition,
            "order_range",
            orders=count(len(passes), "order"),
            least_sensitivity=_share(min(passes, key=lambda row: row.value)),
            most_sensitivity=_share(max(passes, key=lambda row: row.value)),
            least_specificity=_share(min(fails, key=lambda row: row.value)),
            most_specificity=_share(max(fails, key=lambda row: row.value)),
        )
    orders = [
        spoken(
            findings,
            condition,
            "order_first",
            label=first_listed(str(of_pass.of["order"]), rate),
            sensitivity=_share(of_pass),
            specificity=_share(of_fail),
        )
        for of_pass, of_fail in zip(passes, fails, strict=True)
    ]
    return spoken(findings, condition, "orders", orders="; ".join(orders))


def _average(findings: Findings, condition: int) -> str:
    """Say how often the average of all calls about an answer is right."""
    passes = row_about(findings, condition, "sensitivity", "protocol")
    fails = row_about(findings, condition, "specificity", "protocol")
    if passes is None or fails is None or not math.isfinite(passes.value + fails.value):
        return ""
    shares = {"sensitivity": _share(passes), "specificity": _share(fails)}
    return spoken(findings, condition, "average", **shares)


def _pass_rates(findings: Findings, condition: int) -> str:
    """Say the judge's pass rate and both corrections, the one that holds in front.

    Where a correction is refused, only the other is said.
    """
    judge = row_about(findings, condition, "judge_pass")
    if judge is None or not math.isfinite(judge.value):
        return ""
    measures = ["corrected_pass", "corrected_pass_rates"]
    if findings.reading.labels == "by label":
        measures.reverse()
    said = []
    for measure in measures:
        row = row_about(findings, condition, measure)
        if row is not None and math.isfinite(row.value):
            fields = {"share": _share(row), "inside": _inside(row)}
            said.append(spoken(findings, condition, measure, **fields))
    line = spoken(findings, condition, "judge_rate", share=_share(judge))
    if not said:
        return line
    key = "both_rates" if len(said) > 1 else "one_rate"
    return f"{line} {spoken(findings, condition, key, First=capital(said[0]), second=said[-1])}"


def _kappa(findings: Findings, condition: int) -> str:
    """Say kappa with the base rate that it depends on."""
    kappa = row_about(findings, condition, "kappa")
    people = row_about(findings, condition, "people_pass")
    chance = row_about(findings, condition, "chance_agreement")
    if kappa is None or people is None or chance is None or not math.isfinite(kappa.value):
        return ""
    return spoken(
        findings,
        condition,
        "kappa",
        kappa=number(kappa.value, ".2f"),
        people=_share(people),
        chance=_share(chance),
    )


def _needed(findings: Findings, condition: int) -> str:
    """Say how many labels certify a good judge, and how many there are."""
    passes = row_about(findings, condition, "sensitivity")
    fails = row_about(findings, condition, "specificity")
    needed = labels_to_certify()
    if passes is None or fails is None or needed is None:
        return ""
    labelled = (
        f"{count(int(passes.counts.get('n', 0)), 'pass', 'passes')} and "
        f"{count(int(fails.counts.get('n', 0)), 'fail')}"
    )
    return spoken(
        findings,
        condition,
        "needed",
        labelled=labelled,
        limit=number(LIMIT, WHOLE),
        right=number(RIGHT, WHOLE),
        chance=number(CHANCE, WHOLE),
        needed=str(needed),
    )
