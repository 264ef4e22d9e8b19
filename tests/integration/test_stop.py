"""Ctrl-C at random moments: what was asked is answered and kept, and the store says that the run has paused."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from rubriclab.store.store import Store
from tests.integration.test_kill import ROOT, asked_first, check_rows, command, started, write_study
from tests.servers import FakeServer, running

pytestmark = pytest.mark.integration
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
