"""A chat completion, as somebody else's server sent it, read into a Reply.

Every field is looked at before it is used: it may be missing, of another type, or of any size.
Values pass on as they came where only the store's columns care (``storable`` says what it
changed); what is no answer at all becomes a fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from rubriclab.judges.bounded import TooLarge, load_json
from rubriclab.judges.faults import Fault, fault, from_response, redact
from rubriclab.model import Reply
from rubriclab.model.answers import Spot, answer_spot
from rubriclab.model.prompt import Reading
from rubriclab.model.storable import storable_logprob, storable_reply

MAX_TEXT = 1_000_000
"""Characters of an answer's text: some 250,000 tokens. A judge that writes more is not judging,
and 2,000 such answers would be gigabytes to parse and to keep."""


def parsed(content: bytes, headers: Mapping[str, str], secrets: Sequence[str] = ()) -> dict[str, Any] | Fault:
    """A 200's body as a dict with ``choices``, or the fault it really is."""
    try:
        payload = load_json(content)
    except TooLarge as error:
        return fault("too_large", str(error))
    except ValueError as error:
        start = content[:200].decode("utf-8", "replace").lstrip()
        if start.startswith("<") or "text/html" in headers.get("Content-Type", ""):
            return fault("html", f"HTML instead of JSON: {redact(start[:120], secrets)}")
        return fault("bad_json", f"Unreadable JSON of {len(content)} bytes: {error}")
    if not isinstance(payload, dict):
        return fault("bad_json", f"JSON, but no object: {type(payload).__name__}")
    if payload.get("error") and not payload.get("choices"):
        # Some gateways wrap the failure of a server behind them in a 200.
        inner = payload["error"]
        code = inner.get("code") if isinstance(inner, dict) else None
        status = code if isinstance(code, int) and 400 <= code < 600 else 500
        return from_response(status, headers, content, secrets=secrets)
    return payload


def read_completion(
    payload: Mapping[str, Any],
    *,
    want_probabilities: bool = False,
    latency: float = 0.0,
    expected: Callable[[str], bool] | None = None,
    reading: Reading | None = None,
) -> Reply:
    """A chat completion as a Reply; a fault where it holds no answer.

    ``reading``: of a user's own prompt; the probabilities are those where its answer stands.
    ``expected``: a predicate on the served model's name; another model's answer is a fault.
    Finish ``refusal`` marks a refusal in its own field, its words being the text. ``kind`` is
    set on an answer without ``error`` in two cases: ``content_filter``, and ``nan_logprobs``
    where the log-probabilities were no numbers and are left out. ``note`` says what of the
    answer the store could not have kept as it was.
    """
    model = _model_of(payload)
    choice = _choice_of(payload, model, expected)
    if isinstance(choice, Fault):
        return storable_reply(choice.reply(latency=latency, model=model))
    text, finish = _answer_of(choice)
    if len(text) > MAX_TEXT:
        return storable_reply(too_long(text).reply(latency=latency, model=model))
    kind = "content_filter" if finish == "content_filter" else None
    top: tuple[tuple[str, float], ...] = ()
    if want_probabilities:
        top, usable = top_tokens(choice.get("logprobs"), text, reading)
        kind = kind if usable else "nan_logprobs"
    return storable_reply(Reply(text, finish, *_usage(payload), latency, top, model, kind=kind))


def too_long(text: str) -> Fault:
    """The fault of an answer with more than MAX_TEXT characters."""
    return fault("too_large", f"The answer's text has {len(text):,} characters; at most {MAX_TEXT:,} are read")


def _choice_of(
    payload: Mapping[str, Any], model: str | None, expected: Callable[[str], bool] | None
) -> dict[str, Any] | Fault:
    """The first choice, with a message in it, or why there is no answer to read."""
    if model and expected is not None and not expected(model):
        return fault("wrong_model", f"The server answered as “{model}”")
    choices = payload.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        return fault("empty_choices", "The answer holds no choices")
    finish = choice.get("finish_reason")
    if finish in ("abort", "error"):
        # vLLM answers so when it is shut down in the middle: the text is cut anywhere.
        return fault("reset", f"The server gave up on the answer ({finish})")
    return choice


def _model_of(payload: Mapping[str, Any]) -> str | None:
    served = payload.get("model")
    return served if isinstance(served, str) and served else None


def _answer_of(choice: Mapping[str, Any]) -> tuple[str, str]:
    """The text and how it ended; a refusal's words where there is nothing else."""
    message = choice["message"]
    text = _text_of(message.get("content")) or _arguments_of(message.get("tool_calls"))
    refusal = _text_of(message.get("refusal"))
    if refusal and not text:
        return refusal, "refusal"
    return text, _word(choice.get("finish_reason")) or "stop"


