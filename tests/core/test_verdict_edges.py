"""Verdicts of odd tables: why nothing can be said, never an error; which arms answer, what a call of several criteria is."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core import gate as gates
from rubriclab.core.answers import Answers, cells, from_arms, is_full, line, turn
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import REASONS
from rubriclab.core.verdict import QUESTIONS, decide, verdicts
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.orders import balanced
from rubriclab.model.study import Smallest
from tests.tables import choices, criteria, options

SMALLEST = Smallest()
B3 = np.array(balanced((0, 1, 2)))
B5 = np.array(balanced(range(5)))
NOTHING = np.full((12, 10), np.nan)
RNG = np.random.default_rng(8)


def at_random(orders: np.ndarray, slots: int, drawn: bool = False) -> Answers:
    """30 items, a different choice of orders for each."""
    n = orders.shape[1]
    return choices(RNG.integers(0, n, (30, slots)), RNG.integers(0, len(orders), (30, slots)), orders, drawn=drawn)


EVERY_5 = np.array(list(itertools.permutations(range(5))))
CASES: dict[str, tuple[Answers, str]] = {
    "no item": (choices(np.zeros((0, 10)), np.arange(10), B5), "nothing_parsed"),
    "nothing parsed": (choices(NOTHING, np.arange(10), B5), "nothing_parsed"),
    "all but one unparsed": (choices(np.where(np.arange(120).reshape(12, 10) == 0, 2, NOTHING), np.arange(10), B5), "no_orders"),
    "one order": (choices(RNG.integers(0, 5, (12, 6)), np.zeros(6, int), B5), "no_orders"),
    "one order an item, not drawn": (choices(RNG.integers(0, 5, (12, 1)), np.arange(12)[:, None] % 10, B5), "no_two_orders"),
    "one item": (choices(RNG.integers(0, 5, (1, 20)), np.tile(np.arange(10), 2), B5), "too_few_units"),
    "seven items": (choices(RNG.integers(0, 5, (7, 10)), np.arange(10), B5), "too_few_units"),
    "constant": (choices(np.full((30, 10), 2), np.arange(10), B5), ""),
    "always the first": (choices(np.tile(B5[:, 0], (30, 1)), np.arange(10), B5), ""),
    "two options": (at_random(np.array([[0, 1], [1, 0]]), 4), ""),
    "one drawn order an item": (at_random(EVERY_5, 1, drawn=True), ""),
    "one drawn order for all": (choices(RNG.integers(0, 5, (30, 1)), [[0]], B5, drawn=True), "no_orders"),
    "other orders for each item": (at_random(B5, 6), ""),
    "unequal slots": (choices(np.where(RNG.random((30, 20)) < 0.4, np.nan, 1.0 * RNG.integers(0, 5, (30, 20))), np.tile(np.arange(10), 2), B5), ""),
    "no named contrast": (choices(RNG.integers(0, 5, (30, 2)), [0, 1], [[1, 0, 2, 4, 3], [1, 4, 2, 0, 3]]), ""),
    "one item in several orders": (choices(np.where(np.arange(30)[:, None] == 3, RNG.integers(0, 5, (30, 10)), np.where(np.arange(10) == 0, 2.0, np.nan)), np.arange(10), B5), "unparsed_by_order"),
}  # fmt: skip
for n, why in ((1, "no_orders"), (3, "")):
    shown = np.array(balanced(range(n)))
    scores = RNG.integers(0, 5, (20, len(shown), n)).astype(float)
    scores[3, 0, 0] = np.nan
    CASES[f"{n} criteria"] = (choices(scores, np.arange(len(shown)), shown, points=np.arange(1.0, 6)), why)


@pytest.mark.parametrize("name", CASES)
def test_nothing_raises_and_the_reason_is_known(name: str) -> None:
    answers, why = CASES[name]
    found = decide(answers, SMALLEST)
    assert tuple(found.questions) == QUESTIONS
    assert 0 < found.gate.p <= 1
    assert 0 < found.unparsed_p <= 1
    for answer in found.questions.values():
        assert answer.why in REASONS or not answer.why, answer.why
        assert answer.why == why or not why
        if np.isfinite(answer.high):
            assert 0 <= answer.low <= answer.high
            assert answer.above_zero or answer.low == 0
            assert (answer.verdict == "equivalent") == (answer.high < answer.smallest)
        if answer.verdict == "effect":
            assert found.gate.p <= 0.05
        if why and found.gate.p > 0.05:
            assert answer.verdict == "undecided"


def test_scores_that_change_with_any_prompt_accuse_no_order() -> None:
    """Each distinct prompt is one fixed draw, each order asked twice: no noise, and scores that differ by order."""
    once = np.random.default_rng(5).integers(1, 4, (40, 10))
    found = decide(choices(np.concatenate([once, once], axis=1), np.tile(np.arange(10), 2), B5), SMALLEST)
    single = found.questions["single"]
    assert found.gate.p > 0.05
    assert (single.verdict, single.why, single.low) == ("undecided", "any_prompt", 0)
    assert single.more["own_noise"] == 0
    assert single.more["beyond_noise"][1] > 0.5


def test_an_order_that_lost_a_call_does_not_cost_the_others_theirs() -> None:
    """Ten orders twice, one call lost: nine orders of two calls are dealt (8 x 2 > 9 x 1), the tenth stays."""
    score = np.tile(np.r_[np.arange(5), np.arange(5)], (9, 2)).astype(float)
    score[:, 4] = np.nan
    table = cells(choices(score, np.tile(np.arange(10), 2), B5))
    assert (table.by_item(table.kept * 1.0) == 9).all()
    more = cells(choices(np.ones((9, 20)), np.r_[np.arange(10), [0] * 10], B5))
    assert more.kept.all()


def test_blocks_of_many_items_have_the_moments_of_all_deals_and_agree_with_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """An item's squared lean on average over all deals: enumerated for one item, 3! deals, against Hoeffding's formula."""
    table = cells(choices([[0, 2, 1], [0, 1, 1]], [0, 1, 4], B3))
    cards = gates._cards(table)
    sizes = np.bincount(cards.group)
    seats = gates._seats(np.cumsum(sizes) - sizes, sizes, len(cards.group))
    every = cards.sums(seats, gates._every_deal(seats, sizes)).sum(axis=1)
    assert len(every) == 36
    assert cards.expected(seats) == pytest.approx(every.mean(axis=0), abs=1e-12)
    rng = np.random.default_rng(3)
    score = np.where(rng.random((60, 10)) < 0.07, B5[:, 0], np.clip(rng.normal(2, 1, (60, 10)).round(), 0, 4))
    table = cells(choices(score, np.arange(10), B5))
    few = gates.gate(table)
    monkeypatch.setattr(gates, "MOST_GROUPS", 10)
    many = gates.gate(table)
    assert many.deals == 30_000
    assert many.p == pytest.approx(few.p, abs=4 * np.sqrt(few.p * (1 - few.p) / 2000))


def test_directions() -> None:
    assert line(np.array([[0, 1, 2], [2, 1, 0], [1, 2, 0]])).tolist() == [1, -1, -0.5]
    assert turn(np.array([[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]])).tolist() == [1, -1, 1, -1]
    assert turn(np.array([[0, 1, 2, 3], [0, 2, 1, 3]])).tolist() == [1, 0]
    assert is_full(B5)
    assert not is_full(B5[:6])


# -------------------------------------------------------------------------------------------- from arms to verdicts
ORDERS = B3 + 1


def several(strategies: list[tuple[str, list[int], bool]], items: int = 10) -> JudgmentTable:
    """Each strategy, (name, orders, drawn), is a condition: the score is what stands first in every second item, else 2."""
    order = [k for _, orders, _ in strategies for k in orders]
    table = options(np.where(np.arange(items)[:, None] % 2, ORDERS[order, 0], 2), ORDERS, order)
    condition = [code for code, (_, orders, _) in enumerate(strategies) for _ in orders]
    conditions = tuple(replace(table.conditions[0], strategy=name, drawn=drawn) for name, _, drawn in strategies)
    return replace(table, conditions=conditions, rows=table.rows.assign(condition=condition * items))


def test_arms_give_the_same_as_a_table_of_codes() -> None:
    run = Judgments(several([("balanced", list(range(6)), False), ("fixed", [0, 0], False)]))
    order = np.r_[np.arange(6), 0, 0]
    score = np.where(np.arange(10)[:, None] % 2, ORDERS[order, 0] - 1, 1)
    expected = decide(choices(score, order, ORDERS - 1), SMALLEST)
    found = verdicts(run.arms, SMALLEST)
    assert repr(replace(found, condition=0)) == repr(expected)
    assert (found.condition, found.units) == (0, 10)


@pytest.mark.parametrize(("strategies", "orders", "condition"), [
    # A balanced set answers; the custom order 2 1 3 is not of it, the default order adds to its cell.
    ([("custom", [5, 2], False), ("balanced", [0, 1, 2, 3, 4, 5], False)], 6, 1),
    # Three rotations are a full set, each option once at each position: the orders outside it are left out.
    ([("balanced", [0, 1, 2], False), ("custom", [3, 4], False)], 3, 0),
    # Orders drawn for each item stand aside where a design shows two orders, and answer where none does.
    ([("random", [1, 2, 4], True), ("fixed", [0], False), ("descending", [3], False)], 2, 1),
    ([("fixed", [0], False), ("random", [1, 2, 4], True)], 3, 1),
    # Half a set: all that was asked answers.
    ([("custom", [0, 1, 3], False), ("fixed", [2], False)], 4, 0),
])  # fmt: skip
def test_which_arms_answer(strategies: list[tuple[str, list[int], bool]], orders: int, condition: int) -> None:
    answers = from_arms(Judgments(several(strategies)).arms)
    assert set(cells(answers).by_item(np.ones(len(cells(answers).item)))) == {orders}
    assert answers.condition == condition


def test_a_call_of_criteria_is_one_answer() -> None:
    """Two criteria, both orders: the first shown gets 4, the other 2, in eight texts; in four both get 3. A call of a
    thirteenth text lost a criterion and counts as unparsed.

    Lean of position 1: criterion 1 gets 4 there and 3 on average, as does criterion 2: +1 in 8 of 12 texts, 0 in 4: 2/3
    points. Both criteria are scored otherwise in the other order in 8 of 12 texts: flips 2/3.
    """
    table = criteria([[[4, 2], [2, 4]]] * 8 + [[[3, 3], [3, 3]]] * 4 + [[[4, 2], [2, np.nan]]], [[0, 1], [1, 0]])
    run = Judgments(table)
    answers = from_arms(run.arms)
    assert (len(answers.code), answers.parsed.sum()) == (26, 25)
    found = verdicts(run.arms, SMALLEST)
    assert (found.items, found.units) == (12, 12)
    positions = found.questions["positions"]
    assert positions.more["leans"] == pytest.approx([2 / 3, -2 / 3])
    assert (positions.smallest, positions.verdict) == (0.25, "effect")
    assert found.gate.p == 2 / 2**8
    assert found.questions["mean"].value == 0, "the mean over both criteria is 3 in either order"
    assert found.questions["single"].more["flips"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("table", [options(np.zeros((3, 0)), ORDERS), criteria(np.zeros((3, 0, 2)), [[0, 1], [1, 0]])])
def test_a_condition_without_judgments(table: JudgmentTable) -> None:
    found = verdicts(Judgments(table).arms, SMALLEST)
    assert {answer.why for answer in found.questions.values()} == {"nothing_parsed"}
