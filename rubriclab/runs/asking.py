"""Ask one judge its calls: decide how many at once, what to ask again, and when to give up.

Everything here runs in the one event loop of a session. Nothing needs a lock: between two
``await``s no other call of this judge can move.
"""

import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from rubriclab.judges.faults import FATAL, advised
from rubriclab.judges.kinds import Asker
from rubriclab.judges.rungs import probe_call, rung_of
from rubriclab.model.constraint import Constraint
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply
from rubriclab.model.text import LabError

ATTEMPTS = 5
"""Attempts at one call before its fault is kept as its reply. With ``backoff`` they span 4 to 8 s,
which outlasts a short overload; longer ones come with a ``retry_after``."""
LONGEST_REST = 120.0
"""Longest pause (s) that a server may ask for, and longest time that a server which has answered
before may be unreachable. A run that waits longer looks as if it hangs; pausing says why."""
FIRST_AT_ONCE = 8
"""Calls in flight before anything is known about a server. Small enough for a laptop's server, and
a strong one is at its full concurrency after as many replies."""
FAILURES_IN_A_ROW = 5
"""Final failures in a row after which a judge is halted: the cause is not in the calls."""
REFUSED_AT_FIRST = 3
"""The same before the first answer, for requests that the server refuses: it will refuse all."""
STRAIN_SECONDS = 1.0
"""The limit is halved once in this time (s). All calls in flight meet one overload together, and
halving for each of them would bring the limit down to 1."""
CURE = 'Test the judge to see which constraint its server applies, or set constrain = "free".'
ABOUT_THE_TEXT = frozenset({"context_overflow", "content_filter", "too_large"})
"""Faults that come from one item's text, however many of its calls meet them."""


