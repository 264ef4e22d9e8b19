"""A log's prompts as a study of one's own prompt: the same prompt about the same things, in other orders.

What all prompts of a form have in common becomes the template; what varies from record to record becomes
columns of the data, so that the template gives each logged prompt again, sign for sign, in the order in
which it was asked. Prompts of different forms (other messages, another number of entries) make studies of
their own.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from rubriclab.datasets.logs.forms import common_beginning
from rubriclab.datasets.logs.log import Counted, Reasons, Unread
from rubriclab.datasets.logs.taken_apart import Moving, TakenApart
from rubriclab.model import (
    MAX_OPTIONS,
    Axis,
    Criterion,
    DataError,
    Dataset,
    Design,
    Item,
    Judge,
    Rubric,
    ScoreOption,
    Strategy,
    Study,
)
from rubriclab.model.language import tr
from rubriclab.model.prompt import PromptMessage, PromptTemplate, Role
from rubriclab.study.prompts.loops import literal
from rubriclab.study.prompts.own_rule import LoggedAnswer, best_rule, reads_alike
from rubriclab.study.protocols.options import USUAL_ORDER

LABELS = "its candidates are not called by the letters A, B, …, as those of a study are"
NO_SCALE = f"its options are more than {MAX_OPTIONS}, or two of them have the same label"
SAME_TEXTS = "two of its entries have the same text"
_ENDS = re.compile(r"[\n>\]]|:\s")


@dataclass(frozen=True, slots=True)
class FirstRead:
    """A logged reply: the judge as the log names it, the messages it answers, and the record it is from."""

    judge: str
    messages: tuple[tuple[str, str], ...]
    reply: str
    line: int


@dataclass(frozen=True)
class Replay:
    """A study of a log's prompts. ``reads``: the logged replies of which the study's answer rule reads what the
    log says; ``otherwise``: how many it reads otherwise, so that they are no reads of the study."""

    study: Study
    reads: tuple[FirstRead, ...]
    otherwise: int


@dataclass(frozen=True)
class Replays:
    """What becomes of a log: its studies, largest first, and every other record by the reason why it is in none.

    ``records``: all of the log; ``unread``: of each reason how many, and the first of them.
    """

    studies: tuple[Replay, ...]
    records: int
    unread: Counted


def replays(
    parts: Iterable[TakenApart | Unread],
    *,
    name: str,
    judges: Sequence[Judge],
    strategies: Sequence[Strategy],
    items: int | None = None,
    seed: int = 0,
) -> Replays:
    """The studies of a log's prompts. ``items``: the first so many things judged, over all studies.

    Raises DataError where no prompt can be asked again, with the reasons.
    """
    sorted_out = _SortedOut(items)
    for one in parts:
        sorted_out.add(one)
    groups = sorted(sorted_out.forms.values(), key=len, reverse=True)
    made = []
    for number, group in enumerate(groups, start=1):
        called = name if len(groups) == 1 else f"{name} {number}"
        made.append(_replay(group, called, tuple(judges), tuple(strategies), seed))
    if not made:
        raise DataError(_nothing(name, sorted_out))
    return Replays(tuple(made), sorted_out.records, sorted_out.left_out.counted())


def _nothing(name: str, sorted_out: _SortedOut) -> str:
    return tr("“{name}”: none of its prompts can be asked again: {why}.", name=name, why=sorted_out.left_out.words())


# ---------------------------------------------------------------- forms and things

_Form = tuple[Axis, tuple[str, ...], int, int]
"""What changes places; the messages' roles; which of them it stands in; how many entries."""


@dataclass
class _Thing:
    """What was judged: the first record's parts, and all records that show it in whatever order."""

    first: TakenApart
    records: list[TakenApart] = field(default_factory=list)


class _SortedOut:
    """Records by the form of their prompt, and in it by what they judge."""

    def __init__(self, most: int | None) -> None:
        self.forms: dict[_Form, dict[object, _Thing]] = defaultdict(dict)
        self.records, self._things, self._most = 0, 0, most
        self.left_out = Reasons()

    def add(self, one: TakenApart | Unread) -> None:
        self.records += 1
        why = one.why if isinstance(one, Unread) else _unaskable(one)
        if isinstance(one, Unread) or why:
            self.left_out.add(one.line if isinstance(one, Unread) else one.logged.line, why)
            return
        form: _Form = (one.logged.axis, tuple(role for role, _ in one.messages), one.at, len(one.entries))
        things = self.forms.get(form, {})
        key = (*_around(one), frozenset(entry.text for entry in one.entries))
        if key not in things:
            if self._most is not None and self._things >= self._most:
                self.left_out.add(one.logged.line, "it is beyond the number of things that was asked for")
                return
            self._things += 1
            things = self.forms[form]
            things[key] = _Thing(one)
        things[key].records.append(one)


