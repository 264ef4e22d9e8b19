"""Data sets, rubrics and runs in; the same out by id or name: the store that pages, commands and
notebooks share.
"""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any, Self

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from rubriclab.model.consent import Consent
from rubriclab.model.data import DataSet, Item
from rubriclab.model.judgment import ITEM_COLUMNS, JUDGMENT_COLUMNS, Condition, JudgmentTable
from rubriclab.model.text import LabError, digest, shorten, storable
from rubriclab.store.database import DamagedLog, insert, now, open_database, recover
from rubriclab.store.machine import sealed
from rubriclab.store.read import CALL_COLUMNS, RATED, READING, TEXTS, Reader
from rubriclab.store.writer import RunWriter, orderings_columns

STATES = ("planned", "running", "paused", "cancelled", "interrupted", "finished", "failed")
BODY = (*TEXTS, "columns", "ratings")
NAMES = ("item_id", "criterion", "block", "prompt", "candidate", "task")
# Probabilities as lists: missing where nothing is known, without the NaN that fill up shorter ones.
LISTS = "nullif(list_filter(p::REAL[], lambda share: NOT isnan(share)), []) AS p"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer written to earn ``score`` and what became of it.

    ``task``: names instruction and criterion; ``attempt`` from 1; ``status``: accepted, rejected
    (another score, or cut off), unparsed (the review names none) or failed; ``verdict``: the
    reviewer's score; ``reason`` in words.
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
    """One DuckDB file. Threads may share a store; a second process is refused with the first one's
    PID.
    """

    @classmethod
    def open(cls, path: str | Path, *, read_only: bool = False) -> Self:
        """The store in a file; a new one is made by the first thing that is kept in it.

        Runs that a dead process left running are interrupted. Raises LabError naming what to do.
        """
        store = cls(open_database(path, read_only=read_only))
        first = store._db.users == 1 and not store.read_only
        if first and store._db.rows("SELECT 1 FROM runs WHERE state = 'running'"):
            with store._db.transaction() as cursor:
                cursor.execute(
                    "UPDATE runs SET state = 'interrupted', reason = 'the lab was ended while it "
                    "ran', "
                    "revision = revision + 1 WHERE state = 'running'"
                )
        return store

    @classmethod
    def save_copy(cls, path: str | Path, target: str | Path) -> int | None:
        """A whole copy of a store; of one with a damaged log what stands before the damage. Raises
        LabError.

        Returns None for a whole copy, else the byte at which the log was cut. The store itself
        stays as it is.
        """
        try:
            with cls.open(path, read_only=True) as store:
                store.backup(target)
        except DamagedLog:
            return recover(path, target)
        return None

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def backup(self, path: str | Path) -> Path:
        """A whole copy of the store as of now, while runs go on."""
        return self._db.backup(path)

    def checkpoint(self) -> None:
        self._db.checkpoint()

    # ---- data sets

    def save_dataset(self, dataset: DataSet) -> str:
        """Keep a data set under a hash of its texts and ratings; the same one again is kept once.
        Returns its id.
        """
        items = dataset.items
        key = digest(dataset.id, [dict(item.ratings) for item in items])[:32]
        if not self._db.rows("SELECT 1 FROM datasets WHERE dataset = ?", [key]):
            names = pd.DataFrame(
                {name: [getattr(item, name) for item in items] for name in NAMES}, dtype=object
            )
            texts = [
                {name: getattr(item, name) for name in BODY if getattr(item, name)}
                for item in items
            ]
            with self._db.transaction() as cursor:
                _insert_dataset(cursor, key, dataset.name, dataset.origin, names, texts)
        return key

    def dataset(self, key: str) -> DataSet:
        """A data set by its id. Raises LabError for one that is not kept."""
        head = self._db.rows("SELECT name, origin FROM datasets WHERE dataset = ?", [key])
        if not head:
            raise LabError(f"The store has no data set “{shorten(key)}”. Upload it again.")
        rows = self._db.rows(
            f"SELECT {', '.join(NAMES)}, texts FROM items WHERE dataset = ? ORDER BY item", [key]
        )
        items = [
            Item(**dict(zip(NAMES, names, strict=True)), **({"response": ""} | json.loads(texts)))
            for *names, texts in rows
        ]
        return DataSet(head[0][0], tuple(items), head[0][1])

    # ---- what the user has agreed to

    def agree(self, consents: Iterable[Consent]) -> None:
        """Keep that the user has said yes to sending these keys to these addresses. Raises
        LabError.
        """
        new = [consent for consent in dict.fromkeys(consents) if consent not in self.consents()]
        if not new:
            return
        with self._db.transaction() as cursor:
            for variable, address in new:
                seal = sealed("consent", variable, address)
                body = {"variable": variable, "address": address, "seal": seal}
                key = digest("consent", variable, address)[:32]
                cursor.execute("DELETE FROM objects WHERE kind = 'consent' AND id = ?", [key])
                cursor.execute(
                    "INSERT INTO objects (kind, id, name, body, created) VALUES (?, ?, ?, ?, ?)",
                    ["consent", key, storable(variable), _json(body), now()],
                )

    # ---- reference answers

    def reference_attempts(self, job: str) -> list[Attempt]:
        """What a job has tried so far, in the order of trying."""
        rows = self._db.rows(
            f"SELECT {ATTEMPT} FROM reference_attempts WHERE job = ? ORDER BY asked, attempt", [job]
        )
        return [Attempt(*row) for row in rows]

    def keep_attempt(self, job: str, attempt: Attempt) -> None:
        """Commit one attempt at a reference answer. Raises LabError where it cannot be kept."""
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
    ) -> str:
        """A run's id: a new one's, or that of the run with the same identity, which then goes on.

        ``items``: the run's items, ITEM_COLUMNS, ``unit_text`` and, if known, ``source``: which
        item of the data set holds the texts of each. A name that is in use gets a number: “name 2”.
        """
        with self._db.transaction() as cursor:
            known = cursor.execute("SELECT id FROM runs WHERE identity = ?", [identity]).fetchall()
            if known:
                return str(known[0][0])
            taken = {str(row[0]) for row in cursor.execute("SELECT id FROM runs").fetchall()}
            key = id if id and id not in taken else secrets.token_hex(6)
            ((number,),) = cursor.execute("SELECT coalesce(max(run), 0) + 1 FROM runs").fetchall()
            cursor.execute(
                "INSERT INTO runs (run, id, name, identity, dataset, study, made_with, state, "
                "reason, planned, revision, "
                "created, changed, token) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)",
                [
                    number,
                    key,
                    self._free_name(cursor, name),
                    identity,
                    dataset_id,
                    _json(study),
                    _json(made_with or {}),
                    state,
                    "",
                    int(sum(planned)),
                    now(),
                    now(),
                    secrets.token_hex(16),
                ],
            )
            bodies = [_json(condition.document()) for condition in conditions]
            numbered = {"run": [number] * len(bodies), "condition": list(range(len(bodies)))}
            insert(
                cursor,
                "conditions",
                numbered | {"body": bodies, "planned": [int(calls) for calls in planned]},
            )
            columns = _text_columns(items, (*ITEM_COLUMNS[:-1], "unit_text"))
            columns |= {
                "run": np.full(len(items), number),
                "item": np.arange(len(items)),
                "source": pa.array(items["source"], pa.int32())
                if "source" in items
                else pa.nulls(len(items), pa.int32()),
                "ratings": [_json(given) if given else "{}" for given in items["ratings"]],
            }
            insert(cursor, "run_items", columns)
        return key

    def _free_name(self, cursor: duckdb.DuckDBPyConnection, name: str, but: int = -1) -> str:
        wanted = " ".join(storable(name).split())[:200] or "Run"
        taken = {
            row[0]
            for row in cursor.execute("SELECT name FROM runs WHERE run <> ?", [but]).fetchall()
        }
        free, k = wanted, 1
        while free in taken:
            k += 1
            free = f"{wanted} {k}"
        return free

    def set_state(self, id: str, state: str, reason: str = "") -> None:
        """One of STATES, with the reason in words. At a pause and at the end the log is taken into
        the file.

        Raises LabError where it cannot be kept (a full disk); it is then said as long as this
        process lives.
        """
        if state not in STATES:
            raise LabError(
                f"“{shorten(state)}” is no state of a run; expected one of {', '.join(STATES)}."
            )
        self._db.unsaved_states[id] = state, reason
        try:
            with self._db.transaction() as cursor:
                cursor.execute(
                    "UPDATE runs SET state = ?, reason = ?, changed = ?, revision = revision + 1 "
                    "WHERE id = ?",
                    [state, storable(reason), now(), id],
                )
        except LabError as fault:
            if (
                state == "finished"
            ):  # all is answered, but the file does not say so: to be gone on with
                self._db.unsaved_states[id] = "paused", str(fault)
            raise
        self._db.unsaved_states.pop(id, None)
        if state not in ("planned", "running"):
            self.checkpoint()

    def keep_made_with(self, id: str, facts: Mapping[str, Any]) -> None:
        """Add to what is known of a run's making; a fact of the same name is replaced."""
        known = self.made_with(id) | dict(facts)
        with self._db.transaction() as cursor:
            cursor.execute(
                "UPDATE runs SET made_with = ?, revision = revision + 1 WHERE id = ?",
                [_json(known), id],
            )

    def rename(self, id: str, name: str) -> str:
        """Returns the name that was free. Raises LabError for an empty one."""
        if not name.strip():
            raise LabError("A run needs a name; nothing was changed.")
        info = self.run(id)
        with self._db.transaction() as cursor:
            free = self._free_name(cursor, name, info.number)
            cursor.execute(
                "UPDATE runs SET name = ?, revision = revision + 1 WHERE run = ?",
                [free, info.number],
            )
        return free

    def delete(self, id: str) -> None:
        """The run, its judgments and, where no other run has it, its data set, for good. Raises
        LabError while it runs.
        """
        info = self.run(id)
        if info.number in self._db.writing:
            raise LabError(f"“{shorten(info.name)}” is running: pause it before you delete it.")
        with self._db.transaction() as cursor:
            for table in ("judgments", "calls", "orderings", "run_items", "conditions", "runs"):
                cursor.execute(f"DELETE FROM {table} WHERE run = ?", [info.number])
            for key in info.dataset.split():
                for table in ("items", "datasets"):
                    kept = (
                        "AND NOT EXISTS (SELECT 1 FROM runs r WHERE "
                        "list_contains(string_split(r.dataset, ' '), "
                        "?))"
                    )
                    cursor.execute(f"DELETE FROM {table} WHERE dataset = ? {kept}", [key, key])
        # The next run may get this one's number, or come with its id: nothing of this one may
        # become that one's.
        self._db.unsaved.pop(info.number, None)
        self._db.unsaved_states.pop(info.id, None)
        self.checkpoint()

    def rate(self, id: str, item: int, rater: str, score: float | None) -> float | None:
        """Keep a person's rating of an item of a run, or take it back (None). Returns the one that
        stood there.

        One that stands is not replaced. Raises LabError where the run is gone or nothing can be
        kept.
        """
        with self._db.transaction() as cursor:
            rows = cursor.execute(
                f"SELECT run, ratings {RATED} AND item = ?", [id, item]
            ).fetchall()
            if not rows:
                raise LabError("This run was deleted, and its ratings with it.")
            ((number, text),) = rows
            ratings = json.loads(text)
            before: float | None = ratings.pop(rater, None)
            if score is None or before is None:
                ratings |= {} if score is None else {rater: float(score)}
                kept = [_json(ratings), number, item]
                cursor.execute("UPDATE run_items SET ratings = ? WHERE run = ? AND item = ?", kept)
                cursor.execute("UPDATE runs SET revision = revision + 1 WHERE run = ?", [number])
        return before

    def add_ratings(self, id: str, given: Mapping[int, Mapping[str, float]]) -> int:
        """Keep people's ratings (item -> rater -> score) of a run, all or none; one that stands is
        not replaced.

        Returns how many are new. Raises LabError where the run is gone.
        """
        with self._db.transaction() as cursor:
            rows = cursor.execute(f"SELECT run, item, ratings {RATED}", [id]).fetchall()
            if not rows:
                raise LabError("This run was deleted, and its ratings with it.")
            before = {item: json.loads(text) for _, item, text in rows if item in given}
            merged = {item: {**given[item], **ratings} for item, ratings in before.items()}
            bodies = [_json(ratings) for ratings in merged.values()]
            cursor.execute(
                "UPDATE run_items SET ratings = new.ratings FROM (SELECT unnest(?) AS item, "
                "unnest(?) AS ratings) new "
                "WHERE run = ? AND run_items.item = new.item",
                [list(merged), bodies, rows[0][0]],
            )
            cursor.execute("UPDATE runs SET revision = revision + 1 WHERE id = ?", [id])
        return sum(len(ratings) - len(before[item]) for item, ratings in merged.items())

    # ---- judgments

    def set_reader(self, id: str, version: int, keys: Sequence[str]) -> None:
        """Note that this version of the reader reads the final calls with these keys as they
        stand.
        """
        run = self.run(id).number
        with self._db.transaction() as cursor:
            cursor.execute(
                "UPDATE judgments SET reader = ? WHERE run = ? AND call IN "
                "(SELECT call FROM calls WHERE run = ? AND final AND key IN (SELECT unnest(?)))",
                [version, run, run, list(keys)],
            )
            cursor.execute("UPDATE runs SET revision = revision + 1 WHERE run = ?", [run])

    def writer(self, id: str) -> RunWriter:
        """The one that keeps a run's judgments. Raises LabError where the run has one already."""
        return RunWriter(self._db, self.run(id).number)

    def add_table(
        self,
        table: JudgmentTable,
        calls: pd.DataFrame | None = None,
        study: Mapping[str, Any] | None = None,
        origin: str = "imported",
    ) -> str:
        """Keep a table of judgments as a run of its own. The same table again, with the same
        ratings and groups, returns the run there is.

        ``calls``: what is known of its calls, as ``calls`` gives it, where the table itself does
        not say. Texts in ``table.items`` (response, instruction, reference) are kept as its data
        set.
        """
        hashed = int(
            pd.util.hash_pandas_object(table.rows[list(JUDGMENT_COLUMNS)], index=False)
            .to_numpy()
            .sum(dtype=np.uint64)
        )
        identity = digest(
            "table",
            hashed,
            len(table.rows),
            [condition.document() for condition in table.conditions],
            [list(map(str, table.items[name])) for name in ITEM_COLUMNS[:-1]],
            [dict(given or {}) for given in table.items["ratings"]],
            [ordering.shown for ordering in table.orderings],
        )[:32]
        study, calls = dict(study or {"name": table.name}), table.calls if calls is None else calls
        study["reading"] = dict(table.reading) or study.get("reading", {})
        with self._db.transaction() as cursor:
            known = cursor.execute("SELECT id FROM runs WHERE identity = ?", [identity]).fetchall()
            if known:
                return str(known[0][0])
            asked = table.rows.drop_duplicates(["condition", "call"])["condition"].to_numpy()
            with_texts = "response" in table.items
            items = (
                table.items.assign(source=range(len(table.items))) if with_texts else table.items
            )
            key = self.create_run(
                name=table.name,
                study=study,
                identity=identity,
                conditions=table.conditions,
                items=items,
                planned=table.planned or np.bincount(asked, minlength=len(table.conditions)),
                dataset_id=identity if with_texts else "",
                made_with=table.made_with,
                state=table.state,
                id=table.run,
            )
            if with_texts:
                kept = [name for name in TEXTS if name in table.items]
                texts = [
                    {
                        name: text
                        for name, text in zip(kept, row, strict=True)
                        if isinstance(text, str)
                    }
                    for row in table.items[kept].itertuples(index=False)
                ]
                _insert_dataset(cursor, identity, table.name, origin, table.items, texts)
            ((number,),) = cursor.execute("SELECT run FROM runs WHERE id = ?", [key]).fetchall()
            insert(cursor, "orderings", orderings_columns(number, 0, table.orderings))
            rows = _arrow(table.rows, [*JUDGMENT_COLUMNS, *READING])
            if table.probabilities is None:
                insert(cursor, "judgments", rows, f"{number} AS run, *")
            else:
                flat = np.ascontiguousarray(table.probabilities, dtype=np.float32).ravel()
                lists = pa.FixedSizeListArray.from_arrays(flat, table.probabilities.shape[1])
                insert(
                    cursor,
                    "judgments",
                    rows.append_column("p", lists),
                    f"{number} AS run, * REPLACE ({LISTS})",
                )
            if calls is not None and len(calls):
                insert(
                    cursor,
                    "calls",
                    _arrow(calls, CALL_COLUMNS),
                    f"{number} AS run, true AS final, *",
                )
        self.checkpoint()
        return key


