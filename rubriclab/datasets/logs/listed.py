"""The lists in one logged prompt that could be its options or its candidates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, NamedTuple

from rubriclab.datasets.list_meaning import meaning, scores_of
from rubriclab.datasets.listed import FoundList
from rubriclab.datasets.logs.exchange import Messages
from rubriclab.datasets.option_lists import find_lists

Span = tuple[int, int]


class FormKey(NamedTuple):
    """What lists of one template have in common: what they are, where, how they look, their labels."""

    kind: Literal["options", "candidates"]
    message: int
    layout: str
    name: str
    labels: frozenset[str]


class Shown(NamedTuple):
    """An entry as it stands in the prompt: the whole of it, its label, its words, its score if one is shown."""

    raw: str
    label: str
    text: str
    score_shown: str
    score: int | None


@dataclass(frozen=True, slots=True)
class Listed:
    """A list in the order shown; ``start``, ``end``: of all that changes places, within its message.

    ``open_end``: one prompt alone does not say where the last entry ends.
    """

    key: FormKey
    entries: tuple[Shown, ...]
    start: int
    end: int
    weight: int = 0
    open_end: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        return tuple(entry.text for entry in self.entries)

    @property
    def scores(self) -> tuple[int, ...] | None:
        known = tuple(entry.score for entry in self.entries if entry.score is not None)
        return known if len(known) == len(self.entries) else None

    @property
    def answers(self) -> tuple[tuple[str, ...], ...]:
        """What a reply may name: the labels, or the scores where they stand beside labels."""
        labels = tuple(entry.label for entry in self.entries)
        scores = tuple(entry.score_shown for entry in self.entries)
        return (labels, scores) if all(scores) else (labels,)

    def blanked(self, texts: Sequence[str]) -> str:
        """The prompt without what changes places: the same in every order."""
        message = self.key.message
        parts = list(texts)
        parts[message] = f"{parts[message][: self.start]}\n\n{parts[message][self.end :]}"
        return "\n".join(parts)


@lru_cache(maxsize=4)
def lists_of(messages: Messages) -> tuple[Listed, ...]:
    """The lists in a prompt's messages that could be options or candidates.

    The last few are kept: what is learnt of a prompt and where its own list is are two questions about it.
    """
    return tuple(
        one for number, (role, text) in enumerate(messages) if role != "assistant" for one in listed_in(text, number)
    )


def listed_in(text: str, message: int) -> Iterator[Listed]:
    """Those in one message."""
    for found in find_lists(text):
        what = meaning(text, found)
        if what.kind != "criteria" and what.weight > -2:
            yield _listed(text, found, FormKey(what.kind, message, *_look(found)), what.weight)


def listed_as(text: str, start: int, end: int, key: FormKey) -> Listed | None:
    """The one list of that form in a part of a message; None where it is not alone or not there."""
    part = text[start:end]
    found = [one for one in find_lists(part) if _look(one) == (key.layout, key.name, key.labels)]
    if len(found) != 1:
        return None
    one = _listed(part, found[0], key, 0)
    return replace(one, start=one.start + start, end=one.end + start)


def _look(found: FoundList) -> tuple[str, str, frozenset[str]]:
    return found.layout, found.name, frozenset(found.labels)


def _listed(text: str, found: FoundList, key: FormKey, weight: int) -> Listed:
    scores = scores_of(found, None)[0] if key.kind == "options" else None
    entries = tuple(
        Shown(
            text[entry.start : entry.end],
            entry.value("label") or "",
            entry.value("text") or "",
            entry.value("score") or "",
            scores[number] if scores is not None else None,
        )
        for number, entry in enumerate(found.entries)
    )
    start, end = (found.start, found.end) if key.kind == "options" else _inner(found)
    opened = found.open_end if key.kind == "options" else begun_only(key.layout)
    return Listed(key, entries, start, end, weight, opened)


def begun_only(layout: str) -> bool:
    """Does the layout say how an entry begins, and not where it ends?"""
    return layout.startswith(("lines that begin", "a numbered", "a lettered", "bullets"))


def _inner(found: FoundList) -> Span:
    """From the beginning of the first candidate's text to the end of the last one's."""
    parts = [part for entry in (found.entries[0], found.entries[-1]) for part in entry.parts if part.kind == "text"]
    return (parts[0].start, parts[-1].end) if len(parts) >= 2 else (found.start, found.end)
