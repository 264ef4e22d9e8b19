"""Say how far the mean of k calls can be trusted, in different orders and in one.

The variance of a score is split into the parts of items, orders, both together, and noise. Half the
squared difference of two scores has as its mean the sum of the components in which they differ. So
the kinds of pairs (same item, same order, neither) give the components, without bias for any
pattern of missing scores (Koch 1967, A General Approach to the Estimation of Variance Components).
On complete data they are those of the analysis of variance.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from rubriclab.core.estimate import Estimate, Opaque, missing
from rubriclab.core.judgments import Arm, Names, widest
from rubriclab.core.topic import Chart, Row, topic
from rubriclab.stats.resample import (
    DIRECT_LIMIT,
    GROUPS,
    Floats,
    Ints,
    by_content,
    crossed,
    distinct,
    sum_by,
    t_ends,
)

# ------------------------------------------------------------------------------ variance components
PARTS = ("item", "order", "item x order", "noise")
SHARED = 5.0
"""An order shared by fewer items on average is one of its own for every item: its part is then that
of item x order.
"""
ON_LOG_ODDS = 0.6
"""A share nearer to an end of the scale than its error over this is not put on the scale of
log-odds.
"""
_NOTHING = 1e-12


@dataclass(frozen=True, eq=False)
class Components:
    """Variance components of all units, and without each.

    variances: (1 + units, 4) in squared points; very many units are left out in groups.

    NaN for a part that is not told apart: of noise, where no order was asked twice, it is in item x
    order; of orders of their own for every item, in that too. ``repeats``: second calls of an item
    in an order.
    """

    variances: Floats
    repeats: int

    @property
    def shares(self) -> Floats:
        """(4,): of the total variance, adding up to 1.

        A part below 0 counts as 0, in the total too (Brennan 2001, Generalizability Theory, section
        3.4).
        """
        known = np.maximum(self.variances[0], 0.0)
        total = float(np.nansum(known))
        return np.asarray(known / total if total > _NOTHING else np.full(4, np.nan))

    def share_ends(self, part: int, level: float) -> tuple[Floats, Floats]:
        """(1,) each, of one share; of parts below 0 left as they are, which is unbiased."""
        total = np.nansum(self.variances, axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(total > _NOTHING, self.variances[:, [part]] / total, np.nan)
        return _ends(share, self.shares[[part]], level)

    def _parts(self, calls: Ints, one_order: bool, raw: bool) -> tuple[Floats, Floats]:
        """Return the variance of items, and of what makes the mean of k calls err.

        (1 + units, 1) and (1 + units, calls).
        """
        known = self.variances if raw else np.maximum(self.variances[:1], 0.0)
        stays = np.nansum(known[:, 1:3], axis=1)[:, None]
        noise = known[:, 3:] if one_order else np.nan_to_num(known[:, 3:])
        return known[:, :1], stays + noise / calls if one_order else (stays + noise) / calls

    def dependability(self, calls: Ints, *, one_order: bool = False) -> Floats:
        """(calls,): item / (item + error), the items' share of the variance of a mean of k calls.

        Of calls in different orders, or all in one: what an order does to all items errs too, since
        the score itself counts (index of dependability: Brennan and Kane 1977, An Index of
        Dependability for Mastery Tests).
        """
        item, error = self._parts(calls, one_order, raw=False)
        both = item + error
        return np.asarray(np.where(both > _NOTHING, item / np.maximum(both, _NOTHING), np.nan)[0])

    def ends(self, calls: Ints, level: float, *, one_order: bool = False) -> tuple[Floats, Floats]:
        """(calls,) each, of dependability: from the ends of the share of error, with parts below 0
        left as they are.
        """
        item, error = self._parts(calls, one_order, raw=True)
        both = item + error
        share = np.where(both > _NOTHING, error, np.nan) / np.where(both > _NOTHING, both, 1.0)
        low, high = _ends(share, 1 - self.dependability(calls, one_order=one_order), level)
        return 1 - high, 1 - low


def _ends(values: Floats, shown: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the ends of shares, (k,) each, from their values with all units and without each.

    ``values``: (1 + units, k). t about pseudo-values on their degrees of freedom, within 0 and 1,
    and around the share ``shown`` (k,).

    Each end is the further one of that on the share and that on its log-odds, on which the error of
    a share near 0 or 1 does not hang on the share (Arvesen and Schmitz 1970, Robust Procedures for
    Variance Component Problems Using the Jackknife). So near to 0 or 1 that the log-odds say
    nothing, the end is Hall's for skewness. Hall's everywhere held as often, up to 1.3 times as
    wide; t alone in 0.88. Measured: ``docs/method-check.md``.
    """
    units, whole = len(values) - 1, values[0]
    pseudo = units * whole - (units - 1) * values[1:]
    error = np.sqrt(np.square(pseudo - whole).sum(axis=0) / (units * max(units - 1, 1)))
    made = [np.empty(len(whole)), np.empty(len(whole))]
    for k, (residual, share) in enumerate(
        zip((pseudo - pseudo.mean(axis=0)).T, whole, strict=True)
    ):
        t = t_ends(residual, level, lengthened=False)[0]
        for side, (sign, edge) in enumerate(((-1, 1 - share), (1, share))):
            plain = share + sign * t * error[k]
            if 0 < share < 1 and error[k] < ON_LOG_ODDS * edge:  # a share of all has no odds
                far = special.expit(
                    special.logit(share) + sign * t * error[k] / (share * (1 - share))
                )
            else:
                far = share + sign * t_ends(residual, level)[side] * error[k]
            made[side][k] = sign * max(sign * plain, sign * far)
    return np.minimum(made[0].clip(0, 1), shown), np.maximum(made[1].clip(0, 1), shown)


