"""Delimited text as a table: the delimiter asked for or seen, every cell as text, no row bent."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator

import pandas as pd
import pyarrow as pa
import pyarrow.compute as arrow_compute
import pyarrow.csv as arrow_csv

from rubriclab.datasets.limits import MAX_COLUMNS, refuse_cells, refuse_names, refuse_separators
from rubriclab.datasets.outfiles import SHIELDED
from rubriclab.datasets.prometheus import MAX_NAME
from rubriclab.model import DataError
from rubriclab.model.language import msg, tr

DELIMITERS = {",": msg("comma"), ";": msg("semicolon"), "\t": msg("tab"), "|": msg("vertical bar")}
OTHER_DELIMITERS = "^~:#\x01\x1f"
SNIFFED_ROWS = 50
_MB = 1_000_000
MAX_HEADER = 2 * MAX_COLUMNS * (MAX_NAME + 3)
"""Signs of the first row that are looked at: more have too many columns or too long a name."""
_BLANK = re.compile(r"[\r\n]*")
_LINE = re.compile(r"[^\r\n]*+(?:\r\n|\r|\n)|[^\r\n]++")
# The reader of Python has one limit for the process, 131,072 signs a cell, which an essay passes.
# It only finds where a table is broken; without a limit an open quote takes six times the file.
csv.field_size_limit(10_000_000)


def delimited_frame(name: str, text: str, suffix: str, delimiter: str | None, notes: list[str]) -> pd.DataFrame:
    """CSV and its kin. Arrow refuses rows of another width, so nothing is padded or lost."""
    used = _delimiter(name, text, suffix, delimiter, notes)
    table = _arrow_table(name, text, used)
    _refuse_open_quote(name, text, used)
    names = [column.strip() or f"column {i + 1}" for i, column in enumerate(table.column_names)]
    refuse_repeated(name, names)
    frame = pd.DataFrame(_unshielded(table.rename_columns(names), notes).to_pandas())
    lines = text.rstrip("\r\n").count("\n") + 1
    if lines == len(frame) + 1:
        frame.attrs["first_line"] = 2
    return frame


def _delimiter(name: str, text: str, suffix: str, delimiter: str | None, notes: list[str]) -> str:
    """The delimiter asked for or seen. Raises DataError where the two differ."""
    seen = _sniffed(text)
    expected = delimiter or ("\t" if suffix == ".tsv" else None)
    if expected and seen and seen != expected:
        raise DataError(
            tr(
                "“{name}” should be separated by {expected}, but its lines look separated by {seen}. Choose "
                "that delimiter, or rename the file.",
                name=name,
                expected=_spoken(expected),
                seen=_spoken(seen),
            )
        )
    used = expected or seen or ","
    if seen is None and expected is None:
        _refuse_other_delimiter(name, text)
    elif expected is None and used != ",":
        notes.append(tr("Read with the delimiter {delimiter}.", delimiter=_spoken(used)))
    return used


def _arrow_table(name: str, text: str, delimiter: str) -> pa.Table:
    header = _header(text, delimiter)
    refuse_cells(name, 1, len(header))
    refuse_names(name, header)
    data = text.encode()
    refuse_separators(name, data, delimiter.encode())
    # A block as long as the text: no cell can be cut by a block's end.
    try:
        return arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(block_size=len(data) + 1, use_threads=False),
            parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
            convert_options=arrow_csv.ConvertOptions(
                # As text: an id like 007 or a score like 3.0 stays what it was.
                column_types=dict.fromkeys(header, pa.string()),
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowInvalid, pa.ArrowKeyError) as error:
        fault = _csv_fault(name, text, delimiter)
        raise DataError(fault or tr("“{name}” cannot be read as a table: {error}", name=name, error=error)) from error


def _sniffed(text: str) -> str | None:
    """The delimiter that cuts the first rows into the same number of parts; None for none."""
    head = text.splitlines(keepends=True)[: SNIFFED_ROWS * 4] if len(text) < _MB else None
    lines = head or text[:_MB].splitlines(keepends=True)[: SNIFFED_ROWS * 4]
    best, best_rank = None, (0.0, 0)
    for delimiter in DELIMITERS:
        widths = [len(row) for row in _rows(lines, delimiter) if row][:SNIFFED_ROWS]
        if not widths or widths[0] < 2:
            continue
        rank = (sum(width == widths[0] for width in widths) / len(widths), widths[0])
        if rank > best_rank:
            best, best_rank = delimiter, rank
    return best


def _rows(lines: Iterable[str], delimiter: str) -> list[list[str]]:
    """As many rows as Python's reader can make of ``lines``; for sniffing only."""
    rows: list[list[str]] = []
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        rows.extend(reader)
    except csv.Error:
        return rows
    return rows


