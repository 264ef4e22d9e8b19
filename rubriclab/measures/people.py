"""Say how scores go with people's ratings, and what more calls and other orders add to that.

An item counts with the mean of the scores that it has. Several criteria in one call: each by
itself, and the mean over them (Xu et al. v2, Table 6). Strategies are compared at equal numbers of
calls, on the same items: more calls alone raise every correlation.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from rubriclab.core.estimate import (
    Estimate,
    Fisher,
    Rule,
    Student,
    average,
    left_out,
    mean_over,
    missing,
    plain,
    simultaneous,
)
from rubriclab.core.judgments import Arm, grouped
from rubriclab.core.topic import Caution, Chart, Row, topic
from rubriclab.measures.rated import (
    BY_Z,
    ENOUGH,
    MIN_UNITS,
    SCORED,
    Rated,
    beside,
    few_rated,
    rated,
    rounds,
)
from rubriclab.stats import correlation as stats
from rubriclab.stats.resample import Bools, Floats, Ints, distinct

CALLS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 60, 120)
"""Numbers of calls that the budget names, and all that there are."""
MOST_ORDERS = 30
ENOUGH_GAIN = 0.85
"""Of what all orders gain over one, the share that Xu et al. v2 (Figure 9) call enough."""
CHARTS = (
    Chart("forest", "budget_pearson", by="calls"),
    Chart("forest", "order_pearson", by="order"),
)


@topic("people", axes=SCORED, charts=CHARTS)
def people(arm: Arm) -> Iterator[Row | Caution]:
    given = rated(arm)
    if given is not None:
        yield from few_rated(given)
        yield from correlations(given)
        yield from differences(given)
        yield from among_people(given)
        yield from budgets(given)
        yield from single_orders(given)
        yield from rank_of_its_order(given)
        yield from strategies(given)
    for other in yardsticks(arm):
        yield from correlations(beside(arm, other), {"against": other.code})


def yardsticks(arm: Arm) -> list[Arm]:
    """Return the first condition of every other judge of these data, as a second yardstick."""
    about = arm.condition
    others = [other for other in arm.run.arms if other.condition.judge != about.judge]
    same_data = [other for other in others if other.condition.dataset == about.dataset]
    alike = [other for other in same_data if other.condition.reorder in SCORED]
    return [group[0] for group in grouped(alike, lambda condition: condition.judge)]


def by_target(
    given: Rated,
    measure: str,
    which: Ints,
    statistic: Callable[[Ints], Estimate],
    rule: Rule,
    of: Mapping[str, Any],
) -> Iterator[Row]:
    """Yield a number of the items ``which``; with several criteria one each, and their mean.

    ``rule``: of the mean's interval.
    """
    parts = [(name, items, statistic(items)) for name, items in given.targets(which)]
    if parts[0][0]:
        for name, items, estimate in parts:
            yield Row(measure, estimate, {"target": name, **of}, counts={"n": len(items)})
    whole = average([estimate for *_, estimate in parts], rule) if len(parts) > 1 else parts[0][2]
    yield Row(measure, whole, of, counts={"n": len(which)})


def correlations(given: Rated, of: Mapping[str, Any] | None = None) -> Iterator[Row]:
    """Yield r, rho and tau-b of an item's mean score with its mean rating."""
    for statistic, rule in (
        (stats.pearson, BY_Z),
        (stats.spearman, BY_Z),
        (stats.kendall, Fisher(fewest=10)),
    ):

        def estimate(which: Ints, statistic: Any = statistic, rule: Rule = rule) -> Estimate:
            return given.r(
                which, statistic, rule, "constant_side" if len(which) > 1 else "nothing_rated"
            )

        yield from by_target(given, statistic.__name__, given.paired, estimate, rule, of or {})


def differences(given: Rated) -> Iterator[Row]:
    """Yield mean score - mean rating in points: is the judge milder or stricter than people?"""

    def judge_minus_people(which: Ints) -> Estimate:
        if not given.comparable:
            return missing("other_scale")
        apart, arm = (given.mean - given.human)[which], given.arm
        return mean_over(
            apart,
            arm.unit[which],
            arm.unit_names,
            partial(Student, step=arm.step),
            none="nothing_rated",
        )

    yield from by_target(given, "mean_difference", given.paired, judge_minus_people, Student(), {})


