"""Read the records of a log one by one, whatever form the file has.

Records are JSON lines, a list (at the top or under keys), the members of a zip, or rows of a table.
This runs only in the worker. No more than one record is decoded at a time: lines are read as they
come, and one large JSON is mapped into memory and cut into records by msgspec without a copy.
"""

import json
import mmap
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any, Literal

import msgspec
import pyarrow as pa

from rubriclab.data.limits import MAX_FILE, MB, refusal
from rubriclab.data.tables import ENDINGS, read_here, unpacked

MAX_LOG = 1_000 * MB
"""Size of a log, packed or not. Logs of real evaluations reach some hundred megabytes."""
MAX_RECORD = 64 * MB
"""Size of one record: the most that is decoded at a time, so that memory stays bounded."""
MAX_OUT = 2_000 * MB
"""Bytes that all members of a zip may unpack to; more is a zip bomb."""
ZSTANDARD = 93
"""The zip format's number for Zstandard (APPNOTE 6.3.8, 4.4.5).

inspect-ai writes it, and Python's zipfile reads it only from 3.14 on.
"""
HEAD = 4096
"""Bytes that tell the form of a file."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
MAX_NAME = 300
"""Characters of a name in a log; more would be a text."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One judgment in a log.

    kind: empty where the order is only in the prompt, so that ``exchanges`` has to find it
    cells: columns of ``data/scores.py``
    prompt: the messages as they were sent; empty where the log keeps none
    verdict: what the tool itself parsed from the reply; empty for nothing
    finish: the finish reason of the reply; empty where the log keeps none. A reply that was cut off
        has no verdict.
    """

    kind: Literal["scores", "pairs", "lists", ""] = ""
    cells: dict[str, str] = field(default_factory=dict)
    prompt: tuple[Mapping[str, str], ...] = ()
    reply: str = ""
    verdict: str = ""
    finish: str = ""


class Source:
    """One log file, whose records are read one by one.

    form: how the file holds its records; empty if in no way that logs do
    first: the first record, or the object that the file is, or the names of a zip's members
    siblings: files that may belong to the log, for example the input of a batch
    broken: how many parts were not JSON objects when ``records`` last went through the file

    Raises LabError for a gzip bomb.
    """

    def __init__(
        self, path: Path, name: str, scratch: Path, siblings: tuple[Path, ...] = ()
    ) -> None:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        self.path = unpacked(path, name, scratch) if packed else path
        self.name, self.siblings, self.broken = name, siblings, 0
        self.form: Literal["zip", "lines", "json", "table", ""] = "json"
        self._whole: Any = None
        with self.path.open("rb") as file:
            head = file.read(HEAD).removeprefix(BYTE_ORDER_MARK).lstrip()
            file.seek(0)
            line = file.readline(MAX_RECORD)
            has_more_lines = bool(file.read(HEAD).strip())
        ending = PurePath(name.lower().removesuffix(".gz")).suffix
        # A workbook is a zip too, but its rows are those of a table.
        if head.startswith(b"PK\x03\x04") and ending not in (".xlsx", ".xlsm"):
            self.form = "zip"
            with zipfile.ZipFile(self.path) as book:
                self._whole = dict.fromkeys(book.namelist())
        elif head.startswith(b"{") and has_more_lines and isinstance(decoded(line), dict):
            self.form = "lines"
        elif head.startswith((b"{", b"[")):
            with self.path.open("rb") as file:
                self._whole = _cut(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        elif ending in ENDINGS:
            self.form, self._whole = "table", read_here(self.path, name)
        else:
            self.form = ""
        self.first: Json = {}
        if isinstance(self._whole, dict):
            self.first = self._whole
        else:
            self.first = next(self.records(), {})

    def has(self, *fields: str) -> bool:
        """Return whether the first record has all these fields."""
        return all(name in self.first for name in fields)

    def records(self, *keys: str) -> Iterator[Json]:
        """Yield each record; count in ``broken`` what is not a JSON object.

        ``keys``: where their list (or an object of them) is in the one object of the file; for a
        zip, what the names of its members begin with.
        """
        self.broken = 0
        for part in self._parts(keys):
            if isinstance(part, msgspec.Raw) and len(memoryview(part)) > MAX_RECORD:
                self.broken += 1
                continue
            value = decoded(part)
            if isinstance(value, dict):
                yield value
            else:
                self.broken += 1

    def _parts(self, keys: tuple[str, ...]) -> Iterable[Any]:
        """Return the records of the file, most of them not decoded yet."""
        if self.form == "zip":
            return self._unzipped(keys[0] + "/")
        if self.form == "lines":
            return self._lines()
        if self.form == "table":
            return self._table_rows()
        parts = self._whole
        for key in keys:
            inner = _cut(parts)
            parts = inner.get(key) if isinstance(inner, dict) else None
        parts = _cut(parts)
        if not isinstance(parts, dict):
            return parts or ()
        # An object is one record if any of its values is not an object, else one per value.
        raws = [value for value in parts.values() if isinstance(value, msgspec.Raw)]
        if not keys and any(bytes(memoryview(raw)[:1]) != b"{" for raw in raws):
            return [{key: decoded(value) for key, value in parts.items()}]
        return parts.values()

    def _table_rows(self) -> Iterator[Json]:
        names = self._whole.columns
        columns = [self._whole.column(name) for name in names]
        for row in zip(*columns, strict=True):
            yield dict(zip(names, row, strict=True))

    def _lines(self) -> Iterator[bytes]:
        """Yield the lines that are not empty. Raises LabError for one above the limit."""
        with self.path.open("rb") as file:
            number = 0
            while line := file.readline(MAX_RECORD + 1):
                number += 1
                if len(line) > MAX_RECORD:
                    raise refusal(
                        self.name,
                        f", line {number:,}: one record has more than {MAX_RECORD // MB} MB, the "
                        "limit. Split it.",
                    )
                if line.strip():
                    yield line

    def _unzipped(self, prefix: str) -> Iterator[bytes]:
        """Yield the JSON members whose names begin with ``prefix``.

        Raises LabError for a zip bomb: a member or a sum above the limits. The sizes that a zip
        states may be false, so the bytes that come out are counted.
        """
        size = 0
        with zipfile.ZipFile(self.path) as book, self.path.open("rb") as file:
            for entry in book.infolist():
                if not (entry.filename.startswith(prefix) and entry.filename.endswith(".json")):
                    continue
                content = _member(book, entry, file)
                size += len(content)
                if len(content) > MAX_RECORD or size > MAX_OUT:
                    raise refusal(
                        self.name,
                        f" unpacks to more than {MAX_RECORD // MB} MB a record or "
                        f"{MAX_OUT // MB:,} MB in all, the limits. Split it.",
                    )
                yield content


@dataclass(frozen=True)
class Reader:
    """A form of logs that the lab can read.

    name: the tool that writes it
    matches: whether a file has this form, by its content alone
    read: what a record holds, or why it is not a judgment
    keys: where the records are in the file (see ``Source.records``)
    """

    name: str
    matches: Callable[[Source], bool]
    read: Callable[[Json, Source], Iterator[Record | str]]
    keys: tuple[str, ...] = ()


def _member(book: zipfile.ZipFile, entry: zipfile.ZipInfo, file: Any) -> bytes:
    """Return the content of a zip's member, but at most one byte more than MAX_RECORD.

    That one byte shows that the member is too large.
    """
    if entry.compress_type != ZSTANDARD:
        with book.open(entry) as part:
            return part.read(MAX_RECORD + 1)
    # Bytes 26 to 29 of the local header are the lengths of its name and of its extra field.
    file.seek(entry.header_offset + 26)
    name, extra = struct.unpack("<HH", file.read(4).ljust(4, b"\0"))
    file.seek(name + extra, 1)
    packed = pa.BufferReader(file.read(min(entry.compress_size, MAX_RECORD)))
    with pa.CompressedInputStream(packed, "zstd") as stream:
        return bytes(stream.read(MAX_RECORD + 1))


def _cut(part: Any) -> Any:
    """Return a JSON list or object whose parts are not decoded yet.

    Where msgspec refuses it (NaN, half a character), its parts are decoded; None if it is not JSON.
    """
    if isinstance(part, mmap.mmap | msgspec.Raw):
        for kind in (list[msgspec.Raw], dict[str, msgspec.Raw]):
            try:
                return msgspec.json.decode(part, type=kind)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
    return decoded(part)


def decoded(part: Any) -> Any:
    """Return the value of JSON, also of what msgspec refuses (NaN, half a character).

    None if it is not JSON, or nested too deeply. What is not bytes is returned as it is.
    """
    if not isinstance(part, bytes | msgspec.Raw | mmap.mmap):
        return part
    try:
        return msgspec.json.decode(part)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    # Python's own reader copies the whole text, so it gets no large one.
    if len(memoryview(part)) > MAX_FILE:
        return None
    try:
        return json.loads(bytes(part))
    except (ValueError, RecursionError):
        return None


def under(value: Any, *keys: str | int) -> Any:
    """Return what is under these keys, each inside the one before; None where one is missing."""
    for key in keys:
        if isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        elif isinstance(value, Mapping):
            value = value.get(key)
        else:
            value = None
    return value


def name_of(value: Any) -> str:
    """Return a field that may be missing as a short text on one line.

    A float is written as in lists of scores: 4 for 4.0.
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:g}"
    text = value if isinstance(value, str) else json.dumps(value)
    return " ".join(text.split())[:MAX_NAME]


def short_name(text: str) -> str:
    """Return a name for a text: the text if it is short, else its beginning and a hash of it."""
    line = " ".join(text.split())
    if len(line) <= 80:
        return line
    return f"{line[:60]}… {sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"
