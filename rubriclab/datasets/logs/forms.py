"""What the prompts of a log have in common: which of their lists changes places, and what is fixed text.

A list whose entries come again in another order is one of options, whatever it looks like; texts under
labels that come again are candidates. What is learnt also finds the next prompt's list by a few searches
for fixed text, since a look for every kind of list takes many times as long as reading the record.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from rubriclab.datasets.asked_answer import asked_answer
from rubriclab.datasets.logs.exchange import Messages
from rubriclab.datasets.logs.listed import FormKey, Listed, Shown, begun_only, listed_as, lists_of
from rubriclab.datasets.logs.replies import TIES
from rubriclab.datasets.scale_words import quality
from rubriclab.model.prompt import AnswerRule

SURE = 3
FIXED, FEWEST = 0.9, 5
"""Lines that so many prompts of at least so many have are the template's."""
RARE = 4
"""A list that stands beside one that comes so many times as often is not the template's."""
MOST_SETS = 30
NO_RULE = AnswerRule("last_label")
ANCHOR = 200
"""Signs of fixed text before and behind candidates by which they are found again."""

Set = Mapping[str, Shown]
"""The entries of a list that comes again, by their whole text."""


@dataclass(frozen=True)
class Form:
    """One template's list. ``tier``: 3 options seen in several orders, 2 candidates, 1 options in one order.

    ``rule``: how the prompt asks for its answer; ``ties``: labels of a tie. ``fixed``: the template's lines,
    ``outer`` those around the list. Of options, ``sets``: those that come again; ``frame``: the template's
    lines above and below others; ``by_text``: scores of texts that move under labels that stay;
    ``rivalled``: whether most prompts have two such lists. Of candidates, ``anchors``: the fixed text before
    them, between them and behind them, and their ``labels``. ``open_end``: a prompt does not say where the last
    option ends.
    """

    key: FormKey
    tier: int = 1
    weight: int = 0
    rule: AnswerRule = NO_RULE
    ties: tuple[str, ...] = ()
    fixed: frozenset[str] = frozenset()
    outer: frozenset[str] = frozenset()
    sets: tuple[Set, ...] = ()
    by_text: Mapping[str, int] | None = None
    frame: tuple[str, ...] = ()
    rivalled: bool = False
    anchors: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    open_end: bool = False

    @property
    def rank(self) -> tuple[int, int]:
        return self.tier, self.weight

    def scores(self, one: Listed) -> tuple[int, ...] | None:
        """The score of each option in shown order; None where it cannot be told."""
        if self.by_text is None:
            return one.scores
        known = [self.by_text.get(text) for text in one.texts]
        scores = tuple(score for score in known if score is not None)
        return scores if len(scores) == len(known) else None

    def own_words(self, text: str) -> str:
        """The lines that are not the template's."""
        return "\n".join(line for line in text.splitlines() if line.strip() and line.strip() not in self.fixed)

    # ------------------------------------------------------------ the list of another prompt

    def fitted(self, one: Listed, text: str) -> Listed:
        """Candidates without the template's lines around each text; options as they are.

        Where lists are known by how their entries begin, the last candidate goes on to the template's next
        line: how many paragraphs it has is its own affair.
        """
        if self.key.kind == "options" or not self.fixed:
            return one
        texts = list(one.texts)
        first = one.end - len(texts[-1])
        if begun_only(one.key.layout):
            texts[-1] = text[first:]
        inner = [self._inner(part, first_stop=part is texts[-1]) for part in texts]
        entries = tuple(
            entry._replace(text=part[a:b]) for entry, part, (a, b) in zip(one.entries, texts, inner, strict=True)
        )
        if not all(entry.text for entry in entries):
            return one
        return replace(one, entries=entries, start=one.start + inner[0][0], end=first + inner[-1][1])

    def _inner(self, text: str, *, first_stop: bool) -> tuple[int, int]:
        """Where a candidate's own text begins and ends within lines of the template: at the first of them
        (``first_stop``), or before those that end it."""
        lines = text.splitlines(keepends=True)
        first, last = 0, len(lines)
        while first < last and self._fixed_line(lines[first]):
            first += 1
        if first_stop:
            last = next((i for i in range(first, last) if lines[i].strip() in self.outer), last)
        while last > first and self._fixed_line(lines[last - 1]):
            last -= 1
        start = sum(map(len, lines[:first]))
        body = "".join(lines[first:last])
        return start + len(body) - len(body.lstrip()), start + len(body.rstrip())

    def _fixed_line(self, line: str) -> bool:
        return not line.strip() or line.strip() in self.fixed

    def quick(self, texts: Sequence[str]) -> Listed | None:
        """The prompt's list by fixed text alone; None where that does not find it, or not surely."""
        if self.key.message >= len(texts):
            return None
        text = texts[self.key.message]
        if self.key.kind == "options":
            known = next((found for one in self.sets if (found := self._set_in(text, one)) is not None), None)
            return self._framed(text) if known is None and self.frame else known
        return self._between_anchors(text) if self.anchors else None

    def _framed(self, text: str) -> Listed | None:
        """Options of an item's own between two lines of the template, each of which stands there once."""
        above, below = self.frame
        start, end = text.find(above), text.find(below) if below else len(text)
        if start < 0 or end < start or text.find(above, start + 1) >= 0 or (below and text.find(below, end + 1) >= 0):
            return None
        return listed_as(text, start + len(above), end, self.key)

    def _set_in(self, text: str, entries: Set) -> Listed | None:
        """The entries of one set, each once in the text and nothing but white space between them."""
        places = []
        for raw in entries:
            at = text.find(raw)
            if at < 0 or text.find(raw, at + 1) >= 0:
                return None
            places.append((at, raw))
        places.sort()
        for (at, raw), (following, _) in pairwise(places):
            if text[at + len(raw) : following].strip(" \t\r\n,;"):
                return None
        shown = tuple(entries[raw] for _, raw in places)
        end = places[-1][0] + len(places[-1][1])
        return Listed(self.key, shown, places[0][0], end, self.weight, self.open_end)

    def _between_anchors(self, text: str) -> Listed | None:
        """The candidates between the fixed texts, each of which has to stand there once."""
        before, *between, behind = self.anchors
        cuts = []
        at = 0
        for anchor in (before, *between):
            place = text.find(anchor, at)
            if place < 0 or text.find(anchor, place + 1) >= 0:
                return None
            cuts.append((place, place + len(anchor)))
            at = place + len(anchor)
        end = text.find(behind, at) if behind else len(text.rstrip())
        if end < 0 or (behind and text.find(behind, end + 1) >= 0):
            return None
        starts, ends = [stop for _, stop in cuts], [*(start for start, _ in cuts[1:]), end]
        parts = [text[a:b] for a, b in zip(starts, ends, strict=True)]
        if any(part != part.strip() or not part for part in parts):
            return None
        entries = tuple(Shown("", label, part, "", None) for label, part in zip(self.labels, parts, strict=True))
        return Listed(self.key, entries, starts[0], end, self.weight)


