"""The search for the orders that give a trial's text its highest and its lowest score."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from rubriclab.app import ui
from rubriclab.figures.reads import order_text
from rubriclab.findings.trial import CriteriaTrial, OptionsTrial, Trial
from rubriclab.model import Study
from rubriclab.model.language import tr
from rubriclab.runs.trial import FLIP_CALLS, start_flip

WAY_ON = "what-next"
"""Where the page goes on from, far above what a search has found."""


def search(found: Sequence[Trial], study: Study) -> None:
    st.subheader(tr("Make it flip"), anchor=False)
    st.caption(
        tr(
            "Looks for the orders that give the highest and the lowest score. Each call is chosen from what "
            "the ones before it said. Each order is asked once, so of a judge that is noisy (see the same "
            "order again) the extremes are partly its noise."
        )
    )
    done = [text for one in found if (text := _found(one))]
    for text in done:
        st.markdown(f"- {ui.plain(text)}")
    if done:
        st.markdown(tr(":material/arrow_upward: [What next: show it, or try another text](#{anchor})", anchor=WAY_ON))
    wide = [one for one in found if isinstance(one, OptionsTrial) and _whole_scale(one)]
    if wide and len(wide) == len(found):
        st.caption(tr("The orders above hold both ends of the scale: there is nothing further to find."))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        calls = st.number_input(tr("Calls, at most"), 2, 60, FLIP_CALLS, key="trial-calls", width=140)
        if st.button(tr("Search"), icon=":material/swap_vert:", key="trial-flip"):
            ui.start_or_ask(
                ui.manager(),
                study.name,
                lambda: start_flip(ui.manager(), study, calls=int(calls), secrets=ui.secrets()),
            )


def _found(one: Trial) -> str:
    """What a search found for one judge; nothing where none was made."""
    if isinstance(one, OptionsTrial):
        if len(one.reads) <= len(one.drawn) or one.highest is None or one.lowest is None:
            return ""
        return tr(
            "{judge}: after {calls} further calls the highest is {highest:g} (order {order}), the lowest "
            "{lowest:g} (order {other}).",
            judge=one.judge,
            calls=len(one.reads) - len(one.drawn),
            highest=one.highest.score,
            order=order_text(one.highest),
            lowest=one.lowest.score,
            other=order_text(one.lowest),
        )
    if isinstance(one, CriteriaTrial) and one.highest is not None and one.lowest is not None:
        ends = []
        for call in (one.highest, one.lowest):
            mine = [read for read in one.reads if read.call == call and read.score is not None]
            mean = sum(read.score or 0.0 for read in mine) / len(mine)
            ends.append(tr("{mean:.2f} with {order}", mean=mean, order=", ".join(mine[0].shown)))
        return tr(
            "{judge}: highest mean over the criteria {highest}; lowest {lowest}.",
            judge=one.judge,
            highest=ends[0],
            lowest=ends[1],
        )
    return ""


def _whole_scale(one: OptionsTrial) -> bool:
    return (
        one.lowest is not None
        and one.highest is not None
        and (one.lowest.score, one.highest.score) == (min(one.scores), max(one.scores))
    )
