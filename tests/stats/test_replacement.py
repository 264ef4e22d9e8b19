"""The alternative annotator test: by hand, by other code, and how often it is wrong at its border."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy import stats as library

from rubriclab.stats.extremes import apart
from rubriclab.stats.replacement import FEWEST_UNITS, Tops, Wins, against, as_in_the_paper, benjamini_yekutieli, wins

NAN = np.nan


def test_who_is_nearer_by_hand() -> None:
    """Rater 0 against the others' 4 and 5 (distances: 4 gives .71, 5 gives .71, 3 gives 1.58)."""
    ratings = np.array([[4.0, 4.0, 5.0], [3.0, 4.0, 5.0], [5.0, NAN, 4.0], [4.0, NAN, NAN], [NAN, 4.0, 4.0]])
    judge = np.array([[5.0], [4.0], [1.0], [4.0], [4.0]])
    won = wins(judge, ratings, 0)
    np.testing.assert_array_equal(won.judge[:, 0], [1, 1, 0, NAN, NAN])
    np.testing.assert_array_equal(won.human[:, 0], [1, 0, 1, NAN, NAN])


def slow_wins(judge: np.ndarray, ratings: np.ndarray, rater: int, score) -> tuple[list[int], list[int]]:
    """As the paper's section 3.1 has it, item by item."""
    found: tuple[list[int], list[int]] = ([], [])
    for value, row in zip(judge, ratings, strict=True):
        others = [r for k, r in enumerate(row) if k != rater and np.isfinite(r)]
        if np.isfinite(row[rater]) and others:
            a, b = score(value, others), score(row[rater], others)
            found[0].append(int(a >= b - 1e-9))
            found[1].append(int(b >= a - 1e-9))
    return found


@pytest.mark.parametrize("named", [False, True])
def test_wins_and_the_papers_test_are_those_of_the_paper(named: bool) -> None:
    rng = np.random.default_rng(1)
    ratings = rng.integers(0, 2 if named else 5, (80, 4)).astype(float)
    ratings[rng.random(ratings.shape) < 0.2] = NAN
    judge = rng.integers(0, 2 if named else 5, 80).astype(float)

    def score(value: float, others: list[float]) -> float:
        if named:
            return float(np.mean([value == other for other in others]))
        return -float(np.sqrt(np.mean([(value - other) ** 2 for other in others])))

    for rater in range(4):
        won = wins(judge[:, None], ratings, rater, named=named)
        known = np.isfinite(won.judge[:, 0])
        slow = slow_wins(judge, ratings, rater, score)
        assert won.judge[known, 0].tolist() == slow[0]
        assert won.human[known, 0].tolist() == slow[1]
        d = np.array(slow[1]) - np.array(slow[0])
        assert as_in_the_paper(won, 0.15)[0] == pytest.approx(library.ttest_1samp(d, 0.15, alternative="less").pvalue)


def test_with_two_names_both_ways_to_be_near_are_one() -> None:
    rng = np.random.default_rng(2)
    ratings, judge = rng.integers(0, 2, (60, 3)).astype(float), rng.integers(0, 2, (60, 1)).astype(float)
    for rater in range(3):
        for a, b in zip(wins(judge, ratings, rater), wins(judge, ratings, rater, named=True), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("lost", "gained", "n"), [(3, 7, 30), (9, 2, 40), (0, 4, 25)])
def test_the_score_test_is_tangos(lost: int, gained: int, n: int) -> None:
    """Its variance is that of the likelihood's maximum under the null, found here by search."""
    d = np.array([1.0] * lost + [-1.0] * gained + [0.0] * (n - lost - gained))
    won = Wins(np.where(d == 1, 0.0, 1.0)[:, None], np.where(d == -1, 0.0, 1.0)[:, None])
    delta = 0.15

    def against_likelihood(q: float) -> float:
        return -(lost * np.log(q + delta) + gained * np.log(q) + (n - lost - gained) * np.log(1 - 2 * q - delta))

    q = optimize.minimize_scalar(against_likelihood, bounds=(1e-9, (1 - delta) / 2 - 1e-9), method="bounded").x
    t = (lost - gained - n * delta) / np.sqrt(n * (2 * q + delta * (1 - delta)))
    assert against(won, np.arange(n), delta).p[0] == pytest.approx(library.t.cdf(t, n - 1), abs=1e-5)


