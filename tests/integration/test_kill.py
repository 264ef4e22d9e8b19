"""Kill runs at random moments, and check that nothing is lost and nothing is kept twice.

The command and a node of a Ray cluster are ended by kill -9 and by Ctrl-C. Afterwards, the store
must say why the run stopped.
"""

import importlib.util
import json
import os
import random
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

from rubriclab.core.judgments import Judgments
from rubriclab.core.looks import looks_at
from rubriclab.model.study import Smallest
from rubriclab.runs.loading import plan_of_file
from rubriclab.store.store import Store
from tests.integration.lab import ROOT
from tests.servers import FakeServer, running

pytestmark = pytest.mark.integration

KILLS = int(os.environ.get("RUBRICLAB_KILLS", "20"))
AT_ONCE = 16
SETTLED = 3.0
"""Seconds after which an answer is committed on any machine: the store commits every 0.2 s."""


def write_study(folder: Path, *, url: str, items: int, key_env: str = "") -> Path:
    lines = [f'i{n},question {n},"answer {n}, quality {n % 5 + 1}"' for n in range(items)]
    (folder / "items.csv").write_text(
        "\n".join(["id,instruction,response", *lines]), encoding="utf-8"
    )
    study = folder / "study.toml"
    text = Path(__file__).with_name("kill.toml").read_text("utf-8").replace("URL", url)
    if key_env:
        text += f'key_env = "{key_env}"\n'
    study.write_text(text, "utf-8")
    return study


def command(study: Path, store: Path) -> list[str]:
    return [sys.executable, "-m", "rubriclab", "run", str(study), "--store", str(store), "--json"]


def started(study: Path, store: Path, **options: Any) -> subprocess.Popen[bytes]:
    """The command in a session of its own, with Ctrl-C as a terminal has it: a shell's background
    job ignores it.
    """
    return subprocess.Popen(
        command(study, store),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


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
        ended = subprocess.run(
            command(study, store), cwd=ROOT, capture_output=True, timeout=600, check=False
        )
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
        ended = subprocess.run(
            command(study, store), cwd=ROOT, capture_output=True, timeout=300, check=False
        )
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


HEAD, OTHER = "127.0.0.2", "127.0.0.3"
ITEMS = 60


# A node is its ``ray start`` and everything below it, on a loopback address and with a token of its
# own; killing it is SIGKILL to all of these. Each node has its own key in its environment, so the
# server knows which node asks.
NODE_KEY = "RUBRICLAB_TEST_NODE_API_KEY"


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
def cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[tuple[str, dict[str, subprocess.Popen[bytes]]]]:
    """(address, nodes by their address): two nodes, which are killed after the test."""
    if importlib.util.find_spec("ray") is None:
        why = "Ray is not installed: pip install 'rubriclab[ray]'"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(why)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))
    monkeypatch.setenv(
        "RAY_worker_niceness", "0"
    )  # on a busy machine workers with Ray's own 15 hardly start
    # The command itself never asks: it only has to have a key.
    monkeypatch.setenv(NODE_KEY, "of-no-node")
    monkeypatch.setenv(
        "PYTHONPATH", str(ROOT)
    )  # the lab itself, as if it were installed on each node
    folder = Path(
        tempfile.mkdtemp(prefix="ray", dir="/tmp")
    )  # sockets lie in it: their paths must be short
    with socket.socket() as free:
        free.bind((HEAD, 0))
        address = f"{HEAD}:{free.getsockname()[1]}"
    nodes: dict[str, subprocess.Popen[bytes]] = {}
    head = (
        "--head",
        f"--port={address.partition(':')[2]}",
        "--include-dashboard=false",
        f"--temp-dir={folder}",
    )
    try:
        for ip, more in ((HEAD, head), (OTHER, (f"--address={address}",))):
            log = folder / f"{ip}.log"
            with log.open("wb") as words:
                command = [
                    str(Path(sys.executable).with_name("ray")),
                    "start",
                    "--num-cpus=1",
                    "--block",
                    *more,
                ]
                command += [
                    f"--node-ip-address={ip}",
                    "--object-store-memory=100000000",
                    "--disable-usage-stats",
                ]
                nodes[ip] = subprocess.Popen(
                    command,
                    stdout=words,
                    stderr=words,
                    start_new_session=True,
                    env={**os.environ, NODE_KEY: ip},
                )
            wait(lambda log=log: "Ray runtime started" in log.read_text(), f"no node at {ip}")  # type: ignore[misc]
        yield address, nodes
    finally:
        for node in nodes.values():
            kill(node)
        shutil.rmtree(folder, ignore_errors=True)


