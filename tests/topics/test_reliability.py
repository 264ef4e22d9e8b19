"""How far a mean of calls can be relied on: planted components, the two curves, calls needed, and where nothing is said."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import TOPICS, Row
from tests.tables import balanced_orders, choose, criteria, findings, options

ORDERS = balanced_orders(5)
FINE = np.stack([np.roll(np.arange(1200), k) for k in range(10)])
"""Ten orders of a scale of 1,200 points, so that rounding to a score counts for nothing."""


def planted(items: int, order: float, noise: float, calls: int = 2, seed: int = 0) -> np.ndarray:
    """(items, calls x orders) scores; items have sd 100, ``order`` and ``noise`` are sd too."""
    rng = np.random.default_rng(seed)
    level = 500 + 100 * rng.normal(size=(items, 1, 1)) + order * rng.normal(size=(items, 1, 10))
    return np.rint(level + noise * rng.normal(size=(items, calls, 10))).reshape(items, -1)


def rows_of(score: np.ndarray, measure: str) -> list[Row]:
    """Of this topic alone: no verdict is computed."""
    arms = list(Judgments(options(score, FINE)).arms)
    return [row for row in TOPICS["reliability"].rows(arms) if row.measure == measure]


def test_the_two_curves_and_the_calls_they_need() -> None:
    """Item 1, item x order .5, noise .25: one call 1 / 1.75 = .571; k in different orders 1 / (1 + .75 / k), .9 from
    k = 6.75 on; in one order 1 / (1.5 + .25 / k), at most .667."""
    score = planted(900, 70.7, 50)
    for k in (1, 5, 10):
        different, one = (row for row in rows_of(score, "dependability") if row.of["calls"] == k)
        assert different.value == pytest.approx(1 / (1 + 0.75 / k), abs=0.03)
        assert one.value == pytest.approx(1 / (1.5 + 0.25 / k), abs=0.03)
        for row in (different, one):
            assert row.interval[0] < row.value < row.interval[1]
    needed, never = rows_of(score, "calls_needed")
    assert needed.value == pytest.approx(7, abs=1)
    assert needed.interval[0] <= needed.value <= needed.interval[1] <= 9
    assert never.of == {"protocol": "one order"}
    assert never.why == "not_reached"
    shares = {row.of["term"]: row.value for row in rows_of(score, "variance_share")}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["item"] == pytest.approx(1 / 1.75, abs=0.03)


def test_without_an_order_effect_one_order_is_as_good() -> None:
    different, one = rows_of(planted(400, 0, 60), "calls_needed")
    # .36 / k <= 1 / 9: 3.24 calls, whatever their orders.
    assert different.value == one.value == 4
    # An error of the mean of many calls that came out below 0 had no interval.
    rows = [row for seed in range(8) for row in rows_of(planted(30, 0, 60, 4, seed), "dependability")]
    assert all(row.interval[0] <= row.value <= row.interval[1] for row in rows)


def test_reasons() -> None:
    once = findings(options(choose(np.random.default_rng(0), 30, ORDERS), ORDERS))
    assert [row.why for row in once.select("calls_needed", protocol="one order")] == ["no_repeats"]
    assert not once.select("variance_share", term="noise")
    few = findings(options(choose(np.random.default_rng(0), 12, ORDERS, repeats=2), ORDERS))
    assert {row.why for row in few.select("dependability")} == {"too_few_units"}
    single = findings(options(choose(np.random.default_rng(0), 30, ORDERS[:1], repeats=8), ORDERS[:1]))
    assert [row.why for row in single.select("calls_needed")] == ["", "single_order"]
    constant = findings(options(np.full((30, 20), 4.0), ORDERS))
    assert {row.why for row in constant.select("dependability")} == {"constant_scores"}


def test_criteria_are_compared_within_themselves() -> None:
    """Criteria of levels 1 and 5 that all texts share: no item differs from another of its criterion but by noise."""
    score = np.stack([np.full((40, 8), 1.0), np.full((40, 8), 5.0)], axis=2)
    score[::2, :, 0] = 2.0
    rows = findings(criteria(score, [[0, 1], [1, 0]])).select("variance_share", term="item")
    assert [row.value for row in rows] == [1.0]