def components(
    item: Ints, order: Ints, score: Floats, unit: Ints, stratum: Ints
) -> Components | None:
    """Return the variance components of calls; None where no two scores can be compared.

    ``item``, ``order``, ``score``: (calls,). ``unit``, ``stratum``: (items,); the stratum is the
    criterion, within which scores are compared.
    """
    orders = int(order.max(initial=-1)) + 1
    present, cell = distinct(item * orders + order)
    if not len(present):
        return None
    item, order = present // orders, present % orders
    count = np.bincount(cell).astype(np.float64)
    mean, square = np.bincount(cell, score) / count, np.bincount(cell, score**2) / count
    centre = float(mean.mean())  # keeps the sums of squares from cancelling
    mean, square = mean - centre, square - 2 * centre * mean + centre**2
    unit, units = _grouped(unit, np.stack([np.ones(len(mean)), mean, square]).T, item)
    parts = np.stack([np.ones(len(mean)), square, mean, mean**2]).T
    own = unit[item]
    sums = sum_by(item, parts, len(unit))

    within_item = _left_out(sum_by(unit, _pairs(sums), units))
    noise = _left_out(sum_by(own, _noise_of_cells(count, mean, square), units))
    of_two_items = _apart(sums, unit, units, stratum)
    shown = np.bincount(order)
    several = len(distinct(order)[0]) > 1
    nested = bool((shown * (shown - 1.0)).sum() < SHARED * len(present))
    kinds = [within_item, noise, of_two_items]
    if several and not nested:
        same_order = _apart(parts, own, units, stratum[item] * orders + order)
        kinds.append(same_order)
        kinds[2] = of_two_items - same_order
    # What is left are pairs of two items in two orders: no item, and no order, in common.
    kinds[2] = kinds[2] - within_item
    halves = _half_squares(np.stack(kinds, axis=1), units)
    variances = _variances(halves, several=several, nested=nested)
    if not np.isfinite(variances[0, 0]):
        return None
    return Components(variances, int((count - 1).sum()))


def _noise_of_cells(count: Floats, mean: Floats, square: Floats) -> Floats:
    """(cells, 2): the variance of a cell's calls, and 1 where it has several, else 0.

    Each cell counts once, as other pairs do: an order may have noise of its own.
    """
    again = count > 1.5
    spread = np.maximum(count * (square - mean**2), 0.0) / np.maximum(count - 1, 1)
    return np.stack([np.where(again, spread, 0.0), again]).T


def _half_squares(pairs: Floats, units: int) -> Floats:
    """(1 + units, kinds): half the mean squared difference of each kind of pairs.

    ``pairs``: (1 + units, kinds, 2), sums and numbers of pairs, in all and without each unit. NaN
    for a kind that some unit alone makes.
    """
    some = pairs[..., 1] > 0.5
    known = some.all(axis=0) if units > 2 else some[0]
    fine = known & some
    return np.where(fine, pairs[..., 0] / np.where(fine, pairs[..., 1], 1.0), np.nan)


