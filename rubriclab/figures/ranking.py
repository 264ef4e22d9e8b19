"""Pictures of rank reversal: how often the winner changes, and how far the rankings agree."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import plotly.graph_objects as go

from rubriclab.figures.style import (
    EVEN_LINE,
    Behind,
    Chart,
    judge_color,
    new_figure,
    with_behind,
)
from rubriclab.findings.ranking import RankReversal, Share


def flip_bars(pairs: Sequence[RankReversal], *, strict: bool = False) -> Chart:
    """Share of prompts whose winner changes; a row a judge and data set, a colour a pair."""
    rows, kinds = _rows(pairs), _kinds(pairs)
    figure = new_figure(x="Prompts whose winner changes", height=_height(rows, kinds))
    for index, kind in enumerate(kinds):
        mine = [pair for pair in pairs if (pair.a, pair.b) == kind]
        shares = [pair.top1_flip_strict if strict else pair.top1_flip for pair in mine]
        value, error = _with_error(shares)
        figure.add_bar(
            x=value,
            y=[rows.index(_place(pair)) for pair in mine],
            orientation="h",
            name=escape(f"{kind[0]} vs {kind[1]}"),
            marker_color=judge_color(index),
            error_x=error,
            customdata=[[*share.ci, share.n] for share in shares],
            hovertemplate=(
                "%{x:.1%} of %{customdata[2]:,} prompts<br>95 % interval "
                "%{customdata[0]:.1%} to %{customdata[1]:.1%}"
            ),
        )
    figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    figure.update_layout(barmode="group", showlegend=bool(kinds))
    _named_rows(figure, rows)
    parts = [
        f"{_place(p)} ({p.a} vs {p.b}) {(p.top1_flip_strict if strict else p.top1_flip).value:.0%}"
        for p in pairs[:8]
    ]
    said = "; ".join(parts) if parts else "nothing to show"
    alt = f"Share of prompts whose top candidate changes: {said}."
    return with_behind(figure, alt, _behind(pairs, kinds))


def tau_dots(pairs: Sequence[RankReversal]) -> Chart:
    """Mean Kendall tau-b between the two rankings, with its interval; 1 is the same ranking."""
    rows, kinds = _rows(pairs), _kinds(pairs)
    figure = new_figure(x="Mean Kendall tau-b of the rankings", height=_height(rows, kinds))
    for index, kind in enumerate(kinds):
        mine = [pair for pair in pairs if (pair.a, pair.b) == kind]
        value, error = _with_error([pair.kendall_tau for pair in mine])
        offset = (index - (len(kinds) - 1) / 2) * 0.7 / len(kinds)
        figure.add_scatter(
            x=value,
            y=[rows.index(_place(pair)) + offset for pair in mine],
            mode="markers",
            name=escape(f"{kind[0]} vs {kind[1]}"),
            marker={"size": 10, "color": judge_color(index)},
            error_x=error,
            customdata=[[*p.kendall_tau.ci, p.kendall_tau.n, p.excluded] for p in mine],
            hovertemplate=(
                "tau %{x:.2f} [%{customdata[0]:.2f}, %{customdata[1]:.2f}]<br>%{customdata[2]:,} "
                "prompts, %{customdata[3]:,} left out (all tied)"
            ),
        )
    figure.add_vline(x=1, line_dash="dot", line_color=EVEN_LINE)
    figure.update_layout(showlegend=bool(kinds))
    _named_rows(figure, rows)
    parts = [f"{_place(p)} ({p.a} vs {p.b}) {p.kendall_tau.value:.2f}" for p in pairs[:8]]
    said = "; ".join(parts) if parts else "nothing to show"
    alt = f"Agreement of rankings (mean Kendall tau): {said}."
    return with_behind(figure, alt, _behind(pairs, kinds))


def _behind(
    pairs: Sequence[RankReversal], kinds: Sequence[tuple[str, str]]
) -> dict[int, list[Behind | None]]:
    """A point rests on two arms; it leads to the first, from where the other is one choice away."""
    return {
        index: [
            Behind(f"{_place(pair)} · {pair.a} (against {pair.b})", arm=pair.code_a)
            for pair in pairs
            if (pair.a, pair.b) == kind
        ]
        for index, kind in enumerate(kinds)
    }


def _rows(pairs: Sequence[RankReversal]) -> list[str]:
    return list(dict.fromkeys(_place(pair) for pair in pairs))


def _kinds(pairs: Sequence[RankReversal]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((pair.a, pair.b) for pair in pairs))


def _height(rows: Sequence[str], kinds: Sequence[object]) -> int:
    return 120 + 30 * max(1, len(rows)) * max(1, len(kinds))


def _named_rows(figure: go.Figure, rows: Sequence[str]) -> None:
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[
            escape(row).replace(" · ", "<br>") if len(row) > 24 else escape(row) for row in rows
        ],
        range=[len(rows) - 0.4, -0.6],
        showgrid=False,
    )


def _place(pair: RankReversal) -> str:
    parts = [pair.judge, pair.dataset]
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
