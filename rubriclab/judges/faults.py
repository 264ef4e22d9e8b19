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
"""Signs of a message that are kept: a run can have millions of rows."""
LONGEST_WAIT = 1e9
"""Seconds, some 30 years: a server that asks for more is read as asking for this."""
RETRYABLE, FATAL, FINAL = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text("utf-8")
).values()
"""Kinds of faults, and what a user should do: see the file."""
FAULTS: dict[str, str] = RETRYABLE | FATAL | FINAL


class Fault(Exception):
    """One fault of one call: a kind of FAULTS, and what happened on one line of at most MAX_MESSAGE
    signs, without keys.

    ``secrets``: the judge's own; ``retry_after``: seconds for which the server asked to be left
    alone; ``status``: of the HTTP answer that it was, 0 for none.
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
        """The fault as what came back from a call."""
        return Reply(
            finish="error",
            seconds=seconds,
            error=self.message,
            kind=self.kind,
            retryable=self.kind in RETRYABLE,
            retry_after=self.retry_after,
        )


def advised(message: str, kind: str) -> str:
    """A fault's message, and what a user should do about it."""
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
OVERFLOW = re.compile(
    r"context (length|size|window)|maximum context|too many tokens|too large to process|prompt is "
    r"too long"
    r"|reduce the length|context_length_exceeded|exceed_context_size",
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
    "grammar",
)
"""Fields of a request that come from the judge's settings: a refusal that names one is mended
there.
"""


PLAIN_WORDS = ("temperature", "seed", "grammar")
"""Settings whose names also stand in messages that are about something else, as the name of a
model.
"""
REFUSING = frozenset({400, 403, 404, 405, 415, 422, 500, 501})
"""Statuses with which servers refuse a field or a number of a request; 401 is a wrong key, whatever
it says.
"""
REFUSES = re.compile(
    r"unsupported|not (?:be "
    r")?(?:supported|allowed|enabled|permitted|available|accepted)|unknown|unrecogni[sz]ed"
    r"|\bextra|invalid|cannot find|does(?: not|n't) support|not supporting|no "
    r"field|\bmust\b|\bonly\b|\bunexpected",
    re.I,
)
"""Words of a refusal that is about what was sent, not about who sends it."""
FORBIDS = re.compile(
    r"unsupported|not (?:allowed|permitted|enabled|available|supported)|does not support", re.I
)
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
"""What to do where a server refuses a setting that changes the answer, so that the lab does not
leave it out by itself.
"""


def from_response(
    status: int, headers: Mapping[str, str], body: bytes, secrets: Iterable[str] = ()
) -> Fault:
    """The fault behind an HTTP answer that is no completion; one of status 200 may wrap a failure
    and its status.

    Knows the error forms of OpenAI (``error.code``), vLLM (``error.param``), llama.cpp
    (``error.type``), Ollama (``error`` as text) and FastAPI (``detail``).
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
    # A status that says “key” and words that say “field”: the words are right (OpenAI refuses
    # log-probabilities by 403).
    by_words = status == 403 and setting not in PLAIN_WORDS and FORBIDS.search(detail)
    if setting and (kind == "bad_request" or by_words):
        kind, message = "bad_setting", f"Setting “{setting}” is refused. {message}"
    if status < 400:
        message += f" (moved to {headers.get('Location', '?')})"
    return Fault(kind, message, secrets, retry_after=retry_after(headers), status=status)


def error_object(text: str) -> dict[str, Any]:
    """The server's error as one flat dict with its words as ``message``; empty where the body is no
    JSON object.
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
    """What a body that is no JSON says: a page's title, else its first words without tags."""
    title = re.search(r"<title[^>]{0,500}>([^<]{0,500})", text, re.I)
    return title[1].strip() if title else re.sub(r"<[^>]{0,500}>", " ", text[:1000]).strip()


def kind_of(status: int, error: Mapping[str, Any], detail: str) -> str:
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
    """The setting of the judge that a refusal names: in ``param``, else as a word of its message;
    else empty.
    """
    if error.get("param") in SETTINGS:
        return str(error["param"])
    named = [name for name in SETTINGS if re.search(rf"(?<!\w){name}(?!\w)", detail)]
    return min(named, key=detail.index, default="")


def retry_after(headers: Mapping[str, str], *, now: float | None = None) -> float | None:
    """Seconds to wait, from ``retry-after-ms`` or ``Retry-After`` (seconds or an HTTP date), 0 to
    LONGEST_WAIT.

    None where the header is missing or unreadable. How long is really waited is the runner's to
    decide.
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
