"""Read a table of judgments made elsewhere, of any kind.

This module recognises the kind and the columns, and reads scores; ``choice_table`` reads choices.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd

from rubriclab.data.choice_table import ChoicesReader
from rubriclab.data.items import columns_sentence
from rubriclab.data.judgment_table import (
    MAX_ORDER,
    Answers,
    Coded,
    Kind,
    Line,
    Orders,
    Reader,
    Subjects,
    distinct_of,
    joint,
    names_shown,
)
from rubriclab.data.limits import refusal
from rubriclab.data.tables import Table, chosen_columns, number
from rubriclab.model.data import MAX_OPTIONS, MIN_OPTIONS
from rubriclab.model.judgment import LENGTHS, JudgmentTable, Ordering
from rubriclab.model.text import LabError, digest, look_alike, shorten

REQUIRED: dict[Kind, tuple[str, ...]] = {
    "scores": ("item_id", "ordering", "score"),  # ordering: the scores as shown, 3 1 2 5 4
    "criteria": ("text_id", "ordering", "criterion", "score"),  # ordering: names with |
    "pairs": ("question_id", "first", "second", "choice"),  # choice: A first, B second, C tie, N
    "lists": ("question_id", "order", "winner"),  # order: the candidates with |
    "responses": ("item_id", "ordering", "score"),  # ordering: the IDs of the call's items with |
}
OPTIONAL = (
    "judge",
    "dataset",
    "criterion",
    "block",
    "prompt",
    "candidate",
    "task",
    "human",
    "gold",
    "repeat",
    "strategy",
    "variant",
    "status",
    "response",
    "instruction",
    "expected",
    "reply",
    "messages",
    "finish",
)
"""Roles of columns that a table of judgments may have. Those that need an explanation:

human: a person's score; also several columns, ``human_1``, ``human_2``
gold: the candidate that should win, for pairs and lists
variant: factors and their levels, as JSON
expected: the score that the judge's probabilities mean; for pairs the probability that the first
    candidate wins, with a tie counted as half
reply, messages (the judge prompt as JSON), finish (why the reply ended): kept with the judgment
"""
OF_CHOICES = (*LENGTHS, "first_response", "second_response")
"""Further roles that pairs and lists may have.

LENGTHS: numbers, of the comparison whatever its order
first_response, second_response: the answers of a pair, as shown; only their lengths are used
"""
KNOWN = tuple(
    dict.fromkeys(
        [
            *REQUIRED["criteria"],
            "item_id",
            *OPTIONAL,
            *REQUIRED["pairs"],
            *REQUIRED["lists"],
            *OF_CHOICES,
        ]
    )
)
ALIASES = {
    "judge": ("judge_model", "evaluator", "model"),
    "dataset": ("data_set", "data"),
    "item_id": ("item", "id", "text_id"),
    "text_id": ("text", "item_id", "id"),
    "ordering": ("order", "order_shown", "shown"),
    "score": ("score_given", "rating", "judgment"),
    "criterion": ("criteria", "aspect"),
    "repeat": ("rep",),
    "question_id": ("question", "prompt_id", "item_id", "id"),
    "order": ("ordering", "order_shown", "shown"),
}
"""Other names that files give these columns. A role's own name counts first."""
MAX_SCORE = 1_000_000
"""Largest score in an order. Beyond it a column holds IDs or times, not scores."""
MAX_SPAN = 100
"""Largest difference of the scores of one data set: scores of criteria need a scale of steps."""
MAX_RESPONSES = 200
"""Answers of one call. No judge prompt in use has as many."""
GUESSED_FROM = 1_000
"""Rows that are looked at to guess the kind, so that a large file is recognised at once."""
NO_NUMBER = "is not a number from -1e9 to 1e9; leave the cell empty where there is none"


class MissingColumn(LabError):
    """A table of judgments has no such column. It may be a log of another tool instead."""


