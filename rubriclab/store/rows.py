"""Judgments as rows: what a batch holds and how it goes into the database."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pyarrow as pa

from rubriclab.model import (
    STATUSES,
    Call,
    Judgment,
    Ordering,
    Outcome,
)
from rubriclab.store.schema import MAX_POSITIONS, P_COLUMNS

Fresh = tuple[int, Sequence[int | str], Sequence[str]]
Row = tuple[Any, ...]
Record = tuple[Fresh | None, list[Row], Row]
"""What the journal holds of one judgment: a new ordering with its code, or None; the rows of
its outcomes; the row of its reply."""


class Batch:
    """Rows that go into the database together."""

    def __init__(self) -> None:
        self.orderings: list[tuple[int, Ordering]] = []
        self.outcomes: list[Row] = []
        self.replies: list[Row] = []

    def add(self, fresh: Fresh | None, outcomes: list[Row], reply: Row) -> None:
        if fresh is not None:
            code, shown, labels = fresh
            self.orderings.append((code, Ordering(tuple(shown), tuple(labels))))  # type: ignore[arg-type]
        self.outcomes.extend(outcomes)
        self.replies.append(reply)

    def followed_by(self, later: Batch) -> Batch:
        joined = Batch()
        joined.orderings = self.orderings + later.orderings
        joined.outcomes = self.outcomes + later.outcomes
        joined.replies = self.replies + later.replies
        return joined

    def without(self, calls: set[int], orderings: int) -> Batch:
        """What is left when these calls and the first ``orderings`` codes are committed."""
        left = Batch()
        left.orderings = [(code, o) for code, o in self.orderings if code >= orderings]
        left.outcomes = [row for row in self.outcomes if row[1] not in calls]
        left.replies = [row for row in self.replies if row[1] not in calls]
        return left

    def records(self) -> Iterator[Record]:
        """The batch as the journal holds it."""
        by_call: dict[int, list[Row]] = {}
        for row in self.outcomes:
            by_call.setdefault(row[1], []).append(row)
        fresh: list[Fresh] = [(code, o.shown, o.labels) for code, o in self.orderings]
        for i, reply in enumerate(self.replies):
            yield (fresh[i] if i < len(fresh) else None), by_call.get(reply[1], []), reply
        # An ordering is new with the first reply it is used in, so there are never more of
        # them than replies.


_NAN = float("nan")
_PADDING = tuple((_NAN,) * n for n in range(MAX_POSITIONS + 1))
_STATUS_CODE = {name: code for code, name in enumerate(STATUSES)}


def outcome_row(run_no: int, number: int, ordering: int, call: Call, out: Outcome) -> Row:
    given = (out.probabilities or ())[:MAX_POSITIONS]
    return (
        run_no, number, call.arm, out.item, ordering, call.read, call.repeat,
        _STATUS_CODE[out.status],
        _NAN if out.score is None else out.score,
        -1 if out.position is None else out.position,
        _NAN if out.expected is None else out.expected,
        _NAN if out.mass is None else out.mass,
        out.kind, *given, *_PADDING[MAX_POSITIONS - len(given)],
    )  # fmt: skip


def reply_row(run_no: int, number: int, judgment: Judgment) -> Row:
    call, reply = judgment.call, judgment.reply
    return (
        run_no, number, call.key, call.arm, _STATUS_CODE[judgment.outcomes[0].status],
        reply.text, reply.finish, reply.tokens_in, reply.tokens_out, reply.cached_tokens,
        reply.latency, reply.model, reply.error, reply.kind, reply.retryable,
        reply.attempts, call.template, time.time_ns() // 1000,
    )  # fmt: skip


JUDGMENT_TYPES = {
    "run_no": "int32", "call": "int64", "arm": "int16", "item": "int32", "ordering": "int32",
    "read": "int16", "repeat": "int16", "status": "int8", "score": "float32",
    "position": "int16", "expected": "float32", "mass": "float32", "kind": "string",
    **dict.fromkeys(P_COLUMNS, "float32"),
}  # fmt: skip
REPLY_TYPES = {
    "run_no": "int32", "call": "int64", "key": "string", "arm": "int16", "status": "int8",
    "text": "string", "finish": "string", "tokens_in": "int32", "tokens_out": "int32",
    "cached_tokens": "int32", "latency": "float32", "model": "string", "error": "string",
    "kind": "string", "retryable": "bool", "attempts": "int16", "template": "string",
    "asked": "timestamp",
}  # fmt: skip
REPLY_KEY = list(REPLY_TYPES).index("key")
_ARROW = {
    "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "float32": pa.float32(), "bool": pa.bool_(), "string": pa.string(),
    "timestamp": pa.timestamp("us"),
}  # fmt: skip
JUDGMENT_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in JUDGMENT_TYPES.items()])
REPLY_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in REPLY_TYPES.items()])


def arrow(rows: Sequence[Row], schema: Any) -> Any:
    """Rows as an Arrow table: a third of the cost of a data frame on the way to the database."""
    columns = zip(*rows, strict=True)
    return pa.Table.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)],
        schema=schema,
    )


def insert(db: duckdb.DuckDBPyConnection, table: str, rows: Any) -> None:
    db.register("arriving", rows)
    try:
        db.execute(f"INSERT INTO {table} BY NAME SELECT * FROM arriving")
    finally:
        db.unregister("arriving")


def supersede(db: duckdb.DuckDBPyConnection, run_no: int, keys: Sequence[str]) -> None:
    """Move replies that are asked again out of the way; they stay readable in superseded."""
    matching = "run_no = ? AND list_contains(?, key)"
    db.execute(f"INSERT INTO superseded SELECT * FROM replies WHERE {matching}", [run_no, keys])
    db.execute(
        "DELETE FROM judgments WHERE run_no = ? AND call IN "
        f"(SELECT call FROM replies WHERE {matching})",
        [run_no, run_no, keys],
    )
    db.execute(f"DELETE FROM replies WHERE {matching}", [run_no, keys])
