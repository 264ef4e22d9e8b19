"""Runs: how far they are, and which there are."""

from __future__ import annotations

import streamlit as st


def page() -> None:
    """Draws the page."""
    st.title("Runs", anchor=False)
