"""Variance components: textbook tables, R and statsmodels, nesting, missing scores, planted components."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.mixed_linear_model import MixedLM

from rubriclab.stats.generalisability import share_intervals
from rubriclab.stats.inference import Floats
from rubriclab.stats.variance_components import Cells, cells_of, closed_sets, components, shares

FROZEN = json.loads((Path(__file__).parents[1] / "references" / "generalisability.json").read_text(encoding="utf-8"))

BRENNAN_1 = """
1 0 1 0 0 0 0 0 0 0 0 0
1 1 1 0 0 1 0 0 0 0 0 0
1 1 1 1 1 0 0 0 0 0 0 0
1 1 0 1 1 0 0 1 0 0 0 0
1 1 1 1 1 0 1 0 0 0 0 0
1 1 1 0 1 1 1 0 0 0 0 0
1 1 1 1 1 1 1 0 0 0 0 0
1 1 1 1 0 1 1 1 1 1 0 0
1 1 1 1 1 1 1 1 1 1 1 0
1 1 1 1 1 1 1 1 1 1 1 1
"""
"""Brennan 2001, Generalizability Theory, table 2.2: ten persons, twelve items."""
BRENNAN_3 = """
2 6 7 5 2 5 5 5
4 5 6 7 6 7 5 7
5 5 4 6 5 4 5 5
5 9 8 6 5 7 7 6
4 3 5 6 4 5 6 4
4 4 4 7 6 4 7 8
2 6 6 5 2 7 7 5
3 4 4 5 6 6 6 4
0 5 4 5 5 5 5 3
6 8 7 6 6 8 8 6
"""
"""The same, table 3.1: ten persons, two occasions (the halves of a row) of four items."""
BRENNAN_4 = """
5 6 5 5 5 3 4 5 6 7 3 3
9 3 7 7 7 5 5 5 7 7 5 2
3 4 3 3 5 3 3 5 6 5 1 6
7 5 5 3 3 1 4 3 5 3 3 5
9 2 9 7 7 7 3 7 2 7 5 3
3 4 3 5 3 3 6 3 4 5 1 2
7 3 7 7 7 5 5 7 5 5 5 4
5 8 5 7 7 5 5 4 3 2 1 1
9 9 8 8 6 6 6 5 5 8 1 1
4 4 4 3 3 5 6 5 5 7 1 1
"""
"""The same, table 3.2: ten persons, three tasks (thirds of a row), each with four raters of its own."""


def table(text: str) -> Floats:
    return np.array([[float(value) for value in line.split()] for line in text.strip().splitlines()])


def cells(y: Floats, keep: Floats | None = None, unit: int = 1) -> Cells:
    """Of scores (items, facet, ..., reads); ``unit``: so many items each."""
    kept = np.ones(y.shape, dtype=bool) if keep is None else keep.astype(bool)
    *codes, _ = (code[kept].astype(np.int64) for code in np.indices(y.shape))
    return cells_of(np.stack(codes, axis=1), codes[0] // unit, y[kept])


def named(of: Cells, *facets: str) -> dict[str, float]:
    """Components by the names of their facets; NaN included, the noise last."""
    found = components(of)
    names = ["·".join(facets[k] for k in sorted(one)) for one in found.sets]
    return dict(zip([*names, "noise"], found.variances[0].tolist(), strict=True))


def anova(y: Floats) -> dict[str, float]:
    """Components of complete data (items, a, b, reads) from expected mean squares, written out."""
    n, w, o, r = y.shape
    m = y.mean(axis=3)
    grand = m.mean()
    i, a, b = m.mean(axis=(1, 2)), m.mean(axis=(0, 2)), m.mean(axis=(0, 1))
    ia, ib, ab = m.mean(axis=2), m.mean(axis=1), m.mean(axis=0)
    ms_i = r * w * o * ((i - grand) ** 2).sum() / (n - 1)
    ms_a = r * n * o * ((a - grand) ** 2).sum() / (w - 1)
    ms_b = r * n * w * ((b - grand) ** 2).sum() / (o - 1)
    ms_ia = r * o * ((ia - i[:, None] - a + grand) ** 2).sum() / ((n - 1) * (w - 1))
    ms_ib = r * w * ((ib - i[:, None] - b + grand) ** 2).sum() / ((n - 1) * (o - 1))
    ms_ab = r * n * ((ab - a[:, None] - b + grand) ** 2).sum() / ((w - 1) * (o - 1))
    left = m - ia[:, :, None] - ib[:, None, :] - ab + i[:, None, None] + a[:, None] + b - grand
    ms_iab = r * (left**2).sum() / ((n - 1) * (w - 1) * (o - 1))
    ms_e = ((y - m[..., None]) ** 2).sum() / (n * w * o * max(r - 1, 1))
    return {
        "i": (ms_i - ms_ia - ms_ib + ms_iab) / (r * w * o),
        "a": (ms_a - ms_ia - ms_ab + ms_iab) / (r * n * o),
        "b": (ms_b - ms_ib - ms_ab + ms_iab) / (r * n * w),
        "i·a": (ms_ia - ms_iab) / (r * o),
        "i·b": (ms_ib - ms_iab) / (r * w),
        "a·b": (ms_ab - ms_iab) / (r * n),
        "i·a·b": (ms_iab - ms_e) / r,
        "noise": ms_e,
    }


# ---------------------------------------------------------------- what is published


def test_brennans_persons_by_items() -> None:
    found = named(cells(table(BRENNAN_1)[..., None]), "p", "i")
    np.testing.assert_allclose([found["p"], found["i"], found["p·i"]], [0.0574, 0.0754, 0.1269], atol=5e-5)


def test_brennans_persons_by_items_by_occasions() -> None:
    y = table(BRENNAN_3).reshape(10, 2, 4).swapaxes(1, 2)
    found = named(cells(y[..., None]), "p", "i", "o")
    published = {"p": 0.5528, "i": 0.4417, "o": 0.0074, "p·i": 0.5750, "p·o": 0.1009, "i·o": 0.1565, "p·i·o": 0.9352}
    np.testing.assert_allclose([found[name] for name in published], list(published.values()), atol=6e-5)


def test_brennans_raters_nested_in_tasks() -> None:
    y = table(BRENNAN_4)
    person, rater = (code.ravel().astype(np.int64) for code in np.indices(y.shape))
    codes = np.stack([person, rater // 4, rater], axis=1)
    found = named(cells_of(codes, person, y.ravel()), "p", "t", "r")
    # A rater stands with one task: r:t is the set of both.
    published = {"p": 0.4731, "t": 0.3252, "t·r": 0.6475, "p·t": 0.5596, "p·t·r": 2.3802}
    np.testing.assert_allclose([found[name] for name in published], list(published.values()), atol=6e-5)


# ---------------------------------------------------------------- other software


def drawn() -> tuple[Floats, Floats]:
    """The scores of tests/references/generalisability.R (60, 6, 6), and which of them it leaves out."""
    state = 20260101

    def bells(n: int) -> Floats:
        nonlocal state
        out = np.empty(n)
        for place in range(n):
            total = 0.0
            for _ in range(4):
                state = 16807 * state % 2147483647
                total += state / 2147483647
            out[place] = (total - 2) * np.sqrt(3)
        return out

    item, judge, order = bells(60), bells(6), bells(6)
    item_judge, item_order = bells(360).reshape(60, 6), bells(360).reshape(60, 6)
    judge_order = bells(36).reshape(6, 6)
    y = (
        item[:, None, None]
        + 0.5 * judge[None, :, None]
        + 0.4 * order[None, None, :]
        + 0.5 * item_judge[:, :, None]
        + 0.4 * item_order[:, None, :]
        + 0.3 * judge_order[None]
        + 0.5 * bells(2160).reshape(60, 6, 6)
    )
    place = np.arange(2160)
    return y, ((place * 7 + place // 11) % 6 != 0).reshape(60, 6, 6)


ORDER = ("item", "judge", "order", "item_judge", "item_order", "judge_order", "rest")
SETS = ("i", "j", "o", "i·j", "i·o", "j·o", "i·j·o")


def test_complete_scores_give_the_components_of_r() -> None:
    y, _ = drawn()
    frozen = FROZEN["complete"]
    assert y.sum() == pytest.approx(frozen["sum"], abs=1e-9)
    found = named(cells(y[..., None]), "i", "j", "o")
    np.testing.assert_allclose([found[one] for one in SETS], [frozen["aov"][one] for one in ORDER], atol=1e-10)
    # REML is the same estimate where none is below 0, as far as lme4's search goes.
    np.testing.assert_allclose([found[one] for one in SETS], [frozen["lmer"][one] for one in ORDER], rtol=2e-4)


def test_with_scores_missing_they_are_near_those_of_lme4() -> None:
    """Another unbiased estimate of the same components: near, not equal."""
    y, kept = drawn()
    frozen = FROZEN["missing"]
    assert int(kept.sum()) == frozen["n"]
    found = named(cells(y[..., None], kept[..., None]), "i", "j", "o")
    np.testing.assert_allclose([found[one] for one in SETS], [frozen["lmer"][one] for one in ORDER], atol=0.02)


def test_items_by_judges_are_those_of_statsmodels() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=(20, 1)) + 0.6 * rng.normal(size=(1, 6)) + 0.5 * rng.normal(size=(20, 6))
    item, judge = (code.ravel() for code in np.indices(y.shape))
    frame = pd.DataFrame({"y": y.ravel(), "item": item, "judge": judge, "all": 1})
    parts = {"item": "0 + C(item)", "judge": "0 + C(judge)"}
    fit = MixedLM.from_formula("y ~ 1", groups="all", vc_formula=parts, data=frame).fit()
    found = named(cells(y[..., None]), "i", "j")
    np.testing.assert_allclose([found["i"], found["j"], found["i·j"]], [*fit.vcomp, fit.scale], rtol=2e-3)


# ---------------------------------------------------------------- by hand and by brute force


def test_complete_data_give_the_estimates_of_the_analysis_of_variance() -> None:
    y = np.random.default_rng(0).normal(size=(7, 3, 4, 2)) + np.arange(7)[:, None, None, None] / 3
    found, expected = named(cells(y), "i", "a", "b"), anova(y)
    assert found.keys() == expected.keys()
    np.testing.assert_allclose(list(found.values()), [expected[name] for name in found], atol=1e-12)


def test_a_table_worked_by_hand() -> None:
    # Two items, two judges, each read twice. Reads 1, 1 | 2, 2 and 3, 3 | 4, 6.
    y = np.array([[[1.0, 1.0], [2.0, 2.0]], [[3.0, 3.0], [4.0, 6.0]]])
    found = named(cells(y), "i", "j")
    # Cell means 1, 2 | 3, 5. Noise: (0 + 0 + 0 + 2) / 4 = 0.5. Item means 1.5, 4, judges' 2, 3.5, grand 2.75:
    # MS item 4 x 2 x 1.5625 = 12.5, MS judge 4 x 2 x 0.5625 = 4.5, MS both 2 x 4 x 0.0625 = 0.5.
    assert found["noise"] == pytest.approx(0.5)
    assert found["i·j"] == pytest.approx((0.5 - 0.5) / 2)
    assert found["i"] == pytest.approx((12.5 - 0.5) / 4)
    assert found["j"] == pytest.approx((4.5 - 0.5) / 4)


def by_all_pairs(codes: np.ndarray[tuple[int, int], np.dtype[np.int64]], y: Floats) -> dict[frozenset[int], float]:
    """Components of crossed facets, each cell read once, from every pair of scores one by one."""
    kinds: dict[frozenset[int], list[float]] = {}
    for a, b in combinations(range(len(y)), 2):
        kinds.setdefault(frozenset(np.flatnonzero(codes[a] == codes[b]).tolist()), []).append((y[a] - y[b]) ** 2 / 2)
    mean = {shared: float(np.mean(values)) for shared, values in kinds.items()}
    facets = range(codes.shape[1])
    subsets = [frozenset(one) for size in range(len(facets) + 1) for one in combinations(facets, size)]
    # Moebius: a component is the alternating sum of what pairs differ by over the subsets of its facets.
    return {
        one: -sum((-1) ** (len(one) - len(part)) * mean.get(part, 0.0) for part in subsets if part <= one)
        for one in subsets[1:]
    }


def test_four_facets_with_half_the_scores_missing_are_those_of_all_pairs() -> None:
    rng = np.random.default_rng(6)
    y = rng.normal(size=(6, 3, 2, 3)) + np.arange(6)[:, None, None, None]
    keep = rng.random(y.shape) < 0.5
    codes = np.argwhere(keep).astype(np.int64)
    found = components(cells_of(codes, codes[:, 0], y[keep]))
    expected = by_all_pairs(codes, y[keep])
    assert len(found.sets) == 15
    np.testing.assert_allclose(found.variances[0, :-1], [expected[one] for one in found.sets], atol=1e-10)


def test_leaving_a_unit_out_is_leaving_its_scores_out() -> None:
    rng = np.random.default_rng(7)
    y, keep = rng.normal(size=(8, 3, 4, 2)), rng.random((8, 3, 4, 2)) < 0.7
    whole = components(cells(y, keep, unit=2))
    assert whole.units == 4
    for unit in range(4):
        without = keep.copy()
        without[2 * unit : 2 * unit + 2] = False
        np.testing.assert_allclose(whole.variances[1 + unit], components(cells(y, without)).variances[0], atol=1e-10)


def test_scores_are_compared_within_their_stratum() -> None:
    """Two criteria with items and judges of their own make: the mean of both, as each has as many pairs."""
    rng = np.random.default_rng(8)
    y = rng.normal(size=(2, 6, 3)) + rng.normal(size=(2, 6, 1)) + np.array([0.0, 50.0])[:, None, None]
    kind, item, judge = (code.ravel().astype(np.int64) for code in np.indices(y.shape))
    codes = np.stack([item + 6 * kind, judge], axis=1)
    found = components(cells_of(codes, codes[:, 0], y.ravel(), kind)).variances[0]
    each = [components(cells(one[..., None])).variances[0] for one in y]
    np.testing.assert_allclose(found[:-1], np.mean(each, axis=0)[:-1], atol=1e-10)


def test_without_repeats_noise_stays_in_the_rest() -> None:
    y = np.random.default_rng(1).normal(size=(8, 3, 4, 2))
    once, expected = named(cells(y[..., :1]), "i", "a", "b"), anova(y[..., :1])
    assert np.isnan(once["noise"])
    assert once["i·a·b"] == pytest.approx(expected["i·a·b"] + expected["noise"])
    assert once["a"] == pytest.approx(expected["a"])


def test_where_every_item_has_orders_of_its_own_the_order_is_one_part() -> None:
    rng = np.random.default_rng(2)
    n, w, own = 30, 3, 4
    y = rng.normal(size=(n, 1, 1)) + rng.normal(0, 0.5, (n, 1, own)) + rng.normal(0, 0.1, (n, w, own))
    item, judge, order = (code.ravel().astype(np.int64) for code in np.indices(y.shape))
    codes = np.stack([item, judge, order + own * item], axis=1)
    assert frozenset({2}) not in closed_sets(codes)
    found = named(cells_of(codes, item, y.ravel()), "i", "j", "o")
    assert found["i·o"] == pytest.approx(0.25, rel=0.3)
    assert found["i·j·o"] == pytest.approx(0.01, rel=0.3)
    assert found["j"] == pytest.approx(0.0, abs=0.01)


def test_a_judge_that_always_says_the_same_has_no_shares() -> None:
    found = shares(components(cells(np.full((12, 2, 3, 2), 4.0))))
    assert np.isnan(found).all()


def test_what_rests_on_one_unit_is_not_known() -> None:
    y, keep = np.random.default_rng(9).normal(size=(12, 3, 1, 2)), np.ones((12, 3, 1, 2), dtype=bool)
    keep[1:, :, :, 1] = False  # only the first item was read twice
    assert not components(cells(y[:, :, 0], keep[:, :, 0])).noisy


def test_codes_and_a_large_mean_do_not_matter() -> None:
    y = np.random.default_rng(3).normal(size=(9, 2, 3, 2))
    whole, moved = components(cells(y)), components(cells(y + 1e6))
    np.testing.assert_allclose(moved.variances, whole.variances, atol=1e-3)


# ---------------------------------------------------------------- planted components

SD = {"item": 0.8, "wording_item": 0.3, "order_item": 0.2, "rest": 0.2, "noise": 0.3}


def draw(
    rng: np.random.Generator, n: int, w: int, o: int, reads: int, *, sd: dict[str, float], fixed: tuple[Floats, Floats]
) -> Floats:
    """Scores with planted components; the wordings and orders are fixed, all else is drawn."""
    one = {
        "item": rng.normal(0, sd["item"], (n, 1, 1)),
        "wording_item": rng.normal(0, sd["wording_item"], (n, w, 1)),
        "order_item": rng.normal(0, sd["order_item"], (n, 1, o)),
        "rest": rng.normal(0, sd["rest"], (n, w, o)),
    }
    mean = 3.0 + fixed[0][None, :, None] + fixed[1][None, None, :] + sum(one.values())
    return np.asarray(mean[..., None] + rng.normal(0, sd["noise"], (n, w, o, reads)))


def spread(values: Floats, sd: float) -> Floats:
    """``values`` moved and stretched to a mean of 0 and this sd (ddof 1)."""
    centred = values - values.mean()
    return np.asarray(centred * sd / centred.std(ddof=1))


@pytest.mark.parametrize(("wordings", "missing"), [(3, 0.0), (2, 0.15)])
def test_planted_components_are_recovered_and_intervals_hold(wordings: int, missing: float) -> None:
    """Unbiased within four standard errors of the simulation, also with scores missing at random."""
    rng, reps, n, orders = np.random.default_rng(4), 60, 24, 6
    fixed = spread(rng.normal(size=wordings), 0.3), spread(rng.normal(size=orders), 0.2)
    true = np.array([0.64, 0.09, 0.04, 0.09, 0.04, 0.0, 0.04, 0.09])
    share = true / true.sum()
    estimates, covered = [], []
    for _ in range(reps):
        y = draw(rng, n, wordings, orders, 2, sd=SD, fixed=fixed)
        found = components(cells(y, rng.random(y.shape) >= missing))
        ends = np.array(share_intervals(found))
        estimates.append(found.variances[0])
        covered.append((ends[:, 0] <= share) & (share <= ends[:, 1]))
    error = np.std(estimates, axis=0, ddof=1) / np.sqrt(reps)
    assert (np.abs(np.mean(estimates, axis=0) - true) < 4 * error).all()
    # Nominally 0.95; measured 0.88 to 1.00 over ten settings, lowest for two wordings or skew items.
    assert (np.mean(covered, axis=0) > 0.84).all()


def test_many_units_are_left_out_in_groups_with_intervals_as_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    y = draw(rng, 400, 3, 4, 2, sd=SD, fixed=(np.zeros(3), np.zeros(4)))
    whole = components(cells(y))
    monkeypatch.setattr("rubriclab.stats.variance_components.DIRECT_LIMIT", 100)
    monkeypatch.setattr("rubriclab.stats.variance_components.GROUPS", 62)
    grouped = components(cells(y))
    np.testing.assert_allclose(shares(grouped), shares(whole))
    # 62 groups: their spread is known to about 10 %.
    widths = [np.diff(np.array(share_intervals(of)), axis=1)[[0, 3, 7], 0] for of in (grouped, whole)]
    np.testing.assert_allclose(widths[0], widths[1], rtol=0.35)


def test_shares_add_up_to_1_where_a_component_is_below_0_and_their_intervals_hold_them() -> None:
    rng, below = np.random.default_rng(11), 0
    for _ in range(40):
        found = components(
            cells(draw(rng, 15, 1, 4, 2, sd=SD | {"order_item": 0.0, "rest": 0.0}, fixed=(np.zeros(1), np.zeros(4))))
        )
        value, ends = shares(found), np.array(share_intervals(found))
        below += bool((found.variances[0] < 0).any())
        assert np.nansum(value) == pytest.approx(1.0)
        assert (value[found.variances[0] < 0] == 0).all()
        held = (ends[:, 0] <= value) & (value <= ends[:, 1])
        assert held[np.isfinite(value)].all()
    assert below > 10
