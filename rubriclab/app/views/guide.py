"""The first visit: four pictures from the recorded run, each one idea."""

from __future__ import annotations

import math

import streamlit as st

from rubriclab.app import ui
from rubriclab.app.views import cards
from rubriclab.app.views import common as uf
from rubriclab.app.views.rubric_shown import show_options
from rubriclab.app.views.shown import showing_of
from rubriclab.figures.guide import means_by_item, noise_bars, position_bars, score_by_order
from rubriclab.findings.guide import (
    MEANS_OF_READS,
    ORDER_BESIDE_NOISE,
    PICKED_POSITIONS,
    VARIED_ARMS,
    MeansOfReads,
    OrderBesideNoise,
    PickedPositions,
)
from rubriclab.findings.position import POSITION, position_sentence
from rubriclab.findings.position_results import PositionArm
from rubriclab.findings.reads import Read, reads_of
from rubriclab.findings.telling import TELLING_ITEM
from rubriclab.model import Arm
from rubriclab.model.language import tr
from rubriclab.model.wording import beyond_noise, many, number, p_value
from rubriclab.report.presentation import averaging
from rubriclab.store import RunInfo

STEPS = (1, 5, 10)
"""After how many answers the second picture stops on its way to all of them."""


def judges(info: RunInfo) -> dict[int, Arm]:
    """The judges the pictures can show, by the code of their balanced arm."""
    arms = uf.arms_of(info)
    return {code: arms[code] for code in ui.finding(info, VARIED_ARMS)}


# ---------------------------------------------------------------- the minute: two cards, all answers, what helps


def two_cards(info: RunInfo, code: int, arm: Arm) -> None:
    """One answer under two orders; what all answers say together; what helps: without a click."""
    shown = showing_of(info, arm=code)
    found = ui.findings(info)
    over_all = next((position_sentence(one) for one in found.of(POSITION).arms if one.arm == arm), "")
    cards.two_cards(shown)
    st.caption(f"{ui.plain(arm.judge)}. {ui.plain(shown.control.sentence)} {ui.plain(shown.chosen)}")
    helps = averaging(found, arm.judge)
    left, right = st.columns(2, gap="large")
    left.markdown(tr("**Over all answers.** {sentence}", sentence=ui.plain(over_all)))
    if helps:
        right.markdown(tr("**What helps.** {sentence}", sentence=ui.plain(helps)))
    with st.container(horizontal=True, vertical_alignment="center"):
        cards.copy(shown, over_all, address={"judge": arm.judge}, key="guide-copy")
        cards.present_link(info.run, arm.judge)
        st.page_link("pages/trial.py", label=tr("Try it with a text of your own"), icon=":material/bolt:")


# ---------------------------------------------------------------- 1: the same answer


@st.fragment
def same_answer(info: RunInfo, code: int, arm: Arm) -> None:
    """One answer under every order of the run: what was shown, and the score that came back."""
    item = ui.finding(info, TELLING_ITEM, arm=code)
    reads = _reads(info, code, item)
    st.subheader(tr("1 · The same answer, another order"), anchor="order")
    st.markdown(
        tr(
            "**{judge}** scores one answer {reads} times. The answer, the question and the descriptions "
            "never change, only the order of the list. Move the slider.",
            judge=ui.plain(arm.judge),
            reads=len(reads),
        )
    )
    order = ui.slide(
        tr("Order shown"),
        list(range(1, len(reads) + 1)),
        key=f"guide-order-{code}",
        address="order",
        about=ui.about("ordering"),
    )
    read = reads[order - 1]
    left, right = st.columns([5, 6], gap="large", vertical_alignment="center")
    with left:
        show_options(read, descriptions(info), title=tr("As the judge read it, order {order}", order=order))
    with right:
        ui.chart(score_by_order(reads, marked=order - 1, scores=arm.scores), key=f"guide-scores-{code}")
    st.markdown(_jump(reads))
    with st.expander(tr("The question and the answer that were scored")):
        text = ui.store().item_text(info.run, item)
        if text is not None:
            ui.verbatim(text.instruction, label=tr("Question"))
            ui.verbatim(text.response, label=tr("Answer"))


