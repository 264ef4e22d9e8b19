"""Runs: what is going on, how fast, what came of it; pause, go on, cancel, export."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.model.language import msg, tr

LEAD = msg(
    "Runs go on when you change the page or close the tab. What has been judged is kept, whatever "
    "happens; going on with a run never asks a call twice."
)


def live() -> None:
    """The runs of this server that are going, refreshed once a second while any is."""
    for run in ui.manager().active():
        ui.run_progress(run)
    if st.session_state.get("runs-active") and not ui.manager().active():
        st.session_state["runs-active"] = False
        st.rerun()  # the list below must show how it ended


with ui.page("runs", msg("Runs"), LEAD):
    ui.ended_run()
    active = bool(ui.manager().active())
    st.session_state["runs-active"] = active
    if active:
        st.fragment(live, run_every=1.0)()
    st.subheader(tr("All runs"), anchor=False)
    ui.run_shelves(key="runs")
    ui.store_care()
