"""How sure a mean over reads (or raters) is of itself: reliability, and how many it takes.

Reliability of a mean of k reads = between / (between + within / k): the share of its variance
over items that another k reads of the same kind would show again (Spearman 1910; Brown 1910; the
decision study of Cronbach, Gleser, Nanda and Rajaratnam 1972). It is held against an absolute
target, so that it does not matter how many reads there happened to be.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rubriclab.stats.correlation import TINY
from rubriclab.stats.human_correlation import ItemReads, LeftOut, item_sums, variances
from rubriclab.stats.inference import NO_INTERVAL, Floats, Interval, Ints, sum_by_unit

TARGET = 0.9
"""What is called reliable enough: 0.9 for decisions about single items (Nunnally 1978, page 245)."""


class Reliability(NamedTuple):
    """Of an arm's item means. ``between``, ``within``: variances in squared score points.

    ``noise``: within variance relative to between, with its interval ``noise_ci``; what every
    other number follows from. ``reads`` there are, ``one`` and ``all`` the reliability of one
    read and of all of them; ``enough``: reads that reach TARGET.
    """

    between: float
    within: float
    noise: float
    noise_ci: Interval
    reads: int
    one: float
    one_ci: Interval
    all: float
    all_ci: Interval
    enough: float
    enough_ci: Interval

    def at(self, reads: float) -> tuple[float, Interval]:
        """Reliability of a mean of so many reads, with its interval."""
        low, high = self.noise_ci
        return _spearman_brown(self.noise, reads), Interval(_spearman_brown(high, reads), _spearman_brown(low, reads))

    def needed(self, target: float = TARGET) -> tuple[float, Interval]:
        """The fewest reads whose mean reaches ``target``, and the ends of its interval.

        NaN where it is not known.
        """
        low, high = self.noise_ci
        return _needed(self.noise, target), Interval(_needed(low, target), _needed(high, target))


def _spearman_brown(noise: float, reads: float) -> float:
    return 1.0 / (1.0 + noise / reads)


def _needed(noise: float, target: float) -> float:
    if not math.isfinite(noise):
        return noise
    return float(max(1, math.ceil(noise * target / (1.0 - target) - 1e-9)))


def own_share(scores: Floats, order: Floats) -> float:
    """The part of the scatter within items that is the items' own, and not an order's on all of them.

    ``scores``, ``order``: (items, reads), NaN unread, ``order`` a code of what was shown. 1 unless
    all items were shown the same orders: what these do to all items then lies within items, and
    errs in no difference of their means (two-way analysis of variance: Searle, Casella and
    McCulloch 1992, section 4.2).
    """
    shown = np.sort(order, axis=1)
    if not len(order) or not np.array_equal(shown, np.repeat(shown[:1], len(shown), axis=0), equal_nan=True):
        return 1.0
    known = np.isfinite(scores)
    values = np.unique(order[known])
    code = np.where(known, np.searchsorted(values, order) + 1, 0)
    count = known.sum(axis=1, keepdims=True)
    centred = np.where(known, scores - np.where(known, scores, 0.0).sum(axis=1, keepdims=True) / count, 0.0)
    size = len(values) + 1
    reads = np.maximum(np.bincount(code[known], minlength=size), 1)
    of_order = np.bincount(code.ravel(), weights=centred.ravel(), minlength=size) / reads
    left = np.where(known, centred - of_order[code], 0.0)
    free = float((count - 1).sum())
    free_own = free - (len(values) - 1)
    square = float((centred**2).sum())
    if square <= TINY or free_own <= 0:
        return 1.0
    return min(1.0, float((left**2).sum()) / free_own / (square / free))


def reliability(reads: ItemReads, own: float = 1.0) -> Reliability | None:
    """From the scatter of an item's reads and of items' means; units are left out in turn.

    The index of dependability of the generalisability study, of one arm: what an order does to all
    items counts as error. ``own``: see :func:`own_share`. None where no item has two scores or no two items differ. The interval is that of the log of
    ``noise`` (Arvesen and Schmitz 1970, Robust Procedures for Variance Component Problems Using
    the Jackknife).
    """
    if len(reads.mean) < 2 or not (reads.count > 1).any():
        return None
    sums = item_sums(reads, np.ones(len(reads.mean)))
    total = sums.sum(axis=0)
    between, within = (float(v) for v in _parts(total, own))
    if not between > TINY:
        return None
    out_between, out_within = _parts(total - sum_by_unit(reads.unit, sums), own)
    noise = within / between
    ci = _noise_interval(noise, out_between, out_within)
    most = round(float(reads.count.max()))
    one, all_ = (_spearman_brown(noise, k) for k in (1, most))
    one_ci, all_ci = (Interval(_spearman_brown(ci.high, k), _spearman_brown(ci.low, k)) for k in (1, most))
    enough_ci = Interval(_needed(ci.low, TARGET), _needed(ci.high, TARGET))
    return Reliability(between, within, noise, ci, most, one, one_ci, all_, all_ci, _needed(noise, TARGET), enough_ci)


def _parts(total: Floats, own: float) -> tuple[Floats, Floats]:
    """(between, within) items, where only the part ``own`` of what is within errs in their means."""
    between, within = variances(total)
    with np.errstate(invalid="ignore", divide="ignore"):
        shared = (1.0 - own) * within * total[..., 9] / total[..., 1]
    return between + shared, within


def _noise_interval(noise: float, between: Floats, within: Floats) -> Interval:
    if noise <= TINY:
        return Interval(0.0, 0.0)  # every read of an item gave its one score
    if not ((between > 0).all() and (within > 0).all()):
        return NO_INTERVAL
    low, high = LeftOut(math.log(noise), np.log(within / between)).interval()
    return Interval(math.exp(low), math.exp(high))


# ---------------------------------------------------------------- raters


class RatingReliability(NamedTuple):
    """Reliability of the items' mean rating, with its interval."""

    value: float
    ci: Interval


