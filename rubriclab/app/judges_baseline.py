"""Draw every judge's difference from a baseline judge, task by task."""

import streamlit as st

from rubriclab.app.judges_view import Several, View, asks_for_preference, show
from rubriclab.figures.choice_pictures import against_baseline


def has(several: Several) -> bool:
    """Return whether judges were compared with a baseline."""
    return bool(several.findings.select("pc_difference"))


def draw(several: Several) -> None:
    """Draw the matrix of judge by task."""
    fairness = asks_for_preference(several, "baseline")
    shown = against_baseline(several.findings, several.dataset, fairness=fairness)
    show(several, shown, f"baseline-{fairness}")
    if several.in_results:
        st.caption("Choose another baseline judge under Options.")


VIEW = View("baseline", "Baseline", has, draw)
