"""Rankings under two conditions: tau against scipy, winners and picks by hand, changes beyond the judge's own noise."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rubriclab.model.judgment import JudgmentTable
from rubriclab.stats.winners import Side, tau_b, winner_changes, winners
from tests.tables import findings, in_forms, only, options

NAN = float("nan")
rng = np.random.default_rng
UP, DOWN = [1, 2, 3, 4, 5], [5, 4, 3, 2, 1]


def prompts(size: int, items: int) -> list[str]:
    return [f"p{i // size}" for i in range(items)]


def two_strategies(fixed: Any, descending: Any, size: int, **more: Sequence[Any]) -> JudgmentTable:
    """(items, calls) each: in the order 1..5, and in the order 5..1."""
    fixed, descending = np.asarray(fixed, dtype=float), np.asarray(descending, dtype=float)
    order = [0] * fixed.shape[1] + [1] * descending.shape[1]
    table = options(np.hstack([fixed, descending]), [UP, DOWN], order, prompt=prompts(size, len(fixed)), **more)
    conditions = tuple(replace(table.conditions[0], strategy=name) for name in ("fixed", "descending"))
    return replace(table, conditions=conditions, rows=table.rows.assign(condition=np.tile(order, len(fixed))))


def test_tau_b_is_scipys_with_ties_and_gaps() -> None:
    a, b = rng(0).integers(1, 4, (2, 200, 5)).astype(float)
    a[rng(1).random(a.shape) < 0.1] = NAN
    for ours, one, other in zip(tau_b(a, b), a, b, strict=True):
        known = np.isfinite(one)
        theirs = scipy_stats.kendalltau(one[known], other[known]).statistic if known.sum() > 1 else NAN
        assert ours == pytest.approx(theirs, nan_ok=True)


@pytest.mark.papers(36, 37)
def test_rank_reversal_by_hand() -> None:
    """Six prompts of three answers. Reversed; tie for the first place, which the winner shares; tied winners lose both;
    all tied on one side, so whoever wins was a winner; the second was not scored; the same."""
    fixed = [[3, 2, 1], [3, 3, 1], [3, 3, 1], [2, 2, 2], [3, NAN, 1], [3, 2, 1]]
    descending = [[1, 2, 3], [3, 2, 1], [1, 1, 3], [3, 2, 1], [1, 5, 3], [3, 2, 1]]
    people = [{"a": float(x)} for x in [5, 3, 1, 4, 2, 1, 1, 1, 5, 3, 2, 1, 2, 2, 2, 4, 3, 2]]
    table = two_strategies(np.ravel(fixed)[:, None], np.ravel(descending)[:, None], 3, ratings=people)
    found = findings(table)
    compared, mine, theirs = winners(np.array(fixed, dtype=float), np.array(descending, dtype=float))
    assert compared.all()
    assert (~(mine & theirs).any(axis=1)).tolist() == [True, False, True, False, True, False]
    changed, strict = (only(found, name, 0, against=1) for name in ("top1_changed", "top1_changed_strict"))
    assert (changed.value, strict.value) == (3 / 6, 5 / 6)
    # tau-b: -1; (2 - 0) / sqrt(2 x 3); -1 x 2 / sqrt(2 x 2); left out; -1; 1.
    tau = only(found, "kendall_tau", 0, against=1)
    assert tau.value == pytest.approx((-1 + 2 / np.sqrt(6) - 1 - 1 + 1) / 5)
    assert (tau.counts["n"], tau.counts["left_out"]) == (5, 1)
    # Rating of the picks, fixed less descending: 5 - 1, (4 + 2) / 2 - 4, 1 - 5, 2 - 3, 2 - 2, 0.
    assert only(found, "pick_difference", 0, against=1).value == pytest.approx((4 - 1 - 4 - 1 + 0 + 0) / 6)
    # Fixed against the mean answer of those it scored: 5 - 3, 3 - 7/3, 1 - 7/3, 0, 0, 4 - 3; the best: 2, 5/3, 8/3, 1, 0, 1.
    assert only(found, "pick_gain", 0).value == pytest.approx((2 + 2 / 3 - 4 / 3 + 0 + 0 + 1) / 6)
    assert only(found, "pick_most", 0).value == pytest.approx((2 + 5 / 3 + 8 / 3 + 1 + 0 + 1) / 6)
    assert only(found, "top1_excess", 0, against=1).why == "no_repeats"


def side(score: np.ndarray) -> Side:
    return Side(score, np.zeros(score.shape, dtype=np.int64))


def test_a_planted_change_stands_out_and_calls_are_counted_equally() -> None:
    worth = rng(1).normal(size=(40, 4, 1))
    first, other = (worth + 0.2 * rng(k).normal(size=(40, 4, 4)) for k in (2, 3))
    made = winner_changes(side(first), side(np.roll(other, 1, axis=1)))
    assert made.changed.sum() / made.decided.sum() > 0.9
    assert made.again.sum() / made.again_decided.sum() < 0.2
    assert made.p == 1 / 200
    same = winner_changes(side(first), side(other))
    assert same.p > 0.05
    # One condition of 20 calls, the other of one: the winner of 20 is never compared with the winner of one.
    score = rng(4).normal(size=(60, 3, 20))
    made = winner_changes(side(score), side(rng(5).normal(size=(60, 3, 1))))
    assert made.changed.sum() / made.decided.sum() == pytest.approx(2 / 3, abs=0.05)


def test_forms_are_ranked_beside_the_default_within_prompts() -> None:
    level = np.tile([1.0, 2, 3], 8)[:, None]
    made = [options(np.repeat(values, 2, axis=1), [UP], prompt=prompts(3, 24)) for values in (level, 4 - level)]
    found = findings(in_forms(dict(zip("ab", made, strict=True))))
    row = only(found, "kendall_tau", 1)
    assert (row.of, row.value, row.interval[0]) == ({"against": 0}, -1.0, -1.0)  # tau ends at -1, and its interval
    excess = only(found, "top1_excess", 1)
    assert (excess.value, excess.p) == (1.0, 1 / 200)
    table = options(np.ones((9, 2)), [UP, DOWN], prompt=[f"p{k}" for k in range(9)])
    assert not findings(table).select(topic="ranking")
