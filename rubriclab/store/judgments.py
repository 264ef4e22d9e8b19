"""The judgments of a run, read: as arrays, as those behind one number, as tables to export."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, get_args

import numpy as np
import pandas as pd

from rubriclab.model import SMALLEST_EFFECT, STATUSES, Axis, RunData, UnitChoice
from rubriclab.model.data import rater_names
from rubriclab.model.option_sets import named_by_set
from rubriclab.store.behind import (
    NO_CONDITION,
    Beside,
    Condition,
    ItemsBehind,
    ItemText,
    Offered,
    Sort,
    answers_of,
    beside_sql,
    choices_sql,
    chosen_words,
    items_sql,
    judgments_sql,
    order_name,
    where,
)
from rubriclab.store.listing import RunInfo
from rubriclab.store.objects import ordering_of, reading_row, stored_arm
from rubriclab.store.reused import ANSWERED, REUSED, Answered, answers
from rubriclab.store.runs import Runs
from rubriclab.store.schema import P_COLUMNS

_RATED = ("dataset", "item_id", "criterion", "candidate")


class Judgments(Runs):
    """The judgments of runs as findings, pages, exports and archives ask for them."""

    def revision(self, run: str) -> str:
        """Changes whenever the run's judgments or its title do: the key of caches over them."""
        info = self.run(run)
        return f"{info.run}:{info.done}:{info.changed.isoformat()}:{info.name}"

    def answered(self, keys: Iterable[str], *, but: Collection[str] = ()) -> dict[str, Answered]:
        """What runs of this store (none that was imported, none of ``but``) were answered to these calls."""
        wanted = list(keys)
        return answers(self._rows(ANSWERED, [wanted]), but) if wanted else {}

    def reused(self, run: str) -> int:
        """How many replies of a run were carried over from others."""
        number = self.run(run).run_no
        return self._one("SELECT count(*) FROM replies WHERE run_no = ? AND starts_with(note, ?)", [number, REUSED])

    def frame(self, run: str, *, probabilities: bool = False) -> RunData:
        """A run's judgments as arrays (see RunData), ready for findings.

        Of a judge with several scales each arm says which (see ``model.option_sets``).
        """
        return self.kept_frame(run, probabilities=probabilities).sets_named()

    def kept_frame(self, run: str, *, probabilities: bool = False) -> RunData:
        """The same with arms named as they are kept: for what is kept again elsewhere."""
        info = self.run(run)
        arms = self._rows("SELECT body, planned FROM arms WHERE run_no = ? ORDER BY arm", [info.run_no])
        columns = "arm, item, ordering, read, repeat, call, status, score, position"
        extra = [name for name in ("expected", "mass") if self._has(info.run_no, name)]
        columns = ", ".join([columns, *extra])
        given = probabilities and self._has(info.run_no, "p1")
        if given:
            columns += ", " + ", ".join(P_COLUMNS)
        # Rows lie in the order they were kept; putting them in order is rarely needed and dear.
        table = self._numpy(f"SELECT {columns} FROM judgments WHERE run_no = ?", [info.run_no])
        # After the judgments: a run that is being asked adds orderings, each with its judgments.
        shown = self._rows("SELECT shown, labels FROM orderings WHERE run_no = ? ORDER BY ordering", [info.run_no])
        for name in ("expected", "mass"):
            # None was given: cheaper to write down than to read.
            table.setdefault(name, np.full(len(table["call"]), np.nan, dtype=np.float32))
        order = _in_order(table["call"])
        if order is not None:
            table = {name: part[order] for name, part in table.items()}
        parts = [table.pop(name) for name in P_COLUMNS] if given else []
        matrix = np.column_stack(parts).astype(np.float64) if given else None
        smallest_effect, unit = self.read_as(info.run)
        kept = tuple(stored_arm(body) for body, _ in arms)
        return RunData(
            run=info.run,
            name=info.name,
            arms=kept,
            items=self._item_frame(info.run_no),
            orderings=tuple(ordering_of(*row) for row in shown),
            judgments=pd.DataFrame(table, copy=False),
            probabilities=matrix,
            planned=self._planned(info, arms),
            simulated=info.simulated,
            smallest_effect=smallest_effect,
            unit=unit,
            dropped=info.dropped,
            usage=self.usage_by_arm(info.run) if any(arm.axis == "batch" for arm in kept) else None,
        )

    def _planned(self, info: RunInfo, arms: Sequence[tuple[str, int]]) -> tuple[int, ...]:
        """Calls planned by arm: of a judge that was dropped, those that it was asked."""
        gone = {one.judge for one in info.dropped}
        if not gone:
            return tuple(int(planned) for _, planned in arms)
        counts = self._rows("SELECT arm, count(*) FROM replies WHERE run_no = ? GROUP BY arm", [info.run_no])
        done = dict(counts)
        return tuple(
            int(done.get(code, 0) if stored_arm(body).judge in gone else planned)
            for code, (body, planned) in enumerate(arms)
        )

    def read_as(self, run: str) -> tuple[float, UnitChoice]:
        """(smallest effect of interest, unit) of the run's study; the usual ones where it has none."""
        (study,) = self._rows("SELECT study FROM runs WHERE run_no = ?", [self.run(run).run_no])[0]
        with reading_row("runs"):
            design = json.loads(study)["design"] if study else {}
            unit = design.get("unit", "auto")
            if unit not in get_args(UnitChoice):
                raise ValueError(f"unit {unit!r}")
            return float(design.get("smallest_effect", SMALLEST_EFFECT)), unit

    def _has(self, run_no: int, column: str) -> bool:
        """Is there a number in this column of REAL in any judgment of the run?"""
        given = f"SELECT count(*) FROM judgments WHERE run_no = ? AND isfinite({column})"
        return self._one(given, [run_no]) > 0

    def _item_frame(self, run_no: int) -> pd.DataFrame:
        frame = self._frame(
            """
            SELECT i.name AS dataset, i.item_id, i.criterion, i.block, i.prompt, i.candidate,
                   i.task, i.human AS raters, list_avg(i.human) AS human, i.n_chars,
                   json_extract(i.more, '$.raters')::VARCHAR AS rater_names,
                   json_extract(i.more, '$.candidates')::VARCHAR AS candidates,
                   json_extract(i.more, '$.candidate_chars')::VARCHAR AS candidate_chars
            FROM items i JOIN runs r USING (dataset) WHERE r.run_no = ? ORDER BY i.item
            """,
            [run_no],
        )
        for name in ("dataset", "criterion", "block", "prompt", "candidate", "task"):
            frame[name] = frame[name].astype("category")
        frame["human"] = frame["human"].astype("float64")
        with reading_row("items"):
            for name in ("candidates", "candidate_chars"):
                listed = [tuple(json.loads(c)) if isinstance(c, str) else () for c in frame[name]]
                frame[name] = pd.Series(listed, dtype=object, index=frame.index)
            ratings = [given if isinstance(given, np.ndarray | list) else () for given in frame["raters"]]
            rated = zip(frame["rater_names"], ratings, strict=True)
            who = [rater_names(json.loads(names), given) if isinstance(names, str) else () for names, given in rated]
            frame["rater_names"] = pd.Series(who, dtype=object, index=frame.index)
        return frame

    def judgments_behind(self, run: str, *, limit: int = 50, offset: int = 0, **asked: Any) -> pd.DataFrame:
        """The judgments behind one number, with what the judge wrote and what it was shown.

        ``asked``: fields of :class:`Condition`.
        """
        condition, values = self._condition(run, Condition(**asked))
        frame = self._frame(judgments_sql(condition), [*values, limit, offset])
        frame["status"] = [STATUSES[code] for code in frame["status"]]
        return frame

    def judgments_in_parts(self, run: str, *, calls: int = 5_000) -> Iterator[pd.DataFrame]:
        """Every judgment of a run as :meth:`judgments_behind` gives them, so many calls at a time.

        In order of asking, the judgments of one call in order of item and place.
        """
        number = self.run(run).run_no
        last = self._one("SELECT coalesce(max(call), -1) FROM judgments WHERE run_no = ?", [number])
        among = judgments_sql("j.run_no = ? AND j.call >= ? AND j.call < ?")
        for first in range(0, last + 1, calls):
            frame = self._frame(among, [number, first, first + calls, 2**31, 0])
            frame["status"] = [STATUSES[code] for code in frame["status"]]
            yield frame.sort_values(["call", "item", "position"], kind="stable", ignore_index=True)

    def items_behind(
        self, run: str, asked: Condition = NO_CONDITION, *, sort: Sort = "data", limit: int = 50, offset: int = 0
    ) -> ItemsBehind:
        """A page of the items that have judgments as ``asked``, counted over these judgments."""
        # Imported here: it brings what writes prompts, which no other reader of judgments needs.
        from rubriclab.study.protocols import PROTOCOLS

        _, dataset, axis = self._head(run)
        condition, values = self._condition(run, asked)
        frame = self._frame(items_sql(condition, sort), [*values, limit, offset, dataset])
        items = int(frame.pop("all_items").max()) if len(frame) else 0
        judgments = int(frame.pop("all_judgments").max()) if len(frame) else 0
        if not items and offset:  # past the last page: the counts are those of the first
            return self.items_behind(run, asked, sort=sort, limit=limit)
        if not PROTOCOLS[axis].rated and len(frame):
            rows = self._frame(choices_sql(condition, frame["item"].tolist()), values)
            frame["chosen"] = frame["item"].map(chosen_words(rows))
        else:
            frame["chosen"] = None
        return ItemsBehind(frame, items, judgments)

    def items_beside(
        self, run: str, item: int, asked: Condition = NO_CONDITION, *, sort: Sort = "data"
    ) -> Beside | None:
        """Where an item stands among those of :meth:`items_behind`; None where it is not one."""
        condition, values = self._condition(run, asked)
        rows = self._rows(beside_sql(condition, sort), [*values, item])
        return Beside(*rows[0]) if rows else None

    def offered(self, run: str, *, arm: int | None = None) -> Offered:
        """What the judgments of a run, or of one of its arms, can be told apart by."""
        number, dataset, _ = self._head(run)
        bodies = self._rows("SELECT body FROM arms WHERE run_no = ? ORDER BY arm", [number])
        arms = named_by_set(tuple(stored_arm(body) for (body,) in bodies))
        mine = "" if arm is None else f" AND arm = {int(arm)}"
        counted = self._rows(
            f"SELECT arm, position, status, score FROM judgments WHERE run_no = ?{mine} GROUP BY ALL", [number]
        )
        criteria = self._rows(
            "SELECT criterion FROM items WHERE dataset = ? AND criterion IS NOT NULL "
            "GROUP BY criterion ORDER BY min(item)",
            [dataset],
        )
        orders = self._rows(
            "SELECT shown FROM orderings WHERE run_no = ? AND ordering IN (SELECT DISTINCT "
            f"ordering FROM judgments WHERE run_no = ?{mine}) ORDER BY ordering",
            [number, number],
        )
        seen = {status for _, _, status, _ in counted}
        return Offered(
            arms=arms,
            used=tuple(sorted({int(code) for code, *_ in counted})),
            scores=tuple(sorted({int(s) for *_, s in counted if s is not None and s == s})),
            positions=tuple(sorted({int(p) for _, p, _, _ in counted if p is not None and p >= 0})),
            statuses=tuple(name for code, name in enumerate(STATUSES) if code in seen),
            criteria=tuple(name for (name,) in criteria),
            orderings=tuple(dict.fromkeys(order_name(shown) for (shown,) in orders)),
        )

    def item_text(self, run: str, item: int) -> ItemText | None:
        """An item of a run's data in its own words; None where there is no such item."""
        rows = self._rows(
            "SELECT item, item_id, instruction, response, criterion, candidate, prompt, "
            "list_avg(human), more FROM items WHERE dataset = ? AND item = ?",
            [self._head(run)[1], item],
        )
        if not rows:
            return None
        code, name, instruction, response, criterion, candidate, prompt, human, more = rows[0]
        return ItemText(
            item=int(code),
            item_id=str(name),
            instruction=instruction or "",
            response=response or "",
            criterion=criterion,
            candidate=candidate,
            prompt=prompt,
            human=None if human is None else float(human),
            answers=answers_of(more),
        )

    def _condition(self, run: str, asked: Condition) -> tuple[str, list[Any]]:
        """``asked`` as SQL over judgments ``j`` of a run, and its values."""
        number, dataset, _ = self._head(run)
        codes: list[int] = []
        if asked.ordering is not None:
            shown = self._rows("SELECT ordering, shown FROM orderings WHERE run_no = ?", [number])
            codes = [int(code) for code, text in shown if order_name(text) == asked.ordering]
        return where(asked, run_no=number, dataset=dataset, orderings=codes)

    def _head(self, run: str) -> tuple[int, str, Axis]:
        """Number, data set and axis of a run; raises StoreError as :meth:`run` does."""
        ask = "SELECT run_no, dataset, axis FROM runs WHERE run = ?"
        rows = self._rows(ask, [run]) or self._rows(ask, [self.run(run).run])
        number, dataset, axis = rows[0]
        return int(number), str(dataset), axis

    def export_frame(self, run: str) -> pd.DataFrame:
        """Every judgment of a run with its words, one a row: what the Parquet export holds."""
        frame = self.judgments_behind(run, limit=2**31)
        arms = [
            stored_arm(b)
            for (b,) in self._rows("SELECT body FROM arms WHERE run_no = ? ORDER BY arm", [self.run(run).run_no])
        ]
        frame.insert(0, "judge", [arms[a].judge for a in frame["arm"]])
        frame.insert(1, "dataset", [arms[a].dataset for a in frame["arm"]])
        frame.insert(2, "strategy", [arms[a].strategy for a in frame["arm"]])
        frame.insert(3, "variant", [str(arms[a].variant) for a in frame["arm"]])
        return _of_log(frame, "prompt_sent")

    def archive_frame(self, run: str) -> pd.DataFrame:
        """Every judgment of a run with all that is known of its reply, in order of asking."""
        probabilities = ", ".join(f"j.{name}" for name in P_COLUMNS)
        frame = self._frame(
            f"""
            SELECT p.key, j.call, j.arm, j.item, j.ordering, j.read, j.repeat, j.status, j.score,
                   j.position, j.expected, j.mass, j.kind, {probabilities}, p.text, p.finish,
                   p.tokens_in, p.tokens_out, p.cached_tokens, p.latency, p.model, p.error,
                   p.kind AS reply_kind, p.retryable, p.attempts, p.template, p.asked, p.note,
                   l.line, l.prompt
            FROM judgments j JOIN replies p ON p.run_no = j.run_no AND p.call = j.call
            LEFT JOIN logged l ON l.run_no = j.run_no AND l.call = j.call
            WHERE j.run_no = ? ORDER BY j.call, j.position
            """,
            [self.run(run).run_no],
        )
        return _of_log(frame, "prompt")

    def ratings(self, run: str) -> pd.DataFrame:
        """Who rated what, one row a rating: dataset, item_id, criterion, candidate, rater (None: a slot), rating."""
        items = self._item_frame(self.run(run).run_no)
        rows = [
            (*head, names[place] if names else None, rating)
            for *head, given, names in items[[*_RATED, "raters", "rater_names"]].itertuples(index=False)
            for place, rating in enumerate(given if isinstance(given, np.ndarray | list) else ())
        ]
        return pd.DataFrame(rows, columns=[*_RATED, "rater", "rating"]).astype({"rating": "float64"})

    def models(self, run: str) -> dict[str, tuple[str, ...]]:
        """By judge, what the servers called the models that answered, in the alphabet's order."""
        found = self._rows(
            """
            SELECT DISTINCT a.body, p.model FROM replies p
            JOIN (SELECT DISTINCT run_no, call, arm FROM judgments WHERE run_no = $1) j
            ON j.run_no = p.run_no AND j.call = p.call
            JOIN arms a ON a.run_no = p.run_no AND a.arm = j.arm
            WHERE p.run_no = $1 AND p.model IS NOT NULL
            """,
            [self.run(run).run_no],
        )
        names: dict[str, set[str]] = {}
        for body, model in found:
            names.setdefault(stored_arm(body).judge, set()).add(model)
        return {judge: tuple(sorted(known)) for judge, known in sorted(names.items())}

    def item_table(self, run: str) -> pd.DataFrame:
        """The items of a run as they are kept, texts and all, in the order of their codes."""
        frame = self._frame(
            "SELECT i.* EXCLUDE (dataset) FROM items i JOIN runs r USING (dataset) WHERE r.run_no = ? ORDER BY i.item",
            [self.run(run).run_no],
        )
        return frame.rename(columns={"name": "dataset"})


def _of_log(frame: pd.DataFrame, prompt: str) -> pd.DataFrame:
    """The frame without the columns that only judgments from a log have, where none is from one."""
    return frame if frame["line"].notna().any() else frame.drop(columns=["line", prompt])


def _in_order(call: np.ndarray) -> np.ndarray | None:
    """What puts rows in order of call, rows of one call as they were kept; None: they are."""
    if bool((call[1:] >= call[:-1]).all()):
        return None
    return np.argsort(call, kind="stable")
