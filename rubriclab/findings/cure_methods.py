"""The ways of asking that reads hold, each with its loss on items that did not choose it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from rubriclab.findings.cure_pairs import PairWay, pair_ways
from rubriclab.findings.cure_reads import Order, Reads, balanced
from rubriclab.findings.debiasing_methods import control_call, corrected_call, learn, line_of
from rubriclab.findings.debiasing_reads import Source
from rubriclab.findings.frame import Bools
from rubriclab.model import designs
from rubriclab.model.language import tr
from rubriclab.stats import debiasing as stats
from rubriclab.stats.excess import excess
from rubriclab.stats.inference import Floats, Ints

FOLDS, ROUNDS = 5, 4
CHOOSING = 0.4
"""Of the units choose orders, the others measure them."""
CALLS = (1, 2, 3, 5)
MIN_ITEMS = 20
"""Fewer teach no prior of the places that other items could be corrected by."""


@dataclass(frozen=True)
class Way:
    """``loss``, ``estimate``: (items,); a loss is NaN for items that chose the way. ``allowed``: it may be chosen."""

    key: str
    title: str
    why: str
    calls: float
    orders: tuple[Order, ...]
    loss: Floats
    estimate: Floats
    draw: int | None = None
    disagree: str | None = None
    correction: Mapping[str, object] | None = None
    allowed: bool = True
    note: str = ""


def ways_of(reads: Reads, *, seed: int = 0) -> tuple[Way, ...]:
    """Every way that the reads hold, the fewest calls first."""
    if reads.arm.axis == "pairwise":
        found = [_of_pair(way) for way in pair_ways(reads, folds(reads.unit, seed))]
    elif reads.orders:
        found = list(_listed(reads, seed))
    else:
        found = list(_drawn(reads))
    return tuple(sorted(found, key=lambda way: way.calls))


def _of_pair(way: PairWay) -> Way:
    return Way(**vars(way))


def folds(unit: Ints, seed: int) -> tuple[Ints, ...]:
    """In each round a fold for every item; items of one unit stand together."""
    rng = np.random.default_rng(seed)
    n = int(unit.max()) + 1
    return tuple((rng.permutation(n) % min(FOLDS, n))[unit] for _ in range(ROUNDS))


def choosing_items(unit: Ints, seed: int) -> Bools:
    """The items that choose orders: those of CHOOSING of the units, drawn at random."""
    n = int(unit.max()) + 1
    drawn = np.random.default_rng(seed).permutation(n) < max(1, round(CHOOSING * n))
    return np.asarray(drawn[unit])


Fitted = Callable[[Ints, Ints], Floats]
"""(training items, held-out items) to estimates of the latter."""


def held_out(reads: Reads, rounds: tuple[Ints, ...], fitted: Fitted) -> Floats:
    """(2, rounds, items): both estimates of ``fitted`` by what the other folds taught."""
    made = np.full((2, len(rounds), len(reads.unit)), np.nan)
    for row, fold in enumerate(rounds):
        for k in np.unique(fold):
            out, rest = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
            made[:, row, out] = fitted(rest, out)
    return made


# ---------------------------------------------------------------- the same orders for every item


def _listed(reads: Reads, seed: int) -> Iterator[Way]:
    value, n = reads.value, len(reads.first)
    mean = value.mean(axis=1)
    rounds, choosing = folds(reads.unit, seed), choosing_items(reads.unit, seed)
    usual = _usual(reads)

    def way(key: str, title: str, why: str, columns: Ints) -> Way:
        estimate = value[:, columns].mean(axis=1)
        orders = tuple(reads.orders[c] for c in columns)
        return Way(key, title, why, len(columns), orders, (estimate - mean) ** 2, estimate)

    yield way("usual", tr("One call in the usual order"), tr("what is asked today"), np.array([usual]))
    subset = _balanced_set(reads)
    for calls in CALLS:
        if calls < n and calls != len(subset):
            yield _chosen(reads, calls, choosing)
    if len(subset) and len(subset) < n:
        yield way(
            f"balanced-{len(subset)}",
            tr("A balanced set of orders averaged"),
            tr("everything stands at every place equally often"),
            subset,
        )
    every = f"all-{n}"
    yield way(
        every, tr("All orders of the design averaged"), tr("the mean that the others are measured against"), reads.first
    )
    if value.shape[1] > n:
        columns = np.arange(value.shape[1])
        yield way(
            f"reads-{len(columns)}",
            tr("All orders, every read"),
            tr("the mean that the others are measured against"),
            columns,
        )
    if reads.grid is not None and len(mean) >= MIN_ITEMS:
        yield from _corrected(reads, usual, rounds, mean)


def _usual(reads: Reads) -> int:
    """The call in ascending order (of criteria in the order of the rubric); else the first."""
    ascending = tuple(reads.arm.scores)
    return next((int(c) for c in reads.first if reads.orders[c] == ascending), int(reads.first[0]))


def _balanced_set(reads: Reads) -> Ints:
    """The fewest calls, from the design's first on, in which everything stands at every place equally often."""
    for size in range(len(reads.orders[0]), len(reads.first)):
        if balanced([reads.orders[c] for c in reads.first[:size]]):
            return reads.first[:size]
    return reads.first[:0]


