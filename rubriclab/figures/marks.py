"""Numbers with their words in; points, cells and lines of a picture out, drawn by nobody yet."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Palette:
    """Colours of one theme; ``low``, ``middle``, ``high`` are a heatmap's ends and centre."""

    text: str
    muted: str
    ground: str
    surface: str
    border: str
    effect: str
    neutral: str
    band: str
    low: str
    middle: str
    high: str
    reference: str
    grid: str
    rising: str
    lines: tuple[str, ...]
    """Colours of several lines beside each other, of one darkness each."""


LIGHT = Palette(
    text="#141A22",
    muted="#586373",
    ground="#FFFFFF",
    surface="#F4F6F9",
    border="#DBE0E7",
    effect="#C24E0C",
    neutral="#7C9FD3",
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
    """One mark: its number with interval, where it would be without an effect, and what of the run
    it is about.

    ``of`` goes to Judgments on a click; ``hover``: lines, the first in bold; ``text``: the number
    as written beside it.
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

    @property
    def has_interval(self) -> bool:
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def top(self) -> float:
        """The upper end of the mark with its interval."""
        return max(self.value, self.high) if self.has_interval else self.value


@dataclass(frozen=True)
class Series:
    """One line of a chart, one line of cells, or one bar with its parts: a mark for each level that
    it has.
    """

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Picture:
    """Marks by series and level. ``kind``: how it is drawn, a key of ``KINDS`` in charts.py.

    ``levels``: along the axis, which their marks' ``label`` names; ``axes``: the titles below and
    beside; ``smallest``: half the width of the band of small effects; ``reference``: what stands at
    the right end of the dotted line of bars; ``target``: a dotted line of curves; ``span``: of
    cells, the distance of full colour; ``scale``: of slopes, the ends of the scores; ``mean``,
    ``difference``: of slopes, the line of the mean and what stands beside it.
    """

    kind: str
    series: tuple[Series, ...]
    alt: str
    axes: tuple[str, str] = ("", "")
    levels: tuple[str, ...] = ()
    smallest: float = math.nan
    reference: str = ""
    target: float = math.nan
    span: float | None = None
    scale: tuple[float, float] = (0.0, 1.0)
    mean: tuple[float, float] = (math.nan, math.nan)
    difference: Point = Point("", math.nan, "")
    left_out: int = 0

    @property
    def points(self) -> tuple[Point, ...]:
        """The marks of all series, one after the other."""
        return tuple(point for series in self.series for point in series.points)

    @property
    def most(self) -> float:
        """The top of the axis of bars: mostly the same, so that pictures can be held beside each
        other.
        """
        return max([0.6, *(point.top for point in self.points)])

    @property
    def ticks(self) -> list[float]:
        """Of bars: the shares along the axis."""
        return [k / 5 for k in range(6) if k / 5 <= self.most]

    @property
    def coordinates(self) -> dict[str, float]:
        """Where each level stands: at its number where it is a curve's and all are numbers, else
        evenly spaced.
        """
        try:
            return {
                level: float(level if self.kind == "curves" else k)
                for k, level in enumerate(self.levels)
            }
        except ValueError:
            return {level: float(k) for k, level in enumerate(self.levels)}

    def heat(self, point: Point) -> float:
        """A cell's colour: -1 (as far below its centre as can be) to 1. Without ``span``: shares,
        which end at 0 and 1.
        """
        away = point.value - point.expected
        if not math.isfinite(away):
            return 0.0
        most = self.span or (1 - point.expected if away > 0 else point.expected)
        return max(-1.0, min(1.0, away / most)) if most > 0 else 0.0


def picture(
    kind: str, points: Mapping[tuple[Any, Any], Point], alt: str, **more: Any
) -> Picture | None:
    """A picture of marks by (series, level), both in the order in which they first stand; None
    where no mark has a number.

    A level is called as its marks are labelled.
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


def mix(start: str, end: str, part: float) -> str:
    """The colour ``part`` of the way between two hex colours."""
    both = [(int(start[k : k + 2], 16), int(end[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * part):02X}" for a, b in both)


def shade(palette: Palette, heat: float) -> str:
    """The ground of a cell at ``heat`` from -1 to 1."""
    return mix(palette.middle, palette.high if heat > 0 else palette.low, abs(heat))


def ink(palette: Palette, heat: float) -> str:
    """The colour of a cell's number: white where it has more contrast than the theme's own text
    (4.1 to 1 at least).
    """
    return "#FFFFFF" if heat > 0.88 else palette.text
