"""A judge's rows about people in; how it compares with another person out: a sentence, three questions, one picture.

A word beside a question is said from that row's 95 % interval alone; an unfinished run has none.
"""

from __future__ import annotations

import math
from dataclasses import replace

from rubriclab.core.topic import Findings, Row
from rubriclab.model.text import count, shorten
from rubriclab.sinks.answer import BADGES, Answer, Question
from rubriclab.sinks.facts import EFFECT, EQUIVALENT, PEOPLE, UNDECIDED, Facts, every_facts
from rubriclab.sinks.marks import Forest
from rubriclab.sinks.pictures import mark
from rubriclab.sinks.text import NBSP, ends, number, reason
from rubriclab.topics.alt_test import PASSES, SINGLE

GOOD, POOR = "good", "poor"
"""What a word says of the judge, beside UNDECIDED: “Yes” is good news of one question and bad news of another."""

INTENDED = "intended level"
"""The rater of recorded examples: what the sample's author aimed at. It is called that, and nothing is said of people."""
NO_OTHER = " Only one rating per answer: what people reach is not known."
SAID = {"one_rater", "constant_passes"}
"""Cautions that line and questions say."""


def has_people(findings: Findings, condition: int) -> bool:
    """Has any item of a condition a rating?"""
    return any("against" not in row.of for row in findings.select("pearson", condition=condition))


def intended_levels(findings: Findings, condition: int) -> bool:
    """Are the only ratings of a condition's items the levels that the sample's author aimed at?"""
    arm = findings.judgments.arms[condition]
    given = arm.run.items["ratings"].iloc[arm.item_code]
    return {rater for ratings in given for rater in ratings or {}} == {INTENDED}


def people_answers(findings: Findings) -> list[Answer]:
    """Of every judge, on each data set that people rated."""
    every = (facts for facts in every_facts(findings) if has_people(findings, facts.condition))
    return [people_answer(findings, facts) for facts in every]


def people_answer(findings: Findings, facts: Facts) -> Answer:
    """How the judge compares with people, on the items that both know."""
    judge, smallest = shorten(facts.judge, 100), findings.reading.smallest.r
    r, person, gap = (_row(findings, facts, key) for key in ("pearson", "people_pearson", "kappa_difference"))
    mine = [
        caution for caution in findings.cautions if caution.condition == facts.condition and caution.topic in PEOPLE
    ]
    cautions = [caution.sentence for caution in mine if caution.kind not in SAID]
    line, strong = _line(r, person)
    if intended_levels(findings, facts.condition):
        headline = f"{judge} beside the levels that the sample's author aimed at"
        line = line.replace("people's", "these levels").removesuffix(NO_OTHER) + " No person rated these answers."
        return Answer(judge, facts.condition, headline, line, strong, about=facts.about, simulated=facts.simulated)
    answer = Answer(
        judge, facts.condition, f"{judge} beside people, so far", line, strong, about=facts.about,
        cautions=tuple(dict.fromkeys(cautions)), simulated=facts.simulated,
    )  # fmt: skip
    if not facts.finished:
        return answer
    word = _decided(gap, smallest)
    headline = f"Undecided how {judge} compares with another person"
    if word == EQUIVALENT:
        headline = f"{judge} agrees with people as well as another person, within {smallest:g}"
    elif word == EFFECT and gap is not None:
        headline = f"{judge} agrees with people {'more' if gap.value > 0 else 'less'} than another person would"
    questions = _beyond_chance(findings, facts), _stricter(findings, facts), _replace(findings, facts)
    return replace(answer, headline=headline, questions=questions)


def _row(findings: Findings, facts: Facts, measure: str, **of: str) -> Row | None:
    rows = findings.select(measure, condition=facts.condition)
    return next((row for row in rows if dict(row.of) == of), None)


def _inside(row: Row, *limits: float) -> str:
    return ends(*row.interval, form=row.about.form.lstrip("+"), level=row.level, limits=limits) or reason(row).rstrip(
        "."
    )


def _decided(row: Row | None, smallest: float) -> str:
    """Inside the smallest effect, away from 0, or neither."""
    low, high = row.interval if row is not None else (math.nan, math.nan)
    if -smallest < low and high < smallest:
        return EQUIVALENT
    return EFFECT if low > 0 or high < 0 else UNDECIDED


def _line(r: Row | None, person: Row | None) -> tuple[str, str]:
    """(line below the headline, its bold part)."""
    if r is None or not math.isfinite(r.value):
        return reason(r) if r is not None else "", ""
    strong = f"r{NBSP}={NBSP}{number(r.value, '.2f')}"
    line = f"Its mean scores correlate with people's at {strong} ({_inside(r, 0.0)})."
    if person is None:
        return f"{line}{NO_OTHER}", strong
    one = f"One person's scores do at {number(person.value, '.2f')}." if math.isfinite(person.value) else reason(person)
    return f"{line} {one}", strong