def read_judgments(
    table: Table, kind: str | None = None, columns: Mapping[str, Any] | None = None, name: str = ""
) -> JudgmentTable:
    """Return the judgments in a table. ``columns``: ours -> theirs, where the names do not tell.

    An empty score counts as unparsed. Without a column ``strategy`` the strategy is recognised by
    its orders, otherwise it is ``custom``. Raises LabError naming row, column, value and what was
    expected.
    """
    if kind is None:
        kind = guess_kind(table, column_names(table, None, columns))
    names = column_names(table, kind, columns)
    if kind not in REQUIRED:
        raise LabError(
            f"“{shorten(kind)}” is not a kind of judgments. Use one of {', '.join(REQUIRED)}."
        )
    for role in REQUIRED[kind]:
        if role not in names:
            needed = ", ".join(REQUIRED[kind])
            fault = refusal(
                table.name,
                f" has no column {role}. Judgments of {kind} need {needed}. Its columns are "
                f"{table.listed}. Name the column with {role}=THEIRS.",
            )
            raise MissingColumn(str(fault))
    name = name or PurePath(table.name).stem or "Judgments"
    reader = ChoicesReader if kind in ("pairs", "lists") else _ScoresReader
    judged = reader(table, kind, names).read(name)
    taken = columns_sentence(table, names, {})
    return replace(judged, made_with={**judged.made_with, "columns": taken})


# ---- which column, which kind


