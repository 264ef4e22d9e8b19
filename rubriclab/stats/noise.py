"""Measure how far calls of one item lie apart, in different orders and in the same one."""

import numpy as np

from rubriclab.stats.resample import Bools, Floats, Ints, distinct, sum_by


def differences(
    item: Ints,
    order: Ints,
    score: Ints,
    scores: Floats | int,
    n_items: int,
    request: Ints | None = None,
) -> tuple[Floats, Floats]:
    """Return the mean absolute difference of two calls of an item, (items,) each, in points.

    First in different orders, then in one and the same order.

    All pairs of its calls, each kind averaged by itself (U-statistics); NaN where an item has no
    such pair.

    ``item``, ``order``, ``score`` (an index into ``scores``): (calls,). ``scores``: (scores,) in
    points, or how many there are, any two of them 1 apart. ``request``: (calls,), of calls that
    share one no two are held against each other, as calls of one order never share one; where an
    item has one request alone they are. How many calls there are changes how precise these are,
    never what they are on average.
    """
    orders = int(order.max(initial=0)) + 1
    every = _pairs(item, score, scores, n_items)
    # A call that is alone in its order has no pair there; of millions, few are left to be looked
    # at.
    key = item * orders + order
    again = _again(key, n_items * orders)
    cell, within = distinct(key[again], n_items * orders)
    same = sum_by(cell // orders, _pairs(within, score[again], scores, len(cell)), n_items)
    other = every - same
    if request is not None:
        cell, together = np.unique(
            item * (request.max(initial=0) + 1) + request, return_inverse=True
        )
        shared = sum_by(
            cell // (request.max(initial=0) + 1),
            _pairs(together, score, scores, len(cell)),
            n_items,
        )
        other = np.where(other[:, 1:] > shared[:, 1:], other - shared, other)
    with np.errstate(invalid="ignore", divide="ignore"):
        return other[:, 0] / other[:, 1], same[:, 0] / same[:, 1]


def _again(cell: Ints, size: int) -> Bools | slice:
    """The rows whose ``cell``, 0..size-1, has another row."""
    if size > 16 * len(cell):  # orders that few items share: no table of all
        return slice(None)
    calls = np.bincount(cell, minlength=size)
    return slice(None) if (calls != 1).all() else np.asarray((calls > 1)[cell])


def _pairs(group: Ints, score: Ints, scores: Floats | int, size: int) -> Floats:
    """(groups, 2): the summed distance of ``scores`` over ordered pairs of calls, and the pairs."""
    n = scores if isinstance(scores, int) else len(scores)
    counts = np.bincount(score * size + group, minlength=n * size).reshape(n, size)
    calls, total = counts.sum(axis=0), np.zeros(size)
    if isinstance(scores, int):
        total += calls**2 - np.einsum("sg,sg->g", counts, counts)
    else:  # each step of the scale lies between the calls below it and those above
        below = np.zeros(size, dtype=np.int64)
        for step, given in zip(np.diff(scores), counts, strict=False):
            below += given
            total += 2 * step * (below * (calls - below))
    return np.stack([total, calls * (calls - 1.0)]).T


def within_item_sd(item: Ints, values: Floats, n_items: int) -> Floats:
    """Return the standard deviation (ddof 1) of each item's values (calls,); NaN below two.

    Source: Xu et al. v1, Table 3.
    """
    if not len(values):
        return np.full(n_items, np.nan)
    centred = values - values.mean()  # keeps the sum of squares from cancelling
    count = np.bincount(item, minlength=n_items).astype(np.float64)
    total = np.bincount(item, weights=centred, minlength=n_items)
    square = np.bincount(item, weights=centred**2, minlength=n_items)
    several = count > 1
    variance = (square - total**2 / np.maximum(count, 1.0)) / np.where(several, count - 1.0, 1.0)
    return np.asarray(np.where(several, np.sqrt(np.where(variance < 1e-12, 0.0, variance)), np.nan))
