"""An uploaded file becomes a table, whole or not at all.

Every fault is a DataError that names the file and the place in it. Text files keep their
cells as text; JSON, Excel and Parquet keep the types they have. What a reader should know
(another encoding, another delimiter, a second sheet) is kept in the table's notes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import pandas as pd

from rubriclab.datasets.delimited import delimited_frame, refuse_repeated
from rubriclab.datasets.excel import excel_frame, excel_names, excel_rows
from rubriclab.datasets.limits import gunzipped, reading, refuse_cells, refuse_names
from rubriclab.datasets.nested import with_texts_inside
from rubriclab.datasets.parquet import parquet_frame
from rubriclab.datasets.plain import json_value, whole_characters
from rubriclab.model import DataError
from rubriclab.model.wording import many

MAX_UPLOAD_MB = 100
SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx", ".xlsm")
_MB = 1_000_000


def read_table(
    name: str, content: bytes, *, delimiter: str | None = None, limit_mb: float | None = MAX_UPLOAD_MB
) -> pd.DataFrame:
    """The table in ``content``; the suffix of ``name`` says how to read it (.gz may follow).

    ``delimiter`` is sniffed where it is not given. ``limit_mb=None`` lifts the size limit,
    for files that are already on this machine. ``table_notes`` tells what was noticed.
    Raises DataError naming file, line and column for anything that cannot be read.
    """
    if limit_mb is not None and len(content) > limit_mb * _MB:
        raise DataError(
            f"“{name}” has {len(content) / _MB:,.1f} MB; the limit is {limit_mb:g} MB. "
            "Split the file, compress it (.gz), save it as Parquet, or use the command line."
        )
    _refuse_empty(name, content)
    with reading(name, "cannot be read as a table"):
        return _table(name, content, delimiter)


def _table(name: str, content: bytes, delimiter: str | None) -> pd.DataFrame:
    plain_name, body = name, content
    if name.lower().endswith(".gz"):
        plain_name, body = name[:-3], gunzipped(name, content)
        _refuse_empty(name, body)
    suffix = PurePath(plain_name.lower()).suffix
    notes: list[str] = []
    if suffix == ".parquet":
        frame = parquet_frame(name, body)
    elif suffix in (".xlsx", ".xlsm"):
        frame = _excel(name, body, notes)
    elif suffix in (".jsonl", ".ndjson"):
        frame = _json_lines(name, _decoded(name, body, notes), notes)
    elif suffix == ".json":
        frame = _json(name, _decoded(name, body, notes), notes)
    elif suffix in (".csv", ".tsv", ".txt"):
        frame = delimited_frame(name, _decoded(name, body, notes), suffix, delimiter, notes)
    else:
        raise DataError(
            f"“{name}” ends in “{suffix or 'no suffix'}”, which is not a known kind of table. "
            f"Use one of {', '.join(SUFFIXES)}, each also with .gz."
        )
    return _checked(name, frame, notes)


def table_notes(frame: pd.DataFrame) -> tuple[str, ...]:
    """What ``read_table`` noticed, its row and column counts last; empty for other frames."""
    return tuple(frame.attrs.get("notes", ()))


def table_name(frame: pd.DataFrame) -> str:
    """The file that ``frame`` was read from, or "table"."""
    return str(frame.attrs.get("file", "table"))


def place(frame: pd.DataFrame, row: int, column: str | None = None) -> str:
    """Where a cell stands, for messages; ``row`` counts from 0 below the header.

    The line of the file is named where each row is one line, else the row from 1.
    """
    first = frame.attrs.get("first_line")
    where = f"row {row + 1}" if first is None else f"line {row + int(first)}"
    return f"{table_name(frame)}, {where}" + (f", column “{column}”" if column else "")


def _refuse_empty(name: str, content: bytes) -> None:
    if not content or content.isspace():
        raise DataError(f"“{name}” is empty: it has no header and no rows. Check the export.")


def _decoded(name: str, body: bytes, notes: list[str]) -> str:
    """The text: by its byte-order mark, else UTF-8, else Windows-1252 with a note."""
    marks = (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe\x00\x00", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    )
    encoding = next((code for mark, code in marks if body.startswith(mark)), "utf-8")
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        text = _decoded_fallback(name, body, encoding, error)
        notes.append(f"Read as Windows-1252, since byte {error.start:,} is not UTF-8; check accented letters.")
    if encoding.startswith(("utf-16", "utf-32")):
        notes.append(f"Read as {encoding.upper()}.")
    if "\0" in text:
        offset = body.find(b"\0")
        raise DataError(
            f"“{name}” holds a NUL byte at byte {offset:,}: it is no text file, or its encoding "
            "has no byte-order mark. Save it as UTF-8."
        )
    return text


def _decoded_fallback(name: str, body: bytes, encoding: str, error: UnicodeDecodeError) -> str:
    line = body.count(b"\n", 0, error.start) + 1
    message = (
        f"“{name}” cannot be read as {encoding.upper()}: byte {error.start:,} "
        f"(0x{body[error.start]:02x}, line {line:,}) does not belong there. Save it as UTF-8."
    )
    if encoding != "utf-8":
        raise DataError(message) from error
    try:
        text = body.decode("cp1252")
    except UnicodeDecodeError as second:
        raise DataError(message) from second
    if any(ord(c) < 32 and c not in "\t\n\r\f\v\x1b" for c in text[:100_000]):
        raise DataError(message) from error
    return text


def _json_lines(name: str, text: str, notes: list[str]) -> pd.DataFrame:
    records: list[Mapping[str, Any]] = []
    columns: dict[str, None] = {}
    text = whole_characters(text, notes)
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json_value(f"{name}, line {number:,}", line)
        except json.JSONDecodeError as error:
            raise DataError(
                f"“{name}”, line {number:,}, column {error.colno}: not JSON ({error.msg}). "
                "Each line must hold one whole JSON object."
            ) from error
        if not isinstance(value, Mapping):
            raise DataError(
                f"“{name}”, line {number:,}: a JSON {_kind(value)}; each line must hold one "
                'object, as {"id": 1, "response": "..."}.'
            )
        records.append(value)
        columns |= dict.fromkeys(value)
        refuse_cells(name, len(records), len(columns))
    return _records(records, list(columns))


def _json(name: str, text: str, notes: list[str]) -> pd.DataFrame:
    """A list of records, ``{"data": [...]}``, or records by id (the id becomes a column)."""
    try:
        seen: list[str] = []
        value = json_value(name, text, notes=seen)
        notes += seen
    except json.JSONDecodeError as error:
        if _looks_like_lines(text):
            return _json_lines(name, text, notes)
        raise DataError(f"“{name}”, line {error.lineno:,}, column {error.colno}: not JSON ({error.msg}).") from error
    if isinstance(value, Mapping) and isinstance(value.get("data"), list):
        value = value["data"]
    elif isinstance(value, Mapping) and value and all(isinstance(v, Mapping) for v in value.values()):
        value = [{"id": key, **record} for key, record in value.items()]
    if not isinstance(value, list):
        raise DataError(f'“{name}” holds a JSON {_kind(value)}; expected a list of records or {{"data": [records]}}.')
    columns: dict[str, None] = {}
    for number, record in enumerate(value, start=1):
        if not isinstance(record, Mapping):
            raise DataError(f"“{name}”, record {number:,}: a JSON {_kind(record)}, expected an object.")
        columns |= dict.fromkeys(record)
        refuse_cells(name, len(value), len(columns))
    return _records(value, list(columns))


def _looks_like_lines(text: str) -> bool:
    """True for two or more objects one a line: JSON Lines under the suffix .json."""
    lines = [line for line in text.split("\n") if line.strip()][:2]
    return len(lines) == 2 and all(line.startswith("{") and line.rstrip().endswith("}") for line in lines)


def _kind(value: Any) -> str:
    kinds = {dict: "object", list: "list", str: "text", bool: "truth value", type(None): "null"}
    return kinds.get(type(value), "number")


def _records(records: list[Mapping[str, Any]], columns: list[str]) -> pd.DataFrame:
    """Records as a table of Python values: whole numbers stay whole beside missing cells."""
    cells = {c: pd.Series([r.get(c) for r in records], dtype=object) for c in columns}
    return pd.DataFrame(cells)


def _excel(name: str, body: bytes, notes: list[str]) -> pd.DataFrame:
    """The first sheet; its first row is the header."""
    rows = excel_rows(name, body, notes)
    if not rows:
        raise DataError(f"“{name}” is empty: its first sheet has no header and no rows.")
    names = excel_names(rows)
    refuse_repeated(name, names)
    return excel_frame(rows, names)


def _checked(name: str, frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    if frame.empty:
        raise DataError(f"“{name}” has a header but no rows. Check the export.")
    frame.columns = [str(column) for column in frame.columns]
    refuse_cells(name, 1, frame.shape[1])
    refuse_names(name, frame.columns)
    own = frame.shape[1]
    frame = with_texts_inside(frame)
    if inside := frame.shape[1] - own:
        notes.append(f"{many(inside, 'text')} inside the cells' objects can be chosen, as “{frame.columns[own]}”.")
    notes.append(f"{many(len(frame), 'row')}, {own:,} columns.")
    frame.attrs["file"] = name
    frame.attrs["notes"] = tuple(notes)
    return frame
