"""A store's file in, cursors and transactions out; faults of the disk and the database become
words.
"""

import atexit
import glob
import itertools
import os
import re
import shutil
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pandas as pd
import pyarrow as pa

from rubriclab.data.limits import HELD_FILES, user_path
from rubriclab.model.text import LabError, shorten

SCHEMA = 1
MEMORY = ":memory:"
CLOSE_SECONDS = 5.0
HEADERS = 3 * 4_096
"""Bytes that DuckDB writes into every file when it makes it."""

TABLES = Path(__file__).with_name("tables.sql").read_text("utf-8")
ADDED = """
CREATE TABLE IF NOT EXISTS reference_attempts (job VARCHAR, task VARCHAR, score INTEGER,
        attempt SMALLINT,
    writer VARCHAR, reviewer VARCHAR, status VARCHAR, verdict INTEGER, text VARCHAR,
        review VARCHAR, reason VARCHAR,
    asked TIMESTAMP);
CREATE TABLE IF NOT EXISTS objects (kind VARCHAR, id VARCHAR, name VARCHAR, body JSON,
        created TIMESTAMP,
    PRIMARY KEY (kind, id));
ALTER TABLE calls ADD COLUMN IF NOT EXISTS prompt VARCHAR;
ALTER TABLE runs ADD COLUMN IF NOT EXISTS token VARCHAR;
UPDATE runs SET token = uuid()::VARCHAR WHERE token IS NULL;
ALTER TABLE judgments ADD COLUMN IF NOT EXISTS why VARCHAR;
ALTER TABLE judgments ADD COLUMN IF NOT EXISTS form VARCHAR;
ALTER TABLE judgments ADD COLUMN IF NOT EXISTS reader SMALLINT;
"""
"""What earlier labs may lack."""

LOG_ENTRY = re.compile(r"byte position (\d+)", re.IGNORECASE)
DAMAGE = (
    "(corrupt|does not match stored checksum|could not read enough bytes|failure while replaying "
    "wal"
    "|failed to (load|read) metadata|serialization error|failed to deserialize|not enough data in "
    "file)"
)
DAMAGED_LOG = (
    "The log of {path} is damaged ({said}). Keep both files as they are; “rubriclab runs --store "
    "{path} --backup "
    "saved.duckdb” writes what stands before the damage into a new store."
)
FAULTS = {
    "could not set lock on file|being used by another process": "{path} is open in {holder}. "
    "Close that one, or choose another store with --store.",
    "no space left|disk full|out of disk|file too large": "The disk is full: {path} cannot be "
    "written. What was kept "
    "before is safe; free some space and go on.",
    rf"(?=.*(\.wal\b|replaying wal)).*{DAMAGE}": DAMAGED_LOG,
    DAMAGE: "{path} is damaged: it was cut or changed on the disk ({said}). Go back to a backup.",
    "not a valid duckdb database": "{path} is not a store: it does not begin as one. Choose "
    "another file.",
    "read-only mode|read-only file system|PermissionError": "{path} cannot be written: its file "
    "or folder is read-only. Copy it to a folder that can be written.",
    "newer version|version number": "{path} was written by another version of DuckDB ({said}). "
    "Update duckdb, or choose "
    "another store.",
    "": "The store {path} answered: {said}",
}
"""What is in a fault of the database or the disk, and what is said of it; the first that fits."""


class DamagedLog(LabError):
    """The log beside a store's file is damaged; ``recover`` writes what stands before the damage
    into a new store.
    """


