"""Tables with several answers a row become tables with one answer a row; who won becomes a score of people."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from rubriclab.data.items import guess_columns, items_of
from rubriclab.data.tables import read_table
from rubriclab.data.wide import one_answer_a_row
from rubriclab.model.text import LabError

ARENA = "id,prompt,model_a,model_b,response_a,response_b,winner\n"


def answers(text: str, **columns: Any) -> list[tuple[Any, ...]]:
    """(group, candidate, text, ratings, instruction) of each item."""
    table = one_answer_a_row(read_table(text.encode(), "pairs.csv"), columns)
    dataset = items_of(table, guess_columns(table).columns)
    return [(i.prompt, i.candidate, i.response, [*i.ratings.values()], i.instruction) for i in dataset.items]


@pytest.mark.parametrize(("text", "expected"), [
    ("prompt,response_a,response_b,winner\nWhy?,Because.,No idea.,A\nHow?,So.,Thus.,tie\n",
     [("1", "a", "Because.", [1], "Why?"), ("1", "b", "No idea.", [0], "Why?"),
      ("2", "a", "So.", [0.5], "How?"), ("2", "b", "Thus.", [0.5], "How?")]),
    (ARENA + "q7,Why?,gpt,llama,Because.,No idea.,model_b\n",
     [("q7", "gpt", "Because.", [0], "Why?"), ("q7", "llama", "No idea.", [1], "Why?")]),
    (ARENA + "q7,Why?,gpt,llama,Because.,No idea.,gpt\n",
     [("q7", "gpt", "Because.", [1], "Why?"), ("q7", "llama", "No idea.", [0], "Why?")]),
    ("question,chosen,rejected\nWhy is it?,Because it is.,No idea at all.\n",
     [("1", "chosen", "Because it is.", [1], "Why is it?"), ("1", "rejected", "No idea at all.", [0], "Why is it?")]),
    ("prompt,output 1,output 2,output 3,score 1,score 2,score 3\nWhy?,x,y,z,5,4,1\n",
     [("1", "1", "x", [5], "Why?"), ("1", "2", "y", [4], "Why?"), ("1", "3", "z", [1], "Why?")]),
    # The column says something else than who won.
    ("prompt,response_a,response_b,label\nWhy?,x,y,spam\n",
     [("1", "a", "x", [], "Why?"), ("1", "b", "y", [], "Why?")]),
])  # fmt: skip
def test_rows_with_several_answers_are_split(text: str, expected: list[tuple[Any, ...]]) -> None:
    assert answers(text) == expected


def test_a_table_is_left_as_it_is_where_its_columns_say_so() -> None:
    for text, columns in (
        ("prompt,response_a,response_b\nWhy?,x,y\n", {"response": "response_a"}),  # the study chose one
        ("prompt,response,response_b\nWhy?,x,y\n", {}),
        ("prompt,answer_1,answer_2\nWhy?,4,5\n", {}),  # scores
        ("prompt,response,reference_1,reference_2\nWhy?,x,y,z\n", {}),
        ("prompt,response_a\nWhy?,x\n", {}),
    ):
        table = read_table(text.encode(), "t.csv")
        assert one_answer_a_row(table, columns) is table


def test_faults_name_the_line_of_the_file_and_the_note_says_what_was_done() -> None:
    table = one_answer_a_row(read_table(b"prompt,answer_a,answer_b\nWhy?,x,y\nHow?,x,y\n", "t.csv"))
    assert (table.line(0), table.line(1), table.line(2), table.size) == ("line 2", "line 2", "line 3", 4)
    alike = one_answer_a_row(read_table(b"a b,a_b,answer_a,answer_b\n1,2,x,y\n", "t.csv"))
    assert {"a b", "a_b"} < set(alike.columns)  # nothing is lost
    assert table.note == "Each row has 2 answers (“answer_a”, “answer_b”): read as one answer a row."


def chat(*messages: tuple[str, Any]) -> str:
    return json.dumps({"messages": [{"role": role, "content": content} for role, content in messages]}) + "\n"


def test_a_chats_last_answer_is_scored_and_what_was_said_before_is_its_instruction() -> None:
    rows = [chat(("user", "Why?"), ("assistant", "Because.")),
            chat(("system", "Be brief."), ("user", [{"type": "text", "text": "How?"}]), ("assistant", "So."))]  # fmt: skip
    rows.append('{"messages": [{"from": "human", "value": "Who?"}, {"from": "gpt", "value": "I."}]}\n')
    table = one_answer_a_row(read_table("".join(rows).encode(), "chats.jsonl"))
    assert table.column("response") == ["Because.", "So.", "I."]
    assert table.column("instruction") == ["Why?", "System: Be brief.\n\nUser: How?", "Who?"]
    assert "the last answer of each is scored" in table.note
    # The study says that the column is the answer as it stands.
    whole = read_table(rows[0].encode(), "chats.jsonl")
    assert one_answer_a_row(whole, {"response": "messages"}) is whole


@pytest.mark.parametrize(("row", "expected"), [
    (chat(("assistant", "Yes?"), ("user", "Why?")), r"row 2, column “messages”: its last message is of “user”"),
    ('{"messages": null}\n', "row 2, column “messages”: it holds no messages; .* Leave the row out"),
    ('{"messages": [1, null, {}]}\n', "it holds no messages"),
])  # fmt: skip
def test_a_chat_without_an_answer_is_refused_by_its_row(row: str, expected: str) -> None:
    with pytest.raises(LabError, match=expected):
        one_answer_a_row(read_table((chat(("user", "Why?"), ("assistant", "So.")) + row).encode(), "chats.jsonl"))


def test_more_answers_than_codes_of_a_parquet_file_are_split(tmp_path: Path) -> None:
    """Each batch of the file has codes of its own; together they are more than such a code can count."""
    numbers = [str(k) for k in range(40_000)]
    yes, no = [f"yes {k}" for k in numbers], [f"no {k}" for k in numbers]
    columns = {"prompt": numbers, "response_a": yes, "response_b": no}
    parquet.write_table(pa.table(columns), tmp_path / "pairs.parquet")
    table = one_answer_a_row(read_table(tmp_path / "pairs.parquet"))
    assert (table.size, table.column("candidate", 2)) == (80_000, ["a", "b"])
    assert table.column("response") == [text for both in zip(yes, no, strict=True) for text in both]
