"""The frame of every page: navigation, titles, messages, and text of unknown origin made safe."""

from __future__ import annotations

import gc
import importlib
import logging
import pkgutil
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import streamlit as st
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from streamlit.navigation.page import StreamlitPage

from rubriclab.app.ui.guard import check_visitor, openness
from rubriclab.app.ui.language import CHOSEN as LANGUAGE_CHOSEN
from rubriclab.app.ui.language import SPOKEN as LANGUAGE_SPOKEN
from rubriclab.model import LabError
from rubriclab.model.language import figure, msg, tr

log = logging.getLogger("rubriclab")

_ANNOUNCED = "announced"
_KEYS = "keys of this session"
KEPT_ACROSS_STORES = frozenset({_ANNOUNCED, _KEYS, "entered", "wanted", LANGUAGE_CHOSEN, LANGUAGE_SPOKEN})
"""What a session remembers that is about no store."""
WARM_AFTER = 1.5
"""Seconds after the first page was made: by then it mostly stands in the browser, which fetches its parts from here."""


class Entry(NamedTuple):
    """One page: its file in ``pages/`` (also its address), its title and its icon.

    ``listed``: it stands in the sidebar; one that does not is reached by links of other pages.
    """

    file: str
    title: str
    icon: str
    listed: bool = True


NAVIGATION: Mapping[str, tuple[Entry, ...]] = {
    "": (
        Entry("home", msg("Home"), ":material/home:"),
        Entry("trial", msg("Try it"), ":material/bolt:"),
        Entry("guide", msg("What position bias is"), ":material/school:"),
        Entry("gallery", msg("Gallery"), ":material/museum:"),
    ),
    msg("Set up"): (
        Entry("data", msg("Data"), ":material/table_rows:"),
        Entry("rubric", msg("Rubric"), ":material/format_list_numbered:"),
        Entry("judges", msg("Judges"), ":material/gavel:"),
        Entry("prompt", msg("Your prompt"), ":material/edit_note:"),
        Entry("workshop", msg("Workshop"), ":material/handyman:"),
        Entry("study", msg("Study"), ":material/science:"),
        Entry("runs", msg("Runs"), ":material/play_circle:"),
    ),
    msg("Findings"): (
        Entry("position", msg("Results"), ":material/grid_on:"),
        Entry("alignment", msg("Human alignment"), ":material/groups:"),
        Entry("reliability", msg("Reliability"), ":material/balance:"),
        Entry("ranking", msg("Ranking and advice"), ":material/leaderboard:"),
        Entry("criteria", msg("Criterion order"), ":material/view_column:"),
        Entry("batch", msg("Several a call"), ":material/stacks:"),
        Entry("choice", msg("Causes and cures"), ":material/healing:"),
        Entry("perturbation", msg("Scoring bias"), ":material/tune:"),
        Entry("comparison", msg("Pairs and lists"), ":material/compare_arrows:"),
    ),
    msg("Look closer"): (
        Entry("compare", msg("Compare"), ":material/difference:"),
        Entry("judgments", msg("Judgments"), ":material/manage_search:"),
        Entry("report", msg("Report"), ":material/description:"),
        Entry("presentation", msg("Presentation"), ":material/slideshow:", listed=False),
        Entry("pipeline", msg("Your pipeline"), ":material/conveyor_belt:"),
    ),
    msg("Learn"): (
        Entry("definitions", msg("Definitions"), ":material/menu_book:"),
        Entry("assumptions", msg("Assumptions"), ":material/rule:"),
        Entry("check", msg("Method check"), ":material/verified:"),
    ),
}

MOVED: Mapping[str, str] = {
    "results": "position",
    "debiasing": "choice",
    "method": "check",
    "tryit": "trial",
    "home": "",
}
"""Addresses that pages had before, with where they are now: links of old lead there. Home is the address without a
name, and whoever types its name as that of any other page is led there too."""


def forwarding() -> list[Route]:
    """The addresses of MOVED as routes of the server: each answers with where its page is now.

    Before Streamlit sees the visit, so also at the first one after a start. To Streamlit these
    are no pages: until app.py has run once, it knows only the files in ``pages/``.
    """
    base = str(st.get_option("server.baseUrlPath")).strip("/")
    folder = f"/{base}" if base else ""
    return [
        Route(f"{folder}/{before}{slash}", partial(_forward, f"{up}{now}" or "./"))
        for before, now in MOVED.items()
        for slash, up in (("", ""), ("/", "../"))
    ]


def _forward(to: str, request: Request) -> Response:
    """Relative, since a proxy may serve the lab under a folder; for now, since ports change hands."""
    asked = f"?{request.url.query}" if request.url.query else ""
    return RedirectResponse(f"{to}{asked}", status_code=307)


def _query() -> dict[str, list[str]]:
    return {name: st.query_params.get_all(name) for name in st.query_params}