class Database:
    """One open file: any number of readers, each on a cursor of its own, and one writer at a time.

    A file that does not exist is made by the first transaction, so that looking, or a refused
    input, leaves nothing behind. Made by ``open_database``: a second opening in this process shares
    the first.
    """

    def __init__(self, path: str, read_only: bool) -> None:
        self.path = path
        self.serial = next(
            _serials
        )  # tells two openings apart in what is cached, whatever they hold
        self.unsaved: dict[
            int, Any
        ] = {}  # what a writer could not commit, by run: its next writer takes it up
        self.writes = 0  # what was read before another one may be out of date
        self.unsaved_states: dict[
            str, tuple[str, str]
        ] = {}  # (state, reason) of runs that could not be written
        self.writing: set[int] = set()  # runs that have a writer
        self.users = 0
        self._lock = threading.RLock()
        self._joined: duckdb.DuckDBPyConnection | None = None
        self._identity: tuple[int, int] | None = None
        self.file_id: tuple[int, int] | None = None
        self._new = path == MEMORY or not Path(path).exists() or _never_made(path)
        writable = self._new or all(os.access(part, os.W_OK) for part in (path, Path(path).parent))
        self.read_only = read_only or not writable
        if self._new and read_only:
            raise LabError(f"There is no store {path}. Check the name.")
        if self._new and Path(f"{path}.wal").exists():
            raise LabError(
                f"{path}.wal is the log of a store whose own file {path} is gone; a new store "
                f"would overwrite what it "
                "holds. Put that file back, move the log away, or choose another store with "
                "--store."
            )
        with in_words(path):
            if self._new:
                self._db = _connect(MEMORY)
                _create(self._db)
            else:
                self._open(path)

    def _open(self, path: str) -> None:
        """A file is in use from when it is known to be a store and has its tables: who reads
        meanwhile never sees less.
        """
        opened = _connect(path, self.read_only)
        try:
            self._check_version(opened, path)
        except BaseException:
            opened.close()
            raise
        self.path, self._db, self._identity = path, opened, _identity(path)
        self._hold(_file_id(Path(path)))

    def _hold(self, file_id: tuple[int, int] | None) -> None:
        """Nobody in this process opens that file besides; None lets go of the one that was held."""
        if self.file_id is not None:
            HELD_FILES.discard(self.file_id)
        self.file_id = file_id
        if file_id is not None:
            HELD_FILES.add(file_id)

    def _check_version(self, db: duckdb.DuckDBPyConnection, path: str) -> None:
        if db.execute("SELECT path FROM duckdb_databases() WHERE NOT internal").fetchall() == [
            (None,)
        ]:
            # DuckDB shows tables of such a file, and what is written there is gone at its close.
            raise LabError(f"{path} is data, not a store. Choose another file.")
        tables = {
            name for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        }
        if not tables and not self.read_only:
            _create(db)  # new, or killed between making the file and its first commit
            return
        if "lab" not in tables:
            raise LabError(
                f"{path} is a DuckDB file of another program, not a store. Choose another file."
            )
        version = int(db.execute("SELECT max(version) FROM lab").fetchall()[0][0] or 0)
        if version > SCHEMA:
            raise LabError(
                f"{path} was written by a newer rubriclab (store version {version}; this one reads "
                f"up to "
                f"{SCHEMA}). Update rubriclab, or choose another store."
            )
        if not self.read_only:
            db.execute(ADDED)

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """All of a block or nothing of it; a block inside another joins it. Raises LabError where
        it cannot be kept.
        """
        with self._lock, in_words(self.path):
            if self._joined is not None:
                yield self._joined
                return
            if self.read_only:
                raise LabError(
                    f"{self.path} is open for reading only: its file or folder cannot be written. "
                    f"Copy it to a folder "
                    "that can, and open the copy."
                )
            self._ready_to_write()
            cursor = self._joined = self._db.cursor()
            try:
                cursor.begin()
                yield cursor
                cursor.commit()
            except BaseException as fault:
                with suppress(duckdb.Error):
                    cursor.rollback()
                if "has been invalidated" in str(
                    fault
                ):  # by the disk; what was committed is in the file
                    _close(self._db)
                    self._open(self.path)
                raise
            finally:
                self.writes += 1
                self._joined = None
                cursor.close()

    def _ready_to_write(self) -> None:
        """The file is made where there is none yet; where it was removed meanwhile, its content
        goes on in another one.
        """
        if self._new and self.path != MEMORY:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            if _never_made(self.path):
                Path(self.path).unlink()
            # What was looked at so far is empty, and goes with its last reader: DuckDB closes
            # nothing that is being asked.
            self._open(self.path)
            self._new = False
        elif self._identity is not None and _identity(self.path) != self._identity:
            lost = self.path
            rescued = Path(f"{lost.removesuffix('.duckdb')}.rescued-{now():%Y%m%d-%H%M%S}.duckdb")
            self.backup(rescued)
            with self._db.cursor() as last:
                last.execute(
                    "PRAGMA disable_checkpoint_on_shutdown"
                )  # the name is another file's now
            _close(self._db)
            self._open(str(rescued))
            raise LabError(
                f"The store {lost} was removed or replaced while the lab had it open. All that was "
                f"kept is in "
                f"{rescued}, and what is being answered goes there: start the lab again with that "
                f"one."
            )

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a question, on a cursor of its own."""
        with in_words(self.path), self._db.cursor() as cursor:
            return cursor.execute(sql, list(values)).fetchall()

    def has_column(self, table: str, column: str) -> bool:
        """Return whether the file has this column: one of an earlier lab that is only read may lack
        it.
        """
        sql = (
            "SELECT 1 FROM duckdb_columns() WHERE NOT internal AND table_name = ? AND "
            "column_name = ?"
        )
        return bool(self.rows(sql, [table, column]))

    def frame(self, sql: str, values: Sequence[Any] = ()) -> pd.DataFrame:
        with in_words(self.path), self._db.cursor() as cursor:
            return cursor.execute(sql, list(values)).df()

    def arrow(self, sql: str, values: Sequence[Any] = ()) -> pa.Table:
        with in_words(self.path), self._db.cursor() as cursor:
            return cursor.sql(sql, params=list(values)).to_arrow_table()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """One of its own, for a ``with`` block."""
        return self._db.cursor()

    def checkpoint(self) -> None:
        """The log taken into the file: at a pause and at the end, so that damage to a log can cost
        little.
        """
        with self._lock, suppress(duckdb.Error):
            if not self._new and not self.read_only and _identity(self.path) == self._identity:
                self._db.execute("CHECKPOINT")

    def backup(self, path: str | Path) -> Path:
        """A whole copy as of now, while runs go on; written aside and renamed. Raises LabError for
        a name in use.
        """
        target = user_path(path, "written")
        if target.exists():
            raise LabError(
                f"{target} exists already, and nothing is overwritten. Choose another name."
            )
        # A name of its own: what a killed backup left behind is in nobody's way, and is cleared by
        # the next one.
        aside = target.with_name(f".{target.name[:40]}.{uuid4().hex}.part")
        for left in target.parent.glob(f".{glob.escape(target.name[:40])}.*.part*"):
            left.unlink(missing_ok=True)
        with in_words(str(target)), self._db.cursor() as source:
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                source.begin()  # one moment, whatever is committed meanwhile
                with _connect(str(aside)) as copy:
                    for table, made in source.execute(
                        "SELECT table_name, sql FROM duckdb_tables()"
                    ).fetchall():
                        copy.execute(made)  # also tables and columns that an earlier lab had
                        name = '"' + table.replace('"', '""') + '"'
                        copy.register(
                            "part", source.sql(f"SELECT * FROM {name}").to_arrow_reader(20_000)
                        )
                        copy.execute(f"INSERT INTO {name} BY NAME SELECT * FROM part")
                aside.rename(target)
            finally:
                with suppress(duckdb.Error):
                    source.rollback()
                for left in (aside, Path(f"{aside}.wal")):
                    left.unlink(missing_ok=True)
        return target

    def close(self) -> None:
        """Closed when the last that opened it has closed it."""
        with _opening:
            self.users -= 1
            if self.users > 0:
                return
            for name in [name for name, database in _opened.items() if database is self]:
                del _opened[name]
        self._shut()

    def _shut(self) -> None:
        """The file let go of, its log taken in; a commit under way is waited for, but not for
        ever.
        """
        waited = self._lock.acquire(timeout=CLOSE_SECONDS)
        with suppress(duckdb.Error):
            if self._identity is not None and _identity(self.path) != self._identity:
                with self._db.cursor() as last:
                    last.execute("PRAGMA disable_checkpoint_on_shutdown")
        _close(self._db)
        self._hold(None)
        if waited:
            self._lock.release()


_serials = itertools.count(1)
_opened: dict[str, Database] = {}
_opening = threading.Lock()


def _close(connection: duckdb.DuckDBPyConnection) -> None:
    """Close it; a question under way, while which DuckDB refuses, is waited for, but not for
    ever.
    """
    end = time.monotonic() + CLOSE_SECONDS
    while True:
        try:
            connection.close()
        except duckdb.Error as fault:
            if "busy" in str(fault) and time.monotonic() < end:
                time.sleep(0.005)
                continue
        return


@atexit.register
def close_all() -> None:
    """At interpreter exit: what is still open, as in a notebook or a thread that goes on, is closed
    like any other.

    DuckDB's binding reports connections that outlive the interpreter as “leaked”, and their log
    would stay beside the file.
    """
    for database in tuple(_opened.values()):
        database._shut()
        del database._db
    _opened.clear()


def open_database(path: str | Path, *, read_only: bool = False) -> Database:
    """The database in a file, the same object for each opening in this process.

    Raises LabError where another process has it (with its PID), where it is damaged, newer or no
    store.
    """
    text = str(path)
    if text != MEMORY:
        if not text.strip() or "\0" in text or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text):
            raise LabError(
                f"“{shorten(text)}” cannot be a store: name a .duckdb file on this computer."
            )
        # One spelling: DuckDB keeps the log beside the name that it was given.
        text = _resolved(text)
        if Path(text).exists() and not Path(text).is_file():
            raise LabError(
                f"{text} is a folder or a device, not a store. Name a file, as {text}/lab.duckdb."
            )
    with _opening:
        database = _opened.get(text) or _same_file(text) or Database(text, read_only)
        if text != MEMORY:
            _opened[text] = database
        database.users += 1
        return database


def _resolved(text: str) -> str:
    """Return the path without links and dots. Raises LabError for what no file can be called."""
    try:
        return str(user_path(text).resolve())
    except (OSError, RuntimeError) as fault:  # links that lead in a circle
        raise LabError(f"“{shorten(text)}” cannot be opened: {fault}. Check the name.") from None


def _same_file(path: str) -> Database | None:
    """Return the open database of this file under another name (a hard link): two of them would
    damage it.
    """
    try:
        known = _file_id(Path(path))
    except OSError:
        return None
    return next((other for other in _opened.values() if other.file_id == known), None)


def _file_id(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def insert(
    cursor: duckdb.DuckDBPyConnection,
    table: str,
    columns: Mapping[str, Any] | pa.Table,
    select: str = "*",
) -> None:
    """Rows given by columns into a table, through Arrow: 500 rows take some milliseconds, never
    ``executemany``.
    """
    cursor.register("batch", columns if isinstance(columns, pa.Table) else pa.table(dict(columns)))
    try:
        cursor.execute(f"INSERT INTO {table} BY NAME SELECT {select} FROM batch")
    finally:
        cursor.unregister("batch")


def recover(path: str | Path, target: str | Path) -> int:
    """What stands before the damage in a store's log, as a new store at ``target``; the damaged
    files stay as they are.

    Returns the byte at which the log was cut. Raises LabError where the damage is not in the log.
    """
    path, target = user_path(path), user_path(target)
    log, copy = Path(f"{path}.wal"), Path(f"{target}.wal")
    if target.exists() or copy.exists():
        raise LabError(f"{target} exists already, and nothing is overwritten. Choose another name.")
    with in_words(str(path)):
        shutil.copyfile(path, target)
        shutil.copyfile(log, copy)
        cut = copy.stat().st_size
        while True:
            try:
                duckdb.connect(str(target)).close()
                return cut
            except duckdb.Error as fault:
                damaged = LOG_ENTRY.search(str(fault))
                if damaged is None or int(damaged[1]) >= cut:
                    target.unlink()
                    copy.unlink(missing_ok=True)
                    raise
                cut = int(damaged[1])
                os.truncate(copy, cut)


@contextmanager
def in_words(path: str) -> Iterator[None]:
    """Faults of the database and the disk inside come out as LabError: what happened to ``path``,
    and what to do.
    """
    try:
        yield
    except LabError:
        raise
    except (duckdb.Error, OSError) as fault:
        text = f"{type(fault).__name__}: {fault}"
        words = next(
            words
            for form, words in FAULTS.items()
            if re.search(form, text, re.IGNORECASE | re.DOTALL)
        )
        holder = re.search(r"\(PID (\d+)\)", text)
        said = words.format(
            path=path,
            said=shorten(str(fault).partition("\n")[0] or repr(fault), 300),
            holder=f"process {holder[1]}" if holder else "another process",
        )
        raise (DamagedLog if words is DAMAGED_LOG else LabError)(said) from fault


def now() -> datetime:
    """UTC, as the store keeps times."""
    return datetime.now(UTC).replace(tzinfo=None)


def _connect(path: str, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    # A file may be anybody's: it can read no other, and fetch nothing.
    return duckdb.connect(path, read_only=read_only, config={"enable_external_access": "false"})


def _create(db: duckdb.DuckDBPyConnection) -> None:
    db.begin()
    db.execute(TABLES + ADDED)
    db.execute("INSERT INTO lab VALUES (?, ?)", [SCHEMA, now()])
    db.commit()


def _never_made(path: str) -> bool:
    """Whether a file is what is left where the disk was full, or the lab was killed, before its
    first headers were whole.
    """
    small = (
        Path(path).is_file()
        and Path(path).stat().st_size < HEADERS
        and not Path(f"{path}.wal").exists()
    )
    return small and bool(re.fullmatch(b"(.{8}DUCK.*)?", Path(path).read_bytes(), re.DOTALL))


def _identity(path: str) -> tuple[int, int] | None:
    """Which file has the name; None where there is none, or one that was emptied."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_size >= HEADERS else None
