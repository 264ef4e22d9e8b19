"""Pictures of corrected means: plain, rated and corrected side by side; orders; what ratings buy."""

from __future__ import annotations

from html import escape

from rubriclab.figures.marks import Drawing, Mark, beside, listed
from rubriclab.figures.style import Behind, Chart, judge_color, once
from rubriclab.findings.corrected_means_results import Buying, CorrectedArm, SystemMean
from rubriclab.findings.corrected_means_words import system_said
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats.inference import NO_INTERVAL, Interval

KINDS = (("plain", msg("judge's mean")), ("rated", msg("ratings alone")), ("corrected", msg("corrected")))


@once
def mean_forest(arm: CorrectedArm) -> Chart:
    """The three means of all items and of each system, with their intervals."""
    systems = arm.systems
    drawing = Drawing(x=tr("Mean score, points"), height=120 + 62 * max(1, len(systems)))
    for index, (field, name) in enumerate(KINDS):
        marks = [
            _mark(
                row + beside(index, len(KINDS)),
                system_said(one.of),
                tr(name),
                getattr(one, field),
                getattr(one, f"{field}_ci"),
                arm,
            )
            for row, one in enumerate(systems)
        ]
        drawing.dots(marks, name=tr(name), color=judge_color(index))
    drawing.rows([system_said(one.of) for one in systems])
    told = [
        tr(
            "{of}: judge {plain}, corrected {corrected}",
            of=system_said(one.of),
            plain=number(one.plain, ".2f"),
            corrected=number(one.corrected, ".2f"),
        )
        for one in systems[:8]
    ]
    return drawing.chart(
        tr(
            "Mean scores of {judge}, plain and corrected: {told}.",
            judge=arm.arm.judge,
            told=listed(told, of=len(systems)),
        )
    )


@once
def rate_forest(arm: CorrectedArm) -> Chart:
    """Pass rates at the cut, as the means; by sensitivity and specificity where these are known."""
    systems = [one for one in arm.systems if one.rate is not None]
    kinds = (*((field, tr(name)) for field, name in KINDS), ("rogan", tr("sensitivity and specificity")))
    drawing = Drawing(x=tr("Share that passes"), height=120 + 70 * max(1, len(systems)))
    for index, (field, name) in enumerate(kinds):
        marks = [
            _mark(
                row + beside(index, len(kinds)),
                system_said(one.of),
                name,
                getattr(one.rate, field),
                getattr(one.rate, f"{field}_ci"),
                arm,
            )
            for row, one in enumerate(systems)
        ]
        drawing.dots(marks, name=name, color=judge_color(index))
    drawing.rows([system_said(one.of) for one in systems])
    drawing.figure.update_xaxes(range=[-0.02, 1.02], tickformat=".0%")
    told = [
        tr(
            "{of}: judge {plain}, corrected {corrected}",
            of=system_said(one.of),
            plain=number(one.rate.plain, ".0%"),
            corrected=number(one.rate.corrected, ".0%"),
        )
        for one in systems[:8]
        if one.rate is not None
    ]
    return drawing.chart(tr("Pass rates of {judge}: {told}.", judge=arm.arm.judge, told=listed(told, of=len(systems))))


@once
def order_dots(arm: CorrectedArm, system: SystemMean) -> Chart:
    """The judge's mean and the corrected one under each order of the options."""
    drawing = Drawing(x=tr("Mean score, points"), height=120 + 34 * max(1, len(system.orders)))
    for index, (field, name) in enumerate((KINDS[0], KINDS[2])):
        marks = [
            _mark(
                row + beside(index, 2),
                tr("order {order}", order=one.name),
                tr(name),
                getattr(one, field),
                getattr(one, f"{field}_ci"),
                arm,
                one.name,
            )
            for row, one in enumerate(system.orders)
        ]
        drawing.dots(marks, name=tr(name), color=judge_color(2 * index))
    drawing.rows([one.name for one in system.orders])
    told = [
        tr(
            "{name}: judge {plain:.2f}, corrected {corrected}",
            name=one.name,
            plain=one.plain,
            corrected=number(one.corrected, ".2f"),
        )
        for one in system.orders[:10]
    ]
    return drawing.chart(tr("Means under each order: {told}.", told=listed(told, of=len(system.orders))))


@once
def buying_curves(buying: Buying) -> Chart:
    """Half the width of the interval by number of ratings, with the judge and without; the wanted one dotted."""
    drawing = Drawing(x=tr("Items rated by people"), y=tr("Half-width of the interval, points"))
    at = [point.ratings for point in buying.curve]
    for index, (field, name) in enumerate((("judged", tr("beside judged items")), ("alone", tr("ratings alone")))):
        values = [getattr(point, field) for point in buying.curve]
        lows, highs = ([getattr(point, f"{field}_{end}") for point in buying.curve] for end in ("low", "high"))
        drawing.band(at, lows, highs, color=judge_color(index), legendgroup=name)
        marks = [
            Mark(
                n,
                value,
                NO_INTERVAL,
                tr("{ratings}, {name}: ± {half:.3f} points", ratings=many(n, "rating"), name=name, half=value),
            )
            for n, value in zip(at, values, strict=True)
        ]
        drawing.dots(marks, name=name, color=judge_color(index), upright=True, joined=True, legendgroup=name)
    drawing.level(y=buying.half, text=f"± {number(buying.half, 'g')}")
    drawing.figure.update_yaxes(rangemode="tozero")
    first, last = buying.curve[0], buying.curve[-1]
    return drawing.chart(
        tr(
            "Half-width of the interval of a mean: with the judge {judged:.2f} at {ratings} ratings and "
            "{last_judged:.2f} at {last_ratings}, without {alone:.2f} and {last_alone:.2f}.",
            judged=first.judged,
            ratings=first.ratings,
            last_judged=last.judged,
            last_ratings=last.ratings,
            alone=first.alone,
            last_alone=last.alone,
        )
    )


def _mark(at: float, of: str, kind: str, value: float, ci: Interval, arm: CorrectedArm, ordering: str = "") -> Mark:
    hover = f"{escape(of)}, {kind}<br>{number(value, '.3f')} {interval(ci, '.3f', brackets=True)}"
    behind = (
        Behind(f"{arm.arm.judge}, {of}", arm=arm.code, ordering=ordering)
        if ordering
        else Behind(arm.arm.judge, arm=arm.code)
    )
    return Mark(at, value, ci, hover, behind)
