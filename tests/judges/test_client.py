"""The client against local servers: what it sends, what it reads, and that it never raises."""

from __future__ import annotations

import asyncio
import json
import math
from collections import Counter
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest

from rubriclab.judges.addresses import base_url, with_scheme
from rubriclab.judges.client import ChatClient
from rubriclab.judges.faults import FAULTS
from rubriclab.judges.reading import read_completion, top_tokens
from rubriclab.judges.request import same_model
from rubriclab.model import Call, Judge, LabError, Ordering, Reply, Sampling
from tests.servers import FAULTS as SERVER_FAULTS
from tests.servers import FaultServer, SteadyServer, completion, failure, token_entry

MESSAGES = ({"role": "user", "content": "Rate “it”: 😀"},)


def call(key: str = "k", item: int = 0, want: bool = False, **sampling: Any) -> Call:
    return Call(
        key=key,
        judge=0,
        arm=0,
        items=(item,),
        read=0,
        repeat=0,
        ordering=Ordering((1, 2, 3), ("1", "2", "3")),
        messages=MESSAGES,
        template="t",
        sampling=Sampling(**sampling),
        want_probabilities=want,
    )


def judge(*urls: str, **more: Any) -> Judge:
    settings = {"name": "j", "kind": "openai", "model": "test-model", "timeout": 5.0, **more}
    return Judge(base_urls=urls, **settings)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    async def bounded() -> Any:
        return await asyncio.wait_for(work, 15)

    return asyncio.run(bounded())


async def ask(server: SteadyServer, asked: Call, **more: Any) -> Reply:
    async with ChatClient(judge(server.base_url, **more)) as client:
        return await client.ask(asked)


# ---------------------------------------------------------------- sending


def test_the_request_holds_exactly_what_the_call_says() -> None:
    async def work() -> None:
        async with SteadyServer() as server:
            asked = call(
                "the-key",
                want=True,
                max_tokens=1,
                temperature=0.5,
                top_p=0.9,
                seed=7,
                reasoning_effort="low",
                extra={"structured_outputs": {"choice": ["1", "2"]}, "top_logprobs": 5},
            )
            await ask(server, asked)
            await ask(server, call(temperature=None))
        assert server.bodies[0] == {
            "model": "test-model",
            "messages": [dict(MESSAGES[0])],
            "max_tokens": 1,
            "temperature": 0.5,
            "top_p": 0.9,
            "seed": 7,
            "reasoning_effort": "low",
            "logprobs": True,
            "top_logprobs": 5,
            "structured_outputs": {"choice": ["1", "2"]},
        }
        assert set(server.bodies[1]) == {"model", "messages"}
        assert server.headers[0]["X-Rubriclab-Call"] == "the-key"
        assert "Authorization" not in server.headers[0]

    run(work())


def test_text_that_no_encoding_has_is_sent_all_the_same() -> None:
    async def work() -> None:
        async with SteadyServer() as server:
            half = ({"role": "user", "content": "half a pair: \ud83d"},)
            assert (await ask(server, replace(call(), messages=half))).error is None
        assert server.bodies[0]["messages"][0]["content"] == "half a pair: \ud83d"

    run(work())


def test_reasoning_models_get_the_newer_name_of_the_token_limit() -> None:
    async def work() -> None:
        async with SteadyServer(model="o3-mini") as server:
            await ask(server, call(max_tokens=9), model="o3-mini")
        assert server.bodies[0]["max_completion_tokens"] == 9
        assert "max_tokens" not in server.bodies[0]

    run(work())


def test_a_server_that_refuses_max_tokens_is_understood_once_and_for_all() -> None:
    class Newer(SteadyServer):
        async def respond(self, request: Any, body: dict[str, Any], key: str) -> Any:
            if "max_tokens" in body:
                said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
                return failure(400, said, param="max_tokens", code="unsupported_parameter")
            return await super().respond(request, body, key)

    async def work() -> None:
        async with Newer() as server, ChatClient(judge(server.base_url)) as client:
            replies = [await client.ask(call(str(i), max_tokens=4)) for i in range(3)]
        assert [reply.error for reply in replies] == [None] * 3
        assert server.keys == ["0", "0", "1", "2"]

    run(work())


