"""Rows of a condition in, pictures with their labels, hovers and alt texts out. Nothing is computed but what a mark needs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rubriclab.core.answers import line, turn
from rubriclab.core.arm import Arm
from rubriclab.core.topic import TOPICS, Chart, Findings, Row
from rubriclab.model.text import count
from rubriclab.sinks.cards import order_title
from rubriclab.sinks.facts import Facts, facts_of
from rubriclab.sinks.marks import Bars, Cells, Forest, Picture, Point, Slopes
from rubriclab.sinks.text import NBSP, ends, interval, name, number, reason, value_text

MOST_LINES = 120
"""Lines of single answers that a slope chart shows; the mean is over all."""


def _share(value: float) -> str:
    return number(value, ".0%")


def share_bars(findings: Findings, facts: Facts, condition: int | None = None) -> Bars | None:
    """How often each position was chosen, with the interval of each share and where it would be without an effect.

    ``condition``: another strategy of the same judge than the one that the verdicts are about; nothing is decided there.
    """
    chosen = facts.condition if condition is None else condition
    rows = findings.select("position_share", condition=chosen)
    if not rows or not facts.shares:
        return None
    expected_of, decided_of = facts.expected, facts.decided
    if chosen != facts.condition:
        expected_of, decided_of = (math.nan,) * len(rows), (False,) * len(rows)
    points = []
    for row, expected, decided in zip(rows, expected_of, decided_of, strict=True):
        low, high = row.interval
        inside = ends(low, high, ".0%", row.level) or reason(row)
        hover = (
            f"Position {row.of['position']}: {_share(row.value)} of calls",
            inside,
            f"without position bias: {_share(expected)}" if math.isfinite(expected) else "",
        )
        label = str(row.of["position"])
        points.append(
            Point(
                label,
                row.value,
                _share(row.value),
                low,
                high,
                expected,
                decided,
                row.of,
                tuple(line for line in hover if line),
            )
        )
    even = {_share(expected) for expected in expected_of if math.isfinite(expected)}
    reference = f"no bias: {even.pop()}" if len(even) == 1 else ""
    said = ", ".join(number(100 * point.value, ".0f") for point in points)
    intervals = "with 95 % intervals" if points[0].has_interval else "without intervals"
    where = (
        f"A dotted line marks {reference.removeprefix('no bias: ')}." if reference else "Dotted marks: without bias."
    )
    alt = f"Bar chart of the share of calls that chose each position: {said} per cent, {intervals}. {where}"
    return Bars(tuple(points), "Position in the list", alt, reference)


def score_cells(findings: Findings, condition: int) -> Cells | None:
    """Score x position: of the calls that gave a score, the share that chose it at each position."""
    rows = findings.select("position_given_score", condition=condition)
    if not rows:
        return None
    arm = findings.judgments.arms[condition]
    given = arm.counts.sum(axis=(0, 2))
    shown = arm.exposure.sum(axis=0)
    scores = list(dict.fromkeys(row.of["score"] for row in rows))
    positions = list(dict.fromkeys(row.of["position"] for row in rows))
    at = {(row.of["score"], row.of["position"]): row for row in rows}
    lines: list[tuple[Point | None, ...]] = []
    for k, score in enumerate(scores):
        line: list[Point | None] = []
        for p, position in enumerate(positions):
            row = at.get((score, position))
            # Shares are at equal exposure where every score was at every position; a score that was not shown there is empty.
            level = 1 / len(positions) if shown[k, p] else math.nan
            line.append(_score_cell(row, score, position, int(given[k]), level) if row else None)
        lines.append(tuple(line))
    known = [point for line in lines for point in line if point and math.isfinite(point.value)]
    alt = "Heatmap, score by position; no score was given."
    if known:
        top = max(known, key=lambda point: point.value)
        alt = (
            f"Heatmap, score by position: the largest cell is score {top.of['score']} at position {top.of['position']} with "
            f"{top.text}; without position bias every cell would be {_share(top.expected)}."
        )
    names = tuple(f"{score:g}" for score in scores)
    return Cells(tuple(str(p) for p in positions), names, tuple(lines), ("Position in the list", "Score chosen"), alt)


def _score_cell(row: Row, score: float, position: int, given: int, expected: float) -> Point:
    value = row.value if given else math.nan
    text = _share(value) if math.isfinite(value) else "–"
    hover = (
        f"Score {score:g} at position {position}",
        f"{text} of the {count(given, 'call')} that gave {score:g}" if given else f"{score:g} was never given",
        interval(row) or reason(row),
        f"even: {_share(expected)}" if math.isfinite(expected) else "never shown there",
        "click to read these calls",
    )
    low, high = row.interval
    return Point(str(position), value, text, low, high, expected, False, row.of, tuple(line for line in hover if line))


def target_cells(findings: Findings, condition: int) -> Cells | None:
    """Criterion x position: the mean score at a position less the criterion's own mean, points."""
    rows = findings.select("position_shift", condition=condition)
    if not rows:
        return None
    targets = list(dict.fromkeys(row.of["target"] for row in rows))[::-1]
    positions = sorted({row.of["position"] for row in rows})
    at = {(row.of["target"], row.of["position"]): _criterion_cell(row) for row in rows}
    lines = tuple(tuple(at.get((target, position)) for position in positions) for target in targets)
    known = [point for point in at.values() if math.isfinite(point.value)]
    alt = "Heatmap, criterion by position; no score was given."
    if known:
        top = max(known, key=lambda point: abs(point.value))
        alt = (
            f"Heatmap, criterion by position, in points from the criterion's own mean: the largest cell is "
            f"{top.of['target']} at position {top.of['position']} with {top.text}."
        )
    smallest = findings.reading.smallest.mean * findings.judgments.arms[condition].step
    # Full colour at twice the smallest effect that matters, or at the largest cell where that is further.
    span = max([2 * smallest, *(abs(point.value) for point in known)])
    axes = ("Position in the list", "")
    return Cells(tuple(map(str, positions)), tuple(map(str, targets)), lines, axes, alt, span)


