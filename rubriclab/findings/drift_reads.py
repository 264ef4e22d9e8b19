"""Judgments of one judge at two times as cells: the same items in the same orders, then and now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rubriclab.findings.cure_reads import Order, likely_values, named_values, order_patterns
from rubriclab.findings.effects import step
from rubriclab.findings.frame import Bools, ok_rows, units
from rubriclab.findings.matching import item_keys, why_not
from rubriclab.findings.shift import GIVEN
from rubriclab.findings.topic import about, clarity, setting
from rubriclab.model import Arm, LabError, RunData
from rubriclab.model.language import tr
from rubriclab.model.wording import many, plural
from rubriclab.stats.drift import MIN_PARTS, Cells
from rubriclab.stats.inference import Floats, Ints, ratio
from rubriclab.stats.shift import MIN_UNITS, direction

COLUMNS = 64
"""With more orders than that they were drawn item by item, and cells are laid out item by item."""


@dataclass(frozen=True)
class Reads:
    """The judgments of a judge in one setting, row by row: unread ones have NaN values.

    ``item``: codes into ``data.items``; ``order``: codes into ``orders``; ``named``: the score, of a pair the share for
    its first candidate; ``likely``: by token probabilities, NaN without any.
    """

    data: RunData
    arm: Arm
    item: Ints
    order: Ints
    orders: tuple[Order, ...]
    named: Floats
    likely: Floats

    @property
    def ok(self) -> Bools:
        return np.isfinite(self.named)

    @property
    def given(self) -> bool:
        """Do nearly all readable replies come with token probabilities?"""
        return bool(self.ok.any()) and float(np.isfinite(self.likely[self.ok]).mean()) >= GIVEN

    def value(self, likely: bool) -> Floats:
        return self.likely if likely else self.named

    def only(self, kept: Bools) -> Reads:
        parts = {name: getattr(self, name)[kept] for name in ("item", "order", "named", "likely")}
        return replace(self, **parts)

    def in_orders(self, orders: frozenset[Order]) -> Reads:
        inside = np.array([order in orders for order in self.orders], dtype=bool)
        return self.only(inside[self.order])


@dataclass(frozen=True)
class Paired:
    """``cells``: see ``stats.drift``; ``names``: of the contrasts; ``item``: of each row the item's code then.

    ``n_cells``: pairs of cells; ``left_out``: items of the later run without one; ``changed``: items whose text is
    another one; ``unread``: share of unread replies about these items, (then, now).
    """

    cells: Cells
    names: tuple[str, ...]
    item: Ints
    unit: str
    n_cells: int
    orders: int
    left_out: int
    changed: int
    unread: tuple[float, float]
    likely: bool


def arm_of(data: RunData, arm: int | None, like: Arm | None = None) -> Arm:
    """The arm asked for, by its number; else the clearest of the setting of ``like``, or of the only setting.

    Raises LabError, with the arms there are, where that is not one.
    """
    listed = "; ".join(f"{code} = {one}" for code, one in enumerate(data.arms))
    if arm is not None:
        if not 0 <= arm < len(data.arms):
            raise LabError(tr("There is no arm {arm}; “{name}” has {listed}.", arm=arm, name=data.name, listed=listed))
        return data.arms[arm]
    fits = [one for one in data.arms if like is None or not why_not(like, one)]
    if like is not None:
        fits = [one for one in fits if (one.judge, one.variant) == (like.judge, like.variant)] or fits
    if not fits:
        why = why_not(like, data.arms[0]) if like is not None else ""
        raise LabError(tr("“{name}” cannot be set beside the other run. {why}", name=data.name, why=why).rstrip())
    if len({setting(one) for one in fits}) > 1:
        raise LabError(
            tr(
                "“{name}” has several judges or settings: say which with an arm's number: {listed}.",
                name=data.name,
                listed=listed,
            )
        )
    return min(fits, key=clarity)


def reads_of_setting(data: RunData, arm: Arm) -> Reads:
    """All judgments of an arm's setting: its judge, data, variant and scale, in whatever orders.

    Raises LabError for lists of three or more, and where there is no judgment.
    """
    if arm.axis in ("listwise", "batch"):
        raise LabError(
            tr(
                "Drift is told of score options, criteria and pairs; of lists of three or more and of batches it "
                "is not."
            )
        )
    same = {
        code
        for code, one in enumerate(data.arms)
        if (setting(one), one.axis, one.scores, one.n_positions)
        == (setting(arm), arm.axis, arm.scores, arm.n_positions)
    }
    rows = data.judgments[data.judgments["arm"].isin(same)]
    if not len(rows):
        raise LabError(tr("“{name}” has no judgment of {arm}.", name=data.name, arm=about(arm)))
    pattern, patterns = order_patterns(data, rows, arm)
    named = np.where(ok_rows(rows), named_values(rows, arm, pattern, patterns), np.nan)
    likely = np.where(np.isfinite(named), likely_values(data, rows, arm, pattern, patterns), np.nan)
    return Reads(data, arm, rows["item"].to_numpy().astype(np.int64), pattern, patterns, named, likely)


def paired(then: Reads, now: Reads, *, likely: bool | None = None) -> Paired:
    """The cells that were read at both times. Raises LabError where there is none.

    ``likely``: by token probabilities or by the score named; None takes the first where both times have them.
    """
    if why := why_not(then.arm, now.arm):
        raise LabError(tr("These two runs cannot be compared. {why}", why=why))
    which = (then.given and now.given) if likely is None else likely
    item, back, changed = _same_items(then, now)
    codes = {order: code for code, order in enumerate(dict.fromkeys((*then.orders, *now.orders)))}
    orders = tuple(codes)
    sides = []
    for reads, keys in ((then, item), (now, back)):
        sides.append((keys[reads.item], np.array([codes[o] for o in reads.orders])[reads.order], reads.value(which)))
    one, two = (_side(*side, len(orders)) for side in sides)
    both = np.intersect1d(one.key, two.key)
    if not len(both):
        raise LabError(tr("The two runs share no item that was read in the same order at both times."))
    where = np.unique(both // len(orders))
    cells, names = _cells(then, where, both, orders, _columns(one, two, both))
    return Paired(
        cells=cells,
        names=names,
        item=where,
        unit=units(then.data.items, then.data.unit).kind,
        n_cells=len(both),
        orders=len(np.unique(both % len(orders))),
        left_out=int(len(np.unique(now.item)) - len(where)),
        changed=changed,
        unread=_unread(sides),
        likely=which,
    )


def cautions(both: Paired, first: Reads, later: Reads) -> list[str]:
    """What must be known of the cells of two times."""
    said = []
    if both.changed:
        changed = many(both.changed, "item")
        said.append(tr("{items} {items:has|have} another text than then and are left out.", items=changed))
    if max(both.unread) > 0:
        said.append(
            tr(
                "Unread replies: {then:.1%} then, {now:.1%} now; what was unread is left out.",
                then=both.unread[0],
                now=both.unread[1],
            )
        )
    if first.arm.judge != later.arm.judge:
        said.append(tr("Two judges by name: “{then}” then, “{now}” now.", then=first.arm.judge, now=later.arm.judge))
    if both.cells.n_units < MIN_UNITS:
        said.append(
            tr(
                "{n} {units} are too few for an interval; {needed} are needed.",
                n=both.cells.n_units,
                units=plural(both.unit, 2),
                needed=MIN_UNITS,
            )
        )
    elif both.cells.n_units < MIN_PARTS:
        said.append(
            tr(
                "Shares of the squared change and the correlation have an interval from {least} {units} on.",
                least=MIN_PARTS,
                units=plural(both.unit, 2),
            )
        )
    return said


def _cells(
    then: Reads, where: Ints, both: Ints, orders: tuple[Order, ...], columns: Mapping[str, Floats]
) -> tuple[Cells, tuple[str, ...]]:
    """The cells ``both`` of the items ``where`` as a table, and the names of the contrasts."""
    at, column, code, width = _laid_out(both, len(orders))
    names, by_order, factors = contrasts_of(then.arm, orders)
    shape = (len(where), width)
    found = units(then.data.items, then.data.unit)
    unit = np.unique(found.code[where], return_inverse=True)[1].astype(np.int64)
    cells = Cells(
        **{name: _grid(shape, at, column, part) for name, part in columns.items()},
        predictors=_predictors(then, where, shape, (at, column, code), by_order, orders),
        factors=factors,
        unit=unit,
        n_units=int(unit.max()) + 1,
        step=step(then.arm.scores),
    )
    return cells, names


def _same_items(then: Reads, now: Reads) -> tuple[Ints, Ints, int]:
    """(the number of each item of the earlier run, -1 where the later has it not; the same of the later; changed)."""
    mine, theirs = np.unique(then.item), np.unique(now.item)
    key_a, key_b, changed = item_keys(then.data, mine, now.data, theirs)
    _, at_a, at_b = np.intersect1d(key_a, key_b, return_indices=True)
    front, back = np.full(len(then.data.items), -1), np.full(len(now.data.items), -1)
    front[mine[at_a]] = mine[at_a]
    back[theirs[at_b]] = mine[at_a]
    return front, back, changed


class _Side(NamedTuple):
    """Cells of one time: ``key`` ascending (item times orders plus order), and of each its reads' mean, the first of
    them, how many, their mean absolute difference (``gap``) and variance (NaN below two)."""

    key: Ints
    mean: Floats
    first: Floats
    size: Floats
    gap: Floats
    variance: Floats


def _side(at: Ints, order: Ints, value: Floats, orders: int) -> _Side:
    ok = (at >= 0) & np.isfinite(value)
    key, value = at[ok] * orders + order[ok], value[ok]
    keys, first, cell, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    size = count.astype(np.float64)
    mean = np.asarray(np.bincount(cell, weights=value, minlength=len(keys)) / size)
    square = np.bincount(cell, weights=(value - mean[cell]) ** 2, minlength=len(keys)).astype(np.float64)
    # The sum of |x - y| over pairs is that of the sorted values, each times how many stand below less above it.
    ranked = np.lexsort((value, cell))
    starts = np.repeat(np.cumsum(count) - count, count)
    below = 2.0 * (np.arange(len(value)) - starts) - np.repeat(size, count) + 1.0
    apart = np.bincount(cell[ranked], weights=below * value[ranked], minlength=len(keys)).astype(np.float64)
    return _Side(keys, mean, value[first], size, ratio(2.0 * apart, size * (size - 1.0)), ratio(square, size - 1.0))


def _columns(one: _Side, two: _Side, both: Ints) -> Mapping[str, Floats]:
    """What ``Cells`` holds of the cells ``both``, which are keys of either side."""
    picked = [np.searchsorted(side.key, both) for side in (one, two)]
    twice = (one.size[picked[0]] > 1) & (two.size[picked[1]] > 1)
    columns = {}
    for when, side, at in zip(("then", "now"), (one, two), picked, strict=True):
        columns[when], columns[f"first_{when}"] = side.mean[at], side.first[at]
        columns[f"gap_{when}"] = np.where(twice, side.gap[at], np.nan)
        columns[f"noise_{when}"] = np.where(twice, side.variance[at], np.nan)
    return columns


def _laid_out(cells: Ints, orders: int) -> tuple[Ints, Ints, Ints, int]:
    """(row, column, order) of each cell and the number of columns: an order each, or the item's own first to last."""
    item, order = np.divmod(cells, orders)
    at = np.unique(item, return_inverse=True)[1].astype(np.int64)
    if orders <= COLUMNS:
        used, column = np.unique(order, return_inverse=True)
        return at, column.astype(np.int64), order, len(used)
    column = np.arange(len(at)) - np.searchsorted(at, at)
    return at, column, order, int(column.max()) + 1


