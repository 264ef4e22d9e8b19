"""Draw whether judges are less consistent where answers are close."""

from collections.abc import Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st

from rubriclab.app.judges_view import Several, View, asks_for_preference, show
from rubriclab.figures.choice_pictures import quality_gap, quality_gap_together
from rubriclab.words.compact import WinLine, win_lines
from rubriclab.words.several import short

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
    lines = win_lines(several.findings, several.dataset)
    if lines:
        _win_rates(lines)


def _win_rates(lines: Sequence[WinLine]) -> None:
    """Draw a line for each model: its mean win rate, its gap to even, and that of each judge."""
    st.markdown("**Win rate of each model** · ties and flips count as half")
    table = pd.DataFrame(
        [
            {
                "Model": line.candidate,
                "Mean over judges": 100 * line.mean,
                "Gap to even, points": 100 * line.gap,
            }
            | {short(judge, 24): 100 * rate for judge, rate in line.by_judge.items()}
            for line in lines
        ]
    )
    config: dict[str, Any] = {
        name: st.column_config.NumberColumn(format="%.0f%%") for name in table.columns[1:]
    }
    config["Gap to even, points"] = st.column_config.NumberColumn(format="%+.0f")
    config["Model"] = st.column_config.TextColumn(pinned=True)
    st.dataframe(table, hide_index=True, width="stretch", column_config=config)


VIEW = View("quality-gap", "Quality gap", has, draw)
