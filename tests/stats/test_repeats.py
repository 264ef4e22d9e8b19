"""Calls repeated in the same order: by hand, free of bias, and no order effect where none is."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.stats.advantage import clustered_mean
from rubriclab.stats.repeats import changes, stability


def test_agreement_of_repeats_by_hand() -> None:
    # A A B: 1 of 3 pairs of calls is alike; N N A: none; asked once: not known.
    query = np.array([0, 0, 0, 1, 1, 1, 2])
    got = stability(query, np.array([1, 1, 2, -1, -1, 1, 2]), n_queries=3, p=2)
    assert got.agreement[:2] == pytest.approx([1 / 3, 0.0])
    assert np.isnan(got.agreement[2])


@pytest.mark.parametrize("repeats", [2, 3, 10])
def test_agreement_is_unbiased_where_the_mode_is_not(repeats: int) -> None:
    """A judge that picks A with 0.8 agrees with itself in 0.68 of pairs, whatever the repeats."""
    rng = np.random.default_rng(repeats)
    query = np.repeat(np.arange(4000), repeats)
    got = stability(query, 1 + (rng.random(len(query)) > 0.8), n_queries=4000, p=2)
    assert got.agreement.mean() == pytest.approx(0.68, abs=0.015)
    assert got.share.mean() > 0.8 - 0.01


def swapped(rng: np.random.Generator, n: int, repeats: int, *, lean: float) -> tuple[np.ndarray, ...]:
    """(comparison, order, winner) of a noisy judge; each question leans to a place by itself."""
    gap, side = rng.standard_normal(n) * 1.5, lean * rng.standard_t(4, size=n)
    comparison = np.tile(np.arange(n), 2 * repeats)
    order = np.repeat([0, 1], n * repeats)
    edge = gap[comparison] + np.where(order == 0, 1, -1) * side[comparison]
    return comparison, order, (edge + rng.logistic(size=len(edge)) < 0).astype(int)


def test_changes_by_hand() -> None:
    # Order 0: x x, order 1: x y. Across: 2 of 4 differ; within: 0 and 1 of 1.
    found = changes(np.zeros(4, dtype=int), np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), shape=(1, 2, 3))
    assert (found.order[0], found.again[0], found.excess[0]) == (0.5, 0.5, 0.0)
    once = changes(np.zeros(2, dtype=int), np.array([0, 1]), np.array([0, 1]), shape=(1, 2, 3))
    assert once.order[0] == 1.0
    assert np.isnan(once.excess[0])


def test_repeats_of_one_order_tell_of_the_noise_by_hand() -> None:
    """Order 0: x, and again x y; order 1: y. Across: 1 of 1; within order 0, all three calls: 2 of 3 pairs differ."""
    nothing = np.zeros(2, dtype=int)
    found = changes(
        nothing, np.array([0, 1]), np.array([0, 1]), shape=(1, 2, 3), repeats=(nothing, nothing, np.arange(2))
    )
    assert (found.order[0], found.again[0]) == (1.0, pytest.approx(2 / 3))


@pytest.mark.parametrize("n", [15, 60])
def test_repeats_of_one_order_accuse_no_judge_that_ignores_the_order_and_find_leanings(n: int) -> None:
    rng, found = np.random.default_rng(n), {0.0: 0, 2.0: 0}
    for lean in found:
        for _ in range(200):
            comparison, order, winner = swapped(rng, n, 3, lean=lean)
            # Once in both orders, and twice more in the first.
            read = np.repeat(np.arange(3), n)
            once = np.concatenate([read == 0, read == 0])
            more = np.concatenate([read > 0, np.zeros(3 * n, dtype=bool)])
            calls = comparison, order, winner
            one = changes(*(c[once] for c in calls), shape=(n, 2, 3), repeats=tuple(c[more] for c in calls))  # type: ignore[arg-type]
            found[lean] += clustered_mean(one.excess, np.arange(n))[1].low > 0
    assert found[0.0] <= 10
    assert found[2.0] >= (60 if n == 15 else 190)


@pytest.mark.parametrize("n", [15, 60])
def test_a_noisy_judge_that_ignores_the_order_changes_no_more_than_when_asked_again(n: int) -> None:
    """Its consistency is 0.65, which was said to be what changing places does."""
    rng = np.random.default_rng(n)
    false, order = 0, []
    for _ in range(200):
        found = changes(*swapped(rng, n, 2, lean=0.0), shape=(n, 2, 3))
        interval = clustered_mean(found.excess, np.arange(n))[1]
        false += interval.low > 0 or interval.high < 0
        order.append(found.order.mean())
    assert np.mean(order) == pytest.approx(0.35, abs=0.03)
    assert false <= 16


def test_leanings_that_cancel_out_are_found() -> None:
    rng = np.random.default_rng(1)
    found = changes(*swapped(rng, 100, 2, lean=2.0), shape=(100, 2, 3))
    assert clustered_mean(found.excess, np.arange(100))[1].low > 0
