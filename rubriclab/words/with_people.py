"""A judge's rows about people in; how it compares with another person out: a sentence, three
questions, one picture.

Of pairs and lists: how often it chooses the winner that people (or the data) name, and where that
one stood.

A word beside a question is said from that row's 95% interval alone; an unfinished run has none.
"""

import math
from dataclasses import replace

from rubriclab.core.topic import Findings, Row
from rubriclab.figures.marks import Picture
from rubriclab.figures.pictures import forest_of, mark, smallest_mean
from rubriclab.measures.alt_test import PASSES, SINGLE
from rubriclab.model.data import INTENDED
from rubriclab.model.text import count, shorten
from rubriclab.words.answer import BADGES, Answer, Question
from rubriclab.words.facts import CHOICES, EFFECT, EQUIVALENT, PEOPLE, UNDECIDED, Facts, every_facts
from rubriclab.words.phrases import NBSP, caution_text, inside, number, reason, row_numbers, say

GOOD, POOR = "good", "poor"
"""What a word says of the judge, beside UNDECIDED: “Yes” is good news of one question and bad news
of another.
"""
SAID = {"one_rater", "constant_passes"}
"""Cautions that line and questions say."""
WORDS = ("people",)
WINNERS = ("accuracy", "gold_accuracy", "accuracy_all_orders")
"""Of pairs and lists: their measures, as a picture has them."""
WHERE = {"accuracy": "all calls", "accuracy_all_orders": "in every order"}


def has_people(findings: Findings, condition: int) -> bool:
    """Has any item of a condition a rating, or a winner that is named?"""
    rated = any("against" not in row.of for row in findings.select("pearson", condition=condition))
    return rated or bool(findings.select("accuracy", condition=condition))


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
    cautions = [
        caution_text(caution)
        for caution in findings.cautions
        if caution.condition == facts.condition
        and caution.topic in PEOPLE
        and caution.kind not in SAID
    ]
    intended = intended_levels(findings, facts.condition)
    whom, chooses = "_intended" if intended else "", facts.reorder in CHOICES
    line, strong = (_line_of_winners if chooses else _line)(findings, facts, whom)
    answer = Answer(
        judge, facts.condition, "", line, strong, about=facts.about, simulated=facts.simulated
    )
    if intended or chooses:
        return replace(
            answer, headline=say("intended" if intended else "winners", WORDS, judge=judge)
        )
    answer = replace(answer, cautions=tuple(dict.fromkeys(cautions)))
    if not facts.finished:
        return replace(answer, headline=say("early", WORDS, judge=judge))
    gap = _row(findings, facts, "kappa_difference")
    key = _decided(gap, smallest)
    if gap is not None and key == EFFECT:
        key = "more" if gap.value > 0 else "fewer"
    elif gap is not None and gap.interval[0] > -smallest:
        key = "at_least" if key == UNDECIDED else key
    questions = (
        _beyond_chance(findings, facts),
        _stricter(findings, facts),
        _replace(findings, facts),
    )
    return replace(
        answer, headline=say(key, WORDS, judge=judge, smallest=f"{smallest:g}"), questions=questions
    )


def _row(findings: Findings, facts: Facts, measure: str, **of: str) -> Row | None:
    rows = findings.select(measure, condition=facts.condition)
    return next((row for row in rows if dict(row.of) == of), None)


def _decided(row: Row | None, smallest: float) -> str:
    """Inside the smallest effect, away from 0, or neither."""
    low, high = row.interval if row is not None else (math.nan, math.nan)
    if -smallest < low and high < smallest:
        return EQUIVALENT
    return EFFECT if low > 0 or high < 0 else UNDECIDED


def _line(findings: Findings, facts: Facts, whom: str) -> tuple[str, str]:
    """(line below the headline, its bold part): one call beside one person, each against the same
    other raters.
    """
    mean, person = (_row(findings, facts, measure) for measure in ("pearson", "people_pearson"))
    if mean is None or not math.isfinite(mean.value):
        return reason(mean), ""
    if whom:
        strong = f"r{NBSP}={NBSP}{number(mean.value)}"
        return say(f"line{whom}", WORDS, strong=strong, **row_numbers(mean)), strong
    single = _row(findings, facts, "call_pearson")
    key = "line"
    if single is None or not math.isfinite(single.value):
        single = next(
            iter(findings.select("budget_pearson", condition=facts.condition, calls=1)), None
        )
        key = "line_alone"
    if single is None or not math.isfinite(single.value):
        single, key = mean, "line_mean"
    if person is None:
        another = say("no_other", WORDS)
    elif key == "line":
        another = say("person", WORDS, person=number(person.value))
    else:
        another = reason(person)
    arm = findings.judgments.arms[facts.condition]
    calls = round(len(arm.call) / max(arm.items, 1))
    strong = f"r{NBSP}={NBSP}{number(single.value)}"
    several = ""
    if calls > 1 and key != "line_mean":
        several = say("mean_of_calls", WORDS, calls=str(calls), mean=number(mean.value))
    line = say(key, WORDS, strong=strong, another=another, **row_numbers(single))
    return line + several, strong


