"""Contrasts, gaps, single scores, criteria in one call, positions and Bias Cost: by hand, against
scipy, planted.
"""

import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as sp

from rubriclab.core.cells import line
from rubriclab.measures import position as costs
from rubriclab.measures import position as positions
from rubriclab.measures.joint import carryover
from rubriclab.stats import mean_contrasts as stat
from rubriclab.stats import resample
from rubriclab.stats.debias import divided, position_prior, shrunk
from rubriclab.stats.noise import differences, within_item_sd
from rubriclab.stats.proportions import clopper_pearson, wilson
from rubriclab.stats.tests import friedman, holm
from tests.tables import balanced_orders

ORDERS = balanced_orders(5) - 1
SCORES = np.arange(1.0, 6.0)


def calls(scores: np.ndarray) -> tuple[np.ndarray, ...]:
    """(items, 10) scores under the ten balanced orders, NaN unparsed -> the arguments of
    ``extremes``.
    """
    item, order = np.nonzero(np.isfinite(scores))
    return item, order, scores[item, order], np.arange(len(scores)), len(scores), ORDERS, SCORES


def contrast(scores: np.ndarray, direction: np.ndarray) -> float:
    item, order, value, *_ = calls(scores)
    made = stat.within_texts(stat.order_cells(item, order, value, 10), direction, len(scores), 4.0)
    return float(made.top.sum() / made.bottom.sum())


def test_a_judge_that_follows_the_order_is_moved_by_just_that() -> None:
    scores = 3.0 + 0.4 * line(ORDERS) + np.arange(12)[:, None] * 0.1
    assert contrast(scores, line(ORDERS)) == pytest.approx(0.8)
    # Unparsed replies cost precision and no item.
    scores[np.random.default_rng(0).random(scores.shape) < 0.3] = np.nan
    assert contrast(scores, line(ORDERS)) == pytest.approx(0.8)
    # sum |c| / sum c^2 of the directions of ten balanced orders of five is 4/3: more than the
    # scale.
    made = stat.within_texts(
        stat.order_cells(*calls(np.full((9, 10), 3.0))[:3], 10), line(ORDERS), 9, 4.0
    )
    assert made.reach == pytest.approx(16 / 3)


def test_repeats_of_one_order_do_not_tilt_a_contrast_however_many_cells_there_may_be() -> None:
    # Two orders of three: ascending once (score 4), descending ten times (3 on average): the
    # contrast is 1.
    item, order = np.zeros(11, int), np.array([0] + [1] * 10)
    value = np.array([4.0] + [2.0, 4.0] * 5)
    cells = stat.order_cells(item, order, value, 2)
    made = stat.within_texts(cells, np.array([1.0, -1.0]), 1, 2.0)
    assert made.top[0] / made.bottom[0] == pytest.approx(1.0)
    assert made.reach == 2.0
    item, order = np.array([5, 0, 5]), np.array([10**8, 7, 10**8])
    cells = stat.order_cells(item, order, np.array([1.0, 2, 4]), 10**9)
    assert (cells.text.tolist(), cells.order.tolist(), cells.mean.tolist()) == (
        [0, 5],
        [7, 10**8],
        [2.0, 2.5],
    )


def test_one_order_a_text_is_least_squares_over_texts() -> None:
    rng = np.random.default_rng(2)
    direction = rng.uniform(-1, 1, 30)
    score = 3 + 0.5 * direction + rng.normal(0, 0.3, 30)
    cells = stat.OrderCells(np.arange(30), np.arange(30), score)
    value, influence, _ = stat.over_texts(cells, direction, 4.0)
    x = direction - direction.mean()
    slope = np.polyfit(direction, score, 1)[0]
    assert value == pytest.approx(2 * slope)
    # HC3: residuals over 1 - leverage.
    rest = score - np.polyval(np.polyfit(direction, score, 1), direction)
    leverage = 1 / 30 + x**2 / (x @ x)
    assert influence == pytest.approx(2 * x * rest / (1 - leverage) / (x @ x))
    for few in (
        np.ones(30),
        (np.arange(30) < 7) * 1.0,
    ):  # nothing, or seven texts alone, to hold the others against
        assert stat.over_texts(cells, few, 4.0) is None


