"""Read the body of a chat completion, as any server may send it, as a Reply or a Fault.

Only the few fields that are used are decoded; each may be missing, of another type, or of any size.
A paid answer is never dropped for a sign that cannot be kept, nor for odd counts beside it:
``note`` says what was left out.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from rubriclab.judges.faults import Fault, from_response
from rubriclab.model.ending import plain_finish
from rubriclab.model.judgment import Reply
from rubriclab.model.text import storable

T = TypeVar("T")
MAX_TEXT = 1_000_000
"""Signs of an answer's text, some 250,000 tokens. A judge that writes more is not judging."""
MAX_TOP = 500
"""Alternatives of a token that are kept."""
MAX_VALUES = 2_500_000
"""Values in an answer (an object counts as three): 16 MB of small objects would take hundreds of
MB.
"""
MAX_REPAIRED = 100_000
"""Strings and numbers of an answer that are looked through where it is no strict JSON: a second at
most.
"""
MAX_COUNT = 2**31 - 1
ABSENT = msgspec.Raw(b"null")
REPLACED = "signs that cannot be kept were replaced"
NO_NUMBERS = "numbers that are none were left out"
NO_LOGPROBS = "log-probabilities that are no numbers were left out"
SPOKEN = ("text", "output_text", "")
"""Types of the parts of a message that are its answer; all others are reasoning, or no words."""
GIVEN_UP = (
    "abort",
    "aborted",
    "cancelled",
    "error",
    "insufficient_system_resource",
    "network_error",
    "timeout",
)
"""How an answer ends whose server gave up on it: vLLM says abort when it is shut down. Asking again
can help.
"""
UNREADABLE = (ValueError, RecursionError)
"""What decoding raises, by whatever it finds."""
NOT_STRICT = re.compile(r'"(?:[^"\\]++|\\.)*+"?|-?(?:NaN|Infinity)', re.DOTALL)
"""Strings, which may hold halves of characters, and what Python's servers write for numbers that
are none.
"""


class Message(msgspec.Struct):
    content: Any = None
    refusal: Any = None
    tool_calls: Any = None
    reasoning: Any = None
    reasoning_content: Any = None
    function_call: Any = None


class Choice(msgspec.Struct):
    message: Message
    finish_reason: Any = None
    error: Any = None
    logprobs: msgspec.Raw = ABSENT


class Completion(msgspec.Struct):
    choices: list[Choice] | None = None
    model: Any = None
    usage: msgspec.Raw = ABSENT
    timings: msgspec.Raw = ABSENT
    error: Any = None


class Token(msgspec.Struct):
    token: str = ""
    top_logprobs: msgspec.Raw = ABSENT


class Logprobs(msgspec.Struct):
    content: list[Token] | None = None


class Alternative(msgspec.Struct):
    token: str
    logprob: float


COMPLETION = msgspec.json.Decoder(Completion)
LOGPROBS = msgspec.json.Decoder(Logprobs)
ALTERNATIVES = msgspec.json.Decoder(list[Alternative] | None)


def read_completion(
    body: bytes,
    headers: Mapping[str, str],
    *,
    seconds: float = 0.0,
    is_meant: Callable[[str], bool] | None = None,
    secrets: Iterable[str] = (),
) -> Reply:
    """The reply in ``body``. Raises the Fault that stands in its place.

    ``is_meant``: whether the name that the server answers with is the model that was asked for.
    Reasoning is never the answer; finish ``refusal`` marks a refusal in its own field, whose words
    are the text.
    """
    notes: list[str] = []
    completion = decoded(body, headers, secrets, notes)
    if not completion.choices:
        if completion.error is not None:
            raise from_response(200, headers, body, secrets)
        raise Fault("empty_choices", "The answer holds no choices")
    model = storable(completion.model)[:300] if isinstance(completion.model, str) else ""
    if model and is_meant is not None and not is_meant(model):
        raise Fault("wrong_model", f"The server answered as “{model}”", secrets)
    choice = completion.choices[0]
    if choice.error is not None:
        raise from_response(200, headers, msgspec.json.encode({"error": choice.error}), secrets)
    finish = storable(choice.finish_reason)[:40] if isinstance(choice.finish_reason, str) else ""
    if plain_finish(finish) in GIVEN_UP:  # the text is cut anywhere
        raise Fault("reset", f"The server gave up on the answer ({finish})")
    message = choice.message
    said = text_of(message.content) or arguments_of(message.tool_calls)
    said = said or arguments_of([{"function": message.function_call}])
    refusal = "" if said else text_of(message.refusal)
    text = storable(said or refusal)
    if len(text) > MAX_TEXT:
        raise Fault(
            "too_large", f"The answer's text has {len(text):,} signs; at most {MAX_TEXT:,} are read"
        )
    if text != (said or refusal):
        notes.append(REPLACED)
    tokens_in, tokens_out, cached = usage_of(completion, notes)
    top = top_of(choice.logprobs, text, notes)
    return Reply(
        text=text,
        finish="refusal" if refusal else finish or "stop",
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cached=cached,
        seconds=seconds,
        top=top,
        model=model or None,
        note="; ".join(dict.fromkeys(notes)),
        thought=bool(choice.message.reasoning or choice.message.reasoning_content),
    )


