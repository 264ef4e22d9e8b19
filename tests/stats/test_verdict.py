"""One interval against one smallest effect of interest: three answers, never two."""

from __future__ import annotations

import math

import pytest

from rubriclab.stats.inference import NO_INTERVAL, Interval
from rubriclab.stats.verdict import decide, effect, times_to_settle, unknown


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


@pytest.mark.parametrize("estimate", [-0.4, 0.25, 0.06, 0.02, 0.0])
def test_so_many_times_the_data_settle_it_if_the_estimate_stays(estimate: float) -> None:
    half = 0.44
    open_one = effect(estimate, Interval(estimate - half, estimate + half), 0.1)
    assert open_one.verdict == "undecided"
    times = times_to_settle(open_one)
    for factor, settled in ((0.99, False), (1.01, True)):
        reach = half / math.sqrt(times * factor)
        assert (decide(Interval(estimate - reach, estimate + reach), 0.1) != "undecided") == settled
    if estimate == -0.4:
        assert times == pytest.approx(1.21)


def test_what_is_settled_or_open_for_another_reason_needs_no_more_data() -> None:
    for of in (
        effect(0.4, Interval(0.1, 0.7), 0.1),
        effect(0.4, Interval(-0.1, 0.9), 0.1, why="one order"),
        unknown(0.1, "nothing was read"),
    ):
        assert math.isnan(times_to_settle(of))
