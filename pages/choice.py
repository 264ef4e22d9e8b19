"""Causes and cures: position, label and neighbour apart; what one corrected call is worth."""

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import choice as views
from rubriclab.app.views import common as uf
from rubriclab.findings.choice import CHOICE_OF_ARM, Source
from rubriclab.store import RunInfo

LEAD = "What pulls the judge: the place, the label beside it, or the score read just before? And what takes it out?"
ONE_ORDER = ("fixed", "descending")


@st.fragment  # a choice redraws what it is about, not the frame of the page
def body(info: RunInfo) -> None:
    """One judge and strategy: what moves its choices, and the one-call cure."""
    by_name: dict[str, tuple[Source, str]] = {
        "The score named": ("choices", "counts"),
        "Token probabilities": ("probabilities", "probabilities"),
    }
    views_offered = list(by_name) if uf.has_probabilities(info) else ["The score named"]
    outcome = uf.toggle(
        "An answer counts as",
        views_offered,
        key=f"choice-outcome-{info.run}",
        address="answer",
        about=ui.about("counts_as"),
    )
    fit, source = by_name[outcome]
    arms = uf.arms_of(info)
    codes = sorted(uf.used_arms(info), key=lambda c: (arms[c].strategy in ONE_ORDER, c))
    names = uf.arm_names({code: arms[code] for code in codes})
    code = uf.pick("Judge and strategy", codes, key=f"choice-arm-{info.run}", address="arm", name=names.__getitem__)
    model = ui.finding(info, CHOICE_OF_ARM, code=code, source=fit)
    views.headline(model)
    uf.cautions(model.warnings)
    drawn = views.odds(info, model)
    more, table = views.correction(info, model, source)
    ui.export_row(drawn | more, {"Debiasing": table}, info=info, key="choice")


with ui.page("choice", "Causes and cures", LEAD):
    info = ui.choose_run(axes=("options",), key="choice")
    if info is None:
        ui.empty_state(
            "Nothing to explain yet",
            "Run a study of score options under balanced, random or Williams orders.",
            target="study",
            action="Set up a study",
        )
        st.stop()
    body(info)
