"""Fields for names: however long a text is that somebody types or pastes, nothing of it vanishes without a word."""

from __future__ import annotations

from typing import Any

import streamlit as st

from rubriclab.app.ui.frame import plain
from rubriclab.model.language import tr


def name_input(label: str, value: str = "", *, key: str, most: int, **options: Any) -> str:
    """``st.text_input`` for a name, without blanks around it; one of more than ``most`` characters is cut, and so said.

    Not by ``max_chars``: a browser drops a pasted text that is longer than that, all of it, and says nothing.
    A longer name that stands there from the start is somebody's name already, and stays.
    """
    typed = str(st.text_input(label, value, key=key, **options) or "").strip()
    if len(typed) <= most or typed == value.strip():
        return typed
    cut = typed[:most].rstrip()
    st.warning(
        tr(
            "A name has at most {most} characters. This one has {length:,} and is cut to “{cut}”.",
            most=most,
            length=len(typed),
            cut=plain(cut),
        ),
        icon=":material/content_cut:",
    )
    return cut
