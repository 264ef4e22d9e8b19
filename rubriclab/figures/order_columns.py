"""Describe one answer in several orders: the marks in the list, the columns, and the sentences.

Everything here is text that a page draws. What counts in a comparison is decided in
``core/swings.py``.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from rubriclab.core.swings import (
    TIE,
    Entry,
    OrderResult,
    Swing,
    Tried,
    Values,
    count_swings,
)
from rubriclab.model.judgment import Reorder
from rubriclab.model.text import LabError, count, shorten
from rubriclab.words.phrases import NBSP, number, say

TABLE = ("trial",)
SEPARATOR = "."
"""Stands between the scores of an order in an address, if one of them has two characters."""
MOST_CHARACTERS = 3
"""Characters of a name that fit in a column."""
MOST_EXACT_ORDERS = 10
"""Entries up to which the number of all orders is given: 10 have 3,628,800."""
NO_RESULT = "none"
"""What is written for a call whose reply could not be parsed."""
MarkKind = Literal["", "first", "chosen", "score"]


@dataclass(frozen=True)
class Mark:
    """What a judge did with one entry of a list.

    kind: “first” is chosen and listed first, “chosen” is chosen elsewhere, “score” is a criterion
        with its score, and “” is none of them.
    text: for the row, for example “chosen, listed first”.
    """

    kind: MarkKind
    text: str


@dataclass(frozen=True)
class Cell:
    """One entry in a column: its text, and the mark that gives its colour."""

    text: str
    kind: MarkKind


@dataclass(frozen=True)
class Column:
    """One order with its result.

    order: numbers of the entries in the default order, from the first position to the last.
    result: what is written below it, for example “5”.
    label: the whole column as a sentence, for people who do not see it.
    live: asked in this visit.
    """

    order: tuple[int, ...]
    cells: tuple[Cell, ...]
    result: str
    label: str
    live: bool


def columns(answer: Tried) -> list[Column]:
    """Return a column for each order, by score and then by order."""
    return [column(answer, result) for result in answer.in_columns]


def column(answer: Tried, result: OrderResult) -> Column:
    """Return the column of one order."""
    target = answer.widest.target if answer.widest else 0
    marks = marks_of(answer, [result])
    short = _short_names(answer.entries)
    cells = []
    for entry in result.shown:
        mark, text = marks.get(entry, Mark("", "")), short[entry]
        if answer.reorder == "criteria":
            of_target = answer.entries.index(entry) == target
            score = "–" if mark.text == NO_RESULT else mark.text
            cells.append(Cell(f"{text} {score}", "chosen" if of_target else ""))
        else:
            cells.append(Cell(text, mark.kind))
    source = "live" if result.live else "recorded"
    listed = f"Listed {order_title(answer.reorder, result.shown)}"
    return Column(
        order=numbers_of(answer.entries, result.shown),
        cells=tuple(cells),
        result=_results(_target_values(answer, result, target)),
        label=f"{listed}: {result_text(answer, [result])}, {source}",
        live=result.live,
    )


def marks_of(answer: Tried, results: Sequence[OrderResult]) -> dict[Entry, Mark]:
    """Return the mark of each entry that has one, in the calls of one order.

    ``results``: of the same order, recorded and live.
    """
    calls = [values for result in results for values in result.values]
    if not calls:
        return {}
    shown = results[0].shown
    marks: dict[Entry, Mark] = {}
    for position, entry in enumerate(shown):
        if not answer.chooses:
            at = answer.entries.index(entry)
            marks[entry] = Mark("score", _results([values[at] for values in calls]))
            continue
        times = sum(values == (entry,) for values in calls)
        if not times:
            continue
        if times < len(calls):
            text = say("chosen_times", TABLE, times=times, calls=len(calls))
        elif position == 0:
            text = say("chosen_first", TABLE)
        else:
            text = say("chosen_last" if position == len(shown) - 1 else "chosen", TABLE)
        marks[entry] = Mark("first" if position == 0 else "chosen", text)
    return marks


def result_text(answer: Tried, results: Sequence[OrderResult]) -> str:
    """Return what the calls of one order gave: “Score 5”, “Scores 4 and 5”, “draft-a wins”."""
    calls = [values for result in results for values in result.values]
    if answer.reorder == "criteria":
        return _mean_text(calls)
    found = list(dict.fromkeys(values[0] for values in calls))
    parsed = [value for value in found if value is not None]
    if answer.reorder == "pairs":
        if not parsed:
            return "No winner"
        texts = ["Tie" if winner == TIE else f"{winner} wins" for winner in parsed]
        return ", then ".join([*texts, *(["no winner"] if None in found else [])])
    if not parsed:
        return "No score"
    scores = " and ".join(f"{score}" for score in sorted(parsed, key=float))
    missing = ", and no score" if None in found else ""
    return f"{'Score' if len(parsed) == 1 else 'Scores'} {scores}{missing}"


def _mean_text(calls: Sequence[Values]) -> str:
    """Return the mean score over criteria, if all calls gave the same scores."""
    if len(set(calls)) > 1:
        return "Scores differ"
    scores = [score for score in calls[0] if isinstance(score, int)]
    if not scores:
        return "No score"
    return f"Mean {number(math.fsum(scores) / len(scores), '.2f')}"


def asked_text(answer: Tried, results: Iterable[OrderResult]) -> str:
    """Say how often an order was asked, and what came each time."""
    sentences = []
    for result in results:
        each = [result_text(answer, [OrderResult(result.shown, (v,))]) for v in result.values]
        each = [_inside_a_sentence(text) for text in each]
        calls, same = len(each), len(set(result.values)) == 1
        if calls > 1 and same:
            repeated = say("each_2" if calls == 2 else "each_more", TABLE, one=each[0])
        else:
            repeated = ", then ".join(each)
        key = f"asked_{calls}" if calls <= 2 else "asked_more"
        source = "Live" if result.live else "Recorded"
        sentences.append(say(key, TABLE, Source=source, calls=calls, each=repeated))
    return " ".join(sentences)


def _inside_a_sentence(result: str) -> str:
    """Return a result as it follows a colon: “5”, “mean 3.50”, “no winner”. Names stay."""
    result = result.removeprefix("Score ")
    return re.sub(r"^(Mean|No|Tie)\b", lambda word: word[0].lower(), result)


def missing_text(answer: Tried, shown: Sequence[Entry]) -> str:
    """Say that an order was not asked, and which asked order is nearest. The text is markdown."""
    asked = len({result.shown for result in answer.orders})
    known = ""
    if asked:
        entries = len(answer.entries)
        every = f"{math.factorial(entries):,}" if entries <= MOST_EXACT_ORDERS else "possible ones"
        known = say(f"known_{_source(answer)}", TABLE, orders=asked, all=every)
    sentences = [say("nobody", TABLE, known=known)]
    near = answer.nearest(shown)
    if near is not None:
        order = order_title(answer.reorder, near.shown)
        score = result_text(answer, [near])
        if answer.reorder != "pairs":
            score = score[0].lower() + score[1:]  # a winner's name keeps its capital
        key = "nearest_live" if near.live else "nearest_recorded"
        sentences.append(say(key, TABLE, order=order, score=score))
    return " ".join(sentences)


def _source(answer: Tried) -> str:
    """Return what a sentence is about: recorded orders, live ones, or both."""
    kinds = {result.live for result in answer.orders}
    if len(kinds) == 2:
        return "both"
    return "live" if True in kinds else "recorded"


@dataclass(frozen=True)
class Comparison:
    """The two orders that differ most, with a title. The columns are empty below two orders."""

    title: str
    caption: str
    columns: tuple[Column, ...] = ()


def comparison(answer: Tried) -> Comparison:
    """Return the two settled orders that differ most, and what is said about them."""
    widest, axis = answer.widest, answer.reorder
    if widest is None:
        missing = "none_settled" if answer.orders else "none_asked"
        return Comparison(say(missing, TABLE), say(f"caption_{missing}", TABLE))
    pair = (column(answer, widest.low), column(answer, widest.high))
    low = _target_values(answer, widest.low, widest.target)[0]
    if not widest.apart:
        orders = len({result.shown for result in answer.settled})
        return Comparison(say(f"same_{axis}", TABLE, orders=orders, score=low), "", pair)
    title = say(
        f"apart_{axis}",
        TABLE,
        points=f"{number(widest.apart, '.3g')}{NBSP}{'point' if widest.apart == 1 else 'points'}",
        criterion=answer.entries[widest.target],
        low=low,
        high=_target_values(answer, widest.high, widest.target)[0],
    )
    return Comparison(title, say(f"caption_{_source(answer)}", TABLE), pair)


def place_text(answer: Tried, shown: Column) -> str:
    """Say where the chosen entry of a column was listed; empty if none is marked as chosen."""
    if not answer.chooses:
        return ""
    for position, cell in enumerate(shown.cells, 1):
        if cell.kind in ("first", "chosen"):
            where = f"at position {position}"
            if position in (1, len(shown.cells)):
                where = "first" if position == 1 else "last"
            return f"listed {where}"
    return ""


def tally_text(answer: Tried) -> str:
    """Say how often the entry listed first was chosen. The text is markdown; it may be empty."""
    tally = answer.tally
    if tally is None:
        return ""
    low, high = tally.expected
    sentence = say(
        f"tally_{answer.reorder}",
        TABLE,
        orders=tally.orders,
        counted=count(tally.orders, "live order" if answer.all_live else "recorded order"),
        first=tally.first,
        expected=str(low) if low == high else f"{low} to {high}",
    )
    left_out = sum(result.live == answer.all_live for result in answer.orders) - tally.orders
    if left_out:
        sentence += " " + say("unsettled", TABLE, count=count(left_out, "order").capitalize())
    return sentence


def legend_text(answer: Tried) -> str:
    """Say how to read the columns."""
    target = answer.widest.target if answer.widest else 0
    return say(f"columns_{answer.reorder}", TABLE, criterion=answer.entries[target])


def swings_text(reorder: Reorder, swings: Sequence[Swing], name: str) -> str:
    """Say why this answer is shown, and how far the others move."""
    names = [swing.name for swing in swings]
    if not swings:
        return say("not_recorded", TABLE)
    counts = count_swings(swings)
    rank = names.index(name) + 1 if name in names else 0
    sentences = []
    if not swings[0].apart:
        sentences.append(say("start_none", TABLE))
    elif rank == 1:
        sentences.append(say(f"start_{reorder}", TABLE))
    elif rank:
        sentences.append(say(f"later_{reorder}", TABLE, rank=rank, answers=len(swings)))
    sentences.append(
        say(
            f"swings_{reorder}",
            TABLE,
            answers=len(swings),
            two=counts.two_or_more,
            less=counts.less,
            none=counts.none,
            move="moves" if counts.two_or_more == 1 else "move",
            change="changes" if counts.less == 1 else "change",
            do="does" if counts.none == 1 else "do",
        )
    )
    return " ".join(sentences)


def order_title(reorder: Reorder, shown: Sequence[Entry]) -> str:
    """Return an order as people read it: “2 3 4 5 1”, or “Tone, Clarity”."""
    return (" " if reorder == "options" else ", ").join(map(str, shown))


def numbers_of(entries: Sequence[Entry], shown: Sequence[Entry]) -> tuple[int, ...]:
    """Return an order as numbers of the default order, from 0."""
    return tuple(entries.index(entry) for entry in shown)


def order_address(entries: Sequence[Entry], shown: Sequence[Entry]) -> str:
    """Return an order as an address has it: “51234”, or “10.1.2” if a score has two characters.

    Criteria and candidates are numbered from 1 in the default order.
    """
    labels = _address_labels(entries)
    parts = [labels[number] for number in numbers_of(entries, shown)]
    return ("" if all(len(label) == 1 for label in labels) else SEPARATOR).join(parts)


def order_from_address(entries: Sequence[Entry], text: str) -> tuple[Entry, ...]:
    """Return the order that an address names. Raises LabError if it is not one of this list."""
    labels = _address_labels(entries)
    single = all(len(label) == 1 for label in labels)
    parts = list(text) if single else text.split(SEPARATOR)
    if sorted(parts) != sorted(labels):
        example = order_address(entries, tuple(entries)[::-1])
        raise LabError(
            f"The address names the order “{shorten(text)}”, which this list does not have. Use "
            f"each of its {len(labels)} entries once, for example {example}."
        )
    return tuple(entries[labels.index(part)] for part in parts)


def _address_labels(entries: Sequence[Entry]) -> list[str]:
    if all(isinstance(entry, int) for entry in entries):
        return [str(entry) for entry in entries]
    return [str(number) for number in range(1, len(entries) + 1)]


def _target_values(answer: Tried, result: OrderResult, target: int) -> list[Entry | None]:
    """Return what each call gave for the criterion (or the one result) with this number."""
    at = target if answer.reorder == "criteria" else 0
    return [values[at] for values in result.values]


def _results(values: Iterable[Entry | None]) -> str:
    """Return results of repeats as a short text: “5”, or “4, 5” if they differ."""
    texts: dict[Entry | None, str] = {None: NO_RESULT, TIE: "tie"}
    return ", ".join(
        dict.fromkeys(texts[value] if value in texts else str(value) for value in values)
    )


def _short_names(entries: Sequence[Entry]) -> dict[Entry, str]:
    """Return names short enough for a column: as few letters of each as tell them apart.

    A beginning that all share is left out: of “draft-a” and “draft-b” the letters remain.
    """
    names = [str(entry) for entry in entries]
    shortest = names
    if any(len(name) > MOST_CHARACTERS for name in names):
        start = re.match(r".*[-_. ]", names[0])
        if start and all(name.startswith(start[0]) for name in names):
            names = [name.removeprefix(start[0]) for name in names]
        for letters in range(1, max(map(len, names)) + 1):
            shortest = [name[:letters] for name in names]
            if len(set(shortest)) == len(names) and all(shortest):
                break
    return dict(zip(entries, shortest, strict=True))
