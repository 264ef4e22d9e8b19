"""How a card's calls are sent: by urllib, by an ``openai`` client, or by a function. Standard library alone.

Every transport takes a request's body and gives the completion as plain values, or a fault; none
raises for what a server does.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import re
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from rubriclab.apply.card import Card, CardError, key_name
from rubriclab.judges.bounded import MAX_REPLY_BYTES
from rubriclab.judges.faults import Fault, fault, from_response, redact
from rubriclab.judges.reading import parsed

Answer = Mapping[str, Any] | Fault
Send = Callable[[dict[str, Any]], Any]
"""A request's body to an Answer, or to something to be awaited for one."""
MAX_ERROR_BYTES = 2**16
USUAL = {"https://api.openai.com/v1": "OPENAI_API_KEY"}


def sender(
    card: Card, *, client: Any = None, base_url: str | None = None, key_env: str | None = None, trust: bool = False
) -> Send:
    """What sends the calls of a card. Raises CardError where there is no address or no key."""
    if client is not None:
        return of_client(client)
    url = (base_url or next(iter(card.judge.base_urls), "")).rstrip("/")
    if not url:
        raise CardError(
            f"The card's judge ({card.judge.kind}, {card.judge.model}) has no address: load(…, base_url=…) names the "
            "server of it that speaks the OpenAI chat protocol, or client=… an openai client."
        )
    if not re.fullmatch(r"https?://[^@\s\x00-\x1f\x7f]+", url):
        raise CardError(f"“{redact(url)[:80]}” is no base URL: one begins with http:// or https:// and holds no key.")
    name = key_env or (card.judge.key_env and key_name(card.judge.key_env))
    if name and not (base_url or trust or USUAL.get(url) == name):
        raise CardError(
            f"The card would send the key in {name} to {url}. A key goes only where you say: load(…, "
            "base_url=…) with the address, or trust=True for a card of your own."
        )
    key = os.environ.get(name, "") if name else ""
    if name and not key:
        raise CardError(f"The environment has no {name}, the key of the card's judge. Set it, or name another key_env.")
    return _urllib(f"{url}/chat/completions", key, card.judge.timeout)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A key is for the address it was given for: nothing is followed elsewhere."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _urllib(url: str, key: str, timeout: float) -> Send:
    opener = urllib.request.build_opener(_NoRedirects())
    headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "rubriclab-apply/1"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    secrets = (key,) if key else ()

    def send(body: dict[str, Any]) -> Answer:
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        try:
            with opener.open(request, timeout=timeout) as response:
                content = response.read(MAX_REPLY_BYTES + 1)
                answered = dict(response.headers)
        except urllib.error.HTTPError as error:
            with error:
                return from_response(error.code, dict(error.headers), error.read(MAX_ERROR_BYTES), secrets=secrets)
        except (OSError, ValueError) as error:
            return of_exception(error, timeout, secrets)
        if len(content) > MAX_REPLY_BYTES:
            return fault("too_large", f"The answer is larger than {MAX_REPLY_BYTES / 2**20:g} MB")
        return parsed(content, answered, secrets)

    return send


def of_exception(error: BaseException, timeout: float, secrets: tuple[str, ...] = ()) -> Fault:
    """The fault behind an exception of the transport."""
    cause = getattr(error, "reason", None)
    cause = cause if isinstance(cause, BaseException) else error
    text = redact(str(cause) or type(cause).__name__, secrets)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return fault("certificate", f"The server's certificate is not trusted: {text}")
    if isinstance(cause, TimeoutError) or "timeout" in type(cause).__name__.lower():
        return fault("timeout", f"No answer within {timeout:g} s")
    if isinstance(cause, ConnectionRefusedError) or isinstance(error, urllib.error.URLError):
        return fault("connect", f"No connection: {text}")
    return fault("reset", f"The connection broke: {text}")


# ---------------------------------------------------------------- handed in


def of_client(client: Any) -> Send:
    """An ``openai`` client (sync or async), or a function of a request's body.

    The function gives a chat completion as a mapping, or as an object with ``model_dump``; it may
    be async. What it raises is the fault of that call.
    """
    completions = getattr(getattr(client, "chat", None), "completions", None)
    if completions is None and not callable(client):
        raise CardError(
            f"{type(client).__name__} is no client: hand in an openai.OpenAI or AsyncOpenAI, or a function that "
            "takes a request's body and gives a chat completion."
        )
    call = client if completions is None else _create(completions)
    asked = client if completions is None else completions.create
    asynchronous = inspect.iscoroutinefunction(inspect.unwrap(asked))

    async def asend(body: dict[str, Any]) -> Answer:
        try:
            return _answer(await call(body))
        except Exception as error:  # somebody else's code: whatever it raises is this call's fault
            return _raised(error)

    def send(body: dict[str, Any]) -> Any:
        try:
            value = call(body)
            return value if inspect.isawaitable(value) else _answer(value)
        except Exception as error:
            return _raised(error)

    return asend if asynchronous else send


def _create(completions: Any) -> Callable[[dict[str, Any]], Any]:
    def create(body: dict[str, Any]) -> Any:
        rest = {name: value for name, value in body.items() if name not in ("model", "messages")}
        return completions.create(model=body["model"], messages=list(body["messages"]), extra_body=rest)

    return create


def _answer(value: Any) -> Answer:
    if isinstance(value, Fault):
        return value
    if hasattr(value, "model_dump"):
        value = value.model_dump()
    if not isinstance(value, Mapping):
        return fault("bad_json", f"The client gave {type(value).__name__}, no chat completion")
    return value


def _raised(error: Exception) -> Fault:
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        response = getattr(error, "response", None)
        content = getattr(response, "content", b"")
        return from_response(status, getattr(response, "headers", {}), content if isinstance(content, bytes) else b"")
    name = type(error).__name__
    if "Timeout" in name or isinstance(error, TimeoutError):
        return fault("timeout", f"{name}: {redact(str(error))}")
    if "Connection" in name or isinstance(error, OSError):
        return fault("connect", f"{name}: {redact(str(error))}")
    return fault("code_error", f"{name}: {redact(str(error))}")


# ---------------------------------------------------------------- again


def waiting(found: Fault, attempt: int, longest: float) -> float:
    """Seconds before the next attempt: what the server asks for, else 0.5, 1, 2, …"""
    asked = found.retry_after if found.retry_after is not None else 0.5 * 2**attempt
    return min(asked, longest)


def pause(seconds: float) -> None:
    time.sleep(seconds)


async def apause(seconds: float) -> None:
    await asyncio.sleep(seconds)
