"""Test how answers and errors of servers are read, and that keys stay out of it all."""

import base64
import html
import json
import math
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rubriclab.judges.faults import (
    FATAL,
    FAULTS,
    FINAL,
    LONGEST_WAIT,
    RETRYABLE,
    Fault,
    from_response,
    retry_after,
)
from rubriclab.judges.keys import mask, mask_reply, mask_secrets, read_key
from rubriclab.judges.reply import MAX_TEXT, first_answer_token, read_completion
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Reply
from rubriclab.model.text import LabError
from tests.servers import completion, token_entry


def read(payload: Any, **options: Any) -> Reply:
    return read_completion(
        payload if isinstance(payload, bytes) else json.dumps(payload).encode(), {}, **options
    )


def message(**fields: Any) -> dict[str, Any]:
    payload = completion(None)
    payload["choices"][0]["message"].update(fields)
    return payload


def test_a_plain_answer_of_the_model_or_of_none_that_is_named() -> None:
    reply = read(
        completion("4", logprobs={"content": [token_entry("4", {"4": -0.5, "3": -1.0})]}),
        seconds=0.25,
    )
    assert reply == Reply(
        "4", "stop", 100, 1, 40, 0.25, (("4", -0.5), ("3", -1.0)), "test-model", note=""
    )
    assert read(completion("4", model=None), is_meant=lambda _: False).text == "4"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "text", "finish"),
    [
        (
            {"content": None, "reasoning_content": "it is a 2"},
            "",
            "stop",
        ),  # reasoning is never the answer
        (
            {"content": "<think>Score: 1</think>4"},
            "<think>Score: 1</think>4",
            "stop",
        ),  # the parser cuts it off
        (
            {"tool_calls": [{"function": {"name": "f", "arguments": '{"score": 4}'}}]},
            '{"score": 4}',
            "stop",
        ),
        ({"tool_calls": [None]}, "", "stop"),
        ({"refusal": "I cannot rate this."}, "I cannot rate this.", "refusal"),
        ({"content": "4", "refusal": "no"}, "4", "stop"),
        ({"content": 4}, "", "stop"),
        ({"content": "   "}, "   ", "stop"),
    ],
)
def test_where_the_answer_stands(fields: dict[str, Any], text: str, finish: str) -> None:
    reply = read(message(**fields))
    assert (reply.text, reply.finish) == (text, finish)


@pytest.mark.parametrize(
    ("finish", "expected"),
    [
        ("length", "length"),
        ("content_filter", "content_filter"),
        (None, "stop"),
        (["stop"], "stop"),
        ("f" * 99, "f" * 40),
    ],
)
def test_how_it_ended(finish: Any, expected: str) -> None:
    assert read(completion("Score: 1", finish=finish)).finish == expected


def test_halves_of_characters_are_kept_as_replacements_with_a_note() -> None:
    reply = read(
        completion(
            "4 \ud83d", logprobs={"content": [token_entry("4", {"4": -0.5, "\udc00": -2.0})]}
        )
    )
    assert (reply.text, reply.top[1]) == ("4 �", ("�", -2.0))
    latin = read(json.dumps(completion("4 e")).encode().replace(b"4 e", b"4 \xe9"))
    assert "replaced" in reply.note
    assert "replaced" in latin.note


@pytest.mark.parametrize("count", [-1, 2**31, 2**40, True, 1.5, math.nan, math.inf, "9", [1]])
def test_odd_counts_are_left_out(count: Any) -> None:
    usage = {
        "prompt_tokens": count,
        "completion_tokens": 7,
        "prompt_tokens_details": {"cached_tokens": count},
    }
    reply = read({**completion("4"), "usage": usage})
    assert (reply.text, reply.tokens_in, reply.tokens_out, reply.cached) == ("4", None, 7, None)
    assert "left out" in reply.note


@pytest.mark.parametrize(
    "payload",
    [{**completion("4"), "usage": usage} for usage in (None, 7, [], "many")]
    + [
        completion("4", logprobs=logprobs)
        for logprobs in (None, {}, {"content": None}, {"content": []})
    ],
)
def test_no_counts_and_no_log_probabilities_need_no_note(payload: dict[str, Any]) -> None:
    reply = read(payload)
    assert (reply.tokens_in, reply.top, reply.note) == (
        100 if isinstance(payload["usage"], dict) else None,
        (),
        "",
    )


