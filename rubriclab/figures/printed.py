"""Charts as files for a paper or a slide: SVG, PNG and PDF in the size they will have there.

A chart is drawn at the letter size it was made for and then scaled as a whole, so that lines,
markers and gaps keep their proportions. The drawing is done by kaleido with a browser of the
machine; nothing is downloaded.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import plotly
import plotly.graph_objects as go

from rubriclab.model import LabError
from rubriclab.model.language import tr

Format = Literal["svg", "png", "pdf"]
FORMATS: tuple[Format, ...] = ("svg", "png", "pdf")
DESIGN_PX = 13.0
"""Letters of the house style, in pixels of its layout."""
DPI = 300
BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "msedge",
)
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
FONT = "Helvetica, Arial, 'Liberation Sans', sans-serif"
INK, GRID = "#1a1a1a", "#d9d9d9"
LETTER, LINE, SIGN, EDGE = 6.8, 19.0, 44.0, 8.0
"""Pixels of the layout: a letter's usual width, a line of a legend, its sign, the edge of the paper."""
TITLE_LETTER, TITLE_LINE = 8.4, 21.0
SIGNS = ("square", "diamond", "triangle-up", "cross", "triangle-down", "x", "pentagon")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
HATCHES = ("/", ".", "x", "-", "|", "+", chr(92))
START_SECONDS, IMAGE_SECONDS = 60.0, 20.0
"""A browser that has not started, or drawn one image, by then will not."""


@dataclass(frozen=True)
class Size:
    """Width in inches; letters in points; ``height`` in inches where the place has a fixed one."""

    width: float
    letters: float
    height: float | None = None
    titled: bool = False


SIZES = {"column": Size(3.3, 7.5), "page": Size(6.9, 8.0), "slide": Size(40 / 3, 20.0, 7.5, titled=True)}
"""One of two columns; the width of the text; a 16:9 slide, whose chart bears its title."""


class Wanted(NamedTuple):
    """A chart and what it is called; ``caption`` is drawn where the size has titles."""

    figure: go.Figure
    caption: str = ""


class NoPrinter(LabError):
    """There is nothing on this machine that can draw a chart into a file."""


def browser() -> str:
    """The program that draws: the one CHROME names, else the first on the path.

    Raises NoPrinter, with the cure, where there is none.
    """
    if named := os.environ.get("CHROME"):
        if found := shutil.which(named):
            return found
        raise NoPrinter(
            tr("CHROME names {program}, and there is no such program. Name a Chrome or Chromium.", program=named)
        )
    for name in BROWSERS:
        if found := shutil.which(name):
            return found
    if MAC.exists():
        return str(MAC)
    raise NoPrinter(
        tr(
            "Figures are drawn by a browser, and there is none on this machine: install Chromium or Chrome "
            "(apt-get install chromium), or name one in CHROME. Texts and tables need none: leave --figures out."
        )
    )


def printed(wanted: Sequence[Wanted], size: str, formats: Sequence[Format]) -> list[dict[Format, bytes]]:
    """Each chart in each format, in ``size`` (a key of SIZES). Raises NoPrinter where nothing can draw,
    LabError where the browser fails or takes too long."""
    path = browser()
    try:
        import kaleido
    except ImportError:
        raise NoPrinter(
            tr("Figures need the package kaleido: pip install 'kaleido>=1.5,<2', or leave --figures out.")
        ) from None
    del kaleido
    work = partial(_drawn, [laid_out(one, SIZES[size]) for one in wanted], formats, path)
    # A thread of its own: a notebook's has a loop that runs already.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


async def _drawn(
    figures: Sequence[tuple[dict[str, Any], float]], formats: Sequence[Format], path: str
) -> list[dict[Format, bytes]]:
    from kaleido import Kaleido

    script = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    limit = START_SECONDS + IMAGE_SECONDS * len(figures) * len(formats)
    drawn: list[dict[Format, bytes]] = []
    try:
        async with asyncio.timeout(limit):
            async with Kaleido(n=1, timeout=IMAGE_SECONDS, plotlyjs=str(script), mathjax=False, path=path) as printer:
                for figure, scale in figures:
                    one: dict[Format, bytes] = {}
                    for form in formats:
                        one[form] = _steady(form, await printer.calc_fig(figure, opts=_options(figure, form, scale)))
                    drawn.append(one)
    except TimeoutError:
        raise LabError(
            tr(
                "The browser {path} did not draw the figures in {limit:.0f} s. Ask for fewer, or another CHROME.",
                path=path,
                limit=limit,
            )
        ) from None
    except (RuntimeError, OSError) as fault:
        raise LabError(tr("The browser {path} cannot draw: {fault}", path=path, fault=fault)) from fault
    return drawn


