"""Bias Cost findings: what a user's run says about which order to use."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rubriclab.findings.frame import arm_units, item_tables, option_rows, units
from rubriclab.findings.ordering import MISSING_CELLS, NO_CELLS, ONE_PLACE, bias_costs, cost_said
from rubriclab.findings.position import position
from rubriclab.model import Arm, Ordering, RunData


def run_of(rows: list[tuple[int, int, int, int]]) -> RunData:
    """Rows of (item, ordering 0 = [1,2] or 1 = [2,1], position 1 or 2, times)."""
    shown = ((1, 2), (2, 1))
    repeated = [row[:3] for row in rows for _ in range(row[3])]
    frame = pd.DataFrame(repeated, columns=["item", "ordering", "position"])
    frame["score"] = [float(shown[o][p - 1]) for _, o, p in repeated]
    frame = frame.assign(arm=0, status=0, expected=np.nan, mass=np.nan)
    items = pd.DataFrame({"item_id": ["a", "b", "c"], "dataset": "d", "block": None})
    arm = Arm("j", "d", "balanced", scores=(1, 2), n_positions=2)
    return RunData("r", "r", (arm,), items, tuple(Ordering(s) for s in shown), frame)


def test_known_counts_give_the_hand_computed_cost() -> None:
    # Score 1: 6 times first (order A), 2 times second (order B): P(1|1) = 3/4.
    # Score 2: 4 times second (A), 8 times first (B): P(2|2) = 1/3.
    data = run_of([(0, 0, 1, 6), (1, 1, 2, 2), (1, 0, 2, 4), (2, 1, 1, 8)])
    found = position(data, n_boot=200).arms[0]
    # Default [1,2]: 1/4 + 1/6; reverse [2,1]: |2/3 - 1/2| + |1/4 - 1/2|, the same.
    assert found.bias_cost.default.cost == pytest.approx(100 * (1 / 4 + 1 / 6))
    assert found.bias_cost.best.cost == pytest.approx(100 * (1 / 6 + 1 / 4))
    assert (found.n_used, found.n_excluded, found.n_units) == (20, 0, 3)
    # Three items are too few to choose an order on some and look at others.
    assert np.isnan(found.bias_cost.without_noise.gain)
    assert MISSING_CELLS not in found.warnings


def test_a_score_never_chosen_is_said() -> None:
    data = run_of([(0, 0, 1, 3), (1, 1, 2, 3)])
    found = position(data, n_boot=50).arms[0]
    assert np.isnan(found.bias_cost.best.cost)
    assert MISSING_CELLS in found.warnings


def test_orderings_are_named_by_scores_not_by_codes() -> None:
    data = run_of([(0, 0, 1, 3), (1, 1, 2, 3)])
    rows = option_rows(data, data.arms[0], data.judgments)
    table = np.array([[0.9, 0.1], [0.6, 0.4]])
    mine = arm_units(rows, units(data.items))
    cost = bias_costs(table, item_tables(rows), mine, (3, 7), seed=0)
    assert cost.default.ordering == (3, 7)
    # [3,7]: 0.4 + 0.1; [7,3]: 0.1 + 0.4: a tie, the first is kept.
    assert cost.cyclic_best.ordering == (3, 7)
    assert cost.default.cost == pytest.approx(50.0)
    assert len(cost.rotations) == 2


def test_a_cost_is_said_with_its_unit_or_its_reason() -> None:
    assert cost_said(71.38) == "71.4 percentage points"
    assert cost_said(float("nan"), "9 prompts are too few") == "not defined: 9 prompts are too few"
    assert cost_said(None, "9 prompts are too few", reason=False) == "not defined"
    few = position(run_of([(0, 0, 1, 6), (1, 1, 2, 2), (1, 0, 2, 4), (2, 1, 1, 8)]), n_boot=50).arms[0].bias_cost
    assert few.missing.startswith("without noise not defined: 3 items are too few")
    never = position(run_of([(0, 0, 1, 3), (1, 1, 2, 3)]), n_boot=50).arms[0].bias_cost
    assert never.missing == f"not defined: {NO_CELLS}"
    one_order = position(run_of([(0, 0, 1, 3), (1, 0, 2, 3)]), n_boot=50).arms[0].bias_cost
    assert one_order.missing == f"not defined: {ONE_PLACE}"
