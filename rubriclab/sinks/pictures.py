"""Rows of a condition in, pictures with labels, hovers and alt texts out. Nothing is computed but what a mark needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rubriclab.core.answers import line, turn
from rubriclab.core.arm import Arm
from rubriclab.core.topic import MEASURES, TOPICS, Chart, Findings, Row
from rubriclab.model.judgment import level_text
from rubriclab.model.text import count
from rubriclab.sinks.facts import Facts, facts_of
from rubriclab.sinks.marks import Bars, Cells, Curve, Curves, Forest, Picture, Point, Slopes
from rubriclab.sinks.text import NBSP, ends, interval, name, number, order_title, reason, value_text

MOST_LINES = 120
"""Lines of single answers that a slope chart shows; the mean is over all."""


def _share(value: float) -> str:
    return number(value, ".0%")


def _point(
    row: Row, label: str, text: str, hover: Sequence[str], *, expected: float = math.nan, decided: bool = False
) -> Point:
    """A row as a mark; a number that is not there is a dash, and why it has no interval stands in the hover."""
    low, high = row.interval
    shown = text if math.isfinite(row.value) else "–"
    lines = tuple(line for line in hover if line)
    return Point(label, row.value, shown, low, high, expected, decided, row.of, lines)


def plain_point(row: Row, label: str) -> Point:
    """A row as a mark, in the words of its measure."""
    hover = name(row), value_text(row), interval(row) or reason(row)
    return _point(row, label, number(row.value, row.about.form), hover)


def share_bars(findings: Findings, facts: Facts, condition: int | None = None) -> Bars | None:
    """How often each position was chosen, with the interval of each share and where it would be without an effect.

    ``condition``: another strategy of the same judge than the one that the verdicts are about; nothing is decided there.
    """
    own = condition in (None, facts.condition)
    rows = findings.select("position_share", condition=facts.condition if own else condition)
    if not rows:
        return None
    points = []
    for p, row in enumerate(rows):
        expected = facts.expected[p] if own else math.nan
        hover = (
            f"Position {p + 1}: {_share(row.value)} of calls",
            ends(*row.interval, form=".0%", level=row.level) or reason(row),
            f"without position bias: {_share(expected)}" if math.isfinite(expected) else "",
        )
        decided = own and facts.decided[p]
        points.append(_point(row, str(p + 1), _share(row.value), hover, expected=expected, decided=decided))
    even = {_share(point.expected) for point in points if math.isfinite(point.expected)}
    reference = f"no bias: {even.pop()}" if len(even) == 1 else ""
    said = ", ".join(number(100 * point.value, ".0f") for point in points)
    intervals = "with 95 % intervals" if points[0].has_interval else "without intervals"
    dotted = f" A dotted line marks {reference.removeprefix('no bias: ')}." if reference else ""
    alt = f"Bar chart of the share of calls that chose each position: {said} per cent, {intervals}.{dotted}"
    return Bars(tuple(points), "Position in the list", alt, reference)


def _grid(points: Mapping[tuple[Any, Any], Point], axes: tuple[str, str], alt: str, span: float | None = None) -> Cells:
    """Cells from points by (line, column), both in the order in which they first stand; the first line at the bottom."""
    lines, columns = (tuple(dict.fromkeys(key[k] for key in points)) for k in (0, 1))
    grid = tuple(tuple(points.get((line, column)) for column in columns) for line in lines)
    return Cells(tuple(map(str, columns)), tuple(map(str, lines)), grid, axes, alt, span)


def score_cells(findings: Findings, condition: int) -> Cells | None:
    """Score x position: of the calls that gave a score, the share that chose it at each position, at equal exposure."""
    points = {}
    even = 1 / max(1, findings.conditions[condition].positions)
    for row in findings.select("position_given_score", condition=condition):
        score, position, given = row.of["score"], row.of["position"], row.counts["n"]
        hover = (
            f"Score {score:g} at position {position}",
            f"{_share(row.value)} of the {count(given, 'call')} that gave {score:g}" if given else "never given",
            interval(row) or reason(row),
            f"even: {_share(even)}",
            "click to read these calls",
        )
        points[f"{score:g}", position] = _point(row, str(position), _share(row.value), hover, expected=even)
    known = [point for point in points.values() if math.isfinite(point.value)]
    if not known:
        return None
    top = max(known, key=lambda point: point.value)
    alt = (
        f"Heatmap, score by position: the largest cell is score {top.of['score']} at position {top.of['position']} "
        f"with {top.text}; without position bias every cell would be {_share(even)}."
    )
    return _grid(points, ("Position in the list", "Score chosen"), alt)


def target_cells(findings: Findings, condition: int) -> Cells | None:
    """Criterion x position: the mean score at a position less the criterion's own mean, points."""
    points = {}
    rows = [row for row in findings.select("position_shift", condition=condition) if "target" in row.of]
    targets = list(dict.fromkeys(row.of["target"] for row in rows))
    for row in sorted(rows, key=lambda row: (-targets.index(row.of["target"]), row.of["position"])):
        target, position = row.of["target"], row.of["position"]
        text = number(row.value, "+.2f")
        kind = "simultaneous " if row.level > 0.95 else ""
        hover = (
            f"{target} at position {position}",
            f"{text}{NBSP}points from its own mean",
            kind + interval(row) if interval(row) else reason(row),
            "click to read these calls",
        )
        points[target, position] = _point(row, str(position), text, hover, expected=0.0)
    known = [point for point in points.values() if math.isfinite(point.value)]
    if not known:
        return None
    top = max(known, key=lambda point: abs(point.value))
    alt = (
        f"Heatmap, criterion by position, in points from the criterion's own mean: the largest cell is {top.of['target']} "
        f"at position {top.of['position']} with {top.text}."
    )
    # Full colour at twice the smallest effect that matters, or at the largest cell where that is further.
    smallest = findings.reading.smallest.mean * findings.judgments.arms[condition].step
    return _grid(points, ("Position in the list", ""), alt, max(2 * smallest, abs(top.value)))


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
    text = number(row.value, "+.2f")
    hover = (f"Mean difference {text}{NBSP}points", interval(row) or reason(row))
    difference = _point(row, "difference", text, hover)
    alt = (
        f"Slope chart of {count(len(known), 'answer')} between two orders, {labels[0]} and {labels[1]}: the mean difference "
        f"is {text} points ({hover[1]})."
    )
    smallest = findings.reading.smallest.mean * arm.step
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
    points = tuple(plain_point(row, str(row.of[by]) if by else name(row)) for row in rows if math.isfinite(row.value))
    said = "; ".join(f"{point.label} {point.text} ({point.hover[2]})" for point in points[:20])
    return Forest(points, axis, f"Intervals: {said}.", smallest) if points else None


