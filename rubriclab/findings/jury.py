"""Juries: is one judge in ten orders better than five judges in two?

Every mix of judges and orders that a run's reads hold, as a judge card's ways of asking are: which judges
a mix takes is chosen on two fifths of the units, and what it is worth is measured on the others.
A panel of judges is the idea of Verga et al. 2024 (Replacing Judges with Juries); what numbers of judges
and orders would be worth for judges *like* these is the decision study's question (Brennan 2001).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import isfinite, nan, sqrt
from typing import NamedTuple

import numpy as np

from rubriclab.findings.cure import ALPHA, MARGIN_STEPS, MIN_UNITS, MOST_LEFT_OUT
from rubriclab.findings.cure_methods import choosing_items
from rubriclab.findings.effects import SMALLEST_R, in_r, step, unfinished
from rubriclab.findings.frame import Bools, units
from rubriclab.findings.jury_reads import Panel, cautions, panels
from rubriclab.findings.jury_results import Errors, Jury, JuryOf, Measured, Mix, Target, Together
from rubriclab.findings.jury_words import document, limits, mix_words, sentences
from rubriclab.findings.topic import Topic
from rubriclab.model import LabError, RunData
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many
from rubriclab.stats import jury as stats
from rubriclab.stats.excess import excess
from rubriclab.stats.human_correlation import LeftOut, difference
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval
from rubriclab.stats.verdict import Effect, unknown

ORDERS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 40, 60, 120)
"""Numbers of orders that a mix is measured with, and all that were read."""
MOST_JUDGES = 8
"""Of more judges those that lie nearest to the target are mixed: 255 ways to choose some of them."""
_SAME = 1e-9
Prices = tuple[tuple[str, float], ...]
"""Money a call of each judge, by its name."""


class Budget(NamedTuple):
    """``limit`` in calls an item, or with ``prices`` (money a call, as the judges) in money for 1,000 items."""

    limit: float
    prices: tuple[float, ...] | None

    def cost(self, judges: Sequence[int], orders: int) -> float:
        if self.prices is None:
            return float(len(judges) * orders)
        return 1000.0 * orders * sum(self.prices[j] for j in judges)


def jury(
    data: RunData,
    *,
    budget: float | None = None,
    prices: Prices | None = None,
    margin: float | None = None,
    seed: int = 0,
) -> Jury:
    """Every jury of a run, and the best mix for a budget.

    ``budget``: calls an item, by default as many as the orders that one judge was asked in; with
    ``prices`` money for 1,000 items. ``margin``: how much farther than the best mix a cheaper one may be,
    in points; by default that of a judge card. Raises LabError for a budget or a margin that is no
    positive number, and for judges without a price.
    """
    if budget is not None and not (isfinite(budget) and budget > 0):
        raise LabError(tr("The budget is {value!r}; expected a number above 0.", value=budget))
    if margin is not None and not (isfinite(margin) and margin > 0):
        raise LabError(tr("The margin is {value!r}; expected a number above 0.", value=margin))
    found = [_of(data, panel, budget, prices, margin, seed) for panel in panels(data, seed=seed)]
    return Jury(tuple(found))


def _of(
    data: RunData, panel: Panel, budget: float | None, prices: Prices | None, margin: float | None, seed: int
) -> JuryOf:
    orders = panel.scores.shape[2]
    spend = Budget(float(orders) if budget is None else budget, _prices(panel, prices))
    errors = stats.order_errors(panel.scores - panel.scores.mean(axis=0) if panel.fixed else panel.scores)
    alike = stats.mean_order_correlation(errors, panel.unit) if panel.aligned else None
    few = int(panel.unit.max()) + 1 < MIN_UNITS
    value = nan if alike is None else alike.value
    count = len(panel.judges)
    rated = np.isfinite(panel.human)
    targets: list[Measured] = []
    every = margin if margin is not None else MARGIN_STEPS * step(panel.arm.scores)
    if rated.sum() > 2:
        targets.append(_measured(data, panel, "people", spend, every, seed))
    targets.append(_measured(data, panel, "panel", spend, every, seed))
    return JuryOf(
        dataset=panel.arm.dataset,
        axis=panel.arm.axis,
        variant=str(panel.arm.variant),
        simulated=any(data.arms[code].simulated for code in panel.arms),
        judges=panel.judges,
        arms=panel.arms,
        orders=orders,
        aligned=panel.aligned,
        expected=panel.expected,
        n_items=len(panel.unit),
        n_units=int(panel.unit.max()) + 1,
        unit=units(data.items, data.unit).kind,
        left_out=panel.left_out,
        budget=spend.limit,
        money=spend.prices is not None,
        pairs=tuple(_pairs(panel, errors, few)) if panel.aligned else (),
        order_errors=value,
        order_errors_ci=NO_INTERVAL if alike is None or few else alike.r_interval(),
        order_votes=count / (1 + (count - 1) * value) if 1 + (count - 1) * value > 0 else nan,
        errors=_errors(panel, rated, few),
        targets=tuple(targets),
        warnings=tuple(cautions(data, panel)),
    )


def _prices(panel: Panel, prices: Prices | None) -> tuple[float, ...] | None:
    if prices is None:
        return None
    known = dict(prices)
    if lacking := [judge for judge in panel.judges if not known.get(judge, nan) >= 0]:
        raise LabError(
            tr(
                "A budget in money takes a price for each judge; there is none for {lacking}.",
                lacking=", ".join(lacking),
            )
        )
    return tuple(known[judge] for judge in panel.judges)


def _pairs(panel: Panel, errors: Floats, few: bool) -> list[Together]:
    found = []
    for a, b in combinations(range(len(panel.judges)), 2):
        r = stats.order_correlation(errors, panel.unit, a, b)
        ci = NO_INTERVAL if few else r.r_interval()
        found.append(Together(panel.judges[a], panel.judges[b], r.value, ci))
    return found


def _errors(panel: Panel, rated: Bools, few: bool) -> Errors | None:
    """Against people, over the items that they rated."""
    if rated.sum() < 3:
        return None
    errors = stats.from_people(panel.scores[rated], panel.human[rated])
    found = stats.correlations(errors, panel.unit[rated], aligned=panel.aligned)
    few = few or len(np.unique(panel.unit[rated])) < MIN_UNITS
    ends = [NO_INTERVAL if few else one.r_interval() for one in found]
    return Errors(found.within.value, ends[0], found.same.value, ends[1], found.other.value, ends[2])


# ---------------------------------------------------------------- every mix against one target


class _Place(NamedTuple):
    """A mix, as places among the judges, with what it left of the target on the choosing items."""

    judges: tuple[int, ...]
    orders: int
    shared: bool
    loss: float


def _measured(data: RunData, panel: Panel, target: Target, spend: Budget, margin: float, seed: int) -> Measured:
    """Which judges make the mix of each size is chosen on some units; all mixes are measured on the others."""
    held = _held(panel, target, seed)
    choosing, measuring = held.choosing, ~held.choosing
    if choosing.sum() < 2 or measuring.sum() < 2:
        return _nothing(target, margin, tr("too few items to choose by and to measure on"))
    units = len(np.unique(held.unit[measuring]))
    why = _why(data, panel, units)
    places = _chosen(panel, held.scores[choosing], held.goal[choosing], spend)
    within = [k for k, one in enumerate(places) if _cost(one, spend) <= spend.limit + _SAME]
    best = _first(places, within, spend)
    first = None if best is None else places[best]
    tested = max(1, sum(_cheaper(places[k], first, spend) for k in within))
    mixes = [_mix(panel, target, held, one, spend, first, ALPHA / tested) for one in places]
    mixes = [_judged(mix, k in within, margin, sure=not why) for k, mix in enumerate(mixes)]
    passing = [k for k, mix in enumerate(mixes) if mix.not_worse]
    ends = [_first(places, [k for k in within if (len(places[k].judges) > 1) == more], spend) for more in (False, True)]
    return Measured(
        target=target,
        mixes=tuple(mixes),
        best=best,
        chosen=None if why else min(passing, key=lambda k: (mixes[k].cost, places[k].loss), default=None),
        single=ends[0],
        several=ends[1],
        gain=_gain(data, held, target, (_at(places, ends[0]), _at(places, ends[1])), why),
        tested=tested,
        margin=margin,
        n_items=int(measuring.sum()),
        n_units=units,
        n_choosing=int(choosing.sum()),
        why=why,
    )


def _held(panel: Panel, target: Target, seed: int) -> _Held:
    """Of the items that have the target; what each order does to all texts alike is learnt where mixes are chosen."""
    known = np.isfinite(panel.human) if target == "people" else np.ones(len(panel.unit), dtype=bool)
    unit = np.unique(panel.unit[known], return_inverse=True)[1].astype(np.int64)
    choosing = choosing_items(unit, seed)
    scores = panel.scores[known]
    scores = scores - scores[choosing].mean(axis=0 if panel.fixed else (0, 2), keepdims=True)
    return _Held(scores, panel.human[known] if target == "people" else scores.mean(axis=(1, 2)), unit, choosing)


def _judged(mix: Mix, affordable: bool, margin: float, *, sure: bool) -> Mix:
    """With its place within the budget; without intervals and verdicts where nothing can be said."""
    if sure:
        return replace(mix, affordable=affordable, not_worse=affordable and mix.bound < margin)
    bound = 0.0 if mix.bound == 0.0 and mix.distance == 0.0 else nan
    return replace(mix, affordable=affordable, error_ci=NO_INTERVAL, agreement_ci=NO_INTERVAL, bound=bound)


def _nothing(target: Target, margin: float, why: str) -> Measured:
    return Measured(target, (), None, None, None, None, unknown(SMALLEST_R, why, unit="r"), 0, margin, 0, 0, 0, why)


def _why(data: RunData, panel: Panel, measured: int) -> str:
    """Why no mix is recommended; empty where one may be."""
    if why := unfinished(data):
        return why
    if measured < MIN_UNITS:
        return tr("{units} to measure on, where {needed} are needed", units=many(measured, "unit"), needed=MIN_UNITS)
    every = len(panel.unit) + panel.left_out
    if panel.left_out > MOST_LEFT_OUT * every:
        return tr(
            "{left_out:,} of {every:,} items were not read by every judge, and the others need not be like them",
            left_out=panel.left_out,
            every=every,
        )
    return ""


def _chosen(panel: Panel, scores: Floats, goal: Floats, spend: Budget) -> list[_Place]:
    """Of each number of judges and orders the judges that lie nearest to the goal on the choosing items."""
    judges = _nearest(scores, goal)
    numbers = [m for m in ORDERS if m < scores.shape[2]] + [scores.shape[2]]
    best: dict[tuple[object, ...], _Place] = {}
    for size in range(1, len(judges) + 1):
        for some in combinations(judges, size):
            mine = scores[:, list(some)]
            mean = mine.mean(axis=(1, 2))
            spread = {shared: stats.single_variance(mine, shared=shared) for shared in (False, True)}
            for m in numbers:
                if spend.prices is not None and spend.cost(some, m) > spend.limit + _SAME:
                    continue
                for shared in _sharings(panel, size, m, numbers[-1]):
                    variance = spread[shared] * (1.0 / m - 1.0 / numbers[-1])
                    place = _Place(some, m, shared, stats.line_of(mean, variance, goal)[1])
                    # Where judges differ in price, a cheap one alone may do: each stands for itself.
                    key = (some if size == 1 and spend.prices is not None else size, m, shared)
                    if key not in best or place.loss < best[key].loss:
                        best[key] = place
    return list(best.values())


def _sharings(panel: Panel, size: int, orders: int, every: int) -> tuple[bool, ...]:
    """All orders are the same orders; and one judge shares them with nobody."""
    if size == 1 or not panel.aligned:
        return (False,)
    return (True,) if orders == every else (False, True)


def _nearest(scores: Floats, goal: Floats) -> list[int]:
    lost = [stats.line_of(scores[:, j].mean(axis=1), np.zeros(len(goal)), goal)[1] for j in range(scores.shape[1])]
    return sorted(np.argsort(lost, kind="stable")[:MOST_JUDGES].tolist())


def _cost(place: _Place, spend: Budget) -> float:
    return spend.cost(place.judges, place.orders)


def _cheaper(place: _Place, best: _Place | None, spend: Budget) -> bool:
    return best is not None and _cost(place, spend) < _cost(best, spend) - _SAME


def _first(places: Sequence[_Place], among: Sequence[int], spend: Budget) -> int | None:
    """The nearest on the choosing items, the cheapest of equals."""
    return min(among, key=lambda k: (round(places[k].loss, 12), _cost(places[k], spend)), default=None)


class _Held(NamedTuple):
    """Scores and goal of all items, and which of them chose: the others measure."""

    scores: Floats
    goal: Floats
    unit: np.ndarray[tuple[int], np.dtype[np.int64]]
    choosing: Bools


def _drawn(held: _Held, place: _Place) -> tuple[Floats, Floats]:
    """(items,) mean of a mix over all orders, and the variance of the draw of its orders."""
    mine = held.scores[:, list(place.judges)]
    return mine.mean(axis=(1, 2)), stats.drawn_variance(mine, place.orders, shared=place.shared)


def _losses(held: _Held, place: _Place) -> Floats:
    """Of the items that measure, by the line that the others taught."""
    mean, variance = _drawn(held, place)
    c, m = held.choosing, ~held.choosing
    line, _ = stats.line_of(mean[c], variance[c], held.goal[c])
    return stats.losses(line, mean[m], variance[m], held.goal[m])


def _agreement(held: _Held, place: _Place) -> LeftOut:
    """r with the target over the items that measure."""
    mean, variance = _drawn(held, place)
    m = ~held.choosing
    return stats.r_of(mean[m], variance[m], held.goal[m], held.unit[m])


def _at(places: Sequence[_Place], at: int | None) -> _Place | None:
    return None if at is None else places[at]


def _mix(
    panel: Panel, target: Target, held: _Held, place: _Place, spend: Budget, best: _Place | None, alpha: float
) -> Mix:
    m = ~held.choosing
    loss, unit = _losses(held, place), held.unit[m]
    own = excess(loss, unit, alpha=ALPHA)
    distance, bound = (0.0, 0.0) if place == best else (nan, nan)
    if _cheaper(place, best, spend):
        assert best is not None
        more = excess(loss - _losses(held, best), unit, alpha=alpha)
        distance, bound = _root(more.mean), _root(more.bound)
    r = _agreement(held, place)
    votes = nan
    if target == "people":
        errors = stats.from_people(held.scores[m][:, list(place.judges)], held.goal[m])
        votes = stats.effective_votes(errors, place.orders, shared=place.shared)
    judges = tuple(panel.judges[j] for j in place.judges)
    return Mix(
        name=mix_words(judges, place.orders, place.shared, panel.scores.shape[2]),
        judges=judges,
        orders=place.orders,
        shared=place.shared,
        calls=len(place.judges) * place.orders,
        cost=_cost(place, spend),
        error=_root(own.mean),
        error_ci=Interval(_root(own.ci.low), _root(own.ci.high)),
        agreement=r.value,
        agreement_ci=r.r_interval(),
        votes=votes,
        distance=distance,
        bound=bound,
        affordable=False,
        not_worse=False,
    )


def _root(squared: float) -> float:
    return sqrt(max(squared, 0.0)) if squared == squared else nan


def _gain(data: RunData, held: _Held, target: Target, ends: tuple[_Place | None, _Place | None], why: str) -> Effect:
    """By how much more r the best jury agrees with people than the best judge alone, at one budget."""
    single, several = ends
    if single is None or several is None:
        lacking = tr("the budget pays for no jury") if single else tr("nothing is so cheap")
        return unknown(SMALLEST_R, why or lacking, unit="r")
    r = [_agreement(held, place) for place in (several, single)]
    if target == "panel" and not why:
        why = tr("the target is the mean of these very judges, which more of them come nearer to by nature")
    apart = difference(r[0], r[1])
    return in_r(data, apart.delta, NO_INTERVAL if why else apart.ci, why=why)


def _applies(data: RunData) -> bool:
    return len({arm.judge for arm in data.arms if arm.scores and arm.axis in ("options", "criteria")}) > 1


JURY = Topic(
    "jury",
    jury,
    title=msg("Juries: several judges and orders at one budget"),
    axes=frozenset({"options", "criteria"}),
    applies=_applies,
    document=document,
    sentences=sentences,
    limits=limits,
)
"""Judges and orders at one budget: correlated errors, effective votes, the best mix."""
