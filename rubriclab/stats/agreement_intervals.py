"""Intervals of coefficients of agreement, from their values without each unit in turn.

The delete-one-unit jackknife with Student's t, on the scale that fits each kind of number. Chosen by
simulation of judges and raters that share a latent trait (five options, seven and two; skewed, heavy
tails, missing, clustered, near-perfect, near chance), 400 studies of 15, 30 and 100 units each: 0.92 to
0.99 of the intervals held, but for kappa in 15 units (0.91 to 0.92) and for judges that are nearly
perfect, whose intervals are too wide (0.96 to 1.00).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.human_correlation import LeftOut
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Note, degrees_of_freedom
from rubriclab.stats.proportions import wilson

FEWEST = 10
"""Below so many units no interval is given."""
FEWEST_SPREAD = 12
"""Below so many items outside the commonest pair of values a coefficient beyond chance has none: its
denominator is then made by a few rare values, and what the others would be is not seen (skewed
ratings, 15 and 30 items: 0.88 and 0.91 of intervals held)."""
FEW_UNITS = "{n} units are too few for an interval; {least} are needed"
ONE_UNIT = "1 unit is too few for an interval; {least} are needed"
FEW_SPREAD = "{n:.0f} items lie outside the commonest pair of values, {least} are needed for an interval"
_STILL = 1e-9
_EDGE = 1.0 - 1e-9


class Estimated(NamedTuple):
    """A number with its interval; ``why``: what keeps the number, or its interval, from being given."""

    value: float
    ci: Interval = NO_INTERVAL
    why: str = ""


def of_share(of: LeftOut, *, level: float = 0.95) -> Estimated:
    """A mean of shares by unit, on Wilson's score interval at the number of trials worth its error."""
    return _estimated(of, lambda: _wilson(of, of.value, 1.0, level))


def of_coefficient(of: LeftOut, *, spread: float = np.inf, level: float = 0.95) -> Estimated:
    """A coefficient of at most 1: on Fisher's z, the degrees of freedom less where few units make it.

    Where no unit bears on it, as in full agreement, Wilson's interval of (1 + c) / 2 with each unit
    as one trial. ``spread``: how many items lie outside the commonest pair of values.
    """

    def ends() -> Interval:
        z = LeftOut(*(np.arctanh(np.clip(x, -_EDGE, _EDGE)) for x in (of.value, of.without)))
        error, degrees = _error(z)
        if error < _STILL:
            low, high = _wilson(of, (1.0 + of.value) / 2.0, 0.5, level)
            return Interval(2.0 * low - 1.0, 2.0 * high - 1.0)
        reach = special.stdtrit(degrees, 0.5 + level / 2.0) * error
        return Interval(float(np.tanh(z.value - reach)), float(np.tanh(z.value + reach)))

    if abs(of.value) < 1.0 - _STILL and np.isfinite(of.without).all() and _error(of)[0] < _STILL:
        return Estimated(float(of.value), NO_INTERVAL, "one side does not vary, so it is the same whatever the other")
    few = Note.of(FEW_SPREAD, n=spread, least=FEWEST_SPREAD)
    return _estimated(of, ends, few if spread < FEWEST_SPREAD else "")


def of_mean(of: LeftOut) -> Estimated:
    """A mean, with Student's t; none where no unit differs from another."""

    def ends() -> Interval:
        error, degrees = _error(of)
        reach = special.stdtrit(degrees, 0.975) * error
        return Interval(float(of.value - reach), float(of.value + reach))

    return _estimated(of, ends, "no item differs from another" if _error(of)[0] < _STILL else "")


def of_limits(mean: LeftOut, low: LeftOut, high: LeftOut) -> tuple[Estimated, Estimated]:
    """The lower and the upper limit of agreement, each with its interval.

    Put together from those of the mean and, on the log scale, of the standard deviation (Zou 2013,
    Confidence Interval Estimation for the Bland-Altman Limits of Agreement, section 3).
    """
    half = LeftOut((high.value - low.value) / 2.0, (high.without - low.without) / 2.0)
    known = np.isfinite(half.value) and bool(np.isfinite(half.without).all())
    few = "" if known and min(half.value, half.without.min(initial=np.inf)) > _STILL else "no item differs from another"
    inward, outward = (0.0, 0.0) if few else _reaches(mean, half)
    return (
        _estimated(low, lambda: Interval(low.value - outward, low.value + inward), few),
        _estimated(high, lambda: Interval(high.value - inward, high.value + outward), few),
    )


def _reaches(mean: LeftOut, half: LeftOut) -> tuple[float, float]:
    """How far a limit's interval goes towards the mean and away from it."""
    log_error, degrees = _error(LeftOut(float(np.log(half.value)), np.log(half.without)))
    factor = float(np.exp(special.stdtrit(degrees, 0.975) * log_error))
    error, degrees = _error(mean)
    moved = special.stdtrit(degrees, 0.975) * error
    inward, outward = (float(np.hypot(moved, half.value * by)) for by in (1.0 - 1.0 / factor, factor - 1.0))
    return inward, outward


def _estimated(of: LeftOut, ends: Callable[[], Interval], why: str = "") -> Estimated:
    if not np.isfinite(of.value):
        return Estimated(float("nan"), NO_INTERVAL, why or "not defined: the values do not vary")
    n = len(of.without)
    if n < FEWEST:
        return Estimated(float(of.value), NO_INTERVAL, Note.of(ONE_UNIT if n == 1 else FEW_UNITS, n=n, least=FEWEST))
    if not np.isfinite(of.without).all():
        return Estimated(float(of.value), NO_INTERVAL, "it hangs on a single unit")
    if why:
        return Estimated(float(of.value), NO_INTERVAL, why)
    low, high = ends()
    return Estimated(float(of.value), Interval(float(min(low, of.value)), float(max(high, of.value))))


def _error(of: LeftOut) -> tuple[float, float]:
    """The jackknife's standard error and the degrees of freedom that it has."""
    n = len(of.without)
    residual: Floats = (n - 1.0) * (of.without.mean() - of.without)
    error = float(np.sqrt((residual**2).sum() / (n * max(n - 1.0, 1.0))))
    return error, float(degrees_of_freedom(residual)) if error >= _STILL else n - 1.0


def _wilson(of: LeftOut, share: float, scale: float, level: float) -> Interval:
    """Wilson's interval of ``share``, whose error is ``scale`` times that of ``of``."""
    error, degrees = _error(of)
    share, error, trials = min(max(share, 0.0), 1.0), error * scale, float(len(of.without))
    if 0.0 < share < 1.0 and error > _STILL:
        tail = 0.5 + level / 2.0
        price = float(special.ndtri(tail) / special.stdtrit(degrees, tail))
        trials = share * (1.0 - share) / error**2 * price**2
    return wilson(share * trials, trials, level=level)
