"""How much more one way of asking errs than another, with an upper end that holds for skewed losses."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, degrees_of_freedom, sum_by_unit


class Excess(NamedTuple):
    """``mean`` over items, its two-sided 95 % interval, and the upper end of a one-sided one."""

    mean: float
    ci: Interval
    bound: float


def excess(loss: Floats, unit: Ints, *, alpha: float) -> Excess:
    """``loss`` (items,) of one way less that of another, ``unit`` (items,) what items hold independently.

    A mean of items in clusters is a ratio of sums over units; its residuals by unit give the standard
    error. Losses are skewed (most are small, few are large) and Student's upper end is then too low: ends
    are those of Hall 1992 (On the Removal of Skewness by Transformation, Journal of the Royal Statistical
    Society B 54, section 2: the monotone cubic), on the degrees of freedom that the residuals' kurtosis
    leaves. ``bound``, of one-sided level 1 - ``alpha``, counts one unit more with the largest loss seen: a
    rare large loss may not have been met yet. NaN below three units.
    """
    sums = sum_by_unit(unit, np.stack([loss, np.ones(len(loss))], axis=1))
    mean = float(sums[:, 0].sum() / sums[:, 1].sum())
    if len(sums) < 3:
        return Excess(mean, NO_INTERVAL, float("nan"))
    rest = (sums[:, 0] - mean * sums[:, 1]) / sums[:, 1].mean()
    if np.ptp(rest) == 0.0:
        return Excess(mean, Interval(mean, mean), mean)
    more = np.append(rest, max(rest.max(), 0.0))
    return Excess(mean, Interval(mean - _reach(-rest, 0.025), mean + _reach(rest, 0.025)), mean + _reach(more, alpha))


def _reach(rest: Floats, alpha: float) -> float:
    """From 0 to the upper end for the mean that ``rest`` was drawn around, (units,)."""
    n, middle = len(rest), float(rest.mean())
    sd = float(rest.std(ddof=1))
    skew = float(((rest - middle) ** 3).mean() / sd**3)
    t = float(special.stdtrit(float(degrees_of_freedom(rest - middle)), 1.0 - alpha)) / math.sqrt(n)
    if abs(skew) < 1e-6:
        return middle + sd * t
    return middle - sd * 3.0 / skew * float(np.cbrt(1.0 - skew * (t + skew / (6.0 * n))) - 1.0)
