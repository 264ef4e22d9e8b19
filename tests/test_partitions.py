"""Judgments as a folder of Parquet files, and imports written in slices: the rows are those of the store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from rubriclab.__main__ import main
from rubriclab.store import RunWriter, Store, StoreError
from rubriclab.store.partitions import write_partitions
from rubriclab.store.provenance import provenance
from rubriclab.study.plan import plan
from tests.labkit import answered, criteria_study, study

SAME = ["item_id", "judge", "strategy", "status", "score", "position", "expected", "mass", "p1", "call", "read"]


def filled(path: Path) -> list[str]:
    runs = []
    with Store(path) as store:
        for about in (study(), criteria_study()):
            prepared = plan(about)
            info = store.open_run(prepared, provenance(prepared))
            with RunWriter(store, info.run) as writer:
                for judgment in answered(prepared):
                    writer.put(judgment)
            runs.append(info.run)
    return runs


def read_in_place(folder: Path) -> pd.DataFrame:
    files = f"{folder}/**/*.parquet"
    return duckdb.sql(f"SELECT * FROM read_parquet('{files}', hive_partitioning = true)").df()


def ordered(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[SAME].sort_values(["call", "item_id"]).reset_index(drop=True).astype({"score": "float64"})


def test_duckdb_reads_every_judgment_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubriclab.store.partitions.FILE_ROWS", 20)
    monkeypatch.setattr("rubriclab.store.partitions.GROUP_ROWS", 8)
    runs = filled(tmp_path / "lab.duckdb")
    assert main(["store", "partitions", str(tmp_path / "lab.duckdb"), "--out", str(tmp_path / "parts")]) == 0
    rows = read_in_place(tmp_path / "parts")
    assert set(rows["run"]) == set(runs)
    with Store(tmp_path / "lab.duckdb") as store:
        for run in runs:
            mine, kept = rows[rows["run"] == run], store.export_frame(run)
            pd.testing.assert_frame_equal(ordered(mine), ordered(kept), check_dtype=False)
            assert mine["shown"].map(len).ge(2).all()
        files = list((tmp_path / "parts" / f"run={runs[0]}").rglob("*.parquet"))
        assert len(files) > len(store.frame(runs[0]).arms)  # more than a file an arm


def test_one_run_alone_and_nothing_overwritten(tmp_path: Path) -> None:
    runs = filled(tmp_path / "lab.duckdb")
    with Store(tmp_path / "lab.duckdb") as store:
        parts = write_partitions(store, tmp_path / "parts", [runs[1]])
        assert sum(part.judgments for part in parts) == len(read_in_place(tmp_path / "parts")) > 0
        assert set(read_in_place(tmp_path / "parts")["run"]) == {runs[1]}
        with pytest.raises(StoreError, match="is not empty"):
            write_partitions(store, tmp_path / "parts")
        with pytest.raises(StoreError, match="nothing-like-it"):
            write_partitions(store, tmp_path / "more", ["nothing-like-it"])
    assert main(["store", "partitions", str(tmp_path / "none.duckdb"), "--out", str(tmp_path / "p")]) == 1
    assert not (tmp_path / "none.duckdb").exists()


@pytest.mark.parametrize("about", [study, criteria_study])
def test_an_import_in_slices_is_the_same_run(about: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = dict(zip((study, criteria_study), filled(tmp_path / "lab.duckdb"), strict=True))
    with Store(tmp_path / "lab.duckdb") as store:
        data = store.frame(runs[about], probabilities=True)  # type: ignore[index]
    kind = pd.Series(["cut" if call % 9 == 0 else None for call in data.judgments["call"]], dtype=object)
    data = replace(data, judgments=data.judgments.assign(kind=kind.to_numpy()))
    kept = []
    for rows in (1_000_000, 7):
        monkeypatch.setattr("rubriclab.store.objects.AT_ONCE", rows)
        with Store(":memory:") as store:
            kept.append(store.archive_frame(store.import_run(data, provenance={})))
    assert len(kept[0]) == len(data.judgments) > 7
    pd.testing.assert_frame_equal(*kept)
