"""What is whole in a damaged store: looked for, counted, and written into a new one.

The damaged file is never changed: a copy of it is opened for reading. A table that cannot be
read whole is read in ranges of rows, and where a range fails column by column, so that one bad
block costs the texts that lie in it and not the judgments beside them.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from rubriclab.model.wording import many
from rubriclab.store.copying import columns_of, copy_tables, quoted, tables_of, write_store
from rubriclab.store.database import free_place
from rubriclab.store.faults import DAMAGE, DamagedStore, StoreError, StoreInUse, store_error
from rubriclab.store.journal import Unread, left_behind, read_journal
from rubriclab.store.lab import Store
from rubriclab.store.mending import FORGIVEN, accept_block, folder_of, readable_copy
from rubriclab.store.opening import open_file, store_path
from rubriclab.store.recovery import files_aside
from rubriclab.store.rows import insert
from rubriclab.store.schema import SCHEMA, now

STEP, VECTOR = 16_384, 2_048
"""Rows that are read at once, and the fewest of them: DuckDB's own step."""
FRAME = ("runs", "arms", "orderings", "datasets", "items", "rubrics", "judges")
"""Small tables that give judgments their meaning. Never judgments or replies: of these a row
that may be wrong is worse than one that is asked again."""
KEYS = {
    "judgments": ("run_no", "call"),
    "replies": ("run_no", "call", "key"),
    "arms": ("body",),
    "orderings": ("shown",),
    "items": ("dataset", "item"),
    "runs": ("run", "run_no"),
    "datasets": ("dataset",),
    "superseded": ("run_no", "call"),
    "logged": ("run_no", "call"),
    "run_tags": ("run_no", "tag"),
}
"""Columns without which a row says nothing: where they cannot be read, the row is lost."""

INSTEAD = {
    "runs": {
        "name": "run",
        "axis": "'options'",
        "state": "'interrupted'",
        "reason": "''",
        "created": "now()::TIMESTAMP",
        "changed": "now()::TIMESTAMP",
        "planned": "0",
        "simulated": "false",
        "provenance": "'{}'",
    },
    "datasets": {
        "name": "'unreadable'",
        "origin": "'unreadable'",
        "created": "now()::TIMESTAMP",
        "n_items": "0",
        "kind": "'items'",
        "listed": "true",
    },
}
"""What stands where a damaged block left nothing: every other place relies on a value there."""


@dataclass
class Table:
    """How a table fares: ``rows`` it has by its own account, ``whole`` ones, ``partly`` ones
    (some columns are lost), ``lost`` ones."""

    name: str
    rows: int
    whole: int = 0
    partly: int = 0
    lost: int = 0
    columns: set[str] = field(default_factory=set)

    @property
    def sound(self) -> bool:
        return not (self.partly or self.lost)

    def sentence(self) -> str:
        summary = f"{self.name}: {self.whole:,} of {many(self.rows, 'row')} whole"
        if self.partly:
            summary += f", {self.partly:,} without {', '.join(sorted(self.columns))}"
        return f"{summary}, {self.lost:,} lost" if self.lost else summary


@dataclass
class Report:
    """What was found in a store's file, and of its journals: records, and parts that are none."""

    path: str
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    journal_records: int = 0
    journal_unread: int = 0

    @property
    def sound(self) -> bool:
        return not self.notes and not self.journal_unread and all(t.sound for t in self.tables)


def check_store(path: str) -> Report:
    """Read everything in a store once. Raises StoreError where it cannot be opened at all."""
    report = Report(path)
    opened = open_file(path, read_only=True)
    try:
        for name in tables_of(opened.db):
            table = _table(opened.db, name)
            for part in _parts(opened.db, table):
                del part  # read, and that is all
            report.tables.append(table)
        _version(opened.db, path)
    except duckdb.Error as fault:
        raise store_error(path, fault) from fault
    finally:
        opened.db.close()
    _look_beside(report)
    return report


def salvage_store(path: str, out: str) -> Report:
    """Write what is whole in a damaged store, and in its journals, into a new one.

    Raises StoreError where nothing of it can be read, or ``out`` cannot be written.
    """
    source, place = store_path(path), free_place(out)
    if not source.exists():
        raise StoreError(f"There is no store {path}.")
    _unlocked(path)
    report = _rescued(source, place, out)
    _copy_journals(source, place)
    _look_beside(report)
    with Store(place) as store:  # brings it up to date and takes in the journals
        report.notes += _make_consistent(store)
        report.notes += store.notices
    return report


