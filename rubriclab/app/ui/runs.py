"""The store and the runs of this server: listed, started again, watched and chosen."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import streamlit as st

from rubriclab.app.ui.consent import start_or_ask
from rubriclab.app.ui.frame import duration, empty_state, faults, plain, secrets
from rubriclab.app.ui.remedies import dropped_judges, remedies
from rubriclab.app.ui.stores import store_now
from rubriclab.model import TRIAL_ORIGIN as TRIAL
from rubriclab.model.places import EXAMPLE
from rubriclab.model.wording import many
from rubriclab.runs.manager import RunManager
from rubriclab.runs.runner import AGENDA_DONE, Run
from rubriclab.store import RunInfo, Store
from rubriclab.store.archive import read_archive
from rubriclab.store.archive_writing import write_archive

EXAMPLE_NAME = "Recorded example"
STATE_COLORS = {
    "running": "blue",
    "finished": "green",
    "imported": "green",
    "paused": "orange",
    "interrupted": "orange",
    "cancelled": "gray",
    "planned": "gray",
}
FINDINGS_PAGE = {
    "options": "position",
    "criteria": "criteria",
    "pairwise": "comparison",
    "listwise": "comparison",
    "batch": "batch",
}
"""The page that shows the findings of a run, by the axis of its design."""


@st.cache_resource(show_spinner="Opening the store …")
def _manager(path: str) -> RunManager:
    opened = Store(path)
    if EXAMPLE.exists() and not opened.read_only and not opened.runs():
        read_archive(opened, EXAMPLE.read_bytes())
    return RunManager(opened)


def manager() -> RunManager:
    """The runs of this server over the store of this session. Raises StoreError where it cannot be opened."""
    return _manager(store_now())


def store() -> Store:
    return manager().store


def store_care() -> None:
    """What the store has to say of itself, and a button that copies it while runs go on."""
    for notice in store().notices:
        st.warning(plain(notice), icon=":material/inventory_2:")
    if st.button(
        "Back up the store",
        key="store-backup",
        icon=":material/backup:",
        help="Writes a consistent copy beside the store's file, while runs go on.",
    ):
        before = Path(store().path)
        moment = f"{datetime.now():%Y%m%d-%H%M%S}"
        with faults(), st.spinner("Copying the store …"):
            made = store().backup(before.with_name(f"{before.stem}.backup-{moment}.duckdb"))
            st.success(f"Copied to {plain(str(made))}.", icon=":material/check_circle:")


def example_run() -> RunInfo | None:
    """The recorded run that comes with the lab, while it is in the store."""
    return next((info for info in store().runs() if info.name == EXAMPLE_NAME), None)


def run_list(*, limit: int | None = None, key: str, controls: bool = False, trials: bool = False) -> None:
    """The latest runs, one a line; with ``controls`` each can be gone on with, exported, deleted."""
    runs = [info for info in store().runs() if trials or info.origin != TRIAL][:limit]
    if not runs:
        empty_state(
            "No runs yet", "Start the demo, or set up a study of your own.", target="study", action="Set up a study"
        )
    for info in runs:
        going = manager().get(info.run)
        shown = going.snapshot() if going is not None else None
        state = shown.state if shown and shown.active else info.state
        done = max(shown.done, info.done) if shown else info.done
        asked_out = info.origin == TRIAL and state == "paused" and info.reason.startswith(AGENDA_DONE)
        state = "finished" if asked_out else state  # a trial asks a part of its study, and that is all of it
        with st.container(border=True):
            with st.container(horizontal=True, vertical_alignment="center"):
                mark = " :orange-badge[simulated]" if info.simulated else ""
                mark += " :blue-badge[one text]" if info.origin == TRIAL else ""
                badge = f":{STATE_COLORS.get(state, 'gray')}-badge[{state}]"
                st.markdown(
                    f"**{plain(info.name)}** {badge}{mark}  \n{_about(info, done, whole=asked_out)}", width="stretch"
                )
                if done and st.button("Results", key=f"{key}-open-{info.run}", icon=":material/grid_on:"):
                    open_findings(info)
                if controls:
                    _run_controls(info, state, key)
            if info.reason and state not in ("running", "finished"):
                st.caption(plain(info.reason))
            dropped_judges(manager(), info, key, controls=controls and state != "running")
            if controls and state not in ("running", "finished", "imported"):
                remedies(manager(), info, key)


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
        st.markdown(f":green[:material/check_circle:] **{plain(run.info.name)}** has finished.", width="stretch")
        if st.button("See what it found", type="primary", key="runs-ended", icon=":material/arrow_forward:"):
            open_findings(run.info)


def _local(moment: datetime) -> datetime:
    """A time of the store, which keeps UTC, as the clock on the server's wall shows it."""
    return moment.replace(tzinfo=UTC).astimezone()


