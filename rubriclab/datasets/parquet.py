"""Parquet as a frame: how much comes out is counted before the texts are spelled out.

A column that repeats one text is a few bytes in a file and as long as its rows in memory, so
texts are read as codes into their dictionary, measured, and spelled out batch by batch, or stay codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as arrow_compute
import pyarrow.parquet as arrow_parquet
from numpy.typing import NDArray

from rubriclab.datasets.limits import (
    MAX_CELLS,
    MAX_CODED_CELLS,
    MAX_CODED_ROWS,
    MAX_COLUMNS,
    MAX_UNPACKED_MB,
    MB,
    reading,
    refuse_cells,
)
from rubriclab.model import DataError, LabError
from rubriclab.model.language import tr
from rubriclab.model.wording import many

BATCH_ROWS = 16_384
CODED_ROWS = 65_536


def parquet_table(
    name: str,
    content: bytes,
    *,
    max_rows: int = MAX_CELLS,
    max_bytes: int = MAX_UNPACKED_MB * MB,
    error: type[LabError] = DataError,
) -> pa.Table:
    """The table in a Parquet file. Raises ``error`` beyond the limits, and for a broken file."""
    with reading(name, tr("is not a readable Parquet file"), error):
        plain = arrow_parquet.ParquetFile(pa.BufferReader(content))
        _refuse_shape(name, plain.metadata, max_rows, error)
        coded = arrow_parquet.ParquetFile(pa.BufferReader(content), read_dictionary=_texts(plain))
        schema = _castable(plain.schema_arrow)
        size, batches = 0, []
        for batch in coded.iter_batches(batch_size=BATCH_ROWS):
            size += sum(map(_bytes_of, batch.columns))
            if size > max_bytes:
                raise error(
                    tr(
                        "“{name}” unpacks to more than {size:,.0f} MB; that much is read. Split it, or leave out columns "
                        "that are not needed.",
                        name=name,
                        size=max_bytes / MB,
                    )
                )
            plain_batch = batch.cast(schema)
            plain_batch.validate(full=True)  # texts are UTF-8, offsets within their data
            batches.append(plain_batch)
        return pa.Table.from_batches(batches, schema=schema)


def parquet_frame(name: str, content: bytes) -> pd.DataFrame:
    """``parquet_table`` as a frame whose whole numbers stay whole beside missing cells."""
    table = parquet_table(name, content)
    with reading(name, tr("is not a readable Parquet file")):
        return pd.DataFrame(table.to_pandas(integer_object_nulls=True))


def parquet_codes(name: str, content: bytes) -> pd.DataFrame:
    """The table as categories: each different value of a column once, every row a code of 32 bits.

    For tables of millions of rows of few different values; no more than ``CODED_ROWS`` of them are spelled
    out at a time. One with values in each other, or with a name twice, is read as by ``parquet_frame``, whose limits are lower.
    Raises DataError beyond MAX_CODED_ROWS and MAX_CODED_CELLS, for different texts of more than
    MAX_UNPACKED_MB, and for a broken file.
    """
    with reading(name, tr("is not a readable Parquet file")):
        known = arrow_parquet.ParquetFile(pa.BufferReader(content))
        schema = _castable(known.schema_arrow)
        if any(map(pa.types.is_nested, schema.types)) or len(set(schema.names)) < len(schema):
            return parquet_frame(name, content)
        _refuse_shape(name, known.metadata, MAX_CODED_ROWS, DataError, most=MAX_CODED_CELLS)
        file = arrow_parquet.ParquetFile(pa.BufferReader(content), read_dictionary=_texts(known))
        columns = [_Codes() for _ in schema]
        for batch in file.iter_batches(batch_size=CODED_ROWS):
            for column, values in zip(columns, batch.columns, strict=True):
                column.add(values)
            if sum(column.size for column in columns) > MAX_UNPACKED_MB * MB:
                raise DataError(
                    tr(
                        "“{name}” has more than {size:,.0f} MB of different texts; that much is read. Leave out columns "
                        "that are not needed.",
                        name=name,
                        size=MAX_UNPACKED_MB,
                    )
                )
        return pd.DataFrame({field.name: c.categories() for field, c in zip(schema, columns, strict=True)}, copy=False)


class _Codes:
    """A column as codes by appearance, read part by part; ``size``: bytes of its different values."""

    def __init__(self) -> None:
        self.size = 0
        self._code: dict[object, int] = {}
        self._parts: list[NDArray[np.int32]] = []

    def add(self, values: pa.Array) -> None:
        coded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        own = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        # A dictionary may be that of all rows of the file: only what occurs here is spelled out, by appearance.
        used = pd.unique(own[own >= 0])
        spelled = coded.dictionary.take(pa.array(used))
        spelled.validate(full=True)
        lookup = np.full(len(coded.dictionary) + 1, -1, dtype=np.int32)
        lookup[used] = [self._known(value) for value in spelled.to_pylist()]
        self._parts.append(lookup[own])

    def _known(self, value: object) -> int:
        if value != value:  # not a number
            return -1
        if value not in self._code:
            self.size += len(value) if isinstance(value, str | bytes) else 8
            self._code[value] = len(self._code)
        return self._code[value]

    def categories(self) -> pd.Categorical:
        codes = np.concatenate(self._parts) if self._parts else np.empty(0, dtype=np.int32)
        return pd.Categorical.from_codes(codes, pd.Index(list(self._code), dtype=object))


def parquet_batches(name: str, file: IO[bytes], *, rows: int = 256) -> Iterator[pa.RecordBatch]:
    """The rows of a Parquet file of any length, some at a time, each part measured before it is spelled out.

    Raises DataError for a broken file, and for a part beyond MAX_UNPACKED_MB.
    """
    with reading(name, tr("is not a readable Parquet file")):
        plain = arrow_parquet.ParquetFile(file)
        if plain.metadata.num_columns > MAX_COLUMNS:
            raise DataError(
                tr(
                    "“{name}” has {columns:,} columns; {most:,} are read.",
                    name=name,
                    columns=plain.metadata.num_columns,
                    most=MAX_COLUMNS,
                )
            )
        coded = arrow_parquet.ParquetFile(file, read_dictionary=_texts(plain))
        schema = _castable(plain.schema_arrow)
        for batch in coded.iter_batches(batch_size=rows):
            if sum(map(_bytes_of, batch.columns)) > MAX_UNPACKED_MB * MB:
                raise DataError(
                    tr(
                        "“{name}” unpacks to more than {most:,} MB in {rows} rows. Is it a log?",
                        name=name,
                        most=MAX_UNPACKED_MB,
                        rows=rows,
                    )
                )
            plain_batch = batch.cast(schema)
            plain_batch.validate(full=True)
            yield plain_batch


def _refuse_shape(
    name: str, known: arrow_parquet.FileMetaData, max_rows: int, error: type[LabError], *, most: int | None = None
) -> None:
    """What the file's own directory says: rows, columns, values in nested columns; ``most``: cells of all."""
    if not 0 <= known.num_rows <= max_rows:
        raise error(
            tr(
                "“{name}” has {rows}; {most:,} are read. Split it.",
                name=name,
                rows=many(known.num_rows, "row"),
                most=max_rows,
            )
        )
    if known.num_columns > MAX_COLUMNS:
        raise error(
            tr(
                "“{name}” has {columns:,} columns; {most:,} are read. Leave some out.",
                name=name,
                columns=known.num_columns,
                most=MAX_COLUMNS,
            )
        )
    if most is not None:
        refuse_cells(name, known.num_rows, known.num_columns, most=most)
        return
    values = _most_values(known)
    if values > MAX_CELLS:
        raise error(
            tr(
                "“{name}” has a column of {values:,} values; {most:,} are read. Split the file.",
                name=name,
                values=values,
                most=MAX_CELLS,
            )
        )