def test_connections_are_reused() -> None:
    async def work() -> None:
        async with SteadyServer() as server, ChatClient(judge(server.base_url)) as client:
            for i in range(20):
                assert (await client.ask(call(str(i)))).error is None
        assert len(server.connections) == 1

    run(work())


# ---------------------------------------------------------------- keys


def test_the_key_is_sent_and_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "plain0secret0value"
    monkeypatch.setenv("THE_API_KEY", key)

    async def work() -> None:
        async with SteadyServer(key=key) as server:
            client = ChatClient(judge(server.base_url, key_env="THE_API_KEY"))
            async with client:
                good = await client.ask(call())
                server.key = "another"
                bad = await client.ask(call())
            assert good.error is None
            assert bad.kind == "auth"
            assert not bad.retryable
            # The server repeats what it was sent; the message must not.
            assert key not in repr(bad)
            assert key not in repr(client)
            assert "***" in (bad.error or "")

    run(work())


def test_injected_secrets_go_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_API_KEY", "from-environment")

    async def work() -> None:
        async with SteadyServer(key="from-secrets") as server:
            settings = judge(server.base_url, key_env="THE_API_KEY")
            async with ChatClient(settings, secrets={"THE_API_KEY": "from-secrets"}) as client:
                assert (await client.ask(call())).error is None
            async with ChatClient(settings, secrets={}) as client:
                assert (await client.ask(call())).kind == "auth"

    run(work())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"key_env": "NOT_THERE_AT_ALL_API_KEY"}, "NOT_THERE_AT_ALL_API_KEY, which is not set"),
        ({"key_env": "BAD_API_KEY"}, "characters that no key has"),
        ({"base_urls": ("localhost:8000",)}, "is not a base URL"),
        ({"base_urls": ("http://",)}, "is not a base URL"),
        ({"base_urls": ("http://h:99999/v1",)}, "is not a base URL"),
        ({"base_urls": ("http://a b/v1",)}, "is not a base URL"),
        ({"base_urls": ("http://[::1/v1",)}, "is not a base URL"),
        ({"base_urls": (f"http://{'a' * 300}.com/v1",)}, "is not a base URL"),
        ({"base_urls": ("https://me:pw@h/v1",)}, "holds a name, a password or a query"),
        ({"base_urls": ("https://h/v1?api_key=1234",)}, r"“https://h/v1” holds a name"),
        ({"base_urls": (), "kind": "vllm"}, "has no address"),
        ({"sampling": Sampling(extra={"stream": True})}, "sets stream"),
        ({"sampling": Sampling(extra={"bias": {1, 2}})}, "not plain JSON"),
    ],
)
def test_wrong_settings_raise_before_the_first_call(
    settings: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOT_THERE_AT_ALL_API_KEY", raising=False)
    monkeypatch.setenv("BAD_API_KEY", "two words")

    async def work() -> None:
        with pytest.raises(LabError, match=words):
            ChatClient(replace(judge("http://127.0.0.1:1/v1"), **settings))

    run(work())


def test_base_urls_come_to_one_form() -> None:
    for given in ("http://h:1/v1", " http://h:1/v1/ ", "http://h:1/v1/chat/completions"):
        assert base_url(given) == "http://h:1/v1"


# ---------------------------------------------------------------- several servers


def test_an_item_stays_on_one_server_and_moves_when_that_is_down() -> None:
    async def work() -> None:
        async with (
            SteadyServer() as one,
            SteadyServer() as two,
            ChatClient(judge(one.base_url, two.base_url)) as client,
        ):
            calls = [call(f"{i}.{r}", item=i) for i in range(10) for r in range(3)]
            await asyncio.gather(*[client.ask(c) for c in calls])
            homes = [{key.split(".")[0] for key in server.keys} for server in (one, two)]
            assert not homes[0] & homes[1]
            assert [len(home) for home in homes] == [5, 5]
            await one.__aexit__()
            # A kept connection may break once; from then on the other server answers.
            broken = [await client.ask(call("first", item=i)) for i in range(4)]
            assert all(reply.error is None or reply.retryable for reply in broken)
            replies = [await client.ask(call(f"late{i}", item=i)) for i in range(6)]
            assert [reply.error for reply in replies] == [None] * 6
            assert sum(key.startswith("late") for key in two.keys) == 6

    run(work())


def test_a_server_that_comes_back_is_used_again() -> None:
    async def work() -> None:
        away = SteadyServer()
        async with away:
            pass
        async with SteadyServer() as two, ChatClient(judge(away.base_url, two.base_url)) as client:
            assert (await client.ask(call("a", item=0))).error is None
            async with away:
                client._servers[0].down_until = 0.001  # its rest is over
                assert (await client.ask(call("b", item=0))).error is None
        assert two.keys == ["a"]
        assert away.keys == ["b"]

    run(work())


def test_with_no_server_left_the_fault_is_connect() -> None:
    async def work() -> None:
        async with SteadyServer() as one:
            gone = one.base_url
        async with ChatClient(judge(gone, gone)) as client:
            reply = await client.ask(call())
        assert (reply.kind, reply.retryable) == ("connect", True)

    run(work())


# ---------------------------------------------------------------- faults


EXPECTED = {
    "timeout": "timeout",
    "slow": "slow",
    "reset": "reset",
    "cut": "reset",
    "rate_limit": "rate_limit",
    "quota": "quota",
    "server_error": "server_error",
    "bad_gateway": "bad_gateway",
    "unavailable": "unavailable",
    "bad_json": "bad_json",
    "html": "html",
    "empty_choices": "empty_choices",
    "wrong_model": "wrong_model",
    "context_overflow": "context_overflow",
    "bad_request": "bad_request",
    "auth": "auth",
    "not_found": "not_found",
    "filtered_prompt": "content_filter",
}
ANSWERED = {"content_filter", "refusal", "length", "nan_logprobs", "duplicate"}


def test_every_fault_of_the_server_is_expected_here() -> None:
    assert set(SERVER_FAULTS) == set(EXPECTED) | ANSWERED


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_fault_becomes_a_reply_of_its_kind(name: str) -> None:
    async def work() -> None:
        async with FaultServer({name: 1.0}, hang=2.0, retry_after=1.5) as server:
            # Given up on is only the server whose answer never ends; the others have time.
            patience = 0.25 if EXPECTED[name] in ("timeout", "slow") else 20.0
            reply = await ask(server, call("x"), timeout=patience)
        assert reply.kind == EXPECTED[name]
        assert reply.error
        assert reply.retryable == FAULTS[EXPECTED[name]].retryable
        assert reply.retry_after == (1.5 if name in ("rate_limit", "unavailable") else None)
        assert reply.latency > 0
        assert server.counts == {name: 1}
        assert server.completed["x"] == 0

    run(work())


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"SSH-2.0-OpenSSH\r\n", "bad_gateway"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: abc\r\n\r\n", "bad_gateway"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"x" * 100_000 + b"\r\n\r\n", "bad_gateway"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "bad_gateway"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Encoding: gzip\r\n\r\nhello", "bad_json"),
        (b"", "reset"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", "reset"),
        (b"HTTP/1.1 204 None\r\n\r\n", "bad_json"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull", "bad_json"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe", "bad_json"),
        (b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n", "not_found"),
    ],
)
def test_what_is_hardly_http(answer: bytes, kind: str) -> None:
    async def work() -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            writer.write(answer)
            writer.close()

        raw = await asyncio.start_server(handle, "127.0.0.1", 0)
        async with raw:
            port = raw.sockets[0].getsockname()[1]
            async with ChatClient(judge(f"http://127.0.0.1:{port}/v1")) as client:
                reply = await client.ask(call())
        assert reply.kind == kind
        assert reply.error

    run(work())