def nearest(value: Floats, columns: Ints, calls: int) -> Ints:
    """So many of ``columns`` whose mean lies nearest to the mean over all, added one after the other."""
    mean, chosen, total = value.mean(axis=1), np.empty(0, dtype=np.int64), np.zeros(len(value))
    for k in range(1, calls + 1):
        left = np.setdiff1d(columns, chosen)
        far = ((total[:, None] + value[:, left]) / k - mean[:, None]) ** 2
        chosen = np.append(chosen, left[int(far.mean(axis=0).argmin())])
        total = total + value[:, chosen[-1]]
    return chosen


def _chosen(reads: Reads, calls: int, choosing: Bools) -> Way:
    """Orders chosen on some of the units, and measured on the others: what is measured is what is taken.

    An average over folds would be of the choosing, not of these very orders, which may be worse luck.
    """
    value = reads.value
    columns = nearest(value[choosing], reads.first, calls)
    estimate = value[:, columns].mean(axis=1)
    loss = np.where(choosing, np.nan, (estimate - value.mean(axis=1)) ** 2)
    title = tr("One call in the best order") if calls == 1 else tr("{calls} orders averaged", calls=calls)
    why = tr(
        "nearest to the mean over all orders, chosen on {chosen_on:,} items and measured on the other {measured_on:,}",
        chosen_on=int(choosing.sum()),
        measured_on=int((~choosing).sum()),
    )
    key = "best-order" if calls == 1 else f"orders-{calls}"
    return Way(key, title, why, calls, tuple(reads.orders[c] for c in columns), loss, estimate)


# ---------------------------------------------------------------- one corrected call


def _corrected(reads: Reads, usual: int, rounds: tuple[Ints, ...], mean: Floats) -> Iterator[Way]:
    """One call with the prior of the places divided out, where the reads can teach one."""
    grid = reads.grid
    assert grid is not None
    source: Source = "counts" if reads.likely is None else "probabilities"
    everyone = np.arange(len(mean))
    if learn(grid, everyone, source) is None:
        return

    def fitted(rest: Ints, out: Ints) -> Floats:
        learned = learn(grid, rest, source)
        if learned is None:
            return np.full((2, len(out)), np.nan)
        both = (corrected_call, control_call)
        return np.stack([call((grid, rest), (grid, out), usual, source, learned) for call in both])

    made, control = held_out(reads, rounds, fitted)
    if not (np.isfinite(made).all() and np.isfinite(control).all()):
        return
    loss, other = (((one - mean) ** 2).mean(axis=0) for one in (made, control))
    # Drawing a call towards the mean brings it nearer too, whatever the order does.
    helps = excess(loss - other, reads.unit, alpha=0.05).bound < 0
    yield Way(
        "corrected",
        tr("One call corrected for its places"),
        tr("the judge's prior of the places, learnt from the run, is divided out of one call"),
        1,
        (reads.orders[usual],),
        loss,
        made.mean(axis=0),
        correction=_correction(reads, usual),
        allowed=helps,
        note="" if helps else tr("not shown to do more than drawing a call towards the mean, whatever its order"),
    )


def _correction(reads: Reads, usual: int) -> dict[str, object]:
    """What a card needs to correct a call: the prior and a line, or a value for each score."""
    grid, everyone = reads.grid, np.arange(len(reads.unit))
    assert grid is not None
    if reads.likely is not None:
        learned = learn(grid, everyone, "probabilities")
        assert learned is not None
        fair = _fair(reads, usual, learned.prior)
        at, start, slope = line_of(fair, learned.means)
        return {"prior": learned.prior.tolist(), "line": {"at": at, "from": start, "slope": slope}}
    learned = learn(grid, everyone, "counts")
    assert learned is not None
    position = grid.position[grid.ordering[0, usual]][None, :]
    table = stats.posterior_score(position, learned.prior, learned.content, learned.means)[0]
    return {"values": {str(score): float(x) for score, x in zip(grid.arm.scores, table, strict=True)}}


def _fair(reads: Reads, usual: int, prior: Floats) -> Floats:
    grid = reads.grid
    assert grid is not None
    assert grid.chances is not None
    position = grid.position[grid.ordering[:, usual]]
    fair = stats.divide_out(grid.chances[:, usual], position, prior)
    return stats.expected_score(fair, np.asarray(grid.arm.scores, dtype=np.float64))


# ---------------------------------------------------------------- orders drawn item by item


def _drawn(reads: Reads) -> Iterator[Way]:
    """Orders drawn for each item: k of K reads without replacement err by S² (1/k - 1/K) on average."""
    value, total = reads.value, reads.value.shape[1]
    orders = _orders_to_draw(reads)
    spread = value.var(axis=1, ddof=1)
    for calls in (*(k for k in CALLS if k < total), total):
        draw = min(calls, len(orders))
        if draw < calls:
            continue
        yield Way(
            f"drawn-{calls}",
            tr("One order drawn for each item")
            if calls == 1
            else tr("{calls} orders drawn for each item", calls=calls),
            tr("the run drew its orders item by item; a text always gets the same ones"),
            calls,
            orders,
            spread * (1 / calls - 1 / total),
            value[:, 0] if calls == 1 else value[:, :calls].mean(axis=1),
            draw=draw,
        )


def _orders_to_draw(reads: Reads) -> tuple[Order, ...]:
    """Every order up to ALL_LIMIT places; beyond, the rotations, forwards and reversed."""
    line: Order = tuple(reads.arm.scores) if reads.arm.axis == "options" else reads.names
    if len(line) <= designs.ALL_LIMIT:
        return tuple(permutations(line))
    turned = (way[at:] + way[:at] for way in (line, line[::-1]) for at in range(len(line)))
    return tuple(dict.fromkeys(turned))