@pytest.mark.parametrize(
    "top",
    [
        [{"token": "4", "logprob": math.nan}],
        [{"token": "4", "logprob": 10**400}],
        [{"token": "4", "logprob": 1.0}],  # no logarithm of a probability
        [{"token": 4, "logprob": -1.0}],
        [{"logprob": -1.0}],
        7,
        # vLLM fills the list so when another call of its batch asks for certain tokens alone.
        [{"token": "4", "logprob": -1.457}, {"token": "<|endoftext|>", "logprob": -9999.0}],
        # More than 300,000 other tokens would be needed to make up for what is lacking.
        [{"token": "4", "logprob": -0.5}, {"token": "5", "logprob": -15.0}],
    ],
)
def test_log_probabilities_that_are_none_cost_no_answer(top: Any) -> None:
    payload = completion("4", logprobs={"content": [{**token_entry("4", {}), "top_logprobs": top}]})
    reply = read(payload)
    assert (reply.text, reply.top) == ("4", ())
    assert "log-probabilities" in reply.note


@pytest.mark.parametrize(
    "logprobs",
    [
        {"4": -0.5, "5": -10.0},  # 300,000 tokens like the last one would be enough
        {"4": 0.0, "<|endoftext|>": -9999.0},  # held to one label, all others are masked
        {"4": -0.6931, "5": -0.6932, "1": -9999.0},
        {"4": -0.01, "5": -9.0},  # rounded to two places
        {"4": -0.2},
    ],
)
def test_lists_that_can_be_the_most_probable_tokens_are_kept(logprobs: dict[str, float]) -> None:
    reply = read(completion("4", logprobs={"content": [token_entry("4", logprobs)]}))
    assert (dict(reply.top), reply.note) == (logprobs, "")


@pytest.mark.parametrize(
    ("tokens", "text", "expected"),
    [
        (["4"], "4", 0),
        ([" ", "4", "."], " 4.", 1),
        (
            ["<think>", "1", "</think>", "\n", "4"],
            "4",
            4,
        ),  # the text leaves reasoning out, the tokens do not
        (["Feedback: ", "ok ", "[RESULT]", " ", "4"], "Feedback: ok [RESULT] 4", 4),
        (["�", "�", "4"], "é4", 0),  # characters split over tokens do not join up
    ],
)
def test_the_first_token_of_the_answer_proper(tokens: list[str], text: str, expected: int) -> None:
    assert first_answer_token(tokens, text) == expected


@pytest.mark.parametrize(
    ("body", "kind"),
    [
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
    ],
)
def test_what_is_no_answer_has_a_name(body: bytes, kind: str) -> None:
    with pytest.raises(Fault) as refusal:
        read(body)
    assert refusal.value.kind == kind


# ----------------------- Errors of servers, as they send them, and keys that stay out of everything
CASES = json.loads((Path(__file__).parents[1] / "golden" / "refused.json").read_text("utf-8"))
KEY = 'sk-proj-9fK/3+Qw7"xZ-secret'


@pytest.mark.parametrize(("status", "error", "kind"), CASES["errors of servers"])
def test_kinds_by_status_and_words(status: int, error: dict[str, str], kind: str) -> None:
    assert from_response(status, {}, json.dumps({"error": error}).encode()).kind == kind


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"error": "model is loading"}', "model is loading"),  # Ollama
        (b'{"detail": "Not Found"}', "Not Found"),  # FastAPI
        (b"<html><head><title>502 Bad Gateway</title></head>", "502 Bad Gateway"),
        (b"plain\nwords " * 500, "plain words plain"),
        (b"[" * 20_000, "["),
    ],
)
def test_the_server_s_own_words(body: bytes, words: str) -> None:
    message = from_response(500, {}, body).message
    assert words in message
    assert "\n" not in message
    assert len(message) <= 400


def test_every_kind_says_what_to_do_and_is_of_one_sort() -> None:
    assert all(sentence.endswith((".", "?")) for sentence in FAULTS.values())
    assert len(FAULTS) == len(RETRYABLE) + len(FATAL) + len(FINAL)


# 1 January 2099, 0:00 UTC is 4070908800 s after the epoch; asked 100 s before.
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "1"}, 1.0),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, LONGEST_WAIT),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "1000000000000"}, LONGEST_WAIT),
        ({"Retry-After": "Thu, 01 Jan 2099 00:00:00 GMT"}, 100.0),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
    ],
)
def test_retry_after_in_seconds_as_a_date_and_in_milliseconds(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, now=4_070_908_700.0) == seconds


# ---------------------------------------------------------------- keys


def test_a_key_is_masked_however_it_is_written() -> None:
    escaped = json.dumps(KEY)[1:-1]
    codes = "".join(f"\\u{ord(sign):04x}" for sign in KEY)
    percent = quote(KEY, safe="")
    for written in (
        KEY,
        KEY.upper(),
        percent,
        percent.lower(),
        escaped,
        escaped.replace("/", "\\/"),
        codes,
    ):
        assert mask_secrets(f"before {written} after", (KEY,)) == "before *** after"
    mixed = KEY.replace("+", "\\u002B").replace('"', "&#34;").replace("/", "%2f")
    coded = base64.b64encode(KEY.encode()).decode()
    assert mask_secrets(f"{mixed}|{coded}|4", (KEY,)).rstrip("=") == "***|***|4"


