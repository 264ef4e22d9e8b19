"""An item across orderings: each read a column, what it was shown from top to bottom, the choice lit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from rubriclab.figures.marks import Drawing, Mark, Scale, cut
from rubriclab.figures.style import ACCENT, EVEN_LINE, OVER, SEQUENTIAL, Behind, Chart, house_style, once
from rubriclab.findings.reads import Read, RunningMean
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, number

ROW, TOP = 34, 150
"""Height of a position's row, and of the panel of scores above, in pixels."""
LONGEST = 11


@once
def reads_strip(
    reads: Sequence[Read],
    *,
    running: RunningMean | None = None,
    scores: Sequence[int] = (),
    columns: int = 0,
    usual: bool = False,
    marked: int | None = None,
    again: Sequence[Read] = (),
) -> Chart:
    """One column a read: the options by position, shaded by probability, the chosen one framed.

    ``running`` adds a panel above with each read's score and the mean so far, with its interval;
    ``scores`` are then the limits of its axis. ``columns``: room for so many reads at least, so
    that nothing jumps while they come in. ``usual``: the first read is of the usual order.
    ``marked``: the read (its index) that is being looked at. ``again``: further reads of the first
    one's order, drawn as rings over its column, beside ``running``. The cells answer clicks.
    """
    n = max((len(read.shown) for read in reads), default=len(scores) or 1)
    columns = max(columns, len(reads), 1)
    drawing = Drawing(_panels(n, with_mean=running is not None))
    figure = drawing.figure
    place = {"row": 2 if running is not None else 1, "col": 1}
    if running is not None:
        _add_means(drawing, reads, running, scores)
        _add_rings(drawing, again)
    _add_cells(drawing, reads, n, place)
    _strip_axes(figure, n, columns, usual, place)
    # All at once: adding shapes one by one checks the earlier ones again each time.
    row = place["row"]
    figure.update_layout(shapes=[_frame(i, read.position, row) for i, read in enumerate(reads) if read.position])
    if marked is not None:
        box = {"fillcolor": "rgba(0,0,0,0)", "line": {"color": EVEN_LINE, "width": 2}}
        figure.add_vrect(x0=marked + 0.5, x1=marked + 1.5, row="all", col=1, **box)
    figure.update_layout(showlegend=False, clickmode="event+select")
    return Chart(figure, _alt(reads, running) + _alt_again(again), drawing.behind)


@once
def criteria_strip(reads: Sequence[Read], *, scores: Sequence[int] = ()) -> Chart:
    """One column a call, one row a criterion: the score it got, with its position in the hover.

    ``reads``: the outcomes of criteria calls, one a criterion and call; the criteria stand in
    the order of the first call.
    """
    calls = list(dict.fromkeys(read.call for read in reads))
    names = list(min(reads, key=lambda read: read.call).shown) if reads else []
    placed = [(read.shown[read.place - 1], read) for read in reads if read.place is not None]
    by_cell = {(names.index(name), calls.index(read.call)): read for name, read in placed}
    grid = np.full((len(names), len(calls)), np.nan)
    for at, read in by_cell.items():
        grid[at] = np.nan if read.score is None else read.score

    def hover(r: int, c: int) -> str:
        read = by_cell.get((r, c))
        if read is None:
            return ""
        score = tr("no score") if read.score is None else number(read.score, "g")
        return tr("{name}: {score}<br>shown at position {place}", name=escape(names[r]), score=score, place=read.place)

    def behind(r: int, c: int) -> Behind | None:
        title = tr("{name}, order {order}", name=names[r], order=c + 1)
        return _behind(by_cell[r, c], title) if (r, c) in by_cell else None

    drawing = Drawing(height=90 + ROW * max(1, len(names)))
    drawing.cells(
        grid,
        Scale(SEQUENTIAL, *((min(scores), max(scores)) if scores else (1, 5))),
        text=lambda r, c: number(grid[r, c], "g"),
        hover=hover,
        behind=behind,
    )
    drawing.rows([cut(name, 24) for name in names])
    drawing.figure.update_xaxes(title_text=tr("Order asked"), dtick=1 if len(calls) <= 15 else 5, showgrid=False)
    drawing.figure.update_layout(showlegend=False, clickmode="event+select")
    return Chart(drawing.figure, _criteria_alt(names, grid), drawing.behind)