def _around(one: TakenApart) -> tuple[str, ...]:
    """All texts of a prompt that stay where they are: the other messages, and what is around the entries."""
    return (*(text for number, (_, text) in enumerate(one.messages) if number != one.at), *one.fixed)


def _unaskable(one: TakenApart) -> str:
    """Why a study cannot ask this prompt, "" where it can."""
    texts = [entry.text for entry in one.entries]
    if len(set(texts)) < len(texts):
        return SAME_TEXTS
    if one.logged.axis == "options":
        labels = {entry.label.strip().casefold() for entry in one.entries}
        return "" if len(labels) == len(texts) <= MAX_OPTIONS and all(labels) else NO_SCALE
    letters = [chr(ord("A") + place) for place in range(len(texts))]
    return "" if [entry.label.upper() for entry in one.entries] == letters and len(texts) < 26 else LABELS


# ---------------------------------------------------------------- a study


def _replay(
    things: Mapping[object, _Thing], name: str, judges: tuple[Judge, ...], strategies: tuple[Strategy, ...], seed: int
) -> Replay:
    ordered = list(things.values())
    first = ordered[0].first
    axis = first.logged.axis
    records = [one for thing in ordered for one in thing.records]
    tie = axis != "options" and any(one.ties or one.logged.chosen == 0 for one in records)
    answers = [_answer(one, tie=tie) for one in records]
    rule = best_rule(first.rule, answers)
    segments = _segments(ordered)
    columns = [{name: s.values[k] for name, s in segments.items() if s.values} for k in range(len(ordered))]
    if axis == "options":
        rubric, criteria, entry = _rubric(name, ordered)
        rows = list(map(_rated, ordered, _ids(ordered), criteria, columns))
    else:
        rubric, entry = None, "{{{{ {0}.text }}}}"
        rows = [row for parts in zip(ordered, _ids(ordered), columns, strict=True) for row in _compared(*parts)]
    study = Study(
        name=name,
        dataset=Dataset(name, tuple(rows), origin=f"the prompts of {name}"),
        judges=judges,
        design=Design(axis=axis, strategies=strategies, seed=seed, tie=tie, list_size=len(first.entries)),
        rubric=rubric,
        prompts=(PromptTemplate(f"{name}, as logged", _messages(first, segments, entry), rule),),
    )
    replied = [(one, answer) for one, answer in zip(records, answers, strict=True) if answer.reply.strip()]
    reads = tuple(_first_read(one) for one, answer in replied if reads_alike(rule, answer))
    return Replay(study, reads, len(replied) - len(reads))


def _first_read(one: TakenApart) -> FirstRead:
    return FirstRead(one.logged.judge, one.messages, one.logged.reply, one.logged.line)


def _answer(one: TakenApart, *, tie: bool) -> LoggedAnswer:
    """What a logged reply says in the terms in which the study will read it."""
    place = one.logged.chosen
    if one.logged.axis == "options":
        by_score = sorted(range(len(one.entries)), key=lambda k: int(one.logged.shown[k]))
        labels = tuple(one.entries[k].label for k in by_score)
        return LoggedAnswer(one.logged.reply, labels, by_score.index(place - 1) if place else None)
    letters = tuple(chr(ord("A") + k) for k in range(len(one.entries) + tie))
    chosen = None if place is None else place - 1 if place else len(one.entries)
    return LoggedAnswer(one.logged.reply, letters, chosen, tied=tie)


def _ids(things: Sequence[_Thing]) -> list[str]:
    """What each thing is called in the log; those of one name are numbered."""
    names = [thing.first.logged.question for thing in things]
    seen: Counter[str] = Counter()
    made = []
    for name in names:
        seen[name] += 1
        made.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return made if len(set(made)) == len(made) else [f"{k} {name}" for k, name in enumerate(made, start=1)]


def _rated(thing: _Thing, item_id: str, criterion: str, columns: Mapping[str, str]) -> Item:
    logged = thing.first.logged
    response = next((text for text in (*logged.responses, logged.instruction) if text.strip()), item_id)
    return Item(
        item_id,
        instruction=logged.instruction if logged.responses else "",
        response=response,
        criterion=criterion,
        block=logged.block or None,
        candidate=logged.candidate or None,
        task=logged.task or None,
        human=logged.human,
        columns={**columns, USUAL_ORDER: " ".join(logged.shown)},
    )


def _compared(thing: _Thing, item_id: str, columns: Mapping[str, str]) -> Iterator[Item]:
    """A row a candidate, in the order that was shown first; they are put together again by their prompt."""
    logged = thing.first.logged
    for place, (candidate, entry) in enumerate(zip(logged.shown, thing.first.entries, strict=True), start=1):
        yield Item(
            f"{item_id} ({place})",
            instruction=logged.instruction,
            response=entry.text,
            prompt=item_id,
            candidate=candidate,
            task=logged.task or None,
            columns=columns,
        )


