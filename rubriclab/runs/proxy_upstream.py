"""The server behind the proxy: one call with its second tries, or a whole request relayed as it comes."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy
from yarl import URL

from rubriclab.judges.addresses import base_url
from rubriclab.judges.bounded import TooLarge, load_json
from rubriclab.judges.client import CONNECT_SECONDS, KEEPALIVE_SECONDS
from rubriclab.judges.faults import Fault, fault, from_response
from rubriclab.judges.outward import PublicResolver
from rubriclab.judges.reading import parsed
from rubriclab.judges.serving import check_address
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

ATTEMPTS = 3
LONGEST_WAIT = 10.0
"""Seconds between two tries; a server that asks for more gets its word passed on to the pipeline."""
FIRST_WAIT = 0.25
MAX_REPLY = 4 * 2**20
"""Bytes of one of several replies: all of a request's are held until they are put together."""
FINAL = frozenset({"auth", "quota", "not_found", "bad_request", "context_overflow", "certificate"})
"""Faults that all orders would meet alike: the first of them ends the others."""
_NEVER_AGAIN = frozenset({"timeout", "slow"})

_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_AUTOMATIC = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")


@dataclass(frozen=True)
class Answer:
    """A completion, and the headers that came with it."""

    payload: dict[str, Any]
    came: CIMultiDictProxy[str]

    @property
    def headers(self) -> CIMultiDict[str]:
        """Those that are for the pipeline."""
        return _for_pipeline(self.came)


@dataclass(frozen=True)
class Failure:
    """A call that brought no completion. ``status``: the server's, None where it said nothing."""

    fault: Fault
    status: int | None = None
    headers: CIMultiDict[str] | None = None
    body: bytes = b""

    @property
    def final(self) -> bool:
        return self.fault.kind in FINAL


def end_to_end(headers: Iterable[tuple[str, str]], *, but: Iterable[str] = ()) -> CIMultiDict[str]:
    """Headers that are for the other end, in their order (RFC 9110, 7.6.1)."""
    pairs = list(headers)
    named = {part.strip().lower() for name, value in pairs if name.lower() == "connection" for part in value.split(",")}
    left_out = _HOP | named | {name.lower() for name in but}
    return CIMultiDict((name, value) for name, value in pairs if name.lower() not in left_out)


def _for_pipeline(came: CIMultiDictProxy[str]) -> CIMultiDict[str]:
    return end_to_end(came.items(), but=("Content-Length", "Content-Encoding"))


class Relayed(web.StreamResponse):
    """An answer with the headers that came, and no others."""

    async def _prepare_headers(self) -> None:
        came = {name.lower() for name in self.headers}
        await super()._prepare_headers()
        for name in ("Content-Type", "Date", "Server"):
            if name.lower() not in came:
                self.headers.pop(name, None)


