"""“What pulls?”: the study that asks about many changes of one rubric in few arms, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from rubriclab.findings.frame import Units, units
from rubriclab.model import Dataset, Design, Item, Judge, LabError, Rubric, Strategy, Study
from rubriclab.model.language import tr
from rubriclab.model.wording import many
from rubriclab.runs.workshop_sample import single_responses
from rubriclab.stats.fractional import Screening, aliases, screening
from rubriclab.stats.shift import MIN_UNITS
from rubriclab.study.plan import Plan, plan
from rubriclab.study.rubric_changes import Change, changed, changes_of, told_apart

ITEMS, FEWEST = 16, 8
"""Items where nobody says how many, and below which no interval is given."""
WITH_PROBABILITIES = ("embedded", "vllm", "simulated")
"""Kinds of judges that say how likely each score was, so that one read of an order tells its expected score."""
REPEATS = 2
"""Reads of each order by a judge whose replies carry no probabilities: its own noise is told from the order's."""


@dataclass(frozen=True)
class PullsPlan:
    """``study``: what is asked; ``changes``: those that alter the rubric; ``design``: which arm makes which.

    ``units``: what intervals will rest on, each of the kind ``unit`` (``prompt`` where items share one);
    ``units_at_most``: with all items of the data.
    """

    study: Study
    changes: tuple[Change, ...]
    design: Screening
    prepared: Plan
    units: int
    unit: str
    units_at_most: int

    @property
    def calls(self) -> int:
        return len(self.prepared)

    @property
    def one_at_a_time(self) -> int:
        """Calls that arms with one change each would take for effects as precise."""
        return round(self.calls * self.design.economy)

    def mixed(self) -> list[str]:
        """In words, which effects hold a quarter or more of what two other changes do only together."""
        keys = [change.key for change in self.changes]
        return [
            tr(
                "{change}: {share:+.0%} of what {first} and {second} would do only together",
                change=keys[one.of],
                share=one.share,
                first=keys[one.a],
                second=keys[one.b],
            )
            for one in aliases(self.design.arms)
        ]

    def caution(self) -> str:
        """That no interval will be possible, why, and what would suffice; empty where one will be."""
        if self.units >= MIN_UNITS:
            return ""
        items = len(self.study.dataset)
        shared = (
            ""
            if self.unit == "item"
            else tr(" of {units}, whose answers count as one each,", units=many(self.units, self.unit))
        )
        lead = tr("{items}{shared} {items:is|are} too few for an interval", items=many(items, "item"), shared=shared)
        if self.units_at_most >= MIN_UNITS:
            cure = tr("Ask about {least} items or more", least=MIN_UNITS)
        elif self.unit == "item":
            cure = tr("Take data of {least} items or more", least=MIN_UNITS)
        else:
            cure = tr(
                "Take more items, of {needed} or more: here some {some} items",
                needed=many(MIN_UNITS, self.unit),
                some=MIN_UNITS * -(-items // self.units),
            )
        return tr(
            "{lead}, so nothing will be settled: {needed} are needed. {cure}.",
            lead=lead,
            needed=many(MIN_UNITS, self.unit),
            cure=cure,
        )

    def sentence(self) -> str:
        items = len(self.study.dataset)
        per_arm = self.calls // max(1, len(self.design.arms))
        alone = (len(self.changes) + 1) * per_arm
        return tr(
            "{changes} in {arms} arms on {items}: {calls:,} calls. One change at a time: {more_arms} arms, "
            "{alone:,} calls for answers that are less sharp, {one_at_a_time:,} for answers as sharp.",
            changes=many(len(self.changes), "change"),
            arms=len(self.design.arms),
            items=many(items, "item"),
            calls=self.calls,
            more_arms=len(self.changes) + 1,
            alone=alone,
            one_at_a_time=self.one_at_a_time,
        )


def pulls_plan(
    dataset: Dataset,
    rubric: Rubric,
    judge: Judge,
    *,
    criterion: str | None = None,
    items: int | None = None,
    budget: int | None = None,
    repeats: int | None = None,
    only: frozenset[str] | None = None,
    seed: int = 0,
) -> PullsPlan:
    """The study for ``items`` items (ITEMS, or all where there are fewer) within ``budget`` calls.

    ``criterion``: one of the rubric's; needed where it has several. ``only``: keys of the changes to try. ``repeats``: reads of each order.
    A budget takes items away first, down to FEWEST; what it leaves over FEWEST goes into more arms. Raises LabError for
    comparisons, for a rubric that nothing can be changed about, and for a budget too small.
    """
    rubric = Rubric(rubric.name, (rubric.criterion(criterion),))
    texts = [replace(text, criterion=None) for text in single_responses(dataset, criterion)]
    changes = tuple(change for change in changes_of(rubric) if only is None or change.key in only)
    if not changes:
        raise LabError(tr("Nothing about “{name}” can be changed in the ways that this asks about.", name=rubric.name))
    reads = 2 * (repeats or (1 if judge.kind in WITH_PROBABILITIES else REPEATS))
    wanted = min(len(texts), ITEMS if items is None else items)
    design, fewer = _sized(rubric, changes, wanted, reads, budget, seed)
    drawn = _drawn(texts, fewer, seed)
    study = _study(
        rubric, changes, design, replace(dataset, items=tuple(texts[i] for i in drawn), rubric=None), judge, reads, seed
    )
    mine = _units([texts[i] for i in drawn])
    return PullsPlan(study, changes, design, plan(study), mine.n, mine.kind, _units(texts).n)


def _units(texts: Sequence[Item]) -> Units:
    """What intervals over these items rest on, as the findings count it."""
    rows = {"prompt": [text.prompt for text in texts], "block": [text.block for text in texts]}
    return units(pd.DataFrame({**rows, "dataset": 0}))


def _study(
    rubric: Rubric, changes: tuple[Change, ...], design: Screening, sample: Dataset, judge: Judge, reads: int, seed: int
) -> Study:
    """All arms as one study: the first level of its factor is the rubric as it is."""
    made = [changed(rubric, (c.key for c, on in zip(changes, row, strict=True) if on)) for row in design.arms.tolist()]
    return Study(
        name=f"What pulls in {rubric.name}",
        dataset=sample,
        judges=(judge,),
        design=Design(
            strategies=(Strategy("ends", reads=reads),),
            factors={"rubric": tuple(one.name for one in made)},
            seed=seed,
            show_reference=False,
        ),
        rubric=rubric,
        rubrics=tuple(made[1:]),
    )


def _drawn(texts: list[Item], n: int, seed: int) -> list[int]:
    """``n`` items by the seed, of as many prompts as can be: answers to one prompt count as one unit."""
    taken: dict[str | None, int] = {}
    rank = {}
    for place in np.random.default_rng(seed).permutation(len(texts)).tolist():
        prompt = texts[place].prompt
        rank[place] = 0 if prompt is None else taken.get(prompt, 0)
        taken[prompt] = rank[place] + 1
    return sorted(sorted(rank, key=lambda place: rank[place])[:n])


def _sized(
    rubric: Rubric, changes: tuple[Change, ...], items: int, reads: int, budget: int | None, seed: int
) -> tuple[Screening, int]:
    """A design and how many items it is asked about, within the budget."""
    keys = [change.key for change in changes]
    apart = np.array([[a != b and not told_apart(rubric, a, b) for b in keys] for a in keys], dtype=bool)
    design = screening(len(keys), apart, seed=seed)
    each = len(design.arms) * reads
    if budget is None:
        return design, items
    if budget < each * min(items, FEWEST):
        raise LabError(
            tr(
                "{budget:,} calls are too few: {changes} take {arms} arms, {each:,} calls an item, on {items} "
                "items at least. Give {enough:,} or fewer changes.",
                budget=budget,
                changes=many(len(keys), "change"),
                arms=len(design.arms),
                each=each,
                items=min(items, FEWEST),
                enough=each * min(items, FEWEST),
            )
        )
    twice = 2 * len(design.arms)
    if budget >= twice * reads * items:
        return screening(len(keys), apart, arms=twice, seed=seed), items
    return design, min(items, budget // each)
