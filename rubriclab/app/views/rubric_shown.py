"""The options of a rubric as one read of a judge saw them, the chosen one lit."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from rubriclab.app import ui
from rubriclab.findings.reads import Read
from rubriclab.model.language import figure, tr

BOLD = 140
"""Characters up to which a lit option is set in bold: a whole response in bold would shout."""


def show_options(read: Read, descriptions: Mapping[str, str | None], *, title: str) -> None:
    """What stood at positions 1..n, from top to bottom, with probabilities where there are any.

    ``descriptions``: what each option (a score, as text) stands for. ``title``: plain text.
    """
    with st.container(border=True):
        st.markdown(f"**{ui.plain(title)}**")
        for place in range(len(read.shown)):
            st.markdown(_line(read, place, descriptions))
        st.caption(_said(read))


def _line(read: Read, place: int, descriptions: Mapping[str, str | None]) -> str:
    option = read.shown[place]
    label = read.labels[place] if read.labels else option
    about = descriptions.get(option) or ""
    name, text = ui.plain(label), ui.plain(about)
    share = f" :gray[{figure(read.probabilities[place], '.0%')}]" if read.probabilities else ""
    if read.position != place + 1:
        return f"{name}\u2002{text}{share}"
    lit = f"**{name}\u2002{text}**" if len(about) <= BOLD else f"**{name}**\u2002{text}"
    return f":orange-background[:material/arrow_right: {lit}]{share}"


def _said(read: Read) -> str:
    if read.position is None:
        return tr("No score could be read ({status}).", status=ui.plain(tr(read.status)))
    if read.position == 0:
        return tr("The judge called it a tie.")
    return tr(
        "Chose {option}, which stood at position {position}.",
        option=ui.plain(read.shown[read.position - 1]),
        position=read.position,
    )
