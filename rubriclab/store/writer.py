"""Judgments of one run in, from any thread; committed to the store every 0.2 s or 500 answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any, Self

import pyarrow as pa

from rubriclab.model.judgment import Judgment, Ordering
from rubriclab.model.text import LabError, digest, storable
from rubriclab.store.database import Database, insert, now

COMMIT_SECONDS = 0.2
COMMIT_ANSWERS = 500

_INT, _REAL, _TEXT = pa.int64(), pa.float64(), pa.string()


class RunWriter:
    """Takes judgments from any thread and commits them on a thread of its own, each commit one transaction.

    A commit that fails (a full disk) keeps what it had: ``add`` and ``flush`` then raise LabError, so that the run
    pauses; ``flush``, ``close`` or the run's next writer commit it later, and nothing is asked twice. A hard kill
    costs what was added since the last commit. Raises LabError for a run that has a writer already.
    """

    def __init__(self, database: Database, run: int) -> None:
        if run in database.writing:
            raise LabError("This run is being asked already. Pause it there before you go on with it here.")
        self._db, self._run = database, run
        self._lock = threading.Condition()
        self._fault: LabError | None = None
        self._hurry = self._closed = self._committing = False
        self._orderings: dict[tuple[tuple[int | str, ...], tuple[str, ...]], int] = {
            (tuple(json.loads(shown)), tuple(json.loads(labels))): code
            for code, shown, labels in database.rows(
                "SELECT ordering, shown, labels FROM orderings WHERE run = ?", [run]
            )
        }
        ((self._next_call,),) = database.rows("SELECT coalesce(max(call), -1) + 1 FROM calls WHERE run = ?", [run])
        # The first 64 bits of each key: a call answered again makes the answer before it no longer final.
        self._known = {
            int(key[:16], 16) for (key,) in database.rows("SELECT key FROM calls WHERE run = ? AND final", [run])
        }
        database.writing.add(run)
        self._pending: list[Judgment] = database.unsaved.pop(run, [])
        self.committed = 0
        self._thread = threading.Thread(target=self._work, name=f"writer of run {run}", daemon=True)
        self._thread.start()

    def add(self, judgment: Judgment) -> None:
        """Queue a judgment; it is kept even where this raises LabError because the store cannot be written."""
        with self._lock:
            self._pending.append(judgment)
            if len(self._pending) in (1, COMMIT_ANSWERS):
                self._lock.notify_all()
            if self._fault is not None:
                raise self._fault

    def flush(self) -> None:
        """Wait until all that was added is committed. Raises LabError where it cannot be."""
        with self._lock:
            self._fault, self._hurry = None, True
            self._lock.notify_all()
            self._lock.wait_for(lambda: self._fault or not (self._pending or self._committing))
            self._hurry = False
            if self._fault is not None:
                raise self._fault

    def close(self) -> None:
        """Flush and end the thread. What cannot be committed stays for the run's next writer in this process."""
        if self._closed:
            return
        try:
            self.flush()
        finally:
            with self._lock:
                self._closed = True
                self._lock.notify_all()
            self._thread.join()
            if self._pending:
                self._db.unsaved[self._run] = self._pending
            self._db.writing.discard(self._run)
            self._db.checkpoint()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _work(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._closed or (self._pending and self._fault is None))
                if self._closed:
                    return
                self._lock.wait_for(
                    lambda: self._hurry or self._closed or len(self._pending) >= COMMIT_ANSWERS, COMMIT_SECONDS
                )
                batch, self._pending, self._committing = self._pending, [], True
            fault: LabError | None = None
            try:
                self._commit(batch)
            except LabError as error:
                fault = error
            except Exception as error:  # whoever waits must hear of it
                fault = LabError(f"The store did not take {len(batch)} judgments: {error}. The run has paused.")
            with self._lock:
                self._committing = False
                if fault is not None:
                    self._pending, self._fault = batch + self._pending, fault
                else:
                    self.committed += len(batch)
                self._lock.notify_all()

    def _commit(self, batch: Sequence[Judgment]) -> None:
        orderings = dict(self._orderings)
        new: list[Ordering] = []
        again: list[str] = []
        position: dict[str, int] = {}  # of the last answer to a key in this batch
        for k, judgment in enumerate(batch):
            key = judgment.call.key
            if int(key[:16], 16) in self._known:
                again.append(key)
            position[key] = k
            ordering = judgment.call.ordering
            if (ordering.shown, ordering.labels) not in orderings:
                orderings[ordering.shown, ordering.labels] = len(orderings)
                new.append(ordering)
        final = [position[judgment.call.key] == k for k, judgment in enumerate(batch)]
        codes = [orderings[judgment.call.ordering.shown, judgment.call.ordering.labels] for judgment in batch]
        moment = now()
        with self._db.transaction() as cursor:
            if again:
                cursor.execute(
                    "UPDATE calls SET final = false WHERE run = ? AND final AND key IN (SELECT unnest(?))",
                    [self._run, again],
                )
            if new:
                insert(cursor, "orderings", orderings_columns(self._run, len(self._orderings), new))
            insert(cursor, "calls", _calls_of(self._run, self._next_call, batch, final, moment))
            insert(cursor, "judgments", _judgments_of(self._run, self._next_call, batch, codes))
            cursor.execute("UPDATE runs SET revision = revision + 1, changed = ? WHERE run = ?", [moment, self._run])
        self._orderings = orderings
        self._next_call += len(batch)
        self._known.update(int(key[:16], 16) for key in position)


