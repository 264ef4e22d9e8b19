"""rubriclab drift: frozen items asked again by the card, against a server whose answers change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from rubriclab.__main__ import main
from rubriclab.apply import dumped, sealed
from rubriclab.model import Dataset, Judge, Strategy, Study
from rubriclab.runs.card import judge_card
from rubriclab.runs.manager import RunManager
from rubriclab.store import Store
from tests.labkit import items, study
from tests.servers import SteadyServer, running

ITEMS = 70


def seed(body: dict[str, Any]) -> int:
    return hashlib.sha256(json.dumps(body["messages"]).encode()).digest()[0]


def steady(body: dict[str, Any]) -> str:
    """2 to 4 by the whole prompt: a judge of its own mind in every order, the same whenever it is asked."""
    return str(2 + seed(body) % 3)


def milder(body: dict[str, Any]) -> str:
    return str(3 + seed(body) % 3)


class Lab:
    """A store with a run of a served judge, and its card."""

    def __init__(self, folder: Path, server: SteadyServer) -> None:
        self.store, self.card, self.server = str(folder / "lab.duckdb"), folder / "judge.card.json", server
        judge = Judge("api", "openai", "test-model", base_urls=(server.base_url,), concurrency=8)
        made = study(ITEMS, judges=(judge,), strategies=(Strategy("balanced"), Strategy("fixed", reads=2)))
        with Store(self.store) as store:
            run = RunManager(store).start(made)
            assert run.wait(60).state == "finished"
            self.run = run.info.run
            with patch("rubriclab.runs.card.Findings.advice", return_value=()):
                self.made = judge_card(store, self.run, arm=0)
        self.card.write_text(dumped(self.made))

    def drift(self, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any], str]:
        """(exit code, the document, what was said)."""
        code = main(["drift", str(self.card), "--against", self.run, "--store", self.store, "--json", *more])
        out, said = capsys.readouterr()
        return code, json.loads(out) if out else {}, said


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with running(SteadyServer(answer=steady, with_logprobs=False)) as server:
        yield Lab(tmp_path_factory.mktemp("drift"), server)


@pytest.mark.slow
def test_the_same_judge_is_the_same_and_nothing_is_asked_twice(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    before = len(lab.server.keys)
    code, found, said = lab.drift(capsys, "--anchors", "60", "--name", "monday")
    assert (code, found["verdict"], found["answers"]["level"]["verdict"]) == (0, "equivalent", "equivalent")
    assert found["asked"] == len(lab.server.keys) - before == 60 * 11
    assert found["answers"]["level"]["estimate"] == 0.0
    assert "60 of 70 items are asked again" in said
    code, again, said = lab.drift(capsys, "--anchors", "60", "--name", "monday")
    assert (code, again["asked"], len(lab.server.keys) - before) == (0, 0, 60 * 11)
    assert "none asked" in said


def test_a_server_whose_answers_rose_is_an_effect_of_the_judge_and_of_nothing_else(
    lab: Lab, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "drift.md"
    with running(SteadyServer(answer=milder, model="test-model-2026-11", with_logprobs=False)) as other:
        code, found, _ = lab.drift(
            capsys, "--anchors", "30", "--name", "rose", "--base-url", other.base_url, "--out", str(out)
        )
    answers = {key: one["verdict"] for key, one in found["answers"].items()}
    assert (code, answers["level"], found["answers"]["level"]["estimate"]) == (4, "effect", 1.0)
    assert "effect" not in {answers["order"], answers["noise"], answers["spread"]}
    assert found["squared_change"]["level"]["share"] == pytest.approx(1.0)
    assert found["notes"] == ["The server called the model test-model then, and test-model-2026-11 now."]
    text = out.read_text()
    assert "# Has the judge changed? The judge has changed." in text
    assert "| the judge's own level | +1.000 |" in text


def test_a_few_anchors_leave_it_open(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    code, found, said = lab.drift(capsys, "--anchors", "5", "--name", "few")
    assert (code, found["verdict"]) == (5, "undecided")
    assert "5 units are too few" in found["answers"]["level"]["why"]
    assert "With fewer" in said


@pytest.mark.slow
def test_a_stopped_round_is_gone_on_with_and_the_same_items_are_asked(
    lab: Lab, capsys: pytest.CaptureFixture[str]
) -> None:
    before = len(lab.server.keys)
    code, found, _ = lab.drift(capsys, "--anchors", "20", "--max-calls", "100")
    assert (code, found["state"], found["asked"]) == (3, "paused", 100)
    assert all("not finished" in one["why"] for one in found["answers"].values())
    code, found, _ = lab.drift(capsys, "--anchors", "20")
    assert (code, found["state"], found["asked"]) == (5, "finished", 120)
    keys = lab.server.keys[before:]
    assert len(keys) == len(set(keys)) == 220
    with Store(lab.store, read_only=True) as store:
        kept = store.run(found["run"]).provenance["drift"]
        assert (kept["card"], kept["against"], len(kept["anchors"])) == (lab.made["digest"], lab.run, 20)
        assert store.study(found["run"]).dataset.origin == f"{lab.run}, asked again"


def test_max_calls_takes_fewer_items(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    code, found, _ = lab.drift(capsys, "--max-calls", "99", "--name", "cheap")
    assert (code, found["state"], found["items"]) == (5, "finished", 9)


@pytest.mark.slow
def test_two_runs_that_are_there_are_compared_without_a_call(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    lab.drift(capsys, "--anchors", "60", "--name", "monday")
    with Store(lab.store, read_only=True) as store:
        (now,) = (info.run for info in store.runs() if "monday" in info.name)
    before = len(lab.server.keys)
    code = main(["drift", "--against", lab.run, "--now", now, "--store", lab.store])
    said = capsys.readouterr().out
    assert (code, len(lab.server.keys)) == (0, before)
    assert said.startswith("The judge's level is the same as then.\n60 items in 10 orders at both times")


@pytest.mark.slow
@pytest.mark.parametrize("rise", [0, 1])
def test_newer_data_are_told_from_the_judge(lab: Lab, capsys: pytest.CaptureFixture[str], rise: int) -> None:
    """The judge rose by ``rise``; the newer texts are one better, and the split says both."""

    def answer(body: dict[str, Any]) -> str:
        better = "fresh" in body["messages"][-1]["content"]
        return str(int(steady(body)) - 1 + rise + better)

    with running(SteadyServer(answer=lambda body: str(int(steady(body)) - 1), with_logprobs=False)) as then:
        judge = Judge("api", "openai", "test-model", base_urls=(then.base_url,), concurrency=8)
        design = {"strategies": (Strategy("balanced"), Strategy("fixed", reads=2))}
        run = made_run(lab.store, study(60, judges=(judge,), name=f"old {rise}", **design))
    with running(SteadyServer(answer=answer, with_logprobs=False)) as server:
        fresh = tuple(
            replace(item, item_id=f"new {item.item_id}", response=f"fresh {item.response}") for item in items(60)
        )
        judge = replace(judge, base_urls=(server.base_url,))
        new = replace(study(60, judges=(judge,), name=f"new {rise}", **design), dataset=Dataset("d", fresh))
        later = made_run(lab.store, new)
        again = made_run(lab.store, study(60, judges=(judge,), name=f"again {rise}", **design))
    main(["drift", "--against", run, "--now", again, "--new", later, "--store", lab.store, "--json"])
    found = json.loads(capsys.readouterr().out)["answers"]
    assert found["level"]["estimate"] == rise
    assert found["data"]["low"] <= 1 <= found["data"]["high"]
    assert found["data"]["estimate"] == pytest.approx(found["total"]["estimate"] - rise)
    assert (found["data"]["verdict"], found["level"]["verdict"]) == ("effect", "effect" if rise else "equivalent")


def made_run(path: str, of: Study) -> str:
    with Store(path) as store:
        run = RunManager(store).start(of)
        assert run.wait(60).state == "finished"
        return run.info.run


# ---------------------------------------------------------------- refused


def refused(lab: Lab, capsys: pytest.CaptureFixture[str], card: dict[str, Any] | Path, *more: str) -> str:
    """What standard error says of a command that asks nothing."""
    path = card if isinstance(card, Path) else lab.card.with_name("other.json")
    if isinstance(card, dict):
        path.write_text(dumped(card))
    before = len(lab.server.keys)
    assert main(["drift", str(path), "--against", lab.run, "--store", lab.store, *more]) == 1
    assert len(lab.server.keys) == before
    return capsys.readouterr().err


def changed(card: dict[str, Any], *path: Any) -> dict[str, Any]:
    """The card with another value at a place, sealed anew: a whole card, of something else."""
    *keys, last, value = path
    made = json.loads(json.dumps(card))
    part = made
    for key in keys:
        part = part[key]
    part[last] = value
    return sealed({key: part for key, part in made.items() if key != "digest"})


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (("made", "run", "another-12345678"), "is of the run “another-12345678”"),
        (("made", "dataset_id", "0" * 32), "are not those that the card was measured on"),
        (
            ("rubric", "criteria", 0, "options", 2, "description", "great"),
            "the rubric (criteria 1.options 3.description) is “great” in the card and “level 3” in the run",
        ),
        (("prompt", "template", "rubric.score.v0"), "the prompt (template) is “rubric.score.v0” in the card"),
        (("judge", "sampling", "temperature", 1.0), "the judge (sampling.temperature) is “1.0” in the card and “0.0”"),
        (("judge", "model", "other-model"), "the judge (model) is “other-model”"),
        (("judge", "name", "somebody"), "has no judge “somebody”"),
    ],
)
def test_a_card_of_something_else_is_refused_with_what_differs(
    lab: Lab, capsys: pytest.CaptureFixture[str], path: tuple[Any, ...], why: str
) -> None:
    assert why in refused(lab, capsys, changed(lab.made, *path))


def test_a_tampered_card_is_refused(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert "was changed after it was written" in refused(lab, capsys, {**lab.made, "name": "mine"})
    assert "cannot be read" in refused(lab, capsys, lab.card.with_name("none.json"))


def test_another_scale_is_refused(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(json.dumps(lab.made))
    made["scores"] = [1, 2, 3, 4, 6]
    for cure in made["cures"]:
        cure["orders"] = [[6 if score == 5 else score for score in order] for order in cure["orders"]]
        cure["correction"] = None
    for option in made["rubric"]["criteria"][0]["options"]:
        option["score"] = 6 if option["score"] == 5 else option["score"]
    del made["digest"]
    assert "the scale (5) is “6” in the card and “5” in the run" in refused(lab, capsys, sealed(made))


@pytest.mark.slow
def test_imported_judgments_are_refused_in_words(lab: Lab, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    table = tmp_path / "scores.csv"
    rows = [f"j,d,i{k},{order},{1 + (k + len(order)) % 5}" for k in range(12) for order in ("1 2 3 4 5", "5 4 3 2 1")]
    table.write_text("judge,dataset,item_id,ordering,score\n" + "\n".join(rows) + "\n")
    assert main(["import", str(table), "--store", lab.store]) == 0
    capsys.readouterr()
    with Store(lab.store, read_only=True) as store:
        run = next(info.run for info in store.runs() if info.state == "imported")
    assert main(["drift", str(lab.card), "--against", run, "--store", lab.store]) == 1
    assert "neither its texts nor how they were asked is here" in capsys.readouterr().err


def test_a_card_or_a_later_run_is_named_and_not_both(lab: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    assert "one of the two" in refused(lab, capsys, lab.made, "--now", lab.run)
    assert main(["drift", "--against", lab.run, "--store", lab.store]) == 1
    assert main(["drift", "--against", lab.run, "--now", lab.run, "--store", lab.store]) == 1
    assert "the same run" in capsys.readouterr().err
