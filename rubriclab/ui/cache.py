"""What a run's judgments say, read and worked out once per revision of the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import streamlit as st

from rubriclab.model import RunData
from rubriclab.store import RunInfo
from rubriclab.ui.runs import store


class _Key(NamedTuple):
    """What a cached value depends on: the store, the run and how far it has come."""

    path: str
    run: str
    revision: str
    probabilities: bool
    compute: str = ""


# Frames and findings are read-only, so the caches hand out the object itself: pickling 80 MB
# for every page would cost more than most findings do.
@st.cache_resource(show_spinner="Reading judgments …", max_entries=6)
def _frame(key: _Key) -> RunData:
    return store().frame(key.run, probabilities=key.probabilities)


def run_data(info: RunInfo, *, probabilities: bool = False) -> RunData:
    """The judgments of a run, read once per revision."""
    return _frame(_Key(store().path, info.run, store().revision(info.run), probabilities))


@st.cache_resource(show_spinner="Working it out …", max_entries=48)
def _finding(key: _Key, _compute: Callable[[RunData], Any]) -> Any:
    return _compute(_frame(key._replace(compute="")))


def finding(
    info: RunInfo, compute: Callable[[RunData], Any], *, probabilities: bool = False
) -> Any:
    """``compute`` of a run's judgments, worked out once per revision of the run."""
    name = f"{compute.__module__}.{compute.__qualname__}"
    revision = store().revision(info.run)
    return _finding(_Key(store().path, info.run, revision, probabilities, name), compute)
