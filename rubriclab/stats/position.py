"""Position effects on the options axis: counts, tests that respect items, tables, noise.

Arrays in, numbers out. A *unit* is what the data hold independently: an item, or a block of
items that share a text. Positions and scores are 0-based codes 0..n-1 throughout.
Definitions: Xu v1 section 5 and v2 setting 1; the tests are this project's own (the papers'
chi-square treats the reads of one item as independent, which they are not).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.optimize import brentq

from rubriclab.stats import distributions
from rubriclab.stats.inference import Floats, Interval, Ints, Note, Test
from rubriclab.stats.noise import Spread as Spread
from rubriclab.stats.noise import disagreement as disagreement
from rubriclab.stats.noise import spread as spread
from rubriclab.stats.noise import v_from_own_noise as v_from_own_noise
from rubriclab.stats.noise import within_item_sd as within_item_sd
from rubriclab.stats.order_test import FLAT
from rubriclab.stats.order_test import NEVER_MOVED as NEVER_MOVED
from rubriclab.stats.order_test import Reads as Reads
from rubriclab.stats.order_test import any_order_test as any_order_test
from rubriclab.stats.order_test import positions_of as positions_of

TOO_FEW = "Too few units for the usual test (Hotelling's T²); a sign-flip test was used instead, which is rough on so little data."
UNITS_PER_OPTION = 3
"""Below this many units an option, the covariance of the shares is too thin for T²."""


# ---------------------------------------------------------------- pooled counts, as in the paper


class Selection(NamedTuple):
    """Pooled selections by position. ``p`` is the paper's chi-square p, not a valid test."""

    counts: Ints
    share: Floats
    chi2: float
    df: int
    p: float
    v: float


def selection(counts: Ints) -> Selection:
    """Shares, chi2 = sum (n_p - N/n)^2 / (N/n), df n-1, and Cramér's V, from pooled counts.

    Source: Xu v2, setting 1. Without a single selection everything but df is NaN.
    """
    n, total = len(counts), float(np.sum(counts))
    if total == 0:
        nan = float("nan")
        return Selection(counts, np.full(n, np.nan), nan, n - 1, nan, nan)
    expected = total / n
    chi2 = float(np.sum((counts - expected) ** 2) / expected)
    share = counts / total
    return Selection(counts, share, chi2, n - 1, float(distributions.chi2.sf(chi2, n - 1)), float(cramers_v(share)))


def cramers_v(share: Floats) -> Floats:
    """V = sqrt(chi2 / (N (n-1))) = sqrt(n/(n-1) sum_p (share_p - 1/n)^2); (..., n) -> (...)."""
    n = share.shape[-1]
    return np.asarray(np.sqrt(n / (n - 1) * np.sum((share - 1.0 / n) ** 2, axis=-1)))


def v_interval(share: Floats, resampled: Floats, *, tails: tuple[float, float] | None = None) -> Interval:
    """A 95 % interval for V that may reach 0, by inverting a bootstrap test.

    ``share``: (n,); ``resampled``: (n_boot, n) shares of resampled units. V is the length of
    the deviation from 1/n, up to a factor; a plain percentile interval of a length is pushed
    upward twice (once by the data's noise, once by the resampling). So: for true deviations
    t u along the observed direction u, an observed length c is reached when |t u + z| >= c,
    z being a resampled error; each z has its own t, and t belongs to the interval unless a
    length as great as c is too rare under it, or one as small. How the 5 % are shared out
    depends on t: all for "as great" at t = 0, where no length is too small, half and half
    a few errors away (the idea of Feldman and Cousins 1998). So 0 is left out when the same
    bootstrap rejects "no effect" at 0.05, neither more nor less often.

    ``tails``: two one-sided bounds instead, with these chances that V lies below the first and above
    the second end, wherever V is.
    """
    n = len(share)
    scale = np.sqrt(n / (n - 1))
    deviation = share - 1.0 / n
    length = float(np.linalg.norm(deviation))
    if not np.isfinite(length) or len(resampled) < 2:
        return Interval(float("nan"), float("nan"))
    error = share - resampled
    direction = deviation / length if length >= FLAT else np.eye(n)[0] - 1.0 / n
    along = error @ (direction / np.linalg.norm(direction))
    square = np.sum(error**2, axis=1)
    low, high = _accepted(along, along**2 - square + length**2, float(np.sqrt(square.mean())), tails)
    return Interval(float(min(1.0, scale * low)), float(min(1.0, scale * high)))


