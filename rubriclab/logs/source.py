"""Read the records of a log one by one, whatever form the file has.

Records are JSON lines, a list (at the top or under keys), the members of a zip, or rows of a table.
This runs only in the worker. No more than one record is decoded at a time: lines are read as they
come, and one large JSON is mapped into memory and cut into records by msgspec without a copy.
"""

import json
import mmap
import struct
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any, Literal

import msgspec
import pyarrow as pa

from rubriclab.data.limits import MAX_FILE, MB, refusal
from rubriclab.data.tables import ENDINGS, read_here, unpacked

MAX_LOG, MAX_RECORD = 1_000 * MB, 64 * MB
MAX_OUT = 2_000 * MB
"""Bytes that all members of a zip may unpack to."""
ZSTANDARD = 93
"""The zip format's number for it (APPNOTE 6.3.8, 4.4.5), which Python reads from 3.14 on and
inspect-ai writes.
"""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """One judgment in a log. ``cells``: columns of ``data/scores.py``; where ``kind`` is empty the
    order stands in the prompt alone, and ``verdict`` is what the tool itself read in the reply
    (empty: nothing).

    ``prompt``: the messages as they were sent, empty where the log keeps none; ``finish``: the
    finish reason of the reply, where the log keeps one: what is no whole reply has no verdict.
    """

    kind: Literal["scores", "pairs", "lists", ""] = ""
    cells: dict[str, str] = field(default_factory=dict)
    prompt: tuple[Mapping[str, str], ...] = ()
    reply: str = ""
    verdict: str = ""
    finish: str = ""


class Source:
    """``form``: how the file holds its records, empty for none that logs have. ``first``: the first
    of them, or the object that the file is; names of a zip's members. ``beside``: files that may
    belong to it, as a batch's input.

    Raises LabError for a gzip bomb.
    """

    def __init__(self, path: Path, name: str, scratch: Path, beside: tuple[Path, ...] = ()) -> None:
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        self.path = unpacked(path, name, scratch) if packed else path
        self.name, self.beside, self.broken = name, beside, 0
        self.form: Literal["zip", "lines", "json", "table", ""] = "json"
        self._whole: Any = None
        with self.path.open("rb") as file:
            head = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
            file.seek(0)
            line, more = file.readline(MAX_RECORD), bool(file.read(4096).strip())
        ending = PurePath(name.lower().removesuffix(".gz")).suffix
        if head.startswith(b"PK\x03\x04") and ending not in (".xlsx", ".xlsm"):
            self.form = "zip"
            with zipfile.ZipFile(self.path) as book:
                self._whole = dict.fromkeys(book.namelist())
        elif head.startswith(b"{") and more and isinstance(decoded(line), dict):
            self.form = "lines"
        elif head.startswith((b"{", b"[")):
            with self.path.open("rb") as file:
                self._whole = _cut(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        elif ending in ENDINGS:
            self.form, self._whole = "table", read_here(self.path, name)
        else:
            self.form = ""
        self.first: Json = (
            self._whole if isinstance(self._whole, dict) else next(self.records(), {})
        )

    def has(self, *fields: str) -> bool:
        """Has the first record all these fields?"""
        return all(name in self.first for name in fields)

    def records(self, *keys: str) -> Iterator[Json]:
        """Each record; what is no JSON object is counted as ``broken``. ``keys``: where in the one
        object their list (or an object of them) stands; of a zip what their members' names begin
        with.
        """
        parts = self._whole
        if self.form == "zip":
            parts = self._unzipped(keys[0] + "/")
        elif self.form == "lines":
            parts = self._lines()
        elif self.form == "table":
            columns = [self._whole.column(name) for name in self._whole.columns]
            parts = (
                dict(zip(self._whole.columns, row, strict=True))
                for row in zip(*columns, strict=True)
            )
        for key in keys if self.form == "json" else ():
            inner = _cut(parts)
            parts = inner.get(key) if isinstance(inner, dict) else None
        parts = _cut(parts)
        if isinstance(parts, dict):
            raws = [value for value in parts.values() if isinstance(value, msgspec.Raw)]
            single = not keys and any(bytes(memoryview(raw)[:1]) != b"{" for raw in raws)
            parts = (
                [{key: decoded(value) for key, value in parts.items()}]
                if single
                else parts.values()
            )
        self.broken = 0
        for part in parts or ():
            value = (
                None
                if isinstance(part, msgspec.Raw) and len(memoryview(part)) > MAX_RECORD
                else decoded(part)
            )
            if isinstance(value, dict):
                yield value
            else:
                self.broken += 1

    def _lines(self) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(MAX_RECORD + 1), b""), 1):
                if len(line) > MAX_RECORD:
                    words = f"one record has more than {MAX_RECORD // MB} MB, the limit. Split it."
                    raise refusal(self.name, f", line {number:,}: {words}")
                if line.strip():
                    yield line

    def _unzipped(self, prefix: str) -> Iterator[bytes]:
        """The members whose names begin so. Raises LabError for more than may come out."""
        size = 0
        with zipfile.ZipFile(self.path) as book, self.path.open("rb") as file:
            for entry in book.infolist():
                wanted = entry.filename.startswith(prefix) and entry.filename.endswith(".json")
                content = _member(book, entry, file) if wanted else b""
                size += len(content)
                if len(content) > MAX_RECORD or size > MAX_OUT:
                    most = f"{MAX_RECORD // MB} MB a record or {MAX_OUT // MB:,} MB in all"
                    words = f" unpacks to more than {most}, the limits. Split it."
                    raise refusal(self.name, words)
                if wanted:
                    yield content


