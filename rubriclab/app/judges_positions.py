"""Draw which position every judge picks, or what a criterion's place does to its score."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from rubriclab.app.frame import safe
from rubriclab.app.judges_view import Several, View, show
from rubriclab.figures.judge_pictures import criteria_of_judges, positions_by_dataset
from rubriclab.words.compact import DirectionLine, direction_lines, direction_sentence
from rubriclab.words.several import reorders_of, short


def has(several: Several) -> bool:
    """Return whether the calls of the run reorder score options or criteria."""
    return bool({"options", "criteria"} & set(reorders_of(several.findings)))


def draw(several: Several) -> None:
    """Draw a panel for each judge."""
    kinds = reorders_of(several.findings)
    if "options" in kinds:
        panel = "judge"
        if len(several.judges) > 1 and len(several.datasets) > 1:
            names = {"judge": "Judge", "dataset": "Data set"}
            chosen = st.segmented_control(
                "One panel for each",
                list(names),
                format_func=names.__getitem__,
                default="judge",
                required=True,
                key=f"{several.key}-panel",
            )
            panel = str(chosen)
        elif len(several.judges) > 1:
            panel = "dataset" if len(several.judges) <= 6 else "judge"
        show(several, positions_by_dataset(several.findings, panel=panel), f"positions-{panel}")
        lines = direction_lines(several.findings)
        if lines:
            _directions(lines)
    if "criteria" in kinds:
        show(several, criteria_of_judges(several.findings, several.dataset), "criteria")


def _directions(lines: Sequence[DirectionLine]) -> None:
    """Draw a line for each judge: its most favoured position, and how far data sets are apart."""
    st.markdown("**Does each judge lean in one direction on all data sets?**")
    st.markdown(safe(direction_sentence(lines)))
    table = pd.DataFrame(
        [
            {
                "Judge": line.judge,
                "Furthest above even": ", ".join(
                    f"{short(dataset, 20)}: {position}"
                    for dataset, position in line.furthest.items()
                ),
            }
            | line.apart
            for line in lines
        ]
    )
    st.dataframe(table, hide_index=True, width="stretch")
    st.caption(
        "Second column: the position chosen furthest above even on each data set. The others: how "
        "far apart the leans on two data sets are without noise, on the scale of V, and p of “they "
        "are the same” by Holm over the judge's pairs of data sets."
    )


VIEW = View("positions", "Positions", has, draw)
