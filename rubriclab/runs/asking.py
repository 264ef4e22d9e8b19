"""One call asked until its reply is final: what is tried again, after how long, what ends it all.

Runs, jobs for reference answers and the workers of a spread all ask through an :class:`Asker`;
what each promises of a call stands in its :class:`Retries`. How many calls are asked at once is
the pace's (see ``pace``).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from rubriclab.judges import Asking
from rubriclab.judges.faults import advice
from rubriclab.model import Call, LabError, Reply
from rubriclab.runs.pace import FATAL_KINDS, OUTAGE_KINDS, Pace

LONGEST_WAIT, OUTAGE_WAIT = 30.0, 5.0
"""Seconds before the next attempt, at most: of a server that is up, and of one that is down, so
that it is soon noticed when it is back."""


@dataclass(frozen=True)
class Retries:
    """What is promised of a call that meets faults which may pass.

    ``attempts``: how often it is asked. ``wait_out``: an outage, in which no server worked on
    the call, is no attempt; it is waited out for as long as the pace has patience. ``halt``: a
    call that has used up its attempts ends the work; else the fault is its reply.
    """

    attempts: int = 5
    wait_out: bool = False
    halt: bool = False


@dataclass(eq=False)
class Asker:
    """Asks the calls of one judge, each until its reply is final.

    ``stop`` ends every wait. ``halt`` hears of a fault that every further call would meet too,
    in words and as a reply, and sees to it that ``stop`` is set.
    """

    asking: Asking
    pace: Pace
    stop: asyncio.Event
    halt: Callable[[str, Reply], object]
    retries: Retries = Retries()
    retried: int = 0

    async def ask(self, call: Call) -> Reply | None:
        """Wait for a place, then as :meth:`reply`."""
        if not await self.pace.enter(self.stop):
            return None
        try:
            return None if self.stop.is_set() else await self.reply(call)
        finally:
            self.pace.leave()

    async def reply(self, call: Call) -> Reply | None:
        """The final reply, or None where the work stops first and the call stays unasked.

        For a caller that has a place, and has it afterwards; it is free while this waits.
        """
        attempts = tries = 0
        while True:
            tries += 1
            try:
                reply = await self.asking.ask(call)
            except LabError as fault:  # the judge cannot be had at all: no weights, no memory
                self.halt(f"{self.pace.judge.name}: {fault}", Reply(error=str(fault)))
                return None
            if reply.error is None:
                self.pace.succeeded(reply)
                return replace(reply, attempts=attempts + 1) if attempts else reply
            self.pace.failed(reply)
            outage = self.retries.wait_out and reply.kind in OUTAGE_KINDS
            attempts += not outage
            reply = replace(reply, attempts=max(1, attempts))
            spent = attempts >= self.retries.attempts
            if reason := self._hopeless(reply, spent=spent):
                self.halt(f"{self.pace.judge.name}{reason}", reply)
                return None
            if spent or not reply.retryable:
                return reply
            self.retried += 1
            wait = backoff(tries, OUTAGE_WAIT if outage else LONGEST_WAIT)
            if not await self._rest(max(wait, reply.retry_after or 0.0)):
                return None

    def _hopeless(self, reply: Reply, *, spent: bool) -> str:
        """Why every further call would meet this fault too; empty where it would not."""
        patience = self.pace.patience
        if reply.kind in FATAL_KINDS:
            cure = advice(reply.kind) if reply.kind == "certificate" else ""
            return f": {reply.error}. {cure}" if cure else f": {reply.error}"
        if reply.retryable and (reply.retry_after or 0.0) > patience:
            return (
                f" asks to be left alone for {reply.retry_after:,.0f} s, longer than the "
                f"{patience:,.0f} s that the lab waits ({reply.error}). Go on after that time."
            )
        if self.retries.wait_out and reply.kind in OUTAGE_KINDS:
            if self.pace.silent_for() <= patience:
                return ""
            return f" has not answered for {patience:.0f} s ({reply.error}). Start the server again, then go on."
        return f" keeps failing: {reply.error}" if self.retries.halt and spent and reply.retryable else ""

    async def _rest(self, seconds: float) -> bool:
        """Wait while another call has the place; False where the work was stopped meanwhile."""
        self.pace.leave()
        try:
            await asyncio.wait_for(self.stop.wait(), seconds)
        except TimeoutError:
            if await self.pace.enter(self.stop):
                return True
        self.pace.hold()
        return False


def backoff(tries: int, longest: float) -> float:
    """Seconds before asking again: doubling up to ``longest``, with jitter."""
    return min(longest, 0.125 * 2.0 ** min(tries, 8)) * random.uniform(0.5, 1.0)


def innermost(fault: BaseException) -> str:
    """In words the first real fault inside groups of them."""
    while isinstance(fault, BaseExceptionGroup):
        fault = fault.exceptions[0]
    return str(fault) if isinstance(fault, LabError) else f"{type(fault).__name__}: {fault}"
