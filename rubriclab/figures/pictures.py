"""Rows of a condition in, pictures with labels, hovers and alt texts out. Nothing is computed but
what a mark needs.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rubriclab.core.cells import line, turn
from rubriclab.core.judgments import TIE, Arm
from rubriclab.core.topic import MEASURES, TOPICS, Chart, Findings, Row
from rubriclab.exports.paper_table import DEFAULT, paper_table
from rubriclab.figures.marks import Picture, Point, Series, picture
from rubriclab.measures.rated import means
from rubriclab.model.judgment import level_text
from rubriclab.model.text import LabError, count
from rubriclab.words.facts import CHOICES, UNDECIDED, Facts, facts_of, words_of
from rubriclab.words.phrases import (
    NBSP,
    ci,
    ends,
    inside,
    name,
    number,
    order_title,
    say,
    value_text,
)

MOST_LINES = 120
"""Lines of single answers that a slope chart shows; the mean is over all."""
MOST_TASKS = 8
"""Tasks that get a bar of their own; more are one bar together."""
MOST_SAID = 20
"""Numbers that an alt text says."""
CLICK = "click to read these calls"


class Shown(NamedTuple):
    """The picture of an axis with its title and, below it, how it is to be read."""

    title: str
    picture: Picture | None
    note: str


def main_picture(findings: Findings, facts: Facts, condition: int | None = None) -> Shown:
    """The picture beside the answer; ``condition``: another ordering strategy than the one that the
    verdicts are about.
    """
    code = facts.condition if condition is None else condition
    title, note = (say(key, words_of(facts)) for key in ("picture", "caption"))
    arm = findings.judgments.arms[code]
    drawn = {
        "variant": lambda: variant_slopes(findings, facts),
        "criteria": lambda: target_cells(findings, code),
        "responses": lambda: by_position(findings, facts),
        "pairs": lambda: winner_stacks(arm),
        "lists": lambda: winner_stacks(arm),
        "bare": lambda: generic(Chart("bars", "score_share", by="score"), findings, code),
        "options": lambda: share_bars(findings, facts, code),
    }[facts.kind]()
    if facts.kind == "options" and drawn is not None:
        key = "whiskers" if drawn.points[0].has_interval else "no_whiskers"
        if facts.unmoved and code == facts.condition:
            key = "cannot_vary"
        note = say(key, words_of(facts))
    return Shown(title, drawn, note)


def picture_of(findings: Findings, measure: str, condition: int) -> Picture | None:
    """The picture of one measure in one condition: its own where it has one, else what its topic
    declares, else a forest.
    """
    if measure == "position_share" and not findings.conditions[condition].chooses:
        return share_bars(findings, facts_of(findings, condition), condition)
    if measure in ("position_given_score", "position_shift"):
        return (score_cells if measure == "position_given_score" else target_cells)(
            findings, condition
        )
    declared = [
        chart for topic in TOPICS.values() for chart in topic.charts if chart.measure == measure
    ]
    return generic(declared[0] if declared else Chart("forest", measure), findings, condition)


def generic(chart: Chart, findings: Findings, condition: int) -> Picture | None:
    """What a topic declares: any measure as bars, cells, curves (a line for each ``across``) or a
    forest, without a word of its own.
    """
    rows = [
        row
        for row in findings.select(chart.measure, condition=condition)
        if math.isfinite(row.value)
    ]
    if not rows:
        return None
    about = rows[0].about
    axis = about.unit if about.unit in ("points", "percentage points") else about.name
    if chart.kind == "forest" or not chart.by:
        return row_forest(rows, axis)
    points = {
        (row.of.get(chart.across), row.of[chart.by]): mark(row, str(row.of[chart.by]))
        for row in rows
    }
    by, alt = chart.by.capitalize(), f"{about.name}: {_said(points.values())}."
    if chart.kind == "bars":
        return picture("bars", points, alt, axes=(by, ""))
    if chart.kind == "curve":
        return picture("curves", points, alt, axes=(by, axis))
    centred = {key: replace(point, expected=0.0) for key, point in points.items()}
    span = max(1e-9, *(abs(row.value) for row in rows))
    return picture("cells", centred, alt, axes=(by, chart.across.capitalize()), span=span)


def mark(row: Row, label: str, *hover: str, **more: Any) -> Point:
    """A row as a mark: its number (a dash where there is none) and interval; ``hover``: its lines,
    else the measure's words.
    """
    text = number(row.value, row.about.form) if math.isfinite(row.value) else "–"
    lines = hover or (name(row), value_text(row), inside(row))
    return Point(
        label, row.value, text, *row.interval, of=row.of, hover=tuple(filter(None, lines)), **more
    )


def _said(points: Iterable[Point]) -> str:
    return "; ".join(f"{point.hover[0]} {point.text}" for point in list(points)[:MOST_SAID])


# ---------------------------------------------------------------- bars
def share_bars(
    findings: Findings, facts: Facts, condition: int | None = None, *, called: bool = False
) -> Picture | None:
    """How often each position was chosen, or won, and where it would be without an effect.

    Shares and intervals are the verdict's own, so that bars and sentences say the same; of pairs
    and lists a tie counts as a share of a win. Shares that no order changed are even by design, and
    have no interval. ``condition``: another strategy of the same judge than the one that the
    verdicts are about: the share of its calls, without interval or decision. ``called``: so too for
    the condition of the verdicts.
    """
    own = condition in (None, facts.condition) and not called
    points = _by_position(facts, facts.shares, f".{facts.share_decimals}%") if facts.shares else []
    if facts.reorder not in CHOICES and not own:
        rows = findings.select("position_share", condition=condition)
        points = [
            Point(
                str(p + 1),
                row.value,
                number(row.value, ".0%"),
                of=row.of,
                hover=(f"Position {p + 1}: {number(row.value, '.0%')} of calls",),
            )
            for p, row in enumerate(rows)
        ]
    if not points:
        return None
    expected = [point.expected for point in points if math.isfinite(point.expected)]
    even = {number(value, f".{facts.share_decimals}%") for value in expected}
    reference = f"no bias: {even.pop()}" if len(even) == 1 else ""
    shares = ", ".join(point.text.removesuffix("%") for point in points)
    intervals = f"with {ci()}" if points[0].has_interval else "without intervals"
    dotted = f" A dotted line marks {reference.removeprefix('no bias: ')}." if reference else ""
    what, axis = "the share of calls that chose each position", "Position in the list"
    if facts.reorder in CHOICES:
        what, axis = "how often the answer at each position won", "Position"
    alt = f"Bar chart of {what}: {shares} per cent, {intervals}.{dotted}"
    return picture(
        "bars",
        {("", point.label): point for point in points},
        alt,
        axes=(axis, ""),
        reference=reference,
    )


def _by_position(facts: Facts, values: Sequence[float], form: str) -> list[Point]:
    """A mark a position, with the intervals of the verdict about positions; ``values`` - their
    leans are the middle.

    Intervals of shares end at 0 and 1.
    """
    shares = form.endswith("%")
    least, most = (0.0, 1.0) if shares else (-math.inf, math.inf)
    points = []
    for p, (value, lean) in enumerate(zip(values, facts.leans, strict=True)):
        middle = facts.expected[p] if shares else value - lean
        low = high = math.nan
        if facts.intervals and not facts.unmoved and math.isfinite(middle):
            low, high = (float(np.clip(end + middle, least, most)) for end in facts.intervals[p])
        text = number(value, form)
        hover = [f"Position {p + 1}: {text}"]
        if facts.unmoved:
            hover.append("even by design: no score changed with the order")
        else:
            hover.append(ends(low, high, form) or "no interval")
        if shares and math.isfinite(middle):
            hover.append(f"without position bias: {number(middle, form)}")
        points.append(
            Point(
                str(p + 1),
                value,
                text,
                low,
                high,
                middle,
                facts.decided[p],
                {"position": p + 1},
                tuple(hover),
            )
        )
    return points


def winner_stacks(arm: Arm) -> Picture | None:
    """Of comparisons asked in two orders or more: the same candidate wins, or the same position
    (Shi et al., section 2.1).

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
    groups = {"all": known}
    if 2 <= len(several) <= MOST_TASKS:
        groups |= {task: known & (tasks == task) for task in several}
    points = {}
    for label, mine in groups.items():
        compared = f"of {count(int(mine.sum()), 'comparison')}"
        for k, part in enumerate(names):
            share = float((kind[mine] == k).mean())
            text = number(share, ".0%")
            points[label, part] = Point(
                part, share, text, hover=(f"{label}: {part}", f"{text} {compared}")
            )
    said = ", ".join(f"{part} {points['all', part].text}" for part in names)
    alt = (
        f"Stacked bars of {count(int(known.sum()), 'comparison')} asked in several orders: {said}."
    )
    return picture("stacks", points, alt)


