"""Reference answers from the page: choose who writes and reviews, watch, read every attempt."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.common import all_rubrics, judge_label, kept_dataset, known_judges
from rubriclab.datasets.outfiles import csv_bytes
from rubriclab.model import Dataset, Judge, Rubric
from rubriclab.model.wording import many
from rubriclab.runs.reference_answers import references_table
from rubriclab.runs.references import LIMIT, ReferenceJob

KEY = "perturbation-references"
JOBS_KEPT = 8


@st.cache_resource(show_spinner=False)
def _jobs(path: str) -> dict[str, ReferenceJob]:  # noqa: ARG001  (a key of the cache)
    """The jobs of this server by their id; they live on when pages change."""
    return {}


def section() -> None:
    """Choose, start, watch, read."""
    kept = ui.store().datasets()
    kept = kept[kept["kind"] == "items"]
    if kept.empty:
        ui.empty_state(
            "No data set kept",
            "Keep a data set first, then have reference answers written for it.",
            target="data",
            action="To the data",
        )
        return
    names = dict(zip(kept["dataset"], kept["name"], strict=True))
    code = st.selectbox("Data set", list(names), key=f"{KEY}-data", format_func=lambda c: names[c])
    dataset = kept_dataset(code)
    with ui.faults():
        job = _chosen(dataset)
        _controls(job)
        attempts(code)


def _chosen(dataset: Dataset) -> ReferenceJob:
    """The job of the chosen judges; the one that is going where there is one."""
    judges, rubrics = known_judges(), {name: r for name, (r, _) in all_rubrics().items()}
    if dataset.rubric is not None:
        rubrics = {f"{dataset.rubric.name} (of the data)": dataset.rubric, **rubrics}
    rubric = rubrics[st.selectbox("Rubric", list(rubrics), key=f"{KEY}-rubric")]
    left, right, last = st.columns(3)
    writer = _judge(left, "Writer", judges, 0)
    reviewer = _judge(right, "Reviewer", judges, 1)
    limit = int(
        last.number_input(
            "Attempts per answer",
            1,
            50,
            LIMIT,
            key=f"{KEY}-limit",
            help="An answer the reviewer never agrees with is left out.",
        )
    )
    return _job(dataset, rubric, writer, reviewer, limit)


def _judge(place: st.delta_generator.DeltaGenerator, label: str, judges: dict[str, Judge], index: int) -> Judge:
    name = place.selectbox(
        label,
        list(judges),
        index=min(index, len(judges) - 1),
        key=f"{KEY}-{label.lower()}",
        format_func=lambda n: judge_label(judges[n]),
    )
    return judges[name]


def _job(dataset: Dataset, rubric: Rubric, writer: Judge, reviewer: Judge, limit: int) -> ReferenceJob:
    jobs = _jobs(ui.store().path)
    made = ReferenceJob(
        dataset, rubric, writer=writer, reviewer=reviewer, store=ui.store(), limit=limit, secrets=ui.secrets()
    )
    going = jobs.get(made.job)
    if going is None or going.active:
        return going or made
    if reason := going.snapshot().reason:
        st.warning(ui.plain(reason), icon=":material/pause:")
    return made


def _controls(job: ReferenceJob) -> None:
    shown = job.snapshot()
    left = shown.wanted - shown.done
    st.caption(
        f"{many(shown.wanted, 'answer')} wanted: {shown.accepted:,} accepted, {shown.failed:,} without agreement, "
        f"{left:,} to go. {job.existing:,} were there already; {many(job.skipped, 'item', 'have')} no instruction. "
        f"At most {left * job.limit * 2:,} calls."
    )
    if job.active:
        st.fragment(_watch, run_every=1.0)(job)
        return
    with st.container(horizontal=True):
        if left and st.button(
            "Write reference answers", type="primary", icon=":material/edit_note:", key=f"{KEY}-start"
        ):
            jobs = _jobs(ui.store().path)
            for old in [name for name, other in jobs.items() if not other.active][:-JOBS_KEPT]:
                del jobs[old]
            jobs[job.job] = job.start()
            st.rerun()
        if shown.accepted:
            _keep(job)


def _watch(job: ReferenceJob) -> None:
    """One look a second at a job that is going."""
    shown = job.snapshot()
    if not job.active:
        st.rerun()
    share = shown.done / shown.wanted if shown.wanted else 1.0
    st.progress(share, text=f"{shown.done:,} of {many(shown.wanted, 'answer')} · {many(shown.attempts, 'attempt')}")
    if st.button("Stop", key=f"{KEY}-stop", icon=":material/stop:"):
        job.stop()


def _keep(job: ReferenceJob) -> None:
    """The data set with its answers: kept for studies, or taken away as a table."""
    found = job.result()
    if st.button("Keep as a data set", key=f"{KEY}-keep", icon=":material/save:"):
        ui.store().save_dataset(found.dataset)
        st.toast(f"“{found.dataset.name}” can now be chosen on the Study page.")
    st.download_button(
        "Download (CSV)",
        key=f"{KEY}-csv",
        on_click="ignore",
        file_name="references.csv",
        data=csv_bytes(references_table(found.dataset)),
    )
    for note in found.notes:
        st.caption(ui.plain(note))


def attempts(code: str) -> None:
    """Every attempt of every job on this data set, and any one of them to read."""
    frame: pd.DataFrame = ui.store().reference_attempts(code)
    if frame.empty:
        st.caption("No attempt yet.")
        return
    counts = " · ".join(f"{n:,} {name}" for name, n in frame["status"].value_counts().items())
    st.markdown(f"**Attempts**  \n:small[{counts}]")
    columns = ["item_id", "score", "attempt", "status", "verdict", "writer", "reviewer", "reason"]
    chosen = st.dataframe(
        frame[columns],
        hide_index=True,
        width="stretch",
        key=f"{KEY}-table",
        height=280,
        on_select="rerun",
        selection_mode="single-row",
    )
    for row in chosen.selection.rows:
        one = frame.iloc[row]
        ui.verbatim(str(one["text"]), label=f"Written for score {one['score']}")
        ui.verbatim(str(one["review"]), label="What the reviewer replied")
