"""A file of any known kind in, a table of texts out: whole or not at all, no row bent, every fault
with its line.

CSV and its kin by ``csv.reader(strict=True)``, JSON by ``json.loads`` with its hooks, Parquet by
DuckDB, Excel by openpyxl, each in the bounded worker; ``.gz`` may follow.
"""

import csv
import gzip
import io
import itertools
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as compute

from rubriclab.data import limits
from rubriclab.data.limits import MB, refusal
from rubriclab.data.records import annotated, records_in
from rubriclab.data.safe_files import SHIELDED, read_shielded
from rubriclab.data.worker import WORKER
from rubriclab.model.text import LabError, count, look_alike, shorten, storable

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
ENDINGS = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx", ".xlsm")
NUMBER = re.compile(r"[+-]?(\d{1,20}([.,]\d{0,30})?|[.,]\d{1,30})")
LINE = re.compile(r"[^\n]*\n|[^\n]+")
SHEET_ROWS = 2**20
"""What Excel itself can hold; a row may claim any number."""
NOT_COMPUTED = re.compile(rb"(?:</f>|<f[^>]*/>)\s*(?:<v\s*/>|<v></v>|</c>)")
"""A formula in a sheet's XML without the value that a spreadsheet had computed."""
SNIFFED_ROWS, MOST_ABOVE = 50, 10
CHUNK, ROWS_AT_ONCE = 50_000, 10_000
STRUCTURES = (dict, list, tuple, set, np.ndarray)
ANNOTATIONS = re.compile(r"\.responses\.users$")
NESTED = ("STRUCT", "MAP", "UNION", "JSON", "VARIANT")
"""How the names of DuckDB's types of objects begin; those of lists end in brackets."""
Columns = Mapping[str, str | Sequence[str]]
"""The column, or the several columns, of each role."""
OTHER_KINDS = {
    b"\x89PNG": "a picture (PNG)",
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"GIF8": "a picture (GIF)",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a zip archive or an Office file",
    b"\x1f\x8b": "a gzip file",
    b"7z\xbc\xaf": "an archive (7z)",
    b"PAR1": "a Parquet file",
    b"\xd0\xcf\x11\xe0": "an old Office file (.xls)",
    b"SQLite format 3\0": "a database (SQLite)",
}


@dataclass(frozen=True)
class Table:
    """Columns of texts. ``data``: Arrow strings, missing cells empty, of Parquet as codes whose
    dictionary each chunk has; ``note``: what a reader should know.

    ``separator``: of delimited text; ``first_line``: the line of the first row where each row is
    one line of the file; ``answers``: how many rows were made of each row of the file;
    ``structured``: columns whose cells hold lists or objects, as JSON; ``people``: (column,
    question) of each column of ratings that the file's own form tells, None where it tells nothing.
    """

    name: str
    data: pa.Table
    note: str = ""
    separator: str | None = None
    first_line: int | None = None
    answers: int = 1
    structured: tuple[str, ...] = ()
    people: tuple[tuple[str, str], ...] | None = None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.data.column_names)

    @property
    def size(self) -> int:
        return int(self.data.num_rows)

    def first(self, rows: int) -> list[list[str]]:
        return [[*row.values()] for row in self.data.slice(0, rows).to_pylist()]

    def column(self, name: str, most: int | None = None) -> list[str]:
        """The cells of a column (the first ``most``). Raises LabError for a column that is not
        there.
        """
        self.require(name)
        cells: list[str] = self.texts(name, most).to_pylist()
        return cells

    def texts(self, name: str, most: int | None = None) -> pa.ChunkedArray:
        """The cells of a column (the first ``most``) as Arrow texts, spelled out where they are
        kept as codes.
        """
        return self.data.column(name).slice(0, most).cast(pa.large_string())

    def coded(self, name: str) -> tuple[Any, list[str]]:
        """(code of each row as an array, the distinct cells): for millions of rows."""
        self.require(name)
        column, known, parts = self.data.column(name), dict[str, int](), []
        if not pa.types.is_dictionary(column.type):
            column = pa.chunked_array([column.combine_chunks().dictionary_encode()])
        for chunk in column.chunks:
            own = [known.setdefault(text, len(known)) for text in chunk.dictionary.to_pylist()]
            parts.append(
                np.array(own, dtype=np.int64)[chunk.indices.to_numpy(zero_copy_only=False)]
            )
        return np.concatenate(parts), [*known]

    @property
    def listed(self) -> str:
        """The first columns' names, for messages."""
        return ", ".join(f"“{shorten(column, 30)}”" for column in self.columns[:12])

    def require(self, column: str, purpose: str = "") -> None:
        """Raises LabError for a column that is not there."""
        if column not in self.columns:
            raise LabError(
                f"“{shorten(self.name)}” has no column “{shorten(column)}”{purpose}; it has "
                f"{self.listed}."
            )

    def line(self, row: int) -> str:
        """Where a row stands, for messages: by line where rows are lines, else by row; ``row`` from
        0.
        """
        row //= self.answers
        return f"row {row + 1:,}" if self.first_line is None else f"line {row + self.first_line:,}"

    def fault(self, row: int, column: str, words: str) -> LabError:
        """An error that names file, row and column of a cell."""
        return refusal(self.name, f", {self.line(row)}, column “{shorten(column)}”: {words}")

    def refuse_look_alikes(
        self, column: str, names: Iterable[str], row_of: Callable[[str], int]
    ) -> None:
        """Raises LabError for names in a column that differ in case, blanks or invisible signs
        alone.
        """
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(look_alike(name), name)
            if other != name:
                words = (
                    f"“{shorten(name)}” looks like “{shorten(other)}” in {self.line(row_of(other))}"
                )
                raise self.fault(
                    row_of(name), column, f"{words}. Write them alike, or tell them apart."
                )


