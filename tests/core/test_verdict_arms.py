"""From the table of judgments to verdicts: which arms answer, what a call of several criteria is, what rows may be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.answers import cells, from_arms
from rubriclab.core.judgments import Judgments
from rubriclab.core.verdict import decide, verdicts
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.orders import balanced
from rubriclab.model.study import Smallest
from tests.tables import choices, criteria, options

SMALLEST = Smallest()
ORDERS = np.array(balanced((1, 2, 3)))


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


def test_rows_shuffled_and_items_renamed_change_not_a_bit() -> None:
    table = several([("balanced", list(range(6)), False)])
    rng = np.random.default_rng(1)
    code, ordering = rng.permutation(len(table.items)), rng.permutation(len(ORDERS))
    rows = table.rows.sample(frac=1.0, random_state=3)
    rows = rows.assign(item=code[rows["item"]], ordering=ordering[rows["ordering"]], call=np.arange(len(rows)))
    items = table.items.assign(item_id=[f"other {k}" for k in rng.permutation(len(table.items))])
    orderings = tuple(table.orderings[k] for k in np.argsort(ordering))
    other = replace(table, rows=rows, items=items, orderings=orderings)
    assert repr(verdicts(Judgments(other).arms, SMALLEST)) == repr(verdicts(Judgments(table).arms, SMALLEST))


@pytest.mark.parametrize(
    ("strategies", "orders", "condition"),
    [
        # A balanced set answers; the custom order 2 1 3 is not of it, the default order adds to its cell.
        ([("custom", [5, 2], False), ("balanced", [0, 1, 2, 3, 4, 5], False)], 6, 1),
        # Three rotations are a full set, each option once at each position: the orders outside it are left out.
        ([("balanced", [0, 1, 2], False), ("custom", [3, 4], False)], 3, 0),
        # Orders drawn for each item stand aside where a design shows two orders, and answer where none does.
        ([("random", [1, 2, 4], True), ("fixed", [0], False), ("descending", [3], False)], 2, 1),
        ([("fixed", [0], False), ("random", [1, 2, 4], True)], 3, 1),
        # Half a set: all that was asked answers.
        ([("custom", [0, 1, 3], False), ("fixed", [2], False)], 4, 0),
    ],
)
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
