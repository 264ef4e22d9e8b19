"""Judgments as rows: what a batch holds and how it goes into the database."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa

from rubriclab.model import STATUSES, Call, Judgment, Ordering, Outcome, Reply
from rubriclab.model.storable import storable_reply, storable_text
from rubriclab.store.schema import MAX_POSITIONS, P_COLUMNS

Fresh = tuple[int, Sequence[int | str], Sequence[str]]
Row = tuple[Any, ...]
Record = tuple[Fresh | None, list[Row], Row]
"""What the journal holds of one judgment: the ordering it was shown in with its code, so that
each record stands alone (None in journals of earlier versions, after its first use); the rows
of its outcomes; the row of its reply."""


class Batch:
    """Records that go into the database together, and the orderings that are new with them."""

    def __init__(self, records: Sequence[Record] = (), orderings: Sequence[tuple[int, Ordering]] = ()) -> None:
        self.records = list(records)
        self.orderings = list(orderings)

    def __bool__(self) -> bool:
        return bool(self.records)

    def __len__(self) -> int:
        return len(self.records)

    @property
    def outcomes(self) -> list[Row]:
        return [row for _, rows, _ in self.records for row in rows]

    @property
    def replies(self) -> list[Row]:
        return [reply for _, _, reply in self.records]

    def followed_by(self, later: Batch) -> Batch:
        return Batch(self.records + later.records, self.orderings + later.orderings)

    def without(self, calls: set[int], orderings: set[int]) -> Batch:
        """What is left when these calls and these codes of orderings are committed."""
        return Batch(
            [record for record in self.records if record[2][1] not in calls],
            [(code, o) for code, o in self.orderings if code not in orderings],
        )

    def halves(self) -> tuple[Batch, Batch]:
        """The batch in two; all orderings are in the first, since the second may need them."""
        middle = len(self.records) // 2
        return Batch(self.records[:middle], self.orderings), Batch(self.records[middle:])


_NAN = float("nan")
_PADDING = tuple((_NAN,) * n for n in range(MAX_POSITIONS + 1))
_STATUS_CODE = {name: code for code, name in enumerate(STATUSES)}


def outcome_row(run_no: int, number: int, ordering: int, call: Call, out: Outcome) -> Row:
    given = (out.probabilities or ())[:MAX_POSITIONS]
    return (
        run_no,
        number,
        call.arm,
        out.item,
        ordering,
        call.read,
        call.repeat,
        _STATUS_CODE[out.status],
        _NAN if out.score is None else out.score,
        -1 if out.position is None else out.position,
        _NAN if out.expected is None else out.expected,
        _NAN if out.mass is None else out.mass,
        out.kind,
        *given,
        *_PADDING[MAX_POSITIONS - len(given)],
    )


def reply_row(run_no: int, number: int, judgment: Judgment) -> Row:
    call, reply = judgment.call, judgment.reply
    return (
        run_no,
        number,
        call.key,
        call.arm,
        _STATUS_CODE[judgment.outcomes[0].status],
        reply.text,
        reply.finish,
        reply.tokens_in,
        reply.tokens_out,
        reply.cached_tokens,
        reply.latency,
        reply.model,
        reply.error,
        reply.kind,
        reply.retryable,
        reply.attempts,
        call.template,
        time.time_ns() // 1000,
        reply.note,
    )


JUDGMENT_TYPES = {
    "run_no": "int32",
    "call": "int64",
    "arm": "int16",
    "item": "int32",
    "ordering": "int32",
    "read": "int16",
    "repeat": "int16",
    "status": "int8",
    "score": "float32",
    "position": "int16",
    "expected": "float32",
    "mass": "float32",
    "kind": "string",
    **dict.fromkeys(P_COLUMNS, "float32"),
}
REPLY_TYPES = {
    "run_no": "int32",
    "call": "int64",
    "key": "string",
    "arm": "int16",
    "status": "int8",
    "text": "string",
    "finish": "string",
    "tokens_in": "int32",
    "tokens_out": "int32",
    "cached_tokens": "int32",
    "latency": "float32",
    "model": "string",
    "error": "string",
    "kind": "string",
    "retryable": "bool",
    "attempts": "int16",
    "template": "string",
    "asked": "timestamp",
    "note": "string",
}
REPLY_KEY = list(REPLY_TYPES).index("key")
ORDERING = list(JUDGMENT_TYPES).index("ordering")
_ARROW = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "float32": pa.float32(),
    "bool": pa.bool_(),
    "string": pa.string(),
    "timestamp": pa.timestamp("us"),
}
JUDGMENT_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in JUDGMENT_TYPES.items()])
REPLY_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in REPLY_TYPES.items()])


_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63, "timestamp": 63}
_MAY_LACK = frozenset({"tokens_in", "tokens_out", "cached_tokens"})


def record_of(value: Any, run_no: int) -> Record:
    """What a journal's line holds, made storable. Raises ValueError where it is no record of
    the run: of another shape, other types, values beyond a column.

    Journals of earlier versions hold replies as they came and have no ``note``.
    """
    if not (isinstance(value, list) and len(value) == 3):
        raise ValueError("not a record of three parts")
    fresh, outcomes, reply = value
    if not isinstance(reply, list) or not isinstance(outcomes, list):
        raise ValueError("no rows where rows belong")
    if len(reply) == len(REPLY_TYPES) - 1:
        reply = [*reply, None]
    kept = _row(_storable(reply), REPLY_TYPES)
    rows = [_row(row, JUDGMENT_TYPES) for row in outcomes]
    if kept[0] != run_no or any(row[:3] != (run_no, kept[1], kept[3]) for row in rows):
        raise ValueError("rows of another run or call")
    if not isinstance(kept[REPLY_KEY], str) or not rows:
        raise ValueError("a reply without its key or its outcomes")
    shown = _fresh(fresh)
    if len({row[ORDERING] for row in rows} | {shown[0] if shown else rows[0][ORDERING]}) > 1:
        raise ValueError("one call in several orderings")
    return shown, rows, kept


def _storable(reply: list[Any]) -> list[Any]:
    """A reply's row with texts and counts that the store can hold; its note says what changed."""
    names = list(REPLY_TYPES)
    values = dict(zip(names, reply, strict=False))
    if len(reply) != len(names) or not all(isinstance(values[n], str | None) for n in _WORDS):
        raise ValueError("a reply of another shape")
    known = {name: values[name] for name in (*_WORDS, *_MAY_LACK, "latency", "note")}
    known |= {name: known[name] or "" for name in ("text", "finish")}
    if not isinstance(known["latency"], int | float):
        raise ValueError("a latency that is no number")
    values |= {name: getattr(storable_reply(Reply(**known)), name) for name in known}
    return [values[name] for name in names]


