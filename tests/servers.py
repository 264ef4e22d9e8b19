"""Local servers that speak the OpenAI chat protocol: a steady one and one that misbehaves.

For tests and benchmarks; 127.0.0.1 only. In a test: ``async with SteadyServer() as server``,
or ``with running(SteadyServer()) as server`` for a server in a thread of its own.
As a process: ``python -m tests.servers --latency-ms 20 --port 0`` prints one line of JSON
with ``base_url`` and serves until its standard input closes or it is told to stop.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import ssl
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from aiohttp import web

CALL_HEADER = "X-Rubriclab-Call"

AnyServer = TypeVar("AnyServer", bound="SteadyServer")

Answer = Callable[[dict[str, Any]], str]
"""Request body to the text of the answer."""


def completion(
    text: str,
    *,
    model: str = "test-model",
    finish: str = "stop",
    logprobs: list[dict[str, Any]] | None = None,
    cached: int = 0,
    refusal: str | None = None,
) -> dict[str, Any]:
    """A chat completion as OpenAI's servers send it; ``logprobs`` one entry a token."""
    message: dict[str, Any] = {"role": "assistant", "content": text if refusal is None else None}
    if refusal is not None:
        message["refusal"] = refusal
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": finish,
                "logprobs": {"content": logprobs} if logprobs is not None else None,
            }
        ],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 1,
            "total_tokens": 101,
            "prompt_tokens_details": {"cached_tokens": cached},
        },
    }


def token_entry(token: str, top: Mapping[str, float]) -> dict[str, Any]:
    """One token's log-probability entry; ``top``: token to log-probability."""
    return {
        "token": token,
        "logprob": top.get(token, -1.0),
        "bytes": list(token.encode()),
        "top_logprobs": [
            {"token": other, "logprob": value, "bytes": list(other.encode())} for other, value in top.items()
        ],
    }


