"""Runs against a server over the wire: what it says decides whether a call is asked again, failed, or the judge waits."""

from __future__ import annotations

from typing import Any

import pytest
from aiohttp import web

from rubriclab.model.judge import JudgeSettings
from rubriclab.runs import asking
from rubriclab.runs.runner import Run, RunSnapshot
from rubriclab.store.store import Store
from tests.runs.kit import ended
from tests.servers import FakeServer, failure, running
from tests.study.kit import small_plan


def judged(store: Store, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[RunSnapshot, FakeServer]:
    """A run of 60 calls against a server with these options, asked again at once."""
    monkeypatch.setattr(asking, "backoff", lambda attempt: 0.001 * attempt)
    with running(FakeServer(**options)) as server:
        judge = JudgeSettings(name="server", kind="openai", model="test-model", base_urls=(server.base_url,))
        return ended(Run(store, small_plan(3, judges=(judge,)))), server


def test_a_lean_is_seen_as_the_answers_come(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    end, server = judged(store, monkeypatch, lean=50.0)
    assert (end.state, end.done, end.failed, server.asked) == ("finished", 60, 0, 60)
    assert end.early[0] == (60, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("status", "message", "headers", "words"),
    [
        (400, "Unsupported value: 'temperature' does not support 0.0 with this model.", {}, "Setting “temperature”"),
        (401, "Incorrect API key", {}, "Check the key"),
        (402, "no credit", {}, "top it up"),
        (404, "The model `x` does not exist.", {}, "Check the base URL"),
        (302, "", {"Location": "http://127.0.0.1:9/"}, "moved to http://127.0.0.1:9/"),
        (429, "tomorrow", {"Retry-After": "86400"}, "left alone for 86,400 s"),
        (429, "never", {"Retry-After": "inf"}, "left alone for 1,000,000,000 s"),
        (503, "in 2099", {"Retry-After": "Thu, 01 Jan 2099 00:00:00 GMT"}, "left alone for"),
    ],
)
def test_what_no_call_escapes_pauses_at_the_first_answers(
    status: int, message: str, headers: dict[str, str], words: str, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, server = judged(store, monkeypatch, rule=lambda *_: failure(status, message, headers=headers))
    assert (end.state, end.done) == ("paused", 0)
    assert end.reason.startswith("server: ")
    assert words in end.reason
    assert server.asked <= 8


@pytest.mark.parametrize("headers", [{"Retry-After": "0.2"}, {"Retry-After": "-3"}, {"Retry-After": "nan"}])
def test_a_short_wait_is_kept(headers: dict[str, str], store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    busy = [failure(429, "slow down", headers=headers)]
    end, server = judged(store, monkeypatch, rule=lambda *_: busy.pop() if busy else None)
    assert (end.state, end.failed, server.asked) == ("finished", 0, 61)


@pytest.mark.parametrize("status", [500, 200])
def test_a_server_that_always_fails_is_left(status: int, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most five attempts a call, and five calls in a row; the eight calls at once may all be in flight then."""

    def rule(*_: object) -> web.Response:
        return failure(status, "out of order", code=502)

    end, server = judged(store, monkeypatch, rule=rule)
    assert end.state == "paused"
    assert "5 calls in a row failed, the last with: " in end.reason
    assert "out of order" in end.reason
    assert max(server.keys.count(key) for key in server.keys) == asking.ATTEMPTS
    assert server.asked <= 5 * (8 + 5)
    assert 5 <= end.failed == end.done <= 8 + 5