_WORDS = ("text", "finish", "model", "error", "kind")


def _row(values: Any, types: Mapping[str, str]) -> Row:
    if not isinstance(values, list) or len(values) != len(types):
        raise ValueError("a row of another length")
    for value, (name, kind) in zip(values, types.items(), strict=True):
        if not _fits(value, kind) and not (value is None and name in _MAY_LACK):
            raise ValueError(f"no {kind} in {name}")
    return tuple(values)


def _fits(value: Any, kind: str) -> bool:
    if kind == "string":
        return value is None or (isinstance(value, str) and storable_text(value) == value)
    if kind == "bool":
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    if kind == "float32":
        return isinstance(value, int | float)
    return isinstance(value, int) and -(2 ** _BITS[kind]) <= value < 2 ** _BITS[kind]


def _fresh(value: Any) -> Fresh | None:
    if value is None:
        return None
    if not (isinstance(value, list) and len(value) == 3 and type(value[0]) is int):
        raise ValueError("no ordering where one belongs")
    code, shown, labels = value
    named = isinstance(shown, list) and all(type(part) in (int, str) for part in shown)
    if not named or not isinstance(labels, list) or not all(isinstance(x, str) for x in labels):
        raise ValueError("an ordering of another shape")
    if not 0 <= code < 2 ** _BITS["int32"]:
        raise ValueError("an ordering's code beyond its column")
    return code, shown, labels


def arrow(rows: Sequence[Row], schema: Any) -> Any:
    """Rows as an Arrow table: a third of the cost of a data frame on the way to the database."""
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema.types)
    return pa.Table.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema
    )


def insert(db: duckdb.DuckDBPyConnection, table: str, rows: Any) -> None:
    """Rows (an Arrow table or stream, or a frame) by the names of their columns."""
    db.register("arriving", rows)
    try:
        db.execute(f"INSERT INTO {table} BY NAME SELECT * FROM arriving")
    finally:
        db.unregister("arriving")


def insert_parts(db: duckdb.DuckDBPyConnection, table: str, parts: Iterable[pd.DataFrame]) -> None:
    """Frames of the same columns, of which no two are in memory at a time.

    As one stream: what is appended, and whatever is registered, stays in memory until the transaction ends.
    """
    left = iter(parts)
    if (first := next(left, None)) is None:
        return
    schema = pa.Schema.from_pandas(first, preserve_index=False)
    frames = chain((first,), left)
    batches = (pa.RecordBatch.from_pandas(frame, schema=schema, preserve_index=False) for frame in frames)
    insert(db, table, pa.RecordBatchReader.from_batches(schema, batches))


def supersede(db: duckdb.DuckDBPyConnection, run_no: int, keys: Sequence[str]) -> None:
    """Move replies that are asked again out of the way; they stay readable in superseded."""
    matching = "run_no = ? AND list_contains(?, key)"
    db.execute(f"INSERT INTO superseded SELECT * FROM replies WHERE {matching}", [run_no, keys])
    db.execute(
        f"DELETE FROM judgments WHERE run_no = ? AND call IN (SELECT call FROM replies WHERE {matching})",
        [run_no, run_no, keys],
    )
    db.execute(f"DELETE FROM replies WHERE {matching}", [run_no, keys])