def _accepted(along: Floats, inside: Floats, spread: float, tails: tuple[float, float] | None) -> tuple[float, float]:
    """The least and the greatest t >= 0 under which the observed length is not too rare.

    |t u + z| >= c where t is at least ``-along`` + root(``inside``), or at most ``-along`` -
    root(``inside``), or anywhere if ``inside`` is negative; ``spread``: the errors' size.
    """
    always = int(np.sum(inside < 0))
    root = np.sqrt(inside[inside >= 0])
    after = np.sort(-along[inside >= 0] + root)
    until = np.sort(-along[inside >= 0] - root)
    t = np.unique(np.concatenate([[0.0], after[after > 0], until[until > 0]]))
    if spread <= 0.0:
        return float(t[-1]), float(t[-1])
    shared = 0.025 * (1.0 + np.exp(-((t / spread) ** 2)))
    rare, small = (shared, 0.05 - shared) if tails is None else tails
    size = len(along)
    as_great = (
        always
        + np.searchsorted(after, t + FLAT, side="right")
        + (len(until) - np.searchsorted(until, t - FLAT, side="left"))
    ) / size
    greater = (
        always
        + np.searchsorted(after, t - FLAT, side="left")
        + (len(until) - np.searchsorted(until, t + FLAT, side="right"))
    ) / size
    kept = t[(as_great > rare) & (1.0 - greater > small)]
    return (float(kept[0]), float(kept[-1])) if kept.size else (0.0, 0.0)


def v_from_noise(unit_counts: Floats) -> float:
    """The V to expect with no average position effect, given how much the units differ.

    ``unit_counts``: (units, n) selections. The pooled shares are ratios of sums, whose
    covariance C follows from the units' residuals (linearisation); with no effect
    E[V^2] = n/(n-1) trace(C), whose root is returned. NaN below two units.
    """
    used = unit_counts[unit_counts.sum(axis=1) > 0]
    units, n = used.shape
    if units < 2:
        return float("nan")
    reads = used.sum(axis=1, keepdims=True)
    residual = (used - reads * (used.sum(axis=0) / reads.sum())) / reads.sum()
    variance = units / (units - 1) * float(np.sum(residual**2))
    return float(np.sqrt(n / (n - 1) * variance))


def v_without_noise(v: float, noise: float) -> float:
    """V less what noise adds: the root of V^2 - ``noise``^2, whose mean is the true V^2; 0 below 0."""
    return float(np.sqrt(max(v**2 - noise**2, 0.0))) if np.isfinite(v + noise) else float("nan")


# ---------------------------------------------------------------- headline: average effect


def deviations(by_position: Floats) -> Floats:
    """Each item's share of reads at each position, minus 1/n; NaN for items without a read.

    ``by_position``: (items, n) selections. Right where every score is at every position
    equally often, or where orderings are drawn at random.
    """
    n = by_position.shape[1]
    reads = by_position @ np.ones((n, 1))
    with np.errstate(invalid="ignore"):
        return np.asarray(by_position / reads - 1.0 / n)


def corrected_deviations(by_score: Floats, by_position: Floats, exposure: Floats, *, others_only: bool) -> Floats:
    """Each item's share of reads at each position, minus what its own scores would give.

    ``by_score``, ``by_position``: (items, n) selections; ``exposure``: (items, scores,
    positions) over the same reads. Expected without an order effect: each received score at
    the places where the item's reads showed it, sum_s c_s E_sp / K^2, the mean under
    permutation; 1/n when a balanced set of orderings was read in full, and a constant judge
    never deviates, whatever could not be read. ``others_only`` leaves each read's own
    ordering out of its comparison, (sum_s c_s E_sp - n_p) / (K (K-1)): unbiased for
    orderings drawn independently. Items with fewer than two reads are rows of NaN.
    """
    reads = by_position.sum(axis=1, keepdims=True)
    crossed = np.einsum("is,isp->ip", by_score, exposure)
    with np.errstate(invalid="ignore", divide="ignore"):
        deviation = by_position / reads - crossed / reads**2
        if others_only:
            deviation = deviation * reads / (reads - 1.0)
        return np.asarray(np.where(reads > 1, deviation, np.nan))


def balanced_items(exposure: Floats) -> Floats:
    """Which items saw every score at every position equally often, 1.0 or 0.0 an item.

    By Cauchy-Schwarz sum_sp E^2 >= K^2, with equality exactly there.
    """
    reads = exposure[:, 0, :].sum(axis=1)
    square = np.einsum("isp,isp->i", exposure, exposure)
    return np.asarray(((square <= reads**2 * (1.0 + FLAT)) & (reads > 0)).astype(np.float64))


