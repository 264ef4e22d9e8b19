"""Views of scores as ranks: every headline twice, and the line that stands beside one."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.ordinal import told_twice, twice_forest
from rubriclab.figures.style import Chart
from rubriclab.findings.ordinal import CONCLUSIONS, NAMES, ORDINAL, ORDINAL_OF_ARM, Asked, OrdinalResult, twice_sentence
from rubriclab.findings.rasch_words import rater_said
from rubriclab.model.language import SOURCE, msg, speaking, tr
from rubriclab.model.wording import arm_name, interval, number, p_value
from rubriclab.store import RunInfo


def section(info: RunInfo) -> tuple[dict[str, Chart], dict[str, pd.DataFrame]]:
    """Every question answered with scores as numbers (or names) and as ranks. Nothing for other axes."""
    found = ui.finding(info, ORDINAL)
    table = frame(found)
    if not len(table):
        return {}, {}
    st.subheader(
        tr("Does it matter that scores are ranks?"), anchor="ranks", help=ui.about("ordinal", also=("dominance",))
    )
    drawn = {}
    if told_twice(found):
        st.caption(
            tr(
                "Left and right of the dotted lines an interval leaves out 0: does it, with scores as numbers and as "
                "ranks?"
            )
        )
        drawn = {msg("Numbers and ranks"): twice_forest(found)}
        ui.chart(drawn["Numbers and ranks"], key="ordinal-forest", info=info)
    else:
        st.caption(tr("Too little was read for an interval, so no conclusion is drawn either way."))
    uf.table(table, key="ordinal-table")
    with speaking(SOURCE):  # as files have it
        return drawn, {"Numbers and ranks": frame(found)}


def line(info: RunInfo, code: int, asked: Asked) -> None:
    """Beside a headline of one arm: its ordinal counterpart, and whether the conclusion changes."""
    arm = ui.finding(info, ORDINAL_OF_ARM, code=code)
    with uf.steady():
        for one in arm.asked:
            if one.asked != asked:
                continue
            st.caption(ui.plain(twice_sentence(one)), help=ui.about("ordinal", also=("dominance",)))


def frame(found: OrdinalResult) -> pd.DataFrame:
    """One row a question: both numbers with their intervals, and what follows."""
    rows = []
    for arm in found.arms:
        for one in arm.asked:
            question, numbers, ranks = map(tr, NAMES[one.asked])
            tested = (
                f", {p_value(one.p)}" if one.asked == "place" else f" {interval(one.numbers_ci, '+.2f', brackets=True)}"
            )
            first = f"{numbers}: {number(one.numbers, '+.2f')}{tested}"
            second = f"{ranks}: {number(one.ranks, '+.2f')} {interval(one.ranks_ci, '+.2f', brackets=True)}"
            rows.append((question, arm_name(arm.arm), first, second, tr(CONCLUSIONS[one.answer])))
    for dataset, gap in found.gaps:
        first = tr(
            "points: {points:+.2f} {ends}", points=gap.points, ends=interval(gap.points_ci, "+.2f", brackets=True)
        )
        second = tr(
            "leniency, logits: {leniency} {ends}",
            leniency=number(gap.leniency, "+.2f"),
            ends=interval(gap.leniency_ci, "+.2f", brackets=True),
        )
        sides = {"first": rater_said(gap.first), "second": rater_said(gap.second)}
        whom = tr("{first} less {second} · {dataset}", **sides, dataset=dataset)
        rows.append((tr("Do they score alike?"), whom, first, second, tr(CONCLUSIONS[gap.answer])))
    columns = [msg("question"), msg("of"), msg("as numbers or names"), msg("as ranks"), msg("so")]
    return pd.DataFrame(rows, columns=columns)
