"""Read a table of judgments: find its units, and turn each condition into codes and counts.

A unit is what is independent: all items of a prompt where items share prompts, else a block, else
the item. Its name is a hash of its text, so that the units of two runs can be paired. Codes hang on
contents where it matters: orders are ranked by what they show, units by nothing but their items, so
that no number depends on how a file or a run was sorted.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, NamedTuple, TypeVar, TypeVarTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rubriclab.core.batches import Looked, in_complete_batches, looked
from rubriclab.model.judgment import (
    JUDGMENT_COLUMNS,
    Condition,
    JudgmentTable,
    Ordering,
    Status,
    order_text,
    step_of,
)
from rubriclab.model.looks import ALPHA
from rubriclab.model.passing import no_two_scores, passing_score, score_of_labels
from rubriclab.model.study import ReadingPart
from rubriclab.model.text import LabError, storable
from rubriclab.stats.resample import Bools, Floats, Ints, crossed, distinct, sum_by

TIE = -1
"""Position of a choice that no candidate won."""
UNPARSED = -2
"""Position of a judgment of which nothing is known."""
Names = NDArray[np.uint64]
Made = TypeVar("Made")
More = TypeVarTuple("More")


@dataclass(frozen=True, eq=False)
class Judgments:
    """A run's judgments, read with one choice of units.

    ``auto``, ``item``, ``block`` or ``prompt``.

    Raises LabError where a named choice is missing from the items.
    """

    table: JudgmentTable
    unit: str = "auto"

    def __post_init__(self) -> None:
        if self.unit not in ("auto", "item", "block", "prompt"):
            raise LabError(f"unit is “{self.unit}”; expected auto, item, block or prompt.")
        if self.unit in ("block", "prompt") and not self._named(self.unit):
            raise LabError(
                f"unit is “{self.unit}”, but no item of “{self.table.name}” has one. Use auto or "
                f"item, or name the "
                f"column that holds the {self.unit} when the data are read."
            )

    @property
    def conditions(self) -> tuple[Condition, ...]:
        return self.table.conditions

    @property
    def items(self) -> pd.DataFrame:
        return self.table.items

    @property
    def orderings(self) -> tuple[Ordering, ...]:
        return self.table.orderings

    def labels_of(self, condition: int) -> dict[float, str]:
        """Return the label of each score of a condition's lists.

        Numbers, where a score's label is not the same in every list.
        """
        return self._labels[condition]

    def passing_score(self, condition: int, reading: ReadingPart) -> float:
        """Return the score of a condition's scale that passes.

        Its labels are those of every condition with the same scores: a variant may show letters in
        their place. Raises LabError for ``[reading] passes`` that is neither a label nor a score.
        """
        scores = self.conditions[condition].scores
        return passing_score(scores, self._scores_of_labels.get(scores, {}), reading)

    def check_passes(self, reading: ReadingPart) -> None:
        """Raise LabError for ``[reading] passes`` that no scale of two scores has."""
        two = [code for code, about in enumerate(self.conditions) if len(about.scores) == 2]
        if reading.passes and not two:
            raise LabError(no_two_scores(reading.passes))
        for code in two:
            self.passing_score(code, reading)

    @cached_property
    def _shown_labels(self) -> list[dict[float, set[str]]]:
        """By condition: the labels that its lists show for each score."""
        rows = self.table.rows
        made: list[dict[float, set[str]]] = [{} for _ in self.conditions]
        listed = [about.reorder == "options" for about in self.conditions]
        pairs = rows[["condition", "ordering"]].drop_duplicates()
        for condition, ordering in pairs.itertuples(index=False):
            if not listed[condition]:
                continue
            order = self.orderings[ordering]
            for score, label in zip(order.shown, order.labels, strict=False):
                made[condition].setdefault(float(score), set()).add(label)
        return made

    @cached_property
    def _labels(self) -> list[dict[float, str]]:
        made = []
        for about, labels in zip(self.conditions, self._shown_labels, strict=True):
            named = {score: f"{score:g}" for score in about.scores}
            if all(len(labels.get(score, ())) == 1 for score in about.scores):
                named = {score: next(iter(labels[score])) for score in about.scores}
            made.append(named)
        return made

    @cached_property
    def _scores_of_labels(self) -> dict[tuple[float, ...], dict[str, float]]:
        """By scale: the score that each label stands for."""
        pairs: dict[tuple[float, ...], list[tuple[str, float]]] = {}
        for about, labels in zip(self.conditions, self._shown_labels, strict=True):
            pairs.setdefault(about.scores, []).extend(
                (label, score) for score in sorted(labels) for label in sorted(labels[score])
            )
        return {scores: score_of_labels(given) for scores, given in pairs.items()}

    @property
    def finished(self) -> bool:
        """Return whether there is a verdict about every condition."""
        return all(map(self.has_verdict, range(len(self.conditions))))

    def has_verdict(self, condition: int) -> bool:
        """Return whether there are calls enough for a verdict: all planned ones, or a batch.

        A run that may stop early has its verdict from its first look on.
        """
        known = self.looked_of(condition)
        return self.table.state == "finished" if known is None else known.complete > 0

    @cached_property
    def looked(self) -> tuple[Looked, ...]:
        """The looks at each judge, data set and axis; none where the run is looked at once."""
        return looked(self.table)

    def looked_of(self, condition: int) -> Looked | None:
        """Return the looks at a condition; None where the run is looked at once."""
        for known in self.looked:
            if condition in known.looks.conditions:
                return known
        return None

    @cached_property
    def counted(self) -> JudgmentTable:
        """The run without the rows of unfinished batches, which count in no number."""
        return in_complete_batches(self.table, self.looked)

    @property
    def unit_kind(self) -> str:
        """``prompt``, ``block`` or ``item``."""
        return self._units.kind

    @property
    def unit_of_item(self) -> Ints:
        """(items,): the unit of each item of the run."""
        return self._units.code

    @property
    def unit_names(self) -> Names:
        """(units,): 64-bit hashes, the same for the same text in another run."""
        return self._units.names

    @cached_property
    def arms(self) -> "tuple[Arm, ...]":
        """One arm per condition, in the conditions' order.

        Conditions without a judgment have an empty one.
        """
        rows, probabilities = self.counted.rows, self.counted.probabilities
        condition = rows["condition"].to_numpy()
        columns = {name: rows[name].to_numpy() for name in JUDGMENT_COLUMNS[1:]}
        if not bool((condition[1:] >= condition[:-1]).all()):
            ranked = np.argsort(condition, kind="stable")
            condition, columns = (
                condition[ranked],
                {name: column[ranked] for name, column in columns.items()},
            )
            probabilities = None if probabilities is None else probabilities[ranked]
        cuts = np.searchsorted(condition, np.arange(len(self.conditions) + 1))
        arms = []
        for code, (start, end) in enumerate(itertools.pairwise(cuts)):
            part = {name: column[start:end] for name, column in columns.items()}
            arms.append(
                build_arm(
                    self, code, part, None if probabilities is None else probabilities[start:end]
                )
            )
        return tuple(arms)

    @cached_property
    def raters(self) -> tuple[frozenset[str], ...]:
        """The names of those who rated an item, for each condition; empty where nobody did."""
        of_item = [frozenset(map(str, ratings or {})) for ratings in self.items["ratings"]]
        return tuple(
            frozenset().union(*(of_item[code] for code in arm.item_code)) for arm in self.arms
        )

    @cached_property
    def text_of_item(self) -> Ints:
        """(items,): the first item of what one call scores together.

        The block, or the call; else the item itself.

        Answers that are scored together are the same ones in every call: a batch.
        """
        text = np.arange(len(self.items), dtype=np.int64)
        joint = [code for code, condition in enumerate(self.conditions) if condition.joint]
        if not joint:
            return text
        criteria = all(self.conditions[code].reorder == "criteria" for code in joint)
        if criteria and bool(self.items["block"].notna().all()):
            code = self._blocks[1]
            return np.unique(code, return_index=True)[1].astype(np.int64)[code]
        rows = self.counted.rows[self.counted.rows["condition"].isin(joint)]
        item, call = rows["item"].to_numpy(dtype=np.int64), rows["call"].to_numpy(dtype=np.int64)
        calls, rank = distinct(call, int(call.max(initial=-1)) + 1)
        first = np.full(len(calls), len(self.items), dtype=np.int64)
        np.minimum.at(first, rank, item)
        text[item] = first[rank]
        return text

    @cached_property
    def _units(self) -> "ItemUnits":
        return units_of(self.items, self.text_of_item, self.unit)

    @cached_property
    def _blocks(self) -> tuple[Names, Ints]:
        return _shared(self.items, "block")

    def _named(self, kind: str) -> bool:
        return _is_named(self.items, kind)


class ItemUnits(NamedTuple):
    """What is independent among items.

    kind: ``prompt``, ``block`` or ``item``. ``code`` (items,): the unit of each item. ``names``
    (units,): 64-bit hashes, the same for the same text in another run.
    """

    kind: str
    code: Ints
    names: Names


def units_of(items: pd.DataFrame, text_of_item: Ints, unit: str = "auto") -> ItemUnits:
    """Return the units of a run's items, by a choice that ``Judgments`` explains.

    items: ITEM_COLUMNS and ``unit_text``. text_of_item: (items,) the first item of what one call
    scores together.
    """
    for kind in ("prompt", "block") if unit == "auto" else (unit,):
        if kind == "item" or not _is_named(items, kind):
            continue
        names, code = _shared(items, kind)
        if unit == "auto" and not bool((code[text_of_item] == code).all()):
            # a batch of answers to several prompts: what is scored together is not independent
            continue
        if len(names) < len(items) or unit == kind:
            return ItemUnits(kind, code, names)
    return ItemUnits("item", text_of_item, _hashes(items))


def _is_named(items: pd.DataFrame, kind: str) -> bool:
    return kind in items and bool(items[kind].notna().any())


def _shared(items: pd.DataFrame, kind: str) -> tuple[Names, Ints]:
    """Return names, and the code of each item, by a column's values within each data set.

    Items without a value are on their own.
    """
    key = items["dataset"].astype(str) + "\0" + items[kind].astype(str)
    alone = items[kind].isna().to_numpy()
    code, texts = pd.factorize(key.to_numpy(dtype=object))
    names = hash_names(texts)
    if alone.any():
        code = np.where(alone, len(texts) + np.arange(len(code)), code)
        names = np.concatenate([names, _hashes(items)])
    present, code = distinct(code.astype(np.int64), len(names))
    return names[present], code


def _hashes(items: pd.DataFrame) -> Names:
    """(items,): a name of each item by itself.

    From its text where that is known, else from its data set and id.
    """
    names = items["dataset"].astype(str) + "\0" + items["item_id"].astype(str)
    if "unit_text" in items:
        known = items["unit_text"].notna() & (items["unit_text"].astype(str) != "")
        names = names.where(~known, items["unit_text"].astype(str))
    return hash_names(names.to_numpy(dtype=object))


def hash_names(texts: np.ndarray[Any, Any]) -> Names:
    """64-bit hashes of texts (n,), the same on every machine."""
    try:
        return np.asarray(pd.util.hash_array(texts, categorize=False), dtype=np.uint64)
    except UnicodeEncodeError:  # half a character
        clean = np.array([storable(text) for text in texts], dtype=object)
        return np.asarray(pd.util.hash_array(clean, categorize=False), dtype=np.uint64)


# --------------------------------------------------------------------------------------------- arms
@dataclass(frozen=True, eq=False)
class Calls:
    """The judgments of an arm, one row each; every column is (rows,).

    item: 0..n-1 among the arm's own items.
    order: a row of ``Orders.shown``.
    position: 0-based, of the chosen option or candidate (TIE where none won), or of the scored
        criterion or answer (UNPARSED where nothing is known).
    ok: parsed, on the scale, in a known order.
    score: an index into the scale, -1 where there is none; of a choice the winner (the number of
        positions for a tie).
    value: the score in points. ``expected``: the probability-weighted one. NaN where unknown.
    mass: how much probability the labels of the scale got together.
    probabilities: (rows, scores) of the labels, None where none were asked for.
    call, slot, repeat, status: as stored.
    """

    item: Ints
    order: Ints
    position: Ints
    ok: Bools
    score: Ints
    value: Floats
    expected: Floats
    mass: Floats
    probabilities: Floats | None
    call: NDArray[Any]
    slot: NDArray[Any]
    repeat: NDArray[Any]
    status: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Items:
    """The items of an arm; every column but the last two is (items,).

    item_code: the item of the run.
    text: what one call scores: the item itself, unless a call scores several.
    target: the criterion, or the answer's slot in its batch, as an index into ``Orders.names``;
        else 0.
    unit: an index into ``unit_code`` and ``unit_names``.
    unit_code: (units,) the unit of the run.
    unit_names: (units,) 64-bit hashes that are the same in other runs.
    """

    item_code: Ints
    text: Ints
    target: Ints
    unit: Ints
    unit_code: Ints
    unit_names: Names


@dataclass(frozen=True, eq=False)
class Orders:
    """The orders of an arm.

    order_code: (orders,) which ordering of the run each is; one of them where several are equal.
    shown: (orders, positions) what is at each position, an index into ``names``; -1 for an order of
        something else.
    names: the scores, the criteria, the slots 1..k of a batch, or the numbers of examples. Empty
        for candidates: these are known by the rank of their names, so that comparisons of other
        candidates share orders.
    """

    order_code: Ints
    shown: Ints
    names: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Arm:
    """One judge, data set, strategy and variant: a condition with its judgments.

    The columns of its parts can be read from the arm itself: ``arm.score`` is
    ``arm.calls.score``.
    """

    code: int
    condition: Condition
    run: Judgments = field(repr=False)
    calls: Calls = field(repr=False)
    of_items: Items = field(repr=False)
    of_orders: Orders = field(repr=False)

    @property
    def items(self) -> int:
        return len(self.item_code)

    @property
    def units(self) -> int:
        return len(self.unit_code)

    @property
    def positions(self) -> int:
        return int(self.shown.shape[1])

    @cached_property
    def alpha(self) -> float:
        """What p values about this arm are compared with: 0.05, or less at an early look."""
        known = self.run.looked_of(self.code)
        return ALPHA if known is None else known.alpha

    @property
    def level(self) -> float:
        """The level of intervals about this arm: 0.95, or more at an early look."""
        return 1 - self.alpha

    @property
    def scores(self) -> Floats:
        """The scale in points, ascending, (scores,)."""
        return np.asarray(self.condition.scores, dtype=np.float64)

    @property
    def step(self) -> float:
        """One step of the scale, in points."""
        return step_of(self.condition.scores)

    @property
    def unit_kind(self) -> str:
        """What a unit is: ``prompt``, ``block``, ``item``, or ``text`` where one call scores
        several items of it.
        """
        if self.run.unit_kind == "item" or self.units == self.items:
            return "text" if self.condition.reorder in ("criteria", "responses") else "item"
        return self.run.unit_kind

    @property
    def listed(self) -> int:
        """How many things an order lists: scores, criteria, answers or candidates."""
        return len(self.names) or self.positions

    @cached_property
    def rows(self) -> Ints | slice:
        """An index of the parsed judgments; a slice where all are parsed, which copies nothing."""
        return slice(None) if bool(self.ok.all()) else np.flatnonzero(self.ok)

    @cached_property
    def counts(self) -> Floats:
        """(items, listed, positions): how often an option was chosen at a position; no ties.

        For criteria: how often each was scored there.
        """
        what = (
            self.target[self.item]
            if self.condition.reorder in ("criteria", "responses")
            else self.score
        )
        kept = (
            np.flatnonzero(self.ok & (self.position != TIE))
            if self.condition.chooses
            else self.rows
        )
        sizes = self.listed, self.positions
        return crossed(
            self.item[kept], self.items, what[kept], sizes[0], self.position[kept], sizes[1]
        )

    @cached_property
    def exposure(self) -> Floats:
        """(items, listed, positions): how often an option was at a position.

        In all calls that reached the judge.
        """
        seen = (self.status != Status.ERROR) & (self.shown[self.order, 0] >= 0)
        kept = slice(None) if bool(seen.all()) else np.flatnonzero(seen)
        item, order = self.item[kept], self.order[kept]
        if self.items * len(self.shown) <= 4 * len(self.item):
            at_position = self.shown[:, None, :] == np.arange(self.listed)[:, None]
            # The width is spelled out: of a run without calls there is no order to tell it by.
            shows = at_position.reshape(len(self.shown), self.listed * self.positions)
            orders = crossed(item, self.items, order, len(self.shown))
            table = (orders @ shows.astype(np.float64)).reshape(-1, self.listed, self.positions)
            return np.asarray(table, dtype=np.float64)
        columns = [
            crossed(item, self.items, self.shown[order, p], self.listed)
            for p in range(self.positions)
        ]
        return np.stack(columns, axis=2)

    @cached_property
    def single_order(self) -> bool:
        """Return whether every option (or criterion) was at a single position.

        Position and score cannot then be separated.
        """
        seen = (self.counts if self.condition.joint else self.exposure).sum(axis=0) > 0
        return not bool((seen.sum(axis=1) > 1).any())

    def lacking(self, otherwise: str) -> str:
        """Return why there is no number about orders (a key of the reasons), or ``otherwise``."""
        if not self.ok.any():
            return "nothing_parsed"
        return "single_order" if self.single_order else otherwise

    @property
    def texts(self) -> int:
        """How many texts there are: what one call scores."""
        return int(self.text.max(initial=-1)) + 1

    @cached_property
    def answers(self) -> int:
        """How many answers there are.

        One under several criteria, each in a call of its own, counts once.
        """
        apart = self.condition.reorder in ("options", "bare", "examples")
        return (
            int(self.run.items["item_id"].iloc[self.item_code].nunique()) if apart else self.texts
        )

    @cached_property
    def text_code(self) -> Ints:
        """(texts,): the text of the run, the code of its first item there."""
        code = np.zeros(self.texts, dtype=np.int64)
        code[self.text] = self.run.text_of_item[self.item_code]
        return code

    @cached_property
    def text_unit(self) -> Ints:
        """(texts,): the unit of each text."""
        unit = np.zeros(self.texts, dtype=np.int64)
        unit[self.text] = self.unit
        return unit

    def by_unit(self, values: Floats) -> Floats:
        """Sums of ``values`` (items, ...) over the items of each unit, (units, ...)."""
        return (
            values
            if self.units == self.items and self._units_are_items
            else sum_by(self.unit, values, self.units)
        )

    @cached_property
    def _units_are_items(self) -> bool:
        return bool((self.unit == np.arange(self.items)).all())

    def of_run(self, values: Floats) -> Floats:
        """``values`` (items,) where the run has the items, (items of the run,); NaN elsewhere."""
        whole = np.full(len(self.run.items), np.nan)
        whole[self.item_code] = values
        return whole

    @cached_property
    def made(self) -> dict[Any, Any]:
        """What functions that run ``once`` per arm have returned."""
        return {}

    def controls(self) -> "list[Arm]":
        """Return this arm, then the others of its setting, ``fixed`` ones first.

        These may have asked the same order twice.
        """
        own = self.condition.setting
        others = [
            arm for arm in self.run.arms if arm.code != self.code and arm.condition.setting == own
        ]
        return [self, *sorted(others, key=lambda arm: arm.condition.strategy != "fixed")]

    def order_label(self, order: int) -> str:
        """Return an order as files have it, without what is unknown.

        Candidates: the ranks of their names, from 1.
        """
        if not self.names:
            return order_text((self.shown[order] + 1).tolist())
        return order_text([self.names[name] for name in self.shown[order] if name >= 0])

    # The columns of the parts, under their own names.
    @property
    def item(self) -> Ints:
        return self.calls.item

    @property
    def order(self) -> Ints:
        return self.calls.order

    @property
    def position(self) -> Ints:
        return self.calls.position

    @property
    def ok(self) -> Bools:
        return self.calls.ok

    @property
    def score(self) -> Ints:
        return self.calls.score

    @property
    def value(self) -> Floats:
        return self.calls.value

    @property
    def expected(self) -> Floats:
        return self.calls.expected

    @property
    def mass(self) -> Floats:
        return self.calls.mass

    @property
    def probabilities(self) -> Floats | None:
        return self.calls.probabilities

    @property
    def call(self) -> NDArray[Any]:
        return self.calls.call

    @property
    def slot(self) -> NDArray[Any]:
        return self.calls.slot

    @property
    def repeat(self) -> NDArray[Any]:
        return self.calls.repeat

    @property
    def status(self) -> NDArray[Any]:
        return self.calls.status

    @property
    def item_code(self) -> Ints:
        return self.of_items.item_code

    @property
    def text(self) -> Ints:
        return self.of_items.text

    @property
    def target(self) -> Ints:
        return self.of_items.target

    @property
    def unit(self) -> Ints:
        return self.of_items.unit

    @property
    def unit_code(self) -> Ints:
        return self.of_items.unit_code

    @property
    def unit_names(self) -> Names:
        return self.of_items.unit_names

    @property
    def order_code(self) -> Ints:
        return self.of_orders.order_code

    @property
    def shown(self) -> Ints:
        return self.of_orders.shown

    @property
    def names(self) -> tuple[Any, ...]:
        return self.of_orders.names


def label_of(score: float) -> float:
    """Return a score as rows name it: whole ones as whole numbers."""
    return int(score) if float(score).is_integer() else score


def once(work: Callable[[Arm, *More], Made]) -> Callable[[Arm, *More], Made]:
    """Compute ``work`` once per arm and what else it is given, whichever topics ask for it."""

    @wraps(work)
    def kept(arm: Arm, *more: *More) -> Made:
        key = (work, *more)
        if key not in arm.made:
            arm.made[key] = work(arm, *more)
        made: Made = arm.made[key]
        return made

    return kept


def widest(arms: Iterable[Arm]) -> Arm:
    """Return the arm with the most orders, of several the first.

    Numbers about several arms are stored under it.
    """
    return max(arms, key=lambda arm: (len(arm.shown), -arm.code))


def grouped(arms: Iterable[Arm], key: Callable[[Condition], Any]) -> list[list[Arm]]:
    """Group arms whose conditions have the same ``key``, in the order of their first arms."""
    together: dict[Any, list[Arm]] = {}
    for arm in arms:
        together.setdefault(key(arm.condition), []).append(arm)
    return list(together.values())


def build_arm(
    run: Judgments, code: int, rows: Mapping[str, NDArray[Any]], probabilities: Floats | None
) -> Arm:
    """Return the arm of condition ``code`` from its slice of the table: column -> (rows,)."""
    condition = run.conditions[code]
    item_code, item = distinct(rows["item"].astype(np.int64), len(run.items))
    names = _listed(run, condition, item_code)
    items = _items(run, condition, names, item_code, item, rows["slot"])
    orders, order, fits = _orders(run, condition, names, rows, item_code, item)
    calls = _calls(condition, rows, probabilities, items, item, orders, order, fits)
    return Arm(
        code=code, condition=condition, run=run, calls=calls, of_items=items, of_orders=orders
    )


def _listed(run: Judgments, condition: Condition, item_code: Ints) -> tuple[Any, ...]:
    """Return what an order lists: scores, criteria, slots of a batch; nothing for candidates."""
    if condition.reorder == "criteria":
        criterion = run.items["criterion"].iloc[item_code].astype(str)
        return condition.targets or tuple(criterion.unique())
    if condition.reorder in ("responses", "examples"):
        return tuple(range(1, condition.positions + 1))
    if condition.chooses:
        return ()
    return tuple(map(label_of, condition.scores))


def _items(
    run: Judgments,
    condition: Condition,
    names: tuple[Any, ...],
    item_code: Ints,
    item: Ints,
    slot: NDArray[Any],
) -> Items:
    """Return the items of an arm. ``item``, ``slot``: (rows,) of each judgment."""
    unit_code, unit = distinct(run.unit_of_item[item_code], len(run.unit_names))
    target = np.zeros(len(item_code), dtype=np.int64)
    if condition.reorder == "criteria":
        criterion = run.items["criterion"].iloc[item_code].astype(str)
        codes = pd.Categorical(criterion, categories=list(names)).codes
        target = np.asarray(codes, dtype=np.int64)
    elif condition.reorder == "responses":
        target[item] = slot
    return Items(
        item_code=item_code,
        text=distinct(run.text_of_item[item_code], len(run.items))[1],
        target=target,
        unit=unit,
        unit_code=unit_code,
        unit_names=run.unit_names[unit_code],
    )


def _orders(
    run: Judgments,
    condition: Condition,
    names: tuple[Any, ...],
    rows: Mapping[str, NDArray[Any]],
    item_code: Ints,
    item: Ints,
) -> tuple[Orders, Ints, Bools]:
    """Return the orders of an arm, (rows,) the order of each judgment, and whether it fits.

    A judgment of candidates does not fit where its order shows other candidates than its item has.
    """
    order_code, order = distinct(rows["ordering"].astype(np.int64), len(run.orderings))
    orderings = [run.orderings[k] for k in order_code]
    fits = np.ones(len(item), dtype=bool)
    match condition.reorder:
        case "responses":
            position, slot = rows["position"].astype(np.int64) - 1, rows["slot"].astype(np.int64)
            shown = batch_table(order, position, slot, len(orderings), condition.positions)
        case "pairs" | "lists":
            shown, sets = candidate_table(orderings, condition.positions)
            candidates = run.items["candidate"].iloc[item_code]
            own = candidates.to_numpy(dtype=object)[item]
            fits = np.asarray(candidates.isna())[item] | (own == sets[order])
        case "bare":
            shown = np.zeros((len(orderings), 1), dtype=np.int64)
        case _:
            shown = shown_table(orderings, names, condition.positions or len(names))
    if condition.reorder in ("options", "criteria", "examples"):
        ranked = by_shown(shown)
        shown, order_code, order = shown[ranked], order_code[ranked], np.argsort(ranked)[order]
    else:  # orders of other answers that put them in the same positions are one order
        shown, first, same = np.unique(shown, axis=0, return_index=True, return_inverse=True)
        order_code, order = order_code[first], same.ravel()[order]
    return Orders(order_code=order_code, shown=shown, names=names), order, fits


def _calls(
    condition: Condition,
    rows: Mapping[str, NDArray[Any]],
    probabilities: Floats | None,
    items: Items,
    item: Ints,
    orders: Orders,
    order: Ints,
    fits: Bools,
) -> Calls:
    """Return the judgments of an arm. ``fits``: (rows,) see ``_orders``."""
    answered = rows["status"] == Status.OK
    if condition.chooses:
        value = np.full(len(item), np.nan)
        stated = rows["position"].astype(np.int64) - 1
        score, on_scale = _winner(condition, stated, orders.shown[order])
        ok = answered & fits & on_scale
        position = np.where(ok, stated, UNPARSED)
    else:
        value = rows["score"].astype(np.float64)
        score = score_index(value, np.asarray(condition.scores, dtype=np.float64))
        position = _position(condition, orders, order, score, items.target[item])
        ok = answered & (score >= 0) & (position >= 0)
        if condition.reorder not in ("criteria", "responses"):
            position = np.where(ok, position, UNPARSED)
    return Calls(
        item=item,
        order=order,
        position=position,
        ok=ok,
        score=np.where(ok, score, -1),
        value=np.where(ok, value, np.nan),
        expected=rows["expected"].astype(np.float64),
        mass=rows["mass"].astype(np.float64),
        probabilities=probabilities,
        call=rows["call"],
        slot=rows["slot"],
        repeat=rows["repeat"],
        status=rows["status"],
    )


def _winner(condition: Condition, position: Ints, shown: Ints) -> tuple[Ints, Bools]:
    """Return (rows,) the candidate that won, the number of positions for a tie; and if it is valid.

    position: (rows,) 0-based, TIE for none. shown: (rows, positions).
    """
    n = condition.positions
    known_order = shown[:, 0] >= 0
    valid = (position >= TIE) & (position < n) & known_order
    row = np.arange(len(position))
    winner = shown[row, np.clip(position, 0, n - 1)]
    return np.where(position < 0, n, winner), valid


def _position(condition: Condition, orders: Orders, order: Ints, score: Ints, target: Ints) -> Ints:
    """(rows,): where the chosen option, or the scored criterion or answer, was in the list.

    It follows from the order alone. ``score``, ``target``: (rows,).
    """
    if condition.reorder in ("bare", "examples"):  # a score has no place among what is listed
        return np.zeros(len(score), dtype=np.int64)
    shown = orders.shown
    position_of = np.full((len(shown), len(orders.names) + 1), UNPARSED, dtype=np.int64)
    for p in range(shown.shape[1]):
        position_of[np.arange(len(shown)), shown[:, p]] = p
    position_of[:, -1] = UNPARSED  # an index of -1 is no option: it must not find one
    if condition.reorder == "options":
        return np.asarray(position_of[order, score])
    return np.asarray(position_of[order, target])


def batch_table(order: Ints, position: Ints, slot: Ints, orderings: int, k: int) -> Ints:
    """(orderings, k): the slot at each position, from rows (order, position, slot).

    -1 where not all k are known.
    """
    table = np.full((orderings, k), -1, dtype=np.int64)
    known = (position >= 0) & (position < k) & (slot >= 0) & (slot < k)
    table[order[known], position[known]] = slot[known]
    table[(np.sort(table, axis=1) != np.arange(k)).any(axis=1)] = -1
    return table


def candidate_table(orderings: list[Ordering], k: int) -> tuple[Ints, NDArray[Any]]:
    """Return (orderings, k) the rank of the name at each position, and (orderings,) the names.

    -1 for an order of other than k names.
    """
    table, sets = (
        np.full((len(orderings), k), -1, dtype=np.int64),
        np.empty(len(orderings), dtype=object),
    )
    for row, ordering in enumerate(orderings):
        shown = [str(name) for name in ordering.shown]
        names = sorted(shown)
        sets[row] = "|".join(names)
        if len(set(names)) == len(names) == k:
            table[row] = [names.index(name) for name in shown]
    return table, sets


def by_shown(shown: Ints) -> Ints:
    """(orders,): the orders sorted by what they show, so that no number depends on their codes."""
    return np.lexsort(shown.T[::-1])


def shown_table(orderings: list[Ordering], names: tuple[Any, ...], positions: int) -> Ints:
    """(orderings, positions): the index in ``names`` of what is at each position.

    A row of -1 for an order of other things.
    """
    rank: dict[Any, int] = {name: k for k, name in enumerate(names)} | {
        str(name): k for k, name in enumerate(names)
    }
    table = np.full((len(orderings), positions), -1, dtype=np.int64)
    for row, ordering in enumerate(orderings):
        codes = [rank.get(name, -1) for name in ordering.shown]
        if len(codes) == positions and len(set(codes)) == positions and -1 not in codes:
            table[row] = codes
    return table


def score_index(values: Floats, scores: Floats) -> Ints:
    """Return the index of each value among the ascending ``scores``.

    -1 for NaN and for what is not on the scale.
    """
    if not len(scores):
        return np.full(len(values), -1, dtype=np.int64)
    known = np.where(np.isfinite(values), values, -np.inf)
    near = np.clip(np.searchsorted(scores, known - 1e-6), 0, len(scores) - 1)
    return np.where(np.abs(scores[near] - known) <= 1e-5, near, -1)
