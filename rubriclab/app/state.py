"""Give pages the store, this server's runs, the chosen run, and its cached results.

What is costly is cached by the run's content, so a page never shows numbers of an earlier state.
Heavy modules are imported inside functions, because the first page must not wait for them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import TYPE_CHECKING, NamedTuple
from weakref import finalize

import streamlit as st

from rubriclab.model.consent import judges_of
from rubriclab.model.study import ReadingPart
from rubriclab.model.text import LabError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rubriclab.api import Run as Kept
    from rubriclab.core.judgments import Arm
    from rubriclab.core.topic import Findings
    from rubriclab.judges.vllm import VllmServer
    from rubriclab.model.judge import JudgeSettings
    from rubriclab.runs.forecast import MachinePace
    from rubriclab.runs.manager import RunManager
    from rubriclab.runs.reading_check import ReadingCheck
    from rubriclab.runs.runner import Run
    from rubriclab.store.read import RunInfo
    from rubriclab.store.store import Store


class Lost(NamedTuple):
    """How many of a judge's replies have no score."""

    lost: int
    asked: int

    @property
    def share(self) -> float:
        return self.lost / self.asked if self.asked else 0.0


STORE_VARIABLE = "RUBRICLAB_STORE"
NO_ESTIMATE = "No estimate yet"
SHOWN = "shown run"
"""The run that was shown last in this visit."""
MOST_CALLS = 200_000
"""The list of runs computes a run's headline up to this many calls; more would slow the page."""


def store_path() -> Path:
    """Return the store's file. Only the environment sets it, never an address or a page."""
    return _resolved(os.environ.get(STORE_VARIABLE) or "lab.duckdb", str(Path.cwd()))


@cache
def _resolved(path: str, _folder: str) -> Path:
    """Return the resolved path. A page asks for it many times, and resolving looks at each folder.

    ``_folder``: where a relative path begins; another folder is another path.
    """
    return Path(path).resolve()


@st.cache_resource(show_spinner="Opening the store…")
def _store(path: str) -> Store:
    from rubriclab.store.store import Store

    opened = Store.open(path)
    opened.share()
    opened.rest_when_idle()
    return opened


def store() -> Store:
    """Return the user's store. Raises LabError if another process holds it or it is not a store."""
    return _store(str(store_path()))


@st.cache_resource(show_spinner=False)
def _example() -> tuple[Store, str]:
    """Return a temporary store that holds the first recorded example, and that example's id.

    The store's folder ends with the process. The id is empty if the lab came without the example.
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
    """Return the store with all recorded examples. Home needs only the first; see ``recorded``."""
    from rubriclab.data.sample import data_path
    from rubriclab.store.bundle import import_bundle

    opened, _ = _example()
    for path in sorted(data_path("sample.csv").parent.glob("example-*.zip")):
        import_bundle(opened, path)
    return opened


def recorded() -> str:
    """Return the id of the first recorded example. Raises LabError if the lab came without it."""
    if not _example()[1]:
        raise LabError("No recorded example came with this lab. Set up a run to see results.")
    return _example()[1]


def store_of(run_id: str) -> Store:
    """Return the store that holds this run: the user's, or that of the recorded examples."""
    if any(info.id == run_id for info in store().runs()):
        return store()
    return _example()[0] if run_id == _example()[1] else examples()


def run_info(run_id: str) -> RunInfo:
    """Return what the lists show of a run. Raises LabError if no store has it."""
    return store_of(run_id).run(run_id)


def listed() -> list[RunInfo]:
    """Return the runs that have results: the user's, newest first, then the recorded examples."""
    return [info for info in store().runs() if info.done] + shown_examples()


def shown_examples() -> list[RunInfo]:
    """Return the recorded examples, the one on Home first.

    An example that was also imported into the user's store keeps its id there and is left out here.
    """
    own = {info.id for info in store().runs()}
    others = [info for info in examples().runs() if info.id not in own]
    return sorted(others, key=lambda info: info.id != _example()[1])


def run_choice() -> RunInfo | None:
    """Return the run to show, or None if there is neither a run nor an example.

    The address may name a run (``?run=``); a name that no run has is ignored. Then it is the run
    that was shown last in this visit, on any page. Otherwise it is the user's latest finished run,
    else the latest with judgments, else the first recorded example.
    """
    for wanted in (st.query_params.get("run", ""), st.session_state.get(SHOWN, "")):
        named = _named(wanted)
        if named is not None:
            st.session_state[SHOWN] = named.id
            return named
    own = [info for info in store().runs() if info.done]
    finished = [info for info in own if info.state == "finished"]
    best_first = finished or own or shown_examples()
    return best_first[0] if best_first else None


def _named(wanted: str) -> RunInfo | None:
    """Return the run with this name or ID, if it has judgments."""
    if wanted:
        for opened in (store(), examples()):
            with suppress(LabError):  # no run in this store has the name
                named = opened.run(wanted)
                if named.done:
                    return named
    return None


@st.cache_resource(show_spinner=False, max_entries=4)
def _kept(content: str, run_id: str) -> Kept:  # noqa: ARG001 - the content is what it is cached by
    from rubriclab.api import kept_run

    return kept_run(store_of(run_id), run_id)


@st.cache_resource(show_spinner=False, max_entries=16)
def _findings(content: str, run_id: str, reading: str) -> Findings:
    from rubriclab.api import Run as Kept

    return Kept(_kept(content, run_id).table, ReadingPart.model_validate_json(reading)).findings


def kept(run_id: str) -> Kept:
    """Return a run in its present state: its table, plan, single judgments, and exports."""
    return _kept(run_info(run_id).content, run_id)


