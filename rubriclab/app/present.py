"""Present a run's answer in four slides over the whole window: ``?present=1`` of Results.

The slides are made by ``exports/presentation.py``. A component draws them and listens to keys,
because pages know no keys of their own and cannot fill the screen.
"""

from typing import Any

import streamlit as st

from rubriclab.app import state
from rubriclab.app.frame import source
from rubriclab.core.topic import Findings
from rubriclab.exports.presentation import slides
from rubriclab.model.text import printable, shorten
from rubriclab.store.read import RunInfo
from rubriclab.words.subject import Subject, settings, subjects_by_name

KEY = "present"


def wanted() -> bool:
    """Return whether the address asks for the presentation."""
    return st.query_params.get("present", "") == "1"


def button(subject: Subject) -> None:
    """Draw the button that opens the presentation of the shown judge."""
    if subject.calls:
        st.button("Present", icon=":material/slideshow:", key="results-present", on_click=_open)


def _open() -> None:
    st.query_params["present"] = "1"
    st.query_params["slide"] = "1"


def page(info: RunInfo) -> None:
    """Draw the slides about the judge that the address names, else about the run's first one."""
    findings = state.findings(info.id)
    subject = _subject(findings)
    kept = state.kept(info.id)
    drawn = slides(
        findings,
        subject,
        study=None if kept.plan is None else kept.plan.study,
        text_of=kept.judged_text,
    )
    names = [printable(info.name), subject.judge]
    if subject.simulated:
        names.append("simulated")
    _draw(drawn, " · ".join(shorten(name, 60) for name in names))


def _subject(findings: Findings) -> Subject:
    conditions = findings.conditions
    judges = [asked.judge for asked in conditions]
    judge = _named("judge", judges)
    datasets = [asked.dataset for asked in conditions if asked.judge == judge]
    dataset = _named("dataset", datasets)
    every = subjects_by_name(findings, judge, dataset)
    return every[_named("setting", list(settings(conditions, judge, dataset)))]


def _named(parameter: str, names: list[str]) -> str:
    """Return the name in the address, or the first one if there is none such."""
    given = st.query_params.get(parameter, "")
    return given if given in names else names[0]


def _draw(drawn: list[str], foot: str) -> None:
    """Draw the slides, the one of the address first, and keep the shown one in the address."""
    numbers = [str(number) for number in range(1, len(drawn) + 1)]
    wanted_slide = st.query_params.get("slide", "1")
    at = numbers.index(wanted_slide) if wanted_slide in numbers else 0

    def moved() -> None:
        st.query_params["slide"] = str(st.session_state[KEY].at + 1)

    def left() -> None:
        for name in ("present", "slide"):
            st.query_params.pop(name, None)

    draw: Any = st.components.v2.component(
        "rubriclab_present",
        html=source("present.html"),
        css=source("present.css"),
        js=source("present.js"),
    )
    draw(
        key=KEY,
        data={"slides": drawn, "at": at, "foot": foot},
        on_at_change=moved,
        on_leave_change=left,
    )
