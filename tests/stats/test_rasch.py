"""The Rasch model: hand-derived answers, two other implementations, an independent simulator."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from statsmodels.discrete.conditional_models import ConditionalLogit

from rubriclab.stats.choice_design import contrasts
from rubriclab.stats.inference import Floats, Ints
from rubriclab.stats.rasch import RaschFit, Responses, fit_rasch, within_budget
from rubriclab.stats.rasch_measures import mean_squares, measures, residuals, separation

REFERENCE = Path(__file__).resolve().parents[1] / "references" / "rasch.py"


def responses(scores: Ints) -> Responses:
    """``scores`` (items, kinds): every item read once in each kind, each item its own unit."""
    items, kinds = scores.shape
    item = np.repeat(np.arange(items), kinds)
    return Responses(item, np.tile(np.arange(kinds), items), scores.ravel(), np.arange(items), items)


def rotations(n: int) -> Ints:
    forward = np.array([np.roll(np.arange(n), -turn) for turn in range(n)])
    return np.concatenate([forward, forward[:, ::-1]])


def places_design(n: int) -> tuple[Floats, Ints]:
    """Thresholds and places of one judge under ``rotations``: (orders, n, p), places last."""
    shown = rotations(n)
    place = np.argsort(shown, axis=1)
    x = np.zeros((len(shown), n, 2 * n - 3))
    x[:, np.arange(1, n - 1), np.arange(n - 2)] = 1.0
    x[:, :, n - 2 :] = contrasts(n)[place]
    return x, place


def judged(items: int, places: Floats, rng: np.random.Generator, *, copies: float = 0.0) -> Ints:
    """Scores of a latent-class judge written for this test: Gumbel noise on each option, the highest wins.

    ``copies``: the chance that a read repeats the item's first one, so that reads are not independent.
    """
    n, (_, place) = len(places), places_design(len(places))
    theta = rng.standard_t(5, items)
    steps = 0.2 * np.abs(np.arange(n) - (n - 1) / 2)
    liking = theta[:, None, None] * np.arange(n) + steps + places[place]
    scores = (liking + rng.gumbel(size=liking.shape)).argmax(axis=2)
    if copies:
        same = rng.random(scores.shape) < copies
        scores = np.where(same, scores[:, :1], scores)
    return scores


def place_weights(n: int) -> Floats:
    return np.concatenate([np.zeros((n, n - 2)), contrasts(n)], axis=1)


def test_two_kinds_of_two_categories_are_mcnemars_odds() -> None:
    # 6 items passed by the first alone, 2 by the second alone: log 3. The others say nothing.
    scores = np.array([[1, 0]] * 6 + [[0, 1]] * 2 + [[1, 1]] * 5 + [[0, 0]] * 4)
    x = np.zeros((2, 2, 1))
    x[0, 1, 0] = 1.0
    fit = fit_rasch(responses(scores), x)
    assert fit.n_pairs == fit.n_units == 8
    assert fit.phi[0] == pytest.approx(np.log(3.0), abs=1e-8)
    # Its sandwich over n pairs: var = 1/b + 1/c, times n / (n - 1).
    assert fit.error(np.ones(1)) == pytest.approx(np.sqrt((1 / 6 + 1 / 2) * 8 / 7), abs=1e-8)


def reference() -> tuple[ModuleType, dict[str, dict[str, list[float]]]]:
    spec = importlib.util.spec_from_file_location("references_rasch", REFERENCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module, json.loads(REFERENCE.with_suffix(".json").read_text())["models"]


@pytest.mark.parametrize("name", ["places", "rating scale", "partial credit"])
def test_two_reads_an_item_are_what_erm_estimates(name: str) -> None:
    module, frozen = reference()
    own = name == "places"
    scores = module.reads(0.0 if own else 0.6, module.PLACES if own else (0.0,) * 5)
    fit = fit_rasch(responses(scores), module.designs()[name])
    assert fit.converged
    np.testing.assert_allclose(fit.phi, frozen[name]["phi"], atol=3e-5)  # what eRm's optimiser leaves


def test_more_reads_are_a_conditional_logit_over_pairs() -> None:
    """statsmodels: every pair of reads a choice among the pairs of categories of its sum."""
    rng = np.random.default_rng(3)
    x, _ = places_design(3)
    scores = judged(40, np.array([0.6, -0.2, -0.4]), rng)[:, :4]
    rows, chosen, group = [], [], []
    for item in scores:
        for a in range(4):
            for b in range(a + 1, 4):
                sums = [(s, t) for s in range(3) for t in range(3) if s + t == item[a] + item[b]]
                if len(sums) > 1:
                    rows += [x[a, s] + x[b, t] for s, t in sums]
                    chosen += [float((s, t) == (item[a], item[b])) for s, t in sums]
                    group += [group[-1] + 1 if group else 0] * len(sums)
    twin = ConditionalLogit(np.array(chosen), np.array(rows), groups=np.array(group)).fit(
        method="newton", tol=1e-12, disp=False
    )
    fit = fit_rasch(responses(scores), x[:4])
    np.testing.assert_allclose(fit.phi, twin.params, atol=1e-6)


def test_repeats_of_one_kind_count_as_one_read() -> None:
    rng = np.random.default_rng(4)
    x, _ = places_design(3)
    scores = judged(60, np.array([0.5, 0.0, -0.5]), rng)
    once = fit_rasch(responses(scores), x)
    twice = responses(scores)
    again = np.arange(len(twice.item))
    both = np.concatenate([again, again])
    doubled = Responses(twice.item[both], twice.kind[both], twice.score[both], twice.unit, twice.n_units)
    # A pair of a read with its own copy has one sum and two like categories: it says nothing of places.
    np.testing.assert_allclose(fit_rasch(doubled, x).phi[1:], once.phi[1:], atol=0.15)
    alone = np.repeat(again, np.where(twice.kind == 0, 5, 1))
    heavy = Responses(twice.item[alone], twice.kind[alone], twice.score[alone], twice.unit, twice.n_units)
    np.testing.assert_allclose(fit_rasch(heavy, x).phi[1:], once.phi[1:], atol=0.15)


def covered(items: int, studies: int, copies: float) -> tuple[float, float]:
    """(share of intervals of places that hold, share of tests that reject equal places)."""
    places = np.array([0.5, 0.0, -0.1, -0.2, -0.2])
    x, _ = places_design(5)
    weights, hold, reject = place_weights(5), [], []
    truth = places if not copies else fitted(judged(20_000, places, np.random.default_rng(1), copies=copies), x)
    for seed in range(studies):
        rng = np.random.default_rng(seed + 10)
        fit = fit_rasch(responses(judged(items, places, rng, copies=copies)), x)
        ends = [fit.linear(row)[1] for row in weights]
        hold += [low <= true <= high for true, (low, high) in zip(truth, ends, strict=True)]
        test = fit_rasch(responses(judged(items, 0 * places, rng, copies=copies)), x).together(weights)
        reject.append(test is not None and test.p < 0.05)
    return float(np.mean(hold)), float(np.mean(reject))


def fitted(scores: Ints, x: Floats) -> Floats:
    reads = responses(scores)
    part = within_budget(reads.item, reads.unit)
    kept = np.arange(len(reads.item)) if part is None else part
    fit = fit_rasch(Responses(reads.item[kept], reads.kind[kept], reads.score[kept], reads.unit, reads.n_units), x)
    return np.array([fit.linear(row)[0] for row in place_weights(5)])


def test_places_are_recovered_whatever_the_distribution_of_items() -> None:
    places = np.array([0.5, 0.0, -0.1, -0.2, -0.2])
    found = fitted(judged(4_000, places, np.random.default_rng(7)), places_design(5)[0])
    np.testing.assert_allclose(found, places, atol=0.04)


@pytest.mark.slow
@pytest.mark.parametrize("items", [15, 30, 100])
@pytest.mark.parametrize("copies", [0.0, 0.5])
def test_intervals_hold_also_where_reads_repeat_each_other(items: int, copies: float) -> None:
    hold, reject = covered(items, 400, copies)
    assert 0.92 <= hold <= 0.975
    assert reject <= 0.08


def test_what_has_no_bound_has_no_interval() -> None:
    scores = np.array([[1, 0]] * 12)
    x = np.zeros((2, 2, 1))
    x[0, 1, 0] = 1.0
    fit = fit_rasch(responses(scores), x)
    assert fit.unbounded
    assert fit.phi[0] > 2.0
    assert not np.isfinite(fit.linear(np.ones(1))[1]).any()


def test_effects_that_the_reads_cannot_tell_are_not_told() -> None:
    rng = np.random.default_rng(5)
    x, _ = places_design(3)
    fit = fit_rasch(responses(judged(50, np.zeros(3), rng)[:, :1].repeat(2, axis=1)), x[[0, 0]])
    assert all(np.isnan(fit.linear(row)[0]) for row in place_weights(3))
    assert fit.together(place_weights(3)) is None


def test_nothing_to_compare_is_no_fit() -> None:
    fit = fit_rasch(responses(np.array([[0, 0], [2, 2]])), places_design(3)[0][:2])
    assert isinstance(fit, RaschFit)
    assert fit.n_pairs == 0
    assert not fit.converged


# ---------------------------------------------------------------- measures and fit


def test_warms_measure_of_alike_reads_is_half_a_success_more() -> None:
    # L alike reads of two categories, r of them 1: p = (r + 1/2) / (L + 1) (Warm 1989, equation 8).
    scores = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]])
    known = measures(responses(scores), np.zeros((4, 2)))
    p = (np.array([0, 1, 2, 4]) + 0.5) / 5.0
    np.testing.assert_allclose(known.theta, np.log(p / (1 - p)), atol=1e-7)
    np.testing.assert_allclose(known.error, 1 / np.sqrt(4 * p * (1 - p)), atol=1e-6)
    assert known.extreme.tolist() == [True, False, False, True]


def test_mean_squares_are_one_where_the_model_holds_and_higher_with_noise() -> None:
    rng = np.random.default_rng(6)
    theta, step = rng.normal(0, 1.2, 1_000), np.array([0.0, 1.0, 0.0])
    level = theta[:, None, None] * np.arange(3) + step
    scores = (level + rng.gumbel(size=(1_000, 6, 3))).argmax(axis=2)
    noisy = scores.copy()
    noisy[:, 0] = rng.integers(0, 3, 1_000)
    eta = np.tile(step, (6, 1))
    for given, first in ((scores, 1.0), (noisy, 2.0)):
        reads = responses(given)
        left = residuals(reads, eta, measures(reads, eta))
        fits = [mean_squares(left, reads.kind == kind) for kind in range(6)]
        assert fits[0].infit == pytest.approx(first, abs=0.05 if first == 1.0 else 0.5)
        assert all(abs(fit.infit - 1.0) < 0.12 for fit in fits[1:])
        assert all(abs(fit.outfit - 1.0) < 0.2 for fit in fits[1:])


def test_reliability_is_the_share_of_variance_that_is_no_error() -> None:
    theta = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    apart = separation(theta, np.full(5, 0.5))
    # Variance 2.5, error 0.25: reliability 0.9, true sd over error = root of 9 = 3, (4 x 3 + 1) / 3 levels.
    assert apart.reliability == pytest.approx(0.9)
    assert apart.ratio == pytest.approx(3.0)
    assert apart.strata == pytest.approx(13 / 3)
    assert np.isnan(separation(theta[:1], theta[:1]).reliability)
