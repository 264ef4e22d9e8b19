"""A real vLLM, whose base URL stands in RUBRICLAB_VLLM_BASE_URL: asked by the lab's own client.

``.ci/vllm-cpu DIR`` makes one for the CPU. Without the variable these are skipped, with CI=true that is a failure.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from typing import Any

import pytest

from rubriclab.judges.probe import find_servers, models_of
from rubriclab.judges.probe import test_judge as ask_once
from rubriclab.model.judge import JudgeSettings
from rubriclab.model.judgment import Call, Reply
from tests.integration.test_embedded_real import ask_all, calls, chances
from tests.judges.kit import settings

pytestmark = pytest.mark.integration

URL = os.environ.get("RUBRICLAB_VLLM_BASE_URL", "")


@pytest.fixture(scope="module", autouse=True)
def model() -> str:
    """The name of the model that the server offers."""
    if not URL:
        if os.environ.get("CI") == "true":
            pytest.fail("RUBRICLAB_VLLM_BASE_URL is not set")
        pytest.skip("RUBRICLAB_VLLM_BASE_URL is not set")
    return models_of(URL)[0]


def judge(model: str, **fields: Any) -> JudgeSettings:
    return settings(URL, **{"kind": "vllm", "model": model, "timeout": 300.0, **fields})


def ask(server: JudgeSettings, asked: list[Call]) -> list[Reply]:
    return asyncio.run(ask_all(asked, server))


def test_it_is_known_as_vllm(model: str) -> None:
    (server,) = find_servers({"somebody": URL})
    assert (server.program, server.kind) == ("vLLM", "vllm")
    assert model in server.models


def test_twenty_calls_give_probabilities_and_go_on_with_a_begun_answer(model: str) -> None:
    asked = calls()
    replies = ask(judge(model), asked)
    for call, reply in zip(asked, replies, strict=True):
        assert reply.error == ""
        assert len(reply.top) == 20
        shares = chances(call, reply)
        assert min(shares) > 0
        assert 0.6 < sum(shares) <= 1.001
        assert reply.text.strip()[0] in call.ordering.labels
    if replies[0].cached is not None:  # only with --enable-prompt-tokens-details
        assert sum((reply.cached or 0) > 0 for reply in replies) >= 15


def test_held_to_the_labels_all_probability_falls_on_them(model: str) -> None:
    asked = calls(1)
    for call, reply in zip(asked, ask(judge(model, options={"constrain": True}), asked), strict=True):
        assert reply.text in call.ordering.labels
        assert sum(chances(call, reply)) == pytest.approx(1.0, abs=0.02)


def test_too_long_a_prompt_is_a_context_overflow(model: str) -> None:
    long = ({"role": "user", "content": "word " * 20_000},)
    (reply,) = ask(judge(model), [replace(calls(1)[0], messages=long)])
    assert (reply.kind, reply.retryable) == ("context_overflow", False)


def test_an_unknown_model_and_a_setting_that_cannot_be(model: str) -> None:
    assert "It lists:" in ask_once(judge("no-such-model")).error
    (reply,) = ask(judge(model, extra={"logprobs": True, "top_logprobs": 10_000}), calls(1)[:1])
    assert reply.kind == "bad_setting"
    assert "logprobs" in reply.error


def test_it_passes_the_lab_s_test(model: str) -> None:
    report = ask_once(judge(model))
    assert report.ok
    assert report.probabilities