def winner_classes(arm: Arm) -> np.ndarray[Any, Any]:
    """(items,): 0 the same winner in every order, 1 always the first position (or a tie), 2 always
    the last, 3 else; -1 where fewer than two orders were parsed.
    """
    kept = np.flatnonzero(arm.ok)
    cell = arm.item[kept] * len(arm.shown) + arm.order[kept]
    row = kept[np.unique(cell, return_index=True)[1]]
    item, winner, position = arm.item[row], arm.score[row], arm.position[row]

    def always(winning: int) -> np.ndarray[Any, Any]:
        return np.asarray(
            np.bincount(item, (position != winning) & (position != TIE), arm.items) == 0
        )

    lowest, highest = np.full(arm.items, arm.positions), np.full(arm.items, -1)
    np.minimum.at(lowest, item, winner)
    np.maximum.at(highest, item, winner)
    kind = np.select([lowest == highest, always(0), always(arm.positions - 1)], [0, 1, 2], 3)
    return np.asarray(np.where(np.bincount(item, minlength=arm.items) > 1, kind, -1))


# ---------------------------------------------------------------- cells
def _cells(
    points: Mapping[tuple[Any, Any], Point],
    axes: tuple[str, str],
    alt: str,
    least: float | None = None,
) -> Picture | None:
    """Cells by (line, column); ``alt`` has a gap for the largest. Full colour at ``least``, or at
    the largest where that is further; where there is no ``least`` the cells are shares.
    """
    known = [point for point in points.values() if math.isfinite(point.value)]
    if not known:
        return None
    top = max(known, key=lambda point: abs(point.value))
    line = top.of["target"] if "target" in top.of else f"score {top.of['score']}"
    largest = f"the largest cell is {line} at position {top.of['position']} with {top.text}"
    span = None if least is None else max(least, abs(top.value))
    return picture("cells", points, alt.replace("{largest}", largest), axes=axes, span=span)


