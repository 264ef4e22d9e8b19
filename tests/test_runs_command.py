"""The command runs: the list searched, and runs kept in order, as words and as JSON."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from rubriclab.__main__ import main
from rubriclab.runs.manager import RunManager
from rubriclab.store import Store
from rubriclab.study.reading import load_study
from tests.labkit import study


@pytest.fixture
def place(tmp_path: Path) -> tuple[str, str, str]:
    """A store with two runs: its path and their names."""
    path = tmp_path / "lab.duckdb"
    with Store(path) as store:
        first = RunManager(store).start(study(3, name="Drafts")).wait(60.0).run
        second = RunManager(store).start(study(2, name="Replies")).wait(60.0).run
    return str(path), first, second


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["runs", *arguments, "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["runs"]
    return found


def test_runs_are_listed_and_searched(place: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    path, first, second = place
    assert [one["run"] for one in document(capsys, "--store", path)] == [second, first]
    assert [one["run"] for one in document(capsys, "--store", path, "--search", "DRAFTS sim")] == [first]
    assert document(capsys, "--store", path, "--state", "paused") == []
    assert len(document(capsys, "--store", path, "--kind", "options", "--since", "2020-01-01")) == 2
    (one,) = document(capsys, first, "--store", path)
    assert one["judges"] == ["sim"]
    assert (one["title"], one["made_as"], one["kind"], one["state"]) == ("Drafts", "Drafts", "options", "finished")
    assert (one["done"], one["planned"], one["tags"], one["simulated"]) == (60, 60, [], True)
    assert one["created"].endswith("Z")


def test_a_run_is_titled_tagged_archived_deleted_and_restored(
    place: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, first, second = place
    (one,) = document(capsys, "drafts", "--store", path, "--title", "May", "--tag", "pilot", "--tag", "for us")
    assert (one["run"], one["title"], one["tags"]) == (first, "May", ["for us", "pilot"])
    assert [one["run"] for one in document(capsys, "--store", path, "--tag", "PILOT")] == [first]
    (one,) = document(capsys, first, "--store", path, "--untag", "pilot", "--title", "", "--archive")
    assert (one["title"], one["tags"], one["archived"] is None) == ("Drafts", ["for us"], False)
    assert [one["run"] for one in document(capsys, "--store", path)] == [second]
    assert [one["run"] for one in document(capsys, "--store", path, "--archived")] == [first]
    assert len(document(capsys, first, second, "--store", path, "--delete")) == 2
    assert [one["run"] for one in document(capsys, "--store", path, "--deleted")] == [second, first]
    (one,) = document(capsys, first, "--store", path, "--restore")
    assert (one["archived"], one["deleted"]) == (None, None)
    assert document(capsys, second, "--store", path, "--for-good") == []
    assert [one["run"] for one in document(capsys, "--store", path, "--all")] == [first]


def test_what_is_refused_changes_nothing(place: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    path, first, second = place
    assert main(["runs", first, "--store", path, "--for-good"]) == 1
    assert "is not deleted: delete it first" in capsys.readouterr().err
    assert main(["runs", first, second, "--store", path, "--tag", "good", "--tag", "x" * 41]) == 1
    assert "41 characters" in capsys.readouterr().err
    assert main(["runs", first, "--store", path, "--title", "a\nb", "--tag", "good", "--archive"]) == 1
    with Store(path) as store:
        for name in (first, second):
            info = store.run(name)
            assert (info.name, info.tags, info.archived) == (info.made_as, (), None)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--title", "x"], "--title needs a RUN"),
        (["--delete"], "--delete needs a RUN"),
        (["--for-good"], "--for-good needs a RUN"),
        (["one", "--search", "x"], "--search is for a list"),
        (["one", "--deleted"], "--deleted is for a list"),
        (["one", "two", "--title", "x"], "for one RUN"),
        (["one", "--archive", "--delete"], "not allowed with"),
        (["--since", "tomorrow"], "no day"),
    ],
)
def test_arguments_that_do_not_fit_are_said(arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["runs", *arguments, "--store", "none.duckdb"])
    assert ended.value.code == 2
    assert why in capsys.readouterr().err


def test_words_show_titles_as_they_are_and_obey_none(
    place: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    path, first, _ = place
    assert main(["runs", first, "--store", path, "--title", "<b>May</b> *x*", "--tag", "pilot"]) == 0
    with Store(path) as store, store._transaction() as db:  # as another program may write it
        db.execute("UPDATE runs SET title = ? WHERE run <> ?", ["a\x1b[31mred", first])
    capsys.readouterr()
    assert main(["runs", "--store", path]) == 0
    shown = capsys.readouterr().out
    assert f"{first}  <b>May</b> *x* #pilot\n    finished · d · 60 of 60 calls · " in shown
    assert "\x1b" not in shown


def test_the_study_of_a_run_is_written_as_files_that_are_the_same_study(
    place: tuple[str, str, str], tmp_path: Path
) -> None:
    path, first, _ = place
    out = tmp_path / "study.zip"
    assert main(["runs", first, "--store", path, "--study", str(out)]) == 0
    with zipfile.ZipFile(out) as packed:
        packed.extractall(tmp_path / "again")
    with Store(path) as store:
        assert load_study(tmp_path / "again" / "study.toml").id == store.study(first).id
