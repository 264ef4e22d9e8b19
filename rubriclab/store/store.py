"""Keep data sets, rubrics and runs in one DuckDB file: the store of pages, commands and notebooks.

``Store`` adds to ``Reader`` what changes the file. Every change is one transaction and raises the
run's ``revision``, so that caches notice it.
"""

import json
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from functools import partial
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any, Self
from weakref import finalize

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from rubriclab.core.judgments import Judgments
from rubriclab.core.looks import is_over
from rubriclab.data.limits import user_path
from rubriclab.model.consent import Consent
from rubriclab.model.data import DataSet, Item
from rubriclab.model.judgment import (
    ITEM_COLUMNS,
    JUDGMENT_COLUMNS,
    LENGTHS,
    Condition,
    JudgmentTable,
)
from rubriclab.model.looks import RunLooks
from rubriclab.model.study import ReadingPart, validated
from rubriclab.model.text import LabError, digest, shorten, storable
from rubriclab.store.database import (
    WAIT_SECONDS,
    DamagedLog,
    StoreInUse,
    insert,
    now,
    open_database,
    recover,
    waiting_for,
)
from rubriclab.store.machine import sealed
from rubriclab.store.read import CALL_COLUMNS, JUDGE_WORDS, RATED, READING, TEXTS, Reader
from rubriclab.store.sharing import NotShared, copy_from_holder, runs_of_holder
from rubriclab.store.writer import RunWriter, orderings_columns

STATES = ("planned", "running", "paused", "cancelled", "interrupted", "finished", "failed")
BODY = (*TEXTS, "columns", "ratings")
"""Fields of an item that a data set keeps as one JSON value."""
NAMES = ("item_id", "criterion", "block", "prompt", "candidate", "task")
"""Fields of an item that a data set keeps as columns."""
ITEM_TEXTS = (*ITEM_COLUMNS[:-1], "unit_text")
"""Columns of a run's items that hold texts: all but the ratings."""
RUN_TABLES = ("judgments", "calls", "orderings", "run_items", "conditions", "runs")
MOST_NAME = 200
"""Characters of a run's name."""
DELETED = "This run was deleted, and its ratings with it."
# Probabilities as lists: NULL if nothing is known, without the NaN that fill up shorter lists.
LISTS = "nullif(list_filter(p::REAL[], lambda share: NOT isnan(share)), []) AS p"


Told = Callable[[str], None]
"""Hears, as a sentence, what is being waited for."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer written to earn ``score``, and what became of it.

    task: names instruction and criterion.
    attempt: from 1.
    status: accepted, rejected (another score, or cut off), unparsed (the review names no score) or
        failed.
    verdict: the reviewer's score.
    reason: why it was not accepted, as a text.
    """

    task: str
    score: int
    attempt: int
    writer: str
    reviewer: str
    status: str = "failed"
    verdict: int | None = None
    text: str = ""
    review: str = ""
    reason: str = ""


ATTEMPT = ", ".join(part.name for part in fields(Attempt))


