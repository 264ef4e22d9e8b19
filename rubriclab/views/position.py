"""Words and tables of the position findings, and the judgments behind a cell."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import streamlit as st

from rubriclab import ui
from rubriclab.findings.position import PositionArm
from rubriclab.model import STATUSES, Arm
from rubriclab.store import RunInfo
from rubriclab.views.judgments import detail


def table_frame(arm: PositionArm) -> pd.DataFrame:
    """The score × position table as a long table: one row a cell."""
    table = arm.table
    rows = [
        (
            score,
            position,
            table.counts[s, p],
            table.exposure[s, p],
            table.share[s, p],
            *table.ci[s][p],
        )
        for s, score in enumerate(table.scores)
        for p, position in enumerate(table.positions)
    ]
    names = ["score", "position", "chosen", "shown", "share", "low", "high"]
    return pd.DataFrame(rows, columns=names)


def cell_browser(info: RunInfo, code: int, arm: Arm, event: Any, *, key: str) -> None:
    """The judgments of the clicked (or chosen) cell, each with its prompt, reply and ordering."""
    clicked = (
        [p["customdata"] for p in event.selection.points if p.get("customdata")] if event else []
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        scores = [None, *arm.scores]
        positions = [None, *range(1, arm.n_positions + 1)]
        wanted = (int(clicked[0][0]), int(clicked[0][1])) if clicked else (None, None)
        tag = f"{key}-{code}-{wanted}"
        score = st.selectbox("Score", scores, index=scores.index(wanted[0]), key=f"{tag}-score",
                             placeholder="any",
                             format_func=lambda s: "any" if s is None else str(s))  # fmt: skip
        position = st.selectbox("Position", positions, index=positions.index(wanted[1]),
                                key=f"{tag}-position", placeholder="any",
                                format_func=lambda p: "any" if p is None else str(p))  # fmt: skip
        status = st.selectbox("Outcome", [None, *STATUSES], key=f"{tag}-status", placeholder="any",
                              format_func=lambda s: "any" if s is None else s)  # fmt: skip
    frame = ui.store().judgments_behind(
        info.run, arm=code, score=score, position=position, status=status, limit=100
    )
    if frame.empty:
        st.caption("No judgment here.")
        return
    frame["shown order"] = [" ".join(map(str, json.loads(shown))) for shown in frame["shown"]]
    columns = ["item_id", "shown order", "score", "position", "status", "text", "mass", "expected"]
    st.caption(f"{len(frame)} judgment(s){' (the first 100)' if len(frame) == 100 else ''}. "
               "Choose a row to read the prompt and the reply.")  # fmt: skip
    chosen = st.dataframe(
        frame[columns], hide_index=True, width="stretch", key=f"{tag}-table",
        on_select="rerun", selection_mode="single-row", height=min(38 * len(frame) + 40, 320),
    )  # fmt: skip
    rows = chosen.selection.rows
    if rows:
        detail(info, {str(k): v for k, v in frame.iloc[rows[0]].items()})