def decoded(
    body: bytes, headers: Mapping[str, str], secrets: Iterable[str], notes: list[str]
) -> Completion:
    """The body's fields. Raises Fault."""
    refuse_many(body)
    try:
        return leniently(COMPLETION, body, notes)
    except UNREADABLE as error:
        if isinstance(error, msgspec.ValidationError) and "choices" in str(error):
            raise Fault(
                "empty_choices", f"The answer holds no choices that can be read: {error}", secrets
            ) from error
        raise unreadable(body, headers, error, secrets) from error


def leniently(decoder: msgspec.json.Decoder[T], body: bytes, notes: list[str]) -> T:
    """What a decoder reads; what msgspec refuses for its encoding is made strict JSON first. Raises
    ValueError.
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        raise
    except ValueError:
        return decoder.decode(strict_json(body, notes))


def refuse_many(body: bytes) -> None:
    """Raises Fault for more values than are read, before any is."""
    if 3 * body.count(b"{") + body.count(b"[") + body.count(b",") > MAX_VALUES:
        raise Fault(
            "too_large", f"The answer holds more than {MAX_VALUES:,} values, the most that is read"
        )


def unreadable(
    body: bytes, headers: Mapping[str, str], error: Exception, secrets: Iterable[str]
) -> Fault:
    """The fault of an answer that is no JSON."""
    start = body[:300].decode("utf-8", "replace").lstrip()
    if start.startswith("<") or "text/html" in headers.get("Content-Type", "").lower():
        return Fault("html", f"HTML instead of JSON: {start[:120]}", secrets)
    return Fault("bad_json", f"Unreadable JSON of {len(body):,} bytes: {error}", secrets)


def strict_json(body: bytes, notes: list[str]) -> str:
    """JSON of any encoding with halves of characters replaced and null for NaN, and notes of it.
    Raises ValueError.
    """

    def strict(match: re.Match[str]) -> str:
        token = match[0]
        if not token.startswith('"'):
            notes.append(NO_NUMBERS)
            return "null"
        return json.dumps(storable(json.loads(token, strict=False))) if "\\u" in token else token

    text = body.decode(json.detect_encoding(body), "replace")
    kept = NOT_STRICT.sub(strict, text, count=MAX_REPAIRED)
    if "\ufffd" in text or "\\ufffd" in kept:
        notes.append(REPLACED)
    return kept


def text_of(content: Any) -> str:
    """Return the answer's text of a message, which some servers send as a list of parts, reasoning
    among them.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and part.get("type", "") in SPOKEN:
            text = part.get("text")
            texts.append(text if isinstance(text, str) else "")
        elif isinstance(part, dict) and part.get("type") == "tool_use":
            texts.append(json.dumps(part.get("input"), ensure_ascii=False))
    return "".join(texts)


def arguments_of(calls: Any) -> str:
    """What the first tool is called with, as text: some servers send the arguments as an object."""
    first = calls[0] if isinstance(calls, list) and calls else None
    function = first.get("function") if isinstance(first, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return (
        json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, dict | list)
        else text_of(arguments)
    )


def usage_of(completion: Completion, notes: list[str]) -> list[int | None]:
    """Prompt, completion and cached prompt tokens; None where the server is silent or the count is
    none.
    """
    try:
        usage, timings = (
            msgspec.json.decode(completion.usage),
            msgspec.json.decode(completion.timings),
        )
    except UNREADABLE:
        notes.append(NO_NUMBERS)
        return [None, None, None]
    if not isinstance(usage, dict):
        return [None, None, None]
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    if cached is None and isinstance(timings, dict):
        cached = timings.get("cache_n")
    given = [usage.get("prompt_tokens"), usage.get("completion_tokens"), cached]
    counts = [count if type(count) is int and 0 <= count <= MAX_COUNT else None for count in given]
    if counts != given:
        notes.append(NO_NUMBERS)
    return counts


# ---------------------------------------------------------------- token probabilities
def top_of(raw: msgspec.Raw, text: str, notes: list[str]) -> tuple[tuple[str, float], ...]:
    """(token, log-probability) at the first token of the answer proper; empty where there are none
    to be used.

    Reasoning, leading white space and everything up to a ``[RESULT]`` mark are passed over.
    """
    if raw == ABSENT:
        return ()
    try:
        content = LOGPROBS.decode(raw).content
        if not content:
            return ()
        entry = content[first_answer_token([token.token for token in content], text)]
        listed = ALTERNATIVES.decode(entry.top_logprobs) or []
        if any(not math.isfinite(token.logprob) or token.logprob > 1e-6 for token in listed):
            raise ValueError("no logarithm of a probability")
    except UNREADABLE:
        notes.append(NO_LOGPROBS)
        return ()
    return tuple((storable(token.token), min(token.logprob, 0.0)) for token in listed[:MAX_TOP])


def first_answer_token(tokens: Sequence[str], text: str) -> int:
    """Index of the first token of the answer proper.

    Tokens cover the reasoning too, which ``text`` may or may not hold; both agree at the end, so it
    is searched for from there.
    """
    if len(tokens) == 1:
        return 0
    answer = text.rpartition("</think>")[2].rpartition("[RESULT]")[2].strip()
    start = "".join(tokens).rfind(answer) if answer else -1
    if start < 0:
        # Characters split over tokens do not join up again: go by the end of the reasoning.
        after = max(
            (index + 1 for index, token in enumerate(tokens) if "</think>" in token), default=0
        )
        return next((index for index in range(after, len(tokens)) if tokens[index].strip()), 0)
    end = 0
    for index, token in enumerate(tokens):
        end += len(token)
        if end > start:
            return index
    return 0
