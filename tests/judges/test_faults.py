"""Faults by name: each server's way of saying it, waiting times, and keys kept out."""

from __future__ import annotations

import json
from typing import Any

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubriclab.judges.faults import FAULTS, LONGEST_WAIT, MAX_MESSAGE, advice, fault, from_response, redact, retry_after
from rubriclab.judges.transport import from_exception


def kind(status: int, body: Any, **headers: str) -> str:
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    return from_response(status, headers, content).kind


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        (400, {"message": "m", "param": "input_tokens", "code": 400}, "context_overflow"),
        (400, {"message": "m", "type": "exceed_context_size_error"}, "context_overflow"),
        (400, {"message": "m", "code": "context_length_exceeded"}, "context_overflow"),
        (500, {"message": "input is too large to process"}, "context_overflow"),
        (400, {"message": "m", "code": "content_filter"}, "content_filter"),
        (400, {"message": "top_logprobs must be at most 20"}, "bad_request"),
        (400, {"message": "m", "code": "model_not_found"}, "not_found"),
        (422, {"message": "m"}, "bad_request"),
        (500, {"message": "Out of range float values are not JSON compliant"}, "nan_logprobs"),
        (401, {"message": "m"}, "auth"),
        (403, {"message": "m"}, "auth"),
        (402, {"message": "m"}, "quota"),
        (404, {"message": "m"}, "not_found"),
        (408, {"message": "m"}, "timeout"),
        (429, {"message": "m"}, "rate_limit"),
        (429, {"message": "m", "code": "insufficient_quota"}, "quota"),
        (500, {"message": "m"}, "server_error"),
        (502, {"message": "m"}, "bad_gateway"),
        (503, {"message": "m"}, "unavailable"),
        (504, {"message": "m"}, "timeout"),
        (522, {"message": "m"}, "bad_gateway"),
        (529, {"message": "m"}, "unavailable"),
        (599, {"message": "m"}, "server_error"),
        (418, {"message": "m"}, "bad_request"),
    ],
)
def test_kinds(status: int, error: dict[str, Any], expected: str) -> None:
    assert kind(status, {"error": error}) == expected
    assert kind(status, error) == expected


def test_the_servers_words_are_kept_whatever_their_form() -> None:
    def said(body: Any) -> str:
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        return from_response(500, {}, content).message

    assert said({"error": {"message": "out of memory"}}) == "HTTP 500: out of memory"
    assert said({"error": "out of memory"}) == "HTTP 500: out of memory"
    assert said({"detail": "out of memory"}) == "HTTP 500: out of memory"
    assert said("<html><head><title>Oh no</title></head>") == "HTTP 500: Oh no"
    assert said("plain <b>words</b>").split() == ["HTTP", "500:", "plain", "words"]
    assert said("") == "HTTP 500"
    assert said([1, 2]) == "HTTP 500: [1, 2]"
    assert said("[" * 100_000).startswith("HTTP 500")


def test_a_redirect_names_the_new_address() -> None:
    found = from_response(308, {"Location": "https://h/v1/chat"}, b"")
    assert found.kind == "not_found"
    assert "https://h/v1/chat" in found.message


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "2.5"}, 2.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
        ({"Retry-After": "Thu, 01 Jan 1970 00:01:40 GMT"}, 60.0),
        ({"Retry-After": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
        ({"Retry-After": "1e308"}, LONGEST_WAIT),
        ({"Retry-After": "inf"}, LONGEST_WAIT),
        ({"Retry-After": "-1e308"}, 0.0),
        ({"Retry-After": "9" * 5_000}, LONGEST_WAIT),
        ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, LONGEST_WAIT),
        ({"Retry-After": "Fri, 31 Dec 99999 23:59:59 GMT"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": ", 1 ("}, None),
        ({"retry-after-ms": "1e30"}, LONGEST_WAIT),
        ({"retry-after-ms": "nan", "Retry-After": "3"}, 3.0),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=40.0) == seconds


@pytest.mark.parametrize(
    ("error", "answering", "expected"),
    [
        (TimeoutError(), False, "timeout"),
        (TimeoutError(), True, "slow"),
        (aiohttp.ConnectionTimeoutError("t"), False, "connect"),
        (aiohttp.ServerDisconnectedError(), False, "reset"),
        (aiohttp.ClientPayloadError("half"), True, "reset"),
        (ConnectionResetError(104, "reset by peer"), False, "reset"),
        (aiohttp.ClientOSError(32, "broken pipe"), False, "reset"),
    ],
)
def test_exceptions(error: Exception, answering: bool, expected: str) -> None:
    found = from_exception(error, answering=answering, timeout=1.0)
    assert found.kind == expected
    assert found.message


@given(st.text(max_size=40))
def test_no_waiting_time_is_beyond_reading(text: str) -> None:
    seconds = retry_after({"Retry-After": text})
    assert seconds is None or 0.0 <= seconds <= LONGEST_WAIT


def test_every_kind_has_an_advice_of_one_sentence() -> None:
    for name, known in FAULTS.items():
        assert known.name == name
        assert known.advice.endswith(".")
        assert advice(name) == known.advice
    assert advice(None) == advice("no such kind") == ""


def test_messages_are_one_line_and_bounded() -> None:
    long = fault("reset", "a\n b" * 1000).message
    assert len(long) == MAX_MESSAGE
    assert "\n" not in long


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer abcdef123456",
        "{'authorization': 'Bearer abcdef123456', 'x': 1}",
        "sent bearer abcdef123456 to it",
        "Incorrect API key provided: sk-abcdef123456.",
        "https://user:abcdef123456@host/v1",
        "https://host/v1?api_key=abcdef123456&x=1",
        'api-key: "abcdef123456"',
        "the key abcdef123456 itself",
    ],
)
def test_keys_are_redacted(text: str) -> None:
    cleaned = redact(text, ["abcdef123456"] if "itself" in text else ())
    assert "abcdef123456" not in cleaned
    assert "***" in cleaned


def test_ordinary_words_are_left_alone() -> None:
    text = "maximum context length is 1024 tokens, task-specific; see https://host/v1/models"
    assert redact(text, [""]) == text
