"""Read the answer to a typed question: the probability of each option, and the likeliest one.

A paid answer with wrong probabilities must not become a score, so everything is checked.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rubriclab.model.text import LabError, shorten

SUM_MAY_MISS = 0.02
"""How far the sum of the probabilities may be from 1. Rounded to two decimals, each of ten may be
off by 0.005, but seldom all in the same direction."""
EQUAL_SHARES = 1e-9
"""Probabilities that differ by less are equal: dividing by their sum rounds them."""


def named(value: Any) -> str:
    """Return an option's name as a text; in OpenAI's form it may be true or false."""
    if isinstance(value, str):
        return value
    return json.dumps(value, default=str)


def option_shares(
    answer: Mapping[str, Any], options: Sequence[str], *, score: bool
) -> tuple[float, ...]:
    """Return the probabilities (options) of an answer in either wire form; they sum to 1.

    ``score`` says that the question was a score: System One then names the levels by their index.
    Raises LabError for an option that is missing, unknown or there twice, and for a value that is
    not a probability.
    """
    probabilities = answer.get("probabilities")
    names = list(options)
    given: list[tuple[str, Any]] = []
    if isinstance(probabilities, list):
        for row in probabilities:
            if isinstance(row, Mapping):
                name = named(row.get("label", row.get("value")))
                given.append((name, row.get("probability")))
    else:
        if isinstance(probabilities, Mapping):
            given = list(probabilities.items())
        if score:
            names = [str(index) for index in range(len(names))]
    shares: dict[str, Any] = dict(given)
    _require_options(given, names)
    for name in names:
        _require_probability(shares[name], name)
    total = math.fsum(shares.values())
    if abs(total - 1) > SUM_MAY_MISS:
        raise LabError(f"The probabilities of {len(names)} options sum to {total:.3g}; expected 1")
    return tuple(shares[name] / total for name in names)


def _require_options(given: Sequence[tuple[str, Any]], names: Sequence[str]) -> None:
    """Raise LabError unless each option is given exactly once."""
    found = {name for name, _ in given}
    known = set(names)
    missing = [name for name in names if name not in found]
    unknown = [name for name, _ in given if name not in known]
    if not missing and not unknown and len(given) == len(names):
        return
    words = []
    if missing:
        words.append(f"lacks the option “{shorten(missing[0], 40)}”")
    if unknown:
        words.append(f"has the option “{shorten(unknown[0], 40)}”, which was not shown")
    raise LabError(f"The answer {' and '.join(words) or 'has an option twice'}")


def _require_probability(share: Any, name: str) -> None:
    """Raise LabError unless a value is a number from 0 to 1; True and False are not numbers."""
    is_number = isinstance(share, int | float) and not isinstance(share, bool)
    if not is_number or not 0 <= share <= 1 + SUM_MAY_MISS:
        said = shorten(str(share), 40)
        raise LabError(
            f"The probability of option “{shorten(name, 40)}” is {said}; expected 0 to 1"
        )


def most_probable(shares: Sequence[float], seed: str) -> int:
    """Return the index of the most probable option. Ties are drawn, by a seed that names the call.

    Always taking the first of equals would be a position bias of ours.
    """
    best = max(shares)
    equal = [index for index, share in enumerate(shares) if share > best - EQUAL_SHARES]
    drawn = hashlib.sha256(seed.encode("utf-8", "replace")).digest()[:8]
    return equal[int.from_bytes(drawn, "big") % len(equal)]