class SteadyServer:
    """Answers every call after ``latency`` seconds with the same text.

    ``answer`` makes the text from the request instead. ``bodies`` keeps the last
    ``keep_bodies`` requests; ``keys`` every call key in order of arrival, ``completed`` how
    often each was answered in full.
    """

    def __init__(
        self,
        *,
        latency: float = 0.0,
        text: str = "3",
        answer: Answer | None = None,
        model: str = "test-model",
        key: str | None = None,
        with_logprobs: bool = True,
        owned_by: str = "rubriclab-tests",
        port: int = 0,
        keep_bodies: int = 50,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.tls = tls
        self.latency, self.text, self.answer, self.model = latency, text, answer, model
        self.key, self.with_logprobs, self.owned_by = key, with_logprobs, owned_by
        self.port, self.keep_bodies = port, keep_bodies
        self.keys: list[str] = []
        self.completed: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.connections: set[Any] = set()
        self.in_flight = self.most_in_flight = 0
        self._runner: web.AppRunner | None = None
        self._listening: tuple[Any, ...] = ()

    @property
    def base_url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}/v1"

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/v1/chat/completions", self.chat),
            web.get("/v1/models", self.models),
            web.get("/health", self.health),
        ]

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.add_routes(self.routes())
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=1024, ssl_context=self.tls)
        await site.start()
        self._listening = site._server.sockets  # type: ignore[union-attr]
        self.port = self._listening[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._runner is not None:
            # No more is accepted, and what was just being accepted gets its place in the server: asyncio
            # forgets a connection that comes to a server already closed, and leaves its socket open.
            loop = asyncio.get_running_loop()
            for listening in self._listening:
                if listening.fileno() >= 0:  # a test may have closed it before
                    loop.remove_reader(listening.fileno())
            for _ in range(4):
                await asyncio.sleep(0)
            await self._runner.cleanup()
            await asyncio.sleep(0.01)  # closed connections are told so in the loop's next rounds

    async def settled(self, seconds: float = 5.0) -> None:
        """Wait until no request is being handled, so that the log is complete."""
        until = time.monotonic() + seconds
        while self.in_flight and time.monotonic() < until:
            await asyncio.sleep(0.01)

    async def chat(self, request: web.Request) -> web.StreamResponse:
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self._chat(request)
        finally:
            self.in_flight -= 1

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        key = request.headers.get(CALL_HEADER, "")
        self.keys.append(key)
        self.connections.add(id(request.transport))
        if len(self.bodies) < self.keep_bodies:
            self.bodies.append(body)
            self.headers.append(dict(request.headers))
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return self.refuse_key(request)
        if self.latency:
            await asyncio.sleep(self.latency)
        return await self.respond(request, body, key)

    def refuse_key(self, request: web.Request) -> web.Response:
        sent = request.headers.get("Authorization", "none")
        return failure(401, f"Incorrect API key provided: {sent}", code="invalid_api_key")

    async def respond(self, request: web.Request, body: dict[str, Any], key: str) -> web.StreamResponse:
        del request
        self.completed[key] += 1
        return web.json_response(self.answer_to(body))

    def answer_to(self, body: dict[str, Any]) -> dict[str, Any]:
        text = self.answer(body) if self.answer else self.text
        entries = None
        if body.get("logprobs") and self.with_logprobs:
            entries = [token_entry(text, {text: -0.1, "1": -3.0, "2": -4.0})]
        return completion(text, model=self.model, logprobs=entries)

    async def models(self, request: web.Request) -> web.Response:
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return self.refuse_key(request)
        return web.json_response(
            {"object": "list", "data": [{"id": self.model, "object": "model", "created": 1, "owned_by": self.owned_by}]}
        )

    async def health(self, request: web.Request) -> web.Response:
        del request
        return web.Response(text="ok")


@dataclass(frozen=True, slots=True)
class Served:
    """One request as the server saw it: was an answer sent in full, or which fault instead."""

    key: str
    fault: str | None
    completed: bool


class _Sent(web.Response):
    """Stands for an answer that was already written by hand."""

    async def prepare(self, request: Any) -> None:
        del request

    async def write_eof(self, data: bytes = b"") -> None:
        del data


def failure(status: int, message: str, **more: Any) -> web.Response:
    """An error as OpenAI-compatible servers send it."""
    return web.json_response({"error": {"message": message, **more}}, status=status)


class FaultServer(SteadyServer):
    """Misbehaves at given rates, by a seeded draw for each request.

    ``rates``: fault to probability (sum at most 1), from FAULTS below. ``log`` has every
    request in the order its handling ended, ``counts`` the number of each fault. Faults are
    drawn in order of arrival; ``rule(key, nth)`` decides instead where given, ``nth``
    counting that key's requests from 0. ``hang`` is how long ``timeout`` and ``slow`` last, in
    seconds.
    """

    def __init__(
        self,
        rates: Mapping[str, float] | None = None,
        *,
        seed: int = 0,
        hang: float = 30.0,
        retry_after: float | None = 0.05,
        rule: Callable[[str, int], str | None] | None = None,
        **steady: Any,
    ) -> None:
        super().__init__(**steady)
        self.rates = dict(rates or {})
        unknown = set(self.rates) - set(FAULTS)
        if unknown or sum(self.rates.values()) > 1 + 1e-9:
            raise ValueError(f"unknown faults {sorted(unknown)} or rates above 1: {self.rates}")
        self.hang, self.retry_after, self.rule = hang, retry_after, rule
        self.log: list[Served] = []
        self.counts: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._seen: Counter[str] = Counter()

    async def respond(self, request: web.Request, body: dict[str, Any], key: str) -> web.StreamResponse:
        fault = self._draw(key)
        completed = False
        try:
            if fault is None:
                response: web.StreamResponse = web.json_response(self.answer_to(body))
                completed = True
            else:
                self.counts[fault] += 1
                response = await getattr(self, f"_{fault}")(request, body)
                completed = fault in WHOLE_ANSWERS
            return response
        finally:
            self.completed[key] += completed
            self.log.append(Served(key, fault, completed))

    def _draw(self, key: str) -> str | None:
        nth = self._seen[key]
        self._seen[key] += 1
        if self.rule is not None:
            return self.rule(key, nth)
        point = self._random.random()
        for fault, rate in self.rates.items():
            point -= rate
            if point < 0:
                return fault
        return None

    def headers_for_wait(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": f"{self.retry_after:g}"}

    async def _timeout(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        await self._linger(request, self.hang)
        return web.json_response(self.answer_to(body))

    async def _slow(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """One byte at a time: each arrives, the whole never does."""
        content = json.dumps(self.answer_to(body)).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(content)
        await response.prepare(request)
        pause = self.hang / len(content)
        with suppress(ConnectionError):
            for byte in content:
                if request.transport is None or request.transport.is_closing():
                    break
                await response.write(bytes([byte]))
                await self._linger(request, pause)
        return response

    async def _linger(self, request: web.Request, seconds: float) -> None:
        """Sleep, but not longer than the client stays."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if request.transport is None or request.transport.is_closing():
                return
            await asyncio.sleep(min(0.02, left))

    async def _reset(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        """The connection is cut without a word."""
        del body
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    async def _cut(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """The connection is cut in the middle of the answer."""
        content = json.dumps(self.answer_to(body)).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(content)
        await response.prepare(request)
        await response.write(content[: len(content) // 2])
        if request.transport is not None:
            request.transport.close()
        return response

    async def _duplicate(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        """A whole answer, and the same bytes once more right behind it."""
        content = json.dumps(self.answer_to(body)).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        response = _Sent()
        if request.transport is not None:
            request.transport.write(2 * (head.encode() + content))
        return response

    async def _rate_limit(self, *_: Any) -> web.Response:
        response = failure(429, "Rate limit reached", code="rate_limit_exceeded")
        response.headers.update(self.headers_for_wait())
        return response

    async def _quota(self, *_: Any) -> web.Response:
        return failure(429, "You exceeded your current quota", code="insufficient_quota")

    async def _server_error(self, *_: Any) -> web.Response:
        return failure(500, "Internal error", type="server_error")

    async def _bad_gateway(self, *_: Any) -> web.Response:
        page = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"
        return web.Response(status=502, text=page, content_type="text/html")

    async def _unavailable(self, *_: Any) -> web.Response:
        response = failure(503, "Overloaded")
        response.headers.update(self.headers_for_wait())
        return response

    async def _bad_json(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        """JSON that ends too soon, with a length that fits what was sent."""
        del request
        content = json.dumps(self.answer_to(body))
        return web.Response(text=content[: len(content) // 2], content_type="application/json")

    async def _html(self, *_: Any) -> web.Response:
        return web.Response(text="<!doctype html><title>Log in</title>", content_type="text/html")

    async def _empty_choices(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        del request
        return web.json_response({**self.answer_to(body), "choices": []})

    async def _wrong_model(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        del request
        return web.json_response({**self.answer_to(body), "model": "another-model"})

    async def _context_overflow(self, *_: Any) -> web.Response:
        return failure(
            400,
            "This model's maximum context length is 1024 tokens.",
            type="BadRequestError",
            param="input_tokens",
            code=400,
        )

    async def _bad_request(self, *_: Any) -> web.Response:
        return failure(400, "top_logprobs must be at most 5", param="top_logprobs")

    async def _auth(self, *_: Any) -> web.Response:
        return failure(401, "Incorrect API key", code="invalid_api_key")

    async def _not_found(self, *_: Any) -> web.Response:
        return failure(404, "The model does not exist", code="model_not_found")

    async def _filtered_prompt(self, *_: Any) -> web.Response:
        return failure(400, "The prompt triggered the content policy", code="content_filter")

    async def _content_filter(self, *_: Any) -> web.Response:
        return web.json_response(completion("", model=self.model, finish="content_filter"))

    async def _refusal(self, *_: Any) -> web.Response:
        return web.json_response(completion("", model=self.model, refusal="I cannot judge this."))

    async def _length(self, *_: Any) -> web.Response:
        return web.json_response(completion("The resp", model=self.model, finish="length"))

    async def _nan_logprobs(self, request: web.Request, body: dict[str, Any]) -> web.Response:
        del request
        payload = self.answer_to(body)
        text = payload["choices"][0]["message"]["content"]
        nan = float("nan")
        payload["choices"][0]["logprobs"] = {"content": [token_entry(text, {text: nan})]}
        return web.json_response(payload)


FAULTS = tuple(
    sorted(
        name[1:]
        for name, member in vars(FaultServer).items()
        if name.startswith("_") and not name.startswith("__") and name not in ("_draw", "_linger") and callable(member)
    )
)
WHOLE_ANSWERS = frozenset({"duplicate", "content_filter", "refusal", "length", "nan_logprobs"})
"""Faults whose reply is nevertheless complete: a client that received it must not lose it."""


@contextmanager
def running(server: AnyServer) -> Iterator[AnyServer]:
    """The server in a thread with its own loop, for tests without one and for benchmarks."""
    ready = threading.Event()
    loops: list[asyncio.AbstractEventLoop] = []
    stop = asyncio.Event()

    async def serve() -> None:
        async with server:
            loops.append(asyncio.get_running_loop())
            ready.set()
            await stop.wait()

    # asyncio.run ends what is still being handled and lets every transport close: one that is
    # left open is reported in whichever test the collector happens to run.
    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    if not ready.wait(10):
        raise RuntimeError("the test server did not start within 10 s")
    try:
        yield server
    finally:
        loops[0].call_soon_threadsafe(stop.set)
        thread.join(10)


def main(arguments: list[str] | None = None) -> None:
    """Serve until stopped; ``--fault NAME=RATE`` (repeatable) makes it misbehave."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--text", default="3")
    parser.add_argument("--model", default="test-model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hang", type=float, default=30.0, help="seconds of timeout and slow")
    parser.add_argument("--fault", action="append", default=[], metavar="NAME=RATE")
    options = parser.parse_args(arguments)
    rates = {name: float(rate) for name, rate in (f.split("=") for f in options.fault)}
    server = FaultServer(
        rates,
        seed=options.seed,
        hang=options.hang,
        latency=options.latency_ms / 1000,
        text=options.text,
        model=options.model,
        port=options.port,
        keep_bodies=0,
    )
    asyncio.run(_serve(server))


async def _serve(server: FaultServer) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stop.set)
    async with server:
        print(json.dumps({"base_url": server.base_url, "port": server.port}), flush=True)
        threading.Thread(target=lambda: (sys.stdin.read(), loop.call_soon_threadsafe(stop.set)), daemon=True).start()
        await stop.wait()
    print(json.dumps({"requests": len(server.log), "faults": server.counts}), flush=True)


if __name__ == "__main__":
    main()
