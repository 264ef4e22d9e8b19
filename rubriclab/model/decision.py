"""Read the answer to a typed question: the probability of each option, and the likeliest one."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.model.text import LabError, shorten

SUM_MAY_MISS = 0.02
"""How far from 1 probabilities may sum: each of ten rounded to two decimals may be off by 0.005,
seldom all to one side.
"""


def named(value: Any) -> str:
    """An option's name as a text: in OpenAI's form it may be true or false."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def option_shares(
    answer: Mapping[str, Any], options: Sequence[str], *, score: bool
) -> tuple[float, ...]:
    """(options,): the probabilities of an answer in either wire form, which sum to 1. ``score``:
    System One then names levels by their index. Raises LabError for an option that is missing,
    unknown or there twice, and for what is no probability.
    """
    probabilities, values = answer.get("probabilities"), list(options)
    if isinstance(probabilities, list):
        rows = [part for part in probabilities if isinstance(part, Mapping)]
        given = [
            (named(part.get("label", part.get("value"))), part.get("probability")) for part in rows
        ]
    else:
        given = list(probabilities.items()) if isinstance(probabilities, Mapping) else []
        values = [str(index) for index in range(len(values))] if score else values
    shares: dict[str, Any] = dict(given)
    missing = [value for value in values if value not in shares]
    known = set(values)
    unknown = [name for name in shares if name not in known]
    if missing or unknown or len(given) != len(values):
        words = [f"lacks the option “{shorten(value, 40)}”" for value in missing[:1]]
        words += [
            f"has the option “{shorten(name, 40)}”, which was not shown" for name in unknown[:1]
        ]
        raise LabError(f"The answer {' and '.join(words) or 'has an option twice'}")
    for value in values:
        share = shares[value]
        if (
            isinstance(share, bool)
            or not isinstance(share, int | float)
            or not 0 <= share <= 1 + SUM_MAY_MISS
        ):
            said = shorten(str(share), 40)
            raise LabError(
                f"The probability of option “{shorten(value, 40)}” is {said}; expected 0 to 1"
            )
    total = math.fsum(shares.values())
    if abs(total - 1) > SUM_MAY_MISS:
        raise LabError(f"The probabilities of {len(values)} options sum to {total:.3g}; expected 1")
    return tuple(shares[value] / total for value in values)


def most_probable(shares: Sequence[float], seed: str) -> int:
    """Which option has the highest probability. Equals are drawn, by the call: the first of them
    would be a lean of ours.
    """
    best = max(shares)
    equal = [index for index, share in enumerate(shares) if share > best - 1e-9]
    return equal[
        int.from_bytes(hashlib.sha256(seed.encode("utf-8", "replace")).digest()[:8], "big")
        % len(equal)
    ]
