"""Plan the looks at a study that may stop early: which items, and how many calls, each look adds.

What is independent is asked as one. The items of a prompt, of a block or of one call are a unit,
and all calls about a unit are in the same batch.
"""

from collections.abc import Sequence

from rubriclab.model.data import Item
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.looks import Scope, ScopeLooks, asking_rank, batch_of_rank, looks_at
from rubriclab.model.orders import Strategy
from rubriclab.model.text import digest
from rubriclab.study.parts import PlanPart
from rubriclab.study.subjects import Shape


def scope_of(part: PlanPart) -> Scope:
    """Return the data set and axis of a part."""
    return part.dataset.name, part.axis


def scope_looks(
    parts: Sequence[PlanPart], items: Sequence[Item], texts: Sequence[str], seed: int
) -> dict[Scope, ScopeLooks]:
    """Return the looks at each data set and axis.

    texts: for each item, what identifies its text in other runs too.
    """
    calls: dict[Scope, dict[tuple[int, ...], None]] = {}
    for part in parts:
        asked = calls.setdefault(scope_of(part), {})
        asked.update(dict.fromkeys(subject.items for subject in part.subjects))
    return {scope: _looks(list(asked), items, texts, seed) for scope, asked in calls.items()}


def can_stop_early(part: PlanPart, items: Sequence[Item]) -> bool:
    """Return whether a part has enough units for a look before its end."""
    calls = [subject.items for subject in part.subjects]
    return len(looks_at(len(set(_units(calls, items).values())))) > 1


def planned_batches(
    part: PlanPart, shape: Shape, strategy: Strategy, judge: JudgeSettings, looks: ScopeLooks
) -> tuple[int, ...]:
    """Return the calls of a condition in each batch of its scope."""
    numbers: list[list[int]] = [[] for _ in looks.units]
    for number in part.by_shape[shape]:
        numbers[looks.batch[part.subjects[number].items[0]]].append(number)
    return tuple(part.planned_for(chosen, strategy, judge) for chosen in numbers)


def _looks(
    calls: Sequence[tuple[int, ...]], items: Sequence[Item], texts: Sequence[str], seed: int
) -> ScopeLooks:
    """Return the looks at a scope. ``calls``: for each subject, the items that a call is about."""
    unit_of = _units(calls, items)
    members: dict[int, list[str]] = {}
    for item, unit in unit_of.items():
        members.setdefault(unit, []).append(texts[item])
    # Sorted, because the order of the rows in a file must not change the order of asking.
    names = [digest(*sorted(named)) for named in members.values()]
    rank = dict(zip(members, asking_rank(names, seed), strict=True))
    counts = looks_at(len(members))
    batch = {item: batch_of_rank(rank[unit], counts) for item, unit in unit_of.items()}
    return ScopeLooks(units=counts, batch=batch)


def _units(calls: Sequence[tuple[int, ...]], items: Sequence[Item]) -> dict[int, int]:
    """Return the unit of each item that is asked about, as the code of one of its items."""
    parent = {item: item for asked in calls for item in asked}

    def root(item: int) -> int:
        while parent[item] != item:
            parent[item] = parent[parent[item]]  # shortens the way for the next search
            item = parent[item]
        return item

    first: dict[tuple[str, str], int] = {}
    for asked in calls:
        for item in asked:
            parent[root(item)] = root(asked[0])
            for kind, name in (("prompt", items[item].prompt), ("block", items[item].block)):
                if name is not None:
                    parent[root(item)] = root(first.setdefault((kind, name), item))
    return {item: root(item) for item in parent}
