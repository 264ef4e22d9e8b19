"""Pictures of prompt sensitivity: what scores vary with, and what each wording does to the mean."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from rubriclab.figures.marks import Drawing, Mark, listed, verdict_said
from rubriclab.figures.style import JUDGE_COLORS, Chart, judge_color, once
from rubriclab.findings.wording import NAMES, WordingGroup, WordingShift
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, number

COLORS = dict(zip(NAMES, (*JUDGE_COLORS[:3], *JUDGE_COLORS[3:7], "#a9adb5"), strict=True))
"""Item, wording and order in the three plainest colours; noise in grey."""


@once
def share_bars(groups: Sequence[WordingGroup]) -> Chart:
    """One bar a judge, stacked by what its scores vary with; the whole bar is all of the variance."""
    drawing = Drawing(x=tr("Share of the variance of scores"), height=150 + 44 * max(1, len(groups)), barmode="stack")
    rows = [_shares(group) for group in groups]
    for key in [key for key in NAMES if any(key in row for row in rows)]:
        drawing.bars(
            [Mark(row, shares[key][0], hover=shares[key][1]) for row, shares in enumerate(rows) if key in shares],
            color=COLORS[key],
            name=tr(NAMES[key]) if key != "rest" else tr("rest"),
        )
    drawing.rows([_name(group) for group in groups])
    drawing.figure.update_xaxes(tickformat=".0%", range=[0, 1])
    drawing.figure.update_layout(legend={"traceorder": "normal"})
    told = [
        f"{_name(group)}: " + ", ".join(f"{tr(one.name)} {number(one.share, '.0%')}" for one in group.components)
        for group in groups
    ]
    return drawing.chart(tr("Stacked bars of what scores vary with. {told}.", told=listed(told[:6], of=len(told))))


@once
def component_forest(group: WordingGroup) -> Chart:
    """Each share with its interval, the largest first."""
    ones = sorted(group.components, key=lambda one: -one.share)
    drawing = Drawing(x=tr("Share of the variance of scores"), height=110 + 34 * max(1, len(ones)))
    drawing.dots(
        [
            Mark(
                row,
                one.share,
                one.ci,
                tr(
                    "{name}: {share:.1%} of the variance<br>{ends}",
                    name=escape(tr(one.name)),
                    share=one.share,
                    ends=interval(one.ci, ".1%"),
                ),
            )
            for row, one in enumerate(ones)
        ],
        color=[COLORS[one.key] for one in ones],
    )
    drawing.rows([tr(one.name) for one in ones])
    drawing.figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    drawing.figure.update_layout(showlegend=False)
    told = [f"{tr(one.name)} {number(one.share, '.0%')}, {interval(one.ci, '.0%')}" for one in ones]
    return drawing.chart(
        tr("Shares of the variance of {name} with intervals. {told}.", name=_name(group), told=listed(told))
    )


@once
def wording_forest(group: WordingGroup) -> Chart:
    """Mean score of each wording less that of the first; within the band it does not matter."""
    shown = [(row, one) for row, one in enumerate(group.shifts) if np.isfinite(one.effect.estimate)]
    drawing = Drawing(
        x=tr("Points, less the first wording ({mean:.2f})", mean=group.mean),
        height=110 + 40 * max(1, len(group.shifts)),
    )
    if group.shifts:
        drawing.room(group.shifts[0].effect.sesoi)
    drawing.level(x=0.0)
    drawing.dots(
        [
            Mark(
                row,
                one.effect.estimate,
                one.effect.interval,
                tr(
                    "{wording}: {estimate:+.2f} points<br>{ends}<br>{verdict}, {n_items} items",
                    wording=escape(one.wording),
                    estimate=one.effect.estimate,
                    ends=interval(one.effect.interval, "+.2f"),
                    verdict=verdict_said(one.effect.verdict),
                    n_items=one.n_items,
                ),
            )
            for row, one in shown
        ],
        color=judge_color(0),
    )
    drawing.rows([one.wording for one in group.shifts])
    drawing.figure.update_layout(showlegend=False)
    told = [_shifted(one) for _, one in shown]
    first = group.wordings[0]
    return drawing.chart(
        tr("Mean score of each wording less that of “{first}”. {told}.", first=first, told=listed(told))
    )


def _shifted(one: WordingShift) -> str:
    verdict = verdict_said(one.effect.verdict)
    return tr(
        "{wording} {estimate:+.2f} points, {verdict}",
        wording=one.wording,
        estimate=one.effect.estimate,
        verdict=verdict,
    )


def _shares(group: WordingGroup) -> dict[str, tuple[float, str]]:
    """(length, hover) of each component; lengths add up to 1 whatever chance put below 0."""
    whole = sum(one.share for one in group.components if np.isfinite(one.share))
    return {
        one.key: (one.share / whole, f"{escape(tr(one.name))}: {number(one.share, '.1%')}<br>{interval(one.ci, '.1%')}")
        for one in group.components
        if whole > 0
    }


def _name(group: WordingGroup) -> str:
    return " · ".join(filter(None, (group.judge, group.dataset, group.setting)))