def _variances(halves: Floats, *, several: bool, nested: bool) -> Floats:
    """(1 + units, 4): the parts of items, orders, item x order and noise, NaN where not separable.

    ``halves``: see ``_half_squares``; of pairs within an item, within a cell, of two items, and, if
    orders are shared by items, of one order.
    """
    within, noise, between = halves[:, 0], halves[:, 1], halves[:, 2]
    nothing = np.full(len(halves), np.nan)
    if not several:
        made = [between - noise, nothing, nothing, noise]
    elif nested:
        made = [between - within, nothing, within - np.nan_to_num(noise), noise]
    else:
        same = halves[:, 3]
        both = within + same - between - np.nan_to_num(noise)
        made = [between - within, between - same, both, noise]
    return np.stack(made, axis=1)


def _grouped(unit: Ints, parts: Floats, item: Ints) -> tuple[Ints, int]:
    """Return the unit of each item from 0 without gaps, and how many there are.

    Very many units are put into groups, by their content alone.
    """
    present, unit = distinct(unit)
    if len(present) <= DIRECT_LIMIT:
        return unit, len(present)
    ranked = np.argsort(by_content(sum_by(unit[item], parts, len(present))))
    return ranked[unit] % GROUPS, GROUPS


def _pairs(sums: Floats) -> Floats:
    """(..., 2): half the squared differences of all pairs, and the number of pairs.

    ``sums``: (..., 4) of 1, square, mean, mean^2.
    """
    count, square, mean, squared = np.moveaxis(sums, -1, 0)
    return np.stack(
        [((count - 1) * square - (mean**2 - squared)) / 2, count * (count - 1) / 2], axis=-1
    )


def _apart(parts: Floats, unit: Ints, units: int, group: Ints) -> Floats:
    """(1 + units, 2): pairs of cells within each group, in all and without each unit."""
    present, group = distinct(group)
    sums = np.stack(
        [crossed(unit, units, group, len(present), weights=column) for column in parts.T], axis=-1
    )
    whole = sums.sum(axis=0)
    return np.concatenate([_pairs(whole).sum(axis=0)[None], _pairs(whole - sums).sum(axis=1)])


def _left_out(sums: Floats) -> Floats:
    """The total over the first axis, then the total without each of its rows."""
    total = sums.sum(axis=0, keepdims=True)
    return np.concatenate([total, total - sums])


# --------------------------------------------------------------------------------- the topic's rows
TARGET = 0.9
"""What is called dependable enough for decisions about single items (Nunnally 1978, Psychometric
Theory, page 245).
"""
CALLS = np.array((1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20))
MOST_CALLS = 200
"""More calls an item than these are no advice."""
ONE_ORDER = "one order"
FEWEST = 20
"""Units from which on intervals are given: with 15 they held too seldom."""
FEWEST_AGAIN = 100
"""Second calls of an item in an order from which on what depends on noise has an interval: many
repeats agree to the point, so few of them make all of the noise."""
FEWEST_ORDERS = 4
"""Orders from which on the variance of orders has an interval: with two orders 0.80 held, with
three 0.90, with four 0.93 to 0.95. Measured: ``docs/method-check.md``."""


@dataclass(frozen=True, eq=False)
class Pooled:
    """All parsed calls of arms that differ in their orders alone.

    Of each call: ``item`` 0..n-1, ``order`` a row of ``shown``, ``value``, ``call``, and its index
    in the arms' own rows joined (``kept``). Of each item: its code in the run, ``unit``, an index
    into ``names``. ``widest``: the arm with most orders, which rows are about.
    """

    widest: Arm
    item: Ints
    order: Ints
    value: Floats
    call: Floats
    kept: Ints | slice
    item_code: Ints
    unit: Ints
    names: Names
    shown: Ints

    @property
    def items(self) -> int:
        return len(self.item_code)


