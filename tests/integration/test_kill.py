"""kill -9 and Ctrl-C at random moments: nothing committed is lost or kept twice, little is asked again, the store says why."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rubriclab.runs.loading import plan_of_file
from rubriclab.store.store import Store
from tests.servers import FakeServer, running

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
KILLS = int(os.environ.get("RUBRICLAB_KILLS", "20"))
AT_ONCE = 16
SETTLED = 3.0
"""Seconds after which an answer is committed on any machine: the store commits every 0.2 s."""


def write_study(folder: Path, *, url: str, items: int) -> Path:
    lines = [f'i{n},question {n},"answer {n}, quality {n % 5 + 1}"' for n in range(items)]
    (folder / "items.csv").write_text("\n".join(["id,instruction,response", *lines]), encoding="utf-8")
    study = folder / "study.toml"
    study.write_text(Path(__file__).with_name("kill.toml").read_text("utf-8").replace("URL", url), "utf-8")
    return study


def command(study: Path, store: Path) -> list[str]:
    return [sys.executable, "-m", "rubriclab", "run", str(study), "--store", str(store), "--json"]


def started(study: Path, store: Path, **options: Any) -> subprocess.Popen[bytes]:
    """The command in a session of its own, with Ctrl-C as a terminal has it: a shell's background job ignores it."""
    return subprocess.Popen(
        command(study, store), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), **options,
    )  # fmt: skip


def asked_first(server: FakeServer, process: subprocess.Popen[bytes], before: int) -> None:
    """Wait until the process has asked for something."""
    until = time.monotonic() + 120
    while len(server.keys) == before and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)
    assert len(server.keys) > before, "the run asked nothing"


def check_rows(store: Path, planned: set[str]) -> None:
    """Every call has exactly one final answer and one judgment."""
    with Store.open(store) as opened:
        (info,) = opened.runs()
        calls, rows = opened.calls(info.id), opened.table(info.id).rows
    assert (info.state, info.done) == ("finished", len(planned))
    assert calls["key"].is_unique
    assert set(calls["key"]) == planned
    assert len(rows) == len(planned)
    assert rows["call"].is_unique


def test_killed_again_and_again_then_finished(tmp_path: Path) -> None:
    rng = random.Random(7)
    with running(FakeServer(latency=0.05)) as server:
        study = write_study(tmp_path, url=server.base_url, items=KILLS * 12 + 40)
        planned = {call.key for call in plan_of_file(study).calls()}
        store, committed = tmp_path / "kill.duckdb", set[str]()
        again: list[float] = []  # of answers that a kill cost: how long before it they had come
        for kill in range(KILLS):
            before = len(server.keys)
            server.times.clear()
            with started(study, store) as process:
                asked_first(server, process, before)
                time.sleep(rng.uniform(0.0, 0.8))
                assert process.poll() is None, f"the run ended before kill {kill}"
                killed = time.monotonic()
                os.killpg(process.pid, signal.SIGKILL)
            with Store.open(store) as opened:
                (info,) = opened.runs()
                keys = opened.final_keys(info.id)
            assert info.state == "interrupted"
            assert committed <= keys, "a committed answer was lost"
            committed = keys
            again += [killed - moment for key, moment in server.times.items() if key not in keys]
        assert len(committed) < len(planned), "the kills came after the end"
        ended = subprocess.run(command(study, store), cwd=ROOT, capture_output=True, timeout=600, check=False)
        assert ended.returncode == 0, ended.stderr.decode()
        assert json.loads(ended.stdout)["state"] == "finished"
        asked = Counter(server.keys)
    check_rows(store, planned)
    assert set(asked) == planned
    # What was answered well before a kill is committed, so it is not asked again.
    assert max(again, default=0.0) < SETTLED
    # Asked again: calls in flight at a kill, and answers that were not committed yet.
    assert asked.total() - len(planned) <= KILLS * AT_ONCE + len(again)


STOPS = 4


def kept(store: Path, state: str) -> set[str]:
    with Store.open(store) as opened:
        (info,) = opened.runs()
        assert info.state == state, info
        return opened.final_keys(info.id)


def test_ctrl_c_keeps_every_answer(tmp_path: Path) -> None:
    rng = random.Random(11)
    with running(FakeServer(latency=0.8)) as server:
        study = write_study(tmp_path, url=server.base_url, items=STOPS * 4 + 12)
        store = tmp_path / "stop.duckdb"
        for _ in range(STOPS):
            with started(study, store) as process:
                asked_first(server, process, len(server.keys))
                time.sleep(rng.uniform(0, 1.5))
                assert process.poll() is None, "the run ended before it was stopped"
                process.send_signal(signal.SIGINT)
                assert process.wait(120) == 3
            assert kept(store, "paused") == set(server.keys)
            assert server.answered == len(server.keys), "a call was dropped, or asked twice"
        server.latency = 0.0
        ended = subprocess.run(command(study, store), cwd=ROOT, capture_output=True, timeout=300, check=False)
        assert ended.returncode == 0, ended.stderr.decode()
        assert json.loads(ended.stdout)["state"] == "finished"
        planned = set(server.keys)
        assert len(server.keys) == len(planned), "a call was asked twice"
    check_rows(store, planned)


def test_a_second_ctrl_c_does_not_wait_for_answers(tmp_path: Path) -> None:
    with running(FakeServer(latency=8.0)) as server:
        study = write_study(tmp_path, url=server.base_url, items=8)
        store = tmp_path / "stop.duckdb"
        with started(study, store) as process:
            asked_first(server, process, 0)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            time.sleep(0.7)
            assert process.poll() is None, "it did not wait for the calls in flight"
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 3
        assert server.answered == 0
        assert kept(store, "cancelled") == set()
        while server.in_flight:  # the server's own end of it
            time.sleep(0.05)
