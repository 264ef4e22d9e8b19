"""How often tests reject and intervals hold, judge by judge, with Monte Carlo error bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from rubriclab.figures.style import EVEN_LINE, OVER, UNDER, Chart, new_figure
from rubriclab.findings.check import (
    COVERAGE_RANGE,
    LAB_TEST,
    LEVEL_RANGE,
    PAPERS_TEST,
    Check,
    Quantity,
)

BARS = "Bars: ±1.96 Monte Carlo standard errors."
NAMES = {LAB_TEST: "the lab's test", PAPERS_TEST: "chi² as in the papers"}


def rejection(checks: Sequence[Check], *, quantity: Quantity = "type-I error") -> Chart:
    """Rejection rates of the lab's test and of the papers' chi-square by judge.

    For the type-I error with the nominal 5 % line and the range promised.
    """
    shown = [c for c in checks if c.quantity == quantity and c.method in NAMES]
    figure = _frame(shown, "studies in which the test rejects")
    if quantity == "type-I error":
        _promise(figure, 0.05, LEVEL_RANGE)
    for method, color, symbol in ((LAB_TEST, UNDER, "circle"), (PAPERS_TEST, OVER, "diamond")):
        side = -0.12 if method == LAB_TEST else 0.12
        mine = [c for c in shown if c.method == method]
        figure.add_trace(_points(mine, shown, NAMES[method], color, symbol, side))
    figure.update_xaxes(range=[-0.01, _reach(shown)])
    what = "although nothing is planted" if quantity == "type-I error" else "what is planted"
    parts = [f"{c.judge}, {NAMES[c.method]}: {c.value:.1%}" for c in shown]
    return Chart(figure, f"How often each test rejects {what}. " + "; ".join(parts) + f". {BARS}")


def coverage(checks: Sequence[Check]) -> Chart:
    """How often 95 % intervals hold the true value, by judge, one colour a quantity."""
    shown = [c for c in checks if c.quantity == "coverage"]
    figure = _frame(shown, "studies in which the interval holds the true value")
    _promise(figure, 0.95, COVERAGE_RANGE)
    methods = list(dict.fromkeys(c.method for c in shown))
    colors = (UNDER, OVER, "#009e73", "#b45f93", "#c79100")
    for index, method in enumerate(methods):
        side = (index - (len(methods) - 1) / 2) * 0.6 / max(1, len(methods))
        mine = [c for c in shown if c.method == method]
        color = colors[index % len(colors)]
        figure.add_trace(_points(mine, shown, method, color, "circle", side))
    low = min((c.value for c in shown), default=0.9)
    figure.update_xaxes(range=[min(0.88, low - 0.02), 1.005])
    parts = [f"{c.judge}, {c.method}: {c.value:.1%}" for c in shown]
    return Chart(figure, "Coverage of 95 % intervals. " + "; ".join(parts) + f". {BARS}")


def _frame(shown: Sequence[Check], title: str) -> go.Figure:
    judges = _judges(shown)
    figure = new_figure(x=title, height=150 + 46 * max(1, len(judges)))
    figure.update_xaxes(tickformat=".0%", showgrid=True, gridcolor="rgba(128,128,128,0.18)")
    figure.update_yaxes(
        tickvals=list(range(len(judges))),
        ticktext=[escape(_folded(judge)) for judge in judges],
        range=[len(judges) - 0.5, -0.5],
        showgrid=False,
    )
    return figure


def _promise(figure: go.Figure, line: float, accepted: tuple[float, float]) -> None:
    figure.add_vrect(
        x0=accepted[0], x1=accepted[1], fillcolor="rgba(128,128,128,0.16)", line_width=0
    )
    figure.add_vline(x=line, line_dash="dot", line_color=EVEN_LINE)


def _points(
    mine: Sequence[Check], shown: Sequence[Check], name: str, color: str, symbol: str, side: float
) -> go.Scatter:
    judges = _judges(shown)
    return go.Scatter(
        x=[c.value for c in mine],
        y=[judges.index(c.judge) + side for c in mine],
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [min(1.96 * _known(c.se), 1.0 - c.value) for c in mine],
            "arrayminus": [min(1.96 * _known(c.se), c.value) for c in mine],
            "thickness": 1.5,
        },
        mode="markers",
        name=escape(name),
        marker={"color": color, "size": 10, "symbol": symbol},
        customdata=[(escape(c.judge), f"{c.se:.1%}", f"{c.studies:,}") for c in mine],
        hovertemplate=(
            f"{escape(name)}<br>%{{customdata[0]}}: %{{x:.1%}} ± %{{customdata[1]}} "
            "(%{customdata[2]} studies)<extra></extra>"
        ),
    )


def _known(error: float) -> float:
    return error if math.isfinite(error) else 0.0


def _judges(shown: Sequence[Check]) -> list[str]:
    return list(dict.fromkeys(c.judge for c in shown))


def _folded(judge: str) -> str:
    """Long names of planted effects are cut: a phone has no room for them."""
    return judge if len(judge) <= 26 else judge[:25] + "…"


def _reach(shown: Sequence[Check]) -> float:
    return min(1.02, max((c.value + 2.5 * c.se for c in shown), default=0.1) + 0.03)
