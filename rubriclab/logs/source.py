"""A log's file in, its records out one by one: JSON lines, a list (at the top or under keys), a zip's members, a table.

Read in the worker alone. No more than one record is decoded at a time: lines are read as they come, one large JSON is
mapped into memory and cut into records by msgspec without a copy.
"""

from __future__ import annotations

import json
import mmap
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal

import msgspec
import pyarrow as pa

from rubriclab.data.limits import MB, refusal
from rubriclab.data.tables import ENDINGS, read_here, unpacked
from rubriclab.model.text import shorten

Kind = Literal["scores", "pairs", ""]
MAX_LOG = 1_000 * MB
MAX_RECORD = 64 * MB
MAX_OUT = 2_000 * MB
"""Bytes that all members of a zip may unpack to."""
ZSTANDARD = 93
"""The zip format's number for it (APPNOTE 6.3.8, 4.4.5), which Python reads from 3.14 on and inspect-ai writes."""
NO_JSON = "it is no JSON, or only half of one"


@dataclass(frozen=True, slots=True)
class Record:
    """One judgment in a log. ``cells``: columns of ``data/scores.py``; where ``kind`` is empty the order stands in the prompt
    alone, and ``verdict`` is what the tool itself read in the reply (empty: nothing).

    ``prompt``: the messages as they were sent, empty where the log keeps none.
    """

    kind: Kind = ""
    cells: Mapping[str, str] = field(default_factory=dict)
    prompt: tuple[Mapping[str, str], ...] = ()
    reply: str = ""
    verdict: str = ""


class Source:
    """``form``: how the file holds its records (empty: in no form that logs have). ``first``: the first of them, or the
    object that the file is; its columns, of a table. ``beside``: files that may belong to it, as a batch's input.

    Raises LabError for a gzip bomb.
    """

    def __init__(self, path: Path, name: str, scratch: Path, beside: tuple[Path, ...] = ()) -> None:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        self.path = unpacked(path, name, scratch) if packed else path
        self.name, self.beside = name, beside
        self.form: Literal["zip", "lines", "list", "object", "table", ""] = ""
        self.first: Mapping[str, Any] = {}
        self._whole: Any = None
        with self.path.open("rb") as file:
            head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
        if head.startswith(b"PK\x03\x04") and not name.endswith((".xlsx", ".xlsm")):
            self.form, self.first = "zip", dict.fromkeys(self._members())
        elif head[:1] in (b"{", b"["):
            self._look()
        elif PurePath(name.removesuffix(".gz")).suffix in ENDINGS:
            self.form, self._whole = "table", read_here(self.path, name)
            self.first = dict.fromkeys(self._whole.columns)

    def has(self, *fields: str) -> bool:
        """Has the first record all these fields?"""
        return all(name in self.first for name in fields)

    def _look(self) -> None:
        with self.path.open("rb") as file:
            line = next((line for line in iter(lambda: file.readline(MAX_RECORD), b"") if line.strip()), b"")
            more = bool(file.read(4096).strip())
        value = decoded(line) if more and line.endswith(b"\n") else None
        if isinstance(value, dict):
            self.form, self.first = "lines", value
            return
        with self.path.open("rb") as file:
            self._mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._whole = _cut(self._mapped)
        if isinstance(self._whole, list):
            first = decoded(self._whole[0]) if self._whole else None
            self.form, self.first = "list", first if isinstance(first, dict) else {}
        elif isinstance(self._whole, dict):
            self.form, self.first = "object", self._whole

    def records(self, *keys: str) -> Iterator[Mapping[str, Any] | str]:
        """Each record, or why it is none. ``keys``: where in the one object the list of them (or an object of them) stands;
        of a zip what the members' names begin with."""
        if self.form == "zip":
            parts: Any = self._unzipped(keys[0])
        elif self.form == "lines":
            parts = self._lines()
        elif self.form == "table":
            columns = [self._whole.column(name) for name in self._whole.columns]
            parts = (dict(zip(self._whole.columns, row, strict=True)) for row in zip(*columns, strict=True))
        else:
            parts = self._whole
            for key in keys:
                parts = _cut(parts).get(key, []) if isinstance(parts, dict) or _cut(parts) else []
            parts = _cut(parts)
            parts = parts.values() if isinstance(parts, dict) else parts or ()
        for part in parts:
            value = decoded(part)
            yield value if isinstance(value, dict) else NO_JSON

    def text(self, *keys: str) -> str:
        """The text under ``keys`` of the one object (of a zip: of the member of the first name), empty where there is none."""
        value: Any = self._whole
        if self.form == "zip":
            value, keys = next(self._unzipped(keys[0]), b"{}"), keys[1:]
        for key in keys:
            value = decoded(value)
            value = value.get(key) if isinstance(value, dict) else None
        value = decoded(value)
        return value if isinstance(value, str) else ""

    def _lines(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_RECORD + 1), b""), 1):
                if len(line) > MAX_RECORD:
                    words = f"more than {MAX_RECORD // MB} MB in one record; no log of judgments has such. Split it."
                    raise refusal(self.name, f", line {number:,}: {words}")
                if line.strip():
                    yield line.removeprefix(b"\xef\xbb\xbf")

    # ---- zip

    def _members(self) -> list[str]:
        try:
            with zipfile.ZipFile(self.path) as book:
                return book.namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as fault:
            raise refusal(self.name, f" is no whole zip file ({shorten(str(fault), 80)}). Copy it again.") from None

    def _unzipped(self, prefix: str) -> Iterator[bytes]:
        """The members whose names begin so. Raises LabError for a broken one, and for more than may come out."""
        size = 0
        with zipfile.ZipFile(self.path) as book, self.path.open("rb") as file:
            for entry in book.infolist():
                if not entry.filename.startswith(prefix) or not entry.filename.endswith(".json"):
                    continue
                try:
                    content = _member(book, entry, file)
                except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as fault:
                    words = f"{shorten(entry.filename)} cannot be unpacked ({shorten(str(fault), 80)})"
                    raise refusal(self.name, f": {words}. Is the file whole? Copy it again.") from None
                size += len(content)
                if len(content) > MAX_RECORD or size > MAX_OUT:
                    words = f"unpacks to more than {MAX_RECORD // MB} MB a record or {MAX_OUT // MB:,} MB in all"
                    raise refusal(self.name, f" {words}, which no log of judgments does. Split it.")
                yield content


