"""Home: what the lab is, the demo, the latest runs."""

import streamlit as st

from rubriclab import ui
from rubriclab.figures.position import selection_bars
from rubriclab.findings.position import position
from rubriclab.ingest.sample import DEMO_ITEMS, demo_study

LEAD = (
    "Ask an LLM for a score from 1 to 5, then list the same five descriptions in another order: "
    "the score often changes. **rubriclab** measures by how much, in which direction, and what "
    "takes it out, on your data, your rubric and your judges."
)

with ui.page("home", "Does your judge read the rubric, or the order it is in?", LEAD):
    left, right = st.columns([5, 6], gap="large")
    with left:
        st.subheader("Try it in a minute", anchor=False)
        st.markdown(
            f"The demo asks a small real model to score {DEMO_ITEMS} sample answers 20 times each: "
            "10 in different orders, 10 in one order to compare with. It runs on this machine. No key, no server, no GPU. The first time it "
            "fetches the model's weights (93 MB)."
        )
        if st.button("Run the demo", type="primary", icon=":material/play_arrow:"):
            run = ui.manager().start(demo_study())
            st.session_state["run"] = run.info.run
            st.switch_page("pages/runs.py")
        st.markdown("**Then with your own:**")
        for target, text in (
            ("data", "Bring responses to judge"),
            ("rubric", "Choose or write a rubric"),
            ("judges", "Choose judges: here, vLLM, any API"),
            ("study", "Choose orderings, see the cost, launch"),
        ):
            st.page_link(f"pages/{target}.py", label=text, icon=":material/arrow_forward:")
    with right:
        recorded = ui.example_run()
        if recorded is not None:
            st.subheader("Where two small models pick", anchor=False)
            st.caption(
                "Recorded with the lab on its sample data. Every score was shown at every "
                "position equally often, so without a position bias all bars would touch the "
                "dotted line."
            )
            found = ui.finding(recorded, position)
            arms = tuple(a for a in found.arms if a.arm.strategy == "balanced")
            ui.chart(selection_bars(arms), key="home-position")
            if st.button("Open this run", icon=":material/grid_on:"):
                st.session_state["run"] = recorded.run
                st.switch_page("pages/results.py")

    st.subheader("Latest runs", anchor=False)
    ui.run_list(limit=6, key="home")
