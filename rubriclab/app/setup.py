"""Set up: data, rubric, judge and orders in; a checked study and a launched run out."""

from __future__ import annotations

import streamlit as st


def page() -> None:
    """Draws the page."""
    st.title("Set up a run", anchor=False)
