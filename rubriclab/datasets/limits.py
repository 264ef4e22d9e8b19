"""How much a file may hold, and what becomes of a fault while it is read.

Every number is checked while the file is read, before what it bounds is built, and a message
gives the value, the limit and what to do. ``reading`` is the door every reader is entered by:
whatever a library raises in it comes out as a fault that names the file.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from rubriclab.model import DataError, LabError
from rubriclab.model.language import tr
from rubriclab.model.wording import many

MB = 1_000_000
MAX_FILE_MB = 4_000
"""A file on this machine. Uploads have the lower limit of ``tables.MAX_UPLOAD_MB``."""
MAX_PLAIN_MB = 2
"""A rubric or a study: what people write by hand. YAML of this size takes eight seconds."""
MAX_UNPACKED_MB = 500
MAX_BOOK_MB = 200
"""The XML in an Excel workbook; reading takes about ten times as much memory."""
MAX_BOOK_PART_MB = 20
"""Any part of a workbook but its cells and texts: those are read in one piece."""
MAX_RATIO, SMALL = 200, 20 * MB
"""Beyond SMALL bytes, more than MAX_RATIO times its packed size is no honest file."""
MAX_DEPTH = 64
"""Lists and objects in each other. Python gives up at about 1,000."""
MAX_NODES = 100_000
"""Values in a YAML file, an alias counted as all that it stands for."""
MAX_DIGITS = 300
"""Of a whole number: more do not fit into a floating-point number."""
MAX_CELLS, MAX_COLUMNS, MAX_NAME = 20_000_000, 4_000, 1_000
"""Cells of a table (rows x columns, blank ones too), its columns, and the signs of their names."""
MAX_CODED_ROWS, MAX_CODED_CELLS = 50_000_000, 500_000_000
"""Of a table of judgments whose rows are codes, 4 bytes a cell."""


@contextmanager
def reading(
    name: str, what: str = "", error: type[LabError] = DataError, *, but: type[Exception] = LabError
) -> Iterator[None]:
    """The door every reader is entered by: any fault inside comes out as ``error``.

    A LabError goes through as it is, since it names its place already, and so does ``but``,
    which the reader says in its own words. The message says of the file “``name``” that it
    ``what``, and the fault's own words.
    """
    what = what or tr("cannot be read")
    try:
        yield
    except (LabError, but):
        raise
    except RecursionError as fault:
        raise error(
            tr(
                "“{name}” {what}: its values are nested too deep; {most} levels are read. Flatten it.",
                name=name,
                what=what,
                most=MAX_DEPTH,
            )
        ) from fault
    except MemoryError as fault:
        raise error(
            tr(
                "“{name}” {what}: it takes more memory than there is. Split it, or use a machine with more.",
                name=name,
                what=what,
            )
        ) from fault
    except Exception as fault:
        raise error(tr("“{name}” {what}: {fault}.", name=name, what=what, fault=_words(fault))) from fault


def _words(fault: Exception) -> str:
    """A fault of a library in one line."""
    message = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
    line = " ".join(message.split())[:300].rstrip(".")
    # A bare key or index says nothing without the kind of fault that it is.
    bare = not line or isinstance(fault, LookupError | AssertionError | AttributeError)
    return f"{type(fault).__name__} {line}".strip() if bare else line


# ---------------------------------------------------------------- bytes


def read_file(path: Path, *, limit_mb: float = MAX_FILE_MB, error: type[LabError] = DataError) -> bytes:
    """The bytes of an ordinary file. Raises ``error`` for any other, which is never waited for."""
    regular_file(path, limit_mb=limit_mb, error=error)
    with reading(str(path), error=error):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(int(limit_mb * MB) + 1)
    _refuse_large(str(path), len(content), limit_mb, error)
    return content


def regular_file(path: Path, *, limit_mb: float = MAX_FILE_MB, error: type[LabError] = DataError) -> Path:
    """``path`` itself, where it is an ordinary file that is not too large.

    A pipe or a device would be waited for without end, or never come to one. Raises ``error``.
    """
    with reading(str(path), error=error):
        known = path.stat()
    if not stat.S_ISREG(known.st_mode):
        kind = tr("a folder") if stat.S_ISDIR(known.st_mode) else tr("a pipe or a device")
        raise error(tr("{path} cannot be read: it is {kind}, not a file. Name a file.", path=path, kind=kind))
    _refuse_large(str(path), known.st_size, limit_mb, error)
    return path


def _refuse_large(name: str, size: int, limit_mb: float, error: type[LabError]) -> None:
    if size > limit_mb * MB:
        raise error(
            tr(
                "{name} has {size:,.1f} MB; the limit is {limit:,g} MB. Split the file.",
                name=name,
                size=size / MB,
                limit=limit_mb,
            )
        )


def gunzipped(name: str, content: bytes) -> bytes:
    """What a gzip file holds. Raises DataError beyond the limits, for which it is unpacked twice:
    what is counted first is not kept."""
    with reading(name, tr("is not a whole gzip file")):
        size = 0
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            while chunk := file.read(MB):
                size += len(chunk)
                refuse_bomb(name, len(content), size, MAX_UNPACKED_MB * MB)
        return gzip.decompress(content)


def refuse_bomb(name: str, packed: int, unpacked: int, limit: int, error: type[LabError] = DataError) -> None:
    """Raises ``error`` where so many bytes out of so few are more than any honest file."""
    if unpacked > limit:
        raise error(
            tr(
                "“{name}” would unpack to more than {limit:,.0f} MB ({seen:,.0f} MB of it seen, from {packed:,.1f} MB). "
                "Split it, or save it as Parquet.",
                name=name,
                limit=limit / MB,
                seen=unpacked / MB,
                packed=packed / MB,
            )
        )
    if unpacked > SMALL and unpacked > MAX_RATIO * packed:
        raise error(
            tr(
                "“{name}” would unpack to {unpacked:,.0f} MB or more from {packed:,.2f} MB: over {times} times as "
                "much, which no honest file does. Give it unpacked.",
                name=name,
                unpacked=unpacked / MB,
                packed=packed / MB,
                times=MAX_RATIO,
            )
        )


_BOOK_CELLS = re.compile(r"xl/(worksheets/[^/]*|sharedStrings)\.xml", re.IGNORECASE)


def checked_workbook(name: str, content: bytes) -> None:
    """Refuse a workbook whose parts are too large, or that defines entities, before it is read.

    Each part is unpacked once in chunks: a directory may say less than what comes out. Raises
    DataError; BadZipFile and its kin go through to the reader's door.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as book:
        whole = 0
        for part in book.infolist():
            limit = MAX_BOOK_MB if _BOOK_CELLS.fullmatch(part.filename) else MAX_BOOK_PART_MB
            size, tail = 0, b""
            with book.open(part) as file:
                while chunk := file.read(MB):
                    size, whole = size + len(chunk), whole + len(chunk)
                    refuse_bomb(f"{name}, {part.filename}", part.compress_size, size, limit * MB)
                    refuse_bomb(name, len(content), whole, MAX_BOOK_MB * MB)
                    # No office file has a document type; one that has can make a little text
                    # into much. Without its zero bytes UTF-16 is seen as well.
                    seen = tail + chunk.replace(b"\0", b"")
                    if b"<!DOCTYPE" in seen:
                        raise DataError(
                            tr(
                                "“{name}” is not a readable Excel workbook: {part} has a document type (DTD), which no "
                                "spreadsheet writes. Save it again.",
                                name=name,
                                part=part.filename,
                            )
                        )
                    tail = seen[-16:]


