"""How often a judge is right about passes and fails in another form of its prompt: by hand, and of
simulated studies of no difference.
"""

from typing import Any

import numpy as np
import pytest

from rubriclab.core.judgments import Judgments
from rubriclab.core.topic import Findings
from rubriclab.exports.terminal import findings_text
from rubriclab.measures.variants import rates_of_both
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import ReadingPart
from tests.tables import findings, in_forms, only, options

BOTH = [[0, 1], [1, 0]]
FORM = "answer = feedback"
MEASURES = ("variant_sensitivity_difference", "variant_specificity_difference")


def two_forms(default: Any, feedback: Any, label: Any, **items: Any) -> JudgmentTable:
    """Scores (items, calls) in two forms. ``label``: (items,) of people, NaN without one."""
    ratings = [{"rater": float(x)} if np.isfinite(x) else {} for x in label]
    made = [
        options(np.asarray(score, dtype=float), BOTH, ratings=ratings, **items)
        for score in (default, feedback)
    ]
    return in_forms(dict(zip(("score", "feedback"), made, strict=True)), "answer")


def compared(default: Any, feedback: Any, label: Any, labels: str = "") -> Findings:
    reading = ReadingPart.model_validate({"labels": labels})
    return findings(two_forms(default, feedback, label), reading=reading)


LABEL = [1] * 12 + [0] * 12 + [np.nan] * 6
"""12 passes, 12 fails, 6 without a label."""
DEFAULT = [[1, 1]] * 12 + [[1, 0]] * 12 + [[1, 1]] * 6
FEEDBACK = [[1, 0]] * 6 + [[1, 1]] * 6 + [[0, 0]] * 9 + [[1, 1]] * 3 + [[0, 0]] * 6


def test_the_differences_by_hand() -> None:
    """Passes: of 12, 6 lose one of two calls: 0.75 instead of 1. Fails: 9 gain half a call each,
    and 3 lose one half: 0.75 instead of 0.5. Answers without a label do not count.
    """
    found = compared(DEFAULT, FEEDBACK, LABEL)
    rows = [only(found, measure, 1, variant=FORM) for measure in MEASURES]
    assert [row.value for row in rows] == pytest.approx([-0.25, 0.25])
    assert [row.counts["n"] for row in rows] == [12, 12]
    # It is the difference of the two forms' own numbers, as both have the same answers.
    for row, measure in zip(rows, ("sensitivity", "specificity"), strict=True):
        default, feedback = (
            next(row for row in found.select(measure, condition=code) if not row.of)
            for code in (0, 1)
        )
        assert row.value == pytest.approx(feedback.value - default.value)
        low, high = row.interval
        assert low < row.value < high
    assert not any(row.verdict for row in rows)
    said = findings_text(found, "variants")
    assert f"{FORM}: sensitivity - default: −25.0\u00a0percentage points (95% CI" in said


def test_no_interval_below_ten_labels_of_a_class() -> None:
    found = compared(DEFAULT, FEEDBACK, [1] * 12 + [0] * 9 + [np.nan] * 9)
    of_pass, of_fail = (only(found, measure, 1) for measure in MEASURES)
    assert np.isfinite(of_pass.interval).all()
    assert (of_fail.why, of_fail.counts["n"]) == ("few_labels", 9)
    assert not np.isfinite(of_fail.interval).any()


def test_labels_chosen_by_the_verdict_refuse_it() -> None:
    found = compared(DEFAULT, FEEDBACK, LABEL, labels="by verdict")
    assert {only(found, measure, 1).why for measure in MEASURES} == {"labels_by_verdict"}
    assert np.isfinite(only(compared(DEFAULT, FEEDBACK, LABEL, "by label"), MEASURES[0], 1).value)


def test_a_longer_scale_needs_a_cut() -> None:
    """People give 5 to 12 answers and 2 to 12; the default gives these scores, the other form 4 to
    all. From 4 on all pass: specificity falls from 1 to 0, sensitivity stays 1.
    """
    people = np.repeat([5.0, 2.0], 12)
    made = [
        options(score[:, None], [[1, 2, 3, 4, 5]], ratings=[{"rater": x} for x in people.tolist()])
        for score in (people, np.full(24, 4.0))
    ]
    table = in_forms(dict(zip(("score", "feedback"), made, strict=True)), "answer")
    assert not findings(table).select(MEASURES[0])
    found = findings(table, reading=ReadingPart(cut=4))
    assert [only(found, measure, 1).value for measure in MEASURES] == [0.0, -1.0]


def test_without_labels_there_are_no_rows() -> None:
    found = compared(DEFAULT, FEEDBACK, [np.nan] * 30)
    assert not [row for row in found.rows if row.measure in MEASURES]


@pytest.mark.thorough
@pytest.mark.parametrize(("answers", "of_a_prompt"), [(60, 1), (120, 3)])
def test_intervals_hold_where_forms_do_not_differ(answers: int, of_a_prompt: int) -> None:
    """400 studies; half of the answers pass. A judge is right with a chance of its own for each
    prompt (mean 0.8), the same in both forms. One standard error of a share of .95 is .011.
    """
    held = np.zeros(2)
    studies = 400
    rng = np.random.default_rng(20261129)
    label = np.tile([1.0, 0.0], answers // 2)
    prompt = np.arange(answers) // (2 * of_a_prompt)
    for _ in range(studies):
        right = rng.beta(4.0, 1.0, prompt.max() + 1)[prompt][:, None]
        wrong = rng.random((2, answers, 2)) > right
        scores = np.where(wrong, 1 - label[:, None], label[:, None])
        table = two_forms(*scores, label, prompt=[f"prompt {k}" for k in prompt])
        base, arm = Judgments(table, "prompt").arms
        rows = rates_of_both(arm, base, {"variant": FORM}, ReadingPart())
        held += [row.interval[0] <= 0.0 <= row.interval[1] for row in rows]
    assert (held / studies >= 0.92).all()
