"""The alternative annotator test and corrected means: by hand, as the paper and other libraries
have them.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import optimize
from scipy import stats as library

from rubriclab.measures.alt_test import FEWEST_UNITS, Wins, against, benjamini_yekutieli, wins
from rubriclab.measures.corrected_means import (
    corrected_mean,
    prediction_powered_mean,
    tuned_weight,
    unlike,
)
from tests.references.prediction_powered import drawn

NAN = np.nan


@pytest.mark.parametrize("named", [False, True])
def test_wins_and_the_papers_test_are_those_of_the_paper(named: bool) -> None:
    """As its section 3.1 has it, item by item; of two categories its score is the share of equal
    names.
    """
    rng = np.random.default_rng(1)
    ratings = rng.integers(0, 2 if named else 5, (80, 4)).astype(float)
    ratings[rng.random(ratings.shape) < 0.2] = NAN
    judge = rng.integers(0, 2 if named else 5, 80).astype(float)

    def score(value: float, others: np.ndarray) -> float:
        return (
            float(np.mean(value == others))
            if named
            else -float(np.sqrt(np.mean((value - others) ** 2)))
        )

    for rater in range(4):
        won = tuple(side[:, 0] for side in wins(judge[:, None], ratings, rater))
        slow = []
        for value, row in zip(judge, ratings, strict=True):
            others = np.delete(row, rater)[np.isfinite(np.delete(row, rater))]
            if np.isfinite(row[rater]) and len(others):
                a, b = score(value, others), score(row[rater], others)
                slow.append((a >= b - 1e-9, b >= a - 1e-9))
        known = np.isfinite(won[0])
        np.testing.assert_array_equal(np.stack([won[0][known], won[1][known]], axis=1), slow)
        d = np.diff(np.array(slow, dtype=float))[:, 0]
        expected = library.ttest_1samp(d, 0.15, alternative="less").pvalue
        assert against(won, np.arange(80), 0.15).paper == pytest.approx(expected)


@pytest.mark.parametrize(("lost", "gained", "n"), [(3, 7, 30), (9, 2, 40), (0, 4, 25)])
def test_the_score_test_is_tangos(lost: int, gained: int, n: int) -> None:
    """Its variance is that of the likelihood's maximum under the null, found here by search."""
    d = np.array([1.0] * lost + [-1.0] * gained + [0.0] * (n - lost - gained))
    delta = 0.15

    def against_likelihood(q: float) -> float:
        return -(
            lost * np.log(q + delta)
            + gained * np.log(q)
            + (n - lost - gained) * np.log(1 - 2 * q - delta)
        )

    q = optimize.minimize_scalar(
        against_likelihood, bounds=(1e-9, (1 - delta) / 2 - 1e-9), method="bounded"
    ).x
    t = (lost - gained - n * delta) / np.sqrt(n * (2 * q + delta * (1 - delta)))
    found = against((1.0 - (d == 1), 1.0 - (d == -1)), np.arange(n), delta)
    assert found.p == pytest.approx(library.t.cdf(t, n - 1), abs=1e-5)


def border(rng: np.random.Generator, *, units: int, size: int, ties: float) -> Wins:
    """Items in clusters (correlation 0.5) on which the annotator is ahead by exactly 0.15."""
    shared, own = rng.normal(size=(units, 1)), rng.normal(size=(units, size))
    z = (shared + own if size > 1 else np.sqrt(2.0) * own).ravel() / np.sqrt(2.0)
    lost = z > library.norm.isf((1 - ties + 0.15) / 2)
    gained = z < library.norm.ppf((1 - ties - 0.15) / 2)
    return 1.0 - lost, 1.0 - gained


@pytest.mark.thorough
@pytest.mark.parametrize(("units", "size", "ties"), [(15, 1, 0.84), (15, 4, 0.4)])
def test_at_its_border_it_is_wrong_in_few_studies(units: int, size: int, ties: float) -> None:
    """The paper's t rejects in up to 0.17 of single items and 0.24 of clusters."""
    rng, unit, studies = np.random.default_rng(units * size), np.repeat(np.arange(units), size), 800
    found = [
        against(border(rng, units=units, size=size, ties=ties), unit, 0.15).p
        for _ in range(studies)
    ]
    assert np.mean(np.array(found) < 0.05) <= 0.06 + 2 * np.sqrt(0.05 * 0.95 / studies)


