"""Read the body of a chat completion, as any server may send it, as a Reply or a Fault.

Only the few fields that are used are decoded. Each may be missing, of another type, or of any size.
A paid reply is never dropped because of a character that cannot be kept or a count that makes no
sense; ``note`` says what was left out.
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
"""Limit of a reply's text in characters, about 250,000 tokens. A judge that writes more is not
judging."""
MAX_TOP = 500
"""How many alternatives of a token are kept; servers give 20, the small model 200."""
MAX_VALUES = 2_500_000
"""Limit of the values in a body (an object counts as three). Decoded, 16 MB of small objects would
take hundreds of MB of memory."""
MAX_REPAIRED = 100_000
"""How many strings and numbers are repaired in a body that is not strict JSON. More would take
longer than a second."""
MAX_VOCABULARY = 300_000
"""How many tokens a model may know; the largest vocabularies have 262,144."""
ROUNDED = 0.02
"""By how much the probabilities of a complete list may miss 1, because servers round logarithms."""
MAX_COUNT = 2**31 - 1
"""The largest count of tokens that the store's columns hold."""
ABSENT = msgspec.Raw(b"null")
REPLACED = "characters that cannot be kept were replaced"
NO_NUMBERS = "invalid numbers were left out"
NO_LOGPROBS = "invalid log-probabilities were left out"
SPOKEN = ("text", "output_text", "")
"""Types of the parts of a message that are the reply. Others hold reasoning, or no text."""
GIVEN_UP = (
    "abort",
    "aborted",
    "cancelled",
    "error",
    "insufficient_system_resource",
    "network_error",
    "timeout",
)
"""Finish reasons of a server that gave up, for example vLLM's “abort” when it is shut down. Asking
again can help."""
UNREADABLE = (ValueError, RecursionError)
"""What decoding can raise; deeply nested brackets exhaust the stack."""
NOT_STRICT = re.compile(r'"(?:[^"\\]++|\\.)*+"?|-?(?:NaN|Infinity)', re.DOTALL)
"""Strings, which may hold half of a surrogate pair, and the NaN and Infinity of Python servers."""


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
    """Return the reply in ``body``. Raises a Fault if there is none.

    ``is_meant`` says whether a model's name, as the server gives it, is the one that was asked for.
    Reasoning never counts as the reply. If the judge refused in the field for refusals, those words
    are the text and the finish is “refusal”.
    """
    notes: list[str] = []
    completion = decoded(body, headers, secrets, notes)
    if not completion.choices:
        if completion.error is not None:
            raise from_response(200, headers, body, secrets)
        raise Fault("empty_choices", "The answer holds no choices")
    model = name_of(completion.model, 300)
    if model and is_meant is not None and not is_meant(model):
        raise Fault("wrong_model", f"The server answered as “{model}”", secrets)
    choice = completion.choices[0]
    if choice.error is not None:
        raise from_response(200, headers, msgspec.json.encode({"error": choice.error}), secrets)
    finish = name_of(choice.finish_reason, 40)
    if plain_finish(finish) in GIVEN_UP:  # the text may end anywhere, even inside a number
        raise Fault("reset", f"The server gave up on the answer ({finish})")
    said, refusal = words_of(choice.message)
    text = storable(said or refusal)
    if len(text) > MAX_TEXT:
        raise Fault(
            "too_large",
            f"The answer's text has {len(text):,} characters; the limit is {MAX_TEXT:,}",
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


def name_of(value: Any, longest: int) -> str:
    """Return a name that a server gives, as the store can hold it; empty if it is not a text."""
    if not isinstance(value, str):
        return ""
    return storable(value)[:longest]


def words_of(message: Message) -> tuple[str, str]:
    """Return what the judge said and its refusal; one of the two is empty.

    Some servers deliver a reply under a schema as the arguments of a tool.
    """
    said = (
        text_of(message.content)
        or arguments_of(message.tool_calls)
        or arguments_of([{"function": message.function_call}])
    )
    if said:
        return said, ""
    return "", text_of(message.refusal)


def decoded(
    body: bytes, headers: Mapping[str, str], secrets: Iterable[str], notes: list[str]
) -> Completion:
    """Return the fields of a body. Raises Fault."""
    refuse_many(body)
    try:
        return leniently(COMPLETION, body, notes)
    except UNREADABLE as error:
        if isinstance(error, msgspec.ValidationError) and "choices" in str(error):
            raise Fault(
                "empty_choices", f"The answer holds no readable choices: {error}", secrets
            ) from error
        raise unreadable(body, headers, error, secrets) from error


def leniently(decoder: msgspec.json.Decoder[T], body: bytes, notes: list[str]) -> T:
    """Return what a decoder reads, after repairing a body that is not strict JSON.

    Raises ValueError where that does not help.
    """
    try:
        return decoder.decode(body)
    except msgspec.ValidationError:
        raise
    except ValueError:
        return decoder.decode(strict_json(body, notes))


def refuse_many(body: bytes) -> None:
    """Raise Fault for a body with too many values, before decoding takes the memory for them."""
    if 3 * body.count(b"{") + body.count(b"[") + body.count(b",") > MAX_VALUES:
        raise Fault("too_large", f"The answer holds too many values; the limit is {MAX_VALUES:,}")


def unreadable(
    body: bytes, headers: Mapping[str, str], error: Exception, secrets: Iterable[str]
) -> Fault:
    """Return the fault of a body that is not JSON."""
    start = body[:300].decode("utf-8", "replace").lstrip()
    if start.startswith("<") or "text/html" in headers.get("Content-Type", "").lower():
        return Fault("html", f"HTML instead of JSON: {start[:120]}", secrets)
    return Fault("bad_json", f"Unreadable JSON of {len(body):,} bytes: {error}", secrets)


def strict_json(body: bytes, notes: list[str]) -> str:
    """Return JSON of any encoding as strict JSON, and add notes of what was changed.

    Halves of surrogate pairs are replaced, and NaN and Infinity become null. Raises ValueError.
    """

    def strict(match: re.Match[str]) -> str:
        token = match[0]
        if not token.startswith('"'):
            notes.append(NO_NUMBERS)
            return "null"
        if "\\u" not in token:
            return token
        return json.dumps(storable(json.loads(token, strict=False)))

    text = body.decode(json.detect_encoding(body), "replace")
    kept = NOT_STRICT.sub(strict, text, count=MAX_REPAIRED)
    if "\ufffd" in text or "\\ufffd" in kept:
        notes.append(REPLACED)
    return kept


def text_of(content: Any) -> str:
    """Return the text of a message; some servers send it as a list of parts with the reasoning."""
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
    """Return the arguments of the first tool call as text; some servers send them as an object."""
    first = calls[0] if isinstance(calls, list) and calls else None
    function = first.get("function") if isinstance(first, dict) else None
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if isinstance(arguments, dict | list):
        return json.dumps(arguments, ensure_ascii=False)
    return text_of(arguments)


def usage_of(completion: Completion, notes: list[str]) -> list[int | None]:
    """Return the tokens of the prompt, the reply and the cached prompt; None for each unknown."""
    try:
        usage = msgspec.json.decode(completion.usage)
        timings = msgspec.json.decode(completion.timings)
    except UNREADABLE:
        notes.append(NO_NUMBERS)
        return [None, None, None]
    if not isinstance(usage, dict):
        return [None, None, None]
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    if cached is None and isinstance(timings, dict):  # llama.cpp
        cached = timings.get("cache_n")
    given = [usage.get("prompt_tokens"), usage.get("completion_tokens"), cached]
    counts = [count if type(count) is int and 0 <= count <= MAX_COUNT else None for count in given]
    if counts != given:
        notes.append(NO_NUMBERS)
    return counts


# ---------------------------------------------------------------- token probabilities
def top_of(raw: msgspec.Raw, text: str, notes: list[str]) -> tuple[tuple[str, float], ...]:
    """Return (token, log-probability) of each alternative to the first token of the reply proper.

    Reasoning, leading white space and everything up to a ``[RESULT]`` mark are skipped. Empty if
    the server gives none, or none that can be used.
    """
    if raw == ABSENT:
        return ()
    try:
        content = LOGPROBS.decode(raw).content
        if not content:
            return ()
        entry = content[first_answer_token([token.token for token in content], text)]
        listed = ALTERNATIVES.decode(entry.top_logprobs) or []
        # A logarithm of a probability is at most 0; servers round it.
        if any(not math.isfinite(token.logprob) or token.logprob > 1e-6 for token in listed):
            raise ValueError("not the logarithm of a probability")
        if not may_be_the_most_probable([token.logprob for token in listed]):
            raise ValueError("not the most probable tokens")
    except UNREADABLE:
        notes.append(NO_LOGPROBS)
        return ()
    return tuple((storable(token.token), min(token.logprob, 0.0)) for token in listed[:MAX_TOP])


def may_be_the_most_probable(logprobs: Sequence[float]) -> bool:
    """Return whether no unlisted token needs to be more probable than the least probable listed.

    All probabilities add up to 1. So what the listed tokens lack must fit on the others, each with
    at most the smallest listed probability. It does not fit when a server fills its list with
    arbitrary tokens: vLLM 0.32 does so for calls that share a batch with a typed question, and the
    labels' probabilities would silently be 0.
    """
    if not logprobs:
        return True
    probabilities = [math.exp(logprob) for logprob in logprobs]
    lacking = 1.0 - sum(probabilities)
    return lacking <= ROUNDED + MAX_VOCABULARY * min(probabilities)


def first_answer_token(tokens: Sequence[str], text: str) -> int:
    """Return the index of the first token of the reply proper.

    The tokens include the reasoning, which ``text`` may or may not include. Both agree at the end,
    so the reply is searched for from there.
    """
    if len(tokens) == 1:
        return 0
    answer = text.rpartition("</think>")[2].rpartition("[RESULT]")[2].strip()
    start = "".join(tokens).rfind(answer) if answer else -1
    if start < 0:
        # A character that is split over tokens cannot be joined from their texts. Take the first
        # token with text after the reasoning.
        after = 0
        for index, token in enumerate(tokens):
            if "</think>" in token:
                after = index + 1
        for index in range(after, len(tokens)):
            if tokens[index].strip():
                return index
        return 0
    end = 0
    for index, token in enumerate(tokens):
        end += len(token)
        if end > start:
            return index
    return 0
