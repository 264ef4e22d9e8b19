"""Draw whether judges are less consistent where answers are close."""

from typing import Literal

import streamlit as st

from rubriclab.app.judges_view import Several, View, asks_for_preference, numbers, show
from rubriclab.figures.choice_pictures import quality_gap, quality_gap_together

PANELS = ("Each judge", "All judges together")


def has(several: Several) -> bool:
    """Return whether there are cells with a win rate."""
    return bool(several.findings.select("cell_win_rate"))


def draw(several: Several) -> None:
    """Draw a panel for each judge, or one of all judges together."""
    outcome: Literal["PC", "PF"] = "PF" if asks_for_preference(several, "gap") else "PC"
    panels = PANELS[0]
    if several.findings.select("parabola_of_all"):
        panels = st.segmented_control(
            "Panels", PANELS, default=PANELS[0], required=True, key=f"{several.key}-gap-panels"
        )
    together = panels == PANELS[1]
    drawn = quality_gap_together if together else quality_gap
    shown = drawn(several.findings, several.dataset, outcome)
    show(several, shown, f"gap-{outcome}{'-together' if together else ''}")
    numbers(several, "**Win rate of each model** · ties and flips count as half", ("win_rate",))


VIEW = View("quality-gap", "Quality gap", has, draw)
