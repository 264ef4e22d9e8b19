"""Compare: any runs, judges and strategies side by side on shared scales, and one difference."""

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views import compare as views
from rubriclab.app.views.compare_arms import AXES, choose_arms
from rubriclab.app.views.compare_table import summary_table
from rubriclab.figures.style import Chart
from rubriclab.findings.summary import most_moved, scales
from rubriclab.model.language import msg, tr

LEAD = msg(
    "Judges, strategies and runs side by side: which one does the order move more, and is the "
    "difference shown, shown to be too small to matter, or still open?"
)


with ui.page("compare", msg("Compare"), LEAD):
    chosen = choose_arms()
    if chosen is None:
        ui.empty_state(
            tr("Nothing to compare yet"),
            tr("Run the demo or a study of your own first."),
            target="home",
            action=tr("To the demo"),
        )
        st.stop()
    if not chosen.lines:
        st.info(tr("Choose a run, and judges or strategies of it."), icon=":material/info:")
        st.stop()
    views.simulated_note(chosen)
    axes = [axis for axis in AXES if any(line.arm.axis == axis for line in chosen.lines)]
    if len(axes) > 1:
        st.caption(tr("These runs are about different things, so each kind has a section of its own."))
    charts: dict[str, Chart] = {}
    tables: dict[str, pd.DataFrame] = {}
    said: dict[str, str] = {}
    for axis in axes:
        told = [line for line in chosen.lines if line.arm.axis == axis]
        section = tr(views.SECTIONS[axis])
        if len(axes) > 1:
            st.subheader(section, anchor=False, divider="gray")
        if sentence := most_moved(scales(told)[0]):
            uf.answer(sentence)
        name = f"Summary, {views.SECTIONS[axis].lower()}"
        said[name] = tr("Summary, {section}", section=ui.inside(section))
        tables[name] = summary_table(told, key=f"compare-table-{axis}")
        charts |= views.together(chosen, told, axis)
    st.subheader(tr("Difference of two"), anchor=False, divider="gray")
    drawn, frame = views.difference(chosen)
    if frame is not None:
        tables[msg("Differences")] = frame
    first, *more = chosen.infos.values()
    ui.export_row(charts | drawn, tables, info=first, also=more, key="compare", said=said)
