"""Criterion order: does the place of a criterion in the prompt move its score?"""

import math

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views import criteria as views
from rubriclab.figures.alignment import difference_forest
from rubriclab.figures.criteria import carryover_forest, place_forest
from rubriclab.figures.style import Chart
from rubriclab.findings.criteria import CRITERIA
from rubriclab.findings.criteria_order import pull_sentence
from rubriclab.model.language import msg, tr

LEAD = msg("One call scores all criteria. Does it matter which one comes first?")


with ui.page("criteria", msg("Criterion order"), LEAD):
    info = ui.choose_run(axes=("criteria",), key="criteria")
    if info is None:
        ui.empty_state(
            tr("No study of criterion order yet"),
            tr(
                "Choose “Criteria” as what changes places, a rubric with several criteria, and balanced or "
                "Williams orders."
            ),
            target="study",
            action=tr("Set up a study"),
        )
        st.stop()
    found = ui.finding(info, CRITERIA)
    if not found.arms:
        uf.cautions(found.warnings)
        st.stop()
    tested_first = sorted(found.arms, key=lambda arm: (not arm.tested, arm.code))
    arm = uf.pick_arm(tr("Judge and strategy"), tested_first, key=f"criteria-arm-{info.run}", address="arm")
    with uf.steady():
        views.headline(arm)
    uf.cautions(arm.warnings, found.warnings)
    drawn: dict[str, Chart] = {}
    if arm.tested:
        others = [a for a in tested_first if a.code != arm.code and a.tested and len(a.criteria) == len(arm.criteria)]
        st.subheader(tr("Read first instead of last"), anchor=False, help=ui.about("first_less_last"))
        st.caption(
            tr("Points that a criterion gains; all intervals hold at once, the shaded band is too small to matter.")
        )
        drawn[msg("First less last place")] = place_forest(arm, run_judges=uf.judges_of(info))
        ui.chart(drawn["First less last place"], key=f"criteria-places-{arm.code}", info=info)
        drawn[msg("Criterion by position")] = views.heatmaps(info, arm, others)
        with st.expander(tr("All numbers, and the test of places (Friedman)")):
            uf.table(
                views.effects(arm),
                key="criteria-effects",
                forms={
                    "%.2g": ["p", "p (Holm)"],
                    "%+.2f": ["first less last", "low", "high"],
                    "%.2f": ["mean score", "Δ position", "Friedman", "r with humans"],
                },
            )
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(tr("The criterion read just before"), anchor=False, help=ui.about("carryover"))
        if arm.carryover_separable and any(math.isfinite(row.effect) for row in arm.carryover):
            st.caption(tr("Points that reading it adds to the next score, against the average neighbour."))
            drawn[msg("Carryover")] = carryover_forest(arm, run_judges=uf.judges_of(info))
            ui.chart(drawn["Carryover"], key="criteria-carryover", info=info)
        else:
            st.caption(
                tr(
                    "These orders cannot show it: neighbours and positions always go together. Orders in which each "
                    "follows each (a Williams design) separate them."
                )
            )
        st.markdown(
            tr("**The score just given.** {pull}", pull=ui.plain(pull_sentence(arm.pull))), help=ui.about("score_pull")
        )
    with right:
        st.subheader(tr("Agreement with humans"), anchor=False, help=ui.about("macro"))
        if found.comparisons:
            st.caption(tr("Right of the line the first-named strategy agrees better, mean over criteria."))
            drawn[msg("Differences")] = difference_forest(found.comparisons)
            ui.chart(drawn["Differences"], key="criteria-differences")
        else:
            st.caption(tr("Human ratings and two strategies are needed to compare them."))
    if not views.agreement(found).empty:
        with st.expander(tr("Agreement of every judge and strategy")):
            uf.table(
                views.agreement(found),
                key="criteria-agreement",
                forms={"%.3f": ["macro r", "low", "high", "macro rho"]},
            )
    ui.export_row(
        drawn,
        {msg("Criteria"): views.effects(arm), msg("Agreement"): views.agreement(found)},
        info=info,
        key="criteria",
    )
