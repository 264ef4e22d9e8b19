"""One text under many orders: what a judge says in the usual order, and what in the others."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from rubriclab.findings.reads import Read, RunningMean, last_interval, running_mean
from rubriclab.findings.trial_control import Control, of_criteria, of_scores
from rubriclab.findings.trial_pairs import PairTrial, pair_trial
from rubriclab.model import Arm
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many, number
from rubriclab.stats.debiasing import divide_out, expected_score
from rubriclab.stats.inference import Interval
from rubriclab.stats.reads import all_agree_limit

Order = tuple[str, ...]


@dataclass(frozen=True)
class Prior:
    """A judge's prior of the places (by position) and the run it was measured in."""

    places: tuple[float, ...]
    run: str
    name: str


@dataclass(frozen=True)
class OptionsTrial:
    """One judge, one text, score options in many orders.

    ``reads``: every read, one an order, the usual one first; ``again``: further reads of the usual
    order, which ``control`` is about and no mean. ``drawn``: reads of the balanced set (or of all
    orders, once all are read), from which ``mean``, ``ci`` and ``running`` come: orders that a
    search chose for their extremes would pull a mean. The interval closes once all orders are read,
    but only where the control shows no noise. ``usual``: the read in the usual order. ``expected``:
    the mean expected score, None without probabilities. ``corrected``: the expected score of
    the usual order's one call with the judge's prior of the places divided out, None without a
    ``prior``. ``could_differ``: where all agree, the largest share of orders that might not.
    """

    arm: int
    judge: str
    simulated: bool
    scores: tuple[int, ...]
    reads: tuple[Read, ...]
    again: tuple[Read, ...]
    control: Control
    drawn: tuple[Read, ...]
    orders: int
    unread: int
    usual: Read | None
    running: RunningMean
    mean: float
    ci: Interval
    expected: float | None
    corrected: float | None
    prior: Prior | None
    highest: Read | None
    lowest: Read | None
    differ: float
    could_differ: float | None
    sentence: str


@dataclass(frozen=True)
class CriterionTrial:
    """One criterion over the orders of all criteria: its score in the usual order and in others.

    ``again``: its score where the usual order was asked again, in no mean and no range.
    """

    name: str
    usual: float | None
    again: float | None
    mean: float
    ci: Interval
    lowest: float
    highest: float
    reads: int


@dataclass(frozen=True)
class CriteriaTrial:
    """One judge, one text, all criteria in one call in many orders.

    ``reads``: of every order once; ``again``: of the usual order asked again (see ``control``).
    ``highest`` and ``lowest``: the calls (by ``Read.call``) with the highest and lowest mean
    over their criteria, None where fewer than two calls were read.
    """

    arm: int
    judge: str
    simulated: bool
    scores: tuple[int, ...]
    reads: tuple[Read, ...]
    again: tuple[Read, ...]
    control: Control
    calls: int
    orders: int
    unread: int
    criteria: tuple[CriterionTrial, ...]
    highest: int | None
    lowest: int | None
    sentence: str


Trial = OptionsTrial | CriteriaTrial | PairTrial


def trial(
    reads: Sequence[Read],
    arms: Sequence[Arm],
    *,
    orders: Sequence[Order],
    first: int,
    priors: Mapping[str, Prior] | None = None,
) -> tuple[Trial, ...]:
    """What each judge of a trial said so far, in the order of ``arms``; judges without reads too.

    ``reads``: all reads of the trial. ``orders``: its whole list, the usual order first, the
    balanced set being the ``first`` ones. ``priors``: by judge, where one was measured before.
    """
    known = priors or {}
    trials: list[Trial] = []
    for code, arm in enumerate(arms):
        mine = tuple(read for read in reads if read.arm == code)
        if arm.axis == "pairwise":
            trials.append(pair_trial(code, arm, mine))
            continue
        once, again = _apart(mine, orders[0])
        if arm.axis == "criteria":
            trials.append(_criteria(code, arm, once, again, orders, first))
        else:
            trials.append(_options(code, arm, once, again, orders, first, known.get(arm.judge)))
    return tuple(trials)


def _apart(reads: tuple[Read, ...], usual: Order) -> tuple[tuple[Read, ...], tuple[Read, ...]]:
    """(reads of every order once, the usual one first; those of the usual order asked again)."""
    at_usual = list(dict.fromkeys(read.call for read in reads if read.shown == usual))
    again = tuple(read for read in reads if read.call in at_usual[1:])
    once = [read for read in reads if read.call not in at_usual[1:]]
    return tuple(sorted(once, key=lambda read: read.shown != usual)), again


# ---------------------------------------------------------------- score options


