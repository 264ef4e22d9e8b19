"""Bias Cost against the published tables (Xu v1, Tables 5 and 6) and by enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rubriclab.stats import ordering as costs

# Xu v1, Table 5: rows scores 1..5, columns positions 1..5, in per cent.
PUBLISHED = {
    "GPT-4.1-mini": "27.9 17.5 15.9 14.9 23.8 28.5 18.7 16.3 17.8 18.7 23.9 19.1 19.2 17.8 20.1 "
    "24.7 19.2 17.5 16.7 21.9 24.0 26.8 15.5 12.0 21.7",
    "GPT-4.1": "22.7 25.5 15.9 15.9 20.1 27.4 21.0 16.0 17.3 18.2 22.2 20.9 18.9 16.1 22.0 "
    "21.1 19.7 18.4 16.6 24.3 18.4 28.0 16.7 11.5 25.3",
    "Qwen3-8B": "19.5 30.2 17.2 15.2 17.9 30.1 20.2 14.2 17.5 18.0 27.4 21.2 16.9 16.9 17.6 "
    "35.0 17.6 15.3 14.5 17.5 30.3 30.4 12.7 8.8 17.8",
    "Qwen3-8B-Think": "24.4 24.4 17.2 16.0 18.1 30.4 18.6 18.0 17.7 15.2 26.9 20.4 19.5 15.0 18.2 "
    "29.4 18.6 18.6 14.4 19.0 26.3 24.7 16.5 12.4 20.1",
    "Qwen3-32B": "21.4 19.1 19.2 21.5 18.8 29.4 19.2 18.5 19.0 13.9 24.4 19.9 18.2 16.1 21.4 "
    "18.7 18.1 19.9 18.2 25.1 21.3 33.1 11.8 10.1 23.7",
    "Qwen3-32B-Think": "19.3 19.9 18.0 20.8 22.0 29.1 22.2 16.0 16.6 16.1 23.5 20.9 18.2 18.3 19.2 "
    "22.1 20.9 17.5 16.6 22.9 19.4 26.3 17.2 15.3 21.7",
    "OSS-120B": "26.1 18.0 13.5 20.1 22.2 20.1 20.3 20.4 20.0 19.2 21.9 21.5 17.9 17.6 21.2 "
    "20.1 19.2 20.7 19.4 20.6 20.3 21.3 19.5 19.5 19.3",
}
# Xu v1, Table 6: the best rotation, its cost, the cost of the default order.
TABLE_6 = [
    ("GPT-4.1-mini", (5, 4, 3, 2, 1), 11.7, 15.0),
    ("GPT-4.1", (5, 4, 3, 2, 1), 5.8, 13.6),
    ("Qwen3-8B", (1, 2, 3, 4, 5), 11.5, 11.5),
    ("Qwen3-8B-Think", (1, 2, 3, 4, 5), 12.0, 12.0),
    ("Qwen3-32B", (5, 4, 3, 2, 1), 7.2, 9.5),
    ("Qwen3-32B-Think", (5, 4, 3, 2, 1), 8.7, 9.8),
    ("OSS-120B", (4, 3, 2, 1, 5), 2.9, 9.8),
]


def published(judge: str) -> np.ndarray:
    return np.array([float(x) for x in PUBLISHED[judge].split()]).reshape(5, 5) / 100


@pytest.mark.parametrize(("judge", "order", "least", "default"), TABLE_6)
def test_published_costs(judge, order, least, default) -> None:
    table = published(judge)
    found = costs.cyclic_best(table)
    assert tuple(s + 1 for s in found.ordering) == order
    assert found.cost == pytest.approx(least, abs=0.2)
    assert float(costs.bias_cost(table, costs.canonical(5))) == pytest.approx(default, abs=0.2)


def test_cost_by_hand() -> None:
    # Qwen3-8B, [1,2,3,4,5]: |19.5-20| + |20.2-20| + |16.9-20| + |14.5-20| + |17.8-20|
    #  = 0.5 + 0.2 + 3.1 + 5.5 + 2.2 = 11.5
    assert float(costs.bias_cost(published("Qwen3-8B"), (0, 1, 2, 3, 4))) == pytest.approx(11.5)


@pytest.mark.parametrize("judge", list(PUBLISHED))
def test_best_of_all_is_the_least_of_all_120(judge) -> None:
    table = published(judge)
    every = np.array(list(itertools.permutations(range(5))))
    found = costs.best(table)
    assert found.cost == pytest.approx(costs.ordering_costs(table, every).min())
    assert found.cost <= costs.cyclic_best(table).cost + 1e-9


def test_rotations_are_the_papers_ten() -> None:
    found = costs.rotations(5)
    assert len(set(found)) == 10
    assert found[1] == (1, 2, 3, 4, 0)
    assert found[5:7] == ((4, 3, 2, 1, 0), (3, 2, 1, 0, 4))
    assert costs.rotations(2) == ((0, 1), (1, 0))


def test_an_even_table_costs_nothing() -> None:
    table = np.full((4, 4), 0.25)
    assert costs.best(table).cost == 0.0
    assert costs.cyclic_best(table).ordering == (0, 1, 2, 3)


def test_unknown_cells_are_avoided_where_they_can_be() -> None:
    table = np.array([[np.nan, 0.6], [0.7, 0.3]])
    found = costs.best(table)
    assert found.ordering == (1, 0)
    # Score 1 at position 0: |0.7 - 0.5|; score 0 at position 1: |0.6 - 0.5|.
    assert found.cost == pytest.approx(30.0)
    assert costs.cyclic_best(table).ordering == (1, 0)
    assert np.isnan(costs.bias_cost(table, (0, 1)))


def test_an_unknown_score_leaves_every_cost_unknown() -> None:
    table = np.array([[np.nan, np.nan], [0.5, 0.5]])
    assert np.isnan(costs.best(table).cost)
    assert np.isnan(costs.cyclic_best(table).cost)


def test_costs_of_resampled_tables_come_at_once() -> None:
    tables = np.stack([published("GPT-4.1"), published("OSS-120B")])
    assert costs.bias_cost(tables, (4, 3, 2, 1, 0)) == pytest.approx(
        [float(costs.bias_cost(t, (4, 3, 2, 1, 0))) for t in tables]
    )
