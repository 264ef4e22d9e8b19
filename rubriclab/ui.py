"""What the pages share: the frame, the store and the run manager, caches, charts, messages.

The only module of the package that imports streamlit. Pages keep ids in session state,
never data; what they show comes from the store through the caches here.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import streamlit as st
from streamlit.navigation.page import StreamlitPage

from rubriclab.archive import read_archive, write_archive
from rubriclab.figures.style import Chart
from rubriclab.findings.position import PositionArm
from rubriclab.model import STATUSES, Arm, LabError, RunData
from rubriclab.plan import Plan
from rubriclab.plan import plan as make_plan
from rubriclab.runner import Run, RunManager
from rubriclab.store import RunInfo, Store

log = logging.getLogger("rubriclab")

STORE_VARIABLE = "RUBRICLAB_STORE"
DEFAULT_STORE = "lab.duckdb"
EXAMPLE = Path(__file__).resolve().parent.parent / "data" / "example_run.zip"
EXAMPLE_NAME = "Recorded example"
STATE_COLORS = {
    "running": "blue", "finished": "green", "imported": "green", "paused": "orange",
    "interrupted": "orange", "cancelled": "gray", "planned": "gray",
}  # fmt: skip
FINDINGS_PAGE = {
    "options": "results",
    "criteria": "criteria",
    "pairwise": "comparison",
    "listwise": "comparison",
}
"""The page that shows the findings of a run, by the axis of its design."""


class Entry(NamedTuple):
    """One page: its file in ``pages/`` (also its address), its title and its icon."""

    file: str
    title: str
    icon: str


NAVIGATION: Mapping[str, tuple[Entry, ...]] = {
    "": (Entry("home", "Home", ":material/home:"),),
    "Set up": (
        Entry("data", "Data", ":material/table_rows:"),
        Entry("rubric", "Rubric", ":material/format_list_numbered:"),
        Entry("judges", "Judges", ":material/gavel:"),
        Entry("study", "Study", ":material/science:"),
        Entry("runs", "Runs", ":material/play_circle:"),
    ),
    "Findings": (
        Entry("results", "Results", ":material/grid_on:"),
        Entry("alignment", "Human alignment", ":material/groups:"),
        Entry("ranking", "Ranking and advice", ":material/leaderboard:"),
        Entry("criteria", "Criterion order", ":material/view_column:"),
        Entry("debiasing", "Causes and cures", ":material/healing:"),
        Entry("perturbation", "Scoring bias", ":material/tune:"),
        Entry("comparison", "Pairs and lists", ":material/compare_arrows:"),
        Entry("method", "Method check", ":material/verified:"),
    ),
}

# ---------------------------------------------------------------- the frame


def enter(page: StreamlitPage) -> None:
    """Called by app.py before a page runs: marks the session and follows a deep link."""
    st.session_state["entered"] = True
    wanted = st.session_state.pop("wanted", None)
    known = {entry.file for entries in NAVIGATION.values() for entry in entries}
    if wanted in known and wanted != page.url_path:
        st.switch_page(f"pages/{wanted}.py")


@contextmanager
def page(file: str, title: str, lead: str) -> Iterator[None]:
    """The frame of one page: title, one sentence, and no traceback whatever happens inside.

    A server whose first visitor opens a deep link runs the page without app.py; the page then
    goes through app.py and comes back to itself.
    """
    if not st.session_state.get("entered"):
        st.session_state["wanted"] = file
        st.switch_page("app.py")
    st.title(title)
    st.markdown(lead)
    try:
        yield
    except LabError as fault:
        st.error(plain(str(fault)), icon=":material/error:")
    except Exception as fault:
        if type(fault).__module__.startswith("streamlit"):
            raise  # reruns, stops and page switches travel as exceptions
        log.exception("page %s failed", file)
        st.error(
            f"Something in the lab itself failed ({type(fault).__name__}). Your data and runs are "
            "untouched. The details are in the terminal where the lab runs.",
            icon=":material/bug_report:",
        )


@contextmanager
def faults() -> Iterator[None]:
    """A part of a page that may meet the user's mistakes: said in its place, the rest goes on."""
    try:
        yield
    except LabError as fault:
        st.error(plain(str(fault)), icon=":material/error:")