def score_cells(findings: Findings, condition: int) -> Picture | None:
    """Score x position: of the calls that gave a score, the share that chose it at each position,
    at equal exposure.
    """
    points = {}
    even = 1 / max(1, findings.conditions[condition].positions)
    no_bias = number(even, ".0%")
    for row in findings.select("position_given_score", condition=condition):
        score, position, given = row.of["score"], row.of["position"], row.counts["n"]
        share = (
            f"{number(row.value, '.0%')} of the {count(given, 'call')} that gave {score:g}"
            if given
            else "never given"
        )
        hover = (
            f"Score {score:g} at position {position}",
            share,
            inside(row),
            f"even: {no_bias}",
            CLICK,
        )
        points[f"{score:g}", position] = mark(row, str(position), *hover, expected=even)
    alt = (
        f"Heatmap, score by position: {{largest}}; without position bias every cell would be "
        f"{no_bias}."
    )
    return _cells(points, ("Position in the list", "Score chosen"), alt)


def target_cells(findings: Findings, condition: int) -> Picture | None:
    """Criterion x position: the mean score at a position less the criterion's own mean, points."""
    points = {}
    rows = [
        row for row in findings.select("position_shift", condition=condition) if "target" in row.of
    ]
    targets = list(dict.fromkeys(row.of["target"] for row in rows))
    for row in sorted(rows, key=lambda row: (-targets.index(row.of["target"]), row.of["position"])):
        target, position = row.of["target"], row.of["position"]
        simultaneous = (
            "simultaneous " if row.level > 0.95 and np.isfinite(row.interval).all() else ""
        )
        away = f"{number(row.value, '+.2f')}{NBSP}points from its own mean"
        hover = f"{target} at position {position}", away, simultaneous + inside(row), CLICK
        points[target, position] = mark(row, str(position), *hover, expected=0.0)
    alt = "Heatmap, criterion by position, in points from the criterion's own mean: {largest}."
    return _cells(points, ("Position in the list", ""), alt, 2 * smallest_mean(findings, condition))


def smallest_mean(findings: Findings, condition: int) -> float:
    """The smallest change of the mean that matters, in points of a condition's scale."""
    return findings.reading.smallest.points(findings.judgments.arms[condition].condition.scores)


def undecided_within(row: Row, verdict: str, smallest: float) -> bool:
    """Whether an interval lies within the band of small effects and too few groups leave it
    undecided all the same: what groups that are not there might do counts too, and a band around
    the interval would say otherwise.
    """
    return verdict == UNDECIDED and max(map(abs, row.interval)) < smallest


