"""Draw the pictures next to what Compare, With people, and What helps say.

Like all pictures they show rows as they were made: nothing is estimated here.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from rubriclab.core.differences import Pair
from rubriclab.core.topic import TOPICS, Findings, Row
from rubriclab.figures.marks import Picture, Point, picture
from rubriclab.figures.pictures import forest_of, generic, mark, share_bars, undecided_within
from rubriclab.model.passing import PassRate
from rubriclab.model.text import count, shorten
from rubriclab.words.contrasts import unit_of
from rubriclab.words.pass_fail import spoken
from rubriclab.words.phrases import MINUS, ends, number, order_name, reason, say
from rubriclab.words.subject import CHOICES, Subject, subject_of
from rubriclab.words.what_helps import row_of
from rubriclab.words.yardstick import intended_levels, model_yardstick

WINNERS = ("accuracy", "gold_accuracy", "accuracy_all_orders")
"""Measures of pairs and lists, in the order of the picture."""
WHERE = {"accuracy": "all calls", "accuracy_all_orders": "in every order"}
ENOUGH = 0.9
"""The dependability from which on single answers are told apart; the dotted line of the curve."""
MOST_NAME, MOST_STRATEGY = 16, 24
"""Characters of names along an axis, so that they fit next to the picture."""


# ---------------------------------------------------------------- Compare
def shares_of_both(pair: Pair, names: tuple[str, str]) -> Picture | None:
    """Draw how often each position was chosen, or won, with a bar for each of the two.

    None where calls choose no position.
    """
    points: dict[tuple[str, str], Point] = {}
    for findings, arm, name in zip(pair.findings, pair.arms, names, strict=True):
        if arm.condition.reorder not in ("options", *CHOICES):
            continue
        drawn = share_bars(findings, subject_of(findings, arm.code), arm.code, called=True)
        if drawn is None:
            continue
        for point in drawn.points:
            hover = (name, *point.hover)
            points[name, point.label] = replace(point, decided=False, hover=hover)
    said = "; ".join(
        f"{name} {', '.join(p.text for (own, _), p in points.items() if own == name)}"
        for name in names
    )
    alt = f"Bar chart of how often each position was chosen: {said}."
    return picture("bars", points, alt, axes=("Position in the list", ""))


def difference_forest(
    rows: Sequence[Row], names: tuple[str, str], rate: PassRate | None = None
) -> Picture | None:
    """Draw the differences with the band of small ones: those in points, or the shares if there are
    none.

    ``rate``: of two scores, whose points are drawn as the sentences say them.
    """
    known = [row for row in rows if math.isfinite(row.value)]
    kept = [row for row in known if row.in_points] or known
    in_points = bool(kept) and kept[0].in_points
    rate = rate if in_points else None
    unit = "Percentage points" if rate else "Points" if in_points else "Share"
    first, second = (shorten(name, MOST_NAME) for name in names)
    axis = f"{unit}, {first} {MINUS} {second}"
    points = [_difference(row, axis, rate) for row in kept]
    smallest = kept[0].smallest * abs(_factor(kept[0], rate)) if kept else math.nan
    if any(undecided_within(row.interval, row.verdict, row.smallest) for row in kept):
        smallest = math.nan
    return forest_of(points, axis, smallest)


def _difference(row: Row, axis: str, rate: PassRate | None) -> Point:
    """Return the mark of a difference, in the unit and direction of its sentence."""
    kind, form, factor = row.counts["question"], row.about.form, _factor(row, rate)
    if rate is not None:
        kind, form = f"rate_{kind}", f"+{unit_of(row, rate)[1]}"
    label, text = say(f"label_{kind}", ("compare",)), number(row.value * factor, form)
    low, high = sorted(end * factor for end in row.interval)
    hover = (f"{label}: {text}", axis, ends(low, high, form, level=row.level) or reason(row))
    return Point(label, row.value * factor, text, low, high, of=row.of, hover=hover)


def _factor(row: Row, rate: PassRate | None) -> float:
    """Return what turns a difference into the unit of its sentence, which may turn it round."""
    return 1.0 if rate is None else unit_of(row, rate)[2]


# ---------------------------------------------------------------- With people
def reach_forest(findings: Findings, subject: Subject) -> Picture | None:
    """Draw r with people of one call and of all calls, for each ordering strategy.

    Below them, what one call and one person reach against the same other raters. For pairs and
    lists: how often the named winner is chosen, by its position, and in every order.
    """
    if subject.reorder in CHOICES:
        return _winners_forest(findings, subject)
    labelled: list[tuple[str, Row | None]] = []
    setting = findings.conditions[subject.condition].setting
    for code, condition in enumerate(findings.conditions):
        if condition.setting == setting:
            labelled += _reach_of_strategy(findings, code)
    others = findings.select("call_pearson", condition=subject.condition)
    people = findings.select("people_pearson", condition=subject.condition)
    labelled.append(("1 call against others", _plain(others)))
    model = model_yardstick(findings)
    labelled.append((f"one score of {model}" if model else "one person", _plain(people)))
    if intended_levels(findings, subject.condition):
        yardstick = "the intended levels"
    else:
        yardstick = f"the mean of {model}'s scores" if model else "people's mean"
    marks = [mark(row, label) for label, row in labelled if row is not None]
    return forest_of(marks, f"Pearson's r with {yardstick}")


def _reach_of_strategy(findings: Findings, code: int) -> list[tuple[str, Row | None]]:
    """Return (label, row) of one call and of all calls of a condition."""
    arm = findings.judgments.arms[code]
    strategy = shorten(arm.condition.strategy, MOST_STRATEGY)
    calls = round(len(arm.call) / max(arm.items, 1))
    single = findings.select("budget_pearson", condition=code, calls=1)
    labelled = [(f"{strategy}, 1 call", single[0] if single else None)]
    if calls > 1:
        every = _plain(findings.select("pearson", condition=code))
        labelled.append((f"{strategy}, {count(calls, 'call')}", every))
    return labelled


def _plain(rows: Sequence[Row]) -> Row | None:
    """Return the row that is about nothing narrower than its condition."""
    for row in rows:
        if not row.of:
            return row
    return None


def _winners_forest(findings: Findings, subject: Subject) -> Picture | None:
    """Draw how often the named winner is chosen, by its position, and in every order."""
    marks = []
    for measure in WINNERS:
        for row in findings.select(measure, condition=subject.condition):
            if "order" in row.of:
                continue
            where = f"at position {row.of['position']}" if "position" in row.of else WHERE[measure]
            marks.append(mark(row, where))
    return forest_of(marks, say("chosen", ("people",)))


def pass_fail_forest(findings: Findings, condition: int) -> Picture | None:
    """Draw sensitivity, then specificity: of a call in any order, in each order, of the average."""
    rate = findings.pass_rate(condition)
    marks = []
    for measure, of_class in (("sensitivity", "picture_pass"), ("specificity", "picture_fail")):
        for row in findings.select(measure, topic="pass_fail", condition=condition):
            if "order" in row.of:
                where = order_name(str(row.of["order"]), rate)
            else:
                key = "picture_average" if row.of else "picture_all"
                where = spoken(findings, condition, key)
            marks.append(mark(row, spoken(findings, condition, of_class, where=where)))
    return forest_of(marks, spoken(findings, condition, "picture_axis"))


# ---------------------------------------------------------------- What helps
def protocol_forest(findings: Findings, subject: Subject) -> Picture | None:
    """Draw for pairs and lists how often the gold winner is chosen, by protocol."""
    rows = findings.select("protocol_accuracy", condition=subject.condition)
    return forest_of([mark(row, row.of["protocol"]) for row in rows], say("chosen", ("people",)))


def calls_curve(findings: Findings, subject: Subject) -> Picture | None:
    """Draw dependability against calls per item, in different orders and in one order."""
    row = row_of(findings, subject, "calls_needed")
    if row is None:
        return None
    drawn = generic(TOPICS["reliability"].charts[0], findings, row.condition)
    if drawn is None or drawn.kind != "curves":
        return None
    curves = tuple(
        replace(curve, name=f"in {curve.name or 'different orders'}") for curve in drawn.series
    )
    axes = ("Calls per item", "Dependability of the mean")
    return replace(drawn, series=curves, axes=axes, target=ENOUGH)
