"""A judge's facts in, the one picture of its axis out: shares, criteria, winners of swapped pairs, positions in a call,
answers between two forms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from rubriclab.core.arm import TIE, Arm
from rubriclab.core.topic import Chart, Findings
from rubriclab.model.text import count
from rubriclab.sinks.facts import CHOICES, Facts
from rubriclab.sinks.marks import Bars, Curve, Curves, Picture, Point, Slopes, Stack, Stacks
from rubriclab.sinks.pictures import MOST_LINES, generic, share_bars, target_cells
from rubriclab.sinks.text import NBSP, ends, interval, number, reason

MOST_TASKS = 8
"""Tasks that get a bar of their own; more are one bar together."""


class Shown(NamedTuple):
    """The picture of an axis with its title and, below it, how it is to be read."""

    title: str
    picture: Picture | None
    note: str


def main_picture(findings: Findings, facts: Facts, condition: int | None = None) -> Shown:
    """The picture beside the answer; ``condition``: another ordering strategy than the one that the verdicts are about."""
    code = facts.condition if condition is None else condition
    arm = findings.judgments.arms[code]
    if facts.variant:
        slopes = variant_slopes(findings, facts)
        return Shown(
            "Each answer in both forms", slopes, "Each line: an answer's mean score. Orange falls, blue rises."
        )
    if facts.reorder == "criteria":
        note = "Points from the criterion's own mean. Orange: higher. Blue: lower."
        return Shown("Criterion by position", target_cells(findings, code), note)
    if facts.reorder == "responses":
        note = "Points from the answers' own mean; lines: 95 % CI.".replace(" %", NBSP + "%")
        return Shown("Score by position in the call", by_position(findings, facts), note)
    if facts.reorder in CHOICES:
        title = (
            "What happens when the two answers are swapped" if facts.reorder == "pairs" else "Who wins in all orders"
        )
        return Shown(title, winner_stacks(arm), "One call in each order; a tie beside a win counts with that side.")
    if facts.reorder == "bare":
        return Shown("Scores given", generic(Chart("bars", "score_share", by="score"), findings, code), "")
    bars = share_bars(findings, facts, code)
    whiskers = (
        f"Lines on bars: 95{NBSP}% CI." if bars and bars.points[0].has_interval else "Too few groups for intervals."
    )
    return Shown("How often each position was chosen", bars, whiskers if bars else "")


def _points(findings: Findings, facts: Facts, values: Sequence[float], form: str) -> tuple[Point, ...]:
    """A mark a position, with the intervals of the verdict about positions; ``values`` - their leans are the middle."""
    rows = [row for row in findings.select("favours_positions", condition=facts.condition) if not row.of]
    intervals = rows[0].counts.get("intervals") if rows else None
    points = []
    for p, (value, lean) in enumerate(zip(values, facts.leans, strict=True)):
        low, high = intervals[p] if intervals else (math.nan, math.nan)
        middle, text = value - lean, number(value, form)
        low, high = low + middle, high + middle
        hover = (f"Position {p + 1}: {text}", ends(low, high, form) or "no interval")
        points.append(Point(str(p + 1), value, text, low, high, middle, facts.decided[p], {"position": p + 1}, hover))
    return tuple(points)


def by_position(findings: Findings, facts: Facts) -> Curves | None:
    """Answers of one call: how far they score from their own mean at each position, with the verdict's own intervals."""
    points = _points(findings, facts, facts.leans, "+.2f")
    said = ", ".join(point.text for point in points)
    alt = f"Line chart of the mean score at each position in the call, in points from the answers' own mean: {said}."
    smallest = findings.reading.smallest.mean * findings.judgments.arms[facts.condition].step
    axes = ("Position in the call", "points from the own mean")
    labels = tuple(point.label for point in points)
    return Curves((Curve(facts.judge, points),), labels, axes, alt, smallest) if points else None


def choice_bars(findings: Findings, facts: Facts) -> Bars | None:
    """How often the candidate at each position won (a tie counts as a share of a win), with the verdict's own intervals."""
    if facts.reorder not in CHOICES or not facts.shares:
        return None
    points = _points(findings, facts, facts.shares, ".0%")
    said = ", ".join(point.text for point in points)
    even = {number(point.expected, ".0%") for point in points}
    reference = f"no bias: {even.pop()}" if len(even) == 1 else ""
    return Bars(points, "Position", f"Bar chart of how often the answer at each position won: {said}.", reference)


