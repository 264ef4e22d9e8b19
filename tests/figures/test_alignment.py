"""Agreement pictures: the numbers drawn are the result's, text is escaped, empty is fine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rubriclab.figures.alignment import (
    budget_curves,
    difference_forest,
    forest,
    ordering_dots,
    reliability_curves,
    sweep_lines,
)
from rubriclab.findings.alignment import StrategyDifference, Sweep, SweepPoint
from rubriclab.findings.alignment_arms import ArmAlignment, OrderingRank
from rubriclab.model import Arm, Variant
from rubriclab.stats.alignment import Correlation
from rubriclab.stats.budget import BudgetPoint
from rubriclab.stats.inference import NO_INTERVAL, Interval
from rubriclab.stats.reliability import Reliability


def aligned(strategy: str, r: float, *, judge: str = "<b>j</b>") -> ArmAlignment:
    ends = Interval(r - 0.1, r + 0.2)
    canonical = OrderingRank((1, 2, 3), r, ends, 2, 50, canonical=True, rank_low=1, rank_high=2)
    best = OrderingRank((3, 1, 2), r + 0.1, ends, 1, 50, canonical=False)
    undefined = OrderingRank((2, 1, 3), float("nan"), NO_INTERVAL, None, 1, canonical=False)
    return ArmAlignment(
        code=0,
        arm=Arm(judge, "d", strategy, scores=(1, 2, 3), n_positions=3),
        reads=2,
        n_items=50,
        excluded=3,
        no_human=1,
        unread=2,
        incomplete=4,
        missing=5,
        asked=100,
        resampled="item",
        n_units=50,
        pearson=Correlation(r, Interval(r - 0.1, r + 0.2)),
        spearman=Correlation(r, Interval(r - 0.1, r + 0.2)),
        one_read=r - 0.1,
        more=None,
        expected=None,
        raters=None,
        ceiling=None,
        reliability=Reliability(1.0, 1.0, 1.0, Interval(0.5, 2.0), 2, 0.5, ends, 0.67, ends, 9.0, ends),
        sensitivity=None,
        against=False,
        ordering_rank=(best, canonical, undefined),
        canonical_rank=2,
        budget=(BudgetPoint(1, r - 0.1, r - 0.2, r, 2), BudgetPoint(2, r, r, r, 1)),
        warnings=(),
    )


def test_forest_draws_r_and_its_interval() -> None:
    chart = forest([aligned("balanced", 0.5), aligned("fixed", 0.4)])
    first, second = chart.figure.data
    assert (list(first.x), list(second.x)) == ([0.5], [0.4])
    assert first.error_x.array[0] == pytest.approx(0.2)
    assert first.error_x.arrayminus[0] == pytest.approx(0.1)
    assert first.y[0] < 0 < second.y[0]
    assert "&lt;b&gt;" in chart.figure.layout.yaxis.ticktext[0]
    assert "balanced" in chart.alt
    assert "0.50" in chart.alt


def test_difference_forest() -> None:
    one = StrategyDifference(
        "j", "d", Variant(), "balanced", "fixed", 0.05, Interval(0.01, 0.09), 0.01, 0.02, 50, 0, 10, 10, ()
    )
    chart = difference_forest([one])
    assert list(chart.figure.data[0].x) == [0.05]
    assert chart.figure.layout.shapes[0].x0 == 0
    assert "+0.050" in chart.alt


def test_reliability_has_its_interval_and_the_target() -> None:
    chart = reliability_curves([aligned("random", 0.5)])
    band, line = chart.figure.data
    assert list(line.x) == [1, 2, 5]
    assert list(line.y) == pytest.approx([1 / 2, 2 / 3, 5 / 6])
    assert max(band.y) == pytest.approx(5 / 5.5)
    assert chart.figure.layout.shapes[0].y0 == 0.9
    assert "0.50 with 1, 9 for 0.9" in chart.alt


def test_budget_has_a_band_and_a_line_each() -> None:
    chart = budget_curves([aligned("random", 0.5), aligned("fixed", 0.4)])
    assert len(chart.figure.data) == 4
    band, line = chart.figure.data[:2]
    assert list(band.x) == [1, 2, 2, 1]
    assert list(band.y) == pytest.approx([0.5, 0.5, 0.5, 0.3])
    assert list(line.y) == pytest.approx([0.4, 0.5])
    assert chart.figure.data[3].line.dash == "dot"


def test_ordering_dots_mark_the_usual_order() -> None:
    chart = ordering_dots(aligned("balanced", 0.5))
    dots = chart.figure.data[0]
    assert list(dots.marker.symbol) == ["circle", "diamond"]
    assert chart.figure.layout.yaxis.ticktext[1] == "1–2. 1 2 3"
    assert "ranks 1–2 of 2" in chart.alt
    assert "Highest as read" in chart.alt
    found = aligned("balanced", 0.5)
    first, usual, *rest = found.ordering_rank
    unknown = replace(found, ordering_rank=(first, replace(usual, rank_low=None, rank_high=None), *rest))
    assert "its rank is not known" in ordering_dots(unknown).alt
    cut = ordering_dots(aligned("balanced", 0.5), most=1)
    assert list(cut.figure.data[0].marker.symbol) == ["diamond"]


def test_sweep_lines_keep_the_levels_in_order() -> None:
    ci = Interval(0.3, 0.5)
    points = tuple(
        SweepPoint(0, "j", "d", "balanced", "", level, 5, 100, v, Correlation(0.4, ci), 10)
        for level, v in ((1.0, 0.1), (0.0, 0.2))
    )
    chart = sweep_lines(Sweep("temperature", (1.0, 0.0), points, ()), measure="v")
    assert list(chart.figure.data[0].x) == ["1.0", "0.0"]
    assert list(chart.figure.data[0].y) == [0.1, 0.2]
    assert chart.figure.layout.xaxis.categoryarray == ("1.0", "0.0")
    with_r = sweep_lines(Sweep("temperature", (1.0, 0.0), points, ()))
    assert list(with_r.figure.data[0].error_y.array) == pytest.approx([0.1, 0.1])


def test_nothing_to_draw() -> None:
    empty = (forest([]), difference_forest([]), budget_curves([]), sweep_lines(Sweep("t", (), (), ())))
    for chart in empty:
        assert "nothing to show" in chart.alt
