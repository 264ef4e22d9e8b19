"""Turn the rows of a condition into pictures: marks with labels, hovers and alt texts.

Nothing is estimated here: a mark is at the number that a row or a verdict holds. ``charts.py``
draws the pictures with Plotly, ``pictures.svg.jinja`` draws them as SVG.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rubriclab.core.judgments import TIE, Arm
from rubriclab.core.topic import MEASURES, TOPICS, Chart, Findings, Row
from rubriclab.core.verdict import Interval
from rubriclab.figures.marks import Picture, Point, Series, picture
from rubriclab.measures.rated import means
from rubriclab.model.judgment import Condition, level_text
from rubriclab.model.text import LabError, count
from rubriclab.words.paper_grid import DEFAULT, paper_grid
from rubriclab.words.phrases import (
    NBSP,
    capital,
    ci,
    ends,
    inside,
    name,
    number,
    say,
    value_text,
)
from rubriclab.words.subject import CHOICES, UNDECIDED, Subject, sentence_tables, subject_of

MOST_LABELS = 60
"""Characters of two labels that stand next to each other below a picture."""
MOST_LINES = 120
"""Lines of single answers in a slope chart: more cannot be told apart. The mean is over all."""
MOST_TASKS = 8
"""Tasks that get a bar of their own: with more, all are one bar."""
MOST_SAID = 20
"""Numbers that an alt text says: more are not listened to."""
CLICK = "click to read these calls"


class Shown(NamedTuple):
    """A picture with its title above it and, below it, how to read it."""

    title: str
    picture: Picture | None
    note: str


def main_picture(findings: Findings, subject: Subject, condition: int | None = None) -> Shown:
    """Return the picture next to the answer.

    ``condition``: another ordering strategy than the one that the verdicts are about.
    """
    code = subject.condition if condition is None else condition
    tables = sentence_tables(subject)
    drawn = _picture_of_kind(findings, subject, code)
    note = "caption"
    if subject.kind == "options" and drawn is not None:
        note = "whiskers" if drawn.points[0].has_interval else "no_whiskers"
        if subject.unmoved and code == subject.condition:
            note = "cannot_vary"
    return Shown(say("picture", tables), drawn, say(note, tables, ci=ci(subject.level)))


def _picture_of_kind(findings: Findings, subject: Subject, code: int) -> Picture | None:
    """Draw what a kind of list, or a variant, shows first."""
    match subject.kind:
        case "variant":
            return variant_slopes(findings, subject)
        case "criteria":
            return target_cells(findings, code)
        case "examples" | "passages":
            return example_cells(findings, code)
        case "responses":
            return by_position(findings, subject)
        case "pairs" | "lists":
            return winner_stacks(findings.judgments.arms[code])
        case "bare":
            return generic(Chart("bars", "score_share", by="score"), findings, code)
        case _:
            return share_bars(findings, subject, code)


def picture_of(findings: Findings, measure: str, condition: int) -> Picture | None:
    """Return the picture of one measure in one condition.

    Its own picture where it has one, else what its topic declares, else a forest.
    """
    match measure:
        case "position_share" if not findings.conditions[condition].chooses:
            return share_bars(findings, subject_of(findings, condition), condition)
        case "position_given_score":
            return score_cells(findings, condition)
        case "position_shift":
            return target_cells(findings, condition)
        case "example_shift":
            return example_cells(findings, condition)
    for topic in TOPICS.values():
        for chart in topic.charts:
            if chart.measure == measure:
                return generic(chart, findings, condition)
    return generic(Chart("forest", measure), findings, condition)


def generic(chart: Chart, findings: Findings, condition: int) -> Picture | None:
    """Draw what a topic declares: bars, cells, curves (a line for each ``across``) or a forest."""
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
        return row_forest(rows, axis, conditions=findings.conditions)
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


def mark(
    row: Row, label: str, *hover: str, conditions: Sequence[Condition] = (), **more: Any
) -> Point:
    """Return a row as a mark: its number (a dash where there is none) and its interval.

    ``hover``: the lines under the pointer; by default the measure's name, number and interval.
    ``conditions``: of the run, to name the one that a row is compared with.
    """
    text = number(row.value, row.about.form) if math.isfinite(row.value) else "–"
    lines = hover or (name(row, conditions), value_text(row), inside(row))
    return Point(
        label, row.value, text, *row.interval, of=row.of, hover=tuple(filter(None, lines)), **more
    )


def _said(points: Iterable[Point]) -> str:
    return "; ".join(f"{point.hover[0]} {point.text}" for point in list(points)[:MOST_SAID])


# ---------------------------------------------------------------- bars
def share_bars(
    findings: Findings, subject: Subject, condition: int | None = None, *, called: bool = False
) -> Picture | None:
    """Draw how often each position was chosen, or won, and where it would be without an effect.

    Shares and intervals are the verdict's own, so that bars and sentences say the same; for pairs
    and lists a tie counts as a share of a win. Shares that no order changed are even by design, and
    have no interval. ``condition``: another strategy of the same judge than the one that the
    verdicts are about: the shares of its calls, without interval or decision. ``called``: the same
    for the condition of the verdicts. None where positions have points instead of shares.
    """
    if subject.in_points:
        return None
    own = condition in (None, subject.condition) and not called
    if own or subject.reorder in CHOICES:
        points = []
        if subject.shares:
            points = _by_position(subject, subject.shares, f".{subject.share_decimals}%")
    else:
        points = _called_shares(findings, condition)
    if not points:
        return None
    expected = [point.expected for point in points if math.isfinite(point.expected)]
    even = {number(value, f".{subject.share_decimals}%") for value in expected}
    reference = dotted = ""
    if len(even) == 1:
        (share,) = even
        reference, dotted = f"no bias: {share}", f" A dotted line marks {share}."
    shares = ", ".join(point.text.removesuffix("%") for point in points)
    intervals = f"with {ci(subject.level)}" if points[0].has_interval else "without intervals"
    what, axis = "the share of calls that chose each position", "Position in the list"
    if subject.reorder in CHOICES:
        what, axis = "how often the answer at each position won", "Position"
    alt = f"Bar chart of {what}: {shares} per cent, {intervals}.{dotted}"
    by_label = {("", point.label): point for point in points}
    return picture("bars", by_label, alt, axes=(axis, ""), reference=reference)


def _called_shares(findings: Findings, condition: int | None) -> list[Point]:
    """Return the shares of a condition's calls as marks without interval."""
    points = []
    for p, row in enumerate(findings.select("position_share", condition=condition), 1):
        text = number(row.value, ".0%")
        hover = (f"Position {p}: {text} of calls",)
        points.append(Point(str(p), row.value, text, of=row.of, hover=hover))
    return points


