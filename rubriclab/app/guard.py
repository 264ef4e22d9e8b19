"""Refuse requests that do not come from the lab's own pages, and tell whether others use the lab.

A page of another site can let its own name point to 127.0.0.1. For a browser, that page is then
on the lab's address, but its requests still carry the other site's name as Host. Two variables
decide who may come in. They are set before the start and never from a page: ``RUBRICLAB_HOSTS``
lists further names of the lab, separated by commas; ``RUBRICLAB_SERVED`` is 1 if other people use
the lab. If it is not set, a lab with a name of its own counts as served.
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
    """Return the names that the lab answers to.

    Raises LabError for an entry that is not a host name: a pattern would let strangers in.
    """
    names = set(LOOPBACK)
    for entry in os.environ.get(HOSTS_VARIABLE, "").split(","):
        part = entry.strip()
        if not part:
            continue
        name = host_name(part)
        if name is None:
            raise LabError(
                f"{HOSTS_VARIABLE}: “{shorten(part)}” is not a host name. Give full names "
                "separated by commas, for example lab.example.org,192.168.1.20, without *, "
                "http://, or a path."
            )
        names.add(name)
    return frozenset(names)


def host_name(header: str) -> str | None:
    """Return the name in a Host header in lower case, without port and final dot, or None.

    None stands for everything that is not exactly a host name with an optional port.
    """
    try:
        parts = urlsplit(f"//{header}")
        _ = parts.port  # raises ValueError if it is not a number or out of range
        name = (parts.hostname or "").rstrip(".").encode("idna").decode()
        if header.startswith("["):
            return str(ip_address(name))
    except (ValueError, UnicodeError):
        return None
    if parts.netloc != header or "@" in header:
        return None
    return name if re.fullmatch(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?", name) else None


def host_allowed(header: str) -> bool:
    """Return whether this Host header names the lab."""
    return host_name(header) in hosts()


def origin_allowed(header: str) -> bool:
    """Return whether a page of this Origin is the lab's own; “null” and files never are."""
    scheme, mark, rest = header.partition("://")
    return bool(mark) and scheme.lower() in ("http", "https") and host_allowed(rest)


def open_to_others() -> str:
    """Return why this server is more open than it should be and what to do, or an empty text."""
    if not (st.get_option("server.enableXsrfProtection") and st.get_option("server.enableCORS")):
        return (
            "Any website can send requests to this lab. Start it without changing "
            "enableXsrfProtection and enableCORS."
        )
    if st.get_option("server.address") not in LOOPBACK and not served():
        return (
            "This lab accepts connections from other machines, so anybody on the network can "
            f"use it and its keys. Start it without server.address, or set {HOSTS_VARIABLE} to "
            "the name under which people reach it."
        )
    return ""


def middleware() -> list[Middleware]:
    """Return the server's outermost layer, and end the start if a setting about access is wrong."""
    try:
        hosts()
    except LabError as fault:
        raise SystemExit(f"rubriclab: {fault}") from fault
    setting = os.environ.get(SERVED_VARIABLE, "").strip()
    if setting not in ("", "0", "1"):
        raise SystemExit(
            f"rubriclab: {SERVED_VARIABLE} is “{setting[:40]}”. Set it to 1 (other people use the "
            "lab) or 0 (only you do)."
        )
    if reason := open_to_others():
        print(f"rubriclab: {reason}", file=sys.stderr)
    return [Middleware(Guard)]


class Guard:
    """An ASGI layer that refuses foreign requests and websockets with 403.

    It also forbids other sites to show the lab in a frame.
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
            # The websocket is not accepted yet, so the server answers with 403.
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send(
                {
                    "type": "http.response.start",
                    "status": 403,
                    "headers": [(b"content-type", b"text/plain")],
                }
            )
            body = (
                f"403: this lab answers only to its own names. To add one, set {HOSTS_VARIABLE} "
                f"before you start it.\n"
            )
            await send({"type": "http.response.body", "body": body.encode()})

    @staticmethod
    def _welcome(headers: list[tuple[bytes, bytes]]) -> bool:
        """Return whether there is exactly one Host, which is the lab's, and no foreign Origin."""
        names = [value.decode("latin-1") for name, value in headers if name.lower() == b"host"]
        origins = [value.decode("latin-1") for name, value in headers if name.lower() == b"origin"]
        return len(names) == 1 and host_allowed(names[0]) and all(map(origin_allowed, origins))
