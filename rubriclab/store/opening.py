"""A store's file: what may be one, whether it can be written, and whether it is still there."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

import duckdb

from rubriclab.model.language import tr
from rubriclab.store.faults import StoreError, store_error

MEMORY = ":memory:"
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
"""``s3:``, ``https:``, ``md:``. One letter is a drive of Windows, not a scheme."""


@dataclass(frozen=True)
class Opened:
    """An open database file. ``identity``: device and inode, by which a removal is noticed."""

    db: duckdb.DuckDBPyConnection
    identity: tuple[int, int] | None
    read_only: bool


def store_path(path: str | Path) -> Path:
    """Where a store of that name lies. Raises StoreError for what can be no store's file.

    Nothing is made, opened or waited for: a FIFO would hold its reader for ever.
    """
    text = str(path)
    if not text.strip() or "\0" in text:
        raise StoreError(tr("{text!r} is no file name. Name a .duckdb file on this computer.", text=text))
    if SCHEME.match(text):
        raise StoreError(
            tr(
                "{text} is an address, and a store is a file on this computer. Name a .duckdb file; a copy of a "
                "finished store can lie anywhere.",
                text=text,
            )
        )
    try:
        place = Path(text).expanduser()
        kind = place.stat().st_mode
    except FileNotFoundError:
        return place
    except (OSError, RuntimeError) as fault:
        raise StoreError(
            tr("{text} cannot be a store: {fault}. Choose another file.", text=text, fault=fault)
        ) from fault
    if stat.S_ISDIR(kind):
        raise StoreError(tr("{text} is a folder. Name a .duckdb file in it: {text}/lab.duckdb.", text=text))
    if not stat.S_ISREG(kind):
        raise StoreError(tr("{text} is a device or a pipe, not a file. Name a .duckdb file.", text=text))
    return place


def open_file(path: str, *, read_only: bool = False) -> Opened:
    """Open a store's file, for reading alone where it or its folder cannot be written.

    Raises StoreError where it cannot be opened at all.
    """
    if path == MEMORY:
        return Opened(connect(MEMORY, read_only=False), None, False)
    place = store_path(path)
    try:
        if not place.exists():
            if read_only:
                raise StoreError(tr("There is no store {path}.", path=path))
            place.parent.mkdir(parents=True, exist_ok=True)
        elif not (os.access(place, os.W_OK) and os.access(place.parent, os.W_OK)):
            read_only = True
        db = connect(str(place), read_only=read_only)
        return Opened(db, _identity(place), read_only)
    except (duckdb.Error, OSError) as fault:
        raise store_error(path, fault) from fault


def still_there(path: str, opened: Opened) -> bool:
    """Is the file under the store's name the one that was opened?"""
    return opened.identity is None or _identity(Path(path).expanduser()) == opened.identity


def _identity(place: Path) -> tuple[int, int] | None:
    try:
        status = place.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def connect(path: str, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """The database in a file that may be anybody's: it can read no other, and fetch nothing."""
    return duckdb.connect(path, read_only=read_only, config={"enable_external_access": "false"})
