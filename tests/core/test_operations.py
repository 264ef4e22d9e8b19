"""A - B: two conditions, two runs, and everything that pairing can go wrong with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.operations import contrast
from rubriclab.core.topic import MEASURES
from tests.tables import balanced_orders, choose, criteria, findings, options

ORDERS = balanced_orders(3)
A = choose(np.random.default_rng(0), 20, ORDERS, first=1.0, repeats=2)
B = choose(np.random.default_rng(1), 20, ORDERS, repeats=2)
TEXTS = [f"text {i}" for i in range(20)]


@pytest.mark.parametrize(
    "table",
    [options(A, ORDERS), criteria(np.random.default_rng(0).integers(1, 6, (12, 8, 3)), [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]])],
    ids=["options", "criteria"],
)  # fmt: skip
def test_a_minus_a_is_nothing_for_every_measure(table) -> None:
    rows = findings(table).rows
    differences = contrast(rows, rows)
    assert {row.measure for row in differences} == {
        row.measure for row in rows if MEASURES[row.measure].contrast and row.topic != "verdict"
    }
    for row in differences:
        if not row.estimate.why:
            assert (row.value, row.estimate.error) == (0.0, 0.0)
        assert (row.level, row.verdict, row.test) == (0.95, "", None)
        assert row.of["against"] == 0


def test_two_runs_pair_on_their_texts_whatever_their_order() -> None:
    mixed = np.random.default_rng(2).permutation(20)
    one = findings(options(A, ORDERS, unit_text=TEXTS)).rows
    same = findings(options(B, ORDERS, unit_text=TEXTS)).rows
    other = findings(options(B[mixed], ORDERS, unit_text=[TEXTS[k] for k in mixed])).rows
    for x, y in zip(contrast(one, same), contrast(one, other), strict=True):
        assert x.estimate.units == y.estimate.units
        if not x.estimate.why:
            assert (x.value, x.estimate.error) == pytest.approx((y.value, y.estimate.error))


def test_the_difference_of_shares_is_the_paired_t_test() -> None:
    one, other = (findings(options(scores, ORDERS, unit_text=TEXTS)).rows for scores in (A, B))
    (row,) = [row for row in contrast(one, other) if row.measure == "position_share" and row.of["position"] == 1]
    first = [(scores == np.tile(ORDERS[:, 0], 2)).mean(axis=1) for scores in (A, B)]
    d = first[0] - first[1]
    assert row.value == pytest.approx(d.mean())
    assert row.estimate.error == pytest.approx(d.std(ddof=1) / np.sqrt(20))


def test_conditions_of_a_run_are_held_against_each_other_and_runs_condition_by_condition() -> None:
    found = findings(options(A, ORDERS, fixed=B[:, :4]))
    differences = contrast(*([row for row in found.rows if row.condition == k] for k in (0, 1)))
    assert {row.of["against"] for row in differences} == {1}
    (share,) = [r for r in differences if r.measure == "score_share" and r.of["score"] == 3]
    assert share.value == pytest.approx((A == 3).mean() - (B[:, :4] == 3).mean())
    other = findings(options(B, ORDERS, fixed=A[:, :4]))
    pairs = {(row.condition, row.of["against"]) for row in contrast(found.rows, other.rows)}
    assert pairs == {(0, 0), (1, 1)}


def test_runs_without_common_units_are_independent() -> None:
    one = findings(options(A, ORDERS, unit_text=TEXTS)).rows
    other = findings(options(B, ORDERS, unit_text=[f"other {i}" for i in range(20)])).rows
    (row,) = [row for row in contrast(one, other, "run B") if row.measure == "line"]
    assert row.estimate.units == 40
    assert row.of["against"] == "run B"


def test_rows_that_the_other_side_lacks_are_left_out() -> None:
    rows = findings(options(A, ORDERS)).rows
    assert contrast(rows, []) == []
    moved = [replace(row, of={**row.of, "position": 9}) for row in rows if row.measure == "position_share"]
    assert contrast(rows, moved) == []
