"""Pictures of rank reversal: how often the winner changes, and how far the rankings agree."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go

from rubriclab.figures.style import EVEN_LINE, Chart, judge_color, new_figure
from rubriclab.findings.ranking import RankReversal, Share


def flip_bars(pairs: Sequence[RankReversal], *, strict: bool = False) -> Chart:
    """Share of prompts whose winner changes, with its interval; a bar a judge and pair."""
    shares = [pair.top1_flip_strict if strict else pair.top1_flip for pair in pairs]
    rows = [_row(pair) for pair in pairs]
    figure = new_figure(x="Prompts whose winner changes", height=120 + 38 * max(1, len(rows)))
    value, error = _with_error(shares)
    figure.add_bar(
        x=value,
        y=list(range(len(rows))),
        orientation="h",
        marker_color=judge_color(0),
        error_x=error,
        customdata=[[*share.ci, share.n] for share in shares],
        hovertemplate=(
            "%{x:.1%} of %{customdata[2]:,} prompts<br>95 % interval "
            "%{customdata[0]:.1%} to %{customdata[1]:.1%}<extra></extra>"
        ),
    )
    figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    _named_rows(figure, rows)
    parts = [f"{row} {share.value:.0%}" for row, share in zip(rows, shares, strict=True)][:8]
    said = "; ".join(parts) if parts else "nothing to show"
    return Chart(figure, f"Share of prompts whose top candidate changes: {said}.")


def tau_dots(pairs: Sequence[RankReversal]) -> Chart:
    """Mean Kendall tau-b between the two rankings, with its interval; 1 is the same ranking."""
    rows = [_row(pair) for pair in pairs]
    figure = new_figure(
        x="Mean Kendall tau-b between rankings", height=120 + 34 * max(1, len(rows))
    )
    value, error = _with_error([pair.kendall_tau for pair in pairs])
    figure.add_scatter(
        x=value,
        y=list(range(len(rows))),
        mode="markers",
        marker={"size": 10, "color": judge_color(0)},
        error_x=error,
        customdata=[[*pair.kendall_tau.ci, pair.kendall_tau.n, pair.excluded] for pair in pairs],
        hovertemplate=(
            "tau %{x:.2f} [%{customdata[0]:.2f}, %{customdata[1]:.2f}]<br>%{customdata[2]:,} "
            "prompts, %{customdata[3]:,} left out (all tied)<extra></extra>"
        ),
    )
    figure.add_vline(x=1, line_dash="dot", line_color=EVEN_LINE)
    _named_rows(figure, rows)
    parts = [f"{row} {pair.kendall_tau.value:.2f}" for row, pair in zip(rows, pairs, strict=True)]
    said = "; ".join(parts[:8]) if parts else "nothing to show"
    return Chart(figure, f"Agreement of rankings (mean Kendall tau): {said}.")


def _named_rows(figure: go.Figure, rows: Sequence[str]) -> None:
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[
            escape(row).replace(" · ", "<br>") if len(row) > 24 else escape(row) for row in rows
        ],
        range=[len(rows) - 0.4, -0.6],
        showgrid=False,
    )


def _row(pair: RankReversal) -> str:
    parts = [pair.judge, pair.dataset, f"{pair.a} vs {pair.b}"]
    return " · ".join([*parts, str(pair.variant)] if pair.variant.levels else parts)


def _with_error(shares: Sequence[Share]) -> tuple[list[float], dict[str, object]]:
    value = np.array([share.value for share in shares], dtype=np.float64)
    low = np.array([share.ci.low for share in shares], dtype=np.float64)
    high = np.array([share.ci.high for share in shares], dtype=np.float64)
    error = {
        "type": "data",
        "symmetric": False,
        "array": high - value,
        "arrayminus": value - low,
        "thickness": 1.5,
        "color": EVEN_LINE,
    }
    return value.tolist(), error
