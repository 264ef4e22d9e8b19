"""The reads that ways of asking are compared on: items by calls, of one judge in one setting."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from rubriclab.findings.debiasing_reads import Grid, reads_grid
from rubriclab.findings.frame import Bools, compress, ok_rows, units
from rubriclab.findings.topic import setting
from rubriclab.model import Arm, LabError, RunData
from rubriclab.model.language import tr
from rubriclab.stats.inference import Floats, Ints

MAX_ITEMS = 3_000
"""A larger run is compared on this many of its items, drawn at random."""
Order = tuple[int | str, ...]


@dataclass(frozen=True)
class Reads:
    """Items that were read in every call. ``named``: (items, calls) the score named, of a pair the
    share for its first candidate (a tie is a half).

    ``likely``: the expected score, of a pair the chance of its first candidate; None without token
    probabilities. ``item``: their codes. ``shown``: (items, calls) which of ``patterns`` stood there.
    ``orders``: what stood at each place in each call; empty where they differ from item to item. ``first``: the calls of the first repeat. ``grid``: of score options; ``names``: what changes places. ``left_out``: items
    with an unread call; ``not_drawn``: items of a large run.
    """

    code: int
    arm: Arm
    named: Floats
    likely: Floats | None
    item: Ints
    shown: Ints
    patterns: tuple[Order, ...]
    orders: tuple[Order, ...]
    first: Ints
    human: Floats
    unit: Ints
    left_out: int
    not_drawn: int
    grid: Grid | None = None
    names: Order = ()

    @property
    def value(self) -> Floats:
        return self.named if self.likely is None else self.likely


def reads_of(data: RunData, arm: int, *, seed: int = 0) -> Reads:
    """The reads of an arm's setting (its judge, data, variant and scale) in its best design.

    Raises LabError where no arm of the setting read its items in several orders.
    """
    wanted = data.arms[arm]
    if wanted.axis == "listwise":
        raise LabError(tr("A card carries score options, criteria and pairs; lists of three or more it does not."))
    mine = [
        (code, one, rows)
        for code, one, rows in data.by_arm()
        if (setting(one), one.axis, one.scores, one.n_positions)
        == (setting(wanted), wanted.axis, wanted.scores, wanted.n_positions)
        and len(rows)
    ]
    item = np.unique(np.concatenate([rows["item"].to_numpy() for *_, rows in mine])) if mine else np.empty(0, int)
    not_drawn = max(0, len(item) - MAX_ITEMS)
    if not_drawn:
        item = np.sort(np.random.default_rng(seed).permutation(item)[:MAX_ITEMS])
    known = np.zeros(len(data.items), dtype=bool)
    known[item] = True
    several = [reads for reads in _each(data, mine, known) if reads.named.shape[1] > 1]
    if not several:
        raise LabError(
            tr(
                "“{wanted}”: no item was read twice or more in different orders with every reply readable; there "
                "is no mean over orders to choose a way of asking by. Run the study with the strategy “balanced”.",
                wanted=wanted,
            )
        )
    best = max(several, key=lambda reads: (len(reads.orders) > 0, balanced(reads.orders), reads.named.shape[1]))
    return replace(best, not_drawn=not_drawn)


def _each(data: RunData, arms: Sequence[tuple[int, Arm, pd.DataFrame]], known: Bools) -> Iterator[Reads]:
    for code, arm, rows in arms:
        rows = rows[known[rows["item"].to_numpy()]]
        if not len(rows):
            continue
        if (reads := _reads(data, code, arm, rows)) is not None:
            yield reads


def _reads(data: RunData, code: int, arm: Arm, rows: pd.DataFrame) -> Reads | None:
    """The items of one arm that were read in every call; None where there are none or one order alone."""
    item, at, columns, column, first = _laid_out(data, rows)
    pattern, patterns = order_patterns(data, rows, arm)
    shape = (len(item), len(columns))
    ok = ok_rows(rows)
    shown = np.full(shape, -1, dtype=np.int64)
    shown[at[ok], column[ok]] = pattern[ok]
    named = np.full(shape, np.nan)
    named[at[ok], column[ok]] = named_values(rows, arm, pattern, patterns)[ok]
    likely = np.full(shape, np.nan)
    likely[at[ok], column[ok]] = likely_values(data, rows, arm, pattern, patterns)[ok]
    whole = np.isfinite(named).all(axis=1)
    if not whole.any() or len(np.unique(shown[whole])) < 2:
        return None
    grid = None
    if arm.axis == "options":
        grid = _only(reads_grid(data, code, arm, rows, item), whole)
    same = bool((shown[whole] == shown[whole][0]).all())
    given = bool(np.isfinite(likely[whole]).all())
    return Reads(
        code=code,
        arm=arm,
        named=named[whole],
        likely=likely[whole] if given else None,
        item=item[whole],
        shown=shown[whole],
        patterns=patterns,
        orders=tuple(patterns[k] for k in shown[whole][0]) if same else (),
        first=first,
        human=data.items["human"].to_numpy().astype(np.float64)[item][whole],
        unit=np.unique(units(data.items, data.unit).code[item][whole], return_inverse=True)[1].astype(np.int64),
        left_out=int((~whole).sum()),
        not_drawn=0,
        grid=grid,
        names=patterns[0],
    )


def _laid_out(data: RunData, rows: pd.DataFrame) -> tuple[Ints, Ints, Ints, Ints, Ints]:
    """(items, each judgment's among them, calls, each judgment's among them, the calls of the first repeat)."""
    item, at = compress(rows["item"].to_numpy().astype(np.int64), len(data.items))
    read, repeat = (rows[name].to_numpy().astype(np.int64) for name in ("read", "repeat"))
    width = int(read.max()) + 1
    columns, column = compress(repeat * width + read, (int(repeat.max()) + 1) * width)
    if len(item) * len(columns) != len(rows):
        # Drawn orders come twice for some items alone: the read's own number tells them apart.
        columns, column = compress(read, width)
        width = int(read.max()) + 2
    turn = columns // width
    return item, at, columns, column, np.flatnonzero(turn == turn.min())


def _only(grid: Grid, whole: Bools) -> Grid | None:
    """The grid of the items that were read in every call; None where it lays calls out otherwise."""
    if len(grid.item) != len(whole):
        return None
    chances = None if grid.chances is None else grid.chances[whole]
    if (grid.score[whole] < 0).any():
        return None
    return replace(grid, item=grid.item[whole], score=grid.score[whole], ordering=grid.ordering[whole], chances=chances)


def order_patterns(data: RunData, rows: pd.DataFrame, arm: Arm) -> tuple[Ints, tuple[Order, ...]]:
    """(a code for each judgment, the order that it stands for): scores, names, or 1 and 2 of a pair."""
    ordering = rows["ordering"].to_numpy().astype(np.int64)
    if arm.axis != "pairwise":
        codes, pattern = compress(ordering, len(data.orderings))
        return pattern, tuple(tuple(data.orderings[code].shown) for code in codes)
    candidates, names = pd.factorize(data.items["candidates"].map(tuple))
    item = rows["item"].to_numpy().astype(np.int64)
    pairs, place = np.unique(np.stack([ordering, candidates[item]]), axis=1, return_inverse=True)
    first = [str(data.orderings[o].shown[0]) == str(names[c][0]) for o, c in pairs.T.tolist()]
    return np.where(np.array(first)[place.ravel()], 0, 1), ((1, 2), (2, 1))


def named_values(rows: pd.DataFrame, arm: Arm, pattern: Ints, patterns: Sequence[Order]) -> Floats:
    """Of each judgment the score named, of a pair the share for its first candidate; NaN unread."""
    if arm.axis != "pairwise":
        return rows["score"].to_numpy().astype(np.float64)
    place = rows["position"].to_numpy().astype(np.int64)
    first = np.array([order.index(1) + 1 for order in patterns])[pattern]
    return np.where(place == 0, 0.5, np.where(place < 0, np.nan, (place == first).astype(np.float64)))


def likely_values(data: RunData, rows: pd.DataFrame, arm: Arm, pattern: Ints, patterns: Sequence[Order]) -> Floats:
    """Expected scores; of pairs the chance of the first candidate among the two."""
    if arm.axis != "pairwise":
        given = rows["expected"] if "expected" in rows else pd.Series(np.nan, index=rows.index)
        return given.to_numpy().astype(np.float64)
    if data.probabilities is None:
        return np.full(len(rows), np.nan)
    chances = data.probabilities[data.judgments.index.get_indexer(rows.index), :2]
    first = np.array([order.index(1) for order in patterns])[pattern]
    mine = chances[np.arange(len(rows)), first]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(mine / chances.sum(axis=1))


def balanced(orders: Sequence[Order]) -> bool:
    """Does everything stand at every place equally often?"""
    if not orders:
        return False
    counts = {(what, place): 0 for what in orders[0] for place in range(len(orders[0]))}
    for order in orders:
        for place, what in enumerate(order):
            counts[what, place] += 1
    return len(set(counts.values())) == 1
