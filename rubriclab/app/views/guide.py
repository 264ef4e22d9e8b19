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
    left.markdown(f"**Over all answers.** {ui.plain(over_all)}")
    if helps:
        right.markdown(f"**What helps.** {ui.plain(helps)}")
    with st.container(horizontal=True, vertical_alignment="center"):
        cards.copy(shown, over_all, address={"judge": arm.judge}, key="guide-copy")
        cards.present_link(info.run, arm.judge)
        st.page_link("pages/trial.py", label="Try it with a text of your own", icon=":material/bolt:")


# ---------------------------------------------------------------- 1: the same answer


@st.fragment
def same_answer(info: RunInfo, code: int, arm: Arm) -> None:
    """One answer under every order of the run: what was shown, and the score that came back."""
    item = ui.finding(info, TELLING_ITEM, arm=code)
    reads = _reads(info, code, item)
    st.subheader("1 · The same answer, another order", anchor="order")
    st.markdown(
        f"**{ui.plain(arm.judge)}** scores one answer {len(reads)} times. The answer, the question "
        "and the descriptions never change, only the order of the list. Move the slider."
    )
    order = ui.slide(
        "Order shown",
        list(range(1, len(reads) + 1)),
        key=f"guide-order-{code}",
        address="order",
        about=ui.about("ordering"),
    )
    read = reads[order - 1]
    left, right = st.columns([5, 6], gap="large", vertical_alignment="center")
    with left:
        show_options(read, descriptions(info), title=f"As the judge read it, order {order}")
    with right:
        ui.chart(score_by_order(reads, marked=order - 1, scores=arm.scores), key=f"guide-scores-{code}")
    st.markdown(_jump(reads))
    with st.expander("The question and the answer that were scored"):
        text = ui.store().item_text(info.run, item)
        if text is not None:
            ui.verbatim(text.instruction, label="Question")
            ui.verbatim(text.response, label="Answer")


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
    return (
        f"Lowest score **{min(known):g}**, highest **{max(known):g}**, for the very same answer. (It is "
        "shown because its scores lie farthest apart: the last picture has the others.) Did the "
        "order do that, or does the judge waver by itself?"
    )


# ---------------------------------------------------------------- 2: noise


def same_order(info: RunInfo) -> None:
    """How often readings differ in one order, the judge's own noise, and in different orders."""
    found = ui.finding(info, ORDER_BESIDE_NOISE)
    known = [one for one in found if one.control is not None and one.items]
    st.subheader("2 · The same order twice", anchor="noise", help=ui.about("same_order"))
    if not known:
        st.markdown(
            "This run asked nothing twice in the same order, so what the order changes and what the "
            "judge changes by itself cannot be told apart in it: noise is included in every picture."
        )
        return
    st.markdown(
        "The judges were also asked again and again in **one and the same order**. Whatever differs "
        "there is their own noise. Only what different orders add to it is the order's doing."
    )
    ui.chart(noise_bars(known), key="guide-noise")
    st.markdown("\n".join(f"- {_beside_noise(one)}" for one in known))


def _beside_noise(one: OrderBesideNoise) -> str:
    low, high = one.ci
    held = f"95 % interval {100 * low:.0f} to {100 * high:.0f}, {one.items} answers"
    if low > 0:
        said = f"the order adds **{100 * one.excess:.0f} points** ({held})"
    elif math.isfinite(low):
        said = (
            f"whether the order adds to that is undecided: {beyond_noise(100 * one.excess, '+.0f', 'points')} ({held})"
        )
    else:
        said = f"{one.items} answers are too few to say what the order adds"
    return (
        f"**{ui.plain(one.arm.judge)}** gives another score in {one.same:.0%} of pairs of readings in "
        f"the same order and in {one.other:.0%} in different orders: {said}."
    )


# ---------------------------------------------------------------- 3: the places


