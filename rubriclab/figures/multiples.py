"""Small multiples: several arms beside each other on one scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from plotly.subplots import make_subplots

from rubriclab.figures.criteria import shift_behind, shift_hover, shift_text, shifts
from rubriclab.figures.marks import LONGEST, Drawing, Mark, Scale, cut, folded
from rubriclab.figures.position import share_behind, share_hover, share_scale, share_text
from rubriclab.figures.style import DIVERGING, Behind, Chart, house_style, looks_of, once
from rubriclab.findings.criteria_results import ArmCriteria
from rubriclab.findings.position_results import PositionArm
from rubriclab.model.language import tr
from rubriclab.model.wording import number
from rubriclab.stats.inference import Floats

CELL = 38
"""Height in pixels of a cell of a small multiple."""
LINE = 16
"""Height of a line of a panel's name."""


@dataclass(frozen=True)
class Facet:
    """One arm to be drawn. ``name``: what tells it from the others, part by part."""

    run: str
    name: tuple[str, ...]
    found: PositionArm | ArmCriteria

    @property
    def title(self) -> str:
        return " · ".join(self.name)


@dataclass(frozen=True)
class _Panel:
    """A table of numbers, with the words of every cell and what lies behind it by row and column."""

    facet: Facet
    rows: tuple[str, ...]
    values: Floats
    text: Callable[[int, int], str]
    hover: Callable[[int, int], str]
    behind: Callable[[int, int], Behind | None]

    @property
    def head(self) -> str:
        """The arm's name, a line a part."""
        return "<br>".join(folded(part, LONGEST, 2) for part in self.facet.name)


@once
def heatmaps(facets: Sequence[Facet]) -> Chart:
    """P(position | score) of several arms of one scale, all on one colour scale around 1/n.

    The scale is set by the whole set of arms, whatever their order. Raises ValueError where the
    arms are on different scales.
    """
    panels = [_position_panel(facet) for facet in facets]
    if len({panel.rows for panel in panels}) > 1:
        raise ValueError("small multiples need arms of one scale")
    even = 1.0 / len(panels[0].rows)
    reach = max(float(np.nanmax(np.abs(p.values - even), initial=0.05)) for p in panels)
    words = ", ".join(tr("{title} up to {largest}", title=p.facet.title, largest=_largest(p)) for p in panels[:6])
    alt = tr(
        "Heatmaps on one colour scale: for each score, the share of its choices made at each position, "
        "{even:.0%} for an even judge. {words}.",
        even=even,
        words=words,
    )
    scale = share_scale(even, reach)
    return _multiples(panels, scale, (scale.low, even, scale.high), ".0%", tr("Score")).chart(alt)


@once
def shift_heatmaps(facets: Sequence[Facet]) -> Chart:
    """Shift of each criterion's mean score by position, several arms on one scale around 0."""
    panels = [_criteria_panel(facet) for facet in facets]
    reach = max(float(np.nanmax(np.abs(p.values), initial=0.05)) for p in panels)
    scale = Scale(DIVERGING, -reach, reach)
    words = ", ".join(
        tr("{title} up to {largest}", title=p.facet.title, largest=_largest(p, sign=True)) for p in panels[:6]
    )
    alt = tr("Heatmaps on one colour scale: shift of mean scores by criterion and position. {words}.", words=words)
    return _multiples(panels, scale, (-reach, 0.0, reach), "+.2f").chart(alt)


@once
def shares(facets: Sequence[Facet], *, run_judges: Sequence[str] = ()) -> Chart:
    """Share of judgments at each position, a line an arm with 95 % intervals, and 1/n.

    ``run_judges``: all of the runs, in their order, for their colours.
    """
    height = 340 + 20 * max(0, len(facets) - 2)
    drawing = Drawing(x=tr("Position shown"), y=tr("Share of judgments"), height=height)
    arms = [(f, f.found) for f in facets if isinstance(f.found, PositionArm)]
    looks = looks_of([arm.arm.judge for _, arm in arms], run_judges)
    for index, ((facet, arm), look) in enumerate(zip(arms, looks, strict=True)):
        shift = 0.5 * (index - (len(arms) - 1) / 2) / max(len(arms), 4)
        told = enumerate(zip(arm.position.share, arm.position.share_ci, strict=True), start=1)
        marks = [
            Mark(
                p + shift,
                share,
                (low, high),
                tr(
                    "Position {p}: {share:.1%}<br>95 % interval {low:.1%} to {high:.1%}",
                    p=p,
                    share=share,
                    low=low,
                    high=high,
                )
                if np.isfinite(low)
                else tr("Position {p}: {share:.1%}", p=p, share=share),
                Behind(tr("{name}, position {p}", name=facet.title, p=p), arm.code, position=p, run=facet.run),
            )
            for p, (share, (low, high)) in told
        ]
        line, marker = {"dash": look.dash}, {"symbol": look.symbol}
        drawing.dots(marks, name=facet.title, color=look.color, upright=True, joined=True, marker=marker, line=line)
    n = len(arms[0][1].arm.scores) if arms else 1
    drawing.level(y=1.0 / n, text=tr("even: 1/{n}", n=n))
    drawing.figure.update_xaxes(tickvals=list(range(1, n + 1)), range=[0.5, n + 0.5])
    drawing.figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    drawing.figure.update_layout(showlegend=len(arms) > 1)
    listed = "; ".join(f"{f.title}: " + ", ".join(number(x, ".0%") for x in arm.position.share) for f, arm in arms[:6])
    return drawing.chart(tr("Share of judgments at each position. {listed}.", listed=listed))