# ---------------------------------------------------------------------------------- the largest gap


def test_drawn_orders_are_compared_by_what_stands_where() -> None:
    # 120 orders, each item in five of them: the score rises by 0.2 a point of what is shown first.
    rng = np.random.default_rng(4)
    shown = np.array([rng.permutation(5) for _ in range(400)])
    item, order = np.repeat(np.arange(80), 5), np.arange(400)
    value = 3.0 + 0.2 * (shown[:, 0] - 2) + rng.normal(0, 0.3, 400)
    found = stat.extremes(item, order, value, np.arange(80), 80, shown, SCORES)
    assert found.modelled
    assert found.highest[0] == 4  # the highest score first
    assert found.lowest[0] == 0
    # From 5 first to 1 first: 0.2 x 4.
    assert found.value == pytest.approx(0.8, abs=0.25)


def test_the_gap_of_an_unbiased_judge_is_not_the_largest_of_ten_means() -> None:
    rng = np.random.default_rng(2)
    studies = [rng.normal(3, 1, (30, 10)) for _ in range(12)]
    found = [stat.extremes(*calls(scores)) for scores in studies]
    assert np.mean([np.ptp(scores.mean(axis=0)) for scores in studies]) > 0.45
    assert np.mean([gap.value for gap in found]) < 0.12
    assert sum(gap.interval()[0] == 0.0 for gap in found) >= 10


def test_many_units_are_compared_in_groups() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(3, 0.5, (1_000, 10))
    scores[:, 3] += 0.5
    found = stat.extremes(*calls(scores))
    assert len(found.top) == stat.GROUPS
    assert found.value == pytest.approx(0.5, abs=0.1)


SEVEN_UNITS = np.random.default_rng(0).normal(3, 1, (7, 10))
ONE_ORDER = np.where(np.arange(10) == 0, 3.0, np.full((20, 10), np.nan))


@pytest.mark.parametrize("scores", [SEVEN_UNITS, ONE_ORDER, np.full((20, 10), np.nan)])
def test_too_few_units_or_orders_have_no_gap(scores: np.ndarray) -> None:
    assert stat.extremes(*calls(scores)) is None


# ------------------------------------------------------------------------------------ single scores
def test_differences_by_hand() -> None:
    # Item 0: order a 1, 2; order b 5. Different orders: |1-5|, |2-5| -> 3.5; same: |1-2| -> 1. Item
    # 1: one call.
    for order in (
        np.array([0, 0, 1, 0]),
        np.array([0, 0, 10_000, 0]),
    ):  # however many orders there could be
        other, same = differences(np.array([0, 0, 0, 1]), order, np.array([0, 1, 4, 2]), SCORES, 3)
        assert other == pytest.approx([3.5, np.nan, np.nan], nan_ok=True)
        assert same == pytest.approx([1.0, np.nan, np.nan], nan_ok=True)
    # Item 0: sd of 1, 2, 3 is 1. Item 1: 0. Item 2 has one value, item 3 none.
    item, values = np.array([0, 0, 0, 1, 1, 2]), np.array([1.0, 2, 3, 4, 4, 5])
    assert within_item_sd(item, values, 4) == pytest.approx([1.0, 0.0, np.nan, np.nan], nan_ok=True)
    assert np.isnan(within_item_sd(item[:0], values[:0], 2)).all()
    alone, most = stat.judged_alone(np.array([0, 0, 1, 1, 2]), np.array([0, 0, 0, 1, 1]), 4)
    assert (alone.tolist(), most) == ([True, False, True, False], True)


# --------------------------------------------------------------------------------------- resampling
@pytest.mark.parametrize("units", [300, 5_000])  # as they are, and in groups
def test_bootstrap_sums_have_the_spread_of_their_units_in_any_order(units: int) -> None:
    x = np.random.default_rng(0).normal(1, 2, (units, 1))
    sums = resample.bootstrap_sums(x, 4_000)
    assert sums.std() / units == pytest.approx(x.std() / np.sqrt(units), rel=0.06)
    np.testing.assert_allclose(resample.bootstrap_sums(x[::-1], 4_000), sums)


