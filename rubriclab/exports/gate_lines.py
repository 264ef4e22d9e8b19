"""Limits held against a run, or two runs held against each other, in; lines for a terminal, a
document, JUnit's XML out.
"""

import math
import re
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from rubriclab.core.drift import Change, Drift
from rubriclab.core.operations import Checked, Derived, Word, worst
from rubriclab.core.topic import REASONS, Findings
from rubriclab.exports.table import as_json
from rubriclab.model.judgment import Condition
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


def checked_line(checked: Checked, findings: Findings) -> str:
    """What one limit says of one row: “Fails: Largest share …: 22% (95% CI 16 to 27%); at most
    10%”.
    """
    row, word = checked.row, say(checked.word, WORDS)
    if row is None:
        return f"{word}: {checked.limit}: {lowered(REASONS[checked.why])}"
    conditions = findings.conditions
    about = measure_of(row, conditions)
    low, high = (number(end, about.form) for end in (checked.limit.low, checked.limit.high))
    key = "most" if checked.limit.low in (-math.inf, -checked.limit.high) else "within"
    wanted = say("least" if checked.limit.high == math.inf else key, WORDS, low=low, high=high)
    why = f"; {lowered(REASONS[checked.why])}" if checked.why else ""
    number_of = f"{value_text(row, about)} ({inside(row, about)})"
    return (
        f"{word}: {condition_name(conditions[row.condition], conditions)}: "
        f"{name(row, conditions)}: {number_of}; "
        f"{wanted}{why}"
    )


def checked_document(checked: Sequence[Checked]) -> list[dict[str, Any]]:
    """Each limit and row as JSON values."""
    return [
        {
            "limit": str(part.limit),
            "word": part.word,
            "why": part.why or None,
            "condition": part.row.condition if part.row else None,
            "of": dict(part.row.of) if part.row else {},
            "value": as_json(part.row.value) if part.row else None,
            "low": as_json(part.row.interval[0]) if part.row else None,
            "high": as_json(part.row.interval[1]) if part.row else None,
        }
        for part in checked
    ]


def drift_lines(condition: Condition, drift: Drift) -> list[str]:
    """Whether one judge changed in one setting, then its level, order effect and noise."""
    lines = [
        f"{say(drift.word, WORDS)}: {condition_name(condition)}, {drift.units} independent units "
        f"in both runs."
    ]
    if drift.identical:
        return [*lines, f"  {say('identical', WORDS)}"]
    return lines + [
        f"  {_change_line(condition, question, change)}"
        for question, change in drift.questions.items()
    ]


def _change_line(condition: Condition, question: str, change: Change) -> str:
    points = question == "level" or (question == "order" and condition.joint)
    form, unit = (".2f", " points") if points else (".0f", " percentage points")
    scale = 1.0 if points else 100.0
    key = "order_points_said" if question == "order" and points else f"{question}_said"
    known = interval_text(scale * change.low, scale * change.high, "+" + form) or lowered(
        REASONS.get(change.why, "")
    )
    said = say(
        key,
        WORDS,
        size=number(abs(scale * change.value), form) + unit,
        inside=known,
        position=str(change.position or ""),
        way="higher" if change.value > 0 else "lower",
        more="more" if change.value > 0 else "less",
    )
    if not math.isfinite(change.value):
        said = REASONS.get(change.why, "")
    return f"{say(change.word, WORDS)}: {say(question, WORDS)}: {said}"


def drift_document(condition: Condition, drift: Drift) -> dict[str, Any]:
    """One setting's drift as JSON values."""
    questions = {question: _change_document(change) for question, change in drift.questions.items()}
    about = {"judge": condition.judge, "dataset": condition.dataset, "reorder": condition.reorder}
    outcome = {
        "word": drift.word,
        "identical": drift.identical,
        "units": drift.units,
        "p": drift.gate.p,
    }
    return {**about, **outcome, "questions": questions}


def _change_document(change: Change) -> dict[str, Any]:
    """Return the verdict about one change as JSON values."""
    made = {name: as_json(getattr(change, name)) for name in NUMBERS}
    made |= {"verdict": change.word, "why": change.why}
    return made if change.position is None else made | {"position": change.position}


def derived_line(derived: Derived) -> str:
    """A limit as the command takes it and why it is this one; or why there is none."""
    limit, row, can_fail = derived
    numbers = {
        "name": row.about.name,
        "size": value_text(row),
        "inside": inside(row),
        "limit": number(limit.high, row.about.form),
    }
    if not can_fail:
        return f"# {say('too_wide', WORDS, **numbers)}"
    enough = limit.high <= row.smallest * 1.1
    return (
        f"--limit {limit}  # {say('derived_smallest' if enough else 'derived', WORDS, **numbers)}"
    )


NOT_XML = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")


def xml_text(text: str) -> str:
    """Return ``text`` as XML 1.0 can hold it: other characters (U+FFFE, U+FFFF) become U+FFFD."""
    return NOT_XML.sub("\ufffd", printable(text))


def junit(name: str, cases: Sequence[tuple[str, Word, str]]) -> bytes:
    """JUnit's XML of (case, word, line): what fails is a failure, what cannot be told an error, so
    that neither is green.
    """
    counted = {kind: sum(word == kind for _, word, _ in cases) for kind in ("fails", "unknown")}
    suite = ElementTree.Element(
        "testsuite",
        name=xml_text(name),
        tests=str(len(cases)),
        failures=str(counted["fails"]),
        errors=str(counted["unknown"]),
    )
    for case, word, line in cases:
        made = ElementTree.SubElement(suite, "testcase", classname="rubriclab", name=xml_text(case))
        if word != "passes":
            ElementTree.SubElement(
                made, "failure" if word == "fails" else "error", message=xml_text(line)
            )
    return bytes(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))


def case_name(checked: Checked, findings: Findings) -> str:
    """A limit, and whose row it is held against."""
    row, conditions = checked.row, findings.conditions
    return (
        f"{checked.limit} {condition_name(conditions[row.condition], conditions)}"
        if row
        else str(checked.limit)
    )


def overall(words: Sequence[Word]) -> str:
    """“Fails: 1 of 3 limits”, in words."""
    word = worst(words)
    return f"{say(word, WORDS)}: {sum(given == word for given in words)} of {len(words)}"
