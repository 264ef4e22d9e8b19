"""Show what a judge's verdict looks like: one answer in two orders, or order against noise.

Each record holds texts that pages, the report and slides draw as they are. Nothing is estimated
here. Which orders may be compared, and which two differ most, is decided in ``core/swings.py``.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rubriclab.core.judgments import TIE as NO_WINNER_POSITION
from rubriclab.core.judgments import Arm
from rubriclab.core.swings import (
    FAR,
    TIE,
    Entry,
    OrderResult,
    Swing,
    Tried,
    Values,
    count_swings,
    ranked,
)
from rubriclab.core.topic import Findings
from rubriclab.model.looks import unit_noun
from rubriclab.model.text import count, shorten
from rubriclab.words.phrases import number, say
from rubriclab.words.subject import CHOICES, LEAST_DECIMALS, Subject, place_text, sentence_tables

WORDS = ("evidence",)
MOST_CALLS = 50_000
"""Calls among which the widest answer is looked for: more take seconds."""
MOST_TEXT = 90
"""Characters of the answer that an example quotes next to the verdict."""
TEXT_BETWEEN_ORDERS = ("options", "criteria", "pairs", "lists")
"""Kinds of lists of which one answer (or comparison) is asked about in several orders."""
LineKind = Literal["", "first", "chosen"]
TextOf = Callable[[int], str]
"""The text that a call judged, by the call's number; empty where it is not known."""


@dataclass(frozen=True)
class StackLine:
    """One line of a shown list. kind: ``first`` is what the judge favours at the top of the list,
    ``chosen`` is its choice elsewhere. score: of a criterion; else empty.
    """

    label: str
    kind: LineKind = ""
    score: str = ""


@dataclass(frozen=True)
class Stack:
    """One order of the list with its result, for example “5” and “score 5 was listed first”."""

    lines: tuple[StackLine, ...]
    result: str
    foot: str


@dataclass(frozen=True)
class SwingExample:
    """One answer in the two orders that differ most, both confirmed by every repeat.

    title, sentence: what to write above it. item: the answer's ID. text: how it begins, empty where
    it is not known. apart: points between the two (of winners 1).
    """

    title: str
    sentence: str
    item: str
    text: str
    low: Stack
    high: Stack
    apart: float


@dataclass(frozen=True)
class RuledOut:
    """What a run in which nothing changed can rule out, in percentage points of a share.

    possible: up to this size an effect is still possible. matters: the smallest that matters.
    """

    title: str
    possible: float
    matters: float
    below: str
    above: str
    mark: str


@dataclass(frozen=True)
class OrderOrNoise:
    """How many single scores of 100 change in another order, and in the same order again."""

    title: str
    other: str
    again: str
    other_words: str
    again_words: str


@dataclass(frozen=True)
class Passes:
    """How many answers passed in each of two orders, as counts of calls."""

    title: str
    first: str
    last: str
    first_words: str
    last_words: str
    first_is_more: bool


_EXAMPLES: WeakKeyDictionary[Findings, dict[int, tuple[list[Swing], dict[str, Tried]]]] = (
    WeakKeyDictionary()
)
"""The swings of an arm's answers, for as long as somebody holds the findings."""


@dataclass(frozen=True)
class Evidence:
    """What shows a verdict in one look: the first of these that the run has.

    swing: one answer in its two furthest orders. passes: of a list of two scores. ruled_out: what
    is still possible where nothing changed. noise: the order's changes beside the judge's own.
    """

    swing: SwingExample | None = None
    passes: Passes | None = None
    ruled_out: RuledOut | None = None
    noise: OrderOrNoise | None = None

    @property
    def title(self) -> str:
        """The title of what there is; empty if there is nothing."""
        for part in (self.swing, self.passes, self.ruled_out, self.noise):
            if part is not None:
                return part.title
        return ""


