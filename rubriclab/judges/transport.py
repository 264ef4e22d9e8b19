"""Send one request and read its whole response, within limits of bytes, time and address.

A server may be slow, broken or hostile, and its address may come from a study file that a stranger
wrote. So redirects are not followed (a key would travel with them), nothing is decompressed (a few
bytes can become gigabytes), and nothing is sent twice (a call costs money).

The openai client sends its requests through ``Transport``. ``fetch`` gets other pages of a server.
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
"""Limit of one response. 7,000 tokens of reasoning with 20 alternatives each take about 15 MB; a
plain reply takes 1 kB."""
MAX_ERROR_BYTES = 2**16
"""How much of an error page is read; its first words say what is wrong."""
FREE_BYTES = 2**16
"""Every response may hold this much memory while it is read. Hundreds of calls are read at once, so
only LARGE_AT_ONCE of them may hold more."""
LARGE_AT_ONCE = 2
CONNECT_SECONDS = 10.0
"""How long a connection may take; a server that is up accepts within a second."""
KEEPALIVE_SECONDS = 4.0
"""How long idle connections are kept: less than the 5 s after which uvicorn, and so vLLM, closes
them. A request sent into a closing connection is lost."""
DNS_SECONDS = 300
"""How long a resolved address is kept, so that a run does not ask the name server for each call."""
MAX_CA_BYTES = 4 * 2**20
"""Limit of a certificate file; the bundle of a whole system has a quarter of a megabyte."""
SENT = (b"authorization", b"content-type", b"x-rubriclab-call")
"""Headers that leave this machine. What the openai client adds, for example the organization and
project that it reads from the environment, is not sent."""


class Transport(httpx2.AsyncBaseTransport):
    """Send requests through aiohttp and read each response whole, within the limits.

    Make it inside the event loop. Raises Fault unless the status is 200 to 299; the openai client
    passes the Fault on.

    timeout: seconds for a whole call, from connecting to the last byte.
    ca_file: certificates to trust besides the system's.
    secrets: keys that are masked in every error message.
    inward: whether addresses of this machine and its network may be asked.
    """

    def __init__(
        self,
        *,
        timeout: float,
        ca_file: str | None = None,
        secrets: tuple[str, ...] = (),
        inward: bool = True,
    ) -> None:
        self.timeout = timeout
        self.secrets = secrets
        self._inward = inward
        # The proxy is looked up once per host instead of for every request.
        self._proxy = cache(proxy_of)
        self._room = asyncio.Semaphore(LARGE_AT_ONCE)
        self._session = aiohttp.ClientSession(
            connector=Connector(
                inward,
                keepalive_timeout=KEEPALIVE_SECONDS,
                limit=0,  # the runner limits how many calls are in flight
                ttl_dns_cache=DNS_SECONDS,
                ssl=trust(ca_file),
            ),
            # The call as a whole has a clock of its own, because that clock is stopped at times.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(CONNECT_SECONDS, timeout)),
            headers={
                "Accept": "application/json",
                "Accept-Encoding": "identity",
                "User-Agent": "rubriclab",
            },
            # A cookie would tie calls together that have to be independent.
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request and return its response, read to the end. Raises Fault."""
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
            # Behind a proxy the proxy resolves the host's name, so ``Connector`` never sees the
            # address. A host that is itself an address can still be refused here.
            if proxy and not self._inward and in_figures(request.url.host):
                refuse_inward(request.url.host, [request.url.host])
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
                limit = MAX_REPLY_BYTES if good else MAX_ERROR_BYTES
                body = await self._body(response, clock, limit, cut=not good)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            if not clock.expired():
                raise from_exception(error, self.secrets) from error
            late = f"within {self.timeout:g} s"
            # A server that has begun to answer needs a longer timeout; a silent one may be down.
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
        """Return the response's body. Raises Fault if it is longer than ``limit`` bytes.

        With ``cut`` a longer body is no fault: its first ``limit`` bytes are returned.
        """
        # We asked for “identity”. Whatever else comes would have to be decompressed.
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if encoding not in ("", "identity"):
            response.close()
            raise Fault(
                "bad_json", f"The answer's content encoding “{encoding[:40]}” was not asked for"
            )
        # aiohttp reads no more than the announced length, unless the body comes in chunks.
        length = response.content_length
        is_short = length is not None and length <= FREE_BYTES
        if is_short and "Transfer-Encoding" not in response.headers:
            return await response.content.read()
        body = bytearray()
        held = False
        try:
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > limit:
                    response.close()
                    if cut:
                        return bytes(body[:limit])
                    raise Fault(
                        "too_large",
                        f"The answer is too large; the limit is {limit / 2**20:g} MB",
                    )
                if not held and len(body) > FREE_BYTES:
                    await self._wait_for_room(clock)
                    held = True
            return bytes(body)
        finally:
            if held:
                self._room.release()

    async def _wait_for_room(self, clock: asyncio.Timeout) -> None:
        """Wait until a large response may be read, with the call's clock stopped.

        The server is not to blame for our own queue.
        """
        loop = asyncio.get_running_loop()
        ends = clock.when() or 0.0
        began = loop.time()
        clock.reschedule(None)
        await self._room.acquire()
        clock.reschedule(ends + loop.time() - began)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._session.close()


