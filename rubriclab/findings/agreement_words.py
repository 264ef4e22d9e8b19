"""Agreement beyond chance in words, each claim by a rule on numbers and their intervals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rubriclab.findings.agreement_results import AgreementResult, ArmAgreement
from rubriclab.findings.topic import Sentence, about, clearest
from rubriclab.model.wording import interval, number
from rubriclab.stats.agreement_intervals import Estimated


def sentences(result: AgreementResult) -> Iterator[Sentence]:
    """Of each judge the arm that its position is judged by."""
    shown = clearest(result.arms)
    for name in dict.fromkeys(about(arm.arm) for arm in result.arms):
        yield Sentence(name, agreement_sentence(shown[name]))


def agreement_sentence(arm: ArmAgreement) -> str:
    """How far a single read and a single rating agree, beyond chance, and beside two people."""
    who, one = arm.arm.judge, arm.one_read
    if not np.isfinite(one.exact.value):
        return (
            f"{who}'s agreement with people read by read is not known under {arm.arm.strategy} orders: {one.exact.why}."
        )
    alike = (
        f"A single read of {who} and a single rating are the same in {one.exact.value:.0%} of pairs"
        f"{_ends(one.exact, '.0%')} and within one step in {one.within_one.value:.0%}, under {arm.arm.strategy} orders"
    )
    kappa = one.kappa_quadratic
    if not np.isfinite(kappa.value):
        return f"{alike}; beyond chance nothing can be said: one category takes everything."
    parts = [f"{alike}; beyond chance that is {kappa.value:.2f} (weighted kappa){_ends(kappa, '.2f')}."]
    return " ".join([*parts, *filter(None, (ceiling_sentence(arm), paradox_sentence(arm)))])


def _ends(of: Estimated, form: str) -> str:
    return f" ({interval(of.ci, form)})" if np.isfinite(of.ci.low) else ""


def ceiling_sentence(arm: ArmAgreement) -> str:
    """Whether judge and people are as far apart as people among themselves: by interval only."""
    own, below = arm.raters_own, arm.below
    if own is None or below is None or not np.isfinite(below.estimate):
        return ""
    people = own.one_read.kappa_quadratic
    known = f"People among themselves reach {number(people.value, '.2f')}{_ends(people, '.2f')}"
    ends = f"difference {below.estimate:+.2f} {interval(below.interval, '.2f', brackets=True)}"
    if not np.isfinite(below.low):
        return f"{known}; {below.why}."
    if below.why:
        return f"{known} ({ends}); no verdict: {below.why}."
    if below.high < 0 and below.verdict == "effect":
        return f"{known}: the judge is further from people than people are from each other ({ends})."
    if below.low > 0 and below.verdict == "effect":
        return f"{known}: the judge is closer to people than people are to each other ({ends})."
    if below.verdict == "equivalent":
        return f"{known}: the judge is as far from people as two people are, within {below.sesoi:g} ({ends})."
    return f"{known}; whether the judge is further from people than that, these data cannot say ({ends})."


def paradox_sentence(arm: ArmAgreement) -> str:
    """Why kappa can be low where nearly everything is alike."""
    one = arm.one_read
    if not arm.paradox:
        return ""
    by_chance = 1.0 - (1.0 - one.exact.value) / (1.0 - one.kappa.value)
    return (
        f"Most values fall into one category, so chance alone would make {by_chance:.0%} of pairs the same: that is "
        f"why kappa is {one.kappa.value:.2f} although {one.exact.value:.0%} are the same. Gwet's AC1, which expects "
        f"less of chance there, is {one.ac1.value:.2f}."
    )


def averaging_sentence(arm: ArmAgreement) -> str:
    """What averaging the reads buys, in the same coefficients."""
    one, mean = arm.one_read, arm.averaged
    if arm.reads < 2 or not np.isfinite(mean.kappa_quadratic.value):
        return ""
    return (
        f"The mean of {arm.reads} reads, taken to its nearest option, is the same as a rating in {mean.exact.value:.0%} "
        f"of pairs (a single read: {one.exact.value:.0%}); weighted kappa {mean.kappa_quadratic.value:.2f} "
        f"(single: {number(one.kappa_quadratic.value, '.2f')})."
    )
