"""Draw pictures with Plotly. No other module knows Plotly.

Every text that comes from outside passes ``escape``. A new kind of picture is a function here and
its entry in KINDS.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go

from rubriclab.core.topic import Findings
from rubriclab.figures.marks import DARK, LIGHT, Palette, Picture, Point, Series, ink
from rubriclab.figures.pictures import picture_of
from rubriclab.model.text import LabError, printable, shorten
from rubriclab.words.phrases import number

__all__ = ["DARK", "KINDS", "LIGHT", "chart_of", "draw", "escape"]

FONT = '"Source Sans", "Source Sans 3", sans-serif'
ROW = 52
"""Height of a line of cells or of a forest, in px: a number and its interval fit."""
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 1_000)
"""Distances, in points, that the marks of a difference's axis may have."""
STEPS_IN_REACH = 2.2
"""Marks between 0 and the end of a difference's axis: two, and room for their labels."""
DASHES = ("solid", "dash", "dot", "dashdot")
"""Several lines differ in their dashes too: colour never tells them apart alone."""
SHARE_WITH_TEXT = 0.08
"""A smaller part of a stack has no room for its number."""


def escape(text: str, most: int = 60) -> str:
    """Return text of unknown origin for a figure. Plotly reads tags and entities: none are left."""
    shown = printable(shorten(text, most))
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def draw(picture: Picture, palette: Palette = LIGHT) -> go.Figure:
    """Return the figure of a picture in one theme's colours."""
    return KINDS[picture.kind](picture, palette)


def chart_of(findings: Findings, measure: str, *, judge: str | None = None) -> go.Figure:
    """Return a measure's picture for one judge (the first where none is named).

    Raises LabError where nothing shows it.
    """
    codes = [
        code
        for code, condition in enumerate(findings.conditions)
        if judge in (None, condition.judge)
    ]
    for code in codes:
        picture = picture_of(findings, measure, code)
        if picture is not None:
            return draw(picture)
    measures = {
        row.measure for row in findings.rows if row.condition in codes and math.isfinite(row.value)
    }
    known = ", ".join(sorted(measures)) or "nothing"
    raise LabError(f"No chart shows “{shorten(measure)}” here; there are charts of {known}.")


def _hover(point: Point) -> str:
    """Return the lines under the pointer, the first in bold."""
    if not point.hover:
        return ""
    first, *rest = (escape(line, 120) for line in point.hover)
    return "<br>".join([f"<b>{first}</b>", *rest])


def _about(points: Sequence[Point]) -> dict[str, Any]:
    """Return what marks say under the pointer, and what they hand on at a click."""
    return {
        "hoverinfo": "text",
        "hovertext": [_hover(point) for point in points],
        "customdata": [dict(point.of) for point in points],
    }


def _figure(
    palette: Palette, height: int, widths: Sequence[float] = (1.0,), **margin: int
) -> go.Figure:
    """Return an empty figure of panels side by side."""
    figure = go.Figure().set_subplots(
        1, len(widths), column_widths=list(widths), horizontal_spacing=0.12
    )
    figure.update_layout(
        height=height,
        paper_bgcolor=palette.ground,  # a picture that is saved has it too
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13, "color": palette.text},
        margin={"l": 46, "r": 12, "t": 26, "b": 48} | margin,
        showlegend=False,
        dragmode=False,
        hoverlabel={
            "bgcolor": palette.surface,
            "bordercolor": palette.border,
            "font_color": palette.text,
        },
        legend={
            "orientation": "h",
            "y": -0.22,
            "yanchor": "top",
            "x": 0,
            "font": {"size": 13},
            "traceorder": "normal",
        },
    )
    shared = {
        "zeroline": False,
        "fixedrange": True,
        "color": palette.muted,
        "title_font": {"size": 13},
        "ticks": "",
    }
    figure.update_xaxes(showgrid=False, **shared)
    return figure.update_yaxes(gridcolor=palette.grid, **shared)


def _dotted(palette: Palette) -> dict[str, Any]:
    return {"color": palette.reference, "width": 1.5, "dash": "dot"}


def _rules(
    figure: go.Figure,
    picture: Picture,
    palette: Palette,
    axis: str = "y",
    line: float = 0,
    **panel: Any,
) -> None:
    """Draw the band of what is too small to matter and the line of no effect, across ``axis``.

    Plotly draws them only in panels that have marks, so call this after the marks.
    """
    band, rule = figure.add_hrect, figure.add_hline
    if axis == "x":
        band, rule = figure.add_vrect, figure.add_vline
    if math.isfinite(picture.smallest):
        ends = {f"{axis}0": -picture.smallest, f"{axis}1": picture.smallest}
        band(fillcolor=palette.band, line_width=0, layer="below", **ends, **panel)
    if math.isfinite(line):
        rule(**{axis: line}, line=_dotted(palette), **panel)


