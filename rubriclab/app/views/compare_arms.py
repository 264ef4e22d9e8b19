"""Which runs and arms the page sets side by side, both kept in the address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from rubriclab.app import ui
from rubriclab.findings.summary import Line, lines, short_names
from rubriclab.findings.topics import Findings
from rubriclab.model.language import tr
from rubriclab.store import RunInfo

MOST_RUNS, MOST_ARMS = 6, 16
AXES = ("options", "criteria", "pairwise", "listwise")


@dataclass(frozen=True)
class Chosen:
    """What the page is about: the runs with their findings, and the chosen arms in order."""

    infos: Mapping[str, RunInfo]
    findings: Mapping[str, Findings]
    lines: tuple[Line, ...]
    names: Mapping[str, tuple[str, ...]]

    def label(self, line: Line) -> str:
        return " · ".join(self.names[code_of(line)])


def code_of(line: Line) -> str:
    """An arm as the address holds it: its run and its number there."""
    return f"{line.run}:{line.code}"


def choose_arms() -> Chosen | None:
    """The runs and the arms to set side by side, both in the address; None without a run."""
    runs = ui.judged_runs(AXES)
    if not runs:
        return None
    names = list(runs)
    _say_missing("run", names)
    picked = ui.choose_many(
        tr("Runs"),
        names,
        key="compare-runs",
        address="run",
        most=MOST_RUNS,
        default=_newest(list(runs.values())),
        name=lambda run: ui.run_label(runs[run]),
    )
    infos = {run: runs[run] for run in picked}
    found = {run: ui.findings(info) for run, info in infos.items()}
    every = {code_of(line): line for one in found.values() for line in lines(one).values()}
    if not every:
        return Chosen(infos, found, (), {})
    told = dict(zip(every, short_names(list(every.values())), strict=True))
    default = _kept(picked, list(every))
    _say_missing("arm", list(every))
    arms = ui.choose_many(
        tr("Judges and strategies"),
        list(every),
        key=f"compare-arms-{'-'.join(picked)}",
        address="arm",
        most=MOST_ARMS,
        default=default,
        name=lambda code: " · ".join(told[code]),
    )
    st.session_state["compare-before"] = (picked, arms)
    some = [every[code] for code in arms]
    shown = dict(zip(arms, short_names(some), strict=True)) if some else {}
    return Chosen(infos, found, tuple(some), shown)


def _say_missing(address: str, offered: Sequence[str]) -> None:
    """Of a link: which of the runs or arms that it asks for are not here."""
    lost = [ui.plain(code) for code in st.query_params.get_all(address) if code not in offered]
    if lost:
        st.warning(
            tr("The link asks for {codes}, which cannot be chosen here.", codes=", ".join(lost)),
            icon=":material/link_off:",
        )


def _newest(infos: Sequence[RunInfo]) -> list[str]:
    """The newest two runs of one axis; the newest one where its axis has no other."""
    first = infos[0]
    second = next((one for one in infos[1:] if one.axis == first.axis), None)
    return [first.run] + ([second.run] if second else [])


def _kept(runs: Sequence[str], every: Sequence[str]) -> list[str]:
    """Which arms to show until the user chooses: all, or after a change of runs those shown
    before and all of the runs that came in."""
    before: tuple[list[str], list[str]] | None = st.session_state.get("compare-before")
    if before is None or before[0] == list(runs):
        return fair(every)
    ui.forget_address(but="run")  # what else it says was about the runs before
    new = [code for code in every if code.rpartition(":")[0] not in before[0]]
    return fair([*(code for code in before[1] if code in every), *new])


def fair(every: Sequence[str]) -> list[str]:
    """As many arms as are shown at once: the first of every run, then the second, ..."""
    runs = [code.rpartition(":")[0] for code in every]
    turn = [runs[:k].count(run) for k, run in enumerate(runs)]
    first = sorted(range(len(every)), key=lambda k: (turn[k], k))[:MOST_ARMS]
    return [every[k] for k in sorted(first)]
