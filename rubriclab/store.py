"""The one store: a DuckDB file with data sets, rubrics, judges, runs and every judgment.

The only file with SQL. One process owns a store file; inside it one writer thread commits
judgments in small batches, and every reader works on a cursor of its own.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa

from rubriclab.ingest.rubrics import rubric_from_value, rubric_to_value
from rubriclab.ingest.study import (
    judge_from_value,
    judge_to_value,
    study_from_dict,
    study_to_dict,
)
from rubriclab.journal import Journal, left_behind, read_journal
from rubriclab.model import (
    STATUSES,
    Arm,
    Call,
    Comparison,
    Dataset,
    Item,
    Judge,
    Judgment,
    LabError,
    Ordering,
    Outcome,
    Rubric,
    RunData,
    Status,
    Study,
    Variant,
    fingerprint,
)
from rubriclab.plan import Plan

SCHEMA = 2
MAX_POSITIONS = 10
P_COLUMNS = tuple(f"p{i}" for i in range(1, MAX_POSITIONS + 1))
COMMIT_SECONDS = 0.3
"""How long a batch gathers: a commit takes 8 ms of processor time, however small it is."""

RUN_STATES = ("planned", "running", "paused", "interrupted", "cancelled", "finished", "imported")


class StoreError(LabError):
    """The store cannot be opened, read or written; the message says what to do."""


# ---------------------------------------------------------------- schema


def _schema_1(db: duckdb.DuckDBPyConnection) -> None:
    probabilities = ", ".join(f"{name} REAL" for name in P_COLUMNS)
    db.execute(
        f"""
        CREATE TABLE lab (schema_version INTEGER, created TIMESTAMP);
        CREATE TABLE datasets (
            dataset VARCHAR, name VARCHAR, origin VARCHAR, created TIMESTAMP, rubric VARCHAR,
            n_items INTEGER, kind VARCHAR);
        CREATE TABLE items (
            dataset VARCHAR, item INTEGER, name VARCHAR, item_id VARCHAR, instruction VARCHAR,
            response VARCHAR, criterion VARCHAR, block VARCHAR, prompt VARCHAR,
            candidate VARCHAR, task VARCHAR, human DOUBLE[], n_chars INTEGER, more VARCHAR);
        CREATE TABLE rubrics (rubric VARCHAR, name VARCHAR, created TIMESTAMP, body VARCHAR);
        CREATE TABLE judges (name VARCHAR, created TIMESTAMP, body VARCHAR);
        CREATE TABLE runs (
            run_no INTEGER, run VARCHAR, name VARCHAR, axis VARCHAR, dataset VARCHAR,
            study VARCHAR, provenance VARCHAR, created TIMESTAMP, changed TIMESTAMP,
            state VARCHAR, reason VARCHAR, planned BIGINT, simulated BOOLEAN);
        CREATE TABLE arms (run_no INTEGER, arm SMALLINT, body VARCHAR, planned BIGINT);
        CREATE TABLE orderings (run_no INTEGER, ordering INTEGER, shown VARCHAR, labels VARCHAR);
        CREATE TABLE judgments (
            run_no INTEGER, call BIGINT, arm SMALLINT, item INTEGER, ordering INTEGER,
            read SMALLINT, repeat SMALLINT, status TINYINT, score REAL, position SMALLINT,
            expected REAL, mass REAL, kind VARCHAR, {probabilities});
        CREATE TABLE replies (
            run_no INTEGER, call BIGINT, key VARCHAR, arm SMALLINT, status TINYINT, text VARCHAR,
            finish VARCHAR, tokens_in INTEGER, tokens_out INTEGER, cached_tokens INTEGER,
            latency REAL, model VARCHAR, error VARCHAR, kind VARCHAR, retryable BOOLEAN,
            attempts SMALLINT, template VARCHAR, asked TIMESTAMP);
        CREATE TABLE superseded AS SELECT * FROM replies LIMIT 0;
        """
    )
    db.execute("INSERT INTO lab VALUES (?, ?)", [1, _now()])


def _schema_2(db: duckdb.DuckDBPyConnection) -> None:
    """Attempts at writing reference answers, one a row; ``job`` names who wrote and reviewed how."""
    db.execute(
        """
        CREATE TABLE reference_attempts (
            job VARCHAR, dataset VARCHAR, item_id VARCHAR, score INTEGER, attempt INTEGER,
            writer VARCHAR, reviewer VARCHAR, status VARCHAR, verdict INTEGER, text VARCHAR,
            review VARCHAR, reason VARCHAR, asked TIMESTAMP);
        UPDATE lab SET schema_version = 2;
        """
    )


MIGRATIONS = (_schema_1, _schema_2)
"""``MIGRATIONS[v]`` takes a store from version v to v + 1."""


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


@dataclass(frozen=True)
class RunInfo:
    """One run as the runs page lists it. ``done`` counts calls with a final reply."""

    run: str
    run_no: int
    name: str
    axis: str
    dataset: str
    state: str
    reason: str
    created: datetime
    changed: datetime
    planned: int
    done: int
    simulated: bool
    provenance: Mapping[str, Any]


def _run_info(row: tuple[Any, ...]) -> RunInfo:
    names = [f.name for f in fields(RunInfo)]
    return RunInfo(**{**dict(zip(names, row, strict=True)), "provenance": json.loads(row[-1])})


# ---------------------------------------------------------------- the store


class Store:
    """An open store. Use as a context manager, or call :meth:`close`.

    Raises StoreError where the file is open in another process, is not a store, comes from
    a newer rubriclab or cannot be written. ``":memory:"`` gives a store without a file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._write_lock = threading.RLock()
        self._open: duckdb.DuckDBPyConnection | None = None
        self._unsaved: dict[str, _Batch] = {}
        self._written_now: set[str] = set()
        self._db = _connect(self.path)
        try:
            self._migrate()
            self._take_in_journals()
            self._mark_interrupted()
        except duckdb.Error as fault:
            self._db.close()
            raise _store_error(self.path, fault) from fault
        except StoreError:
            self._db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        with self._write_lock:
            self._db.close()

    # -------- data sets, rubrics, judges

    def save_dataset(self, dataset: Dataset) -> str:
        """Keep a data set; the same data twice is kept once. Returns its id."""
        code = dataset.id
        if self._one("SELECT count(*) FROM datasets WHERE dataset = ?", [code]):
            return code
        frame = _items_frame(dataset)
        frame["dataset"] = code
        rubric = json.dumps(rubric_to_value(dataset.rubric)) if dataset.rubric else None
        kind = "comparisons" if isinstance(dataset.items[0], Comparison) else "items"
        with self._transaction() as db:
            db.execute(
                "INSERT INTO datasets VALUES (?, ?, ?, ?, ?, ?, ?)",
                [code, dataset.name, dataset.origin, _now(), rubric, len(dataset), kind],
            )
            db.append("items", frame, by_name=True)
        return code

    def dataset(self, code: str) -> Dataset:
        """The data set of that id. Raises StoreError where there is none."""
        head = self._rows("SELECT name, origin, rubric FROM datasets WHERE dataset = ?", [code])
        if not head:
            raise StoreError(f"The store has no data set “{code}”.")
        name, origin, rubric = head[0]
        rows = self._frame("SELECT * FROM items WHERE dataset = ? ORDER BY item", [code])
        return Dataset(
            name=name,
            origin=origin,
            items=_items_of(rows),
            rubric=rubric_from_value(json.loads(rubric)) if rubric else None,
        )

    def datasets(self) -> pd.DataFrame:
        """Kept data sets, newest first: dataset, name, origin, created, n_items, kind."""
        return self._frame(
            "SELECT dataset, name, origin, created, n_items, kind, rubric IS NOT NULL AS own_rubric "
            "FROM datasets WHERE origin <> 'imported' ORDER BY created DESC"
        )

    def delete_dataset(self, code: str) -> None:
        """Remove a data set that no run needs. Raises StoreError where a run was made on it."""
        if runs := self._rows("SELECT run FROM runs WHERE dataset = ?", [code]):
            raise StoreError(f"Run “{runs[0][0]}” was made on this data set; it has to stay.")
        with self._transaction() as db:
            db.execute("DELETE FROM items WHERE dataset = ?", [code])
            db.execute("DELETE FROM datasets WHERE dataset = ?", [code])

    def save_rubric(self, rubric: Rubric) -> str:
        """Keep a rubric; a rubric of the same name is replaced on the list, never in runs."""
        with self._transaction() as db:
            db.execute("DELETE FROM rubrics WHERE name = ?", [rubric.name])
            db.execute(
                "INSERT INTO rubrics VALUES (?, ?, ?, ?)",
                [rubric.id, rubric.name, _now(), json.dumps(rubric_to_value(rubric))],
            )
        return rubric.id

    def rubrics(self) -> tuple[Rubric, ...]:
        rows = self._rows("SELECT body FROM rubrics ORDER BY created DESC")
        return tuple(rubric_from_value(json.loads(body)) for (body,) in rows)

    def delete_rubric(self, name: str) -> None:
        with self._transaction() as db:
            db.execute("DELETE FROM rubrics WHERE name = ?", [name])

    def save_judge(self, judge: Judge) -> None:
        """Keep a judge's settings under its name. They hold no key, only its variable's name."""
        body = judge_to_value(judge)
        with self._transaction() as db:
            db.execute("DELETE FROM judges WHERE name = ?", [judge.name])
            db.execute(
                "INSERT INTO judges VALUES (?, ?, ?)", [judge.name, _now(), json.dumps(body)]
            )

    def judges(self) -> tuple[Judge, ...]:
        rows = self._rows("SELECT body FROM judges ORDER BY created")
        return tuple(judge_from_value(json.loads(body)) for (body,) in rows)

    def delete_judge(self, name: str) -> None:
        with self._transaction() as db:
            db.execute("DELETE FROM judges WHERE name = ?", [name])

    # -------- reference answers

    def save_reference_attempt(self, attempt: Mapping[str, Any]) -> None:
        """Keep one attempt at a reference answer: the columns of its table but for ``asked``."""
        names = [*attempt, "asked"]
        marks = ", ".join("?" for _ in names)
        with self._transaction() as db:
            db.execute(
                f"INSERT INTO reference_attempts ({', '.join(names)}) VALUES ({marks})",
                [*attempt.values(), _now()],
            )

    def reference_attempts(self, dataset: str) -> pd.DataFrame:
        """All attempts at reference answers for a data set (its id), in order of asking."""
        return self._frame(
            "SELECT job, item_id, score, attempt, writer, reviewer, status, verdict, text, review, "
            "reason, asked FROM reference_attempts WHERE dataset = ? ORDER BY asked, attempt",
            [dataset],
        )

    # -------- runs

    def open_run(self, plan: Plan, provenance: Mapping[str, Any]) -> RunInfo:
        """The run of this plan's study: the one there is, or a new one."""
        run = run_name(plan.study)
        with self._write_lock:
            if self._one("SELECT count(*) FROM runs WHERE run = ?", [run]):
                return self.run(run)
            dataset = self.save_dataset(plan.study.dataset)
            self._insert_run(
                run=run,
                name=plan.study.name,
                axis=plan.study.design.axis,
                dataset=dataset,
                study=json.dumps(study_to_dict(plan.study)),
                provenance=provenance,
                state="planned",
                arms=plan.arms,
                planned=plan.planned,
            )
        return self.run(run)

    def _insert_run(
        self,
        *,
        run: str,
        name: str,
        axis: str,
        dataset: str,
        study: str | None,
        provenance: Mapping[str, Any],
        state: str,
        arms: Sequence[Arm],
        planned: Sequence[int],
    ) -> int:
        with self._transaction() as db:
            number = int(
                db.execute("SELECT coalesce(max(run_no), 0) + 1 FROM runs").fetchall()[0][0]
            )
            db.execute(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [number, run, name, axis, dataset, study, json.dumps(provenance), _now(), _now(),
                 state, "", sum(planned), any(arm.simulated for arm in arms)],
            )  # fmt: skip
            for code, (arm, count) in enumerate(zip(arms, planned, strict=True)):
                db.execute(
                    "INSERT INTO arms VALUES (?, ?, ?, ?)",
                    [number, code, json.dumps(asdict(arm)), count],
                )
        return number

    def set_state(self, run: str, state: str, reason: str = "") -> None:
        with self._transaction() as db:
            db.execute(
                "UPDATE runs SET state = ?, reason = ?, changed = ? WHERE run = ?",
                [state, reason, _now(), run],
            )

    def runs(self) -> tuple[RunInfo, ...]:
        """All runs, newest first."""
        return self._run_infos("", [])

    def run(self, run: str) -> RunInfo:
        """The run of that name, or of a name that begins so. Raises StoreError otherwise."""
        found = self._run_infos("WHERE r.run = ?", [run])
        found = found or self._run_infos("WHERE starts_with(r.run, ?)", [run])
        if len(found) != 1:
            known = ", ".join(info.run for info in self.runs()[:8]) or "none"
            what = "no run" if not found else f"{len(found)} runs that begin with"
            raise StoreError(f"The store {self.path} has {what} “{run}”. Runs here: {known}.")
        return found[0]

    def _run_infos(self, where: str, values: list[Any]) -> tuple[RunInfo, ...]:
        rows = self._rows(
            f"""
            SELECT r.run, r.run_no, r.name, r.axis, coalesce(d.name, ''), r.state, r.reason,
                   r.created, r.changed, r.planned, coalesce(c.done, 0), r.simulated, r.provenance
            FROM runs r
            LEFT JOIN (SELECT run_no, count(*) AS done FROM replies GROUP BY run_no) c USING (run_no)
            LEFT JOIN datasets d ON d.dataset = r.dataset
            {where} ORDER BY r.created DESC, r.run_no DESC
            """,
            values,
        )
        return tuple(_run_info(row) for row in rows)

    def study(self, run: str) -> Study:
        """The study that a run was made from. Raises StoreError for an imported run."""
        info = self.run(run)
        ((text, dataset),) = self._rows(
            "SELECT study, dataset FROM runs WHERE run_no = ?", [info.run_no]
        )
        if text is None:
            raise StoreError(
                f"Run “{info.run}” was imported from a file; there is no study to go on with."
            )
        return study_from_dict(json.loads(text), dataset=self.dataset(dataset))

    def delete_run(self, run: str) -> None:
        info = self.run(run)
        if info.run in self._written_now:
            raise StoreError(f"Run “{info.run}” is being judged right now; pause it first.")
        number = info.run_no
        with self._transaction() as db:
            for table in ("judgments", "replies", "superseded", "orderings", "arms", "runs"):
                db.execute(f"DELETE FROM {table} WHERE run_no = ?", [number])

    def done_keys(self, run: str) -> set[str]:
        """Keys of the calls that have a final reply."""
        number = self.run(run).run_no
        return {k for (k,) in self._rows("SELECT key FROM replies WHERE run_no = ?", [number])}

    def failed_keys(self, run: str) -> set[str]:
        """Keys of the calls that ended in an error: what “ask failed calls again” asks."""
        number = self.run(run).run_no
        code = STATUSES.index("error")
        rows = self._rows("SELECT key FROM replies WHERE run_no = ? AND status = ?", [number, code])
        return {key for (key,) in rows}

    def outcome_counts(self, run: str) -> dict[str, int]:
        """Judgments by status, every status present."""
        number = self.run(run).run_no
        rows = self._rows(
            "SELECT status, count(*) FROM judgments WHERE run_no = ? GROUP BY status", [number]
        )
        counts = dict(rows)
        return {name: int(counts.get(code, 0)) for code, name in enumerate(STATUSES)}

    def usage(self, run: str) -> dict[str, float]:
        """Totals over a run's replies: tokens in, out and cached, seconds of judge time."""
        number = self.run(run).run_no
        rows = self._rows(
            "SELECT coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0), "
            "coalesce(sum(cached_tokens), 0), coalesce(sum(latency), 0), count(*) "
            "FROM replies WHERE run_no = ?",
            [number],
        )
        names = ("tokens_in", "tokens_out", "cached_tokens", "seconds", "calls")
        return {name: float(value) for name, value in zip(names, rows[0], strict=True)}

    # -------- what findings start from

    def revision(self, run: str) -> str:
        """Changes whenever the run's judgments do: the key of caches over them."""
        info = self.run(run)
        return f"{info.run}:{info.done}:{info.changed.isoformat()}"

    def frame(self, run: str, *, probabilities: bool = False) -> RunData:
        """A run's judgments as arrays (see RunData), ready for findings."""
        info = self.run(run)
        arms = self._rows(
            "SELECT body, planned FROM arms WHERE run_no = ? ORDER BY arm", [info.run_no]
        )
        shown = self._rows(
            "SELECT shown, labels FROM orderings WHERE run_no = ? ORDER BY ordering", [info.run_no]
        )
        columns = "arm, item, ordering, read, repeat, call, status, score, position, expected, mass"
        given = probabilities and self._has_probabilities(info.run_no)
        if given:
            columns += ", " + ", ".join(P_COLUMNS)
        # Rows lie in the order they were kept; putting them in order is rarely needed and dear.
        table = self._numpy(f"SELECT {columns} FROM judgments WHERE run_no = ?", [info.run_no])
        order = _in_order(table["call"])
        if order is not None:
            table = {name: part[order] for name, part in table.items()}
        parts = [table.pop(name) for name in P_COLUMNS] if given else []
        matrix = np.column_stack(parts).astype(np.float64) if given else None
        return RunData(
            run=info.run,
            name=info.name,
            arms=tuple(_arm_of(json.loads(body)) for body, _ in arms),
            items=self._item_frame(info.run_no),
            orderings=tuple(_ordering_of(*row) for row in shown),
            judgments=pd.DataFrame(table, copy=False),
            probabilities=matrix,
            planned=tuple(int(planned) for _, planned in arms),
            simulated=info.simulated,
        )

    def _has_probabilities(self, run_no: int) -> bool:
        given = "SELECT count(*) FROM judgments WHERE run_no = ? AND isfinite(p1)"
        return self._one(given, [run_no]) > 0

    def _item_frame(self, run_no: int) -> pd.DataFrame:
        frame = self._frame(
            """
            SELECT i.name AS dataset, i.item_id, i.criterion, i.block, i.prompt, i.candidate,
                   i.task, i.human AS raters, list_avg(i.human) AS human, i.n_chars,
                   json_extract(i.more, '$.candidates')::VARCHAR AS candidates
            FROM items i JOIN runs r USING (dataset) WHERE r.run_no = ? ORDER BY i.item
            """,
            [run_no],
        )
        for name in ("dataset", "criterion", "block", "prompt", "candidate", "task"):
            frame[name] = frame[name].astype("category")
        frame["human"] = frame["human"].astype("float64")
        listed = [tuple(json.loads(c)) if isinstance(c, str) else () for c in frame["candidates"]]
        frame["candidates"] = pd.Series(listed, dtype=object, index=frame.index)
        return frame

    def judgments_behind(
        self,
        run: str,
        *,
        arm: int | None = None,
        score: int | None = None,
        position: int | None = None,
        status: Status | None = None,
        item: int | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> pd.DataFrame:
        """The judgments behind one cell, with what the judge wrote and what it was shown."""
        where, values = ["j.run_no = ?"], [self.run(run).run_no]
        wanted = {"arm": arm, "score": score, "position": position, "item": item}
        for name, value in wanted.items():
            if value is not None:
                where.append(f"j.{name} = ?")
                values.append(value)
        if status is not None:
            where.append("j.status = ?")
            values.append(STATUSES.index(status))
        frame = self._frame(
            f"""
            SELECT j.call, j.arm, j.item, i.item_id, i.criterion, i.candidate, o.shown, o.labels,
                   j.read, j.repeat, j.status, j.score, j.position, j.expected, j.mass,
                   coalesce(j.kind, p.kind) AS kind, p.text, p.finish, p.error, p.key, p.model,
                   p.tokens_in, p.tokens_out, p.latency, i.instruction, i.response,
                   list_avg(i.human) AS human
            FROM judgments j
            JOIN runs r USING (run_no)
            JOIN items i ON i.dataset = r.dataset AND i.item = j.item
            JOIN orderings o ON o.run_no = j.run_no AND o.ordering = j.ordering
            LEFT JOIN replies p ON p.run_no = j.run_no AND p.call = j.call
            WHERE {" AND ".join(where)} ORDER BY j.call LIMIT ? OFFSET ?
            """,
            [*values, limit, offset],
        )
        frame["status"] = [STATUSES[code] for code in frame["status"]]
        return frame

    def export_frame(self, run: str) -> pd.DataFrame:
        """Every judgment of a run with its words, one a row: what the Parquet export holds."""
        frame = self.judgments_behind(run, limit=2**31)
        arms = [_arm_of(json.loads(b)) for (b,) in self._rows(
            "SELECT body FROM arms WHERE run_no = ? ORDER BY arm", [self.run(run).run_no])]  # fmt: skip
        frame.insert(0, "judge", [arms[a].judge for a in frame["arm"]])
        frame.insert(1, "dataset", [arms[a].dataset for a in frame["arm"]])
        frame.insert(2, "strategy", [arms[a].strategy for a in frame["arm"]])
        frame.insert(3, "variant", [str(arms[a].variant) for a in frame["arm"]])
        return frame

    def archive_frame(self, run: str) -> pd.DataFrame:
        """Every judgment of a run with all that is known of its reply, in order of asking."""
        probabilities = ", ".join(f"j.{name}" for name in P_COLUMNS)
        return self._frame(
            f"""
            SELECT p.key, j.item, j.status, j.score, j.position, j.expected, j.mass, j.kind,
                   {probabilities}, p.text, p.finish, p.tokens_in, p.tokens_out, p.cached_tokens,
                   p.latency, p.model, p.error, p.kind AS reply_kind, p.retryable, p.attempts,
                   p.template, p.asked
            FROM judgments j JOIN replies p ON p.run_no = j.run_no AND p.call = j.call
            WHERE j.run_no = ? ORDER BY j.call, j.position
            """,
            [self.run(run).run_no],
        )

    def import_run(
        self,
        data: RunData,
        *,
        provenance: Mapping[str, Any],
        replies: pd.DataFrame | None = None,
        study: Mapping[str, Any] | None = None,
        texts: pd.DataFrame | None = None,
    ) -> str:
        """Keep judgments made elsewhere as a run. The same data twice is the same run.

        ``texts`` may bring instruction, response and more for the items, ``replies`` the
        words (columns of the replies table but for run_no). Returns the run's name.
        """
        run = f"{_slug(data.name)}-{_data_id(data)[:8]}"
        if self._one("SELECT count(*) FROM runs WHERE run = ?", [run]):
            return run
        dataset = fingerprint({"import": run})
        items = _imported_items(data.items, texts)
        items["dataset"] = dataset
        with self._transaction() as db:
            db.execute(
                "INSERT INTO datasets VALUES (?, ?, 'imported', ?, NULL, ?, 'items')",
                [
                    dataset,
                    " + ".join(dict.fromkeys(a.dataset for a in data.arms)),
                    _now(),
                    len(items),
                ],
            )
            db.append("items", items, by_name=True)
            counts = np.bincount(data.judgments["arm"], minlength=len(data.arms))
            number = self._insert_run(
                run=run, name=data.name, axis=data.arms[0].axis, dataset=dataset,
                study=json.dumps(study) if study else None, provenance=provenance,
                state="imported", arms=data.arms, planned=[int(c) for c in counts],
            )  # fmt: skip
            db.append(
                "orderings",
                _orderings_frame(number, range(len(data.orderings)), data.orderings),
                by_name=True,
            )
            db.append("judgments", _imported_judgments(number, data), by_name=True)
            kept = replies if replies is not None else _no_words(data)
            db.append("replies", kept.assign(run_no=number), by_name=True)
        return run

    # -------- plumbing

    def _migrate(self) -> None:
        tables = {name for (name,) in self._rows("SELECT table_name FROM duckdb_tables()")}
        if tables and "lab" not in tables:
            raise StoreError(
                f"{self.path} is a DuckDB file but not a rubriclab store. Choose another file."
            )
        version = self._one("SELECT max(schema_version) FROM lab") if tables else 0
        if version > SCHEMA:
            raise StoreError(
                f"{self.path} was written by a newer rubriclab (store version {version}; this one "
                f"reads up to {SCHEMA}). Update rubriclab or choose another store."
            )
        for step in MIGRATIONS[version:]:
            with self._transaction() as db:
                step(db)

    def _take_in_journals(self) -> None:
        """Commit what a killed process had received but not committed."""
        if self.path == ":memory:":
            return
        for run, paths in left_behind(Path(self.path).expanduser()).items():
            found = self._rows("SELECT run_no FROM runs WHERE run = ?", [run])
            if found:
                number = int(found[0][0])
                batch = _Batch()
                for path in paths:
                    for record in read_journal(path):
                        batch.add(*record)
                calls = self._rows(
                    "SELECT call FROM replies WHERE run_no = ? UNION ALL "
                    "SELECT call FROM superseded WHERE run_no = ?",
                    [number, number],
                )
                codes, _ = self._codes_of(number)
                left = batch.without({call for (call,) in calls}, len(codes))
                if left.replies:
                    self._commit(number, left, self.failed_keys(run))
            for path in paths:
                path.unlink()

    def _codes_of(self, run_no: int) -> tuple[dict[Ordering, int], int]:
        """The committed orderings of a run with their codes, and its next call number."""
        rows = self._rows(
            "SELECT shown, labels, ordering FROM orderings WHERE run_no = ?", [run_no]
        )
        last = "SELECT max(call) AS call FROM {} WHERE run_no = ?"
        following = self._one(
            f"SELECT coalesce(max(call), -1) + 1 FROM ({last.format('replies')} UNION ALL "
            f"{last.format('superseded')})",
            [run_no, run_no],
        )
        return {_ordering_of(shown, labels): code for shown, labels, code in rows}, following

    def _claim(self, run: str) -> None:
        with self._write_lock:
            if run in self._written_now:
                raise StoreError(f"Run “{run}” is being judged right now; pause it first.")
            self._written_now.add(run)

    def _new_journal(self, run: str) -> Journal | None:
        if self.path == ":memory:":
            return None
        try:
            return Journal(Path(self.path).expanduser(), run)
        except OSError as fault:
            self._written_now.discard(run)
            raise _store_error(self.path, fault) from fault

    def _commit(self, run_no: int, batch: _Batch, failed: set[str]) -> None:
        """Write a batch in one transaction; a reply to a failed call takes its old place."""
        again = [row[REPLY_KEY] for row in batch.replies if row[REPLY_KEY] in failed]
        judgments, replies = (
            _arrow(batch.outcomes, _JUDGMENT_SCHEMA),
            _arrow(batch.replies, _REPLY_SCHEMA),
        )
        with self._transaction() as db:
            if again:
                _supersede(db, run_no, again)
            if batch.orderings:
                codes, fresh = zip(*batch.orderings, strict=True)
                db.append("orderings", _orderings_frame(run_no, codes, fresh), by_name=True)
            _insert(db, "replies", replies)
            _insert(db, "judgments", judgments)

    def _mark_interrupted(self) -> None:
        with self._transaction() as db:
            db.execute(
                "UPDATE runs SET state = 'interrupted', reason = 'the lab was stopped' "
                "WHERE state = 'running'"
            )

    @contextmanager
    def _transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """All of a block or nothing of it, one writer at a time; nested blocks join the outer."""
        with self._write_lock:
            if self._open is not None:
                yield self._open
                return
            cursor = self._cursor()
            self._open = cursor
            try:
                cursor.begin()
                yield cursor
                cursor.commit()
            except BaseException as fault:
                with suppress(duckdb.Error):
                    cursor.rollback()
                if isinstance(fault, duckdb.Error):
                    raise _store_error(self.path, fault) from fault
                raise
            finally:
                self._open = None
                cursor.close()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        try:
            return self._db.cursor()
        except duckdb.Error as fault:
            raise _store_error(self.path, fault) from fault

    def _rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._cursor() as cursor:
            rows: list[tuple[Any, ...]] = cursor.execute(sql, list(values)).fetchall()
            return rows

    def _one(self, sql: str, values: Sequence[Any] = ()) -> int:
        return int(self._rows(sql, values)[0][0] or 0)

    def _frame(self, sql: str, values: Sequence[Any] = ()) -> pd.DataFrame:
        with self._cursor() as cursor:
            return cursor.execute(sql, list(values)).df()

    def _numpy(self, sql: str, values: Sequence[Any]) -> dict[str, np.ndarray]:
        """Columns of numbers as arrays, through Arrow: a quarter of the time of fetchnumpy."""
        with self._cursor() as cursor:
            found = cursor.sql(sql, params=list(values)).to_arrow_table()
        parts = ((name, found.column(name).combine_chunks()) for name in found.column_names)
        return {name: part.to_numpy(zero_copy_only=False) for name, part in parts}


def _in_order(call: np.ndarray) -> np.ndarray | None:
    """What puts rows in order of call, rows of one call as they were kept; None: they are."""
    if bool((call[1:] >= call[:-1]).all()):
        return None
    return np.argsort(call, kind="stable")


# ---------------------------------------------------------------- one run's writer


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
        self._pending = store._unsaved.pop(self.run, _Batch())
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
                    self._fault = _store_error(self._store.path, fault)
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

    def _take_up(self, left: _Batch) -> None:
        """Go on from what an earlier writer could not commit."""
        self._codes.update({ordering: code for code, ordering in left.orderings})
        self._next_call = max(self._next_call, left.replies[-1][1] + 1)
        if self._journal is not None:
            try:
                self._journal.add(*left.records())
            except OSError as fault:
                self._fault = _store_error(self._store.path, fault)

    def _record(self, judgment: Judgment) -> _Record:
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
            _outcome_row(self._number, number, code, judgment.call, o) for o in judgment.outcomes
        ]
        return fresh, outcomes, _reply_row(self._number, number, judgment)

    def _work(self) -> None:
        while True:
            with self._lock:
                self._lock.wait_for(lambda: self._closed or self._ready())
                if not self._ready():
                    return
                self._lock.wait_for(lambda: self._closed or self._hurry, COMMIT_SECONDS)
                batch, self._pending = self._pending, _Batch()
                self._writing = True
                if self._journal is not None:
                    self._journal.turn()
            self._commit_or_keep(batch)

    def _ready(self) -> bool:
        return bool(self._pending.replies) and self._fault is None

    def _commit_or_keep(self, batch: _Batch) -> None:
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
                self._fault = _store_error(self._store.path, fault)


