"""Views of who wins: the two strategies compared, and the prompts whose winner changes."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.app.views.judgments_table import judgments_of
from rubriclab.findings.ranking_results import RankingResult, RankReversal
from rubriclab.findings.topic import setting
from rubriclab.model import Arm
from rubriclab.model.language import msg, tr
from rubriclab.store import RunInfo


def chosen_pair(found: RankingResult, about: uf.Setting) -> RankReversal | None:
    """The two strategies to compare, any two of the chosen judge's."""
    mine = [p for p in found.pairs if setting(p) == about]
    names = list(dict.fromkeys(name for p in mine for name in (p.a, p.b)))
    if not mine:
        return None
    left, right = st.columns(2)
    tag = "ranking-" + "-".join(about)
    with left:
        a = ui.choose(tr("Strategy"), names, key=f"{tag}-a", address="a")
    with right:
        b = ui.choose(tr("against"), [n for n in names if n != a], key=f"{tag}-b", address="b")
    return next((p for p in mine if {p.a, p.b} == {a, b}), None)


def _winners(pair: RankReversal) -> dict[str, str]:
    """The columns of the winners, each with its strategy."""
    return {f"wins under {one}": one for one in (pair.a, pair.b)}


def flip_frame(pair: RankReversal) -> pd.DataFrame:
    rows = [(f.prompt, f.criterion, ", ".join(f.winners_a), ", ".join(f.winners_b), f.margin) for f in pair.flips]
    names = [msg("prompt"), msg("criterion"), *_winners(pair), msg("margin")]
    return pd.DataFrame(rows, columns=names).dropna(axis=1, how="all")


def flips(info: RunInfo, pair: RankReversal, arms: tuple[Arm, ...]) -> None:
    """The prompts whose winner changes, each openable down to the replies."""
    st.subheader(tr("Prompts whose winner changes"), anchor=False, help=ui.about("flip"))
    if not pair.flips:
        st.caption(tr("None between these two strategies."))
        return
    tag = f"ranking-{pair.judge}-{pair.a}-{pair.b}-{pair.variant}"
    st.caption(
        tr(
            "Clearest first. The margin adds up by how many score points each side prefers its own winner. "
            "Choose a row to read the judgments behind it."
        )
    )
    said = {name: tr("wins under {strategy}", strategy=one) for name, one in _winners(pair).items()}
    rows = uf.table(flip_frame(pair).rename(columns=said), key=tag, select=True, forms={"%.2f": ["margin"]})
    if not rows or rows[0] >= len(pair.flips):
        return
    codes = [
        code for code, arm in enumerate(arms) if setting(arm) == setting(pair) and arm.strategy in (pair.a, pair.b)
    ]
    judgments_of(info, pair.flips[rows[0]].items, codes, key=f"{tag}-{rows[0]}")
