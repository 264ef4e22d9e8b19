"""Say how a judge compares with another person: a sentence and three questions.

For pairs and lists: how often it chooses the winner that people (or the data) name, by that
winner's position. Each word comes from one row's 95% interval alone, and an unfinished run has
none.
"""

import math
from dataclasses import replace
from typing import Any

from rubriclab.core.topic import Findings, Row
from rubriclab.core.verdict import word_of
from rubriclab.measures.alt_test import PASSES, SINGLE
from rubriclab.model.text import count, shorten
from rubriclab.words.answer import BADGES, MOST_NAME, Answer, Question
from rubriclab.words.pass_fail import TOPIC as PASS_FAIL
from rubriclab.words.phrases import (
    NBSP,
    cautions_about,
    inside,
    number,
    reason,
    row_numbers,
    say,
    size_numbers,
)
from rubriclab.words.subject import (
    CHOICES,
    EFFECT,
    EQUIVALENT,
    PEOPLE,
    UNDECIDED,
    Subject,
    subjects_of_orders,
)
from rubriclab.words.yardstick import intended_levels as intended_levels
from rubriclab.words.yardstick import model_yardstick

GOOD, POOR = "good", "poor"
"""What a word says of the judge, if it is not undecided: “Yes” to one question is good news, and to
another it is bad news.
"""
SAID = {"one_rater", "constant_passes"}
"""Cautions that the line and the questions say already."""
WORDS, OF_MODEL = ("people",), ("people", "people_of_model")
"""The tables of sentences, of people's scores and of a model's in their place."""


def _say(findings: Findings, key: str, **fields: Any) -> str:
    """Return a sentence about people, or about the model whose scores came in their place."""
    model = model_yardstick(findings)
    return say(key, OF_MODEL if model else WORDS, model=model, **fields)


def has_people(findings: Findings, condition: int) -> bool:
    """Return whether any item of a condition has a rating, or a winner that is named."""
    rated = any("against" not in row.of for row in findings.select("pearson", condition=condition))
    return rated or bool(findings.select("accuracy", condition=condition))


def people_answers(findings: Findings) -> list[Answer]:
    """Return the answer about each setting that people rated."""
    return [
        people_answer(findings, subject)
        for subject in subjects_of_orders(findings)
        if has_people(findings, subject.condition)
    ]


def people_answer(findings: Findings, subject: Subject) -> Answer:
    """Return how the judge compares with people, on the items that both know."""
    judge, smallest = shorten(subject.judge, MOST_NAME), findings.reading.smallest.r
    intended, chooses = intended_levels(findings, subject.condition), subject.reorder in CHOICES
    if chooses:
        line, strong = _line_of_winners(findings, subject, intended=intended)
    elif intended:
        line, strong = _line_of_levels(findings, subject)
    else:
        line, strong = _line(findings, subject)
    answer = Answer(
        judge,
        subject.condition,
        "",
        line,
        strong,
        about=subject.about,
        simulated=subject.simulated,
    )
    if intended or chooses:
        key = "intended" if intended else "winners"
        return replace(answer, headline=_say(findings, key, judge=judge))
    cautions = cautions_about(findings, subject.condition, PEOPLE - {PASS_FAIL}, SAID)
    answer = replace(answer, cautions=cautions)
    if not subject.finished:
        return replace(answer, headline=_say(findings, "early", judge=judge))
    key = _headline(_row(findings, subject, "kappa_difference"), smallest)
    questions = (
        _beyond_chance(findings, subject),
        _stricter(findings, subject),
        _replace(findings, subject),
    )
    headline = _say(findings, key, judge=judge, smallest=f"{smallest:g}")
    return replace(answer, headline=headline, questions=questions)


def _headline(gap: Row | None, smallest: float) -> str:
    """Return which headline says how one call agrees with people, compared with a person.

    ``gap``: the row of the judge's kappa - a person's.
    """
    word = _word(gap, smallest)
    if gap is None:
        return word
    if word == EFFECT:
        return "more" if gap.value > 0 else "fewer"
    if word == UNDECIDED and gap.interval[0] > -smallest:
        return "at_least"
    return word