_Fresh = tuple[int, Sequence[int | str], Sequence[str]]
_Row = tuple[Any, ...]
_Record = tuple[_Fresh | None, list[_Row], _Row]
"""What the journal holds of one judgment: a new ordering with its code, or None; the rows of
its outcomes; the row of its reply."""


class _Batch:
    """Rows that go into the database together."""

    def __init__(self) -> None:
        self.orderings: list[tuple[int, Ordering]] = []
        self.outcomes: list[_Row] = []
        self.replies: list[_Row] = []

    def add(self, fresh: _Fresh | None, outcomes: list[_Row], reply: _Row) -> None:
        if fresh is not None:
            code, shown, labels = fresh
            self.orderings.append((code, Ordering(tuple(shown), tuple(labels))))  # type: ignore[arg-type]
        self.outcomes.extend(outcomes)
        self.replies.append(reply)

    def followed_by(self, later: _Batch) -> _Batch:
        joined = _Batch()
        joined.orderings = self.orderings + later.orderings
        joined.outcomes = self.outcomes + later.outcomes
        joined.replies = self.replies + later.replies
        return joined

    def without(self, calls: set[int], orderings: int) -> _Batch:
        """What is left when these calls and the first ``orderings`` codes are committed."""
        left = _Batch()
        left.orderings = [(code, o) for code, o in self.orderings if code >= orderings]
        left.outcomes = [row for row in self.outcomes if row[1] not in calls]
        left.replies = [row for row in self.replies if row[1] not in calls]
        return left

    def records(self) -> Iterator[_Record]:
        """The batch as the journal holds it."""
        by_call: dict[int, list[_Row]] = {}
        for row in self.outcomes:
            by_call.setdefault(row[1], []).append(row)
        fresh: list[_Fresh] = [(code, o.shown, o.labels) for code, o in self.orderings]
        for i, reply in enumerate(self.replies):
            yield (fresh[i] if i < len(fresh) else None), by_call.get(reply[1], []), reply
        # An ordering is new with the first reply it is used in, so there are never more of
        # them than replies.


