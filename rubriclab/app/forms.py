"""Parts of forms that several pages share: a step that opens and closes, a table that outlives its page, choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NoReturn

import pandas as pd
import streamlit as st

from rubriclab.app import state
from rubriclab.app.frame import announce, faults, go, safe
from rubriclab.model.text import shorten


def step(number: int, title: str, summary: str, *, opened: bool, ready: bool, body: Callable[[], None]) -> None:
    """One step of Set up: its whole form where it is ``opened``, else one line with ``Change``.

    ``summary``: what is chosen, as plain text. ``body`` draws the form. Steps but the first end with ``Done``.
    """
    with st.container(border=True, key=f"step-{number}"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            state = "step-open" if opened else "step-ready" if ready else ""
            mark = "✓" if ready and not opened else str(number)
            st.html(f'<span class="step-number {state}" aria-hidden="true">{mark}</span>', width="content")
            st.header(title, anchor=False, width="content")
            if not opened:
                st.markdown(f":gray[{safe(summary, 120)}]", width="stretch")
                word = "Change" if ready else "Open"
                st.button(word, key=f"step-{number}-change", type="tertiary", on_click=open_step, args=(number,))
        if opened:
            with faults():
                body()
            if number > 1:
                st.button("Done", key=f"step-{number}-done", icon=":material/check:", on_click=open_step, args=(0,))


def setup_button(*, width: Literal["content", "stretch"] = "content") -> None:
    """The way to Set up."""
    if st.button("Set up a run", icon=":material/tune:", type="primary", width=width):
        go("setup")


def sample_button(*, width: Literal["content", "stretch"] = "content") -> None:
    """Judges the lab's own sample with its small model."""
    pressed = st.button(
        "Run the sample", icon=":material/play_arrow:", width=width, key="run-sample",
        help="Downloads a model of 93 MB on its first use, then runs on this machine: no key, no graphics card. A few "
        "minutes on two cores; you can watch it on Runs.",
    )  # fmt: skip
    if pressed:
        from rubriclab.runs.loading import plan_of_file

        with faults():
            run_id = state.manager().start(plan_of_file("demo")).id
            announce("The sample is being judged.")
            go("runs", run=run_id)


def open_step(number: int) -> None:
    """Open this step of Set up and close the others; 0 closes all."""
    st.session_state["setup step"] = number


def later(work: Callable[..., None], *arguments: Any) -> NoReturn:
    """Run the page again, and ``work`` before it draws anything: fields that are drawn already cannot be filled."""
    st.session_state["setup later"] = (work, arguments)
    st.rerun()


def do_later() -> None:
    """Called before the page draws: what ``later`` was told."""
    work, arguments = st.session_state.pop("setup later", (None, ()))
    if work is not None:
        work(*arguments)


def opened_step() -> int:
    return int(st.session_state.get("setup step", 1))


def editor(start: pd.DataFrame, *, key: str, **options: Any) -> pd.DataFrame:
    """``st.data_editor`` on ``start``, whose edits outlive a change of step or page (by itself it would forget them)."""
    if key not in st.session_state:
        st.session_state[f"{key} base"] = st.session_state.get(f"{key} now", start)
    edited: pd.DataFrame = st.data_editor(st.session_state[f"{key} base"], key=key, **options)
    st.session_state[f"{key} now"] = edited
    return edited


def fill_editor(rows: pd.DataFrame, *, key: str) -> None:
    """Let such a table hold ``rows`` from its next drawing on."""
    st.session_state.pop(key, None)
    st.session_state[f"{key} now"] = rows


def column_select(
    label: str, columns: Sequence[str], guessed: str | None, *, key: str, why: str = "", optional: bool = True
) -> str | None:
    """A select over the columns of a table, by number: two columns may have names that look the same.

    ``guessed``: the column chosen at first; ``why``: the reason of the guess, as help.
    """
    choices = [-1, *range(len(columns))] if optional else list(range(len(columns)))
    start = columns.index(guessed) if guessed in columns else choices[0]
    if key not in st.session_state:
        st.session_state[key] = start
    chosen = st.selectbox(
        label,
        choices,
        format_func=lambda code: "None" if code < 0 else column_name(columns, code),
        key=key,
        help=safe(why) or None,
        persist_state="session",
    )
    return None if chosen is None or chosen < 0 else columns[chosen]


def column_name(columns: Sequence[str], code: int) -> str:
    """How a column is called in a list: shortened, numbered where another one would be called the same."""
    name = shorten(columns[code], 60) or f"column {code + 1}"
    same = [other for other in columns if shorten(other, 60) == shorten(columns[code], 60)]
    return name if len(same) == 1 else f"{name} ({code + 1})"


def segments(label: str, options: Mapping[str, str], *, key: str, hidden: bool = True) -> str:
    """A segmented control with one choice, always made; ``options``: value -> what it says. Returns the value."""
    chosen = st.segmented_control(
        label,
        list(options),
        format_func=lambda value: options[value],
        key=key,
        default=None if key in st.session_state else next(iter(options)),
        required=True,
        label_visibility="collapsed" if hidden else "visible",
        persist_state="session",
    )
    return chosen or next(iter(options))


def preset(key: str, value: Any) -> str:
    """Give a widget's key its first value, before it is drawn; returns the key."""
    st.session_state.setdefault(key, value)
    return key
