"""The one client of every judge that speaks the OpenAI chat protocol.

The bulk path: bare aiohttp, because a study can have millions of calls and the openai
library costs ten times the processor time of a call. Differences between servers are
handled here and nowhere else; the runner sees a ``Reply``.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from types import TracebackType
from typing import Any, Self

import aiohttp
from yarl import URL

from rubriclab import __version__
from rubriclab.judges.addresses import addresses, answers_as, base_url, read_key
from rubriclab.judges.bounded import MAX_REPLY_BYTES, TooLarge
from rubriclab.judges.faults import Fault, fault, from_response, redact, without_secrets
from rubriclab.judges.outward import PublicResolver
from rubriclab.judges.reading import parsed, read_completion
from rubriclab.judges.request import TOP_LOGPROBS, request_body, token_limit_field
from rubriclab.judges.settings import check_extra, check_numbers
from rubriclab.judges.transport import from_exception
from rubriclab.judges.wire import (
    ACCEPTED,
    LARGE_AT_ONCE,
    MAX_ERROR_BYTES,
    Connector,
    Damaged,
    proxy_for,
    read_body,
    trust,
)
from rubriclab.model import Call, Judge, Reply
from rubriclab.model.storable import storable_reply

CALL_HEADER = "X-Rubriclab-Call"
"""Names the call to whoever keeps a log on the server's side; servers ignore it."""

CONNECT_SECONDS = 10.0
KEEPALIVE_SECONDS = 4.0
"""Below the 5 s after which uvicorn, and so vLLM, closes an idle connection."""