def test_by_content_forgives_rounding_and_nothing_else() -> None:
    x = np.array([[0.1, 2.0], [1 / 3, 0.0], [0.125, 1.0]])
    assert resample.by_content(x).tolist() == resample.by_content(x + 1e-13).tolist()
    ranked = x[resample.by_content(x)]
    assert (x[[2, 0, 1]][resample.by_content(x[[2, 0, 1]])] == ranked).all()


def test_stretched_draws_are_students_and_tails_have_fewer_degrees() -> None:
    # root(10 / 9) x t(9) / z
    assert resample.stretch(10, 0.95) == pytest.approx(
        np.sqrt(10 / 9) * 2.262157 / 1.959964, rel=1e-5
    )
    assert np.isnan(resample.stretch(1, 0.95))
    even = np.array([-1.0, 1.0] * 20)
    rare = np.append(np.zeros(39), 40.0) - 1.0
    assert resample.degrees_of_freedom(even) == 39
    assert 3 <= resample.degrees_of_freedom(rare) < 6
    assert resample.degrees_of_freedom(np.array([1.0])) == 0


def test_hall_lengthens_the_side_of_the_skew() -> None:
    skewed = np.random.default_rng(1).exponential(1, 50)
    below, above = resample.hall(skewed - skewed.mean(), 2.0)
    assert above > 2.0 > below
    even = np.array([-1.0, 1.0] * 10)
    assert resample.hall(even, 2.0) == (2.0, 2.0)


def test_sums_and_tables_by_code() -> None:
    code = np.array([0, 2, 0])
    assert resample.sum_by(code, np.array([1.0, 2.0, 4.0]), 3).tolist() == [5, 0, 2]
    assert resample.sum_by(code, np.array([[1.0, 1], [2, 0], [4, 3]]), 3).tolist() == [
        [5, 4],
        [0, 0],
        [2, 0],
    ]
    assert resample.sum_by(np.zeros(0, int), np.zeros((0, 2)), 2).tolist() == [[0, 0], [0, 0]]
    assert resample.crossed(code, 3, np.array([1, 0, 1]), 2).tolist() == [[0, 2], [0, 0], [1, 0]]
    assert [part.tolist() for part in resample.distinct(np.array([7, 3, 7]), 9)] == [
        [3, 7],
        [1, 0, 1],
    ]
    assert resample.spread_out(code, 3, np.array([9, 1, 3]), np.array([1.0, 2, 4])).tolist()[0] == [
        4,
        1,
    ]


# ----------------------------------------------------------------------------- criteria in one call
NAN = np.nan
WILLIAMS = np.array([[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]])
CYCLIC = np.array([[(i + k) % 4 for i in range(4)] for k in range(4)])
BALANCED = np.vstack([CYCLIC, CYCLIC[:, ::-1]])


def rows_of(orders: np.ndarray, texts: int, add, seed: int = 0):
    """(text, criterion, position, before, score) of all texts in all orders; ``add(criterion,
    position, before)``.
    """
    rng = np.random.default_rng(seed)
    lines = []
    for text in range(texts):
        level = rng.normal(size=4)
        for order in orders:
            for p, c in enumerate(order):
                q = order[p - 1] if p else 4
                lines.append((text, c, p, q, 3 + level[c] + add(c, p, q) + rng.normal(scale=0.5)))
    columns = np.array(lines).T
    return (*columns[:4].astype(np.int64), columns[4])


@pytest.mark.papers(31)
def test_friedman_is_scipys_with_ties_and_leaves_out_texts_with_a_gap() -> None:
    cells = np.random.default_rng(0).integers(1, 5, (60, 4)).astype(float) + np.array(
        [0.5, 0, 0, 0]
    )
    found = friedman(np.vstack([cells, np.full((2, 4), NAN), [[1.0, NAN, 2.0, 3.0]]]))
    expected = sp.friedmanchisquare(*cells.T)
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert (found.blocks, found.excluded) == (60, 3)
    tied = friedman(np.full((20, 4), 3.0))
    assert (tied.statistic, tied.p) == (0.0, 1.0)
    # Means of the same scores that differ in their last bits are ties.
    assert friedman(np.full((20, 4), 3.0) + np.linspace(0, 1e-14, 4)).p == 1.0
    for cells in (np.zeros((0, 4)), np.ones((1, 4)), np.ones((5, 1))):
        assert np.isnan(friedman(cells).p)


