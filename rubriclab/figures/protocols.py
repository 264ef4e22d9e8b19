"""The chart of pairs against rubric. Every name is a user's text and is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from plotly.subplots import make_subplots

from rubriclab.figures.marks import Drawing, Mark, cut
from rubriclab.figures.style import ACCENT, OVER, Chart, house_style
from rubriclab.findings.protocols import ProtocolComparison
from rubriclab.model.wording import many

_SHORT = 20


def protocols(both_ways: ProtocolComparison) -> Chart:
    """Win rate against mean rubric score by candidate, and both protocols' flips below."""
    figure = make_subplots(rows=2, cols=1, row_heights=[0.72, 0.28], vertical_spacing=0.2)
    above, below = {"row": 1, "col": 1}, {"row": 2, "col": 1}
    drawing = Drawing(house_style(figure, height=520))
    _candidates(drawing, both_ways, above)
    both = {"pairs": both_ways.pairs, "rubric": both_ways.rubric}
    drawing.bars(
        [
            Mark(
                row,
                part.flip_rate,
                part.flip_ci,
                f"{name}: {part.flip_rate:.1%} of decisions flip<br>{part.decisions_per_call:.2f} "
                f"decisions a call, {part.stable_per_call:.2f} of them stable",
            )
            for row, (name, part) in enumerate(both.items())
        ],
        color=[OVER, ACCENT],
        place=below,
    )
    drawing.rows(list(both), place=below)
    title = "Decisions that flip with the order"
    figure.update_xaxes(title_text=title, tickformat=".0%", rangemode="tozero", **below)
    return drawing.chart(_protocol_words(both_ways))


def _candidates(drawing: Drawing, both_ways: ProtocolComparison, place: Mapping[str, int]) -> None:
    """Win rate against mean rubric score, a named dot a candidate."""
    drawing.dots(
        [
            Mark(
                row.score,
                row.owr,
                hover=f"{escape(row.candidate)}<br>win rate {row.owr:.2f} (rank {row.owr_rank:g})"
                f"<br>rubric {row.score:.2f} (rank {row.score_rank:g})",
            )
            for row in both_ways.candidates
        ],
        color=ACCENT,
        upright=True,
        place=place,
        marker={"size": 10},
        text=[escape(cut(row.candidate, _SHORT)) for row in both_ways.candidates],
        textposition="top center",
        cliponaxis=False,
    )
    drawing.figure.data[-1].update(mode="markers+text")
    scores = _roomy([row.score for row in both_ways.candidates])
    rates = _roomy([row.owr for row in both_ways.candidates])
    drawing.figure.update_xaxes(title_text="Mean rubric score", range=scores, **place)
    drawing.figure.update_yaxes(title_text="Overall win rate", range=rates, **place)


def _protocol_words(both_ways: ProtocolComparison) -> str:
    parts = [
        f"{name}: {_percent(part.flip_rate)} of decisions flip with the order, "
        f"{_number(part.stable_per_call)} stable decisions a call"
        for name, part in (("pairs", both_ways.pairs), ("rubric", both_ways.rubric))
    ]
    return (
        f"{both_ways.judge}: {many(len(both_ways.candidates), 'candidate')} by win rate and by mean rubric score, "
        f"Kendall's tau {_number(both_ways.tau)}. {'; '.join(parts)}."
    )


def _roomy(values: Sequence[float]) -> list[float] | None:
    """An axis range with a fifth of the span free on both sides, for labels beside points."""
    known = [value for value in values if np.isfinite(value)]
    if not known:
        return None
    room = 0.2 * (max(known) - min(known)) or 0.1
    return [min(known) - room, max(known) + room]


def _number(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "not known"


def _percent(value: float) -> str:
    return f"{value:.0%}" if np.isfinite(value) else "–"
