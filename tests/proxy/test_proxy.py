"""The endpoint itself: what passes through it untouched, what it puts together, and what goes wrong behind it."""

from __future__ import annotations

import asyncio
import gzip
import http.client
import io
import json
import random
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import openai
import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rubriclab.datasets.logs.prompted import NO_LIST
from rubriclab.model import LabError
from rubriclab.runs import proxy_upstream
from rubriclab.runs.proxy import MAX_BODY, STATUS_PATH, TOO_LARGE
from rubriclab.study import proxied_request
from tests.fuzzing import TOKENS
from tests.proxies import Leaning, Running, body, comparing, proxied, rating, request
from tests.servers import FaultServer, SteadyServer, running

CHAT = "/v1/chat/completions"
KEY = "sk-very-secret-0123456789"


class Scripted(SteadyServer):
    """Answers every path by ``reply(request, body)``; keeps what was asked, and counts handlers that were cancelled."""

    def __init__(self, reply: Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]) -> None:
        super().__init__()
        self.reply = reply
        self.asked: list[tuple[str, str, list[tuple[str, str]], bytes]] = []
        self.cancelled = 0

    def routes(self) -> list[web.RouteDef]:
        return [web.route("*", "/{tail:.*}", self.any)]

    async def any(self, sent: web.Request) -> web.StreamResponse:
        content = await sent.read()
        if sent.path == STATUS_PATH:  # what the proxy asks at its start
            return web.Response(status=404)
        self.asked.append((sent.method, sent.raw_path, list(sent.headers.items()), content))
        return await self.reply(sent, content)


