"""What every statistic shares: tests, intervals that resample items, and Holm's correction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Interval(NamedTuple):
    """A two-sided interval; both ends NaN where the data cannot carry one."""

    low: float
    high: float


class Note(str):
    """A remark with numbers in it, in English; what it was made of is kept, so that it can be said in another language.

    ``template`` and ``values``: as for ``str.format``.
    """

    template: str
    values: Mapping[str, object]

    @classmethod
    def of(cls, template: str, /, **values: object) -> Note:
        made = cls(template.format(**values))
        made.template, made.values = template, values
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return Note._again, (self.template, dict(self.values))

    @staticmethod
    def _again(template: str, values: Mapping[str, object]) -> Note:
        return Note.of(template, **values)


class Test(NamedTuple):
    """A test's answer. ``note`` says what a reader must know: a fallback, too little data."""

    name: str
    statistic: float
    df: float
    p: float
    note: str = ""


NO_INTERVAL = Interval(float("nan"), float("nan"))
DIRECT_LIMIT = 2_000
"""Above this many units the bootstrap resamples random groups of units instead of units."""
GROUPS = 1_000
"""How many groups then: enough for a standard error that is right to about 2 %."""
MIN_RESAMPLED = 10
"""Below so many units none are resampled: their bootstrap is no picture of what was sampled."""
_BLOCK = 100_000
_DRAWING = Lock()
_WHOLE = 2.0**24
"""Whole numbers up to here are exact in single precision."""
_MANY_NUMBERS = 10_000
_COUNTABLE = 1_000_000
"""Codes below this are put together by counting, others by sorting."""
_DRAW_BITS, _FEWEST_BITS = 40, 20
"""How much of a random number decides an order; with less too many would be alike."""


