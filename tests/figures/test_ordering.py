"""The Bias Cost chart shows what is left without noise, and the paper's numbers beside it."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.figures.ordering import bias_cost
from rubriclab.findings.ordering import BiasCost, Costed
from rubriclab.stats.inference import NO_INTERVAL, Interval
from rubriclab.stats.ordering import Gain

CLEAN = Gain(4.0, Interval(0.0, 9.0), 3.0, Interval(0.0, 8.0), 1.0, Interval(-5.0, 7.0))
UNKNOWN = Gain(*(float("nan"), NO_INTERVAL) * 3)


def costs(default: float, best: float, clean: Gain, why: str = "", why_noisy: str = "") -> BiasCost:
    one, two = Costed((1, 2, 3), default), Costed((2, 1, 3), best)
    return BiasCost(one, two, two, (one, two), clean, why, why_noisy)


def test_four_dots_an_arm_and_intervals_only_without_noise() -> None:
    chart = bias_cost({"one": costs(18.0, 11.0, CLEAN), "<i>two</i>": costs(18.0, 11.0, CLEAN)})
    default, best, paper, paper_best = chart.figure.data
    assert default.x == pytest.approx([4.0, 4.0])
    assert best.error_x.array == pytest.approx([5.0, 5.0])
    assert paper.x == pytest.approx([18.0, 18.0])
    assert paper.error_x.array is None
    assert paper_best.x == pytest.approx([11.0, 11.0])
    assert chart.figure.layout.yaxis.ticktext[1] == "&lt;i&gt;two&lt;/i&gt;"
    assert "&lt;i&gt;two" in default.hovertext[1]
    assert "without noise, default 4.0 percentage points" in chart.alt


def test_unknown_costs_are_said() -> None:
    why = "some score was never given"
    chart = bias_cost({"quiet": costs(np.nan, np.nan, UNKNOWN, why, why)})
    assert f"not defined: {why}" in chart.alt
    (beside,) = chart.figure.layout.annotations  # a row without a dot has its reason beside its name
    assert (beside.y, beside.text.replace("<br>", " ")) == (0, f"not defined: {why}")


def test_a_row_with_the_papers_number_alone_says_why_there_is_no_other() -> None:
    chart = bias_cost({"few": costs(71.4, 68.8, UNKNOWN, why_noisy="9 prompts are too few")})
    (beside,) = chart.figure.layout.annotations
    assert beside.text.replace("<br>", " ") == "without noise not defined: 9 prompts are too few"
    assert "as in the paper, default 71.4 percentage points" in chart.alt
