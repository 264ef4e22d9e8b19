"""Pictures of the alternative annotator test: annotators against the line of epsilon, orders by advantage."""

from __future__ import annotations

from html import escape

from rubriclab.figures.marks import Drawing, Mark, listed
from rubriclab.figures.style import ACCENT, EVEN_LINE, Behind, Chart, judge_color, once
from rubriclab.findings.replacement_arms import Annotator, ReplacementArm, Version
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, many, number, p_value
from rubriclab.stats.replacement import FALSE_DISCOVERIES


@once
def annotator_dots(arm: ReplacementArm, *, most: int = 30) -> Chart:
    """Each annotator: how much more often they than the judge are the nearer one, for a read and the mean.

    Left of the line at epsilon the judge is ahead of what its price forgives; filled: beaten.
    """
    versions = [arm.single, arm.averaged]
    names = [one.name for one in arm.single.annotators][:most]
    drawing = Drawing(x=tr("Annotator nearer less judge nearer"), height=120 + 44 * max(1, len(names)))
    for index, version in enumerate(versions):
        marks, symbols = [], []
        for row, one in enumerate(version.annotators[:most]):
            hover = _annotator_hover(version, one)
            behind = Behind(tr("{judge} against {annotator}", judge=arm.arm.judge, annotator=one.name), arm=arm.code)
            marks.append(Mark(row + 0.16 * (2 * index - 1), one.human - one.judge, hover=hover, behind=behind))
            symbols.append("circle" if one.beaten else "circle-open")
        drawing.dots(marks, name=tr(version.name), color=judge_color(index), marker={"size": 11, "symbol": symbols})
    drawing.level(x=arm.epsilon, text=tr("allowance {epsilon:g}", epsilon=arm.epsilon))
    drawing.level(x=0)
    drawing.rows(names)
    drawing.figure.update_xaxes(range=[-1.05, 1.05])
    beaten, not_beaten = tr("beaten"), tr("not beaten")
    told = [
        f"{one.name}: {number(one.human - one.judge, '+.2f')}, {beaten if one.beaten else not_beaten}"
        for one in arm.single.annotators[:8]
    ]
    return drawing.chart(
        tr(
            "Annotator nearer less judge nearer for one read of {judge}, line at epsilon {epsilon:g}; "
            "beaten below p {false_discoveries:g}: {told}.",
            judge=arm.arm.judge,
            epsilon=arm.epsilon,
            false_discoveries=FALSE_DISCOVERIES,
            told=listed(told, of=len(names)),
        )
    )


def _annotator_hover(version: Version, one: Annotator) -> str:
    return tr(
        "{annotator}, {way}<br>judge {judge:.2f}, annotator {human:.2f}<br>{items}, {p_by} corrected",
        annotator=escape(one.name),
        way=escape(tr(version.name)),
        judge=one.judge,
        human=one.human,
        items=many(one.n_items, "item"),
        p_by=p_value(one.p_by),
    )


@once
def advantage_dots(arm: ReplacementArm) -> Chart:
    """The advantage of each way to use the judge and of each order, with its interval; filled: it passes."""
    ways = [one for one in (arm.single, arm.averaged, arm.corrected, arm.control, arm.constant) if one is not None]
    versions = [*ways, *arm.orders]
    drawing = Drawing(x=tr("Advantage probability"), height=120 + 28 * max(1, len(versions)))
    marks = [
        Mark(row, one.advantage, one.advantage_ci, _hover(one), _behind(arm, one, row >= len(ways)))
        for row, one in enumerate(versions)
    ]
    drawing.dots(
        marks,
        color=[ACCENT if row < len(ways) else EVEN_LINE for row in range(len(versions))],
        marker={"size": 10, "opacity": 1, "symbol": ["circle" if one.passes else "circle-open" for one in versions]},
    )
    drawing.rows(
        [tr(one.name) if row < len(ways) else tr("order {order}", order=one.name) for row, one in enumerate(versions)]
    )
    drawing.level(x=0.5)
    passes, fails = tr("passes"), tr("does not pass")
    told = [f"{tr(one.name)} {number(one.advantage, '.2f')} {passes if one.passes else fails}" for one in versions]
    return drawing.chart(
        tr(
            "Advantage of {judge} by way of use and by order: {told}.",
            judge=arm.arm.judge,
            told=listed(told[:12], of=len(told)),
        )
    )


def _hover(one: Version) -> str:
    beaten = sum(each.beaten for each in one.annotators)
    return tr(
        "{way}<br>advantage {advantage} {ends}<br>beats {beaten} of {tested}, {items}",
        way=escape(tr(one.name)),
        advantage=number(one.advantage, ".3f"),
        ends=interval(one.advantage_ci, ".3f", brackets=True),
        beaten=beaten,
        tested=one.tested,
        items=many(one.n_items, "item"),
    )


def _behind(arm: ReplacementArm, one: Version, ordered: bool) -> Behind:
    title = f"{arm.arm.judge}, {tr(one.name)}"
    return Behind(title, arm=arm.code, ordering=one.name) if ordered else Behind(title, arm=arm.code)
