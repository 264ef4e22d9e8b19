"""Fragile items: numbers by hand, the planted list, and promises compared with new rounds."""

import numpy as np
import pytest

from rubriclab.stats.fragile import (
    alike,
    chance_apart,
    dirichlet_chance,
    dirichlet_likelihood,
    most_likely,
    pairs_apart,
    score_shares,
)


def test_pairs_are_counted() -> None:
    # 2 and 1 of three calls: 3 pairs, of which 2 differ. One call: no pair.
    apart, pairs = pairs_apart(np.array([[2.0, 1, 0], [1, 0, 0], [1, 1, 1]]))
    assert apart.tolist() == [2, 0, 3]
    assert pairs.tolist() == [3, 0, 3]


def test_likeness_of_two_scores_by_hand() -> None:
    # Passes of 2 calls: 0, 1, 2, 2. Pairs of one item that differ: 1 of 4. Pairs of two items:
    # shares 0, .5, 1, 1. Of the 12 ordered pairs of items, the mean of s (1 - u) + u (1 - s) is
    # (.5 + 1 + 1 + .5 + .5 + 0) / 6 = 7/12. 1 - (1/4) / (7/12) = 4/7.
    counts = np.array([[2.0, 0], [1, 1], [0, 2], [0, 2]])
    assert alike(counts) == pytest.approx(4 / 7)


def test_chance_of_two_scores_by_hand() -> None:
    # As above, mean share of a pass 5/8, prior strength 7/4 - 1 = 3/4: a beta of 15/32 and 9/32.
    # With one pass and one fail: a = 47/32, b = 41/32, A = 11/4, so
    # 2 a b / (A (A + 1)) = 2 x 1927/1024 / (165/16) = 1927/5280.
    counts = np.array([[2.0, 0], [1, 1], [0, 2], [0, 2]])
    chance = chance_apart(counts)
    assert chance[1] == pytest.approx(1927 / 5280)
    # Two passes: a = 79/32, b = 9/32: 2 x 711/1024 / (165/16) = 711/5280.
    assert chance[2:].tolist() == pytest.approx([711 / 5280] * 2)


def test_posterior_of_three_scores_by_hand() -> None:
    # Prior 1, 1, 1 and counts 2, 1, 0: a = 3, 2, 1, A = 6. The expected share of equal pairs is
    # (12 + 6 + 2) / 42 = 20/42, so 22/42 differ.
    chance = dirichlet_chance(np.array([[2.0, 1, 0]]), np.ones(3))
    assert chance[0] == pytest.approx(22 / 42)
    # Numerically, from draws of the posterior.
    p = np.random.default_rng(0).dirichlet([3, 2, 1], 200_000)
    assert chance[0] == pytest.approx((1 - np.square(p).sum(axis=1)).mean(), abs=0.002)


def test_likelihood_of_three_scores_by_hand() -> None:
    # Prior 1, 1, 1; calls 1, 1, 2 one after the other: 1/3 x 2/4 x 1/5 = 1/30.
    assert dirichlet_likelihood(np.array([[2.0, 1, 0]]), np.ones(3)) == pytest.approx(
        [np.log(1 / 30)]
    )


def test_shares_around_a_level_are_those_of_a_rounded_normal() -> None:
    shares = score_shares(5)
    assert shares.sum(axis=1) == pytest.approx(np.ones(len(shares)))
    rng = np.random.default_rng(1)
    # Level 2.25 (the 14th of -1, -.75, ...), deviation .75 (the fourth): one row of the table.
    drawn = np.clip(np.rint(rng.normal(2.25, 0.75, 200_000)), 0, 4).astype(int)
    expected = np.bincount(drawn, minlength=5) / len(drawn)
    assert np.abs(shares - expected).max(axis=1).min() < 0.005


def test_nothing_is_known_of_one_call_or_one_outcome() -> None:
    assert np.isnan(chance_apart(np.array([[1.0, 0], [0, 1]]))).all()
    assert np.isnan(chance_apart(np.array([[2.0, 0], [2, 0]]))).all()
    some = chance_apart(np.array([[2.0, 0], [1, 1], [0, 0], [0, 2]]))
    assert np.isnan(some).tolist() == [False, False, True, False]


def test_ties_do_not_depend_on_rounding_or_order() -> None:
    chance = np.array([0.3, 0.1 + 0.2, np.nan, 0.5])
    assert most_likely(chance, np.array([7, 5, 1, 9]), 3).tolist() == [3, 1, 0]
    assert most_likely(chance, np.array([5, 7, 1, 9]), 2).tolist() == [3, 0]


def passes(rng: np.random.Generator, chance: np.ndarray, calls: int) -> np.ndarray:
    given = rng.binomial(calls, chance)
    return np.stack([calls - given, given], axis=1).astype(float)


@pytest.mark.parametrize(("orders", "listed"), [(10, 18.7), (2, 10.0)])
def test_planted_items_are_listed(orders: int, listed: float) -> None:
    """20 of 200 items pass in half of the calls, the others in 2% or 98%."""
    rng = np.random.default_rng(orders)
    found = []
    for _ in range(300):
        chance = np.where(rng.random(200) < 0.5, 0.02, 0.98)
        chance[:20] = 0.5
        made = chance_apart(passes(rng, chance, orders))
        found.append(int((most_likely(made, rng.permutation(200), 20) < 20).sum()))
    assert np.mean(found) == pytest.approx(listed, abs=0.35)
    if orders == 10:
        assert np.mean(np.array(found) >= 17) > 0.97


def rounds_of(rng: np.random.Generator, items: int, orders: int, scores: int) -> list[np.ndarray]:
    """Counts of two rounds of a judge with a logistic trait, whose orders move all items."""
    trait = rng.normal(0.6, 2.0, (items, 1)) + np.linspace(-0.5, 0.5, orders)
    cuts = np.linspace(-1.5, 1.5, scores - 1) if scores > 2 else np.zeros(1)
    above = 1 / (1 + np.exp(cuts - trait[..., None]))
    rounds = []
    for _ in range(2):
        score = (rng.random((items, orders, 1)) < above).sum(axis=2)
        rounds.append((score[..., None] == np.arange(scores)).sum(axis=1).astype(float))
    return rounds


@pytest.mark.parametrize(
    ("orders", "scores", "kept", "off"),
    [(2, 2, 0.40, 0.025), (10, 2, 0.46, 0.02), (2, 5, 0.74, 0.06)],
)
def test_the_promise_is_kept_by_another_round_and_not_by_the_same(
    orders: int, scores: int, kept: float, off: float
) -> None:
    rng = np.random.default_rng(3)
    said, other, same = [], [], []
    for _ in range(60):
        first, second = rounds_of(rng, 200, orders, scores)
        chance = chance_apart(first)
        listed = most_likely(chance, rng.permutation(200), 20)
        said.append(chance[listed].mean())
        for counts, seen in ((second, other), (first, same)):
            apart, pairs = pairs_apart(counts[listed])
            seen.append((apart / pairs).mean())
    assert np.mean(other) == pytest.approx(kept, abs=0.03)
    assert np.mean(said) == pytest.approx(np.mean(other), abs=off)
    assert np.mean(same) > np.mean(other) + 0.03  # counted where it was chosen, it promises more
