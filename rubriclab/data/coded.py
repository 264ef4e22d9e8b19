"""Columns of a table of judgments in, codes of their distinct texts out: what every kind of import stands on."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from rubriclab.data.tables import Table, number
from rubriclab.model import orders as designs
from rubriclab.model.data import MAX_ID
from rubriclab.model.judgment import JUDGMENT_COLUMNS, Condition, JudgmentTable, Ordering
from rubriclab.model.text import LabError, digest, look_alike, shorten

TEXTS = ("response", "instruction")
MAX_SMALL = 32_767
MAX_ORDER = 20_000
"""Signs of an order that lists ids or names."""
Value = TypeVar("Value")
Key = TypeVar("Key", bound=Hashable)


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


class CodedTable:
    """A table's columns by role, as codes. ``names``: the column of each role; ``long``: roles of up to MAX_ORDER signs."""

    def __init__(self, table: Table, names: Mapping[str, Any], long: tuple[str, ...] = ()) -> None:
        self.table, self.long = table, long
        self.rows = len(table.rows)
        human = names.get("human") or []
        self.people = {f"human {column}": column for column in ([human] if isinstance(human, str) else human)}
        self.names = {**names, **self.people}

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
        most = MAX_ORDER if role in self.long else MAX_ID
        for code, text in enumerate(column.texts):
            if len(text) > most and role not in TEXTS:
                where = self.where(column.row_of(code), role)
                raise LabError(f"{where}: {len(text):,} signs (“{shorten(text, 40)}”); at most {most:,} are read.")
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

    def refuse_look_alikes(self, ids: Coded) -> None:
        seen: dict[str, int] = {}
        for code, text in enumerate(ids.texts):
            other = seen.setdefault(look_alike(text), code)
            if other != code:
                line = self.table.where(ids.row_of(other)).rpartition(", ")[2]
                raise LabError(
                    f"{self.where(ids.row_of(code), ids.name)}: the id “{shorten(text)}” looks like "
                    f"“{shorten(ids.texts[other])}” in {line}. Write them alike, or tell them apart."
                )

    def agreed(self, column: Coded, item: np.ndarray, items: int) -> np.ndarray:
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

    def repeats(self) -> np.ndarray | None:
        """(rows,): the column that counts repeats, None where there is none."""
        if "repeat" not in self.names:
            return None
        column = self.coded("repeat")
        counts = self.parsed(column, _repeat, f"a whole number from 0 to {MAX_SMALL:,}")
        return np.asarray(np.array(counts, dtype=np.int64)[column.code])

    def conditions(self, *codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(condition of each row, first row of each). Raises LabError for more than fit."""
        condition, first = joint(*codes)
        if len(first) > MAX_SMALL:
            raise LabError(
                f"“{shorten(self.table.name)}” has {len(first):,} conditions (judge x data set x strategy); at most "
                f"{MAX_SMALL:,} are read. Is a column of ids named judge, dataset or strategy?"
            )
        return condition, first

    def judgments(
        self, name: str, conditions: Sequence[Condition], items: pd.DataFrame, orderings: Sequence[Ordering], rows: Rows
    ) -> JudgmentTable:
        """The run: rows sorted by condition and call, calls counted from 0."""
        unknown = dict.fromkeys(("expected", "mass"), np.full(self.rows, np.nan))
        frame = pd.DataFrame({**rows, **unknown}, columns=list(JUDGMENT_COLUMNS))
        frame = frame.iloc[np.lexsort((frame["slot"], frame["call"], frame["condition"]))].reset_index(drop=True)
        new = np.diff(frame["call"].to_numpy(), prepend=-1) != 0
        frame["call"] = np.cumsum(new) - 1
        hashed = int(pd.util.hash_pandas_object(frame, index=False).to_numpy().sum(dtype=np.uint64))
        return JudgmentTable(
            run=digest(name, hashed, items["item_id"].tolist())[:12], name=name, conditions=tuple(conditions),
            items=items, orderings=tuple(orderings), rows=frame,
            planned=tuple(np.bincount(frame["condition"][new], minlength=len(conditions)).tolist()),
            made_with={"imported": self.table.name},
        )  # fmt: skip


Rows = Mapping[str, np.ndarray]


def parted(condition: np.ndarray, conditions: int) -> Iterator[np.ndarray]:
    """The rows of each condition."""
    rows = np.argsort(condition, kind="stable")
    for start, end in itertools.pairwise(np.searchsorted(condition[rows], np.arange(conditions + 1))):
        yield rows[start:end]


def design_of(subject: np.ndarray, order: np.ndarray, lines: Sequence[tuple[int, ...]], calls: int) -> tuple[str, bool]:
    """(the design, were orders drawn for each subject?) of a condition's rows; ``lines[order]``: what stood where, 0..n-1.

    A design asks every subject in all its orders. Drawn: at least twice as many orders in all as a subject has, each
    asked once.
    """
    kinds, subjects, cells = np.unique(order), np.unique(subject).size, joint(subject, order)[1].size
    shown = [lines[k] for k in kinds]
    name = recognised(shown, tuple(sorted(shown[0]))) if cells == kinds.size * subjects else "custom"
    return name, bool(kinds.size > 1 and kinds.size * subjects >= 2 * cells and calls < 1.5 * cells)


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


def distinct_of(values: Sequence[Key]) -> tuple[np.ndarray, list[Key]]:
    """(code of each value, the different values as they first come)."""
    known: dict[Key, int] = {}
    codes = [known.setdefault(value, len(known)) for value in values]
    return np.array(codes, dtype=np.int64), list(known)


def rank_within(group: np.ndarray) -> np.ndarray:
    """How many rows of the same group stand before each row."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    rank = np.empty(len(group), dtype=np.int64)
    rank[order] = np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))
    return rank


def names_shown(text: str) -> tuple[str, ...] | None:
    """Two or more different names between bars, else None."""
    names = ids_shown(text)
    return names if names is not None and len(names) > 1 else None


def ids_shown(text: str) -> tuple[str, ...] | None:
    """One or more different names between bars, else None."""
    names = tuple(part.strip() for part in text.split("|"))
    return names if len(set(names)) == len(names) and all(names) else None


def number_or_blank(text: str) -> float | None:
    return number(text) if text else math.nan


def _repeat(text: str) -> int | None:
    value = number(text or "0")
    return int(value) if value is not None and value == int(value) and 0 <= value <= MAX_SMALL else None
