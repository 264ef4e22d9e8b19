"""A table of judgments in, the table that every number starts from out: what its kinds have in
common, by codes.

A column is read as codes of its distinct texts, so that millions of rows take seconds; each text is
parsed once.
"""

import json
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as compute

from rubriclab.data import limits
from rubriclab.data.limits import refusal
from rubriclab.data.tables import Table, as_list, number
from rubriclab.model.data import MAX_ID
from rubriclab.model.judgment import (
    JUDGMENT_COLUMNS,
    Condition,
    JudgmentTable,
    Ordering,
    Reorder,
    Status,
)
from rubriclab.model.orders import STRATEGIES
from rubriclab.model.text import LabError, digest, shorten

TEXTS = ("response", "instruction")
KEPT = {"text": "reply", "prompt": "messages", "finish": "finish"}
"""Columns of the calls, and the roles that fill them."""
MAX_SMALL = 32_767
MAX_ORDER = 20_000
"""Signs of an order that lists ids or names."""
LONG = {("lists", "order"), ("responses", "ordering")}
Kind = Literal["scores", "criteria", "pairs", "lists", "responses"]
Line = tuple[Any, ...]
"""What a call lists, in its order: scores, or names of criteria, answers or candidates."""
Value = TypeVar("Value")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Coded:
    """A column as codes into its distinct texts, blanks around them taken off; ``blank``: code of
    the empty text or -1.
    """

    name: str
    code: np.ndarray
    texts: list[str]

    @property
    def blank(self) -> int:
        return self.texts.index("") if "" in self.texts else -1

    def row_of(self, code: int) -> int:
        """The first row with that text."""
        return int(np.flatnonzero(self.code == code)[0])


