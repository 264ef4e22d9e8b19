"""Turn a prompt that was sent into a template: find the item's texts and the list of scores in it.

Nothing is guessed. A text is found exactly or not at all, and a list is proposed with its lines.
Before anybody uses the template, its rendering is compared with the prompt byte for byte.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise, takewhile
from pathlib import Path
from typing import Any

from rubriclab.model.data import Comparison, Criterion, Item, Option, Rubric
from rubriclab.model.judgment import Reorder
from rubriclab.model.study import MAX_TEXT, ExamplesPart, PromptFile, PromptPart
from rubriclab.model.text import LabError, shorten
from rubriclab.study.examples import examples_of
from rubriclab.study.prompts import Messages
from rubriclab.study.subjects import Example
from rubriclab.study.template import render

Span = tuple[int, int]
"""A part of a prompt: start and end, half open."""
Slot = tuple[int, int, str]
"""A part of a prompt (start, end), and the template expression that gives it."""
MOST_SPANS = 100
"""Places of one text in a prompt. More are found only of a text like “a”, which says nothing."""

# ------------------------------------------------------ where a text is, and a template around it

_MARKS = re.compile(
    r"^[ \t]*(?:(?:[-*+•–>|#]+|\(?(?:\d{1,3}|[A-Za-z]|[ivxlcdm]{2,5})[.):])[ \t]+)+", re.M
)
"""How a line of a list begins: a bullet, a number, or a letter."""


def locate(prompt: str, text: str) -> list[Span]:
    """Return every place of ``text`` in ``prompt``, in their order, at most MOST_SPANS.

    Outer blanks of ``text`` do not count. If it is nowhere as it is written, it is compared word
    for word, across line breaks, runs of blanks and list marks at the beginning of lines. A letter
    or digit next to it makes it another word: “4” is not in “14”. An empty text is nowhere. The
    time is linear in the prompt.
    """
    if spans := _exact(prompt, text.strip()):
        return spans
    line, starts = _words(prompt)
    offsets = list(accumulate((len(word) + 1 for word in line.split("\0")), initial=0))

    def origin(offset: int) -> int:
        word = bisect_right(offsets, offset) - 1
        return starts[word] + offset - offsets[word]

    return [(origin(start), origin(end - 1) + 1) for start, end in _exact(line, _words(text)[0])]


def _exact(text: str, part: str) -> list[Span]:
    """Return the places of a part in a text, without overlaps. Neither end may cut a word."""
    spans: list[Span] = []
    start = text.find(part) if part else -1
    while start >= 0 and len(spans) < MOST_SPANS:
        end = start + len(part)
        cut = any(
            text[max(edge - 1, 0) : edge].isalnum() and text[edge : edge + 1].isalnum()
            for edge in (start, end)
        )
        if not cut:
            spans.append((start, end))
        start = text.find(part, end)
    return spans


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[str, list[int]]:
    """Return (the words of a text without list marks, joined by NUL; where each word begins)."""
    plain = _MARKS.sub(lambda mark: " " * len(mark[0]), text).replace("\0", " ")
    words = list(re.finditer(r"\S+", plain))
    return "\0".join(word[0] for word in words), [word.start() for word in words]


def template_text(prompt: str, slots: Sequence[Slot]) -> str:
    """Return the Jinja2 template of ``prompt`` with an expression in place of each slot.

    Everything else is kept byte for byte, also Jinja's own characters, carriage returns and the
    last line break. Raises LabError if one text is inside another one, so that their slots overlap.
    """
    parts, end = [], 0
    for start, stop, expression in sorted(slots):
        if start < end:
            raise LabError(
                f"Two texts overlap at {line_of(prompt, start)} of the prompt ({expression} begins "
                f"inside another one). Choose a row whose texts differ, or leave one of them out."
            )
        parts += [_literal(prompt[end:start]), f"{{{{ {expression} }}}}"]
        end = stop
    return "".join([*parts, _literal(prompt[end:])])


def _literal(text: str) -> str:
    """Return Jinja2 source for a text.

    A brace that could begin a tag, and carriage returns, which Jinja2 would change, become strings.
    """
    return re.sub(r"\{(?=[{%#\r]|\Z)|\r\n?", lambda sign: f"{{{{ {json.dumps(sign[0])} }}}}", text)


def line_of(text: str, position: int) -> str:
    """Return the line of a position in words, counted from 1: “line 3”."""
    return f"line {text.count(chr(10), 0, position) + 1}"


# ---------------------------------------------------------------- lists


@dataclass(frozen=True)
class Listed:
    """One list of two or more entries in a prompt.

    kind: what its labels are: number, letter or word.
    labels, texts: the place of each entry's label and text. A text may be empty.
    points: how likely a score is chosen from this list. More is likelier.
    """

    kind: str
    labels: tuple[Span, ...]
    texts: tuple[Span, ...]
    points: int = 0

    @property
    def span(self) -> Span:
        return self.labels[0][0], max(self.texts[-1][1], self.labels[-1][1])

    def lines(self, prompt: str) -> tuple[int, int]:
        """Return its first and last line in the prompt, counted from 1."""
        first, last = (prompt.count("\n", 0, edge) + 1 for edge in self.span)
        return first, last

    def entries(self, prompt: str) -> list[tuple[str, str]]:
        """Return the label and the text of each entry."""
        spans = zip(self.labels, self.texts, strict=True)
        return [(prompt[slice(*label)], prompt[slice(*text)]) for label, text in spans]


_BEFORE = r"(?P<pre>[^\w\n]{0,12}(?<!-)(?:[A-Za-z_]{1,12}[^\w\n]{1,4}){0,3})"
_HEADS = {
    "number": re.compile(
        rf"^{_BEFORE}(?P<label>-?\d{{1,3}})(?![\w%]|\s?[.,–~/-]\s?\d|\s(?:to|or|and)\s)"
        r"(?=[^\w\n]|\n|$| ?(?:points?|stars?)\b)",
        re.M,
    ),
    "letter": re.compile(
        r"^(?P<pre>[^\w\n]{0,12}(?:[A-Za-z_]{2,12}[^\w\n]{1,4}){0,2})(?P<label>[A-Z])(?=[^\w\n]{0,3}[:.)\]|=–—\"-])",
        re.M,
    ),
    "word": re.compile(
        r"^(?P<pre>[ \t]*(?:[-*+•|]|\d{1,2}[.)])[ \t]+[\"'*_`]{0,3})(?P<label>[^\W\d][\w "
        r"'/-]{0,40}?)(?=[\"'*_`]{0,3}[ \t]?(?:[:=|–—]|-(?=\s)))",
        re.M,
    ),
}
_INLINE = re.compile(
    r"(?P<pre>(?<![\w.,/-])(?:(?:- )?(?:score|rating|level) "
    r")?)(?P<label>-?\d{1,2})(?=[\"')\]]{0,2}\s?(?:=|:|-(?=\s)|–|means\b)\s?[^\s\d])",
    re.I,
)
_KEY = re.compile(r"(?:[^\w\"]*\"\w+\"\s*[:=]\s*)?\W*")
_TAIL = re.compile(r"(?:</\w+>|[\"'}\]|>,;\s{\[*_`])*\Z")
_SCORED = re.compile(
    r"\b(?:options?|choices?|choos\w+|select\w*|scor\w*|rat(?:e|ing)s?|scales?|grad(?:e|ing)\w*|rubrics?|points?|levels?|labels?|verdict)\b",
    re.I,
)
_STEPS = re.compile(
    r"\b(?:steps?|instructions?|tasks?|rules?|guidelines?|formats?|examples?|notes?|process)\b",
    re.I,
)
_COMMANDS = re.compile(
    r"\W*(?:first|then|next|read|assess|compare|identify|assign|check|evaluate|write|provide|determine|rate|consider|think"
    r"|avoid|do|don't|please|output|begin|list|for "
    r"each|after|you|use|return|give|make|be|never|always|the output)\b",
    re.I,
)


def lists_in(
    prompt: str, skip: Sequence[Span] = (), lines: tuple[int, int] | None = None
) -> list[Listed]:
    """Return the lists in a prompt, the likeliest list of scores first.

    A list is numbered, lettered, bulleted, or in a table, XML or JSON. An entry has one line or
    several; a numbered list may also be within one line. A list needs two entries with different
    labels. ``skip``: texts of the item, whose own lists do not count. ``lines``: look only between
    these two lines, counted from 1.
    """
    plain = _blanked(prompt, skip, "_")
    edges = [0, *(mark.end() for mark in re.finditer("\n", plain)), len(plain) + 1]
    first, last = (1, len(edges) - 1) if lines is None else lines
    if not 1 <= first <= last < len(edges):
        raise LabError(
            f"Lines {first} to {last} are not in the prompt, which has {len(edges) - 1} lines. "
            f"Correct lines in [prompt]."
        )
    window = (edges[first - 1], min(edges[last], len(plain)))
    runs = [
        (kind, run, False)
        for kind, pattern in _HEADS.items()
        for run in _runs(pattern.finditer(plain, *window))
    ]
    for line in range(first - 1, last):
        heads = list(_INLINE.finditer(plain, edges[line], edges[line + 1] - 1))
        steps = {int(b["label"]) - int(a["label"]) for a, b in pairwise(heads)}
        if steps in ({1}, {-1}) or (
            len(heads) > 1 and 0 not in steps and all(head["pre"] for head in heads)
        ):
            runs.append(("number", heads, True))
    made: dict[Span, Listed] = {}
    for kind, heads, inline in runs:
        end: int | None
        if lines:
            end = window[1]
        elif inline:
            end = plain.find("\n", heads[-1].end())
            if end < 0:
                end = len(plain)
        else:
            end = None
        listed = _taken_apart(plain, kind, heads, end, inline=inline)
        if listed is not None:
            made.setdefault(listed.span, listed)
    return sorted(made.values(), key=lambda listed: (-listed.points, listed.span))


def score_lists(prompt: str) -> list[Listed]:
    """Return the lists of numbers that could be a prompt's scores, the likeliest first."""
    return [listed for listed in lists_in(prompt) if listed.kind == "number" and listed.points >= 2]