def _whiskers(points: Sequence[Point], palette: Palette, **more: Any) -> dict[str, Any]:
    """Return the error bars of marks, invisible where none has an interval."""
    if not any(point.has_interval for point in points):
        return {"visible": False}
    up = [point.high - point.value if point.has_interval else None for point in points]
    down = [max(0.0, point.value - point.low) if point.has_interval else None for point in points]
    drawn = {"color": palette.muted, "thickness": 1.4, "width": 5} | more
    return {"type": "data", "symmetric": False, "array": up, "arrayminus": down} | drawn


def _write(figure: go.Figure, text: str, **where: Any) -> None:
    """Write words next to a mark."""
    figure.add_annotation(text=escape(text), showarrow=False, **where)


def _axis(
    update: Callable[..., Any], names: Sequence[str], title: str = "", most: int = 60, **more: Any
) -> None:
    """Draw an axis of names, each at its integer.

    A category axis would take a numeric name as an index.
    """
    ticks = {
        "tickvals": list(range(len(names))),
        "ticktext": [escape(name, most) for name in names],
    }
    update(title_text=escape(title), **({"range": [-0.5, len(names) - 0.5]} | ticks | more))


def _margin(names: Sequence[str], most: int) -> int:
    """Return the room for the names of lines, in px."""
    return min(most, 32 + 7 * max(map(len, names), default=1))


def bars(picture: Picture, palette: Palette) -> go.Figure:
    """Draw shares by position: orange only where the interval decides, and dotted where each would
    be without bias.

    Several series have a colour each, and no numbers over their bars.
    """
    figure = _figure(palette, 390, r=84 if picture.reference else 12)
    several = len(picture.series) > 1
    for line, own in zip(picture.series, palette.lines, strict=False):
        colours = [palette.effect if point.decided else palette.neutral for point in line.points]
        figure.add_bar(
            x=list(range(len(line.points))),
            y=[point.value for point in line.points],
            width=None if several else 0.62,
            marker={"color": own if several else colours, "cornerradius": 3},
            error_y=_whiskers(line.points, palette),
            **_about(line.points),
            name=escape(line.name, 40),
        )
        for k, point in enumerate(line.points):
            if not several:
                _write_over_bar(figure, palette, point, k)
            if math.isfinite(point.expected):
                ends = {"x0": k - 0.5, "x1": k + 0.5, "y0": point.expected, "y1": point.expected}
                figure.add_shape(type="line", line=_dotted(palette), **ends)
    figure.update_layout(showlegend=several, bargap=0.35)
    if picture.reference:
        figure.add_annotation(
            xref="paper",
            x=1.02,
            y=picture.points[0].expected,
            text=escape(picture.reference).replace(": ", ":<br>"),
            showarrow=False,
            xanchor="left",
            align="left",
            font={"color": palette.muted, "size": 13},
        )
    _axis(figure.update_xaxes, [point.label for point in picture.series[0].points], picture.axes[0])
    words = [number(tick, ".0%") for tick in picture.ticks]
    return figure.update_yaxes(
        range=[0, picture.most * 1.08], tickvals=picture.ticks, ticktext=words
    )


def _write_over_bar(figure: go.Figure, palette: Palette, point: Point, x: int) -> None:
    """Write a bar's number over it, larger and bold where it is decided."""
    font = {"size": 15, "weight": 700} if point.decided else {"size": 13, "weight": 400}
    # The ground behind the number keeps it readable where it crosses the dotted line.
    ground = {"bgcolor": palette.ground, "borderpad": 0}
    _write(figure, point.text, x=x, y=point.top, yshift=11, font=font, **ground)


def cells(picture: Picture, palette: Palette) -> go.Figure:
    """Draw a heatmap centred on what each cell would be without an effect.

    Invisible squares over it take hover and clicks, which Plotly's heatmaps do not hand on.
    """
    names, coordinates = [line.name for line in picture.series], picture.coordinates
    figure = _figure(palette, 76 + ROW * max(3, len(names)), l=_margin(names, 150), t=10)
    heat: list[list[float | None]] = [[None] * len(coordinates) for _ in names]
    where = [
        (int(coordinates[p.label]), y, p)
        for y, line in enumerate(picture.series)
        for p in line.points
    ]
    for x, y, point in where:
        heat[y][x] = picture.heat(point)
        _write(
            figure,
            point.text,
            x=x,
            y=y,
            font={"size": 13, "color": ink(palette, picture.heat(point))},
        )
    scale = [[0.0, palette.low], [0.5, palette.middle], [1.0, palette.high]]
    figure.add_heatmap(
        z=heat, zmin=-1, zmax=1, colorscale=scale, showscale=False, xgap=3, ygap=3, hoverinfo="skip"
    )
    hidden = {"marker": {"opacity": 0}}
    figure.add_scatter(
        x=[x for x, _, _ in where],
        y=[y for _, y, _ in where],
        mode="markers",
        selected=hidden,
        unselected=hidden,
        marker={"symbol": "square", "size": 42, "opacity": 0},
        **_about(picture.points),
    )
    _axis(figure.update_xaxes, picture.levels, picture.axes[0])
    _axis(figure.update_yaxes, names, picture.axes[1], 22, showgrid=False)
    return figure.update_layout(clickmode="event+select")


