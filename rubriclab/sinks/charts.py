"""Pictures in, Plotly figures with hover and click data out: the one module that knows Plotly.

Every text that comes from outside passes ``escape``; no figure has a toolbar, and each stands beside its alt text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import plotly.graph_objects as go

from rubriclab.core.topic import Findings
from rubriclab.model.text import LabError, printable, shorten
from rubriclab.sinks.marks import DARK, LIGHT, Bars, Cells, Curves, Forest, Palette, Picture, Point, Slopes, Stacks, ink
from rubriclab.sinks.pictures import picture_of
from rubriclab.sinks.text import number

__all__ = ["DARK", "KINDS", "LIGHT", "chart_of", "draw", "escape"]

FONT = '"Source Sans", "Source Sans 3", sans-serif'
ROW = 52
"""Height of a line of cells or of a forest, px."""


def escape(text: str, most: int = 60) -> str:
    """Text of unknown origin in a figure: Plotly reads tags and entities, so none are left."""
    shown = printable(shorten(text, most))
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def draw(picture: Picture, palette: Palette = LIGHT) -> go.Figure:
    """The figure of a picture in one theme's colours."""
    return KINDS[type(picture)](picture, palette)


def chart_of(findings: Findings, measure: str, *, judge: str | None = None, palette: Palette = LIGHT) -> go.Figure:
    """A measure's picture for one judge (the first where none is named). Raises LabError where nothing shows it."""
    known = [code for code, condition in enumerate(findings.conditions) if judge in (None, condition.judge)]
    for code in known:
        picture = picture_of(findings, measure, code)
        if picture is not None:
            return draw(picture, palette)
    drawn = sorted({row.measure for row in findings.rows if row.condition in known and math.isfinite(row.value)})
    raise LabError(f"No chart shows “{shorten(measure)}” here; there are charts of {', '.join(drawn) or 'nothing'}.")


def _hover(point: Point) -> str:
    lines = [escape(line, 120) for line in point.hover]
    return "<br>".join([f"<b>{lines[0]}</b>", *lines[1:]]) if lines else ""


def _figure(palette: Palette, height: int, **margin: int) -> go.Figure:
    figure = go.Figure()
    figure.update_layout(
        height=height,
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13, "color": palette.text},
        margin={"l": 46, "r": 12, "t": 26, "b": 48} | margin,
        showlegend=False,
        dragmode=False,
        hoverlabel={"bgcolor": palette.surface, "bordercolor": palette.border, "font_color": palette.text},
    )
    shared = {"zeroline": False, "fixedrange": True, "color": palette.muted, "title_font": {"size": 13}, "ticks": ""}
    figure.update_xaxes(showgrid=False, **shared)
    figure.update_yaxes(gridcolor=palette.grid, **shared)
    return figure


def _whiskers(points: tuple[Point, ...], palette: Palette) -> dict[str, Any]:
    if not any(point.has_interval for point in points):
        return {"visible": False}
    up = [point.high - point.value if point.has_interval else None for point in points]
    down = [max(0.0, point.value - point.low) if point.has_interval else None for point in points]
    return {
        "type": "data", "symmetric": False, "array": up, "arrayminus": down,
        "color": palette.muted, "thickness": 1.4, "width": 5,
    }  # fmt: skip


