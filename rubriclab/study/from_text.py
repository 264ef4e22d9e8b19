"""Make a template of a prompt as it was sent: find the item's texts and the list of scores in it.

Nothing is guessed. A text is located exactly or not at all, a list is proposed with its lines, and
what the template gives back is compared byte for byte with the prompt before anybody uses it.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate, pairwise, takewhile
from pathlib import Path
from typing import Any

from rubriclab.model.data import Comparison, Criterion, Item, Option, Rubric
from rubriclab.model.judgment import Reorder
from rubriclab.model.study import MAX_TEXT, PromptFile, PromptPart
from rubriclab.model.text import LabError, shorten
from rubriclab.study.prompts import Messages
from rubriclab.study.template import render

Span = tuple[int, int]
"""A part of a prompt: start and end, half open."""
Slot = tuple[int, int, str]
"""A part of a prompt and the expression that gives it."""
MOST_SPANS = 100

# ---------------------------------------------------- where a text stands, and a template around it

_MARKS = re.compile(
    r"^[ \t]*(?:(?:[-*+•–>|#]+|\(?(?:\d{1,3}|[A-Za-z]|[ivxlcdm]{2,5})[.):])[ \t]+)+", re.M
)
"""What begins a line of a list: a bullet, a number, a letter."""


def locate(prompt: str, text: str) -> list[Span]:
    """Every part of ``prompt`` that is ``text``, in their order, at most MOST_SPANS; outer blanks
    of ``text`` do not count.

    As it is written, where it stands so; else word for word across line breaks, runs of blanks and
    list marks at the beginning of lines. A letter or digit beside it makes another word of it: “4”
    does not stand in “14”. Takes time linear in the prompt; an empty text stands nowhere.
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
    """Where a part stands in a text, without overlaps; neither end cuts a word."""
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
    """(the words of a text without list marks, with NUL between them; where each begins)."""
    plain = _MARKS.sub(lambda mark: " " * len(mark[0]), text).replace("\0", " ")
    words = list(re.finditer(r"\S+", plain))
    return "\0".join(word[0] for word in words), [word.start() for word in words]


def template_text(prompt: str, slots: Sequence[Slot]) -> str:
    """The Jinja2 text that renders as ``prompt`` where each slot (start, end, expression) has the
    text that stands there.

    All else is kept byte for byte (Jinja's own signs, carriage returns, the last line break).
    Raises LabError for slots that overlap: one text stands inside another.
    """
    parts, end = [], 0
    for start, stop, expression in sorted(slots):
        if start < end:
            raise LabError(
                f"Two texts overlap at {line_of(prompt, start)} of the prompt ({expression} begins "
                f"inside another one). Choose a "
                "row whose texts differ, or leave one of them out."
            )
        parts += [_literal(prompt[end:start]), f"{{{{ {expression} }}}}"]
        end = stop
    return "".join([*parts, _literal(prompt[end:])])


def _literal(text: str) -> str:
    """Text as Jinja2 source: an opening brace that could begin a tag and carriage returns are
    written as strings.
    """
    return re.sub(r"\{(?=[{%#\r]|\Z)|\r\n?", lambda sign: f"{{{{ {json.dumps(sign[0])} }}}}", text)


def line_of(text: str, position: int) -> str:
    """“line 3”: the line of a position, from 1."""
    return f"line {text.count(chr(10), 0, position) + 1}"


# ---------------------------------------------------------------- lists