def among_people(given: Rated) -> Iterator[Row]:
    """Yield the mean over raters of r between a rater and the mean of the others.

    Raters count who share MIN_UNITS units or more. Then what one call of the judge reaches with the
    very same others, rater by rater: no single person could reach what a mean of many calls reaches
    with all raters.
    """

    def counted_raters(which: Ints) -> tuple[Floats, Floats, Bools]:
        unit, names = given.units(which)
        value, without, shared = stats.with_the_others(given.ratings[which], unit, len(names))
        return value, without, np.isfinite(value) & (shared >= MIN_UNITS)

    def one_person(which: Ints) -> Estimate:
        value, without, counted = counted_raters(which)
        if not counted.any():
            return missing("few_shared")
        names = given.units(which)[1]
        return left_out(float(value[counted].mean()), without[:, counted].mean(axis=1), names, BY_Z)

    def one_call(which: Ints) -> Estimate:
        counted = counted_raters(which)[2]
        if not counted.any():
            return missing("few_shared")
        ratings, tables = given.ratings[which], rounds(given.arm)
        made = []
        for rater in np.flatnonzero(counted).tolist():
            others = np.delete(ratings, rater, axis=1)
            company = np.isfinite(ratings[:, rater]) & np.isfinite(others).any(axis=1)
            company &= np.isfinite(given.mean[which])
            items = which[company]
            if len(items) < 2:
                return missing("few_shared")
            unit, names = given.units(items)
            theirs = np.nanmean(others[company], axis=1)
            (single,) = stats.budget(tables[:, items], theirs, unit, len(names), [1])
            made.append(left_out(*single.r, names, BY_Z, none="constant_side"))
        return average(made, BY_Z)

    if given.several.any():
        several = np.flatnonzero(given.several)
        yield from by_target(given, "people_pearson", several, one_person, BY_Z, {})
        yield from by_target(given, "call_pearson", several, one_call, BY_Z, {})


def budget(given: Rated, which: Ints, calls: list[int]) -> list[tuple[Estimate, Floats]]:
    """Return for each number of calls the mean r over subsets, and r of each subset, (subsets,).

    With several criteria both are means over the criteria: a subset is the same orders for all.
    """
    tables, every = rounds(given.arm), []
    targets = [items for _, items in given.targets(which) if len(items) > 1]
    for items in targets:
        unit, names = given.units(items)
        made = stats.budget(
            tables[:, items],
            given.human[items],
            unit,
            len(names),
            calls,
            most_items=max(map(len, targets)),
        )
        every.append(
            [(left_out(*part.r, names, BY_Z, none="constant_side"), part.each) for part in made]
        )
    curve = []
    for parts in zip(*every, strict=True):
        estimates = [estimate for estimate, _ in parts]
        together = average(estimates, BY_Z) if len(parts) > 1 else estimates[0]
        curve.append((together, np.mean([each for _, each in parts], axis=0)))
    return curve


def budgets(given: Rated) -> Iterator[Row]:
    """Yield the mean r over all subsets of k orders.

    With the paper's band: the 2.5 and 97.5 percentiles over subsets.
    """
    most = rounds(given.arm).shape[2]
    calls = [k for k in CALLS if k < most] + [most]
    curve = budget(given, given.paired, calls)
    for number, (estimate, each) in zip(calls, curve, strict=False):
        counts = {
            "n": len(given.paired),
            "subsets": int(np.isfinite(each).sum()),
            "band": list(stats.band(each)),
        }
        yield Row("budget_pearson", estimate, {"calls": number}, counts=counts)
    if most > 2 and len(curve) == len(calls) and given.arm.condition.strategy != "fixed":
        yield orders_enough(calls, [estimate for estimate, _ in curve], given.arm.level)


def orders_enough(calls: list[int], curve: list[Estimate], level: float = 0.95) -> Row:
    """Return the number of orders at which r has made ENOUGH_GAIN of its way from one to all.

    Between two numbers of orders the curve is taken to be straight. Where r surely gains nothing,
    or may gain nothing, there is no way to be made.
    """
    counts = {"orders": calls[-1]}
    for estimate in curve:
        if estimate.why or not np.isfinite(estimate.value):
            return Row("orders_enough", missing(estimate.why or "undefined"), counts=counts)
    low, _ = (curve[-1] - curve[0]).interval(level)
    if not low > 0:
        return Row("orders_enough", missing("no_gain_of_orders"), counts=counts)
    units = curve[0].units
    values = np.array([estimate.value for estimate in curve])
    without = values - np.array([e.influence for e in curve]).T / (units - 1)
    value = _crossing(calls, values)
    each = np.array([_crossing(calls, row) for row in without])
    estimate = left_out(value, each, curve[0].unit, Student())
    ends = tuple(np.clip(estimate.interval(level), calls[0], calls[-1]).tolist())
    return Row("orders_enough", estimate, counts=counts, ends=(ends[0], ends[1]))


