"""Names and titles are folded into lines that fit, whole where they can be; figures grow with them."""

from __future__ import annotations

from html import unescape

from rubriclab.figures.marks import ACROSS, FRAME, LEGEND, LONGEST, Drawing, Mark, folded
from rubriclab.figures.rows import figure_rows
from tests.long_names import NAMES


def test_long_names_are_folded_and_stay_apart() -> None:
    lines = [folded(name, LONGEST) for name in NAMES]
    assert [text.replace("<br>", "") for text in lines] == list(NAMES)
    assert max(len(line) for text in lines for line in text.split("<br>")) <= LONGEST
    assert folded("short", LONGEST) == "short"
    assert folded("a & b", LONGEST) == "a &amp; b"


def test_what_is_beyond_the_last_line_is_cut() -> None:
    lines = unescape(folded("x" * 200, 10, 2)).split("<br>")
    assert lines == ["x" * 10, "x" * 9 + "…"]


def test_rows_get_the_height_their_names_need() -> None:
    drawing = Drawing(x="An axis with a title that is too long for a phone", height=100)
    drawing.dots([Mark(0, 1.0), Mark(1, 2.0)], color="#000000", name=NAMES[0])
    drawing.rows([f"{NAMES[0]} · answers", f"{NAMES[1]} · answers"])
    figure = drawing.chart("").figure
    assert figure.layout.height > FRAME + 2 * 4 * 16  # four lines a row
    assert max(len(line) for line in figure.layout.xaxis.title.text.split("<br>")) <= ACROSS
    assert max(len(line) for line in figure.data[0].name.split("<br>")) <= LEGEND
    assert figure_rows(figure)["series"].iloc[0] == NAMES[0]  # an export has the name as it is