def _criterion_cell(row: Row) -> Point:
    low, high = row.interval
    text = number(row.value, "+.2f") if math.isfinite(row.value) else "–"
    kind = "simultaneous " if row.level > 0.95 else ""
    hover = (
        f"{row.of['target']} at position {row.of['position']}",
        f"{text}{NBSP}points from its own mean",
        kind + interval(row) if interval(row) else reason(row),
        "click to read these calls",
    )
    return Point(str(row.of["position"]), row.value, text, low, high, 0.0, False, row.of, hover)


def score_slopes(findings: Findings, facts: Facts, condition: int | None = None) -> Slopes | None:
    """Each answer's scores over all its orders as a straight line from the downward to the upward lists.

    The mean of the lines is the row ``line``, or ``turn`` where that is the larger contrast, and stands beside them. None
    where no answer was judged in two directions.
    """
    code = facts.condition if condition is None else condition
    arm = findings.judgments.arms[code]
    by_turn = facts.by_turn and bool(findings.select("turn", condition=code))
    row = next(iter(findings.select("turn" if by_turn else "line", condition=code)), None)
    if row is None or not math.isfinite(row.value):
        return None
    left, right = _lines_of_items(arm, turn(arm.shown) if by_turn else line(arm.shown))
    known = np.flatnonzero(np.isfinite(left))
    if not len(known):
        return None
    shown = known[np.linspace(0, len(known) - 1, min(len(known), MOST_LINES)).astype(int)]
    first = {int(text): k for k, text in reversed(list(enumerate(arm.text)))}
    ids = findings.judgments.items["item_id"].iloc[arm.item_code].to_numpy()
    items = tuple((str(ids[first[int(k)]]), float(left[k]), float(right[k])) for k in shown)
    upwards = list(arm.names)
    labels = ("downwards", "upwards") if by_turn else (order_title(upwards[::-1]), order_title(upwards))
    middle = float((left[known] + right[known]).mean()) / 2
    mean = middle - row.value / 2, middle + row.value / 2
    low, high = row.interval
    text = number(row.value, "+.2f")
    hover = (f"Mean difference {text}{NBSP}points", interval(row) or reason(row))
    difference = Point("difference", row.value, text, low, high, 0.0, False, row.of, hover)
    alt = (
        f"Slope chart of {count(len(known), 'answer')} between two orders, {labels[0]} and {labels[1]}: the mean difference "
        f"is {text} points ({hover[1]})."
    )
    smallest = facts.questions["mean"].smallest if "mean" in facts.questions else math.nan
    scale = float(arm.scores[0]), float(arm.scores[-1])
    return Slopes(labels, items, mean, scale, alt, difference, smallest, left_out=len(known) - len(items))