def test_answers_that_are_no_faults() -> None:
    async def work() -> None:
        names = iter(["content_filter", "refusal", "length", "nan_logprobs"])
        async with (
            FaultServer(rule=lambda _key, _nth: next(names)) as server,
            ChatClient(judge(server.base_url)) as client,
        ):
            filtered, refused, cut, nan = [await client.ask(call(want=True)) for _ in range(4)]
        assert [r.error for r in (filtered, refused, cut, nan)] == [None] * 4
        assert (filtered.finish, filtered.kind) == ("content_filter", "content_filter")
        assert (refused.finish, refused.text) == ("refusal", "I cannot judge this.")
        assert (cut.finish, cut.text) == ("length", "The resp")
        assert (nan.text, nan.top_tokens, nan.kind) == ("3", (), "nan_logprobs")

    run(work())


def echo(body: dict[str, Any]) -> str:
    return str(body["messages"][0]["content"])


def saying(text: str, key: str = "k") -> Call:
    return replace(call(key), messages=({"role": "user", "content": text},))


def test_an_answer_delivered_twice_is_not_taken_for_the_next_one() -> None:
    async def work() -> None:
        async with FaultServer({"duplicate": 0.3}, answer=echo) as server, ChatClient(judge(server.base_url)) as client:
            todo = iter(range(200))

            async def one_after_another() -> None:
                for i in todo:
                    reply = await client.ask(saying(f"answer {i}", f"k{i}"))
                    assert reply.text == f"answer {i}"

            await asyncio.gather(*[one_after_another() for _ in range(8)])
        assert server.counts["duplicate"] > 30
        assert server.completed.total() == 200

    run(work())


