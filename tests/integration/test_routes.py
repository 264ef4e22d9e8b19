"""One study by every route: local, batch files, Ray. Same calls, same judgments, asked once.

The judge is deterministic: its answer is a hash of the prompt. The real ``vllm run-batch`` is
asked where RUBRICLAB_VLLM_RUN_BATCH names its command (``.ci/vllm-cpu`` makes one) and
RUBRICLAB_VLLM_BASE_URL a server of the same model.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from rubriclab.judges.vllm import attach
from rubriclab.store import Store
from rubriclab.study.plan import plan
from rubriclab.study.reading import load_study
from tests.servers import CALL_HEADER, SteadyServer, running

pytestmark = pytest.mark.integration

ROOT = Path(__file__).resolve().parents[2]
RUN_BATCH = os.environ.get("RUBRICLAB_VLLM_RUN_BATCH", "")
VLLM_URL = os.environ.get("RUBRICLAB_VLLM_BASE_URL", "")
HAS_RAY = importlib.util.find_spec("ray") is not None
CALLS = 12 * (10 + 5) * 2
"""12 items, 10 balanced and 5 fixed reads, both answer modes."""

STUDY = """
name = "routes"
rubric = "{root}/data/rubrics/helpfulness.yaml"
[data]
file = "{root}/data/sample.csv"
items = 12
[design]
strategies = ["balanced", {{kind = "fixed", reads = 5}}]
crossed = true
factors = {{answer = ["score", "feedback"]}}
[[judges]]
name = "hash"
kind = "vllm"
model = "test-model"
base_urls = {urls}
concurrency = 16
"""


class HashServer(SteadyServer):
    """The answer is a hash of the prompt: the same from every server, at every time."""

    def answer_to(self, body: dict[str, Any]) -> dict[str, Any]:
        digest = hashlib.sha256(json.dumps(body["messages"]).encode()).digest()
        self.text = str(1 + digest[0] % 5)
        return super().answer_to(body)


@pytest.fixture
def servers() -> Iterator[tuple[HashServer, HashServer]]:
    # Slow enough for a run to be caught in the middle.
    with running(HashServer(latency=0.01)) as one, running(HashServer(latency=0.01)) as two:
        yield one, two


def study_file(folder: Path, *servers: HashServer) -> Path:
    path = folder / "study.toml"
    urls = json.dumps([server.base_url for server in servers])
    path.write_text(STUDY.format(root=ROOT, urls=urls))
    return path


def lab(*arguments: object, seconds: float = 280, code: int = 0) -> str:
    """``python -m rubriclab`` in a process of its own; its standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "rubriclab", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == code, done.stderr[-3000:]
    return done.stderr


def judgments(path: Path, *, calls: int = CALLS) -> list[tuple[Any, ...]]:
    """Everything that was judged, whatever its order, without what a route cannot know."""
    with Store(path) as store:
        (info,) = store.runs()
        assert (info.state, info.done, info.planned) == ("finished", calls, calls), info
        frame = store.archive_frame(info.run)
    columns = ["key", "item", "status", "score", "position", "mass", "expected", "text", "finish", "model", "p1", "p5"]
    rows = frame[columns].astype(object).where(frame[columns].notna(), None)
    return sorted(map(tuple, rows.to_numpy().tolist()))


def item_of(study: Path) -> dict[str, int]:
    """The item of each call's key."""
    return {call.key: call.items[0] for call in plan(load_study(study)).calls()}


def keys_asked(*servers: HashServer) -> Counter[str]:
    return sum((server.completed for server in servers), Counter())


def answer_batch(url: str, requests: Path, answers: Path) -> None:
    """A tiny executor of batch files, writing what the OpenAI Batch API writes."""

    async def work() -> list[str]:
        lines = []
        async with aiohttp.ClientSession() as session:
            for line in requests.read_text().splitlines():
                request = json.loads(line)
                assert (request["method"], request["url"]) == ("POST", "/v1/chat/completions")
                async with session.post(
                    f"{url}/chat/completions", json=request["body"], headers={CALL_HEADER: request["custom_id"]}
                ) as response:
                    answer = {"status_code": response.status, "body": await response.json()}
                row = {"id": "b", "custom_id": request["custom_id"], "response": answer}
                lines.append(json.dumps({**row, "error": None}))
        return lines

    answers.write_text("".join(f"{line}\n" for line in asyncio.run(work())))


