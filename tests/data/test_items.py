"""Columns guessed with their reasons; rows as items, groups and raters, also of several answers a
row; rubrics; every fault with its line.
"""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import yaml

from rubriclab.data.answers_per_row import one_answer_a_row
from rubriclab.data.items import (
    guess_columns,
    holds_ratings,
    items_of,
    marks_of_no_rating,
    ratings_of,
)
from rubriclab.data.rubrics import read_rubric, rubric_of, rubric_of_text, yaml_value
from rubriclab.data.sample import data_path, sample, sample_rubrics
from rubriclab.data.tables import Table, delimited, read_table
from rubriclab.model.data import Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.text import LabError
from rubriclab.study.subjects import rated_items
from tests.study.kit import criterion

CASES = json.loads((Path(__file__).parents[1] / "golden" / "refused.json").read_text("utf-8"))
RUBRIC = Rubric("Help", (Criterion("Help", tuple(Option(score) for score in range(1, 6))),))


def table(text: str) -> Table:
    return delimited(text.encode(), "x.csv")


def made(text: str, **columns: Any) -> DataSet:
    return items_of(table(text), columns or guess_columns(table(text), RUBRIC).columns)


def test_columns_by_their_names() -> None:
    guess = guess_columns(
        table("Question;Modell;ANSWER;question_id;human_1;human_2\nq;m;a;1;3;4\n"), RUBRIC
    )
    assert guess.columns == {
        "response": "ANSWER",
        "instruction": "Question",
        "prompt": "question_id",
        "candidate": "Modell",
        "human": ["human_1", "human_2"],
    }
    assert guess.matched
    assert guess.reasons["human"] == "one column per rater, by their names"


QUESTION = [
    "Explica con tus palabras por qué llueve en la montaña",
    "Di qué hace el viento en el mar y en la costa",
    "¿Qué es una nube y de qué está hecha?",
]
ANSWER = "Porque el aire sube y se enfría, dice {} de la clase"
GIVEN = (1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1, 2)
ROWS = [(f"A-{k:02}", QUESTION[k % 3], ANSWER.format(k), score) for k, score in enumerate(GIVEN)]


@pytest.mark.parametrize(
    ("header", "more", "columns", "reason"),
    [
        (
            "Nº de ficha,Lo que se les pidió,Texto del alumno,valor",
            [""],
            {
                "response": "Texto del alumno",
                "instruction": "Lo que se les pidió",
                "human": ["valor"],
            },
            ("response", "the longest text: 51 characters on average"),
        ),
        (
            "ref.,enunciado del ejercicio,lo que escribió,prof. 1,prof. 2",
            [",{d}"],
            {
                "response": "lo que escribió",
                "instruction": "enunciado del ejercicio",
                "human": ["prof. 1", "prof. 2"],
            },
            ("human", "whole numbers from 1 to 5, like the rubric's scores"),
        ),
        (
            "ficha,Aufgabe,Schülertext,Punkte (Frau M.)",
            [""],
            {"response": "Schülertext", "instruction": "Aufgabe", "human": ["Punkte (Frau M.)"]},
            ("instruction", "a text that repeats from row to row"),
        ),
        (
            "ficha,pedido,texto,puntos,quién corrigió",
            [",ana", ",beto"],
            {
                "response": "texto",
                "instruction": "pedido",
                "human": ["puntos"],
                "rater": "quién corrigió",
            },
            ("rater", "it distinguishes the rows of one answer"),
        ),
        (
            "id,consigna,respuesta,x,y",
            [",ana", ",beto"],
            {"response": "respuesta", "instruction": "consigna", "human": ["x"], "rater": "y"},
            ("item_id", "“id” has one value in several rows, so rows are numbered instead"),
        ),
        (
            "ficha,consigna,respuesta,n,human",
            [",N/A"],
            {"response": "respuesta", "instruction": "consigna"},
            ("human", "“human” is not used: not all its cells are numbers"),
        ),
    ],
)
def test_odd_names_by_contents(
    header: str, more: list[str], columns: dict[str, Any], reason: tuple[str, str]
) -> None:
    lines = [f'{a},"{b}","{c}",{d}{end.format(d=d)}' for a, b, c, d in ROWS for end in more]
    read = table("\n".join([header, *lines]) + "\n")
    guess = guess_columns(read, RUBRIC)
    assert guess.columns == columns
    assert guess.matched == ("respuesta" in header)
    assert guess.reasons[reason[0]] == reason[1]
    items = items_of(read, guess.columns).items
    assert (len(items), len({item.prompt for item in items})) == (12, 3)