def pooled(arms: Sequence[Arm]) -> Pooled:
    """Arms of one setting together."""
    run, ok = arms[0].run, np.concatenate([arm.ok for arm in arms])
    parsed = slice(None) if ok.all() else np.flatnonzero(ok)
    shown, alike = np.unique(
        np.concatenate([arm.shown for arm in arms]), axis=0, return_inverse=True
    )
    of_arm = np.split(alike.ravel(), np.cumsum([len(arm.shown) for arm in arms]))
    columns = [
        (a.item_code[a.item], rank[a.order], a.value, a.call)
        for a, rank in zip(arms, of_arm, strict=False)
    ]
    code, order, value, call = (
        (part[0] if len(part) == 1 else np.concatenate(part))[parsed]
        for part in zip(*columns, strict=True)
    )
    items, item = distinct(code, len(run.items))
    units, unit = distinct(run.unit_of_item[items], len(run.unit_names))
    return Pooled(
        widest(arms), item, order, value, call, parsed, items, unit, run.unit_names[units], shown
    )


@topic(
    "reliability",
    axes={"options", "criteria"},
    charts=(Chart("curve", "dependability", "calls", "protocol"),),
    per="setting",
)
def reliability(arms: Sequence[Arm]) -> Iterator[Row]:
    if arms[0].condition.criterion_alone:
        return
    calls = pooled(arms)
    criterion = (
        pd.factorize(calls.widest.run.items["criterion"].iloc[calls.item_code])[0].astype(np.int64)
        + 1
    )
    made = components(calls.item, calls.order, calls.value, calls.unit, criterion)
    about: dict[str, Any] = {
        "condition": calls.widest.code,
        "counts": {"n": len(calls.value), "items": calls.items},
    }
    if made is None or not np.isfinite(made.shares).any():
        why = "constant_scores" if made else "no_repeats" if len(calls.value) else "nothing_parsed"
        yield Row("dependability", missing(why), {"calls": 1}, **about)
        yield Row("calls_needed", missing(why), **about)
        return
    noise_why = "" if made.repeats >= FEWEST_AGAIN else "few_repeats"

    for k, part in enumerate(PARTS):
        if np.isfinite(made.shares[k]):
            why = {
                "noise": noise_why,
                "order": "few_orders" if len(calls.shown) < FEWEST_ORDERS else "",
            }.get(part, "")
            estimate = _of_all(calls, float(made.shares[k]), partial(made.share_ends, k), why)
            yield Row("variance_share", estimate, {"term": part}, **about)
    orders = bool(np.isfinite(made.variances[0, 1:3]).any())
    for same in (False, True) if orders else (True,):
        of, why = ({"protocol": ONE_ORDER}, noise_why) if same else ({}, "")
        if same and orders and not np.isfinite(made.variances[0, 3]):
            yield Row("calls_needed", missing("no_repeats"), of, **about)
            continue
        for k, value in enumerate(made.dependability(CALLS, one_order=same).tolist()):
            ends = partial(made.ends, CALLS[k : k + 1], one_order=same)
            estimate = (
                _of_all(calls, value, ends, why) if np.isfinite(value) else missing("no_repeats")
            )
            yield Row("dependability", estimate, {"calls": int(CALLS[k])} | of, **about)
        yield Row("calls_needed", calls_needed(calls, made, same, why), of, **about)
    if not orders:
        yield Row("calls_needed", missing("single_order"), **about)


def _of_all(
    calls: Pooled, value: float, ends: Callable[[float], tuple[Floats, Floats]], why: str
) -> Estimate:
    """A number of all units together that no single one is a part of; ``ends``: (1,) each."""

    def rule(level: float) -> tuple[float, float]:
        low, high = ends(level)
        return float(low[0]), float(high[0])

    return Estimate(
        value, np.broadcast_to(0.0, len(calls.names)), calls.names, Opaque(rule, fewest=FEWEST), why
    )


def calls_needed(calls: Pooled, made: Components, one_order: bool, why: str) -> Estimate:
    """Return the fewest calls whose mean reaches TARGET.

    From where the upper end of dependability reaches it to where the lower one does; MOST_CALLS
    where that is later.
    """
    every = np.arange(1, MOST_CALLS + 1)

    def fewest(values: Floats) -> Floats:
        reached = np.flatnonzero(values >= TARGET - 1e-9)
        return np.array([every[reached[0]] if len(reached) else np.inf], dtype=np.float64)

    value = float(fewest(made.dependability(every, one_order=one_order))[0])
    if not np.isfinite(value):
        return missing("not_reached")

    def ends(level: float) -> tuple[Floats, Floats]:
        low, high = made.ends(every, level, one_order=one_order)
        return (
            (fewest(high), np.minimum(fewest(low), MOST_CALLS))
            if np.isfinite(low).any()
            else (low, high)
        )

    return _of_all(calls, value, ends, why)
