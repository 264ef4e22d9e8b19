"""Rank-reversal pictures: shares, intervals, empty."""

from __future__ import annotations

import pytest

from rubriclab.figures.ranking import change_dots, flip_bars, tau_dots
from rubriclab.findings.ranking_results import BestOf, Noise, RankReversal, Share
from rubriclab.model import Variant
from rubriclab.stats.inference import Interval
from rubriclab.stats.verdict import effect


def pair(judge: str, flip: float) -> RankReversal:
    share = Share(flip, Interval(flip - 0.05, flip + 0.1), 80)
    tau = Share(0.7, Interval(0.6, 0.8), 75)
    best = BestOf(4, share, None, None, None, None, None)
    control = None if judge == "once" else Share(0.1, share.ci, 80)
    excess = effect(10.0, Interval(-1, 21), 5.0, unit="percentage points of prompts")
    noise = Noise(5.0, share, control, 70.0, 0.1, 0, excess)
    return RankReversal(
        judge,
        "d",
        Variant(),
        "balanced",
        "fixed",
        0,
        1,
        noise,
        tau,
        share,
        Share(0.5, share.ci, 80),
        80,
        5,
        0,
        best,
        16,
        (),
        (),
    )


def test_flip_bars() -> None:
    chart = flip_bars([pair("a<b", 0.2), pair("c", 0.3)])
    bars = chart.figure.data[0]
    assert list(bars.x) == [0.2, 0.3]
    assert bars.error_x.arrayminus[0] == pytest.approx(0.05)
    assert "a&lt;b" in chart.figure.layout.yaxis.ticktext[0]
    assert "20%" in chart.alt
    assert list(flip_bars([pair("a", 0.2)], strict=True).figure.data[0].x) == [0.5]


def test_tau_dots() -> None:
    chart = tau_dots([pair("a", 0.2)])
    assert list(chart.figure.data[0].x) == [0.7]
    assert "5 left out" in chart.figure.data[0].hovertext[0]
    assert "0.70" in chart.alt


def test_changes_stand_beside_those_of_the_same_order() -> None:
    chart = change_dots([pair("a<b", 0.2), pair("once", 0.3)])
    between, noise = chart.figure.data
    assert list(between.x) == [0.2, 0.3]
    assert list(noise.x) == [0.1]
    assert "&lt;b" in chart.figure.layout.yaxis.ticktext[0]
    assert "no order read twice" in chart.alt


def test_nothing_to_draw() -> None:
    assert "nothing to show" in change_dots([]).alt
    assert "nothing to show" in flip_bars([]).alt
    assert "nothing to show" in tau_dots([]).alt
