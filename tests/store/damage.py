"""Damage a run's zip in every small way: one column, one field or one row at a time."""

import copy
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet

Parts = dict[str, bytes]
STRANGE: list[Any] = [None, "", "x", -1, 10**12, 1e308, True, [], [1], {}, {"a": 1}, "9" * 300]


def unpacked(content: bytes) -> Parts:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts: Parts, path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def _changed(column: pd.Series, how: str) -> Any:
    values = list(column)
    middle = len(values) // 2
    if how == "all null":
        return [None] * len(values)
    if how == "one null":
        values[middle] = None
        return values
    if how == "text":
        return [f"text {k}" for k in range(len(values))]
    if how == "numbers":
        return np.arange(len(values)) + 7
    if how == "negative":
        return np.full(len(values), -5)
    if how == "huge":
        return np.full(len(values), 2**40)
    if how == "infinite":
        return np.full(len(values), np.inf)
    if how == "half":
        return np.full(len(values), 0.5)
    if how == "truth":
        return np.full(len(values), True)
    if how == "lists":
        return [[1, 2]] * len(values)
    if how == "bytes":
        return [b"\xff\xfe"] * len(values)
    if how == "times":
        return pd.to_datetime(["2026-01-01"] * len(values))
    if how == "constant":
        return [values[0]] * len(values)
    if how == "shifted":
        return values[1:] + values[:1]
    if how == "long":
        return ["y" * 100_000, *values[1:]] if isinstance(values[0], str) else values
    raise AssertionError(how)


HOW = [
    "all null",
    "one null",
    "text",
    "numbers",
    "negative",
    "huge",
    "infinite",
    "half",
    "truth",
    "lists",
    "bytes",
    "times",
    "constant",
    "shifted",
    "long",
]


def _table(content: bytes, change: Callable[[pd.DataFrame], pd.DataFrame]) -> bytes | None:
    """The table after a change; None where no Parquet file can hold it."""
    frame = change(parquet.read_table(io.BytesIO(content)).to_pandas())
    out = io.BytesIO()
    try:
        parquet.write_table(pa.Table.from_pandas(frame, preserve_index=False), out)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, ValueError):
        return None
    return out.getvalue()


Made = Callable[[], Parts | None]
"""Makes the damaged parts, since only some of the thousands are wanted; None where no file can hold
them.
"""


def damaged_tables(parts: Parts) -> Iterator[tuple[str, Made]]:
    """(what is done, how): each column of each table changed in each way, dropped, or given rows
    twice.
    """

    def with_table(name: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> Parts | None:
        made = _table(parts[name], change)
        return None if made is None else parts | {name: made}

    for name in ("items.parquet", "judgments.parquet", "calls.parquet"):
        columns = list(parquet.read_table(io.BytesIO(parts[name])).column_names)
        changes: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
            "no rows": lambda frame: frame.iloc[:0],
            "rows twice": lambda frame: pd.concat([frame, frame]),
            "first row twice": lambda frame: pd.concat([frame, frame.iloc[:1]]),
            "last row gone": lambda frame: frame.iloc[:-1],
            "upside down": lambda frame: frame.iloc[::-1],
            "one column more": lambda frame: frame.assign(more=1),
            "p of nothing": lambda frame: frame.assign(p7=0.5),
        }
        for column in columns:
            changes[f"{column} gone"] = lambda frame, column=column: frame.drop(columns=column)
            for how in HOW:
                changes[f"{column} {how}"] = lambda frame, column=column, how=how: frame.assign(
                    **{column: _changed(frame[column], how)}
                )
        for what, change in changes.items():
            yield f"{name}: {what}", partial(with_table, name, change)


def damaged_heads(parts: Parts) -> Iterator[tuple[str, Made]]:
    """(what is done, how): each field of study.json, at any depth, gone or replaced by each strange
    value.
    """
    head = json.loads(parts["study.json"])

    def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        if path:
            yield path
        if isinstance(value, dict):
            for key, part in value.items():
                yield from places(part, (*path, key))
        elif isinstance(value, list):
            for number, part in enumerate(value[:2]):  # the parts of a list are of one kind
                yield from places(part, (*path, number))

    def with_head(path: tuple[Any, ...], strange: Any) -> Parts:
        made = copy.deepcopy(head)
        where = made
        for key in path[:-1]:
            where = where[key]
        if strange == "gone":
            del where[path[-1]]
        else:
            where[path[-1]] = strange
        return parts | {"study.json": json.dumps(made).encode()}

    for path in places(head):
        for number, strange in enumerate([*STRANGE, "gone"]):
            yield f"study.json: {path} {number}", partial(with_head, path, strange)
