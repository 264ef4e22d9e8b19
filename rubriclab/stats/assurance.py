"""Power averaged over what a pilot leaves open.

Power planned from a pilot's noise as if that were known is too high for a pilot that happened to be
quiet. Assurance is the power averaged over the noise that the pilot is compatible with (O'Hagan,
Stevens and Campbell 2005, Assurance in Clinical Trial Design, section 2).
"""

from __future__ import annotations

import numpy as np
from scipy import special

from rubriclab.stats import distributions
from rubriclab.stats.inference import Floats
from rubriclab.stats.planning import MAX_UNITS

POINTS = 199
"""Evenly likely values of the noise over which power is averaged."""
_FLAT = 1e-9


def assurance(effect: Floats, covariance: Floats, units: int, *, pilot: int, alpha: float = 0.05) -> float:
    """Mean power of the average-effect test with so many ``units``.

    ``effect`` (n,) and ``covariance`` (n, n) as ``planning.power`` takes them, the covariance
    estimated from ``pilot`` units. For normal shares d' S^-1 d (pilot - 1) / d' Sigma^-1 d has a
    chi-squared distribution on pilot - rank degrees of freedom (Muirhead 1982, Aspects of
    Multivariate Statistical Theory, theorem 3.2.12): the noncentrality of the test is averaged
    over it. NaN where units or pilot do not exceed the directions that vary.
    """
    known = _per_unit(effect, covariance, pilot)
    return float("nan") if known is None else _mean_power(*known, units, alpha)


def units_assured(
    effect: Floats, covariance: Floats, *, pilot: int, target: float = 0.8, alpha: float = 0.05
) -> int | None:
    """Fewest units whose assurance reaches ``target``; None beyond MAX_UNITS.

    At least 3n, below which the test falls back on a rougher one.
    """
    known = _per_unit(effect, covariance, pilot)
    if known is None or not _mean_power(*known, MAX_UNITS, alpha) >= target:
        return None
    low = high = 3 * len(effect)
    while _mean_power(*known, high, alpha) < target:
        low, high = high, min(2 * high, MAX_UNITS)
    while high - low > 1:
        middle = (low + high) // 2
        if _mean_power(*known, middle, alpha) >= target:
            high = middle
        else:
            low = middle
    return high


def _per_unit(effect: Floats, covariance: Floats, pilot: int) -> tuple[Floats, int] | None:
    """(values of the noncentrality that a unit adds, directions that vary); inf where certain."""
    values, vectors = np.linalg.eigh(covariance)
    along = (vectors.T @ effect) ** 2
    varies = values > max(_FLAT * float(values[-1]), 1e-15)
    rank = int(varies.sum())
    if float(along[~varies].sum()) > 1e-12:
        return np.array([np.inf]), rank
    if pilot <= rank or rank == 0:
        return None
    likely = distributions.chi2.ppf((np.arange(POINTS) + 0.5) / POINTS, pilot - rank) / (pilot - 1)
    return float((along[varies] / values[varies]).sum()) * likely, rank


def _mean_power(gain: Floats, rank: int, units: int, alpha: float) -> float:
    if bool(np.isinf(gain).all()):
        return 1.0
    if units <= rank:
        return float("nan")
    critical = float(distributions.f.isf(alpha, rank, units - rank))
    missed = special.ncfdtr(rank, units - rank, units * gain, critical)
    # Far out the noncentral F's series gives NaN; there the power is 1 to many digits.
    return float(np.where(np.isfinite(missed), 1.0 - missed, 1.0).mean())
