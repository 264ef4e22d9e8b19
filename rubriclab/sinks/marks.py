"""What a picture shows, drawn by nobody yet: points, cells and lines with their words."""

from __future__ import annotations

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
    text="#141A22", muted="#586373", ground="#FFFFFF", surface="#F4F6F9", border="#DBE0E7", effect="#C24E0C",
    neutral="#7C9FD3", band="#DCEFE4", low="#B5CCEA", middle="#F7F8FA", high="#C24E0C", reference="#7A8696",
    grid="#E7EBF0", rising="#3F74C4", lines=("#1D5FBF", "#B27B00", "#1B7A48", "#8A3FA0", "#586373", "#C24E0C"),
)  # fmt: skip
DARK = Palette(
    text="#E8ECF1", muted="#A3AFBD", ground="#10151B", surface="#19212B", border="#303B48", effect="#F08A4B",
    neutral="#4C74A8", band="#17322A", low="#2C4B70", middle="#1C252F", high="#BE531C", reference="#8D99A8",
    grid="#29323D", rising="#6FA3E6", lines=("#82B7F8", "#D9A93A", "#55C08A", "#CE8FE0", "#A3AFBD", "#F08A4B"),
)  # fmt: skip


@dataclass(frozen=True)
class Point:
    """One mark: its number with interval, where it would be without an effect, and what of the run it is about.

    ``of`` goes to Judgments on a click; ``hover``: lines, the first in bold; ``text``: the number as written beside it.
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
class Bars:
    """Shares by position."""

    points: tuple[Point, ...]
    axis: str
    alt: str
    reference: str = ""
    """What stands at the right end of the dotted line; empty where every bar has a mark of its own."""

    @property
    def most(self) -> float:
        """The top of the axis."""
        return max([0.75, *(point.top for point in self.points)])

    @property
    def ticks(self) -> list[float]:
        return [k / 5 for k in range(6) if k / 5 <= self.most]


@dataclass(frozen=True)
class Cells:
    """A heatmap: ``points[y][x]`` (None: nothing there), the last line on top. ``span``: the distance of full colour."""

    columns: tuple[str, ...]
    lines: tuple[str, ...]
    points: tuple[tuple[Point | None, ...], ...]
    axes: tuple[str, str]
    alt: str
    span: float | None = None

    def heat(self, point: Point) -> float:
        """-1 (as far below its centre as can be) to 1. Without ``span``: shares, which end at 0 and 1."""
        away = point.value - point.expected
        if not math.isfinite(away):
            return 0.0
        most = self.span or (1 - point.expected if away > 0 else point.expected)
        return max(-1.0, min(1.0, away / most)) if most > 0 else 0.0


@dataclass(frozen=True)
class Slopes:
    """Each answer's mean score in two orders, the mean over all, and the difference over all orders with its interval."""

    ends: tuple[str, str]
    items: tuple[tuple[str, float, float], ...]
    mean: tuple[float, float]
    scale: tuple[float, float]
    alt: str
    difference: Point
    smallest: float
    left_out: int = 0


@dataclass(frozen=True)
class Forest:
    """Numbers with their intervals under each other; ``smallest``: half the width of the band of small effects."""

    points: tuple[Point, ...]
    axis: str
    alt: str
    smallest: float = math.nan


@dataclass(frozen=True)
class Series:
    """One line of a chart: a point for each level that it has, in the chart's own order; or a bar with its parts."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Curves:
    """Numbers against a level (temperature, calls), a line for each judge or protocol; ``levels``: along the axis.

    ``smallest``: half the width of the band of small effects around 0; ``target``: a dotted line.
    """

    curves: tuple[Series, ...]
    levels: tuple[str, ...]
    axes: tuple[str, str]
    alt: str
    smallest: float = math.nan
    target: float = math.nan

    @property
    def at(self) -> dict[str, float]:
        """Where each level stands: at its number where all are numbers, else evenly spaced."""
        try:
            return {level: float(level) for level in self.levels}
        except ValueError:
            return {level: float(k) for k, level in enumerate(self.levels)}


@dataclass(frozen=True)
class Stacks:
    """Bars of shares that add up to 1; ``names``: of their parts, the first is what should be."""

    stacks: tuple[Series, ...]
    names: tuple[str, ...]
    alt: str


Picture = Bars | Cells | Slopes | Forest | Curves | Stacks


def mix(start: str, end: str, part: float) -> str:
    """The colour ``part`` of the way between two hex colours."""
    both = [(int(start[k : k + 2], 16), int(end[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * part):02X}" for a, b in both)


def shade(palette: Palette, heat: float) -> str:
    """The ground of a cell at ``heat`` from -1 to 1."""
    return mix(palette.middle, palette.high if heat > 0 else palette.low, abs(heat))


def ink(palette: Palette, heat: float) -> str:
    """The colour of a cell's number: white where it has more contrast than the theme's own text (4.1 to 1 at least)."""
    return "#FFFFFF" if heat > 0.88 else palette.text