# ---------------------------------------------------------------- panels


def _multiples(
    panels: Sequence[_Panel], scale: Scale, ticks: tuple[float, float, float], form: str, title: str = ""
) -> Drawing:
    """Panels two a row where their numbers are readable on a narrow screen, else one.

    ``ticks``: of the colour bar, as d3's ``form`` writes them; ``title``: of the rows' axis.
    Named criteria need none and are read from the top.
    """
    wide = max(panel.values.shape[1] for panel in panels)
    columns = min(len(panels), 2 if wide <= (6 if title else 4) else 1)
    rows = -(-len(panels) // columns)
    drawing = _grid(panels, rows, columns)
    for k, panel in enumerate(panels):
        place = {"row": k // columns + 1, "col": k % columns + 1}
        drawing.cells(
            panel.values,
            scale,
            text=panel.text,
            hover=panel.hover,
            behind=panel.behind,
            size=12,
            place=place,
            coloraxis="coloraxis",
        )
        _axes(drawing, panel, title, place)
        if k + columns >= len(panels):
            drawing.figure.update_xaxes(title_text=tr("Position"), title_standoff=4, **place)
    drawing.figure.update_layout(coloraxis=_coloraxis(scale, ticks, form))
    return drawing


def _grid(panels: Sequence[_Panel], rows: int, columns: int) -> Drawing:
    """Empty panels under their names, with room below for the colours."""
    head = LINE * max(panel.head.count("<br>") + 1 for panel in panels) + 8
    body, gap = CELL * max(len(panel.rows) for panel in panels), head + 34
    whole = rows * body + (rows - 1) * gap
    same = len({panel.rows for panel in panels}) == 1
    figure = make_subplots(
        rows=rows,
        cols=columns,
        shared_yaxes=same,
        horizontal_spacing=0.04 if same else 0.2,
        vertical_spacing=gap / whole if rows > 1 else 0.0,
        subplot_titles=[panel.head for panel in panels],
    )
    house_style(figure, height=whole + head + 96, showlegend=False)
    figure.update_annotations(font_size=12.5, yshift=2)
    figure.update_layout(margin={"t": head + 6, "b": 90})
    return Drawing(figure)


def _axes(drawing: Drawing, panel: _Panel, title: str, place: Mapping[str, int]) -> None:
    rows, columns = panel.values.shape
    drawing.rows([cut(name, 12) for name in panel.rows], place=place)
    drawing.figure.update_xaxes(dtick=1, range=[0.5, columns + 0.5], showgrid=False, ticks="", **place)
    drawing.figure.update_yaxes(
        range=[-0.5, rows - 0.5] if title else [rows - 0.5, -0.5],
        title_text=title if place["col"] == 1 else "",
        title_standoff=14,
        ticks="",
        **place,
    )


def _coloraxis(scale: Scale, ticks: tuple[float, float, float], form: str) -> dict[str, object]:
    """One colour scale for all panels, below them, where it takes no width from them."""
    return {
        "cmin": scale.low,
        "cmax": scale.high,
        "colorscale": scale.colors,
        "colorbar": {
            "orientation": "h",
            "thickness": 8,
            "len": 0.7,
            "outlinewidth": 0,
            "ypad": 6,
            "yref": "container",
            "y": 0.0,
            "yanchor": "bottom",
            "tickformat": form,
            "tickvals": list(ticks),
        },
    }


def _position_panel(facet: Facet) -> _Panel:
    arm = facet.found
    if not isinstance(arm, PositionArm):
        raise TypeError("an arm of another axis")
    return _Panel(
        facet=facet,
        rows=tuple(map(str, arm.table.scores)),
        values=arm.table.share,
        text=lambda s, p: share_text(arm, s, p),
        hover=lambda s, p: f"{escape(facet.title)}<br>{share_hover(arm, s, p)}",
        behind=lambda s, p: share_behind(arm, s, p, facet.title, facet.run),
    )


def _criteria_panel(facet: Facet) -> _Panel:
    arm = facet.found
    if not isinstance(arm, ArmCriteria):
        raise TypeError("an arm of another axis")
    values = shifts(arm)
    return _Panel(
        facet=facet,
        rows=tuple(effect.criterion for effect in arm.criteria),
        values=values,
        text=lambda c, p: shift_text(values[c, p]),
        hover=lambda c, p: f"{escape(facet.title)}<br>{shift_hover(arm, c, p)}",
        behind=lambda c, p: shift_behind(arm, c, p, facet.title, facet.run),
    )


def _largest(panel: _Panel, *, sign: bool = False) -> str:
    values = panel.values
    if not np.isfinite(values).any():
        return tr("nothing known")
    r, c = np.unravel_index(int(np.nanargmax(np.abs(values))), values.shape)
    value = number(values[r, c], "+.2f" if sign else ".0%")
    return tr("{share} ({row} at position {place})", share=value, row=panel.rows[int(r)], place=int(c) + 1)
