"""Serve the OpenAI chat protocol with a planted position bias, and count what is asked.

In a test: ``async with FakeServer() as server``, or ``with running(FakeServer(lean=1.0)) as
server`` for one in a thread of its own. 127.0.0.1 only.
"""

import asyncio
import hashlib
import json
import math
import random
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from aiohttp import web

CALL_HEADER = "X-Rubriclab-Call"
LISTED = re.compile(r"^Score ([^\s:]{1,20}):", re.M)
"""An option as the lab's own prompts list it: ``Score N: ...``."""


def completion(
    text: str | None, *, model: str = "test-model", finish: Any = "stop", **choice: Any
) -> dict[str, Any]:
    """A chat completion as OpenAI's servers send it; ``choice`` adds fields to the choice
    (``logprobs``).
    """
    usage = {"prompt_tokens": 100, "completion_tokens": 1, "total_tokens": 101}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "finish_reason": finish,
                **choice,
            }
        ],
        "usage": usage | {"prompt_tokens_details": {"cached_tokens": 40}},
    }


def token_entry(token: str, top: Mapping[str, float]) -> dict[str, Any]:
    """Return one token's entry of ``logprobs.content``; ``top``: token to log-probability."""
    listed = [
        {"token": name, "logprob": p, "bytes": list(name.encode(errors="replace"))}
        for name, p in top.items()
    ]
    return {"token": token, "logprob": top.get(token, -1.0), "bytes": [], "top_logprobs": listed}


def failure(
    status: int, message: str, *, headers: Mapping[str, str] | None = None, **more: Any
) -> web.Response:
    """Return an error as OpenAI-compatible servers send it."""
    return web.json_response(
        {"error": {"message": message, **more}}, status=status, headers=headers
    )


class Pages:
    """A server that answers every request by ``handler``, at ``url``."""

    def __init__(
        self, handler: Callable[[web.Request], Awaitable[web.StreamResponse]], tls: Any = None
    ) -> None:
        self.handler, self.tls, self.port = handler, tls, 0

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 2**20)
        app.router.add_route("*", "/{path:.*}", self.handler)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        handlers = self._runner.server
        assert handlers is not None
        self._listening = await asyncio.get_running_loop().create_server(
            handlers, "127.0.0.1", 0, backlog=1024, ssl=self.tls
        )
        self.port = self._listening.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        # Accept no more, then let what was accepted reach the server. asyncio loses a connection
        # whose server closes in between: it would be collected, with a warning, in another test.
        for listening in self._listening.sockets:
            asyncio.get_running_loop().remove_reader(listening.fileno())
        await asyncio.sleep(0.01)
        self._listening.close()
        await self._runner.cleanup()
        await asyncio.sleep(0.01)  # closed connections are told so in the loop's next rounds