def sent(
    at: Running, method: str, path: str, content: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, dict[str, str], bytes]:
    """(status, headers in small letters, body) of one request, byte by byte as given."""
    parts = urlsplit(at.base_url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
    try:
        connection.request(method, path, content, headers or {})
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def asked(at: Running, content: bytes, **headers: str) -> tuple[int, dict[str, str], dict[str, Any]]:
    status, came, answer = sent(at, "POST", CHAT, content, {"Content-Type": "application/json", **headers})
    return status, came, json.loads(answer)


# ---------------------------------------------------------------- untouched


def test_what_is_not_understood_passes_byte_for_byte() -> None:
    async def reply(_: web.Request, content: bytes) -> web.StreamResponse:
        return web.Response(
            status=418, reason="Short and stout", body=b"\xff\x00" + content, headers={"X-A": "1", "Server": "tea/1"}
        )

    odd = b'{"messages": [{"role": "user",\n "content": "Hello \\u00e9"}], "n":1 }'
    with running(Scripted(reply)) as behind, proxied(behind.base_url) as at:
        sending = {"X-Team": "judge", "Authorization": f"Bearer {KEY}", "Accept-Encoding": "br", "Connection": "close"}
        status, headers, answer = sent(at, "POST", f"{CHAT}?a=%2Fb&c=d%20e", odd, sending)
        assert (status, answer) == (418, b"\xff\x00" + odd)
        assert (headers["x-a"], headers["server"]) == ("1", "tea/1")
        assert headers["x-rubriclab"] == f'untouched; reason="{NO_LIST}"'
        method, path, came, content = behind.asked[0]
        assert (method, path, content) == ("POST", f"{CHAT}?a=%2Fb&c=d%20e", odd)
        kept = dict(came)
        assert (kept["X-Team"], kept["Authorization"], kept["Accept-Encoding"]) == ("judge", f"Bearer {KEY}", "br")
        assert {name.lower() for name, _ in came} == {
            "x-team",
            "authorization",
            "accept-encoding",
            "content-length",
            "host",
        }
        for method, path in (("GET", "/v1/models"), ("POST", "/v1/embeddings"), ("DELETE", "/other?x"), ("HEAD", "/")):
            sent(at, method, path, b"x" if method == "POST" else None)
            assert behind.asked[-1][:2] == (method, path)
        assert at.proxy.status()["calls_upstream"] == 0


def test_a_streamed_answer_is_streamed_on_as_it_comes() -> None:
    go = threading.Event()

    async def reply(sent: web.Request, content: bytes) -> web.StreamResponse:
        del content
        answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await answer.prepare(sent)
        await answer.write(b"data: 1\n\n")
        while not go.is_set():
            await asyncio.sleep(0.005)
        await answer.write(b"data: 2\n\n")
        return answer

    with running(Scripted(reply)) as behind, proxied(behind.base_url) as at:
        parts = urlsplit(at.base_url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
        connection.request("POST", CHAT, body(rating("x"), stream=True))
        answer = connection.getresponse()
        assert answer.headers["X-Rubriclab"] == f'untouched; reason="{proxied_request.STREAMED}"'
        assert answer.read1(100) == b"data: 1\n\n", "before the second part was sent"
        go.set()
        assert answer.read() == b"data: 2\n\n"
        connection.close()


def test_large_and_compressed_bodies_pass_without_being_held() -> None:
    async def reply(_: web.Request, content: bytes) -> web.StreamResponse:
        return web.Response(body=str(len(content)).encode())

    with running(Scripted(reply)) as behind, proxied(behind.base_url) as at:
        large = body("x" * (MAX_BODY + 10))
        _, headers, answer = sent(at, "POST", CHAT, large, {"Expect": "100-continue"})
        assert answer == str(len(large)).encode()
        assert headers["x-rubriclab"] == f'untouched; reason="{TOO_LARGE}"'
        packed = gzip.compress(body(rating("x")))
        sent(at, "POST", CHAT, packed, {"Content-Encoding": "gzip"})
        assert dict(behind.asked[-1][2])["Content-Encoding"] == "gzip"
        chunked = io.BytesIO(body("y" * (MAX_BODY + 10)))
        parts = urlsplit(at.base_url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
        connection.request("POST", CHAT, chunked, encode_chunked=True, headers={"Transfer-Encoding": "chunked"})
        assert int(connection.getresponse().read()) == len(chunked.getvalue())
        connection.close()
        assert at.proxy.status()["passed"][TOO_LARGE] == 2


# ---------------------------------------------------------------- put together


def test_a_pipeline_gets_one_answer_and_is_told_what_was_done() -> None:
    with running(SteadyServer(answer=Leaning(0.6), key=KEY)) as behind, proxied(behind.base_url) as at:
        client = openai.OpenAI(base_url=at.base_url, api_key=KEY, max_retries=0)
        raw = client.chat.completions.with_raw_response.create(**request(rating("x"), temperature=0))
        answer = raw.parse()
        assert raw.headers["X-Rubriclab"].startswith("orders=10; read=10; calls=10; score=")
        assert answer.usage is not None
        assert answer.usage.prompt_tokens == 1000
        told = (answer.model_extra or {})["rubriclab"]
        assert len(told["reads"]) == 10
        assert answer.choices[0].message.content == f"Some reasons. Score: {told['returned']}"
        assert len({json.dumps(sent["messages"]) for sent in behind.bodies}) == 10
        assert {sent["temperature"] for sent in behind.bodies} == {0}
        assert [model.id for model in client.models.list()] == ["test-model"]
        status = json.loads(sent(at, "GET", "/rubriclab/status")[2])
        assert (status["cured"], status["calls_upstream"]) == (1, 10)
        assert sum(status["passed"].values()) == 1
        client.close()


def test_so_many_orders_as_are_asked_for() -> None:
    with running(SteadyServer(text="Score: 4")) as behind:
        for orders, calls in (("all", 120), (3, 3), ("fixed", 1)):
            with proxied(behind.base_url, orders=orders) as at:
                _, headers, _ = asked(at, body(rating("x")))
                assert headers["x-rubriclab"] == f"orders={calls}; read={calls}; calls={calls}; score=4.0; returned=4"


def test_unreadable_replies_give_the_plain_answer_and_say_so() -> None:
    with running(SteadyServer(text="I would rather not.")) as behind:
        with proxied(behind.base_url) as at:
            status, headers, answer = asked(at, body(rating("x")))
            assert status == 200
            assert answer["choices"][0]["message"]["content"] == "I would rather not."
            assert headers["x-rubriclab"] == 'plain; orders=10; read=0; reason="0 of 10 replies could be read"'
            assert answer["rubriclab"] == {"orders": 10, "read": 0, "reason": "0 of 10 replies could be read"}
        with proxied(behind.base_url, orders=2) as at:  # the usual order is not always among these: then it is asked
            kinds = set()
            for k in range(8):
                _, headers, answer = asked(at, body(rating(f"text {k}")))
                assert answer["choices"][0]["message"]["content"] == "I would rather not."
                assert headers["x-rubriclab"].startswith("plain; ")
                kinds.add("rubriclab" in answer)
            assert kinds == {True, False}


def test_a_pair_that_disagrees_is_asked_once_more() -> None:
    with running(SteadyServer(text="[[A]]")) as behind, proxied(behind.base_url) as at:
        _, headers, answer = asked(at, body(comparing("x", "y")))
        assert "calls=3; share=0." in headers["x-rubriclab"]
        assert 'disagree="most of 3 replies"' in headers["x-rubriclab"]
        assert answer["choices"][0]["message"]["content"] in ("[[A]]", "[[B]]")
        assert len(behind.bodies) == 3


# ---------------------------------------------------------------- what goes wrong behind


@pytest.mark.parametrize("fault", ["rate_limit", "server_error", "unavailable", "reset", "cut", "bad_json", "html"])
def test_a_mendable_fault_is_tried_again(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_upstream, "FIRST_WAIT", 0.001)
    server = FaultServer(rule=lambda _, nth: fault if nth in (0, 4, 7) else None, text="Score: 2", retry_after=0.01)
    with running(server) as behind, proxied(behind.base_url) as at:
        status, headers, _ = asked(at, body(rating("x")))
        assert (status, headers["x-rubriclab"]) == (200, "orders=10; read=10; calls=10; score=2.0; returned=2")
        assert at.proxy.status()["calls_upstream"] == 13
        assert sum(at.proxy.status()["faults"].values()) == 3


def test_a_few_lost_calls_are_said_and_many_give_the_plain_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_upstream, "FIRST_WAIT", 0.001)

    def losing(some: set[str]) -> Callable[[dict[str, Any]], str]:
        def answer(sent: dict[str, Any]) -> str:
            first = sent["messages"][0]["content"].split("Score ")[1][0]
            if first in some:
                raise web.HTTPInternalServerError(text="lost")
            return "Score: 3"

        return answer

    for some, note in (
        ({"2"}, "orders=10; read=8; calls=10; faults=2; score=3.0"),
        ({"2", "4"}, "plain; orders=10; read=6; faults=4"),
    ):
        with running(SteadyServer(answer=losing(some))) as behind, proxied(behind.base_url) as at:
            status, headers, answer = asked(at, body(rating("x")))
            assert status == 200
            assert headers["x-rubriclab"].startswith(note)
            assert answer["choices"][0]["message"]["content"] == "Score: 3"


def test_the_upstreams_own_error_goes_through_as_it_is() -> None:
    with running(SteadyServer(key=KEY)) as behind, proxied(behind.base_url) as at:
        status, headers, answer = asked(at, body(rating("x")), Authorization="Bearer wrong")
        assert (status, answer["error"]["code"]) == (401, "invalid_api_key")
        assert headers["x-rubriclab"] == "upstream error; kind=auth"
        assert at.proxy.status()["failed"] == {"401": 1}
    limited = FaultServer({"rate_limit": 1.0}, retry_after=77)
    with running(limited) as behind, proxied(behind.base_url) as at:
        status, headers, answer = asked(at, body(rating("x")))
        assert (status, headers["retry-after"]) == (429, "77")
        assert answer["error"]["message"] == "Rate limit reached"
        assert len(behind.bodies) == 10, "nobody is asked again who said when to come again"


def test_no_upstream_is_told_as_an_error_of_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_upstream, "FIRST_WAIT", 0.001)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with proxied(f"http://127.0.0.1:{taken.getsockname()[1]}/v1") as at:
            for content in (body(rating("x")), body("hello")):
                status, headers, answer = asked(at, content)
                assert (status, headers["x-rubriclab"]) == (502, "error; by=rubriclab")
                assert answer["error"]["type"] == "rubriclab_proxy"


def test_a_pipeline_that_hangs_up_ends_its_calls() -> None:
    async def reply(sent: web.Request, content: bytes) -> web.StreamResponse:
        del content
        until = time.monotonic() + 20
        while time.monotonic() < until:
            await asyncio.sleep(0.01)
            if sent.transport is None or sent.transport.is_closing():
                behind.cancelled += 1
                break
        return web.Response()

    with running(Scripted(reply)) as behind, proxied(behind.base_url) as at:
        for content in (body(rating("x")), body("hello")):
            behind.asked.clear()
            behind.cancelled = 0
            calls = 10 if b"Scores" in content else 1
            parts = urlsplit(at.base_url)
            connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
            connection.request("POST", CHAT, content)
            until = time.monotonic() + 10
            while len(behind.asked) < calls and time.monotonic() < until:
                time.sleep(0.01)
            connection.close()
            while behind.cancelled < calls and time.monotonic() < until:
                time.sleep(0.01)
            assert behind.cancelled == calls
            assert at.proxy.status()["active"] == 0


# ---------------------------------------------------------------- who may come, and what is kept


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:1"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:8501"}, 200),
    ],
)
def test_foreign_names_and_pages_are_refused(headers: dict[str, str], status: int) -> None:
    with running(SteadyServer(text="Score: 3")) as behind, proxied(behind.base_url) as at:
        for method, path, content in (("POST", CHAT, body(rating("x"))), ("GET", "/rubriclab/status", None)):
            assert sent(at, method, path, content, headers)[0] == status
        assert bool(behind.bodies) == (status == 200)


