"""Several a call: what does scoring responses together do to their scores?"""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import batch as views
from rubriclab.app.views import common as uf
from rubriclab.figures.batch import effect_forest, place_dots
from rubriclab.figures.style import Chart
from rubriclab.findings.batch import BATCH
from rubriclab.model.language import msg, tr

LEAD = msg("One call scores several responses. Does it matter where one stands, after which, and that it is not alone?")


with ui.page("batch", msg("Several a call"), LEAD):
    info = ui.choose_run(axes=("batch",), key="batch")
    if info is None:
        ui.empty_state(
            tr("No study of batches yet"),
            tr(
                "Choose “Several responses a call” as what changes places: items are dealt into batches, turned "
                "by Williams designs, and asked alone besides."
            ),
            target="study",
            action=tr("Set up a study"),
        )
        st.stop()
    found = ui.finding(info, BATCH)
    if not found.arms:
        uf.cautions(found.warnings)
        st.stop()
    varied_first = sorted(found.arms, key=lambda arm: (not arm.varied, arm.code))
    arm = uf.pick_arm(tr("Judge and strategy"), varied_first, key=f"batch-arm-{info.run}", address="arm")
    with uf.steady():
        views.headline(arm)
        views.numbers(arm)
    uf.cautions(arm.warnings, found.warnings)
    drawn: dict[str, Chart] = {}
    if arm.varied:
        left, right = st.columns(2, gap="large")
        with left:
            st.subheader(tr("Place in the batch"), anchor=False, help=ui.about("batch_place"))
            st.caption(tr("All intervals hold at once; the shaded band is too small to matter."))
            drawn[msg("Place")] = place_dots(arm, run_judges=uf.judges_of(info))
            ui.chart(drawn["Place"], key=f"batch-places-{arm.code}", info=info)
        with right:
            st.subheader(tr("What a batch does"), anchor=False, help=ui.about("batch_contrast"))
            st.caption(tr("Drift, the response just before, and company as such."))
            drawn[msg("Effects")] = effect_forest(arm, run_judges=uf.judges_of(info))
            ui.chart(drawn["Effects"], key=f"batch-effects-{arm.code}", info=info)
        drawn[msg("After which response")] = views.neighbours(info, arm)
    else:
        st.caption(
            tr("Only one order of each batch was asked here: choose another strategy for places and neighbours.")
        )
    saved = views.savings(arm)
    if said := views.correlations(arm):
        st.caption(ui.plain(said), help=ui.about("batch_r"))
    with st.expander(tr("All numbers")):
        uf.table(
            views.effects(arm), key="batch-all", forms={"%+.3f": ["estimate", "low", "high"], "%.3f": ["confidence"]}
        )
    ui.export_row(drawn, {"Effects": views.effects(arm), msg("Savings"): saved}, info=info, key="batch")
