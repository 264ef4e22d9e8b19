"""The words of the generalisability study: what varies with what, and what a design is called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rubriclab.findings.facets import PLURAL, Facet
from rubriclab.model.wording import listed

_ALONE: Mapping[str, str] = {
    "item": "texts differ",
    "judge": "judges milder or stricter",
    "wording": "wordings shift all scores",
    "labels": "labels shift all scores",
    "order": "orders shift all scores",
    "rater": "raters milder or stricter",
}
_OF_ITEMS: Mapping[str, str] = {
    "judge": "judges differ by text",
    "wording": "wording moves single texts",
    "labels": "labels move single texts",
    "order": "order moves single texts",
    "rater": "raters differ by text",
}
_WITHIN: Mapping[str, str] = {"order": "order moves scores", "rater": "raters differ"}
_COUNTED = {3: "three", 4: "four"}
NOISE = ("same call, another score", "noise")
"""Plain words, and the term. Rows of charts have room for 26 characters of either."""


def source_words(parts: Sequence[Facet], *, noise: bool) -> tuple[str, str]:
    """(plain words, term) of a component; ``noise``: it holds the noise too, as nothing was read twice.

    Such a one is written “, e”, as Brennan (2001) does.
    """
    return _plain(parts, noise=noise), _term(parts) + (", e" if noise else "")


def _plain(parts: Sequence[Facet], *, noise: bool) -> str:
    keys = [one.key for one in parts]
    by_item = keys[0] == "item" and len(keys) > 1
    others = keys[1:] if by_item else keys
    if by_item and len(others) == 1:
        inner = parts[1].within_item
        words = _WITHIN[others[0]] if inner else _OF_ITEMS.get(others[0], f"{others[0]} by text")
        return f"{others[0]} by text, and noise" if noise else words
    if noise:
        return "all the rest, and noise"
    if len(keys) == 1:
        return _ALONE.get(keys[0], f"{keys[0]} shift all scores")
    named = listed(others) if len(others) == 2 else f"{_COUNTED.get(len(others), 'all')} together"
    if by_item:
        return f"{named}, by text"
    return f"{named} together" if len(others) == 2 else named


def _term(parts: Sequence[Facet]) -> str:
    crossed = [one.key for one in parts[1:] if not one.within_item]
    inner = [one.key for one in parts[1:] if one.within_item]
    if parts[0].key != "item":
        crossed = [parts[0].key, *crossed]
        return " × ".join(crossed)
    outer = " × ".join([*crossed, "item"])
    return f"{' × '.join(inner)} : {outer}" if inner else outer


def design_words(numbers: Sequence[tuple[str, int]], read: Mapping[str, int]) -> str:
    """As “2 judges × 10 orders”; what is counted once is left out.

    More of a facet than its levels that were ``read`` is an extrapolation, and says so wherever it
    is named: “10 judges (2 read)”.
    """
    parts = [
        f"{counted(key, n)}{f' ({read[key]:,} read)' if beyond(key, n, read) else ''}" for key, n in numbers if n > 1
    ]
    return " × ".join(parts) if parts else "1 call"


def beyond(key: str, n: int, read: Mapping[str, int]) -> bool:
    """Are ``n`` of this facet more than were read? Reads of the same call are alike by nature and never are."""
    return n > read.get(key, n)


def plural(key: str) -> str:
    """As “orders”, “judges and orders”, “repeats”."""
    return " and ".join(PLURAL.get(part, f"{part}s") for part in key.split(" and "))


def counted(key: str, n: int) -> str:
    """As “1 judge”, “10 orders”."""
    return f"1 {key}" if n == 1 else f"{n:,} {plural(key)}"


def facets_words(facets: Sequence[Facet]) -> str:
    """As “24 items × 2 judges × 10 orders”."""
    return " × ".join(
        f"{one.levels:,} {one.plural if one.levels != 1 else one.key}{' of its own' if one.within_item else ''}"
        for one in facets
    )
