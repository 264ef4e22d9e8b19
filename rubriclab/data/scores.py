"""A table of judgments made elsewhere in, the table of judgments that every number starts from out.

Columns: ``judge, dataset, item_id, ordering`` (as shown, ``3 1 2 5 4``) ``, score`` for score options;
``judge, dataset, text_id, ordering`` (names with ``|``) ``, criterion, score`` for criteria scored in one call. Optional:
``criterion, block, prompt, candidate, task, human`` (or ``human_1``, ``human_2``), ``repeat, strategy``, and the texts
``response, instruction``. All by codes: 2,000,000 rows take some seconds.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd

from rubriclab.data.limits import MAX_ID, MAX_RATING
from rubriclab.data.tables import Table
from rubriclab.model import orders as designs
from rubriclab.model.data import MAX_OPTIONS, MIN_OPTIONS, Rubric
from rubriclab.model.judgment import JUDGMENT_COLUMNS, Condition, JudgmentTable, Ordering, Status
from rubriclab.model.text import LabError, digest, look_alike, shorten

Kind = Literal["scores", "criteria"]
REQUIRED: dict[Kind, tuple[str, ...]] = {
    "scores": ("item_id", "ordering", "score"),
    "criteria": ("text_id", "ordering", "criterion", "score"),
}
OPTIONAL = (
    "judge", "dataset", "criterion", "block", "prompt", "candidate", "task", "human", "repeat", "strategy", "response",
    "instruction",
)  # fmt: skip
# Other names that files give these columns; their own name counts first.
ALIASES = {
    "judge": ("judge_model", "evaluator", "model"), "dataset": ("data_set", "data"), "item_id": ("item", "id", "text_id"),
    "text_id": ("text", "item_id", "id"), "ordering": ("order", "order_shown", "shown"),
    "score": ("score_given", "rating", "judgment"), "criterion": ("criteria", "aspect"),
}  # fmt: skip
MAX_SMALL = 32_767
MAX_SCORE = 1_000_000
MAX_SPAN = 100
NUMBER = re.compile(r"[+-]?(\d{1,20}([.,]\d{0,30})?|[.,]\d{1,30})")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Coded:
    """A column as codes into its distinct texts, blanks around them taken off; ``blank``: code of the empty text or -1."""

    name: str
    code: np.ndarray
    texts: list[str]

    @property
    def blank(self) -> int:
        return self.texts.index("") if "" in self.texts else -1


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
    names = column_names(table, kind, columns)
    kind = guess_kind(table, names) if kind is None else kind
    if kind not in REQUIRED:
        raise LabError(f"“{shorten(kind)}” is no kind of judgments; expected scores or criteria.")
    missing = [role for role in REQUIRED[kind] if role not in names]
    if missing:
        known = ", ".join(f"“{shorten(column, 30)}”" for column in table.columns[:12])
        raise LabError(
            f"“{shorten(table.name)}” has no column {missing[0]}; judgments of {kind} need {', '.join(REQUIRED[kind])}. "
            f"It has {known}. Name it, as {missing[0]}=THEIRS."
        )
    return _Reader(table, kind, names, rubric).read(name or PurePath(table.name).stem or "Judgments")


def column_names(table: Table, kind: str | None, columns: Mapping[str, Any] | None) -> dict[str, Any]:
    """Which column of the table has each role: as given, else by its name. ``human`` may be several."""
    given = {role: value for role, value in dict(columns or {}).items() if value}
    known = {*OPTIONAL, *(role for roles in REQUIRED.values() for role in roles)}
    humans = {role: given.pop(role) for role in list(given) if re.fullmatch(r"human_\d+", role)}
    if humans:
        given["human"] = list(humans.values())
    for role, value in given.items():
        if role not in known:
            raise LabError(f"“{shorten(role)}” is no column of judgments; known are {', '.join(sorted(known))}.")
        for column in [value] if isinstance(value, str) else value:
            if column not in table.columns:
                raise LabError(
                    f"“{shorten(table.name)}” has no column “{shorten(column)}” for {role}; it has "
                    f"{', '.join(shorten(column, 30) for column in table.columns[:12])}."
                )
    by_name = {look_alike(column): column for column in table.columns}
    used = {value for value in given.values() if isinstance(value, str)}
    for role in sorted(known, key=[*REQUIRED["criteria"], "item_id", *OPTIONAL].index):
        same = by_name.get(role)
        if role not in given and same is not None and same not in used:
            given[role] = same
            used.add(same)
    for role, others in ALIASES.items():
        other = next((by_name[other] for other in others if other in by_name and by_name[other] not in used), None)
        needed = role in REQUIRED.get(kind or "scores", ()) or role in ("judge", "dataset")  # type: ignore[call-overload]
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


def guess_kind(table: Table, names: Mapping[str, Any]) -> Kind:
    """Criteria where a row has a criterion and its order lists names between bars, else scores."""
    if "ordering" not in names or "criterion" not in names:
        return "scores"
    first = next((text for text in table.coded(names["ordering"])[1] if text.strip()), "")
    return "criteria" if "|" in first and any(_number(part) is None for part in first.split("|")) else "scores"


def _number(text: str) -> float | None:
    """A number with a point or a decimal comma; None for anything else, as nan, inf and 23 digits."""
    text = text.strip()
    return float(text.replace(",", ".")) if NUMBER.fullmatch(text) else None


class _Reader:
    def __init__(self, table: Table, kind: Kind, names: Mapping[str, Any], rubric: Rubric | None) -> None:
        self.table, self.kind, self.names, self.rubric = table, kind, names, rubric
        self.rows = len(table.rows)

    def read(self, name: str) -> JudgmentTable:
        judge, dataset = self.coded("judge", "judge"), self.coded("dataset", PurePath(self.table.name).stem or "data")
        ordering = self.coded("ordering", required=True)
        shown: list[Any]
        if self.kind == "scores":
            expected = f"{MIN_OPTIONS} to {MAX_OPTIONS} different scores in the order shown, as 3 1 2 5 4"
            shown = self.parsed(ordering, _scores_shown, expected)
        else:
            shown = self.parsed(
                ordering, _names_shown, "two or more different criteria as shown, as Clarity|Depth|Tone"
            )
        self.targets = self._targets(shown)
        items, item, text = self._items(dataset)
        criterion = None if self.kind == "scores" else self.coded("criterion", required=True)
        score, position, slot = self._scores(ordering, shown, criterion)
        sets = pd.factorize(np.array(["|".join(map(str, sorted(line))) for line in shown], dtype=object))[0]
        group = joint(judge.code, dataset.code, sets[ordering.code])[0]
        strategy = self._strategies(group, ordering, shown, text if criterion else item)
        condition, first = joint(group, strategy.code)
        if len(first) > MAX_SMALL:
            raise LabError(
                f"“{shorten(self.table.name)}” has {len(first):,} conditions (judge x data set x strategy); at most "
                f"{MAX_SMALL:,} are read. Is a column of ids named judge, dataset or strategy?"
            )
        repeat, call = self._calls(condition, item, text, ordering)
        frame = pd.DataFrame(
            {
                "condition": condition, "item": item, "ordering": ordering.code, "slot": slot, "repeat": repeat,
                "call": call, "status": np.where(np.isnan(score), Status.UNPARSED, Status.OK), "score": score,
                "position": position, "expected": np.full(self.rows, np.nan), "mass": np.full(self.rows, np.nan),
            },
            columns=list(JUDGMENT_COLUMNS),
        ).iloc[np.lexsort((slot, call, condition))].reset_index(drop=True)  # fmt: skip
        new = np.diff(frame["call"].to_numpy(), prepend=-1) != 0
        frame["call"] = np.cumsum(new) - 1
        calls = frame[new]
        drawn = _drawn(calls["condition"].to_numpy(), calls, len(first))
        conditions = []
        for code, row in enumerate(first.tolist()):
            line, kind = shown[ordering.code[row]], strategy.texts[strategy.code[row]]
            targets = tuple(part for part in self.targets if part in line)
            scale = (
                self._scale(targets, dataset, int(dataset.code[row]), score)
                if targets
                else tuple(map(float, sorted(line)))
            )
            conditions.append(
                Condition(
                    judge.texts[judge.code[row]], dataset.texts[dataset.code[row]], kind,
                    "criteria" if targets else "options", scale, targets, len(line),
                    drawn=bool(drawn[code]) or kind.casefold() == "random",
                )
            )  # fmt: skip
        labels = [() if self.targets else tuple(f"{part:g}" for part in line) for line in shown]
        hashed = int(pd.util.hash_pandas_object(frame, index=False).to_numpy().sum(dtype=np.uint64))
        return JudgmentTable(
            run=digest(name, hashed, items["item_id"].tolist())[:12], name=name, conditions=tuple(conditions),
            items=items, orderings=tuple(map(Ordering, map(tuple, shown), labels)), rows=frame,
            planned=tuple(np.bincount(calls["condition"], minlength=len(conditions)).tolist()),
            made_with={"imported": self.table.name},
        )  # fmt: skip

    # ---- columns

    def coded(self, role: str, default: str = "", *, required: bool = False) -> Coded:
        """A column as codes of its texts without blanks around; ``default`` where there is none or a cell is empty."""
        if role not in self.names:
            return Coded(role, np.zeros(self.rows, dtype=np.int64), [default])
        codes, texts = self.table.coded(self.names[role])
        merged, distinct = pd.factorize(np.array([text.strip() or default for text in texts], dtype=object))
        column = Coded(role, merged[codes].astype(np.int64), list(distinct))
        if required and column.blank >= 0:
            row = int(np.flatnonzero(column.code == column.blank)[0])
            raise LabError(f"{self.where(row, role)}: the cell is empty; every judgment needs its {role}.")
        for code, text in enumerate(column.texts):
            if len(text) > MAX_ID and role not in ("response", "instruction"):
                row = int(np.flatnonzero(column.code == code)[0])
                raise LabError(
                    f"{self.where(row, role)}: {len(text):,} signs (“{shorten(text, 40)}”); at most {MAX_ID:,} are read."
                )
        return column

    def where(self, row: int, role: str) -> str:
        column = self.names.get(role, role)
        return self.table.where(row, column if isinstance(column, str) else column[0])

    def parsed(self, column: Coded, parse: Callable[[str], Value | None], expected: str) -> list[Value]:
        """Each distinct text parsed once. Raises LabError for the first row of one that is not as expected."""
        values = [parse(text) for text in column.texts]
        if None in values:
            code = values.index(None)
            row = int(np.flatnonzero(column.code == code)[0])
            raise LabError(f"{self.where(row, column.name)}: “{shorten(column.texts[code])}” is not {expected}.")
        return [value for value in values if value is not None]

    # ---- items

    def _items(self, dataset: Coded) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
        """(items, item of each row, text of each row): an item is one id under one criterion of one data set."""
        ids = self.coded("item_id" if self.kind == "scores" else "text_id", required=True)
        criterion = self.coded("criterion")
        self._refuse_look_alikes(ids)
        text, _ = joint(dataset.code, ids.code)
        item, first = joint(text, criterion.code)
        several = bool((np.bincount(text[first]) > 1).any()) or self.kind == "criteria"

        def of_first_rows(column: Coded) -> list[str | None]:
            return [column.texts[code] or None for code in column.code[first]]

        columns = {
            "item_id": of_first_rows(ids),
            "dataset": of_first_rows(dataset),
            "criterion": of_first_rows(criterion),
        }
        texts: dict[str, list[str | None]] = {}
        for role in ("block", "prompt", "candidate", "task", "response", "instruction"):
            codes, distinct = self._of_items(role, item, len(first))
            values = [distinct[code] or None for code in codes]
            (texts if role in ("response", "instruction") and role in self.names else columns)[role] = values
        if several and "block" not in self.names:
            columns["block"] = columns["item_id"]
        answers, questions = texts.get("response"), texts.get("instruction") or [None] * len(first)
        columns["ratings"] = self._ratings(item, len(first))  # type: ignore[assignment]
        columns["unit_text"] = (
            [
                digest(question or "", answer or "", None)[:32]
                for answer, question in zip(answers, questions, strict=True)
            ]
            if answers
            else [None] * len(first)
        )
        frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in (columns | texts).items()})
        return frame.drop(columns=[name for name in ("response", "instruction") if name not in texts]), item, text

    def _refuse_look_alikes(self, ids: Coded) -> None:
        seen: dict[str, int] = {}
        for code, text in enumerate(ids.texts):
            other = seen.setdefault(look_alike(text), code)
            if other != code:
                rows = [int(np.flatnonzero(ids.code == k)[0]) for k in (other, code)]
                raise LabError(
                    f"{self.where(rows[1], ids.name)}: the id “{shorten(text)}” looks like “{shorten(ids.texts[other])}” "
                    f"in {self.table.where(rows[0]).rpartition(', ')[2]}. Write them alike, or tell them apart."
                )

    def _of_items(self, role: str, item: np.ndarray, items: int) -> tuple[np.ndarray, list[str]]:
        """(code of each item, texts): the cells of an item's rows agree or are empty. Raises LabError where they differ."""
        column = self.coded(role)
        return self._agreed(role, column, item, items), column.texts if column.blank >= 0 else [*column.texts, ""]

    def _agreed(self, role: str, column: Coded, item: np.ndarray, items: int) -> np.ndarray:
        empty = column.blank if column.blank >= 0 else len(column.texts)
        given = np.flatnonzero(column.code != empty)
        code = np.full(items, empty, dtype=np.int64)
        code[item[given][::-1]] = column.code[given][::-1]  # the first of an item is written last
        odd = given[column.code[given] != code[item[given]]]
        if odd.size:
            row = int(odd[0])
            raise LabError(
                f"{self.where(row, role)}: “{shorten(column.texts[column.code[row]])}”, but an earlier row of the same "
                f"item has “{shorten(column.texts[code[item[row]]])}”. Rows of one item have to agree."
            )
        return code

    def _ratings(self, item: np.ndarray, items: int) -> list[dict[str, float]]:
        """People's scores of each item by the column that they stand in."""
        human = self.names.get("human") or []
        people: list[dict[str, float]] = [{} for _ in range(items)]
        for name in [human] if isinstance(human, str) else human:
            reader = _Reader(self.table, self.kind, {"human": name}, None)
            column = reader.coded("human")
            codes = reader._agreed("human", column, item, items)
            values = reader.parsed(
                column,
                lambda text: math.nan if not text else _rating(text),
                "a number from -1e9 to 1e9; leave the cell empty where there is none",
            )
            for k, code in enumerate(codes.tolist()):
                if code < len(values) and not math.isnan(values[code]):
                    people[k][name] = values[code]
        return people

    # ---- scores and designs

    def _scores(self, ordering: Coded, shown: Sequence[Sequence[Any]], criterion: Coded | None) -> tuple[Any, Any, Any]:
        """(score of each row, NaN unparsed; the position from 1 of the score or criterion, 0 unparsed; its slot)."""
        column = self.coded("score")
        values = self.parsed(
            column,
            lambda text: math.nan if not text else _rating(text),
            "a score; leave the cell empty where none was read",
        )
        score = np.asarray(values, dtype=np.float64)[column.code]
        wanted = column if criterion is None else criterion
        names: list[Any] = values if criterion is None else criterion.texts
        position_of = np.zeros((len(shown), len(names)), dtype=np.int64)
        for row, line in enumerate(shown):
            rank = {part: p + 1 for p, part in enumerate(line)}
            position_of[row] = [rank.get(name, 0) for name in names]
        position = position_of[ordering.code, wanted.code]
        strange = np.flatnonzero((position == 0) & (~np.isnan(score) if criterion is None else True))
        if strange.size:
            row = int(strange[0])
            more = f" ({strange.size - 1:,} more rows too)" if strange.size > 1 else ""
            cure = (
                "Give the score itself, not its position; leave it empty where none was read."
                if criterion is None
                else "Write it as the order does."
            )
            raise LabError(
                f"{self.where(row, wanted.name)}: “{shorten(wanted.texts[wanted.code[row]])}” is not in the ordering "
                f"“{shorten(ordering.texts[ordering.code[row]])}”{more}. {cure}"
            )
        if criterion is None:
            return score, position, np.zeros(self.rows, dtype=np.int64)
        return score, position, np.array([self.targets.index(name) for name in criterion.texts])[criterion.code]

    def _targets(self, shown: Sequence[Sequence[str]]) -> list[str]:
        """Criteria in the rubric's order, else as they first come in the orders shown; none for score options."""
        if self.kind == "scores":
            return []
        seen = dict.fromkeys(name for line in shown for name in line)
        rubric = [criterion.name for criterion in self.rubric.criteria] if self.rubric else []
        return [*(name for name in rubric if name in seen), *(name for name in seen if name not in rubric)]

    def _scale(self, targets: Sequence[str], dataset: Coded, code: int, score: Any) -> tuple[float, ...]:
        """The rubric's scale; without one the whole numbers from 1 (or lower) to the greatest score of the data set."""
        if self.rubric is not None and all(
            any(name == criterion.name for criterion in self.rubric.criteria) for name in targets
        ):
            return tuple(sorted({float(part) for name in targets for part in self.rubric.criterion(name).scores}))
        own = score[(dataset.code == code) & ~np.isnan(score)]
        broken = np.flatnonzero(~np.isnan(score) & (score != np.round(score)))
        if broken.size:
            row = int(broken[0])
            raise LabError(
                f"{self.where(row, 'score')}: {score[row]:g} is not a whole number, as scores of criteria are."
            )
        if not own.size:
            raise LabError(f"Data set “{shorten(dataset.texts[code])}”: no row has a score.")
        low, high = min(int(own.min()), 1), int(own.max())
        if high - low > MAX_SPAN:
            raise LabError(
                f"Data set “{shorten(dataset.texts[code])}”: scores from {low:,} to {high:,} are no rubric's scale."
            )
        return tuple(float(part) for part in range(low, max(high, low + 1) + 1))

    def _strategies(self, group: np.ndarray, ordering: Coded, shown: Sequence[Any], asked: np.ndarray) -> Coded:
        """As named, else recognised within judge, data set and scale where each text was asked in all the orders."""
        named = self.coded("strategy")
        if named.blank < 0:
            return named
        rows = np.argsort(group, kind="stable")
        cuts = np.searchsorted(group[rows], np.arange(int(group.max(initial=0)) + 2))
        names = []
        for start, end in itertools.pairwise(cuts):
            texts, orders = asked[rows[start:end]], ordering.code[rows[start:end]]
            kinds = np.unique(orders)
            whole = joint(texts, orders)[1].size == len(kinds) * np.unique(texts).size
            names.append(recognised([shown[k] for k in kinds], self.targets) if whole else "custom")
        distinct = list(dict.fromkeys([*named.texts, *names]))
        own = np.array([distinct.index(name) for name in names])[group]
        return Coded("strategy", np.where(named.code == named.blank, own, named.code), distinct)

    def _calls(
        self, condition: np.ndarray, item: np.ndarray, text: np.ndarray, ordering: Coded
    ) -> tuple[np.ndarray, np.ndarray]:
        """(repeat, call) of each row: the same order of an item again is a repeat where no column counts them."""
        given = "repeat" in self.names
        repeat = np.zeros(self.rows, dtype=np.int64)
        if given:
            column = self.coded("repeat")
            repeat = np.asarray(self.parsed(column, _repeat, f"a whole number from 0 to {MAX_SMALL:,}"))[column.code]
        again = rank_within(joint(condition, item, ordering.code, repeat)[0])
        if self.kind == "scores":
            return (repeat if given else again), np.arange(self.rows)
        return (repeat if given else again), joint(condition, text, ordering.code, repeat, again)[0]


