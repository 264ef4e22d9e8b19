"""Proof that a user's own prompt changes in its order alone.

One thing is rendered in several orders, twice each: with its real texts, and with a mark in place of
each text that moves. Where the marks are taken out again, nothing else may differ between orders; and
the marks tell which text stands where, so that they can be held against the order that is shown.
Where a template works on the texts themselves (``|upper``) the marks stand for what it makes of them.
Where even that does not give the real texts back, the lines of the real renderings have to be a
permutation of each other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rubriclab.model import Axis, Ordering, StudyError
from rubriclab.model.language import msg, tr
from rubriclab.model.prompt import PromptTemplate
from rubriclab.study.prompts.template import render_template

MOVING: Mapping[Axis, str] = {
    "options": "options",
    "criteria": "criteria",
    "pairwise": "responses",
    "listwise": "responses",
    "batch": "responses",
}
"""The name of what changes places on an axis."""
THINGS = {"options": msg("options"), "criteria": msg("criteria"), "responses": msg("responses")}

_POSITIONAL: Mapping[Axis, frozenset[str]] = {
    "pairwise": frozenset({"label"}),
    "listwise": frozenset({"label"}),
    "batch": frozenset({"label"}),
}
"""Parts that belong to a place and not to what stands there: the letters of candidates."""
_SHORT = frozenset({"label", "score"})
"""Parts that a prompt may well repeat; the others are the texts themselves."""
_OPEN, _SHUT = "\ue000", "\ue001"
_MARK = re.compile(f"{_OPEN}(\\d+):(\\d+){_SHUT}")
_NAMED_ORDER = re.compile(
    r"\b(?:ascending|descending|increasing|decreasing) order\b|"
    r"\b(?:worst to best|best to worst|lowest to highest|highest to lowest|low to high|high to low)\b",
    re.IGNORECASE,
)

Messages = tuple[dict[str, str], ...]


class Block(NamedTuple):
    """Lines of a message, from 1 on, both ends included."""

    message: int
    first: int
    last: int

    def __str__(self) -> str:
        lines = (
            tr("line {n}", n=self.first)
            if self.first == self.last
            else tr("lines {first} to {last}", first=self.first, last=self.last)
        )
        return tr("message {n}, {lines}", n=self.message, lines=lines)


@dataclass(frozen=True)
class Proof:
    """What differs between the orders of one thing. ``faults`` refuse the prompt, ``warnings`` do not.

    ``blocks``: what moves, as it stands in ``one``. ``one`` and ``other``: the first order's messages
    and those of the order that shows the fault (else of the second order). ``shown``: both orders.
    """

    faults: tuple[str, ...]
    warnings: tuple[str, ...]
    blocks: tuple[Block, ...]
    one: Messages
    other: Messages
    shown: tuple[Ordering, Ordering]


def prove(
    template: PromptTemplate, axis: Axis, orderings: Sequence[Ordering], names: Callable[[Ordering], Mapping[str, Any]]
) -> Proof:
    """Render one thing in each of ``orderings`` (two or more, all different) and compare.

    ``names``: what the template can name, by the order. Raises StudyError where it cannot be rendered.
    """
    texts = [names(ordering) for ordering in orderings]
    real = [render_template(template, text) for text in texts]
    marked, kinds = _marked(template, axis, orderings, texts)
    second = next((i for i, other in enumerate(real) if other != real[0]), 1)
    faults, warnings, blocks = _Comparison(axis, orderings, real, marked, kinds).result()
    warnings = [*warnings, *_named_orders(template)]
    pair = (orderings[0], orderings[second])
    return Proof(tuple(faults), tuple(warnings), tuple(blocks), real[0], real[second], pair)


# ---------------------------------------------------------------- marks


class _Kind(NamedTuple):
    """A part of what moves, as “description”, and its real text by what it belongs to."""

    part: str
    texts: dict[int, str]


def _marked(
    template: PromptTemplate, axis: Axis, orderings: Sequence[Ordering], texts: Sequence[Mapping[str, Any]]
) -> tuple[list[Messages] | None, list[_Kind]]:
    """The renderings with marks; None where the template cannot be rendered with them."""
    who = {name: i for i, name in enumerate(orderings[0].shown)}
    kinds: dict[str, _Kind] = {}
    renderings = []
    for ordering, text in zip(orderings, texts, strict=True):
        moving = [
            _mark(part, "", who[name], kinds, _POSITIONAL.get(axis, frozenset()))
            for name, part in zip(ordering.shown, text[MOVING[axis]], strict=True)
        ]
        try:
            renderings.append(render_template(template, {**text, MOVING[axis]: moving}))
        except StudyError:  # it computes with a score, or compares a label
            return None, list(kinds.values())
    return renderings, list(kinds.values())


def _mark(value: Any, part: str, who: int, kinds: dict[str, _Kind], positional: frozenset[str]) -> Any:
    if isinstance(value, dict):
        return {k: _mark(v, f"{part}.{k}".lstrip("."), who, kinds, positional) for k, v in value.items()}
    if isinstance(value, list):
        return [_mark(v, f"{part}.{i}", who, kinds, positional) for i, v in enumerate(value)]
    if part in positional or value == "":
        return value
    kind = kinds.setdefault(part, _Kind(part, {}))
    kind.texts[who] = str(value)
    return f"{_OPEN}{list(kinds).index(part)}:{who}{_SHUT}"


class _Spot(NamedTuple):
    """A mark in the first rendering: its kind, its place in the order (None: it never moves), its line."""

    part: str
    slot: int | None
    message: int
    line: int


# ---------------------------------------------------------------- comparing


@dataclass(frozen=True)
class _Comparison:
    axis: Axis
    orderings: Sequence[Ordering]
    real: Sequence[Messages]
    marked: Sequence[Messages] | None
    kinds: Sequence[_Kind]

    def result(self) -> tuple[list[str], list[str], list[Block]]:
        """Faults, warnings and the blocks that move."""
        if all(other == self.real[0] for other in self.real):
            return [self._unmoved()], [], []
        if self.marked is not None and self._faithful(self.marked) and self._same_skeleton(self.marked):
            spots = self._spots(self.marked)
            if isinstance(spots, str):
                return [spots], [], []
            return self._slots(spots)
        return self._lines()

    @property
    def _many(self) -> str:
        return tr("the {n} {things}", n=len(self.orderings[0].shown), things=tr(THINGS[MOVING[self.axis]]))

    def _unmoved(self) -> str:
        name = MOVING[self.axis]
        if self.marked is not None and any(_MARK.search(m["content"]) for m in self.marked[0]):
            return tr(
                "{many} stand in the same order whatever is shown: print them as they come, without sorting.",
                many=self._many,
            )
        return tr(
            "{many} are not in the prompt. Put them where they belong: {{% for {one} in {name} %}}…{{% endfor %}}.",
            many=self._many,
            one=name[:-1] if name != "criteria" else "criterion",
            name=name,
        )

    def _faithful(self, marked: Sequence[Messages]) -> bool:
        """Whether one text for each mark gives all real renderings: the thing's own, or what the template
        makes of it (quotes escaped for JSON, say), as it stands in the first of them."""
        own = {(k, who): text for k, kind in enumerate(self.kinds) for who, text in kind.texts.items()}
        return self._gives(marked, own) or self._gives(marked, self._made(marked[0], own))

    def _gives(self, marked: Sequence[Messages], texts: Mapping[tuple[int, int], str]) -> bool:
        return all(
            _MARK.sub(lambda m: texts[int(m[1]), int(m[2])], with_marks["content"]) == message["content"]
            for messages, renderings in zip(self.real, marked, strict=True)
            for message, with_marks in zip(messages, renderings, strict=True)
        )

    def _made(self, marked: Messages, own: Mapping[tuple[int, int], str]) -> dict[tuple[int, int], str]:
        """What stands in the first rendering between the fixed texts around each mark."""
        made: dict[tuple[int, int], str] = {}
        for with_marks, message in zip(marked, self.real[0], strict=True):
            pieces, real = _MARK.split(with_marks["content"]), message["content"]
            at = len(pieces[0])
            for kind, who, after in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
                key = (int(kind), int(who))
                known = made.get(key, own[key])
                end = at + len(known) if real.startswith(known + after, at) else real.find(after, at) if after else at
                made.setdefault(key, real[at : max(end, at)])
                at = max(end, at) + len(after)
        return {**own, **made}

    def _same_skeleton(self, marked: Sequence[Messages]) -> bool:
        skeletons = [[_MARK.sub(lambda m: f"{_OPEN}{m[1]}", m["content"]) for m in messages] for messages in marked]
        return all(skeleton == skeletons[0] for skeleton in skeletons)

    def _spots(self, marked: Sequence[Messages]) -> list[_Spot] | str:
        """Every mark of the first rendering; words where one moves, but not as what is shown does."""
        who = {name: i for i, name in enumerate(self.orderings[0].shown)}
        shown = [[who[name] for name in ordering.shown] for ordering in self.orderings]
        spots = []
        for number in range(len(self.real[0])):
            found = [list(_MARK.finditer(messages[number]["content"])) for messages in marked]
            for first, *others in zip(*found, strict=True):
                ids = [int(mark[2]) for mark in (first, *others)]
                slots = [p for p in range(len(shown[0])) if all(o[p] == i for o, i in zip(shown, ids, strict=True))]
                line = self._line(marked[0][number]["content"][: first.start()])
                part = self.kinds[int(first[1])].part
                if not slots and len(set(ids)) > 1:
                    return tr(
                        "message {number}, line {line}: what stands there changes with the order, but not as the order "
                        "that is shown. Print all of them in one loop, as they come.",
                        number=number + 1,
                        line=line,
                    )
                spots.append(_Spot(part, slots[0] if slots else None, number + 1, line))
        return spots

    def _line(self, before: str) -> int:
        """The line where ``before`` ends, its marks being the real texts."""
        return _MARK.sub(lambda m: self.kinds[int(m[1])].texts[int(m[2])], before).count("\n") + 1

    def _slots(self, spots: Sequence[_Spot]) -> tuple[list[str], list[str], list[Block]]:
        """What the marks tell: each thing once, in the order shown, and where else something follows it."""
        n = len(self.orderings[0].shown)
        faults, warnings = [], []
        main: list[_Spot] = []
        for part in dict.fromkeys(spot.part for spot in spots):
            mine = [spot for spot in spots if spot.part == part]
            moving = [spot for spot in mine if spot.slot is not None]
            rounds = _rounds(moving, n)
            if not moving:
                continue
            if rounds is None:
                faults.append(self._disorder(moving, part, n))
                continue
            main += rounds[0]
            again = [spot for one in rounds[1:] for spot in one]
            fixed = [spot for spot in mine if spot.slot is None]
            if part not in _SHORT and (again or fixed):
                other = (again or fixed)[0]
                faults.append(
                    tr(
                        "{many} are printed twice: at {block} and at message {message}, line {line}. Print them once.",
                        many=self._many,
                        block=_block(rounds[0]),
                        message=other.message,
                        line=other.line,
                    )
                )
            elif again:
                warnings.append(
                    tr(
                        "{block}: a {part} there follows the order too, outside of {main}; use “labels”, which keeps "
                        "one order, unless that is meant.",
                        block=_block(again),
                        part=part,
                        main=_block(rounds[0]),
                    )
                )
        return faults, warnings, [] if faults or not main else _blocks(main)

    def _disorder(self, moving: Sequence[_Spot], part: str, n: int) -> str:
        missing = sorted(set(range(n)) - {spot.slot for spot in moving if spot.slot is not None})
        if missing:
            places = ", ".join(str(slot + 1) for slot in missing)
            return tr(
                "the {part} at position {places} of {n} is not in the prompt. Print all of them in one loop.",
                part=part,
                places=places,
                n=n,
            )
        return tr(
            "{block}: {many} stand there in another order than is shown. Print them as they come.",
            block=_block(moving),
            many=self._many,
        )

    def _lines(self) -> tuple[list[str], list[str], list[Block]]:
        """The real renderings alone: each message has to keep its lines, in whatever order."""
        blocks: list[Block] = []
        warnings: list[str] = []
        for number, message in enumerate(self.real[0]):
            ours = message["content"].split("\n")
            changed: list[int] = []
            for other in self.real[1:]:
                theirs = other[number]["content"].split("\n")
                if Counter(ours) != Counter(theirs):
                    strange = next(i for i, line in enumerate(ours) if Counter(ours)[line] != Counter(theirs)[line])
                    place = tr("message {number}, line {line}", number=number + 1, line=strange + 1)
                    if Counter(message["content"].split()) != Counter(other[number]["content"].split()):
                        gone = next(iter(Counter(theirs) - Counter(ours)), "")
                        return (
                            [
                                tr(
                                    "{place}: something else than the order changes, {ours!r} to {theirs!r}. Take out what depends "
                                    "on the order or on one of them.",
                                    place=place,
                                    ours=ours[strange].strip()[:60],
                                    theirs=gone.strip()[:60],
                                )
                            ],
                            warnings,
                            [],
                        )
                    warnings.append(
                        tr(
                            "{place}: words change places within a line; it could not be told which of them.",
                            place=place,
                        )
                    )
                changed += [i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b]
            if changed:
                blocks.append(Block(number + 1, min(changed) + 1, max(changed) + 1))
        return [], list(dict.fromkeys(warnings)), blocks


def _rounds(moving: Sequence[_Spot], n: int) -> list[list[_Spot]] | None:
    """The marks cut into whole rounds 0..n-1, a slot being there several times in a row; the last may be
    a part of one. None where the first is no whole round."""
    rounds: list[list[_Spot]] = []
    for spot in moving:
        before = rounds[-1][-1].slot if rounds else None
        if before is None or spot.slot is None or spot.slot < before:
            rounds.append([])
        rounds[-1].append(spot)
    whole = [one for one in rounds if {spot.slot for spot in one} == set(range(n))]
    if not whole:
        return None
    return [whole[0], *(one for one in rounds if one is not whole[0])]


def _block(spots: Sequence[_Spot]) -> Block:
    message = spots[0].message
    lines = [spot.line for spot in spots if spot.message == message]
    return Block(message, min(lines), max(lines))


def _blocks(spots: Sequence[_Spot]) -> list[Block]:
    by_message = {spot.message: [other for other in spots if other.message == spot.message] for spot in spots}
    return [_block(mine) for _, mine in sorted(by_message.items())]


def _named_orders(template: PromptTemplate) -> list[str]:
    """Warnings of prose that names one order where all of them are shown."""
    return [
        tr(
            "message {number} says “{found}”, which is one of the orders that are shown: the judge reads it "
            "with every order. Take it out unless that is meant.",
            number=number,
            found=found[0],
        )
        for number, message in enumerate(template.messages, 1)
        if (found := _NAMED_ORDER.search(message.text))
    ]
