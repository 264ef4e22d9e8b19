"""A log as a stream: its records one after the other, whatever its size.

JSON lines, a list of JSON objects (at the top or under keys) and tables, as they are or gzipped. No
more than one record is in memory at a time, and how far the reading is can be asked meanwhile.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

from rubriclab.datasets.limits import MAX_RATIO, MB, SMALL, reading, regular_file
from rubriclab.datasets.plain import refuse_depth, whole_characters
from rubriclab.model import DataError
from rubriclab.model.language import tr

CHUNK = 256 * 1024
MAX_RECORD = 64 * MB
"""Signs of one record, or of a value that stands beside the records."""
MAX_LOG_MB = 200_000
HEAD = 64 * 1024
"""Signs at the beginning of a file by which its kind is told."""
PEEK = 5
GZIP, ZIP, PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"PAR1"
_SPACE = " \t\r\n\ufeff"
_SIGN = re.compile(f"[^{_SPACE}]")


class Source:
    """A log's file. ``read``: bytes of it that were read so far, of ``size``."""

    def __init__(
        self,
        place: Path | bytes,
        *,
        name: str = "",
        columns: Mapping[str, str] | None = None,
        beside: Sequence[Source] = (),
    ) -> None:
        """``place``: an ordinary file, or what one holds. ``columns``: of a table, the column of each part
        ("prompt", "reply", "judge") that the user named; ``beside``: files that belong to this one, as a
        batch's input. Raises DataError for no such file."""
        self.place = place
        self.columns, self.beside = dict(columns or {}), tuple(beside)
        self.name = name or (place.name if isinstance(place, Path) else "the file")
        if isinstance(place, Path):
            self.size = regular_file(place, limit_mb=MAX_LOG_MB).stat().st_size
        else:
            self.size = len(place)
        self.read = 0
        self.notes: list[str] = []

    def open(self) -> IO[bytes]:
        """The file's bytes as they lie on the disk."""
        return self.place.open("rb") if isinstance(self.place, Path) else io.BytesIO(self.place)

    @cached_property
    def magic(self) -> bytes:
        with reading(self.name), self.open() as file:
            return file.read(4)

    @property
    def is_zip(self) -> bool:
        return self.magic.startswith(ZIP)

    @cached_property
    def head(self) -> str:
        """The beginning of the text, "" for what is none."""
        if self.magic.startswith((ZIP, PARQUET)):
            return ""
        text = ""
        try:
            for part in self._text():
                text += part
                if len(text) >= HEAD:
                    break
        except DataError:
            return ""
        return text[:HEAD].lstrip(_SPACE)

    @cached_property
    def first(self) -> tuple[Mapping[str, Any], ...]:
        """The first few records of JSON lines or of a list of objects; none of anything else."""
        if self.head[:1] not in ("{", "["):
            return ()
        found = []
        try:
            for _, record in self.records():
                found.append(record)
                if len(found) == PEEK:
                    break
        except DataError:
            pass
        finally:
            self.read = 0
        return tuple(found)

    def has(self, *fields: str) -> bool:
        """Have all of the first records these fields?"""
        return bool(self.first) and all(field in record for record in self.first for field in fields)

    # ------------------------------------------------------------ records

    def records(self, *keys: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """(number from 1, record) of each object in the list that stands under ``keys``.

        Without keys: of a list at the top, or of one object a line. Raises DataError, naming the record,
        for what is no JSON, is no object, is cut off, is too large or is nested too deep.
        """
        cursor = _Cursor(self)
        if keys:
            cursor.enter(keys)
        if cursor.sign() == "[":
            yield from cursor.listed()
        elif keys:
            raise DataError(
                tr("“{name}”: under “{keys}” there is no list of records.", name=self.name, keys=".".join(keys))
            )
        else:
            yield from cursor.lines()

    def lines(self) -> Iterator[str]:
        """The text's lines with their breaks, without the mark of an encoding."""
        rest, begun = "", False
        for part in self._text():
            rest += part if begun else part.removeprefix("\ufeff")
            begun = True
            *whole, rest = rest.split("\n")
            yield from (f"{line}\n" for line in whole)
        if rest:
            yield rest

    def _text(self) -> Iterator[str]:
        """The file's text in parts. Raises DataError for what is not UTF-8 and for a gzip bomb."""
        decode = codecs.getincrementaldecoder("utf-8")()
        with reading(self.name, tr("cannot be read to its end (is it whole?)")):
            for part in self._bytes():
                try:
                    yield decode.decode(part)
                except UnicodeDecodeError as fault:
                    raise DataError(
                        tr(
                            "“{name}” is not UTF-8: byte 0x{byte:02x} does not belong there. Save it as UTF-8.",
                            name=self.name,
                            byte=part[fault.start],
                        )
                    ) from fault
            decode.decode(b"", final=True)

    def _bytes(self) -> Iterator[bytes]:
        self.read = 0
        packed = self.magic.startswith(GZIP)
        with self.open() as file:
            stream = cast(IO[bytes], gzip.GzipFile(fileobj=file)) if packed else file
            unpacked = 0
            try:
                while part := stream.read(CHUNK):
                    unpacked += len(part)
                    self.read = file.tell()
                    if packed and unpacked > SMALL and unpacked > MAX_RATIO * max(self.read, 1):
                        raise DataError(
                            tr(
                                "“{name}” unpacks to over {times} times its size, which no honest file does. Give it "
                                "unpacked.",
                                name=self.name,
                                times=MAX_RATIO,
                            )
                        )
                    yield part
            except (EOFError, gzip.BadGzipFile, zlib.error) as fault:
                raise DataError(
                    tr("“{name}” is not a whole gzip file: {fault}. Is it cut off?", name=self.name, fault=fault)
                ) from fault


class _Cursor:
    """A place in a text that is read in parts, and the JSON values from there on."""

    _decoder = json.JSONDecoder()

    def __init__(self, source: Source) -> None:
        self.name = source.name
        self.notes = source.notes
        self.parts = source._text()
        self.text, self.at, self.whole = "", 0, False

    def more(self) -> bool:
        """Read on, at least as much as is there already; is there anything new?"""
        wanted = max(CHUNK, len(self.text) - self.at)
        parts, got = [self.text[self.at :]], 0
        while got < wanted:
            part = next(self.parts, None)
            if part is None:
                self.whole = True
                break
            parts.append(part)
            got += len(part)
        self.text, self.at = "".join(parts), 0
        return got > 0

    def sign(self) -> str:
        """The next sign that is no white space; "" at the end."""
        while True:
            if (sign := _SIGN.search(self.text, self.at)) is not None:
                self.at = sign.start()
                return sign[0]
            self.at = len(self.text)
            if self.whole or not self.more():
                return ""

    def value(self, where: str) -> Any:
        """The JSON value from here on."""
        self.sign()
        while True:
            try:
                value, end = self._decoder.raw_decode(self.text, self.at)
            except json.JSONDecodeError as fault:
                cut_off = fault.pos >= len(self.text) - 8 or fault.msg.startswith("Unterminated")
                if not self.whole and len(self.text) - self.at < MAX_RECORD:
                    self.more()
                    continue
                raise self._fault(where, fault, cut_off=cut_off) from fault
            except (RecursionError, ValueError) as fault:
                raise DataError(
                    tr("“{name}”, {where}, is not read: {fault}.", name=self.name, where=where, fault=str(fault)[:120])
                ) from fault
            if not self.whole and self.text[end : end + 1] in ("", *".eE+-"):  # a number may go on
                self.more()
                continue
            if self.text.count("[", self.at, end) + self.text.count("{", self.at, end) > 64:
                refuse_depth(f"{self.name}, {where}", value)
            if "\\u" in self.text[self.at : end]:
                part = whole_characters(self.text[self.at : end], self.notes)
                value = self._decoder.decode(part) if part != self.text[self.at : end] else value
            self.at = end
            return value

    def _fault(self, where: str, fault: json.JSONDecodeError, *, cut_off: bool) -> DataError:
        if len(self.text) - self.at >= MAX_RECORD:
            return DataError(
                tr(
                    "“{name}”, {where}, has more than {size} MB; that much is read.",
                    name=self.name,
                    where=where,
                    size=MAX_RECORD // MB,
                )
            )
        ended = tr(" The file ends inside it: it may be half written or cut off.") if self.whole and cut_off else ""
        return DataError(
            tr(
                "“{name}”, {where}, is no JSON: {why}.{ended} Nothing was imported.",
                name=self.name,
                where=where,
                why=fault.msg,
                ended=ended,
            )
        )

    def enter(self, keys: tuple[str, ...]) -> None:
        """Go to the value under ``keys``, past what stands before it. Raises DataError where it is not."""
        for key in keys:
            if self.sign() != "{":
                raise DataError(tr("“{name}”: there is no “{key}” in it.", name=self.name, key=key))
            self.at += 1
            while True:
                if self.sign() in ("}", ""):
                    raise DataError(tr("“{name}”: there is no “{key}” in it.", name=self.name, key=key))
                name = self.value(tr("the name of a field before “{key}”", key=key))
                field = tr("field “{name}”", name=name)
                self._expect(":", field)
                if name == key:
                    break
                self.value(field)
                if self.sign() == ",":
                    self.at += 1

    def listed(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        self.at += 1
        number = 0
        while self.sign() != "]":
            number += 1
            yield number, self._record(number)
            if self.sign() == ",":
                self.at += 1
            elif self.sign() != "]":
                raise self._broken_off(number)

    def _broken_off(self, number: int) -> DataError:
        ends = tr(", where the file ends: it may be half written or cut off") if not self.sign() else ""
        return DataError(
            tr(
                "“{name}”: the list of records does not go on after record {number:,}{ends}. Nothing was imported.",
                name=self.name,
                number=number,
                ends=ends,
            )
        )

    def lines(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        number = 0
        while self.sign():
            number += 1
            yield number, self._record(number)

    def _record(self, number: int) -> Mapping[str, Any]:
        value = self.value(tr("record {number:,}", number=number))
        if not isinstance(value, dict):
            raise DataError(
                tr(
                    "“{name}”, record {number:,}, is a {kind}, not a JSON object.",
                    name=self.name,
                    number=number,
                    kind=type(value).__name__,
                )
            )
        return value

    def _expect(self, sign: str, where: str) -> None:
        if self.sign() != sign:
            raise DataError(
                tr("“{name}”, {where}: “{sign}” is missing. Is the file whole?", name=self.name, where=where, sign=sign)
            )
        self.at += 1
