"""Show what position bias is, three ways in, and what the latest run says."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import streamlit as st

from rubriclab.app import runs, state
from rubriclab.app.forms import sample_button, setup_button
from rubriclab.app.frame import contained, faults, go, labelled, safe
from rubriclab.model.text import count

if TYPE_CHECKING:
    from rubriclab.store.read import RunInfo


def page() -> None:
    """Draw the swing of one answer, the latest run, and the ways in."""
    st.title("Does your judge read the rubric, or the order it is in?", anchor=False)
    st.markdown(
        "An LLM judge picks a score from a list. List the same descriptions in another order, and "
        "the score may change. That is **position bias**. rubriclab measures it with your data, "
        "your rubric, and your judge."
    )
    left, right = st.columns(2, gap="medium")
    swing = left.container(border=True, key="home-swing", height="stretch")
    latest = right.container(border=True, key="home-latest", height="stretch")
    doors = st.columns(3, gap="medium")
    with doors[0]:
        _door("See it with one answer", "Change the order, and see the score.", _try_button)
    with doors[1]:
        _door("Measure your judge", "Your file, your rubric, five steps.", _measure_buttons)
    with doors[2]:
        _door("New to position bias?", "Four pictures, two minutes.", _learn_button)
    # The first look at the example computes for a moment, and the buttons need not wait for it.
    with swing, faults():
        _swing()
    with latest:
        _latest()


def _door(title: str, words: str, buttons: Callable[[], None]) -> None:
    """Draw a way in: what is behind it, and its button or buttons."""
    with st.container(border=True, height="stretch"):
        st.markdown(f"**{title}**  \n{words}")
        buttons()


def _try_button() -> None:
    if st.button("Try it", icon=":material/bolt:", type="primary", width="stretch"):
        go("try")


def _measure_buttons() -> None:
    with st.container(horizontal=True):
        setup_button(width="stretch", primary=False)
        sample_button(width="stretch")


def _learn_button() -> None:
    if st.button("Learn", icon=":material/school:", width="stretch"):
        go("learn")


def _swing() -> None:
    """Draw an answer of the recorded example in the two orders whose scores differ most."""
    with st.spinner("Computing…"):
        from rubriclab.app.first_screen import swing
        from rubriclab.figures.evidence import swing_example
        from rubriclab.words.subject import subject_of

        run_id = state.recorded()
        findings = state.findings(run_id)
        subject = subject_of(findings)
        example = swing_example(findings, subject, state.kept(run_id).judged_text)
    if example is not None:
        swing(example)
    st.caption(f"Recorded with {safe(subject.judge, 60)}, a small model, on the lab's own sample.")


def _latest() -> None:
    """Draw the running run, else the latest one, else the recorded example."""
    active = state.active()
    if active:
        runs.progress_card(active[0].id, buttons=False, key="home")
        if st.button("Open progress", icon=":material/arrow_forward:", type="tertiary"):
            go("runs")
        return
    own = sorted(state.store().runs(), key=lambda info: info.changed, reverse=True)
    if own and own[0].state in ("interrupted", "failed", "paused"):
        with contained(own[0].name):
            _stopped(own[0])
        return
    finished = [info for info in own if info.state == "finished"]
    if finished:
        with contained(finished[0].name):
            _finished(finished[0], _caption(finished[0]))
        return
    with faults():
        info = state.run_info(state.recorded())
        _finished(
            info, "Example run, recorded with a small model. Your latest run will appear here."
        )


def _caption(info: RunInfo) -> str:
    return f"Latest run · {safe(info.name, 60)} · {info.created:%-d %b %Y}"


def _stopped(info: RunInfo) -> None:
    """Draw a run that has stopped, and the button that goes on with it."""
    st.caption(_caption(info))
    if info.state == "failed":
        how = f"has no score: none of {count(info.done, 'reply', 'replies')} could be parsed"
    else:
        how = f"stopped after {info.done:,} of {count(info.planned, 'call')}"
    if info.reason:
        how += f": {safe(info.reason.rstrip('.'), 200)}"
    st.markdown(f"**{safe(info.name, 80)}** {how}.")
    with st.container(horizontal=True, vertical_alignment="center"):
        pressed = runs.again_button(info, "home-again", "primary")
        if info.done:
            runs.open_button("Open this run", info, ":material/arrow_forward:", "tertiary")
    runs.say_where_asked(info)
    if pressed:
        runs.go_on(info)


def _finished(info: RunInfo, caption: str) -> None:
    """Draw the headline with its badge, and the line, of a finished run."""
    st.caption(caption)
    with st.spinner("Computing…"):
        # Imported here, so that the page's other half is drawn while these modules load.
        from rubriclab.app.answer_tabs import emphasised
        from rubriclab.app.first_screen import LOOKS, badge
        from rubriclab.words.answer import judged
        from rubriclab.words.several import over_one_of_many
        from rubriclab.words.subject import subject_of

        findings = state.findings(info.id)
        subject = subject_of(findings)
        answer = judged(findings, subject)
        every = over_one_of_many(findings, subject)
    word = answer.word or ""
    headline = labelled(answer.headline, answer.simulated)
    if every:
        st.header(safe(every), anchor=False)
        st.caption(f"Below: {safe(subject.judge, 60)} alone")
    with st.container(key=f"word-{LOOKS.get(word, 'none')}"):
        if every:
            st.markdown(f"**{headline}** {badge(word)}".strip())
        else:
            st.header(f"{headline} {badge(word)}".strip(), anchor=False)
        st.markdown(emphasised(answer.line, answer.strong))
    runs.open_button("Open this run", info, ":material/arrow_forward:", "tertiary")
