"""Hold the launch while a pasted rubric or judge prompt waits to be used or cleared.

A run would go on with what the study had before, which nobody would notice. So a text that waits
stays when other fields of the step start again, and it counts also while its box is not drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from rubriclab.app.draft import draft
from rubriclab.app.forms import SETUP, forget
from rubriclab.data.understood import Understood, count_word, understood
from rubriclab.model.text import LabError


@dataclass(frozen=True)
class Box:
    """A box for a pasted text. ``kind``: the answer to “Which rubric?” under which it is drawn."""

    key: str
    kind: str
    what: str

    @property
    def not_used(self) -> str:
        return f"You pasted a {self.what} that is not used yet."


RUBRIC = Box("rubric-pasted", "own", "rubric")
PROMPT = Box("own-text", "prompt", "judge prompt")


def waiting() -> Box | None:
    """Return the first box with a text that is neither used nor cleared."""
    prompt = draft().study.prompt
    for box in (RUBRIC, PROMPT):
        has_own = box is PROMPT and prompt is not None and bool(prompt.templates)
        if _text(box) and not has_own:
            return box
    return None


def reason() -> str:
    """Say why a study with a waiting text cannot be launched, and what to do; else empty."""
    box = waiting()
    if box is None:
        return ""
    if st.session_state.get("rubric-kind", box.kind) != box.kind:
        kind = SETUP["rubric"]["kinds"][box.kind]
        return f"{box.not_used} Choose “{kind}” in step 2 to use it, or clear it there."
    if box is PROMPT:
        return f"{box.not_used} Press the button below it in step 2, or clear the box."
    try:
        button = use_label(understood(_text(box)))
    except LabError:
        return f"{box.not_used} The lab cannot read it. Correct it in step 2, or clear the box."
    return f"{box.not_used} Press “{button}” in step 2, or clear the box."


def is_reason(problem: str) -> bool:
    """Return whether a step's problem is a waiting text."""
    return problem.startswith((RUBRIC.not_used, PROMPT.not_used))


def use_label(read: Understood) -> str:
    """Return the label of the button that uses a pasted rubric as it was read."""
    if not read.missing:
        return "Use this rubric"
    return f"Keep {count_word(len(read.rubric.criteria[0].scores))} scores"


def say_waiting(kind: str) -> None:
    """Say that a text waits under another kind of rubric, and offer to clear it."""
    box = waiting()
    if box is None or box.kind == kind:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="rubric-waiting"):
        where = SETUP["rubric"]["kinds"][box.kind]
        st.markdown(f":orange[{box.not_used} It is under “{where}”.]", width="stretch")
        st.button(f"Clear the {box.what}", type="tertiary", on_click=_clear, args=(box,))


def _clear(box: Box) -> None:
    """Empty a box. This is a callback."""
    st.session_state[box.key] = ""


def restart_rubric() -> None:
    """Let the fields of the rubric start again from the study, but keep a pasted text."""
    pasted = _text(RUBRIC)
    forget("rubric-")
    if pasted:
        st.session_state[RUBRIC.key] = pasted


def texts() -> dict[str, str]:
    """Return the texts that wait, by the keys of their boxes."""
    return {box.key: text for box in (RUBRIC, PROMPT) if (text := _text(box))}


def put_back(kept: Mapping[str, str]) -> None:
    """Fill the boxes with the texts that waited in them."""
    for box in (RUBRIC, PROMPT):
        if box.key in kept:
            st.session_state[box.key] = kept[box.key]


def _text(box: Box) -> str:
    return str(st.session_state.get(box.key) or "").strip()
