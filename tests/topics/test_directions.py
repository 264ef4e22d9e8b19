"""Does a judge lean the same way on two data sets? Against Welch's t test, and with planted leans."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rubriclab.model.judgment import JudgmentTable
from rubriclab.topics.directions import difference
from tests.tables import balanced_orders, choose, findings, on_two_sets, options


def test_with_two_options_it_is_welchs_t_test() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.1, 0.2, 12), rng.normal(-0.1, 0.4, 30)
    size, p = difference(np.stack([a, -a], axis=1), np.stack([b, -b], axis=1))
    assert p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-9)
    # |m1 - m2|^2 = 2 d^2, trace S = 2 v, n / (n - 1) = 2: the length is 2 sqrt(max(0, d^2 - v)).
    d, v = a.mean() - b.mean(), a.var(ddof=1) / 12 + b.var(ddof=1) / 30
    assert size == pytest.approx(2 * np.sqrt(max(0.0, d**2 - v)))


def both(first: float, second: float) -> JudgmentTable:
    """One judge on two data sets of 40 items: log-odds of the first position on each."""
    rng, orders = np.random.default_rng(7), balanced_orders(5)
    return on_two_sets(*(options(choose(rng, 40, orders, first=lean), orders) for lean in (first, second)))


@pytest.mark.papers(30)
def test_leans_that_differ_are_seen_and_equal_ones_are_not() -> None:
    (alike,) = findings(both(1.0, 1.0)).select("direction_difference")
    (apart,) = findings(both(1.0, -1.0)).select("direction_difference")
    assert alike.condition == 0
    assert alike.of == {"against": 1}
    assert alike.p > 0.05 > apart.p
    assert apart.value > 0.1 > alike.value
