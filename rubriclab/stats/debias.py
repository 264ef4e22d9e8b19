"""Correct calls for position bias, and measure how far a few orders are from the mean over all.

PriDe takes a token probability to be, up to a constant, the option's own probability times a prior
of its position (Zheng et al. 2024, Large Language Models Are Not Robust Multiple Choice Selectors,
section 4).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import special

from rubriclab.stats.resample import Bools, Floats, Ints, crossed, sum_by

_FLOOR = 1e-6
"""Raise smaller token probabilities to this. They come from rounding or cut-off lists."""


def position_prior(shown: Ints, item: Ints, order: Ints, chances: Floats) -> Floats | None:
    """Return how probable each position is by itself, (positions,) with a sum of 1.

    Fit the logs of ``chances`` (calls, options) on position by least squares, with a term for each
    option of an item and one for each call. Return None where no position changes within an item.
    ``shown``: the option at each position of each order, (orders, positions). ``item``, ``order``:
    of each call, (calls,).
    """
    items, n = int(item.max(initial=-1)) + 1, chances.shape[1]

    def within(values: Floats) -> Floats:
        """Return ``values`` (calls, options) minus the terms of calls, items and options."""
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
    """Return the probabilities divided by the position prior, (calls, options) with a sum of 1.

    ``position``: the position of each option, (calls, options).
    """
    corrected = chances / prior[position]
    return np.asarray(corrected / corrected.sum(axis=1, keepdims=True))


def shrunk(x: Floats, means: Floats) -> tuple[float, float, float]:
    """Return the line that predicts an item's mean over all orders from one call.

    Return (start, slope, middle) of start + slope (x - middle). It is fitted on calls about probe
    items: ``x`` is the score of each call, ``means`` the mean of its item, (calls,) both. The slope
    is 0 where x never varies.
    """
    away = x - x.mean()
    square = float(away @ away)
    return float(means.mean()), float(away @ means) / square if square > 0 else 0.0, float(x.mean())


# ---------------------------------------------------------- how far k calls are from all orders
@dataclass(frozen=True, eq=False)
class Grid:
    """Calls by item and column; a column is an order or a variant. Arrays are (items, columns).

    count: number of calls.
    mean: mean score of the calls.
    noise: variance of one call; NaN where we do not know it.
    default: the column that the others are compared with.
    """

    count: Floats
    mean: Floats
    noise: Floats
    default: int

    @cached_property
    def centre(self) -> Floats:
        """Return the mean over all columns, (items,)."""
        return row_means(self.mean)

    @cached_property
    def m(self) -> Floats:
        """Return in how many columns an item was asked, (items,)."""
        return np.asarray((self.count > 0).sum(axis=1), dtype=np.float64)

    @cached_property
    def error(self) -> Floats:
        """Return the variance of a cell's mean, (items, columns)."""
        return np.where(self.count > 0, self.noise / np.maximum(self.count, 1), np.nan)

    @cached_property
    def usable(self) -> Bools:
        """Return whether an item was asked in the default column, with known noise, (items,).

        It must also have calls in at least half of all columns.
        """
        known = np.isfinite(self.error[:, self.default])
        return np.asarray(known & (self.m >= max(2, 0.5 * self.count.shape[1])))

    def column_distance(self, calls: int = 1) -> Floats:
        """Return the squared distance of a mean of k calls in one column, (items, columns).

        The distance is from the mean over all columns, corrected for the noise in both means.
        """
        m = self.m[:, None]
        own = self.error * (1 - 2 / m) + (row_means(self.error) / self.m)[:, None]
        return np.asarray((self.mean - self.centre[:, None]) ** 2 - own + self.noise / calls)

    def average_distance(self, calls: int) -> Floats:
        """Return the expected squared distance of a mean over ``calls`` columns, (items,).

        There is one call per column, and the columns are drawn without replacement.
        """
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
    """Return the grid of calls. ``item``, ``column`` and ``value`` (the score) are (calls,).

    A cell with one call gets the mean noise of those cells of its item that have several.
    """
    cells = item, items, column, columns
    count = crossed(*cells)
    with np.errstate(invalid="ignore"):
        mean = crossed(*cells, weights=value) / count
    square = crossed(*cells, weights=(value - mean[item, column]) ** 2)
    own = np.where(count > 1, square / np.maximum(count - 1, 1), np.nan)
    return Grid(count, mean, np.where(np.isfinite(own), own, row_means(own)[:, None]), default)


def row_means(values: Floats) -> Floats:
    """Return the mean of the finite values in each row, (rows,); NaN where there is none."""
    known = np.isfinite(values)
    total, count = np.where(known, values, 0.0).sum(axis=1), known.sum(axis=1)
    return np.asarray(total / np.where(count > 0, count, np.nan))
