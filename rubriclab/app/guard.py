"""The lab's door: requests with a foreign Host or Origin in, 403 out; and whether the lab is served
to others.

A page of another site that lets its own name point to 127.0.0.1 is on the lab's address as far as a
browser can tell; its requests still carry that site's name as Host. Two variables decide, set
before the start and never from a page: ``RUBRICLAB_HOSTS`` (names of the lab beside those of this
machine, with commas between) and ``RUBRICLAB_SERVED`` (1 where other people use it; left out, a lab
with a name of its own counts as served).
"""

import os
import re
import sys
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from rubriclab.judges.served import served
from rubriclab.model.text import LabError, shorten

HOSTS_VARIABLE, SERVED_VARIABLE = "RUBRICLAB_HOSTS", "RUBRICLAB_SERVED"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


def hosts() -> frozenset[str]:
    """The names that the lab answers to. Raises LabError for one that is no name: a pattern would
    let others in.
    """
    names = set(LOOPBACK)
    for part in filter(None, map(str.strip, os.environ.get(HOSTS_VARIABLE, "").split(","))):
        name = host_name(part)
        if name is None:
            raise LabError(
                f"{HOSTS_VARIABLE}: “{shorten(part)}” is no host name. Give full names with commas "
                f"between, as "
                "lab.example.org,192.168.1.20; no *, no http://, no path."
            )
        names.add(name)
    return frozenset(names)


def host_name(header: str) -> str | None:
    """The name in a Host header in small letters, without port and closing dot; None where it is
    none.
    """
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port  # out of range, or no number: ValueError
        name = (parts.hostname or "").rstrip(".").encode("idna").decode()
        if header.startswith("["):
            return str(ip_address(name))
    except (ValueError, UnicodeError):
        return None
    if parts.netloc != header or "@" in header:
        return None
    return name if re.fullmatch(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", name) else None


def host_allowed(header: str) -> bool:
    return host_name(header) in hosts()


def origin_allowed(header: str) -> bool:
    """Whether a page of this Origin is one of the lab's own; “null” and files are nobody's."""
    scheme, mark, rest = header.partition("://")
    return bool(mark) and scheme.lower() in ("http", "https") and host_allowed(rest)


def open_to_others() -> str:
    """Why this server is more open than it should be, and the cure; empty: it is not."""
    if not (st.get_option("server.enableXsrfProtection") and st.get_option("server.enableCORS")):
        return (
            "Pages of any site may send to this lab. Start it with enableXsrfProtection and "
            "enableCORS as they are."
        )
    if st.get_option("server.address") not in LOOPBACK and not served():
        return (
            "This lab listens on more than this machine, so whoever is on the network can drive it "
            "and use its keys. "
            f"Start it without server.address, or with {HOSTS_VARIABLE} set to the name that it is "
            f"reached by."
        )
    return ""


def middleware() -> list[Middleware]:
    """The server's outermost layer. Ends the start where a setting of who may come in is wrong."""
    try:
        hosts()
    except LabError as fault:
        raise SystemExit(f"rubriclab: {fault}") from fault
    setting = os.environ.get(SERVED_VARIABLE, "").strip()
    if setting not in ("", "0", "1"):
        raise SystemExit(
            f"rubriclab: {SERVED_VARIABLE} is “{setting[:40]}”; set it to 1 (served) or 0 (yours "
            f"alone)."
        )
    if reason := open_to_others():
        print(f"rubriclab: {reason}", file=sys.stderr)
    return [Middleware(Guard)]


class Guard:
    """ASGI: requests and websockets of a foreign Host or Origin get 403; no other site may frame
    the lab.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def unframed(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message.get("headers", ()),
                    (b"content-security-policy", b"frame-ancestors 'self'"),
                    (b"x-content-type-options", b"nosniff"),
                    (b"referrer-policy", b"no-referrer"),
                ]
            await send(message)

        if scope["type"] == "lifespan" or self._welcome(scope["headers"]):
            await self._app(scope, receive, unframed)
        elif scope["type"] == "websocket":
            await send(
                {"type": "websocket.close", "code": 1008}
            )  # before it is accepted: answered with 403
        else:
            await send(
                {
                    "type": "http.response.start",
                    "status": 403,
                    "headers": [(b"content-type", b"text/plain")],
                }
            )
            body = (
                f"403: this lab answers to its own names only. {HOSTS_VARIABLE} adds names "
                f"before the start.\n"
            )
            await send({"type": "http.response.body", "body": body.encode()})

    @staticmethod
    def _welcome(headers: list[tuple[bytes, bytes]]) -> bool:
        """One Host, which is the lab's, and no Origin but the lab's."""
        names = [value.decode("latin-1") for name, value in headers if name.lower() == b"host"]
        origins = [value.decode("latin-1") for name, value in headers if name.lower() == b"origin"]
        return len(names) == 1 and host_allowed(names[0]) and all(map(origin_allowed, origins))
