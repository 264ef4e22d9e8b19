"""Scales of two scores, whose mean is a pass rate: one question, one limit, one word; and scales of
three and four.
"""

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.cells import Answers
from rubriclab.core.differences import differences, paired
from rubriclab.core.drift import drift
from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings
from rubriclab.core.verdict import Verdicts, decide
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import ReadingPart, Smallest, stored_reading
from rubriclab.model.text import LabError
from rubriclab.words.answer import compose
from rubriclab.words.phrases import value_text
from rubriclab.words.subject import subject_of
from tests.tables import choices, findings, options

SMALLEST = Smallest()
PAIR = np.array([[0, 1], [1, 0]])
TWICE = [0, 1, 0, 1]


def passes(rate: tuple[float, float], items: int, seed: int = 1) -> np.ndarray:
    """(items, 4): 1 for a pass, with these chances where the low and where the high score is listed
    first, each twice.
    """
    rng = np.random.default_rng(seed)
    ease = rng.normal(0, 0.15, (items, 1))
    return (rng.random((items, 4)) < np.array(rate)[TWICE] + ease) * 1.0


def judged(score: np.ndarray, smallest: Smallest = SMALLEST) -> Verdicts:
    return decide(choices(score, TWICE, PAIR, points=[0.0, 1.0]), smallest)


@pytest.mark.parametrize(
    ("scores", "limit"),
    [
        ((0, 1), 0.05),
        ((1, 5), 0.2),
        ((1, 2, 3), 0.125),
        ((1, 2, 3, 4), 0.1875),
        ((1, 2, 3, 4, 5), 0.25),
        (tuple(range(1, 11)), 0.25),
        ((0, 10, 20), 1.25),
        ((), 0.25),
    ],
)
def test_the_smallest_change_by_the_number_of_scores(scores: tuple[int, ...], limit: float) -> None:
    """5 percentage points of two scores; else a quarter of a step, and at most a sixteenth of the
    scale.
    """
    assert SMALLEST.points(scores) == pytest.approx(limit)


def test_a_given_smallest_change_stands_in_steps() -> None:
    assert Smallest(mean=0.25).points((0, 1)) == 0.25
    assert Smallest(mean=0.1).points((1, 3, 5)) == pytest.approx(0.2)
    assert Smallest(share=0.02).points((0, 1)) == 0.02


def test_six_of_eight_that_take_the_first_by_hand() -> None:
    """Scores 1 and 2. Six items give (1, 2), always the first, one (1, 1), one (2, 2).

    The pass rate moves by 6 of 8 items x 1 point: .75; a position gains half of it. t = 4.583 on 7
    degrees: p = .002536.
    """
    found = decide(choices([[0, 1]] * 6 + [[0, 0], [1, 1]], [0, 1], PAIR), SMALLEST)
    position, mean = found.questions["positions"], found.questions["mean"]
    assert found.gate.p == 2 / 64
    assert (position.value, position.low, position.high) == pytest.approx((0.375, 0, 0.5))
    assert (mean.value, mean.low, mean.high) == pytest.approx((0.75, 0, 1))
    assert (position.smallest, mean.smallest) == (0.025, 0.05)
    assert position.p == mean.p == pytest.approx(0.002536, abs=5e-7)
    assert (position.word, mean.word) == ("effect", "effect")
    assert position.leans == pytest.approx([0.375, -0.375])
    assert position.shares == pytest.approx([0.875, 0.125])
    assert position.expected == pytest.approx([0.5, 0.5])
    assert position.units_needed == mean.units_needed


def test_fifteen_points_of_pass_rate_are_no_small_change() -> None:
    """Today's limit was 25 points: 300 items whose pass rate moves by 15 were told No."""
    found = judged(passes((0.65, 0.5), 300))
    mean = found.questions["mean"]
    assert 0.05 < mean.low < 0.15 < mean.high < 0.25
    assert {found.questions[name].word for name in ("positions", "mean")} == {"effect"}


