"""How well scores go with human ratings: correlation, its interval, its budget and its ceiling.

Arrays in, numbers out. ``x`` is an item's mean score under one strategy, ``y`` its mean human
rating; ``unit`` says which items are resampled together (the item itself, or its text).
Every correlation is NaN for fewer than two items or where a side never varies.
Sources: method section 3 (human alignment, ordering rank, budget); Xu et al. v2 section 5.2,
Table 3 and Figure 9, and v1 Table 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rubriclab.stats.correlation import TINY, rankdata, summed_moments
from rubriclab.stats.correlation import moments as moments
from rubriclab.stats.correlation import pearson as pearson
from rubriclab.stats.correlation import r_of_moments as r_of_moments
from rubriclab.stats.inference import Floats, Interval, Ints, distinct

EXACT_RANK_LIMIT = 1_000
"""Up to this many items the bootstrap of Spearman's rho ranks every resample anew."""


class Correlation(NamedTuple):
    """A correlation and its 95 % interval."""

    r: float
    ci: Interval


class RhoAt(NamedTuple):
    """Where rho is linearised: (C, Vx, Vy) and the mean influence on each."""

    value: Floats
    centre: Floats


class Difference(NamedTuple):
    """The correlation of strategy a less that of strategy b; ``p``: two-sided."""

    delta: float
    ci: Interval
    p: float


class Agreement(NamedTuple):
    """The raters' own agreement: the ceiling of what a judge can be asked for.

    ``raters`` counts the columns with a rating, ``items`` those with two ratings or more.
    """

    alpha: float
    leave_one_out_r: float
    raters: int
    items: int


class OrderingScore(NamedTuple):
    """One ordering (its code), its r with humans over ``n`` calls, and its rank (1 = best)."""

    ordering: int
    r: float
    rank: int | None
    n: int


