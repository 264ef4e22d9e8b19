"""The few marks that all charts are made of: dots and bars with intervals, bands, cells, lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from rubriclab.figures.style import DARK_INK, EVEN_LINE, Behind, Chart, ink_on, new_figure, with_behind
from rubriclab.model.language import msg, tr
from rubriclab.stats.inference import NO_INTERVAL, Floats

VERDICTS = {"effect": msg("effect"), "equivalent": msg("equivalent"), "undecided": msg("undecided")}
Limits = Sequence[float] | Floats
"""The lower and the upper end of an interval; not finite where there is none."""
ALONE: Mapping[str, int] = MappingProxyType({})
"""The place of a mark in a figure of one panel; else ``{"row": 1, "col": 1}``, from the top."""
GRID = "rgba(128,128,128,0.18)"
LONGEST, WRAPPED = 26, 24
"""Characters of a row's name that leave a phone room for the marks, and beyond which it wraps."""
LEGEND, ACROSS, UPWARDS = 32, 26, 44
"""Characters of a line in a legend and in the titles of axes, beside the names of rows on a phone."""
LINE, FRAME = 18, 150
"""Pixels of a line of text, and of a figure around its rows: legend, axis and title."""


class Mark(NamedTuple):
    """An estimate. ``at``: its row, position or level on the other axis; ``hover``: HTML."""

    at: float | str
    value: float
    interval: Limits = NO_INTERVAL
    hover: str = ""
    behind: Behind | None = None


class Scale(NamedTuple):
    """The colours of cells from ``low`` to ``high``, as stops from 0 to 1."""

    colors: Sequence[Sequence[Any]]
    low: float
    high: float

    def ink(self, value: float) -> str:
        """What reads best on the cell of ``value``; grey where there is none to fill it."""
        if not np.isfinite(value):
            return EVEN_LINE
        return ink_on(self.colors, (value - self.low) / ((self.high - self.low) or 1.0))


