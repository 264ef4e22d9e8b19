"""One interval against one smallest effect of interest: three answers, never two."""

from __future__ import annotations

import math

import pytest

from rubriclab.stats.inference import NO_INTERVAL, Interval
from rubriclab.stats.verdict import decide, effect, unknown


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.05, 0.05, "equivalent"),
        (0.02, 0.09, "equivalent"),  # sure of its sign, and too small to matter
        (0.02, 0.30, "effect"),
        (-0.30, -0.11, "effect"),
        (-0.05, 0.30, "undecided"),  # no effect is shown, and none is excluded
        (-0.10, 0.05, "undecided"),  # the smallest effect of interest is itself of interest
        (0.0, 0.30, "undecided"),
        (0.0, 0.0, "equivalent"),
        (-math.inf, 0.01, "undecided"),
    ],
)
def test_an_interval_is_one_of_three_answers(low: float, high: float, verdict: str) -> None:
    assert decide(Interval(low, high), 0.1) == verdict


def test_no_interval_is_no_answer() -> None:
    assert decide(NO_INTERVAL, 0.1) == "undecided"
    assert unknown(0.1, "too few items").verdict == "undecided"


def test_a_reason_to_wait_overrules_the_interval() -> None:
    found = effect(0.5, Interval(0.4, 0.6), 0.1, why="the run is not finished")
    assert (found.verdict, found.why) == ("undecided", "the run is not finished")
    assert found.interval == (0.4, 0.6)


def test_an_excess_over_noise_that_comes_out_below_0_shows_no_effect() -> None:
    """Nothing is nearer than noise: twice one order lay farther apart than two orders by luck alone."""
    assert effect(-0.2, Interval(-0.3, -0.1), 0.1, excess=True).verdict == "undecided"
    assert effect(-0.2, Interval(-0.3, -0.1), 0.1, excess=True).interval == (-0.3, 0.0)
    assert effect(-0.04, Interval(-0.07, -0.01), 0.1, excess=True).verdict == "equivalent"
    assert effect(0.2, Interval(0.1, 0.3), 0.1, excess=True).verdict == "effect"
    assert effect(-0.2, Interval(-0.3, -0.1), 0.1).verdict == "effect", "a shift goes either way"
