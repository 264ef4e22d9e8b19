"""The body of a chat completion in, as somebody else's server sent it; a Reply or the Fault that it really is out.

Only the few fields that are used are decoded; each may be missing, of another type, or of any size. A paid answer is
never dropped for a sign that cannot be kept, nor for odd counts beside it: ``note`` says what was left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rubriclab.judges.faults import Fault, error_object, fault, from_response
from rubriclab.judges.keys import mask
from rubriclab.model.judgment import Reply
from rubriclab.model.text import storable

MAX_TEXT = 1_000_000
"""Signs of an answer's text, some 250,000 tokens. A judge that writes more is not judging."""
MAX_TOP = 500
"""Alternatives of a token that are kept."""
MAX_VALUES = 2_500_000
"""Values in an answer (an object counts as three): 16 MB of small objects would take hundreds of MB."""
MAX_VALUES_AS_OBJECTS = 200_000
"""The same where ``json`` has to read it, which makes an object of every one of them."""
MAX_COUNT = 2**31 - 1
ABSENT = msgspec.Raw(b"null")
REPLACED = "signs that cannot be kept were replaced"
NO_NUMBERS = "numbers that are none were left out"
NO_LOGPROBS = "log-probabilities that are no numbers were left out"
UNREADABLE = (ValueError, RecursionError, msgspec.DecodeError)
"""What decoding raises, by whatever it finds."""


class Message(msgspec.Struct):
    content: msgspec.Raw = ABSENT
    refusal: msgspec.Raw = ABSENT
    tool_calls: msgspec.Raw = ABSENT


class Choice(msgspec.Struct):
    message: Message
    finish_reason: msgspec.Raw = ABSENT
    logprobs: msgspec.Raw = ABSENT


class Completion(msgspec.Struct):
    choices: list[Choice] | None = None
    model: msgspec.Raw = ABSENT
    usage: msgspec.Raw = ABSENT
    timings: msgspec.Raw = ABSENT
    error: msgspec.Raw = ABSENT


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
ALTERNATIVES = msgspec.json.Decoder(list[Alternative])


def read_completion(
    body: bytes,
    headers: Mapping[str, str],
    *,
    seconds: float = 0.0,
    is_meant: Callable[[str], bool] | None = None,
    secrets: Iterable[str] = (),
) -> Reply | Fault:
    """The reply in ``body``, or the fault that stands in its place.

    ``is_meant``: whether the name that the server answers with is the model that was asked for. Reasoning is never the
    answer; finish ``refusal`` marks a refusal in its own field, whose words are the text.
    """
    notes: list[str] = []
    completion = decoded(body, headers, secrets, notes)
    if isinstance(completion, Fault):
        return completion
    model = value_of(completion.model, notes)
    model = model[:300] if isinstance(model, str) and model else None
    if not completion.choices:
        if completion.error != ABSENT:
            return from_response(status_within(body), headers, body, secrets=secrets)
        return fault("empty_choices", "The answer holds no choices")
    if model and is_meant is not None and not is_meant(model):
        return fault("wrong_model", f"The server answered as “{mask(model, secrets)}”")
    choice = completion.choices[0]
    finish = value_of(choice.finish_reason, notes)
    if finish in ("abort", "error"):
        # vLLM answers so when it is shut down in the middle: the text is cut anywhere.
        return fault("reset", f"The server gave up on the answer ({finish})")
    text, refused = answer_of(choice.message, notes)
    if len(text) > MAX_TEXT:
        return fault("too_large", f"The answer's text has {len(text):,} signs; at most {MAX_TEXT:,} are read")
    counts = usage_of(completion, notes)
    return Reply(
        text=text,
        finish="refusal" if refused else finish[:40] if isinstance(finish, str) and finish else "stop",
        tokens_in=counts[0],
        tokens_out=counts[1],
        cached=counts[2],
        seconds=seconds,
        top=top_of(choice.logprobs, text, notes),
        model=model,
        note="; ".join(dict.fromkeys(notes)),
    )


def decoded(body: bytes, headers: Mapping[str, str], secrets: Iterable[str], notes: list[str]) -> Completion | Fault:
    """The body's fields. What msgspec refuses for its encoding is read once more by ``json``, within bounds."""
    values = 3 * body.count(b"{") + body.count(b"[") + body.count(b",")
    if values > MAX_VALUES:
        return fault("too_large", f"The answer holds more than {MAX_VALUES:,} values, the most that is read")
    try:
        return COMPLETION.decode(body)
    except (msgspec.ValidationError, RecursionError) as error:
        reason: Exception = error
    except msgspec.DecodeError as error:
        reason = error
        if values > MAX_VALUES_AS_OBJECTS:
            return fault("bad_json", f"Unreadable JSON of {len(body):,} bytes: {mask(str(reason), secrets)}")

        def left_out(_: str) -> None:
            notes.append(NO_NUMBERS)

        try:  # a byte order mark, UTF-16, NaN where a number should be
            text = json.dumps(json.loads(body, parse_constant=left_out), ensure_ascii=False)
            kept = storable(text)
            if kept != text:
                notes.append(REPLACED)
            return COMPLETION.decode(kept.encode())
        except UNREADABLE as second:
            reason = second
    start = body[:300].decode("utf-8", "replace").lstrip()
    if start.startswith("<") or "text/html" in headers.get("Content-Type", "").lower():
        return fault("html", f"HTML instead of JSON: {mask(start[:120], secrets)}")
    if isinstance(reason, msgspec.ValidationError) and "choices" in str(reason):
        return fault("empty_choices", f"The answer holds no choices that can be read: {mask(str(reason), secrets)}")
    return fault("bad_json", f"Unreadable JSON of {len(body):,} bytes: {mask(str(reason), secrets)}")


