"""What a judge has answered but the database has not committed yet, on disk at once.

A commit costs as much processor time for one row as for five hundred, so the store commits
in batches; a line in a file costs next to nothing. Without the journal, a killed lab would
have to ask (and pay for) every reply of the last batch again.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SUFFIX = ".journal"


class Journal:
    """Two files beside the store, used in turn: one fills while the other is committed.

    A line is there for a reader as soon as :meth:`add` returns, whatever happens to this
    process (a power cut may still take the last moments). All methods raise OSError where
    the disk does not take it; no half line is left behind then.
    """

    def __init__(self, store: Path, run: str) -> None:
        self._paths = tuple(
            store.with_name(f"{store.name}.{run}.{side}{SUFFIX}") for side in ("a", "b")
        )
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        self._files = [os.open(path, flags, 0o600) for path in self._paths]
        self._sizes = [0, 0]
        self._side = 0

    def add(self, *records: Any) -> None:
        """Append records of plain values, one a line."""
        text = "".join(_encode(record) + "\n" for record in records).encode()
        side = self._side
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


def left_behind(store: Path) -> dict[str, list[Path]]:
    """The journals beside a store whose writer never closed them, by the run's name."""
    found: dict[str, list[Path]] = {}
    head = f"{store.name}."
    for path in sorted(store.parent.glob(f"{glob.escape(store.name)}.*{SUFFIX}")):
        run, dot, side = path.name[len(head) : -len(SUFFIX)].rpartition(".")
        if dot and side in ("a", "b"):
            found.setdefault(run, []).append(path)
    return found


def read_journal(path: Path) -> Iterator[Any]:
    """The whole records of a journal; a line that a kill cut short was never acknowledged."""
    for line in path.read_bytes().split(b"\n")[:-1]:
        try:
            yield json.loads(line)
        except ValueError:
            return