def by_batch(study: Path, store: Path, folder: Path, url: str) -> str:
    lab("batch", "export", study, "--store", store, "--out", folder / "out", "--part-size", 100)
    (folder / "answers").mkdir()
    for part in sorted((folder / "out").rglob("*.jsonl")):
        answer_batch(url, part, folder / "answers" / part.name)
    return lab("batch", "import", study, "--store", store, folder / "answers")


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, ...]]:
    """The judgments of the study finished the ordinary way, on a server of its own."""
    folder = tmp_path_factory.mktemp("local")
    with running(HashServer()) as server:
        lab("run", study_file(folder, server), "--store", folder / "local.duckdb")
        assert set(server.completed.values()) == {1}
        assert len(server.completed) == CALLS
    return judgments(folder / "local.duckdb")


def test_batch_files(local: list[tuple[Any, ...]], servers: tuple[HashServer, HashServer], tmp_path: Path) -> None:
    study, store = study_file(tmp_path, servers[0]), tmp_path / "batch.duckdb"
    by_batch(study, store, tmp_path, servers[0].base_url)
    assert judgments(store) == local
    assert set(keys_asked(*servers).values()) == {1}
    # The bodies are those of the local client: the answers hash the messages only.
    assert servers[0].bodies[0]["max_tokens"] in (16, 1024)


def test_a_killed_run_is_finished_by_batch_files(
    local: list[tuple[Any, ...]], servers: tuple[HashServer, HashServer], tmp_path: Path
) -> None:
    study, store = study_file(tmp_path, servers[0]), tmp_path / "half.duckdb"
    asked, in_flight = kill_in_the_middle(study, store, servers)
    by_batch(study, store, tmp_path, servers[0].base_url)
    assert judgments(store) == local
    assert_asked_once(asked, in_flight, servers)


@pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed: pip install 'rubriclab[ray]'")
def test_ray(local: list[tuple[Any, ...]], servers: tuple[HashServer, HashServer], tmp_path: Path) -> None:
    study, store = study_file(tmp_path, servers[0]), tmp_path / "ray.duckdb"
    endpoints = [part for server in servers for part in ("--endpoint", server.base_url)]
    out = tmp_path / "out"
    said = lab("spread", study, "--store", store, "--out", out, "--workers", 2, *endpoints)
    assert f"{CALLS:,} calls of {CALLS:,}, 2 workers" in said
    assert judgments(store) == local
    assert set(keys_asked(*servers).values()) == {1}
    # Both servers were used, and each item stayed on one.
    items = [{item_of(study)[key] for key in server.completed} for server in servers]
    assert len(items[0]) == len(items[1]) == 6
    assert not items[0] & items[1]


@pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed: pip install 'rubriclab[ray]'")
def test_a_killed_run_is_finished_on_ray(
    local: list[tuple[Any, ...]], servers: tuple[HashServer, HashServer], tmp_path: Path
) -> None:
    study, store = study_file(tmp_path, servers[0]), tmp_path / "half.duckdb"
    asked, in_flight = kill_in_the_middle(study, store, servers)
    lab("spread", study, "--store", store, "--out", tmp_path / "out", "--workers", 2)
    assert judgments(store) == local
    assert_asked_once(asked, in_flight, servers)
    lab("spread", study, "--store", store, "--out", tmp_path / "out")
    assert_asked_once(asked, in_flight, servers)


