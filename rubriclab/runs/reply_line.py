"""Show a reply as one line of plain text, with the part that was parsed between » and «.

A reply is a stranger's text. What comes out of here has no control characters and no line breaks;
whoever shows it must still not treat it as markup.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from rubriclab.model.judgment import Outcome
from rubriclab.model.text import without_invisible

SHOWN = 96
"""Characters of a reply in one line: what fits a terminal beside the score."""
LONGEST_MARKED = 20_000
"""Characters of a reply in which the parsed part and marks of reasoning are looked for. Parsing the
longest replies takes up to a second, and the part is found by parsing them again."""
TRIED_LABELS = 12
"""Occurrences of a label in a reply, from its end, that are tried as the parsed part."""
OPEN, CLOSE, BREAK = "»", "«", " ⏎ "
MASK = "\u25a1"
Span = tuple[int, int]
"""Where a part of a text begins, and the end behind it."""


def read_part(
    text: str, outcome: Outcome, label: str, read: Callable[[str], Outcome]
) -> Span | None:
    """Return where the words are that ``outcome`` was parsed from; None if that is not clear.

    Each occurrence of ``label`` is tried alone, the last one first. It is the part if the reader
    gets the same from the reply with all other occurrences masked.
    """
    if not label or len(text) > LONGEST_MARKED:
        return None
    word = re.compile(rf"(?<!\w){re.escape(label)}(?!\w)", re.IGNORECASE)
    spans = [match.span() for match in word.finditer(text)]
    for kept in spans[::-1][:TRIED_LABELS]:
        alone = read(_masked(text, spans, kept))
        same_score = alone.score == outcome.score and alone.position == outcome.position
        if alone.status == outcome.status and same_score:
            return kept
    return None


def _masked(text: str, spans: Sequence[Span], kept: Span) -> str:
    """Return the text with all spans but one masked, at the same length."""
    masked = list(text)
    for start, end in spans:
        if (start, end) != kept:
            masked[start:end] = MASK * (end - start)
    return "".join(masked)


def shown_reply(text: str, spans: Sequence[Span] = (), most: int = SHOWN) -> str:
    """Return a reply as one line of about ``most`` characters, the parts at ``spans`` marked.

    What is far from the first marked part is left out. Marks of the reply's own become ‹ and ›.
    """
    if not text:
        return "(empty)"
    start, end = _window(text, spans, most)
    line = "".join(_pieces(text, spans, start, end))
    if start:
        line = f"… {line}"
    if end < len(text):
        line = f"{line} …"
    return " ".join(line.split())


def _window(text: str, spans: Sequence[Span], most: int) -> Span:
    """Return the part of a text that is shown: a third of it before the first marked part."""
    if not spans:
        return 0, most
    first, last = min(spans)[0], max(end for _, end in spans)
    start = max(0, min(first - most // 3, len(text) - most))
    # All marked parts if they are near each other; two lines' worth at most.
    end = max(start + most, min(last, start + 2 * most))
    return start, end


def _pieces(text: str, spans: Sequence[Span], start: int, end: int) -> Iterator[str]:
    """Yield the plain and the marked pieces of a window, in their order."""
    position = start
    for span_start, span_end in sorted(set(spans)):
        if span_start < position or span_end > end:
            continue
        yield plain(text[position:span_start])
        yield f"{OPEN}{plain(text[span_start:span_end])}{CLOSE}"
        position = span_end
    yield plain(text[position:end])


def plain(text: str) -> str:
    """Return a text without line breaks, invisible characters, and marks that look like ours."""
    text = without_invisible(text).replace(OPEN, "›").replace(CLOSE, "‹")
    return re.sub(r"\s*[\n\r\u2028\u2029]+\s*", BREAK, text)
