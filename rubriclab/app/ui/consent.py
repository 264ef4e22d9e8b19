"""Before a key is sent to an address, or code is run, that nobody here has said yes to: the question."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from rubriclab.app.ui.frame import faults, plain
from rubriclab.judges.keys import ConsentNeeded
from rubriclab.model.language import tr
from rubriclab.runs.manager import RunManager


def start_or_ask(manager: RunManager, name: str, start: Callable[[], object]) -> None:
    """Start the run called ``name`` and draw the page again; where something needs a yes first, ask."""
    try:
        start()
    except ConsentNeeded as needed:
        st.dialog(tr("Do you say yes to this?"), icon=":material/key:")(_ask)(manager, name, needed, start)
    else:
        st.rerun()


def _ask(manager: RunManager, name: str, needed: ConsentNeeded, start: Callable[[], object]) -> None:
    """The addresses, variables and functions, a yes and a no; a yes is kept, a no changes nothing."""
    st.markdown(
        tr(
            "“{name}” came from elsewhere, or its addresses have changed: nobody in this lab has said yes to them yet.",
            name=plain(name),
        )
    )
    for one in needed.destinations:
        with st.container(border=True):
            key = tr("The key in **{variable}** goes to  \n", variable=plain(one.variable)) if one.variable else ""
            what = (
                tr("your function **{function}**, which runs here", function=plain(one.function))
                if one.function
                else ""
            )
            st.markdown(f"{key}{what or f'**{plain(one.address)}**'}")
    if not all(one.function for one in needed.destinations):
        st.markdown(
            tr(
                "Whoever runs the address can use the key, and pay with it. Say yes only if you know the address "
                "and the key is meant for it."
            )
        )
    if any(one.function for one in needed.destinations):
        st.markdown(tr("The function is one of the folder that you named, and may do what you may do."))
    st.caption(tr("Nothing has been sent or run so far."))
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button(tr("No, send and run nothing"), key="consent-no", icon=":material/block:"):
            st.rerun()
        if st.button(tr("Yes, go on"), key="consent-yes", icon=":material/key:"):
            with faults():
                manager.store.consent(needed.destinations)
                start()
                st.rerun()
