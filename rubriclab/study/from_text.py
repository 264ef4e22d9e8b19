"""A prompt as it was sent and the texts that it shows in; where they stand, its list, and a template of it out.

Nothing is guessed: a text is located exactly or not at all, a list is proposed with its lines, and what a template
gives back is compared byte for byte with the prompt before anybody uses it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from rubriclab.model.text import LabError

Span = tuple[int, int]
"""A part of a prompt: start and end, half open."""
MOST_SPANS = 100

# ---------------------------------------------------------------- where a text stands, and a template around it

_MARKS = re.compile(r"^[ \t]*(?:(?:[-*+•–>|#]+|\(?(?:\d{1,3}|[A-Za-z]|[ivxlcdm]{2,5})[.):])[ \t]+)+", re.M)
"""What begins a line of a list: a bullet, a number, a letter."""


def locate(prompt: str, text: str) -> list[Span]:
    """Every part of ``prompt`` that is ``text``, in their order, at most MOST_SPANS; outer blanks of ``text`` do not count.

    As it is written, where it stands so; else word for word across line breaks, runs of blanks and list marks at the
    beginning of lines. A letter or digit beside it makes another word of it: “4” does not stand in “14”. Takes time
    linear in the prompt; an empty text stands nowhere.
    """
    text = text.strip()
    if not text:
        return []
    spans = [(start, start + len(text)) for start in _positions(prompt, text)]
    spans = [span for span in spans if _whole(prompt, span)]
    if spans:
        return spans
    line, starts = _words(prompt)
    words, _ = _words(text)
    offsets = list(accumulate((len(word) + 1 for word in line.split("\0")), initial=0))

    def origin(offset: int) -> int:
        word = bisect_right(offsets, offset) - 1
        return starts[word] + offset - offsets[word]

    spans = [(origin(start), origin(start + len(words) - 1) + 1) for start in _positions(line, words)]
    return [span for span in spans if _whole(prompt, span)]


def _positions(text: str, part: str) -> Iterator[int]:
    """Where a part begins in a text, without overlaps."""
    start, count = text.find(part) if part else -1, 0
    while start >= 0 and count < MOST_SPANS:
        yield start
        start, count = text.find(part, start + len(part)), count + 1


def _whole(text: str, span: Span) -> bool:
    """Whether neither end of a span cuts a word."""
    cuts = ((edge - 1, edge) for edge in span if 0 < edge < len(text))
    return not any(text[before].isalnum() and text[after].isalnum() for before, after in cuts)


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[str, list[int]]:
    """(the words of a text without list marks, with NUL between them; where each begins)."""
    plain = _MARKS.sub(lambda mark: " " * len(mark[0]), text).replace("\0", " ")
    words = list(re.finditer(r"\S+", plain))
    return "\0".join(word[0] for word in words), [word.start() for word in words]


def template_text(prompt: str, slots: Sequence[tuple[int, int, str]]) -> str:
    """The Jinja2 text that renders as ``prompt`` where each slot (start, end, expression) has the text that stands there.

    All else is kept byte for byte (Jinja's own signs, carriage returns, the last line break). Raises LabError for slots
    that overlap: one text stands inside another.
    """
    parts, end = [], 0
    for start, stop, expression in sorted(slots):
        if start < end:
            raise LabError(
                f"Two texts overlap at {line_of(prompt, start)} of the prompt ({expression} begins inside another one). Choose a "
                "row whose texts differ, or leave one of them out."
            )
        parts += [_literal(prompt[end:start]), f"{{{{ {expression} }}}}"]
        end = stop
    return "".join([*parts, _literal(prompt[end:])])


def _literal(text: str) -> str:
    """Text as Jinja2 source: an opening brace that could begin a tag and carriage returns are written as strings."""
    return re.sub(r"\{(?=[{%#\r]|\Z)|\r\n?", lambda sign: f"{{{{ {json.dumps(sign[0])} }}}}", text)


def line_of(text: str, position: int) -> str:
    """“line 3”: the line of a position, from 1."""
    return f"line {text.count(chr(10), 0, position) + 1}"


# ---------------------------------------------------------------- lists


@dataclass(frozen=True)
class Listed:
    """A list in a prompt: the label and the text of each entry (two or more) as spans; a text may be empty.

    ``kind``: number, letter or word, what its labels are; ``open_end``: its entries hold blank lines, so that nobody can
    say where the last one ends; ``points``: how much speaks for its being what an answer is chosen from.
    """

    kind: str
    labels: tuple[Span, ...]
    texts: tuple[Span, ...]
    open_end: bool = False
    points: int = 0

    @property
    def span(self) -> Span:
        return self.labels[0][0], max(self.texts[-1][1], self.labels[-1][1])

    def lines(self, prompt: str) -> tuple[int, int]:
        """Its first and its last line in the prompt, from 1."""
        first, last = (prompt.count("\n", 0, edge) + 1 for edge in self.span)
        return first, last


_BEFORE = r"(?P<pre>[^\w\n]{0,12}(?<!-)(?:[A-Za-z_]{1,12}[^\w\n]{1,4}){0,2})"
_HEADS = {
    "number": re.compile(
        rf"^{_BEFORE}(?P<label>-?\d{{1,3}})(?![\w%]|[.,–-]\d)(?=[^\w\n]|\n|$| ?(?:points?|stars?)\b)", re.M
    ),
    "letter": re.compile(
        r"^(?P<pre>[^\w\n]{0,12}(?:[A-Za-z_]{2,12}[^\w\n]{1,4}){0,2})(?P<label>[A-Z])(?=[^\w\n]{0,3}[:.)\]|=–—\"-])",
        re.M,
    ),
    "word": re.compile(
        r"^(?P<pre>[ \t]*(?:[-*+•|]|\d{1,2}[.)])[ \t]+[\"'*_`]{0,3})(?P<label>[^\W\d][\w '/-]{0,40}?)(?=[\"'*_`]{0,3}[ \t]?(?:[:=|–—]|-(?=\s)))",
        re.M,
    ),
}
_INLINE = re.compile(
    r"(?P<pre>(?<![\w.,/-]))(?P<label>-?\d{1,2})(?=[\"')\]]{0,2}\s?(?:=|:|-(?=\s)|–|means\b)\s?[^\s\d])"
)
_KEY = re.compile(r"(?:[^\w\"]*\"\w+\"\s*[:=]\s*)?\W*")
_TAIL = re.compile(r"(?:</\w+>|[\"'}\]|>,;\s{\[*_`])*\Z")
_SCORED = re.compile(
    r"\b(?:scor\w*|rat(?:e|ing)s?|scales?|grad(?:e|ing)\w*|rubrics?|points?|levels?|labels?|verdict)\b", re.I
)
_STEPS = re.compile(r"\b(?:steps?|instructions?|tasks?|rules?|guidelines?|formats?|examples?|notes?|process)\b", re.I)
_ORDERS = re.compile(
    r"\W*(?:first|then|next|read|assess|compare|identify|assign|check|evaluate|write|provide|determine|rate|consider|think"
    r"|avoid|do|don't|please|output|begin|list|for each|if|after|you|use|return|give|make|be|never|always|the output)\b",
    re.I,
)


def lists_in(prompt: str, skip: Sequence[Span] = (), lines: tuple[int, int] | None = None) -> list[Listed]:
    """The lists in a prompt, those first for which most speaks; ``skip``: texts whose lists are their own.

    Numbered, lettered, bulleted or in a table, XML or JSON, one entry a line or several; numbered ones also within a line.
    ``lines``: only the list between these two, from 1. A list needs two entries with labels of their own.
    """
    plain = prompt
    for start, end in skip:
        plain = plain[:start] + re.sub(r"[^\n]", "_", plain[start:end]) + plain[end:]
    edges = [0, *(mark.end() for mark in re.finditer("\n", plain)), len(plain) + 1]
    first, last = (1, len(edges) - 1) if lines is None else lines
    if not 1 <= first <= last < len(edges):
        raise LabError(f"The prompt has {len(edges) - 1} lines; lines {first} to {last} are not in it.")
    window = (edges[first - 1], min(edges[last], len(plain)))
    made: dict[Span, Listed] = {}
    for kind, pattern in _HEADS.items():
        for heads in _runs(list(pattern.finditer(plain, *window)), plain):
            listed = _taken_apart(plain, kind, heads, None if lines is None else window[1])
            if listed is not None:
                made.setdefault(listed.span, listed)
    for line in range(first - 1, last):
        heads = list(_INLINE.finditer(plain, edges[line], edges[line + 1] - 1))
        numbers = [int(head["label"]) for head in heads]
        if len(heads) > 1 and {b - a for a, b in pairwise(numbers)} in ({1}, {-1}):
            listed = _taken_apart(plain, "number", heads, edges[line + 1] - 1, inline=True)
            if listed is not None:
                made.setdefault(listed.span, listed)
    return sorted(made.values(), key=lambda listed: (-listed.points, listed.span))


def _runs(heads: list[re.Match[str]], text: str) -> Iterator[list[re.Match[str]]]:
    """Heads that belong to one list: they begin alike (but for a number that counts), each label once, no heading between."""
    run: list[re.Match[str]] = []
    for head in [*heads, None]:
        same = bool(run) and head is not None and _shape(head) == _shape(run[0])
        fresh = same and head["label"] not in [known["label"] for known in run]  # type: ignore[index]
        if run and not (fresh and text.count("\n\n", run[-1].end(), head.start()) <= 3):  # type: ignore[union-attr]
            if len(run) > 1:
                yield run
            run = []
        if head is not None:
            run.append(head)


def _shape(head: re.Match[str]) -> str:
    return re.sub(r"\d+", "#", head["pre"])


def _taken_apart(
    text: str, kind: str, heads: Sequence[re.Match[str]], end: int | None, *, inline: bool = False
) -> Listed | None:
    """The labels and texts of a list whose entries begin with ``heads``; None for one that cannot be reordered whole.

    What all entries have behind the label (“: ", quotes, a key of JSON) and what closes them stays where it is.
    """
    starts = [head.end() for head in heads]
    stops = [head.start() for head in heads[1:]]
    bodies = [text[start:stop].rstrip() for start, stop in zip(starts, stops, strict=False)]
    pre = heads[0]["pre"]
    if re.search(r"[-*+•|]", pre) and any(f"\n{pre}" in body for body in bodies):
        return None  # an entry of the same list has no label: it would go along with the one above
    paragraphs = any(re.search(r"\n[ \t]*\n", body) for body in bodies)
    if end is None:
        several = any("\n" in body for body in bodies)
        stop = re.compile(r"\n[ \t]*(?:\n|\Z)" if several else r"\n").search(text, starts[-1])
        end = stop.start() if stop else len(text)
    elif inline:
        stop = re.compile(r"[.;)\]}]?(?=\s*\Z|[.;)\]}](?:\s|\Z))").search(text, starts[-1], end)
        end = stop.start() if stop else end
    bodies.append(text[starts[-1] : end].rstrip())
    shared = bodies[0][
        : next((k for k, signs in enumerate(zip(*bodies, strict=False)) if len({*signs}) > 1), min(map(len, bodies)))
    ]
    between = _KEY.match(shared)
    middle = between.end() if between else 0
    tails = [_TAIL.search(body, min(middle, len(body))) for body in bodies]
    texts = [body[middle : tail.start() if tail else None] for body, tail in zip(bodies, tails, strict=True)]
    if shared[:middle].rstrip().endswith("(") and all(body.endswith(")") for body in texts):
        texts = [body[:-1] for body in texts]
    if any(body.count(opened) != body.count(closed) for body in texts for opened, closed in ("()", "[]", "{}")):
        return None
    spans = tuple((start + middle, start + middle + len(body)) for start, body in zip(starts, texts, strict=True))
    labels = tuple(head.span("label") for head in heads)
    listed = Listed(kind, labels, tuple(map(_within, spans, labels)), paragraphs and not inline)
    return Listed(kind, listed.labels, listed.texts, listed.open_end, _points(text, listed, heads, texts))


def _within(span: Span, label: Span) -> Span:
    """The span of a text; of an empty one, behind its label."""
    return span if span[1] > span[0] else (label[1], label[1])


def _points(text: str, listed: Listed, heads: Sequence[re.Match[str]], texts: Sequence[str]) -> int:
    """How much speaks for a list of scores: what its labels are called, the lines around it, how its texts begin."""
    above = re.findall(r"^.*\w.*$", text[max(0, heads[0].start() - 1_000) : heads[0].start()], re.M)[-1:]
    below = re.findall(r"^.*\w.*$", text[listed.span[1] : listed.span[1] + 1_000], re.M)[:1]
    scored = [
        bool(_SCORED.search(part)) for part in (heads[0]["pre"] + text[heads[0].end("label") :][:8], *above, *below)
    ]
    points = (listed.kind == "number") + 3 * scored[0] + 2 * any(scored[1:])
    steps = any(_STEPS.search(line) for line in above)
    commands = sum(bool(_ORDERS.match(body.strip("*_ :\"'"))) for body in texts)
    return points - 3 * steps - 3 * (2 * commands > len(texts))
