"""Plan the looks at a study that may stop early: which items, and how many calls, each look adds.

A unit here is what has to be asked as one: the items of a prompt, of a block and of one call, and
all that hang together by these. The results count by one choice of these (``units_of`` in
``core/judgments.py``), which may be made anew after the run. Whatever it is, none of its units is
in two batches, because each lies within a unit of this kind. Where texts lie within prompts, as
they do in most data, both are the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rubriclab.model.data import Item
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.looks import Scope, ScopeLooks, asking_rank, batch_of_rank, looks_at
from rubriclab.model.orders import Strategy
from rubriclab.model.text import digest
from rubriclab.study.parts import REPEATED_SUBJECTS, PlanPart
from rubriclab.study.subjects import Shape


def scope_of(part: PlanPart) -> Scope:
    """Return the data set and axis of a part."""
    return part.dataset.name, part.axis


@dataclass(frozen=True)
class AskingOrder:
    """In which order the units of a data set and axis are asked.

    rank: of each item (its code), the place of its unit. units: how many there are.
    """

    rank: Mapping[int, int]
    units: int

    @property
    def units_at(self) -> tuple[int, ...]:
        """How many units are asked in full at each look."""
        return looks_at(self.units)

    def looks(self) -> ScopeLooks:
        """Return the looks, with the batch of each item."""
        batch = {item: batch_of_rank(rank, self.units_at) for item, rank in self.rank.items()}
        return ScopeLooks(units=self.units_at, batch=batch)

    def first_asked(self, part: PlanPart, number: int) -> frozenset[int]:
        """Return the numbers of the subjects of a part that are asked first, so many of them."""
        subjects = range(len(part.subjects))
        in_order = sorted(subjects, key=lambda k: (self.rank[part.subjects[k].items[0]], k))
        return frozenset(in_order[:number])


def asking_orders(
    parts: Sequence[PlanPart], items: Sequence[Item], texts: Sequence[str], seed: int
) -> dict[Scope, AskingOrder]:
    """Return the order of asking of each data set and axis.

    texts: for each item, what identifies its text in other runs too.
    """
    calls: dict[Scope, dict[tuple[int, ...], None]] = {}
    for part in parts:
        asked = calls.setdefault(scope_of(part), {})
        asked.update(dict.fromkeys(subject.items for subject in part.subjects))
    return {scope: _asking_order(list(asked), items, texts, seed) for scope, asked in calls.items()}


def repeated_where_asked_first(part: PlanPart, order: AskingOrder) -> PlanPart:
    """Return a part whose deterministic judge is asked again about the subjects that come first.

    A study that stops early may never reach the first ones of the file, and would not know the
    noise then. Where there is one look, the part stays as it is in a study that never stops.
    """
    if len(order.units_at) == 1:
        return part
    return replace(part, asked_again=order.first_asked(part, REPEATED_SUBJECTS))


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


def _asking_order(
    calls: Sequence[tuple[int, ...]], items: Sequence[Item], texts: Sequence[str], seed: int
) -> AskingOrder:
    """Return the order of a scope. ``calls``: for each subject, the items that a call is about."""
    unit_of = _units(calls, items)
    members: dict[int, list[str]] = {}
    for item, unit in unit_of.items():
        members.setdefault(unit, []).append(texts[item])
    # Sorted, because the order of the rows in a file must not change the order of asking.
    names = [digest(*sorted(named)) for named in members.values()]
    rank = dict(zip(members, asking_rank(names, seed), strict=True))
    return AskingOrder({item: rank[unit] for item, unit in unit_of.items()}, len(members))


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
