"""Look at a run at planned times, so that it can stop as soon as its answer is known.

Units are asked in a random order and in batches, and a run is looked at when 1/16, 1/8, 1/4, 1/2
and all of them are in. The 5% of the gate are spent over these looks: the deals of the batches add
up, which gives the joint null distribution of the gate at all looks. So an unbiased judge is
accused at any look in at most 5% of runs, exactly (alpha spending: Lan and DeMets 1983, Biometrika
70; by randomisation). Every other p is compared with the *level* of its look, and every interval is
drawn at 1 - level, so that the intervals of all looks hold together (repeated confidence intervals:
Jennison and Turnbull 1989, J. R. Stat. Soc. B 51). What was said at one look stays said.

A runner asks batch after batch in the order of ``asking_order``, and after each batch calls

    looks_at(table, asking, smallest, unit) -> list[Look]

with the run's judgments so far. It ends where the last look ``stops``. A batch is complete when
every planned call of it is final. Rows of later calls count in no number (``in_full_batches``), and
nothing but judgments is kept: a run that was killed is looked at again.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
from scipy import special

from rubriclab.core.cells import FLAT, Answers, cells, from_arms, in_own_orders, of_items
from rubriclab.core.judgments import Arm, Judgments, units_of
from rubriclab.core.permutation import (
    ALPHA,
    DEALS,
    Directions,
    Gate,
    deal,
    order_cards,
    unparsed,
    upper_p,
    weighted_p,
)
from rubriclab.core.verdict import Terms, Verdict, Verdicts, decide
from rubriclab.model.asking import Asking, Stop
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import Smallest
from rubriclab.stats.resample import Bools, Floats, Ints

FIRST = 10
"""Units at the first look at least: below 8, no mean has a test or an interval."""
MOST = 5
"""Looks of a run: the first of five may spend 0.0008, and 1,999 deals still have such a p."""
POWER = 1.5
"""ALPHA x share ** POWER is spent when that share of the planned units is in.

