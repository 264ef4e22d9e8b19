"""How much more one way of asking errs than another, with an upper end that holds for skewed losses."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, sum_by_unit


class Excess(NamedTuple):
    """``mean`` over items, its two-sided 95 % interval, and the upper end of a one-sided one."""

    mean: float
    ci: Interval
    bound: float


def excess(loss: Floats, unit: Ints, *, alpha: float) -> Excess:
    """``loss`` (items,) of one way less that of another, ``unit`` (items,) what items hold independently.

    A mean of items in clusters is a ratio of sums over units; its residuals by unit give the standard
    error. Losses are skewed (most are small, few are large), and Student's upper end is then too low:
    Johnson 1978 (Modified t Tests and Confidence Intervals for Asymmetrical Populations, Journal of the
    American Statistical Association 73, equation 2.5 solved for the mean to first order) adds
    skewness (1 + 2 t²) s / (6 n). One-sided level 1 - ``alpha``. NaN below three units.
    """
    sums = sum_by_unit(unit, np.stack([loss, np.ones(len(loss))], axis=1))
    n = len(sums)
    mean = float(sums[:, 0].sum() / sums[:, 1].sum())
    if n < 3:
        return Excess(mean, NO_INTERVAL, float("nan"))
    rest = (sums[:, 0] - mean * sums[:, 1]) / sums[:, 1].mean()
    sd = float(np.sqrt((rest**2).sum() / (n - 1)))
    if sd == 0.0:
        return Excess(mean, Interval(mean, mean), mean)
    skew = float((rest**3).mean() / sd**3)
    low, high = (mean + sign * _reach(n, 0.025, sign * skew) * sd for sign in (-1.0, 1.0))
    return Excess(mean, Interval(low, high), mean + _reach(n, alpha, skew) * sd)


def _reach(n: int, alpha: float, skew: float) -> float:
    """Standard deviations from the mean to its end on the side where ``skew`` is counted as positive."""
    t = float(special.stdtrit(n - 1, 1.0 - alpha))
    return max(0.0, t / math.sqrt(n) + skew * (1.0 + 2.0 * t * t) / (6.0 * n))
