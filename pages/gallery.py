"""Gallery: judges that people know, from their published logs; no call and no key."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import gallery as views
from rubriclab.model.language import msg, tr

LEAD = msg(
    "Judges that people know, from logs that were published: how much does an answer's place decide? "
    "Nothing is asked, no key is needed. A log is fetched once, from a fixed place, checked and kept."
)

with ui.page("gallery", msg("Gallery"), LEAD):
    recorded = ui.example_run()
    chosen = views.choose_judge(recorded is not None)
    if chosen is not None:
        views.logs(chosen)
    elif recorded is not None:
        views.recorded_example(recorded)
    st.subheader(tr("What is here, and what would be fetched"), anchor=False)
    views.stock()
