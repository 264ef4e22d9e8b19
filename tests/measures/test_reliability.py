"""Variance components and stepwise selection by AIC: by hand, a textbook's, planted ones, what
cannot be fitted.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from rubriclab.measures.reliability import Components, components
from rubriclab.measures.what_goes_along import stepwise
from rubriclab.stats.resample import Floats, degrees_of_freedom

BRENNAN = json.loads(
    (Path(__file__).parents[1] / "references" / "printed.json").read_text("utf-8")
)["brennan 2.2"]
"""Brennan 2001, Generalizability Theory, table 2.2: ten persons, twelve items."""


def made(y: Floats, keep: Floats | None = None, size: int = 1) -> Components:
    """Of scores (items, orders, calls); ``size``: items a unit."""
    kept = np.isfinite(y) if keep is None else keep.astype(bool)
    item, order, _ = (code[kept] for code in np.indices(y.shape))
    found = components(item, order, y[kept], np.arange(len(y)) // size, np.zeros(len(y), np.int64))
    assert found is not None
    return found


def drawn(
    seed: int, items: int, orders: int, calls: int, sd: tuple[float, float, float, float]
) -> Floats:
    rng = np.random.default_rng(seed)
    shapes = (items, 1, 1), (1, orders, 1), (items, orders, 1), (items, orders, calls)
    return np.asarray(sum(s * rng.normal(size=shape) for s, shape in zip(sd, shapes, strict=True)))


def test_a_table_by_hand_and_brennans_persons_by_items() -> None:
    """Six items scored 1 3 in one order and 2 2 in the other, six others 5 7 and 6 6: cell means 2
    2 and 6 6.

    Noise: 2 squared deviations in one of an item's two cells, 1 degree of freedom each: 12 x 2 / 24
    = 1. Half of the squared difference of single scores, on average: of an item's cells 1/2 (half
    of (1 + 0 + variance 1)), so order + item x order + noise = 1/2. Items in the same order: 1/2 on
    average, and half of 4^2 more in 36 of 66 pairs: 288/66 + 1/2; in different orders the same. So
    item = 288/66, order = 0, item x order = 1/2 + 1/2 - 1/2 - 1 = -1/2.
    """
    low, high = [[1.0, 3], [2, 2]], [[5.0, 7], [6, 6]]
    found = made(np.array([low] * 6 + [high] * 6))
    noise = 12 * 2 / 24
    assert found.variances[0] == pytest.approx([288 / 66, 0.0, -0.5, noise])
    # A part below 0 counts as 0 in the total too.
    total = 288 / 66 + noise
    assert found.shares == pytest.approx([288 / 66 / total, 0, 0, noise / total])
    assert found.shares.sum() == pytest.approx(1.0)
    found = made(np.array(BRENNAN, dtype=float)[..., None])
    assert found.variances[0] == pytest.approx(
        [0.0574, 0.0754, 0.1269, np.nan], abs=5e-5, nan_ok=True
    )
    # His index of dependability of twelve items, p + error / 12: .0574 / (.0574 + (.0754 + .1269) /
    # 12) = .773.
    assert found.dependability(np.array([12]))[0] == pytest.approx(0.773, abs=5e-4)
    assert np.isnan(found.dependability(np.array([2]), one_order=True)[0])


def test_noise_is_the_mean_of_the_cells() -> None:
    # The first order, asked three times, has noise of variance 1, the second, asked twice, of 2;
    # weighed by calls: 4/3.
    y = np.array(
        [[[1.0, 2, 3], [1, 3, np.nan]], [[5, 6, 7], [8, 6, np.nan]], [[3, 4, 5], [2, 4, np.nan]]]
    )
    assert made(y).variances[:, 3] == pytest.approx(1.5)


def test_ends_of_a_share_are_the_further_ones_of_two_scales() -> None:
    found = made(drawn(4, 40, 10, 2, (1.0, 0.0, 0.4, 0.5)))
    total = found.variances.sum(axis=1)
    share = found.variances[:, 2] / total
    pseudo = 40 * share[0] - 39 * share[1:]
    reach = special.stdtrit(degrees_of_freedom(pseudo - pseudo.mean()), 0.975)
    reach *= np.sqrt(np.square(pseudo - share[0]).sum() / (40 * 39))
    odds = special.logit(share[0]) + reach / (share[0] * (1 - share[0]))
    assert np.ravel(found.share_ends(2, 0.95)) == pytest.approx(
        [share[0] - reach, special.expit(odds)]
    )


def test_orders_of_their_own_are_a_part_of_single_items() -> None:
    rng = np.random.default_rng(1)
    item = np.repeat(np.arange(400), 5)
    order = rng.permutation(2000)
    score = rng.normal(size=400)[item] + 0.5 * rng.normal(size=2000)
    found = components(item, order, score, np.arange(400), np.zeros(400, np.int64))
    assert found.variances[0, [0, 2]] == pytest.approx([1.0, 0.25], abs=0.12)
    assert np.isnan(found.variances[0, [1, 3]]).all()
    none, single = np.zeros(0, np.int64), np.zeros(3, np.int64)
    assert components(none, none, np.zeros(0), none, none) is None
    assert components(np.arange(3), single, np.arange(3.0), np.arange(3), single) is None


def test_very_many_units_are_left_out_in_groups() -> None:
    found = made(drawn(2, 2500, 4, 1, (1.0, 0.0, 0.4, 0.5)))
    assert found.variances.shape == (1001, 4)
    low, high = found.ends(np.array([1, 4]), 0.95)
    truth = 1 / (1 + np.array([0.41, 0.41 / 4]))
    assert (low < truth).all()
    assert (truth < high).all()


# ------------------------------------------------------------------------ Stepwise selection by AIC
def data(n: int = 240) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    judge, gap = rng.integers(0, 4, n), rng.random(n)
    noise = {"length": rng.normal(2000, 300, n), "task": rng.integers(0, 5, n)}
    y = 0.5 + 0.4 * gap + np.array([0.0, 0.2, -0.1, 0.3])[judge] + rng.normal(0, 0.1, n)
    return y, {"judge": judge, "gap": gap, **noise}


def test_two_groups_by_hand() -> None:
    """0 0 1 1 | 2 2 3 3: means 1/2 and 5/2, RSS 8 x 1/4 = 2, k = 2; without the group: mean 3/2,
    RSS 2 x (9 + 1) / 4 x 2 = 10.
    """
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
    """AIC keeps a lone noise column with P(chi2_1 > 2) = 0.157, six levels less often: of 40 some
    5.
    """
    kept = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        kept += len(
            stepwise(
                rng.normal(size=150), {"a": rng.random(150), "b": rng.integers(0, 6, 150)}
            ).without
        )
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
    for outcome, variable in (
        (k[:4] * 1.0, k[:4]),
        (np.ones(30), k % 3),
        (k[:9] * 1.0, np.zeros(9)),
    ):
        assert stepwise(outcome, {"a": variable}).chosen is None