def _by_position(subject: Subject, values: Sequence[float], form: str) -> list[Point]:
    """Return a mark for each position, with the intervals of the verdict about positions.

    The verdict's intervals are of leans. Where ``values`` are shares (``form`` in %), the expected
    share is added to their ends, and they end at 0 and 1.
    """
    shares = form.endswith("%")
    least, most = (0.0, 1.0) if shares else (-math.inf, math.inf)
    points = []
    for p, value in enumerate(values):
        middle = subject.expected[p] if shares else value - subject.leans[p]
        low = high = math.nan
        intervals = subject.by_position.intervals
        if intervals and not subject.unmoved and math.isfinite(middle):
            low, high = (float(np.clip(end + middle, least, most)) for end in intervals[p])
        text = number(value, form)
        hover = [f"Position {p + 1}: {text}"]
        if subject.unmoved:
            hover.append("even by design: no score changed with the order")
        else:
            hover.append(ends(low, high, form, level=subject.level) or "no interval")
        if shares and math.isfinite(middle):
            hover.append(f"without position bias: {number(middle, form)}")
        points.append(
            Point(
                str(p + 1),
                value,
                text,
                low,
                high,
                expected=middle,
                decided=p in subject.by_position.outside,
                of={"position": p + 1},
                hover=tuple(hover),
            )
        )
    return points


SAME, ALWAYS_FIRST, ALWAYS_LAST, OTHER = range(4)
"""What a comparison's winner does over its orders, as ``winner_classes`` codes it."""
UNKNOWN_CLASS = -1
CLASSES: dict[str, tuple[str, ...]] = {
    "pairs": ("same winner", "first twice", "second twice"),
    "lists": ("same winner", "always the first", "always the last", "other changes"),
}


def winner_stacks(arm: Arm) -> Picture | None:
    """Draw of comparisons asked in several orders: the same candidate wins, or the same position
    (Shi et al., section 2.1).

    One call in each order counts. A bar for all, and one for each task where there are two to
    MOST_TASKS.
    """
    kind = winner_classes(arm)
    known = kind != UNKNOWN_CLASS
    if not known.any():
        return None
    names = CLASSES[arm.condition.reorder]
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
            hover = (f"{label}: {part}", f"{text} {compared}")
            points[label, part] = Point(part, share, text, hover=hover)
    said = ", ".join(f"{part} {points['all', part].text}" for part in names)
    compared = count(int(known.sum()), "comparison")
    alt = f"Stacked bars of {compared} asked in several orders: {said}."
    return picture("stacks", points, alt)