def _runs(heads: Iterable[re.Match[str]]) -> list[list[re.Match[str]]]:
    """Group the heads of entries into lists.

    Heads of one list begin in the same way (except for a number that counts), each label occurs
    once, and at most three blank lines are between two of them.
    """
    runs: list[list[re.Match[str]]] = []
    for head in heads:
        last = runs[-1] if runs else []
        near = last and head.string.count("\n\n", last[-1].end(), head.start()) <= 3
        if (
            near
            and _shape(head) == _shape(last[0])
            and head["label"] not in [known["label"] for known in last]
        ):
            last.append(head)
        else:
            runs.append([head])
    return [run for run in runs if len(run) > 1]


def _shape(head: re.Match[str]) -> tuple[str, str]:
    """Return the text before a label, with # for numbers that count, and the character after it."""
    sign = re.sub(r"\w.*", "", head.string[head.end() :][:3].strip(), flags=re.S)
    return re.sub(r"\d+", "#", head["pre"]), sign[:1]


def _taken_apart(
    text: str, kind: str, heads: Sequence[re.Match[str]], end: int | None, *, inline: bool = False
) -> Listed | None:
    """Return the list whose entries begin with ``heads``; None if it cannot be reordered whole.

    What all entries have after the label (a colon, quotes, a JSON key) and what closes an entry is
    part of the prompt, not of the entry's text.
    """
    starts = [head.end() for head in heads]
    stops = [head.start() for head in heads[1:]]
    bodies = [text[start:stop].rstrip() for start, stop in zip(starts, stops, strict=False)]
    pre = heads[0]["pre"]
    if re.search(r"[-*+•|]", pre) and any(f"\n{pre}" in body for body in bodies):
        return None  # an entry has no label, so it would move together with the one above
    if end is None:
        if any(re.search(r"\n[ \t]*\n", body) for body in bodies):
            return None  # with blank lines inside, nobody can say where the last entry ends
        several = any("\n" in body for body in bodies)
        stop = re.compile(r"\n[ \t]*(?:\n|\Z)" if several else r"\n").search(text, starts[-1])
        end = stop.start() if stop else len(text)
    elif inline:
        stop = re.compile(r"[.;)\]}]?(?=\s*\Z|[.;)\]}](?:\s|\Z))").search(text, starts[-1], end)
        end = stop.start() if stop else end
    bodies.append(text[starts[-1] : end].rstrip())
    alike = takewhile(lambda signs: len({*signs}) == 1, zip(*bodies, strict=False))
    shared = "".join(signs[0] for signs in alike)
    middle = _KEY.match(shared).end()  # type: ignore[union-attr]
    texts = [body[middle : max(middle, _TAIL.search(body).start())] for body in bodies]  # type: ignore[union-attr]
    if shared[:middle].rstrip().endswith("(") and all(body.endswith(")") for body in texts):
        texts = [body[:-1] for body in texts]
    if any(
        body.count(opened) != body.count(closed)
        for body in texts
        for opened, closed in ("()", "[]", "{}")
    ):
        return None
    labels = tuple(head.span("label") for head in heads)
    spans = tuple(
        (start + middle, start + middle + len(body))
        for start, body in zip(starts, texts, strict=True)
    )
    pairs = zip(spans, labels, strict=True)
    spans = tuple(span if span[0] < span[1] else (label[1], label[1]) for span, label in pairs)
    listed = Listed(kind, labels, spans)
    return replace(listed, points=_points(text, listed, heads, texts))


