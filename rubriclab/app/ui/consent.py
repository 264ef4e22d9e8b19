"""Before a key is sent to an address, or code is run, that nobody here has said yes to: the question."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from rubriclab.app.ui.frame import faults, plain
from rubriclab.judges.keys import ConsentNeeded
from rubriclab.runs.manager import RunManager


def start_or_ask(manager: RunManager, name: str, start: Callable[[], object]) -> None:
    """Start the run called ``name`` and draw the page again; where something needs a yes first, ask."""
    try:
        start()
    except ConsentNeeded as needed:
        _ask(manager, name, needed, start)
    else:
        st.rerun()


@st.dialog("Do you say yes to this?", icon=":material/key:")
def _ask(manager: RunManager, name: str, needed: ConsentNeeded, start: Callable[[], object]) -> None:
    """The addresses, variables and functions, a yes and a no; a yes is kept, a no changes nothing."""
    st.markdown(
        f"“{plain(name)}” came from elsewhere, or its addresses have changed: nobody in this lab "
        "has said yes to them yet."
    )
    for one in needed.destinations:
        with st.container(border=True):
            key = f"The key in **{plain(one.variable)}** goes to  \n" if one.variable else ""
            what = f"your function **{plain(one.function)}**, which runs here" if one.function else ""
            st.markdown(f"{key}{what or f'**{plain(one.address)}**'}")
    if not all(one.function for one in needed.destinations):
        st.markdown(
            "Whoever runs the address can use the key, and pay with it. Say yes only if you know the "
            "address and the key is meant for it."
        )
    if any(one.function for one in needed.destinations):
        st.markdown("The function is one of the folder that you named, and may do what you may do.")
    st.caption("Nothing has been sent or run so far.")
    with st.container(horizontal=True, horizontal_alignment="right"):
        if st.button("No, send and run nothing", key="consent-no", icon=":material/block:"):
            st.rerun()
        if st.button("Yes, go on", key="consent-yes", icon=":material/key:"):
            with faults():
                manager.store.consent(needed.destinations)
                start()
                st.rerun()
