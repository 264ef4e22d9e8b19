"""What can go wrong with one call, by name: can asking again help, and what should a user do.

A fault is a value, never an exception: the client turns every failure of a call into a
``Fault`` and from there into a ``Reply``. Messages pass through ``redact`` on the way, so
that no key reaches a store, a log or a page.
"""

from __future__ import annotations

import base64
import html
import json
import math
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from rubriclab.judges.bounded import load_json
from rubriclab.model import Reply
from rubriclab.model.language import msg, tr

MAX_MESSAGE = 400
"""Characters of a message that are kept: a run can have millions of rows."""


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault. ``retryable``: the same call may well succeed later, unchanged."""

    name: str
    retryable: bool
    advice: str


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of one call. ``retry_after``: seconds the server asked to be left alone."""

    kind: str
    message: str
    retryable: bool
    retry_after: float | None = None

    def reply(self, *, latency: float = 0.0, model: str | None = None) -> Reply:
        return Reply(
            finish="error",
            latency=latency,
            model=model,
            error=self.message,
            kind=self.kind,
            retryable=self.retryable,
            retry_after=self.retry_after,
        )


_KINDS = (
    FaultKind("connect", True, msg("Check that the server is running at this address and reachable.")),
    FaultKind(
        "certificate",
        False,
        msg(
            "Give the judge the server's certificate or its authority's as ca_file (a PEM file), or mend the "
            "base URL: the host name must be the certificate's, and https:// needs TLS."
        ),
    ),
    FaultKind("timeout", True, msg("Raise the judge's timeout or lower its concurrency.")),
    FaultKind("slow", True, msg("The answer came too slowly: raise the timeout or lower max tokens.")),
    FaultKind("reset", True, msg("The connection broke: look at the server's log, then resume.")),
    FaultKind("rate_limit", True, msg("Lower the judge's concurrency or set its rpm and tpm limits.")),
    FaultKind("quota", False, msg("The account has no credit left: top it up, then resume the run.")),
    FaultKind("server_error", True, msg("The server failed inside: look at its log, then resume.")),
    FaultKind("bad_gateway", True, msg("The gateway lost the server behind it: wait, then resume.")),
    FaultKind("unavailable", True, msg("The server is overloaded or starting: wait, then resume.")),
    FaultKind("bad_json", True, msg("The answer was cut or is not JSON: look at the server's log.")),
    FaultKind("html", True, msg("A web page answered instead of an API: check the base URL and proxy.")),
    FaultKind(
        "too_large", False, msg("The server sends more than any judgment takes: lower max tokens, or look at its log.")
    ),
    FaultKind("empty_choices", True, msg("The server returned no answer: ask again later.")),
    FaultKind(
        "wrong_model", False, msg("Set the judge's model to the name the server answers with, or fix the server.")
    ),
    FaultKind("context_overflow", False, msg("Shorten the item or rubric, or start the server with a longer context.")),
    FaultKind("content_filter", False, msg("The provider's filter refused this text: leave it out.")),
    FaultKind("auth", False, msg("Check the key in the variable the judge names, and its rights.")),
    FaultKind("not_found", False, msg("Check the base URL (most end in /v1) and the model's name.")),
    FaultKind("bad_request", False, msg("Change the setting that the server's message names.")),
    FaultKind(
        "nan_logprobs",
        False,
        msg("The server's log-probabilities are not numbers: use feedback mode or another precision."),
    ),
    FaultKind("code_error", False, msg("Mend your function there: the same call would raise it again.")),
    FaultKind("code_timeout", False, msg("Find what it waits for, or raise the judge's timeout.")),
    FaultKind("code_exit", True, msg("Your function ended its process: see to memory, exit calls and libraries in C.")),
    FaultKind("code_reply", False, msg("Return text, a score of the scale, or a mapping of text or score.")),
)
FAULTS: Mapping[str, FaultKind] = {kind.name: kind for kind in _KINDS}
"""Every kind a judge can report, by name."""


def fault(kind: str, message: str, *, retry_after: float | None = None) -> Fault:
    """A fault of a known kind, its message on one line and cut to MAX_MESSAGE characters."""
    text = " ".join(message.split())
    if len(text) > MAX_MESSAGE:
        text = text[: MAX_MESSAGE - 1] + "…"
    return Fault(kind, text, FAULTS[kind].retryable, retry_after)


def advice(kind: str | None) -> str:
    """What a user should do about a kind of fault; empty for none or an unknown one."""
    known = FAULTS.get(kind or "")
    return tr(known.advice) if known else ""


# ---------------------------------------------------------------- from a response


def from_response(status: int, headers: Mapping[str, str], body: bytes, *, secrets: Iterable[str] = ()) -> Fault:
    """The fault behind an HTTP answer that is no completion.

    Reads the error forms of OpenAI (``error.code``), vLLM (``error.param``), llama.cpp
    (``error.type``), Ollama (``error`` as text) and FastAPI (``detail``).
    """
    text = redact_secrets(body[:20_000].decode("utf-8", "replace"), secrets)
    error = _error_object(text)
    detail = _words(error.get("message")) or _plain_text(text)
    kind = _kind_of(status, error, detail)
    message = f"HTTP {status}: {redact(detail, secrets)}" if detail else f"HTTP {status}"
    if 300 <= status < 400:
        message += f" (moved to {redact(headers.get('Location', '?'), secrets)})"
    return fault(kind, message, retry_after=retry_after(headers))


