"""Which form of the prompt is best, said so that the best of several is not believed too soon.

Arrays in, numbers out, as in ``stats.perturbation``. Bands hold for all forms at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from rubriclab.stats.inference import Floats, Interval
from rubriclab.stats.perturbation import shares

_FLAT = 1e-12


def instability(counts: Sequence[Floats], values: Floats) -> Floats:
    """How far each form's scores lie from those of the other forms, (items, forms).

    The mean absolute shift between a read of this form and a read of another, the others
    weighing the same: with m the mean of the other forms' shares, sum_st p_s m_t |v_s - v_t|.
    The form with the least is the medoid: whoever changes from it to another form, or the
    other way round, meets the least change. NaN for an item that lacks a read under any form.
    """
    p = [shares(part) for part in counts]
    if len(p) < 2:
        return np.full((len(counts[0]) if counts else 0, len(p)), np.nan)
    distance = np.abs(values[:, None] - values[None, :])
    total = np.sum(p, axis=0)
    columns = [((own @ distance) * (total - own)).sum(axis=1) / (len(p) - 1) for own in p]
    return np.stack(columns, axis=1)


class Best(NamedTuple):
    """The best of several: its index ``form``, and the indices that cannot be told from it."""

    form: int
    tied: tuple[int, ...]


def best_of(estimates: Floats, draws: Floats, *, largest: bool) -> Best | None:
    """The best of k estimates and those that could be as good, by bands that hold at once.

    ``draws``: (n_boot, k) under shared resamples. The best of several is first by chance too, so
    its differences from all others are bounded together, at the 95 % quantile of their largest
    standardised error (comparisons with the best: Hsu 1996, Multiple Comparisons, chapter 4). NaN
    estimates take no part; None where fewer than two are left.
    """
    usable = np.flatnonzero(np.isfinite(estimates))
    if len(usable) < 2:
        return None
    sign = 1.0 if largest else -1.0
    best = int(usable[np.argmax(sign * estimates[usable])])
    others = usable[usable != best]
    # Equal forms differ by rounding alone: that is no difference.
    drawn = np.round(sign * (draws[:, [best]] - draws[:, others]), 12)
    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    if len(drawn) < 2:
        return Best(best, tuple(others.tolist()))
    ahead = sign * (estimates[best] - estimates[others])
    error = np.maximum(drawn.std(axis=0, ddof=1), _FLAT)
    reach = float(np.quantile(np.abs((drawn - ahead) / error).max(axis=1), 0.95))
    low = np.round(ahead - reach * error, 12)
    return Best(best, tuple(others[~(low > 0)].tolist()))


class BestGain(NamedTuple):
    """What the best of several gains over the usual one, never below 0: the usual one is one of them.

    ``form``: the index among the others whose band reaches highest from below.
    """

    value: float
    interval: Interval
    form: int


def best_gain(bands: Callable[[float], Sequence[Interval]], *, level: float = 0.95) -> BestGain | None:
    """The gain of the best of m others over the usual one, from their own gains' intervals.

    ``bands(level)``: the m two-sided intervals at a level each. Where all of them hold, the largest of
    the true gains lies between the largest of their lower and the largest of their upper ends, so the
    interval holds whichever form is truly best, and whichever came first here (comparisons with a
    control: Dunnett 1955; Bonferroni). The value is the largest of the lower ends at the level at which
    all of them hold every other time: as often too small as too large, or more often, where the largest
    of several estimates is nearly always too large (Chernozhukov, Lee and Rosen 2013, Intersection Bounds,
    section 3). None where a gain has no interval.
    """
    count = len(bands(level))
    if not count:
        return None
    sure, even = bands(1.0 - (1.0 - level) / count), bands(2.0 * 0.5 ** (1.0 / count) - 1.0)
    if not np.isfinite([*sure, *even]).all():
        return None
    form = int(np.argmax([ends.low for ends in sure]))
    low, high = (max(0.0, max(side)) for side in zip(*sure, strict=True))
    return BestGain(max(0.0, max(ends.low for ends in even)), Interval(low, high), form)


class Fluctuation(NamedTuple):
    """The largest of several changes, that of index ``form``, and how far the 95 % bands of all of
    them ``reach``. ``from_noise``: the median largest change that sampling items alone makes;
    ``p``: the share of resamples whose largest change is as large."""

    form: int
    change: float
    reach: float
    from_noise: float
    p: float


def largest_change(changes: Floats, draws: Floats) -> Fluctuation | None:
    """The largest |change| of k, beside what the largest of k is made of chance.

    ``draws``: (n_boot, k) resampled changes; centred on the estimates they show the largest
    change of forms that do not differ (max-T, Westfall and Young 1993). None where no change
    is known.
    """
    usable = np.flatnonzero(np.isfinite(changes))
    if not len(usable):
        return None
    index = int(usable[np.argmax(np.abs(changes[usable]))])
    centred = np.round(np.abs(draws[:, usable] - changes[usable]), 12)
    centred = centred[np.isfinite(centred).all(axis=1)]
    if len(centred) < 2:
        return Fluctuation(index, float(changes[index]), *3 * (float("nan"),))
    noise = centred.max(axis=1)
    as_large = int((noise >= np.round(abs(changes[index]), 12)).sum())
    return Fluctuation(
        index,
        float(changes[index]),
        float(np.quantile(noise, 0.95)),
        float(np.median(noise)),
        (as_large + 1) / (len(noise) + 1),
    )