# ---------------------------------------------------------------- learning


def forms_of(prompts: Sequence[Messages]) -> dict[FormKey, Form]:
    """The forms of lists in prompts, the surest first; those that little speaks for are left out."""
    by_key: dict[FormKey, list[tuple[Messages, Listed]]] = defaultdict(list)
    together: dict[FormKey, list[list[FormKey]]] = defaultdict(list)
    for messages in prompts:
        lists = lists_of(messages)
        keys = [one.key for one in lists]
        for one in lists:
            by_key[one.key].append((messages, one))
            together[one.key].append(keys)
    fewest = 2 if len(prompts) >= 20 else 1
    made = [_form(key, seen) for key, seen in by_key.items() if len(seen) >= fewest]
    sure = {form.key: form for form in made if form.tier > 1 or form.weight >= SURE}
    counts = {key: len(by_key[key]) for key in sure}
    known = {key: form for key, form in sure.items() if not _by_chance(key, together[key], counts)}
    made = [replace(form, rivalled=_rivalled(form, known, together[form.key])) for form in known.values()]
    return {form.key: form for form in sorted(made, key=lambda form: form.rank, reverse=True)}


def _rivalled(form: Form, known: Mapping[FormKey, Form], together: Sequence[Sequence[FormKey]]) -> bool:
    """Do most prompts have a second list of options that as much speaks for?"""

    def rival(key: FormKey) -> bool:
        other = known.get(key)
        return (
            other is not None
            and key.kind == "options"
            and other.tier == form.tier
            and (form.tier == 3 or abs(other.weight - form.weight) < 2)
        )

    several = sum(sum(map(rival, keys)) > 1 for keys in together)
    return form.key.kind == "options" and 2 * several > len(together)


def _by_chance(key: FormKey, together: Sequence[Sequence[FormKey]], counts: Mapping[FormKey, int]) -> bool:
    """Is a list one that stands in some of the texts, beside the template's own list in nearly all?"""
    beside = sum(any(counts.get(other, 0) >= RARE * counts[key] for other in keys) for keys in together)
    return beside >= FIXED * len(together)


