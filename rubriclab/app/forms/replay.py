"""The Data page's offer to ask an imported log's prompts again: makes the study and opens it."""

from __future__ import annotations

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.study_design import CHOICE
from rubriclab.app.forms.study_prompt import KEPT
from rubriclab.datasets.logs import Source
from rubriclab.datasets.sample import embedded_judge
from rubriclab.model import Strategy
from rubriclab.model.language import tr
from rubriclab.runs.replay import replays_of
from rubriclab.study.replay import Replays


def replay_offer(source: Source, kind: str, prompts: int) -> None:
    """A button for a log that keeps ``prompts`` of its prompts."""
    if not prompts:
        return
    if st.button(tr("Ask again in other orders"), key="data-replay", icon=":material/replay:"):
        with st.spinner(tr("Taking the prompts apart …")):
            # The judge is chosen on the next page; a study has one.
            made = replays_of(source, [embedded_judge()], [Strategy("balanced")], kind=kind)
        _to_the_study(made)
    st.caption(
        tr(
            "{prompts:,} of its prompts are kept. They become a study of the same prompt, with the entries "
            "in other orders; you choose the judge. The command `rubriclab replay` does the same and counts "
            "the log's own replies as first reads.",
            prompts=prompts,
        )
    )


def _to_the_study(made: Replays) -> None:
    """The largest study of the log in the Study page's form; the data of the others are kept as well."""
    codes = [ui.store().save_dataset(one.study.dataset) for one in made.studies]
    study = made.studies[0].study
    design = study.design
    st.session_state[KEPT] = {prompt.name: prompt for prompt in study.prompts}
    if study.rubric is not None:
        st.session_state["study-rubric-wanted"] = ui.store().add_rubric(study.rubric).name
    st.session_state["study-data-wanted"] = codes[0]
    st.session_state[f"{CHOICE}axis"] = design.axis
    st.session_state[f"{CHOICE}tie"] = design.tie
    st.session_state[f"{CHOICE}list"] = max(design.list_size, 3)
    st.session_state[f"{CHOICE}name"] = study.name
    st.switch_page("pages/study.py")