def orderings_columns(run: int, first: int, orderings: Sequence[Ordering]) -> dict[str, Any]:
    """Rows of the table ``orderings``, numbered from ``first``."""
    return {
        "run": [run] * len(orderings),
        "ordering": list(range(first, first + len(orderings))),
        "shown": [json.dumps([_plain(part) for part in ordering.shown]) for ordering in orderings],
        "labels": [json.dumps([_plain(part) for part in ordering.labels]) for ordering in orderings],
    }


def _plain(part: Any) -> Any:
    return storable(part) if isinstance(part, str) else part


def _calls_of(run: int, first: int, batch: Sequence[Judgment], final: list[bool], moment: Any) -> pa.Table:
    replies = [judgment.reply for judgment in batch]

    def numbers(name: str) -> pa.Array:
        return pa.array([_count(getattr(reply, name)) for reply in replies], _INT)

    def texts(name: str) -> pa.Array:
        return pa.array([storable(getattr(reply, name) or "") for reply in replies], _TEXT)

    return pa.table(
        {
            "run": pa.array([run] * len(batch), _INT),
            "call": pa.array(range(first, first + len(batch)), _INT),
            "key": [judgment.call.key for judgment in batch],
            "condition": pa.array([judgment.call.condition for judgment in batch], _INT),
            "status": pa.array([int(judgment.status) for judgment in batch], _INT),
            "attempt": pa.array([min(reply.attempt, 32_767) for reply in replies], _INT),
            "final": final,
            "text": texts("text"),
            "finish": texts("finish"),
            "error": texts("error"),
            "kind": texts("kind"),
            "tokens_in": numbers("tokens_in"),
            "tokens_out": numbers("tokens_out"),
            "cached": numbers("cached"),
            "seconds": pa.array([reply.seconds for reply in replies], _REAL),
            "model": texts("model"),
            "asked": pa.array([moment] * len(batch), pa.timestamp("us")),
            "sent": [digest([dict(message) for message in judgment.call.messages]) for judgment in batch],
            "note": texts("note"),
        }
    )


def _count(value: int | None) -> int | None:
    """A server may claim any count of tokens; the store's columns hold 31 bits."""
    return value if value is not None and 0 <= value < 2**31 else None


def _judgments_of(run: int, first: int, batch: Sequence[Judgment], codes: list[int]) -> pa.Table:
    rows = [
        (first + k, judgment.call, codes[k], outcome)
        for k, judgment in enumerate(batch)
        for outcome in judgment.outcomes
    ]
    return pa.table(
        {
            "run": pa.array([run] * len(rows), _INT),
            "call": pa.array([call for call, _, _, _ in rows], _INT),
            "condition": pa.array([asked.condition for _, asked, _, _ in rows], _INT),
            "item": pa.array([outcome.item for _, _, _, outcome in rows], _INT),
            "ordering": pa.array([code for _, _, code, _ in rows], _INT),
            "slot": pa.array([outcome.slot for _, _, _, outcome in rows], _INT),
            "repeat": pa.array([asked.repeat for _, asked, _, _ in rows], _INT),
            "status": pa.array([int(outcome.status) for _, _, _, outcome in rows], _INT),
            "score": pa.array([outcome.score for _, _, _, outcome in rows], _REAL),
            "position": pa.array([outcome.position or 0 for _, _, _, outcome in rows], _INT),
            "expected": pa.array([outcome.expected for _, _, _, outcome in rows], _REAL),
            "mass": pa.array([outcome.mass for _, _, _, outcome in rows], _REAL),
            "p": pa.array(
                [None if outcome.p is None else list(outcome.p) for _, _, _, outcome in rows], pa.list_(_REAL)
            ),
        }
    )
