"""The topic fragile: rounds, refusals, and zones that chance alone must not fill with effects."""

import numpy as np
import pytest

from rubriclab.measures.fragile import chances, fragile_items, rounds
from rubriclab.model.study import ReadingPart
from rubriclab.words.fragile import fragile_list
from tests.tables import criteria, findings, only, options

TWO = np.array([[0, 1], [1, 0]])
FIVE = np.array([[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]])


def table(first: np.ndarray, second: np.ndarray | None = None, orders: np.ndarray = TWO):
    """Two orders, each once (``first``: (items, 2)) or twice."""
    score = first if second is None else np.hstack([first, second])
    return options(score, orders)


def test_the_list_is_chosen_on_the_first_round_and_counted_on_the_second() -> None:
    # Items 0 to 19 differ in round 1, and 0 to 4 of them again in round 2; of the other 20 items
    # the last five differ in round 2 alone.
    first = np.tile([1.0, 1.0], (40, 1))
    first[:20, 0] = 0
    second = np.tile([1.0, 1.0], (40, 1))
    second[[*range(5), *range(35, 40)], 0] = 0
    found = findings(table(first, second))
    made = fragile_items(found.judgments.arms[0], None)
    assert sorted(made.listed.tolist()) == list(range(20))
    assert made.tied == 0
    assert only(found, "fragile_kept").value == pytest.approx(5 / 20)
    assert only(found, "fragile_rest").value == pytest.approx(5 / 20)
    words = fragile_list(found, 0)
    assert words is not None
    assert (
        "Of the 20 listed, 25 in 100 changed in the other round; of the rest, 25."
        in (words.lines[1])
    )
    assert words.title == "The 20 verdicts most likely to change in another order"
    assert words.items[0].given == "0 1"


def test_rounds_follow_the_order_and_not_the_row() -> None:
    order = [0, 0, 1, 1]  # each order twice, one after the other
    arm = findings(options(np.ones((3, 4)), TWO, order)).judgments.arms[0]
    assert rounds(arm).tolist() == [0, 1, 0, 1] * 3


def test_one_round_gives_a_list_without_a_promise_that_was_checked() -> None:
    first = np.ones((40, 2))
    first[:25, 1] = 0
    found = findings(table(first))
    words = fragile_list(found, 0)
    assert words is not None
    assert "Not checked: ask each order twice." in words.lines
    assert (
        "5 more verdicts have the same probability as the last one listed, and count in part."
        in words.lines
    )
    assert len(words.items) == 20
    assert only(found, "fragile_kept").why == "not_checked"
    assert {row.why for row in found.select("order_effect_by_zone")} == {"no_other_round"}


def test_fewer_than_30_items_are_refused() -> None:
    first = np.ones((29, 2))
    first[:9, 1] = 0
    found = findings(table(first, first))
    words = fragile_list(found, 0)
    assert words is not None
    assert not words.items
    assert "Fewer than 30 items" in words.lines[0]
    assert only(found, "fragile_promised").why == "few_for_fragile"
    assert {row.why for row in found.select("order_effect_by_zone")} == {"few_for_fragile"}
    assert not len(chances(found))


def test_items_that_never_change_are_refused() -> None:
    first = np.repeat([[0.0], [1.0]], 20, axis=0) + np.zeros((40, 2))
    assert fragile_items(findings(table(first)).judgments.arms[0], None).why == "no_changes"


def test_a_cut_makes_verdicts_of_scores() -> None:
    # Scores 4 and 5 both pass at 4, so only items with 3 and 4 change their verdict.
    first = np.tile([4.0, 5.0], (40, 1))
    first[:10] = [3, 4]
    arm = findings(table(first, orders=FIVE)).judgments.arms[0]
    assert fragile_items(arm, None).given.shape == (40, 5)
    made = fragile_items(arm, 4.0)
    assert made.outcomes == ("fail", "pass")
    assert set(made.listed[:10].tolist()) == set(range(10))
    words = fragile_list(findings(table(first, orders=FIVE), reading=ReadingPart(cut=4)), 0)
    assert words is not None
    assert "a pass instead of a fail" in words.lines[0]


def test_the_list_does_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(5)
    made = table(rng.integers(0, 2, (60, 2)).astype(float), rng.integers(0, 2, (60, 2)))
    mixed = made.rows.sample(frac=1, random_state=3).reset_index(drop=True)
    listed = []
    for rows in (made.rows, mixed):
        object.__setattr__(made, "rows", rows)
        arm = findings(made).judgments.arms[0]
        listed.append(arm.item_code[fragile_items(arm, None).listed].tolist())
    assert listed[0] == listed[1]


