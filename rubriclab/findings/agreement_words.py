"""Agreement beyond chance in words, each claim by a rule on numbers and their intervals."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rubriclab.findings.agreement_results import AgreementResult, ArmAgreement
from rubriclab.findings.topic import Sentence, about, clearest
from rubriclab.model.language import tr
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
        return tr(
            "{who}'s agreement with people read by read is not known under {strategy} orders: {why}.",
            who=who,
            strategy=arm.arm.strategy,
            why=tr(one.exact.why),
        )
    alike = tr(
        "A single read of {who} and a single rating are the same in {share:.0%} of pairs{ends} and "
        "within one step in {near:.0%}, under {strategy} orders",
        who=who,
        share=one.exact.value,
        ends=_ends(one.exact, ".0%"),
        near=one.within_one.value,
        strategy=arm.arm.strategy,
    )
    kappa = one.kappa_quadratic
    if not np.isfinite(kappa.value):
        return tr("{alike}; beyond chance nothing can be said: one category takes everything.", alike=alike)
    parts = [
        tr(
            "{alike}; beyond chance that is {kappa:.2f} (weighted kappa){ends}.",
            alike=alike,
            kappa=kappa.value,
            ends=_ends(kappa, ".2f"),
        )
    ]
    return " ".join([*parts, *filter(None, (ceiling_sentence(arm), paradox_sentence(arm)))])


def _ends(of: Estimated, form: str) -> str:
    return f" ({interval(of.ci, form)})" if np.isfinite(of.ci.low) else ""


def ceiling_sentence(arm: ArmAgreement) -> str:
    """Whether judge and people are as far apart as people among themselves: by interval only."""
    own, below = arm.raters_own, arm.below
    if own is None or below is None or not np.isfinite(below.estimate):
        return ""
    people = own.one_read.kappa_quadratic
    known = tr(
        "People among themselves reach {kappa}{ends}", kappa=number(people.value, ".2f"), ends=_ends(people, ".2f")
    )
    ends = tr(
        "difference {difference:+.2f} {ci}",
        difference=below.estimate,
        ci=interval(below.interval, ".2f", brackets=True),
    )
    if not np.isfinite(below.low):
        return f"{known}; {tr(below.why)}."
    if below.why:
        return tr("{known} ({ends}); no verdict: {why}.", known=known, ends=ends, why=tr(below.why))
    if below.high < 0 and below.verdict == "effect":
        return tr(
            "{known}: the judge is further from people than people are from each other ({ends}).",
            known=known,
            ends=ends,
        )
    if below.low > 0 and below.verdict == "effect":
        return tr(
            "{known}: the judge is closer to people than people are to each other ({ends}).", known=known, ends=ends
        )
    if below.verdict == "equivalent":
        return tr(
            "{known}: the judge is as far from people as two people are, within {sesoi:g} ({ends}).",
            known=known,
            sesoi=below.sesoi,
            ends=ends,
        )
    return tr(
        "{known}; whether the judge is further from people than that, these data cannot say ({ends}).",
        known=known,
        ends=ends,
    )


def paradox_sentence(arm: ArmAgreement) -> str:
    """Why kappa can be low where nearly everything is alike."""
    one = arm.one_read
    if not arm.paradox:
        return ""
    by_chance = 1.0 - (1.0 - one.exact.value) / (1.0 - one.kappa.value)
    return tr(
        "Most values fall into one category, so chance alone would make {by_chance:.0%} of pairs the "
        "same: that is why kappa is {kappa:.2f} although {share:.0%} are the same. Gwet's AC1, which "
        "expects less of chance there, is {ac1:.2f}.",
        by_chance=by_chance,
        kappa=one.kappa.value,
        share=one.exact.value,
        ac1=one.ac1.value,
    )


def averaging_sentence(arm: ArmAgreement) -> str:
    """What averaging the reads buys, in the same coefficients."""
    one, mean = arm.one_read, arm.averaged
    if arm.reads < 2 or not np.isfinite(mean.kappa_quadratic.value):
        return ""
    return tr(
        "The mean of {reads} reads, taken to its nearest option, is the same as a rating in {share:.0%} "
        "of pairs (a single read: {single:.0%}); weighted kappa {kappa:.2f} (single: {single_kappa}).",
        reads=arm.reads,
        share=mean.exact.value,
        single=one.exact.value,
        kappa=mean.kappa_quadratic.value,
        single_kappa=number(one.kappa_quadratic.value, ".2f"),
    )
