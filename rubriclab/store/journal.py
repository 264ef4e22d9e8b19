"""What a judge has answered but the database has not committed yet, on disk at once.

A commit costs as much processor time for one row as for five hundred, so the store commits
in batches; a line in a file costs next to nothing. Without the journal, a killed lab would
have to ask (and pay for) every reply of the last batch again.

A line is ``LENGTH CHECKSUM RECORD``: eight hex digits each of the record's bytes and their
CRC-32, then the record as JSON in ASCII. The length finds the next line even where the line
feed between two was hit. Lines of earlier versions are the JSON alone.
"""

from __future__ import annotations

import glob
import json
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUFFIX = ".journal"
HEAD = re.compile(rb"([0-9a-f]{8}) ([0-9a-f]{8}) ")
HEAD_BYTES = 18


class Journal:
    """Two files beside the store, used in turn: one fills while the other is committed.

    A line is there for a reader as soon as :meth:`add` returns, whatever happens to this
    process (a power cut may still take the last moments). All methods raise OSError where
    the disk does not take it; no half line is left behind then.
    """

    def __init__(self, store: Path, run: str) -> None:
        self._paths = tuple(store.with_name(f"{store.name}.{run}.{side}{SUFFIX}") for side in ("a", "b"))
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        self._files = [os.open(path, flags, 0o600) for path in self._paths]
        self._sizes = [0, 0]
        self._side = 0

    def add(self, *records: Any) -> None:
        """Append records of plain values, one a line.

        Raises ValueError, TypeError or RecursionError for values that are not plain.
        """
        self.write([line_of(record) for record in records])

    def write(self, lines: Sequence[bytes]) -> None:
        """Append lines that :func:`line_of` has made, all of them or none."""
        text, side = b"".join(lines), self._side
        try:
            written = os.write(self._files[side], text)
            if written < len(text):  # a disk with room for half of it
                raise OSError("No space left on device: the journal was cut")
        except OSError:
            os.ftruncate(self._files[side], self._sizes[side])
            raise
        self._sizes[side] += len(text)

    def turn(self) -> None:
        """From here on use the other file."""
        self._side = 1 - self._side

    def clear_old(self) -> None:
        """What was written before the last turn is committed: forget it."""
        old = 1 - self._side
        if self._sizes[old]:
            os.ftruncate(self._files[old], 0)
            self._sizes[old] = 0

    def close(self, *, remove: bool) -> None:
        """End; ``remove`` takes the files away, since all in them is committed."""
        for file, path in zip(self._files, self._paths, strict=True):
            os.close(file)
            if remove:
                path.unlink(missing_ok=True)


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True).encode


def line_of(record: Any) -> bytes:
    """A record as its line in a journal."""
    body = _encode(record).encode()
    return b"%08x %08x %b\n" % (len(body), zlib.crc32(body), body)


def left_behind(store: Path) -> dict[str, list[Path]]:
    """The journals beside a store whose writer never closed them, by the run's name."""
    journals: dict[str, list[Path]] = {}
    head = f"{store.name}."
    for path in sorted(store.parent.glob(f"{glob.escape(store.name)}.*{SUFFIX}")):
        run, dot, side = path.name[len(head) : -len(SUFFIX)].rpartition(".")
        if dot and side in ("a", "b"):
            journals.setdefault(run, []).append(path)
    return journals


@dataclass(frozen=True)
class Unread:
    """Bytes of a journal that are no record (any more)."""

    content: bytes


def read_journal(path: Path) -> Iterator[Any]:
    """The records of a journal as plain values, and an :class:`Unread` for what is none.

    A line that a kill cut short was never acknowledged: it is left out. Raises OSError.
    """
    content = path.read_bytes()
    place, bad = 0, 0
    while place < len(content):
        record, following = _record_at(content, place)
        if isinstance(record, Unread):
            place = following
            continue
        if bad < place:
            yield Unread(content[bad:place])
        yield record
        place = bad = following
    rest = content[bad:]
    if rest and not _cut_short(rest):
        yield Unread(rest)


def _record_at(content: bytes, place: int) -> tuple[Any, int]:
    """The record that begins at ``place``, and where the next may begin."""
    following = content.find(b"\n", place) + 1 or len(content)
    head = HEAD.match(content, place)
    if head is not None:
        begin = place + HEAD_BYTES
        end = begin + int(head[1], 16)
        body = content[begin:end]
        if end <= len(content) and zlib.crc32(body) == int(head[2], 16):
            return _parsed(body, end + 1)
    elif content[place : place + 1] == b"[" and content[following - 1 : following] == b"\n":
        return _parsed(content[place : following - 1], following)
    return Unread(content[place:following]), following


def _parsed(body: bytes, following: int) -> tuple[Any, int]:
    try:
        return json.loads(body), following
    except (ValueError, RecursionError):
        return Unread(body), following


def _cut_short(rest: bytes) -> bool:
    """Is this the beginning of one line, whose end was never written?"""
    if b"\n" in rest:
        return False
    head = HEAD.match(rest)
    if head is None:
        return len(rest) < HEAD_BYTES or rest[:1] == b"["
    return len(rest) < HEAD_BYTES + int(head[1], 16)
