"""Means over many judged and few rated items: prediction-powered inference, and how far it pays.

Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, Prediction-Powered Inference, section 2: the mean
judge score of the items not rated, corrected by how far judge and people are apart on the rated
ones. Angelopoulos, Duchi and Zrnic 2023, PPI++, section 6: the judge counts with a weight that
makes the interval as narrow as it can be, so that a poor judge does no harm. Arrays in, numbers out.

The rated items have to be a random sample of the judged ones. What the mean is of: all items that
those judged are a sample of. Items of one unit (a prompt) count as one observation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, degrees_of_freedom, sum_by_unit
from rubriclab.stats.proportions import wilson_by_error

Bools = NDArray[np.bool_]
FEWEST_RATED = 10
"""With fewer rated units no interval is given."""
SIGNIFICANT = 0.01
"""Below this p rated and unrated items are said to differ in the judge's scores."""


class Mean(NamedTuple):
    """An estimate with its 95 % interval; ``error``: its standard error."""

    value: float
    interval: Interval
    error: float


NO_MEAN = Mean(float("nan"), NO_INTERVAL, float("nan"))


class Corrected(NamedTuple):
    """Three means of the same items. ``weight``: of the judge in the corrected one, 0 to 1.

    ``plain``: of the judge's scores; ``rated``: of the ratings alone; ``bias``: plain less corrected.
    """

    plain: Mean
    rated: Mean
    corrected: Mean
    bias: Mean
    weight: float
    units: int
    rated_units: int


def estimate(human: Floats, judge: Floats, others: Floats, weight: float) -> float:
    """The prediction-powered mean at a given weight; ``others``: the judge on items not rated."""
    return float(weight * others.mean() + (human - weight * judge).mean()) if len(others) else float(human.mean())


def variance(human: Floats, judge: Floats, others: Floats, weight: float) -> float:
    """Its large-sample variance for independent items (2023, Proposition 1; PPI++, equation 6)."""
    rest = weight**2 * others.var() / len(others) if len(others) else 0.0
    return float(rest + (human - weight * judge).var() / len(human))


def tuned_weight(human: Floats, judge: Floats, others: Floats) -> float:
    """The weight of least variance (PPI++, equation 7), kept to 0..1; 0 where nothing is left to judge."""
    n, rest = len(human), len(others)
    spread = float(np.concatenate([judge, others]).var(ddof=1)) if n + rest > 1 else 0.0
    if n < 2 or rest == 0 or spread <= 1e-12:
        return 0.0
    together = float(((human - human.mean()) * (judge - judge.mean())).mean())
    return float(np.clip(together / ((1.0 + n / rest) * spread), 0.0, 1.0))


def corrected_mean(human: Floats, judge: Floats, unit: Ints, *, share: bool = False) -> Corrected:
    """Of all items; ``human`` (items,) NaN where not rated, ``judge`` (items,) known, ``unit`` (items,).

    Standard errors sum what every item adds over its unit; Student's t on the units rated less one,
    less two where the weight was learnt from them. ``share``: values are shares of 0..1, whose
    intervals are Wilson's at that error and keep to it.
    """
    at = np.isfinite(human)
    y, own, rest = human[at], judge[at], judge[~at]
    rated_units, units = len(np.unique(unit[at])), len(np.unique(unit))
    plain = _mean(float(judge.mean()), _influence(judge), unit, np.ones(len(judge), dtype=bool), 1, share)
    if rated_units < FEWEST_RATED:
        few = Mean(float(y.mean()) if len(y) else float("nan"), NO_INTERVAL, float("nan"))
        return Corrected(plain, few, NO_MEAN, NO_MEAN, float("nan"), units, rated_units)
    weight = tuned_weight(y, own, rest)
    alone, both = np.zeros(len(human)), np.zeros(len(human))
    alone[at] = _influence(y)
    both[at] = _influence(y - weight * own)
    if len(rest):
        both[~at] = weight * _influence(rest)
    value = estimate(y, own, rest, weight)
    learnt = 2 if weight > 0 else 1
    return Corrected(
        plain,
        _mean(float(y.mean()), alone, unit, at, 1, share),
        _mean(value, both, unit, at, learnt, share),
        _mean(float(judge.mean()) - value, _influence(judge) - both, unit, at, learnt, False),
        weight,
        units,
        rated_units,
    )


def _influence(values: Floats) -> Floats:
    """What each value adds to the error of their mean."""
    return np.asarray((values - values.mean()) / len(values))


