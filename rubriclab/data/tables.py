"""Read a file of any known kind as a table of texts, whole or not at all.

Files come from strangers. No row is padded, dropped or bent into shape: every fault is refused
with its line. CSV and its kin are read by ``csv.reader(strict=True)``, JSON by ``json.loads`` with
its hooks, Parquet by DuckDB, Excel by openpyxl. All of them run in the worker, which is bounded in
memory and time. Each file may also be packed as ``.gz``.
"""

import csv
import gzip
import io
import itertools
import json
import math
import re
import tempfile
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
from rubriclab.data.records import Found, annotated, records_in
from rubriclab.data.safe_files import SHIELDED, read_shielded
from rubriclab.data.worker import WORKER
from rubriclab.model.text import (
    LabError,
    NamedTwice,
    count,
    look_alike,
    named_once,
    shorten,
    storable,
)

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
ENDINGS = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".xlsx", ".xlsm")
NUMBER = re.compile(r"[+-]?(\d{1,20}([.,]\d{0,30})?|[.,]\d{1,30})")
LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""One line with its end. ``splitlines`` would also cut at characters that cells may hold."""
SHEET_ROWS = 2**20
"""Rows that Excel itself can hold. A file may claim any number."""
NOT_COMPUTED = re.compile(rb"(?:</f>|<f[^>]*/>)\s*(?:<v\s*/>|<v></v>|</c>)")
"""A formula in a sheet's XML without the value that a spreadsheet had computed."""
SNIFFED_ROWS = 50
"""Rows that show which separator a file has."""
MOST_ABOVE = 10
"""Rows above the header in which a title is looked for."""
CHUNK = 50_000
"""Rows that are made Arrow columns at once: a whole file of Python lists would not fit."""
ROWS_AT_ONCE = 10_000
"""Rows of Parquet that are read at once. Their distinct texts have 16-bit codes."""
STRUCTURES = (dict, list, tuple, set, np.ndarray)
"""Types of cells that are lists or objects, not texts."""
ANNOTATIONS = re.compile(r"\.responses\.users$")
"""A column that only Argilla's flat export has."""
NESTED = ("STRUCT", "MAP", "UNION", "JSON", "VARIANT")
"""How the names of DuckDB's object types begin. The names of list types end in brackets."""
Columns = Mapping[str, str | Sequence[str]]
"""The column of each role, or its several columns."""
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
"""How files of other kinds begin, and what to call them in the message."""


