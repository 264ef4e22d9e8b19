"""Odds by position, by label and by neighbour: one point and one interval a level."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from rubriclab.figures.marks import Drawing, Mark, beside
from rubriclab.figures.style import Behind, Chart, looks_of, once
from rubriclab.findings.choice import ChoiceModel, Level
from rubriclab.findings.choice_words import ends_said, odds_said
from rubriclab.model.language import msg, tr
from rubriclab.model.wording import number

AXIS = msg("odds against the average")
TENFOLD = (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1_000.0, 10_000.0)
COARSE = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
FINE = (0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 3.0)
FINEST = (0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4)
"""Round places on the log axis: few enough for a phone, and two at least."""


@once
def position_odds(models: Sequence[ChoiceModel], *, run_judges: Sequence[str] = ()) -> Chart:
    """A forest of position odds, one colour a judge.

    ``run_judges``: the run's, in its order, for their colours; without them those drawn.
    """
    lines = [
        (m, [Level(tr("position {place}", place=p.position), p.log_odds, p.ci, p.odds) for p in m.position])
        for m in models
        if m.position
    ]
    return _forest(lines, tr("position"), run_judges, by_position=True)


@once
def label_odds(models: Sequence[ChoiceModel], *, run_judges: Sequence[str] = ()) -> Chart:
    """A forest of label odds; empty where labels never moved apart from scores."""
    return _forest([(m, list(m.label)) for m in models if m.label], tr("label"), run_judges)


@once
def neighbour_odds(models: Sequence[ChoiceModel], *, run_judges: Sequence[str] = ()) -> Chart:
    """A forest of odds by the score read just before."""
    lines = [
        (m, [Level(tr("after {score}", score=v.name), v.log_odds, v.ci, v.odds) for v in m.neighbour])
        for m in models
        if m.neighbour
    ]
    return _forest(lines, tr("the score read just before"), run_judges)


def _name(model: ChoiceModel) -> str:
    parts = [model.judge, model.dataset, model.strategy, model.variant]
    return " · ".join(part for part in parts if part)


Line = tuple[ChoiceModel, list[Level]]
"""An arm's model, and the levels of one effect in it."""


def _forest(lines: list[Line], what: str, run_judges: Sequence[str], *, by_position: bool = False) -> Chart:
    """``run_judges``: the run's, for their colours; only positions can be looked up one by one."""
    rows = max((len(levels) for _, levels in lines), default=1) * max(1, len(lines))
    drawing = Drawing(x=tr(AXIS), height=120 + 26 * rows)
    drawing.level(x=1)
    looks = looks_of([model.judge for model, _ in lines], run_judges)
    for index, ((model, levels), look) in enumerate(zip(lines, looks, strict=True)):
        name, marks = _name(model), []
        for row, level in enumerate(levels):
            if math.isfinite(level.log_odds):
                position = row + 1 if by_position else None
                behind = Behind(f"{name}, {level.name}", arm=model.arm, position=position)
                ends = (math.exp(level.ci.low), math.exp(level.ci.high))
                at = row + beside(index, len(lines))
                marks.append(Mark(at, level.odds, ends, _hover(model, level), behind))
        drawing.dots(marks, name=name, color=look.color, marker={"symbol": look.symbol})
    drawing.rows([level.name for level in lines[0][1]] if lines else [])
    drawing.figure.update_layout(showlegend=len(lines) > 1)
    ticks = _ticks(lines)
    drawing.figure.update_xaxes(type="log", tickvals=ticks, ticktext=[number(tick, "g") for tick in ticks], tickangle=0)
    return drawing.chart(_alt(lines, what))


def _hover(model: ChoiceModel, level: Level) -> str:
    name, odds = escape(level.name), odds_said(model, level.odds)
    return tr("{name}: odds {odds} ({ends})", name=name, odds=odds, ends=ends_said(model, level.ci))


def _ticks(lines: list[Line]) -> tuple[float, ...]:
    ends = [abs(end) for _, levels in lines for v in levels for end in (v.log_odds, *v.ci)]
    reach = max(filter(math.isfinite, ends), default=0.0)
    if reach > math.log(10.0):
        return TENFOLD
    return COARSE if reach > 1.0 else FINE if reach > 0.3 else FINEST


def _alt(lines: list[Line], what: str) -> str:
    if not lines:
        return tr("No odds by {what}: the reads cannot tell this effect apart.", what=what)
    parts = []
    for model, levels in lines:
        known = [v for v in levels if math.isfinite(v.log_odds)]
        if known:
            most = max(known, key=lambda v: v.log_odds)
            parts.append(
                tr(
                    "{name}: highest at {level}, odds {odds}",
                    name=_name(model),
                    level=most.name,
                    odds=odds_said(model, most.odds),
                )
            )
    return tr("Odds of being chosen by {what}, against the average. ", what=what) + "; ".join(parts) + "."
