"""Shared inference: resampling, percentile intervals, Holm."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from rubriclab.stats import inference


def test_weights_draw_every_unit_once_on_average() -> None:
    weights = inference.resample_weights(7, 5000, np.random.default_rng(0))
    assert (weights.sum(axis=1) == 7).all()
    # Var of a multinomial count = 1 - 1/7; standard error over 5,000 draws 0.013.
    assert weights.mean(axis=0) == pytest.approx(np.ones(7), abs=0.06)
    assert weights.var(axis=0) == pytest.approx(np.full(7, 6 / 7), abs=0.1)


def test_bootstrap_standard_error_of_a_mean() -> None:
    values = np.random.default_rng(1).normal(size=(500, 1))
    draws = inference.bootstrap_sums(values, n_boot=4000, seed=2)[:, 0] / 500
    assert draws.std() == pytest.approx(values.std() / np.sqrt(500), rel=0.06)


def test_many_units_are_grouped_without_changing_the_answer() -> None:
    values = np.random.default_rng(1).exponential(size=(20_011, 1))
    sums = np.concatenate([values, np.ones_like(values)], axis=1)
    draws = inference.bootstrap_sums(sums, n_boot=4000, seed=2, statistic=lambda totals: totals[:, 0] / totals[:, 1])
    # 1,000 groups: 2 % on the standard error, 4,000 draws another 1 %; three of both.
    assert draws.std() == pytest.approx(values.std() / np.sqrt(20_011), rel=0.08)
    assert draws.mean() == pytest.approx(values.mean(), abs=3e-3)


def test_same_seed_same_draws() -> None:
    values = np.arange(12.0).reshape(6, 2)
    first = inference.bootstrap_sums(values, n_boot=10, seed=3)
    assert (first == inference.bootstrap_sums(values, n_boot=10, seed=3)).all()
    assert (first != inference.bootstrap_sums(values, n_boot=10, seed=4)).any()


def test_percentile_interval_leaves_nan_out() -> None:
    samples = np.append(np.arange(101.0), np.nan)
    assert inference.percentile_interval(samples) == pytest.approx((2.5, 97.5))
    assert np.isnan(inference.percentile_interval(np.array([1.0, np.nan]))).all()


def test_holm_agrees_with_statsmodels_and_skips_nan() -> None:
    p = np.array([0.01, 0.04, 0.03, 0.005, 0.9])
    assert inference.holm(p) == pytest.approx(multipletests(p, method="holm")[1])
    with_gap = inference.holm(np.array([0.02, np.nan, 0.03]))
    # Two tests: 0.02 x 2, then max(0.04, 0.03 x 1).
    assert with_gap[[0, 2]] == pytest.approx([0.04, 0.04])
    assert np.isnan(with_gap[1])


@pytest.mark.parametrize("columns", [(), (1,), (3,), (2, 4)])
def test_sums_of_many_rows_are_those_of_few_to_the_last_bit(columns: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    code, values = rng.integers(0, 50, 12_000), rng.normal(size=(12_000, *columns))
    in_one_pass = inference.sum_by(code, values, 60)
    assert in_one_pass.shape == (60, *columns)
    by_hand = np.zeros((60, *columns))
    np.add.at(by_hand, code, values)
    assert np.array_equal(in_one_pass, by_hand)
    parts = [inference.sum_by(code, column, 60) for column in values.reshape(12_000, -1).T]
    assert np.array_equal(np.stack(parts, axis=1).reshape(by_hand.shape), by_hand)


@pytest.mark.parametrize("most", [30, 10**9])
def test_distinct_codes_are_numpys(most: int) -> None:
    rng = np.random.default_rng(1)
    for codes in (rng.integers(0, most, 500), rng.integers(-most, most, 500), np.zeros(0, dtype=np.int64)):
        values, rank = inference.distinct(codes)
        assert np.array_equal(values, np.unique(codes))
        assert np.array_equal(values[rank], codes)


def test_shuffled_is_lexsort() -> None:
    rng = np.random.default_rng(2)
    codes, draw = rng.integers(-3, 40, 3_000), rng.random(3_000)
    assert np.array_equal(inference.shuffled(codes, draw), np.lexsort((draw, codes)))
    table, draws = codes.reshape(2, 30, 50), 1.0 - draw.reshape(2, 30, 50)
    for one, of, by in zip(
        inference.shuffled(table, draws).reshape(60, 50), table.reshape(60, 50), draws.reshape(60, 50), strict=True
    ):
        assert np.array_equal(one, np.lexsort((by, of)))
    far = codes * 2**40
    assert np.array_equal(inference.shuffled(far, draw), np.lexsort((draw, far)))


def test_groups_of_units_keep_totals_and_the_variance_of_a_mean() -> None:
    rng = np.random.default_rng(3)
    values, ones = rng.normal(size=(20_000, 2)), np.ones(20_000)
    sums, sizes = inference.in_groups((values, ones), 1_000, rng)
    assert (len(sums), len(sizes)) == (1_000, 1_000)
    assert sums.sum(axis=0) == pytest.approx(values.sum(axis=0))
    assert sizes.sum() == 20_000
    assert sums.std(axis=0) * np.sqrt(1_000) == pytest.approx(values.std(axis=0) * np.sqrt(20_000), rel=0.08)
    few = inference.in_groups((values[:10],), 1_000, rng)
    assert np.array_equal(few[0], values[:10])
