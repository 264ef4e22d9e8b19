"""Data: what is to be judged. Upload and map, look, keep; or judgments made elsewhere."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms import data, imports
from rubriclab.model.language import msg, tr

LEAD = msg(
    "The responses to judge, with human ratings if you have them. A file with one column of texts is "
    "all that measuring the order takes; ratings let you see whether a judge is right."
)

with ui.page("data", msg("Data"), LEAD):
    data.kept_list()
    st.subheader(tr("Add data"), anchor=False)
    upload, sample, public, elsewhere = st.tabs(
        [tr("Upload a file"), tr("Sample"), tr("Public data sets"), tr("Judgments made elsewhere")]
    )
    for tab, form in (
        (upload, data.upload_form),
        (sample, data.sample_form),
        (public, data.recipe_form),
        (elsewhere, imports.import_form),
    ):
        with tab, ui.faults():
            form()