def _points(text: str, listed: Listed, heads: Sequence[re.Match[str]], texts: Sequence[str]) -> int:
    """Return how likely a list is the list of scores.

    What counts is what its labels are called, the lines around it, and how its texts begin.
    """
    above = re.findall(
        r"^.*\w.*$", text[max(0, heads[0].start() - 1_000) : heads[0].start()], re.M
    )[-1:]
    below = re.findall(r"^.*\w.*$", text[listed.span[1] :][:1_000], re.M)[:1]
    pre = heads[0]["pre"]
    named = _SCORED.search(pre + text[heads[0].end("label") :][:8]) is not None
    points = 0
    if listed.kind == "number":
        points += 1
    if named:
        points += 3
    if any(map(_SCORED.search, above + below)):
        points += 2
    if _SCORED.search(pre):
        above = []  # “Score 1:” does not begin a step, whatever the line above is about
    if any(map(_STEPS.search, [pre, *above])):
        points -= 3
    commands = sum(_COMMANDS.match(body.strip("*_ :\"'")) is not None for body in texts)
    if 2 * commands > len(texts):
        points -= 3
    return points


# ---------------------------------------------------------------- a prompt as it was sent


@dataclass(frozen=True)
class Pasted:
    """A template that renders as the pasted prompt, byte for byte.

    rubric: the rubric in the words of the prompt; None for pairs and lists.
    lines: first and last line of the list, counted from 1 over all messages.
    """

    prompt: PromptFile
    rubric: Rubric | None
    lines: tuple[int, int] | None


