"""Describe single calls as cards: the list that a judge saw, and what it chose.

Two cards side by side show one answer in two orders. A card has texts only: pages and the report
draw it. What a card looks like depends on what its call asked for: one score, several scores, or a
winner. Each of the three has its function here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rubriclab.core.judgments import Arm
from rubriclab.model.passing import PassRate
from rubriclab.words.phrases import capital, number, order_title, score_name

EXAMPLES_TRIED = 200
"""How many calls ``example_of`` tries: enough to find a changed score, few enough for a page."""


@dataclass(frozen=True)
class Line:
    """One line of a shown list.

    position: from 1.
    label: the score, criterion, answer or candidate at this position.
    text: an option's description, or the score of a criterion or answer.
    chosen: the judge chose this line.
    """

    position: int
    label: str
    text: str
    chosen: bool = False


@dataclass(frozen=True)
class Card:
    """One call, in texts.

    call: the call's number in its arm.
    title: the order, for example “Listed 5 to 1”.
    foot: the position of the chosen line, or how many lines have a score; may be empty.
    score: the result, for example “Score 4”, “Mean 3.50” or “Tie”.
    """

    call: int
    title: str
    lines: tuple[Line, ...]
    foot: str
    score: str


def card_of(
    arm: Arm,
    call: int,
    descriptions: Mapping[Any, str] | None = None,
    rate: PassRate | None = None,
) -> Card | None:
    """Return the card of one call.

    None if the arm has no such call, or if its order lists something that the arm does not know.
    ``descriptions``: the text of each option, by its score. ``rate``: of two scores, which are
    named by their labels.
    """
    rows = np.flatnonzero(arm.call == call)  # one row for each score that the call asked for
    if not len(rows):
        return None
    unknown = arm.shown[arm.order[rows[0]]] < 0
    if bool(unknown.any()):
        return None
    if arm.condition.chooses:
        return _chosen(arm, rows[0])
    if arm.condition.joint or arm.condition.reorder == "responses":
        return _scored_together(arm, rows)
    return _scored_alone(arm, rows[0], descriptions or {}, rate)


def _scored_alone(
    arm: Arm, row: int, descriptions: Mapping[Any, str], rate: PassRate | None
) -> Card:
    """Return the card of a call that scored one answer, with or without a list of options."""
    if arm.condition.reorder == "examples":
        return _behind_examples(arm, row)
    names = _names_shown(arm, row) if arm.condition.reorder != "bare" else []
    title = title_of(arm.condition.reorder, names, rate) if names else "Scored without a list"
    labels = {name: f"{name:g}" for name in names}
    if rate is not None:
        labels |= arm.run.labels_of(arm.code)
    chosen = int(arm.position[row]) + 1 if arm.ok[row] else 0
    lines = tuple(
        Line(p, labels[name], descriptions.get(name, ""), chosen=p == chosen)
        for p, name in enumerate(names, 1)
    )
    if not chosen:
        return Card(int(arm.call[row]), title, lines, "", "No score")
    foot = f"position {chosen}" if names else ""
    return Card(int(arm.call[row]), title, lines, foot, capital(score_name(arm.value[row], rate)))


def _behind_examples(arm: Arm, row: int) -> Card:
    """Return the card of a call that scored one answer behind examples, each with its label."""
    order = arm.order[row]
    labels = arm.run.orderings[arm.order_code[order]].labels
    names = _names_shown(arm, row)
    lines = tuple(
        Line(p, f"Example {name}", label)
        for p, (name, label) in enumerate(
            zip(names, labels or [""] * len(names), strict=True), start=1
        )
    )
    outcome = f"Score {arm.value[row]:g}" if arm.ok[row] else "No score"
    return Card(int(arm.call[row]), title_of(arm.condition.reorder, names), lines, "", outcome)


def _names_shown(arm: Arm, row: int) -> list[Any]:
    """Return what the call of a row listed, in its order."""
    return [arm.names[code] for code in arm.shown[arm.order[row]]]


def title_of(reorder: str, shown: Sequence[Any], rate: PassRate | None = None) -> str:
    """Say which order a card shows. ``rate``: of two scores."""
    if rate is not None:
        return f"{capital(rate.name_of(shown[0]))} listed first"
    if reorder in ("pairs", "lists"):
        return f"Shown {shown[0]} first" if len(shown) == 2 else f"Shown {order_title(shown)}"
    return f"Listed {order_title(shown)}"


def _scored_together(arm: Arm, rows: np.ndarray[Any, Any]) -> Card:
    """Return the card of a call that scored several criteria, or several answers.

    An answer's line has its item's id as the label.
    """
    shown = _names_shown(arm, rows[0])
    scored = [arm.names[arm.target[arm.item[row]]] for row in rows]
    scores = {
        name: float(arm.value[row]) for name, row in zip(scored, rows, strict=True) if arm.ok[row]
    }
    labels = {name: str(name) for name in shown}
    title = title_of(arm.condition.reorder, shown)
    if arm.condition.reorder == "responses":
        ids = arm.run.items["item_id"].iloc[arm.item_code[arm.item[rows]]].astype(str)
        labels |= dict(zip(scored, ids, strict=True))
        title = f"{len(shown)} answers in one call" if len(shown) > 1 else "One answer a call"
    lines = tuple(
        Line(p, labels[name], f"{scores[name]:g}" if name in scores else "no score")
        for p, name in enumerate(shown, 1)
    )
    outcome = "No score"
    if scores:
        mean = float(np.mean(list(scores.values())))
        outcome = f"Mean {number(mean, '.2f')}"
    foot = f"{len(scores)} of {len(shown)} scored"
    return Card(int(arm.call[rows[0]]), title, lines, foot, outcome)


def _chosen(arm: Arm, row: int) -> Card:
    """Return the card of a call that chose between candidates, each by its name."""
    candidates = arm.run.items["candidate"].iloc[arm.item_code[arm.item[row]]]
    names = candidates.split("|") if isinstance(candidates, str) else []
    # A file of judgments may have no names. Then a candidate is called by its number.
    shown = [
        names[code] if code < len(names) else str(code + 1) for code in arm.shown[arm.order[row]]
    ]
    winner = int(arm.position[row]) + 1 if arm.ok[row] else 0  # 0: a tie, or unparsed
    if winner:
        outcome = f"{shown[winner - 1]} wins"
    else:
        outcome = "Tie" if arm.ok[row] else "No winner parsed"
    lines = tuple(Line(p, name, "", chosen=p == winner) for p, name in enumerate(shown, 1))
    foot = f"position {winner}" if winner else ""
    return Card(int(arm.call[row]), title_of(arm.condition.reorder, shown), lines, foot, outcome)


def pair_of(
    arm: Arm,
    call: int,
    descriptions: Mapping[Any, str] | None = None,
    rate: PassRate | None = None,
) -> tuple[Card, ...]:
    """Return the cards of a call and of the same answer in another order.

    The other order is the reversed one if it was asked, or else the first other one. There is one
    card only if the answer has no parsed call in another order, and none if there is no such call.
    """
    rows = np.flatnonzero(arm.call == call)
    if not len(rows):
        return ()
    calls = [call]
    other = _other_order(arm, rows[0])
    if other is not None:
        calls.append(arm.call[other])
    cards = [card_of(arm, chosen, descriptions, rate) for chosen in calls]
    return tuple(card for card in cards if card is not None)


def _other_order(arm: Arm, row: int) -> int | None:
    """Return a parsed row about the same answer in another order; None if there is none."""
    text, order = arm.text[arm.item[row]], arm.order[row]
    others = np.flatnonzero((arm.text[arm.item] == text) & (arm.order != order) & arm.ok)
    reversed_order = arm.shown[order][::-1]
    for other in others:
        if (arm.shown[arm.order[other]] == reversed_order).all():
            return int(other)
    return int(others[0]) if len(others) else None


def example_of(
    arm: Arm, descriptions: Mapping[Any, str] | None = None, rate: PassRate | None = None
) -> tuple[Card, ...]:
    """Return the cards of an answer whose score differs between two orders.

    If no answer that is tried does so, return the cards of the first one. Calls with the list in
    ascending order are tried first, because their cards are the easiest to read.
    """
    ascending = (arm.shown == np.arange(arm.positions)).all(axis=1)
    rows = np.flatnonzero(arm.ok)
    easiest = rows[ascending[arm.order[rows]]]
    first_pair: tuple[Card, ...] = ()
    for row in (*easiest[:EXAMPLES_TRIED], *rows[:EXAMPLES_TRIED]):
        pair = pair_of(arm, arm.call[row], descriptions, rate)
        if len(pair) == 2 and pair[0].score != pair[1].score:
            return pair
        first_pair = first_pair or pair
    return first_pair
