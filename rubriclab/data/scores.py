"""A table of judgments made elsewhere in, the table of judgments that every number starts from out.

Columns of each kind; by codes: 2,000,000 rows take some seconds.

- scores: ``judge, dataset, item_id, ordering`` (the scores as shown, ``3 1 2 5 4``) ``, score``.
- criteria scored in one call: ``judge, dataset, text_id, ordering`` (names with ``|``) ``, criterion, score``.
- responses scored in one call: ``judge, dataset, item_id, ordering`` (the call's item ids with ``|``) ``, score``.
- pairs: ``judge, question_id, task, first, second, choice`` (A first, B second, C tie, N none).
- lists: ``judge, question_id, order`` (candidates with ``|``) ``, winner``.

Optional: ``criterion, block, prompt, candidate, task, human`` (or ``human_1``, ``human_2``), ``repeat, strategy``, the
texts ``response, instruction``; of pairs and lists ``dataset`` and ``gold``, the candidate that should win.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any, Literal

import numpy as np
import pandas as pd

from rubriclab.data.choices import ChoicesReader
from rubriclab.data.coded import (
    TEXTS,
    Coded,
    CodedTable,
    design_of,
    distinct_of,
    ids_shown,
    joint,
    names_shown,
    number_or_blank,
    parted,
    rank_within,
)
from rubriclab.data.published_readers import llmbar_pairs
from rubriclab.data.tables import Table, number, table_of_frame
from rubriclab.model.data import MAX_OPTIONS, MIN_OPTIONS, Rubric
from rubriclab.model.judgment import Condition, JudgmentTable, Ordering, Reorder, Status
from rubriclab.model.text import LabError, digest, look_alike, shorten

Kind = Literal["scores", "criteria", "pairs", "lists", "responses"]
REQUIRED: dict[Kind, tuple[str, ...]] = {
    "scores": ("item_id", "ordering", "score"),
    "criteria": ("text_id", "ordering", "criterion", "score"),
    "pairs": ("question_id", "first", "second", "choice"),
    "lists": ("question_id", "order", "winner"),
    "responses": ("item_id", "ordering", "score"),
}
OPTIONAL = (
    "judge", "dataset", "criterion", "block", "prompt", "candidate", "task", "human", "gold", "repeat", "strategy",
    "response", "instruction",
)  # fmt: skip
KNOWN = tuple(dict.fromkeys([*REQUIRED["criteria"], "item_id", *OPTIONAL, *REQUIRED["pairs"], *REQUIRED["lists"]]))
# Other names that files give these columns; their own name counts first.
ALIASES = {
    "judge": ("judge_model", "evaluator", "model"), "dataset": ("data_set", "data"), "item_id": ("item", "id", "text_id"),
    "text_id": ("text", "item_id", "id"), "ordering": ("order", "order_shown", "shown"),
    "score": ("score_given", "rating", "judgment"), "criterion": ("criteria", "aspect"), "repeat": ("rep",),
    "question_id": ("question", "prompt_id", "item_id", "id"), "order": ("ordering", "order_shown", "shown"),
}  # fmt: skip
AXES: Mapping[Kind, Reorder] = {"scores": "options", "criteria": "criteria", "responses": "responses"}
MAX_SCORE = 1_000_000
MAX_SPAN = 100
MAX_RESPONSES = 200
GUESSED_FROM = 1_000


def read_judgments(
    table: Table,
    kind: str | None = None,
    columns: Mapping[str, Any] | None = None,
    rubric: Rubric | None = None,
    name: str = "",
) -> JudgmentTable:
    """The judgments in a table; ``columns``: ours = theirs where the names do not tell. An empty score is unparsed.

    ``rubric`` gives the scale of criteria, which a table does not list. A strategy that no column names is recognised
    by its orders, else it is ``custom``. Raises LabError naming row, column, value and what was expected.
    """
    if kind is None and not columns and (pairs := llmbar_pairs(table)) is not None:
        table = table_of_frame(pd.DataFrame(pairs), table.name)
    names = column_names(table, kind, columns)
    kind = guess_kind(table, names) if kind is None else kind
    if kind not in REQUIRED:
        raise LabError(f"“{shorten(kind)}” is no kind of judgments; expected one of {', '.join(REQUIRED)}.")
    for role in REQUIRED[kind]:
        if role not in names:
            raise LabError(
                f"“{shorten(table.name)}” has no column {role}; judgments of {kind} need {', '.join(REQUIRED[kind])}. "
                f"It has {table.listed}. Name it, as {role}=THEIRS."
            )
    name = name or PurePath(table.name).stem or "Judgments"
    if kind in ("pairs", "lists"):
        return ChoicesReader(table, kind, names).read(name)
    return _Reader(table, kind, names, rubric).read(name)


def column_names(table: Table, kind: str | None, columns: Mapping[str, Any] | None) -> dict[str, Any]:
    """Which column of the table has each role: as given, else by its name. ``human`` may be several."""
    given = {role: value for role, value in dict(columns or {}).items() if value}
    if kind is None:
        kind = _choices_kind({*given, *map(look_alike, table.columns)})
    wanted = [role for role in KNOWN if role in OPTIONAL or role in (REQUIRED.get(kind) or _SCORED)]  # type: ignore[call-overload]
    humans = {role: given.pop(role) for role in list(given) if re.fullmatch(r"human_\d+", role)}
    if humans:
        given["human"] = list(humans.values())
    for role, value in given.items():
        if role not in KNOWN:
            raise LabError(f"“{shorten(role)}” is no column of judgments; known are {', '.join(sorted(KNOWN))}.")
        for column in [value] if isinstance(value, str) else value:
            table.require(column, f" for {role}")
    by_name = {look_alike(column): column for column in table.columns}
    used = {value for value in given.values() if isinstance(value, str)}
    for role in wanted:
        same = by_name.get(role)
        if role not in given and same is not None and same not in used:
            given[role] = same
            used.add(same)
    for role, others in ALIASES.items():
        other = next((by_name[other] for other in others if other in by_name and by_name[other] not in used), None)
        needed = role in REQUIRED.get(kind or "scores", ()) or role in ("judge", "dataset", "repeat")  # type: ignore[call-overload]
        if role not in given and other is not None and needed:
            given[role] = other
            used.add(other)
    people = sorted(
        (column for key, column in by_name.items() if re.fullmatch(r"human_\d+", key)),
        key=lambda column: int(column.strip()[6:]),
    )
    if people and "human" not in given:
        given["human"] = people
    return given


_SCORED = {*REQUIRED["scores"], *REQUIRED["criteria"]}


def _choices_kind(names: set[str]) -> Kind | None:
    """Pairs or lists where columns of these names are there, which no table of scores has; else None."""
    if {"first", "second", "choice"} <= names:
        return "pairs"
    return "lists" if "winner" in names and names & {"order", "ordering"} else None


def guess_kind(table: Table, names: Mapping[str, Any]) -> Kind:
    """By the columns, then by what an order lists: the row's own criterion, its own id, else scores."""
    choices = _choices_kind({*names})
    if choices is not None or "ordering" not in names:
        return choices or "scores"

    def cells(role: str) -> list[str]:
        return [cell or "" for cell in table.data.column(names[role]).slice(0, GUESSED_FROM).to_pylist()]

    lines = [[part.strip() for part in text.split("|")] for text in cells("ordering")]
    if "criterion" in names and any(len(line) > 1 and number(part) is None for line in lines for part in line):
        own = [cell.strip() in line for cell, line in zip(cells("criterion"), lines, strict=True)]
        if any(own) or "item_id" not in names:
            return "criteria"
    if "item_id" in names and all(
        cell.strip() in line for cell, line in zip(cells("item_id"), lines, strict=True) if line != [""]
    ):
        listed = "score" in names and all(
            cell.strip() in [*line, ""] for cell, line in zip(cells("score"), lines, strict=True)
        )
        return "scores" if listed else "responses"  # numbers may be ids and scores: then they are scores
    return "scores"