def test_a_second_copy_that_comes_later_is_dropped_with_its_connection() -> None:
    content = json.dumps(completion("late")).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(content), content)
    opened = []

    async def work() -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            opened.append(writer)
            while await reader.read(65536):
                writer.write(answer)
                await asyncio.sleep(0.02)
                writer.write(answer)
            writer.close()

        async with await asyncio.start_server(handle, "127.0.0.1", 0) as raw:
            port = raw.sockets[0].getsockname()[1]
            async with ChatClient(judge(f"http://127.0.0.1:{port}/v1")) as client:
                for _ in range(3):
                    assert (await client.ask(call())).text == "late"
                    await asyncio.sleep(0.1)
        assert len(opened) == 3

    run(work())


def test_mixed_faults_agree_with_the_servers_log() -> None:
    names = ("reset", "rate_limit", "server_error", "bad_json", "html", "empty_choices", "cut")

    async def work() -> None:
        async with (
            FaultServer(dict.fromkeys(names, 0.08), seed=3) as server,
            ChatClient(judge(server.base_url)) as client,
        ):
            replies = await asyncio.gather(*[client.ask(call(str(i))) for i in range(300)])
        got = Counter(reply.kind for reply in replies)
        sent = Counter(EXPECTED.get(entry.fault or "") for entry in server.log)
        assert got == sent
        assert sum(reply.error is None for reply in replies) == server.completed.total()

    run(work())


def test_a_cancelled_call_is_cancelled() -> None:
    async def work() -> None:
        async with FaultServer({"timeout": 1.0}, hang=5) as server, ChatClient(judge(server.base_url)) as client:
            task = asyncio.create_task(client.ask(call()))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(work())


def test_an_error_inside_a_200_is_an_error() -> None:
    class Gateway(SteadyServer):
        def answer_to(self, body: dict[str, Any]) -> dict[str, Any]:
            return {"error": {"message": f"No provider of {body['model']}", "code": 503}}

    async def work() -> None:
        async with Gateway() as server:
            assert (await ask(server, call())).kind == "unavailable"

    run(work())


# ---------------------------------------------------------------- reading


def test_usage_model_and_cached_tokens() -> None:
    reply = read_completion(completion("3", cached=64), latency=0.5)
    assert (reply.tokens_in, reply.tokens_out, reply.cached_tokens) == (100, 1, 64)
    assert (reply.model, reply.text, reply.finish, reply.latency) == ("test-model", "3", "stop", 0.5)
    llama = {**completion("3"), "usage": {"prompt_tokens": 5}, "timings": {"cache_n": 4}}
    assert read_completion(llama).cached_tokens == 4
    silent = {k: v for k, v in completion("3").items() if k != "usage"}
    assert read_completion(silent).tokens_in is None


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"choices": None},
        {"choices": {}},
        {"choices": [None]},
        {"choices": ["text"]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": "hello"}]},
    ],
)
def test_answers_without_an_answer(payload: dict[str, Any]) -> None:
    assert read_completion(payload).kind == "empty_choices"


def test_odd_but_readable_answers() -> None:
    def answer(message: dict[str, Any], **choice: Any) -> Reply:
        return read_completion({"choices": [{"message": message, **choice}], "usage": "none"})

    assert answer({"content": [{"type": "text", "text": "4"}, {"text": "2"}]}).text == "42"
    assert answer({"content": None}).text == ""
    assert answer({"content": "1"}, finish_reason="abort").kind == "reset"
    assert answer({"content": "1"}, logprobs=[]).error is None