def empty_state(title: str, text: str, *, target: str | None = None, action: str = "") -> None:
    """What a page shows while there is nothing to show: why, and the one next step."""
    with st.container(border=True, horizontal_alignment="center"):
        st.subheader(title, anchor=False)
        st.markdown(text)
        if target is not None:
            st.page_link(f"pages/{target}.py", label=action, icon=":material/arrow_forward:")


def plain(text: str) -> str:
    """Text of unknown origin for a markdown widget: nothing in it is markup, nothing a link.

    Addresses become links by themselves, escaped or not; an invisible word joiner in them
    keeps them text.
    """
    text = re.sub(r"(://|@|www(?=\.))", "\\1\u2060", text)
    for mark in "\\`*_{}[]()#+-!|<>$~:":
        text = text.replace(mark, f"\\{mark}")
    return text


def verbatim(text: str, *, label: str = "") -> None:
    """Hostile text (a reply, an upload) shown exactly as it is."""
    if label:
        st.caption(label)
    st.code(text, language=None, wrap_lines=True)


# ---------------------------------------------------------------- the store and the runs


@st.cache_resource(show_spinner="Opening the store …")
def _manager(path: str) -> RunManager:
    opened = Store(path)
    if EXAMPLE.exists() and not opened.runs():
        read_archive(opened, EXAMPLE.read_bytes())
    return RunManager(opened)


def manager() -> RunManager:
    """The runs of this server, over the one store. Raises StoreError where it cannot be opened."""
    return _manager(os.environ.get(STORE_VARIABLE, DEFAULT_STORE))


def store() -> Store:
    return manager().store


def example_run() -> RunInfo | None:
    """The recorded run that comes with the lab, while it is in the store."""
    return next((info for info in store().runs() if info.name == EXAMPLE_NAME), None)


def run_list(*, limit: int | None = None, key: str, controls: bool = False) -> None:
    """The latest runs, one a line; with ``controls`` each can be gone on with, exported, deleted."""
    runs = store().runs()[:limit]
    if not runs:
        empty_state("No runs yet", "Start the demo, or set up a study of your own.",
                    target="study", action="Set up a study")  # fmt: skip
    for info in runs:
        going = manager().get(info.run)
        state = going.snapshot().state if going is not None else info.state
        with st.container(border=True):
            with st.container(horizontal=True, vertical_alignment="center"):
                mark = " :orange-badge[simulated]" if info.simulated else ""
                badge = f":{STATE_COLORS.get(state, 'gray')}-badge[{state}]"
                st.markdown(
                    f"**{plain(info.name)}** {badge}{mark}  \n{_about(info)}", width="stretch"
                )
                if info.done and st.button("Results", key=f"{key}-open-{info.run}",
                                           icon=":material/grid_on:"):  # fmt: skip
                    open_findings(info)
                if controls:
                    _run_controls(info, state, key)
            if info.reason and state != "running":
                st.caption(plain(info.reason))


def open_findings(info: RunInfo) -> None:
    """Go to the page that shows what this run found."""
    st.session_state["run"] = info.run
    st.switch_page(f"pages/{FINDINGS_PAGE.get(info.axis, 'results')}.py")


def ended_run() -> None:
    """Of the run this session started last: that it has finished, and the way to its findings."""
    run = manager().get(str(st.session_state.get("run", "")))
    if run is None or run.snapshot().state != "finished":
        return
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.markdown(f":green[:material/check_circle:] **{plain(run.info.name)}** has finished.",
                    width="stretch")  # fmt: skip
        if st.button("See what it found", type="primary", key="runs-ended",
                     icon=":material/arrow_forward:"):  # fmt: skip
            open_findings(run.info)


def _local(moment: datetime) -> datetime:
    """A time of the store, which keeps UTC, as the clock on the server's wall shows it."""
    return moment.replace(tzinfo=UTC).astimezone()


def _about(info: RunInfo) -> str:
    when = f"{_local(info.created):%d %b %Y, %H:%M}"
    return (
        f":small[{plain(info.dataset)} · {info.done:,} of {info.planned:,} calls · {when} · "
        f"`{info.run}`]"
    )


