"""Start the lab, draw the bar of pages, and open the page that the address names.

``app.py`` calls this module, and no page imports it: pages go to each other through ``frame.go``.
A page is a file in ``pages/`` and a line of ``ENTRIES``.
"""

import asyncio
import gc
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

import streamlit as st

from rubriclab.app import doomed_runs, frame, guard, state
from rubriclab.judges.keys import hide_environment
from rubriclab.model.text import LabError, printable, shorten


class Entry(NamedTuple):
    """A page in the bar: its title, and the name of its icon in Material Symbols."""

    title: str
    icon: str


ENTRIES = {
    "home": Entry("Home", "home"),
    "try": Entry("Try it", "bolt"),
    "setup": Entry("Set up", "tune"),
    "runs": Entry("Runs", "play_circle"),
    "results": Entry("Results", "grid_on"),
    "compare": Entry("Compare", "difference"),
    "export": Entry("Export", "ios_share"),
    "learn": Entry("Learn", "school"),
}
"""The pages in the order of the bar. The key is the file in ``pages/`` and the address."""
ENDED = {"failed": "No reply could be parsed", "interrupted": "Stopped"}
"""What toast and tab say of a run that has ended; other states are called by their own name."""
WATCH_SECONDS = 4.0
"""How often an open page looks at the running runs, to show their progress in the tab's title."""


def run() -> None:
    """Draw the bar and the page that the address names. ``app.py`` calls this on every rerun."""
    frame.enter_page()
    # Before all that is drawn: else the browser would fetch the page's icon from a font server.
    st.set_page_config(page_icon=str(frame.HERE / "mark.svg"), layout="wide")
    st.logo(str(frame.HERE / "logo.svg"), size="medium")
    st.html(frame.HERE / "style.css")
    if st.context.theme.type == "dark":
        st.html(frame.HERE / "dark.css")
    page = _bar()
    if doomed_runs.waiting():
        with suppress(LabError):
            doomed_runs.sweep(
                state.store_path(), state.store().delete, leaves=page.url_path != "runs"
            )
    with suppress(LabError):  # the page itself reports a store that cannot be opened
        if _any_running(page.title):
            frame.refreshed(_watch, every=WATCH_SECONDS)(page.title)
    if reason := guard.open_to_others():
        st.warning(reason, icon=":material/lock_open:")
    st.session_state["frame entered"] = True
    if wanted := st.session_state.pop("frame wanted", None):
        name, query = wanted
        if name != page.url_path:
            st.switch_page(frame.page_file(name), query_params=query)
    page.run()


def warm() -> None:
    """Load what every page needs, once and before the server listens.

    Streamlit collects garbage after each run of the script, which takes a tenth of a second for
    the objects of all loaded modules. Frozen objects are left out of that.
    """
    hide_environment()  # first: until then other programs of this user can read the keys
    from rubriclab.app import home  # noqa: F401 - with all that it imports

    gc.collect()
    gc.freeze()


@asynccontextmanager
async def serving(_app: object) -> AsyncIterator[None]:
    """Keep the server up, and pause its runs before it ends, so that no reply is lost.

    SIGTERM ends the server without Python's exit handlers, so runs are paused here. A closed
    terminal (SIGHUP) counts as SIGTERM.
    """
    hangup = getattr(signal, "SIGHUP", None)
    in_main = threading.current_thread() is threading.main_thread()
    if hangup is not None and in_main and signal.getsignal(hangup) is signal.SIG_DFL:
        signal.signal(hangup, lambda *_: signal.raise_signal(signal.SIGTERM))
    yield
    if "rubriclab.runs.manager" in sys.modules:  # otherwise no run was ever started
        from rubriclab.runs.manager import stop_everything

        await asyncio.to_thread(stop_everything)
    if doomed_runs.waiting():
        with suppress(LabError):
            doomed_runs.sweep(state.store_path(), state.store().delete, leaves=True, ends=True)


def _bar() -> st.Page:
    pages = [
        st.Page(
            frame.page_file(name),
            title=entry.title,
            icon=f":material/{entry.icon}:",
            url_path=name,
            default=name == "home",
        )
        for name, entry in ENTRIES.items()
    ]
    return st.navigation(pages, position="top")


def _any_running(title: str) -> bool:
    """Announce the runs that ended since this visitor's last look, and return whether any goes on.

    The news are shown as a toast and in the tab's title, where a visitor on another tab sees them.
    """
    st.set_page_config(page_title=f"{title} · rubriclab")
    running = {run.id for run in state.active()}
    before = st.session_state.get("frame running", set())
    st.session_state["frame running"] = running
    for run_id in before - running:
        with suppress(LabError):  # the run was deleted since
            info = state.run_info(run_id)
            how = ENDED.get(info.state, info.state.capitalize())
            st.toast(f"{how}: {frame.safe(info.name, 60)}", icon=":material/flag:", duration="long")
            name = printable(shorten(info.name, 60))
            st.set_page_config(page_title=f"{how}: {name} · rubriclab")
    return bool(running)


def _watch(title: str) -> None:
    """Show the progress of running runs in the tab's title; redraw the page when one ends."""
    active = state.active()
    if {run.id for run in active} != st.session_state.get("frame running"):
        st.rerun()
    snapshots = [run.snapshot() for run in active]
    done = sum(now.done for now in snapshots)
    planned = sum(now.planned for now in snapshots)
    st.set_page_config(page_title=f"{done / max(planned, 1):.0%} · {title} · rubriclab")