@dataclass(frozen=True)
class Reader:
    """A form of logs: its tool's name, whether a file is of it (by its content alone), and its records in turn: a Record, or
    why it is none."""

    name: str
    matches: Callable[[Source], bool]
    read: Callable[[Source], Iterator[Record | str]]


def _member(book: zipfile.ZipFile, entry: zipfile.ZipInfo, file: Any) -> bytes:
    """What a member holds, at most MAX_RECORD and one more byte of it."""
    if entry.compress_type != ZSTANDARD:
        with book.open(entry) as part:
            return part.read(MAX_RECORD + 1)
    file.seek(entry.header_offset + 26)
    name, extra = struct.unpack("<HH", file.read(4).ljust(4, b"\0"))
    file.seek(name + extra, 1)
    packed = file.read(min(entry.compress_size, MAX_RECORD))
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        return bytes(stream.read(MAX_RECORD + 1))


def _cut(part: Any) -> Any:
    """A JSON list or object whose parts are not decoded yet; decoded parts where msgspec refuses it (NaN); None for none."""
    if not isinstance(part, bytes | bytearray | mmap.mmap | msgspec.Raw):
        return part
    for kind in (list[msgspec.Raw], dict[str, msgspec.Raw]):
        try:
            return msgspec.json.decode(part, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return decoded(bytes(part))


def decoded(part: Any) -> Any:
    """The value of JSON that may hold what msgspec refuses (NaN, half a character); None where it is none."""
    if not isinstance(part, bytes | msgspec.Raw):
        return part
    try:
        return msgspec.json.decode(part)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            return json.loads(bytes(part))
        except (ValueError, RecursionError):
            return None
