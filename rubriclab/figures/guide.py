"""The three pictures of the first visit: scores by order, positions picked, means of reads."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from rubriclab.figures.style import ACCENT, EVEN_LINE, OVER, Chart, judge_color, new_figure
from rubriclab.findings.guide import MeansOfReads, PickedPositions
from rubriclab.findings.reads import Read

HEIGHT = 320


def score_by_order(reads: Sequence[Read], *, marked: int, scores: Sequence[int]) -> Chart:
    """The score an answer got under each order, as steps; the order ``marked`` (0-based) lit."""
    told = [(i + 1, read) for i, read in enumerate(reads) if read.score is not None]
    figure = new_figure(x="Order of the descriptions", y="Score given", height=HEIGHT)
    figure.add_scatter(
        x=[x for x, _ in told],
        y=[read.score for _, read in told],
        mode="lines+markers",
        line={"color": EVEN_LINE, "width": 1.5, "dash": "dot"},
        marker={
            "color": [OVER if x == marked + 1 else ACCENT for x, _ in told],
            "size": [20 if x == marked + 1 else 11 for x, _ in told],
            "opacity": 1,
            "line": {"width": 0},
        },
        hovertext=[
            f"order {x}: {escape(' '.join(read.shown))}<br>score {read.score:g}" for x, read in told
        ],
        hoverinfo="text",
    )
    figure.update_xaxes(dtick=1, range=[0.4, len(reads) + 0.6])
    figure.update_yaxes(dtick=1, range=[min(scores) - 0.4, max(scores) + 0.4])
    figure.update_layout(showlegend=False, dragmode=False)
    listed = ", ".join(f"{read.score:g}" for _, read in told)
    here = reads[marked].score
    lit = "could not be read" if here is None else f"gave {here:g}"
    return Chart(
        figure, f"Scores of one answer, order by order: {listed}. Order {marked + 1} {lit}."
    )


def position_bars(found: Sequence[PickedPositions], *, top: float) -> Chart:
    """Shares of the positions picked, one colour a judge; dotted: what an even judge shows.

    ``top``: the largest share in any step of the story, so that the axis stands still.
    """
    figure = new_figure(x="Position in the list", y="Share of judgments", height=HEIGHT)
    for index, one in enumerate(found):
        figure.add_bar(
            x=np.arange(1, len(one.share) + 1),
            y=one.share,
            name=escape(one.arm.judge),
            marker_color=judge_color(index),
            customdata=one.counts,
            hovertemplate="position %{x}: %{y:.0%} (%{customdata:,} judgments)",
        )
    n = max((len(one.share) for one in found), default=1)
    figure.add_hline(
        y=1 / n, line={"color": EVEN_LINE, "width": 2, "dash": "dot"},
        annotation={"text": "even", "font": {"color": EVEN_LINE},
                    "xanchor": "right", "yanchor": "bottom"},
    )  # fmt: skip
    figure.update_xaxes(dtick=1, range=[0.5, n + 0.5])
    figure.update_yaxes(tickformat=".0%", range=[0, min(1.0, 1.08 * top)])
    figure.update_layout(barmode="group", showlegend=len(found) > 1, dragmode=False)
    said = "; ".join(
        f"{one.arm.judge}, {one.read:,} judgments: "
        + ", ".join(f"{share:.0%}" for share in one.share)
        for one in found
    )
    return Chart(figure, f"Share of judgments that picked each position, first to last. {said}.")


def means_by_item(found: MeansOfReads, *, scores: Sequence[int]) -> Chart:
    """Each answer's mean over all orders as a dot, and where means of k reads fall as a bar."""
    figure = new_figure(x="Answers, from the lowest mean to the highest", y="Score", height=HEIGHT)
    x = np.arange(1, len(found.names) + 1)
    for low, high, at in zip(found.low, found.high, x, strict=True):
        figure.add_shape(
            type="line", x0=at, x1=at, y0=low, y1=high, layer="below",
            line={"color": "rgba(0,114,178,0.45)", "width": 7},
        )  # fmt: skip
    figure.add_scatter(
        x=x,
        y=found.overall,
        mode="markers",
        marker={"color": OVER, "size": 9},
        customdata=np.stack([found.low, found.high], axis=1),
        hovertext=[escape(name) for name in found.names],
        hovertemplate=(
            "%{hovertext}<br>mean over all orders %{y:.2f}<br>"
            "95 % of the choices: %{customdata[0]:.2f} to %{customdata[1]:.2f}<extra></extra>"
        ),
    )
    figure.update_xaxes(showticklabels=False, range=[0.2, len(x) + 0.8])
    figure.update_yaxes(dtick=1, range=[min(scores) - 0.2, max(scores) + 0.2])
    figure.update_layout(showlegend=False, dragmode=False)
    return Chart(
        figure,
        f"Means of {found.k} of {found.reads} reads for {len(found.names)} answers of {found.arm.judge}: "
        f"on average {found.distance:.2f} points from the mean over all orders.",
    )
