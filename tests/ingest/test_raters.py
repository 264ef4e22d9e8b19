"""Whose rating it is: by column, by a column of names, by a list of names, or nobody's."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pandas as pd
import pytest

from rubriclab.datasets.items import build_dataset
from rubriclab.datasets.mapping import ColumnMapping, guess_mapping, mapping_from_value
from rubriclab.datasets.raters import column_raters
from rubriclab.datasets.recipes import load_recipe
from rubriclab.datasets.tables import read_table
from rubriclab.findings.ratings import ratings_of
from rubriclab.model import DataError, Dataset, Item, Study
from rubriclab.study.reading import load_study
from rubriclab.study.writing import study_parts
from tests.labkit import study

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"


def built(text: str, *, name: str = "a.csv", **changes: object) -> Dataset:
    frame = read_table(name, text.encode())
    return build_dataset(frame, mapping_from_value(changes, base=guess_mapping(frame)), name="d")


def rated(dataset: Dataset) -> list[tuple[str, tuple[float, ...], tuple[str, ...]]]:
    return [(item.item_id, item.human, item.raters) for item in dataset.items if isinstance(item, Item)]


# ---------------------------------------------------------------- a column a rater


def test_a_column_a_rater_is_named_by_its_column() -> None:
    dataset = built("id,response,Ann,Bob\na,r,3,\nb,s,4,5\nc,t,,\n", human=["Ann", "Bob"])
    assert rated(dataset) == [("a", (3.0,), ("Ann",)), ("b", (4.0, 5.0), ("Ann", "Bob")), ("c", (), ())]


@pytest.mark.parametrize("header", ["human", "human_score", "rater_1", "Ann"])
def test_one_column_alone_may_be_a_mean_and_is_nobodys(header: str) -> None:
    assert rated(built(f"id,response,{header}\na,r,3\n", human=header)) == [("a", (3.0,), ())]


@pytest.mark.parametrize("header", ["rating_1,rating_2", "Rating 1,Rating 2", "ratings1,ratings2"])
def test_columns_of_ratings_by_number_are_slots(header: str) -> None:
    assert rated(built(f"id,response,{header}\na,r,3,4\n")) == [("a", (3.0, 4.0), ())]


def test_lists_in_a_cell_are_slots() -> None:
    dataset = built('id,response,human,other\na,r,"[3, 4]",5\n', human=["human", "other"])
    assert rated(dataset) == [("a", (3.0, 4.0, 5.0), ())]


@pytest.mark.parametrize(
    ("wide", "names"),
    [
        # What names the criterion is taken off, so that a rater is the same under every criterion.
        ({"Style": ("ann_style", "bob_style"), "Depth": ("ann_depth", "bob_depth")}, ["ann", "bob", "ann", "bob"]),
        ({"RE": ("Human 1 RE", "Human 2 RE"), "CH": ("Human 1 CH", "Human 2 CH")}, ["Human 1", "Human 2"] * 2),
        ({"Relevance": ("H1 RE", "H2 RE"), "Coherence": ("H1 CH", "H2 CH")}, ["H1", "H2"] * 2),
        (
            {"Overall quality": ("overall_quality_ann", "overall_quality_bob")},
            ["overall_quality_ann", "overall_quality_bob"],
        ),
        ({"Style": ("x1", "x2"), "Depth": ("y1", "y2")}, ["x1", "x2", "y1", "y2"]),
        # Slots and single columns are nobody's.
        ({"Style": ("style rating 1", "style rating 2"), "Depth": ("depth",)}, ["", "", ""]),
    ],
)
def test_a_rater_of_a_wide_table_is_the_same_under_every_criterion(
    wide: dict[str, tuple[str, ...]], names: list[str]
) -> None:
    assert list(column_raters(ColumnMapping(human_by_criterion=tuple(wide.items()))).values()) == names


def test_the_same_column_twice_is_refused() -> None:
    with pytest.raises(DataError, match="“Ann” is named twice as ratings"):
        built("id,response,Ann\na,r,3\n", human=["Ann", "Ann"])


# ---------------------------------------------------------------- one row a rating

LONG = "item_id,response,annotator_id,rating\na,r,w1,3\nb,s,w1,4\na,r,w2,5\nb,s,w3,\n"


def test_rows_of_one_item_become_one_item() -> None:
    assert guess_mapping(read_table("a.csv", LONG.encode())).rater == "annotator_id"
    dataset = built(LONG)
    assert rated(dataset) == [("a", (3.0, 5.0), ("w1", "w2")), ("b", (4.0,), ("w1",))]
    items = pd.DataFrame([one[1:] for one in rated(dataset)], columns=["raters", "rater_names"])
    assert ratings_of(items).names == ("w1", "w2")


@pytest.mark.parametrize("header", ["annotator", "Rater", "worker_id", "WorkerId", "rated by", "rater_name", "expert"])
def test_columns_of_raters_are_guessed(header: str) -> None:
    mapping = guess_mapping(read_table("a.csv", f"id,response,{header},score\na,r,1,3\n".encode()))
    assert (mapping.rater, mapping.human) == (header, ("score",))


@pytest.mark.parametrize(
    ("header", "human"),
    [
        ("annotator", ("annotator",)),
        ("annotator,rater_1,rater_2", ("rater_1", "rater_2")),
        ("expert,human_a", ("expert",)),
    ],
)
def test_a_column_of_ratings_is_not_taken_for_one_of_raters(header: str, human: tuple[str, ...]) -> None:
    cells = ",".join("3" for _ in header.split(","))
    mapping = guess_mapping(read_table("a.csv", f"id,response,{header}\na,r,{cells}\n".encode()))
    if mapping.rater is None:
        assert mapping.human == human
    else:
        assert mapping.human_by_criterion == (("a", ("human_a",)),)


def test_rows_without_an_id_are_one_item_where_their_texts_are() -> None:
    dataset = built("question,response,rater,score\nq,r,w1,3\nq,s,w1,4\nq,r,w2,5\n")
    assert rated(dataset) == [("1", (3.0, 5.0), ("w1", "w2")), ("2", (4.0,), ("w1",))]


def test_criteria_may_stand_in_rows_or_in_columns() -> None:
    rows = built("id,response,criterion,rater,score\na,r,Style,w1,3\na,r,Depth,w1,4\na,r,Style,w2,5\n")
    columns = built("id,response,rater,s,d\na,r,w1,3,4\na,r,w2,5,\n", rater="rater", human={"Style": "s", "Depth": "d"})
    expected = [("a:Style", (3.0, 5.0), ("w1", "w2")), ("a:Depth", (4.0,), ("w1",))]
    assert rated(rows) == rated(columns) == expected
    assert [item.block for item in rows.items if isinstance(item, Item)] == ["a", "a"]


def test_raters_may_be_named_beside_a_list_of_ratings() -> None:
    lines = [
        {"id": "a", "response": "r", "human": [3, None, 5], "raters": ["w1", "w2", 3]},
        {"id": "b", "response": "s", "human": {"Style": [1, 2]}, "raters": ["w1", "w2"]},
        {"id": "c", "response": "t", "human": [4, 4], "raters": None},
    ]
    dataset = built("\n".join(map(json.dumps, lines)), name="a.jsonl", rater="raters")
    assert rated(dataset) == [
        ("a", (3.0, 5.0), ("w1", "3")),
        ("b:Style", (1.0, 2.0), ("w1", "w2")),
        ("c", (4.0, 4.0), ()),
    ]


def test_names_are_compared_as_people_read_them() -> None:
    """Numbers without .0, an ë of two characters as one, no blanks around: still one rater each."""
    frame = pd.DataFrame(
        {"id": ["a", "b", "a", "b"], "response": ["r", "s", "r", "s"], "score": [1, 2, 3, 4]}
        | {"rater": [7.0, 7, "Zo\u0065\u0308", " Zo\u00eb "]}
    )
    frame = frame.astype({"rater": object})
    dataset = build_dataset(frame, guess_mapping(frame), name="d")
    assert rated(dataset) == [("a", (1.0, 3.0), ("7", "Zoë")), ("b", (2.0, 4.0), ("7", "Zoë"))]


def test_ten_thousand_raters_are_read() -> None:
    rows = "".join(f"i{k % 1000},r{k % 1000},w{k},{k % 5 + 1}\n" for k in range(10_000))
    dataset = built("id,response,worker_id,score\n" + rows)
    assert len(dataset) == 1000
    assert all(len(item.raters) == 10 for item in dataset.items if isinstance(item, Item))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (LONG + "a,r,w1,4\n", ["line 6", "second rating of “a”", "“w1”", "line 2"]),
        (LONG + "a,other,w4,4\n", ["line 6", "“a” has another response", "line 2"]),
        (LONG + "a,r,,4\n", ["line 6", "“rating”", "rater is not named", "“annotator_id”"]),
        (LONG + 'a,r,w4,"[1, 2]"\n', ["line 6", "2 ratings by the rater “w4”"]),
        (LONG + 'a,r,"[""w4"", ""w5""]",1\n', ["line 6", "1 rating, and 2 raters"]),
        (LONG + f"c,r,{'w' * 201},1\n", ["“c”", "of 201 letters"]),
        (LONG + "a,r,w4,high\n", ["line 6", "'high'"]),
        ('id,response,raters,human\na,r,"[""w"", ""w""]","[1, 2]"\n', ["line 2", "two ratings of one rater"]),
    ],
)
def test_faults_of_raters_name_their_place(text: str, words: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        built(text)
    for word in words:
        assert word in str(caught.value)


def test_several_columns_of_ratings_beside_a_column_of_raters_are_refused() -> None:
    with pytest.raises(DataError, match="“who” names who gave the rating of a row, and 2 columns hold ratings"):
        built("id,response,who,x,y\na,r,w,1,2\n", rater="who", human=["x", "y"])


# ---------------------------------------------------------------- studies, recipes


def test_a_study_file_names_the_column_of_raters(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text(LONG.replace("annotator_id", "by whom"))
    (tmp_path / "study.toml").write_text(
        '[data]\nfile = "d.csv"\n[data.columns]\nrater = "by whom"\n[rubric]\nname = "r"\n'
        'criteria = [{name = "q", options = [{score = 1}, {score = 2}]}]\n'
        '[[judges]]\nname = "j"\nkind = "simulated"\nmodel = "simulated"\n'
    )
    assert rated(load_study(tmp_path / "study.toml").dataset)[0] == ("a", (3.0, 5.0), ("w1", "w2"))


@pytest.mark.parametrize("kept", [{}, {"raters": "a column of the data", "annotator": "w9"}])
def test_a_study_written_as_files_keeps_its_raters(tmp_path: Path, kept: dict[str, str]) -> None:
    items = (
        Item("a", "q", "r", "quality", human=(3.0, 5.0), raters=("Zoë", "w2"), columns=kept),
        Item("b", "q", "s", "quality", human=(4.0,), columns=kept),
    )
    for given in (items, tuple(Item("a", "q", "r", "quality", human=(3.0,), columns=kept) for _ in (0,))):
        about = study()
        made = Study(about.name, Dataset("d", given), about.judges, about.design, about.rubric)
        for name, text in study_parts(made).items():
            (tmp_path / name).write_text(text)
        again = load_study(tmp_path / "study.toml").dataset
        assert rated(again) == rated(made.dataset)


def test_slots_of_published_sets_stay_slots() -> None:
    if not SHARED.exists():
        pytest.skip(f"no real data at {SHARED}")
    hanna = SHARED / "hanna"
    files = [hanna / "hanna_llm_stories.csv.gz", hanna / "hanna_metric_scores_llm.csv.gz"]
    for dataset in (
        load_recipe("hanna", files=files),
        load_recipe("hanna-jsonl", files=[hanna / "human96.jsonl"]),
        load_recipe("summeval", files=[SHARED / "summeval" / "summac_summeval.json.gz"]),
    ):
        assert all(len(item.human) == 3 and not item.raters for item in dataset.items if isinstance(item, Item))


def test_the_long_form_of_real_ratings_gives_the_wide_one() -> None:
    if not SHARED.exists():
        pytest.skip(f"no real data at {SHARED}")
    stories = [json.loads(line) for line in (SHARED / "hanna" / "human96.jsonl").read_text().splitlines()[:12]]
    rows = [
        {
            "item_id": story["story_id"],
            "response": story["story"],
            "criterion": criterion,
            "rater": f"r{k}",
            "rating": r,
        }
        for k in range(3)
        for story in stories
        for criterion, ratings in story["ratings"].items()
        for r in ratings[k : k + 1]
    ]
    frame = read_table("long.csv.gz", gzip.compress(pd.DataFrame(rows).to_csv(index=False).encode()))
    dataset = build_dataset(frame, guess_mapping(frame), name="d")
    assert {(i.block, i.criterion): i.human for i in dataset.items if isinstance(i, Item)} == {
        (str(story["story_id"]), criterion): tuple(map(float, ratings))
        for story in stories
        for criterion, ratings in story["ratings"].items()
    }
    assert {i.raters for i in dataset.items if isinstance(i, Item)} == {("r0", "r1", "r2")}
