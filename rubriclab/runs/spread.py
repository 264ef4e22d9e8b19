"""A study over a Ray cluster: many workers ask the same calls, Parquet comes back.

Ray Data hands the unanswered calls to a pool of workers. Each worker asks through the lab's own
client and pace, so requests, faults and retries are those of a local run; all calls of an item
go to one server, whichever worker holds them. Answers are written to the folder while they
come and imported by ``answers.import_answers``: a spread that was killed goes on where it was.

Ray's own HTTP processor (``ray.data.llm.HttpRequestProcessorConfig``) is not used. It sends the
requests of a batch one after another, knows one address, hands an error's body on as if it were
an answer, and fails the whole job at the first request whose retries are used up.

On GPU nodes there are two ways. One server a node, and every address given as an endpoint::

    vllm serve MODEL --port 8000                      # on each node
    python -m rubriclab spread STUDY.toml --store S --out DIR --workers 8 \\
        --endpoint http://node1:8000/v1 --endpoint http://node2:8000/v1 --address auto

Or Ray's vLLM engine processor over the files of ``batch export``, with no server at all. It gives
no finish reason, so a cut answer is known by its length; without probabilities::

    from ray.data import read_json
    from ray.data.llm import build_processor, vLLMEngineProcessorConfig

    def ask(row):
        body = row["body"]
        return {"messages": body["messages"], "custom_id": row["custom_id"],
                "sampling_params": {"temperature": body["temperature"],
                                    "max_tokens": body["max_tokens"]}}

    def answer(row):
        full = row["num_generated_tokens"] >= row["sampling_params"]["max_tokens"]
        return {"key": row["custom_id"], "text": row["generated_text"],
                "finish": "length" if full else "stop",
                "tokens_in": row["num_input_tokens"], "tokens_out": row["num_generated_tokens"]}

    engine = vLLMEngineProcessorConfig(model_source=MODEL, concurrency=8, batch_size=256)
    calls = read_json("DIR/01-judge/", lines=True)
    build_processor(engine, preprocess=ask, postprocess=answer)(calls).write_parquet("answers")

and ``python -m rubriclab batch import STUDY.toml --store S answers``.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import pickle
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from rubriclab.judges import JUDGE_KINDS
from rubriclab.judges.addresses import addresses, read_key
from rubriclab.judges.client import ChatClient
from rubriclab.judges.keys import require_consent
from rubriclab.model import Call, Judge, LabError, Reply
from rubriclab.model.wording import many
from rubriclab.runs.answer_files import ANSWER_SCHEMA, BatchError, answer_row, answer_table, write_answers
from rubriclab.runs.answers import Imported, done_keys, import_answers, protocol_judges, standing, unasked
from rubriclab.runs.asking import Asker
from rubriclab.runs.pace import Pace
from rubriclab.store import Store
from rubriclab.study.plan import Plan

BATCH_SIZE = 256
"""Calls a worker takes at once: what a killed spread loses is that many calls a worker."""


def spread(
    store: Store,
    prepared: Plan,
    folder: Path,
    *,
    workers: int = 2,
    endpoints: Sequence[str] = (),
    address: str | None = None,
    batch_size: int = BATCH_SIZE,
    progress: Callable[[str], None] | None = None,
) -> Imported:
    """Ask every unanswered call on a Ray cluster and import the answers.

    ``folder``: where the answers are written, one Parquet file a batch; answers that an
    earlier spread left there are imported first and not asked again. ``endpoints`` stand in for
    the judge's own addresses. ``address``: a running cluster; None starts a local one of
    ``workers`` processors and stops it afterwards. A judge's ``concurrency``, ``rpm`` and
    ``tpm`` are shared out over the workers. A key is read by each worker from its own node's
    environment and never travels.

    Raises BatchError without Ray, without a judge that can be asked so, or with endpoints for
    several judges; LabError for settings that could never work.
    """
    judges = protocol_judges(prepared)
    _check_judges(store, prepared, judges, endpoints)
    ray, say = _ray(), progress or _say_nothing
    _keep_earlier(store, prepared, folder, say)
    done = done_keys(store, prepared)
    calls = (call for code in judges for call in unasked(prepared, code, done))
    first = next(calls, None)
    if first is None:
        say("Every call has its answer already: nothing to spread.")
        return standing(store, prepared)
    left = len(prepared) - len(done)
    size = _table_size(left, workers, batch_size)
    with _Cluster(ray, address, workers):
        tables = [ray.put(table) for table in _tables(chain([first], calls), size)]
        say(f"{many(left, 'call')} of {len(prepared):,}, {workers} workers.")
        _ask_all(ray, tables, _posts(prepared, judges, endpoints, workers), folder, workers)
    return import_answers(store, prepared, [folder])


def _keep_earlier(store: Store, prepared: Plan, folder: Path, say: Callable[[str], None]) -> None:
    """Make the folder, or keep the answers that an earlier spread left in it."""
    _make_folder(folder)
    if any(folder.glob("*.parquet")):
        known = import_answers(store, prepared, [folder])
        say(f"{many(known.kept, 'answer')} of an earlier spread taken in.")


def _check_judges(store: Store, prepared: Plan, judges: tuple[int, ...], endpoints: Sequence[str]) -> None:
    """Raises LabError for addresses, keys or consents with which no worker could ask."""
    if endpoints and len(judges) > 1:
        names = ", ".join(prepared.study.judges[code].name for code in judges)
        raise BatchError(
            f"--endpoint names servers of one judge's model, and this study has several: {names}. "
            "Give each judge its own base_urls in the study file instead."
        )
    for code in judges:
        read_key(prepared.study.judges[code])  # a missing key is said here, not by a worker
    require_consent(asked_judges(prepared, endpoints), store)


def asked_judges(prepared: Plan, endpoints: Sequence[str] = ()) -> tuple[Judge, ...]:
    """The judges that a spread asks, at the addresses it asks them at."""
    judges = (prepared.study.judges[code] for code in protocol_judges(prepared))
    return tuple(replace(judge, base_urls=tuple(endpoints) or judge.base_urls) for judge in judges)


@dataclass(frozen=True)
class Post:
    """A judge as one worker asks it: its share of the limits, and the servers."""

    judge: Judge
    code: int
    urls: tuple[str, ...]


def _posts(prepared: Plan, judges: tuple[int, ...], endpoints: Sequence[str], workers: int) -> tuple[Post, ...]:
    return tuple(
        Post(
            judge=_shared_out(prepared.study.judges[code], workers),
            code=code,
            urls=tuple(endpoints) or addresses(prepared.study.judges[code]),
        )
        for code in judges
    )


class Worker:
    """One worker: asks batches of calls, as many at once as the judge's pace allows."""

    def __init__(self, posts: Sequence[Post]) -> None:
        self._loop = asyncio.new_event_loop()
        self._posts = {post.code: post for post in posts}
        self._askers: dict[int, Asker] = {}
        self._hopeless: dict[int, Reply] = {}

    def __call__(self, batch: pa.Table) -> pa.Table:
        """A table of calls (key, call) to a table of answers, in the same order."""
        calls: list[Call] = [pickle.loads(raw) for raw in batch.column("call").to_pylist()]
        rows = self._loop.run_until_complete(self._answer(calls))
        return answer_table(rows)

    def close(self) -> None:
        """Close all connections."""
        for asker in self._askers.values():
            self._loop.run_until_complete(asker.asking.close())
        self._askers.clear()
        self._loop.close()

    async def _answer(self, calls: Sequence[Call]) -> list[Mapping[str, Any]]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(call)) for call in calls]
        return [answer_row(call.key, task.result()) for call, task in zip(calls, tasks, strict=True)]

    async def _one(self, call: Call) -> Reply:
        """The final reply of a call; once a fault met every call, that fault for all the rest."""
        reply = await self._asker(call.judge).ask(call)
        return self._hopeless[call.judge] if reply is None else reply

    def _asker(self, code: int) -> Asker:
        if code not in self._askers:
            post, stop = self._posts[code], asyncio.Event()

            def halt(_: str, reply: Reply) -> None:
                self._hopeless[code] = reply
                stop.set()

            client = ChatClient(post.judge, base_urls=post.urls)
            self._askers[code] = Asker(client, Pace(post.judge), stop, halt)
        return self._askers[code]