def resample_weights(n_units: int, n_boot: int, rng: np.random.Generator) -> Floats:
    """Bootstrap weights, shape (n_boot, n_units): how often each unit is drawn.

    Each row is one multinomial draw of ``n_units`` out of ``n_units``.
    """
    counts = np.empty((n_boot, n_units))
    # A block of rows at a time: its counters stay in the processor's cache.
    block = max(1, _BLOCK // max(n_units, 1))
    for start in range(0, n_boot, block):
        rows = min(block, n_boot - start)
        draws = rng.integers(0, n_units, size=(rows, n_units))
        draws += np.arange(rows)[:, None] * n_units
        drawn = np.bincount(draws.ravel(), minlength=rows * n_units)
        counts[start : start + rows] = drawn.reshape(rows, n_units)
    return counts


def percentile_interval(samples: Floats, level: float = 0.95) -> Interval:
    """The percentile interval of bootstrap ``samples`` (1-d); NaN samples are left out."""
    finite = samples[np.isfinite(samples)]
    if finite.size < 2:
        return NO_INTERVAL
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(finite, [tail, 1.0 - tail])
    return Interval(float(low), float(high))


def widened(estimate: Floats, draws: Floats, units: int) -> Floats:
    """Bootstrap ``draws`` stretched about the ``estimate`` for having few ``units``.

    Resampling N units has the variance (N - 1) / N of sampling them, and its quantiles are a
    normal curve's where Student's t on N - 1 is due: both too narrow (Hesterberg 2015, What
    Teachers Should Know About the Bootstrap, section 3.2). At 60 units a factor of 1.03.
    """
    if units < 2:
        return np.full(draws.shape, np.nan)
    factor = np.sqrt(units / (units - 1)) * special.stdtrit(units - 1, 0.975) / special.ndtri(0.975)
    return np.asarray(estimate + factor * (draws - estimate))


def degrees_of_freedom(residual: Floats) -> Floats:
    """Of the variance of each column of ``residual`` (n, ...): at most n - 1, at least 3 (or n - 1; 0 for one).

    A variance of n values with excess kurtosis k has the variance 2 / (n - 1) + k / n relative to
    its square, a chi-square on d degrees of freedom 2 / d (Satterthwaite 1946): where few values
    make the variance, it is no surer than they are many.
    """
    n = len(residual)
    if n < 2:
        return np.zeros(residual.shape[1:])
    square = (residual**2).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = np.nan_to_num((residual**4).mean(axis=0) / square**2 - 3.0).clip(0.0)
    return np.asarray(np.clip(2.0 / (2.0 / (n - 1) + excess / n), min(3, n - 1), n - 1))


def bootstrap_sums(
    unit_sums: Floats, *, n_boot: int, seed: int, statistic: Callable[[Floats], Floats] | None = None
) -> Floats:
    """Resampled totals of per-unit sufficient statistics.

    ``unit_sums``: (units, k), one row per item or block. Returns (n_boot, k), or what
    ``statistic`` makes of it (a function of totals, vectorised over the first axis).
    More than DIRECT_LIMIT units are first summed in GROUPS random groups, which are
    resampled in their place: the same variance to first order at a bounded cost
    (Politis, Romano and Wolf 1999, Subsampling, section 1.5, on grouped resampling).
    """
    sums = np.asarray(unit_sums, dtype=np.float64)
    groups, weights = _shared_draw(len(sums), n_boot, seed)
    if groups is not None:
        sums = groups @ sums
    totals = _weighted_totals(weights, sums)
    return totals if statistic is None else statistic(totals)


def _weighted_totals(weights: NDArray[np.uint16], sums: Floats) -> Floats:
    """``weights`` (n_boot, n) times ``sums`` (n, k) without the work that changes nothing.

    A column that is the same in every row needs no product: a draw's weights add up to n.
    Whole numbers whose totals stay below 2^24 are exact in single precision, at half the cost.
    """
    if not sums.size:
        return weights.astype(np.float64) @ sums
    varies = (sums != sums[0]).any(axis=0)
    totals = np.empty((len(weights), sums.shape[1]))
    totals[:, ~varies] = sums[0, ~varies] * len(sums)
    moving = sums[:, varies]
    if not moving.size:
        return totals
    most = float(np.abs(moving).max()) * len(sums)
    whole = most < _WHOLE and bool((moving == np.rint(moving)).all())
    kind = np.float32 if whole else np.float64
    totals[:, varies] = weights.astype(kind) @ moving.astype(kind)
    return totals


def _shared_draw(n: int, n_boot: int, seed: int) -> tuple[sparse.csr_array | None, NDArray[np.uint16]]:
    """``_drawn``, by one thread at a time: arms looked at together wait for one draw."""
    with _DRAWING:
        return _drawn(n, n_boot, seed)


@lru_cache(maxsize=8)
def _drawn(n: int, n_boot: int, seed: int) -> tuple[sparse.csr_array | None, NDArray[np.uint16]]:
    """(what sums units into groups or None, weights) for ``n`` units: a run's arms share them.

    Counts stay far below 2^16: kept so, a draw takes a quarter of the memory.
    """
    rng = np.random.default_rng(seed)
    groups = None
    if n > DIRECT_LIMIT:
        cuts = np.arange(GROUPS + 1) * n // GROUPS
        groups = sparse.csr_array((np.ones(n), rng.permutation(n), cuts), shape=(GROUPS, n))
    weights = resample_weights(GROUPS if groups is not None else n, n_boot, rng).astype(np.uint16)
    weights.setflags(write=False)
    return groups, weights


def in_groups(parts: Iterable[Floats], groups: int, rng: np.random.Generator) -> list[Floats]:
    """``parts`` (units, ...) summed over so many random groups of units: the same variance at a bounded cost.

    The same groups for every part; as they are where there are no more units.
    """
    whole = list(parts)
    units = len(whole[0])
    if units <= groups:
        return whole
    starts, mixed = np.arange(groups) * units // groups, rng.permutation(units)
    return [np.add.reduceat(part[mixed], starts, axis=0) for part in whole]


def sum_by(code: Ints, values: Floats, n: int) -> Floats:
    """Sums of ``values`` (rows, ...) within each code 0..n-1, (n, ...)."""
    rows = values.reshape(len(values), int(np.prod(values.shape[1:])))
    if rows.size > _MANY_NUMBERS:  # in one pass over the rows; bincount takes one for each column
        member = sparse.csc_array((np.ones(len(code)), code, np.arange(len(code) + 1)), shape=(n, len(code)))
        return np.asarray(member @ rows, dtype=np.float64).reshape((n, *values.shape[1:]))
    columns = [np.bincount(code, weights=rows[:, j], minlength=n) for j in range(rows.shape[1])]
    stacked = np.stack(columns, axis=1) if columns else np.zeros((n, 0))
    return stacked.astype(np.float64, copy=False).reshape((n, *values.shape[1:]))


def sum_by_unit(unit: Ints, values: Floats) -> Floats:
    """The same within each unit that occurs, in the order of their codes, (units, ...)."""
    present, code = distinct(unit)
    return sum_by(code, values, len(present))


def distinct(codes: Ints) -> tuple[Ints, Ints]:
    """(the distinct codes, ascending; each entry's rank among them): by counting where the range is small."""
    low, top = int(codes.min(initial=0)), int(codes.max(initial=-1)) + 1
    if low < 0 or top > max(len(codes), _COUNTABLE):
        values, rank = np.unique(codes, return_inverse=True)
        return values, rank.astype(np.int64)
    present = np.flatnonzero(np.bincount(codes, minlength=top))
    place = np.zeros(top, dtype=np.int64)
    place[present] = np.arange(len(present))
    return present.astype(np.int64), place[codes]


def shuffled(codes: Ints, draw: Floats) -> Ints:
    """The places of ``codes`` (..., rows) in order of code, those of one code in order of ``draw``, in [0, 1].

    Code, draw and place are sorted as one number: several times as fast as sorting places by two keys.
    """
    width = int(codes.shape[-1]).bit_length()
    low = int(codes.min(initial=0))
    bits = min(_DRAW_BITS, 62 - width - int(codes.max(initial=0) - low).bit_length())
    if bits < _FEWEST_BITS:  # codes so far apart leave no room
        return np.asarray(np.lexsort((draw, codes)), dtype=np.int64)
    keys = codes - low << bits + 1
    keys += (draw * (1 << bits)).astype(np.int64)
    keys <<= width
    keys |= np.arange(codes.shape[-1])
    keys.sort(axis=-1)
    keys &= (1 << width) - 1
    return keys


def holm(p_values: Floats) -> Floats:
    """Holm's step-down adjusted p-values, in the given order; NaN stays NaN and is not counted."""
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, float(p[index]) * (len(order) - rank)))
        adjusted[index] = running
    return adjusted


def ratio(top: Floats | Ints, bottom: Floats | Ints) -> Floats:
    """top / bottom, NaN where bottom is 0."""
    top, bottom = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.where(bottom > 0, top / bottom, np.nan)
