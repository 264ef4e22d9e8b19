"""An item across all its orders: its reads in the order they were asked, one strip a judge and strategy."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views.judgments_filters import go
from rubriclab.figures.reads import reads_strip
from rubriclab.findings.reads import reads_of, running_mean
from rubriclab.model import Arm
from rubriclab.model.language import tr
from rubriclab.model.wording import arm_name
from rubriclab.store import RunInfo

STRIP, STRIPS = 30, 8
"""Reads in a strip, strips of an item."""


def strips(info: RunInfo, frame: pd.DataFrame, arms: Sequence[Arm], at: int) -> None:
    """The item's reads in the order they were asked, one strip an arm."""
    codes = list(dict.fromkeys(frame["arm"].tolist()))
    st.markdown(tr("**Across all orders**"), help=ui.about("ordering"))
    st.caption(_legend(info.axis))
    if len(codes) == 1:
        _strip(frame, arms[codes[0]], at, alone=True)
        return
    current = frame["arm"].tolist()[at]
    shown = codes[:STRIPS] if current in codes[:STRIPS] else [*codes[: STRIPS - 1], current]
    for start in range(0, len(shown), 2):
        for place, code in zip(st.columns(2, gap="large"), shown[start : start + 2], strict=False):
            with place:
                st.markdown(ui.plain(arm_name(arms[code])))
                _strip(frame[frame["arm"] == code], arms[code], at, alone=False)
    if len(codes) > len(shown):
        st.caption(tr("{left} more judges and strategies: choose one above.", left=len(codes) - len(shown)))


def _legend(axis: str) -> str:
    if axis == "batch":
        return tr(
            "Each column is one call: the responses from the first shown to the last, this one framed. Click "
            "a column to read the call."
        )
    if axis == "criteria":
        return tr(
            "Each column is one call: the criteria from the first shown to the last, this one framed. Click "
            "a column to read the call."
        )
    if axis == "options":
        return tr(
            "Each column is one call: the scores from the first shown to the last, the chosen one framed, darker where "
            "the judge found it likelier. Click a column to read the call."
        )
    return tr(
        "Each column is one call: the candidates from the first shown to the last, the chosen one framed, darker where "
        "the judge found it likelier. Click a column to read the call."
    )


def _strip(frame: pd.DataFrame, arm: Arm, at: int, *, alone: bool) -> None:
    """The reads around the chosen one, so many as a screen can show."""
    places = frame.index.to_list()
    mine = places.index(at) if at in places else 0
    start = mine // STRIP * STRIP
    part = frame.iloc[start : start + STRIP]
    reads = reads_of(part)
    if len(frame) > STRIP:
        st.caption(
            tr("Calls {first} to {last} of {calls:,}.", first=start + 1, last=start + len(part), calls=len(frame))
        )
    mean = running_mean([read.score for read in reads]) if alone and arm.scores else None
    key = f"judgments-strip-{part['arm'].iat[0]}-{part['call'].iat[0]}"
    ui.chart(
        reads_strip(
            reads,
            running=mean if mean and mean.read else None,
            scores=arm.scores,
            marked=mine - start if at in places else None,
        ),
        key=key,
        select=partial(_open_read, part["call"].tolist(), key),
    )


def _open_read(calls: Sequence[int], key: str) -> None:
    """The columns of a strip stand at 1, 2, .. for its reads."""
    points = st.session_state[key].selection.points
    index = round(float(points[0]["x"])) - 1 if points else -1
    if 0 <= index < len(calls):
        go(call=calls[index])
