"""Say how far the judge agrees with people, people with each other, and the judge with itself.

An item adds its pairs of values (a call of the judge with a rating, one rater's value with
another's) with total weight 1: it counts once, however many calls or ratings it has. From the sums
of these tables follow the share of equal pairs, Cohen's kappa (1960; weighted: 1968), Gwet's AC1
and AC2 (2008; 2014, Handbook of Inter-Rater Reliability, 4th edition, chapter 5) and
Krippendorff's alpha (2004, Content Analysis, section 11.3). With one call and one rating per item
these are the usual coefficients. Kappa of pairs from a panel, whose members have no names, is
Fleiss' (1971). A coefficient that chance alone explains fully (one category on both sides) is NaN.

Intraclass correlations and limits of agreement compare the item's mean score with its mean rating
(or with the other judge's mean); for people and repeats they compare single values. Repeats are
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
from rubriclab.stats.resample import Floats, Ints, crossed, distinct, spread_out, sum_by

# -------------------------------------------------------------------------- agreement of categories
COEFFICIENTS = (
    "kappa",
    "kappa_linear",
    "kappa_quadratic",
    "ac1",
    "ac2",
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
)
"""In the order of what ``coefficients`` returns."""
LIMIT = 1.959964
"""Standard deviations on either side of the mean difference between which 95% of normal ones lie.
"""
_SAME = 1e-9


@dataclass(frozen=True)
class PairTable:
    """Tables of pairs by unit.

    values: (k,) the categories, ascending. ``step``: one step of the scale.

    ``pairs``: (units, k, k) weights of pairs, the first side's category by row, an item's adding up
    to 1. ``coincidences``: (units, k, k), symmetric, an item's adding up to its number of values,
    as Krippendorff has it.
    """

    values: Floats
    step: float
    pairs: Floats
    coincidences: Floats

    @property
    def spread(self) -> float:
        """How many items lie outside the commonest pair of values."""
        total = self.pairs.sum(axis=0)
        return float(total.sum() - total.max(initial=0.0))

    def alike(self, steps: int) -> Floats:
        """(units,): the weight of pairs that are at most so many steps apart."""
        near = np.abs(self.values[:, None] - self.values) <= steps * self.step + _SAME
        return np.asarray((self.pairs * near).sum(axis=(1, 2)))


def pairs_across(
    first: Floats, other: Floats, values: Floats, step: float, unit: Ints, units: int
) -> PairTable:
    """Return pairs across two sides, such as a judge's calls and the ratings.

    ``first``, ``other``: (items, k), how often each category was given on a side; all pairs of an
    item weigh alike. An item without a value on a side has no pair. ``unit``: (items,), 0..units-1.
    """
    mine, theirs = (_over(side, side.sum(axis=1)) for side in (first, other))
    pairs = sum_by(unit, mine[:, :, None] * theirs[:, None, :], units)
    return PairTable(values, step, pairs, pairs + pairs.transpose(0, 2, 1))


def pairs_within(
    counts: Floats, values: Floats, step: float, group: Ints, unit: Ints, units: int
) -> PairTable:
    """Return pairs of two different members of a panel, in both directions.

    Each member gave one value.

    ``counts``: (groups, k), the values of a group (an item; an item in one order); ``group``:
    (groups,) the item of each group, 0..n-1; ``unit``: (n,) the unit of each item.
    """
    among = counts[:, :, None] * (counts[:, None, :] - np.eye(counts.shape[1]))
    size = counts.sum(axis=1)
    given = sum_by(group, size * (size > 1), len(unit))
    among = sum_by(group, among, len(unit))
    share = _over(among, among.sum(axis=(1, 2)))
    return PairTable(
        values, step, sum_by(unit, share, units), sum_by(unit, share * given[:, None, None], units)
    )


def coefficients(pairs: Floats, both: Floats, values: Floats) -> Floats:
    """Return all COEFFICIENTS (..., 8) from sums (..., k, k) of pairs and of coincidences.

    NaN where one is not defined.
    """
    q = len(values)
    away = disagreements(values)
    n = pairs.sum(axis=(-1, -2))
    rows, columns = pairs.sum(axis=-1), pairs.sum(axis=-2)
    observed = [_ratio((pairs * d).sum(axis=(-1, -2)), n) for d in away]
    expected = [_ratio(((rows @ d) * columns).sum(axis=-1), n * n) for d in away]
    kappas = [1.0 - _of(o, e) for o, e in zip(observed, expected, strict=True)]
    share = _ratio(rows + columns, 2.0 * n[..., None])
    even = (share * (1.0 - share)).sum(axis=-1) / max(q * (q - 1), 1)
    gwet = [1.0 - _of(observed[d], 1.0 - (1.0 - away[d]).sum() * even) for d in (0, 2)]
    alphas = [_alpha(both, away[0]), _alpha_ordinal(both), _alpha(both, away[2])]
    return np.stack([*kappas, *gwet, *alphas], axis=-1)


def disagreements(values: Floats) -> Floats:
    """(3, k, k): nominal, linear and quadratic in the values, 0 to 1.

    Weights go by what the categories stand for, not by their rank: 1, 2 and 5 are not evenly far
    apart (scikit-learn's go by rank; they agree where the steps are even).
    """
    apart = np.abs(values[:, None] - values)
    widest = apart.max() or 1.0
    return np.stack([apart > _SAME, apart / widest, (apart / widest) ** 2]).astype(np.float64)


def _alpha(both: Floats, away: Floats) -> Floats:
    """1 - observed / expected disagreement, a value never paired with itself (n - 1)."""
    counts = both.sum(axis=-1)
    n = counts.sum(axis=-1)
    expected = _ratio(((counts @ away) * counts).sum(axis=-1), n * n)
    return _unpaired(_ratio((both * away).sum(axis=(-1, -2)), n), expected, n)


def _alpha_ordinal(both: Floats) -> Floats:
    """The same where two categories are as far apart as there are values between them.

    The squared distance of their mid-ranks among all values (Krippendorff 2004, section 11.3.3).
    """
    counts = both.sum(axis=-1)
    n = counts.sum(axis=-1)
    rank = _ratio(counts.cumsum(axis=-1) - counts / 2.0, n[..., None])
    square = _ratio((counts * rank**2).sum(axis=-1), n)
    beside = _ratio(((both @ rank[..., None])[..., 0] * rank).sum(axis=-1), n)
    mean = _ratio((counts * rank).sum(axis=-1), n)
    return _unpaired(square - beside, square - mean**2, n)


def _unpaired(observed: Floats, expected: Floats, n: Floats) -> Floats:
    """Mean disagreement within items over that of any two of the n values, none with itself."""
    return np.asarray(1.0 - _of(observed * np.maximum(n - 1.0, 0.0), expected * n))


def _of(observed: Floats, expected: Floats) -> Floats:
    """observed / expected; NaN where chance leaves nothing to disagree on."""
    return _ratio(observed, np.where(expected > _SAME, expected, 0.0))


def _ratio(top: Floats, bottom: Floats) -> Floats:
    top, bottom = np.broadcast_arrays(top, bottom)
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0))


def _over(parts: Floats, total: Floats) -> Floats:
    """Parts of each row over its total, 0 where that is 0."""
    shaped = total.reshape(len(total), *(1,) * (parts.ndim - 1))
    return np.divide(parts, shaped, out=np.zeros_like(parts), where=shaped > _SAME)


# --------------------------------------------------------------------------------------- of numbers
def intraclass_sums(rows: Floats, unit: Ints, units: int) -> Floats:
    """(units, 3 + k): what ``intraclass`` needs from a complete table (targets, k members).

    ``unit``: of each target.
    """
    x = rows - rows.mean()
    return sum_by(
        unit, np.column_stack([np.ones(len(x)), (x * x).sum(axis=1), x.sum(axis=1) ** 2, x]), units
    )


def intraclass(total: Floats, k: int) -> Floats:
    """Return ICC(2,1), ICC(2,k) and ICC(3,1), (..., 3).

    ``total``: sums of 1, squares, squared totals of targets, and columns.

    Two-way forms of Shrout and Fleiss (1979, Psychological Bulletin 86), for absolute agreement
    (2,1), (2,k) and for consistency (3,1); McGraw and Wong (1996) call them ICC(A,1), ICC(A,k) and
    ICC(C,1). NaN for fewer than two targets or members, or without variance.
    """
    n, squares, row_squares, columns = total[..., 0], total[..., 1], total[..., 2], total[..., 3:]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = columns.sum(axis=-1) ** 2 / (n * k)
        between, members = row_squares / k - mean, (columns**2).sum(axis=-1) / n - mean
        varies = (n > 1) & (squares - mean > 1e-12 * np.maximum(squares, 1.0))
        msr, msc = between / (n - 1.0), members / (k - 1.0)
        mse = np.maximum(squares - mean - between - members, 0.0) / ((n - 1.0) * (k - 1.0))
        above = msr - mse
        single = above / (msr + (k - 1.0) * mse + k * (msc - mse) / n)
        average = above / (msr + (msc - mse) / n)
        consistent = above / (msr + (k - 1.0) * mse)
    made = np.stack([single, average, consistent], axis=-1)
    return np.where(varies[..., None] & np.isfinite(made), made, np.nan)


def difference_sums(mean: Floats, square: Floats | None, unit: Ints, units: int) -> Floats:
    """(units, 3): what ``limits`` needs.

    ``mean``, ``square``: (items,) mean difference and mean squared one; None for the mean's square.
    """
    return sum_by(
        unit,
        np.column_stack([np.ones(len(mean)), mean, mean**2 if square is None else square]),
        units,
    )


def limits(total: Floats, *, centred: bool) -> Floats:
    """(..., 2): mean difference -+ LIMIT standard deviations.

    Source: Bland and Altman 1986, The Lancet 327.

    ``centred``: differences taken in both directions, whose mean is 0. NaN for fewer than two
    items.
    """
    n, x, xx = total[..., 0], total[..., 1], total[..., 2]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = x / n
        half = LIMIT * np.sqrt(np.maximum(xx - x * mean, 0.0) / (n if centred else n - 1.0))
        return (
            np.stack([mean - half, mean + half], axis=-1) + np.where(n > 1, 0.0, np.nan)[..., None]
        )


# --------------------------------------------------------------------------------- the topic's rows
ICC = ("icc2_1", "icc2_k", "icc3_1")
LIMITS = ("limit_low", "limit_high")
SHARES = ("exact", "within_one")
MEASURES = (*SHARES, *COEFFICIENTS, *ICC, *LIMITS)
DISTANCES = ("kappa_linear", "kappa_quadratic", "alpha_interval")
"""Coefficients that a few values far away can make."""
MOST_CATEGORIES = 20
"""With more values than this there are no coefficients of categories: each is too rare."""
MOST_CELLS = 10
"""With more values than this the table of scores by ratings is not shown: it cannot be read."""
FEWEST_OUTSIDE = 12
"""Below so many items outside the commonest pair of values a coefficient beyond chance has no
interval: its denominator is then made by a few rare values (skewed ratings, 15 and 30 items: 0.88
and 0.91 of intervals held).
"""
_LIMIT = Student(fewest=10, lopsided=True)
"""The rule of limits of agreement: it held in 0.92 to 0.97 of the studies of Fisher's rule, plain
Student's in 0.89 to 0.94.
"""


@dataclass(frozen=True, eq=False)
class Side:
    """What is compared with what.

    table: pairs of categories, None if there are too many.
    rows: (targets, members) without gaps, and their ``unit``.
    apart: (units, 3) sums of differences, ``centred`` where they are taken in both directions.
    """

    of: Mapping[str, Any]
    names: Names
    items: int
    table: PairTable | None
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
        values = values_of(given, which)
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
    """Return the judge next to people, or next to another judge's calls.

    ``other``: (items of ``which``, values).
    """
    unit, names = given.units(which)
    table = None
    if len(values) <= MOST_CATEGORIES:
        theirs = counts(given.ratings[which], values) if other is None else other
        mine = tally(given.arm.item, given.arm.items, given.arm.value, values)[which]
        table = pairs_across(mine, theirs, values, given.arm.step, unit, len(names))
    rows = np.column_stack([given.mean[which], given.human[which]])
    apart = difference_sums(rows[:, 0] - rows[:, 1], None, unit, len(names))
    return Side({"side": "single"}, names, len(which), table, rows, unit, apart, centred=False)


def judges(arm: Arm, other: Arm) -> Iterator[Row]:
    """Yield agreement of two judges on the items that both scored."""
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
    """Yield agreement of the judge's calls of an item in one order, as members of a panel.

    Where an order was asked twice.
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
    """Return members of a panel compared with each other.

    ``table``: (groups, members) NaN where none; ``group``: the item of each; ``unit``: (items,).
    """
    pairs = None
    if len(values) <= MOST_CATEGORIES:
        pairs = pairs_within(counts(table, values), values, arm.step, group, unit, len(names))
    # The mean square of differences of two different members is twice their variance (n - 1).
    square = np.bincount(group, 2.0 * np.nanvar(table, axis=1, ddof=1)) / np.bincount(group)
    whole = np.flatnonzero(np.isfinite(table).all(axis=1))
    apart = difference_sums(np.zeros(len(unit)), square, unit, len(names))
    return Side(of, names, len(unit), pairs, table[whole], unit[group[whole]], apart)


def tally(row: Ints, rows: int, given: Floats, values: Floats) -> Floats:
    """(rows, k): how often each of ``values`` was ``given`` (n,) in a ``row`` (n,), without NaN."""
    known = np.isfinite(given)
    return crossed(
        row[known], rows, np.searchsorted(values, np.round(given[known], 6) - 1e-9), len(values)
    )


def counts(table: Floats, values: Floats) -> Floats:
    """(rows, k): how often each of ``values`` is in a row of ``table``."""
    return tally(
        np.repeat(np.arange(len(table)), table.shape[1]), len(table), table.ravel(), values
    )


def values_of(given: Rated, which: Ints) -> Floats:
    """Return the scores of the scale and all ratings of the items ``which``, ascending."""
    ratings = given.ratings[which]
    return np.unique(np.concatenate([given.arm.scores, np.round(ratings[np.isfinite(ratings)], 6)]))


def weighted_kappa(given: Rated, which: Ints) -> Estimate:
    """Return the quadratically weighted kappa of single calls about the items ``which``."""
    return _categories(across(given, which, values_of(given, which)))["kappa_quadratic"]


def rows_of(side: Side) -> Iterator[Row]:
    for measure, estimate in {**_categories(side), **_intraclass(side), **_limits(side)}.items():
        yield Row(measure, estimate, side.of, counts={"n": side.items})


def _categories(side: Side) -> dict[str, Estimate]:
    table = side.table
    if table is None:
        return dict.fromkeys((*SHARES, *COEFFICIENTS), missing("many_values"))
    items = table.pairs.sum(axis=(1, 2))
    made = {
        name: share(table.alike(steps), items, side.names, balanced=True)
        for steps, name in enumerate(SHARES)
    }
    every = jackknife(
        partial(coefficients, values=table.values),
        (table.pairs, table.coincidences),
        side.names,
    )
    for name, estimate in zip(COEFFICIENTS, every, strict=True):
        checked = explained(estimate, outside=np.inf if name.startswith("ac") else table.spread)
        made[name] = replace(checked, rule=Fisher(fewest=10, lengthened=name in DISTANCES))
    return made


def explained(estimate: Estimate, outside: float) -> Estimate:
    """Return the estimate without an interval that would not hold.

    Few values are outside the commonest pair, or one side is constant.
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
    by_unit = intraclass_sums(side.rows, code, len(present))
    statistic = partial(intraclass, k=side.rows.shape[1])
    every = jackknife(statistic, (by_unit,), side.names[present], rule=Fisher(fewest=10))
    made = {name: explained(estimate, outside) for name, estimate in zip(ICC, every, strict=True)}
    return made | {
        "icc2_k": replace(made["icc2_k"], rule=Fisher(fewest=10, members=side.rows.shape[1]))
    }


def _limits(side: Side) -> dict[str, Estimate]:
    """Return the mean difference -+ 1.96 sd.

    In a panel differences are taken both ways, so that their mean is 0.
    """
    every = jackknife(partial(limits, centred=side.centred), (side.apart,), side.names, rule=_LIMIT)
    still = abs(every[1].value - every[0].value) < 1e-9
    made = [
        missing(e.why) if e.why else plain(e.value, "constant_side") if still else e for e in every
    ]
    return dict(zip(LIMITS, made, strict=True))


def confusion(single: Side) -> Iterator[Row]:
    """Yield the share of pairs by rating and score."""
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
