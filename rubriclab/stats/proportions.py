"""Make intervals of a share from successes and trials; without trials both ends are NaN."""

import numpy as np
from scipy import special

NO_INTERVAL = (float("nan"), float("nan"))


def wilson(successes: float, trials: float, *, level: float = 0.95) -> tuple[float, float]:
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
    return low, 1.0 if share >= 1.0 else min(1.0, float(centre + half))


def agresti_coull(successes: float, trials: float, *, level: float = 0.95) -> tuple[float, float]:
    """Wald's interval after z^2 / 2 successes and failures more (Agresti and Coull 1998)."""
    z2 = float(special.ndtri(0.5 + level / 2.0)) ** 2
    share = (successes + z2 / 2.0) / (trials + z2)
    half = np.sqrt(z2 * share * (1.0 - share) / (trials + z2))
    return max(0.0, float(share - half)), min(1.0, float(share + half))


def clopper_pearson(successes: float, trials: float, *, level: float = 0.95) -> tuple[float, float]:
    """The exact interval (Clopper and Pearson 1934): it covers in ``level`` or more.

    By quantiles of the beta distribution, so that a fractional number of trials is as good.
    """
    if not trials > 0:
        return NO_INTERVAL
    tail, failures = (1.0 - level) / 2.0, trials - successes
    low = special.betaincinv(successes, failures + 1.0, tail) if successes > 0 else 0.0
    high = special.betainccinv(successes + 1.0, failures, tail) if failures > 0 else 1.0
    return float(low), float(high)