UNCLEAR_NUMBER = re.compile(r"[+-]?(?:\d{1,3},\d{3}|0\d+\.\d+)")
"""“1,500” is 1.5 or 1500 and “01.05” may be a day: nobody can know, so they are no numbers."""


def number(text: str) -> float | None:
    """A number within ±1e9, with a point or a decimal comma; None for anything else.

    No numbers are nan, inf, 23 digits, and what can be read in two ways (UNCLEAR_NUMBER).
    """
    text = text.strip()
    if UNCLEAR_NUMBER.fullmatch(text):
        return None
    value = float(text.replace(",", ".")) if NUMBER.fullmatch(text) else math.nan
    return value if abs(value) <= limits.MAX_RATING else None


def as_list(columns: str | Sequence[str] | None) -> list[str]:
    """What a role with several columns was given: the name of one, or several."""
    return [columns] if isinstance(columns, str) else list(columns or ())


def chosen_columns(table: Table, columns: Columns, roles: Collection[str]) -> dict[str, Any]:
    """The columns that were chosen by role, empty choices left out, ``human_1`` and ``human_2`` as
    several for ``human``.

    Raises LabError for a role that is not known, and for a column that is not there.
    """
    chosen: dict[str, Any] = {
        role: [*value] if isinstance(value, list | tuple) else str(value)
        for role, value in columns.items()
        if value
    }
    if people := [role for role in chosen if re.fullmatch(r"human_\d+", role)]:
        chosen["human"] = [chosen.pop(role) for role in people]
    for role, value in chosen.items():
        if role not in roles:
            words = (
                f"“{shorten(role)}” is no role of a column; expected one of "
                f"{', '.join(sorted(roles))}."
            )
            raise LabError(f"columns: {words}")
        if role != "human" and not isinstance(value, str):
            raise LabError(f"columns: {role} is {value}; expected the name of one column.")
        for column in as_list(value):
            table.require(column, f" for {role}")
    return chosen


def read_table(source: str | Path | bytes, name: str = "") -> Table:
    """The table in a file or in the bytes of one; the ending of ``name`` says how it is read.

    Raises LabError naming file, line, value and cure; nothing is padded, dropped or renamed but a
    title above the header.
    """
    name = name or (PurePath(str(source)).name if not isinstance(source, bytes) else "table.csv")
    with tempfile.TemporaryDirectory(prefix="rubriclab-", ignore_cleanup_errors=True) as folder:
        file = as_file(source, name, Path(folder))
        result = Path(folder, "result.arrow")
        about = WORKER.run("table", file, name, result=str(result))
        with pa.OSFile(str(result)) as arrow, pa.ipc.open_stream(arrow) as reader:
            data = reader.read_all()
    about["structured"] = tuple(about["structured"])
    if about["people"] is not None:
        about["people"] = tuple((column, question) for column, question in about["people"])
    return Table(name, data, **about)