def over_ray(study: Path, store: Path, address: str) -> list[str]:
    return [
        sys.executable,
        "-m",
        "rubriclab",
        "run",
        str(study),
        "--store",
        str(store),
        "--ray",
        address,
        "--trust",
        "--json",
    ]


def test_a_node_is_killed_in_the_middle(
    cluster: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    address, nodes = cluster
    with running(FakeServer(latency=0.1)) as server:
        study = write_study(tmp_path, url=server.base_url, items=ITEMS, key_env=NODE_KEY)
        planned, store = (
            {call.key for call in plan_of_file(study).calls()},
            tmp_path / "cluster.duckdb",
        )
        with subprocess.Popen(
            over_ray(study, store, address),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as run:
            wait(
                lambda: len(server.keys) >= len(planned) // 3 or run.poll() is not None,
                "the study was not asked",
            )
            kill(nodes[OTHER])
            at_kill = len(server.keys)
            out, err = run.communicate(timeout=240)
            by_killed = {key for key, sender in server.senders if sender == OTHER}
        assert run.returncode == 0, err.decode()[-3_000:]
    assert json.loads(out)["state"] == "finished"
    assert 0 < len(by_killed) < at_kill < len(planned), (
        "both nodes asked, and one was killed in the middle"
    )
    check_rows(store, planned)
    asked = Counter(
        server.keys
    )  # whatever Ray says of its nodes, standard output is the answer alone
    twice = {key for key, times in asked.items() if times > 1}
    # Asked again are calls that were in flight on the killed node and have no answer, and no
    # others.
    assert twice <= by_killed
    assert len(twice) <= AT_ONCE
    assert max(asked.values()) <= 2


def looks_of(store: Path) -> list[tuple[int, bool, float, str]]:
    """What each look at the store's run says."""
    with Store.open(store) as opened:
        (info,) = opened.runs()
        judgments = Judgments(opened.table(info.id))
    return [
        (look.units, look.stops, look.verdicts.gate.p, repr(look.verdicts.questions))
        for look in looks_at(judgments, judgments.looked[0], Smallest())
    ]


def test_a_cluster_stops_at_the_look_that_has_the_answer_also_if_a_node_dies(
    cluster: tuple[str, dict[str, Any]], tmp_path: Path
) -> None:
    """No node asks a call of the next batch before the look, and the look is that of one machine.

    The server's replies hang on the prompts alone: 1.0 log-odds for the option listed first. Of 60
    answers the looks are after 15, 30 and 60.
    """
    address, nodes = cluster
    with running(FakeServer(latency=0.05, lean=1.0)) as server:
        study = write_study(tmp_path, url=server.base_url, items=ITEMS, key_env=NODE_KEY)
        with study.open("a", encoding="utf-8") as text:
            text.write('[design]\nstop = "known"\nrepeats = 1\n')
        made = plan_of_file(study)
        assert made.looks is not None
        ((scope, looks),) = made.looks.scopes.items()
        alone, store = tmp_path / "alone.duckdb", tmp_path / "cluster.duckdb"
        subprocess.run(
            [*command(study, alone), "--trust"], cwd=ROOT, check=True, capture_output=True
        )
        wanted = looks_of(alone)
        assert [units for units, *_ in wanted] == list(looks.units[: len(wanted)])
        assert wanted[-1][1]
        assert len(wanted) < len(looks.units)
        server.keys.clear()
        server.senders.clear()
        batches = range(len(wanted))
        expected = [{call.key for call in made.calls("server", scope, k)} for k in batches]
        with subprocess.Popen(
            over_ray(study, store, address),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as run:
            wait(
                lambda: len(server.keys) >= len(expected[0]) // 2 or run.poll() is not None,
                "the study was not asked",
            )
            kill(nodes[OTHER])
            out, err = run.communicate(timeout=240)
            by_killed = {key for key, sender in server.senders if sender == OTHER}
        assert run.returncode == 0, err.decode()[-3_000:]
        asked = list(server.keys)
    assert 0 < len(by_killed) < len(asked), "both nodes asked"
    assert json.loads(out)["state"] == "finished"
    assert set(asked) == set().union(*expected)
    for number in batches[1:]:
        last_before = max(place for place, key in enumerate(asked) if key in expected[number - 1])
        assert last_before < min(k for k, key in enumerate(asked) if key in expected[number])
    check_rows(store, set(asked))
    assert looks_of(store) == wanted


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:10001", "nowhere", "auto"])
def test_an_address_where_no_cluster_is_costs_nothing(tmp_path: Path, address: str) -> None:
    study = write_study(tmp_path, url="http://127.0.0.1:9/v1", items=2)
    store = tmp_path / "none.duckdb"
    done = subprocess.run(
        over_ray(study, store, address), cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert address in done.stderr
    assert "Traceback" not in done.stderr
    assert not store.exists()