def evidence_of(
    findings: Findings, subject: Subject, text_of: TextOf, *, most: int = MOST_TEXT
) -> Evidence:
    """Return what shows the verdict of a judge in one look.

    ``most``: the characters of the answer's text that are shown.
    """
    swing = swing_example(findings, subject, text_of, most=most)
    if swing is not None:
        return Evidence(swing=swing)
    if subject.word == "Biased":
        # Order next to noise would not show it: a direction can matter that noise is larger than.
        return Evidence(passes=passes(findings, subject))
    limits = ruled_out(subject)
    if limits is not None:
        return Evidence(ruled_out=limits)
    return Evidence(noise=order_or_noise(subject))


def swing_example(
    findings: Findings,
    subject: Subject,
    text_of: TextOf,
    *,
    most: int = MOST_TEXT,
) -> SwingExample | None:
    """Return the answer that the order moves most; None unless the judge is biased.

    ``text_of``: the text that a call judged, empty where it is not known; ``most`` of its
    characters are shown. None too where no answer has two orders that repeats confirm and that
    differ.
    """
    if subject.word != "Biased" or subject.reorder not in TEXT_BETWEEN_ORDERS:
        return None
    arm = findings.judgments.arms[subject.condition]
    swings, answers = _swings(findings, arm)
    if subject.kind == "pass_rate" or not swings or not swings[0].apart:
        return None
    name = _chosen(subject, swings, answers)
    widest = answers[name].widest
    if widest is None:
        return None
    item = int(name)
    row = int(np.flatnonzero(arm.text[arm.item] == item)[0])
    ids = arm.run.items["item_id"].iloc[arm.item_code]
    fields = {"target": "", "low": "", "high": ""}
    if subject.reorder == "criteria":
        criterion = answers[name].entries[widest.target]
        values = widest.low.settled, widest.high.settled
        low, high = (str(own[widest.target]) for own in values if own is not None)
        fields = {"target": shorten(str(criterion), 30), "low": low, "high": high}
    points = "1 point" if widest.apart == 1 else f"{widest.apart:g} points"
    text = "" if subject.reorder in CHOICES else text_of(int(arm.call[row]))
    return SwingExample(
        title=say(f"title_{subject.reorder}", WORDS, points=points, **fields),
        sentence=_sentence(subject, swings, len(answers)),
        item=str(ids.iloc[arm.item[row]]),
        text=shorten(" ".join(text.split()), most),
        low=_stack(subject, answers[name], widest.low),
        high=_stack(subject, answers[name], widest.high),
        apart=widest.apart,
    )


def _chosen(subject: Subject, swings: list[Swing], answers: dict[str, Tried]) -> str:
    """Return the answer to show: of those that swing most, one that shows the bias that is named.

    So no judge that picks the second answer has an example in which the first one wins.
    """
    named = subject.named
    if named is None or subject.reorder == "criteria":
        return swings[0].name
    widest = [swing.name for swing in swings if swing.apart == swings[0].apart]

    def at_named(name: str) -> int:
        settled = answers[name].settled
        return sum(result.settled == (result.shown[named],) for result in settled)

    return max(widest, key=at_named)


def _sentence(subject: Subject, swings: list[Swing], judged: int) -> str:
    """Say that the example was picked, how far the others move, and whether noise is in it.

    ``judged``: all answers. Some may have no two orders in which they got the same score each time.
    """
    moved = _how_far(subject, swings, judged)
    if not subject.repeated:
        return f"{moved} {say('asked_once', WORDS)}"
    noise = math.nan if subject.single is None else subject.single.own_noise
    if not noise > 0:
        return moved
    return f"{moved} {say('noisy', WORDS, noise=number(100 * noise, '.0f'))}"


