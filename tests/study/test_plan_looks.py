"""Check the batches of a study that may stop early: their items, and how many calls each has."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from rubriclab.model.data import DataSet, Item, Rubric
from rubriclab.model.looks import ScopeLooks, batch_of_rank
from rubriclab.model.study import Study
from rubriclab.study.parts import REPEATED_SUBJECTS
from rubriclab.study.plan import Plan, plan
from rubriclab.study.plan_looks import can_stop_early
from tests.judges.test_decisions import deciding
from tests.study.kit import ABC, API, EMBEDDED, criterion, data, small_plan

OTHER = API.model_copy(update={"name": "other"})


def questions(count: int, candidates: str = "ab") -> DataSet:
    """``count`` questions, each with an answer of every candidate."""
    items = [
        Item(f"{name}{number}", f"answer {name} to {number}", f"question {number}")
        for number in range(count)
        for name in candidates
    ]
    return DataSet(
        "d",
        tuple(replace(item, prompt=item.item_id[1:], candidate=item.item_id[0]) for item in items),
    )


def referenced(count: int) -> DataSet:
    """``count`` answers; every third has no reference answer of score 2."""
    items = [
        Item(f"i{k}", f"response {k}", f"q {k}", columns={"reference_2": "poor"} if k % 3 else {})
        for k in range(count)
    ]
    return DataSet("d", tuple(items))


def of_two_scales() -> DataSet:
    """40 answers under a criterion of five scores and under one of three, in turn."""
    items = [Item(f"i{k}", f"response {k}", criterion="ab"[k % 2]) for k in range(40)]
    return DataSet("d", tuple(items))


def in_two_sets() -> Plan:
    """40 and 20 answers, under rubrics of 5 and 3 scores."""
    study = Study.model_validate(
        {
            "name": "two",
            "data": [{"file": "a.csv"}, {"file": "b.csv"}],
            "design": {"stop": "known", "repeats": 1},
            "judges": [API.model_dump(), OTHER.model_dump()],
        }
    )
    other = (replace(data(20), name="e"), Rubric("s", (criterion(n=3),)))
    return plan(study, data(40), Rubric("r", (criterion(),)), [other])


PLANS: dict[str, tuple[dict[str, Any], tuple[int, ...]]] = {
    "options": ({"count": 40}, (10, 20, 40)),
    "several strategies": (
        {"count": 40, "strategies": ["balanced", "random", "descending"], "repeats": 1},
        (10, 20, 40),
    ),
    "repeats on a sample": ({"count": 40, "repeats_on": 0.3}, (10, 20, 40)),
    "repeats on a number": ({"count": 40, "repeats_on": 7}, (10, 20, 40)),
    "two judges": ({"count": 20, "judges": (API, OTHER)}, (10, 20)),
    "deterministic": ({"count": 40, "judges": (EMBEDDED, API)}, (10, 20, 40)),
    "criteria": ({"count": 40, "criteria": ABC, "reorder": "criteria"}, (10, 20, 40)),
    "pairs": ({"dataset": questions(40), "reorder": "pairs"}, (10, 20, 40)),
    "pairs of three": ({"dataset": questions(20, "abc"), "reorder": "pairs"}, (10, 20)),
    "lists": ({"dataset": questions(40, "abcd"), "reorder": "lists", "k": 3}, (10, 20, 40)),
    "scales": (
        {"dataset": of_two_scales(), "criteria": (criterion("a"), criterion("b", 3))},
        (10, 20, 40),
    ),
    "unequal calls": ({"dataset": data(41), "reorder": "responses", "k": 4}, (10,)),
    "responses": ({"dataset": questions(40, "abcd"), "reorder": "responses"}, (10, 20, 40)),
    "one call in pieces": ({"dataset": data(44), "reorder": "responses", "k": 2}, (11, 22)),
    "bare": ({"count": 40, "reorder": "bare"}, (10, 20, 40)),
    "left out by a level": (
        {"dataset": referenced(40), "vary": {"reference": [0, 2], "scale": [5, 3]}},
        (10, 20, 40),
    ),
    "left out by the first level": (
        {"dataset": referenced(60), "vary": {"reference": [2, 0]}},
        (15, 30, 60),
    ),
    "crossed": (
        {
            "dataset": referenced(40),
            "vary": {"reference": [0, 2], "temperature": [0.0, 1.0], "crossed": True},
            "strategies": ["fixed", "random"],
        },
        (10, 20, 40),
    ),
    "packed": (
        {"count": 160, "judges": (deciding(),), "vary": {"packing": ["packed", "alone"]}},
        (10, 20, 40, 80, 160),
    ),
    "axes": (
        {"count": 40, "criteria": ABC, "reorder": ["options", "criteria", "bare"]},
        (10, 20, 40),
    ),
    "too few": ({"count": 18}, (18,)),
}


@pytest.fixture(scope="module")
def plans() -> dict[str, tuple[Plan, tuple[int, ...]]]:
    made = {
        name: (small_plan(**({"stop": "known"} | design)), units)
        for name, (design, units) in PLANS.items()
    }
    return made | {"two sets": (in_two_sets(), (10, 20, 40))}


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*PLANS, "two sets"])
def test_the_batches_are_the_plan(
    plans: dict[str, tuple[Plan, tuple[int, ...]]], name: str
) -> None:
    made, units = plans[name]
    assert made.looks is not None
    assert made.looks.scopes[made.scopes[0]].units == units
    assert [sum(of_batch) for of_batch in made.looks.planned] == list(made.planned)
    every = [call.key for call in made.calls()]
    seen: list[str] = []
    for judge in made.study.judges:
        asked: dict[tuple[str, str], set[int]] = {}
        for scope in made.scopes:
            looks = made.looks.scopes[scope]
            for number in range(len(looks.units)):
                calls = list(made.calls(judge.name, scope, number))
                counted = Counter(call.condition for call in calls)
                for code, condition in enumerate(made.conditions):
                    if (condition.judge, condition.dataset, condition.reorder) == (
                        judge.name,
                        *scope,
                    ):
                        assert counted.pop(code, 0) == made.looks.planned[code][number]
                assert not counted, "a call of another judge or scope"
                # All items of a call, and all calls about an item, are in this batch.
                items = {item for call in calls for item in call.items}
                assert items == {item for item, batch in looks.batch.items() if batch == number}
                asked.setdefault(scope, set()).update(items)
                seen += [call.key for call in calls]
            assert asked[scope] == set(looks.batch)
    assert seen == every, "batch after batch is the order of the whole plan"
    assert len(set(seen)) == len(seen) == len(made)


def items_by_batch(made: Plan) -> dict[tuple[str, str], list[set[str]]]:
    assert made.looks is not None
    return {
        scope: [
            {made.items[code].item_id for code, batch in looks.batch.items() if batch == number}
            for number in range(len(looks.units))
        ]
        for scope, looks in made.looks.scopes.items()
    }


def test_rows_in_another_order_give_the_same_batches() -> None:
    for dataset, design in (
        (data(40), {}),
        (questions(40), {"reorder": "pairs"}),
        (questions(20, "abc"), {"reorder": "responses"}),
        (referenced(60), {"vary": {"reference": [2, 0]}}),
    ):
        backwards = replace(dataset, items=dataset.items[::-1])
        made, other = (
            small_plan(dataset=rows, stop="known", **design) for rows in (dataset, backwards)
        )
        assert items_by_batch(made) == items_by_batch(other)


def test_the_order_hangs_on_the_seed_and_not_on_judges_or_strategies() -> None:
    first = items_by_batch(small_plan(40, stop="known"))
    same = small_plan(40, stop="decided", judges=(OTHER, API), strategies=["random"], repeats=1)
    assert items_by_batch(same) == first
    assert items_by_batch(small_plan(40, stop="known", seed=1)) != first


def test_a_batch_is_no_beginning_of_the_file() -> None:
    """A file that is sorted by topic or quality still gives random samples."""
    made = small_plan(160, stop="known")
    assert made.looks is not None
    looks = made.looks.scopes["d", "options"]
    first = sorted(code for code, batch in looks.batch.items() if batch == 0)
    assert len(first) == 10
    assert first[0] < 40
    assert first[-1] >= 120


def units_of(looks: ScopeLooks, made: Plan, names: Sequence[str]) -> dict[str, set[int]]:
    """The batches of the items with each of these names."""
    found: dict[str, set[int]] = {name: set() for name in names}
    for code, batch in looks.batch.items():
        for name in {made.items[code].prompt, made.items[code].block} & set(names):
            found[str(name)].add(batch)
    return found


def test_prompts_blocks_and_calls_stay_together() -> None:
    """40 prompts of two answers; every two of them share a block: 20 units."""
    items = tuple(
        Item(f"i{k}", f"response {k}", f"q {k // 2}", prompt=f"p{k // 2}", block=f"b{k // 4}")
        for k in range(80)
    )
    made = small_plan(dataset=DataSet("d", items), stop="known", repeats=1)
    assert made.looks is not None
    looks = made.looks.scopes["d", "options"]
    assert looks.units == (10, 20)
    assert Counter(looks.batch.values()) == {0: 40, 1: 40}
    names = [f"p{k}" for k in range(40)] + [f"b{k}" for k in range(20)]
    assert all(len(batches) == 1 for batches in units_of(looks, made, names).values())


def test_two_axes_have_looks_of_their_own() -> None:
    made = small_plan(dataset=questions(40), stop="known", reorder=["options", "pairs"])
    assert made.looks is not None
    by_axis = {axis: looks.units for (_, axis), looks in made.looks.scopes.items()}
    assert by_axis == {"options": (10, 20, 40), "pairs": (10, 20, 40)}  # 40 prompts, 40 pairs


def test_too_few_units_have_one_look_and_a_study_without_stop_none() -> None:
    once = small_plan(18, stop="known")
    assert once.looks is not None
    assert once.looks.planned == ((18 * 20,),)
    assert not can_stop_early(once.parts[0], once.items)
    assert can_stop_early(small_plan(19).parts[0], small_plan(19).items)
    assert small_plan(40).looks is None


def repeats(made: Plan) -> dict[int, int]:
    """How often each item is asked in an order that is repeated, by its code."""
    counted: dict[int, int] = {}
    for call in made.calls("small"):
        for item in call.items:
            counted[item] = max(counted.get(item, 0), call.repeat + 1)
    return counted


@pytest.mark.thorough
@pytest.mark.parametrize(
    "design",
    [
        {"count": 40},
        {"count": 160, "seed": 3},
        {"count": 40, "criteria": ABC, "reorder": "criteria"},
        {"dataset": questions(40), "reorder": "pairs"},
        {"dataset": questions(40, "abcd")},  # 40 prompts, each of four answers
        {"dataset": of_two_scales(), "criteria": (criterion("a"), criterion("b", 3))},
        {"count": 40, "vary": {"scale": [5, 3]}},
    ],
)
def test_a_deterministic_judge_repeats_what_is_asked_first(design: dict[str, Any]) -> None:
    """Else the noise would not be known where the run stops."""
    made = small_plan(judges=(EMBEDDED,), stop="known", **design)
    assert made.looks is not None
    ((_, looks),) = made.looks.scopes.items()
    again = [item for item, times in repeats(made).items() if times > 1]
    assert {looks.batch[item] for item in again} == {0}
    subjects = {call.items for call in made.calls() if call.items[0] in again}
    assert len(subjects) == REPEATED_SUBJECTS
    assert sum(map(sum, made.looks.planned)) == len(made) == len(list(made.calls()))
    # The same texts in a file of another order.
    if "dataset" not in design and "vary" not in design:
        number = design.pop("count")
        rows = data(number).items
        other = small_plan(
            judges=(EMBEDDED,), stop="known", dataset=DataSet("d", rows[::-1]), **design
        )
        ids = {other.items[item].item_id for item, times in repeats(other).items() if times > 1}
        assert ids == {made.items[item].item_id for item in again}


def test_a_study_that_cannot_stop_early_repeats_the_first_answers_of_its_file() -> None:
    for design in ({"count": 18, "stop": "known"}, {"count": 40}):
        made = small_plan(judges=(EMBEDDED,), **design)
        assert [item for item, times in repeats(made).items() if times > 1] == list(range(10))
    keys = [call.key for call in small_plan(18, judges=(EMBEDDED,)).calls()]
    stopping = small_plan(18, judges=(EMBEDDED,), stop="known")
    assert sorted(keys) == sorted(call.key for call in stopping.calls())


def test_what_is_repeated_is_said() -> None:
    asked_first = small_plan(40, judges=(EMBEDDED,), stop="known").notes
    assert "repeated only on the first 10 answers that are asked to measure that" in asked_first[0]
    assert "on the first 10 answers to measure that" in small_plan(40, judges=(EMBEDDED,)).notes[0]


def test_the_batch_of_a_rank() -> None:
    assert [batch_of_rank(rank, (10, 20, 40)) for rank in (0, 9, 10, 19, 20, 39)] == [
        0,
        0,
        1,
        1,
        2,
        2,
    ]