def test_two_machines_put_together(
    local: list[tuple[Any, ...]], servers: tuple[HashServer, HashServer], tmp_path: Path
) -> None:
    """A killed run here, some batch files in another store: put together, then finished by the lab."""
    study, here, there = study_file(tmp_path, servers[0]), tmp_path / "here.duckdb", tmp_path / "there.duckdb"
    asked, in_flight = kill_in_the_middle(study, here, servers)
    lab("batch", "export", study, "--store", there, "--out", tmp_path / "out", "--part-size", 50)
    some = sorted((tmp_path / "out").rglob("*.jsonl"))[1::2]
    for part in some:
        answer_batch(servers[1].base_url, part, tmp_path / f"answers-{part.name}")
    theirs = set(servers[1].completed)
    said = lab("batch", "import", study, "--store", there, *tmp_path.glob("answers-*.jsonl"), code=3)
    assert f"{len(theirs)} of {len(theirs)} answers kept" in said
    mine = kept_keys(here)
    lab("export", "routes", "--store", there, "--out", tmp_path / "there.zip")
    lab("import", tmp_path / "there.zip", "--kind", "run", "--store", here)
    assert mine & theirs, "the halves should overlap"
    assert kept_keys(here) == mine | theirs
    lab("run", study, "--store", here)
    assert judgments(here) == local
    # Putting them together asks nothing; the lab asks what neither had.
    assert servers[0].completed == asked + Counter(set(item_of(study)) - mine - theirs)
    assert len(set(asked) - mine) == in_flight


def kept_keys(path: Path) -> set[str]:
    with Store(path) as store:
        (info,) = store.runs()
        return store.done_keys(info.run)


def kill_in_the_middle(study: Path, store: Path, servers: tuple[HashServer, HashServer]) -> tuple[Counter[str], int]:
    """Start the study, kill -9 the lab; keys answered until then, and how many were in flight."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rubriclab", "run", str(study), "--store", str(store)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while len(keys_asked(*servers)) < CALLS // 3 and time.monotonic() < until:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    time.sleep(0.2)
    asked = keys_asked(*servers)
    assert CALLS // 3 <= len(asked) < CALLS, "the run was not caught in the middle"
    with Store(store) as opened:
        (info,) = opened.runs()
        return asked, len(asked) - info.done


def assert_asked_once(before: Counter[str], in_flight: int, servers: tuple[HashServer, HashServer]) -> None:
    """Every call once; only what was in flight at the kill may have been asked again."""
    asked = keys_asked(*servers)
    assert len(asked) == CALLS
    twice = [key for key, count in asked.items() if count > 1]
    assert len(twice) == in_flight <= 16
    assert set(twice) <= set(before)
    assert max(asked.values()) <= 2


@pytest.mark.skipif(
    not (RUN_BATCH and VLLM_URL), reason="RUBRICLAB_VLLM_RUN_BATCH and RUBRICLAB_VLLM_BASE_URL name no real vLLM"
)
def test_vllm_run_batch(tmp_path: Path) -> None:
    """A real model by two routes, one call at a time, so that its arithmetic is the same."""
    study, folder = tmp_path / "study.toml", tmp_path / "out"
    text = STUDY.format(root=ROOT, urls=json.dumps([VLLM_URL])).replace("items = 12", "items = 2")
    text = text.replace("test-model", attach(VLLM_URL).models[0].name)
    study.write_text(text.replace("concurrency = 16", "concurrency = 1\nmax_tokens = 16"))
    lab("run", study, "--store", tmp_path / "local.duckdb", seconds=900)
    lab("batch", "export", study, "--store", tmp_path / "batch.duckdb", "--out", folder)
    (part,) = folder.rglob("*.jsonl")
    answers = tmp_path / "answers.jsonl"
    done = subprocess.run(
        [RUN_BATCH, "-i", str(part), "-o", str(answers), "--max-num-seqs", "1"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lab("batch", "import", study, "--store", tmp_path / "batch.duckdb", answers)
    rows = judgments(tmp_path / "batch.duckdb", calls=60)
    assert rows == judgments(tmp_path / "local.duckdb", calls=60)
    assert sum(row[5] is not None for row in rows) == 30  # probabilities came along
