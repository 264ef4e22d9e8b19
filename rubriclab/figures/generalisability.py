"""Pictures of reliability: what scores vary with, and what more judges, orders or repeats would buy."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rubriclab.figures.marks import WRAPPED, Drawing, Mark, listed
from rubriclab.figures.style import ACCENT, EVEN_LINE, Chart, judge_color, once
from rubriclab.findings.decision_study import Line, Ranked
from rubriclab.findings.generalisability_results import GStudy, Plan
from rubriclab.findings.generalisability_words import term_words
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, number


@once
def component_bars(study: GStudy) -> Chart:
    """Each source's share of the variance as a bar with its interval, the largest first."""
    ones = sorted(study.sources, key=lambda one: -one.share)
    drawing = Drawing(x=tr("Share of the variance of scores"), height=110 + 44 * max(1, len(ones)))
    drawing.bars(
        [
            Mark(
                row,
                one.share,
                one.share_ci,
                tr(
                    "{name} ({key})<br>{share} of the variance, {ends}<br>{variance} squared points as estimated",
                    name=escape(tr(one.name)),
                    key=escape(term_words(one.key)),
                    share=number(one.share, ".1%"),
                    ends=tr(one.why) or interval(one.share_ci, ".1%"),
                    variance=number(one.variance, ".3f"),
                ),
            )
            for row, one in enumerate(ones)
        ],
        color=[ACCENT if one.key == "item" else EVEN_LINE for one in ones],
    )
    drawing.rows([f"{tr(one.name)} · ({term_words(one.key)})" for one in ones])
    drawing.figure.update_xaxes(tickformat=".0%", rangemode="tozero")
    drawing.figure.update_layout(showlegend=False)
    told = [
        f"{tr(one.name)} {number(one.share, '.0%')}, {tr(one.why) or interval(one.share_ci, '.0%')}" for one in ones
    ]
    return drawing.chart(tr("Bars of what the scores of {name} vary with. {told}.", name=study.name, told=listed(told)))


@once
def design_curves(lines: Sequence[Line], *, calls: int, absolute: bool = False) -> Chart:
    """Reliability by calls an item, one line a way to spend them; dotted: the budget of ``calls``."""
    drawing = Drawing(x=tr("Calls an item"), y=tr("Reliability"), height=420)
    drawing.level(x=calls, text=tr("{calls} calls", calls=calls))
    told = []
    for place, line in enumerate(lines):
        drawing.dots(
            [Mark(plan.calls, value(plan, absolute), hover=_hover(line.name, plan, absolute)) for plan in line.plans],
            color=judge_color(place),
            name=tr(line.name),
            upright=True,
            joined=True,
            marker={"size": 6},
        )
        within = [plan for plan in line.plans if plan.calls <= calls]
        if within:
            told.append(
                tr(
                    "{name}: {reliability} at {calls} calls",
                    name=tr(line.name),
                    reliability=number(value(within[-1], absolute), ".2f"),
                    calls=within[-1].calls,
                )
            )
    drawing.figure.update_yaxes(range=[0, 1.02])
    drawing.figure.update_xaxes(rangemode="tozero")
    return drawing.chart(tr("Reliability by calls an item. {told}.", told=listed(told)))


@once
def mix_forest(mixes: Sequence[Ranked], *, absolute: bool = False) -> Chart:
    """The best mix of a budget and those nearest to it, each with its interval."""
    drawing = Drawing(x=tr("Reliability"), height=110 + 38 * max(1, len(mixes)))
    drawing.dots(
        [
            Mark(row, value(one.plan, absolute), ends(one.plan, absolute), _hover(one.plan.name, one.plan, absolute))
            for row, one in enumerate(mixes)
        ],
        color=[ACCENT if one.open else EVEN_LINE for one in mixes],
    )
    drawing.rows([_row(one.plan.name) for one in mixes])
    drawing.figure.update_layout(showlegend=False)
    told = [f"{one.plan.name} {number(value(one.plan, absolute), '.2f')}" for one in mixes]
    return drawing.chart(tr("Mixes of one budget, the best first. {told}.", told=listed(told)))


def _row(name: str) -> str:
    """A long name on several lines."""
    return name.replace(" × ", " · × ") if len(name) > WRAPPED else name


def value(plan: Plan, absolute: bool) -> float:
    return plan.absolute if absolute else plan.relative


def ends(plan: Plan, absolute: bool) -> tuple[float, float]:
    return plan.absolute_ci if absolute else plan.relative_ci


def _hover(name: str, plan: Plan, absolute: bool) -> str:
    return tr(
        "{name}<br>{plan}, {calls} calls an item<br>{reliability}, {ends}",
        name=escape(tr(name)),
        plan=escape(plan.name),
        calls=plan.calls,
        reliability=number(value(plan, absolute), ".2f"),
        ends=interval(ends(plan, absolute), ".2f"),
    )
