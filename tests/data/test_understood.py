"""Check what is said of a pasted rubric before it is used."""

import pytest

from rubriclab.data.understood import commas_kept, understood
from rubriclab.model.text import LabError

YAML = """criterion: Helpfulness
options:
  - {score: 1, description: Useless or harmful}
  - {score: 3, description: Partly helpful, something is missing}
  - {score: 5, description: Fully helpful}
"""


def test_yaml_with_missing_scores_and_a_comma() -> None:
    read = understood(YAML)
    assert read.sentence() == "Read as YAML: three scores, 1, 3 and 5."
    assert read.missing == (2, 4)
    assert read.notes == (
        "Line 4: a comma in the text. We kept “Partly helpful, something is missing” as one text.",
    )
    (criterion,) = read.rubric.criteria
    assert (read.rubric.name, criterion.scores) == ("Helpfulness", (1, 3, 5))
    assert criterion.options[1].description == "Partly helpful, something is missing"
    whole = read.with_missing()
    assert whole.criteria[0].scores == (1, 2, 3, 4, 5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Tone\n5: Kind\n4: Fine", "Read as one score per line: two scores, 4 and 5."),
        ('{"options": {"1": "bad", "2": "good"}}', "Read as JSON: two scores, 1 and 2."),
        ("| score | description |\n|---|---|\n| 1 | bad |\n| 2 | good |", "Read as a table"),
        ("score\tdescription\n1\tbad\n2\tgood", "Read as a table: two scores, 1 and 2."),
        ("A\n1: x\n2: y\n\nB\n1: x\n2: y", "Read as one score per line: two criteria."),
    ],
)
def test_each_form_is_named(text: str, said: str) -> None:
    read = understood(text)
    assert read.sentence().startswith(said)
    assert (read.missing, read.notes) == ((), ())


def test_a_score_without_a_description_is_said() -> None:
    read = understood('{"options": {"1": "bad", "2": "", "3": "good"}}')
    assert read.bare() == ["Score 2 has no description. The judge would see only the number."]


def test_a_word_that_is_left_out_before_scores_is_said() -> None:
    read = understood("Hilfe\nNote 1: kaum\nNote 2: ganz")
    assert read.sentence() == "Read as one score per line: two scores, 1 and 2."
    assert read.notes == ("“Note” before each score is left out: the judge sees the number.",)
    assert understood("Help\nScore 1: no\nScore 2: yes").notes == ()


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("Please be fair.\nGive 5 points to kind answers.", "Line 2, “Give 5 points to kind"),
        ("Tone: kind", "Line 1, “Tone: kind”, came nearest."),
    ],
)
def test_a_text_without_scores_names_the_form_and_the_nearest_line(text: str, nearest: str) -> None:
    with pytest.raises(LabError, match="Write one score per line") as refused:
        understood(text)
    assert nearest in str(refused.value)


@pytest.mark.parametrize(
    "line",
    [
        '  - {score: 3, description: "quoted, whole"}',
        "  - {score: 3, description: no comma here}",
        "  - [1, 2, 3]",
        "  - score: 3, or so",
        "{a, b}",
    ],
)
def test_other_lines_stay_as_they_are(line: str) -> None:
    assert commas_kept(line) == (line, [])


def test_what_is_judged_is_said_before_it_is_used() -> None:
    """The first line of a letter would be in every prompt."""
    read = understood("Hallo Jonas, so bewerten wir:\n1: schlecht\n2: gut")
    said = "What is judged, as every prompt says it: “Hallo Jonas, so bewerten wir”."
    assert read.judged() == said
    read = understood("Tone: is it kind?\n1: no\n2: yes\n\nB\n1: x\n2: y")
    assert read.judged().endswith("“Tone” (is it kind?), “B”.")
