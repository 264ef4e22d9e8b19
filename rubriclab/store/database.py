"""Open a store's file, hand out cursors and transactions, and put its faults into words.

One process owns a file, and within it one ``Database`` does, however often the file is opened. The
lab gives its file free while nobody uses it (``rest_when_idle``), so that commands can have it.
DuckDB connections are not safe to share between threads, but their cursors are: each question gets
a cursor of its own, and only transactions are serialised.
"""

import atexit
import glob
import itertools
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import duckdb
import pandas as pd
import pyarrow as pa

from rubriclab.data.limits import HELD_FILES, user_path
from rubriclab.model.text import LabError, shorten
from rubriclab.store.sharing import CopyServer

T = TypeVar("T")

SCHEMA = 1
"""The version of the tables. Additions (ADDED) do not raise it: older labs ignore them."""
MEMORY = ":memory:"
CLOSE_SECONDS = 5.0
"""Longest wait (s) for a query or a commit under way when a file is closed. At exit nothing may
hang; what was committed is safe either way."""
BUSY_SECONDS = 0.005
"""Pause (s) between two attempts to close a connection that is busy."""
REST_SECONDS = 2.0
"""A lab gives its file free when nobody has used it for so long (s)."""
WAIT_SECONDS = 10.0
"""Longest wait (s) for a file that another process has open."""
RETRY_SECONDS = 0.1
"""Pause (s) between two attempts to open such a file, or to give one free."""
HEADERS = 3 * 4_096
"""Bytes that DuckDB writes into every new file. A smaller file was never finished."""
COPIED_ROWS = 20_000
"""Rows that a backup holds in memory at once."""
MOST_SAID = 300
"""Characters of a fault's own text in a message."""

TABLES = Path(__file__).with_name("tables.sql").read_text("utf-8")
ADDED = """
CREATE TABLE IF NOT EXISTS reference_attempts (
    job VARCHAR, task VARCHAR, score INTEGER, attempt SMALLINT,
    writer VARCHAR, reviewer VARCHAR, status VARCHAR, verdict INTEGER,
    text VARCHAR, review VARCHAR, reason VARCHAR, asked TIMESTAMP
);
CREATE TABLE IF NOT EXISTS objects (
    kind VARCHAR, id VARCHAR, name VARCHAR, body JSON, created TIMESTAMP,
    PRIMARY KEY (kind, id)
);
ALTER TABLE calls ADD COLUMN IF NOT EXISTS prompt VARCHAR;
ALTER TABLE runs ADD COLUMN IF NOT EXISTS token VARCHAR;
UPDATE runs SET token = uuid()::VARCHAR WHERE token IS NULL;
ALTER TABLE runs ADD COLUMN IF NOT EXISTS looks JSON;
ALTER TABLE judgments ADD COLUMN IF NOT EXISTS why VARCHAR;
ALTER TABLE judgments ADD COLUMN IF NOT EXISTS form VARCHAR;
ALTER TABLE judgments ADD COLUMN IF NOT EXISTS reader SMALLINT;
"""
"""What the files of earlier labs are missing. It is run at each opening for writing, so every
statement must be harmless the second time."""

LOG_ENTRY = re.compile(r"byte position (\d+)", re.IGNORECASE)
"""Where DuckDB says that it stopped reading a damaged log."""
DAMAGE = (
    "(corrupt"
    "|does not match stored checksum"
    "|could not read enough bytes"
    "|failure while replaying wal"
    "|failed to (load|read) metadata"
    "|serialization error"
    "|failed to deserialize"
    "|not enough data in file)"
)


@dataclass(frozen=True)
class FaultWords:
    """What a fault of the database or the disk looks like, and what is said about it.

    pattern: searched in the fault's class and text, whatever the case.
    words: may name {path}, {holder} (the process that has the file) and {said} (the fault's text).
    raises: the class of the error.
    """

    pattern: str
    words: str
    raises: type[LabError] = LabError


