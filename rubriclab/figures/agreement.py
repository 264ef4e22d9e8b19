"""Pictures of agreement beyond chance: the coefficients as dots, and who gave what as cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rubriclab.figures.marks import Drawing, Mark, Scale, beside, listed
from rubriclab.figures.style import EVEN_LINE, SEQUENTIAL, Behind, Chart, judge_color, looks_of, once
from rubriclab.findings.agreement_results import ArmAgreement, Coefficients, OrderAgreement
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import interval, many, number
from rubriclab.stats.agreement_intervals import Estimated

ROW = 30
"""Height of one line in pixels."""
SINGLE = {
    "exact": msg("Exact share"),
    "within_one": msg("Within one step"),
    "kappa": "Kappa",
    "kappa_linear": msg("Kappa, linear"),
    "kappa_quadratic": msg("Kappa, quadratic"),
    "ac1": "AC1",
    "ac2": msg("AC2, quadratic"),
    "alpha_nominal": msg("Alpha, nominal"),
    "alpha_ordinal": msg("Alpha, ordinal"),
    "alpha_interval": msg("Alpha, interval"),
}
"""Coefficients of single values, as rows of a chart name them."""


@once
def coefficient_dots(arms: Sequence[ArmAgreement]) -> Chart:
    """Every coefficient of a single read with its interval, a colour a strategy; people's own as bars.

    ``arms``: of one judge on one data set.
    """
    names = list(SINGLE)
    drawing = Drawing(x=tr("Single read beside single rating"), height=120 + ROW * len(names))
    own = next((arm.raters_own for arm in arms if arm.raters_own is not None), None)
    if own is not None:
        for row, name in enumerate(names):
            _bar(drawing, row, getattr(own.one_read, name))
    for index, arm in enumerate(arms):
        behind = Behind(str(arm.arm), arm=arm.code)
        marks = [
            _mark(row + beside(index, len(arms)), getattr(arm.one_read, name), tr(SINGLE[name]), behind)
            for row, name in enumerate(names)
        ]
        drawing.dots(marks, color=judge_color(index), name=_named(arm))
    drawing.level(x=0)
    drawing.rows([tr(SINGLE[name]) for name in names])
    parts = [f"{_named(arm)} {_words(arm.one_read)}" for arm in arms]
    people = tr(" People among themselves: {words}.", words=_words(own.one_read)) if own is not None else ""
    return drawing.chart(
        tr("Coefficients of agreement with people: {parts}.{people}", parts=listed(parts), people=people)
    )


@once
def order_dots(arm: ArmAgreement, *, run_judges: Sequence[str] = ()) -> Chart:
    """Weighted kappa of each order by itself with a rating, with intervals; people's own as a band."""
    orders = arm.orderings
    drawing = Drawing(
        x=tr("Agreement of a single read beyond chance (quadratic kappa)"), height=110 + 24 * max(1, len(orders))
    )
    own = arm.raters_own
    if own is not None and np.isfinite(own.one_read.kappa_quadratic.ci.low):
        low, high = own.one_read.kappa_quadratic.ci
        drawing.figure.add_vrect(x0=low, x1=high, fillcolor=EVEN_LINE, opacity=0.15, line_width=0, layer="below")
    drawing.dots(
        [_order_mark(arm, row, order) for row, order in enumerate(orders)],
        color=looks_of([arm.arm.judge], run_judges)[0].color,
    )
    drawing.rows([" ".join(map(str, order.ordering)) for order in orders])
    parts = [f"{' '.join(map(str, o.ordering))} {_number(o.one_read.kappa_quadratic)}" for o in orders]
    told = listed(parts[:12], of=len(parts))
    return drawing.chart(tr("Weighted kappa with people by order: {told}.", told=told))


