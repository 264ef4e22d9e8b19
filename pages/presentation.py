"""Presentation: a run or a trial in three steps for a room of people, here and as a file."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import presentation as views
from rubriclab.model import TRIAL_ORIGIN
from rubriclab.model.language import msg, tr

LEAD = msg("The text, the orders moving, the sentence. **F** fills the screen, the arrow keys go on and back.")

with ui.page("presentation", msg("Presentation"), LEAD):
    offered = ui.judged_runs(tuple(ui.FINDINGS_PAGE), trials=True)
    if not offered:
        ui.empty_state(
            tr("Nothing to present yet"),
            tr("Try one text, or run a study, first."),
            target="trial",
            action=tr("Try a text"),
        )
        st.stop()
    last = st.session_state.get("run")
    run = ui.choose(
        tr("Run"),
        list(offered),
        key="presentation-run",
        address="run",
        default=last if last in offered else next(iter(offered)),
        name=lambda run: ui.run_label(offered[run]),
    )
    info = offered[run]
    names = views.judges(info)
    judge = names[0] if names else None
    if len(names) > 1:
        judge = ui.choose(tr("Judge"), names, key=f"presentation-judge-{run}", address="judge", segments=True)
    views.show(info, judge)
    if info.origin != TRIAL_ORIGIN:
        st.page_link(
            "pages/report.py", label=tr("Report"), icon=":material/description:", query_params={"run": info.run}
        )
