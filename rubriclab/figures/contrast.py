"""Arms beside each other: rates row by row, and the difference of any two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
from plotly.subplots import make_subplots

from rubriclab.figures.marks import Drawing, Mark, Scale, cut, verdict_said
from rubriclab.figures.multiples import LINE, Facet, heatmaps, shares, shift_heatmaps
from rubriclab.figures.style import DIVERGING, EVEN_LINE, OVER, UNDER, Behind, Chart, house_style, judge_color, once
from rubriclab.findings.contrast_results import Cells, Contrast, Delta, measure_said
from rubriclab.findings.summary import ComparisonLine
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, number
from rubriclab.stats.inference import Floats

__all__ = ["Facet", "difference_forest", "difference_heatmap", "heatmaps", "rates", "shares", "shift_heatmaps"]

ROW = 30
"""Height in pixels of a line of a forest."""
PANELS = {
    "shift": msg("Points of score"),
    "score": msg("Points of score"),
    "advantage": msg("Lead of the first place"),
    "share": msg("Points of share at a position"),
    "rate": msg("Points of share"),
    "fairness": msg("Preference fairness"),
    "strength": msg("V and r"),
    "agreement": msg("V and r"),
}
"""The panels of a forest in their order, what is in score points first."""


@once
def rates(lines: Sequence[ComparisonLine], names: Sequence[tuple[str, ...]]) -> Chart:
    """Consistency and fairness of arms of pairs or lists, a row an arm, with 95 % intervals."""
    rows = [" · ".join(name) for name in names]
    body = max(34, LINE * max(len(name) for name in names) + 10) * len(rows) + 16
    figure = make_subplots(rows=2, cols=1, vertical_spacing=64 / (2 * body + 64), shared_yaxes=True)
    drawing = Drawing(house_style(figure, height=2 * body + 64 + 80, showlegend=False))
    fair = tr("Fairness (PF): below 0 the first shown gains")
    for panel, (measure, title) in enumerate({"pc": tr("Consistency (PC)"), "pf": fair}.items(), 1):
        place = {"row": panel, "col": 1}
        marks = []
        for row, (line, name) in enumerate(zip(lines, rows, strict=True)):
            value, (low, high) = getattr(line, measure), getattr(line, f"{measure}_ci")
            hover = tr(
                "{name}<br>{measured:.3f} ({low:.3f} to {high:.3f})",
                name=escape(name),
                measured=value,
                low=low,
                high=high,
            )
            marks.append(Mark(row, value, (low, high), hover, Behind(name, line.code, run=line.run)))
        colors = [judge_color(row) for row in range(len(rows))]
        drawing.dots(marks, color=colors, place=place, marker={"size": 10})
        drawing.rows(rows, place=place)
        figure.update_xaxes(title_text=title, **place)
    figure.update_xaxes(range=[0, 1.02], tickformat=".0%", row=1, col=1)
    drawing.level(x=0, place={"row": 2, "col": 1})
    words = "; ".join(
        tr("{name} {pc:.0%} and {pf:+.2f}", name=name, pc=line.pc, pf=line.pf)
        for line, name in zip(lines[:6], rows, strict=False)
    )
    return drawing.chart(tr("Consistency and fairness with 95 % intervals: {words}.", words=words))


@once
def difference_heatmap(pair: Contrast) -> Chart:
    """Cells of a less b, colours around 0; outlined where an interval that holds with all others at once leaves out 0.

    ``behind`` names arm a's judgments; those of b have the same score, criterion and position.
    Raises ValueError where the two have no cells to compare.
    """
    cells = pair.cells
    if cells is None:
        raise ValueError("these arms have no cells to compare")
    # A cell without an interval keeps its number, but no colour that would draw the eye.
    firm = np.where(np.isfinite(cells.low), cells.delta, np.nan)
    reach = max(float(np.nanmax(np.abs(firm), initial=0.0)), 0.05)
    scale = Scale(DIVERGING, -reach, reach)
    rows, columns = cells.delta.shape
    drawing = Drawing(x=tr("Position"), height=112 + 46 * rows)
    drawing.cells(
        firm,
        scale,
        x=list(cells.positions),
        text=lambda r, c: _cell_text(cells, r, c),
        hover=lambda r, c: _cell_hover(cells, r, c),
        behind=lambda r, c: _cell_behind(pair, cells, r, c),
    )
    frames = [_frame(r, c, scale.ink(firm[r, c])) for r, c in zip(*np.nonzero(cells.clear), strict=True)]
    drawing.shapes(frames)
    drawing.rows([cut(name, 18) for name in cells.rows])
    drawing.figure.update_xaxes(dtick=1, range=[0.5, columns + 0.5], showgrid=False)
    if cells.kind == "score":
        drawing.figure.update_yaxes(title_text=tr("Score"), range=[-0.5, rows - 0.5])
    drawing.figure.update_layout(showlegend=False)
    return drawing.chart(_difference_alt(cells))


def _frame(row: int, column: int, ink: str) -> dict[str, Any]:
    """A shape around a cell."""
    sides = {"x0": column + 1 - 0.43, "x1": column + 1 + 0.43, "y0": row - 0.39, "y1": row + 0.39}
    return {"type": "rect", **sides, "line": {"width": 2.5, "color": ink}}


@once
def difference_forest(pair: Contrast) -> Chart:
    """Every number of a less b with its 95 % interval; a panel for each unit.

    Intervals hold at once but for those of V and r. Where a verdict is given a band shows what is
    less than the smallest effect of interest.
    """
    panel = list(PANELS)
    known = [delta for delta in pair.deltas if np.isfinite(delta.delta)]
    known.sort(key=lambda delta: panel.index(delta.kind))
    panels: dict[str, list[Delta]] = {}
    for delta in known:
        panels.setdefault(PANELS[delta.kind], []).append(delta)
    sizes = [len(rows) for rows in panels.values()] or [1]
    gap, plot = 58, ROW * sum(sizes) + 10 * len(sizes)
    whole = plot + gap * (len(sizes) - 1)
    figure = make_subplots(
        rows=len(sizes),
        cols=1,
        row_heights=[size + 0.35 for size in sizes],
        vertical_spacing=gap / whole if len(sizes) > 1 else 0.0,
    )
    drawing = Drawing(house_style(figure, height=whole + 28 + 52, showlegend=False))
    for row, (title, deltas) in enumerate(panels.items(), start=1):
        place = {"row": row, "col": 1}
        factor = 100.0 if title.startswith("Points of share") else 1.0
        drawing.dots(
            [_delta_mark(pair, at, delta, factor) for at, delta in enumerate(deltas)],
            color=[_side(delta) for delta in deltas],
            place=place,
            marker={"size": 10},
        )
        _add_interest(drawing, deltas, place)
        drawing.rows([cut(measure_said(delta.measure), 26) for delta in deltas], place=place)
        kinds = {delta.kind for delta in deltas}
        alone = {"strength": "V", "agreement": "r"}.get(next(iter(kinds)), title)
        shown = tr(title if len(kinds) > 1 else alone)
        figure.update_xaxes(title_text=tr("{measure}, a less b", measure=shown), **place)
    words = ", ".join(f"{_told(delta)} ({_limits(delta)}){_verdict(delta)}" for delta in known[:8])
    alt = tr("Differences, first arm less second, with 95 % intervals, and verdicts: {words}.", words=words)
    return drawing.chart(alt if known else tr("No difference could be worked out."))


def _add_interest(drawing: Drawing, deltas: Sequence[Delta], place: Mapping[str, int]) -> None:
    """The line at 0, and the band of what is less than the smallest effect of interest."""
    drawing.level(x=0, place=place)
    sesoi = next((one.effect.sesoi for one in deltas if one.effect is not None), None)
    if sesoi is not None:
        shade = {"fillcolor": EVEN_LINE, "opacity": 0.16, "line_width": 0, "layer": "below"}
        drawing.figure.add_vrect(x0=-sesoi, x1=sesoi, **shade, **place)


def _cell_text(cells: Cells, r: int, c: int) -> str:
    value = cells.delta[r, c]
    if np.isnan(value):
        return "–"
    # Rounded first, so that a small negative number is no "-0".
    whole = round(100 * value) / (1 if cells.kind == "score" else 100)
    form = "+.0f" if cells.kind == "score" else "+.2f"
    text = number(whole, form) if whole else "0"
    return f"<b>{text}</b>" if cells.clear[r, c] else text


def _cell_hover(cells: Cells, r: int, c: int) -> str:
    row = tr("Score {score}", score=cells.rows[r]) if cells.kind == "score" else escape(cells.rows[r])
    head = tr("{row} at position {place}", row=row, place=cells.positions[c])
    if np.isnan(cells.delta[r, c]):
        return tr("{head}: unknown in one of the two", head=head)

    def points(table: Floats) -> str:
        value = table[r, c]
        return number(100 * value, "+.1f") if cells.kind == "score" else number(value, "+.2f")

    def own(table: Floats) -> str:
        return number(table[r, c], ".1%" if cells.kind == "score" else "+.2f")

    start = tr(
        "{head}: {delta} points<br>a {a}, b {b}<br>",
        head=head,
        delta=points(cells.delta),
        a=own(cells.a),
        b=own(cells.b),
    )
    if np.isnan(cells.low[r, c]):
        few = tr("too few items with this score for an interval")
        return f"{start}{few if cells.kind == 'score' else tr('too few texts for an interval')}"
    return tr(
        "{start}95 % interval {low} to {high}<br>all cells at once {low_all} to {high_all}",
        start=start,
        low=points(cells.low),
        high=points(cells.high),
        low_all=points(cells.low_all),
        high_all=points(cells.high_all),
    )


def _cell_behind(pair: Contrast, cells: Cells, r: int, c: int) -> Behind:
    position = cells.positions[c]
    if cells.kind == "score":
        name = tr("score {score} at position {place}", score=cells.rows[r], place=position)
        return Behind(name, pair.code_a, int(cells.rows[r]), position, run=pair.run_a)
    name = tr("{row} at position {place}", row=cells.rows[r], place=position)
    return Behind(name, pair.code_a, position=position, criterion=cells.rows[r], run=pair.run_a)


def _delta_behind(pair: Contrast, delta: Delta) -> Behind:
    place = int(delta.measure.split()[-1]) if delta.kind == "share" else None
    return Behind(measure_said(delta.measure), pair.code_a, position=place, run=pair.run_a)


def _difference_alt(cells: Cells) -> str:
    of_scores = tr("Heatmap: differences in P(position | score), first arm less second.")
    of_criteria = tr("Heatmap: differences in criterion shifts, first arm less second.")
    opening = of_scores if cells.kind == "score" else of_criteria
    if not np.isfinite(cells.delta).any():
        return tr("{opening} Nothing can be compared.", opening=opening)
    r, c = np.unravel_index(int(np.nanargmax(np.abs(cells.delta))), cells.delta.shape)
    value = cells.delta[r, c]
    return tr(
        "{opening} Largest {largest} points, {row} at position {place}; {clear} of {tested} cells leave 0 out of "
        "their intervals at once.",
        opening=opening,
        largest=number(100 * value, "+.0f") if cells.kind == "score" else number(value, "+.2f"),
        row=cells.rows[int(r)],
        place=int(c) + 1,
        clear=int(cells.clear.sum()),
        tested=cells.tested,
    )


def _delta_mark(pair: Contrast, row: int, delta: Delta, factor: float) -> Mark:
    ends = (factor * delta.ci_all.low, factor * delta.ci_all.high)
    return Mark(row, factor * delta.delta, ends, _delta_hover(delta), _delta_behind(pair, delta))


def _delta_hover(delta: Delta) -> str:
    return tr(
        "{measure}<br>a {a}, b {b}<br>difference {told} ({limits}){verdict}<br>{n_items:,} compared",
        measure=escape(measure_said(delta.measure)),
        a=_number(delta, delta.a),
        b=_number(delta, delta.b),
        told=_told(delta, name=False),
        limits=_limits(delta),
        verdict=_verdict(delta),
        n_items=delta.n_items,
    )


def _verdict(delta: Delta) -> str:
    if delta.effect is None:
        return ""
    why = f" ({escape(tr(delta.effect.why))})" if delta.effect.why else ""
    return f", {verdict_said(delta.effect.verdict)}{why}"


def _side(delta: Delta) -> str:
    """Orange over, blue under, grey where 0 is in the interval, or too near to be of interest."""
    if delta.effect is not None and delta.effect.verdict != "effect":
        return EVEN_LINE
    if delta.ci_all.low > 0:
        return OVER
    return UNDER if delta.ci_all.high < 0 else EVEN_LINE


def _percent(delta: Delta) -> bool:
    return delta.kind in ("share", "rate")


def _number(delta: Delta, value: float) -> str:
    return number(value, ".1%" if _percent(delta) else ".3f")


def _told(delta: Delta, *, name: bool = True) -> str:
    points = tr("{delta:+.1f} points", delta=100 * delta.delta)
    text = points if _percent(delta) else number(delta.delta, "+.3f")
    return f"{measure_said(delta.measure)} {text}" if name else text


def _limits(delta: Delta) -> str:
    low, high = delta.ci_all
    if not np.isfinite(low):
        return tr("no interval")
    return interval((100 * low, 100 * high), "+.1f") if _percent(delta) else interval((low, high), "+.3f")
