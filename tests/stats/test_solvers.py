"""Roots and assignments are those of scipy.optimize, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import optimize, special

from rubriclab.stats.solvers import brentq, linear_sum_assignment

CURVES: tuple[tuple[Callable[[float], float], float, float], ...] = (
    (lambda x: x**3 - 2.0 * x - 5.0, 0.0, 4.0),
    (lambda x: math.cos(x) - x, -3.0, 5.0),
    (lambda x: math.exp(-x) - 1e-8, 0.0, 1e3),
    (lambda x: math.copysign(1.0, x - 0.3), -1.0, 1.0),
    (lambda x: x, 0.0, 1.0),
    (lambda x: x - 1.0, 0.0, 1.0),
    (lambda x: 1e-160 * (x**3 - 2.0), 0.0, 4.0),
    (lambda x: 0.8 - float(special.ncfdtr(4, 95, x, 2.47)), 1e-6, 80.0),
)


@pytest.mark.parametrize("xtol", [2e-12, 1e-6, 1e-14])
@pytest.mark.parametrize(("curve", "low", "high"), CURVES)
def test_roots(curve: Callable[[float], float], low: float, high: float, xtol: float) -> None:
    for a, b in ((low, high), (high, low)):
        assert brentq(curve, a, b, xtol=xtol) == optimize.brentq(curve, a, b, xtol=xtol)


def test_many_roots() -> None:
    rng = np.random.default_rng(2)
    for _ in range(500):
        weights = rng.normal(size=4)
        curve = np.polynomial.Polynomial(weights)
        if float(curve(-3.0)) * float(curve(2.0)) < 0:
            assert brentq(curve, -3.0, 2.0) == optimize.brentq(curve, -3.0, 2.0)


def test_no_root() -> None:
    with pytest.raises(ValueError, match="different signs"):
        brentq(lambda x: x * x + 1.0, -1.0, 1.0)
    with pytest.raises(ValueError, match="not defined"):
        brentq(lambda x: x if x < 0 else float("nan"), -1.0, 1.0)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 12, 26])
def test_assignments(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(40):
        for cost in (rng.random((n, n)), rng.integers(0, 3, (n, n)) / 7.0, np.full((n, n), 0.2)):
            np.testing.assert_array_equal(linear_sum_assignment(cost), optimize.linear_sum_assignment(cost)[1])
