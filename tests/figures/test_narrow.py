"""Check that pictures of several judges fit a phone: panels in one column, and shorter labels."""

from typing import Any

import pytest

from rubriclab.figures import choice_pictures as choices
from rubriclab.figures import judge_pictures as scores
from rubriclab.figures.charts import NARROW, draw
from rubriclab.figures.marks import Picture
from rubriclab.figures.pictures import Shown
from tests.figures.several import chosen, scored


def drawn(shown: Shown) -> Picture:
    assert shown.picture is not None
    assert shown.picture.kind in NARROW
    return shown.picture


PICTURES = [
    drawn(scores.positions_by_dataset(scored(6, 1, items=8))),
    drawn(scores.balanced_against_fixed(scored(6, 1, items=8), "options", "stories")),
    drawn(choices.by_task(chosen(15), "pairs")),
    drawn(choices.fairness_plane(chosen(6), "pairs")),
]


def axes_of(figure: Any, letter: str) -> list[Any]:
    """The axes of a figure's panels."""
    layout = figure.to_dict()["layout"]
    return [axis for name, axis in layout.items() if name.startswith(f"{letter}axis")]


@pytest.mark.thorough
@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: picture.kind)
def test_panels_are_below_each_other_and_keep_their_marks(picture: Picture) -> None:
    wide, narrow = draw(picture), draw(picture, narrow=True)
    assert {tuple(axis["domain"]) for axis in axes_of(narrow, "x")} == {(0.0, 1.0)}
    if len(picture.panels) > 1:
        assert len({tuple(axis["domain"]) for axis in axes_of(narrow, "y")}) == len(picture.panels)
        assert narrow.layout.height > wide.layout.height
    assert narrow.layout.margin.l <= 130
    marks = [
        [trace.get("customdata") for trace in figure.to_dict()["data"]] for figure in (wide, narrow)
    ]
    assert marks[0] == marks[1]  # a click means the same


@pytest.mark.thorough
def test_numbers_are_left_out_where_cells_are_too_small() -> None:
    matrix = choices.agreement_matrix(
        chosen(15), "pairs", ("judges_agree", "judges_agree_no_ties"), ("a", "b")
    ).picture
    assert matrix is not None
    modes = [
        trace["mode"]
        for narrow in (False, True)
        for trace in draw(matrix, narrow=narrow).to_dict()["data"]
        if "mode" in trace
    ]
    assert modes == ["markers+text", "markers"]