# ---------------------------------------------------------------- slopes
def score_slopes(findings: Findings, facts: Facts, condition: int | None = None) -> Picture | None:
    """Each answer's scores over all its orders as a straight line from the downward to the upward
    lists.

    The mean of the lines is the row ``line``, or ``turn`` where the answer is about that, and
    stands beside them. None where no answer was judged in two directions.
    """
    code = facts.condition if condition is None else condition
    arm = findings.judgments.arms[code]
    by_turn = facts.by_turn and bool(findings.select("turn", condition=code))
    rows = findings.select("turn" if by_turn else "line", condition=code)
    if not rows:
        return None
    upwards = list(arm.names)
    labels = (
        ("downwards", "upwards")
        if by_turn or facts.trend
        else (order_title(upwards[::-1]), order_title(upwards))
    )
    first = np.unique(arm.text, return_index=True)[1]
    ends_of = _lines_of_items(arm, turn(arm.shown) if by_turn else line(arm.shown))
    drawn, asked = (
        _slopes(findings, rows[0], labels, arm.item_code[first], *ends_of),
        facts.questions.get("mean"),
    )
    if drawn is None or asked is None or code != facts.condition:
        return drawn
    return (
        replace(drawn, smallest=math.nan)
        if undecided_within(rows[0], asked.verdict, drawn.smallest)
        else drawn
    )


def variant_slopes(findings: Findings, facts: Facts) -> Picture | None:
    """Each answer's mean score in the default and in a variant; the mean difference is the row
    ``variant_shift``.
    """
    rows = findings.select("variant_shift", condition=facts.condition, variant=facts.variant)
    if not rows:
        return None
    arms = (findings.judgments.arms[code] for code in (facts.default_condition, facts.condition))
    before, after = (arm.of_run(means(arm)) for arm in arms)
    return _slopes(
        findings, rows[0], (facts.default, facts.variant), np.arange(len(before)), before, after
    )


def _slopes(
    findings: Findings,
    row: Row,
    labels: tuple[str, str],
    items: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
) -> Picture | None:
    """Lines of the run's ``items`` between two ends, (items,) each, NaN without one; ``row``: their
    mean difference.
    """
    known = np.flatnonzero(np.isfinite(left) & np.isfinite(right))
    if not len(known) or not math.isfinite(row.value):
        return None
    shown = known[np.linspace(0, len(known) - 1, min(len(known), MOST_LINES)).astype(int)]
    ids = findings.judgments.items["item_id"].iloc[items[shown]].astype(str)
    lines = tuple(
        Series(item, tuple(Point(end, x, number(x)) for end, x in zip(labels, both, strict=True)))
        for item, *both in zip(ids, left[shown].tolist(), right[shown].tolist(), strict=True)
    )
    middle = float((left[known] + right[known]).mean()) / 2
    text = number(row.value, "+.2f")
    between = f"{count(len(known), 'answer')} between two orders, {labels[0]} and {labels[1]}"
    scores = findings.judgments.arms[row.condition].scores
    return Picture(
        "slopes",
        lines,
        f"Slope chart of {between}: the mean difference is {text} points ({inside(row)}).",
        levels=labels,
        smallest=smallest_mean(findings, row.condition),
        scale=(float(scores[0]), float(scores[-1])),
        mean=(middle - row.value / 2, middle + row.value / 2),
        left_out=len(known) - len(lines),
        difference=mark(row, "difference", f"Mean difference {text}{NBSP}points", inside(row)),
    )


