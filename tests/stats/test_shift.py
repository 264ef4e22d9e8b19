"""By how many points the order moves scores: by hand, against scipy, by simulation.

The judges here are not the lab's simulated judge: a latent trait with t leanings, cut into scores.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rubriclab.stats import shift as stat
from rubriclab.stats.extremes import extremes
from rubriclab.stats.ordering import cross_fitted_gain, rotations
from rubriclab.stats.position import position_given_score

ROTATIONS = np.array(rotations(5))
SCORES = np.arange(1.0, 6.0)


def reads(scores: np.ndarray, units: np.ndarray | None = None) -> stat.OrderReads:
    """(items, 10) scores under the ten balanced orders; NaN unread."""
    items, k = scores.shape
    unit = np.arange(items) if units is None else units
    read = np.isfinite(scores).ravel()
    item, order = np.repeat(np.arange(items), k)[read], np.tile(np.arange(k), items)[read]
    value = scores.ravel()[read]
    return stat.OrderReads(item, order, value, unit, int(unit.max()) + 1, ROTATIONS, SCORES)


def latent(
    rng: np.random.Generator,
    items: int,
    *,
    shift: float = 0.0,
    leaning: float = 0.0,
    noise: float = 0.35,
    sharing: int = 1,
) -> np.ndarray:
    """A latent quality, pulled along the direction of the order, cut into five scores."""
    quality = rng.normal(0, 1.2, items)
    own = np.repeat(rng.standard_t(3, -(-items // sharing)), sharing)[:items] * leaning
    trait = quality[:, None] + (shift + own[:, None]) * stat.direction(ROTATIONS)
    trait = trait + rng.logistic(0, noise, (items, 10))
    return np.searchsorted(np.linspace(-1.5, 1.5, 4), trait) + 1.0


def test_direction_is_the_rank_correlation_of_scores_and_places() -> None:
    orders = np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [1, 2, 3, 4, 0], [2, 0, 4, 1, 3]])
    expected = [scipy_stats.spearmanr(order, np.arange(5)).statistic for order in orders]
    assert stat.direction(orders) == pytest.approx(expected)


def test_a_judge_that_follows_the_order_is_moved_by_just_that() -> None:
    scores = 3.0 + 0.4 * stat.direction(ROTATIONS) + np.arange(12)[:, None] * 0.1
    found = stat.ascending(reads(scores))
    assert found.value == pytest.approx(0.8)
    assert found.interval == pytest.approx((0.8, 0.8))


def test_unread_replies_cost_precision_and_no_item() -> None:
    rng = np.random.default_rng(0)
    scores = 3.0 + 0.4 * stat.direction(ROTATIONS) + rng.normal(0, 1, (40, 1))
    scores[rng.random(scores.shape) < 0.3] = np.nan
    found = stat.ascending(reads(scores))
    assert found.value == pytest.approx(0.8)
    assert found.units == 40


def test_items_read_both_ways_give_the_paired_t_test() -> None:
    scores = latent(np.random.default_rng(1), 50, leaning=0.4)
    x = stat.direction(ROTATIONS)
    apart = scores[:, x.argmax()] - scores[:, x.argmin()]
    reference = scipy_stats.ttest_1samp(apart, 0.0).confidence_interval(0.95)
    found = stat.ascending(reads(scores))
    assert (found.value, *found.interval) == pytest.approx((apart.mean(), *reference))


def test_what_other_orders_do_is_not_laid_to_the_two() -> None:
    """A judge that is moved by one rotation alone: turning the options round changes nothing."""
    scores = np.full((30, 10), 3.0)
    scores[:, stat.direction(ROTATIONS).argsort()[-2]] = 5.0
    found = stat.ascending(reads(scores))
    assert stat.read_both_ways(reads(scores))
    assert found.value == 0.0


def test_items_not_read_both_ways_give_the_t_test_of_their_slopes() -> None:
    scores = latent(np.random.default_rng(1), 50, leaning=0.4)
    x = stat.direction(ROTATIONS)
    kept = np.abs(x) < 1
    scores[:, ~kept] = np.nan
    told = x[kept] - x[kept].mean()
    slopes = 2.0 * scores[:, kept] @ told / (told @ told)
    reference = scipy_stats.ttest_1samp(slopes, 0.0).confidence_interval(0.95)
    assert not stat.read_both_ways(reads(scores))
    assert stat.ascending(reads(scores)).interval == pytest.approx(tuple(reference))


def test_too_few_units_get_no_interval() -> None:
    found = stat.ascending(reads(latent(np.random.default_rng(2), stat.MIN_UNITS - 1)))
    assert np.isfinite(found.value)
    assert np.isnan(found.interval.low)


def test_a_constant_judge_is_bounded_and_not_certain() -> None:
    # None of 60 moved: at most 1 - 0.025^(1/60) of all would, by one step.
    found = stat.ascending(reads(np.full((60, 10), 5.0)))
    most = 1.0 - 0.025 ** (1 / 60)
    assert found.interval == pytest.approx((-most, most))


def test_pull_of_a_place_by_hand() -> None:
    # A judge whose score is a tenth of what is shown first, plus 3: from lowest to highest 0.4.
    scores = np.tile(3.0 + 0.1 * SCORES[ROTATIONS[:, 0]], (12, 1))
    found = stat.pulls(reads(scores))
    assert found.value[0] == pytest.approx(0.4)
    others = [np.polyfit(ROTATIONS[:, p], scores[0], 1)[0] * 4 for p in range(5)]
    assert found.value == pytest.approx(others)


def test_differences_by_hand() -> None:
    # One item read 1, 1 in one order and 2, 4 in another: same order 0 and 2, so (0 + 2) / 2 = 1;
    # different orders 1, 3, 1, 3, so 2.
    shown = np.array([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]])
    value = np.array([1.0, 1.0, 2.0, 4.0])
    order = np.array([0, 0, 1, 1])
    one = stat.OrderReads(np.zeros(4, int), order, value, np.zeros(1, int), 1, shown, SCORES)
    found = stat.differences(one)
    assert (found.other[0], found.same[0]) == pytest.approx((2.0, 1.0))


def test_more_reads_do_not_change_differences_on_average() -> None:
    rng = np.random.default_rng(3)
    scores = latent(rng, 4000)
    few, many = scores[:, [0, 5]], scores
    two = reads(np.where(np.isin(np.arange(10), [0, 5]), scores, np.nan))
    a, b = stat.differences(two).other, stat.differences(reads(many)).other
    assert np.nanmean(a) == pytest.approx(np.abs(few[:, 0] - few[:, 1]).mean())
    assert np.nanmean(a) == pytest.approx(np.nanmean(b), abs=0.03)


@pytest.mark.parametrize(("items", "sharing", "shift"), [(15, 1, 0.0), (30, 1, 0.2), (60, 4, 0.0)])
def test_the_interval_holds(items: int, sharing: int, shift: float) -> None:
    rng = np.random.default_rng(4)
    truth = stat.ascending(reads(latent(rng, 40_000, shift=shift, leaning=0.35))).value
    units = np.arange(items) // sharing
    held = [
        low <= truth <= high
        for low, high in (
            stat.ascending(reads(latent(rng, items, shift=shift, leaning=0.35, sharing=sharing), units)).interval
            for _ in range(400)
        )
    ]
    # 400 studies at 0.95: standard error 0.011; the band is 0.93 to 0.97 and 1.5 of it.
    assert 0.913 <= np.mean(held) <= 0.987


def test_items_that_share_leanings_need_their_unit() -> None:
    rng = np.random.default_rng(5)
    studies = [latent(rng, 60, leaning=0.6, noise=0.2, sharing=6) for _ in range(300)]
    loose = np.mean([abs(s.value) > s.interval.high - s.value for s in (stat.ascending(reads(x)) for x in studies)])
    prompts = np.arange(60) // 6
    tight = np.mean(
        [abs(s.value) > s.interval.high - s.value for s in (stat.ascending(reads(x, prompts)) for x in studies)]
    )
    assert loose > 0.15
    assert tight < 0.09


@pytest.mark.slow
def test_the_farthest_orders_are_found_and_not_made_of_luck() -> None:
    rng = np.random.default_rng(6)
    raw, shown = [], 0
    for seed in range(30):
        scores = latent(rng, 30)
        found = extremes(reads(scores), seed=seed)
        raw.append(np.ptp(scores.mean(axis=0)))
        shown += found.interval.low > 0
        assert found.interval.low <= found.value <= found.interval.high
    assert np.mean(raw) > 0.25  # the largest less the smallest mean, with no effect at all
    assert shown <= 5  # 1.5 of 30 expected; more has a chance below 1 %
    moved = extremes(reads(latent(rng, 200, shift=0.5)))
    assert moved.highest == (0, 1, 2, 3, 4)
    assert moved.interval.low > 0.3


def test_orders_of_each_item_s_own_are_modelled() -> None:
    rng = np.random.default_rng(7)
    orders = np.array([rng.permutation(5) for _ in range(600)])
    scores = 3.0 + 0.3 * SCORES[orders[:, 0]] + rng.normal(0, 0.1, 600)
    item = np.repeat(np.arange(60), 10)
    one = stat.OrderReads(item, np.arange(600), scores, np.arange(60), 60, orders, SCORES)
    found = extremes(one)
    assert found.modelled
    assert found.highest[0] == 4
    assert found.lowest[0] == 0
    assert found.interval.low < 1.2 < found.interval.high  # 0.3 for each of 4 points


def test_no_order_is_better_where_the_order_does_not_matter() -> None:
    """The raw cost of the usual order is far from 0 there, and the best one looks far better."""
    rng = np.random.default_rng(8)
    better, raw, clean = 0, [], []
    for seed in range(40):
        scores = latent(rng, 60)
        counts = np.zeros((60, 5, 5))
        seen = np.zeros_like(counts)
        for k, order in enumerate(ROTATIONS):
            place = np.argsort(order)
            picked = scores[:, k].astype(int) - 1
            counts[np.arange(60), picked, place[picked]] += 1
            seen[:, np.arange(5), place] += 1
        table = position_given_score(counts.sum(axis=0), seen.sum(axis=0))
        raw.append(100 * np.abs(np.diag(table) - 0.2).sum())
        gain = cross_fitted_gain(counts, seen, seed=seed)
        clean.append(gain.default)
        better += gain.gain_ci.low > 0
        assert gain.default_ci.low <= gain.default <= gain.default_ci.high
    assert np.mean(raw) > 8.0
    assert np.mean(clean) < 0.5 * np.mean(raw)
    assert better <= 5


def test_lopsided_ends_invert_halls_transformation() -> None:
    values = np.random.default_rng(4).exponential(1.0, 20)
    found = stat.mean_over_units(values, np.ones(20), lopsided=True)
    error, a = values.std(ddof=1) / np.sqrt(20), float(scipy_stats.skew(values, bias=False)) / np.sqrt(20)
    reached = [(found.value - end) / error for end in (found.interval.high, found.interval.low)]
    turned = [x + a / 3 * x**2 + a**2 / 27 * x**3 + a / 6 for x in reached]
    t = scipy_stats.t.ppf(0.975, 19)
    assert turned == pytest.approx([-t, t])
    even = np.concatenate([values - values.mean(), values.mean() - values])
    both = [stat.mean_over_units(even, np.ones(40), lopsided=lopsided).interval for lopsided in (False, True)]
    assert both[0] == pytest.approx(both[1])


def test_means_of_moves_that_few_items_make_are_held_as_often_as_said() -> None:
    """Two options: most items do not move, some by the whole scale. Student's t held in 0.89."""
    rng, held = np.random.default_rng(5), {False: [], True: []}
    moves = rng.beta(0.3, 2.7, (1_000, 15))  # most near 0, some near 1; the mean is 0.1
    for one in moves:
        for lopsided, inside in held.items():
            low, high = stat.mean_over_units(one, np.ones(15), lopsided=lopsided).interval
            inside.append(low <= 0.1 <= high)
    assert np.mean(held[False]) < 0.91
    assert np.mean(held[True]) > 0.93


