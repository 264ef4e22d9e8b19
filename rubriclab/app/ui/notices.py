"""That a run has ended, while any page of the lab is open: a toast, and a mark in the title of the browser's tab.

A notice of the desktop would need a script in the page, which neither Streamlit's pages nor the lab's let in.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import streamlit as st

from rubriclab.app.ui.frame import announce, plain
from rubriclab.app.ui.runs import manager
from rubriclab.model import TRIAL_ORIGIN, LabError
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.runs.runner import Run

TITLE = "rubriclab"
LOOK = 2.0
"""Seconds between two looks at the runs that are going."""
_WATCHED = "runs-watched"
MARKS: Mapping[str, tuple[str, str, str]] = {
    "finished": ("✓", ":material/check_circle:", msg("“{name}” has finished: {done:,} of {calls}.")),
    "paused": ("⏸", ":material/pause_circle:", msg("“{name}” is paused: {done:,} of {calls}.")),
    "cancelled": ("✕", ":material/cancel:", msg("“{name}” was cancelled: {done:,} of {calls}.")),
}
"""By a run's state: the mark in the tab's title, the icon of the toast, and its words."""
_STOPPED = ("!", ":material/error:", msg("“{name}” has stopped: {done:,} of {calls}."))


def tab_title() -> str:
    """The title of the tab, with the runs that have ended since the last look; each is told once.

    The next visit of a page takes the mark away: by then it was seen.
    """
    ended = _ended()
    for run in ended:
        del st.session_state[_WATCHED][run.info.run]
        shown = run.snapshot()
        _, icon, words = MARKS.get(shown.state, _STOPPED)
        reason = f" {tr(shown.reason)}" if shown.reason and shown.state != "finished" else ""
        said = tr(words, name=run.info.name, done=shown.done, calls=many(shown.planned, "call"))
        announce(plain(f"{said}{reason}"), icon=icon)
    if not ended:
        return TITLE
    mark = MARKS.get(ended[0].snapshot().state, _STOPPED)[0]
    more = tr(" and {others} more", others=len(ended) - 1) if len(ended) > 1 else ""
    return f"{mark} {ended[0].info.name}{more} · {TITLE}"


def watch_runs() -> None:
    """Look after the runs that are going in this session's store, on whatever page."""
    with suppress(LabError):  # the page says what is wrong with the store
        for run in manager().active():
            if run.info.origin != TRIAL_ORIGIN:  # one text is waited for where it was asked
                st.session_state.setdefault(_WATCHED, {})[run.info.run] = True
    if st.session_state.get(_WATCHED):
        st.fragment(_look, run_every=LOOK)()


def _look() -> None:
    if _ended():
        st.rerun()  # the whole page: its title can be set only there


def _ended() -> list[Run]:
    """The runs that were going when this session looked last, and are no more."""
    watched = st.session_state.get(_WATCHED, {})
    if not watched:
        return []
    with suppress(LabError):
        known = [manager().get(run) for run in watched]
        return [run for run in known if run is not None and not run.snapshot().active]
    return []