SHORT = 20
"""Characters. A shorter text may be in a prompt by chance, without coming from the data."""
_FORMS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", str),
    ("|replace('\\r\\n', '\\n')|trim", lambda text: text.replace("\r\n", "\n").strip()),
    ("|replace('\\n', '\\r\\n')|trim", lambda text: text.replace("\n", "\r\n").strip()),
    (".split()|join(' ')", lambda text: " ".join(text.split())),
    ("|json_text", lambda text: json.dumps(text, ensure_ascii=False)[1:-1]),
)
"""How a pipeline may change a text for a prompt, as a template expression and as a function."""
OTHER_ROW = "Choose the row that it was sent for, one with long texts"


def from_text(
    text: str,
    item: Item,
    axis: Reorder,
    rubric: Rubric | None,
    part: PromptPart,
    examples: ExamplesPart | None = None,
) -> Pasted:
    """Return the template of a prompt that was sent for ``item``, plain or as JSON messages.

    ``item`` is a Comparison for pairs and lists. If ``rubric`` is given, we look for its list.
    Otherwise we take the prompt's own list, if only one can be the scores. ``part``: the user's
    lines, best and columns, which decide what we cannot. ``examples``: the study's, which are found
    by their texts and labels. Raises LabError for whatever is not sure,
    and says what to do.
    """
    if part.of not in ("", axis):
        raise LabError(
            f'[prompt] of is "{part.of}", but the study reorders {axis}. Set reorder = "{part.of}" '
            f"in [design], or leave of out."
        )
    messages = messages_of(text)
    contents = [message["content"] for message in messages]
    whole = "\n".join(contents)
    if len(whole) > MAX_TEXT:
        raise LabError(
            f"The prompt has {len(whole):,} characters; the limit is {MAX_TEXT:,}. Choose a row "
            f"with shorter texts."
        )
    names: dict[str, Any] = {"item": dict(item.columns)}
    slots = _item_slots(whole, item, part.columns, names)
    skip, lines, order = [slot[:2] for slot in slots], None, list[int | str]()
    if axis in ("options", "criteria"):
        listed = _list_of(whole, skip, axis, rubric, part)
        shown, texts = zip(*listed.entries(whole), strict=True)
        slots += _list_slots(whole, listed, axis, names)
        if axis == "options":
            rubric, order = _rubric_of(listed, shown, texts, rubric, part.best)
        elif rubric is not None:
            rubric, order = _described(rubric, dict(zip(shown, texts, strict=True))), list(shown)
        lines = listed.lines(whole)
        skip.append(listed.span)
    fixed = _blanked(whole, skip)
    if axis in ("bare", "examples") and rubric is None:
        rubric = _scale(fixed, part.best)
    if axis == "examples" and rubric is not None:
        shown_examples = _shown_examples(item, rubric, examples)
        found = _example_slots(whole, skip, shown_examples, part, names)
        slots += found.slots
        lines, order = found.lines, list(found.order)
        fixed = _blanked(fixed, [slot[:2] for slot in found.slots])
    labels = candidate_labels(whole, fixed, slots) if isinstance(item, Comparison) else ()
    made = _templates(messages, slots)
    values = {
        "name": Path(part.pasted).stem[:200],
        "messages": made,
        "answer": asked_answer(fixed, labels, axis),
    }
    prompt = PromptFile.model_validate(values | {"order": order, "item": item.item_id})
    if [message["content"] for message in render(prompt, [names])[0]] != contents:
        raise LabError(
            f"The template does not give this prompt back character by character, so the lab "
            f"does not use it. "
            f"{OTHER_ROW}."
        )
    return Pasted(prompt, None if isinstance(item, Comparison) else rubric, lines)


