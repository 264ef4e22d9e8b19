"""Corrected means: against ppi-python (frozen), by hand, and whether a chosen sample is noticed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rubriclab.stats.prediction_powered import corrected_mean, estimate, tuned_weight
from tests.references.prediction_powered import drawn

ANSWERS = json.loads((Path(__file__).parents[1] / "references" / "prediction_powered.json").read_text())
NAN = np.nan


@pytest.mark.parametrize("case", ANSWERS["cases"], ids=lambda case: f"{case['kind']}-{case['n']}-{case['weight']}")
def test_an_estimate_at_a_weight_is_that_of_ppi_python(case: dict[str, Any]) -> None:
    parts = drawn(case["seed"], case["n"], case["rest"], case["kind"])
    assert estimate(*parts, case["weight"]) == pytest.approx(case["estimate"], abs=1e-6)


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
    """Rated 1, 3 (judge 2, 4), unrated judge 6, 8: means 2, 5; weight cov / ((1 + 2/2) var) = 1 / (2 x 20/3) = .075."""
    human, judge = np.array([1.0, 3.0, NAN, NAN]), np.array([2.0, 4.0, 6.0, 8.0])
    found, weight = corrected_mean(human, judge, np.array([0, 0, 1, 1]), 2)
    assert (weight, found["corrected"].value) == pytest.approx((0.075, 0.075 * 7 + (2 - 0.075 * 3)))
    assert found["rated"].sums == pytest.approx([0.0, 0.0])  # one unit: its items cancel
    assert found["judge"].value == 5.0
