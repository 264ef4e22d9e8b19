"""Juries: what the mean of several judges in several orders errs by, and how many votes it is worth.

Votes that err together are worth fewer than their number: the mean of n votes whose errors correlate by
rho has the error variance of n / (1 + (n - 1) rho) votes that err independently (Kish 1965, Survey
Sampling, section 5.4: the design effect of clusters). Reads of one judge err together, for what a judge
misjudges it misjudges in every order; reads of several judges do where they misjudge the same texts, and
more so in the same order, where the order pulls them the same way.

A mix is so many judges in so many orders, drawn from the K that were read: without replacement, so
that the variance of a mean of m is S² (1 / m - 1 / K) (Cochran 1977, Sampling Techniques, theorem 2.2),
whichever m. No order is chosen by its luck.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rubriclab.stats.human_correlation import LeftOut
from rubriclab.stats.inference import Floats, Ints, sum_by_unit

_TINY = 1e-12


class Correlations(NamedTuple):
    """Of the errors of two reads of one text: of one judge in two orders (``within``), of two judges in
    the ``same`` order, of two judges in two ``other`` orders."""

    within: LeftOut
    same: LeftOut
    other: LeftOut


class Line(NamedTuple):
    """A target's value by a mix's mean: ``target`` + ``slope`` (mean - ``mean``); a slope is never below 0."""

    mean: float
    target: float
    slope: float


def order_errors(scores: Floats) -> Floats:
    """(items, judges, orders) scores less the mean of their text and judge over its orders."""
    return np.asarray(scores - scores.mean(axis=2, keepdims=True))


def from_people(scores: Floats, human: Floats) -> Floats:
    """What of the scores a line on people's ratings does not give, one line a judge; as ``scores``."""
    x, t = scores - scores.mean(axis=0), human - human.mean()
    spread = float(t @ t)
    slope = np.einsum("ijo,i->j", x, t) / (spread * scores.shape[2]) if spread > _TINY else np.zeros(scores.shape[1])
    return np.asarray(x - slope[None, :, None] * t[:, None, None])


def order_correlation(errors: Floats, unit: Ints, one: int, other: int) -> LeftOut:
    """Of two judges' order errors in the same orders, over texts and orders; NaN where one has none."""
    a, b = errors[:, one], errors[:, other]
    sums = sum_by_unit(unit, np.stack([(a * b).sum(axis=1), (a * a).sum(axis=1), (b * b).sum(axis=1)], axis=1))
    return _left_out(sums, lambda s: _over(s[:, 0], np.sqrt(s[:, 1] * s[:, 2])))


def mean_order_correlation(errors: Floats, unit: Ints) -> LeftOut:
    """Of every two judges' order errors together: their mean covariance over their mean variance."""
    judges = errors.shape[1]
    own = (errors**2).sum(axis=(1, 2)) / judges
    both = ((errors.sum(axis=1) ** 2).sum(axis=1) - own * judges) / max(1, judges * (judges - 1))
    return _left_out(sum_by_unit(unit, np.stack([both, own], axis=1)), _share)


def correlations(errors: Floats, unit: Ints, *, aligned: bool) -> Correlations:
    """Intraclass correlations of ``errors`` (items, judges, orders), each a mean covariance over the mean variance.

    ``aligned``: the k-th read of a text had the same order for every judge; else ``same`` is NaN.
    """
    _, judges, orders = errors.shape
    own = (errors**2).sum(axis=(1, 2))
    by_judge = (errors.sum(axis=2) ** 2).sum(axis=1)
    by_order = (errors.sum(axis=1) ** 2).sum(axis=1)
    every = errors.sum(axis=(1, 2)) ** 2
    pairs, turns = judges * (judges - 1), orders * (orders - 1)
    within = _mean(by_judge - own, judges * turns)
    same = _mean(by_order - own, orders * pairs) if aligned else np.full(len(errors), np.nan)
    between = every - by_judge
    other = _mean(between - (by_order - own), pairs * turns) if aligned else _mean(between, pairs * orders * orders)
    single = own / (judges * orders)
    sums = sum_by_unit(unit, np.stack([single, within, same, other], axis=1))
    return Correlations(*(_left_out(sums[:, [k, 0]], _share) for k in (1, 2, 3)))