def picture_of(findings: Findings, measure: str, condition: int) -> Picture | None:
    """The picture of one measure in one condition: its own where it has one, else what its topic declares, else a forest."""
    if measure == "position_share":
        return share_bars(findings, facts_of(findings, condition), condition)
    if measure in ("position_given_score", "position_shift"):
        return (score_cells if measure == "position_given_score" else target_cells)(findings, condition)
    declared = [chart for topic in TOPICS.values() for chart in topic.charts if chart.measure == measure]
    return generic(declared[0] if declared else Chart("forest", measure), findings, condition)


def generic(chart: Chart, findings: Findings, condition: int) -> Picture | None:
    """What a topic declares: any measure as bars, cells, curves (a line for each ``across``) or a forest, without a word of its own."""
    rows = [row for row in findings.select(chart.measure, condition=condition) if math.isfinite(row.value)]
    if not rows or chart.kind == "forest" or not chart.by:
        return row_forest(rows, rows[0].about.unit or rows[0].about.name) if rows else None
    points = {(row.of.get(chart.across), row.of[chart.by]): plain_point(row, str(row.of[chart.by])) for row in rows}
    said = "; ".join(f"{point.hover[0]} {point.text}" for point in list(points.values())[:20])
    alt = f"{rows[0].about.name}: {said}."
    if chart.kind == "bars":
        return Bars(tuple(points.values()), chart.by.capitalize(), alt)
    if chart.kind == "curve":
        return _curves(points, (chart.by.capitalize(), rows[0].about.unit or rows[0].about.name), alt)
    centred = {key: replace(point, expected=0.0) for key, point in points.items()}
    span = max(1e-9, *(abs(row.value) for row in rows))
    return _grid(centred, (chart.by.capitalize(), chart.across.capitalize()), alt, span)


