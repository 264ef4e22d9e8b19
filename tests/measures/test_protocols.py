"""What protocols gain and how far a mean of calls can be relied on: by hand, planted effects and
none, reasons.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import TOPICS, Row
from rubriclab.measures.protocols import AVERAGE, BEST, BEYOND, CORRECTED, FORMS, SHRUNK
from rubriclab.model.judgment import JudgmentTable
from tests.tables import ORDERS, choose, criteria, findings, in_forms, options, study

rng = np.random.default_rng


def rows_of(table: JudgmentTable) -> list[Row]:
    return list(TOPICS["protocols"].rows(list(Judgments(table).arms)))


def one(rows: list[Row], protocol: str, measure: str = "gain") -> Row:
    (row,) = [row for row in rows if row.measure == measure and row.of.get("protocol") == protocol]
    return row


@pytest.mark.papers(71)
def test_distances_of_orders_and_of_forms_by_hand() -> None:
    """Two orders asked twice, no noise: scores 1 1 ascending and 3 3 descending, mean over orders
    2. Two calls in the default order are 1 off, one call in each order 0.
    """
    rows = rows_of(options(np.tile([1.0, 3, 1, 3], (40, 1)), [[1, 2, 3], [3, 2, 1]]))
    assert one(rows, AVERAGE).value == pytest.approx(1.0)
    assert one(rows, BEST).value == pytest.approx(0.0)  # both orders are as far
    assert [row.value for row in rows if row.measure == "budget_gain"] == pytest.approx([1.0])
    # Two forms without noise, 2 and 4 for every item: the mean over forms is 3, two calls in the
    # first form are 1 off.
    rows = rows_of(
        in_forms({form: options(np.full((40, 2), form), ORDERS[:1]) for form in (2.0, 4.0)})
    )
    assert one(rows, FORMS).value == pytest.approx(1.0)
    assert one(rows, FORMS).counts["calls"] == 2


def test_a_best_order_is_tried_on_items_that_did_not_choose_it() -> None:
    """Twenty items score 1, 3, 2 in three orders and twenty 1, 2, 3, each mean is 2: the default is
    always 1 off, the second order for the first twenty, the third for the others.
    """
    orders = [[1, 2, 3], [3, 2, 1], [2, 3, 1]]
    row = one(rows_of(options([[1, 3, 2] * 2] * 20 + [[1, 2, 3] * 2] * 20, orders)), BEST)
    # A half with more of one kind chooses the order that suits it, and the other half has more of
    # the other kind: there more than half are 1 off. Tried on its own half, fewer would be.
    assert 0 < row.value < 1 - np.sqrt(1 / 2)


def test_a_correction_helps_where_positions_differ_for_items_of_other_worth() -> None:
    """Probabilities that are contents times a prior: divided out, one call is the item's own
    distribution.
    """
    content = rng(2).dirichlet(np.full(3, 0.7), 200)
    orders = np.array([[1, 2, 3], [2, 3, 1], [3, 1, 2], [3, 2, 1], [2, 1, 3], [1, 3, 2]])
    prior = np.array([0.7, 0.2, 0.1])
    shown = np.tile(orders, (2, 1)) - 1
    weight = content[:, shown] * prior
    chances = weight / weight.sum(axis=2, keepdims=True)
    drawn = (np.log(chances) + rng(3).gumbel(size=chances.shape)).argmax(axis=2)
    score = shown[np.arange(12), drawn] + 1.0
    table = replace(options(score, orders), probabilities=chances.reshape(-1, 3))
    rows = rows_of(table)
    assert one(rows, BEYOND).interval[0] > 0
    assert one(rows, CORRECTED).value > one(rows, SHRUNK).value
    ratings = [{"gold": float(content[i] @ np.arange(1, 4))} for i in range(200)]
    rows = rows_of(replace(table, items=table.items.assign(ratings=ratings)))
    assert one(rows, BEYOND, "gain_pearson").interval[0] > 0


def test_an_order_in_which_a_judge_says_nothing_is_gained_upon() -> None:
    """Ten calls in the default order, all by chance, against ten in all orders, of which one is
    that.
    """
    table = study(rng(0), 60, fixed=10)
    chance = table.rows["score"].where(
        table.rows["ordering"] != 0, rng(1).integers(1, 6, len(table.rows))
    )
    gained = one(
        rows_of(replace(table, rows=table.rows.assign(score=chance))), AVERAGE, "gain_pearson"
    )
    assert (gained.interval[0] > 0.3, gained.counts["calls"]) == (True, 10)


@pytest.mark.parametrize(
    ("table", "protocol", "why"),
    [
        (lambda: options(choose(rng(0), 40, ORDERS), ORDERS), AVERAGE, "no_repeats"),
        (
            lambda: options(choose(rng(0), 40, ORDERS[:1], repeats=3), ORDERS[:1]),
            AVERAGE,
            "single_order",
        ),
        (lambda: options(np.full((40, 10), np.nan), ORDERS), AVERAGE, "nothing_parsed"),
        (lambda: options(choose(rng(0), 29, ORDERS, repeats=2), ORDERS), AVERAGE, ""),
        (
            lambda: options(choose(rng(0), 29, ORDERS, repeats=2), ORDERS),
            BEST,
            "few_for_best_order",
        ),  # of 30 units
    ],
)
def test_reasons(table: Callable[[], JudgmentTable], protocol: str, why: str) -> None:
    assert one(rows_of(table()), protocol).why == why


# -------------------------------------------------------------------------------------- reliability
FINE = np.stack([np.roll(np.arange(1200), k) for k in range(10)])
"""Ten orders of a scale of 1,200 points, so that rounding to a score counts for nothing."""


def planted(items: int, order: float, noise: float, calls: int = 2, seed: int = 0) -> np.ndarray:
    """(items, calls x orders) scores; items have sd 100, ``order`` and ``noise`` are sd too."""
    rng = np.random.default_rng(seed)
    level = 500 + 100 * rng.normal(size=(items, 1, 1)) + order * rng.normal(size=(items, 1, 10))
    return np.rint(level + noise * rng.normal(size=(items, calls, 10))).reshape(items, -1)


def reliability(score: np.ndarray, measure: str) -> list[Row]:
    """Of this topic alone: no verdict is computed."""
    arms = list(Judgments(options(score, FINE)).arms)
    return [row for row in TOPICS["reliability"].rows(arms) if row.measure == measure]


def test_the_two_curves_and_the_calls_they_need() -> None:
    """Item 1, item x order .5, noise .25: one call 1 / 1.75 = .571; k in different orders 1 / (1 +
    .75 / k), .9 from k = 6.75 on; in one order 1 / (1.5 + .25 / k), at most .667.
    """
    score = planted(900, 70.7, 50)
    for k in (1, 5, 10):
        different, one = (
            row for row in reliability(score, "dependability") if row.of["calls"] == k
        )
        assert different.value == pytest.approx(1 / (1 + 0.75 / k), abs=0.03)
        assert one.value == pytest.approx(1 / (1.5 + 0.25 / k), abs=0.03)
        for row in (different, one):
            assert row.interval[0] < row.value < row.interval[1]
    needed, never = reliability(score, "calls_needed")
    assert needed.value == pytest.approx(7, abs=1)
    assert needed.interval[0] <= needed.value <= needed.interval[1] <= 9
    assert never.of == {"protocol": "one order"}
    assert never.why == "not_reached"
    shares = {row.of["term"]: row.value for row in reliability(score, "variance_share")}
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["item"] == pytest.approx(1 / 1.75, abs=0.03)
    different, one = reliability(planted(400, 0, 60), "calls_needed")
    # .36 / k <= 1 / 9: 3.24 calls, whatever their orders.
    assert different.value == one.value == 4
    # An error of the mean of many calls that came out below 0 had no interval.
    rows = [
        row
        for seed in range(8)
        for row in reliability(planted(30, 0, 60, 4, seed), "dependability")
    ]
    assert {row.interval[0] <= row.value <= row.interval[1] for row in rows} == {True}


def test_reasons_of_reliability_and_criteria_within_themselves() -> None:
    once = findings(options(choose(np.random.default_rng(0), 30, ORDERS), ORDERS))
    assert [row.why for row in once.select("calls_needed", protocol="one order")] == ["no_repeats"]
    assert not once.select("variance_share", term="noise")
    few = findings(options(choose(np.random.default_rng(0), 12, ORDERS, repeats=2), ORDERS))
    assert {row.why for row in few.select("dependability")} == {"too_few_units"}
    single = findings(
        options(choose(np.random.default_rng(0), 30, ORDERS[:1], repeats=8), ORDERS[:1])
    )
    assert [row.why for row in single.select("calls_needed")] == ["", "single_order"]
    constant = findings(options(np.full((30, 20), 4.0), ORDERS))
    assert {row.why for row in constant.select("dependability")} == {"constant_scores"}
    # Criteria of levels 1 and 5 that all texts share: no item differs from another of its criterion
    # but by noise.
    score = np.stack([np.full((40, 8), 1.0), np.full((40, 8), 5.0)], axis=2)
    score[::2, :, 0] = 2.0
    rows = findings(criteria(score, [[0, 1], [1, 0]])).select("variance_share", term="item")
    assert [row.value for row in rows] == [1.0]
