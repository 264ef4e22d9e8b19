"""The section “Suggestions” of the workshop: rewordings tried, and those that help on items that chose nothing."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.forms.common import judge_label, known_judges
from rubriclab.app.forms.workshop import show_changes
from rubriclab.app.views import common as uf
from rubriclab.datasets.rubric_diff import rubric_diff
from rubriclab.findings.suggested import KEPT, Help
from rubriclab.judges.keys import require_consent
from rubriclab.model import Judge
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.runs.rewording import reword
from rubriclab.runs.suggestions import (
    FINALISTS,
    HELD_OUT,
    Leaderboard,
    Round,
    Standing,
    calls_needed,
    leaderboard,
    own_wordings,
    proposals,
    with_held_out,
)
from rubriclab.runs.workshop import Bench, Version
from rubriclab.study.rubric_suggestions import Suggestion

LOOK = 1.5
"""Seconds between two looks at a round that goes on."""
LEAD = msg(
    "The lab rewords the rubric by rules of its own, and takes other versions of this bench as "
    "yours. All are asked on the sample; the best go on to items that the sample left out. Only what "
    "helps there is said to help: the order moves scores less, and agreement with people does not "
    "fall."
)


@st.cache_resource(show_spinner=False)
def _rounds_of(path: str) -> dict[str, Round]:  # noqa: ARG001  (a key of the cache)
    """By bench of the store at ``path`` the round that was started last in this process."""
    return {}


def _rounds() -> dict[str, Round]:
    return _rounds_of(ui.store().path)


def section(bench: Bench) -> None:
    """What may be tried, what is being tried, and the leaderboard."""
    st.markdown(tr(LEAD))
    names = [version.name for version in bench.versions]
    base = bench.version(ui.choose(tr("Reword"), names, key="suggest-version", address="suggest-version"))
    going = _rounds().get(bench.id)
    if going is not None and going.active:
        st.fragment(_live, run_every=LOOK)(bench.id)
        return
    if going is not None and going.fault:
        st.warning(ui.plain(going.fault), icon=":material/warning:")
    tried = proposals(base.rubric, own_wordings(ui.store(), bench, base))
    if not tried:
        st.info(
            tr("No rule has anything to say about this wording. Edit the rubric under “Bench” for one of your own.")
        )
    elif bench.held_out is None:
        st.info(
            tr(
                "This bench judges all items of its data, so none is left to test a wording on. Make a bench of "
                "fewer items."
            ),
            icon=":material/info:",
        )
    else:
        _offer(bench, base, tried)
    _shown(bench, leaderboard(ui.store(), bench, base=base.name, tried=tried))


def _wordings(base: Version, tried: Sequence[Suggestion]) -> None:
    """Each wording, why it is tried, and what it changes."""
    with st.expander(tr("{wordings} to try", wordings=many(len(tried), "wording")), icon=":material/edit_note:"):
        for one in tried:
            st.markdown(f"**{ui.plain(tr(one.title))}**: {ui.plain(tr(one.why))}")
            show_changes(rubric_diff(base.rubric, one.rubric))


def _offer(bench: Bench, base: Version, tried: Sequence[Suggestion]) -> None:
    """The wordings with what each changes, what trying them takes, and the button."""
    _wordings(base, tried)
    most = len(bench.held_out.items) if bench.held_out is not None else 0
    by_key = {one.key: one for one in tried}
    tried = [
        by_key[key]
        for key in ui.choose_many(
            tr("To try"),
            list(by_key),
            key=f"suggest-tried-{base.run}",
            address="try",
            default=list(by_key),
            name=lambda key: tr(by_key[key].title),
        )
    ]
    _writer(bench, base)
    if not tried:
        st.caption(tr("Choose a wording to try."))
        return
    with st.container(horizontal=True, vertical_alignment="bottom"):
        items = int(st.number_input(tr("Held-out items"), 1, most, min(HELD_OUT, most), key="suggest-items", width=150))
        finalists = int(
            st.number_input(
                tr("Tested on them"), 1, len(tried), min(FINALISTS, len(tried)), key="suggest-go-on", width=150
            )
        )
        pressed = st.button(tr("Try them"), type="primary", icon=":material/science:", key="suggest-start")
    fewer = with_held_out(bench, items)
    with st.spinner(tr("Counting the calls …")):
        calls = calls_needed(ui.store(), fewer, base, tried, finalists=finalists)
    st.caption(
        tr(
            "At most {calls}; what was asked before is not asked again. Testing more wordings at once makes "
            "each interval wider.",
            calls=many(calls, "call"),
        )
    )
    if pressed:
        ui.start_or_ask(ui.manager(), bench.study.name, lambda: _start(bench, base, tried, items, finalists))


def _writer(bench: Bench, base: Version) -> None:
    """A chat model rewords the version too; its wording is among those to try from then on, and left out by a click."""
    writers = {name: judge for name, judge in known_judges().items() if not judge.simulated}
    if not writers:
        return
    with st.popover(tr("Let a chat model reword it"), icon=":material/edit_square:"):
        st.caption(
            tr(
                "One call a criterion. The wording is kept among the rubrics, shown above to be read, and tried "
                "like others."
            )
        )
        name = st.selectbox(
            tr("Writer"), list(writers), key="suggest-writer", format_func=lambda n: judge_label(writers[n])
        )
        if st.button(tr("Write"), key="suggest-write", icon=":material/edit:"):
            with ui.faults():
                ui.start_or_ask(ui.manager(), name, lambda: _write(bench, base, writers[name]))


def _write(bench: Bench, base: Version, writer: Judge) -> None:
    with st.spinner(tr("{writer} writes …", writer=ui.plain(writer.name))):
        made = reword(bench.study, base.rubric, writer, ui.store(), secrets=ui.secrets())
    made = ui.store().add_rubric(made)
    st.session_state.pop(f"suggest-tried-{base.run}", None)
    st.query_params.pop("try", None)
    ui.announce(tr("Kept among the rubrics: {name}", name=made.name))


def _start(bench: Bench, base: Version, tried: Sequence[Suggestion], items: int, finalists: int) -> None:
    require_consent((bench.judge,), ui.store())
    options = {"base": base.name, "items": items, "finalists": finalists, "secrets": ui.secrets()}
    _rounds()[bench.id] = Round(ui.manager(), bench, tried, **options).start()


def _live(code: str) -> None:
    """What is being asked, while it is; the whole page once it is not."""
    going = _rounds().get(code)
    if going is None or not going.active:
        st.rerun()
    shown = going.run.snapshot() if going.run is not None else None
    share = shown.done / max(1, shown.planned) if shown is not None else 0.0
    told = tr("Asking {stage}", stage=ui.plain(going.stage))
    if shown is not None:
        told += tr(": {done:,} of {planned:,} calls", done=shown.done, planned=shown.planned)
    st.progress(min(share, 1.0), told)
    if st.button(tr("Stop"), icon=":material/stop:", key="suggest-stop"):
        going.stop()


def _shown(bench: Bench, board: Leaderboard) -> None:
    if not board.standings:
        return
    uf.answer(board.sentence)
    rows = [_row(one) for one in board.standings]
    st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        column_config={
            **{name: tr(name) for name in rows[0]},
            "verdict": st.column_config.TextColumn(tr("on held-out items"), width="large"),
        },
        key=f"suggest-board-{bench.id}",
    )
    st.caption(
        tr(
            "By how many points (sd) the order moves a score beyond the judge's own noise, before and with "
            "the wording. The sample chose what was tested, so it is no evidence. Intervals of all tested "
            "wordings hold at once with 95 %; r with people must be shown not to fall by {kept:g} or more.",
            kept=KEPT,
        )
    )
    _judgments(board.standings)


def _judgments(standings: Sequence[Standing]) -> None:
    """The way to the judgments of each wording: on the held-out items where it was asked there, else on the sample."""
    st.markdown(tr("**Judgments of**"))
    with st.container(horizontal=True):
        for one in standings:
            st.page_link(
                "pages/judgments.py",
                label=ui.plain(tr(one.title)),
                icon=":material/arrow_forward:",
                query_params={"run": one.held_out_run or one.run},
                width="content",
            )


def _row(one: Standing) -> dict[str, object]:
    held = one.held_out
    return {
        msg("wording"): tr(one.title),
        "verdict": tr("not asked there") if held is None else _verdict(held),
        msg("held out"): _moved(held),
        msg("sample"): _moved(one.sample),
        msg("r with people"): "–" if held is None else _agreement(held),
    }


def _moved(found: Help | None) -> str:
    return "–" if found is None else f"{number(found.before, '.2f')} → {number(found.spread, '.2f')}"


def _agreement(held: Help) -> str:
    if not isfinite(held.agreement):
        return "–"
    return f"{number(held.agreement, '+.2f')} {interval(held.agreement_ci, '+.2f', brackets=True)}"


def _verdict(held: Help) -> str:
    if held.helps:
        return tr("effect: helps, on {items}", items=many(held.n_items, "item"))
    if held.verdict == "effect":
        if held.change > 0:
            return tr("effect: the order moves scores more")
        return tr("effect: {why}", why=held.why) if held.why else tr("effect: agreement may fall")
    return tr(held.verdict) + (f": {held.why}" if held.why else "")
