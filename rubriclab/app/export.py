"""Export: a run as a one-page report, or its data; what is written is shown before it is taken."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from rubriclab.app import judgments, state
from rubriclab.app.draft import study_toml
from rubriclab.app.frame import faults, verbatim
from rubriclab.app.results import choose_run, nothing
from rubriclab.model.text import file_name
from rubriclab.sinks.report import INCLUDE, default_title, report_html

if TYPE_CHECKING:
    from rubriclab.store.read import RunInfo

PARTS = dict(zip(("Answer", "Charts", "Example of one answer", "Method", "All numbers"), INCLUDE, strict=True))


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
    if kind == "Data":
        _data(info)
    else:
        _report(info)


def _report(info: RunInfo) -> None:
    findings, store = state.findings(info.id), state.store_of(info.id)
    left, right = st.columns([1, 1.75], gap="large")
    with left:
        st.markdown("One HTML file that opens anywhere, also without a network.")
        title = st.text_input("Title", default_title(findings), max_chars=200, key=f"title-{info.id}")
        include = st.pills(
            "Include", list(PARTS), selection_mode="multi", default=[name for name in PARTS if name != "All numbers"],
            key="include", wrap=True,
        )  # fmt: skip
        texts = st.toggle(
            "Include texts and rater names", key="texts",
            help="Off: the file holds numbers, names of judges and your rubric, but no answer and no rater.",
        )  # fmt: skip
        with faults(), st.spinner("Report is being written …"):
            content = report_html(
                findings,
                title=title or None,
                include=[PARTS[name] for name in include],
                texts=texts,
                text_of=lambda call: str(store.call(info.id, call)["item"]["response"]),
                descriptions=judgments.descriptions(info),
            ).encode()
            st.download_button(
                "Download report (HTML)", content, file_name(info.name, ".html"), "text/html", type="primary",
                icon=":material/download:", on_click="ignore", key="download-report",
            )  # fmt: skip
            st.caption(f"About {max(1, round(len(content) / 1000)):,} kB.")
            with right, st.container(border=True, key="preview"):
                st.caption("Preview")
                # As an address of its own the file has no origin: it could not reach the page even if it had a script.
                address = f"data:text/html;charset=utf-8;base64,{b64encode(content).decode()}"
                st.iframe(address, height=900, alt="The report as it will look")
        _terminal(f"rubriclab export {info.id} --out report.html")


def _data(info: RunInfo) -> None:
    from rubriclab.data.outfiles import csv_text
    from rubriclab.sinks.table import frame

    left, right = st.columns([1, 1.75], gap="large")
    store, plan = state.store_of(info.id), judgments.plan_of(info)
    with left:
        st.markdown("**Judgments**: one row a judgment, with the order shown and the reply.")
        _made("judgments.csv", "text/csv", info, lambda: csv_text(store.judgments(info.id, limit=None)))
        st.markdown("**Numbers**: one row a number, with its interval, as every page shows it.")
        _made("numbers.csv", "text/csv", info, lambda: csv_text(frame(state.findings(info.id))))
        if plan is not None:
            st.markdown("**Study**: what was asked of whom, to be run again.")
            _made("study.toml", "text/x-toml", info, lambda: study_toml(plan.study))
        st.markdown("**Run**: all of it in one file, which another lab reads.")
        _made("run.zip", "application/zip", info, lambda: state.bundle(info.id))
        _terminal(f"rubriclab export {info.id} --out run.zip")
    with right, st.container(border=True, key="preview"):
        st.caption("Preview: the first judgments")
        first = store.judgments(info.id, limit=12)
        columns = [name for name in ("item_id", "ordering", "score", "position", "status", "reply") if name in first]
        st.dataframe(first[columns], hide_index=True, width="stretch")


def _made(kind: str, mime: str, info: RunInfo, make: Callable[[], str | bytes]) -> None:
    """A download whose file is made when it is asked for. ``kind``: its ending is that of the file."""
    stem, _, ending = kind.partition(".")
    st.download_button(
        f"{stem.capitalize()} ({ending.upper()})", make, file_name(f"{info.name} {stem}", f".{ending}"), mime,
        icon=":material/download:", on_click="ignore", key=f"download-{stem}",
    )  # fmt: skip


def _terminal(command: str) -> None:
    with st.expander("The same from a terminal", icon=":material/terminal:"):
        verbatim(command)
