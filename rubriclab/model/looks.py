"""Say when a run that may stop early is looked at, and which items each look adds.

The units of a data set and axis are asked in an order that hangs on the seed and their texts alone,
so that a batch is a random sample whatever the order of the file, and the first units of two judges
are the same ones. Looks come when 1/16, 1/8, 1/4, 1/2 and all of the units are in, never before 10.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Stop = Literal["known", "decided"]
"""When a run ends before all its calls are asked.

known: the order is shown to matter and so is the way it matters, or each question has its No.
decided: each question has its Yes or its No.
"""
FIRST_LOOK = 10
"""Units at the first look. Below 8 no mean has a test or an interval."""
MOST_LOOKS = 5
"""Five looks save 94% of the calls at best, and the first may still use one of 2,000 deals."""

Scope = tuple[str, str]
"""A data set (by name) and what is reordered."""


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


def looks_at(units: int) -> tuple[int, ...]:
    """Return after how many of ``units`` a run is looked at: all, and halves of it from 10 on."""
    counts = [units]
    while len(counts) < MOST_LOOKS:
        part = -(-units // 2 ** len(counts))  # rounded up
        if part < FIRST_LOOK:
            break
        counts.insert(0, part)
    return tuple(counts)


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
