"""Runs of one process: found again, never started twice, planned again from what the store kept."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from rubriclab.model.data import Criterion, DataSet, Item, Option
from rubriclab.model.text import LabError
from rubriclab.runs.manager import RunManager, plan_of_run
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from tests.runs.kit import WAIT, ScriptedJudge, ended, use
from tests.study.kit import small_plan


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(":memory:") as opened:
        yield opened


def test_two_visitors_start_one_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = ScriptedJudge(latency=0.01)
    use(monkeypatch, judge)
    manager = RunManager(store)
    runs: list[Run] = []
    visitors = [threading.Thread(target=lambda: runs.append(manager.start(small_plan(10)))) for _ in range(4)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    assert len({id(run) for run in runs}) == 1
    assert manager.running() == [runs[0]]
    assert manager.get(runs[0].id) is runs[0]
    assert runs[0].wait(WAIT).state == "finished"
    assert set(judge.asked.values()) == {1}
    assert manager.running() == []


def test_paused_and_resumed_by_its_id(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    judge = ScriptedJudge(latency=0.02)
    use(monkeypatch, judge)
    run = RunManager(store).start(small_plan(10))
    while run.snapshot().asked < 10:
        time.sleep(0.005)
    other = RunManager(store)  # as after a restart: knows of none
    assert other.get(run.id) is None
    run.pause()
    paused = run.wait(WAIT)
    judge.latency = 0.0
    end = other.resume(run.id).wait(WAIT)
    assert (end.run, end.state, end.done) == (run.id, "finished", 200)
    assert end.asked == 200 - paused.done
    assert set(judge.asked.values()) == {1}


def test_all_are_stopped_at_the_end(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, ScriptedJudge(latency=0.02))
    manager = RunManager(store)
    runs = [manager.start(small_plan(50, seed=seed)) for seed in (1, 2)]
    manager.stop_all("the lab was ended")
    assert [(run.snapshot().state, run.snapshot().reason) for run in runs] == [("paused", "the lab was ended")] * 2
    manager.pause(runs[0].id)
    manager.cancel("no such run")
    assert runs[0].snapshot().state == "paused"


@pytest.mark.parametrize(
    "design",
    [
        {"strategies": ["balanced", {"kind": "random", "calls": 4}, {"kind": "custom", "orders": [[3, 1, 2]]}]},
        {"reorder": "criteria", "strategies": ["williams"]},
    ],
)
def test_a_run_is_planned_again_from_the_store(
    store: Store, monkeypatch: pytest.MonkeyPatch, design: dict[str, object]
) -> None:
    use(monkeypatch, ScriptedJudge())
    grades = tuple(Criterion(name, (Option(1, "bad"), Option(2, "so so"), Option(3, "good")), "?") for name in "abc")
    texts = DataSet("texts", tuple(Item(f"i{k}", f"r {k}", "q", "ref", ratings={"ann": 2.0}) for k in range(3)), "f")
    made = small_plan(dataset=texts, criteria=grades if "reorder" in design else grades[:1], **design)
    end = ended(Run(store, made))
    again = plan_of_run(store, end.run)
    assert (again.identity, again.conditions, again.planned) == (made.identity, made.conditions, made.planned)
    assert [call.key for call in again.calls()] == [call.key for call in made.calls()]


def test_a_name_of_a_run_that_is_no_run(store: Store) -> None:
    with pytest.raises(LabError, match="no run"):
        RunManager(store).resume("nothing")