def _form(key: FormKey, seen: Sequence[tuple[Messages, Listed]]) -> Form:
    fixed = _fixed_lines([[text for _, text in messages] for messages, _ in seen])
    outer = _fixed_lines([[one.blanked([text for _, text in messages])] for messages, one in seen])
    outer |= _common_tail([messages[key.message][1] for messages, _ in seen]) & fixed
    weight = round(sum(one.weight for _, one in seen) / len(seen))
    texts = [text for _, text in seen[0][0]]
    form = Form(key, weight=weight, fixed=fixed, outer=outer)
    asked = "\n".join(line for line in seen[0][1].blanked(texts).splitlines() if not fixed or line.strip() in fixed)
    form = replace(form, rule=asked_answer([asked], key.kind)[0])
    lists = [one for _, one in seen]
    form = replace(form, open_end=any(one.open_end for one in lists))
    if key.kind == "candidates":
        return _with_anchors(replace(form, tier=2, ties=_ties(asked, lists[0])), seen)
    orders: dict[frozenset[tuple[str, str]], set[tuple[str, ...]]] = defaultdict(set)
    for one in lists:
        orders[frozenset((entry.label, entry.text) for entry in one.entries)].add(tuple(e.label for e in one.entries))
    tier = 3 if any(len(shown) > 1 for shown in orders.values()) else 1
    counts = Counter(frozenset(entry.raw for entry in one.entries) for one in lists)
    again = {raws for raws, count in counts.most_common(MOST_SETS) if count > 1}
    sets = {frozenset(entry.raw for entry in one.entries): {entry.raw: entry for entry in one.entries} for one in lists}
    form = replace(form, tier=tier, sets=tuple(sets[raws] for raws in again), frame=_frame(form, seen))
    return form if tier == 3 else _with_moving_texts(form, lists)


def _frame(form: Form, seen: Sequence[tuple[Messages, Listed]]) -> tuple[str, ...]:
    """The nearest lines of the template above and below a list, the same in all prompts; () for none."""
    frames = set()
    for messages, one in seen:
        text = messages[form.key.message][1]
        above = [line for line in text[: one.start].splitlines() if line.strip() in form.fixed]
        below = [line for line in text[one.end :].splitlines() if line.strip() in form.fixed]
        frames.add((above[-1] if above else "", below[0] if below else ""))
    frame = frames.pop()
    return frame if not frames and frame[0].strip() else ()


def _common_tail(texts: Sequence[str]) -> frozenset[str]:
    """The lines with which all texts end."""
    lines = [text.splitlines()[::-1] for text in texts]
    same = takewhile(lambda line: len(set(line)) == 1, zip(*lines, strict=False))
    return frozenset(line[0].strip() for line in same)


def _fixed_lines(prompts: Sequence[Sequence[str]]) -> frozenset[str]:
    if len(prompts) < FEWEST:
        return frozenset()
    counts: Counter[str] = Counter()
    for texts in prompts:
        counts.update({line.strip() for text in texts for line in text.splitlines()})
    return frozenset(line for line, count in counts.items() if line and count >= FIXED * len(prompts))


def _ties(asked: str, one: Listed) -> tuple[str, ...]:
    """What a reply may say for a tie: its words, and the next label where the prompt names it."""
    labels = [entry.label for entry in one.entries]
    last = max(labels)
    following = chr(ord(last) + 1).upper() if len(last) == 1 and last.isalpha() and last.upper() != "Z" else ""
    named = following and re.search(rf"\[\[{following}\]\]|[\"'“(]{following}[\"'”)]", asked)
    return (*TIES, following) if named else TIES


def _with_moving_texts(form: Form, lists: Sequence[Listed]) -> Form:
    """Options whose texts change places while their labels stay: the score belongs to the text, then."""
    orders = {one.texts for one in lists}
    labels = {tuple(entry.label for entry in one.entries) for one in lists}
    sets = {frozenset(texts) for texts in orders}
    if len(labels) != 1 or len(sets) != 1 or len(orders) < 2 or not all(next(iter(sets))):
        return form
    worth = {text: quality(text) for text in next(iter(sets))}
    values = sorted({value for value in worth.values() if value is not None})
    told = len(values) == len(worth)
    by_text = {text: values.index(value) + 1 for text, value in worth.items() if value is not None} if told else {}
    return replace(form, tier=3, by_text=by_text, sets=())


def _with_anchors(form: Form, seen: Sequence[tuple[Messages, Listed]]) -> Form:
    """The form with the fixed text around and between candidates, where all prompts have the same."""
    before, between, behind = [], [], []
    for messages, one in seen:
        text = messages[form.key.message][1]
        fitted = form.fitted(one, text)
        inner = _between(text, fitted)
        if inner is None:
            return form
        before.append(text[: fitted.start][-ANCHOR:][::-1])
        between.append(inner)
        behind.append(text[fitted.end :][:ANCHOR])
    first, last = common_beginning(before)[::-1], common_beginning(behind)
    labels = {tuple(entry.label for entry in one.entries) for _, one in seen}
    if len(seen) < FEWEST or len(set(between)) != 1 or len(labels) != 1 or len(first) < 3:
        return form
    if not last.strip() and any(text.strip() for text in behind):
        return form
    anchors = (first, *between[0], last if last.strip() else "")
    return replace(form, anchors=anchors, labels=next(iter(labels))) if all(map(str.strip, between[0])) else form


def _between(text: str, one: Listed) -> tuple[str, ...] | None:
    """What stands between the candidates' texts; None where a text is not found where it should be."""
    found, at = [], one.start
    for entry in one.entries:
        place = text.find(entry.text, at, one.end)
        if place < 0:
            return None
        if at != one.start or entry is not one.entries[0]:
            found.append(text[at:place])
        at = place + len(entry.text)
    return tuple(found)


def common_beginning(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    low, high = min(texts), max(texts)
    return low[: next((i for i, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))]
