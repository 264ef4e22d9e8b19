"""Texts inside objects can be chosen, and data that is perhaps not what was meant is said before a judge is asked."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from rubriclab.datasets.items import build_dataset
from rubriclab.datasets.mapping import guess_mapping
from rubriclab.datasets.remarks import remarks
from rubriclab.datasets.tables import read_table, table_notes
from rubriclab.model import Criterion, DataError, Dataset, Item, Rubric, ScoreOption

SEVEN = Rubric("seven", (Criterion("c", tuple(ScoreOption(score) for score in range(1, 8))),))


def lines(*records: object) -> bytes:
    return "\n".join(json.dumps(record) for record in records).encode()


def test_a_text_inside_an_object_is_a_column_and_is_guessed() -> None:
    about = {"input": "Why?", "output": {"meta": {"lang": "de"}, "text": "Darum.", "tokens": 3}}
    frame = read_table("nested.jsonl", lines(about, {"input": "How?", "output": None}, about))
    assert frame.columns.tolist() == ["input", "output", "output.meta.lang", "output.text"]
    assert frame["output.text"].tolist() == ["Darum.", None, "Darum."]
    assert frame["output"][0] == about["output"]
    assert "“output.meta.lang”" in " ".join(table_notes(frame))
    assert guess_mapping(frame).response == "output.text"
    made = build_dataset(frame, guess_mapping(frame), name="n", skip_empty=True)
    assert [item.response for item in made.items if isinstance(item, Item)] == ["Darum.", "Darum."]


def test_objects_of_ratings_and_flat_tables_stay_as_they_are() -> None:
    frame = read_table("rated.jsonl", lines(*[{"response": "a", "human": {"fluency": 3}}] * 2))
    assert frame.columns.tolist() == ["response", "human"]
    assert table_notes(frame) == ("2 rows, 2 columns.",)


def test_endless_keys_make_no_endless_table() -> None:
    frame = read_table("wide.jsonl", lines(*({"response": {f"k{i}": "x"}} for i in range(500))))
    assert frame.shape == (500, 41)


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([Item("1", response="x" * 200_000)], "The longest response has 200,000 characters (item “1”)"),
        ([Item(str(i), response='{"text": "x"}') for i in range(3)], "are JSON objects"),
        ([Item(str(i), response=f"{i}.5") for i in range(3)], "3 of the first 3 responses are bare numbers, as “0.5”"),
        (
            [Item(str(i), response="text", human=(1 + i % 3,)) for i in range(30)],
            "from 1 to 3, the rubric's scores from 1 to 7",
        ),
        ([Item("1", response="text", human=(9.0,))], "some lie outside"),
        (
            [Item(str(i), instruction=f"question {i // 4}", response=f"text {i}") for i in range(12)],
            "12 responses answer 3 instructions. Name the prompt group too",
        ),
    ],
)
def test_what_is_perhaps_not_meant_is_said(items: list[Item], said: str) -> None:
    (remark,) = remarks(Dataset("d", tuple(items)), SEVEN)
    assert said in remark


def test_good_data_has_no_remarks() -> None:
    items = tuple(Item(str(i), response=f"A text, number {i}.", human=(1 + i % 7,)) for i in range(30))
    assert remarks(Dataset("d", items), SEVEN) == ()
    grouped = tuple(Item(str(i), f"question {i // 4}", f"text {i}", prompt=f"q{i // 4}") for i in range(12))
    assert remarks(Dataset("d", grouped)) == (), "what belongs together is named"
    assert remarks(Dataset("d", tuple(Item(str(i), "one task", f"text {i}") for i in range(12)))) == ()


def test_an_error_names_the_columns_that_may_be_meant() -> None:
    columns = {f"n{i}": ["1", "2"] for i in range(30)} | {"zuletzt": ["Ein langer Text.", "Noch einer."]}
    frame = pd.DataFrame(columns)
    with pytest.raises(DataError, match=r"Columns: zuletzt, .* and 11 more"):
        build_dataset(frame, guess_mapping(frame), name="n")
