"""Scores of a rubric's options: whole numbers, and what is said of options without any."""

import pytest

from rubriclab.data.rubrics import rubric_of, rubric_of_text
from rubriclab.model.text import LabError


def rubric(*options: dict[str, object]):
    return rubric_of({"name": "R", "criteria": [{"name": "Ok", "options": list(options)}]})


@pytest.mark.parametrize(
    ("good", "bad"),
    [("Good", "Bad"), ("yes", "no"), ("PASS", "fail"), ("Correct", "Incorrect"), ("Met", "Unmet")],
)
def test_two_labels_that_say_which_is_good_need_no_scores(good, bad):
    for options in ([good, bad], [bad, good]):
        made = rubric(*({"label": label} for label in options)).criteria[0]
        assert [(option.score, option.label) for option in made.options] == [(0, bad), (1, good)]


def test_pasted_options_with_labels_alone_are_read_too():
    made = rubric_of_text('[{"label": "Pass", "description": "fine"}, {"label": "Fail"}]')
    assert made.criteria[0].options[1].label == "Pass"


def test_other_labels_without_scores_are_refused_with_the_cure():
    with pytest.raises(
        LabError, match=r"no option has a score.*for example Low 0, High 1, if High"
    ):
        rubric({"label": "Low"}, {"label": "High"})
    with pytest.raises(LabError, match="Poor 0, Fair 1, Good 2, if Good is best"):
        rubric({"label": "Poor"}, {"label": "Fair"}, {"label": "Good"})
    with pytest.raises(LabError, match="for example Bad 0, Good 1"):
        rubric({"description": "fine"}, {"description": "not"})


def test_an_option_without_a_score_beside_others_is_refused():
    with pytest.raises(LabError, match=r"option 2: the score is None. Use a whole number"):
        rubric({"score": 1, "label": "Good"}, {"label": "Bad"})


def test_half_points_are_refused_with_the_cure():
    with pytest.raises(
        LabError, match=r"option 1: the score is 0\.5.*Double the scores \(1, 2, 3\) and put 0\.5,"
    ):
        rubric({"score": 0.5}, {"score": 1}, {"score": 1.5})
    with pytest.raises(LabError, match=r"the score is 0\.3\. Use a whole number\.$"):
        rubric({"score": 0.3}, {"score": 1})
