"""Does another wording of a rubric help? One version less another, on items that did not choose it.

*Help* is, first, that the order of the options moves scores less: the variance of an item's scores over
orders, less the judge's own noise (its variance in one order). Both are unbiased, so their difference is
about 0 on average where a wording changes nothing. And the scores must not agree less with people, where people rated:
the interval of the difference of r must lie above minus KEPT.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, nan, sqrt

import numpy as np
import pandas as pd

from rubriclab.findings.effects import step, unfinished
from rubriclab.findings.frame import ok_rows, units
from rubriclab.model import RunData
from rubriclab.model.language import tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats.excess import excess
from rubriclab.stats.human_correlation import difference
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints
from rubriclab.stats.jury import r_of
from rubriclab.stats.verdict import Verdict, decide

ALPHA = 0.05
KEPT = 0.1
"""r with people must not be lower by so much or more, at the far end of its interval: of a few dozen held-out
items no smaller fall could be ruled out."""
FEWEST, MOST_LOST = 20, 0.2
"""Units that the held-out items must have, and the share of items that may be left out as unread."""


@dataclass(frozen=True)
class Moved:
    """Of each item of a run that was read in every order: ``spread``: variance of its scores over orders less
    that in one order, in squared points; ``mean`` over orders. ``items``: how many were asked."""

    key: tuple[tuple[str, str], ...]
    spread: Floats
    mean: Floats
    human: Floats
    unit: Ints
    items: int


@dataclass(frozen=True)
class Help:
    """A version less the one that it is to be better than.

    ``spread``, ``before``: standard deviation of scores over orders beyond noise, in points. ``change``: of
    its square, with its 95 % interval; ``bound``: the upper end at the level of all versions tested.
    ``agreement``: r with people less that of the other; ``agreement_ci``: at the same level, one-sided.
    ``verdict``: effect (it helps, or harms: the sign of ``change``), equivalent, undecided.
    """

    spread: float
    before: float
    change: float
    change_ci: Interval
    bound: float
    agreement: float
    agreement_ci: Interval
    n_rated: int
    n_items: int
    n_units: int
    left_out: int
    verdict: Verdict
    helps: bool
    why: str


def moved(data: RunData) -> Moved:
    """What the order does to each item of a version's run: its arm of several orders and that of one."""
    size = len(data.items)
    asked = np.bincount(data.judgments["item"].to_numpy(), minlength=size) > 0
    parts = {"fixed": _nothing(size), "orders": _nothing(size)}
    for code, arm in enumerate(data.arms):
        rows = data.judgments[data.judgments["arm"].to_numpy() == code]
        parts["fixed" if arm.strategy == "fixed" else "orders"] = _of_items(rows, size)
    (mean, spread), (_, noise) = parts["orders"], parts["fixed"]
    at = np.flatnonzero(np.isfinite(spread - noise))
    names = (data.items[name].astype(str).to_numpy()[at].tolist() for name in ("item_id", "criterion"))
    return Moved(
        key=tuple(zip(*names, strict=True)),
        spread=(spread - noise)[at],
        mean=mean[at],
        human=data.items["human"].to_numpy().astype(np.float64)[at],
        unit=units(data.items, data.unit).code[at],
        items=int(asked.sum()),
    )


def _nothing(size: int) -> tuple[Floats, Floats]:
    return np.full(size, nan), np.full(size, nan)


def _of_items(rows: pd.DataFrame, size: int) -> tuple[Floats, Floats]:
    """(items,) mean and variance of an item's scores; NaN where one of its replies has none, and for one alone."""
    item, ok = rows["item"].to_numpy().astype(np.int64), ok_rows(rows)
    score = np.where(ok, rows["score"].to_numpy().astype(np.float64), nan)
    count = np.bincount(item, minlength=size)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.bincount(item, weights=score, minlength=size) / count
        variance = np.bincount(item, weights=(score - mean[item]) ** 2, minlength=size) / (count - 1)
    return mean, np.where(count > 1, variance, nan)