@dataclass(frozen=True)
class Table:
    """Columns of texts.

    data: Arrow strings, with missing cells empty; of Parquet as codes, a dictionary per chunk
    note: what a reader should know
    separator: of delimited text
    first_line: the line of the first row, where each row is one line of the file
    answers: how many rows were made of each row of the file
    structured: columns whose cells hold lists or objects, as JSON
    people: (column, question) of each column of ratings, where the form of the file states them
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
        """Return the cells of a column (the first ``most``). Raises LabError if it is missing."""
        self.require(name)
        cells: list[str] = self.texts(name, most).to_pylist()
        return cells

    def texts(self, name: str, most: int | None = None) -> pa.ChunkedArray:
        """Return the cells of a column (the first ``most``) as Arrow texts, never as codes."""
        return self.data.column(name).slice(0, most).cast(pa.large_string())

    def coded(self, name: str) -> tuple[Any, list[str]]:
        """Return (the code of each row, the distinct cells): fast for millions of rows."""
        self.require(name)
        column = self.data.column(name)
        known: dict[str, int] = {}
        parts = []
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
        """The names of the first columns, for messages."""
        return ", ".join(f"“{shorten(column, 30)}”" for column in self.columns[:12])

    def require(self, column: str, purpose: str = "") -> None:
        """Raise LabError for a missing column."""
        if column not in self.columns:
            raise LabError(
                f"“{shorten(self.name)}” has no column “{shorten(column)}”{purpose}. Its columns "
                f"are {self.listed}."
            )

    def line(self, row: int) -> str:
        """Return where a row is, for messages: its line where rows are lines, else its number.

        ``row`` counts from 0.
        """
        row //= self.answers
        if self.first_line is None:
            return f"row {row + 1:,}"
        return f"line {row + self.first_line:,}"

    def fault(self, row: int, column: str, words: str) -> LabError:
        """Return an error that names file, row and column of a cell."""
        return refusal(self.name, f", {self.line(row)}, column “{shorten(column)}”: {words}")

    def refuse_look_alikes(
        self, column: str, names: Iterable[str], row_of: Callable[[str], int]
    ) -> None:
        """Raise LabError for names that differ in case, blanks or invisible characters alone."""
        seen: dict[str, str] = {}
        for name in names:
            other = seen.setdefault(look_alike(name), name)
            if other != name:
                where = self.line(row_of(other))
                words = f"“{shorten(name)}” looks like “{shorten(other)}” in {where}."
                cure = "Write them alike, or change one of them."
                raise self.fault(row_of(name), column, f"{words} {cure}")


UNCLEAR_NUMBER = re.compile(r"[+-]?(?:\d{1,3},\d{3}|0\d+\.\d+)")
"""“1,500” is 1.5 or 1500, and “01.05” may be a date. Nobody can know, so neither is a number."""


def number(text: str) -> float | None:
    """Return a number within ±1e9, with a point or a decimal comma; None for anything else.

    Not numbers are nan, inf, 23 digits, and what can be read in two ways (UNCLEAR_NUMBER).
    """
    text = text.strip()
    if UNCLEAR_NUMBER.fullmatch(text) or not NUMBER.fullmatch(text):
        return None
    value = float(text.replace(",", "."))
    return value if abs(value) <= limits.MAX_RATING else None


def as_list(columns: str | Sequence[str] | None) -> list[str]:
    """Return the columns of a role as a list: it may be given one, several or none."""
    return [columns] if isinstance(columns, str) else list(columns or ())


def chosen_columns(table: Table, columns: Columns, roles: Collection[str]) -> dict[str, Any]:
    """Return the chosen columns by role, without empty choices.

    ``human_1`` and ``human_2`` are several columns for ``human``. Raises LabError for an unknown
    role, and for a missing column.
    """
    chosen: dict[str, Any] = {}
    for role, value in columns.items():
        if value:
            chosen[role] = [*value] if isinstance(value, list | tuple) else str(value)
    people = [role for role in chosen if re.fullmatch(r"human_\d+", role)]
    if people:
        chosen["human"] = [chosen.pop(role) for role in people]
    for role, value in chosen.items():
        if role not in roles:
            known = ", ".join(sorted(roles))
            raise LabError(f"columns: “{shorten(role)}” is not a column role. Use one of {known}.")
        if role != "human" and not isinstance(value, str):
            listed = shorten(", ".join(map(str, value)), 100)
            raise LabError(f"columns: {role} has several columns ({listed}). Name exactly one.")
        for column in as_list(value):
            table.require(column, f" for {role}")
    return chosen


def read_table(source: str | Path | bytes, name: str = "") -> Table:
    """Return the table in a file or in its bytes. The ending of ``name`` says how to read it.

    Raises LabError naming file, line, value and what to do. Only a title above the header is left
    out.
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
    """Return the path of a checked file. Bytes are written to ``folder`` for the worker."""
    if not isinstance(source, bytes):
        return limits.checked_file(source, most)
    limits.refuse_size(name, len(source), most)
    file = folder / "upload"
    file.write_bytes(source)
    return file


def table_of_frame(frame: pd.DataFrame, name: str = "frame") -> Table:
    """Return a pandas frame as a table of texts, for notebooks.

    Raises LabError for columns that look alike.
    """
    frame = frame.astype(object)
    columns = [str(column) for column in frame.columns]
    structured = []
    for k, column in enumerate(columns):
        if any(isinstance(cell, STRUCTURES) for cell in frame.iloc[:, k]):
            structured.append(column.strip())
    rows = frame.itertuples(index=False, name=None)
    return replace(_table(name, columns, _texts(rows)), structured=tuple(structured))


def _table(
    name: str, columns: Sequence[str], rows: Iterator[Sequence[str]], note: str = ""
) -> Table:
    """Return rows of texts as a table, made in parts of CHUNK. Raises LabError for too many."""
    names = checked_names(name, columns)
    parts, size = [], 0
    while chunk := list(itertools.islice(rows, CHUNK)):
        size += len(chunk)
        _refuse_amount(name, size, len(names))
        cells = [pa.array(column, pa.large_string()) for column in zip(*chunk, strict=True)]
        parts.append(pa.Table.from_arrays(cells, names=names))
    return _checked(Table(name, pa.concat_tables(parts) if parts else pa.table({}), note))


def _checked(table: Table) -> Table:
    """Return the table. Raises LabError for one without rows, and for a cell that is too long."""
    if not table.size:
        raise refusal(table.name, " has a header but no rows. Check the export.")
    for column in table.columns:
        # Of Parquet the distinct texts of each chunk are its dictionary.
        parts = [getattr(chunk, "dictionary", chunk) for chunk in table.data.column(column).chunks]
        longest = max(compute.max(compute.binary_length(part)).as_py() or 0 for part in parts)
        if longest > limits.MAX_CELL:
            most = f"{limits.MAX_CELL // MB} MB"
            words = f"a cell has {longest / MB:,.0f} MB; the limit is {most}. Shorten it."
            raise refusal(table.name, f", column “{shorten(column)}”: {words}")
    return table


