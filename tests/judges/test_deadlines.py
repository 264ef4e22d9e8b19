"""Deadlines with one timer: each ends its own block at its own time, and a cancellation stays one."""

from __future__ import annotations

import asyncio

import pytest

from rubriclab.judges.deadlines import Deadlines


async def _outlasts(all_of_them: Deadlines, seconds: float) -> bool:
    try:
        with all_of_them.start():
            await asyncio.sleep(seconds)
    except TimeoutError:
        return False
    return True


def test_each_ends_at_its_own_time() -> None:
    async def work() -> list[bool]:
        deadlines = Deadlines(0.15)
        first = asyncio.create_task(_outlasts(deadlines, 5.0))
        await asyncio.sleep(0.1)
        second = asyncio.create_task(_outlasts(deadlines, 0.02))
        third = asyncio.create_task(_outlasts(deadlines, 5.0))
        found = list(await asyncio.gather(first, second, third))
        assert not deadlines._open
        return found

    assert asyncio.run(asyncio.wait_for(work(), 4.0)) == [False, True, False]


def test_a_cancellation_from_elsewhere_stays_one() -> None:
    async def work() -> None:
        task = asyncio.create_task(_outlasts(Deadlines(60.0), 60.0))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(work())


def test_a_clock_that_stands_still_does_not_end() -> None:
    async def work() -> float | None:
        with Deadlines(0.02).start() as clock:
            clock.reschedule(None)
            await asyncio.sleep(0.05)
            still = clock.when()
            clock.reschedule(asyncio.get_running_loop().time() + 0.02)
            await asyncio.sleep(5.0)
        return still

    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(work(), 4.0))


def test_a_block_that_is_over_is_not_ended() -> None:
    async def work() -> None:
        with Deadlines(0.01).start():
            pass
        await asyncio.sleep(0.03)

    asyncio.run(work())
