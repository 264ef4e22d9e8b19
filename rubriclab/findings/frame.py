"""What every finding does first with a run's tidy frame: codes, units and counts.

All of it works on integer codes and ``np.bincount``; nothing groups by a text column and
nothing loops over items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rubriclab.model import MOSTLY, STATUSES, Arm, Ordering, RunData, UnitChoice
from rubriclab.model.language import language, speaking
from rubriclab.model.option_sets import is_part_of
from rubriclab.stats.inference import Floats, Ints, sum_by

Bools = NDArray[np.bool_]
UnitKind = Literal["item", "block", "prompt"]
One = TypeVar("One")
Found = TypeVar("Found")
THREADS = 2


@dataclass(frozen=True)
class Units:
    """What the data hold independently: an item, a block of items, or all items of a prompt.

    ``code``: (items,) the unit of each item, 0..n-1.
    """

    code: Ints
    n: int
    kind: UnitKind


@dataclass(frozen=True)
class OptionRows:
    """One arm's judgments of the options axis as codes, all of one length but ``shown``.

    ``item``: 0..n_items-1 among the arm's own items; ``item_code`` maps them back to the
    run's item codes. ``ordering``: row of ``shown``. ``score``: index into the arm's scores,
    -1 where unread or off the scale. ``position``: 0-based, -1 where unread. ``ok``: read,
    on the scale and at a position. ``seen``: the judge was shown the ordering, whatever came
    of it (all but errors). ``shown``: (orderings, n) score index at each position.
    ``value``: the score itself, NaN where unread; ``expected``, ``mass``: NaN where not given.
    """

    n: int
    item: Ints
    item_code: Ints
    ordering: Ints
    score: Ints
    position: Ints
    ok: Bools
    seen: Bools
    shown: Ints
    value: Floats
    expected: Floats
    mass: Floats
    off_scale: int

    @property
    def n_items(self) -> int:
        return len(self.item_code)


def side_by_side(work: Callable[[One], Found], parts: Iterable[One]) -> list[Found]:
    """``work`` of every part, in their order, two at a time.

    For parts that know nothing of each other, as arms do: NumPy lets go of the interpreter in
    its long operations, so a second core is of use. ``work`` must not write to what is shared.
    """
    spoken = language()  # a thread of its own does not know the visit, nor what it is spoken to in

    def spoken_work(part: One) -> Found:
        with speaking(spoken):
            return work(part)

    with ThreadPoolExecutor(max_workers=THREADS) as pool:
        return list(pool.map(spoken_work, parts))


def ok_rows(judgments: pd.DataFrame) -> Bools:
    """True where the reply could be read."""
    return np.asarray(judgments["status"].to_numpy() == STATUSES.index("ok"))


def known_mean(values: Floats) -> float:
    """Mean of the values that are known; NaN where none is."""
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")


def on_labels(mass: Floats) -> bool:
    """Did most of the probability fall on labels, on average? Else the choices are read. True where it is not known."""
    return not known_mean(mass) < MOSTLY


def status_counts(judgments: pd.DataFrame) -> dict[str, int]:
    """How many judgments there are in all and of each status."""
    codes = judgments["status"].to_numpy().astype(np.int64)
    counts = np.bincount(codes, minlength=len(STATUSES))
    return {"total": len(judgments)} | {str(s): int(counts[i]) for i, s in enumerate(STATUSES)}


def units(items: pd.DataFrame, choice: UnitChoice = "auto") -> Units:
    """The unit of each item within its data set, which intervals resample as one.

    ``auto``: the prompt where items share one (a judge's leaning to an answer is shared by the
    answers to one prompt), else the block where items share one, else the item. A named
    ``choice`` is taken where items have it. An item without a prompt or a block stands alone.
    """
    size = len(items)
    for kind in ("prompt", "block") if choice == "auto" else (choice,):
        if kind != "item" and kind in items and items[kind].notna().any():
            code = _shared(items, kind)
            n = int(code.max()) + 1
            if n < size:
                return Units(code, n, kind)
    return Units(np.arange(size, dtype=np.int64), size, "item")


def mixed(items: pd.DataFrame) -> Ints:
    """The items in an order that has nothing to do with the file's: any first part is a random sample.

    What is resampled as one unit stays together. The same items always give the same order.
    """
    found = units(items)
    place = np.random.default_rng(0).permutation(found.n)
    return np.asarray(place[found.code].argsort(kind="stable"), dtype=np.int64)


def _shared(items: pd.DataFrame, kind: str) -> Ints:
    """A code for each value of a column within each data set, and for each item without one."""
    value = pd.factorize(items[kind])[0].astype(np.int64)
    dataset = pd.factorize(items["dataset"])[0].astype(np.int64)
    width = int(value.max()) + 1
    alone = (int(dataset.max()) + 1) * width + np.arange(len(items))
    key = np.where(value >= 0, dataset * width + value, alone)
    return np.unique(key, return_inverse=True)[1].astype(np.int64)


def dataset_items(data: RunData) -> dict[str, Ints]:
    """The codes of each data set's items; of one that is rated on several scales those of each scale.

    Under the names that the arms have (see ``model.option_sets``). An item that nobody read has no scale
    and stays with the plain name.
    """
    code, names = pd.factorize(data.items["dataset"])
    order = np.asarray(code.argsort(kind="stable"), dtype=np.int64)
    cuts = code[order].searchsorted(range(len(names) + 1))
    whole = {str(name): order[cuts[k] : cuts[k + 1]] for k, name in enumerate(names)}
    strange = {arm.dataset for arm in data.arms} - whole.keys()
    several = {part for part in strange if any(is_part_of(part, name) for name in whole)}
    if not several:
        return whole
    read: dict[str, list[Ints]] = {}
    for _, arm, rows in data.by_arm():
        if arm.dataset in several:
            read.setdefault(arm.dataset, []).append(rows["item"].to_numpy().astype(np.int64))
    parts = {part: np.unique(np.concatenate(items)) for part, items in read.items()}
    known = np.concatenate([*parts.values(), order[:0]])
    left = {name: items[~np.isin(items, known)] for name, items in whole.items()}
    return {name: items for name, items in (left | parts).items() if len(items)}


def compress(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """(which codes of 0..size-1 occur, each row's rank among them); no sorting of rows."""
    present = np.flatnonzero(np.bincount(codes, minlength=size))
    rank = np.zeros(size, dtype=np.int64)
    rank[present] = np.arange(len(present))
    return present, rank[codes]


def score_index(values: Floats, scores: Sequence[int]) -> Ints:
    """The index of each value among the ascending ``scores``; -1 for NaN and strangers."""
    known = np.asarray(scores, dtype=np.float64)
    if bool((np.diff(known) == 1.0).all()):
        # Scales without gaps, nearly all: the distance from the lowest score, found by no search.
        above = np.nan_to_num(values - known[0], nan=-1.0, posinf=-1.0, neginf=-1.0)
        fits = (above >= 0) & (above < len(known)) & (above == np.floor(above))
        return np.where(fits, above, -1.0).astype(np.int64)
    at = np.clip(np.searchsorted(known, values), 0, len(known) - 1)
    return np.where(known[at] == values, at, -1).astype(np.int64)


def shown_table(orderings: Sequence[Ordering], codes: Ints, scores: Sequence[int]) -> Ints:
    """Score indices at each position of the orderings ``codes``, (len(codes), n).

    A row of -1 stands for an ordering that does not show exactly these scores.
    """
    rank = {score: index for index, score in enumerate(scores)}
    whole = set(rank)
    table = np.full((len(codes), len(scores)), -1, dtype=np.int64)
    for row, code in enumerate(codes.tolist()):
        shown = orderings[code].shown
        if len(shown) == len(scores) and set(shown) == whole:
            table[row] = [rank[int(score)] for score in shown]
    return table


def option_rows(data: RunData, arm: Arm, judgments: pd.DataFrame) -> OptionRows:
    """One arm's judgments as codes. Rows of an ordering of other scores count as off scale."""
    item_code, item = compress(judgments["item"].to_numpy().astype(np.int64), len(data.items))
    codes, ordering = compress(judgments["ordering"].to_numpy().astype(np.int64), len(data.orderings))
    shown = shown_table(data.orderings, codes, arm.scores)
    value = judgments["score"].to_numpy().astype(np.float64)
    score = score_index(value, arm.scores)
    position = judgments["position"].to_numpy().astype(np.int64) - 1
    readable = ok_rows(judgments)
    placed = (position >= 0) & (position < len(arm.scores)) & (shown[ordering, 0] >= 0)
    ok = readable & (score >= 0) & placed
    return OptionRows(
        n=len(arm.scores),
        item=item,
        item_code=item_code,
        ordering=ordering,
        score=score,
        position=position,
        ok=ok,
        seen=(judgments["status"].to_numpy() != STATUSES.index("error")) & (shown[ordering, 0] >= 0),
        shown=shown,
        value=np.where(ok, value, np.nan),
        expected=number_column(judgments, "expected"),
        mass=np.where(ok, number_column(judgments, "mass"), np.nan),
        off_scale=int(readable.sum() - ok.sum()),
    )


def read_slots(item: Ints, judgments: pd.DataFrame) -> Ints:
    """Each row's place among the reads of its item, 0..K-1, in order of read and repeat."""
    read = judgments["read"].to_numpy().astype(np.int64)
    repeat = judgments["repeat"].to_numpy().astype(np.int64)
    width = int(repeat.max()) + 1
    present, column = compress(read * width + repeat, (int(read.max()) + 1) * width)
    cells = item * len(present) + column
    if int(cells.max()) + 1 == len(item):
        taken = np.zeros(len(item), dtype=bool)
        taken[cells] = True
        if bool(taken.all()):
            # Every item was read in the same numbered reads, once each: no sorting needed.
            return column
    order = np.argsort(cells, kind="stable")
    ordered = item[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    sizes = np.diff(np.append(starts, len(ordered)))
    slot = np.empty(len(item), dtype=np.int64)
    slot[order] = np.arange(len(item)) - np.repeat(starts, sizes)
    return slot


def by_read(item: Ints, slot: Ints, values: Floats, n_items: int) -> Floats:
    """``values`` as (items, reads), NaN where an item has no such read; ``slot``: see :func:`read_slots`."""
    width = int(slot.max(initial=0)) + 1
    table = np.full(n_items * width, np.nan)
    table[item * width + slot] = values
    return table.reshape(n_items, width)


@dataclass(frozen=True)
class ItemTables:
    """Per-item counts of one arm, the sufficient statistics of everything about position.

    ``counts`` (items, scores, positions): readable choices of a score at a position, with
    their sums ``by_score`` and ``by_position`` (items, n). ``exposure``, shaped as ``counts``:
    how often the score was shown there, over readable replies; ``seen``: the same over all
    replies, read or not (errors never reached the judge), summed over items: (scores,
    positions); ``item_seen`` is that per item.
    """

    counts: Floats
    by_score: Floats
    by_position: Floats
    exposure: Floats
    item_seen: Floats
    seen: Floats


def item_tables(rows: OptionRows) -> ItemTables:
    """Count an arm's choices and exposures, item by item."""
    n, size, ok = rows.n, rows.n_items, rows.ok
    exposure = _exposure(rows, ok)
    item_seen = exposure if np.array_equal(ok, rows.seen) else _exposure(rows, rows.seen)
    counts = count_table((_picked(rows.item, ok), size), (_picked(rows.score, ok), n), (_picked(rows.position, ok), n))
    # Both margins in one product: summing over an axis of five is dear, and counts are exact.
    margins = np.concatenate([np.repeat(np.eye(n), n, axis=0), np.tile(np.eye(n), (n, 1))], axis=1)
    by_score, by_position = np.split(counts.reshape(size, n * n) @ margins, 2, axis=1)
    return ItemTables(
        counts=counts,
        by_score=np.ascontiguousarray(by_score),
        by_position=np.ascontiguousarray(by_position),
        exposure=exposure,
        item_seen=item_seen,
        seen=(np.ones(size) @ item_seen.reshape(size, n * n)).reshape(n, n),
    )


def _picked(values: Ints, which: Bools) -> Ints:
    """``values[which]`` without a copy where all are picked."""
    return values if bool(which.all()) else np.asarray(values[which])


def _exposure(rows: OptionRows, which: Bools) -> Floats:
    """(items, scores, positions): how often each score was shown at each position."""
    n, size, orders = rows.n, rows.n_items, len(rows.shown)
    if size * orders <= 4 * len(rows.item):
        # Few orderings: how often an item was read under each of them says it all.
        read = count_table((_picked(rows.item, which), size), (_picked(rows.ordering, which), orders))
        return (read @ _shows(rows.shown)).reshape(size, n, n)
    base, ordering = rows.item[which] * n, rows.ordering[which]
    out = np.empty((size, n, n))
    for p in range(n):
        cell = np.bincount(base + rows.shown[ordering, p], minlength=size * n)
        out[:, :, p] = cell.reshape(size, n)
    return out


def _shows(shown: Ints) -> Floats:
    """(orderings, scores x positions): 1 where an ordering shows the score at the position."""
    orders, n = shown.shape
    shows = np.zeros((orders, n, n))
    for row in np.flatnonzero(shown[:, 0] >= 0):
        shows[row, shown[row], np.arange(n)] = 1.0
    return shows.reshape(orders, n * n)


def arm_units(rows: OptionRows, all_units: Units) -> Units:
    """The units that occur in one arm, with the unit of each of the arm's own items."""
    present, code = compress(all_units.code[rows.item_code], all_units.n)
    kind: UnitKind = "item" if len(present) == rows.n_items else all_units.kind
    return Units(code, len(present), kind)


def number_column(judgments: pd.DataFrame, name: str) -> Floats:
    """A numeric column, or NaN throughout where the run has none."""
    if name not in judgments:
        return np.full(len(judgments), np.nan)
    return judgments[name].to_numpy().astype(np.float64)


def count_table(*codes: tuple[Ints, int]) -> Floats:
    """Counts over the crossed ``(code, size)`` pairs, shape (size, size, ...)."""
    sizes = [size for _, size in codes]
    flat = codes[0][0]
    for code, size in codes[1:]:
        flat = flat * size
        flat += code
    # Counted as weights of one: whole numbers would be turned into floating point in another table as large.
    ones = np.ones(len(flat))
    return np.bincount(flat, weights=ones, minlength=int(np.prod(sizes))).reshape(sizes).astype(np.float64, copy=False)


def mean_by(code: Ints, values: Floats, n: int) -> Floats:
    """Means of ``values`` (rows, ...) within each code; NaN for codes without a row."""
    count = np.bincount(code, minlength=n).astype(np.float64)
    sums = sum_by(code, values, n)
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / count.reshape((n,) + (1,) * (values.ndim - 1)))