def winner_classes(arm: Arm) -> np.ndarray[Any, Any]:
    """Return what each item's winner does over its orders, (items,).

    SAME: one winner in every order. ALWAYS_FIRST: always the first position (or a tie).
    ALWAYS_LAST: always the last. OTHER: anything else. UNKNOWN_CLASS: fewer than two orders were
    parsed.
    """
    kept = np.flatnonzero(arm.ok)
    cell = arm.item[kept] * len(arm.shown) + arm.order[kept]
    row = kept[np.unique(cell, return_index=True)[1]]
    item, winner, position = arm.item[row], arm.score[row], arm.position[row]

    def always(winning: int) -> np.ndarray[Any, Any]:
        others = (position != winning) & (position != TIE)
        return np.asarray(np.bincount(item, others, arm.items) == 0)

    lowest, highest = np.full(arm.items, arm.positions), np.full(arm.items, -1)
    np.minimum.at(lowest, item, winner)
    np.maximum.at(highest, item, winner)
    kind = np.select(
        [lowest == highest, always(0), always(arm.positions - 1)],
        [SAME, ALWAYS_FIRST, ALWAYS_LAST],
        OTHER,
    )
    several = np.bincount(item, minlength=arm.items) > 1
    return np.asarray(np.where(several, kind, UNKNOWN_CLASS))


# ---------------------------------------------------------------- cells
def _cells(
    points: Mapping[tuple[Any, Any], Point],
    axes: tuple[str, str],
    alt: str,
    least: float | None = None,
) -> Picture | None:
    """Return cells by (line, column); None where no cell has a number.

    ``alt``: has a gap for the largest cell. ``least``: the distance that has full colour; the
    largest cell has it where that is further. Without ``least`` the cells are shares.
    """
    known = [point for point in points.values() if math.isfinite(point.value)]
    if not known:
        return None
    top = max(known, key=lambda point: abs(point.value))
    if "score" in top.of:
        line = f"score {top.of['score']}"
    else:
        line = top.of.get("target", top.of.get("example"))
    largest = f"the largest cell is {line} at position {top.of['position']} with {top.text}"
    span = None if least is None else max(least, abs(top.value))
    return picture("cells", points, alt.replace("{largest}", largest), axes=axes, span=span)


def score_cells(findings: Findings, condition: int) -> Picture | None:
    """Draw score x position: of the calls that gave a score, the share that chose it at each
    position, at equal exposure.
    """
    points = {}
    even = 1 / max(1, findings.conditions[condition].positions)
    no_bias = number(even, ".0%")
    for row in findings.select("position_given_score", condition=condition):
        score, position, given = row.of["score"], row.of["position"], row.counts["n"]
        share = "never given"
        if given:
            share = f"{number(row.value, '.0%')} of the {count(given, 'call')} that gave {score:g}"
        title = f"Score {score:g} at position {position}"
        hover = (title, share, inside(row), f"even: {no_bias}", CLICK)
        points[f"{score:g}", position] = mark(row, str(position), *hover, expected=even)
    alt = (
        f"Heatmap, score by position: {{largest}}; without position bias every cell would be "
        f"{no_bias}."
    )
    return _cells(points, ("Position in the list", "Score chosen"), alt)


def target_cells(findings: Findings, condition: int) -> Picture | None:
    """Draw criterion x position: the mean score at a position less the criterion's own mean, in
    points.
    """
    points = {}
    rows = [
        row for row in findings.select("position_shift", condition=condition) if "target" in row.of
    ]
    targets = list(dict.fromkeys(row.of["target"] for row in rows))
    # Lines are drawn upwards, so the last criterion comes first.
    for row in sorted(rows, key=lambda row: (-targets.index(row.of["target"]), row.of["position"])):
        target, position = row.of["target"], row.of["position"]
        away = f"{number(row.value, '+.2f')}{NBSP}points from its own mean"
        interval = inside(row)
        if row.level > 1 - row.alpha and np.isfinite(row.interval).all():
            interval = f"simultaneous {interval}"
        hover = (f"{target} at position {position}", away, interval, CLICK)
        points[target, position] = mark(row, str(position), *hover, expected=0.0)
    alt = "Heatmap, criterion by position, in points from the criterion's own mean: {largest}."
    return _cells(points, ("Position in the list", ""), alt, 2 * findings.smallest_mean(condition))


