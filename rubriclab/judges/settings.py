"""Settings of a judge that make no sense, said before the first call."""

from __future__ import annotations

import json
import math
from typing import Any

from rubriclab.model import Judge, LabError
from rubriclab.model.language import msg, tr

MAX_CONCURRENCY = 2_048
"""Calls of one judge at once: each holds a connection open."""
_RANGES: dict[str, tuple[float, float, bool]] = {
    "concurrency": (1, MAX_CONCURRENCY, True),
    "rpm": (1, 10**9, True),
    "tpm": (1, 10**12, True),
    "timeout": (0.01, 86_400, False),
    "price_input": (0, 10**9, False),
    "price_output": (0, 10**9, False),
    "temperature": (0, 100, False),
    "top_p": (0, 1, False),
    "max_tokens": (1, 10_000_000, True),
    "seed": (-(2**63), 2**64 - 1, True),
}
"""Least and most of each setting, and whether it is a whole number. Wide on purpose: what a server
refuses it refuses itself; what is outside would freeze the lab or mean nothing."""
_UNITS = {"timeout": msg(" seconds"), "max_tokens": msg(" tokens"), "concurrency": msg(" calls at once")}


def check_numbers(judge: Judge) -> None:
    """Raises LabError naming judge, setting, value and range for a number outside of it."""
    for name, (least, most, whole) in _RANGES.items():
        value = getattr(judge, name, None)
        if not hasattr(judge, name):
            value = getattr(judge.sampling, name)
        if value is not None and not _within(value, least, most, whole):
            kind = tr("a whole number") if whole else tr("a number")
            raise LabError(
                tr(
                    "Judge “{name}”: {setting} is {value}; expected {kind} from {least:,} to {most:,}{unit}.",
                    name=judge.name,
                    setting=name,
                    value=str(value)[:40],
                    kind=kind,
                    least=least,
                    most=most,
                    unit=tr(_UNITS.get(name, "")),
                )
            )


def _within(value: Any, least: float, most: float, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
        return False
    return not math.isnan(value) and least <= value <= most


_RESERVED = ("messages", "model", "stream", "n")


def check_extra(judge: Judge) -> None:
    """Raises LabError for words in the extra body that the lab sets, and for what is no JSON."""
    taken = [word for word in _RESERVED if word in judge.sampling.extra]
    if taken:
        raise LabError(
            tr(
                "Judge “{name}” sets {taken} in its extra body; the lab sets these itself. Remove them there.",
                name=judge.name,
                taken=", ".join(taken),
            )
        )
    try:
        json.dumps(dict(judge.sampling.extra))
    except (TypeError, ValueError, RecursionError) as error:
        raise LabError(
            tr("The extra body of judge “{name}” is not plain JSON: {error}.", name=judge.name, error=error)
        ) from error