def one_order_items(exposure: Floats) -> NDArray[np.bool_]:
    """Which items were read, once or often, under one order only, (items,); ``exposure`` as above."""
    reads = exposure[:, 0, :].sum(axis=1)
    square = np.einsum("isp,isp->i", exposure, exposure)
    return np.asarray((reads > 0) & (square >= exposure.shape[1] * reads**2 * (1.0 - FLAT)))


def average_effect_test(vectors: Floats, *, seed: int, shares: bool = True) -> Test:
    """Is the mean deviation of the units zero? The headline test of a position effect.

    ``vectors``: (units, n), one deviation vector a unit, each summing to 0. Hotelling's T²
    with its F reference on the directions that vary. Below 3n units: a sign-flip test. A
    position whose share is the same in every unit and not 1/n has no variance to measure it
    by: an exact bound answers for it (``shares``: the vectors are shares minus 1/n, so it
    holds), the test above for the directions that do vary, and p is twice the smaller of the
    two (Bonferroni). No variance and no deviation: p = 1. Fewer than two units: p is NaN.
    """
    units, n = vectors.shape
    if units < 2:
        return Test("Hotelling's T²", float("nan"), float("nan"), float("nan"), "Too few units.")
    mean = vectors.mean(axis=0)
    spread = np.ptp(vectors, axis=0)
    if np.all(spread < FLAT) and np.all(np.abs(mean) < FLAT):
        return Test("Hotelling's T²", 0.0, 0.0, 1.0, NEVER_MOVED)
    fixed = (spread < FLAT) & (np.abs(mean) > FLAT)
    few = units < UNITS_PER_OPTION * n
    if not (shares and fixed.any()):
        return _sign_flip_test(vectors, seed) if few or fixed.any() else _t2_test(vectors)
    bound = _constant_share_test(mean[fixed] + 1.0 / n, units, n)
    if np.all(spread < FLAT):
        return bound
    rest = _sign_flip_test(vectors, seed) if few else _t2_test(vectors)
    better = min((bound, rest), key=lambda test: test.p)
    doubled = "p is doubled: two tests, since a position's share never varies."
    note = Note.of("{note} {doubled}", note=better.note, doubled=doubled) if better.note else doubled
    return better._replace(p=min(1.0, 2.0 * better.p), note=note)


def _t2_test(vectors: Floats) -> Test:
    n = vectors.shape[1]
    statistic, rank, p = hotelling(vectors)
    note = "" if rank == n - 1 else Note.of("Only {rank} of {n} directions ever varied.", rank=int(rank), n=n - 1)
    return Test("Hotelling's T²", float(statistic), float(rank), float(p), note)


def hotelling(vectors: Floats) -> tuple[Floats, Floats, Floats]:
    """(F statistic, rank, p) for the mean of ``vectors`` (..., units, n) against zero.

    T² = units m' S⁺ m over the directions with variance, r of them;
    F = T² (units - r) / (r (units - 1)) on r and units - r degrees of freedom.
    """
    units = vectors.shape[-2]
    mean = vectors.mean(axis=-2)
    centred = vectors - mean[..., None, :]
    covariance = np.swapaxes(centred, -1, -2) @ centred / (units - 1)
    values, directions = np.linalg.eigh(covariance)
    varies = values > np.maximum(FLAT * values[..., -1:], 1e-15)
    along = np.einsum("...pk,...p->...k", directions, mean)
    t2 = units * np.sum(np.where(varies, along**2, 0.0) / np.where(varies, values, 1.0), axis=-1)
    rank = varies.sum(axis=-1).astype(np.float64)
    usable = (rank > 0) & (rank < units)
    safe = np.where(usable, rank, 1.0)
    f = np.where(usable, t2 * (units - safe) / (safe * (units - 1.0)), 0.0)
    p = np.where(usable, distributions.f.sf(f, safe, units - safe), 1.0)
    return f, rank, p


def _constant_share_test(share: Floats, units: int, n: int) -> Test:
    """An exact bound on p where positions have the same share a in every unit.

    With a mean share of 1/n, Markov's inequality bounds the chance that one unit is as low
    as a < 1/n by (1 - 1/n)/(1 - a) and as high as a > 1/n by (1/n)/a; all units: that to
    the power of their number. Bonferroni over n positions and two sides.
    """
    evidence = np.where(share < 1.0 / n, (1.0 - 1.0 / n) / (1.0 - share + 1e-300), 1.0 / n / np.maximum(share, 1e-300))
    p = min(1.0, 2.0 * n * float(np.min(evidence)) ** units)
    note = "At some position every unit has the same share, which is not 1/n."
    return Test("exact bound for a share that never varies", float(len(share)), 0.0, p, note)