def _reads(info: RunInfo, code: int, item: int) -> tuple[Read, ...]:
    frame = ui.store().judgments_behind(info.run, arm=code, item=item)
    return reads_of(frame.sort_values("read", kind="stable"))


def descriptions(info: RunInfo) -> dict[str, str | None]:
    """What each score stands for, by the score as text."""
    rubric = ui.store().study(info.run).rubric
    if rubric is None:
        return {}
    return {str(option.score): option.description for option in rubric.criteria[0].options}


def _jump(reads: tuple[Read, ...]) -> str:
    known = [read.score for read in reads if read.score is not None]
    return tr(
        "Lowest score **{low:g}**, highest **{high:g}**, for the very same answer. (It is shown "
        "because its scores lie farthest apart: the last picture has the others.) Did the order do that, "
        "or does the judge waver by itself?",
        low=min(known),
        high=max(known),
    )


# ---------------------------------------------------------------- 2: noise


def same_order(info: RunInfo) -> None:
    """How often readings differ in one order, the judge's own noise, and in different orders."""
    found = ui.finding(info, ORDER_BESIDE_NOISE)
    known = [one for one in found if one.control is not None and one.items]
    st.subheader(tr("2 · The same order twice"), anchor="noise", help=ui.about("same_order"))
    if not known:
        st.markdown(
            tr(
                "This run asked nothing twice in the same order, so what the order changes and what the judge "
                "changes by itself cannot be told apart in it: noise is included in every picture."
            )
        )
        return
    st.markdown(
        tr(
            "The judges were also asked again and again in **one and the same order**. Whatever differs "
            "there is their own noise. Only what different orders add to it is the order's doing."
        )
    )
    ui.chart(noise_bars(known), key="guide-noise")
    st.markdown("\n".join(f"- {_beside_noise(one)}" for one in known))


def _beside_noise(one: OrderBesideNoise) -> str:
    low, high = one.ci
    held = tr("95 % interval {low:.0f} to {high:.0f}, {items} answers", low=100 * low, high=100 * high, items=one.items)
    if low > 0:
        said = tr("the order adds **{excess:.0f} percentage points** ({held})", excess=100 * one.excess, held=held)
    elif math.isfinite(low):
        excess = beyond_noise(100 * one.excess, "+.0f", tr("percentage points"))
        said = tr("whether the order adds to that is undecided: {excess} ({held})", excess=excess, held=held)
    else:
        said = tr("{answers} {answers:is|are} too few to say what the order adds", answers=many(one.items, "answer"))
    return tr(
        "**{judge}** gives another score in {same:.0%} of pairs of readings in the same order and in "
        "{other:.0%} in different orders: {said}.",
        judge=ui.plain(one.arm.judge),
        same=one.same,
        other=one.other,
        said=said,
    )


# ---------------------------------------------------------------- 3: the places


@st.fragment
def places(info: RunInfo) -> None:
    """Positions picked by both judges, as more and more answers are counted."""
    whole = ui.finding(info, PICKED_POSITIONS, items=10**9)
    most = max(one.of_items for one in whole)
    steps = [*(step for step in STEPS if step < most), most]
    st.subheader(tr("3 · The places it picks"), anchor="chance")
    st.markdown(
        tr(
            "Count where the chosen description stood. Every score was shown at every position equally "
            "often, so a judge that the order does not move comes near the dotted line; with few answers it "
            "may lie off by chance. Count more answers."
        )
    )
    items = ui.slide(
        tr("Answers counted"), steps, key="guide-items", address="items", default=steps[0], about=ui.about("share")
    )
    story = {step: ui.finding(info, PICKED_POSITIONS, items=step) for step in steps}
    top = max(float(one.share.max()) for found in story.values() for one in found)
    ui.chart(position_bars(story[items], top=top), key="guide-positions")
    st.markdown("\n".join(f"- {_leaning(one)}" for one in story[items]))
    if items == most:
        arms = ui.finding(info, POSITION).arms
        tested = [a for a in arms if a.arm in [one.arm for one in whole]]
        st.markdown(_tested(tested), help=ui.about("average_effect"))


