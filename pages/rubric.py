"""Rubric: what each score stands for; choose, upload, edit, keep, and see it as it is sent."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms import rubric as forms
from rubriclab.app.forms.rubric_choice import choose
from rubriclab.model.language import msg, tr

LEAD = msg(
    "What the judge is to look for, and what each score stands for. These descriptions are what "
    "changes places in a study."
)

with ui.page("rubric", msg("Rubric"), LEAD):
    rubric, tag, kept_as = choose()
    edit, look = st.tabs([tr("Edit"), tr("As the judge will see it")])
    with edit, ui.faults():
        rubric = forms.edit(rubric, tag)
        st.caption(f"{forms.about(rubric)}.")
        forms.keep(rubric, tag, kept_as)
    with look, ui.faults():
        forms.show_prompt(rubric, tag)
