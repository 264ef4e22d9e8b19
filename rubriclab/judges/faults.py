"""What went wrong with a call in, its kind out: can asking again help, must the judge pause, what should a user do.

A fault is a value and becomes a ``Reply``; its message has passed through ``keys.mask`` before it gets here.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from rubriclab.judges.keys import mask
from rubriclab.model.judgment import Reply

MAX_MESSAGE = 400
"""Signs of a message that are kept: a run can have millions of rows."""
LONGEST_WAIT = 1e9
"""Seconds, some 30 years: a server that asks for more is read as asking for this."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault.

    ``sentence``: what a user should do. ``retryable``: the same call may well succeed later, unchanged. ``fatal``: no
    call of this judge can succeed before somebody changes something, so the judge pauses at once.
    """

    name: str
    sentence: str
    retryable: bool = False
    fatal: bool = False


FAULTS: dict[str, FaultKind] = {
    kind.name: kind
    for kind in (
        FaultKind("connect", "Is the server running at this address, and can this machine reach it?", retryable=True),
        FaultKind(
            "certificate",
            "Give the judge the certificate of the server or of its authority as ca_file (PEM), or correct the base "
            "URL: its host must be the certificate's, and https:// needs TLS.",
            fatal=True,
        ),
        FaultKind(
            "inward",
            "This lab is served to others and sends nothing to its own machine or network. Its owner can start it "
            "without RUBRICLAB_SERVED.",
            fatal=True,
        ),
        FaultKind("timeout", "Raise the judge's timeout or lower its concurrency.", retryable=True),
        FaultKind("slow", "The answer came too slowly: raise the timeout or lower max_tokens.", retryable=True),
        FaultKind("reset", "The connection broke: look at the server's log, then resume.", retryable=True),
        FaultKind("rate_limit", "Lower the judge's concurrency, or set its rpm.", retryable=True),
        FaultKind("quota", "The account has no credit left: top it up, then resume.", fatal=True),
        FaultKind("server_error", "The server failed inside: look at its log, then resume.", retryable=True),
        FaultKind("bad_gateway", "The gateway lost the server behind it: wait, then resume.", retryable=True),
        FaultKind("unavailable", "The server is overloaded or still starting: wait, then resume.", retryable=True),
        FaultKind("bad_json", "The answer was cut or is no JSON: look at the server's log.", retryable=True),
        FaultKind(
            "html",
            "A web page answered, not an API: check the base URL and whether a proxy stands between.",
            retryable=True,
        ),
        FaultKind("too_large", "The server sends more than any judgment needs: lower max_tokens, or look at its log."),
        FaultKind("empty_choices", "The server returned no answer: ask again later.", retryable=True),
        FaultKind(
            "wrong_model",
            "Set the judge's model to the name that the server answers with (or options.served_model), or load the "
            "model that was meant.",
            fatal=True,
        ),
        FaultKind("context_overflow", "Shorten the answer or the rubric, or start the server with a longer context."),
        FaultKind("content_filter", "The provider's filter refused this text: leave it out."),
        FaultKind("auth", "Check the key in the variable that the judge names, and its rights.", fatal=True),
        FaultKind("not_found", "Check the base URL (most end in /v1) and the model's name.", fatal=True),
        FaultKind("bad_setting", "Change the setting of the judge that the message names.", fatal=True),
        FaultKind("bad_request", "The server refuses this request: see its message."),
    )
}
"""Every kind that a judge can report, by name."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one call. ``retry_after``: seconds for which the server asked to be left alone."""

    kind: str
    message: str
    retry_after: float | None = None

    def reply(self, seconds: float) -> Reply:
        return Reply(
            finish="error",
            seconds=seconds,
            error=self.message,
            kind=self.kind,
            retryable=FAULTS[self.kind].retryable,
            retry_after=self.retry_after,
        )


class CallFault(Exception):
    """Carries a Fault out of the transport."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def fault(kind: str, message: str, *, retry_after: float | None = None) -> Fault:
    """A fault of a known kind, its message on one line and cut to MAX_MESSAGE signs."""
    text = " ".join(message.split())
    if len(text) > MAX_MESSAGE:
        text = text[: MAX_MESSAGE - 1] + "…"
    assert kind in FAULTS, kind
    return Fault(kind, text, retry_after)


def advised(message: str, kind: str) -> str:
    """A fault's message, and what a user should do about it."""
    return f"{message.rstrip('.')}. {FAULTS[kind].sentence}"