def _most_values(known: arrow_parquet.FileMetaData) -> int:
    """Of the column with the most, those in lists counted."""
    groups = range(known.num_row_groups)
    return max(
        (sum(known.row_group(g).column(c).num_values for g in groups) for c in range(known.num_columns)), default=0
    )


def _texts(file: arrow_parquet.ParquetFile) -> list[str]:
    """The columns that can be read as codes into their dictionary."""
    leaves = [file.schema.column(i) for i in range(len(file.schema))]
    return [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]


def _castable(schema: pa.Schema) -> pa.Schema:
    """The schema with views of texts as texts: Arrow cannot spell codes out into views."""
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return pa.schema([f.with_type(plain.get(f.type, f.type)) for f in schema], schema.metadata)


def _bytes_of(array: pa.Array) -> int:
    """What an array takes once its texts are spelled out."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        lengths = arrow_compute.binary_length(array.dictionary).take(array.indices)
        return int(array.indices.nbytes) + int(arrow_compute.sum(lengths).as_py() or 0)
    if pa.types.is_map(kind):
        return int(array.nbytes) + _bytes_of(array.items) + _bytes_of(array.keys)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return int(array.offsets.nbytes) + _bytes_of(array.flatten())
    if pa.types.is_struct(kind):
        return sum(map(_bytes_of, array.flatten()))
    return int(array.nbytes)
