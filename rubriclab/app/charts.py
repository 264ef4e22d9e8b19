"""Charts on a page: a picture in, a chart without toolbar that can be clicked out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from rubriclab.sinks.marks import DARK, LIGHT, Palette, Picture

CONFIG = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False, "showTips": False}
"""No toolbar, no zoom by wheel or finger: over a chart they move the page."""


def palette() -> Palette:
    """The colours of the theme that the visitor sees."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def chart(picture: Picture, *, key: str, on_select: Callable[[], None] | None = None, height: int | None = None) -> Any:
    """Draw a picture with its alternative text; returns what Streamlit says was clicked.

    ``on_select`` is called before the page runs again after a click on a point; what was clicked then stands in
    ``st.session_state[key].selection.points``, each with its ``customdata`` (the point's ``of``). ``height``: px.
    """
    from rubriclab.sinks.charts import draw

    figure = draw(picture, palette())
    if height is not None:
        figure.update_layout(height=height)
    options: dict[str, Any] = {"on_select": on_select, "selection_mode": "points"} if on_select else {}
    return st.plotly_chart(figure, width="stretch", key=key, alt=picture.alt, config=CONFIG, theme=None, **options)