class Store(Reader):
    """One DuckDB file. Threads may share a store; one process at a time can write it."""

    _copy: Callable[[], object] | None = None
    """Removes the copy that this store reads, if it does."""

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> Self:
        """Open the store in a file. A new file is made by the first thing that is kept in it.

        Runs that a dead process left running become interrupted, or finished where their last look
        has the answer. Raises LabError that says what to do.
        """
        store = cls(open_database(path, read_only=read_only))
        if store._db.users == 1:
            # Only the first opening in this process: later ones find runs that this process runs.
            for id in store._db.end_dead_runs():
                with suppress(Exception):  # whatever is wrong with a run, the store has to open
                    if store._is_over(id):
                        store.set_state(id, "finished")
        return store

    def _is_over(self, id: str) -> bool:
        """Return whether a run was killed after a batch whose look has the answer."""
        table = self.table(id)
        if table.looks is None or table.rows.empty:
            return False
        reading = validated(ReadingPart, dict(table.reading), "")
        return is_over(Judgments(table, reading.unit), reading.smallest)

    @classmethod
    def open_when_free(cls, path: str | Path, *, told: Told | None = None) -> Self:
        """Open a store like ``open``, and wait up to WAIT_SECONDS for a process that has it.

        told: hears once for whom it waits. Raises StoreInUse if the file does not become free.
        """
        return waiting_for(partial(cls.open, path), WAIT_SECONDS, _hearing(told, path))

    @classmethod
    def open_to_read(cls, path: str | Path, *, told: Told | None = None) -> Self:
        """Open a store for reading only, also while another process writes it.

        Then a copy of this moment is read, which ends with the store. Where none can be had, it
        waits like ``open_when_free``. Raises StoreInUse with the reason.
        """
        return waiting_for(partial(cls._open_or_copy, path), WAIT_SECONDS, _hearing(told, path))

    @classmethod
    def _open_or_copy(cls, path: str | Path) -> Self:
        """Open a store for reading, or a copy of it. Raises StoreInUse if there is neither now."""
        try:
            return cls.open(path, read_only=True)
        except StoreInUse as fault:
            try:
                return cls._open_copy(path)
            except NotShared as reason:
                error = StoreInUse(f"{fault} {reason}")
                error.process = fault.process
                raise error from None

    @classmethod
    def _open_copy(cls, path: str | Path) -> Self:
        """Open a copy of a store that another process holds. Raises NotShared."""
        held = str(user_path(path).resolve())
        folder = Path(mkdtemp(prefix="rubriclab-"))
        try:
            copy = copy_from_holder(held, folder)
            store = cls(open_database(copy, read_only=True))
        except BaseException:
            rmtree(folder, ignore_errors=True)
            raise
        # The copy has no name from here on where the system allows it: a killed command leaves
        # nothing but an empty folder.
        if os.name == "posix":
            for part in (copy, Path(f"{copy}.wal")):
                part.unlink(missing_ok=True)
        store._copy = finalize(store, rmtree, folder, ignore_errors=True)
        store._db.copied, store._db.path = True, held
        return store

    def share(self) -> None:
        """Let this user's commands read the store while this process has it open."""
        self._db.share()

    def rest_when_idle(self) -> None:
        """Give the file free whenever nobody has used it for two seconds."""
        self._db.rest_when_idle()

    @classmethod
    def save_copy(cls, path: str | Path, target: str | Path) -> int | None:
        """Write a whole copy of a store; of one with a damaged log what precedes the damage.

        Returns None for a whole copy, else the byte at which the log was cut. The store itself
        stays as it is. Raises LabError.
        """
        try:
            with cls.open_to_read(path) as store:
                store.backup(target)
        except DamagedLog:
            return recover(path, target)
        return None

    def close(self) -> None:
        self._db.close()
        if self._copy is not None:
            self._copy()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def backup(self, path: str | Path) -> Path:
        """Write a whole copy of the store as of now, while runs go on."""
        return self._db.backup(path)

    def checkpoint(self) -> None:
        self._db.checkpoint()

    # ---- data sets

    def save_dataset(self, dataset: DataSet) -> str:
        """Keep a data set, and return its ID: a hash of its texts and ratings.

        The same data set is kept once, however many runs have it.
        """
        items = dataset.items
        key = digest(dataset.id, [dict(item.ratings) for item in items])[:32]
        if self._db.rows("SELECT 1 FROM datasets WHERE dataset = ?", [key]):
            return key
        columns = {name: [getattr(item, name) for item in items] for name in NAMES}
        names = pd.DataFrame(columns, dtype=object)
        texts = [
            {name: getattr(item, name) for name in BODY if getattr(item, name)} for item in items
        ]
        with self._db.transaction() as cursor:
            _insert_dataset(cursor, key, dataset.name, dataset.origin, names, texts)
        return key

    def dataset(self, key: str) -> DataSet:
        """Return a data set by its ID. Raises LabError for one that is not kept."""
        head = self._db.rows("SELECT name, origin FROM datasets WHERE dataset = ?", [key])
        if not head:
            raise LabError(f"The store has no data set “{shorten(key)}”. Upload it again.")
        ((name, origin),) = head
        rows = self._db.rows(
            f"SELECT {', '.join(NAMES)}, texts FROM items WHERE dataset = ? ORDER BY item", [key]
        )
        items = []
        for *names, texts in rows:
            body = {"response": ""} | json.loads(texts)
            items.append(Item(**dict(zip(NAMES, names, strict=True)), **body))
        return DataSet(name, tuple(items), origin)

    # ---- what the user has agreed to

    def agree(self, consents: Iterable[Consent]) -> None:
        """Keep that the user agrees to sending these keys to these addresses. Raises LabError."""
        known = self.consents()
        new = [consent for consent in dict.fromkeys(consents) if consent not in known]
        if not new:
            return
        with self._db.transaction() as cursor:
            for variable, address in new:
                seal = sealed("consent", variable, address)
                body = {"variable": variable, "address": address, "seal": seal}
                key = digest("consent", variable, address)[:32]
                # One that is there has another machine's seal: this one's takes its place.
                _put_object(cursor, "consent", key, body, variable)

    # ---- reference answers

    def reference_attempts(self, job: str) -> list[Attempt]:
        """Return what a job has tried so far, in the order of trying."""
        rows = self._db.rows(
            f"SELECT {ATTEMPT} FROM reference_attempts WHERE job = ? ORDER BY asked, attempt", [job]
        )
        return [Attempt(*row) for row in rows]

    def keep_attempt(self, job: str, attempt: Attempt) -> None:
        """Commit one attempt at a reference answer. Raises LabError if it cannot be kept."""
        values = [
            storable(value) if isinstance(value, str) else value for value in astuple(attempt)
        ]
        marks = ", ".join("?" * (len(values) + 2))
        sql = f"INSERT INTO reference_attempts (job, {ATTEMPT}, asked) VALUES ({marks})"
        with self._db.transaction() as cursor:
            cursor.execute(sql, [job, *values, now()])

    # ---- runs

    def create_run(
        self,
        *,
        name: str,
        study: Mapping[str, Any],
        identity: str,
        conditions: Sequence[Condition],
        planned: Sequence[int] | np.ndarray,
        items: pd.DataFrame,
        dataset_id: str = "",
        made_with: Mapping[str, Any] | None = None,
        state: str = "planned",
        id: str = "",
        looks: RunLooks | None = None,
    ) -> str:
        """Keep a new run and return its ID, or return that of the run with the same identity.

        Args:
            items: the run's items: ITEM_COLUMNS, ``unit_text`` and, if known, ``source``, the
                number of the item in the data set that holds its texts.
            id: taken if it is free.
            looks: when the run is looked at before its end.

        A name that is in use gets a number: “name 2”.
        """
        with self._db.transaction() as cursor:
            known = cursor.execute("SELECT id FROM runs WHERE identity = ?", [identity]).fetchall()
            if known:
                return str(known[0][0])
            taken = {str(row[0]) for row in cursor.execute("SELECT id FROM runs").fetchall()}
            key = id if id and id not in taken else secrets.token_hex(6)
            ((number,),) = cursor.execute("SELECT coalesce(max(run), 0) + 1 FROM runs").fetchall()
            moment = now()
            row = {
                "run": number,
                "id": key,
                "name": self._free_name(cursor, name),
                "identity": identity,
                "dataset": dataset_id,
                "study": _json(study),
                "made_with": _json(made_with or {}),
                "state": state,
                "reason": "",
                "planned": int(sum(planned)),
                "revision": 1,
                "created": moment,
                "changed": moment,
                "token": secrets.token_hex(16),
                "looks": _json(looks.document()) if looks is not None else None,
            }
            marks = ", ".join("?" * len(row))
            cursor.execute(
                f"INSERT INTO runs ({', '.join(row)}) VALUES ({marks})", list(row.values())
            )
            _insert_conditions(cursor, number, conditions, planned)
            _insert_items(cursor, number, items)
        return key

    def _free_name(self, cursor: duckdb.DuckDBPyConnection, name: str, but: int = -1) -> str:
        """Return the name, or with a number behind it if another run has it.

        ``but``: the number of a run whose own name does not count.
        """
        wanted = " ".join(storable(name).split())[:MOST_NAME] or "Run"
        rows = cursor.execute("SELECT name FROM runs WHERE run <> ?", [but]).fetchall()
        taken = {row[0] for row in rows}
        free, number = wanted, 1
        while free in taken:
            number += 1
            free = f"{wanted} {number}"
        return free

    def set_state(self, id: str, state: str, reason: str = "") -> None:
        """Keep a run's state, one of STATES, with its reason.

        At a pause and at the end the log is taken into the file. Raises LabError if the state
        cannot be kept (a full disk); it is then shown as long as this process lives.
        """
        if state not in STATES:
            raise LabError(f"Unknown state “{shorten(state)}”. Use one of {', '.join(STATES)}.")
        self._db.unsaved_states[id] = state, reason
        try:
            with self._db.transaction() as cursor:
                cursor.execute(
                    """
                    UPDATE runs
                    SET state = ?, reason = ?, changed = ?, revision = revision + 1
                    WHERE id = ?
                    """,
                    [state, storable(reason), now(), id],
                )
        except LabError as fault:
            if state == "finished":
                # All is answered, but the file does not say so. Resuming writes it.
                self._db.unsaved_states[id] = "paused", str(fault)
            raise
        self._db.unsaved_states.pop(id, None)
        if state not in ("planned", "running"):
            self.checkpoint()

    def keep_made_with(self, id: str, facts: Mapping[str, Any]) -> None:
        """Add to what is known of a run's making. A fact of the same name is replaced."""
        known = self.made_with(id) | dict(facts)
        with self._db.transaction() as cursor:
            cursor.execute(
                "UPDATE runs SET made_with = ?, revision = revision + 1 WHERE id = ?",
                [_json(known), id],
            )

    def rename(self, id: str, name: str) -> str:
        """Rename a run, and return the name that was free. Raises LabError for an empty one."""
        if not name.strip():
            raise LabError("The new name is empty, so nothing was changed. Enter a name.")
        info = self.run(id)
        with self._db.transaction() as cursor:
            free = self._free_name(cursor, name, info.number)
            cursor.execute(
                "UPDATE runs SET name = ?, revision = revision + 1 WHERE run = ?",
                [free, info.number],
            )
        return free

    def delete(self, id: str) -> None:
        """Delete a run and its judgments for good, and its data set if no other run has it.

        Raises LabError while it runs.
        """
        info = self.run(id)
        if info.number in self._db.writing:
            raise LabError(f"“{shorten(info.name)}” is running. Pause it before you delete it.")
        with self._db.transaction() as cursor:
            for table in RUN_TABLES:
                cursor.execute(f"DELETE FROM {table} WHERE run = ?", [info.number])
            cursor.execute("DELETE FROM objects WHERE kind = ? AND id = ?", [JUDGE_WORDS, info.id])
            for key in info.dataset.split():
                _delete_dataset(cursor, key)
        # The next run may get this one's number, or come with its ID: nothing of this one may
        # become that one's.
        self._db.unsaved.pop(info.number, None)
        self._db.unsaved_states.pop(info.id, None)
        self.checkpoint()

    def rate(self, id: str, item: int, rater: str, score: float | None) -> float | None:
        """Keep a person's rating of an item, or take it back (None); return the earlier one.

        An earlier rating is not replaced. Raises LabError if the run is gone or nothing can be
        kept.
        """
        with self._db.transaction() as cursor:
            rows = cursor.execute(
                f"SELECT run, ratings {RATED} AND item = ?", [id, item]
            ).fetchall()
            if not rows:
                raise LabError(DELETED)
            ((number, text),) = rows
            ratings = json.loads(text)
            before: float | None = ratings.pop(rater, None)
            if score is not None and before is not None:
                return before
            if score is not None:
                ratings[rater] = float(score)
            cursor.execute(
                "UPDATE run_items SET ratings = ? WHERE run = ? AND item = ?",
                [_json(ratings), number, item],
            )
            cursor.execute("UPDATE runs SET revision = revision + 1 WHERE run = ?", [number])
        return before

    def add_ratings(self, id: str, given: Mapping[int, Mapping[str, float]]) -> int:
        """Keep people's ratings (item, rater, score) of a run, and return how many are new.

        All are kept or none. An earlier rating is not replaced. Raises LabError if the run is gone.
        """
        with self._db.transaction() as cursor:
            rows = cursor.execute(f"SELECT run, item, ratings {RATED}", [id]).fetchall()
            if not rows:
                raise LabError(DELETED)
            before = {item: json.loads(text) for _, item, text in rows if item in given}
            merged = {item: {**given[item], **ratings} for item, ratings in before.items()}
            cursor.execute(
                """
                UPDATE run_items
                SET ratings = new.ratings
                FROM (SELECT unnest(?) AS item, unnest(?) AS ratings) new
                WHERE run = ? AND run_items.item = new.item
                """,
                [list(merged), [_json(ratings) for ratings in merged.values()], rows[0][0]],
            )
            cursor.execute("UPDATE runs SET revision = revision + 1 WHERE id = ?", [id])
        return sum(len(ratings) - len(before[item]) for item, ratings in merged.items())

    def keep_judge_words(self, words: Mapping[str, Mapping[str, Any]]) -> None:
        """Keep what the list of runs says of judges, by run's ID, instead of what was kept before.

        It can be computed again at any time, so a run's revision stays the same.
        """
        with self._db.transaction() as cursor:
            for id, body in words.items():
                _put_object(cursor, JUDGE_WORDS, id, body)

    # ---- judgments

    def set_reader(self, id: str, version: int, keys: Sequence[str]) -> None:
        """Note that this version of the reader makes the same judgments of these final calls."""
        run = self.run(id).number
        with self._db.transaction() as cursor:
            cursor.execute(
                """
                UPDATE judgments
                SET reader = ?
                WHERE run = ? AND call IN (
                    SELECT call
                    FROM calls
                    WHERE run = ? AND final AND key IN (SELECT unnest(?))
                )
                """,
                [version, run, run, list(keys)],
            )
            cursor.execute("UPDATE runs SET revision = revision + 1 WHERE run = ?", [run])

    def writer(self, id: str) -> RunWriter:
        """Return the writer of a run's judgments. Raises LabError if the run has one already."""
        return RunWriter(self._db, self.run(id).number)

    def add_table(
        self,
        table: JudgmentTable,
        calls: pd.DataFrame | None = None,
        study: Mapping[str, Any] | None = None,
        origin: str = "imported",
    ) -> str:
        """Keep a table of judgments as a run of its own, and return the run's ID.

        The same table with the same ratings and prompts is kept once. Texts in ``table.items``
        (response, instruction, reference) and LENGTHS become its data set.

        Args:
            calls: what is known of its calls, as ``Reader.calls`` gives it, if the table itself
                does not say.
            study: the study that it came with.
            origin: where it came from. It must begin with “imported” for a file.
        """
        identity = _identity_of(table)
        if calls is None:
            calls = table.calls
        kept_study = dict(study or {"name": table.name})
        kept_study["reading"] = dict(table.reading) or kept_study.get("reading", {})
        with self._db.transaction() as cursor:
            known = cursor.execute("SELECT id FROM runs WHERE identity = ?", [identity]).fetchall()
            if known:
                return str(known[0][0])
            items, dataset = table.items, ""
            if {"response", *LENGTHS} & {*items}:
                items, dataset = items.assign(source=range(len(items))), identity
                texts = _texts_of(items)
                _insert_dataset(cursor, identity, table.name, origin, items, texts)
            key = self.create_run(
                name=table.name,
                study=kept_study,
                identity=identity,
                conditions=table.conditions,
                items=items,
                planned=table.planned or _calls_by_condition(table),
                dataset_id=dataset,
                made_with=table.made_with,
                state=table.state,
                id=table.run,
                looks=table.looks,
            )
            ((number,),) = cursor.execute("SELECT run FROM runs WHERE id = ?", [key]).fetchall()
            insert(cursor, "orderings", orderings_columns(number, 0, table.orderings))
            _insert_judgments(cursor, number, table)
            if calls is not None and len(calls):
                columns = _arrow(calls, CALL_COLUMNS)
                insert(cursor, "calls", columns, f"{number} AS run, true AS final, *")
        self.checkpoint()
        return key