def helped(new: RunData, base: RunData, *, tested: int = 1) -> Help:
    """``new`` less ``base``, paired on the items that both read in every order; one of ``tested`` versions."""
    a, b = moved(new), moved(base)
    place = {key: k for k, key in enumerate(b.key)}
    pairs = [(k, place[key]) for k, key in enumerate(a.key) if key in place]
    left, right = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    unit = np.unique(a.unit[left], return_inverse=True)[1].astype(np.int64)
    why = _why(new, base, a, b, len(left), len(np.unique(unit)))
    if len(left) < 2:
        return Help(nan, nan, nan, NO_INTERVAL, nan, nan, NO_INTERVAL, 0, len(left), 0, 0, "undecided", False, why)
    alpha = ALPHA / max(1, tested)
    change = excess(a.spread[left] - b.spread[right], unit, alpha=alpha)
    r, r_ci, rated = _agreement(a.mean[left], b.mean[right], a.human[left], unit, alpha)
    less = not why and change.bound < 0
    if less and rated and not r_ci.low > -KEPT:
        why = tr(
            "whether it agrees as well with people is not known (r {r}, {ends})",
            r=number(r, "+.2f"),
            ends=interval(r_ci, "+.2f"),
        )
    return Help(
        spread=_root(float(a.spread[left].mean())),
        before=_root(float(b.spread[right].mean())),
        change=change.mean,
        change_ci=NO_INTERVAL if why and not less else change.ci,
        bound=change.bound,
        agreement=r,
        agreement_ci=r_ci,
        n_rated=rated,
        n_items=len(left),
        n_units=len(np.unique(unit)),
        left_out=max(a.items, b.items) - len(left),
        verdict=_verdict(change.ci, less, why, small=_smallest(new)),
        helps=less and not why,
        why=why,
    )


def _why(new: RunData, base: RunData, a: Moved, b: Moved, items: int, units: int) -> str:
    """Why nothing can be said; empty where it can."""
    if waits := unfinished(new) or unfinished(base):
        return waits
    scales = {arm.scores for data in (new, base) for arm in data.arms}
    if len(scales) > 1:
        return tr("its scale is another one")
    if units < FEWEST:
        return tr(
            "{units} {units:is|are} too few to say so; {needed} are needed", units=many(units, "unit"), needed=FEWEST
        )
    asked = max(a.items, b.items)
    if asked - items > MOST_LOST * asked:
        return tr("{lost} of {asked} items had an unread reply", lost=asked - items, asked=asked)
    return ""


def _agreement(a: Floats, b: Floats, human: Floats, unit: Ints, alpha: float) -> tuple[float, Interval, int]:
    """r with people of the one less that of the other; no number where nobody rated."""
    rated = np.isfinite(human)
    if rated.sum() < 3:
        return nan, NO_INTERVAL, 0
    none = np.zeros(int(rated.sum()))
    one, two = (r_of(x[rated], none, human[rated], unit[rated]) for x in (a, b))
    if not (isfinite(one.value) and isfinite(two.value)):
        return nan, NO_INTERVAL, int(rated.sum())
    apart = difference(one, two, level=1.0 - 2.0 * alpha)
    return apart.delta, apart.ci, int(rated.sum())


def _verdict(ci: Interval, less: bool, why: str, *, small: float) -> Verdict:
    """Harm and equivalence are said of a 95 % interval: nothing is taken along for them."""
    if why:
        return "undecided"
    if less:
        return "effect"
    return decide(ci, small)


def _smallest(data: RunData) -> float:
    """The smallest change of interest: the square of what an order effect of the smallest size of interest makes."""
    return (data.smallest_effect * step(data.arms[0].scores)) ** 2


def _root(squared: float) -> float:
    return sqrt(max(squared, 0.0))
