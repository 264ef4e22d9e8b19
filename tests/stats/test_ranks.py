"""Rank sets: all equal, clearly apart, by hand for two, and their simultaneous coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rubriclab.stats.inference import degrees_of_freedom
from rubriclab.stats.ranks import rank_sets


def without_each(rows: np.ndarray) -> np.ndarray:
    n = len(rows)
    return (rows.sum(axis=0) - rows) / (n - 1)


def sets_of(rows: np.ndarray):
    return rank_sets(rows.mean(axis=0), without_each(rows))


def test_equal_ones_keep_every_rank_open_and_clear_ones_have_one() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 5)) + np.array([10.0, 8, 6, 4, 2])
    found = sets_of(rows)
    assert found is not None
    assert found.low.tolist() == found.high.tolist() == [1, 2, 3, 4, 5]
    same = sets_of(np.repeat(rng.normal(size=(60, 1)), 3, axis=1))
    assert same is not None
    assert same.low.tolist() == [1, 1, 1]
    assert same.high.tolist() == [3, 3, 3]
    assert rank_sets(np.array([1.0]), np.ones((10, 1))) is None
    assert rank_sets(np.array([1.0, 2]), np.ones((3, 2))) is None


def test_with_two_it_is_the_paired_t_test() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(40, 2))
    gap = rows[:, 0] - rows[:, 1]
    t = (gap.mean() / gap.std(ddof=1)) * np.sqrt(40)
    for target, settled in ((1.9, False), (2.15, True)):  # t(39) has 2.02
        shifted = rows + np.array([(target - t) * gap.std(ddof=1) / np.sqrt(40), 0.0])
        found = sets_of(shifted)
        assert found is not None
        assert (found.high[0] == 1) == settled


@pytest.mark.slow
def test_all_sets_at_once_hold_the_true_ranks() -> None:
    """Ten in groups of equals: the true rank of each is any of its group's."""
    rng = np.random.default_rng(2)
    truth = np.array([0.4] * 3 + [0.0] * 7)
    inside = same = 0
    for _ in range(250):
        shared = rng.normal(size=(60, 1))
        found = sets_of(shared + rng.normal(size=(60, 10)) + truth)
        assert found is not None
        inside += bool((found.low[:3] == 1).all() and (found.high[3:] == 10).all())
        none = sets_of(shared + rng.normal(size=(60, 10)))
        assert none is not None
        same += bool((none.low == 1).all() and (none.high == 10).all())
    assert inside / 250 > 0.91
    assert 0.915 < same / 250 < 0.985


def test_few_units_say_nothing_of_ranks() -> None:
    """Of fifteen skewed values the sets held all at once in 0.85 of studies: too few to say."""
    rng = np.random.default_rng(3)
    assert sets_of(rng.lognormal(size=(19, 6))) is None
    assert sets_of(rng.lognormal(size=(20, 6))) is not None


def test_the_widest_difference_is_that_of_a_multiplier_for_each_unit() -> None:
    """What the source draws, a normal number for each unit, against the few that have its distribution."""
    rng = np.random.default_rng(4)
    rows = rng.lognormal(size=(80, 6)) @ rng.normal(size=(6, 6))
    found = rank_sets(rows.mean(axis=0), without_each(rows), draws=20_000)
    assert found is not None
    influence = (rows - rows.mean(axis=0)) / np.sqrt(79 * 80)
    se = np.sqrt((influence**2).sum(axis=0))
    largest = np.abs(rng.standard_normal((20_000, 80)) @ influence / se).max(axis=1)
    wider = found.reach / se
    assert (wider >= np.quantile(largest, 0.95) * 0.97).all(), "Student's t is wider than the normal"
    degrees = degrees_of_freedom(influence)
    t = stats.t.isf(stats.norm.sf(np.quantile(largest, 0.95)), degrees)
    assert wider == pytest.approx(t, rel=0.03)


def test_fewer_units_than_values_have_sets_too() -> None:
    rows = np.random.default_rng(5).normal(size=(20, 30)) + np.arange(30.0)
    found = sets_of(rows)
    assert found is not None
    assert (found.low <= found.high).all()
    assert found.low[-1] == 1
