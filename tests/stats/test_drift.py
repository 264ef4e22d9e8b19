"""What changed between two times: numbers by hand, by other routes, and by other libraries."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rubriclab.stats.drift import Cells, contrasts, level, needed, noise, parts, split, spread
from rubriclab.stats.inference import Floats, Ints


def cells(
    then: Floats, now: Floats, *, unit: Ints | None = None, repeated: bool = False, slopes: Floats | None = None
) -> Cells:
    """Cells of one read each; with ``repeated`` the first order was read twice, 1 apart then and 2 apart now."""
    items, orders = then.shape
    nothing = np.full(then.shape, np.nan)
    gaps = [nothing.copy() for _ in range(4)]
    if repeated:
        for grid, value in zip(gaps, (1.0, 2.0, 0.5, 2.0), strict=True):
            grid[:, 0] = value
    known = np.arange(float(orders))[None, :, None] if slopes is None else slopes
    unit = np.arange(items) if unit is None else unit
    return Cells(then, now, then, now, *gaps, known, np.ones(known.shape[2]), unit, int(unit.max()) + 1, 1.0)


def drawn(items: int = 40, orders: int = 5, *, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    own = rng.normal(3.0, 1.0, (items, 1))
    return own + rng.normal(0, 0.5, (items, orders)), own * 0.8 + 0.4 + rng.normal(0, 0.7, (items, orders))


def test_the_level_is_the_paired_t_interval_of_items_means() -> None:
    then, now = drawn()
    found = level(cells(then, now))
    other = scipy_stats.ttest_rel(now.mean(axis=1), then.mean(axis=1)).confidence_interval()
    assert found.value == pytest.approx(float((now - then).mean()))
    np.testing.assert_allclose(found.interval, (other.low, other.high))


def test_what_was_read_at_one_time_alone_is_no_change() -> None:
    then, now = np.tile([1.0, 5.0], (10, 1)), np.tile([1.0, 5.0], (10, 1))
    now[::2, 0] = np.nan  # the low order is missing now; its mean alone would have risen by 2
    assert level(cells(then, now)).value == 0.0


def test_noise_is_the_change_of_the_gap_of_two_reads() -> None:
    then, now = drawn(items=10)
    assert noise(cells(then, now, repeated=True)).value == pytest.approx(1.0)
    assert np.isnan(noise(cells(then, now)).value)


def test_a_contrast_is_the_slope_with_an_intercept_for_each_item() -> None:
    then, now = drawn(items=12, orders=4)
    now[3, 1] = np.nan
    slopes = np.random.default_rng(1).normal(size=(12, 4, 1))
    found = contrasts(cells(then, now, slopes=slopes))[0]
    known = np.isfinite(now)
    dummies = np.repeat(np.eye(12), 4, axis=0)[known.ravel()]
    design = np.column_stack([slopes[:, :, 0][known], dummies])
    fitted = np.linalg.lstsq(design, (now - then)[known], rcond=None)[0]
    assert found.value == pytest.approx(fitted[0])


def test_spread_is_what_different_orders_of_an_item_share() -> None:
    """The variance and the correlation without noise are means of covariances of different orders."""
    then, now = drawn()
    found = spread(cells(then, now))

    def shared(a: Floats, b: Floats) -> float:
        return float(np.mean([np.cov(a[:, k], b[:, m])[0, 1] for k, m in permutations(range(a.shape[1]), 2)]))

    assert found.then == pytest.approx(np.sqrt(shared(then, then)))
    assert found.now == pytest.approx(np.sqrt(shared(now, now)))
    assert shared(then, now) > found.then * found.now  # in this sample: more than a correlation can be
    assert found.correlation == 1.0
    turned = spread(cells(then, 0.5 * now + 0.5 * now[::-1]))
    assert turned.correlation == pytest.approx(shared(then, 0.5 * now + 0.5 * now[::-1]) / (turned.then * turned.now))
    assert found.change.value == pytest.approx(found.now - found.then)
    assert found.change.interval.low < -0.2 < found.change.interval.high


def test_parts_of_the_squared_change_add_up_to_it() -> None:
    then, now = drawn()
    found = parts(cells(then, now, repeated=True))
    assert found.value.sum() == pytest.approx(float(((now - then) ** 2).mean()))
    assert found.share.sum() == pytest.approx(1.0)
    assert found.value[3] == 0.5 + 2.0
    change = (now - then).mean(axis=1)
    assert found.value[0] == pytest.approx(change.mean() ** 2 - change.var(ddof=1) / len(change))
    without = parts(cells(then, now))
    assert np.isnan(without.value[3])
    assert without.value[2] == pytest.approx(float((now - then).var(axis=1, ddof=1).mean()))


def test_a_level_alone_is_all_of_the_change() -> None:
    then, _ = drawn()
    found = parts(cells(then, then + 0.5))
    np.testing.assert_allclose(found.share[:3], [1.0, 0.0, 0.0], atol=1e-12)


def test_no_change_has_no_parts() -> None:
    then = np.random.default_rng(5).normal(3.0, 1.0, (40, 5)) / 3.0
    found = parts(cells(then, then + 1e-9))
    assert np.isnan(found.share).all()
    assert all(np.isnan(ci.low) for ci in found.interval)


def test_the_split_adds_up_and_its_whole_is_welchs_interval() -> None:
    then, now = drawn()
    rng = np.random.default_rng(2)
    old, new = rng.normal(3.0, 1.0, 70), rng.normal(3.5, 2.0, 25)
    old[:40] = then.mean(axis=1)
    units = np.arange(70), 70 + np.arange(25)
    found = split(cells(then, now), (old, units[0]), (new, units[1]), n_units=95)
    assert found.total.value == pytest.approx(found.judge.value + found.data.value)
    other = scipy_stats.ttest_ind(new, old, equal_var=False).confidence_interval()
    np.testing.assert_allclose(found.total.interval, (other.low, other.high))


def test_the_data_part_knows_that_anchors_are_among_the_old_data() -> None:
    """Where all old items are anchors, the data's part is the new mean less the old one as it is now: no more."""
    then, now = drawn()
    new = np.random.default_rng(3).normal(3.5, 2.0, 25)
    units = np.arange(40), 40 + np.arange(25)
    found = split(cells(then, now), (then.mean(axis=1), units[0]), (new, units[1]), n_units=65)
    exact = np.sqrt(now.mean(axis=1).var(ddof=1) / 40 + new.var(ddof=1) / 25)
    reach = (found.data.interval.high - found.data.interval.low) / 2
    assert found.data.value == pytest.approx(float(new.mean() - now.mean()))
    assert 1.9 < reach / exact < 2.1


