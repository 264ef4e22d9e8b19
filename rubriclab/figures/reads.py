"""An item across orderings: each read a column, what it was shown from top to bottom, the choice lit."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from rubriclab.figures.style import (
    ACCENT,
    DARK_INK,
    EVEN_LINE,
    OVER,
    SEQUENTIAL,
    Behind,
    Chart,
    house_style,
    ink_on,
)
from rubriclab.findings.reads import Read, RunningMean

ROW, TOP = 34, 150
"""Height of a position's row, and of the panel of scores above, in pixels."""
LONGEST = 11


def reads_strip(
    reads: Sequence[Read],
    *,
    running: RunningMean | None = None,
    scores: Sequence[int] = (),
    columns: int = 0,
    usual: bool = False,
    marked: int | None = None,
) -> Chart:
    """One column a read: the options by position, shaded by probability, the chosen one framed.

    ``running`` adds a panel above with each read's score and the mean so far, with its interval;
    ``scores`` are then the limits of its axis. ``columns``: room for so many reads at least, so
    that nothing jumps while they come in. ``usual``: the first read is of the usual order.
    ``marked``: the read (its index) that is being looked at. The cells answer clicks; their
    ``customdata`` is [index of the read, position].
    """
    n = max((len(read.shown) for read in reads), default=len(scores) or 1)
    columns = max(columns, len(reads), 1)
    figure = _panels(n, with_mean=running is not None)
    row = 2 if running is not None else 1
    if running is not None:
        _add_means(figure, reads, running, scores)
    figure.add_trace(_cells(reads, n), row=row, col=1)
    figure.add_trace(_texts(reads), row=row, col=1)
    cells = _targets(reads)
    figure.add_trace(cells, row=row, col=1)
    # All at once: adding shapes one by one checks the earlier ones again each time.
    figure.update_layout(
        shapes=[_frame(i, read.position, row) for i, read in enumerate(reads) if read.position]
    )
    figure.update_yaxes(
        title_text="Position", range=[n + 0.5, 0.5], dtick=1, showgrid=False, row=row, col=1
    )
    figure.update_xaxes(range=[0.5, columns + 0.5])
    ticks = list(range(1, columns + 1, 1 if columns <= 15 else 5 if columns <= 60 else 10))
    names = ["usual" if usual and tick == 1 else str(tick) for tick in ticks]
    figure.update_xaxes(
        title_text="Order asked", tickmode="array", tickvals=ticks, ticktext=names, row=row, col=1
    )
    if marked is not None:
        figure.add_vrect(
            x0=marked + 0.5, x1=marked + 1.5, fillcolor="rgba(0,0,0,0)",
            line={"color": EVEN_LINE, "width": 2}, row="all", col=1,
        )  # fmt: skip
    figure.update_layout(showlegend=False, clickmode="event+select", dragmode=False)
    behind = [_behind(reads[i]) for i, _ in cells.customdata]
    return Chart(figure, _alt(reads, running), {len(figure.data) - 1: behind})


def criteria_strip(reads: Sequence[Read], *, scores: Sequence[int] = ()) -> Chart:
    """One column a call, one row a criterion: the score it got, with its position in the hover.

    ``reads``: the outcomes of criteria calls, one a criterion and call; the criteria stand in
    the order of the first call.
    """
    calls = list(dict.fromkeys(read.call for read in reads))
    names = list(min(reads, key=lambda read: read.call).shown) if reads else []
    low, high = (min(scores), max(scores)) if scores else (1, 5)
    grid = np.full((len(names), len(calls)), np.nan)
    cells = []
    for read in reads:
        if read.place is None:
            continue
        name = read.shown[read.place - 1]
        at = (names.index(name), calls.index(read.call))
        grid[at] = np.nan if read.score is None else read.score
        cells.append((at, read, name))
    figure = house_style(go.Figure(), height=90 + ROW * max(1, len(names)))
    figure.add_heatmap(
        z=grid, x=[i + 1 for i in range(len(calls))], y=[escape(_short(name, 24)) for name in names],
        zmin=low, zmax=high, colorscale=SEQUENTIAL, xgap=2, ygap=2, hoverinfo="skip",
        showscale=False,
    )  # fmt: skip
    figure.add_scatter(
        x=[at[1] + 1 for at, _, _ in cells],
        y=[escape(_short(names[at[0]], 24)) for at, _, _ in cells],
        mode="text",
        text=["–" if read.score is None else f"{read.score:g}" for _, read, _ in cells],
        textfont={"size": 13, "color": [_ink_of(read.score, low, high) for _, read, _ in cells]},
        hovertext=[
            f"{escape(name)}: {'no score' if read.score is None else f'{read.score:g}'}"
            f"<br>shown at position {read.place}"
            for _, read, name in cells
        ],
        hoverinfo="text",
        customdata=[[at[1], read.place] for at, read, _ in cells],
    )
    figure.update_yaxes(type="category", autorange="reversed", showgrid=False)
    figure.update_xaxes(title_text="Order asked", dtick=1 if len(calls) <= 15 else 5)
    figure.update_layout(showlegend=False, clickmode="event+select", dragmode=False)
    behind = [
        Behind(
            f"{name}, order {at[1] + 1}", arm=read.arm, item=read.item, ordering=order_text(read)
        )
        for at, read, name in cells
    ]
    return Chart(figure, _criteria_alt(names, grid), {1: behind})


