"""The Bias Cost chart shows the three orderings of each arm."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.figures.ordering import bias_cost
from rubriclab.findings.ordering import bias_costs

TABLE = np.array([[0.5, 0.3, 0.2], [0.4, 0.3, 0.3], [0.2, 0.2, 0.6]])


def test_three_dots_an_arm() -> None:
    cost = bias_costs(TABLE, np.stack([TABLE, TABLE]), (1, 2, 3))
    chart = bias_cost({"one": cost, "<i>two</i>": cost})
    assert [trace.name for trace in chart.figure.data] == [
        "default order", "best rotation", "best of all orders",
    ]  # fmt: skip
    assert chart.figure.data[0].x == pytest.approx([cost.default.cost] * 2)
    assert chart.figure.data[2].x == pytest.approx([cost.best.cost] * 2)
    assert chart.figure.layout.yaxis.ticktext[1] == "&lt;i&gt;two&lt;/i&gt;"
    assert "&lt;i&gt;two" in chart.figure.data[0].hovertext[1]
    assert f"default {cost.default.cost:.1f}" in chart.alt


def test_unknown_costs_are_said() -> None:
    silent = np.full((2, 2), np.nan)
    chart = bias_cost({"quiet": bias_costs(silent, np.stack([silent, silent]), (1, 2))})
    assert "unknown" in chart.alt
