"""Test refusals in servers' own words: which are sent otherwise, and which pause the judge."""

import json
from dataclasses import fields
from typing import Any

import pytest
from aiohttp import web

from rubriclab.judges.adapt import Manner, adapted, most_tokens
from rubriclab.judges.client import ChatClient, request_body
from rubriclab.judges.faults import advised, from_response
from rubriclab.model.judgment import FOLDED, LOWERED, UNBEGUN
from tests.judges.kit import ask, option_call, settings
from tests.servers import FakeServer, failure

SYSTEM = {"role": "system", "content": "You score answers."}
USER = {"role": "user", "content": "Answer with the score only."}
BEGUN = {"role": "assistant", "content": "The score is "}
NOT_ALLOWED = "You are not allowed to request logprobs from this model."


def sent(**more: Any) -> dict[str, Any]:
    """A request that has everything that can be refused."""
    messages = [SYSTEM, USER, BEGUN]
    body = {"messages": messages, "max_tokens": 16_384, "logprobs": True, "top_logprobs": 20}
    return body | {"temperature": 0.0, "seed": 7, "reasoning_effort": "low"} | more


def cure(status: int, message: Any, manner: Manner | None = None) -> str:
    """What is changed after a refusal: the field of the manner, or nothing."""
    before = manner or Manner(top_logprobs=20)
    body = json.dumps({"error": {"message": message}} if isinstance(message, str) else message)
    made = adapted(from_response(status, {}, body.encode()), sent(), before)
    if made is None:
        return ""
    names = [field.name for field in fields(Manner)]
    return next(name for name in names if getattr(made[0], name) != getattr(before, name))


@pytest.mark.parametrize(
    ("status", "message", "changed"),
    [
        (403, NOT_ALLOWED, "top_logprobs"),
        (400, "Logprobs is not enabled for models/gemini-2.5-pro", "top_logprobs"),
        (
            422,
            {"detail": [{"type": "extra_forbidden", "loc": ["body", "logprobs"], "msg": "Extra"}]},
            "top_logprobs",
        ),
        (400, 'Unknown name "top_logprobs": Cannot find field.', "top_logprobs"),
        (500, "This backend does not support logprobs", "top_logprobs"),
        (501, "logprobs: not supported with streaming off", "top_logprobs"),
        (400, "top_logprobs must be at most 5", "top_logprobs"),
        (
            400,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "limit_field",
        ),
        (400, "System role not supported", "folded"),
        (500, "Jinja Exception: System role not supported", "folded"),
        (400, "Developer instruction is not enabled for models/gemma-3-27b-it", "folded"),
        (400, "Conversation roles must alternate user/assistant/user/assistant/...", "folded"),
        (400, "Only user and assistant roles are supported!", "folded"),
        (400, 'messages: Unexpected role "system". The Messages API accepts a top-level', "folded"),
        (
            422,
            "messages.0.role: Input should be 'user' or 'assistant', not valid: must be",
            "folded",
        ),
        (
            400,
            "This model does not support assistant message prefill. The conversation must end with "
            "a user message.",
            "unbegun",
        ),
        (
            400,
            "Expected last role User or Tool for serving but got assistant: the last message must "
            "be of the user",
            "unbegun",
        ),
        (422, "Unknown field continue_final_message", "unbegun"),
        (400, "max_tokens=16384 cannot be greater than max_model_len=2048.", "most_tokens"),
        (
            400,
            "max_tokens is too large: 16384. This model supports at most 4096 completion tokens, "
            "whereas you gave 16384.",
            "most_tokens",
        ),
        (
            400,
            "'max_tokens' is too large: 16384. This model's maximum context length is 2048 tokens "
            "and your request has 38 "
            "input tokens (16384 > 2048 - 38).",
            "most_tokens",
        ),
        (
            400,
            "This model's maximum context length is 4,097 tokens. However, you requested 16484 "
            "tokens (100 in the messages, "
            "16384 in the completion).",
            "most_tokens",
        ),
        (
            400,
            "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens",
            "most_tokens",
        ),
        (
            400,
            "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            "most_tokens",
        ),
        (400, "`max_tokens` must be less than or equal to `8192`", "most_tokens"),
        # A key, a right or a model that is not there: nothing to send otherwise.
        (401, "Incorrect API key provided", ""),
        (401, NOT_ALLOWED, ""),
        (403, "Your key has no access to this model", ""),
        (403, "Project is not allowed to use this model", ""),
        (404, "The model `system-1` does not exist", ""),
        # The prompt alone is too long: less room for the answer does not help.
        (
            400,
            "This model's maximum context length is 2048 tokens. Your request has 2040 input "
            "tokens; max_tokens 16384",
            "",
        ),
        # What changes the answer is never left out.
        (400, "Unsupported value: 'temperature' does not support 0 with this model.", ""),
        (400, "Unknown field seed", ""),
        (400, "reasoning_effort must be one of minimal, medium", ""),
        (400, "Unknown field structured_outputs", ""),
        (400, "response_format json_schema is not supported by this model", ""),
        # Too busy to say what it refuses.
        (429, "logprobs are not available while the server is overloaded", ""),
    ],
)
def test_words_of_a_refusal_decide_what_is_sent_otherwise(
    status: int, message: Any, changed: str
) -> None:
    assert cure(status, message) == changed


