"""A worker of a spread: asks the calls it is given and hands every answer in as soon as it is there.

Imports what asking takes and no more: it is the first thing that a node has to load.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rubriclab.judges.client import ChatClient
from rubriclab.model import Call, Judge, Reply
from rubriclab.runs.asking import Asker
from rubriclab.runs.pace import Pace

Kept = tuple[int, str, Reply]
"""The number of the part that a call belongs to, the call's key, and its final reply."""


@dataclass(frozen=True)
class Post:
    """A judge as one worker asks it: its share of the limits, and the servers."""

    judge: Judge
    code: int
    urls: tuple[str, ...]


class Worker:
    """One worker: asks parts of the calls, as many at once as the judge's pace allows.

    ``keep``: hands answers in. A call has its place until its answer is kept, so at no time are
    more calls asked and not kept than the judge's concurrency. Belongs to the event loop that it
    is made and asked in.
    """

    def __init__(self, posts: Sequence[Post], keep: Callable[[Sequence[Kept]], Awaitable[object]]) -> None:
        self._posts = {post.code: post for post in posts}
        self._keep = keep
        self._askers: dict[int, Asker] = {}
        self._places: dict[int, asyncio.Semaphore] = {}
        self._hopeless: dict[int, Reply] = {}
        self._waiting: list[Kept] = []
        self._handing_in = asyncio.Lock()

    async def ask(self, part: int, calls: Sequence[tuple[str, bytes]]) -> None:
        """Ask the calls of a part, and hand every answer in as soon as it is there."""
        async with asyncio.TaskGroup() as group:
            for _, raw in calls:
                group.create_task(self._one(part, pickle.loads(raw)))

    async def close(self) -> None:
        """Close all connections."""
        for asker in self._askers.values():
            await asker.asking.close()
        self._askers.clear()

    async def _one(self, part: int, call: Call) -> None:
        """The final reply of a call; once a fault met every call, that fault for all the rest."""
        asker = self._asker(call.judge)
        async with self._places[call.judge]:
            reply = await asker.ask(call)
            await self._hand_in((part, call.key, self._hopeless[call.judge] if reply is None else reply))

    async def _hand_in(self, kept: Kept) -> None:
        """Return when it is kept; what comes while others are on their way goes together."""
        self._waiting.append(kept)
        async with self._handing_in:
            together, self._waiting = self._waiting, []
            if together:
                await self._keep(together)

    def _asker(self, code: int) -> Asker:
        if code not in self._askers:
            post, stop = self._posts[code], asyncio.Event()

            def halt(_: str, reply: Reply) -> None:
                self._hopeless[code] = reply
                stop.set()

            client = ChatClient(post.judge, base_urls=post.urls)
            pace = Pace(post.judge)
            self._askers[code] = Asker(client, pace, stop, halt)
            self._places[code] = asyncio.Semaphore(pace.ceiling)
        return self._askers[code]


class Hired:
    """A worker as an actor of Ray's: on a node of its own, handing in to the keeper."""

    def __init__(self, posts: Sequence[Post], keeper: Any) -> None:
        async def keep(kept: Sequence[Kept]) -> None:
            await keeper.keep.remote(kept)

        self._worker = Worker(posts, keep)

    async def ready(self) -> None:
        """Answers once the worker has its place."""

    async def ask(self, part: int, calls: Sequence[tuple[str, bytes]]) -> None:
        await self._worker.ask(part, calls)
