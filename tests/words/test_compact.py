"""Check the short tables of orders and directions, and what their sentences count."""

import math

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
from tests.figures.several import scored


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
    assert f"{best.value:.1f} percentage points." in said
    assert "not in the table" not in said
    # The fixed order alone leaves cells empty, so no order has a cost.
    assert cost_sentence(given, 1) == ""


def test_an_order_that_stands_alone_is_named_with_its_rank() -> None:
    lines = [
        OrderLine("balanced", "1 2 3", 0.6, "", 1, 3),
        OrderLine("min-bias", "3 1 2", 0.5, "", 2, 4),
        OrderLine("balanced", "2 3 1", 0.25, "", 2, 3),
        OrderLine("balanced", "3 2 1", math.nan, "", math.nan, 0),
    ]
    assert order_sentence(lines) == (
        "Order 1 2 3 agrees most (r 0.60), and 2 3 1 least (r 0.25). The min-bias order "
        "(3 1 2) has rank 2 of 4."
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


def test_each_judge_has_one_line_with_every_pair_of_data_sets() -> None:
    given = scored(2, datasets=3, items=32)
    lines = direction_lines(given)
    assert [line.judge for line in lines] == ["gpt-4", "gpt-4o"]
    assert {len(line.apart) for line in lines} == {3}
    assert lines[1].furthest == {"stories": 1, "mails": 1, "notes": 1}  # it leans to position 1
    assert not direction_lines(scored(2))
