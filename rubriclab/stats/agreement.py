"""A table of pairs, or numbers, in; agreement beyond chance, intraclass correlations and limits of
agreement out.

An item adds its pairs of values (a call of the judge with a rating, one rater's with another's), of
total weight 1: it counts once, however many calls or ratings it has. From the sums of these tables
follow the share of pairs that are alike, Cohen's kappa (1960; weighted: 1968), Gwet's AC1 and AC2
(2008; 2014, Handbook of Inter-Rater Reliability, 4th edition, chapter 5) and Krippendorff's alpha
(2004, Content Analysis, section 11.3). With one call and one rating an item these are the usual
coefficients; kappa of pairs from a panel, whose members have no names, is Fleiss' (1971). A
coefficient that chance alone explains fully (one category on both sides) is NaN.
"""

from dataclasses import dataclass

import numpy as np

from rubriclab.stats.resample import Floats, Ints, sum_by

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
    """Tables of pairs by unit. ``values``: (k,) the categories, ascending; ``step``: one of the
    scale.

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


def across(
    first: Floats, other: Floats, values: Floats, step: float, unit: Ints, units: int
) -> PairTable:
    """Pairs across two sides, as a judge's calls and the ratings.

    ``first``, ``other``: (items, k), how often each category was given on a side; all pairs of an
    item weigh alike. An item without a value on a side has no pair. ``unit``: (items,), 0..units-1.
    """
    mine, theirs = (_over(side, side.sum(axis=1)) for side in (first, other))
    pairs = sum_by(unit, mine[:, :, None] * theirs[:, None, :], units)
    return PairTable(values, step, pairs, pairs + pairs.transpose(0, 2, 1))


def within(
    counts: Floats, values: Floats, step: float, group: Ints, unit: Ints, units: int
) -> PairTable:
    """Pairs of two different members of a panel, in both directions; each member gave one value.

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
    """All COEFFICIENTS (..., 8) of sums (..., k, k) of pairs and of coincidences; NaN where one is
    not defined.
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
    """(units, 3 + k): what ``intraclass`` takes, of a complete table (targets, k members), ``unit``
    of each target.
    """
    x = rows - rows.mean()
    return sum_by(
        unit, np.column_stack([np.ones(len(x)), (x * x).sum(axis=1), x.sum(axis=1) ** 2, x]), units
    )


def intraclass(total: Floats, k: int) -> Floats:
    """ICC(2,1), ICC(2,k) and ICC(3,1), (..., 3), from sums of 1, squares, squared totals of
    targets, and columns.

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
    """(units, 3): what ``limits`` takes, of the items' mean differences and mean squared ones
    (None: theirs), (items,).
    """
    return sum_by(
        unit,
        np.column_stack([np.ones(len(mean)), mean, mean**2 if square is None else square]),
        units,
    )


def limits(total: Floats, *, centred: bool) -> Floats:
    """(..., 2): mean difference -+ LIMIT standard deviations (Bland and Altman 1986, The Lancet
    327).

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