def test_names_in_other_languages() -> None:
    for header, cells, role, column in (
        ("Frage,Antwort", "eins,zwei", "response", "Antwort"),
        ("énoncé,réponse", "eins,zwei", "response", "réponse"),
        ("respuesta,Puntuación del profesor", "texto,3", "human", ["Puntuación del profesor"]),
        ("answer,Note", "texto,3", "human", ["Note"]),
    ):
        assert guess_columns(table(f"{header}\n{cells}\n"), RUBRIC).columns[role] == column


def test_what_is_no_score_and_no_id_is_not_taken_for_one() -> None:
    """The id stands five times; a running number and a position are no scores."""
    rows = "".join(f"q1,An answer of some length {k},{k + 1},{k % 3}\n" for k in range(5))
    assert guess_columns(table("id,answer,nr,position\n" + rows), RUBRIC).columns == {
        "response": "answer"
    }


def test_groups_come_from_repeated_instructions() -> None:
    rows = "".join(f"Instruction {k % 4},answer {k}\n" for k in range(12))
    items = made("instruction,answer\n" + rows).items
    assert len({item.prompt for item in items}) == 4
    assert items[0].prompt == items[4].prompt != items[1].prompt
    assert [item.prompt for item in made("instruction,answer\none,a\ntwo,b\n").items] == [
        None,
        None,
    ]
    assert [
        item.prompt for item in made("instruction,answer,prompt_id\none,a,p\none,b,q\n").items
    ] == ["p", "q"]


def test_rows_are_numbered_and_those_without_an_answer_left_out() -> None:
    dataset = made("instruction,answer\ni,a\ni, \ni,c\n")
    assert [item.item_id for item in dataset.items] == ["1", "3"]
    assert dataset.origin == "x.csv; 1 row without an answer left out"
    with pytest.raises(LabError, match="no row has an answer"):
        made("instruction,answer\ni,\n")


def test_raters_by_column_and_by_row() -> None:
    items = made('answer,ann,bo\na,1,\nb,"2,5",3\n', response="answer", human=["ann", "bo"]).items
    assert [dict(item.ratings) for item in items] == [{"ann": 1.0}, {"ann": 2.5, "bo": 3.0}]
    text = "id,answer,rater,score\n1,a,ann,2\n1,a,bo,3\n2,b,ann,4\n2,b,bo,\n"
    items = made(text).items
    assert [(item.item_id, dict(item.ratings)) for item in items] == [
        ("1", {"ann": 2, "bo": 3}),
        ("2", {"ann": 4}),
    ]
    unnamed = made("answer,rater,score\na,ann,2\na,bo,3\nb,ann,4\n").items
    assert [len(item.ratings) for item in unnamed] == [2, 1]


def test_one_answer_under_several_criteria_is_a_block() -> None:
    items = made("id,answer,criterion,score\n1,a,Style,2\n1,a,Depth,3\n2,b,Style,1\n").items
    assert [(item.item_id, item.criterion, item.block) for item in items] == [
        ("1", "Style", "1"),
        ("1", "Depth", "1"),
        ("2", "Style", "2"),
    ]


LOOK_ALIKE = ("A", "a", "A ", "Ａ", "A\u200b", "A\ufe0f")
NO_SCORES = ("nan", "inf", "1e400", "1" * 23, "four", "NA", "-2000000000")
ID = {"item_id": "id", "response": "answer"}
BY_ROW, RATED = ID | {"rater": "rater", "human": "score"}, "id,answer,rater,score\n1,a,ann,2\n"