def _rescued(source: Path, place: Path, out: str) -> Report:
    """What can be read of ``source``, written to ``place`` by a process of its own.

    A block that is read although its checksum is wrong can end the process that reads it, in about one of
    some hundred flipped bytes. It is read once more without such blocks then.
    """
    context = get_context("forkserver")
    context.set_forkserver_preload([__name__])  # one start for all that this process saves
    try:
        for forgiving in (True, False):
            with tempfile.TemporaryDirectory(prefix=".salvage-", dir=folder_of(place)) as folder:
                pool = ProcessPoolExecutor(1, mp_context=context)
                try:
                    return pool.submit(_rescue, source, place, out, Path(folder), forgiving).result()
                except BrokenProcessPool:
                    continue
                finally:
                    pool.shutdown()
    except OSError as fault:
        raise store_error(str(place), fault) from fault
    place.with_name(f"{place.name}.part").unlink(missing_ok=True)
    raise DamagedStore(
        f"Nothing of {source} can be saved: it is damaged so far that reading it ends the process that reads. "
        "Go back to a backup."
    )


def _rescue(source: Path, place: Path, out: str, folder: Path, forgiving: bool) -> Report:
    """Runs in the process of its own."""
    report = Report(str(source))
    with readable_copy(source, folder, report.notes) as (db, copy):

        def fill(db: duckdb.DuckDBPyConnection, new: duckdb.DuckDBPyConnection, name: str) -> None:
            if forgiving and name in FRAME and name in tables_of(db):
                _forgive(db, copy, name, report)
            _save(db, new, name, report)

        try:
            write_store(db, place, _version(db, str(source)), fill)
        except duckdb.Error as fault:
            raise store_error(str(source) if DAMAGE.search(str(fault)) else out, fault) from fault
    return report


def backup_store(path: str, out: str) -> Path:
    """A consistent copy of a store that nobody has open, with what its journals hold.

    The store itself is not changed. Raises StoreError.
    """
    source, place = store_path(path), free_place(out)
    opened = open_file(path, read_only=True)
    try:
        _version(opened.db, path)
        copy_tables(opened.db, place)
    except duckdb.Error as fault:
        raise store_error(path if DAMAGE.search(str(fault)) else out, fault) from fault
    finally:
        opened.db.close()
    _copy_journals(source, place)
    Store(place).close()  # brings it up to date and takes in the journals
    return place


def _copy_journals(source: Path, place: Path) -> None:
    """The journals of a store, beside its copy and under the copy's name."""
    try:
        for run, journals in left_behind(source).items():
            for journal in journals:
                side = journal.name.removeprefix(f"{source.name}.{run}")
                shutil.copyfile(journal, place.with_name(f"{place.name}.{run}{side}"))
    except OSError as fault:
        raise store_error(str(place), fault) from fault


# ---------------------------------------------------------------- reading what is damaged


def _version(db: duckdb.DuckDBPyConnection, path: str) -> int:
    """The schema of a store; that of today where it cannot be read."""
    tables = tables_of(db)
    if "lab" not in tables:
        raise StoreError(f"{path} is a DuckDB file but not a rubriclab store. Choose another file.")
    try:
        ((version,),) = db.execute("SELECT max(schema_version) FROM lab").fetchall()
    except duckdb.Error:
        version = None
    if version is None:  # it cannot be read: by its tables then
        has = {name: columns_of(db, name) for name in tables}
        version = 1 + ("reference_attempts" in has) + ("listed" in has.get("datasets", ()))
        version += ("note" in has.get("replies", ())) + ("consents" in has) + ("logged" in has) + ("run_tags" in has)
    if version > SCHEMA:
        raise StoreError(
            f"{path} was written by a newer rubriclab (store version {version}; this one reads up "
            f"to {SCHEMA}). Update rubriclab or choose another store."
        )
    return int(version)


def _table(db: duckdb.DuckDBPyConnection, name: str) -> Table:
    """A table with its number of rows, counted without reading them."""
    return Table(name, int(db.execute(f"SELECT count(*) FROM {name}").fetchall()[0][0]))


def _parts(db: duckdb.DuckDBPyConnection, table: Table) -> Iterator[Any]:
    """The rows of a table that can be read, as Arrow tables; counted in ``table``.

    By row numbers, which have gaps where rows were deleted.
    """
    last = db.execute(f"SELECT max(rowid) FROM {table.name}").fetchall()[0][0]
    for begin in range(0, -1 if last is None else int(last) + 1, STEP):
        yield from _range(db, table, begin, min(begin + STEP, int(last) + 1))


