"""Runs of one process: found again, never started twice, planned again from what the store kept."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rubriclab.model.data import Criterion, DataSet, Item, Option
from rubriclab.model.text import LabError
from rubriclab.runs.manager import RunManager, plan_of_run
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from tests.integration.test_kill import ROOT, write_study
from tests.runs.kit import WAIT, Scripted, ended
from tests.servers import FakeServer, running
from tests.study.kit import small_plan


def test_two_visitors_start_one_run(store: Store, scripted: Scripted) -> None:
    judge = scripted(latency=0.01)
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


def test_paused_and_resumed_by_its_id(store: Store, scripted: Scripted) -> None:
    judge = scripted(latency=0.02)
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


@pytest.mark.integration
def test_a_lab_that_ends_keeps_what_its_runs_are_being_answered(tmp_path: Path) -> None:
    script = """if True:
        import sys, time
        from rubriclab.runs.loading import plan_of_file
        from rubriclab.runs.manager import RunManager
        from rubriclab.store.store import Store
        run = RunManager(Store.open(sys.argv[2])).start(plan_of_file(sys.argv[1]))
        while run.snapshot().asked < 8:
            time.sleep(0.01)
    """
    path = tmp_path / "lab.duckdb"
    with running(FakeServer(latency=0.5)) as server:
        study = write_study(tmp_path, url=server.base_url, items=2)
        command = [sys.executable, "-c", script, str(study), str(path)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, "")
    with Store.open(path) as store:
        (info,) = store.runs()
        assert (info.state, info.reason) == ("paused", "the lab was ended")
        assert store.final_keys(info.id) == set(server.keys)
    assert server.answered == server.asked > 8


@pytest.mark.parametrize(
    "design",
    [
        {"strategies": ["balanced", {"kind": "random", "calls": 4}, {"kind": "custom", "orders": [[3, 1, 2]]}]},
        {"reorder": "criteria", "strategies": ["williams"]},
    ],
)
def test_a_run_is_planned_again_from_the_store(store: Store, scripted: Scripted, design: dict[str, object]) -> None:
    scripted()
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
