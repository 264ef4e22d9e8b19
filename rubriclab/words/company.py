"""Say what scoring all criteria in one call changes, compared with each by itself.

One line each, in this order: the mean, which criteria, single scores, noise, agreement with people,
the order effect, and the cost. Every number comes from the records of ``core/company_effects.py``
and from rows, and is only rounded here.
"""

import math
from typing import Any

from rubriclab.core.company_effects import Company, signed_ends
from rubriclab.core.judgments import widest
from rubriclab.core.ladder import QuestionWord, question_word
from rubriclab.core.topic import REASONS, Findings, Row
from rubriclab.core.verdict import MeanVerdict, Verdict
from rubriclab.model.text import count, shorten
from rubriclab.words.answer import MOST_NAME, Answer, Question
from rubriclab.words.phrases import (
    NBSP,
    cautions_about,
    ends,
    lowered,
    number,
    reason,
    say,
    shown_difference,
)
from rubriclab.words.subject import EFFECT, EQUIVALENT, Subject, subject_of

WORDS = ("company",)
MOST_CRITERION = 60
"""Characters of a criterion's name in a sentence."""


def company_answers(findings: Findings) -> list[Answer]:
    """Return the answer about each judge that was asked for its criteria in both ways."""
    return [company_answer(findings, found) for found in findings.company]


def company_answer(findings: Findings, found: Company) -> Answer:
    """Return what one call for all criteria changes for a judge."""
    code = widest(found.together).code
    about = findings.conditions[code]
    datasets = {condition.dataset for condition in findings.conditions}
    judge = shorten(about.judge, MOST_NAME)
    subject = subject_of(findings, code)
    questions = [
        _question(found, "mean", found.mean, _mean_sentence(found)),
        Question(_word_of_criteria(found), _say("criteria_title"), _criteria_sentence(found)),
        _question(found, "single", found.single, _single_sentence(findings, found)),
    ]
    further = {
        "noise": _noise_sentence(findings, found),
        "people": _people_sentence(findings, found),
        "order": _order_sentence(subject),
        "cost": _cost_sentence(findings, found),
    }
    questions += [
        Question("", _say(f"{name}_title"), said) for name, said in further.items() if said
    ]
    return Answer(
        judge,
        code,
        headline=_say(_headline(found), judge=judge),
        line=_say(
            "line",
            criteria=count(len(found.names), "criterion", "criteria"),
            texts=count(found.texts, "text"),
        ),
        questions=tuple(questions),
        advice=_say(_advice(found)),
        cautions=cautions_about(findings, code, {"company"}),
        simulated=about.simulated,
        about=about.dataset if len(datasets) > 1 else "",
    )


def _say(key: str, **fields: Any) -> str:
    return say(key, WORDS, **fields)


def _question(found: Company, name: str, verdict: Verdict, sentence: str) -> Question:
    """Return the question about the mean or single scores, with its word."""
    word = question_word(verdict, gate_open=found.verdicts.gate.open)
    return Question(word, _say(f"{name}_title"), sentence, verdict.word)


def _headline(found: Company) -> str:
    """Return which headline says what company changes: the first rule that holds."""
    if found.mean.word == EFFECT:
        return "higher" if found.mean.signed > 0 else "lower"
    if any(found.criteria[k].word == EFFECT for k in found.named):
        return "some_criteria"
    same = found.mean.word == EQUIVALENT
    if found.verdicts.gate.open:
        return "single_only" if same else "matters"
    if same and all(verdict.word == EQUIVALENT for verdict in found.criteria):
        return "same"
    return "mean_same" if same else "open"


def _advice(found: Company) -> str:
    """Return which advice follows from the verdicts."""
    if _headline(found) == "same":
        return "either"
    if found.verdicts.gate.open:
        return "keep_one_way"
    return "keep_until_known"


