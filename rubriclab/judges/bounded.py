"""JSON of a stranger, read with a bound on its size, its values and its nesting. Standard library alone."""

from __future__ import annotations

import json
from typing import Any

MAX_REPLY_BYTES = 16 * 2**20
"""Bytes of one answer, on the wire and unpacked. Twenty alternatives at each of 7,000 tokens of
reasoning are some 15 MB; a plain answer is 1 kB."""
MAX_NESTING = 64
"""Levels of lists and objects in an answer; a completion with log-probabilities has seven."""
MAX_VALUES = 2_500_000
"""Values in an answer, an object counting as three: 16 MB of empty lists would take 340 MB."""


class TooLarge(ValueError):
    """An answer beyond one of the bounds; the message says which."""


def load_json(content: bytes) -> Any:
    """The JSON value in ``content``, in whichever UTF it is, with or without a byte order mark.

    Raises TooLarge for more than MAX_VALUES values, else ValueError for whatever is no JSON:
    nesting beyond MAX_NESTING and integers of thousands of digits count as that.
    """
    opened = content.count(b"[") + content.count(b"{")
    if opened + 2 * content.count(b"{") + content.count(b",") > MAX_VALUES:
        raise TooLarge(f"The answer holds more than {MAX_VALUES:,} values, the most that is read")
    try:
        value = json.loads(content)
    except RecursionError as error:
        raise ValueError(f"nested deeper than {MAX_NESTING} levels") from error
    if opened > MAX_NESTING and _deep(value):
        raise ValueError(f"nested deeper than {MAX_NESTING} levels")
    return value


def _deep(value: Any) -> bool:
    """Whether lists and objects are nested beyond MAX_NESTING; level by level, no recursion."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(MAX_NESTING):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
