"""Logged prompts cut at the entries that change places, so that the same prompt can be put together in another order.

The list is found as it was when the order was read (``prompted``). Cutting loses nothing: the parts in the
order shown are the logged prompt again, sign for sign.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from rubriclab.datasets.logs.exchange import NO_PROMPT, Messages, messages_in
from rubriclab.datasets.logs.fits import unfit
from rubriclab.datasets.logs.forms import NO_RULE, Form
from rubriclab.datasets.logs.listed import Listed, Span
from rubriclab.datasets.logs.log import Logged, Unread
from rubriclab.datasets.logs.prompted import LEARNT, MAX_PROMPT, NO_LIST, TOO_LONG, ListReader
from rubriclab.datasets.logs.replies import TIES
from rubriclab.model.language import msg
from rubriclab.model.prompt import AnswerRule

CRITERIA = msg("its criteria change places, and a prompt of criteria is not taken apart")
OTHER_LIST = msg("the list found in its prompt is not what the log says was shown")
NOT_THERE = msg("the texts of its candidates do not stand in its prompt as they are, each at one place")
LABELS_STAY = msg("its labels stay at their places while the options change theirs")
ROLE = msg("a message of its prompt is of no role that is sent")
ROLES = ("system", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Moving:
    """An entry: ``text`` is all of it that changes places, of options their labels too; ``words``: what it says."""

    text: str
    label: str
    words: str


@dataclass(frozen=True, slots=True)
class TakenApart:
    """A logged judgment and its prompt in parts.

    ``messages``: (role, text) as sent; message ``at`` (an index) is ``fixed[0] + entries[0].text + fixed[1]
    + …`` with the entries in shown order. ``rule``: how the log's prompts ask for an answer. ``answers``: what a
    reply may name of the entries, in shown order: labels, or else the scores beside them; ``offered``: the
    labels of a tie. ``open_end``: the prompt does not say where its last entry ends.
    """

    logged: Logged
    messages: Messages
    at: int
    fixed: tuple[str, ...]
    entries: tuple[Moving, ...]
    rule: AnswerRule
    answers: tuple[tuple[str, ...], ...]
    offered: tuple[str, ...] = ()
    open_end: bool = False

    @property
    def ties(self) -> bool:
        return bool(self.offered)


def taken_apart(records: Iterable[Logged | Unread]) -> Iterator[TakenApart | Unread]:
    """Each record with its prompt in parts, or why it cannot be asked again; as many as there are records."""
    rest = iter(records)
    first = list(islice(rest, LEARNT))
    reader = ListReader([messages_in(one.prompt) for one in first if isinstance(one, Logged) and one.prompt])
    for one in chain(first, rest):
        yield one if isinstance(one, Unread) else in_parts(one, reader)


def in_parts(logged: Logged, reader: ListReader) -> TakenApart | Unread:
    """One record by what ``reader`` learnt."""
    messages = messages_in(logged.prompt)
    why = unfit(logged) or _untakeable(logged, messages)
    if why:
        return Unread(logged.line, why)
    form, found = reader.listed(messages)
    if form is None or found is None:
        by_texts = _by_responses(logged, messages)
        return Unread(logged.line, NO_LIST) if by_texts is None else by_texts
    return (
        _options(logged, messages, form, found)
        if logged.axis == "options"
        else _candidates(logged, messages, form, found)
    )


def _untakeable(logged: Logged, messages: Messages) -> str:
    if not messages:
        return NO_PROMPT
    if logged.axis == "criteria":
        return CRITERIA
    if sum(len(text) for _, text in messages) > MAX_PROMPT:
        return TOO_LONG
    return "" if all(role in ROLES for role, _ in messages) else ROLE


def _options(logged: Logged, messages: Messages, form: Form, found: Listed) -> TakenApart | Unread:
    scores = form.scores(found) if form.key.kind == "options" else None
    if scores is None or tuple(map(str, scores)) != logged.shown:
        return Unread(logged.line, OTHER_LIST)
    if form.by_text is not None:
        return Unread(logged.line, LABELS_STAY)
    text = messages[found.key.message][1]
    spans = _spans(text, [entry.raw for entry in found.entries], found.start, found.end, sure=False)
    if spans is None:
        return Unread(logged.line, OTHER_LIST)
    raws = [entry.raw for entry in found.entries]
    spans = [
        (a + len(raw) - len(raw.lstrip()), b - len(raw) + len(raw.rstrip()))
        for (a, b), raw in zip(spans, raws, strict=True)
    ]
    entries = tuple(Moving(entry.raw.strip(), entry.label, entry.text) for entry in found.entries)
    return _cut(logged, messages, found, spans, entries, form.rule)


def _candidates(logged: Logged, messages: Messages, form: Form, found: Listed) -> TakenApart | Unread:
    texts = [entry.text for entry in found.entries]
    given = [text.strip() for text in logged.responses] or texts
    if form.key.kind == "options" or [text.strip() for text in texts] != given or len(texts) != len(logged.shown):
        by_texts = _by_responses(logged, messages)
        return Unread(logged.line, OTHER_LIST) if by_texts is None else by_texts
    spans = _spans(messages[found.key.message][1], texts, found.start, found.end)
    if spans is None:
        return Unread(logged.line, NOT_THERE)
    entries = tuple(Moving(e.text, e.label, e.text) for e in found.entries)
    offered = tuple(one for one in form.ties if one not in TIES)
    return _cut(logged, messages, found, spans, entries, form.rule, offered)


def _by_responses(logged: Logged, messages: Messages) -> TakenApart | None:
    """The prompt cut at the candidates' texts, where each stands in one message at one place alone."""
    if logged.axis == "options" or len(logged.responses) != len(logged.shown) or not all(logged.responses):
        return None
    for at, (_, text) in enumerate(messages):
        if all(text.count(response) == 1 for response in logged.responses):
            last = logged.responses[-1]
            spans = _spans(text, logged.responses, text.find(logged.responses[0]), text.find(last) + len(last))
            if spans is not None:
                entries = tuple(Moving(one, chr(ord("A") + place), one) for place, one in enumerate(logged.responses))
                answers = (tuple(entry.label for entry in entries),)
                return TakenApart(logged, messages, at, _around(text, spans), entries, NO_RULE, answers)
    return None


