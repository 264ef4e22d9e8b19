"""Agreement with humans: scipy and naive loops as witnesses, hand-made numbers, edge cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as sp

from rubriclab.stats import alignment as al
from rubriclab.stats.position import cramers_v


def _pair(n: int, rho: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Correlated scores in steps, with many ties, as means of few reads have."""
    z = np.random.default_rng(seed).normal(size=(n, 2))
    y = rho * z[:, 0] + np.sqrt(1 - rho**2) * z[:, 1]
    return np.round(z[:, 0] * 2) / 2 + 3, np.round(y * 3) / 3 + 3


def test_r_and_rho_are_scipys() -> None:
    x, y = _pair(200, 0.6, 1)
    assert al.pearson(x, y) == pytest.approx(sp.pearsonr(x, y).statistic, abs=1e-12)
    assert al.spearman(x, y) == pytest.approx(sp.spearmanr(x, y).statistic, abs=1e-12)


def test_r_keeps_its_digits_far_from_zero() -> None:
    x, y = _pair(200, 0.6, 1)
    assert al.pearson(x + 1e7, y) == pytest.approx(al.pearson(x, y), abs=1e-9)


@pytest.mark.parametrize("n", [0, 1])
def test_no_or_one_item_has_no_correlation(n: int) -> None:
    x = np.full(n, 3.0)
    assert np.isnan(al.pearson(x, x))
    assert np.isnan(al.spearman(x, x))


def test_a_constant_side_has_no_correlation() -> None:
    x, y = np.full(40, 0.1 + 0.2), np.random.default_rng(0).normal(size=40)
    assert np.isnan(al.pearson(x, y))
    assert np.isnan(al.spearman(x, y))


def test_alpha_by_hand() -> None:
    # Within: (1,2) gives 2 * 1, (3,3) 0, (2,4) 2 * 4: Do = 10 / 6.
    # All six values: squares about 2.5 sum to 5.5, so De = 2 * 6 * 5.5 / 30 = 2.2.
    ratings = np.array([[1.0, 2.0], [3.0, 3.0], [2.0, 4.0]])
    assert al.krippendorff_alpha(ratings) == pytest.approx(1 - (10 / 6) / 2.2)


def test_alpha_leaves_out_items_with_one_rating() -> None:
    ratings = np.array([[1.0, 2.0], [3.0, 3.0], [2.0, 4.0]])
    more = np.vstack([ratings, [[5.0, np.nan], [np.nan, np.nan]]])
    assert al.krippendorff_alpha(more) == pytest.approx(al.krippendorff_alpha(ratings))


def test_alpha_with_gaps_equals_its_definition() -> None:
    rng = np.random.default_rng(0)
    ratings = rng.integers(1, 6, (30, 3)).astype(float)
    ratings[rng.random((30, 3)) < 0.2] = np.nan
    rows = [r[np.isfinite(r)] for r in ratings]
    rows = [r for r in rows if len(r) > 1]
    values = np.concatenate(rows)
    n = len(values)
    observed = sum(((r[:, None] - r) ** 2).sum() / (len(r) - 1) for r in rows) / n
    expected = ((values[:, None] - values) ** 2).sum() / (n * (n - 1))
    assert al.krippendorff_alpha(ratings) == pytest.approx(1 - observed / expected)


def test_raters_edge_cases() -> None:
    assert np.isnan(al.krippendorff_alpha(np.full((5, 2), 3.0)))
    assert np.isnan(al.krippendorff_alpha(np.zeros((0, 0))))
    assert np.isnan(al.krippendorff_alpha(np.array([[1.0], [2.0]])))
    assert np.isnan(al.leave_one_out_r(np.array([[1.0], [2.0]])))
    assert al.krippendorff_alpha(np.array([[1.0, 1.0], [4.0, 4.0]])) == pytest.approx(1.0)
    assert al.rater_agreement(np.zeros((0, 0))).items == 0


def test_leave_one_out_r_by_hand() -> None:
    ratings = np.array([[1.0, 2, 1], [2, 2, 4], [3, 5, 4], [5, 4, 4]])
    by_hand = np.mean([np.corrcoef(ratings[:, j], np.delete(ratings, j, 1).mean(axis=1))[0, 1] for j in range(3)])
    assert al.leave_one_out_r(ratings) == pytest.approx(by_hand)


def test_ordering_ranks_best_first_with_shared_ranks() -> None:
    human = np.array([1.0, 2, 3, 4] * 4)
    score = np.array([1.0, 2, 3, 4, 4, 3, 2, 1, 2, 4, 6, 8, 3, 3, 3, 3])
    ordering = np.repeat([0, 1, 2, 3], 4)
    found = al.ordering_ranks(score, human, ordering, 6)
    assert [o.ordering for o in found] == [0, 2, 1, 3]
    assert [o.rank for o in found] == [1, 1, 3, None]
    assert [o.r for o in found][:3] == pytest.approx([1, 1, -1])
    assert {o.n for o in found} == {4}
    assert al.ordering_ranks(np.full(4, np.nan), human[:4], ordering[:4], 1) == ()


CALLS = np.array([5_760, 16_000, 3_200, 3_200])


@pytest.mark.parametrize(
    ("chi2", "printed"),
    [
        ((98.7, 302.1, 27.1, 60.1), 0.062),
        ((9.8, 24.9, 5.5, 6.1), 0.021),
        ((27.4, 265.9, 5.6, 21.7), 0.040),
        ((76.3, 142.5, 23.4, 6.3), 0.042),
        ((243.2, 369.8, 29.6, 29.0), 0.069),
        ((395.3, 1691.7, 88.9, 83.7), 0.114),
    ],
)
def test_v_of_the_papers_scale_table_follows_from_its_chi2(chi2, printed) -> None:
    # Shares 1/5 + d, 1/5 - d, 1/5, 1/5, 1/5 have chi2 = 10 N d^2 (v2 Tables 2 and 4, n = 5).
    d = np.sqrt(np.array(chi2) / (10 * CALLS))
    share = 0.2 + d[:, None] * np.array([1, -1, 0, 0, 0])
    assert cramers_v(share).mean() == pytest.approx(printed, abs=0.001)
