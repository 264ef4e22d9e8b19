"""Views of criterion order: the heatmap, one beside another, and the tables under it."""

from __future__ import annotations

from math import isfinite

import numpy as np
import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.ui.charts import behind_point
from rubriclab.app.views import common as uf
from rubriclab.app.views.judgments_table import browse
from rubriclab.figures.criteria import shift_heatmap
from rubriclab.figures.style import Behind, Chart
from rubriclab.findings.criteria_order import noise_sentence, order_effect, order_sentence
from rubriclab.findings.criteria_results import ArmCriteria, CriteriaResult, CriterionEffect
from rubriclab.findings.effects import words
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import arm_name, interval, many, number
from rubriclab.store import RunInfo

MOST = 100
"""Judgments of a cell that are listed below it."""


def headline(arm: ArmCriteria) -> None:
    """The answer with the verdict it rests on, four numbers, and the same order twice."""
    uf.answer(order_sentence(arm))
    unread = bool(arm.scores) and arm.unread == arm.scores
    name, found = order_effect(arm) if arm.varied else (tr("no score read") if unread else tr("never moved"), None)
    if found is not None:
        st.markdown(
            f"{uf.badge(found.verdict)} :small[{ui.plain(name)}: {ui.plain(words(found))}]", help=ui.about("advice")
        )
    r, rms = arm.alignment, arm.rms
    uf.metrics(
        (
            tr("First less last place"),
            tr("{shift} points", shift=number(found.estimate, "+.2f")) if found else number(None, ""),
            f"{name}: {interval(found.interval, '.2f')}" if found else name,
            ui.about("first_less_last"),
        ),
        (
            tr("Shift over places, less noise"),
            tr("{shift} points", shift=number(rms.value, ".2f")) if isfinite(rms.value) else number(rms.value, ".2f"),
            tr("{ends}; Δ position {delta}", ends=interval(rms.ci, ".2f"), delta=number(arm.delta_mean, ".2f")),
            ui.about("rms_shift", also=("delta",)),
        ),
        (
            tr("r with humans"),
            number(r.pearson.r if r else None, ".3f"),
            interval(r.pearson.ci, ".3f") if r else tr("no human ratings"),
            ui.about("macro"),
        ),
        (
            tr("Scores read"),
            number((arm.scores - arm.unread) / arm.scores if arm.scores else None, ".1%"),
            tr("of {scores:,}, {texts}", scores=arm.scores, texts=many(arm.texts, "text")),
            ui.about("criteria_read"),
        ),
    )
    if said := noise_sentence(arm.repeats):
        st.caption(ui.plain(said), help=ui.about("criteria_noise"))


def heatmaps(info: RunInfo, arm: ArmCriteria, others: list[ArmCriteria]) -> Chart:
    """Shift by criterion and position, on one scale with a second arm if one is chosen."""
    st.subheader(tr("Where each criterion is scored higher or lower"), anchor=False, help=ui.about("shift"))
    st.caption(tr("Points from the criterion's own mean. Click a cell to read its judgments."))
    beside = None
    if others:
        by_code = {str(one.code): one for one in others}
        chosen = ui.choose(
            tr("Compare with"),
            ["", *by_code],
            key=f"criteria-beside-{info.run}",
            address="beside",
            name=lambda code: arm_name(by_code[code].arm) if code else tr("nothing else"),
        )
        beside = by_code.get(chosen)
    both = [arm] if beside is None else [arm, beside]
    known = np.abs([effect.shift for one in both for effect in one.criteria]).ravel()
    limit = max(float(np.nanmax(known, initial=0.0)), 0.05)
    first = shift_heatmap(arm, limit=limit)
    columns = st.columns(2, gap="large") if beside is not None else [st.container()]
    with columns[0]:
        event = ui.chart(first, key=f"criteria-cells-{arm.code}", select=True)
    if beside is not None:
        with columns[1]:
            ui.chart(shift_heatmap(beside, limit=limit), key=f"criteria-with-{beside.code}", info=info)
    clicked = [behind_point(first, point) for point in event.selection.points] if event else []
    if clicked and clicked[0] is not None:
        read_cell(info, clicked[0])
    return first


def read_cell(info: RunInfo, cell: Behind) -> None:
    """The judgments that gave a criterion its score at a position."""
    frame = ui.store().judgments_behind(
        info.run, arm=cell.arm, criterion=cell.criterion, position=cell.position, limit=MOST
    )
    st.markdown(
        tr(
            "**{criterion}, read at position {position}**",
            criterion=ui.plain(cell.criterion or ""),
            position=cell.position,
        )
    )
    browse(info, frame, key=f"criteria-{cell.arm}-{cell.criterion}-{cell.position}")


def effects(arm: ArmCriteria) -> pd.DataFrame:
    return pd.DataFrame([_effect_row(criterion) for criterion in arm.criteria])


def _effect_row(criterion: CriterionEffect) -> dict[str, object]:
    first, test = criterion.first_less_last, criterion.friedman
    return {
        msg("criterion"): criterion.criterion,
        msg("mean score"): criterion.mean,
        msg("first less last"): first.estimate,
        msg("low"): first.low,
        msg("high"): first.high,
        msg("verdict"): first.verdict,
        msg("Δ position"): criterion.delta_pos,
        "Friedman": test.statistic,
        "df": test.df,
        "p": test.p,
        msg("p (Holm)"): criterion.p_holm,
        msg("texts"): test.blocks,
        msg("left out"): test.excluded,
        msg("r with humans"): criterion.r,
    }


def agreement(found: CriteriaResult) -> pd.DataFrame:
    rows = [
        (
            a.arm.judge,
            a.arm.dataset,
            a.arm.strategy,
            a.alignment.pearson.r,
            *a.alignment.pearson.ci,
            a.alignment.spearman.r,
            a.reads,
            a.alignment.n_items,
            a.alignment.excluded,
        )
        for a in found.arms
        if a.alignment is not None
    ]
    names = [
        msg("judge"),
        msg("data set"),
        msg("strategy"),
        msg("macro r"),
        msg("low"),
        msg("high"),
        msg("macro rho"),
        msg("calls a text"),
        msg("items"),
        msg("left out"),
    ]
    return pd.DataFrame(rows, columns=names)
