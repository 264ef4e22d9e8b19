"""Votes that err together: numbers by hand, another library's answers, and every draw of orders one by one."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import linregress, pearsonr

from rubriclab.stats import jury
from tests.juries import Planted, scores_of

UNIT = np.arange(40)


def made(judges: int = 3, items: int = 40, **planted: float) -> tuple[np.ndarray, np.ndarray]:
    score, human = scores_of(Planted(judges=judges, **planted), items, np.random.default_rng(4))  # type: ignore[arg-type]
    return score[:, :, :4], human


def mean_of_votes(within: float, same: float, other: float, k: int, m: int) -> float:
    """Kish's effective number by hand: k judges in the same m orders."""
    return k * m / (1 + (m - 1) * within + (k - 1) * same + (k - 1) * (m - 1) * other)


def test_a_mean_of_two_of_four_orders_varies_as_by_hand() -> None:
    # 1 2 3 4: S² = 5/3, and of two of four (5/3)(1/2 - 1/4) = 5/12; the six means are 1.5 2 2.5 2.5 3 3.5.
    line = np.array([[[1.0, 2.0, 3.0, 4.0]]])
    assert jury.drawn_variance(line, 2, shared=False)[0] == pytest.approx(5 / 12)
    assert np.var([1.5, 2, 2.5, 2.5, 3, 3.5]) == pytest.approx(5 / 12)
    # A judge that errs the other way round: in the same orders nothing is left, in orders of its own half.
    both = np.concatenate([line, line[:, :, ::-1]], axis=1)
    assert jury.drawn_variance(both, 2, shared=True)[0] == 0.0
    assert jury.drawn_variance(both, 2, shared=False)[0] == pytest.approx(5 / 24)


@pytest.mark.parametrize("shared", [True, False])
def test_a_mix_varies_as_all_its_draws_do(shared: bool) -> None:
    scores, _ = made(judges=2, order=0.5)
    sets = list(combinations(range(4), 2))
    draws = [(s, s) for s in sets] if shared else list(product(sets, sets))
    means = [np.stack([scores[:, j, list(s)] for j, s in enumerate(draw)]).mean(axis=(0, 2)) for draw in draws]
    np.testing.assert_allclose(jury.drawn_variance(scores, 2, shared=shared), np.var(means, axis=0))


def test_effective_votes_are_kish_s_by_the_correlations() -> None:
    scores, human = made(order=0.6, text=0.3)
    errors = jury.from_people(scores - scores.mean(axis=0), human)
    r = jury.correlations(errors, UNIT, aligned=True)
    for k_orders in (1, 2, 3, 4):
        by_hand = mean_of_votes(r.within.value, r.same.value, r.other.value, 3, k_orders)
        assert jury.effective_votes(errors, k_orders, shared=True) == pytest.approx(by_hand)


def test_five_judges_that_correlate_by_a_half_are_worth_five_thirds() -> None:
    assert mean_of_votes(1.0, 0.5, 0.5, 5, 1) == pytest.approx(5 / 3)


def test_order_errors_correlate_as_numpy_says() -> None:
    scores, _ = made(order=0.6)
    errors = jury.order_errors(scores - scores.mean(axis=0))
    by_numpy = np.corrcoef(errors[:, 0].ravel(), errors[:, 2].ravel())[0, 1]
    assert jury.order_correlation(errors, UNIT, 0, 2).value == pytest.approx(by_numpy)
    # Of all pairs together: the mean covariance over the mean variance.
    cov = np.cov(errors.transpose(1, 0, 2).reshape(3, -1), bias=True)
    together = cov[~np.eye(3, dtype=bool)].mean() / cov.diagonal().mean()
    assert jury.mean_order_correlation(errors, UNIT).value == pytest.approx(together)


def test_intraclass_correlations_are_those_of_all_pairs_of_reads() -> None:
    errors, _ = made(items=12)
    pairs: dict[str, list[float]] = {"within": [], "same": [], "other": []}
    for (j, o), (k, p) in product(product(range(3), range(4)), repeat=2):
        if (j, o) != (k, p):
            kind = "within" if j == k else "same" if o == p else "other"
            pairs[kind].append(float((errors[:, j, o] * errors[:, k, p]).mean()))
    found = jury.correlations(errors, np.arange(12), aligned=True)
    for kind, values in pairs.items():
        assert getattr(found, kind).value == pytest.approx(np.mean(values) / (errors**2).mean())
    apart = jury.correlations(errors, np.arange(12), aligned=False)
    assert np.isnan(apart.same.value)
    assert apart.other.value == pytest.approx(np.mean(pairs["same"] + pairs["other"]) / (errors**2).mean())


def test_a_line_and_its_loss_are_those_of_least_squares() -> None:
    scores, human = made()
    mean, none = scores.mean(axis=(1, 2)), np.zeros(40)
    line, left = jury.line_of(mean, none, human)
    by_scipy = linregress(mean, human)
    assert line.slope == pytest.approx(by_scipy.slope)
    assert left == pytest.approx((1 - by_scipy.rvalue**2) * human.var())
    np.testing.assert_allclose(jury.losses(line, mean, none, human).mean(), left)
    # A judge that scores the worse texts higher is not turned round: its line is flat.
    assert jury.line_of(-mean, none, human)[0].slope == 0.0


def test_what_is_lost_is_the_mean_over_all_draws() -> None:
    scores, human = made(judges=1)
    mean, variance = scores.mean(axis=(1, 2)), jury.drawn_variance(scores, 2, shared=False)
    line, _ = jury.line_of(mean, variance, human)
    draws = [scores[:, 0, list(pair)].mean(axis=1) for pair in combinations(range(4), 2)]
    lost = np.mean([(human - line.target - line.slope * (draw - line.mean)) ** 2 for draw in draws], axis=0)
    np.testing.assert_allclose(jury.losses(line, mean, variance, human), lost)


def test_r_is_pearson_s_and_is_lower_for_fewer_orders() -> None:
    scores, human = made()
    mean, none = scores.mean(axis=(1, 2)), np.zeros(40)
    whole = jury.r_of(mean, none, human, UNIT)
    assert whole.value == pytest.approx(pearsonr(mean, human).statistic)
    assert whole.without[7] == pytest.approx(pearsonr(np.delete(mean, 7), np.delete(human, 7)).statistic)
    one = jury.r_of(mean, jury.drawn_variance(scores, 1, shared=False), human, UNIT).value
    assert one < whole.value


@pytest.mark.slow
def test_intervals_of_order_correlations_hold() -> None:
    planted = Planted(judges=2, order=0.5)  # noise 0.09 beside 0.16: 0.5 * 0.16 / 0.25 = 0.32
    held = 0
    for seed in range(300):
        score, _ = scores_of(planted, 40, np.random.default_rng(seed))
        low, high = jury.order_correlation(jury.order_errors(score), UNIT, 0, 1).r_interval()
        held += low < 0.32 < high
    assert 0.92 < held / 300 < 0.98
