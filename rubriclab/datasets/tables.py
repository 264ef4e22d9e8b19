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
from rubriclab.datasets.parquet import parquet_codes, parquet_frame
from rubriclab.datasets.plain import json_value, whole_characters
from rubriclab.model import DataError
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many

MAX_UPLOAD_MB = 100
SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx", ".xlsm")
_MB = 1_000_000


def read_table(
    name: str,
    content: bytes,
    *,
    delimiter: str | None = None,
    limit_mb: float | None = MAX_UPLOAD_MB,
    coded: bool = False,
) -> pd.DataFrame:
    """The table in ``content``; the suffix of ``name`` says how to read it (.gz may follow).

    ``delimiter`` is sniffed where it is not given. ``limit_mb=None`` lifts the size limit,
    for files that are already on this machine. ``coded`` gives the columns of a Parquet file as
    categories, for millions of rows of few different values. ``table_notes`` tells what was noticed.
    Raises DataError naming file, line and column for anything that cannot be read.
    """
    if limit_mb is not None and len(content) > limit_mb * _MB:
        raise DataError(
            tr(
                "“{name}” has {size:,.1f} MB; the limit is {limit:g} MB. Split the file, compress it (.gz), "
                "save it as Parquet, or use the command line.",
                name=name,
                size=len(content) / _MB,
                limit=limit_mb,
            )
        )
    _refuse_empty(name, content)
    with reading(name, tr("cannot be read as a table")):
        return _table(name, content, delimiter, coded=coded)


def _table(name: str, content: bytes, delimiter: str | None, *, coded: bool) -> pd.DataFrame:
    plain_name, body = name, content
    if name.lower().endswith(".gz"):
        plain_name, body = name[:-3], gunzipped(name, content)
        _refuse_empty(name, body)
    suffix = PurePath(plain_name.lower()).suffix
    notes: list[str] = []
    if suffix == ".parquet":
        frame = parquet_codes(name, body) if coded else parquet_frame(name, body)
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
            tr(
                "“{name}” ends in “{suffix}”, which is not a known kind of table. Use one of {known}, each "
                "also with .gz.",
                name=name,
                suffix=suffix or tr("no suffix"),
                known=", ".join(SUFFIXES),
            )
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
    where = tr("row {row}", row=str(row + 1)) if first is None else tr("line {line}", line=str(row + int(first)))
    return f"{table_name(frame)}, {where}" + (tr(", column “{column}”", column=column) if column else "")


def _refuse_empty(name: str, content: bytes) -> None:
    if not content or content.isspace():
        raise DataError(tr("“{name}” is empty: it has no header and no rows. Check the export.", name=name))


_OTHER_KINDS = (
    (b"\x89PNG\r\n\x1a\n", msg("a picture (PNG)")),
    (b"\xff\xd8\xff", msg("a picture (JPEG)")),
    (b"GIF8", msg("a picture (GIF)")),
    (b"%PDF-", msg("a PDF document")),
    (b"PK\x03\x04", msg("a ZIP archive, or an Excel or other Office file")),
    (b"\x1f\x8b", msg("a compressed file (gzip)")),
    (b"BZh", msg("a compressed file (bzip2)")),
    (b"\xfd7zXZ\0", msg("a compressed file (xz)")),
    (b"(\xb5/\xfd", msg("a compressed file (Zstandard)")),
    (b"7z\xbc\xaf\x27\x1c", msg("an archive (7z)")),
    (b"PAR1", msg("a Parquet file")),
    (b"\xd0\xcf\x11\xe0", msg("an Office file of the old kind, as .xls")),
    (b"SQLite format 3\0", msg("a database (SQLite)")),
)
"""What files that are no text begin with, and what they are."""
_IN_TEXT = frozenset(b"\t\n\r\f\v\x1b") | frozenset(range(32, 256))


def _refuse_other_kinds(name: str, body: bytes) -> None:
    """Raises DataError for a file of another kind under a text's name: it is no question of its encoding."""
    kind = next((kind for sign, kind in _OTHER_KINDS if body.startswith(sign)), "")
    if kind and not _IN_TEXT.issuperset(body):  # a text may begin with such letters too
        raise DataError(
            tr(
                "“{name}” is no text but {kind}, whatever its name ends in. Give the table itself: as CSV, or under "
                "its own ending, one of {known}.",
                name=name,
                kind=tr(kind),
                known=", ".join(SUFFIXES),
            )
        )


def _decoded(name: str, body: bytes, notes: list[str]) -> str:
    """The text: by its byte-order mark, else UTF-8, else Windows-1252 with a note."""
    _refuse_other_kinds(name, body)
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
        notes.append(
            tr("Read as Windows-1252, since byte {byte:,} is not UTF-8; check accented letters.", byte=error.start)
        )
    if encoding.startswith(("utf-16", "utf-32")):
        notes.append(tr("Read as {encoding}.", encoding=encoding.upper()))
    if "\0" in text:
        offset = body.find(b"\0")
        raise DataError(
            tr(
                "“{name}” holds a NUL byte at byte {offset:,}: it is no text file, or its encoding has no "
                "byte-order mark. Save it as UTF-8.",
                name=name,
                offset=offset,
            )
        )
    return text


