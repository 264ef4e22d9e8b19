"""Arms and units of scores, pairs, lists and batches: what a table becomes, whatever a file of
strangers holds.
"""

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.cells import from_arms
from rubriclab.core.judgments import TIE, UNPARSED, Judgments, hash_names, score_index, shown_table
from rubriclab.core.verdict import verdicts
from rubriclab.model.judgment import Condition, Ordering, Status
from rubriclab.model.study import Smallest
from rubriclab.model.text import LabError
from tests.tables import comparisons, criteria, findings, only, options, responses

ORDERS = np.array([[1, 2, 3], [3, 2, 1]])


def test_positions_follow_from_the_score_and_the_order() -> None:
    # Item 0 scored 1 in both orders: positions 1 and 3. Item 1: 3, then unparsed.
    (arm,) = Judgments(options([[1, 1], [3, np.nan]], ORDERS)).arms
    assert (arm.position.tolist(), arm.ok.tolist()) == (
        [0, 2, 2, UNPARSED],
        [True, True, True, False],
    )
    assert arm.counts[0].tolist() == [[1, 0, 1], [0, 0, 0], [0, 0, 0]]
    # Every option was shown at its position of both orders, for item 1 too: the judge saw them,
    # parsed or not.
    assert arm.exposure[1].tolist() == [[1, 0, 1], [0, 2, 0], [1, 0, 1]]
    assert arm.scores.tolist() == [1, 2, 3]
    assert arm.names == (1, 2, 3)
    table = options([[1, np.nan]], ORDERS)
    (arm,) = Judgments(
        replace(table, rows=table.rows.assign(status=[Status.OK, Status.ERROR]))
    ).arms
    assert arm.exposure[0].tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize("score", [4, 0, 2.5, np.inf, -np.inf])
def test_scores_off_the_scale_are_no_scores(score: float) -> None:
    (arm,) = Judgments(options([[score, 2]], ORDERS)).arms
    assert arm.ok.tolist() == [False, True]
    assert np.isnan(arm.value[0])


def test_orders_of_other_things_are_left_out_and_names_may_be_numbers() -> None:
    table = options([[1, 1], [2, 2]], ORDERS)
    (arm,) = Judgments(replace(table, orderings=(table.orderings[0], Ordering((3, 2, 9), ())))).arms
    assert (arm.ok.sum(), sorted(arm.shown[:, 0].tolist())) == (2, [-1, 0])
    orderings = [
        Ordering((2, 1), ()),
        Ordering(("1", "2"), ()),
        Ordering((1, 1), ()),
        Ordering((1,), ()),
    ]
    assert shown_table(orderings, (1, 2), 2).tolist() == [[1, 0], [0, 1], [-1, -1], [-1, -1]]


def test_score_index_on_scales_with_and_without_gaps() -> None:
    assert score_index(np.array([1, 3, 4, np.nan]), np.array([1.0, 2.0, 3.0])).tolist() == [
        0,
        2,
        -1,
        -1,
    ]
    assert score_index(np.array([0, 5, 10, 7]), np.array([0.0, 5.0, 10.0])).tolist() == [
        0,
        1,
        2,
        -1,
    ]
    # As a store keeps them: single precision.
    assert score_index(
        np.float32([0.1, 0.3]).astype(float), np.array([0.1, 0.2, 0.3])
    ).tolist() == [0, 2]
    assert score_index(np.array([1.0]), np.zeros(0)).tolist() == [-1]


def test_units_are_prompts_then_blocks_then_items_or_as_named() -> None:
    score = np.ones((4, 2))
    kinds = {
        "prompt": Judgments(options(score, ORDERS, prompt=list("aabb"), block=list("wxyz"))),
        "block": Judgments(options(score, ORDERS, prompt=list("abcd"), block=list("wwxx"))),
        "item": Judgments(options(score, ORDERS, prompt=list("abcd"))),
    }
    for kind, judgments in kinds.items():
        assert judgments.unit_kind == judgments.arms[0].unit_kind == kind
    assert Judgments(options(score, ORDERS, prompt=list("aabb")), "item").arms[0].units == 4
    with pytest.raises(LabError, match="no item of “Run” has one"):
        Judgments(options([[1, 1]], ORDERS), "prompt")
    with pytest.raises(LabError, match="expected auto, item, block or prompt"):
        Judgments(options([[1, 1]], ORDERS), "author")