@dataclass(frozen=True)
class Listed:
    """A list in a prompt: the label and the text of each entry (two or more) as spans; a text may
    be empty.

    ``kind``: number, letter or word, what its labels are; ``points``: how much speaks for its being
    what an answer is chosen from.
    """

    kind: str
    labels: tuple[Span, ...]
    texts: tuple[Span, ...]
    points: int = 0

    @property
    def span(self) -> Span:
        return self.labels[0][0], max(self.texts[-1][1], self.labels[-1][1])

    def lines(self, prompt: str) -> tuple[int, int]:
        """Its first and its last line in the prompt, from 1."""
        first, last = (prompt.count("\n", 0, edge) + 1 for edge in self.span)
        return first, last

    def entries(self, prompt: str) -> list[tuple[str, str]]:
        """(label, text) of each entry."""
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
    """The lists in a prompt, those first for which most speaks; ``skip``: texts whose lists are
    their own.

    Numbered, lettered, bulleted or in a table, XML or JSON, one entry a line or several; numbered
    ones also within a line. ``lines``: only the list between these two, from 1. A list needs two
    entries with labels of their own.
    """
    plain = _blanked(prompt, skip, "_")
    edges = [0, *(mark.end() for mark in re.finditer("\n", plain)), len(plain) + 1]
    first, last = (1, len(edges) - 1) if lines is None else lines
    if not 1 <= first <= last < len(edges):
        raise LabError(
            f"The prompt has {len(edges) - 1} lines; lines {first} to {last} are not in it."
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
    """The lists of numbers in a prompt that could be its scores, those first for which most
    speaks.
    """
    return [listed for listed in lists_in(prompt) if listed.kind == "number" and listed.points >= 2]


def _runs(heads: Iterable[re.Match[str]]) -> list[list[re.Match[str]]]:
    """Heads that belong to one list: they begin alike (but for a number that counts), each label
    once, no wide gap between.
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
    """What stands before a label, but for numbers that count, and the sign behind it."""
    sign = re.sub(r"\w.*", "", head.string[head.end() :][:3].strip(), flags=re.S)
    return re.sub(r"\d+", "#", head["pre"]), sign[:1]


def _taken_apart(
    text: str, kind: str, heads: Sequence[re.Match[str]], end: int | None, *, inline: bool = False
) -> Listed | None:
    """The labels and texts of a list whose entries begin with ``heads``; None for one that cannot
    be reordered whole.

    What all entries have behind the label (“: ", quotes, a key of JSON) and what closes them stays
    where it is.
    """
    starts = [head.end() for head in heads]
    stops = [head.start() for head in heads[1:]]
    bodies = [text[start:stop].rstrip() for start, stop in zip(starts, stops, strict=False)]
    pre = heads[0]["pre"]
    if re.search(r"[-*+•|]", pre) and any(f"\n{pre}" in body for body in bodies):
        return None  # an entry of the same list has no label: it would go along with the one above
    if end is None:
        if any(re.search(r"\n[ \t]*\n", body) for body in bodies):
            return None  # with blank lines inside nobody can say where the last entry ends
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
    """How much speaks for a list of scores: what its labels are called, the lines around it, how
    its texts begin.
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
        above = []  # “Score 1:” begins no step, whatever the line above speaks of
    if any(map(_STEPS.search, [pre, *above])):
        points -= 3
    commands = sum(_COMMANDS.match(body.strip("*_ :\"'")) is not None for body in texts)
    if 2 * commands > len(texts):
        points -= 3
    return points


# ---------------------------------------------------------------- a prompt as it was sent


@dataclass(frozen=True)
class Pasted:
    """``prompt`` gives the text back byte for byte; ``rubric``: as the text has it, None where it
    holds none; ``lines``: first and last of its list, in the messages put one under the other, from
    1.
    """

    prompt: PromptFile
    rubric: Rubric | None
    lines: tuple[int, int] | None


SHORT = 20
"""Signs: a shorter text that stands somewhere need not be the data's."""
_FORMS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("", str),
    ("|replace('\\r\\n', '\\n')|trim", lambda text: text.replace("\r\n", "\n").strip()),
    ("|replace('\\n', '\\r\\n')|trim", lambda text: text.replace("\n", "\r\n").strip()),
    (".split()|join(' ')", lambda text: " ".join(text.split())),
    ("|json_text", lambda text: json.dumps(text, ensure_ascii=False)[1:-1]),
)
"""What a pipeline does to a text before it stands in a prompt, as an expression and as a function.
"""
OTHER_ROW = "Choose the row that it was sent for, one with long texts"


def from_text(
    text: str, item: Item, axis: Reorder, rubric: Rubric | None, part: PromptPart
) -> Pasted:
    """The template of a prompt as it was sent for ``item`` (a Comparison for pairs and lists),
    plain or as JSON messages.

    ``rubric``: where it is known, its list is looked for; else the prompt's own list is taken,
    where one alone may be it. ``part``: what settles it (lines, best, columns). Raises LabError for
    whatever cannot be told for sure, with the cure.
    """
    messages = [(message["role"], message["content"]) for message in messages_of(text)]
    whole = "\n".join(content for _, content in messages)
    if len(whole) > MAX_TEXT:
        raise LabError(
            f"The prompt has {len(whole):,} signs; at most {MAX_TEXT:,} are read. Take shorter "
            f"texts."
        )
    names: dict[str, Any] = {"item": dict(item.columns)}
    slots = _item_slots(whole, item, part.columns, names)
    skip, lines, order = [slot[:2] for slot in slots], None, list[int | str]()
    if axis in ("options", "criteria"):
        listed = _list_of(whole, skip, axis, rubric, part)
        shown, texts = zip(*listed.entries(whole), strict=True)
        if axis == "options":
            rubric, order = _rubric_of(listed, shown, texts, rubric, part.best)
        key = "label" if axis == "options" else "name"
        rows = zip(shown, texts, listed.labels, listed.texts, strict=True)
        names[axis] = []
        for k, (label, about, label_span, text_span) in enumerate(rows):
            names[axis].append({key: label, "description": about})
            slots.append((*label_span, f"{axis}[{k}].{key}"))
            slots += [(*text_span, f"{axis}[{k}].description")] if about else []
        if axis == "criteria" and rubric is not None:
            order, about_of = list(shown), dict(zip(shown, texts, strict=True))
            criteria = (
                replace(criterion, description=about_of[criterion.name])
                for criterion in rubric.criteria
            )
            rubric = Rubric(rubric.name, tuple(criteria))
        lines = listed.lines(whole)
        skip.append(listed.span)
    fixed = _blanked(whole, skip)
    if axis == "bare" and rubric is None:
        rubric = _scale(fixed, part.best)
    labels = candidate_labels(whole, fixed, slots) if isinstance(item, Comparison) else ()
    made, start = [], 0
    for role, content in messages:
        end = start + len(content)
        inside = [(a - start, b - start, code) for a, b, code in slots if start <= a and b <= end]
        made.append({"role": role, "text": template_text(content, inside)})
        start = end + 1
    values = {
        "name": Path(part.pasted).stem[:200],
        "messages": made,
        "answer": asked_answer(fixed, labels, axis),
    }
    prompt = PromptFile.model_validate(values | {"order": order, "item": item.item_id})
    if [message["content"] for message in render(prompt, [names])[0]] != [
        content for _, content in messages
    ]:
        raise LabError(
            f"The template does not give this prompt back sign for sign, so it is not used. "
            f"{OTHER_ROW}."
        )
    return Pasted(prompt, None if isinstance(item, Comparison) else rubric, lines)


def messages_of(text: str) -> Messages:
    """The messages of a prompt: of JSON that holds some, else one of the user's."""
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
    for start, end in spans:
        text = text[:start] + re.sub(r"[^\n]", sign, text[start:end]) + text[end:]
    return text


def _item_slots(
    whole: str, item: Item, columns: Sequence[str] | None, names: dict[str, Any]
) -> list[Slot]:
    """A slot for each text of the item that the prompt shows; ``names`` gets what they name. Raises
    LabError.
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
            f"[prompt] columns: the data have no column “{shorten(missing[0])}”; they have {known}."
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
            why = f"stands at {line_of(whole, near[0][0])} with other blanks" if near else ""
            raise LabError(
                f"{key} (“{shorten(value)}”) {why or 'does not stand in this prompt'}. {OTHER_ROW}."
            )
        if hits and len(bare) < SHORT and (len(hits) > 1 or (column and not needed)):
            lines = ", ".join(line_of(whole, hit[0]) for hit in hits[:3])
            cure = (
                "Set columns in [prompt] to those that it shows, [] for none"
                if column
                else OTHER_ROW
            )
            raise LabError(f"{key} (“{bare}”) stands at {lines}, perhaps by chance. {cure}.")
        slots += hits
    return slots


def _list_of(
    whole: str, skip: Sequence[Span], axis: Reorder, rubric: Rubric | None, part: PromptPart
) -> Listed:
    """The list of a rubric's options (or criteria), word for word; without a rubric the one that
    scores are chosen from, where only one may be it or the user names its lines. Raises LabError.
    """
    window = (part.lines[0], part.lines[-1]) if part.lines else None
    known = lists_in(whole, skip, window)
    words = ", ".join("{} to {}".format(*listed.lines(whole)) for listed in known[:4]) or "none"
    if rubric is not None:
        if axis == "options" and len(rubric.criteria) > 1:
            raise LabError(
                "A pasted prompt scores one criterion: give [rubric] that one alone, or reorder "
                "criteria."
            )
        pairs = [(option.shown_label, option.description) for option in rubric.criteria[0].options]
        if axis == "criteria":
            pairs = [(criterion.name, criterion.description) for criterion in rubric.criteria]
        wanted = sorted((label, _words(about)[0]) for label, about in pairs)
        for listed in known:
            if sorted((label, _words(text)[0]) for label, text in listed.entries(whole)) == wanted:
                return listed
        raise LabError(
            f"The {axis} of the rubric “{shorten(rubric.name)}” are no list of this prompt, word "
            f"for word (lists: lines {words}). "
            "Change the rubric's words to the prompt's, or leave [rubric] out to take the prompt's "
            "own list of scores."
        )
    if axis == "criteria":
        raise LabError(
            "A pasted prompt that lists criteria needs their [rubric], whose scores it does not "
            "hold."
        )
    likely = [listed for listed in known if window or listed.points >= 2]
    if not likely:
        raise LabError(
            f"No list of this prompt is known to be one of scores (lists: lines {words}). If one "
            f"is, set lines = [first, last] in "
            '[prompt]; if none is, nothing can change its order: reorder = "bare" asks it as it is.'
        )
    labels = [[whole[slice(*span)] for span in listed.labels] for listed in known]
    if not window and (len(likely) > 1 or labels.count(labels[0]) > 1):
        raise LabError(
            f"Several lists may be the scores: lines {words}. Set lines = [first, last] in "
            f"[prompt] to one."
        )
    return likely[0]


def _rubric_of(
    listed: Listed, labels: Sequence[str], texts: Sequence[str], rubric: Rubric | None, best: str
) -> tuple[Rubric, list[int | str]]:
    """(the rubric as the prompt has it, the scores in its order). Raises LabError where scores
    cannot be told.
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
            f'Which of {shown} is best? Set best = "first" or "last" in [prompt], as the prompt '
            f"lists them."
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
    """What stands for each candidate in a prompt (A, B; 1, 2; m, M), last for a tie that it offers.
    Raises LabError.
    """
    starts = [start for start, _, code in sorted(slots) if code.startswith("responses[")]
    sign = re.compile(r"(?<![\w'])([A-Za-z]|\d)(?![\w.])")
    labels = [
        last for start in starts for last in sign.findall(whole[max(0, start - 80) : start])[-1:]
    ]
    following = [chr(ord(labels[0]) + k) for k in range(len(starts))] if labels else []
    twins = len({*labels}) == len(starts) and len({label.lower() for label in labels}) == 1
    if len(labels) != len(starts) or not (labels == following or twins):
        cure = "Write it as a prompt file, with labels in [answer]"
        raise LabError(
            f"It cannot be told what stands for each answer in this prompt (A and B, 1 and 2). "
            f"{cure}."
        )
    return (*labels, *tie_label(fixed, labels[-1]))


def tie_label(fixed: str, last: str) -> tuple[str, ...]:
    """What stands for a tie where a prompt offers one: the sign after the ``last`` candidate's in
    brackets, or the word.
    """
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
    """The scale that a prompt without a list names (1 to 10; “yes” or “no”). Raises LabError for
    none, two, or too long a one.
    """
    ranges = sorted({tuple(sorted(map(int, match.groups()))) for match in _SCALE.finditer(fixed)})
    widest = (ranges[0][0], max(high for _, high in ranges)) if ranges else (0, 0)
    words = list(dict.fromkeys(match.groups() for match in _EITHER.finditer(fixed)))
    if widest in ranges:  # others lie within it: a score between 2 and 3
        options = [Option(score) for score in range(widest[0], widest[1] + 1)]
    elif not ranges and len(words) == 1 and best:
        options = [
            Option(2 if (best == "first") == (k == 0) else 1, "", label)
            for k, label in enumerate(words[0])
        ]
    else:
        seen = [f"{low} to {high}" for low, high in ranges] + [" or ".join(pair) for pair in words]
        cure = (
            'Set best = "first" or "last" in [prompt]'
            if len(seen) == len(words) == 1
            else "Give its scores as [rubric]"
        )
        raise LabError(
            f"The scale of this prompt cannot be told (it names {', '.join(seen) or 'none'}). "
            f"{cure}."
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
"""How prompts ask for an answer (``[[5]]``, ``[RESULT] 3``, a key of JSON, a tag), and the rule
that reads it.
"""


def asked_answer(fixed: str, labels: Sequence[str], axis: Reorder) -> dict[str, Any]:
    """The rule of ``[answer]`` for the form that a prompt names last; else the verdict as the lab
    reads it.

    ``fixed``: the prompt without the item's words and its list; ``labels``: of candidates.
    """
    matches = [
        (match, rule) for pattern, rule in _ASKED for match in re.finditer(pattern, fixed, re.I)
    ]
    if matches and axis != "criteria":
        match, rule = max(matches, key=lambda pair: pair[0].start())
        return {**rule, **match.groupdict(), "labels": labels}
    twins = len({label.casefold() for label in labels}) < len(labels)  # m or M
    ending = re.search(
        r"^\W*(\w+)[^:\n]{0,20}:\s*\Z", fixed, re.M
    )  # a form to fill in, which replies repeat
    return {
        "read": "last_label" if twins else "label",
        "path": ending[1] if ending else "",
        "labels": labels,
    }
