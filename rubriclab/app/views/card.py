"""The judge card of a run, on the page Your pipeline: the ways of asking measured, and the one to take along."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.findings.cure import MARGIN_SHARE, MARGIN_STEPS
from rubriclab.findings.effects import step
from rubriclab.findings.topic import about
from rubriclab.model import Arm, LabError
from rubriclab.model.language import SOURCE, language, msg, tr
from rubriclab.model.wording import interval, number
from rubriclab.runs.card import card_text, card_words, judge_card
from rubriclab.store import RunInfo, Store

LEAD = msg(
    "A file with the way of asking that this run shows to be cheapest and good enough: prompt, "
    "model, rubric, measured bias, orders. `rubriclab.apply` asks by it in a pipeline of yours. It "
    "holds no key and no text of the data."
)


def section(store: Store, info: RunInfo) -> None:
    """Which judge, which margin, then what was measured and the file."""
    with st.expander(tr("Judge card: take the way of asking with you"), icon=":material/badge:"):
        st.markdown(tr(LEAD))
        arms = _settings(store, info)
        left, right = st.columns(2)
        with left:
            key = f"card-arm-{info.run}"  # of another run the browser would show this one's names
            code = st.selectbox(tr("Judge"), list(arms), format_func=lambda arm: about(arms[arm]), key=key)
        with right:
            margin = _margin(arms[code])
        if not st.button(tr("Measure the ways of asking"), key="card-make", icon=":material/straighten:"):
            return
        try:
            with st.spinner(tr("Measuring on held-out items …")):
                said, text = _card(store, store.path, info.run, store.revision(info.run), code, margin, language())
        except LabError as fault:
            st.info(ui.plain(str(fault)), icon=":material/info:")
            return
        _show(info, said, text)


def _settings(store: Store, info: RunInfo) -> dict[int, Arm]:
    """One arm of each judge and setting, by its number."""
    found: dict[tuple[Any, ...], tuple[int, Arm]] = {}
    for code, arm in enumerate(store.frame(info.run).arms):
        found.setdefault((about(arm), arm.scores, arm.n_positions), (code, arm))
    return dict(found.values())


def _margin(arm: Arm) -> float:
    pairs = arm.axis in ("pairwise", "listwise")
    usual = MARGIN_SHARE if pairs else MARGIN_STEPS * step(arm.scores)
    return st.number_input(
        tr("Margin, in a share of the verdicts") if pairs else tr("Margin, in score points"),
        min_value=usual / 25,
        value=usual,
        step=usual / 5,
        key=f"card-margin-{'pairs' if pairs else 'scores'}",
        help=tr("How much worse than the best way of asking a cheaper one may be."),
    )


@st.cache_data(max_entries=16, show_spinner=False)
def _card(
    _store: Store, path: str, run: str, revision: str, code: int, margin: float, spoken: str
) -> tuple[dict[str, Any], str]:
    """What the page says of the card in the reader's language, and the card as the text of its file."""
    del path, revision  # part of what the answer is kept by
    # First, for it refuses in the reader's language; in English the card itself says it, and is not worked out twice.
    said = None if spoken == SOURCE else card_words(_store, run, arm=code, margin=margin)
    text = card_text(judge_card(_store, run, arm=code, margin=margin))
    return said or json.loads(text), text


def _show(info: RunInfo, made: dict[str, Any], text: str) -> None:
    st.markdown(f"**{ui.plain(made['choice']['sentence'])}**")
    table = _table(made)
    st.dataframe(table, hide_index=True, width="stretch", column_config=uf.headings(table))
    target, method = made["choice"]["target"], made["choice"]["method"]
    st.caption(ui.plain(tr("Distance from {target}. {method}", target=target, method=method)))
    for note in made["notes"]:
        st.caption(ui.plain(note))
    st.download_button(
        tr("Judge card (JSON)"),
        text,
        file_name=f"{info.run}.card.json",
        mime="application/json",
        key="card-json",
        type="primary",
        icon=":material/badge:",
        on_click="ignore",
    )
    st.caption(tr("In a terminal: `python -m rubriclab card RUN --out judge.card.json --code FOLDER`"))


def _table(made: dict[str, Any]) -> pd.DataFrame:
    rows = []
    for cure in made["cures"]:
        agreement, far = cure["agreement"], cure["distance"]
        title, note = cure["title"], cure["note"]
        ends = "" if far["low"] is None else f" {interval((far['low'], far['high']), '.2f', brackets=True)}"
        rows.append(
            {
                "": tr("chosen") if cure["key"] == made["cure"] else "",
                msg("Way of asking"): title,
                msg("Calls"): cure["calls"],
                msg("Distance"): f"{number(far['value'], '.2f')}{ends}",
                msg("Within the margin"): tr("yes") if cure["not_worse"] else tr("not shown"),
                msg("r with people"): None if agreement is None else agreement["value"],
                msg("Money for 1,000"): cure["money_per_1000"],
                msg("Note"): note,
            }
        )
    return pd.DataFrame(rows)