def _list_slots(whole: str, listed: Listed, axis: Reorder, names: dict[str, Any]) -> list[Slot]:
    """Return the slots of a list's labels and texts. Their values are added to ``names``."""
    key = "label" if axis == "options" else "name"
    names[axis] = []
    slots: list[Slot] = []
    for k, (label, about) in enumerate(listed.entries(whole)):
        names[axis].append({key: label, "description": about})
        slots.append((*listed.labels[k], f"{axis}[{k}].{key}"))
        if about:
            slots.append((*listed.texts[k], f"{axis}[{k}].description"))
    return slots


@dataclass(frozen=True)
class _Found:
    """Where a prompt shows examples.

    order: their numbers, as the prompt has them. lines: the first and the last one, from 1.
    """

    slots: tuple[Slot, ...]
    order: tuple[int, ...]
    lines: tuple[int, int]


def _shown_examples(
    item: Item, rubric: Rubric, examples: ExamplesPart | None
) -> tuple[Example, ...]:
    """Return the examples of a pasted prompt. Raises LabError if the study has none."""
    if examples is None or examples.file:
        raise LabError("The study has no examples that the prompt could show. Add [examples].")
    if len(rubric.criteria) > 1:
        raise LabError("A pasted prompt scores one criterion. Give [rubric] only that criterion.")
    return examples_of(examples, item, rubric.criteria[0])


def _example_slots(
    whole: str,
    skip: Sequence[Span],
    examples: Sequence[Example],
    part: PromptPart,
    names: dict[str, Any],
) -> _Found:
    """Return the slots of the examples' texts and labels; their values are added to ``names``.

    A text must be in the prompt once. A label is found in the same words behind (or before) each
    text. Raises LabError for whatever is not sure.
    """
    first, last = (part.lines[0], part.lines[-1]) if part.lines else (1, whole.count("\n") + 1)
    edges = [0, *(mark.end() for mark in re.finditer("\n", whole)), len(whole) + 1]
    if not 1 <= first <= last < len(edges):
        raise LabError(
            f"Lines {first} to {last} are not in the prompt, which has {len(edges) - 1} lines. "
            f"Correct lines in [prompt]."
        )
    window = edges[first - 1], min(edges[last], len(whole))
    spots: list[tuple[Span, int]] = []
    for number, example in enumerate(examples, start=1):
        spans = [
            span
            for span in _exact(whole, example.text.strip())
            if window[0] <= span[0] and span[1] <= window[1]
            if not any(a < span[1] and span[0] < b for a, b in skip)
        ]
        if len(spans) != 1:
            where = f"{len(spans)} times" if spans else "not"
            raise LabError(
                f"Example {number} (“{shorten(example.text)}”) is {where} in this prompt. Set "
                f"lines = [first, last] in [prompt] to the lines of the examples, and give their "
                f"texts word for word."
            )
        spots.append((spans[0], number))
    spots.sort()
    listed = [examples[number - 1] for _, number in spots]
    places = _label_places(whole, [span for span, _ in spots], listed, window)
    names["examples"] = [
        {"text": example.text.strip(), "label": example.label} for example in listed
    ]
    slots: list[Slot] = []
    for k, (span, _) in enumerate(spots):
        slots.append((*span, f"examples[{k}].text|trim"))
        if places:
            slots.append((*places[k], f"examples[{k}].label"))
    starts = [start for start, _, _ in slots]
    ends = [end for _, end, _ in slots]
    lines = whole.count("\n", 0, min(starts)) + 1, whole.count("\n", 0, max(ends)) + 1
    return _Found(tuple(slots), tuple(number for _, number in spots), lines)


