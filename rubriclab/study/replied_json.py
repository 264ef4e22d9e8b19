"""Find the JSON objects in a reply, and the verdicts under the keys that say so."""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from rubriclab.study.claims import echoed
from rubriclab.study.grammar import (
    DRESS,
    KEYS,
    MOST_OBJECTS,
    MOST_REPAIRED,
    OPEN_JSON,
    PLACEHOLDER,
    SHORT,
    WORDS,
    Grammar,
    Verdict,
)
from rubriclab.study.labels import fold
from rubriclab.study.own_words import Unread, plain

ASPECT_KEYS = [
    f"{aspect.replace(' ', '_')}_{noun}"
    for aspect in WORDS["aspect"]
    for noun in ("score", "rating")
]


class _Twice(list[Any]):
    """The different values of a key that stands twice in one object: no value at all."""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out and out[key] != value:
            value = _Twice([out[key], value])
        out[key] = value
    return out


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_pairs)


def objects(text: str) -> tuple[list[dict[str, Any]], str]:
    """Return the outermost JSON objects of an answer and the rest of it. Raises Unread for one
    that does not end.
    """
    objects: list[dict[str, Any]] = []
    rest, position, budget = [], 0, MOST_REPAIRED
    last = text.rfind("}") + 1
    for _ in range(MOST_OBJECTS):
        start = text.find("{", position)
        if start < 0:
            break
        value, end = None, last
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            body = text[start:last]
            if 0 < len(body) <= budget:
                budget -= len(body)
                value = _repaired(body)
        if isinstance(value, dict):
            example = echoed(text[position:start]) or any(
                PLACEHOLDER.fullmatch(part) for part in strings(value)
            )
            if not example:
                objects.append(value)
            rest.append(text[position:start])
            position = end
            continue
        begun = re.match(r"\{\s*(?:[\"']|$)", text[start : start + 80])
        if begun and text.count("{", start) > text.count("}", start):
            raise Unread(OPEN_JSON)
        rest.append(text[position : start + 1])
        position = start + 1
    return objects, "".join(rest) + text[position:]


def _repaired(body: str) -> Any:
    """Return the value of JSON as judges write it, with single quotes, a last comma, remarks;
    None for what is none.
    """
    body = re.sub(r"(?m)\s//[^\n\"]*$", "", body)
    body = re.sub(r",\s*([}\]])", r"\1", body)
    with suppress(ValueError, RecursionError):
        return _DECODER.decode(body)
    if body.count("{") > 20:
        return None
    with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
        tree = ast.parse(body, mode="eval").body
        keys = [getattr(key, "value", None) for key in getattr(tree, "keys", [])]
        return ast.literal_eval(tree) if len(keys) == len(set(keys)) else None
    return None


def by_key(value: Any, keys: Sequence[str]) -> Iterator[Any]:
    """Yield what stands under one of ``keys``, at any depth."""
    if isinstance(value, list):
        for part in value:
            yield from by_key(part, keys)
    elif isinstance(value, dict):
        for key, part in value.items():
            named = re.sub(r"[\s-]", "_", fold(str(key))) in keys
            if named and isinstance(part, list) and len(part) == 1:
                part = part[0]
            if named and not isinstance(part, dict):
                yield part
            elif fold(str(key)) not in KEYS["limit"]:
                yield from by_key(part, keys)


def in_json(value: Any, form: Grammar, nouns: Sequence[str] = ()) -> list[Verdict]:
    """Return the verdicts under the keys that say so; under vague keys only where no other one
    has a value.
    """
    strong = [
        *KEYS["final"],
        *KEYS[form.kind],
        *ASPECT_KEYS,
        *(re.sub(r"[\s-]", "_", noun) for noun in nouns),
    ]
    given = [_keyed(part, form) for part in by_key(value, strong)]
    if given:
        return given
    vague = [_keyed(part, form) for part in by_key(value, KEYS["weak"])]
    if any(verdict.index is not None for verdict in vague):  # "verdict": "a good text" is none
        return [v for v in vague if v.index is not None or form.within.search(v.words)]
    return vague


def _keyed(value: Any, form: Grammar) -> Verdict:
    words = "" if isinstance(value, bool | list | dict | None) else plain(str(value), form.kept)
    match = form.alone.match(words.strip(DRESS))
    return form.verdict(match, "json", words or str(value)[:SHORT])


def strings(value: Any) -> Iterator[str]:
    """Yield the texts in JSON, at any depth."""
    if isinstance(value, str):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from strings(part)
