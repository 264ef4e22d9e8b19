"""What a command writes for readers is in the language that was asked for; what it says itself, and programs read, is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rubriclab.__main__ import main
from rubriclab.model.language import catalogue
from rubriclab.model.places import EXAMPLE
from rubriclab.store import Store
from rubriclab.store.archive import read_archive


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("told") / "lab.duckdb"
    with Store(path) as kept:
        read_archive(kept, EXAMPLE.read_bytes())
    return path


def run_of(store: Path) -> str:
    with Store(store) as kept:
        return kept.runs()[0].run


@pytest.mark.slow
def test_a_report_is_written_in_german(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "report.html"
    assert main(["report", run_of(store), "--language", "de", "--out", str(out), "--store", str(store)]) == 0
    page = out.read_text(encoding="utf-8")
    assert '<html lang="de"' in page
    assert str(catalogue("de")["What was found"]) in page
    assert "What was found" not in page
    assert "opens without a network" in capsys.readouterr().err


@pytest.mark.slow
def test_a_share_in_german_has_results_that_programs_read(store: Path, tmp_path: Path) -> None:
    run, out = run_of(store), tmp_path / "share"
    assert main(["share", run, "--language", "de", "--out", str(out), "--store", str(store)]) == 0
    assert '<html lang="de"' in (out / "index.html").read_text(encoding="utf-8")
    shared = (out / run / "tables" / "results.json").read_text(encoding="utf-8")
    assert main(["share", run, "--out", str(tmp_path / "english"), "--store", str(store)]) == 0
    english = (tmp_path / "english" / run / "tables" / "results.json").read_text(encoding="utf-8")
    assert json.loads(shared) == json.loads(english)
    tables = [(out / run / "tables" / name).read_bytes() for name in ("estimates.csv", "results.md")]
    assert tables == [
        (tmp_path / "english" / run / "tables" / name).read_bytes() for name in ("estimates.csv", "results.md")
    ]


def test_a_language_that_there_is_not_is_refused(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", "x", "--language", "xx", "--out", "r.html", "--store", str(store)])
    assert "invalid choice: 'xx'" in capsys.readouterr().err