def _spans(text: str, parts: Sequence[str], start: int, end: int, *, sure: bool = True) -> list[Span] | None:
    """Where each part stands: the first begins at ``start``, the last ends at ``end``, those between follow.

    ``sure``: None also where one between them stands there at more than one place, so that it is not told.
    """
    last = end - len(parts[-1])
    spans, at = [], start
    for number, part in enumerate(parts):
        place = start if number == 0 else last if number == len(parts) - 1 else text.find(part, at, last)
        if place < at or not text.startswith(part, place):
            return None
        if sure and 0 < number < len(parts) - 1 and text.find(part, place + 1, last) >= 0:
            return None
        spans.append((place, place + len(part)))
        at = place + len(part)
    return spans


def _cut(
    logged: Logged,
    messages: Messages,
    found: Listed,
    spans: Sequence[Span],
    entries: tuple[Moving, ...],
    rule: AnswerRule,
    offered: tuple[str, ...] = (),
) -> TakenApart:
    at = found.key.message
    fixed = _around(messages[at][1], spans)
    return TakenApart(logged, messages, at, fixed, entries, rule, found.answers, offered, found.open_end)


def _around(text: str, spans: Sequence[Span]) -> tuple[str, ...]:
    """The text before, between and behind the spans."""
    starts, ends = [0, *(end for _, end in spans)], [*(start for start, _ in spans), len(text)]
    return tuple(text[a:b] for a, b in zip(starts, ends, strict=True))