def example_cells(findings: Findings, condition: int) -> Picture | None:
    """Draw example x position: answers' mean score with an example of that label there, less their
    own mean, in points. The highest label is on top.
    """
    points = {}
    for row in findings.select("example_shift", condition=condition):
        example, position = row.of["example"], row.of["position"]
        away = f"{number(row.value, '+.2f')}{NBSP}points from the answer's own mean"
        interval = inside(row)
        if row.level > 1 - row.alpha and np.isfinite(row.interval).all():
            interval = f"simultaneous {interval}"
        hover = (f"{capital(example)} at position {position}", away, interval)
        points[example, position] = mark(row, str(position), *hover, expected=0.0)
    alt = "Heatmap, example by position, in points from the answer's own mean: {largest}."
    return _cells(points, ("Position in the list", ""), alt, 2 * findings.smallest_mean(condition))


def undecided_within(interval: Interval, verdict: str, smallest: float) -> bool:
    """Return whether an interval lies within the band of small effects and is undecided all the
    same.

    With few groups, what groups that are not there might do counts too: a band around the interval
    would say otherwise, so it is left out.
    """
    return verdict == UNDECIDED and max(map(abs, interval)) < smallest


# ---------------------------------------------------------------- slopes
def variant_slopes(findings: Findings, subject: Subject) -> Picture | None:
    """Draw each answer's mean score in the default and in a variant.

    The mean difference is the row ``variant_shift``.
    """
    rows = findings.select("variant_shift", condition=subject.condition, variant=subject.variant)
    if not rows:
        return None
    default, variant = (
        findings.judgments.arms[code] for code in (subject.default_condition, subject.condition)
    )
    before, after = default.of_run(means(default)), variant.of_run(means(variant))
    labels = _without_factor(subject.default, subject.variant)
    return _slopes(findings, rows[0], labels, np.arange(len(before)), before, after)


def _without_factor(default: str, variant: str) -> tuple[str, str]:
    """Return two levels of one factor without its name, if both would not fit below a picture."""
    factor, _, level = default.partition(" = ")
    other, _, changed = variant.partition(" = ")
    several = " = " in level or " = " in changed
    if several or factor != other or len(default) + len(variant) <= MOST_LABELS:
        return default, variant
    return level, changed


def _slopes(
    findings: Findings,
    row: Row,
    labels: tuple[str, str],
    items: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
) -> Picture | None:
    """Return lines of the run's ``items`` between two ends, and their mean difference.

    ``left``, ``right``: the ends, (items,), NaN for an item without a line. ``row``: the mean
    difference.
    """
    known = np.flatnonzero(np.isfinite(left) & np.isfinite(right))
    if not len(known) or not math.isfinite(row.value):
        return None
    shown = known[np.linspace(0, len(known) - 1, min(len(known), MOST_LINES)).astype(int)]
    ids = findings.judgments.items["item_id"].iloc[items[shown]].astype(str)
    lines = []
    for item, *both in zip(ids, left[shown].tolist(), right[shown].tolist(), strict=True):
        points = [Point(end, x, number(x)) for end, x in zip(labels, both, strict=True)]
        lines.append(Series(item, tuple(points)))
    middle = float((left[known] + right[known]).mean()) / 2
    text = number(row.value, "+.2f")
    between = f"{count(len(known), 'answer')} between two orders, {labels[0]} and {labels[1]}"
    scores = findings.judgments.arms[row.condition].scores
    return Picture(
        "slopes",
        tuple(lines),
        f"Slope chart of {between}: the mean difference is {text} points ({inside(row)}).",
        levels=labels,
        smallest=findings.smallest_mean(row.condition),
        scale=(float(scores[0]), float(scores[-1])),
        mean=(middle - row.value / 2, middle + row.value / 2),
        left_out=len(known) - len(lines),
        difference=mark(row, "difference", f"Mean difference {text}{NBSP}points", inside(row)),
    )


# ---------------------------------------------------------------- intervals and curves
def row_forest(
    rows: Sequence[Row],
    axis: str,
    smallest: float = math.nan,
    by: str = "",
    conditions: Sequence[Condition] = (),
) -> Picture | None:
    """Draw rows with their intervals under each other, without colour: they have no verdict.

    ``by``: the part of ``of`` that names a row where all else is the same. ``conditions``: of the
    run, to name the one that a row is compared with.
    """
    marks = [
        mark(row, str(row.of[by]) if by else name(row, conditions), conditions=conditions)
        for row in rows
    ]
    return forest_of(marks, axis, smallest)


