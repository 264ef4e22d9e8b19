"""Export: a run as a one-page report, or its data; what is written is shown before it is taken."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

import streamlit as st

from rubriclab.app import judgments, state
from rubriclab.app.draft import study_toml
from rubriclab.app.frame import faults, verbatim
from rubriclab.app.results import choose_run, nothing
from rubriclab.core.topic import Findings
from rubriclab.model.text import file_name
from rubriclab.sinks.cards import example_of
from rubriclab.sinks.facts import every_facts

if TYPE_CHECKING:
    from rubriclab.store.store import RunInfo

PARTS = {
    "Answer": "answer",
    "Charts": "charts",
    "Example of one answer": "example",
    "Method": "method",
    "All numbers": "numbers",
}


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
    from rubriclab.sinks.report import default_title, report_html

    findings = state.findings(info.id)
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
                response=_example_text(info, findings) if texts else None,
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


def _example_text(info: RunInfo, findings: Findings) -> str:
    """The text that the example in the report is about."""
    arm = findings.judgments.arms[every_facts(findings)[0].condition]
    cards = example_of(arm)
    if not cards:
        return ""
    item = state.store_of(info.id).call(info.id, cards[0].call)["item"]
    return str(item.get("response") or "")


def _data(info: RunInfo) -> None:
    left, right = st.columns([1, 1.75], gap="large")
    store = state.store_of(info.id)
    with left:
        st.markdown("**Judgments**: one row a judgment, with the order shown and the reply.")
        _made("judgments.csv", "Judgments (CSV)", "text/csv", info)
        st.markdown("**Numbers**: one row a number, with its interval, as every page shows it.")
        _made("numbers.csv", "Numbers (CSV)", "text/csv", info)
        if judgments.plan_of(info) is not None:
            st.markdown("**Study**: what was asked of whom, to be run again.")
            _made("study.toml", "Study (TOML)", "text/x-toml", info)
        st.markdown("**Run**: all of it in one file, which another lab reads.")
        _made("run.zip", "Run (ZIP)", "application/zip", info)
        _terminal(f"rubriclab export {info.id} --out run.zip")
    with right, st.container(border=True, key="preview"):
        st.caption("Preview: the first judgments")
        frame = store.judgments(info.id, limit=12)
        columns = [name for name in ("item_id", "ordering", "score", "position", "status", "reply") if name in frame]
        st.dataframe(frame[columns], hide_index=True, width="stretch")


def _made(kind: str, label: str, mime: str, info: RunInfo) -> None:
    """A download whose file is made when it is asked for."""

    def made() -> bytes:
        from rubriclab.data.outfiles import csv_text
        from rubriclab.sinks.table import frame

        if kind == "run.zip":
            return state.bundle(info.id)
        if kind == "study.toml":
            plan = judgments.plan_of(info)
            return study_toml(plan.study).encode() if plan else b""
        if kind == "numbers.csv":
            return csv_text(frame(state.findings(info.id))).encode()
        return csv_text(state.store_of(info.id).judgments(info.id, limit=None)).encode()

    stem, _, ending = kind.partition(".")
    st.download_button(
        label, made, file_name(f"{info.name} {stem}", f".{ending}"), mime, icon=":material/download:",
        on_click="ignore", key=f"download-{stem}",
    )  # fmt: skip


def _terminal(command: str) -> None:
    with st.expander("The same from a terminal", icon=":material/terminal:"):
        verbatim(command)