def _options(
    code: int,
    arm: Arm,
    reads: tuple[Read, ...],
    again: tuple[Read, ...],
    orders: Sequence[Order],
    first: int,
    prior: Prior | None,
) -> OptionsTrial:
    every = math.factorial(len(arm.scores))
    drawn = _drawn(reads, orders, first)
    usual = next((read for read in reads if read.shown == orders[0]), None)
    control = of_scores([read.score for read in (usual, *again) if read is not None])
    scores, still = [read.score for read in drawn], control.verdict == "agrees"
    # To have read every order is to know the mean only if an order always gets the same answer.
    running = running_mean(scores, population=every if still else None)
    readable = [read for read in reads if read.score is not None]
    return OptionsTrial(
        **_about(code, arm),
        scores=arm.scores,
        reads=reads,
        again=again,
        control=control,
        drawn=drawn,
        orders=every,
        unread=len(reads) - len(readable),
        usual=usual,
        running=running,
        mean=running.mean[-1] if running.mean else float("nan"),
        ci=_on_scale(last_interval(running), arm.scores),
        expected=_mean_expected(drawn),
        corrected=_corrected(usual, prior),
        prior=prior,
        highest=max(readable, key=_height, default=None),
        lowest=min(readable, key=_height, default=None),
        differ=_share_differing(usual, drawn),
        could_differ=None if control.verdict == "differs" else _could_differ(drawn, every),
        sentence=_options_sentence(arm.judge, usual, readable, len(reads), control),
    )


class _About(TypedDict):
    arm: int
    judge: str
    simulated: bool


def _about(code: int, arm: Arm) -> _About:
    return {"arm": code, "judge": arm.judge, "simulated": arm.simulated}


def _mean_expected(reads: Sequence[Read]) -> float | None:
    known = [read.expected for read in reads if read.expected is not None]
    return sum(known) / len(known) if known else None


def _drawn(reads: tuple[Read, ...], orders: Sequence[Order], first: int) -> tuple[Read, ...]:
    """The reads a mean may be taken over: of the balanced set, or all once every order is read."""
    if {read.shown for read in reads} >= set(orders):
        return reads
    balanced: Collection[Order] = frozenset(orders[:first])
    return tuple(read for read in reads if read.shown in balanced)


def _on_scale(ci: Interval, scores: Sequence[int]) -> Interval:
    """The part of an interval that the scale can reach; no mean lies beyond it."""
    if not (math.isfinite(ci.low) and scores):
        return ci
    return Interval(max(ci.low, min(scores)), min(ci.high, max(scores)))


def _height(read: Read) -> tuple[float, float]:
    score = -math.inf if read.score is None else read.score
    return score, score if read.expected is None else read.expected


def _could_differ(drawn: Sequence[Read], every: int) -> float | None:
    """Where all reads agree and orders are left: the largest share of them that might not."""
    scores = [read.score for read in drawn if read.score is not None]
    if 1 < len(scores) < every and len(set(scores)) == 1:
        return all_agree_limit(len(scores))
    return None


def _share_differing(usual: Read | None, drawn: Sequence[Read]) -> float:
    """Share of the other orders that give another score than the usual one."""
    others = [read.score for read in drawn if read.score is not None and read is not usual]
    if usual is None or usual.score is None or not others:
        return float("nan")
    return sum(score != usual.score for score in others) / len(others)


def _corrected(usual: Read | None, prior: Prior | None) -> float | None:
    """One call, its prior of the places divided out (Zheng et al. 2024, section 4)."""
    if usual is None or usual.probabilities is None or prior is None:
        return None
    if len(prior.places) != len(usual.shown):
        return None
    places = np.arange(len(usual.shown))[None, :]
    chances = divide_out(np.array([usual.probabilities]), places, np.array(prior.places))
    shown = np.array([float(score) for score in usual.shown])
    return float(expected_score(chances, shown)[0])


def _options_sentence(who: str, usual: Read | None, readable: Sequence[Read], asked: int, control: Control) -> str:
    if not readable:
        return tr("{who} has given no score that can be read yet.", who=who)
    scores = sorted({read.score for read in readable if read.score is not None})
    if usual is None or usual.score is None:
        start = tr("{who} gives no readable score in the usual order", who=who)
    else:
        start = tr("{who} gives {score:g} in the usual order", who=who, score=usual.score)
    if control.verdict == "differs":
        given = tr(", then ").join(answer for answer in control.answers if answer is not None)
        start = tr("{who} gives {given} in the very same order", who=who, given=given)
    elif control.verdict == "agrees":
        start += tr(", twice") if control.calls == 1 else tr(", {n} times", n=control.calls + 1)
    if len(readable) < 2:
        return f"{start}."
    noise = tr(" (noise included: no order was asked twice)") if control.verdict == "unknown" else ""
    if len(scores) == 1 and control.verdict != "differs":
        told = {"who": who, "score": scores[0], "orders": many(len(readable), "order"), "noise": noise}
        if len(readable) < asked:
            return tr("{who} gives {score:g} in every one of the {orders} that could be read{noise}.", **told)
        return tr("{who} gives {score:g} in every one of the {orders}{noise}.", **told)
    listed = number(scores[-1], "g")
    if len(scores) > 1:
        others = ", ".join(number(score, "g") for score in scores[:-1])
        listed = tr("{first} and {last}", first=others, last=listed)
    if control.verdict == "differs":
        noise = tr(", its own noise included")
    return tr(
        "{start}; over {orders} of the same descriptions it gives {listed}{noise}.",
        start=start,
        orders=many(len(readable), "order"),
        listed=listed,
        noise=noise,
    )


