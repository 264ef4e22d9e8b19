"""Check that chats are unfolded in any column, and that other lists and objects are never texts."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from rubriclab.data.answers_per_row import one_answer_a_row
from rubriclab.data.items import guess_columns, items_of
from rubriclab.data.tables import Table, read_table, table_of_frame
from rubriclab.model.data import Criterion, DataSet, Option, Rubric
from rubriclab.model.text import LabError

FILES = Path(__file__).parent / "files"
RUBRIC = Rubric("Help", (Criterion("Help", tuple(Option(score) for score in range(1, 6))),))
ASKED, GOOD, BAD = "Why is it so?", "Because of the light.", "I do not know it."


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def lines(*records: dict[str, Any]) -> Table:
    return read_table("".join(json.dumps(record) + "\n" for record in records).encode(), "x.jsonl")


def made(table: Table, **columns: Any) -> DataSet:
    table = one_answer_a_row(table, columns)
    return items_of(table, guess_columns(table, RUBRIC).columns | columns)


def said(dataset: DataSet) -> list[tuple[str, str, list[float]]]:
    return [(i.instruction, i.response, [*i.ratings.values()]) for i in dataset.items]


PAIR = [(ASKED, GOOD, [1.0]), (ASKED, BAD, [0.0])]
CHAT = {"chosen": [user(ASKED), assistant(GOOD)], "rejected": [user(ASKED), assistant(BAD)]}


def test_chosen_and_rejected_chats_are_answers() -> None:
    texts = ["The answer explains why the sky is blue in short words.", "Rain falls from clouds"]
    for name, ratings in (("jsonl", [4.5, 1.0]), ("parquet", [1.0, 0.0])):
        items = made(read_table(FILES / f"chosen_messages.{name}")).items
        assert len(items) == 6
        assert {item.instruction for item in items} == {"Why is it so?"}
        assert items[0].response == texts[0]
        assert items[2].response.startswith(texts[1])
        assert [*items[0].ratings.values(), *items[1].ratings.values()] == ratings
        assert [item.candidate for item in items[:2]] == ["chosen", "rejected"]


@pytest.mark.parametrize(
    "record",
    [
        CHAT,
        {"prompt": ASKED} | CHAT,
        # The form with the prompt as a chat of its own.
        {"prompt": [user(ASKED)], "chosen": [assistant(GOOD)], "rejected": [assistant(BAD)]},
        {"prompt": ASKED, "chosen": assistant(GOOD), "rejected": assistant(BAD)},
        {"conversation_a": CHAT["chosen"], "conversation_b": CHAT["rejected"], "winner": "a"},
        {
            "prompt": ASKED,
            "response_a": CHAT["chosen"],
            "response_b": CHAT["rejected"],
            "winner": "a",
        },
        # Transcripts, as HH-RLHF has them.
        {
            "chosen": f"\n\nHuman: {ASKED}\n\nAssistant: {GOOD}",
            "rejected": f"\n\nHuman: {ASKED}\n\nAssistant: {BAD}",
        },
        # Lists of turns, as LMSYS has them.
        {"prompt": [ASKED], "response_a": [GOOD], "response_b": [BAD], "winner": "a"},
    ],
)
def test_two_chats_in_a_row_are_two_answers(record: dict[str, Any]) -> None:
    assert said(made(lines(record, record))) == PAIR * 2


def test_a_winner_marked_by_flags_is_a_preference() -> None:
    """As Kaggle's copy of LMSYS has it: a column each for the winner, and one for ties."""
    header = "prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"
    rows = f"{ASKED},{GOOD},{BAD},1,0,0\n{ASKED},{GOOD},{BAD},0,0,1\n"
    items = made(read_table((header + rows).encode(), "x.csv")).items
    assert [[*item.ratings.values()] for item in items] == [[1.0], [0.0], [0.5], [0.5]]


def test_a_chat_that_ends_with_the_user_is_what_was_asked() -> None:
    chat = [user("Hello"), assistant("Hi"), user(ASKED)]
    ((asked, answer, _),) = said(made(lines({"messages": chat, "response": GOOD})))
    assert (asked, answer) == (f"User: Hello\n\nAssistant: Hi\n\nUser: {ASKED}", GOOD)


