"""Draw a picture as a chart that can be clicked, saved, and read as a table."""

import pickle
from collections.abc import Callable
from typing import Any

import streamlit as st

from rubriclab.app.forms import download
from rubriclab.data.safe_files import csv_text
from rubriclab.exports.table import latex_table, picture_frame
from rubriclab.figures.marks import DARK, LIGHT, Palette, Picture
from rubriclab.model.text import file_name

CONFIG = {"scrollZoom": False, "doubleClick": False, "showTips": False, "displaylogo": False}
"""No zoom by wheel or finger: over a chart, these move the page."""


def palette() -> Palette:
    """Return the colours of the theme that the visitor sees."""
    return DARK if st.context.theme.type == "dark" else LIGHT


@st.cache_resource(
    show_spinner=False, max_entries=64, hash_funcs={Picture: pickle.dumps, Palette: pickle.dumps}
)
def _figure(picture: Picture, colours: Palette, height: int | None, narrow: bool) -> Any:
    """Return a figure, cached: Plotly takes a tenth of a second to check one.

    Without the cache, that is most of the time that a page takes to be drawn again.
    """
    from rubriclab.figures.charts import draw

    figure = draw(picture, colours, narrow=narrow)
    return figure if height is None else figure.update_layout(height=height)


def chart(
    picture: Picture,
    *,
    key: str,
    on_select: Callable[[], None] | None = None,
    height: int | None = None,
    note: str = "",
    data: bool = True,
    narrow: bool = False,
) -> Any:
    """Draw a picture with its alternative text; return what Streamlit says was clicked.

    ``on_select``: called after a click on a point, before the page runs again. Streamlit then keeps
    what was clicked in ``st.session_state[key].selection.points``, each with the point's ``of`` as
    its ``customdata``. ``height``: in pixels. ``note``: how to read the picture, shown below it.
    ``data``: whether to offer its numbers as a table, and the camera that saves it as a file.
    ``narrow``: whether the window is a phone's.
    """
    figure = _figure(picture, palette(), height, narrow)
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
    """Draw the numbers of a picture to read and to download, and what the camera saves."""
    numbers = picture_frame(picture)
    st.dataframe(
        numbers, hide_index=True, width="content", height=min(320, 36 * (len(numbers) + 1) + 4)
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        download("CSV", csv_text(numbers), file_name(key, ".csv"), key=f"{key}-csv")
        download("LaTeX", latex_table(numbers), file_name(key, ".tex"), key=f"{key}-tex")
        st.segmented_control(
            "The camera button saves",
            ["PNG", "SVG"],
            key=f"{key}-format",
            default="PNG",
            required=True,
        )
