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
HEAD, OTHER = "127.0.0.2", "127.0.0.3"
STARTED = 90.0
"""Seconds a cluster may take to stand: it takes about ten on an idle machine."""


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


@dataclass(frozen=True)
class Cluster:
    """The two nodes, each as the process of its ``ray start``."""

    address: str
    head: subprocess.Popen[bytes]
    other: subprocess.Popen[bytes]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    """Two nodes with one processor each; the second can be killed."""
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # the lab itself, as if it were installed on each node
    folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")  # sockets lie in it: their paths must be short
    with socket.socket() as free:
        free.bind((HEAD, 0))
        port = free.getsockname()[1]
    address, nodes = f"{HEAD}:{port}", []
    try:
        nodes.append(_node(HEAD, "--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}"))
        _wait(lambda: _listens(port), "Ray's head did not start")
        nodes.append(_node(OTHER, f"--address={address}"))
        _wait(lambda: _alive(address) == 2, "Ray's second node did not join")
        yield Cluster(address, *nodes)
    finally:
        for node in nodes:
            _kill(node)
        shutil.rmtree(folder, ignore_errors=True)


def _node(ip: str, *more: str) -> subprocess.Popen[bytes]:
    ray = Path(sys.executable).with_name("ray")
    size = ["--num-cpus=1", "--object-store-memory=100000000"]
    return subprocess.Popen(
        [ray, "start", f"--node-ip-address={ip}", *size, "--disable-usage-stats", "--block", *more],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _alive(address: str) -> int:
    """Nodes that the cluster counts as alive."""
    code = (
        "import ray; ray.init(address=%r, log_to_driver=False, logging_level='ERROR');"
        "print(sum(n['Alive'] for n in ray.nodes()))"
    )
    done = subprocess.run([sys.executable, "-c", code % address], capture_output=True, text=True, check=False)
    return int(done.stdout) if done.returncode == 0 else 0


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


def test_a_node_is_killed_in_the_middle(cluster: Cluster, tmp_path: Path) -> None:
    with running(Counting(latency=0.1)) as server:
        study, store = _study(tmp_path, server), tmp_path / "cluster.duckdb"
        command = ["spread", study, "--store", store, "--out", tmp_path / "out", "--workers", WORKERS]
        said = tmp_path / "said.txt"
        with said.open("wb") as words:
            process = subprocess.Popen(
                [sys.executable, "-m", "rubriclab", *map(str, command), "--address", cluster.address],
                cwd=ROOT,
                stdout=words,
                stderr=words,
            )
            try:
                _wait(lambda: len(server.asked) >= CALLS // 3, "the study was not asked")
                mine = _ports(cluster.other)
                before = list(server.asked)
                _kill(cluster.other)
                assert len(before) < CALLS - 2 * CONCURRENCY, "the study was not caught in the middle"
                assert process.wait(100) == 0, said.read_text()[-3000:]
            finally:
                process.kill()
        again = Counter(asked.key for asked in server.asked)
        by_killed = {asked.key for asked in server.asked if asked.port in mine}
        assert 0 < len(by_killed) < CALLS // 2
        twice = {key for key, count in again.items() if count > 1}
        # One row a call, as if no node had been lost.
        assert len(again) == len(judgments(store, calls=CALLS)) == CALLS
        # Asked again is what the killed node had not handed in, and nothing besides.
        assert twice <= by_killed
        assert len(twice) <= CONCURRENCY // WORKERS
        assert max(again.values()) <= 2
        assert len({(asked.key, asked.body) for asked in server.asked}) == CALLS  # again means: the same request