def findings(run_id: str, reading: ReadingPart | None = None) -> Findings:
    """Return all rows of a run, computed once for each content of it and each reading.

    ``reading``: how to compute the results; None takes the run's own settings.
    """
    content = run_info(run_id).content
    read_as = reading or _kept(content, run_id).reading
    return _findings(content, run_id, read_as.model_dump_json())


def check_facts(run_id: str) -> dict[str, dict[str, list[str]]]:
    """Return what a run of the user's store keeps of its reading checks, by judge."""
    from rubriclab.runs.reading_check import kept_checks

    return kept_checks(store().made_with(run_id))


@st.cache_resource(show_spinner=False, max_entries=16)
def _checks(content: str, run_id: str) -> list[ReadingCheck]:
    return _kept(content, run_id).reading_checks


def reading_checks(run_id: str) -> list[ReadingCheck]:
    """Return the reading check of each judge of a run, with its replies."""
    return _checks(run_info(run_id).content, run_id)


@st.cache_data(show_spinner=False, max_entries=50)
def _helped_by_grammar(content: str, run_id: str) -> frozenset[str]:
    from rubriclab.runs import reading_check

    assert content  # it is only what the answer is cached by
    kept_in = store_of(run_id)
    masses = kept_in.free_masses(run_id)
    return frozenset(
        judge.name
        for judge in judges_of(kept_in.study(run_id))
        if judge.name in masses and reading_check.helped_by_grammar(judge, *masses[judge.name])
    )


def helped_by_grammar(run_id: str) -> frozenset[str]:
    """Return the small models of a run that lose replies and would not with a grammar, by name.

    Each gives the labels a high probability by itself, as its replies so far show.
    """
    return _helped_by_grammar(run_info(run_id).content, run_id)


@st.cache_data(show_spinner=False, max_entries=500)
def _lost(contents: tuple[str, ...], ids: tuple[str, ...]) -> dict[str, dict[str, Lost]]:
    assert len(contents) == len(ids)  # the contents are only what it is cached by
    return {
        run_id: {judge: Lost(*numbers) for judge, numbers in of_judges.items()}
        for run_id, of_judges in store().lost_by_judge(ids).items()
    }


def lost_by_judge(infos: Sequence[RunInfo]) -> dict[str, dict[str, Lost]]:
    """Return, by run's id and judge, how many replies of the user's runs have no score."""
    small = [info for info in infos if info.done <= MOST_CALLS]
    return _lost(tuple(info.content for info in small), tuple(info.id for info in small))


# ---------------------------------------------------------------- runs of this server


@st.cache_data(show_spinner=False, max_entries=50)
def _machine_paces(contents: tuple[str, ...], judges: str) -> dict[str, MachinePace]:
    """``contents`` of the runs are only what it is cached by. ``judges``: as JSON."""
    from rubriclab.runs.machine_pace import machine_paces

    assert contents
    return machine_paces(store(), judges_of({"judges": json.loads(judges)}))


def machine_paces(judges: Sequence[JudgeSettings]) -> dict[str, MachinePace]:
    """Return how fast the small models among these judges answered on this machine, by name."""
    small = [judge for judge in judges if judge.about.small_model]
    contents = tuple(info.content for info in store().runs() if info.state != "running")
    if not small or not contents:
        return {}
    return _machine_paces(contents, json.dumps([judge.model_dump(mode="json") for judge in small]))


@st.cache_resource(show_spinner=False)
def _manager(path: str) -> RunManager:
    from rubriclab.runs.manager import RunManager

    return RunManager(_store(path))


def manager() -> RunManager:
    """Return the manager of the runs started in this process. All visitors share it."""
    return _manager(str(store_path()))


def active() -> list[Run]:
    """Return the runs that are going now, in the order in which they were started."""
    # Importing the manager takes half a second. As long as nobody has imported it, nothing runs.
    if "rubriclab.runs.manager" not in sys.modules:
        return []
    return manager().running()


def backup() -> bytes:
    """Return a copy of the user's store as one file's content."""
    with TemporaryDirectory(prefix="rubriclab-") as folder:
        return store().backup(Path(folder) / "backup.duckdb").read_bytes()


def _means_by_position(arm: Arm) -> NDArray[np.float64] | None:
    """Return how far the mean score at each position lies from the overall mean, in points."""
    from rubriclab.core.cells import cells, from_arms

    if not arm.condition.in_points or not arm.ok.any():
        return None
    table = cells(from_arms([arm]))
    return table.lean.mean(axis=0) if table.items else None


def phrase_of_judge(arm: Arm) -> str:
    """Return the one number of a judge in a list, as a phrase without text of a file or a judge."""
    from rubriclab.figures.pictures import winner_classes
    from rubriclab.measures.position import shares
    from rubriclab.words.phrases import number

    if arm.condition.reorder == "options" and arm.ok.any():
        top = max(shares(arm), key=lambda row: row.value)
        return f"Position {top.of['position']} chosen in {number(top.value, '.0%')}"
    if arm.condition.chooses:
        kinds = winner_classes(arm)
        known = kinds[kinds >= 0]
        if not len(known):
            return NO_ESTIMATE
        return f"Same winner in every order: {number((known == 0).mean(), '.0%')}"
    means = _means_by_position(arm)
    if means is None:
        return NO_ESTIMATE
    return f"By position {number(means.min(), '+.2f')} to {number(means.max(), '+.2f')} points"


# ---------------------------------------------------------------- a vLLM server started from a page


@st.cache_resource(show_spinner=False)
def servers() -> dict[str, VllmServer]:
    """Return the vLLM server that this lab started, under the key “vllm”.

    It ends with this process.
    """
    return {}
