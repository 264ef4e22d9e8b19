"""Runs against a server over the wire: what it says decides whether a call is asked again, failed, or the judge waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rubriclab.model.judge import JudgeSettings
from rubriclab.runs import asking
from rubriclab.runs.runner import Run, Snapshot
from rubriclab.store.store import Store
from tests.runs.kit import ended
from tests.servers import FakeServer, failure, running
from tests.study.kit import small_plan


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(":memory:") as opened:
        yield opened


@pytest.fixture
def judged(store: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Snapshot, FakeServer]]:
    """Runs 60 calls against a server with these options, asked again at once."""
    monkeypatch.setattr(asking, "backoff", lambda attempt: 0.001 * attempt)

    def go(**options: Any) -> tuple[Snapshot, FakeServer]:
        with running(FakeServer(**options)) as server:
            judge = JudgeSettings(name="server", kind="openai", model="test-model", base_urls=(server.base_url,))
            return ended(Run(store, small_plan(3, judges=(judge,)))), server

    return go


def test_a_lean_is_seen_as_the_answers_come(judged: Callable[..., tuple[Snapshot, FakeServer]]) -> None:
    end, server = judged(lean=50.0)
    assert (end.state, end.done, end.failed, server.asked) == ("finished", 60, 0, 60)
    assert end.early[0].counts == (60, 0, 0, 0, 0)


def test_a_refused_setting_pauses_at_the_first_answers(judged: Callable[..., tuple[Snapshot, FakeServer]]) -> None:
    message = "Unsupported value: 'temperature' does not support 0.0 with this model."
    end, server = judged(rule=lambda *_: failure(400, message, param="temperature", code="unsupported_value"))
    assert (end.state, end.done) == ("paused", 0)
    assert "temperature" in end.reason
    assert server.asked <= 8


def test_a_short_retry_after_is_waited_out(judged: Callable[..., tuple[Snapshot, FakeServer]]) -> None:
    asked = []

    def rule(*_: Any) -> Any:
        asked.append(1)
        return failure(429, "slow down", headers={"Retry-After": "0.2"}) if len(asked) == 3 else None

    end, server = judged(rule=rule)
    assert (end.state, end.failed, server.asked) == ("finished", 0, 61)


def test_a_long_retry_after_pauses(judged: Callable[..., tuple[Snapshot, FakeServer]]) -> None:
    end, server = judged(rule=lambda *_: failure(429, "tomorrow", headers={"Retry-After": "86400"}))
    assert (end.state, end.done) == ("paused", 0)
    assert "86,400 s" in end.reason
    assert server.asked <= 8


def test_a_server_that_fails_for_ever_is_left_after_a_few_calls(
    judged: Callable[..., tuple[Snapshot, FakeServer]],
) -> None:
    end, server = judged(rule=lambda *_: failure(500, "out of order"))
    assert end.state == "paused"
    assert "in a row failed" in end.reason
    assert server.asked <= 5 * (8 + 5)


def test_a_wrong_key_pauses(judged: Callable[..., tuple[Snapshot, FakeServer]]) -> None:
    end, server = judged(key="another")
    assert (end.state, end.done) == ("paused", 0)
    assert "key" in end.reason.lower()
    assert server.asked <= 8


def test_empty_answers_are_a_failed_run(judged: Callable[..., tuple[Snapshot, FakeServer]]) -> None:
    end, _ = judged(text=" ")
    assert (end.state, end.failed) == ("failed", 60)
    assert end.reason.startswith("0 of 60 replies could be parsed")
