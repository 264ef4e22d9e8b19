"""Make the pictures of Results: the one beside the answer, and the orders below the fold.

A picture shows numbers as they were measured. No fitted line is drawn as an answer.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rubriclab.core.judgments import Arm
from rubriclab.core.topic import Findings
from rubriclab.figures.marks import Picture, Point, Series, picture
from rubriclab.figures.pictures import (
    ALWAYS_FIRST,
    ALWAYS_LAST,
    OTHER,
    SAME,
    UNKNOWN_CLASS,
    Shown,
    example_cells,
    main_picture,
    score_cells,
    share_bars,
    target_cells,
    winner_classes,
)
from rubriclab.measures.pass_fail import people_pass_rate
from rubriclab.model.data import INTENDED
from rubriclab.model.looks import unit_noun
from rubriclab.model.passing import PassRate
from rubriclab.model.text import count
from rubriclab.words.pass_fail import spoken
from rubriclab.words.phrases import capital, ci, ends, number, order_name, row_numbers, say
from rubriclab.words.subject import Subject, sentence_tables
from rubriclab.words.yardstick import whom

WORDS = ("evidence",)
FEW_CALLS = 30
"""Lines of cells with fewer calls are pale: ten calls at 100% must not shout."""
PALE = 0.35
"""How much of its colour such a cell keeps."""
FULL_COLOUR = 0.5
"""Above its expected share, a cell has full colour from this difference on."""
MOST_ORDERS = 30
"""Orders of which the means are drawn: more need a table."""
WIDE_LIST = 7
"""A longer list has no room for “listed first” below a column."""


def first_picture(findings: Findings, subject: Subject, condition: int) -> Shown:
    """Return the picture beside the answer.

    ``condition``: whose calls are shown, of another ordering strategy where it is another one than
    the verdicts are about.
    """
    title = say("picture", sentence_tables(subject))
    match subject.kind:
        case "options":
            drawn = _bars_over_cells(findings, subject, condition)
            return Shown(title, drawn, _note_of_options(subject, condition))
        case "pass_rate":
            return _pass_rates(findings, subject, title)
        case "pairs" | "lists":
            note = "swapped_note" if subject.kind == "pairs" else "listed_note"
            arm = findings.judgments.arms[condition]
            return Shown(title, _winners(subject, arm), say(note, WORDS))
        case "criteria" | "examples" | "passages":
            drawn_as = target_cells if subject.kind == "criteria" else example_cells
            cells = drawn_as(findings, condition)
            listed = None if cells is None else _with_listed(cells)
            return Shown(
                title, listed, say("caption", sentence_tables(subject), ci=ci(subject.level))
            )
        case _:
            return main_picture(findings, subject, condition)


# ---------------------------------------------------------------- options
def _bars_over_cells(findings: Findings, subject: Subject, condition: int) -> Picture | None:
    """Draw the share of each position above the heatmap whose column totals they are."""
    bars = share_bars(findings, subject, condition)
    cells = score_cells(findings, condition)
    if bars is None or cells is None:
        return None
    named = subject.named if subject.word == "Biased" else None
    own = condition == subject.condition
    top = tuple(
        replace(point, decided=own and p == named and subject.leans[p] > 0)
        for p, point in enumerate(bars.points)
    )
    bars = replace(bars, title="All calls", series=(replace(bars.series[0], points=top),))
    calls = _calls_by_score(findings, condition)
    below = tuple(
        replace(
            line,
            points=tuple(_toned(point, calls[line.name]) for point in line.points),
            group=count(calls[line.name], "call"),
        )
        for line in cells.series
    )
    cells = replace(cells, title="By score", series=below)
    levels = _listed(len(bars.points))
    return Picture(
        "bars_over_cells",
        (),
        f"{bars.alt} Below it: {cells.alt}",
        levels=levels,
        panels=(bars, cells),
    )


def _calls_by_score(findings: Findings, condition: int) -> dict[str, int]:
    """Return how many calls gave each score, by the name of its line of cells."""
    rows = findings.select("position_given_score", condition=condition)
    return {f"{row.of['score']:g}": int(row.counts["n"]) for row in rows}


def _toned(point: Point, calls: int) -> Point:
    """Return a cell with its colour: neutral at the expected share, full far above it and at 0."""
    away = point.value - point.expected
    if not math.isfinite(away):
        return point
    tone = away / FULL_COLOUR if away > 0 else away / point.expected
    tone = max(-1.0, min(1.0, tone))
    return replace(point, tone=tone * (PALE if calls < FEW_CALLS else 1.0))


def _listed(positions: int) -> tuple[str, ...]:
    """Return what the columns of a list of so many positions are called."""
    first, last = ("first", "last") if positions > WIDE_LIST else ("listed first", "listed last")
    return (first, *map(str, range(2, positions)), last)


def _with_listed(cells: Picture) -> Picture:
    """Return cells whose columns say which position is listed first and last."""
    names = dict(zip(cells.levels, _listed(len(cells.levels)), strict=True))
    series = tuple(
        replace(
            line,
            points=tuple(replace(point, label=names[point.label]) for point in line.points),
        )
        for line in cells.series
    )
    return replace(cells, series=series, levels=tuple(names.values()), axes=("", ""))


def _note_of_options(subject: Subject, condition: int) -> str:
    """Say how to read bars and cells."""
    even = {number(share, f".{subject.share_decimals}%") for share in subject.expected}
    fields = {"few": str(FEW_CALLS), "even": min(even, default="")}
    fields["ci"] = ci(subject.level)
    if condition != subject.condition or len(even) != 1 or not subject.by_position.intervals:
        return say("first_note_plain", WORDS, **fields)
    if subject.unmoved:
        return say("first_note_unmoved", WORDS, **fields)
    undecided = subject.word in ("No bias seen yet", "Can't tell yet")
    return say("first_note_open" if undecided else "first_note", WORDS, **fields)


# ---------------------------------------------------------------- counts and rates
def _winners(subject: Subject, arm: Arm) -> Picture | None:
    """Draw how many comparisons have the same winner in all orders, or the same position."""
    kind = winner_classes(arm)
    known = int((kind != UNKNOWN_CLASS).sum())
    if not known:
        return None
    pairs = subject.kind == "pairs"
    names = {
        ALWAYS_LAST: "The one shown second, both times" if pairs else "Always the one listed last",
        ALWAYS_FIRST: "The one shown first, both times" if pairs else "Always the one listed first",
        SAME: "The same answer, both times" if pairs else "The same answer in every order",
    }
    if not pairs:
        names[OTHER] = "Other changes"
    position = {ALWAYS_FIRST: 0, ALWAYS_LAST: len(subject.leans) - 1}
    named = subject.named if subject.word == "Biased" else None
    points: dict[tuple[str, str], Point] = {}
    for code, name in names.items():
        number_of = int((kind == code).sum())
        text = f"{number_of:,}"
        if not points:
            text += f" of {count(known, unit_noun('', subject.reorder))}"
        decided = named is not None and position.get(code) == named
        hover = (name, f"{number_of:,} of {known:,}")
        points["", name] = Point(name, float(number_of), text, decided=decided, hover=hover)
    said = "; ".join(f"{point.label}: {point.text}" for point in points.values())
    return picture("tallies", points, f"Bar chart of {known:,} comparisons. {said}.")


def _pass_rates(findings: Findings, subject: Subject, title: str) -> Shown:
    """Draw the pass rate in each order of a list of two scores, and people's if they rated it."""
    note = say("rate_note", WORDS, ci=ci(subject.level))
    people = _people_pass_rate(findings, subject)
    labelled = ""
    if math.isfinite(people):
        share = number(people, ".1%")
        note += " " + spoken(findings, subject.condition, "people_rate", share=share)
        labelled = f"; {whom(findings)}: {share}"
    if subject.rate is None or not all(map(math.isfinite, subject.pass_rates)):
        return Shown(title, None, note)
    biased, most = subject.word == "Biased", max(subject.pass_rates)
    listed = (subject.rate.passes, subject.rate.fails)
    points = {}
    for score, rate, inside in zip(listed, subject.pass_rates, subject.pass_intervals, strict=True):
        name, text = f"{capital(score)} listed first", number(rate, ".1%")
        hover = (name, text, ends(*inside, ".1%", level=subject.level))
        decided = biased and rate == most
        points["", name] = Point(name, rate, text, *inside, decided=decided, hover=hover)
    said = "; ".join(f"{point.label}: {point.text} ({point.hover[2]})" for point in points.values())
    alt = f"Bar chart of the pass rate. {said}{labelled}."
    return Shown(title, picture("tallies", points, alt, span=1.0, target=people), note)