def _hearing(told: Told | None, path: str | Path) -> Callable[[StoreInUse], None] | None:
    """Return a function that says for whom a store is waited for, and what is going on there."""
    if told is None:
        return None

    def say(fault: StoreInUse) -> None:
        runs = runs_of_holder(str(user_path(path).resolve()))
        names = ", ".join(f"“{shorten(name, 40)}”" for name in runs)
        asking = f", which is asking {names}" if names else ""
        told(f"Waiting up to {WAIT_SECONDS:g} s for {path}: {fault.process} has it{asking}.")

    return say


def _identity_of(table: JudgmentTable) -> str:
    """Return a hash of all that makes a table another run.

    These are its judgments, items, ratings, orders and looks.
    """
    rows = pd.util.hash_pandas_object(table.rows[list(JUDGMENT_COLUMNS)], index=False)
    hashed = int(rows.to_numpy().sum(dtype=np.uint64))  # a sum: the order of rows does not count
    looks = [] if table.looks is None else [table.looks.document()]
    return digest(
        "table",
        hashed,
        len(table.rows),
        [condition.document() for condition in table.conditions],
        [list(map(str, table.items[name])) for name in ITEM_COLUMNS[:-1]],
        [dict(given or {}) for given in table.items["ratings"]],
        [ordering.shown for ordering in table.orderings],
        # Last, and only where there are any: earlier labs had none.
        *(
            [name, [f"{n:g}" if pd.notna(n) else "" for n in table.items[name]]]
            for name in LENGTHS
            if name in table.items and table.items[name].notna().any()
        ),
        *looks,  # only where there are any: other tables keep their hash
    )[:32]


