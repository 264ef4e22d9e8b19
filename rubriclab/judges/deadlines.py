"""``asyncio.timeout`` for many calls at once, with one timer for all of them.

A timer of its own costs a call a twentieth of its processor time, and all but a few are taken back unused.
"""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self


class Deadlines:
    """Makes deadlines that are ``seconds`` away when they are entered; made inside the event loop."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._open: set[Deadline] = set()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> Deadline:
        """One deadline, to be entered where the clock is to start."""
        return Deadline(self, self._seconds)

    def close(self) -> None:
        """Forget all of them."""
        self._open.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _watch(self, deadline: Deadline, when: float) -> None:
        """The timer goes off at or before the earliest of all: mostly it is set already, for an earlier one."""
        self._open.add(deadline)
        if self._timer is None or when < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(when, self._look)

    def _look(self) -> None:
        self._timer = None
        now, following = self._loop.time(), float("inf")
        for deadline in tuple(self._open):
            if deadline._ends <= now:
                self._open.discard(deadline)
                deadline._expire()
            else:
                following = min(following, deadline._ends)
        if self._open:
            self._timer = self._loop.call_at(following, self._look)


class Deadline:
    """The block of one call: cancelled at its end, which comes out as TimeoutError; see ``asyncio.Timeout``."""

    __slots__ = ("_all", "_cancelling", "_ends", "_expired", "_seconds", "_task")

    def __init__(self, together: Deadlines, seconds: float) -> None:
        self._all, self._seconds = together, seconds
        self._ends = float("inf")
        self._expired = False

    def when(self) -> float | None:
        """When it ends, by the loop's clock; None while it stands still."""
        return None if self._ends == float("inf") else self._ends

    def reschedule(self, when: float | None) -> None:
        """End then instead; None lets the clock stand still."""
        self._ends = float("inf") if when is None else when
        self._all._open.discard(self)
        if when is not None:
            self._all._watch(self, when)

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("A deadline has to be entered inside a task.")
        self._task, self._cancelling = task, task.cancelling()
        self._ends = self._all._loop.time() + self._seconds
        self._all._watch(self, self._ends)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._all._open.discard(self)
        # A cancellation from elsewhere stays one, also where it comes together with the deadline.
        if self._expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error

    def _expire(self) -> None:
        self._expired = True
        self._task.cancel()
