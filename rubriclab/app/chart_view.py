"""Draw a picture as a chart that can be clicked, saved, and read as a table."""

import pickle
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import streamlit as st

from rubriclab.app.forms import download
from rubriclab.data.safe_files import csv_text
from rubriclab.exports.table import latex_table, picture_frame
from rubriclab.figures.marks import DARK, LIGHT, Palette, Picture
from rubriclab.model.text import file_name

CONFIG = {"scrollZoom": False, "doubleClick": False, "showTips": False, "displaylogo": False}
"""No zoom by wheel or finger: over a chart, these move the page."""


AS = ("Picture", "Table")
"""What a picture's switch offers."""
MOST_TABLE = 400
"""Height of a picture's table, in px; longer ones scroll."""


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
    if height is not None:
        figure.update_layout(height=height)
    # Streamlit hands a copy of each new figure to Plotly once more. By the same revision Plotly
    # knows that the copy's data are no news, and does not draw them a second time.
    figure.layout.datarevision = sha256(figure.to_json().encode()).hexdigest()
    return figure


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
    as_table = data and st.session_state.get(f"{key}-as") == AS[1]
    clicked = None
    if as_table:
        _table(picture)
    else:
        clicked = _drawn(picture, key, on_select, height, camera=data, narrow=narrow)
    if note:
        st.caption(note)
    if data:
        with st.container(
            horizontal=True, horizontal_alignment="right", vertical_alignment="center"
        ):
            st.segmented_control(
                "Show as",
                AS,
                default=AS[0],
                required=True,
                key=f"{key}-as",
                label_visibility="collapsed",
            )
            folded = st.popover(
                "Save",
                icon=":material/download:",
                type="tertiary",
                key=f"{key}-data",
                on_change="rerun",
            )
        if folded.open:
            with folded:
                _files(picture, key)
    return clicked


def _drawn(
    picture: Picture,
    key: str,
    on_select: Callable[[], None] | None,
    height: int | None,
    *,
    camera: bool,
    narrow: bool,
) -> Any:
    """Draw the figure; return what Streamlit says was clicked."""
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
        # Without a camera the bar would only hide the cells below it.
        "displayModeBar": "hover" if camera else False,
        "modeBarButtons": [["toImage"]],
        "toImageButtonOptions": saved,
    }
    return st.plotly_chart(
        figure, width="stretch", key=key, alt=picture.alt, config=config, theme=None, **options
    )


def _table(picture: Picture) -> None:
    """Draw the numbers of a picture, which can be sorted and reached by keyboard."""
    numbers = picture_frame(picture)
    height = min(MOST_TABLE, 36 * (len(numbers) + 1) + 4)
    st.dataframe(numbers, hide_index=True, width="stretch", height=height)


def _files(picture: Picture, key: str) -> None:
    """Offer the numbers of a picture as files, and choose what the camera saves."""
    numbers = picture_frame(picture)
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