def same_word(found: Verdicts) -> bool:
    position, mean = found.questions["positions"], found.questions["mean"]
    ends = (position.low, position.high, position.value, position.smallest)
    of_mean = (mean.low, mean.high, mean.value, mean.smallest)
    return (
        (position.word, position.above_zero, position.why) == (mean.word, mean.above_zero, mean.why)
        and position.p == pytest.approx(mean.p, nan_ok=True)
        and ends == pytest.approx([part / 2 for part in of_mean], nan_ok=True)
    )


@pytest.mark.thorough
@pytest.mark.parametrize("items", [5, 12, 40, 700])
@pytest.mark.parametrize("change", [0.0, 0.05, 0.2])
def test_both_rows_say_the_same_word(items: int, change: float) -> None:
    for seed in range(3):
        score = passes((0.6 + change / 2, 0.6 - change / 2), items, seed)
        assert same_word(judged(score))
        score[np.random.default_rng(seed).random(score.shape) < 0.1] = np.nan
        assert same_word(judged(score))
        assert same_word(judged(score, Smallest(mean=0.3)))


def test_drawn_orders_too() -> None:
    rng = np.random.default_rng(2)
    once = choices(
        rng.integers(0, 2, (60, 1)), rng.integers(0, 2, (60, 1)), PAIR, drawn=True, points=[0, 1]
    )
    assert same_word(decide(once, SMALLEST))
    several = choices(
        rng.integers(0, 2, (60, 3)), rng.integers(0, 2, (60, 3)), PAIR, drawn=True, points=[0, 1]
    )
    assert same_word(decide(several, SMALLEST))
    first = replace(several, code=PAIR[several.order][:, :1])
    assert decide(first, SMALLEST).questions["positions"].value == pytest.approx(0.5)


def test_no_takes_an_interval_within_five_points() -> None:
    same = passes((0.95, 0.95), 400)
    found = judged(same)
    assert found.questions["mean"].high < 0.05
    assert {found.questions[name].word for name in ("positions", "mean")} == {"equivalent"}
    assert judged(same[:60]).questions["mean"].word == "undecided"


def table(rate: tuple[float, float], items: int, seed: int, judge: str = "judge") -> JudgmentTable:
    return options(passes(rate, items, seed), [[0, 1], [1, 0]], judge=judge)


def test_compare_and_drift_hold_pass_rates_to_five_points() -> None:
    one, other = table((0.8, 0.6), 400, 1), table((0.7, 0.7), 400, 2)
    rows = differences(paired(findings(one), 0, findings(other), 0))
    assert [row.counts["question"] for row in rows] == ["mean", "single"]
    assert (rows[0].smallest, rows[0].verdict) == (0.05, "effect")
    changed = drift(Judgments(one, "auto").arms, Judgments(other, "auto").arms, SMALLEST)
    assert changed.questions["level"].smallest == 0.05
    assert changed.questions["order"].smallest == pytest.approx(0.025)


def test_choices_and_criteria_keep_their_own_limits() -> None:
    answers: Answers = choices(passes((0.6, 0.6), 20), TWICE, PAIR, points=[0.0, 1.0])
    pairs = decide(replace(answers, choices=True, points=np.arange(3.0)), SMALLEST)
    assert pairs.questions["positions"].smallest == 0.05
    two = np.random.default_rng(0).integers(0, 2, (20, 4, 2))
    joint = decide(choices(two, TWICE, PAIR, points=[0.0, 1.0]), SMALLEST)
    assert [joint.questions[name].smallest for name in ("positions", "mean")] == [0.05, 0.05]


def test_a_stored_default_of_all_scales_is_none_given() -> None:
    """Runs were stored with every default written out; a quarter of a step of a pass rate was never
    meant.
    """
    old = {"unit": "auto", "smallest": {"mean": 0.25, "share": 0.05, "single": 0.05, "r": 0.05}}
    assert ReadingPart.model_validate(stored_reading(old)).smallest.mean is None
    given = {"smallest": {"mean": 0.25, "share": 0.1, "single": 0.05, "r": 0.05}}
    assert ReadingPart.model_validate(stored_reading(given)).smallest.mean == 0.25
    assert stored_reading({}) == {}


