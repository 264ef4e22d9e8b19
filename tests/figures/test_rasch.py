"""The ruler shows every facet at its measure; places stand beside the choice model's; names are escaped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.figures.ordinal import in_half_widths, twice_forest
from rubriclab.figures.rasch import places_forest, ruler
from rubriclab.findings.ordinal import OrdinalArm, OrdinalResult, Twice
from rubriclab.findings.rasch_results import Element, ItemMeasures, JudgePlaces, Place, RaschArm, RaschScale, Threshold
from rubriclab.model import Arm
from rubriclab.stats.inference import NO_INTERVAL, Interval
from rubriclab.stats.inference import Test as Answered
from rubriclab.stats.rasch_measures import NO_FIT, Fit, separation

CI = Interval(-0.1, 0.5)
ARM = Arm("<i>x</i>", "d", "balanced", scores=(1, 2, 3), n_positions=3)
PLACES = tuple(Place(k, value, CI) for k, value in ((1, 0.4), (2, -0.1), (3, -0.3)))


def scale() -> RaschScale:
    theta = np.array([-1.0, 0.0, 2.0, np.nan])
    error = np.full(4, 0.3)
    items = ItemMeasures(np.arange(4), theta, error, np.zeros(4, dtype=bool), 0, 0, 3)
    return RaschScale(
        ("<i>x</i>",),
        "d",
        (1, 2, 3),
        "item",
        "",
        items,
        separation(theta, error),
        n_items=4,
        n_units=4,
        elements=(
            Element("judge", "<i>x</i>", 0.2, CI, Fit(1.0, 1.7, 90)),
            Element("person", "ann", -0.2, CI, NO_FIT),
            Element("person", "bob", float("nan"), NO_INTERVAL, NO_FIT),
        ),
        places=(JudgePlaces("<i>x</i>", -0.7, CI, PLACES, (NO_FIT,) * 3),),
        thresholds=(Threshold("", 2, -0.8, CI), Threshold("", 3, 0.8, CI)),
    )


def test_the_ruler_has_a_column_a_facet_on_one_axis() -> None:
    chart = ruler(scale())
    heads = [note.text for note in chart.figure.layout.annotations]
    assert heads == [f"<b>{name}</b>" for name in ("items", "judges", "people", "places", "scores")]
    bars = [trace for trace in chart.figure.data if trace.type == "bar"]
    assert sum(int(text.split()[0]) for text in bars[0].hovertext) == 3
    values = [list(trace.y) for trace in chart.figure.data if trace.type == "scatter"]
    assert values == [[0.2], [-0.2], [0.4, -0.1, -0.3], [-0.8, 0.8]]
    ends = [trace.x[-1] for trace in chart.figure.data if trace.type == "scatter"]
    assert ends == sorted(ends), "columns stand from left to right"
    assert "3 items from -1.0 to +2.0" in chart.alt
    assert "position 1" in chart.alt


def test_names_from_outside_are_escaped_on_the_ruler() -> None:
    drawn = ruler(scale()).figure.to_json()
    assert "<i>x" not in drawn
    assert "\\u003ci\\u003ex" not in drawn


def test_a_ruler_without_items_says_why() -> None:
    nothing = np.zeros(0)
    none = ItemMeasures(nothing.astype(np.int64), nothing, nothing, nothing.astype(bool), 0, 0, 0)
    empty = replace(scale(), items=none, elements=(), places=(), thresholds=(), why="nothing was read")
    assert ruler(empty).alt == "No ruler of d: nothing was read."


def test_two_models_stand_in_one_row_a_place_and_lead_to_judgments() -> None:
    test = Answered("T²", 9.0, 2.0, 0.01)
    arm = RaschArm(3, ARM, 9, 90, 9, "item", -0.7, CI, PLACES, test, PLACES[::-1], test, True, "")
    chart = places_forest(arm)
    assert [trace.name for trace in chart.figure.data] == ["Rasch model", "choice model"]
    assert list(chart.figure.layout.yaxis.ticktext) == ["position 1", "position 2", "position 3"]
    assert chart.behind[0][2] is not None
    assert chart.behind[0][2].position == 3


def test_half_widths_beyond_one_leave_out_nothing() -> None:
    assert in_half_widths(0.4, Interval(0.2, 0.9)) == pytest.approx(2.0)
    assert in_half_widths(-0.4, Interval(-0.9, 0.4)) == pytest.approx(-0.5)
    assert np.isnan(in_half_widths(0.4, NO_INTERVAL))


def test_numbers_and_ranks_stand_beside_each_other() -> None:
    order = Twice("order", 0.4, Interval(0.2, 0.6), 0.1, Interval(-0.1, 0.3), "changes", 20)
    people = Twice("people", 0.5, NO_INTERVAL, 0.4, NO_INTERVAL, "unknown", 4)
    chart = twice_forest(OrdinalResult((OrdinalArm(1, ARM, "item", order, None, people, None),), ()))
    numbers, ranks = (trace for trace in chart.figure.data if trace.type == "scatter")
    assert (list(numbers.x), list(ranks.x)) == ([pytest.approx(2.0)], [pytest.approx(0.5)])
    assert "The conclusion changes for <i>x</i> · balanced · order." in chart.alt
    assert "<i>x" not in str(chart.figure.layout.yaxis.ticktext)
    assert "no" in twice_forest(OrdinalResult((), ())).alt.lower()
