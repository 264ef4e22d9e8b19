"""One condition's rows of the judgment table in, the same as codes and counts out: what every topic starts from.

Codes hang on contents where it matters: orders are ranked by what they show, units by nothing but their items, so
that no number depends on how a file or a run happened to be sorted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rubriclab.model.judgment import Condition, Ordering, Status, order_text, step_of
from rubriclab.stats.resample import Bools, Floats, Ints, crossed, distinct, sum_by

if TYPE_CHECKING:
    from rubriclab.core.judgments import Judgments

UNPARSED = -2
Names = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Arm:
    """One judge, data set, strategy and variant.

    Of each judgment (rows,): ``item`` 0..n-1 among the arm's own items; ``order`` a row of ``shown``; ``position``
    0-based, of the chosen option or of the scored criterion (UNPARSED where nothing is known); ``score`` an index into
    the scale, -1 where there is none; ``value`` the score in points and ``expected`` the probability-weighted one, NaN
    where unknown; ``ok`` parsed, on the scale, in a known order; ``call``, ``slot``, ``repeat``, ``status`` as stored.

    Of each item (items,): ``item_code`` in the run, ``text`` what one call scores (its own item unless criteria are
    reordered), ``target`` the criterion (an index into ``names``; 0 for score options), ``unit`` an index into
    ``unit_code`` (codes of the run) and ``unit_names`` (64-bit hashes that are the same in other runs).

    Of each order (orders, positions): ``shown``, what stands at each position, an index into ``names`` (the scores,
    or the criteria), -1 for an order of something else; ``order_code``, which ordering of the run it is.
    """

    code: int
    condition: Condition
    run: Judgments = field(repr=False)
    item: Ints
    item_code: Ints
    text: Ints
    unit: Ints
    unit_code: Ints
    unit_names: Names
    order: Ints
    order_code: Ints
    shown: Ints
    names: tuple[Any, ...]
    position: Ints
    target: Ints
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

    @property
    def items(self) -> int:
        return len(self.item_code)

    @property
    def units(self) -> int:
        return len(self.unit_code)

    @property
    def positions(self) -> int:
        return int(self.shown.shape[1])

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
        """What a unit is: ``prompt``, ``block``, ``item``, or ``text`` where one call scores several items of it."""
        if self.run.unit_kind == "item" or self.units == self.items:
            return "item" if self.condition.reorder == "options" else "text"
        return self.run.unit_kind

    @cached_property
    def rows(self) -> Ints | slice:
        """An index of the parsed judgments; a slice of all where all are parsed, which copies nothing."""
        return slice(None) if bool(self.ok.all()) else np.flatnonzero(self.ok)

    @cached_property
    def counts(self) -> Floats:
        """(items, names, positions): how often an option was chosen, or a criterion scored, at a position."""
        what = self.score if self.condition.reorder == "options" else self.target[self.item]
        kept = self.rows
        sizes = len(self.names), self.positions
        return crossed(self.item[kept], self.items, what[kept], sizes[0], self.position[kept], sizes[1])

    @cached_property
    def exposure(self) -> Floats:
        """(items, options, positions): how often an option stood at a position, in all calls that reached the judge."""
        seen = (self.status != Status.ERROR) & (self.shown[self.order, 0] >= 0)
        kept = slice(None) if bool(seen.all()) else np.flatnonzero(seen)
        item, order = self.item[kept], self.order[kept]
        if self.items * len(self.shown) <= 4 * len(self.item):
            shows = (self.shown[:, None, :] == np.arange(len(self.names))[:, None]).reshape(len(self.shown), -1)
            orders = crossed(item, self.items, order, len(self.shown))
            table = (orders @ shows.astype(np.float64)).reshape(-1, len(self.names), self.positions)
            return np.asarray(table, dtype=np.float64)
        columns = [crossed(item, self.items, self.shown[order, p], len(self.names)) for p in range(self.positions)]
        return np.stack(columns, axis=2)

    @cached_property
    def single_order(self) -> bool:
        """Did every option (or criterion) stand at a single position? Then position and score cannot be told apart."""
        seen = (self.counts if self.condition.reorder == "criteria" else self.exposure).sum(axis=0) > 0
        return not bool((seen.sum(axis=1) > 1).any())

    @property
    def texts(self) -> int:
        return int(self.text.max(initial=-1)) + 1

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
        return values if self.units == self.items and self._units_are_items else sum_by(self.unit, values, self.units)

    @cached_property
    def _units_are_items(self) -> bool:
        return bool((self.unit == np.arange(self.items)).all())

    def controls(self) -> list[Arm]:
        """This arm, then the others of its setting, ``fixed`` ones first: where the same order may stand twice."""
        others = [
            arm for arm in self.run.arms if arm.code != self.code and arm.condition.setting == self.condition.setting
        ]
        return [self, *sorted(others, key=lambda arm: arm.condition.strategy != "fixed")]

    def order_label(self, order: int) -> str:
        """An order as files have it; what is unknown in it is left out."""
        return order_text([self.names[name] for name in self.shown[order] if name >= 0])


def build_arm(run: Judgments, code: int, rows: Mapping[str, NDArray[Any]], probabilities: Floats | None) -> Arm:
    """The arm of condition ``code`` from its slice of the table (column -> (rows,))."""
    condition = run.conditions[code]
    options = condition.reorder == "options"
    item_code, item = distinct(rows["item"].astype(np.int64), len(run.items))
    order_code, order = distinct(rows["ordering"].astype(np.int64), len(run.orderings))
    unit_code, unit = distinct(run.unit_of_item[item_code], len(run.unit_names))
    text = distinct(run.text_of_item[item_code], len(run.items))[1]
    names: tuple[Any, ...] = tuple(int(score) if float(score).is_integer() else score for score in condition.scores)
    target = np.zeros(len(item_code), dtype=np.int64)
    if not options:
        criterion = run.items["criterion"].iloc[item_code].astype(str)
        names = condition.targets or tuple(criterion.unique())
        target = np.asarray(pd.Categorical(criterion, categories=list(names)).codes, dtype=np.int64)
    shown = shown_table([run.orderings[k] for k in order_code], names, condition.positions or len(names))
    ranked = by_shown(shown)
    shown, order_code, order = shown[ranked], order_code[ranked], np.argsort(ranked)[order]

    value = rows["score"].astype(np.float64)
    score = score_index(value, np.asarray(condition.scores, dtype=np.float64))
    # Where the chosen option, or the scored criterion, stood follows from the order alone.
    inverse = np.full((len(shown), len(names) + 1), UNPARSED, dtype=np.int64)
    for p in range(shown.shape[1]):
        inverse[np.arange(len(shown)), shown[:, p]] = p
    inverse[:, -1] = UNPARSED
    position = inverse[order, score if options else target[item]]
    ok = (rows["status"] == Status.OK) & (score >= 0) & (position >= 0)
    return Arm(
        code, condition, run, item, item_code, text, unit, unit_code, run.unit_names[unit_code], order, order_code, shown,
        names, np.where(ok, position, UNPARSED) if options else position, target, ok, np.where(ok, score, -1),
        np.where(ok, value, np.nan), rows["expected"].astype(np.float64), rows["mass"].astype(np.float64), probabilities,
        rows["call"], rows["slot"], rows["repeat"], rows["status"],
    )  # fmt: skip


def by_shown(shown: Ints) -> Ints:
    """(orders,): the orders sorted by what they show, so that no number hangs on their codes."""
    return np.lexsort(shown.T[::-1])


def shown_table(orderings: list[Ordering], names: tuple[Any, ...], positions: int) -> Ints:
    """(orderings, positions): the index in ``names`` of what stands where; a row of -1 for an order of other things."""
    rank: dict[Any, int] = {name: k for k, name in enumerate(names)} | {str(name): k for k, name in enumerate(names)}
    table = np.full((len(orderings), positions), -1, dtype=np.int64)
    for row, ordering in enumerate(orderings):
        codes = [rank.get(name, -1) for name in ordering.shown]
        if len(codes) == positions and len(set(codes)) == positions and -1 not in codes:
            table[row] = codes
    return table


def score_index(values: Floats, scores: Floats) -> Ints:
    """The index of each value among the ascending ``scores``; -1 for NaN and what is not on the scale."""
    known = np.where(np.isfinite(values), values, -np.inf)
    if len(scores) and bool((np.diff(scores) == 1.0).all()):
        # Scales without gaps, nearly all: the distance from the lowest score, found by no search.
        above = np.clip(known - scores[0], -1.0, float(len(scores)))
        fits = (above >= 0) & (above < len(scores)) & (above == np.floor(above))
        return np.where(fits, above, -1.0).astype(np.int64)
    if not len(scores):
        return np.full(len(values), -1, dtype=np.int64)
    near = np.clip(np.searchsorted(scores, known - 1e-6), 0, len(scores) - 1)
    return np.where(np.abs(scores[near] - known) <= 1e-5, near, -1)
