"""A root between two ends, and the cheapest assignment, as scipy.optimize finds them.

The same steps, so the same numbers. scipy.optimize itself brings half of SciPy along when it is imported, which takes
longer than all that a command has to solve.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rubriclab.stats.inference import Floats, Ints

RELATIVE = 4.0 * float(np.finfo(np.float64).eps)
MOST_STEPS = 100


def brentq(f: Callable[[float], float], low: float, high: float, *, xtol: float = 2e-12) -> float:
    """Where ``f`` crosses 0 between ``low`` and ``high``, at which its signs must differ.

    Brent (1973), Algorithms for Minimization Without Derivatives, chapter 4. Raises ValueError where the signs do
    not differ or ``f`` is not defined.
    """
    before, now, across = low, high, 0.0
    f_before, f_now, f_across = _value(f, before), _value(f, now), 0.0
    if f_before == 0.0:
        return before
    if f_now != 0.0 and (f_before < 0) == (f_now < 0):
        raise ValueError("f(low) and f(high) must have different signs")
    step = last = 0.0
    for _ in range(MOST_STEPS):
        if f_before != 0.0 and f_now != 0.0 and (f_before < 0) != (f_now < 0):
            across, f_across = before, f_before
            step = last = now - before
        if abs(f_across) < abs(f_now):
            before, now, across = now, across, now
            f_before, f_now, f_across = f_now, f_across, f_now
        delta, half = (xtol + RELATIVE * abs(now)) / 2.0, (across - now) / 2.0
        if f_now == 0.0 or abs(half) < delta:
            return now
        tried = math.inf
        if abs(step) > delta and abs(f_now) < abs(f_before):
            tried = _interpolated((before, f_before), (now, f_now), (across, f_across))
        if 2.0 * abs(tried) < min(abs(step), 3.0 * abs(half) - delta):
            step, last = last, tried
        else:
            step = last = half
        before, f_before = now, f_now
        now += last if abs(last) > delta else math.copysign(delta, half)
        f_now = _value(f, now)
    raise ValueError(f"no root found in {MOST_STEPS} steps")


def _interpolated(before: tuple[float, float], now: tuple[float, float], across: tuple[float, float]) -> float:
    """The step from ``now`` to the root of the line, or of the inverse parabola, through the (x, f) known."""
    (x0, f0), (x1, f1), (x2, f2) = before, now, across
    if x0 == x2:
        return -f1 * (x1 - x0) / (f1 - f0)
    one, two = (f0 - f1) / (x0 - x1), (f2 - f1) / (x2 - x1)
    bend = two * one * (f2 - f0)
    return -f1 * (f2 * two - f0 * one) / bend if bend else math.inf


def _value(f: Callable[[float], float], x: float) -> float:
    found = float(f(x))
    if math.isnan(found):
        raise ValueError(f"f({x}) is not defined")
    return found


def linear_sum_assignment(cost: Floats) -> Ints:
    """The column of each row, (n,), that together cost least; ``cost`` (n, n) is finite.

    Shortest augmenting paths: Crouse (2016), On Implementing 2D Rectangular Assignment Algorithms.
    """
    n = len(cost)
    costs, row_price, column_price = cost.tolist(), [0.0] * n, [0.0] * n
    column_of, row_of = [-1] * n, [-1] * n
    for start in range(n):
        length, path, reached, last = _shortest(costs, row_price, column_price, row_of, start)
        total = length[last]
        row_price[start] += total
        for j in reached:
            if row_of[j] >= 0:
                row_price[row_of[j]] += total - length[j]
            column_price[j] -= total - length[j]
        j = last
        while j >= 0:
            i = path[j]
            row_of[j], column_of[i], j = i, j, column_of[i]
    return np.array(column_of, dtype=np.int64)


def _shortest(
    costs: list[list[float]], row_price: list[float], column_price: list[float], row_of: list[int], start: int
) -> tuple[list[float], list[int], list[int], int]:
    """(lengths, the row before each column, columns reached, the free one reached last) of paths from a row."""
    n = len(costs)
    length, path, reached = [math.inf] * n, [-1] * n, []
    # From the last to the first, so that where all cost the same each row keeps its own column.
    left, i, total = list(range(n - 1, -1, -1)), start, 0.0
    while True:
        least, at = math.inf, -1
        for place, j in enumerate(left):
            here = total + costs[i][j] - row_price[i] - column_price[j]
            if here < length[j]:
                length[j], path[j] = here, i
            if length[j] < least or (length[j] == least and row_of[j] < 0):
                least, at = length[j], place
        j, total = left[at], least
        left[at] = left[-1]
        left.pop()
        reached.append(j)
        if row_of[j] < 0:
            return length, path, reached, j
        i = row_of[j]
