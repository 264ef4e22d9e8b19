"""On the Study page: how many rated items an interval on agreement with people takes."""

from __future__ import annotations

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.study import Prepared
from rubriclab.findings.agreement_planning import COEFFICIENTS, HALF_WIDTH, AgreementAim
from rubriclab.model import Item, LabError
from rubriclab.model.language import tr
from rubriclab.runs.estimate import agreement_guessed


def agreement_form(prepared: Prepared) -> None:
    """A guess, and what the interval wanted takes; nothing for a study of other things or without ratings."""
    items = prepared.study.dataset.items
    if prepared.study.design.axis != "options" or not any(isinstance(item, Item) and item.human for item in items):
        return
    with st.expander(tr("How many ratings an interval on agreement takes"), icon=":material/handshake:"):
        first, second, third, fourth = st.columns(4)
        coefficient = first.selectbox(
            tr("Agreement of a read with a rating"),
            list(COEFFICIENTS),
            format_func=lambda name: tr(COEFFICIENTS[name]),
            key="study/agreement-of",
        )
        guess = second.number_input(tr("Guessed at"), 0.0, 0.99, 0.5, 0.05, key="study/agreement-guess")
        half_width = third.number_input(tr("Wanted to ±"), 0.01, 0.5, HALF_WIDTH, 0.01, key="study/agreement-width")
        ratings = 2
        if coefficient == "icc":
            about = tr("The judge's among them.")
            ratings = int(
                fourth.number_input(tr("Ratings of an item"), 2, 100, 3, key="study/agreement-ratings", help=about)
            )
        try:
            plans = agreement_guessed(prepared.plan, AgreementAim({coefficient: guess}, half_width, ratings))
        except LabError as fault:
            st.warning(ui.plain(str(fault)), icon=":material/warning:")
            return
        for one in plans:
            st.markdown(f"{ui.plain(one.sentence)}.")
            st.caption(ui.plain("; ".join(one.assumes) + "."))