def enter(page: StreamlitPage) -> None:
    """Called by app.py before a page runs: marks the session and follows a deep link."""
    check_visitor()
    if open_for := openness():
        st.warning(open_for, icon=":material/lock_open:")
    st.session_state["entered"] = True
    wanted, asked = st.session_state.pop("wanted", (None, {}))
    known = {entry.file for entries in NAVIGATION.values() for entry in entries}
    if wanted in known and wanted != page.url_path:
        st.switch_page(f"pages/{wanted}.py", query_params=asked)


@st.cache_resource(show_spinner=False)
def soon_at_hand() -> threading.Timer:
    """Once a server, after its first page: import what findings need while that is read.

    That takes more than a second, which the next page would otherwise have to wait for. Called by app.py once the
    page has been made: one that is still being made would get half of the processor.
    """
    timer = threading.Timer(WARM_AFTER, _import_rooms)
    timer.daemon = True
    timer.start()
    return timer


def _import_rooms() -> None:
    for room in ("findings", "figures", "app.views"):
        package = importlib.import_module(f"rubriclab.{room}")
        for module in pkgutil.iter_modules(package.__path__):
            importlib.import_module(f"rubriclab.{room}.{module.name}")
    # The one library that findings import where they need it, since a command line that needs none of it would wait.
    importlib.import_module("scipy.stats")
    # Streamlit looks for garbage after every run of a page. What is imported stays, and there is more of it than of
    # all else: looking through it again and again would take as long as drawing the page.
    gc.collect()
    gc.freeze()


def announce(done: str, *, icon: str = ":material/check:") -> None:
    """Say what was done once the page is drawn anew: Streamlit loses a toast that a rerun follows."""
    st.session_state[_ANNOUNCED] = [*st.session_state.get(_ANNOUNCED, ()), (done, icon)]


@contextmanager
def page(file: str, title: str, lead: str) -> Iterator[None]:
    """The frame of one page: title, one sentence, and no traceback whatever happens inside.

    ``title`` and ``lead`` are in English, marked with ``msg``: they are said here.

    A server whose first visitor opens a deep link runs the page without app.py; the page then
    goes through app.py and comes back to itself.
    """
    check_visitor()
    if not st.session_state.get("entered"):
        st.session_state["wanted"] = file, _query()
        st.switch_page("app.py")
    st.title(tr(title))
    st.markdown(tr(lead))
    for done, icon in st.session_state.pop(_ANNOUNCED, ()):
        st.toast(done, icon=icon)
    try:
        yield
    except LabError as fault:
        st.error(plain(str(fault)), icon=":material/error:")
    except Exception as fault:
        if type(fault).__module__.startswith("streamlit"):
            raise  # reruns, stops and page switches travel as exceptions
        log.exception("page %s failed", file)
        st.error(
            tr(
                "Something in the lab itself failed ({fault}). Your data and runs are untouched. The details are in "
                "the terminal where the lab runs.",
                fault=type(fault).__name__,
            ),
            icon=":material/bug_report:",
        )


@contextmanager
def faults() -> Iterator[None]:
    """A part of a page that may meet the user's mistakes: said in its place, the rest goes on."""
    try:
        yield
    except LabError as fault:
        st.error(plain(str(fault)), icon=":material/error:")


def empty_state(title: str, text: str, target: str | None = None, action: str = "") -> None:
    """What a page shows while there is nothing to show: why, and the one next step."""
    with st.container(border=True, horizontal_alignment="center"):
        st.subheader(title, anchor=False)
        st.markdown(text)
        if target is not None:
            st.page_link(f"pages/{target}.py", label=action, icon=":material/arrow_forward:")


def plain(text: str) -> str:
    """Text of unknown origin for a markdown widget: nothing in it is markup, nothing a link.

    Addresses become links by themselves, escaped or not; an invisible word joiner in them
    keeps them text.
    """
    text = re.sub(r"(://|@|www(?=\.))", "\\1\u2060", text)
    for mark in "\\`*_{}[]()#+-!|<>$~:":
        text = text.replace(mark, f"\\{mark}")
    return text


def verbatim(text: str, *, label: str = "") -> None:
    """Hostile text (a reply, an upload) shown exactly as it is."""
    if label:
        st.caption(label)
    st.code(text, language=None, wrap_lines=True)


def duration(seconds: float) -> str:
    """Seconds in the unit one would say them in."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{figure(seconds / 3600, '.1f')} h"


def secrets() -> Mapping[str, str]:
    """Keys given for this session, then Streamlit's secrets, as plain names and values."""
    try:
        kept = {name: str(value) for name, value in st.secrets.items()}
    except FileNotFoundError:
        kept = {}
    return {**kept, **st.session_state.get(_KEYS, {})}


def remember_key(name: str, key: str) -> None:
    """Take a key for this session: it is in the memory of this visit alone."""
    st.session_state[_KEYS] = {**st.session_state.get(_KEYS, {}), name: key}