def _calls_by_condition(table: JudgmentTable) -> np.ndarray:
    """Return how many calls of each condition a table has."""
    calls = table.rows.drop_duplicates(["condition", "call"])
    return np.bincount(calls["condition"].to_numpy(), minlength=len(table.conditions))


def _texts_of(items: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the TEXTS of each item that has them, and its LENGTHS among its columns."""
    bodies: list[dict[str, Any]] = [{} for _ in range(len(items))]
    for name in TEXTS:
        if name in items:
            for body, text in zip(bodies, items[name], strict=True):
                if isinstance(text, str):
                    body[name] = text
    for name in LENGTHS:
        if name in items:
            for body, length in zip(bodies, items[name], strict=True):
                if pd.notna(length):
                    body.setdefault("columns", {})[name] = f"{length:g}"
    return bodies


def _insert_conditions(
    cursor: duckdb.DuckDBPyConnection,
    run: int,
    conditions: Sequence[Condition],
    planned: Sequence[int] | np.ndarray,
) -> None:
    number = len(conditions)
    columns = {
        "run": [run] * number,
        "condition": list(range(number)),
        "body": [_json(condition.document()) for condition in conditions],
        "planned": [int(calls) for calls in planned],
    }
    insert(cursor, "conditions", columns)


def _insert_items(cursor: duckdb.DuckDBPyConnection, run: int, items: pd.DataFrame) -> None:
    number = len(items)
    source = pa.nulls(number, pa.int32())
    if "source" in items:
        source = pa.array(items["source"], pa.int32())
    columns = _text_columns(items, ITEM_TEXTS)
    columns["run"] = np.full(number, run)
    columns["item"] = np.arange(number)
    columns["source"] = source
    columns["ratings"] = [_json(given) if given else "{}" for given in items["ratings"]]
    insert(cursor, "run_items", columns)


def _insert_judgments(cursor: duckdb.DuckDBPyConnection, run: int, table: JudgmentTable) -> None:
    rows = _arrow(table.rows, [*JUDGMENT_COLUMNS, *READING])
    if table.probabilities is None:
        insert(cursor, "judgments", rows, f"{run} AS run, *")
        return
    flat = np.ascontiguousarray(table.probabilities, dtype=np.float32).ravel()
    lists = pa.FixedSizeListArray.from_arrays(flat, table.probabilities.shape[1])
    columns = rows.append_column("p", lists)
    insert(cursor, "judgments", columns, f"{run} AS run, * REPLACE ({LISTS})")


def _insert_dataset(
    cursor: duckdb.DuckDBPyConnection,
    key: str,
    name: str,
    origin: str,
    names: pd.DataFrame,
    texts: Sequence[Any],
) -> None:
    """Keep a data set. ``names`` has the columns NAMES, ``texts`` the BODY of each item."""
    cursor.execute(
        "INSERT INTO datasets (dataset, name, origin, created) VALUES (?, ?, ?, ?)",
        [key, storable(name), storable(origin), now()],
    )
    columns = _text_columns(names, NAMES)
    columns["dataset"] = [key] * len(names)
    columns["item"] = list(range(len(names)))
    columns["texts"] = [_json(body) for body in texts]
    insert(cursor, "items", columns)


def _delete_dataset(cursor: duckdb.DuckDBPyConnection, key: str) -> None:
    """Delete a data set and its items, if no run has it any more."""
    for table in ("items", "datasets"):
        cursor.execute(
            f"""
            DELETE FROM {table}
            WHERE dataset = ? AND NOT EXISTS (
                SELECT 1
                FROM runs r
                WHERE list_contains(string_split(r.dataset, ' '), ?)
            )
            """,
            [key, key],
        )


def _arrow(frame: pd.DataFrame, names: Sequence[str]) -> pa.Table:
    """Return those of these columns that a frame has, with NaN as NULL."""
    kept = [name for name in names if name in frame]
    return pa.Table.from_pandas(frame[kept], preserve_index=False)


def _text_columns(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of texts, as they can be kept, with NULL for what is missing."""
    columns = {}
    for name in names:
        cells = [storable(cell) if isinstance(cell, str) else None for cell in frame[name]]
        columns[name] = pa.array(cells, pa.string())
    return columns


def _put_object(
    cursor: duckdb.DuckDBPyConnection, kind: str, id: str, body: Any, name: str = ""
) -> None:
    """Keep an object instead of an earlier one of its kind and ID."""
    cursor.execute("DELETE FROM objects WHERE kind = ? AND id = ?", [kind, id])
    cursor.execute(
        "INSERT INTO objects (kind, id, name, body, created) VALUES (?, ?, ?, ?, ?)",
        [kind, id, storable(name), _json(body), now()],
    )


def _json(value: Any) -> str:
    """Return JSON that DuckDB can keep: no NaN, no lone surrogates."""
    return storable(json.dumps(value, ensure_ascii=False, allow_nan=False, default=str))
