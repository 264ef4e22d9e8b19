"""A picture in, a chart on a page out, without toolbar, that can be clicked."""

import pickle
from collections.abc import Callable
from typing import Any

import streamlit as st

from rubriclab.app.forms import download
from rubriclab.data.safe_files import csv_text
from rubriclab.exports.table import picture_frame
from rubriclab.figures.marks import DARK, LIGHT, Palette, Picture
from rubriclab.model.text import file_name

CONFIG = {"scrollZoom": False, "doubleClick": False, "showTips": False, "displaylogo": False}
"""No zoom by wheel or finger: over a chart they move the page."""


def palette() -> Palette:
    """The colours of the theme that the visitor sees."""
    return DARK if st.context.theme.type == "dark" else LIGHT


@st.cache_resource(
    show_spinner=False, max_entries=64, hash_funcs={Picture: pickle.dumps, Palette: pickle.dumps}
)
def _figure(picture: Picture, colours: Palette, height: int | None) -> Any:
    """Plotly takes a tenth of a second to check a figure: most of what a redraw of a page takes."""
    from rubriclab.figures.charts import draw

    figure = draw(picture, colours)
    return figure if height is None else figure.update_layout(height=height)


def chart(
    picture: Picture,
    *,
    key: str,
    on_select: Callable[[], None] | None = None,
    height: int | None = None,
    note: str = "",
    data: bool = True,
) -> Any:
    """Draw a picture with its alternative text; returns what Streamlit says was clicked.

    ``on_select`` is called before the page runs again after a click on a point; what was clicked
    then stands in ``st.session_state[key].selection.points``, each with its ``customdata`` (the
    point's ``of``). ``height``: px. ``note``: how it is to be read, below it; ``data``: below it
    stand its numbers as a table, and over it the camera that saves it as a picture.
    """
    figure = _figure(picture, palette(), height)
    options: dict[str, Any] = (
        {"on_select": on_select, "selection_mode": "points"} if on_select else {}
    )
    saved = {
        "format": st.session_state.get(f"{key}-format", "PNG").lower(),
        "filename": file_name(key, ""),
        "scale": 2,
    }
    config = CONFIG | {
        "modeBarButtons": [["toImage"]] if data else [],
        "toImageButtonOptions": saved,
    }
    clicked = st.plotly_chart(
        figure, width="stretch", key=key, alt=picture.alt, config=config, theme=None, **options
    )
    if note:
        st.caption(note)
    if data:
        folded = st.popover(
            "Show as table",
            icon=":material/table:",
            type="tertiary",
            key=f"{key}-data",
            on_change="rerun",
        )
        if folded.open:
            with folded:
                _data(picture, key)
    return clicked


def _data(picture: Picture, key: str) -> None:
    """The numbers of a picture, to read and to take along, and what the camera saves it as."""
    numbers = picture_frame(picture)
    st.dataframe(
        numbers, hide_index=True, width="content", height=min(320, 36 * (len(numbers) + 1) + 4)
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        download("CSV", csv_text(numbers), file_name(key, ".csv"), key=f"{key}-csv")
        st.segmented_control(
            "The camera over the chart saves",
            ["PNG", "SVG"],
            key=f"{key}-format",
            default="PNG",
            required=True,
        )