@pytest.mark.parametrize(
    ("text", "columns", "words"),
    [
        *(
            (
                f'id,answer\nA,x\nB,y\n"{other}",z\n',
                ID,
                r"line 4, column “id”: the ID .* in line 2",
            )
            for other in LOOK_ALIKE
        ),
        (
            "id,answer\n\u00c5,x\nA\u030a,y\n",
            ID,
            "line 3, column “id”: the ID .* looks like “\u00c5” in line 2",
        ),
        ("id,answer\n" + "x" * 1_001 + ",a\n", ID, "line 2, column “id”: 1,001 characters"),
        ("id,answer\n1,a\n,b\n", ID, "line 3, column “id”: the cell is empty"),
        *(
            (
                f"answer,human\na,1\nb,{cell}\n",
                {"response": "answer", "human": "human"},
                "line 3, column “human”: “.*” is not a score.*leave the cell empty",
            )
            for cell in NO_SCORES
        ),
        (f"{RATED}1,other,bo,3\n", BY_ROW, "line 3, column “answer”: not the same text"),
        (f"{RATED}1,a,ann,3\n", BY_ROW, "second rating of “ann”"),
        (f"{RATED}2,b,Ann,3\n", BY_ROW, "line 3, column “rater”: “Ann” looks like “ann” in line 2"),
        (f"{RATED}1,a,,3\n", BY_ROW, "a rating without a rater"),
        (
            "answer\na\n",
            {"response": "nothing"},
            "no column “nothing” for response. Its columns are “answer”",
        ),
        ("answer\na\n", {"responce": "answer"}, "“responce” is not a column role"),
        ("answer\na\n", {"instruction": "answer"}, "which column has the answers"),
        (
            "answer,r,a,b\nx,1,2,3\n",
            {"response": "answer", "rater": "r", "human": ["a", "b"]},
            "exactly one human score",
        ),
    ],
)
def test_what_is_no_item_is_refused_by_its_line(
    text: str, columns: dict[str, Any], words: str
) -> None:
    with pytest.raises(LabError, match=words):
        items_of(table(text), columns)


def test_cells_that_mean_no_rating_count_only_if_somebody_says_so() -> None:
    read = table("answer,anna,ben\na,4,n/a\nb, n/a ,-1\nc,5,3\nd,-,2\n")
    columns = {"response": "answer", "human": ["anna", "ben"]}
    assert marks_of_no_rating(read, ["anna", "ben"]) == {"n/a": 2, "-": 1, "-1": 1}
    assert marks_of_no_rating(read, ["ben"]) == {"n/a": 1, "-1": 1}
    with pytest.raises(LabError, match=r'line 3.*unrated = \["-1"\] under \[\[data\]\]'):
        items_of(read, columns, unrated=["n/a", "-"])
    with pytest.raises(LabError, match=r'“-” is not a score.*unrated = \["-"\]'):
        items_of(read, columns, unrated=["n/a", "-1"])
    kept = items_of(read, columns, unrated=["n/a", "-", "-1"]).items
    assert [dict(item.ratings) for item in kept] == [
        {"anna": 4.0},
        {},
        {"anna": 5.0, "ben": 3.0},
        {"ben": 2.0},
    ]


NOTES = [
    (f"An answer with enough words for number {k}", 1 + k % 5, k % 3 and "ok") for k in range(24)
]


@pytest.mark.parametrize("noted", [False, True])
def test_notes_beside_a_row_that_is_in_the_file_twice_are_no_raters(noted: bool) -> None:
    """Neither if some are empty, nor if all are filled."""
    rows = [*NOTES, (NOTES[4][0], 2, "twice"), (NOTES[5][0], 3, "twice")]
    lines = [f"{text},{score},{note or ('good' if noted else '')}" for text, score, note in rows]
    guess = guess_columns(table("\n".join(["answer,human_1,remark", *lines])), RUBRIC)
    assert guess.columns["human"] == ["human_1"]
    assert "rater" not in guess.columns


@pytest.mark.parametrize(
    ("header", "score", "people", "unclear"),
    [
        ("answer,Note Anna,Note Bernd", "n/a", [], ("Note Anna", "Note Bernd")),
        ("answer,human_1,human_2", "-", ["human_1", "human_2"], ()),
        ("answer,clarity,depth", "k. A.", [], ("clarity", "depth")),
        ("answer,human_score,remark", "good", ["human_score"], ()),
        ("answer,id,wert", "hoch", [], ("wert",)),
    ],
)
def test_scores_with_marks_of_no_rating_are_never_dropped_in_silence(
    header: str, score: str, people: list[str], unclear: tuple[str, ...]
) -> None:
    """A third of the second column are marks, so that it is hardly a column of numbers."""
    lines = [
        f"An answer with enough words for number {k},{1 + k % 5},"
        f"{score if k % 3 == 1 else 5 - k % 5}"
        for k in range(24)
    ]
    guess = guess_columns(table("\n".join([header, *lines])), RUBRIC)
    assert guess.columns.get("human", []) == people
    assert guess.unclear == unclear
    assert ("human" in guess.reasons) == bool(people or unclear)


