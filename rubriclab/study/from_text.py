"""A prompt as it was sent and the texts that it shows in; where they stand, its list, and a template of it out.

Nothing is guessed: a text is located exactly or not at all, a list is proposed with its lines, and what a template
gives back is compared byte for byte with the prompt before anybody uses it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from rubriclab.model.data import Comparison, Criterion, Item, Option, Rubric
from rubriclab.model.judgment import Reorder
from rubriclab.model.study import MAX_TEXT, PromptFile, PromptPart
from rubriclab.model.text import LabError, shorten
from rubriclab.study.template import render

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


_BEFORE = r"(?P<pre>[^\w\n]{0,12}(?<!-)(?:[A-Za-z_]{1,12}[^\w\n]{1,4}){0,3})"
_HEADS = {
    "number": re.compile(
        rf"^{_BEFORE}(?P<label>-?\d{{1,3}})(?![\w%]|\s?[.,–~/-]\s?\d|\s(?:to|or|and)\s)(?=[^\w\n]|\n|$| ?(?:points?|stars?)\b)",
        re.M,
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
    r"(?P<pre>(?<![\w.,/-])(?:(?:- )?(?:score|rating|level) )?)(?P<label>-?\d{1,2})(?=[\"')\]]{0,2}\s?(?:=|:|-(?=\s)|–|means\b)\s?[^\s\d])",
    re.I,
)
_KEY = re.compile(r"(?:[^\w\"]*\"\w+\"\s*[:=]\s*)?\W*")
_TAIL = re.compile(r"(?:</\w+>|[\"'}\]|>,;\s{\[*_`])*\Z")
_SCORED = re.compile(
    r"\b(?:options?|choices?|choos\w+|select\w*|scor\w*|rat(?:e|ing)s?|scales?|grad(?:e|ing)\w*|rubrics?|points?|levels?|labels?|verdict)\b",
    re.I,
)
_STEPS = re.compile(r"\b(?:steps?|instructions?|tasks?|rules?|guidelines?|formats?|examples?|notes?|process)\b", re.I)
_ORDERS = re.compile(
    r"\W*(?:first|then|next|read|assess|compare|identify|assign|check|evaluate|write|provide|determine|rate|consider|think"
    r"|avoid|do|don't|please|output|begin|list|for each|after|you|use|return|give|make|be|never|always|the output)\b",
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
        steps = {b - a for a, b in pairwise(numbers)}
        if (
            len(heads) > 1
            and len({*numbers}) == len(heads)
            and (steps in ({1}, {-1}) or all(head["pre"] for head in heads))
        ):
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


def _shape(head: re.Match[str]) -> tuple[str, str]:
    """What stands before a label, but for numbers that count, and the sign behind it."""
    sign = re.sub(r"\w.*", "", head.string[head.end() :][:3].strip(), flags=re.S)
    return re.sub(r"\d+", "#", head["pre"]), sign[:1]


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


# ---------------------------------------------------------------- a prompt as it was sent


@dataclass(frozen=True)
class Pasted:
    """``prompt`` gives the text back byte for byte; ``rubric``: as the text has it, None where it holds none; ``lines``: first
    and last of its list in the messages put one under the other, from 1; ``notes``: what was seen in it."""

    prompt: PromptFile
    rubric: Rubric | None
    lines: tuple[int, int] | None
    notes: tuple[str, ...]


SHORT = 20
"""Signs: a shorter text that stands somewhere need not be the data's."""
_FORMS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", str),
    ("|trim", str.strip),
    ("|replace('\\r\\n', '\\n')|trim", lambda text: text.replace("\r\n", "\n").strip()),
    ("|replace('\\n', '\\r\\n')|trim", lambda text: text.replace("\n", "\r\n").strip()),
    (".split()|join(' ')", lambda text: " ".join(text.split())),
    ("|json_text", lambda text: json.dumps(text, ensure_ascii=False)[1:-1]),
)
"""What a pipeline does to a text before it stands in a prompt, as an expression and as a function."""


