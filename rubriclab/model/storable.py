"""Values that somebody else's server or file sent, made into values that the store can keep.

A reply is data from outside: a text cut in the middle of an emoji holds half a character that no
UTF-8 can write, a token count can be ``true`` or 2**40. Each is made storable once, where it
enters (the client, an archive, a reader), and what was changed is said in the reply's ``note``;
everything behind that place may rely on it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from rubriclab.model.judgments import Reply

MAX_COUNT = 2**31 - 1
"""The largest count the store's 32-bit columns hold."""
NO_PROBABILITY = -9999.0
"""Log-probability for a token that cannot happen; what vLLM writes for minus infinity."""
MAX_ALTERNATIVES = 1_000
"""Alternatives kept at one token; a judge is asked for at most 200."""
MAX_NAME, MAX_ERROR = 300, 2_000
"""Characters kept of a model's name, finish reason or token, and of an error."""
REPLACEMENT = "\ufffd"
"""What stands for a half character: U+FFFD, as decoders write it."""


def storable_text(text: str) -> str:
    """``text`` with each lone surrogate replaced by U+FFFD; itself where there is none."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # A pair of surrogates that stands as two is one character; a single one is half of one.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def storable_count(value: Any) -> int | None:
    """A count as the store holds it: a whole number from 0 to 2**31 - 1, else None (unknown)."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_COUNT else None


def storable_logprob(value: Any) -> float | None:
    """A log-probability, NO_PROBABILITY at the least; None for NaN, a value above 1, no number.

    Servers round, so a little above 0 is no fault; a token is never certain e times over.
    """
    if type(value) is float and NO_PROBABILITY <= value <= 1:  # as NaN is not
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Written so that NaN fails it, and an integer of 400 digits need not fit a float.
    return float(max(value, NO_PROBABILITY)) if value <= 1 else None


def storable_reply(reply: Reply) -> Reply:
    """``reply`` as the store holds it; ``note`` names what was changed. Itself where nothing was."""
    changes: dict[str, Any] = {}
    for name in ("text", "finish", "model", "error", "kind"):
        value = getattr(reply, name)
        if value is not None and (kept := storable_text(str(value))[: _LENGTHS.get(name)]) != value:
            changes[name] = kept
    for name in ("tokens_in", "tokens_out", "cached_tokens"):
        value = getattr(reply, name)
        if value is not None and (storable_count(value) is None or type(value) is not int):
            changes[name] = None
    if not (math.isfinite(reply.latency) and 0 <= reply.latency <= MAX_COUNT):
        changes["latency"] = 0.0
    if (top := _storable_top(reply.top_tokens)) != reply.top_tokens:
        changes["top_tokens"] = top
    if not changes:
        return reply
    words = [_change(name, getattr(reply, name), kept) for name, kept in changes.items()]
    note = "; ".join([*([reply.note] if reply.note else []), *words])
    return replace(reply, **changes, note=note)


_LENGTHS = {"finish": MAX_NAME, "model": MAX_NAME, "kind": MAX_NAME, "error": MAX_ERROR}


def _storable_top(pairs: tuple[tuple[str, float], ...]) -> tuple[tuple[str, float], ...]:
    """The first MAX_ALTERNATIVES pairs; none at all where one of them has no log-probability."""
    kept = []
    for token, given in pairs[:MAX_ALTERNATIVES]:
        if (value := storable_logprob(given)) is None:
            return ()
        kept.append((storable_text(str(token))[:MAX_NAME], value))
    return tuple(kept)


def _change(name: str, value: Any, kept: Any) -> str:
    """One change in words: half characters were replaced, a number was left out."""
    if name == "top_tokens":
        if not kept:
            return "log-probabilities held a value that is none; left out"
        if len(kept) < len(value):
            return f"{len(value):,} alternatives at one token; the first {len(kept):,} were kept"
        return f"alternatives held half a character, a long token or a value below {NO_PROBABILITY:g}; replaced"
    if kept is None or name == "latency":
        return f"{name} was {str(value)[:40]}, which is no count; left out"
    if len(str(value)) > _LENGTHS.get(name, math.inf):
        return f"{name} of {len(str(value)):,} characters was cut"
    return f"half a character in {name} was replaced by {REPLACEMENT}"
