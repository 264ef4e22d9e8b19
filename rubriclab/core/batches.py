"""Count which batches of a run are complete, and say at which level each look is read.

A run that may stop early is asked in batches and looked at after each (``core/looks.py``). A batch
is complete when every planned call of it is final. Rows of later calls count in no number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pandas as pd
from scipy import special

from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.looks import ALPHA, JudgeLooks, looks_at
from rubriclab.stats.resample import Bools, Floats, Ints

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
class Looked:
    """A judge's looks, with what is in so far.

    complete: how many batches are complete. begun: calls that were made of the others.
    """

    looks: JudgeLooks
    complete: int
    begun: int = 0

    @property
    def alpha(self) -> float:
        """What p values of the last look are compared with; of the first one, before it."""
        return planned_looks(self.looks.units[-1]).levels[max(self.complete - 1, 0)]

    @property
    def needless(self) -> int:
        """Planned calls of the batches that are not complete, which nobody has made."""
        return max(0, int(self.looks.planned[:, self.complete :].sum()) - self.begun)


def looked(table: JudgmentTable) -> tuple[Looked, ...]:
    """Return the looks at each judge, data set and axis; none where a run is looked at once."""
    if table.looks is None:
        return ()
    looks = table.looks.by_judge(table.conditions, len(table.items))
    return tuple(_looked(table.rows, own) for own in looks)


def _looked(rows: pd.DataFrame, looks: JudgeLooks) -> Looked:
    made = calls_made(rows, looks)
    complete = _complete(made, looks)
    return Looked(looks, complete, begun=int(made[:, complete:].sum()))


def calls_made(rows: pd.DataFrame, looks: JudgeLooks) -> Ints:
    """Return how many calls of a judge were made, (its conditions, batches).

    rows: of the run (``JudgmentTable.rows``).
    """
    mine = rows[np.isin(rows["condition"], looks.conditions)]
    calls = mine.drop_duplicates(["condition", "call"])
    batch = looks.batch[calls["item"].to_numpy(dtype=np.int64)]
    asked = batch >= 0
    place = np.searchsorted(looks.conditions, calls["condition"].to_numpy(dtype=np.int64))
    made = np.zeros_like(looks.planned)
    np.add.at(made, (place[asked], batch[asked]), 1)
    return made


def complete_batches(rows: pd.DataFrame, looks: JudgeLooks) -> int:
    """Return how many batches are complete, counted from the first one.

    A reply that could not be parsed is final, and so is a call that failed after its retries. A
    batch that has fewer items than new units still lacks some: its file grows.

    rows: of the run (``JudgmentTable.rows``).
    """
    return _complete(calls_made(rows, looks), looks)


def _complete(made: Ints, looks: JudgeLooks) -> int:
    """Return how many batches are complete, by the calls that were made."""
    items = np.bincount(looks.batch[looks.batch >= 0], minlength=len(looks.units))
    grows = items < np.diff(looks.units, prepend=0)
    lacking = (made < looks.planned).any(axis=0) | grows
    return int(np.argmax(lacking)) if lacking.any() else len(looks.units)


def in_complete_batches(table: JudgmentTable, looked: Sequence[Looked]) -> JudgmentTable:
    """Return a run without the rows of unfinished batches."""
    condition = table.rows["condition"].to_numpy()
    item = table.rows["item"].to_numpy(dtype=np.int64)
    kept = np.ones(len(item), dtype=bool)
    for known in looked:
        batch = known.looks.batch[item]
        inside = (batch >= 0) & (batch < known.complete)
        kept &= ~np.isin(condition, known.looks.conditions) | inside
    return of_rows(table, kept)


def of_rows(table: JudgmentTable, kept: Bools) -> JudgmentTable:
    """Return a run with some of its rows, (rows,)."""
    if kept.all():
        return table
    probabilities = None if table.probabilities is None else table.probabilities[kept]
    rows = table.rows[kept].reset_index(drop=True)
    return replace(table, rows=rows, probabilities=probabilities)


# -------------------------------------------------------------------------------------- the levels
def planned_looks(units: int) -> Looks:
    """Return the looks of a run of so many units, with what each may spend."""
    counts = looks_at(units)
    shares = tuple(2.0**-k for k in reversed(range(len(counts))))
    spent = tuple(ALPHA * share**POWER for share in shares)
    return Looks(counts, spent, levels(shares, spent))


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