def drawn_variance(scores: Floats, orders: int, *, shared: bool) -> Floats:
    """(items,): variance of a mix's mean over the draw of so many ``orders``; ``scores`` of its judges alone.

    ``shared``: one draw for all judges, so that what an order does to all of them stays; else a draw each.
    """
    return np.asarray(single_variance(scores, shared=shared) * (1.0 / orders - 1.0 / scores.shape[2]))


def single_variance(scores: Floats, *, shared: bool) -> Floats:
    """(items,): S² / k² of the judges' orders, or with ``shared`` S² of their mean in each order."""
    if shared:
        return np.asarray(scores.mean(axis=1).var(axis=1, ddof=1))
    return np.asarray(scores.var(axis=2, ddof=1).sum(axis=1) / scores.shape[1] ** 2)


def effective_votes(errors: Floats, orders: int, *, shared: bool) -> float:
    """How many single reads of these judges, erring independently, would err by as much as their mean does.

    ``errors``: (items, judges of the mix, orders); the mean squared error of one read over that of the mix.
    """
    mixed = float((errors.mean(axis=(1, 2)) ** 2).mean() + drawn_variance(errors, orders, shared=shared).mean())
    return float((errors**2).mean()) / mixed if mixed > _TINY else float("nan")


def line_of(mean: Floats, variance: Floats, target: Floats) -> tuple[Line, float]:
    """(the line of least squares of ``target`` on a mix's drawn mean, what it leaves: mean squared error)."""
    x, t = mean - mean.mean(), target - target.mean()
    spread = float((x * x).mean() + variance.mean())
    slope = max(0.0, float((x * t).mean())) / spread if spread > _TINY else 0.0
    return Line(float(mean.mean()), float(target.mean()), slope), float((t * t).mean()) - slope * float((x * t).mean())


def losses(line: Line, mean: Floats, variance: Floats, target: Floats) -> Floats:
    """(items,): expected squared distance of the line's value from ``target`` over the draw of orders."""
    far = target - line.target - line.slope * (mean - line.mean)
    return np.asarray(far**2 + line.slope**2 * variance)


def r_of(mean: Floats, variance: Floats, target: Floats, unit: Ints) -> LeftOut:
    """Pearson's r of a mix's drawn mean with ``target``: with the draw's ``variance`` (items,) in its own.

    NaN where a side does not vary.
    """
    x, t = mean - mean.mean(), target - target.mean()
    sums = sum_by_unit(unit, np.stack([np.ones_like(x), x, t, x * x, t * t, x * t, variance], axis=1))

    def r(s: Floats) -> Floats:
        n, sx, st, xx, tt, xt, v = np.where(s[:, :1] > 0, s, np.nan).T  # the only unit left out leaves nothing
        spread = (xx + v) / n - (sx / n) ** 2
        return _over(xt / n - sx * st / n**2, np.sqrt(np.maximum(spread * (tt / n - (st / n) ** 2), 0.0)))

    return _left_out(sums, r)


def _left_out(sums: Floats, statistic: Callable[[Floats], Floats]) -> LeftOut:
    total = sums.sum(axis=0)
    return LeftOut(float(statistic(total[None])[0]), np.asarray(statistic(total - sums)))


def _share(sums: Floats) -> Floats:
    return _over(sums[:, 0], sums[:, 1])


def _mean(total: Floats, count: int) -> Floats:
    return np.asarray(total / count) if count else np.full(len(total), np.nan)


def _over(top: Floats, bottom: Floats) -> Floats:
    known = np.isfinite(top) & (bottom > _TINY)
    return np.asarray(np.divide(top, bottom, out=np.full(top.shape, np.nan), where=known))
