"""Resample and group units, and say how many degrees of freedom their variance has.

A *unit* is what the data hold independently: an item, a block or a prompt. Units are put in the
order of their own numbers before anything is drawn, so that neither the order of rows nor any name
reaches the draws.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

DIRECT_LIMIT = 2_000
"""Above this many units the bootstrap resamples random groups of units instead of units."""
GROUPS = 1_000
"""How many groups then: enough for a standard error that is right to about 2%."""
MIN_RESAMPLED = 10
"""Below so many units none are resampled: their bootstrap is no picture of what was sampled."""


def by_content(parts: Floats) -> Ints:
    """Return an order of the rows of ``parts`` (units, ...) that depends on their numbers alone.

    Numbers are rounded first.

    By a hash of each row: equal rows are equal contents, whatever their names. The scale keeps
    simple fractions away from the edges of rounding.
    """
    mark = np.zeros(len(parts), dtype=np.uint64)
    width = int(np.prod(parts.shape[1:], dtype=np.int64))
    weights = np.random.default_rng(1).integers(0, 2**63, width, dtype=np.uint64)
    for column, weight in zip(
        parts.reshape(len(parts), len(weights)).T, weights | np.uint64(1), strict=True
    ):
        mark += np.rint(column * 1_234_567.891).astype(np.int64).view(np.uint64) * weight
    return np.argsort(mark, kind="stable")


def bootstrap_sums(unit_sums: Floats, n_boot: int) -> Floats:
    """Return resampled totals (n_boot, k) of per-unit sums (units, k).

    More than DIRECT_LIMIT units are first summed in GROUPS random groups, which are resampled in
    their stead: the same variance to first order at a bounded cost (Politis, Romano and Wolf 1999,
    Subsampling, section 1.5).
    """
    sums = np.asarray(unit_sums, dtype=np.float64)[by_content(unit_sums)]
    rng = np.random.default_rng(0)
    if len(sums) > DIRECT_LIMIT:
        (sums,) = in_groups([sums], GROUPS, rng)
    units = len(sums)
    draws = rng.integers(0, units, size=(n_boot, units)) + np.arange(n_boot)[:, None] * units
    return (
        np.bincount(draws.ravel(), minlength=n_boot * units)
        .reshape(n_boot, units)
        .astype(np.float64)
        @ sums
    )


def stretch(units: int, level: float) -> float:
    """Return how much too small errors resampled from ``units`` are; NaN below two.

    It is root(N / (N - 1)) t / z.

    Resampling N units has the variance (N - 1) / N of sampling them, and its quantiles are a normal
    curve's where Student's t on N - 1 is due (Hesterberg 2015, What Teachers Should Know About the
    Bootstrap, section 3.2).
    """
    if units < 2:
        return float("nan")
    t_over_z = special.stdtrit(units - 1, 0.5 + level / 2) / special.ndtri(0.5 + level / 2)
    return float(np.sqrt(units / (units - 1)) * t_over_z)


def in_groups(parts: list[Floats], groups: int, rng: np.random.Generator) -> list[Floats]:
    """Return ``parts`` (units, ...) summed over random groups of units, the same for all parts.

    They stay as they are where there are no more units than groups.
    """
    units = len(parts[0])
    if units <= groups:
        return parts
    starts, mixed = np.arange(groups) * units // groups, rng.permutation(units)
    return [np.add.reduceat(part[mixed], starts, axis=0) for part in parts]


def degrees_of_freedom(residual: Floats) -> float:
    """Return the degrees of freedom of the variance of ``residual`` (n,): n - 1 at most.

    At least 3, or n - 1 if that is less.

    A variance of n values with excess kurtosis k has the variance 2 / (n - 1) + k / n relative to
    its square, a chi-square on d degrees of freedom 2 / d (Satterthwaite 1946): a variance made by
    few values is no surer than they are many.
    """
    n, squares = len(residual), np.square(residual, dtype=np.float64)
    if n < 2:
        return 0.0
    square = float(squares.mean())
    excess = max(float(np.square(squares).mean()) / square**2 - 3.0, 0.0) if square > 0 else 0.0
    return float(np.clip(2.0 / (2.0 / (n - 1) + excess / n), min(3, n - 1), n - 1))


def hall(influence: Floats, t: float) -> tuple[float, float]:
    """How many standard errors below and above a mean of skewed units Student's ``t`` makes.

    (m - mu) / se + a / 3 (..)^2 + a^2 / 27 (..)^3 + a / 6 with a = skewness / root n has no
    skewness to second order (Hall 1992, On the Removal of Skewness by Transformation, section 2);
    its inverse at -t and t.
    """
    n, square = len(influence), float((influence**2).mean()) if len(influence) else 0.0
    if square <= 0.0 or n < 3:
        return t, t
    a = (
        float((influence * np.square(influence)).mean())
        / square**1.5
        * np.sqrt(n * (n - 1.0))
        / (n - 2.0)
        / np.sqrt(n)
    )
    if abs(a) < 1e-6:
        return t, t
    low, high = (float(3.0 / a * (np.cbrt(1.0 + a * (x - a / 6.0)) - 1.0)) for x in (-t, t))
    return high, -low


def t_ends(influence: Floats, level: float, *, lengthened: bool = True) -> tuple[float, float]:
    """Standard errors below and above a number whose error ``influence`` (units,) makes.

    Student's t on degrees of freedom for its kurtosis; ``lengthened``, never shortened, by Hall's
    ends for its skewness.
    """
    t = float(special.stdtrit(degrees_of_freedom(influence), 0.5 + level / 2))
    below, above = hall(influence, t) if lengthened else (t, t)
    return max(below, t), max(above, t)


def sum_by(code: Ints, values: Floats | Ints | Bools, n: int) -> Floats:
    """Return sums of ``values`` (rows, ...) within each code 0..n-1, (n, ...).

    They lie column by column in memory, which makes later sums of rows fast.
    """
    if values.ndim == 1:
        return np.asarray(np.bincount(code, weights=values, minlength=n), dtype=np.float64)
    made = np.empty((*values.shape[:0:-1], n))
    for index in np.ndindex(values.shape[1:]):
        made[index[::-1]] = np.bincount(code, weights=values[:, *index], minlength=n)
    return made.T


def distinct(codes: Ints, size: int | None = None) -> tuple[Ints, Ints]:
    """Return the codes that occur, ascending, and each entry's rank among them.

    By counting where a table is not too large.

    ``size``: one more than the largest code can be, where it is known.
    """
    size = int(codes.max(initial=-1)) + 1 if size is None else size
    if size > 16 * len(codes) + 1_000_000:
        present, rank = np.unique(codes, return_inverse=True)
        return present, rank
    present = np.flatnonzero(np.bincount(codes, minlength=size))
    if len(present) == size:
        return present, codes.astype(np.int64, copy=False)
    rank = np.zeros(size, dtype=np.int64)
    rank[present] = np.arange(len(present))
    return present, rank[codes]


def rank_within(code: Ints, *by: NDArray[Any]) -> Ints:
    """(rows,): which of the rows of its code each is, from 0.

    Sorted by the last of ``by``, then the one before.
    """
    row = np.lexsort((*by, code))
    rank = np.empty(len(code), dtype=np.int64)
    rank[row] = np.arange(len(code)) - np.searchsorted(code[row], code[row])
    return rank


def spread_out(code: Ints, n: int, by: NDArray[Any], values: NDArray[Any]) -> Floats:
    """(n, most): the ``values`` of the rows of each code 0..n-1, sorted by ``by``.

    NaN where a code has fewer rows.
    """
    rank = rank_within(code, by)
    table = np.full((n, int(rank.max(initial=0)) + 1), np.nan)
    table[code, rank] = values
    return table


def crossed(*codes_and_sizes: Ints | int, weights: Floats | None = None) -> Floats:
    """Return counts, or sums of ``weights``, over crossed codes.

    crossed(a, n_a, b, n_b) -> (n_a, n_b), in memory by columns as in ``sum_by``.
    """
    codes, sizes = codes_and_sizes[-2::-2], [int(size) for size in codes_and_sizes[::-2]]
    flat = np.asarray(codes[0], dtype=np.int64)
    for code, size in zip(codes[1:], sizes[1:], strict=True):
        flat = flat * size + code
    return (
        np.bincount(flat, weights, int(np.prod(sizes)))
        .reshape(sizes)
        .T.astype(np.float64, copy=False)
    )