def _texts(rows: Iterable[Iterable[Any]]) -> Iterator[list[str]]:
    """Return rows of values of JSON, Excel or a frame as rows of texts."""
    return ([_text(cell) for cell in row] for row in rows)


# ---- in the worker


def table_task(file: str, name: str, result: str) -> dict[str, Any]:
    """Read ``file``, write Arrow to ``result``, and return the other fields of the table."""
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
    """Return the table in an unpacked file, read in this process. It has to be the worker."""
    ending = PurePath(name.lower().removesuffix(".gz")).suffix
    if ending == ".parquet":
        return _parquet(path, name)
    if ending in (".xlsx", ".xlsm"):
        return _excel(path, name)
    if ending in (".json", ".jsonl", ".ndjson"):
        return _json(path.read_bytes(), name, whole=ending == ".json")
    if ending in ENDINGS:
        return delimited(path.read_bytes(), name, "\t" if ending == ".tsv" else None)
    what = f"“{shorten(ending)}” files" if ending else "files without an ending"
    raise refusal(
        name, f": the lab cannot read {what}. Use {', '.join(ENDINGS)}, optionally with .gz."
    )


def unpacked(path: Path, name: str, target: Path) -> Path:
    """Unpack a gzip file to ``target``. Raises LabError for a bomb: it stops at MAX_UNPACKED."""
    size = 0
    try:
        with gzip.open(path) as packed, target.open("wb") as out:
            while (chunk := packed.read(MB)) and size <= limits.MAX_UNPACKED:
                size += out.write(chunk)
    except (OSError, EOFError) as fault:
        why = shorten(str(fault), 100)
        raise refusal(name, f" is not a complete gzip file: {why}. Pack it again.") from None
    if size > limits.MAX_UNPACKED:
        most = f"{limits.MAX_UNPACKED // MB} MB"
        raise refusal(name, f" unpacks to more than {most}. Split it, or save it as Parquet.")
    limits.refuse_size(name, size, limits.MAX_UNPACKED)
    return target


def _text_of(content: bytes, name: str) -> tuple[str, str]:
    """Return (the text, a note on its encoding). Raises LabError for what is not text."""
    for mark, kind in OTHER_KINDS.items():
        if content.startswith(mark):
            words = f" is {kind}, whatever its name ends in. Give the table itself, as CSV."
            raise refusal(name, words)
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        try:
            return content.decode("utf-16"), "Read as UTF-16."
        except UnicodeDecodeError as fault:
            words = f" is not complete UTF-16 (byte {fault.start:,}). Save it as UTF-8."
            raise refusal(name, words) from None
    if b"\0" in content:
        # DuckDB and terminals would stop at it.
        line = _line_of(content, content.index(0))
        raise refusal(name, f", line {line}: a NUL byte, which text never has. Save it as UTF-8.")
    try:
        return content.decode("utf-8-sig"), ""
    except UnicodeDecodeError as fault:
        line = _line_of(content, fault.start)
    try:
        note = f"Line {line} is not UTF-8: read as Windows-1252. Check accents and quotes."
        return content.decode("cp1252"), note
    except UnicodeDecodeError as fault:
        line = _line_of(content, fault.start)
        words = "neither UTF-8 nor Windows-1252. Save it as UTF-8."
        raise refusal(name, f", line {line}: {words}") from None


def _line_of(content: bytes, byte: int) -> str:
    lines_before = content.count(b"\n", 0, byte)
    return f"{lines_before + 1:,}"


def checked_names(name: str, names: Sequence[str]) -> list[str]:
    """Return the names of columns, with blank ones numbered.

    Raises LabError for too many, for names that are as long as texts (the header is missing), and
    for names that look alike.
    """
    out = [storable(column).strip() or f"column {k + 1}" for k, column in enumerate(names)]
    if len(out) > limits.MAX_COLUMNS:
        most = f"{limits.MAX_COLUMNS:,}"
        raise refusal(name, f" has {len(out):,} columns; the limit is {most}. Leave some out.")
    seen: dict[str, int] = {}
    for k, column in enumerate(out):
        if len(column) > limits.MAX_NAME:
            raise refusal(
                name,
                f": the name of column {k + 1:,} has {len(column):,} characters "
                f"(“{shorten(column, 40)}”); the limit is {limits.MAX_NAME:,}. Put a header into "
                "the first row.",
            )
        first = seen.setdefault(look_alike(column), k)
        if first != k:
            both = f"“{shorten(out[first])}” and “{shorten(column)}”"
            raise refusal(
                name,
                f": columns {first + 1} and {k + 1} are named {both}. Names must differ in more "
                "than case and blanks. Rename one.",
            )
    return out