@pytest.mark.parametrize(
    "cells",
    [
        ["4", "n/a", "n/a", "3", "n/a"],
        ["1", "2", "3", *"abcdef", "4", "5", "1", "2", "3", "4", "5"],
        ["1", "2", "3", "a text that is too long to be a mark"],
        ["", ""],
    ],
)
def test_a_column_of_texts_holds_no_ratings(cells: list[str]) -> None:
    assert not holds_ratings(cells)


def test_minus_one_is_a_rating_on_a_scale_that_has_it() -> None:
    read = table("answer,human\na,-1\nb,0\nc,1\n")
    assert marks_of_no_rating(read, ["human"]) == {}
    made = items_of(read, {"response": "answer", "human": "human"}).items
    assert [item.ratings["human"] for item in made] == [-1.0, 0.0, 1.0]


def test_people_who_rate_by_column_cannot_say_what_means_no_rating() -> None:
    """A table of ratings alone belongs to no study, so its fault names no setting of one."""
    with pytest.raises(LabError, match="“n/a” is not a score") as fault:
        ratings_of(table("item_id,human\na,4\nb,n/a\n"), {"item_id": "item_id", "human": "human"})
    assert "unrated" not in str(fault.value)


# ------------------------------------------------------------------------------------------ rubrics
CLARITY = Criterion(
    "Clarity", (Option(1, "no: muddled"), Option(2, "yes", "B")), "Can it be followed?"
)
TWO = Rubric("Essays", (CLARITY, Criterion("Depth", (Option(0, "#flat"), Option(10, "deep")))))


@pytest.mark.parametrize(
    ("text", "criteria"),
    [
        (
            "Essay: how well is it argued?\n5 = Good\n and clear\nScore 3: Some\n- **1** (poor): "
            "None\n",
            [
                (
                    "Essay",
                    "how well is it argued?",
                    {5: "Good and clear", 3: "Some", 1: "poor: None"},
                )
            ],
        ),
        (
            "Argument\n\n1. none\n2. some 3-4 reasons\n\nLanguage: spelling\n1\tbad\n2\tgood",
            [
                ("Argument", "", {1: "none", 2: "some 3-4 reasons"}),
                ("Language", "spelling", {1: "bad", 2: "good"}),
            ],
        ),
        (
            "Tone\r-1: cold\r0\u200b: even\r- 1: warm",
            [("Tone", "", {-1: "cold", 0: "even", 1: "warm"})],
        ),
    ],
)
def test_a_pasted_rubric_is_read_line_by_line(
    text: str, criteria: list[tuple[str, str, dict[int, str]]]
) -> None:
    read = rubric_of_text(text).criteria
    assert [(c.name, c.description, {o.score: o.description for o in c.options}) for c in read] == [
        (name, about, dict(sorted(options.items()))) for name, about, options in criteria
    ]
    with pytest.raises(LabError, match="No scores found"):
        rubric_of_text("Is it good?\nbetween 1 and 5")
    for score in ("4.5", "9999"):  # not the name of what is judged
        with pytest.raises(LabError, match=f"“{score}” is not a score"):
            rubric_of_text(f"{score}: best\n3: some\n1: none")


def test_a_document_and_a_table_are_a_rubric() -> None:
    body = TWO.document() | {"name": "Essays"}
    assert rubric_of(yaml_value(yaml.safe_dump(body), "x.yaml")) == TWO
    assert read_rubric(json.dumps(body).encode(), "x.json") == TWO
    rows = (
        "criterion,score,description,label,criterion_description\n"
        "Clarity,2,yes,B,Can it be followed?\nClarity,1,no: "
        "muddled,,\nDepth,0,#flat,,\nDepth,10,deep,,\n"
    )
    assert read_rubric(rows.encode(), "Essays.csv") == TWO
    single = read_rubric(b"score;description\n1;rude\n2;kind\n", "Tone.csv").criteria
    assert single == (Criterion("Tone", (Option(1, "rude"), Option(2, "kind"))),)
    assert (
        rubric_of(yaml_value("name: Tone\noptions: {1: rude, 2: kind}\n", "x.yaml")).criteria
        == single
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("text", "words"),
    [
        *CASES["rubrics"],
        ("".join(f"<<: {{a{k}: 1}}\n" for k in range(2_000)), "unknown key 'a0'"),
        ("- " * 60_000, "nested deeper than 64"),
        ("[" * 5_000, "nested deeper than 64"),
        ("x: " + "1" * 5_000, "5,000 digits"),
        (
            "criteria: [{name: x, options: [{score: 1" + "0" * 30 + "}, {score: 2}]}]\n",
            "Use a whole number",
        ),
        ("x" * 2_000_001, "the limit is 2 MB"),
    ],
)
def test_what_is_no_rubric_is_refused(text: str, words: str) -> None:
    name = "x.json" if text.startswith("{") else "x.csv" if text.startswith("score,") else "x.yaml"
    with pytest.raises(LabError, match=words):
        read_rubric(text.encode("utf-8", "surrogateescape"), name)


