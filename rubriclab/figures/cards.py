"""One call's list as it was shown in, a card with what was chosen out; and the pair of one answer
under two orders.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rubriclab.core.judgments import Arm
from rubriclab.model.text import count
from rubriclab.words.phrases import NBSP, number, order_title


@dataclass(frozen=True)
class Line:
    """One line of a shown list: its position from 1, the score or criterion there, what is said of
    it, was it chosen.
    """

    position: int
    label: str
    text: str
    chosen: bool = False


@dataclass(frozen=True)
class Card:
    """``title``: the order shown; ``foot``: where the chosen option stood; ``score``: “Score 4”."""

    call: int
    title: str
    lines: tuple[Line, ...]
    foot: str
    score: str


def card_of(arm: Arm, call: int, descriptions: Mapping[Any, str] | None = None) -> Card | None:
    """The card of one call; None where the arm has no such call, or its order shows something
    else.
    """
    rows = np.flatnonzero(arm.call == call)
    if not len(rows) or bool((arm.shown[arm.order[rows[0]]] < 0).any()):
        return None
    descriptions = descriptions or {}
    if arm.condition.chooses:
        return _chosen(arm, rows[0])
    names = (
        [arm.names[code] for code in arm.shown[arm.order[rows[0]]]]
        if arm.condition.reorder != "bare"
        else []
    )
    title = title_of(arm.condition.reorder, names) if names else "Scored without a list"
    if arm.condition.joint or arm.condition.reorder == "responses":
        return _scored_together(arm, rows, title)
    row = rows[0]
    chosen = int(arm.position[row]) + 1 if arm.ok[row] else 0
    lines = tuple(
        Line(p, f"{name:g}", descriptions.get(name, ""), p == chosen)
        for p, name in enumerate(names, 1)
    )
    if not chosen:
        return Card(int(call), title, lines, "", "No score")
    foot = f"position {chosen}" if names else ""
    return Card(int(call), title, lines, foot, f"Score {arm.value[row]:g}")


def title_of(reorder: str, shown: Sequence[Any]) -> str:
    """The order that a card shows, in words."""
    if reorder in ("pairs", "lists"):
        return f"Shown {shown[0]} first" if len(shown) == 2 else f"Shown {order_title(shown)}"
    return f"Listed {order_title(shown)}"


def blank_card(
    reorder: str, shown: Sequence[Any], descriptions: Mapping[Any, str], score: str
) -> Card:
    """The card of a call that is not answered; ``score``: what stands for it."""
    lines = tuple(Line(p, str(name), descriptions.get(name, "")) for p, name in enumerate(shown, 1))
    return Card(-1, title_of(reorder, shown), lines, "", score)


def change_of(arm: Arm, before: int, after: int) -> tuple[str, bool] | None:
    """(in words, is there any): how a call's score, scores of criteria or winner change in another;
    None if unparsed.
    """
    first, second = (np.flatnonzero((arm.call == call) & arm.ok) for call in (before, after))
    targets = (arm.target[arm.item[rows]] for rows in (first, second))
    _, in_first, in_second = np.intersect1d(next(targets), next(targets), return_indices=True)
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


def _scored_together(arm: Arm, rows: np.ndarray[Any, Any], title: str) -> Card:
    """A call that scored several: each criterion, or each answer by its id, with its score."""
    shown = [arm.names[code] for code in arm.shown[arm.order[rows[0]]]]
    scores = {
        arm.names[arm.target[arm.item[row]]]: float(arm.value[row]) for row in rows if arm.ok[row]
    }
    labels = {name: str(name) for name in shown}
    if arm.condition.reorder == "responses":
        ids = arm.run.items["item_id"].iloc[arm.item_code[arm.item[rows]]].astype(str)
        labels |= {
            arm.names[arm.target[arm.item[row]]]: name for row, name in zip(rows, ids, strict=True)
        }
        title = f"{len(shown)} answers in one call" if len(shown) > 1 else "One answer a call"
    given = [f"{scores[name]:g}" if name in scores else "no score" for name in shown]
    lines = tuple(
        Line(p, labels[name], score)
        for p, (name, score) in enumerate(zip(shown, given, strict=True), 1)
    )
    mean = f"Mean {number(float(np.mean(list(scores.values()))), '.2f')}" if scores else "No score"
    return Card(int(arm.call[rows[0]]), title, lines, f"{len(scores)} of {len(shown)} scored", mean)


def _chosen(arm: Arm, row: int) -> Card:
    """A call that chose between candidates, each by its name; the winner is tinted."""
    candidates = arm.run.items["candidate"].iloc[arm.item_code[arm.item[row]]]
    names = candidates.split("|") if isinstance(candidates, str) else []
    shown = [
        names[code] if code < len(names) else str(code + 1) for code in arm.shown[arm.order[row]]
    ]
    won = int(arm.position[row]) + 1 if arm.ok[row] else -1
    lines = tuple(Line(p, name, "", p == won) for p, name in enumerate(shown, 1))
    title = title_of(arm.condition.reorder, shown)
    outcome = "No winner read" if won < 0 else "Tie" if won == 0 else f"{shown[won - 1]} wins"
    return Card(int(arm.call[row]), title, lines, f"position {won}" if won > 0 else "", outcome)


def pair_of(arm: Arm, call: int, descriptions: Mapping[Any, str] | None = None) -> tuple[Card, ...]:
    """The card of a call and of the same answer in another order: the reverse where it was asked,
    else the next one.
    """
    rows = np.flatnonzero(arm.call == call)
    if not len(rows):
        return ()
    text, order = arm.text[arm.item[rows[0]]], arm.order[rows[0]]
    beside = np.flatnonzero((arm.text[arm.item] == text) & (arm.order != order) & arm.ok)
    backwards = arm.shown[order][::-1]
    reverse = [row for row in beside if (arm.shown[arm.order[row]] == backwards).all()]
    other = reverse[0] if reverse else beside[0] if len(beside) else None
    calls = [call] if other is None else [call, arm.call[other]]
    return tuple(
        card for chosen in calls if (card := card_of(arm, chosen, descriptions)) is not None
    )


def example_of(arm: Arm, descriptions: Mapping[Any, str] | None = None) -> tuple[Card, ...]:
    """An answer under two orders whose score differs: listed upwards and downwards where any does,
    else as it comes.
    """
    upwards = (arm.shown == np.arange(arm.positions)).all(axis=1)
    rows = np.flatnonzero(arm.ok)
    first = rows[upwards[arm.order[rows]]]
    kept: tuple[Card, ...] = ()
    for row in (*first[:200], *rows[:200]):
        pair = pair_of(arm, arm.call[row], descriptions)
        if len(pair) == 2 and pair[0].score != pair[1].score:
            return pair
        kept = kept or pair
    return kept