def delimited(content: bytes, name: str, separator: str | None = None) -> Table:
    """Return a table of delimited text, read in this process.

    Files of strangers go through ``read_table`` instead, which uses the worker.
    """
    text, encoding_note = _text_of(content, name)
    if not text.strip():
        raise refusal(name, " is empty: it has no header and no rows. Check the export.")
    if "\n" not in text:
        text = text.replace("\r", "\n")  # line ends of old Macs
    csv.field_size_limit(limits.MAX_CELL)
    used = separator or _sniffed(text)
    found = _under_title(_rows(text, name, used))
    header = [read_shielded(column) for column in next(found.rows)]
    data, taken_off = _without_apostrophes(_table(name, header, found.rows).data)
    notes = [encoding_note, found.note]
    if taken_off:
        notes.append(
            "The apostrophe that kept a spreadsheet from computing was taken off "
            f"{count(taken_off, 'cell')}."
        )
    if data.num_columns == 1:
        notes.append("The file has one column. Check that commas separate the columns.")
    # Only where each row is one line can a message give a row's line.
    lines = text.count("\n", 0, len(text.rstrip("\r\n"))) + 1
    first_line = found.above + 2 if lines == data.num_rows + found.above + 1 else None
    return Table(name, data, " ".join(filter(None, notes)), used, first_line)


def _without_apostrophes(data: pa.Table) -> tuple[pa.Table, int]:
    """Return the texts that ``safe_files.shield`` was given, and the number of cells it changed."""
    taken_off = 0
    for k, cells in enumerate(data.columns):
        shielded = compute.match_substring_regex(cells, SHIELDED)
        hits = compute.sum(shielded).as_py()
        if hits:
            taken_off += hits
            plain = compute.if_else(shielded, compute.utf8_slice_codeunits(cells, 1), cells)
            data = data.set_column(k, data.column_names[k], plain)
    return data, taken_off


@dataclass(frozen=True)
class _Headed:
    """Rows from the header on. ``above``: how many rows were above it; ``note``: about them."""

    rows: Iterator[list[str]]
    above: int = 0
    note: str = ""


def _under_title(rows: Iterator[list[str]]) -> _Headed:
    """Return the rows without a title above the header.

    A title fills one cell, above a row of several names. If no blank row separates them, it has to
    be several words above three or more columns: a single column may have a one-word header.
    """
    first = list(itertools.islice(rows, MOST_ABOVE))
    filled = [[cell for cell in row if cell.strip()] for row in first]
    header = next((k for k, cells in enumerate(filled) if len(cells) > 1), 0)
    above = filled[:header]
    # A title is in the first cell; a cell further right is data.
    titles = [
        cells[0] for row, cells in zip(first, above, strict=False) if cells and row[0].strip()
    ]
    only_titles = len(titles) == sum(len(cells) for cells in above)
    blank_row = [] in above
    sentences = header > 0 and all(" " in title.strip() for title in titles)
    apart = blank_row or (sentences and len(filled[header]) > 2)
    names = header > 0 and all(number(cell) is None for cell in filled[header])
    if not (header and apart and only_titles and names):
        return _Headed(itertools.chain(first, rows))
    note = f"Left out above the header: “{shorten(' '.join(titles), 60)}”." if titles else ""
    return _Headed(itertools.chain(first[header:], rows), header, note)


def _sniffed(text: str) -> str:
    """Return the separator that cuts the first rows into equally many cells; commas if none does.

    Of several the one with most cells counts.
    """
    lines = text[:MB].splitlines(keepends=True)[: SNIFFED_ROWS * 4]

    def fit(separator: str) -> tuple[float, int]:
        """Return (share of the rows that are as wide as the first, its width)."""
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=separator) if row]
        except csv.Error:
            return 0.0, 0
        widths = widths[:SNIFFED_ROWS]
        if not widths or widths[0] == 1:
            return 0.0, 0
        return widths.count(widths[0]) / len(widths), widths[0]

    return max(SEPARATORS, key=fit)


def _rows(text: str, name: str, separator: str) -> Iterator[list[str]]:
    """Yield the rows that are not empty.

    Raises LabError for a row that is not as wide as the header, and for a broken quote: a padded or
    shifted row would put texts into wrong columns.
    """
    # A StringIO would hold four bytes per character.
    lines = (line[0] for line in LINE.finditer(text))
    reader = csv.reader(lines, delimiter=separator, strict=True)
    start, width = 1, 0
    try:
        for row in reader:
            width = width or len(row)
            if row and len(row) != width:
                sign = SEPARATORS.get(separator, "the separator")
                words = f"{len(row)} cells, but the header has {width} columns."
                cure = f"Put double quotes around cells that contain {sign}."
                raise refusal(name, f", line {start:,}: {words} {cure}")
            if row:
                yield row
            start = reader.line_num + 1
    except csv.Error as fault:
        words = f"{fault}. A cell that begins with a quote has to end with one."
        cure = "Double the quotes within it."
        raise refusal(name, f", line {start:,}: {words} {cure}") from None


