"""Several answers scored in one call: shifts of the pooled target, and what company does to a score."""

from __future__ import annotations

import numpy as np
import pytest

from tests.tables import findings, only, responses

FORTH = [[0, 1, 2], [2, 1, 0]]
ROTATED = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
rng = np.random.default_rng


def first_gains(batches: int, orders: list[list[int]], gain: float, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    """(batches, calls, 3): answers worth 2, 3 and 4; the first one in the call gains."""
    position = np.argsort(np.array(orders), axis=1)
    level = np.array([2.0, 3.0, 4.0]) + gain * (position == 0)
    return level[None] + rng(seed).normal(0, noise, (batches, *level.shape)) * (noise > 0)


def test_shifts_are_pooled_over_answers_and_have_no_target() -> None:
    # Each answer is first in one of three orders and gains 1 there: its mean is +1/3, so +2/3, -1/3, -1/3.
    found = findings(responses(first_gains(9, ROTATED, 1.0), ROTATED))
    shifts = found.select("position_shift")
    assert [row.of for row in shifts] == [{"position": 1}, {"position": 2}, {"position": 3}]
    assert [row.value for row in shifts] == pytest.approx([2 / 3, -1 / 3, -1 / 3])
    assert shifts[0].label == "at position 1"
    assert only(found, "first_minus_last").value == pytest.approx(1.0)
    assert only(found, "delta_pos").value == pytest.approx(1.0)
    # Nine blocks of ranks (3, 1.5, 1.5), ties counted: chi-square 9 x 2 = 18.
    assert only(found, "friedman").value == pytest.approx(18.0)
    assert only(found, "friedman").counts["n"] == 9
    assert not found.select("carryover")


def test_what_stands_where_does_not_count_as_position() -> None:
    # Two orders: the middle answer never moves and says nothing; the best one is last in the first order.
    found = findings(responses(first_gains(9, FORTH, 0.0), FORTH))
    assert [row.value for row in found.select("position_shift")][::2] == pytest.approx([0.0, 0.0])
    assert only(found, "position_shift", position=2).why == "missing_cells"
    still = findings(responses(first_gains(9, [[0, 1, 2]], 1.0), [[0, 1, 2]]))
    assert only(still, "first_minus_last").why == "single_order"


def test_company_is_the_difference_from_the_same_answers_alone() -> None:
    # Alone 2, 3, 4. Together the first gains 1 in one of three orders: every mean is 1/3 higher.
    found = findings(responses(first_gains(9, ROTATED, 1.0), ROTATED, alone=[[2, 3, 4]] * 9))
    row = only(found, "company", 0)
    assert (row.value, row.of, row.counts["n"]) == (pytest.approx(1 / 3), {"against": 1}, 27)
    assert row.estimate.units == 9
    assert not findings(responses(first_gains(9, ROTATED, 1.0), ROTATED)).select("company")


@pytest.mark.parametrize(("gain", "effect"), [(0.0, False), (0.5, True)])
def test_a_planted_gain_of_the_first_answer(gain: float, effect: bool) -> None:
    score = np.clip(np.rint(first_gains(40, ROTATED * 2, gain, noise=0.5, seed=1)), 1, 5)
    found = findings(responses(score, ROTATED))
    assert (only(found, "favours_positions").verdict == "effect") == effect
    low, high = only(found, "first_minus_last").interval
    assert (low > 0) == effect
    assert high > 0