def _crossing(calls: list[int], r: Floats) -> float:
    """Return where a curve of r first reaches ENOUGH_GAIN of its way from its first to its last."""
    target = r[0] + ENOUGH_GAIN * (r[-1] - r[0])
    for k in range(1, len(calls)):
        if r[k] >= target:
            part = (target - r[k - 1]) / (r[k] - r[k - 1])
            return float(calls[k - 1] + part * (calls[k] - calls[k - 1]))
    return float("nan")


def single_orders(given: Rated) -> Iterator[Row]:
    """Yield r of single calls in each order with people, and its rank (Xu et al. v1, Table 4).

    The intervals hold at once.
    """
    arm, m = given.arm, len(given.arm.shown)
    if arm.condition.reorder != "options":
        return
    rateable = arm.ok & np.isfinite(given.human)[arm.item]
    seen = np.bincount(distinct(arm.item[rateable] * m + arm.order[rateable])[0] % m, minlength=m)
    orders = np.flatnonzero((seen >= ENOUGH * max(len(given.paired), 1)) & (arm.shown[:, 0] >= 0))
    if not 1 < len(orders) <= MOST_ORDERS:
        return
    made = []
    for order in orders.tolist():
        here = np.flatnonzero(rateable & (arm.order == order))
        unit, names = given.units(arm.item[here])
        r = stats.pearson(arm.value[here], given.human[arm.item[here]], unit, len(names))
        made.append(
            (order, left_out(*r, names, Fisher(lengthened=True), none="constant_side"), len(here))
        )
    level = simultaneous([estimate for _, estimate, _ in made], level=arm.level)
    rounded = np.round([estimate.value for _, estimate, _ in made], 12)
    for order, estimate, n in made:
        of = {"order": arm.order_label(order)}
        yield Row("order_pearson", estimate, of, counts={"n": n}, level=level)
        if np.isfinite(estimate.value):
            rank = 1 + int((rounded > round(estimate.value, 12)).sum())
            yield Row("order_rank", plain(rank, "rank"), of, counts={"n": n, "orders": len(made)})


def rank_of_its_order(given: Rated) -> Iterator[Row]:
    """Yield the rank in r of an arm's only order among those of another strategy.

    So that an order that was chosen (min-bias) stands among the orders that it was chosen from (Xu
    et al. v1, Table 4).
    """
    arm = given.arm
    if arm.condition.reorder != "options" or len(arm.shown) != 1:
        return
    for other in arm.controls()[1:]:
        theirs = rated(other)
        if theirs is None or not 1 < len(other.shown) <= MOST_ORDERS:
            continue
        own = _r_of_calls(given, arm.order == 0)
        among = [
            _r_of_calls(theirs, other.order == order)
            for order in range(len(other.shown))
            if not np.array_equal(other.shown[order], arm.shown[0])
        ]
        known = [r for r in among if np.isfinite(r)]
        if np.isfinite(own) and known:
            rank = 1 + sum(round(r, 12) > round(own, 12) for r in known)
            of = {"order": arm.order_label(0)}
            counts = {"n": int(arm.ok.sum()), "orders": len(known) + 1, "r": own}
            yield Row("order_rank", plain(rank, "rank"), of, counts=counts)
            return


def _r_of_calls(given: Rated, which: Bools) -> float:
    """Return r of single calls with people's mean; NaN where there is none."""
    arm = given.arm
    here = np.flatnonzero(arm.ok & which & np.isfinite(given.human)[arm.item])
    if len(here) < 2:
        return float("nan")
    unit, names = given.units(arm.item[here])
    r = stats.pearson(arm.value[here], given.human[arm.item[here]], unit, len(names))
    return float(r.value)


def strategies(given: Rated) -> Iterator[Row]:
    """Yield r of this strategy - that of another one, at equal calls on the same items."""
    arm = given.arm
    for other in (control for control in arm.controls()[1:] if control.code > arm.code):
        theirs = rated(other)
        if theirs is None:
            continue
        shared = np.intersect1d(arm.item_code[given.paired], other.item_code[theirs.paired])
        calls = min(rounds(arm).shape[2], rounds(other).shape[2])
        sides = []
        for side in (given, theirs):
            made = budget(side, np.searchsorted(side.arm.item_code, shared), [calls])
            sides.append(made[0][0] if made else missing("nothing_rated"))
        of = {"calls": calls, "against": other.code}
        yield Row("pearson_difference", sides[0] - sides[1], of, counts={"n": len(shared)})