def fatal(kind: str) -> bool:
    """Whether the judge pauses at once, see FaultKind."""
    return kind in FAULTS and FAULTS[kind].fatal


# ---------------------------------------------------------------- from a response

BY_STATUS = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "unavailable",
    425: "unavailable",
    429: "rate_limit",
    502: "bad_gateway",
    503: "unavailable",
    504: "timeout",
    529: "unavailable",
}
OVERFLOW = re.compile(
    r"context (length|size|window)|maximum context|too many tokens|too large to process|prompt is too long"
    r"|reduce the length",
    re.I,
)
SETTINGS = (
    "temperature",
    "top_p",
    "max_completion_tokens",
    "max_tokens",
    "seed",
    "reasoning_effort",
    "top_logprobs",
    "logprobs",
    "structured_outputs",
    "response_format",
)
"""Fields of a request that come from the judge's settings: a refusal that names one is mended there."""


def from_response(status: int, headers: Mapping[str, str], body: bytes, *, secrets: Iterable[str] = ()) -> Fault:
    """The fault behind an HTTP answer that is no completion.

    Knows the error forms of OpenAI (``error.code``), vLLM (``error.param``), llama.cpp (``error.type``), Ollama
    (``error`` as text) and FastAPI (``detail``).
    """
    text = body[:20_000].decode("utf-8", "replace")
    error = error_object(text)
    detail = words_of(error.get("message")) or words_of_page(text)
    kind = kind_of(status, error, detail)
    message = f"HTTP {status}: {mask(detail, secrets)}" if detail else f"HTTP {status}"
    if kind == "bad_request" and (setting := setting_named(error, detail)):
        kind, message = "bad_setting", f"Setting “{setting}” is refused. {message}"
    if 300 <= status < 400:
        message += f" (moved to {mask(headers.get('Location', '?'), secrets)})"
    return fault(kind, message, retry_after=retry_after(headers))


def error_object(text: str) -> dict[str, Any]:
    """The server's error as one flat dict with ``message``; empty where the body is no JSON object."""
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(payload, dict):
        return {}
    error = payload.get("error", payload)
    if isinstance(error, dict):
        return error if "message" in error else {**error, "message": error.get("detail", "")}
    return {"message": error}


def words_of(value: Any) -> str:
    """What a field says: text as it is, anything else as JSON; nothing for what says nothing."""
    if not value:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def words_of_page(text: str) -> str:
    """What a body that is no JSON says: a page's title, else its first words without tags."""
    title = re.search(r"<title[^>]{0,500}>([^<]{0,500})", text, re.I)
    return title[1].strip() if title else re.sub(r"<[^>]{0,500}>", " ", text[:1000]).strip()


def kind_of(status: int, error: Mapping[str, Any], detail: str) -> str:
    code = f"{error.get('code')} {error.get('type')}".lower()
    if "insufficient_quota" in code:
        return "quota"
    if status in (400, 413, 422, 500):
        if (
            error.get("param") == "input_tokens"
            or "context_length_exceeded" in code
            or "exceed_context_size" in code
            or OVERFLOW.search(detail)
        ):
            return "context_overflow"
        if "content_filter" in code or "content_policy" in code:
            return "content_filter"
        if "model_not_found" in code:
            return "not_found"
    if status in BY_STATUS:
        return BY_STATUS[status]
    if 300 <= status < 400:
        return "not_found"
    if 520 <= status <= 524:
        return "bad_gateway"
    return "server_error" if status >= 500 else "bad_request"


def setting_named(error: Mapping[str, Any], detail: str) -> str:
    """The setting of the judge that a refusal names: in ``param``, else as a word of its message; else empty."""
    if error.get("param") in SETTINGS:
        return str(error["param"])
    named = [name for name in SETTINGS if re.search(rf"(?<!\w){name}(?!\w)", detail)]
    return min(named, key=detail.index, default="")


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Seconds to wait, from ``retry-after-ms`` or ``Retry-After`` (seconds or an HTTP date), 0 to LONGEST_WAIT.

    None where the header is missing or unreadable. How long is really waited is the runner's to decide.
    """
    for name, scale in (("retry-after-ms", 1e-3), ("Retry-After", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            try:
                moment = parsedate_to_datetime(value).timestamp()
            except (ValueError, OverflowError, TypeError, IndexError):
                continue
            seconds = moment - (time.time() if now is None else now)
        if not math.isnan(seconds):
            return min(max(0.0, seconds), LONGEST_WAIT)
    return None