def test_too_few_units_have_no_interval() -> None:
    then, now = drawn(items=7)
    found = cells(then, now, repeated=True)
    for one in (level(found), noise(found), *contrasts(found), spread(found).change):
        assert np.isnan(one.interval.low)
    assert all(np.isnan(ci.low) for ci in parts(cells(*drawn(items=29))).interval)
    assert all(np.isfinite(ci.low) for ci in parts(cells(*drawn(items=30), repeated=True)).interval[1:])


def test_a_judge_that_stands_still_is_shown_to_by_as_many_as_planned() -> None:
    """1 - 0.025^(1/n) < 0.1 from n = log 0.025 / log 0.9 = 35.01 on."""
    assert needed(0.0, 0.1, step=1.0, confidence=0.95) == 36
    for n, inside in ((35, False), (36, True)):
        still = np.full((n, 2), 3.0)
        assert (level(cells(still, still)).interval.high < 0.1) == inside


def test_planned_units_reach_the_power_that_was_asked() -> None:
    n = needed(0.5, 0.1, step=1.0, confidence=0.9875)
    assert n is not None
    rng = np.random.default_rng(4)
    sample = rng.normal(0.0, 0.5, (4_000, n))
    reach = scipy_stats.t.ppf(0.99375, n - 1) * sample.std(axis=1, ddof=1) / np.sqrt(n)
    inside = (np.abs(sample.mean(axis=1)) + reach < 0.1).mean()
    assert 0.78 < inside < 0.84
    assert needed(5.0, 0.1, step=1.0, confidence=0.95, most=1_000) is None
