"""View of the alternative annotator test: may the judge replace a rater, and what of it hangs on the order."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.replacement import advantage_dots, annotator_dots
from rubriclab.figures.style import Chart
from rubriclab.findings.replacement import REPLACEMENT, replacement_sentence
from rubriclab.findings.replacement_arms import ReplacementArm, Version
from rubriclab.model import EPSILON
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, number
from rubriclab.store import RunInfo

RATERS = {
    0.2: msg("experts (0.2)"),
    0.15: msg("skilled annotators (0.15)"),
    0.1: msg("crowd workers (0.1)"),
    0.0: msg("no allowance (0)"),
}
"""What the judge's being cheaper is worth, by who the raters are."""


def section(info: RunInfo) -> tuple[dict[str, Chart], dict[str, pd.DataFrame]]:
    """The test of one arm; the charts and tables to carry off."""
    st.header(tr("May the judge replace a rater?"), anchor=False, help=ui.about("alt_test"))
    epsilon = ui.choose(
        tr("The raters are"),
        list(RATERS),
        key="replacement-epsilon",
        address="epsilon",
        default=EPSILON,
        name=lambda value: tr(RATERS[value]),
        code=lambda value: f"{value:g}",
        about=ui.about("epsilon"),
        segments=True,
    )
    found = ui.finding(info, REPLACEMENT, epsilon=epsilon)
    uf.cautions(found.warnings)
    if not found.arms:
        return {}, {}
    arm = uf.pick_arm(
        tr("Judge and strategy for the test"), found.arms, key=f"replacement-arm-{info.run}", address="replaced"
    )
    uf.answer(replacement_sentence(arm))
    _numbers(arm)
    uf.cautions(arm.warnings)
    drawn = _charts(info, arm)
    tables = {msg("Alternative annotator test"): frame(arm)}
    with st.expander(tr("All numbers of the test")):
        shown = tables["Alternative annotator test"]
        uf.table(shown, key="replacement-table", forms={"%.3f": FRACTIONS}, said=["used as"])
    return drawn, tables


def _numbers(arm: ReplacementArm) -> None:
    cells = [
        (name, number(one.advantage, ".2f"), f"{_passes(one)} {interval(one.advantage_ci, '.2f')}", about)
        for name, one, about in (
            (tr("One read"), arm.single, ui.about("advantage_probability", also=("winning_rate",))),
            (tr("Mean over reads"), arm.averaged, ui.about("advantage_probability")),
            (tr("One corrected call"), arm.corrected, ui.about("debiased")),
            (tr("Order ignored"), arm.control, ui.about("debiased")),
        )
        if one is not None
    ]
    uf.metrics(*cells)


def _passes(one: Version) -> str:
    if one.passes is None:
        return tr("no verdict:")
    return tr("passes:") if one.passes else tr("fails:")


def _charts(info: RunInfo, arm: ReplacementArm) -> dict[str, Chart]:
    if not arm.single.tested:
        return {}
    drawn = {msg("Annotators"): annotator_dots(arm), msg("Advantage"): advantage_dots(arm)}
    left, right = st.columns(2, gap="large")
    with left:
        st.subheader(tr("Against each annotator"), anchor=False, help=ui.about("winning_rate"))
        st.caption(
            tr(
                "Left of the line the annotator is nearer by less than the judge's lower price makes up for; filled: beaten."
            )
        )
        ui.chart(drawn["Annotators"], key="replacement-annotators", info=info)
    with right:
        st.subheader(tr("What hangs on the order"), anchor=False, help=ui.about("advantage_probability"))
        st.caption(tr("How often the judge is at least as near to the others as an annotator; filled: it passes."))
        ui.chart(drawn["Advantage"], key="replacement-orders", info=info)
    return drawn


FRACTIONS = ["judge at least as near", "annotator at least as near", "p", "p corrected", "p as in the paper"]


def frame(arm: ReplacementArm) -> pd.DataFrame:
    """Every annotator in every way to use the judge, a row each."""
    used = (arm.single, arm.averaged, arm.corrected, arm.control, arm.constant)
    ways: list[Version] = [one for one in used if one is not None]
    return pd.DataFrame(
        [
            {
                msg("used as"): one.name,
                msg("annotator"): each.name,
                msg("items"): each.n_items,
                msg("judge at least as near"): each.judge,
                msg("annotator at least as near"): each.human,
                "p": each.p,
                msg("p corrected"): each.p_by,
                msg("beaten"): each.beaten,
                msg("p as in the paper"): each.p_paper,
            }
            for one in [*ways, *arm.orders]
            for each in one.annotators
        ]
    )
