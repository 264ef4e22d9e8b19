"""Check how records are found in JSON: frames in each orientation, and exports of annotation
tools.
"""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from rubriclab.data.answers_per_row import one_answer_a_row
from rubriclab.data.items import guess_columns, items_of
from rubriclab.data.tables import Table, read_table
from rubriclab.model.data import Criterion, DataSet, Item, Option, Rubric
from rubriclab.model.text import LabError
from rubriclab.study.subjects import rated_items
from tests.study.kit import criterion

FILES = Path(__file__).parent / "files"
ONE = Rubric("Help", (Criterion("Help", tuple(Option(score) for score in range(1, 6))),))
TWO = Rubric("Two", (criterion("helpfulness"), criterion("clarity")))
FRAME = pd.DataFrame({"id": [7, 8], "response": ["one text", "two texts"], "rating": [4, 2]})


def table(value: Any, name: str = "x.json") -> Table:
    return read_table(json.dumps(value).encode(), name)


def made(read: Table, rubric: Rubric = ONE) -> DataSet:
    read = one_answer_a_row(read)
    return items_of(read, guess_columns(read, rubric).columns)


def ratings(read: Table, rubric: Rubric = ONE) -> list[dict[str, float]]:
    return [dict(item.ratings) for item in made(read, rubric).items]


# ---- DataFrame.to_json


@pytest.mark.parametrize("orient", ["columns", "records", "split", "index"])
def test_a_frame_is_read_in_each_orientation(orient: str) -> None:
    read = read_table(FRAME.to_json(orient=orient).encode(), "x.json")  # type: ignore[call-overload]
    assert read.columns == ("id", "response", "rating")
    assert read.first(9) == [["7", "one text", "4"], ["8", "two texts", "2"]]


def test_a_frame_with_its_schema_and_one_in_a_line_are_read() -> None:
    read = read_table(FRAME.to_json(orient="table").encode(), "x.json")
    assert read.column("response") == ["one text", "two texts"]
    line = read_table(FRAME.to_json().encode() + b"\n", "x.jsonl")
    assert line.column("response") == ["one text", "two texts"]
    assert read_table((FILES / "pandas_to_json.json"), "x.json").size == 3


def test_labels_of_rows_become_ids() -> None:
    named = FRAME.drop(columns="id").set_index(pd.Index(["r1", "r2"]))
    for orient in ("columns", "index"):
        read = read_table(named.to_json(orient=orient).encode(), "x.json")  # type: ignore[call-overload]
        assert read.column("id") == ["r1", "r2"]
        assert read.column("rating") == ["4", "2"]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([["one text", 4], ["two texts", 2]], "without the names of their columns"),
        (
            {"x": {"p": "a", "q": "b"}, "y": {"p": "c", "q": "d"}},
            'rows or columns.*orient="records"',
        ),
        ({"0": {"0": "a", "1": "b"}, "1": {"0": "c", "1": "d"}}, "rows or columns"),
        ({"train": [{"a": 1}], "test": [{"a": 2}]}, "lists are under “train”, “test”"),
        (
            {"columns": ["a", "b"], "index": [0], "data": [[1]]},
            "row 1 of “data”: expected a list of 2",
        ),
        ("text", "holds a JSON text"),
    ],
)
def test_what_may_be_rows_or_columns_is_refused(value: Any, words: str) -> None:
    with pytest.raises(LabError, match=words):
        table(value)


def test_other_known_holders_of_records() -> None:
    rows = [{"row_idx": 0, "row": {"response": "one text"}, "truncated_cells": []}]
    assert table({"features": [], "rows": rows}).first(1) == [["one text"]]
    assert table({"response": ["a", "b"], "rating": [1, 2]}).first(2) == [["a", "1"], ["b", "2"]]
    assert table({"a": {"x": 1}, "b": {"y": 2}}).columns == ("id", "x", "y")


# ---- Label Studio


def result(value: Any, question: str = "helpfulness", kind: str = "rating") -> dict[str, Any]:
    return {"from_name": question, "to_name": "r", "type": kind, "value": {kind: value}}


def task(*annotations: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "data": {"prompt": "Why?", "response": "Because."},
        "annotations": list(annotations),
        "predictions": [{"result": [result(1)]}],
        "drafts": [{"result": [result(1)]}],
        "total_annotations": 4,
    } | more


