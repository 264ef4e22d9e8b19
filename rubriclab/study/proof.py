"""Prove that only the order changes between two orders of a user's prompt, or say what else does.

Everything is rendered twice: with the real texts, and with a mark in place of each text that moves.
The marked renderings of two orders may differ only in which mark is at which place, and the marks
must follow the order shown. Then the marks are replaced by the texts. If that gives the real
renderings, the template treats the texts like the marks.
"""

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from rubriclab.model.judgment import Ordering, Reorder
from rubriclab.model.study import PromptFile
from rubriclab.model.text import LabError, shorten
from rubriclab.study.prompts import Messages
from rubriclab.study.sections import called, check_pieces, cut
from rubriclab.study.sections import fault as section_fault
from rubriclab.study.template import render

_MARK = re.compile("\ue000(\\w+):(\\d+)\ue001")
_NAMED_ORDER = re.compile(
    r"\b(?:(?:in|de)creasing|(?:a|de)scending) order\b|\b(?:worst|best|lowest|highest|low|high) to "
    r"(?:worst|best|lowest|highest|low|high)\b",
    re.I,
)
LISTED: Mapping[Reorder, str] = {
    "options": "options",
    "criteria": "criteria",
    "pairs": "responses",
    "lists": "responses",
    "bare": "",
    "examples": "examples",
}
"""What templates call the list that is reordered on each axis."""
Key = tuple[str, int]
"""A part of an entry that moves, and the rank of the entry, for example (description, 2)."""
Spot = tuple[str, int | None]
"""A part, and its position in the order shown: None if it never moves, -1 if it moves in another
way.
"""


@dataclass(frozen=True)
class Proof:
    """A proof for one prompt and item, with two orders that differ to show.

    shown, messages: the labels and the messages of the two orders.
    moved: (message, first line, last line), counted from 1, of what changes between them.
    orders: how many orders were compared. notes: what the user should look at.
    """

    prompt: str
    item: str
    shown: tuple[tuple[str, ...], tuple[str, ...]]
    messages: tuple[Messages, Messages]
    moved: tuple[tuple[int, int, int], ...]
    orders: int
    notes: tuple[str, ...]

    def sentence(self) -> str:
        where = ", ".join(
            f"message {m}, line{f's {a} to {b}' if b > a else f' {a}'}" for m, a, b in self.moved
        )
        return (
            f"Prompt “{self.prompt}”, “{shorten(self.item)}”: in {self.orders} orders only the "
            f"order changes ({where}). Every other character is the same."
        )

    def side_by_side(self, width: int = 58) -> list[str]:
        """Return the two prompts in two columns, for a terminal. ``|`` marks lines that differ."""
        lines = [f"{' · '.join(self.shown[0]):<{width}}   {' · '.join(self.shown[1])}"]
        for mine, other in zip(*self.messages, strict=True):
            pairs = zip_longest(
                mine["content"].split("\n"), other["content"].split("\n"), fillvalue=""
            )
            for pair in (("", ""), *pairs):
                left, right = (
                    [*map(str.rstrip, textwrap.wrap(text, width, replace_whitespace=False))]
                    for text in pair
                )
                mark = "|" if pair[0] != pair[1] else " "
                lines += [
                    f"{a:<{width}} {mark} {b}".rstrip()
                    for a, b in zip_longest(left or [""], right or [""], fillvalue="")
                ]
        return lines


