"""What a trial shows: the answer in words, the score as it moves, the rubric as it was shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

import pandas as pd
import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import cards
from rubriclab.app.views import common as uf
from rubriclab.app.views.rubric_shown import show_options
from rubriclab.app.views.shown import judges_of, showing_of
from rubriclab.app.views.trial_search import WAY_ON, search
from rubriclab.figures.reads import criteria_strip, order_text, reads_strip
from rubriclab.findings.reads import Read
from rubriclab.findings.trial import CriteriaTrial, OptionsTrial, Prior, Trial
from rubriclab.findings.trial_control import Control
from rubriclab.findings.trial_orders import first_reads
from rubriclab.findings.trial_pairs import PairTrial
from rubriclab.model import Comparison, Study
from rubriclab.model.language import language, msg, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.runs.runner import AGENDA_DONE
from rubriclab.runs.trial import measured_priors, read_trial
from rubriclab.store import RunInfo

REDRAWN = 1.2
"""Seconds between two looks while judges answer: each costs the processor that an embedded judge
thinks on."""


def show(info: RunInfo, *, next_text: Callable[[], None]) -> None:
    """The trial, redrawn while it goes on. ``next_text`` puts another text into the form."""
    going = ui.manager().get(info.run)
    if going is not None and going.snapshot().active:
        st.fragment(_live, run_every=REDRAWN)(info)
    else:
        _ended(info, next_text)


def _live(info: RunInfo) -> None:
    run = ui.manager().get(info.run)
    shown = run.snapshot() if run is not None else None
    if run is None or shown is None or not shown.active:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        said = ui.plain(tr(shown.stage)) if shown.stage else tr("{answers} so far", answers=many(shown.done, "answer"))
        st.markdown(f":blue[:material/hourglass_top:] {said}", width="stretch")
        if st.button(tr("Stop"), icon=":material/stop:", key="trial-stop"):
            run.cancel()
    _beside(told(info), partial(_live_judge, study=_study(info), info=info))


def _ended(info: RunInfo, next_text: Callable[[], None]) -> None:
    run = ui.manager().get(info.run)
    if run is not None and (why := run.snapshot().reason) and not why.startswith(AGENDA_DONE):
        st.warning(ui.plain(tr(why)), icon=":material/warning:")
    found, study = told(info), _study(info)
    _beside(found, partial(_answer, info=info))
    _way_on(found, info, next_text)
    if study.design.axis != "pairwise":
        st.subheader(tr("Every order"), anchor=False)
        _beside(found, partial(_details, study=study, info=info, live=False, named=len(found) > 1))
        search(found, study)


def _way_on(found: Sequence[Trial], info: RunInfo, next_text: Callable[[], None]) -> None:
    """What a visitor does next: take it along, show it to others, try another text, look closer, judge many."""
    shown = showing_of(info) if judges_of(info) else None
    st.subheader(tr("What next"), anchor=WAY_ON)
    with st.container(horizontal=True, vertical_alignment="center"):
        cards.copy(shown, "\n".join(one.sentence for one in found), address={"run": info.run}, key="trial-copy")
        if shown is not None:
            cards.present_link(info.run)
        st.button(tr("Next text"), icon=":material/skip_next:", key="trial-next", on_click=next_text, shortcut="N")
        st.page_link(
            "pages/judgments.py",
            label=tr("Every reply, word for word"),
            icon=":material/manage_search:",
            query_params={"run": info.run},
        )
        st.page_link("pages/study.py", label=tr("Many texts: a study of your own"), icon=":material/science:")


def _beside(found: Sequence[Trial], part: Callable[..., None]) -> None:
    """``part`` of each judge side by side, two a row; it is told whether it stands alone."""
    alone = len(found) == 1
    for pair in zip_longest(found[::2], found[1::2]):
        places = [st.container()] if alone else st.columns(2, gap="large")
        for place, one in zip(places, pair, strict=False):
            if one is not None:
                with place:
                    part(one, alone=alone)


def _head(one: Trial, *, live: bool) -> None:
    """The sentence, and the judge's own noise beside it."""
    if one.simulated:
        st.caption(tr(":orange-badge[simulated] A judge with planted effects, not a model."))
    uf.answer(one.sentence if one.reads or not live else tr("{judge} is reading …", judge=one.judge))
    if one.reads and not (live and one.control.verdict == "unknown"):
        _control(one.control)