def bars(picture: Bars, palette: Palette) -> go.Figure:
    """Shares by position: orange only where the interval decides; where each would be without bias, dotted."""
    figure = _figure(palette, 390, r=84 if picture.reference else 12)
    points = picture.points
    colours = [palette.effect if point.decided else palette.neutral for point in points]
    figure.add_bar(
        x=list(range(len(points))), y=[point.value for point in points], width=0.62,
        marker={"color": colours, "cornerradius": 3}, error_y=_whiskers(points, palette), hoverinfo="text",
        hovertext=[_hover(point) for point in points], customdata=[dict(point.of) for point in points],
    )  # fmt: skip
    for k, point in enumerate(points):
        figure.add_annotation(
            x=k, y=point.top, text=escape(point.text), showarrow=False, yshift=11, bgcolor=palette.ground, borderpad=0,
            font={"size": 15 if point.decided else 13, "weight": 700 if point.decided else 400},
        )  # fmt: skip
        if math.isfinite(point.expected):
            figure.add_shape(
                type="line", x0=k - 0.5, x1=k + 0.5, y0=point.expected, y1=point.expected,
                line={"color": palette.reference, "width": 1.5, "dash": "dot"},
            )  # fmt: skip
    if picture.reference:
        figure.add_annotation(
            xref="paper", x=1.02, y=points[0].expected, text=escape(picture.reference).replace(": ", ":<br>"),
            showarrow=False, xanchor="left", align="left", font={"color": palette.muted, "size": 13},
        )  # fmt: skip
    _axis(figure.update_xaxes, [point.label for point in points], picture.axis)
    ticks = picture.ticks
    words = [number(tick, ".0%") for tick in ticks]
    return figure.update_yaxes(range=[0, picture.most * 1.08], tickvals=ticks, ticktext=words)


def _axis(update: Callable[..., Any], names: Sequence[str], title: str, most: int = 60, **more: Any) -> None:
    """An axis of names, each at its integer: a category axis would take a numeric name as an index."""
    ticks = {"tickvals": list(range(len(names))), "ticktext": [escape(name, most) for name in names]}
    update(title_text=escape(title), **({"range": [-0.5, len(names) - 0.5]} | ticks | more))


def cells(picture: Cells, palette: Palette) -> go.Figure:
    """A heatmap centred on what each cell would be without an effect; invisible squares over it take hover and clicks."""
    longest = max((len(line) for line in picture.lines), default=1)
    figure = _figure(palette, 76 + ROW * max(3, len(picture.lines)), l=min(150, 34 + 7 * longest), t=10)
    heat = [[picture.heat(point) if point else None for point in line] for line in picture.points]
    scale = [[0.0, palette.low], [0.5, palette.middle], [1.0, palette.high]]
    figure.add_heatmap(z=heat, zmin=-1, zmax=1, colorscale=scale, showscale=False, xgap=3, ygap=3, hoverinfo="skip")
    at = [(x, y, point) for y, line in enumerate(picture.points) for x, point in enumerate(line) if point]
    for x, y, point in at:
        font = {"size": 13, "color": ink(palette, picture.heat(point))}
        figure.add_annotation(x=x, y=y, text=escape(point.text), showarrow=False, font=font)
    hidden = {"marker": {"opacity": 0}}
    figure.add_scatter(
        x=[x for x, _, _ in at], y=[y for _, y, _ in at], mode="markers", selected=hidden, unselected=hidden,
        marker={"symbol": "square", "size": 42, "opacity": 0}, hoverinfo="text",
        hovertext=[_hover(point) for _, _, point in at], customdata=[dict(point.of) for _, _, point in at],
    )  # fmt: skip
    _axis(figure.update_xaxes, picture.columns, picture.axes[0])
    _axis(figure.update_yaxes, picture.lines, picture.axes[1], 22, showgrid=False)
    return figure.update_layout(clickmode="event+select")


def slopes(picture: Slopes, palette: Palette) -> go.Figure:
    """One thin line an answer between two orders, the mean thick; beside it the difference with its interval."""
    figure = _figure(palette, 340, t=10)
    flat = (picture.scale[1] - picture.scale[0]) / 16
    for colour, kind in ((palette.reference, 0), (palette.rising, 1), (palette.effect, -1)):
        mine = [(name, a, b) for name, a, b in picture.items if (b - a > flat) - (b - a < -flat) == kind]
        if mine:
            words = [f"{escape(label)}<br>{number(a, '.2f')} → {number(b, '.2f')}" for label, a, b in mine]
            figure.add_scatter(
                x=[x for _ in mine for x in (0, 1, None)], y=[y for _, a, b in mine for y in (a, b, None)],
                mode="lines+markers", line={"color": colour, "width": 1}, marker={"size": 4}, opacity=0.75,
                hovertext=[text for word in words for text in (word, word, "")], hoverinfo="text",
            )  # fmt: skip
    figure.add_scatter(
        x=[0, 1], y=list(picture.mean), mode="lines+markers", line={"color": palette.text, "width": 3.5},
        marker={"size": 10}, hovertext=[f"Mean {number(mean, '.2f')}" for mean in picture.mean], hoverinfo="text",
    )  # fmt: skip
    figure.update_xaxes(
        tickvals=[0, 1], ticktext=[escape(end) for end in picture.ends], range=[-0.15, 1.15], domain=[0, 0.68]
    )
    known = [*picture.scale, *picture.mean, *(end for item in picture.items for end in item[1:])]
    pad = 0.04 * (max(known) - min(known))
    figure.update_yaxes(range=[min(known) - pad, max(known) + pad], title_text="Score")
    _difference(figure, picture, palette)
    return figure