@pytest.mark.parametrize(
    ("items", "groups"),
    [
        ({"prompt": list("aabb")}, [[0, 1], [2, 3]]),
        (
            {"prompt": ["a", None, "a", None]},
            [[0, 2], [1], [3]],
        ),  # items without a prompt stand alone
        (
            {"prompt": list("aaab"), "dataset": ["one", "one", "two", "two"]},
            [[0, 1], [2], [3]],
        ),  # two data sets
    ],
)
def test_units_hold_the_items_of_one_prompt(
    items: dict[str, list[str]], groups: list[list[int]]
) -> None:
    code = Judgments(options(np.ones((4, 2)), ORDERS, **items)).unit_of_item
    assert sorted(np.flatnonzero(code == unit).tolist() for unit in set(code.tolist())) == groups


def test_units_of_two_runs_have_the_same_names_where_their_texts_are_the_same() -> None:
    first = options(np.ones((3, 2)), ORDERS, unit_text=["x", "y", "z"], item_id=["1", "2", "3"])
    second = options(np.ones((3, 2)), ORDERS, unit_text=["z", "w", "y"], item_id=["a", "b", "c"])
    mine, other = (Judgments(table).arms[0].unit_names for table in (first, second))
    assert (mine[1], mine[2], len(set(mine.tolist()) | set(other.tolist()))) == (
        other[2],
        other[0],
        4,
    )
    texts = np.array(["a", "b", "\ud83d", "😀"], dtype=object)
    assert len(set(hash_names(texts).tolist())) == 4


def test_criteria_of_a_text_are_one_text_with_and_without_a_block() -> None:
    score = np.full((3, 2, 2), 4.0)
    orders = [[0, 1], [1, 0]]
    for table in (criteria(score, orders), criteria(score, orders, block=["u", "v", "w"])):
        (arm,) = Judgments(table).arms
        assert (arm.items, arm.texts, arm.units) == (6, 3, 3)
        assert (arm.text.tolist(), arm.target.tolist()) == ([0, 0, 1, 1, 2, 2], [0, 1] * 3)
    assert Judgments(criteria(score, orders)).arms[0].unit_kind == "text"
    by_prompt = Judgments(criteria(score, orders, prompt=["p", "p", "q"])).arms[0]
    assert (by_prompt.unit_kind, by_prompt.units, by_prompt.text_unit.tolist()) == (
        "prompt",
        2,
        [0, 0, 1],
    )
    # Shown second: style, clarity, depth; so clarity stands at 2, depth at 3, style at 1 (0-based
    # 1, 2, 0).
    (arm,) = Judgments(criteria(np.full((1, 2, 3), 4.0), [[0, 1, 2], [2, 0, 1]])).arms
    assert arm.position.tolist() == [0, 1, 2, 1, 2, 0]


def test_single_order_means_that_no_option_stood_at_two_positions() -> None:
    assert Judgments(options([[1, 1]], ORDERS[:1], [0, 0])).arms[0].single_order
    # One order an item, but two orders in all: options did stand at two positions.
    assert not Judgments(options([[1], [1]], ORDERS, [[0], [1]])).arms[0].single_order


def test_controls_are_of_the_same_setting_and_fixed_first() -> None:
    table = options([[1, 1]], ORDERS, fixed=[[1, 1]])
    conditions = (*table.conditions, replace(table.conditions[0], judge="other"))
    arms = Judgments(replace(table, conditions=conditions)).arms
    assert [arm.condition.strategy for arm in arms[0].controls()] == ["balanced", "fixed"]
    assert [arm.code for arm in arms[2].controls()] == [2]


# -------------------------------------------------------------- Pairs, lists and batches of answers
NAN = float("nan")
BOTH = [[0, 1], [1, 0]]


def test_orders_of_other_candidates_are_one_order_by_rank_of_names() -> None:
    table = comparisons(
        [[1, 1], [2, 0], [1, NAN]], BOTH, names=[("x", "y"), ("b", "a"), ("x", "y")]
    )
    (arm,) = Judgments(table).arms
    assert (arm.shown.tolist(), arm.order.tolist()) == ([[0, 1], [1, 0]], [0, 1, 0, 1, 0, 1])
    # The winner by rank of name: 2 stands for a tie. x won when first, then y; b (rank 1) when
    # second; then nobody.
    assert arm.score.tolist() == [0, 1, 1, 2, 0, -1]
    assert arm.position.tolist() == [0, 0, 1, TIE, 0, UNPARSED]
    assert (arm.ok.tolist(), arm.counts[0].tolist()) == ([True] * 5 + [False], [[1, 0], [1, 0]])
    assert (arm.counts[1].tolist(), arm.exposure[2].tolist()) == (
        [[0, 0], [0, 1]],
        [[1, 1], [1, 1]],
    )
    assert (arm.unit_kind, arm.single_order, arm.order_label(1)) == ("item", False, "2 1")
    table = comparisons([[1, 1], [2, 1]], BOTH, names=[("x", "y"), ("b", "a")])
    wrong = table.items.assign(candidate=["x|y", "a|z"])
    assert Judgments(replace(table, items=wrong)).arms[0].ok.tolist() == [True, True, False, False]
    unnamed = table.items.assign(candidate=None)
    assert Judgments(replace(table, items=unnamed)).arms[0].ok.all()


