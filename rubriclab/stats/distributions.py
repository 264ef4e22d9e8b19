"""The distributions that the lab asks for tails and quantiles, named and called as those of scipy.stats.

The numbers are those of scipy.stats, which takes them from scipy.special as well, and takes more time to import
than a command has to answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

Number = float | NDArray[np.float64]
_NO_SKEW = 1.6e-5
"""Below it a gamma distribution and a normal cannot be told apart in floating point."""


class t:
    """Student's, on ``df`` degrees of freedom."""

    @staticmethod
    def ppf(q: Number, df: Number) -> Any:
        return special.stdtrit(df, q)

    @staticmethod
    def sf(x: Number, df: Number) -> Any:
        return special.stdtr(df, np.negative(x))


class f:
    """Fisher's, on ``dfn`` and ``dfd`` degrees of freedom."""

    @staticmethod
    def sf(x: Number, dfn: Number, dfd: Number) -> Any:
        return special.fdtrc(dfn, dfd, np.maximum(x, 0.0))

    @staticmethod
    def isf(q: Number, dfn: Number, dfd: Number) -> Any:
        return special.fdtri(dfn, dfd, np.subtract(1.0, q))


class chi2:
    @staticmethod
    def sf(x: Number, df: Number) -> Any:
        return special.chdtrc(df, np.maximum(x, 0.0))

    @staticmethod
    def ppf(q: Number, df: Number) -> Any:
        return 2.0 * special.gammaincinv(np.divide(df, 2.0), q)


class beta:
    @staticmethod
    def ppf(q: Number, a: Number, b: Number) -> Any:
        return special.betaincinv(a, b, q)

    @staticmethod
    def isf(q: Number, a: Number, b: Number) -> Any:
        return special.betainccinv(a, b, q)


class binom:
    """Of one count ``k``: hits in ``n`` trials that each hit with the chance ``p``."""

    @staticmethod
    def cdf(k: int, n: int, p: float) -> float:
        return float(k >= 0) if not 0 <= k < n else float(special.betaincc(k + 1, n - k, p))

    @staticmethod
    def sf(k: int, n: int, p: float) -> float:
        return float(k < 0) if not 0 <= k < n else float(special.betainc(k + 1, n - k, p))


class pearson3:
    """Of mean 0 and sd 1, a gamma distribution moved to there; ``skew`` is 0 (then a normal) or more."""

    @staticmethod
    def sf(x: float, skew: float) -> float:
        if skew < _NO_SKEW:
            return float(special.ndtr(-x))
        rate = 2.0 / skew
        shape = rate**2
        return float(special.gammaincc(shape, max(rate * (x + shape / rate), 0.0)))
