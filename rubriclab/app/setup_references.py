"""Draw the part of Set up in which one judge writes reference answers and another reviews them.

``runs/write_references.py`` does the work. Here are its form, its progress, and the buttons for the
answers that were accepted, which can become the study's first data set. A job belongs to the
server, not to a visitor's page: it goes on when the page is closed, and the store keeps every
attempt.
"""

from __future__ import annotations

from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import streamlit as st

from rubriclab.app import state
from rubriclab.app.draft import Draft, changed
from rubriclab.app.forms import SETUP, download, forget, form
from rubriclab.app.frame import announce, faults, safe
from rubriclab.app.session_keys import session_keys
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
    """Draw the form, and below it the job's progress or its result."""
    from rubriclab.runs.write_references import ReferenceJob

    st.caption(
        "One judge writes an answer for each score, and another scores it without knowing "
        "which score was meant. Answers on which they agree are kept. You can then vary "
        "“Reference answer shown”. These calls are made at once, before the launch."
    )
    part = held.study.references
    values = form(part, _fields(held), columns=2, key="orders")
    held.change(references=changed(part, **values))
    keys = session_keys()
    new_job = ReferenceJob(
        state.store(),
        held.checked(),
        held.dataset(),
        held.rubric(),
        secrets=keys.keys,
        consents=keys.consents,
    )
    # The id is a hash of all that decides what is written, so this finds a job of the same form
    # that another page, or this one before a reload, has started.
    job = _jobs().get(new_job.id, new_job)
    now = job.snapshot()
    if now.state == "running":
        _progress(job)
        return
    if now.attempts:
        _result(held, job)
    if now.done < now.planned:
        label = f"Write {count(now.planned - now.done, 'answer')}"
        if st.button(label, icon=":material/edit:", key="references-go"):
            with faults():
                # A job runs only once. The new one goes on where an ended one stopped.
                _jobs()[new_job.id] = new_job.start()
                st.rerun()


def _fields(held: Draft) -> dict[str, dict[str, Any]]:
    """Return the fields of the form. The study's judges are the choices for writer and reviewer."""
    fields = {name: dict(about) for name, about in SETUP["references"]["fields"].items()}
    # The empty choice stands first and is the default: ReferenceJob takes the first judge as the
    # writer, and the last one as the reviewer.
    judges = ["", *(judge.name for judge in held.study.judges)]
    for role, default in (("writer", "the first judge"), ("reviewer", "the last judge")):
        fields[role]["options"] = judges
        fields[role]["format_func"] = partial(_name_or, default)
    return fields


def _name_or(default: str, name: str) -> str:
    return shorten(name, 40) or default


@st.fragment(run_every=1.0)
def _progress(job: ReferenceJob) -> None:
    """Draw the progress of a job every second. When it ends, draw the whole page again."""
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
    """Draw how many answers were accepted, and buttons to use them as data or to save them."""
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
    content = items_csv(job.result())
    data = held.study.data[0]
    data_name = data.name or PurePath(data.file).stem or data.published or "sample"
    name = file_name(f"{data_name} references", ".csv")
    with st.container(horizontal=True):
        if st.button(
            "Use these answers", icon=":material/check:", type="primary", key="references-use"
        ):
            held.uploads.tables[name] = read_table(content, name)
            held.uploads.version += 1
            held.set_data(0, DataPart(file=name, name=data.name, rubric=data.rubric))
            # The widgets of both parts were drawn for the old data. They start again.
            forget("data-", "orders-")
            announce("The data now have reference answers. Choose their scores under Vary.")
            st.rerun()
        download("Download as CSV", content, name)