def order_text(read: Read) -> str:
    """The order of a read as addresses and tables write it."""
    return " ".join(read.shown)


# ---------------------------------------------------------------- panels


def _panels(n: int, *, with_mean: bool) -> go.Figure:
    below = ROW * n
    if not with_mean:
        return house_style(make_subplots(rows=1, cols=1), height=below + 90)
    figure = make_subplots(
        rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[TOP, below]
    )
    return house_style(figure, height=TOP + below + 100)


def _add_means(
    figure: go.Figure,
    reads: Sequence[Read],
    running: RunningMean,
    scores: Sequence[int],
) -> None:
    """Each read's score as a dot, the mean so far as a line, its interval as a band."""
    x = [i + 1 for i in running.read]
    low = [ci.low if np.isfinite(ci.low) else m
           for ci, m in zip(running.interval, running.mean, strict=True)]  # fmt: skip
    high = [ci.high if np.isfinite(ci.high) else m
            for ci, m in zip(running.interval, running.mean, strict=True)]  # fmt: skip
    floor, ceiling = (min(scores), max(scores)) if scores else (None, None)
    if floor is not None and ceiling is not None:
        low = [max(value, floor) for value in low]
        high = [min(value, ceiling) for value in high]
    figure.add_scatter(x=x, y=high, mode="lines", line={"width": 0}, hoverinfo="skip", row=1, col=1)
    figure.add_scatter(
        x=x, y=low, mode="lines", line={"width": 0}, fill="tonexty",
        fillcolor="rgba(0,114,178,0.18)", hoverinfo="skip", row=1, col=1,
    )  # fmt: skip
    figure.add_scatter(
        x=x,
        y=running.mean,
        mode="lines",
        line={"color": ACCENT, "width": 2.5},
        hovertext=[
            f"mean of {k + 1}: {m:.2f}<br>{_span(ci.low, ci.high)}"
            for k, (m, ci) in enumerate(zip(running.mean, running.interval, strict=True))
        ],
        hoverinfo="text",
        row=1,
        col=1,
    )
    told = [(i + 1, read) for i, read in enumerate(reads) if read.score is not None]
    figure.add_scatter(
        x=[i for i, _ in told],
        y=[read.score for _, read in told],
        mode="markers",
        marker={"color": OVER, "size": 9, "line": {"width": 1, "color": "rgba(255,255,255,0.6)"}},
        hovertext=[f"order {i}: {read.score:g}" for i, read in told],
        hoverinfo="text",
        row=1,
        col=1,
    )
    if floor is not None and ceiling is not None:
        pad = 0.06 * (ceiling - floor) + 0.1
        figure.update_yaxes(range=[floor - pad, ceiling + pad], dtick=1 if ceiling - floor <= 10 else None,
                            row=1, col=1)  # fmt: skip
    figure.update_yaxes(title_text="Score", row=1, col=1)


def _cells(reads: Sequence[Read], n: int) -> go.Heatmap:
    """Probabilities as shades; where a judge tells none the cells stay pale."""
    grid = np.full((n, max(len(reads), 1)), np.nan)
    for i, read in enumerate(reads):
        grid[: len(read.shown), i] = read.probabilities or 0.0
    return go.Heatmap(
        z=grid,
        x=np.arange(1, grid.shape[1] + 1),
        y=np.arange(1, n + 1),
        zmin=0.0,
        zmax=1.0,
        colorscale=SEQUENTIAL,
        xgap=2,
        ygap=2,
        hoverinfo="skip",
        showscale=False,
    )


