"""Reliability: Shrout and Fleiss's table, the decision study by hand, coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from rubriclab.stats.human_correlation import ItemReads
from rubriclab.stats.reliability import rating_reliability, reliability

NAN = np.nan
SHROUT_FLEISS = np.array([[9.0, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])


def reads_of(scores: np.ndarray, human: np.ndarray | None = None) -> ItemReads:
    """Item reads of a table (items, reads) with NaN where a reply was not read."""
    return ItemReads.of(scores, np.zeros(len(scores)) if human is None else human, np.arange(len(scores)))


def test_the_mean_rating_as_shrout_and_fleiss_have_it() -> None:
    # Table 4: ICC(3,4) = .91; with one rating unknown the four count as any raters.
    assert rating_reliability(SHROUT_FLEISS, np.arange(6)).value == pytest.approx(0.91, abs=0.005)
    found = reliability(reads_of(SHROUT_FLEISS))
    assert found is not None
    assert found.one == pytest.approx(0.17, abs=0.005)  # ICC(1,1)
    assert found.all == pytest.approx(0.44, abs=0.005)  # ICC(1,4)
    assert np.isnan(rating_reliability(np.ones((1, 3)), np.arange(1)).value)
    assert np.isnan(rating_reliability(np.array([[1.0, NAN], [2.0, NAN]]), np.arange(2)).value)


def test_the_interval_of_the_mean_rating_covers_where_it_is_estimated_at_zero() -> None:
    """Fisher's z of a reliability cut off at 0 held it in 0.56 of studies of 15 skewed items."""
    rng, inside, studies = np.random.default_rng(4), 0, 300
    unit = np.arange(15)
    for _ in range(studies):
        ratings = rng.normal(size=(15, 1)) + rng.normal(0, np.sqrt(3.0), (15, 3))
        low, high = rating_reliability(ratings, unit).ci
        inside += low <= 0.5 <= high
    assert 0.92 < inside / studies < 0.98
    # What four answers to a prompt share makes them one unit.
    shared = np.repeat(rng.normal(size=(8, 1)), 4, axis=0) + rng.normal(0, 1.0, (32, 3))
    by_item, by_prompt = (rating_reliability(shared, of).ci for of in (np.arange(32), np.arange(32) // 4))
    assert by_prompt.high - by_prompt.low > by_item.high - by_item.low
    # Raters who never differ leave nothing to go by.
    same = np.repeat(np.arange(1.0, 9.0)[:, None], 3, axis=1)
    assert rating_reliability(same, np.arange(8)).value == 1.0
    assert np.isnan(rating_reliability(same, np.arange(8)).ci).all()


def test_reads_needed_by_hand_whatever_the_number_of_reads() -> None:
    """The old rule said 8 of 10 and 11 of 20 whatever the noise."""
    rng = np.random.default_rng(3)
    for noise, needed in [(1.0, 9), (0.25, 3), (4.0, 36)]:
        for reads in (10, 20):
            quality = rng.normal(size=4_000)
            scores = quality[:, None] + np.sqrt(noise) * rng.normal(size=(4_000, reads))
            found = reliability(reads_of(scores))
            assert found is not None
            value, ci = found.needed()
            assert value == pytest.approx(needed, rel=0.12)
            assert ci.low <= needed <= ci.high
            assert found.at(reads)[0] == pytest.approx(1 / (1 + noise / reads), abs=0.01)


def test_unequal_numbers_of_reads_and_nothing_to_say() -> None:
    rng = np.random.default_rng(5)
    scores = rng.normal(size=(3_000, 1)) + rng.normal(size=(3_000, 8))
    scores[rng.random(scores.shape) < 0.4] = NAN
    scores = scores[np.isfinite(scores).any(axis=1)]
    found = reliability(reads_of(scores))
    assert found is not None
    assert found.noise == pytest.approx(1.0, abs=0.1)
    assert reliability(reads_of(rng.normal(size=(30, 1)))) is None
    assert reliability(reads_of(np.ones((30, 4)))) is None
    steady = reliability(reads_of(np.repeat(rng.normal(size=(30, 1)), 4, axis=1)))
    assert steady is not None
    assert steady.needed() == (1.0, (1.0, 1.0))


@pytest.mark.parametrize("items", [15, 60])
def test_the_interval_of_the_noise_covers(items: int) -> None:
    """Discrete scores of a latent judge with skewed qualities; truth from many items."""
    rng = np.random.default_rng(11)

    def judge(n: int) -> np.ndarray:
        quality = 1.5 * (rng.exponential(size=(n, 1)) - 1)
        return np.clip(np.round(3 + quality + 0.7 * rng.logistic(size=(n, 10))), 1, 5)

    truth = reliability(reads_of(judge(100_000)))
    assert truth is not None
    inside = 0
    for _ in range(400):
        found = reliability(reads_of(judge(items)))
        inside += found is not None and found.noise_ci.low <= truth.noise <= found.noise_ci.high
    assert 0.9 < inside / 400 < 0.985
