"""Views of responses scored together: the answer, pictures, what a batch saves and costs, tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.ui.charts import behind_point
from rubriclab.app.views import common as uf
from rubriclab.app.views.judgments_table import browse
from rubriclab.figures.batch import before_heatmap
from rubriclab.figures.style import Chart
from rubriclab.findings.batch_results import ArmBatch
from rubriclab.findings.batch_words import (
    contrast_sentence,
    level_sentence,
    place_effect,
    place_sentence,
    savings_sentence,
)
from rubriclab.findings.criteria_order import noise_sentence
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, number
from rubriclab.stats.verdict import Effect
from rubriclab.store import RunInfo

MOST = 100
"""Judgments of a cell that are listed below it."""


def headline(arm: ArmBatch) -> None:
    """The three answers with their verdicts, then what a batch saves and costs in four numbers."""
    uf.answer(place_sentence(arm))
    if arm.scores == arm.unread:
        return
    where, place = place_effect(arm)
    uf.verdict(place, tr("Place, {where}.", where=where), ui.about("batch_place"))
    uf.verdict(arm.contrast, contrast_sentence(arm), ui.about("batch_contrast"))
    if arm.single is not None:
        uf.verdict(arm.single.level, level_sentence(arm), ui.about("batch_level"))


def numbers(arm: ArmBatch) -> None:
    single = arm.single
    read = (arm.scores - arm.unread) / arm.scores if arm.scores else None
    cells = [
        (
            tr("Scores read"),
            number(read, ".1%"),
            tr("of {scores:,}, {batches:,} batches", scores=arm.scores, batches=arm.batches),
            ui.about("batch_read"),
        )
    ]
    if single is not None:
        cells += [
            (
                tr("Equal to a single call"),
                number(single.exact, ".0%"),
                tr("two single calls: {exact_alone}", exact_alone=number(single.exact_alone, ".0%")),
                ui.about("batch_exact"),
            ),
            (
                tr("r with a single call"),
                number(single.r.r, ".3f"),
                tr("two single calls: {r}", r=number(single.r_alone.r, ".3f")),
                ui.about("batch_r"),
            ),
            (
                tr("r with people"),
                number(single.people.r, ".3f"),
                tr("single calls: {r}", r=number(single.people_alone.r, ".3f")),
                ui.about("batch_people"),
            ),
        ]
    uf.metrics(*cells)
    if said := noise_sentence(arm.repeats):
        st.caption(
            ui.plain(said.replace("one text", "one response").replace(" text", " response")),
            help=ui.about("criteria_noise"),
        )


def neighbours(info: RunInfo, arm: ArmBatch) -> Chart:
    """The heatmap of what stood before, by place; a click lists the judgments of that place."""
    st.subheader(tr("After which response, at which place"), anchor=False, help=ui.about("batch_before"))
    st.caption(
        tr(
            "Points from the response's own mean in its batch. Rows: what the response just before gets "
            "alone. Click a cell to read the judgments of its place."
        )
    )
    drawn = before_heatmap(arm)
    event = ui.chart(drawn, key=f"batch-cells-{arm.code}", select=True)
    clicked = [behind_point(drawn, point) for point in event.selection.points] if event else []
    if clicked and clicked[0] is not None:
        place = clicked[0].position
        st.markdown(tr("**Read at place {place}**", place=place))
        frame = ui.store().judgments_behind(info.run, arm=arm.code, position=place, limit=MOST)
        browse(info, frame, key=f"batch-{arm.code}-{place}")
    return drawn


def savings(arm: ArmBatch) -> pd.DataFrame:
    """What a score takes in calls and tokens, together and alone, as measured in this run."""
    st.subheader(tr("What a batch saves"), anchor=False, help=ui.about("batch_saves"))
    st.markdown(ui.plain(savings_sentence(arm)))
    asked = ((tr("together"), arm.cost, arm.size), (tr("alone"), arm.cost_alone, 1))
    rows = [
        (name, size, cost.calls, cost.tokens_in, cost.tokens_out, cost.seconds)
        for name, cost, size in asked
        if cost is not None
    ]
    frame = pd.DataFrame(
        rows,
        columns=[
            msg("asked"),
            msg("responses a call"),
            msg("calls a score"),
            msg("tokens in a score"),
            msg("tokens out a score"),
            msg("seconds a score"),
        ],
    )
    if np.isfinite(less := arm.tokens_saved):
        st.caption(
            tr("{share:.0%} less tokens in for each score; money follows the tokens.", share=abs(less))
            if less >= 0
            else tr("{share:.0%} more tokens in for each score; money follows the tokens.", share=abs(less))
        )
    forms = {"%.2f": ["calls a score", "seconds a score"], "%.0f": ["tokens in a score", "tokens out a score"]}
    uf.table(frame, key="batch-savings", forms=forms)
    return frame


EFFECT_COLUMNS = [
    msg("effect"),
    msg("estimate"),
    msg("low"),
    msg("high"),
    msg("unit"),
    msg("confidence"),
    msg("verdict"),
    msg("why open"),
]


def effects(arm: ArmBatch) -> pd.DataFrame:
    """Every effect of the arm, one a row."""
    rows: list[tuple[str, Effect]] = [(tr("last place less first"), arm.drift)]
    rows += [(tr("place {place}", place=one.place), one.shift) for one in arm.places]
    rows += [
        (tr("a point more just before"), arm.contrast),
        (tr("a point more just before, by people"), arm.contrast_people),
    ]
    if (single := arm.single) is not None:
        rows += [
            (tr("together less alone"), single.level),
            (tr("equal to a single call, less two single calls"), single.exact_loss),
            (tr("r with a single call, less two single calls"), single.r_loss),
            (tr("r with people, less single calls"), single.people_loss),
        ]
    rows.append((tr("two reads in other orders, less the same order"), arm.repeats.excess))
    return pd.DataFrame(
        [
            (name, one.estimate, one.low, one.high, tr(one.unit), one.confidence, one.verdict, tr(one.why))
            for name, one in rows
        ],
        columns=EFFECT_COLUMNS,
    )


def correlations(arm: ArmBatch) -> str:
    """The four correlations with their intervals, in a line."""
    single = arm.single
    if single is None:
        return ""
    parts = [
        (tr("a batch with a single call"), single.r),
        (tr("two single calls"), single.r_alone),
        (tr("a batch with people"), single.people),
        (tr("a single call with people"), single.people_alone),
    ]
    told = [
        f"{name} {number(one.r, '.3f')} {interval(one.ci, '.3f', brackets=True)}"
        for name, one in parts
        if np.isfinite(one.r)
    ]
    return (
        tr("r of one score: {correlations}. {items:,} items.", correlations="; ".join(told), items=single.items)
        if told
        else ""
    )