class StoreInUse(LabError):
    """Another process has the store's file open. It may be free soon.

    process: which one, for a sentence.
    """

    process = "another process"


class DamagedLog(LabError):
    """The log beside a store's file is damaged. ``recover`` saves what precedes the damage."""


FAULTS = (
    FaultWords(
        "could not set lock on file|being used by another process",
        "{path} is in use by {holder}: a run that is going on there, in the lab or on the command "
        "line. Pause it or wait until it ends, or choose another file with --store.",
        raises=StoreInUse,
    ),
    FaultWords(
        "no space left|disk full|out of disk|file too large",
        "The disk is full: {path} cannot be written. What was kept before is safe. Free some "
        "space and continue.",
    ),
    FaultWords(
        rf"(?=.*(\.wal\b|replaying wal)).*{DAMAGE}",
        "The log of {path} is damaged ({said}). Keep both files as they are. “rubriclab runs "
        "--store {path} --backup saved.duckdb” saves what precedes the damage into a new store.",
        raises=DamagedLog,
    ),
    FaultWords(
        DAMAGE,
        "{path} is damaged: it was cut or changed on the disk ({said}). Go back to a backup.",
    ),
    FaultWords(
        "not a valid duckdb database",
        "{path} is not a store: it does not begin like one. Choose another file.",
    ),
    FaultWords(
        "read-only mode|read-only file system|PermissionError",
        "{path} cannot be written: its file or folder is read-only. Copy it to a folder that can "
        "be written.",
    ),
    FaultWords(
        "newer version|version number",
        "{path} was written by another version of DuckDB ({said}). Update duckdb, or choose "
        "another store.",
    ),
    FaultWords("", "The store {path} reported: {said}"),
)
"""The first that fits is used; the last fits everything."""