With 1, weak effects are detected up to 0.06 less often. With 2, strong ones cost twice the calls.
"""
GRID = 401
"""Points of the density of a random walk between two looks: levels are then right to 1e-6."""
FURTHEST = 12.0
"""No walk is further away than this many standard deviations: far beyond the smallest budget."""


@dataclass(frozen=True)
class Looks:
    """When a run is looked at, and what may be said then; each field has one number per look.

    units: how many are in. spent: how much of the gate's 5% may be spent by then. levels: what
    every other p is compared with; intervals are drawn at 1 - level.
    """

    units: tuple[int, ...]
    spent: tuple[float, ...]
    levels: tuple[float, ...]


@dataclass(frozen=True)
class Look:
    """What can be said at one look.

    units: how many are in. planned: how many there are at the last look. alpha: what p values are
    compared with; intervals are drawn at 1 - alpha. stops: further calls would not say more of what
    the run wants to know. verdicts: of one judge, data set and variant.
    """

    units: int
    planned: int
    alpha: float
    stops: bool
    verdicts: Verdicts


# ---------------------------------------------------------------------------------------- the plan
def asking_order(items: pd.DataFrame, together: Iterable[Sequence[int]], seed: int) -> Ints:
    """(items,): the place of each item's unit in the random order of asking, from 0; -1: not asked.

    Units are sorted by a hash of the seed and their own text, so that all judges are asked about
    the same ones first, and data that are sorted by topic or quality do no harm.

    items: all items of the run (``JudgmentTable.items``).
    together: of each subject the codes of the items that one call is about.
    """
    text = np.arange(len(items), dtype=np.int64)
    asked = np.zeros(len(items), dtype=bool)
    for codes in together:
        asked[list(codes)] = True
        text[list(codes)] = min(codes)
    units = units_of(items, text)
    first = np.unique(units.code[asked], return_index=True)[1]
    item_of_unit = np.flatnonzero(asked)[first]

    def shuffled(item: int) -> tuple[str, str]:
        """Two units of the same text have the same hash; then the name of the item decides."""
        text = f"{seed}|looks|{units.names[units.code[item]]}"
        return hashlib.sha256(text.encode()).hexdigest(), str(items["item_id"].iloc[item])

    rank = np.full(len(items), -1, dtype=np.int64)
    of_unit = np.full(int(units.code.max(initial=-1)) + 1, -1, dtype=np.int64)
    for place, item in enumerate(sorted(item_of_unit.tolist(), key=shuffled)):
        of_unit[units.code[item]] = place
    rank[asked] = of_unit[units.code[asked]]
    return rank


def planned_looks(units: int) -> Looks:
    """Return the looks of a run of so many units: at all, half, a quarter, and so on, rounded up.

    There are five at most, and the first has at least 10 units. With fewer than 19 units there is
    one look, at all of them.
    """
    counts = [units]
    while len(counts) < MOST and _half(units, len(counts)) >= FIRST:
        counts.append(_half(units, len(counts)))
    shares = tuple(2.0**-k for k in reversed(range(len(counts))))
    spent = tuple(ALPHA * share**POWER for share in shares)
    return Looks(tuple(reversed(counts)), spent, levels(shares, spent))


def _half(units: int, times: int) -> int:
    """Return ``units`` after halving them so many times, rounded up."""
    return math.ceil(units * 0.5**times)


@cache
def levels(shares: tuple[float, ...], spent: tuple[float, ...]) -> tuple[float, ...]:
    """Return the two-sided level of each look, so that all looks together spend what is planned.

    A random walk that leaves its bounds at these levels has left by look k with probability
    ``spent[k]``. The density of the walks that are still inside is carried from look to look on a
    grid, by Simpson's rule (Armitage, McPherson and Rowe 1969, J. R. Stat. Soc. A 132).

    shares: of the information that is in at each look. spent: increasing, up to 0.05.
    """
    made: list[float] = []
    place, weight = np.zeros(1), np.ones(1)
    before, spent_before = 0.0, 0.0
    for share, spent_now in zip(shares, spent, strict=True):
        step = float(np.sqrt(share - before))
        bound = _bound(place, weight, step, spent_now - spent_before, np.sqrt(share))
        made.append(round(float(2 * special.ndtr(-bound / np.sqrt(share))), 6))
        grid = np.linspace(-bound, bound, GRID)
        moved = (grid[:, None] - place) / step
        density = np.exp(-0.5 * moved**2) / (step * np.sqrt(2 * np.pi))
        weight = _simpson(grid) * (density * weight).sum(axis=1)
        place, before, spent_before = grid, share, spent_now
    return tuple(made)


def _bound(place: Floats, weight: Floats, step: float, budget: float, deviation: float) -> float:
    """Return the bound that the next step crosses with probability ``budget``, by halving.

    place, weight: (k,) where the walks are, and how likely. step: standard deviation of the next
    step. deviation: of the whole walk after it.
    """
    low, high = 0.0, FURTHEST * deviation
    for _ in range(60):
        bound = (low + high) / 2
        crosses = special.ndtr((place - bound) / step) + special.ndtr((-place - bound) / step)
        if float((weight * crosses).sum()) > budget:
            low = bound
        else:
            high = bound
    return low


def _simpson(grid: Floats) -> Floats:
    """Return the weights of Simpson's rule on an even grid of an odd number of points."""
    weights = np.where(np.arange(len(grid)) % 2, 4.0, 2.0)
    weights[[0, -1]] = 1.0
    return np.asarray(weights * (grid[1] - grid[0]) / 3)


# ------------------------------------------------------------------------------------- the batches
def batch_of_items(asking: Asking) -> Ints:
    """(items of the run,): the look by which each item is asked about, from 0; -1 for never."""
    batch = np.searchsorted(planned_looks(asking.units).units, asking.rank, side="right")
    return np.where(asking.rank < 0, -1, batch)


def complete_batches(rows: pd.DataFrame, asking: Asking) -> int:
    """Return how many batches are complete: every planned call of them has a final reply.

    rows: of the run (``JudgmentTable.rows``). A reply that could not be parsed is final, and so is
    a call that failed after its retries.
    """
    mine = rows[np.isin(rows["condition"], asking.conditions)]
    calls = mine.drop_duplicates(["condition", "call"])[["condition", "item"]]
    made = calls_by_unit(asking.rank, calls.to_numpy(dtype=np.int64), len(asking.planned))
    lacking = (made < asking.planned).any(axis=0)
    in_full = int(np.argmax(lacking)) if lacking.any() else asking.units
    return int(np.searchsorted(planned_looks(asking.units).units, in_full, side="right"))


