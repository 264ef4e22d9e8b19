"""Pairs, lists and batches of answers: how they become arms, and what may be said of their judge."""

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.answers import from_arms
from rubriclab.core.judgments import TIE, UNPARSED, Judgments
from rubriclab.core.verdict import verdicts
from rubriclab.model.judgment import Condition
from rubriclab.model.study import Smallest
from tests.tables import comparisons, findings, only, responses

NAN = float("nan")
BOTH = [[0, 1], [1, 0]]


def test_orders_of_other_candidates_are_one_order_by_rank_of_names() -> None:
    table = comparisons([[1, 1], [2, 0], [1, NAN]], BOTH, names=[("x", "y"), ("b", "a"), ("x", "y")])
    (arm,) = Judgments(table).arms
    assert (arm.shown.tolist(), arm.order.tolist()) == ([[0, 1], [1, 0]], [0, 1, 0, 1, 0, 1])
    # The winner by rank of name: 2 stands for a tie. x won when first, then y; b (rank 1) when second; then nobody.
    assert arm.score.tolist() == [0, 1, 1, 2, 0, -1]
    assert arm.position.tolist() == [0, 0, 1, TIE, 0, UNPARSED]
    assert (arm.ok.tolist(), arm.counts[0].tolist()) == ([True] * 5 + [False], [[1, 0], [1, 0]])
    assert (arm.counts[1].tolist(), arm.exposure[2].tolist()) == ([[0, 0], [0, 1]], [[1, 1], [1, 1]])
    assert (arm.unit_kind, arm.single_order, arm.order_label(1)) == ("item", False, "2 1")
    table = comparisons([[1, 1], [2, 1]], BOTH, names=[("x", "y"), ("b", "a")])
    wrong = table.items.assign(candidate=["x|y", "a|z"])
    assert Judgments(replace(table, items=wrong)).arms[0].ok.tolist() == [True, True, False, False]
    unnamed = table.items.assign(candidate=None)
    assert Judgments(replace(table, items=unnamed)).arms[0].ok.all()


def test_a_tie_is_half_a_win_of_each_position_and_a_winner_of_its_own() -> None:
    # 8 pairs answered (first, tie): share of the first (1 + .5) / 2, so d_1 = .25; first and tie are two winners.
    answer = verdicts(Judgments(comparisons([[1, 0]] * 8, BOTH)).arms, Smallest())
    assert answer.questions["positions"].more["leans"] == [0.25, -0.25]
    assert answer.questions["single"].more["flips"] == 1.0
    tied = verdicts(Judgments(comparisons([[0, 0]] * 8, BOTH)).arms, Smallest())
    assert (tied.gate.p, tied.questions["single"].more["flips"]) == (1.0, 0.0)
    assert set(tied.questions) == {"positions", "single"}


def test_consistency_beyond_noise_needs_each_order_twice() -> None:
    # Each order twice. 10 pairs answer by position alone: AA in both orders; 10 by the candidate alone. No noise: e = 1/2.
    position = [[1, 1, 1, 1]] * 10 + [[1, 2, 1, 2]] * 10
    single = only(findings(comparisons(position, BOTH)), "changes_single")
    assert (single.value, single.why, single.counts["noise"]) == (0.5, "", "all")
    # A coin: half of two calls differ whatever the order. AABB in the calls of each order: own noise 2/3, flips 1/2.
    coin = only(findings(comparisons([[1, 1, 1, 1, 2, 2, 2, 2]] * 9, BOTH)), "changes_single")
    assert coin.counts["own_noise"] == pytest.approx(2 / 3)
    assert coin.value < 0.0 or coin.interval[0] == 0.0


def test_answers_scored_together_are_a_text_with_slots_for_criteria() -> None:
    # Two batches of three answers in two orders; slot 0 gets 4 when first and 3 when last, the others always 2 and 5.
    table = responses([[[4, 2, 5], [3, 2, 5]]] * 2, [[0, 1, 2], [2, 1, 0]], alone=[[3, 2, 5]] * 2)
    together, alone = Judgments(table).arms
    assert (together.names, together.shown.tolist()) == ((1, 2, 3), [[0, 1, 2], [2, 1, 0]])
    assert (together.text.tolist(), together.target.tolist()) == ([0, 0, 0, 1, 1, 1], [0, 1, 2] * 2)
    assert together.position.tolist() == [0, 1, 2, 2, 1, 0] * 2
    assert (together.unit_kind, together.units, together.single_order) == ("text", 2, False)
    assert (alone.shown.tolist(), alone.position.tolist(), alone.single_order) == ([[0]], [0] * 6, True)
    answers = from_arms([together])
    assert answers.criteria
    assert answers.code.tolist() == [[3, 1, 4], [2, 1, 4]] * 2
    rows = findings(table).select(topic="verdict")
    assert {(row.measure, row.condition) for row in rows} == {
        ("favours_positions", 0), ("moves_mean", 0), ("changes_single", 0), ("gate", 0),
    }  # fmt: skip
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
