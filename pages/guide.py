"""What position bias is: four pictures from the recorded run."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import guide as views
from rubriclab.model.language import msg, tr

LEAD = msg(
    "A judge that reads a list may be drawn to places in it: then the same answer gets another score "
    "when the same list is sorted in another way. Real judgments of two small models, recorded with "
    "the lab."
)

with ui.page("guide", msg("What position bias is"), LEAD):
    recorded = ui.example_run()
    shown = views.judges(recorded) if recorded is not None else {}
    if recorded is None or not shown:
        ui.empty_state(
            tr("The recorded run is not in this store"),
            tr(
                "It was deleted here. It is still beside the lab, in `data/example_run.zip`: upload that file on "
                "the Data page, or run the demo and look at its results."
            ),
            target="data",
            action=tr("To the Data page"),
        )
        st.stop()
    first = st.container()
    code = ui.choose(
        tr("Judge in the cards and in pictures 1 and 4"),
        list(shown),
        key="guide-judge",
        address="judge",
        default=list(shown)[-1],
        name=lambda c: shown[c].judge,
        code=lambda c: shown[c].judge,
        segments=True,
    )
    with first:
        views.two_cards(recorded, code, shown[code])
    views.same_answer(recorded, code, shown[code])
    views.same_order(recorded)
    views.places(recorded)
    views.way_out(recorded, code, shown[code])
    views.ways_on(recorded)