def annotation(rater: Any, *results: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": 1, "completed_by": rater, "was_cancelled": False, "result": list(results)} | more


def test_label_studios_full_export_has_ratings_beside_the_text() -> None:
    items = made(read_table(FILES / "label_studio.json")).items
    assert [item.response.split()[0] for item in items] == ["The", "Rain", "A"]
    assert [[*item.ratings.values()] for item in items] == [[5.0], [4.0], [3.0]]
    assert [item.instruction for item in items] == ["Why?"] * 3


def test_raters_and_questions_of_label_studio_are_told_apart() -> None:
    read = table(
        [
            task(
                annotation(
                    {"id": 7, "email": "ann@x.org"}, result(4), result(2, "clarity", "number")
                ),
                annotation(8, result(["5"], kind="choices"), result(["bad"], "clarity", "choices")),
            )
        ]
    )
    items, _, _ = rated_items(made(read, TWO), TWO)
    assert [(item.criterion, sorted(item.ratings.values())) for item in items] == [
        ("helpfulness", [4.0, 5.0]),
        ("clarity", [2.0]),
    ]
    # A rubric of something else: two questions are no raters of one thing.
    assert ratings(read) == [{}]
    # A label is kept, and is no rating.
    assert json.loads(read.column("annotations")[0]) == {"clarity": {"annotator 8": ["bad"]}}


def test_skipped_annotations_drafts_and_predictions_are_no_ratings() -> None:
    read = table(
        [
            task(annotation(1, result(4)), annotation(2, result(1), was_cancelled=True)),
            task(annotation(1), id=2),
            task(id=3),
        ]
    )
    assert ratings(read) == [{"helpfulness": 4.0}, {}, {}]
    assert ratings(table([task(), task(id=2)])) == [{}, {}]


def test_a_rating_of_a_part_of_the_text_is_no_rating_of_it() -> None:
    part = result(2)
    part["value"] |= {"start": 0, "end": 4}
    assert ratings(table([task(annotation(1, part))])) == [{}]


def test_two_ratings_of_one_rater_are_refused() -> None:
    twice = task(annotation(1, result(4)), annotation(1, result(5)))
    with pytest.raises(LabError, match="record 1: annotator 1 rated “helpfulness” twice, 4 and 5"):
        table([twice])
    assert ratings(table([task(annotation(1, result(4)), annotation(1, result(4)))])) == [
        {"helpfulness": 4.0}
    ]


def test_chats_within_a_task_are_unfolded() -> None:
    chat = [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So."}]
    items = made(table([task(annotation(1, result(3)), data={"messages": chat})])).items
    assert [(item.instruction, item.response, [*item.ratings.values()]) for item in items] == [
        ("Why?", "So.", [3.0])
    ]


# ---- Argilla

FIELDS = {"prompt": "Why?", "response": "Because."}
LONG = "A comment of the annotator that is longer than any answer in this file is."


def argilla_1(*responses: tuple[str, int, str]) -> dict[str, Any]:
    return {
        "fields": FIELDS,
        "responses": [
            {"user_id": user, "values": {"quality": {"value": value}}, "status": status}
            for user, value, status in responses
        ],
        "suggestions": [{"question_name": "quality", "value": 1}],
        "external_id": "e",
    }


def flat(values: list[int], users: list[str], states: list[str]) -> dict[str, Any]:
    return FIELDS | {
        "quality.responses": values,
        "quality.responses.users": users,
        "quality.responses.status": states,
        "quality.suggestion": 1,
        "quality.suggestion.agent": "m",
    }


GIVEN = [("u1", 4, "submitted"), ("u2", 1, "draft"), ("u3", 2, "discarded"), ("u4", 5, "submitted")]
HUB = [{"user_id": user, "value": value, "status": status} for user, value, status in GIVEN]
USERS, VALUES, STATES = ([*part] for part in zip(*GIVEN, strict=True))
WANTED = [{"annotator u1": 4.0, "annotator u4": 5.0}]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "record",
    [
        argilla_1(*GIVEN),
        {
            "id": "i",
            "fields": FIELDS,
            "responses": {
                "quality": [{"user_id": "u1", "value": 4}, {"user_id": "u4", "value": 5}],
                "comment": [{"user_id": "u1", "value": LONG}],
            },
            "suggestions": {"quality": {"value": 1}},
            "status": "completed",
        },
        flat(VALUES, USERS, STATES),
        FIELDS | {"quality": HUB, "quality-suggestion": 1, "metadata": "{}"},
        FIELDS | {"quality": {"user_id": USERS, "value": VALUES, "status": STATES}},
    ],
)
def test_argillas_forms_give_submitted_ratings(record: dict[str, Any], tmp_path: Path) -> None:
    read = table([record])
    assert ratings(read) == WANTED
    assert made(read).items[0].response == "Because."
    parquet.write_table(pa.Table.from_pylist([record]), tmp_path / "x.parquet")
    assert ratings(read_table(tmp_path / "x.parquet")) == WANTED


def test_a_suggestion_is_no_rating() -> None:
    record = flat([], [], [])
    assert ratings(table([record, record])) == [{}, {}]


# ---- nested ratings


def test_nested_ratings_by_aspect_are_ratings_of_criteria() -> None:
    """As SummEval has them: a list of what each expert says."""
    said = [{"helpfulness": 5, "clarity": 2}, {"helpfulness": 4, "clarity": None}]
    read = table([{"id": "a", "summary": "A short summary.", "expert_annotations": said}])
    items, _, _ = rated_items(made(read, TWO), TWO)

    def of(item: Item) -> tuple[str | None, list[float]]:
        return item.criterion, sorted(item.ratings.values())

    assert [*map(of, items)] == [("helpfulness", [4.0, 5.0]), ("clarity", [2.0])]
    assert ratings(read) == [{}]
