"""The lab in Python as the README shows it: a file, a frame, a study and a store in, rows, sentences and files out."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import rubriclab as rl
from tests.cli.test_commands import folder_with_study


def frame(score: int) -> pd.DataFrame:
    """Twelve answers in both orders: ``score`` where 1 comes first, else 2."""
    rows = [("j", f"a{k}", order, score if order == "1 2 3" else 2) for k in range(12) for order in ("1 2 3", "3 2 1")]
    return pd.DataFrame(rows, columns=["judge", "item_id", "ordering", "score"])


def test_a_frame_its_other_reading_and_the_difference_of_two_runs() -> None:
    biased, fair = rl.read(frame(1), name="biased"), rl.read(frame(2))
    # Ascending less descending: 1 - 2 of every answer, and 2 - 2.
    assert biased.rows(topic="shift", measure="line")["value"].tolist() == [-1.0]
    assert biased.minus(fair).rows().query("measure == 'line'")["value"].tolist() == [-1.0]
    verdicts = biased.read_as(unit="item", smallest=2.5, share=0.5, single=0.5).rows(topic="verdict")
    assert dict(zip(verdicts["measure"], verdicts["verdict"], strict=True))["moves_mean"] == "equivalent"
    assert biased.judgments(score=1, limit=3)["item_id"].tolist() == ["a0", "a1", "a2"]
    assert biased.chart("position_share").data
    assert "biased" not in biased.text()  # it says what the judge does, not what the file is called
    with pytest.raises(rl.LabError, match=r"reading: \[smallest\] mean is 99"):
        biased.read_as(smallest=99)
    with pytest.raises(rl.LabError, match="in no store"):
        biased.info()


def test_a_study_asked_kept_exported_and_opened_again(tmp_path: Path) -> None:
    folder = folder_with_study(tmp_path, items=4)
    seen = []
    run = rl.run(folder / "study.toml", folder / "lab.duckdb", progress=lambda snapshot: seen.append(snapshot.done))
    assert run.info().state == "finished"
    assert seen[-1] == len(run.judgments(limit=None)) == 48  # 4 answers, 6 orders, twice
    for ending, head in ((".html", b"<!"), (".zip", b"PK"), (".csv", b"call,condition,item,"), (".tex", b"\\begin")):
        assert run.export(folder / f"out{ending}").read_bytes().startswith(head)
    with pytest.raises(rl.LabError, match=r"expected \.html, \.zip, \.csv or \.tex"):
        run.export(folder / "out.docx")
    assert b"The answer number" in run.export(folder / "texts.html", texts=True).read_bytes()
    run.close()
    with rl.open(folder / "lab.duckdb") as lab:
        assert lab.runs()["name"].tolist() == ["Small study"]
        assert lab.run("small STUDY").text() == run.text()
    again = rl.read(folder / "out.zip")
    assert again.text() == run.text()
    for texts in (False, True):  # word for word only where it is asked for
        page = again.export(folder / "again.html", texts=texts).read_text("utf-8")
        assert ("The answer number 0 with some words" in page) == texts
