"""Charts of public logs: a forest of advantages with the pooled one at its foot, and by quality gap."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from rubriclab.figures.marks import LONGEST, Drawing, Mark, cut, listed, verdict_said
from rubriclab.figures.style import ACCENT, EVEN_LINE, OVER, UNDER, Chart, once
from rubriclab.findings.gallery import POINTS, GalleryResult, LoggedAdvantage
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number

NAMED = 60
"""Rows beyond which names only stand in the hover."""
_AXIS = msg("Points for the first place")


@once
def forest(result: GalleryResult) -> Chart:
    """A row a log, the largest advantage on top; the pooled estimate and the prediction at the foot."""
    rows, pooled = [row for row in result.rows if np.isfinite(row.value)], result.pooled
    named = len(rows) <= NAMED
    row_height = 24 if named else 9
    foot = len(rows) - 0.5 + 26 / row_height
    drawing = Drawing(x=tr(_AXIS), height=int(96 + row_height * len(rows) + (60 if pooled else 0)))
    drawing.level(x=0)
    marks = [Mark(at, POINTS * row.value, _ends(row), _hover(row)) for at, row in enumerate(rows)]
    size = {"size": 9 if named else 5}
    drawing.dots(marks, color=[UNDER if row.value < 0 else OVER for row in rows], marker=size)
    if not named:
        drawing.figure.update_traces(error_x={"width": 0, "thickness": 1})
    if pooled is not None:
        ahead = [POINTS * end for end in pooled.prediction]
        words = tr(
            "Pooled over {k}: {pooled} ({between})",
            k=pooled.k,
            pooled=number(POINTS * pooled.value, "+.1f"),
            between=_between(pooled.interval),
        )
        if np.isfinite(ahead).all():
            hover = tr("One more model like these: {ahead}", ahead=interval(ahead, "+.1f"))
            drawing.figure.add_scatter(
                x=ahead,
                y=[foot, foot],
                mode="lines",
                line={"color": EVEN_LINE, "width": 2, "dash": "dot"},
                hovertext=hover,
                hoverinfo="text",
                showlegend=False,
            )
        pooled_mark = Mark(foot, POINTS * pooled.value, [POINTS * end for end in pooled.interval], words)
        drawing.dots([pooled_mark], color=ACCENT, marker={"size": 14, "symbol": "diamond"})
        drawing.figure.add_hline(y=len(rows) - 0.5 + 7 / row_height, line={"color": EVEN_LINE, "width": 1}, opacity=0.5)
    drawing.figure.update_xaxes(range=_reach(rows, result))
    names = [row.name for row in rows] if named else []
    _name_rows(drawing, names, foot if pooled else None, len(rows))
    return drawing.chart(_forest_words(rows, result))


def _reach(rows: Sequence[LoggedAdvantage], result: GalleryResult) -> list[float]:
    """The axis: all intervals and 0, with room beside them."""
    ends = [0.0, *(end for row in rows for end in _ends(row) if np.isfinite(end))]
    if result.pooled is not None:
        ends += [POINTS * end for end in result.pooled.prediction if np.isfinite(end)]
    room = 0.06 * max(max(ends) - min(ends), 10.0)
    return [min(ends) - room, max(ends) + room]


def _name_rows(drawing: Drawing, names: Sequence[str], foot: float | None, count: int) -> None:
    ticks, texts = [float(k) for k in range(len(names))], [escape(cut(name, LONGEST)) for name in names]
    if foot is not None:
        ticks, texts = [*ticks, foot], [*texts, tr("<b>All, pooled</b>")]
    end = count - 0.4 if foot is None else foot + (foot - count + 0.5)
    drawing.figure.update_yaxes(tickvals=ticks, ticktext=texts, range=[end, -0.7], showgrid=False)
    drawing.figure.update_xaxes(showgrid=True, gridcolor="rgba(128,128,128,0.18)", ticksuffix="")


@once
def by_gap(result: GalleryResult) -> Chart:
    """Advantage over quality gap, a dot a log, with the line of the random-effects regression."""
    rows = [row for row in result.rows if np.isfinite(row.value) and np.isfinite(row.gap)]
    drawing = Drawing(x=tr("Win rate away from 50 %, points"), y=tr(_AXIS), height=380)
    drawing.level(y=0)
    marks = [Mark(POINTS * row.gap, POINTS * row.value, _ends(row), _hover(row)) for row in rows]
    drawing.dots(marks, color=ACCENT, upright=True, marker={"size": 8, "opacity": 0.85})
    line = result.by_gap
    if line is not None and rows:
        ends = np.array([min(row.gap for row in rows), max(row.gap for row in rows)])
        drawing.figure.add_scatter(
            x=(POINTS * ends).tolist(),
            y=(POINTS * (line.intercept + line.slope * ends)).tolist(),
            mode="lines",
            line={"color": OVER, "width": 2},
            hoverinfo="skip",
            showlegend=False,
        )
    drawing.figure.update_xaxes(showgrid=True, gridcolor="rgba(128,128,128,0.18)", rangemode="tozero")
    said = (
        ""
        if line is None
        else tr(" A line through them falls or rises by {slope:+.1f} for 10 points.", slope=POINTS * line.slope / 10)
    )
    told = [
        tr("{name} {gap:.0f}, {advantage:+.1f}", name=row.name, gap=POINTS * row.gap, advantage=POINTS * row.value)
        for row in rows[:12]
    ]
    return drawing.chart(
        tr("Advantage of the first place over quality gap: {told}.{said}", told=listed(told, of=len(rows)), said=said)
    )


def _ends(row: LoggedAdvantage) -> list[float]:
    return [POINTS * end for end in row.first.effect.interval]


def _between(ends: Sequence[float]) -> str:
    return interval([POINTS * end for end in ends], "+.1f")


def _hover(row: LoggedAdvantage) -> str:
    rate = tr("<br>win rate {rate:.1f} %", rate=POINTS * row.win_rate) if np.isfinite(row.win_rate) else ""
    value, between = number(POINTS * row.value, "+.1f"), _between(row.first.effect.interval)
    verdict, comparisons = verdict_said(row.first.effect.verdict), many(row.first.comparisons, "comparison")
    return f"{escape(row.name)}<br>{value} ({between}): {verdict}<br>{comparisons}, {tr(row.first.design)}{rate}"


def _forest_words(rows: Sequence[LoggedAdvantage], result: GalleryResult) -> str:
    told = [
        f"{row.name} {number(POINTS * row.value, '+.1f')} ({_between(row.first.effect.interval)})" for row in rows[:12]
    ]
    pooled = ""
    if result.pooled is not None:
        pooled = tr(
            " Pooled {pooled:+.1f} ({between}).",
            pooled=POINTS * result.pooled.value,
            between=_between(result.pooled.interval),
        )
    return tr(
        "Points more wins for the answer shown first, with intervals: {told}.{pooled}",
        told=listed(told, of=len(rows)),
        pooled=pooled,
    )
