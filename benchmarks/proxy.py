"""What the proxy costs beyond its k calls: the same calls sent by a pipeline itself and through it, in turn.

Two pipelines in processes of their own, both bare aiohttp, each with the same items under way: one makes the ten orders
of every item itself and sends them at once, the other sends the item to the proxy. The upstream answers after a fixed
time. Rounds change places, so that both meet one machine; the best round of each counts, since others on the machine
can only slow one down. Processor time is counted of the processes in question alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import aiohttp

from benchmarks.server import MODEL, served
from rubriclab.model import LabError
from rubriclab.study.proxied_request import Orders, in_orders

BAR = 0.05
WORDS = "the answer explains how the tide follows the moon and why it comes twice a day "
SCALE = ("No use at all.", "Of little use.", "Of some use.", "Useful.", "All one could wish for.")


def bodies(items: int, *, logprobs: bool) -> list[bytes]:
    """A pipeline's requests: a judge prompt of some 250 words with five options."""
    options = "\n".join(f"Score {score}: {words}" for score, words in enumerate(SCALE, start=1))
    return [
        json.dumps(
            {
                "model": MODEL,
                "messages": [
                    {"role": "system", "content": "You are a strict judge."},
                    {
                        "role": "user",
                        "content": f"Question: explain the tides, {k}.\n\nAnswer: {k}: {WORDS * 12}\n\nScores:\n{options}"
                        "\n\nReply with the score only.",
                    },
                ],
                "temperature": 0,
                "max_tokens": 5,
                **({"logprobs": True, "top_logprobs": 20} if logprobs else {}),
            }
        ).encode()
        for k in range(items)
    ]


@dataclass(frozen=True)
class Went:
    """One pipeline's run: items and calls upstream, wall time, processor time of its own and of the proxy."""

    items: int
    calls: int
    seconds: float
    cpu: float
    proxy_cpu: float = 0.0

    @property
    def rate(self) -> float:
        return self.items / self.seconds


@dataclass(frozen=True)
class Compared:
    """All rounds. ``loss``: of items per second, beyond the k calls; milliseconds of processor time a call upstream."""

    orders: int
    direct: tuple[Went, ...]
    proxied: tuple[Went, ...]

    @property
    def loss(self) -> float:
        return 1 - max(one.rate for one in self.proxied) / max(one.rate for one in self.direct)

    @property
    def usual_loss(self) -> float:
        """The median over rounds, with all that others on the machine took."""
        ratios = [b.rate / a.rate for a, b in zip(self.direct, self.proxied, strict=True)]
        return 1 - statistics.median(ratios)

    @property
    def cpu_direct(self) -> float:
        return statistics.median(1e3 * one.cpu / one.calls for one in self.direct)

    @property
    def cpu_pipeline(self) -> float:
        return statistics.median(1e3 * one.cpu / one.calls for one in self.proxied)

    @property
    def cpu_proxy(self) -> float:
        return statistics.median(1e3 * one.proxy_cpu / one.calls for one in self.proxied)


# ---------------------------------------------------------------- the pipelines, each in a process


def pipeline(url: str, *, items: int, at_once: int, logprobs: bool, orders: bool, apart: float = 0.0) -> Went:
    """Send all items; ``orders``: ten calls an item, made here. The prompts are made before the clock starts.

    ``apart``: seconds between the first items, since a pipeline's calls do not all end at one moment.
    """
    plain = bodies(items, logprobs=logprobs)
    work = [_all_orders(body) if orders else [body] for body in plain]
    return asyncio.run(_sent(url, work, at_once, apart))


def _all_orders(body: bytes) -> list[bytes]:
    asked = in_orders(body)
    if not isinstance(asked, Orders):
        raise LabError(f"The bench's prompt is not understood: {asked.why}.")
    return [asked.asked(order) for order in asked.orders]


async def _sent(url: str, work: Sequence[Sequence[bytes]], at_once: int, apart: float) -> Went:
    waiting = iter(work)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def ask(body: bytes) -> None:
            headers = {"Content-Type": "application/json", "Authorization": "Bearer none"}
            async with session.post(f"{url}/chat/completions", data=body, headers=headers) as response:
                if response.status != 200:
                    raise LabError(f"The bench's server answered {response.status}.")
                json.loads(await response.read())["choices"][0]

        async def worker(number: int) -> None:
            await asyncio.sleep(number * apart)
            for item in waiting:
                await asyncio.gather(*map(ask, item))

        await asyncio.gather(*map(ask, work[0]))  # connections are opened, modules imported
        started, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(worker(number) for number in range(at_once)))
        seconds, spent = time.perf_counter() - started, time.process_time() - cpu
    return Went(len(work), sum(map(len, work)), seconds, spent)


