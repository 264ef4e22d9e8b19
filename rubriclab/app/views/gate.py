"""The gate of a run, on the page Your pipeline: limits, what is shown of each, and what to copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.findings.gate import GATE, GateResult
from rubriclab.model.gate import CONDITIONS, Condition
from rubriclab.model.gate_limits import GateLimits
from rubriclab.model.language import SOURCE, figure, msg, speaking, tr
from rubriclab.report.gate import (
    MARKS,
    bounds_note,
    bounds_words,
    gate_junit,
    gate_markdown,
    headline,
    limit_words,
    number_words,
    reason,
    table_toml,
    workflow,
)
from rubriclab.store import RunInfo, Store

LEAD = msg(
    "A gate says of a judge that it **passes** its limits, **fails** them or **cannot tell**: by how "
    "far an interval reaches, never by an estimate alone. In a pipeline `rubriclab gate` runs a "
    "study and ends with a code for each."
)
SMALL, POINTS, LARGE = (
    (0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5),
    (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0),
    (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
)
USUAL = {"max_flip": 0.05, "max_unread": 0.05, "max_shift": 0.2, "min_r": 0.5, "min_repeat": 0.7}
"""Where it is neither: 0.1 for what is at most, 0.6 for what is at least."""
ASKED: Mapping[str, tuple[str, ...]] = {
    "options": ("max_v", "max_shift", "max_flip"),
    "criteria": ("max_shift", "max_flip"),
    "pairwise": ("max_place", "max_flip"),
    "listwise": ("max_place", "max_flip"),
}
"""What is asked where the address names nothing."""
DEFINED: Mapping[str, tuple[str, ...]] = {
    "options": tuple(key for key in CONDITIONS if key != "max_place"),
    "criteria": ("max_shift", "max_flip", "max_unread", "min_r", "min_repeat"),
    "pairwise": ("max_v", "max_place", "max_flip", "max_unread", "min_repeat"),
    "listwise": ("max_place", "max_flip", "max_unread", "min_repeat"),
}


def section(store: Store, info: RunInfo) -> None:
    """Which limits, what the run says of each, then what to copy."""
    del store
    if info.axis not in DEFINED:
        return
    with st.expander(tr("Gate: hold the judge against limits"), icon=":material/rule:"):
        st.markdown(tr(LEAD))
        limits = _limits(info.axis)
        if not limits.given():
            st.info(tr("Choose a condition."), icon=":material/info:")
            return
        result: GateResult = ui.finding(info, GATE, limits=limits)
        _show(result)
        with speaking(SOURCE):  # files are for programs and for whoever runs them
            english: GateResult = ui.finding(info, GATE, limits=limits)
            files = gate_markdown(english), gate_junit(english, at=info.changed)
        _files(info, *files)
        _copy(info, limits)


def _limits(axis: str) -> GateLimits:
    known = DEFINED[axis]
    chosen = ui.choose_many(
        tr("Conditions"),
        known,
        key="gate-conditions",
        address="gate",
        default=ASKED[axis],
        name=lambda key: tr(CONDITIONS[key].title),
        about=tr("All of them must be shown to hold for the gate to pass."),
    )
    columns, limits = st.columns(3), {}
    for place, key in enumerate(chosen):
        condition = CONDITIONS[key]
        with columns[place % 3]:
            limits[key] = ui.slide(
                _label(condition),
                _offered(key),
                key=f"gate-{key}",
                address=key,
                default=USUAL.get(key, 0.6 if condition.least else 0.1),
                name=lambda value: figure(value, ""),
                code=lambda value: f"{value:g}",
                about=_about(condition),
            )
    return GateLimits(**limits)


def _label(condition: Condition) -> str:
    title, unit = tr(condition.title), tr(condition.unit)
    if not unit:
        return (
            tr("{condition}, at least", condition=title)
            if condition.least
            else tr("{condition}, at most", condition=title)
        )
    if condition.least:
        return tr("{condition}, at least, in {unit}", condition=title, unit=unit)
    return tr("{condition}, at most, in {unit}", condition=title, unit=unit)


def _about(condition: Condition) -> str:
    about = tr(condition.about)
    return f"{about[0].upper()}{about[1:]}."


def _offered(key: str) -> Sequence[float]:
    return LARGE if CONDITIONS[key].least else POINTS if CONDITIONS[key].unit else SMALL


def _show(result: GateResult) -> None:
    colour = {msg("passes"): st.success, msg("fails"): st.error, msg("cannot tell"): st.warning}[result.outcome]
    colour(f"**{headline(result)}**")
    rows = [
        {
            "": f"{MARKS[one.outcome]} {tr(one.outcome)}",
            msg("Judge"): one.about,
            msg("Condition"): one.title,
            msg("Estimate"): number_words(one),
            msg("Bounds"): bounds_words(one),
            msg("Limit"): limit_words(one),
            msg("Why"): reason(one),
        }
        for one in result.decisions
    ]
    table = pd.DataFrame(rows)
    st.dataframe(table, hide_index=True, width="stretch", column_config=uf.headings(table))
    for note in (bounds_note(result), *result.notes):
        st.caption(ui.plain(note))


def _files(info: RunInfo, summary: str, junit: str) -> None:
    left, right = st.columns(2)
    for place, label, text, name in (
        (left, tr("Summary (Markdown)"), summary, f"{info.run}.gate.md"),
        (right, tr("JUnit XML"), junit, f"{info.run}.gate.xml"),
    ):
        with place:
            st.download_button(label, text, file_name=name, key=f"gate-{name[-2:]}", on_click="ignore")


def _copy(info: RunInfo, limits: GateLimits) -> None:
    st.markdown(tr("**In the study file**: limits that stay beside what they are about. Then, in a terminal:"))
    ui.verbatim(table_toml(limits))
    ui.verbatim(
        f"rubriclab gate {info.run} --store lab.duckdb --limits study.toml\n"
        "rubriclab gate study.toml --store lab.duckdb"
    )
    st.markdown(tr("**As a GitHub workflow**, `.github/workflows/judge-gate.yml`:"))
    ui.verbatim(workflow())
