"""The chart of pairs against rubric. Every name is a user's text and is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np
from plotly.subplots import make_subplots

from rubriclab.figures.marks import Drawing, Mark, cut
from rubriclab.figures.style import ACCENT, OVER, Chart, house_style, once
from rubriclab.findings.protocols import ProtocolComparison
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many, number

_SHORT = 20


@once
def protocols(both_ways: ProtocolComparison) -> Chart:
    """Win rate against mean rubric score by candidate, and both protocols' flips below."""
    figure = make_subplots(rows=2, cols=1, row_heights=[0.72, 0.28], vertical_spacing=0.2)
    above, below = {"row": 1, "col": 1}, {"row": 2, "col": 1}
    drawing = Drawing(house_style(figure, height=520))
    _candidates(drawing, both_ways, above)
    both = {msg("pairs"): both_ways.pairs, msg("rubric"): both_ways.rubric}
    drawing.bars(
        [
            Mark(
                row,
                part.flip_rate,
                part.flip_ci,
                tr(
                    "{name}: {flip_rate:.1%} of decisions flip<br>{decisions_per_call:.2f} decisions a call, "
                    "{stable_per_call:.2f} of them stable",
                    name=tr(name),
                    flip_rate=part.flip_rate,
                    decisions_per_call=part.decisions_per_call,
                    stable_per_call=part.stable_per_call,
                ),
            )
            for row, (name, part) in enumerate(both.items())
        ],
        color=[OVER, ACCENT],
        place=below,
    )
    drawing.rows([tr(name) for name in both], place=below)
    title = tr("Decisions that flip with the order")
    figure.update_xaxes(title_text=title, tickformat=".0%", rangemode="tozero", **below)
    return drawing.chart(_protocol_words(both_ways))


def _candidates(drawing: Drawing, both_ways: ProtocolComparison, place: Mapping[str, int]) -> None:
    """Win rate against mean rubric score, a named dot a candidate."""
    drawing.dots(
        [
            Mark(
                row.score,
                row.owr,
                hover=tr(
                    "{candidate}<br>win rate {owr:.2f} (rank {owr_rank:g})<br>rubric {score:.2f} (rank {score_rank:g})",
                    candidate=escape(row.candidate),
                    owr=row.owr,
                    owr_rank=row.owr_rank,
                    score=row.score,
                    score_rank=row.score_rank,
                ),
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
    drawing.figure.update_xaxes(title_text=tr("Mean rubric score"), range=scores, **place)
    drawing.figure.update_yaxes(title_text=tr("Overall win rate"), range=rates, **place)


def _protocol_words(both_ways: ProtocolComparison) -> str:
    parts = [
        tr(
            "{name}: {share} of decisions flip with the order, {stable} stable decisions a call",
            name=name,
            share=_percent(part.flip_rate),
            stable=_number(part.stable_per_call),
        )
        for name, part in ((tr("pairs"), both_ways.pairs), (tr("rubric"), both_ways.rubric))
    ]
    return tr(
        "{judge}: {candidates} by win rate and by mean rubric score, Kendall's tau {tau}. {parts}.",
        judge=both_ways.judge,
        candidates=many(len(both_ways.candidates), "candidate"),
        tau=_number(both_ways.tau),
        parts="; ".join(parts),
    )


def _roomy(values: Sequence[float]) -> list[float] | None:
    """An axis range with a fifth of the span free on both sides, for labels beside points."""
    known = [value for value in values if np.isfinite(value)]
    if not known:
        return None
    room = 0.2 * (max(known) - min(known)) or 0.1
    return [min(known) - room, max(known) + room]


def _number(value: float) -> str:
    return number(value, ".3f", unknown=tr("not known"))


def _percent(value: float) -> str:
    return number(value, ".0%")