def order_text(read: Read) -> str:
    """The order of a read as addresses and tables write it."""
    return " ".join(read.shown)


# ---------------------------------------------------------------- panels


def _panels(n: int, *, with_mean: bool) -> go.Figure:
    below = ROW * n
    if not with_mean:
        return house_style(make_subplots(rows=1, cols=1), height=below + 90)
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[TOP, below])
    return house_style(figure, height=TOP + below + 100)


def _strip_axes(figure: go.Figure, n: int, columns: int, usual: bool, place: Mapping[str, int]) -> None:
    """``n`` positions from the top, ``columns`` reads; the first is of the ``usual`` order."""
    figure.update_yaxes(title_text=tr("Position"), range=[n + 0.5, 0.5], dtick=1, showgrid=False, **place)
    figure.update_xaxes(range=[0.5, columns + 0.5])
    ticks = list(range(1, columns + 1, 1 if columns <= 15 else 5 if columns <= 60 else 10))
    names = [tr("usual") if usual and tick == 1 else str(tick) for tick in ticks]
    figure.update_xaxes(title_text=tr("Order asked"), tickmode="array", tickvals=ticks, ticktext=names, **place)


def _add_means(drawing: Drawing, reads: Sequence[Read], running: RunningMean, scores: Sequence[int]) -> None:
    """Each read's score as a dot, the mean so far as a line, its interval as a band."""
    place = {"row": 1, "col": 1}
    floor, ceiling = (min(scores), max(scores)) if scores else (-np.inf, np.inf)
    points = list(zip(running.read, running.mean, running.interval, strict=True))
    low = [max(ci.low, floor) if np.isfinite(ci.low) else mean for _, mean, ci in points]
    high = [min(ci.high, ceiling) if np.isfinite(ci.high) else mean for _, mean, ci in points]
    drawing.band([i + 1 for i in running.read], low, high, color=ACCENT, place=place)
    drawing.figure.add_scatter(
        x=[i + 1 for i in running.read],
        y=running.mean,
        mode="lines",
        line={"color": ACCENT, "width": 2.5},
        hovertext=[
            tr("mean of {k}: {mean:.2f}<br>{span}", k=k, mean=mean, span=_span(ci.low, ci.high))
            for k, (_, mean, ci) in enumerate(points, start=1)
        ],
        hoverinfo="text",
        **place,
    )
    drawing.dots(
        [
            Mark(i, read.score, hover=tr("order {order}: {score:g}", order=i, score=read.score))
            for i, read in enumerate(reads, start=1)
            if read.score is not None
        ],
        color=OVER,
        upright=True,
        place=place,
        marker={"line": {"width": 1, "color": "rgba(255,255,255,0.6)"}},
    )
    if scores:
        pad, step = 0.06 * (ceiling - floor) + 0.1, 1 if ceiling - floor <= 10 else None
        drawing.figure.update_yaxes(range=[floor - pad, ceiling + pad], dtick=step, **place)
    drawing.figure.update_yaxes(title_text=tr("Score"), **place)


def _add_rings(drawing: Drawing, again: Sequence[Read]) -> None:
    """What the first read's order gave when asked again: how far apart chance alone can bring them."""
    marks = [
        Mark(1, read.score, hover=tr("the same order again: {score:g}", score=read.score), behind=_behind(read))
        for read in again
        if read.score is not None
    ]
    ring = {"symbol": "circle-open", "size": 17, "line": {"width": 2, "color": ACCENT}}
    if marks:
        drawing.dots(marks, color=ACCENT, upright=True, place={"row": 1, "col": 1}, marker=ring)


