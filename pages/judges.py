"""Judges: who is there, does it answer, and new ones."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.judge_editor import editors
from rubriclab.app.forms.judge_found import servers_here
from rubriclab.app.forms.judges import judge_list
from rubriclab.model.language import msg, tr

LEAD = msg(
    "Who is to judge: a small model on this machine, your own server, an API, or a function of "
    "yours. Keys stay in environment variables; the lab knows their names only."
)

with ui.page("judges", msg("Judges"), LEAD):
    judge_list()
    st.subheader(tr("Add a judge"), anchor=False)
    servers_here()
    editors()
