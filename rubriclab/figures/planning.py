"""Power against the number of items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from rubriclab.figures.style import EVEN_LINE, Chart, judge_color, new_figure
from rubriclab.findings.planning import PowerPlan


def power_curve(plans: Sequence[PowerPlan]) -> Chart:
    """One line a plan, dotted at the power asked for, a larger marker where a plan stands now."""
    unit = plans[0].unit if plans else "item"
    figure = new_figure(x=f"{unit}s (log scale)", y="power")
    for target in sorted({plan.target for plan in plans}):
        figure.add_hline(y=target, line_dash="dot", line_color=EVEN_LINE)
    for index, plan in enumerate(plans):
        points = [p for p in plan.curve if math.isfinite(p.power)]
        color, name = judge_color(index), escape(plan.name)
        figure.add_trace(
            go.Scatter(
                x=[p.items for p in points],
                y=[p.power for p in points],
                mode="lines",
                name=name,
                line={"color": color},
                hovertemplate=f"{name}: %{{x}} {plan.unit}s, power %{{y:.2f}}<extra></extra>",
            )
        )
        if math.isfinite(plan.power_now):
            figure.add_trace(
                go.Scatter(
                    x=[plan.items],
                    y=[plan.power_now],
                    mode="markers",
                    name=name,
                    showlegend=False,
                    marker={"color": color, "size": 11},
                    hovertemplate=(
                        f"{name}, as planned: %{{x}} {plan.unit}s, power %{{y:.2f}}<extra></extra>"
                    ),
                )
            )
    figure.update_xaxes(type="log")
    figure.update_yaxes(range=[0, 1.02], tickformat=".0%")
    return Chart(figure, _alt(plans))


def _alt(plans: Sequence[PowerPlan]) -> str:
    if not plans:
        return "No power curve: no arm can serve as a pilot."
    parts = [
        f"{plan.name} needs "
        + (f"{plan.items_needed} {plan.unit}s" if plan.items_needed else "more than can be planned")
        + f" of {plan.reads} reads to see V = {plan.effect_v:g} with {plan.target:.0%} power"
        for plan in plans
    ]
    return "Power of the average-position test by number of items. " + "; ".join(parts) + "."
