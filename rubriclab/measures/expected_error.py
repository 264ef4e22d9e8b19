"""Compute the expected error: how far the mean of a few orders lies from the mean over all orders.

This is no topic, so there are no rows here. The advice about a judge and its card both choose their
number of orders by these errors, so that they name the same number.
"""

import math
from dataclasses import dataclass

import numpy as np

from rubriclab.core.estimate import Student, mean_over
from rubriclab.core.judgments import Arm
from rubriclab.measures.reliability import Pooled
from rubriclab.model.text import LabError
from rubriclab.stats.debias import Grid, grid_of, row_means

ASKED_AGAIN = 0.5
"""A card asks an order only if the run asked at least this share of the items in it."""


@dataclass(frozen=True)
class ExpectedError:
    """How far a mean of one call in each of some orders lies from the mean over all orders.

    distance: the root mean square over items, in points, without the noise of the run's own calls.
    low, high: the ends of its interval, in points. level: the level of that interval.
    margin: the largest error of any item, in points: its bias plus 1.96 standard deviations of the
        noise of the calls.
    items, groups: how many items and independent units it was computed from.
    """

    distance: float
    low: float
    high: float
    level: float
    margin: float
    items: int
    groups: int


def order_grid(calls: Pooled, widest: Arm) -> tuple[Grid, list[int]]:
    """Return (a table of the calls by item and order, the orders that a card asks, as its columns).

    A card asks the ascending list first, then its reverse, then the next order of the widest arm,
    then its reverse, and so on. Raises LabError if the run cannot know any expected error.
    """
    if not len(calls.value):
        raise LabError("No reply could be parsed, so there is nothing to promise.")
    grid = grid_of(calls.item, calls.items, calls.order, len(calls.shown), calls.value, 0)
    often = (grid.count > 0).mean(axis=0) >= ASKED_AGAIN
    lines = {tuple(row): column for column, row in enumerate(calls.shown.tolist()) if often[column]}
    wanted = [tuple(row) for row in widest.shown.tolist()]
    ascending = tuple(range(calls.shown.shape[1]))
    columns: dict[int, None] = {}
    for line in [ascending, *wanted]:
        for order in (line, line[::-1]):
            if order in lines and (order in wanted or line == ascending):
                columns[lines[order]] = None
    if len(columns) < 2:
        raise LabError(
            "All judgments were made in one order, so nothing is known of the others: run balanced "
            "orders."
        )
    if not np.isfinite(grid.noise).any():
        raise LabError(
            "No order was asked twice, so the noise of a call is not known: set repeats to 2 or "
            "more."
        )
    return grid, list(columns)


def expected_error(
    calls: Pooled, grid: Grid, columns: list[int], level: float = 0.95
) -> ExpectedError:
    """Return the expected error of the mean of one call in each of these orders.

    Items without a score in every order are left out. Raises LabError if all are, and if there are
    fewer than 8 independent units. ``level``: of the interval.
    """
    known = grid.noise[np.isfinite(grid.noise)]
    noise = np.where(np.isfinite(grid.noise), grid.noise, known.mean())
    everywhere = (grid.count > 0).all(axis=1)
    if not everywhere.any():
        raise LabError("No answer has a score in every order, so no distance can be promised.")
    k, m = len(columns), grid.count.shape[1]
    share = np.full(m, -1 / m)
    share[columns] += 1 / k
    with np.errstate(invalid="ignore", divide="ignore"):
        error = ((share**2) * noise / grid.count).sum(axis=1)
    away = np.where(everywhere, (grid.mean * share).sum(axis=1), np.nan)
    of_call = row_means(noise[:, columns]) / k
    square = mean_over(
        away**2 - error + of_call, calls.unit, calls.names, lambda _: Student(lopsided=True)
    )
    low, high = (
        math.sqrt(max(end, 0.0)) if math.isfinite(end) else math.nan
        for end in square.interval(level)
    )
    margin = float(np.nanmax(np.abs(away) + 1.96 * np.sqrt(of_call)))
    if not math.isfinite(high):
        raise LabError(
            f"{square.units} independent groups are too few for a promise: 8 are needed."
        )
    return ExpectedError(
        distance=math.sqrt(max(square.value, 0.0)),
        low=low,
        high=high,
        level=level,
        margin=margin,
        items=int(everywhere.sum()),
        groups=square.units,
    )


def error_by_orders(calls: Pooled, widest: Arm) -> tuple[list[int], dict[int, ExpectedError]]:
    """Return the orders, as columns of ``calls.shown``, and the errors of the first 1, 2, ... ones.

    Raises LabError as ``order_grid`` and ``expected_error`` do.
    """
    grid, columns = order_grid(calls, widest)
    numbers = range(1, len(columns) + 1)
    return columns, {
        number: expected_error(calls, grid, columns[:number], widest.level) for number in numbers
    }
