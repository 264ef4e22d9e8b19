"""What is posted for a call, whoever posts it. Standard library alone."""

from __future__ import annotations

import re
from typing import Any

from rubriclab.model import Call, Judge
from rubriclab.model.answers import asked_format

TOP_LOGPROBS = 20
"""The most alternatives that OpenAI and vLLM give."""

_REASONING_MODEL = re.compile(r"^(o[1-9]|gpt-[5-9])(\b|[-.])", re.I)


def request_body(
    judge: Judge, call: Call, *, top_logprobs: int = TOP_LOGPROBS, limit_field: str | None = None
) -> dict[str, Any]:
    """What is posted for a call, by whatever route. Holds no key.

    ``limit_field``: the server's name for the token limit (None: by the model's name). The
    judge's ``extra`` comes after our own fields, so it can overrule them.
    """
    sampling = call.sampling
    body: dict[str, Any] = {"model": judge.model, "messages": call.messages}
    if sampling.temperature is not None:
        body["temperature"] = sampling.temperature
    if sampling.max_tokens is not None:
        body[limit_field or token_limit_field(judge.model)] = sampling.max_tokens
    if sampling.top_p is not None:
        body["top_p"] = sampling.top_p
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    if sampling.reasoning_effort is not None:
        body["reasoning_effort"] = sampling.reasoning_effort
    if call.want_probabilities:
        body["logprobs"] = True
        body["top_logprobs"] = top_logprobs
    if call.reading is not None:
        criteria = call.reading.names or (tuple(map(str, call.ordering.shown)) if call.scores else ())
        body.update(asked_format(call.reading, criteria))
    if sampling.extra:
        body.update(sampling.extra)
    return body


def token_limit_field(model: str) -> str:
    """``max_tokens``, or the newer name where only that is taken."""
    return "max_completion_tokens" if _REASONING_MODEL.match(model) else "max_tokens"


_DATED = re.compile(r"[-@:]v?(\d{3,}[\d.-]*|\d\d-\d{4})")
"""A date or build after a model's name; a single digit would be another version of it."""


def same_model(asked: str, served: str) -> bool:
    """Whether two model names mean one model: equal but for case, path, date or file ending.

    ``gpt-4.1-mini`` and ``gpt-4.1-mini-2025-04-14`` do; ``gpt-4.1`` and ``gpt-4.1-mini`` do not.
    """
    one, other = _bare_name(asked), _bare_name(served)
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    rest = long.removeprefix(short)
    return bool(short) and rest != long and bool(_DATED.fullmatch(rest))


def _bare_name(model: str) -> str:
    name = model.strip().lower().replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    return name.removesuffix(".gguf").removesuffix(":latest").removesuffix("-latest")