def test_what_comes_with_the_lab() -> None:
    with pytest.raises(LabError, match="cannot read a rubric from"):
        read_rubric(b"x", "x.exe")
    assert not any(
        item.ratings for item in sample().items
    )  # the author's intention is no person's rating
    assert {rubric.name for rubric in sample_rubrics()} >= {"Helpfulness", "Writing"}
    with pytest.raises(LabError, match="did not come with"):
        data_path("nothing.csv")


def test_ratings_in_columns_named_after_criteria_are_of_those_alone() -> None:
    """Clarity's score is no rating of depth; what names no criterion is of all."""
    rubric = Rubric("r", (criterion("Clarity"), criterion("Depth of thought")))
    text = (
        "essay,Clarity,human_1 depth of thought,human_2 clarity,length\nA long "
        "essay.,5,2,4,12\nAnother "
        "essay.,1,3,2,9\n"
    )
    guess = guess_columns(table(text), rubric)
    assert guess.columns["human"] == ["Clarity", "human_1 depth of thought", "human_2 clarity"]
    items, _, notes = rated_items(items_of(table(text), guess.columns), rubric)
    assert notes == []
    assert [(item.criterion, item.ratings) for item in items[:2]] == [
        ("Clarity", {"human": 5.0, "human 2": 4.0}),
        ("Depth of thought", {"human 1": 2.0}),
    ]
    others, _, notes = rated_items(
        DataSet("d", (Item("1", "essay", ratings={"ann": 3.0, "Clarity": 2.0}),)), rubric
    )
    assert len(notes) == 1
    assert notes[0].startswith(
        "Human scores of 1 rater name no criterion, so they are compared with each of the 2 "
        "criteria."
    )
    assert [item.ratings for item in others] == [{"ann": 3.0, "human": 2.0}, {"ann": 3.0}]
    (alone,), *_ = rated_items(DataSet("d", others[:1]), Rubric("r", (criterion("Clarity"),)))
    assert alone.ratings == {"ann": 3.0, "human": 2.0}
    assert Rubric("r", (criterion("Clarity"),)).criterion_named("Clarity") is None


ARENA = "id,prompt,model_a,model_b,response_a,response_b,winner\n"