class _Reader(CodedTable):
    """Scores: of options, of criteria in one call, of responses in one call."""

    def __init__(self, table: Table, kind: Kind, names: Mapping[str, Any], rubric: Rubric | None) -> None:
        super().__init__(table, names, ("ordering",) if kind == "responses" else ())
        self.kind, self.rubric = kind, rubric

    def read(self, name: str) -> JudgmentTable:
        judge, dataset = self.coded("judge", "judge"), self.coded("dataset", PurePath(self.table.name).stem or "data")
        ordering = self.coded("ordering", required=True)
        shown = self._shown(ordering)
        self.rank = self._ranks(shown)
        items, item, text = self._items(dataset)
        score, position, slot = self._scores(ordering, shown)
        # A condition's calls list the same options or criteria; of responses only as many.
        listed = [len(line) if self.kind == "responses" else "|".join(map(str, sorted(line))) for line in shown]
        sets = distinct_of(listed)[0]
        strategy = self.coded("strategy")
        condition, first = self.conditions(judge.code, dataset.code, sets[ordering.code], strategy.code)
        subject = self._subject(item, text, ordering, shown)
        repeat, call = self._calls(condition, item, subject, ordering)
        spans = self._spans(dataset, score)
        canonical = [self._sorted(line) for line in shown]
        lines = [tuple(map(whole.index, line)) for whole, line in zip(canonical, shown, strict=True)]
        local, distinct = distinct_of(lines)
        conditions = []
        for code, own in enumerate(parted(condition, len(first))):
            row = first[code]
            line, name_of = canonical[ordering.code[row]], strategy.texts[strategy.code[row]]
            design, drawn = design_of(subject[own], local[ordering.code[own]], distinct, len(np.unique(call[own])))
            design = "alone" if len(line) == 1 else design
            targets = line if self.kind == "criteria" else ()
            scale = tuple(map(float, line)) if self.kind == "scores" else self._scale(targets, spans[dataset.code[row]])
            conditions.append(
                Condition(
                    judge.texts[judge.code[row]], dataset.texts[dataset.code[row]], name_of or design, AXES[self.kind],
                    scale, targets, len(line), drawn=drawn or name_of.casefold() == "random",
                )
            )  # fmt: skip
        labels = [tuple(f"{part:g}" for part in line) if self.kind == "scores" else () for line in shown]
        rows = {
            "condition": condition, "item": item, "ordering": ordering.code, "slot": slot, "repeat": repeat, "call": call,
            "status": np.where(np.isnan(score), Status.UNPARSED, Status.OK), "score": score, "position": position,
        }  # fmt: skip
        return self.judgments(name, conditions, items, list(map(Ordering, map(tuple, shown), labels)), rows)

    def _shown(self, ordering: Coded) -> Sequence[Sequence[Any]]:
        """What each ordering lists, in its order."""
        if self.kind == "scores":
            expected = f"{MIN_OPTIONS} to {MAX_OPTIONS} different scores in the order shown, as 3 1 2 5 4"
            return self.parsed(ordering, _scores_shown, expected)
        if self.kind == "criteria":
            return self.parsed(ordering, names_shown, "two or more different criteria as shown, as Clarity|Depth|Tone")
        expected = f"the different ids of the at most {MAX_RESPONSES} answers of the call as shown, as a17|a3|a5"
        return self.parsed(ordering, _responses_shown, expected)

    def _subject(self, item: np.ndarray, text: np.ndarray, ordering: Coded, shown: Sequence[Any]) -> np.ndarray:
        """(rows,): what one order is about: the item, the text under its criteria, or the answers of a call together."""
        if self.kind != "responses":
            return text if self.kind == "criteria" else item
        batch = distinct_of([tuple(sorted(line)) for line in shown])[0]
        return joint(batch[ordering.code], self.coded("criterion").code)[0]

    # ---- items

    def _items(self, dataset: Coded) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
        """(items, item of each row, text of each row): an item is one id under one criterion of one data set."""
        ids = self.coded("text_id" if self.kind == "criteria" else "item_id", required=True)
        criterion = self.coded("criterion", required=self.kind == "criteria")
        self.refuse_look_alikes(ids)
        text, _ = joint(dataset.code, ids.code)
        item, first = joint(text, criterion.code)
        columns: dict[str, list[Any]] = {
            name: [column.texts[code] or None for code in column.code[first]]
            for name, column in (("item_id", ids), ("dataset", dataset), ("criterion", criterion))
        }
        for role in ("block", "prompt", "candidate", "task", *(role for role in TEXTS if role in self.names)):
            column = self.coded(role)
            columns[role] = [[*column.texts, ""][code] or None for code in self.agreed(column, item, len(first))]
        several = bool((np.bincount(text[first]) > 1).any()) or self.kind == "criteria"
        if several and "block" not in self.names:
            columns["block"] = columns["item_id"]
        nothing = [None] * len(first)
        texts = zip(columns.get("instruction", nothing), columns.get("response", nothing), strict=True)
        known = "response" in columns
        columns["ratings"] = self._ratings(item, len(first))
        columns["unit_text"] = [
            digest(question or "", answer or "", None)[:32] if known else None for question, answer in texts
        ]
        return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()}), item, text

    def _ratings(self, item: np.ndarray, items: int) -> list[dict[str, float]]:
        """People's scores of each item by the column that they stand in."""
        people: list[dict[str, float]] = [{} for _ in range(items)]
        expected = "a number from -1e9 to 1e9; leave the cell empty where there is none"
        for role, name in self.people.items():
            column = self.coded(role)
            values = [*self.parsed(column, number_or_blank, expected), math.nan]
            for k, code in enumerate(self.agreed(column, item, items)):
                if not math.isnan(values[code]):
                    people[k][name] = values[code]
        return people

    # ---- scores and designs

    def _scores(self, ordering: Coded, shown: Sequence[Any]) -> tuple[Any, Any, Any]:
        """(score of each row, NaN unparsed; the position from 1 of the score, criterion or item; its slot)."""
        column = self.coded("score")
        values = self.parsed(column, number_or_blank, "a score; leave the cell empty where none was read")
        score = np.asarray(values, dtype=np.float64)[column.code]
        options = self.kind == "scores"
        wanted = column if options else self.coded("criterion" if self.kind == "criteria" else "item_id")
        names = values if options else wanted.texts
        pair, first = joint(ordering.code, wanted.code)
        positions, slots = np.zeros(len(first), dtype=np.int64), np.zeros(len(first), dtype=np.int64)
        for k, (order, code) in enumerate(zip(ordering.code[first], wanted.code[first], strict=True)):
            line, name = shown[order], names[code]
            if name in line:
                positions[k] = line.index(name) + 1
                slots[k] = 0 if options else self._sorted(line).index(name)
            elif not options or not math.isnan(values[code]):
                cure = "Give the score itself, not its position." if options else "Write it as the order does."
                raise LabError(
                    f"{self.where(int(first[k]), wanted.name)}: “{shorten(wanted.texts[code])}” is not in the ordering "
                    f"“{shorten(ordering.texts[order])}”. {cure}"
                )
        return score, positions[pair], slots[pair]

    def _ranks(self, shown: Sequence[Sequence[Any]]) -> dict[Any, Any]:
        """What options are sorted by: scores by their value, criteria as in the rubric, else as they first come."""
        seen = dict.fromkeys(name for line in shown for name in line)
        if self.kind == "scores":
            return {score: score for score in seen}
        rubric = [criterion.name for criterion in self.rubric.criteria] if self.rubric else []
        return {name: rank for rank, name in enumerate(dict.fromkeys([*rubric, *seen]))}

    def _sorted(self, line: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(sorted(line, key=self.rank.__getitem__))

    def _spans(self, dataset: Coded, score: np.ndarray) -> list[tuple[str, float, float]]:
        """(name, lowest score, highest score) of each data set. Raises LabError for a criterion's score that is broken."""
        broken = np.flatnonzero(~np.isnan(score) & (score != np.round(score)))
        if broken.size and self.kind != "scores":
            row = int(broken[0])
            raise LabError(
                f"{self.where(row, 'score')}: {score[row]:g} is not a whole number, as scores of {self.kind} are."
            )
        by_set = pd.Series(score).groupby(dataset.code)
        return list(zip(dataset.texts, by_set.min().tolist(), by_set.max().tolist(), strict=True))

    def _scale(self, targets: Sequence[str], span: tuple[str, float, float]) -> tuple[float, ...]:
        """The rubric's scale; without one the whole numbers from 1 (or lower) to the greatest score of the data set."""
        known = {criterion.name for criterion in self.rubric.criteria} if self.rubric else {}
        if self.rubric is not None and {*targets} <= {*known}:
            scored = targets or known
            return tuple(sorted({float(part) for name in scored for part in self.rubric.criterion(name).scores}))
        name, low, high = span
        if math.isnan(low):
            raise LabError(f"Data set “{shorten(name)}”: no row has a score.")
        low = min(low, 1.0)
        if high - low > MAX_SPAN:
            raise LabError(f"Data set “{shorten(name)}”: scores from {low:,g} to {high:,g} are no rubric's scale.")
        return tuple(low + step for step in range(int(max(high - low, 1)) + 1))

    def _calls(
        self, condition: np.ndarray, item: np.ndarray, subject: np.ndarray, ordering: Coded
    ) -> tuple[np.ndarray, np.ndarray]:
        """(repeat, call) of each row: the same order of an item again is a repeat where no column counts them."""
        given = self.repeats()
        counted = np.zeros(self.rows, dtype=np.int64) if given is None else given
        again = rank_within(joint(condition, item, ordering.code, counted)[0])
        repeat = again if given is None else given
        if self.kind == "scores":
            return repeat, np.arange(self.rows)
        return repeat, joint(condition, subject, ordering.code, counted, again)[0]


def _scores_shown(text: str) -> tuple[float | int, ...] | None:
    values = [number(part) for part in re.split(r"[\s,;>|]+", text.strip("[]() ,;>|"))]
    if not MIN_OPTIONS <= len(values) <= MAX_OPTIONS or len(set(values)) < len(values):
        return None
    if any(value is None or abs(value) > MAX_SCORE for value in values):
        return None
    return tuple(int(value) if value == int(value) else value for value in values if value is not None)


def _responses_shown(text: str) -> tuple[str, ...] | None:
    ids = ids_shown(text)
    return ids if ids is not None and len(ids) <= MAX_RESPONSES else None
