"""The method check: hand-made checks, the pipeline against plain arithmetic, a small calibration."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rubriclab.figures.check import coverage, rejection
from rubriclab.findings.check import LAB_TEST, PAPERS_TEST, Check, Planted, as_text, check_of, in_words, standing
from rubriclab.findings.plain import plain
from rubriclab.model import LabError
from rubriclab.runs import check, check_arrays
from rubriclab.runs.check import Checking, check_methods, pipeline_checks
from rubriclab.runs.check_arrays import array_checks, unit_vectors
from rubriclab.runs.simulated import run_simulated, simulated_study
from rubriclab.stats import position as stat
from rubriclab.stats.inference import widened
from rubriclab.stats.nulls import NullReads, null_reads, position_counts
from tests.calibration.topic_checks import agreement_checks, criteria_checks

RESULTS = Path(__file__).parent / "calibration" / "results.json"


def rate(checks: tuple[Check, ...], quantity: str, method: str = LAB_TEST) -> Check:
    return next(c for c in checks if c.quantity == quantity and c.method == method)


# ---------------------------------------------------------------- where a value should lie


def test_standing_by_hand() -> None:
    # 1,000 studies: the error of a rate of 0.07 is sqrt(.07 x .93 / 1000) = 0.0081.
    assert standing(0.05, 0.007, 1000, (0.03, 0.07)) == "holds"
    assert standing(0.08, 0.0086, 1000, (0.03, 0.07)) == "cannot say"
    assert standing(0.10, 0.0095, 1000, (0.03, 0.07)) == "misses"
    # One interval of two that does not hold: one time in seven at 0.93. None of two: one time in two hundred.
    assert standing(0.5, 0.0, 2, (0.93, 0.97)) == "cannot say"
    assert standing(0.0, 0.0, 2, (0.93, 0.97)) == "misses"
    # Ten studies without a rejection do not show that a test never rejects.
    assert standing(0.0, 0.0, 10, (0.03, 0.07)) == "cannot say"
    # A constant judge must never be accused: one rejection is a miss.
    assert standing(0.001, 0.001, 1000, (0.0, 0.0)) == "cannot say"
    assert standing(0.01, 0.003, 1000, (0.0, 0.0)) == "misses"
    assert standing(0.3, 0.05, 100, (-0.1, 0.1), rate=False) == "misses"
    assert standing(0.3, 0.05, 100, None) == "not promised"


def test_checks_go_to_json_and_back() -> None:
    given = array_checks("constant", studies=3, items=20, options=3)
    assert tuple(check_of(json.loads(json.dumps(plain(c)))) for c in given) == given


def test_words_say_what_is_wrong_with_the_chi_square() -> None:
    def made(method: str, judge: str, value: float, accepted: tuple[float, float] | None) -> Check:
        return Check(
            "type-I error",
            method,
            judge,
            "arrays",
            60,
            5,
            0.0,
            1000,
            value,
            0.007,
            accepted,
            standing(value, 0.007, 1000, accepted),
        )

    said = " ".join(
        in_words(
            [
                made(LAB_TEST, "ordinary", 0.05, (0.03, 0.07)),
                made(PAPERS_TEST, "ordinary", 0.01, None),
                made(LAB_TEST, "clustered", 0.055, (0.03, 0.07)),
                made(PAPERS_TEST, "clustered", 0.25, None),
                made(LAB_TEST, "constant", 0.0, (0.0, 0.0)),
            ]
        )
    )
    assert "5.0% to 5.5%" in said
    assert "too eager for “clustered” (25%)" in said
    assert "For “ordinary” it rejects in 1.0% instead of the 5 %" in said
    assert "constant judge it never does" in said
    assert "3 of 3 promises hold" in said


# ---------------------------------------------------------------- the pipeline


def test_a_simulated_run_has_every_judgment_and_its_faults() -> None:
    study = simulated_study(Planted(first=9.0, unread=0.2), items=40, options=3)
    data = run_simulated(study)
    assert data.simulated
    assert len(data.judgments) == 40 * 6
    unread = data.judgments["status"] != 0
    assert 0.1 < unread.mean() < 0.3
    read = data.judgments[~unread]
    # Log-odds of 9 for what stands first outweigh the content (at most 16 at the far end).
    assert (read["position"] == 1).mean() > 0.7
    shown = [data.orderings[o].shown[p - 1] for o, p in zip(read["ordering"], read["position"], strict=True)]
    assert shown == read["score"].astype(int).tolist()


def test_another_number_is_another_study() -> None:
    one, same, other = (run_simulated(simulated_study(Planted(), items=10, options=3, number=k)) for k in (0, 0, 1))
    assert one.judgments.equals(same.judgments)
    assert not one.judgments["score"].equals(other.judgments["score"])


@pytest.mark.slow
def test_true_shares_are_those_of_a_very_large_run() -> None:
    planted = Planted(first=0.8, label=0.5, item_sd=0.5, unread=0.0)
    truth = check._true_shares(planted, 3, 0)
    data = run_simulated(simulated_study(planted, items=800, options=3))
    share = np.bincount(data.judgments["position"], minlength=4)[1:] / len(data.judgments)
    # 800 items x 6 reads: an error of about 0.01 a share.
    assert truth == pytest.approx(share, abs=0.035)
    assert truth.sum() == pytest.approx(1.0)


@pytest.mark.slow
def test_pipeline_recovers_what_is_planted() -> None:
    planted = Planted(first=0.8, label=0.6, neighbour=0.6, unread=0.1)
    found = pipeline_checks(planted, studies=16, items=60, options=4, seed=3)
    assert rate(found, "power").value > 0.3
    for name in ("position", "label", "neighbour"):
        bias = rate(found, "recovery", f"log-odds of {name}")
        assert abs(bias.value) < 4 * bias.se
        assert bias.se < 0.15


@pytest.mark.slow
def test_criterion_order_is_seen_only_where_it_is() -> None:
    quiet = criteria_checks(studies=8, texts=30, criteria_count=4)
    loud = criteria_checks(studies=4, texts=30, criteria_count=4, first=1.0)
    assert rate(quiet, "type-I error", "Friedman, one criterion").value < 0.25
    assert rate(loud, "power", "Friedman, one criterion").value > 0.9
    assert rate(loud, "type-I error", "carryover of a criterion").value < 0.5


@pytest.mark.slow
def test_paired_difference_of_equal_strategies() -> None:
    found = agreement_checks(studies=8, items=40)
    assert rate(found, "coverage", "paired difference of r").value > 0.6


# ---------------------------------------------------------------- as arrays


def test_unit_vectors_by_hand() -> None:
    # One item, two options, orders A A' B B' (A shows score 0 first); one reply is unread.
    shown = np.array([[0, 1], [1, 0], [1, 0], [0, 1]])
    score = np.array([[[0, 0, -1, 0]]])
    position = np.array([[[0, 1, -1, 0]]])
    # Three reads, all of score 0, shown at position 0 in two of them: 2/3 expected, 2/3 seen.
    assert unit_vectors(NullReads(score, position, shown))[0, 0] == pytest.approx([0.0, 0.0])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ordinary", "clustered", "skewed", "sharp"])
def test_small_calibration(kind) -> None:
    found = array_checks(kind, studies=400, items=60, options=5, unread=0.1, seed=7)
    # 400 studies: an error of 0.011; the range promised and two of it.
    assert 0.01 <= rate(found, "type-I error").value <= 0.092
    assert 0.91 <= rate(found, "coverage", "share of a position").value <= 0.97
    assert 0.91 <= rate(found, "coverage", "Cramér's V").value <= 0.995
    papers = rate(found, "type-I error", PAPERS_TEST).value
    assert papers > 0.12 if kind == "clustered" else papers < 0.05


def test_a_constant_judge_is_never_accused() -> None:
    found = array_checks("constant", studies=200, items=60, options=5, unread=0.1)
    assert rate(found, "type-I error").value == 0.0
    assert rate(found, "type-I error").accepted == (0.0, 0.0)


@pytest.mark.slow
def test_intervals_hold_a_planted_effect() -> None:
    found = array_checks("ordinary", studies=300, items=60, options=5, first=0.5, seed=1)
    assert rate(found, "power").value > 0.6
    assert 0.90 <= rate(found, "coverage", "Cramér's V").value <= 0.985


def test_v_interval_leaves_zero_out_as_often_as_the_test_rejects() -> None:
    rng = np.random.default_rng(5)
    reads = null_reads("ordinary", studies=400, items=80, n=2, rng=rng)
    counts = position_counts(reads)
    weights = check_arrays.resample_weights(80, 500, np.random.default_rng(0))
    away = []
    for each in counts:
        share = each.sum(axis=0) / each.sum()
        draws = weights @ each
        draws = widened(share, draws / draws.sum(axis=1, keepdims=True), 80)
        away.append(stat.v_interval(share, draws).low > 0)
    assert 0.02 <= np.mean(away) <= 0.085


def test_widened_by_hand() -> None:
    # Ten units: sqrt(10 / 9) x 2.2622 / 1.95996 = 1.2166.
    draws = widened(np.array([0.5]), np.array([[0.4], [0.6]]), 10)
    assert draws.ravel() == pytest.approx([0.5 - 0.12166, 0.5 + 0.12166], abs=1e-5)
    assert np.isnan(widened(np.array([0.5]), draws, 1)).all()


# ---------------------------------------------------------------- the whole


@pytest.mark.slow
def test_check_methods_repeats_itself_and_tells_its_progress() -> None:
    steps: list[tuple[int, int]] = []
    options = {"studies": 3, "items": 16, "options": 3, "array_studies": 5, "judges": ("sharp",)}
    one = check_methods(**options, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(k, 8) for k in range(1, 9)]
    assert plain(check_methods(**options)) == plain(one)
    assert {c.quantity for c in one.checks} == {"type-I error", "power", "coverage", "recovery"}
    assert any("take more" in warning for warning in one.warnings)
    assert "type-I error" in as_text(one)
    for chart in (rejection(one.checks), coverage(one.checks)):
        assert len(chart.figure.data) >= 2
        assert "Monte Carlo" in chart.alt


def test_sizes_that_cannot_be_judged() -> None:
    with pytest.raises(LabError, match="2 to 10 score options, not 11"):
        check_methods(options=11)
    with pytest.raises(LabError, match="unreadable"):
        check_methods(planted=Planted(unread=1.5))
    with pytest.raises(LabError, match="too few"):
        check_methods(studies=1)


def test_a_check_in_the_background_ends_or_stops() -> None:
    done = Checking(studies=2, items=12, options=2, array_studies=0).start()
    done.wait(60)
    assert done.error is None
    assert done.result is not None
    stopped = Checking(studies=500, items=30, options=5, array_studies=0).start()
    stopped.stop()
    stopped.wait(60)
    assert stopped.result is None
    assert "Stopped by you" in str(stopped.error)
    wrong = Checking(studies=2, items=12, options=99).start()
    wrong.wait(60)
    assert "not 99" in str(wrong.error)


def test_recorded_calibration_is_large_and_says_what_it_promises() -> None:
    document = json.loads(RESULTS.read_text(encoding="utf-8"))
    assert document["studies"] >= 1_000
    checks = [check_of(row) for row in document["checks"]]
    null = [c for c in checks if c.quantity == "type-I error" and c.method == LAB_TEST and c.way == "arrays"]
    assert {(c.n_items, c.n_options) for c in null} == {(i, n) for i in (60, 600) for n in (2, 5, 9)}
    assert all(c.value == 0 for c in null if c.judge == "constant")
    assert not [c for c in null if c.standing == "misses"]
