"""The one writer of numbers: units, levels, limits; the text that a terminal gets; rows as a frame,
as JSON, as LaTeX.
"""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rubriclab.core.estimate import Estimate, missing
from rubriclab.core.topic import REASONS, Row
from rubriclab.exports.table import document, frame, frame_of_rows, latex_table, spoken
from rubriclab.exports.terminal import findings_text
from rubriclab.model.text import LabError
from rubriclab.words.phrases import (
    MINUS,
    NBSP,
    ci,
    ends,
    lowered,
    name,
    number,
    order_title,
    p_value,
    row_text,
)
from tests.tables import comparisons, findings
from tests.words import made


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (-0.074, ".2f", f"{MINUS}0.07"),
        (-0.004, ".2f", "0.00"),
        (0.0, "+.2f", "0.00"),
        (0.614, ".0%", "61%"),
        (0.997, ".0%", "99.7%"),
        (1.0, ".0%", "100%"),
        (1234.5, ",.1f", "1,234.5"),
        (math.nan, ".2f", "unknown"),
        (math.inf, ".2f", "unknown"),
    ],
)
def test_a_number(value: float, form: str, text: str) -> None:
    assert number(value, form) == text


def test_a_rounded_number_stays_on_its_side_of_a_limit() -> None:
    assert number(4.83, ".0f", (0.0, 5.0)) == "4.8"  # "5" would say that it reaches the limit
    assert number(4.2, ".0f", (0.0, 5.0)) == "4"
    assert number(0.004, ".2f", (0.0,)) == "0.004"
    assert number(0.0, ".2f", (0.0,)) == "0.00"
    assert number(0.0496, ".0%", (0.05,)) == "4.96%"


def test_an_interval_names_its_level_and_a_p_value_its_limit() -> None:
    assert ends(0.54, 0.67, ".0%", level=0.95) == "95% CI 54 to 67%"
    assert ends(-0.2, 0.1, "+.2f", level=0.99) == f"99% CI {MINUS}0.20 to +0.10"
    assert ends(math.nan, 0.1, level=0.95) == ""
    assert ci(0.95, 0.95) == "95% CI"
    assert ci(0.982322, 0.95) == "95% to 98.23% CI"
    assert p_value(0.0004) == f"p{NBSP}<{NBSP}0.001"
    assert p_value(0.0312) == f"p{NBSP}={NBSP}0.031"
    assert p_value(0.314) == f"p{NBSP}={NBSP}0.31"
    assert p_value(None) == p_value(math.nan) == ""


def test_a_row_is_written_with_its_unit_interval_level_and_test() -> None:
    estimate = Estimate(0.62, np.zeros(20), np.arange(20))
    row = Row("largest_gap", estimate, ends=(0.51, 0.70), test=("F", 0.0001))
    assert row_text(row) == f"0.62{NBSP}points (95% CI 0.51 to 0.70), F: p{NBSP}<{NBSP}0.001"
    wide = Row(
        "position_given_score", estimate, {"score": 4, "position": 1}, ends=(0.5, 0.7), level=0.999
    )
    assert row_text(wide) == "62% (99.9% CI 50 to 70%)"


def test_a_test_alone_has_no_number_and_an_estimate_below_its_interval_says_so() -> None:
    none = np.zeros(0)
    gate = Row("gate", Estimate(math.nan, none, none), test=("permutation", 0.03))
    assert row_text(gate) == f"permutation: p{NBSP}={NBSP}0.030"
    below = Row("changes_single", Estimate(-0.022, none, none), ends=(0.0, 0.024))
    assert row_text(below) == f"{MINUS}2% (95% CI 0 to 2%; below 0 only by chance)"


def test_the_lean_of_criteria_is_in_points() -> None:
    findings = made.findings(made.criteria_table(lambda *at: 4 - (at[2] > 0), items=20))
    said = findings_text(findings, topic="verdict")
    assert f"Largest change of a criterion's score at a position: 0.67{NBSP}points (95% CI" in said


@pytest.mark.parametrize(
    ("shown", "title"),
    [
        ((1, 2, 3), "1 to 3"),
        ((5, 4, 3, 2, 1), "5 to 1"),
        ((4, 3, 2, 1, 5), "4 3 2 1 5"),
        ((2, 1), "2 1"),
        (("Tone", "Facts"), "Tone | Facts"),
    ],
)
def test_an_order_is_named_by_its_ends_only_where_it_runs_through(
    shown: tuple[int | str, ...], title: str
) -> None:
    assert order_title(shown) == title


def test_of_pairs_winners_change() -> None:
    said = findings_text(findings(comparisons([[1, 2]] * 12, [[0, 1], [1, 0]])), "all")
    assert (
        "No order was repeated, so changes in single winners include the judge's own noise." in said
    )
    assert "Winners changed by the order, beyond noise" in said
    assert "ingle score" not in said


NONE = missing("single_order")


@pytest.mark.parametrize(
    ("row", "label"),
    [
        (Row("position_given_score", NONE, {"score": 4, "position": 1}), "Score 4 at position 1"),
        (
            Row("line", NONE, {"against": 2}),
            "Ascending - descending (against 2)",
        ),  # what a label leaves out
        (Row("budget_pearson", NONE, {"calls": 1}), "r of 1 call with people"),
        (Row("budget_pearson", NONE, {"calls": 21}), "r of 21 calls with people"),
        (Row("aic_removed", NONE, {"outcome": "PC", "term": "none"}), "PC: nothing left out"),
        (
            Row("aic_removed", NONE, {"outcome": "PC", "term": "quality_gap"}),
            "PC: without the quality gap",
        ),
    ],
)
def test_a_row_has_a_name_and_a_reason_where_it_has_no_number(row: Row, label: str) -> None:
    assert name(row) == label
    assert row_text(row) == f"unknown ({lowered(REASONS['single_order'])})"


