"""A study over a Ray cluster of two nodes of this machine, one of which is killed in the middle: each call one final row.

A node is its ``ray start`` and everything below it, on a loopback address and with a token of its own; killing it is SIGKILL
to all of these. What a node asked is known by the ports that its processes hold.
"""

import importlib.util
import json
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
from pathlib import Path
from typing import Any

import pytest

from rubriclab.runs.loading import plan_of_file
from tests.integration.lab import ROOT
from tests.integration.test_kill import check_rows, write_study
from tests.servers import FakeServer, running

pytestmark = pytest.mark.integration

HEAD, OTHER = "127.0.0.2", "127.0.0.3"
AT_ONCE, ITEMS = 16, 60


def below(pid: int) -> list[int]:
    """A process and everything below it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            parents.setdefault(parent, []).append(int(entry.name))
        except (OSError, IndexError):
            continue
    pids = [pid]
    for one in pids:
        pids += parents.get(one, [])
    return pids


def ports_of(node: subprocess.Popen[bytes]) -> set[int]:
    """The local TCP ports that a node's processes hold."""
    inodes = set()
    for pid in below(node.pid):
        try:
            links = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
        inodes |= {link[8:-1] for link in links if link.startswith("socket:[")}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[9] in inodes}


def kill(node: subprocess.Popen[bytes]) -> None:
    for pid in below(node.pid) if node.poll() is None else ():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    node.wait(10)


def wait(until: Callable[[], bool], otherwise: str, seconds: float = 180.0) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, otherwise
        time.sleep(0.02)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, dict[str, subprocess.Popen[bytes]]]]:
    """(address, nodes by their address): two nodes, which are killed after the test."""
    if importlib.util.find_spec("ray") is None:
        why = "Ray is not installed: pip install 'rubriclab[ray]'"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    monkeypatch.setenv("RAY_worker_niceness", "0")  # on a busy machine workers with Ray's own 15 hardly start
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # the lab itself, as if it were installed on each node
    folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))  # sockets lie in it: their paths must be short
    with socket.socket() as free:
        free.bind((HEAD, 0))
        address = f"{HEAD}:{free.getsockname()[1]}"
    nodes: dict[str, subprocess.Popen[bytes]] = {}
    head = ("--head", f"--port={address.partition(':')[2]}", "--include-dashboard=false", f"--temp-dir={folder}")
    try:
        for ip, more in ((HEAD, head), (OTHER, (f"--address={address}",))):
            log = folder / f"{ip}.log"
            with log.open("wb") as words:
                command = [str(Path(sys.executable).with_name("ray")), "start", "--num-cpus=1", "--block", *more]
                command += [f"--node-ip-address={ip}", "--object-store-memory=100000000", "--disable-usage-stats"]
                nodes[ip] = subprocess.Popen(command, stdout=words, stderr=words, start_new_session=True)
            wait(lambda log=log: "Ray runtime started" in log.read_text(), f"no node at {ip}")  # type: ignore[misc]
        yield address, nodes
    finally:
        for node in nodes.values():
            kill(node)
        shutil.rmtree(folder, ignore_errors=True)


def over_ray(study: Path, store: Path, address: str) -> list[str]:
    return [sys.executable, "-m", "rubriclab", "run", str(study), "--store", str(store), "--ray", address]


def test_a_node_is_killed_in_the_middle(cluster: tuple[str, dict[str, Any]], tmp_path: Path) -> None:
    address, nodes = cluster
    with running(FakeServer(latency=0.1)) as server:
        study = write_study(tmp_path, url=server.base_url, items=ITEMS)
        planned, store = {call.key for call in plan_of_file(study).calls()}, tmp_path / "cluster.duckdb"
        command = [*over_ray(study, store, address), "--json"]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            wait(lambda: len(server.ports) >= len(planned) // 3 or run.poll() is not None, "the study was not asked")
            mine = ports_of(nodes[OTHER])
            kill(nodes[OTHER])
            by_killed = {key for key, port in list(server.ports) if port in mine}
            at_kill = len(server.ports)
            out, err = run.communicate(timeout=240)
        assert run.returncode == 0, err.decode()[-3_000:]
    assert json.loads(out)["state"] == "finished"
    assert 0 < len(by_killed) < at_kill < len(planned), "both nodes asked, and one was killed in the middle"
    check_rows(store, planned)
    asked = Counter(server.keys)  # whatever Ray says of its nodes, standard output is the answer alone
    twice = {key for key, times in asked.items() if times > 1}
    # Asked again are calls that were in flight on the killed node and have no answer, and no others.
    assert twice <= by_killed
    assert len(twice) <= AT_ONCE
    assert max(asked.values()) <= 2


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:10001", "nowhere", "auto"])
def test_an_address_where_no_cluster_is_costs_nothing(tmp_path: Path, address: str) -> None:
    study = write_study(tmp_path, url="http://127.0.0.1:9/v1", items=2)
    store = tmp_path / "none.duckdb"
    done = subprocess.run(over_ray(study, store, address), cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert address in done.stderr
    assert "Traceback" not in done.stderr
    assert not store.exists()