def test_orders_that_came_out_the_wrong_way_round_are_not_for_that_known_to_be_alike() -> None:
    """Of two orders 0.03 points apart, each mean known to ±0.2, it was said: at most 0.07."""
    turned = np.argsort(stat.direction(ROTATIONS))[[0, -1]]
    for seed in range(12):
        scores = np.full((60, 10), np.nan)
        scores[:, turned] = latent(np.random.default_rng(seed), 60)[:, turned]
        both = reads(scores)
        one, apart = stat.ascending(both), extremes(both)
        half = (one.interval.high - one.interval.low) / 2
        assert apart.interval.high > max(abs(one.value), 0.6 * half)


@pytest.mark.parametrize("kept", [1.0, 0.7, 0.08])
def test_sums_over_units_are_those_of_the_single_reads(kept: float) -> None:
    """Sums of each item and order, against reads centred one by one: dense, with gaps, and one order each."""
    rng = np.random.default_rng(7)
    scores = latent(rng, 60, shift=0.5) + 100.0
    scores[rng.random(scores.shape) > kept] = np.nan
    given = reads(scores, units=np.arange(60) // 3)
    given = replace(
        given, item=np.repeat(given.item, 2), order=np.repeat(given.order, 2), value=np.repeat(given.value, 2)
    )
    predictors = np.column_stack([stat.direction(ROTATIONS), SCORES[ROTATIONS]])
    x, y = stat.centred(given, predictors[given.order]), stat.centred(given, given.value[:, None])
    top, bottom = np.zeros((20, 6)), np.zeros((20, 6))
    np.add.at(top, given.unit[given.item], x * y)
    np.add.at(bottom, given.unit[given.item], x**2)
    for found, by_hand in zip(stat.unit_sums(given, predictors), (top, bottom), strict=True):
        assert found == pytest.approx(by_hand, abs=1e-9)
    assert given.dealt_one_each == (kept < 0.5)


def test_an_item_that_was_always_read_alike_weighs_nothing() -> None:
    """In orders that ascend equally there is nothing to compare, and rounding makes nothing up."""
    third = np.array([[0, 2, 1], [1, 0, 2]])
    assert stat.direction(third)[0] == pytest.approx(stat.direction(third)[1])
    item, order = np.repeat(np.arange(9), 3), np.tile([0, 1, 1], 9)
    value = np.random.default_rng(0).integers(1, 4, 27).astype(float)
    given = stat.OrderReads(item, order, value, np.arange(9), 9, third, np.array([1.0, 2, 3]))
    top, bottom = stat.unit_sums(given, stat.direction(third)[:, None])
    assert not bottom.any()
    assert not top.any()


def test_nothing_read_yet_moves_nothing() -> None:
    nothing = np.zeros(0, dtype=np.int64)
    given = stat.OrderReads(nothing, nothing, np.zeros(0), nothing, 0, np.zeros((0, 5), dtype=np.int64), SCORES)
    assert np.isnan(stat.ascending(given).value)
    assert [part.shape for part in stat.unit_sums(given, np.zeros((0, 1)))] == [(0, 1), (0, 1)]
