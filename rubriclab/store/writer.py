"""Judgments of one run in, from any thread; rows of the store out, committed every 0.2 s or 500
answers.
"""

import json
import threading
from collections.abc import Sequence
from typing import Any, Self

import pyarrow as pa

from rubriclab.model.judgment import Judgment, Ordering
from rubriclab.model.text import LabError, digest, storable
from rubriclab.store.database import Database, insert, now
from rubriclab.store.read import FRACTIONS, WHOLE

COMMIT_SECONDS = 0.2
COMMIT_ANSWERS = 500

TEXTS = ("text", "finish", "error", "kind", "model", "note")
COUNTS = ("attempt", "tokens_in", "tokens_out", "cached")
OUTCOME = ("item", "slot", *FRACTIONS, "p", "reader")
# The columns of both tables with their types: a batch may have nothing but None in one.
CALLS = pa.schema(
    dict.fromkeys(("run", "call", "condition", "status", *COUNTS), pa.int64())
    | dict.fromkeys(("key", "sent", *TEXTS), pa.string())
    | {"final": pa.bool_(), "seconds": pa.float64(), "asked": pa.timestamp("us")}
)
JUDGMENTS = pa.schema(
    dict.fromkeys(("run", *WHOLE), pa.int64())
    | dict.fromkeys(FRACTIONS, pa.float64())
    | {"p": pa.list_(pa.float64()), "why": pa.string(), "form": pa.string(), "reader": pa.int64()}
)


class RunWriter:
    """Takes judgments from any thread and commits them on a thread of its own, each commit one
    transaction.

    A commit that fails (a full disk) keeps what it had: ``add`` and ``flush`` then raise LabError,
    so that the run pauses; ``flush``, ``close`` or the run's next writer commit it later, and
    nothing is asked twice. A hard kill costs what was added since the last commit. Raises LabError
    for a run that has a writer already.
    """

    def __init__(self, database: Database, run: int) -> None:
        if run in database.writing:
            raise LabError(
                "This run is being asked already. Pause it there before you go on with it here."
            )
        self._db, self._run = database, run
        self._lock = threading.Condition()
        self._fault: LabError | None = None
        self._hurry = self._closed = self._committing = False
        kept = database.rows(
            "SELECT shown, labels FROM orderings WHERE run = ? ORDER BY ordering", [run]
        )
        self._orderings = {
            Ordering(tuple(json.loads(shown)), tuple(json.loads(labels))): code
            for code, (shown, labels) in enumerate(kept)
        }
        ((self._next_call,),) = database.rows(
            "SELECT coalesce(max(call), -1) + 1 FROM calls WHERE run = ?", [run]
        )
        # The first 64 bits of each key: a call answered again makes the answer before it no longer
        # final.
        keys = database.rows("SELECT key FROM calls WHERE run = ? AND final", [run])
        self._known = {int(key[:16], 16) for (key,) in keys}
        database.writing.add(run)
        self._pending: list[Judgment] = database.unsaved.pop(run, [])
        self._thread = threading.Thread(target=self._work, name=f"writer of run {run}", daemon=True)
        self._thread.start()

    def add(self, judgment: Judgment) -> None:
        """Queue a judgment; it is kept even where this raises LabError because the store cannot be
        written.
        """
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
        """Flush and end the thread. What cannot be committed stays for the run's next writer in
        this process.
        """
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
                    lambda: self._hurry or self._closed or len(self._pending) >= COMMIT_ANSWERS,
                    COMMIT_SECONDS,
                )
                batch, self._pending, self._committing = self._pending, [], True
            fault: LabError | None = None
            try:
                self._commit(batch)
            except LabError as error:
                fault = error
            except Exception as error:  # whoever waits must hear of it
                fault = LabError(
                    f"The store did not take {len(batch)} judgments: {error}. The run has paused."
                )
            with self._lock:
                self._committing = False
                if fault is not None:
                    self._pending, self._fault = batch + self._pending, fault
                self._lock.notify_all()

    def _commit(self, batch: Sequence[Judgment]) -> None:
        orderings, moment = dict(self._orderings), now()
        last = {
            judgment.call.key: k for k, judgment in enumerate(batch)
        }  # answers of one key: the last is final
        again = [key for key in last if int(key[:16], 16) in self._known]
        calls: list[dict[str, Any]] = []
        judgments: list[dict[str, Any]] = []
        for k, judgment in enumerate(batch):
            call, reply = judgment.call, judgment.reply
            row = {"run": self._run, "call": self._next_call + k, "condition": call.condition}
            calls.append(
                row
                | {name: storable(getattr(reply, name) or "") for name in TEXTS}
                | {name: getattr(reply, name) for name in COUNTS}
                | {
                    "key": call.key,
                    "status": int(judgment.status),
                    "final": last[call.key] == k,
                    "seconds": reply.seconds,
                    "asked": moment,
                    "sent": digest([dict(message) for message in call.messages]),
                }
            )
            row |= {
                "ordering": orderings.setdefault(call.ordering, len(orderings)),
                "repeat": call.repeat,
            }
            for outcome in judgment.outcomes:
                got = {name: getattr(outcome, name) for name in OUTCOME}
                got |= {"status": int(outcome.status), "position": outcome.position or 0}
                got |= {"why": storable(outcome.why) or None, "form": outcome.form or None}
                judgments.append(row | got)
        with self._db.transaction() as cursor:
            if again:
                cursor.execute(
                    "UPDATE calls SET final = false WHERE run = ? AND final AND key IN (SELECT "
                    "unnest(?))",
                    [self._run, again],
                )
            if new := list(orderings)[len(self._orderings) :]:
                insert(cursor, "orderings", orderings_columns(self._run, len(self._orderings), new))
            insert(cursor, "calls", pa.Table.from_pylist(calls, CALLS))
            insert(cursor, "judgments", pa.Table.from_pylist(judgments, JUDGMENTS))
            cursor.execute(
                "UPDATE runs SET revision = revision + 1, changed = ? WHERE run = ?",
                [moment, self._run],
            )
        self._orderings = orderings
        self._next_call += len(batch)
        self._known.update(int(key[:16], 16) for key in last)


def orderings_columns(run: int, first: int, orderings: Sequence[Ordering]) -> dict[str, Any]:
    """Rows of the table ``orderings``, numbered from ``first``."""

    def listed(parts: Sequence[int | str]) -> str:
        return json.dumps([storable(part) if isinstance(part, str) else part for part in parts])

    return {
        "run": [run] * len(orderings),
        "ordering": list(range(first, first + len(orderings))),
        "shown": [listed(ordering.shown) for ordering in orderings],
        "labels": [listed(ordering.labels) for ordering in orderings],
    }