def rating_reliability(ratings: Floats, unit: Ints) -> RatingReliability:
    """Of ``ratings`` (items, raters), NaN where none; ``unit``: (items,), what is left out together.

    Where every item has all raters: ICC(3, k), in which a rater's leniency counts for nothing, as
    it moves all items alike. Else ICC(1, k) at the items' own numbers of ratings (Shrout and
    Fleiss 1979, Intraclass Correlations, table 4). Its root is the highest r with the mean rating
    that even a judge who knew every item's true value could be expected to reach. NaN for fewer
    than two items with a rating or without any with two. The interval is that of the log of the F
    ratio 1 / (1 - reliability) without each unit (Arvesen and Schmitz 1970): it is defined where
    the reliability is estimated at 0 and below. None where the raters never differ.
    """
    known = np.isfinite(ratings)
    count = known.sum(axis=1).astype(np.float64) if ratings.size else np.zeros(0)
    rated = count > 0
    if rated.sum() < 2 or not (count > 1).any():
        return RatingReliability(float("nan"), NO_INTERVAL)
    values, known, count = ratings[rated], known[rated], count[rated]
    if known.all():
        values = values - values.mean(axis=0)
    mean = np.where(known, values, 0.0).sum(axis=1) / count
    scatter = np.where(known, (values - mean[:, None]) ** 2, 0.0).sum(axis=1)
    sums = item_sums(ItemReads(mean, count, scatter, np.zeros(len(mean)), unit[rated]), np.ones(len(mean)))
    total = sums.sum(axis=0)
    raters = float(values.shape[1]) if known.all() else 0.0
    log = LeftOut(float(_log_f(total, raters)), _log_f(total - sum_by_unit(unit[rated], sums), raters))
    low, high = log.interval()
    return RatingReliability(_of_log_f(log.value), Interval(_of_log_f(low), _of_log_f(high)))


def _of_log_f(log: float) -> float:
    return float(np.maximum(0.0, 1.0 - np.exp(-log)))


def _log_f(total: Floats, raters: float) -> Floats:
    """log of the variance of the mean ratings over what of it is within / n; ``raters``: of all items, else 0."""
    between, within = variances(total)
    with np.errstate(invalid="ignore", divide="ignore"):
        if raters:  # one degree of freedom a rater is spent on leniency
            items = total[..., 0]
            honest = within * items / (items - 1.0)
            between, within = between + (within - honest) / raters, honest
        noise = within * total[..., 9] / total[..., 1]
        return np.asarray(np.log((between + noise) / noise))
