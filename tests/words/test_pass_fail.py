"""What is said of a judge that passes or fails answers."""

from dataclasses import replace

import numpy as np
import pytest

from rubriclab.core.certification import labels_to_certify
from rubriclab.core.differences import differences, paired
from rubriclab.core.topic import Findings
from rubriclab.figures.first_pictures import first_picture
from rubriclab.figures.tab_pictures import difference_forest
from rubriclab.model.data import INTENDED
from rubriclab.model.judgment import JudgmentTable
from rubriclab.model.study import ReadingPart
from rubriclab.words.contrasts import compare_answer, rate_of
from rubriclab.words.pass_fail import pass_fail_answers, pass_fail_lines
from rubriclab.words.phrases import NBSP
from rubriclab.words.subject import subject_of
from rubriclab.words.with_people import people_answers
from tests.tables import findings, options

LABEL = np.r_[np.ones(80), np.zeros(20), np.full(500, np.nan)]
VERDICT = np.r_[np.ones(72), np.zeros(8), np.ones(6), np.zeros(14), np.ones(390), np.zeros(110)]


def judged(rater: str = "rater") -> JudgmentTable:
    """80 labelled passes, of which 72 pass; 20 fails, of which 6 pass; of 500 more 390 pass."""
    ratings = [{rater: float(x)} if np.isfinite(x) else {} for x in LABEL]
    return options(VERDICT[:, None], [[0, 1]], ratings=ratings)


def lines(table: JudgmentTable, labels: str = "") -> str:
    reading = ReadingPart.model_validate({"labels": labels})
    return "\n".join(pass_fail_lines(findings(table, reading=reading), 0))


def test_each_number_is_said_once_with_its_interval() -> None:
    said = lines(judged())
    assert "passes 90% of what people pass (95% CI 81 to 95%)" in said
    assert "fails 70% of what people fail (95% CI 48 to 86%)" in said
    assert "passes 78% of all answers" in said
    assert "its passes and its fails: 80% (95% CI 73 to 87%)" in said
    assert "corrected by its error rates: 80% (95% CI 69 to 91%)" in said
    assert "Kappa is 0.58, with 80% passes" in said
    assert "agree on 67%" in said
    assert f"label about {labels_to_certify()} passes and as many fails" in said
    assert "Labelled so far: 80 passes and 20 fails." in said


@pytest.mark.parametrize(
    ("labels", "held", "refused"),
    [
        ("by label", "Corrected by its error rates", "orrected by what people say"),
        ("by verdict", "Corrected by what people say", "orrected by its error rates"),
    ],
)
def test_only_the_correction_that_holds_is_said(labels: str, held: str, refused: str) -> None:
    said = lines(judged(), labels)
    assert held in said
    assert refused not in said


def test_labels_chosen_by_the_verdict_leave_error_rates_unsaid() -> None:
    said = lines(judged(), "by verdict")
    assert "How often it is right about passes and fails is unknown." in said
    assert "90%" not in said.replace("right about 90%", "")


def test_orders_are_named_by_their_first_label() -> None:
    label = np.tile([1.0, 0.0], 40)
    score = np.stack([label, np.where(np.arange(80) < 20, 1 - label, label)], axis=1)
    table = options(score, [[0, 1], [1, 0]], ratings=[{"rater": x} for x in label.tolist()])
    named = tuple(
        replace(order, labels=tuple({0: "Fail", 1: "Pass"}[k] for k in order.shown))
        for order in table.orderings
    )
    said = lines(replace(table, orderings=named))
    assert "with Fail listed first, 100% of passes and 100% of fails" in said
    assert "with Pass listed first, 75% of passes and 75% of fails" in said


def test_levels_of_an_author_are_never_called_peoples() -> None:
    answer = pass_fail_answers(found(judged(INTENDED)))[0]
    said = " ".join([answer.headline, answer.line])
    assert "meant to pass" in said
    assert "Labelled by people so far: none" in said
    assert "people pass" not in said
    assert "people say" not in said
    assert "people's" not in said


def test_scores_of_a_model_are_named_after_it() -> None:
    answer = pass_fail_answers(found(judged("gpt4_score")))[0]
    assert "what GPT-4 passes" in answer.line
    assert "people pass" not in answer.line


def found(table: JudgmentTable) -> Findings:
    return findings(table)


def test_a_model_in_the_place_of_people_is_named_with_every_pass_rate() -> None:
    found = findings(judged("gpt4_score 1"))
    (said,) = people_answers(found)
    assert "than that of GPT-4" in said.questions[1].sentence
    assert "people" not in said.questions[1].sentence
    both = findings(
        options(
            np.tile([0.0, 1.0], (20, 1)), [[0, 1], [1, 0]], ratings=[{"gpt4_score 1": 1.0}] * 20
        )
    )
    shown = first_picture(both, subject_of(both), 0)
    assert shown.note.endswith("Dotted: GPT-4 passes 100.0%.")
    assert shown.picture is not None
    assert shown.picture.alt.endswith("; GPT-4's scores: 100.0%.")


@pytest.mark.parametrize("passing", ["", "0"])
def test_the_picture_of_a_difference_says_the_number_of_its_sentence(passing: str) -> None:
    """A row is of the list from low to high; sentences are of the passing score listed first."""
    reading = ReadingPart(passes=passing)
    favours_first, fair = np.tile([0.0, 1.0], (20, 1)), np.ones((20, 2))
    fair[::2] = 0.0
    both = [
        findings(options(score, [[0, 1], [1, 0]]), reading=reading)
        for score in (favours_first, fair)
    ]
    pair = paired(both[0], 0, both[1], 0)
    rows = differences(pair)
    (asked, *_) = compare_answer(pair, ("a", "b"), rows).questions
    assert f"100.0{NBSP}percentage points more for a" in asked.sentence
    picture = difference_forest(rows, ("a", "b"), rate_of(pair))
    assert picture is not None
    assert picture.points[0].value == pytest.approx(100)
    assert picture.points[0].text == "+100.0"
    assert picture.points[0].hover[1].startswith("Percentage points, a")
