"""Which of two scores passes: by default the higher one, else the one that the reading names."""

import pytest

from rubriclab.model.data import Criterion, Option
from rubriclab.model.passing import (
    check_cut,
    check_passes,
    looks_reversed,
    named_by_score,
    passing_score,
)
from rubriclab.model.study import ReadingPart
from rubriclab.model.text import LabError
from rubriclab.runs.loading import plan_of_file

REVERSED = {"Pass": 1.0, "Fail": 2.0}


def criterion(low: str, high: str, scores: tuple[int, int] = (1, 2), name: str = "Ok") -> Criterion:
    return Criterion(name, (Option(scores[0], label=low), Option(scores[1], label=high)))


@pytest.mark.parametrize(
    ("passes", "score"), [("", 2), ("Pass", 1), (" pass ", 1), ("Fail", 2), ("1", 1), (2, 2)]
)
def test_label_or_score_says_which_score_passes(passes, score):
    assert passing_score((1, 2), REVERSED, ReadingPart(passes=passes)) == score


def test_label_goes_before_a_score_of_the_same_name():
    assert passing_score((0, 1), {"1": 0.0, "0": 1.0}, ReadingPart(passes="1")) == 0


def test_value_of_no_label_or_score_is_refused_with_what_there_is():
    with pytest.raises(LabError, match=r"passes is “Good”.*Use one of Pass, Fail, 1, 2\."):
        passing_score((1, 2), REVERSED, ReadingPart(passes="Good"))


def test_longer_scale_passes_at_its_upper_end():
    assert passing_score((1, 2, 3), {}, ReadingPart()) == 3


def test_passes_and_cut_exclude_each_other():
    with pytest.raises(ValueError, match="passes and cut"):
        ReadingPart(passes="Pass", cut=2)


def test_true_is_no_score_that_passes():
    with pytest.raises(ValueError, match="true or false"):
        ReadingPart(passes=True)


def test_criteria_with_the_same_scores_pass_at_the_same_one():
    one, other = criterion("Pass", "Fail"), criterion("Fail", "Pass", name="Other")
    check_passes([one, criterion("Pass", "Fail", name="Same")], ReadingPart(passes="Pass"))
    with pytest.raises(LabError, match="score 1 of “Ok” and score 2 of “Other”"):
        check_passes([one, other], ReadingPart(passes="Pass"))


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        (7, "cut is 7, but scores run from 1 to 5, so none would pass"),
        (1, "cut is 1, but scores run from 1 to 5, so all would pass. Use a number above 1"),
    ],
)
def test_cut_that_splits_no_scale_is_refused(cut, said):
    scales = [(1, 2, 3, 4, 5), (0, 1)]
    with pytest.raises(LabError, match=said):
        check_cut(scales[:1], ReadingPart(cut=cut))
    # One scale that it splits is enough; a run of choices has none.
    check_cut(scales, ReadingPart(cut=1))
    check_cut([()], ReadingPart(cut=cut))
    check_cut(scales, ReadingPart())


def test_passes_without_a_scale_of_two_scores_is_refused():
    longer = Criterion("Long", tuple(Option(score) for score in (1, 2, 3)))
    with pytest.raises(LabError, match="no criterion has two scores"):
        check_passes([longer], ReadingPart(passes="3"))
    check_passes([longer, criterion("Pass", "Fail")], ReadingPart(passes="Pass"))


@pytest.mark.parametrize(
    ("low", "high", "reversed_"),
    [
        ("Pass", "Fail", True),
        ("Yes", "No", True),
        ("Fail", "Pass", False),
        ("", "", False),
        ("OK", "Good", False),
        ("Convincing", "Not", False),
    ],
)
def test_lower_score_with_a_good_label_looks_reversed(low, high, reversed_):
    assert looks_reversed(criterion(low, high)) is reversed_


NOTE = (
    "The highest score, Fail, counts as a pass. If it is the other way round, set "
    '[reading] passes = "Pass".'
)


def test_a_score_that_stands_for_no_label_everywhere_is_refused():
    reading = ReadingPart(passes="Pass")
    assert named_by_score([criterion("Pass", "Fail")], reading).passes == "1"
    longer = criterion("Pass", "Fail", scores=(0, 1), name="Other")
    swapped = criterion("2", "1", name="Swapped")
    for criteria, passes in (([criterion("Pass", "Fail"), longer], "Pass"), ([swapped], "2")):
        with pytest.raises(LabError, match="no score stands for it in all criteria"):
            named_by_score(criteria, ReadingPart(passes=passes))


def planned(tmp_path, passes=None, options='[{score: 1, label: "Pass"}, {score: 2, label: Fail}]'):
    """Return the plan of a study with a rubric of two scores, 1 Pass and 2 Fail."""
    (tmp_path / "answers.csv").write_text("response\nA first answer.\nA second answer.\n")
    text = f"name: R\ncriteria:\n  - name: Ok\n    options: {options}\n"
    (tmp_path / "rubric.yaml").write_text(text)
    reading = "" if passes is None else f"[reading]\npasses = {passes}\n"
    (tmp_path / "study.toml").write_text(
        'name = "rev"\n[[data]]\nfile = "answers.csv"\n[rubric]\nfile = "rubric.yaml"\n'
        '[[judges]]\nname = "sim"\nkind = "simulated"\n' + reading
    )
    return plan_of_file(tmp_path / "study.toml")


def test_plan_notes_a_lower_score_that_looks_like_the_one_that_passes(tmp_path):
    assert NOTE in planned(tmp_path).notes
    assert NOTE not in planned(tmp_path, passes='"Pass"').notes
    assert NOTE not in planned(tmp_path, options="[{score: 0}, {score: 1, label: Pass}]").notes


def test_plan_refuses_a_value_that_the_rubric_does_not_have(tmp_path):
    with pytest.raises(LabError, match=r"“Good”.*Use one of Pass, Fail, 1, 2\."):
        planned(tmp_path, passes='"Good"')
    assert planned(tmp_path, passes="1").study.reading.passes == "1"