def column_names(
    table: Table, kind: str | None, columns: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the column of each role: as given, else by its name. ``human`` may have several."""
    given = chosen_columns(table, columns or {}, KNOWN)
    names = {look_alike(column): column for column in table.columns}
    if kind is None:
        kind = _choices_kind({*given, *names})
    needed = {*_required(kind or "scores"), "judge", "dataset", "repeat"}
    wanted = {*needed, *OPTIONAL}
    if kind in ("pairs", "lists"):
        wanted.update(OF_CHOICES)
    if kind not in REQUIRED:
        wanted.update(REQUIRED["criteria"])
    used = {value for value in given.values() if isinstance(value, str)}

    def take(role: str, others: tuple[str, ...]) -> None:
        for other in others:
            if role not in given and other in names and names[other] not in used:
                given[role] = names[other]
                used.add(names[other])

    for role in KNOWN:
        if role in wanted:
            take(role, (role,))
    for role, others in ALIASES.items():
        if role in needed:
            take(role, others)
    if "human" not in given:
        people = _numbered_people(names)
        if people:
            given["human"] = people
    return given


def _required(kind: str) -> tuple[str, ...]:
    """Return the columns that a kind needs; none for an unknown kind, which is refused later."""
    return next((columns for name, columns in REQUIRED.items() if name == kind), ())


def _numbered_people(names: Mapping[str, str]) -> list[str]:
    """Return the columns ``human_1``, ``human_2`` and so on, by their numbers."""
    people = []
    for name, column in names.items():
        if re.fullmatch(r"human_\d{1,9}", name):
            people.append((int(name.removeprefix("human_")), column))
    return [column for _, column in sorted(people)]


def _choices_kind(names: set[str]) -> Kind | None:
    """Return pairs or lists for columns that no table of scores has; otherwise None."""
    if {"first", "second", "choice"} <= names:
        return "pairs"
    if "winner" in names and names & {"order", "ordering"}:
        return "lists"
    return None


def guess_kind(table: Table, names: Mapping[str, Any]) -> Kind:
    """Guess the kind by the columns, then by what the orders list.

    An order lists the row's own criterion (criteria), its own ID (responses), or scores.
    """
    choices = _choices_kind({*names})
    if choices is not None:
        return choices
    if "ordering" not in names:
        return "scores"
    cells = {}
    for role in ("ordering", "criterion", "item_id", "score"):
        if role in names:
            cells[role] = [cell.strip() for cell in table.column(names[role], GUESSED_FROM)]
    lines = [[part.strip() for part in text.split("|")] for text in cells["ordering"]]

    def are_listed(role: str) -> list[bool]:
        """Return whether each row's order lists its cell, for rows that have both."""
        listed = []
        for cell, line in zip(cells[role], lines, strict=True):
            if line != [""] and (cell or role == "item_id"):
                listed.append(cell in line)
        return listed

    names_listed = "criterion" in cells and _list_names(lines)
    if names_listed and ("item_id" not in cells or any(are_listed("criterion"))):
        return "criteria"
    if "item_id" not in cells or not all(are_listed("item_id")):
        return "scores"
    # IDs may look like scores. If the orders list every score too, they list scores.
    return "scores" if "score" in cells and all(are_listed("score")) else "responses"


def _list_names(lines: list[list[str]]) -> bool:
    """Return whether any order of several entries lists something other than a number."""
    return any(len(line) > 1 and number(entry) is None for line in lines for entry in line)


# ---- scores


class _ScoresReader(Reader):
    """Reads scores: of options, of criteria in one call, of answers in one call."""

    spans: list[tuple[str, float, float]]
    """(name, lowest score, highest score) of each data set by its code; NaN if it has none."""

    def orders(self) -> Orders:
        order = self.coded("ordering", required=True)
        orderings = []
        for line in self.parsed(order, *SHOWN[self.kind]):
            labels = tuple(f"{score:g}" for score in line) if self.kind == "scores" else ()
            orderings.append(Ordering(line, labels))
        return Orders(orderings, order)

    def about(self, dataset: Coded, order: Coded) -> Subjects:
        """An item is one ID under one criterion of one data set."""
        ids = self.named("text_id" if self.kind == "criteria" else "item_id", required=True)
        criterion = self.named("criterion", required=self.kind == "criteria")
        text, _ = joint(dataset.code, ids.code)
        item, first = joint(text, criterion.code)
        columns: dict[str, list[Any]] = {
            "item_id": [ids.text_at(row) or None for row in first],
            "dataset": [dataset.text_at(row) or None for row in first],
            "criterion": [criterion.text_at(row) or None for row in first],
        }
        texts = [role for role in ("response", "instruction") if role in self.names]
        for role in ("block", "prompt", "candidate", "task", *texts):
            columns[role] = self.cells_of_items(self.coded(role), item, len(first))
        several_criteria = bool((np.bincount(text[first]) > 1).any())
        if (several_criteria or self.kind == "criteria") and "block" not in self.names:
            columns["block"] = columns["item_id"]
        columns["ratings"] = self.ratings(
            item, len(first), lambda _, cell: number(cell), lambda _: NO_NUMBER
        )
        columns["unit_text"] = _unit_texts(columns, len(first))
        if self.kind == "criteria":
            return Subjects(columns, item, subject=text, alone=False)
        if self.kind == "responses":
            sets, _ = distinct_of(self.whole)
            together, _ = joint(sets[order.code], criterion.code)
            return Subjects(columns, item, subject=together, alone=False)
        return Subjects(columns, item, subject=item, alone=True)

    def answers(self, dataset: Coded, order: Coded) -> Answers:
        """The position is that of the score, of the criterion or of the item in the order.

        A slot counts as the canonical order does; a call about options has one slot.
        """
        column = self.coded("score")
        values = self.parsed(
            column,
            lambda text: number(text) if text else math.nan,
            "a score; leave the cell empty where none was parsed",
        )
        score = np.asarray(values, dtype=np.float64)[column.code]
        parsed = ~np.isnan(score)
        if self.kind != "scores":
            self._refuse_broken(score, parsed)
        by_dataset = pd.Series(score).groupby(dataset.code)
        lowest, highest = by_dataset.min().tolist(), by_dataset.max().tolist()
        self.spans = list(zip(dataset.texts, lowest, highest, strict=True))
        if self.kind == "scores":
            position = self._positions_of_scores(order, column, values)
            slot = np.zeros(self.rows, dtype=np.int64)
        else:
            position, slot = self._positions_of_names(order)
        return Answers(parsed, score, position, slot)

    def _refuse_broken(self, score: np.ndarray, parsed: np.ndarray) -> None:
        """Raise LabError for 3.5: scores of criteria and answers are steps of a scale."""
        broken = np.flatnonzero(parsed & (score != np.round(score)))
        if broken.size:
            row = int(broken[0])
            words = f"{score[row]:g} is not a whole number, and scores of {self.kind} have to be."
            raise self.fault(row, "score", f"{words} Round it, or multiply all scores.")

    def _positions_of_scores(self, order: Coded, column: Coded, values: list[float]) -> np.ndarray:
        """Return (rows,): the position of each row's score among the options, 0 for none."""
        pair, first = joint(order.code, column.code)
        positions = np.zeros(len(first), dtype=np.int64)
        for k, row in enumerate(first):
            line, value = self.shown[order.code[row]], values[column.code[row]]
            if value in line:
                positions[k] = line.index(value) + 1
            elif not math.isnan(value):
                raise self._not_in_order(
                    row, column, order, "Give the score itself, not its position."
                )
        return np.asarray(positions[pair])

    def _positions_of_names(self, order: Coded) -> tuple[np.ndarray, np.ndarray]:
        """Return (position, slot) of each row's criterion or item."""
        column = self.coded("criterion" if self.kind == "criteria" else "item_id")
        pair, first = joint(order.code, column.code)
        positions = np.zeros(len(first), dtype=np.int64)
        slots = np.zeros(len(first), dtype=np.int64)
        for k, row in enumerate(first):
            line, name = self.shown[order.code[row]], column.text_at(row)
            if name not in line:
                raise self._not_in_order(row, column, order, "Write it as the order does.")
            positions[k] = line.index(name) + 1
            slots[k] = self.whole[order.code[row]].index(name)
        return positions[pair], slots[pair]

    def _not_in_order(self, row: int, column: Coded, order: Coded, cure: str) -> LabError:
        given, among = shorten(column.text_at(row)), shorten(order.text_at(row))
        return self.fault(row, column.name, f"“{given}” is not in the ordering “{among}”. {cure}")

    def scale(self, line: Line, dataset: int) -> tuple[float, ...]:
        """Return the options; for criteria and answers the whole numbers that the data set spans.

        These begin at 1 or lower. Raises LabError for a data set without scores, and for scores
        that no scale of steps has.
        """
        if self.kind == "scores":
            return tuple(float(score) for score in line)
        name, low, high = self.spans[dataset]
        where = f", data set “{shorten(name)}”"
        if math.isnan(low):
            words = "no row has a score, so its scale is unknown."
            cure = "Fill the column, or leave these rows out."
            raise refusal(self.table.name, f"{where}: {words} {cure}")
        low = min(low, 1.0)
        if high - low > MAX_SPAN:
            words = f"scores from {low:,g} to {high:,g} are wider than any rubric's scale."
            cure = "Choose another column as the score."
            column = f", column “{self.names['score']}”"
            raise refusal(self.table.name, f"{where}{column}: {words} {cure}")
        steps = max(int(high - low), 1)
        return tuple(low + step for step in range(steps + 1))


def _unit_texts(columns: Mapping[str, list[Any]], items: int) -> list[str | None]:
    """Return a hash of each item's texts, which is the same in every run; None without texts."""
    nothing: list[str | None] = [None] * items
    if "response" not in columns:
        return nothing
    hashes = []
    pairs = zip(columns.get("instruction", nothing), columns["response"], strict=True)
    for instruction, answer in pairs:
        hashes.append(digest(instruction or "", answer or "", None)[:32])
    return list(hashes)


def _scores_shown(text: str) -> Line | None:
    """Return the scores that an order lists, with blanks, commas or bars between them."""
    values = []
    for part in re.split(r"[\s,;>|]+", text.strip("[]() ,;>|")):
        value = number(part)
        if value is None or abs(value) > MAX_SCORE:
            return None
        values.append(int(value) if value == int(value) else value)
    if not MIN_OPTIONS <= len(values) <= MAX_OPTIONS or len(set(values)) < len(values):
        return None
    return tuple(values)


SHOWN: Mapping[str, tuple[Callable[[str], Line | None], str]] = {
    "scores": (
        _scores_shown,
        f"{MIN_OPTIONS} to {MAX_OPTIONS} different scores in the order shown, "
        "for example 3 1 2 5 4",
    ),
    "criteria": (
        names_shown(MAX_ORDER),
        "two or more different criteria in the order shown, for example Clarity|Depth|Tone",
    ),
    "responses": (
        names_shown(MAX_RESPONSES, 1),
        f"up to {MAX_RESPONSES} different IDs of the call's answers in the order shown, "
        "for example a17|a3|a5",
    ),
}
"""Kind -> how its orders are parsed, and what is expected of them."""