def test_a_terminal_gets_the_answer_first_and_no_control_sign() -> None:
    hostile = "evil\x1b[31m\u202e\x07judge"
    text = findings_text(
        made.findings(made.options_table({hostile: made.always_first}, items=12)), "all"
    )
    first = text.splitlines()[0]
    assert first.endswith("favours the option listed first")
    assert "\\u001b" in first
    assert not {"\x1b", "\u202e", "\x07"} & set(text)
    assert first.startswith("Biased: ")
    assert re.search(r"  Yes +Does it favour positions\?", text)
    topics = [
        line.split(" · ")[0]
        for line in text.splitlines()
        if " · " in line and not line.startswith(" ")
    ]
    assert topics[:3] == ["Verdict", "Position", "Shift"]
    table = made.findings(made.options_table({"j": made.always_first}, items=12))
    only, answer = findings_text(table, "shift"), findings_text(table)
    assert only.startswith(answer.rstrip())
    assert "Shift ·" in only
    assert "Position ·" not in only
    assert " · " not in answer
    with pytest.raises(LabError, match=r"no topic “shfit”\. There are .*shift"):
        findings_text(table, "shfit")


# ------------------------------------------------------------------------------------------- tables
KEYS = {
    "topic",
    "measure",
    "condition",
    "of",
    "value",
    "low",
    "high",
    "level",
    "units",
    "unit",
    "n",
    "test",
    "p",
    "verdict",
    "smallest",
    "why",
    "from",
}


@pytest.fixture(scope="module")
def two() -> object:
    return made.findings(
        made.options_table({"a_judge": made.mostly_first, "other": made.by_quality}, items=20)
    )


def test_the_document_is_strict_json_of_format_2(two: made.Findings) -> None:
    said = json.loads(json.dumps(document(two), allow_nan=False))
    assert said["format"] == 2
    assert said["run"]["id"] == "0123456789ab"
    # 20 items x 6 orders x 2 repeats x 2 judges
    assert said["run"]["planned"] == said["run"]["done"] == 480
    # What is used, in steps: three scores, so a sixteenth of the scale.
    assert said["reading"]["smallest"] == {"mean": 0.125, "share": 0.05, "single": 0.05, "r": 0.05}
    assert said["conditions"][0] == {
        "condition": 0,
        "judge": "a_judge",
        "dataset": "answers",
        "strategy": "balanced",
        "variant": {},
        "reorder": "options",
        "positions": 3,
        "scores": [1, 2, 3],
        "calls": 240,
        "status": {"ok": 240, "unparsed": 0, "refused": 0, "truncated": 0, "error": 0},
    }
    for row in said["rows"]:
        assert set(row) - {"counts"} == KEYS
        assert (row["smallest"] is not None) == (row["verdict"] is not None)
    verdicts = {row["measure"] for row in said["rows"] if row["topic"] == "verdict"}
    assert verdicts == {"favours_positions", "moves_mean", "changes_single", "gate"}


def test_unknown_numbers_are_null_with_their_reason() -> None:
    said = document(made.findings(made.options_table({"j": lambda *_: None}, items=3)))
    known = [row for row in said["rows"] if row["measure"] == "cramers_v"]
    assert known[0]["value"] is None
    assert known[0]["why"] == "nothing_parsed"
    assert said["conditions"][0]["status"]["unparsed"] == 36


def test_every_sink_has_the_rows_own_numbers(two: made.Findings) -> None:
    """JSON, frame and rows agree in value, ends, level and verdict, to the last bit."""
    table, said = frame(two), document(two)["rows"]
    assert len(table) == len(said) == len(two.rows)
    for row, written, record in zip(two.rows, said, table.to_dict("records"), strict=True):
        numbers = {
            "value": row.value,
            "low": row.interval[0],
            "high": row.interval[1],
            "level": row.level,
        }
        for key, known in numbers.items():
            assert written[key] == (record[key] if math.isfinite(known) else None)
            assert record[key] == known or not math.isfinite(known)
        assert written["verdict"] == (row.verdict or None)
        assert record["verdict"] == row.verdict or (not row.verdict and pd.isna(record["verdict"]))
    shares = table[(table["measure"] == "position_share") & (table["judge"] == "a_judge")]
    assert list(shares["position"]) == [1, 2, 3]  # what rows are about is spread into columns
    assert "candidate" not in table  # nothing is about one


def test_extra_rows_stand_behind_the_others(two: made.Findings) -> None:
    contrast = [replace(row, of={"against": 1}) for row in two.select("line", condition=0)]
    said = document(two, extra=contrast)["rows"]
    assert said[-1]["of"] == {"against": 1, "against_name": "other"}
    assert list(frame_of_rows(contrast)["against"]) == [1]
    assert len(frame_of_rows([])) == 0


def test_a_latex_table_of_every_row(two: made.Findings) -> None:
    text = latex_table(spoken(two))
    assert text.count(r"\\") == 1 + len(two.rows)
    assert r"a\_judge" in text
    assert r"\%" in text
    assert "\u2212" not in text