def _answer(one: Trial, *, info: RunInfo, alone: bool) -> None:
    """What came of it: the sentence and the two cards."""
    del alone
    _head(one, live=False)
    if one.judge in judges_of(info):
        cards.two_cards(showing_of(info, judge=one.judge))
    if isinstance(one, PairTrial):
        _asked_again(one)


def _live_judge(one: Trial, *, study: Study, info: RunInfo, alone: bool) -> None:
    _head(one, live=True)
    _details(one, study=study, info=info, live=True, named=False, alone=alone)


def _details(one: Trial, *, study: Study, info: RunInfo, live: bool, named: bool, alone: bool) -> None:
    """Every order that was asked. ``named``: the judge is said once more."""
    if named:
        st.markdown(f"**{ui.plain(one.judge)}**")
    if isinstance(one, OptionsTrial):
        _options(one, study, info, live=live, alone=alone)
    elif isinstance(one, CriteriaTrial):
        _criteria(one, info)
    elif live:
        _pair(one, study)


def _control(control: Control) -> None:
    """The judge's own noise, which everything below is to be read beside."""
    icon = {
        "agrees": ":green[:material/check_circle:]",
        "differs": ":orange[:material/casino:]",
        "unknown": ":gray[:material/help:]",
    }[control.verdict]
    st.markdown(f"{icon} {ui.plain(control.sentence)}", help=ui.about("same_order"))


# ---------------------------------------------------------------- score options


def _options(one: OptionsTrial, study: Study, info: RunInfo, *, live: bool, alone: bool) -> None:
    if one.reads:
        _numbers(one, alone=alone)
    key = f"trial-strip-{info.run}-{one.arm}"
    strip = reads_strip(
        one.drawn,
        running=one.running,
        scores=one.scores,
        usual=True,
        again=one.again,
        columns=first_reads(len(one.scores)),
    )
    ui.chart(strip, key=key, info=None if live else info)
    ring = tr(" Ring: the usual order asked again, in no mean.") if one.again else ""
    st.caption(
        tr(
            "Each column is one order, from top to bottom as the judge read it; darker is likelier, the "
            "frame is its choice. Above: the score it gave (dot) and the mean so far (line) with its 95 % "
            "interval (band).{ring}",
            ring=ring,
        )
    )
    searched = [read for read in one.reads if read not in one.drawn]
    if searched:
        st.markdown(tr("**The search: {orders} further orders**, chosen to give extreme scores", orders=len(searched)))
        ui.chart(reads_strip(searched, scores=one.scores), key=f"{key}-search", info=None if live else info)
    if one.could_differ is not None:
        st.caption(
            tr(
                "All agree so far: up to {share:.0%} of all {orders} might still give another score (95 % limit).",
                share=one.could_differ,
                orders=many(one.orders, "order"),
            )
        )
    if live and one.reads:
        last = one.reads[-1]
        show_options(last, _descriptions(study), title=tr("Just judged: order {order}", order=order_text(last)))


def _numbers(one: OptionsTrial, *, alone: bool) -> None:
    """The usual order's answer against the debiased ones."""
    usual = one.usual
    cells = [
        (
            tr("Usual order"),
            "–" if usual is None or usual.score is None else number(usual.score, "g"),
            _beside_usual(one),
            ui.about("ordering"),
        ),
        (
            tr("Mean over {orders}", orders=many(len(one.running.read), "order")),
            number(one.mean, ".2f"),
            interval(one.ci, ".2f"),
            ui.about("running_mean"),
        ),
        (
            tr("One corrected call"),
            number(one.corrected, ".2f"),
            tr("prior of {name}", name=one.prior.name) if one.prior is not None else tr("no prior measured yet"),
            ui.about("debiased"),
        ),
        (
            tr("Lowest and highest"),
            _ends(one),
            tr("{reads} of {orders} asked", reads=len(one.reads), orders=many(one.orders, "order")),
            ui.about("bias"),
        ),
    ]
    if alone:
        uf.metrics(*cells)
    else:
        uf.metrics(*cells[:2])
        uf.metrics(*cells[2:])


def _beside_usual(one: OptionsTrial) -> str:
    """Where the usual order's choice stood, and what the order gave when asked again."""
    place = one.usual.position if one.usual is not None else None
    again = [read.score for read in one.again if read.score is not None]
    parts = [tr("at position {place}", place=place)] if place else []
    parts += [tr("again: {scores}", scores=", ".join(number(score, "g") for score in again))] if again else []
    return ", ".join(parts)


