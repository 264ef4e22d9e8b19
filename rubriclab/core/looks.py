"""Look at a run at planned times, so that it can stop as soon as its answer is known.

Units are asked in a random order and in batches, and a run is looked at when 1/16, 1/8, 1/4, 1/2
and all of them are in. The 5% of the gate are spent over these looks: the deals of the batches add
up, which gives the joint null distribution of the gate at all looks. So an unbiased judge is
accused at any look in at most 5% of runs, exactly (alpha spending: Lan and DeMets 1983, Biometrika
70; by randomisation). Every other p is compared with the *level* of its look, and every interval is
drawn at 1 - level, so that the intervals of all looks hold together (repeated confidence intervals:
Jennison and Turnbull 1989, J. R. Stat. Soc. B 51). What was said at one look stays said.

A runner asks batch after batch in the order of ``asking_order``. When every planned call of a batch
is final it calls

    looks_at(arms, asking, smallest, stop) -> list[Look]

with all arms of one judge, data set and axis (``Judgments.arms``), and ends where the last look
``stops``. Nothing but judgments is kept: a run that was killed is looked at again. Rows of an
unfinished batch count in no number.
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pandas as pd
from scipy import special

from rubriclab.core.judgments import units_of
from rubriclab.core.permutation import ALPHA
from rubriclab.core.verdict import Verdicts
from rubriclab.stats.resample import Floats, Ints

Stop = Literal["known", "decided"]
"""When a run stops.

known: the order is shown to matter, and how it matters is said or was looked at once more; or no
question is left open. decided: no question is left open.
"""
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


@dataclass(frozen=True, eq=False)
class Asking:
    """In which order one judge is asked about the units of a data set, on one axis.

    rank: (items of the run,) the place of the item's unit in the order of asking, from 0; -1 of
        items that are not asked about (``asking_order``).
    planned: (conditions of the run, units) how many calls are planned about each unit, in the order
        of asking; 0 for the conditions of other judges, data sets and axes.
    """

    rank: Ints
    planned: Ints

    @property
    def looks(self) -> Looks:
        return planned_looks(self.planned.shape[1])

    @property
    def batch(self) -> Ints:
        """(items of the run,): the look by which the item is asked, from 0; -1 for never."""
        last = np.searchsorted(self.looks.units, self.rank, side="right")
        return np.where(self.rank < 0, -1, last)


@dataclass(frozen=True)
class Look:
    """What can be said at one look.

    units: how many are in. planned: how many there are at the last look. level: of its p values;
    intervals are drawn at 1 - level. stops: further calls would not say more of what the run wants
    to know. verdicts: of the judge's first setting.
    """

    units: int
    planned: int
    level: float
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
    return math.ceil(units / 2**times)


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
