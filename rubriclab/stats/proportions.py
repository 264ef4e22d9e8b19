"""Intervals of a share: of independent trials, and of trials that come in clusters.

A resampled share near 0 or 1 has an interval of no width, however few trials it rests on; these
have not. ``level`` is the confidence of the two-sided interval; no trials have no interval.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import special

from rubriclab.stats import distributions
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, degrees_of_freedom


def wilson(successes: float, trials: float, *, level: float = 0.95) -> Interval:
    """Wilson's score interval (1927); an effective, fractional number of trials is as good.

    Its coverage is near ``level`` on average over the true share (Brown, Cai and DasGupta 2001,
    Interval Estimation for a Binomial Proportion, section 4.2).
    """
    if not trials > 0:
        return NO_INTERVAL
    z2 = float(special.ndtri(0.5 + level / 2.0)) ** 2
    share = successes / trials
    centre = (share + z2 / (2.0 * trials)) / (1.0 + z2 / trials)
    half = np.sqrt(z2 * (share * (1.0 - share) + z2 / (4.0 * trials)) / trials) / (1 + z2 / trials)
    # Exactly 0 or 1 at the ends, where rounding would leave a trace.
    low = 0.0 if share <= 0.0 else max(0.0, float(centre - half))
    return Interval(low, 1.0 if share >= 1.0 else min(1.0, float(centre + half)))


def clopper_pearson(successes: float, trials: float, *, level: float = 0.95) -> Interval:
    """The exact interval (Clopper and Pearson 1934): it covers in ``level`` or more.

    By quantiles of the beta distribution, so that a fractional number of trials is as good.
    """
    if not trials > 0:
        return NO_INTERVAL
    tail, failures = (1.0 - level) / 2.0, trials - successes
    low = distributions.beta.ppf(tail, successes, failures + 1.0) if successes > 0 else 0.0
    high = distributions.beta.isf(tail, successes + 1.0, failures) if failures > 0 else 1.0
    return Interval(float(low), float(high))


def effective_trials(
    successes: Floats, trials: Floats, *, level: float = 0.95, exact: bool = True, balanced: bool = False
) -> float:
    """To how many independent trials the clusters are worth, for an interval at ``level``.

    ``successes``, ``trials``: (clusters,), those without a trial left out. The binomial variance
    over the variance of the ratio between clusters, less what Student's t on clusters - 1 costs
    (Korn and Graubard 1998, Confidence Intervals for Proportions with Small Expected Number of
    Positive Counts Estimated from Survey Data, section 2), and never more than there are. Where
    no cluster differs from another their variance says nothing: each then counts as one trial.

    Not ``exact``: t on fewer degrees of freedom where few clusters make the variance
    (``degrees_of_freedom``). ``balanced``: clusters vary less than so many coins, as an item's choices
    of a place do in balanced orders, or ties that are half a win, and are worth more than their trials.
    """
    known = trials > 0
    x, n = successes[known].astype(np.float64), trials[known].astype(np.float64)
    clusters, total = len(n), float(n.sum())
    if clusters == 0 or bool((n == 1).all() and np.isin(x, (0.0, 1.0)).all()):
        return total
    share = float(x.sum()) / total
    if clusters < 2:
        return 1.0
    residual = x - share * n
    between = float((residual**2).sum()) * clusters / (clusters - 1) / total**2
    if not (0.0 < share < 1.0) or between <= 1e-12:
        return float(clusters)
    tail = (1.0 + level) / 2.0
    degrees = clusters - 1.0 if exact else float(degrees_of_freedom(residual))
    price = distributions.t.ppf(tail, max(total - 1.0, 1.0)) / distributions.t.ppf(tail, degrees)
    worth = float(share * (1.0 - share) / between * price**2)
    return worth if balanced else min(total, worth)


def korn_graubard(successes: Floats, trials: Floats, *, level: float = 0.95) -> Interval:
    """Clopper and Pearson's interval at the effective number of trials of the clusters.

    ``successes``, ``trials``: (clusters,). With one trial a cluster it is their own interval.
    """
    return _clustered(clopper_pearson, successes, trials, level, exact=True, balanced=False)


def clustered_wilson(successes: Floats, trials: Floats, *, level: float = 0.95, balanced: bool = False) -> Interval:
    """Wilson's interval at the effective number of trials of the clusters, (clusters,) each.

    Narrower than ``korn_graubard``, which mostly covers too much (Franco, Little, Louis and Slud
    2019, Comparative Study of Confidence Intervals for Proportions in Complex Sample Surveys,
    section 5). In 8 to 30 clusters of 2 or 5 with an intraclass correlation of 0.01 to 0.7 it
    covered shares of 0.03 to 0.5 in 0.93 to 0.99 of studies, ``korn_graubard`` in 0.93 to 1.00;
    on t of clusters - 1 alone it covered 0.91 in 15 clusters of 5. Of a judge's choices of a place
    it covered, ``balanced``, 0.94 to 0.96 for 15 to 100 items of seven kinds of judges; of win rates
    with ties 0.93 to 1.00 in 15 to 100 series (0.90 where one in ten wins, nobody loses and prompts
    are shared by three).
    """
    return _clustered(wilson, successes, trials, level, exact=False, balanced=balanced)


def wilson_by_error(share: float, error: float, *, units: float, trials: int, level: float = 0.95) -> Interval:
    """Wilson's interval of a share whose standard ``error`` its ``units`` gave, of all ``trials``.

    At the number of trials that would have this error, less what Student's t on units - 1 costs;
    each unit counts as one trial where there is no error to go by (share 0 or 1, or no unit differs).
    Symmetric intervals of the cells of a judge's table of scores by places, all at once, held in
    0.77 to 0.94 of studies of 15 and 60 items of six kinds of judges, these in 0.94 to 0.98.
    """
    effective = float(units)
    if 0.0 < share < 1.0 and error > 1e-10:
        tail = (1.0 + level) / 2.0
        price = special.stdtrit(max(trials - 1.0, 1.0), tail) / special.stdtrit(max(units - 1.0, 1.0), tail)
        effective = share * (1.0 - share) / error**2 * float(price) ** 2
    return wilson(share * effective, effective, level=level)


def _clustered(
    interval: Callable[..., Interval], successes: Floats, trials: Floats, level: float, *, exact: bool, balanced: bool
) -> Interval:
    total = float(trials.sum())
    if not total > 0:
        return NO_INTERVAL
    effective = effective_trials(successes, trials, level=level, exact=exact, balanced=balanced)
    return interval(float(successes.sum()) / total * effective, effective, level=level)
