"""Draw whether judges are less consistent where answers are close."""

from typing import Literal

import streamlit as st

from rubriclab.app.judges_view import Several, View, numbers, show
from rubriclab.figures.choice_pictures import quality_gap

SHOWN = ("Consistency", "Preference for a position")


def has(several: Several) -> bool:
    """Return whether there are cells with a win rate."""
    return bool(several.findings.select("cell_win_rate"))


def draw(several: Several) -> None:
    """Draw a panel for each judge."""
    what = st.segmented_control(
        "Show", SHOWN, default=SHOWN[0], required=True, key=f"{several.key}-gap-show"
    )
    outcome: Literal["PC", "PF"] = "PC" if what == SHOWN[0] else "PF"
    shown = quality_gap(several.findings, several.dataset, outcome)
    show(several, shown, f"gap-{outcome}")
    numbers(several, "**Win rate of each model** · ties and flips count as half", ("win_rate",))


VIEW = View("quality-gap", "Quality gap", has, draw)
