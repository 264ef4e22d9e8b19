"""Test and size the length of a mean vector over units.

The length says how far all positions move answers together, whatever the direction of each.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.core.cells import FLAT
from rubriclab.core.permutation import ALPHA
from rubriclab.stats.mean_contrasts import MIN_UNITS
from rubriclab.stats.resample import Floats

MOST_NONCENTRALITY = 1e8


class SquaredLength(NamedTuple):
    """A squared length with its interval and test.

    ``value``: |mean|^2 less what noise adds to it; ``low``, ``high``: the ends of its interval;
    ``p``: of "it is 0".
    """

    value: float
    low: float
    high: float
    p: float


def lean_test(top: Floats, bottom: Floats) -> float:
    """Return the p of "no position gains or loses".

    The statistic is the mean lean's squared length over what noise alone makes of it:
    F = N |mean|^2 / trace S on (h, h (N - 1)) degrees of freedom, h = trace(S)^2 / trace(S^2)
    (ANOVA-type statistic: Brunner, Dette and Munk 1997). It inverts no matrix, so it takes any
    number of units. Where all units are equal and not 0, p is 2^(1 - N).
    ``top`` (units, n): sums of leans, ``bottom`` (units,): of items. NaN below 8 units.
    """
    units = len(top)
    if units < MIN_UNITS:
        return float("nan")
    mean = top.sum(axis=0) / bottom.sum()
    rest = (top - mean * bottom[:, None]) / bottom.mean()
    covariance = _covariance(rest)
    trace, length = float(np.trace(covariance)), float(np.square(mean).sum())
    if trace < FLAT:
        return 1.0 if length < FLAT else float(2.0 ** (1 - units))
    h = trace**2 / float(np.square(covariance).sum())
    f = units * length / trace
    return float(special.betainc(h * (units - 1) / 2, h / 2, 1 / (1 + f / (units - 1))))


def squared_length_test(
    top: Floats, bottom: Floats, rank: int, alpha: float = ALPHA
) -> SquaredLength:
    """Return the squared length of a mean of many numbers a unit, with its ends and its test.

    The test is that of ``lean_test``, but h comes from unbiased traces (Bai and Saranadasa 1996):
    with many numbers a unit and few units h would be far too small. The ends are those of a
    noncentral chi-square on h, with tails as far out as those of t on h (N - 1). They are wider
    where the mean's own direction is noisier than the others. ``top`` (units, k), ``bottom``
    (units,) as in ``lean_test``; ``rank``: the most directions that the k numbers have;
    ``alpha``: 1 less the level of the interval. Below 8 units all but the value are NaN.
    """
    units = len(top)
    mean = top.sum(axis=0) / bottom.sum()
    seen = float(np.square(mean).sum())
    if units < MIN_UNITS:
        return SquaredLength(seen, float("nan"), float("nan"), float("nan"))
    rest = (top - mean * bottom[:, None]) / bottom.mean()
    covariance = _covariance(rest)
    trace, square = float(np.trace(covariance)), float(np.square(covariance).sum())
    if trace < FLAT:
        return SquaredLength(seen, seen, seen, 1.0 if seen < FLAT else float(2.0 ** (1 - units)))
    h = _directions(units, trace, square, rank)
    x, df = units * seen * h / trace, h * (units - 1)
    tail = float(special.ndtr(-special.stdtrit(df, 1 - alpha / 2)))
    length = np.sqrt(max(seen - trace / units, 0.0))
    along = float(np.square((rest * mean).sum(axis=1)).sum())
    in_its_direction = along / (units - 1) / max(seen, FLAT**2)
    wider = np.sqrt(max(in_its_direction * h / trace, 1.0))
    ends = []
    for below in (1 - tail, tail):
        end = np.sqrt(_noncentrality(h, x, below) * trace / h / units)
        ends.append(float(max(length + (end - length) * wider, 0.0)) ** 2)
    p = float(special.fdtrc(h, df, x / h))
    return SquaredLength(max(seen - trace / units, 0.0), ends[0], ends[1], p)


def _covariance(rest: Floats) -> Floats:
    """Return the covariance (k, k) of ``rest`` (units, k).

    It is computed without BLAS, whose last bits depend on the processor.
    """
    products = [(column[:, None] * rest).sum(axis=0) for column in rest.T]
    return np.asarray(np.stack(products) / (len(rest) - 1))


def _directions(units: int, trace: float, square: float, rank: int) -> float:
    """Return h, trace^2 / trace of the square of the covariance.

    It is 1 where one direction has all the variance, and ``rank`` where all have the same.
    """
    n = units
    of_square = (n - 1) ** 2 / ((n + 1) * (n - 2)) * (square - trace**2 / (n - 1))
    of_trace = n * (n - 1) / ((n - 2) * (n + 1)) * (trace**2 - 2 * square / n)
    if of_square <= 0:
        return float(rank)
    return float(np.clip(of_trace / of_square, 1, rank))


def _noncentrality(h: float, x: float, below: float) -> float:
    """Return the noncentrality where a share ``below`` of chi-square on ``h`` lies below ``x``.

    It is 0 where even 0 has less.
    """
    if special.chndtr(x, h, 0.0) <= below:
        return 0.0
    low, high = 0.0, 1.0
    while special.chndtr(x, h, high) > below and high < MOST_NONCENTRALITY:
        high *= 2
    for _ in range(50):
        middle = (low + high) / 2
        if special.chndtr(x, h, middle) > below:
            low = middle
        else:
            high = middle
    return high