def from_text(
    text: str,
    item: Item,
    axis: Reorder,
    rubric: Rubric | None = None,
    part: PromptPart | None = None,
    *,
    name: str = "pasted",
) -> Pasted:
    """The template of a prompt as it was sent for ``item`` (a Comparison for pairs and lists), plain or as JSON messages.

    ``rubric``: where it is known, its texts are located; else the prompt's own list is taken, where one alone may be it.
    ``part``: what settles it (lines, best, columns). Raises LabError for whatever cannot be told for sure, with the cure.
    """
    messages = _messages(text)
    whole = "\n".join(content for _, content in messages)
    part = part or PromptPart(pasted="-")
    if len(whole) > MAX_TEXT:
        raise LabError(
            f"The prompt has {len(whole):,} signs; at most {MAX_TEXT:,} are read. Take a row with shorter texts."
        )
    names: dict[str, Any] = {"item": dict(item.columns)}
    slots = _item_slots(whole, item, part.columns, names)
    notes, skip = [], [(start, end) for start, end, _ in slots]
    lines: tuple[int, int] | None = None
    order: tuple[int | str, ...] = ()
    labels: tuple[str, ...] = ()
    if isinstance(item, Comparison):
        labels = _candidate_labels(whole, slots)
    elif axis in ("options", "criteria"):
        listed = _known_list(whole, skip, axis, rubric) if rubric else _own_list(whole, skip, part)
        shown = [whole[start:end] for start, end in listed.labels]
        texts = [whole[start:end] for start, end in listed.texts]
        if axis == "options":
            rubric, order = _rubric_of(listed, shown, texts, rubric, part.best)
            rows = zip(shown, order, texts, strict=True)
            names["options"] = [{"label": label, "score": score, "description": about} for label, score, about in rows]
        else:
            assert rubric is not None
            order = tuple(shown)
            about = dict(zip(shown, texts, strict=True))
            rubric = Rubric(rubric.name, tuple(replace(one, description=about[one.name]) for one in rubric.criteria))
            names["criteria"] = [{"name": label, "description": about[label]} for label in shown]
        key = "label" if axis == "options" else "name"
        for k, (label, span) in enumerate(zip(listed.labels, listed.texts, strict=True)):
            slots.append((*label, f"{axis}[{k}].{key}"))
            slots += [(*span, f"{axis}[{k}].description")] if span[0] < span[1] else []
        lines = listed.lines(whole)
        skip.append(listed.span)
        notes.append(f"We found this list (lines {lines[0]} to {lines[1]}); its order will change.")
    fixed = _without(whole, skip)
    if axis == "bare" and rubric is None:
        rubric = _scale(fixed, part.best)
    rule = asked_answer(fixed, labels, axis)
    made, start = [], 0
    for role, content in messages:
        end = start + len(content)
        inside = [(a - start, b - start, code) for a, b, code in slots if start <= a and b <= end]
        made.append({"role": role, "text": template_text(content, inside)})
        start = end + 1
    prompt = PromptFile.model_validate({"name": name, "messages": made, "answer": rule, "order": order})
    (rendered,) = render(prompt, [names])
    if [message["content"] for message in rendered] != [content for _, content in messages]:
        raise LabError(
            "The template does not give this prompt back sign for sign, so it is not used. Choose another row."
        )
    return Pasted(prompt, None if isinstance(item, Comparison) else rubric, lines, tuple(notes))