def _add_cells(drawing: Drawing, reads: Sequence[Read], n: int, place: Mapping[str, int]) -> None:
    """Probabilities as shades; where a judge tells none the cells stay pale."""
    grid = np.full((n, len(reads)), np.nan)
    for i, read in enumerate(reads):
        grid[: len(read.shown), i] = read.probabilities or 0.0

    def shown(p: int, i: int) -> bool:
        return p < len(reads[i].shown)

    drawing.cells(
        grid,
        Scale(SEQUENTIAL, 0.0, 1.0),
        y=list(range(1, n + 1)),
        text=lambda p, i: escape(cut(reads[i].shown[p], LONGEST)) if shown(p, i) else "",
        hover=lambda p, i: _hover(reads[i], i, p) if shown(p, i) else "",
        behind=lambda p, i: _behind(reads[i]) if shown(p, i) else None,
        place=place,
    )


def _frame(index: int, position: int, row: int) -> dict[str, Any]:
    """A frame around the chosen cell: it can be seen on every shade, and without colour."""
    axis = "" if row == 1 else str(row)
    return {
        "type": "rect",
        "xref": f"x{axis}",
        "yref": f"y{axis}",
        "x0": index + 0.54,
        "x1": index + 1.46,
        "y0": position - 0.46,
        "y1": position + 0.46,
        "line": {"color": OVER, "width": 3.5},
    }


# ---------------------------------------------------------------- words


def _hover(read: Read, index: int, place: int) -> str:
    label = tr(" (label {label})", label=escape(read.labels[place])) if read.labels else ""
    lines = [
        tr(
            "order {order}, position {place}: {name}{label}",
            order=index + 1,
            place=place + 1,
            name=escape(read.shown[place]),
            label=label,
        )
    ]
    if read.probabilities:
        lines.append(tr("probability {probability:.1%}", probability=read.probabilities[place]))
    if read.position == place + 1:
        lines.append(tr("chosen"))
    elif read.position is None:
        lines.append(tr("nothing chosen: {status}", status=escape(tr(read.status))))
    return "<br>".join(lines)


def _behind(read: Read, name: str = "") -> Behind:
    order = order_text(read)
    return Behind(name or tr("order {order}", order=order), arm=read.arm, item=read.item, ordering=order)


def _span(low: float, high: float) -> str:
    if not (np.isfinite(low) and np.isfinite(high)):
        return tr("no interval yet: all reads agree")
    return tr("95 % interval {low:.2f} to {high:.2f}", low=low, high=high)


def _alt_again(again: Sequence[Read]) -> str:
    scores = [number(read.score, "g", unknown=tr("unread")) for read in again]
    return tr(" The same order again: {scores}.", scores=", ".join(scores)) if scores else ""


def _alt(reads: Sequence[Read], running: RunningMean | None) -> str:
    if not reads:
        return tr("No order has been asked yet.")
    words = "; ".join(f"{order_text(read)}: {_chosen(read)}" for read in reads[:12])
    more = tr(" and {left} more orders", left=len(reads) - 12) if len(reads) > 12 else ""
    mean = (
        tr(" The mean over the orders so far is {mean:.2f}.", mean=running.mean[-1])
        if running is not None and running.mean
        else ""
    )
    return tr("What the judge chose under each order shown. {words}{more}.{mean}", words=words, more=more, mean=mean)


def _chosen(read: Read) -> str:
    if read.position is None:
        return tr(read.status)
    if read.position == 0:
        return tr("a tie")
    return tr("chose {shown} at position {place}", shown=read.shown[read.position - 1], place=read.position)


def _criteria_alt(names: Sequence[str], grid: np.ndarray) -> str:
    words = []
    for name, row in zip(names, grid, strict=True):
        known = row[np.isfinite(row)]
        ends = interval((known.min(), known.max()), "g") if known.size else tr("no score")
        words.append(f"{name}: {ends}")
    return tr("Scores of each criterion under each order of the criteria. ") + "; ".join(words) + "."
