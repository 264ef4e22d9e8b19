"""One run's writer: judgments from any thread, committed in batches."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from rubriclab.model import Judgment, Ordering
from rubriclab.store.faults import StoreError, store_error
from rubriclab.store.journal import line_of
from rubriclab.store.lab import Store
from rubriclab.store.recovery import Aside, commit_in_parts
from rubriclab.store.rows import REPLY_KEY, Batch, Record, outcome_row, reply_row
from rubriclab.store.schema import COMMIT_SECONDS

MOST_ASIDE = 20
"""So many replies that no database takes are no chance any more: the run had better pause."""


class RunWriter:
    """Takes judgments from any thread and commits them in batches on a thread of its own.

    What was put is in the run's journal when :meth:`put` returns, so a killed process loses
    nothing. A batch that cannot be committed is kept and tried again by :meth:`flush`, by
    :meth:`close` or by the run's next writer; until then :meth:`put` raises StoreError, so
    that a run pauses instead of asking for what cannot be kept. A judgment that is itself the
    reason is set aside in a file beside the store (:attr:`aside` says so), the rest goes on.
    ``committed`` counts the judgments that are in the database. As a context manager it closes
    itself.

    Raises StoreError for a run that has a writer already.
    """

    def __init__(self, store: Store, run: str) -> None:
        self._store = store
        self.run = store.run(run).run
        self._number = store.run(run).run_no
        self._lock = threading.Condition()
        self._fault: StoreError | None = None
        self._dead: StoreError | None = None
        self._writing = self._hurry = self._closed = False
        self._parts: list[Batch] = []
        self.committed = 0
        self._codes, self._next_call = store._codes_of(self._number)
        self._failed = store.failed_keys(run)
        store._claim(self.run)
        self._moved = store.moved
        self._journal = store._new_journal(self.run)
        self.aside = Aside(store._place(), self.run)
        unsaved = store._unsaved.pop(self.run, Batch())
        self._pending = store._without_kept(self._number, unsaved) if unsaved else unsaved
        if self._pending:
            self._take_up(self._pending)
        self._thread = threading.Thread(target=self._main, name=f"writer {run}", daemon=True)
        self._thread.start()

    def put(self, *judgments: Judgment) -> None:
        """Queue judgments. Raises StoreError while the store cannot be written.

        Also where the run had better ask nothing more, though these judgments are kept: the
        store's file is gone, or one judgment after the other has to be set aside.
        """
        with self._lock:
            begun = bool(self._pending)
            lines = []
            for judgment in judgments:
                new = None
                try:
                    record, new = self._record(judgment)
                    if self._journal is not None:
                        lines.append(line_of(record))
                except Exception as fault:  # whatever it holds, it must not stop the others
                    self._put_aside(judgment, fault)
                else:
                    self._pending.records.append(record)
                if new is not None:  # also without its judgment: later ones may be shown in it
                    self._pending.orderings.append(new)
            try:
                if self._journal is not None:
                    self._journal.write(lines)
            except OSError as fault:  # the journal is full: the database may take them all the same
                self._fault = store_error(self._store.path, fault)
            if self._pending and not begun:
                self._lock.notify_all()
            if trouble := self._trouble():
                raise trouble

    def flush(self) -> None:
        """Wait until all that was put is committed. Raises StoreError where it cannot be."""
        with self._lock:
            if self._dead is not None:
                raise self._dead
            self._fault, self._hurry = None, True
            self._lock.notify_all()
            while (self._pending or self._writing) and self._fault is None:
                self._lock.wait(1.0)
                if not self._thread.is_alive() and self._fault is None:
                    self._fault = self._dead or _stopped("it was ended from outside")
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
            left = self._pending
            for part in self._parts:  # of a thread that died at work
                left = part.followed_by(left)
            if left:
                self._store._unsaved[self.run] = left
            if self._journal is not None:
                self._journal.close(remove=not left)
                self._journal = None
            self._store._written_now.discard(self.run)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _trouble(self) -> StoreError | None:
        """Why the run should ask nothing more."""
        if self._fault is not None:
            return self._fault
        if self._store.moved is not self._moved:
            return self._store.moved
        if self.aside.replies >= MOST_ASIDE:
            return StoreError(f"{self.aside.notice} The run has paused for that.")
        return None

    def _put_aside(self, judgment: Judgment, fault: Exception) -> None:
        call, reply = judgment.call, judgment.reply
        parts = [call.key, call.arm, call.items, call.read, call.repeat, call.ordering.shown]
        parts += [getattr(reply, name) for name in reply.__slots__]
        try:
            self.aside.put(parts, f"{type(fault).__name__}: {fault}")
        except StoreError as full:
            self._fault = full

    def _take_up(self, left: Batch) -> None:
        """Go on from what an earlier writer could not commit."""
        self._codes.update({ordering: code for code, ordering in left.orderings})
        self._next_call = max(self._next_call, left.replies[-1][1] + 1)
        if self._journal is not None:
            try:
                self._journal.add(*left.records)
            except OSError as fault:
                self._fault = store_error(self._store.path, fault)

    def _record(self, judgment: Judgment) -> tuple[Record, tuple[int, Ordering] | None]:
        """The rows of a judgment, with the next call number; its ordering, where it is new."""
        ordering = judgment.call.ordering
        code = self._codes.get(ordering, len(self._codes))
        number = self._next_call
        outcomes = [outcome_row(self._number, number, code, judgment.call, o) for o in judgment.outcomes]
        reply = reply_row(self._number, number, judgment)
        self._next_call += 1
        new = None if ordering in self._codes else (code, ordering)
        self._codes[ordering] = code
        return ((code, ordering.shown, ordering.labels), outcomes, reply), new

    def _main(self) -> None:
        try:
            self._work()
        except BaseException as fault:  # whoever waits must hear of it, whatever it is
            with self._lock:
                self._dead = self._fault = _stopped(f"{type(fault).__name__}: {fault}")
                self._writing = False
                self._lock.notify_all()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._closed or self._ready())
                if not self._ready():
                    return
                self._lock.wait_for(lambda: self._closed or self._hurry, COMMIT_SECONDS)
                self._parts, self._pending = [self._pending], Batch()
                self._writing = True
                if self._journal is not None:
                    self._journal.turn()
            self._commit_or_keep()

    def _ready(self) -> bool:
        return bool(self._pending) and self._fault is None

    def _commit(self, part: Batch) -> None:
        self._store._commit(self._number, part, self._failed)
        with self._lock:
            self.committed += len(part)
            self._failed.difference_update(row[REPLY_KEY] for row in part.replies)

    def _commit_or_keep(self) -> None:
        """Commit what is in hand; what the store does not take goes back to what is pending."""
        fault = commit_in_parts(self._parts, self._commit, self.aside)
        with self._lock:
            self._writing = False
            for part in self._parts:
                self._pending = part.followed_by(self._pending)
            self._parts = []
            if fault is None:
                self._forget_committed()
            else:
                self._fault = store_error(self._store.path, fault)
            self._lock.notify_all()

    def _forget_committed(self) -> None:
        if self._journal is not None:
            try:
                self._journal.clear_old()
            except OSError as fault:
                self._fault = store_error(self._store.path, fault)


def _stopped(reason: str) -> StoreError:
    return StoreError(
        f"The thread that writes the store has stopped ({reason}). What was received is in the "
        "journal beside the store: go on with the run, or start the lab again, and it is taken in."
    )