def _leaning(one: PickedPositions) -> str:
    top = int(one.share.argmax())
    return tr(
        "**{judge}** chose position {position} in {share:.0%} of {judgments}; even would be {even:.0%}.",
        judge=ui.plain(one.arm.judge),
        position=top + 1,
        share=one.share[top],
        judgments=many(one.read, "judgment"),
        even=1 / len(one.share),
    )


def _tested(arms: list[PositionArm]) -> str:
    told = "; ".join(
        tr(
            "{judge} {p}, Cramér's V {v} without noise",
            judge=ui.plain(a.arm.judge),
            p=p_value(a.position.p_holm),
            v=number(a.position.v, ".2f"),
        )
        for a in arms
    )
    return tr(
        "A test that knows that scores of one answer belong together: {judges}. One in twenty judges that "
        "no place moves has a p below 0.05 too: it is no verdict. How much places matter is for V, and "
        "verdicts, in points, stand on the results page.",
        judges=told,
    )


# ---------------------------------------------------------------- 4: the way out


@st.fragment
def way_out(info: RunInfo, code: int, arm: Arm) -> None:
    """Means of k reads beside the mean over all orders: what averaging buys and costs."""
    reads = ui.finding(info, MEANS_OF_READS, arm=code, k=1).reads
    st.subheader(tr("4 · The way out"), anchor="way-out")
    st.markdown(
        tr(
            "Ask under several orders and take the mean. A dot is an answer's mean over all {reads} orders; "
            "a bar is where the mean of only some of them can fall. Average more orders.",
            reads=reads,
        )
    )
    k = ui.slide(
        tr("Orders averaged"),
        list(range(1, reads + 1)),
        key=f"guide-k-{code}",
        address="k",
        about=ui.about("running_mean"),
    )
    found = ui.finding(info, MEANS_OF_READS, arm=code, k=k)
    ui.chart(means_by_item(found, scores=arm.scores), key=f"guide-means-{code}")
    st.markdown(_price(found))
    st.caption(
        tr(
            "In these orders every score stands at every place equally often, so what a place adds by itself "
            "cancels in their mean; the judge's own noise, and what neighbours in the list do, do not. Nor "
            "is the mean right for that: whether it agrees with people is another question, and a judge that "
            "cannot tell answers apart gives every answer much the same mean. Where many calls are too dear, "
            "one corrected call may help: see Causes and cures."
        )
    )


def _price(found: MeansOfReads) -> str:
    calls = tr("{calls} an answer", calls=many(found.k, "call"))
    if found.k == found.reads:
        return tr(
            "All {reads} orders of this design, for {calls}: no choice between them is left.",
            reads=found.reads,
            calls=calls,
        )
    if found.k == 1:
        return tr(
            "With **one order** a score is typically **{distance:.2f} points** away from the mean over all {reads}, "
            "noise included. It costs {calls}.",
            distance=found.distance,
            reads=found.reads,
            calls=calls,
        )
    return tr(
        "With **{orders} orders** a score is typically **{distance:.2f} points** away from the mean over all {reads}, "
        "noise included. It costs {calls}.",
        orders=found.k,
        distance=found.distance,
        reads=found.reads,
        calls=calls,
    )


# ---------------------------------------------------------------- where to next


def ways_on(info: RunInfo) -> None:
    """Three ways on from here, as equal cards."""
    st.subheader(tr("Now you"), anchor=False)
    ways: tuple[tuple[str, str, str, str, str, dict[str, str]], ...] = (
        (
            tr("Watch it live"),
            tr("Paste a text of your own: does its score move with the order?"),
            "trial",
            tr("Try it"),
            ":material/play_circle:",
            {},
        ),
        (
            tr("Look into this run"),
            tr("Every number of the recorded run, down to each reply."),
            "position",
            tr("Open its results"),
            ":material/grid_on:",
            {"run": info.run},
        ),
        (
            tr("Measure your own judge"),
            tr("Bring your answers and your rubric, choose judges, see the cost first."),
            "data",
            tr("Bring your data"),
            ":material/table_rows:",
            {},
        ),
    )
    for place, (title, text, page, label, icon, address) in zip(st.columns(3), ways, strict=True):
        with place.container(border=True, height="stretch"):
            st.markdown(f"**{title}**  \n{text}")
            st.page_link(f"pages/{page}.py", label=label, icon=icon, query_params=address)
