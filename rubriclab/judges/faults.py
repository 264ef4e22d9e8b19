"""Sort what can go wrong with a call by what follows from it.

A fault has a kind. The kind says whether asking again can help, whether the judge must pause, and
what the user should do (``faults.toml``).
"""

import json
import math
import re
import time
import tomllib
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

from rubriclab.judges.keys import mask
from rubriclab.model.judgment import Reply
from rubriclab.model.text import shorten

MAX_MESSAGE = 400
"""Characters of a message that are kept. A run can have millions of rows, each with a message."""
LONGEST_WAIT = 1e9
"""Seconds (about 30 years). If a server asks for a longer or an infinite wait, we use this."""
RETRYABLE, FATAL, FINAL = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
).values()
"""What a user should do, by kind of fault. The file says what each of the three groups means."""
FAULTS: dict[str, str] = RETRYABLE | FATAL | FINAL
"""What a user should do, for every kind of fault."""


class Fault(Exception):
    """One fault of one call.

    kind: one of FAULTS.
    message: what happened, on one line of at most MAX_MESSAGE characters, without keys.
    secrets: the judge's keys, which are masked in the message.
    retry_after: how long the server asks us to wait (seconds); None where it does not ask.
    status: the HTTP status of the response; 0 where there was none.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        secrets: Iterable[str] = (),
        *,
        retry_after: float | None = None,
        status: int = 0,
    ) -> None:
        assert kind in FAULTS, kind
        self.kind, self.retry_after, self.status = kind, retry_after, status
        self.message = shorten(mask(message, secrets), MAX_MESSAGE)
        super().__init__(self.message)

    def reply(self, seconds: float) -> Reply:
        """Return the fault as the reply of a call that took ``seconds``."""
        return Reply(
            finish="error",
            seconds=seconds,
            error=self.message,
            kind=self.kind,
            retryable=self.kind in RETRYABLE,
            retry_after=self.retry_after,
        )


def advised(message: str, kind: str) -> str:
    """Return a fault's message, followed by what a user should do about it."""
    setting = re.match(r"Setting “(\w+)” is refused", message) if kind == "bad_setting" else None
    more = f" {ADVICE[setting[1]]}" if setting and setting[1] in ADVICE else ""
    return f"{message.rstrip('.')}. {FAULTS[kind]}{more}"


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
    501: "not_answered",
    502: "bad_gateway",
    503: "unavailable",
    504: "timeout",
    529: "unavailable",
    **dict.fromkeys(range(300, 400), "not_found"),
    **dict.fromkeys(range(520, 525), "bad_gateway"),
}
"""Kinds of faults by HTTP status, where the body does not say more. 520 to 524 are Cloudflare's."""
OVERFLOW = re.compile(
    r"context (length|size|window)|maximum context|too many tokens|too large to process|prompt is "
    r"too long"
    r"|reduce the length|context_length_exceeded|exceed_context_size",
    re.I,
)
"""Phrases by which servers say that a prompt is longer than the model's context."""
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
    "grammar",
)
"""Fields of a request that come from the judge's settings.

The user can resolve a refusal that names one of them by changing that setting.
"""


