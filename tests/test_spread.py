"""The worker of a spread without a cluster, and what a spread refuses; Ray itself in test_routes."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import pickle
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rubriclab.model import Judge, LabError, Reply, Strategy
from rubriclab.runs.answer_files import BatchError, answer_row, answer_table, write_answers
from rubriclab.runs.answers import import_answers
from rubriclab.runs.keeping import Keeper, whole_parts
from rubriclab.runs.spread import spread
from rubriclab.runs.worker import Kept, Post, Worker
from rubriclab.store import Store
from rubriclab.study.plan import Plan, plan
from tests.labkit import study
from tests.servers import FaultServer, SteadyServer, running

HAS_RAY = importlib.util.find_spec("ray") is not None


def prepared(*judges: Judge, items: int = 4) -> Plan:
    return plan(study(items, judges=judges, strategies=(Strategy("balanced"),)))


def vllm(*servers: SteadyServer, **more: Any) -> Judge:
    urls = tuple(server.base_url for server in servers)
    return Judge("j", "vllm", "test-model", base_urls=urls, **more)


def asked(judge: Judge, ready: Plan) -> pa.Table:
    """What one worker hands in for all calls of a plan, in the plan's order."""
    rows: dict[str, Mapping[str, Any]] = {}

    async def keep(kept: Sequence[Kept]) -> None:
        rows.update((key, answer_row(key, reply)) for _, key, reply in kept)

    async def work() -> None:
        worker = Worker((Post(judge, 0, judge.base_urls),), keep)
        try:
            await worker.ask(0, [(call.key, pickle.dumps(call)) for call in ready.calls()])
        finally:
            await worker.close()

    asyncio.run(work())
    return answer_table([rows[call.key] for call in ready.calls()])


def test_a_worker_answers_every_call(tmp_path: Path) -> None:
    with running(SteadyServer(text="2")) as server:
        ready = prepared(vllm(server))
        table = asked(vllm(server), ready)
    assert set(table.column("text").to_pylist()) == {"2"}
    write_answers(tmp_path / "a.parquet", table)
    with Store(":memory:") as store:
        taken = import_answers(store, ready, [tmp_path])
        assert (taken.kept, taken.left) == (40, 0)
        assert store.frame(taken.run).judgments["score"].eq(2).all()


def test_all_calls_of_an_item_go_to_one_server() -> None:
    with running(SteadyServer()) as one, running(SteadyServer()) as two:
        judge = vllm(one, two)
        ready = prepared(judge)
        asked(judge, ready)
        item = {call.key: call.items[0] for call in ready.calls()}
        seen = [{item[key] for key in server.completed} for server in (one, two)]
    assert seen == [{0, 2}, {1, 3}]
    assert sum(one.completed.values()) == sum(two.completed.values()) == 20


def test_a_worker_retries_and_then_says_what_it_met() -> None:
    with running(FaultServer({"server_error": 0.3}, seed=2)) as server:
        ready = prepared(vllm(server), items=1)
        table = asked(vllm(server), ready)
        assert server.counts["server_error"] > 0
    assert table.column("error").to_pylist() == [None] * 10
    assert max(table.column("attempts").to_pylist()) > 1


@pytest.mark.slow
def test_a_wrong_key_is_not_tried_on_every_call(tmp_path: Path) -> None:
    with running(FaultServer({"auth": 1.0})) as server:
        judge = vllm(server, concurrency=2)
        ready = prepared(judge)
        table = asked(judge, ready)
        assert len(server.log) <= 2
    assert set(table.column("kind").to_pylist()) == {"auth"}
    write_answers(tmp_path / "a.parquet", table)
    with Store(":memory:") as store:
        taken = import_answers(store, ready, [tmp_path])
        assert (taken.kept, taken.unasked, taken.left) == (0, {"auth": 40}, 40)


