"""Where a value stands in the text of a JSON value: its words with their place, which parsing alone does not tell."""

from __future__ import annotations

import json

DECODER = json.JSONDecoder(strict=False)
"""Raw line breaks inside texts are taken: judges write them, and nothing else could be meant."""


def value_at(text: str, begin: int, path: tuple[str, ...]) -> tuple[str, int, int] | None:
    """(words, start, end) of the value at ``path`` of the JSON value that begins at ``begin``; a text without quotes."""
    if not path:
        value, end = DECODER.raw_decode(text, begin)
        if isinstance(value, str):
            return value, begin + 1, end - 1
        return text[begin:end], begin, end
    # Of a key that is there twice the last one holds, as everywhere.
    members = dict(_members(text, begin))
    by_letters = {_letters(key): at for key, at in members.items()}
    found = members.get(path[0], by_letters.get(_letters(path[0])))
    return None if found is None else value_at(text, found, path[1:])


def _letters(key: str) -> str:
    """How keys are compared where none is equal: “Factual accuracy” is “factual_accuracy”."""
    return "".join(filter(str.isalnum, key.casefold()))


def _members(text: str, begin: int) -> list[tuple[str, int]]:
    """The keys of an object (places of a list) and where their values begin; none of another value."""
    members: list[tuple[str, int]] = []
    kind = text[begin]
    place = _skip(text, begin + 1)
    while kind in "{[" and text[place] not in "}]":
        key = str(len(members))
        if kind == "{":
            key, place = DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)  # over the colon
        members.append((key, place))
        _, place = DECODER.raw_decode(text, place)
        place = _skip(text, place)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return members


def _skip(text: str, place: int) -> int:
    while text[place] in " \t\r\n":
        place += 1
    return place
