"""Trials end to end: one text under many orders, asked in part, kept, searched."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rubriclab.__main__ import main
from rubriclab.findings.trial import CriteriaTrial, OptionsTrial
from rubriclab.findings.trial_orders import first_reads
from rubriclab.findings.trial_pairs import PairTrial
from rubriclab.model import TRIAL_ORIGIN, Judge, LabError, Rubric
from rubriclab.runs.manager import RunManager
from rubriclab.runs.runner import AGENDA_DONE
from rubriclab.runs.trial import (
    Text,
    control_calls,
    measured_priors,
    read_trial,
    start_flip,
    start_trial,
    trial_orders,
    trial_study,
)
from rubriclab.store import Store
from tests.labkit import criterion, study

TEXT = Text("What is the capital of France?", ("Paris.",))
PAIR = Text("What is the capital of France?", ("Paris.", "Lyon."))
RUBRIC = Rubric("r", (criterion(5),))
WIDE = Rubric("w", tuple(criterion(5, name) for name in ("Clarity", "Depth", "Tone")))


def simulated(name: str = "sim", **effects: object) -> Judge:
    return Judge(name, "simulated", "simulated", options=dict(effects))


@pytest.fixture
def manager() -> Iterator[RunManager]:
    with Store(":memory:") as store:
        yield RunManager(store)


@pytest.mark.parametrize(("n", "every"), [(2, 2), (3, 6), (4, 24), (5, 120), (6, 120), (10, 120)])
def test_orders_of_a_trial(n: int, every: int) -> None:
    options = list(range(1, n + 1))
    orders = trial_orders(options)
    assert len(orders) == len(set(orders)) == every
    assert orders[0] == tuple(options)
    first = orders[: first_reads(n)]
    exposure = {(o, p): sum(order[p] == o for order in first) for o in options for p in range(n)}
    assert len(set(exposure.values())) == 1, "the first ones are balanced"
    if n <= 5:
        assert set(orders) == set(itertools.permutations(options))


def test_first_the_balanced_orders_then_nothing_twice(manager: RunManager) -> None:
    made = trial_study(TEXT, [simulated()], rubric=RUBRIC)
    first = start_trial(manager, made).wait(30)
    assert (first.state, first.asked, first.done) == ("paused", 11, 11), "ten orders, one control"
    assert first.reason.startswith(AGENDA_DONE)
    again = start_trial(manager, made).wait(30)
    assert again.asked == 0
    more = start_trial(manager, made, orders=30).wait(30)
    assert (more.asked, more.done) == (20, 31)
    whole = start_trial(manager, made, orders=120).wait(30)
    assert (whole.state, whole.done, whole.reason) == ("finished", 121, "")
    (info,) = manager.store.runs()
    assert info.origin == TRIAL_ORIGIN


def test_what_it_says(manager: RunManager) -> None:
    """A judge that always takes position 1: every score in turn, the mean of the scale."""
    made = trial_study(TEXT, [simulated(position=[50.0])], rubric=RUBRIC)
    ended = start_trial(manager, made).wait(30)
    (found,) = read_trial(manager.store, ended.run)
    assert isinstance(found, OptionsTrial)
    assert found.simulated
    assert next(read.shown for read in found.reads) == ("1", "2", "3", "4", "5")
    assert found.mean == pytest.approx(3.0)
    assert found.lowest is not None
    assert found.lowest.shown[0] == "1"
    assert found.differ == pytest.approx(8 / 9), "of nine other orders one begins with 1 as well"


def test_search_sees_both_ends_within_its_calls(manager: RunManager) -> None:
    """A place lover whose content pulls to the middle: the ends are not in the balanced set."""
    judge = simulated(position={"2": 1.5}, score={"3": 2.0, "2": 1.0, "4": 1.0}, noise=0.0)
    made = trial_study(TEXT, [judge, simulated("other", position=[50.0])], rubric=RUBRIC)
    start_trial(manager, made).wait(30)
    ended = start_flip(manager, made, calls=6).wait(30)
    assert ended.state == "paused"
    assert ended.reason.startswith(AGENDA_DONE)
    found, other = read_trial(manager.store, ended.run)
    assert isinstance(found, OptionsTrial)
    assert isinstance(other, OptionsTrial)
    assert 10 < len(found.reads) <= 16
    assert len(found.drawn) == 10
    assert len(other.reads) == 10, "both ends were seen already: nothing is asked"


def test_pairs_in_both_orders(manager: RunManager) -> None:
    made = trial_study(PAIR, [simulated(primacy=50.0)], kind="pairwise")
    ended = start_trial(manager, made).wait(30)
    assert (ended.state, ended.done) == ("finished", 4), "both orders, each twice"
    (found,) = read_trial(manager.store, ended.run)
    assert isinstance(found, PairTrial)
    assert found.verdict == "first"
    with pytest.raises(LabError, match="two orders"):
        start_flip(manager, made)


@pytest.mark.slow
def test_a_noisy_judge_shows_in_its_control(manager: RunManager) -> None:
    """A judge of chance alone: its orders differ, and so do the answers to one and the same."""
    seen = set()
    for number in range(8):
        text = Text(f"Question {number}?", ("Yes.", "No."))
        made = trial_study(text, [simulated(noise=5.0)], kind="pairwise")
        (found,) = read_trial(manager.store, start_trial(manager, made).wait(30).run)
        assert isinstance(found, PairTrial)
        seen.add(found.verdict)
    assert "noisy" in seen


def test_a_trial_of_before_the_control_still_opens(manager: RunManager) -> None:
    made = trial_study(TEXT, [simulated(position=[50.0])], rubric=RUBRIC)
    (strategy,) = made.design.strategies
    assert strategy.orderings[0] == strategy.orderings[1]
    before = replace(
        made, design=replace(made.design, strategies=(replace(strategy, orderings=strategy.orderings[1:]),))
    )
    assert (control_calls(made), control_calls(before)) == (1, 0)
    ended = start_trial(manager, before).wait(30)
    assert ended.done == 10
    (found,) = read_trial(manager.store, ended.run)
    assert isinstance(found, OptionsTrial)
    assert found.control.verdict == "unknown"
    assert "noise included" in found.sentence
    pair = trial_study(PAIR, [simulated(primacy=50.0)], kind="pairwise")
    design = replace(pair.design, strategies=(replace(pair.design.strategies[0], reads=None),))
    old_pair = replace(pair, design=design)
    assert control_calls(old_pair) == 0
    ended = start_trial(manager, old_pair).wait(30)
    assert (ended.state, ended.done) == ("finished", 2)
    (two,) = read_trial(manager.store, ended.run)
    assert isinstance(two, PairTrial)
    assert "noise included" in two.sentence


def test_criteria(manager: RunManager) -> None:
    made = trial_study(TEXT, [simulated()], kind="criteria", rubric=WIDE)
    ended = start_trial(manager, made).wait(30)
    assert (ended.state, ended.done) == ("finished", 7), "six orders of three criteria, one control"
    (found,) = read_trial(manager.store, ended.run)
    assert isinstance(found, CriteriaTrial)
    assert [c.name for c in found.criteria] == ["Clarity", "Depth", "Tone"]
    assert all(c.reads == 6 for c in found.criteria)


def test_search_over_criteria(manager: RunManager) -> None:
    four = Rubric("f", tuple(criterion(5, name) for name in "ABCD"))
    made = trial_study(TEXT, [simulated()], kind="criteria", rubric=four)
    start_trial(manager, made).wait(30)
    ended = start_flip(manager, made, calls=5).wait(30)
    assert ended.asked == 5
    (found,) = read_trial(manager.store, ended.run)
    assert isinstance(found, CriteriaTrial)
    assert found.calls == 13
    assert found.highest is not None
    assert found.lowest is not None


def test_prior_comes_from_a_whole_run_of_the_same_judge(manager: RunManager) -> None:
    judge = simulated(position=[1.0])
    made = trial_study(TEXT, [judge, simulated("stranger", position=[2.0])], rubric=RUBRIC)
    assert measured_priors(manager.store, made) == {}
    start_trial(manager, made).wait(30)
    assert measured_priors(manager.store, made) == {}, "one text is no measurement of a judge"
    manager.start(study(30, judges=(simulated("known as", position=[1.0]),))).wait(60)
    found = measured_priors(manager.store, made)
    assert set(found) == {"sim"}
    places = found["sim"].places
    assert places[0] == max(places)
    assert sum(places) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"text": Text("q", ("a", "b", "c")), "kind": "pairwise"}, "two responses, not 3"),
        ({"rubric": None}, "Choose a rubric"),
        ({"kind": "criteria"}, "one criterion"),
    ],
)
def test_parts_that_do_not_fit(change: dict[str, object], words: str) -> None:
    parts: dict[str, object] = {"text": TEXT, "judges": [simulated()], "rubric": RUBRIC, **change}
    with pytest.raises(LabError, match=words):
        trial_study(**parts)  # type: ignore[arg-type]


def test_nothing_to_judge() -> None:
    with pytest.raises(LabError, match="no response"):
        Text("What?", ("  ",))


@pytest.mark.slow
def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "lab.duckdb")
    with Store(path) as store:
        store.save_judge(simulated(position=[50.0]))
    common = ["try", "--store", path, "--judge", "sim", "--response", "Paris."]
    assert main([*common, "--flip", "4"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("SIMULATED judge. sim gives 1 in the usual order, twice; over 10 orders")
    assert "The same order again gives 1: no noise seen in one repeat. (the control: 1 call)" in said
    assert "mean over 10 orders 3.00" in said
    assert main([*common, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["judges"][0]["mean"] == pytest.approx(3.0)
    assert len(told["judges"][0]["reads"]) == 10
    assert told["judges"][0]["control"]["verdict"] == "agrees"
    (tmp_path / "other.txt").write_text("Lyon.")
    assert main([*common, "--response", f"@{tmp_path / 'other.txt'}"]) == 0
    assert "Response 1 | Response 2" in capsys.readouterr().out
    assert main([*common, "--response", "@missing.txt"]) == 1
    assert "missing.txt” cannot be read" in capsys.readouterr().err
    assert main([*common, "--response", "x", "--criteria"]) == 1