_NAN = float("nan")
_PADDING = tuple((_NAN,) * n for n in range(MAX_POSITIONS + 1))
_STATUS_CODE = {name: code for code, name in enumerate(STATUSES)}


def _outcome_row(run_no: int, number: int, ordering: int, call: Call, out: Outcome) -> _Row:
    given = (out.probabilities or ())[:MAX_POSITIONS]
    return (
        run_no, number, call.arm, out.item, ordering, call.read, call.repeat,
        _STATUS_CODE[out.status],
        _NAN if out.score is None else out.score,
        -1 if out.position is None else out.position,
        _NAN if out.expected is None else out.expected,
        _NAN if out.mass is None else out.mass,
        out.kind, *given, *_PADDING[MAX_POSITIONS - len(given)],
    )  # fmt: skip


def _reply_row(run_no: int, number: int, judgment: Judgment) -> _Row:
    call, reply = judgment.call, judgment.reply
    return (
        run_no, number, call.key, call.arm, _STATUS_CODE[judgment.outcomes[0].status],
        reply.text, reply.finish, reply.tokens_in, reply.tokens_out, reply.cached_tokens,
        reply.latency, reply.model, reply.error, reply.kind, reply.retryable,
        reply.attempts, call.template, time.time_ns() // 1000,
    )  # fmt: skip


