"""Export: a run as a one-page report, or its data; what is written is shown before it is taken."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from rubriclab.app import state
from rubriclab.app.draft import study_toml
from rubriclab.app.forms import download
from rubriclab.app.frame import faults, fold, verbatim
from rubriclab.app.results import choose_run, nothing
from rubriclab.model.text import file_name
from rubriclab.sinks.report import INCLUDE, default_title

if TYPE_CHECKING:
    from rubriclab.notebook import Run as Kept

PARTS = dict(zip(("Answer", "Charts", "Example of one answer", "Method", "All numbers"), INCLUDE, strict=True))
PREVIEW = ("item_id", "ordering", "score", "position", "status", "reply")


def page() -> None:
    """Draws the page."""
    info = state.run_choice()
    if info is None:
        nothing("Export")
        return
    st.title("Export", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        choose_run(info, "export")
        kind = st.segmented_control(
            "What for", ["One-page report", "Data"], default="One-page report", key="for", bind="query-params",
            required=True,
        )  # fmt: skip
    (_data if kind == "Data" else _report)(state.kept(info.id), info.name)


def _report(run: Kept, name: str) -> None:
    left, right = st.columns([1, 1.75], gap="large")
    with left:
        st.markdown("One HTML file that opens anywhere, also without a network.")
        title = st.text_input("Title", default_title(run.findings), max_chars=200, key=f"title-{run.id}")
        include = st.pills(
            "Include", list(PARTS), selection_mode="multi", default=[part for part in PARTS if part != "All numbers"],
            key="include", wrap=True,
        )  # fmt: skip
        texts = st.toggle(
            "Include texts and rater names", key="texts",
            help="Off: the file holds numbers, names of judges and your rubric, but no answer and no rater.",
        )  # fmt: skip
        with faults(), st.spinner("Report is being written …"):
            content = run.content(".html", title=title or None, include=[PARTS[part] for part in include], texts=texts)
            file = file_name(name, ".html")
            download("Download report (HTML)", content, file, type="primary", key="download-report")
            st.caption(f"About {max(1, round(len(content) / 1000)):,} kB.")
            with right, st.container(border=True, key="preview"):
                st.caption("Preview")
                # As an address of its own the file has no origin: it could not reach the page even if it had a script.
                address = f"data:text/html;charset=utf-8;base64,{b64encode(content).decode()}"
                st.iframe(address, height=900, alt="The report as it will look")
        _terminal(f"rubriclab export {run.id} --out report.html")


def _data(run: Kept, name: str) -> None:
    left, right = st.columns([1, 1.75], gap="large")
    plan = run.plan
    with left:
        st.markdown("**Judgments**: one row a judgment, with the order shown and the reply.")
        _made("judgments.csv", name, lambda: run.content(".csv"))
        st.markdown("**Numbers**: one row a number, with its interval, as every page shows it.")
        _made("numbers.csv", name, lambda: run.content(".numbers.csv"))
        if plan is not None:
            st.markdown("**Study**: what was asked of whom, to be run again.")
            _made("study.toml", name, lambda: study_toml(plan.study))
        st.markdown("**Run**: all of it in one file, which another lab reads.")
        _made("run.zip", name, lambda: run.content(".zip"))
        _terminal(f"rubriclab export {run.id} --out run.zip")
    with right, st.container(border=True, key="preview"):
        st.caption("Preview: the first judgments")
        first = run.judgments(limit=12)
        columns = [column for column in PREVIEW if column in first]
        wide = {"item_id": st.column_config.Column(width=200)}
        st.dataframe(first[columns], hide_index=True, width="stretch", column_config=wide)


def _made(kind: str, name: str, make: Callable[[], str | bytes]) -> None:
    """A download whose file is made when it is asked for. ``kind``: its ending is that of the file."""
    stem, _, ending = kind.partition(".")
    label = f"{stem.capitalize()} ({ending.upper()})"
    download(label, make, file_name(f"{name} {stem}", f".{ending}"), key=f"download-{stem}")


def _terminal(command: str) -> None:
    fold("The same from a terminal", lambda: verbatim(command), icon="terminal")
