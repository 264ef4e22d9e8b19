"""What stays in a prompt when the order of its list changes, and should be known before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rubriclab.datasets.list_meaning import Kind
from rubriclab.datasets.listed import FoundList, line_of, number
from rubriclab.model.language import tr
from rubriclab.model.prompt import Role
from rubriclab.study.prompts.found_prompt import line_place
from rubriclab.study.prompts.item_spans import ItemSpan

Place = Callable[[int], str]
"""Where a line stands, in words, by its number."""
_EXAMPLE = re.compile(
    r"\b(?:e\.\s?g\.|for example|for instance|example|such as|z\.\s?B\.|zum Beispiel|Beispiel|par exemple|exemple|"
    r"por ejemplo|ejemplo|ad esempio|esempio)|\[RESULT\]|\"[\w ]{1,30}\"\s?:",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:(?:listed|ordered|sorted|arranged|ranked|given|shown|going|runs?|ranges?|ranging)\b[^.\n]{0,30}\bfrom\b|"
    r"from (?:the )?(?:worst|best|lowest|highest|least|most)\b|(?:ascending|descending|increasing|decreasing) order|"
    r"(?:the )?(?:first|last|top|bottom|final) (?:option|score|level|one|line|row|item|entry|choice)|"
    r"(?:von|vom) (?:\w+ )?(?:schlechtesten|besten|niedrigsten|höchsten)|(?:auf|ab)steigend|"
    r"du (?:pire|meilleur|moins bon)|de (?:peor|mejor|menor|mayor) a)\b",
    re.IGNORECASE,
)
_GLOSS = r"\s?(?:\([^()\n]{1,60}\)|=\s?\w+|\bbeing\b[^,.\n]{1,40})"
_RANGE = r"(?:-|–|—|to|through|and|bis|und|à|a|y|e)"


def traps(
    messages: Sequence[tuple[Role, str]],
    message: int,
    found: FoundList,
    end: int,
    spans: Sequence[ItemSpan],
    kind: Kind,
) -> list[str]:
    """Sentences on fixed text that names a label in an example, or the order of the list."""
    notes: list[str] = []
    for at, (role, text) in enumerate(messages):
        of = partial(line_place, at + 1 if len(messages) > 1 else 0, role)
        hidden = [(s.start, s.end) for s in spans if s.message == at]
        if at == message:
            hidden.append((found.start, end))
        fixed = _without(text, hidden)
        if kind == "options":
            notes.extend(_examples(fixed, found.labels, of))
            notes.extend(_ranges(fixed, found.labels, of))
        notes.extend(orders_named(fixed, of))
    return list(dict.fromkeys(notes))


def _without(text: str, hidden: Sequence[tuple[int, int]]) -> str:
    """The text with other spans blank, as long as before and with its line breaks."""
    for start, end in hidden:
        text = text[:start] + re.sub(r"[^\r\n]", " ", text[start:end]) + text[end:]
    return text


def _examples(fixed: str, labels: Sequence[str], of: Place) -> Iterator[str]:
    """An example that names one of the labels, and not all."""
    token = re.compile(
        r"(?<![\w.])(" + "|".join(re.escape(one) for one in sorted(labels, key=len, reverse=True)) + r")(?!\w|\.\d)"
    )
    for match in _EXAMPLE.finditer(fixed):
        stop = re.search(r"[\r\n]", fixed[match.end() : match.end() + 120])
        behind = fixed[match.end() : match.end() + (stop.start() if stop else 120)]
        named = list(dict.fromkeys(token.findall(behind)))
        span = len(named) == 2 and re.search(rf"{re.escape(named[0])}\s?{_RANGE}\s?{re.escape(named[1])}", behind)
        if 0 < len(named) < len(labels) and not span and not re.match(r"\s*[|/<]", behind):
            shown = ", ".join(f"“{one}”" for one in named)
            yield (
                tr(
                    "{place} names {shown} in an example. It stays there whatever the order is, and a judge may "
                    "lean towards it.",
                    place=of(line_of(fixed, match.start())),
                    shown=shown,
                )
            )


def _ranges(fixed: str, labels: Sequence[str], of: Place) -> Iterator[str]:
    """A range that says which end is which: "from 1 (worst) to 5 (best)"."""
    known = [value for value in map(number, labels) if value is not None]
    if len(known) < 2:
        return
    low, high = re.escape(f"{min(known):g}"), re.escape(f"{max(known):g}")
    for one, other in ((low, high), (high, low)):
        pattern = re.compile(
            rf"(?<![\w.]){one}(?P<gloss>{_GLOSS})?\s?{_RANGE}\s?{other}(?P<gloss2>{_GLOSS})?(?![\w]|\.\d)",
            re.IGNORECASE,
        )
        for match in pattern.finditer(fixed):
            place = of(line_of(fixed, match.start()))
            if match["gloss"] or match["gloss2"]:
                yield tr(
                    "{place} names the order of the scale too: “{match}”. It stays so when the options move.",
                    place=place,
                    match=match[0],
                )
            else:
                yield tr(
                    "{place} names the range “{match}”, which is true in every order; it stays.",
                    place=place,
                    match=match[0],
                )


def orders_named(fixed: str, of: Place = str) -> Iterator[str]:
    """Words that say in which order the list stands."""
    for match in _ORDER.finditer(fixed):
        start = max(fixed.rfind("\n", 0, match.start()), fixed.rfind(". ", 0, match.start())) + 1
        sentence = " ".join(fixed[start : match.end() + 30].split("\n")[0].split())[:100]
        yield (
            tr(
                "{place} may say in which order the list stands (“{sentence}”), which is not true any more "
                "when it changes.",
                place=of(line_of(fixed, match.start())),
                sentence=sentence,
            )
        )