def _spoken(delimiter: str) -> str:
    name = tr(DELIMITERS[delimiter]) if delimiter in DELIMITERS else tr("the sign")
    return f"{name} ({delimiter!r})"


def _refuse_other_delimiter(name: str, text: str) -> None:
    lines = [line for line in text.splitlines()[:SNIFFED_ROWS] if line.strip()]
    for sign in OTHER_DELIMITERS:
        counts = {line.count(sign) for line in lines}
        if len(lines) > 1 and len(counts) == 1 and counts.pop() > 0:
            raise DataError(
                tr(
                    "“{name}” has one column when cut at {signs}; its lines look separated by {sign!r}. Save it "
                    "with commas, or choose the delimiter.",
                    name=name,
                    signs=", ".join(map(tr, DELIMITERS.values())),
                    sign=sign,
                )
            )


def _header(text: str, delimiter: str) -> list[str]:
    """The first row that has cells; the beginning of one that is longer than any that is read."""
    blank = _BLANK.match(text)
    head = text[blank.end() if blank else 0 :][:MAX_HEADER]
    return next((row for row in csv.reader(_lines(head), delimiter=delimiter) if row), [])


def _lines(text: str) -> Iterator[str]:
    """The lines with their ends, one by one: a StringIO would hold four bytes a sign."""
    return (line.group() for line in _LINE.finditer(text))


def _unshielded(table: pa.Table, notes: list[str]) -> pa.Table:
    """The apostrophe that keeps a spreadsheet from computing a text, taken off again."""
    count = 0
    for at, name in enumerate(table.column_names):
        column = table.column(at)
        shielded = arrow_compute.match_substring_regex(column, SHIELDED)
        if not (here := arrow_compute.sum(shielded).as_py()):
            continue
        count += here
        plain = arrow_compute.if_else(shielded, arrow_compute.utf8_slice_codeunits(column, 1), column)
        table = table.set_column(at, name, plain)
    if count:
        notes.append(
            tr(
                "{count:,} cells begin with an apostrophe and a sign of a formula; the apostrophe, which says "
                "“this is text” to a spreadsheet, was taken off.",
                count=count,
            )
        )
    return table


def _csv_fault(name: str, text: str, delimiter: str) -> str | None:
    """The first line of another width than the header's, or a broken quote, in words."""
    reader = csv.reader(_lines(text), delimiter=delimiter, strict=True)
    start, width = 1, 0
    try:
        for row in reader:
            if row and not width:
                width = len(row)
            elif row and len(row) != width:
                return tr(
                    "“{name}”, line {line:,}: {cells} cells, but the header names {width} columns. Put double quotes "
                    "around cells that hold a {delimiter}.",
                    name=name,
                    line=start,
                    cells=len(row),
                    width=width,
                    delimiter=_spoken(delimiter),
                )
            start = reader.line_num + 1
    except csv.Error as error:
        return tr(
            "“{name}”, line {line:,}: {error}. A quote opened there is not closed as CSV asks.",
            name=name,
            line=start,
            error=error,
        )
    return None


def _refuse_open_quote(name: str, text: str, delimiter: str) -> None:
    """A quote that never closes swallows every row after it; Arrow lets that pass."""
    fault = _csv_fault(name, text, delimiter) if text.count('"') % 2 else None
    if fault:
        raise DataError(fault)


def refuse_repeated(name: str, names: Iterable[str]) -> None:
    repeated = [column for column, count in Counter(names).items() if count > 1]
    if repeated:
        shown = ", ".join(tr("“{name}”", name=column) for column in repeated[:8])
        raise DataError(tr("“{name}” has several columns named {shown}; rename them apart.", name=name, shown=shown))
