"""What a lab keeps beside its runs: data sets, rubrics, judges, consents, reference answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from rubriclab.model import Comparison, Dataset, Item, Judge, Rubric
from rubriclab.model.language import tr
from rubriclab.model.wording import free_name
from rubriclab.store.database import Database
from rubriclab.store.faults import StoreError
from rubriclab.store.objects import items_frame, items_of, reading_row
from rubriclab.store.rows import insert
from rubriclab.store.schema import now
from rubriclab.store.values import (
    judge_from_value,
    judge_to_value,
    kept_judge_from_value,
    rubric_from_value,
    rubric_to_value,
)


class Catalogue(Database):
    """Data sets, rubrics, judges, consents and attempts at reference answers of a store."""

    def save_dataset(self, dataset: Dataset, *, listed: bool = True) -> str:
        """Keep a data set; the same data twice is kept once. Returns its id.

        ``listed``: offered to the user; a run's own copy of its data is not. The names of its raters
        are no part of the id: where they are other than those kept, they are kept anew.
        """
        code = dataset.id
        if self._one("SELECT count(*) FROM datasets WHERE dataset = ?", [code]):
            with self._transaction() as db:
                if listed:
                    db.execute("UPDATE datasets SET listed = true WHERE dataset = ?", [code])
                self._name_raters(dataset)
            return code
        frame = items_frame(dataset)
        frame["dataset"] = code
        rubric = json.dumps(rubric_to_value(dataset.rubric)) if dataset.rubric else None
        kind = "comparisons" if isinstance(dataset.items[0], Comparison) else "items"
        with self._transaction() as db:
            db.execute(
                "INSERT INTO datasets VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [code, dataset.name, dataset.origin, now(), rubric, len(dataset), kind, listed],
            )
            insert(db, "items", frame)
        return code

    def _name_raters(self, dataset: Dataset) -> None:
        """Keep the raters' names of a data set that is kept already; none take no names away."""
        if not any(isinstance(item, Item) and item.raters for item in dataset.items):
            return
        named = items_frame(dataset)[["item", "more"]]
        with self._transaction() as db:
            db.register("named", named)
            changed = db.execute(
                "UPDATE items SET more = named.more FROM named WHERE items.dataset = ? AND items.item = named.item "
                "AND items.more IS DISTINCT FROM named.more",
                [dataset.id],
            ).fetchall()[0][0]
            db.unregister("named")
            if changed:  # what was worked out of these runs before is out of date
                db.execute("UPDATE runs SET changed = ? WHERE dataset = ?", [now(), dataset.id])

    def dataset(self, code: str) -> Dataset:
        """The data set of that id. Raises StoreError where there is none."""
        head = self._rows("SELECT name, origin, rubric FROM datasets WHERE dataset = ?", [code])
        if not head:
            raise StoreError(tr("The store has no data set “{code}”.", code=code))
        name, origin, rubric = head[0]
        rows = self._frame("SELECT * FROM items WHERE dataset = ? ORDER BY item", [code])
        with reading_row("items"):
            items = items_of(rows)
        with reading_row("datasets"):
            own = rubric_from_value(json.loads(rubric)) if rubric else None
        return Dataset(name=name, origin=origin, items=items, rubric=own)

    def datasets(self) -> pd.DataFrame:
        """Kept data sets, newest first: dataset, name, origin, created, n_items, kind."""
        return self._frame(
            "SELECT dataset, name, origin, created, n_items, kind, rubric IS NOT NULL AS own_rubric "
            "FROM datasets WHERE listed ORDER BY created DESC"
        )

    def delete_dataset(self, code: str) -> None:
        """Remove a data set that no run needs. Raises StoreError where a run was made on it."""
        if runs := self._rows("SELECT run, deleted FROM runs WHERE dataset = ? ORDER BY deleted NULLS FIRST", [code]):
            run, deleted = runs[0]
            way = tr(" The run is among the deleted ones: delete it for good first.") if deleted is not None else ""
            raise StoreError(tr("Run “{run}” was made on this data set; it has to stay.{way}", run=run, way=way))
        with self._transaction() as db:
            db.execute("DELETE FROM items WHERE dataset = ?", [code])
            db.execute("DELETE FROM datasets WHERE dataset = ?", [code])

    def save_rubric(self, rubric: Rubric) -> str:
        """Keep a rubric; a rubric of the same name is replaced on the list, never in runs."""
        with self._transaction() as db:
            db.execute("DELETE FROM rubrics WHERE name = ?", [rubric.name])
            db.execute(
                "INSERT INTO rubrics VALUES (?, ?, ?, ?)",
                [rubric.id, rubric.name, now(), json.dumps(rubric_to_value(rubric))],
            )
        return rubric.id

    def add_rubric(self, rubric: Rubric) -> Rubric:
        """Keep a rubric beside those there are, as it is kept: where another one has its name, it gets a number."""
        others = {one.name for one in self.rubrics() if one.criteria != rubric.criteria}
        kept = replace(rubric, name=free_name(rubric.name, others))
        self.save_rubric(kept)
        return kept

    def rubrics(self) -> tuple[Rubric, ...]:
        rows = self._rows("SELECT body FROM rubrics ORDER BY created DESC")
        with reading_row("rubrics"):
            return tuple(rubric_from_value(json.loads(body)) for (body,) in rows)

    def delete_rubric(self, name: str) -> None:
        with self._transaction() as db:
            db.execute("DELETE FROM rubrics WHERE name = ?", [name])

    def save_judge(self, judge: Judge) -> None:
        """Keep a judge's settings under its name. They hold no key, only its variable's name."""
        body = judge_to_value(judge)
        with self._transaction() as db:
            db.execute("DELETE FROM judges WHERE name = ?", [judge.name])
            db.execute("INSERT INTO judges VALUES (?, ?, ?)", [judge.name, now(), json.dumps(body)])

    def judges(self) -> tuple[Judge, ...]:
        """The judges that the user keeps; their own code is that of the file as it is now."""
        rows = self._rows("SELECT body FROM judges ORDER BY created")
        with reading_row("judges"):
            return tuple(kept_judge_from_value(json.loads(body)) for (body,) in rows)

    def judges_of_runs(self) -> tuple[Judge, ...]:
        """The judges of all runs that have a study, those of imported ones too."""
        rows = self._rows("SELECT study FROM runs WHERE study IS NOT NULL")
        with reading_row("runs"):
            return tuple(judge_from_value(value) for (text,) in rows for value in json.loads(text)["judges"])

    def judges_of(self, run: str) -> tuple[Judge, ...]:
        """The judges of a run's study; none where it has no study."""
        rows = self._rows("SELECT study FROM runs WHERE run = ? AND study IS NOT NULL", [run])
        with reading_row("runs"):
            return tuple(judge_from_value(value) for (text,) in rows for value in json.loads(text)["judges"])

    def delete_judge(self, name: str) -> None:
        with self._transaction() as db:
            db.execute("DELETE FROM judges WHERE name = ?", [name])

    def consent(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Remember that keys may go there: pairs of a base URL and the key's variable."""
        with self._transaction() as db:
            for address, variable in pairs:
                db.execute("DELETE FROM consents WHERE address = ? AND variable = ?", [address, variable])
                db.execute("INSERT INTO consents VALUES (?, ?, ?)", [address, variable, now()])

    def consents(self) -> frozenset[tuple[str, str]]:
        """The pairs of base URL and variable that were said yes to in this lab."""
        rows = self._rows("SELECT address, variable FROM consents")
        return frozenset((str(address), str(variable)) for address, variable in rows)

    # -------- reference answers

    def save_reference_attempt(self, attempt: Mapping[str, Any]) -> None:
        """Keep one attempt at a reference answer: the columns of its table but for ``asked``."""
        names = [*attempt, "asked"]
        marks = ", ".join("?" for _ in names)
        with self._transaction() as db:
            db.execute(
                f"INSERT INTO reference_attempts ({', '.join(names)}) VALUES ({marks})", [*attempt.values(), now()]
            )

    def reference_attempts(self, dataset: str) -> pd.DataFrame:
        """All attempts at reference answers for a data set (its id), in order of asking."""
        return self._frame(
            "SELECT job, item_id, score, attempt, writer, reviewer, status, verdict, text, review, "
            "reason, asked FROM reference_attempts WHERE dataset = ? ORDER BY asked, attempt",
            [dataset],
        )
