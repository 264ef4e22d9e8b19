"""The lab's distributions give the numbers of scipy.stats, at the ends of what can be asked as well."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rubriclab.stats import distributions
from rubriclab.stats.correlation import rankdata

RNG = np.random.default_rng(3)
MANY = 4_000
DEGREES = np.concatenate([RNG.integers(1, 60, MANY // 2), 10 ** RNG.uniform(-1, 8, MANY // 2)])
OTHERS = RNG.permutation(DEGREES)
CHANCES = RNG.permutation(
    np.concatenate([RNG.random(MANY - 800), 10 ** RNG.uniform(-15, -1, 400), 1 - 10 ** RNG.uniform(-15, -1, 400)])
)
REACHED = RNG.permutation(
    np.concatenate(
        [
            RNG.normal(0, 3, MANY - 803),
            10 ** RNG.uniform(-12, 100, 400),
            -(10 ** RNG.uniform(-12, 100, 400)),
            [0.0, np.inf, np.nan],
        ]
    )
)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("t.ppf", (CHANCES, DEGREES)),
        ("t.sf", (REACHED, DEGREES)),
        ("f.sf", (REACHED, DEGREES, OTHERS)),
        ("f.isf", (CHANCES, DEGREES, OTHERS)),
        ("chi2.sf", (REACHED, DEGREES)),
        ("chi2.ppf", (CHANCES, DEGREES)),
        ("beta.ppf", (CHANCES, DEGREES, OTHERS)),
        ("beta.isf", (CHANCES, DEGREES, OTHERS)),
    ],
)
def test_as_scipy_stats(name: str, arguments: tuple[np.ndarray, ...]) -> None:
    family, asked = name.split(".")
    own = getattr(getattr(distributions, family), asked)(*arguments)
    np.testing.assert_allclose(own, getattr(getattr(stats, family), asked)(*arguments), rtol=1e-14, atol=0.0)


def test_no_degrees_of_freedom_have_no_distribution() -> None:
    for none in (0.0, -1.0, np.nan):
        assert np.isnan([distributions.t.ppf(0.975, none), distributions.t.sf(2.0, none)]).all()
        assert np.isnan([distributions.f.sf(2.0, none, 5.0), distributions.f.sf(2.0, 5.0, none)]).all()


@pytest.mark.parametrize("n", [0, 1, 2, 7, 150, 40_000])
def test_counts_as_scipy_stats(n: int) -> None:
    for p in (0.0, 1e-9, 0.025, 0.5, 1 / 3, 0.999, 1.0):
        for k in {-1, 0, 1, round(n * p) - 1, round(n * p), round(n * p) + 3, n - 1, n, n + 1}:
            own = distributions.binom.cdf(k, n, p), distributions.binom.sf(k, n, p)
            np.testing.assert_allclose(own, (stats.binom.cdf(k, n, p), stats.binom.sf(k, n, p)), rtol=1e-13, atol=0.0)


@pytest.mark.parametrize("skew", [0.0, 1e-9, 1.5e-5, 1.7e-5, 0.01, 0.7, 2.0, 30.0, 1e4])
def test_gamma_tails_as_scipy_stats(skew: float) -> None:
    for x in (-1e6, -40.0, -2.0, -0.1, 0.0, 1e-9, 1.5, 6.0, 35.0):
        own, theirs = distributions.pearson3.sf(x, skew), stats.pearson3.sf(x, skew)
        np.testing.assert_allclose(own, theirs, rtol=1e-13, atol=0.0)


@pytest.mark.parametrize("shape", [(0,), (1,), (200,), (50, 7), (3, 0), (4, 5, 6)])
def test_mid_ranks_as_scipy_stats(shape: tuple[int, ...]) -> None:
    for values in (RNG.integers(0, 5, shape), RNG.normal(size=shape), np.zeros(shape)):
        np.testing.assert_array_equal(rankdata(values), stats.rankdata(values, axis=-1))


def test_what_is_not_known_has_no_rank() -> None:
    values = np.array([0.0, 2.0, np.nan, 2.0, np.nan, -np.inf])
    np.testing.assert_array_equal(rankdata(values), stats.rankdata(values, nan_policy="omit"))