JUDGMENT_TYPES = {
    "run_no": "int32", "call": "int64", "arm": "int16", "item": "int32", "ordering": "int32",
    "read": "int16", "repeat": "int16", "status": "int8", "score": "float32",
    "position": "int16", "expected": "float32", "mass": "float32", "kind": "string",
    **dict.fromkeys(P_COLUMNS, "float32"),
}  # fmt: skip
REPLY_TYPES = {
    "run_no": "int32", "call": "int64", "key": "string", "arm": "int16", "status": "int8",
    "text": "string", "finish": "string", "tokens_in": "int32", "tokens_out": "int32",
    "cached_tokens": "int32", "latency": "float32", "model": "string", "error": "string",
    "kind": "string", "retryable": "bool", "attempts": "int16", "template": "string",
    "asked": "timestamp",
}  # fmt: skip
REPLY_KEY = list(REPLY_TYPES).index("key")
_ARROW = {
    "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "float32": pa.float32(), "bool": pa.bool_(), "string": pa.string(),
    "timestamp": pa.timestamp("us"),
}  # fmt: skip
_JUDGMENT_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in JUDGMENT_TYPES.items()])
_REPLY_SCHEMA = pa.schema([(name, _ARROW[kind]) for name, kind in REPLY_TYPES.items()])