def _mean(value: float, influence: Floats, unit: Ints, at: Bools, fitted: int, share: bool) -> Mean:
    """With the error that the units of the items ``at`` give, ``fitted`` numbers having been learnt from
    them. Where few of them make it, it has fewer degrees of freedom than they are many."""
    rated, code = np.unique(unit[at]), np.unique(unit, return_inverse=True)[1]
    sums = sum_by_unit(unit, influence[:, None])[:, 0]
    own = sums[np.unique(code[at])]
    left = len(rated) - fitted
    if left < 1:
        return Mean(value, NO_INTERVAL, float("nan"))
    error = float(np.sqrt((sums**2).sum() * len(rated) / left))
    degrees = left if error <= 1e-12 else min(left, float(degrees_of_freedom((own - own.mean())[:, None])[0]))
    if share:
        inside = float(np.clip(value, 0.0, 1.0))
        return Mean(inside, wilson_by_error(inside, error, units=left + 1.0, trials=len(rated)), error)
    if error <= 1e-12:
        return Mean(value, NO_INTERVAL, error)
    reach = float(special.stdtrit(degrees, 0.975)) * error
    return Mean(value, Interval(value - reach, value + reach), error)


# ---------------------------------------------------------------- are the rated a random sample?


def unlike(human: Floats, judge: Floats, unit: Ints) -> tuple[float, float]:
    """(mean judge score of rated less unrated items, its two-sided p by units); NaN without both."""
    at = np.isfinite(human)
    groups = min(len(np.unique(unit[at])), len(np.unique(unit[~at])))
    if groups < FEWEST_RATED:
        return float("nan"), float("nan")
    gap = float(judge[at].mean() - judge[~at].mean())
    influence = np.zeros(len(judge))
    influence[at], influence[~at] = _influence(judge[at]), -_influence(judge[~at])
    error = float(np.sqrt((sum_by_unit(unit, influence[:, None]) ** 2).sum() * groups / (groups - 1)))
    if error <= 1e-12:
        return gap, 1.0 if abs(gap) <= 1e-12 else 0.0
    return gap, float(2.0 * special.stdtr(groups - 1, -abs(gap) / error))


# ---------------------------------------------------------------- how many ratings are worth buying


class Worth(NamedTuple):
    """What a rating buys. Squared errors of one item: ``human`` of a rating, ``left`` of what the judge
    leaves of it, ``judge`` of what the judge brings in over the ``items`` judged; ``without``: the three
    (groups, 3) without each unit, or group of units."""

    human: float
    left: float
    judge: float
    items: int
    without: Floats

    def half_width(self, rated: Floats, *, judged: bool) -> Floats:
        """Of the 95 % interval with so many rated of the ``items``; large samples, no t."""
        return _half_width(np.array([self.human, self.left, self.judge]), rated, self.items, judged)

    def band(self, rated: Floats, *, judged: bool) -> tuple[Floats, Floats]:
        """Its 95 % interval, on the logarithm, by leaving out one unit after the other."""
        whole = np.log(self.half_width(rated, judged=judged))
        left = np.log(_half_width(self.without.T[:, :, None], rated, self.items, judged))
        n = len(left)
        reach = special.stdtrit(n - 1, 0.975) * np.sqrt((n - 1) * left.var(axis=0))
        return np.exp(whole - reach), np.exp(whole + reach)

    def needed(self, half: float, *, judged: bool) -> tuple[float, Interval]:
        """Ratings for a wanted half-width, with its interval; infinite where the judged items are too few."""
        want = np.array([self.human, self.left, self.judge])
        value = float(_needed(want, half, self.items, judged))
        left = _needed(self.without.T, half, self.items, judged)
        if not np.isfinite(value) or not np.isfinite(left).all():
            return value, NO_INTERVAL
        n = len(left)
        reach = float(special.stdtrit(n - 1, 0.975) * np.sqrt((n - 1) * np.log(left).var()))
        return value, Interval(value * np.exp(-reach), value * np.exp(reach))


def _half_width(parts: Floats, rated: Floats, items: int, judged: bool) -> Floats:
    human, left, judge = parts
    z = special.ndtri(0.975)
    return np.asarray(z * np.sqrt(left / rated + judge / items if judged else human / rated))


def _needed(parts: Floats, half: float, items: int, judged: bool) -> Floats:
    human, left, judge = parts
    square = (half / special.ndtri(0.975)) ** 2
    room = square - judge / items if judged else square + 0.0 * human
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(room > 0, (left if judged else human) / np.where(room > 0, room, 1.0), np.inf))


