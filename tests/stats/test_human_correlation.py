"""r at equal numbers of reads: thinning done by hand, Fisher's own interval, coverage, missing."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats as sp

from rubriclab.stats.human_correlation import (
    ItemReads,
    below_by_chance,
    difference,
    gain,
    r_with_humans,
    rho_with_humans,
    weights,
)

NAN = np.nan


def reads_of(scores: np.ndarray, human: np.ndarray, unit: np.ndarray | None = None) -> ItemReads:
    return ItemReads.of(scores, human, np.arange(len(human)) if unit is None else unit)


def judge(quality: np.ndarray, reads: int, rng: np.random.Generator, lean: float = 0.0):
    """A latent-trait judge: discretised logistic, items' leanings drawn from a t distribution."""
    own = lean * rng.standard_t(4, (len(quality), 1))
    trait = quality[:, None] + own + 0.7 * rng.logistic(size=(len(quality), reads))
    return np.clip(np.round(3 + trait), 1, 5)


def study(items: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    quality = rng.normal(size=items)
    human = np.clip(np.round(3 + quality[:, None] + rng.normal(size=(items, 3))), 1, 5).mean(axis=1)
    return quality, human


def test_r_and_rho_are_scipys_where_all_was_read() -> None:
    rng = np.random.default_rng(0)
    quality, human = study(40, rng)
    scores = judge(quality, 5, rng)
    reads = reads_of(scores, human)
    assert r_with_humans(reads).value == pytest.approx(sp.pearsonr(scores.mean(axis=1), human)[0])
    rho = rho_with_humans(reads)
    assert rho.value == pytest.approx(sp.spearmanr(scores.mean(axis=1), human).statistic)
    for k in (0, 17):
        rest = np.arange(40) != k
        mean, rated = scores[rest].mean(axis=1), human[rest]
        assert rho.without[k] == pytest.approx(sp.spearmanr(mean, rated).statistic)
        assert r_with_humans(reads).without[k] == pytest.approx(sp.pearsonr(mean, rated)[0])


def test_fewer_reads_are_the_mean_over_all_choices_of_them() -> None:
    rng = np.random.default_rng(1)
    quality, human = study(400, rng)
    scores = judge(quality, 6, rng)
    for k in (1, 2, 3, 6):
        chosen = [scores[:, list(pick)].mean(axis=1) for pick in combinations(range(6), k)]
        by_hand = np.mean([np.corrcoef(mean, human)[0, 1] for mean in chosen])
        assert r_with_humans(reads_of(scores, human), at=k).value == pytest.approx(by_hand, abs=3e-3)


def test_the_interval_is_fishers_for_normal_data() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.multivariate_normal([0, 0], [[1, 0.7], [0.7, 1]], 400).T
    found = r_with_humans(reads_of(x[:, None], y)).r_interval()
    theirs = sp.pearsonr(x, y).confidence_interval()
    assert found == pytest.approx((theirs.low, theirs.high), abs=0.012)


def test_rho_of_many_items_is_linearised(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    quality, human = study(300, rng)
    reads = reads_of(judge(quality, 4, rng), human, np.arange(300) // 3)
    anew = rho_with_humans(reads)
    monkeypatch.setattr("rubriclab.stats.human_correlation.RANKED", 10)
    linear = rho_with_humans(reads)
    assert linear.value == pytest.approx(anew.value)
    assert linear.se == pytest.approx(anew.se, rel=0.05)


def test_equal_strategies_do_not_differ_and_few_units_have_no_interval() -> None:
    rng = np.random.default_rng(4)
    quality, human = study(30, rng)
    one = r_with_humans(reads_of(judge(quality, 3, rng), human))
    assert difference(one, one) == (0.0, (0.0, 0.0), 1.0)
    few = r_with_humans(reads_of(judge(quality, 3, rng), human, np.arange(30) % 4))
    assert np.isnan(few.r_interval()).all()
    assert np.isnan(difference(few, few).p)
    assert np.isnan(r_with_humans(reads_of(np.ones((30, 2)), human)).value)
    assert np.isnan(r_with_humans(reads_of(np.ones((1, 2)), human[:1])).value)


def test_p_and_interval_agree_on_zero() -> None:
    rng = np.random.default_rng(5)
    for lean in (0.0, 1.5):
        for _ in range(40):
            quality, human = study(40, rng)
            a = r_with_humans(reads_of(judge(quality, 4, rng), human))
            b = r_with_humans(reads_of(judge(quality, 4, rng, lean), human))
            found = difference(a, b)
            assert (found.p < 0.05) == (found.ci.low > 0 or found.ci.high < 0)


@pytest.mark.slow
@pytest.mark.parametrize("items", [15, 60])
def test_one_fixed_read_against_ten_does_not_look_like_a_gain(items: int) -> None:
    """No effect of the order at all: the raw difference is positive in nearly every study."""
    rng = np.random.default_rng(6)
    raw = rejected = covered = 0
    truth = np.corrcoef(*_many(rng))[0, 1]
    for _ in range(400):
        quality, human = study(items, rng)
        many, one = judge(quality, 10, rng), judge(quality, 1, rng)
        a, b = reads_of(many, human), reads_of(one, human)
        raw += r_with_humans(a).value > r_with_humans(b).value
        rejected += difference(r_with_humans(a, at=1), r_with_humans(b)).p < 0.05
        ci = r_with_humans(a).r_interval()
        covered += ci.low <= truth <= ci.high
    assert raw / 400 > 0.9
    assert 0.02 < rejected / 400 < 0.085
    assert 0.92 < covered / 400 < 0.98


def _many(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    quality, human = study(200_000, rng)
    return judge(quality, 10, rng).mean(axis=1), human


def test_more_reads_of_one_arm_raise_r_by_what_noise_costs() -> None:
    rng = np.random.default_rng(7)
    quality, human = study(300, rng)
    reads = reads_of(judge(quality, 10, rng), human)
    found = gain(r_with_humans(reads), r_with_humans(reads, at=1))
    assert found.interval().low > 0.05
    assert found.interval().low < found.value < found.interval().high


def test_unread_replies_do_not_drop_items() -> None:
    """8 % unread, on the poor items above all; only complete cases were kept, and r fell."""
    rng = np.random.default_rng(8)
    quality, human = study(20_000, rng)
    scores = judge(quality, 10, rng)
    whole = np.corrcoef(scores.mean(axis=1), human)[0, 1]
    lost = rng.random(scores.shape) < np.where(human < 2.5, 0.25, 0.01)[:, None]
    seen = np.where(lost, NAN, scores)
    complete = ~lost.any(axis=1)
    old = np.corrcoef(scores[complete].mean(axis=1), human[complete])[0, 1]
    kept = ~lost.all(axis=1)
    found = r_with_humans(reads_of(seen[kept], human[kept])).value
    assert whole - old > 0.03
    assert found == pytest.approx(whole, abs=0.012)  # fewer reads, more noise


def test_an_item_with_fewer_reads_counts_for_less() -> None:
    rng = np.random.default_rng(9)
    quality, human = study(500, rng)
    scores = judge(quality, 10, rng)
    scores[:100, 1:] = NAN
    weight = weights(reads_of(scores, human))
    assert weight[100:] == pytest.approx(1.0)
    assert 0.2 < weight[0] < 0.8
    assert (weights(reads_of(scores[100:], human[100:])) == 1).all()


@pytest.mark.parametrize("per_unit", [1, 2])
def test_a_judge_that_nearly_always_gives_one_score_is_below_by_chance_as_often_as_chance_has_it(per_unit: int) -> None:
    """The jackknife alone says so of 3.6 to 5.9 % of such judges, which read nothing (promised: 2.5 %)."""
    rng, units, p = np.random.default_rng(per_unit), 60 // per_unit, []
    for _ in range(300):
        quality = np.repeat(rng.normal(size=units), per_unit)
        people = np.clip(np.round(3.6 + 0.9 * quality[:, None] + rng.normal(size=(60, 3))), 1, 5).mean(axis=1)
        scores = rng.choice([1.0, 4.0, 5.0], p=[0.04, 0.08, 0.88], size=(60, 1))
        reads = ItemReads.of(scores, people, np.repeat(np.arange(units), per_unit))
        p.append(below_by_chance(reads, draws=200))
    # 0.025 and 0.25, with three errors of 300 studies.
    assert np.mean(np.array(p) <= 0.025) <= 0.025 + 3 * np.sqrt(0.025 * 0.975 / 300)
    assert np.mean(np.array(p) <= 0.25) == pytest.approx(0.25, abs=3 * np.sqrt(0.25 * 0.75 / 300))
    against = ItemReads.of(np.where(people < 3.5, 5.0, 4.0)[:, None], people, np.repeat(np.arange(units), per_unit))
    assert below_by_chance(against) < 0.001
