"""Small multiples and differences: what is drawn, on which scale, and what lies behind a point."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.figures import contrast as draw
from rubriclab.figures.style import EVEN_LINE
from rubriclab.findings.contrast import contrast
from rubriclab.findings.criteria import criteria
from rubriclab.findings.criteria_results import ArmCriteria
from rubriclab.findings.position import position
from rubriclab.findings.summary import ComparisonLine, lines
from rubriclab.findings.topics import Findings
from rubriclab.model.language import speaking
from tests.simulated_runs import data_of


def option_facets(*codes: int) -> list[draw.Facet]:
    found = {arm.code: arm for arm in position(data_of("options"), n_boot=50).arms}
    return [draw.Facet("r", (f"judge <{code}>", "balanced"), found[code]) for code in codes]


@pytest.mark.slow
def test_panels_share_one_scale_whatever_comes_first() -> None:
    first, second = draw.heatmaps(option_facets(0, 3, 2)), draw.heatmaps(option_facets(3, 2, 0))
    scales = [chart.figure.layout.coloraxis for chart in (first, second)]
    assert (scales[0].cmin, scales[0].cmax) == (scales[1].cmin, scales[1].cmax)
    shown = [trace for trace in first.figure.data if trace.type == "heatmap"]
    assert len(shown) == 3
    assert {trace.coloraxis for trace in shown} == {"coloraxis"}
    found = position(data_of("options"), n_boot=50).arms
    reach = max(np.abs(found[code].table.share - 0.2).max() for code in (0, 3, 2))
    assert scales[0].cmax == pytest.approx(0.2 + reach)
    assert "judge <0> · balanced up to" in first.alt


def test_panels_escape_names_and_lead_to_their_judgments() -> None:
    chart = draw.heatmaps(option_facets(0, 3))
    titles = [note.text for note in chart.figure.layout.annotations]
    assert titles == ["judge &lt;0&gt;<br>balanced", "judge &lt;3&gt;<br>balanced"]
    assert sorted(chart.behind) == [1, 3]
    assert len(chart.behind[3]) == len(chart.figure.data[3].x) == 25
    cell = chart.behind[3][7]
    assert cell is not None
    assert (cell.run, cell.arm, cell.score, cell.position) == ("r", 3, 2, 3)
    assert (chart.figure.data[3].x[7], chart.figure.data[3].y[7]) == (3, 1)
    assert "<0>" not in "".join(chart.figure.data[1].hovertext)


def test_panels_of_different_scales_are_refused() -> None:
    facets = option_facets(0, 3)
    arm = facets[1].found
    assert not isinstance(arm, ArmCriteria)
    table = replace(arm.table, scores=(0, 1, 2, 3, 4))
    with pytest.raises(ValueError, match="one scale"):
        draw.heatmaps([facets[0], replace(facets[1], found=replace(arm, table=table))])


@pytest.mark.slow
def test_many_options_take_a_row_each() -> None:
    chart = draw.heatmaps(option_facets(0, 2, 3, 5))
    domains = {tuple(axis.domain) for axis in chart.figure.select_xaxes()}
    assert len(domains) == 2
    assert draw.heatmaps(option_facets(0)).figure.layout.height < chart.figure.layout.height


def test_criteria_panels_are_centred_on_no_shift() -> None:
    arms = criteria(data_of("criteria")).arms
    chart = draw.shift_heatmaps([draw.Facet("r", ("a",), arms[0]), draw.Facet("r", ("b",), arms[2])])
    scale = chart.figure.layout.coloraxis
    assert scale.cmin == -scale.cmax
    cell = chart.behind[1][5]
    assert cell is not None
    assert (cell.criterion, cell.position) == ("Depth", 2)


def test_lines_stand_side_by_side_with_their_places() -> None:
    chart = draw.shares(option_facets(0, 3))
    assert [trace.name for trace in chart.figure.data] == ["judge &lt;0&gt; · balanced", "judge &lt;3&gt; · balanced"]
    place = chart.behind[1][4]
    assert place is not None
    assert (place.arm, place.position, place.score) == (3, 5, None)


def test_difference_outlines_what_is_beyond_chance() -> None:
    data = data_of("options")
    found = contrast(data, 0, data, 3)
    assert found.cells is not None
    chart = draw.difference_heatmap(found)
    assert len(chart.figure.layout.shapes) == found.cells.clear.sum() > 0
    fill = chart.figure.data[0]
    assert fill.zmin == -fill.zmax
    assert "all cells at once" in chart.figure.data[1].hovertext[0]
    cell = chart.behind[1][0]
    assert cell is not None
    assert (cell.run, cell.arm, cell.score, cell.position) == (data.run, 0, 1, 1)
    assert f"{found.cells.clear.sum()} of 25 cells leave 0 out" in chart.alt


def test_cells_without_an_interval_have_no_colour() -> None:
    data = data_of("options")
    found = contrast(data, 0, data, 3)
    assert found.cells is not None
    unknown = np.full((5, 5), np.nan)
    cells = replace(found.cells, low=unknown, clear=np.zeros((5, 5), dtype=bool))
    chart = draw.difference_heatmap(replace(found, cells=cells))
    assert np.isnan(np.asarray(chart.figure.data[0].z, dtype=float)).all()
    assert "too few items" in chart.figure.data[1].hovertext[3]
    with pytest.raises(ValueError, match="no cells"):
        draw.difference_heatmap(replace(found, cells=None))


def test_forest_has_a_panel_a_unit_and_greys_what_holds_zero() -> None:
    data = data_of("options")
    found = contrast(data, 0, data, 3)
    chart = draw.difference_forest(found)
    titles = [axis.title.text.replace("<br>", " ") for axis in chart.figure.select_xaxes()]
    assert titles == [f"{name}, a less b" for name in ("Points of score", "Points of share at a position", "V and r")]
    (band,) = [shape for shape in chart.figure.layout.shapes if shape.type == "rect"]
    assert (band.x0, band.x1) == (-0.1, 0.1), "the smallest effect of interest, in points"
    (turned,) = [one for one in found.deltas if one.kind == "shift"]
    low, high = turned.ci_all
    assert turned.effect is not None
    assert (
        f"ascending less descending {turned.delta:+.3f} ({low:+.3f} to {high:+.3f}), "
        f"{turned.effect.verdict}" in chart.alt
    )
    shares = chart.figure.data[1]
    assert shares.x[0] == pytest.approx(100 * found.deltas[0].delta)
    grey = [one.ci_all.low <= 0 <= one.ci_all.high for one in found.deltas[:5]]
    assert set(grey) == {True, False}, "one of each, or the colours say nothing"
    assert [color == EVEN_LINE for color in shares.marker.color] == grey
    place = chart.behind[1][1]
    assert place is not None
    assert place.position == 2
    with speaking("de"):
        rows = [text for axis in draw.difference_forest(found).figure.select_yaxes() for text in axis.ticktext or ()]
    assert "Position 1" in rows
    same = draw.difference_forest(contrast(data_of("plain"), 0, data_of("plain"), 1))
    assert [axis.title.text for axis in same.figure.select_xaxes()] == ["Points of score, a less b"]


def test_pairs_have_a_row_an_arm() -> None:
    data = data_of("pairs")
    told = lines(Findings(data))
    some = [line for line in told.values() if isinstance(line, ComparisonLine)]
    chart = draw.rates(some, [("first",), ("last",), ("even",)])
    assert list(chart.figure.data[1].x) == pytest.approx([line.pf for line in some])
    arm = chart.behind[0][2]
    assert arm is not None
    assert arm.arm == some[2].code
    assert "last" in chart.alt
