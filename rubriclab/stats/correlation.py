"""Pearson's r through the sums that a resample needs, so that all resamples cost one product; and mid-ranks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rubriclab.stats.inference import Floats, Ints

TINY = 1e-12


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's r of ``x`` and ``y`` (items,)."""
    return float(r_of_moments(moments(x, y).sum(axis=0)))


def moments(x: Floats, y: Floats) -> Floats:
    """(items, 6): 1, x, y, xx, yy, xy, taken from the means so that no digits are lost."""
    u, v = _from_means(x), _from_means(y)
    return np.stack([np.ones_like(u), u, v, u * u, v * v, u * v], axis=1)


def summed_moments(x: Floats, y: Floats, code: Ints, n: int) -> Floats:
    """The :func:`moments` summed within each code 0..n-1, (n, 6); no table of all of them is made."""
    u, v = _from_means(x), _from_means(y)
    sums = [np.bincount(code, weights=of, minlength=n) for of in (u, v, u * u, v * v, u * v)]
    return np.stack([np.bincount(code, minlength=n), *sums], axis=1).astype(np.float64)


def _from_means(x: Floats) -> Floats:
    # A constant side must have moments of exactly 0, whatever its mean was rounded to.
    return x - x.mean() if len(x) and np.ptp(x) > 0 else np.zeros(len(x))


def r_of_moments(totals: Floats) -> Floats:
    """r from totals (..., 6); NaN where a variance is nil next to its raw moment."""
    n, x, y, xx, yy, xy = np.moveaxis(np.asarray(totals, dtype=np.float64), -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        vx, vy = xx - x * x / n, yy - y * y / n
        varies = (n > 1) & (vx > TINY * xx) & (vy > TINY * yy)
        r = (xy - x * y / n) / np.sqrt(vx * vy)
    return np.where(varies, np.clip(r, -1.0, 1.0), np.nan)


def rankdata(values: NDArray[np.floating | np.integer]) -> Floats:
    """Ranks from 1 along the last axis, as those of scipy.stats: equal values share the mean of theirs; NaN has none."""
    order = np.argsort(values, axis=-1, kind="stable")
    ascending, width = np.take_along_axis(values, order, axis=-1), values.shape[-1]
    starts = np.ones(values.shape, dtype=bool)
    starts[..., 1:] = ascending[..., 1:] != ascending[..., :-1]
    start = np.flatnonzero(starts)
    ties = np.diff(start, append=values.size)
    ranks = np.empty(values.shape)
    np.put_along_axis(ranks, order, np.repeat(start % width + (ties + 1) / 2.0, ties).reshape(values.shape), axis=-1)
    return np.where(np.isnan(values), np.nan, ranks)