def _line_of_winners(findings: Findings, facts: Facts, whom: str) -> tuple[str, str]:
    """(line below the headline, its bold part) of pairs and lists."""
    right, every = (
        _row(findings, facts, measure) for measure in ("accuracy", "accuracy_all_orders")
    )
    if right is None or not math.isfinite(right.value):
        return reason(right), ""
    strong = number(right.value, ".0%")
    shares = [
        say("where", WORDS, share=number(row.value, ".0%"), position=str(row.of["position"]))
        for row in findings.select("gold_accuracy", condition=facts.condition)
    ]
    always = (
        say("every_order", WORDS, share=number(every.value, ".0%")) if every is not None else ""
    )
    calls = count(int(right.counts["n"]), "call")
    where = ", ".join(shares)
    line = say(
        f"line_winners{whom}",
        WORDS,
        strong=strong,
        calls=calls,
        inside=inside(right),
        where=where,
        always=always,
    )
    return line, strong


def _asked(question: str, word: str, key: str = "", sentence: str = "", **fields: str) -> Question:
    """A question with its badge; ``sentence``: in place of that of its ``key``."""
    good = (word == EFFECT) != (question == "stricter")
    said = say(f"{question}_{key}", WORDS, **fields) if key else sentence
    verdict = UNDECIDED if word == UNDECIDED else GOOD if good else POOR
    return Question(BADGES[word], say(f"{question}_title", WORDS), said, verdict)


def _beyond_chance(findings: Findings, facts: Facts) -> Question:
    kappa, people = (
        _row(findings, facts, "kappa_quadratic", side=side) for side in ("single", "people")
    )
    if kappa is None or not math.isfinite(kappa.value):
        return _asked("chance", UNDECIDED, sentence=reason(kappa))
    (low, high), smallest = kappa.interval, findings.reading.smallest.r
    word = EFFECT if low > 0 else EQUIVALENT if high < smallest else UNDECIDED
    among = people is not None and math.isfinite(people.value)
    gap = _row(findings, facts, "kappa_difference")
    apart = (
        say("gap", WORDS, value=number(gap.value, "+.2f"), inside=inside(gap))
        if gap and inside(gap)
        else ""
    )
    beside = (
        say("among", WORDS, people=number(people.value), gap=apart)
        if among and people is not None
        else ""
    )
    return _asked(
        "chance",
        word,
        "said",
        kappa=number(kappa.value),
        beside=beside,
        **row_numbers(kappa, smallest),
    )


def _stricter(findings: Findings, facts: Facts) -> Question:
    row, smallest = (
        _row(findings, facts, "mean_difference"),
        smallest_mean(findings, facts.condition),
    )
    if row is None or not math.isfinite(row.value):
        return _asked("stricter", UNDECIDED, sentence=reason(row))
    word, way = _decided(row, smallest), "higher" if row.value > 0 else "lower"
    return _asked("stricter", word, word, way=way, **row_numbers(row, smallest))


def _replace(findings: Findings, facts: Facts) -> Question:
    """No only where the judge surely is as near as a rater on fewer than half of the answers."""
    rate, near = (
        _row(findings, facts, measure, protocol=SINGLE)
        for measure in ("alt_winning_rate", "alt_advantage")
    )
    if rate is None or near is None or not math.isfinite(rate.value):
        return _asked("replace", UNDECIDED, "needs")
    raters = int(rate.counts["n"])
    allowance = say("allowance", WORDS, share=f"{100 * rate.counts['epsilon']:.3g}")
    fields = {
        "wins": str(round(rate.value * raters)),
        "raters": count(raters, "rater"),
        "allowance": allowance if rate.counts["epsilon"] > 0 else say("no_allowance", WORDS),
    }
    if any(
        c.kind == "constant_passes" and c.condition == facts.condition for c in findings.cautions
    ):
        return _asked("replace", UNDECIDED, "constant", **fields)
    word = (
        EFFECT if rate.value >= PASSES else EQUIVALENT if near.interval[1] < PASSES else UNDECIDED
    )
    return _asked("replace", word, "said", **fields)


def reach_forest(findings: Findings, facts: Facts) -> Picture | None:
    """r with people of one call and of all calls, of each ordering strategy; and what one call and
    one person reach against the same other raters.

    Of pairs and lists: how often the named winner is chosen, by its position, and in every order.
    """
    if facts.reorder in CHOICES:
        rows = [
            row
            for measure in WINNERS
            for row in findings.select(measure, condition=facts.condition)
        ]
        shown = [
            mark(
                row,
                f"at position {row.of['position']}" if "position" in row.of else WHERE[row.measure],
            )
            for row in rows
            if "order" not in row.of
        ]
        return forest_of(shown, say("chosen", WORDS))
    own = findings.conditions[facts.condition].setting
    labelled: list[tuple[str, Row | None]] = []
    for code, condition in enumerate(findings.conditions):
        if condition.setting == own:
            strategy, arm = shorten(condition.strategy, 24), findings.judgments.arms[code]
            calls = round(len(arm.call) / max(arm.items, 1))
            single = next(iter(findings.select("budget_pearson", condition=code, calls=1)), None)
            every = next(
                (row for row in findings.select("pearson", condition=code) if not row.of), None
            )
            labelled.append((f"{strategy}, 1 call", single))
            labelled.append((f"{strategy}, {count(calls, 'call')}", every if calls > 1 else None))
    labelled.append(("1 call against others", _row(findings, facts, "call_pearson")))
    labelled.append(("one person", _row(findings, facts, "people_pearson")))
    whom = "the intended levels" if intended_levels(findings, facts.condition) else "people's mean"
    return forest_of(
        [mark(row, label) for label, row in labelled if row is not None], f"Pearson's r with {whom}"
    )