def forest_of(points: Iterable[Point], axis: str, smallest: float = math.nan) -> Picture | None:
    """Draw the marks that have a number, under each other."""
    known = [point for point in points if math.isfinite(point.value)]
    said = "; ".join(
        f"{point.label} {point.text} ({point.hover[2]})" for point in known[:MOST_SAID]
    )
    marks = {("", k): point for k, point in enumerate(known)}
    return picture("forest", marks, f"Intervals: {said}.", axes=(axis, ""), smallest=smallest)


def by_position(findings: Findings, subject: Subject) -> Picture | None:
    """Draw for answers of one call how far they score from their own mean at each position.

    The intervals are the verdict's own.
    """
    points = _by_position(subject, subject.leans, "+.2f")
    said = ", ".join(point.text for point in points)
    return picture(
        "curves",
        {(subject.judge, point.label): point for point in points},
        f"Line chart of the mean score at each position in the call, in points from the answers' "
        f"own mean: {said}.",
        axes=("Position in the call", "points from the own mean"),
        smallest=findings.smallest_mean(subject.condition),
    )


LEVELLED = ("v_without_noise", "variant_shift", "line", "within_item_sd", "pearson")
"""The measures that are drawn against the levels of a factor: how strong the bias is, the change of
the mean, the spread, and r where people rated.
"""
REFERENCE, NO_REFERENCE = "reference", "none"
"""The factor whose levels are scores of reference answers, and what stands for its level 0."""


def levelled(factor: str) -> tuple[str, ...]:
    """Return the measures that are drawn against a factor, rho first for reference answers (Li et
    al., Figure 5).
    """
    return ("spearman", *LEVELLED) if factor == REFERENCE else LEVELLED


def levelled_factors(findings: Findings) -> list[str]:
    """Return the factors whose levels have an order: numbers, or how much effort."""
    levels: dict[str, set[Any]] = {}
    for condition in findings.conditions:
        for key, level in condition.variant.items():
            levels.setdefault(key, set()).add(level)
    ordered = []
    for key, own in levels.items():
        numbers = all(type(level) in (int, float) for level in own)
        if len(own) > 1 and (numbers or "effort" in key):
            ordered.append(key)
    return ordered


def level_curves(findings: Findings, measure: str, factor: str, dataset: str) -> Picture | None:
    """Draw a measure against the levels of a factor on one data set, with a line for each judge.

    A point is made of rows at the baseline of every other factor alone. The shift of a variant is 0
    at the factor's own baseline by definition: that point has no interval.
    """
    try:
        points = _points_of_levels(findings, measure, factor, dataset)
    except LabError:
        return None  # this run has no such measure, or none at these levels
    if measure == "variant_shift":
        points = _with_defaults(findings, points, factor, dataset)
    points = _by_level(findings, points, factor)
    if len({level for _, level in points}) < 2:
        return None
    about = MEASURES[measure.partition(":")[0]]
    unit = about.unit if about.unit in ("points", "percentage points") else ""
    axis = _factor_name(factor).capitalize()
    if factor == REFERENCE:
        axis = "Score of the reference answer"
        points = {
            (judge, level): replace(point, label=NO_REFERENCE) if level == "0" else point
            for (judge, level), point in points.items()
        }
    alt = f"{about.name} against {factor}: {_said(points.values())}."
    apart = NO_REFERENCE if factor == REFERENCE else ""
    return picture("curves", points, alt, axes=(axis, unit), apart=apart)


LEVEL_TITLES = {
    "spearman": "Spearman's rho",
    "pearson": "Pearson's r",
    "v_without_noise": "Cramér's V without noise",
    "variant_shift": "Mean minus default, points",
    "line": "Ascending minus descending, points",
    "within_item_sd": "Spread of an item's scores (SD)",
}
"""What panels of levels are called: the measures' full names are longer than a panel."""


