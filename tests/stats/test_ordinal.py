"""Scores as ranks: counts in the head, SciPy's coefficients, and how seldom a conclusion is said to change."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rubriclab.stats.inference import Floats, Interval
from rubriclab.stats.ordinal import (
    MOST_RANKED,
    Side,
    beyond_mean_place,
    conclusion,
    concordance,
    dominance,
    mean_place,
    of_correlation,
    of_ratio,
)
from rubriclab.stats.shift import OrderReads, mean_over_units

UP, DOWN = np.arange(5), np.arange(5)[::-1]


def reads(ascending: list[list[int]], descending: list[list[int]]) -> OrderReads:
    """Scores of each item under both orders."""
    rows = [(i, o, v) for o, given in enumerate((ascending, descending)) for i, row in enumerate(given) for v in row]
    item, order, value = (np.array(part) for part in zip(*rows, strict=True))
    size = len(ascending)
    shown = np.array([UP, DOWN])
    return OrderReads(item, order, value.astype(float), np.arange(size), size, shown, np.arange(1.0, 6.0))


def test_dominance_counts_pairs_that_are_higher_and_lower() -> None:
    top, pairs = dominance(reads([[5, 3], [1], [2]], [[3], [4], [2]]))
    # Item 1: 5 > 3 and 3 = 3; item 2: 1 < 4; item 3: a tie.
    assert top.tolist() == [1.0, -1.0, 0.0]
    assert pairs.tolist() == [2.0, 1.0, 1.0]


def test_dominance_takes_all_orders_where_few_items_have_both_ends() -> None:
    shown = np.array([[0, 1, 2], [1, 2, 0], [2, 1, 0]])  # directions 1, -0.5, -1
    given = OrderReads(
        np.array([0, 0, 1, 1]),
        np.array([0, 1, 1, 2]),
        np.array([3.0, 1.0, 2.0, 3.0]),
        np.arange(2),
        2,
        shown,
        np.arange(1.0, 4.0),
    )
    top, pairs = dominance(given)
    assert (top.tolist(), pairs.tolist()) == ([1.0, -1.0], [1.0, 1.0])


def test_tau_and_somers_are_scipys_with_a_jackknife_over_units() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(1, 6, 40).astype(float), rng.integers(1, 6, 40).astype(float)
    unit = np.arange(40) // 2
    both = concordance(x, y, unit)
    assert both.tau.value == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)
    assert both.somers.value == pytest.approx(stats.somersd(x, y).statistic, abs=1e-12)
    for left_out in (0, 7):
        kept = unit != left_out
        assert both.tau.without[left_out] == pytest.approx(stats.kendalltau(x[kept], y[kept]).statistic, abs=1e-12)
        assert both.somers.without[left_out] == pytest.approx(stats.somersd(x[kept], y[kept]).statistic, abs=1e-12)


def test_many_items_are_ranked_in_a_random_part() -> None:
    x = np.arange(MOST_RANKED + 500.0)
    both = concordance(x, x, np.arange(len(x)))
    assert both.items == MOST_RANKED
    assert both.tau.value == pytest.approx(1.0)


def test_a_conclusion_changes_only_where_the_two_are_apart() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(size=100)
    noise /= np.sqrt(noise @ noise)  # a standard error of 1
    own = rng.permutation(noise)

    def side(value: float, parts: Floats) -> Side:
        half = 1.98 * float(np.sqrt(parts @ parts))
        return Side(value, Interval(value - half, value + half), parts)

    assert conclusion(side(3.0, noise), side(4.0, noise)) == "same"
    assert conclusion(side(2.1, noise), side(1.9, 0.2 * own + 0.98 * noise)) == "not clear"
    assert conclusion(side(2.1, noise), side(0.1, noise)) == "changes"
    assert conclusion(side(3.0, noise), side(-3.0, own)) == "changes"
    assert conclusion(side(3.0, noise), Side(0.0, Interval(np.nan, np.nan), own)) == "unknown"
    assert conclusion(side(3.0, noise[:5]), side(0.0, noise[:5])) == "unknown"


def judged(items: int, shift: float, rng: np.random.Generator) -> OrderReads:
    """Two reads in each direction of a judge whose latent score moves by ``shift`` with the direction."""
    quality = rng.normal(3.0, 1.2, (items, 1))
    given = [
        np.clip(np.rint(quality + way * shift / 2 + rng.logistic(0.0, 0.4, (items, 2))), 1, 5).astype(int).tolist()
        for way in (1, -1)
    ]
    return reads(*given)


@pytest.mark.parametrize("shift", [0.0, 0.25])
@pytest.mark.parametrize("items", [15, 60])
def test_points_and_ranks_are_rarely_said_to_differ(shift: float, items: int) -> None:
    """Where the order does nothing, and where it moves all items alike, in at most 5 % of studies."""
    from rubriclab.stats.shift import ascending, turning_sums

    answers = []
    for seed in range(100):
        given = judged(items, shift, np.random.default_rng(seed))
        points, (top, bottom), (ahead, pairs) = ascending(given), turning_sums(given), dominance(given)
        ranks = mean_over_units(ahead, pairs)
        first, second = of_ratio(2 * top, bottom, points.interval), of_ratio(ahead, pairs, ranks.interval)
        assert first.value == pytest.approx(points.value)
        answers.append(conclusion(first, second))
    assert answers.count("changes") <= 0.05 * len(answers)
    assert "same" in answers


def test_ranks_show_what_one_far_item_hides_in_points() -> None:
    # 30 items move up by one point; one falls by four, six times over, which swamps the mean.
    up = [[2]] * 30 + [[1]] * 8
    down = [[1]] * 30 + [[5]] * 8
    given = reads(up, down)
    from rubriclab.stats.shift import ascending

    points, ranks = ascending(given), mean_over_units(*dominance(given))
    assert points.interval.low < 0 < points.interval.high
    assert ranks.interval.low > 0


def test_the_mean_place_misses_a_pull_to_the_middle() -> None:
    rng = np.random.default_rng(2)
    even = np.full(5, 0.2)
    middle = rng.multinomial(20, [0.1, 0.2, 0.4, 0.2, 0.1], 60) / 20 - even
    first = rng.multinomial(20, [0.4, 0.15, 0.15, 0.15, 0.15], 60) / 20 - even
    assert mean_place(middle).sign == 0
    assert beyond_mean_place(middle) < 0.001
    assert mean_place(first).sign == -1
    assert mean_place(np.zeros((5, 5))).sign is None
    assert beyond_mean_place(np.zeros((40, 5))) == 1.0


def test_a_correlation_is_compared_on_fishers_scale() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=30)
    both = concordance(x, x + rng.normal(size=30), np.arange(30))
    side = of_correlation(both.tau)
    assert side.value == pytest.approx(np.arctanh(both.tau.value))
    assert np.tanh(side.interval.low) == pytest.approx(both.tau.r_interval().low)
    half = (side.interval.high - side.interval.low) / 2
    assert half == pytest.approx(stats.t.ppf(0.975, 29) * np.sqrt(side.parts @ side.parts), rel=1e-6)