def test_lists_of_turns_become_one_instruction() -> None:
    record = {"prompt": ["One?", "Two?"], "response_a": ["a", "b"], "response_b": ["c", "d"]}
    first, second = said(made(lines(record)))
    assert first[:2] == ("User: One?\n\nAssistant: a\n\nUser: Two?", "b")
    assert second[:2] == ("User: One?\n\nAssistant: c\n\nUser: Two?", "d")


@pytest.mark.thorough
@pytest.mark.parametrize("column", ["messages", "dialog", "trajectory", "output", "response"])
def test_a_chat_in_a_column_of_any_name_is_unfolded(column: str) -> None:
    chat = {column: CHAT["chosen"], "score": 4}
    assert said(made(lines(chat))) == [(ASKED, GOOD, [4.0])]
    frame = table_of_frame(pd.DataFrame([chat]))
    assert said(made(frame)) == [(ASKED, GOOD, [4.0])]
    cell = json.dumps(CHAT["chosen"]).replace('"', '""')
    text = f'{column},score\n"{cell}",4\n'
    assert said(made(read_table(text.encode(), "x.csv"))) == [(ASKED, GOOD, [4.0])]


def test_lists_in_parquet_and_arrays_in_frames_are_chats(tmp_path: Path) -> None:
    rows = {"messages": [CHAT["chosen"], CHAT["rejected"]]}
    parquet.write_table(pa.table(rows), tmp_path / "x.parquet")
    wanted = [(ASKED, GOOD, []), (ASKED, BAD, [])]
    assert said(made(read_table(tmp_path / "x.parquet"))) == wanted
    arrays = pd.DataFrame({"messages": [np.array(cell) for cell in rows["messages"]]})
    assert said(made(table_of_frame(arrays))) == wanted


def test_tools_parts_and_thoughts_of_a_chat() -> None:
    call = {"type": "function", "function": {"name": "get", "arguments": '{"city": "Rome"}'}}
    chat = [
        user([{"type": "text", "text": "Is it warm?"}]),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "15"},
        assistant([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Rather."}]),
    ]
    ((asked, answer, _),) = said(made(lines({"messages": chat})))
    assert asked == 'User: Is it warm?\n\nAssistant: [calls get({"city": "Rome"})]\n\nTool: 15'
    assert answer == "Rather."


NO_ANSWER = [user(ASKED), {"role": "assistant", "content": None, "tool_calls": [{"name": "f"}]}]
PICTURE = [user([{"type": "image_url", "image_url": {"url": "x"}}]), assistant("A cat.")]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("records", "words"),
    [
        (
            [{"messages": [user(ASKED)]}],
            "row 1, column “messages”: its last message is from “user”",
        ),
        ([{"messages": NO_ANSWER}], "row 1, column “messages”: its last message has no text"),
        (
            [{"messages": [assistant(GOOD), assistant("")]}],
            "row 1, column “messages”: its last message has no text",
        ),
        (
            [{"messages": PICTURE}],
            "a part of type “image_url”, which is not text. Leave the row out",
        ),
        (
            [CHAT, CHAT | {"chosen": "a plain text"}],
            "row 2, column “chosen”: a text .*where other rows hold chats",
        ),
        ([CHAT, CHAT | {"rejected": []}], "row 2, column “rejected”: it holds no messages"),
        ([CHAT, CHAT | {"rejected": None}], "row 2, column “rejected”: it holds no messages"),
        (
            [{"prompt": ASKED, "response": {"text": GOOD, "id": 1}}],
            "row 1, column “response”: an object with “text”, “id”; "
            "expected the text of the answer",
        ),
        (
            [{"prompt": {"text": ASKED}, "response": GOOD}],
            "row 1, column “prompt”: an object with “text”; expected the text of the instruction",
        ),
        (
            [{"prompt": ASKED, "response_a": ["x"], "response_b": ["y"]}],
            "row 1, column “response_a”: a list of 1 value; expected the text",
        ),
        (
            [{"one": CHAT["chosen"], "two": CHAT["rejected"]}],
            'several columns hold chats .“one”, “two”.*response = "one"',
        ),
        (
            [{"prompt": "Another question"} | CHAT],
            "row 1, column “chosen”: its messages before the answer .*differ from “prompt”",
        ),
        (
            [
                {
                    "instruction": ASKED,
                    "completions": [{"model": "m", "response": GOOD}],
                    "source": "x",
                }
            ],
            "which column has the answers.*Lists or objects cannot be answers: “completions”",
        ),
        (
            [{"prompt": ASKED, "answers": [GOOD, BAD]}],
            "which column has the answers.*cannot be answers: “answers”",
        ),
    ],
)
def test_what_cannot_be_unfolded_is_refused_by_name(
    records: list[dict[str, Any]], words: str
) -> None:
    with pytest.raises(LabError, match=words):
        made(lines(*records))


