"""Criteria in one call: scipy's Friedman, shifts by hand, carryover against a fit with dummy variables."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats as sp

from rubriclab.stats.joint import carryover, delta_pos, position_means, position_shifts
from rubriclab.stats.tests import friedman, holm

NAN = np.nan
WILLIAMS = np.array([[0, 1, 3, 2], [1, 2, 0, 3], [2, 3, 1, 0], [3, 0, 2, 1]])
CYCLIC = np.array([[(i + k) % 4 for i in range(4)] for k in range(4)])
BALANCED = np.vstack([CYCLIC, CYCLIC[:, ::-1]])


def rows_of(orders: np.ndarray, texts: int, add, seed: int = 0):
    """(text, criterion, position, before, score) of all texts in all orders; ``add(criterion, position, before)``."""
    rng = np.random.default_rng(seed)
    lines = []
    for text in range(texts):
        level = rng.normal(size=4)
        for order in orders:
            for p, c in enumerate(order):
                q = order[p - 1] if p else 4
                lines.append((text, c, p, q, 3 + level[c] + add(c, p, q) + rng.normal(scale=0.5)))
    columns = np.array(lines).T
    return (*columns[:4].astype(np.int64), columns[4])


def errors(found, texts: int) -> np.ndarray:
    return np.sqrt((found.parts**2).sum(axis=0) * texts / (texts - 1))


@pytest.mark.papers(31)
def test_friedman_is_scipys_with_ties_and_leaves_out_texts_with_a_gap() -> None:
    cells = np.random.default_rng(0).integers(1, 5, (60, 4)).astype(float) + np.array([0.5, 0, 0, 0])
    found = friedman(np.vstack([cells, np.full((2, 4), NAN), [[1.0, NAN, 2.0, 3.0]]]))
    expected = sp.friedmanchisquare(*cells.T)
    assert (found.statistic, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert (found.blocks, found.excluded) == (60, 3)


def test_friedman_degenerate() -> None:
    tied = friedman(np.full((20, 4), 3.0))
    assert (tied.statistic, tied.p) == (0.0, 1.0)
    # Means of the same scores that differ in their last bits are ties.
    assert friedman(np.full((20, 4), 3.0) + np.linspace(0, 1e-14, 4)).p == 1.0
    for cells in (np.zeros((0, 4)), np.ones((1, 4)), np.ones((5, 1))):
        assert np.isnan(friedman(cells).p)


def test_holm_by_hand() -> None:
    # Sorted .01 x 3, .02 x 2 = .04, .03 x 1 -> never below the one before.
    assert holm(np.array([0.03, 0.01, NAN, 0.02])) == pytest.approx([0.04, 0.03, NAN, 0.04], nan_ok=True)
    assert holm(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]
    assert holm(np.zeros(0)).size == 0


def test_shifts_by_hand() -> None:
    sums = np.array([[8.0, 4, 0], [6, 0, 0], [0, 0, 0]])
    counts = np.array([[2.0, 2, 0], [3, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(position_means(sums, counts)[1], [2, NAN, NAN])
    np.testing.assert_allclose(position_shifts(sums, counts)[0], [1, -1, NAN])
    np.testing.assert_allclose(delta_pos(sums, counts), [2, NAN, NAN])


def by_dummies(text, criterion, before, score, n, slot):
    """The same model as one least-squares fit with a column for everything."""
    item = text * n + criterion
    columns = [item[:, None] == np.unique(item), slot[:, None] == np.unique(slot), before[:, None] == np.arange(n)]
    beta = np.linalg.lstsq(np.hstack(columns).astype(float), score, rcond=None)[0][-n:]
    return beta - beta.mean()


@pytest.mark.parametrize("williams", [True, False])
def test_carryover_is_the_fit_with_dummy_variables(williams: bool) -> None:
    orders = WILLIAMS if williams else np.array(list(permutations(range(4))))
    rows = rows_of(orders, 12, lambda _, p, q: 0.3 * p + 0.4 * (q == 2), seed=5)
    keep = np.random.default_rng(1).random(len(rows[0])) > 0.1
    rows = tuple(part[keep] for part in rows)
    found = carryover(*rows, texts=12, criteria=4)
    slot = rows[2] if williams else rows[1] * 4 + rows[2]
    assert found.by_criterion != williams
    np.testing.assert_allclose(found.effect, by_dummies(rows[0], rows[1], rows[3], rows[4], 4, slot), atol=1e-8)
    np.testing.assert_allclose(found.parts.sum(axis=0), 0, atol=1e-9)


def test_planted_carryover_is_recovered_beside_a_position_effect() -> None:
    planted = np.array([0.6, 0, 0, 0])
    covered = 0
    for seed in range(12):
        rows = rows_of(WILLIAMS, 60, lambda _, p, q: 0.5 * (p == 0) + (planted[q] if q < 4 else 0), seed)
        found = carryover(*rows, texts=60, criteria=4)
        half = sp.t.ppf(0.975, 59) * errors(found, 60)
        assert found.effect[0] > 2.7 * errors(found, 60)[0]
        covered += int((np.abs(found.effect - (planted - planted.mean())) <= half).sum())
    assert covered >= 42  # of 48 at 95 %


def test_no_carryover_is_not_accused() -> None:
    accused = 0
    for seed in range(60):
        found = carryover(*rows_of(WILLIAMS, 25, lambda _, p, __: 0.5 * (p == 0), seed), texts=25, criteria=4)
        accused += abs(found.effect[0]) > sp.t.ppf(0.975, 24) * errors(found, 25)[0]
    assert accused < 0.15 * 60


@pytest.mark.parametrize(("orders", "texts"), [(BALANCED, 10), (CYCLIC, 10), (CYCLIC[:1], 10), (WILLIAMS, 1)])
def test_designs_that_cannot_separate_say_so(orders: np.ndarray, texts: int) -> None:
    assert carryover(*rows_of(orders, texts, lambda *_: 0.0), texts=texts, criteria=4) is None
    single = np.zeros(4, dtype=np.int64)
    assert carryover(np.arange(4), single, single, single + 1, np.ones(4), texts=4, criteria=1) is None
