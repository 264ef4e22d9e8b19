"""Check that what a number is compared with has a name, never the number of a condition."""

import re
from dataclasses import replace

import pytest

from rubriclab.core.estimate import plain
from rubriclab.core.topic import MEASURES, Row
from rubriclab.exports.table import frame, row_document, spoken
from rubriclab.exports.terminal import findings_text
from rubriclab.figures.pictures import picture_of
from rubriclab.model.judgment import Condition
from rubriclab.words.phrases import against_name, name
from tests.words import made

OWN = Condition("gpt-4o", "stories", "balanced", scores=(1.0, 2.0, 3.0), variant={"ids": "arabic"})
OTHERS = {
    "judge": (replace(OWN, judge="llama"), "llama"),
    "data set": (replace(OWN, dataset="mails"), "mails"),
    "both": (replace(OWN, judge="llama", dataset="mails"), "llama, mails"),
    "one order": (replace(OWN, strategy="fixed"), "the fixed order"),
    "several orders": (replace(OWN, strategy="random"), "the random orders"),
    "form": (replace(OWN, variant={"ids": "letters"}), "ids = letters"),
    "form and order": (
        replace(OWN, strategy="fixed", variant={"ids": "letters"}),
        "the fixed order, ids = letters",
    ),
    "scale": (replace(OWN, scores=(1.0, 2.0)), "scores 1 to 2"),
    "kind of call": (replace(OWN, reorder="pairs"), "pairs"),
    "nothing": (OWN, "gpt-4o (second)"),
}


def compared(measure: str, other: Condition) -> tuple[Row, tuple[Condition, Condition]]:
    row = Row(measure, plain(0.5, "counted"), {"against": 1}, condition=0)
    return row, (OWN, other)


@pytest.mark.papers(36, 53, 57)
@pytest.mark.parametrize("differs", OTHERS)
def test_a_condition_is_named_by_what_tells_it_apart(differs: str) -> None:
    other, said = OTHERS[differs]
    row, conditions = compared("judges_agree", other)
    assert against_name(row, conditions) == said
    assert name(row, conditions) == f"Same choice as {said}"
    assert row_document(row, conditions)["of"] == {"against": 1, "against_name": said}


def test_every_measure_that_compares_conditions_reads_as_a_sentence_part() -> None:
    for measure, about in MEASURES.items():
        if "{against}" in about.label:
            row, conditions = compared(measure, replace(OWN, judge="llama"))
            shown = name(row, conditions)
            assert "llama" in shown
            assert not re.search(r"\bcondition\b|\b1\b", shown), shown


def test_a_row_compared_with_no_condition_keeps_the_name_it_has() -> None:
    row = Row("variant_pearson", plain(0.5, "counted"), {"against": "people"}, condition=0)
    assert not against_name(row, (OWN, OWN))
    assert "people" in name(row, (OWN, OWN))
    row = Row("judges_agree", plain(0.5, "counted"), {"against": 7}, condition=0)
    assert not against_name(row, (OWN, OWN))


def test_no_number_of_a_condition_is_read_anywhere() -> None:
    rules = {"a_judge": made.always_first, "other": made.by_quality}
    for findings in (
        made.several(
            Condition("a_judge", "answers", "balanced"),
            Condition("a_judge", "answers", "fixed"),
            Condition("other", "answers", "balanced"),
            rules=rules,
            items=12,
        ),
    ):
        said = [findings_text(findings, "all"), spoken(findings).to_csv()]
        for code in range(len(findings.conditions)):
            for measure in {row.measure for row in findings.rows}:
                picture = picture_of(findings, measure, code)
                if picture is not None:
                    said.append(picture.alt)
                    said += [line for point in picture.points for line in point.hover]
        assert not re.search(r"condition \d", "\n".join(said))
        table = frame(findings)
        known = table["against"].notna()
        assert known.any()
        assert table.loc[known, "against_name"].notna().all()
