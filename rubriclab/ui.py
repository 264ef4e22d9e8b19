"""What the pages share: the frame, the store and the run manager, caches, charts, messages.

The only module of the package that imports streamlit. Pages keep ids in session state,
never data; what they show comes from the store through the caches here.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st
from streamlit.navigation.page import StreamlitPage

from rubriclab.archive import read_archive
from rubriclab.figures.style import Chart
from rubriclab.model import LabError, RunData
from rubriclab.runner import RunManager
from rubriclab.store import RunInfo, Store

log = logging.getLogger("rubriclab")

STORE_VARIABLE = "RUBRICLAB_STORE"
DEFAULT_STORE = "lab.duckdb"
EXAMPLE = Path(__file__).resolve().parent.parent / "data" / "example_run.zip"
EXAMPLE_NAME = "Recorded example"
STATE_COLORS = {
    "running": "blue", "finished": "green", "imported": "green", "paused": "orange",
    "interrupted": "orange", "cancelled": "gray", "planned": "gray",
}  # fmt: skip
FINDINGS_PAGE = {"options": "results"}
"""The page that shows the findings of a run, by the axis of its design."""


class Entry(NamedTuple):
    """One page: its file in ``pages/`` (also its address), its title and its icon."""

    file: str
    title: str
    icon: str


NAVIGATION: Mapping[str, tuple[Entry, ...]] = {
    "": (Entry("home", "Home", ":material/home:"),),
    "Set up": (
        Entry("data", "Data", ":material/table_rows:"),
        Entry("rubric", "Rubric", ":material/format_list_numbered:"),
        Entry("judges", "Judges", ":material/gavel:"),
        Entry("study", "Study", ":material/science:"),
        Entry("runs", "Runs", ":material/play_circle:"),
    ),
    "Findings": (
        Entry("results", "Results", ":material/grid_on:"),
    ),
}

# ---------------------------------------------------------------- the frame


def enter(page: StreamlitPage) -> None:
    """Called by app.py before a page runs: marks the session and follows a deep link."""
    st.session_state["entered"] = True
    wanted = st.session_state.pop("wanted", None)
    known = {entry.file for entries in NAVIGATION.values() for entry in entries}
    if wanted in known and wanted != page.url_path:
        st.switch_page(f"pages/{wanted}.py")


@contextmanager
def page(file: str, title: str, lead: str) -> Iterator[None]:
    """The frame of one page: title, one sentence, and no traceback whatever happens inside.

    A server whose first visitor opens a deep link runs the page without app.py; the page then
    goes through app.py and comes back to itself.
    """
    if not st.session_state.get("entered"):
        st.session_state["wanted"] = file
        st.switch_page("app.py")
    st.title(title)
    st.markdown(lead)
    try:
        yield
    except LabError as fault:
        st.error(_plain(str(fault)), icon=":material/error:")
    except Exception as fault:
        if type(fault).__module__.startswith("streamlit"):
            raise  # reruns, stops and page switches travel as exceptions
        log.exception("page %s failed", file)
        st.error(
            f"Something in the lab itself failed ({type(fault).__name__}). Your data and runs are "
            "untouched. The details are in the terminal where the lab runs.",
            icon=":material/bug_report:",
        )


def empty_state(title: str, text: str, *, target: str | None = None, action: str = "") -> None:
    """What a page shows while there is nothing to show: why, and the one next step."""
    with st.container(border=True, horizontal_alignment="center"):
        st.subheader(title, anchor=False)
        st.markdown(text)
        if target is not None:
            st.page_link(f"pages/{target}.py", label=action, icon=":material/arrow_forward:")


def _plain(text: str) -> str:
    """Text of unknown origin for a markdown widget: nothing in it is markup."""
    for mark in "\\`*_{}[]()#+-!|<>$~:":
        text = text.replace(mark, f"\\{mark}")
    return text


def verbatim(text: str, *, label: str = "") -> None:
    """Hostile text (a reply, an upload) shown exactly as it is."""
    if label:
        st.caption(label)
    st.code(text, language=None, wrap_lines=True)


# ---------------------------------------------------------------- the store and the runs


@st.cache_resource(show_spinner="Opening the store …")
def _manager(path: str) -> RunManager:
    opened = Store(path)
    if EXAMPLE.exists() and not opened.runs():
        read_archive(opened, EXAMPLE.read_bytes())
    return RunManager(opened)


def manager() -> RunManager:
    """The runs of this server, over the one store. Raises StoreError where it cannot be opened."""
    return _manager(os.environ.get(STORE_VARIABLE, DEFAULT_STORE))


def store() -> Store:
    return manager().store


def example_run() -> RunInfo | None:
    """The recorded run that comes with the lab, while it is in the store."""
    return next((info for info in store().runs() if info.name == EXAMPLE_NAME), None)


def run_list(*, limit: int | None = None, key: str) -> None:
    """The latest runs, one a line, with what can be done with each."""
    runs = store().runs()[:limit]
    if not runs:
        empty_state("No runs yet", "Start the demo, or set up a study of your own.")
    for info in runs:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            mark = " :orange-badge[simulated]" if info.simulated else ""
            st.markdown(f"**{_plain(info.name)}** · {_plain(info.dataset)}{mark}", width="stretch")
            live = manager().get(info.run)
            state = live.snapshot().state if live is not None else info.state
            st.markdown(f":{STATE_COLORS.get(state, 'gray')}-badge[{state}]", width="content")
            st.caption(f"{info.done:,} of {info.planned:,} calls", width="content")
            if info.done and st.button("Results", key=f"{key}-open-{info.run}"):
                st.session_state["run"] = info.run
                st.switch_page(f"pages/{FINDINGS_PAGE.get(info.axis, 'results')}.py")


def secrets() -> Mapping[str, str]:
    """Streamlit's secrets as plain names and values; empty where there is no secrets file."""
    try:
        return {name: str(value) for name, value in st.secrets.items()}
    except FileNotFoundError:
        return {}