def _arrow(rows: Sequence[_Row], schema: Any) -> Any:
    """Rows as an Arrow table: a third of the cost of a data frame on the way to the database."""
    columns = zip(*rows, strict=True)
    return pa.Table.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)],
        schema=schema,
    )


def _insert(db: duckdb.DuckDBPyConnection, table: str, rows: Any) -> None:
    db.register("arriving", rows)
    try:
        db.execute(f"INSERT INTO {table} BY NAME SELECT * FROM arriving")
    finally:
        db.unregister("arriving")


def _supersede(db: duckdb.DuckDBPyConnection, run_no: int, keys: Sequence[str]) -> None:
    """Move replies that are asked again out of the way; they stay readable in superseded."""
    matching = "run_no = ? AND list_contains(?, key)"
    db.execute(f"INSERT INTO superseded SELECT * FROM replies WHERE {matching}", [run_no, keys])
    db.execute(
        "DELETE FROM judgments WHERE run_no = ? AND call IN "
        f"(SELECT call FROM replies WHERE {matching})",
        [run_no, run_no, keys],
    )
    db.execute(f"DELETE FROM replies WHERE {matching}", [run_no, keys])


# ---------------------------------------------------------------- rows and objects


def run_name(study: Study) -> str:
    """The name of a study's run: readable, and the same for the same calls."""
    return f"{_slug(study.name)}-{study.id[:8]}"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "run"


