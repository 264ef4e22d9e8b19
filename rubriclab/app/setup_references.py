"""Write reference answers for each score: one judge writes, another one reviews.

The accepted answers become the study's first data set. A job goes on while nobody looks, and the
store keeps every attempt.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import streamlit as st

from rubriclab.app import state
from rubriclab.app.draft import Draft, changed
from rubriclab.app.forms import SETUP, download, forget, form
from rubriclab.app.frame import announce, faults, safe
from rubriclab.data.tables import read_table
from rubriclab.model.study import DataPart
from rubriclab.model.text import count, file_name, shorten

if TYPE_CHECKING:
    from rubriclab.runs.write_references import ReferenceJob


@st.cache_resource(show_spinner=False)
def _jobs() -> dict[str, ReferenceJob]:
    """Return this server's jobs by id. All visitors share them."""
    return {}


def body(held: Draft) -> None:
    """Draw who writes and who reviews, the job's progress, and the way to use its answers."""
    from rubriclab.runs.write_references import ReferenceJob

    st.caption(
        "One judge writes an answer for each score, and another scores it without knowing "
        "which score was meant. Answers on which they agree are kept. You can then vary "
        "“Reference answer shown”. These calls are made at once, before the launch."
    )
    judges = ["", *(judge.name for judge in held.study.judges)]
    # Without a choice, the first judge writes and the last one reviews.
    shown: dict[str, dict[str, Any]] = {
        "writer": {
            "options": judges,
            "format_func": lambda name: shorten(name, 40) or "the first judge",
        },
        "reviewer": {
            "options": judges,
            "format_func": lambda name: shorten(name, 40) or "the last judge",
        },
    }
    fields = {
        name: about | shown.get(name, {}) for name, about in SETUP["references"]["fields"].items()
    }
    part = held.study.references
    held.change(references=changed(part, **form(part, fields, columns=2, key="orders")))
    job = ReferenceJob(state.store(), held.checked(), held.dataset(), held.rubric())
    going = _jobs().get(job.id, job)
    now = going.snapshot()
    if now.state == "running":
        _progress(going)
        return
    if now.attempts:
        _result(held, going)
    if now.done < now.planned:
        label = f"Write {count(now.planned - now.done, 'answer')}"
        if st.button(label, icon=":material/edit:", key="references-go"):
            with faults():
                _jobs()[job.id] = job.start()
                st.rerun()


@st.fragment(run_every=1.0)
def _progress(job: ReferenceJob) -> None:
    """Draw the progress of a job, until it ends."""
    now = job.snapshot()
    if now.state != "running":
        st.rerun()
    text = (
        f"{now.accepted:,} of {count(now.planned, 'answer')} accepted, {now.failed:,} given up, "
        f"{count(now.attempts, 'attempt')}"
    )
    st.progress(now.done / now.planned, text=text)
    if st.button("Stop", icon=":material/stop:", key="references-stop"):
        job.pause()


def _result(held: Draft, job: ReferenceJob) -> None:
    """Say what became of a job, and offer its answers as the study's data."""
    from rubriclab.runs.write_references import items_csv

    outcome = job.document()
    st.markdown(
        f"**{outcome['accepted']:,} of {count(outcome['wanted'], 'answer')}** accepted. "
        f"{safe(outcome['reason'], 300)}"
    )
    for note in outcome["notes"]:
        st.caption(safe(note, 300))
    if not outcome["accepted"]:
        return
    content, before = items_csv(job.result()), held.study.data[0]
    name = file_name(
        f"{before.name or PurePath(before.file).stem or before.published or 'sample'} references",
        ".csv",
    )
    with st.container(horizontal=True):
        if st.button(
            "Use these answers", icon=":material/check:", type="primary", key="references-use"
        ):
            held.uploads.tables[name] = read_table(content, name)
            held.uploads.version += 1
            held.set_data(0, DataPart(file=name, name=before.name, rubric=before.rubric))
            forget("data-", "orders-")
            announce("The data now have reference answers. Choose their scores under Vary.")
            st.rerun()
        download("Download as CSV", content, name)