def _decoded_fallback(name: str, body: bytes, encoding: str, error: UnicodeDecodeError) -> str:
    line = body.count(b"\n", 0, error.start) + 1
    message = tr(
        "“{name}” cannot be read as {encoding}: byte {byte:,} (0x{sign:02x}, line {line:,}) does not "
        "belong there. Save it as UTF-8.",
        name=name,
        encoding=encoding.upper(),
        byte=error.start,
        sign=body[error.start],
        line=line,
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
            value = json_value(tr("{name}, line {line:,}", name=name, line=number), line)
        except json.JSONDecodeError as error:
            raise DataError(
                tr(
                    "“{name}”, line {line:,}, column {column}: not JSON ({why}). Each line must hold one whole JSON "
                    "object.",
                    name=name,
                    line=number,
                    column=error.colno,
                    why=error.msg,
                )
            ) from error
        if not isinstance(value, Mapping):
            raise DataError(
                tr(
                    '“{name}”, line {line:,}: a JSON {kind}; each line must hold one object, as {{"id": 1, '
                    '"response": "..."}}.',
                    name=name,
                    line=number,
                    kind=_kind(value),
                )
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
        raise DataError(
            tr(
                "“{name}”, line {line:,}, column {column}: not JSON ({why}).",
                name=name,
                line=error.lineno,
                column=error.colno,
                why=error.msg,
            )
        ) from error
    if isinstance(value, Mapping) and isinstance(value.get("data"), list):
        value = value["data"]
    elif isinstance(value, Mapping) and value and all(isinstance(v, Mapping) for v in value.values()):
        value = [{"id": key, **record} for key, record in value.items()]
    return _records_of(name, value)


def _records_of(name: str, value: Any) -> pd.DataFrame:
    if not isinstance(value, list):
        raise DataError(
            tr(
                '“{name}” holds a JSON {kind}; expected a list of records or {{"data": [records]}}.',
                name=name,
                kind=_kind(value),
            )
        )
    columns: dict[str, None] = {}
    for number, record in enumerate(value, start=1):
        if not isinstance(record, Mapping):
            raise DataError(
                tr(
                    "“{name}”, record {record:,}: a JSON {kind}, expected an object.",
                    name=name,
                    record=number,
                    kind=_kind(record),
                )
            )
        columns |= dict.fromkeys(record)
        refuse_cells(name, len(value), len(columns))
    return _records(value, list(columns))


def _looks_like_lines(text: str) -> bool:
    """True for two or more objects one a line: JSON Lines under the suffix .json."""
    lines = [line for line in text.split("\n") if line.strip()][:2]
    return len(lines) == 2 and all(line.startswith("{") and line.rstrip().endswith("}") for line in lines)


def _kind(value: Any) -> str:
    kinds = {dict: tr("object"), list: tr("list"), str: tr("text"), bool: tr("truth value"), type(None): "null"}
    return kinds.get(type(value), tr("number"))


def _records(records: list[Mapping[str, Any]], columns: list[str]) -> pd.DataFrame:
    """Records as a table of Python values: whole numbers stay whole beside missing cells."""
    cells = {c: pd.Series([r.get(c) for r in records], dtype=object) for c in columns}
    return pd.DataFrame(cells)


def _excel(name: str, body: bytes, notes: list[str]) -> pd.DataFrame:
    """The first sheet; its first row is the header."""
    rows = excel_rows(name, body, notes)
    if not rows:
        raise DataError(tr("“{name}” is empty: its first sheet has no header and no rows.", name=name))
    names = excel_names(rows)
    refuse_repeated(name, names)
    return excel_frame(rows, names)


def _checked(name: str, frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    if frame.empty:
        raise DataError(tr("“{name}” has a header but no rows. Check the export.", name=name))
    frame.columns = [str(column) for column in frame.columns]
    refuse_cells(name, 1, frame.shape[1])
    refuse_repeated(name, list(frame.columns))
    refuse_names(name, frame.columns)
    own = frame.shape[1]
    frame = with_texts_inside(frame)
    if inside := frame.shape[1] - own:
        notes.append(
            tr(
                "{texts} inside the cells' objects can be chosen, as “{column}”.",
                texts=many(inside, "text"),
                column=frame.columns[own],
            )
        )
    notes.append(tr("{rows}, {columns:,} columns.", rows=many(len(frame), "row"), columns=own))
    frame.attrs["file"] = name
    frame.attrs["notes"] = tuple(notes)
    return frame
