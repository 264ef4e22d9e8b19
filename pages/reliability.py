"""Reliability: what do scores vary with, and what would more judges, orders or repeats buy?"""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views import generalisability, jury, ordinal, rasch
from rubriclab.model.language import msg, tr

LEAD = msg("What do scores vary with besides the texts, and how are calls best spent to make them reliable?")


with ui.page("reliability", msg("Reliability"), LEAD):
    info = ui.choose_run(axes=("options", "criteria"), key="reliability")
    if info is None:
        ui.empty_state(
            tr("Nothing to be reliable about yet"),
            tr("Run a study of score options or of criteria: several orders, judges or wordings, and some repeats."),
            target="study",
            action=tr("Set up a study"),
        )
        st.stop()
    with uf.steady():
        drawn, tables = generalisability.section(info)
    for section in (jury.section, rasch.section, ordinal.section):
        with uf.steady():
            more, numbers = section(info)
        drawn, tables = drawn | more, tables | numbers
    ui.export_row(drawn, tables, info=info, key="reliability")