def as_file(
    source: str | Path | bytes, name: str, folder: Path, most: int = limits.MAX_FILE
) -> Path:
    """The path of a checked file; bytes are written to ``folder`` for the worker."""
    if not isinstance(source, bytes):
        return limits.checked_file(source, most)
    limits.refuse_size(name, len(source), most)
    file = folder / "upload"
    file.write_bytes(source)
    return file


def table_of_frame(frame: pd.DataFrame, name: str = "frame") -> Table:
    """A pandas frame as a table of texts, for notebooks. Raises LabError for columns that look
    alike.
    """
    frame = frame.astype(object)
    columns = [str(column) for column in frame.columns]
    structured = [
        str(column)
        for k, column in enumerate(frame.columns)
        if any(isinstance(cell, STRUCTURES) for cell in frame.iloc[:, k])
    ]
    rows = frame.itertuples(index=False, name=None)
    table = _table(name, columns, _texts(rows))
    return replace(table, structured=tuple(column.strip() for column in structured))


def _table(
    name: str, columns: Sequence[str], rows: Iterator[Sequence[str]], note: str = ""
) -> Table:
    """Rows of texts as a table, in parts of CHUNK. Raises LabError for too many."""
    names = checked_names(name, columns)
    parts, size = [], 0
    while chunk := list(itertools.islice(rows, CHUNK)):
        size += len(chunk)
        _refuse_amount(name, size, len(names))
        cells = [pa.array(column, pa.large_string()) for column in zip(*chunk, strict=True)]
        parts.append(pa.Table.from_arrays(cells, names=names))
    return _checked(Table(name, pa.concat_tables(parts) if parts else pa.table({}), note))


def _checked(table: Table) -> Table:
    """The table. Raises LabError for one without rows, and for a cell that is too long."""
    if not table.size:
        raise refusal(table.name, " has a header but no rows. Check the export.")
    for column in table.columns:
        parts = [getattr(chunk, "dictionary", chunk) for chunk in table.data.column(column).chunks]
        longest = max(compute.max(compute.binary_length(part)).as_py() or 0 for part in parts)
        if longest > limits.MAX_CELL:
            words = (
                f"a cell of {longest / MB:,.0f} MB; at most {limits.MAX_CELL // MB} MB are "
                f"read. Shorten it."
            )
            raise refusal(table.name, f", column “{shorten(column)}”: {words}")
    return table


def _texts(rows: Iterable[Iterable[Any]]) -> Iterator[list[str]]:
    """Rows of values, as JSON, Excel or a frame has them, as texts."""
    return ([_text(cell) for cell in row] for row in rows)


# ---- in the worker


def table_task(file: str, name: str, result: str) -> dict[str, Any]:
    """Reads ``file`` and writes Arrow to ``result``; returns note, separator and first_line."""
    path = Path(file)
    if name.lower().endswith(".gz"):
        path = unpacked(path, name, Path(result).with_name("unpacked"))
    table = read_here(path, name)
    with pa.OSFile(result, "wb") as sink, pa.ipc.new_stream(sink, table.data.schema) as writer:
        writer.write_table(table.data)
    return {
        "note": table.note,
        "separator": table.separator,
        "first_line": table.first_line,
        "structured": table.structured,
        "people": table.people,
    }


def read_here(path: Path, name: str) -> Table:
    """The table in an unpacked file, read in this process: the worker's."""
    ending = PurePath(name.lower().removesuffix(".gz")).suffix
    if ending == ".parquet":
        table = _parquet(path, name)
    elif ending in (".xlsx", ".xlsm"):
        table = _excel(path, name)
    elif ending in (".json", ".jsonl", ".ndjson"):
        table = _json(path.read_bytes(), name, ending == ".json")
    elif ending in ENDINGS:
        table = delimited(path.read_bytes(), name, "\t" if ending == ".tsv" else None)
    else:
        known = f"Use one of {', '.join(ENDINGS)}, each also with .gz."
        raise refusal(
            name, f" ends in “{shorten(ending)}”, which is no known kind of table. {known}"
        )
    return table


