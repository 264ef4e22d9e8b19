"""Bodies of completions, plain and strange, and what is read from them."""

import json
import math
from typing import Any

import pytest

from rubriclab.judges.faults import Fault
from rubriclab.judges.reply import MAX_TEXT, first_answer_token, read_completion
from rubriclab.model.judgment import Reply
from tests.servers import completion, token_entry


def read(payload: Any, **options: Any) -> Reply:
    return read_completion(payload if isinstance(payload, bytes) else json.dumps(payload).encode(), {}, **options)


def refused(payload: Any, **options: Any) -> Fault:
    with pytest.raises(Fault) as refusal:
        read(payload, **options)
    return refusal.value


def message(**fields: Any) -> dict[str, Any]:
    payload = completion(None)
    payload["choices"][0]["message"].update(fields)
    return payload


def test_a_plain_answer_of_the_model_or_of_none_that_is_named() -> None:
    reply = read(completion("4", logprobs={"content": [token_entry("4", {"4": -0.5, "3": -1.0})]}), seconds=0.25)
    assert reply == Reply("4", "stop", 100, 1, 40, 0.25, (("4", -0.5), ("3", -1.0)), "test-model", note="")
    assert read(completion("4", model=None), is_meant=lambda _: False).text == "4"  # type: ignore[arg-type]


@pytest.mark.parametrize(("fields", "text", "finish"), [
    ({"content": None, "reasoning_content": "it is a 2"}, "", "stop"),  # reasoning is never the answer
    ({"content": "<think>Score: 1</think>4"}, "<think>Score: 1</think>4", "stop"),  # the parser cuts it off
    ({"tool_calls": [{"function": {"name": "f", "arguments": '{"score": 4}'}}]}, '{"score": 4}', "stop"),
    ({"tool_calls": [None]}, "", "stop"),
    ({"refusal": "I cannot rate this."}, "I cannot rate this.", "refusal"),
    ({"content": "4", "refusal": "no"}, "4", "stop"),
    ({"content": 4}, "", "stop"),
    ({"content": "   "}, "   ", "stop"),
])  # fmt: skip
def test_where_the_answer_stands(fields: dict[str, Any], text: str, finish: str) -> None:
    reply = read(message(**fields))
    assert (reply.text, reply.finish) == (text, finish)


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        ("length", "length"), ("content_filter", "content_filter"), (None, "stop"), (["stop"], "stop"), ("f" * 99, "f" * 40),
    ],
)  # fmt: skip
def test_how_it_ended(finish: Any, expected: str) -> None:
    assert read(completion("Score: 1", finish=finish)).finish == expected


def test_halves_of_characters_are_kept_as_replacements_with_a_note() -> None:
    reply = read(completion("4 \ud83d", logprobs={"content": [token_entry("4", {"4": -0.5, "\udc00": -2.0})]}))
    assert (reply.text, reply.top[1]) == ("4 �", ("�", -2.0))
    latin = read(json.dumps(completion("4 e")).encode().replace(b"4 e", b"4 \xe9"))
    assert "replaced" in reply.note
    assert "replaced" in latin.note


@pytest.mark.parametrize("count", [-1, 2**31, 2**40, True, 1.5, math.nan, math.inf, "9", [1]])
def test_odd_counts_are_left_out(count: Any) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": count}}
    reply = read({**completion("4"), "usage": usage})
    assert (reply.text, reply.tokens_in, reply.tokens_out, reply.cached) == ("4", None, 7, None)
    assert "left out" in reply.note


@pytest.mark.parametrize(
    "payload",
    [{**completion("4"), "usage": usage} for usage in (None, 7, [], "many")]
    + [completion("4", logprobs=logprobs) for logprobs in (None, {}, {"content": None}, {"content": []})],
)
def test_no_counts_and_no_log_probabilities_need_no_note(payload: dict[str, Any]) -> None:
    reply = read(payload)
    assert (reply.tokens_in, reply.top, reply.note) == (100 if isinstance(payload["usage"], dict) else None, (), "")


@pytest.mark.parametrize("top", [
    [{"token": "4", "logprob": math.nan}],
    [{"token": "4", "logprob": 10**400}],
    [{"token": "4", "logprob": 1.0}],  # no logarithm of a probability
    [{"token": 4, "logprob": -1.0}],
    [{"logprob": -1.0}],
    7,
])  # fmt: skip
def test_log_probabilities_that_are_none_cost_no_answer(top: Any) -> None:
    payload = completion("4", logprobs={"content": [{**token_entry("4", {}), "top_logprobs": top}]})
    reply = read(payload)
    assert (reply.text, reply.top) == ("4", ())
    assert "log-probabilities" in reply.note


@pytest.mark.parametrize(("tokens", "text", "expected"), [
    (["4"], "4", 0),
    ([" ", "4", "."], " 4.", 1),
    (["<think>", "1", "</think>", "\n", "4"], "4", 4),  # the text leaves reasoning out, the tokens do not
    (["Feedback: ", "ok ", "[RESULT]", " ", "4"], "Feedback: ok [RESULT] 4", 4),
    (["�", "�", "4"], "é4", 0),  # characters split over tokens do not join up
])  # fmt: skip
def test_the_first_token_of_the_answer_proper(tokens: list[str], text: str, expected: int) -> None:
    assert first_answer_token(tokens, text) == expected


@pytest.mark.parametrize(("body", "kind"), [
    (b"", "bad_json"),
    (b"[1]", "bad_json"),
    (b"{", "bad_json"),
    (b'{"choices": null}', "empty_choices"),
    (b'{"choices": []}', "empty_choices"),
    (b'{"choices": [{}]}', "empty_choices"),
    (b'{"choices": [{"message": null}]}', "empty_choices"),
    (b'{"choices": "\xe9"}', "empty_choices"),
    (b'{"x":' + b"[" * 100_000, "bad_json"),
    (b'{"choices": [' + b"[]," * 3_000_000 + b"[]]}", "too_large"),
    (b'{"error": "out of memory"}', "server_error"),
    (json.dumps(completion("x" * (MAX_TEXT + 1))).encode(), "too_large"),
    (json.dumps(completion("4", finish="abort")).encode(), "reset"),
])  # fmt: skip
def test_what_is_no_answer_has_a_name(body: bytes, kind: str) -> None:
    assert refused(body).kind == kind
