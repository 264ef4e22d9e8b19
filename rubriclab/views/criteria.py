"""Views of criterion order: the heatmap, one beside another, and the tables under it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from rubriclab import ui
from rubriclab.figures.criteria import shift_heatmap
from rubriclab.figures.style import Chart
from rubriclab.findings.criteria import ArmCriteria, CriteriaResult
from rubriclab.model import Arm
from rubriclab.store import RunInfo
from rubriclab.views import common as uf


def heatmaps(
    info: RunInfo, arm: ArmCriteria, others: list[ArmCriteria], arms: tuple[Arm, ...]
) -> Chart:
    """Shift by criterion and position, on one scale with a second arm if one is chosen."""
    st.subheader("Where each criterion is scored higher or lower", anchor=False,
                 help=ui.about("shift"))  # fmt: skip
    st.caption("Points from the criterion's own mean. Click a cell to read its judgments.")
    beside = None
    if others:
        names = [None, *range(len(others))]
        chosen = st.selectbox("Compare with", names, key=f"criteria-beside-{arm.code}-{info.run}",
                              format_func=lambda i: "nothing else" if i is None else ui.arm_label(others[i].arm))  # fmt: skip
        beside = None if chosen is None else others[chosen]
    both = [arm] if beside is None else [arm, beside]
    known = np.abs([effect.shift for one in both for effect in one.criteria]).ravel()
    limit = max(float(np.nanmax(known, initial=0.0)), 0.05)
    first = shift_heatmap(arm, limit=limit)
    columns = st.columns(2, gap="large") if beside is not None else [st.container()]
    with columns[0]:
        event = ui.chart(first, key=f"criteria-cells-{arm.code}", select=True)
    if beside is not None:
        with columns[1]:
            ui.chart(shift_heatmap(beside, limit=limit), key=f"criteria-beside-{beside.code}")
    points = (
        [p["customdata"] for p in event.selection.points if p.get("customdata")] if event else []
    )
    if points:
        read_cell(info, arm, str(points[0][0]), int(points[0][1]), arms)
    return first


def read_cell(
    info: RunInfo, arm: ArmCriteria, criterion: str, position: int, arms: tuple[Arm, ...]
) -> None:
    """The judgments that gave this criterion its score at this position."""
    frame = ui.store().judgments_behind(
        info.run, arm=arm.code, position=position, limit=100 * max(1, len(arm.criteria))
    )
    st.markdown(f"**{ui.plain(criterion)}, read at position {position}**")
    uf.show_judgments(info, frame[frame["criterion"] == criterion].head(100).reset_index(drop=True),
                      arms, key=f"criteria-{arm.code}-{criterion}-{position}")  # fmt: skip


def effects(arm: ArmCriteria) -> pd.DataFrame:
    rows = [
        (e.criterion, e.mean, e.delta_pos, *e.delta_ci, e.friedman.statistic, e.friedman.df,
         e.friedman.p, e.p_holm, e.friedman.blocks, e.friedman.excluded, e.r)
        for e in arm.criteria
    ]  # fmt: skip
    names = ["criterion", "mean score", "Δ position", "low", "high", "Friedman", "df", "p", "p (Holm)",
             "texts", "left out", "r with humans"]  # fmt: skip
    return pd.DataFrame(rows, columns=names)


def agreement(found: CriteriaResult) -> pd.DataFrame:
    rows = [
        (a.arm.judge, a.arm.dataset, a.arm.strategy, a.alignment.pearson.r, *a.alignment.pearson.ci,
         a.alignment.spearman.r, a.reads, a.alignment.n_items, a.alignment.excluded)
        for a in found.arms if a.alignment is not None
    ]  # fmt: skip
    names = [
        "judge",
        "data set",
        "strategy",
        "r",
        "low",
        "high",
        "rho",
        "calls a text",
        "items",
        "left out",
    ]
    return pd.DataFrame(rows, columns=names)