def _row(findings: Findings, subject: Subject, measure: str, **of: str) -> Row | None:
    """Return the row of a measure that is about exactly ``of``, None where there is none."""
    for row in findings.select(measure, condition=subject.condition):
        if dict(row.of) == of:
            return row
    return None


def _word(row: Row | None, smallest: float) -> str:
    """Return the word for a difference from people: its own interval decides."""
    if row is None:
        return UNDECIDED
    low, high = row.interval
    return word_of(low, high, smallest, shown=low > 0 or high < 0)


# ---------------------------------------------------------------- the line below the headline
def _line(findings: Findings, subject: Subject) -> tuple[str, str]:
    """Return (line, its bold part): one call and one person, each against the same other raters."""
    mean = _row(findings, subject, "pearson")
    if mean is None or not math.isfinite(mean.value):
        return reason(mean), ""
    single, key = _one_call(findings, subject, mean)
    arm = findings.judgments.arms[subject.condition]
    calls = round(len(arm.call) / max(arm.items, 1))
    several = ""
    if calls > 1 and key != "line_mean":
        several = _say(findings, "mean_of_calls", calls=str(calls), mean=number(mean.value))
    strong = f"r{NBSP}={NBSP}{number(single.value)}"
    another = _another_person(findings, subject, compared=key == "line")
    line = _say(findings, key, strong=strong, another=another, **row_numbers(single))
    return line + several, strong


def _one_call(findings: Findings, subject: Subject, mean: Row) -> tuple[Row, str]:
    """Return (the row of r of one call, the key of its line); of the mean where one call has none.

    With several raters one call is compared with the others, as a person is; else with all ratings.
    """
    against_others = _row(findings, subject, "call_pearson")
    if against_others is not None and math.isfinite(against_others.value):
        return against_others, "line"
    for row in findings.select("budget_pearson", condition=subject.condition, calls=1)[:1]:
        if math.isfinite(row.value):
            return row, "line_alone"
    return mean, "line_mean"


def _another_person(findings: Findings, subject: Subject, *, compared: bool) -> str:
    """Say how one person correlates with the others, or why that is not known."""
    person = _row(findings, subject, "people_pearson")
    if person is None:
        return _say(findings, "no_other")
    if compared:
        return _say(findings, "person", person=number(person.value))
    return reason(person)


def _line_of_levels(findings: Findings, subject: Subject) -> tuple[str, str]:
    """Return (line, its bold part) about the levels that the sample's author aimed at."""
    mean = _row(findings, subject, "pearson")
    if mean is None or not math.isfinite(mean.value):
        return reason(mean), ""
    strong = f"r{NBSP}={NBSP}{number(mean.value)}"
    return _say(findings, "line_intended", strong=strong, **row_numbers(mean)), strong


def _line_of_winners(findings: Findings, subject: Subject, *, intended: bool) -> tuple[str, str]:
    """Return (line, its bold part) of pairs and lists: how often the named winner is chosen."""
    right = _row(findings, subject, "accuracy")
    every = _row(findings, subject, "accuracy_all_orders")
    if right is None or not math.isfinite(right.value):
        return reason(right), ""
    shares = [
        _say(findings, "where", share=number(row.value, ".0%"), position=str(row.of["position"]))
        for row in findings.select("gold_accuracy", condition=subject.condition)
    ]
    always = ""
    if every is not None:
        always = _say(findings, "every_order", share=number(every.value, ".0%"))
    strong = number(right.value, ".0%")
    fields = {
        "strong": strong,
        "calls": count(int(right.counts["n"]), "call"),
        "inside": inside(right),
        "where": ", ".join(shares),
        "always": always,
    }
    key = "line_winners_intended" if intended else "line_winners"
    return _say(findings, key, **fields), strong