PLAIN_WORDS = ("temperature", "seed", "grammar")
"""Settings whose names also occur in messages about something else, for example in a model's name.
"""
REFUSING = frozenset({400, 403, 404, 405, 415, 422, 500, 501})
"""HTTP statuses with which servers refuse a field or a number of a request.

401 is not one of them: it means a wrong key, whatever the message says.
"""
REFUSES = re.compile(
    r"unsupported|not (?:be "
    r")?(?:supported|allowed|enabled|permitted|available|accepted)|unknown|unrecogni[sz]ed"
    r"|\bextra|invalid|cannot find|does(?: not|n't) support|not supporting|no "
    r"field|\bmust\b|\bonly\b|\bunexpected",
    re.I,
)
"""Phrases of a refusal that is about the request, not about who sends it."""
FORBIDS = re.compile(
    r"unsupported|not (?:allowed|permitted|enabled|available|supported)|does not support", re.I
)
"""The phrases among these that are clear enough to read a 403 as a refused setting."""
ADVICE = {
    "temperature": 'Set temperature = "server" in the study file, or empty the field in Set up: '
    "the server then takes its own.",
    "seed": "Leave out the judge's seed: this server takes none.",
    "reasoning_effort": "Leave out the judge's reasoning effort, or choose one that the server "
    "names.",
    **dict.fromkeys(
        ("structured_outputs", "response_format", "grammar"),
        "The server does not constrain replies so: "
        "test the judge to see which constraint it holds.",
    ),
}
"""What to do about a refused setting that affects the replies.

The lab does not leave out such a setting by itself, because the results would change.
"""


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, secrets: Iterable[str] = ()
) -> Fault:
    """Return the fault that an HTTP response without a completion reports.

    A response with status 200 may contain a failure and its status. We know how errors look from
    OpenAI (``error.code``), vLLM (``error.param``), llama.cpp (``error.type``), Ollama (``error``
    is a text), and FastAPI (``detail``).
    """
    text = body[:20_000].decode("utf-8", "replace")
    error = error_object(text)
    if status < 300:
        code = error.get("code")
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
    detail = error.get("message") or words_of_page(text)
    kind = kind_of(status, error, detail)
    message = f"HTTP {status}: {detail}" if detail else f"HTTP {status}"
    setting = setting_named(error, detail)
    # Where the status blames the key and the message blames a field, the message is right: OpenAI
    # refuses log probabilities with status 403.
    by_words = status == 403 and setting not in PLAIN_WORDS and FORBIDS.search(detail)
    if setting and (kind == "bad_request" or by_words):
        kind, message = "bad_setting", f"Setting “{setting}” is refused. {message}"
    if status < 400:
        message += f" (moved to {headers.get('Location', '?')})"
    return Fault(kind, message, secrets, retry_after=retry_after(headers), status=status)


def error_object(text: str) -> dict[str, Any]:
    """Return the server's error as a flat dict whose ``message`` is a text.

    The dict is empty where the body is not a JSON object.
    """
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(payload, dict):
        return {}
    error = payload.get("error", payload)
    if not isinstance(error, dict):
        error = {"message": error}
    words = error.get("message", error.get("detail")) or ""
    return {
        **error,
        "message": words if isinstance(words, str) else json.dumps(words, ensure_ascii=False),
    }


def words_of_page(text: str) -> str:
    """Return what a body says that is not JSON: its title, or else its first words without tags."""
    title = re.search(r"<title[^>]{0,500}>([^<]{0,500})", text, re.I)
    return title[1].strip() if title else re.sub(r"<[^>]{0,500}>", " ", text[:1000]).strip()


def kind_of(status: int, error: Mapping[str, Any], detail: str) -> str:
    """Return the kind of fault. The error's code and message come before the HTTP status."""
    code = f"{error.get('code')} {error.get('type')}".lower()
    if "insufficient_quota" in code:
        return "quota"
    if status in (400, 413, 422, 500):
        if error.get("param") == "input_tokens" or OVERFLOW.search(f"{code} {detail}"):
            return "context_overflow"
        if "content_filter" in code or "content_policy" in code:
            return "content_filter"
        if "model_not_found" in code:
            return "not_found"
    return BY_STATUS.get(status) or ("server_error" if status >= 500 else "bad_request")


def setting_named(error: Mapping[str, Any], detail: str) -> str:
    """Return the judge's setting that a refusal names; empty where it names none.

    It is in ``param``, or else the first setting in the message.
    """
    if error.get("param") in SETTINGS:
        return str(error["param"])
    named = [name for name in SETTINGS if re.search(rf"(?<!\w){name}(?!\w)", detail)]
    return min(named, key=detail.index, default="")


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Return how long a server asks us to wait: 0 to LONGEST_WAIT seconds.

    The headers are ``retry-after-ms`` and ``Retry-After`` (seconds or an HTTP date). Return None
    where they are missing or cannot be parsed. The runner decides how long it really waits.
    ``now``: the time to count an HTTP date from, in seconds since 1970; None for the present.
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
