"""Pictures of the alternative annotator test: annotators against the line of epsilon, orders by advantage."""

from __future__ import annotations

from html import escape

from rubriclab.figures.marks import Drawing, Mark, listed
from rubriclab.figures.style import ACCENT, EVEN_LINE, Behind, Chart, judge_color
from rubriclab.findings.replacement_arms import ReplacementArm, Version
from rubriclab.model.wording import interval, many, number, p_value
from rubriclab.stats.replacement import FALSE_DISCOVERIES


def annotator_dots(arm: ReplacementArm, *, most: int = 30) -> Chart:
    """Each annotator: how much more often they than the judge are the nearer one, for a read and the mean.

    Left of the line at epsilon the judge is ahead of what its price forgives; filled: beaten.
    """
    versions = [arm.single, arm.averaged]
    names = [one.name for one in arm.single.annotators][:most]
    drawing = Drawing(x="Annotator nearer less judge nearer", height=120 + 44 * max(1, len(names)))
    for index, version in enumerate(versions):
        marks, symbols = [], []
        for row, one in enumerate(version.annotators[:most]):
            hover = (
                f"{escape(one.name)}, {escape(version.name)}<br>judge {one.judge:.2f}, annotator {one.human:.2f}"
                f"<br>{many(one.n_items, 'item')}, {p_value(one.p_by)} corrected"
            )
            behind = Behind(f"{arm.arm.judge} against {one.name}", arm=arm.code)
            marks.append(Mark(row + 0.16 * (2 * index - 1), one.human - one.judge, hover=hover, behind=behind))
            symbols.append("circle" if one.beaten else "circle-open")
        drawing.dots(marks, name=version.name, color=judge_color(index), marker={"size": 11, "symbol": symbols})
    drawing.level(x=arm.epsilon, text=f"allowance {arm.epsilon:g}")
    drawing.level(x=0)
    drawing.rows(names)
    drawing.figure.update_xaxes(range=[-1.05, 1.05])
    told = [
        f"{one.name}: {one.human - one.judge:+.2f}, {'beaten' if one.beaten else 'not beaten'}"
        for one in arm.single.annotators[:8]
    ]
    heading = f"Annotator nearer less judge nearer for one read of {arm.arm.judge}, line at epsilon {arm.epsilon:g}"
    return drawing.chart(f"{heading}; beaten below p {FALSE_DISCOVERIES:g}: {listed(told, of=len(names))}.")


def advantage_dots(arm: ReplacementArm) -> Chart:
    """The advantage of each way to use the judge and of each order, with its interval; filled: it passes."""
    ways = [one for one in (arm.single, arm.averaged, arm.corrected, arm.control, arm.constant) if one is not None]
    versions = [*ways, *arm.orders]
    drawing = Drawing(x="Advantage probability", height=120 + 28 * max(1, len(versions)))
    marks = [
        Mark(row, one.advantage, one.advantage_ci, _hover(one), _behind(arm, one, row >= len(ways)))
        for row, one in enumerate(versions)
    ]
    drawing.dots(
        marks,
        color=[ACCENT if row < len(ways) else EVEN_LINE for row in range(len(versions))],
        marker={"size": 10, "opacity": 1, "symbol": ["circle" if one.passes else "circle-open" for one in versions]},
    )
    drawing.rows([one.name if row < len(ways) else f"order {one.name}" for row, one in enumerate(versions)])
    drawing.level(x=0.5)
    told = [
        f"{one.name} {number(one.advantage, '.2f')} {'passes' if one.passes else 'does not pass'}" for one in versions
    ]
    return drawing.chart(f"Advantage of {arm.arm.judge} by way of use and by order: {listed(told[:12], of=len(told))}.")


def _hover(one: Version) -> str:
    beaten = sum(each.beaten for each in one.annotators)
    return (
        f"{escape(one.name)}<br>advantage {number(one.advantage, '.3f')} {interval(one.advantage_ci, '.3f', brackets=True)}"
        f"<br>beats {beaten} of {one.tested}, {many(one.n_items, 'item')}"
    )


def _behind(arm: ReplacementArm, one: Version, ordered: bool) -> Behind:
    title = f"{arm.arm.judge}, {one.name}"
    return Behind(title, arm=arm.code, ordering=one.name) if ordered else Behind(title, arm=arm.code)
