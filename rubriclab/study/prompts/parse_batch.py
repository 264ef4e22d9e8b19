"""What a judge's reply says about several responses: a score for each, told apart by their number.

Strict as the other readers: a score is taken for the response that the reply names beside it, or
by order alone where the reply is nothing but as many scores as there are responses. What can be
read in two ways is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rubriclab.study.prompts.batch import BATCH_ENDING
from rubriclab.study.prompts.parse import OUT_OF, own_words, plain_words


class ParsedBatch(NamedTuple):
    """Scores by place (from 1), and why other places have none.

    ``why``: by place, ``missing`` (not named), ``repeated`` (two different scores), ``invalid`` (a
    score that is not allowed). ``unknown``: numbers of responses named that were not shown.
    """

    scores: dict[int, int]
    why: dict[int, str]
    unknown: tuple[int, ...] = ()


_WORD = r"(?:responses?|answers?|items?|texts?|outputs?|candidates?|completions?|repl(?:y|ies)|score|rating|no\.?|r)"
_NUMBER = r"[-+]?\d{1,9}(?:[.,]\d{1,4})?"
_SCORE_WORD = r"(?:(?:final\s+)?(?:score|rating|grade)(?:\s+of)?\s*(?:is|=|:)?\s*)?"
_NAMED = re.compile(
    rf"""(?<![\w.]){_WORD}[\s_]*[#№]?[\s_]*(?P<place>\d{{1,3}})(?![\d.]*\d)
    (?:\s*(?:\(?\s*(?:score|rating)\s*\)?))?
    [\s\])}}"'|]*(?:[:=|>→–—]|-(?=[\s\d])|\bis\b|\bgets\b)?[\s\[({{"'|:>]*{_SCORE_WORD}[\s\[("']*
    (?P<score>{_NUMBER})(?![\w%])(?=(?P<rest>[^\n]{{0,40}}))""",
    re.VERBOSE | re.IGNORECASE,
)
_BARE = re.compile(
    rf"""^[\s\-•#>|\[({{"',]*(?P<place>\d{{1,3}})(?:[\])}}"']+\s*[:=|–—-]?|\s*[:=|)–—]|\.(?=\s)|\s+-(?=\s))[\s"'\[(]*
    {_SCORE_WORD}(?P<score>{_NUMBER})(?![\w%])(?P<rest>[^\n]{{0,40}})""",
    re.VERBOSE | re.IGNORECASE,
)
_HEADING = re.compile(
    rf"^[\s\-•#>|\[(]*{_WORD}[\s_]*[#№]?[\s_]*(?P<place>\d{{1,3}})(?!\d)", re.IGNORECASE | re.MULTILINE
)
_LATER = re.compile(
    rf"\b(?:score|rating|grade)\b\W{{0,4}}(?:(?:is|of)\W{{0,3}})?(?P<score>{_NUMBER})(?![\w%])(?P<rest>[^\n]{{0,40}})",
    re.IGNORECASE,
)
_GOES_ON = re.compile(rf"[\s:=\]-]*{_NUMBER}[^\S\n]*(?:\Z|[\s,;]*[\[(]?Response\s*2)", re.IGNORECASE)
_ONE = r"\d{1,9}(?:\.\d{1,4})?(?:\s*/\s*\d{1,9})?"
_LIST = re.compile(rf"[^\w]*?(?:\[\s*{_ONE}\s*\](?:[\s,;]*\[\s*{_ONE}\s*\])+|{_ONE}(?:[\s,;|]+{_ONE})+)[^\w]*")
_LISTED = re.compile(r"(?P<score>\d{1,9}(?:\.\d{1,4})?)(?P<rest>\s*/\s*\d{1,9})?")


def parse_batch(text: str, count: int, scores: Sequence[int], *, begun: bool = False) -> ParsedBatch:
    """The score that the reply gives each of ``count`` responses. ``scores``: those that are allowed.

    Reads “[Response 1] 4”, “Response 2: 4/5”, “1. 4”, “| 3 | 4 |”, '{"response_4": 4}', a section for
    each response with “Score: 4” in it, and a bare list of exactly ``count`` scores. ``begun``:
    the reply goes on after “[Response 1]”.
    """
    body = _own(text)
    if begun and _GOES_ON.match(body):
        body = "[Response 1] " + body.lstrip(" \t:=]-")
    entries = list(_named(body, set(scores))) or list(_sections(body, set(scores)))
    entries = entries or _listed(body, count, set(scores)) or list(_numbered(body, set(scores)))
    given: dict[int, set[int | None]] = {}
    for place, score in entries:
        given.setdefault(place, set()).add(score)
    read: dict[int, int] = {}
    why: dict[int, str] = {}
    for place in range(1, count + 1):
        one = given.get(place, set())
        value = next(iter(one)) if len(one) == 1 else None
        if value is not None:
            read[place] = value
        else:
            why[place] = "missing" if not one else "repeated" if len(one) > 1 else "invalid"
    return ParsedBatch(read, why, tuple(sorted(place for place in given if not 1 <= place <= count)))


def _own(text: str) -> str:
    """The reply's own words: without reasoning, and without the prompt where that was repeated."""
    body = plain_words(text, ())
    before, ending, after = body.rpartition(BATCH_ENDING)
    del before
    return after if ending else own_words(body)


def _score(number: str, rest: str, allowed: set[int]) -> int | None:
    """The allowed score that stands there; None for another one, a range or a share of another scale."""
    whole = re.fullmatch(r"([-+]?\d{1,9})(?:[.,]0+)?", number)
    scale = OUT_OF.match(rest)
    if scale is not None and int(scale["top"]) != max(allowed):
        return None
    if scale is None and re.match(r"\s*(?:-|–|\bor\b|\bto\b)\s*\d", rest):
        return None
    return int(whole[1]) if whole and int(whole[1]) in allowed else None


def _named(body: str, allowed: set[int]) -> Iterator[tuple[int, int | None]]:
    for entry in _NAMED.finditer(body):
        yield int(entry["place"]), _score(entry["score"], entry["rest"], allowed)


def _sections(body: str, allowed: set[int]) -> Iterator[tuple[int, int | None]]:
    """Where each response has words of its own: the last score named before the next response."""
    heads = list(_HEADING.finditer(body))
    for head, end in zip(heads, [*(h.start() for h in heads[1:]), len(body)], strict=False):
        said = list(_LATER.finditer(body, head.end(), end))
        if said:
            yield int(head["place"]), _score(said[-1]["score"], said[-1]["rest"], allowed)


def _numbered(body: str, allowed: set[int]) -> Iterator[tuple[int, int | None]]:
    """“1: 4” and its like, one a line or apart by commas."""
    for line in re.split(r"\n|[,;]\s*(?=[\"'\[({]?\d{1,3}[\"'\])}]?\s*[:=])", body):
        entry = _BARE.match(line)
        if entry is not None:
            yield int(entry["place"]), _score(entry["score"], entry["rest"], allowed)


def _listed(body: str, count: int, allowed: set[int]) -> list[tuple[int, int | None]]:
    """Exactly as many bare numbers as there are responses, and nothing else but a word before them."""
    bare = re.sub(r"(?i)\b(?:the\s+)?(?:scores?|ratings?|grades?|json|are|is)\b", " ", body)
    if len(bare) > 50 * count or not _LIST.fullmatch(bare):
        return []
    entries = list(_LISTED.finditer(bare))
    if len(entries) != count:
        return []
    return [(k, _score(one["score"], one["rest"] or "", allowed)) for k, one in enumerate(entries, 1)]
