"""Coefficients of agreement: by hand, by definition over pairs, and as other libraries have them (tests/references)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rubriclab.stats import agreement as stats
from rubriclab.stats.agreement import COEFFICIENTS, PairTable, across, coefficients, within
from rubriclab.stats.correlation import kendall
from rubriclab.stats.resample import Floats
from tests.references.agreement import SHARED, seeded, tables

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = json.loads((ROOT / "tests" / "references" / "agreement.json").read_text("utf-8"))
SCALE = np.arange(1.0, 6.0)
ICC = ("icc2_1", "icc2_k", "icc3_1")


def counts(ratings: Floats, values: Floats = SCALE) -> Floats:
    return np.stack([(ratings == value).sum(axis=1) for value in values], axis=1).astype(np.float64)


def two(one: Floats, other: Floats, values: Floats = SCALE) -> PairTable:
    """Calls (items, r) beside ratings (items, m), every item a unit of its own."""
    n = len(one)
    return across(counts(one, values), counts(other, values), values, 1.0, np.arange(n), n)


def among(ratings: Floats) -> PairTable:
    n = len(ratings)
    return within(counts(ratings), SCALE, 1.0, np.arange(n), np.arange(n), n)


def named(table: PairTable) -> dict[str, float]:
    n = table.pairs.sum()
    shares = {"exact": table.alike(0).sum() / n, "within_one": table.alike(1).sum() / n}
    every = coefficients(table.pairs.sum(axis=0), table.coincidences.sum(axis=0), table.values)
    return shares | dict(zip(COEFFICIENTS, every.tolist(), strict=True))


def intraclass(rows: Floats) -> Floats:
    n = len(rows)
    return stats.intraclass(stats.intraclass_sums(rows, np.arange(n), n).sum(axis=0), rows.shape[1])


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
        assert found[key] == pytest.approx(np.nan if answer is None else answer, abs=1e-9, nan_ok=True), key


@pytest.mark.parametrize("name", ANSWERS)
def test_a_panel_agrees_as_irrcac_krippendorff_and_pingouin_say(name: str) -> None:
    ratings = table_of(name)
    several = ratings[np.isfinite(ratings).sum(axis=1) > 1]
    found = named(among(several))
    if np.isfinite(several).all():
        found |= dict(zip(ICC, intraclass(several).tolist(), strict=True))
    for key, answer in ANSWERS[name]["panel"].items():
        assert found[key] == pytest.approx(np.nan if answer is None else answer, abs=1e-6, nan_ok=True), key


def test_kappa_of_a_panel_is_fleiss() -> None:
    """statsmodels 0.14: fleiss_kappa(aggregate_raters(seeded(40, 3, 2))[0])."""
    assert named(among(seeded(40, 3, 2)))["kappa"] == pytest.approx(0.24460431654676262, abs=1e-12)


def test_several_calls_and_ratings_count_an_item_once() -> None:
    """By the definition over all pairs, each weighing one over the pairs of its item."""
    calls, ratings = seeded(12, 4, 6, missing=0.3), seeded(12, 3, 7, missing=0.2)
    rng = np.random.default_rng(5)
    calls[:, 0], ratings[:, 0] = rng.integers(1, 6, 12), rng.integers(1, 6, 12)
    pairs = [
        (x, y, 1.0 / (np.isfinite(calls[i]).sum() * np.isfinite(ratings[i]).sum()))
        for i in range(12)
        for x in calls[i][np.isfinite(calls[i])]
        for y in ratings[i][np.isfinite(ratings[i])]
    ]
    x, y, w = np.array(pairs).T
    w = w / w.sum()
    found = named(two(calls, ratings))
    assert found["exact"] == pytest.approx(w[x == y].sum())
    assert found["within_one"] == pytest.approx(w[np.abs(x - y) <= 1].sum())
    for name, away in (
        ("kappa", lambda a, b: a != b),
        ("kappa_linear", lambda a, b: np.abs(a - b)),
        ("kappa_quadratic", lambda a, b: (a - b) ** 2),
    ):
        by_chance = (w[:, None] * w * away(x[:, None], y)).sum()
        assert found[name] == pytest.approx(1.0 - (w * away(x, y)).sum() / by_chance), name
    both, weight = np.concatenate([x, y]), np.concatenate([w, w]) / 2.0
    by_chance = (weight[:, None] * weight * (both[:, None] - both) ** 2).sum() * 24 / 23
    assert found["alpha_interval"] == pytest.approx(1.0 - (w * (x - y) ** 2).sum() / by_chance)


def test_agreement_by_hand() -> None:
    """Ten items, two options: 4 both 1, 3 both 2, 2 and 1 crossed. Even chance 0.5: kappa 0.4."""
    one = np.array([1, 1, 1, 1, 2, 2, 2, 1, 1, 2.0])[:, None]
    other = np.array([1, 1, 1, 1, 2, 2, 2, 2, 2, 1.0])[:, None]
    found = named(two(one, other, np.array([1.0, 2.0])))
    assert found["exact"] == pytest.approx(0.7)
    # Chance: 0.6 x 0.5 + 0.4 x 0.5 = 0.5; (0.7 - 0.5) / (1 - 0.5).
    assert found["kappa"] == pytest.approx(0.4)
    # Both sides together 11 of 20 and 9 of 20: chance 2 x 0.55 x 0.45 = 0.495.
    assert found["ac1"] == pytest.approx((0.7 - 0.495) / (1 - 0.495))


def test_a_group_of_one_has_no_pair_and_groups_of_an_item_count_it_once() -> None:
    """An item in two orders: 1 and 2 in the first, 2 alone in the second; another item 2, 2 and 1, 1."""
    each = np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 2.0], [2.0, 0.0]])
    table = within(each, np.array([1.0, 2.0]), 1.0, np.array([0, 0, 1, 1]), np.arange(2), 2)
    np.testing.assert_allclose(table.pairs, [[[0, 0.5], [0.5, 0]], [[0.5, 0], [0, 0.5]]])
    np.testing.assert_allclose(table.coincidences.sum(axis=(1, 2)), [2.0, 4.0])


def test_intraclass_correlations_are_those_of_shrout_and_fleiss() -> None:
    """Their table 2: six targets, four judges; table 4 has .29, .62 and .71."""
    rows = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])
    assert intraclass(rows) == pytest.approx([0.29, 0.62, 0.71], abs=0.005)
