"""How fast the embedded judge is asked, against what its own reading speed allows.

A call has to read the tokens of its prompt that the call before did not share, at least one: all else lies in
the slot's memory. How many these are, and how fast the bare engine reads a whole prompt that shares nothing, is
what a run could reach if nothing else took time. Rounds of three go in turns, and the best of each counts: the
bare engine, the same calls straight to the server (which says what it spent them on), and a run of the lab.

The engine runs in this process, so that its processor time is known too: that share is told beside the clock's,
since on a machine that does other things the clock says little. Reading keeps two cores busy and writing one.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from benchmarks.contenders import READS, bench_study
from rubriclab.judges.embedded import TOP_LOGPROBS, EmbeddedServer, start_embedded
from rubriclab.judges.request import request_body
from rubriclab.model import Call, Judge, LabError, Study
from rubriclab.runs.runner import Run
from rubriclab.store import Store
from rubriclab.study.plan import plan

BAR = 0.85
"""Calls per second the lab must reach, as a share of what the reading speed allows."""


@dataclass(frozen=True)
class Straight:
    """The calls sent straight to the server: seconds in all, and what the server says it spent them on."""

    seconds: float
    cpu: float
    reading: float
    writing: float
    read: int
    written: int


@dataclass(frozen=True)
class Found:
    """``changed``: tokens in all that a call did not share with the one before; ``speed``: tokens per second that
    the bare engine reads, ``token_cpu`` the processor seconds of one; ``seconds`` and ``cpu`` of a run of the lab."""

    model: str
    calls: int
    tokens: int
    changed: int
    speed: float
    token_cpu: float
    straight: Straight
    seconds: float
    cpu: float

    @property
    def allowed(self) -> float:
        """Calls per second."""
        return self.calls * self.speed / self.changed

    @property
    def rate(self) -> float:
        return self.calls / self.seconds

    @property
    def share(self) -> float:
        return self.rate / self.allowed

    @property
    def cpu_share(self) -> float:
        """The processor time that reading what changed takes, as a share of all that a run takes."""
        return self.changed * self.token_cpu / self.cpu


def measure(model: str, *, items: int, rounds: int) -> Found:
    """Raises LabError where the model cannot be had or a call fails."""
    study = _study(model, items)
    calls = list(plan(study).calls())
    server = start_embedded(study.judges[0])
    try:
        engine = Engine(server)
        prompts = [engine.tokens(call) for call in calls]
        bare, straights, runs = [], [], []
        for number in range(max(1, rounds)):
            # Each begins with nothing in the slot that it could share.
            bare.append(engine.reading_speed(prompts[0]))
            straights.append(engine.straight(study.judges[0], calls))
            bare.append(engine.reading_speed(prompts[0]))
            runs.append(_run(study))
            _tell(number, rounds, len(calls), bare[-1][0], straights[-1], runs[-1][0])
    finally:
        server.close()
    changed = changed_tokens(prompts)
    straight = min(straights, key=lambda s: s.seconds)
    if abs(straight.read - changed) > 0.02 * changed:
        raise LabError(
            f"The server read {straight.read:,} tokens where {changed:,} changed between the calls: its prefix "
            "cache does not hold what it should."
        )
    return Found(
        model=model,
        calls=len(calls),
        tokens=sum(map(len, prompts)),
        changed=changed,
        speed=max(speed for speed, _ in bare),
        token_cpu=min(cpu for _, cpu in bare),
        straight=straight,
        seconds=min(seconds for seconds, _ in runs),
        cpu=min(cpu for _, cpu in runs),
    )


def changed_tokens(prompts: Sequence[Sequence[int]]) -> int:
    """Tokens that a slot which holds the prompt before has to read; the last one of a prompt is always read."""
    before: Sequence[int] = ()
    changed = 0
    for tokens in prompts:
        shared = next((i for i, (a, b) in enumerate(zip(before, tokens, strict=False)) if a != b), None)
        shared = min(len(before), len(tokens)) if shared is None else shared
        changed += max(1, len(tokens) - shared)
        before = tokens
    return changed


def table(found: Found) -> str:
    """What was measured, and what a call of the lab takes its time for, in milliseconds."""
    straight, calls = found.straight, found.calls
    least = found.changed / found.speed
    parts = {
        "reading what changed, at the bare engine's speed": least,
        "more, because it is read in small pieces": straight.reading - least,
        f"writing {straight.written / calls:.1f} tokens of answer": straight.writing,
        "the server beside: tokenising, alternatives, HTTP": straight.seconds - straight.reading - straight.writing,
        "the lab: start and end of the run, client, store": found.seconds - straight.seconds,
    }
    lines = [
        f"{found.model}: {calls} calls, {found.tokens:,} tokens of prompts, of which {found.changed:,} changed "
        f"({found.changed / calls:.1f} a call)",
        f"bare engine {found.speed:9.1f} tokens/s, which allows {found.allowed:.2f} calls/s",
        f"straight    {calls / straight.seconds:9.2f} calls/s   {calls / straight.seconds / found.allowed:.2f}",
        f"the lab     {found.rate:9.2f} calls/s   {found.share:.2f}   ({found.cpu_share:.2f} by processor time)",
        "",
        f"{'of a call of the lab':<52}{'ms':>8}{'share':>8}",
        *(f"{name:<52}{s / calls * 1e3:8.1f}{s / found.seconds:8.2f}" for name, s in parts.items()),
        "",
        f"{'met   ' if found.share >= BAR else 'MISSED'}  {found.share:.2f} of what the reading speed allows, "
        f"at least {BAR:g}",
    ]
    return "\n".join(lines)


class Engine:
    """The running server, asked without the lab's client."""

    def __init__(self, server: EmbeddedServer) -> None:
        self._root = server.url.removesuffix("/v1")
        self._headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
        self._opener = build_opener(ProxyHandler({}))

    def tokens(self, call: Call) -> list[int]:
        """The tokens of a call's prompt as the server makes them."""
        prompt = self._post("/apply-template", {"messages": list(call.messages)})["prompt"]
        body = {"content": prompt, "add_special": True, "parse_special": True}
        return [int(token) for token in self._post("/tokenize", body)["tokens"]]

    def reading_speed(self, tokens: Sequence[int]) -> tuple[float, float]:
        """(Tokens per second, processor seconds a token) of a prompt that shares nothing with the one before:
        ``tokens`` from the back."""
        body = {"prompt": list(reversed(tokens)), "n_predict": 1, "cache_prompt": False}
        started = time.process_time()
        speed = self._post("/completion", body)["timings"]["prompt_per_second"]
        return float(speed), (time.process_time() - started) / len(tokens)

    def straight(self, judge: Judge, calls: Sequence[Call]) -> Straight:
        """One call after the other, with what the lab's client would post."""
        started, cpu, spent = time.perf_counter(), time.process_time(), []
        for call in calls:
            body = request_body(judge, call, top_logprobs=TOP_LOGPROBS)
            spent.append(self._post("/v1/chat/completions", body)["timings"])
        seconds = time.perf_counter() - started
        total = {name: sum(one[name] for one in spent) for name in spent[0]}
        return Straight(
            seconds,
            time.process_time() - cpu,
            total["prompt_ms"] / 1e3,
            total["predicted_ms"] / 1e3,
            int(total["prompt_n"]),
            int(total["predicted_n"]),
        )

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        request = Request(self._root + path, json.dumps(body).encode(), self._headers)
        try:
            with self._opener.open(request) as answer:
                return json.loads(answer.read())
        except (OSError, ValueError) as error:
            raise LabError(f"The embedded server did not answer {path}: {error}") from error


