"""Check when the pace of a run is known, and that it does not jump."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pandas as pd
import pytest

from rubriclab.model.judge import JudgeSettings
from rubriclab.runs.pace import ENOUGH_CALLS, WARM_UP, Pace, seconds_at_work
from tests.study.kit import API, EMBEDDED

GAPS = (3.32, 0.01, 2.2, 0.69, 1.59, 0.68, 1.38, 0.64)
"""Seconds between the ends of the first eight calls of a run of the small model, as measured."""
USUAL = (0.85, 0.13)
"""Seconds of its later calls: one that reads on, and one that repeats it."""


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def paced(gaps: Sequence[float], judge: JudgeSettings = EMBEDDED) -> tuple[Pace, list[float]]:
    """Return the pace after these calls, and what it said after each of them."""
    clock, said = Clock(), list[float]()
    pace = Pace(clock)
    for gap in gaps:
        clock.now += gap
        pace.add(judge)
        said.append(pace.rate())
    return pace, said


def test_no_pace_is_said_before_enough_calls_have_ended() -> None:
    _, said = paced((*GAPS, *USUAL * 100))
    known = WARM_UP + ENOUGH_CALLS
    assert not any(said[: known - 1])
    # 0.85 + 0.13 s for two calls: the eight calls of the warm-up, 10.5 s long, count nothing.
    assert said[known - 1 :] == pytest.approx([2 / 0.98] * (208 - known + 1), rel=0.05)


def test_no_pace_is_said_within_five_seconds() -> None:
    _, said = paced((0.01,) * 400)
    assert not any(said)
    _, said = paced((0.01,) * 600)
    assert said[-1] == pytest.approx(100.0)


def test_the_pace_does_not_jump_when_some_calls_take_longer() -> None:
    _, said = paced((*GAPS, *USUAL * 60, *(2.0,) * 4, *USUAL * 5))
    known = [rate for rate in said if rate]
    assert min(known) > 0.8 * max(known)


def test_a_slow_judge_has_a_pace_of_its_last_calls() -> None:
    _, said = paced((20.0,) * 40)
    assert said[-1] == pytest.approx(1 / 20)


def test_the_pace_falls_while_no_call_ends() -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(108):
        clock.now += 1.0
        pace.add(EMBEDDED)
    before = pace.rate()
    clock.now += 60.0
    assert before == pytest.approx(1.0)
    assert pace.rate() == pytest.approx(60 / 120, rel=0.02)


def test_calls_that_end_at_once_are_counted_after_the_first_of_them() -> None:
    """A server answers 8 calls at once every 5 s: 1.6 calls per second."""
    _, said = paced((*(5.0, *(0.0,) * 7) * 10,), API)
    assert said[-1] == pytest.approx(1.6)
    known = [rate for rate in said if rate]
    assert max(known) < 1.6 * 1.5


def test_seconds_at_work_leave_out_pauses_and_count_calls_at_once_once() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    # 0 to 2 and 1 to 3 overlap: 3 s. After an hour 1 s more.
    ends = [start + timedelta(seconds=end) for end in (3, 2, 3_601)]
    calls = pd.DataFrame({"asked": ends, "seconds": [2.0, 2.0, 1.0]})
    assert seconds_at_work(calls) == pytest.approx(4.0)
