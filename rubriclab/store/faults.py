"""What a fault of the database or of the disk means for the user, and what to do about it."""

from __future__ import annotations

import errno
import re
from pathlib import Path

import duckdb

from rubriclab.model import LabError
from rubriclab.model.language import tr


class StoreError(LabError):
    """The store cannot be opened, read or written; the message says what to do."""


class DamagedStore(StoreError):
    """The file is a store whose content was changed or cut; what is whole can be saved."""


class StoreInUse(StoreError):
    """Another process has the store open."""


class ReadOnlyStore(StoreError):
    """The store was opened for reading alone, since its file or folder cannot be written."""


DAMAGE = re.compile(
    r"corrupt (database|wal) file|does not match stored checksum|could not read enough bytes"
    r"|failure while replaying wal|failed to (load|read) metadata|serialization error"
    r"|failed to deserialize|not enough data in file",
    re.IGNORECASE,
)
INVALIDATED = re.compile(r"has been invalidated because of a previous fatal error", re.IGNORECASE)
NO_STORE = "not a valid DuckDB database"
FULL = re.compile(r"no space left|disk full|out of disk|file too large", re.IGNORECASE)
HEADERS = 3 * 4096
BLOCK = 262_144
"""A DuckDB file is three headers and whole blocks."""
ROW_FAULTS = (duckdb.DataError, duckdb.ProgrammingError, duckdb.IntegrityError, duckdb.NotSupportedError)


def advice(path: str) -> str:
    return tr(
        "Look with “python -m rubriclab store check {path}”, save what is whole with “python -m "
        "rubriclab store salvage {path} --out NEW.duckdb”, or go back to a backup.",
        path=path,
    )


def damaged(path: str, text: str) -> DamagedStore:
    return DamagedStore(
        tr(
            "{path} is a damaged store: it was cut or changed on the disk ({first}). {advice}",
            path=path,
            first=_first(text),
            advice=advice(path),
        )
    )


def store_error(path: str, fault: Exception) -> StoreError:
    """The StoreError that a database fault stands for; a StoreError stays what it is."""
    if isinstance(fault, StoreError):
        return fault
    text = str(fault)
    if "Could not set lock on file" in text or "being used by another process" in text:
        holder = re.search(r"\(PID (\d+)\)", text.rpartition("lock is held")[2])
        process = tr("another process (PID {pid})", pid=holder[1]) if holder else tr("another process")
        return StoreInUse(
            tr(
                "{path} is open in {process}. Close that one, or choose another store. A lab that has it open "
                "can back it up itself: the button is on its Runs page.",
                path=path,
                process=process,
            )
        )
    if DAMAGE.search(text):
        return damaged(path, text)
    if FULL.search(text) or getattr(fault, "errno", None) == errno.ENOSPC:
        return StoreError(tr("The disk is full: {path} cannot be written. Free some space and go on.", path=path))
    # A file of another database: the lab loads no extension that could open it.
    if NO_STORE in text or "extensions is disabled" in text:
        return _no_store(path)
    if INVALIDATED.search(text):
        return StoreError(
            tr(
                "The store {path} was closed by the database after a fault of the disk or the file ({first}). "
                "Close the lab and start it again. {advice}",
                path=path,
                first=_first(text),
                advice=advice(path),
            )
        )
    if "read-only mode" in text or "Read-only file system" in text:
        return read_only_fault(path)
    if "older version" in text or "newer version" in text or "version number" in text:
        return StoreError(tr("{path} was written by another version of DuckDB: {first}", path=path, first=_first(text)))
    return StoreError(
        tr("The store {path} answered: {answer}", path=path, answer=_first(text) if text else repr(fault))
    )


def read_only_fault(path: str) -> ReadOnlyStore:
    return ReadOnlyStore(
        tr(
            "{path} is open for reading alone: its file or folder cannot be written. Copy it to a folder "
            "that can, and open the copy.",
            path=path,
        )
    )


def fault_of_rows(fault: Exception) -> bool:
    """Did the rows cause this fault of a commit (True), or the store that takes them (False)?"""
    cause = fault.__cause__ if isinstance(fault, StoreError) else fault
    if isinstance(fault, StoreError) and cause is None:
        return False
    return isinstance(cause, ROW_FAULTS) or not isinstance(cause, duckdb.Error | OSError)


def _no_store(path: str) -> StoreError:
    """A file without the beginning of a database: empty, damaged in its head, or another thing."""
    try:
        size = Path(path).expanduser().stat().st_size
    except OSError:
        size = -1
    if size == 0:
        return DamagedStore(
            tr(
                "{path} is empty (0 bytes), which no store ever is: what was in it is gone, or the file is none "
                "of the lab's. Go back to a backup, or remove the file and start anew.",
                path=path,
            )
        )
    if size > HEADERS and (size - HEADERS) % BLOCK == 0:
        return DamagedStore(
            tr(
                "{path} is not a rubriclab store, or its first bytes are damaged: it has the size of a store, "
                "not the beginning of one. {advice}",
                path=path,
                advice=advice(path),
            )
        )
    return StoreError(tr("{path} is not a rubriclab store. Choose another file.", path=path))


def _first(text: str) -> str:
    return text.splitlines()[0][:300] if text else tr("no reason given")
