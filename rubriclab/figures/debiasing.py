"""Distance to the all-orderings mean against calls per item: what one corrected call is worth."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rubriclab.figures.marks import Drawing, Mark
from rubriclab.figures.style import ACCENT, Behind, Chart, judge_color, once
from rubriclab.findings.debiasing_results import Debiased, Standing
from rubriclab.model.language import tr
from rubriclab.model.wording import many, number

LINES = ("random", "balanced", "fixed")


@once
def debiasing_curve(entries: Sequence[Debiased]) -> Chart:
    """One line a strategy, single points for methods of one call; the debiaser's level dotted.

    ``entries``: those of one judge, data set, variant and source.
    """
    drawing = Drawing(x=tr("calls per item"), y=tr("distance to the mean over all orderings, noise taken out"))
    debiased = next((e for e in entries if e.method == "debiased"), None)
    if debiased is not None and math.isfinite(debiased.distance_to_all):
        drawing.level(y=debiased.distance_to_all)
    rest = sorted({e.method for e in entries} - set(LINES) - {"debiased"})
    for index, method in enumerate((*LINES, *rest), start=1):
        points = [e for e in entries if e.method == method]
        _line(drawing, method, points, judge_color(index), "diamond" if method in rest else "circle")
    _line(drawing, tr("debiased, one call"), [debiased] if debiased else [], ACCENT, "star")
    calls = sorted({e.calls_per_item for e in entries}) or [1]
    drawing.figure.update_xaxes(
        type="log",
        tickvals=calls,
        ticktext=[str(k) for k in calls],
        range=[math.log10(calls[0]) - 0.06, math.log10(calls[-1]) + 0.06],
    )
    drawing.figure.update_yaxes(rangemode="tozero")
    return drawing.chart(_alt(entries, debiased))


def _line(drawing: Drawing, name: str, points: Sequence[Debiased], color: str, symbol: str) -> None:
    """A method's distances by calls; nothing where there are none."""
    line = sorted(points, key=lambda e: e.calls_per_item)
    marks = [Mark(e.calls_per_item, e.distance_to_all, e.ci, _hover(e), _behind(e)) for e in line]
    marker = {"symbol": symbol, "size": 14 if symbol == "star" else 9}
    if marks:
        joined = len(marks) > 1
        drawing.dots(marks, name=tr(name), color=color, upright=True, joined=joined, marker=marker)


def _behind(e: Debiased) -> Behind:
    return Behind(f"{e.judge}, {tr(e.method)}, {many(e.calls_per_item, 'call')}", arm=e.code)


def _hover(e: Debiased) -> str:
    return tr(
        "calls {calls}: {distance:.3f} from the mean<br>r with humans {r}<br>{n_items} items, {total_calls} calls",
        calls=e.calls_per_item,
        distance=e.distance_to_all,
        r=number(e.r, ".3f", unknown=tr("not known")),
        n_items=e.n_items,
        total_calls=e.total_calls,
    )


def _alt(entries: Sequence[Debiased], debiased: Debiased | None) -> str:
    if not entries:
        return tr("No comparison of one corrected call with several plain ones.")
    if debiased is None:
        return tr("Distance to the mean over all orderings by calls per item; no debiaser.")
    beaten = [tr(e.method) for e in entries if e.calls_per_item == 1 and e.standing == Standing.NEARER]
    return tr(
        "Distance to the mean over all orderings by calls per item. One corrected call is "
        "{distance:.3f} score points off; it is nearer than one call of: {beaten}.",
        distance=debiased.distance_to_all,
        beaten=", ".join(beaten) or tr("none"),
    )