def border(rng: np.random.Generator, *, units: int, size: int, ties: float, studies: int) -> Wins:
    """Items in clusters (correlation 0.5) on which the annotator is ahead by exactly 0.15; a study a column."""
    shared, own = rng.normal(size=(units, 1, studies)), rng.normal(size=(units, size, studies))
    z = (shared + own if size > 1 else np.sqrt(2.0) * own) / np.sqrt(2.0)
    lost = z > library.norm.isf((1 - ties + 0.15) / 2)
    gained = z < library.norm.ppf((1 - ties - 0.15) / 2)
    return Wins(*(1.0 - part.reshape(units * size, studies) for part in (lost, gained)))


@pytest.mark.parametrize(("units", "size"), [(15, 1), (30, 1), (100, 1), (15, 4), (30, 4)])
@pytest.mark.parametrize("ties", [0.84, 0.4])
def test_at_its_border_it_is_wrong_in_few_studies(units: int, size: int, ties: float) -> None:
    """The paper's t rejects in up to 0.17 of single items and 0.24 of clusters."""
    studies = 1500
    won = border(np.random.default_rng(units * size), units=units, size=size, ties=ties, studies=studies)
    found = against(won, np.repeat(np.arange(units), size), 0.15)
    assert (found.p < 0.05).mean() <= 0.06 + 2 * np.sqrt(0.05 * 0.95 / studies)


def test_the_papers_own_tests_are_wrong_far_more_often_where_ties_are_common() -> None:
    few = as_in_the_paper(border(np.random.default_rng(1), units=20, size=1, ties=0.84, studies=60), 0.15)
    many = as_in_the_paper(border(np.random.default_rng(2), units=30, size=6, ties=0.84, studies=200), 0.15)
    assert (few < 0.05).mean() > 0.3  # Wilcoxon's signed ranks
    assert (many < 0.05).mean() > 0.12  # Student's t that takes items for independent


def test_a_judge_that_is_better_is_seen() -> None:
    rng = np.random.default_rng(3)
    d = rng.choice([1.0, 0.0, -1.0], p=[0.15, 0.6, 0.25], size=(60, 300))
    found = against(Wins(1.0 - (d == 1), 1.0 - (d == -1)), np.arange(60), 0.15)
    assert (found.p < 0.05).mean() > 0.8


def test_too_few_units_are_not_tested() -> None:
    won = border(np.random.default_rng(1), units=FEWEST_UNITS - 1, size=3, ties=0.4, studies=1)
    found = against(won, np.arange(3 * (FEWEST_UNITS - 1)) // 3, 0.15)
    assert np.isnan(found.p[0])
    assert found.items[0] == 3 * (FEWEST_UNITS - 1)


def test_correction_over_annotators() -> None:
    """By hand: 1 + 1/2 + 1/3 = 11/6, times 3/1, 3/2, 3/3."""
    found = benjamini_yekutieli(np.array([0.04, NAN, 0.001, 0.01]))
    np.testing.assert_allclose(found, [0.04 * 11 / 6, NAN, 0.001 * 5.5, 0.01 * 2.75])


@pytest.mark.parametrize(("units", "size"), [(15, 1), (30, 4), (100, 1)])
def test_the_advantage_lies_in_its_interval(units: int, size: int) -> None:
    studies, unit = 600, np.repeat(np.arange(units), size)
    won = border(np.random.default_rng(7), units=units, size=size, ties=0.4, studies=studies)
    found = Tops.none(units, studies).plus(won, unit).advantages(np.full(studies, units * size))
    true = 1 - (1 - 0.4 + 0.15) / 2
    held = np.mean([one.interval.low <= true <= one.interval.high for one in found])
    assert 0.93 <= held <= 0.985


@pytest.mark.slow
def test_orders_that_are_alike_are_not_said_to_differ() -> None:
    rng = np.random.default_rng(5)
    alike = [apart((rng.random((60, 10)) < 0.7) * 1.0, np.ones((60, 10)), seed=k)[1] for k in range(16)]
    assert np.mean([interval.low > 0 for interval in alike]) <= 0.13
    chance = np.array([0.9, 0.5] + [0.7] * 8)
    value, interval = apart((rng.random((200, 10)) < chance) * 1.0, np.ones((200, 10)))
    assert interval.low > 0.2
    assert value == pytest.approx(0.4, abs=0.1)
