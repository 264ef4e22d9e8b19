"""The reads of a judge laid out, items by reads: the reference, the fixed order and random ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from rubriclab.findings.frame import compress, option_rows, units
from rubriclab.model import Arm, RunData
from rubriclab.model.language import msg
from rubriclab.stats import debiasing as stats
from rubriclab.stats.inference import Floats, Ints
from rubriclab.stats.ordering import canonical

Source = Literal["probabilities", "counts"]
SOURCE_NAMES: Mapping[Source, str] = {"probabilities": msg("probabilities"), "counts": msg("counts")}
MAX_ITEMS = 3_000
"""A larger run is compared on this many of its items, drawn at random: intervals stay narrow."""


@dataclass(frozen=True)
class Grid:
    """The reads of one arm (its ``code``), items by reads. ``score``, ``ordering``: -1 where unread.

    ``shown``: (orderings, n). ``chances``: (items, reads, n) by score, or None.
    """

    code: int
    arm: Arm
    item: Ints
    score: Ints
    ordering: Ints
    shown: Ints
    chances: Floats | None

    @cached_property
    def position(self) -> Ints:
        return np.argsort(self.shown, axis=1)

    @cached_property
    def column_ordering(self) -> Ints | None:
        """The ordering of each read number where it is the same for every item."""
        top = self.ordering.max(axis=0)
        same = (self.ordering == top) | (self.ordering < 0)
        return top if bool(same.all()) and bool((top >= 0).all()) else None

    def values(self, source: Source) -> Floats:
        """The outcome of each read: the score named, or the expected score."""
        return self._expected if source == "probabilities" else self._named

    @cached_property
    def _expected(self) -> Floats:
        scores = np.asarray(self.arm.scores, dtype=np.float64)
        return self._named if self.chances is None else np.asarray(self.chances @ scores)

    @cached_property
    def _named(self) -> Floats:
        scores = np.asarray(self.arm.scores, dtype=np.float64)
        return np.where(self.score >= 0, scores[self.score], np.nan)


@dataclass(frozen=True)
class Group:
    """One judge on one data set under one variant: all grids over the same items.

    ``unit``: of each item, what is left out together. ``not_drawn``: items of a large run that were left out at random.
    """

    reference: Grid
    fixed: Grid | None
    random: Grid | None
    human: Floats
    unit: Ints
    not_drawn: int = 0

    @property
    def has_probabilities(self) -> bool:
        grids = [self.reference, self.fixed, self.random]
        return all(grid is None or grid.chances is not None for grid in grids)


def grid_groups(data: RunData, seed: int) -> Iterator[Group]:
    """Arms of one judge, data set and variant, sorted into reference, fixed and random."""
    together: dict[tuple[str, str, str], list[tuple[int, Arm, pd.DataFrame]]] = {}
    for code, arm, judgments in data.by_arm():
        if arm.axis == "options" and len(judgments):
            key = (arm.judge, arm.dataset, str(arm.variant))
            together.setdefault(key, []).append((code, arm, judgments))
    human = data.items["human"].to_numpy().astype(np.float64)
    unit = units(data.items, data.unit).code
    for arms in together.values():
        n_items = len(data.items)
        present = np.zeros(n_items, dtype=bool)
        for *_, judgments in arms:
            present[judgments["item"].to_numpy()] = True
        item = np.flatnonzero(present)
        not_drawn = max(0, len(item) - MAX_ITEMS)
        if not_drawn:
            # Before anything else is done: a large run costs no more than a small one.
            item = np.sort(np.random.default_rng(seed).permutation(item)[:MAX_ITEMS])
            present = np.zeros(n_items, dtype=bool)
            present[item] = True
            arms = [(code, arm, rows[present[rows["item"].to_numpy()]]) for code, arm, rows in arms]
        grids = [reads_grid(data, code, arm, rows, item) for code, arm, rows in arms if len(rows)]
        several = [grid for grid in grids if _n_orders(grid) > 1]
        if not several:
            continue
        reference = max(several, key=_reference_rank)
        fixed = [g for g in grids if _n_orders(g) == 1 and _is_canonical(g)]
        loose = [g for g in several if g is not reference and _is_random(g)]
        yield Group(reference, next(iter(fixed), None), next(iter(loose), None), human[item], unit[item], not_drawn)


def reads_grid(data: RunData, code: int, arm: Arm, judgments: pd.DataFrame, item: Ints) -> Grid:
    """Lay reads out, items by reads; the read number is its repeat and its place in the design."""
    rows = option_rows(data, arm, judgments)
    read = judgments["read"].to_numpy().astype(np.int64)
    _, column = compress(
        judgments["repeat"].to_numpy().astype(np.int64) * (int(read.max()) + 1) + read,
        (int(judgments["repeat"].max()) + 1) * (int(read.max()) + 1),
    )
    row = np.searchsorted(item, rows.item_code)[rows.item]
    shape = (len(item), int(column.max()) + 1)
    score, ordering = np.full(shape, -1, dtype=np.int64), np.full(shape, -1, dtype=np.int64)
    chances = None
    kept = rows.ok
    if data.probabilities is not None:
        where = data.judgments.index.get_indexer(judgments.index)
        by_position = data.probabilities[where, : rows.n]
        given = np.isfinite(by_position).all(axis=1)
        if bool((given & kept).any()):
            kept = kept & given
            chances = np.full((*shape, rows.n), np.nan)
            places = np.argsort(rows.shown, axis=1)[rows.ordering[kept]]
            by_score = np.take_along_axis(by_position[kept], places, axis=1)
            chances[row[kept], column[kept]] = by_score
    score[row[kept], column[kept]] = rows.score[kept]
    ordering[row[kept], column[kept]] = rows.ordering[kept]
    return Grid(code, arm, item, score, ordering, rows.shown, chances)


def _n_orders(grid: Grid) -> int:
    return len(np.unique(grid.ordering[grid.ordering >= 0]))


def _is_canonical(grid: Grid) -> bool:
    used = np.unique(grid.ordering[grid.ordering >= 0])
    return tuple(grid.shown[used[0]].tolist()) == canonical(grid.shown.shape[1])


def _is_random(grid: Grid) -> bool:
    return grid.column_ordering is None or "random" in grid.arm.strategy


def _reference_rank(grid: Grid) -> tuple[bool, bool, int]:
    """Best reference: every item under the same orderings, in balanced halves, many of them."""
    columns = grid.column_ordering
    shared = columns is not None
    balanced = columns is not None and stats.halves(grid.position[columns]).balanced
    return shared, balanced, grid.score.shape[1]
