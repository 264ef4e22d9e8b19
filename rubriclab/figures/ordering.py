"""Picture of Bias Costs: the default order against the best one, without noise and with it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from textwrap import wrap
from types import MappingProxyType

import numpy as np

from rubriclab.figures.marks import Drawing, Mark, beside
from rubriclab.figures.style import Behind, Chart, judge_color, once
from rubriclab.findings.ordering import UNIT, BiasCost, Costed, cost_said
from rubriclab.model.language import msg, tr
from rubriclab.stats.inference import NO_INTERVAL, Interval

ROW = 72
KINDS = {
    msg("default order"): "circle",
    msg("best order, on items that did not choose it"): "star",
    msg("default, as in the paper"): "circle-open",
    msg("best of all, as in the paper"): "star-open",
}
"""The symbols of an arm's four numbers. Only those without noise have intervals."""
LINE = 38
"""Characters of a line of the reason in a row without a dot, so that a phone has room for it."""


@once
def bias_cost(named: Mapping[str, BiasCost], *, codes: Mapping[str, int] = MappingProxyType({})) -> Chart:
    """Bias Costs of each arm, without noise and as in the paper, in percentage points.

    ``named``: the Bias Cost of each arm under the name to show; ``codes``: the arms' codes
    under the same names, which let the dots lead to the judgments under that order.
    """
    drawing = Drawing(x=tr("Bias Cost ({unit})", unit=tr(UNIT)), height=150 + ROW * max(1, len(named)))
    for k, (kind, symbol) in enumerate(KINDS.items()):
        marks = []
        for row, (name, cost) in enumerate(named.items()):
            value, ci = _number(cost, k)
            entry = cost.default if k % 2 == 0 else cost.best
            behind = _behind(name, tr(kind), entry, codes.get(name))
            at = row + beside(k, len(KINDS))
            marks.append(Mark(at, value, ci, _hover(name, tr(kind), entry, value, ci), behind))
        color = judge_color(k % 2)
        drawing.dots(marks, name=tr(kind), color=color, marker={"symbol": symbol, "size": 11})
    drawing.rows(list(named))
    for row, cost in enumerate(named.values()):
        if cost.missing:
            drawing.figure.add_annotation(
                xref="x domain",
                x=0.01,
                y=row,
                text="<br>".join(escape(line) for line in wrap(tr(cost.missing), LINE)),
                showarrow=False,
                xanchor="left",
                align="left",
                font={"size": 12},
            )
    drawing.figure.update_xaxes(rangemode="tozero")
    return drawing.chart(_alt(named))


def _number(cost: BiasCost, kind: int) -> tuple[float, Interval]:
    clean = cost.without_noise
    return (
        (clean.default, clean.default_ci),
        (clean.best, clean.best_ci),
        (cost.default.cost, NO_INTERVAL),
        (cost.best.cost, NO_INTERVAL),
    )[kind]


def _behind(name: str, kind: str, entry: Costed, code: int | None) -> Behind | None:
    if code is None or not np.isfinite(entry.cost):
        return None
    order = " ".join(map(str, entry.ordering))
    return Behind(f"{name}, {kind} {order}", arm=code, ordering=order)


def _hover(name: str, kind: str, entry: Costed, value: float, ci: Interval) -> str:
    order = " ".join(map(str, entry.ordering))
    ends = tr(", 95 % interval {low:.1f} to {high:.1f}", low=ci.low, high=ci.high) if np.isfinite(ci.low) else ""
    return f"{escape(name)}: {kind} [{order}]<br>{cost_said(value)}{ends}"


def _alt(named: Mapping[str, BiasCost]) -> str:
    sentences = []
    for name, cost in named.items():
        if cost.why:
            sentences.append(f"{name}: {tr(cost.missing)}.")
            continue
        best = " ".join(map(str, cost.best.ordering))
        clean = cost.without_noise
        sizes = tr("default {default}, best order {best}", default=cost_said(clean.default), best=cost_said(clean.best))
        sentences.append(
            tr(
                "{name}: {clean}; as in the paper, default {default}, best of all {best} with order {order}.",
                name=name,
                clean=tr(cost.missing) or tr("without noise, {sizes}", sizes=sizes),
                default=cost_said(cost.default.cost),
                best=cost_said(cost.best.cost),
                order=best,
            )
        )
    return tr("Bias Cost. ") + " ".join(sentences)
