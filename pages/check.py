"""Method check: simulated judges with known faults show whether the lab's methods can be trusted."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms import check as forms
from rubriclab.model.language import msg, tr

LEAD = msg(
    "Judges with known faults go through the lab's own methods: how often do its tests cry wolf, and "
    "do its intervals hold the truth? All judges here are **simulated**."
)

with ui.page("check", msg("Method check"), LEAD):
    st.subheader(tr("What runs say, against the truth"), anchor=False)
    with ui.faults():
        forms.show_verdicts()
    st.subheader(tr("What pulls in a rubric"), anchor=False)
    with ui.faults():
        forms.show_pulls()
    st.subheader(tr("The lab's test beside the papers' chi²"), anchor=False)
    with ui.faults():
        forms.show_recorded()
    st.subheader(tr("Check it on effects of your own"), anchor=False)
    forms.own_check()
