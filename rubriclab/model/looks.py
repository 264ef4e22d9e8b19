"""Say when a run that may stop early is looked at, and which items each look adds.

The units of a data set and axis are asked in an order that hangs on the seed and their texts alone,
so that a batch is a random sample whatever the order of the file, and the first units of two judges
are the same ones. Looks come when 1/16, 1/8, 1/4, 1/2 and all of the units are in, never before 10.
"""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import NonNegativeInt, PositiveInt, ValidationError

from rubriclab.model.part import Part
from rubriclab.model.text import LabError, shorten

Stop = Literal["known", "decided"]
"""When a run ends before all its calls are asked.

known: the order is shown to matter and so is the way it matters, or each question has its No.
decided: each question has its Yes or its No.
"""
ALPHA = 0.05
"""What p values are compared with where a run is looked at once. Intervals are drawn at 1 - ALPHA.
"""
FIRST_LOOK = 10
"""Units at the first look. Below 8 no mean has a test or an interval."""
MOST_LOOKS = 5
"""Five looks save 94% of the calls at best, and the first may still use one of 2,000 deals."""

NOUNS = {"prompt": "prompt", "block": "text", "text": "text"}
"""What a unit is called by its kind; otherwise by what one call is about."""
OF_ITEMS = {"pairs": "pair", "lists": "list", "criteria": "text"}
"""What one call is about, by what is reordered; otherwise an answer."""

Scope = tuple[str, str]
"""A data set (by name) and what is reordered."""


class Asked(Protocol):
    """What looks need to know of a run's condition."""

    @property
    def judge(self) -> str:
        """Return the name of its judge."""

    @property
    def dataset(self) -> str:
        """Return the name of its data set."""

    @property
    def scope(self) -> Scope:
        """Return its data set and what is reordered."""


@dataclass(frozen=True)
class NextLook:
    """The next look at a run that is going on; with several judges, the next one of each.

    first: whether no judge was looked at before. several: whether more than one look is meant.
    calls: planned calls of all sessions up to it. seconds: until then; None while unknown.
    """

    first: bool
    several: bool
    calls: int
    seconds: float | None


@dataclass(frozen=True)
class ScopeLooks:
    """The looks at one data set and axis. They are the same for all judges and settings.

    units: how many units are asked in full at each look; the last number is all of them.
    batch: by item (its code in the run), the number of the look that adds it. Items that this axis
        does not ask are left out.
    """

    units: tuple[int, ...]
    batch: Mapping[int, int]


@dataclass(frozen=True)
class RunLooks:
    """The looks of a whole run.

    scopes: by data set and axis. Those with fewer than 19 units have one look.
    planned: by condition, the calls of each batch of its scope.
    """

    stop: Stop
    scopes: Mapping[Scope, ScopeLooks]
    planned: tuple[tuple[int, ...], ...]

    def by_judge(self, conditions: Sequence[Asked], items: int) -> tuple[JudgeLooks, ...]:
        """Return the looks at each judge in each data set and axis. ``items``: of the run."""
        codes: dict[tuple[str, Scope], list[int]] = {}
        for code, condition in enumerate(conditions):
            codes.setdefault((condition.judge, condition.scope), []).append(code)
        made = []
        for (judge, scope), own in codes.items():
            looks = self.scopes[scope]
            batch = np.full(items, -1, dtype=np.int64)
            batch[list(looks.batch)] = list(looks.batch.values())
            planned = np.array([self.planned[code] for code in own], dtype=np.int64)
            made.append(
                JudgeLooks(
                    judge=judge,
                    scope=scope,
                    conditions=tuple(own),
                    units=looks.units,
                    batch=batch,
                    planned=planned,
                    stop=self.stop,
                )
            )
        return tuple(made)

    def document(self) -> dict[str, Any]:
        """Return the looks as JSON values, as the store and a zip keep them."""
        scopes = []
        for (dataset, reorder), looks in self.scopes.items():
            scopes.append(
                {
                    "dataset": dataset,
                    "reorder": reorder,
                    "units": list(looks.units),
                    "items": list(looks.batch),
                    "batches": list(looks.batch.values()),
                }
            )
        planned = [list(calls) for calls in self.planned]
        return {"stop": self.stop, "scopes": scopes, "planned": planned}


@dataclass(frozen=True, eq=False)
class JudgeLooks:
    """The looks at one judge in one data set and axis.

    conditions: the codes of its conditions.
    units: how many units are asked in full at each look.
    batch: (items of the run,) the look by which an item is asked, from 0; -1 for never.
    planned: (conditions, looks) the calls of each batch.
    """

    judge: str
    scope: Scope
    conditions: tuple[int, ...]
    units: tuple[int, ...]
    batch: NDArray[np.int64]
    planned: NDArray[np.int64]
    stop: Stop


class _StoredScope(Part):
    dataset: str
    reorder: str
    units: tuple[PositiveInt, ...]
    items: tuple[NonNegativeInt, ...]
    batches: tuple[NonNegativeInt, ...]


class _StoredLooks(Part):
    stop: Stop
    scopes: tuple[_StoredScope, ...]
    planned: tuple[tuple[NonNegativeInt, ...], ...]