class Reader:
    """Judgments of one kind. ``names``: the column of each role.

    A kind says what its calls list (``orders``), what they are about (``about``) and what was
    answered (``answers``).
    """

    def __init__(self, table: Table, kind: Kind, names: Mapping[str, Any]) -> None:
        self.table, self.rows, self.kind = table, table.size, kind
        self.reorder: Reorder = "options" if kind == "scores" else kind
        self.people = {f"human {column}": column for column in as_list(names.get("human"))}
        self.names = {**names, **self.people}
        if "gold" in names and kind in ("pairs", "lists"):
            self.people["gold"] = names["gold"]

    def orders(self) -> tuple[list[Ordering], Coded]:
        """(the different orders as shown, the order of each row)."""
        raise NotImplementedError

    def about(
        self, dataset: Coded, order: Coded
    ) -> tuple[dict[str, list[Any]], np.ndarray, np.ndarray]:
        """(columns of the items, item of each row, subject of each row: what one order is
        about).
        """
        raise NotImplementedError

    def answers(
        self, dataset: Coded, order: Coded
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of each row (was it read?, score, position from 1 or 0, slot)."""
        raise NotImplementedError

    def scale(self, line: Line, dataset: int) -> tuple[float, ...]:
        """The scores that a call with these options may give, in a data set by its code."""
        return ()

    def moved(self, order: np.ndarray) -> bool:
        """Whether what a condition's orders list stood at several positions: else nothing was
        drawn.
        """
        return True

    def read(self, name: str) -> JudgmentTable:
        judge = self.named("judge", "judge")
        dataset = self.named("dataset", PurePath(self.table.name).stem or "data")
        strategy, varied = self.named("strategy"), self.coded("variant")
        codes, variants = distinct_of([variant_of(text) for text in varied.texts])
        variant = codes[varied.code]
        orderings, order = self.orders()
        self.shown: list[Line] = [ordering.shown for ordering in orderings]
        first_with: dict[Any, int] = {}
        for code, line in enumerate(self.shown):
            for part in line:
                first_with.setdefault(part, code)
        if self.reorder in ("criteria", "pairs", "lists"):
            self.refuse_look_alikes(order, first_with)
        # Slots and designs count criteria and answers as they first come, all else by value or
        # name.
        ranked = first_with if self.reorder in ("criteria", "responses") else sorted(first_with)
        rank = {part: k for k, part in enumerate(ranked)}
        self.whole: list[Line] = [tuple(sorted(line, key=rank.__getitem__)) for line in self.shown]
        columns, item, subject = self.about(dataset, order)
        read, score, position, slot = self.answers(dataset, order)
        # A condition's calls list the same options or criteria; of answers and candidates only as
        # many.
        same = self.reorder in ("options", "criteria")
        sets = distinct_of([line if same else len(line) for line in self.whole])[0]
        condition, first = joint(judge.code, dataset.code, sets[order.code], strategy.code, variant)
        if len(first) > MAX_SMALL:
            words = (
                f" has {len(first):,} conditions (judge x data set x strategy); at most "
                f"{MAX_SMALL:,} are read."
            )
            raise refusal(
                self.table.name, f"{words} Is a column of ids named judge, dataset or strategy?"
            )
        alone = subject is item  # a call is about one item: repeats tell its rows apart
        repeat = self.repeats(condition, item, order.code, alone=alone)
        if alone:
            call = by_repeat(joint(condition, item, order.code)[0], repeat)
        else:
            call = joint(condition, subject, order.code, repeat)[0]
        lines = zip(self.whole, self.shown, strict=True)
        local, distinct = distinct_of([tuple(map(whole.index, line)) for whole, line in lines])
        conditions = []
        own_rows = np.split(
            np.argsort(condition, kind="stable"), np.cumsum(np.bincount(condition))[:-1]
        )
        for row, own in zip(first, own_rows, strict=True):
            line, name_of = self.whole[order.code[row]], strategy.texts[strategy.code[row]]
            design, drawn = design_of(
                subject[own], local[order.code[own]], distinct, different(call[own])
            )
            drawn = (drawn and self.moved(order.code[own])) or name_of.casefold() == "random"
            conditions.append(
                Condition(
                    judge.texts[judge.code[row]],
                    dataset.texts[dataset.code[row]],
                    name_of or ("alone" if len(line) == 1 else design),
                    self.reorder,
                    self.scale(line, dataset.code[row]),
                    line if self.reorder == "criteria" else (),
                    len(line),
                    dict(variants[variant[row]]),
                    drawn,
                )
            )
        rows = {
            "condition": condition,
            "item": item,
            "ordering": order.code,
            "slot": slot,
            "repeat": repeat,
            "call": call,
            "status": self.status(read),
            "score": score,
            "position": position,
        }
        # Sorted by condition and call, calls counted from 0.
        rows |= {"expected": self.expected(), "mass": np.full(self.rows, np.nan)}
        frame = pd.DataFrame(rows, columns=list(JUDGMENT_COLUMNS), copy=False)
        source = np.arange(self.rows)
        if (condition[1:] < condition[:-1]).any() or not alone or (call != source).any():
            source = np.lexsort((slot, call, condition))
            frame = frame.iloc[source].reset_index(drop=True)
        new = np.diff(frame["call"].to_numpy(), prepend=-1) != 0
        frame["call"] = np.cumsum(new) - 1
        calls = frame.loc[new, ["call", "condition", "status"]].reset_index(drop=True)
        for column_name, role in KEPT.items():
            if role in self.names:
                # Hundreds of megabytes of a log, mapped from its file, are not copied where they
                # stand in order.
                column = self.table.texts(self.names[role])
                kept = source[new]
                empty = compute.equal(column, "").to_numpy()[kept]
                moved = empty.any() or not np.array_equal(kept, np.arange(self.rows))
                calls[column_name] = (
                    column.take(pa.array(kept, mask=empty)) if moved else column
                ).to_pandas()
        hashed = int(pd.util.hash_pandas_object(frame, index=False).to_numpy().sum(dtype=np.uint64))
        return JudgmentTable(
            run=digest(name, hashed, columns["item_id"])[:12],
            name=name,
            conditions=tuple(conditions),
            items=pd.DataFrame(
                {role: pd.Series(cells, dtype=object) for role, cells in columns.items()}
            ),
            orderings=tuple(orderings),
            rows=frame,
            planned=tuple(np.bincount(frame["condition"][new], minlength=len(conditions)).tolist()),
            state="finished" if read.any() else "failed",
            made_with={"imported": self.table.name}
            | ({"note": self.table.note} if self.table.note else {}),
            calls=calls if len(calls.columns) > 3 else None,
        )

    def coded(self, role: str, default: str = "", *, required: bool = False) -> Coded:
        """A column as codes of its texts without blanks around; ``default`` where there is none or
        a cell is empty.
        """
        if role not in self.names:
            return Coded(role, np.zeros(self.rows, dtype=np.int64), [default])
        codes, texts = self.table.coded(self.names[role])
        merged, distinct = pd.factorize(
            np.array([text.strip() or default for text in texts], dtype=object)
        )
        column = Coded(role, merged[codes].astype(np.int64), list(distinct))
        if required and column.blank >= 0:
            raise self.fault(
                column.row_of(column.blank),
                role,
                f"the cell is empty; every judgment needs its {role}.",
            )
        most = MAX_ORDER if (self.kind, role) in LONG else MAX_ID
        for code, text in enumerate(column.texts):
            if len(text) > most and role not in (*TEXTS, "status", "variant"):
                words = f"{len(text):,} signs (“{shorten(text, 40)}”); at most {most:,} are read."
                raise self.fault(column.row_of(code), role, words)
        return column

    def fault(self, row: int, role: str, words: str) -> LabError:
        return self.table.fault(int(row), self.names.get(role, role), words)

    def parsed(
        self, column: Coded, parse: Callable[[str], Value | None], expected: str
    ) -> list[Value]:
        """Each distinct text parsed once. Raises LabError for the first row of one that is not as
        expected.
        """
        values = [parse(text) for text in column.texts]
        if None in values:
            code = values.index(None)
            raise self.fault(
                column.row_of(code),
                column.name,
                f"“{shorten(column.texts[code])}” is not {expected}.",
            )
        return [value for value in values if value is not None]

    def named(self, role: str, default: str = "", *, required: bool = False) -> Coded:
        """As ``coded``; raises LabError for names that look alike."""
        column = self.coded(role, default, required=required)
        self.refuse_look_alikes(column, {text: code for code, text in enumerate(column.texts)})
        return column

    def refuse_look_alikes(self, column: Coded, names: Mapping[str, int]) -> None:
        """Of a column's texts, or of what they list: ``names`` with the code of the first text that
        has each.
        """
        where = self.names.get(column.name, column.name)
        self.table.refuse_look_alikes(where, names, lambda name: column.row_of(names[name]))

    def agreed(self, column: Coded, item: np.ndarray, items: int) -> np.ndarray:
        """Code of each item; its rows agree or are empty, as are items with a code beyond the
        texts. Raises LabError.
        """
        empty = column.blank if column.blank >= 0 else len(column.texts)
        given = np.flatnonzero(column.code != empty)
        code = np.full(items, empty, dtype=np.int64)
        code[item[given][::-1]] = column.code[given][::-1]  # the first of an item is written last
        odd = given[column.code[given] != code[item[given]]]
        if odd.size:
            row = int(odd[0])
            earlier = shorten(column.texts[code[item[row]]])
            words = (
                f"“{shorten(column.texts[column.code[row]])}”, but an earlier row of the same "
                f"item has “{earlier}”"
            )
            raise self.fault(row, column.name, f"{words}. Rows of one item have to agree.")
        return code

    def ratings(
        self,
        item: np.ndarray,
        items: int,
        value: Callable[[int, str], float | None],
        expected: Callable[[int], str],
    ) -> list[dict[str, float]]:
        """What each rater says of each item. ``value``: of an item's cell, None where it is not as
        ``expected``.
        """
        ratings: list[dict[str, float]] = [{} for _ in range(items)]
        for role, rater in self.people.items():
            column = self.coded(role)
            texts = [*column.texts, ""]
            for k, code in enumerate(self.agreed(column, item, items)):
                if texts[code] and (given := value(k, texts[code])) is not None:
                    ratings[k][rater] = given
                elif texts[code]:
                    row = int(np.flatnonzero((item == k) & (column.code == code))[0])
                    raise self.fault(row, role, f"“{shorten(texts[code])}” {expected(k)}.")
        return ratings

    def expected(self) -> np.ndarray:
        """(rows,): the score that the judge's probabilities mean, of pairs the probability that the
        first wins; NaN for none.
        """
        column = self.coded("expected")
        low, high = (0.0, 1.0) if self.kind == "pairs" else (-limits.MAX_RATING, limits.MAX_RATING)

        def value(text: str) -> float | None:
            try:
                given = float(text or "nan")  # small ones are written as 3e-05
            except ValueError:
                return None
            return None if given < low or given > high else given

        words = f"a number from {low:g} to {high:g}; leave the cell empty where there is none"
        values = np.array(self.parsed(column, value, words), dtype=np.float64)
        return np.asarray(values[column.code])

    def status(self, read: np.ndarray) -> np.ndarray:
        """(rows,): OK where a row was read, else how its call ended as a run's own file says it, or
        unparsed.
        """
        column, known = self.coded("status"), {status.name.lower(): status for status in Status}
        said = np.array([known.get(text) or Status.UNPARSED for text in column.texts])
        return np.where(read, Status.OK, said[column.code])

    def content(self) -> np.ndarray:
        """(rows,): a hash of all cells of a row that have a role."""
        made = np.zeros(self.rows, dtype=np.uint64)
        for column in sorted({name for named in self.names.values() for name in as_list(named)}):
            codes, texts = self.table.coded(column)
            of_text = pd.util.hash_array(np.array(texts, dtype=object), categorize=False)
            made = made * np.uint64(0x9E3779B97F4A7C15) + of_text[codes]
        return made

    def repeats(
        self, condition: np.ndarray, item: np.ndarray, order: np.ndarray, *, alone: bool
    ) -> np.ndarray:
        """(rows,): the same order of an item again is a repeat; a column that counts them has to
        tell them apart.

        Without one, repeats of a call that is about one item (``alone``) are counted by a hash of
        what the row says, so that no number hangs on the order of rows; the rows of a call about
        several belong together as they come.
        """
        if "repeat" not in self.names:
            group, first = joint(condition, item, order)
            if len(first) == self.rows:
                return np.zeros(self.rows, dtype=np.int64)
            by = self.content() if alone else np.arange(self.rows)
            return ranks(group, by)
        column = self.coded("repeat")
        counts = self.parsed(column, _repeat, f"a whole number from 0 to {MAX_SMALL:,}")
        repeat = np.asarray(np.array(counts, dtype=np.int64)[column.code])
        group, first = joint(condition, item, order, repeat)
        twice = np.flatnonzero(first[group] != np.arange(self.rows))
        if twice.size:
            row = int(twice[0])
            words = (
                f"the same judge, item, order and repeat as in {self.table.line(first[group[row]])}"
            )
            raise self.fault(row, "repeat", f"{words}. Count the repeats, or leave the column out.")
        return repeat


def design_of(
    subject: np.ndarray, order: np.ndarray, lines: Sequence[tuple[int, ...]], calls: int
) -> tuple[str, bool]:
    """(the design, were orders drawn for each subject?) of a condition's rows; ``lines[order]``:
    what stood where, 0..n-1.

    A design asks every subject in all its orders. Drawn: at least twice as many orders in all as a
    subject has, each asked once.
    """
    kinds, subjects = pd.unique(order), different(subject)
    cells = different(subject * len(lines) + order)
    shown = [lines[k] for k in kinds]
    name = (
        recognised(shown, tuple(sorted(shown[0]))) if cells == kinds.size * subjects else "custom"
    )
    return name, bool(kinds.size > 1 and kinds.size * subjects >= 2 * cells and calls < 1.5 * cells)


def recognised(shown: Sequence[Line], options: Line) -> str:
    """The design of ``options`` whose orders these are: fixed, descending, balanced, williams, all;
    else ``custom``.
    """
    lines = set(shown)
    for kind, about in STRATEGIES.items():
        if kind != "all" and about.orders is not None and set(about.orders(options)) == lines:
            return kind
    return "all" if len(lines) == math.factorial(len(options)) else "custom"


def joint(*codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(code of each row's combination in order of first appearance, first row of each)."""
    key, size = np.zeros(len(codes[0]), dtype=np.int64), 1
    for code in codes:
        width = int(code.max(initial=0)) + 1
        if size * width >= 1 << 63:
            key, size = pd.factorize(key)[0], len(key)
        key, size = (key * width + code, size * width) if width > 1 else (key, size)
    if size > 4 * len(key):  # no table of all that there might be
        key, size = pd.factorize(key)[0], len(key)
    first = np.full(size, -1, dtype=np.int64)
    first[key[::-1]] = np.arange(len(key))[::-1]  # the first of a combination is written last
    rows = np.sort(first[first >= 0])
    first[key[rows]] = np.arange(len(rows))
    return first[key], rows


def ranks(code: np.ndarray, by: np.ndarray) -> np.ndarray:
    """(rows,): which of the rows of its code each is, from 0, sorted by ``by`` and then as they
    come.
    """
    row = np.lexsort((by, code))
    made = np.empty(len(code), dtype=np.int64)
    made[row] = np.arange(len(code)) - np.searchsorted(code[row], code[row])
    return made


def by_repeat(cell: np.ndarray, repeat: np.ndarray) -> np.ndarray:
    """(rows,): numbers of calls: the rows' own, shared out among those of a cell by their
    repeats.
    """
    call = np.empty(len(cell), dtype=np.int64)
    call[np.lexsort((repeat, cell))] = np.argsort(cell, kind="stable")
    return call


def different(codes: np.ndarray) -> int:
    """How many different codes there are; np.unique takes ten times as long."""
    table = codes.max(initial=0) <= 4 * len(codes)
    return int(np.count_nonzero(np.bincount(codes)) if table else pd.unique(codes).size)


def distinct_of(values: Sequence[Key]) -> tuple[np.ndarray, list[Key]]:
    """(code of each value, the different values as they first come)."""
    known: dict[Key, int] = {}
    codes = [known.setdefault(value, len(known)) for value in values]
    return np.array(codes, dtype=np.int64), list(known)


def names_shown(most: int, least: int = 2) -> Callable[[str], Line | None]:
    """A reader of ``least`` to ``most`` different names between bars; it gives None for anything
    else.
    """

    def names_of(text: str) -> Line | None:
        names = tuple(part.strip() for part in text.split("|"))
        return (
            names
            if len(set(names)) == len(names) and all(names) and least <= len(names) <= most
            else None
        )

    return names_of


def variant_of(text: str) -> tuple[tuple[str, str | int | float], ...]:
    """The factors and their levels that a run's own file has as JSON; none for any other text, as
    of another tool's column.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    levels = value.items() if isinstance(value, dict) else ()
    return tuple((name, level) for name, level in levels if isinstance(level, str | int | float))


def _repeat(text: str) -> int | None:
    value = number(text or "0")
    return (
        int(value)
        if value is not None and value == int(value) and 0 <= value <= MAX_SMALL
        else None
    )
