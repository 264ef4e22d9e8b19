"""Reference answers from the page: choose who writes and reviews, watch, read every attempt."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.common import all_rubrics, judge_label, kept_dataset, known_judges
from rubriclab.datasets.outfiles import csv_bytes
from rubriclab.model import Dataset, Judge, Rubric
from rubriclab.model.language import figure, msg, tr
from rubriclab.model.wording import many
from rubriclab.runs.reference_answers import references_table
from rubriclab.runs.references import LIMIT, ReferenceJob

KEY = "perturbation-references"
JOBS_KEPT = 8
ROLES = {"writer": msg("Writer"), "reviewer": msg("Reviewer")}
STATUSES: Mapping[str, str] = {
    "accepted": msg("accepted"),
    "rejected": msg("rejected"),
    "unread": msg("unread"),
    "failed": msg("failed"),
}
COLUMNS: Mapping[str, str] = {
    "item_id": msg("item_id"),
    "score": msg("score"),
    "attempt": msg("attempt"),
    "status": msg("status"),
    "verdict": msg("verdict"),
    "writer": msg("writer"),
    "reviewer": msg("reviewer"),
    "reason": msg("reason"),
}
"""What came of an attempt, and the columns of the table of all, as readers are told."""
OF_THE_DATA = ""
"""The data's own rubric among those on offer: all others have a name."""


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
            tr("No data set kept"),
            tr("Keep a data set first, then have reference answers written for it."),
            target="data",
            action=tr("To the data"),
        )
        return
    names = dict(zip(kept["dataset"], kept["name"], strict=True))
    code = st.selectbox(tr("Data set"), list(names), key=f"{KEY}-data", format_func=lambda c: names[c])
    dataset = kept_dataset(code)
    with ui.faults():
        job = _chosen(dataset)
        _controls(job)
        attempts(code)


def _chosen(dataset: Dataset) -> ReferenceJob:
    """The job of the chosen judges; the one that is going where there is one."""
    judges, rubrics = known_judges(), {name: r for name, (r, _) in all_rubrics().items()}
    if dataset.rubric is not None:
        rubrics = {OF_THE_DATA: dataset.rubric, **rubrics}
    rubric = rubrics[
        st.selectbox(
            tr("Rubric"),
            list(rubrics),
            key=f"{KEY}-rubric",
            format_func=lambda name: (
                tr("{name} (of the data)", name=rubrics[name].name) if name == OF_THE_DATA else name
            ),
        )
    ]
    left, right, last = st.columns(3)
    writer = _judge(left, "writer", judges, 0)
    reviewer = _judge(right, "reviewer", judges, 1)
    limit = int(
        last.number_input(
            tr("Attempts per answer"),
            1,
            50,
            LIMIT,
            key=f"{KEY}-limit",
            help=tr("An answer the reviewer never agrees with is left out."),
        )
    )
    return _job(dataset, rubric, writer, reviewer, limit)


def _judge(place: st.delta_generator.DeltaGenerator, role: str, judges: dict[str, Judge], index: int) -> Judge:
    name = place.selectbox(
        tr(ROLES[role]),
        list(judges),
        index=min(index, len(judges) - 1),
        key=f"{KEY}-{role}",
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
        st.warning(ui.plain(tr(reason)), icon=":material/pause:")
    return made


def _controls(job: ReferenceJob) -> None:
    shown = job.snapshot()
    left = shown.wanted - shown.done
    st.caption(
        tr(
            "{answers} wanted: {accepted:,} accepted, {failed:,} without agreement, {left:,} to go. "
            "{existing:,} were there already; {items} {items:has|have} no instruction. At most {most:,} calls.",
            answers=many(shown.wanted, "answer"),
            accepted=shown.accepted,
            failed=shown.failed,
            left=left,
            existing=job.existing,
            items=many(job.skipped, "item"),
            most=left * job.limit * 2,
        )
    )
    if job.active:
        st.fragment(_watch, run_every=1.0)(job)
        return
    with st.container(horizontal=True):
        if left and st.button(
            tr("Write reference answers"), type="primary", icon=":material/edit_note:", key=f"{KEY}-start"
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
    st.progress(
        share,
        text=tr(
            "{done:,} of {answers} · {attempts}",
            done=shown.done,
            answers=many(shown.wanted, "answer"),
            attempts=many(shown.attempts, "attempt"),
        ),
    )
    if st.button(tr("Stop"), key=f"{KEY}-stop", icon=":material/stop:"):
        job.stop()


def _keep(job: ReferenceJob) -> None:
    """The data set with its answers: kept for studies, or taken away as a table."""
    found = job.result()
    if st.button(tr("Keep as a data set"), key=f"{KEY}-keep", icon=":material/save:"):
        ui.store().save_dataset(found.dataset)
        st.toast(tr("“{name}” can now be chosen on the Study page.", name=found.dataset.name))
    st.download_button(
        tr("Download (CSV)"),
        key=f"{KEY}-csv",
        on_click="ignore",
        file_name="references.csv",
        data=csv_bytes(references_table(found.dataset)),
    )
    for note in found.notes:
        st.caption(ui.plain(tr(note)))


def attempts(code: str) -> None:
    """Every attempt of every job on this data set, and any one of them to read."""
    frame: pd.DataFrame = ui.store().reference_attempts(code)
    if frame.empty:
        st.caption(tr("No attempt yet."))
        return
    counts = " · ".join(
        f"{figure(n, ',')} {tr(STATUSES.get(str(name), str(name)))}"
        for name, n in frame["status"].value_counts().items()
    )
    st.markdown(tr("**Attempts**  \n:small[{counts}]", counts=counts))
    chosen = st.dataframe(
        frame[list(COLUMNS)].assign(status=[tr(STATUSES.get(status, status)) for status in frame["status"]]),
        hide_index=True,
        width="stretch",
        key=f"{KEY}-table",
        height=280,
        column_config={name: tr(label) for name, label in COLUMNS.items()},
        on_select="rerun",
        selection_mode="single-row",
    )
    for row in chosen.selection.rows:
        one = frame.iloc[row]
        ui.verbatim(str(one["text"]), label=tr("Written for score {score}", score=one["score"]))
        ui.verbatim(str(one["review"]), label=tr("What the reviewer replied"))