def _connect(path: str) -> duckdb.DuckDBPyConnection:
    try:
        if path != ":memory:":
            Path(path).expanduser().parent.mkdir(parents=True, exist_ok=True)
            path = str(Path(path).expanduser())
        return duckdb.connect(path, config={"enable_external_access": "false"})
    except (duckdb.Error, OSError) as fault:
        raise _store_error(path, fault) from fault


def _store_error(path: str, fault: Exception) -> StoreError:
    """What a database fault means for the user and what to do about it."""
    text = str(fault)
    if holder := re.search(r"PID (\d+)", text):
        return StoreError(
            f"{path} is open in another process (PID {holder[1]}). Close that one, or choose "
            "another store."
        )
    if "lock" in text.lower():
        return StoreError(f"{path} is open in another process. Close it or choose another store.")
    if "No space left" in text or "disk full" in text.lower() or "out of disk" in text.lower():
        return StoreError(f"The disk is full: {path} cannot be written. Free some space and go on.")
    if "not a valid DuckDB database" in text:
        return StoreError(f"{path} is not a rubriclab store. Choose another file.")
    if "older version" in text or "newer version" in text or "version number" in text:
        return StoreError(
            f"{path} was written by another version of DuckDB: {text.splitlines()[0]}"
        )
    return StoreError(f"The store {path} answered: {text.splitlines()[0] if text else fault!r}")