def calls_by_unit(rank: Ints, calls: Ints, conditions: int) -> Ints:
    """(conditions, units): how many calls there are about each unit, in the order of asking.

    rank: as in ``Asking``. calls: (calls, 2) the condition of each and one of its items; those of
    items that are not asked about do not count.
    """
    unit = rank[calls[:, 1]]
    made = np.zeros((conditions, int(rank.max(initial=-1)) + 1), dtype=np.int64)
    np.add.at(made, (calls[unit >= 0, 0], unit[unit >= 0]), 1)
    return made


def in_full_batches(table: JudgmentTable) -> JudgmentTable:
    """Return a run without the rows of unfinished batches; its askings say what is left.

    A run that is looked at once stays as it is.
    """
    condition = table.rows["condition"].to_numpy()
    item = table.rows["item"].to_numpy(dtype=np.int64)
    kept = np.ones(len(item), dtype=bool)
    askings = []
    for asking in table.askings:
        batches = complete_batches(table.rows, asking)
        batch = batch_of_items(asking)[item]
        kept &= ~np.isin(condition, asking.conditions) | ((batch >= 0) & (batch < batches))
        alpha = planned_looks(asking.units).levels[max(batches - 1, 0)]
        askings.append(replace(asking, batches=batches, alpha=alpha))
    return _of_rows(replace(table, askings=tuple(askings)), kept)


def _of_rows(table: JudgmentTable, kept: Bools) -> JudgmentTable:
    """Return a run with some of its rows, (rows,)."""
    if kept.all():
        return table
    probabilities = None if table.probabilities is None else table.probabilities[kept]
    rows = table.rows[kept].reset_index(drop=True)
    return replace(table, rows=rows, probabilities=probabilities)


# --------------------------------------------------------------------------------------- the looks
def looks_at(
    table: JudgmentTable, asking: Asking, smallest: Smallest, unit: str = "auto"
) -> list[Look]:
    """Return the look after each complete batch, of the judge's first setting.

    The run may stop where the last one ``stops``; there is none before the first batch is in.
    ``unit``: as in ``Judgments``.
    """
    first = table.conditions[asking.conditions[0]].setting
    codes = [code for code in asking.conditions if table.conditions[code].setting == first]
    counted = in_full_batches(replace(table, askings=(asking,)))
    mine = np.isin(counted.rows["condition"], codes)
    run = Judgments(_of_rows(counted, mine), unit)
    return looks_of([run.arms[code] for code in codes], smallest)


def looks_of(arms: Sequence[Arm], smallest: Smallest) -> list[Look]:
    """Return the look after each complete batch, of one setting of a run in full batches.

    A look depends on the rows of its own batches alone: the same is said of it whatever is asked
    later. So every look reads the run as if it had ended there.
    """
    run = arms[0].run
    asking = run.asking_of(arms[0].code)
    if asking is None:
        raise ValueError("The run is looked at once: it has no batches.")
    codes = [arm.code for arm in arms]
    batch = batch_of_items(asking)
    mine = np.isin(run.table.rows["condition"], codes)
    batch_of_row = np.where(mine, batch[run.table.rows["item"].to_numpy(dtype=np.int64)], -1)

    def so_far() -> Iterator[tuple[Answers, Ints]]:
        for number in range(asking.batches or 0):
            kept = (batch_of_row >= 0) & (batch_of_row <= number)
            part = Judgments(_of_rows(replace(run.table, askings=()), kept), run.unit)
            answers = from_arms([part.arms[code] for code in codes])
            yield answers, batch[answers.item_code]

    plan = planned_looks(asking.units)
    return [*look_by_look(so_far(), plan, smallest, asking.stop)]


