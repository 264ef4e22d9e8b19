"""A table of choices made elsewhere in, the table of judgments out: pairs and lists, an item a
comparison.

Their columns: ``scores``. ``gold`` or ``human`` hold the candidate that the benchmark, or a person,
prefers.
"""

from typing import Any

import numpy as np

from rubriclab.data.judgment_table import Coded, Line, Reader, distinct_of, joint, names_shown
from rubriclab.model.judgment import Ordering
from rubriclab.model.text import shorten

WORDS = {"tie": 0, "draw": 0, "none": -1, "nan": -1, "n": -1, "": -1}
CHOICES = {"a": 1, "b": 2, "c": 0, **WORDS}
"""What a choice of a pair says: 1 the first, 2 the second, 0 a tie, -1 nothing that could be read.
"""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MAX_CANDIDATES = len(LETTERS)
"""Of a list: as many as a letter each can stand for."""


class ChoicesReader(Reader):
    """Choices of one candidate out of several."""

    def orders(self) -> tuple[list[Ordering], Coded]:
        if self.reorder == "lists":
            order = self.coded("order", required=True)
            expected = (
                f"2 to {MAX_CANDIDATES} different candidates as shown, as model-a|model-b|model-c"
            )
            shown = self.parsed(order, names_shown(MAX_CANDIDATES), expected)
            return [Ordering(line, tuple(LETTERS[: len(line)])) for line in shown], order
        first, second = self.coded("first", required=True), self.coded("second", required=True)
        for column in (first, second):
            self.parsed(
                column, lambda name: None if "|" in name else name, "a candidate's name without |"
            )
        code, rows = joint(first.code, second.code)
        pairs = [(first.texts[first.code[row]], second.texts[second.code[row]]) for row in rows]
        for pair, row in zip(pairs, rows, strict=True):
            if pair[0] == pair[1]:
                raise self.fault(
                    row, "second", f"“{shorten(pair[1])}” is the first candidate as well."
                )
        return [Ordering(pair, ("A", "B")) for pair in pairs], Coded(
            "first", code, ["|".join(pair) for pair in pairs]
        )

    def answers(
        self, dataset: Coded, order: Coded
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The position is where the winner stood; 0 a tie, or where nothing could be read."""
        if self.reorder == "pairs":
            choice = self.coded("choice")
            expected = "A (the first wins), B (the second), C (a tie) or N (none)"
            said = self.parsed(choice, lambda text: CHOICES.get(text.casefold()), expected)
            position = np.array(said, dtype=np.int64)[choice.code]
        else:
            winner = self.coded("winner")
            pair, rows = joint(order.code, winner.code)
            positions = np.zeros(len(rows), dtype=np.int64)
            for k, row in enumerate(rows):
                line, name = self.shown[order.code[row]], winner.texts[winner.code[row]]
                if name not in line and name.casefold() not in WORDS:
                    raise self.fault(row, "winner", f"“{shorten(name)}” {_expected(line)}.")
                positions[k] = line.index(name) + 1 if name in line else WORDS[name.casefold()]
            position = positions[pair]
        nothing = np.full(self.rows, np.nan)
        return position >= 0, nothing, np.maximum(position, 0), np.zeros(self.rows, dtype=np.int64)

    def about(
        self, dataset: Coded, order: Coded
    ) -> tuple[dict[str, list[Any]], np.ndarray, np.ndarray]:
        """An item is a data set, task, question and set of candidates."""
        question, task = self.named("question_id", required=True), self.named("task")
        sets = distinct_of(self.whole)[0]
        item, first = joint(dataset.code, task.code, question.code, sets[order.code])
        cells = {
            column.name: [column.texts[code] or None for code in column.code[first]]
            for column in (dataset, task)
        }
        asked = [question.texts[code] for code in question.code[first]]
        # A question's number may come again in another task: it is another question then.
        several = len(joint(dataset.code, question.code)[1]) < len(
            joint(dataset.code, task.code, question.code)[1]
        )
        if several:
            asked = [
                f"{name}/{number}" if name else number
                for name, number in zip(cells["task"], asked, strict=True)
            ]
        compared = [self.whole[code] for code in order.code[first]]
        ids = [f"{number}: {'|'.join(line)}" for number, line in zip(asked, compared, strict=True)]
        if len(dataset.texts) > 1:
            ids = [f"{name}/{own}" for name, own in zip(cells["dataset"], ids, strict=True)]
        nothing = [None] * len(first)

        def preferred(k: int, name: str) -> float | None:
            """The rank of the candidate's name from 1, 0 a tie."""
            if name in compared[k]:
                return float(compared[k].index(name) + 1)
            return 0.0 if WORDS.get(name.casefold()) == 0 else None

        columns: dict[str, list[Any]] = {
            "item_id": ids,
            "dataset": cells["dataset"],
            "criterion": nothing,
            "block": nothing,
            "prompt": asked,
            "candidate": ["|".join(line) for line in compared],
            "task": cells["task"],
            "ratings": self.ratings(item, len(first), preferred, lambda k: _expected(compared[k])),
            "unit_text": nothing,
        }
        return columns, item, item

    def moved(self, order: np.ndarray) -> bool:
        """Whether the candidate that is compared most often stood at more than one position."""
        positions: dict[str, np.ndarray] = {}
        for code, n in zip(*np.unique(order, return_counts=True), strict=True):
            for k, name in enumerate(self.shown[code]):
                positions.setdefault(name, np.zeros(MAX_CANDIDATES, dtype=np.int64))[k] += n
        return bool(np.count_nonzero(max(positions.values(), key=lambda counts: counts.sum())) > 1)


def _expected(line: Line) -> str:
    return (
        f"is none of what was compared; expected one of {shorten(', '.join(line), 200)}, "
        f"“tie”, "
        f"or empty"
    )
