"""Charts on a page: a figure and its sentence in, a chart without toolbar that can be clicked out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

CONFIG = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False, "showTips": False}
"""No toolbar, no zoom by wheel or finger: over a chart they move the page."""


def dark() -> bool:
    """Whether the visitor sees the dark theme."""
    return st.context.theme.type == "dark"


def chart(figure: Any, alt: str, *, key: str, on_select: Callable[[], None] | None = None) -> Any:
    """Draw ``figure`` with ``alt`` as its alternative text; returns what Streamlit says was clicked.

    ``on_select`` is called before the page runs again after a click on a point; what was clicked stands in
    ``st.session_state[key].selection.points``.
    """
    options: dict[str, Any] = {"on_select": on_select, "selection_mode": "points"} if on_select else {}
    return st.plotly_chart(figure, width="stretch", key=key, alt=alt, config=CONFIG, theme=None, **options)