def _items_frame(dataset: Dataset) -> pd.DataFrame:
    rows: list[tuple[Any, ...]] = []
    for number, item in enumerate(dataset.items):
        if isinstance(item, Comparison):
            more = {
                "turns": item.turns,
                "candidates": item.candidates,
                "responses": item.responses,
                "references": item.references,
            }
            chars = sum(len(text) for answers in item.responses for text in answers)
            rows.append((number, dataset.name, item.item_id, "\n\n".join(item.turns), None, None,
                         None, item.prompt, None, item.task, None, chars, json.dumps(more)))  # fmt: skip
        elif isinstance(item, Item):
            more_item = {"references": item.references} if item.references else None
            rows.append((number, dataset.name, item.item_id, item.instruction, item.response,
                         item.criterion, item.block, item.prompt, item.candidate, item.task,
                         list(item.human) or None, len(item.response),
                         json.dumps(more_item) if more_item else None))  # fmt: skip
    return pd.DataFrame(rows, columns=list(ITEM_COLUMNS)).astype({"item": "int32"})


ITEM_COLUMNS = (
    "item", "name", "item_id", "instruction", "response", "criterion", "block", "prompt",
    "candidate", "task", "human", "n_chars", "more",
)  # fmt: skip


def _items_of(rows: pd.DataFrame) -> tuple[Item, ...] | tuple[Comparison, ...]:
    """Items as they were saved; a row with candidates is a comparison."""
    items: list[Item] = []
    pairs: list[Comparison] = []
    for row in rows.to_dict("records"):
        more = json.loads(row["more"]) if isinstance(row["more"], str) else {}
        if "candidates" in more:
            pairs.append(
                Comparison(
                    item_id=row["item_id"],
                    turns=tuple(more["turns"]),
                    candidates=tuple(more["candidates"]),
                    responses=tuple(tuple(answers) for answers in more["responses"]),
                    prompt=_text(row["prompt"]),
                    task=_text(row["task"]),
                    references=tuple(more["references"]),
                )
            )
            continue
        human = row["human"]
        items.append(
            Item(
                item_id=row["item_id"],
                instruction=_text(row["instruction"]) or "",
                response=_text(row["response"]) or "",
                criterion=_text(row["criterion"]),
                block=_text(row["block"]),
                prompt=_text(row["prompt"]),
                candidate=_text(row["candidate"]),
                task=_text(row["task"]),
                human=tuple(map(float, human)) if isinstance(human, np.ndarray | list) else (),
                references={int(k): v for k, v in more.get("references", {}).items()},
            )
        )
    return tuple(pairs) if pairs else tuple(items)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _imported_items(items: pd.DataFrame, texts: pd.DataFrame | None) -> pd.DataFrame:
    frame = pd.DataFrame({"item": np.arange(len(items), dtype=np.int32)})
    frame["name"] = items["dataset"].astype("object").to_numpy()
    for name in ("item_id", "criterion", "block", "prompt", "candidate", "task"):
        frame[name] = items[name].astype("object").to_numpy() if name in items else None
    for name in ("instruction", "response"):
        frame[name] = texts[name].to_numpy() if texts is not None and name in texts else None
    raters = items["raters"] if "raters" in items else pd.Series([()] * len(items), dtype=object)
    human = items["human"].to_numpy()
    rated = [
        list(map(float, r)) if len(r) else (None if np.isnan(h) else [float(h)])
        for r, h in zip(raters, human, strict=True)
    ]
    frame["human"] = pd.Series(rated, dtype=object)
    frame["n_chars"] = items["n_chars"].to_numpy() if "n_chars" in items else 0
    listed = items["candidates"] if "candidates" in items else [()] * len(items)
    frame["more"] = [json.dumps({"candidates": list(c)}) if len(c) else None for c in listed]
    return frame


