"""Home: what position bias is, the ways in, and the latest run."""

from __future__ import annotations

import streamlit as st


def page() -> None:
    """Draws the page."""
    st.title("Does your judge read the rubric, or the order it is in?", anchor=False)
