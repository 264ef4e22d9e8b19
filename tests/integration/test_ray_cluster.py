"""A study spread over a Ray cluster of two nodes, one of which is killed in the middle.

Both nodes run on this machine, on loopback addresses of their own, with a token made for them. A
node is its ``ray start`` and everything below it; killing it is SIGKILL to all of these at once.
What each node asked is known by the ports its processes hold.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.integration.test_routes import ROOT, HashServer, judgments, study_file
from tests.servers import CALL_HEADER, running

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install 'rubriclab[ray]'"
    ),
]
HEAD, OTHER, THIRD = "127.0.0.2", "127.0.0.3", "127.0.0.4"
STARTED = 180.0
"""Seconds that nodes and workers may take to start: some ten on an idle machine."""


@dataclass(frozen=True)
class Asked:
    """A request as the server saw it arrive."""

    key: str
    body: str
    port: int


class Counting(HashServer):
    """Notes each request's key, the hash of its body and the port it came from."""

    def __init__(self, **steady: Any) -> None:
        super().__init__(**steady)
        self.asked: list[Asked] = []

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = hashlib.sha256(await request.read()).hexdigest()
        (_, port, *_) = request.transport.get_extra_info("peername")  # type: ignore[union-attr]
        self.asked.append(Asked(request.headers[CALL_HEADER], body, port))
        return await super()._chat(request)


