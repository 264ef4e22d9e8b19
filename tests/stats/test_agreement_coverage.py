"""Intervals of agreement hold what they promise, over judges and raters that share a latent trait."""

from __future__ import annotations

import os

import numpy as np
import pytest

from rubriclab.stats.agreement import COEFFICIENTS, PairTable, coefficients, coefficients_without, crossed
from rubriclab.stats.agreement_intervals import Estimated, of_coefficient, of_limits, of_mean, of_share
from rubriclab.stats.human_correlation import LeftOut
from rubriclab.stats.inference import Floats
from rubriclab.stats.intraclass import intraclass, mean_difference

STUDIES = int(os.environ.get("RUBRICLAB_AGREEMENT_STUDIES", "120"))
CUTS = {"five options": (-1.2, -0.4, 0.4, 1.2), "two options": (-0.5,), "skewed": (-2.6, -2.0, -1.4, -0.8)}
KAPPA = COEFFICIENTS.index("kappa_quadratic")
AC = COEFFICIENTS.index("ac2")


def study(cuts: tuple[float, ...], items: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Three reads and two ratings of each item, as indices of options."""
    trait = rng.normal(size=(items, 1))
    reads = np.searchsorted(cuts, trait + 0.5 * rng.logistic(size=(items, 3)))
    ratings = np.searchsorted(cuts, trait + 0.6 * rng.normal(size=(items, 2)))
    return reads.astype(np.float64), ratings.astype(np.float64)


def table(reads: Floats, ratings: Floats, options: int) -> PairTable:
    n, values = len(reads), np.arange(float(options))
    sides = (np.stack([(side == value).sum(axis=1) for value in values], axis=1) for side in (reads, ratings))
    one, other = (side.astype(np.float64) for side in sides)
    return crossed(one, other, values, step=1.0, unit=np.arange(n), units=n)


def estimates(reads: Floats, ratings: Floats, options: int) -> dict[str, Estimated]:
    pairs, n = table(reads, ratings, options), len(reads)
    value, without = coefficients(pairs), coefficients_without(pairs)
    total = pairs.pairs.sum(axis=0)
    left = [LeftOut(float(value[k]), without[:, k]) for k in range(len(COEFFICIENTS))]
    means = reads.mean(axis=1), ratings.mean(axis=1)
    mean, low, high = mean_difference(*means, unit=np.arange(n), units=n)
    lower, upper = of_limits(mean, low, high)
    return {
        "exact": of_share(left[0]),
        "kappa": of_coefficient(left[KAPPA], spread=float(total.sum() - total.max())),
        "ac2": of_coefficient(left[AC]),
        "icc": of_coefficient(intraclass(np.column_stack(means), unit=np.arange(n), units=n)[0]),
        "bias": of_mean(mean),
        "lower": lower,
        "upper": upper,
    }


def truth(kind: str) -> dict[str, float]:
    """Of so many items that nothing is left to chance; the jackknife is not needed for it."""
    reads, ratings = study(CUTS[kind], 50_000, np.random.default_rng(1))
    value = coefficients(table(reads, ratings, len(CUTS[kind]) + 1))
    unit = np.arange(50_000) % 20
    means = reads.mean(axis=1), ratings.mean(axis=1)
    mean, low, high = mean_difference(*means, unit=unit, units=20)
    icc = intraclass(np.column_stack(means), unit=unit, units=20)[0]
    shares = {"exact": float(value[0]), "kappa": float(value[KAPPA]), "ac2": float(value[AC])}
    return shares | {"icc": icc.value, "bias": mean.value, "lower": low.value, "upper": high.value}


@pytest.mark.slow
@pytest.mark.parametrize("kind", CUTS)
def test_intervals_hold_in_thirty_items(kind: str) -> None:
    true, rng = truth(kind), np.random.default_rng(2)
    held: dict[str, list[bool]] = {}
    for _ in range(STUDIES):
        for name, of in estimates(*study(CUTS[kind], 30, rng), len(CUTS[kind]) + 1).items():
            if np.isfinite(of.ci.low):
                held.setdefault(name, []).append(of.ci.low - 1e-9 <= true[name] <= of.ci.high + 1e-9)
    for name, of_studies in held.items():
        error = np.sqrt(0.95 * 0.05 / len(of_studies))
        assert np.mean(of_studies) > 0.93 - 2.5 * error, f"{name}: {np.mean(of_studies):.3f} of {len(of_studies)}"


def test_full_agreement_is_not_certain() -> None:
    """Twenty of twenty alike: Wilson's interval of the share reaches down to 0.84."""
    of = of_share(LeftOut(1.0, np.ones(20)))
    assert of.ci.low == pytest.approx(0.8389, abs=1e-3)
    assert of_coefficient(LeftOut(1.0, np.ones(20))).ci.low == pytest.approx(2 * of.ci.low - 1)


def test_too_few_units_and_too_little_spread_have_no_interval() -> None:
    few = of_coefficient(LeftOut(0.5, np.linspace(0.4, 0.6, 6)))
    assert few.value == 0.5
    assert "6 units are too few" in few.why
    flat = of_coefficient(LeftOut(0.5, np.linspace(0.4, 0.6, 30)), spread=5.0)
    assert np.isnan(flat.ci.low)
    assert "commonest pair" in flat.why
