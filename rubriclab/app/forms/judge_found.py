"""The Judges page's look at this machine: what serves models here, ready to be added."""

from __future__ import annotations

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.judge_editor import save_judge
from rubriclab.judges.servers import Found, find_servers, local_servers
from rubriclab.judges.serving import served
from rubriclab.model.language import tr

_ICONS = {"ready": ":green[●]", "empty": ":orange[●]", "key": ":orange[●]", "other": ":red[●]", "nothing": "○"}


def servers_here() -> None:
    """Look when asked to; each model of a server that answers can be added. Not in a served lab."""
    if served():
        return
    names = ", ".join(preset.name for preset in local_servers())
    if st.button(
        tr("Find servers on this machine"),
        key="judges-find",
        icon=":material/search:",
        help=tr("Looks for {names} at their usual addresses. No model is asked.", names=names),
    ):
        with ui.faults():
            st.session_state["judges-found"] = find_servers()
    for found in st.session_state.get("judges-found", ()):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"{_ICONS[found.state]} {ui.plain(found.about)}", width="stretch")
            if found.models:
                _add(found)


def _add(found: Found) -> None:
    tag = f"judges-found-{found.preset.name}"
    model = found.models[0]
    if len(found.models) > 1:
        model = st.selectbox(tr("Model"), found.models, key=f"{tag}-model", label_visibility="collapsed", width=240)
    if st.button(tr("Add"), key=f"{tag}-add", icon=":material/add:"):
        with ui.faults():
            save_judge(found.judge(model))
