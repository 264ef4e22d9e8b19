"""Pictures and their figures: what is coloured, what a click hands on, what hover and alt text say;
hostile labels.
"""

import math
from dataclasses import replace

import pytest

from rubriclab.figures.charts import DARK, LIGHT, chart_of, draw
from rubriclab.figures.first_pictures import first_picture
from rubriclab.figures.marks import Picture, Point, ink, mix, shade
from rubriclab.figures.pictures import (
    level_curves,
    level_panels,
    levelled_factors,
    row_forest,
    score_cells,
    share_bars,
    target_cells,
)
from rubriclab.model.judgment import Condition
from rubriclab.model.text import LabError
from rubriclab.words.subject import subject_of
from tests.words import made

HOSTILE = '<img src=x onerror=alert(1)>&"\u202e'


@pytest.fixture(scope="module")
def findings() -> object:
    return made.findings(made.options_table({"judge-7b": made.mostly_first}, items=40))


def test_bars_are_orange_only_where_the_band_decides(findings: made.Findings) -> None:
    picture = share_bars(findings, subject_of(findings))
    outside = set(findings.select("favours_positions")[0].counts["outside"])
    assert [point.decided for point in picture.points] == [p in outside for p in range(3)]
    assert picture.points[0].decided
    for palette in (LIGHT, DARK):
        (bar,) = draw(picture, palette).data
        colours = [palette.effect if point.decided else palette.neutral for point in picture.points]
        assert list(bar.marker.color) == colours
    assert picture.reference == "no bias: 33.3%"
    assert picture.points[0].hover[0].startswith("Position 1: ")
    assert picture.alt.startswith("Bar chart of the share of calls that chose each position: ")


def test_where_a_share_has_no_interval_no_whisker_stands() -> None:
    findings = made.findings(made.options_table({"j": made.mostly_first}, items=12, prompts=4))
    picture = share_bars(findings, subject_of(findings))
    assert not picture.points[0].has_interval
    assert draw(picture).data[0].error_y.visible is False
    assert "without intervals" in picture.alt


def test_a_number_that_a_whisker_crosses_has_a_halo_and_the_colour_of_text(
    findings: made.Findings,
) -> None:
    picture = first_picture(findings, subject_of(findings), 0).picture
    assert picture is not None
    bars, cells = picture.panels
    first, second, third = bars.points
    points = (replace(first, low=0.0, decided=True), replace(second, low=0.3), third)
    bars = replace(bars, series=(replace(bars.series[0], points=points),))
    *_, numbers = draw(replace(picture, panels=(bars, cells))).data
    assert list(numbers.text) == [point.text for point in points]
    assert [shadow != "none" for shadow in numbers.textfont.shadow][:2] == [True, False]
    assert numbers.textfont.color[0] == LIGHT.text  # white would not be seen beside its bar
    assert numbers.textfont.weight[0] == 700


def test_cells_are_centred_and_hand_on_what_they_are_about(findings: made.Findings) -> None:
    picture = score_cells(findings, 0)
    heat, squares = draw(picture).data
    assert list(squares.text) == [point.text for point in picture.points]
    assert squares.selected.textfont.color, "else a click would pale all other numbers"
    assert heat.hoverinfo == "skip"
    assert squares.marker.opacity == 0
    assert len(squares.customdata) == 9
    assert dict(squares.customdata[0]) == {"score": 1, "position": 1}
    cell = picture.points[0]
    assert cell.expected == pytest.approx(1 / 3)
    assert "click to read these calls" in cell.hover
    # Full orange at a share of 1, full blue at 0, the middle where it is as often as it would be
    # anyway.
    heats = [picture.heat(Point("", share, "", expected=0.2)) for share in (1.0, 0.0, 0.2, 0.6)]
    assert heats == pytest.approx([1, -1, 0, 0.5])


def test_a_score_that_was_never_given_is_a_dash() -> None:
    findings = made.findings(made.options_table({"j": lambda *_: 2}, items=20))
    picture = score_cells(findings, 0)
    assert [point.text for point in picture.series[0].points] == ["–"] * 3
    assert "never given" in picture.points[0].hover[1]


def test_criteria_cells_and_forest() -> None:
    table = made.criteria_table(
        lambda text, slot, position: 2 + (text + slot) % 2 if position else 4
    )
    findings = made.findings(table)
    picture = target_cells(findings, 0)
    assert [line.name for line in picture.series] == [
        "Facts",
        "Length",
        "Tone",
    ]  # the first criterion on top
    assert dict(draw(picture).data[1].customdata[0])["target"] == "Facts"
    forest = row_forest(findings.select("first_minus_last"), "Points", 0.25, by="target")
    assert [point.label for point in forest.points] == ["Tone", "Length", "Facts"]
    assert forest.alt.count("95") >= 3
    assert len(draw(forest).data[0].x) == 3
    assert [shape.type for shape in draw(forest).layout.shapes] == [
        "rect",
        "line",
    ]  # what is too small, and 0


