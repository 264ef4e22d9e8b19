"""Picture of Bias Costs: the default order against the best one, without noise and with it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from textwrap import wrap
from types import MappingProxyType

import numpy as np

from rubriclab.figures.marks import Drawing, Mark, beside
from rubriclab.figures.style import Behind, Chart, judge_color
from rubriclab.findings.ordering import UNIT, BiasCost, Costed, cost_said
from rubriclab.stats.inference import NO_INTERVAL, Interval

ROW = 72
KINDS = {
    "default order": "circle",
    "best order, on items that did not choose it": "star",
    "default, as in the paper": "circle-open",
    "best of all, as in the paper": "star-open",
}
"""The symbols of an arm's four numbers. Only those without noise have intervals."""
LINE = 38
"""Characters of a line of the reason in a row without a dot, so that a phone has room for it."""


def bias_cost(named: Mapping[str, BiasCost], *, codes: Mapping[str, int] = MappingProxyType({})) -> Chart:
    """Bias Costs of each arm, without noise and as in the paper, in percentage points.

    ``named``: the Bias Cost of each arm under the name to show; ``codes``: the arms' codes
    under the same names, which let the dots lead to the judgments under that order.
    """
    drawing = Drawing(x=f"Bias Cost ({UNIT})", height=150 + ROW * max(1, len(named)))
    for k, (kind, symbol) in enumerate(KINDS.items()):
        marks = []
        for row, (name, cost) in enumerate(named.items()):
            value, ci = _number(cost, k)
            entry = cost.default if k % 2 == 0 else cost.best
            behind = _behind(name, kind, entry, codes.get(name))
            at = row + beside(k, len(KINDS))
            marks.append(Mark(at, value, ci, _hover(name, kind, entry, value, ci), behind))
        color = judge_color(k % 2)
        drawing.dots(marks, name=kind, color=color, marker={"symbol": symbol, "size": 11})
    drawing.rows(list(named))
    for row, cost in enumerate(named.values()):
        if cost.missing:
            drawing.figure.add_annotation(
                xref="x domain",
                x=0.01,
                y=row,
                text="<br>".join(escape(line) for line in wrap(cost.missing, LINE)),
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
    ends = f", 95 % interval {ci.low:.1f} to {ci.high:.1f}" if np.isfinite(ci.low) else ""
    return f"{escape(name)}: {kind} [{order}]<br>{cost_said(value)}{ends}"


def _alt(named: Mapping[str, BiasCost]) -> str:
    sentences = []
    for name, cost in named.items():
        if cost.why:
            sentences.append(f"{name}: {cost.missing}.")
            continue
        best = " ".join(map(str, cost.best.ordering))
        clean = cost.without_noise
        sizes = f"default {cost_said(clean.default)}, best order {cost_said(clean.best)}"
        sentences.append(
            f"{name}: {cost.missing or f'without noise, {sizes}'}; as in the paper, default "
            f"{cost_said(cost.default.cost)}, best of all {cost_said(cost.best.cost)} with order {best}."
        )
    return "Bias Cost. " + " ".join(sentences)
