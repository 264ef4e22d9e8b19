"""Judgments on their way to the store: those of one pass of the event loop are written down together."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from rubriclab.model import Judgment
from rubriclab.store import RunWriter, StoreError


class Arrivals:
    """Gathers judgments until the event loop's next pass, and puts them into ``writer`` before it waits for anything.

    A fast judge answers several calls in one pass, and each write to the journal costs as much as a judgment.
    ``failed``: hears, in words, why the store takes no more.
    """

    def __init__(self, failed: Callable[[str], None]) -> None:
        self.writer: RunWriter | None = None
        self._failed = failed
        self._arrived: deque[Judgment] = deque()

    def add(self, judgment: Judgment) -> None:
        """Called inside the event loop."""
        if not self._arrived:
            asyncio.get_running_loop().call_soon(self.hand_on)
        self._arrived.append(judgment)

    def hand_on(self) -> None:
        """Write what has arrived; from any thread, where the loop's own is over or stuck."""
        held = []
        while self._arrived:
            held.append(self._arrived.popleft())
        if held and self.writer is not None:
            try:
                self.writer.put(*held)
            except StoreError as fault:
                self._failed(str(fault))