def _difference(figure: go.Figure, picture: Slopes, palette: Palette) -> None:
    """The right panel: the mean difference, its interval, the band of small effects."""
    point = picture.difference
    known = [point.value, *((point.low, point.high) if point.has_interval else ())]
    reach = 1.4 * max([*(abs(value) for value in known), picture.smallest, 0.1])
    figure.add_shape(
        type="rect", xref="x2", yref="y2", x0=-1, x1=1, y0=-picture.smallest, y1=picture.smallest,
        fillcolor=palette.band, line_width=0, layer="below",
    )  # fmt: skip
    figure.add_shape(
        type="line", xref="x2", yref="y2", x0=-1, x1=1, y0=0, y1=0,
        line={"color": palette.reference, "width": 1.5, "dash": "dot"},
    )  # fmt: skip
    figure.add_scatter(
        x=[0], y=[point.value], xaxis="x2", yaxis="y2", mode="markers", marker={"size": 11, "color": palette.text},
        error_y=_whiskers((point,), palette) | {"color": palette.text, "thickness": 2.5, "width": 0},
        hovertext=[_hover(point)], hoverinfo="text",
    )  # fmt: skip
    figure.add_annotation(
        xref="x2", yref="y2", x=0, y=max(known), text=escape(point.text), showarrow=False, yshift=13,
        font={"size": 14, "weight": 700},
    )  # fmt: skip
    figure.update_layout(
        xaxis2={
            "domain": [0.8, 1], "anchor": "y2", "range": [-1, 1], "tickvals": [0], "ticktext": [escape(point.label)],
            "fixedrange": True, "color": palette.muted, "showgrid": False, "zeroline": False,
        },
        yaxis2={
            "anchor": "x2", "range": [-reach, reach], "fixedrange": True, "color": palette.muted, "nticks": 6,
            "gridcolor": palette.grid, "zeroline": False, "tickformat": "+.2f",
        },
    )  # fmt: skip


def forest(picture: Forest, palette: Palette) -> go.Figure:
    """Numbers with intervals under each other: a dot, a line, the value above, dotted 0, a green band of small effects."""
    points = picture.points[::-1]
    longest = max((len(point.label) for point in points), default=1)
    figure = _figure(palette, 70 + ROW * max(2, len(points)), l=min(190, 30 + 7 * longest), t=12)
    if picture.smallest == picture.smallest:
        figure.add_vrect(x0=-picture.smallest, x1=picture.smallest, fillcolor=palette.band, line_width=0, layer="below")
    figure.add_vline(x=0, line={"color": palette.reference, "width": 1.5, "dash": "dot"})
    for k, point in enumerate(points):
        whiskers = _whiskers((point,), palette) | {"color": palette.reference, "thickness": 2.5, "width": 0}
        figure.add_scatter(
            x=[point.value], y=[k], mode="markers", marker={"size": 11, "color": palette.reference}, error_x=whiskers,
            hovertext=[_hover(point)], hoverinfo="text", customdata=[dict(point.of)],
        )  # fmt: skip
        figure.add_annotation(x=point.value, y=k, text=escape(point.text), showarrow=False, yshift=15)
    figure.update_xaxes(title_text=escape(picture.axis), showgrid=True, gridcolor=palette.grid)
    _axis(
        figure.update_yaxes, [point.label for point in points], "", 26, showgrid=False, range=[-0.6, len(points) - 0.4]
    )
    return figure


