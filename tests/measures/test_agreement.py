"""Agreement and r, rho, tau-b: by hand, by definition over pairs, and as other libraries have them
(tests/references).
"""

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as sp

from rubriclab.measures.agreement import (
    COEFFICIENTS,
    PairTable,
    coefficients,
    intraclass_sums,
    pairs_across,
    pairs_within,
)
from rubriclab.measures.agreement import intraclass as intraclass_of_sums
from rubriclab.stats import correlation as own
from rubriclab.stats.correlation import band, budget, kendall, pearson, spearman, with_the_others
from rubriclab.stats.resample import Floats
from tests.references.agreement import SHARED, tables

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = json.loads((ROOT / "tests" / "references" / "agreement.json").read_text("utf-8"))
SCALE = np.arange(1.0, 6.0)
ICC = ("icc2_1", "icc2_k", "icc3_1")


def counts(ratings: Floats, values: Floats = SCALE) -> Floats:
    return np.stack([(ratings == value).sum(axis=1) for value in values], axis=1).astype(np.float64)


def two(one: Floats, other: Floats, values: Floats = SCALE) -> PairTable:
    """Calls (items, r) beside ratings (items, m), every item a unit of its own."""
    n = len(one)
    return pairs_across(counts(one, values), counts(other, values), values, 1.0, np.arange(n), n)


def named(table: PairTable) -> dict[str, float]:
    n = table.pairs.sum()
    shares = {"exact": table.alike(0).sum() / n, "within_one": table.alike(1).sum() / n}
    every = coefficients(table.pairs.sum(axis=0), table.coincidences.sum(axis=0), table.values)
    return shares | dict(zip(COEFFICIENTS, every.tolist(), strict=True))


def intraclass(rows: Floats) -> Floats:
    n = len(rows)
    return intraclass_of_sums(intraclass_sums(rows, np.arange(n), n).sum(axis=0), rows.shape[1])


TABLES = tables()


def table_of(name: str) -> Floats:
    if name not in TABLES:
        pytest.skip(f"{SHARED} is not on this machine: these data are not shipped")
    return TABLES[name]


@pytest.mark.parametrize("name", ANSWERS)
def test_two_raters_agree_as_scikit_learn_irrcac_and_krippendorff_say(name: str) -> None:
    ratings = table_of(name)
    one, other = ratings[np.isfinite(ratings[:, :2]).all(axis=1), :2].T
    found = named(two(one[:, None], other[:, None]))
    n = len(one)
    found["tau_b"] = kendall(one, other, np.arange(n), n).value
    for key, answer in ANSWERS[name]["two"].items():
        assert found[key] == pytest.approx(
            np.nan if answer is None else answer, abs=1e-9, nan_ok=True
        ), key


@pytest.mark.parametrize("name", ANSWERS)
def test_a_panel_agrees_as_irrcac_krippendorff_and_pingouin_say(name: str) -> None:
    ratings = table_of(name)
    several = ratings[np.isfinite(ratings).sum(axis=1) > 1]
    item = np.arange(len(several))
    found = named(pairs_within(counts(several), SCALE, 1.0, item, item, len(several)))
    if np.isfinite(several).all():
        found |= dict(zip(ICC, intraclass(several).tolist(), strict=True))
    for key, answer in ANSWERS[name]["panel"].items():
        assert found[key] == pytest.approx(
            np.nan if answer is None else answer, abs=1e-6, nan_ok=True
        ), key


def test_a_group_of_one_has_no_pair_and_groups_of_an_item_count_it_once() -> None:
    """An item in two orders: 1 and 2 in the first, 2 alone in the second; another item 2, 2 and 1,
    1.
    """
    each = np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 2.0], [2.0, 0.0]])
    table = pairs_within(each, np.array([1.0, 2.0]), 1.0, np.array([0, 0, 1, 1]), np.arange(2), 2)
    np.testing.assert_allclose(table.pairs, [[[0, 0.5], [0.5, 0]], [[0.5, 0], [0, 0.5]]])
    np.testing.assert_allclose(table.coincidences.sum(axis=(1, 2)), [2.0, 4.0])


# ------------------------------------------------------------------------------------ r, rho, tau-b
NAN = np.nan
rng = np.random.default_rng


def scores(items: int, calls: int, seed: int) -> tuple[Floats, Floats]:
    """(scores (items, calls) with ties, ratings)."""
    truth = rng(seed).normal(size=items)
    given = np.round(truth[:, None] + rng(seed + 1).normal(scale=1.5, size=(items, calls)))
    return given, np.round(truth + rng(seed + 2).normal(size=items), 1)