def _people_pass_rate(findings: Findings, subject: Subject) -> float:
    """Return people's pass rate, which the dotted line shows; NaN where no person labelled."""
    if findings.judgments.raters[subject.condition] == {INTENDED}:
        return math.nan
    return people_pass_rate(findings.judgments.arms[subject.condition], findings.reading)


# ---------------------------------------------------------------- orders, as measured
@dataclass(frozen=True)
class OrderMeans:
    """The scores that answers got in each order that all of them were asked in.

    orders: what each is called. scores: (answers, orders), the mean over repeats; of two scores the
    share of calls that pass, in percent.
    ascending, descending: which orders run through the scale; -1 where it was not asked.
    """

    orders: tuple[str, ...]
    scores: NDArray[np.float64]
    ascending: int
    descending: int

    @property
    def means(self) -> NDArray[np.float64]:
        """(orders,): the mean over the answers."""
        return np.asarray(self.scores.mean(axis=0))

    @property
    def harshest(self) -> int:
        return int(np.argmin(np.round(self.means, 9)))

    @property
    def kindest(self) -> int:
        return int(np.argmax(np.round(self.means, 9)))


def order_means(arm: Arm, rate: PassRate | None = None) -> OrderMeans | None:
    """Return the scores by answer and order; None where no two orders share an answer.

    Answers that lack a score in any of the orders are left out, so that all means are of the same
    answers. ``rate``: of two scores, which one passes.
    """
    listed_alone = arm.condition.reorder in ("options", "examples")
    if not listed_alone or not 1 < len(arm.shown) <= MOST_ORDERS:
        return None
    rows = np.flatnonzero(arm.ok)
    cell = arm.text[arm.item[rows]] * len(arm.shown) + arm.order[rows]
    cells = arm.texts * len(arm.shown)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(cell, arm.value[rows], cells) / np.bincount(cell, minlength=cells)
    scores = mean.reshape(arm.texts, len(arm.shown))
    scores = scores[np.isfinite(scores).all(axis=1)]
    if not len(scores):
        return None
    listed = [tuple(row) for row in arm.shown.tolist()]
    upwards = tuple(range(arm.positions))
    if rate is not None:
        scores = 100 * (scores - rate.other) / (rate.score - rate.other)
    return OrderMeans(
        tuple(_order_name(arm, order, rate) for order in range(len(listed))),
        scores,
        listed.index(upwards) if upwards in listed else -1,
        listed.index(upwards[::-1]) if upwards[::-1] in listed else -1,
    )