def _how_far(subject: Subject, swings: list[Swing], judged: int) -> str:
    """Say of how many answers the example was picked, and how far the others move."""
    counts = count_swings(swings)
    many = count(len(swings), unit_noun("", subject.reorder))
    if len(swings) < judged:
        of_which = "repeats_agree" if subject.repeated else "two_read"
        many = say(of_which, WORDS, some=f"{many} (of {judged:,})")
    moved = len(swings) - counts.none
    if subject.reorder in CHOICES:
        return say("changed", WORDS, changed=f"{moved:,}", many=many)
    widest = sum(swing.apart == swings[0].apart for swing in swings)
    picked = "one_of" if widest > 1 else "widest"
    if 1 < widest == len(swings):
        picked = "all_alike"
    fields = {"widest_of": f"{widest:,}", "many": many}
    short = max(subject.scores) - min(subject.scores) < FAR
    far = moved if short else counts.two_or_more
    rest = say(
        "rest_short" if short else "rest",
        WORDS,
        far=f"{far:,}",
        move="moves" if far == 1 else "move",
        none=f"{counts.none:,}",
    )
    return f"{say(picked, WORDS, **fields)} {rest}"


def _stack(subject: Subject, answer: Tried, result: OrderResult) -> Stack:
    """Return the list as one order showed it, with what the judge did."""
    settled = result.settled or ()
    if subject.reorder == "criteria":
        scores = dict(zip(answer.entries, settled, strict=True))
        lines = tuple(
            StackLine(
                shorten(str(entry), 30),
                "first" if place == 0 else "",
                "–" if scores[entry] is None else str(scores[entry]),
            )
            for place, entry in enumerate(result.shown)
        )
        return Stack(lines, "", "")
    chosen = settled[0] if settled else None
    lines = tuple(
        StackLine(shorten(str(entry), 30), _kind(place, entry, chosen))
        for place, entry in enumerate(result.shown)
    )
    at = ""
    if chosen in result.shown:
        at = place_text(subject.reorder, result.shown.index(chosen), len(lines))
    if subject.reorder in CHOICES:
        won = "tie" if chosen == TIE else f"{shorten(str(chosen), 30)} wins"
        return Stack(lines, won, at)
    return Stack(lines, str(chosen), f"score {chosen} was {at}" if at else "")


def _kind(place: int, entry: Entry, chosen: Entry | None) -> LineKind:
    if entry != chosen:
        return ""
    return "first" if place == 0 else "chosen"


def _swings(findings: Findings, arm: Arm) -> tuple[list[Swing], dict[str, Tried]]:
    """Return the arm's answers by how far they swing, each with what was tried."""
    known = _EXAMPLES.setdefault(findings, {})
    if arm.code not in known:
        answers = dict(_tried(arm)) if len(arm.call) <= MOST_CALLS else {}
        known[arm.code] = ranked(answers), answers
    return known[arm.code]


def _tried(arm: Arm) -> Iterator[tuple[str, Tried]]:
    """Yield each text of an arm, by its number, with its results in every order.

    Yields nothing if any score is not a whole number, because swings are counted in whole points.
    """
    if not arm.condition.chooses and not bool((arm.value[arm.ok] % 1 == 0).all()):
        return
    by_text = np.argsort(arm.text[arm.item], kind="stable")
    text = arm.text[arm.item[by_text]]
    cuts = np.flatnonzero(np.diff(text)) + 1
    for rows in np.split(by_text, cuts):
        entries = _entries(arm, int(rows[0]))
        by_order: dict[tuple[Entry, ...], list[Values]] = {}
        for call_rows in _by_call(arm, rows):
            shown = tuple(entries[code] for code in arm.shown[arm.order[call_rows[0]]])
            values = _values(arm, call_rows, entries)
            by_order.setdefault(shown, []).append(values)
        orders = tuple(OrderResult(shown, tuple(own)) for shown, own in by_order.items())
        name = str(int(arm.text[arm.item[rows[0]]]))
        yield name, Tried(arm.condition.reorder, entries, orders)