def unpacked(path: Path, name: str, target: Path) -> Path:
    size = 0
    try:
        with gzip.open(path) as packed, target.open("wb") as out:
            while (chunk := packed.read(MB)) and size <= limits.MAX_UNPACKED:
                size += out.write(chunk)
    except (OSError, EOFError) as fault:
        raise refusal(
            name, f" is not a whole gzip file: {shorten(str(fault), 100)}. Pack it again."
        ) from None
    if size > limits.MAX_UNPACKED:
        raise refusal(
            name,
            f" unpacks to more than {limits.MAX_UNPACKED // MB} MB. Split it, or save it as "
            f"Parquet.",
        )
    limits.refuse_size(name, size, limits.MAX_UNPACKED)
    return target


def _text_of(content: bytes, name: str) -> tuple[str, str]:
    """(the text, a note on its encoding); refuses what is no text."""
    kind = next((words for mark, words in OTHER_KINDS.items() if content.startswith(mark)), "")
    if kind:
        raise refusal(
            name, f" is {kind}, whatever its name ends in. Give the table itself, as CSV."
        )
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return content.decode("utf-16"), "Read as UTF-16."
        except UnicodeDecodeError as fault:
            raise refusal(
                name, f" is no whole UTF-16 (byte {fault.start:,}). Save it as UTF-8."
            ) from None
    if b"\0" in content:
        line = _line_of(content, content.index(0))
        raise refusal(name, f", line {line}: a NUL byte, which no text holds. Save it as UTF-8.")
    note = ""
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return content.decode(encoding), note
        except UnicodeDecodeError as fault:
            line = _line_of(content, fault.start)
            note = f"Line {line} is not UTF-8: read as Windows-1252. Check accents and quotes."
    raise refusal(name, f", line {line}: neither UTF-8 nor Windows-1252. Save it as UTF-8.")


def _line_of(content: bytes, byte: int) -> str:
    return f"{content.count(10, 0, byte) + 1:,}"


def checked_names(name: str, names: Sequence[str]) -> list[str]:
    """Names of columns, blank ones numbered. Raises LabError for names that look alike, that are
    texts, or too many.
    """
    out = [storable(column).strip() or f"column {k + 1}" for k, column in enumerate(names)]
    if len(out) > limits.MAX_COLUMNS:
        raise refusal(
            name, f" has {len(out):,} columns; {limits.MAX_COLUMNS:,} are read. Leave some out."
        )
    seen: dict[str, int] = {}
    for k, column in enumerate(out):
        if len(column) > limits.MAX_NAME:
            words = (
                f"column {k + 1:,} has {len(column):,} signs (“{shorten(column, 40)}”); "
                f"{limits.MAX_NAME:,} are "
                f"read"
            )
            raise refusal(name, f": the name of {words}. Is the first row a header?")
        first = seen.setdefault(look_alike(column), k)
        if first != k:
            words = (
                f"columns {first + 1} and {k + 1} are named “{shorten(out[first])}” and "
                f"“{shorten(column)}”"
            )
            raise refusal(
                name, f": {words}; names must differ in more than case and blanks. Rename one."
            )
    return out


def delimited(content: bytes, name: str, separator: str | None = None) -> Table:
    """A table of delimited text, read in this process: files of others go through
    ``read_table``.
    """
    text, note = _text_of(content, name)
    if not text.strip():
        raise refusal(name, " is empty: it has no header and no rows. Check the export.")
    if "\n" not in text:
        text = text.replace("\r", "\n")  # line ends of old Macs
    csv.field_size_limit(limits.MAX_CELL)
    used = separator or _sniffed(text)
    rows, above, title = _under_title(_rows(text, name, used))
    data = _table(name, [read_shielded(column) for column in next(rows)], rows).data
    notes, taken_off = [note, title], 0
    for k, cells in enumerate(data.columns):
        shielded = compute.match_substring_regex(cells, SHIELDED)
        if hits := compute.sum(shielded).as_py():
            taken_off += hits
            plain = compute.if_else(shielded, compute.utf8_slice_codeunits(cells, 1), cells)
            data = data.set_column(k, data.column_names[k], plain)
    if taken_off:
        notes.append(
            f"The apostrophe that kept a spreadsheet from computing was taken off "
            f"{count(taken_off, 'cell')}."
        )
    if data.num_columns == 1:
        notes.append("The file has one column. Is it separated by another sign than a comma?")
    lines = text.count("\n", 0, len(text.rstrip("\r\n"))) + 1
    first_line = above + 2 if lines == data.num_rows + above + 1 else None
    return Table(name, data, " ".join(filter(None, notes)), used, first_line)