def _order_name(arm: Arm, order: int, rate: PassRate | None) -> str:
    """Return what people call an order: by its scores, or of examples by their labels."""
    if arm.condition.reorder != "examples":
        return order_name(arm.order_label(order), rate)
    entries = _entries(arm)
    return " ".join(entries[code] for code in arm.shown[order])


def _entries(arm: Arm) -> list[str]:
    """Return what people call examples: their labels, or numbers where one is there twice."""
    labels = [f"{label:g}" for label in arm.condition.labels]
    if labels and len(set(labels)) == len(labels):
        return labels
    return [f"{name:g}" for name in arm.names]


def mean_by_order(subject: Subject, measured: OrderMeans) -> Shown:
    """Draw the mean score, or the pass rate, in each order, the kindest on top."""
    unit, form, scale, of_rate = _scale_of(subject)
    means, biased = measured.means, subject.word == "Biased"
    ends_of = {measured.harshest, measured.kindest}
    points = {}
    for order in np.argsort(means, kind="stable").tolist():
        text = number(float(means[order]), form)
        decided = biased and order in ends_of and len(ends_of) > 1
        name = measured.orders[order]
        hover = (f"Listed {name}", f"pass rate {text}%" if of_rate else f"mean score {text}")
        points["", name] = Point(name, float(means[order]), text, decided=decided, hover=hover)
    apart = float(means[measured.kindest] - means[measured.harshest])
    fields = {"apart": f"{number(apart, form)} {unit}", "orders": count(len(means), "order")}
    sentences = [say("orders_apart" if biased else "orders_apart_plain", WORDS, **fields)]
    gap = subject.gap
    if gap is not None and all(map(math.isfinite, gap.interval)):
        corrected = row_numbers(gap, rate=subject.rate)
        sentences.append(say("orders_corrected", WORDS, **fields, **corrected))
    said = "; ".join(f"{point.label}: {point.text}" for point in points.values())
    drawn = picture(
        "order_means",
        points,
        f"Dot chart of the {'pass rate' if of_rate else 'mean score'} in each order: {said}.",
        scale=scale,
        axes=(say(f"orders_axis{of_rate}", WORDS, low=f"{scale[0]:g}", high=f"{scale[1]:g}"), ""),
    )
    return Shown(say(f"orders_title{of_rate}", WORDS), drawn, " ".join(sentences))


