"""One editor for each kind of judge, empty or filled with a kept one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms import vllm
from rubriclab.app.forms.common import known_judges
from rubriclab.app.forms.judge_forms import code_form, embedded_form, plain_form, simulated_form
from rubriclab.app.forms.judge_served import served_form
from rubriclab.app.forms.judge_test import ask_one_question
from rubriclab.judges import JUDGE_KINDS, check_settings
from rubriclab.judges.settings import check_numbers
from rubriclab.judges.wire import trust
from rubriclab.model import Judge, LabError
from rubriclab.model.language import msg, tr
from rubriclab.study.tables import kept_judge_from_value


@dataclass(frozen=True)
class Form:
    """``tab``: its title in English; ``draw``: its fields, of (kind, kept judge or None, prefix of keys), giving a
    judge's table or None where none can be had; ``beside``: what stands below it."""

    tab: str
    draw: Callable[[str, Judge | None, str], dict[str, Any] | None]
    beside: Callable[[], None] | None = None


def _vllm_server() -> None:
    st.markdown(tr("#### A vLLM server"))
    with ui.faults():
        vllm.look()
        vllm.start_here()


FORMS = {
    "openai": Form("API", served_form),
    "vllm": Form("vLLM", served_form, _vllm_server),
    "embedded": Form(msg("Own GGUF file"), embedded_form),
    "python": Form(msg("Own code"), code_form),
    "simulated": Form(msg("Simulated"), simulated_form),
}
"""The forms by kind, in the order of their tabs. A kind that is not here has the plain one."""


def form_of(kind: str) -> Form:
    """The kind's own form, else one for name, model and options."""
    return FORMS.get(kind) or Form(JUDGE_KINDS[kind].label.capitalize(), plain_form)


def editors() -> None:
    """A tab for each kind of judge, to add one."""
    kinds = [*FORMS, *(kind for kind in JUDGE_KINDS if kind not in FORMS)]
    for kind, tab in zip(kinds, st.tabs([tr(form_of(kind).tab) for kind in kinds]), strict=True):
        with tab:
            with ui.faults():
                editor(kind)
            if beside := form_of(kind).beside:
                beside()


def editor(kind: str, judge: Judge | None = None) -> None:
    """The form of one kind of judge, empty or filled with a kept one."""
    fresh = f"new{st.session_state.get('judges-round', 0)}"
    tag = f"judges-{kind}-{judge.name if judge else fresh}"
    value = form_of(kind).draw(kind, judge, tag)
    if value is None:
        return
    with st.container(horizontal=True):
        save = st.button(tr("Save"), type="primary", key=f"{tag}-save", icon=":material/save:")
        try_it = JUDGE_KINDS[kind].answers_tests and st.button(
            tr("Test before saving"), key=f"{tag}-try", icon=":material/quick_reference_all:"
        )
    if not (save or try_it):
        return
    made = kept_judge_from_value(
        {key: part for key, part in value.items() if part not in (None, "", {})}, where=tr("This judge")
    )
    check_numbers(made)
    trust(made.ca_file)
    if not JUDGE_KINDS[made.kind].served:  # a server may be down while its judge is written down
        check_settings(made)
    if try_it:
        ask_one_question(made)
    if save:
        save_judge(made, judge)


def save_judge(made: Judge, before: Judge | None = None) -> None:
    """Keep it and draw the page again. Raises LabError where another one has its name."""
    taken = made.name in known_judges() and (before is None or before.name != made.name)
    if taken:
        raise LabError(tr("There is a judge “{name}” already; give this one another name.", name=made.name))
    if before is not None and before.name != made.name:
        ui.store().delete_judge(before.name)
    ui.store().save_judge(made)
    st.session_state["judges-edit"] = None
    st.session_state["judges-round"] = st.session_state.get("judges-round", 0) + 1
    ui.announce(tr("Saved “{name}”.", name=ui.plain(made.name)))
    st.rerun()
