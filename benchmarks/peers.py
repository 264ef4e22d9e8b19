"""Measure how long a run takes, compared with the bare client, inspect-ai and lm-eval.

``python -m benchmarks peers [--calls 2000] [--peers PYTHON ...]``. One server on this machine
answers “3” at once, with 20 alternatives. Everybody sends it the same prompts, as many at the same
time, in alternating rounds, each in a process of its own. Imports and a first run of 20 calls
count as start-up and are printed separately.

The lab's part is the whole ``run``: plan, ask, parse, store. A peer's part is its whole evaluation
with its log. The output is medians over the rounds, and the medians of the ratios to raw posts.

``--peers``: Pythons that have inspect-ai or lm-eval. ``--embedded ITEMS``: compare the small
model's calls with the bare prefill of the same prompts instead.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FIRST = 20
"""Calls before the clock starts: one item's."""
AT_ONCE = 64
MODEL = "test-model"
LOGPROBS = {"logprobs": True, "top_logprobs": 20}
PEERS = {"inspect-ai": "inspect_ai", "lm-eval": "lm_eval"}


# --------------------------------------------------------------------------------------- the server
def answer() -> bytes:
    top = [{"token": f"{k}", "logprob": -0.1 - k / 3, "bytes": [48 + k % 10]} for k in range(20)]
    token = {"token": "3", "logprob": -0.1, "bytes": [51], "top_logprobs": top}
    choice = {"index": 0, "message": {"role": "assistant", "content": "3"}, "finish_reason": "stop"}
    body = json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": MODEL,
            "choices": [choice | {"logprobs": {"content": [token]}}],
            "usage": {"prompt_tokens": 400, "completion_tokens": 1, "total_tokens": 401},
        }
    ).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )


class Chat(asyncio.Protocol):
    """Whatever is posted is answered; a request is complete when as much has come as its
    Content-Length says.
    """

    reply = answer()

    def connection_made(self, transport: Any) -> None:
        self.transport, self.held = transport, b""

    def data_received(self, data: bytes) -> None:
        self.held += data
        while (end := self.held.find(b"\r\n\r\n")) >= 0:
            head = self.held[:end].lower()
            start = head.find(b"content-length:")
            whole = end + 4 + (int(head[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0)
            if len(self.held) < whole:
                return
            self.held = self.held[whole:]
            self.transport.write(self.reply)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Chat, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)  # ends with whoever started it


@contextmanager
def running_server() -> Iterator[str]:
    with child(sys.executable, "server", stdin=subprocess.PIPE) as process:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.stdin.close()


# -------------------------------------------------------------------- who asks, each in its process
def lab(url: str, prompts: list[list[dict[str, str]]], folder: Path) -> None:
    import openai  # noqa: F401  (start-up)

    from benchmarks.scale import study
    from rubriclab.runs.loading import plan_of_file
    from rubriclab.runs.runner import Run
    from rubriclab.store.store import Store

    path = study(folder, len(prompts) // FIRST, "openai", f'base_urls = ["{url}"]')
    with Store.open(folder / "lab.duckdb") as store:
        state = Run(store, plan_of_file(path)).start().wait()
        assert state.done == len(prompts), state


async def asked(
    prompts: list[list[dict[str, str]]],
    client: Any,
    ask: Callable[[dict[str, Any]], Awaitable[Any]],
) -> None:
    left = iter(prompts)

    async def work() -> None:
        for messages in left:
            await ask(
                {
                    "model": MODEL,
                    "messages": messages,
                    "max_tokens": 8,
                    "temperature": 0.0,
                    **LOGPROBS,
                }
            )

    async with client:
        await asyncio.gather(*(work() for _ in range(AT_ONCE)))


def bare_post(url: str, prompts: list[list[dict[str, str]]], _: Path) -> None:
    import httpx2
    import openai

    async def main() -> None:
        http = openai.DefaultAioHttpClient()
        client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0, http_client=http)

        async def ask(body: dict[str, Any]) -> None:
            response = await client.post("/chat/completions", cast_to=httpx2.Response, body=body)
            assert json.loads(response.content)["choices"][0]["message"]["content"] == "3"

        await asked(prompts, client, ask)

    asyncio.run(main())


def bare_create(url: str, prompts: list[list[dict[str, str]]], _: Path) -> None:
    import openai

    async def main() -> None:
        client = openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)

        async def ask(body: dict[str, Any]) -> None:
            assert (await client.chat.completions.create(**body)).choices[0].message.content == "3"

        await asked(prompts, client, ask)

    asyncio.run(main())


