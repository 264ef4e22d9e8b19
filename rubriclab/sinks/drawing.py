"""Pictures in, plain SVG elements out, for a report that needs neither script nor network; the template escapes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rubriclab.model.text import shorten
from rubriclab.sinks.marks import LIGHT, Bars, Cells, Forest, Palette, Picture, ink, shade
from rubriclab.sinks.text import number

WIDTH = 620


@dataclass(frozen=True)
class Element:
    """One SVG element: its tag, its attributes, and the text in it."""

    tag: str
    attributes: dict[str, Any]
    text: str = ""


@dataclass(frozen=True)
class Drawing:
    """What the template prints: a size, elements from back to front, and the sentence for who cannot see it."""

    width: int
    height: int
    elements: tuple[Element, ...]
    alt: str


def drawing(picture: Picture, palette: Palette = LIGHT) -> Drawing | None:
    """The picture as SVG; None for kinds that the report does not show."""
    if isinstance(picture, Bars):
        return _bars(picture, palette)
    if isinstance(picture, Cells):
        return _cells(picture, palette)
    return _forest(picture, palette) if isinstance(picture, Forest) else None


def _rect(x: float, y: float, width: float, height: float, fill: str, **more: Any) -> Element:
    sizes = {"x": round(x, 1), "y": round(y, 1), "width": round(width, 1), "height": round(max(height, 0), 1)}
    return Element("rect", sizes | {"fill": fill} | more)


def _line(x1: float, y1: float, x2: float, y2: float, stroke: str, width: float = 1, dotted: bool = False) -> Element:
    where = {"x1": round(x1, 1), "y1": round(y1, 1), "x2": round(x2, 1), "y2": round(y2, 1)}
    return Element("line", where | {"stroke": stroke, "stroke-width": width} | ({"stroke-dasharray": "3 3"} if dotted else {}))


def _text(x: float, y: float, text: str, fill: str, anchor: str = "middle", bold: bool = False) -> Element:
    style = {"fill": fill, "text-anchor": anchor, "font-weight": 700 if bold else 400}
    return Element("text", {"x": round(x, 1), "y": round(y, 1)} | style, text)


def _bars(picture: Bars, palette: Palette) -> Drawing:
    left, right, top, bottom, height = 48, 84, 24, 48, 270
    points = picture.points
    most = max([0.75, *(max(point.value, point.high if point.has_interval else 0) for point in points)])
    slot = (WIDTH - left - right) / max(1, len(points))

    def y(value: float) -> float:
        return top + (height - top - bottom) * (1 - value / most)

    out = []
    for tick in (k / 5 for k in range(6)):
        if tick <= most:
            out.append(_line(left, y(tick), WIDTH - right, y(tick), palette.grid))
            out.append(_text(left - 6, y(tick) + 4, number(tick, ".0%"), palette.muted, "end"))
    for k, point in enumerate(points):
        middle = left + slot * (k + 0.5)
        colour = palette.effect if point.decided else palette.neutral
        out.append(_rect(middle - slot * 0.31, y(point.value), slot * 0.62, y(0) - y(point.value), colour, rx=3))
        if point.has_interval:
            out.append(_line(middle, y(point.low), middle, y(point.high), palette.muted, 1.4))
            out += [_line(middle - 4, y(end), middle + 4, y(end), palette.muted, 1.4) for end in (point.low, point.high)]
        above = y(max(point.value, point.high if point.has_interval else 0)) - 6
        out.append(_text(middle, above, point.text, palette.text, bold=point.decided))
        out.append(_text(middle, height - bottom + 18, shorten(point.label, 12), palette.muted))
        if not picture.reference:
            level = y(point.expected)
            out.append(_line(middle - slot * 0.42, level, middle + slot * 0.42, level, palette.reference, 1.5, dotted=True))
    if picture.reference and points:
        level = y(points[0].expected)
        out.append(_line(left, level, WIDTH - right, level, palette.reference, 1.5, dotted=True))
        for k, part in enumerate(picture.reference.split(": ")):
            end = ":" if k == 0 and ": " in picture.reference else ""
            out.append(_text(WIDTH - right + 6, level + 4 + 15 * k, part + end, palette.muted, "start"))
    out.append(_text(left + (WIDTH - left - right) / 2, height - 8, picture.axis, palette.muted))
    return Drawing(WIDTH, height, tuple(out), picture.alt)


def _cells(picture: Cells, palette: Palette) -> Drawing:
    left, bottom, line = 130, 46, 34
    height = 8 + line * len(picture.lines) + bottom
    slot = (WIDTH - left - 10) / max(1, len(picture.columns))
    out = []
    for k, name in enumerate(picture.lines):
        y = 8 + line * (len(picture.lines) - 1 - k)
        out.append(_text(left - 8, y + line / 2 + 5, shorten(name, 18), palette.muted, "end"))
        for x, point in enumerate(picture.points[k]):
            if point is None:
                continue
            heat = picture.heat(point)
            out.append(_rect(left + slot * x + 1.5, y + 1.5, slot - 3, line - 3, shade(palette, heat)))
            out.append(_text(left + slot * (x + 0.5), y + line / 2 + 5, point.text, ink(palette, heat)))
    for x, name in enumerate(picture.columns):
        out.append(_text(left + slot * (x + 0.5), height - bottom + 18, shorten(name, 12), palette.muted))
    out.append(_text(left + (WIDTH - left) / 2, height - 8, picture.axes[0], palette.muted))
    return Drawing(WIDTH, height, tuple(out), picture.alt)


def _forest(picture: Forest, palette: Palette) -> Drawing:
    left, bottom, line = 190, 40, 38
    height = 8 + line * len(picture.points) + bottom
    known = [value for point in picture.points for value in (point.value, point.low, point.high) if value == value]
    small = picture.smallest if picture.smallest == picture.smallest else 0.0
    low, high = min([-small, 0.0, *known]) - 1e-9, max([small, 0.0, *known]) + 1e-9
    pad = 0.06 * (high - low)

    def x(value: float) -> float:
        return left + (WIDTH - left - 10) * (value - low + pad) / (high - low + 2 * pad)

    out = [_rect(x(-small), 4, x(small) - x(-small), height - bottom, palette.band)] if small else []
    out.append(_line(x(0), 4, x(0), height - bottom + 4, palette.reference, 1.5, dotted=True))
    for k, point in enumerate(picture.points):
        y = 8 + line * (k + 0.5) + 6
        colour = palette.effect if point.decided else palette.reference
        out.append(_text(left - 8, y + 4, shorten(point.label, 28), palette.text, "end"))
        if point.has_interval:
            out.append(_line(x(point.low), y, x(point.high), y, colour, 2.5))
        if point.value == point.value:
            out.append(Element("circle", {"cx": round(x(point.value), 1), "cy": round(y, 1), "r": 5, "fill": colour}))
            out.append(_text(x(point.value), y - 9, point.text, palette.text))
    out.append(_text(left + (WIDTH - left) / 2, height - 6, picture.axis, palette.muted))
    return Drawing(WIDTH, height, tuple(out), picture.alt)