def _texts(reads: Sequence[Read]) -> go.Scatter:
    cells = [(i, p) for i, read in enumerate(reads) for p in range(len(read.shown))]
    return go.Scatter(
        x=[i + 1 for i, _ in cells],
        y=[p + 1 for _, p in cells],
        mode="text",
        text=[escape(_short(reads[i].shown[p])) for i, p in cells],
        textfont={"size": 13, "color": [_ink(reads[i], p) for i, p in cells]},
        selected={"textfont": {"color": DARK_INK}},
        hoverinfo="skip",
    )


def _targets(reads: Sequence[Read]) -> go.Scatter:
    """Invisible squares over the cells, which answer hover and click."""
    cells = [(i, p) for i, read in enumerate(reads) for p in range(len(read.shown))]
    return go.Scatter(
        x=[i + 1 for i, _ in cells],
        y=[p + 1 for _, p in cells],
        mode="markers",
        marker={"symbol": "square", "size": 26, "color": "rgba(0,0,0,0)", "line": {"width": 0}},
        selected={"marker": {"color": "rgba(127,127,127,0.35)"}},
        unselected={"marker": {"opacity": 0}},
        customdata=[[i, p + 1] for i, p in cells],
        hovertext=[_hover(reads[i], i, p) for i, p in cells],
        hoverinfo="text",
    )


def _frame(index: int, position: int, row: int) -> dict[str, Any]:
    """A frame around the chosen cell: it can be seen on every shade, and without colour."""
    axis = "" if row == 1 else str(row)
    return {
        "type": "rect", "xref": f"x{axis}", "yref": f"y{axis}",
        "x0": index + 0.54, "x1": index + 1.46, "y0": position - 0.46, "y1": position + 0.46,
        "line": {"color": OVER, "width": 3.5},
    }  # fmt: skip


# ---------------------------------------------------------------- words


def _ink(read: Read, place: int) -> str:
    share = read.probabilities[place] if read.probabilities else 0.0
    return ink_on(SEQUENTIAL, share)


def _ink_of(score: float | None, low: float, high: float) -> str:
    if score is None:
        return EVEN_LINE
    return ink_on(SEQUENTIAL, (score - low) / ((high - low) or 1.0))


def _hover(read: Read, index: int, place: int) -> str:
    label = f" (label {escape(read.labels[place])})" if read.labels else ""
    lines = [f"order {index + 1}, position {place + 1}: {escape(read.shown[place])}{label}"]
    if read.probabilities:
        lines.append(f"probability {read.probabilities[place]:.1%}")
    if read.position == place + 1:
        lines.append("chosen")
    elif read.position is None:
        lines.append(f"nothing chosen: {escape(read.status)}")
    return "<br>".join(lines)


def _behind(read: Read) -> Behind:
    return Behind(
        f"order {order_text(read)}", arm=read.arm, item=read.item, ordering=order_text(read)
    )


def _short(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _span(low: float, high: float) -> str:
    if not (np.isfinite(low) and np.isfinite(high)):
        return "no interval yet: all reads agree"
    return f"95 % interval {low:.2f} to {high:.2f}"


def _alt(reads: Sequence[Read], running: RunningMean | None) -> str:
    if not reads:
        return "No order has been asked yet."
    told = [
        f"{order_text(read)}: "
        + (read.status if read.position is None else "a tie" if read.position == 0
           else f"chose {read.shown[read.position - 1]} at position {read.position}")
        for read in reads[:12]
    ]  # fmt: skip
    more = f" and {len(reads) - 12} more orders" if len(reads) > 12 else ""
    mean = (
        f" The mean over the orders so far is {running.mean[-1]:.2f}."
        if running is not None and running.mean
        else ""
    )
    return f"What the judge chose under each order shown. {'; '.join(told)}{more}.{mean}"


def _criteria_alt(names: Sequence[str], grid: np.ndarray) -> str:
    told = []
    for name, row in zip(names, grid, strict=True):
        known = row[np.isfinite(row)]
        told.append(
            f"{name}: {known.min():g} to {known.max():g}" if known.size else f"{name}: no score"
        )
    return "Scores of each criterion under each order of the criteria. " + "; ".join(told) + "."
