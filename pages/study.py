"""Study: what is reordered, how often and by whom; what it will take; launch."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms import launch, study
from rubriclab.app.forms.agreement_plan import agreement_form
from rubriclab.model.language import msg, tr

LEAD = msg(
    "The same question, asked in several orders. Choose what changes places and who judges; below "
    "you see what it will take and exactly what will be sent, before anything is asked."
)

with ui.page("study", msg("Study"), LEAD):
    setup = study.form()
    if setup is not None:
        prepared = study.prepare(setup)
        study.ui_step(5, tr("What it will take"))
        launch.summary(prepared)
        agreement_form(prepared)
        launch.launch(setup, prepared)
        st.subheader(tr("Before you launch"), anchor=False)
        prompt, balance = st.tabs([tr("The prompt, as sent"), tr("Balance of the orders")])
        with prompt, ui.faults():
            launch.prompt_preview(prepared)
        with balance, ui.faults():
            launch.balance_checks(prepared)
