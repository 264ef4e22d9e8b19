"""Planning for an interval on agreement: formulas against tables, another library and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from rubriclab.stats import agreement_planning as plan
from rubriclab.stats.agreement_planning import Weights
from rubriclab.stats.inference import Floats

FLEISS = np.array([[75.0, 1, 4], [5, 4, 1], [0, 0, 10]])
"""Fleiss, Levin & Paik (2003), table 18.1: 100 subjects, kappa 0.676, standard error 0.088."""
SKEWED = np.array([0.05, 0.1, 0.2, 0.4, 0.25])
MILDER = np.array([0.1, 0.15, 0.25, 0.3, 0.2])


def test_kappa_and_its_standard_error_are_those_of_the_textbook() -> None:
    table = FLEISS / 100
    assert plan.kappa(table, "plain") == pytest.approx(0.676, abs=5e-4)
    assert np.sqrt(plan.kappa_variance(table, "plain") / 100) == pytest.approx(0.088, abs=5e-4)


@pytest.mark.parametrize(("kind", "wt"), [("plain", None), ("quadratic", "fc")])
@pytest.mark.parametrize("seed", range(4))
def test_kappa_and_its_variance_are_those_of_statsmodels(kind: Weights, wt: str | None, seed: int) -> None:
    counts = np.random.default_rng(seed).integers(1, 30, (5, 5)).astype(float)
    other = cohens_kappa(counts, wt=wt)
    share = counts / counts.sum()
    assert plan.kappa(share, kind) == pytest.approx(other.kappa, abs=1e-9)
    assert plan.kappa_variance(share, kind) / counts.sum() == pytest.approx(other.var_kappa, rel=1e-9)


@pytest.mark.parametrize("kind", ["plain", "quadratic"])
@pytest.mark.parametrize("value", [0.0, 0.3, 0.6, 0.9])
def test_a_guessed_table_has_the_kappa_and_the_marginals_guessed(kind: Weights, value: float) -> None:
    rows, columns = SKEWED, SKEWED if value > 0.5 else MILDER
    table = plan.guessed_table(value, rows, columns, kind)
    assert table is not None
    assert plan.kappa(table, kind) == pytest.approx(value, abs=1e-5)
    np.testing.assert_allclose(table.sum(axis=1), rows, atol=1e-6)
    np.testing.assert_allclose(table.sum(axis=0), columns, atol=1e-6)


def test_a_kappa_that_the_marginals_do_not_allow_has_no_table() -> None:
    assert plan.guessed_table(0.9, SKEWED, SKEWED[::-1], "plain") is None


@pytest.mark.parametrize("kind", ["plain", "quadratic"])
def test_planned_items_give_the_width_that_was_wanted(kind: Weights) -> None:
    table = plan.guessed_table(0.6, SKEWED, SKEWED, kind)
    assert table is not None
    items = plan.items_for_kappa(table, kind, 0.1)
    assert plan.kappa_half_width(table, kind, items) <= 0.1 < plan.kappa_half_width(table, kind, items - 1)


def simulated_kappas(table: Floats, kind: Weights, items: int, studies: int) -> tuple[Floats, Floats]:
    """(kappa, half-width of its 95 % interval) of studies drawn from the table."""
    draws = np.random.default_rng(7).multinomial(items, table.ravel(), studies).reshape(studies, *table.shape) / items
    values = np.array([plan.kappa(one, kind) for one in draws])
    return values, np.array([plan.kappa_half_width(one, kind, items) for one in draws])


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "value"), [("plain", 0.4), ("quadratic", 0.7)])
def test_simulated_studies_of_the_planned_size_have_the_width_and_cover(kind: Weights, value: float) -> None:
    table = plan.guessed_table(value, SKEWED, SKEWED, kind)
    assert table is not None
    items = plan.items_for_kappa(table, kind, 0.1)
    values, half = simulated_kappas(table, kind, items, 800)
    assert half.mean() == pytest.approx(0.1, rel=0.05)
    assert 1.96 * values.std() == pytest.approx(0.1, rel=0.08)
    assert 0.93 < (np.abs(values - value) <= half).mean() < 0.97


@pytest.mark.parametrize(
    ("icc", "ratings", "items"),
    # 8 x 1.95996^2 x (1 - icc)^2 (1 + (k - 1) icc)^2 / (k (k - 1) 0.2^2) + 1, and 5 icc more for
    # two ratings of 0.7 or more: 100.9 + 3.5, 67.4, 28.1, 14.9 + 4.5.
    [(0.7, 2, 105), (0.7, 3, 68), (0.8, 5, 29), (0.9, 2, 20)],
)
def test_items_for_an_icc_by_hand(icc: float, ratings: int, items: int) -> None:
    spread = (1 - icc) ** 2 * (1 + (ratings - 1) * icc) ** 2 / (ratings * (ratings - 1))
    whole = 8 * 1.959964**2 * spread / 0.2**2 + 1 + (5 * icc if ratings == 2 else 0)
    assert plan.items_for_icc(icc, ratings, 0.1) == int(np.ceil(whole)) == items
    assert plan.icc_half_width(icc, ratings, items) <= 0.1 < plan.icc_half_width(icc, ratings, items - 1)


@pytest.mark.slow
@pytest.mark.parametrize(("icc", "ratings"), [(0.4, 2), (0.7, 3), (0.8, 2)])
def test_simulated_studies_have_the_icc_width_that_was_planned(icc: float, ratings: int) -> None:
    """The exact interval of the one-way model (Shrout & Fleiss 1979) at the planned number of items."""
    from scipy import stats

    items, draw = plan.items_for_icc(icc, ratings, 0.1), np.random.default_rng(3)
    widths, covered = [], []
    for _ in range(400):
        truth = draw.normal(0, np.sqrt(icc), (items, 1))
        values = truth + draw.normal(0, np.sqrt(1 - icc), (items, ratings))
        found, each = plan.single_rating_icc(values)
        assert each == ratings
        f = (1 + (ratings - 1) * found) / (1 - found)
        ends = [
            (f / q - 1) / (f / q + ratings - 1) for q in stats.f.ppf([0.975, 0.025], items - 1, items * (ratings - 1))
        ]
        widths.append((ends[1] - ends[0]) / 2)
        covered.append(ends[0] <= icc <= ends[1])
    assert np.mean(widths) == pytest.approx(0.1, rel=0.06)
    assert 0.92 < np.mean(covered) < 0.98


def test_shrout_and_fleiss_data_have_their_icc() -> None:
    """Shrout & Fleiss (1979), table 2: ICC(1,1) is 0.17."""
    ratings = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7.0]])
    assert plan.single_rating_icc(ratings)[0] == pytest.approx(0.17, abs=0.005)
    gaps = np.column_stack([ratings, np.full(6, np.nan)])
    np.testing.assert_allclose(plan.single_rating_icc(gaps), plan.single_rating_icc(ratings))


@pytest.mark.parametrize("values", [np.empty((0, 3)), np.full((5, 3), np.nan), np.full((5, 2), 3.0), np.eye(3)[:, :1]])
def test_too_little_has_no_icc(values: Floats) -> None:
    assert np.isnan(plan.single_rating_icc(values)[0])


def test_one_category_has_no_kappa() -> None:
    table = np.zeros((3, 3))
    table[1, 1] = 1.0
    assert np.isnan(plan.kappa(table, "quadratic"))
    assert np.isnan(plan.kappa_variance(table, "quadratic"))