@pytest.mark.parametrize(
    "cell",
    [
        str([user(ASKED), assistant(GOOD)]),
        "[{'content': 'Why?', 'role': 'user'}\n {'content': 'So.', 'role': 'assistant'}]",
        "array([{'content': 'Why?', 'role': 'user'}], dtype=object)",
    ],
)
@pytest.mark.parametrize("column", ["messages", "chosen", "response"])
def test_a_list_that_python_printed_is_refused(cell: str, column: str) -> None:
    table = read_table(f'{column},note\n"{cell}",some remark\n'.encode(), "x.csv")
    words = f"column “{column}”: a list as Python prints it.*json.dumps"
    with pytest.raises(LabError, match=words):
        made(table)


@pytest.mark.parametrize("cell", ["b'some text'", "['one', 'two']"])
def test_bytes_and_lists_that_python_printed_are_refused(cell: str) -> None:
    table = read_table(f'response,rating\n"{cell}",3\n"{cell}",4\n'.encode(), "x.csv")
    with pytest.raises(LabError, match=r"column “response”: .* as Python prints them, not text"):
        made(table)


def test_a_column_that_the_study_names_is_unfolded_or_refused_too() -> None:
    assert said(made(lines(CHAT), response="chosen")) == [(ASKED, GOOD, [])]
    with pytest.raises(LabError, match="row 1, column “meta”: an object with “a”"):
        made(lines({"answer": GOOD, "meta": {"a": 1}}), response="meta")


def test_an_answer_that_is_json_itself_stays_a_text() -> None:
    """A model asked for JSON answers with JSON: a text by its column's name, not by its length."""
    table = read_table(b'response,rating\n"{""city"": ""Rome""}",4\n', "x.csv")
    assert said(made(table)) == [("", '{"city": "Rome"}', [4.0])]
    longer = read_table(
        b'note,blob\na short remark here,"{""city"": ""Rome, the capital""}"\n', "x.csv"
    )
    with pytest.raises(LabError, match="which column has the answers"):
        made(longer)


def test_ratings_of_both_answers_are_no_second_rater_beside_the_preference() -> None:
    row = {"prompt": ASKED, "chosen": GOOD, "rejected": BAD}
    rated = made(lines(row | {"score_chosen": 5, "score_rejected": 2}))
    assert [[*item.ratings.values()] for item in rated.items] == [[5.0], [2.0]]
    # They disagree: who was chosen is what people said.
    other = made(lines(row | {"score_chosen": 1, "score_rejected": 2}))
    assert [[*item.ratings.values()] for item in other.items] == [[1.0], [0.0]]


@pytest.mark.parametrize(
    "whole",
    [
        "<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\nBecause.<|im_end|>",
        "<s>[INST] Why? [/INST] Because.</s>",
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nWhy?<|eot_id|>",
        "<start_of_turn>user\nWhy?<end_of_turn>\n<start_of_turn>model\nBecause.",
        "USER: Why? ASSISTANT: Because.",
    ],
)
def test_a_chat_in_one_text_is_no_answer(whole: str) -> None:
    with pytest.raises(LabError, match="row 1, column “answer”: the cell is a whole chat"):
        made(lines({"answer": whole}, {"answer": "Because of the light."}))


def test_minus_one_beside_ratings_is_refused_and_a_rating_on_its_own_scale() -> None:
    answers = [f"Answer number {k} of all." for k in range(3)]

    def rated(*values: int) -> Table:
        return lines(
            *({"answer": a, "human_score": v} for a, v in zip(answers, values, strict=True))
        )

    with pytest.raises(LabError, match="-1 among ratings of 0 and more"):
        made(rated(4, -1, 2), human="human_score")
    dataset = made(rated(1, -1, 0), human="human_score")
    assert [[*item.ratings.values()] for item in dataset.items] == [[1.0], [-1.0], [0.0]]


@pytest.mark.parametrize("cell", ["1,500", "01.05"])
def test_a_number_of_two_meanings_is_no_rating(cell: str) -> None:
    table = lines({"answer": "One answer here.", "human_score": cell})
    with pytest.raises(LabError, match=f"“{cell}” is not a score"):
        made(table, human="human_score")