def choose_run(*, axes: Sequence[str], key: str) -> RunInfo | None:
    """The run a findings page is about: chosen at its top, remembered across pages.

    Only runs of these ``axes`` that have judgments are offered. None where there is none.
    """
    runs = [info for info in store().runs() if info.axis in axes and info.done]
    if not runs:
        return None
    names = [info.run for info in runs]
    remembered = st.session_state.get("run")
    index = names.index(remembered) if remembered in names else 0
    by_name = {info.run: info for info in runs}
    chosen = st.selectbox(
        "Run", names, index=index, key=f"{key}-run",
        format_func=lambda name: run_label(by_name[name]),
    )  # fmt: skip
    st.session_state["run"] = chosen
    info = by_name[chosen]
    if info.simulated:
        st.warning(
            "This run has a **simulated** judge: its numbers show how the method works, not how "
            "any model behaves.",
            icon=":material/science:",
        )
    return info


def run_label(info: RunInfo) -> str:
    mark = " · simulated" if info.simulated else ""
    return f"{info.name} · {info.dataset} · {info.done:,} judgments{mark} · {info.created:%d %b %H:%M}"


@st.cache_data(show_spinner="Reading judgments …", max_entries=6)
def _frame(path: str, run: str, revision: str, probabilities: bool) -> RunData:
    return store().frame(run, probabilities=probabilities)


def run_data(info: RunInfo, *, probabilities: bool = False) -> RunData:
    """The judgments of a run, read once per revision."""
    return _frame(store().path, info.run, store().revision(info.run), probabilities)


@st.cache_data(show_spinner="Working it out …", max_entries=48)
def _finding(
    path: str, run: str, revision: str, name: str, probabilities: bool,
    _compute: Callable[[RunData], Any],
) -> Any:  # fmt: skip
    return _compute(_frame(path, run, revision, probabilities))


def finding(
    info: RunInfo, compute: Callable[[RunData], Any], *, probabilities: bool = False
) -> Any:
    """``compute`` of a run's judgments, worked out once per revision of the run."""
    revision = store().revision(info.run)
    name = f"{compute.__module__}.{compute.__qualname__}"
    return _finding(store().path, info.run, revision, name, probabilities, compute)


# ---------------------------------------------------------------- charts and tables


def chart(shown: Chart, *, key: str, select: bool = False) -> Any:
    """A chart with its alt text; with ``select`` the points the user clicked come back."""
    options: dict[str, Any] = {"on_select": "rerun", "selection_mode": "points"} if select else {}
    return st.plotly_chart(
        shown.figure,
        width="stretch",
        key=key,
        alt=shown.alt,
        config={"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]},
        **options,
    )


def export_row(charts: Mapping[str, Chart], tables: Mapping[str, pd.DataFrame], *, key: str) -> None:
    """Download buttons: each chart as an HTML file of its own, each table as CSV."""
    with st.popover("Export", icon=":material/download:"):
        for name, shown in charts.items():
            st.download_button(
                f"{name} (HTML)", key=f"{key}-html-{name}", on_click="ignore", width="stretch",
                data=lambda figure=shown.figure: figure.to_html(include_plotlyjs=True),
                file_name=f"{_file_name(name)}.html", mime="text/html",
            )  # fmt: skip
        for name, table in tables.items():
            st.download_button(
                f"{name} (CSV)", key=f"{key}-csv-{name}", on_click="ignore", width="stretch",
                data=lambda frame=table: frame.to_csv(index=False).encode(),
                file_name=f"{_file_name(name)}.csv", mime="text/csv",
            )  # fmt: skip


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")