# ---------------------------------------------------------------- what is common and what varies


@dataclass(frozen=True)
class _Segment:
    """A text between entries, or of a message: as a template, and what of it is each thing's own (empty: nothing)."""

    template: str
    values: tuple[str, ...] = ()


def _segments(things: Sequence[_Thing]) -> dict[str, _Segment]:
    first = things[0].first
    others = [f"message_{number + 1}" for number in range(len(first.messages)) if number != first.at]
    between = [f"between_{k}" for k in range(1, len(first.entries))]
    names = [*others, "before", *between, "after"]
    by_name = zip(*(_around(thing.first) for thing in things), strict=True)
    return {name: _segment(name, texts) for name, texts in zip(names, by_name, strict=True)}


def _segment(name: str, texts: Sequence[str]) -> _Segment:
    """The beginning and the end that all have stay in the template, cut where a line or a heading ends."""
    if len(set(texts)) == 1:
        return _Segment(literal(texts[0]))
    common = common_beginning(texts)
    cut = max((end.end() for end in _ENDS.finditer(common)), default=0)
    rest = [text[cut:] for text in texts]
    common = common_beginning([text[::-1] for text in rest])[::-1]
    begin = re.search(r"[\n<\[]", common)
    behind = common[begin.start() :] if begin else ""
    own = tuple(text[: len(text) - len(behind)] for text in rest)
    tag = f"item.{name}"
    if any(text and not text.strip() for text in own):  # a cell of white space is read as an empty one
        own, tag = tuple(f"|{text}|" for text in own), f"{tag}[1:-1]"
    return _Segment(f"{literal(texts[0][:cut])}{{{{ {tag} }}}}{literal(behind)}", own)


def _messages(first: TakenApart, segments: Mapping[str, _Segment], entry: str) -> tuple[PromptMessage, ...]:
    """The messages as templates. ``entry``: an entry's tag, “{0}” being what it is called."""
    made = []
    for number, (role, _) in enumerate(first.messages):
        text = _list(first, segments, entry) if number == first.at else segments[f"message_{number + 1}"].template
        made.append(PromptMessage(cast(Role, role), text))
    return tuple(made)


def _list(first: TakenApart, segments: Mapping[str, _Segment], entry: str) -> str:
    """The message with the list: a loop where the same stands between all options, else one after the other."""
    between = [segments[f"between_{k}"].template for k in range(1, len(first.entries))]
    before, after = segments["before"].template, segments["after"].template
    if first.logged.axis == "options" and len(set(between)) == 1:
        body = f"{entry.format('option')}{{% if not loop.last %}}{between[0]}{{% endif %}}"
        return f"{before}{{% for option in options %}}{body}{{% endfor %}}{after}"
    name = "options" if first.logged.axis == "options" else "responses"
    parts = [entry.format(f"{name}[{k}]") for k in range(len(first.entries))]
    return "".join([before, *(part for pair in zip(parts, [*between, after], strict=True) for part in pair)])


# ---------------------------------------------------------------- options


def _rubric(name: str, things: Sequence[_Thing]) -> tuple[Rubric, list[str], str]:
    """A criterion for each set of options; that of each thing, and how an option is written."""
    frames = {_frame(entry) for thing in things for entry in thing.first.entries}
    frame = frames.pop() if len(frames) == 1 else None
    tag = "{{{{ {0}.description }}}}"
    if frame is not None:
        head, middle, tail = (literal(part).replace("{", "{{").replace("}", "}}") for part in frame)
        words = "{{{{ {0}.description }}}}" if any(e.words for t in things for e in t.first.entries) else ""
        tag = f"{head}{{{{{{{{ {{0}}.label }}}}}}}}{middle}{words}{tail}"
    criteria: dict[object, Criterion] = {}
    names = []
    for thing in things:
        options = tuple(
            ScoreOption(int(score), (entry.words if frame is not None else entry.text) or None, entry.label)
            for score, entry in zip(thing.first.logged.shown, thing.first.entries, strict=True)
        )
        key = frozenset(options)
        if key not in criteria:
            wanted = thing.first.logged.criterion or "as logged"
            taken = {criterion.name for criterion in criteria.values()}
            called = wanted if wanted not in taken else f"{wanted} {len(criteria) + 1}"
            criteria[key] = Criterion(called, options)
        names.append(criteria[key].name)
    return Rubric(name, tuple(criteria.values())), names, tag


def _frame(entry: Moving) -> tuple[str, str, str] | None:
    """What stands before an option's label, between label and words, and behind them; None where they are not both
    in it as they are."""
    at = entry.text.find(entry.label)
    words = entry.text.find(entry.words, at + len(entry.label))
    if at < 0 or words < 0:
        return None
    return entry.text[:at], entry.text[at + len(entry.label) : words], entry.text[words + len(entry.words) :]
