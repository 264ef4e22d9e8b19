"""Draw how consistent each judge is on each task, and which way it leans."""

from typing import Any, cast

import streamlit as st

from rubriclab.app.judges_view import Several, View, asks_for_preference, show
from rubriclab.figures.choice_pictures import Sort, by_task, codes_of_judges

SORTS: dict[Sort, str] = {"family": "Family", "number": "Best first", "name": "Name"}


def has(several: Several) -> bool:
    """Return whether judges chose between answers."""
    return bool(codes_of_judges(several.findings, several.dataset))


def draw(several: Several) -> None:
    """Draw the matrix of judge by task."""
    with st.container(horizontal=True):
        fairness = asks_for_preference(several, "tasks")
        sort: Any = st.segmented_control(
            "Order",
            list(SORTS),
            format_func=SORTS.__getitem__,
            default="family",
            required=True,
            key=f"{several.key}-tasks-sort",
        )
    shown = by_task(several.findings, several.dataset, fairness=fairness, sort=cast(Sort, sort))
    show(several, shown, f"tasks-{fairness}-{sort}")


VIEW = View("by-task", "By task", has, draw)