def _ends(one: OptionsTrial) -> str:
    if one.lowest is None or one.highest is None:
        return "–"
    return tr("{low} to {high}", low=number(one.lowest.score, "g"), high=number(one.highest.score, "g"))


def _descriptions(study: Study) -> dict[str, str | None]:
    if study.rubric is None:
        return {}
    return {str(o.score): o.description for o in study.rubric.criteria[0].options}


# ---------------------------------------------------------------- criteria and pairs


def _criteria(one: CriteriaTrial, info: RunInfo) -> None:
    if not one.reads:
        return
    ui.chart(criteria_strip(one.reads, scores=one.scores), key=f"trial-criteria-{info.run}-{one.arm}", info=info)
    if one.unread:
        st.caption(
            tr("{unread} of {scores} could not be read (–).", unread=one.unread, scores=many(len(one.reads), "score"))
        )
    rows = [(c.name, c.usual, c.again, c.mean, c.ci.low, c.ci.high, c.lowest, c.highest) for c in one.criteria]
    names = [
        msg("criterion"),
        msg("usual order"),
        msg("again"),
        msg("mean"),
        msg("low"),
        msg("high"),
        msg("lowest"),
        msg("highest"),
    ]
    whole = ["usual order", "again", "lowest", "highest"]
    uf.table(
        pd.DataFrame(rows, columns=names),
        key=f"trial-table-{info.run}-{one.arm}",
        forms={"%.2f": ["mean", "low", "high"], "%g": whole},
    )


def _pair(one: PairTrial, study: Study) -> None:
    """Both orders beside each other, the winner lit."""
    item = study.dataset.items[0]
    if not isinstance(item, Comparison):
        return
    texts = {name: turns[0] for name, turns in zip(item.candidates, item.responses, strict=True)}
    cut = {name: text if len(text) <= 280 else text[:279] + "…" for name, text in texts.items()}
    titles = {name: f"{name}: {text}" for name, text in cut.items()}
    by_order: dict[tuple[str, ...], list[Read]] = {}
    for read in one.reads:
        by_order.setdefault(read.shown, []).append(read)
    places = st.columns(2, gap="medium")
    for turn, (place, (shown, reads)) in enumerate(zip(places, by_order.items(), strict=False), 1):
        with place:
            show_options(reads[0], titles, title=tr("Order {turn}: {answer} first", turn=turn, answer=shown[0]))


def _asked_again(one: PairTrial) -> None:
    """What each order gave when it was asked again."""
    by_order: dict[tuple[str, ...], list[Read]] = {}
    for read in one.reads:
        by_order.setdefault(read.shown, []).append(read)
    for shown, reads in by_order.items():
        if reads[1:]:
            again = ", ".join(_choice(read) for read in reads[1:])
            st.caption(
                tr("{answer} first. The same order again: {again}.", answer=ui.plain(shown[0]), again=ui.plain(again))
            )


def _choice(read: Read) -> str:
    if read.position is None:
        return tr("nothing that could be read ({status})", status=tr(read.status))
    return read.shown[read.position - 1] if read.position else tr("a tie")


# ---------------------------------------------------------------- read once


class _Key(NamedTuple):
    """What a trial's words depend on: the store, the run, what is kept of its answers, and the language."""

    path: str
    run: str
    revision: str = ""
    spoken: str = ""


@st.cache_resource(show_spinner=False, max_entries=16)
def _study_of(key: _Key) -> Study:
    return ui.store().study(key.run)


def _study(info: RunInfo) -> Study:
    return _study_of(_Key(ui.store().path, info.run))


@st.cache_resource(show_spinner=False, max_entries=16)
def _priors(key: _Key) -> dict[str, Prior]:
    return measured_priors(ui.store(), _study_of(key))


@st.cache_resource(show_spinner=False, max_entries=64)
def _told_of(key: _Key) -> tuple[Trial, ...]:
    return read_trial(ui.store(), key.run, priors=_priors(key._replace(revision="", spoken="")))


def told(info: RunInfo) -> tuple[Trial, ...]:
    """What the trial says with the answers that the store has; worked out once for each state of them.

    A run that is going counts answers that are yet to be kept: by its count, words about a part of
    the answers would be taken for those about all.
    """
    return _told_of(_Key(ui.store().path, info.run, ui.store().revision(info.run), language()))