def slopes(picture: Picture, palette: Palette) -> go.Figure:
    """Draw one thin line an answer between two orders, the mean thick, and their difference.

    The difference with its interval has a panel of its own, to the right.
    """
    figure = _figure(palette, 340, (0.77, 0.23), t=10)
    for colour, lines in _by_direction(picture, palette).items():
        if lines:
            _thin_lines(figure, lines, colour)
    figure.add_scatter(
        x=[0, 1],
        y=list(picture.mean),
        mode="lines+markers",
        line={"color": palette.text, "width": 3.5},
        marker={"size": 10},
        hovertext=[f"Mean {number(mean, '.2f')}" for mean in picture.mean],
        hoverinfo="text",
    )
    known = [*picture.scale, *picture.mean, *(point.value for point in picture.points)]
    pad = 0.04 * (max(known) - min(known))
    _axis(figure.update_xaxes, picture.levels, col=1, range=[-0.15, 1.15])
    figure.update_yaxes(col=1, range=[min(known) - pad, max(known) + pad], title_text="Score")
    return _difference_panel(figure, picture, palette)


def _by_direction(picture: Picture, palette: Palette) -> dict[str, list[Series]]:
    """Return the lines by the colour of their direction: flat, rising, falling."""
    # A sixteenth of the scale: a smaller slope is no direction that the eye sees.
    flat = (picture.scale[1] - picture.scale[0]) / 16
    lines: dict[str, list[Series]] = {palette.reference: [], palette.rising: [], palette.effect: []}
    for line in picture.series:
        rise = line.points[1].value - line.points[0].value
        colour = palette.reference
        if rise > flat:
            colour = palette.rising
        elif rise < -flat:
            colour = palette.effect
        lines[colour].append(line)
    return lines


def _thin_lines(figure: go.Figure, lines: Sequence[Series], colour: str) -> None:
    """Draw lines of one colour as a single trace, with gaps (None) between them."""
    heights: list[float | None] = []
    words: list[str] = []
    for line in lines:
        heights += [*(end.value for end in line.points), None]
        ends = " → ".join(point.text for point in line.points)
        word = f"{escape(line.name)}<br>{ends}"
        words += [word, word, ""]
    figure.add_scatter(
        x=[0, 1, None] * len(lines),
        y=heights,
        mode="lines+markers",
        line={"color": colour, "width": 1},
        marker={"size": 4},
        opacity=0.75,
        hovertext=words,
        hoverinfo="text",
    )


def _difference_panel(figure: go.Figure, picture: Picture, palette: Palette) -> go.Figure:
    """Draw the mean difference, its interval and the band of small effects in the right panel."""
    point = picture.difference
    panel: dict[str, Any] = {"row": 1, "col": 2}
    known = [point.value]
    if point.has_interval:
        known += [point.low, point.high]
    reach = 1.4 * max(*map(abs, known), picture.smallest, 0.1)
    figure.add_scatter(
        x=[0],
        y=[point.value],
        mode="markers",
        marker={"size": 11, "color": palette.text},
        **_about([point]),
        **panel,
        error_y=_whiskers([point], palette, color=palette.text, thickness=2.5, width=0),
    )
    _rules(figure, picture, palette, **panel)
    font = {"size": 14, "weight": 700}
    _write(figure, point.text, x=0, y=max(known), yshift=13, font=font, **panel)
    figure.update_xaxes(col=2, range=[-1, 1], tickvals=[0], ticktext=[escape(point.label)])
    step = _step(reach)
    ticks = [k * step for k in range(-2, 3)]
    words = [number(tick, "+.2f") if tick else "0" for tick in ticks]
    return figure.update_yaxes(col=2, range=[-reach, reach], tickvals=ticks, ticktext=words)


def _step(reach: float) -> float:
    """Return the distance between marks of an axis that ends at ``reach``."""
    for step in TICKS:
        if STEPS_IN_REACH * step >= reach:
            return step
    return TICKS[-1]