def _sign_flip_test(vectors: Floats, seed: int, *, draws: int = 4_000) -> Test:
    """Flip whole vectors' signs: all 2^units patterns up to 12 units, else ``draws`` of them.

    Statistic: squared length of the sum of the vectors, over that of the vectors' own.
    """
    units = len(vectors)
    if units <= 12:
        bits = np.arange(2**units)[:, None] >> np.arange(units)[None, :] & 1
        signs = 1.0 - 2.0 * bits
    else:
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(draws, units))
        signs[0] = 1.0  # the data themselves belong to the reference set
    sums = np.sum((signs @ vectors) ** 2, axis=1)
    observed = sums[0]
    p = float(np.mean(sums >= observed * (1.0 - FLAT)))
    scale = float(np.sum(vectors**2))
    return Test("sign-flip test", float(observed / scale), float("nan"), p, TOO_FEW)


# ---------------------------------------------------------------- score x position


def position_given_score(counts: Floats, exposure: Floats) -> Floats:
    """P(p | s): how the choices of score s spread over positions, (..., scores, positions).

    Choices of s at p over times s was shown at p, then normalised over p; with equal
    exposure this is the plain share of Xu v1, Table 5. NaN for a score never chosen, for
    a position where the score was never shown, and for a score only ever shown at one
    position, whose share there is 1 by construction.
    """
    shown = exposure > 0
    shown = shown & (np.count_nonzero(shown, axis=-1, keepdims=True) > 1)
    rate = np.where(shown, counts / np.where(shown, exposure, 1.0), 0.0)
    total = rate.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(shown & (total > 0), rate / total, np.nan))


def is_balanced(exposure: Floats) -> bool:
    """Is every score at every position about equally often?

    ``exposure``: (scores, positions) totals. True when no cell is further from 1/n of the
    total than 4.5 standard errors of independent uniform orderings: designs drawn afresh for
    each item pass, one short list of unbalanced orderings shared by all items does not.
    """
    n, reads = len(exposure), exposure.sum() / len(exposure)
    if reads == 0:
        return False
    error = np.sqrt(reads * (1.0 / n) * (1.0 - 1.0 / n))
    return bool(np.max(np.abs(exposure - reads / n)) <= 4.5 * error + 1.0)


def is_separable(exposure: Floats) -> bool:
    """Was some score seen at more than one position? Else position and score are one thing."""
    return bool(np.any(np.count_nonzero(exposure > 0, axis=1) > 1))


# ---------------------------------------------------------------- the smallest visible effect


class Visible(NamedTuple):
    """The smallest effect that would have been found, with what that was worked out for.

    ``share``: |share - 1/n| of one position, the others making up for it evenly; ``v``: the
    same as Cramér's V.
    """

    share: float
    v: float
    power: float
    alpha: float
    n_units: int


def smallest_visible_effect(vectors: Floats, *, power: float = 0.8, alpha: float = 0.05) -> Visible:
    """The smallest preference for one position that the T² test finds with ``power``.

    ``vectors``: (units, n) deviations. The noncentral F gives the noncentrality needed; a
    preference d for position p (and -d/(n-1) for the others) has units d² w' S⁺ w of it.
    The least favourable position counts. NaN where T² cannot be computed or nothing varies.
    """
    units, n = vectors.shape
    nothing = Visible(float("nan"), float("nan"), power, alpha, units)
    if units < 2:
        return nothing
    covariance = np.atleast_2d(np.cov(vectors, rowvar=False))
    values, directions = np.linalg.eigh(covariance)
    varies = values > max(FLAT * float(values[-1]), 1e-15)
    rank = int(varies.sum())
    if rank == 0 or units <= rank + 1:
        return nothing
    needed = _noncentrality(rank, units - rank, power, alpha)
    pattern = (np.eye(n) - 1.0 / n) * n / (n - 1)
    along = (pattern @ directions[:, varies]) ** 2 / values[varies]
    per_unit = float(along.sum(axis=1).min())
    if per_unit <= 0:
        return nothing
    share = float(np.sqrt(needed / (units * per_unit)))
    return Visible(share, share * n / (n - 1), power, alpha, units)


def _noncentrality(df1: int, df2: int, power: float, alpha: float) -> float:
    """The noncentrality at which an F test of level ``alpha`` has ``power``."""
    critical = float(distributions.f.isf(alpha, df1, df2))

    def missing(noncentrality: float) -> float:
        return float(1.0 - special.ncfdtr(df1, df2, noncentrality, critical)) - power

    high = 10.0
    while missing(high) < 0 and high < 1e6:
        high *= 2.0
    return float(brentq(missing, 1e-6, high))
