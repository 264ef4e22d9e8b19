"""Describe single calls as cards: the list as it was shown, and what was chosen.

A pair of cards is one answer under two orders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rubriclab.core.judgments import Arm
from rubriclab.model.text import count
from rubriclab.words.phrases import NBSP, number, order_title

EXAMPLES_TRIED = 200
"""Calls among which an example is looked for: enough to find a change, few enough for a page."""


@dataclass(frozen=True)
class Line:
    """One line of a shown list.

    ``position``: from 1. ``label``: the score or criterion there. ``text``: what is said of it.
    """

    position: int
    label: str
    text: str
    chosen: bool = False


@dataclass(frozen=True)
class Card:
    """One call.

    ``title``: the order shown. ``foot``: the position of the chosen option. ``score``: “Score 4”.
    """

    call: int
    title: str
    lines: tuple[Line, ...]
    foot: str
    score: str


def card_of(arm: Arm, call: int, descriptions: Mapping[Any, str] | None = None) -> Card | None:
    """Return the card of one call.

    None where the arm has no such call, or its order shows something else.
    """
    rows = np.flatnonzero(arm.call == call)
    if not len(rows) or bool((arm.shown[arm.order[rows[0]]] < 0).any()):
        return None
    if arm.condition.chooses:
        return _chosen(arm, rows[0])
    if arm.condition.joint or arm.condition.reorder == "responses":
        return _scored_together(arm, rows)
    return _scored_alone(arm, rows[0], descriptions or {})


def _scored_alone(arm: Arm, row: int, descriptions: Mapping[Any, str]) -> Card:
    """Return the card of a call that scored one answer, with or without a list of options."""
    names = _names_shown(arm, row) if arm.condition.reorder != "bare" else []
    title = title_of(arm.condition.reorder, names) if names else "Scored without a list"
    chosen = int(arm.position[row]) + 1 if arm.ok[row] else 0
    lines = tuple(
        Line(p, f"{name:g}", descriptions.get(name, ""), chosen=p == chosen)
        for p, name in enumerate(names, 1)
    )
    if not chosen:
        return Card(int(arm.call[row]), title, lines, "", "No score")
    foot = f"position {chosen}" if names else ""
    return Card(int(arm.call[row]), title, lines, foot, f"Score {arm.value[row]:g}")


def _names_shown(arm: Arm, row: int) -> list[Any]:
    """Return what the call of a row listed, in its order."""
    return [arm.names[code] for code in arm.shown[arm.order[row]]]


def title_of(reorder: str, shown: Sequence[Any]) -> str:
    """Say which order a card shows."""
    if reorder in ("pairs", "lists"):
        return f"Shown {shown[0]} first" if len(shown) == 2 else f"Shown {order_title(shown)}"
    return f"Listed {order_title(shown)}"


def blank_card(
    reorder: str, shown: Sequence[Any], descriptions: Mapping[Any, str], score: str
) -> Card:
    """Return the card of a call that has no reply yet; ``score``: what is shown instead."""
    lines = tuple(Line(p, str(name), descriptions.get(name, "")) for p, name in enumerate(shown, 1))
    return Card(-1, title_of(reorder, shown), lines, "", score)


def change_of(arm: Arm, before: int, after: int) -> tuple[str, bool] | None:
    """Return (a call's change in another call, in words; whether there is any).

    Of a score, the scores of criteria, or the winner. None where a call was not parsed.
    """
    first, second = (np.flatnonzero((arm.call == call) & arm.ok) for call in (before, after))
    _, in_first, in_second = np.intersect1d(
        arm.target[arm.item[first]], arm.target[arm.item[second]], return_indices=True
    )
    given = arm.score if arm.condition.chooses else arm.value
    points = given[second[in_second]] - given[first[in_first]]
    changed = int(np.count_nonzero(points))
    if not len(points):
        return None
    if arm.condition.chooses:
        return "Another winner" if changed else "The same winner", bool(changed)
    if arm.condition.joint:
        return f"{changed} of {count(len(in_first), 'criterion', 'criteria')}", bool(changed)
    size = number(points[0], "+.3g") if changed else "0"
    return f"{size}{NBSP}{'point' if abs(points[0]) == 1 else 'points'}", bool(changed)


def _scored_together(arm: Arm, rows: np.ndarray[Any, Any]) -> Card:
    """Return the card of a call that scored several criteria, or several answers by their ids."""
    shown = _names_shown(arm, rows[0])
    target = [arm.names[arm.target[arm.item[row]]] for row in rows]
    scores = {
        name: float(arm.value[row]) for name, row in zip(target, rows, strict=True) if arm.ok[row]
    }
    labels = {name: str(name) for name in shown}
    title = title_of(arm.condition.reorder, shown)
    if arm.condition.reorder == "responses":
        ids = arm.run.items["item_id"].iloc[arm.item_code[arm.item[rows]]].astype(str)
        labels |= dict(zip(target, ids, strict=True))
        title = f"{len(shown)} answers in one call" if len(shown) > 1 else "One answer a call"
    lines = tuple(
        Line(p, labels[name], f"{scores[name]:g}" if name in scores else "no score")
        for p, name in enumerate(shown, 1)
    )
    mean = f"Mean {number(float(np.mean(list(scores.values()))), '.2f')}" if scores else "No score"
    return Card(int(arm.call[rows[0]]), title, lines, f"{len(scores)} of {len(shown)} scored", mean)


def _chosen(arm: Arm, row: int) -> Card:
    """Return the card of a call that chose between candidates, each by its name."""
    candidates = arm.run.items["candidate"].iloc[arm.item_code[arm.item[row]]]
    names = candidates.split("|") if isinstance(candidates, str) else []
    shown = [
        names[code] if code < len(names) else str(code + 1) for code in arm.shown[arm.order[row]]
    ]
    won = int(arm.position[row]) + 1 if arm.ok[row] else -1
    outcome = f"{shown[won - 1]} wins"
    if won < 0:
        outcome = "No winner read"
    elif won == 0:
        outcome = "Tie"
    lines = tuple(Line(p, name, "", chosen=p == won) for p, name in enumerate(shown, 1))
    foot = f"position {won}" if won > 0 else ""
    return Card(int(arm.call[row]), title_of(arm.condition.reorder, shown), lines, foot, outcome)


def pair_of(arm: Arm, call: int, descriptions: Mapping[Any, str] | None = None) -> tuple[Card, ...]:
    """Return the cards of a call and of the same answer in another order.

    The other order is the reverse where it was asked, else the next one.
    """
    rows = np.flatnonzero(arm.call == call)
    if not len(rows):
        return ()
    calls = [call]
    other = _other_order(arm, rows[0])
    if other is not None:
        calls.append(arm.call[other])
    cards = [card_of(arm, chosen, descriptions) for chosen in calls]
    return tuple(card for card in cards if card is not None)


def _other_order(arm: Arm, row: int) -> int | None:
    """Return a parsed row of the same answer in another order, None where there is none."""
    text, order = arm.text[arm.item[row]], arm.order[row]
    others = np.flatnonzero((arm.text[arm.item] == text) & (arm.order != order) & arm.ok)
    backwards = arm.shown[order][::-1]
    for other in others:
        if (arm.shown[arm.order[other]] == backwards).all():
            return int(other)
    return int(others[0]) if len(others) else None


def example_of(arm: Arm, descriptions: Mapping[Any, str] | None = None) -> tuple[Card, ...]:
    """Return an answer under two orders whose score differs, else any answer under two orders.

    Answers that were listed upwards are tried first: their lists are the easiest to read.
    """
    upwards = (arm.shown == np.arange(arm.positions)).all(axis=1)
    rows = np.flatnonzero(arm.ok)
    first = rows[upwards[arm.order[rows]]]
    kept: tuple[Card, ...] = ()
    for row in (*first[:EXAMPLES_TRIED], *rows[:EXAMPLES_TRIED]):
        pair = pair_of(arm, arm.call[row], descriptions)
        if len(pair) == 2 and pair[0].score != pair[1].score:
            return pair
        kept = kept or pair
    return kept
