"""A table of choices made elsewhere in, the table of judgments out: pairs and lists, an item a comparison.

Pairs: ``judge, question_id, first, second, choice`` (A the first, B the second, C a tie, N none). Lists: ``judge,
question_id, order`` (candidates as shown, with ``|``) ``, winner`` (a candidate's name or ``tie``). Optional: ``dataset,
task, repeat, strategy`` and ``gold`` or ``human`` columns: the candidate that the benchmark, or a person, prefers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal

import numpy as np
import pandas as pd

from rubriclab.data.coded import Coded, CodedTable, design_of, distinct_of, joint, names_shown, parted, rank_within
from rubriclab.data.tables import Table
from rubriclab.model.judgment import Condition, JudgmentTable, Ordering, Status
from rubriclab.model.text import LabError, shorten

Line = tuple[str, ...]
WORDS = {"tie": 0, "draw": 0, "none": -1, "nan": -1, "n": -1, "": -1}
CHOICES = {"a": 1, "b": 2, "c": 0, **WORDS}
"""What a choice of a pair says: 1 the first, 2 the second, 0 a tie, -1 nothing that could be read."""
MAX_CANDIDATES = 26
"""Of a list: as many as a letter each can stand for."""


class ChoicesReader(CodedTable):
    """Choices of one candidate out of several."""

    def __init__(self, table: Table, kind: Literal["pairs", "lists"], names: Mapping[str, Any]) -> None:
        super().__init__(table, names, ("order",))
        if "gold" in names:
            self.people["gold"] = names["gold"]
        self.kind = kind

    def read(self, name: str) -> JudgmentTable:
        judge, dataset = self.coded("judge", "judge"), self.coded("dataset", PurePath(self.table.name).stem or "data")
        strategy = self.coded("strategy")
        shown, ordering = self._orders()
        canonical = [tuple(sorted(line)) for line in shown]
        items, item = self._items(dataset, canonical, ordering)
        position = self._positions(shown, ordering)
        size = np.array([len(line) for line in shown])[ordering]
        condition, first = self.conditions(judge.code, dataset.code, size, strategy.code)
        given = self.repeats()
        again = rank_within(joint(condition, item, ordering)[0])
        lines = [tuple(map(whole.index, line)) for whole, line in zip(canonical, shown, strict=True)]
        local, distinct = distinct_of(lines)
        conditions = []
        for code, own in enumerate(parted(condition, len(first))):
            row = first[code]
            name_of = strategy.texts[strategy.code[row]]
            design, drawn = design_of(item[own], local[ordering[own]], distinct, own.size)
            conditions.append(
                Condition(
                    judge.texts[judge.code[row]], dataset.texts[dataset.code[row]], name_of or design, self.kind,
                    positions=int(size[row]),
                    drawn=(drawn and _moved(shown, ordering[own])) or name_of.casefold() == "random",
                )
            )  # fmt: skip
        labels = [tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(line)]) for line in shown]
        rows = {
            "condition": condition, "item": item, "ordering": ordering, "slot": np.zeros(self.rows, dtype=np.int64),
            "repeat": again if given is None else given, "call": np.arange(self.rows),
            "status": np.where(position < 0, Status.UNPARSED, Status.OK), "score": np.full(self.rows, np.nan),
            "position": np.maximum(position, 0),
        }  # fmt: skip
        return self.judgments(name, conditions, items, list(map(Ordering, shown, labels)), rows)

    def _orders(self) -> tuple[list[Line], np.ndarray]:
        """(the different orders of candidates, the order of each row)."""
        if self.kind == "lists":
            order = self.coded("order", required=True)
            expected = f"2 to {MAX_CANDIDATES} different candidates as shown, as model-a|model-b|model-c"
            return self.parsed(order, _candidates_shown, expected), order.code
        first, second = self.coded("first", required=True), self.coded("second", required=True)
        for column in (first, second):
            self.parsed(column, lambda name: None if "|" in name else name, "a candidate's name without |")
        ordering, rows = joint(first.code, second.code)
        shown: list[Line] = [(first.texts[first.code[row]], second.texts[second.code[row]]) for row in rows]
        for line, row in zip(shown, rows, strict=True):
            if line[0] == line[1]:
                raise LabError(
                    f"{self.where(int(row), 'second')}: “{shorten(line[1])}” is the first candidate as well."
                )
        return shown, ordering

    def _positions(self, shown: Sequence[Line], ordering: np.ndarray) -> np.ndarray:
        """(rows,): where the winner stood from 1; 0 a tie, -1 nothing that could be read."""
        if self.kind == "pairs":
            choice = self.coded("choice")
            expected = "A (the first wins), B (the second), C (a tie) or N (none)"
            read = self.parsed(choice, lambda text: CHOICES.get(text.casefold()), expected)
            return np.asarray(np.array(read, dtype=np.int64)[choice.code])
        winner = self.coded("winner")
        pair, rows = joint(ordering, winner.code)
        positions = np.zeros(len(rows), dtype=np.int64)
        for k, row in enumerate(rows):
            line, name = shown[ordering[row]], winner.texts[winner.code[row]]
            if name not in line and name.casefold() not in WORDS:
                raise self._stranger(int(row), "winner", name, line)
            positions[k] = line.index(name) + 1 if name in line else WORDS[name.casefold()]
        return np.asarray(positions[pair])

    def _stranger(self, row: int, role: str, name: str, line: Line) -> LabError:
        expected = f"one of {shorten(', '.join(line), 200)}, “tie”, or empty"
        return LabError(
            f"{self.where(row, role)}: “{shorten(name)}” is none of what was compared; expected {expected}."
        )

    def _items(
        self, dataset: Coded, canonical: Sequence[Line], ordering: np.ndarray
    ) -> tuple[pd.DataFrame, np.ndarray]:
        """(items, item of each row): one a data set, task, question and set of candidates."""
        question, task = self.coded("question_id", required=True), self.coded("task")
        self.refuse_look_alikes(question)
        sets = distinct_of(canonical)[0]
        item, first = joint(dataset.code, task.code, question.code, sets[ordering])
        cells = {column.name: [column.texts[code] or None for code in column.code[first]] for column in (dataset, task)}
        asked = [question.texts[code] for code in question.code[first]]
        # A question's number may come again in another task: it is another question then.
        several = len(joint(dataset.code, question.code)[1]) < len(joint(dataset.code, task.code, question.code)[1])
        if several:
            asked = [f"{name}/{number}" if name else number for name, number in zip(cells["task"], asked, strict=True)]
        compared = [canonical[code] for code in ordering[first]]
        ids = [f"{number}: {'|'.join(line)}" for number, line in zip(asked, compared, strict=True)]
        if len(dataset.texts) > 1:
            ids = [f"{name}/{own}" for name, own in zip(cells["dataset"], ids, strict=True)]
        nothing = [None] * len(first)
        columns: dict[str, list[Any]] = {
            "item_id": ids, "dataset": cells["dataset"], "criterion": nothing, "block": nothing, "prompt": asked,
            "candidate": ["|".join(line) for line in compared], "task": cells["task"],
            "ratings": self._preferences(item, compared), "unit_text": nothing,
        }  # fmt: skip
        return pd.DataFrame({name: pd.Series(cell, dtype=object) for name, cell in columns.items()}), item

    def _preferences(self, item: np.ndarray, compared: Sequence[Line]) -> list[dict[str, float]]:
        """Whom each rater prefers: the rank of that candidate's name from 1, 0 a tie."""
        people: list[dict[str, float]] = [{} for _ in compared]
        for role, rater in self.people.items():
            column = self.coded(role)
            names = [*column.texts, ""]
            for k, code in enumerate(self.agreed(column, item, len(compared))):
                line, name = compared[k], names[code]
                if name in line:
                    people[k][rater] = line.index(name) + 1.0
                elif WORDS.get(name.casefold()) == 0:
                    people[k][rater] = 0.0
                elif name:
                    row = int(np.flatnonzero((item == k) & (column.code == code))[0])
                    raise self._stranger(row, role, name, line)
        return people


def _candidates_shown(text: str) -> Line | None:
    names = names_shown(text)
    return names if names is not None and len(names) <= MAX_CANDIDATES else None


def _moved(shown: Sequence[Line], orders: np.ndarray) -> bool:
    """Whether the candidate that is compared most often stood at more than one position: else nothing was drawn."""
    positions: dict[str, np.ndarray] = {}
    for code, n in zip(*np.unique(orders, return_counts=True), strict=True):
        for k, name in enumerate(shown[code]):
            positions.setdefault(name, np.zeros(MAX_CANDIDATES, dtype=np.int64))[k] += n
    return bool(np.count_nonzero(max(positions.values(), key=lambda counts: counts.sum())) > 1)
