"""Know which tab of the browser this is, so that a reloaded page finds its set-up again.

A component without a face keeps a random id in the tab's ``sessionStorage``. It survives a reload,
and a new tab has another one. The id is sent as a trigger: it is in no address and in no log.
Without such a storage the lab works as if every reload were a first visit.
"""

import re
import secrets
import threading
from collections.abc import Callable
from typing import NamedTuple

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

ID = re.compile(r"[0-9a-f]{32}")
"""128 random bits. Nothing else is an id: it names a folder."""
SCRIPT = """
const NAME = 'rubriclab-tab';
export default function (component) {
  let id = '';
  try {
    if (component.data.id) sessionStorage.setItem(NAME, component.data.id);
    id = sessionStorage.getItem(NAME) || '';
    if (!/^[0-9a-f]{32}$/.test(id)) {
      id = [...crypto.getRandomValues(new Uint8Array(16))]
        .map(byte => byte.toString(16).padStart(2, '0')).join('');
      sessionStorage.setItem(NAME, id);
    }
  } catch (blocked) { return; }
  if (id !== component.data.id) component.setTriggerValue('tab', id);
}
"""
_lock = threading.Lock()
_holders: dict[str, str] = {}
"""The visit that has each tab's id, by id. A visit is what Streamlit calls a session."""


class Tab(NamedTuple):
    """The tab of this visit. ``copied_from``: the id of the tab that it was duplicated from."""

    id: str
    copied_from: str = ""


def draw_tab() -> None:
    """Draw the component that tells the tab's id. ``this_tab`` is known from the next run on."""
    draw = st.components.v2.component("rubriclab_tab", js=SCRIPT)
    known = this_tab()
    draw(
        key="frame tab reporter",
        data={"id": known.id if known else ""},
        on_tab_change=_told,
        height="content",
    )


def this_tab() -> Tab | None:
    """Return the tab of this visit, or None as long as the browser has not told it."""
    known: Tab | None = st.session_state.get("frame tab")
    return known


def _told() -> None:
    """Take the id that the browser tells. This is a callback."""
    told = st.session_state["frame tab reporter"].get("tab")
    if this_tab() is None and isinstance(told, str) and ID.fullmatch(told):
        st.session_state["frame tab"] = claimed(told, _visit(), _is_open)


def claimed(told: str, visit: str, is_open: Callable[[str], bool]) -> Tab:
    """Return the tab of a visit whose browser tells this id.

    A duplicated tab tells the id of the tab that it was made from, which another open visit has. It
    gets an id of its own.
    """
    with _lock:
        for id in [id for id, holder in _holders.items() if not is_open(holder)]:
            del _holders[id]
        tab = Tab(told)
        if _holders.get(told, visit) != visit:
            tab = Tab(secrets.token_hex(16), copied_from=told)
        _holders[tab.id] = visit
        return tab


def _visit() -> str:
    context = get_script_run_ctx()
    return context.session_id if context is not None else ""


def _is_open(visit: str) -> bool:
    """Return whether a browser is connected to this visit."""
    return runtime.exists() and runtime.get_instance().is_active_session(visit)