def _messages(text: str) -> list[tuple[str, str]]:
    """(role, content) of each message of a prompt: of JSON that holds some, else one of the user's."""
    if text.lstrip()[:1] in ("[", "{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        value = value.get("messages") if isinstance(value, dict) else value
        if (
            isinstance(value, list)
            and value
            and all(isinstance(one, dict) and isinstance(one.get("content"), str) for one in value)
        ):
            return [(str(one.get("role", "user")), one["content"]) for one in value]
    return [("user", text)]


def _without(text: str, spans: Sequence[Span]) -> str:
    for start, end in spans:
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text


def _item_slots(
    whole: str, item: Item, columns: Sequence[str] | None, names: dict[str, Any]
) -> list[tuple[int, int, str]]:
    """A slot for each text of the item that the prompt shows; ``names`` gets what they name. Raises LabError."""
    texts = {"instruction": item.instruction, "reference": item.reference}
    answers = item.answers if isinstance(item, Comparison) else ()
    if answers:
        where = [locate(whole, answer.response)[:1] for answer in answers]
        if not all(where):
            raise LabError(
                f"The answers of “{shorten(item.item_id)}” do not all stand in this prompt. Choose the row that it was sent for."
            )
        answers = tuple(answer for _, answer in sorted(zip(where, answers, strict=True), key=lambda pair: pair[0]))
        names["responses"] = [{"label": "", "text": answer.response} for answer in answers]
        texts |= {f"responses[{k}].text": answer.response for k, answer in enumerate(answers)}
    else:
        texts["response"] = item.response
    names |= {key: value for key, value in texts.items() if "[" not in key}
    if missing := sorted(set(columns or ()) - item.columns.keys()):
        raise LabError(
            f"[prompt] columns: the data have no column “{shorten(missing[0])}”; they have {', '.join(item.columns) or 'none'}."
        )
    texts |= {
        f"item[{json.dumps(column)}]": value
        for column, value in item.columns.items()
        if columns is None or column in columns
    }
    slots: list[tuple[int, int, str]] = []
    for key, value in sorted(texts.items(), key=lambda pair: -len(pair[1])):
        own, needed = key.startswith("item["), key.startswith("respons") or key[6:-2] in (columns or ())
        if not value.strip() or (
            own and not needed and (len(value.strip()) < 3 or re.fullmatch(r"[\d\s.,%+-]*", value))
        ):
            continue
        hits: list[tuple[int, int, str]] = []
        for code, change in _FORMS:
            shown = change(value)
            spans = [(start, start + len(shown)) for start in _positions(whole, shown)]
            hits = [(*span, key + code) for span in spans if _whole(whole, span) and not _taken(span, slots)]
            if hits:
                break
        about, row = (
            f"{key.partition('[')[0] if not own else 'column ' + key[6:-2]} (“{shorten(value, 40)}”)",
            "Choose the row that it was sent for",
        )
        if not hits and needed:
            near = [span for span in locate(whole, value) if not _taken(span, slots)]
            why = (
                f"stands at {line_of(whole, near[0][0])} with other blanks than in the data"
                if near
                else "does not stand in this prompt"
            )
            raise LabError(f"The {about} {why}. {row}, or bring the data into the form that was sent.")
        if hits and len(value.strip()) < SHORT and (len(hits) > 1 or (own and not needed)):
            cure = (
                f"{row}, with longer texts"
                if not own
                else "Set columns in [prompt] to those that the prompt shows; columns = [] for none"
            )
            raise LabError(
                f"The {about} stands at {', '.join(line_of(whole, hit[0]) for hit in hits[:3])}, perhaps by chance. {cure}."
            )
        slots += hits
    return slots


def _taken(span: Span, slots: Sequence[tuple[int, int, str]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end, _ in slots)


def _known_list(whole: str, skip: Sequence[Span], axis: Reorder, rubric: Rubric) -> Listed:
    """The list of a rubric's options (or criteria) where their texts stand, each with its label before it. Raises LabError."""
    if axis == "options":
        if len(rubric.criteria) > 1:
            raise LabError(
                "A pasted prompt scores one criterion; give [rubric] that one alone, or reorder its criteria."
            )
        pairs = [(option.shown_label, option.description) for option in rubric.criteria[0].options]
    else:
        pairs = [(criterion.name, criterion.description) for criterion in rubric.criteria]
    plain = _without(whole, skip)
    spans = []
    for label, about in pairs:
        hits = locate(plain, about or label)
        if len(hits) != 1:
            often = f"stands there {len(hits)} times" if hits else "does not stand in this prompt"
            cure = (
                "leave [rubric] out to take the prompt's own list"
                if axis == "options"
                else "change the rubric's words to the prompt's"
            )
            raise LabError(f"“{shorten(about or label)}” of the rubric {often}; {cure}, or paste another prompt.")
        before = plain[max(0, hits[0][0] - 80) : hits[0][0]]
        own = locate(before, label)[-1:] if about else [(len(before) + edge - hits[0][0] for edge in hits[0])]
        if not own:
            raise LabError(
                f"The label “{shorten(label)}” does not stand before “{shorten(about)}” ({line_of(plain, hits[0][0])}). Paste a prompt that shows it."
            )
        first, last = own[0]
        offset = hits[0][0] - len(before)
        spans.append(((offset + first, offset + last), hits[0] if about else (offset + last, offset + last)))
    spans.sort()
    return Listed("number", tuple(label for label, _ in spans), tuple(about for _, about in spans))


def _own_list(whole: str, skip: Sequence[Span], part: PromptPart) -> Listed:
    """The list that an answer is chosen from, where only one may be it or the user names its lines. Raises LabError."""
    window = (part.lines[0], part.lines[-1]) if part.lines else None
    known = lists_in(whole, skip, window)
    listed = known if window else [one for one in known if one.points >= 2]
    if not listed:
        others = (
            "; lists that are none of scores: lines "
            + ", ".join("{} to {}".format(*one.lines(whole)) for one in known[:4])
            if known
            else ""
        )
        raise LabError(
            f"This prompt shows no list of scores that we can tell{others}. If one is, set lines = [first, last] in [prompt]; if none is, "
            'nothing can change its order: reorder = "bare" asks it as it is.'
        )
    if not window and len(listed) > 1 and listed[1].points == listed[0].points:
        words = " or ".join("{} to {}".format(*one.lines(whole)) for one in listed[:3])
        raise LabError(
            f"Two lists may be the scores: lines {words}. Set lines = [first, last] in [prompt] to the one whose order is to change."
        )
    if listed[0].open_end and not window:
        first, last = listed[0].lines(whole)
        raise LabError(
            f"It cannot be told where the last entry of the list at lines {first} to {last} ends. Set lines = [{first}, last line] in [prompt]."
        )
    return listed[0]


def _rubric_of(
    listed: Listed, labels: Sequence[str], texts: Sequence[str], rubric: Rubric | None, best: str
) -> tuple[Rubric, tuple[int, ...]]:
    """(the rubric as the prompt has it, the scores in its order). Raises LabError where scores cannot be told."""
    about = rubric.criteria[0] if rubric else Criterion("Score", (Option(0), Option(1)))
    if rubric:
        score_of = {option.shown_label: option.score for option in about.options}
        scores = [score_of[label] for label in labels]
    elif listed.kind == "number":
        scores = [int(label) for label in labels]
    elif best:
        scores = list(range(1, len(labels) + 1)) if best == "last" else list(range(len(labels), 0, -1))
    else:
        raise LabError(
            f'Which of {", ".join(map(shorten, labels))} is best? Set best = "first" or "last" in [prompt], as the prompt lists them.'
        )
    rows = zip(scores, texts, labels, strict=True)
    options = tuple(Option(score, text, "" if label == str(score) else label) for score, text, label in rows)
    return Rubric(rubric.name if rubric else "Of the prompt", (replace(about, options=options),)), tuple(scores)


def _candidate_labels(whole: str, slots: Sequence[tuple[int, int, str]]) -> tuple[str, ...]:
    """What stands for each candidate in a prompt (A, B; 1, 2) and, last, for a tie that it offers. Raises LabError."""
    labels = []
    for start, _, code in sorted(slots):
        if code.startswith("responses["):
            signs = re.findall(r"(?<![\w'])([A-Za-z]|\d)(?![\w.])", whole[max(0, start - 80) : start])
            labels += signs[-1:]
    count = sum(code.startswith("responses[") for *_, code in slots)
    following = [chr(ord(labels[0]) + k) for k in range(count)] if labels else []
    if len(labels) != count or not (
        labels == following or (len({*labels}) == count and "".join(labels).lower() == labels[0].lower() * count)
    ):
        raise LabError(
            "It cannot be told what stands for each answer in this prompt (A and B, 1 and 2). Write a prompt file, with [answer] labels."
        )
    after = chr(ord(labels[-1]) + 1)
    fixed = _without(whole, [(start, end) for start, end, _ in slots])
    tie = after if f"[[{after}]]" in fixed else "tie" if re.search(r"\btie\b", fixed, re.I) else ""
    return (*labels, *([tie] if tie else []))


_SCALE = re.compile(
    r"\b(?:scales?|scor\w+|rat(?:e|ing)s?|numbers?|integers?|points?|grades?)\b[^\n]{0,60}?(?<![\d.])(-?\d{1,3})\s*(?:to|-|–|~|and|through)\s*(-?\d{1,3})(?![\d%]|\.\d)",
    re.I,
)
_EITHER = re.compile(
    r"[\"'“`(]([\w -]{1,20})[\"'”`)](?: for [\w ]{1,30})?[\s,]*(?:or|/|and)[\s,]*[\"'“`(]([\w -]{1,20})[\"'”`)]", re.I
)


def _scale(fixed: str, best: str) -> Rubric:
    """The scale that a prompt without a list names (1 to 10; “yes” or “no”). Raises LabError for none, two, or too long a one."""
    ranges = {tuple(sorted(map(int, match.groups()))) for match in _SCALE.finditer(fixed)}
    words = list(dict.fromkeys(match.groups() for match in _EITHER.finditer(fixed)))
    low, high = min((low for low, _ in ranges), default=0), max((high for _, high in ranges), default=0)
    if (low, high) in ranges:  # others lie within it: a score between 2 and 3
        return Rubric("Of the prompt", (Criterion("Score", tuple(Option(score) for score in range(low, high + 1))),))
    if not ranges and len(words) == 1:
        if not best:
            raise LabError(
                f'Which is best, “{words[0][0]}” or “{words[0][1]}”? Set best = "first" or "last" in [prompt].'
            )
        scores = (2, 1) if best == "first" else (1, 2)
        options = tuple(Option(score, "", label) for score, label in zip(scores, words[0], strict=True))
        return Rubric("Of the prompt", (Criterion("Score", options),))
    seen = ", ".join([*("{} to {}".format(*one) for one in sorted(ranges)), *(" or ".join(pair) for pair in words)])
    raise LabError(
        f"The scale of this prompt cannot be told{': it names ' + seen if seen else ''}. Give its scores as [rubric]."
    )


def asked_answer(fixed: str, labels: Sequence[str] = (), axis: Reorder = "options") -> dict[str, Any]:
    """The rule of ``[answer]`` for the reply that a prompt asks for; ``fixed``: without the item's words and its list.

    The form that it names last: ``[[5]]``, ``[RESULT] 3``, a key of JSON, a tag; else the verdict as the lab reads it.
    """
    rule: dict[str, Any] = {"labels": labels} if labels else {}
    keys = "score|rating|verdict|grade|label|evaluation|result|choice|winner|better|preference|answer"
    forms = [
        (
            r"\[\[[^\[\]\n]{1,40}\]\]",
            {"read": "pattern", "pattern": r"\[\[\s*(?:[a-z]+\s*:?\s+)?([^\[\]]{1,30}?)\s*\]\]"},
        ),
        (r"\[RESULT\]", {"read": "pattern", "pattern": r"\[RESULT\][\s(:*]*(?:(?:score|response)\s*)?([\w+-]{1,20})"}),
        (rf"[{{,]\s*[\"'](\w*(?:{keys})\w*)[\"']\s*:", {"read": "json", "path": ""}),
        (rf"<(\w*(?:{keys})\w*)>[^<>\n]{{0,200}}</\1>", {"read": "tag", "path": ""}),
    ]
    matches = [(match.start(), match, form) for pattern, form in forms for match in re.finditer(pattern, fixed, re.I)]
    if not matches or axis == "criteria":
        twins = len({label.casefold() for label in labels}) < len(labels)  # m or M
        ending = re.search(r"^\W*(\w+)[^:\n]{0,20}:\s*\Z", fixed, re.M)  # a form to fill in, which replies repeat
        return rule | {"read": "last_label" if twins else "label"} | ({"path": ending[1]} if ending else {})
    _, match, form = max(matches, key=lambda entry: entry[0])
    return rule | form | ({"path": match[1]} if "path" in form else {})
