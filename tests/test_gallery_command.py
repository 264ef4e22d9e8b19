"""rubriclab gallery: the list, what would be fetched, what the logs say, and runs with every line."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rubriclab.__main__ import main
from rubriclab.datasets import gallery as catalogue
from rubriclab.store import Store
from tests.public_logs import annotations, put
from tests.shelf import Shelf

MODELS = ("m0", "m1", "m2", "gone")


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shelf]:
    """A gallery of one judge whose logs are on this machine's server, with an empty cache."""
    monkeypatch.setenv("RUBRICLAB_CACHE", str(tmp_path / "cache"))
    files = {f"/{name}/a.json": annotations(name, lean=0.7, n=120, seed=k) for k, name in enumerate(MODELS[:3])}
    with Shelf(files).open() as made:
        known = catalogue.GALLERY["alpaca-eval"]
        public = replace(
            known,
            address=made.url + "/{name}/a.json",
            files=tuple(catalogue.PublicFile(name) for name in MODELS),
            listing=None,
        )
        monkeypatch.setattr(catalogue, "GALLERY", {"alpaca-eval": public})
        yield made


def test_without_a_judge_all_are_listed_and_nothing_is_asked(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gallery"]) == 0
    told = capsys.readouterr().out
    assert "0 logs here, 4 to fetch (16 MB, 127.0.0.1)" in told
    assert "CC BY-NC 4.0" in told
    assert main(["gallery", "--json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert document["to_fetch"] == list(MODELS)
    assert shelf.asked == []
    assert main(["gallery", "--fetch"]) == 2


def test_what_would_be_fetched_is_said_before_it_is(shelf: Shelf, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gallery", "alpaca-eval"]) == 0
    said = capsys.readouterr()
    assert "about 16 MB, from 127.0.0.1" in said.err
    assert "the others by that of their first fetch" in said.err
    assert "add --fetch" in said.err
    assert shelf.asked == []


def test_fetched_pooled_and_opened(shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lab.duckdb"
    assert main(["gallery", "alpaca-eval", "--fetch", "--store", str(path)]) == 0
    said = capsys.readouterr()
    assert "Not at that commit: gone." in said.err
    assert "gives the answer shown first" in said.out
    assert "over 3 models" in said.out
    assert said.out.count("\n") >= 6
    with Store(path) as store:
        runs = store.runs()
        assert sorted(info.name for info in runs) == [
            f"{catalogue.GALLERY['alpaca-eval'].title}: m{k}" for k in range(3)
        ]
        assert all(info.done == 120 for info in runs)
    asked = len(shelf.asked)
    assert main(["gallery", "alpaca-eval", "--json", "--only", "m1"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["name"] == "m1"
    assert row["first_place"]["design"] == "one random order"
    assert row["first_place"]["n"] == 120
    assert len(shelf.asked) == asked, "what is here is not asked for"


def test_the_gallerys_number_is_that_of_the_run(
    shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lab.duckdb"
    put(catalogue.GALLERY["alpaca-eval"], "m1", annotations("m1", lean=0.3, n=80, seed=1), cache=tmp_path / "cache")
    assert main(["gallery", "alpaca-eval", "--only", "m1", "--json", "--store", str(path)]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    with Store(path) as store:
        run = store.runs()[0].run
    assert main(["results", run, "--store", str(path), "--json"]) == 0
    judge = json.loads(capsys.readouterr().out)["judges"][0]
    for name in ("value", "low", "high", "p", "n", "design"):
        assert row["first_place"][name] == pytest.approx(judge["first_place"][name]), name
    assert shelf.asked == []


def test_a_broken_log_is_named(shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(catalogue.GALLERY["alpaca-eval"], "m0", b'[{"instruction": "cut o', cache=tmp_path / "cache")
    assert main(["gallery", "alpaca-eval"]) == 1
    assert "m0" in capsys.readouterr().err
    assert shelf.asked == []


def test_a_log_that_was_changed_on_the_disk_is_not_used(
    shelf: Shelf, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gallery", "alpaca-eval", "--fetch", "--only", "m0"]) == 0
    path = catalogue.GALLERY["alpaca-eval"].path("m0", cache=tmp_path / "cache")
    path.write_bytes(annotations("m0", lean=-0.7, n=120))
    assert main(["gallery", "alpaca-eval"]) == 1
    assert "is not the file that is known" in capsys.readouterr().err
    assert main(["gallery", "alpaca-eval", "--fetch", "--only", "m0"]) == 0
    assert shelf.asked == ["/m0/a.json"] * 2