def _about(info: RunInfo, done: int, *, whole: bool) -> str:
    """``done``: of a run that is going more than the store has been told yet. ``whole``: nothing is left to ask."""
    calls = many(done, "call") if whole else f"{done:,} of {many(info.planned, 'call')}"
    when = f"{_local(info.created):%d %b %Y, %H:%M}"
    return f":small[{plain(info.dataset)} · {calls} · {when} · `{info.run}`]"


def _run_controls(info: RunInfo, state: str, key: str) -> None:
    """What can be done with a run that is not going."""
    if state not in ("running", "finished", "imported") and st.button(
        "Go on", key=f"{key}-on-{info.run}", icon=":material/play_arrow:"
    ):
        start_or_ask(manager(), info.name, lambda: manager().go_on(info.run, secrets=secrets()))
    if state == "running":
        return
    with st.popover("More", icon=":material/more_horiz:"):
        if state != "imported":
            failed = len(store().failed_keys(info.run))
            if failed and st.button(f"Ask {failed:,} failed calls again", key=f"{key}-again-{info.run}"):
                start_or_ask(
                    manager(), info.name, lambda: manager().go_on(info.run, secrets=secrets(), only_failed=True)
                )
        st.download_button(
            "Run as an archive (zip)",
            key=f"{key}-zip-{info.run}",
            on_click="ignore",
            data=partial(write_archive, store(), info.run),
            file_name=f"{info.run}.zip",
            width="stretch",
        )
        st.download_button(
            "Judgments (Parquet)",
            key=f"{key}-parquet-{info.run}",
            on_click="ignore",
            data=partial(run_parquet, store(), info.run),
            file_name=f"{info.run}.parquet",
            width="stretch",
        )
        st.caption("Made with")
        st.json(dict(info.provenance), expanded=False)
        sure = st.checkbox("Yes, delete this run for good", key=f"{key}-sure-{info.run}")
        if st.button("Delete", key=f"{key}-delete-{info.run}", disabled=not sure, icon=":material/delete:"):
            store().delete_run(info.run)
            st.rerun()


def run_parquet(kept: Store, run: str) -> bytes:
    """Every judgment of a run with its words, one a row, as Parquet. Called when the button is pressed, outside of
    the session: the store comes with it."""
    frame = kept.export_frame(run)
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def run_progress(run: Run) -> None:
    """One run that is going: bar, rate, what came of the calls so far, pause and cancel."""
    shown = run.snapshot()
    with st.container(border=True):
        mark = " :orange-badge[simulated]" if run.info.simulated else ""
        st.markdown(f"**{plain(shown.name)}**{mark}  \n:small[`{shown.run}`]")
        share = shown.done / shown.planned if shown.planned else 1.0
        waiting = " · starting: the first answer takes longest" if not shown.done else ""
        left = waiting if shown.eta is None else f" · about {duration(shown.eta)} left"
        text = plain(shown.stage) if shown.stage else f"{shown.done:,} of {many(shown.planned, 'call')}{left}"
        st.progress(min(share, 1.0), text=text)
        counts = " · ".join(f"{n:,} {name}" for name, n in shown.counts.items() if n)
        paid = f" · {shown.money:.2f} spent" if shown.money else ""
        st.caption(
            f"{shown.rate:.1f} calls/s · {shown.in_flight} in flight (limit {shown.concurrency}) · "
            f"{shown.retries} retries{paid} · {counts or 'no judgment yet'}"
        )
        if shown.waiting and shown.active:
            st.caption("The other judges go on.")
            remedies(manager(), store().run(shown.run), "going")
        with st.container(horizontal=True):
            if st.button("Pause", key=f"pause-{shown.run}", icon=":material/pause:"):
                run.pause()
                st.toast("Pausing: the calls under way are let to end, and kept.")
            if st.button("Cancel", key=f"cancel-{shown.run}", icon=":material/stop:"):
                run.cancel()
                st.toast("Cancelling: what has been judged is kept.")


def judged_runs(axes: Sequence[str], *, trials: bool = False) -> dict[str, RunInfo]:
    """The runs of these ``axes`` that have judgments, by name, newest first.

    ``trials``: also those of one text, which say nothing about a judge in general.
    """
    return {
        info.run: info
        for info in store().runs()
        if info.axis in axes and info.done and (trials or info.origin != TRIAL)
    }


def run_label(info: RunInfo) -> str:
    mark = " · simulated" if info.simulated else ""
    return f"{info.name} · {info.dataset} · {many(info.done, 'judgment')}{mark} · {_local(info.created):%d %b %H:%M}"
