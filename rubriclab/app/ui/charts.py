"""Charts with their alt text, and the way down from a point to its judgments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import streamlit as st

from rubriclab.app.ui.frame import plain
from rubriclab.figures.style import Behind, Chart, still
from rubriclab.model.language import tr
from rubriclab.store import RunInfo

CONFIG = {
    "displaylogo": False,
    "scrollZoom": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "sendChartToCloud"],
}
"""A wheel or a finger over a chart moves the page, zooming is a button's business; and no button
sends anybody's data to a cloud."""


def chart(shown: Chart, *, key: str, info: RunInfo | None = None, select: bool | Callable[[], None] = False) -> Any:
    """A chart with its alt text; with ``select`` the points the user clicked come back.

    A ``select`` to call is called before the page runs again, the points under ``key`` in the
    session.

    With ``info`` (the run it shows) the points that have judgments behind them can be clicked,
    which offers the way to those judgments below the chart.
    """
    if info is not None and shown.behind:
        return _with_way_down(shown, key, info.run)
    return _drawn(shown, key, select)


def _drawn(shown: Chart, key: str, select: bool | Callable[[], None]) -> Any:
    options: dict[str, Any] = {}
    if select:
        told = select if callable(select) else "rerun"
        options = {"on_select": told, "selection_mode": "points"}
    return st.plotly_chart(
        still(shown.figure) if select else shown.figure,
        width="stretch",
        key=key,
        alt=shown.alt,
        config=CONFIG,
        **options,
    )


@st.fragment  # a click redraws the chart and its link, not the page
def _with_way_down(shown: Chart, key: str, run: str) -> Any:
    event = _drawn(shown, key, select=True)
    clicked = [behind_point(shown, point) for point in event.selection.points]
    for number, behind in enumerate(one for one in clicked if one is not None):
        st.caption(plain(behind.name))  # a link of its own width would be cut
        st.page_link(
            "pages/judgments.py",
            label=tr("Judgments behind this"),
            icon=":material/arrow_forward:",
            query_params=judgments_address(behind, run),
        )
        if number == 4:
            break
    return event


def behind_point(shown: Chart, point: Mapping[str, Any]) -> Behind | None:
    """What a clicked point of a chart was made of; None for a point without judgments."""
    rows = shown.behind.get(int(point.get("curve_number", -1)), ())
    index = int(point.get("point_index", point.get("point_number", -1)))
    return rows[index] if 0 <= index < len(rows) else None


def judgments_address(behind: Behind, run: str) -> dict[str, str]:
    """The part of the Judgments page's address that shows these judgments."""
    parts = {"run": run, **{name: value for name, value in asdict(behind).items() if name != "name"}}
    parts["run"] = behind.run or run
    return {name: str(value) for name, value in parts.items() if value is not None}
