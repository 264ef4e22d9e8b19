"""``python -m rubriclab plan`` and the stop rule of ``run``."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from rubriclab.__main__ import main
from rubriclab.cli.common import EXIT_FAULT, EXIT_OK, EXIT_UNFINISHED
from rubriclab.findings.check import Planted
from rubriclab.findings.frame import mixed
from rubriclab.findings.planning import stated_power
from rubriclab.model import LabError
from rubriclab.runs.estimate import plan_json, study_plan
from rubriclab.runs.sequential import look
from rubriclab.runs.simulated import run_simulated, simulated_study
from rubriclab.store import Store
from rubriclab.study.reading import load_study

STUDY = """
name = "sim"
[data]
file = "d.csv"
[rubric]
file = "r.json"
[design]
axis = "options"
strategies = [{kind = "random", reads = 5}, {kind = "fixed", reads = 5}]
[[judges]]
name = "sim"
kind = "simulated"
model = "simulated"
options = {position = {first = 0.8}}
[[judges]]
name = "paid"
kind = "openai"
model = "some-model"
base_urls = ["http://127.0.0.1:9/v1"]
price_input = 2.0
price_output = 8.0
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    with (tmp_path / "d.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["instruction", "response"])
        writer.writerows([f"Task {i:03}", f"Answer {i:03}"] for i in range(120))
    scores = [{"score": s} for s in range(1, 6)]
    rubric = {"criteria": [{"name": "quality", "options": scores}]}
    (tmp_path / "r.json").write_text(json.dumps(rubric))
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


def only(study: Path, name: str) -> Path:
    """The same study with one of its judges."""
    head, simulated, paid = study.read_text().split("[[judges]]")
    kept = simulated if name == "sim" else paid
    path = study.with_name(f"{name}.toml")
    path.write_text(f"{head}[[judges]]{kept}")
    return path


def test_plan_prints_one_document(study, capsys) -> None:
    assert main(["plan", str(study), "--json"]) == EXIT_OK
    document = json.loads(capsys.readouterr().out)
    assert document["calls"] == 2 * 120 * 10
    assert [arm["calls"] for arm in document["arms"]] == [600] * 4
    assert [(arm["items"], arm["reads"]) for arm in document["arms"]] == [(120, 5)] * 4
    paid = next(judge for judge in document["judges"] if judge["judge"] == "paid")
    assert paid["money"] == pytest.approx((2 * paid["tokens_in"] + 8 * paid["tokens_out"]) / 1e6)
    assert "assumed, not measured" in paid["basis"]
    assert document["arms"][1]["power"] is None  # one fixed order shows no position effect
    assert "Hotelling" in document["stop_rule"]["method"]


def test_tokens_are_the_characters_of_the_prompts_over_four(study) -> None:
    from rubriclab.study.plan import plan

    planned = plan(load_study(only(study, "paid")))
    written = sum(len(m["content"]) for call in planned.calls() for m in call.messages)
    found = study_plan(planned.study)
    assert found.tokens_in == pytest.approx(written / 4, rel=0.01)


def test_power_is_the_planner_s(study) -> None:
    found = study_plan(load_study(study), effect_v=0.05, item_sd=0.05)
    wanted = stated_power(n_options=5, items=120, reads=5, effect_v=0.05, item_sd=0.05)
    power = found.arms[0].power
    assert power is not None
    assert power.power_now == wanted.power_now
    assert 0.05 < power.power_now < 0.8
    document = plan_json(found)["arms"][0]["power"]
    assert document["cheapest"]["power"] >= 0.8
    assert document["cheapest"]["calls"] == min(d["calls"] for d in document["designs"])


def test_an_interval_on_agreement_is_planned(study, capsys) -> None:
    data = study.parent / "d.csv"
    header, *rows = data.read_text().splitlines()
    rated = [f"{row},{k % 5 + 1}" for k, row in enumerate(rows[:50])] + [f"{row}," for row in rows[50:]]
    data.write_text("\n".join([f"{header},human", *rated]) + "\n")
    asked = ["plan", str(study), "--kappa", "0.5", "--icc", "0.6", "--half-width", "0.08", "--ratings", "3"]
    assert main([*asked, "--json"]) == EXIT_OK
    kappa, icc = json.loads(capsys.readouterr().out)["agreement"]
    assert (kappa["coefficient"], kappa["items"], kappa["source"]) == ("kappa", 50, "stated")
    assert (icc["coefficient"], icc["ratings"], icc["half_width"]) == ("icc", 3, 0.08)
    assert main(asked) == EXIT_OK
    told = capsys.readouterr().out
    assert f"± 0.08 takes {kappa['items_needed']:,} rated items; 50 rated items give" in told
    assert "Fleiss, Cohen and Everitt" in told
    assert main(["plan", str(study), "--kappa", "1.5"]) == EXIT_FAULT
    assert "cannot be planned" in capsys.readouterr().err


@pytest.mark.slow
def test_a_pilot_s_noise_is_used(study, tmp_path, capsys) -> None:
    store, small = str(tmp_path / "s.duckdb"), only(study, "sim")
    assert main(["run", str(small), "--store", store, "--json"]) == EXIT_OK
    run = json.loads(capsys.readouterr().out)["run"]
    assert main(["plan", str(small), "--store", store, "--pilot", run, "--json"]) == EXIT_OK
    document = json.loads(capsys.readouterr().out)
    assert document["effect"]["pilot"] == run
    assert document["arms"][0]["power"]["noise"] == "pilot"
    assert document["arms"][0]["power"]["noise_from"] == "sim · d · random"
    assert (document["agreement"], document["warnings"]) == ([], [])  # nobody rated these items, nor asked
    assert main(["plan", str(small), "--store", store, "--pilot", run, "--kappa", "0.5", "--json"]) == EXIT_OK
    document = json.loads(capsys.readouterr().out)
    assert [plan["source"] for plan in document["agreement"]] == ["stated"]
    assert "The pilot says nothing of agreement with people" in document["warnings"][0]


def test_what_cannot_be_planned_is_said(study, tmp_path, capsys) -> None:
    assert main(["plan", str(study), "--store", str(tmp_path / "none.duckdb")]) == EXIT_FAULT
    assert "There is no store" in capsys.readouterr().err
    with pytest.raises(LabError, match="pilot run is read from a store"):
        study_plan(load_study(study), pilot="r")
    with pytest.raises(LabError, match="V lies in"):
        study_plan(load_study(study), effect_v=1.5)


@pytest.mark.slow
def test_run_stops_at_a_width_and_says_why(study, tmp_path, capsys) -> None:
    store, small = str(tmp_path / "s.duckdb"), only(study, "sim")
    text = small.read_text().replace("first = 0.8}}", "first = 0.8}, latency_ms = 250}")
    small.write_text(text)
    asked = ["run", str(small), "--store", store, "--stop-at-width", "0.6", "--json"]
    assert main(asked) == EXIT_UNFINISHED
    told = capsys.readouterr()
    assert "stopped by the rule" in told.err
    assert json.loads(told.out)["asked"] < 1_200


@pytest.mark.slow
def test_run_stops_when_its_verdict_is_settled_and_says_which(study, tmp_path, capsys) -> None:
    store, small = str(tmp_path / "s.duckdb"), only(study, "sim")
    slow = "first = 3.0}, latency_ms = 100}\nconcurrency = 4"  # six seconds in all
    text = small.read_text().replace("first = 0.8}}", slow)
    text = text.replace('{kind = "random", reads = 5}', '{kind = "descending", reads = 1}')
    small.write_text(text.replace('{kind = "fixed", reads = 5}', '{kind = "fixed", reads = 1}'))
    assert main(["run", str(small), "--store", store, "--stop-when-settled"]) == EXIT_UNFINISHED
    said = capsys.readouterr().err
    assert "stopped by the rule" in said
    assert "effect, ascending less descending -" in said
    with Store(store) as kept:
        data = kept.frame(kept.runs()[0].run)
    asked = set(data.judgments["item"])
    assert 5 < len(asked) < 120
    in_flight = 4
    assert len(asked - set(mixed(data.items)[: len(asked)])) <= in_flight
    assert max(asked) >= len(asked) + in_flight, "the first items of the file are no random sample"


@pytest.mark.slow
def test_a_run_that_can_settle_nothing_says_so_and_goes_on(study, tmp_path, capsys) -> None:
    store, small = str(tmp_path / "s.duckdb"), only(study, "sim")
    text = small.read_text().replace("first = 0.8}}", "first = 0.8}, latency_ms = 100}\nconcurrency = 4")
    text = text.replace('{kind = "random", reads = 5}, ', "")
    small.write_text(text)
    assert main(["run", str(small), "--store", store, "--stop-when-settled"]) == EXIT_OK
    assert "The stop rule could not look: Whether a shift is settled" in capsys.readouterr().err


def test_look_waits_for_whole_items_and_for_enough_of_them() -> None:
    data = run_simulated(simulated_study(Planted(first=1.0, unread=0.0), items=100, options=3))
    wide, narrow = look(data, width=0.5, every=200), look(data, width=0.01, every=200)
    assert wide.number == 3  # 600 judgments, a look every 200
    assert wide.enough
    assert not narrow.enough
    assert "0.5 wide" in wide.sentence()
    stop = next(iter(wide.stops.values()))
    assert stop.interval.high - stop.interval.low <= 0.5
    # Cut in the middle of the last item: it is left out.
    cut = data.judgments.iloc[:597]
    found = look(type(data)(**{**data.__dict__, "judgments": cut}), width=0.5, every=200)
    assert next(iter(found.stops.values())).n_units == 99
    with pytest.raises(LabError, match=r"0\.\.1"):
        look(data, width=2.0)


def test_run_asks_the_sound_judges_says_what_the_other_waits_for_and_can_drop_it(
    study: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study.write_text(STUDY + 'key_env = "NOWHERE_API_KEY"\n')
    common = ["run", str(study), "--store", str(tmp_path / "lab.duckdb"), "--json"]
    assert main(common) == EXIT_UNFINISHED
    printed = capsys.readouterr()
    assert list(json.loads(printed.out)["waiting"]) == ["paid"]
    assert (
        'set NOWHERE_API_KEY to its key and give the same command again, or leave it out: --drop "paid"' in printed.err
    )
    assert main([*common, "--drop", "none"]) == EXIT_FAULT
    assert "no judge “none”. Its judges: sim, paid" in capsys.readouterr().err
    assert main([*common, "--drop", "paid"]) == EXIT_OK
    found = json.loads(capsys.readouterr().out)
    assert (found["state"], found["asked"], found["unanswered"]) == ("finished", 0, 0)
    assert any("paid was dropped from this run" in text for text in found["alarms"])