def _options(figure: dict[str, Any], form: Format, scale: float) -> Any:
    """A PNG has 300 dots an inch; SVG and PDF are as large as they will be printed."""
    wide, high = figure["layout"]["width"], figure["layout"]["height"]
    return {"format": form, "width": wide, "height": high, "scale": scale * (DPI / 96 if form == "png" else 1)}


def _steady(form: Format, content: bytes) -> bytes:
    """The same chart as the same bytes: without the time, and with one name for Plotly's random one."""
    if form == "pdf":
        return re.sub(rb"(/(?:Creation|Mod)Date \(D:)\d{14}\+00'00'", rb"\g<1>20000101000000+00'00'", content)
    if form == "svg" and (found := re.search(rb'id="(?:top)?defs-([0-9a-f]{6})"', content)):
        return content.replace(found[1], b"figure")
    return content


# ---------------------------------------------------------------- fitted to its place


def laid_out(wanted: Wanted, size: Size) -> tuple[dict[str, Any], float]:
    """The figure as plain data, as wide as its letters need, and by what it is scaled when drawn."""
    figure = json.loads(wanted.figure.to_json())
    layout = figure["layout"]
    scale = size.letters / 72 * 96 / DESIGN_PX
    wide, high = size.width * 96 / scale, float(layout.get("height") or 360)
    for number, trace in enumerate(figure["data"]):
        trace["uid"] = f"{number:06x}"  # else Plotly draws one by lot
    told_apart(figure["data"])
    title = _lines(wanted.caption, wide - 2 * EDGE, TITLE_LETTER) if size.titled and wanted.caption else []
    if size.height is not None:
        wide, high = _in_shape(wide, high + _above(figure, wide, title), size.width / size.height)
    else:
        high += _above(figure, wide, title) + _titles_wrapped(layout, "xaxis", wide - 110)
    if size.height is not None:
        _titles_wrapped(layout, "xaxis", wide - 110)
    _titles_wrapped(layout, "yaxis", high - 120)
    _placed(figure, wide, high, title)
    _painted(figure)
    layout.update(width=round(wide), height=round(high), autosize=False)
    return figure, size.width * 96 / round(wide)


def _in_shape(wide: float, high: float, ratio: float) -> tuple[float, float]:
    """The smallest place of this ratio in which a chart of this size has room."""
    return (wide, wide / ratio) if wide / ratio > high else (high * ratio, high)


def _lines(text: str, wide: float, letter: float = LETTER) -> list[str]:
    return textwrap.wrap(text, max(10, int(wide / letter)), break_long_words=False) or [""]


