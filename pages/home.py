"""Home: what the lab is about, one first step and two more, the latest runs."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.datasets.sample import DEMO_ITEMS, demo_study
from rubriclab.figures.position import selection_bars
from rubriclab.findings.position import POSITION
from rubriclab.model.language import msg, tr
from rubriclab.store import RunInfo

LEAD = msg(
    "Ask an LLM for a score from 1 to 5, then list the same five descriptions in another order: the "
    "score may change. **rubriclab** measures by how much, in which direction, how much of it is the "
    "judge's own noise, and what helps, on your data, your rubric and your judges."
)
OWN = (
    ("data", msg("Bring responses"), ":material/table_rows:"),
    ("rubric", msg("Write a rubric"), ":material/format_list_numbered:"),
    ("judges", msg("Choose judges"), ":material/gavel:"),
    ("study", msg("Choose orders, launch"), ":material/science:"),
)


def first_steps() -> None:
    """The one step to begin with, then the two that ask a real model."""
    with st.container(border=True, key="home-first"):
        st.markdown(tr("**New here?** Four pictures from a recorded run, two minutes."))
        if st.button(
            tr("See what position bias is"), type="primary", key="home-guide", icon=":material/school:", width="stretch"
        ):
            st.switch_page("pages/guide.py")
    with st.container(border=True, key="home-try"):
        st.markdown(
            tr(
                "**Watch it live.** A text of your own, one order after the other, and one order twice: does the "
                "score move, and is it the order?"
            )
        )
        if st.button(tr("Try it"), key="home-trial", icon=":material/bolt:", width="stretch"):
            st.switch_page("pages/trial.py")
    with st.container(border=True, key="home-demo"):
        st.markdown(
            tr(
                "**Run a whole study.** A small real model scores {items} sample answers 20 times each, on "
                "this machine: no key, no server. The first time it fetches 93 MB.",
                items=DEMO_ITEMS,
            )
        )
        if st.button(tr("Run the demo"), key="home-run", icon=":material/play_arrow:", width="stretch"):
            run = ui.manager().start(demo_study())
            st.session_state["run"] = run.info.run
            st.switch_page("pages/runs.py")


def recorded_picture(recorded: RunInfo) -> None:
    """Where the recorded judges pick, and the way to everything else they did."""
    st.subheader(tr("Where two small models pick"), anchor=False, help=ui.about("share"))
    st.caption(
        tr(
            "Recorded with the lab on its sample data. Every score was shown at every position equally "
            "often, so a judge that the order does not move would come to the dotted line, up to chance."
        )
    )
    arms = tuple(a for a in ui.finding(recorded, POSITION).arms if a.arm.strategy == "balanced")
    ui.chart(selection_bars(arms, run_judges=uf.judges_of(recorded)), key="home-position", info=recorded)
    st.page_link(
        "pages/position.py",
        label=tr("Open this run"),
        icon=":material/arrow_forward:",
        query_params={"run": recorded.run},
    )


with ui.page("home", msg("Does your judge read the rubric, or the order it is in?"), LEAD):
    recorded = ui.example_run()
    left, right = st.columns([4, 6], gap="large") if recorded is not None else (st.container(), None)
    with left:
        first_steps()
    if recorded is not None and right is not None:
        with right:
            recorded_picture(recorded)
    st.subheader(tr("With your own"), anchor=False)
    for place, (target, text, icon) in zip(st.columns(len(OWN)), OWN, strict=True):
        place.page_link(f"pages/{target}.py", label=tr(text), icon=icon)
    st.subheader(tr("Latest runs"), anchor=False)
    ui.run_list(limit=6, key="home")
