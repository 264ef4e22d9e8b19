"""Send one request and read its whole answer, within bounds of bytes, time and address.

Nothing is followed, unpacked or asked twice.

``Transport`` is what the openai client sends its requests through; ``fetch`` gets the pages beside
the protocol.
"""

import asyncio
import ssl
from collections.abc import Iterable
from functools import cache
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import httpx2
from aiohttp.abc import ResolveResult

from rubriclab.data.limits import user_path
from rubriclab.judges.faults import Fault, from_response
from rubriclab.judges.keys import mask
from rubriclab.judges.served import InwardAddress, in_figures, refuse_inward
from rubriclab.model.text import LabError, shorten

MAX_REPLY_BYTES = 16 * 2**20
"""Bytes of one answer. Twenty alternatives at each of 7,000 tokens of reasoning are some 15 MB; a
plain answer 1 kB.
"""
MAX_ERROR_BYTES = 2**16
FREE_BYTES = 2**16
"""What every answer may hold while it is read; beyond that only LARGE_AT_ONCE do so at a time."""
LARGE_AT_ONCE = 2
CONNECT_SECONDS = 10.0
KEEPALIVE_SECONDS = 4.0
"""Below the 5 s after which uvicorn, and so vLLM, closes an idle connection."""
MAX_CA_BYTES = 4 * 2**20
SENT = (b"authorization", b"content-type", b"x-rubriclab-call")
"""Headers that leave this machine; what the openai client reads from the environment (organization,
project) is not.
"""


class Transport(httpx2.AsyncBaseTransport):
    """Sends through aiohttp and reads the whole answer within the bounds; make it inside the event
    loop.

    ``timeout``: seconds of a call as a whole, from the connection to the last byte. ``inward``:
    whether addresses of this machine and its network may be asked. Raises Fault for whatever is no
    answer of status 200 to 299: the openai client passes it on.
    """

    def __init__(
        self,
        *,
        timeout: float,
        ca_file: str | None = None,
        secrets: tuple[str, ...] = (),
        inward: bool = True,
    ) -> None:
        self.timeout, self.secrets, self._inward = timeout, secrets, inward
        self._proxy = cache(proxy_of)  # looked up once a host instead of at every request
        self._room = asyncio.Semaphore(LARGE_AT_ONCE)
        self._session = aiohttp.ClientSession(
            connector=Connector(
                inward,
                keepalive_timeout=KEEPALIVE_SECONDS,
                limit=0,
                ttl_dns_cache=300,
                ssl=trust(ca_file),
            ),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(CONNECT_SECONDS, timeout)),
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": "rubriclab",
            },
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = str(request.url)
        headers = {
            name.decode(): value.decode()
            for name, value in request.headers.raw
            if name.lower() in SENT and value
        }
        answering = False
        clock = asyncio.timeout(self.timeout)
        proxy = self._proxy(request.url.scheme, request.url.host)
        try:
            if (
                proxy and not self._inward
            ):  # what the proxy connects to nobody here resolves, but figures can be read
                refuse_inward(request.url.host, filter(in_figures, [request.url.host]))
            async with (
                clock,
                self._session.request(
                    request.method,
                    url,
                    data=request.content or None,
                    headers=headers,
                    allow_redirects=False,
                    proxy=proxy,
                ) as response,
            ):
                answering = True
                good = 200 <= response.status < 300
                body = await self._body(
                    response, clock, MAX_REPLY_BYTES if good else MAX_ERROR_BYTES, cut=not good
                )
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            if not clock.expired():
                raise from_exception(error, self.secrets) from error
            late = f"within {self.timeout:g} s"
            if answering:
                raise Fault("slow", f"The answer had begun but was not complete {late}") from error
            raise Fault("timeout", f"No answer from {host_of(url)} {late}") from error
        if not good:
            raise from_response(response.status, response.headers, body, self.secrets)
        return httpx2.Response(
            response.status, headers=response.raw_headers, content=body, request=request
        )

    async def _body(
        self, response: aiohttp.ClientResponse, clock: asyncio.Timeout, limit: int, *, cut: bool
    ) -> bytes:
        """At most ``limit`` bytes of the answer; with ``cut`` the rest is left unread, else it is a
        fault.
        """
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            response.close()
            raise Fault(
                "bad_json", f"The answer's content encoding “{encoding[:40]}” was not asked for"
            )
        length = response.content_length
        if (
            length is not None
            and length <= FREE_BYTES
            and "Transfer-Encoding" not in response.headers
        ):
            return await response.content.read()
        body, held = bytearray(), False
        try:
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > limit:
                    response.close()
                    if cut:
                        return bytes(body[:limit])
                    raise Fault(
                        "too_large",
                        f"The answer is larger than {limit / 2**20:g} MB, the most that is read",
                    )
                if not held and len(body) > FREE_BYTES:
                    # A queue of ours is no fault of the server: the call's clock stands still
                    # meanwhile.
                    ends, began = clock.when() or 0.0, asyncio.get_running_loop().time()
                    clock.reschedule(None)
                    await self._room.acquire()
                    held = True
                    clock.reschedule(ends + asyncio.get_running_loop().time() - began)
            return bytes(body)
        finally:
            if held:
                self._room.release()

    async def aclose(self) -> None:
        await self._session.close()


