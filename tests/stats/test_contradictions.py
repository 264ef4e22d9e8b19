"""Contradictions and cycles: by hand, and by coins."""

import numpy as np
import pytest

from rubriclab.stats.contradictions import cycles, opposite, stable


def test_opposite_sides_contradict_and_ties_do_not() -> None:
    one = np.array([1.0, 1, 0, -2, np.nan])
    other = np.array([-0.5, 2, -1, 1, 1])
    assert opposite(one, other)[:4].tolist() == [1, 0, 0, 1]
    assert np.isnan(opposite(one, other)[4])


def test_a_side_is_stable_if_all_rounds_prefer_it() -> None:
    rounds = np.array([[1.0, 2], [1, -1], [0, 1], [-1, -3], [1, np.nan]])
    assert stable(rounds)[:4].tolist() == [1, 0, 0, -1]
    assert np.isnan(stable(rounds)[4])


def test_cycles_by_hand() -> None:
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    assert cycles(first, second, np.array([1.0, -1, 1])) == (1, 1)  # 0 > 1 > 2 > 0
    assert cycles(first, second, np.array([-1.0, 1, -1])) == (1, 1)  # the other way round
    assert cycles(first, second, np.array([1.0, 1, 1])) == (0, 1)
    assert cycles(first, second, np.array([1.0, 0, 1])) == (0, 1)  # a tie
    assert cycles(first, second, np.array([1.0, np.nan, 1])) == (0, 0)
    assert cycles(first[:2], second[:2], np.array([1.0, 1])) == (0, 0)


def test_coins_make_a_cycle_of_every_fourth_triple() -> None:
    # Of 8 outcomes of three pairs, 2 are cycles. Four candidates have four triples.
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(4, 1)
    counted = [cycles(first, second, rng.choice([-1.0, 1.0], 6)) for _ in range(4_000)]
    found, complete = np.array(counted).T
    assert set(complete) == {4}
    assert found.sum() / complete.sum() == pytest.approx(0.25, abs=0.01)