@dataclass(frozen=True)
class Reader:
    """A form of logs: its tool's name, whether a file is of it (by its content alone), what each of
    its records holds (a Record, or why it is no judgment), and where the records stand in it.
    """

    name: str
    matches: Callable[[Source], bool]
    read: Callable[[Json, Source], Iterator[Record | str]]
    keys: tuple[str, ...] = ()


def _member(book: zipfile.ZipFile, entry: zipfile.ZipInfo, file: Any) -> bytes:
    """What a member holds, at most MAX_RECORD and one more byte of it."""
    if entry.compress_type != ZSTANDARD:
        with book.open(entry) as part:
            return part.read(MAX_RECORD + 1)
    file.seek(entry.header_offset + 26)
    name, extra = struct.unpack("<HH", file.read(4).ljust(4, b"\0"))
    file.seek(name + extra, 1)
    with pa.CompressedInputStream(
        pa.BufferReader(file.read(min(entry.compress_size, MAX_RECORD))), "zstd"
    ) as stream:
        return bytes(stream.read(MAX_RECORD + 1))


def _cut(part: Any) -> Any:
    """A JSON list or object whose parts are not decoded yet; decoded parts where msgspec refuses
    it; None for none.
    """
    for kind in (
        (list[msgspec.Raw], dict[str, msgspec.Raw])
        if isinstance(part, mmap.mmap | msgspec.Raw)
        else ()
    ):
        try:
            return msgspec.json.decode(part, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
    return decoded(part)


def decoded(part: Any) -> Any:
    """The value of JSON that may hold what msgspec refuses (NaN, half a character); None where it
    is none.
    """
    if not isinstance(part, bytes | msgspec.Raw | mmap.mmap):
        return part
    try:
        return msgspec.json.decode(part)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            return json.loads(bytes(part)) if len(memoryview(part)) <= MAX_FILE else None
        except (ValueError, RecursionError):
            return None


def under(value: Any, *keys: str | int) -> Any:
    """What stands under keys, one in the other; None where one is missing."""
    for key in keys:
        if isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    return value


def name_of(value: Any) -> str:
    """A field that may be missing as a short text in one line; a number as lists of scores write
    it, 4 for 4.0.
    """
    if isinstance(value, float):
        return f"{value:g}"
    return " ".join(
        (value if isinstance(value, str) else "" if value is None else json.dumps(value)).split()
    )[:300]


def short_name(text: str) -> str:
    """A name for a text: its beginning, with a hash where it is long."""
    line = " ".join(text.split())
    return (
        line
        if len(line) <= 80
        else f"{line[:60]}… {sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"
    )
