"""Estimates of one thing from several sources, pooled: random-effects meta-analysis.

``values``: (k,) estimates; ``covariance``: (k, k) of their sampling errors, its diagonal the squared
standard errors. Off the diagonal it is 0 where sources share nothing. Where they share their units
(the same questions, shown in the same order, to judge many models) it is not, and leaving it out
makes the pooled estimate look surer than it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special
from scipy.optimize import brentq

from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval

ENOUGH = 2
"""Sources that pooling takes; a spread between them is told from chance only by many more."""


class Pooled(NamedTuple):
    """The mean over sources, and how far these differ beyond chance.

    ``tau``: the standard deviation of the sources' own values, in their unit. ``q``, ``df``, ``p``:
    Cochran's test that there is none (it takes sources to be independent). ``i2``: the share of the
    spread seen that is not sampling error (Higgins and Thompson 2002). ``prediction``: where the
    value of one more source like these would lie (Riley, Higgins and Deeks 2011); NO_INTERVAL below 3.
    """

    value: float
    se: float
    interval: Interval
    k: int
    tau: float
    q: float
    df: int
    p: float
    i2: float
    prediction: Interval


class Slope(NamedTuple):
    """How the value of a source goes with something about it: per unit of that."""

    intercept: float
    slope: float
    interval: Interval
    p: float
    tau: float


def shared_covariance(moved: Floats) -> Floats:
    """Covariance of estimates that rest on the same units, (k, k).

    ``moved``: (units, k), by how much each unit moves each estimate from what it is without it (its
    influence over the number of units; 0 where a unit has no part). Sandwich form with n / (n - 1).
    """
    n = len(moved)
    apart = moved - moved.mean(axis=0)
    return np.asarray(apart.T @ apart * (n / (n - 1.0)))


def random_effects(values: Floats, covariance: Floats, *, level: float = 0.95) -> Pooled:
    """The mean of sources that differ, each weighing by 1 / (its squared error + tau^2).

    tau^2 by Paule and Mandel (1982): where the weighted spread is what it should be; with errors
    that hang together, what it should be is tr(A V), which is k - 1 where they do not. The interval
    is Knapp and Hartung's (2003), Student's t on k - 1, its factor never below 1 (Roever et al. 2015).

    Raises ValueError for fewer than two sources or an error that is not above 0.
    """
    variance = _checked(values, covariance)
    k = len(values)
    tau2 = _paule_mandel(values, covariance, np.ones((k, 1)))
    weights = 1.0 / (variance + tau2)
    mean, se = _weighted(values, covariance, tau2, weights)
    fixed = 1.0 / variance
    q = float(fixed @ np.square(values - fixed @ values / fixed.sum()))
    t = float(special.stdtrit(k - 1, 0.5 + level / 2.0))
    prediction = NO_INTERVAL
    if k > 2:
        reach = float(special.stdtrit(k - 2, 0.5 + level / 2.0)) * float(np.sqrt(tau2 + se**2))
        prediction = Interval(mean - reach, mean + reach)
    return Pooled(
        value=mean,
        se=se,
        interval=Interval(mean - t * se, mean + t * se),
        k=k,
        tau=float(np.sqrt(tau2)),
        q=q,
        df=k - 1,
        p=float(special.chdtrc(k - 1, q)),
        i2=max(0.0, 1.0 - (k - 1) / q) if q > 0 else 0.0,
        prediction=prediction,
    )


def meta_regression(values: Floats, covariance: Floats, by: Floats, *, level: float = 0.95) -> Slope | None:
    """The line of ``values`` over ``by`` (k,), with the spread about it as in ``random_effects``.

    t on k - 2. None for fewer than four sources, or where ``by`` is the same for all.
    """
    variance = _checked(values, covariance)
    k = len(values)
    if k < 4 or np.ptp(by) == 0:
        return None
    design = np.column_stack([np.ones(k), by])
    tau2 = _paule_mandel(values, covariance, design)
    weights = 1.0 / (variance + tau2)
    solve = np.linalg.inv(design.T @ (weights[:, None] * design)) @ (design.T * weights)
    line = solve @ values
    spread = solve @ (covariance + tau2 * np.eye(k)) @ solve.T
    factor = max(1.0, float(weights @ np.square(values - design @ line)) / (k - 2))
    se = float(np.sqrt(spread[1, 1] * factor))
    t = float(special.stdtrit(k - 2, 0.5 + level / 2.0))
    p = 2.0 * float(special.stdtr(k - 2, -abs(line[1]) / se))
    low, high = float(line[1] - t * se), float(line[1] + t * se)
    return Slope(float(line[0]), float(line[1]), Interval(low, high), p, float(np.sqrt(tau2)))


def _checked(values: Floats, covariance: Floats) -> Floats:
    variance = np.diag(covariance)
    if len(values) < ENOUGH or covariance.shape != (len(values), len(values)):
        raise ValueError(f"sources: {len(values)}, with a covariance of {covariance.shape}: two or more are pooled.")
    if not (np.isfinite(values).all() and np.isfinite(covariance).all() and (variance > 0).all()):
        raise ValueError("Every source needs a value and a standard error above 0.")
    return variance


def _weighted(values: Floats, covariance: Floats, tau2: float, weights: Floats) -> tuple[float, float]:
    """(mean, standard error) under ``weights``, Knapp and Hartung's factor in the error."""
    share = weights / weights.sum()
    mean = float(share @ values)
    spread = float(share @ (covariance + tau2 * np.eye(len(values))) @ share)
    factor = float(weights @ np.square(values - mean)) / (len(values) - 1)
    return mean, float(np.sqrt(spread * max(1.0, factor)))


def _paule_mandel(values: Floats, covariance: Floats, design: Floats) -> float:
    """tau^2 at which the weighted spread about ``design`` is what its errors and tau^2 make it."""
    variance = np.diag(covariance)

    def excess(tau2: float) -> float:
        weights = 1.0 / (variance + tau2)
        weighed = weights[:, None] * design
        inner = np.linalg.inv(design.T @ weighed)
        away = values - design @ (inner @ (weighed.T @ values))
        # tr(A V) of A = W - W X (X'W X)^-1 X'W and V = covariance + tau^2 I.
        total = covariance + tau2 * np.eye(len(values))
        due = float(weights @ np.diag(total)) - float(np.trace(inner @ (weighed.T @ total @ weighed)))
        return float(weights @ np.square(away)) - due

    if excess(0.0) <= 0:
        return 0.0
    most = max(float(np.square(np.ptp(values))), float(variance.max()))
    while excess(most) > 0:
        most *= 2.0
    return float(brentq(excess, 0.0, most, xtol=1e-14))
