"""Measure what one call costs in every way in which it can be asked, kept and exported.

``python -m benchmarks scale [ITEMS ...] [--ray HOST:PORT]``. The study has five score options and
asks each balanced order twice: 20 calls per item. The server is a process on this machine that
answers at once. The output is seconds and bytes per million calls, the slopes that
``docs/scale.md`` multiplies.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from rubriclab.api import kept_run
from rubriclab.runs.batch import read_batch, write_batch
from rubriclab.runs.loading import plan_of_file
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan

WORDS = 150
"""Words of each answer: prompts of about 2 kB, as in a usual study."""
STUDY = """
name = "scale"
[[data]]
file = "items.csv"
[[rubric.criteria]]
name = "quality"
options = {{ 1 = "level 1", 2 = "level 2", 3 = "level 3", 4 = "level 4", 5 = "level 5" }}
[[judges]]
name = "server"
kind = "{kind}"
model = "test-model"
concurrency = 64
{more}
"""


def serve(port: Any) -> None:
    """Answer "3" to every request, and write the port into ``port``."""
    import asyncio

    from tests.servers import FakeServer

    async def work() -> None:
        async with FakeServer(text="3") as server:
            port.value = server.port
            await asyncio.Event().wait()

    asyncio.run(work())


def study(folder: Path, items: int, kind: str, more: str) -> Path:
    """Write a study and its data to ``folder``. ``more`` is the rest of the judge's settings."""
    lines = [
        f'i{k},question {k},"{" ".join(f"word{k}" for _ in range(WORDS))}"' for k in range(items)
    ]
    (folder / "items.csv").write_text("\n".join(["id,instruction,response", *lines]), "utf-8")
    path = folder / "study.toml"
    path.write_text(STUDY.format(kind=kind, more=more), "utf-8")
    return path


class Steps:
    """Prints what each step takes, per million calls."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    def run(self, name: str, work: Callable[[], Any], size: Callable[[], int] | None = None) -> Any:
        """Do ``work``, print its time and memory, and the bytes per call that ``size`` counts."""
        clock, processor = time.perf_counter(), time.process_time()
        made = work()
        clock = (time.perf_counter() - clock) * 1e6 / self.calls
        processor = (time.process_time() - processor) * 1e6 / self.calls
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        line = (
            f"  {name:<30}{clock:9.0f} s, {processor:7.0f} s of processor a million  "
            f"peak {peak:5.0f} MB"
        )
        if size is not None:
            line += f"{size() / self.calls:10.0f} bytes each"
        print(line, flush=True)
        return made


def answer_files(files: list[Path], answers: Path) -> None:
    """Write the answers of batch files, as OpenAI's Batch API would."""
    body = {
        "choices": [{"message": {"content": "3"}, "finish_reason": "stop"}],
        "model": "test-model",
    }
    with answers.open("wb") as out:
        for path in files:
            for line in path.read_bytes().splitlines():
                answer = {
                    "custom_id": msgspec.json.decode(line)["custom_id"],
                    "response": {"status_code": 200, "body": body},
                }
                out.write(msgspec.json.encode(answer) + b"\n")


def measure_batch(steps: Steps, plan: Plan, folder: Path) -> None:
    """Measure batch files out and in, judgments as Parquet, and the store's size."""
    out = folder / "out"
    table = folder / "j.parquet"
    with Store.open(folder / "batch.duckdb") as store:
        files, _, _ = steps.run(
            "batch files out",
            lambda: write_batch(store, plan, out),
            lambda: sum(path.stat().st_size for path in out.iterdir()),
        )
        answers = folder / "answers.jsonl"
        answer_files(files, answers)
        run, _ = steps.run("batch answers in", lambda: read_batch(store, plan, [answers]))
        store.checkpoint()
        steps.run(
            "judgments to Parquet",
            lambda: store.write_parquet(run, table),
            lambda: table.stat().st_size,
        )
        steps.run("out of the store as a table", lambda: kept_run(store, run).table)
    print(f"  the store: {(folder / 'batch.duckdb').stat().st_size / steps.calls:.0f} bytes a call")


def measure_run(
    steps: Steps, name: str, plan: Plan, store_file: Path, ray: str | None = None
) -> None:
    """Measure a whole run of a plan in a store of its own."""
    with Store.open(store_file) as store:
        steps.run(name, lambda: Run(store, plan, ray=ray).start().wait())


def measure(items: int, ray: str | None) -> None:
    """Measure every way of asking, for a study of so many items."""
    context = multiprocessing.get_context("spawn")
    port = context.Value("i", 0)
    server = context.Process(target=serve, args=(port,), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.05)
    steps = Steps(calls=items * 20)
    print(f"\n{steps.calls:,} calls of {items:,} items")
    address = f'base_urls = ["http://127.0.0.1:{port.value}/v1"]'
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plan = plan_of_file(study(folder, items, "openai", address))
        measure_batch(steps, plan, folder)
        measure_run(steps, "asked by one process", plan, folder / "run.duckdb")
        (folder / "own.py").write_text("def judge(messages, item):\n    return 3\n", "utf-8")
        own = plan_of_file(study(folder, items, "python", 'options = { path = "own.py" }'))
        measure_run(steps, "a function of one's own", own, folder / "own.duckdb")
        if ray:
            measure_run(steps, "asked by the nodes of Ray", plan, folder / "ray.duckdb", ray)
    server.terminate()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("items", nargs="*", type=int, default=[500, 5_000])
    parser.add_argument("--ray", help="the address of a cluster that asks too")
    chosen = parser.parse_args()
    for items in chosen.items:
        measure(items, chosen.ray)
    return 0
