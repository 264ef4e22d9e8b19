"""Measure how long import, numbers and verdicts take, as multiples of one pandas cross table.

``python -m benchmarks judgments [ROWS ...]``. A machine is noisy. So each time is divided by that
of ``pandas.crosstab`` (score by position, the same rows), which is measured again before each
step. ``cpu`` is of this process: reading a Parquet file is its worker's. ``peak`` is of one step,
with the rows that it starts from.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet

import rubriclab.measures
from rubriclab.core.judgments import Arm, Judgments
from rubriclab.core.topic import TOPICS, Row, Topic
from rubriclab.core.verdict import verdicts
from rubriclab.data.scores import read_judgments
from rubriclab.data.tables import read_table
from rubriclab.model.judgment import Condition, JudgmentTable, Ordering, order_text
from rubriclab.model.orders import balanced
from rubriclab.model.study import ReadingPart, Smallest
from rubriclab.store.store import Store

assert rubriclab.measures


def table_of(rows: int, options: int) -> JudgmentTable:
    """Return judgments with a small bias to the first position, every balanced order twice."""
    orders = np.array(balanced(tuple(range(1, options + 1))))
    calls = 2 * len(orders)
    items = rows // calls
    rng = np.random.default_rng(1)
    order = np.tile(np.arange(calls) % len(orders), items)
    wanted = np.clip(
        np.repeat(rng.normal(options / 2, 1, items), calls) + rng.normal(0, 0.8, items * calls),
        0,
        options - 1,
    )
    score = np.where(rng.random(len(order)) < 0.05, orders[order, 0], wanted.astype(int) + 1)
    columns = {
        "condition": 0,
        "item": np.repeat(np.arange(items), calls),
        "ordering": order,
        "slot": 0,
        "repeat": np.tile(np.arange(calls) // len(orders), items),
        "call": np.arange(items * calls),
        "status": 0,
        "score": score.astype(float),
        "position": (orders[order] == score[:, None]).argmax(axis=1) + 1,
        "expected": np.nan,
        "mass": np.nan,
    }
    names = dict.fromkeys(("criterion", "block", "prompt", "candidate", "task"))
    frame = pd.DataFrame(
        {
            "item_id": [f"a{k}" for k in range(items)],
            "dataset": "d",
            **names,
            "ratings": [{}] * items,
        }
    )
    condition = Condition(
        "judge", "d", "balanced", "options", tuple(map(float, range(1, options + 1))), (), options
    )
    shown = tuple(Ordering(tuple(row), tuple(map(str, row))) for row in orders.tolist())
    return JudgmentTable(
        "bench",
        "Bench",
        (condition,),
        frame.assign(unit_text=frame["item_id"]),
        shown,
        pd.DataFrame(columns),
    )


def written(table: JudgmentTable, path: Path) -> Path:
    """The table as others would have it: a Parquet file of judge, data set, item, order and
    score.
    """
    rows = table.rows
    orders = [order_text(ordering.shown) for ordering in table.orderings]
    cells = {
        "judge": pa.DictionaryArray.from_arrays(np.zeros(len(rows), dtype=np.int8), ["judge"]),
        "dataset": pa.DictionaryArray.from_arrays(np.zeros(len(rows), dtype=np.int8), ["data"]),
        "item_id": pa.DictionaryArray.from_arrays(
            rows["item"].to_numpy(), table.items["item_id"].tolist()
        ),
        "ordering": pa.DictionaryArray.from_arrays(rows["ordering"].to_numpy(), orders),
        "score": rows["score"].to_numpy().astype(np.int32),
    }
    parquet.write_table(pa.table(cells), path, compression="zstd")
    return path


def seconds(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of the clock, and of the processor, and what was made."""
    start, cpu = time.perf_counter(), time.process_time()
    made = work()
    return time.perf_counter() - start, time.process_time() - cpu, made


def compute_topic(topic: Topic, arm: Arm) -> None:
    """Compute every row of a topic and its interval, which is computed when it is first read."""
    given = {"reading": ReadingPart()} if topic.takes_reading else {}
    for subject in topic.subjects([arm]):
        for row in topic.rows(subject, **given):
            if isinstance(row, Row):
                _ = row.interval


def judgments(rows: int, options: int) -> None:
    """Measure every step from the file to the verdicts, for so many rows."""
    table = table_of(rows, options)
    print(
        f"\n{len(table.rows):,} judgments, {options} options, {len(table.items):,} items",
        flush=True,
    )
    spent = np.zeros(2)
    crossed = table.rows[["score", "position"]].copy()

    def step(name: str, work: Callable[[], Any]) -> Any:
        anchor, anchor_cpu, _ = seconds(lambda: pd.crosstab(crossed["score"], crossed["position"]))
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
        took, cpu, made = seconds(work)
        if name.startswith("topic"):
            spent[:] += (took, cpu)
        status = Path("/proc/self/status").read_text().split("VmHWM:")[1]
        print(
            f"  {name:<22}{took:8.2f} s {took / anchor:7.1f} x crosstab   cpu {cpu:6.2f} s "
            f"{cpu / anchor_cpu:7.1f} x"
            f"   peak {int(status.split()[0]) / 2**20:.1f} GB",
            flush=True,
        )
        return made

    with tempfile.TemporaryDirectory() as folder, Store.open(Path(folder, "lab.duckdb")) as store:
        file = written(table, Path(folder, "judgments.parquet"))
        del table
        read = step("import: the file", lambda: read_table(file))
        table = step("import: its judgments", lambda: read_judgments(read))
        read = None
        run = step("into the store", lambda: store.add_table(table))
        table = step("out of the store", lambda: store.table(run))
    (arm,) = step("arm", lambda: Judgments(table).arms)
    for topic in TOPICS.values():
        if "options" in topic.axes:
            step(f"topic {topic.key}", partial(compute_topic, topic, arm))
    print(f"  all topics            {spent[0]:8.2f} s, cpu {spent[1]:.2f} s", flush=True)
    step("verdicts", lambda: verdicts([arm], Smallest()))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", type=int, default=[100_000, 2_000_000])
    parser.add_argument("--options", type=int, nargs="*", default=[5, 10])
    chosen = parser.parse_args()
    for rows in chosen.rows:
        for options in chosen.options:
            judgments(rows, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