def _error_object(text: str) -> dict[str, Any]:
    """The server's error as one flat dict with ``message``; empty when the body is not JSON."""
    try:
        payload = load_json(text.encode("utf-8", "replace"))
    except ValueError:
        return {}
    if not isinstance(payload, dict):
        return {}
    error = payload.get("error", payload)
    if isinstance(error, dict):
        return error if "message" in error else {**error, "message": error.get("detail", "")}
    return {"message": error}


def _words(value: Any) -> str:
    """What a field says: text as it is, anything else as JSON; nothing for what says nothing."""
    if not value:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _plain_text(text: str) -> str:
    """What a body that is not JSON says: a page's title, else its first words without tags."""
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.S | re.I)
    return title[1].strip() if title else re.sub(r"<[^>]{0,500}>", " ", text[:1000]).strip()


_BY_STATUS = {
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
_OVERFLOW = re.compile(
    r"context (length|size|window)|maximum context|too many tokens|too large to process"
    r"|prompt is too long|reduce the length",
    re.I,
)


def _kind_of(status: int, error: Mapping[str, Any], detail: str) -> str:
    code = f"{error.get('code')} {error.get('type')}".lower()
    if "insufficient_quota" in code:
        return "quota"
    if status in (400, 413, 422, 500):
        if (
            error.get("param") == "input_tokens"
            or "context_length_exceeded" in code
            or "exceed_context_size" in code
            or _OVERFLOW.search(detail)
        ):
            return "context_overflow"
        if "content_filter" in code or "content_policy" in code:
            return "content_filter"
        if "model_not_found" in code:
            return "not_found"
        if "float values are not json compliant" in detail.lower():
            return "nan_logprobs"
    if status in _BY_STATUS:
        return _BY_STATUS[status]
    if 300 <= status < 400:
        return "not_found"
    if 520 <= status <= 524:
        return "bad_gateway"
    return "server_error" if status >= 500 else "bad_request"


LONGEST_WAIT = 1e9
"""Seconds that a server can ask to be left alone for, some 30 years: more is read as this."""


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Seconds to wait, from ``retry-after-ms`` or ``Retry-After`` (seconds or an HTTP date).

    None where the header is missing or unreadable; from 0 to LONGEST_WAIT. How long is really
    waited is the runner's to decide.
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


# ---------------------------------------------------------------- keys stay out


_SECRET_FORMS = (
    (re.compile(r"(?i)(authorization['\"]?\s*[:=]\s*['\"]?)[^'\"\r\n,}]+"), r"\1***"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"), r"\1 ***"),
    (re.compile(r"\b(sk|pk|hf|gsk|xai|r8|AIza)[-_][A-Za-z0-9*._-]{6,}"), r"\1-***"),
    (re.compile(r"(?i)\b(api[-_]?key|token|secret|password)(['\"]?\s*[=:]\s*['\"]?)[^\s'\"&,}]{4,}"), r"\1\2***"),
    (re.compile(r"(?i)\b(https?://)[^/\s@]+@"), r"\1***@"),
)


MIN_SECRET = 8
"""Characters from which on a key is looked for inside words and in replies. A shorter one could
be a word or a score; it is only taken out of error messages, where it stands alone."""


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` without the given secrets and without anything that looks like a key."""
    text = redact_secrets(text, secrets)
    for secret in secrets:
        if secret and len(secret) < MIN_SECRET:
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    for form, replacement in _SECRET_FORMS:
        text = form.sub(replacement, text)
    return text


def redact_secrets(text: str, secrets: Iterable[str]) -> str:
    """``text`` without the secrets themselves, however they were written down.

    As they are, percent-encoded, escaped for JSON or HTML, in base64. Nothing else is touched,
    so that a reply which holds none of them stays as it is; see MIN_SECRET.
    """
    for secret in secrets:
        if len(secret) >= MIN_SECRET:
            text = _forms_of(secret).sub("***", text)
    return text


def without_secrets(reply: Reply, secrets: Iterable[str]) -> Reply:
    """``reply`` as it may be kept: a server that repeats its key must not get it stored.

    ``note`` says where a secret was; the reply itself where there was none.
    """
    # What holds a secret nowhere in all its words holds none in one of them: one look for most replies.
    said = filter(None, (reply.text, reply.finish, reply.model, reply.error, reply.note))
    together = "\n".join((*said, *(token for token, _ in reply.top_tokens)))
    if redact_secrets(together, secrets) == together:
        return reply
    changes: dict[str, Any] = {}
    for name in ("text", "finish", "model", "error", "note"):
        value = getattr(reply, name)
        if value and (kept := redact_secrets(value, secrets)) != value:
            changes[name] = kept
    tokens = tuple((redact_secrets(token, secrets), value) for token, value in reply.top_tokens)
    if tokens != reply.top_tokens:
        changes["top_tokens"] = tokens
    if not changes:
        return reply
    words = f"the judge's key was taken out of {', '.join(changes)}"
    before = changes.pop("note", reply.note)
    return replace(reply, **changes, note=f"{before}; {words}" if before else words)


@lru_cache(maxsize=64)
def _forms_of(secret: str) -> re.Pattern[str]:
    """All ways in which a secret may be written, the longest first; case does not matter."""
    escaped = json.dumps(secret)[1:-1]
    raw = secret.encode()
    forms = {
        secret,
        quote(secret, safe=""),
        "".join(f"%{byte:02x}" for byte in raw),
        escaped,
        escaped.replace("/", "\\/"),
        "".join(f"\\u{ord(c):04x}" for c in secret),
        html.escape(secret),
        base64.b64encode(raw).decode().rstrip("="),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
    }
    longest_first = sorted(forms, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