class ChatClient:
    """A judge behind ``POST {base_url}/chat/completions``; make it inside the event loop.

    ``base_urls`` replaces the judge's own (a server started for the occasion);
    ``secrets`` is looked up before the environment for the key the judge names;
    ``top_logprobs`` is how many alternatives are asked for where probabilities are wanted
    (20 is the most that OpenAI and vLLM give). A server that accepts fewer is told so by
    ``extra={"top_logprobs": 5}``. ``judge.options["served_model"]`` names the model a server
    answers as, where that differs from the one asked for ("*": any).

    Every request carries the call's key in ``X-Rubriclab-Call``. All calls of an item go to
    one server, whose prefix cache holds it, and move to the next while that one is down.

    Raises LabError for settings that can never work: no address, a malformed one, a missing
    key, reserved words in ``extra``, a number out of range, a ``ca_file`` that holds no
    certificate. A fault of a call is a Reply.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        secrets: Mapping[str, str] | None = None,
        base_urls: Sequence[str] | None = None,
        top_logprobs: int = TOP_LOGPROBS,
    ) -> None:
        self.judge = judge
        self._top_logprobs = top_logprobs
        check_numbers(judge)
        check_extra(judge)
        key = read_key(judge, secrets)
        self._secrets = (key,) if key else ()
        self._servers = [_Server.at(url) for url in base_urls or addresses(judge)]
        self._limit_field = token_limit_field(judge.model)
        self._posted: tuple[Call, str, bytes] | None = None
        self._served: str | None = None
        self._session = aiohttp.ClientSession(
            connector=Connector(
                limit=0,
                keepalive_timeout=KEEPALIVE_SECONDS,
                ttl_dns_cache=300,
                ssl=trust(judge.ca_file),
                resolver=PublicResolver(),
            ),
            # The whole call has a clock of its own (see ``_post``).
            timeout=_connecting(judge),
            headers=_headers(key),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # ``read_body`` does, with a bound
        )
        self._room = asyncio.Semaphore(LARGE_AT_ONCE)

    async def ask(self, call: Call) -> Reply:
        """One call, one Reply, fit to be kept. Only a cancellation comes out as an exception.

        The request is sent again by itself in two cases, in both of which no server has
        worked on it: nobody could be connected to (then the next server is tried), and a
        refusal of the name ``max_tokens`` (then the newer name is used from there on).
        """
        started = time.perf_counter()
        limit_field = self._limit_field
        result = await self._ask_servers(call, self._body(call, limit_field))
        if isinstance(result, Fault) and self._other_limit_field(result, limit_field):
            result = await self._ask_servers(call, self._body(call, self._limit_field))
        latency = time.perf_counter() - started
        if isinstance(result, Fault):
            reply = storable_reply(result.reply(latency=latency))
        else:
            reply = read_completion(
                result,
                want_probabilities=call.want_probabilities,
                latency=latency,
                expected=self._is_meant,
                reading=call.reading,
            )
        return without_secrets(reply, self._secrets)

    async def close(self) -> None:
        """Close all connections; safe to call twice."""
        await self._session.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        urls = ", ".join(redact(str(server.url)) for server in self._servers)
        return f"ChatClient({self.judge.name!r}, {urls})"

    # ------------------------------------------------------------ the request

    def _body(self, call: Call, limit_field: str) -> bytes:
        """What is posted; that of the call before, where the same is asked once more."""
        if self._posted is not None:
            asked, field, body = self._posted
            same = asked.messages is call.messages and asked.sampling is call.sampling and field == limit_field
            if same and _FORM(asked) == _FORM(call):
                return body
        body = json.dumps(
            request_body(self.judge, call, top_logprobs=self._top_logprobs, limit_field=limit_field)
        ).encode()
        self._posted = call, limit_field, body
        return body

    def _is_meant(self, served: str) -> bool:
        """Whether ``served`` is the model that was asked for; looked at once as long as it stays."""
        if served != self._served and answers_as(self.judge, served):
            self._served = served
        return served == self._served

    def _other_limit_field(self, result: Fault, used: str) -> bool:
        """Whether the server refused the name we used for the token limit; switches if so."""
        if result.kind != "bad_request" or "max_completion_tokens" not in result.message:
            return False
        if "max_tokens" not in result.message:
            return False
        other = "max_tokens" if used == "max_completion_tokens" else "max_completion_tokens"
        if self._limit_field == used:
            self._limit_field = other
        return True

    async def _ask_servers(self, call: Call, body: bytes) -> dict[str, Any] | Fault:
        """The first answer from the item's own server or, while that is down, the next."""
        result: dict[str, Any] | Fault = fault("connect", "No server has an address")
        for server in self._in_turn(call):
            result = await self._post(server, call.key, body)
            if not isinstance(result, Fault):
                if server.down_until:
                    server.down_until = server.pause = 0.0
                return result
            if result.kind in _DOWN:
                server.rest(result.retry_after)
            if result.kind != "connect":
                return result
        return result

    def _in_turn(self, call: Call) -> Sequence[_Server]:
        """All servers, the item's own first, those that are down last."""
        servers = self._servers
        if len(servers) == 1:
            return servers
        home = (call.items[0] if call.items else 0) % len(servers)
        turn = servers[home:] + servers[:home]
        now = time.monotonic()
        return sorted(turn, key=lambda server: server.down_until > now)

    async def _post(self, server: _Server, key: str, body: bytes) -> dict[str, Any] | Fault:
        """The parsed completion, or the fault that came in its place."""
        answering = False
        try:
            async with (
                asyncio.timeout(self.judge.timeout) as clock,
                self._session.post(
                    server.url, data=body, headers={CALL_HEADER: key}, proxy=server.proxy, allow_redirects=False
                ) as response,
            ):
                answering = True
                status, answered = response.status, response.headers
                good = 200 <= status < 300
                content = await read_body(
                    response,
                    limit=MAX_REPLY_BYTES if good else MAX_ERROR_BYTES,
                    room=self._room,
                    clock=clock,
                    cut=not good,
                )
        except TooLarge as error:
            return fault("too_large", str(error))
        except Damaged as error:
            return fault("bad_json", redact(str(error), self._secrets))
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            return from_exception(error, answering=answering, timeout=self.judge.timeout, secrets=self._secrets)
        if not good:
            return from_response(status, answered, content, secrets=self._secrets)
        return parsed(content, answered, self._secrets)


# ---------------------------------------------------------------- servers


def _headers(key: str | None) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "Accept": "application/json",
        "User-Agent": f"rubriclab/{__version__}",
        **ACCEPTED,
        **({"Authorization": f"Bearer {key}"} if key else {}),
    }


def _connecting(judge: Judge) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=None, sock_connect=min(CONNECT_SECONDS, judge.timeout))


_FORM = attrgetter("want_probabilities", "reading", "ordering", "scores")
"""What of a call decides the form of its answer, beside the sampling."""
_DOWN = frozenset({"connect", "bad_gateway", "unavailable", "timeout"})


@dataclass(slots=True)
class _Server:
    """One address and whether it is being left alone; times in seconds of the monotonic clock."""

    url: URL
    proxy: str | None = None
    down_until: float = 0.0
    pause: float = field(default=0.0)

    @classmethod
    def at(cls, url: str) -> _Server:
        base = base_url(url)
        return cls(URL(f"{base}/chat/completions"), proxy_for(base))

    def rest(self, asked: float | None) -> None:
        """Leave this server alone for 1 s, then 2, 4 ... 30, or as long as it asked."""
        now = time.monotonic()
        if self.down_until > now:
            return
        self.pause = min(30.0, max(1.0, self.pause * 2))
        self.down_until = now + (self.pause if asked is None else min(asked, 30.0))
