"""Score options with one random order an item: items are compared with items, never with themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from rubriclab.datasets.scores import read_scores
from rubriclab.findings.position import position
from rubriclab.findings.position_results import PositionArm
from rubriclab.findings.shift import one_words
from rubriclab.model import RunData

SCORES = np.arange(1, 6)


def judged(
    items: int, *, reads: int = 1, again: int = 0, pull: float = 0.0, turned: int = 0, two: bool = False, seed: int = 0
) -> RunData:
    """A latent-trait judge that likes what stands first by ``pull``; every item in a random order of its
    own, read ``reads`` times. ``again``: items with one read more in the same order, ``turned``: in its
    reverse; ``two``: only the two ends of the scale first."""
    rng, rows = np.random.default_rng(seed), []
    for i in range(items):
        quality, order = rng.normal(3.2, 1.0), rng.permutation(SCORES)
        if two:
            order = SCORES[:: rng.choice([1, -1])]
        orders = [order] * (reads + (i < again)) + [order[::-1]] * (i < turned)
        for repeat, shown in enumerate(orders):
            felt = -1.2 * (SCORES - quality) ** 2 + pull * (shown[0] == SCORES) + rng.gumbel(size=5)
            rows.append(("j", "d", f"i{i}", " ".join(map(str, shown)), SCORES[int(felt.argmax())], repeat))
    columns = ["judge", "dataset", "item_id", "ordering", "score", "repeat"]
    return read_scores(pd.DataFrame(rows, columns=columns).astype(str), name="d")


def arm(data: RunData) -> PositionArm:
    (one,) = position(data, n_boot=100).arms
    return one


def test_nothing_is_said_of_what_no_item_was_read_for() -> None:
    """Before: "differ by nan points" and "This judge never moved with the order", p = 1."""
    for data, calls in ((judged(60), 120), (judged(60, reads=3), 60)):
        one = arm(data)
        assert np.isnan(one.position.any_order.p)
        assert "read in two orders" in one.position.any_order.note
        said = one_words(one.shift)
        assert said.startswith(f"Not settled: no item was read in two orders. {calls} calls would tell")
        assert "nan" not in said
        assert one.shift.one.verdict == "undecided"
        assert one.shift.one.why == "no item was read in two orders"
        assert any("dealt at random" in warning for warning in one.warnings)


def test_an_effect_that_permuting_shows_is_not_said_to_be_a_difference_of_readings() -> None:
    """Before: "Yes: two readings in different orders differ by 1.24 points, in one and the same order by 1.40"."""
    shift = arm(judged(60, reads=3, turned=5)).shift
    few = replace(shift.one, verdict="effect", why="2 units are too few for an interval; 8 are needed")
    said = one_words(
        replace(shift, one=few, single=replace(shift.single, other=1.24, same=1.40, source="this arm", n_items=2))
    )
    assert said.startswith("Yes: scores change with the order by more than chance, as permuting")
    assert "is not known: 2 units are too few for an interval; 8 are needed. Here two readings" in said


@pytest.mark.parametrize("kind", [{"reads": 3}, {"again": 5}, {"turned": 5}])
def test_repeats_of_some_items_do_not_lose_the_others(kind: dict[str, int]) -> None:
    """Before: "0 units are too few" where five of 120 were read twice, and extremes of exactly [0, 0]."""
    one, once = arm(judged(120, pull=1.5, **kind)), arm(judged(120, pull=1.5))
    assert one.shift.n_units == once.shift.n_units == 120
    ends, alone = one.shift.ascending_ci, once.shift.ascending_ci
    assert 0.6 < (ends.high - ends.low) / (alone.high - alone.low) < 1.4
    assert one.shift.extremes_ci.high > 0.1
    assert one.position.test.p < 0.05
    assert np.isfinite(one.position.test.p)


def test_by_hand_the_slope_between_items() -> None:
    """Four items ascending with 4, 5, 4, 5 and four descending with 2, 3, 2, 3: two points apart."""
    rows = [("j", "d", f"i{k}", "1 2 3 4 5", 4 + k % 2, 0) for k in range(4)]
    rows += [("j", "d", f"i{k}", "5 4 3 2 1", 2 + k % 2, 0) for k in range(4, 8)]
    rows += [("j", "d", "i0", "1 2 3 4 5", 4, 1)]
    columns = ["judge", "dataset", "item_id", "ordering", "score", "repeat"]
    one = arm(read_scores(pd.DataFrame(rows, columns=columns).astype(str), name="d"))
    # Of nine reads: mean 22 / 5 under the ascending order, 10 / 4 under the descending one.
    assert one.shift.ascending == pytest.approx(22 / 5 - 10 / 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [{"reads": 3}, {"again": 5}])
def test_no_false_alarm_and_shares_that_cover(kind: dict[str, int]) -> None:
    alarms, slopes, covered, studies = 0, 0, [], 30
    for seed in range(studies):
        one = arm(judged(60, seed=seed, **kind))
        alarms += one.position.test.p < 0.05
        slopes += not one.shift.ascending_ci.low <= 0.0 <= one.shift.ascending_ci.high
        covered += [ends.low <= 0.2 <= ends.high for ends in one.position.share_ci]
    assert alarms <= 5  # 5 % of 30 and three Monte Carlo errors
    assert slopes <= 5
    assert 0.91 <= np.mean(covered) <= 0.99


def test_two_orders_only_carry_no_test_of_shares() -> None:
    one = arm(judged(120, two=True))
    assert np.isnan(one.position.test.p)
    assert np.isfinite(one.shift.ascending_ci.low)