def _text_of(content: Any) -> str:
    """The answer's text, which some servers send as a list of parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_word(part.get("text")) for part in content if isinstance(part, dict))
    return ""


def _arguments_of(calls: Any) -> str:
    """What the first tool is called with: the answer of a judge that was asked for such a call."""
    first = calls[0] if isinstance(calls, list) and calls else None
    function = first.get("function") if isinstance(first, dict) else None
    return _text_of(function.get("arguments")) if isinstance(function, dict) else ""


def _word(value: Any) -> str:
    """Text as it is, a number in digits, nothing for what is neither."""
    return str(value) if isinstance(value, str | int | float) else ""


def _usage(payload: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Prompt, completion and cached prompt tokens as they came; None where the server is silent."""
    usage = payload.get("usage")
    if not isinstance(usage, dict):
        return None, None, None
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, dict) else None
    if cached is None:
        timings = payload.get("timings")
        cached = usage.get("prompt_cache_hit_tokens")
        if cached is None and isinstance(timings, dict):
            cached = timings.get("cache_n")
    return (_number(usage.get("prompt_tokens")), _number(usage.get("completion_tokens")), _number(cached))


def _number(value: Any) -> Any:
    """A value that should be a count; for a list or an object the name of its type."""
    return value if value is None or isinstance(value, str | int | float) else type(value).__name__


def top_tokens(logprobs: Any, text: str, reading: Reading | None = None) -> tuple[tuple[tuple[str, float], ...], bool]:
    """The (token, log-probability) pairs at the first answer token, and whether they are usable.

    Reasoning and leading white space are passed over, and so is everything up to a
    ``[RESULT]`` mark. With ``reading`` it is the token where its answer begins, and what the token
    holds beside the answer (the quote in “"4”) is taken off its alternatives. (), True where the server sent none; (), False where one is NaN, or no
    logarithm of a probability.
    """
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list) or not content:
        return (), True
    place = TokenPlace(_first_answer_token(content, text)) if reading is None else _answer_token(content, text, reading)
    if place is None:
        return (), True
    return alternatives(content, place)


def alternatives(content: Sequence[Any], place: TokenPlace) -> tuple[tuple[tuple[str, float], ...], bool]:
    """The (token, log-probability) pairs at a place, without what stands in it beside the answer, and whether they
    are usable."""
    entry = content[place.token]
    listed = entry.get("top_logprobs") if isinstance(entry, dict) else None
    pairs: list[tuple[str, float]] = []
    for alternative in listed if isinstance(listed, list) else ():
        if not isinstance(alternative, dict):
            continue
        value = storable_logprob(alternative.get("logprob"))
        if value is None:
            return (), False
        token = _word(alternative.get("token"))
        pairs.append((token.removeprefix(place.before).removesuffix(place.after), value))
    return tuple(pairs), True


class TokenPlace(NamedTuple):
    """A token by its index, and what stands in it before and after the answer."""

    token: int
    before: str = ""
    after: str = ""


def _answer_token(content: Sequence[Any], text: str, reading: Reading) -> TokenPlace | None:
    """Where the answer begins; None where there is none, or its tokens cannot be told."""
    spot = answer_spot(text, reading)
    if not isinstance(spot, Spot):
        # Of a reply that should have been the label alone, the first word tells what it would have been.
        alone = text.strip() and reading.rule.read == "label" and text.strip() in "".join(_tokens(content))
        return TokenPlace(_first_answer_token(content, text)) if alone else None
    return token_of(content, text, spot.start, spot.end)


def token_of(content: Sequence[Any], text: str, start: int, end: int) -> TokenPlace | None:
    """The token in which text[start:end] begins; None where it cannot be told."""
    # Tokens cover the reasoning too, which ``text`` may or may not hold: both agree at the end.
    tokens = _tokens(content)
    joined = "".join(tokens)
    begin = joined.rfind(text.strip()) if text.strip() else -1
    if begin < 0:
        return None
    shift = begin - (len(text) - len(text.lstrip()))
    first, stop, at = start + shift, end + shift, 0
    for index, token in enumerate(tokens):
        begun, at = at, at + len(token)
        if at > first:
            after = joined[stop:at] if stop < at else ""
            return TokenPlace(index, joined[begun:first], after)
    return None


def _tokens(content: Sequence[Any]) -> list[str]:
    return [_word(entry.get("token")) if isinstance(entry, dict) else "" for entry in content]


def _first_answer_token(content: Sequence[Any], text: str) -> int:
    """Index of the first token of the answer proper: after reasoning, mark and white space.

    Tokens cover the reasoning too, which ``text`` may or may not hold; the answer is found
    from the end, where both agree.
    """
    if len(content) == 1:
        return 0
    tokens = _tokens(content)
    answer = text.rpartition("</think>")[2].rpartition("[RESULT]")[2].strip()
    start = "".join(tokens).rfind(answer) if answer else -1
    if start < 0:
        # Characters split over tokens do not join up again: go by the end of the reasoning.
        after = max((i + 1 for i, token in enumerate(tokens) if "</think>" in token), default=0)
        return next((i for i in range(after, len(tokens)) if tokens[i].strip()), 0)
    end = 0
    for index, token in enumerate(tokens):
        end += len(token)
        if end > start:
            return index
    return 0
