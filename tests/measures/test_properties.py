"""Properties of every measure, whatever its topic: names, rows, orders and units decide nothing; no
case is an error.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import CAUTIONS, MEASURES, REASONS, Findings, Row
from rubriclab.data.sample import data_path
from rubriclab.model.judgment import JudgmentTable
from rubriclab.store.bundle import read_bundle
from tests.measures.test_contradictions import made as judged_in_both_ways
from tests.measures.test_pass_fail import pass_fail, two_orders
from tests.measures.test_people import stated
from tests.measures.test_variant_rates import DEFAULT, FEEDBACK, LABEL, compared
from tests.runs.test_company import asked_both_ways
from tests.tables import (
    ORDERS,
    balanced_orders,
    choose,
    comparisons,
    criteria,
    findings,
    in_forms,
    on_two_sets,
    options,
    responses,
    rows_of,
    study,
)

rng = np.random.default_rng
THREE = balanced_orders(3)
BOTH = [[0, 1], [1, 0]]
WILLIAMS = np.array([[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]])


def scored(texts: int, calls: int = 8, n: int = 4, seed: int = 0) -> np.ndarray:
    level = rng(seed).normal(3, 0.8, (texts, 1, n))
    return np.clip(np.rint(level + rng(seed + 1).normal(0, 0.7, (texts, calls, n))), 1, 5)


def lost(score: np.ndarray, share: float = 0.2) -> np.ndarray:
    return np.where(rng(9).random(score.shape) < share, np.nan, score)


def drawn(items: int, calls: int) -> JudgmentTable:
    shown = np.stack([rng(4).permutation(4) + 1 for _ in range(items * calls)])
    orders, order = np.unique(shown, axis=0, return_inverse=True)
    order = order.reshape(items, calls)
    score = orders[order, rng(5).integers(0, 4, (items, calls))]
    return options(score, orders, order, scores=(1, 2, 3, 4), drawn=True)


CASES: dict[str, Callable[[], JudgmentTable]] = {
    "balanced and fixed": lambda: options(
        choose(rng(0), 25, ORDERS, first=0.5), ORDERS, fixed=choose(rng(1), 25, ORDERS[:1])
    ),
    "unparsed": lambda: options(lost(choose(rng(0), 25, ORDERS, repeats=2)), ORDERS),
    "probabilities": lambda: options(
        choose(rng(0), 12, ORDERS),
        ORDERS,
        expected=rng(1).uniform(1, 5, (12, 10)),
        mass=rng(2).uniform(0.4, 1, (12, 10)),
    ),
    "people": lambda: study(rng(0), 40, fixed=4, lost=0.05, unrated=0.2),
    "people, by prompt": lambda: study(rng(1), 40, size=2, lost=0.05, unrated=0.2),
    "people, one rater, few": lambda: study(rng(2), 7, raters=1),
    "people on another scale": lambda: on_another_scale(study(rng(3), 30)),
    "people, nothing parsed": lambda: study(rng(4), 12, lost=1.0),
    "people who always give 3": lambda: rated_as(study(rng(5), 20, fixed=2), {"a": 3.0, "b": 3.0}),
    "people, criteria": lambda: rated_as(criteria(lost(scored(20)), WILLIAMS), None),
    "labels drawn anew": lambda: labelled(
        options(choose(rng(0), 30, balanced_orders(4), first=0.5), balanced_orders(4))
    ),
    "one unit": lambda: options(choose(rng(0), 1, ORDERS, repeats=2), ORDERS),
    "one judgment": lambda: options([[3.0]], ORDERS, [0]),
    "nothing parsed": lambda: options(
        np.full((9, 10), np.nan), ORDERS, fixed=np.full((9, 2), np.nan)
    ),
    "one order": lambda: options(choose(rng(0), 12, ORDERS[:1], repeats=4), ORDERS[:1]),
    "constant judge": lambda: options(np.full((12, 20), 4.0), ORDERS),
    "always first": lambda: options(np.tile(ORDERS[:, 0], (12, 1)), ORDERS),
    "two data sets": lambda: on_two_sets(
        *(options(choose(rng(k), 20, THREE), THREE) for k in (0, 1))
    ),
    "two options": lambda: options(
        choose(rng(0), 20, balanced_orders(2), repeats=4), balanced_orders(2)
    ),
    "ten options": lambda: options(choose(rng(0), 11, balanced_orders(10)), balanced_orders(10)),
    "uneven scale": lambda: options(
        [[0.0, 5, 100], [5, 5, 100]] * 5, [[0, 5, 100], [100, 5, 0]], [0, 1, 1]
    ),
    "drawn orders": lambda: drawn(40, 5),
    "one drawn order an item": lambda: drawn(60, 1),
    "no order of the scale": lambda: options(
        choose(rng(0), 9, ORDERS), ORDERS, scores=(1, 2, 3, 4, 6)
    ),
    "off the scale": lambda: options([[9.0, 3, 2.5, 4]] * 9, ORDERS[:4]),
    "criteria": lambda: criteria(scored(20), WILLIAMS),
    "criteria by prompt, unparsed": lambda: criteria(
        lost(scored(20)), WILLIAMS, prompt=[f"p{i // 2}" for i in range(20)]
    ),
    "criteria, one text": lambda: criteria(scored(1), WILLIAMS),
    "criteria, nothing parsed": lambda: criteria(np.full((9, 4, 4), np.nan), WILLIAMS),
    "criteria, constant judge": lambda: criteria(np.full((9, 4, 4), 3.0), WILLIAMS),
    "criteria, one drawn order": lambda: criteria(
        scored(30, 1), WILLIAMS, rng(3).integers(0, 4, (30, 1)), drawn=True
    ),
    "pairs": lambda: comparisons(
        rng(0).choice([0, 1, 1, 1, 2, 2, np.nan], (40, 4)), BOTH, names=PAIRS, **ABOUT
    ),
    "pairs, one drawn order each": lambda: comparisons(
        rng(0).integers(0, 3, (40, 1)),
        BOTH,
        rng(1).integers(0, 2, (40, 1)),
        names=PAIRS,
        drawn=True,
    ),
    "pairs, nothing parsed": lambda: comparisons(np.full((12, 2), np.nan), BOTH),
    "one pair": lambda: comparisons([[1, 2]], BOTH),
    "three judges of pairs": lambda: three_judges(CASES["pairs"]()),
    "lists": lambda: comparisons(
        rng(0).choice([0, 1, 1, 2, 3], (30, 6)), [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    ),
    "forms": lambda: in_forms(
        {
            level: study(rng(k), 30, calls=20, lost=0.02, fixed=2)
            for k, level in enumerate((0.0, 0.5, 1.0))
        },
        "temperature",
    ),
    "forms, by prompt": lambda: in_forms(
        {level: study(rng(k), 40, size=4, lost=0.05, unrated=0.1) for k, level in enumerate("ab")}
    ),
    "people, by prompt, two strategies": lambda: study(rng(1), 60, size=3, fixed=10),
    "forms, one call": lambda: in_forms(
        {level: options(choose(rng(3), 9, ORDERS[:1]), ORDERS[:1]) for level in "ab"}
    ),
    "forms, nothing parsed": lambda: in_forms(
        {level: options(np.full((9, 2), np.nan), ORDERS[:1]) for level in "ab"}
    ),
    "forms of pairs": lambda: in_forms(
        {
            level: comparisons(rng(k).integers(0, 3, (40, 4)), BOTH, names=PAIRS, **ABOUT)
            for k, level in enumerate("ab")
        }
    ),
    "answers in one call": lambda: responses(scored(12), WILLIAMS, alone=scored(12)[:, 0]),
    "answers in one call, unparsed": lambda: responses(lost(scored(12), 0.05), WILLIAMS),
}
PAIRS = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")] * 10
ABOUT: dict[str, Any] = {
    "prompt": [f"p{i // 4}" for i in range(40)],
    "task": [["law", "maths"][i // 20] for i in range(40)],
    "ratings": [{"gold": 1 + i % 2} for i in range(40)],
}


def labelled(table: JudgmentTable) -> JudgmentTable:
    """Each order with the labels A to D in an arrangement of its own."""
    drawn = [rng(20 + k).permutation(list("ABCD")) for k in range(len(table.orderings))]
    shown = zip(table.orderings, drawn, strict=True)
    return replace(
        table,
        orderings=tuple(replace(one, labels=tuple(map(str, labels))) for one, labels in shown),
    )


def rated_as(table: JudgmentTable, ratings: dict[str, float] | None) -> JudgmentTable:
    """All items with these ratings; two raters at random where None."""
    given = [
        ratings or {f"rater {k}": float(rng(i).integers(1, 6)) for k in range(2)}
        for i in range(len(table.items))
    ]
    return replace(table, items=table.items.assign(ratings=given))


def on_another_scale(table: JudgmentTable) -> JudgmentTable:
    people = [
        {rater: 20 * score for rater, score in ratings.items()}
        for ratings in table.items["ratings"]
    ]
    return replace(table, items=table.items.assign(ratings=people))


def three_judges(table: JudgmentTable) -> JudgmentTable:
    """Two of one family; the second and third answer every second call like the first, and else by
    chance.
    """
    rows, conditions = [table.rows], [replace(table.conditions[0], judge="gpt-4")]
    for k, judge in enumerate(("gpt-5", "claude-4"), start=1):
        other = table.rows.assign(condition=k, call=table.rows["call"] + k * len(table.rows))
        other["position"] = np.where(
            other.index % 2, other["position"], rng(7 + k).integers(0, 3, len(other))
        )
        rows.append(other)
        conditions.append(replace(table.conditions[0], judge=judge))
    return replace(table, conditions=tuple(conditions), rows=pd.concat(rows, ignore_index=True))


@cache
def found_in(name: str) -> Findings:
    """The findings of a case, computed once for all tests."""
    made = findings(CASES[name]())
    assert made.rows
    return made


@pytest.fixture(params=CASES)
def found(request: pytest.FixtureRequest) -> Findings:
    return found_in(request.param)


def keyed(rows: list[Row]) -> dict[tuple[Any, ...], Row]:
    out = {(row.condition, *row.key): row for row in rows}
    assert len(out) == len(rows), "a row stands twice"
    return out


def same(a: Findings, b: Findings) -> None:
    """All rows, to rounding errors (of cells in single precision): their numbers, intervals,
    levels, tests and words.
    """
    mine, other = (
        keyed([row for row in part.rows if row.measure != "hardest"]) for part in (a, b)
    )  # names an item
    assert mine.keys() == other.keys()
    for key in mine:
        numbers, partners = (
            (row.value, *row.interval, row.level, row.p) for row in (mine[key], other[key])
        )
        assert numbers == pytest.approx(partners, rel=1e-6, abs=1e-7, nan_ok=True), key
        words, others = (
            (
                row.verdict,
                row.why,
                row.unit,
                *map(row.counts.get, ("n", "from", "highest", "lowest", "order")),
            )
            for row in (mine[key], other[key])
        )
        assert words == others, key
    assert a.cautions == b.cautions


@pytest.mark.thorough
def test_every_row_is_a_number_with_its_interval_or_says_why_not(found: Findings) -> None:
    for row in found.rows:
        assert row.measure in MEASURES
        assert row.why == "" or row.why in REASONS
        low, high = row.interval
        assert np.isfinite(low) == np.isfinite(high)
        if np.isfinite(low):
            assert low <= high
            assert (
                row.measure in ("changes_single", "order_excess")
                or low - 1e-9 <= row.value <= high + 1e-9
            )
        elif row.measure != "gate":
            assert row.why, row
        assert not np.isinf(row.value)
        assert 0.95 <= row.level < 1
        assert row.test is None or 0 <= row.p <= 1 or np.isnan(row.p)
        jackknifed = row.measure in (
            "position_given_score",
            "position_shift",
            "first_minus_last",
            "judges_kappa",
        )
        if not jackknifed and row.topic not in (
            "people",
            "agreement",
            "alt_test",
            "variants",
        ):  # else near 0
            assert abs(row.estimate.influence.sum()) < 1e-9 * max(
                1.0, np.abs(row.estimate.influence).sum()
            )
        assert len(row.estimate.unit) in (0, row.estimate.units)
    for caution in found.cautions:
        assert caution.kind in CAUTIONS
        assert caution.sentence


def test_shares_are_shares(found: Findings) -> None:
    for row in found.rows:
        if row.about.unit == "share" and np.isfinite(row.value) and row.topic != "verdict":
            assert -1e-12 <= row.value <= 1 + 1e-12
            assert not np.isfinite(row.interval[0]) or row.interval[0] >= -1e-12
    for code in range(len(found.conditions)):
        total = sum(row.value for row in found.select("position_share", condition=code))
        assert np.isnan(total) or total == 0 or total == pytest.approx(1.0)


def items_renamed_and_mixed(case: JudgmentTable) -> JudgmentTable:
    """The item that was k becomes new[k]; prompts and blocks have other names too, of another
    alphabet.
    """
    new = rng(11).permutation(len(case.items))
    items = case.items.iloc[np.argsort(new)].reset_index(drop=True)
    for column in ("prompt", "block", "item_id"):
        items[column] = [
            None if pd.isna(name) else f"{str(name)[::-1]} renamed" for name in items[column]
        ]
    return replace(case, items=items, rows=case.rows.assign(item=new[case.rows["item"].to_numpy()]))


def orders_with_other_codes(case: JudgmentTable) -> JudgmentTable:
    new = rng(12).permutation(len(case.orderings))
    orderings = tuple(case.orderings[k] for k in np.argsort(new))
    return replace(
        case,
        orderings=orderings,
        rows=case.rows.assign(ordering=new[case.rows["ordering"].to_numpy()]),
    )


@pytest.mark.thorough
def test_numbers_stay_where_rows_names_and_codes_change(found: Findings) -> None:
    case = orders_with_other_codes(items_renamed_and_mixed(found.judgments.table))
    same(
        found,
        findings(
            replace(case, rows=case.rows.sample(frac=1, random_state=3).reset_index(drop=True))
        ),
    )


@pytest.mark.parametrize("name", ["balanced and fixed", "unparsed", "drawn orders", "two options"])
def test_units_named_one_by_one_are_the_items(name: str) -> None:
    case = CASES[name]()
    single = replace(
        case, items=case.items.assign(prompt=[f"p{k}" for k in range(len(case.items))])
    )
    same(found_in(name), findings(single))


@pytest.mark.thorough
def test_every_measure_has_a_number_in_some_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = (
        "balanced and fixed",
        "probabilities",
        "criteria",
        "unparsed",
        "people",
        "people, criteria",
        "three judges of pairs",
        "two data sets",
        "labels drawn anew",
        "answers in one call",
        "forms",
        "people, by prompt, two strategies",
        "pairs, one drawn order each",
    )
    rows = [row for name in names for row in found_in(name).rows]
    rows += rows_of(stated(0, 30), "calibration")[0]
    for more in (
        asked_both_ways(tmp_path, monkeypatch),
        pass_fail(two_orders()),
        judged_in_both_ways(rng(2), 40, 1.5),
        compared(DEFAULT, FEEDBACK, LABEL),
        Findings(Judgments(read_bundle(data_path("example-examples.zip")))),
    ):
        rows += more.rows
    assert {row.measure for row in rows if np.isfinite(row.value)} == set(MEASURES) - {
        "gate",
        "company_gate",
    }


@pytest.mark.parametrize("name", ["constant judge", "criteria, constant judge"])
def test_a_constant_judge_is_not_accused_and_not_certain(name: str) -> None:
    found = found_in(name)
    for row in found.rows:
        if row.topic == "verdict":
            assert row.verdict in ("", "undecided", "equivalent")
        if row.measure in (
            "line",
            "turn",
            "order_excess",
            "largest_gap",
            "first_minus_last",
            "carryover",
        ):
            assert row.value == 0 or row.why in ("no_contrast", "no_repeats")
    assert "constant_judge" in {caution.kind for caution in found.cautions}