def _imported_judgments(run_no: int, data: RunData) -> pd.DataFrame:
    rows = data.judgments
    frame = pd.DataFrame({"run_no": np.full(len(rows), run_no, dtype=np.int32)})
    for name, kind in JUDGMENT_TYPES.items():
        if name in rows:
            frame[name] = rows[name].to_numpy().astype("object" if kind == "string" else kind)
        elif name in ("score", "expected", "mass", *P_COLUMNS):
            frame[name] = np.float32("nan")
    if data.probabilities is not None:
        for i in range(data.probabilities.shape[1]):
            frame[P_COLUMNS[i]] = data.probabilities[:, i].astype(np.float32)
    return frame


def _no_words(data: RunData) -> pd.DataFrame:
    """Replies of judgments that came without the judge's words: one per call."""
    calls, first = np.unique(data.judgments["call"].to_numpy(), return_index=True)
    rows = data.judgments.iloc[first]
    return pd.DataFrame(
        {
            "call": calls,
            "arm": rows["arm"].to_numpy(),
            "status": rows["status"].to_numpy(),
            "retryable": False,
            "attempts": 1,
        }
    )


def _data_id(data: RunData) -> str:
    """A hash of imported judgments: arms, orderings, items and every row."""
    return fingerprint(
        {
            "arms": [asdict(arm) for arm in data.arms],
            "orderings": [[o.shown, o.labels] for o in data.orderings],
            "items": str(pd.util.hash_pandas_object(data.items["item_id"], index=False).sum()),
            "rows": str(
                pd.util.hash_pandas_object(data.judgments, index=True)
                .to_numpy()
                .sum(dtype=np.uint64)
            ),
        }
    )


def _orderings_frame(
    run_no: int, codes: Sequence[int], orderings: Sequence[Ordering]
) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "run_no": np.full(len(orderings), run_no, dtype=np.int32),
            "ordering": np.asarray(codes, dtype=np.int32),
            "shown": [json.dumps(o.shown) for o in orderings],
            "labels": [json.dumps(o.labels) for o in orderings],
        }
    )


def _ordering_of(shown: str, labels: str) -> Ordering:
    return Ordering(shown=tuple(json.loads(shown)), labels=tuple(json.loads(labels)))


def _arm_of(body: Mapping[str, Any]) -> Arm:
    levels = tuple(
        (name, tuple(level) if isinstance(level, list) else level)
        for name, level in body["variant"]["levels"]
    )
    return Arm(**{**body, "scores": tuple(body["scores"]), "variant": Variant(levels)})