class Cluster:
    """Nodes by their address, each as the process of its ``ray start``."""

    def __init__(self, folder: str) -> None:
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        with socket.socket() as free:
            free.bind((HEAD, 0))
            self.port = free.getsockname()[1]
        self.address, self._folder = f"{HEAD}:{self.port}", folder

    def head(self, cpus: int) -> None:
        more = (f"--port={self.port}", "--include-dashboard=false", f"--temp-dir={self._folder}", f"--num-cpus={cpus}")
        self.nodes[HEAD] = _node(HEAD, "--head", *more, log=Path(self._folder) / "head.log")
        _wait(lambda: _listens(self.port), "Ray's head did not start")

    def join(self, ip: str) -> None:
        """Another node, with one processor; until it has joined."""
        log = Path(self._folder) / f"{ip}.log"
        self.nodes[ip] = _node(ip, f"--address={self.address}", "--num-cpus=1", log=log)
        _wait(lambda: "Ray runtime started" in log.read_text(), f"Ray's node {ip} did not join")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """No nodes yet; those that a test starts are killed after it."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    monkeypatch.setenv("RAY_worker_niceness", "0")  # 15 by itself: on a busy machine workers hardly start
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # the lab itself, as if it were installed on each node
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # sockets lie in it: their paths must be short
    made = Cluster(folder)
    try:
        yield made
    finally:
        for node in made.nodes.values():
            _kill(node)
        shutil.rmtree(folder, ignore_errors=True)


def _node(ip: str, *more: str, log: Path) -> subprocess.Popen[bytes]:
    ray = Path(sys.executable).with_name("ray")
    size = "--object-store-memory=100000000"
    with log.open("wb") as words:
        return subprocess.Popen(
            [ray, "start", f"--node-ip-address={ip}", size, "--disable-usage-stats", "--block", *more],
            stdout=words,
            stderr=words,
            start_new_session=True,
        )


def _listens(port: int) -> bool:
    with socket.socket() as one:
        one.settimeout(1)
        return one.connect_ex((HEAD, port)) == 0


def _wait(until: Callable[[], bool], otherwise: str, seconds: float = STARTED) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, f"{otherwise} within {seconds:.0f} s"
        time.sleep(0.02)


# ---------------------------------------------------------------- processes and their ports


def _below(pid: int) -> list[int]:
    """A process and everything below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
        except (OSError, IndexError):
            continue
        parents.setdefault(int(parent), []).append(int(entry.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found


def _kill(node: subprocess.Popen[bytes]) -> None:
    """SIGKILL to a whole node: Ray's own processes and the workers."""
    if node.poll() is None:
        for pid in _below(node.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
    node.wait(10)


def _ports(node: subprocess.Popen[bytes]) -> set[int]:
    """The local TCP ports that a node's processes hold."""
    inodes = set()
    for pid in _below(node.pid):
        try:
            links = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
        inodes |= {link[8:-1] for link in links if link.startswith("socket:[")}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[9] in inodes}


# ---------------------------------------------------------------- the tests

ITEMS = 24
CALLS = ITEMS * (10 + 5) * 2
CONCURRENCY, WORKERS = 16, 2


def _study(folder: Path, *servers: HashServer) -> Path:
    path = study_file(folder, *servers)
    path.write_text(path.read_text().replace("items = 12", f"items = {ITEMS}"))
    return path


@contextmanager
def spreading(cluster: Cluster, study: Path, store: Path, workers: int) -> Iterator[Callable[[], str]]:
    """The command under way; gives what waits for its good end, and says what was said."""
    said, out = study.with_name("said.txt"), study.with_name("out")
    command = ["spread", study, "--store", store, "--out", out, "--workers", workers, "--address", cluster.address]
    with said.open("wb") as words:
        process = subprocess.Popen(
            [sys.executable, "-m", "rubriclab", *map(str, command)], cwd=ROOT, stdout=words, stderr=words
        )

    def ended() -> str:
        assert process.wait(120) == 0, said.read_text()[-3000:]
        return said.read_text()

    try:
        yield ended
    finally:
        process.kill()
        process.wait(10)


def killed_in_the_middle(cluster: Cluster, server: Counting, ip: str) -> set[str]:
    """Kill a node once a third is asked; the calls that it had asked."""
    _wait(lambda: len(server.asked) >= CALLS // 3, "the study was not asked")
    mine = _ports(cluster.nodes[ip])
    _kill(cluster.nodes[ip])
    by_killed = {asked.key for asked in list(server.asked) if asked.port in mine}
    assert len({asked.key for asked in server.asked}) < CALLS - 2 * CONCURRENCY, "not caught in the middle"
    return by_killed


def assert_only_in_flight_again(server: Counting, store: Path, by_killed: set[str], places: int) -> None:
    """One row a call; asked again is what the killed node had not handed in, and nothing besides."""
    again = Counter(asked.key for asked in server.asked)
    assert len(again) == len(judgments(store, calls=CALLS)) == CALLS
    twice = {key for key, count in again.items() if count > 1}
    assert twice <= by_killed
    assert len(twice) <= places
    assert max(again.values()) <= 2
    assert len({(asked.key, asked.body) for asked in server.asked}) == CALLS  # again means: the same request


def test_a_node_is_killed_in_the_middle(cluster: Cluster, tmp_path: Path) -> None:
    cluster.head(cpus=1)
    cluster.join(OTHER)
    with running(Counting(latency=0.1)) as server:
        study, store = _study(tmp_path, server), tmp_path / "cluster.duckdb"
        with spreading(cluster, study, store, WORKERS) as ended:
            by_killed = killed_in_the_middle(cluster, server, OTHER)
            said = ended()
        assert 0 < len(by_killed) < CALLS // 2
        assert "A worker is lost" in said
        assert_only_in_flight_again(server, store, by_killed, CONCURRENCY // WORKERS)


def test_the_only_worker_is_lost_and_a_node_comes_later(cluster: Cluster, tmp_path: Path) -> None:
    """As on a cluster that scales by itself: nothing can go on until there is a node again."""
    cluster.head(cpus=0)
    cluster.join(OTHER)
    with running(Counting(latency=0.1)) as server:
        study, store = _study(tmp_path, server), tmp_path / "cluster.duckdb"
        with spreading(cluster, study, store, 1) as ended:
            by_killed = killed_in_the_middle(cluster, server, OTHER)
            asked = len(server.asked)
            cluster.join(THIRD)
            ended()
        assert len(by_killed) == asked  # nobody else was there to ask
        assert_only_in_flight_again(server, store, by_killed, CONCURRENCY)