def forest(picture: Picture, palette: Palette) -> go.Figure:
    """Draw numbers with intervals under each other: a dot, a line, the value above.

    0 is dotted, and the band of small effects is green.
    """
    points = picture.points[::-1]
    names = [point.label for point in points]
    figure = _figure(palette, 70 + ROW * max(2, len(points)), l=_margin(names, 190), t=12)
    figure.add_scatter(
        x=[point.value for point in points],
        y=list(range(len(points))),
        mode="markers",
        **_about(points),
        marker={"size": 11, "color": palette.reference},
        error_x=_whiskers(points, palette, color=palette.reference, thickness=2.5, width=0),
    )
    _rules(figure, picture, palette, "x")
    for k, point in enumerate(points):
        _write(figure, point.text, x=point.value, y=k, yshift=15)
    shares = {"tickformat": ".0%"} if all(point.text.endswith("%") for point in points) else {}
    figure.update_xaxes(
        title_text=escape(picture.axes[0]), showgrid=True, gridcolor=palette.grid, **shares
    )
    _axis(figure.update_yaxes, names, "", 26, showgrid=False, range=[-0.6, len(points) - 0.4])
    return figure


def curves(picture: Picture, palette: Palette) -> go.Figure:
    """Draw numbers against a level: a line each with whiskers, its name in the legend."""
    several = len(picture.series) > 1
    height, foot = (320 + 20 * len(picture.series), 90) if several else (320, 48)
    figure = _figure(palette, height, t=14, r=12, l=58, b=foot).update_layout(showlegend=several)
    coordinates = picture.coordinates
    for k, curve in enumerate(picture.series):
        colour = palette.lines[k % len(palette.lines)]
        figure.add_scatter(
            x=[coordinates[point.label] for point in curve.points],
            y=[point.value for point in curve.points],
            mode="lines+markers",
            name=escape(curve.name, 30),
            marker={"size": 8, "color": colour},
            **_about(curve.points),
            line={"color": colour, "width": 2, "dash": DASHES[k % len(DASHES)]},
            error_y=_whiskers(curve.points, palette, color=colour),
        )
    _rules(figure, picture, palette, line=picture.target)
    low, high = min(coordinates.values()), max(coordinates.values())
    pad = 0.08 * ((high - low) or 1.0)
    ticks = {
        "tickvals": list(coordinates.values()),
        "ticktext": [escape(level, 16) for level in coordinates],
    }
    figure.update_xaxes(title_text=escape(picture.axes[0]), range=[low - pad, high + pad], **ticks)
    return figure.update_yaxes(title_text=escape(picture.axes[1]), nticks=6)


def dots(picture: Picture, palette: Palette) -> go.Figure:
    """Draw one text's scores, order by order: orange where the first option was chosen."""
    figure, points = curves(picture, palette), picture.points
    for k, point in enumerate(points):
        _write(figure, point.text, x=k, y=point.value, yshift=17, font={"size": 14, "weight": 700})
    colours = [palette.effect if point.decided else palette.neutral for point in points]
    figure.update_traces(
        line=_dotted(palette), marker={"size": 14, "color": colours}
    ).update_layout(height=270)
    return figure.update_yaxes(
        range=[picture.scale[0] - 0.3, picture.scale[1] + 0.6], tick0=picture.scale[0], dtick=1
    )


def stacks(picture: Picture, palette: Palette) -> go.Figure:
    """Draw bars of shares above each other.

    What should be is green, then come the first position in orange and the last in blue.
    """
    rows = picture.series[::-1]
    names = [stack.name for stack in rows]
    figure = _figure(
        palette, 130 + ROW * max(2, len(rows)), l=_margin(names, 150), r=28, t=10, b=90
    )
    colours = (palette.lines[2], palette.effect, palette.neutral, palette.grid)
    for k, name in enumerate(picture.levels):
        parts = [stack.points[k] for stack in rows]
        figure.add_bar(
            x=[part.value for part in parts],
            y=list(range(len(rows))),
            orientation="h",
            width=0.6,
            name=escape(name, 30),
            marker={"color": colours[k]},
            **_about(parts),
            text=[escape(part.text) if part.value >= SHARE_WITH_TEXT else "" for part in parts],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"size": 14, "color": palette.text if k == 3 else palette.ground},
        )
    figure.update_layout(barmode="stack", showlegend=True)
    _axis(figure.update_yaxes, names, "", 22, showgrid=False)
    ticks = (0, 0.5, 1)
    return figure.update_xaxes(
        range=[0, 1.001], tickvals=ticks, ticktext=[number(tick, ".0%") for tick in ticks]
    )


KINDS = {drawn.__name__: drawn for drawn in (bars, cells, slopes, forest, curves, stacks, dots)}
"""One function for each kind of picture."""
