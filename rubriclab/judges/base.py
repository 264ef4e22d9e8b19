"""What the runner asks of a judge, whatever it is."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from rubriclab.model import Call, Reply
from rubriclab.model.language import language, speaking

T = TypeVar("T")


class Asking(Protocol):
    """A judge that is open for questions; made inside the event loop that uses it.

    ``ask`` answers every call with a Reply: a fault of a call is a Reply with ``error``,
    ``kind`` and ``retryable`` set, never an exception. It asks once: retries, pacing and
    limits are the runner's.
    """

    async def ask(self, call: Call) -> Reply: ...

    async def close(self) -> None: ...


def in_own_thread(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """What ``work`` returns, run where no other event loop runs (as one does in a notebook)."""
    import asyncio  # here: naming the protocol of judges, as the command line's help does, needs no event loop
    from concurrent.futures import ThreadPoolExecutor

    code = language()  # another thread would not know who is spoken to

    def done() -> T:
        with speaking(code):
            return asyncio.run(work())

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(done).result()
