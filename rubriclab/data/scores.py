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

from rubriclab.data.tables import Table, number
from rubriclab.model import orders as designs
from rubriclab.model.data import MAX_ID, MAX_OPTIONS, MIN_OPTIONS, Rubric
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
TEXTS = ("response", "instruction")
MAX_SMALL = 32_767
MAX_SCORE = 1_000_000
MAX_SPAN = 100
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

    def row_of(self, code: int) -> int:
        """The first row with that text."""
        return int(np.flatnonzero(self.code == code)[0])


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
    for role in REQUIRED[kind]:
        if role not in names:
            raise LabError(
                f"“{shorten(table.name)}” has no column {role}; judgments of {kind} need {', '.join(REQUIRED[kind])}. "
                f"It has {table.listed}. Name it, as {role}=THEIRS."
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
            table.require(column, f" for {role}")
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
    return "criteria" if "|" in first and any(number(part) is None for part in first.split("|")) else "scores"


class _Reader:
    def __init__(self, table: Table, kind: Kind, names: Mapping[str, Any], rubric: Rubric | None) -> None:
        self.table, self.kind, self.rubric = table, kind, rubric
        self.rows = len(table.rows)
        human = names.get("human") or []
        self.people = {f"human {column}": column for column in ([human] if isinstance(human, str) else human)}
        self.names = {**names, **self.people}

    def read(self, name: str) -> JudgmentTable:
        judge, dataset = self.coded("judge", "judge"), self.coded("dataset", PurePath(self.table.name).stem or "data")
        ordering = self.coded("ordering", required=True)
        shown: list[Any]
        if self.kind == "scores":
            expected = f"{MIN_OPTIONS} to {MAX_OPTIONS} different scores in the order shown, as 3 1 2 5 4"
            shown = self.parsed(ordering, _scores_shown, expected)
        else:
            expected = "two or more different criteria as shown, as Clarity|Depth|Tone"
            shown = self.parsed(ordering, _names_shown, expected)
        self.rank = self._ranks(shown)
        items, item, text = self._items(dataset)
        criterion = None if self.kind == "scores" else self.coded("criterion", required=True)
        score, position, slot = self._scores(ordering, shown, criterion)
        sets = pd.factorize(np.array(["|".join(map(str, sorted(line))) for line in shown], dtype=object))[0]
        strategy = self.coded("strategy")
        condition, first = joint(judge.code, dataset.code, sets[ordering.code], strategy.code)
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
        planned = np.bincount(frame["condition"][new], minlength=len(first)).tolist()
        spans = self._spans(dataset, score)
        subject = text if criterion else item  # what one order is about
        conditions = []
        rows = np.argsort(condition, kind="stable")
        cuts = np.searchsorted(condition[rows], np.arange(len(first) + 1))
        for code, (start, end) in enumerate(itertools.pairwise(cuts)):
            row, own = first[code], rows[start:end]
            line, name_of = shown[ordering.code[row]], strategy.texts[strategy.code[row]]
            design, drawn = self._design(subject[own], ordering.code[own], shown, planned[code])
            targets = self._sorted(line) if criterion else ()
            scale = self._scale(targets, spans[dataset.code[row]]) if criterion else tuple(map(float, sorted(line)))
            conditions.append(
                Condition(
                    judge.texts[judge.code[row]], dataset.texts[dataset.code[row]], name_of or design,
                    "criteria" if targets else "options", scale, targets, len(line),
                    drawn=drawn or name_of.casefold() == "random",
                )
            )  # fmt: skip
        labels = [() if criterion else tuple(f"{part:g}" for part in line) for line in shown]
        hashed = int(pd.util.hash_pandas_object(frame, index=False).to_numpy().sum(dtype=np.uint64))
        return JudgmentTable(
            run=digest(name, hashed, items["item_id"].tolist())[:12], name=name, conditions=tuple(conditions),
            items=items, orderings=tuple(map(Ordering, map(tuple, shown), labels)), rows=frame,
            planned=tuple(planned),
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
            where = self.where(column.row_of(column.blank), role)
            raise LabError(f"{where}: the cell is empty; every judgment needs its {role}.")
        for code, text in enumerate(column.texts):
            if len(text) > MAX_ID and role not in TEXTS:
                where = self.where(column.row_of(code), role)
                raise LabError(f"{where}: {len(text):,} signs (“{shorten(text, 40)}”); at most {MAX_ID:,} are read.")
        return column

    def where(self, row: int, role: str) -> str:
        return self.table.where(row, self.names.get(role, role))

    def parsed(self, column: Coded, parse: Callable[[str], Value | None], expected: str) -> list[Value]:
        """Each distinct text parsed once. Raises LabError for the first row of one that is not as expected."""
        values = [parse(text) for text in column.texts]
        if None in values:
            code = values.index(None)
            where = self.where(column.row_of(code), column.name)
            raise LabError(f"{where}: “{shorten(column.texts[code])}” is not {expected}.")
        return [value for value in values if value is not None]

    # ---- items

    def _items(self, dataset: Coded) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
        """(items, item of each row, text of each row): an item is one id under one criterion of one data set."""
        ids = self.coded("item_id" if self.kind == "scores" else "text_id", required=True)
        criterion = self.coded("criterion")
        self._refuse_look_alikes(ids)
        text, _ = joint(dataset.code, ids.code)
        item, first = joint(text, criterion.code)
        columns: dict[str, list[Any]] = {
            name: [column.texts[code] or None for code in column.code[first]]
            for name, column in (("item_id", ids), ("dataset", dataset), ("criterion", criterion))
        }
        for role in ("block", "prompt", "candidate", "task", *(role for role in TEXTS if role in self.names)):
            column = self.coded(role)
            columns[role] = [[*column.texts, ""][code] or None for code in self._agreed(column, item, len(first))]
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

    def _refuse_look_alikes(self, ids: Coded) -> None:
        seen: dict[str, int] = {}
        for code, text in enumerate(ids.texts):
            other = seen.setdefault(look_alike(text), code)
            if other != code:
                line = self.table.where(ids.row_of(other)).rpartition(", ")[2]
                raise LabError(
                    f"{self.where(ids.row_of(code), ids.name)}: the id “{shorten(text)}” looks like "
                    f"“{shorten(ids.texts[other])}” in {line}. Write them alike, or tell them apart."
                )

    def _agreed(self, column: Coded, item: np.ndarray, items: int) -> np.ndarray:
        """Code of each item; its rows agree or are empty, as are items with a code beyond the texts. Raises LabError."""
        empty = column.blank if column.blank >= 0 else len(column.texts)
        given = np.flatnonzero(column.code != empty)
        code = np.full(items, empty, dtype=np.int64)
        code[item[given][::-1]] = column.code[given][::-1]  # the first of an item is written last
        odd = given[column.code[given] != code[item[given]]]
        if odd.size:
            row = int(odd[0])
            raise LabError(
                f"{self.where(row, column.name)}: “{shorten(column.texts[column.code[row]])}”, but an earlier row of the "
                f"same item has “{shorten(column.texts[code[item[row]]])}”. Rows of one item have to agree."
            )
        return code

    def _ratings(self, item: np.ndarray, items: int) -> list[dict[str, float]]:
        """People's scores of each item by the column that they stand in."""
        people: list[dict[str, float]] = [{} for _ in range(items)]
        expected = "a number from -1e9 to 1e9; leave the cell empty where there is none"
        for role, name in self.people.items():
            column = self.coded(role)
            values = [*self.parsed(column, _number_or_blank, expected), math.nan]
            for k, code in enumerate(self._agreed(column, item, items)):
                if not math.isnan(values[code]):
                    people[k][name] = values[code]
        return people

    # ---- scores and designs

    def _scores(self, ordering: Coded, shown: Sequence[Any], criterion: Coded | None) -> tuple[Any, Any, Any]:
        """(score of each row, NaN unparsed; the position from 1 of the score or criterion, 0 unparsed; its slot)."""
        column = self.coded("score")
        values = self.parsed(column, _number_or_blank, "a score; leave the cell empty where none was read")
        score = np.asarray(values, dtype=np.float64)[column.code]
        wanted, names = (column, values) if criterion is None else (criterion, criterion.texts)
        pair, first = joint(ordering.code, wanted.code)
        positions, slots = np.zeros(len(first), dtype=np.int64), np.zeros(len(first), dtype=np.int64)
        for k, (order, code) in enumerate(zip(ordering.code[first], wanted.code[first], strict=True)):
            line, name = shown[order], names[code]
            if name in line:
                positions[k] = line.index(name) + 1
                slots[k] = 0 if criterion is None else self._sorted(line).index(name)
            elif criterion is not None or not math.isnan(values[code]):
                cure = (
                    "Give the score itself, not its position." if criterion is None else "Write it as the order does."
                )
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
        if broken.size and self.kind == "criteria":
            row = int(broken[0])
            raise LabError(
                f"{self.where(row, 'score')}: {score[row]:g} is not a whole number, as scores of criteria are."
            )
        by_set = pd.Series(score).groupby(dataset.code)
        return list(zip(dataset.texts, by_set.min().tolist(), by_set.max().tolist(), strict=True))

    def _scale(self, targets: Sequence[str], span: tuple[str, float, float]) -> tuple[float, ...]:
        """The rubric's scale; without one the whole numbers from 1 (or lower) to the greatest score of the data set."""
        if self.rubric is not None and {*targets} <= {criterion.name for criterion in self.rubric.criteria}:
            return tuple(sorted({float(part) for name in targets for part in self.rubric.criterion(name).scores}))
        name, low, high = span
        if math.isnan(low):
            raise LabError(f"Data set “{shorten(name)}”: no row has a score.")
        low = min(low, 1.0)
        if high - low > MAX_SPAN:
            raise LabError(f"Data set “{shorten(name)}”: scores from {low:,g} to {high:,g} are no rubric's scale.")
        return tuple(low + step for step in range(int(max(high - low, 1)) + 1))

    def _design(self, subject: np.ndarray, order: np.ndarray, shown: Sequence[Any], calls: int) -> tuple[str, bool]:
        """(the design, were orders drawn for each subject?) of a condition's rows.

        A design asks every subject in all its orders. Drawn: at least twice as many orders in all as a subject has,
        each asked once.
        """
        kinds, subjects, cells = np.unique(order), np.unique(subject).size, joint(subject, order)[1].size
        lines = [shown[k] for k in kinds]
        name = recognised(lines, self._sorted(lines[0])) if cells == kinds.size * subjects else "custom"
        return name, bool(kinds.size > 1 and kinds.size * subjects >= 2 * cells and calls < 1.5 * cells)

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


def recognised(shown: Sequence[tuple[Any, ...]], options: tuple[Any, ...]) -> str:
    """The design of ``options`` whose orders these are: fixed, descending, balanced, williams, all; else ``custom``."""
    lines = set(shown)
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
    values = [number(part) for part in re.split(r"[\s,;>|]+", text.strip("[]() ,;>|"))]
    if not MIN_OPTIONS <= len(values) <= MAX_OPTIONS or len(set(values)) < len(values):
        return None
    if any(value is None or abs(value) > MAX_SCORE for value in values):
        return None
    return tuple(int(value) if value == int(value) else value for value in values if value is not None)


def _names_shown(text: str) -> tuple[str, ...] | None:
    names = tuple(part.strip() for part in text.split("|"))
    return names if len(names) > 1 and len(set(names)) == len(names) and all(names) else None


def _number_or_blank(text: str) -> float | None:
    return number(text) if text else math.nan


def _repeat(text: str) -> int | None:
    value = number(text or "0")
    return int(value) if value is not None and value == int(value) and 0 <= value <= MAX_SMALL else None
