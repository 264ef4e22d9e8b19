"""The open database under a store: transactions and questions, faults as StoreErrors."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from rubriclab.model.language import tr
from rubriclab.store.copying import copy_tables
from rubriclab.store.faults import DAMAGE, StoreError, read_only_fault, store_error
from rubriclab.store.opening import MEMORY, open_file, still_there, store_path


class _Commits:
    """How often this process has committed, to whatever store: two stores may have one file open."""

    def __init__(self) -> None:
        self._lock, self.so_far = threading.Lock(), 0

    def one_more(self) -> None:
        with self._lock:
            self.so_far += 1


COMMITS = _Commits()
"""While ``so_far`` stays as it is, every store says what it said: a file has one process, and that writes only here."""


class Database:
    """One writer at a time, any number of readers, each on a cursor of its own.

    ``notices``: what the user should know of this store, in words: what was set aside, that
    it is open for reading alone. ``moved``: why the store goes on in another file, else None.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = str(path)
        self.notices: list[str] = []
        self.moved: StoreError | None = None
        self._write_lock = threading.RLock()
        self._open: duckdb.DuckDBPyConnection | None = None
        self._file = open_file(self.path, read_only=read_only)
        self._db = self._file.db
        self._closed = False
        self._left: list[duckdb.DuckDBPyConnection] = []
        if self.read_only:
            self.notices.append(str(read_only_fault(self.path)))

    @property
    def read_only(self) -> bool:
        return self._file.read_only

    def close(self) -> None:
        with self._write_lock:
            if not self.read_only and not self._closed:
                self._stay_with_file()
            self._closed = True
            for db in (self._db, *self._left):
                db.close()

    def backup(self, out: str | Path) -> Path:
        """A consistent copy, as of the last commit, while runs go on. Returns its path.

        Raises StoreError for a name that is taken, or where it cannot be read or written.
        """
        place = free_place(out)
        try:
            with self._cursor() as source:
                copy_tables(source, place)
        except duckdb.Error as fault:
            at_fault = self.path if DAMAGE.search(str(fault)) else str(place)
            raise store_error(at_fault, fault) from fault
        return place

    @contextmanager
    def _transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """All of a block or nothing of it, one writer at a time; nested blocks join the outer."""
        with self._write_lock:
            if self._open is not None:
                yield self._open
                return
            if self.read_only:
                raise read_only_fault(self.path)
            self._stay_with_file()
            cursor = self._cursor()
            self._open = cursor
            try:
                cursor.begin()
                yield cursor
                cursor.commit()
                COMMITS.one_more()  # before the next writer, who may read what is kept in memory
            except BaseException as fault:
                with suppress(duckdb.Error):
                    cursor.rollback()
                if isinstance(fault, duckdb.Error):
                    raise store_error(self.path, fault) from fault
                raise
            finally:
                self._open = None
                cursor.close()

    def _stay_with_file(self) -> None:
        """Where the file was removed or replaced: go on in a new one that has all of it.

        The open database still holds every row, and nothing may be written under a name that
        is another file's now. Raises StoreError where no new file can be written either.
        """
        if self.path == MEMORY or still_there(self.path, self._file):
            return
        lost = self.path
        rescued = rescue_place(Path(lost).expanduser())
        try:
            # At its end it must not touch what lies under its name now.
            self._db.execute("PRAGMA disable_checkpoint_on_shutdown")
            with self._cursor() as source:
                copy_tables(source, rescued)
            following = open_file(str(rescued))
        except (duckdb.Error, OSError, StoreError) as fault:
            raise StoreError(
                f"The store {lost} was removed or replaced while the lab had it open, and a new "
                f"one could not be written: {store_error(str(rescued), fault)} "
                "Leave the lab running, make room, and go on with the run: it still has everything."
            ) from fault
        self._left.append(self._db)
        self._file, self._db, self.path = following, following.db, str(rescued)
        self.moved = StoreError(
            f"The store {lost} was removed or replaced while the lab had it open. Everything is "
            f"in {rescued} now: open that one to go on."
        )
        self.notices.append(str(self.moved))

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        try:
            return self._db.cursor()
        except duckdb.Error as fault:
            raise store_error(self.path, fault) from fault

    @contextmanager
    def _asked(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor to read with. Blocks are read late: damage can show at any question."""
        with self._cursor() as cursor:
            try:
                yield cursor
            except duckdb.Error as fault:
                raise store_error(self.path, fault) from fault

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._asked() as cursor:
            rows: list[tuple[Any, ...]] = cursor.execute(sql, list(values)).fetchall()
            return rows

    def _one(self, sql: str, values: Sequence[Any] = ()) -> int:
        return int(self._rows(sql, values)[0][0] or 0)

    def _frame(self, sql: str, values: Sequence[Any] = ()) -> pd.DataFrame:
        with self._asked() as cursor:
            return cursor.execute(sql, list(values)).df()

    def _numpy(self, sql: str, values: Sequence[Any]) -> dict[str, np.ndarray]:
        """Columns of numbers as arrays, through Arrow: a quarter of the time of fetchnumpy."""
        with self._asked() as cursor:
            table = cursor.sql(sql, params=list(values)).to_arrow_table()
        parts = ((name, table.column(name).combine_chunks()) for name in table.column_names)
        return {name: part.to_numpy(zero_copy_only=False) for name, part in parts}


def free_place(out: str | Path) -> Path:
    """A path for a new store. Raises StoreError where something lies there already."""
    place = store_path(out)
    if place.exists():
        raise StoreError(tr("{out} is there already; nothing is overwritten. Choose another name.", out=out))
    return place


def rescue_place(lost: Path) -> Path:
    """A free name beside the lost file, in the folder it was in; the folder is made again."""
    moment = f"{datetime.now():%Y%m%d-%H%M%S}"
    for n in range(1, 1000):
        more = "" if n == 1 else f"-{n}"
        place = lost.with_name(f"{lost.stem}.rescued-{moment}{more}{lost.suffix}")
        if not place.exists():
            return place
    raise StoreError(tr("No free name for a rescued store beside {lost}.", lost=lost))
