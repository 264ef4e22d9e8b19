"""An address in; what pages share out: the store, the runs of this server, the run that is meant,
its cached findings.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING
from weakref import finalize

import streamlit as st

from rubriclab.model.study import ReadingPart
from rubriclab.model.text import LabError

if TYPE_CHECKING:
    from rubriclab.api import Run as Kept
    from rubriclab.core.topic import Findings
    from rubriclab.judges.vllm import VllmServer
    from rubriclab.runs.manager import RunManager
    from rubriclab.runs.reading_check import ReadingCheck
    from rubriclab.runs.runner import Run
    from rubriclab.store.read import RunInfo
    from rubriclab.store.store import Store

STORE_VARIABLE = "RUBRICLAB_STORE"
NO_ESTIMATE = "No estimate yet"
MOST_CALLS = 200_000
"""Calls of a run whose number the list of runs still computes by itself."""


def store_path() -> Path:
    """The store's file: never from an address or a page, only from the environment."""
    return Path(os.environ.get(STORE_VARIABLE) or "lab.duckdb").resolve()


@st.cache_resource(show_spinner="Opening the store …")
def _store(path: str) -> Store:
    from rubriclab.store.store import Store

    return Store.open(path)


def store() -> Store:
    """The user's store. Raises LabError where another process holds it, or it is none."""
    return _store(str(store_path()))


@st.cache_resource(show_spinner=False)
def _example() -> tuple[Store, str]:
    """(a store for recorded examples, in a folder that ends with the process; the id of the first,
    which it holds).
    """
    from rubriclab.data.sample import data_path
    from rubriclab.store.bundle import import_bundle
    from rubriclab.store.store import Store

    folder = mkdtemp(prefix="rubriclab-")
    opened = Store.open(Path(folder) / "examples.duckdb")
    finalize(opened, rmtree, folder, ignore_errors=True)
    path = data_path("sample.csv").with_name("example.zip")
    return opened, import_bundle(opened, path) if path.exists() else ""


@st.cache_resource(show_spinner=False)
def examples() -> Store:
    """The store of the recorded examples, all of them; Home waits for the first alone."""
    from rubriclab.data.sample import data_path
    from rubriclab.store.bundle import import_bundle

    opened, _ = _example()
    for path in sorted(data_path("sample.csv").parent.glob("example-*.zip")):
        import_bundle(opened, path)
    return opened


def recorded() -> str:
    """The id of the recorded example. Raises LabError where the lab came without one."""
    if not _example()[1]:
        raise LabError("No recorded example came with this lab. Set up a run to see results.")
    return _example()[1]


def store_of(run_id: str) -> Store:
    """The store that holds this run: the user's, or that of the recorded examples."""
    if any(info.id == run_id for info in store().runs()):
        return store()
    return _example()[0] if run_id == _example()[1] else examples()


def run_info(run_id: str) -> RunInfo:
    """What the lists say of a run. Raises LabError for one that is in no store."""
    return store_of(run_id).run(run_id)


def listed() -> list[RunInfo]:
    """Runs that results can be shown of, the newest first: the user's with judgments, then the
    recorded examples.
    """
    return [info for info in store().runs() if info.done] + shown_examples()


def shown_examples() -> list[RunInfo]:
    """The recorded examples, that of Home first, but for those that the user's store holds too: an
    imported run keeps its id.
    """
    own = {info.id for info in store().runs()}
    others = [info for info in examples().runs() if info.id not in own]
    return sorted(others, key=lambda info: info.id != _example()[1])


def run_choice() -> RunInfo | None:
    """The run that the address names (``?run=``), else the latest finished one, else the recorded
    example.

    A name that no run has, however strange, counts as none. None: there is neither a run nor an
    example.
    """
    wanted, runs = st.query_params.get("run", ""), listed()
    for opened in (store(), examples()) if wanted else ():
        with suppress(LabError):
            named = opened.run(wanted)
            if named.done:
                return named
    return next(iter([*(info for info in runs if info.state == "finished"), *runs]), None)


