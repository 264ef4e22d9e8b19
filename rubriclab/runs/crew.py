"""Workers on the nodes of a Ray cluster: hired, given parts of the work, replaced where lost.

Ray's own pools (``ray.data.ActorPoolStrategy``) hold on to what they gave a worker that died: the
part waits until there is room to start the worker again, which on a full cluster is never, and
then is asked from its beginning, answers and all. So the parts are given out here. A part whose
worker is lost goes, without what was answered of it, to the next worker that has room; a worker is
hired in place of the lost one, and waits for a node if there is none (a cluster that scales by
itself sees it wait, and starts one).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rubriclab.model.wording import many
from rubriclab.runs.answer_files import BatchError

HELD = 2
"""Parts a worker holds at once, so that it need not wait for the next one."""
LOSSES = 3
"""Workers that may be lost, beyond those first hired, with no part finished in between."""
IDLE = 30.0
"""Seconds without a single worker before that is said."""


@dataclass(frozen=True)
class Part:
    """Some of the work: a number of its own, and calls as (key, pickled call)."""

    number: int
    calls: Sequence[tuple[str, bytes]]


@dataclass
class _Hand:
    """A worker: Ray's handle, what it holds, and whether it has a node."""

    actor: Any
    up: bool = False
    holds: int = 0


class Crew:
    """Gives parts to workers until all are done.

    ``hire``: starts a worker, an actor with ``ready()`` and ``ask(number, calls)``. ``taken``: the
    keys of a part, by its number, that are answered and kept.
    """

    def __init__(
        self,
        ray: Any,
        hire: Callable[[], Any],
        taken: Callable[[int], set[str]],
        *,
        workers: int,
        say: Callable[[str], None],
    ) -> None:
        self._ray, self._hire, self._taken, self._say = ray, hire, taken, say
        self._workers, self._lost = workers, 0
        self._under_way: dict[Any, tuple[_Hand, Part | None]] = {}
        self._back: deque[Part] = deque()
        self._hands: list[_Hand] = []
        self._idle_since = time.monotonic()

    def work(self, parts: Iterator[Part]) -> None:
        """Every part to its end. Raises BatchError where workers only die, or fail by themselves."""
        for _ in range(self._workers):
            self._take_on()
        while self._feed(parts):
            done, _ = self._ray.wait(list(self._under_way), num_returns=1, timeout=5.0)
            for ref in done:
                if ref in self._under_way:
                    self._settle(ref)
            self._complain()

    def _take_on(self) -> None:
        hand = _Hand(self._hire())
        self._hands.append(hand)
        self._under_way[hand.actor.ready.remote()] = hand, None

    def _feed(self, parts: Iterator[Part]) -> bool:
        """Parts to all who have room, evenly; False once there is none left and none under way."""
        for room in range(HELD):
            for hand in self._hands:
                if hand.up and hand.holds <= room and (part := self._next(parts)) is not None:
                    hand.holds += 1
                    self._under_way[hand.actor.ask.remote(part.number, part.calls)] = hand, part
        at_work = any(part is not None for _, part in self._under_way.values())
        if not at_work and (part := self._next(parts)) is not None:  # nobody is there to take it yet
            self._back.appendleft(part)
        return at_work or bool(self._back)

    def _next(self, parts: Iterator[Part]) -> Part | None:
        return self._back.popleft() if self._back else next(parts, None)

    def _settle(self, ref: Any) -> None:
        """What came of one request to a worker: it is up, a part is done, or the worker is lost."""
        hand, part = self._under_way.pop(ref)
        try:
            self._ray.get(ref)
        except self._ray.exceptions.RayActorError as error:
            self._lose(hand, part, error)
            return
        hand.up = True
        if part is not None:
            hand.holds -= 1
            self._lost = 0
            self._taken(part.number)

    def _lose(self, hand: _Hand, part: Part | None, error: Exception) -> None:
        """A worker is gone: what it held comes back, and another is hired."""
        self._lost += 1
        if not hand.up and "creation task" in str(error):  # it cannot start: nor could another
            raise error
        if self._lost >= self._workers + LOSSES:
            raise error
        held = [part, *(self._under_way.pop(ref)[1] for ref in self._of(hand))]
        left = [self._left(one) for one in held if one is not None]
        self._back.extendleft(reversed([one for one in left if one.calls]))
        self._hands.remove(hand)
        calls = sum(len(one.calls) for one in left)
        went = f"{many(calls, 'call')} that it held go to others" if calls else "it held no calls"
        self._say(f"A worker is lost with its node or its process: {went}. Another is hired.")
        self._take_on()

    def _of(self, hand: _Hand) -> list[Any]:
        return [ref for ref, (other, _) in self._under_way.items() if other is hand]

    def _left(self, part: Part) -> Part:
        kept = self._taken(part.number)
        return replace(part, calls=[call for call in part.calls if call[0] not in kept])

    def _complain(self) -> None:
        """Say it where no worker has a place, for as long as that lasts."""
        now = time.monotonic()
        if any(hand.up for hand in self._hands):
            self._idle_since = now
        elif now - self._idle_since > IDLE:
            self._idle_since = now
            cpus = self._ray.cluster_resources().get("CPU", 0)
            self._say(
                f"No worker is up yet. Each is starting, or waits for one of the cluster's {cpus:g} processors: "
                "“ray status” says what holds them."
            )


def given_up(report: str, folder: object) -> BatchError:
    """The error of a spread whose cluster failed, from Ray's report of it."""
    lines = [line.strip() for line in report.strip().splitlines()]
    named = [line for line in lines if _names_fault(line)]
    reason = (named or lines or ["no reason given"])[-1].rstrip(".")
    return BatchError(
        f"The cluster gave up: {reason}. What was answered until then is in {folder}; the same "
        "command takes it in and goes on."
    )


def _names_fault(line: str) -> bool:
    """Whether a line of Ray's report names an exception that is not one of Ray's own."""
    name, colon, _ = line.partition(": ")
    plain = name.replace(".", "").replace("_", "").isalnum() and not name.startswith("ray.")
    return bool(colon) and plain and name.endswith(("Error", "Exception"))