class Connector(aiohttp.TCPConnector):
    """Refuse inward addresses if asked to, and drop idle connections with unexpected bytes.

    A server that sends a response twice would otherwise have its second copy taken for the response
    to the next call. Addresses are checked as they were resolved for this very connection (that of
    the proxy, if there is one). So a name that resolves to an inner address only the second time,
    after a first look found it harmless, is refused too.
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
    for example SOCKS: speaking HTTP to it would fail with an odd message, and going around it might
    send a key over a network that the user did not choose.
    """
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return None
    known = getproxies()
    proxy = known.get(scheme) or known.get("all")
    if not proxy:
        return None
    if "://" not in proxy:  # curl reads such an entry as HTTP too
        proxy = f"http://{proxy}"
    if not proxy.lower().startswith(("http://", "https://")):
        kind, _, rest = proxy.partition("://")
        where = rest.rpartition("@")[2]  # a user and a password may come before it
        raise Fault("proxy", f"The proxy of this machine is a {kind} proxy ({where})")
    return proxy


async def fetch(
    url: str, *, key: str | None = None, timeout: float = 5.0, inward: bool = True
) -> bytes:
    """Return the body of a page, got within ``timeout`` seconds in all. Raises Fault."""
    transport = Transport(timeout=timeout, secrets=(key,) if key else (), inward=inward)
    try:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        response = await transport.handle_async_request(httpx2.Request("GET", url, headers=headers))
        return response.content
    finally:
        await transport.aclose()


# ---------------------------------------------------------------- what an exception means
def host_of(url: str) -> str:
    """Return host and port of a URL, for messages, without a user or a password."""
    return mask(urlsplit(url).netloc)


def from_exception(error: BaseException, secrets: Iterable[str] = ()) -> Fault:
    """Return the fault behind an exception of aiohttp."""
    text = str(error) or type(error).__name__
    cause = getattr(error, "os_error", error)
    if isinstance(cause, InwardAddress):
        return Fault("inward", str(cause))
    refusal = tls_refusal(error)
    if refusal:
        return Fault("certificate", refusal, secrets)
    if isinstance(error, aiohttp.ClientConnectorError):
        reason = error.os_error.strerror or str(error.os_error)
        reason = reason.partition(" (")[0]  # asyncio adds the address, which we name ourselves
        return Fault(
            "connect", f"Could not connect to {error.host}:{error.port} ({reason})", secrets
        )
    # For example 127.1 and other spellings of an address that only sockets understand.
    if isinstance(error, aiohttp.InvalidURL):
        return Fault("not_found", f"This address cannot be asked: {text}", secrets)
    if isinstance(error, TimeoutError):  # while connecting; the call's own clock is another one
        return Fault("connect", f"No connection: {text}", secrets)
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientPayloadError):
        return Fault(
            "reset", f"The server closed the connection before its answer ended: {text}", secrets
        )
    if isinstance(error, aiohttp.ClientResponseError):
        return Fault("bad_gateway", f"The server does not speak HTTP here: {text}", secrets)
    return Fault("reset", f"The connection broke: {text}", secrets)


def tls_refusal(error: BaseException) -> str:
    """Say why TLS fails however often it is tried; empty if something else went wrong."""
    cause = getattr(error, "certificate_error", None) or getattr(error, "os_error", None)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"The server's certificate is not trusted: {cause.verify_message or cause}"
    # These mean that a connection broke, and the next one may hold.
    passing = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
    if not isinstance(cause, ssl.SSLError) or isinstance(cause, passing):
        return ""
    reason = (cause.reason or str(cause)).replace("_", " ").lower()
    return f"No TLS at this https:// address: {reason}"


def trust(ca_file: str | None) -> ssl.SSLContext | bool:
    """Return what certificates are checked against: the system's authorities and the file's.

    Raises LabError if the file is missing, is not a regular file, or holds no certificate. (A pipe
    or a device would be read for ever.)
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
            f"The ca_file “{shorten(ca_file)}” contains no readable certificate ({error}). Give "
            f"the path of a PEM file with the certificate of the server or of its authority."
        ) from error
    return context