def test_too_few_units_are_not_tested_and_annotators_are_corrected_for() -> None:
    units = FEWEST_UNITS - 1
    found = against(
        border(np.random.default_rng(1), units=units, size=3, ties=0.4),
        np.arange(3 * units) // 3,
        0.15,
    )
    assert (found.items, found.units) == (3 * units, units)
    assert np.isnan([found.p, found.paper]).all()
    # By hand: 1 + 1/2 + 1/3 = 11/6, times 3/1, 3/2, 3/3.
    found = benjamini_yekutieli(np.array([0.04, NAN, 0.001, 0.01]))
    np.testing.assert_allclose(found, [0.04 * 11 / 6, NAN, 0.001 * 5.5, 0.01 * 2.75])


# ---------------------------------------------------------------------------------- Corrected means
ANSWERS = json.loads(
    (Path(__file__).parents[1] / "references" / "prediction_powered.json").read_text()
)


@pytest.mark.parametrize(
    "case", ANSWERS["cases"], ids=lambda case: f"{case['kind']}-{case['n']}-{case['weight']}"
)
def test_an_estimate_at_a_weight_is_that_of_ppi_python(case: dict[str, Any]) -> None:
    parts = drawn(case["seed"], case["n"], case["rest"], case["kind"])
    assert prediction_powered_mean(*parts, case["weight"]) == pytest.approx(
        case["estimate"], abs=1e-6
    )


@pytest.mark.parametrize("case", ANSWERS["tuned"], ids=lambda case: f"{case['kind']}-{case['n']}")
def test_the_tuned_weight_and_its_error_are_those_of_ppi_python(case: dict[str, Any]) -> None:
    human, judge, others = drawn(case["seed"], case["n"], case["rest"], case["kind"])
    weight = tuned_weight(human, judge, others)
    assert weight == pytest.approx(case["weight"], abs=1e-6)
    given = np.append(human, np.full(case["rest"], NAN))
    n = len(given)
    found, used = corrected_mean(given, np.append(judge, others), np.arange(n), n)
    assert (found["corrected"].value, used) == (pytest.approx(case["estimate"], abs=1e-6), weight)
    # PPI++, equation 6: what items add to the error, squared, is the large-sample variance.
    variance = weight**2 * others.var() / len(others) + (human - weight * judge).var() / len(human)
    assert (found["corrected"].sums ** 2).sum() == pytest.approx(variance)


def test_by_hand_with_units() -> None:
    """Rated 1, 3 (judge 2, 4), unrated judge 6, 8: means 2, 5; weight cov / ((1 + 2/2) var) = 1 /
    (2 x 20/3) = .075.
    """
    human, judge = np.array([1.0, 3.0, NAN, NAN]), np.array([2.0, 4.0, 6.0, 8.0])
    found, weight = corrected_mean(human, judge, np.array([0, 0, 1, 1]), 2)
    assert (weight, found["corrected"].value) == pytest.approx((0.075, 0.075 * 7 + (2 - 0.075 * 3)))
    assert found["rated"].sums == pytest.approx([0.0, 0.0])  # one unit: its items cancel
    assert found["judge"].value == 5.0


def test_a_sample_of_what_the_judge_likes_is_noticed() -> None:
    judge, unit = (
        np.clip(np.rint(3.7 + np.random.default_rng(6).normal(size=300)), 1, 5),
        np.arange(300),
    )
    gap, p = unlike(np.where(judge >= 4, 4.0, NAN), judge, unit, 300)
    assert gap > 0.5
    assert p < 1e-6
    every_fifth = np.isin(unit, np.arange(0, 300, 5))
    assert unlike(np.where(every_fifth, judge, NAN), judge, unit, 300)[1] > 0.01
    assert unlike(np.where(every_fifth, 3.0, NAN), np.full(300, 3.0), unit, 300) == (0.0, 1.0)
    assert np.isnan(unlike(np.where(unit < 9, 3.0, NAN), judge, unit, 300)).all()
