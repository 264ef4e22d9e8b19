"""Your pipeline: the way of asking that a run chose taken along, and what keeps it."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import adapters, card, drift, gate, proxy
from rubriclab.model.language import msg, tr

LEAD = msg("Take the way of asking that a run chose into the pipeline you have, and notice when the judge changes.")


with ui.page("pipeline", msg("Your pipeline"), LEAD):
    store = ui.store()
    info = ui.choose_run(axes=tuple(ui.FINDINGS_PAGE), key="pipeline")
    if info is None:
        ui.empty_state(
            tr("Nothing to take along yet"),
            tr("Run the demo or a study of your own first."),
            target="home",
            action=tr("To the demo"),
        )
        st.stop()
    for part in (card, adapters, proxy, gate, drift):
        part.section(store, info)
