"""Forests show the odds they are given, escape names and survive missing intervals."""

from __future__ import annotations

import math

import pytest

from rubriclab.figures.choice import label_odds, neighbour_odds, position_odds
from rubriclab.findings.choice import ChoiceModel, Level, PositionLevel
from rubriclab.stats.inference import NO_INTERVAL, Interval


def model(judge: str = "judge", *, bounded: bool = True) -> ChoiceModel:
    ci = Interval(0.1, 0.3) if bounded else NO_INTERVAL
    levels = (PositionLevel(1, 0.2, ci, math.exp(0.2)), PositionLevel(2, -0.2, ci, math.exp(-0.2)))
    return ChoiceModel(
        arm=0,
        judge=judge,
        dataset="d",
        strategy="balanced",
        variant="",
        simulated=False,
        source="choices",
        unit="item",
        n_items=10,
        n_reads=100,
        n_informative=9,
        n_pairs=50,
        excluded={},
        position=levels,
        pooled=levels,
        leaning=math.nan,
        label=(),
        neighbour=(Level("3", 0.2, ci, math.exp(0.2)),),
        position_test=None,
        label_test=None,
        neighbour_test=None,
        identified={},
        converged=True,
        held_back=False,
        warnings=(),
    )


def test_points_and_intervals_are_odds() -> None:
    chart = position_odds([model(), model("other")])
    points = [t for t in chart.figure.data if t.type == "scatter"]
    assert len(points) == 2
    assert list(points[0].x) == pytest.approx([math.exp(0.2), math.exp(-0.2)])
    assert points[0].error_x.array[0] == pytest.approx(math.exp(0.3) - math.exp(0.2))
    assert points[0].error_x.arrayminus[0] == pytest.approx(math.exp(0.2) - math.exp(0.1))
    assert points[0].y[0] != points[1].y[0]
    assert "highest at position 1" in chart.alt


def test_names_from_outside_are_escaped() -> None:
    chart = position_odds([model("<b>x</b>")])
    assert "<b>" not in chart.figure.data[0].name


def test_no_interval_and_no_label_are_shown_as_such() -> None:
    chart = neighbour_odds([model(bounded=False)])
    assert "no interval" in chart.figure.data[0].hovertext[0]
    empty = label_odds([model()])
    assert not empty.figure.data
    assert "cannot tell" in empty.alt
