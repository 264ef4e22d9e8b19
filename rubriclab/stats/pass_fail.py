"""Estimate a pass rate from a judge's verdicts about all answers and people's labels of some.

In all functions ``label`` is (items,): 1 passes, 0 fails, NaN has no label. ``verdict`` is
(items,): the share of the judge's calls about an item that pass, 0 to 1. ``unit`` is (items,), the
unit 0 to ``units`` - 1 of each item, and units are independent.

There are two corrections, and each holds where the other does not. Let labels be chosen by people's
label (so many passes, so many fails): the judge's error rates can still be estimated, but not what
its verdicts mean. Let them be chosen by its verdict: the other way round. At random: both hold.
"""

from typing import NamedTuple

import numpy as np
from scipy import special

from rubriclab.stats.resample import Bools, Floats, Ints, sum_by

_TINY = 1e-12


class Corrected(NamedTuple):
    """A pass rate and its error.

    value: as the formula gives it, which may be below 0 or above 1. sums: (units,) what each unit
    adds to the error. more: variance to add, because shares near 0 or 1 of few labels vary more
    than the labels show.
    """

    value: float
    sums: Floats
    more: float


def regression_rate(label: Floats, verdict: Floats, unit: Ints, units: int) -> Corrected:
    """Correct the mean label by the mean verdict of all items.

    The value is the mean label, plus the slope of label on verdict times how far the verdicts of
    all items are from those of the labelled ones. With one call it is post-stratification by
    verdict (Tenenbein 1970, A double sampling scheme for estimating from binomial data with
    misclassifications; weights: Deville and Särndal 1992, Calibration Estimators in Survey
    Sampling). It holds for labels chosen at random or by the verdict.
    """
    known = np.isfinite(label)
    y, x = label[known], verdict[known]
    away = x - x.mean()
    spread = float((away**2).mean())
    slope, shift = 0.0, 0.0
    if spread > _TINY:
        slope = float((away * (y - y.mean())).mean()) / spread
        shift = (float(verdict.mean()) - float(x.mean())) / spread
    value = float(y.mean()) + slope * float(verdict.mean() - x.mean())
    residual = np.zeros(len(label))
    residual[known] = y - y.mean() - slope * away
    added = slope * (verdict - verdict.mean()) / len(verdict)
    added[known] += (1.0 + shift * away) * residual[known] / known.sum()
    more = 0.0
    for side in (verdict > 0.5, verdict <= 0.5):
        more += float(side.mean()) ** 2 * _unseen(label, residual, side & known)
    return Corrected(value, sum_by(unit, added, units), more)


def _unseen(label: Floats, residual: Floats, side: Bools) -> float:
    """Return the variance that the labels of one side should have beyond what they show.

    ``side``: (items,), labelled items on one side of the verdicts. One hit and one miss are added.
    """
    n = int(side.sum())
    smoothed = (float(label[side].sum()) + 1.0) / (n + 2.0)
    shown = float((residual[side] ** 2).sum()) / max(n, 1) ** 2
    return max(smoothed * (1.0 - smoothed) / (n + 2.0) - shown, 0.0)


def error_rate_rate(label: Floats, verdict: Floats, unit: Ints, units: int) -> Corrected:
    """Correct the judge's pass rate by its error rates, (p + TNR - 1) / (TPR + TNR - 1).

    Rogan and Gladen 1978, Estimating prevalence from the results of a screening test, equation 2,
    where p is of all judged items, labelled ones included. The error is by the delta
    method over units. It holds for labels chosen at random or by people's label. Both labels must
    occur. TPR + TNR = 1 divides by zero, so the caller must refuse it.
    """
    passed, failed = label == 1, label == 0
    p, hit, false_pass = verdict.mean(), verdict[passed].mean(), verdict[failed].mean()
    youden = float(hit - false_pass)
    value = float(p - false_pass) / youden
    added = (verdict - p) / len(verdict)
    added = added - np.where(passed, value * (verdict - hit) / passed.sum(), 0.0)
    added = added - np.where(failed, (1.0 - value) * (verdict - false_pass) / failed.sum(), 0.0)
    more = (1.0 - value) ** 2 * _unseen_share(verdict[failed])
    more += value**2 * _unseen_share(verdict[passed])
    return Corrected(value, sum_by(unit, added / youden, units), more / youden**2)


def _unseen_share(verdict: Floats) -> float:
    """Return the variance that a share of passing calls should have beyond what it shows.

    Shares of several calls vary less than those of one, which is kept.
    """
    n, share = len(verdict), float(verdict.mean())
    smoothed = (n * share + 1.0) / (n + 2.0)
    shown = float(((verdict - share) ** 2).sum()) / n**2
    steadier = 1.0
    if 0.0 < share < 1.0:
        steadier = min(shown * n / (share * (1.0 - share)), 1.0)
    return max(smoothed * (1.0 - smoothed) / (n + 2.0) * steadier - shown, 0.0)


def differ_p(first: Corrected, second: Corrected, labelled: int) -> float:
    """Return the two-sided p of “both corrections estimate the same”; NaN if it has no error.

    ``labelled``: units with a label. Hausman 1978, Specification tests in econometrics, with the
    error of the difference taken from what each unit adds to it.
    """
    error = difference_error(first, second, labelled)
    if not error > _TINY:
        return float("nan")
    t = abs(first.value - second.value) / error
    return float(2.0 * special.stdtr(max(labelled - 3, 1), -t))


def difference_error(first: Corrected, second: Corrected, labelled: int) -> float:
    """Return the standard error of the difference of two corrections of the same items."""
    apart = first.sums - second.sums
    return float(np.sqrt((apart**2).sum() * labelled / max(labelled - 3, 1)))
