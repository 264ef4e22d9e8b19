"""The Study page's choice of own prompts: files of the user's, kept for the session."""

from __future__ import annotations

import streamlit as st

from rubriclab.app import ui
from rubriclab.model.answers import answer_words
from rubriclab.model.language import tr
from rubriclab.model.prompt import PromptTemplate
from rubriclab.study.prompts.files import read_template

KEPT = "study-own-prompts"
"""Where the session keeps the prompts; another page that makes one puts it there."""


def prompt_step() -> tuple[PromptTemplate, ...]:
    """The prompts to send; none for the lab's own. Several are a factor: each is an arm."""
    kept: dict[str, PromptTemplate] = st.session_state.setdefault(KEPT, {})
    with st.expander(tr("Your own prompt instead of the lab's"), icon=":material/chat:", expanded=bool(kept)):
        with ui.faults():
            _take_files(kept)
        for name, prompt in list(kept.items()):
            left, right = st.columns([5, 1], vertical_alignment="center")
            left.caption(ui.plain(tr("“{name}”, its answer read as {how}", name=name, how=answer_words(prompt.answer))))
            if right.button(tr("Remove"), key=f"study-prompt-remove-{prompt.id}-{name}"):
                del kept[name]
                st.rerun()
    return tuple(kept.values())


def _take_files(kept: dict[str, PromptTemplate]) -> None:
    """What is uploaded is taken once, so that a prompt that was removed stays removed."""
    number = st.session_state.setdefault(f"{KEPT}-uploads", 0)
    files = st.file_uploader(
        tr("Prompt files: TOML with messages and an answer, or the text of one user message"),
        type=["toml", "txt", "md", "jinja", "j2"],
        accept_multiple_files=True,
        key=f"study-prompt-files-{number}",
        help=tr("Several are compared with each other: same orders, several wordings."),
    )
    if not files:
        return
    for prompt in [read_template(file.name, file.getvalue()) for file in files]:
        kept[prompt.name] = prompt
    st.session_state[f"{KEPT}-uploads"] = number + 1
    st.rerun()
