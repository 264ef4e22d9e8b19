"""Prompt sensitivity on the page of scoring bias: what scores vary with, and each wording's shift."""

from __future__ import annotations

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.style import Chart
from rubriclab.figures.wording import component_forest, share_bars, wording_forest
from rubriclab.findings.wording import WORDINGS, WordingGroup, wording_sentence
from rubriclab.model.language import msg, tr
from rubriclab.store import RunInfo


def sensitivity(info: RunInfo) -> dict[str, Chart]:
    """The part of a run whose prompt has several wordings; nothing of any other run."""
    if "wording" not in ui.findings(info):
        return {}
    groups = ui.finding(info, WORDINGS).groups
    if not groups:
        return {}
    st.subheader(tr("Wordings of the prompt"), anchor=False, help=ui.about("prompt_sensitivity"))
    drawn = {msg("What scores vary with"): share_bars(groups)}
    ui.chart(drawn["What scores vary with"], key="wording-shares", info=info)
    places = list(range(len(groups)))
    at = uf.pick(tr("Judge"), places, key="wording-group", address="wording", name=lambda i: _name(groups[i]))
    group = groups[at]
    uf.answer(wording_sentence(group))
    uf.cautions(group.warnings)
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(tr("**Shares of the variance**"), help=ui.about("variance_component"))
        drawn[msg("Shares of the variance")] = component_forest(group)
        ui.chart(drawn["Shares of the variance"], key=f"wording-components-{at}", info=info)
    with right:
        st.markdown(tr("**Mean score by wording**"), help=ui.about("wording_shift", also=("sesoi",)))
        drawn[msg("Mean score by wording")] = wording_forest(group)
        ui.chart(drawn["Mean score by wording"], key=f"wording-shifts-{at}", info=info)
    return drawn


def _name(group: WordingGroup) -> str:
    return " · ".join(filter(None, (group.judge, group.dataset, group.setting)))
