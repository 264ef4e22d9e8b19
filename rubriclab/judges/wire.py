"""What comes over the wire, read with a bound: bytes, unpacked bytes, trust.

A server is a stranger. Its answer may be endless, or a few bytes that unpack to gigabytes; each is
noticed while it is read and never held (``bounded`` reads the values). Everything here raises;
``judges.client`` makes the faults of it.
"""

from __future__ import annotations

import asyncio
import ssl
import stat
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from rubriclab.judges.bounded import MAX_REPLY_BYTES, TooLarge
from rubriclab.judges.outward import PublicResolver
from rubriclab.judges.serving import check_address, local_only
from rubriclab.model import LabError
from rubriclab.model.language import tr

MAX_PAGE_BYTES = 8 * 2**20
"""Bytes of a page beside the protocol: a list of models, the metrics of a busy server (100 kB)."""
MAX_ERROR_BYTES = 2**16
"""Bytes of an error's body: the rest of it is not read, since only its first words are kept."""
FREE_BYTES = 2**16
"""What every answer may hold while it is read; beyond that only a few do so at once."""
LARGE_AT_ONCE = 4


class Damaged(ValueError):
    """An answer whose content encoding cannot be undone."""


async def read_body(
    response: aiohttp.ClientResponse,
    *,
    limit: int = MAX_REPLY_BYTES,
    room: asyncio.Semaphore | None = None,
    clock: asyncio.Timeout | None = None,
    cut: bool = False,
) -> bytes:
    """The body, unpacked; at most ``limit`` bytes are taken from the wire and made of them.

    ``room``: places for large answers, one of which is held from FREE_BYTES on; ``clock``, the
    call's own, stands still while one is waited for: a queue of ours is no fault of the server, and
    a call that is given up for it would be paid twice. ``cut``: what is beyond the limit is left
    unread instead of raising. The session must not unpack by itself.

    Raises TooLarge and Damaged, and whatever the transport raises.
    """
    headers = response.headers
    encoding = headers.get("Content-Encoding", "")
    if not encoding and limit >= FREE_BYTES and _small(headers):
        return await response.content.read()
    unpack = _unpacker(encoding)
    body, wire, held = bytearray(), 0, False
    try:
        async for chunk in response.content.iter_any():
            wire += len(chunk)
            body += unpack(chunk, limit + 1 - len(body))
            if max(wire, len(body)) > limit:
                if cut:
                    response.close()
                    return bytes(body[:limit])
                raise TooLarge(f"The answer is larger than {limit / 2**20:g} MB, the most that is read")
            if room is not None and not held and len(body) > FREE_BYTES:
                await _place_in(room, clock)
                held = True
    finally:
        if held and room is not None:
            room.release()
    unpack(b"", 0)
    return bytes(body)


def _small(headers: Mapping[str, str]) -> bool:
    """Whether no more than FREE_BYTES can come: the transport reads as much of a body as its length says."""
    length = headers.get("Content-Length", "")
    return "Transfer-Encoding" not in headers and len(length) <= 5 and length.isdecimal() and int(length) <= FREE_BYTES


async def _place_in(room: asyncio.Semaphore, clock: asyncio.Timeout | None) -> None:
    """Take a place; ``clock`` goes on afterwards with what it had left."""
    ends = clock.when() if clock is not None else None
    if clock is None or ends is None:
        await room.acquire()
        return
    began = asyncio.get_running_loop().time()
    clock.reschedule(None)
    await room.acquire()
    clock.reschedule(ends + asyncio.get_running_loop().time() - began)


