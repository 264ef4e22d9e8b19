"""Pass or fail against people's labels: numbers by hand and by other formulas, ways of choosing
labels, and what is refused.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats as sp

from rubriclab.core.certification import labels_to_certify, least_hits
from rubriclab.core.operations import check, derived, in_every_order, limit_of, worst
from rubriclab.core.topic import Findings, Row
from rubriclab.model.data import INTENDED
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import ReadingPart
from rubriclab.model.text import LabError
from rubriclab.stats.proportions import agresti_coull
from tests.tables import findings, options

rng = np.random.default_rng
BOTH_ORDERS = [[0, 1], [1, 0]]


def labelled(label: Sequence[float], rater: str = "rater") -> list[dict[str, float]]:
    return [{rater: float(x)} if np.isfinite(x) else {} for x in label]


def judged(label: Sequence[float], verdict: Sequence[float], **items: Sequence) -> JudgmentTable:
    """One call an answer, on the scale 0 and 1."""
    score = np.asarray(verdict, dtype=float)[:, None]
    return options(score, [[0, 1]], ratings=labelled(label), **items)


def by_hand() -> tuple[np.ndarray, np.ndarray]:
    """Labels and verdicts. 80 passes, of which 72 pass; 20 fails, of which 6 pass; of 500 more 390
    pass.
    """
    label = np.r_[np.ones(80), np.zeros(20), np.full(500, np.nan)]
    verdict = np.r_[np.ones(72), np.zeros(8), np.ones(6), np.zeros(14), np.ones(390), np.zeros(110)]
    return label, verdict


def chosen_by_label() -> tuple[np.ndarray, np.ndarray]:
    """The same, where only 20 passes have a label, of which 18 pass, and all 20 fails."""
    label, verdict = by_hand()
    label[20:80] = np.nan
    verdict[:20] = np.r_[np.ones(18), np.zeros(2)]
    verdict[20:80] = np.r_[np.ones(54), np.zeros(6)]
    return label, verdict


def pass_fail(table: JudgmentTable, **reading: object) -> Findings:
    return findings(table, reading=ReadingPart.model_validate(reading))


def plain(found: Findings, measure: str) -> Row:
    """The row of the topic that is about nothing narrower than its cut."""
    return next(
        row for row in found.select(measure, topic="pass_fail") if not {*row.of} - {"cut", "side"}
    )


def only(found: Findings, measure: str, **of: object) -> Row:
    """The single row of a measure that is about exactly ``of``."""
    (row,) = [row for row in found.select(measure) if dict(row.of) == of]
    return row


def kinds(found: Findings) -> set[str]:
    return {caution.kind for caution in found.cautions if caution.topic == "pass_fail"}


# ------------------------------------------------------------------------------------------ by hand
def test_error_rates_by_hand() -> None:
    found = pass_fail(judged(*by_hand()))
    sensitivity, specificity = only(found, "sensitivity"), only(found, "specificity")
    assert sensitivity.value == pytest.approx(72 / 80)
    assert sensitivity.interval == pytest.approx((0.812535, 0.950810), abs=1e-6)
    assert specificity.value == pytest.approx(14 / 20)
    assert specificity.interval == pytest.approx((0.478709, 0.856841), abs=1e-6)
    youden = only(found, "youden")
    assert youden.value == pytest.approx(0.6)
    # Ends of independent shares add in squares (MOVER).
    below = np.hypot(0.9 - sensitivity.interval[0], 0.7 - specificity.interval[0])
    assert youden.interval[0] == pytest.approx(0.6 - below)


def test_pass_rates_by_hand() -> None:
    found = pass_fail(judged(*by_hand()))
    assert plain(found, "judge_pass").value == pytest.approx(468 / 600)
    assert plain(found, "people_pass").value == pytest.approx(0.8)
    rates = plain(found, "corrected_pass_rates")
    # (0.78 + 0.7 - 1) / (0.9 + 0.7 - 1)
    assert rates.value == pytest.approx(0.8)
    assert rates.interval == pytest.approx((0.688811, 0.911189), abs=1e-6)
    # Of 78 labelled answers that it passes 72 are passes, of 22 that it fails 8.
    assert plain(found, "corrected_pass").value == pytest.approx(
        468 / 600 * 72 / 78 + 132 / 600 * 8 / 22
    )
    assert only(found, "labels_chosen").value == pytest.approx(0.0)
    assert not kinds(found)


def test_kappa_and_its_base_rate_by_hand() -> None:
    found = pass_fail(judged(*by_hand()))
    chance = 0.8 * 0.78 + 0.2 * 0.22
    assert only(found, "chance_agreement").value == pytest.approx(chance)
    assert plain(found, "kappa").value == pytest.approx((0.86 - chance) / (1 - chance))
    assert plain(found, "ac1").value == pytest.approx(0.790482, abs=1e-6)


def test_prediction_powered_mean_is_said_only_for_random_labels() -> None:
    random = only(pass_fail(judged(*by_hand())), "corrected_mean")
    assert (random.value, random.counts["weight"]) == pytest.approx((0.8, 0.465423), abs=1e-6)
    table = judged(*chosen_by_label())
    assert only(pass_fail(table), "corrected_mean").value == pytest.approx(0.657080, abs=1e-6)
    for labels, why in (("by label", "labels_by_label"), ("by verdict", "labels_by_verdict")):
        found = pass_fail(table, labels=labels)
        assert only(found, "corrected_mean").why == why
        assert only(found, "judge_mean").value == pytest.approx(0.78)


def test_labels_chosen_by_their_label_by_hand() -> None:
    table = judged(*chosen_by_label())
    found = pass_fail(table, labels="by label")
    assert plain(found, "corrected_pass_rates").value == pytest.approx(0.8)
    assert plain(found, "corrected_pass").why == "labels_by_label"
    assert plain(found, "people_pass").why == "labels_by_label"
    assert only(found, "sensitivity").value == pytest.approx(0.9)
    unsaid = pass_fail(table)
    assert plain(unsaid, "corrected_pass").value == pytest.approx(0.6125)
    chosen = only(unsaid, "labels_chosen")
    assert chosen.value == pytest.approx(0.1875)
    assert chosen.p == pytest.approx(
        2 * sp.t.sf(0.1875 / ((chosen.interval[1] - 0.1875) / 2.0262), 37), rel=1e-3
    )


def test_labels_chosen_by_the_verdict_say_nothing_about_error_rates() -> None:
    found = pass_fail(judged(*by_hand()), labels="by verdict")
    for measure in ("sensitivity", "specificity", "youden", "corrected_pass_rates"):
        assert plain(found, measure).why == "labels_by_verdict"
    assert plain(found, "corrected_pass").value == pytest.approx(0.8)


def test_a_clear_difference_of_the_corrections_is_said_until_the_choice_is_known() -> None:
    label, verdict = (np.tile(part, 3) for part in chosen_by_label())
    table = judged(label, verdict)
    found = pass_fail(table)
    assert only(found, "labels_chosen").rejects
    assert kinds(found) == {"labels_chosen"}
    assert only(found, "corrected_mean").why == "labels_unclear"
    assert kinds(pass_fail(table, labels="random")) == {"labels_not_random"}
    assert not kinds(pass_fail(table, labels="by label"))


# ------------------------------------------------------------------------------ by other formulas
def test_error_rates_and_post_stratification_are_those_of_a_cross_table() -> None:
    label, verdict = rng(1).random(400) < 0.7, rng(2).random(400)
    verdict = np.where(label, verdict < 0.85, verdict < 0.25).astype(float)
    rated = np.where(rng(3).random(400) < 0.3, label, np.nan)
    found = pass_fail(judged(rated, verdict))
    known = np.isfinite(rated)
    table = pd.crosstab(rated[known], verdict[known])
    recall = table.to_numpy()[[0, 1], [0, 1]] / table.sum(axis=1).to_numpy()
    assert only(found, "specificity").value == pytest.approx(recall[0])
    assert only(found, "sensitivity").value == pytest.approx(recall[1])
    means = pd.crosstab(rated[known], verdict[known], normalize="columns").loc[1.0]
    share = pd.Series(verdict).value_counts(normalize=True)
    assert plain(found, "corrected_pass").value == pytest.approx(float((means * share).sum()))


def test_several_calls_and_orders() -> None:
    """Four calls an answer, two in each order: one call, each order, and the average."""
    label = rng(4).random(200) < 0.6
    chance = np.where(label, 0.85, 0.2)[:, None] + np.array([0.1, -0.1, 0.1, -0.1])
    score = (rng(5).random((200, 4)) < chance).astype(float)
    found = pass_fail(
        options(score, BOTH_ORDERS, [0, 1, 0, 1], ratings=labelled(label.astype(float)))
    )
    assert only(found, "sensitivity").value == pytest.approx(score[label].mean())
    assert only(found, "specificity").value == pytest.approx(1 - score[~label].mean())
    for order, calls in (("0 1", [0, 2]), ("1 0", [1, 3])):
        row = only(found, "sensitivity", order=order)
        assert row.value == pytest.approx(score[label][:, calls].mean())
        assert row.level > 0.95
    mean = score.mean(axis=1)
    average = np.where(mean == 0.5, 0.5, mean > 0.5)
    row = only(found, "specificity", protocol="average of orders")
    assert row.value == pytest.approx(1 - average[~label].mean())
    # Calls of one answer go together less than 4 coins' worth, more than one: between both widths.
    alone = agresti_coull(score[label].mean() * label.sum(), label.sum())
    assert np.ptp(only(found, "sensitivity").interval) < alone[1] - alone[0]


def test_a_cut_makes_pass_and_fail_of_five_scores() -> None:
    rating = rng(6).integers(1, 6, 120).astype(float)
    score = np.clip(rating[:, None] + rng(7).integers(-1, 2, (120, 2)), 1, 5)
    orders = [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1]]
    table = options(score, orders, ratings=labelled(rating))
    assert not [row for row in pass_fail(table).rows if row.topic == "pass_fail"]
    found = pass_fail(table, cut=4)
    assert only(found, "sensitivity").value == pytest.approx((score[rating >= 4] >= 4).mean())
    assert plain(found, "judge_pass").value == pytest.approx((score >= 4).mean())
    assert len(found.select("corrected_pass")) == 1


def test_answers_of_a_prompt_count_as_one() -> None:
    label, verdict = (np.repeat(part[:100], 3) for part in by_hand())
    apart = pass_fail(judged(label, verdict))
    together = pass_fail(judged(label, verdict, prompt=[f"p{k // 3}" for k in range(300)]))
    width = [np.ptp(only(found, "sensitivity").interval) for found in (apart, together)]
    assert width[1] > 1.4 * width[0]


# ------------------------------------------------------------------------------ what is left out
def test_evenly_divided_raters_are_left_out_and_counted() -> None:
    label, verdict = by_hand()
    ratings = labelled(label)
    for k in range(5):
        ratings[k] = {"one": 1.0, "other": 0.0}
    table = judged(label, verdict)
    found = pass_fail(replace(table, items=table.items.assign(ratings=ratings)))
    assert only(found, "sensitivity").value == pytest.approx(67 / 75)
    assert only(found, "sensitivity").counts == {"n": 75, "tied": 5}
    assert kinds(found) == {"divided_raters"}


def test_few_labels_of_a_class_have_no_interval() -> None:
    label, verdict = by_hand()
    label[80:91] = np.nan  # nine fails are left
    found = pass_fail(judged(label, verdict))
    specificity = only(found, "specificity")
    assert (specificity.why, np.isfinite(specificity.value)) == ("few_labels", True)
    assert np.isfinite(only(found, "sensitivity").interval).all()
    assert only(found, "youden").why == "few_labels"
    assert plain(found, "corrected_pass_rates").why == "few_labels"


def test_error_rates_of_a_judge_that_tosses_coins_correct_nothing() -> None:
    label = np.r_[np.tile([1.0, 0.0], 40), np.full(120, np.nan)]
    verdict = np.tile([1.0, 1.0, 0.0, 0.0], 50)
    found = pass_fail(judged(label, verdict))
    assert only(found, "youden").value == pytest.approx(0.0)
    assert plain(found, "corrected_pass_rates").why == "not_with_labels"
    assert np.isfinite(plain(found, "corrected_pass").interval).all()


def test_a_perfect_judge_is_not_certain() -> None:
    label = np.tile([1.0, 0.0], 30)
    found = pass_fail(judged(label, label))
    low, high = only(found, "youden").interval
    assert (low, high) == pytest.approx((1 - np.hypot(*[1 - agresti_coull(30, 30)[0]] * 2), 1.0))


def test_verdicts_without_any_label_on_one_side_are_not_corrected() -> None:
    label, verdict = by_hand()
    label[verdict == 0] = np.nan
    assert plain(pass_fail(judged(label, verdict)), "corrected_pass").why == "unlabelled_verdict"


def test_other_scales_and_missing_labels() -> None:
    label, verdict = by_hand()
    other = pass_fail(judged(label * 100, verdict))
    rows = [row for row in other.rows if row.topic == "pass_fail"]
    assert {row.why for row in rows} == {"other_scale"}
    none = pass_fail(judged(np.full(600, np.nan), verdict))
    assert not [row for row in none.rows if row.topic == "pass_fail"]


def test_levels_that_an_author_aimed_at_are_used_under_their_own_name() -> None:
    label, verdict = by_hand()
    table = judged(label, verdict)
    table = replace(table, items=table.items.assign(ratings=labelled(label, INTENDED)))
    assert only(pass_fail(table), "sensitivity").value == pytest.approx(0.9)


# ------------------------------------------------------------------------------ how many labels
def test_least_hits_are_the_fewest_whose_interval_is_above() -> None:
    for n in (18, 19, 60, 143):
        hits = least_hits(0.8, n)
        if hits <= n:
            assert agresti_coull(hits, n)[0] >= 0.8
        assert agresti_coull(hits - 1, n)[0] < 0.8
    assert (least_hits(0.8, 18), least_hits(0.8, 19)) == (19, 19)


def test_labels_to_certify_by_binomials() -> None:
    needed = labels_to_certify(0.9, 0.8)
    assert needed is not None

    def certified(n: int) -> float:
        return float(sp.binom.sf(least_hits(0.8, n) - 1, n, 0.9) ** 2)

    assert certified(needed - 1) < 0.8
    assert all(certified(n) >= 0.8 for n in range(needed, needed + 100))
    assert labels_to_certify(0.8, 0.8) is None
    assert labels_to_certify(0.81, 0.8) is None


def test_the_lower_score_passes_where_the_study_says_so() -> None:
    """1 Pass, 2 Fail: labels and verdicts are turned round, and nothing else changes."""
    label, verdict = by_hand()
    score = (2.0 - verdict)[:, None]
    turned = options(score, [[1, 2]], ratings=labelled(2.0 - label))
    found = pass_fail(turned, passes="1")
    for measure in ("sensitivity", "specificity", "corrected_pass", "corrected_pass_rates"):
        upright = plain(pass_fail(judged(label, verdict)), measure)
        assert plain(found, measure).value == pytest.approx(upright.value)
        assert plain(found, measure).interval == pytest.approx(upright.interval)
    assert plain(found, "judge_pass").of == {"cut": 1}


# ------------------------------------------------------------------------------ limits in CI
def two_orders(chance_of_fail_first: float = 0.95) -> JudgmentTable:
    """200 labelled answers, half of them passes; the judge is right about 95% in one order."""
    label = np.tile([1.0, 0.0], 100)
    right = rng(8).random((200, 2)) < np.array([0.95, chance_of_fail_first])
    score = np.where(right, label[:, None], 1 - label[:, None])
    return options(score, BOTH_ORDERS, ratings=labelled(label))


def test_a_good_judge_is_certified_in_every_order() -> None:
    found = pass_fail(two_orders())
    limits = [limit_of("sensitivity=0.8.."), limit_of("specificity=0.8..")]
    assert {checked.word for checked in check(found, limits)} == {"passes"}
    every = check(found, in_every_order(found, limits))
    assert [str(checked.limit) for checked in every[:2]] == ["sensitivity:*=0.8.."] * 2
    assert {checked.row.of["order"] for checked in every if checked.row} == {"0 1", "1 0"}
    assert worst(checked.word for checked in every) == "passes"


def test_the_worst_order_decides() -> None:
    found = pass_fail(two_orders(0.6))
    limits = in_every_order(found, [limit_of("sensitivity=0.8..")])
    words = {
        checked.row.of["order"]: checked.word for checked in check(found, limits) if checked.row
    }
    assert words == {"0 1": "passes", "1 0": "fails"}
    (one,) = check(found, [limit_of("sensitivity:0 1=0.8..")])
    assert one.word == "passes"


def test_limits_of_every_order_need_rows_by_order() -> None:
    found = pass_fail(judged(*by_hand()))
    with pytest.raises(LabError, match="no numbers of single orders for sensitivity"):
        in_every_order(found, [limit_of("sensitivity=0.8..")])


def test_nothing_is_certified_until_the_choice_of_labels_is_known() -> None:
    label, verdict = (np.tile(part, 3) for part in chosen_by_label())
    table, limit = judged(label, verdict), [limit_of("sensitivity=0.5..")]
    (unsaid,) = check(pass_fail(table), limit)
    assert (unsaid.word, unsaid.why) == ("unknown", "labels_unclear")
    (said,) = check(pass_fail(table, labels="by label"), limit)
    assert said.word == "passes"


def test_no_limit_on_error_rates_is_derived() -> None:
    found = pass_fail(two_orders())
    measures = {part.limit.measure for part in derived(found, "judge")}
    assert measures <= {"favours_positions", "moves_mean", "changes_single"}