def _insert_dataset(
    cursor: duckdb.DuckDBPyConnection,
    key: str,
    name: str,
    origin: str,
    names: pd.DataFrame,
    texts: Sequence[Any],
) -> None:
    """A data set and its items: ``names`` has the columns NAMES, ``texts`` what stands in each
    item.
    """
    head = [key, storable(name), storable(origin), now()]
    cursor.execute(
        "INSERT INTO datasets (dataset, name, origin, created) VALUES (?, ?, ?, ?)", head
    )
    columns = _text_columns(names, NAMES)
    columns |= {
        "dataset": [key] * len(names),
        "item": list(range(len(names))),
        "texts": [_json(t) for t in texts],
    }
    insert(cursor, "items", columns)


def _arrow(frame: pd.DataFrame, names: Sequence[str]) -> pa.Table:
    """The columns of a frame that have one of these names; NaN as missing."""
    return pa.Table.from_pandas(
        frame[[name for name in names if name in frame]], preserve_index=False
    )


def _text_columns(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    return {
        name: pa.array(
            [storable(cell) if isinstance(cell, str) else None for cell in frame[name]], pa.string()
        )
        if frame[name].notna().any()
        else pa.nulls(len(frame), pa.string())
        for name in names
    }


def _json(value: Any) -> str:
    return storable(json.dumps(value, ensure_ascii=False, allow_nan=False, default=str))
