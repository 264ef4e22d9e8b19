"""Agreement with humans in words: a judge that runs against people, other orders, more reads."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from rubriclab.findings.alignment_arms import ArmAlignment
from rubriclab.findings.alignment_results import AlignmentResult, StrategyDifference
from rubriclab.findings.topic import VARIED, Advice, Sentence, about, clearest, setting
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats.inference import Interval
from rubriclab.stats.reliability import TARGET
from rubriclab.stats.verdict import Effect

FIRST = -1
"""Rank of the sentence that comes before all others."""


def alarms(result: AlignmentResult) -> Iterator[str]:
    """Of each judge that runs against people, once."""
    return (text for _, text in _alarming(result))


def _alarming(result: AlignmentResult) -> Iterator[tuple[str, str]]:
    """(judge, data set and setting, what is said): by its arm whose r is lowest."""
    worst: dict[str, ArmAlignment] = {}
    for arm in sorted(result.arms, key=lambda arm: np.nan_to_num(arm.pearson.r, nan=1.0)):
        if arm.against:
            worst.setdefault(about(arm.arm), arm)
    for name, arm in worst.items():
        r = arm.pearson
        yield name, against_people(name, r.r, r.ci, arm.n_items, "item")


def against_people(who: str, r: float, ci: Interval, n: int, thing: str) -> str:
    """That a judge's scores run against the humans', which outranks all else."""
    return tr(
        "{who} runs against people: r = {r:.2f} {ci} over {things}. It scores high what people score low, so "
        "nothing else said of it recommends it. Check first that the scale, the ratings and the judge mean the "
        "same by a high score.",
        who=who,
        r=r,
        ci=interval(ci, ".2f", brackets=True),
        things=many(n, thing),
    )


# ---------------------------------------------------------------- sentences


def sentences(result: AlignmentResult) -> Iterator[Sentence]:
    """Of each judge the arm that its position is judged by; first that it runs against people."""
    shown = clearest(result.arms)
    for name, text in _alarming(result):
        yield Sentence(name, text, FIRST)
    for name in dict.fromkeys(about(arm.arm) for arm in result.arms):
        yield Sentence(name, alignment_sentence(result, shown[name]))


def alignment_sentence(result: AlignmentResult, arm: ArmAlignment) -> str:
    """How well this arm agrees with people, and how its strategy compares with the fixed order."""
    who, how = arm.arm.judge, arm.arm.strategy
    if not np.isfinite(arm.pearson.r):
        return tr("{who}'s agreement with humans cannot be computed under {how} orders.", who=who, how=how)
    sentence = tr(
        "{who} {agrees} (r = {r:.2f}, {ci}) under {how} orders",
        who=who,
        agrees=_agrees(arm),
        r=arm.pearson.r,
        ci=interval(arm.pearson.ci, ".2f"),
        how=how,
    )
    here = [c for c in result.comparisons if setting(c) == setting(arm.arm)]
    pair = next((c for c in here if {c.a, c.b} == {how, "fixed"}), None)
    if pair is None or pair.orders is None or not np.isfinite(pair.delta_r):
        return f"{sentence}."
    gain, reads = pair.delta_r if pair.a == how else -pair.delta_r, many(pair.reads, "read")
    said = {"sentence": sentence, "reads": reads}
    if pair.orders.verdict == "equivalent":
        return tr("{sentence}, no better and no worse than the fixed order at {reads} each.", **said)
    if pair.orders.verdict != "effect":
        return tr(
            "{sentence}; whether better or worse than the fixed order at {reads} each, these data cannot say.", **said
        )
    if gain > 0:
        return tr("{sentence}, better by {gain:.3f} than the fixed order at {reads} each.", gain=gain, **said)
    return tr("{sentence}, worse by {loss:.3f} than the fixed order at {reads} each.", loss=-gain, **said)


def _agrees(arm: ArmAlignment) -> str:
    low, high = arm.pearson.ci
    if low > 0:
        return tr("agrees with the humans")
    return tr("runs against the humans") if high < 0 else tr("was not shown to go with the humans")


# ---------------------------------------------------------------- advice


def advice(result: AlignmentResult) -> Iterator[Advice]:
    """Whether other orders help, and how many reads are enough; of each judge in each setting."""
    for key in dict.fromkeys(setting(arm.arm) for arm in result.arms):
        pairs = [c for c in result.comparisons if setting(c) == key]
        arms = [arm for arm in result.arms if setting(arm.arm) == key]
        pair = _against_fixed(pairs)
        if pair is not None and pair.orders is not None:
            yield _mitigation(key, pair, pair.orders)
        if (line := _budget(key, arms)) is not None:
            yield line


def _against_fixed(pairs: Sequence[StrategyDifference]) -> StrategyDifference | None:
    """The clearest varied strategy against the fixed one."""
    mine = [c for c in pairs if "fixed" in (c.a, c.b) and {c.a, c.b} & set(VARIED)]
    return min(mine, key=lambda c: VARIED.index(_varied(c)), default=None)


def _varied(pair: StrategyDifference) -> str:
    return pair.a if pair.b == "fixed" else pair.b


def _mitigation(key: tuple[str, str, str], pair: StrategyDifference, orders: Effect) -> Advice:
    shown = orders if pair.b == "fixed" else _turned(orders)
    reads = many(pair.reads, "read")
    text = {
        "better": tr(
            "Yes: with {reads} an item {varied} orders agree better with the humans than the fixed one.",
            reads=reads,
            varied=_varied(pair),
        ),
        "worse": tr(
            "No: with {reads} an item the fixed order agrees better with the humans than {varied} ones. "
            "Removing a bias does not have to raise agreement.",
            reads=reads,
            varied=_varied(pair),
        ),
        "equivalent": tr(
            "Neither way by as much as is of interest: with {reads} an item {varied} orders agree with the "
            "humans as the fixed one does.",
            reads=reads,
            varied=_varied(pair),
        ),
        "undecided": tr(
            "These data cannot say: {varied} orders against the fixed one, {reads} an item each, {items}.",
            varied=_varied(pair),
            reads=reads,
            items=many(pair.n_items, "item"),
        ),
    }[_kind(shown)]
    if pair.reads_a != pair.reads_b:
        text += tr(" Both are taken at equal reads; what more reads alone are worth is told apart.")
    return Advice(key, "mitigation", tr("Do other orders help?"), text, shown)


def _kind(shown: Effect) -> str:
    if shown.verdict != "effect":
        return shown.verdict
    return "better" if shown.estimate > 0 else "worse"


def _turned(of: Effect) -> Effect:
    return Effect(-of.estimate, -of.high, -of.low, of.sesoi, of.unit, of.verdict, of.confidence, of.why)


def _budget(key: tuple[str, str, str], arms: Sequence[ArmAlignment]) -> Advice | None:
    """How many reads are reliable enough, and what more of them are worth in r."""
    by_name = {arm.arm.strategy: arm for arm in arms if arm.reliability and arm.reads > 1}
    arm = next((by_name[s] for s in ("random", *VARIED, "fixed") if s in by_name), None)
    if arm is None or arm.reliability is None or arm.more is None:
        return None
    return Advice(key, "budget", tr("How many reads are enough?"), budget_sentence(arm), arm.more)


def why_no_dependability(arm: ArmAlignment) -> str:
    """What an arm lacks for a dependability, as a clause; it is said of arms that have none."""
    if arm.n_items < 2:
        return tr(
            "it takes items that differ, and {items} with a rating and a score {items:is|are} too few",
            items=many(arm.n_items, "item"),
        )
    if arm.reads < 2:
        return tr("every item was read once")
    return tr("all items have the same mean score, or none has two scores, so more reads tell no items apart")


def budget_sentence(arm: ArmAlignment) -> str:
    """How many reads an item it takes for a dependable mean, and how dependable those there are.

    Dependability, as the generalisability study has it: what an order adds to all items counts as error.
    """
    sure = arm.reliability
    if sure is None:
        return tr("How many reads are enough cannot be said: {why}.", why=why_no_dependability(arm))
    needed, (low, high) = sure.needed()
    if not math.isfinite(low):
        return tr(
            "How many reads are enough for other items cannot be said: too few units for an interval. Of "
            "these items one read in {strategy} order has a dependability of {one:.2f}, the {reads} there "
            "are {all:.2f}. {expected}",
            strategy=arm.arm.strategy,
            one=sure.one,
            reads=sure.reads,
            all=sure.all,
            expected=_expected(arm),
        )
    ends = f" ({interval((low, high), ',.0f')})" if math.isfinite(high) else tr(" ({low:,.0f} or more)", low=low)
    further = tr(" (extrapolated from {reads})", reads=sure.reads) if needed > sure.reads else ""
    return tr(
        "{needed}{ends} in {strategy} order {needed:reaches|reach} a dependability of {target:g}{further}; one read "
        "has {one:.2f}, the {reads} there are {all:.2f} {all_ci}. {expected}",
        needed=many(int(needed), "read"),
        ends=ends,
        strategy=arm.arm.strategy,
        target=TARGET,
        further=further,
        one=sure.one,
        reads=sure.reads,
        all=sure.all,
        all_ci=interval(sure.all_ci, ".2f", brackets=True),
        expected=_expected(arm),
    )


def _expected(arm: ArmAlignment) -> str:
    first = arm.one_read
    return tr(
        "r with humans: {first} with one read, {r} with all.",
        first=number(first, ".2f"),
        r=number(arm.pearson.r, ".2f"),
    )
