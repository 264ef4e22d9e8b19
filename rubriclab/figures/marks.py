"""Describe pictures without drawing them: marks with numbers and words, and the colours of a theme.

``charts.py`` draws a ``Picture`` with Plotly for pages, ``pictures.svg.jinja`` as SVG for reports.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Palette:
    """The colours of one theme.

    ``bar``: bars of which nothing is decided. ``low``, ``middle``, ``high``: a heatmap's ends and
    centre. ``lines``: colours of several lines in one picture, of one darkness each.
    """

    text: str
    muted: str
    ground: str
    surface: str
    border: str
    effect: str
    neutral: str
    bar: str
    band: str
    low: str
    middle: str
    high: str
    reference: str
    grid: str
    rising: str
    lines: tuple[str, ...]


LIGHT = Palette(
    text="#141A22",
    muted="#586373",
    ground="#FFFFFF",
    surface="#F4F6F9",
    border="#DBE0E7",
    effect="#C24E0C",
    neutral="#7C9FD3",
    bar="#B9C1CE",
    band="#DCEFE4",
    low="#B5CCEA",
    middle="#F7F8FA",
    high="#C24E0C",
    reference="#7A8696",
    grid="#E7EBF0",
    rising="#3F74C4",
    lines=("#1D5FBF", "#B27B00", "#1B7A48", "#8A3FA0", "#586373", "#C24E0C"),
)
DARK = Palette(
    text="#E8ECF1",
    muted="#A3AFBD",
    ground="#10151B",
    surface="#19212B",
    border="#303B48",
    effect="#F08A4B",
    neutral="#4C74A8",
    bar="#4A5767",
    band="#17322A",
    low="#2C4B70",
    middle="#1C252F",
    high="#BE531C",
    reference="#8D99A8",
    grid="#29323D",
    rising="#6FA3E6",
    lines=("#82B7F8", "#D9A93A", "#55C08A", "#CE8FE0", "#A3AFBD", "#F08A4B"),
)


@dataclass(frozen=True)
class Point:
    """One mark of a picture: a number with its interval.

    ``text``: the number as it is written at the mark. ``expected``: where it would be without an
    effect. ``decided``: whether the verdict says that there is one. ``of``: what of the run it is
    about, which a click hands to Judgments. ``hover``: lines under the pointer, the first in bold.
    ``x``: of a plane, the number along the horizontal axis, with its own interval. ``tone``: of a
    cell, its colour from -1 to 1, where that is not how far its number is from ``expected``; of a
    mark of a plane, its direction: -1 points left, 1 right, 0 neither.
    ``weight``: how much the mark rests on, which its area shows; NaN where it shows nothing.
    """

    label: str
    value: float
    text: str
    low: float = math.nan
    high: float = math.nan
    expected: float = math.nan
    decided: bool = False
    of: Mapping[str, Any] = field(default_factory=dict)
    hover: tuple[str, ...] = ()
    x: float = math.nan
    x_low: float = math.nan
    x_high: float = math.nan
    tone: float = math.nan
    weight: float = math.nan

    @property
    def has_interval(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def top(self) -> float:
        """The upper end of the mark with its interval."""
        return max(self.value, self.high) if self.has_interval else self.value


@dataclass(frozen=True)
class Series:
    """One line of a chart, one line of cells, or one bar with its parts, as marks by level.

    ``group``: the heading of the lines of cells that it is among. ``dash``: of its line, as Plotly
    names it; empty where its place among the lines decides.
    """

    name: str
    points: tuple[Point, ...]
    group: str = ""
    dash: str = ""


@dataclass(frozen=True)
class Picture:
    """What a chart shows, not yet drawn: marks by series and level.

    ``kind``: how it is drawn, a key of ``KINDS`` in charts.py. ``alt``: the picture in words.
    ``levels``: along the axis; the ``label`` of a mark is one of them. ``axes``: the titles of the
    horizontal and the vertical axis. ``smallest``: half the width of the band of small effects.
    ``smallest_x``: of a plane, the same along its horizontal axis; only what is small on both axes
    is then coloured.
    ``reference``: the text at the right end of the dotted line of bars. ``target``: a dotted
    line of curves, and of tallies. ``span``: of cells, the distance from the centre that has full
    colour; None where cells are shares. ``scale``: the ends of the scores. ``mean``,
    ``difference``: of slopes, the two ends of the mean line, and what is beside. ``left_out``:
    lines that are not drawn. ``apart``: of curves, a level whose marks are hollow, and that no line
    joins with the others. ``panels``: pictures next to each other that share their axes; each
    has a ``title``, and below it a ``subtitle``. ``own_scales``: whether each panel has a vertical
    axis of its own, and all stand in one line. ``frames``: of a square matrix, the blocks that get
    a frame: name, first and last line. ``undecided``: of cells, whether they are drawn grey,
    because nothing is decided yet.
    """

    kind: str
    series: tuple[Series, ...]
    alt: str
    axes: tuple[str, str] = ("", "")
    levels: tuple[str, ...] = ()
    smallest: float = math.nan
    smallest_x: float = math.nan
    reference: str = ""
    target: float = math.nan
    span: float | None = None
    scale: tuple[float, float] = (0.0, 1.0)
    mean: tuple[float, float] = (math.nan, math.nan)
    difference: Point = Point("", math.nan, "")
    left_out: int = 0
    apart: str = ""
    title: str = ""
    subtitle: str = ""
    panels: tuple["Picture", ...] = ()
    own_scales: bool = False
    frames: tuple[tuple[str, int, int], ...] = ()
    undecided: bool = False

    @property
    def points(self) -> tuple[Point, ...]:
        """The marks of all series, one after the other, then those of all panels."""
        own = tuple(point for series in self.series for point in series.points)
        return own + tuple(point for panel in self.panels for point in panel.points)

    @property
    def most(self) -> float:
        """The top of the axis of bars; mostly the same, so that pictures can be compared."""
        return max([0.6, *(point.top for point in self.points)])

    @property
    def ticks(self) -> list[float]:
        """The shares along the axis of bars."""
        return [k / 5 for k in range(6) if k / 5 <= self.most]

    @property
    def coordinates(self) -> dict[str, float]:
        """Where each level is along the axis.

        At its number where it is a curve's and all levels are numbers, else evenly spaced.
        """
        evenly = {level: float(k) for k, level in enumerate(self.levels)}
        if self.kind != "curves":
            return evenly
        try:
            return {level: float(level) for level in self.levels}
        except ValueError:
            return evenly

    def heat(self, point: Point) -> float:
        """Return a cell's colour: from -1, as far below its centre as can be, to 1.

        Without ``span`` cells are shares, which end at 0 and 1.
        """
        if math.isfinite(point.tone):
            return max(-1.0, min(1.0, point.tone))
        away = point.value - point.expected
        if not math.isfinite(away):
            return 0.0
        most = self.span or (1 - point.expected if away > 0 else point.expected)
        return max(-1.0, min(1.0, away / most)) if most > 0 else 0.0


def picture(
    kind: str, points: Mapping[tuple[Any, Any], Point], alt: str, **more: Any
) -> Picture | None:
    """Return a picture of marks by (series, level), in the order in which each first occurs.

    None where no mark has a number. A level's name is the label of its marks.
    """
    if not any(math.isfinite(point.value) for point in points.values()):
        return None
    label_of = {level: point.label for (_, level), point in points.items()}
    series = tuple(
        Series(
            "" if name is None else str(name),
            tuple(points[name, level] for level in label_of if (name, level) in points),
        )
        for name in dict.fromkeys(name for name, _ in points)
    )
    return Picture(kind, series, alt, levels=tuple(label_of.values()), **more)


WHITE_FROM = 0.88
"""The heat from which on white has more contrast with a cell than the text of either theme."""


def mix(start: str, end: str, part: float) -> str:
    """Return the colour that lies ``part`` of the way from one hex colour to another."""
    both = [(int(start[k : k + 2], 16), int(end[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * part):02X}" for a, b in both)


def shade(palette: Palette, heat: float) -> str:
    """Return the colour of a cell at ``heat`` from -1 to 1."""
    return mix(palette.middle, palette.high if heat > 0 else palette.low, abs(heat))


def ink(palette: Palette, heat: float) -> str:
    """Return the colour of a cell's number: white where that has more contrast than the theme's
    text (4.1 to 1 at least).
    """
    return "#FFFFFF" if heat > WHITE_FROM else palette.text