@st.fragment
def places(info: RunInfo) -> None:
    """Positions picked by both judges, as more and more answers are counted."""
    whole = ui.finding(info, PICKED_POSITIONS, items=10**9)
    most = max(one.of_items for one in whole)
    steps = [*(step for step in STEPS if step < most), most]
    st.subheader("3 · The places it picks", anchor="chance")
    st.markdown(
        "Count where the chosen description stood. Every score was shown at every position equally "
        "often, so a judge that the order does not move comes near the dotted line; with few answers "
        "it may lie off by chance. Count more answers."
    )
    items = ui.slide(
        "Answers counted", steps, key="guide-items", address="items", default=steps[0], about=ui.about("share")
    )
    story = {step: ui.finding(info, PICKED_POSITIONS, items=step) for step in steps}
    top = max(float(one.share.max()) for found in story.values() for one in found)
    ui.chart(position_bars(story[items], top=top), key="guide-positions")
    st.markdown("\n".join(f"- {_leaning(one)}" for one in story[items]))
    if items == most:
        arms = ui.finding(info, POSITION).arms
        tested = [a for a in arms if a.arm in [one.arm for one in whole]]
        st.markdown(f"{_tested(tested)}", help=ui.about("average_effect"))


def _leaning(one: PickedPositions) -> str:
    top = int(one.share.argmax())
    return (
        f"**{ui.plain(one.arm.judge)}** chose position {top + 1} in {one.share[top]:.0%} of "
        f"{many(one.read, 'judgment')}; even would be {1 / len(one.share):.0%}."
    )


def _tested(arms: list[PositionArm]) -> str:
    told = "; ".join(
        f"{ui.plain(a.arm.judge)} {p_value(a.position.p_holm)}, Cramér's V {number(a.position.v, '.2f')} without noise"
        for a in arms
    )
    return (
        f"A test that knows that scores of one answer belong together: {told}. One in twenty judges that no place "
        "moves has a p below 0.05 too: it is no verdict. How much places matter is for V, and verdicts, in points, "
        "stand on the results page."
    )


# ---------------------------------------------------------------- 4: the way out


@st.fragment
def way_out(info: RunInfo, code: int, arm: Arm) -> None:
    """Means of k reads beside the mean over all orders: what averaging buys and costs."""
    reads = ui.finding(info, MEANS_OF_READS, arm=code, k=1).reads
    st.subheader("4 · The way out", anchor="way-out")
    st.markdown(
        f"Ask under several orders and take the mean. A dot is an answer's mean over all {reads} orders; "
        "a bar is where the mean of only some of them can fall. Average more orders."
    )
    k = ui.slide(
        "Orders averaged", list(range(1, reads + 1)), key=f"guide-k-{code}", address="k", about=ui.about("running_mean")
    )
    found = ui.finding(info, MEANS_OF_READS, arm=code, k=k)
    ui.chart(means_by_item(found, scores=arm.scores), key=f"guide-means-{code}")
    st.markdown(_price(found))
    st.caption(
        "In these orders every score stands at every place equally often, so what a place adds by "
        "itself cancels in their mean; the judge's own noise, and what neighbours in the list do, "
        "do not. Nor is the mean right for that: whether it agrees with people is another question, and "
        "a judge that cannot tell answers apart gives every answer much the same mean. Where many calls "
        "are too dear, one corrected call may help: see Causes and cures."
    )


def _price(found: MeansOfReads) -> str:
    calls = f"{many(found.k, 'call')} an answer"
    if found.k == found.reads:
        return f"All {found.reads} orders of this design, for {calls}: no choice between them is left."
    word = "one order" if found.k == 1 else f"{found.k} orders"
    return (
        f"With **{word}** a score is typically **{found.distance:.2f} points** away from the mean over "
        f"all {found.reads}, noise included. It costs {calls}."
    )


# ---------------------------------------------------------------- where to next


def ways_on(info: RunInfo) -> None:
    """Three ways on from here, as equal cards."""
    st.subheader("Now you", anchor=False)
    ways: tuple[tuple[str, str, str, str, str, dict[str, str]], ...] = (
        (
            "Watch it live",
            "Paste a text of your own: does its score move with the order?",
            "trial",
            "Try it",
            ":material/play_circle:",
            {},
        ),
        (
            "Look into this run",
            "Every number of the recorded run, down to each reply.",
            "position",
            "Open its results",
            ":material/grid_on:",
            {"run": info.run},
        ),
        (
            "Measure your own judge",
            "Bring your answers and your rubric, choose judges, see the cost first.",
            "data",
            "Bring your data",
            ":material/table_rows:",
            {},
        ),
    )
    for place, (title, text, page, label, icon, address) in zip(st.columns(3), ways, strict=True):
        with place.container(border=True, height="stretch"):
            st.markdown(f"**{title}**  \n{text}")
            st.page_link(f"pages/{page}.py", label=label, icon=icon, query_params=address)
