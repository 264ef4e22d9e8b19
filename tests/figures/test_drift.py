"""The picture of two times: what is drawn, and what it says to whoever cannot see it."""

from __future__ import annotations

import numpy as np

from rubriclab.figures.drift import then_and_now
from rubriclab.figures.style import EVEN_LINE, OVER
from rubriclab.findings.drift import drift
from tests.drifting import Plant, two_times


def test_each_item_and_each_answer_is_drawn_and_said() -> None:
    then, now = two_times("middling", Plant(level=0.5), items=60, seed=1)
    found = drift(then, now)
    chart = then_and_now(found)
    line, items, answers = chart.figure.data
    assert line.x == line.y
    np.testing.assert_allclose(items.x, found.means[:, 0])
    np.testing.assert_allclose(items.y, found.means[:, 1])
    np.testing.assert_allclose(answers.x, [one.effect.estimate for one in found.answers])
    assert answers.marker.color[0] == OVER
    assert set(answers.marker.color[1:]) == {EVEN_LINE}
    assert {(shape.type, shape.x0, shape.x1) for shape in chart.figure.layout.shapes} == {
        ("rect", -found.smallest, found.smallest),
        ("line", 0, 0),
    }
    assert not any("…" in name for name in chart.figure.layout.yaxis2.ticktext)
    assert chart.alt.startswith("60 items then and now")
    assert "the judge's own level +0." in chart.alt
    behind = chart.behind[1][7]
    assert behind is not None
    assert (behind.run, behind.item) == ("then", int(found.item[7]))