def content(*entries: tuple[str, dict[str, float]]) -> dict[str, Any]:
    return {"content": [token_entry(token, top) for token, top in entries]}


LABELS = {"3": -0.1, "2": -2.5}
OTHER = {"x": -0.5}


@pytest.mark.parametrize(
    ("tokens", "text"),
    [
        (["3"], "3"),
        (["\n", " ", "3"], "3"),
        ([" 3", "</s>"], " 3"),
        (["<think>", "2", " or", " 3", "</think>", "\n\n", "3"], "3"),
        (["<think>", "3", "</think>", "\n", "3"], "<think>3</think>\n3"),
        (["So", ":", " [", "RESULT", "]", " ", "3"], "So: [RESULT] 3"),
        (["�", "</think>", "\n", "3", "�"], "3é"),
    ],
)
def test_probabilities_are_read_at_the_first_answer_token(tokens: list[str], text: str) -> None:
    at = max(i for i, token in enumerate(tokens) if "3" in token)
    entries = [(token, LABELS if i == at else OTHER) for i, token in enumerate(tokens)]
    assert top_tokens(content(*entries), text) == ((("3", -0.1), ("2", -2.5)), True)


def test_prose_starts_at_its_first_token() -> None:
    entries = [("Good", LABELS), (" answer", OTHER), (".", OTHER)]
    assert top_tokens(content(*entries), "Good answer.")[0][0] == ("3", -0.1)


def test_missing_and_unusable_probabilities() -> None:
    assert top_tokens(None, "3") == ((), True)
    assert top_tokens({"content": []}, "3") == ((), True)
    assert top_tokens({"content": [{"token": "3", "logprob": 0}]}, "3") == ((), True)
    assert top_tokens({"content": ["3", None]}, "3") == ((), True)
    assert top_tokens(content(("3", {"3": math.nan})), "3") == ((), False)
    null = {"content": [{"token": "3", "top_logprobs": [{"token": "3", "logprob": None}]}]}
    assert top_tokens(null, "3") == ((), False)
    assert top_tokens(content(("3", {"3": 0.0, "4": -math.inf})), "3")[0][1] == ("4", -9999.0)


def test_json_of_python_and_of_servers_agree_on_nan() -> None:
    payload = json.loads('{"a": NaN, "b": -Infinity}')
    assert math.isnan(payload["a"])
    assert payload["b"] == -math.inf


@pytest.mark.parametrize(
    ("asked", "served", "same"),
    [
        ("gpt-4.1-mini", "gpt-4.1-mini-2025-04-14", True),
        ("openai/gpt-4.1-mini", "GPT-4.1-mini", True),
        ("/models/Qwen3-8B.gguf", "qwen3-8b", True),
        ("mistral-small-latest", "mistral-small-2503", True),
        ("gemma3:latest", "gemma3", True),
        ("gpt-4.1", "gpt-4.1-mini", False),
        ("gpt-4", "gpt-4.1", False),
        ("gpt-4", "gpt-4-0613", True),
        ("claude-sonnet-4", "claude-sonnet-4-5", False),
        ("claude-sonnet-4", "claude-sonnet-4-20250514", True),
        ("command-r", "command-r-08-2024", True),
        ("", "gpt", False),
        ("test-model", "another-model", False),
        ("qwen3-8b", "qwen3-80b", False),
    ],
)
def test_same_model(asked: str, served: str, same: bool) -> None:
    assert same_model(asked, served) is same


def test_served_model_can_be_named() -> None:
    async def work() -> None:
        async with SteadyServer(model="alias-of-it") as server:
            assert (await ask(server, call())).kind == "wrong_model"
            for name in ("alias-of-it", "*"):
                assert (await ask(server, call(), options={"served_model": name})).error is None

    run(work())


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (" localhost/v1 ", "http://localhost/v1"),
        ("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("gpu-box:8000/v1", "http://gpu-box:8000/v1"),
        ("api.example.com/v1", "https://api.example.com/v1"),
        ("https://api.example.com/v1", "https://api.example.com/v1"),
        ("me:pw@host/v1", "me:pw@host/v1"),
        ("no address", "no address"),
        ("word", "word"),
    ],
)
def test_an_address_as_people_type_it(typed: str, meant: str) -> None:
    assert with_scheme(typed) == meant
