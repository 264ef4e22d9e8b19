"""A store's judgments as a folder of Parquet files, which DuckDB, Spark or Polars read in place.

One folder a run and an arm in it, ``run=NAME/arm=CODE/000000.parquet``: what a question does not
ask about is never opened. Rows are written as they are read, so memory does not grow with them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rubriclab.datasets.outfiles import whole_file
from rubriclab.model import STATUSES
from rubriclab.store.faults import StoreError
from rubriclab.store.lab import Store
from rubriclab.store.objects import stored_arm
from rubriclab.store.schema import P_COLUMNS

FILE_ROWS, GROUP_ROWS = 5_000_000, 200_000
"""Judgments a file, and in memory at a time."""

_ROWS = f"""
    SELECT $judge AS judge, $dataset AS dataset, $strategy AS strategy, $variant AS variant,
           i.item_id, i.criterion, i.candidate, i.prompt, list_avg(i.human) AS human,
           json_extract_string(o.shown, '$[*]') AS shown, json_extract_string(o.labels, '$[*]') AS labels,
           j.call, j.read, j.repeat, list_extract($statuses, j.status + 1) AS status, j.score, j.position,
           j.expected, j.mass, {", ".join(f"j.{name}" for name in P_COLUMNS)}
    FROM judgments j JOIN items i ON i.dataset = $data AND i.item = j.item
    LEFT JOIN orderings o ON o.run_no = j.run_no AND o.ordering = j.ordering
    WHERE j.run_no = $run AND j.arm = $arm
"""
"""Of one arm; the texts of items and replies, most of a store's bytes, stay in the store."""


@dataclass(frozen=True)
class Partition:
    """What was written of one arm: its folder, judgments, files and their bytes."""

    folder: str
    judgments: int
    files: int
    size: int


def write_partitions(
    store: Store, out: Path, runs: Sequence[str] = (), *, done: Callable[[Partition], object] = lambda _: None
) -> tuple[Partition, ...]:
    """Write runs (all by default) to ``out``; ``done`` hears of each arm when it is whole.

    Score is canonical, position counts from 1 (0 a tie, -1 unread), ``human`` is the mean
    rating, ``shown`` the order from position 1 on. Raises StoreError where ``out`` holds
    something already or cannot be written, or for a run that is not there.
    """
    names = [store.run(run).run for run in runs] or [info.run for info in store.runs()]
    try:
        if out.exists() and any(out.iterdir()):
            raise StoreError(f"{out} is not empty; nothing is overwritten. Name an empty or a new folder.")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{out} cannot be written: {error.strerror}.") from error
    written = []
    for run in names:
        number, data = store._rows("SELECT run_no, dataset FROM runs WHERE run = ?", [run])[0]
        for code, body in store._rows("SELECT arm, body FROM arms WHERE run_no = ? ORDER BY arm", [number]):
            arm = stored_arm(body)
            values = {
                "judge": arm.judge,
                "dataset": arm.dataset,
                "strategy": arm.strategy,
                "variant": str(arm.variant),
                "statuses": list(STATUSES),
                "data": data,
                "run": number,
                "arm": code,
            }
            part = _arm(store, out / f"run={run}" / f"arm={code}", values)
            written.append(part)
            done(part)
    return tuple(written)


def _arm(store: Store, folder: Path, values: dict[str, object]) -> Partition:
    folder.mkdir(parents=True)
    rows = files = 0
    with store._asked() as cursor:
        batches = cursor.sql(_ROWS, params=values).to_arrow_reader(GROUP_ROWS)
        batch = next(batches, None)
        while batch is not None:
            with (
                whole_file(folder / f"{files:06}.parquet", StoreError) as file,
                pq.ParquetWriter(file, batches.schema, compression="zstd") as writer,
            ):
                first = rows
                while batch is not None and rows - first < FILE_ROWS:
                    writer.write_table(pa.Table.from_batches([batch]))
                    rows += len(batch)
                    batch = next(batches, None)
            files += 1
    size = sum(file.stat().st_size for file in folder.iterdir())
    return Partition(str(folder), rows, files, size)
