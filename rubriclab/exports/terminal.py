"""Write a run's findings for a terminal: the answer about each judge, then rows as lines."""

from collections.abc import Iterable, Sequence

from rubriclab.core.topic import Findings, Row
from rubriclab.model.judgment import Condition
from rubriclab.model.text import LabError, printable, shorten
from rubriclab.words.answer import answers, several_tests
from rubriclab.words.company import company_answers
from rubriclab.words.pass_fail import pass_fail_answers
from rubriclab.words.phrases import condition_name, name, readable, row_text
from rubriclab.words.what_helps import helps_answers
from rubriclab.words.with_people import people_answers

MOST_CALLS = 10
"""Lines for the hardest calls; ``--json`` and the tab Judges have them all."""


def findings_text(findings: Findings, topic: str = "") -> str:
    """Return a run's findings as text, with control characters escaped.

    ``topic``: add the rows of this one, or of “all”. Raises LabError for one that the run has no
    rows of.
    """
    every = (
        *answers(findings),
        *company_answers(findings),
        *people_answers(findings),
        *pass_fail_answers(findings),
        *helps_answers(findings),
    )
    blocks = ["\n".join(answer.lines()) for answer in every]
    if several := several_tests(findings):
        blocks.append(several)
    if topic:
        blocks += _blocks_of_topic(findings, topic)
    return printable("\n\n".join(blocks) + "\n")


def _blocks_of_topic(findings: Findings, topic: str) -> list[str]:
    """Return the rows of a topic, a block for each condition."""
    conditions = findings.conditions
    rows = findings.of_topic(topic)
    if not rows:
        known = ", ".join(dict.fromkeys(row.topic for row in findings.rows))
        raise LabError(
            f"This run has no topic “{shorten(topic)}”. It has {known}; “all” is every one."
        )
    blocks = []
    for key, code in dict.fromkeys((row.topic, row.condition) for row in rows):
        head = f"{readable(key)} · {condition_name(conditions[code], conditions)}"
        mine = [row for row in rows if (row.topic, row.condition) == (key, code)]
        blocks.append(f"{head}\n{rows_text(_short_lists(mine), conditions)}")
    return blocks


def _short_lists(rows: Sequence[Row]) -> list[Row]:
    """Return rows without those after the first MOST_CALLS that are each about a single call."""
    listed = [row for row in rows if row.measure == "hardest"]
    left_out = {id(row) for row in listed[MOST_CALLS:]}
    return [row for row in rows if id(row) not in left_out]


def rows_text(rows: Iterable[Row], conditions: Sequence[Condition] = ()) -> str:
    """Return one line for each row: its name, its number, its interval."""
    lines = [f"  {name(row, conditions)}: {row_text(row, conditions)}" for row in rows]
    return printable("\n".join(lines))
