"""Draw both axes of order bias: the options of a score, and the criteria of a call."""

import streamlit as st

from rubriclab.app.frame import safe
from rubriclab.app.judges_view import Several, View, show
from rubriclab.figures.axis_pictures import both_axes, ways_asked
from rubriclab.figures.pictures import Shown, score_cells, target_cells
from rubriclab.model.text import printable, shorten
from rubriclab.words.several import badge, one_a_judge, positions_text


def has(several: Several) -> bool:
    """Return whether options and criteria were both reordered."""
    return {"options", "criteria"} <= set(ways_asked(several.findings, several.dataset))


def draw(several: Several) -> None:
    """Draw the plane of all judges, then both heatmaps of one."""
    findings, dataset = several.findings, several.dataset
    show(several, both_axes(findings, dataset), "axes")
    options = {subject.judge: subject for subject in one_a_judge(findings, "options", dataset)}
    criteria = {subject.judge: subject for subject in one_a_judge(findings, "criteria", dataset)}
    both = [judge for judge in options if judge in criteria]
    judge = both[0]
    if len(both) > 1:
        judge = str(
            st.selectbox(
                "Judge of the heatmaps",
                both,
                format_func=lambda name: printable(shorten(name, 60)),
                key=f"{several.key}-axes-judge",
                width=330,
            )
        )
    left, right = st.columns(2, gap="large")
    for column, subject, name, cells in (
        (left, options[judge], "Options", score_cells),
        (right, criteria[judge], "Criteria", target_cells),
    ):
        with column:
            words = f"{badge(subject, 'positions')} · {positions_text(subject)}"
            title = f"**{name}** · {safe(words)}"
            shown = Shown(title, cells(findings, subject.condition), "")
            show(several, shown, f"axes-{name}-{subject.condition}")


VIEW = View("both-axes", "Both axes", has, draw)
