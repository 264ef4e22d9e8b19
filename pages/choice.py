"""Causes and cures: position, label and neighbour apart; what one corrected call is worth."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import choice as views
from rubriclab.app.views import common as uf
from rubriclab.findings.choice import CHOICE_OF_ARM, Source
from rubriclab.model.language import msg, tr
from rubriclab.store import RunInfo

LEAD = msg(
    "What pulls the judge: the place, the label beside it, or the score read just before? And what takes it out?"
)
# What an answer counts as, by its name: what the model is fitted to, and what is corrected.
COUNTED: dict[str, tuple[Source, str]] = {
    msg("The score named"): ("choices", "counts"),
    msg("Token probabilities"): ("probabilities", "probabilities"),
}
ONE_ORDER = ("fixed", "descending")


@st.fragment  # a choice redraws what it is about, not the frame of the page
def body(info: RunInfo) -> None:
    """One judge and strategy: what moves its choices, and the one-call cure."""
    views_offered = list(COUNTED) if uf.has_probabilities(info) else list(COUNTED)[:1]
    outcome = uf.toggle(
        tr("An answer counts as"),
        views_offered,
        key=f"choice-outcome-{info.run}",
        address="answer",
        about=ui.about("counts_as"),
    )
    fit, source = COUNTED[outcome]
    arms = uf.arms_of(info)
    codes = sorted(uf.used_arms(info), key=lambda c: (arms[c].strategy in ONE_ORDER, c))
    names = uf.arm_names({code: arms[code] for code in codes})
    code = uf.pick(tr("Judge and strategy"), codes, key=f"choice-arm-{info.run}", address="arm", name=names.__getitem__)
    model = ui.finding(info, CHOICE_OF_ARM, code=code, source=fit)
    views.headline(model)
    uf.cautions(model.warnings)
    drawn = views.odds(info, model)
    more, table = views.correction(info, model, source)
    ui.export_row(drawn | more, {msg("Debiasing"): table}, info=info, key="choice")


with ui.page("choice", msg("Causes and cures"), LEAD):
    info = ui.choose_run(axes=("options",), key="choice")
    if info is None:
        ui.empty_state(
            tr("Nothing to explain yet"),
            tr("Run a study of score options under balanced, random or Williams orders."),
            target="study",
            action=tr("Set up a study"),
        )
        st.stop()
    body(info)
