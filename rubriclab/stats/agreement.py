"""Agreement beyond chance, all of it from one table of pairs.

An item adds its pairs of values (a read of the judge with a rating, one rater's with another's), of
total weight 1: it counts once, however many reads or ratings it has. From the sums of these tables
follow the share of pairs that are alike, Cohen's kappa (1960; weighted: 1968), Gwet's AC1 and AC2
(2008; 2014, Handbook of Inter-Rater Reliability, 4th edition, chapter 5) and Krippendorff's alpha
(2004, Content Analysis, section 11.3). With one read and one rating an item these are the usual
coefficients; kappa of pairs from a panel, whose members have no names, is Fleiss' (1971). A
coefficient that chance alone explains fully (one category on both sides) is NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rubriclab.stats.inference import Floats, Ints, ratio, sum_by

COEFFICIENTS = (
    "exact",
    "within_one",
    "kappa",
    "kappa_linear",
    "kappa_quadratic",
    "ac1",
    "ac2",
    "alpha_nominal",
    "alpha_ordinal",
    "alpha_interval",
)
"""In the order of what ``coefficients`` returns; the first two are shares."""
SHARES = 2
_SAME = 1e-9


@dataclass(frozen=True)
class PairTable:
    """Tables of pairs by unit. ``values``: (k,) the categories, ascending; ``step``: one of the scale.

    ``pairs``: (units, k, k) weights of pairs, the first side's category by row, an item's adding up
    to 1. ``coincidences``: (units, k, k), symmetric, an item's adding up to its number of values, as
    Krippendorff counts them.
    """

    values: Floats
    step: float
    pairs: Floats
    coincidences: Floats

    @property
    def items(self) -> float:
        """How many items have a pair."""
        return float(self.pairs.sum())


def crossed(one: Floats, other: Floats, values: Floats, *, step: float, unit: Ints, units: int) -> PairTable:
    """Pairs across two sides, as a judge's reads and the ratings.

    ``one``, ``other``: (items, k), how often each category was given on a side; all pairs of an item
    weigh alike. An item without a value on a side has no pair. ``unit``: (items,), 0..units-1.
    """
    first, second = _shares(one), _shares(other)
    pairs = sum_by(unit, first[:, :, None] * second[:, None, :], units)
    return PairTable(values, step, pairs, pairs + pairs.transpose(0, 2, 1))


def paired(
    counts: Floats, own: Floats, values: Floats, *, step: float, unit: Ints, units: int, group: Ints | None = None
) -> PairTable:
    """Pairs of two different members of a panel, in both directions.

    ``counts``: (groups, k), the values of a group (an item; an item in one order); ``own``: (groups,
    k, k), the pairs within one and the same member, a value with itself among them: they do not
    count. ``group``: (groups,) the item of each group, 0..n-1; ``unit``: (n,) the unit of each item.
    """
    among = counts[:, :, None] * counts[:, None, :] - own
    values_in = counts.sum(axis=1) * (among.sum(axis=(1, 2)) > 0.5)
    if group is not None:
        among, values_in = sum_by(group, among, len(unit)), sum_by(group, values_in, len(unit))
    share = _over(among, among.sum(axis=(1, 2)))
    pairs = sum_by(unit, share, units)
    return PairTable(values, step, pairs, sum_by(unit, share * values_in[:, None, None], units))


def alone(counts: Floats) -> Floats:
    """``own`` of ``paired`` where every member gave one value: each value with itself, (groups, k, k)."""
    return np.asarray(counts[:, :, None] * np.eye(counts.shape[1]))


def spread(value: Floats, values: Floats) -> Floats:
    """(items, k): each value's weight on its nearest category; half-way it counts half for both."""
    apart = np.abs(value[:, None] - values)
    nearest = (apart <= apart.min(axis=1, keepdims=True) + _SAME).astype(np.float64)
    return np.asarray(nearest / nearest.sum(axis=1, keepdims=True))


def coefficients(table: PairTable) -> Floats:
    """All COEFFICIENTS of the sum of the tables, (10,); NaN where one is not defined."""
    return _coefficients(table, table.pairs.sum(axis=0), table.coincidences.sum(axis=0))


