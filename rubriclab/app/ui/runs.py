"""The store and the runs of this server: opened, watched and chosen."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import streamlit as st

from rubriclab.app.ui.frame import duration, faults, plain
from rubriclab.app.ui.language import Awaited, dated
from rubriclab.app.ui.remedies import remedies
from rubriclab.app.ui.stores import store_now
from rubriclab.model import TRIAL_ORIGIN as TRIAL
from rubriclab.model.language import figure, msg, tr
from rubriclab.model.places import EXAMPLE, TOUR
from rubriclab.model.wording import many
from rubriclab.runs.listed import Shelf, local, shelf_of
from rubriclab.runs.manager import RunManager
from rubriclab.runs.runner import Run
from rubriclab.store import RunInfo, Store
from rubriclab.store.archive import read_archive

EXAMPLE_NAME, FORMS_NAME = "Recorded example", "Recorded prompt forms"
STATE_COLORS = {
    "running": "blue",
    "finished": "green",
    "imported": "green",
    "paused": "orange",
    "interrupted": "orange",
    "cancelled": "gray",
    "planned": "gray",
}
STATES: Mapping[str, str] = {
    "running": msg("running"),
    "finished": msg("finished"),
    "imported": msg("imported"),
    "paused": msg("paused"),
    "interrupted": msg("interrupted"),
    "cancelled": msg("cancelled"),
    "planned": msg("planned"),
}
SHELVES: Mapping[Shelf, str] = {"listed": msg("listed"), "archived": msg("archived"), "deleted": msg("deleted")}
OUTCOMES: Mapping[str, str] = {
    "ok": msg("ok"),
    "unparsed": msg("unparsed"),
    "refused": msg("refused"),
    "truncated": msg("truncated"),
    "error": msg("error"),
}
"""How runs, their shelves and what came of their calls are called within a line."""
FINDINGS_PAGE = {
    "options": "position",
    "criteria": "criteria",
    "pairwise": "comparison",
    "listwise": "comparison",
    "batch": "batch",
}
"""The page that shows the findings of a run, by the axis of its design."""


@st.cache_resource(show_spinner=Awaited(msg("Opening the store …")))
def _manager(path: str) -> RunManager:
    opened = Store(path)
    if EXAMPLE.exists() and not opened.read_only and not opened.runs(deleted=True):
        for archive in filter(Path.exists, (EXAMPLE, *TOUR)):
            read_archive(opened, archive.read_bytes())
    return RunManager(opened)


def manager() -> RunManager:
    """The runs of this server over the store of this session. Raises StoreError where it cannot be opened."""
    return _manager(store_now())


def store() -> Store:
    return manager().store


def store_care() -> None:
    """What the store has to say of itself, and a button that copies it while runs go on."""
    for notice in store().notices:
        st.warning(plain(tr(notice)), icon=":material/inventory_2:")
    if st.button(
        tr("Back up the store"),
        key="store-backup",
        icon=":material/backup:",
        help=tr("Writes a consistent copy beside the store's file, while runs go on."),
    ):
        before = Path(store().path)
        moment = f"{datetime.now():%Y%m%d-%H%M%S}"
        with faults(), st.spinner(tr("Copying the store …")):
            made = store().backup(before.with_name(f"{before.stem}.backup-{moment}.duckdb"))
            st.success(tr("Copied to {made}.", made=plain(str(made))), icon=":material/check_circle:")


def example_run() -> RunInfo | None:
    """The recorded run that comes with the lab, while it is in the store."""
    return next((info for info in store().runs() if info.made_as == EXAMPLE_NAME), None)


def recorded_for(page: str) -> str:
    """The name of the recorded run that has something to show on a page which most runs leave empty."""
    return FORMS_NAME if page in ("perturbation", "alignment") else EXAMPLE_NAME


def open_findings(info: RunInfo) -> None:
    """Go to the page that shows what this run found."""
    st.session_state["run"] = info.run
    page = "trial" if info.origin == TRIAL else FINDINGS_PAGE.get(info.axis, "position")
    st.switch_page(f"pages/{page}.py", query_params={"run": info.run})


def ended_run() -> None:
    """Of the run this session started last: that it has finished, and the way to its findings."""
    run = manager().get(str(st.session_state.get("run", "")))
    if run is None or run.snapshot().state != "finished":
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            tr(":green[:material/check_circle:] **{name}** has finished.", name=plain(run.info.name)), width="stretch"
        )
        if st.button(tr("See what it found"), type="primary", key="runs-ended", icon=":material/arrow_forward:"):
            open_findings(run.info)


def run_parquet(kept: Store, run: str) -> bytes:
    """Every judgment of a run with its words, one a row, as Parquet. Called when the button is pressed, outside of
    the session: the store comes with it."""
    frame = kept.export_frame(run)
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def done_of(done: int, planned: int) -> str:
    """How many of the calls of a run are done, as “30 of 100 calls”."""
    return tr("{done:,} of {calls}", done=done, calls=many(planned, "call"))


def run_progress(run: Run) -> None:
    """One run that is going: bar, rate, what came of the calls so far, pause and cancel."""
    shown = run.snapshot()
    with st.container(border=True):
        mark = tr(" :orange-badge[simulated]") if run.info.simulated else ""
        st.markdown(f"**{plain(shown.name)}**{mark}  \n:small[`{shown.run}`]")
        share = shown.done / shown.planned if shown.planned else 1.0
        waiting = tr(" · starting: the first answer takes longest") if not shown.done else ""
        left = waiting if shown.eta is None else tr(" · about {time} left", time=duration(shown.eta))
        text = plain(tr(shown.stage)) if shown.stage else f"{done_of(shown.done, shown.planned)}{left}"
        st.progress(min(share, 1.0), text=text)
        counts = " · ".join(f"{figure(n, ',')} {tr(OUTCOMES.get(name, name))}" for name, n in shown.counts.items() if n)
        paid = tr(" · {money:.2f} spent", money=shown.money) if shown.money else ""
        st.caption(
            tr(
                "{rate:.1f} calls/s · {in_flight} in flight (limit {concurrency}) · {retries} retries{paid} · {counts}",
                rate=shown.rate,
                in_flight=shown.in_flight,
                concurrency=shown.concurrency,
                retries=shown.retries,
                paid=paid,
                counts=counts or tr("no judgment yet"),
            )
        )
        if shown.waiting and shown.active:
            st.caption(tr("The other judges go on."))
            remedies(manager(), store().run(shown.run), "going")
        with st.container(horizontal=True):
            if st.button(tr("Pause"), key=f"pause-{shown.run}", icon=":material/pause:"):
                run.pause()
                st.toast(tr("Pausing: the calls under way are let to end, and kept."))
            if st.button(tr("Cancel"), key=f"cancel-{shown.run}", icon=":material/stop:"):
                run.cancel()
                st.toast(tr("Cancelling: what has been judged is kept."))


def judged_runs(axes: Sequence[str], *, trials: bool = False) -> dict[str, RunInfo]:
    """The runs of these ``axes`` that have judgments, by name, newest first.

    ``trials``: also those of one text, which say nothing about a judge in general. Archived and deleted runs are
    left out, but for those that the address names, and the archived one that was looked at last.
    """
    named = {value for part in st.query_params for value in st.query_params.get_all(part)}
    last = st.session_state.get("run")
    return {
        info.run: info
        for info in store().runs(deleted=True)
        if info.axis in axes and info.done and (trials or info.origin != TRIAL)
        if shelf_of(info) == "listed" or info.run in named or (info.run == last and info.deleted is None)
    }


def run_label(info: RunInfo) -> str:
    mark = tr(" · simulated") if info.simulated else ""
    mark += "" if shelf_of(info) == "listed" else f" · {tr(SHELVES[shelf_of(info)])}"
    moment = dated(local(info.created), msg("%d %b %H:%M"))
    # A run that nobody named is called after its data, which would then fill the field twice.
    named = re.search(rf"(?<!\w){re.escape(info.dataset)}(?!\w)", info.name)
    data = "" if named else f" · {info.dataset}"
    return f"{info.name}{data} · {many(info.done, 'judgment')}{mark} · {moment}"


def said_aside(info: RunInfo) -> None:
    """Of a run that is archived or deleted: that it is, and the way to where it can be restored."""
    shelf = shelf_of(info)
    if shelf == "listed":
        return
    kept = "" if shelf == "archived" else tr(", and kept until it is deleted for good")
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(
            tr(
                ":material/inventory_2: This run is **{shelf}**{kept}: no list offers it.",
                shelf=tr(SHELVES[shelf]),
                kept=kept,
            ),
            width="stretch",
        )
        st.page_link(
            "pages/runs.py",
            label=tr("Restore it"),
            icon=":material/arrow_forward:",
            query_params={"shelf": shelf, "search": info.run},
        )