def _by_call(arm: Arm, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows of each call, in the order of their repeats."""
    by_call = rows[np.argsort(arm.call[rows], kind="stable")]
    return np.split(by_call, np.flatnonzero(np.diff(arm.call[by_call])) + 1)


def _entries(arm: Arm, row: int) -> tuple[Entry, ...]:
    """Return what the list of a row's text has, in the default order."""
    if arm.condition.chooses:
        named = arm.run.items["candidate"].iloc[arm.item_code[arm.item[row]]]
        names = named.split("|") if isinstance(named, str) else []
        return tuple(
            names[code] if code < len(names) else str(code + 1) for code in range(arm.positions)
        )
    if arm.condition.reorder == "options":
        return tuple(int(name) for name in arm.names)
    return tuple(map(str, arm.names))


def _values(arm: Arm, rows: NDArray[np.int64], entries: tuple[Entry, ...]) -> Values:
    """Return the result of one call."""
    if arm.condition.reorder == "criteria":
        values: list[Entry | None] = [None] * len(entries)
        for row in rows:
            if arm.ok[row]:
                values[int(arm.target[arm.item[row]])] = int(arm.value[row])
        return tuple(values)
    row = rows[0]
    if not arm.ok[row]:
        return (None,)
    if arm.condition.chooses:
        tie = arm.position[row] == NO_WINNER_POSITION
        return (TIE if tie else entries[int(arm.score[row])],)
    return (int(arm.value[row]),)


def ruled_out(subject: Subject) -> RuledOut | None:
    """Return what a run in which no score changed can rule out; None for other runs."""
    positions = subject.positions
    if not subject.unmoved or positions is None or not math.isfinite(positions.high):
        return None
    if subject.in_points:
        return None
    possible, matters = 100 * positions.high, 100 * positions.smallest
    units = count(subject.units, unit_noun(subject.unit, subject.reorder))
    size = number(possible, f".{LEAST_DECIMALS}f", (matters,))
    return RuledOut(
        title=say("ruled_out", WORDS, units=units),
        possible=possible,
        matters=matters,
        below=say("possible", WORDS, size=size),
        above=say("excluded", WORDS, size=size),
        mark=say("mark", WORDS, size=number(matters, ".3g")),
    )


def order_or_noise(subject: Subject) -> OrderOrNoise | None:
    """Return how often order and noise change scores; None where noise is not known."""
    single = subject.single
    if single is None or not single.repeated or not math.isfinite(single.own_noise):
        return None
    noun = say("noun", sentence_tables(subject))
    what = "form" if subject.variant else "order"
    return OrderOrNoise(
        title=say("order_or_noise", WORDS, what=what),
        other=number(100 * single.flips, ".0f"),
        again=number(100 * single.own_noise, ".0f"),
        other_words=say("in_other", WORDS, nouns=f"{noun}s", what=what),
        again_words=say("in_same", WORDS, what=what),
    )


def passes(findings: Findings, subject: Subject) -> Passes | None:
    """Return how many calls passed in each of two orders; None unless a list has two scores."""
    if subject.kind != "pass_rate" or subject.rate is None:
        return None
    arm = findings.judgments.arms[subject.condition]
    passing = subject.rate.score
    passed = arm.value == passing
    first_listed = np.array([arm.names[code] == passing for code in arm.shown[:, 0]])[arm.order]
    counts = []
    for listed in (first_listed, ~first_listed):
        own = arm.ok & listed
        counts.append((int((passed & own).sum()), int(own.sum())))
    (first, of_first), (last, of_last) = counts
    if not of_first or not of_last:
        return None
    listed_first, listed_last = (
        say("passes_of", WORDS, calls=f"{calls:,}", score=score)
        for calls, score in ((of_first, subject.rate.passes), (of_last, subject.rate.fails))
    )
    return Passes(
        title=say("passes", WORDS, answers=count(subject.items, "answer")),
        first=f"{first:,}",
        last=f"{last:,}",
        first_words=listed_first,
        last_words=listed_last,
        first_is_more=first * of_last > last * of_first,
    )