class Connector(aiohttp.TCPConnector):
    """Connects to inward addresses only where it may, and drops an idle connection that has bytes
    nobody asked for.

    A server that delivers an answer twice would otherwise have the second copy taken for the answer
    to the next call. An address is looked at as it was resolved for this connection (a proxy's,
    where there is one), so a name that resolves inwards only the second time is refused too.
    """

    def __init__(self, inward: bool, **options: Any) -> None:
        super().__init__(**options)
        self._inward = inward

    async def _resolve_host(self, host: str, port: int, traces: Any = None) -> list[ResolveResult]:
        results = await super()._resolve_host(host, port, traces)
        if not self._inward:
            refuse_inward(host, [result["host"] for result in results])
        return results

    async def _get(self, key: Any, traces: Any) -> Any:
        connection = await super()._get(key, traces)
        while connection is not None and getattr(connection.protocol, "should_close", True):
            connection.close()
            connection = await super()._get(key, traces)
        return connection


def proxy_of(scheme: str, host: str) -> str | None:
    """Return the environment's proxy for a host; None for this machine and where there is none.

    HTTPS_PROXY or HTTP_PROXY goes before ALL_PROXY. Raises Fault for one that does not speak HTTP,
    such as SOCKS: to speak HTTP to it would fail oddly, and to go without it might send a key on a
    way that was not meant.
    """
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return None
    known = getproxies()
    proxy = known.get(scheme) or known.get("all")
    if not proxy:
        return None
    if "://" not in proxy:  # as curl reads it
        proxy = f"http://{proxy}"
    if not proxy.lower().startswith(("http://", "https://")):
        kind, _, rest = proxy.partition("://")
        where = rest.rpartition("@")[2]  # a user and a password may stand before
        raise Fault("proxy", f"The proxy of this machine is a {kind} proxy ({where})")
    return proxy


async def fetch(
    url: str, *, key: str | None = None, timeout: float = 5.0, inward: bool = True
) -> bytes:
    """The body of a GET within ``timeout`` seconds in all. Raises Fault."""
    transport = Transport(timeout=timeout, secrets=(key,) if key else (), inward=inward)
    try:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        response = await transport.handle_async_request(httpx2.Request("GET", url, headers=headers))
        return response.content
    finally:
        await transport.aclose()


# ---------------------------------------------------------------- what an exception means
def host_of(url: str) -> str:
    """Host and port, for messages."""
    return mask(urlsplit(url).netloc)


def from_exception(error: BaseException, secrets: Iterable[str] = ()) -> Fault:
    """The fault behind an exception of aiohttp."""
    text = str(error) or type(error).__name__
    if isinstance(inward := getattr(error, "os_error", error), InwardAddress):
        return Fault("inward", str(inward))
    if refusal := tls_refusal(error):
        return Fault("certificate", refusal, secrets)
    if isinstance(error, aiohttp.ClientConnectorError):
        reason = (error.os_error.strerror or str(error.os_error)).partition(" (")[
            0
        ]  # asyncio adds the address
        return Fault(
            "connect", f"Could not connect to {error.host}:{error.port} ({reason})", secrets
        )
    if isinstance(
        error, aiohttp.InvalidURL
    ):  # 127.1 and other ways of writing an address that only sockets know
        return Fault("not_found", f"This is no address that can be asked: {text}", secrets)
    if isinstance(error, TimeoutError):  # the connection's; a call's own clock is another
        return Fault("connect", f"No connection: {text}", secrets)
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError):
        return Fault(
            "reset", f"The server closed the connection before its answer ended: {text}", secrets
        )
    if isinstance(error, aiohttp.ClientResponseError):
        return Fault("bad_gateway", f"The server does not speak HTTP here: {text}", secrets)
    return Fault("reset", f"The connection broke: {text}", secrets)


def tls_refusal(error: BaseException) -> str:
    """Why TLS will not come about however often it is tried; empty where that is not the fault."""
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"The server's certificate is not trusted: {cause.verify_message or cause}"
    passing = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
    if not isinstance(cause, ssl.SSLError) or isinstance(cause, passing):
        return ""
    return (
        f"No TLS at this https:// address: {(cause.reason or str(cause)).replace('_', ' ').lower()}"
    )


def trust(ca_file: str | None) -> ssl.SSLContext | bool:
    """What certificates are checked against: the system's authorities, and those of the file if
    there is one.

    Raises LabError naming the file where it is missing, no regular file, or holds no certificate.
    """
    if not ca_file:
        return True
    try:
        path = user_path(ca_file)
        if not path.is_file() or path.stat().st_size > MAX_CA_BYTES:
            raise ValueError(f"no file of at most {MAX_CA_BYTES:,} bytes")
        context = ssl.create_default_context()
        context.load_verify_locations(cafile=str(path))
    except (OSError, ValueError) as error:
        raise LabError(
            f"The ca_file “{shorten(ca_file)}” holds no certificate that can be read ({error}). "
            f"Give the path of a PEM "
            "file with the certificate of the server or of its authority."
        ) from error
    return context