def test_what_a_spread_refuses(tmp_path: Path) -> None:
    one = Judge("a", "vllm", "m", base_urls=("http://127.0.0.1:9/v1",))
    other = Judge("b", "vllm", "m2", base_urls=("http://127.0.0.1:9/v1",))
    with Store(":memory:") as store:
        with pytest.raises(BatchError, match="several: a, b"):
            spread(store, prepared(one, other), tmp_path, endpoints=["http://127.0.0.1:8/v1"])
        simulated = prepared(Judge("s", "simulated", "simulated"))
        with pytest.raises(BatchError, match="only judges of kind simulated"):
            spread(store, simulated, tmp_path)
        with pytest.raises(BatchError, match="ray://head:10001 is Ray's remote client"):
            spread(store, prepared(one), tmp_path, address="ray://head:10001")
        keyed = prepared(replace(one, key_env="SPREAD_TEST_NO_SUCH_API_KEY"))
        with pytest.raises(LabError, match="SPREAD_TEST_NO_SUCH_API_KEY, which is not set"):
            spread(store, keyed, tmp_path)


def test_no_more_is_out_than_there_are_places() -> None:
    """Asked and not yet kept: what a lost node may cost. A keeper that is slow holds the worker back."""
    out: list[int] = []
    kept: set[str] = set()
    with running(SteadyServer()) as server:
        judge = vllm(server, concurrency=3)
        ready = prepared(judge, items=2)

        async def keep(some: Sequence[Kept]) -> None:
            await asyncio.sleep(0.02)
            out.append(len(set(server.keys)) - len(kept))
            kept.update(key for _, key, _ in some)

        async def work() -> None:
            worker = Worker((Post(judge, 0, judge.base_urls),), keep)
            await worker.ask(0, [(call.key, pickle.dumps(call)) for call in ready.calls()])
            await worker.close()

        asyncio.run(work())
    assert kept == {call.key for call in ready.calls()}
    assert max(out) == 3


def rows_of(*keys: str) -> list[Kept]:
    return [(0, key, Reply(text="1")) for key in keys]


def test_a_keeper_that_is_killed_leaves_its_lines(tmp_path: Path) -> None:
    keeper = Keeper(str(tmp_path), "a")
    keeper.keep(rows_of("one", "two"))
    assert keeper.taken(0) == {"one", "two"}
    cut = json.dumps(answer_row("three", Reply(text="1")))[:20]  # killed in the middle of a line
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "a.lines").write_text((tmp_path / "a.lines").read_text() + cut)
    keeper.close()
    whole_parts(tmp_path / "left")
    (table,) = (tmp_path / "left").iterdir()
    assert pq.read_table(table).column("key").to_pylist() == ["one", "two"]


def test_a_keeper_packs_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rubriclab.runs.keeping.ROWS", 2)
    keeper = Keeper(str(tmp_path), "a")
    for number in range(5):
        keeper.keep(rows_of(str(number)))
    assert len((tmp_path / "a.lines").read_text().splitlines()) == 1  # the others are in tables
    keeper.close()
    tables = sorted(tmp_path.iterdir())
    assert [pq.read_table(t).column("key").to_pylist() for t in tables] == [["0", "1"], ["2", "3"], ["4"]]


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed here")
def test_without_ray_it_says_how_to_get_it(tmp_path: Path) -> None:
    judge = Judge("a", "vllm", "m", base_urls=("http://127.0.0.1:9/v1",))
    with Store(":memory:") as store, pytest.raises(BatchError, match=r"pip install .*ray\[data\]"):
        spread(store, prepared(judge), tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not HAS_RAY, reason="Ray is not installed: pip install 'rubriclab[ray]'")
def test_what_was_spread_before_is_taken_in_first(tmp_path: Path) -> None:
    with running(SteadyServer()) as server:
        judge = vllm(server)
        ready = prepared(judge)
        write_answers(tmp_path / "left.parquet", asked(judge, ready))
        with Store(":memory:") as store, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # importing Ray warns of its own future
            said: list[str] = []
            taken = spread(store, ready, tmp_path, progress=said.append)
    assert taken.left == 0
    assert said[0] == "40 answers of an earlier spread taken in."
    assert "nothing to spread" in said[1]
    assert set(server.completed.values()) == {1}
