"""Measure how far the scores of an item's calls differ, between orders and within one order.

The first difference holds the order effect and the noise, the second the noise alone. Comparing
them is up to ``measures/``. All arrays have one entry per call, and loops over calls are avoided: a
run may have millions.
"""

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
    """Return the mean absolute difference of two calls of each item, in points, as two arrays.

    The first array (items,) is about pairs of calls in different orders, the second about pairs in
    the same order. Each is the mean over all pairs of that kind (a U-statistic), and NaN where an
    item has none. So more calls make a difference more precise, but on average not larger.

    Args:
        item, order: (calls,) the codes of each call's item and order.
        score: (calls,) an index into ``scores``.
        scores: (scores,) in points; or only their number, if any two of them count as 1 apart.
        request: (calls,) the request that a call went out in, if one request holds several calls.
            Calls of the same request are not compared in the first array, because calls in the
            same order never share a request. If an item has only one request, they are compared.
    """
    orders = int(order.max(initial=0)) + 1
    every = _pairs(item, score, scores, n_items)
    item_and_order = item * orders + order
    # A call that is alone in its order has no pair there. Leaving these out first saves most of
    # the work, since of millions of calls few are repeats.
    repeated = _repeated(item_and_order, n_items * orders)
    cell, cell_of_call = distinct(item_and_order[repeated], n_items * orders)
    pairs = _pairs(cell_of_call, score[repeated], scores, len(cell))
    same = sum_by(cell // orders, pairs, n_items)
    different = every - same
    if request is not None:
        requests = request.max(initial=0) + 1
        cell, cell_of_call = np.unique(item * requests + request, return_inverse=True)
        pairs = _pairs(cell_of_call, score, scores, len(cell))
        shared = sum_by(cell // requests, pairs, n_items)
        has_several_requests = different[:, 1:] > shared[:, 1:]
        different = np.where(has_several_requests, different - shared, different)
    with np.errstate(invalid="ignore", divide="ignore"):
        return different[:, 0] / different[:, 1], same[:, 0] / same[:, 1]


def _repeated(cell: Ints, size: int) -> Bools | slice:
    """Return an index of the calls whose ``cell`` (0 to size - 1) holds another call too.

    It may be a slice of all calls, where leaving some out would not pay.
    """
    if size > 16 * len(cell):  # few items share an order: a table of all cells would be too large
        return slice(None)
    calls = np.bincount(cell, minlength=size)
    if (calls != 1).all():
        return slice(None)
    return np.asarray((calls > 1)[cell])


def _pairs(group: Ints, score: Ints, scores: Floats | int, size: int) -> Floats:
    """Return (groups, 2): the sum of |difference| over ordered pairs of calls, and their number.

    ``group``: (calls,) 0 to size - 1. The pairs are counted from the scores of each group, so that
    no pair has to be formed.
    """
    n = scores if isinstance(scores, int) else len(scores)
    counts = np.bincount(score * size + group, minlength=n * size).reshape(n, size)
    calls = counts.sum(axis=0)
    total = np.zeros(size)
    if isinstance(scores, int):
        # All ordered pairs, less those with equal scores.
        total += calls**2 - np.einsum("sg,sg->g", counts, counts)
    else:
        # A step of the scale counts once for each pair with one call below it and one above.
        below = np.zeros(size, dtype=np.int64)
        # The highest score has no step above it, so the last row of counts is not needed.
        for step, given in zip(np.diff(scores), counts, strict=False):
            below += given
            total += 2 * step * (below * (calls - below))
    return np.stack([total, calls * (calls - 1.0)]).T


def within_item_sd(item: Ints, values: Floats, n_items: int) -> Floats:
    """Return the standard deviation (ddof 1) of each item's values, (items,); NaN below two values.

    ``item``, ``values``: (calls,). Source: Xu et al. v1, Table 3.
    """
    if not len(values):
        return np.full(n_items, np.nan)
    centred = values - values.mean()  # keeps the sum of squares from cancelling
    count = np.bincount(item, minlength=n_items).astype(np.float64)
    total = np.bincount(item, weights=centred, minlength=n_items)
    square = np.bincount(item, weights=centred**2, minlength=n_items)
    several = count > 1
    variance = (square - total**2 / np.maximum(count, 1.0)) / np.where(several, count - 1.0, 1.0)
    # Equal values may leave a tiny rest, also below 0, by rounding.
    deviation = np.sqrt(np.where(variance < 1e-12, 0.0, variance))
    return np.asarray(np.where(several, deviation, np.nan))
