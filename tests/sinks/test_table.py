"""Rows as a frame, as JSON version 2, as LaTeX."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pandas as pd
import pytest

from rubriclab.sinks.table import document, frame, frame_of_rows, latex
from tests.sinks import made

KEYS = {
    "topic", "measure", "condition", "of", "value", "low", "high", "level", "units", "unit", "n", "test", "p", "verdict",
    "smallest", "why", "from",
}  # fmt: skip


@pytest.fixture(scope="module")
def findings() -> object:
    return made.findings(made.options_table({"a_judge": made.mostly_first, "other": made.by_quality}, items=20))


def test_the_document_is_strict_json_of_format_2(findings: made.Findings) -> None:
    said = json.loads(json.dumps(document(findings), allow_nan=False))
    assert said["format"] == 2
    assert said["run"]["id"] == "0123456789ab"
    # 20 items x 6 orders x 2 repeats x 2 judges
    assert said["run"]["planned"] == said["run"]["done"] == 480
    assert said["reading"]["smallest"] == {"mean": 0.25, "share": 0.05, "single": 0.05, "r": 0.05}
    assert said["conditions"][0] == {
        "condition": 0, "judge": "a_judge", "dataset": "answers", "strategy": "balanced", "variant": {}, "reorder": "options",
        "positions": 3, "scores": [1, 2, 3], "calls": 240,
        "status": {"ok": 240, "unparsed": 0, "refused": 0, "truncated": 0, "error": 0},
    }  # fmt: skip
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


def test_every_sink_has_the_rows_own_numbers(findings: made.Findings) -> None:
    """JSON, frame and rows agree in value, ends, level and verdict, to the last bit."""
    table, said = frame(findings), document(findings)["rows"]
    assert len(table) == len(said) == len(findings.rows)
    for row, written, record in zip(findings.rows, said, table.to_dict("records"), strict=True):
        numbers = {"value": row.value, "low": row.interval[0], "high": row.interval[1], "level": row.level}
        for key, number in numbers.items():
            assert written[key] == (record[key] if math.isfinite(number) else None)
            assert record[key] == number or not math.isfinite(number)
        assert written["verdict"] == (row.verdict or None)
        assert record["verdict"] == row.verdict or (not row.verdict and pd.isna(record["verdict"]))
    shares = table[(table["measure"] == "position_share") & (table["judge"] == "a_judge")]
    assert list(shares["position"]) == [1, 2, 3]  # what rows are about is spread into columns
    assert "candidate" not in table  # nothing is about one


def test_extra_rows_stand_behind_the_others(findings: made.Findings) -> None:
    contrast = [replace(row, of={"against": 1}) for row in findings.select("line", condition=0)]
    said = document(findings, extra=contrast)["rows"]
    assert said[-1]["of"] == {"against": 1}
    assert list(frame_of_rows(contrast)["against"]) == [1]
    assert len(frame_of_rows([])) == 0


def test_a_latex_table_of_every_row(findings: made.Findings) -> None:
    text = latex(findings)
    assert text.count(r"\\") == 1 + len(findings.rows)
    assert r"a\_judge" in text
    assert r"\%" in text
    assert "\u2212" not in text
