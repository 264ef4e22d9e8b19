"""A run's findings in, what a terminal shows of them out: the answer of each judge, then rows as
lines.
"""

from collections.abc import Iterable, Sequence

from rubriclab.core.topic import Findings, Row
from rubriclab.model.judgment import Condition
from rubriclab.model.text import LabError, printable, shorten
from rubriclab.words.answer import answers, several_tests
from rubriclab.words.phrases import condition_name, name, readable, row_text
from rubriclab.words.what_helps import helps_answers
from rubriclab.words.with_people import people_answers


def findings_text(findings: Findings, topic: str = "") -> str:
    """A run's findings for a terminal: the answer for each judge; control signs escaped.

    ``topic``: then the rows of this one too, or of “all”. Raises LabError for one that the run has
    no rows of.
    """
    every = (*answers(findings), *people_answers(findings), *helps_answers(findings))
    blocks = ["\n".join(answer.lines()) for answer in every]
    if several := several_tests(findings):
        blocks.append(several)
    conditions = findings.conditions
    rows = findings.of_topic(topic) if topic else []
    if topic and not rows:
        known = ", ".join(dict.fromkeys(row.topic for row in findings.rows))
        raise LabError(
            f"This run has no topic “{shorten(topic)}”. It has {known}; “all” is every one."
        )
    kinds = dict.fromkeys((row.topic, row.condition) for row in rows)
    for kind in kinds:
        head = f"{readable(kind[0])} · {condition_name(conditions[kind[1]], conditions)}"
        mine = [row for row in rows if (row.topic, row.condition) == kind]
        blocks.append(f"{head}\n{rows_text(mine, conditions)}")
    return printable("\n\n".join(blocks) + "\n")


def rows_text(rows: Iterable[Row], conditions: Sequence[Condition] = ()) -> str:
    """One line a row, for a terminal: its name, its number, its interval."""
    return printable(
        "\n".join(f"  {name(row, conditions)}: {row_text(row, conditions)}" for row in rows)
    )
