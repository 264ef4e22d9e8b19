"""The pictures of the first visit: scores by order, noise, positions picked, means of reads."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from rubriclab.figures.marks import Drawing, Mark
from rubriclab.figures.style import ACCENT, EVEN_LINE, OVER, Chart, judge_color, once
from rubriclab.findings.guide import MeansOfReads, OrderBesideNoise, PickedPositions
from rubriclab.findings.reads import Read
from rubriclab.model.language import tr
from rubriclab.model.wording import many, number

HEIGHT = 320


@once
def score_by_order(reads: Sequence[Read], *, marked: int, scores: Sequence[int]) -> Chart:
    """The score an answer got under each order, as steps; the order ``marked`` (0-based) lit."""
    scored = [(i + 1, read.score, read) for i, read in enumerate(reads) if read.score is not None]
    drawing = Drawing(x=tr("Order of the descriptions"), y=tr("Score given"), height=HEIGHT)
    lit = [x == marked + 1 for x, _, _ in scored]
    drawing.dots(
        [
            Mark(
                x,
                score,
                hover=tr("order {x}: {shown}<br>score {score:g}", x=x, shown=escape(" ".join(read.shown)), score=score),
            )
            for x, score, read in scored
        ],
        color=[OVER if here else ACCENT for here in lit],
        upright=True,
        joined=True,
        line={"color": EVEN_LINE, "width": 1.5, "dash": "dot"},
        marker={"size": [20 if here else 11 for here in lit], "opacity": 1, "line": {"width": 0}},
    )
    drawing.figure.update_xaxes(dtick=1, range=[0.4, len(reads) + 0.6])
    drawing.figure.update_yaxes(dtick=1, range=[min(scores) - 0.4, max(scores) + 0.4])
    drawing.figure.update_layout(showlegend=False)
    told = tr("Scores of one answer, order by order: {scores}. ", scores=", ".join(f"{s:g}" for _, s, _ in scored))
    here = reads[marked].score
    if here is None:
        return drawing.chart(told + tr("Order {order} could not be read.", order=marked + 1))
    return drawing.chart(told + tr("Order {order} gave {score:g}.", order=marked + 1, score=here))


@once
def noise_bars(arms: Sequence[OrderBesideNoise]) -> Chart:
    """Of each judge two bars: how often two readings differ in the same order, and in others."""
    drawing = Drawing(y="", x=tr("Pairs of readings with different scores"), height=80 + 74 * len(arms))
    kinds = ((tr("the same order"), EVEN_LINE, "same"), (tr("different orders"), OVER, "other"))
    for name, color, part in kinds:
        marks = [
            Mark(
                row,
                value,
                hover=tr(
                    "{judge}, {orders}: {share:.0%} of pairs", judge=escape(arm.arm.judge), orders=name, share=value
                ),
            )
            for row, arm in enumerate(arms)
            if np.isfinite(value := getattr(arm, part))
        ]
        drawing.bars(marks, name=name, color=color)
    drawing.rows([arm.arm.judge for arm in arms])
    drawing.figure.update_xaxes(tickformat=".0%", range=[-0.004, 1])
    drawing.figure.update_layout(barmode="group", legend={"traceorder": "normal"})
    words = "; ".join(
        tr(
            "{judge} {same:.0%} in the same order, {other:.0%} in different orders",
            judge=arm.arm.judge,
            same=arm.same,
            other=arm.other,
        )
        for arm in arms
        if arm.control is not None
    )
    return drawing.chart(tr("Share of pairs of readings that give different scores: {words}.", words=words))


@once
def position_bars(arms: Sequence[PickedPositions], *, top: float) -> Chart:
    """Shares of the positions picked, one colour a judge; dotted: what an even judge shows.

    ``top``: the largest share in any step of the story, so that the axis stands still.
    """
    drawing = Drawing(x=tr("Position in the list"), y=tr("Share of judgments"), height=HEIGHT)
    for index, arm in enumerate(arms):
        picked = enumerate(zip(arm.share, arm.counts, strict=True), start=1)
        drawing.bars(
            [
                Mark(
                    p,
                    share,
                    hover=tr(
                        "position {p}: {share:.0%} ({judgments})", p=p, share=share, judgments=many(count, "judgment")
                    ),
                )
                for p, (share, count) in picked
            ],
            name=arm.arm.judge,
            color=judge_color(index),
            upright=True,
        )
    n = max((len(arm.share) for arm in arms), default=1)
    drawing.level(y=1 / n, text=tr("even"))
    drawing.figure.update_xaxes(dtick=1, range=[0.5, n + 0.5])
    drawing.figure.update_yaxes(tickformat=".0%", range=[0, min(1.0, 1.08 * top)])
    drawing.figure.update_layout(barmode="group", showlegend=len(arms) > 1)
    words = "; ".join(
        f"{arm.arm.judge}, {many(arm.read, 'judgment')}: " + ", ".join(number(share, ".0%") for share in arm.share)
        for arm in arms
    )
    return drawing.chart(tr("Share of judgments that picked each position, first to last. {words}.", words=words))


@once
def means_by_item(means: MeansOfReads, *, scores: Sequence[int]) -> Chart:
    """Each answer's mean over all orders as a dot, and where means of k reads fall as a bar."""
    title = tr("Answers, from the lowest mean to the highest")
    drawing = Drawing(x=title, y=tr("Score"), height=HEIGHT)
    items = zip(means.names, means.overall, means.low, means.high, strict=True)
    marks = [
        Mark(
            at,
            mean,
            hover=tr(
                "{name}<br>mean over all orders {mean:.2f}<br>95 % of the choices: {low:.2f} to {high:.2f}",
                name=escape(name),
                mean=mean,
                low=low,
                high=high,
            ),
        )
        for at, (name, mean, low, high) in enumerate(items, start=1)
    ]
    line = {"color": "rgba(0,114,178,0.45)", "width": 7}
    bars = [
        {"type": "line", "x0": mark.at, "x1": mark.at, "y0": low, "y1": high, "layer": "below", "line": line}
        for low, high, mark in zip(means.low, means.high, marks, strict=True)
    ]
    drawing.shapes(bars)
    drawing.dots(marks, color=OVER, upright=True)
    drawing.figure.update_xaxes(showticklabels=False, range=[0.2, len(marks) + 0.8])
    drawing.figure.update_yaxes(dtick=1, range=[min(scores) - 0.2, max(scores) + 0.2])
    drawing.figure.update_layout(showlegend=False)
    return drawing.chart(
        tr(
            "Means of {k} of {reads} reads for {answers} of {judge}: on average {distance:.2f} points from "
            "the mean over all orders.",
            k=means.k,
            reads=means.reads,
            answers=many(len(means.names), "answer"),
            judge=means.arm.judge,
            distance=means.distance,
        )
    )
