"""Keep a run's judgments: take them from any thread, and commit them on a thread of its own.

A commit takes some milliseconds however many rows it has, and longer on a slow disk. So judgments
are committed together, and the run's event loop never waits for the disk.
"""

import json
import threading
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

import pyarrow as pa

from rubriclab.model.judgment import Judgment, Ordering, Outcome
from rubriclab.model.text import LabError, digest, storable
from rubriclab.store.database import Database, insert, now
from rubriclab.store.read import FRACTIONS, WHOLE

COMMIT_SECONDS = 0.2
"""A hard kill costs the replies of this time at most, and a page that counts is not later than
this."""
COMMIT_ANSWERS = 500
"""With fast judges a commit comes after this many replies, so that the rows of one commit stay few
megabytes."""
KEY_DIGITS = 16
"""Hexadecimal digits of a call's key that are kept in memory: 64 bits. A collision among a million
calls has a chance of 3 in 100 million, and costs an UPDATE that changes nothing."""

TEXTS = ("text", "finish", "error", "kind", "model", "note")
COUNTS = ("attempt", "tokens_in", "tokens_out", "cached")
OUTCOME = ("item", "slot", *FRACTIONS, "p", "reader")
# The columns of both tables with their types: a batch may have nothing but None in one, and Arrow
# could not guess its type then.
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
    """The one writer of a run. Each commit is one transaction.

    A commit that fails (a full disk) loses nothing: ``add`` and ``flush`` raise LabError, so that
    the run pauses, and the judgments stay in memory. ``flush``, ``close`` or the run's next writer
    commits them later, so no call is asked twice. A hard kill costs what was added since the last
    commit.

    Raises LabError for a run that has a writer already.
    """

    def __init__(self, database: Database, run: int) -> None:
        if run in database.writing:
            raise LabError(
                "This run is being asked already. Pause it there before you continue it here."
            )
        self._db, self._run = database, run
        # One lock guards all fields below. The writer's thread holds it to take a batch, never
        # while it commits: ``add`` must not wait for the disk.
        self._lock = threading.Condition()
        self._fault: LabError | None = None
        self._hurry = False  # somebody waits in ``flush``
        self._closed = False
        self._committing = False
        self._orderings = self._kept_orderings()
        ((self._next_call,),) = database.rows(
            "SELECT coalesce(max(call), -1) + 1 FROM calls WHERE run = ?", [run]
        )
        keys = database.rows("SELECT key FROM calls WHERE run = ? AND final", [run])
        self._known = {_short(key) for (key,) in keys}
        # From here on nothing may raise: a run that is marked as written needs its writer.
        database.writing.add(run)
        self._pending: list[Judgment] = database.unsaved.pop(run, [])
        self._thread = threading.Thread(target=self._work, name=f"writer of run {run}", daemon=True)
        self._thread.start()

    def _kept_orderings(self) -> dict[Ordering, int]:
        """Return the number of each ordering that the run has."""
        rows = self._db.rows(
            "SELECT shown, labels FROM orderings WHERE run = ? ORDER BY ordering", [self._run]
        )
        return {
            Ordering(tuple(json.loads(shown)), tuple(json.loads(labels))): number
            for number, (shown, labels) in enumerate(rows)
        }

    def add(self, judgment: Judgment) -> None:
        """Queue a judgment.

        Raises LabError if the store cannot be written. The judgment is kept all the same.
        """
        with self._lock:
            self._pending.append(judgment)
            # The writer's thread waits for a first judgment, then for a full batch. Between these
            # there is nothing for it to do.
            if len(self._pending) in (1, COMMIT_ANSWERS):
                self._lock.notify_all()
            if self._fault is not None:
                raise self._fault

    def flush(self) -> None:
        """Wait until all that was added is committed. Raises LabError if it cannot be."""
        with self._lock:
            self._fault, self._hurry = None, True  # one more attempt, at once
            self._lock.notify_all()
            self._lock.wait_for(lambda: self._fault or not (self._pending or self._committing))
            self._hurry = False
            if self._fault is not None:
                raise self._fault

    def close(self) -> None:
        """Flush, and end the thread.

        What cannot be committed stays for the run's next writer in this process.
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

    # ------------------------------------------------------------ the writer's own thread

    def _work(self) -> None:
        while True:
            batch = self._next_batch()
            if batch is None:
                return
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
                    # Back to the front, so that what was answered first is committed first. With a
                    # fault noted this thread rests until ``flush`` asks for another attempt.
                    self._pending, self._fault = batch + self._pending, fault
                self._lock.notify_all()

    def _next_batch(self) -> list[Judgment] | None:
        """Wait for judgments and take them; return None when the writer is closed."""
        with self._lock:
            self._lock.wait_for(lambda: self._closed or (self._pending and self._fault is None))
            if self._closed:
                return None
            # More may come soon, and a commit costs the same for one as for many.
            self._lock.wait_for(
                lambda: self._hurry or self._closed or len(self._pending) >= COMMIT_ANSWERS,
                COMMIT_SECONDS,
            )
            batch, self._pending, self._committing = self._pending, [], True
            return batch

    def _commit(self, batch: Sequence[Judgment]) -> None:
        """Keep a batch in one transaction: orderings, calls and judgments, or none of them."""
        orderings, moment = dict(self._orderings), now()
        # Of several replies to one call in a batch the last is the final one.
        last = {judgment.call.key: number for number, judgment in enumerate(batch)}
        again = [key for key in last if _short(key) in self._known]
        calls: list[dict[str, Any]] = []
        judgments: list[dict[str, Any]] = []
        for number, judgment in enumerate(batch):
            ids = {
                "run": self._run,
                "call": self._next_call + number,
                "condition": judgment.call.condition,
            }
            final = last[judgment.call.key] == number
            calls.append(ids | _call_columns(judgment, final=final, moment=moment))
            ids["ordering"] = orderings.setdefault(judgment.call.ordering, len(orderings))
            ids["repeat"] = judgment.call.repeat
            judgments += [ids | _outcome_columns(outcome) for outcome in judgment.outcomes]
        new = list(orderings)[len(self._orderings) :]
        with self._db.transaction() as cursor:
            if again:
                cursor.execute(
                    """
                    UPDATE calls
                    SET final = false
                    WHERE run = ? AND final AND key IN (SELECT unnest(?))
                    """,
                    [self._run, again],
                )
            if new:
                insert(cursor, "orderings", orderings_columns(self._run, len(self._orderings), new))
            insert(cursor, "calls", pa.Table.from_pylist(calls, CALLS))
            insert(cursor, "judgments", pa.Table.from_pylist(judgments, JUDGMENTS))
            cursor.execute(
                "UPDATE runs SET revision = revision + 1, changed = ? WHERE run = ?",
                [moment, self._run],
            )
        # Only after the commit: a failed one is tried again with the same numbers.
        self._orderings = orderings
        self._next_call += len(batch)
        self._known.update(_short(key) for key in last)


def _short(key: str) -> int:
    """Return the first 64 bits of a call's key, which tell calls apart in memory."""
    return int(key[:KEY_DIGITS], 16)