class Upstream:
    """The server of the base URL; make it inside the event loop.

    ``concurrency``: calls of put-together answers that are under way at once. ``calls`` counts them, ``faults``
    what went wrong with them, by name. Raises LabError for an address that is none.
    """

    def __init__(self, url: str, *, concurrency: int, timeout: float, ca_file: str | None = None) -> None:
        self.url = base_url(url)
        check_address(self.url)
        parts = urlsplit(self.url)
        self.origin, self.path = f"{parts.scheme}://{parts.netloc}", parts.path
        self.calls = 0
        self.faults: Counter[str] = Counter()
        self._gate = asyncio.Semaphore(concurrency)
        self._timeout = timeout
        self._proxy = proxy_for(self.url)
        self._room = asyncio.Semaphore(LARGE_AT_ONCE)
        self._session = aiohttp.ClientSession(
            connector=Connector(
                limit=0,
                keepalive_timeout=KEEPALIVE_SECONDS,
                ttl_dns_cache=300,
                ssl=trust(ca_file),
                resolver=PublicResolver(),
            ),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=_AUTOMATIC,
        )

    async def close(self) -> None:
        await self._session.close()

    def address(self, raw_path: str) -> URL:
        """Raises ValueError for a path that is none."""
        if not raw_path.startswith("/"):
            raise ValueError("no path on this server")
        return URL(f"{self.origin}{raw_path}", encoded=True)

    async def page(self, path: str) -> Any:
        """The JSON value of a page beside the protocol, within two seconds. Raises what the transport raises, and
        ValueError for no JSON."""
        async with asyncio.timeout(2.0), self._session.get(self.address(path), proxy=self._proxy) as response:
            return load_json(await read_body(response, limit=MAX_ERROR_BYTES))

    # ------------------------------------------------------------ one of several calls

    async def ask(self, url: URL, headers: Mapping[str, str], body: bytes) -> Answer | Failure:
        """One call, tried again where asking again can mend it."""
        for attempt in range(1, ATTEMPTS + 1):
            async with self._gate:
                self.calls += 1
                result = await self._post(url, headers, body)
            if isinstance(result, Answer):
                return result
            self.faults[result.fault.kind] += 1
            wait = result.fault.retry_after
            wait = FIRST_WAIT * 2 ** (attempt - 1) if wait is None else wait
            again = result.fault.retryable and result.fault.kind not in _NEVER_AGAIN
            if not again or attempt == ATTEMPTS or wait > LONGEST_WAIT:
                break
            await asyncio.sleep(wait)
        return result

    async def _post(self, url: URL, headers: Mapping[str, str], body: bytes) -> Answer | Failure:
        answering = False
        try:
            async with (
                asyncio.timeout(self._timeout) as clock,
                self._session.post(
                    url, data=body, headers=headers, proxy=self._proxy, allow_redirects=False
                ) as response,
            ):
                answering = True
                good = 200 <= response.status < 300
                limit = MAX_REPLY if good else MAX_ERROR_BYTES
                content = await read_body(response, limit=limit, room=self._room, clock=clock, cut=not good)
        except TooLarge as error:
            return Failure(fault("too_large", str(error)))
        except Damaged as error:
            return Failure(fault("bad_json", str(error)))
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            return Failure(from_exception(error, answering=answering, timeout=self._timeout))
        came = response.headers
        result = parsed(content, came) if good else from_response(response.status, came, content)
        if isinstance(result, Fault):
            return Failure(result, response.status, _for_pipeline(came), content)
        return Answer(result, came)

    # ------------------------------------------------------------ a request as it came

    async def relay(self, request: web.BaseRequest, url: URL, held: bytes | None, note: str) -> web.StreamResponse:
        """The request sent on as it came, its answer sent back as it comes; ``note`` is the one header added.

        ``held``: what was read of the request's body; the rest follows. Raises what the transport raises
        before an answer has begun; one that breaks off later breaks off here too.
        """
        data = _rest(request, held or b"") if request.body_exists else None
        async with self._session.request(
            request.method,
            url,
            data=data,
            headers=end_to_end(request.headers.items(), but=("Host", "Expect")),
            proxy=self._proxy,
            allow_redirects=False,
        ) as came:
            headers = end_to_end(came.headers.items())
            headers[HEADER] = note
            answer = Relayed(status=came.status, reason=came.reason, headers=headers)
            await answer.prepare(request)
            try:
                async for chunk in came.content.iter_any():
                    await answer.write(chunk)
                await answer.write_eof()
            except aiohttp.ClientError:
                self.faults["reset"] += 1
                if request.transport is not None:  # the pipeline must not take a half for the whole
                    request.transport.abort()
            return answer


HEADER = "X-Rubriclab"


async def _rest(request: web.BaseRequest, held: bytes) -> AsyncIterator[bytes]:
    if held:
        yield held
    async for chunk in request.content.iter_any():
        yield chunk


def asking_headers(request: web.BaseRequest) -> CIMultiDict[str]:
    """The pipeline's headers for a call of ours: its key goes on, what describes its own body's bytes does not."""
    left_out = ("Host", "Expect", "Content-Length", "Content-Encoding", "Accept-Encoding")
    headers = end_to_end(request.headers.items(), but=left_out)
    headers.update(ACCEPTED)
    return headers


@contextlib.asynccontextmanager
async def upstream(
    url: str, *, concurrency: int, timeout: float, ca_file: str | None = None
) -> AsyncIterator[Upstream]:
    made = Upstream(url, concurrency=concurrency, timeout=timeout, ca_file=ca_file)
    try:
        yield made
    finally:
        await made.close()
