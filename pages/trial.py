"""Try it: one text, judged live under one order after the other."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms import trial as forms
from rubriclab.app.views import trial as views
from rubriclab.model import TRIAL_ORIGIN
from rubriclab.model.language import msg, tr
from rubriclab.runs.trial import start_trial

LEAD = msg(
    "One text, one rubric, and only the order changes: watch what happens to the score. One order is "
    "asked twice, to see what the judge changes by itself."
)

with ui.page("trial", msg("Try it"), LEAD):
    wanted = st.query_params.get("run")
    tried = {info.run: info for info in ui.store().runs(deleted=True) if info.origin == TRIAL_ORIGIN}
    info = tried.get(wanted) if wanted else None
    if wanted and info is None:
        st.warning(
            tr("The link names “{wanted}”, which this store does not have.", wanted=ui.plain(wanted)),
            icon=":material/link_off:",
        )
    about = (
        tr("Text, rubric and judge")
        if info is None
        else tr("Another text, rubric or judge: {name} …", name=ui.plain(info.name.removeprefix("Try it: ")))
    )
    with st.expander(about, expanded=info is None, key=f"trial-inputs-{info is None}"):
        asked = forms.form(info)
    if asked is not None:
        with ui.faults():
            run = start_trial(ui.manager(), asked.study, orders=asked.orders, secrets=ui.secrets())
            st.session_state["trial-filled"] = run.info.run
            st.query_params["run"] = run.info.run
            st.rerun()
    if info is not None:
        ui.said_aside(info)
        views.show(info, next_text=forms.next_text)
    elif asked is None:
        st.caption(
            tr(
                "Press **Judge it**: the judge reads the same descriptions in several orders, one after the "
                "other. With the small model that comes with the lab this takes a few seconds (the first time it "
                "fetches 93 MB)."
            )
        )