def level_panels(findings: Findings, factor: str, datasets: Sequence[str]) -> Picture | None:
    """Draw the measures that change with a factor next to each other, with one legend.

    ``datasets``: of several, each mark is the mean over all of them, without an interval (Xu et al.
    v1, Figure 6); levels that one of them lacks are left out.
    """
    of_measure = {
        measure: [level_curves(findings, measure, factor, dataset) for dataset in datasets]
        for measure in levelled(factor)
    }
    if any(of_measure["variant_shift"]):  # it shows the same change, compared with the default
        of_measure.pop("line")
    panels = []
    for measure, every in of_measure.items():
        drawn = [one for one in every if one is not None]
        if len(drawn) == len(datasets):
            panel = drawn[0] if len(drawn) == 1 else _mean_of(drawn, MEASURES[measure].form)
            axes = (panel.axes[0], "")
            if panel.points:
                panels.append(replace(panel, title=LEVEL_TITLES[measure], axes=axes))
    if not panels:
        return None
    levels = panels[0].levels
    alt = " ".join(panel.alt for panel in panels)
    return Picture("multiples", (), alt, levels=levels, panels=tuple(panels), own_scales=True)


def _mean_of(pictures: Sequence[Picture], form: str) -> Picture:
    """Return curves of the means over several pictures, where all have the mark."""
    values: dict[tuple[str, str], list[float]] = {}
    for one in pictures:
        for curve in one.series:
            for point in curve.points:
                values.setdefault((curve.name, point.label), []).append(point.value)
    series = []
    for curve in pictures[0].series:
        points = []
        for point in curve.points:
            own = values[curve.name, point.label]
            if len(own) == len(pictures):
                mean = sum(own) / len(own)
                hover = (f"{curve.name}, {point.label}", f"{number(mean, form)}, mean")
                points.append(Point(point.label, mean, number(mean, form), hover=hover))
        if points:
            series.append(Series(curve.name, tuple(points)))
    first = pictures[0]
    alt = f"Mean over {len(pictures)} data sets. {first.alt.partition(':')[0]}: "
    alt += f"{_said([point for curve in series for point in curve.points])}."
    kept = {point.label for curve in series for point in curve.points}
    levels = tuple(level for level in first.levels if level in kept)
    return replace(first, series=tuple(series), alt=alt, levels=levels)


def _factor_name(factor: str) -> str:
    return factor.replace("_", " ")


def _at_level(factor: str, level: str) -> str:
    """Return how a mark says its level: “at temperature 0.5”, “without a reference answer”."""
    if factor != REFERENCE:
        return f"at {_factor_name(factor)} {level}"
    if level == "0":
        return "without a reference answer"
    return f"with a reference of score {level}"


def _points_of_levels(
    findings: Findings, measure: str, factor: str, dataset: str
) -> dict[tuple[str, str], Point]:
    """Return a mark for each (judge, level) that has a number. Raises LabError where none can."""
    grid = paper_grid(findings, measure, across=factor)
    points: dict[tuple[str, str], Point] = {}
    for column, level in enumerate(grid.columns):
        for key, cells in grid.lines:
            cell = cells[column]
            variant = dict(zip(grid.heads, key, strict=True)).get("Variant", DEFAULT)
            if cell is None or cell.row is None or variant != DEFAULT:
                continue
            about = findings.conditions[cell.row.condition]
            if about.dataset != dataset or not math.isfinite(cell.value):
                continue
            title = f"{about.judge} {_at_level(factor, level)}"
            hover = (title, value_text(cell.row), inside(cell.row))
            points[about.judge, level] = mark(cell.row, level, *hover)
    return points


def _with_defaults(
    findings: Findings, points: dict[tuple[str, str], Point], factor: str, dataset: str
) -> dict[tuple[str, str], Point]:
    """Return the marks with that of each judge's default, which shifts by 0."""
    default_of = {
        about.judge: about for about in reversed(findings.conditions) if about.dataset == dataset
    }
    out = dict(points)
    for judge in dict.fromkeys(judge for judge, _ in points):
        level = level_text(default_of[judge].variant[factor])
        hover = (f"{judge} {_at_level(factor, level)}", "the default itself")
        out[judge, level] = Point(level, 0.0, number(0.0), hover=hover)
    return out


def _by_level(
    findings: Findings, points: dict[tuple[str, str], Point], factor: str
) -> dict[tuple[str, str], Point]:
    """Return the marks in order of their levels: as numbers, else as the run lists them.

    All panels of a factor then have the same axis, whichever level is the default.
    """
    levels = [
        level_text(about.variant[factor])
        for about in findings.conditions
        if factor in about.variant
    ]
    order = list(dict.fromkeys(levels))
    if all(level.replace(".", "", 1).isdigit() for level in order):
        order.sort(key=float)
    return dict(sorted(points.items(), key=lambda kept: order.index(kept[0][1])))