def _under_title(rows: Iterator[list[str]]) -> tuple[Iterator[list[str]], int, str]:
    """(rows from the header on, how many stand above it, a note): a title fills one cell, over a
    row of several names.

    Without a blank row between them a title is words over three columns or more: one column alone
    may have a name.
    """
    first = list(itertools.islice(rows, MOST_ABOVE))
    filled = [[cell for cell in row if cell.strip()] for row in first]
    header = next((k for k, cells in enumerate(filled) if len(cells) > 1), 0)
    above = [
        cell
        for row, cells in zip(first, filled[:header], strict=False)
        for cell in cells[:1]
        if row[0].strip()
    ]
    apart = [] in filled[:header] or (
        len(filled[header]) > 2 and all(" " in cell.strip() for cell in above)
    )
    numbers = [cell for cell in filled[header] if number(cell) is not None]
    alone = len(above) == sum(map(len, filled[:header])) and not numbers
    if not (header and apart and alone):
        return itertools.chain(first, rows), 0, ""
    note = f"Above the header, and left out: “{shorten(' '.join(above), 60)}”." if above else ""
    return itertools.chain(first[header:], rows), header, note


def _sniffed(text: str) -> str:
    """The separator that cuts the first rows into the same number of cells, the widest; a comma
    where none does.
    """
    lines = text[:MB].splitlines(keepends=True)[: SNIFFED_ROWS * 4]

    def fit(separator: str) -> tuple[float, int]:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=separator) if row][
                :SNIFFED_ROWS
            ]
        except csv.Error:
            widths = []
        if not widths or widths[0] == 1:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    return max(SEPARATORS, key=fit)


def _rows(text: str, name: str, separator: str) -> Iterator[list[str]]:
    """Rows that are not empty. Raises LabError for one of another width than the header's, or with
    a broken quote.
    """
    lines = (line[0] for line in LINE.finditer(text))  # a StringIO would hold four bytes a sign
    reader = csv.reader(lines, delimiter=separator, strict=True)
    start, width = 1, 0
    try:
        for row in reader:
            width = width or len(row)
            if row and len(row) != width:
                cure = (
                    f"Put double quotes around cells that hold "
                    f"{SEPARATORS.get(separator, 'the separator')}."
                )
                words = f"{len(row)} cells, but the header names {width} columns. {cure}"
                raise refusal(name, f", line {start:,}: {words}")
            if row:
                yield row
            start = reader.line_num + 1
    except csv.Error as fault:
        words = f"{fault}. A quote opened there is not closed as CSV asks."
        raise refusal(name, f", line {start:,}: {words}") from None


def _refuse_amount(name: str, rows: int, columns: int) -> None:
    if rows > limits.MAX_JUDGMENTS or rows * columns > limits.MAX_JUDGMENT_CELLS:
        most = f"{limits.MAX_JUDGMENTS:,} rows and {limits.MAX_JUDGMENT_CELLS:,} cells are read"
        words = (
            f" has {rows:,} rows of {columns:,} columns or more; {most}. Split it, or leave "
            f"columns out."
        )
        raise refusal(name, words)