def _label_places(
    whole: str, texts: Sequence[Span], listed: Sequence[Example], window: Span
) -> list[Span]:
    """Return the place of each example's label, in the order of the prompt; none without labels.

    Raises LabError unless all are in the same words behind their texts, or before them.
    """
    if not all(example.label for example in listed):
        return []
    behind: list[Span] = []
    before: list[Span] = []
    for k, (start, end) in enumerate(texts):
        until = texts[k + 1][0] if k + 1 < len(texts) else window[1]
        since = texts[k - 1][1] if k else window[0]
        label = listed[k].label
        behind += [(a + end, b + end) for a, b in _exact(whole[end:until], label)[:1]]
        before += [(a + since, b + since) for a, b in _exact(whole[since:start], label)[-1:]]
    between_behind = {whole[end:a] for (_, end), (a, _) in zip(texts, behind, strict=False)}
    between_before = {whole[b:start] for (start, _), (_, b) in zip(texts, before, strict=False)}
    if len(behind) == len(texts) and len(between_behind) == 1:
        return behind
    if len(before) == len(texts) and len(between_before) == 1:
        return before
    labels = ", ".join(example.label for example in listed)
    raise LabError(
        f"The lab does not find the labels {shorten(labels)} in the same words behind each "
        f"example, or before each. Write it as a prompt file that loops over {{{{ examples }}}}."
    )


def _described(rubric: Rubric, about: Mapping[str, str]) -> Rubric:
    """Return the rubric with the descriptions of criteria that the prompt has."""
    criteria = tuple(
        replace(criterion, description=about[criterion.name]) for criterion in rubric.criteria
    )
    return Rubric(rubric.name, criteria)


def _templates(messages: Messages, slots: Sequence[Slot]) -> list[dict[str, str]]:
    """Return each message as a template. ``slots``: places in all messages, joined by newlines."""
    made = []
    start = 0
    for message in messages:
        content = message["content"]
        end = start + len(content)
        inside = [(a - start, b - start, code) for a, b, code in slots if start <= a and b <= end]
        made.append({"role": message["role"], "text": template_text(content, inside)})
        start = end + 1
    return made


