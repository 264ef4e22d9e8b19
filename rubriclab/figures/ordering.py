"""Picture of Bias Costs: the default order against the best rotation and the best order."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from types import MappingProxyType

import numpy as np

from rubriclab.figures.style import Behind, Chart, judge_color, new_figure, with_behind
from rubriclab.findings.ordering import BiasCost, Costed

ROW = 64


def bias_cost(
    named: Mapping[str, BiasCost], *, codes: Mapping[str, int] = MappingProxyType({})
) -> Chart:
    """A dot with its 95 % interval for each arm's three orderings, in percentage points.

    ``named``: the Bias Cost of each arm under the name to show; ``codes``: the arms' codes
    under the same names, which let the dots lead to the judgments under that order.
    """
    figure = new_figure(x="Bias Cost (points)", height=150 + ROW * max(1, len(named)))
    kinds = ("default order", "best rotation", "best of all orders")
    symbols = ("circle", "diamond", "star")
    behind: dict[int, list[Behind | None]] = {}
    for k, (kind, symbol) in enumerate(zip(kinds, symbols, strict=True)):
        picked = [(name, _of(cost, k)) for name, cost in named.items()]
        behind[k] = [_behind(name, kind, entry, codes.get(name)) for name, entry in picked]
        cost = np.array([entry.cost for _, entry in picked])
        low = np.array([entry.ci.low for _, entry in picked])
        high = np.array([entry.ci.high for _, entry in picked])
        figure.add_scatter(
            x=cost,
            y=np.arange(len(picked)) + (1 - k) * 0.2,
            name=kind,
            mode="markers",
            marker={"symbol": symbol, "size": 11, "color": judge_color(k)},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": np.maximum(high - cost, 0.0),
                "arrayminus": np.maximum(cost - low, 0.0),
                "thickness": 1.5,
            },
            hovertext=[_hover(name, kind, entry) for name, entry in picked],
            hoverinfo="text",
        )
    names = [escape(name) for name in named]
    figure.update_yaxes(tickmode="array", tickvals=list(range(len(names))), ticktext=names)
    figure.update_xaxes(rangemode="tozero", showgrid=True, gridcolor="rgba(128,128,128,0.18)")
    return with_behind(figure, _alt(named), behind if codes else {})


def _behind(name: str, kind: str, entry: Costed, code: int | None) -> Behind | None:
    if code is None or not np.isfinite(entry.cost):
        return None
    order = " ".join(map(str, entry.ordering))
    return Behind(f"{name}, {kind} {order}", arm=code, ordering=order)


def _of(cost: BiasCost, kind: int) -> Costed:
    return (cost.default, cost.cyclic_best, cost.best)[kind]


def _hover(name: str, kind: str, entry: Costed) -> str:
    order = " ".join(map(str, entry.ordering))
    return (
        f"{escape(name)}: {kind} [{order}]<br>{entry.cost:.1f} points, "
        f"95 % interval {entry.ci.low:.1f} to {entry.ci.high:.1f}"
    )


def _alt(named: Mapping[str, BiasCost]) -> str:
    told = []
    for name, cost in named.items():
        if not np.isfinite(cost.default.cost):
            told.append(f"{name}: the default order's cost is unknown.")
            continue
        best = " ".join(map(str, cost.best.ordering))
        told.append(
            f"{name}: default {cost.default.cost:.1f}, best rotation "
            f"{cost.cyclic_best.cost:.1f}, best of all {cost.best.cost:.1f} with order {best}."
        )
    return "Bias Cost in percentage points. " + " ".join(told)
