"""Two responses in both orders, each order twice: which is preferred, and does that hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from rubriclab.findings.reads import Read
from rubriclab.findings.trial_control import ASKED_ONCE, UNREAD_AGAIN, Control, agreement
from rubriclab.model import Arm
from rubriclab.model.language import msg, tr

PairVerdict = Literal["same", "first", "last", "tie", "noisy", "unread"]
PICKED_ONCE: Mapping[str, str] = {
    "same": msg("{who} picked the same one in one answer to each order{once}."),
    "first": msg("{who} picked whichever is shown first in one answer to each order{once}."),
    "last": msg("{who} picked whichever is shown last in one answer to each order{once}."),
}
PREFERS: Mapping[str, str] = {
    "same": msg("{who} prefers {answer} whichever is shown first, each time it was asked."),
    "first": msg(
        "{who} prefers whichever response is shown first: swapping them swaps the winner, each time it was asked."
    ),
    "last": msg(
        "{who} prefers whichever response is shown last: swapping them swaps the winner, each time it was asked."
    ),
}
TIE = "a tie"


@dataclass(frozen=True)
class PairTrial:
    """One judge, two responses in both orders.

    ``winners``: of each read, None for a tie or nothing to read. ``verdict``: the same one wins in
    both orders, the one shown first (last) wins in both, a tie was called in one or both; ``noisy``:
    an order asked twice was answered in two ways, so the swap tells nothing; ``unread``: an order has
    no answer that could be read. ``control``: whether each order's own answers agree; while it is
    ``unknown`` a verdict rests on one answer an order, its noise included.
    """

    arm: int
    judge: str
    simulated: bool
    reads: tuple[Read, ...]
    winners: tuple[str | None, ...]
    verdict: PairVerdict
    control: Control
    sentence: str


def pair_trial(code: int, arm: Arm, reads: tuple[Read, ...]) -> PairTrial:
    """What came of the reads so far, in the order in which they were asked."""
    by_order: dict[tuple[str, ...], list[str | None]] = {}
    for read in reads:
        by_order.setdefault(read.shown, []).append(_answer(read))
    control = _control(list(by_order.values()), len(reads))
    verdict = _verdict(by_order, control)
    return PairTrial(
        arm=code,
        judge=arm.judge,
        simulated=arm.simulated,
        reads=reads,
        winners=tuple(_winner(read) for read in reads),
        verdict=verdict,
        control=control,
        sentence=_sentence(arm.judge, verdict, by_order, control),
    )


def _winner(read: Read) -> str | None:
    return read.shown[read.position - 1] if read.position else None


def _answer(read: Read) -> str | None:
    return None if read.position is None else _winner(read) or TIE


def _control(orders: Sequence[Sequence[str | None]], reads: int) -> Control:
    """``agrees`` only where both orders were answered twice, and each in one way."""
    each = [agreement(answers) for answers in orders]
    answers = tuple(answer for order in orders for answer in order)
    calls = max(0, reads - len(orders))
    if "differs" in each:
        told = next(order for order, one in zip(orders, each, strict=True) if one == "differs")
        listed = tr(", then ").join(answer for answer in told if answer is not None)
        sentence = tr("Noise: asked twice in the same order it answers {listed}.", listed=listed)
        return Control(calls, answers, "differs", sentence)
    if len(each) == 2 and set(each) == {"agrees"}:
        sentence = tr("Each order asked again gives the same answer: no noise seen in one repeat of each.")
        return Control(calls, answers, "agrees", sentence)
    return Control(calls, answers, "unknown", tr(UNREAD_AGAIN if calls else ASKED_ONCE))


def _verdict(by_order: dict[tuple[str, ...], list[str | None]], control: Control) -> PairVerdict:
    known = {order: [answer for answer in answers if answer is not None] for order, answers in by_order.items()}
    if control.verdict == "differs":
        return "noisy"
    if len(known) < 2 or not all(known.values()):
        return "unread"
    answers = {order: given[0] for order, given in known.items()}
    if TIE in answers.values():
        return "tie"
    if len(set(answers.values())) == 1:
        return "same"
    return "first" if all(order[0] == winner for order, winner in answers.items()) else "last"


def _sentence(
    who: str, verdict: PairVerdict, by_order: dict[tuple[str, ...], list[str | None]], control: Control
) -> str:
    first = [next((a for a in answers if a is not None), None) for answers in by_order.values()]
    if verdict == "unread":
        return (
            tr("{who} has not said in both orders which is better.", who=who)
            if len(by_order) < 2
            else tr("{who} gave no verdict that can be read in one of the orders.", who=who)
        )
    if verdict == "noisy":
        return tr(
            "{who} changes its answer even in the same order: swapping the two tells nothing about the order here.",
            who=who,
        )
    once = "" if control.verdict == "agrees" else tr(" (each order asked once, noise included)")
    if verdict == "tie":
        named = [name for name in first if name != TIE]
        return (
            tr("{who} calls it a tie in both orders{once}.", who=who, once=once)
            if not named
            else tr(
                "{who} prefers {answer} in one order and calls it a tie in the other{once}.",
                who=who,
                answer=named[0],
                once=once,
            )
        )
    if once:
        return tr(PICKED_ONCE[verdict], who=who, once=once)
    return tr(PREFERS[verdict], who=who, answer=first[0])
