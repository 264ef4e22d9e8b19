"""Corrected means: against ppi-python, by hand, and how often their intervals hold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rubriclab.stats.prediction_powered import (
    FEWEST_RATED,
    corrected_mean,
    estimate,
    rogan_gladen,
    tuned_weight,
    unlike,
    variance,
    worth,
)

ANSWERS = json.loads((Path(__file__).parents[1] / "references" / "prediction_powered.json").read_text())
NAN = np.nan


def drawn(seed: int, n: int, rest: int, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(ratings, scores of the same, scores of others); as in references/prediction_powered.py."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=n + rest)
    human = np.clip(np.rint(3 + quality + rng.normal(0, 0.5, n + rest)), 1, 5)
    judge = np.clip(np.rint(3.5 + quality + rng.normal(0, 0.8, n + rest)), 1, 5)
    if kind == "binary":
        human, judge = (human > 3) * 1.0, (judge > 3) * 1.0
    if kind == "noise":
        judge = rng.normal(size=n + rest)
    return human[:n], judge[:n], judge[n:]


@pytest.mark.parametrize("case", ANSWERS["cases"], ids=lambda case: f"{case['kind']}-{case['n']}-{case['weight']}")
def test_estimate_and_interval_are_those_of_ppi_python(case: dict) -> None:
    parts = drawn(case["seed"], case["n"], case["rest"], case["kind"])
    assert estimate(*parts, case["weight"]) == pytest.approx(case["estimate"], abs=1e-6)
    assert 1.959963985 * np.sqrt(variance(*parts, case["weight"])) == pytest.approx(case["half"], abs=1e-6)


@pytest.mark.parametrize("case", ANSWERS["tuned"], ids=lambda case: f"{case['kind']}-{case['n']}")
def test_the_tuned_weight_is_that_of_ppi_python(case: dict) -> None:
    parts = drawn(case["seed"], case["n"], case["rest"], case["kind"])
    weight = tuned_weight(*parts)
    assert weight == pytest.approx(case["weight"], abs=1e-6)
    assert estimate(*parts, weight) == pytest.approx(case["estimate"], abs=1e-6)


def test_all_rated_is_the_mean_of_the_ratings() -> None:
    human, judge, _ = drawn(1, 40, 0, "scores")
    found = corrected_mean(human, judge, np.arange(40))
    assert found.corrected.value == pytest.approx(human.mean())
    assert found.bias.value == pytest.approx(judge.mean() - human.mean())
    half = (
        2.0226909 * human.std(ddof=1) / np.sqrt(40)
    )  # t of 39; the few heaviest take a little off its degrees of freedom
    assert found.corrected.interval.high - human.mean() == pytest.approx(half, rel=1e-2)


def test_too_few_rated_have_no_interval() -> None:
    human, judge, rest = drawn(1, FEWEST_RATED - 1, 50, "scores")
    found = corrected_mean(np.append(human, np.full(50, NAN)), np.append(judge, rest), np.arange(50 + len(human)))
    assert np.isnan(found.corrected.value)
    assert np.isnan(found.rated.interval.low)
    assert np.isfinite(found.plain.interval.low)


def study(rng: np.random.Generator, *, n: int, size: int, kind: str) -> tuple[np.ndarray, ...]:
    """300 items in prompts of ``size`` that share quality and the judge's leaning, ``n`` rated at random."""
    units = 300 // size
    z = np.sqrt(0.5) * (rng.normal(size=(units, 1)) + rng.normal(size=(units, size)))
    middle = {"skewed": 2.0, "scores": 3.0, "binary": 3.0}[kind]
    truth = middle + 1.7 * z + rng.normal(0, 0.5, z.shape)
    judge = middle + 0.7 + 1.7 * z + rng.normal(0, 0.5, (units, 1)) + rng.normal(0, 0.8, z.shape)
    human, judge = (np.clip(np.rint(part), 1, 5).ravel() for part in (truth, judge))
    if kind == "binary":
        human, judge = (human >= 3) * 1.0, (judge >= 3) * 1.0
    given = np.full(300, NAN)
    at = rng.permutation(300)[:n]
    given[at] = human[at]
    return given, judge, np.repeat(np.arange(units), size), human


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["scores", "skewed", "binary"])
@pytest.mark.parametrize(("n", "size"), [(15, 1), (30, 1), (100, 1), (30, 4), (100, 4)])
def test_intervals_hold(kind: str, n: int, size: int) -> None:
    rng = np.random.default_rng(n * size)
    long = np.mean([study(rng, n=1, size=size, kind=kind)[3].mean() for _ in range(1500)])
    held = []
    for _ in range(400):
        given, judge, unit, _ = study(rng, n=n, size=size, kind=kind)
        found = corrected_mean(given, judge, unit, share=kind == "binary").corrected
        held.append(found.interval.low <= long <= found.interval.high)
    assert 0.93 - 2 * np.sqrt(0.95 * 0.05 / 400) <= np.mean(held) <= 0.985