def _lines_of_items(arm: Arm, towards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(texts,) each: where a text's line ends, downwards and upwards; every order counts once, NaN without a line.

    ``towards`` (orders,): -1 downwards to 1 upwards.
    """
    kept = np.flatnonzero(arm.ok)
    key = arm.text[arm.item[kept]] * len(arm.shown) + arm.order[kept]
    cells, cell = np.unique(key, return_inverse=True)
    score = np.bincount(cell, arm.value[kept], len(cells)) / np.bincount(cell, minlength=len(cells))
    text, direction = cells // len(arm.shown), towards[cells % len(arm.shown)]
    orders = np.maximum(np.bincount(text, minlength=arm.texts), 1)
    mean = np.bincount(text, score, arm.texts) / orders
    middle = np.bincount(text, direction, arm.texts) / orders
    away = direction - middle[text]
    bottom = np.bincount(text, away**2, arm.texts)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(bottom > 1e-9, np.bincount(text, away * score, arm.texts) / bottom, np.nan)
    return mean + slope * (-1 - middle), mean + slope * (1 - middle)


def row_forest(rows: Sequence[Row], axis: str, smallest: float = math.nan, by: str = "") -> Forest | None:
    """Rows with their intervals under each other; coloured nowhere, for such rows carry no verdict.

    ``by``: the part of ``of`` that names a row where all else is the same.
    """
    known = [row for row in rows if math.isfinite(row.value)]
    if not known:
        return None
    points = []
    for row in known:
        low, high = row.interval
        hover = (name(row), value_text(row), interval(row) or reason(row))
        label = str(row.of[by]) if by else name(row)
        points.append(Point(label, row.value, number(row.value, row.about.form), low, high, 0.0, False, row.of, hover))
    said = "; ".join(f"{point.label} {point.text} ({point.hover[2]})" for point in points[:20])
    return Forest(tuple(points), axis, f"Intervals: {said}.", smallest)


def picture_of(findings: Findings, measure: str, condition: int) -> Picture | None:
    """The picture of one measure in one condition: its own where it has one, else what its topic declares, else a forest."""
    named = findings.conditions[condition]
    if measure == "position_share":
        return share_bars(findings, facts_of(findings, named.judge, named.dataset, named.variant))
    if measure == "position_given_score":
        return score_cells(findings, condition)
    if measure == "position_shift":
        return target_cells(findings, condition)
    for topic in TOPICS.values():
        for chart in topic.charts:
            if chart.measure == measure and named.reorder in topic.axes:
                return generic(chart, findings, condition)
    rows = findings.select(measure, condition=condition)
    return row_forest(rows, rows[0].about.unit or rows[0].about.name) if rows else None


def generic(chart: Chart, findings: Findings, condition: int) -> Picture | None:
    """What a topic declares: any measure as bars, cells or a forest, without a word of its own."""
    rows = [row for row in findings.select(chart.measure, condition=condition) if math.isfinite(row.value)]
    if not rows:
        return None
    if chart.kind == "forest" or not chart.by:
        return row_forest(rows, rows[0].about.unit or rows[0].about.name)
    points = {
        (str(row.of.get(chart.across, "")), str(row.of.get(chart.by, ""))): _generic_point(row, chart) for row in rows
    }
    columns = tuple(dict.fromkeys(key[1] for key in points))
    said = "; ".join(f"{point.hover[0]} {point.text}" for point in list(points.values())[:20])
    alt = f"{rows[0].about.name}: {said}."
    if chart.kind == "bars":
        return Bars(tuple(points.values()), chart.by.capitalize(), alt)
    lines = tuple(dict.fromkeys(key[0] for key in points))[::-1]
    grid = tuple(tuple(points.get((line, column)) for column in columns) for line in lines)
    span = max(1e-9, *(abs(row.value) for row in rows))
    return Cells(columns, lines, grid, (chart.by.capitalize(), chart.across.capitalize()), alt, span)


def _generic_point(row: Row, chart: Chart) -> Point:
    low, high = row.interval
    hover = (name(row), value_text(row), interval(row) or reason(row))
    text = number(row.value, row.about.form)
    return Point(str(row.of.get(chart.by, "")), row.value, text, low, high, 0.0, False, row.of, hover)