def _range(db: duckdb.DuckDBPyConnection, table: Table, begin: int, end: int) -> Iterator[Any]:
    """Rows ``begin`` to ``end``: at once, else in smaller ranges, else column by column."""
    try:
        rows = _read(db, table.name, "*", begin, end)
    except duckdb.Error:
        if end - begin > VECTOR:
            middle = begin + max(VECTOR, (end - begin) // 2 // VECTOR * VECTOR)
            yield from _range(db, table, begin, middle)
            yield from _range(db, table, middle, end)
        else:
            yield from _by_column(db, table, begin, end)
        return
    table.whole += rows.num_rows
    yield rows


def _by_column(db: duckdb.DuckDBPyConnection, table: Table, begin: int, end: int) -> Iterator[Any]:
    names = columns_of(db, table.name)
    good = []
    for name in names:
        try:
            _read(db, table.name, quoted([name]), begin, end)
        except duckdb.Error:
            continue
        good.append(name)
    missing = set(names) - set(good)
    if not good or missing & set(KEYS.get(table.name, names)):
        counted = f"SELECT count(*) FROM {table.name} WHERE rowid >= ? AND rowid < ?"
        table.lost += int(db.execute(counted, [begin, end]).fetchall()[0][0])
        return
    rows = _read(db, table.name, quoted(good), begin, end)
    table.partly += rows.num_rows
    table.columns |= missing
    yield rows


def _read(db: duckdb.DuckDBPyConnection, table: str, columns: str, begin: int, end: int) -> Any:
    asked = f"SELECT {columns} FROM {table} WHERE rowid >= ? AND rowid < ?"
    return db.sql(asked, params=[begin, end]).to_arrow_table()


def _save(source: duckdb.DuckDBPyConnection, target: duckdb.DuckDBPyConnection, name: str, report: Report) -> None:
    """Copy what can be read of a table."""
    if name not in tables_of(source):
        report.notes.append(f"The table {name} is missing.")
        return
    try:
        table = _table(source, name)
    except duckdb.Error as fault:
        report.notes.append(f"The table {name} cannot be read at all: {str(fault)[:200]}")
    else:
        report.tables.append(table)
        for part in _parts(source, table):
            insert(target, name, _in_unicode(part) if name in FRAME else part)
    if name == "lab":
        target.execute("DELETE FROM lab")
        target.execute("INSERT INTO lab VALUES (?, ?)", [_version(source, name), now()])


def _forgive(db: duckdb.DuckDBPyConnection, copy: Path, name: str, report: Report) -> None:
    """Let the damaged blocks of a table be read as they are, in the copy, and say so."""
    for _ in range(FORGIVEN):
        try:
            db.sql(f"SELECT * FROM {name}").to_arrow_table()
        except duckdb.Error as fault:
            if not accept_block(copy, fault):
                return
            summary = f"The table {name} was read although a block of it is damaged: look it over."
            if summary not in report.notes:
                report.notes.append(summary)
        else:
            return


def _in_unicode(rows: Any) -> Any:
    """Texts of a damaged block as texts: what is no UTF-8 in them becomes U+FFFD."""
    for place, kind in enumerate(rows.schema.types):
        if kind in (pa.string(), pa.large_string(), pa.string_view()):
            raw = rows.column(place).cast(pa.binary()).to_pylist()
            texts = [None if text is None else text.decode("utf-8", "replace") for text in raw]
            rows = rows.set_column(place, rows.field(place).name, pa.array(texts, pa.string()))
    return rows


def _make_consistent(store: Store) -> list[str]:
    """A judgment needs its reply's key and a reply its judgment, or going on would double one."""
    same = "o.run_no = t.run_no AND o.call = t.call"
    alone = "FROM {} t WHERE NOT EXISTS (SELECT 1 FROM {} o WHERE " + same + ")"
    with store._transaction() as db:
        lonely, words = alone.format("judgments", "replies"), alone.format("replies", "judgments")
        unkeyed = int(db.execute(f"SELECT count(*) {lonely}").fetchall()[0][0])
        unread = int(db.execute(f"SELECT count(*) {words}").fetchall()[0][0])
        db.execute(f"DELETE {lonely}")
        db.execute(f"INSERT INTO superseded SELECT t.* {words}")
        db.execute(f"DELETE {words}")
        db.execute("DELETE FROM runs WHERE run IS NULL OR run_no IS NULL")
        for table, named in INSTEAD.items():
            for column, value in named.items():
                db.execute(f"UPDATE {table} SET {column} = {value} WHERE {column} IS NULL")
    summary = []
    if unkeyed:
        summary.append(f"{many(unkeyed, 'judgment')} whose replies are lost were left out.")
    if unread:
        summary.append(f"{many(unread, 'reply')} whose judgments are lost were put with the superseded ones.")
    return summary


def _unlocked(path: str) -> None:
    """Raises StoreError while another process has the store open."""
    try:
        open_file(path, read_only=True).db.close()
    except StoreInUse:
        raise
    except StoreError:
        return


def _look_beside(report: Report) -> None:
    """Count the journals beside a store, and name what was set aside."""
    source = store_path(report.path)
    for paths in left_behind(source).values():
        for path in paths:
            for value in read_journal(path):
                if isinstance(value, Unread):
                    report.journal_unread += 1
                else:
                    report.journal_records += 1
    if aside := files_aside(source):
        report.notes.append(f"Beside it lies what could not be kept in it: {', '.join(p.name for p in aside)}.")