class FakeServer(Pages):
    """A server that replies to every call after ``latency`` seconds.

    text: what it replies. Without it, it picks one of the options that the prompt lists as
        ``Score N:``, by a draw from the prompt's own hash; without a list it says 3.
    lean: log-odds added to the option listed first.
    probabilities: whether it returns the token probabilities of the draw.
    rule: ``rule(body, nth)`` may return another response (see ``failure``) to the nth request of a
        call, from 0.

    It counts requests (``asked``) and complete replies (``answered``). ``keys`` has the call key of
    every request in order of arrival, ``senders`` also the key it came with, ``times`` when a call
    was last replied to; ``bodies`` and ``headers`` are the last fifty.
    """

    def __init__(
        self,
        *,
        text: str | None = None,
        lean: float = 0.0,
        rule: Callable[[dict[str, Any], int], web.StreamResponse | None] | None = None,
        latency: float = 0.0,
        model: str = "test-model",
        key: str | None = None,
        probabilities: bool = True,
        owned_by: str = "tests",
        tls: Any = None,
    ) -> None:
        super().__init__(self._page, tls)
        self.text, self.lean, self.rule, self.latency, self.model = text, lean, rule, latency, model
        self.key, self.probabilities, self.owned_by = key, probabilities, owned_by
        self.asked = self.answered = self.in_flight = 0
        self.keys: list[str] = []
        self.times: dict[str, float] = {}
        self.senders: list[tuple[str, str]] = []
        self.bodies: deque[dict[str, Any]] = deque(maxlen=50)
        self.headers: deque[Mapping[str, str]] = deque(maxlen=50)
        self._seen: Counter[str] = Counter()

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if request.path == "/v1/chat/completions":
            return await self._chat(request)
        if request.path == "/health":
            return web.Response(text="ok")
        if request.path != "/v1/models":
            return failure(404, "Not Found")
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return failure(401, "Incorrect API key provided")
        entry = {
            "id": self.model,
            "object": "model",
            "created": 1,
            "owned_by": self.owned_by,
            "max_model_len": 2048,
        }
        return web.json_response({"object": "list", "data": [entry]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self.asked += 1
        self.in_flight += 1
        try:
            body = json.loads(await request.read())
            call = request.headers.get(CALL_HEADER, "")
            self.keys.append(call)
            sender = request.headers.get("Authorization", "").removeprefix("Bearer ")
            self.senders.append((call, sender))
            self.bodies.append(body)
            self.headers.append(request.headers)
            if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
                return failure(
                    401, f"Incorrect API key provided: {request.headers.get('Authorization')}"
                )
            if self.latency:
                await asyncio.sleep(self.latency)
            nth = self._seen[call]
            self._seen[call] += 1
            response = self.rule(body, nth) if self.rule else None
            if response is not None:
                return response
            self.answered += 1
            self.times[call] = time.monotonic()
            return web.json_response(self.completion(body))
        finally:
            self.in_flight -= 1

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        text, chances = self._pick(body)
        logprobs = None
        if body.get("logprobs") and self.probabilities:
            top = {token: math.log(max(chance, 1e-12)) for token, chance in chances.items()}
            logprobs = {"content": [token_entry(text, top)]}
        return completion(text, model=self.model, logprobs=logprobs)

    def _pick(self, body: dict[str, Any]) -> tuple[str, dict[str, float]]:
        """Return the text, and the probabilities of what it could have been."""
        if self.text is not None:
            return self.text, {self.text: 0.9, "1": 0.05, "2": 0.05}
        prompt = "\n".join(str(message.get("content", "")) for message in body.get("messages", ()))
        listed = list(dict.fromkeys(LISTED.findall(prompt)))
        if not listed:
            return "3", {"3": 0.9, "1": 0.05, "2": 0.05}
        weights = [math.exp(self.lean) if position == 0 else 1.0 for position in range(len(listed))]
        draw = random.Random(hashlib.sha256(prompt.encode("utf-8", "replace")).digest())
        text = draw.choices(listed, weights)[0]
        return text, {
            label: weight / sum(weights) for label, weight in zip(listed, weights, strict=True)
        }


@contextmanager
def running(server: Any) -> Iterator[Any]:
    """Run a server (any async context) in a thread with an event loop of its own."""
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with server:
            ready.set()
            await stop.wait()

    thread = threading.Thread(
        target=loop.run_until_complete, args=(serve(),), name="test-server", daemon=True
    )
    thread.start()
    try:
        if not ready.wait(10):
            raise RuntimeError("the server did not start")
        yield server
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(20)
        loop.close()


class DecisionServer(Pages):
    """A decision server, in both wire forms. Each state has a quality, and each request noise.

    shared: all questions of a request have the same noise.
    lean: log-odds added to the option listed first.
    leak: log-odds added to the option that the question before it listed first.
    edit: ``edit(answers)`` may change what is sent.
    rule: ``rule(body, nth)`` may return another response to the nth request, from 0.
    bodies: what was asked.
    """

    def __init__(
        self,
        *,
        lean: float = 0.0,
        leak: float = 0.0,
        noise: float = 0.5,
        shared: bool = False,
        seed: int = 0,
        edit: Callable[[Any], Any] = lambda answers: answers,
        rule: Callable[[dict[str, Any], int], web.StreamResponse | None] = lambda *_: None,
    ) -> None:
        super().__init__(self._page)
        self.lean, self.leak, self.noise, self.shared, self.edit, self.rule = (
            lean,
            leak,
            noise,
            shared,
            edit,
            rule,
        )
        self.bodies: list[dict[str, Any]] = []
        self._rng = random.Random(seed)

    async def _page(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            known = request.path == "/v1/systemone"
            entry = {"data": [{"id": "decider"}]}
            return (
                web.json_response(entry)
                if request.path == "/v1/models"
                else failure(405 if known else 404, "GET")
            )
        body = json.loads(await request.read())
        self.bodies.append(body)
        if response := self.rule(body, len(self.bodies) - 1):
            return response
        if request.path not in ("/v1/systemone", "/v1/decisions"):
            return failure(404, "Not Found")
        asked = (
            body["questions"] if request.path == "/v1/decisions" else [*body["questions"].values()]
        )
        state, answers, before = (
            body["input" if request.path == "/v1/decisions" else "state"],
            [],
            None,
        )
        moved = self._rng.gauss(0.0, self.noise)
        for question in asked:
            values = self._values(question)
            moved = moved if self.shared else self._rng.gauss(0.0, self.noise)
            answers.append(self._answer(state, question, values, before, moved))
            before = values[0]
        usage = {
            "input_tokens": 101,
            "output_tokens": len(asked),
            "input_tokens_details": {"cached_tokens": 40},
        }
        sent: Any = (
            answers
            if request.path == "/v1/decisions"
            else dict(zip(body["questions"], answers, strict=True))
        )
        page = {"model": body["model"], "answers": self.edit(sent), "usage": usage}
        return web.Response(
            text=json.dumps(page), content_type="application/json"
        )  # NaN as Python writes it

    @staticmethod
    def _values(question: dict[str, Any]) -> list[str]:
        """Return the names of the options, in the order shown."""
        if "criteria" in question:
            return [str(value).removeprefix("level ") for value in question["criteria"]]
        listed = question.get("choices") or question["levels"]
        return [option.get("value", option.get("label")) for option in listed]

    def _answer(
        self,
        state: str,
        question: dict[str, Any],
        values: list[str],
        before: str | None,
        moved: float,
    ) -> dict[str, Any]:
        own = random.Random(hashlib.sha256(state.encode()).digest())
        scale = sorted(values)
        quality = own.gauss((len(values) - 1) / 2, 1.0) + moved
        odds = [-0.7 * (scale.index(value) - quality) ** 2 for value in values]
        odds[0] += self.lean
        if before in values:
            odds[values.index(before)] += self.leak
        weights = [math.exp(one - max(odds)) for one in odds]
        shares = [weight / sum(weights) for weight in weights]
        kind = question["type"]
        if "criteria" in question:
            names = values if kind == "choice" else [str(k) for k in range(len(values))]
            return {"type": kind, "probabilities": dict(zip(names, shares, strict=True))}
        name = "value" if kind == "choice" else "label"
        listed = [
            {name: value, "probability": share} for value, share in zip(values, shares, strict=True)
        ]
        return {"type": kind, "name": None, "probabilities": listed}
