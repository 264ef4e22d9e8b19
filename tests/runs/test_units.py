"""Check that a plan, its forecast, its looks and its results count the same independent units."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from rubriclab.core.judgments import Judgments
from rubriclab.model.data import DataSet, Item
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.looks import unit_noun
from rubriclab.model.study import ReadingPart
from rubriclab.runs.forecast import planned_units, units_of_part
from rubriclab.runs.runner import Run
from rubriclab.store.store import Store
from rubriclab.study.plan import Plan
from tests.runs.kit import ended
from tests.study.kit import ABC, criterion, small_plan

SIMULATED = JudgeSettings(name="sim", kind="simulated")


@dataclass(frozen=True)
class Given:
    """``prompts``, ``blocks``: of each answer, a number, or None for an answer without."""

    axes: tuple[str, ...]
    prompts: tuple[int | None, ...]
    blocks: tuple[int | None, ...]
    unit: str = "auto"
    more: tuple[tuple[str, Any], ...] = ()

    def plan(self) -> Plan:
        items = []
        for k, (prompt, block) in enumerate(zip(self.prompts, self.blocks, strict=True)):
            items.append(
                Item(
                    f"i{k}",
                    f"response {k}",
                    f"question {k if prompt is None else prompt}",
                    prompt=None if prompt is None else f"p{prompt}",
                    block=None if block is None else f"b{block}",
                    candidate=f"c{k}",
                )
            )
        made = small_plan(
            dataset=DataSet("d", tuple(items)),
            criteria=ABC if "criteria" in self.axes else (criterion(),),
            judges=(SIMULATED,),
            stop="known",
            reorder=list(self.axes),
            repeats=1,
            **dict(self.more),
        )
        reading = ReadingPart(unit=self.unit)
        return replace(made, study=made.study.model_copy(update={"reading": reading}))


def counted_by_results(made: Plan) -> Judgments:
    with Store.open(":memory:") as store:
        end = ended(Run(store, made, ask_all=True))
        assert (end.state, end.done) == ("finished", len(made))
        return Judgments(store.table(end.run), made.study.reading.unit)


def check(made: Plan) -> None:
    results = counted_by_results(made)
    planned = planned_units(made)
    assert planned.kind == results.unit_kind
    assert partition(planned.code) == partition(results.unit_of_item)
    for scope in made.scopes:
        part = made.first_part(scope)
        units = units_of_part(made, part)
        arms = [arm for arm in results.arms if arm.condition.scope == scope]
        asked = np.unique(np.concatenate([arm.item_code for arm in arms]))
        assert units.number == len(np.unique(results.unit_of_item[asked]))
        if len(arms) == 1:
            assert units.noun == unit_noun(arms[0].unit_kind, scope[1])
        # Whatever units the results are read by, none is in two batches: it would be looked at
        # before all of it is asked.
        assert made.looks is not None
        batch = made.looks.scopes[scope].batch
        of_batch: dict[int, set[int]] = {}
        for item, number in batch.items():
            of_batch.setdefault(int(planned.code[item]), set()).add(number)
        assert all(len(numbers) == 1 for numbers in of_batch.values())
        assert made.looks.scopes[scope].units[-1] <= units.number


def partition(code: np.ndarray) -> list[int]:
    """The first item of each item's unit: the same for equal units, however they are numbered."""
    first: dict[int, int] = {}
    return [first.setdefault(unit, item) for item, unit in enumerate(code.tolist())]


NONE = (None,) * 6


@pytest.mark.thorough
@pytest.mark.parametrize(
    "case",
    [
        Given(("options",), NONE, NONE),
        Given(("options",), (0, 0, 1, 1, 2, 2), NONE),
        Given(("options",), (0, 0, 1, 1, None, None), NONE),
        Given(("options",), (0, 1, 2, 3, 4, 5), (0, 0, 1, 1, 2, 2)),
        Given(("options",), (0, 0, 1, 1, 2, 2), NONE, unit="item"),
        Given(("options",), (0, 0, 1, 1, 2, 2), (0, 0, 0, 0, 1, 1)),
        Given(("options",), (0, 0, 1, 1, 2, 2), (0, 0, 0, 0, 1, 1), unit="block"),
        Given(("options",), (0, 0, 1, 1, 2, 2), (0, 1, 1, 2, 2, 3), unit="prompt"),
        Given(("criteria",), NONE, NONE),
        Given(("criteria",), (0, 0, 1, 1, 2, 2), NONE),
        Given(("pairs",), (0, 0, 1, 1, 2, 2), NONE),
        Given(("responses",), (0, 0, 0, 1, 1, 1), NONE, more=(("k", 3),)),
        Given(("options", "criteria"), (0, 0, 1, 1, 2, 2), NONE),
        Given(("options", "pairs"), (0, 0, 1, 1, 2, 2), NONE),
    ],
    ids=lambda case: f"{'+'.join(case.axes)} {case.unit}",
)
def test_a_plan_counts_the_units_of_its_results(case: Given) -> None:
    check(case.plan())


@pytest.mark.thorough
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    axes=some.sampled_from([("options",), ("criteria",), ("options", "criteria")]),
    prompts=some.lists(some.none() | some.integers(0, 2), min_size=6, max_size=6),
    blocks=some.lists(some.none() | some.integers(0, 2), min_size=6, max_size=6),
    unit=some.sampled_from(["auto", "item"]),
)
def test_any_prompts_and_blocks_are_counted_as_in_the_results(
    axes: tuple[str, ...], prompts: list[int | None], blocks: list[int | None], unit: str
) -> None:
    if "criteria" in axes:  # a text of criteria has a block of its own
        blocks = [None] * len(blocks)
    check(Given(axes, tuple(prompts), tuple(blocks), unit).plan())