# ------------------------------------------------------------------------------------ the numbers
def _change(verdict: MeanVerdict, level: float) -> str:
    """Say the size and direction of a mean difference with its interval.

    “0.31 points lower (95% CI 0.19 to 0.44)”; with the sign in the interval where the direction is
    not sure.
    """
    low, high = signed_ends(verdict)
    value, limits = verdict.signed, (0.0, verdict.smallest, -verdict.smallest)
    if not verdict.above_zero:
        inside = ends(low, high, "+.2f", level=level, limits=limits) or lowered(_why(verdict))
        return f"{number(value, '+.2f')}{NBSP}points ({inside})"
    way = _say("way_higher" if value > 0 else "way_lower")
    if value < 0:
        low, high = -high, -low
    return f"{_points(abs(value))} {way} ({ends(max(low, 0.0), high, level=level, limits=limits)})"


def _points(size: float) -> str:
    return f"{number(size)}{NBSP}points"


def _why(verdict: Verdict) -> str:
    """Say why a verdict has no number, or no interval."""
    return REASONS[verdict.why or "too_few_units"]


# ---------------------------------------------------------------------------------- the sentences
def _mean_sentence(found: Company) -> str:
    if not math.isfinite(found.mean.value):
        return _why(found.mean)
    key = "mean_equivalent" if found.mean.word == EQUIVALENT else "mean_said"
    return _say(
        key, change=_change(found.mean, found.verdicts.level), limit=_points(found.mean.smallest)
    )


def _word_of_criteria(found: Company) -> QuestionWord:
    """Return the word for all criteria together: a Yes needs one, a No needs all."""
    open_ = found.verdicts.gate.open
    words = [question_word(verdict, gate_open=open_) for verdict in found.criteria]
    for word in ("Yes", "Yes, size unclear", "Can't tell yet", "Not seen yet"):
        if word in words:
            return word
    return "Too small to matter" if "Too small to matter" in words else "No"


def _criteria_sentence(found: Company) -> str:
    """Name the criteria that change, each with its difference, then what is known of the others."""
    named = [k for k in found.named if math.isfinite(found.criteria[k].value)]
    named.sort(key=lambda k: -abs(found.criteria[k].signed))
    parts = [
        _say(
            "criterion",
            name=_name(found, k),
            change=_change(found.criteria[k], found.verdicts.level),
        )
        for k in named
    ]
    said = [f"{'; '.join(parts)}."] if parts else []
    others = [k for k in range(len(found.names)) if k not in named]
    same = [k for k in others if found.criteria[k].word == EQUIVALENT]
    if same:
        names = ", ".join(_name(found, k) for k in same)
        said.append(_say("criteria_same", names=names, limit=_points(found.mean.smallest)))
    unknown = [k for k in others if k not in same]
    if unknown:
        said.append(_say("criteria_open", names=", ".join(_name(found, k) for k in unknown)))
    return " ".join(said)


def _name(found: Company, criterion: int) -> str:
    return shorten(found.names[criterion], MOST_CRITERION)


def _single_sentence(findings: Findings, found: Company) -> str:
    verdict = found.single
    if not math.isfinite(verdict.value) or not math.isfinite(verdict.high):
        return _why(verdict)
    limit = number(100 * verdict.smallest, ".3g")
    fields = {
        "flips": number(100 * verdict.flips, ".0f"),
        "own": number(100 * verdict.own_noise, ".0f"),
        "size": number(100 * max(verdict.value, 0.0), ".0f"),
        "inside": ends(
            100 * verdict.low,
            100 * verdict.high,
            ".0f",
            level=found.verdicts.level,
            limits=(0.0, 100 * verdict.smallest),
        ),
        "limit": limit,
        "high": number(100 * verdict.high, ".0f", (100 * verdict.smallest,)),
    }
    if verdict.word == EQUIVALENT:
        return _say("single_same", **fields)
    if verdict.word != EFFECT:
        return _say("single_open", **fields)
    said = _say("single_changed" if verdict.repeated else "single_with_noise", **fields)
    steadier = _steadier(findings, found)
    return f"{said} {steadier}" if steadier else said


