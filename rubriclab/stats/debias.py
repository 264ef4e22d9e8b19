"""Correct calls for their position, and measure how far a few orders are from the mean over all.

With token probabilities, what a judge says is, up to a constant, the option's own probability times
a prior of its position (PriDe: Zheng et al. 2024, Large Language Models Are Not Robust Multiple
Choice Selectors, section 4).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from rubriclab.stats.resample import Bools, Floats, Ints, crossed, sum_by

_FLOOR = 1e-6
"""Token probabilities below this are rounding or cut-off lists, not preferences."""


def position_prior(shown: Ints, item: Ints, order: Ints, chances: Floats) -> Floats | None:
    """Return how probable each position is by itself, (positions,) summing to 1.

    Least squares of log probabilities ``chances`` (calls, options) on position, with a term for
    each item and option and one for each call. None where no position changes within an item.
    """
    items, n = int(item.max(initial=-1)) + 1, chances.shape[1]

    def within(values: Floats) -> Floats:
        centred = values - values.mean(axis=1, keepdims=True)
        return np.asarray(
            centred
            - (sum_by(item, centred, items) / np.maximum(np.bincount(item), 1)[:, None])[item]
        )

    position = np.argsort(shown, axis=1)[order]
    flat = np.stack([within((position == p).astype(np.float64)) for p in range(n)], axis=2).reshape(
        -1, n
    )
    if not len(flat) or np.abs(flat).max() < 1e-9:
        return None
    logs = within(np.log(np.clip(chances, _FLOOR, None))).ravel()
    return np.asarray(special.softmax(np.linalg.lstsq(flat, logs, rcond=1e-9)[0]))


def divided(chances: Floats, position: Ints, prior: Floats) -> Floats:
    """Return probabilities (calls, options) with the position prior divided out, summing to 1.

    ``position``: (calls, options) of each option.
    """
    corrected = chances / prior[position]
    return np.asarray(corrected / corrected.sum(axis=1, keepdims=True))


def shrunk(x: Floats, means: Floats) -> tuple[float, float, float]:
    """Return the line along which probe items' ``means`` follow one call.

    (start, slope, middle) of start + slope (x - middle).
    """
    away = x - x.mean()
    square = float(away @ away)
    return float(means.mean()), float(away @ means) / square if square > 0 else 0.0, float(x.mean())


# -------------------------------------------------------- how far so many calls are from all orders
@dataclass(frozen=True, eq=False)
class Grid:
    """Calls by item and column (an order, or a form of the prompt), (items, columns) each.

    ``count``, ``mean``, ``noise``: of calls; noise is the variance of one call, NaN where not
    known. ``default``: the column that others are compared with.
    """

    count: Floats
    mean: Floats
    noise: Floats
    default: int

    @cached_property
    def centre(self) -> Floats:
        """(items,): the mean over all columns."""
        return row_means(self.mean)

    @cached_property
    def m(self) -> Floats:
        """(items,): in how many columns an item was asked."""
        return np.asarray((self.count > 0).sum(axis=1), dtype=np.float64)

    @cached_property
    def error(self) -> Floats:
        """(items, columns): variance of a cell's mean."""
        return np.where(self.count > 0, self.noise / np.maximum(self.count, 1), np.nan)

    @cached_property
    def usable(self) -> Bools:
        """(items,): asked in the default column and in half of all, with a known noise."""
        known = np.isfinite(self.error[:, self.default])
        return np.asarray(known & (self.m >= max(2, 0.5 * self.count.shape[1])))

    def column_distance(self, calls: int = 1) -> Floats:
        """(items, columns): squared distance of k calls in a column from the mean over all."""
        m = self.m[:, None]
        own = self.error * (1 - 2 / m) + (row_means(self.error) / self.m)[:, None]
        return np.asarray((self.mean - self.centre[:, None]) ** 2 - own + self.noise / calls)

    def average_distance(self, calls: int) -> Floats:
        """(items,): that of the mean of calls in so many columns, drawn without replacement."""
        spread = np.nansum((self.mean - self.centre[:, None]) ** 2, axis=1) / np.maximum(
            self.m - 1, 1
        )
        noise = row_means(np.where(self.count > 0, self.noise, np.nan))
        return np.asarray(
            (spread - row_means(self.error)) * (1 / calls - 1 / self.m) + noise / calls
        )


def grid_of(
    item: Ints, items: int, column: Ints, columns: int, value: Floats, default: int
) -> Grid:
    """Return the grid of calls.

    The noise of cells asked once is the mean over the cells of their item that were asked twice.
    """
    cells = item, items, column, columns
    count = crossed(*cells)
    with np.errstate(invalid="ignore"):
        mean = crossed(*cells, weights=value) / count
    square = crossed(*cells, weights=(value - mean[item, column]) ** 2)
    own = np.where(count > 1, square / np.maximum(count - 1, 1), np.nan)
    return Grid(count, mean, np.where(np.isfinite(own), own, row_means(own)[:, None]), default)


def row_means(values: Floats) -> Floats:
    """Means of what is known in each row; NaN where nothing is."""
    known = np.isfinite(values)
    total, count = np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)
    return np.asarray(total / np.where(count > 0, count, np.nan))
