"""The words of the generalisability study: what varies with what, and what a design is called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rubriclab.findings.facets import PLURAL, Facet
from rubriclab.model.language import figure, msg, tr
from rubriclab.model.wording import listed, many
from rubriclab.model.wording import plural as plural_of

_ALONE: Mapping[str, str] = {
    "item": msg("texts differ"),
    "judge": msg("judges milder or stricter"),
    "wording": msg("wordings shift all scores"),
    "labels": msg("labels shift all scores"),
    "order": msg("orders shift all scores"),
    "rater": msg("raters milder or stricter"),
}
_OF_ITEMS: Mapping[str, str] = {
    "judge": msg("judges differ by text"),
    "wording": msg("wording moves single texts"),
    "labels": msg("labels move single texts"),
    "order": msg("order moves single texts"),
    "rater": msg("raters differ by text"),
}
_WITHIN: Mapping[str, str] = {"order": msg("order moves scores"), "rater": msg("raters differ")}
_TOGETHER = {3: msg("three together"), 4: msg("four together")}
_ALL_TOGETHER = msg("all together")
NOISE = (msg("same call, another score"), "noise")
"""Plain words, and the term. Rows of charts have room for 26 characters of either."""
_TERMS = ("item", "judge", "wording", msg("labels"), "order", "rater", msg("noise"))
"""The words of which terms are made; most are nouns of ``model.wording``."""


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
        facet = term_words(others[0])
        if noise:
            return tr("{facet} by text, and noise", facet=facet)
        known = _WITHIN[others[0]] if inner else _OF_ITEMS.get(others[0])
        return tr(known) if known else tr("{facet} by text", facet=facet)
    if noise:
        return tr("all the rest, and noise")
    if len(keys) == 1:
        known = _ALONE.get(keys[0])
        return tr(known) if known else tr("{facet} shift all scores", facet=term_words(keys[0]))
    if len(others) == 2:
        facets = listed([term_words(one) for one in others])
        return tr("{facets}, by text", facets=facets) if by_item else tr("{facets} together", facets=facets)
    facets = tr(_TOGETHER.get(len(others), _ALL_TOGETHER))
    return tr("{facets}, by text", facets=facets) if by_item else facets


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
        counted(key, n) + (tr(" ({n:,} read)", n=read[key]) if beyond(key, n, read) else "")
        for key, n in numbers
        if n > 1
    ]
    return " × ".join(parts) if parts else many(1, "call")


def beyond(key: str, n: int, read: Mapping[str, int]) -> bool:
    """Are ``n`` of this facet more than were read? Reads of the same call are alike by nature and never are."""
    return n > read.get(key, n)


def plural(key: str) -> str:
    """As “orders”, “judges and orders”, “repeats”."""
    parts = key.split(" and ")
    return tr(" and ").join(tr(PLURAL[part]) if part in PLURAL else plural_of(part, 2) for part in parts)


def counted(key: str, n: int) -> str:
    """As “1 judge”, “10 orders”."""
    return f"1 {term_words(key)}" if n == 1 else f"{figure(n, ',')} {plural(key)}"


def term_words(key: str) -> str:
    """A key of a facet or a component as a reader is told it, as “judge × item”."""
    return re.sub(r"[a-z]{2,}", lambda word: tr(word[0]) if word[0] in _TERMS else word[0], _spoken(key))


def _spoken(key: str) -> str:
    return tr(" and ").join(key.split(" and "))


def facets_words(facets: Sequence[Facet]) -> str:
    """As “24 items × 2 judges × 10 orders”."""
    return " × ".join(_levels(one) for one in facets)


def _levels(one: Facet) -> str:
    facets = one.plural if one.levels != 1 else term_words(one.key)
    if one.within_item:
        return tr("{n:,} {facets} of its own", n=one.levels, facets=facets)
    return f"{figure(one.levels, ',')} {facets}"
