"""A table of judgments made elsewhere in, the table of judgments that every number starts from
out.
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
    TEXTS,
    Coded,
    Kind,
    Line,
    Reader,
    distinct_of,
    joint,
    names_shown,
)
from rubriclab.data.limits import refusal
from rubriclab.data.tables import Table, chosen_columns, number
from rubriclab.model.data import MAX_OPTIONS, MIN_OPTIONS
from rubriclab.model.judgment import JudgmentTable, Ordering
from rubriclab.model.text import LabError, digest, look_alike, shorten

REQUIRED: dict[Kind, tuple[str, ...]] = {
    "scores": ("item_id", "ordering", "score"),  # the scores as shown, 3 1 2 5 4
    "criteria": ("text_id", "ordering", "criterion", "score"),  # their names with |
    "pairs": ("question_id", "first", "second", "choice"),  # A first, B second, C tie, N none
    "lists": ("question_id", "order", "winner"),  # the candidates with |
    "responses": ("item_id", "ordering", "score"),  # the ids of the call's items with |
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
"""``human``: also ``human_1``, ``human_2``; ``variant``: factors and their levels as JSON;
``gold``: of pairs and lists, the candidate that should win; ``expected``: the score that the
judge's probabilities mean (of pairs: the probability that the first wins, a tie half); ``reply``,
``messages`` (the prompt as JSON), ``finish`` (the reply's finish reason): kept beside the judgment.
"""
KNOWN = tuple(
    dict.fromkeys(
        [*REQUIRED["criteria"], "item_id", *OPTIONAL, *REQUIRED["pairs"], *REQUIRED["lists"]]
    )
)
# Other names that files give these columns; their own name counts first.
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
MAX_SCORE = 1_000_000
MAX_SPAN = 100
MAX_RESPONSES = 200
GUESSED_FROM = 1_000
NO_NUMBER = "is not a number from -1e9 to 1e9; leave the cell empty where there is none"


class MissingColumn(LabError):
    """A table of judgments lacks a column: perhaps it is none, but a log of another tool."""


def read_judgments(
    table: Table, kind: str | None = None, columns: Mapping[str, Any] | None = None, name: str = ""
) -> JudgmentTable:
    """The judgments in a table; ``columns``: ours = theirs where the names do not tell. An empty
    score is unparsed.

    A strategy that no column names is recognised by its orders, else it is ``custom``. Raises
    LabError naming row, column, value and what was expected.
    """
    if kind is None:
        kind = guess_kind(table, column_names(table, None, columns))
    names = column_names(table, kind, columns)
    if kind not in REQUIRED:
        raise LabError(
            f"“{shorten(kind)}” is no kind of judgments; expected one of {', '.join(REQUIRED)}."
        )
    for role in REQUIRED[kind]:
        if role not in names:
            words = f"judgments of {kind} need {', '.join(REQUIRED[kind])}. It has {table.listed}."
            fault = refusal(
                table.name, f" has no column {role}; {words} Name it, as {role}=THEIRS."
            )
            raise MissingColumn(str(fault))
    name = name or PurePath(table.name).stem or "Judgments"
    reader = ChoicesReader if kind in ("pairs", "lists") else _ScoresReader
    judged = reader(table, kind, names).read(name)
    taken = columns_sentence(table, names, {})
    return replace(judged, made_with={**judged.made_with, "columns": taken})


def column_names(
    table: Table, kind: str | None, columns: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Which column of the table has each role: as given, else by its name. ``human`` may be
    several.
    """
    given = chosen_columns(table, columns or {}, KNOWN)
    names = {look_alike(column): column for column in table.columns}
    if kind is None:
        kind = _choices_kind({*given, *names})
    needed = {*REQUIRED.get(kind or "scores", ()), "judge", "dataset", "repeat"}  # type: ignore[call-overload]
    wanted = needed | {*OPTIONAL, *(() if kind in REQUIRED else REQUIRED["criteria"])}
    used = {value for value in given.values() if isinstance(value, str)}
    # Every role's own name counts before any other name.
    own = {role: (role,) for role in KNOWN if role in wanted}
    for roles in (own, {role: others for role, others in ALIASES.items() if role in needed}):
        for role, others in roles.items():
            column = next(
                (names[other] for other in others if other in names and names[other] not in used),
                None,
            )
            if role not in given and column is not None:
                given[role] = column
                used.add(column)
    people = sorted(
        (int(key[6:]), column)
        for key, column in names.items()
        if re.fullmatch(r"human_\d{1,9}", key)
    )
    if people and "human" not in given:
        given["human"] = [column for _, column in people]
    return given


def _choices_kind(names: set[str]) -> Kind | None:
    """Pairs or lists where columns of these names are there, which no table of scores has; else
    None.
    """
    if {"first", "second", "choice"} <= names:
        return "pairs"
    return "lists" if "winner" in names and names & {"order", "ordering"} else None


def guess_kind(table: Table, names: Mapping[str, Any]) -> Kind:
    """By the columns, then by what an order lists: the row's own criterion, its own id, else
    scores.
    """
    choices = _choices_kind({*names})
    if choices is not None or "ordering" not in names:
        return choices or "scores"
    roles = [role for role in ("ordering", "criterion", "item_id", "score") if role in names]
    cells = {
        role: [cell.strip() for cell in table.column(names[role], GUESSED_FROM)] for role in roles
    }
    lines = [[part.strip() for part in text.split("|")] for text in cells["ordering"]]

    def stand_in(role: str) -> list[bool]:
        """Whether a row's cell is one of what its order lists, for rows with both."""
        rows = zip(cells.get(role, ()), lines, strict=False)
        return [cell in line for cell, line in rows if line != [""] and (cell or role == "item_id")]

    named = "criterion" in cells and any(
        len(line) > 1 and number(part) is None for line in lines for part in line
    )
    if named and (any(stand_in("criterion")) or "item_id" not in cells):
        return "criteria"
    if "item_id" in cells and all(stand_in("item_id")):
        return (
            "scores" if "score" in cells and all(stand_in("score")) else "responses"
        )  # ids and scores may look alike
    return "scores"


class _ScoresReader(Reader):
    """Scores: of options, of criteria in one call, of responses in one call."""

    def orders(self) -> tuple[list[Ordering], Coded]:
        order = self.coded("ordering", required=True)
        shown = self.parsed(order, *SHOWN[self.kind])
        listed = self.kind == "scores"
        return [
            Ordering(line, tuple(f"{part:g}" for part in line) if listed else ()) for line in shown
        ], order

    def about(
        self, dataset: Coded, order: Coded
    ) -> tuple[dict[str, list[Any]], np.ndarray, np.ndarray]:
        """An item is one id under one criterion of one data set; an order is about a text, or a
        call's answers together.
        """
        ids = self.named("text_id" if self.kind == "criteria" else "item_id", required=True)
        criterion = self.named("criterion", required=self.kind == "criteria")
        text, _ = joint(dataset.code, ids.code)
        item, first = joint(text, criterion.code)
        columns: dict[str, list[Any]] = {
            name: [column.texts[code] or None for code in column.code[first]]
            for name, column in (("item_id", ids), ("dataset", dataset), ("criterion", criterion))
        }
        for role in (
            "block",
            "prompt",
            "candidate",
            "task",
            *(role for role in TEXTS if role in self.names),
        ):
            column = self.coded(role)
            columns[role] = [
                [*column.texts, ""][code] or None for code in self.agreed(column, item, len(first))
            ]
        several = bool((np.bincount(text[first]) > 1).any()) or self.kind == "criteria"
        if several and "block" not in self.names:
            columns["block"] = columns["item_id"]
        columns["ratings"] = self.ratings(
            item, len(first), lambda _, cell: number(cell), lambda _: NO_NUMBER
        )
        columns["unit_text"] = nothing = [None] * len(first)
        if "response" in columns:
            texts = zip(columns.get("instruction", nothing), columns["response"], strict=True)
            columns["unit_text"] = [
                digest(question or "", answer or "", None)[:32] for question, answer in texts
            ]
        subject = text if self.kind == "criteria" else item
        if self.kind == "responses":
            subject = joint(distinct_of(self.whole)[0][order.code], criterion.code)[0]
        return columns, item, subject

    def answers(
        self, dataset: Coded, order: Coded
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The position is that of the score, of the criterion or of the item; a slot counts as the
        canonical order does.
        """
        column = self.coded("score")
        expected = "a score; leave the cell empty where none was read"
        values = self.parsed(column, lambda text: number(text) if text else math.nan, expected)
        score = np.asarray(values, dtype=np.float64)[column.code]
        read, options = ~np.isnan(score), self.kind == "scores"
        broken = np.flatnonzero(read & (score != np.round(score)))
        if broken.size and not options:
            words = f"{score[broken[0]]:g} is not a whole number, as scores of {self.kind} are."
            raise self.fault(broken[0], "score", words)
        by_set = pd.Series(score).groupby(dataset.code)
        self.spans = list(
            zip(dataset.texts, by_set.min().tolist(), by_set.max().tolist(), strict=True)
        )
        wanted = (
            column if options else self.coded("criterion" if self.kind == "criteria" else "item_id")
        )
        names = values if options else wanted.texts
        pair, first = joint(order.code, wanted.code)
        positions, slots = (
            np.zeros(len(first), dtype=np.int64),
            np.zeros(len(first), dtype=np.int64),
        )
        for k, (shown, code) in enumerate(zip(order.code[first], wanted.code[first], strict=True)):
            line, name = self.shown[shown], names[code]
            if name in line:
                positions[k] = line.index(name) + 1
                slots[k] = 0 if options else self.whole[shown].index(name)
            elif not options or not math.isnan(values[code]):
                cure = (
                    "Give the score itself, not its position."
                    if options
                    else "Write it as the order does."
                )
                given, among = shorten(wanted.texts[code]), shorten(order.texts[shown])
                raise self.fault(
                    first[k], wanted.name, f"“{given}” is not in the ordering “{among}”. {cure}"
                )
        return read, score, positions[pair], slots[pair]

    def scale(self, line: Line, dataset: int) -> tuple[float, ...]:
        """The options; of criteria and answers the whole numbers from 1 (or lower) to the data
        set's greatest score.
        """
        if self.kind == "scores":
            return tuple(map(float, line))
        name, low, high = self.spans[dataset]
        if math.isnan(low):
            words = (
                "no row has a score, so that its scale is not known. Fill the column, or "
                "leave "
                "these rows out."
            )
            raise refusal(self.table.name, f", data set “{shorten(name)}”: {words}")
        low = min(low, 1.0)
        if high - low > MAX_SPAN:
            words = (
                f"scores from {low:,g} to {high:,g} are no rubric's scale. Is another column "
                f"the score?"
            )
            raise refusal(
                self.table.name,
                f", data set “{shorten(name)}”, column “{self.names['score']}”: {words}",
            )
        return tuple(low + step for step in range(int(max(high - low, 1)) + 1))


def _scores_shown(text: str) -> Line | None:
    values = [number(part) for part in re.split(r"[\s,;>|]+", text.strip("[]() ,;>|"))]
    if not MIN_OPTIONS <= len(values) <= MAX_OPTIONS or len(set(values)) < len(values):
        return None
    if any(value is None or abs(value) > MAX_SCORE for value in values):
        return None
    return tuple(
        int(value) if value == int(value) else value for value in values if value is not None
    )


SHOWN: Mapping[str, tuple[Callable[[str], Line | None], str]] = {
    "scores": (
        _scores_shown,
        f"{MIN_OPTIONS} to {MAX_OPTIONS} different scores in the order shown, as 3 1 2 5 4",
    ),
    "criteria": (
        names_shown(MAX_ORDER),
        "two or more different criteria as shown, as Clarity|Depth|Tone",
    ),
    "responses": (
        names_shown(MAX_RESPONSES, 1),
        f"the different ids of the at most {MAX_RESPONSES} answers of the call as shown, as "
        f"a17|a3|a5",
    ),
}
"""How the order of each kind is read, and what it is expected to be."""