def json_value(text: str, name: str, line: int = 0) -> Any:
    """The value of a JSON text: no key twice, no NaN, at most 300 digits a number, 64 levels and 20
    million values.

    Raises LabError naming the line (``line`` where the text is one of a file) and the column where
    it is no JSON.
    """
    where = f", line {line:,}" if line else ""
    brackets = text.count("[") + text.count("{")
    if brackets + text.count(",") > limits.MAX_CELLS:
        raise refusal(
            name, f"{where}: more than {limits.MAX_CELLS:,} values; that many are read. Split it."
        )

    def pairs(given: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(given)
        if len(value) < len(given):
            twice = Counter(key for key, _ in given).most_common(1)[0][0]
            raise refusal(
                name,
                f"{where}: the key “{shorten(twice)}” stands twice in one object. "
                "Keep one of them.",
            )
        return value

    def constant(word: str) -> Any:
        raise refusal(name, f"{where}: {word} is no number. Leave the cell out, or write null.")

    def finite(digits: str) -> float | int:
        kind = int if digits.lstrip("-").isdigit() else float
        value = kind(digits) if len(digits) <= limits.MAX_DIGITS else math.inf
        if abs(value) == math.inf:
            most = f"{limits.MAX_DIGITS} digits and 1e308. Put it in quotes if it is an id."
            words = f"{shorten(digits, 20)} ({len(digits):,} digits) is beyond what is read, {most}"
            raise refusal(name, f"{where}: {words}")
        return value

    deep = refusal(
        name,
        f"{where}: nested deeper than {limits.MAX_DEPTH} levels; that many are read. Flatten it.",
    )
    try:
        value = json.loads(
            text,
            object_pairs_hook=pairs,
            parse_constant=constant,
            parse_int=finite,
            parse_float=finite,
        )
    except json.JSONDecodeError as fault:
        where = f", line {line or fault.lineno:,}, column {fault.colno:,}"
        raise refusal(name, f"{where}: not JSON ({fault.msg}). Check the export.") from None
    except RecursionError:
        raise deep from None
    level = [value] if brackets > limits.MAX_DEPTH else []
    for _ in range(limits.MAX_DEPTH + 1):
        inner = [
            part
            for outer in level
            for part in (outer.values() if isinstance(outer, dict) else outer)
        ]
        level = [part for part in inner if isinstance(part, dict | list)]
    if level:
        raise deep
    return value


def _json(content: bytes, name: str, whole: bool) -> Table:
    """Read a JSON document (see ``records_in``) or a record per line."""
    text, note = _text_of(content, name)
    heads = [line.strip() for line in text[:MB].split("\n") if line.strip()][:2]
    by_line = len(heads) == 2 and all(line.startswith("{") and line.endswith("}") for line in heads)
    if whole and not by_line:
        found = records_in(json_value(text, name), name)
        unit, numbers = "record", [*range(1, len(found.records) + 1)]
    else:
        lines = [(k, line) for k, line in enumerate(text.split("\n"), 1) if line.strip()]
        values = [json_value(line, name, k) for k, line in lines]
        alone = len(values) == 1 and isinstance(values[0], dict) and _holds_rows(values[0])
        found = records_in(values[0], name) if alone else annotated(values, name)
        unit, numbers = "line", [k for k, _ in lines]
        if len(found.records) != len(lines):
            unit, numbers = "record", [*range(1, len(found.records) + 1)]
    records = [*zip(numbers, found.records, strict=True)]
    columns: dict[str, None] = {}
    structured: dict[str, None] = {}
    for k, record in records:
        if not isinstance(record, dict):
            raise refusal(
                name, f", {unit} {k:,}: a JSON {_kind(record)}; expected an object of columns."
            )
        if len(columns) <= limits.MAX_COLUMNS:
            columns |= dict.fromkeys(record)
            structured |= {
                key: None for key, cell in record.items() if isinstance(cell, STRUCTURES)
            }
    if records and not columns:
        raise refusal(name, f": its {len(records):,} records are empty. Check the export.")
    _refuse_amount(name, len(records), len(columns))
    note = " ".join(filter(None, [note, found.note]))
    cells = _texts([record.get(column) for column in columns] for _, record in records)
    table = _table(name, [*columns], cells, note)
    known = dict(zip(columns, table.columns, strict=True))
    people = found.people
    if people is not None:
        people = tuple((known[column], question) for column, question in people)
    return replace(table, structured=tuple(known[key] for key in structured), people=people)


def _holds_rows(record: Mapping[str, Any]) -> bool:
    """Return whether a file's one line is a whole frame, as ``DataFrame.to_json`` writes it."""
    parts = [*record.values()]
    objects = len(parts) > 1 and all(isinstance(part, dict) and part for part in parts)
    return (objects and all(key.isdigit() for part in parts for key in part)) or (
        {"columns", "index", "data"} <= {*record}
    )


def _kind(value: Any) -> str:
    kinds = {dict: "object", list: "list", str: "text", bool: "truth value", type(None): "null"}
    return kinds.get(type(value), "number")


def _text(value: Any) -> str:
    """A cell of JSON, Excel or a frame as text: whole numbers without a point, lists and objects as
    JSON.
    """
    if value is None or value is pd.NaT or value is pd.NA:
        return ""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, bytes):
        raise LabError(
            f"A cell holds bytes, {shorten(repr(value), 40)}, and no text. Decode them first, as "
            f"UTF-8."
        )
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict | list | tuple):
        return storable(json.dumps(value, ensure_ascii=False, default=_plain))
    if isinstance(value, float) and value != value:
        return ""  # a frame's sign for a missing cell; files cannot bring it
    return str(value)


