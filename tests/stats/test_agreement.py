"""Coefficients of agreement: by hand, by definition over pairs, and as other libraries have them."""

from __future__ import annotations

import gzip
import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from rubriclab.stats.agreement import (
    COEFFICIENTS,
    PairTable,
    alone,
    coefficients,
    coefficients_without,
    crossed,
    disagreements,
    paired,
    spread,
)
from rubriclab.stats.inference import Floats
from rubriclab.stats.intraclass import intraclass, mean_difference, tau_b

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "data"
ANSWERS = json.loads((ROOT / "tests" / "references" / "agreement.json").read_text("utf-8"))
SCALE = np.arange(1.0, 6.0)
ICC = ("icc2_1", "icc2_k", "icc3_1")


def counts(ratings: Floats, values: Floats = SCALE) -> Floats:
    return np.stack([(ratings == value).sum(axis=1) for value in values], axis=1).astype(np.float64)


def two(one: Floats, other: Floats, values: Floats = SCALE) -> PairTable:
    """Reads (items, r) beside ratings (items, m), every item a unit of its own."""
    n = len(one)
    return crossed(counts(one, values), counts(other, values), values, step=1.0, unit=np.arange(n), units=n)


def among(ratings: Floats) -> PairTable:
    n, each = len(ratings), counts(ratings)
    return paired(each, alone(each), SCALE, step=1.0, unit=np.arange(n), units=n)


def named(table: PairTable) -> dict[str, float]:
    return dict(zip(COEFFICIENTS, coefficients(table).tolist(), strict=True))


def seeded(n: int, raters: int, seed: int, *, missing: float = 0.0, top: float = 0.0) -> Floats:
    """As ``tests/references/agreement.py`` draws them."""
    rng = np.random.default_rng(seed)
    trait = rng.normal(size=(n, 1)) + top
    ratings = np.clip(np.rint(3.0 + trait + rng.normal(0.0, 0.7, (n, raters))), 1, 5)
    ratings[rng.random(ratings.shape) < missing] = np.nan
    return np.asarray(ratings)


def table_of(name: str) -> Floats:
    if name in ("hanna", "summeval"):
        if not SHARED.is_dir():
            pytest.skip(f"{SHARED} is not on this machine: these data are not shipped")
        if name == "hanna":
            lines = (SHARED / "hanna" / "human96.jsonl").read_text("utf-8").splitlines()
            return np.array([r for line in lines for r in json.loads(line)["ratings"].values()], dtype=np.float64)
        with gzip.open(SHARED / "summeval" / "summac_summeval.json.gz", "rt", encoding="utf-8") as file:
            return np.array([one["annotations"] for one in json.load(file).values()], dtype=np.float64)
    return {
        "plain": seeded(60, 2, 1),
        "three": seeded(40, 3, 2),
        "missing": seeded(50, 4, 3, missing=0.3),
        "skewed": seeded(40, 2, 4, top=2.0),
        "empty cells": np.array([[1, 1], [5, 5], [1, 5], [5, 5], [1, 1], [5, 1], [5, 5.0]]),
        "two items": np.array([[1, 2], [4, 4.0]]),
        "one category": np.full((6, 2), 3.0),
    }[name]


@pytest.mark.parametrize("name", ANSWERS)
def test_two_raters_agree_as_scikit_learn_irrcac_and_krippendorff_say(name: str) -> None:
    ratings = table_of(name)
    one, other = ratings[np.isfinite(ratings[:, :2]).all(axis=1), :2].T
    found = named(two(one[:, None], other[:, None]))
    n = len(one)
    found["tau_b"] = tau_b(one, other, unit=np.arange(n), units=n).value
    for key, answer in ANSWERS[name]["two"].items():
        assert found[key] == pytest.approx(np.nan if answer is None else answer, abs=1e-9, nan_ok=True), key


@pytest.mark.parametrize("name", ANSWERS)
def test_a_panel_agrees_as_irrcac_krippendorff_and_pingouin_say(name: str) -> None:
    ratings = table_of(name)
    several = ratings[np.isfinite(ratings).sum(axis=1) > 1]
    found = named(among(several))
    n = len(several)
    if np.isfinite(several).all():
        found |= dict(zip(ICC, (of.value for of in intraclass(several, unit=np.arange(n), units=n)), strict=True))
    for key, answer in ANSWERS[name]["panel"].items():
        assert found[key] == pytest.approx(np.nan if answer is None else answer, abs=1e-6, nan_ok=True), key


def test_kappa_of_a_panel_is_fleiss() -> None:
    ratings = seeded(40, 3, 2)
    table = aggregate_raters(ratings.astype(int), n_cat=None)[0]
    assert named(among(ratings))["kappa"] == pytest.approx(fleiss_kappa(table), abs=1e-12)