def test_a_tie_is_half_a_win_of_each_position_and_a_winner_of_its_own() -> None:
    # 8 pairs answered (first, tie): share of the first (1 + .5) / 2, so d_1 = .25; first and tie
    # are two winners.
    answer = verdicts(Judgments(comparisons([[1, 0]] * 8, BOTH)).arms, Smallest())
    assert answer.questions["positions"].leans == (0.25, -0.25)
    assert answer.questions["single"].flips == 1.0
    tied = verdicts(Judgments(comparisons([[0, 0]] * 8, BOTH)).arms, Smallest())
    assert (tied.gate.p, tied.questions["single"].flips) == (1.0, 0.0)
    assert set(tied.questions) == {"positions", "single"}


def test_consistency_beyond_noise_needs_each_order_twice() -> None:
    # Each order twice. 10 pairs answer by position alone: AA in both orders; 10 by the candidate
    # alone. No noise: e = 1/2.
    position = [[1, 1, 1, 1]] * 10 + [[1, 2, 1, 2]] * 10
    single = only(findings(comparisons(position, BOTH)), "changes_single")
    assert (single.value, single.why, single.counts["noise"]) == (0.5, "", "all")
    # A coin: half of two calls differ whatever the order. AABB in the calls of each order: own
    # noise 2/3, flips 1/2.
    coin = only(findings(comparisons([[1, 1, 1, 1, 2, 2, 2, 2]] * 9, BOTH)), "changes_single")
    assert coin.counts["own_noise"] == pytest.approx(2 / 3)
    assert coin.value < 0.0 or coin.interval[0] == 0.0


def test_answers_scored_together_are_a_text_with_slots_for_criteria() -> None:
    # Two batches of three answers in two orders; slot 0 gets 4 when first and 3 when last, the
    # others always 2 and 5.
    table = responses([[[4, 2, 5], [3, 2, 5]]] * 2, [[0, 1, 2], [2, 1, 0]], alone=[[3, 2, 5]] * 2)
    together, alone = Judgments(table).arms
    assert (together.names, together.shown.tolist()) == ((1, 2, 3), [[0, 1, 2], [2, 1, 0]])
    assert (together.text.tolist(), together.target.tolist()) == ([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2)
    assert together.position.tolist() == [0, 1, 2, 2, 1, 0] * 2
    assert (together.unit_kind, together.units, together.single_order) == ("text", 2, False)
    assert (alone.shown.tolist(), alone.position.tolist(), alone.single_order) == (
        [[0]],
        [0] * 6,
        True,
    )
    answers = from_arms([together])
    assert answers.criteria
    assert answers.code.tolist() == [[3, 1, 4], [2, 1, 4]] * 2
    rows = findings(table).select(topic="verdict")
    assert {(row.measure, row.condition) for row in rows} == {
        ("favours_positions", 0),
        ("moves_mean", 0),
        ("changes_single", 0),
        ("gate", 0),
    }
    table = responses(np.full((2, 2, 2), 3.0), [[0, 1], [1, 0]], prompt=["p", "q", "q", "p"])
    assert Judgments(table).unit_of_item.tolist() == [0, 0, 2, 2]
    nested = responses(np.full((2, 2, 2), 3.0), [[0, 1], [1, 0]], prompt=["p", "p", "p", "p"])
    assert (Judgments(nested).unit_kind, Judgments(nested).arms[0].units) == ("prompt", 1)


def test_a_bare_score_has_noise_and_no_order() -> None:
    table = responses([[[4], [5]]] * 9, [[0]])
    bare = Condition("judge", "answers", "bare", "bare", (1.0, 2.0, 3.0, 4.0, 5.0))
    found = findings(replace(table, conditions=(bare,)))
    assert not found.select(topic="verdict")
    assert only(found, "repeat_change").value == 1.0
    assert only(found, "order_change").why == "single_order"
    assert only(found, "score_share", score=5).value == 0.5
    assert {caution.kind for caution in found.cautions} == set()


def test_cautions_of_choices() -> None:
    found = findings(comparisons([[0, 0], [0, 1]] * 5 + [[NAN, NAN]], BOTH))
    assert only(found, "tie_share").value == 0.75
    kinds = {caution.kind: caution.of for caution in found.cautions}
    assert kinds["many_ties"] == {"share": 0.75}
    assert kinds["unparsed"] == {"unparsed": 2, "judgments": 22}
    assert {"few_moved", "no_repeats"} <= set(kinds)