# ---------------------------------------------------------------- criteria


def _criteria(
    code: int, arm: Arm, reads: tuple[Read, ...], again: tuple[Read, ...], orders: Sequence[Order], first: int
) -> CriteriaTrial:
    drawn, usual = _drawn(reads, orders, first), orders[0]
    twice = [*(read for read in reads if read.shown == usual), *again]
    at_usual = {name: [read.score for read in twice if _criterion_of(read) == name] for name in usual}
    control = of_criteria(at_usual, len({read.call for read in twice}))
    every = math.factorial(len(usual)) if control.verdict == "agrees" else None
    criteria = tuple(_criterion(name, drawn, at_usual[name], every, scale=arm.scores) for name in usual)
    lowest, highest = _extreme_calls(reads)
    return CriteriaTrial(
        **_about(code, arm),
        scores=arm.scores,
        reads=reads,
        again=again,
        control=control,
        calls=len({read.call for read in reads}),
        orders=math.factorial(len(usual)),
        unread=sum(read.score is None for read in reads),
        criteria=criteria,
        highest=highest,
        lowest=lowest,
        sentence=_criteria_sentence(arm.judge, criteria, control),
    )


def _extreme_calls(reads: Sequence[Read]) -> tuple[int | None, int | None]:
    """The calls of the lowest and the highest mean over their criteria.

    Only calls that scored as many criteria as any can be compared by their means.
    """
    by_call: dict[int, list[float]] = {}
    for read in reads:
        if read.score is not None:
            by_call.setdefault(read.call, []).append(read.score)
    most = max((len(scores) for scores in by_call.values()), default=0)
    means = {call: sum(s) / len(s) for call, s in by_call.items() if len(s) == most}
    if len(means) < 2:
        return None, None
    return min(means, key=lambda call: means[call]), max(means, key=lambda call: means[call])


def _criterion(
    name: str, reads: Sequence[Read], at_usual: Sequence[float | None], every: int | None, *, scale: Sequence[int]
) -> CriterionTrial:
    """``at_usual``: its scores in the usual order, as asked."""
    mine = [read for read in reads if _criterion_of(read) == name]
    known = [read.score for read in mine if read.score is not None]
    running = running_mean([read.score for read in mine], population=every)
    return CriterionTrial(
        name=name,
        usual=at_usual[0] if at_usual else None,
        again=at_usual[1] if len(at_usual) > 1 else None,
        mean=running.mean[-1] if running.mean else float("nan"),
        ci=_on_scale(last_interval(running), scale),
        lowest=min(known, default=float("nan")),
        highest=max(known, default=float("nan")),
        reads=len(known),
    )


def _criterion_of(read: Read) -> str | None:
    """Which criterion an outcome of a criteria call is about: the one at its position."""
    place = read.place
    return read.shown[place - 1] if place is not None and 1 <= place <= len(read.shown) else None


CRITERIA_WAVER = msg(
    "{who} changes scores even in the very same order; over all orders those of {n} of {criteria} differ, {name} from "
    "{low:g} to {high:g}, its own noise included."
)
CRITERIA_MOVE = msg(
    "With the criteria in another order {who} changes the score of {n} of {criteria}; {name} goes from {low:g} to "
    "{high:g}."
)


def _criteria_sentence(who: str, criteria: Sequence[CriterionTrial], control: Control) -> str:
    read = [c for c in criteria if c.reads > 1]
    if not read:
        return tr("{who} has given no scores under two orders that can be read yet.", who=who)
    noise = tr(" Noise is included: no order was asked twice.") if control.verdict == "unknown" else ""
    moved = [c for c in read if c.highest > c.lowest]
    wavers = control.verdict == "differs"
    if not moved:
        if wavers:
            return tr(
                "{who} gives every criterion the same score in every order it was read in, but not when asked again "
                "in the usual one.",
                who=who,
            )
        return tr("{who} gives every criterion the same score in every order it was read in.", who=who) + noise
    widest = max(moved, key=lambda c: c.highest - c.lowest)
    said = CRITERIA_WAVER if wavers else CRITERIA_MOVE
    of = {"criteria": many(len(read), "criterion"), "name": widest.name}
    text = tr(said, who=who, n=len(moved), low=widest.lowest, high=widest.highest, **of)
    return text if wavers else f"{text}{noise}"
