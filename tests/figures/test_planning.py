"""The power curve shows the plan's own points and says what is needed."""

from __future__ import annotations

import pytest

from rubriclab.figures.planning import power_curve
from rubriclab.findings.planning import stated_power


def test_curve_target_and_present_design() -> None:
    plan = stated_power(n_options=5, items=60, reads=10, effect_v=0.1)
    chart = power_curve([plan])
    line, now = chart.figure.data
    assert list(line.y) == [p.power for p in plan.curve]
    assert (now.x[0], now.y[0]) == (60, pytest.approx(plan.power_now))
    assert chart.figure.layout.shapes[0].y0 == 0.8
    assert f"needs {plan.items_needed} items" in chart.alt


def test_nothing_to_plan_from() -> None:
    chart = power_curve([])
    assert not chart.figure.data
    assert "No power curve" in chart.alt
