"""Stepwise selection by AIC: algebra by hand, planted variables and none."""

import numpy as np
import pytest

from rubriclab.stats.stepwise import stepwise


def data(n: int = 240) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    judge, gap = rng.integers(0, 4, n), rng.random(n)
    noise = {"length": rng.normal(2000, 300, n), "task": rng.integers(0, 5, n)}
    y = 0.5 + 0.4 * gap + np.array([0.0, 0.2, -0.1, 0.3])[judge] + rng.normal(0, 0.1, n)
    return y, {"judge": judge, "gap": gap, **noise}


def test_two_groups_by_hand() -> None:
    """0 0 1 1 | 2 2 3 3: means 1/2 and 5/2, RSS 8 x 1/4 = 2, k = 2; without the group: mean 3/2, RSS 2 x (9 + 1) / 4 x 2 = 10."""
    y, group = np.array([0.0, 0, 1, 1, 2, 2, 3, 3]), np.array([0] * 4 + [1] * 4)
    made = stepwise(y, {"group": group})
    assert (made.n, made.chosen.k, made.chosen.rss) == (8, 2, pytest.approx(2.0))
    # As in the paper's Table 5: 3360 ln(61.974 / 3360) + 2 x 52 = -13312.
    assert made.chosen.aic == pytest.approx(8 * np.log(2 / 8) + 4)
    assert made.without["group"] == (1, pytest.approx(10.0), pytest.approx(8 * np.log(10 / 8) + 2))


def test_planted_variables_stay_and_noise_goes() -> None:
    y, variables = data()
    made = stepwise(y, variables)
    assert (set(made.without), set(made.dropped)) == ({"judge", "gap"}, {"length", "task"})
    assert made.chosen.k - made.without["judge"].k == 3
    # The same by solving the normal equations.
    design = np.column_stack([np.ones(240), variables["gap"], np.eye(4)[variables["judge"]][:, 1:]])
    residual = y - design @ np.linalg.solve(design.T @ design, design.T @ y)
    assert made.chosen.rss == pytest.approx(float(residual @ residual))


def test_noise_alone_mostly_leaves_nothing() -> None:
    """AIC keeps a lone noise column with P(chi2_1 > 2) = 0.157, six levels less often: of 40 some 5."""
    kept = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        kept += len(stepwise(rng.normal(size=150), {"a": rng.random(150), "b": rng.integers(0, 6, 150)}).without)
    assert kept <= 12


def test_what_cannot_be_fitted_has_no_model() -> None:
    y, variables = data()
    assert len(stepwise(y, {"gap": variables["gap"], "copy": 2 * variables["gap"]}).without) == 1
    y[0] = np.nan
    variables["gap"][1] = np.nan
    made = stepwise(y, {**variables, "one": np.zeros(240, dtype=int)})
    assert made.n == 238
    assert "one" not in {*made.without, *made.dropped}
    k = np.arange(30)
    for outcome, variable in ((k[:4] * 1.0, k[:4]), (np.ones(30), k % 3), (k[:9] * 1.0, np.zeros(9))):
        assert stepwise(outcome, {"a": variable}).chosen is None