def test_each_way_out_is_taken_once() -> None:
    """So a server that goes on refusing is not asked for ever."""
    for manner, message in (
        (Manner(top_logprobs=0), NOT_ALLOWED),
        (Manner(folded=True), "System role not supported"),
        (Manner(unbegun=True), "prefill is not supported"),
        (Manner(limit_field="max_completion_tokens"), "max_tokens: use max_completion_tokens"),
    ):
        assert cure(400, message, manner) == ""
    assert most_tokens("max_tokens=16384 cannot be greater than max_model_len=2048.") == 2_048
    assert most_tokens("the number must be at most 5") is None


def test_a_system_message_goes_before_the_user_s_words() -> None:
    folded = Manner(folded=True)
    assert folded.messages([SYSTEM, USER, BEGUN]) == [
        {"role": "user", "content": "You score answers.\n\nAnswer with the score only."},
        BEGUN,
    ]
    assert folded.messages([SYSTEM]) == [{"role": "user", "content": "You score answers."}]
    assert folded.messages([USER]) == [USER]
    assert folded.notes([USER], 8) == []
    assert Manner(unbegun=True).messages([USER, BEGUN]) == [USER]


async def replies_of(server: FakeServer, number: int = 3, **fields: Any) -> tuple[Any, list[str]]:
    client = ChatClient(settings(server.base_url))
    try:
        replies = [await client.ask(option_call(k, **fields)) for k in range(number)]
    finally:
        await client.close()
    return replies, client.adaptations


async def test_a_403_that_speaks_of_logprobs_is_met_without_them() -> None:
    def rule(body: dict[str, Any], _: int) -> web.Response | None:
        return failure(403, NOT_ALLOWED) if "logprobs" in body else None

    async with FakeServer(text="4", rule=rule) as server:
        replies, said = await replies_of(server)
    assert [reply.text for reply in replies] == ["4"] * 3
    assert (server.asked, said) == (
        4,
        ["token probabilities are not asked for: the server refuses them"],
    )


async def test_a_wrong_key_stays_a_wrong_key() -> None:
    for status, words in (
        (401, "Bad key"),
        (403, "Bad key"),
        (403, "Your project is not allowed to use the model grammar-7b"),
    ):
        refused = failure(status, words)
        async with FakeServer(rule=lambda *_, answer=refused: answer) as server:
            (reply,) = await ask(settings(server.base_url))
        assert (reply.kind, server.asked) == ("auth", 1)


async def test_logprobs_that_the_user_set_are_named_where_they_are_refused() -> None:
    async with FakeServer(rule=lambda *_: failure(403, NOT_ALLOWED)) as server:
        (reply,) = await ask(settings(server.base_url, extra={"logprobs": True}))
    assert (reply.kind, server.asked) == ("bad_setting", 1)
    assert "Setting “logprobs” is refused" in reply.error