# ---------------------------------------------------------------- the calls as rows


def _table_size(left: int, workers: int, most: int) -> int:
    """Calls a table, which is one task of Ray's: enough tables that every worker has some."""
    return max(1, min(most, left // (4 * workers)))


def _tables(calls: Iterator[Call], size: int) -> Iterator[pa.Table]:
    """Calls as Arrow tables, in the plan's order, so that an item's calls stay together."""
    rows: list[dict[str, Any]] = []
    for call in calls:
        rows.append({"key": call.key, "call": pickle.dumps(call)})
        if len(rows) == size:
            yield pa.Table.from_pylist(rows, schema=_CALL_SCHEMA)
            rows = []
    if rows:
        yield pa.Table.from_pylist(rows, schema=_CALL_SCHEMA)


_CALL_SCHEMA = pa.schema([("key", pa.string()), ("call", pa.binary())])


def _shared_out(judge: Judge, workers: int) -> Judge:
    """The judge with one worker's share of what all may do together, at least 1 of each."""

    def share(limit: int | None) -> int | None:
        return None if limit is None else max(1, limit // workers)

    together = judge.concurrency or JUDGE_KINDS[judge.kind].concurrency
    return replace(judge, concurrency=share(together), rpm=share(judge.rpm), tpm=share(judge.tpm))


# ---------------------------------------------------------------- Ray


def _ray() -> Any:
    """Ray, if it is installed; typed Any, so that types do not depend on an optional extra."""
    try:
        ray = importlib.import_module("ray")
        importlib.import_module("ray.data")
    except ImportError as error:
        raise BatchError(
            f'Ray Data is not installed ({error}). Install it with: pip install "rubriclab[ray]", '
            'or pip install "ray[data]".'
        ) from error
    return ray


class _Cluster:
    """A running cluster to join, or a local one that ends with the spread."""

    def __init__(self, ray: Any, address: str | None, workers: int) -> None:
        self._ray, self._address, self._workers = ray, address, workers
        self._ours = False

    def __enter__(self) -> None:
        if self._ray.is_initialized():
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        quiet: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        # The lab itself on the workers of this machine, wherever it was started from.
        where = {"env_vars": {"PYTHONPATH": _python_path()}} if self._address is None else {}
        if self._address is None:
            self._ray.init(
                num_cpus=self._workers,
                include_dashboard=False,
                _node_ip_address="127.0.0.1",
                runtime_env=where,
                **quiet,
            )
        else:
            self._ray.init(address=self._address, **quiet)
        self._ours = True

    def __exit__(self, *error: object) -> None:
        if self._ours:
            self._ray.shutdown()


def _python_path() -> str:
    home = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])


def _ask_all(ray: Any, tables: Sequence[Any], posts: Sequence[Post], folder: Path, workers: int) -> None:
    """Every call once through the workers; each batch of answers becomes one file at once."""
    ray.data.DataContext.get_current().enable_progress_bars = False
    asked = ray.data.from_arrow_refs(list(tables)).map_batches(
        Worker,
        fn_constructor_args=(tuple(posts),),
        batch_size=None,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=1,
    )
    name = uuid.uuid4().hex[:8]
    batches = asked.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
    try:
        for number, batch in enumerate(batches):
            file = folder / f"{name}-{number:06}.parquet"
            write_answers(file, batch.select(ANSWER_SCHEMA.names))
    except ray.exceptions.RayError as error:
        reason = _reason(str(error))
        raise BatchError(
            f"The cluster gave up: {reason} What was answered until then is in {folder}; the same "
            "command takes it in and goes on."
        ) from error


def _reason(report: str) -> str:
    """The line of Ray's report that names the fault: the last one of an exception not Ray's own."""
    lines = report.strip().splitlines()
    named = [line.strip() for line in lines if re.match(r"\s*(?!ray\.)[\w.]*(Error|Exception): ", line)]
    return (named or lines or ["no reason given"])[-1].rstrip(".") + "."


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"{folder} cannot be written: {error.strerror}.") from error


def _say_nothing(text: str) -> None:
    del text