def _refuse_amount(name: str, rows: int, columns: int) -> None:
    """Raise LabError for more rows or cells than fit into the worker's memory."""
    if rows > limits.MAX_JUDGMENTS or rows * columns > limits.MAX_JUDGMENT_CELLS:
        raise refusal(
            name,
            f" has at least {rows:,} rows of {columns:,} columns; the limit is "
            f"{limits.MAX_JUDGMENTS:,} rows and {limits.MAX_JUDGMENT_CELLS:,} cells. Split it, or "
            "leave columns out.",
        )


# ---- JSON


def json_value(text: str, name: str, line: int = 0) -> Any:
    """Return the value of a JSON text within limits.

    Refused are a name that occurs twice in an object, NaN, numbers of more than 300 digits, more
    than 64 levels and 20 million values. Raises LabError naming the line (``line`` where the text
    is one line of a file), and the column of what is not JSON.
    """
    where = f", line {line:,}" if line else ""
    brackets = text.count("[") + text.count("{")
    # Counted before anything is built: each value costs some hundred bytes in Python.
    if brackets + text.count(",") > limits.MAX_CELLS:
        most = f"{limits.MAX_CELLS:,}"
        raise refusal(name, f"{where}: more than {most} values, which is the limit. Split it.")
    checks = _JsonNumbers(name, where)
    deep = refusal(
        name, f"{where}: nested deeper than {limits.MAX_DEPTH} levels, the limit. Flatten it."
    )
    try:
        value = json.loads(
            text,
            object_pairs_hook=named_once,
            parse_constant=checks.constant,
            parse_int=checks.finite,
            parse_float=checks.finite,
        )
    except NamedTwice as fault:
        words = f"the key “{shorten(fault.name)}” appears twice in one object. Keep one of them."
        raise refusal(name, f"{where}: {words}") from None
    except json.JSONDecodeError as fault:
        where = f", line {line or fault.lineno:,}, column {fault.colno:,}"
        raise refusal(name, f"{where}: not JSON ({fault.msg}). Check the export.") from None
    except RecursionError:
        raise deep from None
    if brackets > limits.MAX_DEPTH and _levels_exceed(value, limits.MAX_DEPTH):
        raise deep
    return value


@dataclass(frozen=True)
class _JsonNumbers:
    """Checks the numbers of a JSON text; ``where`` in the file ``name`` it is."""

    name: str
    where: str

    def constant(self, word: str) -> Any:
        """Refuse NaN and Infinity, which are not JSON, and which no statistic survives."""
        words = f"{word} is not a number. Leave the cell out, or write null."
        raise refusal(self.name, f"{self.where}: {words}")

    def finite(self, digits: str) -> float | int:
        """Return a number. Refuses an infinite one, and one whose many digits would take hours."""
        value: float | int = math.inf
        if len(digits) <= limits.MAX_DIGITS:
            value = int(digits) if digits.lstrip("-").isdigit() else float(digits)
        if abs(value) == math.inf:
            raise refusal(
                self.name,
                f"{self.where}: the number {shorten(digits, 20)} ({len(digits):,} digits) is too "
                f"large; the limit is {limits.MAX_DIGITS} digits and 1e308. Put it in quotes if it "
                "is an ID.",
            )
        return value


def _levels_exceed(value: Any, most: int) -> bool:
    """Return whether lists and objects are nested more than ``most`` levels deep.

    It goes level by level: a recursive walk would itself run out of stack.
    """
    level = [value]
    for _ in range(most + 1):
        inner: list[Any] = []
        for outer in level:
            parts = outer.values() if isinstance(outer, dict) else outer
            inner += [part for part in parts if isinstance(part, dict | list)]
        level = inner
    return bool(level)


def _json(content: bytes, name: str, *, whole: bool) -> Table:
    """Read a JSON document (see ``records_in``) or a record per line."""
    text, encoding_note = _text_of(content, name)
    read = _records_of_document(text, name) if whole and not _by_line(text) else None
    if read is None:
        read = _records_of_lines(text, name)
    found, columns = read.found, _json_columns(read, name)
    records = found.records
    _refuse_amount(name, len(records), len(columns.names))
    cells = _texts([record.get(column) for column in columns.names] for record in records)
    note = " ".join(filter(None, [encoding_note, found.note]))
    table = _table(name, columns.names, cells, note)
    # `_table` strips names and numbers blank ones.
    made = dict(zip(columns.names, table.columns, strict=True))
    people = found.people
    if people is not None:
        people = tuple((made[column], question) for column, question in people)
    structured = tuple(made[column] for column in columns.structured)
    return replace(table, structured=structured, people=people)


