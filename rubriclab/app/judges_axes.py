"""Draw both axes of order bias: the options of a score, and the criteria of a call."""

import streamlit as st

from rubriclab.app.frame import go, safe
from rubriclab.app.judges_view import Several, View, show
from rubriclab.figures.axis_pictures import both_axes, ways_asked
from rubriclab.figures.pictures import Shown, score_cells, target_cells
from rubriclab.model.text import printable, shorten
from rubriclab.words.several import badge, one_a_judge, positions_text

AXES = ("options", "criteria")


def missing_axis(several: Several) -> str:
    """Return the axis that was not reordered, if it can be asked of the same answers; else empty.

    Empty too if neither axis was reordered, or if both were.
    """
    asked = ways_asked(several.findings, several.dataset)
    missing = [axis for axis in AXES if axis not in asked]
    if len(missing) != 1:
        return ""
    items = several.findings.judgments.items
    criteria = items["criterion"][items["dataset"] == several.dataset].nunique()
    if missing == ["criteria"] and criteria < 2:
        return ""
    return missing[0] if several.repeated() else ""


def has(several: Several) -> bool:
    """Return whether options and criteria were both reordered, or the other one can be."""
    both = {*AXES} <= {*ways_asked(several.findings, several.dataset)}
    return both or bool(missing_axis(several))


def draw(several: Several) -> None:
    """Draw the plane of all judges, then both heatmaps of one; or the way to the other axis."""
    missing = missing_axis(several)
    if missing:
        (done,) = [axis for axis in AXES if axis != missing]
        st.markdown(
            f"Only the {done} were reordered. Reorder the {missing} too, to see whether a judge "
            "that is steady on one axis is biased on the other."
        )
        if st.button("Run the other axis", icon=":material/add:", key=f"{several.key}-axes-run"):
            go("setup", again=several.repeated(), also=missing)
        st.caption("Set up opens with this study. Its calls keep their replies.")
        return
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
                format_func=lambda name: shorten(printable(name), 60),
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