def _lines_of_items(arm: Arm, towards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(texts,) each: where a text's line ends, downwards and upwards; every order counts once, NaN
    without a line.

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


# ---------------------------------------------------------------- one text
def text_orders(arm: Arm) -> Picture | None:
    """The score of one text in each order, as they were first asked, orange where the first option
    was chosen.

    ``arm``: of a single text. None where a call has no single score, and below two orders.
    """
    points: dict[tuple[Any, Any], Point] = {}
    for row in (
        np.flatnonzero(arm.ok & (arm.repeat == 0)) if arm.condition.reorder == "options" else ()
    ):
        order, score = arm.order_label(arm.order[row]), number(arm.value[row], ".3g")
        position = int(arm.position[row]) + 1
        hover = f"Listed {order}", f"score {score}", f"position {position}"
        points["", order] = Point(
            order, float(arm.value[row]), score, decided=position == 1, hover=hover
        )
    if len(points) < 2:
        return None
    alt = f"Scores of one answer in {len(points)} orders of the list: {_said(points.values())}."
    return picture(
        "dots", points, alt, axes=("", "Score"), scale=(float(arm.scores[0]), float(arm.scores[-1]))
    )


# ---------------------------------------------------------------- intervals and curves
def row_forest(
    rows: Sequence[Row], axis: str, smallest: float = math.nan, by: str = ""
) -> Picture | None:
    """Rows with their intervals under each other; coloured nowhere, for such rows carry no verdict.

    ``by``: the part of ``of`` that names a row where all else is the same.
    """
    return forest_of(
        [mark(row, str(row.of[by]) if by else name(row)) for row in rows], axis, smallest
    )


def forest_of(points: Iterable[Point], axis: str, smallest: float = math.nan) -> Picture | None:
    """The marks that have a number, under each other."""
    known = [point for point in points if math.isfinite(point.value)]
    said = "; ".join(
        f"{point.label} {point.text} ({point.hover[2]})" for point in known[:MOST_SAID]
    )
    marks = {("", k): point for k, point in enumerate(known)}
    return picture("forest", marks, f"Intervals: {said}.", axes=(axis, ""), smallest=smallest)


def by_position(findings: Findings, facts: Facts) -> Picture | None:
    """Answers of one call: how far they score from their own mean at each position, with the
    verdict's own intervals.
    """
    points = _by_position(facts, facts.leans, "+.2f")
    said = ", ".join(point.text for point in points)
    return picture(
        "curves",
        {(facts.judge, point.label): point for point in points},
        f"Line chart of the mean score at each position in the call, in points from the answers' "
        f"own mean: {said}.",
        axes=("Position in the call", "points from the own mean"),
        smallest=smallest_mean(findings, facts.condition),
    )


LEVELLED = ("v_without_noise", "variant_shift", "line", "within_item_sd", "pearson")
"""What is drawn against the levels of a factor: how strong, the change of the mean, the spread, and
r where people rated.
"""


def levelled_factors(findings: Findings) -> list[str]:
    """Factors whose levels have an order: numbers (scores, temperature), or an effort."""
    levels: dict[str, set[Any]] = {}
    for condition in findings.conditions:
        for key, level in condition.variant.items():
            levels.setdefault(key, set()).add(level)
    numbers = {key: all(type(level) in (int, float) for level in of) for key, of in levels.items()}
    return [key for key, of in levels.items() if len(of) > 1 and (numbers[key] or "effort" in key)]


def level_curves(findings: Findings, measure: str, factor: str, dataset: str) -> Picture | None:
    """A measure against the levels of a factor on one data set, a line a judge.

    A point is made of rows at the baseline of every other factor alone. The shift of a variant is 0
    at the factor's own baseline by definition: that point has no interval.
    """
    try:
        table = paper_table(findings, measure, across=factor)
    except LabError:
        return None
    points: dict[tuple[str, str], Point] = {}
    for column, level in enumerate(table.columns):
        for key, cells in table.lines:
            cell = cells[column]
            variant = dict(zip(table.heads, key, strict=True)).get("Variant", DEFAULT)
            if cell is None or cell.row is None or variant != DEFAULT:
                continue
            asked = findings.conditions[cell.row.condition]
            if asked.dataset != dataset or not math.isfinite(cell.value):
                continue
            title = f"{asked.judge} at {factor.replace('_', ' ')} {level}"
            points[asked.judge, level] = mark(
                cell.row, level, title, value_text(cell.row), inside(cell.row)
            )
    if measure == "variant_shift":
        for judge in dict.fromkeys(judge for judge, _ in points):
            base = next(
                asked
                for asked in findings.conditions
                if (asked.judge, asked.dataset) == (judge, dataset)
            )
            level = level_text(base.variant[factor])
            hover = (f"{judge} at {factor.replace('_', ' ')} {level}", "the default itself")
            points[judge, level] = Point(level, 0.0, number(0.0), hover=hover)
        levels = [level for _, level in points]
        if all(level.replace(".", "", 1).isdigit() for level in levels):
            points = dict(sorted(points.items(), key=lambda kept: float(kept[0][1])))
    if len({level for _, level in points}) < 2:
        return None
    about = MEASURES[measure]
    axes = (
        factor.replace("_", " ").capitalize(),
        about.unit if about.unit in ("points", "percentage points") else "",
    )
    return picture(
        "curves", points, f"{about.name} against {factor}: {_said(points.values())}.", axes=axes
    )
