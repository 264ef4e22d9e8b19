"""The same calls by different clients, each in a process of its own: one line of JSON each.

``python -m benchmarks.contenders NAME --url URL --calls N --concurrency C`` with NAME
one of rubriclab, aiohttp, openai. CPU is that of this process between first and last call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.server import MODEL
from rubriclab.model import (
    Call,
    Criterion,
    Dataset,
    Design,
    Item,
    Judge,
    LabError,
    Rubric,
    ScoreOption,
    Strategy,
    Study,
)
from rubriclab.study.plan import plan

READS = 20


@dataclass(frozen=True)
class Measured:
    """What one client did: calls per second of wall time, processor milliseconds a call."""

    name: str
    calls: int
    seconds: float
    cpu_ms: float
    note: str = ""

    @property
    def rate(self) -> float:
        return self.calls / self.seconds


def bench_study(url: str, calls: int, concurrency: int) -> Study:
    """Items of about 200 words, ten balanced and ten fixed reads each, at least ``calls`` in all."""
    words = "the answer explains how the tide follows the moon and why it comes twice a day "
    options = tuple(ScoreOption(s, f"level {s} of five, described in a few words") for s in range(1, 6))
    items = tuple(
        Item(item_id=f"item {i}", instruction=f"Question {i}: explain the tides.", response=f"{i}: " + words * 12)
        for i in range(-(-calls // READS))
    )
    return Study(
        name="bench",
        dataset=Dataset("bench", items),
        judges=(Judge("bench", "openai", MODEL, (url,), concurrency=concurrency),),
        rubric=Rubric("bench", (Criterion("quality", options),)),
        design=Design(strategies=(Strategy("balanced"), Strategy("fixed"))),
    )


def by_rubriclab(url: str, calls: int, concurrency: int) -> Measured:
    """The whole way: planning, rendering, asking, parsing, and every row in a store on disk."""
    import rubriclab.judges.client  # noqa: F401  # importing is not asking
    from rubriclab.runs.runner import Run
    from rubriclab.store import Store

    study = bench_study(url, calls, concurrency)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "bench.duckdb") as store:
        started, cpu = time.perf_counter(), time.process_time()
        run = Run(store, plan(study))
        ended = run.start().wait()
        seconds, spent = time.perf_counter() - started, time.process_time() - cpu
        stored = store.outcome_counts(ended.run)["ok"]
    if ended.state != "finished" or stored != ended.planned:
        raise LabError(f"{stored} of {ended.planned} calls were stored ({ended.state}: {ended.reason})")
    note = f"plan, prompts, parsing and store included; {stored:,} rows stored"
    return Measured("rubriclab", stored, seconds, spent / stored * 1e3, note)


def by_aiohttp(url: str, calls: int, concurrency: int) -> Measured:
    """The least a Python client can do: post bytes, decode JSON."""
    import aiohttp

    async def work() -> Measured:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:

            async def ask(body: dict[str, object]) -> None:
                async with session.post(f"{url}/chat/completions", json=body) as response:
                    json.loads(await response.read())["choices"][0]

            return await _timed("aiohttp", ask, _bodies(url, calls), concurrency)

    return asyncio.run(work())


def by_openai(url: str, calls: int, concurrency: int) -> Measured:
    """The openai library as users configure it."""
    import openai

    async def work() -> Measured:
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

            async def ask(body: dict[str, object]) -> None:
                await client.chat.completions.create(**body)  # type: ignore[call-overload]

            return await _timed("openai", ask, _bodies(url, calls), concurrency)

    return asyncio.run(work())


CONTENDERS: dict[str, Callable[[str, int, int], Measured]] = {
    "rubriclab": by_rubriclab,
    "aiohttp": by_aiohttp,
    "openai": by_openai,
}


def _bodies(url: str, calls: int) -> list[dict[str, object]]:
    """The lab's own prompts, made before the clock starts."""

    def body(call: Call) -> dict[str, object]:
        return {
            "model": MODEL,
            "messages": list(call.messages),
            "temperature": 0.0,
            "max_tokens": 16,
            "logprobs": True,
            "top_logprobs": 20,
        }

    return [body(call) for call in plan(bench_study(url, calls, 1)).calls()][:calls]


async def _timed(
    name: str,
    ask: Callable[[dict[str, object]], Awaitable[None]],
    bodies: Sequence[dict[str, object]],
    concurrency: int,
) -> Measured:
    waiting = iter(bodies)

    async def work() -> None:
        for body in waiting:
            await ask(body)

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(work() for _ in range(concurrency)))
    seconds, spent = time.perf_counter() - started, time.process_time() - cpu
    return Measured(name, len(bodies), seconds, spent / len(bodies) * 1e3, "asking only")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contenders", description=__doc__)
    parser.add_argument("name", choices=tuple(CONTENDERS))
    parser.add_argument("--url", required=True)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=64)
    options = parser.parse_args()
    os.environ["NO_PROXY"] = "127.0.0.1"
    found = CONTENDERS[options.name](options.url, options.calls, options.concurrency)
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
