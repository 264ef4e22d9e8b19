"""A setting of the method check: judges, a design, a size and what is planted; and what is true in it.

True is what was planted, where that decides the answer; for every other number the value that it
takes itself over ``LONG_RUN`` items of the same judge under the same design. What a study learns from
a probe of its own (the one-call debiaser) is another correction in every study, good or bad: true is
what this very correction does on ``ELSEWHERE`` other items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import pandas as pd

from rubriclab.findings.choice import choice
from rubriclab.findings.debiasing import debiasing
from rubriclab.findings.debiasing_results import debiasing_advice
from rubriclab.findings.estimates import estimates
from rubriclab.findings.topic import Advice
from rubriclab.findings.topics import Findings
from rubriclab.judges.families import FAMILIES, Leanings, strength_for
from rubriclab.model import SMALLEST_EFFECT, RunData
from rubriclab.runs.foreign import CRITERIA, DESIGNS, axis_of, foreign_run
from rubriclab.stats.choice_mixed import MOST_ITEMS

Plant = Literal["nothing", "own leanings", "twice"]
PLANTS: tuple[Plant, ...] = ("nothing", "own leanings", "twice")
ITEMS = (15, 30, 60, 100, 300)
LONG_RUN = 20_000
"""Items that stand for all there are: their own error adds 1.5 % to the variance at 300 items."""
KEY = ["topic", "arm", "measure", "level"]
LEARNT = "debiasing"
"""The topic whose numbers are about what a study learnt: their true values are that study's own."""
CHOSEN = "choice"
"""The topic whose typical item is fitted to a random part of the items, of MOST_ITEMS."""
PARTS = 40
"""Parts that stand for all: their own error adds a fortieth to the variance at 300 items."""
ELSEWHERE = 3_000
"""Items that what a study learnt is tried on: their own error adds a tenth to the variance at 300 items."""


@dataclass(frozen=True)
class Cell:
    """One setting: a family of judges under a design, at a size, with something planted.

    ``nothing``: the order moves no score. ``own leanings``: it moves single items, in ways that
    cancel out. ``twice``: a common shift of twice the smallest effect of interest besides these.
    """

    family: str
    design: str
    items: int
    plant: Plant

    @property
    def judge(self) -> str:
        return {
            "nothing": self.family,
            "own leanings": f"{self.family}, items lean",
            "twice": f"{self.family}, true shift {self.shift:g}",
        }[self.plant]

    @property
    def shift(self) -> float:
        """The planted true shift in points (pairs: in shares of wins)."""
        return 2.0 * SMALLEST_EFFECT if self.plant == "twice" else 0.0

    def run(self, seed: int, items: int = 0) -> Findings:
        """One study of this setting (of ``items`` items instead of its own)."""
        leanings: Leanings = "none" if self.plant == "nothing" else "own"
        places = len(CRITERIA) if axis_of(self.design) == "criteria" else 0
        strength = 0.0
        if self.shift:
            strength = strength_for(self.family, axis_of(self.design), self.shift, places=places)
        return Findings(
            foreign_run(
                self.family, self.design, items=items or self.items, strength=strength, leanings=leanings, seed=seed
            )
        )


def cells(
    *,
    families: Sequence[str] = tuple(FAMILIES),
    designs: Sequence[str] = tuple(DESIGNS),
    items: Sequence[int] = ITEMS,
    plants: Sequence[Plant] = PLANTS,
) -> list[Cell]:
    """Every setting that exists: a constant judge has no leanings and cannot be moved."""
    return [
        Cell(family, design, size, plant)
        for size in items
        for family in families
        for design in designs
        for plant in plants
        if plant == "nothing" or not FAMILIES[family].constant
    ]


@dataclass(frozen=True)
class Truth:
    """Long-run values: of each answer by its question, and of each estimate by KEY."""

    advice: dict[str, float]
    estimates: pd.DataFrame


@lru_cache(maxsize=128)
def truth_of(family: str, design: str, plant: Plant) -> Truth:
    findings = Cell(family, design, LONG_RUN, plant).run(seed=2**31)
    answers = {question_of(a): a.effect.estimate for a in findings.advice()}
    values = _values(findings.estimates())
    if CHOSEN in findings:
        values = _over_parts(values, Cell(family, design, MOST_ITEMS, plant))
    return Truth(answers, values)


def _over_parts(values: pd.DataFrame, part: Cell) -> pd.DataFrame:
    """``values``, but those that are fitted to a random part of the items as means over PARTS such parts.

    One part's own error would be as large as that of a study of as many items.
    """
    tables = (estimates(CHOSEN, choice(part.run(seed=2**31 + 2 + number).data)) for number in range(PARTS))
    drawn = pd.concat([_values(table) for table in tables])
    means = drawn[drawn["measure"] == "position"].groupby(KEY, dropna=False)["truth"].mean().reset_index()
    mean = values.merge(means, on=KEY, how="left", suffixes=("", "_mean"))["truth_mean"].to_numpy()
    return values.assign(truth=np.where(np.isnan(mean), values["truth"], mean))


def with_learnt(cell: Cell, findings: Findings, truth: Truth) -> Truth:
    """The truth of one study: what it learnt itself is tried on other items."""
    if LEARNT not in findings:
        return truth
    tried = debiasing(findings.data, target=_elsewhere(cell.family, cell.design, cell.plant))
    table = _values(estimates(LEARNT, tried))
    answers = {question_of(a): a.effect.estimate for a in debiasing_advice(tried)}
    others = truth.estimates[truth.estimates["topic"] != LEARNT]
    return Truth(truth.advice | answers, pd.concat([others, table], ignore_index=True))


@lru_cache(maxsize=4)
def _elsewhere(family: str, design: str, plant: Plant) -> RunData:
    return Cell(family, design, ELSEWHERE, plant).run(seed=2**31 + 1).data


def _values(table: pd.DataFrame) -> pd.DataFrame:
    """The ``truth`` of each estimate by KEY."""
    known = table[[*KEY, "value"]].drop_duplicates(KEY)
    return known.assign(arm=known["arm"].fillna(-1)).rename(columns={"value": "truth"})


def question_of(advice: Advice) -> str:
    """A question with the setting it is asked in: what is the same in every study."""
    return " · ".join(filter(None, (advice.question, advice.of[2])))