def answers(text: str, **columns: Any) -> list[tuple[Any, ...]]:
    """(group, candidate, text, ratings, instruction) of each item."""
    table = one_answer_a_row(read_table(text.encode(), "pairs.csv"), columns)
    dataset = items_of(table, guess_columns(table).columns)
    return [
        (i.prompt, i.candidate, i.response, [*i.ratings.values()], i.instruction)
        for i in dataset.items
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "prompt,response_a,response_b,winner\nWhy?,Because.,No idea.,A\nHow?,So.,Thus.,tie\n",
            [
                ("1", "a", "Because.", [1], "Why?"),
                ("1", "b", "No idea.", [0], "Why?"),
                ("2", "a", "So.", [0.5], "How?"),
                ("2", "b", "Thus.", [0.5], "How?"),
            ],
        ),
        (
            ARENA + "q7,Why?,gpt,llama,Because.,No idea.,model_b\n",
            [("q7", "gpt", "Because.", [0], "Why?"), ("q7", "llama", "No idea.", [1], "Why?")],
        ),
        (
            ARENA + "q7,Why?,gpt,llama,Because.,No idea.,gpt\n",
            [("q7", "gpt", "Because.", [1], "Why?"), ("q7", "llama", "No idea.", [0], "Why?")],
        ),
        (
            "question,chosen,rejected\nWhy is it?,Because it is.,No idea at all.\n",
            [
                ("1", "chosen", "Because it is.", [1], "Why is it?"),
                ("1", "rejected", "No idea at all.", [0], "Why is it?"),
            ],
        ),
        (
            "prompt,output 1,output 2,output 3,score 1,score 2,score 3\nWhy?,x,y,z,5,4,1\n",
            [
                ("1", "1", "x", [5], "Why?"),
                ("1", "2", "y", [4], "Why?"),
                ("1", "3", "z", [1], "Why?"),
            ],
        ),
        # The column says something else than who won.
        (
            "prompt,response_a,response_b,label\nWhy?,x,y,spam\n",
            [("1", "a", "x", [], "Why?"), ("1", "b", "y", [], "Why?")],
        ),
    ],
)
def test_rows_with_several_answers_are_split(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert answers(text) == expected


def test_a_table_is_left_as_it_is_where_its_columns_say_so() -> None:
    for text, columns in (
        (
            "prompt,response_a,response_b\nWhy?,x,y\n",
            {"response": "response_a"},
        ),  # the study chose one
        ("prompt,response,response_b\nWhy?,x,y\n", {}),
        ("prompt,answer_1,answer_2\nWhy?,4,5\n", {}),  # scores
        ("prompt,response,reference_1,reference_2\nWhy?,x,y,z\n", {}),
        ("prompt,response_a\nWhy?,x\n", {}),
    ):
        table = read_table(text.encode(), "t.csv")
        assert one_answer_a_row(table, columns) is table


def test_faults_name_the_line_of_the_file_and_the_note_says_what_was_done() -> None:
    table = one_answer_a_row(read_table(b"prompt,answer_a,answer_b\nWhy?,x,y\nHow?,x,y\n", "t.csv"))
    assert (table.line(0), table.line(1), table.line(2), table.size) == (
        "line 2",
        "line 2",
        "line 3",
        4,
    )
    alike = one_answer_a_row(read_table(b"a b,a_b,answer_a,answer_b\n1,2,x,y\n", "t.csv"))
    assert {"a b", "a_b"} < set(alike.columns)  # nothing is lost
    assert (
        table.note == "Each row has 2 answers (“answer_a”, “answer_b”): read as one answer per row."
    )


def chat(*messages: tuple[str, Any]) -> str:
    return (
        json.dumps({"messages": [{"role": role, "content": content} for role, content in messages]})
        + "\n"
    )


def test_a_chats_last_answer_is_scored_and_what_was_said_before_is_its_instruction() -> None:
    rows = [
        chat(("user", "Why?"), ("assistant", "Because.")),
        chat(
            ("system", "Be brief."),
            ("user", [{"type": "text", "text": "How?"}]),
            ("assistant", "So."),
        ),
    ]
    rows.append(
        '{"messages": [{"from": "human", "value": "Who?"}, {"from": "gpt", "value": "I."}]}\n'
    )
    table = one_answer_a_row(read_table("".join(rows).encode(), "chats.jsonl"))
    assert table.column("response") == ["Because.", "So.", "I."]
    assert table.column("instruction") == ["Why?", "System: Be brief.\n\nUser: How?", "Who?"]
    assert "the last answer of each is scored" in table.note
    # Also where the study names the column: a list is no answer.
    whole = one_answer_a_row(read_table(rows[0].encode(), "chats.jsonl"), {"response": "messages"})
    assert whole.column("messages") == ["Because."]
    assert whole.column("instruction") == ["Why?"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            chat(("assistant", "Yes?"), ("user", "Why?")),
            r"row 2, column “messages”: its last message is from “user”",
        ),
        (
            '{"messages": null}\n',
            "row 2, column “messages”: it holds no messages; .* Leave the row out",
        ),
        ('{"messages": [1, null, {}]}\n', "it holds no messages"),
    ],
)
def test_a_chat_without_an_answer_is_refused_by_its_row(row: str, expected: str) -> None:
    with pytest.raises(LabError, match=expected):
        one_answer_a_row(
            read_table((chat(("user", "Why?"), ("assistant", "So.")) + row).encode(), "chats.jsonl")
        )


def test_more_answers_than_codes_of_a_parquet_file_are_split(tmp_path: Path) -> None:
    """Each batch of the file has codes of its own; together they are more than such a code can
    count.
    """
    numbers = [str(k) for k in range(40_000)]
    yes, no = [f"yes {k}" for k in numbers], [f"no {k}" for k in numbers]
    columns = {"prompt": numbers, "response_a": yes, "response_b": no}
    parquet.write_table(pa.table(columns), tmp_path / "pairs.parquet")
    table = one_answer_a_row(read_table(tmp_path / "pairs.parquet"))
    assert (table.size, table.column("candidate", 2)) == (80_000, ["a", "b"])
    assert table.column("response") == [text for both in zip(yes, no, strict=True) for text in both]
