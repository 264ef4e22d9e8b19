"""Write what CI's gate found: lines for a terminal, a JSON document, and JUnit's XML.

The gate holds either limits against a run, or two runs against each other (drift).
"""

import math
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from rubriclab.core.drift import Change, Drift
from rubriclab.core.operations import Checked, Derived, Word, worst
from rubriclab.core.topic import REASONS, Findings, Measure
from rubriclab.exports.table import as_json
from rubriclab.model.judgment import Condition
from rubriclab.model.passing import PassRate
from rubriclab.model.text import printable
from rubriclab.words.phrases import (
    condition_name,
    inside,
    lowered,
    measure_of,
    name,
    number,
    say,
    value_text,
)
from rubriclab.words.phrases import ends as interval_text

WORDS = ("gate",)
NUMBERS = ("value", "low", "high", "p", "smallest")
OVERALL: dict[str, Word] = {"effect": "fails", "equivalent": "passes", "undecided": "unknown"}
"""What a verdict about a change means for CI."""


def checked_line(checked: Checked, findings: Findings) -> str:
    """Say how one limit and one row compare: “Fails: Largest share …: 22% (95% CI 16 to 27%); at
    most 10%”.
    """
    row, word = checked.row, say(checked.word, WORDS)
    if row is None:
        return f"{word}: {checked.limit}: {lowered(REASONS[checked.why])}"
    conditions = findings.conditions
    about = measure_of(row, conditions)
    measured = f"{value_text(row, about)} ({inside(row, about)})"
    condition = condition_name(conditions[row.condition], conditions)
    line = f"{word}: {condition}: {name(row, conditions)}: {measured}; {_wanted(checked, about)}"
    return f"{line}; {lowered(REASONS[checked.why])}" if checked.why else line


def _wanted(checked: Checked, about: Measure) -> str:
    """Say what a limit asks for: “at most 10%”, “at least 0.5”, “within 0.1 to 0.4”."""
    low, high = checked.limit.low, checked.limit.high
    if math.isinf(high):
        key = "least"
    elif low in (-math.inf, -high):
        key = "most"
    else:
        key = "within"
    return say(key, WORDS, low=number(low, about.form), high=number(high, about.form))


def checked_document(checked: Sequence[Checked]) -> list[dict[str, Any]]:
    """Return each limit and row as JSON values."""
    return [_checked_document(part) for part in checked]


def _checked_document(checked: Checked) -> dict[str, Any]:
    """Return one limit and row as JSON values."""
    row = checked.row
    low, high = row.interval if row else (None, None)
    return {
        "limit": str(checked.limit),
        "word": checked.word,
        "why": checked.why or None,
        "condition": row.condition if row else None,
        "of": dict(row.of) if row else {},
        "value": as_json(row.value) if row else None,
        "low": as_json(low),
        "high": as_json(high),
    }


def drift_lines(condition: Condition, drift: Drift, rate: PassRate | None = None) -> list[str]:
    """Say whether one judge changed in one setting, then its level, order effect and noise.

    ``rate``: of two scores, what the mean score says as a pass rate.
    """
    head = (
        f"{say(drift.word, WORDS)}: {condition_name(condition)}, {drift.units} independent units "
        f"in both runs."
    )
    if drift.identical:
        return [head, f"  {say('identical', WORDS)}"]
    changes = [
        f"  {_change_line(condition, question, change, 1 - drift.alpha, rate)}"
        for question, change in drift.questions.items()
    ]
    return [head, *changes]


def _change_line(
    condition: Condition, question: str, change: Change, level: float, rate: PassRate | None
) -> str:
    """Say how one question changed, or why that is not known. ``level``: of the interval."""
    said = REASONS.get(change.why, "")
    if math.isfinite(change.value):
        said = _change(condition, question, change, level, rate)
        if change.why == "few_swaps":
            said = f"{said} {REASONS[change.why]}"
    return f"{say(change.word, WORDS)}: {say(question, WORDS)}: {said}"


