"""Corrected means in words: how far the judge errs, what of it is the order, what to buy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rubriclab.findings.corrected_means_results import Buying, CorrectedArm, CorrectedResult, SystemMean
from rubriclab.findings.topic import Sentence, clearest
from rubriclab.model import Arm
from rubriclab.model.wording import interval, many, number, p_value
from rubriclab.stats import prediction_powered as stats


def cautions(system: SystemMean, unread: int) -> Iterator[str]:
    if unread:
        yield f"{many(unread, 'item')} without a readable score are in none of these means."
    if system.all_rated:
        yield "All judged items are rated: the corrected mean is the ratings' own, and the judge adds nothing to it."
    else:
        yield (
            "The corrected mean takes the rated items for a random sample of the judged ones. Ratings of items that "
            "were chosen for a reason (the doubtful, the first, the easy) correct nothing."
        )
    if system.unlike_p < stats.SIGNIFICANT:
        yield (
            f"The rated items are not like the others: the judge scores them {system.unlike:+.2f} points "
            f"({p_value(system.unlike_p)}). They do not look like a random sample; read the corrected mean with doubt."
        )


def cut_caution(arm: Arm, cut: float) -> str:
    low, high = min(arm.scores), max(arm.scores)
    return (
        f"{'No' if cut > high else 'Every'} score from {low} to {high} passes the cut {cut:g}, so there is no pass rate: "
        f"name a cut above {low}, at most {high}."
    )


def corrected_sentence(arm: CorrectedArm, system: SystemMean) -> str:
    """The three means of a system, and how much of the judge's own was the order."""
    who, unit = arm.arm.judge, "points"
    plain_ = f"{who}'s mean score of {system.of} is {system.plain:.2f}"
    if system.why:
        return f"{plain_}; it cannot be corrected: {system.why}."
    corrected = f"{number(system.corrected, '.2f')} {interval(system.corrected_ci, '.2f', brackets=True)}"
    bias = f"{number(system.bias, '+.2f')} {interval(system.bias_ci, '.2f', brackets=True)} {unit}"
    if system.all_rated:
        return f"{plain_}, people's {corrected}: {bias} apart. {order_sentence(system)}".strip()
    return (
        f"{plain_}; corrected by {system.n_rated:,} rated of {many(system.n_items, 'item')} it is {corrected} "
        f"(ratings alone {number(system.rated, '.2f')} {interval(system.rated_ci, '.2f', brackets=True)}), so the judge "
        f"errs by {bias}. {order_sentence(system)}"
    ).strip()


def order_sentence(system: SystemMean) -> str:
    """How far the plain and the corrected means move over the orders; empty where there is one."""
    if len(system.orders) < 2:
        return ""
    plain_, corrected = ([getattr(order, name) for order in system.orders] for name in ("plain", "corrected"))
    runs = f"Over {many(len(system.orders), 'order')} the judge's mean runs from {min(plain_):.2f} to {max(plain_):.2f}"
    if system.all_rated:
        return f"{runs}."
    low, high = system.corrected_ci
    inside = sum(low <= value <= high for value in corrected)
    return (
        f"{runs}, the "
        f"corrected one from {min(corrected):.2f} to {max(corrected):.2f}; {inside} of these lie in its interval."
    )


def buying_sentence(buying: Buying) -> str:
    """How many ratings a wanted half-width takes, with the judge's scores and without."""
    alone = f"{buying.alone:,.0f} ({interval(buying.alone_ci, ',.0f')})"
    start = f"To know the mean to within {buying.half:g} points takes {alone} ratings alone"
    if not np.isfinite(buying.judged):
        return f"{start}; with so few judged items no number of ratings beside the judge is enough."
    return (
        f"{start}, {buying.judged:,.0f} ({interval((buying.judged_low, buying.judged_high), ',.0f')}) beside the judge's scores: "
        f"one is then worth {buying.one_is_worth:.1f}."
    )


def sentences(result: CorrectedResult) -> Iterator[Sentence]:
    """Of each judge the arm that its position is judged by, over all items."""
    for name, arm in clearest(result.arms).items():
        system = arm.systems[0]
        yield Sentence(name, corrected_sentence(arm, system), 3 if system.why else 2)
