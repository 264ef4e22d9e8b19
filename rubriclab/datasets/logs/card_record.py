"""What a judge card's adapter wrote into a tool's log (``rubriclab.apply.adapters``): every call about an item.

A mapping under the name ``judge_card``: ``axis``, ``judge``, ``item``, ``criterion``, and ``reads``, one a call, with
``order``, ``messages``, ``text`` and what was read of it (``score``, ``by_score``, ``criteria``). Nothing is guessed:
the orders are those that were asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rubriclab.datasets.logs.exchange import Exchange, messages_in
from rubriclab.datasets.logs.log import Logged, Unread, question_of, text_of
from rubriclab.model import Axis
from rubriclab.model.language import msg

RECORD = "judge_card"
ORDER_FROM = msg("the record of the judge card")
NO_ORDER = msg("a judge card's record without the order that was asked")
AXES: Mapping[str, Axis] = {"options": "options", "pairwise": "pairwise", "criteria": "criteria"}


def card_record(fields: object) -> Mapping[str, Any] | None:
    """The record among a log's fields; None where there is none."""
    record = fields.get(RECORD) if isinstance(fields, Mapping) else None
    return record if isinstance(record, Mapping) and isinstance(record.get("reads"), list) else None


def recorded(line: int, record: Mapping[str, Any], dataset: str = "") -> Iterator[Logged | Unread]:
    """Each call of a record as a judgment; a reply that gave none stays one, unread."""
    axis = AXES.get(text_of(record.get("axis")))
    for read in record["reads"]:
        order = read.get("order") if isinstance(read, Mapping) else None
        if axis is None or not isinstance(order, list) or len(set(map(str, order))) < max(2, len(order)):
            yield Unread(line, NO_ORDER)
            continue
        messages = messages_in(read.get("messages"))
        yield Logged(
            axis=axis,
            judge=text_of(record.get("judge")) or "judge",
            line=line,
            question=question_of(text_of(record.get("item"))),
            shown=tuple(map(str, order)),
            chosen=None if axis == "criteria" else _place(order, read.get("score"), tie=axis == "pairwise"),
            scores=_scores(order, read.get("criteria")) if axis == "criteria" else (),
            probabilities=_chances(order, read.get("by_score")),
            dataset=dataset,
            criterion=text_of(record.get("criterion")),
            prompt=Exchange(line, messages, "").prompt if messages else "",
            reply=text_of(read.get("text")),
            order_from=ORDER_FROM,
        )


def _place(order: list[Any], score: object, *, tie: bool) -> int | None:
    """The place from 1 of what was chosen; 0 a tie of a pair, None where nothing was read."""
    number = _number(score)
    if number is None or (tie and number == 0):
        return None if number is None else 0
    return next((place for place, shown in enumerate(order, 1) if _number(shown) == number), None)


def _scores(order: list[Any], given: object) -> tuple[float | None, ...]:
    known = given if isinstance(given, Mapping) else {}
    return tuple(_number(known.get(str(name))) for name in order)


def _chances(order: list[Any], by_score: object) -> tuple[float, ...] | None:
    """The chance of each place, from those of the scores in ascending order."""
    numbers = [_number(shown) for shown in order]
    chances = [_number(part) for part in by_score] if isinstance(by_score, list) else []
    if len(chances) != len(order) or None in chances or None in numbers:
        return None
    ascending = sorted(number for number in numbers if number is not None)
    at = dict(zip(ascending, chances, strict=True))
    return tuple(float(at[number] or 0) for number in numbers if number is not None)


def _number(value: object) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and abs(float(value)) < 1e9 else None  # type: ignore[arg-type]