def _beyond_chance(findings: Findings, facts: Facts) -> Question:
    title, smallest = "Does it agree with people beyond chance?", findings.reading.smallest.r
    kappa, people = (_row(findings, facts, "kappa_quadratic", side=side) for side in ("single", "people"))
    if kappa is None or not math.isfinite(kappa.value):
        return Question(BADGES[UNDECIDED], title, reason(kappa) if kappa is not None else "", UNDECIDED)
    low, high = kappa.interval
    badge, verdict = ("Yes", GOOD) if low > 0 else ("No", POOR) if high < smallest else (BADGES[UNDECIDED], UNDECIDED)
    among = people is not None and math.isfinite(people.value)
    beside_it = f"; people among themselves {number(people.value, '.2f')}" if among and people is not None else ""
    said = f"Quadratic kappa of one call with one rating {number(kappa.value, '.2f')} ({_inside(kappa, 0.0, smallest)})"
    return Question(badge, title, f"{said}{beside_it}.", verdict)


def _stricter(findings: Findings, facts: Facts) -> Question:
    title = "Is it stricter or milder than people?"
    row = _row(findings, facts, "mean_difference")
    smallest = findings.reading.smallest.mean * findings.judgments.arms[facts.condition].step
    if row is None or not math.isfinite(row.value):
        return Question(BADGES[UNDECIDED], title, reason(row) if row is not None else "", UNDECIDED)
    points, inside = f"{number(abs(row.value), '.2f')}{NBSP}points", _inside(row, 0.0, smallest, -smallest)
    limit, way = f"{number(smallest, '.2f')}{NBSP}points", "higher" if row.value > 0 else "lower"
    word = _decided(row, smallest)
    if word == EQUIVALENT:
        return Question(BADGES[word], title, f"Within {limit} of people's mean ({way} by {points}, {inside}).", GOOD)
    if word == EFFECT:
        return Question(BADGES[word], title, f"It scores {points} {way} ({inside}).", POOR)
    return Question(BADGES[word], title, f"{points} {way} ({inside}); {limit} would matter.", UNDECIDED)


def _replace(findings: Findings, facts: Facts) -> Question:
    """No only where the judge surely is as near as a rater on fewer than half of the answers."""
    title = "May it replace a rater?"
    rate, near = (_row(findings, facts, measure, protocol=SINGLE) for measure in ("alt_winning_rate", "alt_advantage"))
    if rate is None or near is None or not math.isfinite(rate.value):
        return Question(BADGES[UNDECIDED], title, "Needs three raters or more, with 15 groups each.", UNDECIDED)
    raters = int(rate.counts["n"])
    said = f"It wins against {round(rate.value * raters)} of {count(raters, 'rater')}; at least half are needed."
    if any(c.kind == "constant_passes" and c.condition == facts.condition for c in findings.cautions):
        return Question(BADGES[UNDECIDED], title, f"{said} One number for all answers would, too.", UNDECIDED)
    if rate.value >= PASSES:
        return Question("Yes", title, said, GOOD)
    if near.interval[1] < PASSES:
        return Question("No", title, said, POOR)
    return Question(BADGES[UNDECIDED], title, said, UNDECIDED)


def reach_forest(findings: Findings, facts: Facts) -> Forest | None:
    """r with people of one call and of all calls, of each ordering strategy, beside what one person reaches."""
    own = findings.conditions[facts.condition].setting
    points = []
    for code, condition in enumerate(findings.conditions):
        if condition.setting != own:
            continue
        strategy, arm = shorten(condition.strategy, 24), findings.judgments.arms[code]
        calls = round(len(arm.call) / max(arm.items, 1))
        one = next(iter(findings.select("budget_pearson", condition=code, calls=1)), None)
        every = next((row for row in findings.select("pearson", condition=code) if not row.of), None)
        labels = (f"{strategy}, 1 call", one), (f"{strategy}, {count(calls, 'call')}", every if calls > 1 else None)
        points += [mark(row, label) for label, row in labels if row is not None]
    person = _row(findings, facts, "people_pearson")
    points += [mark(person, "one person")] if person is not None else []
    points = [point for point in points if math.isfinite(point.value)]
    said = "; ".join(f"{point.label} {point.text} ({point.hover[2]})" for point in points)
    whom = "the intended levels" if intended_levels(findings, facts.condition) else "people's mean"
    return Forest(tuple(points), f"Pearson's r with {whom}", f"Intervals: {said}.") if points else None
