"""Position charts show exactly the numbers of the result."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rubriclab.figures import position as figures
from rubriclab.findings.position import position
from rubriclab.findings.position_results import PositionArm
from rubriclab.model import Arm, Ordering, RunData
from rubriclab.stats.nulls import null_reads
from rubriclab.stats.ordering import rotations


@pytest.fixture(scope="module")
def arm() -> PositionArm:
    reads = null_reads("ordinary", studies=1, items=20, n=3, unread=0.05, rng=np.random.default_rng(0))
    where, score = reads.position[0].ravel(), reads.score[0].ravel()
    frame = pd.DataFrame(
        {
            "arm": 0,
            "item": np.repeat(np.arange(20), 6),
            "ordering": np.tile(np.arange(6), 20),
            "status": np.where(where >= 0, 0, 1),
            "score": np.where(score >= 0, score + 1.0, np.nan),
            "position": np.where(where >= 0, where + 1, -1),
        }
    )
    items = pd.DataFrame({"item_id": [str(i) for i in range(20)], "dataset": "d"})
    shown = tuple(Ordering(tuple(s + 1 for s in order)) for order in rotations(3))
    arms = (Arm("<b>judge</b>", "d", "balanced", scores=(1, 2, 3), n_positions=3),)
    return position(RunData("r", "r", arms, items, shown, frame), n_boot=100).arms[0]


def test_selection_shows_shares_and_the_even_line(arm) -> None:
    other = replace(arm, arm=replace(arm.arm, strategy="random"))
    chart = figures.selection_bars([arm, other])
    assert len(chart.figure.data) == 2
    assert chart.figure.data[0].y == pytest.approx(arm.position.share)
    assert list(chart.figure.data[0].x) == [1, 2, 3]
    assert chart.figure.layout.shapes[0].y0 == pytest.approx(1 / 3)
    assert chart.figure.data[1].name == "random"
    assert f"1: {arm.position.share[0]:.0%}" in chart.alt


def test_heatmap_cells_can_be_clicked(arm) -> None:
    chart = figures.heatmap(arm)
    heat, cells = chart.figure.data
    assert np.asarray(heat.z) == pytest.approx(arm.table.share)
    assert (heat.zmin + heat.zmax) / 2 == pytest.approx(1 / 3)
    assert [list(cell) for cell in cells.customdata] == [[s, p] for s in (1, 2, 3) for p in (1, 2, 3)]
    assert cells.text[0] == f"{arm.table.share[0, 0]:.0%}"
    assert f"{arm.table.counts[0, 1]:,} of {arm.table.exposure[0, 1]:,}" in cells.hovertext[1]
    assert "largest is" in chart.alt


def test_cells_of_many_places_carry_short_texts(arm, monkeypatch) -> None:
    """At 390 pixels seven of “16% ●” beside each other run into one another."""
    clear = replace(arm, table=replace(arm.table, clear=np.ones_like(arm.table.clear)))
    share = f"{100 * arm.table.share[0, 0]:.0f}"
    assert figures.heatmap(clear).figure.data[1].text[0] == f"<b>{share}%<br>●</b>"
    monkeypatch.setattr(figures, "ROOMY", 2)
    assert figures.heatmap(replace(clear)).figure.data[1].text[0] == f"<b>{share}<br>●</b>"


def test_distribution_ends_with_the_unread(arm) -> None:
    chart = figures.score_distribution([arm])
    bars = chart.figure.data[0]
    assert list(bars.x) == ["1", "2", "3", "unread"]
    assert sum(bars.y) == pytest.approx(1.0)
    assert bars.y[-1] == pytest.approx(arm.score_distribution.unread_share)


def test_hostile_names_are_escaped(arm) -> None:
    assert figures.selection_bars([arm]).figure.data[0].name == "&lt;b&gt;judge&lt;/b&gt;"


def test_nothing_to_show_is_still_a_chart(arm) -> None:
    empty = replace(
        arm,
        table=replace(arm.table, share=np.full((3, 3), np.nan)),
        position=replace(arm.position, share=np.full(3, np.nan)),
    )
    assert "no readable judgment" in figures.heatmap(empty).alt
    assert set(figures.heatmap(empty).figure.data[1].text) == {"–"}
    assert "no readable judgment" in figures.selection_bars([empty]).alt
