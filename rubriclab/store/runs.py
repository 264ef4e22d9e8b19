"""Runs of a store: how far each is, what it was made from, and imported ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rubriclab.model import STATUSES, Arm, RunData, Study, fingerprint
from rubriclab.model.language import msg, tr
from rubriclab.store.faults import StoreError
from rubriclab.store.listing import Listing, RunInfo, dropped_of
from rubriclab.store.logged import Words, insert_words
from rubriclab.store.objects import (
    calls_of,
    data_id,
    imported_items,
    imported_judgments,
    no_words,
    orderings_frame,
    reading_row,
    run_name,
    run_name_before,
    slug,
)
from rubriclab.store.rows import insert, insert_parts
from rubriclab.store.schema import now
from rubriclab.store.values import study_from_dict, study_to_dict

if TYPE_CHECKING:
    from rubriclab.study.plan import Plan

_COLUMNS = (
    *("run_no", "run", "name", "axis", "dataset", "study", "provenance"),
    *("created", "changed", "state", "reason", "planned", "simulated"),
)
"""What a run is made with; the rest is empty at first."""


class Runs(Listing):
    """The runs of a store: made, imported and removed."""

    def open_run(self, plan: Plan, provenance: Mapping[str, Any]) -> RunInfo:
        """The run of this plan's study: the one there is, or a new one."""
        run = self.run_of(plan.study)
        with self._write_lock:
            dataset = self.save_dataset(plan.study.dataset, listed=False)
            if self.holds(run):
                self.undelete_run(run)  # whoever starts it wants it
                return self.run(run)
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
            number = int(db.execute("SELECT coalesce(max(run_no), 0) + 1 FROM runs").fetchall()[0][0])
            db.execute(
                f"INSERT INTO runs ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})",
                [
                    number,
                    run,
                    name,
                    axis,
                    dataset,
                    study,
                    json.dumps(provenance),
                    now(),
                    now(),
                    state,
                    "",
                    sum(planned),
                    any(arm.simulated for arm in arms),
                ],
            )
            for code, (arm, count) in enumerate(zip(arms, planned, strict=True)):
                db.execute("INSERT INTO arms VALUES (?, ?, ?, ?)", [number, code, json.dumps(asdict(arm)), count])
        return number

    def set_state(self, run: str, state: str, reason: str = "") -> None:
        with self._transaction() as db:
            db.execute("UPDATE runs SET state = ?, reason = ?, changed = ? WHERE run = ?", [state, reason, now(), run])

    def run_of(self, study: Study) -> str:
        """The name of a study's run: the one that it has here, from whichever version, or would get."""
        before = run_name_before(study)
        return before if self.holds(before) else run_name(study)

    def drop_judge(self, run: str, judge: str, reason: str = "") -> None:
        """Take a judge out of a run: what it has judged stays, what it was not asked is no longer planned.

        Raises StoreError for a judge that the run does not have, and for the last one.
        """
        info = self._with_judge(run, judge)
        named = dropped_of(info)
        if not set(self.by_judge(info.run_no)) - {*named, judge}:
            raise StoreError(
                tr(
                    "“{judge}” is the last judge of the run “{run}”: without it nothing is left to ask. Leave the "
                    "run as it is, or delete it.",
                    judge=judge,
                    run=info.run,
                )
            )
        self._set_dropped(info, {**named, judge: named.get(judge) or reason})

    def restore_judge(self, run: str, judge: str) -> None:
        """Take a dropped judge back into its run. Raises StoreError for a judge that the run does not have."""
        info = self._with_judge(run, judge)
        self._set_dropped(info, {name: why for name, why in dropped_of(info).items() if name != judge})

    def _with_judge(self, run: str, judge: str) -> RunInfo:
        info = self.run(run)
        known = self.by_judge(info.run_no)
        if info.state == "imported" or judge not in known:
            message = (
                msg("The run “{run}” was imported. Its judges: {known}.")
                if info.state == "imported"
                else msg("The run “{run}” has no judge “{judge}”. Its judges: {known}.")
            )
            raise StoreError(tr(message, run=info.run, judge=judge, known=", ".join(known)))
        return info

    def _set_dropped(self, info: RunInfo, named: Mapping[str, str]) -> None:
        made_with = {**info.provenance, "dropped": dict(named)}
        with self._transaction() as db:
            db.execute(
                "UPDATE runs SET provenance = ?, changed = ? WHERE run = ?", [json.dumps(made_with), now(), info.run]
            )
        after = self.run(info.run)
        if after.state != "running" and after.done >= after.planned:
            self.set_state(info.run, "finished")
        elif after.state == "finished":
            self.set_state(info.run, "paused", f"{after.planned - after.done:,} calls are left to ask")

    def study(self, run: str) -> Study:
        """The study that a run was made from. Raises StoreError for an imported run."""
        info = self.run(run)
        ((text, dataset),) = self._rows("SELECT study, dataset FROM runs WHERE run_no = ?", [info.run_no])
        if text is None:
            raise StoreError(tr("Run “{run}” was imported from a file; there is no study to go on with.", run=info.run))
        items = self.dataset(dataset)
        with reading_row("runs"):
            return study_from_dict(json.loads(text), dataset=items)

    def delete_run(self, run: str) -> None:
        """Delete a run for good. Raises StoreError for one that is being judged."""
        info = self.run(run)
        self._refuse_going(info.run)
        number = info.run_no
        with self._transaction() as db:
            for table in ("judgments", "replies", "superseded", "logged", "orderings", "arms", "run_tags", "runs"):
                db.execute(f"DELETE FROM {table} WHERE run_no = ?", [number])

    def organise(
        self,
        runs: Iterable[str],
        *,
        title: str | None = None,
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
        move: str | None = None,
    ) -> None:
        """Do to all of these runs what can be done to one, or to none of them.

        ``move``: archive, restore, delete, or for_good of a run that is deleted already. Raises StoreError.
        """
        names, tags, gone = list(runs), tuple(add), tuple(remove)
        moves = {
            "archive": self.archive_run,
            "restore": self.restore_run,
            "delete": self.discard_run,
            "for_good": self.delete_run,
        }
        listed = [name for name in names if move == "for_good" and self.run(name).deleted is None]
        if listed:
            raise StoreError(tr("Run “{run}” is not deleted: delete it first, then for good.", run=listed[0]))
        with self._transaction():
            for name in names:
                if title is not None:
                    self.rename_run(name, title)
                if tags or gone:
                    self.tag_run(name, add=tags, remove=gone)
                if move is not None:
                    moves[move](name)

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
        rows = self._rows("SELECT status, count(*) FROM judgments WHERE run_no = ? GROUP BY status", [number])
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

    def usage_by_arm(self, run: str) -> pd.DataFrame:
        """Columns arm, calls, tokens_in, tokens_out, seconds: totals over the replies of each arm."""
        rows = self._rows(
            "SELECT arm, count(*), coalesce(sum(tokens_in), 0), coalesce(sum(tokens_out), 0), "
            "coalesce(sum(latency), 0) FROM replies WHERE run_no = ? GROUP BY arm ORDER BY arm",
            [self.run(run).run_no],
        )
        columns = ["arm", "calls", "tokens_in", "tokens_out", "seconds"]
        return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[1:], "float64"))

    def import_run(
        self,
        data: RunData,
        *,
        provenance: Mapping[str, Any],
        run: str | None = None,
        replies: pd.DataFrame | None = None,
        study: Mapping[str, Any] | None = None,
        texts: pd.DataFrame | None = None,
        logged: pd.DataFrame | None = None,
        words: Words | None = None,
    ) -> str:
        """Keep judgments made elsewhere as a run. The same data twice is the same run.

        ``texts`` may bring instruction, response and more for the items, ``replies`` the
        words (columns of the replies table but for run_no), ``logged`` the prompts (call, line,
        prompt), ``run`` the name that the run had in another lab; ``words`` brings all of these
        from a log that was read. Returns the run's name.
        """
        run = run or f"{slug(data.name)}-{data_id(data)[:8]}"
        if self.holds(run):
            self.undelete_run(run)  # whoever brings it wants it
            return run
        with self._transaction() as db:
            dataset = self._insert_imported_items(run, data, texts)
            number = self._insert_imported(run, data, dataset, provenance, study)
            if words is not None:
                insert_words(db, number, dataset, data, words)
            else:
                given = no_words(data) if replies is None else [replies]
                insert_parts(db, "replies", (kept.assign(run_no=number) for kept in given))
            if logged is not None:
                insert(db, "logged", logged.assign(run_no=number))
        return run

    def import_log(self, runs: Sequence[tuple[RunData, Words]], *, provenance: Mapping[str, Any]) -> tuple[str, ...]:
        """Keep the runs of one log with their words, all or none; returns their names."""
        with self._transaction():
            return tuple(self.import_run(data, provenance=provenance, words=words) for data, words in runs)

    def _insert_imported(
        self, run: str, data: RunData, dataset: str, provenance: Mapping[str, Any], study: Mapping[str, Any] | None
    ) -> int:
        """Write the head and the judgments of an imported run; returns its number."""
        rows = calls_of(data)[1]  # a call may have several judgments
        calls = np.bincount(data.judgments["arm"].to_numpy()[rows], minlength=len(data.arms))
        with self._transaction() as db:
            number = self._insert_run(
                run=run,
                name=data.name,
                axis=data.arms[0].axis,
                dataset=dataset,
                study=json.dumps(study) if study else None,
                provenance=provenance,
                state="imported",
                arms=data.arms,
                planned=calls.tolist(),
            )
            insert(db, "orderings", orderings_frame(number, range(len(data.orderings)), data.orderings))
            insert_parts(db, "judgments", imported_judgments(number, data))
        return number

    def _insert_imported_items(self, run: str, data: RunData, texts: pd.DataFrame | None) -> str:
        """Write the items of an imported run as a data set that is not listed; returns its id."""
        dataset = fingerprint({"import": run})
        items = imported_items(data.items, texts)
        items["dataset"] = dataset
        name = " + ".join(dict.fromkeys(arm.dataset for arm in data.arms))
        with self._transaction() as db:
            # A run that was imported and deleted has left its data here.
            for table in ("datasets", "items"):
                db.execute(f"DELETE FROM {table} WHERE dataset = ?", [dataset])
            db.execute(
                "INSERT INTO datasets VALUES (?, ?, 'imported', ?, NULL, ?, 'items', false)",
                [dataset, name, now(), len(items)],
            )
            insert(db, "items", items)
        return dataset
