"""Match an arm with people's ratings, or with another judge's scores, item by item."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd

from rubriclab.core.estimate import Estimate, Fisher, Rule, left_out
from rubriclab.core.judgments import Arm, Names, once
from rubriclab.core.topic import Caution
from rubriclab.model.data import INTENDED
from rubriclab.model.judgment import Reorder
from rubriclab.stats.correlation import LeftOut, pearson
from rubriclab.stats.resample import Bools, Floats, Ints, distinct, spread_out, sum_by

SCORED: set[Reorder] = {"options", "criteria", "responses", "bare", "examples"}
"""The axes whose answers are scores, as ratings are."""
MIN_UNITS = 8
MOST_RATERS = 100
"""With more raters none is named: the first, second, ... rating of an item are taken for raters.
"""
ENOUGH = 0.5
"""From this share of items on an order (a round of repeats) is one that items share."""
BY_Z = Fisher()
OFF_SCALE = 0.05
"""More ratings a step or more beyond the ends of the judge's scale are no slips, but another scale.
"""


@dataclass(frozen=True, eq=False)
class Rated:
    """An arm's scores next to ratings of the same items.

    names: of the raters; ``named``: these are the people themselves.
    ratings: (items, raters) NaN where there is none.
    human: (items,) mean rating. ``mean``: (items,) mean score, NaN without one.
    """

    arm: Arm
    names: tuple[str, ...]
    named: bool
    ratings: Floats = field(repr=False)
    human: Floats = field(repr=False)
    mean: Floats = field(repr=False)

    @cached_property
    def paired(self) -> Ints:
        """The items that have a rating and a score."""
        return np.flatnonzero(np.isfinite(self.human) & np.isfinite(self.mean))

    @cached_property
    def several(self) -> Bools:
        """(items,): whether two people or more rated it."""
        return np.asarray(np.isfinite(self.ratings).sum(axis=1) > 1)

    @cached_property
    def comparable(self) -> bool:
        """Return whether ratings are on the judge's scale, so that points can be compared."""
        given, scale, step = self.ratings[np.isfinite(self.ratings)], self.arm.scores, self.arm.step
        return bool(((given <= scale[0] - step) | (given >= scale[-1] + step)).mean() <= OFF_SCALE)

    def units(self, which: Ints | Bools) -> tuple[Ints, Names]:
        """(unit 0.. of each of these items, the units' names)."""
        present, code = distinct(self.arm.unit[which], self.arm.units)
        return code, self.arm.unit_names[present]

    def r(
        self,
        which: Ints,
        statistic: Callable[[Floats, Floats, Ints, int], LeftOut] = pearson,
        rule: Rule = BY_Z,
        none: str = "constant_side",
    ) -> Estimate:
        """Return a correlation of mean scores with mean ratings over the items ``which``.

        ``none``: why there is none.
        """
        unit, names = self.units(which)
        made = statistic(self.mean[which], self.human[which], unit, len(names))
        return left_out(*made, names, rule, none=none)

    def targets(self, which: Ints) -> Iterator[tuple[str, Ints]]:
        """Yield (criterion, its items among ``which``) where one call scores several criteria.

        Else ("", all).
        """
        if self.arm.condition.reorder != "criteria":
            yield "", which
            return
        for k, name in enumerate(self.arm.names):
            yield str(name), which[self.arm.target[which] == k]


@once
def means(arm: Arm) -> Floats:
    """(items,): mean score over an item's calls, NaN without one."""
    kept = arm.rows
    count = np.bincount(arm.item[kept], minlength=arm.items)
    with np.errstate(invalid="ignore"):
        return np.asarray(sum_by(arm.item[kept], arm.value[kept], arm.items) / count)


@once
def rated(arm: Arm) -> Rated | None:
    """Return the arm with people's ratings; None where no item has one."""
    given: list[dict[str, float]] = [
        {
            str(rater): float(ratings[rater])
            for rater in sorted(ratings or (), key=str)
            if np.isfinite(ratings[rater])
        }
        for ratings in arm.run.items["ratings"].iloc[arm.item_code].tolist()
    ]
    raters = {rater for ratings in given for rater in ratings}
    if not raters:
        return None
    if len(raters) > 1:  # what the sample's author aimed at is no person beside those who rated
        given = [
            {rater: x for rater, x in ratings.items() if rater != INTENDED} for ratings in given
        ]
    named = len(raters) <= MOST_RATERS
    if not named:
        given = [
            {f"rating {k + 1:03}": x for k, x in enumerate(ratings.values())} for ratings in given
        ]
    frame = pd.DataFrame(given, index=range(arm.items), dtype=np.float64).sort_index(axis=1)
    return Rated(
        arm,
        tuple(map(str, frame)),
        named,
        frame.to_numpy(),
        frame.mean(axis=1).to_numpy(),
        means(arm),
    )


@once
def rounds(arm: Arm) -> Floats:
    """(rounds, items, K): scores by order, one round of repeats after the other.

    Rounds in which ENOUGH cells were asked (else the first); by call where no orders are shared.
    """
    orders = len(arm.shown)
    cell = arm.item * orders + arm.order
    if orders < 2 or arm.condition.drawn or len(distinct(cell)[0]) < ENOUGH * arm.items * orders:
        return spread_out(arm.item, arm.items, arm.call, arm.value)[None]
    table = np.moveaxis(
        spread_out(cell, arm.items * orders, arm.call, arm.value).reshape(arm.items, orders, -1),
        2,
        0,
    )
    full = np.isfinite(table).mean(axis=(1, 2)) >= ENOUGH
    return table[full] if full.any() else table[:1]


def beside(arm: Arm, other: Arm) -> Rated:
    """Return the arm with the other judge's mean scores instead of people's ratings."""
    theirs = other.of_run(means(other))[arm.item_code]
    return Rated(arm, (other.condition.judge,), True, theirs[:, None], theirs, means(arm))


def few_rated(people: Rated) -> Iterator[Caution]:
    """Yield cautions: too few units that people rated, one rater only, another scale."""
    units = len(people.units(people.paired)[1])
    if units < MIN_UNITS:
        yield Caution("few_rated", of={"units": units, "needed": MIN_UNITS})
    if not people.several.any():
        yield Caution("one_rater")
    if not people.comparable:
        given = people.ratings[np.isfinite(people.ratings)]
        ends = {"low": float(given.min()), "high": float(given.max())}
        yield Caution(
            "other_scale",
            of={**ends, "lowest": people.arm.scores[0], "highest": people.arm.scores[-1]},
        )
