"""Large answers wait for a place; the wait is not taken from the server's time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rubriclab.judges.wire import FREE_BYTES, LARGE_AT_ONCE, read_body


class Slow:
    """An answer beyond FREE_BYTES whose end comes after ``seconds``, once somebody reads it."""

    def __init__(self, seconds: float) -> None:
        self.headers: dict[str, str] = {}
        self.content = self
        self._seconds = seconds

    async def iter_any(self) -> AsyncIterator[bytes]:
        yield b"x" * (FREE_BYTES + 1)
        await asyncio.sleep(self._seconds)
        yield b"y"


async def _read(room: asyncio.Semaphore, seconds: float, limit: float) -> int:
    async with asyncio.timeout(limit) as clock:
        answer: Any = Slow(seconds)
        return len(await read_body(answer, room=room, clock=clock))


@pytest.mark.slow
def test_waiting_for_a_place_is_not_taken_from_the_servers_time() -> None:
    async def work() -> list[int]:
        room = asyncio.Semaphore(LARGE_AT_ONCE)
        return await asyncio.gather(*[_read(room, 0.1, 1.5) for _ in range(20 * LARGE_AT_ONCE)])

    assert asyncio.run(work()) == [FREE_BYTES + 2] * (20 * LARGE_AT_ONCE)


def test_an_answer_that_is_too_slow_by_itself_still_ends() -> None:
    async def work() -> None:
        room = asyncio.Semaphore(LARGE_AT_ONCE)
        with pytest.raises(TimeoutError):
            await _read(room, 5.0, 0.2)
        assert not room.locked()

    asyncio.run(work())
