"""Errors of servers, as they send them, and keys that stay out of everything."""

import base64
import json
from pathlib import Path
from urllib.parse import quote

import pytest

from rubriclab.judges.faults import FATAL, FAULTS, FINAL, LONGEST_WAIT, RETRYABLE, from_response, retry_after
from rubriclab.judges.keys import mask, mask_reply, mask_secrets, read_key
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Reply
from rubriclab.model.text import LabError

CASES = json.loads((Path(__file__).parents[1] / "golden" / "refused.json").read_text("utf-8"))
KEY = 'sk-proj-9fK/3+Qw7"xZ-secret'


@pytest.mark.parametrize(("status", "error", "kind"), CASES["errors of servers"])
def test_kinds_by_status_and_words(status: int, error: dict[str, str], kind: str) -> None:
    assert from_response(status, {}, json.dumps({"error": error}).encode()).kind == kind


@pytest.mark.parametrize(("body", "words"), [
    (b'{"error": "model is loading"}', "model is loading"),  # Ollama
    (b'{"detail": "Not Found"}', "Not Found"),  # FastAPI
    (b"<html><head><title>502 Bad Gateway</title></head>", "502 Bad Gateway"),
    (b"plain\nwords " * 500, "plain words plain"),
    (b"[" * 20_000, "["),
])  # fmt: skip
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
        ({}, None), ({"Retry-After": "1"}, 1.0), ({"Retry-After": "-3"}, 0.0), ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, LONGEST_WAIT), ({"Retry-After": "soon"}, None), ({"Retry-After": "1000000000000"}, LONGEST_WAIT),
        ({"Retry-After": "Thu, 01 Jan 2099 00:00:00 GMT"}, 100.0), ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
    ],
)  # fmt: skip
def test_retry_after_in_seconds_as_a_date_and_in_milliseconds(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=4_070_908_700.0) == seconds


# ---------------------------------------------------------------- keys


def test_a_key_is_masked_however_it_is_written() -> None:
    escaped = json.dumps(KEY)[1:-1]
    codes = "".join(f"\\u{ord(sign):04x}" for sign in KEY)
    percent = quote(KEY, safe="")
    for written in (KEY, KEY.upper(), percent, percent.lower(), escaped, escaped.replace("/", "\\/"), codes):
        assert mask_secrets(f"before {written} after", (KEY,)) == "before *** after"
    mixed = KEY.replace("+", "\\u002B").replace('"', "&#34;").replace("/", "%2f")
    coded = base64.b64encode(KEY.encode()).decode()
    assert mask_secrets(f"{mixed}|{coded}|4", (KEY,)).rstrip("=") == "***|***|4"


def test_what_looks_like_a_key_is_masked_and_a_short_one_alone() -> None:
    for text in ("Authorization: Bearer abcdefghij", "sk-abcdefghijkl", "http://me:pw@host/", "api_key=12345678"):
        assert "***" in mask(f"refused: {text}")
    assert mask("got abc12, not abc123", ("abc12",)) == "got ***, not abc123"


def test_a_reply_that_repeats_the_key_is_kept_without_it() -> None:
    reply = mask_reply(Reply(f"4 {KEY}", finish=KEY, top=((KEY, -1.0),), model=KEY, error=""), (KEY,))
    assert (reply.text, reply.finish, reply.top, reply.model) == ("4 ***", "***", (("***", -1.0),), "***")
    assert "key" in reply.note
    plain = Reply("4")
    assert mask_reply(plain, (KEY,)) is plain


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
        with pytest.raises(LabError, match=rf"“j” asks for the variable {name}.*_API_KEY.*RUBRICLAB_KEYS={name}"):
            key_in(name)
    monkeypatch.setenv("RUBRICLAB_KEYS", "OTHER, HF_TOKEN")
    assert key_in("HF_TOKEN") == "the-value"
    assert key_in("DB_PASSWORD", DB_PASSWORD="by-the-caller") == "by-the-caller"
    for name in ("AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "STRIPE_API_KEY"):
        monkeypatch.setenv("RUBRICLAB_KEYS", name)
        with pytest.raises(ValueError, match="another service's secret"):
            key_in(name)
    monkeypatch.setenv("RUBRICLAB_SERVED", "1")  # its visitors are lent listed keys alone
    with pytest.raises(LabError, match="only those listed"):
        key_in("JUDGE_API_KEY")
    monkeypatch.setenv("RUBRICLAB_KEYS", "JUDGE_API_KEY")
    assert key_in("JUDGE_API_KEY") == "the-value"