def test_several_reads_and_ratings_count_an_item_once() -> None:
    """By the definition over all pairs, each weighing one over the pairs of its item."""
    rng = np.random.default_rng(5)
    reads, ratings = seeded(12, 4, 6, missing=0.3), seeded(12, 3, 7, missing=0.2)
    reads[:, 0], ratings[:, 0] = rng.integers(1, 6, 12), rng.integers(1, 6, 12)
    pairs = [
        (x, y, 1.0 / (np.isfinite(reads[i]).sum() * np.isfinite(ratings[i]).sum()))
        for i in range(12)
        for x in reads[i][np.isfinite(reads[i])]
        for y in ratings[i][np.isfinite(ratings[i])]
    ]
    x, y, w = np.array(pairs).T
    w = w / w.sum()
    found = named(two(reads, ratings))
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


def test_where_nearly_all_is_one_category_kappa_is_low_and_ac1_is_not() -> None:
    one = np.array([2.0] * 18 + [1.0, 2.0])[:, None]
    other = np.array([2.0] * 18 + [2.0, 1.0])[:, None]
    found = named(two(one, other, np.array([1.0, 2.0])))
    assert found["exact"] == pytest.approx(0.9)
    assert found["kappa"] == pytest.approx(-1 / 19)
    assert found["ac1"] == pytest.approx((0.9 - 0.095) / 0.905)


def test_one_category_on_both_sides_is_full_agreement_without_a_kappa() -> None:
    found = named(two(np.full((6, 1), 3.0), np.full((6, 1), 3.0)))
    assert found["exact"] == found["within_one"] == found["ac1"] == found["ac2"] == 1.0
    assert np.isnan([found[name] for name in COEFFICIENTS if "kappa" in name or "alpha" in name]).all()


def test_weights_go_by_values_not_by_places() -> None:
    np.testing.assert_allclose(disagreements(np.array([1.0, 2.0, 5.0]), 1.0)[2, 0], [0.0, 0.25, 1.0])


def test_a_mean_halfway_between_two_options_counts_half_for_each() -> None:
    np.testing.assert_allclose(spread(np.array([2.5, 2.6]), np.array([1.0, 2.0, 3.0])), [[0, 0.5, 0.5], [0, 0, 1.0]])


def test_without_each_unit_is_what_the_others_give() -> None:
    ratings, unit = seeded(20, 2, 8), np.repeat(np.arange(5), 4)
    sides = counts(ratings[:, :1]), counts(ratings[:, 1:])
    without = coefficients_without(crossed(*sides, SCALE, step=1.0, unit=unit, units=5))
    one, other = ratings.T
    taus = tau_b(one, other, unit=unit, units=5).without
    icc = [of.without for of in intraclass(ratings, unit=unit, units=5)]
    bias = [of.without for of in mean_difference(one, other, unit=unit, units=5)]
    for gone in range(5):
        kept = unit != gone
        code = np.unique(unit[kept], return_inverse=True)[1]
        table = crossed(sides[0][kept], sides[1][kept], SCALE, step=1.0, unit=code, units=4)
        np.testing.assert_allclose(without[gone], coefficients(table), atol=1e-12)
        assert taus[gone] == pytest.approx(kendalltau(one[kept], other[kept])[0])
        again = intraclass(ratings[kept], unit=code, units=4)
        assert [of[gone] for of in icc] == pytest.approx([of.value for of in again])
        apart = one[kept] - other[kept]
        limits = apart.mean() + np.array([0.0, -1.959964, 1.959964]) * apart.std(ddof=1)
        assert [of[gone] for of in bias] == pytest.approx(limits.tolist())


def test_pairs_within_a_member_do_not_count() -> None:
    """Two orders, the first read twice: the pairs are those across the orders."""
    values = np.array([1.0, 2.0])
    each = np.array([[2.0, 1.0]])  # 1 and 1 in the first order, 2 in the second
    own = np.array([[[4.0, 0.0], [0.0, 1.0]]])
    table = paired(each, own, values, step=1.0, unit=np.zeros(1, dtype=np.int64), units=1)
    np.testing.assert_allclose(table.pairs[0], [[0.0, 0.5], [0.5, 0.0]])


def test_intraclass_correlations_are_those_of_shrout_and_fleiss() -> None:
    """Their table 2: six targets, four judges; table 4 has .29, .62 and .71."""
    rows = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])
    found = [of.value for of in intraclass(rows, unit=np.arange(6), units=6)]
    assert found == pytest.approx([0.29, 0.62, 0.71], abs=0.005)


def test_the_order_of_members_does_not_matter_for_a_panel() -> None:
    ratings = seeded(15, 3, 9)
    first = coefficients(among(ratings))
    for order in permutations(range(3)):
        np.testing.assert_allclose(coefficients(among(ratings[:, order])), first, atol=1e-12)