def prove(
    prompt: PromptFile,
    axis: Reorder,
    item: str,
    orderings: Sequence[Ordering],
    contexts: Sequence[Mapping[str, Any]],
) -> Proof:
    """Return the proof for one subject in two or more orders.

    ``contexts``: the values of the template in each order. Raises LabError if more than the order
    changes, or less. It names the message, the line and what to do.
    """
    name = LISTED[axis]
    who = {shown: rank for rank, shown in enumerate(orderings[0].shown)}
    listing = f"{{% for part in {name} %}}…{{% endfor %}}"

    def fault(words: str) -> LabError:
        return LabError(f"Prompt “{shorten(prompt.name)}” (item “{shorten(item)}”): {words}")

    real = render(prompt, contexts)
    if all(messages == real[0] for messages in real):
        raise fault(
            f"the order changes nothing. Print the {name} in the order in which they come: "
            f"{listing}."
        )
    marked_contexts, texts = _marked(axis, orderings, contexts, who)
    try:
        marked = render(prompt, marked_contexts)
    except LabError as error:
        words = (
            "it computes with what moves, so more than the order may change. Print it unchanged."
        )
        raise fault(f"{words} ({error})") from None
    contents = [[message["content"] for message in messages] for messages in marked]
    plain = [[message["content"] for message in messages] for messages in real]
    if difference := _changes_more(contents, plain) or _fill(contents, plain, texts):
        raise fault(difference)
    orders = [[who[shown] for shown in ordering.shown] for ordering in orderings]
    spots = _spots(contents, orders)
    if words := _misplaced(spots, len(who), name, listing):
        raise fault(words)
    main = {"responses": "text", "criteria": "name", "examples": "text"}.get(name, "label")
    moving = _moving(spots, main)
    first_round = _first_round(moving)
    if not _names_its_entries(spots, main) or len({*first_round}) < len(who):
        raise fault(
            f"the {main} of each of the {name} does not move with it, so a reply cannot name it. "
            f"Print {{{{ part.{main} }}}} in the loop."
        )
    notes = _notes(prompt, main, again=len(first_round) < len(moving))
    second = next(k for k, messages in enumerate(real) if messages != real[0])
    moved = tuple(
        (number, *lines)
        for number, (a, b) in enumerate(zip(plain[0], plain[second], strict=True), 1)
        if (lines := _lines(a, b))
    )
    labels = orderings[0].names, orderings[second].names
    shown = real[0], real[second]
    return Proof(prompt.name, item, labels, shown, moved, len(orderings), tuple(notes))


def prove_sections(
    prompt: PromptFile, sections: str, listed: str, contexts: Sequence[Mapping[str, Any]]
) -> None:
    """Prove that a prompt with its sections in another order still has the same sections.

    Each section is rendered by itself. What is sent must be these texts, byte for byte, one after
    the other. Since that holds for every order of the sections, all orders send the same texts.

    prompt: with the marks of its sections. sections: their order. listed: what templates call the
    list. Raises LabError that names the section and what to do.
    """
    made = cut(prompt)
    if made is None:  # without sections there is nothing to prove
        return
    check_pieces(made, listed)
    names, apart = made.apart()
    order, sent = made.order(sections.split()), made.arranged(sections.split())
    for pieces, whole in zip(render(apart, contexts), render(sent, contexts), strict=True):
        texts = [piece["content"] for piece in pieces]
        by_name = dict(zip(names[1:-1], texts[1:-1], strict=True))
        expected = [("", texts[0]), *((name, by_name[name]) for name in order), ("", texts[-1])]
        content, position = whole[made.message]["content"], 0
        for name, text in expected:
            if not content.startswith(text, position):
                raise section_fault(
                    prompt,
                    f"{called(name)} is another text when it stands elsewhere. Remove what reaches "
                    f"into the next section, for example the “-” in {{%- … %}} at its edge.",
                )
            position += len(text)
        if position != len(content):
            raise section_fault(prompt, "more than the order of its sections changes.")


def _marked(
    axis: Reorder,
    orderings: Sequence[Ordering],
    contexts: Sequence[Mapping[str, Any]],
    who: Mapping[Any, int],
) -> tuple[list[dict[str, Any]], dict[Key, str]]:
    """Return the contexts with a mark in place of each text that moves, and the text of each mark.

    Labels move with options and examples alone: elsewhere they belong to the position.
    """
    name = LISTED[axis]
    texts: dict[Key, str] = {}
    marked = []
    for ordering, context in zip(orderings, contexts, strict=True):
        entries = []
        for shown, entry in zip(ordering.shown, context[name], strict=True):
            keys = {
                part: (part, who[shown])
                for part, value in entry.items()
                if value != "" and (part != "label" or axis in ("options", "examples"))
            }
            texts |= {key: str(entry[part]) for part, key in keys.items()}
            marks = {part: f"\ue000{part}:{key[1]}\ue001" for part, key in keys.items()}
            entries.append(entry | marks)
        marked.append({**context, name: entries})
    return marked, texts


def _changes_more(contents: Sequence[Sequence[str]], plain: Sequence[Sequence[str]]) -> str | None:
    """Return what changes other than the places of the marks, None if nothing does."""
    skeletons = [
        [_MARK.sub(lambda mark: f"\ue000{mark[1]}", text) for text in parts] for parts in contents
    ]
    for skeleton, parts in zip(skeletons, plain, strict=True):
        if skeleton != skeletons[0]:
            return _difference(plain[0], parts)
    return None