def _drawn(condition: np.ndarray, calls: pd.DataFrame, conditions: int) -> np.ndarray:
    """Were orders drawn for each text: twice as many orders in all as a text has, each asked once? (conditions,)"""
    # The first item of a call stands for its text.
    asked, order = calls["item"].to_numpy(), calls["ordering"].to_numpy()
    cells = np.bincount(condition[joint(condition, asked, order)[1]], minlength=conditions)
    texts = np.bincount(condition[joint(condition, asked)[1]], minlength=conditions)
    orders = np.bincount(condition[joint(condition, order)[1]], minlength=conditions)
    once = np.bincount(condition, minlength=conditions) < 1.5 * cells
    return (orders > 1) & (orders * texts >= 2 * cells) & once


def recognised(shown: Sequence[tuple[Any, ...]], targets: Sequence[str] = ()) -> str:
    """The design whose orders these are: fixed, descending, balanced, williams, all; else ``custom``."""
    lines = set(shown)
    options = tuple(part for part in targets if part in shown[0]) or tuple(sorted(shown[0]))
    if lines == {options}:
        return "fixed"
    if lines == {options[::-1]}:
        return "descending"
    if lines == set(designs.balanced(options)):
        return "balanced"
    if lines == set(designs.williams(options)):
        return "williams"
    return "all" if len(lines) == math.factorial(len(options)) else "custom"


