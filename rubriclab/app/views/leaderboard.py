"""Views of win rates under both orders: the sentence, the picture, the table, the changes of rank."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.leaderboard import win_rate_dots
from rubriclab.figures.style import Chart
from rubriclab.findings.leaderboard import Leaderboard, leaderboard_sentence
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many
from rubriclab.store import RunInfo

TITLE = msg("Win rates under both orders")


def leaderboard(info: RunInfo, board: Leaderboard) -> dict[str, Chart]:
    """One judge's candidates as logged and under both orders."""
    st.subheader(tr(TITLE), anchor=False, help=ui.about("both_orders"))
    st.markdown(ui.plain(leaderboard_sentence(board)))
    if board.why or not board.candidates:
        return {}
    drawn = {TITLE: win_rate_dots(board)}
    ui.chart(drawn[TITLE], key="comparison-leaderboard", info=info)
    if board.baseline:
        st.caption(tr("{baseline} is in every comparison and is not ranked.", baseline=ui.plain(board.baseline)))
    if board.modelled:
        st.caption(
            tr(
                "{calls} {calls:is|are} of pairs that met too seldom; their place is taken out by a model.",
                calls=many(board.modelled, "call"),
            )
        )
    with st.expander(tr("As a table")):
        uf.table(board_frame(board), key="comparison-board", forms={"%.3f": ["under both orders", "as logged"]})
    if board.swaps:
        st.markdown(tr("**Candidates that change rank**"), help=ui.about("both_orders"))
        st.caption(tr("Intervals hold for all {pairs} of candidates at once.", pairs=many(board.pairs, "pair")))
        uf.table(swap_frame(board), key="comparison-swaps", forms={"%+.3f": ["as logged", "under both orders"]})
    return drawn


def board_frame(board: Leaderboard) -> pd.DataFrame:
    """Every candidate, the best under both orders first."""
    rows = [
        (
            one.candidate,
            one.rank,
            one.corrected,
            interval(one.corrected_ci, ".3f"),
            one.logged_rank,
            one.logged,
            interval(one.logged_ci, ".3f"),
            one.calls,
        )
        for one in board.candidates
    ]
    names = [
        msg("candidate"),
        msg("rank"),
        msg("under both orders"),
        msg("interval"),
        msg("rank as logged"),
        msg("as logged"),
        msg("interval as logged"),
        msg("calls"),
    ]
    return pd.DataFrame(rows, columns=names).astype({"rank": "Int64", "rank as logged": "Int64"})


def swap_frame(board: Leaderboard) -> pd.DataFrame:
    """Every pair that changes rank: the better under both orders less the other."""
    rows = [
        (
            one.better,
            one.worse,
            one.corrected,
            interval(one.corrected_ci, "+.3f"),
            one.logged,
            tr("yes") if one.sure else tr("no"),
        )
        for one in board.swaps
    ]
    names = [
        msg("better under both"),
        msg("worse"),
        msg("under both orders"),
        msg("interval"),
        msg("as logged"),
        msg("beyond chance"),
    ]
    return pd.DataFrame(rows, columns=names)