def _steadier(findings: Findings, found: Company) -> str:
    """Say that single scores differ because one way is steadier; empty where that is not known.

    A judge whose scores vary less in one call gives other single scores there, which is no harm.
    """
    code = widest(found.together).code
    rows = findings.select("company_noise_difference", condition=code)
    if found.mean.word != EQUIVALENT or not rows:
        return ""
    low, high = rows[0].interval
    if not (high < 0 or low > 0):
        return ""
    together, alone = _noises(findings, code)
    return _say("steadier" if high < 0 else "less_steady", together=together, alone=alone)


def _noises(findings: Findings, code: int) -> tuple[str, str]:
    """Write the judge's own noise in one call and by itself, in 100 scores."""
    rows = [_row_of_way(findings, "company_noise", code, way) for way in ("together", "alone")]
    first, second = (number(100 * row.value, ".0f") if row else "" for row in rows)
    return first, second


def _row_of_way(findings: Findings, measure: str, code: int, way: str) -> Row | None:
    """Return the row about all criteria in one of the ways; None where there is no number."""
    for row in findings.select(measure, condition=code, way=way):
        if "target" not in row.of and math.isfinite(row.value):
            return row
    return None


def _noise_sentence(findings: Findings, found: Company) -> str:
    code = widest(found.together).code
    rows = findings.select("company_noise_difference", condition=code)
    if not rows:
        return ""
    if not math.isfinite(rows[0].value):
        return reason(rows[0])
    together, alone = _noises(findings, code)
    apart = shown_difference(
        100 * _value(findings, "company_noise", code, "together"),
        100 * _value(findings, "company_noise", code, "alone"),
        0,
    )
    low, high = rows[0].interval
    inside = ends(100 * low, 100 * high, "+.0f", level=rows[0].level, limits=(0.0,)) or lowered(
        reason(rows[0])
    )
    difference = f"{number(apart, '+.0f')}{NBSP}percentage points"
    return _say("noise", together=together, alone=alone, difference=difference, inside=inside)


def _value(findings: Findings, measure: str, code: int, way: str) -> float:
    row = _row_of_way(findings, measure, code, way)
    return math.nan if row is None else row.value


def _people_sentence(findings: Findings, found: Company) -> str:
    code = widest(found.together).code
    together = _row_of_way(findings, "company_kappa", code, "together")
    alone = _row_of_way(findings, "company_kappa", code, "alone")
    if together is None or alone is None:
        return ""
    rows = findings.select("company_kappa_difference", condition=code)
    (row,) = [row for row in rows if "target" not in row.of]
    apart = shown_difference(together.value, alone.value, 2)
    inside = ends(*row.interval, "+.2f", level=row.level, limits=(0.0,)) or lowered(reason(row))
    return _say(
        "people",
        together=number(together.value),
        alone=number(alone.value),
        difference=number(apart, "+.2f"),
        inside=inside,
    )


def _order_sentence(subject: Subject) -> str:
    """Say what the order of the criteria does in one call; by itself a criterion has none."""
    positions = subject.positions
    if positions is None or not math.isfinite(positions.value):
        return ""
    limits = (0.0, positions.smallest)
    return _say(
        "order",
        size=_points(positions.value),
        inside=ends(*positions.interval, level=subject.level, limits=limits)
        or lowered(_why(positions)),
        word=subject.words["positions"],
    )


def _cost_sentence(findings: Findings, found: Company) -> str:
    """Say the calls and tokens that scoring all criteria of a text once takes in each way."""
    code = widest(found.together).code
    together = _row_of_way(findings, "company_tokens", code, "together")
    alone = _row_of_way(findings, "company_tokens", code, "alone")
    calls = count(len(found.names), "call")
    if together is None or alone is None:
        return _say("calls", calls=calls)
    return _say(
        "tokens",
        calls=calls,
        together=number(together.value, ",.0f"),
        alone=number(alone.value, ",.0f"),
        share=number(together.value / alone.value, ".0%"),
    )
