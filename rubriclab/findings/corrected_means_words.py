"""Corrected means in words: how far the judge errs, what of it is the order, what to buy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rubriclab.findings.corrected_means_results import Buying, CorrectedArm, CorrectedResult, SystemMean
from rubriclab.findings.topic import Sentence, clearest
from rubriclab.model import Arm
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, many, number, p_value
from rubriclab.stats import prediction_powered as stats


def cautions(system: SystemMean, unread: int) -> Iterator[str]:
    if unread:
        yield tr("{items} without a readable score are in none of these means.", items=many(unread, "item"))
    if system.all_rated:
        yield tr(
            "All judged items are rated: the corrected mean is the ratings' own, and the judge adds nothing to it."
        )
    else:
        yield (
            tr(
                "The corrected mean takes the rated items for a random sample of the judged ones. Ratings of "
                "items that were chosen for a reason (the doubtful, the first, the easy) correct nothing."
            )
        )
    if system.unlike_p < stats.SIGNIFICANT:
        yield (
            tr(
                "The rated items are not like the others: the judge scores them {unlike:+.2f} points "
                "({unlike_p}). They do not look like a random sample; read the corrected mean with doubt.",
                unlike=system.unlike,
                unlike_p=p_value(system.unlike_p),
            )
        )


def cut_caution(arm: Arm, cut: float) -> str:
    low, high = min(arm.scores), max(arm.scores)
    return tr(
        "{value} score from {low} to {high} passes the cut {cut:g}, so there is no pass rate: name a cut "
        "above {low}, at most {high}.",
        value="No" if cut > high else "Every",
        low=low,
        high=high,
        cut=cut,
    )


def corrected_sentence(arm: CorrectedArm, system: SystemMean) -> str:
    """The three means of a system, and how much of the judge's own was the order."""
    who, unit = arm.arm.judge, "points"
    plain_ = tr("{who}'s mean score of {of} is {plain:.2f}", who=who, of=system.of, plain=system.plain)
    if system.why:
        return tr("{plain}; it cannot be corrected: {why}.", plain=plain_, why=system.why)
    corrected = f"{number(system.corrected, '.2f')} {interval(system.corrected_ci, '.2f', brackets=True)}"
    bias = f"{number(system.bias, '+.2f')} {interval(system.bias_ci, '.2f', brackets=True)} {unit}"
    if system.all_rated:
        return tr(
            "{plain}, people's {corrected}: {bias} apart. {order_sentence}",
            plain=plain_,
            corrected=corrected,
            bias=bias,
            order_sentence=order_sentence(system),
        ).strip()
    return (
        tr(
            "{plain}; corrected by {n_rated:,} rated of {items} it is {corrected} (ratings alone {rated} "
            "{rated_ci}), so the judge errs by {bias}. {order_sentence}",
            plain=plain_,
            n_rated=system.n_rated,
            items=many(system.n_items, "item"),
            corrected=corrected,
            rated=number(system.rated, ".2f"),
            rated_ci=interval(system.rated_ci, ".2f", brackets=True),
            bias=bias,
            order_sentence=order_sentence(system),
        )
    ).strip()


def order_sentence(system: SystemMean) -> str:
    """How far the plain and the corrected means move over the orders; empty where there is one."""
    if len(system.orders) < 2:
        return ""
    plain_, corrected = ([getattr(order, name) for order in system.orders] for name in ("plain", "corrected"))
    runs = tr(
        "Over {orders} the judge's mean runs from {plain:.2f} to {plain2:.2f}",
        orders=many(len(system.orders), "order"),
        plain=min(plain_),
        plain2=max(plain_),
    )
    if system.all_rated:
        return f"{runs}."
    low, high = system.corrected_ci
    inside = sum(low <= value <= high for value in corrected)
    return tr(
        "{runs}, the corrected one from {corrected:.2f} to {corrected2:.2f}; {inside} of these lie in its interval.",
        runs=runs,
        corrected=min(corrected),
        corrected2=max(corrected),
        inside=inside,
    )


def buying_sentence(buying: Buying) -> str:
    """How many ratings a wanted half-width takes, with the judge's scores and without."""
    alone = f"{buying.alone:,.0f} ({interval(buying.alone_ci, ',.0f')})"
    start = tr("To know the mean to within {half:g} points takes {alone} ratings alone", half=buying.half, alone=alone)
    if not np.isfinite(buying.judged):
        return tr("{start}; with so few judged items no number of ratings beside the judge is enough.", start=start)
    return tr(
        "{start}, {judged:,.0f} ({value}) beside the judge's scores: one is then worth {one_is_worth:.1f}.",
        start=start,
        judged=buying.judged,
        value=interval((buying.judged_low, buying.judged_high), ",.0f"),
        one_is_worth=buying.one_is_worth,
    )


def sentences(result: CorrectedResult) -> Iterator[Sentence]:
    """Of each judge the arm that its position is judged by, over all items."""
    for name, arm in clearest(result.arms).items():
        system = arm.systems[0]
        yield Sentence(name, corrected_sentence(arm, system), 3 if system.why else 2)
