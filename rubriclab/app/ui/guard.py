"""The lab's door: a request under a foreign name, or from a foreign page, gets 403.

A page of another site that makes its own name point to 127.0.0.1 is on the lab's address as
far as a browser can tell; its requests still carry that site's name as Host. The server asks
this guard before anything else, so also at the first request after a start.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

from rubriclab.judges.serving import (
    HOSTS_VARIABLE,
    LOOPBACK_HOSTS,
    allowed_hosts,
    host_allowed,
    origin_allowed,
    private_addresses,
    served,
)
from rubriclab.model import LabError
from rubriclab.model.language import tr

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

REFUSED = (
    f"403: this lab does not answer under that name or to that page.\n\n"
    f"It answers to {', '.join(sorted(LOOPBACK_HOSTS))}. Whoever runs it adds other names "
    f"before the start, for example {HOSTS_VARIABLE}=lab.example.org\n"
)


def door() -> list[Middleware]:
    """The server's outermost middleware. Ends the start where a setting of who may come in is wrong."""
    try:
        allowed_hosts(), served(), private_addresses()
    except LabError as fault:
        raise SystemExit(f"rubriclab: {fault}") from fault
    if open_for := openness():
        print(f"rubriclab: {open_for}", file=sys.stderr)
    return [Middleware(Guard)]


class Guard:
    """ASGI middleware: requests and websockets of foreign Host or Origin are answered with 403."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or _welcome(scope["headers"]):
            await self._app(scope, receive, _unframed(send))
        elif scope["type"] == "websocket":
            # Closed before it was accepted: the server answers the handshake with 403.
            await send({"type": "websocket.close", "code": 1008})
        else:
            body = REFUSED.encode()
            headers = [
                (b"content-type", b"text/plain; charset=utf-8"),
                (b"content-length", str(len(body)).encode()),
                (b"x-content-type-options", b"nosniff"),
                (b"cache-control", b"no-store"),
            ]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": body})


def _unframed(send: Send) -> Send:
    """Answers that no other site may put into a frame, where a visitor would click unknowingly."""

    async def sent(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [
                *message.get("headers", ()),
                (b"content-security-policy", b"frame-ancestors 'self'"),
                (b"x-frame-options", b"SAMEORIGIN"),
            ]
        await send(message)

    return sent


def _welcome(headers: list[tuple[bytes, bytes]]) -> bool:
    """One Host, which is ours, and no Origin but ours."""
    hosts = [value.decode("latin-1") for name, value in headers if name.lower() == b"host"]
    origins = [value.decode("latin-1") for name, value in headers if name.lower() == b"origin"]
    return len(hosts) == 1 and host_allowed(hosts[0]) and all(map(origin_allowed, origins))


def check_visitor() -> None:
    """The second line, in every run of a page: stops it for a foreign Host or Origin.

    It is what is left where the lab's pages are served by something else than app.py's server.
    """
    headers = st.context.headers
    hosts, origins = headers.get_all("Host"), headers.get_all("Origin")
    if all(map(host_allowed, hosts)) and all(map(origin_allowed, origins)):
        return
    st.error(tr("This lab does not answer under that name or to that page."), icon=":material/block:")
    st.stop()


def openness() -> str | None:
    """What makes this server more open than it should be, and the cure; None: nothing."""
    address = st.get_option("server.address")
    if not st.get_option("server.enableXsrfProtection"):
        return tr(
            "Uploads are not protected against other pages (`server.enableXsrfProtection` is off). Start the "
            "lab without that setting."
        )
    if not st.get_option("server.enableCORS"):
        return tr(
            "Answers may be read by pages of any site (`server.enableCORS` is off). Start the lab without that setting."
        )
    if address not in LOOPBACK_HOSTS and not served():
        return tr(
            "This lab listens on {address}, so whoever is on the network can drive it and use its keys. Start "
            "it without `server.address`, or see “Running it for others” in the README.",
            address=address or tr("every address"),
        )
    return None
