"""Test blocks by Friedman's chi-square, and correct several p-values by Holm's rule."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import special

from rubriclab.stats.resample import Floats

_TINY = 1e-9


class Friedman(NamedTuple):
    """``blocks`` whole ones were used, ``excluded`` lack a position."""

    statistic: float
    p: float
    blocks: int
    excluded: int


def friedman(cells: Floats) -> Friedman:
    """Return Friedman's (1937) chi-square with tie correction.

    ``cells``: (texts, positions), NaN missing.

    chi2 = [12 / (n k (k+1)) sum R_j^2 - 3 n (k+1)] / [1 - sum (t^3 - t) / (n k (k^2 - 1))]. NaN
    below two positions or two whole blocks; 0 and p = 1 where no score ever moved with the
    position.
    """
    whole = np.isfinite(cells).all(axis=1)
    # Means of the same scores may differ in the last bits: those are ties.
    used = np.round(cells[whole], 9)
    n, k = used.shape
    excluded = int((~whole).sum())
    if k < 2 or n < 2:
        return Friedman(float("nan"), float("nan"), n, excluded)
    ranks = pd.DataFrame(used).rank(axis=1).to_numpy()
    # Mid-ranks lose (t^3 - t) / 12 of the sum of squares for every tie of t.
    ties = 12.0 * (n * k * (k + 1) * (2 * k + 1) / 6.0 - float((ranks**2).sum()))
    correction = 1.0 - ties / (n * k * (k**2 - 1))
    if correction < _TINY:
        return Friedman(0.0, 1.0, n, excluded)
    spread = 12.0 / (n * k * (k + 1)) * float((ranks.sum(axis=0) ** 2).sum()) - 3.0 * n * (k + 1)
    statistic = max(0.0, spread / correction)
    return Friedman(statistic, float(special.chdtrc(k - 1, statistic)), n, excluded)


def holm(p_values: Floats) -> Floats:
    """Return Holm's (1979) step-down adjusted p-values, in the given order.

    NaN stays NaN and is not counted.
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    known = np.flatnonzero(np.isfinite(p))
    running, left = 0.0, len(known)
    for rank, index in enumerate(known[np.argsort(p[known], kind="stable")]):
        running = max(running, min(1.0, float(p[index]) * (left - rank)))
        adjusted[index] = running
    return adjusted
