"""Check rl.read, rl.run and rl.open: rows, text, differences and files of a run."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pandas as pd
import pytest

import rubriclab as rl
from rubriclab.data.sample import data_path
from rubriclab.store import read as reading
from tests.cli.test_commands import folder_with_study


def frame(score: int) -> pd.DataFrame:
    """Twelve answers in both orders: ``score`` where 1 comes first, else 2."""
    rows = [
        ("j", f"a{k}", order, score if order == "1 2 3" else 2)
        for k in range(12)
        for order in ("1 2 3", "3 2 1")
    ]
    return pd.DataFrame(rows, columns=["judge", "item_id", "ordering", "score"])


@pytest.mark.thorough
def test_a_frame_is_read_again_and_subtracted() -> None:
    biased, fair = rl.read(frame(1), name="biased"), rl.read(frame(2))
    # Ascending less descending: 1 - 2 of every answer, and 2 - 2.
    assert biased.rows(topic="shift", measure="line")["value"].tolist() == [-1.0]
    assert biased.minus(fair).rows().query("measure == 'line'")["value"].tolist() == [-1.0]
    verdicts = biased.read_as(unit="item", smallest=2.5, share=0.5, single=0.5).rows(
        topic="verdict"
    )
    assert (
        dict(zip(verdicts["measure"], verdicts["verdict"], strict=True))["moves_mean"]
        == "equivalent"
    )
    assert biased.judgments(score=1, limit=3)["item_id"].tolist() == ["a0", "a1", "a2"]
    assert biased.chart("position_share").data
    assert "biased" not in biased.text()  # it says what the judge does, not what the file is called
    with pytest.raises(rl.LabError, match=r"reading: \[smallest\] mean is 99"):
        biased.read_as(smallest=99)
    with pytest.raises(rl.LabError, match="not in a store"):
        biased.info()
    with pytest.raises(rl.LabError, match="no topic “shfit”"):
        biased.rows(topic="shfit")
    with pytest.raises(rl.LabError, match=r"out\.csv has no texts, margin"):
        biased.export("out.csv", texts=True, margin=0.5)


@pytest.mark.thorough
def test_a_study_is_run_exported_and_opened_again(tmp_path: Path) -> None:
    folder = folder_with_study(tmp_path, items=4)
    seen = []
    run = rl.run(
        folder / "study.toml",
        folder / "lab.duckdb",
        progress=lambda snapshot: seen.append(snapshot.done),
    )
    assert run.info().state == "finished"
    assert seen[-1] == len(run.judgments(limit=None)) == 48  # 4 answers, 6 orders, twice
    for ending, head in (
        (".html", b"<!"),
        (".zip", b"PK"),
        (".csv", b"call,condition,item,"),
        (".tex", b"\\begin"),
    ):
        assert run.export(folder / f"out{ending}").read_bytes().startswith(head)
    with pytest.raises(rl.LabError, match=r"Use .*\.parquet, \.tex or \.card"):
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


@pytest.mark.thorough
@pytest.mark.parametrize("example", ["example", "example-criteria", "example-pairs"])
def test_exported_parquet_has_the_judgments_of_the_run(
    tmp_path: Path, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "ROW_GROUP", 500)
    run = rl.read(data_path(f"{example}.zip"))
    path = run.export(tmp_path / "new" / "judgments.parquet")
    rows = duckdb.sql(f"FROM '{path}' ORDER BY call, slot").df()  # in place, by whoever has DuckDB
    expected = run.judgments(limit=None)
    for name in (
        "item_id",
        "ordering",
        "status",
        "repeat",
        "score",
        "position",
        "expected",
        "mass",
    ):
        assert rows[name].tolist() == pytest.approx(expected[name].tolist(), nan_ok=True), name
    conditions = [run.table.conditions[code] for code in expected["condition"]]
    assert rows["judge"].tolist() == [condition.judge for condition in conditions]
    assert rows["strategy"].tolist() == [condition.strategy for condition in conditions]
    assert [entry.name for entry in path.parent.iterdir()] == ["judgments.parquet"]
    path.write_text("before", "utf-8")
    monkeypatch.setattr(
        reading.parquet.ParquetWriter,
        "write_batch",
        lambda *_: (_ for _ in ()).throw(OSError(28, "full")),
    )
    with pytest.raises(rl.LabError):
        run.export(path)
    assert path.read_text("utf-8") == "before"