def winner_stacks(arm: Arm) -> Stacks | None:
    """Of comparisons asked in two orders or more: the same candidate wins, or the same position (Shi et al., section 2.1).

    One call in each order. A bar for all, and one for each task where there are two to eight.
    """
    kind = winner_classes(arm)
    known = kind >= 0
    if not known.any():
        return None
    names: tuple[str, ...] = ("same winner", "first twice", "second twice")
    if arm.condition.reorder == "lists":
        names = ("same winner", "always the first", "always the last", "other changes")
    tasks = arm.run.items["task"].iloc[arm.item_code].astype(object).to_numpy()
    several = sorted({str(task) for task in tasks[known] if isinstance(task, str)})
    groups = [("all", known)]
    if 2 <= len(several) <= MOST_TASKS:
        groups += [(task, known & (tasks == task)) for task in several]
    stacks = []
    for label, mine in groups:
        shares = [float((kind[mine] == k).mean()) for k in range(len(names))]
        of = f"of {count(int(mine.sum()), 'comparison')}"
        hovers = [(f"{label}: {name}", f"{number(x, '.0%')} {of}") for name, x in zip(names, shares, strict=True)]
        parts = zip(names, shares, hovers, strict=True)
        stacks.append(Stack(label, tuple(Point(name, x, number(x, ".0%"), hover=hover) for name, x, hover in parts)))
    said = ", ".join(f"{part.label} {part.text}" for part in stacks[0].parts)
    alt = f"Stacked bars of {count(int(known.sum()), 'comparison')} asked in several orders: {said}."
    return Stacks(tuple(stacks), names, alt)


def winner_classes(arm: Arm) -> np.ndarray[Any, Any]:
    """(items,): 0 the same winner in every order, 1 always the first position (or a tie), 2 always the last, 3 else; -1
    where fewer than two orders were parsed."""
    kept = np.flatnonzero(arm.ok)
    cell = arm.item[kept] * len(arm.shown) + arm.order[kept]
    row = kept[np.unique(cell, return_index=True)[1]]
    item, winner, position = arm.item[row], arm.score[row], arm.position[row]
    last = arm.positions - 1

    def all_of(condition: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray(np.bincount(item, ~condition, arm.items) == 0)

    lowest, highest = np.full(arm.items, arm.positions), np.full(arm.items, -1)
    np.minimum.at(lowest, item, winner)
    np.maximum.at(highest, item, winner)
    first, end = all_of((position == 0) | (position == TIE)), all_of((position == last) | (position == TIE))
    kind = np.where(lowest == highest, 0, np.where(first, 1, np.where(end, 2, 3)))
    return np.asarray(np.where(np.bincount(item, minlength=arm.items) > 1, kind, -1))


def variant_slopes(findings: Findings, facts: Facts) -> Slopes | None:
    """Each answer's mean score in the default and in a variant; the mean difference is the row ``variant_shift``."""
    row = next(iter(findings.select("variant_shift", condition=facts.condition, variant=facts.variant)), None)
    arm, default = findings.judgments.arms[facts.condition], default_arm(findings, facts)
    if row is None or default is None or not math.isfinite(row.value):
        return None
    left, right = _item_means(default), _item_means(arm)
    both = sorted(left.keys() & right.keys())
    if not both:
        return None
    shown = [both[int(k)] for k in np.linspace(0, len(both) - 1, min(len(both), MOST_LINES))]
    ids = findings.judgments.items["item_id"]
    items = tuple((str(ids.iloc[code]), left[code], right[code]) for code in shown)
    middle = (sum(left[code] for code in both) + sum(right[code] for code in both)) / (2 * len(both))
    text, inside = number(row.value, "+.2f"), interval(row) or reason(row)
    hover = (f"Mean difference {text}{NBSP}points", inside)
    alt = f"Slope chart of {count(len(both), 'answer')} between {facts.default} and {facts.variant}: the mean difference is "
    return Slopes(
        (facts.default, facts.variant),
        items,
        (middle - row.value / 2, middle + row.value / 2),
        (float(arm.scores[0]), float(arm.scores[-1])),
        f"{alt}{text} points ({inside}).",
        Point("difference", row.value, text, *row.interval, of=row.of, hover=hover),
        findings.reading.smallest.mean * arm.step,
        left_out=len(both) - len(items),
    )


def default_arm(findings: Findings, facts: Facts) -> Arm | None:
    """The condition that a variant is held against: of the first variant, with the variant's own strategy where it has it;
    of strategies compared with each other the first."""
    own = findings.conditions[facts.condition]
    others = [arm for arm in findings.judgments.arms if arm.code != facts.condition]
    others = [arm for arm in others if (arm.condition.judge, arm.condition.dataset) == (own.judge, own.dataset)]
    same = [arm for arm in others if arm.condition.variant_key == others[0].condition.variant_key]
    return next((arm for arm in same if arm.condition.strategy == own.strategy), next(iter(same), None))


def _item_means(arm: Arm) -> dict[int, float]:
    """The run's item -> its mean score over an arm's parsed calls."""
    kept = np.flatnonzero(arm.ok)
    calls = np.bincount(arm.item[kept], minlength=arm.items)
    sums = np.bincount(arm.item[kept], arm.value[kept], arm.items)
    return {int(arm.item_code[k]): float(sums[k] / calls[k]) for k in np.flatnonzero(calls)}