@pytest.mark.thorough
def test_a_measure_against_the_levels_of_a_factor_is_a_line_a_judge() -> None:
    conditions = [
        Condition(judge, "A", "balanced", variant={"temperature": level, "ids": ids})
        for judge in ("cold", "warm")
        for level, ids in ((1.0, "arabic"), (0.0, "arabic"), (0.25, "arabic"), (1.0, "letters"))
    ]
    findings = made.several(*conditions, rules={"warm": made.mostly_first}, items=40)
    assert levelled_factors(findings) == ["temperature"]  # labels have no order
    picture = level_curves(findings, "within_item_sd", "temperature", "A")
    assert picture.levels == ("0", "0.25", "1")
    assert picture.coordinates == {"0": 0.0, "0.25": 0.25, "1": 1.0}
    cold, warm = picture.series
    assert [point.value for point in cold.points] == [0, 0, 0]  # the rule never moves
    row = findings.select("within_item_sd", condition=5)[0]
    assert (warm.points[0].value, warm.points[0].low, warm.points[0].high) == (
        row.value,
        *row.interval,
    )
    figure = draw(picture)
    assert [trace.name for trace in figure.data] == ["cold", "warm"]
    assert figure.layout.showlegend
    assert list(figure.data[1].x) == [0.0, 0.25, 1.0]
    assert "warm at temperature 0.25" in picture.alt
    assert level_curves(findings, "within_item_sd", "temperature", "B") is None
    assert level_curves(findings, "nothing", "temperature", "A") is None


@pytest.mark.thorough
def test_levels_have_one_legend_and_a_mean_over_data_sets() -> None:
    conditions = [
        Condition(judge, dataset, "balanced", variant={"temperature": level})
        for judge in ("cold", "warm")
        for dataset in ("A", "B")
        for level in (1.0, 0.0)
    ]
    found = made.several(*conditions, rules={"warm": made.mostly_first}, items=40)
    alone = level_panels(found, "temperature", ["A"])
    assert alone is not None
    assert alone.panels[0].title == "Cramér's V without noise"
    figure = draw(alone)
    # Two judges in as many panels as there are measures: each is named once.
    named = [trace.name for trace in figure.data if trace.showlegend]
    assert named == ["cold", "warm"]
    heights = {figure.layout[f"yaxis{k or ''}"].domain for k in range(1)}
    heights |= {figure.layout[f"yaxis{k}"].domain for k in range(2, len(alone.panels) + 1)}
    assert len(heights) == 1
    together = level_panels(found, "temperature", ["A", "B"])
    assert together is not None
    spread = next(panel for panel in together.panels if panel.title.startswith("Spread"))
    both = [level_curves(found, "within_item_sd", "temperature", name) for name in ("A", "B")]
    expected = [one.series[1].points[1].value for one in both]
    assert spread.series[1].points[1].value == sum(expected) / 2
    assert not spread.series[1].points[1].has_interval


def test_a_level_s_point_leaves_out_rows_of_other_orders() -> None:
    """Asked in one order and in its reverse, with and without a reference: only the reference moves
    a level.
    """

    def reversed_order_scores_lower(item: int, shown: tuple[int, ...], repeat: int) -> int:  # noqa: ARG001
        return 3 if shown == (1, 2, 3) else 1

    conditions = [
        Condition("j", "A", strategy, variant={"reference": level})
        for level in (0.0, 5.0)
        for strategy in ("fixed", "descending")
    ]
    rule = {"j": reversed_order_scores_lower}
    table = made.several(*conditions, rules=rule, items=20).judgments.table
    shown = [order.shown for order in table.orderings]
    of_strategy = {"fixed": shown.index((1, 2, 3)), "descending": shown.index((3, 2, 1))}
    own = [of_strategy[conditions[code].strategy] for code in table.rows["condition"]]
    found = made.findings(replace(table, rows=table.rows[table.rows["ordering"] == own]))
    # The row that was read as level 0: the descending order, 2 points below the ascending one.
    (other,) = found.select("variant_shift", condition=1)
    assert (other.of["variant"], other.value) == ("descending", -2.0)
    picture = level_curves(found, "variant_shift", "reference", "A")
    assert picture is not None
    (line,) = picture.series
    assert [(point.label, point.value) for point in line.points] == [("none", 0.0), ("5", 0.0)]
    assert [point.has_interval for point in line.points] == [False, True]
    assert "the default itself" in line.points[0].hover


def test_any_measure_has_a_chart_and_an_unknown_one_says_which_there_are(
    findings: made.Findings,
) -> None:
    for measure in ("position_share", "position_given_score", "line", "score_share"):
        assert chart_of(findings, measure, judge="judge-7b").data
    with pytest.raises(LabError, match=r"there are charts of .*position_share"):
        chart_of(findings, "nothing")


def test_hostile_labels_are_text() -> None:
    table = made.criteria_table(lambda *_: 3, names=(HOSTILE, "B", "C"))
    picture = target_cells(made.findings(table), 0)
    figure = draw(picture)
    for trace in figure.data:
        trace.customdata = None  # what a click hands on; no hover or label shows it
    drawn = figure.to_json()
    assert "img src" in drawn
    assert "<img" not in drawn.replace("\\u003c", "<")
    assert "\u202e" not in drawn


def test_colours_between_their_ends() -> None:
    assert mix("#000000", "#FFFFFF", 0.5) == "#808080"
    assert (shade(LIGHT, 0), shade(LIGHT, 1), shade(DARK, -1)) == (
        LIGHT.middle,
        LIGHT.high,
        DARK.low,
    )
    assert (ink(LIGHT, 1), ink(LIGHT, -1)) == ("#FFFFFF", LIGHT.text)
    assert Picture("cells", (), "", span=2.0).heat(Point("", math.nan, "", expected=0.0)) == 0
