"""Pictures of criterion order: the criterion x position heatmap, the neighbours' effect."""

from __future__ import annotations

from html import escape

import numpy as np

from rubriclab.figures.style import (
    DARK_INK,
    DIVERGING,
    EVEN_LINE,
    Behind,
    Chart,
    ink_on,
    judge_color,
    new_figure,
    with_behind,
)
from rubriclab.findings.criteria import ArmCriteria

CELL = 54
"""Height of a heatmap row in pixels: a comfortable touch target."""


def shift_heatmap(arm: ArmCriteria, *, limit: float | None = None) -> Chart:
    """Shift of each criterion's mean score by position, colours centred on 0 (v2 Figure 10).

    ``limit``: the shift at the ends of the colours, to share a scale between several judges.
    Markers over the cells carry [criterion, position] first in ``customdata``: click those.
    """
    names = [escape(effect.criterion) for effect in arm.criteria]
    positions = list(range(1, arm.arm.n_positions + 1))
    shift = np.array([effect.shift for effect in arm.criteria], dtype=np.float64)
    known = np.abs(shift[np.isfinite(shift)])
    reach = limit if limit is not None else float(max(known.max(initial=0.0), 0.05))
    figure = new_figure(x="Position of the criterion", height=120 + CELL * max(1, len(names)))
    figure.add_heatmap(
        z=shift,
        x=positions,
        y=names,
        zmin=-reach,
        zmax=reach,
        colorscale=DIVERGING,
        # The cells carry their numbers, so a narrow screen need not give room to a scale.
        showscale=False,
        hoverinfo="skip",
        xgap=2,
        ygap=2,
    )
    cells = [
        (effect, p, name)
        for effect, name in zip(arm.criteria, names, strict=True)
        for p in range(arm.arm.n_positions)
        if np.isfinite(effect.shift[p])
    ]
    figure.add_scatter(
        x=[p + 1 for _, p, _ in cells],
        y=[name for *_, name in cells],
        mode="markers+text",
        text=[f"{effect.shift[p]:+.2f}" for effect, p, _ in cells],
        textfont={
            "color": [
                ink_on(DIVERGING, (effect.shift[p] + reach) / (2 * reach)) for effect, p, _ in cells
            ],
            "size": 11,
        },
        marker={"size": 34, "opacity": 0, "symbol": "square"},
        # The clicked cell is marked, and the numbers of the others are not dimmed.
        selected={
            "marker": {"opacity": 0.85, "color": "#f7f5f0"},
            "textfont": {"color": DARK_INK},
        },
        customdata=[
            [name, p + 1, *effect.shift_ci[p], effect.exposure[p]] for effect, p, name in cells
        ],
        hovertemplate=(
            "%{customdata[0]} at position %{customdata[1]}: %{text} points<br>"
            "95 % interval %{customdata[2]:+.2f} to %{customdata[3]:+.2f}<br>"
            "%{customdata[4]:,} scores<extra></extra>"
        ),
    )
    figure.update_xaxes(dtick=1, range=[0.5, len(positions) + 0.5])
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_layout(showlegend=False)
    behind = [
        Behind(
            f"{arm.arm.judge}, {effect.criterion} at position {p + 1}",
            arm=arm.code, criterion=effect.criterion, position=p + 1,
        )
        for effect, p, _ in cells
    ]  # fmt: skip
    return with_behind(figure, _shift_alt(arm, shift), {1: behind})


def carryover_forest(arm: ArmCriteria) -> Chart:
    """What reading each criterion just before adds to the next score, with its interval."""
    rows = arm.carryover
    figure = new_figure(
        x="Points added to the next score (95 %)", height=110 + 30 * max(1, len(rows))
    )
    effect = np.array([row.effect for row in rows], dtype=np.float64)
    figure.add_scatter(
        x=effect,
        y=[escape(row.before) for row in rows],
        mode="markers",
        marker={"size": 9, "color": judge_color(0)},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": np.array([row.ci.high for row in rows]) - effect,
            "arrayminus": effect - np.array([row.ci.low for row in rows]),
            "thickness": 1.5,
        },
        customdata=[[*row.ci, row.p_holm] for row in rows],
        hovertemplate=(
            "after %{y}: %{x:+.2f} [%{customdata[0]:+.2f}, %{customdata[1]:+.2f}]<br>"
            "p (Holm) %{customdata[2]:.3f}<extra></extra>"
        ),
    )
    figure.add_vline(x=0, line_dash="dot", line_color=EVEN_LINE)
    figure.update_yaxes(autorange="reversed")
    if not rows:
        return Chart(
            figure, "Effect of the criterion read just before: this design cannot show it."
        )
    top = max(rows, key=lambda row: abs(row.effect))
    said = f"largest after {top.before}, {top.effect:+.2f} points"
    behind = [
        Behind(f"{arm.arm.judge}, all that this effect is worked out from", arm=arm.code)
        for _ in rows
    ]
    alt = f"Effect of the criterion read just before on the next score: {said}."
    return with_behind(figure, alt, {0: behind})


def _shift_alt(arm: ArmCriteria, shift: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> str:
    title = f"Shift of mean scores by criterion and position for {arm.arm.judge}"
    if not np.isfinite(shift).any():
        return f"{title}: nothing to show."
    row, column = np.unravel_index(int(np.nanargmax(np.abs(shift))), shift.shape)
    return (
        f"{title}: largest {shift[row, column]:+.2f} points, {arm.criteria[row].criterion} at "
        f"position {column + 1}; {arm.significant_holm} of {arm.tested} criteria significant."
    )