def test_no_key_and_no_prompt_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    log = io.StringIO()
    with running(SteadyServer(text="Score: 3", key=KEY)) as behind, proxied(behind.base_url, log=log) as at:
        for prompt in (rating("a secret text"), "another secret text"):
            asked(at, body(prompt), Authorization=f"Bearer {KEY}")
        asked(at, body(rating("a secret text")), Authorization=f"Bearer {KEY}x")
        kept = log.getvalue() + json.dumps(at.proxy.status()) + caplog.text
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert [(line["path"], line["status"]) for line in lines] == [(CHAT, 200), (CHAT, 200), (CHAT, 401)]
    assert lines[0]["did"] == "orders=10; read=10; calls=10; score=3.0; returned=3"
    assert "secret" not in kept


def test_an_upstream_that_is_a_proxy_is_refused() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        pytest.raises(LabError, match="is a rubriclab proxy itself"),
        proxied(f"http://localhost:{port}/v1", port=port),
    ):
        pass
    with running(SteadyServer()) as behind, proxied(behind.base_url) as at:
        with pytest.raises(LabError, match="is a rubriclab proxy itself"), proxied(at.base_url):
            pass
        with (
            pytest.raises(LabError, match="cannot be listened on"),
            proxied(behind.base_url, port=int(at.root[-5:].strip(":"))),
        ):
            pass
    with pytest.raises(LabError, match="is not a base URL"), proxied("ftp://x"):
        pass


