"""Odds by position, by label and by neighbour: one point and one interval a level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import plotly.graph_objects as go

from rubriclab.figures.style import (
    EVEN_LINE,
    Behind,
    Chart,
    judge_color,
    new_figure,
    with_behind,
)
from rubriclab.findings.choice import ChoiceModel, Level

AXIS = "odds against the average"
COARSE = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
FINE = (0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0)
FINEST = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4)
"""Round places on the log axis: few enough for a phone, and two at least."""


def position_odds(models: Sequence[ChoiceModel]) -> Chart:
    """A forest of position odds, one colour an arm."""
    lines = [
        (_name(m), [Level(f"position {p.position}", p.log_odds, p.ci, p.odds) for p in m.position])
        for m in models
        if m.position
    ]
    return _forest(lines, "position", [m.arm for m in models if m.position], by_position=True)


def label_odds(models: Sequence[ChoiceModel]) -> Chart:
    """A forest of label odds; empty where labels never moved apart from scores."""
    known = [m for m in models if m.label]
    return _forest([(_name(m), list(m.label)) for m in known], "label", [m.arm for m in known])


def neighbour_odds(models: Sequence[ChoiceModel]) -> Chart:
    """A forest of odds by the score read just before."""
    lines = [
        (_name(m), [Level(f"after {v.name}", v.log_odds, v.ci, v.odds) for v in m.neighbour])
        for m in models
        if m.neighbour
    ]
    codes = [m.arm for m in models if m.neighbour]
    return _forest(lines, "the score read just before", codes)


def _name(model: ChoiceModel) -> str:
    parts = [model.judge, model.dataset, model.strategy, model.variant]
    return " · ".join(part for part in parts if part)


def _forest(
    lines: list[tuple[str, list[Level]]],
    what: str,
    codes: Sequence[int],
    *,
    by_position: bool = False,
) -> Chart:
    """``codes``: the arm of each line; only positions can be looked up one by one."""
    rows = max((len(levels) for _, levels in lines), default=1) * max(1, len(lines))
    figure = new_figure(x=AXIS, height=120 + 26 * rows)
    figure.add_vline(x=1, line_dash="dot", line_color=EVEN_LINE)
    # Arms lie side by side within a level, so that none hides another.
    step = 0.6 / max(1, len(lines))
    for index, (name, levels) in enumerate(lines):
        shift = (index - (len(lines) - 1) / 2) * step
        figure.add_trace(_points(name, levels, shift, judge_color(index)))
    names = [level.name for level in lines[0][1]] if lines else []
    figure.update_yaxes(
        tickvals=list(range(len(names))),
        ticktext=[escape(name) for name in names],
        autorange="reversed",
    )
    ticks = _ticks(lines)
    figure.update_xaxes(
        type="log", tickvals=ticks, ticktext=[f"{tick:g}" for tick in ticks], tickangle=0,
        showgrid=True, gridcolor="rgba(128,128,128,0.18)",
    )  # fmt: skip
    behind: dict[int, list[Behind | None]] = {
        index: [
            Behind(f"{name}, {v.name}", arm=code, position=i + 1 if by_position else None)
            for i, v in enumerate(levels)
            if math.isfinite(v.log_odds)
        ]
        for index, ((name, levels), code) in enumerate(zip(lines, codes, strict=True))
    }
    return with_behind(figure, _alt(lines, what), behind)


def _ticks(lines: list[tuple[str, list[Level]]]) -> tuple[float, ...]:
    ends = [abs(end) for _, levels in lines for v in levels for end in (v.log_odds, *v.ci)]
    reach = max(filter(math.isfinite, ends), default=0.0)
    return COARSE if reach > 1.0 else FINE if reach > 0.3 else FINEST


def _points(name: str, levels: list[Level], shift: float, color: str) -> go.Scatter:
    known = [(i, v) for i, v in enumerate(levels) if math.isfinite(v.log_odds)]
    bounded = [math.isfinite(v.ci.low) for _, v in known]
    return go.Scatter(
        x=[v.odds for _, v in known],
        y=[i + shift for i, _ in known],
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [
                math.exp(v.ci.high) - v.odds if ok else 0.0
                for (_, v), ok in zip(known, bounded, strict=True)
            ],
            "arrayminus": [
                v.odds - math.exp(v.ci.low) if ok else 0.0
                for (_, v), ok in zip(known, bounded, strict=True)
            ],
        },
        mode="markers",
        name=escape(name),
        marker={"color": color, "size": 9},
        customdata=[
            (
                escape(v.name),
                f"{math.exp(v.ci.low):.2f} to {math.exp(v.ci.high):.2f}" if ok else "no interval",
            )
            for (_, v), ok in zip(known, bounded, strict=True)
        ],
        hovertemplate="%{customdata[0]}: odds %{x:.2f} (%{customdata[1]})<extra></extra>",
    )


def _alt(lines: list[tuple[str, list[Level]]], what: str) -> str:
    if not lines:
        return f"No odds by {what}: the reads cannot tell this effect apart."
    parts = []
    for name, levels in lines:
        known = [v for v in levels if math.isfinite(v.log_odds)]
        if known:
            most = max(known, key=lambda v: v.log_odds)
            parts.append(f"{name}: highest at {most.name}, odds {most.odds:.2f}")
    return f"Odds of being chosen by {what}, against the average. " + "; ".join(parts) + "."
