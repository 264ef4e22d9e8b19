"""The ranked bar of “What pulls?”: which changes of a rubric alter what the order of its scores does."""

from __future__ import annotations

from html import escape

import numpy as np

from rubriclab.figures.marks import Drawing, Mark, listed, verdict_said
from rubriclab.figures.style import EVEN_LINE, Behind, Chart, judge_color, once
from rubriclab.findings.pulls import Pull, PullsGroup, pull_sentence
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, many

QUIET = "#a9adb5"
"""Of what is not shown to be an effect."""


@once
def pulls_bars(group: PullsGroup) -> Chart:
    """A bar a change, the largest first; a click leads to the judgments of an arm that has it.

    Coloured where it is an effect; the shaded room is what is too small to matter.
    """
    shown = [(row, one) for row, one in enumerate(group.pulls) if np.isfinite(one.effect.estimate)]
    drawing = Drawing(
        x=tr("Change of what the order does (ascending − descending), points"),
        height=120 + 36 * max(1, len(group.pulls)),
    )
    drawing.room(group.order.sesoi)
    drawing.level(x=0.0)
    drawing.bars(
        [Mark(row, one.effect.estimate, one.effect.interval, _hover(one), _behind(one)) for row, one in shown],
        color=[judge_color(0) if one.effect.verdict == "effect" else QUIET for _, one in shown],
    )
    # What the order does at all, to hold the changes against: a change of minus this takes it away.
    if np.isfinite(group.order.estimate):
        drawing.figure.add_vline(x=-group.order.estimate, line={"dash": "dash", "color": EVEN_LINE, "width": 1.5})
    drawing.rows([tr(one.title) for one in group.pulls])
    drawing.figure.update_layout(showlegend=False)
    told = [pull_sentence(group, one) for _, one in shown]
    return drawing.chart(
        tr(
            "Ranked bars of what makes the order matter to {about}. {told}",
            about=group.about,
            told=listed(told[:5], of=len(told)),
        )
    )


def _hover(one: Pull) -> str:
    return tr(
        "{title}: {estimate:+.2f} points<br>{ends}<br>{verdict}, {arms}",
        title=escape(tr(one.title)),
        estimate=one.effect.estimate,
        ends=interval(one.effect.interval, "+.2f"),
        verdict=verdict_said(one.effect.verdict),
        arms=many(len(one.arms), "arm"),
    )


def _behind(one: Pull) -> Behind:
    arms = many(len(one.arms), "arm")
    return Behind(tr("{title}: one of its {arms}", title=tr(one.title), arms=arms), arm=one.arms[0])