# ---------------------------------------------------------------- whatever comes


def spoilt(seed: int, whole: bytes) -> bytes:
    draw = random.Random(seed)
    text = bytearray(whole)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(text) + 1)
        text[at : at + draw.choice((0, 1, 5, 40))] = draw.choice(TOKENS)
    return bytes(text)


WHOLE = [body(rating("x"), logprobs=True), body(comparing("x", "y")), body("Hello")]


@pytest.mark.slow
def test_whatever_is_asked_is_never_an_error_of_ours() -> None:
    with running(SteadyServer(text="Score: 3", keep_bodies=0)) as behind, proxied(behind.base_url, orders=2) as at:
        parts = urlsplit(at.base_url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)

        @settings(max_examples=60, suppress_health_check=list(HealthCheck), database=None)
        @given(
            st.one_of(
                st.binary(max_size=300),
                st.builds(spoilt, st.integers(0, 2**32), st.sampled_from(WHOLE)),
                st.recursive(
                    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
                    lambda inner: (
                        st.lists(inner, max_size=3)
                        | st.dictionaries(
                            st.sampled_from(["messages", "role", "content", "n", "tools", "type", "text"]),
                            inner,
                            max_size=4,
                        )
                    ),
                ).map(lambda value: json.dumps({"messages": value}).encode()),
            )
        )
        def check(content: bytes) -> None:
            connection.request("POST", CHAT, content)
            answer = connection.getresponse()
            answer.read()
            # The test's own server fails on what is no JSON: that error is passed on, and none is ours.
            assert answer.status in (200, 500)
            assert answer.headers["X-Rubriclab"]
            assert "by=rubriclab" not in answer.headers["X-Rubriclab"]

        check()
        connection.close()
        assert not at.proxy.status()["failed"].get("500")


def test_whatever_is_answered_is_never_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy_upstream, "FIRST_WAIT", 0.001)
    whole = json.dumps(SteadyServer(text="Score: 3").answer_to({"logprobs": True})).encode()
    draw = random.Random(5)

    async def reply(_: web.Request, content: bytes) -> web.StreamResponse:
        del content
        return web.Response(body=spoilt(draw.randrange(2**32), whole), content_type="application/json")

    with running(Scripted(reply)) as behind, proxied(behind.base_url, orders=2) as at:
        statuses = set()
        for k in range(40):
            status, headers, _ = sent(at, "POST", CHAT, body(rating(f"text {k}"), logprobs=True))
            statuses.add(status)
            assert headers["x-rubriclab"]
        assert statuses <= {200, 502} | set(range(400, 500)), statuses