def test_a_judge_that_knows_nothing_does_no_harm() -> None:
    human, judge, rest = drawn(4, 60, 240, "noise")
    given, scores = np.append(human, np.full(240, NAN)), np.append(judge, rest)
    found = corrected_mean(given, scores, np.arange(300))
    assert found.weight < 0.2
    assert found.corrected.error <= 1.05 * found.rated.error


def test_a_biased_judge_is_corrected_and_its_error_named() -> None:
    human, judge, rest = drawn(5, 80, 320, "scores")
    found = corrected_mean(np.append(human, np.full(320, NAN)), np.append(judge, rest), np.arange(400))
    assert found.corrected.interval.low < 3.0 < found.corrected.interval.high
    assert found.plain.interval.low > 3.1
    assert found.bias.interval.low > 0.1
    assert found.corrected.error < 0.9 * found.rated.error


def test_a_chosen_sample_is_noticed_and_a_random_one_seldom() -> None:
    rng, said = np.random.default_rng(6), 0
    for _ in range(200):
        given, judge, unit, _ = study(rng, n=60, size=1, kind="scores")
        said += unlike(given, judge, unit)[1] < 0.01
    assert said <= 8
    given = np.where(judge >= 4, 4.0, NAN)  # only what the judge likes was rated
    gap, p = unlike(given, judge, unit)
    assert gap > 0.5
    assert p < 1e-6


def test_what_ratings_buy() -> None:
    """With ratings y and scores f of correlation r: var((1 - r^2) / n + r^2 / M) against var / n."""
    rng = np.random.default_rng(7)
    f = rng.normal(size=2000)
    y = 0.8 * f + 0.6 * rng.normal(size=2000)  # r = 0.8, variance 1
    given = np.where(np.arange(2000) < 500, y, NAN)
    found = worth(given, f, np.arange(2000))
    assert found is not None
    n = np.array([50.0])
    assert found.half_width(n, judged=False)[0] == pytest.approx(1.96 / np.sqrt(50), rel=0.1)
    assert found.half_width(n, judged=True)[0] == pytest.approx(1.96 * np.sqrt(0.36 / 50 + 0.64 / 2000), rel=0.1)
    alone, ends = found.needed(0.2, judged=False)
    assert ends.low < 1.96**2 / 0.04 < ends.high
    judged, ends = found.needed(0.2, judged=True)
    assert ends.low < 0.36 / (0.04 / 1.96**2 - 0.64 / 2000) < ends.high
    assert judged < alone
    assert found.needed(0.001, judged=True)[0] == np.inf


def test_pass_rate_by_sensitivity_and_specificity() -> None:
    """By hand: sensitivity 0.8, specificity 0.9, apparent 0.45: (0.45 + 0.9 - 1) / 0.7 = 0.5."""
    human = np.array([1.0] * 10 + [0.0] * 10 + [NAN] * 80)
    judge = np.array([1.0] * 8 + [0.0] * 2 + [1.0] + [0.0] * 9 + [1.0] * 36 + [0.0] * 44)
    found = rogan_gladen(human, judge)
    assert found is not None
    assert found.value == pytest.approx(0.5)
    assert (found.sensitivity, found.specificity) == pytest.approx((0.8, 0.9))
    assert rogan_gladen(human[4:], judge[4:]) is not None
    assert rogan_gladen(np.where(np.arange(100) < 4, human, NAN), judge) is None
    assert rogan_gladen(human, 1.0 - judge) is None


def test_the_interval_of_lang_and_reiczigel_holds() -> None:
    rng, held = np.random.default_rng(8), []
    for _ in range(600):
        truth = (rng.random(300) < 0.3) * 1.0
        judge = np.where(truth == 1, rng.random(300) < 0.85, rng.random(300) < 0.2) * 1.0
        found = rogan_gladen(np.where(np.arange(300) < 60, truth, NAN), judge)
        if found is not None:
            held.append(found.interval.low <= 0.3 <= found.interval.high)
    assert 0.93 <= np.mean(held) <= 0.99