def test_criteria_in_one_call_have_a_list_and_no_zones() -> None:
    rng = np.random.default_rng(2)
    orders = np.array([[0, 1, 2], [2, 1, 0]])
    found = findings(criteria(rng.integers(1, 6, (30, 4, 3)), orders))
    words = fragile_list(found, 0)
    assert words is not None
    assert words.items[0].criterion in ("clarity", "depth", "style")
    assert not found.select("order_effect_by_zone")


def coins(rng: np.random.Generator, chance: np.ndarray) -> np.ndarray:
    """(items, 4): two orders asked twice; ``chance`` (items, 2) to pass in each."""
    return (rng.random((len(chance), 4)) < np.tile(chance, 2)).astype(float)


@pytest.mark.thorough
def test_zones_are_never_measured_on_the_round_that_made_them() -> None:
    """The order moves all items by 20 points; on its own round, mixed ones seem to move by 38."""
    rng = np.random.default_rng(8)
    chance = np.tile([0.4, 0.6], (4_000, 1))
    score = coins(rng, chance)
    found = findings(table(score))
    for zone in ("none_pass", "mixed", "all_pass"):
        row = only(found, "order_effect_by_zone", zone=zone)
        # Ascending lists are [0, 1] and pass less often.
        assert row.value == pytest.approx(-0.2, abs=0.05)
        assert row.interval[0] < -0.2 < row.interval[1]
        assert row.level > 0.97
        assert not row.verdict
    own = score[:, 0] != score[:, 1]
    trap = (score[own, 0] - score[own, 1]).mean()
    assert trap == pytest.approx((0.16 - 0.36) / 0.52, abs=0.05)


def test_zones_of_passes_are_in_percentage_points() -> None:
    """As the order effect itself is: both are changes of the pass rate."""
    found = findings(table(coins(np.random.default_rng(8), np.tile([0.4, 0.6], (400, 1)))))
    words = fragile_list(found, 0)
    assert words is not None
    whole, row = only(found, "line"), only(found, "order_effect_by_zone", zone="mixed")
    assert row.about.unit == whole.about.unit == "percentage points"
    assert "pass rate" in words.zones[0]
    size = f"{100 * row.value:+.1f}\N{NO-BREAK SPACE}percentage points".replace(
        "-", "\N{MINUS SIGN}"
    )
    assert words.zones[2].startswith(
        f"Ascending - descending, items that pass in some orders: {size} ("
    )


def test_zones_follow_the_score_that_passes() -> None:
    """A lower score that passes swaps the zones of items that never and always pass."""
    chance = np.random.default_rng(5).beta(0.5, 0.5, (400, 2))
    run = table(coins(np.random.default_rng(8), chance))
    upper, lower = findings(run), findings(run, reading=ReadingPart(passes="0"))
    for zone, other in (("none_pass", "all_pass"), ("mixed", "mixed"), ("all_pass", "none_pass")):
        row = only(lower, "order_effect_by_zone", zone=zone)
        swapped = only(upper, "order_effect_by_zone", zone=other)
        assert row.value == swapped.value
        assert row.counts["n"] == swapped.counts["n"]


def test_zones_of_longer_scales_are_in_points() -> None:
    score = np.random.default_rng(3).integers(1, 6, (200, 4)).astype(float)
    words = fragile_list(findings(options(score, FIVE)), 0)
    assert words is not None
    assert "mean score" in words.zones[0]
    assert "\N{NO-BREAK SPACE}points (" in words.zones[1]


def test_without_an_order_effect_no_zone_has_one() -> None:
    rng = np.random.default_rng(9)
    chance = np.repeat(rng.beta(0.7, 0.7, (2_000, 1)), 2, axis=1)
    found = findings(table(coins(rng, chance)))
    for row in found.select("order_effect_by_zone"):
        assert row.interval[0] < 0 < row.interval[1]
        assert abs(row.value) < 0.06


def test_a_copy_of_the_first_round_checks_nothing() -> None:
    """A judge at temperature 0 repeats itself: its second round would only confirm the choice."""
    first = np.random.default_rng(4).integers(0, 2, (60, 2)).astype(float)
    found = findings(table(first, first))
    words = fragile_list(found, 0)
    assert words is not None
    assert len(words.items) == 20
    assert "every repeat gave the same score" in words.lines[1]
    assert only(found, "fragile_kept").why == "copied_round"
    assert {row.why for row in found.select("order_effect_by_zone")} == {"copied_round"}
    second = first.copy()
    second[0, 0] = 1 - second[0, 0]
    assert np.isfinite(only(findings(table(first, second)), "fragile_kept").value)