def messages_of(text: str) -> Messages:
    """Return the messages of a prompt: those in its JSON, or else one message of the user."""
    try:
        value = json.loads(text)
        parts = value["messages"] if isinstance(value, dict) else value
        messages = [
            {"role": str(part.get("role", "user")), "content": part["content"]} for part in parts
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        messages = []
    whole = bool(messages) and all(isinstance(message["content"], str) for message in messages)
    return tuple(messages) if whole else ({"role": "user", "content": text},)


def _blanked(text: str, spans: Sequence[Span], sign: str = " ") -> str:
    """Return ``text`` with ``sign`` in place of every character in ``spans``, line breaks kept."""
    for start, end in spans:
        text = text[:start] + re.sub(r"[^\n]", sign, text[start:end]) + text[end:]
    return text


def _item_slots(
    whole: str, item: Item, columns: Sequence[str] | None, names: dict[str, Any]
) -> list[Slot]:
    """Return a slot for each text of the item that the prompt shows.

    The values that the slots name are added to ``names``. Raises LabError for a text that is not in
    the prompt, or may be there by chance.
    """
    names |= {
        "instruction": item.instruction,
        "reference": item.reference,
        "response": item.response,
    }
    texts = {key: names[key] for key in ("instruction", "reference", "response")}
    if isinstance(item, Comparison):
        first = {answer.response: locate(whole, answer.response)[:1] for answer in item.answers}
        del texts["response"]
        names["responses"] = [{"text": text} for text in sorted(first, key=first.__getitem__)]
        texts |= {
            f"responses[{k}].text": response["text"]
            for k, response in enumerate(names["responses"])
        }
    if missing := sorted({*(columns or ())} - item.columns.keys()):
        known = ", ".join(item.columns) or "none"
        raise LabError(
            f"[prompt] columns: the data has no column “{shorten(missing[0])}”. Its columns are "
            f"{known}."
        )
    asked = item.columns if columns is None else columns
    texts |= {f"item[{json.dumps(column)}]": item.columns[column] for column in asked}
    slots: list[Slot] = []
    for key, value in sorted(texts.items(), key=lambda pair: -len(pair[1])):
        column, bare = key.startswith("item["), value.strip()
        needed = key.startswith("respons") or (column and columns is not None)
        if not bare or (
            column and not needed and (len(bare) < 3 or re.fullmatch(r"[\d\s.,%+-]*", bare))
        ):
            continue
        hits: list[Slot] = []
        for code, change in _FORMS:
            spans = [] if hits else _exact(whole, change(value))
            hits += [
                (*span, key + code)
                for span in spans
                if not any(a < span[1] and span[0] < b for a, b, _ in slots)
            ]
        if needed and not hits:
            near = locate(whole, value)
            why = "is not in this prompt"
            if near:
                why = f"is at {line_of(whole, near[0][0])} with other blanks"
            raise LabError(f"{key} (“{shorten(value)}”) {why}. {OTHER_ROW}.")
        if hits and len(bare) < SHORT and (len(hits) > 1 or (column and not needed)):
            lines = ", ".join(line_of(whole, hit[0]) for hit in hits[:3])
            advice = OTHER_ROW
            if column:
                advice = "Set columns in [prompt] to the columns that it shows, or [] for none"
            raise LabError(f"{key} (“{bare}”) is at {lines}, perhaps by chance. {advice}.")
        slots += hits
    return slots


def _list_of(
    whole: str, skip: Sequence[Span], axis: Reorder, rubric: Rubric | None, part: PromptPart
) -> Listed:
    """Return the list whose order changes.

    With a rubric it is the list of its options (or criteria), word for word. Without one it is the
    list of scores, if only one list can be that or the user names its lines. Raises LabError.
    """
    window = (part.lines[0], part.lines[-1]) if part.lines else None
    known = lists_in(whole, skip, window)
    words = ", ".join("{} to {}".format(*listed.lines(whole)) for listed in known[:4]) or "none"
    if rubric is not None:
        if axis == "options" and len(rubric.criteria) > 1:
            raise LabError(
                "A pasted prompt scores one criterion. Give [rubric] only that criterion, or use "
                'reorder = "criteria".'
            )
        pairs = [(option.shown_label, option.description) for option in rubric.criteria[0].options]
        if axis == "criteria":
            pairs = [(criterion.name, criterion.description) for criterion in rubric.criteria]
        wanted = sorted((label, _words(about)[0]) for label, about in pairs)
        for listed in known:
            if sorted((label, _words(text)[0]) for label, text in listed.entries(whole)) == wanted:
                return listed
        raise LabError(
            f"No list of this prompt has the {axis} of the rubric “{shorten(rubric.name)}” word "
            f"for word (lists: lines {words}). Copy the prompt's words into the rubric, or leave "
            f"[rubric] out to use the prompt's own list of scores."
        )
    if axis == "criteria":
        raise LabError(
            "A pasted prompt that lists criteria does not list their scores. Add a [rubric] with "
            "both."
        )
    likely = [listed for listed in known if window or listed.points >= 2]
    if not likely:
        raise LabError(
            f"No list of this prompt looks like a list of scores (lists: lines {words}). If one "
            f"is, set lines = [first, last] in [prompt]. If none is, there is nothing to reorder: "
            f'use reorder = "bare".'
        )
    labels = [[whole[slice(*span)] for span in listed.labels] for listed in known]
    if not window and (len(likely) > 1 or labels.count(labels[0]) > 1):
        raise LabError(
            f"Several lists may be the scores: lines {words}. Choose one with "
            f"lines = [first, last] in [prompt]."
        )
    return likely[0]


def _rubric_of(
    listed: Listed, labels: Sequence[str], texts: Sequence[str], rubric: Rubric | None, best: str
) -> tuple[Rubric, list[int | str]]:
    """Return the rubric in the words of the prompt, and its scores in the prompt's order.

    Raises LabError if the scores of the entries are not known.
    """
    if rubric:
        score_of = {option.shown_label: option.score for option in rubric.criteria[0].options}
    elif listed.kind == "number":
        score_of = {label: int(label) for label in labels}
    elif best:
        rising = labels if best == "last" else labels[::-1]
        score_of = {label: rank for rank, label in enumerate(rising, 1)}
    else:
        shown = ", ".join(map(shorten, labels))
        raise LabError(
            f"The lab does not know which of {shown} is best. Set best in [prompt] to "
            f'"first" or "last", in the order of the prompt.'
        )
    rows = zip(labels, texts, strict=True)
    options = tuple(
        Option(score_of[label], text, "" if label == str(score_of[label]) else label)
        for label, text in rows
    )
    about = rubric.criteria[0] if rubric else Criterion("Score", options)
    made = Rubric(rubric.name if rubric else "Of the prompt", (replace(about, options=options),))
    return made, [score_of[label] for label in labels]


def candidate_labels(whole: str, fixed: str, slots: Sequence[Slot]) -> tuple[str, ...]:
    """Return the label of each candidate in a prompt (A, B; 1, 2; m, M), and then of a tie.

    Raises LabError if the prompt does not label its candidates in a known way.
    """
    starts = [start for start, _, code in sorted(slots) if code.startswith("responses[")]
    sign = re.compile(r"(?<![\w'])([A-Za-z]|\d)(?![\w.])")
    labels = [
        last for start in starts for last in sign.findall(whole[max(0, start - 80) : start])[-1:]
    ]
    following = [chr(ord(labels[0]) + k) for k in range(len(starts))] if labels else []
    twins = len({*labels}) == len(starts) and len({label.lower() for label in labels}) == 1
    if len(labels) != len(starts) or not (labels == following or twins):
        raise LabError(
            "The lab found no label for each answer in this prompt (for example A and B, or 1 and "
            "2). Write it as a prompt file, with labels in [answer]."
        )
    return (*labels, *tie_label(fixed, labels[-1]))


def tie_label(fixed: str, last: str) -> tuple[str, ...]:
    """Return the label of a tie if a prompt offers one: the letter after ``last``, or the word."""
    after = chr(ord(last) + 1)
    if f"[[{after}]]" in fixed:
        return (after,)
    if re.search(r"\btie\b", fixed, re.I):
        return ("tie",)
    return ()


_SCALE = re.compile(
    r"\b(?:scales?|scor\w+|rat(?:e|ing)s?|numbers?|integers?|points?|grades?)\b[^\n]{0,60}?"
    r"(?<![\d.])(-?\d{1,3})\s*(?:to|-|–|~|and|through)\s*(-?\d{1,3})(?![\d%]|\.\d)",
    re.I,
)
_EITHER = re.compile(
    r"[\"'“`(]([\w -]{1,20})[\"'”`)](?: for [\w ]{1,30})?[\s,]*(?:or|/|and)[\s,]*[\"'“`(]([\w "
    r"-]{1,20})[\"'”`)]",
    re.I,
)


def _scale(fixed: str, best: str) -> Rubric:
    """Return the scale that a prompt without a list names (1 to 10; “yes” or “no”).

    Raises LabError if it names no scale or several, or if the scale is too long.
    """
    ranges = sorted({tuple(sorted(map(int, match.groups()))) for match in _SCALE.finditer(fixed)})
    widest = (ranges[0][0], max(high for _, high in ranges)) if ranges else (0, 0)
    words = list(dict.fromkeys(match.groups() for match in _EITHER.finditer(fixed)))
    if widest in ranges:  # other ranges are part of it, for example “a score between 2 and 3”
        options = [Option(score) for score in range(widest[0], widest[1] + 1)]
    elif not ranges and len(words) == 1 and best:
        options = [
            Option(2 if (best == "first") == (k == 0) else 1, "", label)
            for k, label in enumerate(words[0])
        ]
    else:
        seen = [f"{low} to {high}" for low, high in ranges] + [" or ".join(pair) for pair in words]
        advice = "Give its scores as [rubric]"
        if len(seen) == len(words) == 1:
            advice = 'Set best = "first" or "last" in [prompt]'
        raise LabError(
            f"The scale of this prompt is not clear (it names {', '.join(seen) or 'none'}). "
            f"{advice}."
        )
    return Rubric("Of the prompt", (Criterion("Score", tuple(options)),))


_KEYS = "score|rating|verdict|grade|label|evaluation|result|choice|winner|better|preference|answer"
_ASKED: tuple[tuple[str, dict[str, str]], ...] = (
    (
        r"\[\[[^\[\]\n]{1,40}\]\]",
        {"read": "pattern", "pattern": r"\[\[\s*(?:[a-z]+\s*:?\s+)?([^\[\]]{1,30}?)\s*\]\]"},
    ),
    (
        r"\[RESULT\]",
        {
            "read": "pattern",
            "pattern": r"\[RESULT\][\s(:*]*(?:(?:score|response)\s*)?([\w+-]{1,20})",
        },
    ),
    (rf"[{{,]\s*[\"'](?P<path>\w*(?:{_KEYS})\w*)[\"']\s*:", {"read": "json"}),
    (rf"<(?P<path>\w*(?:{_KEYS})\w*)>[^<>\n]{{0,200}}</(?P=path)>", {"read": "tag"}),
)
"""How prompts ask for a verdict (``[[5]]``, ``[RESULT] 3``, a JSON key, a tag), and the rule for
each.
"""


def asked_answer(fixed: str, labels: Sequence[str], axis: Reorder) -> dict[str, Any]:
    """Return the rule of ``[answer]`` for the form that a prompt names last.

    If it names none, the lab's own reader finds the verdict. ``fixed``: the prompt without the
    item's texts and the list. ``labels``: those of the candidates.
    """
    matches = [
        (match, rule) for pattern, rule in _ASKED for match in re.finditer(pattern, fixed, re.I)
    ]
    if matches and axis != "criteria":
        match, rule = max(matches, key=lambda pair: pair[0].start())
        return {**rule, **match.groupdict(), "labels": labels}
    twins = len({label.casefold() for label in labels}) < len(labels)  # m or M
    # A prompt may end in “Total rating:”, which replies then repeat.
    ending = re.search(r"^\W*(\w+)[^:\n]{0,20}:\s*\Z", fixed, re.M)
    return {
        "read": "last_label" if twins else "label",
        "path": ending[1] if ending else "",
        "labels": labels,
    }