def _in_process(url: str, options: argparse.Namespace, *, orders: bool) -> Went:
    command = [sys.executable, "-m", "benchmarks.proxy", "--pipeline", url, *(["--make-orders"] if orders else [])]
    command += ["--items", str(options.items), "--at-once", str(options.at_once)]
    command += ["--latency-ms", str(options.latency_ms)]
    done = subprocess.run(
        [*command, *(["--logprobs"] if options.logprobs else [])], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise LabError(f"The bench's pipeline failed: {done.stderr.strip()[-500:]}")
    return Went(**json.loads(done.stdout))


@contextmanager
def proxied(upstream: str) -> Iterator[str]:
    """The base URL of a proxy in a process of its own, which ends with the block."""
    command = [sys.executable, "-m", "rubriclab", "proxy", "--upstream", upstream, "--port", "0", "--json"]
    with subprocess.Popen([*command, "--concurrency", "512"], stdout=subprocess.PIPE, text=True) as process:
        try:
            if process.stdout is None:
                raise OSError("The proxy has no output to read its address from.")
            yield json.loads(process.stdout.readline())["base_url"]
        finally:
            process.terminate()
            process.wait(10)


def _status(url: str) -> dict[str, Any]:
    async def read() -> dict[str, Any]:
        async with aiohttp.ClientSession() as session, session.get(f"{url[:-3]}/rubriclab/status") as response:
            return dict(await response.json())

    return asyncio.run(read())


# ---------------------------------------------------------------- beside each other


def compare(options: argparse.Namespace) -> Compared:
    """Rounds in which both pipelines take turns at going first."""
    direct, through = [], []
    with served(options.latency_ms, text="3") as upstream, proxied(upstream) as url:
        for number in range(options.rounds):
            for via in (False, True) if number % 2 == 0 else (True, False):
                if not via:
                    direct.append(_in_process(upstream, options, orders=True))
                    continue
                before = _status(url)
                went = _in_process(url, options, orders=False)
                after = _status(url)
                calls = after["calls_upstream"] - before["calls_upstream"]
                cpu = after["cpu_seconds"] - before["cpu_seconds"]
                through.append(Went(went.items, calls, went.seconds, went.cpu, cpu))
            if not options.json:
                a, b = direct[-1], through[-1]
                print(
                    f"round {number + 1} of {options.rounds}: {a.rate:.1f} items/s by itself, {b.rate:.1f} through the "
                    f"proxy ({b.rate / a.rate:.3f} times)",
                    flush=True,
                )
    return Compared(direct[0].calls // direct[0].items, tuple(direct), tuple(through))


def sentence(found: Compared, options: argparse.Namespace) -> str:
    return (
        f"{found.orders} calls an item, {options.at_once} items at once, {options.latency_ms:g} ms a call: "
        f"{100 * found.loss:.1f} % of the items per second lost beyond the calls, at most {100 * BAR:g} % (best "
        f"rounds; median of the rounds {100 * found.usual_loss:.1f} %).\n"
        f"Processor time a call: {found.cpu_direct:.2f} ms in a pipeline that sends all itself; through the proxy "
        f"{found.cpu_pipeline:.2f} ms in the pipeline and {found.cpu_proxy:.2f} ms in the proxy."
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks proxy", description=__doc__)
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--at-once", type=int, default=4, help="items under way")
    parser.add_argument("--latency-ms", type=float, default=200.0, help="of the local server")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--logprobs", action="store_true", help="the pipeline asks for token probabilities")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pipeline", metavar="URL", help=argparse.SUPPRESS)
    parser.add_argument("--make-orders", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.pipeline:
        went = pipeline(
            options.pipeline,
            items=options.items,
            at_once=options.at_once,
            logprobs=options.logprobs,
            orders=options.make_orders,
            apart=options.latency_ms / 1e3 / options.at_once,
        )
        print(json.dumps(asdict(went)))
        return 0
    found = compare(options)
    met = found.loss < BAR
    if options.json:
        cpu = {"direct": found.cpu_direct, "pipeline": found.cpu_pipeline, "proxy": found.cpu_proxy}
        print(
            json.dumps({**asdict(found), "loss": found.loss, "usual_loss": found.usual_loss, "cpu_ms": cpu, "met": met})
        )
    else:
        print(f"{sentence(found, options)}\n{'met   ' if met else 'MISSED'}  loss below {100 * BAR:g} %")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
