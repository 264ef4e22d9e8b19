"""Check which columns are taken for people's scores, and that this is said."""

from pathlib import Path

import pytest

from rubriclab.data.answers_per_row import one_answer_a_row
from rubriclab.data.items import columns_sentence, guess_columns
from rubriclab.data.tables import Table, delimited, read_table
from rubriclab.model.data import Criterion, Option, Rubric

FILES = Path(__file__).parent / "files"
FIVE = tuple(Option(score) for score in range(1, 6))
TWO = Rubric("Two", (Criterion("Fluency", FIVE), Criterion("Relevance", FIVE)))


def rubric(name: str = "Help") -> Rubric:
    return Rubric(name, (Criterion(name, FIVE),))


RATINGS = ("12345", "45123", "23451", "51234", "34512", "12345")
"""Ratings of six answers, a row per answer and a digit per column; each column has 1 to 5."""


def rated(*columns: str) -> Table:
    """Return a table of six answers with the first columns of RATINGS."""
    rows = [
        ",".join([f"An answer number {k} of some length", *ratings[: len(columns)]])
        for k, ratings in enumerate(RATINGS)
    ]
    return delimited("\n".join([f"response,{','.join(columns)}", *rows]).encode(), "x.csv")


@pytest.mark.parametrize(
    ("columns", "human"),
    [
        (("annotator_1", "human_score"), ["human_score"]),
        (("annotator_1", "annotator_2", "overall"), ["overall"]),
        (("annotator_1", "gold_score"), ["gold_score"]),
        (("annotator_1", "rating"), ["rating"]),
        (("annotator_1", "Overall rating (1-5)"), ["Overall rating (1-5)"]),
        (("annotator_1", "mean_rating"), ["mean_rating"]),
        (("annotator_1", "annotator_2", "score"), ["annotator_1", "annotator_2"]),
        (("annotator_1", "annotator_2"), ["annotator_1", "annotator_2"]),
        (("rating_1", "rating_2"), ["rating_1", "rating_2"]),
        (("annotator_anna", "annotator_ben"), ["annotator_anna", "annotator_ben"]),
        (("score",), ["score"]),
    ],
)
def test_an_overall_score_goes_before_single_raters(
    columns: tuple[str, ...], human: list[str]
) -> None:
    assert guess_columns(rated(*columns), rubric()).columns["human"] == human


@pytest.mark.parametrize(
    "columns",
    [
        ("score_fluency", "score_relevance"),
        ("fluency_score", "relevance_score"),
        ("rating_coherence", "rating_empathy"),
        ("fluency", "relevance"),
        ("human_fluency", "human_relevance"),
        ("nota_claridad", "nota_fluidez"),
        ("annotator_fluency", "annotator_relevance"),
        ("score_ann", "score_bob"),
        ("fluency",),
        ("model_score",),
        ("gpt4_rating", "claude_rating"),
    ],
)
def test_aspects_are_no_raters_of_one_thing(columns: tuple[str, ...]) -> None:
    guess = guess_columns(rated(*columns), rubric())
    assert "human" not in guess.columns
    if "fluency" in columns[0]:
        assert "used as" in guess.reasons["human"]
        assert "columns = { human = [" in guess.reasons["human"]


@pytest.mark.parametrize(
    "columns",
    [
        ("score_fluency", "score_relevance"),
        ("fluency_score", "relevance_score"),
        ("human_fluency", "human_relevance"),
        ("Fluency", "Relevance"),
    ],
)
def test_aspects_that_the_rubric_names_are_its_criteria(columns: tuple[str, ...]) -> None:
    table = rated(*columns, "score_style", "overall")
    guess = guess_columns(table, TWO)
    assert guess.columns["human"] == [*columns]
    assert guess.reasons["human"] == "named after the rubric's criteria"
    one = guess_columns(table, rubric("Fluency"))
    assert one.columns["human"] == [columns[0]]


def test_a_messy_table_is_read_and_what_was_taken_is_said() -> None:
    table = read_table(FILES / "answers_messy.csv")
    guess = guess_columns(table, rubric("Helpfulness"))
    assert guess.columns == {
        "response": "LLM Answer (raw)",
        "instruction": "User Prompt",
        "prompt": "Prompt ID",
        "candidate": "model_name",
        "human": ["Overall rating (human, 1-5)"],
    }
    assert columns_sentence(table, guess.columns, guess.reasons) == (
        "Columns of “answers_messy.csv”: answer = “LLM Answer (raw)” (the longest text: 233 "
        "characters on average); "
        "instruction = “User Prompt”; human score = “Overall rating "
        "(human, 1-5)”; prompt group = “Prompt ID”; writer = “model_name”. Not used: “Unnamed: 0”, "
        "“annotator_1”, "
        "“notes”, “latency_ms”."
    )


def test_ranks_are_no_scores() -> None:
    table = delimited(b"response,rank\nThe sea is blue and wide.,1\nA river is long.,3\n", "x.csv")
    assert "human" not in guess_columns(table).columns


def test_what_an_annotator_decided_is_no_answer() -> None:
    rows = b"text,answer\nThe sea is blue and wide.,accept\nA river is long and cold.,reject\n"
    assert guess_columns(delimited(rows, "prodigy.csv")).columns["response"] == "text"


def test_answers_counted_from_zero_are_read_one_a_row() -> None:
    rows = b"prompt,response_0,response_1,winner\nSay hi,Hi,Ho,1\nSay no,No,Na,0\n"
    table = one_answer_a_row(delimited(rows, "pku.csv"))
    assert table.column("response") == ["Hi", "Ho", "No", "Na"]
    assert table.column("human") == ["0", "1", "1", "0"]


def test_a_winner_written_as_1_0_is_never_answer_0() -> None:
    rows = b"prompt,response_0,response_1,winner\nSay hi,Hi,Ho,1.0\nSay no,No,Na,1.0\n"
    assert "human" not in one_answer_a_row(delimited(rows, "pku.csv")).columns
