"""Check that SIGTERM and SIGHUP act like Ctrl-C.

Replies under way are kept, the store says why a run stopped, and no server is left.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from rubriclab.runs.loading import plan_of_file
from rubriclab.runs.manager import RunManager
from rubriclab.store.store import Store
from tests.integration.lab import ROOT, free_port
from tests.integration.test_kill import asked_first, command, kept, started, write_study
from tests.judges.kit import gone
from tests.servers import FakeServer, running

pytestmark = pytest.mark.integration
ENDS = [signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize("end", ENDS)
def test_a_signal_keeps_every_answer(tmp_path: Path, end: signal.Signals) -> None:
    with running(FakeServer(latency=0.8)) as server:
        study = write_study(tmp_path, url=server.base_url, items=12)
        store = tmp_path / "stop.duckdb"
        with started(study, store) as process:
            asked_first(server, process, 0)
            time.sleep(0.3)
            # ``timeout`` and terminals send theirs twice, to the process and to its group.
            process.send_signal(end)
            time.sleep(0.05)
            process.send_signal(end)
            assert process.wait(120) == 3
        assert kept(store, "paused") == set(server.keys)
        assert server.answered == len(server.keys), "a call was dropped"


def test_what_nohup_ignores_stays_ignored(tmp_path: Path) -> None:
    with running(FakeServer(latency=0.05)) as server:
        study = write_study(tmp_path, url=server.base_url, items=4)
        process = subprocess.Popen(
            command(study, tmp_path / "lab.duckdb"),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )
        asked_first(server, process, 0)
        process.send_signal(signal.SIGHUP)
        assert process.wait(120) == 0


def healthy_at(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).close()
            return
        except OSError:
            assert process.poll() is None, "the lab did not start"
            assert time.monotonic() < until, "the lab did not start"
            time.sleep(0.1)


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in listed.read_text().split()]


@pytest.mark.parametrize("end", [*ENDS, signal.SIGINT, signal.SIGKILL])
def test_the_lab_takes_its_server_with_it(tmp_path: Path, end: signal.Signals) -> None:
    port = free_port()
    lab = subprocess.Popen(
        [sys.executable, "-m", "rubriclab", "lab", "--no-browser", "--port", str(port)],
        cwd=ROOT,
        env={**os.environ, "RUBRICLAB_STORE": str(tmp_path / "lab.duckdb")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        healthy_at(port, lab)
        (server,) = children(lab.pid)
        lab.send_signal(end)
        assert lab.wait(60) == (-signal.SIGKILL if end == signal.SIGKILL else 0)
        assert gone(server)
    finally:
        lab.kill()
        lab.wait()


SERVER = """
import sys, threading
import streamlit as st
from rubriclab.app import guard, navigation, state
from rubriclab.runs.loading import plan_of_file

if __name__ == "__main__":
    navigation.run()
else:
    state.manager().start(plan_of_file(STUDY))
    app = st.App(__file__, middleware=guard.middleware(), lifespan=navigation.serving)
"""


@pytest.mark.parametrize("end", [*ENDS, signal.SIGINT])
def test_pages_that_are_ended_keep_the_answers_under_way(
    tmp_path: Path, end: signal.Signals
) -> None:
    with running(FakeServer(latency=1.0)) as server:
        study = write_study(tmp_path, url=server.base_url, items=40)
        app, store, port = tmp_path / "app.py", tmp_path / "lab.duckdb", free_port()
        app.write_text(SERVER.replace("STUDY", repr(str(study))), "utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", str(app), "--server.port", str(port)],
            cwd=tmp_path,
            env={**os.environ, "RUBRICLAB_STORE": str(store), "PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        try:
            healthy_at(port, process)
            asked_first(server, process, 0)
            process.send_signal(end)
            process.wait(60)
        finally:
            process.kill()
            process.wait()
        assert kept(store, "paused") == set(server.keys)


def test_a_manager_pauses_what_it_has_started(tmp_path: Path) -> None:
    from rubriclab.runs.manager import stop_everything

    with (
        running(FakeServer(latency=0.2)) as server,
        Store.open(tmp_path / "lab.duckdb") as store,
    ):
        study = write_study(tmp_path, url=server.base_url, items=40)
        run = RunManager(store).start(plan_of_file(study))
        while not server.keys:
            threading.Event().wait(0.01)
        stop_everything()
        assert (run.snapshot().state, store.run(run.id).state) == ("paused", "paused")
