"""The Judges page's list: who is there, each with its test and its editor."""

from __future__ import annotations

import json

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.common import known_judges
from rubriclab.app.forms.judge_editor import editor
from rubriclab.app.forms.judge_test import ask_one_question
from rubriclab.judges import JUDGE_KINDS
from rubriclab.judges.code_entry import code_folder
from rubriclab.judges.hub_models import PREFIX, hub_model_path
from rubriclab.judges.weights import CATALOGUE, is_cached
from rubriclab.model import Judge
from rubriclab.model.language import tr

_COLOURS = ("green", "blue", "violet", "red", "orange")


def _badge(kind: str) -> str:
    colour = _COLOURS[list(JUDGE_KINDS).index(kind) % len(_COLOURS)]
    return f":{colour}-badge[{tr(JUDGE_KINDS[kind].label)}]"


# ---------------------------------------------------------------- the list


def judge_list() -> None:
    """Kept judges and the embedded ones that are always there."""
    kept = {judge.name for judge in ui.store().judges()}
    for name, judge in known_judges().items():
        _card(judge, kept=name in kept)


def _card(judge: Judge, *, kept: bool) -> None:
    name = judge.name
    editing = st.session_state.get("judges-edit") == name
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"**{ui.plain(name)}** {_badge(judge.kind)}  \n:small[{_about(judge)}]", width="stretch")
            with st.container(horizontal=True, width="content"):
                asked = JUDGE_KINDS[judge.kind].answers_tests and st.button(
                    tr("Test this judge"), key=f"judges-test-{name}", icon=":material/quick_reference_all:"
                )
                if kept and st.button(
                    tr("Close") if editing else tr("Edit"), key=f"judges-edit-{name}", icon=":material/edit:"
                ):
                    st.session_state["judges-edit"] = None if editing else name
                    st.rerun()
                if st.button(tr("Use in a study"), key=f"judges-use-{name}", icon=":material/science:"):
                    st.session_state["study-judge-wanted"] = name
                    st.switch_page("pages/study.py")
        if asked:
            with ui.faults():
                ask_one_question(judge)
        if editing and kept:
            with ui.faults():
                editor(judge.kind, judge)
            if st.button(
                tr("Delete this judge"),
                key=f"judges-delete-{name}",
                icon=":material/delete:",
                help=tr("Runs that it made stay as they are."),
            ):
                ui.store().delete_judge(name)
                st.session_state["judges-edit"] = None
                st.rerun()


def _about(judge: Judge) -> str:
    kind = JUDGE_KINDS[judge.kind]
    if kind.own:
        if judge.options.get("path"):
            return tr("own weights: {path}", path=ui.plain(str(judge.options["path"])))
        if judge.model.startswith(PREFIX):
            where = (
                tr("on disk") if hub_model_path(judge.model).is_file() else tr("fetched from Hugging Face on first use")
            )
            return ui.plain(f"{judge.model}, {where}")
        weights = CATALOGUE.get(judge.model)
        if weights is None:
            return ui.plain(judge.model)
        where = (
            tr("On disk.") if is_cached(judge.model) else tr("Fetched on first use. {sources}", sources=weights.sources)
        )
        return ui.plain(
            tr("{about} Licence {licence}. {where}", about=tr(weights.about), licence=weights.licence, where=where)
        )
    if kind.code:
        folder = code_folder()
        where = (
            tr("of {folder}", folder=folder)
            if folder
            else tr("of a folder that is not named: start the lab with --code FOLDER")
        )
        code = str(judge.options.get("sha256", ""))[:12]
        return ui.plain(tr("your function {model} {where} · sha256 {code}…", model=judge.model, where=where, code=code))
    if not kind.served:
        planted = ", ".join(ui.plain(f"{k} {json.dumps(v)}") for k, v in judge.options.items())
        return tr("No model: planted effects ({planted})", planted=planted or tr("none"))
    urls = ", ".join(judge.base_urls) or kind.address
    key = tr(" · key from {key_env}", key_env=judge.key_env) if judge.key_env else tr(" · no key")
    return ui.plain(tr("{model} at {urls}{key}", model=judge.model, urls=urls, key=key))