def look_by_look(
    so_far: Iterable[tuple[Answers, Ints]],
    plan: Looks,
    smallest: Smallest,
    stop: Stop,
    deals: int = DEALS,
) -> Iterator[Look]:
    """Yield each look: also those after one that stops, if the run continued all the same.

    so_far: at each look the calls that are in, and (items,) the batch of each item, from 0.
    """
    batches: list[Floats] = []
    said: dict[str, Verdict] = {}
    was_open = False
    for number, (answers, batch) in enumerate(so_far):
        answers = in_own_orders(answers)
        own = in_own_orders(of_items(answers, batch == number))
        batches.append(dealt_sums(own, number, deals))
        terms = Terms(
            alpha=plan.levels[number],
            earlier=said,
            unparsed_p=unparsed(answers, batch) if len(plan.units) > 1 else None,
        )
        passed = None
        if len(plan.units) > 1:
            passed = gates(batches, plan.spent[: number + 1], directions_of(answers))[-1]
        given = decide(answers, smallest, passed=passed, terms=terms)
        blocked = given.unparsed_p <= ALPHA
        if not blocked:  # else nothing is said at this look, and what was said before stays
            said = dict(given.questions)
        ends = not blocked and is_told(given, stop, was_open=was_open)
        yield Look(plan.units[number], plan.units[-1], plan.levels[number], ends, given)
        was_open = given.gate.open


def is_told(given: Verdicts, stop: Stop, *, was_open: bool) -> bool:
    """Return whether all is said that the run wants to know.

    was_open: the gate was open at the look before. Then one more look has tried to say how the
    order matters, and single scores alone may differ.
    """
    words = {name: verdict.word for name, verdict in given.questions.items()}
    if stop == "known" and given.gate.open:
        position_is_told = words.get("positions", "undecided") != "undecided"
        return was_open or position_is_told or words.get("mean") == "effect"
    if given.single is not None and not given.single.repeated and len(words) > 1:
        # Without repeats the noise of single scores is not known, so their No never comes.
        del words["single"]
    return "undecided" not in words.values()


# -------------------------------------------------------------------------------- the gate by looks
def directions_of(answers: Answers) -> Directions:
    """Return what the gate is made of, by the calls that were sent.

    Which of them could be parsed must not change it, or batches could not be added up.
    """
    asked = np.unique(np.column_stack([answers.item, answers.order]), axis=0)
    one_order = answers.drawn and len(asked) == len(np.unique(answers.item))
    by_criterion = answers.criteria and not answers.interchangeable and not one_order
    return Directions(answers.orders.shape[1], by_criterion, one_order)


def dealt_sums(batch: Answers, number: int, deals: int = DEALS) -> Floats:
    """(1 + deals, width): sums over the items of one batch, as observed and then dealt again.

    Those of several batches add up. They depend on the content of the batch and its number alone.
    """
    directions, table = directions_of(batch), cells(batch)
    names = [] if batch.choices else ["turn"] if batch.criteria else ["line", "turn"]
    cards = None
    if table.items and table.one_order_an_item == directions.one_order:
        cards = order_cards(table, {name: table.directions[name] for name in names})
    if cards is None:
        return np.zeros((1 + deals, directions.leans + len(names) + 1))
    return cards.with_constant(deal(cards, deals=deals, number=number + 1).sums)


def gates(batches: Sequence[Floats], spent: Sequence[float], directions: Directions) -> list[Gate]:
    """Return the gate at each look; once open it stays open, and its p stays what it was.

    p is the share of deals that open the gate at an earlier look, or are at least as extreme at
    this one (looks are ordered first, then sizes: Armitage 1957, Biometrika 44). It is at most
    ``spent`` exactly where the gate is open, because as many of the most extreme deals open it at
    each look as may be spent by then. Deals that tie open it together or not at all.

    batches: (1 + deals, width) of each batch. spent: of 5%, by each look.
    """
    made: list[Gate] = []
    total = np.zeros_like(batches[0])
    closed = np.ones(len(total), dtype=bool)
    for sums, budget in zip(batches, spent, strict=True):
        total = np.round(total + sums, 9)
        parts, weighted = weighted_p(directions.parts(total), directions.weights)
        if not closed[0]:
            made.append(replace(made[-1], parts=parts, spent=budget))
            continue
        as_extreme = np.round(upper_p(-weighted[closed]) * closed.sum())
        p = (np.count_nonzero(~closed) + as_extreme) / len(total)
        # Where no deal changes anything there is a single one, as in ``permutation.gate``.
        varies = bool((total != total[0]).any())
        dealt = len(total) if varies else 1
        made.append(Gate(float(p[0]), parts, dealt, not varies, float(p.min()), budget))
        closed[closed] = p > budget + FLAT
    return made
