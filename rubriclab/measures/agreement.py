"""Calls and ratings in, agreement beyond chance out: of a call with a rating, of people, of
repeats, of two judges.

Coefficients of categories are averaged over all pairs of an item's calls and ratings, so that an
item counts once. Intraclass correlations and limits of agreement are of the item's mean score
beside its mean rating (the other judge's mean); of people and repeats of single values. Repeats:
calls of an item in one order.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from rubriclab.core.estimate import Estimate, Fisher, Student, jackknife, missing, plain, share
from rubriclab.core.judgments import Arm, Names, label_of
from rubriclab.core.topic import Caution, Chart, Row, nothing, topic
from rubriclab.measures.people import yardsticks
from rubriclab.measures.rated import SCORED, Rated, beside, rated
from rubriclab.stats import agreement as stats
from rubriclab.stats.resample import Floats, Ints, crossed, distinct, spread_out

ICC, LIMITS = ("icc2_1", "icc2_k", "icc3_1"), ("limit_low", "limit_high")
SHARES = ("exact", "within_one")
MEASURES = (*SHARES, *stats.COEFFICIENTS, *ICC, *LIMITS)
DISTANCES = ("kappa_linear", "kappa_quadratic", "alpha_interval")
"""Coefficients that a few values far away can make."""
MOST_CATEGORIES, MOST_CELLS = 20, 10
FEWEST_OUTSIDE = 12
"""Below so many items outside the commonest pair of values a coefficient beyond chance has no
interval: its denominator is then made by a few rare values (skewed ratings, 15 and 30 items: 0.88
and 0.91 of intervals held).
"""
_LIMIT = Student(fewest=10, lopsided=True)
"""Of limits of agreement: held in 0.92 to 0.97 of the studies of Fisher's rule; plain Student's in
0.89 to 0.94.
"""


@dataclass(frozen=True, eq=False)
class Side:
    """``table``: pairs of categories, None of too many; ``rows``: (targets, members) without gaps,
    and their ``unit``; ``apart``: (units, 3) sums of differences, ``centred`` where they are taken
    in both directions.
    """

    of: Mapping[str, Any]
    names: Names
    items: int
    table: stats.PairTable | None
    rows: Floats = field(repr=False)
    unit: Ints = field(repr=False)
    apart: Floats = field(repr=False)
    centred: bool = True


@topic("agreement", axes=SCORED, charts=(Chart("cells", "confusion", by="rating", across="score"),))
def agreement(arm: Arm) -> Iterator[Row | Caution]:
    given = rated(arm)
    if given is not None and (not given.comparable or not len(given.paired)):
        yield from nothing(
            MEASURES, "nothing_rated" if given.comparable else "other_scale", {"side": "single"}
        )
    elif given is not None:
        which = given.paired
        ratings = given.ratings[which]
        values = np.unique(np.concatenate([arm.scores, np.round(ratings[np.isfinite(ratings)], 6)]))
        single = across(given, which, values)
        yield from rows_of(single)
        yield from confusion(single)
        several = which[given.several[which]]
        if len(several):
            unit, names = given.units(several)
            ratings = given.ratings[several]
            ratings = ratings[:, np.isfinite(ratings).any(axis=0)]
            among = panel(
                {"side": "people"}, arm, names, ratings, values, np.arange(len(several)), unit
            )
            yield from rows_of(among)
            # Weighted kappa of the judge with people - that of people among themselves, on the
            # items that several rated.
            sides = across(given, several, values), among
            mine, theirs = (_categories(side)["kappa_quadratic"] for side in sides)
            difference = replace(mine - theirs, rule=Student(heavy=True)) if among.table else mine
            yield Row("kappa_difference", difference, counts={"n": len(several)})
    others = yardsticks(arm)
    if given is not None or others:
        yield from repeats(arm)
    for other in others:
        yield from judges(arm, other)


def across(given: Rated, which: Ints, values: Floats, other: Floats | None = None) -> Side:
    """The judge beside people, or beside the ``other`` judge's calls, (items of ``which``,
    values).
    """
    unit, names = given.units(which)
    table = None
    if len(values) <= MOST_CATEGORIES:
        theirs = counts(given.ratings[which], values) if other is None else other
        mine = tally(given.arm.item, given.arm.items, given.arm.value, values)[which]
        table = stats.across(mine, theirs, values, given.arm.step, unit, len(names))
    rows = np.column_stack([given.mean[which], given.human[which]])
    apart = stats.difference_sums(rows[:, 0] - rows[:, 1], None, unit, len(names))
    return Side({"side": "single"}, names, len(which), table, rows, unit, apart, centred=False)


def judges(arm: Arm, other: Arm) -> Iterator[Row]:
    """Two judges with each other, on the items that both scored."""
    given = beside(arm, other)
    which = given.paired
    if len(which):
        values = np.unique(np.concatenate([arm.scores, other.scores]))
        calls = tally(other.item, other.items, other.value, values)
        theirs = calls[np.searchsorted(other.item_code, arm.item_code[which])]
        yield from rows_of(
            replace(
                across(given, which, values, theirs), of={"side": "judges", "against": other.code}
            )
        )


def repeats(arm: Arm) -> Iterator[Row]:
    """The judge's calls of an item in one order as members of a panel, where an order was asked
    twice.
    """
    kept = np.flatnonzero(arm.ok)
    cell = arm.item[kept] * len(arm.shown) + arm.order[kept]
    cells, code, size = np.unique(cell, return_inverse=True, return_counts=True)
    if size.max(initial=0) > 1:
        table = spread_out(code, len(cells), arm.call[kept], arm.value[kept])[size > 1]
        present, group = distinct(cells[size > 1] // len(arm.shown), arm.items)
        units, unit = distinct(arm.unit[present], arm.units)
        yield from rows_of(
            panel({"side": "repeats"}, arm, arm.unit_names[units], table, arm.scores, group, unit)
        )


def panel(
    of: Mapping[str, Any],
    arm: Arm,
    names: Names,
    table: Floats,
    values: Floats,
    group: Ints,
    unit: Ints,
) -> Side:
    """``table``: (groups, members) NaN where none; ``group``: the item of each; ``unit``:
    (items,).
    """
    pairs = None
    if len(values) <= MOST_CATEGORIES:
        pairs = stats.within(counts(table, values), values, arm.step, group, unit, len(names))
    # The mean square of differences of two different members is twice their variance (n - 1).
    square = np.bincount(group, 2.0 * np.nanvar(table, axis=1, ddof=1)) / np.bincount(group)
    whole = np.flatnonzero(np.isfinite(table).all(axis=1))
    apart = stats.difference_sums(np.zeros(len(unit)), square, unit, len(names))
    return Side(of, names, len(unit), pairs, table[whole], unit[group[whole]], apart)


def tally(row: Ints, rows: int, given: Floats, values: Floats) -> Floats:
    """(rows, k): how often each of ``values`` was ``given`` (n,) in a ``row`` (n,); NaN left
    out.
    """
    known = np.isfinite(given)
    return crossed(
        row[known], rows, np.searchsorted(values, np.round(given[known], 6) - 1e-9), len(values)
    )


def counts(table: Floats, values: Floats) -> Floats:
    """(rows, k): how often each of ``values`` is in a row of ``table``."""
    return tally(
        np.repeat(np.arange(len(table)), table.shape[1]), len(table), table.ravel(), values
    )


def rows_of(side: Side) -> Iterator[Row]:
    for measure, estimate in {**_categories(side), **_intraclass(side), **_limits(side)}.items():
        yield Row(measure, estimate, side.of, counts={"n": side.items})


def _categories(side: Side) -> dict[str, Estimate]:
    table = side.table
    if table is None:
        return dict.fromkeys((*SHARES, *stats.COEFFICIENTS), missing("many_values"))
    items = table.pairs.sum(axis=(1, 2))
    made = {
        name: share(table.alike(steps), items, side.names, balanced=True)
        for steps, name in enumerate(SHARES)
    }
    every = jackknife(
        partial(stats.coefficients, values=table.values),
        (table.pairs, table.coincidences),
        side.names,
    )
    for name, estimate in zip(stats.COEFFICIENTS, every, strict=True):
        explained = _explained(estimate, outside=np.inf if name.startswith("ac") else table.spread)
        made[name] = replace(explained, rule=Fisher(fewest=10, lengthened=name in DISTANCES))
    return made


def _explained(estimate: Estimate, outside: float) -> Estimate:
    """The same without an interval that would not hold: few values outside the commonest pair, or
    one side constant.
    """
    if not np.isfinite(estimate.value):
        return missing("constant_side")
    why = estimate.why or ("few_outside" if outside < FEWEST_OUTSIDE else "")
    if (
        not why
        and abs(estimate.value) < 1 - 1e-9
        and np.abs(estimate.influence).max(initial=0.0) < 1e-9
    ):
        why = "constant_side"
    return replace(estimate, why=why)


def _intraclass(side: Side) -> dict[str, Estimate]:
    if len(side.rows) < 2:
        return dict.fromkeys(ICC, missing("no_complete"))
    outside = side.table.spread if side.table else np.inf
    present, code = distinct(side.unit)
    by_unit = stats.intraclass_sums(side.rows, code, len(present))
    statistic = partial(stats.intraclass, k=side.rows.shape[1])
    every = jackknife(statistic, (by_unit,), side.names[present], rule=Fisher(fewest=10))
    made = {name: _explained(estimate, outside) for name, estimate in zip(ICC, every, strict=True)}
    return made | {
        "icc2_k": replace(made["icc2_k"], rule=Fisher(fewest=10, members=side.rows.shape[1]))
    }


def _limits(side: Side) -> dict[str, Estimate]:
    """Mean difference -+ 1.96 sd; of a panel differences are taken both ways, so that their mean is
    0.
    """
    every = jackknife(
        partial(stats.limits, centred=side.centred), (side.apart,), side.names, rule=_LIMIT
    )
    still = abs(every[1].value - every[0].value) < 1e-9
    made = [
        missing(e.why) if e.why else plain(e.value, "constant_side") if still else e for e in every
    ]
    return dict(zip(LIMITS, made, strict=True))


def confusion(single: Side) -> Iterator[Row]:
    """The share of pairs by rating and score."""
    table = single.table
    if table is None or len(table.values) > MOST_CELLS:
        return
    items = table.pairs.sum(axis=(1, 2))
    labels = [label_of(value) for value in table.values.tolist()]
    for i, score in enumerate(labels):
        for j, rating in enumerate(labels):
            estimate = share(table.pairs[:, i, j], items, single.names, balanced=True)
            yield Row(
                "confusion",
                estimate,
                {"score": score, "rating": rating},
                counts={"n": single.items},
            )
