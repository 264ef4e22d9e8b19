"""Agreement of numbers: intraclass correlations, ranks in common, and how far two sides lie apart.

Intraclass correlations are those of Shrout and Fleiss (1979, Psychological Bulletin 86) in their
two-way forms, for absolute agreement (2,1), (2,k) and for consistency (3,1); McGraw and Wong (1996,
Psychological Methods 1) call them ICC(A,1), ICC(A,k) and ICC(C,1). Limits of agreement are those of
Bland and Altman (1986, The Lancet 327). Each comes with its values without each unit in turn.
"""

from __future__ import annotations

import numpy as np

from rubriclab.stats.human_correlation import LeftOut
from rubriclab.stats.inference import Floats, Ints, sum_by

LIMIT = 1.959964
"""Standard deviations on either side of the mean difference between which 95 % of normal ones lie."""
_NOTHING = 1e-12


def intraclass(rows: Floats, *, unit: Ints, units: int) -> tuple[LeftOut, LeftOut, LeftOut]:
    """ICC(2,1), ICC(2,k) and ICC(3,1) of a complete table (items, k members).

    ``unit``: (items,), 0..units-1. NaN for fewer than two items or members, or without variance.
    """
    k = rows.shape[1]
    if len(rows) == 0 or k < 2:
        empty = LeftOut(float("nan"), np.full(units, np.nan))
        return empty, empty, empty
    x = rows - rows.mean()
    sums = np.column_stack([np.ones(len(x)), (x * x).sum(axis=1), x.sum(axis=1) ** 2, x])
    by_unit = sum_by(unit, sums, units)
    total = by_unit.sum(axis=0)
    whole, without = _intraclass(total, k), _intraclass(total - by_unit, k)
    one, several, consistent = (LeftOut(float(whole[c]), without[:, c]) for c in range(3))
    return one, several, consistent


def _intraclass(total: Floats, k: int) -> Floats:
    """(..., 3) from sums of 1, squares, squared row totals and columns."""
    n, squares, row_squares, columns = total[..., 0], total[..., 1], total[..., 2], total[..., 3:]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = columns.sum(axis=-1) ** 2 / (n * k)
        between, members = row_squares / k - mean, (columns**2).sum(axis=-1) / n - mean
        varies = (n > 1) & (squares - mean > _NOTHING * np.maximum(squares, 1.0))
        msr, msc = between / (n - 1.0), members / (k - 1.0)
        mse = np.maximum(squares - mean - between - members, 0.0) / ((n - 1.0) * (k - 1.0))
        above = msr - mse
        one = above / (msr + (k - 1.0) * mse + k * (msc - mse) / n)
        several = above / (msr + (msc - mse) / n)
        consistent = above / (msr + (k - 1.0) * mse)
    found = np.stack([one, several, consistent], axis=-1)
    return np.where(varies[..., None] & np.isfinite(found), found, np.nan)


def mean_difference(one: Floats, other: Floats, *, unit: Ints, units: int) -> tuple[LeftOut, LeftOut, LeftOut]:
    """Mean of one - other, and the lower and the upper limit of agreement: mean ∓ 1.96 sd (n - 1).

    ``one``, ``other``: (items,). NaN for no item, the limits for fewer than two.
    """
    apart = one - other
    by_unit = sum_by(unit, np.column_stack([np.ones(len(apart)), apart, apart * apart]), units)
    total = by_unit.sum(axis=0)
    whole, without = _limits(total), _limits(total - by_unit)
    mean, low, high = (LeftOut(float(whole[c]), without[:, c]) for c in range(3))
    return mean, low, high


def _limits(total: Floats) -> Floats:
    n, x, xx = total[..., 0], total[..., 1], total[..., 2]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(n > 0, x / n, np.nan)
        reach = LIMIT * np.sqrt(np.maximum(xx - x * mean, 0.0) / (n - 1.0))
    reach = np.where(n > 1, reach, np.nan)
    return np.stack([mean, mean - reach, mean + reach], axis=-1)


# ---------------------------------------------------------------- Kendall's tau-b


def tau_b(x: Floats, y: Floats, *, unit: Ints, units: int) -> LeftOut:
    """Kendall's tau-b (1945): concordant less discordant pairs of items, over the root of untied ones.

    Without a unit: without all pairs that its items are in. NaN where a side is all ties.
    """
    sides = [np.unique(side, return_inverse=True)[1].astype(np.int64) for side in (x, y)]
    signed = np.column_stack([_signs(*sides), *(_untied(side) for side in sides)])
    total = signed.sum(axis=0) / 2.0
    gone = sum_by(unit, signed, units) - _within(sides, unit, units)
    return LeftOut(float(_tau(total)), np.asarray(_tau(total - gone)))


def _tau(pairs: Floats) -> Floats:
    """From (..., 3): concordant less discordant pairs, and those untied in x and in y."""
    size = np.sqrt(np.maximum(pairs[..., 1], 0.0) * np.maximum(pairs[..., 2], 0.0))
    return np.asarray(np.divide(pairs[..., 0], size, out=np.full(size.shape, np.nan), where=size > 0.5))


def _signs(x: Ints, y: Ints) -> Floats:
    """(items,): concordant less discordant pairs of each item with all others."""
    alike = _below(x, y) + _below(-x, -y)
    return (alike - _below(x, -y) - _below(-x, y)).astype(np.float64)


def _untied(x: Ints) -> Floats:
    """(items,): how many others differ from each item."""
    return (len(x) - np.bincount(x, minlength=1)[x]).astype(np.float64)


def _below(x: Ints, y: Ints) -> Ints:
    """(items,): how many items lie below each one in both x and y.

    Sorted by x (ties by falling y, so that none of them counts), the count of earlier items with a
    smaller y, by merging blocks of twice the size at each step (Knight 1966).
    """
    n = len(x)
    order = np.lexsort((-y, x))
    value = y[order] - y.min(initial=0)
    width = int(value.max(initial=0)) + 1
    place, count, size = np.arange(n), np.zeros(n, dtype=np.int64), 1
    while size < n:
        block = place // (2 * size)
        left = place % (2 * size) < size
        keys = np.sort(block[left] * width + value[left])
        right = ~left
        start = np.searchsorted(keys, block[right] * width)
        count[right] += np.searchsorted(keys, block[right] * width + value[right]) - start
        size *= 2
    out = np.empty(n, dtype=np.int64)
    out[order] = count
    return out


def _within(sides: list[Ints], unit: Ints, units: int) -> Floats:
    """(units, 3): the pairs inside each unit, as ``_tau`` takes them."""
    order = np.argsort(unit, kind="stable")
    code = unit[order]
    x, y = (side[order] for side in sides)
    inside = np.zeros((units, 3))
    for lag in range(1, int(np.bincount(code, minlength=1).max(initial=0))):
        same = np.flatnonzero(code[lag:] == code[:-lag])
        dx, dy = (np.sign(side[same + lag] - side[same]) for side in (x, y))
        pairs = np.column_stack([dx * dy, dx != 0, dy != 0]).astype(np.float64)
        inside += sum_by(code[same], pairs, units)
    return inside
