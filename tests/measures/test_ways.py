"""One yardstick for all ways of asking, and how many orders are enough, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.estimate import Estimate, Fisher
from rubriclab.measures.people import orders_enough
from tests.tables import findings, options

ORDERS = np.array([[1, 2, 3], [3, 2, 1]])


def test_another_order_gives_another_result_in_so_many_pairs_of_calls() -> None:
    # Calls of an item: order 0, order 1, order 0, order 1. Four pairs are in other orders.
    # Item 0: scores 1 2 1 2, all four differ. Item 1: 1 1 1 2, two of four differ (the fourth call
    # against both in order 0). Item 2: all alike. Mean of 1, 1/2, 0 is 1/2.
    table = options([[1, 2, 1, 2], [1, 1, 1, 2], [3, 3, 3, 3]], ORDERS)
    (row,) = findings(table).select("result_change")
    assert row.value == pytest.approx(0.5)


def test_the_better_of_two_answers_is_preferred_or_tied() -> None:
    # One prompt of four answers with means 1, 2, 2, 3; people say 1, 2, 3, 3. Five pairs differ in
    # people's ratings: 1-2, 1-3, 1-4 right, 2-3 tied, 2-4 right: 4.5 of 5.
    table = options([[1, 1], [2, 2], [2, 2], [3, 3]], ORDERS, prompt=["p"] * 4)
    ratings = [{"a": float(k)} for k in (1, 2, 3, 3)]
    table = replace(table, items=table.items.assign(ratings=ratings))
    (row,) = findings(table).select("better_of_two")
    assert row.value == pytest.approx(0.9)
    assert row.counts["n"] == 5


def at(value: float, *influence: float) -> Estimate:
    parts = np.resize(np.array(influence), 12)
    return Estimate(value, parts - parts.mean(), np.arange(12, dtype=np.uint64), Fisher())


def test_enough_orders_lie_where_the_curve_has_made_85_of_100_of_its_way() -> None:
    # From .50 to .60: 85% of the way is .585, half way from .58 (2 orders) to .59 (3 orders).
    row = orders_enough([1, 2, 3, 4], [at(0.50, 0.01, 0.02), at(0.58), at(0.59), at(0.60)])
    assert row.value == pytest.approx(2.5)
    assert 1 <= row.interval[0] <= 2.5 <= row.interval[1] <= 4


def test_without_a_sure_gain_no_number_of_orders_is_enough() -> None:
    row = orders_enough([1, 2], [at(0.50, -9.0, 9.0), at(0.501)])
    assert row.why == "no_gain_of_orders"
