"""View of corrected means: a system's mean and pass rate from many judged and few rated items."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.corrected_means import buying_curves, mean_forest, order_dots, rate_forest
from rubriclab.figures.style import Chart
from rubriclab.findings.corrected_means import CORRECTED_MEANS
from rubriclab.findings.corrected_means_results import CorrectedArm
from rubriclab.findings.corrected_means_words import buying_sentence, corrected_sentence
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import number
from rubriclab.store import RunInfo


def section(info: RunInfo) -> tuple[dict[str, Chart], dict[str, pd.DataFrame]]:
    """The means of one arm; the charts and tables to carry off."""
    found = ui.finding(info, CORRECTED_MEANS)
    st.header(tr("Corrected means"), anchor=False, help=ui.about("ppi"))
    uf.cautions(found.warnings)
    if not found.arms:
        return {}, {}
    arm = uf.pick_arm(tr("Judge and strategy for the means"), found.arms, key=f"means-arm-{info.run}", address="means")
    whole = arm.systems[0]
    uf.answer(corrected_sentence(arm, whole))
    uf.cautions(arm.warnings)
    drawn = _means(info, arm) | _rates_and_ratings(info, arm)
    tables = {msg("Corrected means"): frame(arm)}
    with st.expander(tr("All numbers of the means")):
        uf.table(tables["Corrected means"], key="means-table", forms={"%.3f": POINTS}, said=["of"])
    return drawn, tables


def _means(info: RunInfo, arm: CorrectedArm) -> dict[str, Chart]:
    whole = arm.systems[0]
    drawn = {msg("Means"): mean_forest(arm)}
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(tr("Plain, rated and corrected"), anchor=False, help=ui.about("ppi", also=("ppi_weight",)))
        ui.chart(drawn["Means"], key="means-forest", info=info)
    with right:
        st.subheader(tr("In each order"), anchor=False, help=ui.about("ppi"))
        if len(whole.orders) > 1:
            drawn[msg("Means in each order")] = order_dots(arm, whole)
            ui.chart(drawn["Means in each order"], key="means-orders", info=info)
        else:
            st.caption(tr("Choose a strategy that shows every item in the same several orders."))
    return drawn


def _rates_and_ratings(info: RunInfo, arm: CorrectedArm) -> dict[str, Chart]:
    whole = arm.systems[0]
    if whole.rate is None:
        return {}
    drawn = {msg("Pass rates"): rate_forest(_at_cut(info, arm))}
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(tr("Pass rates"), anchor=False, help=ui.about("rogan_gladen"))
        ui.chart(drawn["Pass rates"], key="means-rates", info=info)
    with right:
        st.subheader(tr("What ratings buy"), anchor=False, help=ui.about("ratings_worth"))
        if whole.buying is None:
            st.caption(tr("Where all ratings, or all scores, are alike, it cannot be said."))
        else:
            st.caption(ui.plain(buying_sentence(whole.buying)))
            drawn[msg("What ratings buy")] = buying_curves(whole.buying)
            ui.chart(drawn["What ratings buy"], key="means-buying")
    return drawn


def _at_cut(info: RunInfo, arm: CorrectedArm) -> CorrectedArm:
    """The arm with its pass rates at the cut that is chosen here."""
    cuts = [float(score) for score in arm.arm.scores[1:]]
    if len(cuts) < 2:
        return arm
    cut = _cut(cuts, arm.systems[0].rate.cut if arm.systems[0].rate else cuts[0])
    return next(one for one in ui.finding(info, CORRECTED_MEANS, cut=cut).arms if one.code == arm.code)


def _cut(cuts: list[float], default: float) -> float:
    """The lowest score that passes."""
    nearest = min(cuts, key=lambda cut: abs(cut - default))
    return ui.choose(
        tr("Passes from a score of"),
        cuts,
        key="means-cut",
        address="cut",
        default=nearest,
        name=lambda cut: number(cut, "g"),
        code=lambda cut: f"{cut:g}",
        segments=True,
    )


POINTS = [
    f"{name}{end}" for name in ("judge's mean", "ratings alone", "corrected", "error") for end in ("", " low", " high")
]


def frame(arm: CorrectedArm) -> pd.DataFrame:
    """A row a system."""
    return pd.DataFrame(
        [
            {
                msg("of"): one.of,
                msg("items"): one.n_items,
                msg("rated"): one.n_rated,
                **uf.with_ends(msg("judge's mean"), one.plain, one.plain_ci),
                **uf.with_ends(msg("ratings alone"), one.rated, one.rated_ci),
                **uf.with_ends(msg("corrected"), one.corrected, one.corrected_ci),
                **uf.with_ends(msg("error"), one.bias, one.bias_ci),
                msg("weight of the judge"): one.weight,
            }
            for one in arm.systems
        ]
    )