def test_what_looks_like_a_key_is_masked_and_a_short_one_alone() -> None:
    for text in (
        "Authorization: Bearer abcdefghij",
        "sk-abcdefghijkl",
        "http://me:pw@host/",
        "api_key=12345678",
    ):
        assert "***" in mask(f"refused: {text}")
    assert mask("got abc12, not abc123", ("abc12",)) == "got ***, not abc123"


def test_a_reply_that_repeats_the_key_is_kept_without_it() -> None:
    reply = mask_reply(
        Reply(f"4 {KEY}", finish=KEY, top=((KEY, -1.0),), model=KEY, error=""), (KEY,)
    )
    assert (reply.text, reply.finish, reply.top, reply.model) == (
        "4 ***",
        "***",
        (("***", -1.0),),
        "***",
    )
    assert "key" in reply.note
    plain = Reply("4")
    assert mask_reply(plain, (KEY,)) is plain


def spaced(text: str, by: str) -> str:
    return by.join(text)


@pytest.mark.parametrize("key", [KEY, "sk-0123456789abcdef", "short-&<!x"])
def test_a_key_is_masked_however_a_server_writes_it(key: str) -> None:
    raw = key.encode()
    coded = base64.b64encode(raw).decode()
    twice = base64.b64encode(coded.encode()).decode()
    bearer = base64.b64encode(b"Bearer " + raw).decode()
    for written in (
        raw.hex(),
        raw.hex().upper(),
        raw.hex(" "),
        raw.hex(":"),
        "".join(f"\\x{byte:02x}" for byte in raw),
        spaced(key, " "),
        spaced(key, "-"),
        spaced(key, ", "),
        spaced(key, "\u200b"),
        key[::-1],
        spaced(key[::-1], " "),
        coded,
        base64.urlsafe_b64encode(raw).decode(),
        quote(coded),
        twice,
        bearer,
        base64.urlsafe_b64encode(b"x-api-key: " + raw + b"; more").decode(),
        quote(quote(key, safe=""), safe=""),
        json.dumps(json.dumps(key))[3:-3],
        html.escape(html.escape(key)),
    ):
        said = mask_secrets(f"before <{written}> after", (key,))
        assert "***" in said, written
        # What is left is at most the ends that hold bits of other signs.
        assert len(said) <= len("before <***> after") + len(bearer) - len(coded) + 24, (
            written,
            said,
        )
        assert key not in said
    for harmless in ("Score: 4", "a long text about a kettle " * 50, key[:-3], raw.hex()[:-4]):
        assert mask_secrets(harmless, (key,)) == harmless


def test_where_a_key_comes_from(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = JudgeSettings(name="j", kind="openai", key_env="JUDGE_TEST_API_KEY")
    monkeypatch.delenv("JUDGE_TEST_API_KEY", raising=False)
    with pytest.raises(LabError, match=r"JUDGE_TEST_API_KEY is not set.*choose another judge"):
        read_key(judge)
    monkeypatch.setenv("JUDGE_TEST_API_KEY", " from-environment ")
    assert read_key(judge) == "from-environment"
    assert read_key(judge, {"JUDGE_TEST_API_KEY": "given"}) == "given"
    assert read_key(JudgeSettings(name="j")) is None
    with pytest.raises(LabError) as refused:
        read_key(judge, {"JUDGE_TEST_API_KEY": "line\nbreak"})
    assert "break" not in str(refused.value).split("(")[0]


def test_only_variables_meant_for_judges_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    def key_in(name: str, **given: str) -> str | None:
        monkeypatch.setenv(name, "the-value")
        return read_key(JudgeSettings(name="j", kind="openai", key_env=name), given)

    assert key_in("MY_API_KEY") == key_in("gateway_api_key") == "the-value"
    for name in ("HF_TOKEN", "DB_PASSWORD", "MY_API_KEY_OLD"):
        with pytest.raises(
            LabError, match=rf"“j” may not use the variable {name}.*_API_KEY.*RUBRICLAB_KEYS={name}"
        ):
            key_in(name)
    monkeypatch.setenv("RUBRICLAB_KEYS", "OTHER, HF_TOKEN")
    assert key_in("HF_TOKEN") == "the-value"
    assert key_in("DB_PASSWORD", DB_PASSWORD="by-the-caller") == "by-the-caller"
    for name in ("AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "STRIPE_API_KEY"):
        monkeypatch.setenv("RUBRICLAB_KEYS", name)
        with pytest.raises(ValueError, match="another service's secret"):
            key_in(name)
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")  # its visitors are lent listed keys alone
    with pytest.raises(LabError, match="only variables listed"):
        key_in("JUDGE_API_KEY")
    monkeypatch.setenv("RUBRICLAB_KEYS", "JUDGE_API_KEY")
    assert key_in("JUDGE_API_KEY") == "the-value"
