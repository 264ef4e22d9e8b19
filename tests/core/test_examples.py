"""Examples before an answer: does the score follow the label of the example at a place?"""

import itertools

import numpy as np
import pytest

from rubriclab.core.cells import Answers, cells, not_told_apart
from rubriclab.core.permutation import Cards, Gate, gate
from rubriclab.core.verdict import decide, reach_of_labels
from rubriclab.model.orders import balanced, even_orders
from rubriclab.model.study import Smallest

FOUR = np.array(even_orders(range(4)), dtype=np.int64)
LABELS = np.array([1.0, 2.0, 4.0, 5.0])


def answers(score: np.ndarray, orders: np.ndarray, labels: np.ndarray) -> Answers:
    """``score`` (items, calls): points 1 to 5; calls go through ``orders`` (m, n) again and
    again.
    """
    items, calls = score.shape
    return Answers(
        item=np.repeat(np.arange(items), calls),
        order=np.tile(np.arange(calls) % len(orders), items),
        code=score.astype(np.int64).reshape(-1, 1) - 1,
        orders=orders,
        unit=np.arange(items),
        points=np.arange(1.0, 6.0),
        labels=labels,
    )


def judged(
    rng: np.random.Generator,
    items: int,
    *,
    last: float = 0.0,
    own: float = 0.0,
    labels: np.ndarray = LABELS,
) -> Answers:
    """Each order twice, by a judge that adds ``last`` points for each point of the last example's
    label, and to each answer its own pull of standard deviation ``own``.
    """
    shown = np.tile(FOUR, (2, 1))
    label = labels[shown[:, -1]] - labels.mean()
    pull = last + own * rng.standard_normal((items, 1))
    true = rng.normal(3, 0.8, (items, 1)) + pull * label + rng.normal(0, 0.7, (items, len(shown)))
    return answers(np.clip(np.rint(true), 1, 5), FOUR, labels)


def test_a_score_that_follows_the_last_label_leans_there() -> None:
    """Labels 1 and 5, score 3 with the 5 last and 2 with the 1 last.

    The slope is -0.25 and +0.25 points a point of label (own mean 2.5, mean label 3, variance 4:
    (0.5 x 2 + -0.5 x -2) / 2 / 4 = 0.25). From 1 to 5 it is four times that: 1 point.
    """
    table = cells(answers(np.array([[3, 2]]), np.array([[0, 1], [1, 0]]), np.array([1.0, 5.0])))
    assert table.lean.tolist() == [[-1.0, 1.0]]
    assert sorted(table.score.tolist()) == [2.0, 3.0]


def test_leans_add_up_to_0_and_the_score_is_kept() -> None:
    rng = np.random.default_rng(3)
    made = judged(rng, 12, last=0.2)
    table = cells(made)
    assert np.allclose(table.lean.sum(axis=1), 0)
    calls = made.points[made.code[:, 0]].reshape(12, 2, len(FOUR))
    assert np.allclose(np.sort(table.score), np.sort(calls.mean(axis=1).ravel()))


def test_leans_are_slopes_of_a_regression_on_the_label_at_a_position() -> None:
    """numpy's least squares, item by item, times the span of the labels."""
    rng = np.random.default_rng(4)
    made = judged(rng, 5, last=0.3)
    means = made.points[made.code[:, 0]].reshape(5, 2, len(FOUR)).mean(axis=1)
    slopes = [
        [np.polyfit(LABELS[FOUR[:, p]], row, 1)[0] * np.ptp(LABELS) for p in range(4)]
        for row in means
    ]
    expected = np.array(sorted(np.round(slopes, 9).tolist()))
    assert np.allclose(np.array(sorted(np.round(cells(made).lean, 9).tolist())), expected)


def test_the_lean_of_a_single_gold_passage_is_its_mean_minus_the_others() -> None:
    """Labels 1, 0, 0, 0: 4 where passage 1 stands first, 2 elsewhere. Three of 12 orders have it
    first, so the lean there is 4 - 2 = 2 points.
    """
    score = np.where(FOUR[:, 0] == 0, 4, 2)[None]
    table = cells(answers(score, FOUR, np.array([1.0, 0.0, 0.0, 0.0])))
    assert np.allclose(table.lean, [[2.0, -2 / 3, -2 / 3, -2 / 3]])


def test_the_most_that_an_item_can_lean() -> None:
    """Two labels: the span of the scores. 1, 2, 4, 5: 4 / 2 x 4 x 1.5 / 2.5 = 4.8 points."""
    assert reach_of_labels(np.array([[0, 1], [1, 0]]), np.array([1.0, 5.0]), 4.0) == 4.0
    assert reach_of_labels(FOUR, LABELS, 4.0) == pytest.approx(4.8)
    highest = np.where(LABELS[FOUR[:, 3]] > 3, 5, 1)[None]
    assert cells(answers(highest, FOUR, LABELS)).lean.max() == pytest.approx(4.8)


def test_the_place_that_scores_follow_is_named() -> None:
    made = decide(judged(np.random.default_rng(5), 60, last=0.1), Smallest())
    assert made.gate.open
    assert made.positions is not None
    assert (made.positions.word, made.positions.position) == ("effect", 3)
    # 0.1 points a point of label, four points of label: 0.4 points
    assert made.positions.interval[0] < 0.4 < made.positions.interval[1]
    assert made.positions.smallest == 0.25


