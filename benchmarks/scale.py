"""``python -m benchmarks scale [ITEMS ...]``: what a call costs on every way that it can be asked,
kept and carried out.

A study of five score options, each balanced order twice (20 calls an item), against a server of
this machine that answers at once. Printed are seconds and bytes for each million calls: slopes that
``docs/scale.md`` multiplies up.
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

WORDS = 150
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
    """A server in a process of its own: "3", at once, to whatever it is asked."""
    import asyncio

    from tests.servers import FakeServer

    async def work() -> None:
        async with FakeServer(text="3") as server:
            port.value = server.port
            await asyncio.Event().wait()

    asyncio.run(work())


def study(folder: Path, items: int, kind: str, more: str) -> Path:
    lines = [
        f'i{k},question {k},"{" ".join(f"word{k}" for _ in range(WORDS))}"' for k in range(items)
    ]
    (folder / "items.csv").write_text("\n".join(["id,instruction,response", *lines]), "utf-8")
    path = folder / "study.toml"
    path.write_text(STUDY.format(kind=kind, more=more), "utf-8")
    return path


def measure(items: int, ray: str | None) -> None:
    port = multiprocessing.get_context("spawn").Value("i", 0)
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(port,), daemon=True)
    server.start()
    while not port.value:
        time.sleep(0.05)
    calls = items * 20

    def step(name: str, work: Callable[[], Any], size: Callable[[], int] | None = None) -> Any:
        clock, cpu = time.perf_counter(), time.process_time()
        made = work()
        clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
        bytes_each = f"{size() / calls:10.0f} bytes each" if size else ""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        scale = 1e6 / calls
        print(
            f"  {name:<30}{clock * scale:9.0f} s, {cpu * scale:7.0f} s of processor a million  "
            f"peak {peak:5.0f} MB{bytes_each}",
            flush=True,
        )
        return made

    print(f"\n{calls:,} calls of {items:,} items")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        address = f'base_urls = ["http://127.0.0.1:{port.value}/v1"]'
        plan = plan_of_file(study(folder, items, "openai", address))
        with Store.open(folder / "batch.duckdb") as store:
            files, _, _ = step(
                "batch files out",
                lambda: write_batch(store, plan, folder / "out"),
                lambda: sum(path.stat().st_size for path in (folder / "out").iterdir()),
            )
            answers = folder / "answers.jsonl"
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
            run, _ = step("batch answers in", lambda: read_batch(store, plan, [answers]))
            store.checkpoint()
            step(
                "judgments to Parquet",
                lambda: store.write_parquet(run, folder / "j.parquet"),
                lambda: (folder / "j.parquet").stat().st_size,
            )
            step("out of the store as a table", lambda: kept_run(store, run).table)
        print(f"  the store: {(folder / 'batch.duckdb').stat().st_size / calls:.0f} bytes a call")
        with Store.open(folder / "run.duckdb") as store:
            step("asked by one process", lambda: Run(store, plan).start().wait())
        own = folder / "own.py"
        own.write_text("def judge(messages, item):\n    return 3\n", "utf-8")
        plan = plan_of_file(
            study(folder, items, "python", 'options = { path = "own.py" }').rename(
                folder / "own.toml"
            )
        )
        with Store.open(folder / "own.duckdb") as store:
            step("a function of one's own", lambda: Run(store, plan).start().wait())
        if ray:
            plan = plan_of_file(study(folder, items, "openai", address))
            with Store.open(folder / "ray.duckdb") as store:
                step("asked by the nodes of Ray", lambda: Run(store, plan, ray=ray).start().wait())
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
