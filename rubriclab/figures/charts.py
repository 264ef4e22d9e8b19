"""Draw pictures with Plotly. No other module knows Plotly.

Every text that comes from outside passes ``escape``. A new kind of picture is a function here and
its entry in KINDS.
"""

import math
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import plotly.graph_objects as go

from rubriclab.core.topic import Findings
from rubriclab.figures.marks import DARK, LIGHT, Palette, Picture, Point, Series, ink, mix
from rubriclab.figures.pictures import picture_of
from rubriclab.model.text import LabError, abridge, printable, shorten
from rubriclab.words.phrases import number

__all__ = ["DARK", "KINDS", "LIGHT", "chart_of", "draw", "escape"]

FONT = '"Source Sans", "Source Sans 3", sans-serif'
ROW = 52
GREY = 0.7
"""How far the darkest cell of a picture without a verdict goes towards the grey of bars: the number
in it stays readable."""
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


def draw(picture: Picture, palette: Palette = LIGHT, *, narrow: bool = False) -> go.Figure:
    """Return the figure of a picture in one theme's colours.

    ``narrow``: for a phone. Panels are below each other, and labels are shorter.
    """
    if narrow and picture.kind in NARROW:
        return NARROW[picture.kind](picture, palette)
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
    # Streamlit hands a copy of each new figure to Plotly once more. Plotly takes the copy of a
    # template for a change, and draws everything a second time.
    figure.layout.template = None
    figure.update_layout(
        height=height,
        paper_bgcolor=palette.ground,  # a picture that is saved has it too
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 13, "color": palette.text},
        margin={"l": 46, "r": 12, "t": 26, "b": 48} | margin,
        showlegend=False,
        dragmode=False,
        hovermode="closest",
        autotypenumbers="strict",  # a name made of digits is a name
        hoverlabel={
            "align": "left",
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
        "title": {"font": {"size": 13}, "standoff": 15},
        "automargin": True,
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


def _unpaled(palette: Palette) -> dict[str, Any]:
    """Return how a text looks that a click has chosen.

    Plotly pales all others unless it is told. Texts of marks are faster than annotations.
    """
    return {"textfont": {"color": palette.text}}


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
    """Draw a heatmap centred on what each cell would be without an effect."""
    names = [line.name for line in picture.series]
    figure = _figure(palette, 76 + ROW * max(3, len(names)), l=_margin(names, 150), t=10)
    _heat(figure, picture, palette)
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
        for apart in (False, True):
            points = [point for point in curve.points if (point.label == picture.apart) == apart]
            if not points:
                continue
            figure.add_scatter(
                x=[coordinates[point.label] for point in points],
                y=[point.value for point in points],
                mode="markers" if apart else "lines+markers",
                name=escape(curve.name, 30),
                legendgroup=curve.name,
                showlegend=several and points[-1] is curve.points[-1],
                marker={
                    "size": 8,
                    "color": palette.ground if apart else colour,
                    "line": {"color": colour, "width": 1.6},
                },
                **_about(points),
                line={"color": colour, "width": 2, "dash": DASHES[k % len(DASHES)]},
                error_y=_whiskers(points, palette, color=colour),
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


# ---------------------------------------------------------------- the pictures of Results
BARS_HIGH = 168
"""Height of the bars above the cells, in px."""
BAR_ROOM = 1.18
"""The top of the axis of bars, in times of the highest mark: its whisker fits."""
LEAST_TOP = 0.3
"""The top of the axis of bars at least, as a share: small differences stay small."""
FOOT = 0.02
"""How far over their foot bars have their numbers, as a share of that axis."""
OVER_NUMBER = 0.14
"""Up to where the number at a bar's foot reaches, as a share of that axis."""
FEW_ROWS, LOW_ROW = 7, 30
"""More lines of cells than these have this height, in px."""
FEW_COLUMNS = 7
"""So many names of columns stand next to each other, even on a phone; more are turned."""
THICKEST = 16
"""Width of the line of all answers, in px."""


def bars_over_cells(picture: Picture, palette: Palette) -> go.Figure:
    """Draw shares by position above the heatmap whose column totals they are, on one axis.

    One figure, so that bars and columns stay aligned at every width.
    """
    above, below = picture.panels
    names = [f"Score {line.name}" for line in below.series]
    heat = (ROW if len(names) <= FEW_ROWS else LOW_ROW) * len(names)
    share = heat / (heat + BARS_HIGH)
    left = max(58, min(150, 10 + 7 * max(map(len, names))))
    figure = _figure(palette, BARS_HIGH + heat + 34, l=left, r=66, t=6, b=28)
    strong: dict[str, Any] = {"tickfont": {"color": palette.text}}
    if len(picture.levels) <= FEW_COLUMNS:
        # The margins hold all names. Plotly would measure them, and draw the whole figure again.
        strong["automargin"] = False
    _axis(figure.update_xaxes, picture.levels, **strong)
    lower: dict[str, Any] = {"domain": [0, share - 0.012], "showgrid": False}
    _axis(figure.update_yaxes, names, "", 22, **lower, **strong)
    top = max(LEAST_TOP, BAR_ROOM * max(point.top for point in above.points))
    upper = {
        "domain": [share + 0.012, 1],
        "range": [0, top],
        "visible": False,
        "fixedrange": True,
        "anchor": "x",
    }
    # This axis is made after the other got its names, because it has none of its own.
    figure.update_layout(yaxis2=upper, clickmode="event+select")
    _heat(figure, below, palette)
    figure.add_bar(
        x=list(range(len(above.points))),
        y=[point.value for point in above.points],
        yaxis="y2",
        width=0.84,
        marker={"color": [_bar_colour(point, palette) for point in above.points]},
        error_y=_whiskers(above.points, palette),
        **_about(above.points),
    )
    _write_shares(figure, above, palette, top)
    _even_lines(figure, above, palette)
    for y, line in enumerate(below.series):
        where = {"x": 1.01, "xref": "paper", "y": y, "xanchor": "left"}
        _write(figure, line.group, font={"color": palette.muted, "size": 12}, **where)
    return figure


def _write_shares(figure: go.Figure, bars: Picture, palette: Palette, top: float) -> None:
    """Write each bar's number at its foot, with a halo where a whisker crosses it.

    ``top``: the end of the axis, as a share.
    """
    points = bars.points
    crossed = [point.has_interval and point.low < OVER_NUMBER * top for point in points]
    halo = ", ".join(f"{x}px {y}px 1px {palette.ground}" for x in (-2, 0, 2) for y in (-1, 0, 1))
    # Not the bars' own texts: Plotly leaves out that of a bar of no height.
    figure.add_scatter(
        x=list(range(len(points))),
        y=[FOOT * top] * len(points),
        yaxis="y2",
        mode="text",
        text=[escape(point.text) for point in points],
        textposition="top center",
        textfont={
            "color": [
                "#FFFFFF" if point.decided and not under else palette.text
                for point, under in zip(points, crossed, strict=True)
            ],
            "size": [14 if point.decided else 13 for point in points],
            "weight": [700 if point.decided else 400 for point in points],
            "shadow": [halo if under else "none" for under in crossed],
        },
        selected=_unpaled(palette),
        hoverinfo="skip",
    )


def _bar_colour(point: Point, palette: Palette) -> str:
    return palette.high if point.decided else palette.bar


def _even_lines(figure: go.Figure, bars: Picture, palette: Palette) -> None:
    """Draw where bars would be without bias: one line, or one for each uneven share."""
    points = bars.points
    line = {"type": "line", "line": _dotted(palette), "yref": "y2"}
    if bars.reference:
        even = points[0].expected
        ends = {"x0": -0.5, "x1": len(points) - 0.5, "y0": even, "y1": even}
        figure.add_shape(**line, **ends)
        figure.add_annotation(
            xref="paper",
            yref="y2",
            x=1.01,
            y=even,
            text=escape(bars.reference).replace(": ", "<br>"),
            showarrow=False,
            xanchor="left",
            align="left",
            font={"color": palette.muted, "size": 12},
        )
        return
    for k, point in enumerate(points):
        if math.isfinite(point.expected):
            ends = {"x0": k - 0.4, "x1": k + 0.4, "y0": point.expected, "y1": point.expected}
            figure.add_shape(**line, **ends)


def _heat(figure: go.Figure, picture: Picture, palette: Palette) -> None:
    """Draw cells with their numbers.

    The numbers are those of invisible squares over the cells. These also take hover and clicks,
    which Plotly's heatmaps do not hand on.
    """
    coordinates = picture.coordinates
    heat: list[list[float | None]] = [[None] * len(coordinates) for _ in picture.series]
    where = [
        (int(coordinates[p.label]), y, p)
        for y, line in enumerate(picture.series)
        for p in line.points
    ]
    colours = []
    for x, y, point in where:
        heat[y][x] = picture.heat(point)
        colours.append(palette.text if picture.undecided else ink(palette, picture.heat(point)))
    scale = [[0.0, palette.low], [0.5, palette.middle], [1.0, palette.high]]
    if picture.undecided:
        full = mix(palette.middle, palette.neutral, GREY)
        scale = [[0.0, palette.surface], [0.5, palette.middle], [1.0, full]]
    figure.add_heatmap(
        z=heat, zmin=-1, zmax=1, colorscale=scale, showscale=False, xgap=3, ygap=3, hoverinfo="skip"
    )
    hidden = {"marker": {"opacity": 0}}
    figure.add_scatter(
        x=[x for x, _, _ in where],
        y=[y for _, y, _ in where],
        mode="markers+text",
        text=[escape(point.text) for _, _, point in where],
        textfont={"size": 13, "color": colours},
        selected=hidden | _unpaled(palette),
        unselected=hidden,
        marker={"symbol": "square", "size": 42, "opacity": 0},
        **_about(picture.points),
    )


def tallies(picture: Picture, palette: Palette) -> go.Figure:
    """Draw counts or rates as bars below each other, each with its number at its end."""
    points = picture.points[::-1]
    names = [point.label for point in points]
    figure = _figure(palette, 44 + 62 * len(points), l=_margin(names, 240), r=24, t=8, b=12)
    figure.add_bar(
        x=[point.value for point in points],
        y=list(range(len(points))),
        orientation="h",
        width=0.52,
        marker={"color": [_bar_colour(point, palette) for point in points]},
        error_x=_whiskers(points, palette),
        **_about(points),
    )
    for y, point in enumerate(points):
        font: dict[str, Any] = {"size": 14, "color": palette.text}
        if point.decided:
            font |= {"weight": 700, "color": palette.effect}
        _write(figure, point.text, x=point.top, y=y, xanchor="left", xshift=8, font=font)
    if math.isfinite(picture.target):
        figure.add_vline(x=picture.target, line=_dotted(palette))
    most = picture.span or max(point.value for point in points) or 1.0
    figure.update_xaxes(range=[0, 1.45 * most], visible=False)
    _axis(figure.update_yaxes, names, "", 40, showgrid=False, tickfont={"color": palette.text})
    return figure


def order_means(picture: Picture, palette: Palette) -> go.Figure:
    """Draw the mean score in each order as dots on the whole scale."""
    points = picture.points
    names = [point.label for point in points]
    figure = _figure(palette, 76 + 34 * len(points), l=_margin(names, 150), r=34, t=6)
    colours = [palette.effect if point.decided else palette.bar for point in points]
    figure.add_scatter(
        x=[point.value for point in points],
        y=list(range(len(points))),
        mode="markers",
        marker={"size": 12, "color": colours},
        **_about(points),
    )
    for y, point in enumerate(points):
        font = {"size": 13, "color": palette.text if point.decided else palette.muted}
        _write(figure, point.text, x=point.value, y=y, xanchor="left", xshift=9, font=font)
    low, high = picture.scale
    pad = 0.02 * (high - low)
    figure.update_xaxes(
        title_text=escape(picture.axes[0]),
        range=[low - pad, high + pad],
        showgrid=True,
        gridcolor=palette.grid,
    )
    _axis(figure.update_yaxes, names, "", 26, tickfont={"color": palette.text})
    return figure


def moves(picture: Picture, palette: Palette) -> go.Figure:
    """Draw lines between the scores in two orders, as thick as their answers are many."""
    figure = _figure(palette, 330, l=24, r=24, t=10)
    ends: list[dict[float, int]] = [{}, {}]
    for line in sorted(picture.series, key=lambda line: line.points[0].decided):
        before, after = line.points
        for side, point in zip(ends, line.points, strict=True):
            side[point.value] = side.get(point.value, 0) + int(line.group.replace(",", ""))
        figure.add_scatter(
            x=[0, 1],
            y=[before.value, after.value],
            mode="lines+markers",
            line={
                "color": palette.effect if before.decided else palette.bar,
                "width": 1.5 + THICKEST * before.weight,
            },
            marker={"size": 1.5 + THICKEST * before.weight},
            **_about(line.points),
        )
    for x, (side, anchor, away) in enumerate(zip(ends, ("right", "left"), (-14, 14), strict=True)):
        for score, answers in side.items():
            text = f"<b>{score:g}</b>  {answers:,} {'answer' if answers == 1 else 'answers'}"
            figure.add_annotation(
                text=text, x=x, y=score, xanchor=anchor, xshift=away, showarrow=False
            )
    low, high = picture.scale
    pad = 0.08 * (high - low)
    steps = [low, *(score for score in range(math.ceil(low), math.floor(high) + 1)), high]
    figure.update_yaxes(
        range=[low - pad, high + pad],
        tickvals=sorted(set(steps)) if len(steps) <= 13 else [low, high],
        showticklabels=False,
    )
    _axis(figure.update_xaxes, picture.levels, range=[-0.5, 1.5])
    return figure


# ---------------------------------------------------------------- several judges
STRIP_GAP = 116
"""Height between strips below each other, in px: an axis with its title, and two lines of words."""
PANEL = 210
"""Height of a small panel, in px: five ticks and a line of words above it fit."""
MARKS = ("circle", "square", "diamond", "triangle-up", "cross", "x")
"""Several series differ in their marks too: colour never tells them apart alone."""
PANEL_ALONE = 340
"""Height of a panel that has the whole width, in px."""
MARK, SMALLEST_MARK = 8, 3
"""Diameters of marks, in px: the usual one, and the smallest that a pointer still hits."""
MOST_SUBTITLE = {1: 60, 2: 60, 3: 50}
"""Characters of a panel's subtitle by the number of panels in a row; more run into the next."""
MOST_LEVELS = 6
"""Labels below a small panel: more would run into each other."""
NARROW_NAME = 15
"""Characters of a line's name on a phone."""
NARROW_MARGIN = 118
"""Room for such a name, in px."""
NARROW_NUMBERED = 7
"""Columns of a matrix whose cells have room for their numbers on a phone."""
MATRIX_ROW = 32
"""Height of a line of a matrix, in px: twenty judges fit on a screen."""
MOST_NUMBERED = 20
"""Columns of a matrix whose cells have room for their numbers."""


def multiples(picture: Picture, palette: Palette, across: int = 0) -> go.Figure:
    """Draw small panels that share their axes: each of lines, of lines with a band, or of cells.

    ``across``: panels in a row; 0 for what their number makes best.
    """
    panels = picture.panels
    if picture.own_scales and not across:
        across = len(panels)
    across = across or _best_across(len(panels))
    down = -(-len(panels) // across)
    of_cells = panels[0].kind == "cells"
    lines = max(len(panel.series) for panel in panels)
    each = 60 + 30 * lines if of_cells else PANEL_ALONE if len(panels) == 1 else PANEL
    height = down * (each + 62) + 60
    figure = _grid(palette, height, down, across)
    # The size of the numbers in cells, where there is room for them.
    size = 0 if (len(panels) > 6 and across > 1) or lines > 10 else 11
    shapes: list[dict[str, Any]] = []
    for k, panel in enumerate(panels):
        where = {"row": k // across + 1, "col": k % across + 1}
        if of_cells:
            _panel_of_cells(figure, panel, palette, where, size)
        else:
            number_of = "" if k == 0 else str(k + 1)
            own = _panel_of_lines(figure, picture, panel, palette, where, first=k == 0)
            axes = {"xref": f"x{number_of} domain", "yref": f"y{number_of}"}
            shapes += [{**shape, **axes} for shape in own]
        if k + across < len(panels):  # another panel below it has the axis' title
            figure.update_xaxes(title_text="", **where)
    words = MOST_SUBTITLE.get(across, 38)
    titles = [_panel_title(panel, palette, k, words) for k, panel in enumerate(panels)]
    figure.update_layout(shapes=shapes, annotations=titles)
    if of_cells:
        names = [line.name for line in panels[0].series]
        for k in range(len(panels)):
            shown = [escape(name, 16) for name in names] if k % across == 0 else [""] * len(names)
            figure.update_yaxes(
                row=k // across + 1,
                col=k % across + 1,
                tickvals=list(range(len(names))),
                ticktext=shown,
                showgrid=False,
            )
        return figure.update_layout(margin={"l": _margin(names, 130)}, clickmode="event+select")
    for k, panel in enumerate(panels):
        sharing = [panel] if picture.own_scales else panels
        low, high = _reach(sharing)
        shares = all(point.text.endswith("%") for each in sharing for point in each.points)
        if shares:  # a fitted curve may go beyond what a share can be, and ends at the edge
            low, high = max(low, -0.04), min(high, 1.04)
        figure.update_yaxes(
            range=[low, high],
            nticks=5,
            tickformat=".0%" if shares else None,
            row=k // across + 1,
            col=k % across + 1,
        )
    for k, panel in enumerate(panels):
        if panel.axes[1] and k % across == 0:
            where = {"row": k // across + 1, "col": 1}
            figure.update_yaxes(title_text=escape(panel.axes[1]), title_standoff=4, **where)
    several = lines > 1
    return figure.update_layout(
        showlegend=several,
        margin={"b": 96 if several else 56},
        legend={"y": -64 / (height - 148), "yanchor": "top"},
    )


def _best_across(panels: int) -> int:
    """Return how many panels a row of a wide window has."""
    if panels in (1, 2):
        return panels
    if panels == 4:
        return 2
    return 3 if panels < 8 else 4


def _grid(palette: Palette, height: int, down: int, across: int, gap: int = 84) -> go.Figure:
    """Return an empty figure of ``down`` x ``across`` panels. ``gap``: between lines, in px."""
    figure = _figure(palette, height)
    figure = go.Figure(layout=figure.layout)
    figure = figure.set_subplots(
        down, across, horizontal_spacing=0.07 / across * 2, vertical_spacing=min(0.3, gap / height)
    )
    shared = {
        "zeroline": False,
        "fixedrange": True,
        "color": palette.muted,
        "ticks": "",
        "title_font": {"size": 13},
    }
    figure.update_xaxes(showgrid=False, **shared)
    figure.update_yaxes(gridcolor=palette.grid, **shared)
    return figure.update_layout(margin={"t": 52})


def _reach(panels: Sequence[Picture]) -> tuple[float, float]:
    """Return the ends of the vertical axis that all panels share, with a tenth of room."""
    known = [
        end
        for panel in panels
        for point in panel.points
        for end in (point.value, point.low, point.high, panel.target)
        if math.isfinite(end)
    ]
    pad = 0.06 * ((max(known) - min(known)) or 1.0)
    return min(known) - pad, max(known) + pad


def _panel_title(panel: Picture, palette: Palette, k: int, most: int = 60) -> dict[str, Any]:
    """Return a panel's title, with its subtitle smaller below it, as an annotation.

    ``most``: characters of the subtitle that the panel's width has room for.
    """
    number_of = "" if k == 0 else str(k + 1)
    text = f"<b>{escape(abridge(panel.title, 34))}</b>"
    if panel.subtitle:
        words = escape(panel.subtitle, most)
        small = f'<span style="color:{palette.muted};font-size:12px">{words}</span>'
        text += f"<br>{small}"
    return {
        "text": text,
        "xref": f"x{number_of} domain",
        "yref": f"y{number_of} domain",
        "x": 0,
        "y": 1,
        "yshift": 6,
        "xanchor": "left",
        "yanchor": "bottom",
        "align": "left",
        "showarrow": False,
        "font": {"size": 13},
    }


def _panel_of_lines(
    figure: go.Figure,
    picture: Picture,
    panel: Picture,
    palette: Palette,
    where: dict[str, int],
    *,
    first: bool,
) -> list[dict[str, Any]]:
    """Draw the lines of a panel; a filled mark is decided, and a band is drawn as a band.

    Return its rules as shapes: added one by one they would take Plotly seconds.
    """
    coordinates = panel.coordinates
    names = list(dict.fromkeys(line.name for every in picture.panels for line in every.series))
    legend = set[str]()
    for line in [part for every in panel.series for part in _parts(every, panel.apart)]:
        k = names.index(line.name)
        colour = palette.lines[k % len(palette.lines)]
        at_numbers = all(math.isfinite(point.x) for point in line.points)
        xs = [point.x if at_numbers else coordinates[point.label] for point in line.points]
        if panel.kind == "bands":
            _band(figure, xs, line.points, colour, where)
        marker: dict[str, Any] = {
            "size": _sizes(line.points),
            "symbol": MARKS[k % len(MARKS)],
            "color": [colour if point.decided else palette.ground for point in line.points],
            "line": {"color": colour, "width": 1.6},
        }
        if picture.own_scales:  # levels of a factor have no verdict that could fill a mark
            apart = line.points[0].label == panel.apart
            marker["color"] = palette.ground if apart else colour
        if panel.kind == "bands":
            marker["color"] = colour
        whiskers = {"visible": False}
        if panel.kind != "bands":
            whiskers = _whiskers(line.points, palette, color=colour, width=0)
        figure.add_scatter(
            x=xs,
            y=[point.value for point in line.points],
            mode=_mode(line),
            name=escape(line.name, 30),
            legendgroup=line.name,
            showlegend=first and line.name not in legend,
            marker=marker,
            line={"color": colour, "width": 1.6, "dash": line.dash or DASHES[k % len(DASHES)]},
            error_y=whiskers,
            **_about(line.points),
            **where,
        )
        legend.add(line.name)
    if coordinates:
        step = (max(coordinates.values()) - min(coordinates.values())) or 1.0
        _level_axis(figure, panel, where, pad=0.12 * step, most=12, labels=MOST_LEVELS)
    else:  # marks at numbers, not at levels: the axis is one of shares
        figure.update_xaxes(
            title_text=escape(panel.axes[0]),
            title_standoff=4,
            tickformat=".0%",
            nticks=5,
            range=[-0.05, 1.05],
            **where,
        )
    return _panel_rules(panel, palette)


def _parts(line: Series, apart: str) -> list[Series]:
    """Return a line, or the line and its mark at the level that no line reaches."""
    parts = [
        replace(line, points=tuple(p for p in line.points if (p.label == apart) == own))
        for own in (False, True)
    ]
    return [part for part in parts if part.points]


def _level_axis(
    figure: go.Figure,
    panel: Picture,
    where: dict[str, int],
    *,
    pad: float,
    most: int,
    labels: int | None = None,
) -> None:
    """Draw a small panel's axis of levels.

    ``pad``: room beside the first and the last. ``most``: characters of a label. ``labels``: how
    many levels are written at most, evenly spread; None for all.
    """
    coordinates = panel.coordinates
    ends = list(coordinates.values())
    every = 1 if labels is None else max(1, -(-len(ends) // labels))
    figure.update_xaxes(
        tickvals=ends[::every],
        ticktext=[escape(level, most) for level in list(coordinates)[::every]],
        range=[min(ends) - pad, max(ends) + pad],
        title_text=escape(panel.axes[0]),
        title_standoff=4,
        **where,
    )


def _panel_rules(panel: Picture, palette: Palette) -> list[dict[str, Any]]:
    """Return the band of what is too small to matter and the line of no effect, across a panel."""
    if not math.isfinite(panel.target):
        return []
    across = {"type": "rect", "xref": "x domain", "x0": 0, "x1": 1}
    shapes: list[dict[str, Any]] = []
    if math.isfinite(panel.smallest):
        ends = {"y0": panel.target - panel.smallest, "y1": panel.target + panel.smallest}
        shapes.append(
            {
                **across,
                **ends,
                "fillcolor": palette.band,
                "line": {"width": 0},
                "layer": "below",
            }
        )
    line = {"y0": panel.target, "y1": panel.target, "line": _dotted(palette)}
    shapes.append({**across, "type": "line", **line})
    return shapes


def _sizes(points: Sequence[Point]) -> float | list[float]:
    """Return the diameters of marks in px: the area of each shows its weight, if all have one."""
    weights = [point.weight for point in points]
    if not points or not all(map(math.isfinite, weights)):
        return MARK
    most = max(weights)
    return [max(SMALLEST_MARK, MARK * math.sqrt(weight / most)) for weight in weights]


def _mode(line: Series) -> str:
    """Return how a line is drawn: marks at numbers alone, a curve through 25 or more without them,
    and marks at levels joined by lines.
    """
    if not all(math.isfinite(point.x) for point in line.points):
        return "lines+markers"
    return "markers" if any(point.hover for point in line.points) else "lines"


def _band(
    figure: go.Figure,
    xs: Sequence[float],
    points: Sequence[Point],
    colour: str,
    where: dict[str, int],
) -> None:
    """Fill what is between the lower and the upper ends of marks."""
    known = [(x, point) for x, point in zip(xs, points, strict=True) if point.has_interval]
    if len(known) < 2:
        return
    figure.add_scatter(
        x=[x for x, _ in known] + [x for x, _ in reversed(known)],
        y=[point.high for _, point in known] + [point.low for _, point in reversed(known)],
        fill="toself",
        fillcolor=colour,
        opacity=0.14,
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        **where,
    )


def _panel_of_cells(
    figure: go.Figure, panel: Picture, palette: Palette, where: dict[str, int], size: int
) -> None:
    """Draw the cells of a panel. ``size``: of their numbers, in px; 0 for none."""
    _squares(figure, panel, palette, where, range(len(panel.series)), size)
    _level_axis(figure, panel, where, pad=0.55, most=10)
    figure.update_yaxes(range=[len(panel.series) - 0.45, -0.55], **where)


def _squares(
    figure: go.Figure,
    picture: Picture,
    palette: Palette,
    where: dict[str, int],
    rows: Sequence[int],
    size: int = 12,
) -> None:
    """Draw cells as a heatmap, their numbers, and over them what takes hover and clicks.

    ``rows``: the line of the heatmap of each series; lines between them stay empty. Two traces for
    all cells: a shape and an annotation for each would take Plotly seconds. ``size``: of the
    numbers, in px; 0 for none.
    """
    coordinates = picture.coordinates
    heat: list[list[float | None]] = [[None] * len(coordinates) for _ in range(max(rows) + 1)]
    where_of = []
    for y, line in zip(rows, picture.series, strict=True):
        for point in line.points:
            x = int(coordinates[point.label])
            heat[y][x] = picture.heat(point)
            where_of.append((x, y, point))
    scale = [[0.0, palette.low], [0.5, palette.middle], [1.0, palette.high]]
    figure.add_heatmap(
        z=heat,
        zmin=-1,
        zmax=1,
        colorscale=scale,
        showscale=False,
        xgap=4,
        ygap=4,
        hoverinfo="skip",
        **where,
    )
    points = [point for _, _, point in where_of]
    words = [escape(point.text) for point in points]
    hidden = {"marker": {"opacity": 0}}
    figure.add_scatter(
        x=[x for x, _, _ in where_of],
        y=[y for _, y, _ in where_of],
        mode="markers+text" if size else "markers",
        text=[
            f"<b>{word}</b>" if point.decided else word
            for word, point in zip(words, points, strict=True)
        ],
        textfont={
            "size": size or 12,
            "color": [ink(palette, picture.heat(point)) for point in points],
        },
        textposition="middle center",
        selected=hidden,
        unselected=hidden,
        marker={"symbol": "square", "size": 26, "opacity": 0},
        showlegend=False,
        **_about(points),
        **where,
    )


def matrix(picture: Picture, palette: Palette, *, narrow: bool = False) -> go.Figure:
    """Draw a table of coloured cells, its lines below the headings of their groups."""
    rows, headings = _rows_with_headings(picture)
    names = [line.name for line in picture.series]
    lines = max(rows) + 1
    coordinates = picture.coordinates
    turned = narrow or len(coordinates) > 10 or max(map(len, coordinates)) > 14
    top = 120 if turned else 66
    figure = _grid(palette, top + 26 + MATRIX_ROW * lines, 1, 1)
    # A turned label reaches to the right of its column, and one beyond the figure is not drawn.
    beyond = [shorten(name, 18) for name in list(coordinates)[-1:] if turned]
    right = max([16, *(6 * len(name) for name in beyond)])
    right = max([right, *(24 + 8 * len(name) for name, _, _ in picture.frames)])
    figure.update_layout(
        margin={
            "l": _margin(names, NARROW_MARGIN if narrow else 190),
            "t": top,
            "r": right,
            "b": 12,
        },
        clickmode="event+select",
    )
    numbered = NARROW_NUMBERED if narrow else MOST_NUMBERED
    size = 12 if len(coordinates) <= 10 else 11
    if narrow:
        size = 10
    if len(coordinates) > numbered:
        size = 0
    _squares(figure, picture, palette, {"row": 1, "col": 1}, rows, size)
    figure.update_layout(
        annotations=[
            {
                "text": f"<b>{escape(heading, NARROW_NAME if narrow else 40)}</b>",
                "xref": "paper",
                "x": 0,
                "xanchor": "right",
                "xshift": -8,
                "y": at,
                "showarrow": False,
                "font": {"color": palette.muted, "size": 13},
            }
            for at, heading in headings
        ]
    )
    _frames(figure, picture, palette, rows)
    figure.update_xaxes(
        side="top",
        tickvals=list(coordinates.values()),
        ticktext=[escape(abridge(level, 18)) for level in coordinates],
        range=[-0.55, len(coordinates) - 0.45],
        tickangle=-40 if turned else 0,
    )
    return figure.update_yaxes(
        tickvals=rows,
        ticktext=[escape(abridge(name, NARROW_NAME if narrow else 26)) for name in names],
        range=[lines - 0.4, -0.6],
        showgrid=False,
    )


def _frames(figure: go.Figure, picture: Picture, palette: Palette, rows: Sequence[int]) -> None:
    """Draw a frame around each block on the diagonal, with its name to the right of its lines."""
    for name, first, last in picture.frames:
        figure.add_shape(
            type="rect",
            x0=first - 0.5,
            x1=last + 0.5,
            y0=rows[first] - 0.5,
            y1=rows[last] + 0.5,
            line={"color": palette.text, "width": 1.6},
        )
        _write(
            figure,
            name,
            xref="paper",
            x=1,
            xanchor="left",
            xshift=8,
            y=(rows[first] + rows[last]) / 2,
            font={"color": palette.muted, "size": 12},
        )


def _rows_with_headings(picture: Picture) -> tuple[list[int], list[tuple[int, str]]]:
    """Return the line of each series, and (line, heading) of each group above its own."""
    rows: list[int] = []
    headings: list[tuple[int, str]] = []
    at, group = 0, ""
    for line in picture.series:
        if line.group and line.group != group:
            headings.append((at, line.group))
            at += 1
        group = line.group
        rows.append(at)
        at += 1
    return rows, headings


DIRECTIONS = {-1.0: "triangle-left", 1.0: "triangle-right"}
PLANE = (560, 372)
"""Width and height of a plane without its margins, in px, by which names are placed."""
NAME_HIGH, NAME_WIDE = 15, 6.6
"""Height of a name and width of one of its characters, in px."""
PLACES = tuple(
    (side, up) for up in (10, -10, 24, -24, 38, -38, 52, -52, 66, -66, 80, -80) for side in (1, -1)
)
"""Where a name may stand: right or left of its mark, and so many px above it."""


def _names_of_marks(figure: go.Figure, points: Sequence[Point], most: int) -> None:
    """Write the name of each mark where it covers no mark, no other name, and no interval.

    A name that stands further away has a line to its mark. ``most``: characters of a name.
    """
    spots = spots_of(points)
    taken = [(x - 7, x + 7, y - 7, y + 7) for x, y in spots]
    taken += intervals_of(points)
    for k, point in enumerate(points):
        name = abridge(point.label, most)
        x, y = spots[k]
        boxes = []
        for side, up in PLACES:
            near = x + 9 * side
            far = near + side * NAME_WIDE * len(name)
            middle = y + up
            box = (min(near, far), max(near, far), middle - NAME_HIGH / 2, middle + NAME_HIGH / 2)
            hits = sum(overlap(box, other) for other in taken)
            outside = max(0.0, -box[0]) + max(0.0, box[1] - PLANE[0] - 8)
            outside += max(0.0, -box[2]) + max(0.0, box[3] - PLANE[1])
            boxes.append((hits + outside, abs(up), side, up, box))
        _, _, side, up, box = min(boxes, key=lambda made: (made[0], made[1], -made[2]))
        taken.append(box)
        figure.add_annotation(
            text=escape(name),
            x=point.x,
            y=point.value,
            ax=9 * side,
            ay=-up,
            xanchor="left" if side > 0 else "right",
            yanchor="middle",
            font={"size": 12},
            showarrow=True,
            arrowhead=0,
            arrowwidth=1 if abs(up) > NAME_HIGH else 0.1,
            arrowcolor=figure.layout.font.color,
            opacity=0.9,
        )


def intervals_of(points: Sequence[Point]) -> list[tuple[float, float, float, float]]:
    """Return where the lines of intervals lie in a plane, in px, as boxes 4 px wide."""
    boxes = []
    for k, (x, y) in enumerate(spots_of(points)):
        for low, high, across in (
            (points[k].x_low, points[k].x_high, True),
            (points[k].low, points[k].high, False),
        ):
            if not (math.isfinite(low) and math.isfinite(high)):
                continue
            ends = [replace(points[k], x=end) for end in (low, high)]
            if not across:
                ends = [replace(points[k], value=end) for end in (low, high)]
            # The ends take part in the axis already, so they do not change where marks lie.
            (left, below), (right, above) = spots_of([*points, *ends])[-2:]
            if across:
                boxes.append((left, right, y - 2, y + 2))
            else:
                boxes.append((x - 2, x + 2, below, above))
    return boxes


def spots_of(points: Sequence[Point]) -> list[tuple[float, float]]:
    """Return where marks lie in a plane, in px from its lower left corner."""
    spots = []
    across = [end for p in points for end in (p.x, p.x_low, p.x_high) if math.isfinite(end)]
    up = [end for p in points for end in (p.value, p.low, p.high) if math.isfinite(end)]
    for point in points:
        place = []
        for value, ends, size in ((point.x, across, PLANE[0]), (point.value, up, PLANE[1])):
            low, high = min(ends), max(ends)
            room = 0.06 * (high - low) or 1.0
            place.append(size * (value - low + room) / (high - low + 2 * room))
        spots.append((place[0], place[1]))
    return spots


def overlap(box: tuple[float, ...], other: tuple[float, ...]) -> float:
    """Return the area, in px, that two boxes (left, right, low, high) have in common."""
    wide = min(box[1], other[1]) - max(box[0], other[0])
    high = min(box[3], other[3]) - max(box[2], other[2])
    return wide * high if wide > 0 and high > 0 else 0.0


def plane(picture: Picture, palette: Palette, *, narrow: bool = False) -> go.Figure:
    """Draw marks with intervals both ways, each with its name; lines between them are dotted."""
    figure = _grid(palette, 440, 1, 1)
    points = [point for point in picture.points if math.isfinite(point.x)]
    figure.add_scatter(
        x=[point.x for point in points],
        y=[point.value for point in points],
        mode="markers",
        marker={
            "size": [10 if math.isnan(point.tone) else 12 for point in points],
            "symbol": [DIRECTIONS.get(point.tone, "circle") for point in points],
            "color": [palette.lines[0] if point.decided else palette.reference for point in points],
        },
        error_y=_whiskers(points, palette, width=0),
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [p.x_high - p.x if math.isfinite(p.x_high) else None for p in points],
            "arrayminus": [
                max(0.0, p.x - p.x_low) if math.isfinite(p.x_low) else None for p in points
            ],
            "color": palette.muted,
            "thickness": 1.4,
            "width": 0,
        },
        **_about(points),
    )
    _names_of_marks(figure, points, NARROW_NAME if narrow else 24)
    if math.isfinite(picture.smallest_x):
        _small_on_both(figure, picture, palette)
    else:
        _rules(figure, picture, palette, line=picture.target)
    if math.isfinite(picture.mean[0]):
        ends = [min(point.x for point in points), max(point.x for point in points)]
        level, slope = picture.mean
        figure.add_scatter(
            x=ends,
            y=[level + slope * end for end in ends],
            mode="lines",
            line={"color": palette.reference, "width": 1.5},
            hoverinfo="skip",
        )
    figure.update_layout(margin={"l": 58, "t": 16, "b": 52}, clickmode="event+select")
    figure.update_xaxes(title_text=escape(picture.axes[0]), showgrid=True, gridcolor=palette.grid)
    return figure.update_yaxes(title_text=escape(picture.axes[1]))


def _small_on_both(figure: go.Figure, picture: Picture, palette: Palette) -> None:
    """Draw the limit of each axis as a dotted line, and colour what is too small on both."""
    figure.add_shape(
        type="rect",
        x0=0,
        x1=picture.smallest_x,
        y0=0,
        y1=picture.smallest,
        fillcolor=palette.band,
        line_width=0,
        layer="below",
    )
    figure.add_vline(x=picture.smallest_x, line=_dotted(palette))
    figure.add_hline(y=picture.smallest, line=_dotted(palette))


LOWEST_STRIPS = 138
"""The lowest panel of strips with its title and axis, in px: one line keeps clear of the legend."""


def strips(picture: Picture, palette: Palette, *, narrow: bool = False) -> go.Figure:
    """Draw panels side by side whose lines are the same: in each a mark for every series.

    ``narrow``: below each other. A panel's ``target`` is dotted, its band of small effects lies
    around 0.
    """
    panels = picture.panels
    levels = picture.levels
    most = NARROW_NAME if narrow else 26
    names = list(dict.fromkeys(line.name for panel in panels for line in panel.series))
    room = max(1, max(len(panel.series) for panel in panels))
    each = max(LOWEST_STRIPS, len(levels) * max(44, 18 * room))
    down, across = (len(panels), 1) if narrow else (1, len(panels))
    # Below each other, a panel's title and the axis of the one above it need room between them.
    height = 116 + down * each + (down - 1) * STRIP_GAP
    figure = _grid(palette, height, down, across, STRIP_GAP)
    for k, panel in enumerate(panels):
        where = {"row": k // across + 1, "col": k % across + 1}
        own = [line.name for line in panel.series]
        for line in panel.series:
            n = names.index(line.name)
            colour = palette.lines[n % len(palette.lines)]
            offset = (own.index(line.name) - (len(own) - 1) / 2) * min(0.26, 0.8 / max(1, len(own)))
            known = [point for point in line.points if math.isfinite(point.value)]
            figure.add_scatter(
                x=[point.value for point in known],
                y=[levels.index(point.label) + offset for point in known],
                mode="markers",
                name=escape(line.name, 34),
                legendgroup=line.name,
                showlegend=k == _first_panel(panels, line.name) and len(names) > 1,
                marker={"size": 10, "symbol": MARKS[n % len(MARKS)], "color": colour},
                error_x=_whiskers(known, palette, color=colour, thickness=1.8, width=0),
                **_about(known),
                **where,
            )
        if math.isfinite(panel.smallest) or math.isfinite(panel.target):
            _rules(figure, panel, palette, "x", panel.target, **where)
        figure.add_annotation(**_panel_title(panel, palette, k))
        shares = all(point.text.endswith("%") for point in panel.points) and panel.points
        figure.update_xaxes(
            showgrid=True,
            gridcolor=palette.grid,
            title_text=escape(panel.axes[0]),
            tickformat=".0%" if shares else None,
            **where,
        )
        figure.update_yaxes(
            tickvals=list(range(len(levels))),
            ticktext=[_two_lines(level, most) if k % across == 0 else "" for level in levels],
            range=[len(levels) - 0.4, -0.6],
            showgrid=False,
            **where,
        )
    figure.update_layout(
        showlegend=len(names) > 1,
        margin={"l": _margin(levels, NARROW_MARGIN if narrow else 190), "b": 92},
        legend={"y": -58 / (height - 144), "yanchor": "top"},
    )
    return figure


def _two_lines(name: str, most: int) -> str:
    """Return a name for a figure, on two lines of at most ``most`` characters where one is too
    short.
    """
    if len(name) <= most:
        return escape(name)
    first, *rest = textwrap.wrap(name, most)
    return f"{escape(first)}<br>{escape(abridge(' '.join(rest), most))}"


def _first_panel(panels: Sequence[Picture], name: str) -> int:
    """Return the first panel that has a series of this name."""
    for k, panel in enumerate(panels):
        if any(line.name == name for line in panel.series):
            return k
    return 0


KINDS = {
    drawn.__name__: drawn
    for drawn in (
        bars,
        cells,
        slopes,
        forest,
        curves,
        stacks,
        multiples,
        matrix,
        plane,
        strips,
        bars_over_cells,
        tallies,
        order_means,
        moves,
    )
}
"""One function for each kind of picture."""
NARROW: dict[str, Callable[[Picture, Palette], go.Figure]] = {
    "multiples": partial(multiples, across=1),
    "matrix": partial(matrix, narrow=True),
    "plane": partial(plane, narrow=True),
    "strips": partial(strips, narrow=True),
}
"""How pictures of several judges are drawn for a phone; all others fit as they are."""
