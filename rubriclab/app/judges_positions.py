"""Draw which position every judge picks, or what a criterion's place does to its score."""

import streamlit as st

from rubriclab.app.judges_view import Several, View, numbers, show
from rubriclab.figures.judge_pictures import criteria_of_judges, positions_by_dataset
from rubriclab.words.several import reorders_of


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
        numbers(
            several,
            "**Does each judge lean in one direction on all data sets?** · tests of a difference",
            ("direction_difference",),
        )
    if "criteria" in kinds:
        show(several, criteria_of_judges(several.findings, several.dataset), "criteria")


VIEW = View("positions", "Positions", has, draw)