def _run_controls(info: RunInfo, state: str, key: str) -> None:
    """What can be done with a run that is not going."""
    if state not in ("running", "finished", "imported") and st.button(
        "Go on", key=f"{key}-on-{info.run}", icon=":material/play_arrow:"
    ):
        manager().go_on(info.run, secrets=secrets())
        st.rerun()
    if state == "running":
        return
    with st.popover("More", icon=":material/more_horiz:"):
        if state != "imported":
            failed = len(store().failed_keys(info.run))
            if failed and st.button(
                f"Ask {failed:,} failed calls again", key=f"{key}-again-{info.run}"
            ):
                manager().go_on(info.run, secrets=secrets(), only_failed=True)
                st.rerun()
            st.download_button(
                "Run as an archive (zip)", key=f"{key}-zip-{info.run}", on_click="ignore",
                data=partial(write_archive, store(), info.run), file_name=f"{info.run}.zip",
                width="stretch",
            )  # fmt: skip
        st.download_button(
            "Judgments (Parquet)", key=f"{key}-parquet-{info.run}", on_click="ignore",
            data=partial(_parquet, info.run), file_name=f"{info.run}.parquet", width="stretch",
        )  # fmt: skip
        st.caption("Made with")
        st.json(dict(info.provenance), expanded=False)
        sure = st.checkbox("Yes, delete this run for good", key=f"{key}-sure-{info.run}")
        if st.button("Delete", key=f"{key}-delete-{info.run}", disabled=not sure,
                     icon=":material/delete:"):  # fmt: skip
            store().delete_run(info.run)
            st.rerun()


def _parquet(run: str) -> bytes:
    frame = store().export_frame(run)
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
        text = (
            plain(shown.stage)
            if shown.stage
            else f"{shown.done:,} of {shown.planned:,} calls{left}"
        )
        st.progress(min(share, 1.0), text=text)
        counts = " · ".join(f"{n:,} {name}" for name, n in shown.counts.items() if n)
        paid = f" · {shown.money:.2f} spent" if shown.money else ""
        st.caption(
            f"{shown.rate:.1f} calls/s · {shown.in_flight} in flight (limit {shown.concurrency}) · "
            f"{shown.retries} retries{paid} · {counts or 'no judgment yet'}"
        )
        with st.container(horizontal=True):
            if st.button("Pause", key=f"pause-{shown.run}", icon=":material/pause:"):
                run.pause()
                st.toast("Pausing: the calls under way are let to end, and kept.")
            if st.button("Cancel", key=f"cancel-{shown.run}", icon=":material/stop:"):
                run.cancel()
                st.toast("Cancelling: what has been judged is kept.")


def duration(seconds: float) -> str:
    """Seconds in the unit one would say them in."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def secrets() -> Mapping[str, str]:
    """Streamlit's secrets as plain names and values; empty where there is no secrets file."""
    try:
        return {name: str(value) for name, value in st.secrets.items()}
    except FileNotFoundError:
        return {}


def choose_run(*, axes: Sequence[str], key: str) -> RunInfo | None:
    """The run a findings page is about: chosen at its top, remembered across pages.

    Only runs of these ``axes`` that have judgments are offered. None where there is none.
    """
    runs = [info for info in store().runs() if info.axis in axes and info.done]
    if not runs:
        return None
    names = [info.run for info in runs]
    remembered = st.session_state.get("run")
    index = names.index(remembered) if remembered in names else 0
    by_name = {info.run: info for info in runs}
    chosen = st.selectbox(
        "Run", names, index=index, key=f"{key}-run",
        format_func=lambda name: run_label(by_name[name]),
    )  # fmt: skip
    st.session_state["run"] = chosen
    info = by_name[chosen]
    if info.simulated:
        st.warning(
            "This run has a **simulated** judge: its numbers show how the method works, not how "
            "any model behaves.",
            icon=":material/science:",
        )
    return info


def run_label(info: RunInfo) -> str:
    mark = " · simulated" if info.simulated else ""
    return f"{info.name} · {info.dataset} · {info.done:,} judgments{mark} · {_local(info.created):%d %b %H:%M}"


class _Key(NamedTuple):
    """What a cached value depends on: the store, the run and how far it has come."""

    path: str
    run: str
    revision: str
    probabilities: bool
    compute: str = ""


