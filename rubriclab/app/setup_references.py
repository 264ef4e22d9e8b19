"""Reference answers of each score, of step 4: two judges in, the first data set with written and
reviewed answers out.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

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
    """The jobs that this server has: they go on while nobody looks, and every attempt is in the
    store.
    """
    return {}


def body(held: Draft) -> None:
    """Who writes and who reviews, the job's progress, and its answers put in place of the data
    set.
    """
    from rubriclab.runs.write_references import ReferenceJob

    st.caption(
        "One judge writes an answer that earns a score, another scores it without knowing which; "
        "where they agree it "
        "is kept. The factor “Reference answer shown” then has one of each score. Asked at once, "
        "before the launch."
    )
    judges = ["", *(judge.name for judge in held.study.judges)]
    first, last = [
        lambda name, end=end: shorten(name, 40) or f"the {end} judge" for end in ("first", "last")
    ]
    shown = {
        "writer": {"options": judges, "format_func": first},
        "reviewer": {"options": judges, "format_func": last},
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
    now = job.snapshot()
    if now.state != "running":
        st.rerun()
    said = (
        f"{now.accepted:,} of {count(now.planned, 'answer')} passed, {now.failed:,} did not, "
        f"{count(now.attempts, 'attempt')}"
    )
    st.progress(now.done / now.planned, text=said)
    if st.button("Stop", icon=":material/stop:", key="references-stop"):
        job.pause()


def _result(held: Draft, job: ReferenceJob) -> None:
    """What became of a job that has stopped or ended, and its answers as the data of the study."""
    from rubriclab.runs.write_references import items_csv

    said = job.document()
    st.markdown(
        f"**{said['accepted']:,} of {count(said['wanted'], 'answer')}** passed. "
        f"{safe(said['reason'], 300)}"
    )
    for note in said["notes"]:
        st.caption(safe(note, 300))
    if not said["accepted"]:
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
            announce("The data now have the reference answers. Choose their scores under Vary.")
            st.rerun()
        download("Download as CSV", content, name)