SCIPY: dict[str, tuple[Callable[..., own.LeftOut], Callable[[Floats, Floats], float]]] = {
    "pearson": (pearson, lambda x, y: sp.pearsonr(x, y)[0]),
    "spearman": (spearman, lambda x, y: sp.spearmanr(x, y).statistic),
    "kendall": (kendall, lambda x, y: sp.kendalltau(x, y)[0]),
}


@pytest.mark.parametrize("name", SCIPY)
@pytest.mark.parametrize(("items", "size"), [(15, 1), (60, 1), (60, 4)])
def test_they_are_scipys_with_all_and_without_each_unit(name: str, items: int, size: int) -> None:
    """Ranks without each unit to first order: no value is off by a tenth of the error, nor the
    error by a twentieth.
    """
    mine, theirs = SCIPY[name]
    x, y = scores(items, 3, 0)
    x, unit, units = x.mean(axis=1), np.arange(items) // size, items // size
    made = mine(x, y, unit, units)
    assert made.value == pytest.approx(theirs(x, y))
    again = np.array([theirs(x[unit != gone], y[unit != gone]) for gone in range(units)])
    if name == "pearson":
        assert made.without == pytest.approx(again)
    assert made.without.std() == pytest.approx(again.std(), rel=0.05)
    assert np.abs(made.without - again).max() < 0.1 * again.std() * np.sqrt(units)


@pytest.mark.parametrize("name", SCIPY)
def test_a_side_that_does_not_vary_or_one_item_has_none(name: str) -> None:
    mine = SCIPY[name][0]
    assert np.isnan(mine(np.full(9, 0.1 + 0.2), np.arange(9.0), np.arange(9), 9).value)
    assert np.isnan(mine(np.ones(1), np.ones(1), np.zeros(1, dtype=np.int64), 1).value)
    assert np.isnan(mine(np.ones(0), np.ones(0), np.zeros(0, dtype=np.int64), 0).value)


def test_each_rater_beside_the_others_by_hand() -> None:
    ratings = np.array([[1.0, 2, 1], [2, 2, 4], [3, 5, 4], [5, 4, 5], [4, NAN, NAN]])
    value, without, shared = with_the_others(ratings, np.arange(5), 5)
    whole = ratings[:4]
    for rater in range(3):
        others = np.delete(whole, rater, 1).mean(axis=1)
        assert value[rater] == pytest.approx(np.corrcoef(whole[:, rater], others)[0, 1])
        assert without[0, rater] == pytest.approx(np.corrcoef(whole[1:, rater], others[1:])[0, 1])
    assert shared.tolist() == [4, 4, 4]


def test_the_budget_is_the_plain_loop_over_subsets() -> None:
    given, human = scores(80, 6, 6)
    given[rng(13).random(given.shape) < 0.1] = NAN
    unit = np.arange(80) // 2
    for point in budget(given[None], human, unit, 40, [1, 2, 4, 6]):
        chosen = [list(c) for c in combinations(range(6), point.calls)]

        def mean_r(rest: np.ndarray, chosen: list[list[int]] = chosen) -> list[float]:
            kept = [(rest & np.isfinite(given[:, s]).any(axis=1), s) for s in chosen]
            return [
                np.corrcoef(np.nanmean(given[at][:, s], axis=1), human[at])[0, 1] for at, s in kept
            ]

        r = mean_r(unit >= 0)
        assert (len(point.each), point.r.value) == (len(r), pytest.approx(np.mean(r)))
        assert band(point.each) == pytest.approx(tuple(np.quantile(r, [0.025, 0.975])))
        assert point.r.without[7] == pytest.approx(np.mean(mean_r(unit != 7)))


def test_rounds_of_repeats_are_averaged_and_many_subsets_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given, human = scores(40, 6, 9)
    tables = given.reshape(40, 2, 3).transpose(1, 0, 2)
    both = next(budget(tables, human, np.arange(40), 40, [2]))
    each = [next(budget(part[None], human, np.arange(40), 40, [2])).r.value for part in tables]
    assert (len(both.each), both.r.value) == (6, pytest.approx(np.mean(each)))
    monkeypatch.setattr(own, "_AT_ONCE", 50)  # in parts, which change nothing
    assert next(budget(tables, human, np.arange(40), 40, [2])).r.value == pytest.approx(
        both.r.value
    )
    given, human = scores(200, 20, 7)
    points = list(budget(given[None], human, np.arange(200), 200, [1, 2, 10, 20]))
    assert [len(point.each) for point in points] == [20, 190, 1_024, 1]
    assert np.all(np.diff([point.r.value for point in points]) > 0)
    gap = np.full((1, 40, 3), 0.3)
    gap[0, 0, 1] = NAN
    assert np.isnan(next(budget(gap, human[:40], np.arange(40), 40, [2])).r.value)