# ---------------------------------------------------------------- correlations


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's rho: Pearson's r of mid-ranks (items,)."""
    return pearson(rankdata(x), rankdata(y)) if len(x) > 1 else float("nan")


def reranked_rho(x: Floats, y: Floats, weights: Floats) -> Floats:
    """rho of each weighted resample, ranked anew, (n_boot,); ``weights`` (n_boot, items)."""
    return _weighted_r(_weighted_ranks(x, weights), _weighted_ranks(y, weights), weights)


def rho_parts(x: Floats, y: Floats) -> tuple[Floats, RhoAt]:
    """What resampling rho to first order needs: per-item influences (items, 4) and their centre.

    With mid-distribution values F, G in (0, 1), whose means are 1/2:
    C = mean(F G) - 1/4, Vx = mean(F F) - 1/4, rho = C / sqrt(Vx Vy). An item moves C through
    its own F G and through everyone's F and G: those above it in x (y) gain.
    """
    n = len(x)
    f, g = (rankdata(x) - 0.5) / n, (rankdata(y) - 0.5) / n
    influence = np.stack(
        [
            np.ones(n),
            f * g + _mean_above(x, g) + _mean_above(y, f),
            f * f + 2.0 * _mean_above(x, f),
            g * g + 2.0 * _mean_above(y, g),
        ],
        axis=1,
    )
    at = np.array([(f * g).mean(), (f * f).mean(), (g * g).mean()]) - 0.25
    return influence, RhoAt(at, influence[:, 1:].mean(axis=0))


def rho_of_parts(totals: Floats, at: RhoAt) -> Floats:
    """Resampled rho (n_boot,) from resampled totals (n_boot, 4) of ``rho_parts``."""
    with np.errstate(invalid="ignore", divide="ignore"):
        c, vx, vy = (at.value + totals[:, 1:] / totals[:, :1] - at.centre).T
        rho = np.where((vx > TINY) & (vy > TINY), c / np.sqrt(vx * vy), np.nan)
    return np.asarray(np.clip(rho, -1.0, 1.0))


def _weighted_ranks(values: Floats, weights: Floats) -> Floats:
    """Mid-ranks of the items in each weighted resample, (n_boot, items), up to a constant."""
    order = np.argsort(values, kind="stable")
    first = np.flatnonzero(np.diff(values[order], prepend=-np.inf))
    level_weight = np.add.reduceat(weights[:, order], first, axis=1)
    mid = level_weight.cumsum(axis=1) - level_weight / 2.0
    level = np.empty(len(values), dtype=np.int64)
    level[order] = np.repeat(np.arange(len(first)), np.diff([*first, len(values)]))
    return np.asarray(mid[:, level])


def _weighted_r(x: Floats, y: Floats, weights: Floats) -> Floats:
    """Pearson's r of each row of ``x`` and ``y`` under its ``weights``, all (n_boot, items).

    NaN for a draw that holds none of the items: other items shared the draw's units.
    """
    n = weights.sum(axis=1)
    with np.errstate(invalid="ignore"):
        mean_x, mean_y = (weights * x).sum(axis=1) / n, (weights * y).sum(axis=1) / n
    # Mid-ranks are halves: rounding takes away what is left where a resample never varies.
    u, v = np.round(x - mean_x[:, None], 6), np.round(y - mean_y[:, None], 6)
    sums = [(weights * part).sum(axis=1) for part in (u * u, v * v, u * v)]
    zero = np.zeros_like(n)
    return r_of_moments(np.stack([n, zero, zero, *sums], axis=1))


def _mean_above(values: Floats, other: Floats) -> Floats:
    """For each item the sum of ``other`` over items above it (ties half), over n; (items,)."""
    level = np.unique(values, return_inverse=True)[1]
    sums = np.bincount(level, weights=other)
    upward = sums[::-1].cumsum()[::-1] - sums / 2.0
    return np.asarray(upward[level] / len(values))


# ---------------------------------------------------------------- raters


def rater_agreement(ratings: Floats) -> Agreement:
    """Agreement among raters; ``ratings`` (items, raters), NaN where a rater gave none."""
    known = np.isfinite(ratings)
    return Agreement(
        krippendorff_alpha(ratings),
        leave_one_out_r(ratings),
        int(known.any(axis=0).sum()) if ratings.size else 0,
        int((known.sum(axis=1) >= 2).sum()) if ratings.size else 0,
    )


def krippendorff_alpha(ratings: Floats) -> float:
    """Krippendorff's alpha for interval data, 1 - Do/De; ``ratings`` (items, raters).

    Items with one rating are not pairable and are left out. Do sums the squared differences
    of all ordered pairs within an item over m - 1, De those of all pairs of pairable values
    over n - 1; both through sums and sums of squares (Krippendorff 2004, chapter 11).
    NaN for no pairable value or none that differ.
    """
    known = np.isfinite(ratings)
    m = known.sum(axis=1).astype(np.float64) if ratings.size else np.zeros(0)
    rows = m >= 2
    if not rows.any():
        return float("nan")
    # Differences only: centring keeps the sums of squares exact.
    centred = np.where(known, ratings - np.nanmean(ratings[rows]), 0.0)[rows]
    m = m[rows]
    total, squares = centred.sum(axis=1), (centred * centred).sum(axis=1)
    n = m.sum()
    observed = (2.0 * (m * squares - total * total) / (m - 1.0)).sum() / n
    expected = 2.0 * (n * squares.sum() - total.sum() ** 2) / (n * (n - 1.0))
    return float(1.0 - observed / expected) if expected > TINY else float("nan")


def leave_one_out_r(ratings: Floats) -> float:
    """Mean over raters of r between a rater and the mean of the others on the same items.

    Raters for whom r is not defined (fewer than two shared items, no variation) are left out.
    """
    if ratings.size == 0 or ratings.shape[1] < 2:
        return float("nan")
    known = np.isfinite(ratings)
    filled = np.where(known, ratings, 0.0)
    total, count = filled.sum(axis=1), known.sum(axis=1)
    each = []
    for rater in range(ratings.shape[1]):
        shared = known[:, rater] & (count >= 2)
        others = (total[shared] - filled[shared, rater]) / (count[shared] - 1)
        each.append(pearson(ratings[shared, rater], others))
    known_r = np.array(each)[np.isfinite(each)]
    return float(known_r.mean()) if known_r.size else float("nan")


# ---------------------------------------------------------------- single orderings


def ordering_ranks(score: Floats, human: Floats, ordering: Ints, n_orderings: int) -> tuple[OrderingScore, ...]:
    """r of every single ordering with humans, best first (v1 Table 4).

    Rows are single calls: ``score`` and the ``human`` mean of the call's item (NaN rows are
    left out), ``ordering`` its code below ``n_orderings``. Equal r share the better rank;
    orderings whose r is not defined come last without a rank.
    """
    ok = np.isfinite(score) & np.isfinite(human)
    if not ok.any():
        return ()
    totals = summed_moments(score[ok], human[ok], ordering[ok], n_orderings)
    r = r_of_moments(totals)
    n = totals[:, 0].astype(np.int64)
    present = np.flatnonzero(n)
    by_r = present[np.argsort(-np.nan_to_num(r[present], nan=-2.0), kind="stable")]
    rounded = np.round(r, 12)
    return tuple(
        OrderingScore(
            int(o),
            float(r[o]),
            1 + int((rounded[present] > rounded[o]).sum()) if np.isfinite(r[o]) else None,
            int(n[o]),
        )
        for o in by_r
    )


def orderings_without(
    score: Floats, human: Floats, ordering: Ints, unit: Ints, wanted: Sequence[int]
) -> tuple[Floats, Floats]:
    """Fisher's z of r of the orderings ``wanted``, (k,), and without each unit, (units, k).

    Rows as for ``ordering_ranks``; ``unit``: (rows,), of the call's item.
    """
    ok = np.isfinite(score) & np.isfinite(human) & np.isin(ordering, wanted)
    place = np.searchsorted(np.sort(wanted), ordering[ok])
    present, code = distinct(unit[ok])
    units, k = len(present), len(wanted)
    cells = summed_moments(score[ok], human[ok], code * k + place, units * k)
    sums = cells.reshape(units, k, -1)[:, np.argsort(np.argsort(wanted))]
    total = sums.sum(axis=0)
    edge = 1.0 - 1e-12
    values, without = (np.arctanh(np.clip(r_of_moments(of), -edge, edge)) for of in (total, total - sums))
    return np.asarray(values), np.asarray(without)