def read_looks(
    body: object, *, items: int, conditions: Sequence[Asked], planned: Sequence[int]
) -> RunLooks:
    """Return the looks that ``document`` wrote, which may come from somebody else's file.

    items: how many the run has. planned: the calls of each condition. Raises LabError if the looks
    do not fit them.
    """
    try:
        stored = _StoredLooks.model_validate(body)
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise LabError(
            f"The run's looks cannot be read ({place}: {first['msg']}). Export the run again."
        ) from None
    scopes: dict[Scope, ScopeLooks] = {}
    for part in stored.scopes:
        known = len(part.items) == len(part.batches) == len(set(part.items))
        inside = max(part.items, default=-1) < items
        once = (part.dataset, part.reorder) not in scopes
        if not (known and inside and once and _holds_its_units(part)):
            raise LabError(
                f"The looks at “{shorten(part.dataset)}” do not fit the run's {items:,} items. "
                "Export the run again."
            )
        batch = dict(zip(part.items, part.batches, strict=True))
        scopes[part.dataset, part.reorder] = ScopeLooks(units=part.units, batch=batch)
    if len(stored.planned) != len(conditions):
        raise LabError(
            f"The run's looks are about {len(stored.planned):,} conditions; the run has "
            f"{len(conditions):,}. Export the run again."
        )
    looks = RunLooks(stop=stored.stop, scopes=scopes, planned=stored.planned)
    _check_planned(looks, conditions, planned)
    return looks


def _holds_its_units(part: _StoredScope) -> bool:
    """Return whether the looks come when they should, each with items for its new units.

    The last ones may have none yet: a file that grows holds only the first units.
    """
    if not part.units or part.units != looks_at(part.units[-1]):
        return False
    if max(part.batches, default=0) >= len(part.units):
        return False
    items = [part.batches.count(number) for number in range(len(part.units))]
    return _fills(items, part.units)


def _fills(numbers: Sequence[int], units: Sequence[int]) -> bool:
    """Return whether each batch has a number for each of its new units.

    The last one that has any may have fewer, and those after it none: a file that grows holds only
    the first units. ``core/batches.py`` counts no such batch as complete.
    """
    begun = len(numbers)
    while begun and not numbers[begun - 1]:
        begun -= 1
    enough = map(operator.ge, numbers, _new_units(units))
    return all(list(enough)[: max(begun - 1, 0)])


def _new_units(units: Sequence[int]) -> list[int]:
    """Return how many units each look adds."""
    return [after - before for before, after in pairwise((0, *units))]


def _check_planned(looks: RunLooks, conditions: Sequence[Asked], planned: Sequence[int]) -> None:
    """Raise LabError if the calls of the batches are not those of the run.

    A batch counts as complete when its planned calls are in, so a number that is too small would
    make a look of half a batch.
    """
    of_batch: dict[tuple[str, Scope], list[int]] = {}
    for condition, by_batch, calls in zip(conditions, looks.planned, planned, strict=True):
        scope = condition.scope
        own = looks.scopes.get(scope)
        if own is None or len(by_batch) != len(own.units) or sum(by_batch) != calls:
            raise LabError(
                f"The looks at “{shorten(condition.dataset)}” do not fit the {calls:,} planned "
                f"calls of “{shorten(condition.judge)}”. Export the run again."
            )
        known = of_batch.setdefault((condition.judge, scope), [0] * len(by_batch))
        of_batch[condition.judge, scope] = list(map(operator.add, known, by_batch))
    for (judge, scope), together in of_batch.items():
        if not _fills(together, looks.scopes[scope].units):
            raise LabError(
                f"The looks at “{shorten(scope[0])}” have fewer calls of “{shorten(judge)}” in a "
                "batch than new units. Export the run again."
            )


def looks_at(units: int) -> tuple[int, ...]:
    """Return after how many of ``units`` a run is looked at: all, and halves of it from 10 on."""
    counts = [units]
    while len(counts) < MOST_LOOKS:
        part = -(-units // 2 ** len(counts))  # rounded up
        if part < FIRST_LOOK:
            break
        counts.insert(0, part)
    return tuple(counts)


def unit_noun(kind: str, reorder: str) -> str:
    """Return what an independent unit is called: “prompt”, “text”, “answer”, “pair”.

    ``kind``: ``prompt``, ``block``, ``text`` or ``item``. ``reorder``: the kind of list, which says
    what one call is about.
    """
    return NOUNS.get(kind) or OF_ITEMS.get(reorder, "answer")


def asking_rank(units: Sequence[str], seed: int) -> list[int]:
    """Return the place of each unit, named by its text, in the order of asking.

    Units of the same text come in the order in which they are given.
    """
    hashed = [
        hashlib.sha256(f"{seed}|looks|{unit}".encode("utf-8", "surrogatepass")).hexdigest()
        for unit in units
    ]
    rank = [0] * len(units)
    for place, unit in enumerate(sorted(range(len(units)), key=lambda k: (hashed[k], k))):
        rank[unit] = place
    return rank


def batch_of_rank(rank: int, looks: Sequence[int]) -> int:
    """Return the number of the first look at which the unit of this rank has been asked."""
    return next(number for number, units in enumerate(looks) if rank < units)