def _unpacker(encoding: str) -> Callable[[bytes, int], bytes]:
    """A function of (bytes, most to return); called with b"" at the end. Raises Damaged."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return lambda chunk, _: chunk
    if name not in ("gzip", "x-gzip", "deflate"):
        raise Damaged(f"The answer's content encoding “{name[:40]}” was not asked for")
    inflate: Any = None

    def unpack(chunk: bytes, most: int) -> bytes:
        nonlocal inflate
        if inflate is None:
            if not chunk:
                return b""
            # Some servers send deflate without its header of two bytes.
            bare = name == "deflate" and chunk[0] & 0x0F != 8
            inflate = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS | 32)
        if not chunk:
            if not inflate.eof:
                raise Damaged(f"The answer's {name} encoding ends too soon")
            return b""
        try:
            found: bytes = inflate.decompress(chunk, most)
        except zlib.error as error:
            raise Damaged(f"The answer's {name} encoding is damaged: {error}") from error
        if inflate.unused_data:
            raise Damaged(f"More bytes follow the end of the answer's {name} encoding")
        return found

    return unpack


# ---------------------------------------------------------------- pages beside the protocol


async def fetch(
    url: str, *, key: str | None = None, timeout: float, ca_file: str | None = None, own: bool = False
) -> tuple[int, bytes]:
    """(status, body) of a GET within ``timeout`` seconds in all, MAX_PAGE_BYTES at most.

    Nothing is followed elsewhere: a key is for the address it was given for. ``own``: a server
    that the lab started itself, which a served lab may ask too. Raises TooLarge, Damaged, LabError
    for the ``ca_file`` or an address that a served lab does not ask, and whatever the transport
    raises.
    """
    if not own:
        check_address(url)
    headers = {"Accept": "*/*", **({"Authorization": f"Bearer {key}"} if key else {})}
    async with (
        aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=trust(ca_file), resolver=None if own else PublicResolver()),
            timeout=aiohttp.ClientTimeout(total=timeout),
            headers={**headers, **ACCEPTED},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        ) as session,
        session.get(url, allow_redirects=False, proxy=proxy_for(url)) as response,
    ):
        return response.status, await read_body(response, limit=MAX_PAGE_BYTES)


ACCEPTED = {"Accept-Encoding": "gzip, deflate"}
"""The encodings that ``read_body`` undoes."""


def proxy_for(url: str) -> str | None:
    """The environment's proxy for an address, looked up once instead of at every request."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


# ---------------------------------------------------------------- trust


MAX_CA_BYTES = 4 * 2**20
"""The system's own bundle of all authorities has 220 kB."""


def trust(ca_file: str | None) -> ssl.SSLContext | bool:
    """What certificates are checked against: the system's authorities and those of the file.

    Raises LabError naming the file where it is missing, no regular file, or holds no certificate.
    """
    if not ca_file:
        return True
    local_only(tr("A file of certificates"))
    cure = tr("Give the path of a PEM file with the certificate of the server or of its authority.")
    try:
        path = Path(ca_file).expanduser()
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise LabError(tr("The ca_file {path} is no regular file. {cure}", path=path, cure=cure))
        if found.st_size > MAX_CA_BYTES:
            raise LabError(
                tr(
                    "The ca_file {path} has {size:,} bytes; certificates have at most {most:,}. {cure}",
                    path=path,
                    size=found.st_size,
                    most=MAX_CA_BYTES,
                    cure=cure,
                )
            )
        context = ssl.create_default_context()
        context.load_verify_locations(cafile=str(path))
    except ssl.SSLError as error:
        raise LabError(
            tr("The ca_file {path} holds no certificate that can be read. {cure}", path=path, cure=cure)
        ) from error
    except (OSError, ValueError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise LabError(
            tr("The ca_file “{path}” cannot be read: {reason}. {cure}", path=ca_file, reason=reason, cure=cure)
        ) from error
    return context


# ---------------------------------------------------------------- connections


class Connector(aiohttp.TCPConnector):
    """Drops an idle connection on which bytes arrived that nobody had asked for.

    A server or proxy that delivers an answer twice would otherwise have the second copy
    taken for the answer to the next call on that connection.
    """

    async def _get(self, key: Any, traces: Any) -> Any:
        connection = await super()._get(key, traces)
        while connection is not None and getattr(connection.protocol, "should_close", True):
            connection.close()
            connection = await super()._get(key, traces)
        return connection
