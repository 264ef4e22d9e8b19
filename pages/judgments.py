"""Judgments: the items behind any number, an item across all its orders, the words of a call."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import judgments as views
from rubriclab.app.views.judgments_filters import AXES, filters
from rubriclab.model.language import msg, tr

LEAD = msg(
    "Every number in the lab is made of single judgments. Narrow them down here, see one item under "
    "all its orders, and read exactly what was sent and what came back."
)

with ui.page("judgments", msg("Judgments"), LEAD):
    info = ui.choose_run(axes=AXES, key="judgments")
    if info is None:
        ui.empty_state(
            tr("Nothing judged yet"),
            tr("Run the demo or a study of your own first."),
            target="home",
            action=tr("To the demo"),
        )
        st.stop()
    asked = filters(info)
    about = views.chosen_item(info)
    if about is None:
        views.items(info, asked)
    else:
        views.item(info, asked, about)
