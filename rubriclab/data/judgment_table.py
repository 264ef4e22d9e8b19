"""Read a table of judgments, made elsewhere, into the table that every number starts from.

This module holds what all kinds of judgments share. Each kind is a subclass of ``Reader`` that
says what its calls list, what they are about, and what was answered.

Columns are read as integer codes of their distinct texts, and each text is parsed once. So
millions of rows take seconds.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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

TEXTS = ("response", "instruction", "first_response", "second_response")
"""Roles whose cells are texts, so that they may be longer than a name."""
KEPT = {"text": "reply", "prompt": "messages", "finish": "finish"}
"""Column of the calls -> the role that fills it, where the table has one."""
MAX_SMALL = 32_767
"""Conditions and repeats are stored as 16-bit integers."""
MAX_ORDER = 20_000
"""Characters of an order that lists IDs or names: 20 times the longest ID."""
LISTS_OF_NAMES = {("lists", "order"), ("responses", "ordering")}
"""(kind, role) whose cells may have MAX_ORDER characters."""
Kind = Literal["scores", "criteria", "pairs", "lists", "responses"]
Line = tuple[Any, ...]
"""What a call lists, in its order: scores, or names of criteria, answers or candidates."""
Variant = tuple[tuple[str, str | int | float], ...]
"""(factor, level) of each factor that a condition varies."""
Value = TypeVar("Value")
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Coded:
    """One column as codes into its distinct texts, which have no blanks around them."""

    name: str
    code: np.ndarray
    texts: list[str]

    @property
    def blank(self) -> int:
        """The code of the empty text, or -1 if every cell has a text."""
        return self.texts.index("") if "" in self.texts else -1

    def row_of(self, code: int) -> int:
        """Return the first row with that text."""
        return int(np.flatnonzero(self.code == code)[0])

    def text_at(self, row: int) -> str:
        return self.texts[int(self.code[row])]


@dataclass(frozen=True)
class Orders:
    """The orders in which the calls listed things.

    orderings: the different orders, as shown
    column: which of them each row has, and how the table wrote it
    """

    orderings: list[Ordering]
    column: Coded

    @cached_property
    def shown(self) -> list[Line]:
        return [ordering.shown for ordering in self.orderings]

    @cached_property
    def first_with(self) -> dict[Any, int]:
        """Each entry that any order lists -> the first order with it."""
        first: dict[Any, int] = {}
        for code, line in enumerate(self.shown):
            for entry in line:
                first.setdefault(entry, code)
        return first


@dataclass(frozen=True)
class Subjects:
    """What the judgments are about.

    columns: the columns of the items, a cell per item
    item: (rows,) the item of each row
    subject: (rows,) what the row's order is about, which a design asks in all its orders
    alone: whether a call is about one item; otherwise several rows belong to one call
    """

    columns: dict[str, list[Any]]
    item: np.ndarray
    subject: np.ndarray
    alone: bool


@dataclass(frozen=True)
class Answers:
    """What was answered, per row.

    parsed: whether the reply had a score or a choice
    score: NaN where there is none
    position: from 1; 0 for a tie or where nothing was parsed
    slot: which of the call's criteria or answers the score is of, from 0
    """

    parsed: np.ndarray
    score: np.ndarray
    position: np.ndarray
    slot: np.ndarray


@dataclass(frozen=True)
class _Grouped:
    """Rows by their conditions. ``code``: condition per row; ``first``: first row of each."""

    code: np.ndarray
    first: np.ndarray

    def rows(self) -> list[np.ndarray]:
        """Return the rows of each condition, in their order."""
        ends = np.cumsum(np.bincount(self.code))[:-1]
        return np.split(np.argsort(self.code, kind="stable"), ends)


@dataclass(frozen=True)
class _Sorted:
    """The judgments sorted by condition and call.

    frame: the rows, with calls counted from 0
    source: the row of the table that each of them was
    new: whether a row is the first of its call
    """

    frame: pd.DataFrame
    source: np.ndarray
    new: np.ndarray


class Reader(ABC):
    """Reads judgments of one kind. ``names``: the column of each role.

    ``whole`` has each order's entries in their canonical order once ``read`` knows the orders.
    """

    whole: list[Line]
    shown: list[Line]

    def __init__(self, table: Table, kind: Kind, names: Mapping[str, Any]) -> None:
        self.table, self.rows, self.kind = table, table.size, kind
        self.reorder: Reorder = "options" if kind == "scores" else kind
        self.people = {f"human {column}": column for column in as_list(names.get("human"))}
        self.names = {**names, **self.people}
        if "gold" in names and kind in ("pairs", "lists"):
            self.people["gold"] = names["gold"]

    # ---- what each kind says

    @abstractmethod
    def orders(self) -> Orders:
        """Return the orders in which the calls listed things."""

    @abstractmethod
    def about(self, dataset: Coded, order: Coded) -> Subjects:
        """Return the items, and what each row is about."""

    @abstractmethod
    def answers(self, dataset: Coded, order: Coded) -> Answers:
        """Return what was answered in each row."""

    def scale(self, line: Line, dataset: int) -> tuple[float, ...]:
        """Return the scores that a call with these options may give, in a data set by its code."""
        return ()

    def moved(self, order: np.ndarray) -> bool:
        """Return whether a condition's entries appeared at several positions.

        If they did not, its orders cannot have been drawn at random.
        """
        return True

    # ---- the table of judgments

    def read(self, name: str) -> JudgmentTable:
        """Return the judgments under this name. Raises LabError naming row, column and value."""
        judge = self.named("judge", "judge")
        dataset = self.named("dataset", PurePath(self.table.name).stem or "data")
        strategy = self.named("strategy")
        variants, variant = self.variants()
        orders = self.orders()
        order = orders.column
        self.note_entries(orders)
        subjects = self.about(dataset, order)
        answers = self.answers(dataset, order)
        by_condition = self.group_by_condition(judge, dataset, order, strategy, variant)
        repeat = self.repeats(by_condition.code, subjects.item, order.code, alone=subjects.alone)
        call = self.calls_of(by_condition.code, subjects, order.code, repeat)

        conditions = []
        local, distinct = self.orders_as_permutations()
        for row, own in zip(by_condition.first, by_condition.rows(), strict=True):
            permutation = local[order.code[own]]
            design, drawn = design_of(
                subjects.subject[own], permutation, distinct, different(call[own])
            )
            line = self.whole[order.code[row]]
            if len(line) == 1:
                design = "alone"
            stated = strategy.text_at(row)
            moved = drawn and self.moved(order.code[own])
            conditions.append(
                Condition(
                    judge=judge.text_at(row),
                    dataset=dataset.text_at(row),
                    strategy=stated or design,
                    reorder=self.reorder,
                    scores=self.scale(line, dataset.code[row]),
                    targets=line if self.reorder == "criteria" else (),
                    positions=len(line),
                    variant=dict(variants[variant[row]]),
                    drawn=moved or stated.casefold() == "random",
                )
            )
        rows = {
            "condition": by_condition.code,
            "item": subjects.item,
            "ordering": order.code,
            "slot": answers.slot,
            "repeat": repeat,
            "call": call,
            "status": self.status(answers.parsed),
            "score": answers.score,
            "position": answers.position,
            "expected": self.expected(),
            "mass": np.full(self.rows, np.nan),
        }
        judged = self.sort_by_call(rows, alone=subjects.alone)
        return self.as_table(name, judged, subjects, orders, conditions, answers)

    def variants(self) -> tuple[list[Variant], np.ndarray]:
        """Return the different variants, and the code of each row's."""
        column = self.coded("variant")
        codes, variants = distinct_of([variant_of(text) for text in column.texts])
        return variants, codes[column.code]

    def note_entries(self, orders: Orders) -> None:
        """Keep each order as shown and in canonical order. Raises LabError for look-alikes."""
        self.shown = orders.shown
        first_with = orders.first_with
        if self.reorder in ("criteria", "pairs", "lists"):
            self.refuse_look_alikes(orders.column, first_with)
        # Slots and designs count criteria and answers as they first come, but scores by their
        # value and candidates by their name.
        as_they_come = self.reorder in ("criteria", "responses")
        ranked = list(first_with) if as_they_come else sorted(first_with)
        rank = {entry: k for k, entry in enumerate(ranked)}
        self.whole = [tuple(sorted(line, key=rank.__getitem__)) for line in self.shown]

    def orders_as_permutations(self) -> tuple[np.ndarray, list[tuple[int, ...]]]:
        """Return (the permutation of each order, by its code; the different permutations)."""
        permutations = []
        for whole, shown in zip(self.whole, self.shown, strict=True):
            permutations.append(tuple(whole.index(entry) for entry in shown))
        return distinct_of(permutations)

    def group_by_condition(
        self, judge: Coded, dataset: Coded, order: Coded, strategy: Coded, variant: np.ndarray
    ) -> _Grouped:
        """Group the rows by judge, data set, what is listed, strategy and variant.

        A condition's calls list the same options or criteria. Answers and candidates differ from
        call to call, so only their number counts.
        """
        listed: list[Any] = list(self.whole)
        if self.reorder not in ("options", "criteria"):
            listed = [len(line) for line in self.whole]
        sets, _ = distinct_of(listed)
        code, first = joint(judge.code, dataset.code, sets[order.code], strategy.code, variant)
        if len(first) > MAX_SMALL:
            raise refusal(
                self.table.name,
                f" has {len(first):,} conditions (judge x data set x strategy); the limit is "
                f"{MAX_SMALL:,}. Check that the columns judge, dataset and strategy hold no IDs.",
            )
        return _Grouped(code, first)

    def calls_of(
        self, condition: np.ndarray, subjects: Subjects, order: np.ndarray, repeat: np.ndarray
    ) -> np.ndarray:
        """Return (rows,): the number of the call that each row is of."""
        if subjects.alone:
            return by_repeat(joint(condition, subjects.item, order)[0], repeat)
        return joint(condition, subjects.subject, order, repeat)[0]

    def sort_by_call(self, rows: Mapping[str, Any], *, alone: bool) -> _Sorted:
        """Sort the rows by condition and call, and count the calls from 0."""
        frame = pd.DataFrame(rows, columns=list(JUDGMENT_COLUMNS), copy=False)
        condition, call, slot = rows["condition"], rows["call"], rows["slot"]
        source = np.arange(self.rows)
        in_order = alone and (call == source).all() and (condition[1:] >= condition[:-1]).all()
        if not in_order:
            source = np.lexsort((slot, call, condition))
            frame = frame.iloc[source].reset_index(drop=True)
        new = np.diff(frame["call"].to_numpy(), prepend=-1) != 0
        frame["call"] = np.cumsum(new) - 1
        return _Sorted(frame, source, new)

    def kept_calls(self, judged: _Sorted) -> pd.DataFrame | None:
        """Return the calls with the replies and prompts that the table has; None if it has none."""
        columns = ["call", "condition", "status"]
        calls = judged.frame.loc[judged.new, columns].reset_index(drop=True)
        kept = judged.source[judged.new]
        for column_name, role in KEPT.items():
            if role not in self.names:
                continue
            column = self.table.texts(self.names[role])
            empty = compute.equal(column, "").to_numpy()[kept]
            # The texts of a log are hundreds of megabytes, mapped from its file. Do not copy them
            # if they are in order already.
            if empty.any() or not np.array_equal(kept, np.arange(self.rows)):
                column = column.take(pa.array(kept, mask=empty))
            calls[column_name] = column.to_pandas()
        return calls if len(calls.columns) > len(columns) else None

    def as_table(
        self,
        name: str,
        judged: _Sorted,
        subjects: Subjects,
        orders: Orders,
        conditions: Sequence[Condition],
        answers: Answers,
    ) -> JudgmentTable:
        frame = judged.frame
        # The ID is a hash of the rows whatever their order, so that the same file gives the same.
        hashed = int(pd.util.hash_pandas_object(frame, index=False).to_numpy().sum(dtype=np.uint64))
        calls_by_condition = np.bincount(frame["condition"][judged.new], minlength=len(conditions))
        made_with = {"imported": self.table.name}
        if self.table.note:
            made_with["note"] = self.table.note
        return JudgmentTable(
            run=digest(name, hashed, subjects.columns["item_id"])[:12],
            name=name,
            conditions=tuple(conditions),
            items=pd.DataFrame(
                {role: pd.Series(cells, dtype=object) for role, cells in subjects.columns.items()}
            ),
            orderings=tuple(orders.orderings),
            rows=frame,
            planned=tuple(calls_by_condition.tolist()),
            state="finished" if answers.parsed.any() else "failed",
            made_with=made_with,
            calls=self.kept_calls(judged),
        )

    # ---- columns

    def coded(self, role: str, default: str = "", *, required: bool = False) -> Coded:
        """Return a column as codes of its texts, stripped of blanks.

        ``default`` is the text where there is no such column or a cell is empty. Raises LabError
        for an empty cell of a ``required`` column, and for a name that is too long.
        """
        if role not in self.names:
            return Coded(role, np.zeros(self.rows, dtype=np.int64), [default])
        codes, texts = self.table.coded(self.names[role])
        stripped = np.array([text.strip() or default for text in texts], dtype=object)
        merged, distinct = pd.factorize(stripped)
        column = Coded(role, merged[codes].astype(np.int64), list(distinct))
        if required and column.blank >= 0:
            row = column.row_of(column.blank)
            raise self.fault(row, role, f"the cell is empty. Every judgment needs its {role}.")
        self.refuse_long_names(column)
        return column

    def refuse_long_names(self, column: Coded) -> None:
        """Raise LabError for a name that is longer than any page, message or key should carry."""
        if column.name in (*TEXTS, "status", "variant"):
            return
        most = MAX_ORDER if (self.kind, column.name) in LISTS_OF_NAMES else MAX_ID
        for code, text in enumerate(column.texts):
            if len(text) > most:
                words = (
                    f"{len(text):,} characters (“{shorten(text, 40)}”); the limit is {most:,}. "
                    f"Shorten it, or choose another column as {column.name}."
                )
                raise self.fault(column.row_of(code), column.name, words)

    def fault(self, row: int, role: str, words: str) -> LabError:
        """Return an error about a cell, by its row and its role."""
        return self.table.fault(int(row), self.names.get(role, role), words)

    def parsed(
        self, column: Coded, parse: Callable[[str], Value | None], expected: str
    ) -> list[Value]:
        """Return the value of each distinct text; each is parsed once.

        Raises LabError for the first row with a text that ``parse`` does not accept.
        """
        values = []
        for code, text in enumerate(column.texts):
            value = parse(text)
            if value is None:
                row = column.row_of(code)
                raise self.fault(row, column.name, f"“{shorten(text)}” is not {expected}.")
            values.append(value)
        return values

    def named(self, role: str, default: str = "", *, required: bool = False) -> Coded:
        """Return a column as ``coded`` does. Raises LabError for names that look alike too."""
        column = self.coded(role, default, required=required)
        self.refuse_look_alikes(column, {text: code for code, text in enumerate(column.texts)})
        return column

    def refuse_look_alikes(self, column: Coded, names: Mapping[str, int]) -> None:
        """Raise LabError for names that differ in case, blanks or invisible characters alone.

        ``names``: a column's texts or what these list, each with the code of the first text that
        has it.
        """
        where = self.names.get(column.name, column.name)
        self.table.refuse_look_alikes(where, names, lambda name: column.row_of(names[name]))

    def agreed(self, column: Coded, item: np.ndarray, items: int) -> np.ndarray:
        """Return the code of each item, on which its rows have to agree or be empty.

        An item whose rows are all empty has the code of the empty text, or a code beyond the
        texts where there is none. Raises LabError for rows that disagree.
        """
        empty = column.blank if column.blank >= 0 else len(column.texts)
        given = np.flatnonzero(column.code != empty)
        code = np.full(items, empty, dtype=np.int64)
        # In reverse, so that the first row of an item is written last and stays.
        code[item[given][::-1]] = column.code[given][::-1]
        odd = given[column.code[given] != code[item[given]]]
        if odd.size:
            row = int(odd[0])
            this = shorten(column.text_at(row))
            earlier = shorten(column.texts[code[item[row]]])
            words = f"“{this}”, but an earlier row of the same item has “{earlier}”."
            raise self.fault(row, column.name, f"{words} Make the rows of one item agree.")
        return code

    def cells_of_items(self, column: Coded, item: np.ndarray, items: int) -> list[str | None]:
        """Return the text of each item, on which its rows have to agree; None for an empty one."""
        # `agreed` may give the code one beyond the texts: an empty cell.
        texts = [*column.texts, ""]
        return [texts[code] or None for code in self.agreed(column, item, items)]

    def ratings(
        self,
        item: np.ndarray,
        items: int,
        value: Callable[[int, str], float | None],
        expected: Callable[[int], str],
    ) -> list[dict[str, float]]:
        """Return the ratings of each item by rater.

        ``value``: the rating in an item's cell, None for one that is not as ``expected`` says.
        """
        ratings: list[dict[str, float]] = [{} for _ in range(items)]
        for role, rater in self.people.items():
            column = self.coded(role)
            # `agreed` may give the code one beyond the texts: an empty cell.
            texts = [*column.texts, ""]
            for k, code in enumerate(self.agreed(column, item, items)):
                text = texts[code]
                if not text:
                    continue
                given = value(k, text)
                if given is None:
                    row = int(np.flatnonzero((item == k) & (column.code == code))[0])
                    raise self.fault(row, role, f"“{shorten(text)}” {expected(k)}.")
                ratings[k][rater] = given
        return ratings

    def expected(self) -> np.ndarray:
        """Return (rows,): the score that the judge's probabilities mean; NaN for none.

        For pairs it is the probability that the first candidate wins.
        """
        column = self.coded("expected")
        low, high = -limits.MAX_RATING, limits.MAX_RATING
        if self.kind == "pairs":
            low, high = 0.0, 1.0

        def value(text: str) -> float | None:
            try:
                # `float` and not `number`: small probabilities are written as 3e-05.
                given = float(text or "nan")
            except ValueError:
                return None
            return None if given < low or given > high else given

        words = f"a number from {low:g} to {high:g}; leave the cell empty where there is none"
        values = np.array(self.parsed(column, value, words), dtype=np.float64)
        return np.asarray(values[column.code])

    def status(self, parsed: np.ndarray) -> np.ndarray:
        """Return (rows,): OK for a parsed row, else how its call ended, else unparsed.

        Only a file that the lab exported says how calls ended.
        """
        column, known = self.coded("status"), {status.name.lower(): status for status in Status}
        stated = np.array([known.get(text) or Status.UNPARSED for text in column.texts])
        return np.where(parsed, Status.OK, stated[column.code])

    def content(self) -> np.ndarray:
        """Return (rows,): a hash of all cells of a row that have a role."""
        made = np.zeros(self.rows, dtype=np.uint64)
        for column in sorted({name for named in self.names.values() for name in as_list(named)}):
            codes, texts = self.table.coded(column)
            of_text = pd.util.hash_array(np.array(texts, dtype=object), categorize=False)
            # An odd factor near 2**64 / golden ratio (Knuth's multiplicative hash), so that two
            # columns with exchanged cells give different hashes.
            made = made * np.uint64(0x9E3779B97F4A7C15) + of_text[codes]
        return made

    def repeats(
        self, condition: np.ndarray, item: np.ndarray, order: np.ndarray, *, alone: bool
    ) -> np.ndarray:
        """Return (rows,): which repeat of its order each row is, from 0 or as the column says.

        Without a column, repeats of a call about one item (``alone``) are counted by a hash of
        their cells, so that no number depends on the order of the rows. Rows of a call about
        several items belong together as they come. Raises LabError for a column that gives two
        rows the same repeat.
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
            same = self.table.line(first[group[row]])
            words = f"the same judge, item, order and repeat as in {same}."
            raise self.fault(row, "repeat", f"{words} Count the repeats, or leave the column out.")
        return repeat


# ---- designs


def design_of(
    subject: np.ndarray, order: np.ndarray, lines: Sequence[tuple[int, ...]], calls: int
) -> tuple[str, bool]:
    """Return the design of a condition's rows, and whether orders were drawn for each subject.

    ``lines[order]`` is the order of a row as a permutation of 0..n-1. A design asks every subject
    in all its orders. Orders count as drawn if there are at least twice as many in all as a
    subject has, and each cell of subject and order has mostly one call.
    """
    kinds, subjects = pd.unique(order), different(subject)
    cells = different(subject * len(lines) + order)
    shown = [lines[k] for k in kinds]
    name = "custom"
    if cells == kinds.size * subjects:
        name = recognised(shown, tuple(sorted(shown[0])))
    many_orders = kinds.size > 1 and kinds.size * subjects >= 2 * cells
    # Up to 1.5 calls per cell: some logs repeat a part of their calls.
    return name, bool(many_orders and calls < 1.5 * cells)


def recognised(shown: Sequence[Line], options: Line) -> str:
    """Return the strategy whose orders of ``options`` these are; “custom” for none of the lab's."""
    lines = set(shown)
    for kind, about in STRATEGIES.items():
        if kind != "all" and about.orders is not None and set(about.orders(options)) == lines:
            return kind
    return "all" if len(lines) == math.factorial(len(options)) else "custom"


