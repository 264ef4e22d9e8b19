"""From the table of judgments to verdicts: which arms answer, what a call of several criteria is, what rows may be."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from rubriclab.core.answers import cells, from_arms
from rubriclab.core.judgments import Judgments
from rubriclab.core.verdict import decide, verdicts
from rubriclab.model.judgment import ITEM_COLUMNS, Condition, JudgmentTable, Ordering, Status
from rubriclab.model.orders import balanced
from rubriclab.model.study import Smallest
from tests.tables import choices

SMALLEST = Smallest()
ORDERS = balanced((1, 2, 3))
CRITERIA = ("clear", "kind")


def item_table(ids: list[str], **columns: list[str]) -> pd.DataFrame:
    table = pd.DataFrame({name: [None] * len(ids) for name in ITEM_COLUMNS}, dtype=object)
    return table.assign(item_id=ids, dataset="d", **columns)


def judgments(
    conditions: list[Condition],
    items: pd.DataFrame,
    orderings: list[tuple[int | str, ...]],
    rows: list[tuple[int, ...]],
) -> JudgmentTable:
    """``rows``: (condition, item, ordering, call, score); score 0 is unparsed."""
    table = pd.DataFrame(rows, columns=["condition", "item", "ordering", "call", "score"])
    parsed = table["score"] > 0
    table = table.assign(
        slot=0, repeat=0, position=1, status=np.where(parsed, Status.OK, Status.UNPARSED),
        score=table["score"].where(parsed).astype(float), expected=np.nan, mass=np.nan,
    )  # fmt: skip
    shown = tuple(Ordering(order, tuple("abc"[: len(order)])) for order in orderings)
    return JudgmentTable("r", "r", tuple(conditions), items, shown, table)


def options_run(strategies: list[tuple[str, list[int], bool]], items: int = 10) -> JudgmentTable:
    """Each strategy asks its orders once: the score is the option shown first in every second item, else 2."""
    conditions = [
        Condition("j", "d", name, scores=(1.0, 2.0, 3.0), positions=3, drawn=drawn) for name, _, drawn in strategies
    ]
    rows = [
        (code, item, order, 0, ORDERS[order][0] if item % 2 else 2)
        for code, (_, orders, _) in enumerate(strategies)
        for item in range(items)
        for order in orders
    ]
    rows = [(*row[:3], call, row[4]) for call, row in enumerate(rows)]
    return judgments(conditions, item_table([f"i{k}" for k in range(items)]), list(ORDERS), rows)


def test_arms_give_the_same_as_a_table_of_codes() -> None:
    run = Judgments(options_run([("balanced", list(range(6)), False), ("fixed", [0, 0], False)]))
    order = np.r_[np.arange(6), 0, 0]
    shown = np.array(ORDERS) - 1
    score = np.where(np.arange(10)[:, None] % 2, shown[order, 0], 1)
    expected = decide(choices(score, order, shown), SMALLEST)
    found = verdicts(run.arms, SMALLEST)
    assert repr(dataclasses.replace(found, condition=0)) == repr(expected)
    assert (found.condition, found.unit_kind, found.units) == (0, "item", 10)


def test_rows_shuffled_and_items_renamed() -> None:
    table = options_run([("balanced", list(range(6)), False)])
    rows = table.rows.sample(frac=1.0, random_state=3)
    rng = np.random.default_rng(1)
    code, ordering = rng.permutation(len(table.items)), rng.permutation(len(ORDERS))
    rows = rows.assign(item=code[rows["item"]], ordering=ordering[rows["ordering"]], call=np.arange(len(rows)))
    items = item_table([f"other {k}" for k in rng.permutation(len(table.items))])
    orderings = tuple(table.orderings[k] for k in np.argsort(ordering))
    other = dataclasses.replace(table, rows=rows, items=items, orderings=orderings)
    assert repr(verdicts(Judgments(other).arms, SMALLEST)) == repr(verdicts(Judgments(table).arms, SMALLEST))


@pytest.mark.parametrize(
    ("strategies", "orders", "condition"),
    [
        # A balanced set answers; the custom order 2 1 3 is not of it, the default order adds to its cell.
        ([("custom", [5, 2], False), ("balanced", [0, 1, 2, 3, 4, 5], False)], 6, 1),
        # Orders drawn for each item stand aside where a design shows two orders, and answer where none does.
        ([("random", [1, 2, 4], True), ("fixed", [0], False), ("descending", [3], False)], 2, 1),
        ([("fixed", [0], False), ("random", [1, 2, 4], True)], 3, 1),
        # Half a set: all that was asked answers.
        ([("custom", [0, 1, 3], False), ("fixed", [2], False)], 4, 0),
    ],
)
def test_which_arms_answer(strategies: list[tuple[str, list[int], bool]], orders: int, condition: int) -> None:
    answers = from_arms(Judgments(options_run(strategies)).arms)
    assert set(cells(answers).by_item(np.ones(len(cells(answers).item)))) == {orders}
    assert answers.condition == condition


def test_orders_outside_a_full_set_are_left_out() -> None:
    table = options_run([("balanced", [0, 1, 2], False), ("custom", [3, 4], False)])
    answers = from_arms(Judgments(table).arms)
    assert len(answers.item) == 30, "three rotations are full: each option once at each position"


def test_a_call_of_criteria_is_one_answer() -> None:
    """Two criteria: the one shown first gets 4, the other 2; one call lost a criterion and counts as unparsed."""
    condition = Condition("j", "d", "balanced", "criteria", tuple(range(1, 6)), CRITERIA, 2)
    texts = 9
    items = item_table(
        [f"t{text}/{name}" for text in range(texts) for name in CRITERIA],
        criterion=list(CRITERIA) * texts,
        block=[f"t{text}" for text in range(texts) for _ in CRITERIA],
    )
    rows = []
    for call, (text, order) in enumerate((text, order) for text in range(texts) for order in (0, 1)):
        for target in (0, 1):
            lost = (text, order, target) == (8, 1, 1)
            rows.append((0, 2 * text + target, order, call, 0 if lost else 4 if target == order else 2))
    run = Judgments(judgments([condition], items, [CRITERIA, CRITERIA[::-1]], rows))
    answers = from_arms(run.arms)
    assert (len(answers.code), answers.parsed.sum()) == (18, 17)
    found = verdicts(run.arms, SMALLEST)
    # 4 at position 1 and 2 at position 2, of each criterion: 1 above and below its own mean of 3, in eight whole texts.
    assert found.questions["positions"].more["leans"] == pytest.approx([1, -1])
    assert (found.items, found.units) == (8, 8)
    assert found.questions["positions"].verdict == "effect"


@pytest.mark.parametrize("reorder", ["options", "criteria"])
def test_a_condition_without_judgments(reorder: str) -> None:
    condition = Condition("j", "d", "balanced", reorder, (1.0, 2.0, 3.0), CRITERIA if reorder == "criteria" else (), 2)
    run = Judgments(judgments([condition], item_table(["a"], criterion=["clear"]), [CRITERIA], []))
    assert {answer.why for answer in verdicts(run.arms, SMALLEST).questions.values()} == {"nothing_parsed"}
