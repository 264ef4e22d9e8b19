"""Forms of the prompt, and rankings under two conditions: deals and winners by hand, changes beyond
noise, r.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from rubriclab.core.judgments import Judgments
from rubriclab.core.variant_effects import by_holm, form_gate, forms, side_by_side
from rubriclab.measures.ranking import Side, tau_b, winner_changes, winners
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import Smallest
from tests.tables import ORDERS, choices, choose, comparisons, findings, in_forms, only, options

ONE = ORDERS[:1]
LETTERS = "ids = letters"
SMALLEST = Smallest()
rng = np.random.default_rng


def two(default: Any, letters: Any, orders: Any = ONE, **more: Any) -> JudgmentTable:
    made = [options(np.asarray(score, dtype=float), orders, **more) for score in (default, letters)]
    return in_forms(dict(zip(("arabic", "letters"), made, strict=True)))


def gate_of(table: JudgmentTable):
    (form,) = forms(Judgments(table).arms)
    made = side_by_side(form)
    return form_gate(*made)


# -------------------------------------------------------------------------------- the gate, by hand
def test_the_gate_of_two_items_and_of_one_call_a_form() -> None:
    """An item's calls 1 1 | 2 2 can be dealt in 4! ways, 4 of which put both 2s into the other
    form, 4 into the default.

    Mean: both items upwards or both downwards: 2 / 36 = 1 / 18. Shares of scores, and squared
    means: each item either way: (1 / 3)^2 = 1 / 9. Least p over weight is 1 / 18 over 1 / 2, which
    only those deals reach.
    """
    gate = gate_of(two([[1, 1]] * 2, [[2, 2]] * 2))
    assert (gate.deals, gate.exact) == (24**2, True)
    assert gate.parts == pytest.approx({"mean": 1 / 18, "single": 1 / 9, "moves": 1 / 9})
    assert gate.p == pytest.approx(1 / 18)
    # Eight items one higher: 2^8 deals, all up or all down. Each item's own square never changes.
    gate = gate_of(two([[2]] * 8, [[3]] * 8))
    assert (gate.p, gate.parts) == (2 / 2**8, {"mean": 2 / 2**8, "single": 1.0, "moves": 1.0})


def test_cancelling_changes_are_seen_where_a_form_was_asked_twice() -> None:
    """Of eight items four get higher and four lower: the mean says nothing, each item's own change
    (1 / 3)^8 does.
    """
    gate = gate_of(two([[3, 3]] * 8, [[4, 4]] * 4 + [[2, 2]] * 4))
    assert gate.parts["mean"] == 1.0
    assert gate.parts["single"] <= 0.005
    assert gate.p <= 0.005
    found = findings(two([[3, 3]] * 12, [[4, 4]] * 6 + [[2, 2]] * 6))
    about = {"topic": "verdict", "condition": 1, "variant": LETTERS}
    (single,), (mean,) = (
        found.select("changes_single", **about),
        found.select("moves_mean", **about),
    )
    assert (single.verdict, single.value, mean.verdict, mean.value) == (
        "effect",
        1.0,
        "undecided",
        0.0,
    )


def test_orders_are_not_taken_for_the_form() -> None:
    """Every item gets what stands first, in both forms alike: within an order nothing changes."""
    first = np.tile(ORDERS[:, 0], (9, 1))
    table = two(first, first, ORDERS)
    assert gate_of(table).p == 1.0
    assert {
        row.why for row in findings(replace(table, state="paused")).select(topic="verdict")
    } == {"unfinished"}
    found = findings(table)
    assert only(found, "variant_flips", 1, variant=LETTERS).value == 0.0
    # With another shift in each order of the other form, calls are dealt within their order: 2^(9 x
    # 10) deals.
    higher = np.minimum(first + 1, 5)
    gate = gate_of(two(first, higher, ORDERS))
    assert (gate.exact, gate.p) == (False, 1 / 2000)


def test_many_items_are_dealt_in_blocks_and_agree_with_plain_deals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = two(choose(rng(0), 60, ONE, repeats=3), choose(rng(1), 60, ONE, repeats=2))
    plain = gate_of(table)
    monkeypatch.setattr("rubriclab.core.permutation.MOST_GROUPS", 10)
    blocks = gate_of(table)
    assert blocks.deals == 30_000
    assert [blocks.parts[name] for name in blocks.parts] == pytest.approx(
        list(plain.parts.values()), abs=0.04
    )


def test_forms_share_the_five_percent() -> None:
    """Three forms with p of .001 (2 / 2^11), .031 and .5: times 3, 2 and 1; the second is then no
    effect any more.
    """
    orders = [[1, 0], [0, 1]]
    family = []
    for higher, items in ((11, 11), (6, 11), (2, 11)):
        answers = choices([[0, 1]] * higher + [[0, 0]] * (items - higher), [0, 1], orders)
        family.append((answers, form_gate(answers, np.arange(items))))
    assert [gate.p for _, gate in family] == [2 / 2**11, 2 / 2**6, 2 / 2**2]
    given = by_holm(family, SMALLEST)
    assert [one.gate.p for one in given] == [3 * 2 / 2**11, 2 * 2 / 2**6, 0.5]
    assert [one.questions["mean"].word for one in given] == ["effect", "undecided", "undecided"]


# ----------------------------------------------------------------------------------------- the rows
@pytest.mark.papers(69, 70)
def test_shift_changed_scores_and_noise_by_hand() -> None:
    """Default 1 1 and 2 2, letters 1 2 and 2 2, six items each: means move by .5 or 0; of an item's
    four pairs across forms 2 or 0 differ: 1/4 on average; in one form (0 + 1) / 2 or 0: 1/4.
    Nothing beyond noise.
    """
    found = findings(two([[1, 1], [2, 2]] * 6, [[1, 2], [2, 2]] * 6))
    numbers = {
        name: only(found, name, 1, variant=LETTERS).value
        for name in (
            "variant_shift",
            "variant_distance",
            "variant_flips",
            "variant_repeat",
            "variant_excess",
        )
    }
    assert numbers == pytest.approx(
        {
            "variant_shift": 0.25,
            "variant_distance": 0.25,
            "variant_flips": 0.25,
            "variant_repeat": 0.25,
            "variant_excess": 0.0,
        }
    )
    # r of (1, 2) with (1.5, 2) over items: a straight line.
    assert only(found, "variant_pearson", 1).value == pytest.approx(1.0)
    shares = {row.of["score"]: row.value for row in found.select("form_score_share", condition=1)}
    assert shares == {-1: 0.0, 1: 0.25, 2: 0.75, 3: 0.0, 4: 0.0, 5: 0.0}
    found = findings(two([[1], [2]] * 8 + [[np.nan]] * 4, [[1], [3]] * 8 + [[3]] * 4))
    assert only(found, "variant_flips", 1).value == 0.5
    assert only(found, "variant_excess", 1).why == "no_repeats"
    assert only(found, "form_score_share", 0, score=-1).value == pytest.approx(4 / 20)
    (single,) = found.select("changes_single", topic="verdict", variant=LETTERS)
    assert (single.counts["noise"], single.why) == ("none", "noise_included")


@pytest.mark.papers(67, 72)
def test_r_with_people_in_another_form() -> None:
    """Letters give every item the same score but for luck: r with people falls from near 1 to near
    0.
    """
    level = rng(0).integers(1, 6, 80)
    noise = rng(1).integers(1, 6, (80, 2))
    people = [{"a": float(x)} for x in level]
    found = findings(two(np.stack([level, level], axis=1), noise, ratings=people))
    mine = only(found, "variant_pearson", 1, against="people")
    fall = only(found, "variant_pearson_difference", 1)
    assert abs(mine.value) < 0.3
    assert fall.value == pytest.approx(mine.value - 1.0)
    assert fall.interval[1] < -0.5
    shares = [row.value for row in found.select("form_score_share", variant="people")]
    assert shares == pytest.approx(np.bincount(level, minlength=6)[1:] / 80)


def test_choices_have_no_mean_and_change_winners() -> None:
    both = [[0, 1], [1, 0]]
    made = [comparisons([[1, 2, 1, 2]] * 10, both), comparisons([[2, 1, 2, 1]] * 10, both)]
    found = findings(in_forms(dict(zip((0.0, 1.0), made, strict=True)), "temperature"))
    rows = {row.measure: row for row in found.select(topic="verdict", variant="temperature = 1")}
    assert set(rows) == {"changes_single", "gate"}
    assert (rows["changes_single"].verdict, rows["changes_single"].value) == ("effect", 1.0)
    measures = {row.measure for row in found.select(topic="variants")}
    assert measures == {"variant_flips", "variant_repeat", "variant_excess"}


# ---------------------------------------------------------------------------- which forms there are
def test_scales_with_other_ends_are_not_compared() -> None:
    five, three = options(np.full((9, 2), 5.0), ONE), options(np.full((9, 2), 3.0), [[1, 2, 3]])
    found = findings(in_forms({5: five, 3: three}, "scale"))
    rows = found.select(condition=1, variant="scale = 3")
    assert {
        row.why
        for row in rows
        if row.topic == "verdict" or row.measure in ("variant_shift", "variant_flips")
    } == {"other_scores"}
    nine = options(
        np.full((9, 2), 1.5), [np.arange(1, 5.5, 0.5)], scores=tuple(np.arange(1, 5.5, 0.5))
    )
    found = findings(in_forms({5: five, 9: nine}, "scale"))
    assert only(found, "variant_shift", 1).value == -3.5


@pytest.mark.papers(60)
def test_orders_of_one_strategy_each_are_forms_without_a_verdict_of_their_own() -> None:
    """Fixed against descending: what the orders do is the verdict of the orders."""
    table = options(np.tile([[5.0, 1.0]], (10, 1)), [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]])
    strategies = tuple(
        replace(table.conditions[0], strategy=name) for name in ("fixed", "descending")
    )
    table = replace(table, conditions=strategies, rows=table.rows.assign(condition=[0, 1] * 10))
    found = findings(table)
    shift = only(found, "variant_shift", 1)
    assert (shift.of, shift.value) == ({"variant": "descending"}, -4.0)
    assert not [row for row in found.select(topic="verdict") if row.of]


def test_strategies_are_compared_with_their_own_kind() -> None:
    """Balanced and fixed, each in two forms: balanced with balanced; the verdict has both. Another
    judge is not met.
    """
    made = [
        options(choose(rng(k), 10, ORDERS), ORDERS, fixed=np.full((10, 2), 3.0)) for k in (0, 1)
    ]
    table = in_forms(dict(zip("ab", made, strict=True)))
    other = replace(table.conditions[0], judge="another", variant={})
    first = table.rows[table.rows["condition"] == 0]
    more = first.assign(condition=4, call=first["call"] + len(table.rows))
    table = replace(
        table,
        conditions=(*table.conditions, other),
        rows=pd.concat([table.rows, more], ignore_index=True),
    )
    (form,) = forms(Judgments(table).arms)
    assert [(a.code, b.code) for a, b in zip(form.base, form.arms, strict=True)] == [(0, 2), (1, 3)]
    found = findings(table)
    assert [row.condition for row in found.select("variant_shift")] == [2, 3]
    assert [row.condition for row in found.select("gate", variant="ids = b")] == [2]


def test_an_excess_is_over_items_that_know_both_change_and_noise() -> None:
    """Six items always change with the form and never in it; of six more the default was asked
    twice and changed, the letters once. Half of them know their noise: all three numbers are
    theirs. Else a change has no noise beside it.
    """
    default = [[1, 1]] * 6 + [[1, 2]] * 6
    found = findings(two(default, [[2, 2]] * 6 + [[2, np.nan]] * 6))
    flips, own, excess = (
        only(found, f"variant_{name}", 1) for name in ("flips", "repeat", "excess")
    )
    assert (flips.value, flips.counts["n"], own.value, excess.value, excess.counts["n"]) == (
        1.0,
        6,
        0.0,
        1.0,
        6,
    )
    found = findings(two([[1, 1]] * 6 + [[1, np.nan]] * 6, [[2, np.nan]] * 6 + [[2, 2]] * 6))
    flips, own, excess = (
        only(found, f"variant_{name}", 1) for name in ("flips", "repeat", "excess")
    )
    assert (flips.value, flips.counts["n"], own.why, excess.why) == (
        1.0,
        12,
        "noise_elsewhere",
        "noise_elsewhere",
    )


# -------------------------------------------------------------------- Rankings under two conditions
NAN = float("nan")
UP, DOWN = [1, 2, 3, 4, 5], [5, 4, 3, 2, 1]


def prompts(size: int, items: int) -> list[str]:
    return [f"p{i // size}" for i in range(items)]


def two_strategies(fixed: Any, descending: Any, size: int, **more: Sequence[Any]) -> JudgmentTable:
    """(items, calls) each: in the order 1..5, and in the order 5..1."""
    fixed, descending = np.asarray(fixed, dtype=float), np.asarray(descending, dtype=float)
    order = [0] * fixed.shape[1] + [1] * descending.shape[1]
    table = options(
        np.hstack([fixed, descending]), [UP, DOWN], order, prompt=prompts(size, len(fixed)), **more
    )
    conditions = tuple(
        replace(table.conditions[0], strategy=name) for name in ("fixed", "descending")
    )
    return replace(
        table, conditions=conditions, rows=table.rows.assign(condition=np.tile(order, len(fixed)))
    )


def test_tau_b_is_scipys_with_ties_and_gaps() -> None:
    a, b = rng(0).integers(1, 4, (2, 200, 5)).astype(float)
    a[rng(1).random(a.shape) < 0.1] = NAN
    for ours, one, other in zip(tau_b(a, b), a, b, strict=True):
        known = np.isfinite(one)
        theirs = (
            scipy_stats.kendalltau(one[known], other[known]).statistic if known.sum() > 1 else NAN
        )
        assert ours == pytest.approx(theirs, nan_ok=True)


@pytest.mark.papers(36, 37)
def test_rank_reversal_by_hand() -> None:
    """Six prompts of three answers. Reversed; tie for the first place, which the winner shares;
    tied winners lose both; all tied on one side, so whoever wins was a winner; the second was not
    scored; the same.
    """
    fixed = [[3, 2, 1], [3, 3, 1], [3, 3, 1], [2, 2, 2], [3, NAN, 1], [3, 2, 1]]
    descending = [[1, 2, 3], [3, 2, 1], [1, 1, 3], [3, 2, 1], [1, 5, 3], [3, 2, 1]]
    people = [{"a": float(x)} for x in [5, 3, 1, 4, 2, 1, 1, 1, 5, 3, 2, 1, 2, 2, 2, 4, 3, 2]]
    table = two_strategies(
        np.ravel(fixed)[:, None], np.ravel(descending)[:, None], 3, ratings=people
    )
    found = findings(table)
    compared, mine, theirs = winners(
        np.array(fixed, dtype=float), np.array(descending, dtype=float)
    )
    assert compared.all()
    assert (~(mine & theirs).any(axis=1)).tolist() == [True, False, True, False, True, False]
    changed, strict = (
        only(found, name, 0, against=1) for name in ("top1_changed", "top1_changed_strict")
    )
    assert (changed.value, strict.value) == (3 / 6, 5 / 6)
    # tau-b: -1; (2 - 0) / sqrt(2 x 3); -1 x 2 / sqrt(2 x 2); left out; -1; 1.
    tau = only(found, "kendall_tau", 0, against=1)
    assert tau.value == pytest.approx((-1 + 2 / np.sqrt(6) - 1 - 1 + 1) / 5)
    assert (tau.counts["n"], tau.counts["left_out"]) == (5, 1)
    # Rating of the picks, fixed less descending: 5 - 1, (4 + 2) / 2 - 4, 1 - 5, 2 - 3, 2 - 2, 0.
    assert only(found, "pick_difference", 0, against=1).value == pytest.approx(
        (4 - 1 - 4 - 1 + 0 + 0) / 6
    )
    # Fixed against the mean answer of those it scored: 5 - 3, 3 - 7/3, 1 - 7/3, 0, 0, 4 - 3; the
    # best: 2, 5/3, 8/3, 1, 0, 1.
    assert only(found, "pick_gain", 0).value == pytest.approx((2 + 2 / 3 - 4 / 3 + 0 + 0 + 1) / 6)
    assert only(found, "pick_most", 0).value == pytest.approx((2 + 5 / 3 + 8 / 3 + 1 + 0 + 1) / 6)
    assert only(found, "top1_excess", 0, against=1).why == "no_repeats"
    # Of two answers that people rate differently the better is scored higher, a tie half: 3 of 3,
    # 2.5 of 3, 0 of 2, 1.5 of 3, none to compare, 3 of 3.
    better = only(found, "better_of_two", 0)
    assert better.value == pytest.approx((3 + 2.5 + 0 + 1.5 + 3) / 14)
    assert better.counts["n"] == 14


def side(score: np.ndarray) -> Side:
    return Side(score, np.zeros(score.shape, dtype=np.int64))


@pytest.mark.thorough
def test_a_planted_change_stands_out_and_calls_are_counted_equally() -> None:
    worth = rng(1).normal(size=(40, 4, 1))
    first, other = (worth + 0.2 * rng(k).normal(size=(40, 4, 4)) for k in (2, 3))
    made = winner_changes(side(first), side(np.roll(other, 1, axis=1)))
    assert made.changed.sum() / made.decided.sum() > 0.9
    assert made.again.sum() / made.again_decided.sum() < 0.2
    assert made.p == 1 / 200
    same = winner_changes(side(first), side(other))
    assert same.p > 0.05
    # One condition of 20 calls, the other of one: the winner of 20 is never compared with the
    # winner of one.
    score = rng(4).normal(size=(60, 3, 20))
    made = winner_changes(side(score), side(rng(5).normal(size=(60, 3, 1))))
    assert made.changed.sum() / made.decided.sum() == pytest.approx(2 / 3, abs=0.05)


def test_forms_are_ranked_beside_the_default_within_prompts() -> None:
    level = np.tile([1.0, 2, 3], 8)[:, None]
    made = [
        options(np.repeat(values, 2, axis=1), [UP], prompt=prompts(3, 24))
        for values in (level, 4 - level)
    ]
    found = findings(in_forms(dict(zip("ab", made, strict=True))))
    row = only(found, "kendall_tau", 1)
    assert (row.of, row.value, row.interval[0]) == (
        {"against": 0},
        -1.0,
        -1.0,
    )  # tau ends at -1, and its interval
    excess = only(found, "top1_excess", 1)
    assert (excess.value, excess.p) == (1.0, 1 / 200)
    table = options(np.ones((9, 2)), [UP, DOWN], prompt=[f"p{k}" for k in range(9)])
    assert not findings(table).select(topic="ranking")