# ---- codes


def joint(*codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (each row's combination of codes, numbered by first appearance; its first row).

    ``np.unique`` would sort millions of rows. Instead the codes are the digits of one number.
    """
    key, size = np.zeros(len(codes[0]), dtype=np.int64), 1
    for code in codes:
        width = int(code.max(initial=0)) + 1
        if width == 1:
            continue
        if size * width >= 1 << 63:  # the number would not fit into 64 bits
            key, size = pd.factorize(key)[0], len(key)
        key, size = key * width + code, size * width
    if size > 4 * len(key):  # a table of all possible combinations would be far too long
        key, size = pd.factorize(key)[0], len(key)
    first = np.full(size, -1, dtype=np.int64)
    # In reverse, so that the first row of a combination is written last and stays.
    first[key[::-1]] = np.arange(len(key))[::-1]
    rows = np.sort(first[first >= 0])
    first[key[rows]] = np.arange(len(rows))
    return first[key], rows


def ranks(code: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Return (rows,): the rank of each row among those of its code, from 0.

    Rows are sorted by ``by``, and as they come where that is equal.
    """
    row = np.lexsort((by, code))
    made = np.empty(len(code), dtype=np.int64)
    made[row] = np.arange(len(code)) - np.searchsorted(code[row], code[row])
    return made


def by_repeat(cell: np.ndarray, repeat: np.ndarray) -> np.ndarray:
    """Return (rows,): call numbers, so that a cell's calls are in the order of their repeats.

    A cell's calls have the row numbers of the cell, so that rows in order keep their numbers.
    """
    call = np.empty(len(cell), dtype=np.int64)
    call[np.lexsort((repeat, cell))] = np.argsort(cell, kind="stable")
    return call


def different(codes: np.ndarray) -> int:
    """Return how many different codes there are; ``np.unique`` takes ten times as long."""
    if codes.max(initial=0) <= 4 * len(codes):
        return int(np.count_nonzero(np.bincount(codes)))
    return int(pd.unique(codes).size)


def distinct_of(values: Sequence[Key]) -> tuple[np.ndarray, list[Key]]:
    """Return (the code of each value, the different values as they first come)."""
    known: dict[Key, int] = {}
    codes = [known.setdefault(value, len(known)) for value in values]
    return np.array(codes, dtype=np.int64), list(known)


# ---- cells


def names_shown(most: int, least: int = 2) -> Callable[[str], Line | None]:
    """Return a reader of ``least`` to ``most`` different names between bars.

    The reader returns None for any other text.
    """

    def names_of(text: str) -> Line | None:
        names = tuple(part.strip() for part in text.split("|"))
        if not all(names) or len(set(names)) < len(names):
            return None
        return names if least <= len(names) <= most else None

    return names_of


def variant_of(text: str) -> Variant:
    """Return the factors and levels that a file of the lab has as JSON.

    Any other text gives none: another tool may have a column of this name.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    levels = value.items() if isinstance(value, dict) else ()
    return tuple((name, level) for name, level in levels if isinstance(level, str | int | float))


def _repeat(text: str) -> int | None:
    value = number(text or "0")
    if value is None or value != int(value) or not 0 <= value <= MAX_SMALL:
        return None
    return int(value)