@pytest.mark.thorough
def test_no_effect_leaves_the_gate_closed() -> None:
    opened = [
        decide(judged(np.random.default_rng(seed), 30), Smallest()).gate.open for seed in range(20)
    ]
    assert sum(opened) <= 3  # 1 is expected; more than 3 has a chance of 2%


def test_own_pulls_that_cancel_open_the_gate_but_name_no_place() -> None:
    made = decide(judged(np.random.default_rng(7), 60, own=0.25), Smallest())
    assert made.gate.open
    assert made.questions["single"].word == "effect"
    assert made.questions["positions"].word != "effect"


def test_without_labels_only_the_order_is_asked_about() -> None:
    """A judge with a pull of its own from each answer to whichever example is last: seen, though
    no label and no direction goes with it.
    """
    rng = np.random.default_rng(8)
    pull = rng.normal(0, 1, (40, 4))
    shown = np.tile(FOUR, (2, 1))
    true = rng.normal(3, 0.5, (40, 1)) + pull[:, shown[:, -1]] + rng.normal(0, 0.5, (40, 24))
    made = decide(answers(np.clip(np.rint(true), 1, 5), FOUR, np.zeros(0)), Smallest())
    assert list(made.questions) == ["mean", "single"]
    assert made.gate.open
    assert made.questions["single"].word == "effect"


@pytest.mark.thorough
def test_without_labels_a_judge_that_ignores_them_is_not_accused() -> None:
    rng = np.random.default_rng(9)
    opened = [gate(cells(_unlabelled(rng, 30))).open for _ in range(20)]
    assert sum(opened) <= 3


def _unlabelled(rng: np.random.Generator, items: int) -> Answers:
    true = rng.normal(3, 0.8, (items, 1)) + rng.normal(0, 0.7, (items, 24))
    return answers(np.clip(np.rint(true), 1, 5), FOUR, np.zeros(0))


def test_scores_of_examples_by_position_are_squared_by_hand() -> None:
    """Two examples, two orders, scores 3 and 2: away from their mean +0.5 and -0.5, halved 0.25.

    Example 1 is first in one order and last in the other, so all four sums are +-0.25: the squares
    add up to 0.25. Dealt the other way round they are the same.
    """
    made = answers(np.array([[3, 2]]), np.array([[0, 1], [1, 0]]), np.zeros(0))
    one: Gate = gate(cells(made))
    assert (one.deals, one.p) == (2, 1.0)
    cards = Cards(
        group=np.zeros(2, dtype=np.int64),
        value=np.zeros((2, 2)),
        shown=np.array([[0, 1], [1, 0]]),
        score=np.array([0.5, -0.5]),
        contrast=np.zeros((2, 0)),
        by_example=True,
    )
    deals = cards.every_deal()
    assert deals is not None
    assert deals[:, -1].tolist() == [0.25, 0.25]


@pytest.mark.parametrize("orders", [FOUR, np.array(balanced(range(3)))])
def test_the_mean_of_all_deals_is_as_computed(orders: np.ndarray) -> None:
    """Against all permutations of the orders' scores, dealt by hand."""
    m, n = orders.shape
    orders = orders[:6]
    score = np.arange(len(orders)) - (len(orders) - 1) / 2
    cards = Cards(
        group=np.zeros(len(orders), dtype=np.int64),
        value=np.zeros((len(orders), n)),
        shown=orders,
        score=score,
        contrast=np.zeros((len(orders), 0)),
        by_example=True,
    )
    stands = (orders[..., None] == np.arange(n)).reshape(len(orders), -1)
    squares = [
        np.square(np.array(dealt) @ stands / len(orders)).sum()
        for dealt in itertools.permutations(score)
    ]
    assert cards.expected(cards.seats())[-1] == pytest.approx(np.mean(squares))
    assert m >= len(orders)


def test_four_examples_stand_in_every_pair_of_positions_equally_often() -> None:
    assert len(FOUR) == 12
    assert FOUR[0].tolist() == [0, 1, 2, 3]
    assert [3, 2, 1, 0] in FOUR.tolist()
    for p, q in itertools.combinations(range(4), 2):
        pairs = {(row[p], row[q]) for row in FOUR.tolist()}
        assert len(pairs) == 12


def test_positions_whose_labels_go_together_are_not_named() -> None:
    """Rotations put 4 opposite 2, and 1 opposite 5: the last label is known from the second."""
    orders, labels = np.array(balanced(range(4))), np.array([4.0, 1.0, 2.0, 5.0])
    assert [pair[:2] for pair in not_told_apart(orders, labels)] == [(0, 2), (1, 3)]
    assert not_told_apart(FOUR, labels) == []
    rng = np.random.default_rng(10)
    shown = np.tile(orders, (2, 1))
    true = 3 + 0.4 * (labels[shown[:, -1]] - 3) + rng.normal(0, 0.5, (60, 16))
    made = decide(answers(np.clip(np.rint(true), 1, 5), orders, labels), Smallest())
    assert made.positions is not None
    assert made.positions.word == "effect"
    assert made.positions.outside == ()
