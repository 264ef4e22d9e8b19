"""Corrected means in words: how far the judge errs, what of it is the order, what to buy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rubriclab.findings.corrected_means_results import Buying, CorrectedArm, CorrectedResult, SystemMean
from rubriclab.findings.topic import Sentence, clearest
from rubriclab.model import Arm
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number, p_value
from rubriclab.stats import prediction_powered as stats
from rubriclab.stats.inference import Interval

ALL = msg("all items")
"""A mean of whatever was judged; every other one bears the name of its candidate or criterion."""


def system_said(of: str) -> str:
    """Of what a mean is, in the reader's language."""
    if of.startswith("candidate "):
        return tr("candidate {name}", name=of.removeprefix("candidate "))
    if of.startswith("criterion "):
        return tr("criterion {name}", name=of.removeprefix("criterion "))
    return tr(of) if of == ALL else of


def cautions(system: SystemMean, unread: int) -> Iterator[str]:
    if unread:
        yield tr("{items} without a readable score are in none of these means.", items=many(unread, "item"))
    if system.all_rated:
        yield tr(
            "All judged items are rated: the corrected mean is the ratings' own, and the judge adds nothing to it."
        )
    else:
        yield tr(
            "The corrected mean takes the rated items for a random sample of the judged ones. Ratings of "
            "items that were chosen for a reason (the doubtful, the first, the easy) correct nothing."
        )
    if system.unlike_p < stats.SIGNIFICANT:
        yield tr(
            "The rated items are not like the others: the judge scores them {unlike:+.2f} points "
            "({unlike_p}). They do not look like a random sample; read the corrected mean with doubt.",
            unlike=system.unlike,
            unlike_p=p_value(system.unlike_p),
        )


def cut_caution(arm: Arm, cut: float) -> str:
    low, high = min(arm.scores), max(arm.scores)
    said = {"low": low, "high": high, "cut": cut}
    if cut > high:
        return tr(
            "No score from {low} to {high} passes the cut {cut:g}, so there is no pass rate: name a cut above {low}, "
            "at most {high}.",
            **said,
        )
    return tr(
        "Every score from {low} to {high} passes the cut {cut:g}, so there is no pass rate: name a cut above {low}, "
        "at most {high}.",
        **said,
    )


def corrected_sentence(arm: CorrectedArm, system: SystemMean) -> str:
    """The three means of a system, and how much of the judge's own was the order."""
    plain_ = tr(
        "{who}'s mean score of {of} is {mean:.2f}", who=arm.arm.judge, of=system_said(system.of), mean=system.plain
    )
    if system.why:
        return tr("{plain}; it cannot be corrected: {why}.", plain=plain_, why=tr(system.why))
    said = {
        "plain": plain_,
        "corrected": _with_ends(system.corrected, system.corrected_ci, ".2f"),
        "bias": _with_ends(system.bias, system.bias_ci, "+.2f"),
        "order": order_sentence(system),
    }
    if system.all_rated:
        return tr("{plain}, people's {corrected}: {bias} points apart. {order}", **said).strip()
    return tr(
        "{plain}; corrected by {n_rated:,} rated of {items} it is {corrected} (ratings alone {rated}), so the judge "
        "errs by {bias} points. {order}",
        n_rated=system.n_rated,
        items=many(system.n_items, "item"),
        rated=_with_ends(system.rated, system.rated_ci, ".2f"),
        **said,
    ).strip()


def _with_ends(value: float, ci: Interval, form: str) -> str:
    """As “3.20 [3.05, 3.35]”."""
    return f"{number(value, form)} {interval(ci, form, brackets=True)}"


def order_sentence(system: SystemMean) -> str:
    """How far the plain and the corrected means move over the orders; empty where there is one."""
    if len(system.orders) < 2:
        return ""
    plain_, corrected = ([getattr(order, name) for order in system.orders] for name in ("plain", "corrected"))
    runs = tr(
        "Over {orders} the judge's mean runs from {low:.2f} to {high:.2f}",
        orders=many(len(system.orders), "order"),
        low=min(plain_),
        high=max(plain_),
    )
    if system.all_rated:
        return f"{runs}."
    low, high = system.corrected_ci
    inside = sum(low <= value <= high for value in corrected)
    return tr(
        "{runs}, the corrected one from {low:.2f} to {high:.2f}; {inside} of these lie in its interval.",
        runs=runs,
        low=min(corrected),
        high=max(corrected),
        inside=inside,
    )


def buying_sentence(buying: Buying) -> str:
    """How many ratings a wanted half-width takes, with the judge's scores and without."""
    alone = f"{number(buying.alone, ',.0f')} ({interval(buying.alone_ci, ',.0f')})"
    start = tr("To know the mean to within {half:g} points takes {alone} ratings alone", half=buying.half, alone=alone)
    if not np.isfinite(buying.judged):
        return tr("{start}; with so few judged items no number of ratings beside the judge is enough.", start=start)
    return tr(
        "{start}, {judged:,.0f} ({ends}) beside the judge's scores: one is then worth {worth:.1f}.",
        start=start,
        judged=buying.judged,
        ends=interval((buying.judged_low, buying.judged_high), ",.0f"),
        worth=buying.one_is_worth,
    )


def sentences(result: CorrectedResult) -> Iterator[Sentence]:
    """Of each judge the arm that its position is judged by, over all items."""
    for name, arm in clearest(result.arms).items():
        system = arm.systems[0]
        yield Sentence(name, corrected_sentence(arm, system), 3 if system.why else 2)