def _scale_of(subject: Subject) -> tuple[str, str, tuple[float, float], str]:
    """Return unit, format, and ends of what ``OrderMeans`` holds, and the ending of its words."""
    if subject.rate is not None:
        return "percentage points", ".1f", (0.0, 100.0), "_rate"
    return "points", ".2f", (min(subject.scores), max(subject.scores)), ""


def orders_captions(subject: Subject, measured: OrderMeans) -> tuple[str, str]:
    """Return what stands above the picture of all orders, and above that of two of them."""
    of_rate = _scale_of(subject)[-1]
    answers = count(len(measured.scores), "answer")
    all_orders = say(f"orders_means{of_rate}", WORDS, answers=answers)
    return all_orders, say(f"two_orders_given{of_rate}", WORDS)


def two_orders(subject: Subject, measured: OrderMeans, left: int, right: int) -> Shown:
    """Draw how many answers went from which score to which, between two orders.

    A line is as thick as its answers are many; orange only from 2 points on, and only of a biased
    judge.
    """
    both = np.round(measured.scores[:, [left, right]], 9)
    moves, times = np.unique(both, axis=0, return_counts=True)
    answers = len(both)
    names = tuple(f"listed {measured.orders[order]}" for order in (left, right))
    lines = []
    for (before, after), number_of in zip(moves.tolist(), times.tolist(), strict=True):
        far = subject.rate is None and subject.word == "Biased" and abs(after - before) >= 2
        hover = (f"{before:g} to {after:g}", count(number_of, "answer"))
        weight = number_of / answers
        points = tuple(
            Point(name, score, f"{score:g}", decided=far, hover=hover, weight=weight)
            for name, score in zip(names, (before, after), strict=True)
        )
        lines.append(Series(f"{before:g} to {after:g}", points, group=f"{number_of:,}"))
    changed = int((both[:, 0] != both[:, 1]).sum())
    fields = {"changed": f"{changed:,}", "answers": count(answers, "answer")}
    sentences = [say("two_orders_changed", WORDS, **fields)]
    if any(line.points[0].decided for line in lines):
        sentences.append(say("two_orders_orange", WORDS))
    said = "; ".join(f"{line.group} from {line.name}" for line in lines)
    drawn = Picture(
        "moves",
        tuple(lines),
        f"Lines between the scores of {answers:,} answers in two orders, {names[0]} and "
        f"{names[1]}: {said}.",
        levels=names,
        scale=_scale_of(subject)[2],
    )
    return Shown(say("two_orders_title", WORDS), drawn, " ".join(sentences))