MOST_LEFT_OUT = 100
"""Of more units than this random groups are left out together."""


def worth(human: Floats, judge: Floats, unit: Ints) -> Worth | None:
    """From the rated items; None below FEWEST_RATED units or where people or judge never differ.

    At the best weight b = cov / var the error of the corrected mean of n rated out of M judged is
    var(human - b judge) / n + var(b judge) / M (PPI++ with its weight at n and M, rewritten).
    """
    at = np.isfinite(human)
    y, f, code = human[at], judge[at], np.unique(unit[at], return_inverse=True)[1]
    n_units = int(code.max(initial=-1)) + 1
    if n_units < FEWEST_RATED or np.ptp(y) <= 1e-12 or np.ptp(f) <= 1e-12:
        return None
    whole = _squared(y, f, code, np.ones(len(y)))
    group = code if n_units <= MOST_LEFT_OUT else code * MOST_LEFT_OUT // n_units
    without = np.stack([_squared(y, f, code, (group != g) * 1.0) for g in range(int(group.max()) + 1)])
    return Worth(float(whole[0]), float(whole[1]), float(whole[2]), len(human), without)


def _squared(y: Floats, f: Floats, code: Ints, kept: Floats) -> Floats:
    """(human, left, judge): squared errors of one item from those ``kept`` (0 or 1), summed over units."""
    n = float(kept.sum())
    units = float((np.bincount(code, weights=kept) > 0).sum())
    y, f = kept * (y - float(kept @ y) / n), kept * (f - float(kept @ f) / n)
    spread = float(f @ f)
    judge = (float(np.clip(float(f @ y) / spread, 0.0, 1.0)) if spread > 1e-12 else 0.0) * f
    sums = [(np.bincount(code, weights=part) ** 2).sum() / n for part in (y, y - judge, judge)]
    return np.array([total * units / (units - fitted) for total, fitted in zip(sums, (1, 2, 1), strict=True)])


# ---------------------------------------------------------------- pass rates by sensitivity and specificity

FEWEST_OF_EACH = 5
"""Rated items that pass, and that fail, below which a judge's sensitivity or specificity says nothing."""


class PassRate(NamedTuple):
    """The share that passes, from what a judge lets pass and how often it errs on rated items."""

    value: float
    interval: Interval
    sensitivity: float
    specificity: float


def rogan_gladen(human: Floats, judge: Floats) -> PassRate | None:
    """(apparent + specificity - 1) / (sensitivity + specificity - 1); 0 and 1, ``human`` NaN where not rated.

    Rogan and Gladen 1978, Estimating Prevalence from the Results of a Screening Test; its interval:
    Lang and Reiczigel 2014, Confidence Limits for Prevalence of Disease Adjusted for Estimated
    Sensitivity and Specificity, section 2.3. None where either class has fewer than FEWEST_OF_EACH
    rated items, or the judge tells them no better apart than a coin. Items count as independent.
    """
    good, bad = human == 1.0, human == 0.0
    n_good, n_bad, n = int(good.sum()), int(bad.sum()), len(judge)
    if min(n_good, n_bad) < FEWEST_OF_EACH:
        return None
    sensitivity, specificity = float(judge[good].mean()), float(1.0 - judge[bad].mean())
    if sensitivity + specificity <= 1.0:
        return None
    value = (float(judge.mean()) + specificity - 1.0) / (sensitivity + specificity - 1.0)
    z = float(special.ndtri(0.975))
    se, sp = (n_good * sensitivity + 1.0) / (n_good + 2.0), (n_bad * specificity + 1.0) / (n_bad + 2.0)
    shown = (float(judge.sum()) + z * z / 2.0) / (n + z * z)
    apart = se + sp - 1.0
    if apart <= 0.0:
        return None
    rate = (shown + sp - 1.0) / apart
    of_se, of_sp = se * (1.0 - se) / (n_good + 2.0), sp * (1.0 - sp) / (n_bad + 2.0)
    moved = rate + 2.0 * z * z * (rate * of_se - (1.0 - rate) * of_sp)
    reach = (
        z * float(np.sqrt(shown * (1.0 - shown) / (n + z * z) + rate**2 * of_se + (1.0 - rate) ** 2 * of_sp)) / apart
    )
    ends = (float(np.clip(end, 0.0, 1.0)) for end in (moved - reach, moved + reach))
    return PassRate(float(np.clip(value, 0.0, 1.0)), Interval(*ends), sensitivity, specificity)