def _study(model: str, items: int) -> Study:
    return replace(
        bench_study("http://127.0.0.1:1/v1", items * READS, 1), judges=(Judge("embedded", "embedded", model),)
    )


def _run(study: Study) -> tuple[float, float]:
    """Seconds and processor seconds of a run of the lab."""
    with Store(":memory:") as store:
        started, cpu = time.perf_counter(), time.process_time()
        ended = Run(store, plan(study)).start().wait()
        seconds, spent = time.perf_counter() - started, time.process_time() - cpu
    if ended.state != "finished" or ended.counts["error"]:
        raise LabError(f"{ended.done} of {ended.planned} calls came back ({ended.state}): {ended.reason}")
    return seconds, spent


def _tell(number: int, rounds: int, calls: int, speed: float, straight: Straight, seconds: float) -> None:
    print(
        f"round {number + 1} of {max(1, rounds)}  bare engine {speed:.0f} tokens/s, straight "
        f"{calls / straight.seconds:.2f} calls/s, the lab {calls / seconds:.2f} calls/s",
        file=sys.stderr,
        flush=True,
    )


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks embedded", description=__doc__)
    parser.add_argument("--model", default="smollm2-135m", help="of the catalogue (see rubriclab judges)")
    parser.add_argument("--items", type=int, default=3, help=f"each read {READS} times")
    parser.add_argument("--rounds", type=int, default=3, help="the best of so many counts")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(list(argv))
    try:
        found = measure(options.model, items=options.items, rounds=options.rounds)
    except LabError as fault:
        print(f"benchmarks: {fault}", file=sys.stderr)
        return 1
    print(
        json.dumps({**asdict(found), "allowed": found.allowed, "share": found.share}) if options.json else table(found)
    )
    return 0 if found.share >= BAR else 1