def inspect_ai(url: str, prompts: list[list[dict[str, str]]], folder: Path) -> None:
    import openai  # noqa: F401  (start-up)
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
    from inspect_ai.scorer import match
    from inspect_ai.solver import generate

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser}
    config = GenerateConfig(
        max_tokens=8, temperature=0.0, max_retries=0, max_connections=AT_ONCE, **LOGPROBS
    )
    model = get_model(f"openai-api/local/{MODEL}", base_url=url, api_key="none", config=config)
    samples = [
        Sample([kinds[part["role"]](content=part["content"]) for part in prompt], target="3")
        for prompt in prompts
    ]
    task = Task(dataset=MemoryDataset(samples), solver=[generate()], scorer=match())
    (log,) = evaluate(
        task, model, log_dir=str(folder), display="none", log_level="error", max_samples=AT_ONCE
    )
    assert log.status == "success", log.error
    assert log.results.completed_samples == len(prompts)


def lm_eval(url: str, prompts: list[list[dict[str, str]]], folder: Path) -> None:
    os.environ |= {"HF_HOME": str(folder), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    from lm_eval import evaluator
    from lm_eval.api.task import ConfigurableTask
    from lm_eval.models.openai_completions import LocalChatCompletion

    data = folder / "data.json"
    data.write_text(
        json.dumps(
            [{"text": "\n\n".join(part["content"] for part in prompt)} for prompt in prompts]
        )
    )
    task = ConfigurableTask(
        config={
            "task": "judge",
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": str(data)}},
            "test_split": "test",
            "output_type": "generate_until",
            "doc_to_text": "{{text}}",
            "doc_to_target": "3",
            "num_fewshot": 0,
            "generation_kwargs": {
                "until": ["\n"],
                "max_gen_toks": 8,
                "do_sample": False,
                "temperature": 0.0,
                **LOGPROBS,
            },
            "metric_list": [
                {"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}
            ],
        }
    )
    model = LocalChatCompletion(
        base_url=f"{url}/chat/completions",
        model=MODEL,
        num_concurrent=AT_ONCE,
        max_retries=1,
        tokenized_requests=False,
    )
    found = evaluator.simple_evaluate(
        model, tasks=[task], apply_chat_template=True, bootstrap_iters=0, log_samples=True
    )
    assert found["results"]["judge"]["exact_match,none"] == 1.0, found["results"]
    (folder / "samples.json").write_text(json.dumps(found["samples"], default=str))


WHO: dict[str, Callable[[str, list[list[dict[str, str]]], Path], None]] = {
    "bare, raw post": bare_post,
    "bare, create": bare_create,
    "the lab": lab,
    "inspect-ai": inspect_ai,
    "lm-eval": lm_eval,
}


def measured(who: str, url: str, prompts: list[list[dict[str, str]]]) -> dict[str, float]:
    """(In the child.) Seconds of the clock and of the processor for all prompts, after a first
    run.
    """
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        WHO[who](url, prompts[:FIRST], Path(first))
        clock, cpu = time.perf_counter(), time.process_time()
        WHO[who](url, prompts, Path(second))
        ended = time.perf_counter()
        cpu = time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": ended - clock, "cpu": cpu, "start": clock - began, "peak": peak}


# --------------------------------------------------------------------------------------- the rounds
@contextmanager
def child(python: str, *arguments: str, **options: Any) -> Iterator[Any]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTHONSAFEPATH": "1",
        "PYTHONWARNINGS": "ignore",
    }
    command = [python, str(Path(__file__)), "--part", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT, **options
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None and options.get("stdin") is None:
                process.kill()


def one_round(python: str, who: str, url: str, file: Path) -> dict[str, float]:
    with child(python, who, url, str(file), stderr=subprocess.PIPE) as process:
        out, err = process.communicate(timeout=1_200)
    if process.returncode:
        sys.exit(f"{who} failed:\n{err[-3_000:]}")
    made: dict[str, float] = json.loads(out.splitlines()[-1])
    return made


def has(python: str, module: str) -> bool:
    return not subprocess.run(
        [python, "-c", f"import {module}"], capture_output=True, check=False
    ).returncode


def prompts_of(calls: int, folder: Path) -> list[list[dict[str, str]]]:
    """The lab's own prompts of so many calls, as its plan has them."""
    from benchmarks.scale import study
    from rubriclab.runs.loading import plan_of_file

    plan = plan_of_file(
        study(folder, calls // FIRST, "openai", 'base_urls = ["http://127.0.0.1:9/v1"]')
    )
    return [[dict(message) for message in call.messages] for call in plan.calls()]


def compare(calls: int, rounds: int, peers: list[str]) -> None:
    pythons = {who: sys.executable for who in WHO if who not in PEERS}
    pythons |= {
        who: python for who, module in PEERS.items() for python in peers if has(python, module)
    }
    took: dict[str, list[dict[str, float]]] = {who: [] for who in pythons}
    with tempfile.TemporaryDirectory() as folder, running_server() as url:
        file = Path(folder, "prompts.json")
        file.write_text(json.dumps(prompts := prompts_of(calls, Path(folder))))
        size = sum(len(part["content"]) for prompt in prompts for part in prompt) / len(prompts)
        print(
            f"{len(prompts):,} calls of {size:,.0f} signs, {AT_ONCE} at once, {rounds} rounds; "
            f"load {os.getloadavg()[0]:.1f}"
        )
        for k in range(rounds):
            for who in [*took][:: -1 if k % 2 else 1]:
                took[who].append(one := one_round(pythons[who], who, url, file))
                print(
                    f"  round {k + 1} of {rounds}: {who:<15}{calls / one['seconds']:7.0f} calls a "
                    f"second",
                    flush=True,
                )
    print(f"{'':<16}calls/s  of raw post  CPU a call  of raw post  start-up    peak")
    for who, made in took.items():
        pairs = list(zip(took["bare, raw post"], made, strict=True))
        speed = median(base["seconds"] / one["seconds"] for base, one in pairs)
        cpu = median(one["cpu"] / base["cpu"] for base, one in pairs)
        seconds, own, start, peak = (
            median(one[key] for one in made) for key in ("seconds", "cpu", "start", "peak")
        )
        print(
            f"{who:<16}{calls / seconds:7.0f}{speed:10.2f} x {1e3 * own / calls:8.2f} "
            f"ms{cpu:10.2f} x {start:8.1f} s {peak:5.0f} MB"
        )


def embedded(items: int) -> None:
    """Tokens a second of the small model: each prompt read whole, nothing shared, against the lab's
    calls.
    """
    from urllib.request import Request, urlopen

    from benchmarks.scale import study
    from rubriclab.judges.embedded import acquire, release
    from rubriclab.model.judge_options import EmbeddedOptions
    from rubriclab.runs.loading import plan_of_file
    from rubriclab.runs.runner import Run
    from rubriclab.store.store import Store

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = study(folder, items, "embedded", "")
        path.write_text(
            path.read_text("utf-8").replace(f'model = "{MODEL}"\nconcurrency = {AT_ONCE}', ""),
            "utf-8",
        )
        plan = plan_of_file(path)
        (judge,) = plan.study.judges
        server, tokens, prefill, last = acquire(judge, EmbeddedOptions()), 0, 0.0, time.monotonic()
        for k, call in enumerate(plan.calls(), 1):
            body = {
                "messages": [dict(message) for message in call.messages],
                "max_tokens": 1,
                "cache_prompt": False,
            }
            headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
            request = Request(
                f"{server.url}/v1/chat/completions", json.dumps(body).encode(), headers
            )
            with urlopen(request, timeout=300) as response:
                timings = json.load(response)["timings"]
            tokens, prefill = tokens + timings["prompt_n"], prefill + timings["prompt_ms"] / 1e3
            if time.monotonic() - last > 10:
                last = time.monotonic()
                print(f"  {k} of {len(plan)} prompts read", flush=True)
        with Store.open(folder / "lab.duckdb") as store:
            began = time.perf_counter()
            state = Run(store, plan).start().wait()
            seconds = time.perf_counter() - began
        release(server)
    print(f"{state.done:,} calls of {tokens / len(plan):.0f} tokens; load {os.getloadavg()[0]:.1f}")
    print(
        f"bare prefill {tokens / prefill:,.0f} tokens a second; the lab's calls "
        f"{tokens / seconds:,.0f}: "
        f"{prefill / seconds:.2f} times (an item's calls share their first tokens)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--calls", type=int, default=2_000, help="rounded to whole items of 20 calls"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers", nargs="*", default=[], metavar="PYTHON")
    parser.add_argument("--embedded", type=int, metavar="ITEMS")
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.part == ["server"]:
        asyncio.run(serve())
    elif chosen.part:
        who, url, file = chosen.part
        print(json.dumps(measured(who, url, json.loads(Path(file).read_bytes()))))
    elif chosen.embedded:
        embedded(chosen.embedded)
    else:
        compare(max(1, chosen.calls // FIRST) * FIRST, chosen.rounds, chosen.peers)


if __name__ == "__main__":
    main()