@once
def confusion_cells(arm: ArmAgreement) -> Chart:
    """How many items people rated by row and the judge scored by column; shares by row colour them."""
    shown = arm.confusion
    if shown is None:
        return Drawing().chart(tr("No table: the two sides have too many different values."))
    counts, values = shown.counts, [number(value, "g") for value in shown.values]
    total = counts.sum(axis=1, keepdims=True)
    share = np.divide(counts, total, out=np.full_like(counts, np.nan), where=total > 0)

    def hover(row: int, column: int) -> str:
        return _cell_hover(values[row], values[column], counts[row, column], share[row, column])

    def behind(row: int, column: int) -> Behind:
        del row
        name = tr("{arm}, scored {scored}", arm=arm.arm, scored=values[column])
        return Behind(name, arm=arm.code, score=int(shown.values[column]))

    drawing = Drawing(x=tr("Judge's score"), y=tr("People's rating"), height=120 + 44 * max(2, len(values)))
    drawing.cells(
        share,
        Scale(SEQUENTIAL, 0.0, 1.0),
        text=lambda row, column: _count(counts[row, column]) if total[row, 0] > 0 else "",
        hover=hover,
        behind=behind,
        x=list(range(len(values))),
    )
    drawing.rows(values)
    drawing.figure.update_xaxes(tickvals=list(range(len(values))), ticktext=values, showgrid=False)
    alike = float(np.trace(counts) / max(counts.sum(), 1e-12))
    return drawing.chart(
        tr(
            "Ratings by row and scores by column of {arm}: {alike:.0%} of {items} on the diagonal.",
            arm=arm.arm,
            alike=alike,
            items=many(arm.n_items, "item"),
        )
    )


def _cell_hover(rated: str, scored: str, count: float, share: float) -> str:
    return tr(
        "people {rated}, judge {scored}<br>{count:.1f} items<br>{share:.0%} of those rated {rated}",
        rated=rated,
        scored=scored,
        count=count,
        share=share,
    )


def _order_mark(arm: ArmAgreement, row: int, order: OrderAgreement) -> Mark:
    name = " ".join(map(str, order.ordering))
    behind = Behind(tr("{judge}, order {order}", judge=arm.arm, order=name), arm=arm.code, ordering=name)
    kappa, bias = order.one_read.kappa_quadratic, order.means.bias
    hover = tr(
        "kappa {kappa}<br>exact {exact}<br>judge less people {bias} points<br>{items}",
        kappa=_number(kappa),
        exact=_number(order.one_read.exact),
        bias=_number(bias),
        items=many(order.n_items, "item"),
    )
    return Mark(row, kappa.value, kappa.ci, hover, behind)


def _mark(at: float, of: Estimated, name: str, behind: Behind) -> Mark:
    return Mark(at, of.value, of.ci, f"{name}<br>{_number(of)}" + (f"<br>{tr(of.why)}" if of.why else ""), behind)


def _bar(drawing: Drawing, row: int, of: Estimated) -> None:
    """People's own interval across one row, or a line where there is none."""
    if not np.isfinite(of.value):
        return
    low, high = of.ci if np.isfinite(of.ci.low) else (of.value - 0.003, of.value + 0.003)
    drawing.figure.add_shape(
        type="rect",
        x0=low,
        x1=high,
        y0=row - 0.42,
        y1=row + 0.42,
        fillcolor=EVEN_LINE,
        opacity=0.25,
        line_width=0,
        layer="below",
    )


def _count(items: float) -> str:
    """Parts of an item where they show."""
    return number(items, ".0f" if items >= 10 or abs(items - round(items)) < 0.05 else ".1f")


def _named(arm: ArmAgreement) -> str:
    return " · ".join(filter(None, (arm.arm.strategy, str(arm.arm.variant))))


def _words(of: Coefficients) -> str:
    return tr(
        "exact {exact}, quadratic kappa {kappa}, AC2 {ac2}",
        exact=_number(of.exact),
        kappa=_number(of.kappa_quadratic),
        ac2=_number(of.ac2),
    )


def _number(of: Estimated) -> str:
    if not np.isfinite(of.value):
        return tr("not known")
    ends = f" {interval(of.ci, '.2f', brackets=True)}" if np.isfinite(of.ci.low) else ""
    return f"{number(of.value, '.2f')}{ends}"