class Database:
    """One open file: any number of readers, each on a cursor of its own, and one writer at a time.

    A file that does not exist is made by the first transaction, so that looking, or an input that
    is refused, leaves nothing behind. Use ``open_database``: a second opening in this process
    shares the first.

    serial: distinguishes two openings in caches, whatever the files hold.
    writes: counts transactions; what was read before another one may be out of date.
    unsaved: by run, what its writer could not commit. The run's next writer takes it up.
    unsaved_states: by run's ID, (state, reason) that could not be written.
    writing: runs that have a writer.
    users: how often the file is open in this process.
    copied: whether the file is a copy of a store that another process holds. ``path`` then names
        that store, for messages.
    """

    def __init__(self, path: str, read_only: bool) -> None:
        self.path = path
        self.serial = next(_serials)
        self.writes = 0
        self.unsaved: dict[int, Any] = {}
        self.unsaved_states: dict[str, tuple[str, str]] = {}
        self.writing: set[int] = set()
        self.users = 0
        self.copied = False
        # Guards the six fields below. It is taken after ``_lock``, never before.
        self._gate = threading.Condition()
        self._busy = 0  # uses of the file that go on now
        self._used = time.monotonic()  # when the latest use ended
        self._resting = False  # the file is closed, and is opened again by its next use
        self._left: tuple[int, ...] | None = None  # the file as it was then
        self._refused = -WAIT_SECONDS  # when another process was last waited for in vain
        self._server: CopyServer | None = None
        self._shares = False
        # Held during a transaction. Reentrant, because a transaction inside another one joins it.
        self._lock = threading.RLock()
        self._joined: duckdb.DuckDBPyConnection | None = None
        self._identity: tuple[int, int] | None = None
        self.file_id: tuple[int, int] | None = None
        self._new = path == MEMORY or not Path(path).exists() or _never_made(path)
        # DuckDB also writes a log and temporary files beside the file, so the folder counts too.
        writable = self._new or all(os.access(part, os.W_OK) for part in (path, Path(path).parent))
        self.read_only = read_only or not writable
        if self._new and read_only:
            raise LabError(f"No store found at {path}. Check the name.")
        if self._new:
            refuse_lone_log(path)
        with in_words(path):
            if self._new:
                self._db = _connect(MEMORY)
                _create(self._db)
            else:
                self._open(path)

    def _open(self, path: str) -> None:
        """Open a file and use it from now on.

        It is checked and given its tables first, so whoever reads meanwhile never sees less.
        """
        opened = _connect(path, self.read_only)
        try:
            self._check_version(opened, path)
        except BaseException:
            opened.close()
            raise
        self.path, self._db, self._identity = path, opened, _identity(path)
        self._new, self._resting = False, False
        self._hold(_file_id(Path(path)))
        self._serve_copies()

    def _hold(self, file_id: tuple[int, int] | None) -> None:
        """Let nobody else in this process open that file. None lets go of the one that was held."""
        if self.file_id is not None:
            HELD_FILES.discard(self.file_id)
        self.file_id = file_id
        if file_id is not None:
            HELD_FILES.add(file_id)

    def _check_version(self, db: duckdb.DuckDBPyConnection, path: str) -> None:
        """Raise LabError for a file that is not a store of this version; make tables it lacks."""
        attached = db.execute("SELECT path FROM duckdb_databases() WHERE NOT internal").fetchall()
        if attached == [(None,)]:
            # DuckDB opens data files (a CSV) as if they were databases. What is written there is
            # lost when it is closed.
            raise LabError(f"{path} is a data file, not a store. Choose another file.")
        rows = db.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        tables = {name for (name,) in rows}
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
                f"{path} was written by a newer rubriclab (store version {version}; this one "
                f"supports up to {SCHEMA}). Update rubriclab, or choose another store."
            )
        if not self.read_only:
            db.execute(ADDED)

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Keep all of a block or nothing of it. A block inside another one joins it.

        Raises LabError if it cannot be kept.
        """
        with self._lock, in_words(self.path):
            if self._joined is not None:
                yield self._joined
                return
            if self.read_only:
                raise LabError(
                    f"{self.path} is open for reading only: its file or folder cannot be written. "
                    "Copy it to a folder that can be written, and open the copy."
                )
            with self._in_use():
                self._ready_to_write()
                cursor = self._joined = self._db.cursor()
                try:
                    cursor.begin()
                    yield cursor
                    cursor.commit()
                except BaseException as fault:
                    with suppress(duckdb.Error):
                        cursor.rollback()
                    # After an error of the disk DuckDB refuses everything until the file is opened
                    # again. What was committed is in the file.
                    if "has been invalidated" in str(fault):
                        _close(self._db)
                        self._open(self.path)
                    raise
                finally:
                    self.writes += 1
                    self._joined = None
                    cursor.close()

    def _ready_to_write(self) -> None:
        """Make the file if there is none yet; rescue the content if the file was taken away."""
        if self._new and self.path != MEMORY:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            if _never_made(self.path):
                Path(self.path).unlink()
            # What was looked at so far is empty, and goes with its last reader: DuckDB closes
            # nothing that is being read.
            with self._gate:
                self._open(self.path)
        elif self._identity is not None and _identity(self.path) != self._identity:
            self._rescue()

    def _rescue(self) -> None:
        """Go on in another file, because this one was removed or replaced. Always raises LabError.

        On Unix the removed file still exists for us until it is closed, so all of it can be copied.
        """
        lost = self.path
        rescued = Path(f"{lost.removesuffix('.duckdb')}.rescued-{now():%Y%m%d-%H%M%S}.duckdb")
        self.backup(rescued)
        self._keep_log_out()
        _close(self._db)
        self._open(str(rescued))
        raise LabError(
            f"The store {lost} was removed or replaced while the lab had it open. All that was "
            f"kept is in {rescued}, and new replies go there. Start the lab again with that file."
        )

    def _keep_log_out(self) -> None:
        """Do not write the log into a file that has the name by now and is not ours."""
        with self._db.cursor() as last:
            last.execute("PRAGMA disable_checkpoint_on_shutdown")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query as tuples."""
        with in_words(self.path), self.cursor() as cursor:
            return cursor.execute(sql, list(values)).fetchall()

    def has_column(self, table: str, column: str) -> bool:
        """Return whether the file has this column.

        A file of an earlier lab that is open for reading only may not have it.
        """
        sql = """
            SELECT 1
            FROM duckdb_columns()
            WHERE NOT internal AND table_name = ? AND column_name = ?
        """
        return bool(self.rows(sql, [table, column]))

    def frame(self, sql: str, values: Sequence[Any] = ()) -> pd.DataFrame:
        """Return all rows of a query as a pandas frame."""
        with in_words(self.path), self.cursor() as cursor:
            return cursor.execute(sql, list(values)).df()

    def arrow(self, sql: str, values: Sequence[Any] = ()) -> pa.Table:
        """Return all rows of a query as an Arrow table, in which missing whole numbers stay whole
        numbers.
        """
        with in_words(self.path), self.cursor() as cursor:
            return cursor.sql(sql, params=list(values)).to_arrow_table()

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Give a new cursor to a ``with`` block."""
        with self._in_use() as db, db.cursor() as cursor:
            yield cursor

    def checkpoint(self) -> None:
        """Take the log into the file.

        Done at a pause and at the end, so that damage to a log costs little.
        """
        if self._new or self._resting or self.read_only:
            return
        with self._lock, suppress(duckdb.Error), self._in_use() as db:
            if _identity(self.path) == self._identity:
                db.execute("CHECKPOINT")

    def backup(self, path: str | Path) -> Path:
        """Write a whole copy of this moment to ``path``, while runs go on.

        It is written aside and renamed, so a copy that is there is whole. Raises LabError for a
        name in use.
        """
        target = user_path(path, "written")
        if target.exists():
            raise LabError(
                f"{target} exists already, and nothing is overwritten. Choose another name."
            )
        # A name that no other backup has. The next one clears what a killed one has left behind.
        aside = target.with_name(f".{target.name[:40]}.{uuid4().hex}.part")
        for left in target.parent.glob(f".{glob.escape(target.name[:40])}.*.part*"):
            left.unlink(missing_ok=True)
        with in_words(str(target)), self._in_use() as db, db.cursor() as source:
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                source.begin()  # one moment, whatever is committed meanwhile
                with _connect(str(aside)) as copy:
                    _copy_tables(source, copy)
                aside.rename(target)
            finally:
                with suppress(duckdb.Error):
                    source.rollback()
                for left in (aside, Path(f"{aside}.wal")):
                    left.unlink(missing_ok=True)
        return target

    # ---- one file, several processes

    def share(self) -> None:
        """Let other processes of this user copy the file while this one has it open."""
        with self._gate:
            self._shares = True
            self._serve_copies()

    def rest_when_idle(self) -> None:
        """Give the file free whenever nobody has used it for REST_SECONDS.

        The next use opens it again. A file with a run's writer, or with what could not be written
        yet, stays open.
        """
        threading.Thread(target=self._watch, name="rest of the store", daemon=True).start()

    def _watch(self) -> None:
        while self.users > 0:
            time.sleep(RETRY_SECONDS)
            with self._gate:
                self._rest()

    def _rest(self) -> None:
        """Close the file if nobody uses it."""
        idle = not self._busy and time.monotonic() - self._used >= REST_SECONDS
        kept = not (self.writing or self.unsaved or self.unsaved_states)
        if self._resting or self._new or not idle or not kept:
            return
        if _identity(self.path) != self._identity:
            return  # the file was taken away: only while it is open can its content be rescued
        self._stop_copies()
        # Once the log is in the file, closing writes nothing. The state is taken before it, because
        # from then on a process that has waited may write at any moment.
        with suppress(duckdb.Error):
            self._db.execute("CHECKPOINT")
        self._left = _state_of(self.path)
        _close(self._db)
        self._resting = True

    @contextmanager
    def _in_use(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Keep the file open during a block. Give its connection."""
        with self._gate:
            self._wake()
            self._busy += 1
        try:
            yield self._db
        finally:
            with self._gate:
                self._busy -= 1
                self._used = time.monotonic()

    def changed_elsewhere(self) -> bool:
        """Return whether another process has changed the file since this one gave it free."""
        with self._gate:
            if self._new:
                return self._made_elsewhere()
            return self._resting and _state_of(self.path) != self._left

    def _made_elsewhere(self) -> bool:
        """Return whether another process has made the file that was missing so far."""
        return self.path != MEMORY and Path(self.path).exists() and not _never_made(self.path)

    def _wake(self) -> None:
        """Open the file if it was given free, or made by another process.

        What another process has changed makes every cache of this file's content out of date.
        """
        if self._new:
            if not self._made_elsewhere():
                return
        elif not self._resting:
            return
        elif not Path(self.path).exists():
            raise LabError(
                f"The store {self.path} was removed or renamed. Put it back, or start the lab "
                "again to begin with an empty one."
            )
        before = self._left
        self._open_patiently()
        if before is None or _state_of(self.path) != before:
            self.serial, self.writes = next(_serials), self.writes + 1
            self.end_dead_runs()

    def _open_patiently(self) -> None:
        """Open the file, and wait for another process that has it. Raises StoreInUse."""
        # A page asks for many things. Only the first one waits, else it would be drawn in minutes.
        lately = time.monotonic() - self._refused < WAIT_SECONDS
        try:
            waiting_for(self._reopen, 0.0 if lately else WAIT_SECONDS)
        except StoreInUse:
            self._refused = time.monotonic()
            raise

    def _reopen(self) -> None:
        with in_words(self.path):
            self._open(self.path)

    def end_dead_runs(self) -> list[str]:
        """Mark the runs that a dead process left running as interrupted, and return their IDs.

        Only whoever has just got the file may ask for this: no process runs them then.
        """
        if self.read_only or self._new:
            return []
        with in_words(self.path), self._db.cursor() as cursor:
            left = cursor.execute("SELECT id FROM runs WHERE state = 'running'").fetchall()
            if left:
                self.writes += 1
                cursor.execute(
                    """
                    UPDATE runs
                    SET state = 'interrupted',
                        reason = 'the lab was ended while it ran',
                        revision = revision + 1
                    WHERE state = 'running'
                    """
                )
        return [str(id) for (id,) in left]

    def _serve_copies(self) -> None:
        """Listen beside the file, if that was asked for. It must be open, and not listened to."""
        self._stop_copies()
        if self._shares and not self._new and not self._resting and not self.read_only:
            self._server = CopyServer(self.path, self._standing_still, self._names_of_written)
            self._server.open()

    def _stop_copies(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    @contextmanager
    def _standing_still(self, seconds: float) -> Iterator[bool]:
        """Write nothing during a block, so that the file and its log can be copied.

        Gives False if a transaction goes on for more than ``seconds``.
        """
        if not self._lock.acquire(timeout=seconds):
            yield False
            return
        try:
            with self._in_use():
                yield True
        finally:
            self._lock.release()

    def _names_of_written(self) -> list[str]:
        """Return the names of the runs that are written now."""
        sql = "SELECT name FROM runs WHERE run IN (SELECT unnest(?)) ORDER BY run"
        return [name for (name,) in self.rows(sql, [list(self.writing)])]

    def close(self) -> None:
        """Close the file when the last of those that opened it has closed it."""
        with _opening:
            self.users -= 1
            if self.users > 0:
                return
            for name in [name for name, database in _opened.items() if database is self]:
                del _opened[name]
        self._shut()

    def _shut(self) -> None:
        """Let go of the file, its log taken in. A commit under way gets CLOSE_SECONDS to end."""
        waited = self._lock.acquire(timeout=CLOSE_SECONDS)
        self._shares = False
        self._stop_copies()
        with suppress(duckdb.Error):
            if self._identity is not None and _identity(self.path) != self._identity:
                self._keep_log_out()
        _close(self._db)
        self._hold(None)
        if waited:
            self._lock.release()


def _copy_tables(source: duckdb.DuckDBPyConnection, copy: duckdb.DuckDBPyConnection) -> None:
    """Copy all tables, also tables and columns that only an earlier lab had."""
    made = source.execute("SELECT table_name, sql FROM duckdb_tables()").fetchall()
    for table, sql in made:
        copy.execute(sql)
        name = '"' + table.replace('"', '""') + '"'
        rows = source.sql(f"SELECT * FROM {name}").to_arrow_reader(COPIED_ROWS)
        copy.register("part", rows)
        copy.execute(f"INSERT INTO {name} BY NAME SELECT * FROM part")


_serials = itertools.count(1)
_opened: dict[str, Database] = {}
_opening = threading.Lock()
"""Held while a file is opened or let go of: two threads that open one file must get one object."""


def _close(connection: duckdb.DuckDBPyConnection) -> None:
    """Close a connection; wait up to CLOSE_SECONDS for a query, during which DuckDB refuses."""
    end = time.monotonic() + CLOSE_SECONDS
    while True:
        try:
            connection.close()
        except duckdb.Error as fault:
            if "busy" in str(fault) and time.monotonic() < end:
                time.sleep(BUSY_SECONDS)
                continue
        return


@atexit.register
def close_all() -> None:
    """Close, at interpreter exit, what a notebook or a thread that goes on has left open.

    DuckDB's binding reports connections that outlive the interpreter as “leaked”, and their log
    would stay beside the file.
    """
    for database in tuple(_opened.values()):
        database._shut()
        del database._db
    _opened.clear()


def open_database(path: str | Path, *, read_only: bool = False) -> Database:
    """Return the database in a file, the same object for each opening in this process.

    Raises LabError if another process has it (with its PID), and for a file that is damaged, newer
    or not a store.
    """
    text = str(path)
    if text != MEMORY:
        text = _checked_path(text)
    with _opening:
        database = _opened.get(text) or _same_file(text) or Database(text, read_only)
        if text != MEMORY:
            _opened[text] = database
        database.users += 1
        return database


def _checked_path(text: str) -> str:
    """Return the one spelling of a store's path. Raises LabError for what cannot be a store.

    DuckDB would take “md:name” or “s3://…” for an address, and fetch it.
    """
    if not text.strip() or "\0" in text or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", text):
        raise LabError(
            f"“{shorten(text)}” cannot be a store. Name a .duckdb file on this computer."
        )
    # One spelling: DuckDB keeps the log beside the name that it was given.
    text = _resolved(text)
    if Path(text).exists() and not Path(text).is_file():
        raise LabError(
            f"{text} is a folder or a device, not a store. Name a file, for example "
            f"{text}/lab.duckdb."
        )
    return text


def _resolved(text: str) -> str:
    """Return the path without links and dots. Raises LabError for what cannot be a file's name."""
    try:
        return str(user_path(text).resolve())
    except (OSError, RuntimeError) as fault:  # links that lead in a circle
        raise LabError(f"“{shorten(text)}” cannot be opened: {fault}. Check the name.") from None


def _same_file(path: str) -> Database | None:
    """Return the open database of this file under another name (a hard link).

    Two databases on one file would damage it.
    """
    try:
        known = _file_id(Path(path))
    except OSError:
        return None
    for other in _opened.values():
        if other.file_id == known:
            return other
    return None


def _file_id(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def insert(
    cursor: duckdb.DuckDBPyConnection,
    table: str,
    columns: Mapping[str, Any] | pa.Table,
    select: str = "*",
) -> None:
    """Insert rows, given as columns, through Arrow.

    500 rows take some milliseconds; ``executemany`` would take a second.
    """
    cursor.register("batch", columns if isinstance(columns, pa.Table) else pa.table(dict(columns)))
    try:
        cursor.execute(f"INSERT INTO {table} BY NAME SELECT {select} FROM batch")
    finally:
        cursor.unregister("batch")


def recover(path: str | Path, target: str | Path) -> int:
    """Write what precedes the damage in a store's log to a new store at ``target``.

    DuckDB says at which byte it stopped, so a copy of the log is cut there until it can be read.
    The damaged files stay as they are. Returns the byte at which the log was cut. Raises LabError
    if the damage is not in the log.
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
                if damaged is None or int(damaged[1]) >= cut:  # cutting more would not help
                    target.unlink()
                    copy.unlink(missing_ok=True)
                    raise
                cut = int(damaged[1])
                os.truncate(copy, cut)


@contextmanager
def in_words(path: str) -> Iterator[None]:
    """Turn faults of the database and the disk into a LabError: what happened, and what to do."""
    try:
        yield
    except LabError:
        raise
    except (duckdb.Error, OSError) as fault:
        known = _fault_words(f"{type(fault).__name__}: {fault}")
        held = re.search(r"\(PID (\d+)\)", str(fault))
        holder = f"process {held[1]}" if held else StoreInUse.process
        text = known.words.format(
            path=path,
            said=shorten(str(fault).partition("\n")[0] or repr(fault), MOST_SAID),
            holder=holder,
        )
        error = known.raises(text)
        if isinstance(error, StoreInUse):
            error.process = holder
        raise error from fault


def _fault_words(text: str) -> FaultWords:
    for known in FAULTS:
        if re.search(known.pattern, text, re.IGNORECASE | re.DOTALL):
            return known
    raise AssertionError("the last of FAULTS fits everything")


def refuse_lone_log(path: str) -> None:
    """Raise LabError if a store that is to be made would overwrite the log of one that is gone."""
    if Path(f"{path}.wal").exists():
        raise LabError(
            f"{path}.wal is the log of a store whose own file {path} is gone. A new store "
            "would overwrite what it holds. Put that file back, move the log away, or choose "
            "another store with --store."
        )


def waiting_for(
    attempt: Callable[[], T], seconds: float, told: Callable[[StoreInUse], None] | None = None
) -> T:
    """Return what ``attempt`` returns, and try again for so long while the store is in use.

    told: hears of the first refusal. Raises StoreInUse when the time is over.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except StoreInUse as fault:
            if time.monotonic() >= until:
                raise
            if told is not None:
                told(fault)
                told = None
            time.sleep(RETRY_SECONDS)


def now() -> datetime:
    """Return the time in UTC, without a zone, as the store keeps it."""
    return datetime.now(UTC).replace(tzinfo=None)


def _connect(path: str, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    # A file may come from anybody. Without external access it can read no other file, and fetch
    # nothing.
    return duckdb.connect(path, read_only=read_only, config={"enable_external_access": "false"})


def _create(db: duckdb.DuckDBPyConnection) -> None:
    """Make all tables, in one transaction: a kill leaves a file without any, which is new."""
    db.begin()
    db.execute(TABLES + ADDED)
    db.execute("INSERT INTO lab VALUES (?, ?)", [SCHEMA, now()])
    db.commit()


def _never_made(path: str) -> bool:
    """Return whether a file was left unfinished, by a full disk or a kill, when it was made.

    Such a file is empty, or has DuckDB's first bytes and is shorter than its headers.
    """
    file = Path(path)
    if not file.is_file() or file.stat().st_size >= HEADERS or Path(f"{path}.wal").exists():
        return False
    return bool(re.fullmatch(b"(.{8}DUCK.*)?", file.read_bytes(), re.DOTALL))


def _state_of(path: str) -> tuple[int, ...] | None:
    """Return what tells one state of a file and its log from another; None if there is no file.

    The log counts, because a process that was killed leaves there what it committed.
    """
    try:
        file = Path(path).stat()
    except OSError:
        return None
    state = (file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns)
    try:
        log = Path(f"{path}.wal").stat()
    except OSError:
        return state
    return *state, log.st_size, log.st_mtime_ns


def _identity(path: str) -> tuple[int, int] | None:
    """Return which file has the name; None if there is none, or one that was emptied."""
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if status.st_size >= HEADERS else None
