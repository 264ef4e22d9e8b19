"""The presentation of a run or a trial on its page: in a frame that fills the screen, and as a file."""

from __future__ import annotations

import streamlit as st

from rubriclab.app.views.shown import judges_of, story_of
from rubriclab.model.language import tr
from rubriclab.report.presentation import presentation
from rubriclab.store import RunInfo

HEIGHT = 640
"""Pixels: a laptop's screen has the whole frame in view."""


def judges(info: RunInfo) -> list[str]:
    """Whose answers can be presented."""
    return judges_of(info)


def show(info: RunInfo, judge: str | None) -> None:
    """The three steps, and the file that holds them."""
    document = presentation(story_of(info, judge))
    # Its own content policy allows its one script and no request; names and texts in it are escaped.
    st.iframe(document, height=HEIGHT, alt=tr("The presentation: three steps, each with the words on it."))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            tr("The presentation (HTML)"),
            document.encode(),
            file_name=f"{info.run}-presentation.html",
            mime="text/html",
            key="presentation-html",
            type="primary",
            icon=":material/download:",
            on_click="ignore",
        )
        st.caption(
            tr(
                "One file that opens without a network. In a terminal: `python -m rubriclab present {run} --out "
                "talk.html`",
                run=info.run,
            )
        )
