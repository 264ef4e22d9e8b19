"""The permutation engine: deals by hand, batches that are added up, random streams."""

import numpy as np
import pytest

from rubriclab.core.permutation import Deals, Swaps, deal, together, upper_p


def test_every_swap_of_two_units_by_hand() -> None:
    """Changes of 1 and 2: their sums are 1+2, 1-2, -1+2, -1-2."""
    dealt = deal(Swaps(np.array([[1.0], [2.0]])))
    assert dealt.exact
    assert dealt.sums.tolist() == [[3.0], [-1.0], [1.0], [-3.0]]
    # Two of four deals are as large in size as the observed 3.
    assert upper_p(np.abs(dealt.sums[:, 0]))[0] == 2 / 4


def test_ties_count_against_the_observed_deal() -> None:
    assert upper_p(np.array([2.0, 1.0, 2.0, 3.0])).tolist() == [3 / 4, 1.0, 3 / 4, 1 / 4]


def test_equal_sums_are_ties_whatever_their_last_bits() -> None:
    """Of four deals the observed one and the next are as far: 0.1 + 0.2 is 0.3 and a last bit."""
    gate = together({"level": np.array([0.1 + 0.2, 0.3, 0.0, 0.0])}, {"level": 1.0}, exact=True)
    assert (gate.p, gate.parts, gate.least) == (2 / 4, {"level": 2 / 4}, 2 / 4)


def test_batches_add_up_to_the_test_of_all_units() -> None:
    """Six units that all change by 1: no swap but the opposite one is as large, p = 2 / 2^6."""
    batches = [Swaps(np.ones((3, 1))), Swaps(np.ones((3, 1)))]
    first, second = (deal(batch, deals=20_000, number=k) for k, batch in enumerate(batches, 1))
    assert not np.array_equal(first.sums, second.sums), "each batch has its own random numbers"
    both = first.plus(second)
    assert both.sums[0].tolist() == [6.0]
    assert both.sums.shape == (20_001, 1)
    assert upper_p(np.abs(both.sums[:, 0]))[0] == pytest.approx(2 / 64, abs=0.005)


def test_deals_of_other_sizes_cannot_be_added_up() -> None:
    drawn = deal(Swaps(np.ones((3, 1))), deals=10)
    for other in (deal(Swaps(np.ones((3, 1))), deals=11), deal(Swaps(np.ones((3, 1))))):
        with pytest.raises(ValueError, match="same number of random deals"):
            drawn.plus(other)
    assert isinstance(drawn, Deals)