def joint(*codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(code of each row's combination in order of first appearance, first row of each)."""
    key = np.asarray(codes[0], dtype=np.int64)
    for code in codes[1:]:
        key = key * (int(code.max(initial=0)) + 1) + code
        if int(key.max(initial=0)) > 2**40:
            key = pd.factorize(key)[0].astype(np.int64)
    joined, distinct = pd.factorize(key)
    first = np.full(len(distinct), len(key), dtype=np.int64)
    first[joined[::-1]] = np.arange(len(key))[::-1]
    return joined.astype(np.int64), first


def rank_within(group: np.ndarray) -> np.ndarray:
    """How many rows of the same group stand before each row."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))
    return rank


def _scores_shown(text: str) -> tuple[float | int, ...] | None:
    parts = [part for part in re.split(r"[\s,;>|]+", text.strip("[]() ")) if part]
    values = [_number(part) for part in parts]
    if not MIN_OPTIONS <= len(parts) <= MAX_OPTIONS or len(set(values)) < len(values):
        return None
    if any(value is None or abs(value) > MAX_SCORE for value in values):
        return None
    return tuple(int(value) if value == int(value) else value for value in values if value is not None)


def _names_shown(text: str) -> tuple[str, ...] | None:
    names = tuple(part.strip() for part in text.split("|"))
    return names if len(names) > 1 and len(set(names)) == len(names) and all(names) else None


def _rating(text: str) -> float | None:
    value = _number(text)
    return None if value is None or abs(value) > MAX_RATING else value


def _repeat(text: str) -> int | None:
    value = _number(text or "0")
    return int(value) if value is not None and value == int(value) and 0 <= value <= MAX_SMALL else None
