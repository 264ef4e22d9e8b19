"""Criteria, and several answers, in one call; and what limits every arm's numbers."""

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.model.judgment import Status
from tests.tables import NAMES, ORDERS, balanced_orders, choose, criteria, findings, only, options, responses

BALANCED = balanced_orders(3) - 1
WILLIAMS = np.array([[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]])
rng = np.random.default_rng


def by_position(orders: np.ndarray, add, texts: int, repeats: int = 1, noise: float = 0.0, seed: int = 0) -> np.ndarray:
    """(texts, calls, criteria): 3 plus what ``add(position)`` gives a criterion there, with noise; not rounded to a scale."""
    position = np.argsort(np.tile(orders, (repeats, 1)), axis=1)
    return 3.0 + add(position)[None] + rng(seed).normal(0, noise, (texts, *position.shape)) * (noise > 0)


@pytest.mark.papers(32, 33)
def test_shifts_first_minus_last_and_delta_pos_by_hand() -> None:
    # Every criterion: 4 where it stands first, else 3. Over six balanced orders each position twice: mean 10/3.
    found = findings(criteria(by_position(BALANCED, lambda p: (p == 0).astype(float), 9), BALANCED))
    for name in NAMES[:3]:
        shifts = [row.value for row in found.select("position_shift", target=name)]
        assert shifts == pytest.approx([2 / 3, -1 / 3, -1 / 3])
        assert only(found, "first_minus_last", target=name).value == pytest.approx(1.0)
        assert only(found, "delta_pos", target=name).value == pytest.approx(1.0)
    # Ranks 3, 1.5, 1.5 in each of nine texts: chi2 = [12/(9 x 12) x (27^2 + 2 x 13.5^2) - 3 x 9 x 4] / (1 - 6/24) = 18
    row = only(found, "friedman", target="clarity")
    assert row.value == pytest.approx(18.0)
    assert row.p == pytest.approx(np.exp(-9))  # chi-square on 2 degrees of freedom
    assert row.counts["n"] == 9
    assert row.counts["p_holm"] == pytest.approx(3 * np.exp(-9))


def test_intervals_of_a_table_hold_at_once() -> None:
    score = np.clip(np.rint(by_position(WILLIAMS, lambda p: 0.3 * (p == 0), 40, noise=0.8)), 1, 5)
    found = findings(criteria(score, WILLIAMS))
    (shift,) = {row.level for row in found.select("position_shift")}
    (ends,) = {row.level for row in found.select("first_minus_last")}
    assert 0.95 < ends < shift < 1 - 0.05 / 16 + 0.001


def test_the_mean_of_all_criteria_turns_with_the_list() -> None:
    forward = np.array([0, 1, 2, 3, 4, 5]) < 3  # three rotations forwards, then three backwards
    score = np.where(forward[None, :, None], 4.0, 3.0) + np.zeros((12, 6, 3))
    found = findings(criteria(score, BALANCED))
    row = only(found, "turn")
    assert row.value == pytest.approx(1.0)
    value, low, high = only(found, "moves_mean").counts["contrasts"]["turn"]
    assert (row.value, *row.interval) == pytest.approx((value, low, high))
    score[:, 0, :2] = 1.0, np.nan  # a call that lost a criterion says nothing about the mean of all
    again = findings(criteria(score, BALANCED))
    assert only(again, "turn").value == pytest.approx(1.0)
    assert only(again, "turn").counts["n"] == 12 * 5 * 3


# ---------------------------------------------------------------------------------------------------------- cautions
PLAIN = choose(rng(0), 20, ORDERS, repeats=2)


CRITERIA = np.clip(np.rint(3 + rng(0).normal(0, 1, (20, 8, 4))), 1, 5)
QUESTIONS = [f"Question {i}" for i in range(20)]
SHARED = ["Write a haiku."] * 4 + QUESTIONS[4:]


def kinds(table) -> set[str]:
    cautions = findings(table).cautions
    assert not [caution for caution in cautions if "{" in caution.sentence]
    return {caution.kind for caution in cautions}


@pytest.mark.parametrize("table", [
    options(PLAIN, ORDERS),
    options(PLAIN, ORDERS, instruction=["a"] * 20, prompt=[f"p{i // 2}" for i in range(20)]),
    criteria(CRITERIA, WILLIAMS, instruction=QUESTIONS),  # criteria of a text share no text with themselves
])  # fmt: skip
def test_a_plain_run_has_no_caution(table) -> None:
    assert kinds(table) == set()


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("nothing_parsed", options(np.full((9, 10), np.nan), ORDERS)),
        ("unparsed", options(np.where(rng(1).random((20, 20)) < 0.2, np.nan, PLAIN), ORDERS)),
        ("unparsed_by_order", options(np.where((np.arange(20) % 10 == 3) & (np.arange(20)[:, None] < 9), np.nan, PLAIN), ORDERS)),
        ("off_scale", options(np.where(np.arange(20) == 3, 7.0, PLAIN), ORDERS)),
        ("constant_judge", options(np.full((20, 20), 4.0), ORDERS)),
        ("mass_off_labels", options(PLAIN, ORDERS, mass=np.full((20, 20), 0.3))),
        ("single_order", options(PLAIN[:, :4], ORDERS[:1])),
        ("one_order_each", options(PLAIN[:, :1], ORDERS, rng(2).integers(0, 10, (20, 1)), drawn=True)),
        ("uneven", options(PLAIN[:, :6], ORDERS[:2])),
        ("few_moved", options(np.where(np.arange(20)[:, None] < 3, PLAIN, 4.0), ORDERS)),
        ("few_units", options(PLAIN[:5], ORDERS)),
        ("no_repeats", options(PLAIN[:, :10], ORDERS)),
        ("shared_text", options(PLAIN, ORDERS, instruction=SHARED)),
        ("shared_text", criteria(CRITERIA, WILLIAMS, instruction=["a"] * 20)),
    ],
)  # fmt: skip
def test_each_caution_where_it_is_due(kind: str, table) -> None:
    assert kind in kinds(table)


def test_cautions_hold_their_numbers() -> None:
    (caution,) = findings(options(PLAIN, ORDERS, instruction=SHARED)).cautions
    assert (caution.condition, dict(caution.of)) == (0, {"items": 4, "texts": 1})
    assert "4 items share 1 instructions" in caution.sentence


def test_parsed_shares_and_score_shares() -> None:
    lost = np.where((np.arange(20) == 3) & (np.arange(20)[:, None] < 10), np.nan, PLAIN)
    table = options(lost, ORDERS)
    failed = table.rows["status"].where(table.rows["status"] == Status.OK, int(Status.REFUSED))
    found = findings(replace(table, rows=table.rows.assign(status=failed)))
    rows = found.select("parsed_share")
    assert rows[0].value == pytest.approx(390 / 400)
    by_order = {row.of["order"]: row.value for row in rows[1:]}
    assert by_order[" ".join(map(str, ORDERS[3]))] == pytest.approx(30 / 40)
    assert sorted(set(by_order.values())) == [0.75, 1.0]
    found = findings(options(PLAIN, ORDERS))
    rows = found.select("score_share")
    assert [row.of["score"] for row in rows] == [1, 2, 3, 4, 5]
    assert (sum(row.value for row in rows), rows[2].value) == pytest.approx((1, (PLAIN == 3).mean()))
    assert only(found, "moved_share").value == pytest.approx((np.ptp(PLAIN, axis=1) > 0).mean())


# ----------------------------------------------------------------------------------------- several answers in one call
FORTH = [[0, 1, 2], [2, 1, 0]]
ROTATED = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]


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
