"""A study over both answer modes on a real vLLM, by the same code as every other judge.

Needs RUBRICLAB_VLLM_BASE_URL, a running server; the restart needs RUBRICLAB_VLLM_SERVE, a
command that serves on the port given to it (``.ci/vllm-cpu`` makes one).
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pandas as pd
import pytest
from aiohttp import web

from rubriclab.judges.vllm import attach
from rubriclab.model import MOSTLY, STATUSES
from rubriclab.store import RunInfo, Store
from tests.servers import SteadyServer, running

pytestmark = pytest.mark.integration

URL = os.environ.get("RUBRICLAB_VLLM_BASE_URL", "")
SERVE = os.environ.get("RUBRICLAB_VLLM_SERVE", "")
ROOT = Path(__file__).resolve().parents[2]
CALLS = 3 * 10 * 2
CONCURRENCY = 4

STUDY = """
name = "real"
rubric = "{root}/data/rubrics/helpfulness.yaml"
[data]
file = "{root}/data/sample.csv"
items = 3
[design]
strategies = ["balanced"]
factors = {{answer = ["score", "feedback"]}}
[[judges]]
name = "real"
kind = "vllm"
model = "{model}"
base_url = "{url}"
concurrency = {concurrency}
max_tokens = 24
"""


class Passing(SteadyServer):
    """Passes every request on to the real server and keeps the log."""

    async def respond(self, request: web.Request, body: dict[str, Any], key: str) -> web.StreamResponse:
        async with aiohttp.ClientSession() as session, session.post(f"{URL}/chat/completions", json=body) as answer:
            content, status = await answer.read(), answer.status
        # A killed lab is no longer there to take the answer: that call may be asked again.
        gone = request.transport is None or request.transport.is_closing()
        self.completed[key] += not gone and status == 200
        return web.Response(body=content, status=status, content_type="application/json")


def study_file(folder: Path, url: str, model: str) -> Path:
    path = folder / "study.toml"
    text = STUDY.format(root=ROOT, url=url, model=model, concurrency=CONCURRENCY)
    path.write_text(text)
    return path


def start_run(study: Path, store: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rubriclab", "run", str(study), "--store", str(store)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_for(condition: Any, seconds: float, what: str) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, f"{what}: not within {seconds:g} s"
        time.sleep(0.02)


def finish(study: Path, store: Path, *, tries: int = 1) -> None:
    """Run to the end; a pause with a reason may be gone on with."""
    for attempt in range(1, tries + 1):
        process = start_run(study, store)
        _, said = process.communicate(timeout=900)
        if process.returncode == 0:
            return
        assert process.returncode == 3, said[-3000:]
        assert attempt < tries, said[-3000:]


def kept(store: Path) -> tuple[RunInfo, pd.DataFrame]:
    with Store(store) as opened:
        (info,) = opened.runs()
        return info, opened.archive_frame(info.run)


def check_complete(store: Path) -> None:
    """Every call has exactly one final answer, and both modes gave what they should."""
    info, frame = kept(store)
    assert (info.state, info.done, info.planned) == ("finished", CALLS, CALLS)
    assert len(frame) == frame["key"].nunique() == CALLS
    assert frame["error"].isna().all()
    assert frame["tokens_in"].min() > 100
    brief = frame[frame["mass"].notna()]
    assert len(brief) == CALLS // 2
    assert brief["mass"].between(0, 1.001).all()
    # A reply that names no label is read by its first word only where that may have been one.
    read = brief[brief["status"] == STATUSES.index("ok")]
    assert (brief["mass"][brief.index.difference(read.index)] < MOSTLY).all()
    shares = read[["p1", "p2", "p3", "p4", "p5"]]
    assert shares.sum(axis=1).to_numpy() == pytest.approx([1.0] * len(read), abs=1e-3)
    feedback = frame[frame["mass"].isna()]
    assert (feedback["text"].str.len() > 10).all()


def test_killed_in_the_middle_and_gone_on_with(tmp_path: Path) -> None:
    if not URL:
        pytest.skip("RUBRICLAB_VLLM_BASE_URL is not set: no real vLLM to ask")
    store = tmp_path / "s.duckdb"
    with running(Passing()) as server:
        study = study_file(tmp_path, server.base_url, attach(URL).models[0].name)
        process = start_run(study, store)
        wait_for(lambda: len(server.completed) >= CALLS // 3, 600, "a third of the calls")
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=20)
        wait_for(lambda: server.in_flight == 0, 120, "the calls in flight")
        before, _ = kept(store)
        assert CALLS // 3 - CONCURRENCY <= before.done < CALLS
        finish(study, store)
        check_complete(store)
        asked = len(server.keys)
        answered = +server.completed
    # Only what was in flight at the kill was asked a second time; what was kept never was.
    assert len(answered) == CALLS
    assert asked <= CALLS + CONCURRENCY
    with running(Passing(port=server.port)) as server:
        finish(study, store)
        assert server.keys == []


@contextmanager
def serving(port: int, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The real server in a session of its own; killed with all its children at the end."""
    with log.open("ab") as sink:
        process = subprocess.Popen([SERVE, str(port)], stdout=sink, stderr=sink, start_new_session=True)
    try:
        wait_for(lambda: healthy(port, process), 400, "the server's start")
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def healthy(port: int, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "the server ended while it started"
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def test_the_server_dies_in_the_middle_and_comes_back(tmp_path: Path) -> None:
    if not SERVE:
        pytest.skip("RUBRICLAB_VLLM_SERVE is not set: no command to start a vLLM with")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url, log, store = f"http://127.0.0.1:{port}/v1", tmp_path / "vllm.log", tmp_path / "s.duckdb"
    with serving(port, log) as server:
        study = study_file(tmp_path, url, attach(url).models[0].name)
        process = start_run(study, store)
        wait_for(lambda: requests_done(port) >= CALLS // 4, 600, "a quarter of the calls")
        os.killpg(server.pid, signal.SIGKILL)
        server.wait(30)
    with serving(port, log):
        # It waits for the server; where the start took longer than its patience it paused.
        _, said = process.communicate(timeout=900)
        assert process.returncode in (0, 3), said[-3000:]
        finish(study, store, tries=2)
        check_complete(store)


def requests_done(port: int) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    done = [line for line in lines if line.startswith("vllm:request_success_total")]
    return sum(float(line.rsplit(" ", 1)[1]) for line in done)
