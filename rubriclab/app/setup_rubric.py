"""Step 2 of Set up: a ready-made rubric, a file or a typed table in; a rubric out."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app.draft import draft
from rubriclab.app.forms import editor, fill_editor, later, preset, segments
from rubriclab.app.frame import faults, safe
from rubriclab.model.data import Criterion, Option, Rubric
from rubriclab.model.text import LabError, count, shorten
from rubriclab.sinks.text import NBSP

KINDS = {"ready": "Ready-made", "own": "Write or paste"}
MOST_CRITERIA = 12
COLUMNS = {
    "Score": st.column_config.NumberColumn(width="small", step=1, required=True, format="%d"),
    "Description": st.column_config.TextColumn(width="large"),
}


def summary() -> str:
    """What the closed step says."""
    rubric = draft().rubric
    if 2 in draft().problems or rubric is None:
        return draft().problems.get(2, "no rubric yet")
    options = count(len(rubric.criteria[0].options), "score option")
    criteria = f"{len(rubric.criteria)} criteria, " if len(rubric.criteria) > 1 else ""
    return f"{shorten(rubric.name, 50)} · {criteria}{options}"


def body() -> None:
    """The open step."""
    held = draft()
    held.problems.pop(2, None)
    if segments("Which rubric?", KINDS, key="rubric-kind") == "ready":
        from rubriclab.data.sample import sample_rubrics

        ready = {_title(rubric): rubric for rubric in sample_rubrics()}
        held.rubric = ready[st.selectbox("Rubric", list(ready), key="rubric-ready", persist_state="session")]
        for criterion in held.rubric.criteria:
            _shown(criterion)
        st.button("Change its words", icon=":material/edit:", type="tertiary", on_click=fill, args=(held.rubric,))
        return
    if "setup criteria" not in st.session_state and held.rubric is not None:
        later(fill, held.rubric)
    _file()
    try:
        held.rubric = _typed()
    except LabError as fault:
        held.problems[2] = str(fault)
        st.error(safe(str(fault)), icon=":material/error:")


def _title(rubric: Rubric) -> str:
    criteria = len(rubric.criteria)
    return rubric.name if criteria == 1 else f"{rubric.name}, {count(criteria, 'criterion', 'criteria')}"


def fill(rubric: Rubric) -> None:
    """Put a rubric into the table to edit."""
    st.session_state["rubric-kind"] = "own"
    st.session_state["rubric-name"] = rubric.name
    st.session_state["setup criteria"] = len(rubric.criteria)
    for number, criterion in enumerate(rubric.criteria):
        st.session_state[f"rubric-criterion-{number}"] = criterion.name
        st.session_state[f"rubric-about-{number}"] = criterion.description
        rows = [{"Score": option.score, "Description": option.description} for option in criterion.options]
        fill_editor(pd.DataFrame(rows), key=f"rubric-options-{number}")


def _shown(criterion: Criterion) -> None:
    options = [f"**{option.score}**{NBSP} {safe(option.description)}" for option in criterion.options]
    st.markdown("  \n".join([f"**{safe(criterion.name, 80)}**: {safe(criterion.description, 400)}", *options]))


def _file() -> None:
    """A rubric as a file fills the table below."""
    with st.popover("From a file", icon=":material/upload:", type="tertiary"):
        file = st.file_uploader(
            "YAML, JSON or CSV with the columns criterion, score, description",
            type=["yaml", "yml", "json", "csv"],
            max_upload_size=2,
            key=f"rubric-upload-{st.session_state.get('setup rubric count', 0)}",
        )
        if file is not None:
            with faults():
                from rubriclab.data.rubrics import read_rubric

                rubric = read_rubric(file.getvalue(), file.name)
                st.session_state["setup rubric count"] = st.session_state.get("setup rubric count", 0) + 1
                later(fill, rubric)


def _typed() -> Rubric:
    """The rubric as it stands in the fields. Raises LabError for one that is none."""
    number_of = int(st.session_state.get("setup criteria", 1))
    left, right = st.columns([1, 2])
    name = left.text_input("Name", key="rubric-name", max_chars=200, persist_state="session") or ""
    criteria = []
    for number in range(number_of):
        if number_of > 1:
            left, right = st.columns([1, 2])
            title = left.text_input(
                f"Criterion {number + 1}", key=f"rubric-criterion-{number}", max_chars=200, persist_state="session"
            )
        else:
            title = name
        about = right.text_input(
            "What is judged?", key=preset(f"rubric-about-{number}", ""), max_chars=2_000, persist_state="session"
        )
        rows = editor(
            pd.DataFrame({"Score": [1, 2, 3, 4, 5], "Description": [""] * 5}), key=f"rubric-options-{number}",
            num_rows="dynamic", hide_index=True, column_config=COLUMNS, alt="Scores and what they stand for",
        )  # fmt: skip
        criteria.append(Criterion((title or "").strip() or f"Criterion {number + 1}", _options(rows), about or ""))
    with st.container(horizontal=True):
        full = number_of >= MOST_CRITERIA
        st.button("Add a criterion", icon=":material/add:", type="tertiary", on_click=_more, disabled=full)
        if number_of > 1:
            st.button("Remove the last", icon=":material/remove:", type="tertiary", on_click=_fewer)
    return Rubric(name.strip() or "My rubric", tuple(criteria))


def _options(rows: pd.DataFrame) -> tuple[Option, ...]:
    """The rows of the table that have a score. Raises LabError for scores that are no whole numbers."""
    options = []
    for score, description in rows[["Score", "Description"]].itertuples(index=False):
        if pd.isna(score):
            continue
        if float(score) != int(score):
            raise LabError(f"The score {score} is no whole number: use 1, 2, 3 and so on.")
        options.append(Option(int(score), "" if pd.isna(description) else str(description)))
    return tuple(options)


def _more() -> None:
    number = int(st.session_state.get("setup criteria", 1))
    if number == 1:
        st.session_state["rubric-criterion-0"] = st.session_state.get("rubric-name", "")
    st.session_state[f"rubric-criterion-{number}"] = f"Criterion {number + 1}"
    first = st.session_state.get("rubric-options-0 now")
    if first is not None:
        rows = first[["Score"]].copy()
        fill_editor(rows.assign(Description=""), key=f"rubric-options-{number}")
    st.session_state["setup criteria"] = number + 1


def _fewer() -> None:
    st.session_state["setup criteria"] = int(st.session_state["setup criteria"]) - 1