def _curves(points: Mapping[tuple[Any, Any], Point], axes: tuple[str, str], alt: str, **more: float) -> Curves:
    """A line for each first part of the keys, a point for each second, which is the point's label."""
    named: dict[Any, list[Point]] = {}
    for (name_of_line, _), point in points.items():
        named.setdefault(name_of_line, []).append(point)
    curves = tuple(Curve("" if key is None else str(key), tuple(mine)) for key, mine in named.items())
    return Curves(curves, tuple(dict.fromkeys(point.label for point in points.values())), axes, alt, **more)


LEVELLED = ("v_without_noise", "variant_shift", "line", "within_item_sd", "pearson")
"""What is drawn against the levels of a factor: how strong, the change of the mean, the spread, and r where people rated."""


def levelled_factors(findings: Findings) -> list[str]:
    """Factors whose levels have an order: numbers (scores, temperature), or an effort."""
    levels: dict[str, set[Any]] = {}
    for condition in findings.conditions:
        for key, level in condition.variant.items():
            levels.setdefault(key, set()).add(level)
    numbers = {
        key: all(isinstance(x, int | float) and not isinstance(x, bool) for x in of) for key, of in levels.items()
    }
    return [key for key, of in levels.items() if len(of) > 1 and (numbers[key] or "effort" in key)]


def level_curves(findings: Findings, measure: str, factor: str, dataset: str) -> Curves | None:
    """A measure against the levels of a factor on one data set, a line a judge; all other factors at their baseline.

    Of a judge's conditions at a level that with the most orders; a shift from the baseline is 0 there.
    """
    about, baseline, best = (
        MEASURES.get(measure),
        dict[str, Mapping[str, Any]](),
        dict[tuple[str, str], tuple[int, Row]](),
    )
    levels: dict[str, Any] = {}
    for code, condition in enumerate(findings.conditions):
        if condition.dataset != dataset or factor not in condition.variant:
            continue
        own = baseline.setdefault(condition.judge, condition.variant)
        if any(level != own.get(key) for key, level in condition.variant.items() if key != factor):
            continue
        level = level_text(condition.variant[factor])
        levels[level] = condition.variant[factor]
        for row in findings.select(measure, condition=code):
            orders = len(findings.judgments.arms[code].shown)
            if set(row.of) <= {"variant"} and orders > best.get((condition.judge, level), (0, row))[0]:
                best[condition.judge, level] = orders, row
    known = {key: row for key, (_, row) in best.items() if math.isfinite(row.value)}
    if about is None or len({level for _, level in known}) < 2:
        return None
    numbers = all(isinstance(level, int | float) for level in levels.values())
    ranked = sorted(levels, key=lambda level: levels[level]) if numbers else list(levels)
    points = {}
    for judge, level in sorted(known, key=lambda key: ranked.index(key[1])):
        row = known[judge, level]
        text = number(row.value, about.form)
        hover = f"{judge}, {factor.replace('_', ' ')} {level}", value_text(row), interval(row) or reason(row)
        points[judge, level] = _point(row, level, text, hover)
    said = "; ".join(f"{judge} at {level} {point.text}" for (judge, level), point in list(points.items())[:20])
    unit = about.unit if about.unit in ("points", "percentage points") else ""
    return _curves(points, (factor.replace("_", " ").capitalize(), unit), f"{about.name} against {factor}: {said}.")