def coefficients_without(table: PairTable) -> Floats:
    """The same without each unit in turn, (units, 10)."""
    pairs, both = table.pairs, table.coincidences
    return _coefficients(table, pairs.sum(axis=0) - pairs, both.sum(axis=0) - both)


def disagreements(values: Floats, step: float) -> Floats:
    """(4, k, k): nominal, more than one step apart, and linear and quadratic in the values, 0 to 1.

    Weights go by what the categories stand for, not by their places: 1, 2 and 5 are not evenly far
    apart (scikit-learn's go by places; they agree where the steps are even).
    """
    apart = np.abs(values[:, None] - values)
    widest = apart.max() or 1.0
    return np.stack([apart > _SAME, apart > step + _SAME, apart / widest, (apart / widest) ** 2]).astype(np.float64)


def _coefficients(table: PairTable, pairs: Floats, both: Floats) -> Floats:
    """From totals (..., k, k) of pairs and of coincidences."""
    q = len(table.values)
    away = disagreements(table.values, table.step)
    flat = away.reshape(4, q * q).T
    n = pairs.sum(axis=(-1, -2))
    rows, columns = pairs.sum(axis=-1), pairs.sum(axis=-2)
    observed = ratio(pairs.reshape(*pairs.shape[:-2], q * q) @ flat, n[..., None])
    expected = np.stack([ratio(((rows @ d) * columns).sum(axis=-1), n * n) for d in away], axis=-1)
    kappas = 1.0 - _of(observed[..., [0, 2, 3]], expected[..., [0, 2, 3]])
    share = ratio(rows + columns, 2.0 * n[..., None])
    even = (share * (1.0 - share)).sum(axis=-1) / max(q * (q - 1), 1)
    total = (1.0 - away).sum(axis=(1, 2))
    by_chance = [1.0 - total[d] * even for d in (0, 3)]
    gwet = [1.0 - _of(observed[..., d], chance) for d, chance in zip((0, 3), by_chance, strict=True)]
    alphas = [_alpha(both, away[0]), _alpha_ordinal(both), _alpha(both, away[3])]
    shares = 1.0 - observed[..., :2]
    return np.concatenate([shares, kappas, np.stack([*gwet, *alphas], axis=-1)], axis=-1)


def _alpha(both: Floats, away: Floats) -> Floats:
    """1 - observed / expected disagreement, a value never paired with itself (n - 1)."""
    counts = both.sum(axis=-1)
    n = counts.sum(axis=-1)
    observed = ratio((both * away).sum(axis=(-1, -2)), n)
    expected = ratio(((counts @ away) * counts).sum(axis=-1), n * n)
    return _unpaired(observed, expected, n)


def _alpha_ordinal(both: Floats) -> Floats:
    """The same where two categories are as far apart as there are values between them.

    The squared distance of their mid-ranks among all values (Krippendorff 2004, section 11.3.3).
    """
    counts = both.sum(axis=-1)
    n = counts.sum(axis=-1)
    rank = ratio(counts.cumsum(axis=-1) - counts / 2.0, n[..., None])
    square = ratio((counts * rank**2).sum(axis=-1), n)
    across = ratio(((both @ rank[..., None])[..., 0] * rank).sum(axis=-1), n)
    mean = ratio((counts * rank).sum(axis=-1), n)
    return _unpaired(square - across, square - mean**2, n)


def _unpaired(observed: Floats, expected: Floats, n: Floats) -> Floats:
    """Mean disagreement within items over that of any two of the n values, none with itself."""
    return np.asarray(1.0 - _of(observed * np.maximum(n - 1.0, 0.0), expected * n))


def _of(observed: Floats, expected: Floats) -> Floats:
    """observed / expected; NaN where chance leaves nothing to disagree on."""
    return ratio(observed, np.where(expected > _SAME, expected, 0.0))


def _shares(counts: Floats) -> Floats:
    return _over(counts, counts.sum(axis=1))


def _over(parts: Floats, total: Floats) -> Floats:
    """Parts of each row over its total, 0 where that is 0."""
    shaped = total.reshape(len(total), *(1,) * (parts.ndim - 1))
    return np.divide(parts, shaped, out=np.zeros_like(parts), where=shaped > _SAME)
