"""Has the judge changed? Two runs that are there beside each other, or the command that asks frozen items again."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import common as uf
from rubriclab.figures.drift import then_and_now
from rubriclab.findings.drift import Drift, drift
from rubriclab.findings.drift_words import markdown, sentences
from rubriclab.findings.topic import about
from rubriclab.model import Arm, LabError
from rubriclab.model.language import language, msg, tr
from rubriclab.store import RunInfo, Store

LEAD = msg(
    "Scores change because the data changed, or because the judge did: a new version behind the same "
    "name, another quantisation, a setting. The same items in the same orders, asked at two times, "
    "tell which."
)
ASK = msg(
    "To ask again, every night if you like (exit code 0: the same, 4: changed, 5: undecided). It "
    "asks as many items as it takes, keeps the answers as a run of its own, and asks nothing twice."
)
COMMAND = "python -m rubriclab drift judge.card.json --against {run} --store {store}"


def section(store: Store, info: RunInfo) -> None:
    """Which later run, which newer data, then what changed."""
    with st.expander(tr("Has the judge changed?"), icon=":material/published_with_changes:"):
        st.markdown(tr(LEAD))
        others = {run: one for run, one in ui.judged_runs((info.axis,)).items() if run != info.run}
        if info.axis in ("listwise", "batch"):
            st.info(tr("Of lists of three or more and of batches this is not told."), icon=":material/info:")
            return
        st.markdown(tr(ASK))
        ui.verbatim(COMMAND.format(run=info.run, store=store.path))
        if not others:
            st.caption(tr("Once a later run about the same items is in the store, it is set beside this one here."))
            return
        names = {run: ui.plain(ui.run_label(one)) for run, one in others.items()}
        now = st.selectbox(tr("Asked again in"), list(others), format_func=names.__getitem__, key="drift-now")
        left, right = st.columns(2)
        with left:
            code = _setting(store, info.run, tr("Judge then"), "then")
        with right:
            code_now = _setting(store, now, tr("Judge now"), "now")
        listed = ["", *(run for run in others if run != now)]
        new = st.selectbox(
            tr("Newer data, asked now"),
            listed,
            format_func=lambda run: names.get(run, tr("none")),
            key="drift-new",
            help=tr(
                "A run of today's judge on other texts: the change of the mean is split into the judge's part "
                "and theirs."
            ),
        )
        if st.button(tr("Compare then and now"), key="drift-compare", icon=":material/compare_arrows:"):
            _compared(store, info, now, new, code, code_now)


def _setting(store: Store, run: str, label: str, tag: str) -> int:
    """An arm of each judge and setting of a run, by its number."""
    arms: dict[tuple[object, ...], tuple[int, Arm]] = {}
    for code, arm in enumerate(store.frame(run).arms):
        arms.setdefault((about(arm), arm.scores, arm.n_positions), (code, arm))
    listed = dict(arms.values())
    chosen: int = st.selectbox(
        label, list(listed), format_func=lambda code: ui.plain(about(listed[code])), key=f"drift-{tag}-{run}"
    )
    return chosen


def _compared(store: Store, info: RunInfo, now: str, new: str, code: int, code_now: int) -> None:
    try:
        with st.spinner(tr("Comparing …")):
            revisions = tuple(store.revision(run) for run in (info.run, now, new) if run)
            found = _drift(store, store.path, info.run, now, new, code, code_now, (*revisions, language()))
    except LabError as fault:
        st.info(ui.plain(str(fault)), icon=":material/info:")
        return
    head, *rest = sentences(found)
    st.markdown(f"**{ui.plain(head)}**")
    ui.chart(then_and_now(found), key="drift-chart", info=info)
    for text in rest:
        st.markdown(f"- {ui.plain(text)}")
    if found.turns:
        uf.table(_orders(found), key="drift-turns")
    st.download_button(
        tr("These findings (Markdown)"),
        markdown(found),
        file_name=f"{now}.drift.md",
        mime="text/markdown",
        key="drift-markdown",
        icon=":material/download:",
        on_click="ignore",
    )


@st.cache_data(max_entries=16, show_spinner=False)
def _drift(
    _store: Store, path: str, run: str, now: str, new: str, code: int, code_now: int, revisions: tuple[str, ...]
) -> Drift:
    del path, revisions  # what they hold, the language too, is part of what the answer is kept by
    frames = [_store.frame(one, probabilities=True) for one in (run, now)]
    newer = _store.frame(new, probabilities=True) if new else None
    return drift(frames[0], frames[1], new=newer, arm=code, arm_now=code_now)


def _orders(found: Drift) -> pd.DataFrame:
    rows = [
        {
            msg("What the order does"): tr(turn.name),
            msg("Change, points"): turn.change,
            msg("from"): turn.ci_all.low,
            msg("to"): turn.ci_all.high,
        }
        for turn in found.turns
    ]
    return pd.DataFrame(rows).round(3)
