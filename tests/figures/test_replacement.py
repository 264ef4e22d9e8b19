"""Pictures of the alternative annotator test and of corrected means: what stands where."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from rubriclab.figures.corrected_means import buying_curves, mean_forest, order_dots, rate_forest
from rubriclab.figures.replacement import advantage_dots, annotator_dots
from rubriclab.findings.corrected_means import corrected_means
from rubriclab.findings.corrected_means_results import CorrectedArm
from rubriclab.findings.replacement import replacement
from rubriclab.findings.replacement_arms import ReplacementArm
from rubriclab.runs.foreign import foreign_run


@cache
def both() -> tuple[ReplacementArm, CorrectedArm]:
    data = foreign_run("ties", "1 fixed against 10 balanced", items=90, seed=2)
    human = data.items["human"].to_numpy(copy=True)
    human[np.random.default_rng(0).permutation(90)[45:]] = np.nan
    tested = replacement(data, epsilon=0.2).arms[0]
    data.items["human"] = human
    return tested, corrected_means(data).arms[0]


def test_annotators_stand_against_the_line_of_epsilon() -> None:
    arm, _ = both()
    chart = annotator_dots(arm)
    one = chart.figure.data[0]
    assert list(one.x) == pytest.approx([each.human - each.judge for each in arm.single.annotators])
    assert list(one.marker.symbol) == ["circle" if each.beaten else "circle-open" for each in arm.single.annotators]
    assert {shape.x0 for shape in chart.figure.layout.shapes} == {0.2, 0}
    assert "epsilon 0.2" in chart.alt


def test_every_way_and_every_order_has_its_advantage() -> None:
    arm, _ = both()
    chart = advantage_dots(arm)
    ways = [one for one in (arm.single, arm.averaged, arm.corrected, arm.control, arm.constant) if one is not None]
    assert list(chart.figure.data[0].x) == pytest.approx([one.advantage for one in [*ways, *arm.orders]])
    assert len(arm.orders) == 10
    names = chart.figure.layout.yaxis.ticktext
    assert names[len(ways)] == "order 1 2 3 4 5"


def test_three_means_of_every_system_and_two_of_every_order() -> None:
    _, arm = both()
    whole = arm.systems[0]
    assert len(arm.systems) == 4  # all items, three candidates
    forest = mean_forest(arm)
    assert [trace.name for trace in forest.figure.data] == ["judge&#x27;s mean", "ratings alone", "corrected"]
    assert forest.figure.data[2].x[0] == pytest.approx(whole.corrected)
    orders = order_dots(arm, whole)
    assert list(orders.figure.data[0].x) == pytest.approx([one.plain for one in whole.orders])
    rates = rate_forest(arm)
    assert len(rates.figure.data) == 4
    assert "Pass rates" in rates.alt


def test_the_curve_of_ratings_falls_and_names_both_lines() -> None:
    _, arm = both()
    buying = arm.systems[0].buying
    assert buying is not None
    chart = buying_curves(buying)
    lines = [trace for trace in chart.figure.data if trace.showlegend]
    assert [line.name for line in lines] == ["beside judged items", "ratings alone"]
    assert all(np.all(np.diff(line.y) < 0) for line in lines)
    assert chart.figure.layout.shapes[0].y0 == buying.half