# Frames and findings are read-only, so the caches hand out the object itself: pickling 80 MB
# for every page would cost more than most findings do.
@st.cache_resource(show_spinner="Reading judgments …", max_entries=6)
def _frame(key: _Key) -> RunData:
    return store().frame(key.run, probabilities=key.probabilities)


def run_data(info: RunInfo, *, probabilities: bool = False) -> RunData:
    """The judgments of a run, read once per revision."""
    return _frame(_Key(store().path, info.run, store().revision(info.run), probabilities))


@st.cache_resource(show_spinner="Working it out …", max_entries=48)
def _finding(key: _Key, _compute: Callable[[RunData], Any]) -> Any:
    return _compute(_frame(key._replace(compute="")))


def finding(
    info: RunInfo, compute: Callable[[RunData], Any], *, probabilities: bool = False
) -> Any:
    """``compute`` of a run's judgments, worked out once per revision of the run."""
    name = f"{compute.__module__}.{compute.__qualname__}"
    revision = store().revision(info.run)
    return _finding(_Key(store().path, info.run, revision, probabilities, name), compute)


# ---------------------------------------------------------------- charts and tables


def chart(shown: Chart, *, key: str, select: bool = False) -> Any:
    """A chart with its alt text; with ``select`` the points the user clicked come back."""
    options: dict[str, Any] = {"on_select": "rerun", "selection_mode": "points"} if select else {}
    return st.plotly_chart(
        shown.figure,
        width="stretch",
        key=key,
        alt=shown.alt,
        config={"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]},
        **options,
    )


def export_row(
    charts: Mapping[str, Chart], tables: Mapping[str, pd.DataFrame], *, info: RunInfo, key: str
) -> None:
    """Download buttons: each chart as an HTML file of its own, tables as CSV, judgments as Parquet."""
    with st.popover("Export", icon=":material/download:"):
        for name, shown in charts.items():
            st.download_button(
                f"{name} (HTML)", key=f"{key}-html-{name}", on_click="ignore", width="stretch",
                data=partial(shown.figure.to_html, include_plotlyjs=True),
                file_name=f"{_file_name(name)}.html", mime="text/html",
            )  # fmt: skip
        for name, table in tables.items():
            st.download_button(
                f"{name} (CSV)", key=f"{key}-csv-{name}", on_click="ignore", width="stretch",
                data=partial(_csv, table),
                file_name=f"{_file_name(name)}.csv", mime="text/csv",
            )  # fmt: skip
        st.download_button(
            "All judgments (Parquet)", key=f"{key}-parquet", on_click="ignore", width="stretch",
            data=partial(_parquet, info.run), file_name=f"{info.run}.parquet",
        )  # fmt: skip


def _csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def _file_name(name: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in name.lower()).strip("-")


# ---------------------------------------------------------------- findings, in words

HELP = {
    "share": "Of all judgments that could be read, the share whose score stood first in the list. "
    "The strategy shows every score at every position equally often, so an even judge gives 1/n.",
    "v": "Cramér's V = sqrt(chi² / (N (n-1))) of the position counts: 0 is even, 1 is always the "
    "same position. The interval resamples items. V cannot be negative, so some is expected from "
    "noise alone.",
    "cost": "Sum over positions of |P(position | the score shown there) - 1/n|, in percentage points "
    "(Xu et al. 2026, v1, Table 6). The least over all n! orders is an assignment problem, solved exactly.",
    "read": "Judgments from which a score could be read. The others are kept with their reason.",
}


def arm_label(arm: Arm) -> str:
    mark = " (simulated)" if arm.simulated else ""
    variant = f" · {arm.variant}" if arm.variant.levels else ""
    return f"{arm.judge}{mark} · {arm.dataset} · {arm.strategy}{variant}"


def position_sentence(arm: PositionArm) -> str:
    """The headline finding of an arm as a sentence a stakeholder understands."""
    who, where = arm.arm.judge, arm.position
    n = len(where.share)
    if where.verdict == "a common direction":
        top = int(where.share.argmax())
        return (
            f"{who} leans towards position {top + 1}: it picks there {where.share[top]:.0%} of the "
            f"time, where an even judge would {1 / n:.0%}."
        )
    if where.verdict == "effects that cancel out":
        return f"The order moves {who}'s scores, but not in one common direction: items differ."
    if where.verdict == "no effect seen":
        return f"No effect of the order seen in {who}, in data that could have shown one."
    if where.verdict == "not enough data to say":
        return f"Not enough data to say whether the order moves {who}."
    return f"{who} always saw one order here, so position and score cannot be told apart."


def table_frame(arm: PositionArm) -> pd.DataFrame:
    """The score × position table as a long table: one row a cell."""
    table = arm.table
    rows = [
        (
            score,
            position,
            table.counts[s, p],
            table.exposure[s, p],
            table.share[s, p],
            *table.ci[s][p],
        )
        for s, score in enumerate(table.scores)
        for p, position in enumerate(table.positions)
    ]
    names = ["score", "position", "chosen", "shown", "share", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def cell_browser(info: RunInfo, code: int, arm: Arm, event: Any, *, key: str) -> None:
    """The judgments of the clicked (or chosen) cell, each with its prompt, reply and ordering."""
    clicked = (
        [p["customdata"] for p in event.selection.points if p.get("customdata")] if event else []
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        scores = [None, *arm.scores]
        positions = [None, *range(1, arm.n_positions + 1)]
        wanted = (int(clicked[0][0]), int(clicked[0][1])) if clicked else (None, None)
        tag = f"{key}-{code}-{wanted}"
        score = st.selectbox("Score", scores, index=scores.index(wanted[0]), key=f"{tag}-score",
                             placeholder="any",
                             format_func=lambda s: "any" if s is None else str(s))  # fmt: skip
        position = st.selectbox("Position", positions, index=positions.index(wanted[1]),
                                key=f"{tag}-position", placeholder="any",
                                format_func=lambda p: "any" if p is None else str(p))  # fmt: skip
        status = st.selectbox("Outcome", [None, *STATUSES], key=f"{tag}-status", placeholder="any",
                              format_func=lambda s: "any" if s is None else s)  # fmt: skip
    frame = store().judgments_behind(
        info.run, arm=code, score=score, position=position, status=status, limit=100
    )
    if frame.empty:
        st.caption("No judgment here.")
        return
    frame["shown order"] = [" ".join(map(str, json.loads(shown))) for shown in frame["shown"]]
    columns = ["item_id", "shown order", "score", "position", "status", "text", "mass", "expected"]
    st.caption(f"{len(frame)} judgment(s){' (the first 100)' if len(frame) == 100 else ''}. "
               "Choose a row to read the prompt and the reply.")  # fmt: skip
    chosen = st.dataframe(
        frame[columns], hide_index=True, width="stretch", key=f"{tag}-table",
        on_select="rerun", selection_mode="single-row", height=min(38 * len(frame) + 40, 320),
    )  # fmt: skip
    rows = chosen.selection.rows
    if rows:
        judgment_detail(info, {str(k): v for k, v in frame.iloc[rows[0]].items()})


def judgment_detail(info: RunInfo, row: Mapping[str, Any]) -> None:
    """One judgment: what the judge was sent, word for word, and what it wrote."""
    left, right = st.columns(2, gap="large")
    with left:
        verbatim(prompt_of(info, str(row["key"]), row), label="Sent to the judge")
    with right:
        verbatim(str(row["text"] or row["error"] or ""), label=f"Reply · {row['status']}")
        st.caption(
            f"{row['model'] or 'model unknown'} · {row['latency'] or 0:.2f} s · "
            f"call `{row['key'] or 'imported'}`"
        )


def prompt_of(info: RunInfo, key: str, row: Mapping[str, Any]) -> str:
    """The prompt of a call as it was sent: rendered again, and checked by the call's key."""
    if info.state == "imported":
        return "This judgment was imported; the lab did not send its prompt."
    prepared = _plan((store().path, info.run))
    call = prepared.find(key, item=int(row["item"]), arm=int(row["arm"]))
    if call is None:
        return "The prompt cannot be made again: templates or settings have changed since this run."
    return "\n\n".join(f"[{m['role']}]\n{m['content']}" for m in call.messages)


@st.cache_resource(show_spinner=False, max_entries=4)
def _plan(key: tuple[str, str]) -> Plan:
    return make_plan(store().study(key[1]))
