"""The store itself: opened, brought up to date, and written to by the writers of its runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb

from rubriclab.model import Ordering
from rubriclab.model.language import msg, tr
from rubriclab.store.faults import StoreError, store_error
from rubriclab.store.journal import Journal, left_behind
from rubriclab.store.judgments import Judgments
from rubriclab.store.objects import ordering_of, orderings_frame
from rubriclab.store.opening import MEMORY
from rubriclab.store.recovery import Aside, commit_in_parts, files_aside, journal_batch
from rubriclab.store.rows import JUDGMENT_SCHEMA, REPLY_KEY, REPLY_SCHEMA, Batch, arrow, insert, supersede
from rubriclab.store.schema import MIGRATIONS, SCHEMA


class Store(Judgments):
    """An open store. Use as a context manager, or call :meth:`close`.

    Raises StoreError where the file is open in another process, is not a store, is damaged,
    comes from a newer rubriclab or cannot be read. Where it cannot be written, or with
    ``read_only``, it is open for reading alone: every change raises ReadOnlyStore.
    ``":memory:"`` gives a store without a file.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        super().__init__(path, read_only=read_only)
        self._unsaved: dict[str, Batch] = {}
        try:
            self._migrate()
            if not self.read_only:
                self._mark_interrupted()
                self._commit_journals()
            self._notice_files_beside()
        except duckdb.Error as fault:
            self.close()
            raise store_error(self.path, fault) from fault
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _migrate(self) -> None:
        tables = {name for (name,) in self._rows("SELECT table_name FROM duckdb_tables()")}
        if tables and "lab" not in tables:
            raise StoreError(
                tr("{path} is a DuckDB file but not a rubriclab store. Choose another file.", path=self.path)
            )
        version = self._one("SELECT max(schema_version) FROM lab") if tables else 0
        if version > SCHEMA:
            raise StoreError(
                tr(
                    "{path} was written by a newer rubriclab (store version {version}; this one reads up to "
                    "{newest}). Update rubriclab or choose another store.",
                    path=self.path,
                    version=version,
                    newest=SCHEMA,
                )
            )
        if self.read_only and version < SCHEMA:
            raise StoreError(
                tr(
                    "{path} was written by an older rubriclab and has to be brought up to date, but it can only be "
                    "read here. Copy it to a folder that can be written to, and open the copy.",
                    path=self.path,
                )
            )
        for step in MIGRATIONS[version:]:
            with self._transaction() as db:
                step(db)

    def _commit_journals(self) -> None:
        """Commit what a killed process had received but not committed.

        What is no record of a run of this store is kept beside it, and said.
        """
        place = self._place()
        for run, paths in left_behind(place).items() if place else ():
            aside = Aside(place, run)
            known = self._rows("SELECT run_no FROM runs WHERE run = ?", [run])
            if known:
                self._commit_journals_of(run, int(known[0][0]), paths, aside)
            else:
                for path in paths:
                    if path.stat().st_size:
                        aside.put_bytes(path.read_bytes())
            for path in paths:
                path.unlink()
            if aside.notice and known:
                with self._transaction() as db:
                    db.execute(
                        "UPDATE runs SET reason = concat_ws('. ', nullif(reason, ''), ?) WHERE run = ?",
                        [aside.notice, run],
                    )

    def _commit_journals_of(self, run: str, number: int, paths: Sequence[Path], aside: Aside) -> None:
        """Commit a run's journals. Raises StoreError where the store takes nothing."""
        codes, _ = self._codes_of(number)
        batch = journal_batch(paths, number, codes, aside)
        left = self._without_kept(number, batch)
        failed = self.failed_keys(run)
        fault = commit_in_parts([left] if left else [], lambda part: self._commit(number, part, failed), aside)
        if fault is not None:
            raise store_error(self.path, fault) from fault

    def _without_kept(self, run_no: int, batch: Batch) -> Batch:
        """What of a batch is not in the database yet."""
        calls = self._rows(
            "SELECT call FROM replies WHERE run_no = ? UNION ALL SELECT call FROM superseded WHERE run_no = ?",
            [run_no, run_no],
        )
        codes, _ = self._codes_of(run_no)
        return batch.without({call for (call,) in calls}, set(codes.values()))

    def _notice_files_beside(self) -> None:
        """Say which files beside the store hold what is not in it."""
        place = self._place()
        if place is None:
            return
        if kept := files_aside(place):
            self.notices.append(
                "Beside the store lie replies that could not be kept in it: "
                f"{', '.join(path.name for path in kept)}. Nothing in them is shown."
            )
        waiting = [path for paths in left_behind(place).values() for path in paths]
        if self.read_only and any(path.stat().st_size for path in waiting):
            self.notices.append(
                msg(
                    "Beside the store lie journals with replies that are not in it yet; they are taken in when it is "
                    "opened where it can be written."
                )
            )

    def _place(self) -> Path | None:
        return None if self.path == MEMORY else Path(self.path).expanduser()

    def _codes_of(self, run_no: int) -> tuple[dict[Ordering, int], int]:
        """The committed orderings of a run with their codes, and its next call number."""
        rows = self._rows("SELECT shown, labels, ordering FROM orderings WHERE run_no = ?", [run_no])
        last = "SELECT max(call) AS call FROM {} WHERE run_no = ?"
        following = self._one(
            f"SELECT coalesce(max(call), -1) + 1 FROM ({last.format('replies')} UNION ALL {last.format('superseded')})",
            [run_no, run_no],
        )
        return {ordering_of(shown, labels): code for shown, labels, code in rows}, following

    def _claim(self, run: str) -> None:
        with self._write_lock:
            if run in self._written_now:
                raise StoreError(tr("Run “{run}” is being judged right now; pause it first.", run=run))
            self._written_now.add(run)

    def _new_journal(self, run: str) -> Journal | None:
        place = self._place()
        if place is None:
            return None
        try:
            return Journal(place, run)
        except OSError as fault:
            self._written_now.discard(run)
            raise store_error(self.path, fault) from fault

    def _commit(self, run_no: int, batch: Batch, failed: set[str]) -> None:
        """Write a batch in one transaction; a reply to a failed call takes its old place."""
        again = [row[REPLY_KEY] for row in batch.replies if row[REPLY_KEY] in failed]
        judgments = arrow(batch.outcomes, JUDGMENT_SCHEMA)
        replies = arrow(batch.replies, REPLY_SCHEMA)
        with self._transaction() as db:
            if again:
                supersede(db, run_no, again)
            if batch.orderings:
                codes, fresh = zip(*batch.orderings, strict=True)
                insert(db, "orderings", orderings_frame(run_no, codes, fresh))
            insert(db, "replies", replies)
            insert(db, "judgments", judgments)

    def _mark_interrupted(self) -> None:
        with self._transaction() as db:
            db.execute("UPDATE runs SET state = 'interrupted', reason = 'the lab was stopped' WHERE state = 'running'")
