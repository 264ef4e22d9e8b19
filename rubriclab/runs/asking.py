"""One judge's calls in, their final replies out: how many at once, what is tried again, what ends
it all.
"""

import asyncio
import math
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
"""How often a call is asked before its fault is its reply."""
LONGEST_REST = 120.0
"""Seconds that a server may ask to be left alone, and that one which has answered before may be
away.
"""
FIRST_AT_ONCE = 8
"""Calls at once before anything is known of a server."""
FAILURES_IN_A_ROW, REFUSED_AT_FIRST = 5, 3
"""Final failures in a row after which a judge is asked nothing more; refused requests before any
answer.
"""
CURE = 'Test the judge to see which constraint its server holds, or set constrain = "free".'
ABOUT_THE_TEXT = frozenset({"context_overflow", "content_filter", "too_large"})
"""Faults that say something of one item, however many of its calls meet them."""


class Asking:
    """One open judge: as many of its calls at once and a minute as it takes, each asked until its
    reply is final.

    Additive increase, multiplicative decrease: one more call at once for each answer until a server
    says that it is too much (429, 503), half as many then, and from there on one more a round.
    ``reason``: why it is asked nothing more, empty while it may be; ``trouble``: why it is asked
    again.
    """

    def __init__(self, settings: JudgeSettings, asker: Asker) -> None:
        self.settings, self.asker = settings, asker
        self.reason = self.trouble = ""
        self.limit, self.active = float(min(settings.concurrency, FIRST_AT_ONCE)), 0
        # Moments of the monotonic clock; 0 for none yet.
        self._next = self._rested = self._halved = self._answered = 0.0
        self._strained = False
        self._freed, self._stopping = asyncio.Event(), asyncio.Event()
        self._row: list[tuple[tuple[int, ...], Reply]] = []

    async def enter(self) -> bool:
        """Wait until one more call may go out; False where the judge is stopped first."""
        while not self._stopping.is_set():
            wait = max(self._next, self._rested) - time.monotonic()
            if wait <= 0 and self.active < int(self.limit):
                self.active += 1
                self._next = max(self._next, time.monotonic()) + 60.0 / (
                    self.settings.rpm or math.inf
                )
                return True
            self._freed.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._freed.wait(), wait if wait > 0 else None)
        return False

    def leave(self) -> None:
        self.active -= 1
        self._freed.set()

    def stop(self) -> None:
        """Calls in flight are waited for; no other goes out."""
        self._stopping.set()
        self._freed.set()

    def halt(self, reason: str) -> None:
        """Ask this judge nothing more; other judges are not concerned."""
        self.reason = self.reason or f"{self.settings.name}: {reason}"
        self.stop()

    def resting(self) -> float:
        """Seconds for which no call is sent because the server asked for it; 0 for none."""
        return max(0.0, self._rested - time.monotonic())

    async def answered(self, call: Call) -> Reply | None:
        """The final reply to one call, from when there is room for it; None where the judge stops
        first.
        """
        if not await self.enter():
            return None
        try:
            replies = await self.final_replies([call])
        finally:
            self.leave()
        if replies:
            self.watch(call, replies[0])
        return replies[0] if replies else None

    async def final_replies(self, calls: Sequence[Call]) -> list[Reply] | None:
        """The replies that are kept to the calls of one request; None where the judge stops first
        and they stay unasked.
        """
        attempt = 0
        while True:
            try:
                replies = await self._asked(calls)
            except LabError as fault:  # the judge cannot be had at all: no weights, no memory
                self.halt(str(fault))
                return None
            reply = about_request(replies)
            away = (
                reply.kind == "connect"
                and time.monotonic() - self._answered < LONGEST_REST
                and self._answered > 0
            )
            attempt += not (away and bool(reply.error))
            self.adapt(reply)
            if reply.error and (reason := self._hopeless(reply, attempt)):
                self.halt(reason)
                return None
            if not reply.error or attempt >= ATTEMPTS or not reply.retryable:
                return [replace(final, attempt=max(attempt, 1)) for final in replies]
            with suppress(TimeoutError):
                wait = max(backoff(max(attempt, 1)), reply.retry_after or 0.0)
                await asyncio.wait_for(self._stopping.wait(), wait)
                return None

    async def check_constraint(self, rung: Constraint) -> None:
        """Halt the judge, before any of its calls, where its server does not hold replies to their
        labels by ``rung``.
        """
        if rung == "free":
            return
        call = probe_call(self.settings, rung)
        replies = await self.final_replies([call])
        if replies is None:  # halted, with its reason, or stopped
            return
        made = rung_of(rung, call, replies[0])
        if not made.held:
            self.halt(f"{made.sentence()}. {CURE}")

    async def _asked(self, calls: Sequence[Call]) -> list[Reply]:
        """One attempt at a request."""
        if len(calls) == 1:
            return [await self.asker.ask(calls[0])]
        if not hasattr(self.asker, "ask_together"):
            raise LabError(
                'it is asked one call at a time from here. Set its option packing = "alone".'
            )
        return list(await self.asker.ask_together(calls))

    def adapt(self, reply: Reply) -> None:
        """How many calls go out at once, and from when on, by what came back."""
        now = time.monotonic()
        if not reply.error:
            self._answered, self.trouble = now, ""
            if self.active >= int(self.limit):
                self.limit += 1.0 / self.limit if self._strained else 1.0
                self.limit = min(self.limit, float(self.settings.concurrency))
            return
        self.trouble = f"{self.settings.name} is asked again: {reply.error}"
        if reply.kind in ("rate_limit", "unavailable"):
            self._strained = True
            if now - self._halved > 1.0:
                self._halved, self.limit = now, max(1.0, self.limit / 2)
            self._rested = max(self._rested, now + min(reply.retry_after or 0.0, LONGEST_REST))

    def _hopeless(self, reply: Reply, attempt: int) -> str:
        """Why every further call would meet this fault too; empty where it need not."""
        if reply.kind in FATAL:
            return advised(reply.error, reply.kind)
        asked = reply.retry_after or 0.0
        if reply.retryable and asked > LONGEST_REST:
            return (
                f"it asks to be left alone for {asked:,.0f} s, longer than the {LONGEST_REST:.0f} "
                f"s that the lab waits "
                f"({reply.error}). Resume after that time."
            )
        if reply.kind == "connect" and attempt >= ATTEMPTS:
            return f"it does not answer. {advised(reply.error, reply.kind)} Then resume."
        return ""

    def watch(self, call: Call, reply: Reply) -> None:
        """Hear of a final reply: the judge is halted where call after call fails, since the cause
        is not in the calls.
        """
        if not reply.error:
            self._row.clear()
            return
        if reply.kind in ABOUT_THE_TEXT:
            return
        self._row.append((call.items, reply))
        number = len(self._row)
        alike = len({reply.kind for _, reply in self._row}) == 1
        refused = (
            number >= REFUSED_AT_FIRST and not self._answered and alike and not reply.retryable
        )
        several = reply.retryable or len({items for items, _ in self._row}) > 1
        if refused or (number >= FAILURES_IN_A_ROW and several):
            self.halt(
                f"{number} calls in a row failed, the last with: "
                f"{advised(reply.error, reply.kind)} Then resume, and ask "
                "the failed calls again."
            )


def about_request(replies: Sequence[Reply]) -> Reply:
    """What the replies to one request say of the judge: an answer where there is any, else the
    first fault.
    """
    return next((reply for reply in replies if not reply.error), replies[0])


def backoff(attempt: int) -> float:
    """Seconds before asking again: about 0.4, 0.8, 1.5, 3, jittered."""
    return min(5.0, 0.25 * 2.0**attempt) * random.uniform(0.5, 1.0)
