"""The estimands of the lab, side by side and one by one."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.model.language import msg, tr
from rubriclab.report.definitions import term
from rubriclab.report.estimands import ESTIMANDS

PARTS = {
    "randomised": msg("Randomised, and so causal"),
    "assumes": msg("Assumes besides"),
    "interval": msg("Interval"),
    "cannot": msg("Does not say"),
}


def verdicts() -> None:
    """How an interval becomes one of three answers."""
    st.subheader(tr("From an interval to an answer"), anchor=False)
    for key in ("advice", "sesoi", "same_order", "unit"):
        shown = term(key)
        with st.expander(ui.plain(tr(shown.name)), expanded=key == "advice"):
            st.markdown(ui.plain(tr(shown.definition)))
            st.caption(tr("Source: {source}", source=ui.plain(tr(shown.source))))


def table() -> None:
    """Every question with its estimand and unit."""
    st.subheader(tr("What each number is a number of"), anchor=False)
    rows = [(tr(e.name), tr(e.estimand), tr(e.unit)) for e in ESTIMANDS]
    st.table(pd.DataFrame(rows, columns=[tr("Question"), tr("Estimand"), tr("Unit")]).set_index(tr("Question")))


def entries() -> None:
    """Each in full."""
    st.subheader(tr("Causes, assumptions, limits"), anchor=False)
    for shown in ESTIMANDS:
        with st.expander(ui.plain(tr(shown.name)), icon=":material/rule:"):
            for name, title in PARTS.items():
                st.markdown(f"**{tr(title)}.** {ui.plain(tr(getattr(shown, name)))}")
            st.caption(tr("Reference: {reference}", reference=ui.plain(tr(shown.reference))))
            st.page_link(
                f"pages/{shown.page}.py", label=tr("The page with these numbers"), icon=":material/arrow_forward:"
            )
