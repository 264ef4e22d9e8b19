"""Rank change between two tables of scores: scipy's tau, ties and gaps by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as sp

from rubriclab.stats.ranking import kendall_tau_b, pick_value, rank_change

NAN = np.nan


def test_tau_b_is_scipys_with_ties_and_gaps() -> None:
    rng = np.random.default_rng(0)
    a = rng.integers(1, 4, (300, 5)).astype(float)
    b = rng.integers(1, 4, (300, 5)).astype(float)
    a[rng.random(a.shape) < 0.1] = NAN
    ours = kendall_tau_b(a, b)
    for i in range(300):
        both = np.isfinite(a[i])
        if both.sum() < 2 or np.ptp(a[i][both]) == 0 or np.ptp(b[i][both]) == 0:
            assert np.isnan(ours[i])
        else:
            assert ours[i] == pytest.approx(sp.kendalltau(a[i][both], b[i][both]).statistic)
    assert np.isnan(ours).any()


def test_flips_by_hand() -> None:
    a = np.array([[3.0, 2, 1], [3, 3, 1], [3, 3, 1], [2, 2, 2], [3, NAN, 1], [3, NAN, NAN]])
    b = np.array([[1.0, 2, 3], [3, 2, 1], [1, 1, 3], [3, 2, 1], [1, 5, 3], [3, 2, 1]])
    found = rank_change(a, b)
    assert found.used.tolist() == [True] * 5 + [False]
    # Row 1 shares a winner; row 3 ties everything on one side, so whoever wins was a winner.
    assert found.flip.tolist() == [True, False, True, False, True, False]
    assert found.strict.tolist() == [True, True, True, True, True, False]
    assert found.pick_change.tolist() == [True, False, True, False, True, False]
    assert found.tied.tolist() == [False, False, False, True, False, False]
    assert found.tau[0] == -1.0


def test_rounding_is_no_difference() -> None:
    found = rank_change(np.array([[0.1 + 0.2, 0.3]]), np.array([[1.0, 1.0]]))
    assert not found.strict[0]
    assert found.tied[0]


def test_no_prompts_and_no_candidates() -> None:
    for shape in ((0, 3), (2, 0), (2, 1)):
        found = rank_change(np.full(shape, 1.0), np.full(shape, 1.0))
        assert found.used.sum() == found.flip.sum() == found.tied.sum() == 0


def test_pick_value_by_hand() -> None:
    a = np.array([[3.0, 2, 1], [3, 3, 1], [3, 2, 1]])
    b = np.array([[1.0, 2, 3], [1, 2, 3], [3, 2, NAN]])
    human = np.array([[5.0, 3, 1], [4, 2, 1], [NAN, 3, 2]])
    change = rank_change(a, b)
    worth = pick_value(change, np.isfinite(a) & np.isfinite(b), human)
    np.testing.assert_allclose(worth.a, [5, 3, NAN])
    np.testing.assert_allclose(worth.b, [1, 1, NAN])
    np.testing.assert_allclose(worth.best, [5, 4, NAN])
    np.testing.assert_allclose(worth.chance, [3, 7 / 3, NAN])
