"""Rows about people: by hand and by other libraries, planted effects and none, few people, other
scales.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as sp

from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import TOPICS, Row
from rubriclab.measures.alt_test import SINGLE
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import ReadingPart
from tests.tables import ORDERS, criteria, findings, options, row_of, rows_of, study

PEOPLE = ("people", "agreement", "alt_test", "corrected_means")
rng = np.random.default_rng


def people(values: np.ndarray) -> list[dict[str, float]]:
    return [
        {f"rater {k}": x for k, x in enumerate(row) if np.isfinite(x)}
        for row in np.asarray(values).tolist()
    ]


def rated_as(table: JudgmentTable, ratings: list[dict[str, float]]) -> JudgmentTable:
    return replace(table, items=table.items.assign(ratings=ratings))


def given(table: JudgmentTable) -> tuple[np.ndarray, np.ndarray]:
    """(scores (items, calls) of the first condition, ratings (items, raters)) of a table without
    gaps.
    """
    rows = table.rows[table.rows["condition"] == 0]
    ratings = np.array([list(one.values()) for one in table.items["ratings"]])
    return rows["score"].to_numpy().reshape(len(ratings), -1), ratings


def kinds(table: JudgmentTable, topic: str = "people") -> set[str]:
    return {caution.kind for caution in rows_of(table, topic)[1]}


@pytest.mark.parametrize("topic", PEOPLE)
def test_without_ratings_there_is_nothing_at_all(topic: str) -> None:
    assert (
        list(
            TOPICS[topic].rows(Judgments(options(rng(0).integers(1, 6, (20, 20)), ORDERS)).arms[0])
        )
        == []
    )


# ------------------------------------------------------------------------------------- correlations
def test_correlations_are_scipys() -> None:
    table = study(rng(1), 40)
    score, rating = given(table)
    x, y = score.mean(axis=1), rating.mean(axis=1)
    assert row_of(table, "people", "pearson").value == pytest.approx(sp.pearsonr(x, y)[0])
    assert row_of(table, "people", "spearman").value == pytest.approx(sp.spearmanr(x, y).statistic)
    assert row_of(table, "people", "kendall").value == pytest.approx(sp.kendalltau(x, y)[0])
    difference = row_of(table, "people", "mean_difference")
    assert difference.value == pytest.approx(np.mean(x - y))
    assert difference.interval == pytest.approx(
        tuple(sp.ttest_1samp(x - y, 0).confidence_interval())
    )
    others = [
        np.corrcoef(rating[:, k], np.delete(rating, k, 1).mean(axis=1))[0, 1] for k in range(3)
    ]
    assert row_of(table, "people", "people_pearson").value == pytest.approx(np.mean(others))


@pytest.mark.papers(24)
def test_the_budget_ends_at_all_orders_and_each_order_asked_twice_makes_two_rounds() -> None:
    table = study(rng(3), 60)
    rows = [row for row in rows_of(table, "people")[0] if row.measure == "budget_pearson"]
    assert [row.of["calls"] for row in rows] == list(range(1, 11))
    assert np.all(np.diff([row.value for row in rows]) > 0)
    whole = row_of(table, "people", "pearson")
    assert (rows[-1].value, *rows[-1].interval) == pytest.approx((whole.value, *whole.interval))
    table = study(rng(4), 40, calls=20)
    score, rating = given(table)
    every = [np.corrcoef(score[:, k], rating.mean(axis=1))[0, 1] for k in range(20)]
    budget = row_of(table, "people", "budget_pearson", calls=1)
    assert (budget.value, budget.counts["subsets"]) == (pytest.approx(np.mean(every)), 20)
    assert max(row.of.get("calls", 0) for row in rows_of(table, "people")[0]) == 10


@pytest.mark.papers(19, 21)
def test_single_orders_are_ranked_by_their_r() -> None:
    table = study(rng(5), 60)
    score, rating = given(table)
    every = np.array([np.corrcoef(score[:, k], rating.mean(axis=1))[0, 1] for k in range(10)])
    rows = {(row.measure, row.of.get("order")): row for row in rows_of(table, "people")[0]}
    orders = [" ".join(map(str, shown)) for shown in ORDERS.tolist()]
    assert [rows["order_pearson", order].value for order in orders] == pytest.approx(every)
    assert all(rows["order_pearson", order].level > 0.95 for order in orders)
    assert [rows["order_rank", order].value for order in orders] == sp.rankdata(
        -every, method="min"
    ).tolist()


@pytest.mark.papers(5, 23)
def test_strategies_are_compared_at_equal_calls_on_the_same_items() -> None:
    """Ten orders against three calls in one: three of each, of a judge that does not care; its row
    names the other one.
    """
    table = study(rng(6), 50, fixed=3, noise=1.0)
    row = row_of(table, "people", "pearson_difference", calls=3, against=1)
    fixed = row_of(table, "people", "pearson", condition=1)
    assert row.value == pytest.approx(
        row_of(table, "people", "budget_pearson", calls=3).value - fixed.value
    )
    assert row.interval[0] < 0 < row.interval[1]
    assert not [
        one for one in rows_of(table, "people", 1)[0] if one.measure == "pearson_difference"
    ]


@pytest.mark.papers(34)
def test_several_criteria_have_one_each_and_their_mean() -> None:
    level = rng(7).normal(3, 1, (30, 1, 3))
    score = np.clip(np.rint(level + rng(8).normal(0, 0.6, (30, 6, 3))), 1, 5)
    shown = [[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [1, 0, 2], [0, 2, 1]]
    rating = np.clip(np.rint(level[:, 0].ravel()[:, None] + rng(9).normal(0, 0.7, (90, 2))), 1, 5)
    table = rated_as(criteria(score, shown), people(rating))
    by_hand = [
        np.corrcoef(score[:, :, k].mean(axis=1), rating.mean(axis=1)[k::3])[0, 1] for k in range(3)
    ]
    for name, r in zip(("clarity", "depth", "style"), by_hand, strict=True):
        assert row_of(table, "people", "pearson", target=name).value == pytest.approx(r)
    macro = row_of(table, "people", "pearson")
    assert (macro.value, macro.estimate.units) == (pytest.approx(np.mean(by_hand)), 30)
    every = row_of(table, "people", "budget_pearson", calls=6)
    assert every.value == pytest.approx(macro.value)
    # One subset has all six orders, so the band of the mean closes on the mean.
    assert every.counts["band"] == pytest.approx([macro.value, macro.value])
    single = [
        np.mean(
            [np.corrcoef(score[:, order, k], rating.mean(axis=1)[k::3])[0, 1] for k in range(3)]
        )
        for order in range(6)
    ]
    one = row_of(table, "people", "budget_pearson", calls=1)
    assert one.counts["band"] == pytest.approx(np.quantile(single, [0.025, 0.975]))
    assert np.isfinite(macro.interval).all()


@pytest.mark.papers(66)
def test_another_judge_is_a_yardstick_on_the_items_that_both_scored() -> None:
    table = study(rng(23), 40, fixed=4)
    score, _ = given(table)
    rows = table.rows[(table.rows["condition"] == 0) | (table.rows["item"] < 30)]
    other = rows[rows["condition"] == 1]["score"].to_numpy().reshape(30, 4)
    conditions = (table.conditions[0], replace(table.conditions[1], judge="golden"))
    table = replace(table, conditions=conditions, rows=rows)
    x, y = score[:30].mean(axis=1), other.mean(axis=1)
    assert row_of(table, "people", "pearson", against=1).value == pytest.approx(
        np.corrcoef(x, y)[0, 1]
    )
    assert row_of(table, "people", "spearman", 1, against=0).value == pytest.approx(
        sp.spearmanr(x, y).statistic
    )
    alike = (score[:30, :, None] == other[:, None, :]).mean()
    exact = row_of(table, "agreement", "exact", side="judges", against=1)
    assert (exact.value, exact.counts["n"]) == (pytest.approx(alike), 30)
    alone = rated_as(table, [{}] * 40)
    assert row_of(alone, "people", "pearson", against=1).value == pytest.approx(
        np.corrcoef(x, y)[0, 1]
    )
    assert not rows_of(alone, "alt_test")[0]


# ------------------------------------------------------------------------------- few and odd people
def test_few_units_one_rater_and_other_scales_are_said() -> None:
    assert {"few_rated", "one_rater"} <= kinds(study(rng(10), 7, raters=1))
    assert not kinds(study(rng(10), 30))
    for items, raters, measure, why in (
        (60, 2, "alt_winning_rate", "few_raters"),
        (14, 3, "alt_advantage", "few_raters"),
        (60, 1, "alt_advantage", "one_rating"),
    ):
        assert (
            row_of(study(rng(20), items, raters=raters), "alt_test", measure, protocol=SINGLE).why
            == why
        )
    table = study(rng(11), 30)
    table = rated_as(
        table, [{name: 20 * x for name, x in ratings.items()} for ratings in table.items["ratings"]]
    )
    assert "other_scale" in kinds(table)
    assert row_of(table, "people", "mean_difference").why == "other_scale"
    assert np.isfinite(row_of(table, "people", "pearson").interval).all()
    assert row_of(table, "agreement", "exact", side="single").why == "other_scale"
    assert {row.why for topic in PEOPLE[2:] for row in rows_of(table, topic)[0]} == {"other_scale"}


def test_a_crowd_is_not_spoken_of_by_name() -> None:
    named = study(rng(13), 60)
    crowd = [
        {f"worker {3 * i + k}": v for k, v in enumerate(r.values())}
        for i, r in enumerate(named.items["ratings"])
    ]
    table = rated_as(named, crowd)
    assert row_of(table, "people", "pearson").value == pytest.approx(
        row_of(named, "people", "pearson").value
    )
    assert "many_raters" in kinds(table, "alt_test")
    assert not [row for row in rows_of(table, "alt_test")[0] if row.measure == "alt_wins"]


# ---------------------------------------------------------------------------------------- agreement
def test_agreement_by_hand_on_three_sides() -> None:
    """One call and one rating: 8 of 12 alike; raters 9 of 12; two calls of an order 10 of 12."""
    first = np.array([1, 1, 1, 2, 2, 2, 1, 2, 1, 2, 1, 2.0])
    again, one, other = first.copy(), first.copy(), first.copy()
    again[[0, 3]] = 3 - again[[0, 3]]
    one[[1, 4]] = 3 - one[[1, 4]]
    other[[2]] = 3 - other[[2]]
    table = options(
        np.stack([first, again], axis=1),
        [[1, 2]],
        [0, 0],
        ratings=people(np.stack([one, other], axis=1)),
    )
    # Calls with ratings, four pairs an item: 2 x (4 - 2) of items 0, 3, 1, 4, 2 are alike by half,
    # all others are.
    assert row_of(table, "agreement", "exact", side="single").value == pytest.approx(
        (7 + 5 / 2) / 12
    )
    assert row_of(table, "agreement", "exact", side="people").value == pytest.approx(9 / 12)
    assert row_of(table, "agreement", "exact", side="repeats").value == pytest.approx(10 / 12)
    # Differences of +-1 in 3 of 12 items: limits 1.96 sqrt(1/4).
    assert row_of(table, "agreement", "limit_high", side="people").value == pytest.approx(
        1.959964 / 2
    )
    assert row_of(table, "agreement", "limit_low", side="repeats").value == pytest.approx(
        -1.959964 * np.sqrt(2 / 12)
    )
    shares = [row.value for row in rows_of(table, "agreement")[0] if row.measure == "confusion"]
    assert sum(shares) == pytest.approx(1.0)


def test_full_agreement_is_not_certain_few_rare_values_and_many_values_have_no_interval() -> None:
    score = np.tile([[1.0], [2], [3], [4], [5]], (6, 2))
    table = options(score, ORDERS[:1], [0, 0], ratings=people(score))
    kappa = row_of(table, "agreement", "kappa", side="single")
    # Thirty of thirty alike: Wilson's share reaches down to 0.886, kappa to 2 x 0.886 - 1.
    assert (kappa.value, *kappa.interval) == pytest.approx((1.0, 0.773, 1.0), abs=1e-3)
    score = np.where(np.arange(60)[:, None] < 4, 2.0, 4.0)
    rare = options(score, ORDERS[:1], [0], ratings=people(score))
    assert row_of(rare, "agreement", "kappa", side="single").why == "few_outside"
    table = options(score, ORDERS[:1], [0], ratings=people(score - rng(15).random((60, 1))))
    assert row_of(table, "agreement", "kappa", side="single").why == "many_values"
    assert np.isfinite(row_of(table, "agreement", "limit_low", side="single").value)


# ------------------------------------------------------------------- replacing a rater, few ratings


def test_the_reading_says_what_cheaper_is_worth_and_what_passes() -> None:
    """A somewhat worse judge: at epsilon 0.15 no rater may go, at 0.5 all; scores of 4 and more
    pass.
    """
    table = study(rng(24), 80, link=0.9)
    score, rating = given(table)
    found = findings(table, reading=ReadingPart(epsilon=0.5, cut=4))
    row = found.select("alt_winning_rate", protocol=SINGLE)[0]
    assert (row.value, row.counts["epsilon"]) == (1.0, 0.5)
    assert row_of(table, "alt_test", "alt_winning_rate", protocol=SINGLE).value == 0.0
    assert found.select("judge_pass", cut=4.0)[0].value == pytest.approx((score >= 4).mean())
    assert found.select("corrected_pass")[0].value == pytest.approx(
        (rating.mean(axis=1) >= 4).mean()
    )


def test_a_biased_judge_is_corrected_by_few_ratings_and_its_error_named() -> None:
    table = study(rng(21), 400, calls=1)
    truth = np.mean([list(r.values()) for r in table.items["ratings"]])
    few = [{}] * len(table.items)
    few[::5] = table.items["ratings"].tolist()[::5]  # every fifth item is rated
    score = np.clip(table.rows["score"] + 1.0, 1, 5)
    table = replace(rated_as(table, few), rows=table.rows.assign(score=score))
    judge, rated, corrected, bias = (
        row_of(table, "corrected_means", name)
        for name in ("judge_mean", "rated_mean", "corrected_mean", "corrected_bias")
    )
    assert judge.interval[0] > truth + 0.3
    assert corrected.interval[0] < truth < corrected.interval[1]
    assert np.ptp(corrected.interval) < 0.9 * np.ptp(rated.interval)
    assert bias.interval[0] > 0.3
    assert bias.value == pytest.approx(judge.value - corrected.value)
    assert not kinds(table, "corrected_means")


def test_candidates_have_means_of_their_own_and_a_chosen_sample_is_said() -> None:
    table = study(rng(22), 80, calls=1)
    table = replace(table, items=table.items.assign(candidate=["x", "y"] * 40))
    score, rating = given(table)
    row = row_of(table, "corrected_means", "judge_mean", candidate="y")
    assert (row.value, row.counts["n"]) == (pytest.approx(score[1::2].mean()), 40)
    assert row_of(table, "corrected_means", "corrected_mean").value == pytest.approx(rating.mean())
    liked = [r if s >= 4 else {} for r, s in zip(table.items["ratings"], score[:, 0], strict=True)]
    assert "rated_unlike" in kinds(rated_as(table, liked), "corrected_means")
    few = rated_as(table, [r if i < 9 else {} for i, r in enumerate(table.items["ratings"])])
    assert row_of(few, "corrected_means", "corrected_mean").why == "few_rated_units"


# ----------------------------------------------------------- Probabilities against what people gave
def truths(seed: int, items: int) -> np.ndarray:
    """(items, 5): how likely a person gives each score."""
    odds = rng(seed).normal(0, 1.5, (items, 5))
    return np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)


def stated(
    seed: int,
    items: int,
    sharper: float = 1.0,
    raters: int = 1,
    first: float = 0.0,
    **columns: object,
) -> JudgmentTable:
    """A judge that states the truth to a power, with a lean to the first option, in all balanced
    orders.
    """
    true, shown = truths(seed, items), ORDERS - 1
    given = true[:, shown] ** sharper * np.exp(first * (np.arange(5) == 0))
    given /= given.sum(axis=-1, keepdims=True)
    score = (
        np.take_along_axis(
            np.broadcast_to(shown, given.shape), given.argmax(axis=-1)[..., None], -1
        )[..., 0]
        + 1
    )
    people = rng(seed + 10**6)
    drawn = np.stack([people.choice(5, raters, p=row) + 1.0 for row in true])
    ratings = [{f"rater {k}": x for k, x in enumerate(row)} for row in drawn.tolist()]
    made = options(score, ORDERS, ratings=ratings, **columns)
    return replace(made, probabilities=given.reshape(-1, 5).astype(np.float32))


def calibration(table: JudgmentTable, measure: str) -> dict[str, Row]:
    made = rows_of(table, "calibration")[0]
    return {str(next(iter(row.of.values()), "")): row for row in made if row.measure == measure}


RATED, BRIER, LOG_LOSS = [1, 5, 2, 4, 4, 2, 5, 3], 0.7755065122146926, 1.7136842827447425


def test_numbers_are_scikit_learns() -> None:
    """brier_score_loss (scale_by_half=False) and log_loss of scikit-learn 1.9.1 on this very table:
    one call an item, one rater.
    """
    made = stated(3, 40, sharper=2.0)
    rated = np.array([row["rater 0"] for row in made.items["ratings"]]).astype(int)
    assert rated[:8].tolist() == RATED
    assert calibration(made, "brier")[""].value == pytest.approx(BRIER, abs=1e-6)
    assert calibration(made, "log_loss")[""].value == pytest.approx(LOG_LOSS, abs=1e-6)
    for fewer in (
        replace(made, probabilities=None),
        replace(made, items=made.items.assign(ratings=[{}] * 40)),
    ):
        assert not calibration(fewer, "brier")


def test_an_order_that_leans_is_worse_calibrated_and_says_so() -> None:
    made = stated(5, 200, first=2.0, raters=3)
    whole, by_order = calibration(made, "brier")[""], calibration(made, "brier")
    assert len(by_order) == 11
    assert np.mean([row.value for name, row in by_order.items() if name]) == pytest.approx(
        whole.value
    )
    assert whole.value > calibration(stated(5, 200, raters=3), "brier")[""].value
    assert calibration(stated(5, 200, sharper=3.0), "overconfidence")[""].interval[0] > 0
    curve = calibration(stated(5, 400, raters=3), "agreed_share")
    assert {
        row.interval[0] - 0.02 <= float(name) <= row.interval[1] + 0.02
        for name, row in curve.items()
    } == {True}
