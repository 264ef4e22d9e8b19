"""Tables and uploads that are not kept yet stay while the user looks at other pages.

Streamlit forgets a widget that a page does not draw. Simple ones have ``persist_state``; these two do not.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from rubriclab.app.ui.frame import plain
from rubriclab.model.language import tr


def table(start: pd.DataFrame, *, key: str, **options: Any) -> pd.DataFrame:
    """``st.data_editor`` on ``start``, whose edits outlive a change of page."""
    if key not in st.session_state:
        st.session_state[f"{key}-base"] = table_now(start, key=key)
    made: pd.DataFrame = st.data_editor(st.session_state[f"{key}-base"], key=key, **options)
    st.session_state[f"{key}-now"] = made
    return made


def table_now(start: pd.DataFrame, *, key: str) -> pd.DataFrame:
    """What such a table holds: what was typed last, else ``start``."""
    now: pd.DataFrame = st.session_state.get(f"{key}-now", start)
    return now


def fill_table(rows: pd.DataFrame, *, key: str) -> None:
    """Let such a table hold ``rows`` from its next drawing on."""
    st.session_state.pop(key, None)
    st.session_state[f"{key}-now"] = rows


def discard(tag: str) -> None:
    """Forget what is remembered under the key ``tag`` and under those that begin with it and a dash."""
    for key in [key for key in st.session_state if str(key) == tag or str(key).startswith(f"{tag}-")]:
        del st.session_state[key]


def upload(label: str, *, key: str, **options: Any) -> UploadedFile | None:
    """``st.file_uploader`` of one file, which outlives a change of page until another is chosen or it is let go."""
    fresh = key not in st.session_state
    file: UploadedFile | None = st.file_uploader(label, key=key, **options)
    before: UploadedFile | None = st.session_state.get(f"{key}-file")
    if file is not None:
        st.session_state[f"{key}-file"], st.session_state[f"{key}-beside"] = file, True
        return file
    if not fresh and st.session_state.get(f"{key}-beside"):  # the cross beside it was pressed
        before = None
        st.session_state.pop(f"{key}-file", None)
    st.session_state[f"{key}-beside"] = False
    if before is None:
        return None
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(
            tr(":material/draft: **{name}** is still here, and not kept yet.", name=plain(before.name)), width="stretch"
        )
        if st.button(tr("Let it go"), key=f"{key}-let-go", icon=":material/close:"):
            del st.session_state[f"{key}-file"]
            st.rerun()
    return before
