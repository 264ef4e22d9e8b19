"""What a run keeps to, what it asks and how far it is: limits, agenda, calls left, snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rubriclab.model import Call, Judge, Judgment
from rubriclab.study.plan import Plan


@dataclass(frozen=True)
class Limits:
    """What a run may cost and how patient it is. None: no cap.

    ``patience``: seconds that a server may be down. ``max_failures``: final failures in a
    row, none of them simulated, after which the run pauses instead of failing call by call.
    """

    max_calls: int | None = None
    max_money: float | None = None
    max_attempts: int = 5
    patience: float = 120.0
    max_failures: int | None = 50


NO_LIMITS = Limits()
"""No cap on calls or money, and the usual patience."""


def money(judge: Judge, tokens_in: float, tokens_out: float) -> float:
    """What these tokens cost at the judge's prices per million; 0 where no price is given."""
    paid = tokens_in * (judge.price_input or 0.0) + tokens_out * (judge.price_output or 0.0)
    return paid / 1e6


def rate_at(now: float, finished: Sequence[float]) -> float:
    """Calls a second over the 15 seconds before ``now``; ``finished``: when each ended, in order."""
    recent = [t for t in finished if t > now - 15.0]
    if len(recent) < 2 or now <= recent[0]:
        return 0.0
    return (len(recent) - 1) / max(recent[-1] - recent[0], 1e-3)


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment. ``rate`` in calls per second over the last seconds; ``eta`` in
    seconds, None while unknown; ``counts`` of judgments by status, all sessions together. ``waiting``:
    judges that can be asked nothing more just now, with what they wait for; the others go on."""

    run: str
    name: str
    state: str
    reason: str
    planned: int
    done: int
    asked: int
    counts: Mapping[str, int]
    rate: float
    eta: float | None
    in_flight: int
    concurrency: int
    retries: int
    money: float
    elapsed: float
    stage: str = ""
    waiting: Mapping[str, str] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        return self.state in ("planned", "running")


class Tally:
    """The calls of a run by judge, by its index: how many it has, how many are judged, who was dropped."""

    def __init__(self, plan: Plan) -> None:
        self.codes = {judge.name: code for code, judge in enumerate(plan.study.judges)}
        self.dropped: set[int] = set()
        self.kept = dict.fromkeys(self.codes.values(), 0)
        self._calls = dict.fromkeys(self.codes.values(), 0)
        for arm, calls in zip(plan.arms, plan.planned, strict=True):
            self._calls[self.codes[arm.judge]] += calls

    @property
    def done(self) -> int:
        return sum(self.kept.values())

    @property
    def left(self) -> int:
        """Calls without a final reply of the judges that have not been dropped."""
        return sum(max(0, n - self.kept[code]) for code, n in self._calls.items() if code not in self.dropped)


class Agenda(Protocol):
    """Which calls of a plan a run asks, and in which order; all of them where there is none.

    Used from the run's own thread: ``calls`` (of one judge, by its index) is read as calls are
    sent out, ``heard`` is told every judgment as it comes in, so later calls can depend on it.
    """

    def calls(self, judge: int) -> Iterator[Call]: ...

    def heard(self, judgment: Judgment) -> None: ...


class Feed:
    """The calls still to ask, handed out one by one; never blocks the loop for long."""

    def __init__(self, calls: Iterator[Call], done: set[str], only: frozenset[str] | None) -> None:
        self._calls, self._done, self._only = calls, done, only
        self._first: Call | None = None

    async def fill(self) -> bool:
        """Look for the first call; False where nothing is left to ask."""
        self._first = await self.next()
        return self._first is not None

    async def next(self) -> Call | None:
        """The next call; None where nothing is left."""
        if self._first is not None:
            call, self._first = self._first, None
            return call
        for skipped, call in enumerate(self._calls, start=1):
            if call.key in self._only if self._only is not None else call.key not in self._done:
                return call
            if skipped % 200 == 0:
                await asyncio.sleep(0)
        return None
