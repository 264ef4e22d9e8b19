"""Options, criteria and several answers in one call: by hand, planted effects; two data sets; every
caution.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from rubriclab.measures.directions import difference
from rubriclab.model.judgment import JudgmentTable, Status
from tests.tables import (
    NAMES,
    ORDERS,
    balanced_orders,
    choose,
    criteria,
    findings,
    on_two_sets,
    only,
    options,
    responses,
)

TWO = np.array([[1, 2], [2, 1]])
rng = np.random.default_rng


def values(found, measure: str, **of) -> list[float]:
    return [row.value for row in found.select(measure, condition=0, **of)]


@pytest.mark.papers(14, 16, 17)
def test_shares_v_chi2_and_bias_cost_by_hand() -> None:
    # Twelve items: eight always take what is first (1, then 2), four always score 2. Positions:
    # item 1..8 first, first; 9..12 second in (1 2), first in (2 1): 16 + 4 = 20 first, 4 second of
    # 24.
    found = findings(options([[1, 2]] * 8 + [[2, 2]] * 4, TWO))
    assert values(found, "position_share") == pytest.approx([20 / 24, 4 / 24])
    # chi2 = (20-12)^2/12 + (4-12)^2/12 = 32/3; V = sqrt(chi2 / 24) = 2/3
    assert values(found, "chi2") == pytest.approx([32 / 3])
    assert values(found, "cramers_v") == pytest.approx([2 / 3])
    # Noise: units' residuals (first: 2 - 2 x 20/24 = 1/3 of 8, -2/3 of 4, and the reverse), over 24
    # calls: 2 x (8/9 + 16/9) / 576 x 12/11 = .0101010; E V^2 = 2/1 x that; V without noise =
    # sqrt(4/9 - .0202020).
    assert values(found, "v_without_noise") == pytest.approx(
        [np.sqrt(4 / 9 - 2 * 2 * (24 / 9) / 576 * 12 / 11)]
    )
    assert only(found, "chi2").counts["n"] == 24
    # Of 8 ones all at position 1; of 16 twos: 8 first in (2 1) by the movers, 4 + 4 by the others:
    # 12 first, 4 second.
    assert values(found, "position_given_score") == pytest.approx([1, 0, 0.75, 0.25])
    # (1 2): |1 - .5| + |.25 - .5| = 75 percentage points; (2 1): |.75 - .5| + |0 - .5| = 75.
    assert {row.of["order"]: row.value for row in found.select("bias_cost")} == pytest.approx(
        {"1 2": 75, "2 1": 75}
    )
    least = only(found, "least_bias_cost")
    assert (least.value, least.counts["order"]) == (pytest.approx(75), "1 2")


def test_cells_hold_at_once_and_uneven_orders_have_no_v() -> None:
    found = findings(options(choose(rng(0), 40, ORDERS, repeats=2), ORDERS))
    (level,) = {row.level for row in found.select("position_given_score")}
    # 25 cells that sum to 1 by score: between 20 independent ones and Bonferroni.
    assert 0.95 ** (1 / 20) - 0.001 < level <= 0.998 + 0.0005
    found = findings(options(choose(rng(0), 40, ORDERS[:2], repeats=5), ORDERS[:2]))
    assert only(found, "v_without_noise").why == "uneven"
    assert np.isfinite(only(found, "position_given_score", score=3, position=2).value)
    assert only(found, "position_given_score", score=3, position=5).why == "missing_cells"


@pytest.mark.thorough
def test_contrasts_are_those_of_the_verdict() -> None:
    for table in (
        options(choose(rng(1), 30, ORDERS, first=1.0, repeats=2), ORDERS),
        options(choose(rng(2), 24, ORDERS), ORDERS, prompt=[f"p{i // 2}" for i in range(24)]),
        options(
            np.where(rng(3).random((40, 20)) < 0.2, np.nan, choose(rng(4), 40, ORDERS, repeats=2)),
            ORDERS,
        ),
        options(np.full((20, 10), 3.0), ORDERS),
        options(choose(rng(5), 30, balanced_orders(9)), balanced_orders(9)),
        options(
            choose(rng(6), 80, ORDERS)[np.arange(80), np.arange(80) % 10, None],
            ORDERS,
            np.arange(80)[:, None] % 10,
            drawn=True,
            prompt=[f"p{i // 2}" for i in range(80)],
        ),
    ):
        found = findings(table)
        counts = only(found, "moves_mean").counts
        assert set(counts["contrasts"]) == {"line", "turn"}
        for measure, (value, low, high) in counts["contrasts"].items():
            row = only(found, measure)
            assert (row.value, *row.interval) == pytest.approx((value, low, high), abs=1e-9)


def test_probability_weighted_scores_are_a_row_of_their_own() -> None:
    chosen = np.full((12, 10), 3.0)
    expected = (
        3
        + 0.3 * np.array([np.polyfit(np.arange(5), order, 1)[0] for order in ORDERS])
        + np.zeros((12, 1))
    )
    found = findings(options(chosen, ORDERS, expected=expected, mass=np.ones((12, 10))))
    assert only(found, "line").value == 0
    assert only(found, "line_expected").value == pytest.approx(0.6)
    assert only(found, "line_expected").verdict == ""
    few = np.where(rng(0).random((12, 10)) < 0.5, np.nan, expected)
    assert not findings(options(chosen, ORDERS, expected=few, mass=np.ones((12, 10)))).select(
        "line_expected"
    )
    assert not findings(
        options(chosen, ORDERS, expected=expected, mass=np.full((12, 10), 0.2))
    ).select("line_expected")


@pytest.mark.papers(20)
def test_single_scores_by_hand() -> None:
    # Nine items in both orders twice: 1 1 | 2 2. Different orders differ by 1, the same order
    # never.
    found = findings(options([[1, 2, 1, 2]] * 9, TWO))
    assert [only(found, m).value for m in ("order_change", "repeat_change", "order_excess")] == [
        1.0,
        0.0,
        1.0,
    ]
    assert only(found, "order_excess").counts == {"n": 9, "from": "balanced"}
    assert only(found, "result_change").value == 1.0  # of two calls in different orders, all
    # sd of (1, 2, 1, 2) = root(1/3)
    assert only(found, "within_item_sd").value == pytest.approx(np.sqrt(1 / 3))
    # Twenty items once in each of two orders, and three of them twice: judges that answer alike are
    # asked so.
    score = np.array([[1.0, 2.0, np.nan, np.nan]] * 17 + [[2.0, 2.0, 2.0, 2.0]] * 3)
    found = findings(options(score, TWO))
    assert only(found, "order_change").counts["n"] == 20
    assert only(found, "order_change").value == pytest.approx(17 / 20)
    # Two points apart count as one other result, as one point does.
    apart = findings(options([[1, 3]] * 6 + [[1, 2]] * 6 + [[2, 2]] * 12, ORDERS[:2]))
    assert only(apart, "result_change").value == pytest.approx(12 / 24)
    assert only(apart, "order_change").value == pytest.approx((6 * 2 + 6) / 24)
    assert (only(found, "order_excess").counts["n"], only(found, "order_excess").value) == (3, 0.0)


@pytest.mark.papers(4)
def test_a_reversed_list_counts_the_items_that_were_judged_in_both_orders() -> None:
    """Calls in 1 2 3, 1 2 3, 3 2 1, 3 2 1; the last item has no reply in 3 2 1."""
    score = [
        [1, 1, 3, 3],  # changed, never noisy
        [1, 2, 2, 1],  # the mean is 1.5 in both, noisy
        [2, 2, 2, 2],
        [1, 3, np.nan, np.nan],  # noisy, but not judged in both
    ]
    orders = np.array([[1, 2, 3], [3, 2, 1]])
    row = only(findings(options(score, orders, [0, 0, 1, 1])), "reversed_list")
    assert row.value == pytest.approx((-2 + 0 + 0) / 3)
    assert row.counts == {"n": 3, "changed": 1, "again": 3, "noisy": 1}


def test_noise_comes_from_the_default_order_where_an_arm_repeats_nothing() -> None:
    found = findings(options([[1, 2]] * 9, TWO, fixed=[[1, 2, 1, 1]] * 9))
    # Of six pairs of the fixed arm's calls three differ: 0.5; two of 1 2 1 1.
    assert only(found, "repeat_change").value == pytest.approx(0.5)
    assert only(found, "order_excess").value == pytest.approx(0.5)
    assert only(found, "order_excess").counts["from"] == "fixed"
    alone = only(found, "repeat_change", condition=1)
    assert (alone.value, alone.counts["from"]) == (pytest.approx(0.5), "fixed")
    assert only(found, "order_change", condition=1).why == "single_order"


def test_largest_gap_names_its_orders() -> None:
    score = 3.0 + (np.arange(10) == 7) + rng(0).integers(0, 2, (40, 10)) - (np.arange(10) == 2)
    row = only(findings(options(np.clip(score, 1, 5), ORDERS)), "largest_gap")
    assert row.counts["highest"] == " ".join(map(str, ORDERS[7]))
    assert row.counts["lowest"] == " ".join(map(str, ORDERS[2]))
    assert row.interval[0] > 1.5
    assert row.value == pytest.approx(2.0, abs=0.3)


def test_noise_of_other_items_than_the_change_makes_no_excess() -> None:
    """Ten items in two orders once each, a point apart; ten more in one order twice, two points
    apart.
    """
    score = [[1, 2, np.nan, np.nan]] * 10 + [[np.nan, np.nan, 2, 4]] * 10
    found = findings(options(score, ORDERS, [0, 5, 0, 0]))
    change, repeat, excess = (
        only(found, name) for name in ("order_change", "repeat_change", "order_excess")
    )
    assert (change.value, change.counts["n"], repeat.value, repeat.counts["n"]) == (
        1.0,
        10,
        2.0,
        10,
    )
    assert (excess.why, excess.counts["n"]) == ("noise_elsewhere", 0)
    # Half of the items know both, so all three numbers are theirs: 1 - 2 points.
    found = findings(
        options([[1, 2, 3, 1]] * 10 + [[1, 5, np.nan, np.nan]] * 10, ORDERS, [0, 5, 5, 0])
    )
    rows = [only(found, name) for name in ("order_change", "repeat_change", "order_excess")]
    assert [(row.value, row.counts["n"]) for row in rows] == [(1.5, 10), (0.5, 10), (1.0, 10)]


# ------------------------------------------------------------------------------------ two data sets


def both(first: float, second: float) -> JudgmentTable:
    """One judge on two data sets of 40 items: log-odds of the first position on each."""
    draw = rng(7)
    return on_two_sets(
        *(options(choose(draw, 40, ORDERS, first=lean), ORDERS) for lean in (first, second))
    )


@pytest.mark.thorough
@pytest.mark.papers(30)
def test_leans_that_differ_are_seen_and_of_two_options_by_welchs_t() -> None:
    (alike,) = findings(both(1.0, 1.0)).select("direction_difference")
    (apart,) = findings(both(1.0, -1.0)).select("direction_difference")
    assert alike.condition == 0
    assert alike.of == {"against": 1}
    assert alike.p > 0.05 > apart.p
    assert apart.value > 0.1 > alike.value
    draw = rng(3)
    a, b = draw.normal(0.1, 0.2, 12), draw.normal(-0.1, 0.4, 30)
    size, p = difference(np.stack([a, -a], axis=1), np.stack([b, -b], axis=1))
    assert p == pytest.approx(stats.ttest_ind(a, b, equal_var=False).pvalue, rel=1e-9)
    # |m1 - m2|^2 = 2 d^2, trace S = 2 v, n / (n - 1) = 2: the length is 2 sqrt(max(0, d^2 - v)).
    d, v = a.mean() - b.mean(), a.var(ddof=1) / 12 + b.var(ddof=1) / 30
    assert size == pytest.approx(2 * np.sqrt(max(0.0, d**2 - v)))


# ------------------ Criteria, and several answers, in one call; and what limits every arm's numbers
BALANCED = balanced_orders(3) - 1
WILLIAMS = np.array([[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]])


def by_position(
    orders: np.ndarray, add, texts: int, repeats: int = 1, noise: float = 0.0, seed: int = 0
) -> np.ndarray:
    """(texts, calls, criteria): 3 plus what ``add(position)`` gives a criterion there, with noise;
    not rounded to a scale.
    """
    position = np.argsort(np.tile(orders, (repeats, 1)), axis=1)
    return (
        3.0
        + add(position)[None]
        + rng(seed).normal(0, noise, (texts, *position.shape)) * (noise > 0)
    )


@pytest.mark.papers(32, 33)
def test_shifts_first_minus_last_and_delta_pos_by_hand() -> None:
    # Every criterion: 4 where it stands first, else 3. Over six balanced orders each position
    # twice: mean 10/3.
    found = findings(criteria(by_position(BALANCED, lambda p: (p == 0).astype(float), 9), BALANCED))
    for name in NAMES[:3]:
        shifts = [row.value for row in found.select("position_shift", target=name)]
        assert shifts == pytest.approx([2 / 3, -1 / 3, -1 / 3])
        assert only(found, "first_minus_last", target=name).value == pytest.approx(1.0)
        assert only(found, "delta_pos", target=name).value == pytest.approx(1.0)
    # Ranks 3, 1.5, 1.5 in each of nine texts: chi2 = [12/(9 x 12) x (27^2 + 2 x 13.5^2) - 3 x 9 x
    # 4] / (1 - 6/24) = 18
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


# ----------------------------------------------------------------------------------------- cautions
PLAIN = choose(rng(0), 20, ORDERS, repeats=2)


CRITERIA = np.clip(np.rint(3 + rng(0).normal(0, 1, (20, 8, 4))), 1, 5)
QUESTIONS = [f"Question {i}" for i in range(20)]
SHARED = ["Write a haiku."] * 4 + QUESTIONS[4:]


def kinds(table) -> set[str]:
    cautions = findings(table).cautions
    assert not [caution for caution in cautions if "{" in caution.sentence]
    return {caution.kind for caution in cautions}


@pytest.mark.parametrize(
    "table",
    [
        options(PLAIN, ORDERS),
        options(PLAIN, ORDERS, instruction=["a"] * 20, prompt=[f"p{i // 2}" for i in range(20)]),
        criteria(
            CRITERIA, WILLIAMS, instruction=QUESTIONS
        ),  # criteria of a text share no text with themselves
    ],
)
def test_a_plain_run_has_no_caution(table) -> None:
    assert kinds(table) == set()


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("nothing_parsed", options(np.full((9, 10), np.nan), ORDERS)),
        ("unparsed", options(np.where(rng(1).random((20, 20)) < 0.2, np.nan, PLAIN), ORDERS)),
        (
            "unparsed_by_order",
            options(
                np.where((np.arange(20) % 10 == 3) & (np.arange(20)[:, None] < 9), np.nan, PLAIN),
                ORDERS,
            ),
        ),
        ("off_scale", options(np.where(np.arange(20) == 3, 7.0, PLAIN), ORDERS)),
        ("constant_judge", options(np.full((20, 20), 4.0), ORDERS)),
        ("mass_off_labels", options(PLAIN, ORDERS, mass=np.full((20, 20), 0.3))),
        ("single_order", options(PLAIN[:, :4], ORDERS[:1])),
        (
            "one_order_each",
            options(PLAIN[:, :1], ORDERS, rng(2).integers(0, 10, (20, 1)), drawn=True),
        ),
        ("uneven", options(PLAIN[:, :6], ORDERS[:2])),
        ("few_moved", options(np.where(np.arange(20)[:, None] < 3, PLAIN, 4.0), ORDERS)),
        ("few_units", options(PLAIN[:5], ORDERS)),
        ("no_repeats", options(PLAIN[:, :10], ORDERS)),
        ("shared_text", options(PLAIN, ORDERS, instruction=SHARED)),
        ("shared_text", criteria(CRITERIA, WILLIAMS, instruction=["a"] * 20)),
    ],
)
def test_each_caution_where_it_is_due(kind: str, table) -> None:
    assert kind in kinds(table)


def test_cautions_hold_their_numbers() -> None:
    (caution,) = findings(options(PLAIN, ORDERS, instruction=SHARED)).cautions
    assert (caution.condition, dict(caution.of)) == (0, {"items": 4, "texts": 1})
    assert "4 items share 1 prompts" in caution.sentence


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
    assert (sum(row.value for row in rows), rows[2].value) == pytest.approx(
        (1, (PLAIN == 3).mean())
    )
    assert only(found, "moved_share").value == pytest.approx((np.ptp(PLAIN, axis=1) > 0).mean())


# ---------------------------------------------------------------------- several answers in one call
FORTH = [[0, 1, 2], [2, 1, 0]]
ROTATED = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]


def first_gains(
    batches: int, orders: list[list[int]], gain: float, noise: float = 0.0, seed: int = 0
) -> np.ndarray:
    """(batches, calls, 3): answers worth 2, 3 and 4; the first one in the call gains."""
    position = np.argsort(np.array(orders), axis=1)
    level = np.array([2.0, 3.0, 4.0]) + gain * (position == 0)
    return level[None] + rng(seed).normal(0, noise, (batches, *level.shape)) * (noise > 0)


def test_shifts_are_pooled_over_answers_and_have_no_target() -> None:
    # Each answer is first in one of three orders and gains 1 there: its mean is +1/3, so +2/3,
    # -1/3, -1/3.
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
    # Two orders: the middle answer never moves and says nothing; the best one is last in the first
    # order.
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