def _misplaced(spots: Sequence[Spot], n: int, name: str, listing: str) -> str:
    """Return what is wrong with the places of the ``n`` entries' parts, or nothing.

    Wherever a part moves, all entries' must follow each other in the order shown.
    """
    for part in dict.fromkeys(part for part, _ in spots):
        slots = [slot for known, slot in spots if known == part and slot is not None]
        rounds = [slots[k : k + n] for k in range(0, len(slots), n)]
        if -1 in slots or any(slots_of_one != list(range(n)) for slots_of_one in rounds):
            return (
                f"each {part} must appear once, in the order shown. Print all {name} in one loop, "
                f"in the order in which they come: {listing}."
            )
        if len(rounds) > 1 and part in ("description", "text"):
            return f"each {part} appears {len(rounds)} times. Print the {name} once."
    return ""


def _moving(spots: Sequence[Spot], main: str) -> list[int]:
    """Return the slots of the parts that say what an entry is, where they move."""
    parts = {main, "description"}
    if main == "label":
        parts.add("score")
    return [slot for part, slot in spots if slot is not None and part in parts]


def _first_round(moving: Sequence[int]) -> Sequence[int]:
    """Return the slots before the first step back, which are those of the list itself."""
    for k in range(1, len(moving)):
        if moving[k] < moving[k - 1]:
            return moving[:k]
    return moving


def _names_its_entries(spots: Sequence[Spot], main: str) -> bool:
    """Return whether the part by which a reply names an entry moves with it."""
    return any(part == main and slot is not None for part, slot in spots)


def _notes(prompt: PromptFile, main: str, *, again: bool) -> list[str]:
    """Return what to look at. ``again``: the ``main`` part moves outside the list too."""
    notes = []
    for message in prompt.messages:
        if named := _NAMED_ORDER.search(message.text):
            notes.append(f"it says “{named[0]}”, which the order shown may contradict.")
    if again:
        notes.append(
            f"a {main} also appears outside the list and moves with it. If you do not want that, "
            f"use labels, which keep one order."
        )
    return notes


def _spots(contents: Sequence[Sequence[str]], orders: Sequence[Sequence[int]]) -> list[Spot]:
    """Return the spot of every mark."""
    spots: list[Spot] = []
    for marks in zip(
        *([mark for text in parts for mark in _MARK.finditer(text)] for parts in contents),
        strict=True,
    ):
        whose = [int(mark[2]) for mark in marks]
        slots = [
            slot for slot in range(len(orders[0])) if whose == [order[slot] for order in orders]
        ]
        spots.append((marks[0][1], slots[0] if slots else None if len({*whose}) == 1 else -1))
    return spots


def _fill(
    contents: Sequence[Sequence[str]], plain: Sequence[Sequence[str]], texts: Mapping[Key, str]
) -> str | None:
    """Return a difference, or None if one text for each mark gives all real renderings.

    That is the mark's own text, or what the template makes of it in the first order.
    """
    made = dict(texts)
    for marked, real in zip(contents[0], plain[0], strict=True):
        pieces, position = _MARK.split(marked), 0
        for k in range(0, len(pieces) - 1, 3):
            position += len(pieces[k])
            key, after = (pieces[k + 1], int(pieces[k + 2])), pieces[k + 3]
            # A text may itself contain something that looks like a mark.
            made.setdefault(key, f"\ue000{key[0]}:{key[1]}\ue001")
            if not real.startswith(made[key] + after, position):
                end = real.find(after, position) if after else len(real)
                made[key] = real[position : max(end, position)]
            position += len(made[key])
    for parts, real_parts in zip(contents, plain, strict=True):
        filled = [_MARK.sub(lambda mark: made[mark[1], int(mark[2])], text) for text in parts]
        if filled != list(real_parts):
            return _difference(filled, real_parts)
    return None


def _difference(expected: Sequence[str], given: Sequence[str]) -> str:
    """Describe the first lines in which two renderings differ by more than their places."""
    for number, (a, b) in enumerate(zip(expected, given, strict=True), 1):
        ours, theirs = a.split("\n"), b.split("\n")
        for line in range(max(len(ours), len(theirs))):
            mine, other = ("".join(lines[line : line + 1]) for lines in (ours, theirs))
            if mine != other and (mine not in theirs or other not in ours):
                return (
                    f"message {number}, line {line + 1}: more than the order changes, from "
                    f"“{shorten(mine)}” to “{shorten(other)}”. Remove what depends on the position "
                    f"or on one entry."
                )
    return "more than the order changes. Remove what depends on the position."


def _lines(a: str, b: str) -> tuple[int, int] | None:
    """Return the first and last line, counted from 1, in which two texts differ."""
    ours, theirs = a.split("\n"), b.split("\n")
    lines = [
        k for k, (mine, other) in enumerate(zip(ours, theirs, strict=False), 1) if mine != other
    ]
    if not lines:
        return None
    last = len(ours) if len(ours) != len(theirs) else lines[-1]
    return lines[0], max(lines[-1], last)