def _call_columns(judgment: Judgment, *, final: bool, moment: datetime) -> dict[str, Any]:
    """Return the columns of a call, without its numbers."""
    call, reply = judgment.call, judgment.reply
    texts = {name: storable(getattr(reply, name) or "") for name in TEXTS}
    counts = {name: getattr(reply, name) for name in COUNTS}
    return {
        **texts,
        **counts,
        "key": call.key,
        "status": int(judgment.status),
        "final": final,
        "seconds": reply.seconds,
        "asked": moment,
        "sent": digest([dict(message) for message in call.messages]),
    }


def _outcome_columns(outcome: Outcome) -> dict[str, Any]:
    """Return the columns of what one item got, without its numbers."""
    columns = {name: getattr(outcome, name) for name in OUTCOME}
    columns["status"] = int(outcome.status)
    columns["position"] = outcome.position or 0
    columns["why"] = storable(outcome.why) or None
    columns["form"] = outcome.form or None
    return columns


def orderings_columns(run: int, first: int, orderings: Sequence[Ordering]) -> dict[str, Any]:
    """Return rows of the table ``orderings``, as columns, numbered from ``first``."""

    def listed(parts: Sequence[int | str]) -> str:
        return json.dumps([storable(part) if isinstance(part, str) else part for part in parts])

    return {
        "run": [run] * len(orderings),
        "ordering": list(range(first, first + len(orderings))),
        "shown": [listed(ordering.shown) for ordering in orderings],
        "labels": [listed(ordering.labels) for ordering in orderings],
    }
