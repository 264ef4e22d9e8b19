"""Parquet as a frame: how much comes out is counted before the texts are spelled out.

A column that repeats one text is a few bytes in a file and as long as its rows in memory, so
texts are read as codes into their dictionary, measured, and spelled out batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import pandas as pd
import pyarrow as pa
import pyarrow.compute as arrow_compute
import pyarrow.parquet as arrow_parquet

from rubriclab.datasets.limits import MAX_CELLS, MAX_COLUMNS, MAX_UNPACKED_MB, MB, reading
from rubriclab.model import DataError, LabError
from rubriclab.model.language import tr
from rubriclab.model.wording import many

BATCH_ROWS = 16_384


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
        leaves = [plain.schema.column(i) for i in range(len(plain.schema))]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        coded = arrow_parquet.ParquetFile(pa.BufferReader(content), read_dictionary=texts)
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
        leaves = [plain.schema.column(i) for i in range(len(plain.schema))]
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
        coded = arrow_parquet.ParquetFile(file, read_dictionary=texts)
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


def _refuse_shape(name: str, known: arrow_parquet.FileMetaData, max_rows: int, error: type[LabError]) -> None:
    """What the file's own directory says: rows, columns, and values in nested columns."""
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
    most = max(
        (
            sum(known.row_group(g).column(c).num_values for g in range(known.num_row_groups))
            for c in range(known.num_columns)
        ),
        default=0,
    )
    if most > MAX_CELLS:
        raise error(
            tr(
                "“{name}” has a column of {values:,} values; {most:,} are read. Split the file.",
                name=name,
                values=most,
                most=MAX_CELLS,
            )
        )


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
