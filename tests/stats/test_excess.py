"""How much more one way errs than another: by hand, and an upper end that holds for skewed losses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from rubriclab.stats.excess import excess


def test_without_skewness_the_ends_are_students() -> None:
    loss = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    found = excess(loss, np.arange(5), alpha=0.05)
    # mean 3, sd sqrt(2.5), standard error sqrt(0.5); flat, so all 4 degrees of freedom
    two = float(special.stdtrit(4, 0.975))
    assert found.mean == 3.0
    assert found.ci == pytest.approx((3.0 - two * np.sqrt(0.5), 3.0 + two * np.sqrt(0.5)))


def test_halls_end_by_hand_with_one_more_of_the_largest() -> None:
    loss = np.array([0.0, 0.0, 0.0, 4.0])
    # less the mean of 1: -1 -1 -1 3, and once more 3: mean 0.6, squares 2.56 x3 + 5.76 x2 = 19.2, sd sqrt(4.8);
    # cubes -4.096 x3 + 13.824 x2 = 15.36, skewness (15.36 / 5) / 4.8 ** 1.5; below the normal's kurtosis: 4 degrees
    skew, sd = 3.072 / 4.8**1.5, np.sqrt(4.8)
    t = float(special.stdtrit(4, 0.95)) / np.sqrt(5)
    by_hand = 1.0 + 0.6 - sd * 3 / skew * (np.cbrt(1 - skew * (t + skew / 30)) - 1)
    assert excess(loss, np.arange(4), alpha=0.05).bound == pytest.approx(float(by_hand))


def test_items_of_one_unit_count_as_one() -> None:
    loss = np.array([1.0, 2.0, 3.0, 4.0, 7.0])
    once, twice = (
        excess(loss, np.arange(5), alpha=0.05),
        excess(np.repeat(loss, 2), np.repeat(np.arange(5), 2), alpha=0.05),
    )
    assert twice.bound == pytest.approx(once.bound)
    assert twice.ci == pytest.approx(once.ci)


def test_too_few_units_have_no_end_and_equal_losses_no_width() -> None:
    assert np.isnan(excess(np.array([1.0, 2.0]), np.arange(2), alpha=0.05).bound)
    assert excess(np.full(5, 0.5), np.arange(5), alpha=0.05).bound == 0.5


def test_the_bound_holds_for_skewed_losses_where_students_does_not() -> None:
    """Squares of a normal: of 1,500 samples of 40 at 99 %, below the true mean of 1 in at most 1 %; Student's in 4 %."""
    rng = np.random.default_rng(1)
    unit = np.arange(40)
    draws = rng.standard_normal((1500, 40)) ** 2
    below = np.mean([excess(row, unit, alpha=0.01).bound < 1.0 for row in draws])
    t = float(special.stdtrit(39, 0.99))
    student = np.mean(draws.mean(axis=1) + t * draws.std(axis=1, ddof=1) / np.sqrt(40) < 1.0)
    assert below <= 0.01 < 0.03 < student