def _change(
    condition: Condition, question: str, change: Change, level: float, rate: PassRate | None
) -> str:
    """Say how much a question changed, which way, with its interval."""
    points = question == "level" or (question == "order" and condition.in_points)
    form, unit, scale = (".2f", " points", 1.0) if points else (".0f", " percentage points", 100.0)
    key = "order_points_said" if question == "order" and points else f"{question}_said"
    if question == "order" and condition.reorder == "examples":
        key = "order_examples_said"
    names = {}
    if rate is not None:
        key, names = f"{question}_rate_said", {"high": rate.passes, "low": rate.fails}
        form, unit, scale = ".1f", " percentage points", _scale_of_rate(question, change, rate)
    low, high = sorted((scale * change.low, scale * change.high))
    known = interval_text(low, high, "+" + form, level=level)
    value = scale * change.value
    return say(
        key,
        WORDS,
        size=number(abs(value), form) + unit,
        inside=known or lowered(REASONS.get(change.why, "")),
        position=str(change.position or ""),
        way="higher" if value > 0 else "lower",
        more="more" if value > 0 else "less",
        **names,
    )


def _scale_of_rate(question: str, change: Change, rate: PassRate) -> float:
    """Return what turns a change into percentage points: of the pass rate, or of verdicts.

    What the option listed first gains is half of what the pass rate changes by when the score that
    passes is listed first; what the second one gains is minus that.
    """
    if question == "level":
        return rate.factor
    if question == "noise":
        return 100.0
    return 200.0 if change.position == 1 else -200.0


def drift_document(condition: Condition, drift: Drift) -> dict[str, Any]:
    """Return one setting's drift as JSON values."""
    return {
        "judge": condition.judge,
        "dataset": condition.dataset,
        "reorder": condition.reorder,
        "word": drift.word,
        "identical": drift.identical,
        "units": drift.units,
        "p": drift.gate.p,
        "level": 1 - drift.alpha,
        "questions": {
            question: _change_document(change) for question, change in drift.questions.items()
        },
    }


def _change_document(change: Change) -> dict[str, Any]:
    """Return the verdict about one change as JSON values."""
    made = {name: as_json(getattr(change, name)) for name in NUMBERS}
    made |= {"verdict": change.word, "why": change.why}
    return made if change.position is None else made | {"position": change.position}


def derived_line(derived: Derived, conditions: Sequence[Condition] = ()) -> str:
    """Write a limit as the command takes it, with why it is this one; or why there is none.

    ``conditions``: of the run, since positions of criteria and examples lean in points.
    """
    limit, row, can_fail = derived
    about = measure_of(row, conditions)
    numbers = {
        "name": about.name,
        "size": value_text(row, about),
        "inside": inside(row, about),
        "limit": number(limit.high, about.form),
    }
    if not can_fail:
        return f"# {say('too_wide', WORDS, **numbers)}"
    is_smallest = limit.high <= row.smallest * ROUNDED_UP
    key = "derived_smallest" if is_smallest else "derived"
    return f"--limit {limit}  # {say(key, WORDS, **numbers)}"


ROUNDED_UP = 1.1
"""Limits are rounded up to two digits: by a tenth at most."""
NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def xml_text(text: str) -> str:
    """Return ``text`` as XML 1.0 can hold it: other characters (U+FFFE, U+FFFF) become U+FFFD."""
    return NOT_XML.sub("\ufffd", printable(text))


def junit(name: str, cases: Sequence[tuple[str, Word, str]]) -> bytes:
    """Return JUnit's XML of (case, word, line).

    What fails is a failure and what is unknown is an error, so that neither is green.
    """
    words = [word for _, word, _ in cases]
    suite = ElementTree.Element(
        "testsuite",
        name=xml_text(name),
        tests=str(len(cases)),
        failures=str(words.count("fails")),
        errors=str(words.count("unknown")),
    )
    for case, word, line in cases:
        made = ElementTree.SubElement(suite, "testcase", classname="rubriclab", name=xml_text(case))
        if word != "passes":
            kind = "failure" if word == "fails" else "error"
            ElementTree.SubElement(made, kind, message=xml_text(line))
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))


def case_name(checked: Checked, findings: Findings) -> str:
    """Name a limit, and the condition whose row it is compared with."""
    if checked.row is None:
        return str(checked.limit)
    conditions = findings.conditions
    return f"{checked.limit} {condition_name(conditions[checked.row.condition], conditions)}"


def overall(words: Sequence[Word]) -> str:
    """Say “Fails: 1 of 3”: the worst word, and how many limits have it."""
    word = worst(words)
    return f"{say(word, WORDS)}: {sum(given == word for given in words)} of {len(words)}"
