"""Read choices between candidates, made elsewhere: pairs and lists.

``scores.REQUIRED`` says which columns they have. An item is one comparison. Its ``gold`` or
``human`` is the candidate that the benchmark, or a person, prefers.
"""

import math
from typing import Any

import numpy as np

from rubriclab.data.judgment_table import (
    Answers,
    Coded,
    Line,
    Orders,
    Reader,
    Subjects,
    distinct_of,
    joint,
    names_shown,
)
from rubriclab.data.tables import number
from rubriclab.model.judgment import LENGTHS, Ordering
from rubriclab.model.text import shorten

TIE, NOTHING = 0, -1
"""What stands for a tie, and for a reply that was not parsed, where others are positions."""
WORDS = {
    "tie": TIE,
    "draw": TIE,
    "none": NOTHING,
    "nan": NOTHING,
    "n": NOTHING,
    "": NOTHING,
}
"""Words for no winner, in lower case."""
CHOICES = {"a": 1, "b": 2, "c": TIE, **WORDS}
"""Words for the choice of a pair, in lower case: the position of the winner."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MAX_CANDIDATES = len(LETTERS)
"""Candidates of a list: one per letter, since a letter stands for each."""


class ChoicesReader(Reader):
    """Reads choices of one candidate out of several."""

    def orders(self) -> Orders:
        return self._lists() if self.reorder == "lists" else self._pairs()

    def _lists(self) -> Orders:
        order = self.coded("order", required=True)
        expected = (
            f"2 to {MAX_CANDIDATES} different candidates in the order shown, for example "
            "model-a|model-b|model-c"
        )
        shown = self.parsed(order, names_shown(MAX_CANDIDATES), expected)
        return Orders([Ordering(line, tuple(LETTERS[: len(line)])) for line in shown], order)

    def _pairs(self) -> Orders:
        first, second = self.coded("first", required=True), self.coded("second", required=True)
        for column in (first, second):
            self.parsed(column, _name_without_bar, "a candidate's name without |")
        code, rows = joint(first.code, second.code)
        orderings, texts = [], []
        for row in rows:
            pair = (first.text_at(row), second.text_at(row))
            if pair[0] == pair[1]:
                words = f"“{shorten(pair[1])}” is also the first candidate. Give two candidates."
                raise self.fault(row, "second", words)
            orderings.append(Ordering(pair, ("A", "B")))
            texts.append("|".join(pair))
        return Orders(orderings, Coded("first", code, texts))

    def answers(self, dataset: Coded, order: Coded) -> Answers:
        """The position is the winner's; 0 for a tie or where nothing was parsed."""
        choice = self._choices() if self.reorder == "pairs" else self._winners(order)
        return Answers(
            parsed=choice != NOTHING,
            score=np.full(self.rows, np.nan),
            position=np.maximum(choice, 0),
            slot=np.zeros(self.rows, dtype=np.int64),
        )

    def _choices(self) -> np.ndarray:
        column = self.coded("choice")
        expected = "A (the first wins), B (the second), C (a tie) or N (none)"
        choices = self.parsed(column, lambda text: CHOICES.get(text.casefold()), expected)
        return np.asarray(np.array(choices, dtype=np.int64)[column.code])

    def _winners(self, order: Coded) -> np.ndarray:
        winner = self.coded("winner")
        pair, rows = joint(order.code, winner.code)
        positions = np.zeros(len(rows), dtype=np.int64)
        for k, row in enumerate(rows):
            line, name = self.shown[order.code[row]], winner.text_at(row)
            if name in line:
                positions[k] = line.index(name) + 1
            elif name.casefold() in WORDS:
                positions[k] = WORDS[name.casefold()]
            else:
                raise self.fault(row, "winner", f"“{shorten(name)}” {_expected(line)}.")
        return np.asarray(positions[pair])

    def about(self, dataset: Coded, order: Coded) -> Subjects:
        """An item is a data set, task, question and set of candidates."""
        question, task = self.named("question_id", required=True), self.named("task")
        sets, _ = distinct_of(self.whole)
        item, first = joint(dataset.code, task.code, question.code, sets[order.code])
        datasets = [dataset.text_at(row) for row in first]
        tasks = [task.text_at(row) for row in first]
        prompts = [question.text_at(row) for row in first]
        if self._asked_in_several_tasks(dataset, task, question):
            prompts = _under(tasks, prompts)
        compared = [self.whole[code] for code in order.code[first]]
        candidates = ["|".join(line) for line in compared]
        ids = [f"{prompt}: {names}" for prompt, names in zip(prompts, candidates, strict=True)]
        if len(dataset.texts) > 1:
            ids = _under(datasets, ids)

        def preferred(k: int, name: str) -> float | None:
            """Return the rank of the candidate's name from 1, 0 for a tie."""
            if name in compared[k]:
                return float(compared[k].index(name) + 1)
            return 0.0 if WORDS.get(name.casefold()) == TIE else None

        nothing = [None] * len(first)
        columns: dict[str, list[Any]] = {
            "item_id": ids,
            "dataset": [name or None for name in datasets],
            "criterion": nothing,
            "block": nothing,
            "prompt": prompts,
            "candidate": candidates,
            "task": [name or None for name in tasks],
            "ratings": self.ratings(item, len(first), preferred, lambda k: _expected(compared[k])),
            "unit_text": nothing,
        }
        columns |= self._texts_and_lengths(order, item, len(first))
        return Subjects(columns, item=item, subject=item, alone=True)

    def _texts_and_lengths(
        self, order: Coded, item: np.ndarray, items: int
    ) -> dict[str, list[Any]]:
        """Return the question of each comparison and the LENGTHS that the table has or can count.

        A column of lengths counts before a text. Answers are counted, not kept.
        """
        columns: dict[str, list[Any]] = {}
        if "instruction" in self.names:
            texts = self.cells_of_items(self.coded("instruction"), item, items)
            columns["instruction"] = texts
            columns["input_length"] = [float(len(text)) if text else None for text in texts]
        if self.reorder == "pairs" and {"first_response", "second_response"} <= {*self.names}:
            columns["output_length"] = self._length_of_answers(order, item, items)
        for name in LENGTHS:
            if name in self.names:
                columns[name] = self._numbers_of_items(name, item, items)
        return columns

    def _length_of_answers(self, order: Coded, item: np.ndarray, items: int) -> list[float | None]:
        """Return the characters of both answers of each pair; None if one is missing."""
        first, second = self.coded("first_response"), self.coded("second_response")
        texts = list(dict.fromkeys([*first.texts, *second.texts]))
        codes = {text: code for code, text in enumerate(texts)}
        shown = [
            np.array([codes[text] for text in column.texts])[column.code]
            for column in (first, second)
        ]
        # An item's answers in the order of its candidates' names, whichever was shown first.
        turned = np.array(
            [self.whole[code] != line for code, line in enumerate(self.shown)], dtype=bool
        )[order.code]
        answers = [
            self.cells_of_items(
                Coded("first_response", np.where(turned, other, own), texts), item, items
            )
            for own, other in (shown, shown[::-1])
        ]
        return [
            float(len(one) + len(two)) if one and two else None
            for one, two in zip(*answers, strict=True)
        ]

    def _numbers_of_items(self, name: str, item: np.ndarray, items: int) -> list[float | None]:
        """Return a length of each item; None where its cells are empty."""
        column = self.coded(name)
        values = self.parsed(column, _length, "a length: a number from 0, or an empty cell")
        known = dict(zip(column.texts, values, strict=True))
        return [
            None if text is None else known[text]
            for text in self.cells_of_items(column, item, items)
        ]

    def _asked_in_several_tasks(self, dataset: Coded, task: Coded, question: Coded) -> bool:
        """Return whether two tasks of one data set have questions of the same number.

        These are different questions, so their names have to differ.
        """
        _, questions = joint(dataset.code, question.code)
        _, by_task = joint(dataset.code, task.code, question.code)
        return len(questions) < len(by_task)

    def moved(self, order: np.ndarray) -> bool:
        """Return whether the candidate compared most often appeared at several positions."""
        positions: dict[str, np.ndarray] = {}
        for code, n in zip(*np.unique(order, return_counts=True), strict=True):
            for k, name in enumerate(self.shown[code]):
                if name not in positions:
                    positions[name] = np.zeros(MAX_CANDIDATES, dtype=np.int64)
                positions[name][k] += n
        commonest = max(positions.values(), key=lambda counts: counts.sum())
        return bool(np.count_nonzero(commonest) > 1)


def _name_without_bar(name: str) -> str | None:
    """Return the name; None for one with the bar that separates names in an order."""
    return None if "|" in name else name


def _length(text: str) -> float | None:
    """Return a length; NaN for an empty cell, None for anything else."""
    if not text:
        return math.nan
    given = number(text)
    return given if given is not None and given >= 0 else None


def _under(groups: list[str], names: list[str]) -> list[str]:
    """Return the names with their groups before them, where they have one."""
    return [f"{group}/{name}" if group else name for group, name in zip(groups, names, strict=True)]


def _expected(line: Line) -> str:
    candidates = shorten(", ".join(line), 200)
    return f"was not compared here; expected one of {candidates}, “tie”, or an empty cell"
