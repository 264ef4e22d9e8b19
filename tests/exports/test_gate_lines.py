"""What the gate says about a change between two runs, and which way."""

import re

import pytest

from rubriclab.core.drift import drift
from rubriclab.core.judgments import Judgments
from rubriclab.exports.gate_lines import drift_lines
from rubriclab.model.study import Smallest
from rubriclab.words.phrases import NBSP
from tests.tables import options

ORDERS = [[1, 2, 3], [3, 2, 1]]
ONE, TWO = [1, 1, 1, 1], [2, 2, 2, 2]
FIRST = [1, 3, 1, 3]
"""An item's calls, in either order in turn: the option listed first is taken."""
NOISY = [1, 1, 2, 1]
"""The first order gives 1, then 2."""


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (ONE, TWO, "The mean score is 1.00 points higher"),
        (TWO, ONE, "The mean score is 1.00 points lower"),
        (ONE, FIRST, "Position 1 gains 50 percentage points more"),
        (FIRST, ONE, "Position 1 gains 50 percentage points less"),
        # One of two orders differs: half of the pairs of calls in the same order.
        (ONE, NOISY, "50 percentage points more of scores change"),
        (NOISY, ONE, "50 percentage points less of scores change"),
    ],
)
def test_a_change_is_said_with_its_size_and_way(
    before: list[int], after: list[int], said: str
) -> None:
    arms = [Judgments(options([calls] * 12, ORDERS), "auto").arms for calls in (before, after)]
    lines = drift_lines(arms[1][0].condition, drift(arms[0], arms[1], Smallest()))
    (changed,) = [line for line in lines if said in line.replace(NBSP, " ")]
    assert re.match(r"  Changed: (Level|Order effect|Noise): ", changed)
