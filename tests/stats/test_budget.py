"""r by the number of reads averaged: the plain loop over subsets, and the page's own r where scores are missing."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from rubriclab.stats import budget
from rubriclab.stats.budget import budget_curve
from rubriclab.stats.human_correlation import ItemReads, r_with_humans
from rubriclab.stats.inference import Floats


@pytest.mark.parametrize("n", [0, 1])
def test_no_or_one_item_has_no_curve(n: int) -> None:
    assert budget_curve(np.full((n, 2), 3.0), np.full(n, 3.0)) == ()


@pytest.mark.parametrize("gap", [False, True])
def test_a_side_that_does_not_vary_has_no_r(gap: bool) -> None:
    constant, human = np.full((40, 3), 0.3), np.random.default_rng(0).normal(size=40)
    scores = human[:, None] + np.random.default_rng(1).normal(size=(40, 3))
    if gap:
        constant[0, 1] = scores[0, 1] = np.nan
    assert all(np.isnan(p.mean_r) for p in budget_curve(constant, human))
    assert all(np.isnan(p.mean_r) for p in budget_curve(scores, np.full(40, 0.1 + 0.2)))


def test_budget_curve_is_the_plain_loop_over_subsets() -> None:
    rng = np.random.default_rng(6)
    truth = rng.normal(size=80)
    scores = np.round(truth[:, None] + rng.normal(scale=1.5, size=(80, 6)))
    human = truth + rng.normal(size=80)
    for point in budget_curve(scores, human):
        rs = [np.corrcoef(scores[:, list(s)].mean(axis=1), human)[0, 1] for s in combinations(range(6), point.k)]
        assert point.subsets == len(rs)
        assert point.mean_r == pytest.approx(np.mean(rs))
        assert (point.low, point.high) == pytest.approx(tuple(np.quantile(rs, [0.025, 0.975])))


def test_budget_samples_when_subsets_are_many() -> None:
    rng = np.random.default_rng(7)
    truth = rng.normal(size=200)
    scores = truth[:, None] + rng.normal(scale=2, size=(200, 20))
    curve = budget_curve(scores, truth, seed=3)
    assert [p.subsets for p in curve][:3] == [20, 190, 1_024]
    assert curve[9].subsets == 1_024
    assert curve[-1].subsets == 1
    assert curve[-1].mean_r == pytest.approx(np.corrcoef(scores.mean(axis=1), truth)[0, 1])
    assert np.all(np.diff([p.mean_r for p in curve]) > 0)
    assert curve == budget_curve(scores, truth, seed=3)


def with_gaps(n: int, seed: int, *, poor: float) -> tuple[Floats, Floats]:
    """Ten reads an item, of which those of poor items are lost more often; one item has none."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    scores = truth[:, None] + rng.normal(scale=1.5, size=(n, 10))
    scores[rng.random(scores.shape) < np.where(truth < -0.3, poor, 0.1)[:, None]] = np.nan
    scores[0] = np.nan
    return scores, truth + rng.normal(size=n)


def test_where_scores_are_missing_all_reads_give_the_r_of_the_page() -> None:
    """Complete items alone gave 0.92 beside an r of 0.62: 6 of 30 items, and those another kind."""
    for seed in range(20):
        scores, human = with_gaps(60, seed, poor=0.5)
        some = np.isfinite(scores).any(axis=1)
        reads = ItemReads.of(scores[some], human[some], np.arange(int(some.sum())))
        curve = budget_curve(scores, human)
        assert curve[-1].mean_r == pytest.approx(r_with_humans(reads).value)
        assert curve[-1].subsets == 1


def test_with_gaps_it_is_the_plain_loop_over_subsets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "_AT_ONCE", 500)  # parts of a few subsets
    monkeypatch.setattr(budget, "FEWEST_SUBSETS", 1_024)
    scores, human = with_gaps(50, 3, poor=0.4)
    scores = scores[:, :4]
    for point in budget_curve(scores, human):
        rs = []
        for chosen in combinations(range(4), point.k):
            part = scores[:, list(chosen)]
            has = np.isfinite(part).any(axis=1)
            if point.k == 1:  # one score an item: all count alike
                rs.append(np.corrcoef(part[has, 0], human[has])[0, 1])
            else:
                count = np.isfinite(part[has]).sum(axis=1)
                between, within = components(scores)
                weight = 1.0 / (between + within / count)
                cov = np.cov(np.nanmean(part[has], axis=1), human[has], aweights=weight)
                rs.append(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))
        assert point.subsets == len(rs)
        assert point.mean_r == pytest.approx(np.mean(rs))


def components(scores: Floats) -> tuple[float, float]:
    """Between and within items by a one-way analysis of variance with unequal counts (Searle et al. 1992, 3.6)."""
    scores = scores[np.isfinite(scores).any(axis=1)]
    count = np.isfinite(scores).sum(axis=1)
    means, total = np.nanmean(scores, axis=1), count.sum()
    within = float(np.nansum((scores - means[:, None]) ** 2) / (total - len(scores)))
    spread = float(means.var(ddof=1))
    return max(spread - within * float((1.0 / count).mean()), 0.0), within


def test_the_curve_of_lost_reads_lies_where_as_many_reads_of_the_whole_do() -> None:
    """With a third lost at random, k reads agree no better than k whole ones, and no worse than half as many."""
    above, below = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = rng.normal(size=80)
        scores = truth[:, None] + rng.normal(scale=1.5, size=(80, 6))
        human = truth + rng.normal(size=80)
        whole = np.array([p.mean_r for p in budget_curve(scores, human)])
        lost = np.where(rng.random(scores.shape) < 1 / 3, np.nan, scores)
        found = np.array([p.mean_r for p in budget_curve(lost, human)])
        above.append(found - whole)
        below.append(found - whole[[0, 0, 0, 1, 1, 2]])
    for gaps, sign in ((above, 1), (below, -1)):
        mean, error = np.mean(gaps, axis=0), np.std(gaps, axis=0, ddof=1) / np.sqrt(40)
        assert (sign * mean < 3 * error).all()