def refuse_names(name: str, columns: Iterable[str]) -> None:
    """Raises DataError for a column whose name is a text: the header is missing, then."""
    for number, column in enumerate(columns, start=1):
        if len(column) > MAX_NAME:
            raise DataError(
                tr(
                    "“{name}”: the name of column {number:,} has more than {most:,} signs (“{column}…”); that "
                    "many are read. Is the first row a header?",
                    name=name,
                    number=number,
                    most=MAX_NAME,
                    column=column[:40],
                )
            )


def refuse_separators(name: str, data: bytes, delimiter: bytes) -> None:
    """Raises DataError for delimited text of more cells than are read, before any is made.

    Those within quotes belong to a text; they are told apart only where it matters.
    """
    cells = data.count(delimiter) + data.count(b"\n") + data.count(b"\r")
    if cells <= MAX_CELLS:
        return
    cells, quoted, signs = 0, 0, np.frombuffer(data, np.uint8)
    for start in range(0, len(signs), MB):
        part = signs[start : start + MB]
        quotes = np.cumsum(part == ord('"'), dtype=np.uint32) + quoted
        quoted = int(quotes[-1]) % 2
        ends = (part == ord(delimiter)) | (part == ord("\n"))
        cells += int(np.count_nonzero(ends & (quotes % 2 == 0)))
    if cells > MAX_CELLS:
        raise DataError(
            tr(
                "“{name}” has {cells:,} cells or more; {most:,} are read. Split it, or leave out columns "
                "and rows that hold nothing.",
                name=name,
                cells=cells,
                most=MAX_CELLS,
            )
        )


def refuse_cells(name: str, rows: int, columns: int, *, most: int = MAX_CELLS) -> None:
    """Raises DataError for a table that spreads wider or over more cells than are read."""
    if columns > MAX_COLUMNS:
        raise DataError(
            tr(
                "“{name}” has more than {most:,} columns ({columns:,} seen); that many are read. Give "
                "each record one row, and leave out columns that are not needed.",
                name=name,
                most=MAX_COLUMNS,
                columns=columns,
            )
        )
    if rows * columns > most:
        raise DataError(
            tr(
                "“{name}” spreads over {rows} and {columns:,} columns; {most:,} cells are read. Split it, "
                "leave out columns, or clear cells that stand far off by accident.",
                name=name,
                rows=many(rows, "row"),
                columns=columns,
                most=most,
            )
        )