def _plain(value: Any) -> Any:
    """Return what JSON can hold of a value within a list or an object."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def parquet_table(path: Path, name: str, *, texts: bool = False) -> pa.Table:
    """A Parquet file through DuckDB with 500 MB, no other file and no network.

    ``texts``: every column as texts, the distinct ones of each batch with their codes: millions of
    rows share a few.

    Raises LabError for what is too large unpacked, and for bytes that are no UTF-8.
    """
    import duckdb

    large = refusal(name, f" unpacks to more than {limits.MAX_UNPACKED // MB} MB. Split it.")
    try:
        with duckdb.connect(
            ":memory:", config={"memory_limit": "500MB", "threads": 1, "temp_directory": ""}
        ) as db:
            db.execute(f"""SET allowed_paths = [{_quoted(str(path), "'")}]""")
            db.execute("SET enable_external_access = false")
            file = db.read_parquet(str(path))
            names = checked_names(name, file.columns)
            _refuse_amount(name, file.aggregate("count(*)").fetchall()[0][0], len(names))
            columns = [
                (_quoted(column, '"'), str(kind))
                for column, kind in zip(file.columns, file.types, strict=True)
            ]
            # A text that many rows share is kept once in the file and spelled out for each row in
            # what is read.
            lengths = [f"strlen({column})" for column, kind in columns if kind == "VARCHAR"] or [
                "0"
            ]
            sizes = file.aggregate(
                ", ".join(f"coalesce(sum({each}), 0), coalesce(max({each}), 0)" for each in lengths)
            )
            (row,) = sizes.fetchall()
            if (
                min(sum(row[::2]), sum(row[1::2]) * ROWS_AT_ONCE if texts else math.inf)
                > limits.MAX_UNPACKED
            ):
                raise large
            if texts:
                file = file.project(", ".join(_as_text(column, kind) for column, kind in columns))
            batches, size = [], 0
            for batch in file.to_arrow_reader(ROWS_AT_ONCE):
                cells = [_encoded(column) for column in batch.columns] if texts else batch.columns
                batches.append(pa.RecordBatch.from_arrays(cells, names))
                size += batches[-1].nbytes
                if size > limits.MAX_UNPACKED:
                    raise large
            return (
                pa.Table.from_batches(batches)
                if batches
                else pa.table({column: [] for column in names})
            )
    except (duckdb.Error, OSError) as fault:
        if "Out of Memory" in str(fault):
            raise large from None
        if "blob to UTF8" in str(fault):
            raise _no_text(path, name) from None
        words = shorten(str(fault).splitlines()[0].replace(str(path), name).rstrip(". "), 160)
        raise refusal(
            name, f" is not a Parquet file that can be read: {words}. Write it again."
        ) from None


def _no_text(path: Path, name: str) -> LabError:
    """Return the error for bytes that are no UTF-8, with the first row that holds some."""
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    start = 0
    for batch in file.iter_batches(ROWS_AT_ONCE):
        for column, cells in zip(batch.schema.names, batch.columns, strict=True):
            binary = pa.types.is_binary(cells.type) or pa.types.is_large_binary(cells.type)
            for row, cell in enumerate(cells.to_pylist() if binary else (), start + 1):
                try:
                    (cell or b"").decode("utf-8")
                except UnicodeDecodeError:
                    words = f"{shorten(repr(cell), 40)} is no UTF8 text. Write it as text."
                    return refusal(name, f", row {row:,}, column “{shorten(column)}”: {words}")
        start += len(batch)
    return refusal(name, " holds bytes that are no UTF8 text. Write its columns as texts.")


def _as_text(column: str, kind: str) -> str:
    """Return the SQL of a column as texts: bytes as UTF-8, lists and structs as JSON."""
    if kind == "BLOB":
        return f"decode({column})"
    return f"to_json({column})::VARCHAR" if _nested(kind) else f"{column}::VARCHAR"


def _nested(kind: str) -> bool:
    return kind.startswith(NESTED) or kind.endswith("]")


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    codes = compute.fill_null(column.cast(pa.large_string()), "").dictionary_encode()
    return pa.DictionaryArray.from_arrays(codes.indices.cast(pa.int16()), codes.dictionary)


def _quoted(text: str, sign: str) -> str:
    return sign + text.replace(sign, sign * 2) + sign


def _parquet(path: Path, name: str) -> Table:
    import pyarrow.parquet

    data = parquet_table(path, name, texts=True)
    schema = pyarrow.parquet.read_schema(path)
    # DuckDB gives the second of two columns with one name a new name.
    names = checked_names(name, schema.names)
    structured = [
        column for column, kind in zip(names, schema.types, strict=True) if pa.types.is_nested(kind)
    ]
    return _with_annotations(_checked(Table(name, data, structured=tuple(structured))))


def _with_annotations(table: Table) -> Table:
    """Return a Parquet table with the ratings of an annotation tool as columns, if it has any."""
    known = [column for column in table.columns if ANNOTATIONS.search(column)]
    cells = {column: table.column(column, 1)[0] for column in table.structured}
    hub = [column for column, cell in cells.items() if '"user_id"' in cell and '"status"' in cell]
    tasks = {"data", "annotations"} <= {*table.structured}
    fields = {"fields", "responses"} <= {*table.structured}
    if not (known or hub or tasks or fields):
        return table
    rows = zip(*(table.column(column) for column in table.columns), strict=True)
    records = []
    for row in rows:
        record: dict[str, Any] = dict(zip(table.columns, row, strict=True))
        for column in table.structured:
            record[column] = json_value(record[column], table.name) if record[column] else None
        records.append(record)
    found = annotated(records, table.name)
    if found.people is None:
        return table
    columns = [*dict.fromkeys(key for record in found.records for key in record)]
    made = _table(
        table.name,
        columns,
        _texts(map(record.get, columns) for record in found.records),
        found.note,
    )
    structured = tuple(column for column in columns if column in (*table.structured, "annotations"))
    return replace(made, structured=structured, people=found.people)


def _excel(path: Path, name: str) -> Table:
    """The first sheet, whatever its dimensions claim; its header is the first row, or that under a
    title.
    """
    import zipfile

    import openpyxl

    try:
        with zipfile.ZipFile(path) as book:
            if sum(part.file_size for part in book.infolist()) > limits.MAX_FILE:
                raise refusal(
                    name, f" unpacks to more than {limits.MAX_FILE // MB} MB. Save it as CSV."
                )
            # From bytes: the worker's file has no ending, which openpyxl asks for.
            sheets = openpyxl.load_workbook(
                io.BytesIO(path.read_bytes()), read_only=True, data_only=True
            )
            sheet = sheets.worksheets[0]
            not_computed = len(NOT_COMPUTED.findall(book.read(sheet._worksheet_path)))
        sheet.reset_dimensions()  # without it every row is as wide as the sheet claims
        rows: list[list[Any]] = []
        width = 0
        for row in sheet.iter_rows(values_only=True):
            last = next((k for k in range(len(row), 0, -1) if row[k - 1] is not None), 0)
            width = max(width, last)
            rows.append(list(row[:last]))
            if (
                width > limits.MAX_COLUMNS
                or max(width, 1) * len(rows) > limits.MAX_CELLS
                or len(rows) > SHEET_ROWS
            ):
                spread = f"{width:,} columns and {len(rows):,} rows or more"
                raise refusal(
                    name,
                    f" spreads over {spread}, which is beyond what is read of a sheet. Save it as "
                    f"CSV.",
                )
    except LabError:
        raise
    except Exception as fault:
        words = shorten(f"{type(fault).__name__}: {fault}", 120)
        raise refusal(
            name, f" is not an Excel workbook that can be read ({words}). Save it as CSV."
        ) from None
    while rows and not rows[-1]:
        rows.pop()
    padded, above, title = _under_title(
        _texts([*row, *[None] * (width - len(row))] for row in rows)
    )
    others = sheets.sheetnames[1:]
    notes = (
        [f"Read the first sheet, “{sheets.sheetnames[0]}”; not read: {', '.join(others)[:200]}."]
        if others
        else []
    )
    if not_computed:
        cells = count(not_computed, "formula")
        notes.append(
            f"Without a value in the file, so read as empty: {cells}. Open it in a spreadsheet and "
            f"save it."
        )
    notes += [title] if title else []
    return replace(_table(name, next(padded, []), padded, " ".join(notes)), first_line=above + 2)
