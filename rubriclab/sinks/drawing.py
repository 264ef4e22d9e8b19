"""Bars and cells in, plain SVG elements out, for a report that needs neither script nor network; its template escapes them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rubriclab.model.text import shorten
from rubriclab.sinks.marks import LIGHT, Bars, Cells, ink, shade
from rubriclab.sinks.text import number

WIDTH = 620
COLOURS = LIGHT


@dataclass(frozen=True)
class Element:
    """One SVG element: its tag, its attributes, and the text in it."""

    tag: str
    attributes: dict[str, Any]
    text: str = ""


@dataclass(frozen=True)
class Drawing:
    """What the template prints: a title, a size, elements from back to front, and the sentence for who cannot see it."""

    title: str
    width: int
    height: int
    elements: list[Element]
    alt: str


def drawing(picture: Bars | Cells, title: str) -> Drawing:
    """The picture as SVG."""
    return _bars(picture, title) if isinstance(picture, Bars) else _cells(picture, title)


def _rect(x: float, y: float, width: float, height: float, fill: str) -> Element:
    sizes = {"x": round(x, 1), "y": round(y, 1), "width": round(width, 1), "height": round(max(height, 0), 1)}
    return Element("rect", sizes | {"fill": fill})


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str, dotted: bool = False) -> Element:
    where = {"x1": round(x1, 1), "y1": round(y1, 1), "x2": round(x2, 1), "y2": round(y2, 1), "stroke": stroke}
    return Element("line", where | ({"stroke-dasharray": "3 3", "stroke-width": 1.5} if dotted else {}))


def _text(x: float, y: float, text: str, fill: str, anchor: str = "middle") -> Element:
    return Element("text", {"x": round(x, 1), "y": round(y, 1), "fill": fill, "text-anchor": anchor}, text)


def _bars(picture: Bars, title: str) -> Drawing:
    left, right, top, height = 48, 84, 24, 270
    foot = height - 48
    points = picture.points
    most = picture.most
    slot = (WIDTH - left - right) / max(1, len(points))

    def y(value: float) -> float:
        return top + (foot - top) * (1 - value / most)

    out = []
    for tick in picture.ticks:
        out.append(_line(left, y(tick), WIDTH - right, y(tick), COLOURS.grid))
        out.append(_text(left - 6, y(tick) + 4, number(tick, ".0%"), COLOURS.muted, "end"))
    for k, point in enumerate(points):
        middle = left + slot * (k + 0.5)
        colour = COLOURS.effect if point.decided else COLOURS.neutral
        out.append(_rect(middle - slot * 0.31, y(point.value), slot * 0.62, y(0) - y(point.value), colour))
        if point.has_interval:
            out.append(_line(middle, y(point.low), middle, y(point.high), COLOURS.muted))
            out += [_line(middle - 4, y(end), middle + 4, y(end), COLOURS.muted) for end in (point.low, point.high)]
        out.append(_text(middle, y(point.top) - 6, point.text, COLOURS.text))
        out.append(_text(middle, foot + 18, shorten(point.label, 12), COLOURS.muted))
        if not math.isfinite(point.expected):
            continue
        level = y(point.expected)
        out.append(_line(middle - slot / 2, level, middle + slot / 2, level, COLOURS.reference, dotted=True))
    if picture.reference and points:
        for k, part in enumerate(picture.reference.split(": ")):
            level = y(points[0].expected) + 4 + 15 * k
            out.append(_text(WIDTH - right + 6, level, part, COLOURS.muted, "start"))
    out.append(_text(left + (WIDTH - left - right) / 2, height - 8, picture.axis, COLOURS.muted))
    return Drawing(title, WIDTH, height, out, picture.alt)


def _cells(picture: Cells, title: str) -> Drawing:
    left, line = 130, 34
    foot = 8 + line * len(picture.lines)
    slot = (WIDTH - left - 10) / max(1, len(picture.columns))
    out = []
    for k, name in enumerate(picture.lines):
        y = 8 + line * (len(picture.lines) - 1 - k)
        out.append(_text(left - 8, y + line / 2 + 5, shorten(name, 18), COLOURS.muted, "end"))
        for x, point in enumerate(picture.points[k]):
            if point is not None:
                heat = picture.heat(point)
                out.append(_rect(left + slot * x + 1.5, y + 1.5, slot - 3, line - 3, shade(COLOURS, heat)))
                out.append(_text(left + slot * (x + 0.5), y + line / 2 + 5, point.text, ink(COLOURS, heat)))
    for x, name in enumerate(picture.columns):
        out.append(_text(left + slot * (x + 0.5), foot + 18, shorten(name, 12), COLOURS.muted))
    out.append(_text(left + (WIDTH - left) / 2, foot + 38, picture.axes[0], COLOURS.muted))
    return Drawing(title, WIDTH, foot + 46, out, picture.alt)