@st.cache_resource(show_spinner=False, max_entries=4)
def _kept(content: str, run_id: str) -> Kept:  # noqa: ARG001 - the content is what it is cached by
    from rubriclab.api import kept_run

    return kept_run(store_of(run_id), run_id)


@st.cache_resource(show_spinner=False, max_entries=16)
def _findings(content: str, run_id: str, reading: str) -> Findings:
    from rubriclab.api import Run as Kept

    return Kept(_kept(content, run_id).table, ReadingPart.model_validate_json(reading)).findings


def kept(run_id: str) -> Kept:
    """A run as it is now: its table, plan, single judgments, and what it is written as."""
    return _kept(run_info(run_id).content, run_id)


def findings(run_id: str, reading: ReadingPart | None = None) -> Findings:
    """All rows of a run, computed once for each content of it and each reading.

    ``reading``: None takes the run's own.
    """
    content = run_info(run_id).content
    read_as = reading or _kept(content, run_id).reading
    return _findings(content, run_id, read_as.model_dump_json())


def check_facts(run_id: str) -> dict[str, dict[str, list[str]]]:
    """What a run of the user's store keeps of its reading checks, by judge."""
    from rubriclab.runs.reading_check import kept_checks

    return kept_checks(store().made_with(run_id))


@st.cache_resource(show_spinner=False, max_entries=16)
def _checks(content: str, run_id: str) -> list[ReadingCheck]:
    return _kept(content, run_id).reading_checks


def reading_checks(run_id: str) -> list[ReadingCheck]:
    """The reading check of each judge of a run, with its replies."""
    return _checks(run_info(run_id).content, run_id)


# ---------------------------------------------------------------- runs of this server


@st.cache_resource(show_spinner=False)
def _manager(path: str) -> RunManager:
    from rubriclab.runs.manager import RunManager

    return RunManager(_store(path))


def manager() -> RunManager:
    """The runs that were started in this process: every visitor sees the same."""
    return _manager(str(store_path()))


def active() -> list[Run]:
    """The runs that are going now, in the order in which they were started."""
    # Reading the manager takes half a second of the first visit; while nobody has, nothing was
    # started.
    return manager().running() if "rubriclab.runs.manager" in sys.modules else []


def backup() -> bytes:
    with TemporaryDirectory(prefix="rubriclab-") as folder:
        return store().backup(Path(folder) / "backup.duckdb").read_bytes()


@st.cache_data(show_spinner=False, max_entries=500)
def _headline(content: str, run_id: str) -> str:
    from rubriclab.core.cells import cells, from_arms
    from rubriclab.core.judgments import Judgments
    from rubriclab.figures.pictures import winner_classes
    from rubriclab.measures.position import shares
    from rubriclab.words.phrases import number

    arm = Judgments(_kept(content, run_id).table).arms[0]
    if arm.condition.reorder == "options" and arm.ok.any():
        top = max(shares(arm), key=lambda row: row.value)
        return f"Position {top.of['position']} chosen in {number(top.value, '.0%')}"
    if arm.condition.chooses:
        known = (kinds := winner_classes(arm))[kinds >= 0]
        same = number((known == 0).mean(), ".0%") if len(known) else ""
        return f"Same winner in every order: {same}" if same else NO_ESTIMATE
    table = cells(from_arms([arm]))
    if arm.condition.joint and table.items:
        leans = table.lean.mean(axis=0)
        return f"By position {number(leans.min(), '+.2f')} to {number(leans.max(), '+.2f')} points"
    return NO_ESTIMATE


def headline(info: RunInfo) -> str:
    """The one number that the list of runs shows of a run, in words: no markup of strangers in
    it.
    """
    if info.done > MOST_CALLS:
        return "Open results to see"
    return _headline(info.content, info.id) if info.done else NO_ESTIMATE


# ---------------------------------------------------------------- a vLLM server started from a page


@st.cache_resource(show_spinner=False)
def servers() -> dict[str, VllmServer]:
    """The vLLM server that this lab started (“vllm”): loading, ready or ended. It ends with this
    process.
    """
    return {}