def _grid(shape: tuple[int, int], at: Ints, column: Ints, values: Floats) -> Floats:
    grid = np.full(shape, np.nan)
    grid[at, column] = values
    return grid


def contrasts_of(arm: Arm, orders: Sequence[Order]) -> tuple[tuple[str, ...], Floats, Floats]:
    """(names of the contrasts, what each knows of each order (orders, n or contrasts), factors)."""
    if arm.axis == "pairwise":
        first = np.array([[0.5 if order[0] == 1 else -0.5] for order in orders])
        return (tr("lead of the first place"),), first, np.ones(1)
    n = len(orders[0])
    if arm.axis == "criteria":
        names = tuple(tr("a criterion at place {place}", place=p + 1) for p in range(n))
        return names, np.zeros((len(orders), n)), np.ones(n)
    scores = np.asarray(arm.scores, dtype=np.float64)
    shown = np.array([[arm.scores.index(int(score)) for score in order] for order in orders], dtype=np.int64)
    places = [tr("highest score at place {place}", place=p + 1) for p in range(n)]
    by_order = np.column_stack([scores[shown], direction(shown)])
    return (*places, tr("ascending order less descending")), by_order, np.append(np.full(n, float(np.ptp(scores))), 2.0)


def _predictors(
    then: Reads,
    where: Ints,
    shape: tuple[int, int],
    cell: tuple[Ints, Ints, Ints],
    by_order: Floats,
    orders: Sequence[Order],
) -> Floats:
    """(items, columns, contrasts): what the contrasts know of the order of each cell."""
    at, column, code = cell
    grid = np.full((*shape, by_order.shape[1]), np.nan)
    if then.arm.axis != "criteria":
        grid[at, column] = by_order[code]
        return grid
    names = then.data.items["criterion"].astype(str).to_numpy()[where]
    place = {(k, str(name)): p for k, order in enumerate(orders) for p, name in enumerate(order)}
    spot = [place[k, names[i]] for i, k in zip(at.tolist(), code.tolist(), strict=True)]
    grid[at, column] = np.eye(by_order.shape[1])[spot]
    return grid


def _unread(sides: Sequence[tuple[Ints, Ints, Floats]]) -> tuple[float, float]:
    """Of the reads of items that both times asked about, also of items that one of them never read."""
    shares = [float((~np.isfinite(value[at >= 0])).mean()) for at, _, value in sides if (at >= 0).any()]
    return (shares[0], shares[1]) if len(shares) == 2 else (0.0, 0.0)


def item_means(reads: Reads, *, likely: bool) -> tuple[Floats, Ints]:
    """(mean over an item's orders, each order once, the item's code) of the items that were read."""
    width = len(reads.orders)
    cells = _side(reads.item, reads.order, reads.value(likely), width)
    items, at = np.unique(cells.key // width, return_inverse=True)
    return np.bincount(at, weights=cells.mean) / np.bincount(at), items