@dataclass(frozen=True)
class _Numbered:
    """Records with the number that a message gives each: of its line, or of the record."""

    found: Found
    unit: str
    numbers: Sequence[int]


@dataclass(frozen=True)
class _JsonColumns:
    """The names of all columns, and of those that hold lists or objects."""

    names: list[str]
    structured: list[str]


def _by_line(text: str) -> bool:
    """Return whether a file has a record per line, whatever its name ends in."""
    heads = [line.strip() for line in text[:MB].split("\n") if line.strip()][:2]
    return len(heads) == 2 and all(line.startswith("{") and line.endswith("}") for line in heads)


def _records_of_document(text: str, name: str) -> _Numbered:
    found = records_in(json_value(text, name), name)
    return _Numbered(found, "record", range(1, len(found.records) + 1))


def _records_of_lines(text: str, name: str) -> _Numbered:
    lines = [(k, line) for k, line in enumerate(text.split("\n"), 1) if line.strip()]
    values = [json_value(line, name, k) for k, line in lines]
    if len(values) == 1 and isinstance(values[0], dict) and _holds_rows(values[0]):
        found = records_in(values[0], name)
    else:
        found = annotated(values, name)
    if len(found.records) == len(lines):
        return _Numbered(found, "line", [k for k, _ in lines])
    return _Numbered(found, "record", range(1, len(found.records) + 1))


def _json_columns(read: _Numbered, name: str) -> _JsonColumns:
    """Return the columns of records. Raises LabError for a record that is not an object."""
    columns: dict[str, None] = {}
    structured: dict[str, None] = {}
    records = read.found.records
    for k, record in zip(read.numbers, records, strict=True):
        if not isinstance(record, dict):
            kind = _kind(record)
            words = f"a JSON {kind}. Write each record as an object of columns."
            raise refusal(name, f", {read.unit} {k:,}: {words}")
        # Every record may bring new names: stop collecting at what is refused anyway.
        if len(columns) <= limits.MAX_COLUMNS:
            columns |= dict.fromkeys(record)
            for key, cell in record.items():
                if isinstance(cell, STRUCTURES):
                    structured[key] = None
    if records and not columns:
        raise refusal(name, f": its {len(records):,} records are empty. Check the export.")
    return _JsonColumns([*columns], [*structured])


def _holds_rows(record: Mapping[str, Any]) -> bool:
    """Return whether a file's only line is a whole frame, as ``DataFrame.to_json`` writes it."""
    if {"columns", "index", "data"} <= {*record}:
        return True
    parts = [*record.values()]
    if len(parts) < 2 or not all(isinstance(part, dict) and part for part in parts):
        return False
    return all(key.isdigit() for part in parts for key in part)


def _kind(value: Any) -> str:
    """Return what JSON calls a value that is not an object."""
    kinds = {dict: "object", list: "list", str: "text", bool: "truth value", type(None): "null"}
    return kinds.get(type(value), "number")


def _text(value: Any) -> str:
    """Return a cell of JSON, Excel or a frame as text.

    Whole numbers have no point; lists and objects are JSON.
    """
    if value is None or value is pd.NaT or value is pd.NA:
        return ""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, bytes):
        shown = shorten(repr(value), 40)
        raise LabError(f"A cell holds bytes, {shown}, not text. Decode them first, as UTF-8.")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, dict | list | tuple):
        return storable(json.dumps(value, ensure_ascii=False, default=_plain))
    if isinstance(value, float) and math.isnan(value):
        return ""  # how a frame marks a missing cell; files cannot bring it
    return str(value)


