"""Numbers in tables, as the reader's language writes them; they sort as numbers in every language.

The formats of Streamlit's columns write as English does, or as the browser's language, whatever the visit speaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

import pandas as pd
import streamlit as st
from pandas.api.types import is_float_dtype

from rubriclab.model.language import SOURCE, figure, language

PERCENT = "percent"
"""Streamlit's form of a share as a percentage."""


def number_column(label: str | None, form: str, **more: Any) -> Any:
    """``st.column_config.NumberColumn``; the frame goes through ``written`` with the same form."""
    return st.column_config.NumberColumn(label, format=form if language() == SOURCE else None, **more)


def written(frame: pd.DataFrame, forms: Mapping[str, str] = MappingProxyType({})) -> Any:
    """A frame whose numbers stand there as the language writes them: ``forms`` by column, as ``%.3f`` or PERCENT."""
    if language() == SOURCE or not frame.columns.is_unique:
        return frame
    ways = {name: forms.get(str(name), "%.4g") for name in frame if is_float_dtype(frame[name]) or name in forms}
    return frame.style.format({name: partial(_figure, form=form) for name, form in ways.items()}, na_rep="")


def _figure(value: Any, *, form: str) -> str:
    if pd.isna(value):
        return ""
    if form == PERCENT:
        return figure(value, ".0%")
    plain, _, unit = form.lstrip("%").partition(" ")
    said = figure(value, ".0f" if plain == "d" else plain)
    return f"{said}\u00a0{unit.replace('%%', '%')}" if unit else said
