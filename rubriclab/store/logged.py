"""The words of judgments read from a log: prompt, reply and texts of each, as they stand in the file.

They may be many times what fits in memory, so they come as a Parquet file and stay in the database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from rubriclab.model import RunData

WORDS = pa.schema(
    [
        ("record", pa.int64()),
        ("line", pa.int64()),
        ("prompt", pa.string()),
        ("reply", pa.string()),
        ("asked", pa.string()),
        ("instruction", pa.string()),
        ("responses", pa.list_(pa.string())),
    ]
)

STEP = 500
"""Records that go into the database at once."""


@dataclass(frozen=True)
class Words:
    """``path``: a Parquet file of the schema WORDS, one row a record of the log; ``calls``: the call that
    the record with that number became, (records,), -1 for one that belongs to another run."""

    path: Path
    calls: Sequence[int] | np.ndarray


def insert_words(db: duckdb.DuckDBPyConnection, run_no: int, dataset: str, data: RunData, words: Words) -> None:
    """Replies, prompts and the texts of the items of a run whose judgments are kept already.

    An item's texts are those of its first call, whose order its candidates have.
    """
    calls = np.asarray(words.calls, dtype=np.int64)
    rows = data.judgments.drop_duplicates("call")
    called = pd.DataFrame({"record": np.flatnonzero(calls >= 0), "call": calls[calls >= 0]})
    called = called.merge(rows[["call", "arm", "status", "item"]], on="call")
    first = called.sort_values("call").drop_duplicates("item")["record"]
    called["run_no"], called["first"] = run_no, called["record"].isin(first)
    called["dataset"] = dataset
    db.register("called", called)
    # The database may not open files itself, so that no SQL of a hostile store can.
    for statement in _STATEMENTS:
        # A stream for each: whatever is registered stays in memory until the transaction ends.
        with pq.ParquetFile(words.path) as written:
            batches = written.iter_batches(STEP)
            db.register("spoken", pa.RecordBatchReader.from_batches(written.schema_arrow, batches))
            db.execute(statement)
            db.unregister("spoken")
    db.unregister("called")
    # Rows without texts were inserted again with them: changing millions of texts in place keeps all in memory.
    db.execute("DELETE FROM items WHERE dataset = ? AND instruction IS NULL", [dataset])


_STATEMENTS = (
    """
    INSERT INTO replies BY NAME
    SELECT c.run_no, c.call, c.arm, c.status, w.reply AS text, false AS retryable, 1 AS attempts,
           try_cast(w.asked AS TIMESTAMP) AS asked
    FROM called c JOIN spoken w USING (record)
    """,
    """
    INSERT INTO logged BY NAME
    SELECT c.run_no, c.call, w.line, w.prompt FROM called c JOIN spoken w USING (record)
    """,
    """
    INSERT INTO items
    SELECT i.* REPLACE (
        w.instruction AS instruction,
        CASE WHEN json_extract(more, '$.candidates') IS NULL THEN w.responses[1] END AS response,
        CASE WHEN n_chars > 0 THEN n_chars ELSE coalesce(list_sum([len(r) for r in w.responses]), 0) END AS n_chars,
        CASE WHEN json_extract(more, '$.candidates') IS NULL OR len(w.responses) = 0 THEN more ELSE json_merge_patch(more,
            json_object('turns', [w.instruction], 'responses', [[r] for r in w.responses])) END AS more)
    FROM items i JOIN called c USING (dataset, item) JOIN spoken w USING (record)
    WHERE c.first AND i.instruction IS NULL
    """,
)
