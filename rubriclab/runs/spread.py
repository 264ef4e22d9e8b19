"""A study over a Ray cluster: many workers ask the same calls, Parquet comes back.

A crew of Ray actors gets the unanswered calls part by part. Each worker asks through the lab's own
client and pace, so requests, faults and retries are those of a local run; all calls of an item
go to one server, whichever worker holds them. An answer counts once a keeper beside this process
has written it into the folder, and its place at the worker is free only then: of a node that is
lost, no more calls are asked again than it had places for. What is in the folder is imported by
``answers.import_answers``: a spread that was killed goes on where it was.

Ray's own HTTP processor (``ray.data.llm.HttpRequestProcessorConfig``) is not used. It sends the
requests of a batch one after another, knows one address, hands an error's body on as if it were
an answer, and fails the whole job at the first request whose retries are used up.

docs/serving.md has both ways to GPU nodes: one server a node, and Ray's vLLM engine without any.
"""

from __future__ import annotations

import importlib
import os
import pickle
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from rubriclab.judges import JUDGE_KINDS
from rubriclab.judges.addresses import addresses, read_key
from rubriclab.judges.keys import require_consent
from rubriclab.model import Call, Judge, LabError
from rubriclab.model.wording import many
from rubriclab.runs.answer_files import BatchError
from rubriclab.runs.answers import Imported, done_keys, import_answers, protocol_judges, standing, unasked
from rubriclab.runs.crew import HELD, Crew, Part, given_up
from rubriclab.runs.keeping import Keeper, whole_parts
from rubriclab.runs.worker import Hired, Post
from rubriclab.store import Store
from rubriclab.study.plan import Plan

BATCH_SIZE = 256
"""Calls a worker is given at a time, at most; a worker holds two such parts."""


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

    ``folder``: where the answers are written as they come, then as Parquet; answers that an
    earlier spread left there are imported first and not asked again. ``endpoints`` stand in for
    the judge's own addresses. ``address``: a running cluster; None starts a local one of
    ``workers`` processors and stops it afterwards. A judge's ``concurrency``, ``rpm`` and
    ``tpm`` are shared out over the workers. A key is read by each worker from its own node's
    environment and never travels. A worker whose node is lost is replaced, and what it had not
    handed in is asked by the others.

    Raises BatchError without Ray, without a judge that can be asked so, or with endpoints for
    several judges; LabError for settings that could never work.
    """
    judges = protocol_judges(prepared)
    _check_judges(store, prepared, judges, endpoints)
    ray, say = _ray(address), progress or _say_nothing
    _keep_earlier(store, prepared, folder, say)
    done = done_keys(store, prepared)
    calls = (call for code in judges for call in unasked(prepared, code, done))
    first = next(calls, None)
    if first is None:
        say("Every call has its answer already: nothing to spread.")
        return standing(store, prepared)
    left = len(prepared) - len(done)
    parts = _parts(chain([first], calls), _part_size(left, workers, batch_size))
    with _Cluster(ray, address, workers):
        say(f"{many(left, 'call')} of {len(prepared):,}, {many(workers, 'worker')}.")
        _ask_all(ray, parts, _posts(prepared, judges, endpoints, workers), folder, workers=workers, say=say)
    return import_answers(store, prepared, [folder])


def _keep_earlier(store: Store, prepared: Plan, folder: Path, say: Callable[[str], None]) -> None:
    """Make the folder, or keep the answers that an earlier spread left in it."""
    _make_folder(folder)
    whole_parts(folder)
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


def _posts(prepared: Plan, judges: tuple[int, ...], endpoints: Sequence[str], workers: int) -> tuple[Post, ...]:
    return tuple(
        Post(
            judge=_shared_out(prepared.study.judges[code], workers),
            code=code,
            urls=tuple(endpoints) or addresses(prepared.study.judges[code]),
        )
        for code in judges
    )


# ---------------------------------------------------------------- the calls as rows


def _part_size(left: int, workers: int, most: int) -> int:
    """Calls a part: enough parts that every worker has some."""
    return max(1, min(most, left // (4 * workers)))


def _parts(calls: Iterator[Call], size: int) -> Iterator[Part]:
    """Calls in parts, in the plan's order, so that an item's calls stay together."""
    for number, some in enumerate(iter(lambda: list(islice(calls, size)), [])):
        yield Part(number, [(call.key, pickle.dumps(call)) for call in some])


def _shared_out(judge: Judge, workers: int) -> Judge:
    """The judge with one worker's share of what all may do together, at least 1 of each."""

    def share(limit: int | None) -> int | None:
        return None if limit is None else max(1, limit // workers)

    together = judge.concurrency or JUDGE_KINDS[judge.kind].concurrency
    return replace(judge, concurrency=share(together), rpm=share(judge.rpm), tpm=share(judge.tpm))


# ---------------------------------------------------------------- Ray


def _ray(address: str | None) -> Any:
    """Ray, if it is installed; typed Any, so that types do not depend on an optional extra."""
    if (address or "").startswith("ray://"):
        raise BatchError(
            f"--address {address} is Ray's remote client: answers would be written on the cluster's side. "
            "Run the command on a machine of the cluster, with “auto” or HOST:PORT."
        )
    try:
        ray = importlib.import_module("ray")
    except ImportError as error:
        raise BatchError(
            f'Ray is not installed ({error}). Install it with: pip install "rubriclab[ray]", '
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
        # Ray's own 15 would have the workers of a local cluster wait for all else that runs here.
        os.environ.setdefault("RAY_worker_niceness", "0")
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


def _ask_all(
    ray: Any, parts: Iterator[Part], posts: Sequence[Post], folder: Path, *, workers: int, say: Callable[[str], None]
) -> None:
    """Every call once through the workers; each answer is in the folder as soon as it is known."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # A lost worker is replaced by the crew, which knows what is answered; Ray would ask it all again.
    once = {"max_restarts": 0, "max_task_retries": 0}
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    kept_here = ray.remote(Keeper).options(num_cpus=0, scheduling_strategy=here, **once)
    keeper = kept_here.remote(str(folder.resolve()), uuid.uuid4().hex[:8])
    hired = ray.remote(Hired).options(num_cpus=1, max_concurrency=HELD + 1, **once)
    crew = Crew(
        ray,
        hire=lambda: hired.remote(tuple(posts), keeper),
        taken=lambda part: ray.get(keeper.taken.remote(part)),
        workers=workers,
        say=say,
    )
    try:
        crew.work(parts)
        ray.get(keeper.close.remote())
    except ray.exceptions.RayError as error:
        raise given_up(str(error), folder) from error


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(f"{folder} cannot be written: {error.strerror}.") from error


def _say_nothing(text: str) -> None:
    del text
