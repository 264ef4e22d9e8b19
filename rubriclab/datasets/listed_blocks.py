"""Blocks between marked lines, as candidates often stand: "[The Start of Assistant A's Answer]"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rubriclab.datasets.listed import MOST_ENTRIES, Entry, FoundList, Part, lines, part, values
from rubriclab.model.language import msg

_START = re.compile(
    r"[^\w\n]{0,6}(?:the )?(?:start|begin|beginning|anfang)(?: of| von| der)? (?:the )?(?:(?P<name>[^\W\d_]{1,20}) )?"
    r"(?P<label>[A-Ja-j]|\d{1,2})(?:['’]s [^\W\d_]{1,20}(?: [^\W\d_]{1,20})?)?[^\w\n]{0,6}",
    re.IGNORECASE,
)
_END = re.compile(r"[^\w\n]{0,6}(?:the )?(?:end|ende)(?: of| von| der)? [^\n]{0,80}", re.IGNORECASE)


def block_lists(text: str) -> Iterator[FoundList]:
    """Blocks that a line opens and a line closes, both with the block's label."""
    run: list[Entry] = []
    name = ""
    opened: tuple[re.Match[str], int] | None = None
    for start, end, following in lines(text):
        match = _START.fullmatch(text, start, min(end, start + 120))
        if match is not None:
            opened = (match, following)
        elif opened is not None and _END.fullmatch(text, start, min(end, start + 120)):
            begun, inside = opened
            again = re.search(rf"(?<!\w){begun['label']}(?!\w)", text[start:end])
            opened = None
            if again is None:
                continue
            labels = [entry.value("label") for entry in run]
            if run and (begun["label"] in labels or len(run) == MOST_ENTRIES or name != (begun["name"] or "")):
                yield from _of(run, name)
                run = []
            name = begun["name"] or ""
            at = start + again.start()
            label = part("label", text, *begun.span("label"))
            closing = Part("label", at, at + len(label.value), label.value)
            run.append(Entry(begun.start(), end, (label, part("text", text, inside, start), closing)))
    yield from _of(run, name)


def _of(run: list[Entry], name: str) -> Iterator[FoundList]:
    if values([entry.value("label") or "" for entry in run]) is not None:
        yield FoundList(msg("blocks between marked lines"), tuple(run), name)
