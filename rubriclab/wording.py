"""Small words: a count with its noun."""

from __future__ import annotations

_IRREGULAR = {"criterion": "criteria"}


def many(n: int, thing: str) -> str:
    """As “1 item”, “2,000 items”."""
    plural = _IRREGULAR.get(thing, f"{thing}s")
    return f"{n:,} {thing if n == 1 else plural}"