class Drawing:
    """A figure in the making. Marks that lead to judgments are noted as they are drawn."""

    def __init__(self, figure: go.Figure | None = None, **layout: Any) -> None:
        """``layout``: titles of the axes and height, see ``new_figure``."""
        self._one_panel = figure is None
        self.figure = new_figure(**layout) if figure is None else figure
        self.behind: dict[int, Sequence[Behind | None]] = {}

    def chart(self, alt: str) -> Chart:
        _fit_words(self.figure)
        return with_behind(self.figure, alt, self.behind) if self.behind else Chart(self.figure, alt)

    def dots(
        self,
        marks: Sequence[Mark],
        *,
        color: str | Sequence[str],
        name: str = "",
        upright: bool = False,
        joined: bool = False,
        place: Mapping[str, int] = ALONE,
        marker: Mapping[str, Any] = ALONE,
        **style: Any,
    ) -> None:
        """A dot a mark with its interval, along a row or ``upright``; ``joined`` by a line."""
        whiskers = color if isinstance(color, str) else EVEN_LINE
        if joined:
            style["line"] = {"color": color, "width": 2.5, **style.get("line", {})}
        self._add(
            go.Scatter(
                **_placed(marks, upright, whiskers),
                mode="lines+markers" if joined else "markers",
                marker={"size": 9, "color": color, **marker},
                **_named(name),
                **style,
            ),
            [mark.behind for mark in marks],
            place,
        )

    def bars(
        self,
        marks: Sequence[Mark],
        *,
        color: str | Sequence[str],
        name: str = "",
        pattern: str = "",
        upright: bool = False,
        place: Mapping[str, int] = ALONE,
    ) -> None:
        """A bar a mark from 0 with its interval, along a row or ``upright``; ``pattern``: what it is hatched with."""
        hatched = {"pattern": {"shape": pattern, "fillmode": "replace", "size": 6, "solidity": 0.45}} if pattern else {}
        self._add(
            go.Bar(
                **_placed(marks, upright, EVEN_LINE),
                orientation="v" if upright else "h",
                marker={"color": color, **hatched},
                **_named(name),
            ),
            [mark.behind for mark in marks],
            place,
        )

    def band(
        self,
        x: Sequence[float],
        low: Sequence[float],
        high: Sequence[float],
        *,
        color: str,
        place: Mapping[str, int] = ALONE,
        **style: Any,
    ) -> None:
        """The room between two curves over the same ``x``."""
        self.figure.add_scatter(
            x=[*x, *reversed(x)],
            y=[*high, *reversed(low)],
            mode="lines",
            fill="toself",
            fillcolor=color,
            opacity=0.15,
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
            **style,
            **place,
        )

    def level(
        self, *, x: float | None = None, y: float | None = None, text: str = "", place: Mapping[str, int] = ALONE
    ) -> None:
        """A dotted line at what an unbiased judge, or the thing compared with, would show."""
        line = {"dash": "dot", "color": EVEN_LINE, "width": 1.5}
        note = {"annotation": {"text": text, "font": {"size": 12}}}
        if self._one_panel and not text:
            self._line_across(line, x, y)
            return
        more = {"line": line, **(note if text else {}), **place}
        if x is not None:
            self.figure.add_vline(x=x, **more)
        if y is not None:
            self.figure.add_hline(y=y, **more)

    def shapes(self, shapes: Sequence[Mapping[str, Any]]) -> None:
        """Many shapes at once: one by one added, they take Plotly a hundred times as long."""
        self.figure.layout.shapes = (*self.figure.layout.shapes, *shapes)

    def _line_across(self, line: Mapping[str, Any], x: float | None, y: float | None) -> None:
        """What Plotly's add_vline and add_hline come to in a figure of one panel, in a third of their time."""
        lines = []
        if x is not None:
            lines.append({"x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain"})
        if y is not None:
            lines.append({"x0": 0, "x1": 1, "xref": "x domain", "y0": y, "y1": y, "yref": "y"})
        self.shapes([{"type": "line", **ends, "line": line} for ends in lines])

    def room(self, reach: float, *, place: Mapping[str, int] = ALONE) -> None:
        """The shaded room from -``reach`` to ``reach``: effects too small to matter."""
        self.figure.add_vrect(
            x0=-reach, x1=reach, fillcolor=EVEN_LINE, opacity=0.12, line_width=0, layer="below", **place
        )

    def rows(self, names: Sequence[str], *, place: Mapping[str, int] = ALONE) -> None:
        """Names of rows 0, 1, ... from the top, in lines that leave a phone room; the figure is as high as they need."""
        texts = [_wrapped(name) for name in names]
        if not place and texts:
            lines = max(text.count("<br>") + 1 for text in texts)
            least = FRAME + len(texts) * (LINE * lines + 4) if lines > 1 else 0
            self.figure.update_layout(height=max(self.figure.layout.height or 0, least))
        ticks = {"tickvals": list(range(len(names))), "ticktext": texts}
        for axis in self.figure.select_yaxes(**place):
            axis.update(**ticks, range=[max(len(names), 1) - 0.4, -0.6], showgrid=False)
        for axis in self.figure.select_xaxes(**place):
            axis.update(showgrid=True, gridcolor=GRID)

    def cells(
        self,
        values: Floats,
        scale: Scale,
        *,
        text: Callable[[int, int], str],
        hover: Callable[[int, int], str],
        behind: Callable[[int, int], Behind | None] | None = None,
        x: Sequence[Any] | None = None,
        y: Sequence[Any] | None = None,
        data: Callable[[int, int], Any] | None = None,
        size: int = 13,
        place: Mapping[str, int] = ALONE,
        **fill: Any,
    ) -> None:
        """Filled cells, each with its number in an ink that reads on it, to hover and click on.

        ``values``: (rows, columns), not finite where a cell stays empty; words, ``customdata`` and
        what lies behind come by row and column, from 0. ``x``, ``y``: places of columns (1, 2,
        ...) and rows (0, 1, ...). ``fill``: more of the heatmap.
        """
        x = list(range(1, values.shape[1] + 1)) if x is None else x
        y = list(range(values.shape[0])) if y is None else y
        at = list(np.ndindex(*values.shape))
        colors = {"colorscale": scale.colors, "zmin": scale.low, "zmax": scale.high}
        # The cells carry their numbers, so a narrow screen need not give room to a scale.
        fill = {"showscale": "colorbar" in fill, **({} if "coloraxis" in fill else colors), **fill}
        self.figure.add_heatmap(z=values, x=x, y=y, xgap=2, ygap=2, hoverinfo="skip", **fill, **place)
        squares = _squares(
            x=[x[c] for _, c in at],
            y=[y[r] for r, _ in at],
            text=[text(r, c) for r, c in at],
            # Inks belong to the cells' own fills, which are the same in light and dark mode.
            textfont={"size": size, "color": [scale.ink(float(values[cell])) for cell in at]},
            hovertext=[hover(r, c) for r, c in at],
            customdata=[data(r, c) for r, c in at] if data else None,
        )
        self._add(squares, [behind(r, c) for r, c in at] if behind else [], place)

    def _add(self, trace: Any, behind: Sequence[Behind | None], place: Mapping[str, int]) -> None:
        if any(one is not None for one in behind):
            self.behind[len(self.figure.data)] = behind
        self.figure.add_trace(trace, **place)