class Asking:
    """One open judge, and the pace at which it is asked.

    The limit on calls in flight follows additive increase, multiplicative decrease (as in TCP). It
    grows by one for each answer until a server says that it is too much (429, 503). Then it is
    halved, and grows by one each time a whole round of calls has been answered.

    reason: why the judge is asked nothing more; empty while it may be asked.
    trouble: why its latest call is being asked again; empty if it is not.
    limit: calls that may be in flight. A fraction, so that it can grow by one a round.
    active: calls in flight.
    """

    def __init__(self, settings: JudgeSettings, asker: Asker) -> None:
        self.settings = settings
        self.asker = asker
        self.reason = ""
        self.trouble = ""
        self.limit = float(min(settings.concurrency, FIRST_AT_ONCE))
        self.active = 0
        # Moments on the monotonic clock; 0 means never.
        self._next_start = 0.0  # the earliest next call that rpm allows
        self._rest_until = 0.0  # the server asked for no call before
        self._halved = 0.0
        self._answered = 0.0
        self._strained = False  # a server has said once that it is too much
        self._freed = asyncio.Event()
        self._stopping = asyncio.Event()
        self._failures: list[tuple[tuple[int, ...], Reply]] = []  # in a row: (items, reply)

    async def enter(self) -> bool:
        """Wait until one more call may go out; return False if the judge is stopped first."""
        while not self._stopping.is_set():
            now = time.monotonic()
            wait = max(self._next_start, self._rest_until) - now
            if wait <= 0 and self.active < int(self.limit):
                self.active += 1
                if self.settings.rpm:
                    self._next_start = max(self._next_start, now) + 60.0 / self.settings.rpm
                return True
            # Wake up when the time has come, or when a call ends or the judge is stopped.
            self._freed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._freed.wait(), wait if wait > 0 else None)
        return False

    def leave(self) -> None:
        """End a call that ``enter`` has let out."""
        self.active -= 1
        self._freed.set()

    def stop(self) -> None:
        """Send out no further call. Calls in flight go on to their replies."""
        self._stopping.set()
        self._freed.set()

    @property
    def stopped(self) -> bool:
        """Whether no further call goes out."""
        return self._stopping.is_set()

    def halt(self, reason: str) -> None:
        """Ask this judge nothing more. Other judges go on."""
        self.reason = self.reason or f"{self.settings.name}: {reason}"
        self.stop()

    def resting(self) -> float:
        """Return for how many seconds no call goes out because the server asked for it."""
        return max(0.0, self._rest_until - time.monotonic())

    async def answered(self, call: Call) -> Reply | None:
        """Wait for room, ask one call, and return its final reply.

        Return None if the judge stops first.
        """
        if not await self.enter():
            return None
        try:
            replies = await self.final_replies([call])
        finally:
            self.leave()
        if replies is None:
            return None
        self.watch(call, replies[0])
        return replies[0]

    async def final_replies(self, calls: Sequence[Call]) -> list[Reply] | None:
        """Ask the calls of one request until their replies are final, and return these.

        Return None if the judge stops first. The calls then have no reply and stay to be asked.
        """
        attempt = 0
        while True:
            try:
                replies = await self._asked(calls)
            except LabError as fault:  # the judge cannot be had at all: no weights, no memory
                self.halt(str(fault))
                return None
            reply = about_request(replies)
            if not self._is_away(reply):
                attempt += 1
            self.adapt(reply)
            if reply.error:
                reason = self._hopeless(reply, attempt)
                if reason:
                    self.halt(reason)
                    return None
            if not reply.error or attempt >= ATTEMPTS or not reply.retryable:
                return [replace(final, attempt=max(attempt, 1)) for final in replies]
            wait = max(backoff(max(attempt, 1)), reply.retry_after or 0.0)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), wait)
                return None  # stopped while waiting

    def _is_away(self, reply: Reply) -> bool:
        """Return whether a server that answered a short while ago cannot be reached.

        It may be restarting, so such attempts do not count.
        """
        if not reply.error or reply.kind != "connect" or self._answered == 0.0:
            return False
        return time.monotonic() - self._answered < LONGEST_REST

    async def check_constraint(self, rung: Constraint) -> None:
        """Halt the judge, before any of its calls, if its server does not apply ``rung``.

        The probe takes part in the judge's pace (``rpm``) like any call.
        """
        if rung == "free" or not await self.enter():
            return
        call = probe_call(self.settings, rung)
        try:
            replies = await self.final_replies([call])
        finally:
            self.leave()
        if replies is None:  # halted, with its reason, or stopped
            return
        made = rung_of(rung, call, replies[0])
        if not made.held:
            self.halt(f"{made.sentence()}. {CURE}")

    async def _asked(self, calls: Sequence[Call]) -> list[Reply]:
        """Make one attempt at a request."""
        if len(calls) == 1:
            return [await self.asker.ask(calls[0])]
        if not hasattr(self.asker, "ask_together"):
            raise LabError(
                'this judge takes one call per request here. Set its option packing = "alone".'
            )
        return list(await self.asker.ask_together(calls))

    def adapt(self, reply: Reply) -> None:
        """Set how many calls may be in flight, and from when on, by what came back."""
        now = time.monotonic()
        if not reply.error:
            self._answered, self.trouble = now, ""
            # Grow only while the limit is what holds calls back.
            if self.active >= int(self.limit):
                self.limit += 1.0 / self.limit if self._strained else 1.0
                self.limit = min(self.limit, float(self.settings.concurrency))
            return
        self.trouble = f"Asking {self.settings.name} again: {reply.error}"
        if reply.kind in ("rate_limit", "unavailable"):
            self._strained = True
            if now - self._halved > STRAIN_SECONDS:
                self._halved, self.limit = now, max(1.0, self.limit / 2)
            rest = min(reply.retry_after or 0.0, LONGEST_REST)
            self._rest_until = max(self._rest_until, now + rest)

    def _hopeless(self, reply: Reply, attempt: int) -> str:
        """Return why every further call would meet this fault too; empty if it need not."""
        if reply.kind in FATAL:
            return advised(reply.error, reply.kind)
        rest = reply.retry_after or 0.0
        if reply.retryable and rest > LONGEST_REST:
            return (
                f"the server asks for a pause of {rest:,.0f} s, and the lab waits at most "
                f"{LONGEST_REST:.0f} s ({reply.error}). Resume after that time."
            )
        if reply.kind == "connect" and attempt >= ATTEMPTS:
            return f"the server does not answer. {advised(reply.error, reply.kind)} Then resume."
        return ""

    def watch(self, call: Call, reply: Reply) -> None:
        """Take note of a final reply, and halt the judge when call after call fails.

        The cause is then not in the calls, and asking on would turn all of them into failures.
        """
        if not reply.error:
            self._failures.clear()
            return
        if reply.kind in ABOUT_THE_TEXT:
            return
        self._failures.append((call.items, reply))
        if self._refuses_all() or self._fails_for_several():
            self.halt(
                f"{len(self._failures)} calls in a row failed. The last error: "
                f"{advised(reply.error, reply.kind)} Then resume, and ask "
                "the failed calls again."
            )

    def _refuses_all(self) -> bool:
        """Return whether the server has refused its first requests, all for one reason."""
        if len(self._failures) < REFUSED_AT_FIRST or self._answered > 0.0:
            return False
        if self._failures[-1][1].retryable:
            return False
        return len({reply.kind for _, reply in self._failures}) == 1

    def _fails_for_several(self) -> bool:
        """Return whether enough calls failed in a row, and not all for the text of one item."""
        if len(self._failures) < FAILURES_IN_A_ROW:
            return False
        if self._failures[-1][1].retryable:
            return True
        return len({items for items, _ in self._failures}) > 1


def about_request(replies: Sequence[Reply]) -> Reply:
    """Return the reply that speaks for a whole request: its first answer, else its first fault."""
    for reply in replies:
        if not reply.error:
            return reply
    return replies[0]


def backoff(attempt: int) -> float:
    """Return the seconds before asking again: up to 0.5, 1, 2, 4, 5.

    They are drawn from the upper half, so that calls which failed together do not come back
    together.
    """
    return min(5.0, 0.25 * 2.0**attempt) * random.uniform(0.5, 1.0)