# ---------------------------------------------------------------- the three questions
def _asked(findings: Findings, question: str, word: str, sentence: str) -> Question:
    """Return a question with its badge and whether that is good news of the judge."""
    verdict = UNDECIDED
    if word != UNDECIDED:
        # Being stricter or milder than people is the one question to which Yes is bad news.
        good = word == EQUIVALENT if question == "stricter" else word == EFFECT
        verdict = GOOD if good else POOR
    return Question(BADGES[word], _say(findings, f"{question}_title"), sentence, verdict)


def _beyond_chance(findings: Findings, subject: Subject) -> Question:
    """Ask whether the judge agrees with people beyond chance, however little beyond it."""
    kappa = _row(findings, subject, "kappa_quadratic", side="single")
    if kappa is None or not math.isfinite(kappa.value):
        return _asked(findings, "chance", UNDECIDED, reason(kappa))
    low, high = kappa.interval
    smallest = findings.reading.smallest.r
    # Agreement below chance is no agreement: it counts as none. Any agreement above it is a Yes.
    word: str = EFFECT if low > 0 else word_of(0.0, high, smallest, shown=False)
    said = _say(
        findings,
        "chance_said",
        kappa=number(kappa.value),
        beside=_among_people(findings, subject),
        **row_numbers(kappa, smallest),
    )
    return _asked(findings, "chance", word, said)


def _among_people(findings: Findings, subject: Subject) -> str:
    """Say how people agree among themselves and the difference; empty where it is not known."""
    people = _row(findings, subject, "kappa_quadratic", side="people")
    if people is None or not math.isfinite(people.value):
        return ""
    gap, apart = _row(findings, subject, "kappa_difference"), ""
    if gap is not None and inside(gap):
        apart = _say(findings, "gap", value=number(gap.value, "+.2f"), inside=inside(gap))
    return _say(findings, "among", people=number(people.value), gap=apart)


def _stricter(findings: Findings, subject: Subject) -> Question:
    """Ask whether the judge scores lower or higher than people on average."""
    row = _row(findings, subject, "mean_difference")
    if row is None or not math.isfinite(row.value):
        return _asked(findings, "stricter", UNDECIDED, reason(row))
    smallest = findings.smallest_mean(subject.condition)
    rate, word = subject.rate, _word(row, smallest)
    if rate is None:
        way = "higher" if row.value > 0 else "lower"
        said = _say(findings, f"stricter_{word}", way=way, **row_numbers(row, smallest))
    else:
        way = "higher" if row.value * rate.factor > 0 else "lower"
        said = _say(findings, f"rate_{word}", way=way, **size_numbers(row, smallest, rate))
    return _asked(findings, "stricter", word, said)


def _replace(findings: Findings, subject: Subject) -> Question:
    """Ask whether the judge may replace a rater (the alternative annotator test).

    No only where the judge surely is as near as a rater on fewer than half of the answers.
    """
    rate = _row(findings, subject, "alt_winning_rate", protocol=SINGLE)
    near = _row(findings, subject, "alt_advantage", protocol=SINGLE)
    if rate is None or near is None or not math.isfinite(rate.value):
        return _asked(findings, "replace", UNDECIDED, _say(findings, "replace_needs"))
    raters, epsilon = int(rate.counts["n"]), rate.counts["epsilon"]
    allowance = _say(findings, "no_allowance")
    if epsilon > 0:
        allowance = _say(findings, "allowance", share=f"{100 * epsilon:.3g}")
    fields = {
        "wins": str(round(rate.value * raters)),
        "raters": count(raters, _say(findings, "rater"), _say(findings, "several_raters")),
        "allowance": allowance,
    }
    constant = any(
        caution.kind == "constant_passes" and caution.condition == subject.condition
        for caution in findings.cautions
    )
    if constant:
        return _asked(findings, "replace", UNDECIDED, _say(findings, "replace_constant", **fields))
    # The advantage is a share: No where it surely stays below the share that is needed.
    word: str = word_of(0.0, near.interval[1], PASSES, shown=False)
    if rate.value >= PASSES:
        word = EFFECT
    return _asked(findings, "replace", word, _say(findings, "replace_said", **fields))
