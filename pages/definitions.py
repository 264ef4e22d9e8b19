"""Definitions: what every number means, exactly, with its formula and its source."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import definitions as views
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many

LEAD = msg("What every number of the lab means: in a sentence, exactly, as a formula, and where it comes from.")

with ui.page("definitions", msg("Definitions"), LEAD):
    words = ui.search(
        tr("Find a definition"), key="definitions-words", address="q", hint=tr("For example: noise, Holm, winner")
    )
    wanted = st.query_params.get("term")
    term = views.asked_for(wanted)
    if words:
        found = views.matching(words)
        st.caption(
            tr("{definitions} with “{words}”.", definitions=many(len(found), "definition"), words=ui.plain(words))
        )
        views.listed(found)
    else:
        if term is not None:
            views.asked(term)
        elif wanted is not None:
            st.warning(
                tr("There is no definition “{wanted}”. Here are all.", wanted=ui.plain(wanted)),
                icon=":material/link_off:",
            )
        views.of_topic(views.topic_of(term), but=term)
        st.caption(tr(views.SYMBOLS))
    views.references()