def test_rows_say_what_was_used() -> None:
    found: Findings = findings(table((0.6, 0.6), 40, 3))
    rows = {row.measure: row for row in found.rows if row.topic == "verdict"}
    assert (rows["moves_mean"].smallest, rows["favours_positions"].smallest) == (0.05, 0.025)


def labelled(score: np.ndarray, labels: dict[int, str]) -> JudgmentTable:
    """Return a run of scores 1 and 2 in both orders, twice, whose lists show these labels."""
    made = options(score, [[1, 2], [2, 1]], TWICE)
    shown = tuple(
        replace(order, labels=tuple(labels[score] for score in order.shown))
        for order in made.orderings
    )
    return replace(made, orderings=shown)


def test_a_reversed_scale_reads_pass_rates_the_right_way_round() -> None:
    """1 Pass, 2 Fail, 100 answers. Listed first, Pass is given to 80, else to 50 of them."""
    first = np.where(np.arange(100) < 80, 1.0, 2.0)
    last = np.where(np.arange(100) < 50, 1.0, 2.0)
    run = labelled(np.stack([first, last, first, last], axis=1), {1: "Pass", 2: "Fail"})
    right = subject_of(Findings(Judgments(run), ReadingPart(passes="Pass")))
    assert right.pass_rates == pytest.approx((0.8, 0.5))
    assert right.rate_moved == pytest.approx(30)
    (low, high), (below, above) = right.pass_intervals
    assert low < 0.8 < high
    assert below < 0.5 < above
    assert compose(right).headline == "judge passes more answers when Pass is listed first"
    assert "80.0% with Pass listed first and 50.0% with Fail" in compose(right).line
    # By default the higher score passes: Fail, which is given to 50 listed first and to 20 else.
    default = subject_of(Findings(Judgments(run)))
    assert default.pass_rates == pytest.approx((0.5, 0.2))
    assert compose(default).headline == "judge passes more answers when Fail is listed first"
    # What is said of sizes is the same either way.
    assert right.mean is not None
    assert default.mean is not None
    assert (right.mean.low, right.mean.word) == (default.mean.low, default.mean.word)


def test_a_value_that_no_score_has_is_refused() -> None:
    run = labelled(np.ones((10, 4)), {1: "Pass", 2: "Fail"})
    with pytest.raises(LabError, match="neither a label nor a score"):
        Judgments(run).check_passes(ReadingPart(passes="Good"))
    with pytest.raises(LabError, match="no criterion has two scores"):
        Judgments(options(np.ones((4, 2)), [[1, 2, 3], [3, 2, 1]])).check_passes(
            ReadingPart(passes="3")
        )


def test_labels_that_differ_between_lists_are_not_used() -> None:
    run = labelled(np.ones((10, 4)), {1: "Pass", 2: "Fail"})
    swapped = replace(run.orderings[1], labels=("Pass", "Fail"))
    mixed = replace(run, orderings=(run.orderings[0], swapped))
    assert Judgments(mixed).labels_of(0) == {1.0: "1", 2.0: "2"}


def test_rows_of_two_scores_are_percentage_points_of_the_pass_rate() -> None:
    rows = {row.measure: row for row in findings(table((0.8, 0.6), 100, 1)).rows}
    assert rows["line"].about.name == "Pass rate in ascending - descending lists"
    assert value_text(rows["line"]).endswith("percentage points")
    assert value_text(rows["order_change"]).endswith("%")


@pytest.mark.parametrize("given", [0.0, 1.0])
def test_all_answers_alike_have_no_effect_and_no_wald_interval(given: float) -> None:
    """All pass: the pass rate's change is 0, and its interval is what unmet units could carry."""
    found = judged(np.full((400, 4), given)).questions["mean"]
    assert found.value == 0
    assert (found.word, found.why) == ("undecided", "one_score")