def beside(index: int, of: int) -> float:
    """How far from its row's middle the index-th of several marks stands, so that none hides another."""
    return (index - (of - 1) / 2) * 0.7 / max(1, of)


def cut(text: str, most: int) -> str:
    """``text`` with at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listed(parts: Sequence[str], *, of: int = 0) -> str:
    """Parts of an alt text as one; ``of``: how many there are in all, where some are left out."""
    more = tr("; and {left} more", left=of - len(parts)) if of > len(parts) else ""
    return "; ".join(parts) + more if parts else tr("nothing to show")


def verdict_said(verdict: str) -> str:
    """A verdict in one word, as figures say it."""
    return tr(VERDICTS[verdict])


def _wrapped(name: str) -> str:
    lines = name.split(" · ") if len(name) > WRAPPED else [name]
    return "<br>".join(folded(line, LONGEST) for line in lines)


def folded(text: str, width: int, most: int = 3) -> str:
    """``text`` as HTML in lines of at most ``width`` characters, broken after spaces, “/”, “-” and “_”.

    Names of models differ anywhere, so they are folded and not cut; what is beyond ``most`` lines is cut.
    """
    lines = [""]
    for word in re.split(r"(?<=[\s/_-])", text):
        for part in (word[at : at + width] for at in range(0, len(word), width)):
            if lines[-1] and len(lines[-1]) + len(part.rstrip()) > width:
                lines.append("")
            lines[-1] += part
    kept = lines[:most] if len(lines) <= most else [*lines[: most - 1], cut("".join(lines[most - 1 :]), width)]
    return "<br>".join(escape(line.rstrip()) for line in kept)


def _fit_words(figure: go.Figure) -> None:
    """Titles of axes and names in the legend in lines that fit; room for the lines of the legend."""
    for axis in figure.select_xaxes():
        _fit_title(axis, ACROSS)
        axis.automargin = True
    for axis in figure.select_yaxes():
        _fit_title(axis, UPWARDS)
    if figure.layout.showlegend is False:
        return
    extra = sum(str(trace.name or "").count("<br>") + 1 for trace in figure.data if "<br>" in str(trace.name or ""))
    if extra:
        figure.update_layout(height=(figure.layout.height or 0) + LINE * extra)


def _fit_title(axis: Any, width: int) -> None:
    title = axis.title.text
    if title and len(title) > width and "<" not in title and "&" not in title:
        axis.title.text = folded(title, width)


def _squares(**told: Any) -> go.Scatter:
    """Texts on unseen squares, which answer hover and click: Plotly's heatmaps do not."""
    return go.Scatter(
        mode="markers+text",
        marker={"size": 34, "symbol": "square", "opacity": 0},
        # The clicked cell is marked; with an ink for it Plotly does not dim other numbers.
        selected={"marker": {"opacity": 0.85, "color": "#f7f5f0"}, "textfont": {"color": DARK_INK}},
        unselected={"marker": {"opacity": 0}},
        hoverinfo="text",
        showlegend=False,
        **told,
    )


def _named(name: str) -> dict[str, Any]:
    """The name of a series stands in the legend, and beside its hovers."""
    hover = "%{hovertext}" if name else "%{hovertext}<extra></extra>"
    return {"name": folded(name, LEGEND), "showlegend": bool(name), "hovertemplate": hover}


def _placed(marks: Sequence[Mark], upright: bool, whiskers: str) -> dict[str, Any]:
    """Values, whiskers and hovers of marks; no whisker where an interval could not be given."""
    value = np.array([mark.value for mark in marks], dtype=np.float64)
    low, high = np.array([mark.interval for mark in marks], dtype=np.float64).reshape(-1, 2).T
    along, across = ("y", "x") if upright else ("x", "y")
    placed: dict[str, Any] = {
        along: value.tolist(),
        across: [mark.at for mark in marks],
        "hovertext": [mark.hover for mark in marks],
    }
    if np.isfinite(high - low).any():
        placed[f"error_{along}"] = {
            "type": "data",
            "symmetric": False,
            # Rounding may put an estimate a hair outside its interval.
            "array": np.maximum(high - value, 0.0).tolist(),
            "arrayminus": np.maximum(value - low, 0.0).tolist(),
            "thickness": 1.5,
            "width": 4,
            "color": whiskers,
        }
    return placed
