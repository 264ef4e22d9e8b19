"""Estimates, their rules and their differences: by hand, against scipy, by simulated coverage,
whatever pairing can do.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from rubriclab.core.estimate import (
    Estimate,
    Fisher,
    Opaque,
    Reach,
    Student,
    Wilson,
    average,
    jackknife,
    missing,
    plain,
    ratio,
    share,
    simultaneous,
    weighted,
)
from rubriclab.core.operations import contrast
from rubriclab.core.topic import MEASURES
from rubriclab.measures.position import v_interval
from tests.tables import balanced_orders, choose, criteria, findings, options

UNITS = np.arange(100, 160, dtype=np.uint64)


def test_a_ratio_is_the_mean_of_equal_bottoms_and_weighs_others() -> None:
    x = np.random.default_rng(0).normal(1, 2, 40)
    e = ratio(x, np.ones(40), UNITS[:40])
    reference = stats.ttest_1samp(x, 0).confidence_interval(0.9)
    assert (e.value, e.error) == pytest.approx((x.mean(), x.std(ddof=1) / np.sqrt(40)))
    assert e.interval(0.9) == pytest.approx(tuple(reference))
    # (2 + 3) / (1 + 4) = 1; residuals 2 - 1, 3 - 4, over the mean bottom 2.5.
    e = ratio(np.array([2.0, 3.0, 7.0]), np.array([1.0, 4.0, 0.0]), UNITS[:3])
    assert e.value == 1
    assert e.influence.tolist() == pytest.approx([1 / 2.5, -1 / 2.5])
    assert e.unit.tolist() == [100, 101]
    nothing = ratio(np.zeros(2), np.zeros(2), UNITS[:2])
    assert np.isnan(nothing.value)
    assert nothing.why == "nothing_parsed"


NONE_OF_20 = 1 - 0.025 ** (1 / 20)
"""At most so many of all would have moved: Clopper-Pearson of 0 in 20."""


@pytest.mark.parametrize(
    ("rule", "ends"),
    [
        (lambda moves: Student(step=1.0, moves=moves), (-NONE_OF_20, NONE_OF_20)),
        (lambda moves: Student(step=0.5, moves=moves, positive=True), (0.0, NONE_OF_20 / 2)),
        (lambda moves: Reach(8 / 3, moves), (-NONE_OF_20 * 8 / 3, NONE_OF_20 * 8 / 3)),
        # One unit up and one down: error = sqrt(2 x 0.5^2 / (20 x 19)).
        (
            lambda _: Student(least=0.5),
            tuple(stats.t.ppf(0.975, 19) * np.sqrt(0.5 / 380) * np.array([-1, 1])),
        ),
    ],
)
def test_units_that_all_agree_are_bounded_by_what_could_have_been(
    rule, ends: tuple[float, float]
) -> None:
    assert ratio(np.zeros(20), np.ones(20), UNITS[:20], rule).interval() == pytest.approx(ends)


def test_an_excess_never_ends_below_zero() -> None:
    spread = np.linspace(-0.01, 0.01, 12)
    assert Estimate(-0.5, spread, UNITS[:12], Student(beyond_noise=True)).interval()[1] == 0.0


def test_shares_are_wilsons_of_the_trials_that_clusters_are_worth() -> None:
    # Ten units of ten trials, all alike within: as ten trials; t's price makes it a little less.
    hits = np.array([10.0, 0, 10, 0, 10, 0, 10, 0, 10, 10])
    low, high = share(hits, np.full(10, 10.0), UNITS[:10]).interval()
    reference = stats.binomtest(6, 10).proportion_ci(method="wilson")
    assert low < reference.low
    assert high > reference.high
    assert share(hits, np.full(10, 10.0), UNITS[:10]).rule == Wilson(100.0, few=(True, True))
    none, every = (share(np.full(20, hits), np.full(20, 5.0), UNITS[:20]) for hits in (0.0, 5.0))
    assert (none.value, every.value) == (0, 1)
    assert none.interval()[0] == 0
    assert 0.1 < none.interval()[1] < 0.25
    assert every.interval() == pytest.approx((1 - none.interval()[1], 1))


def test_units_that_all_have_the_same_share_count_by_their_calls() -> None:
    """Ten of 50 calls in each of 15 units, as a deterministic judge makes them: 150 of 750."""
    even = share(np.full(15, 10.0), np.full(15, 50.0), UNITS[:15], balanced=True)
    reference = stats.binomtest(150, 750).proportion_ci(method="wilson")
    assert even.interval() == pytest.approx(tuple(reference))
    assert even.interval() == pytest.approx((0.173, 0.230), abs=5e-4)


@pytest.mark.parametrize("trials", [15, 30, 60])
def test_shares_of_single_trials_are_covered_near_the_ends_too(trials: int) -> None:
    hits = np.arange(trials) < np.arange(trials + 1)[:, None]
    low, high = np.transpose(
        [share(row * 1.0, np.ones(trials), UNITS[:trials]).interval() for row in hits]
    )
    for p in np.linspace(0.005, 0.5, 100):
        held = (low <= p) & (p <= high)
        assert stats.binom.pmf(np.arange(trials + 1), trials, p)[held].sum() > 0.93


@pytest.mark.parametrize("rare", [True, False])
def test_where_few_units_make_a_share_one_more_of_them_is_reckoned_with(rare: bool) -> None:
    # Two of 20 units make the hits (or misses): Student's end with one more unit of nothing else.
    hits = np.array([2.0, 1.0] + [0.0] * 18) if rare else np.array([3.0, 4.0] + [5.0] * 18)
    shares = np.append(hits / 5, float(rare))
    ends = stats.t.interval(0.95, 20, shares.mean(), stats.sem(shares))
    assert share(hits, np.full(20, 5.0), UNITS[:20]).interval()[rare] == pytest.approx(ends[rare])


def test_units_that_hardly_differ_are_worth_twice_their_trials_at_most() -> None:
    rule = Wilson(200.0, balanced=True, exact=True)
    reference = stats.binomtest(80, 400).proportion_ci(method="wilson")
    assert Estimate(0.2, np.tile([-1e-3, 1e-3], 10), UNITS[:20], rule).interval() == pytest.approx(
        tuple(reference)
    )


def test_a_mean_of_members_is_put_on_its_own_scale() -> None:
    # On log(1 - c), which has no lower end, the interval is as far up as down.
    wide = Estimate(-2.0, np.tile([-4.0, 4.0], 10), UNITS[:20], Fisher(members=3))
    low, high = wide.interval()
    assert low < -4
    assert (1 - low) * (1 - high) == pytest.approx(9.0)


def test_a_minus_b_is_paired_on_shared_units_and_adds_variances_of_others() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(0, 1, 30)
    y = x + rng.normal(0, 1, 30)  # what units share goes out
    a, b = (ratio(z, np.ones(30), UNITS[:30]) for z in (x, y))
    assert (a - b).value == pytest.approx((x - y).mean())
    assert (a - b).interval() == pytest.approx(
        tuple(stats.ttest_rel(x, y).confidence_interval(0.95))
    )
    other = ratio(y, np.ones(30), UNITS[30:])
    exact = np.sqrt(x.var(ddof=1) / 30 + y.var(ddof=1) / 30)
    assert (a - other).error == pytest.approx(
        exact, rel=0.03
    )  # n / (n - 1) of both together, not of each


def test_jackknife_of_a_mean_is_its_standard_error_and_leaves_out_what_bears_on_nothing() -> None:
    x, known = np.random.default_rng(1).normal(3, 1, (26, 1)), np.arange(26) < 25
    (e,) = jackknife(
        lambda top, n: top / n, (x * known[:, None], known[:, None] * 1.0), UNITS[:26], known=known
    )
    assert (e.value, e.units) == (pytest.approx(x[:25].mean()), 25)
    assert e.error == pytest.approx(x[:25].std(ddof=1) / 5)
    (alone,) = jackknife(lambda top, n: top / n, (x[:1], np.ones((1, 1))), UNITS[:1])
    assert alone.why == "too_few_units"


def test_simultaneous_level_of_independent_numbers_is_sidaks_and_of_one_twice_its_own() -> None:
    # Orthogonal influences: independent normal numbers. Sidak: 0.95^(1/8) = 0.99361.
    rows = np.linalg.qr(np.random.default_rng(0).normal(size=(200, 9)) - 0.0)[0].T
    estimates = [Estimate(0.0, row - row.mean(), np.arange(200)) for row in rows[:8]]
    assert simultaneous(estimates) == pytest.approx(0.95 ** (1 / 8), abs=0.001)
    x = np.random.default_rng(0).normal(size=(4, 30))
    mixed = np.random.default_rng(1).permutation(30)
    a = [Estimate(0.0, row - row.mean(), np.arange(30)) for row in x]
    b = [Estimate(0.0, (row - row.mean())[mixed], np.arange(500, 530)) for row in x]
    assert simultaneous(a) == simultaneous(b)
    assert simultaneous([a[0], a[0]]) == pytest.approx(0.95, abs=0.002)
    assert simultaneous([a[0]]) == simultaneous([]) == 0.95
    # At the level of a look: Sidak again, and Bonferroni where 20,000 draws say too little.
    assert simultaneous(estimates, level=0.98) == pytest.approx(0.98 ** (1 / 8), abs=0.001)
    assert simultaneous(estimates, level=0.999) == pytest.approx(1 - 0.001 / 8, abs=1e-9)
    assert simultaneous([a[0]], level=0.999) == 0.999


EVEN = np.full(4, 0.25)


@pytest.mark.parametrize(
    ("rule", "fewest", "interval"),
    [
        (Student(), 8, (0.0, 0.0)),
        (Opaque(lambda level: (0.0, level)), 8, (0.0, 0.95)),
        (Opaque(partial(v_interval, EVEN, np.tile(EVEN, (50, 1))), 10), 10, (0.0, 0.0)),
    ],
)
def test_fewer_units_than_the_rule_needs_have_no_interval(
    rule, fewest: int, interval: tuple[float, float]
) -> None:
    assert Estimate(0.0, np.zeros(fewest), UNITS[:fewest], rule).interval() == interval
    assert np.isnan(Estimate(0.0, np.zeros(fewest - 1), UNITS[: fewest - 1], rule).interval()).all()


def test_ends_of_a_sum_of_shares_are_made_of_theirs() -> None:
    """3 of 20 lists won, none lost, the others 1/4 each: the lower end also reaches for those that
    could have been lost.
    """
    won = share(np.repeat([1.0, 0.0], [3, 17]), np.ones(20), UNITS[:20])
    lost = share(np.zeros(20), np.ones(20), UNITS[:20])
    made = weighted(0.25, [(0.75, won), (-0.25, lost)])
    assert made.value == pytest.approx(0.25 + 0.75 * 0.15)
    below, above = 0.75 * (0.15 - won.interval()[0]), 0.25 * lost.interval()[1]
    assert made.interval()[0] == pytest.approx(made.value - np.hypot(below, above))
    assert made.interval()[1] == pytest.approx(made.value + 0.75 * (won.interval()[1] - 0.15))


def test_what_is_missing_stays_missing_of_a_difference_and_of_a_mean() -> None:
    """(1 + 3) / 2 over two units, each criterion's own deviations halved; with a third that has no
    number there is none.
    """
    names = np.array(["a", "b"])
    parts = [Estimate(value, np.array([-1.0, 1.0]), names, Student()) for value in (1.0, 3.0)]
    whole = average(parts, Student())
    assert (whole.value, list(whole.influence)) == (2.0, [-1.0, 1.0])
    assert average([*parts, missing("constant_side")], Student()).why == "constant_side"
    assert not np.isfinite(average([*parts, missing("constant_side")], Student()).value)
    nothing = ratio(np.arange(12.0), np.ones(12), UNITS[:12]) - missing("no_repeats")
    assert nothing.why == "no_repeats"
    assert np.isnan(
        [nothing.value, *nothing.interval(), missing("x").error, *plain(3.0, "maximum").interval()]
    ).all()


# -------------------------------------------------------------------------------------------- A - B
ORDERS = balanced_orders(3)
A = choose(np.random.default_rng(0), 20, ORDERS, first=1.0, repeats=2)
B = choose(np.random.default_rng(1), 20, ORDERS, repeats=2)
TEXTS = [f"text {i}" for i in range(20)]


@pytest.mark.parametrize(
    "table",
    [
        options(A, ORDERS),
        criteria(
            np.random.default_rng(0).integers(1, 6, (12, 8, 3)),
            [[0, 1, 2], [2, 0, 1], [1, 2, 0], [2, 1, 0]],
        ),
    ],
    ids=["options", "criteria"],
)
def test_a_minus_a_is_nothing_for_every_measure(table) -> None:
    rows = findings(table).rows
    differences = contrast(rows, rows)
    assert {row.measure for row in differences} == {
        row.measure for row in rows if MEASURES[row.measure].contrast and row.topic != "verdict"
    }
    for row in differences:
        if not row.estimate.why:
            assert (row.value, row.estimate.error) == (0.0, 0.0)
        assert (row.level, row.verdict, row.test) == (0.95, "", None)
        assert row.of["against"] == 0


def test_two_runs_pair_on_their_texts_whatever_their_order() -> None:
    mixed = np.random.default_rng(2).permutation(20)
    one = findings(options(A, ORDERS, unit_text=TEXTS)).rows
    same = findings(options(B, ORDERS, unit_text=TEXTS)).rows
    other = findings(options(B[mixed], ORDERS, unit_text=[TEXTS[k] for k in mixed])).rows
    for x, y in zip(contrast(one, same), contrast(one, other), strict=True):
        assert x.estimate.units == y.estimate.units
        if not x.estimate.why:
            assert (x.value, x.estimate.error) == pytest.approx((y.value, y.estimate.error))


def test_conditions_of_a_run_are_held_against_each_other_and_runs_condition_by_condition() -> None:
    found = findings(options(A, ORDERS, fixed=B[:, :4]))
    differences = contrast(*([row for row in found.rows if row.condition == k] for k in (0, 1)))
    assert {row.of["against"] for row in differences} == {1}
    (share,) = [r for r in differences if r.measure == "score_share" and r.of["score"] == 3]
    assert share.value == pytest.approx((A == 3).mean() - (B[:, :4] == 3).mean())
    other = findings(options(B, ORDERS, fixed=A[:, :4]))
    pairs = {(row.condition, row.of["against"]) for row in contrast(found.rows, other.rows)}
    assert pairs == {(0, 0), (1, 1)}


def test_runs_without_common_units_are_independent_and_rows_of_one_left_out() -> None:
    one = findings(options(A, ORDERS, unit_text=TEXTS)).rows
    other = findings(options(B, ORDERS, unit_text=[f"other {i}" for i in range(20)])).rows
    (row,) = [row for row in contrast(one, other, "run B") if row.measure == "line"]
    assert (row.estimate.units, row.of["against"]) == (40, "run B")
    rows = findings(options(A, ORDERS)).rows
    assert contrast(rows, []) == []
    moved = [
        replace(row, of={**row.of, "position": 9})
        for row in rows
        if row.measure == "position_share"
    ]
    assert contrast(rows, moved) == []
