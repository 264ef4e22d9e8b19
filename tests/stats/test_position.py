"""Position statistics, Bias Cost and the prior of positions: by hand, against scipy and the published tables, by simulation."""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rubriclab.stats import ordering as costs
from rubriclab.stats import position as stat
from rubriclab.stats.debias import divided, position_prior, shrunk
from rubriclab.stats.proportions import clopper_pearson, wilson


def test_selection_by_hand_and_by_scipy() -> None:
    # N = 20, N/n = 4: chi2 = (36 + 0 + 4 + 0 + 16) / 4 = 14; V = sqrt(14 / (20 x 4))
    counts = np.array([10.0, 4, 2, 4, 0])
    found, reference = stat.selection(counts), scipy_stats.chisquare(counts)
    assert (found.chi2, found.v) == pytest.approx((14, np.sqrt(14 / 80)))
    assert (found.chi2, found.p) == pytest.approx((reference.statistic, reference.pvalue))
    nothing = stat.selection(np.zeros(5))
    assert np.isnan([nothing.chi2, nothing.v, *nothing.share]).all()
    assert stat.cramers_v(np.array([0.0, 1.0, 0.0])) == pytest.approx(1.0), "all at one position"
    assert stat.cramers_v(np.full(7, 1 / 7)) == pytest.approx(0.0)
    exposures = np.full((5, 5), 120.0), np.diag(np.full(5, 600.0)), np.zeros((3, 3))
    assert [stat.is_balanced(exposure) for exposure in exposures] == [True, False, False], "on totals"


def test_v_interval_reaches_zero_on_noise_and_leaves_it_on_effects() -> None:
    rng = np.random.default_rng(2)
    error = rng.normal(0, 0.02, size=(2000, 5))
    error -= error.mean(axis=1, keepdims=True)
    quiet = np.full(5, 0.2) + np.array([0.01, -0.01, 0.0, 0.0, 0.0])
    assert stat.v_interval(quiet, quiet + error)[0] == 0.0
    loud = np.array([0.6, 0.1, 0.1, 0.1, 0.1])
    low, high = stat.v_interval(loud, loud + error)
    assert 0.4 < low < float(stat.cramers_v(loud)) < high
    even = np.full(4, 0.25)  # a judge that never moved
    assert stat.v_interval(even, np.tile(even, (100, 1))) == (0.0, 0.0)
    assert np.isnan(stat.v_interval(even, even[None])).all()


@pytest.mark.parametrize(("counts", "exposure", "expected"), [
    ([3, 1], [9, 9], [0.75, 0.25]),  # with equal exposure the plain share
    ([6, 3], [12, 3], [1 / 3, 2 / 3]),  # 6 of 12 showings and 3 of 3: rates 1/2 and 1
    ([0, 5], [0, 15], [np.nan, np.nan]),  # only ever shown at one position
    ([0, 0], [4, 4], [np.nan, np.nan]),  # never chosen
])  # fmt: skip
def test_position_given_score_by_hand(counts: list[int], exposure: list[int], expected: list[float]) -> None:
    table = stat.position_given_score(np.array([counts, [1.0, 3.0]]), np.array([exposure, [4.0, 4.0]]))
    assert table[0] == pytest.approx(expected, nan_ok=True)
    assert table[1].tolist() == [0.25, 0.75]


@pytest.mark.parametrize(("hits", "trials"), [(0, 12), (1, 30), (7, 20), (30, 30)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_intervals_of_a_share_are_scipys(hits: int, trials: int, level: float) -> None:
    test = scipy_stats.binomtest(hits, trials)
    for function, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
        reference = test.proportion_ci(level, method)
        assert function(hits, trials, level=level) == pytest.approx((reference.low, reference.high))
        assert np.isnan(function(0, 0)).all()


# ------------------------------------------------------------------------------------------------------------ Bias Cost
PUBLISHED = json.loads((Path(__file__).parents[1] / "references" / "printed.json").read_text("utf-8"))["xu table 5"]
# Table 6: the best rotation, its cost, the cost of the default order; 0.2 for the rounding of Table 5.
TABLE_6 = [
    ("GPT-4.1-mini", (5, 4, 3, 2, 1), 11.7, 15.0),
    ("GPT-4.1", (5, 4, 3, 2, 1), 5.8, 13.6),
    ("Qwen3-8B", (1, 2, 3, 4, 5), 11.5, 11.5),
    ("OSS-120B", (4, 3, 2, 1, 5), 2.9, 9.8),
]


def published(judge: str) -> np.ndarray:
    return np.array(PUBLISHED[judge]).reshape(5, 5) / 100


@pytest.mark.papers(18)
@pytest.mark.parametrize(("judge", "order", "least", "default"), TABLE_6)
def test_published_costs_and_the_least(judge: str, order: tuple[int, ...], least: float, default: float) -> None:
    table = published(judge)
    both = costs.bias_cost(table, np.array([[s - 1 for s in order], range(5)]))
    assert both == pytest.approx([least, default], abs=0.2)
    best, cost = costs.least_bias_cost(table)  # of all 120
    assert cost == pytest.approx(costs.bias_cost(table, np.array(list(permutations(range(5))))).min())
    assert costs.bias_cost(table, best[None])[0] == cost


def test_unknown_cells_are_avoided_where_they_can_be() -> None:
    order, least = costs.least_bias_cost(np.array([[np.nan, 0.6], [0.7, 0.3]]))
    assert order.tolist() == [1, 0]
    # Score 1 at position 0: |0.7 - 0.5|; score 0 at position 1: |0.6 - 0.5|.
    assert least == pytest.approx(30.0)
    assert np.isnan(costs.bias_cost(np.array([[np.nan, 0.6], [0.7, 0.3]]), np.array([[0, 1]]))[0])
    assert np.isnan(costs.least_bias_cost(np.array([[np.nan, np.nan], [0.5, 0.5]]))[1])


# ------------------------------------------------------------------------------------------ one call without the prior
PRIOR = np.array([0.5, 0.3, 0.2])
SHOWN = np.array(list(permutations(range(3))))
AT = np.argsort(SHOWN, axis=1)


def test_a_prior_is_found_again_and_divided_out() -> None:
    rng = np.random.default_rng(0)
    content = rng.dirichlet(np.ones(3), 20)
    item, order = np.repeat(np.arange(20), 6), np.tile(np.arange(6), 20)
    weight = content[item] * PRIOR[AT[order]]
    chances = weight / weight.sum(axis=1, keepdims=True)
    assert position_prior(SHOWN, item, order, chances) == pytest.approx(PRIOR)
    kept = rng.random(len(item)) < 0.6  # no longer balanced
    assert position_prior(SHOWN, item[kept], order[kept], chances[kept]) == pytest.approx(PRIOR)
    assert divided(chances, AT[order], PRIOR) == pytest.approx(content[item])
    one = order == 0
    assert position_prior(SHOWN, item[one], order[one], chances[one]) is None
    # Calls 1, 2, 3 of items whose means are 2, 2.5, 3: start 2.5, slope 1/2, about 2.
    assert shrunk(np.array([1.0, 2, 3]), np.array([2.0, 2.5, 3])) == pytest.approx((2.5, 0.5, 2.0))
    assert shrunk(np.ones(3), np.array([1.0, 2, 3])) == pytest.approx((2.0, 0.0, 1.0))