def status_within(body: bytes) -> int:
    """The status of a failure that a gateway wrapped in a 200."""
    code = error_object(body[:20_000].decode("utf-8", "replace")).get("code")
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def value_of(raw: msgspec.Raw, notes: list[str]) -> Any:
    """The value of one field; halves of characters become U+FFFD and NUL goes, with a note."""
    try:
        value = msgspec.json.decode(raw)
    except UNREADABLE:
        try:
            value = json.loads(bytes(raw).decode("utf-8", "replace"))
            notes.append(REPLACED)
        except UNREADABLE:
            return None
    if not isinstance(value, str):
        return value
    kept = storable(value)
    if kept != value:
        notes.append(REPLACED)
    return kept


def answer_of(message: Message, notes: list[str]) -> tuple[str, bool]:
    """The answer's words, and whether they are a refusal."""
    text = text_of(value_of(message.content, notes)) or arguments_of(value_of(message.tool_calls, notes))
    refusal = text_of(value_of(message.refusal, notes))
    return (refusal, True) if refusal and not text else (storable(text), False)


def text_of(content: Any) -> str:
    """The text of a message, which some servers send as a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def arguments_of(calls: Any) -> str:
    """What the first tool is called with, as text: some servers send the arguments as an object."""
    first = calls[0] if isinstance(calls, list) and calls else None
    function = first.get("function") if isinstance(first, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    return json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict | list) else text_of(arguments)


def usage_of(completion: Completion, notes: list[str]) -> tuple[int | None, int | None, int | None]:
    """Prompt, completion and cached prompt tokens; None where the server is silent or the count is none."""
    usage = value_of(completion.usage, notes)
    if not isinstance(usage, dict):
        return None, None, None
    details = usage.get("prompt_tokens_details")
    timings = value_of(completion.timings, notes)
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    if cached is None and isinstance(timings, dict):
        cached = timings.get("cache_n")
    values = (usage.get("prompt_tokens"), usage.get("completion_tokens"), cached)
    counts = tuple(v if type(v) is int and 0 <= v <= MAX_COUNT else None for v in values)
    if counts != values:
        notes.append(NO_NUMBERS)
    return counts[0], counts[1], counts[2]


# ---------------------------------------------------------------- token probabilities


def top_of(raw: msgspec.Raw, text: str, notes: list[str]) -> tuple[tuple[str, float], ...]:
    """(token, log-probability) at the first token of the answer proper; empty where there are none to be used.

    Reasoning, leading white space and everything up to a ``[RESULT]`` mark are passed over.
    """
    if raw == ABSENT:
        return ()
    try:
        content = LOGPROBS.decode(raw).content
        if not content:
            return ()
        entry = content[first_answer_token([token.token for token in content], text)]
        listed = ALTERNATIVES.decode(entry.top_logprobs) if entry.top_logprobs != ABSENT else []
    except UNREADABLE:
        notes.append(NO_LOGPROBS)
        return ()
    if any(not math.isfinite(token.logprob) or token.logprob > 1e-6 for token in listed):
        notes.append(NO_LOGPROBS)
        return ()
    return tuple((storable(token.token), min(token.logprob, 0.0)) for token in listed[:MAX_TOP])


def first_answer_token(tokens: Sequence[str], text: str) -> int:
    """Index of the first token of the answer proper.

    Tokens cover the reasoning too, which ``text`` may or may not hold; both agree at the end, so it is searched for
    from there.
    """
    if len(tokens) == 1:
        return 0
    answer = text.rpartition("</think>")[2].rpartition("[RESULT]")[2].strip()
    start = "".join(tokens).rfind(answer) if answer else -1
    if start < 0:
        # Characters split over tokens do not join up again: go by the end of the reasoning.
        after = max((index + 1 for index, token in enumerate(tokens) if "</think>" in token), default=0)
        return next((index for index in range(after, len(tokens)) if tokens[index].strip()), 0)
    end = 0
    for index, token in enumerate(tokens):
        end += len(token)
        if end > start:
            return index
    return 0
