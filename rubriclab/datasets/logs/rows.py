"""A table as records, whatever its file: JSON lines, a list of JSON objects, CSV or TSV, Parquet."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from rubriclab.datasets.limits import MAX_COLUMNS, MB, reading
from rubriclab.datasets.logs.source import PARQUET, ZIP, Source
from rubriclab.model import DataError
from rubriclab.model.language import tr

MAX_CELL = 10 * MB
"""Signs of one cell; ``datasets.delimited`` allows as many."""


def rows(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """(number from 1, cells by column) of each row. Raises DataError, with its place, for a broken file."""
    if source.magic == PARQUET:
        return _parquet(source)
    if source.head[:1] in ("{", "["):
        return source.records()
    if source.magic == ZIP or not source.head:
        raise DataError(
            tr("“{name}” is no table: give CSV, TSV, JSON lines, a JSON list, or Parquet.", name=source.name)
        )
    return _delimited(source)


def first_row(source: Source) -> Mapping[str, Any]:
    """The first row, of delimited text its columns alone; empty for a file that is no table. Raises
    DataError for a Parquet file that is not whole."""
    if source.first or source.head[:1] in ("{", "["):
        return source.first[0] if source.first else {}
    if source.magic == PARQUET:
        first = next((row for _, row in islice(_parquet(source), 1)), {})
        source.read = 0
        return first
    if not source.head:
        return {}
    return dict.fromkeys(_cells(source.head.partition("\n")[0]), "")


def _cells(line: str) -> list[str]:
    """A header's names."""
    try:
        return [name.strip() for name in next(csv.reader([line], delimiter=_delimiter(line)), [])]
    except csv.Error:
        return []


def _delimiter(line: str) -> str:
    return max("\t,;|", key=line.count)


def _parquet(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    from rubriclab.datasets.parquet import parquet_batches

    number = 0
    with source.open() as file:
        for batch in parquet_batches(source.name, file):
            for record in batch.to_pylist():
                number += 1
                yield number, record
            source.read = file.tell()


def _delimited(source: Source) -> Iterator[tuple[int, Mapping[str, Any]]]:
    delimiter = _delimiter(source.head.partition("\n")[0])
    before = csv.field_size_limit(MAX_CELL)
    with reading(source.name, tr("is not a readable table")):
        try:
            table = csv.reader(source.lines(), delimiter=delimiter, strict=True)
            header = [name.strip() for name in next(table, [])]
            if len(set(header)) < len(header) or len(header) > MAX_COLUMNS:
                raise DataError(
                    tr(
                        "“{name}” names a column twice, or has more than {most:,} of them.",
                        name=source.name,
                        most=MAX_COLUMNS,
                    )
                )
            for number, cells in enumerate((row for row in table if row), start=1):
                if len(cells) != len(header):
                    raise DataError(
                        tr(
                            "“{name}”, row {row:,} (line {line:,}), has {cells:,} cells under {columns:,} columns. "
                            "Nothing was imported.",
                            name=source.name,
                            row=number,
                            line=table.line_num,
                            cells=len(cells),
                            columns=len(header),
                        )
                    )
                yield number, dict(zip(header, cells, strict=True))
        except csv.Error as fault:
            raise DataError(
                tr(
                    "“{name}”, line {line:,}: {fault}. Is it cut off?",
                    name=source.name,
                    line=table.line_num,
                    fault=fault,
                )
            ) from fault
        finally:
            csv.field_size_limit(before)