def _legend(figure: dict[str, Any], wide: float) -> float:
    """How high a legend above the chart is, its names broken where they are wider than the chart."""
    named = [trace for trace in figure["data"] if trace.get("name") and trace.get("showlegend") is not False]
    if figure["layout"].get("showlegend") is False or not _legend_is_above(figure, named):
        return 0.0
    for trace in named:
        trace["name"] = "<br>".join(_lines(trace["name"], wide - 2 * EDGE - SIGN))
    lines = [trace["name"].split("<br>") for trace in named]
    widths = [SIGN + LETTER * max(map(len, parts)) for parts in lines]
    columns = len(widths) if sum(widths) < wide - 2 * EDGE else max(1, int((wide - 2 * EDGE) // max(widths)))
    rows = [max(map(len, lines[at : at + columns])) for at in range(0, len(lines), columns)]
    return LINE * sum(rows) + 6


def _legend_is_above(figure: dict[str, Any], named: Sequence[dict[str, Any]]) -> bool:
    several = len(named) > 1 or figure["layout"].get("showlegend") or any(t.get("showlegend") for t in named)
    return bool(several) and float(figure["layout"].get("legend", {}).get("y", 1)) > 0.5


def _above(figure: dict[str, Any], wide: float, title: Sequence[str]) -> float:
    """Room that title and legend need beyond the margin that a chart of the house has for one line."""
    return max(0.0, _legend(figure, wide) - LINE) + len(title) * TITLE_LINE


def _placed(figure: dict[str, Any], wide: float, high: float, title: Sequence[str]) -> None:
    """Title and legend at the left edge of the paper, one below the other, and the chart below them."""
    layout, top = figure["layout"], EDGE + len(title) * TITLE_LINE
    legend = _legend(figure, wide)
    margin = layout.setdefault("margin", {})
    margin["t"] = max(
        float(margin.get("t", 28)) + top - EDGE, top + legend + (12 if not layout.get("annotations") else 24)
    )
    if legend:
        place = {"xref": "container", "yref": "container", "x": EDGE / wide, "y": 1 - top / high}
        layout["legend"] = {**layout.get("legend", {}), **place, "xanchor": "left", "yanchor": "top"}
    if title:
        font = {"size": TITLE_LETTER * 2, "color": INK}
        layout["title"] = {"text": "<br>".join(title), "font": font, "x": EDGE / wide, "xanchor": "left"}
        layout["title"] |= {"xref": "container", "yref": "container", "y": 1 - EDGE / high, "yanchor": "top"}


def _titles_wrapped(layout: dict[str, Any], axis: str, room: float) -> float:
    """Titles of axes broken to fit beside them; the most room that this takes."""
    most = 0
    for name, part in layout.items():
        title = part.get("title", {}).get("text") if name.startswith(axis) and isinstance(part, dict) else None
        title = (title or "").replace("<br>", " ")  # the page's lines are not the paper's
        if not title or "<" in title:
            continue
        low, high = part.get("domain", (0, 1))
        lines = _lines(title, room * (high - low), TITLE_LETTER - 1)
        part["title"]["text"] = "<br>".join(lines)
        most = max(most, len(lines) - 1)
    if axis == "xaxis":
        margin = layout.setdefault("margin", {})
        margin["b"] = float(margin.get("b", 48)) + LINE * most + EDGE
    return LINE * most


def _painted(figure: dict[str, Any]) -> None:
    """Ink on white, grid and letters the same in every chart."""
    layout = figure["layout"]
    axis = {"gridcolor": GRID, "linecolor": "#8c8c8c", "zerolinecolor": "#8c8c8c", "automargin": True}
    axis["title"] = {"font": {"size": DESIGN_PX}}
    polar = {"bgcolor": "#ffffff", "angularaxis": {"gridcolor": GRID}, "radialaxis": {"gridcolor": GRID}}
    layout["template"] = {"layout": {"xaxis": axis, "yaxis": axis, "polar": polar}}
    layout.update(paper_bgcolor="#ffffff", plot_bgcolor="#ffffff")
    layout["font"] = {**layout.get("font", {}), "family": FONT, "color": INK}
    for part in [*figure["data"], *(value for name, value in layout.items() if name.startswith("coloraxis"))]:
        bar = part.get("colorbar")
        if bar and bar.get("title"):
            # Above the bar its last number would run into the title.
            bar["title"] |= {"side": "right", "font": {"size": DESIGN_PX}}


def told_apart(traces: Sequence[dict[str, Any]]) -> None:
    """What a colour alone tells apart gets a sign or a hatching too, so that it is told in grey."""
    points = [t for t in traces if t.get("type", "scatter") == "scatter" and "markers" in str(t.get("mode", ""))]
    bars = [t for t in traces if t.get("type") == "bar" and isinstance(t.get("marker", {}).get("color"), str)]
    for number, trace in _by_colour(bars):
        if number:
            hatch = {"shape": HATCHES[(number - 1) % len(HATCHES)], "size": 6, "solidity": 0.25}
            trace["marker"]["pattern"] = {**hatch, "fillmode": "overlay", "fgcolor": "#ffffff", "fgopacity": 1}
    taken = {trace["marker"]["symbol"] for trace in points if isinstance(trace.get("marker", {}).get("symbol"), str)}
    plain = [t for t in points if t.setdefault("marker", {}).get("symbol") in (None, "circle")]
    free = ["circle", *(sign for sign in SIGNS if sign not in taken)]
    for number, trace in _by_colour(plain):
        trace["marker"]["symbol"] = free[number % len(free)]
    for number, trace in _by_colour([t for t in traces if t.get("type") == "scatterpolar"]):
        trace.setdefault("line", {})["dash"] = DASHES[number % len(DASHES)]


def _by_colour(traces: Sequence[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any]]]:
    known: dict[str, int] = {}
    for trace in traces:
        color = trace.get("marker", {}).get("color") or trace.get("line", {}).get("color")
        if isinstance(color, str):
            yield known.setdefault(color, len(known)), trace
