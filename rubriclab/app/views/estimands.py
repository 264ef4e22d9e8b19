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
    "interval": "Interval",
    "cannot": msg("Does not say"),
}


def verdicts() -> None:
    """How an interval becomes one of three answers."""
    st.subheader(tr("From an interval to an answer"), anchor=False)
    for key in ("advice", "sesoi", "same_order", "unit"):
        shown = term(key)
        with st.expander(ui.plain(shown.name), expanded=key == "advice"):
            st.markdown(ui.plain(shown.definition))
            st.caption(f"Source: {ui.plain(shown.source)}")


def table() -> None:
    """Every question with its estimand and unit."""
    st.subheader(tr("What each number is a number of"), anchor=False)
    rows = [(e.name, e.estimand, e.unit) for e in ESTIMANDS]
    st.table(pd.DataFrame(rows, columns=["Question", "Estimand", "Unit"]).set_index("Question"))


def entries() -> None:
    """Each in full."""
    st.subheader(tr("Causes, assumptions, limits"), anchor=False)
    for shown in ESTIMANDS:
        with st.expander(ui.plain(shown.name), icon=":material/rule:"):
            for name, title in PARTS.items():
                st.markdown(f"**{title}.** {ui.plain(getattr(shown, name))}")
            st.caption(f"Reference: {ui.plain(shown.reference)}")
            st.page_link(
                f"pages/{shown.page}.py", label=tr("The page with these numbers"), icon=":material/arrow_forward:"
            )