def _plain(value: Any) -> Any:
    """Return what JSON can hold of a value within a list or an object."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


# ---- Parquet


def parquet_table(path: Path, name: str, *, texts: bool = False) -> pa.Table:
    """Read a Parquet file with DuckDB: 500 MB of memory, no other file, no network.

    ``texts``: give every column as texts, as codes into the distinct ones of each batch, since
    millions of rows may share a few. Raises LabError for what is too large unpacked, and for bytes
    that are not UTF-8.
    """
    import duckdb

    try:
        with duckdb.connect(
            ":memory:", config={"memory_limit": "500MB", "threads": 1, "temp_directory": ""}
        ) as db:
            # A Parquet file can name other files and addresses: this one alone may be opened.
            db.execute(f"SET allowed_paths = [{_quoted(str(path), QUOTE)}]")
            db.execute("SET enable_external_access = false")
            file = db.read_parquet(str(path))
            names = checked_names(name, file.columns)
            (rows,) = file.aggregate("count(*)").fetchall()[0]
            _refuse_amount(name, rows, len(names))
            _refuse_long_texts(file, name, encoded=texts)
            if texts:
                file = file.project(", ".join(_as_text(column) for column in _columns_of(file)))
            batches = _batches(file, name, names, encoded=texts)
            if not batches:
                return pa.table({column: [] for column in names})
            return pa.Table.from_batches(batches)
    except (duckdb.Error, OSError) as fault:
        if "Out of Memory" in str(fault):
            raise _unpacks_to_more(name) from None
        if "blob to UTF8" in str(fault):
            raise _no_text(path, name) from None
        why = shorten(str(fault).splitlines()[0].replace(str(path), name).rstrip(". "), 160)
        raise refusal(name, f": could not open this Parquet file: {why}. Write it again.") from None


QUOTE = "'"
"""The quote of a text in SQL; a double one is that of a name."""


@dataclass(frozen=True)
class _ParquetColumn:
    """A column's name, quoted for SQL, and DuckDB's name of its type."""

    quoted: str
    kind: str


def _columns_of(file: Any) -> list[_ParquetColumn]:
    columns = zip(file.columns, file.types, strict=True)
    return [_ParquetColumn(_quoted(column, '"'), str(kind)) for column, kind in columns]


def _unpacks_to_more(name: str) -> LabError:
    return refusal(name, f" unpacks to more than {limits.MAX_UNPACKED // MB} MB. Split it.")


def _refuse_long_texts(file: Any, name: str, *, encoded: bool) -> None:
    """Raise LabError for texts that take more than MAX_UNPACKED once they are spelled out.

    A text that many rows share is kept once in the file, so a small file may hold gigabytes.
    ``encoded``: distinct texts alone are kept, and at worst one batch of rows spells out each
    column's longest.
    """
    texts = [column.quoted for column in _columns_of(file) if column.kind == "VARCHAR"]
    if not texts:
        return
    total = [f"coalesce(sum(strlen({column})), 0)" for column in texts]
    longest = [f"coalesce(max(strlen({column})), 0)" for column in texts]
    row = file.aggregate(", ".join(total + longest)).fetchall()[0]
    size = sum(row[: len(texts)])
    if encoded:
        size = min(size, sum(row[len(texts) :]) * ROWS_AT_ONCE)
    if size > limits.MAX_UNPACKED:
        raise _unpacks_to_more(name)


def _batches(file: Any, name: str, names: Sequence[str], *, encoded: bool) -> list[pa.RecordBatch]:
    """Return the rows in batches. Raises LabError as soon as they are too large together."""
    batches, size = [], 0
    for batch in file.to_arrow_reader(ROWS_AT_ONCE):
        cells = [_encoded(column) for column in batch.columns] if encoded else batch.columns
        batches.append(pa.RecordBatch.from_arrays(cells, names))
        size += batches[-1].nbytes
        if size > limits.MAX_UNPACKED:
            raise _unpacks_to_more(name)
    return batches


def _no_text(path: Path, name: str) -> LabError:
    """Return the error for bytes that are not UTF-8, with the first row that holds some."""
    import pyarrow.parquet

    file = pyarrow.parquet.ParquetFile(path)
    start = 0
    for batch in file.iter_batches(ROWS_AT_ONCE):
        for column, cells in zip(batch.schema.names, batch.columns, strict=True):
            if not (pa.types.is_binary(cells.type) or pa.types.is_large_binary(cells.type)):
                continue
            for row, cell in enumerate(cells.to_pylist(), start + 1):
                try:
                    (cell or b"").decode("utf-8")
                except UnicodeDecodeError:
                    words = f"{shorten(repr(cell), 40)} is not UTF-8 text. Write it as text."
                    return refusal(name, f", row {row:,}, column “{shorten(column)}”: {words}")
        start += len(batch)
    return refusal(name, " holds bytes that are not UTF-8 text. Write its columns as texts.")


def _as_text(column: _ParquetColumn) -> str:
    """Return the SQL of a column as texts: bytes as UTF-8, lists and structs as JSON."""
    if column.kind == "BLOB":
        return f"decode({column.quoted})"
    if column.kind.startswith(NESTED) or column.kind.endswith("]"):
        return f"to_json({column.quoted})::VARCHAR"
    return f"{column.quoted}::VARCHAR"


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    codes = compute.fill_null(column.cast(pa.large_string()), "").dictionary_encode()
    return pa.DictionaryArray.from_arrays(codes.indices.cast(pa.int16()), codes.dictionary)


def _quoted(text: str, sign: str) -> str:
    """Return a name or a text for SQL, which no quote within it can leave."""
    return sign + text.replace(sign, sign * 2) + sign


def _parquet(path: Path, name: str) -> Table:
    import pyarrow.parquet

    data = parquet_table(path, name, texts=True)
    schema = pyarrow.parquet.read_schema(path)
    # DuckDB gives the second of two columns with one name a new name.
    names = checked_names(name, schema.names)
    structured = []
    for column, kind in zip(names, schema.types, strict=True):
        if pa.types.is_nested(kind):
            structured.append(column)
    return _with_annotations(_checked(Table(name, data, structured=tuple(structured))))


def _with_annotations(table: Table) -> Table:
    """Return a Parquet table with the ratings of an annotation tool as columns, if it has any."""
    if not _may_be_annotated(table):
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
    cells = _texts(map(record.get, columns) for record in found.records)
    made = _table(table.name, columns, cells, found.note)
    structured = tuple(column for column in columns if column in (*table.structured, "annotations"))
    return replace(made, structured=structured, people=found.people)


def _may_be_annotated(table: Table) -> bool:
    """Return whether the columns are those of Argilla or Label Studio."""
    structured = {*table.structured}
    if {"data", "annotations"} <= structured or {"fields", "responses"} <= structured:
        return True
    if any(ANNOTATIONS.search(column) for column in table.columns):
        return True
    first = [table.column(column, 1)[0] for column in table.structured]
    return any('"user_id"' in cell and '"status"' in cell for cell in first)


# ---- Excel


@dataclass(frozen=True)
class _Sheet:
    """The first sheet of a workbook.

    rows: its cells, without empty ones at the end of each row
    width: the most cells of a row
    others: the names of the other sheets
    not_computed: formulas without a value in the file
    """

    name: str
    rows: list[list[Any]]
    width: int
    others: Sequence[str]
    not_computed: int


def _excel(path: Path, name: str) -> Table:
    """Read the first sheet. Its header is the first row, or the row under a title."""
    sheet = _sheet(path, name)
    rows = sheet.rows
    while rows and not rows[-1]:
        rows.pop()
    padded = ([*row, *[None] * (sheet.width - len(row))] for row in rows)
    found = _under_title(_texts(padded))
    notes = []
    if sheet.others:
        others = ", ".join(sheet.others)[:200]
        notes.append(f"Read the first sheet, “{sheet.name}”; not read: {others}.")
    if sheet.not_computed:
        notes.append(
            f"Read as empty, because the file has no value for them: "
            f"{count(sheet.not_computed, 'formula')}. Open the file in a spreadsheet and save it."
        )
    if found.note:
        notes.append(found.note)
    table = _table(name, next(found.rows, []), found.rows, " ".join(notes))
    return replace(table, first_line=found.above + 2)


def _sheet(path: Path, name: str) -> _Sheet:
    """Return the first sheet. Raises LabError for one beyond the limits, and for a broken file."""
    import zipfile

    import openpyxl

    try:
        with zipfile.ZipFile(path) as book:
            if sum(part.file_size for part in book.infolist()) > limits.MAX_FILE:
                most = f"{limits.MAX_FILE // MB} MB"
                raise refusal(name, f" unpacks to more than {most}. Save it as CSV.")
            # From bytes: the worker's file has no ending, which openpyxl asks for.
            workbook = openpyxl.load_workbook(
                io.BytesIO(path.read_bytes()), read_only=True, data_only=True
            )
            sheet = workbook.worksheets[0]
            not_computed = len(NOT_COMPUTED.findall(book.read(sheet._worksheet_path)))
        # A sheet may claim any size, and openpyxl would make every row that wide.
        sheet.reset_dimensions()
        rows: list[list[Any]] = []
        width = 0
        for row in sheet.iter_rows(values_only=True):
            filled = _without_empty_end(row)
            rows.append(filled)
            width = max(width, len(filled))
            _refuse_spread(name, len(rows), width)
    except LabError:
        raise
    except Exception as fault:  # openpyxl raises whatever a broken part leads it to
        why = shorten(f"{type(fault).__name__}: {fault}", 120)
        words = f": could not open this Excel workbook ({why}). Save it as CSV."
        raise refusal(name, words) from None
    first, *others = workbook.sheetnames
    return _Sheet(first, rows, width, others, not_computed)


def _without_empty_end(row: Sequence[Any]) -> list[Any]:
    last = len(row)
    while last and row[last - 1] is None:
        last -= 1
    return list(row[:last])


def _refuse_spread(name: str, rows: int, width: int) -> None:
    """Raise LabError for a sheet with more cells than fit: one far cell makes all rows wide."""
    cells = max(width, 1) * rows
    if width > limits.MAX_COLUMNS or cells > limits.MAX_CELLS or rows > SHEET_ROWS:
        spread = f"at least {width:,} columns and {rows:,} rows"
        most = f"{limits.MAX_COLUMNS:,} columns, {SHEET_ROWS:,} rows and {limits.MAX_CELLS:,} cells"
        raise refusal(
            name, f" spreads over {spread}; the limit of a sheet is {most}. Save it as CSV."
        )
