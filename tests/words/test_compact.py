"""Check the short tables of orders and directions, and what their sentences count."""

import math

import numpy as np
import pytest

from rubriclab.words.compact import (
    DirectionLine,
    OrderLine,
    cost_rows,
    cost_sentence,
    direction_lines,
    direction_sentence,
    order_lines,
    order_sentence,
)
from rubriclab.words.phrases import NBSP
from tests.figures.several import scored
from tests.tables import balanced_orders, findings, options


def test_orders_are_sorted_by_r_with_their_rank_beside() -> None:
    given = scored(1)
    lines = order_lines(given, [0])
    rs = {row.of["order"]: row.value for row in given.select("order_pearson", condition=0)}
    assert len(rs) > 2
    assert {line.order: line.r for line in lines} == rs
    assert [line.r for line in lines] == sorted(rs.values(), reverse=True)
    ranks = [line.rank for line in lines]
    assert ranks[0] == 1
    assert ranks == sorted(ranks)
    assert all(line.interval for line in lines)


@pytest.mark.papers(18)
def test_the_least_bias_cost_of_all_orders_is_named_whether_it_was_asked_or_not() -> None:
    """Three positions have six orders. Balanced orders of three ask all six of them."""
    given = scored(1)
    costs = cost_rows(given, 0)
    assert [row.value for row in costs] == sorted(row.value for row in costs)
    said = cost_sentence(given, 0)
    best = costs[0]
    assert said.startswith(f"Of all 6 orders, {best.of['order']} has the least Bias Cost: ")
    assert f"{best.value:.1f}{NBSP}percentage points." in said
    assert "not in the table" not in said
    # The fixed order alone leaves cells empty, so no order has a cost.
    assert cost_sentence(given, 1) == ""


def test_both_orders_of_two_scores_cost_the_same() -> None:
    """40 answers: with 0 first 20 get 1; with 1 first 25 do. Of the 35 calls that gave 0, 20 had it
    first, of the 45 that gave 1, 25 had it first: 100 (|20/35 - 1/2| + |25/45 - 1/2|) = 12.7 in
    either order.
    """
    label = np.tile([1.0, 0.0], 20)
    score = np.stack([label, np.where(np.arange(40) < 10, 1.0, label)], axis=1)
    given = findings(options(score, [[0, 1], [1, 0]]))
    assert [row.value for row in cost_rows(given, 0)] == pytest.approx([12.6984] * 2, abs=1e-4)
    assert cost_sentence(given, 0) == (
        f"Both orders have the same Bias Cost: 12.7{NBSP}percentage points."
    )


def test_no_order_is_named_where_all_cost_the_same() -> None:
    """Every answer keeps its score: each position is chosen equally often, so no order costs."""
    score = np.repeat([[1.0], [2.0], [3.0]], 4, axis=0) @ np.ones((1, 6))
    given = findings(options(score, balanced_orders(3)))
    assert cost_sentence(given, 0) == (
        f"The 6 orders in the table have the same Bias Cost, and no order has less: "
        f"0.0{NBSP}percentage points."
    )


def test_an_order_that_stands_alone_is_named_with_its_rank() -> None:
    lines = [
        OrderLine("balanced", "1 2 3", 0.6, "", 1, 3),
        OrderLine("min-bias", "3 1 2", 0.5, "", 2, 4),
        OrderLine("balanced", "2 3 1", 0.25, "", 2, 3),
        OrderLine("balanced", "3 2 1", math.nan, "", math.nan, 0),
    ]
    assert order_sentence(lines) == (
        "Agreement is highest in order 1 2 3 (r 0.60), and lowest in order 2 3 1 (r 0.25). The "
        "min-bias order (3 1 2) has rank 2 of 4."
    )
    assert order_sentence(lines[:1]) == ""


def test_directions_count_judges_whose_favoured_position_is_the_same() -> None:
    lines = [
        DirectionLine("a", {"x": 1, "y": 1}, {"x – y": "0.010"}, False, True),
        DirectionLine("b", {"x": 1, "y": 3}, {"x – y": "0.310"}, True, True),
    ]
    assert direction_sentence(lines) == (
        "The same position is furthest above even on all data sets: 1 of 2 judges. The leans "
        "surely differ between two data sets for 1 of 2 (b)."
    )


@pytest.mark.thorough
def test_each_judge_has_one_line_with_every_pair_of_data_sets() -> None:
    given = scored(2, datasets=3, items=32)
    lines = direction_lines(given)
    assert [line.judge for line in lines] == ["gpt-4", "gpt-4o"]
    assert {len(line.apart) for line in lines} == {3}
    assert lines[1].furthest == {"stories": 1, "mails": 1, "notes": 1}  # it leans to position 1
    assert not direction_lines(scored(2))
