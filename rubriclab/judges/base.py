"""What the runner asks of a judge, whatever it is."""

from __future__ import annotations

from typing import Protocol

from rubriclab.model import Call, Reply


class Asking(Protocol):
    """A judge that is open for questions; made inside the event loop that uses it.

    ``ask`` answers every call with a Reply: a fault of a call is a Reply with ``error``,
    ``kind`` and ``retryable`` set, never an exception. It asks once: retries, pacing and
    limits are the runner's.
    """

    async def ask(self, call: Call) -> Reply: ...

    async def close(self) -> None: ...
