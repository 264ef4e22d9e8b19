"""How often tests reject and intervals hold, judge by judge, with Monte Carlo error bars."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import cycle

from rubriclab.figures.marks import Drawing, Mark, beside
from rubriclab.figures.style import OVER, UNDER, Chart, once
from rubriclab.findings.check import COVERAGE_RANGE, LAB_TEST, LEVEL_RANGE, PAPERS_TEST, Check, Quantity, called
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import many, number

BARS = msg("Bars: ±1.96 Monte Carlo standard errors.")
COLORS = (UNDER, OVER, "#009e73", "#b45f93", "#c79100")
NAMES = {LAB_TEST: msg("the lab's test"), PAPERS_TEST: msg("chi² as in the papers")}


@once
def rejection(checks: Sequence[Check], *, quantity: Quantity = "type-I error") -> Chart:
    """Rejection rates of the lab's test and of the papers' chi-square by judge.

    For the type-I error with the nominal 5 % line and the range promised.
    """
    shown = [c for c in checks if c.quantity == quantity and c.method in NAMES]
    promised = (0.05, LEVEL_RANGE) if quantity == "type-I error" else None
    title = tr("studies in which the test rejects")
    drawing = _drawn(shown, title, {LAB_TEST: UNDER, PAPERS_TEST: OVER}, promised)
    reach = min(1.02, max((c.value + 2.5 * c.se for c in shown), default=0.1) + 0.03)
    drawing.figure.update_xaxes(range=[-0.01, reach])
    what = tr("although nothing is planted") if quantity == "type-I error" else tr("what is planted")
    parts = "; ".join(f"{called(c.judge)}, {tr(NAMES[c.method])}: {number(c.value, '.1%')}" for c in shown)
    return drawing.chart(
        tr("How often each test rejects {what}. {parts}. {bars}", what=what, parts=parts, bars=tr(BARS))
    )


@once
def coverage(checks: Sequence[Check]) -> Chart:
    """How often 95 % intervals hold the true value, by judge, one colour a quantity."""
    shown = [c for c in checks if c.quantity == "coverage"]
    colors = dict(zip(dict.fromkeys(c.method for c in shown), cycle(COLORS), strict=False))
    title = tr("studies in which the interval holds the true value")
    drawing = _drawn(shown, title, colors, (0.95, COVERAGE_RANGE))
    low = min((c.value for c in shown), default=0.9)
    drawing.figure.update_xaxes(range=[min(0.88, low - 0.02), 1.005])
    parts = "; ".join(f"{called(c.judge)}, {called(c.method)}: {number(c.value, '.1%')}" for c in shown)
    return drawing.chart(tr("Coverage of 95 % intervals. {parts}. {bars}", parts=parts, bars=tr(BARS)))


def _drawn(
    shown: Sequence[Check], title: str, colors: Mapping[str, str], promised: tuple[float, tuple[float, float]] | None
) -> Drawing:
    """A row a judge, a colour a method, and the value and range that are ``promised``."""
    judges = list(dict.fromkeys(c.judge for c in shown))
    drawing = Drawing(x=title, height=150 + 46 * max(1, len(judges)))
    if promised is not None:
        line, (low, high) = promised
        drawing.figure.add_vrect(x0=low, x1=high, fillcolor="rgba(128,128,128,0.16)", line_width=0)
        drawing.level(x=line)
    for index, (method, color) in enumerate(colors.items()):
        drawing.dots(
            [
                Mark(judges.index(c.judge) + beside(index, len(colors)), c.value, _limits(c), _hover(c))
                for c in shown
                if c.method == method
            ],
            name=tr(NAMES[method]) if method in NAMES else called(method),
            color=color,
            marker={"size": 10, "symbol": "diamond" if method == PAPERS_TEST else "circle"},
        )
    drawing.rows([called(judge) for judge in judges])
    drawing.figure.update_xaxes(tickformat=".0%")
    return drawing


def _limits(c: Check) -> tuple[float, float]:
    error = 1.96 * c.se if math.isfinite(c.se) else 0.0
    return max(0.0, c.value - error), min(1.0, c.value + error)


def _hover(c: Check) -> str:
    return f"{escape(called(c.judge))}: {number(c.value, '.1%')} ± {number(c.se, '.1%')} ({many(c.studies, 'study')})"
