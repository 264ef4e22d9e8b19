"""One server, the same calls, several clients one after the other, each in its own process.

Calls per second and processor time are told against a bare aiohttp of the same run. A short run beside
the long one shows what a run costs however many calls it has: the store opened, the run planned, threads.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.contenders import CONTENDERS, READS, Measured
from benchmarks.peers import PEERS, measure_peer
from benchmarks.server import served
from rubriclab.model import LabError

RATE_OF_AIOHTTP, CPU_OF_AIOHTTP = 0.9, 2.0
"""Calls per second the lab must reach, and processor time a call it may take, as shares of bare aiohttp's."""
RATE_BARS = {"lm-eval": 1.0, "inspect-ai": 10.0, "deepeval": 10.0}
"""How many times a peer's calls per second the lab must reach."""
SHORT = 5
"""The short run has so many times fewer calls; the openai library and the peers, far slower, are asked no more."""


def compare(*, calls: int, concurrency: int, latency_ms: float, rounds: int, peers: Path | None) -> list[Measured]:
    """The best of all rounds of every client, told on stderr as it goes; rounds go round all clients, so that all
    meet one machine. The best calls per second and the least processor time may be of two rounds."""
    best: dict[tuple[str, int], Measured] = {}
    with served(latency_ms) as url:
        for number in range(max(1, rounds)):
            for name, asked in _contests(calls):
                measured = _in_process(name, url, asked, concurrency)
                _tell(number, rounds, measured)
                _keep_best(best, measured)
            for name in PEERS if peers is not None else ():
                # The slow ones take a minute a round and are ten times away from their bar.
                if peers is not None and (number == 0 or name == "lm-eval"):
                    measured = measure_peer(name, peers, url, max(1, calls // SHORT), concurrency)
                    _tell(number, rounds, measured)
                    _keep_best(best, measured)
    return list(best.values())


def _contests(calls: int) -> Iterator[tuple[str, int]]:
    """Clients and how many calls each is asked; the lab and aiohttp next to each other, both short and long."""
    for asked in (calls, max(1, calls // SHORT)):
        yield from ((name, asked) for name in ("aiohttp", "rubriclab"))
    yield from ((name, max(1, calls // SHORT)) for name in CONTENDERS if name not in ("aiohttp", "rubriclab"))
    yield "rubriclab", READS


def _tell(number: int, rounds: int, measured: Measured) -> None:
    cpu = f"{measured.cpu_ms:6.2f} ms CPU a call" if measured.cpu_ms > 0 else ""
    said = f"{measured.name:<11}{measured.calls:>7,} calls{measured.rate:8.0f} a second {cpu}"
    print(f"round {number + 1} of {max(1, rounds)}  {said}", file=sys.stderr, flush=True)


def verdicts(found: Sequence[Measured]) -> dict[str, bool]:
    """Each bar in words, and whether it is met; bars of clients that were not measured are left out.

    Of a client that was asked more and fewer calls the longer run counts.
    """
    by_name = _longest(found)
    lab, bars = by_name["rubriclab"], {}
    if bare := by_name.get("aiohttp"):
        rate, cpu = lab.rate / bare.rate, lab.cpu_ms / bare.cpu_ms
        bars[f"{rate:.2f} times the calls per second of aiohttp, at least {RATE_OF_AIOHTTP:g}"] = (
            rate >= RATE_OF_AIOHTTP
        )
        bars[f"{cpu:.2f} times the processor time a call of aiohttp, at most {CPU_OF_AIOHTTP:g}"] = (
            cpu <= CPU_OF_AIOHTTP
        )
    for name, times in RATE_BARS.items():
        if name in by_name:
            ratio = lab.rate / by_name[name].rate
            bars[f"{ratio:.2f} times the calls per second of {name}, at least {times:g}"] = ratio >= times
    return bars


def _longest(found: Sequence[Measured]) -> dict[str, Measured]:
    return {measured.name: measured for measured in sorted(found, key=lambda m: m.calls)}


def fixed_cost(found: Sequence[Measured]) -> str:
    """What a run of hardly any calls takes, in words: what every run of the lab takes beside its calls."""
    least = min((m for m in found if m.name == "rubriclab"), key=lambda m: m.calls)
    return (
        f"a run of {least.calls} calls takes the lab {least.seconds:.2f} s, "
        f"{least.cpu_ms * least.calls / 1e3:.2f} s on the processor: what every run takes beside its calls"
    )


def table(found: Sequence[Measured], *, ceiling: float) -> str:
    """The clients as text, the longest runs first, then the fastest; ``ceiling`` is what concurrency and latency
    allow. Each stands beside the lab's run of as many calls, else its longest."""
    labs = {measured.calls: measured for measured in found if measured.name == "rubriclab"}
    lines = [f"{'client':<12}{'calls':>8}{'calls/s':>9}{'CPU ms':>9}{'lab is':>10}{'lab CPU':>10}   what is in it"]
    for measured in sorted((m for m in found if m.calls > READS), key=lambda m: (-m.calls, -m.rate)):
        lab = labs.get(measured.calls) or labs[max(labs)]
        cpu = f"{measured.cpu_ms:9.2f}" if measured.cpu_ms > 0 else f"{'':>9}"
        times = f"{lab.cpu_ms / measured.cpu_ms:9.2f}x" if measured.cpu_ms > 0 else f"{'':>10}"
        lines.append(
            f"{measured.name:<12}{measured.calls:8,}{measured.rate:9.0f}{cpu}"
            f"{lab.rate / measured.rate:9.2f}x{times}   {measured.note}"
        )
    lines.append(f"{'ceiling':<20}{ceiling:9.0f}{'':>29}   concurrency / latency")
    return "\n".join(lines)


def _keep_best(best: dict[tuple[str, int], Measured], measured: Measured) -> None:
    known = best.setdefault((measured.name, measured.calls), measured)
    fastest = max(known, measured, key=lambda m: m.rate)
    best[measured.name, measured.calls] = replace(fastest, cpu_ms=min(known.cpu_ms, measured.cpu_ms))


def _in_process(name: str, url: str, calls: int, concurrency: int) -> Measured:
    command = [
        sys.executable,
        "-m",
        "benchmarks.contenders",
        name,
        "--url",
        url,
        "--calls",
        str(calls),
        "--concurrency",
        str(concurrency),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LabError(f"The client {name} failed: {done.stderr.strip()[-500:]}")
    return Measured(**json.loads(done.stdout))