def test_holm_by_hand() -> None:
    # Sorted .01 x 3, .02 x 2 = .04, .03 x 1 -> never below the one before.
    assert holm(np.array([0.03, 0.01, NAN, 0.02])) == pytest.approx(
        [0.04, 0.03, NAN, 0.04], nan_ok=True
    )
    assert (holm(np.array([0.9, 0.8])).tolist(), holm(np.zeros(0)).size) == ([1.0, 1.0], 0)


def by_dummies(text, criterion, before, score, n, slot):
    """The same model as one least-squares fit with a column for everything."""
    item = text * n + criterion
    columns = [
        item[:, None] == np.unique(item),
        slot[:, None] == np.unique(slot),
        before[:, None] == np.arange(n),
    ]
    beta = np.linalg.lstsq(np.hstack(columns).astype(float), score, rcond=None)[0][-n:]
    return beta - beta.mean()


@pytest.mark.parametrize("williams", [True, False])
def test_carryover_is_the_fit_with_dummy_variables(williams: bool) -> None:
    orders = WILLIAMS if williams else np.array(list(permutations(range(4))))
    rows = rows_of(orders, 12, lambda _, p, q: 0.3 * p + 0.4 * (q == 2), seed=5)
    keep = np.random.default_rng(1).random(len(rows[0])) > 0.1
    rows = tuple(part[keep] for part in rows)
    found = carryover(*rows, texts=12, criteria=4)
    slot = rows[2] if williams else rows[1] * 4 + rows[2]
    assert found.by_criterion != williams
    np.testing.assert_allclose(
        found.effect, by_dummies(rows[0], rows[1], rows[3], rows[4], 4, slot), atol=1e-8
    )
    np.testing.assert_allclose(found.parts.sum(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize(
    ("orders", "texts"), [(BALANCED, 10), (CYCLIC, 10), (CYCLIC[:1], 10), (WILLIAMS, 1)]
)
def test_designs_that_cannot_separate_say_so(orders: np.ndarray, texts: int) -> None:
    assert carryover(*rows_of(orders, texts, lambda *_: 0.0), texts=texts, criteria=4) is None
    single = np.zeros(4, dtype=np.int64)
    assert (
        carryover(np.arange(4), single, single, single + 1, np.ones(4), texts=4, criteria=1) is None
    )


# ---------------------------------------- Position statistics, Bias Cost and the prior of positions
def test_selection_by_hand_and_by_scipy() -> None:
    # N = 20, N/n = 4: chi2 = (36 + 0 + 4 + 0 + 16) / 4 = 14; V = sqrt(14 / (20 x 4))
    counts = np.array([10.0, 4, 2, 4, 0])
    found, reference = positions.selection(counts), sp.chisquare(counts)
    assert (found.chi2, found.v) == pytest.approx((14, np.sqrt(14 / 80)))
    assert (found.chi2, found.p) == pytest.approx((reference.statistic, reference.pvalue))
    nothing = positions.selection(np.zeros(5))
    assert np.isnan([nothing.chi2, nothing.v, *nothing.share]).all()
    assert positions.cramers_v(np.array([0.0, 1.0, 0.0])) == pytest.approx(1.0), (
        "all at one position"
    )
    assert positions.cramers_v(np.full(7, 1 / 7)) == pytest.approx(0.0)
    # Items that lean all one way, to position 1 or 2: shares 1/2, noise alone. 2 positions x 8 x
    # 1^2 / 16^2 x 8 / 7, twice.
    counts = np.repeat([[2.0, 0], [0, 2]], 4, axis=0)
    assert positions.v_from_noise(counts) == pytest.approx(np.sqrt(1 / 7))
    assert np.isnan(positions.v_from_noise(counts[:1]))
    exposures = np.full((5, 5), 120.0), np.diag(np.full(5, 600.0)), np.zeros((3, 3))
    assert [positions.is_balanced(exposure) for exposure in exposures] == [True, False, False], (
        "on totals"
    )


def test_v_interval_reaches_zero_on_noise_and_leaves_it_on_effects() -> None:
    rng = np.random.default_rng(2)
    error = rng.normal(0, 0.02, size=(2000, 5))
    error -= error.mean(axis=1, keepdims=True)
    quiet = np.full(5, 0.2) + np.array([0.01, -0.01, 0.0, 0.0, 0.0])
    assert positions.v_interval(quiet, quiet + error)[0] == 0.0
    loud = np.array([0.6, 0.1, 0.1, 0.1, 0.1])
    low, high = positions.v_interval(loud, loud + error)
    assert 0.4 < low < float(positions.cramers_v(loud)) < high
    even = np.full(4, 0.25)  # a judge that never moved
    assert positions.v_interval(even, np.tile(even, (100, 1))) == (0.0, 0.0)
    assert np.isnan(positions.v_interval(even, even[None])).all()


@pytest.mark.parametrize(
    ("counts", "exposure", "expected"),
    [
        ([3, 1], [9, 9], [0.75, 0.25]),  # with equal exposure the plain share
        ([6, 3], [12, 3], [1 / 3, 2 / 3]),  # 6 of 12 showings and 3 of 3: rates 1/2 and 1
        ([0, 5], [0, 15], [np.nan, np.nan]),  # only ever shown at one position
        ([0, 0], [4, 4], [np.nan, np.nan]),  # never chosen
    ],
)
def test_position_given_score_by_hand(
    counts: list[int], exposure: list[int], expected: list[float]
) -> None:
    table = positions.position_given_score(
        np.array([counts, [1.0, 3.0]]), np.array([exposure, [4.0, 4.0]])
    )
    assert table[0] == pytest.approx(expected, nan_ok=True)
    assert table[1].tolist() == [0.25, 0.75]


@pytest.mark.parametrize(("hits", "trials"), [(0, 12), (1, 30), (7, 20), (30, 30)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_intervals_of_a_share_are_scipys(hits: int, trials: int, level: float) -> None:
    test = sp.binomtest(hits, trials)
    for function, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
        reference = test.proportion_ci(level, method)
        assert function(hits, trials, level=level) == pytest.approx((reference.low, reference.high))
        assert np.isnan(function(0, 0)).all()


# ---------------------------------------------------------------------------------------- Bias Cost
PUBLISHED = json.loads(
    (Path(__file__).parents[1] / "references" / "printed.json").read_text("utf-8")
)["xu table 5"]
# Table 6: the best rotation, its cost, the cost of the default order; 0.2 for the rounding of Table
# 5.
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
def test_published_costs_and_the_least(
    judge: str, order: tuple[int, ...], least: float, default: float
) -> None:
    table = published(judge)
    both = costs.bias_cost(table, np.array([[s - 1 for s in order], range(5)]))
    assert both == pytest.approx([least, default], abs=0.2)
    best, cost = costs.least_bias_cost(table)  # of all 120
    assert cost == pytest.approx(
        costs.bias_cost(table, np.array(list(permutations(range(5))))).min()
    )
    assert costs.bias_cost(table, best[None])[0] == cost


def test_unknown_cells_are_avoided_where_they_can_be() -> None:
    order, least = costs.least_bias_cost(np.array([[np.nan, 0.6], [0.7, 0.3]]))
    assert order.tolist() == [1, 0]
    # Score 1 at position 0: |0.7 - 0.5|; score 0 at position 1: |0.6 - 0.5|.
    assert least == pytest.approx(30.0)
    assert np.isnan(costs.bias_cost(np.array([[np.nan, 0.6], [0.7, 0.3]]), np.array([[0, 1]]))[0])
    assert np.isnan(costs.least_bias_cost(np.array([[np.nan, np.nan], [0.5, 0.5]]))[1])


# ----------------------------------------------------------------------- one call without the prior
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