async def test_a_system_message_that_is_refused_is_folded_and_noted() -> None:
    def rule(body: dict[str, Any], _: int) -> web.Response | None:
        roles = [message["role"] for message in body["messages"]]
        return failure(400, "System role not supported") if "system" in roles else None

    async with FakeServer(text="4", rule=rule) as server:
        replies, said = await replies_of(server, messages=(SYSTEM, USER))
    assert [(reply.text, reply.note) for reply in replies] == [("4", FOLDED)] * 3
    assert server.bodies[-1]["messages"] == [
        {"role": "user", "content": f"{SYSTEM['content']}\n\n{USER['content']}"}
    ]
    assert (server.asked, len(said)) == (4, 1)


async def test_an_answer_that_may_not_be_begun_is_asked_for_freely() -> None:
    def rule(body: dict[str, Any], _: int) -> web.Response | None:
        last = body["messages"][-1]["role"]
        return failure(400, "prefill is not supported") if last == "assistant" else None

    async with FakeServer(text="4", rule=rule) as server:
        replies, _ = await replies_of(server, messages=(USER, BEGUN))
    assert [(reply.text, reply.note) for reply in replies] == [("4", UNBEGUN)] * 3
    assert server.bodies[-1]["messages"] == [USER]


async def test_the_longest_answer_comes_down_to_what_the_context_takes() -> None:
    def rule(body: dict[str, Any], _: int) -> web.Response | None:
        most = body["max_tokens"]
        words = f"max_tokens={most} cannot be greater than max_model_len=2048."
        return failure(400, words) if most > 2_048 else None

    async with FakeServer(text="4", rule=rule) as server:
        replies, said = await replies_of(server, max_tokens=16_384)
    assert [(reply.text, reply.note) for reply in replies] == [("4", f"{LOWERED} to 2,048")] * 3
    assert [body["max_tokens"] for body in server.bodies] == [16_384, 2_048, 2_048, 2_048]
    assert said == ["max_tokens was brought down from 16,384 to 2,048: the server takes no more"]


async def test_a_server_that_refuses_all_of_it_at_once_is_asked_in_the_end() -> None:
    def rule(body: dict[str, Any], _: int) -> web.Response | None:
        roles = [message["role"] for message in body["messages"]]
        if "logprobs" in body:
            return failure(403, NOT_ALLOWED)
        if "max_tokens" in body:
            return failure(400, "'max_tokens' is not supported. Use 'max_completion_tokens'.")
        if body["max_completion_tokens"] > 4_096:
            return failure(400, "max_completion_tokens: at most 4096 is allowed")
        if "system" in roles:
            return failure(500, "Jinja Exception: System role not supported")
        return failure(400, "no prefill: not supported") if roles[-1] == "assistant" else None

    messages = (SYSTEM, USER, BEGUN)
    async with FakeServer(text="4", rule=rule) as server:
        replies, said = await replies_of(server, messages=messages, max_tokens=16_384)
    assert [reply.text for reply in replies] == ["4"] * 3
    assert (server.asked, len(said)) == (8, 4)


@pytest.mark.parametrize(
    ("words", "named", "advice"),
    [
        ("Unsupported value: 'temperature' does not support 0", "temperature", '= "server"'),
        ("Extra inputs are not permitted: seed", "seed", "Leave out the judge's seed"),
    ],
)
async def test_what_changes_the_answer_pauses_and_says_what_to_do(
    words: str, named: str, advice: str
) -> None:
    async with FakeServer(rule=lambda *_: failure(400, words)) as server:
        (reply,) = await ask(settings(server.base_url))
    assert (reply.kind, server.asked) == ("bad_setting", 1)
    assert f"Setting “{named}” is refused" in reply.error
    assert advice in advised(reply.error, reply.kind)


def test_nothing_is_sent_otherwise_before_a_refusal() -> None:
    call = option_call(messages=(SYSTEM, USER))
    assert request_body(settings(), call)["messages"] == [SYSTEM, USER]
