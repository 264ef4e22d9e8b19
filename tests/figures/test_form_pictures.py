"""Check the pictures of forms and references by scores whose correlations are known by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rubriclab.core.topic import Findings
from rubriclab.figures.charts import draw
from rubriclab.figures.form_pictures import (
    PEOPLE,
    agreement_by_form,
    best_form,
    changes_by_form,
    reference_words,
    scores_of_forms,
    table_of_forms,
    yardsticks_of_forms,
)
from rubriclab.figures.marks import LIGHT
from rubriclab.figures.pictures import level_curves
from rubriclab.model.judgment import JudgmentTable
from rubriclab.words.several import model_of_rater, whom
from rubriclab.words.subject import subjects_by_name
from rubriclab.words.what_helps import has_help, helps_answer
from tests.tables import ORDERS, findings, in_forms, only, options

ONE = ORDERS[:1]
IN_ORDER, FIRST_TWO_TURNED, LAST_TWO_TURNED = [1, 2, 3, 4, 5], [2, 1, 3, 4, 5], [1, 2, 3, 5, 4]
"""Five scores: rho is 1 - 6 sum d^2 / 120, and r is the same. Two neighbours turned: 1 - 12/120 =
.9; the first two against the last two: sum d^2 = 4, so 1 - 24/120 = .8.
"""


def scored(scores: list[int], times: int = 1, **more: Any) -> JudgmentTable:
    return options([[score] for score in scores * times], ONE, **more)


def two_judges(times: int = 1, rater: str = "a") -> Findings:
    """A default and a form of “judge”, which turns the first two; “other” turns the last two."""
    ratings = [{rater: float(score)} for score in IN_ORDER * times]
    forms = {
        level: scored(scores, times, ratings=ratings)
        for level, scores in (
            ("arabic", IN_ORDER),
            ("letters", FIRST_TWO_TURNED),
            ("roman", LAST_TWO_TURNED),
        )
    }
    table = in_forms(forms)
    first, form, other = table.conditions
    other = replace(other, judge="other", variant=first.variant)
    return findings(replace(table, conditions=(first, form, other)))


@pytest.mark.papers(67, 72)
def test_rho_and_r_of_a_form_with_people_and_with_a_judge_by_hand() -> None:
    found = two_judges()
    for name in ("spearman", "pearson"):
        people = {"variant": "ids = letters", "against": "people"}
        judge = {"variant": "ids = letters", "against": 2}
        assert only(found, f"variant_{name}", 1, **people).value == pytest.approx(0.9)
        assert only(found, f"variant_{name}", 1, **judge).value == pytest.approx(0.8)
        apart = {
            row.of.get("against"): row.value for row in found.select(f"variant_{name}_difference")
        }
        assert apart == pytest.approx({None: 0.9 - 1.0, 2: 0.8 - 0.9})


@pytest.mark.papers(67)
def test_a_cell_is_bold_where_the_difference_from_the_default_leaves_out_0() -> None:
    """Forty items of each score: the letters lose .1 of rho with people, of which no item is in
    doubt; with the default itself there is no difference.
    """
    found = two_judges(times=40)
    dataset = found.conditions[0].dataset
    assert yardsticks_of_forms(found, dataset) == [PEOPLE, "other", "judge"]
    picture = table_of_forms(found, dataset).picture
    assert picture is not None
    cells = {
        (line.group, line.name, point.label): (point.text, point.decided, round(point.tone, 2))
        for line in picture.series
        for point in line.points
    }
    rho, r = "Spearman's rho", "Pearson's r"
    # A difference of -.1 is beyond .08, which has full colour: orange, as worse.
    assert cells == {
        ("judge", "default", rho): ("1.00", False, 0.0),
        ("judge", "default", r): ("1.00", False, 0.0),
        ("judge", "ids = letters", rho): ("0.90", True, 1.0),
        ("judge", "ids = letters", r): ("0.90", True, 1.0),
        ("other", "default", rho): ("0.90", False, 0.0),
        ("other", "default", r): ("0.90", False, 0.0),
    }
    assert "2 of 2 differences from the default form leave out 0" in picture.alt
    titles = [panel.title for panel in agreement_by_form(found, dataset, "other").picture.panels]
    assert titles == [rho, r, "rho, form − default", "r, form − default"]
    for shown in (agreement_by_form(found, dataset), table_of_forms(found, dataset, "other")):
        assert draw(shown.picture, LIGHT).data


@pytest.mark.thorough
@pytest.mark.papers(67)
@pytest.mark.parametrize(
    ("rater", "name"),
    [
        ("gpt4_score 1", "GPT-4"),
        ("gpt-4.1", "GPT-4.1"),
        ("GPT-4o rating", "GPT-4o"),
        ("claude_score", "Claude"),
        ("human_1", ""),
        ("Gemma", ""),
        ("gpt4 as checked by Ann", ""),
    ],
)
def test_scores_that_a_model_gave_are_not_called_peoples(rater: str, name: str) -> None:
    assert model_of_rater(rater) == name
    found = two_judges(rater=rater)
    assert whom(found) == (f"{name}'s scores" if name else "people")
    shown = agreement_by_form(found, found.conditions[0].dataset)
    assert whom(found) in shown.title


@pytest.mark.papers(72)
def test_the_better_form_is_named_where_the_interval_leaves_no_doubt() -> None:
    """In the default the first two are turned (r = .9), in letters none is (r = 1)."""
    ratings = [{"a": float(score)} for score in IN_ORDER * 40]
    forms = {
        level: scored(scores, 40, ratings=ratings)
        for level, scores in (("arabic", FIRST_TWO_TURNED), ("letters", IN_ORDER))
    }
    found = findings(in_forms(forms))
    (row,) = found.select("variant_pearson_difference")
    assert row.value == pytest.approx(0.1)
    said = best_form(found, found.conditions[0].dataset)
    assert said.startswith(
        "Ask judge in the form “ids = letters”: r with people is 0.10 higher than in the default "
        "form (95% CI "
    )
    # The other way round letters lose .1: the default is kept.
    kept = best_form(two_judges(times=40), found.conditions[0].dataset)
    assert kept.startswith(
        "For judge, no form surely agrees better with people than the default form. Keep the "
        "default."
    )


@pytest.mark.papers(60, 70)
def test_what_a_form_changes_is_drawn_as_its_rows_are() -> None:
    """Letters turn 1 and 2: the mean stays, and two of five scores change by a point."""
    found = two_judges(times=8)
    shown = changes_by_form(found, found.conditions[0].dataset)
    assert shown.picture is not None
    drawn = {
        panel.title + ", " + panel.subtitle: [
            round(point.value, 6) for line in panel.series for point in line.points
        ]
        for panel in shown.picture.panels
    }
    assert drawn == {
        "Mean score, form \u2212 default": [0.0],
        "Size of an answer's change, in either direction": [0.4],
        "Scores that change, the judge's noise included": [0.4],
    }
    assert (
        "beyond the judge's noise is not known. Too few answers, or none, were asked twice"
        in shown.note
    )
    assert draw(shown.picture, LIGHT).data


@pytest.mark.papers(28)
def test_levels_run_as_the_study_lists_them_whichever_is_the_default() -> None:
    ratings = [{"a": float(score)} for score in IN_ORDER * 4]
    forms = {
        level: scored(scores, 4, ratings=ratings)
        for level, scores in (
            ("low", IN_ORDER),
            ("medium", FIRST_TWO_TURNED),
            ("high", LAST_TWO_TURNED),
        )
    }
    found = findings(in_forms(forms, "reasoning_effort"))
    dataset = found.conditions[0].dataset
    for measure in ("variant_shift", "pearson"):
        picture = level_curves(found, measure, "reasoning_effort", dataset)
        assert picture is not None
        assert picture.levels == ("low", "medium", "high")


@pytest.mark.papers(71)
def test_a_run_of_forms_says_whether_averaging_them_helps() -> None:
    """Ten orders of repeats in two forms: of a form the tab speaks of averaging forms, not of
    orders.
    """
    random = np.random.default_rng(3)
    level = random.integers(2, 5, (60, 1))
    forms = {
        name: options(level + random.integers(-1, 2, (60, 4)), ONE, [0] * 4)
        for name in ("arabic", "letters")
    }
    found = findings(in_forms(forms))
    names = subjects_by_name(found, "judge", found.conditions[0].dataset)
    (form,) = (subject for subject in names.values() if subject.variant)
    assert has_help(found, form)
    answer = helps_answer(found, form)
    (question,) = answer.questions
    assert question.title == "Several forms of the prompt, averaged"
    assert "the mean over forms of the prompt" in answer.line
    assert "orders" not in answer.headline


def with_references(times: int = 1) -> Findings:
    """Without a reference: as people, 1 to 5. In descending order: the reverse. With a reference of
    score 2: always 3 but for the last of five.
    """
    ratings = [{"a": float(score)} for score in IN_ORDER * times]
    asked = {0: IN_ORDER, 1: IN_ORDER[::-1], 2: [3, 3, 3, 3, 5]}
    table = in_forms(
        {level: scored(scores, times, ratings=ratings) for level, scores in asked.items()},
        "reference",
    )
    plain, descending, two = (replace(about, strategy="fixed") for about in table.conditions)
    descending = replace(descending, strategy="descending", variant=plain.variant)
    return findings(replace(table, conditions=(plain, descending, two)))


@pytest.mark.papers(68)
def test_no_reference_is_called_none_and_is_the_default_form_alone() -> None:
    """rho of the default is 1; of descending, which has no reference either, it is -1."""
    found = with_references(times=4)
    picture = level_curves(found, "spearman", "reference", found.conditions[0].dataset)
    assert picture is not None
    assert picture.levels == ("none", "2")
    (line,) = picture.series
    assert line.points[0].value == pytest.approx(1.0)
    assert "without a reference answer" in line.points[0].hover[0]
    assert "with a reference of score 2" in line.points[1].hover[0]
    joined, alone = draw(picture, LIGHT).data
    assert (joined.mode, list(joined.x)) == ("lines+markers", [1.0])
    assert (alone.mode, list(alone.x), alone.marker.color) == ("markers", [0.0], LIGHT.ground)


@pytest.mark.papers(68, 69)
def test_a_reference_pulls_scores_in_words_where_the_intervals_leave_no_doubt() -> None:
    found = with_references(times=40)
    dataset = found.conditions[0].dataset
    (said,) = reference_words(found, dataset)
    assert said == ("A reference of score 2 pulls judge's scores to 3: 80% of calls instead of 20%")
    assert said in scores_of_forms(found, dataset).note
    # Of five items 4 of 5 and 1 of 5 have intervals that overlap: nothing is said.
    assert reference_words(with_references(), dataset) == []
