"""One run's writer: judgments from any thread, committed in batches."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from rubriclab.model import (
    Judgment,
)
from rubriclab.store.lab import Store
from rubriclab.store.rows import REPLY_KEY, Batch, Record, outcome_row, reply_row
from rubriclab.store.schema import COMMIT_SECONDS, StoreError, store_error


class RunWriter:
    """Takes judgments from any thread and commits them in batches on a thread of its own.

    What was put is in the run's journal when :meth:`put` returns, so a killed process loses
    nothing. A batch that cannot be committed is kept and tried again by :meth:`flush`, by
    :meth:`close` or by the run's next writer; until then :meth:`put` raises StoreError, so
    that a run pauses instead of asking for what cannot be kept. ``committed`` counts the
    judgments that are in the database. As a context manager it closes itself.

    Raises StoreError for a run that has a writer already.
    """

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self.run = store.run(run).run
        self._number = store.run(run).run_no
        self._lock = threading.Condition()
        self._fault: StoreError | None = None
        self._writing = self._hurry = self._closed = False
        self.committed = 0
        self._codes, self._next_call = store._codes_of(self._number)
        self._failed = store.failed_keys(run)
        store._claim(self.run)
        self._journal = store._new_journal(self.run)
        self._pending = store._unsaved.pop(self.run, Batch())
        if self._pending.replies:
            self._take_up(self._pending)
        self._thread = threading.Thread(target=self._work, name=f"writer {run}", daemon=True)
        self._thread.start()

    def put(self, judgment: Judgment) -> None:
        """Queue a judgment. Raises StoreError while the store cannot be written."""
        with self._lock:
            record = self._record(judgment)
            self._pending.add(*record)
            if self._journal is not None:
                try:
                    self._journal.add(record)
                except OSError as fault:
                    self._fault = store_error(self._store.path, fault)
            if self._fault is not None:
                raise self._fault
            if len(self._pending.replies) == 1:
                self._lock.notify_all()

    def flush(self) -> None:
        """Wait until all that was put is committed. Raises StoreError where it cannot be."""
        with self._lock:
            self._fault, self._hurry = None, True
            self._lock.notify_all()
            while (self._pending.replies or self._writing) and self._fault is None:
                self._lock.wait(1.0)
            self._hurry = False
            if self._fault is not None:
                raise self._fault

    def close(self) -> None:
        """Flush and end the writer's thread. Raises StoreError like :meth:`flush`.

        What cannot be committed then stays with the store, for the run's next writer.
        """
        try:
            self.flush()
        finally:
            with self._lock:
                self._closed = True
                self._lock.notify_all()
            self._thread.join()
            kept = bool(self._pending.replies)
            if kept:
                self._store._unsaved[self.run] = self._pending
            if self._journal is not None:
                self._journal.close(remove=not kept)
                self._journal = None
            self._store._written_now.discard(self.run)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _take_up(self, left: Batch) -> None:
        """Go on from what an earlier writer could not commit."""
        self._codes.update({ordering: code for code, ordering in left.orderings})
        self._next_call = max(self._next_call, left.replies[-1][1] + 1)
        if self._journal is not None:
            try:
                self._journal.add(*left.records())
            except OSError as fault:
                self._fault = store_error(self._store.path, fault)

    def _record(self, judgment: Judgment) -> Record:
        """The rows of a judgment, with the next call number and the ordering's code."""
        ordering = judgment.call.ordering
        code = self._codes.get(ordering)
        fresh = None
        if code is None:
            code = self._codes[ordering] = len(self._codes)
            fresh = (code, ordering.shown, ordering.labels)
        number = self._next_call
        self._next_call += 1
        outcomes = [
            outcome_row(self._number, number, code, judgment.call, o) for o in judgment.outcomes
        ]
        return fresh, outcomes, reply_row(self._number, number, judgment)

    def _work(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._closed or self._ready())
                if not self._ready():
                    return
                self._lock.wait_for(lambda: self._closed or self._hurry, COMMIT_SECONDS)
                batch, self._pending = self._pending, Batch()
                self._writing = True
                if self._journal is not None:
                    self._journal.turn()
            self._commit_or_keep(batch)

    def _ready(self) -> bool:
        return bool(self._pending.replies) and self._fault is None

    def _commit_or_keep(self, batch: Batch) -> None:
        fault: StoreError | None = None
        try:
            self._store._commit(self._number, batch, self._failed)
        except StoreError as trouble:
            fault = trouble
        with self._lock:
            self._writing = False
            if fault is None:
                self.committed += len(batch.replies)
                self._failed.difference_update(row[REPLY_KEY] for row in batch.replies)
                self._forget_committed()
            else:
                self._pending = batch.followed_by(self._pending)
                self._fault = fault
            self._lock.notify_all()

    def _forget_committed(self) -> None:
        if self._journal is not None:
            try:
                self._journal.clear_old()
            except OSError as fault:
                self._fault = store_error(self._store.path, fault)
