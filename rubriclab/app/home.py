"""Show what position bias is, three ways in, and what the latest run says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from rubriclab.app import runs, state
from rubriclab.app.chart_view import chart
from rubriclab.app.forms import sample_button, setup_button
from rubriclab.app.frame import contained, faults, go, labelled, safe
from rubriclab.model.text import count

if TYPE_CHECKING:
    from rubriclab.store.read import RunInfo


def page() -> None:
    """Draw the ways in on the left, and the latest run on the right."""
    st.title("Does your judge read the rubric, or the order it is in?", anchor=False)
    st.markdown(
        "An LLM judge picks a score from a list. List the same descriptions in another order, and "
        "the score may change.  \nThat is **position bias**. rubriclab measures it with your data, "
        "your rubric, and your judge."
    )
    st.space("small")
    left, right = st.columns([1.06, 1], gap="large")
    with left:
        with st.container(border=True):
            st.markdown("**See it with one answer**")
            st.markdown("Two orders of one rubric, side by side. No set-up.")
            if st.button("Try it", icon=":material/bolt:", type="primary", width="stretch"):
                go("try")
        with st.container(border=True):
            st.markdown("**Measure your judge**")
            st.markdown("Your file, your rubric, five short steps. Or start with the sample.")
            with st.container(horizontal=True):
                setup_button(width="stretch", primary=False)
                sample_button(width="stretch")
        with st.container(border=True):
            st.markdown("**New to position bias?**")
            st.markdown("Four pictures, two minutes.")
            if st.button("Learn", icon=":material/school:", width="stretch"):
                go("learn")
    with right, st.container(border=True, key="home-latest"):
        _latest()


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
    """Draw the headline, the line, and the picture of a finished run."""
    st.caption(caption)
    with st.spinner("Computing…"):
        # Imported here, so that the page's other half is drawn while these modules load.
        from rubriclab.app.answer_tabs import emphasised
        from rubriclab.figures.pictures import main_picture
        from rubriclab.words.answer import judged
        from rubriclab.words.several import over_one_of_many
        from rubriclab.words.subject import subject_of

        findings = state.findings(info.id)
        subject = subject_of(findings)
        answer, picture = judged(findings, subject), main_picture(findings, subject).picture
        every = over_one_of_many(findings, subject)
    if every:
        st.header(safe(every), anchor=False)
        st.caption(f"Below: {safe(subject.judge, 60)} alone")
        st.markdown(f"**{labelled(answer.headline, answer.simulated)}**")
    else:
        st.header(labelled(answer.headline, answer.simulated), anchor=False)
    st.markdown(emphasised(answer.line, answer.strong))
    if picture is not None:
        chart(picture, key="home-chart", height=260, data=False)
    with st.container(horizontal_alignment="center"):
        runs.open_button("Open this run", info, ":material/arrow_forward:", "tertiary")
