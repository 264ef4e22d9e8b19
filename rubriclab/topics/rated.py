"""An arm's items beside people's ratings of them, or another judge's scores: what the topics about people start from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from rubriclab.core.arm import Arm, Names
from rubriclab.core.estimate import Estimate, Rule, left_out, missing
from rubriclab.core.topic import Caution
from rubriclab.model.judgment import Reorder
from rubriclab.stats.correlation import LeftOut
from rubriclab.stats.resample import Bools, Floats, Ints, distinct, sum_by

SCORED: set[Reorder] = {"options", "criteria", "responses", "bare"}
"""The axes whose answers are scores, as ratings are."""
MIN_UNITS = 8
MOST_RATERS = 100
"""Of more raters none is spoken of: the first, second, ... rating of an item are taken for raters."""
OFF_SCALE = 0.05
"""More ratings a step or more beyond the ends of the judge's scale are no slips, but another scale."""


@dataclass(frozen=True, eq=False)
class Rated:
    """``ratings``: (items, raters) of ``names``, NaN where there is none; ``named``: are raters the people themselves?

    ``human``: (items,) mean rating; ``mean``: (items,) mean score, NaN without one.
    """

    arm: Arm
    names: tuple[str, ...]
    named: bool
    ratings: Floats = field(repr=False)
    human: Floats = field(repr=False)
    mean: Floats = field(repr=False)

    @property
    def both(self) -> Ints:
        """The items that have a rating and a score."""
        return np.flatnonzero(np.isfinite(self.human) & np.isfinite(self.mean))

    @property
    def several(self) -> Bools:
        """(items,): have two people rated it, or more?"""
        return np.asarray(np.isfinite(self.ratings).sum(axis=1) > 1)

    @property
    def comparable(self) -> bool:
        """Are ratings on the judge's scale, so that points can be compared with points?"""
        given, scale, step = self.ratings[np.isfinite(self.ratings)], self.arm.scores, self.arm.step
        return bool(((given <= scale[0] - step) | (given >= scale[-1] + step)).mean() <= OFF_SCALE)

    def units(self, at: Ints | Bools) -> tuple[Ints, Names]:
        """(unit 0.. of each of these items, the units' names)."""
        present, code = distinct(self.arm.unit[at], self.arm.units)
        return code, self.arm.unit_names[present]

    def estimate(self, of: LeftOut, names: Names, rule: Rule, none: str = "constant_side") -> Estimate:
        """``none``: the reason where the number is not defined."""
        return left_out(of.value, of.without, names, rule) if np.isfinite(of.value) else missing(none)

    def targets(self, at: Ints) -> Iterator[tuple[str, Ints]]:
        """(criterion, its items among ``at``) where one call scores several criteria; else ("", all)."""
        if self.arm.condition.reorder != "criteria":
            yield "", at
            return
        for k, name in enumerate(self.arm.names):
            yield str(name), at[self.arm.target[at] == k]


def means(arm: Arm) -> Floats:
    """(items,): mean score over an item's calls, NaN without one."""
    kept = arm.rows
    count = np.bincount(arm.item[kept], minlength=arm.items)
    with np.errstate(invalid="ignore"):
        return np.asarray(sum_by(arm.item[kept], arm.value[kept], arm.items) / count)


def rated(arm: Arm) -> Rated | None:
    """None where no item of the arm has a rating."""
    given: list[dict[str, float]] = [
        {str(rater): float(ratings[rater]) for rater in sorted(ratings, key=str) if np.isfinite(ratings[rater])}
        for ratings in arm.run.items["ratings"].iloc[arm.item_code].map(lambda ratings: ratings or {})
    ]
    named = len({rater for ratings in given for rater in ratings}) <= MOST_RATERS
    if not named:
        given = [{f"rating {k + 1:03}": x for k, x in enumerate(ratings.values())} for ratings in given]
    frame = pd.DataFrame(given, index=range(arm.items), dtype=np.float64).sort_index(axis=1)
    human = frame.mean(axis=1).to_numpy()
    return (
        Rated(arm, tuple(map(str, frame)), named, frame.to_numpy(), human, means(arm)) if len(frame.columns) else None
    )


def call_rank(cell: Ints, call: Floats) -> Ints:
    """(rows,): which of its cell's calls a row is, from 0."""
    return (pd.Series(call).groupby(cell).rank(method="first").to_numpy() - 1).astype(np.int64)


def beside(arm: Arm, other: Arm) -> Rated:
    """The other judge's mean scores in the room of people's ratings."""
    at = np.searchsorted(other.item_code, arm.item_code).clip(max=max(other.items - 1, 0))
    theirs = np.full(arm.items, np.nan)
    if other.items:
        theirs = np.where(other.item_code[at] == arm.item_code, means(other)[at], np.nan)
    return Rated(arm, (other.condition.judge,), True, theirs[:, None], theirs, means(arm))


def few_rated(people: Rated) -> Iterator[Caution]:
    """Too few units that people rated, one rater only, another scale."""
    units = len(people.units(people.both)[1])
    if units < MIN_UNITS:
        yield Caution("few_rated", of={"units": units, "needed": MIN_UNITS})
    if not people.several.any():
        yield Caution("one_rater")
    if not people.comparable:
        given = people.ratings[np.isfinite(people.ratings)]
        ends = {"low": float(given.min()), "high": float(given.max())}
        yield Caution("other_scale", of={**ends, "lowest": people.arm.scores[0], "highest": people.arm.scores[-1]})