DASHES = ("solid", "dash", "dot", "dashdot")


def curves(picture: Curves, palette: Palette) -> go.Figure:
    """Numbers against a level: a line each with whiskers, its name at its right end; colour never stands alone."""
    figure = _figure(palette, 320, t=14, r=12, l=58)
    if math.isfinite(picture.smallest):
        figure.add_hrect(y0=-picture.smallest, y1=picture.smallest, fillcolor=palette.band, line_width=0, layer="below")
    if math.isfinite(picture.target):
        figure.add_hline(y=picture.target, line={"color": palette.reference, "width": 1.5, "dash": "dot"})
    at = picture.at
    for k, curve in enumerate(picture.curves):
        colour = palette.lines[k % len(palette.lines)]
        figure.add_scatter(
            x=[at[point.label] for point in curve.points], y=[point.value for point in curve.points],
            mode="lines+markers", name=escape(curve.name, 30), marker={"size": 8, "color": colour},
            line={"color": colour, "width": 2, "dash": DASHES[k % len(DASHES)]},
            error_y=_whiskers(curve.points, palette) | {"color": colour}, hoverinfo="text",
            hovertext=[_hover(point) for point in curve.points], customdata=[dict(point.of) for point in curve.points],
        )  # fmt: skip
    if len(picture.curves) > 1:
        legend = {"orientation": "h", "y": -0.24, "yanchor": "top", "x": 0, "font": {"size": 13}}
        figure.update_layout(showlegend=True, legend=legend, height=320 + 20 * len(picture.curves), margin_b=90)
    span = max(at.values()) - min(at.values()) or 1.0
    ends = [min(at.values()) - 0.08 * span, max(at.values()) + 0.08 * span]
    ticks = {"tickvals": list(at.values()), "ticktext": [escape(level, 16) for level in at]}
    figure.update_xaxes(title_text=escape(picture.axes[0]), range=ends, **ticks)
    return figure.update_yaxes(title_text=escape(picture.axes[1]), nticks=6)


def stacks(picture: Stacks, palette: Palette) -> go.Figure:
    """Bars of shares above each other: what should be in green, then the first position in orange, the last in blue."""
    rows = picture.stacks[::-1]
    longest = max(len(stack.label) for stack in rows)
    figure = _figure(palette, 130 + ROW * max(2, len(rows)), l=min(150, 24 + 7 * longest), r=28, t=10, b=90)
    colours = (palette.lines[2], palette.effect, palette.neutral, palette.grid)
    for k, name in enumerate(picture.names):
        parts = [stack.parts[k] for stack in rows]
        figure.add_bar(
            x=[part.value for part in parts], y=list(range(len(rows))), orientation="h", width=0.6, name=escape(name, 30),
            marker={"color": colours[k]}, hoverinfo="text", hovertext=[_hover(part) for part in parts],
            text=[escape(part.text) if part.value >= 0.08 else "" for part in parts], textposition="inside",
            insidetextanchor="middle", textangle=0,
            textfont={"size": 14, "color": palette.text if k == 3 else palette.ground},
        )  # fmt: skip
    figure.update_layout(barmode="stack", showlegend=True)
    figure.update_layout(legend={"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0, "traceorder": "normal"})
    _axis(figure.update_yaxes, [stack.label for stack in rows], "", 22, showgrid=False)
    ticks = {"tickvals": [0, 0.5, 1], "ticktext": [number(tick, ".0%") for tick in (0, 0.5, 1)]}
    return figure.update_xaxes(range=[0, 1.001], **ticks)


KINDS: dict[type, Callable[..., go.Figure]] = {
    Bars: bars,
    Cells: cells,
    Slopes: slopes,
    Forest: forest,
    Curves: curves,
    Stacks: stacks,
}
"""One function a kind of picture; a new kind is a class in marks.py and its function here."""
